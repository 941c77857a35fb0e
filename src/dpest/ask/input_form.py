"""Whether a function takes a list, an array or one number: found by calling it.

Nobody says so beside the code, and an audit of a function on inputs that it can't take would be
about its error messages.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from dpest.ask.adjacency import Adjacency
from dpest.ask.declaration import (
    Mechanism,
    data_parameter,
    other_parameters,
    parameters_of,
)
from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.entries import is_real, short
from dpest.ask.patterns import patterns
from dpest.ask.people import People
from dpest.ask.shapes import TRIED
from dpest.ask.tables import Table
from dpest.errors import InputError
from dpest.running.watchdog import Deadline, TimeUp, watched

_INPUTS = 2
_MORE_INPUTS = 16  # before it is said that every input raises
_SEEDS = 8  # a function may fail on one of its branches only
_SECONDS = 2.0
_PLAIN = (dict, list, set, int, float, str)
_WORDS = {
    "array": "an array, not a list: it was audited on arrays",
    "number": "one number, not a list: it was audited on numbers",
}


def with_form(
    mechanism: Mechanism, adjacency: Adjacency, domain: Domain, length: int, *, said: bool
) -> tuple[Domain, str | None]:
    """The domain in the form that the function takes, and what to say about it.

    A list, unless the function raises on it and takes something else. One number is tried where
    the length is 1 or nobody said (`said`) what the inputs are. Raises InputError if the function
    raises whatever it is given.
    """
    if domain.form != "list":
        return domain, None
    if (isinstance(domain, Table) and not domain.nameless) or (
        isinstance(domain, Records) and domain.fields
    ):
        return _with_shape(mechanism, adjacency, domain, length)
    if not isinstance(domain, (Reals, Records)):
        return domain, None
    filled = _with_values(mechanism)
    single = isinstance(domain, Reals) and not adjacency.changes_length
    one = replace(domain, length=1, form="number") if single else None
    candidates: list[Domain] = [domain]
    if one is not None and (length == 1 or not said):
        candidates.append(one)
    candidates.append(replace(domain, form="array"))
    best: tuple[int, Domain] | None = None
    first: _Failures | None = None
    deadline = Deadline(_SECONDS)
    for candidate in candidates:
        n = 1 if candidate.form == "number" else length
        try:
            with watched(deadline):
                found = _failures(filled, adjacency, candidate, n)
        except TimeUp:
            return domain, None
        if found.remembers:
            return domain, None
        if found.calls == 0:
            continue
        first = first or found
        if best is None or found.count < best[0]:
            best = (found.count, candidate)
        if found.count == 0:
            break
    if best is None or first is None:
        return domain, None
    if best[0] == first.calls and filled is not mechanism:
        return domain, None  # perhaps it is the made-up parameters that it can't take
    if best[0] == first.calls:
        try:
            with watched(deadline):
                more = _failures(filled, adjacency, domain, length, _MORE_INPUTS)
        except TimeUp:
            more = first
        if more.count < more.calls:
            return domain, None
        raise InputError(
            f"{mechanism.name} raises {first.error} on the input {short(first.x)}, and on every "
            f"other that was tried: say with a domain and a length what it takes "
            f"(now: {domain.describe()})"
        )
    chosen = best[1]
    if chosen.form == "list":
        if one is None or said or length == 1 or _failures(filled, adjacency, one, 1).count:
            return domain, None
        return domain, (
            f"{mechanism.name} takes one number too: it was audited on {length}; say "
            "--domain 'real()' if it is meant for one"
        )
    return chosen, f"{mechanism.name} takes {_WORDS[chosen.form]}"


def _with_shape(
    mechanism: Mechanism, adjacency: Adjacency, domain: Records | Table, length: int
) -> tuple[Domain, str | None]:
    """Records in the first shape on which the function does not raise."""
    filled = _with_values(mechanism)
    first: _Failures | None = None
    best: tuple[int, str] | None = None
    deadline = Deadline(_SECONDS)
    for shape in TRIED:
        plain = shape == "dicts" and not isinstance(domain, People)
        candidate = domain if plain else replace(domain, form=shape)
        try:
            with watched(deadline):
                found = _failures(filled, adjacency, candidate, length)
        except TimeUp:
            return domain, None
        except (InputError, ValueError):  # its library is missing, or it can't hold the values
            continue
        if found.calls == 0 or found.remembers:
            return domain, None
        first = first or found
        if best is None or found.count < best[0]:
            best = (found.count, shape)
        if found.count == 0:
            break
    if best is None or first is None:
        return domain, None
    if best[0] == first.calls:
        if filled is not mechanism:
            return domain, None
        raise InputError(
            f"{mechanism.name} raises {first.error} on records as dictionaries, and takes none of "
            f"the other shapes: {', '.join(TRIED[1:])}. Say with --as (as_=…) what it takes"
        )
    if best[1] == "dicts":
        return replace(domain, form="dicts") if isinstance(domain, People) else domain, None
    shaped = replace(domain, form=best[1])
    return shaped, f"{mechanism.name} takes its records as {best[1]}, found by trying"


# Names that nobody gives to data.
_NOT_DATA = {"rng", "generator", "eps", "epsilon", "delta", "rho", "sigma", "scale", "sensitivity"}


def check_call(mechanism: Mechanism, unit: str | None) -> None:
    """Raise InputError where `f(data, rng=…)` can't be what the function wants."""
    known = parameters_of(mechanism.function)
    first = data_parameter(mechanism.function) if known else None
    if first is None and known is not None and _takes_nothing(mechanism):
        raise InputError(f"{mechanism.name} takes no data: its first parameter must be the data")
    if first in _NOT_DATA:
        raise InputError(
            f"{mechanism.name} takes {first} first: the data must be its first parameter, as in "
            f"{mechanism.name}(data, rng, …)"
        )
    missing = [
        name
        for name, p in other_parameters(mechanism.function).items()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and name not in ("rng", "size", unit)
        and name not in mechanism.params
    ]
    if missing:
        raise InputError(
            f"{mechanism.name} needs a value for {missing[0]}, and nobody gave one: "
            f"--param {missing[0]}=…, params={{{missing[0]!r}: …}}"
        )


