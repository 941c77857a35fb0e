"""A mechanism together with what its author states about it."""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import itertools
import random
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dpest.ask.adjacency import parse_adjacency
from dpest.ask.domain_text import parse_domain
from dpest.notions.claims import as_claim


@dataclass(frozen=True)
class Mechanism:
    """A plain function, its parameters, and, where its author states them, its claim.

    `function(x, rng, **params)` is readable in every way. A function without a parameter called
    `rng` is a black box: `function(x)` gives one output a call, `function(x, size)` many.
    Calling the object calls the function, untouched.
    """

    function: Callable[..., Any]
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    claim: Any = None
    adjacency: Any = None
    domain: Any = None
    reference: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not self._data_first:
            kwargs[data_parameter(self.function)] = args[0]
            args = ()
        return self.function(*args, **{**self.params, **kwargs})

    @functools.cached_property
    def _data_first(self) -> bool:
        """Looked up once: a signature takes longer to make than most functions to run."""
        return data_first(self.function)

    @property
    def black_box(self) -> bool:
        return "rng" not in parameters_of(self.function)

    @property
    def takes_size(self) -> bool:
        """A black box that gives many outputs a call."""
        return self.black_box and "size" in parameters_of(self.function)

    @property
    def all_params(self) -> dict[str, Any]:
        """The defaults of the function's own signature, overridden by `params`."""
        defaults = {
            name: p.default
            for name, p in other_parameters(self.function).items()
            if p.default is not inspect.Parameter.empty and name not in ("rng", "size")
        }
        return {**defaults, **self.params}

    def __reduce__(self) -> Any:
        """By name where the decorator put it in its function's place: workers find it again."""
        module = getattr(self.function, "__module__", None)
        name = getattr(self.function, "__qualname__", None)
        declared = _declared(module, name) if module and name else None
        if not isinstance(declared, Mechanism) or declared.function is not self.function:
            return Mechanism, tuple(getattr(self, f.name) for f in fields(self))
        changes = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) is not getattr(declared, f.name)
        }
        return _again, (module, name, changes)

    def with_params(self, params: Mapping[str, Any] | None) -> Mechanism:
        if not params:
            return self
        known = parameters_of(self.function)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
        for name in params:
            if name not in known and not open_ended:
                from dpest.errors import InputError

                takes = ", ".join(other_parameters(self.function)) or "none"
                raise InputError(f"{self.name} has no parameter {name!r}; it takes: {takes}")
        return replace(self, params={**self.params, **params})


def _declared(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _again(module: str, name: str, changes: Mapping[str, Any]) -> Mechanism:
    return replace(_declared(module, name), **changes)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """What it may be called with: of a wrapper its own, and what it hands on by name.

    Of a wrapper that names nothing itself: what the function takes that it wraps.
    """
    try:
        own = inspect.signature(function, follow_wrapped=False).parameters
        if not any(p.kind in _WHATEVER for p in own.values()):
            return own
        wrapped = inspect.signature(function).parameters
    except (TypeError, ValueError):  # builtins and extension types may have no signature
        return {}
    named = {k: p for k, p in own.items() if p.kind not in _WHATEVER}
    by_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in own.values())
    if not named or not by_name or wrapped == own:
        return wrapped
    handed_on = {
        k: p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for k, p in wrapped.items()
        if k not in named and p.kind not in (*_WHATEVER, inspect.Parameter.POSITIONAL_ONLY)
    }
    return {**named, **handed_on}


