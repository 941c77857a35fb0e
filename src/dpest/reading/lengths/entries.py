"""Whether a function does the same for each entry of its data, each with draws of its own.

f([x0, x1, …]) is [g(x0), g(x1), …]. The function is executed on data of any length whose entries
are `Opaque`: whatever is computed from an entry or from a draw is opaque too, and a branch on it
goes both ways. Then nothing may be drawn before the entries are gone through, the state after each
turn must be the one before it, and each turn must put one value into the list that is returned.
Arithmetic on whole arrays is what it does to each of their entries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise import bernoulli, discrete_gaussian, discrete_laplace, two_sided_geometric
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import FLOAT, Guarded, Kinds, Real
from dpest.reading.lengths.abstraction import Abstraction
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.starting import first_state
from dpest.reading.lengths.values import (
    Count,
    Cut,
    FilledList,
    NeedsIndex,
    NeedsList,
    Plan,
    Restart,
    Vector,
)
from dpest.reading.machine.exploring.drawing import NoiseDrawing
from dpest.reading.machine.signals import Fork, Refused
from dpest.reading.machine.state import Draw, State
from dpest.reading.machine.values import BoundMethod, Lazy, Method, Ref, is_plain
from dpest.reading.table.registry import load
from dpest.reading.world import World

_INSTRUCTIONS = 50_000
_MOST_WAYS = 512
_MOST_READINGS = 8
_PARAMETER = Symbol("parameter", "eps")
_DRAWN = Draw(Symbol("noise", "drawn"), Noise())
_COPY = Method("entries", "copy")
_CAST = Method("entries", "astype")
_LISTED = Method("entries", "tolist")
_SOURCES = ("generator", "state", "random", "system")
_DRAWS = frozenset(
    {
        *("random", "uniform", "laplace", "normal", "gumbel", "exponential", "geometric"),
        *("poisson", "binomial", "integers", "standard_normal", "standard_exponential"),
        *("gauss", "expovariate", "randint", "randrange", "choice", "random_sample"),
    }
)
_NOISES = frozenset({bernoulli, discrete_laplace, discrete_gaussian, two_sided_geometric})
_OPTIONS = frozenset({"size", "low", "high", "loc", "scale", "p", "n", "lam", "a", "endpoint"})
_SCALAR = frozenset({int, float, bool, abs, round, max, min, pow}) | {
    f for f in vars(math).values() if callable(f)
}
_ENTRYWISE = frozenset({np.where, np.clip, np.round, np.around})
_COPIES = frozenset({np.array, np.asarray, list, tuple})


class OpaqueEntry(Guarded, Lazy):
    """Made of one entry, of draws and of what is public; nothing else is known of it."""


class OwnEntry(Lazy):
    """In a copy of the data, what each place holds that was not set: its entry."""

    node_key = "own entry"


def alike(target: Mechanism, unit: str | None = None, *, arrays: bool = False) -> bool:
    """Whether f([x0, x1, …]) is [g(x0), g(x1), …] for one g, each with draws of its own.

    `arrays` says whether the data come as an array; `unit` is a parameter that has no value.
    """
    load()
    plan = Plan()
    for _ in range(_MOST_READINGS):
        try:
            return _Reading(target, unit, arrays, plan).alike()
        except (NeedsList, NeedsIndex) as needed:
            known = plan.lists if isinstance(needed, NeedsList) else plan.indices
            if needed.name in known:
                return False
            known.add(needed.name)
        except (Restart, Fork):  # the place of an entry matters, or a truth is kept
            return False
        except Exception:  # there is no rule, or one that does not know what it was given
            return False
    return False


class _EntryMachine(LengthMachine):
    """Executes states whose entries are opaque. All real numbers are public here."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(World(), plan, _INSTRUCTIONS)
        self._of_public: dict[Any, Symbol] = {}

    # Opaque values

    def _opaque(self, *values: Any) -> OpaqueEntry:
        """What is computed from opaque values, and from public numbers."""
        for frame in self.state.frames:
            if frame.code.instructions[frame.pc].handler is not None:
                raise Refused("an operation that may raise, inside of a `try`")
        for value in values:
            public = isinstance(value, Real) or (is_plain(value) and not isinstance(value, tuple))
            if not public and not isinstance(value, OpaqueEntry):
                raise Refused("an entry together with something that is no number")
        return OpaqueEntry()

    def holds(self, truth: Any) -> bool:
        return self.either() if isinstance(truth, OpaqueEntry) else super().holds(truth)

    def truth_value(self, value: Any) -> Any:
        return self.either() if isinstance(value, OpaqueEntry) else super().truth_value(value)

    def lazy_operation(self, op: str, *values: Any) -> Any:
        vectors = any(isinstance(v, Vector) for v in values)
        if any(isinstance(v, OpaqueEntry) for v in values) and not vectors:
            return self._opaque(*values)
        return super().lazy_operation(op, *values)

    def elementwise(self, function: Any, *values: Any) -> Any:
        row = []
        for value in values:
            if isinstance(value, Vector):
                row.append(value.element)
            elif isinstance(value, Real) or (is_plain(value) and not isinstance(value, tuple)):
                row.append(value)
            else:
                raise Refused("each of the entries together with this")
        return Vector(self._opaque(function(*row)))

    def lazy_array(self, value: Any, dtype: Any) -> Any:
        if not isinstance(value, Vector):
            raise Refused("an array of this")
        return Vector(self._opaque(value.element))

    def set_item(self, thing: Any, index: Any, value: Any) -> Any:
        if isinstance(value, OpaqueEntry) and self.placed_at(thing, index) is not None:
            self.state.heap.write(thing).current = (value,)
            return None
        return super().set_item(thing, index, value)

    def lazy_item(self, thing: Any, index: Any) -> Any:
        found = super().lazy_item(thing, index)
        return OpaqueEntry() if isinstance(found, OwnEntry) else found

    # Public numbers

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What is computed from public numbers is public."""
        key = (function, tuple(arguments))
        symbol = Symbol("parameter", f"public{len(self._of_public)}")
        return Form.of(self._of_public.setdefault(key, symbol))

    def need_at_hand(self, symbols: set[Symbol]) -> None:
        return

    # Draws

    def coin(self, chance: Any, kind: type = bool) -> Any:
        return self.draw(Noise(), (kind,))

    def draw(self, noise: Noise, kinds: Kinds) -> Any:
        self.state.draws = (*self.state.draws, _DRAWN)
        return self._opaque()

    outcome = NoiseDrawing.outcome

    def _drawn(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """A draw, or one for each of the entries."""
        values = [*args, *named.values()]
        rest = [self._parameter(v) for v in values if not _is_count(v)]
        for_each = len(rest) < len(values) or any(isinstance(v, Vector) for v in rest)
        if not named.keys() <= _OPTIONS or (name == "choice" and for_each and len(args) > 2):
            raise Refused("a draw with other options")
        if not for_each:
            self.state.draws = (*self.state.draws, _DRAWN)
            return self._opaque(*rest)
        if self.log.begun:
            raise Refused("draws for all entries, after some of them were read")
        return self.elementwise(self._opaque, Vector(OpaqueEntry()), *rest)

    def _parameter(self, value: Any) -> Any:
        """A parameter of a draw: a public list has a public number of possible values."""
        items = None if isinstance(value, Lazy) else self.sequence(value)
        if items is not None and all(is_plain(v) or isinstance(v, Real) for v in items):
            return len(items)
        return value

    # Functions

    def call_table(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        values = (*args, *named.values())
        if f in _NOISES or (isinstance(f, Method) and f.library in _SOURCES and f.name in _DRAWS):
            return self._drawn(getattr(f, "name", "noise"), args[1:], named)
        if isinstance(f, Method) and f.library == "entries":
            return self._method(f, *args)
        if f in _COPIES and self.log.ended and len(args) == 1 and self._is_filled(args[0]):
            return args[0]
        entrywise = isinstance(f, np.ufunc) or (f in _ENTRYWISE and len(values) == 3)
        if any(isinstance(v, Vector) for v in values):
            if entrywise and not named:
                return self.elementwise(self._opaque, *args)
        elif any(isinstance(v, OpaqueEntry) for v in values) and (entrywise or f in _SCALAR):
            return self._opaque(*values)
        return super().call_table(f, args, kwargs)

    def _is_filled(self, value: Any) -> bool:
        return isinstance(value, Ref) and isinstance(self.state.heap.read(value), FilledList)

    def lazy_attribute(self, thing: Any, name: str) -> Any:
        if isinstance(thing, Vector) and name == "copy":
            return BoundMethod(_COPY, thing)
        if isinstance(thing, Vector) and name in ("astype", "tolist") and thing.kind is not list:
            return BoundMethod(_CAST if name == "astype" else _LISTED, thing)
        return super().lazy_attribute(thing, name)

    def _method(self, method: Method, vector: Vector, *args: Any) -> Any:
        if method == _COPY and not args and isinstance(vector.element, OpaqueEntry):
            return self.new_places((OwnEntry(),), vector.kind)
        if method == _CAST and args in ((int,), (float,), (bool,)):
            return self.elementwise(self._opaque, vector)
        if method == _LISTED and not args:
            return Vector(self._opaque(vector.element), kind=list)
        raise Refused(f"`{method.name}` of each of the entries")


def _is_count(value: Any) -> bool:
    if type(value) is tuple and len(value) == 1:
        (value,) = value
    return isinstance(value, Count) and value.offset == 0


class _Reading:
    """One attempt, with what those before it have learned."""

    def __init__(self, target: Mechanism, unit: str | None, arrays: bool, plan: Plan) -> None:
        self.plan = plan
        self.machine = _EntryMachine(plan)
        params = dict(target.params)
        if unit is not None:
            params[unit] = Real(Form.of(_PARAMETER), FLOAT)
            self.machine.assumed = (Condition(Form.of(_PARAMETER), ">"),)
        data = Vector(OpaqueEntry(), kind=np.ndarray if arrays else list)
        self.first = first_state(self.machine, target, params, lambda _: data)
        self.ways = 0

    def alike(self) -> bool:
        """Each case of the public numbers by itself: nothing is drawn before the entries."""
        pending = [self.first]
        while pending:
            state = pending.pop()
            known = len(state.conditions)
            after = self._advance(state)
            if after is not None:
                if any(len(one.conditions) == known for one in after):
                    return False  # not by public numbers alone
                pending += after
            elif state.draws or state.picks:
                return False
            elif state.outcome is not None:
                if state.outcome.raised or not isinstance(state.outcome.value, Vector):
                    return False
            elif not self._turns_alike(state):
                return False
        return True

    def _advance(self, state: State) -> list[State] | None:
        """Executes to a fork (the states after it), to the next entry or to the end (None)."""
        if state.outcome is not None:
            return None
        self.ways += 1
        if self.ways > _MOST_WAYS:
            raise Refused(f"more than {_MOST_WAYS} ways through one turn")
        try:
            return self.machine.advance(state)
        except Cut:
            return None

    def _turns_alike(self, state: State) -> bool:
        """Every turn ends where it began, having put one value into the list that is returned."""
        before = self._node(state)
        if before.updates or any(before.put):
            return False
        returned: set[int] = set()
        filled: set[int] = set()
        pending = [before.state.fork()]
        while pending:
            state = pending.pop()
            after = self._advance(state)
            if after is not None:
                pending += after
            elif self.machine.log_of(state).ended:
                address = self._returned(state)
                if address is None:
                    return False
                returned.add(address)
            elif state.outcome is not None:
                return False
            else:
                node = self._node(state)
                if node.key != before.key or node.updates:
                    return False
                put = [a for a, new in zip(node.filled, node.put, strict=True) for _ in new]
                if len(put) != 1:
                    return False
                filled.update(put)
        return len(filled) == 1 and returned == filled

    def _node(self, state: State) -> Abstraction:
        machine = self.machine
        machine.state, machine.taken = state, 0
        machine.changes_before = state.heap.changes
        return Abstraction(machine, state, self.plan)

    def _returned(self, state: State) -> int | None:
        """The list that is returned, where nothing else happens after the last entry."""
        outcome = state.outcome
        if outcome is None or outcome.raised or state.draws or state.picks:
            return None
        thing = state.heap.read(outcome.value) if isinstance(outcome.value, Ref) else None
        if not isinstance(thing, FilledList) or thing.items.new:
            return None
        address: int = outcome.value.address
        return address