def _takes_nothing(mechanism: Mechanism) -> bool:
    return (
        isinstance(mechanism.function, FunctionType)
        and not mechanism.function.__code__.co_flags & 0xC
    )


def as_taken(mechanism: Mechanism, x: Any, x2: Any) -> tuple[Any, Any]:
    """A given pair as it is, or as arrays where the function takes arrays and no lists.

    Raises InputError if every call raises: the answer would be about error messages.
    """
    plain = [isinstance(v, list) and all(is_real(e) for e in v) for v in (x, x2)]
    pairs = [(x, x2), *([(np.array(x), np.array(x2))] if all(plain) else [])]
    filled = _with_values(mechanism)
    first: _Failures | None = None
    deadline = Deadline(_SECONDS)
    for pair in pairs:
        try:
            with watched(deadline):
                found = _calls(filled, pair)
        except TimeUp:
            return x, x2
        if found.count == 0 or (first is None and found.count < found.calls):
            return pair
        first = first or found
    if first is None or filled is not mechanism or first.count < first.calls:
        return x, x2
    raise InputError(
        f"{mechanism.name} raises {first.error} whenever it is given {short(first.x)} or the other "
        "input of the pair"
    )


def _with_values(mechanism: Mechanism) -> Mechanism:
    """With 1 for a parameter that has no value: a proof may be for every value of it."""
    known = mechanism.all_params
    missing = [
        name
        for name, parameter in other_parameters(mechanism.function).items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and name not in ("rng", "size")
        and name not in known
    ]
    return mechanism.with_params(dict.fromkeys(missing, 1.0)) if missing else mechanism


class _Failures:
    """How often a function raised, and the first time that it did."""

    def __init__(self) -> None:
        self.calls = self.count = 0
        self.error = ""
        self.x: Any = None
        self.remembers = False  # a call has changed something that outlives it

    def add(self, x: Any, error: Exception) -> None:
        self.count += 1
        if self.count == 1:
            self.x, self.error = x, f"{type(error).__name__} ({error})"


def _failures(
    mechanism: Mechanism, adjacency: Adjacency, domain: Domain, length: int, most: int = _INPUTS
) -> _Failures:
    known = patterns(adjacency, domain, length, both_orders=False)[:most]
    return _calls(mechanism, [x if i % 2 == 0 else x2 for i, (_, x, x2) in enumerate(known)])


def _calls(mechanism: Mechanism, inputs: Sequence[Any]) -> _Failures:
    """A few calls with each of the inputs."""
    found = _Failures()
    before = _kept(mechanism.function)
    for given in inputs:
        for seed in range(1 if mechanism.black_box else _SEEDS):
            found.calls += 1
            try:
                _call(mechanism, given, seed)
            except Exception as error:  # any failure of the user's code counts
                found.add(given, error)
            if found.calls == 1 and _kept(mechanism.function) != before:
                found.remembers = True  # more calls would change more: a budget would be spent
                return found
    return found


def _kept(function: Any) -> dict[str, str]:
    """The plain globals that a function names, and its own attributes: what a call may change."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = getattr(inspect.unwrap(function), "__globals__", {}) if code is not None else {}
    held = {n: names[n] for n in (code.co_names if code is not None else ()) if n in names}
    held |= {f".{k}": v for k, v in getattr(function, "__dict__", {}).items()}
    return {k: repr(v) for k, v in held.items() if isinstance(v, _PLAIN)}


def _call(mechanism: Mechanism, x: Any, seed: int) -> Any:
    x = x.copy() if isinstance(x, (list, np.ndarray)) else x
    if mechanism.takes_size:
        return mechanism(x, size=1)
    if mechanism.black_box:
        return mechanism(x)
    result = mechanism(x, rng=np.random.default_rng(seed))
    return list(result) if hasattr(result, "__next__") else result


__all__ = ["as_taken", "with_form"]