_WHATEVER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def data_first(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is for the data; `f(rng, data, …)` has it second."""
    names = list(parameters_of(function).items())
    second = names[1][1] if len(names) > 1 else None
    by_name = second is not None and second.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return not (names and names[0][0] == "rng" and by_name)


def data_parameter(function: Callable[..., Any]) -> str:
    """The name of the parameter for the data."""
    return list(parameters_of(function))[0 if data_first(function) else 1]


def other_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """All parameters but the one for the data."""
    found = dict(parameters_of(function))
    if found:
        del found[data_parameter(function)]
    return found


def in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a function of the data, then rng, and parameters by name: `f` itself where it is that."""
    if data_first(function):
        return function
    name = data_parameter(function)

    def called(x: Any, rng: Any, **params: Any) -> Any:
        return function(**{name: x, "rng": rng, **params})

    return called


def mechanism(
    claim: Any = None,
    adjacency: Any = None,
    domain: Any = None,
    *,
    reference: str = "",
    **about: Any,
) -> Callable[[Callable[..., Any]], Mechanism]:
    """State a claim beside the code; the function itself is unchanged.

    Everything may be an object or its short form: a claim "approx:1,1e-5", or a number for a pure
    ε; an adjacency "replace_one"; a domain "reals:0,1".

    >>> @mechanism(adjacency="l1")
    ... def noisy(x, rng, *, eps=0.1):
    ...     return x[0] + rng.laplace(scale=1 / eps)
    >>> noisy.name
    'noisy'
    """

    def declare(function: Callable[..., Any]) -> Mechanism:
        declared = Mechanism(
            function,
            function.__name__,
            claim=as_claim(claim),
            adjacency=None if adjacency is None else parse_adjacency(adjacency),
            domain=None if domain is None else parse_domain(domain),
            reference=reference,
            about=about,
        )
        for name in (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__"):
            value = function if name == "__wrapped__" else getattr(function, name, None)
            object.__setattr__(declared, name, value)  # the dataclass is frozen
        return declared

    return declare


def as_mechanism(target: Callable[..., Any] | Mechanism) -> Mechanism:
    """Any callable as a Mechanism; one that is declared already is returned as it is."""
    if isinstance(target, Mechanism):
        return target
    if not callable(target):
        from dpest.errors import TargetError

        raise TargetError(f"a mechanism is a function f(x, rng, ...); got {target!r}")
    name = getattr(target, "__name__", type(target).__name__)
    source = _older_source(target)
    return Mechanism(target if source is None else _drawing_from(target, source), name)


def _older_source(function: Callable[..., Any]) -> Any:
    """The library whose generator `rng` must be, where it is asked for what no other one has.

    `rng.rand` is of NumPy's RandomState, `rng.expovariate` of Python's random.Random.
    """
    code = getattr(function, "__code__", None)
    if code is None or "rng" not in parameters_of(function):
        return None
    names = _methods_of_rng(code)
    if names & _PYTHON_NAMES:
        return random
    if names & _OLD_NAMES:
        import numpy as np

        return np.random
    return None


def _methods_of_rng(code: types.CodeType) -> set[str]:
    steps = list(dis.get_instructions(code))
    found = {
        step.argval
        for before, step in itertools.pairwise(steps)
        if step.opname in ("LOAD_METHOD", "LOAD_ATTR") and before.argval == "rng"
    }
    return found.union(
        *(_methods_of_rng(c) for c in code.co_consts if isinstance(c, types.CodeType))
    )


_OLD_NAMES = frozenset(
    ("rand", "randn", "randint", "random_sample", "ranf", "sample", "random_integers", "tomaxint")
)


_PYTHON_NAMES = frozenset(
    ("expovariate", "gauss", "normalvariate", "randrange", "getrandbits", "choices", "betavariate",
     "gammavariate", "lognormvariate", "paretovariate", "weibullvariate", "vonmisesvariate")
)  # fmt: skip


def _drawing_from(function: Callable[..., Any], source: Any) -> Callable[..., Any]:
    """The function with a library's global generator as its `rng`: a black box that is read."""

    @functools.wraps(function)
    def drawing(x: Any, **params: Any) -> Any:
        return function(x, rng=source, **params)

    del drawing.__wrapped__
    known = [p for p in parameters_of(function).values() if p.name != "rng"]
    drawing.__signature__ = inspect.Signature(known)  # type: ignore[attr-defined]
    return drawing
