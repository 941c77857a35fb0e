"""The ways through a program that hands its data to mechanisms: which of them it calls.

The machine executes the program. The data are a token: all that it can do with it is to hand it to
a mechanism. What a mechanism releases, and what the program draws itself, is opaque and free to
use; a branch on it goes both ways. eps is a symbol, of which a call may be given a multiple.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Guarded, Kinds, Real
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.explorer import Limits, Walk
from dpest.reading.machine.heap import HeapObject
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import Array, Lazy, Method, RandomSource, Ref, is_plain
from dpest.reading.paths_of_code import first_state
from dpest.reading.table.registry import load

_EPS = Symbol("parameter", "eps")
_MOST_PATHS = 256
_LIMITS = Limits(seconds=10.0, forks=1000, instructions=200_000)
_LOOKS = "the program itself looks at the data: only the proved mechanisms may be given them"
_SCALAR = frozenset({int, float, bool, abs, round, max, min, pow, str}) | {
    f for f in vars(math).values() if callable(f)
}

Call = tuple[Any, Fraction]
"""A mechanism that was given the data, and the factor of eps that it was given."""
Note = Callable[[Any, dict[str, Any]], None]


class HandedData(Guarded, Lazy):
    """The private data: only a proved mechanism may look at them."""


class OpaqueResult(Guarded, Lazy):
    """Something that was released, or drawn: whatever is computed from it is free to use."""


@dataclass
class CallLog(HeapObject):
    """The mechanisms that a way has called on the data."""

    calls: tuple[Call, ...] = ()


def ways_of(
    target: Mechanism, parts: Sequence[Any], unit: str | None, note: Note
) -> list[list[Call]]:
    """The calls of each way; raises RefusedError where the program does more with its data."""
    load()
    others = [part for part in parts if as_mechanism(part).function is not target.function]
    machine = _ComposingMachine(others, note)
    given = target if unit is None else target.with_params({unit: _EPS})
    machine.assumed = (Condition(Form.of(_EPS), ">"),)
    try:
        return _explored(machine, first_state(machine, given, HandedData()))
    except Refused as refusal:
        where = f"{refusal.where}: " if refusal.where else ""
        raise RefusedError(f"{where}{refusal.reason}") from None


def _explored(machine: _ComposingMachine, first: State) -> list[list[Call]]:
    machine.log_ref = first.heap.new(CallLog())
    machine.deadline = time.monotonic() + _LIMITS.seconds
    found: list[list[Call]] = []
    walk = Walk(machine, first, _LIMITS)
    for state in walk:
        if len(found) + len(walk) >= _MOST_PATHS:
            raise RefusedError("the program has too many branches on what was released")
        assert state.outcome is not None
        if state.outcome.raised:
            raise RefusedError("the program raises an exception on some way")
        if _holds_data(state, state.outcome.value, set()):
            raise RefusedError(_LOOKS)
        found.append(list(state.heap.read(machine.log_ref).calls))
    return found


def _holds_data(state: State, value: Any, seen: set[int]) -> bool:
    """Whether the data are in what is returned."""
    if isinstance(value, HandedData):
        return True
    if isinstance(value, Array):
        value = value.buffer
    if isinstance(value, Ref):
        if value.address in seen:
            return False
        seen.add(value.address)
        return _holds_data(state, tuple(vars(state.heap.read(value)).values()), seen)
    if isinstance(value, Mapping):
        value = (*value, *value.values())
    if isinstance(value, (tuple, list, set, frozenset)):
        return any(_holds_data(state, part, seen) for part in value)
    return not (
        is_plain(value) or isinstance(value, (OpaqueResult, Real, type, np.ndarray, np.dtype))
    )


class _ComposingMachine(Machine):
    """Executes a program on a token for its data; mechanisms are not entered."""

    log_ref: Ref

    def __init__(self, parts: Sequence[Any], note: Note) -> None:
        super().__init__(_LIMITS.instructions)
        self.parts = parts
        self.note = note
        self._of_public: dict[Any, Symbol] = {}

    # Opaque values

    def is_lazy(self, value: Any) -> bool:
        return isinstance(value, Lazy)

    def _free(self, *values: Any) -> OpaqueResult | None:
        """What is computed from opaque values and public ones; None where none is opaque."""
        if any(isinstance(v, HandedData) for v in values):
            raise Refused(_LOOKS)
        if not any(isinstance(v, OpaqueResult) for v in values):
            return None
        if not all(isinstance(v, (OpaqueResult, Real)) or is_plain(v) for v in values):
            raise Refused("a release together with something that is no number")
        for frame in self.state.frames:
            if frame.code.instructions[frame.pc].handler is not None:
                raise Refused("an operation that may raise, inside of a `try`")
        return OpaqueResult()

    def truth_value(self, value: Any) -> Any:
        self._free(value)
        return self.either() if isinstance(value, OpaqueResult) else super().truth_value(value)

    def holds(self, truth: Any) -> bool:
        return self.either() if isinstance(truth, OpaqueResult) else super().holds(truth)

    def lazy_operation(self, op: str, *values: Any) -> Any:
        return self._free(*values)

    def lazy_item(self, thing: Any, index: Any) -> Any:
        return (
            self._free(thing, index) if isinstance(thing, Lazy) else super().lazy_item(thing, index)
        )

    def lazy_attribute(self, thing: Any, name: str) -> Any:
        found = self._free(thing) if isinstance(thing, Lazy) else None
        return super().lazy_attribute(thing, name) if found is None else found

    def lazy_iterator(self, value: Any) -> Any:
        if isinstance(value, HandedData):
            raise Refused(_LOOKS)
        if isinstance(value, OpaqueResult):
            raise Refused("a loop over a release: its length is not known here")
        return None

    def lazy_length(self, value: Any) -> Any:
        return self._free(value)

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What is computed from eps is public."""
        key = (function, tuple(arguments))
        symbol = Symbol("parameter", f"public{len(self._of_public)}")
        return Form.of(self._of_public.setdefault(key, symbol))

    def draw(self, noise: Noise, kinds: Kinds) -> Any:
        return OpaqueResult()

    # Calls

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(f, OpaqueResult):
            return self._free(f, *args, *kwargs.values())
        part = self._mechanism_of(f)
        return super().call(f, args, kwargs) if part is None else self._called(part, args, kwargs)

    def call_table(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        values = (*args, *(kwargs or {}).values())
        if any(isinstance(v, HandedData) for v in values):
            raise Refused(_LOOKS)
        if isinstance(f, Method) and args and isinstance(args[0], RandomSource):
            if f.name in ("shuffle", "seed", "spawn"):
                raise Refused(f"`{f.name}` in a program of mechanisms")
            return OpaqueResult()
        if any(isinstance(v, Lazy) for v in values) and (f in _SCALAR or isinstance(f, np.ufunc)):
            return self._free(*values)
        return super().call_table(f, args, kwargs)

    def _mechanism_of(self, f: Any) -> Any:
        """The mechanism that a called value is."""
        for part in self.parts:
            if f is part or (isinstance(part, Mechanism) and f is part.function):
                return part
        if isinstance(f, Ref):
            for thing, value in self.state.adopted.values():
                if isinstance(thing, Mechanism) and value == f:
                    return next((p for p in self.parts if p is thing or p == thing), None)
        return None

    def _called(self, part: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpaqueResult:
        mechanism = as_mechanism(part)
        if not any(isinstance(v, HandedData) for v in (*args, *kwargs.values())):
            return OpaqueResult()  # it was given no data
        try:
            bound = inspect.signature(mechanism.function).bind(*args, **kwargs)
        except TypeError as error:
            raise Refused(f"{mechanism.name}: {error}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        first = given.pop(next(iter(given)))
        if not isinstance(first, HandedData) or not isinstance(
            given.pop("rng", None), RandomSource
        ):
            raise Refused(f"{mechanism.name} must be given the program's own data and rng")
        units = {k: v for k, v in given.items() if isinstance(v, Real)}
        if len(units) > 1:
            raise Refused(f"{mechanism.name}: {', '.join(units)} must be a multiple of eps")
        scale = Fraction(1)
        for name, value in units.items():
            scale = value.form.terms.get(_EPS, Fraction(0))
            if len(value.form.terms) != 1 or value.form.constant or scale <= 0:
                raise Refused(f"{mechanism.name}: {name} must be a multiple of eps")
        plain = {k: self._plain(mechanism, k, v) for k, v in given.items() if k not in units}
        self.note(part, {"params": plain, "unit": next(iter(units), None)})
        log = self.state.heap.write(self.log_ref)
        log.calls = (*log.calls, (part, scale))
        return OpaqueResult()

    def _plain(self, mechanism: Mechanism, name: str, value: Any) -> Any:
        if isinstance(value, OpaqueResult):
            raise Refused(
                f"{mechanism.name} is called with a released value for {name}: its proof is for "
                "one value of it"
            )
        try:
            return to_python(self.state, value)
        except NotConcrete:
            raise Refused(f"{mechanism.name} is called with a {name} that is not known") from None
