"""A loop that comes back to a state it was in: its turns sum to a geometric series.

`while True: z = rng.laplace(); if abs(z) < 2: return x + z` begins anew whenever it goes on: what
was drawn is forgotten. If it goes on with probability p, everything that it does in the end is
1/(1-p) times as probable as in its first turn, and the first turn is all that has to be followed.

Two moments of a run are in one state if the same call of a function stands before the same
instruction, with nothing on the interpreter's stack that can have changed, and everything that the
rest of the run can look at is the same: the variables of the function that are still read, those
of the functions that called it, and the closures and globals that the user's code looks up. Objects
that can change must be the same objects with the same contents. What can't be compared (iterators,
files, objects of foreign types) is no state.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.geometry.chances import Chance, probability
from dpest.geometry.linear import Symbol
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.family import Noise
from dpest.reading.paths import Choice
from dpest.reading.tracing.bytecode import Bytecode, bytecode
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth
from dpest.running.places import inside_while, is_user_file, is_user_frame

_LEAST_ENDING = 1e-4  # of a loop's probability that isn't rational: 1 - p keeps 12 digits
_MOST_COMPARED = 2000  # values in one state
_PURE = {
    "abs", "bool", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "pow",
    "range", "round", "sorted", "str", "sum", "tuple", "zip",
}  # fmt: skip
_ATOMS = (str, bytes, int, complex, type(None), type(...), range, Fraction)
_METHODS = (FunctionType, staticmethod, classmethod, property, functools.cached_property)


class EndlessError(Exception):
    """A loop that never ends, or too seldom for its probability to be known."""


class _NoStateError(Exception):
    """Something that can't be compared."""


@dataclass
class ReturningLoop:
    """A state, at the end of `prefix`, and the ways that lead from it back to it."""

    prefix: tuple[Any, ...]
    depth: int  # of the call that loops: of two loops that begin together, which is inside
    segments: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def order(self) -> tuple[int, int]:
        return len(self.prefix), self.depth

    def on(self, turns: Sequence[Any]) -> bool:
        size = len(self.prefix)
        return size <= len(turns) and (not size or turns[size - 1] is self.prefix[-1])


class ReturningLoops:
    """All loops of one exploration that were seen to come back to a state."""

    def __init__(self, noises: Mapping[Symbol, Noise], function: Callable[..., Any]) -> None:
        self.noises = noises
        self.names = _LookedUp(function)
        # Where no code has such a loop, nobody has to watch for one.
        self.possible = any(bytecode(code).loops for code in self.names.codes)
        self.found: dict[Hashable, ReturningLoop] = {}
        self._factors: dict[int, Chance | None] = {}

    def on(self, turns: Sequence[Any]) -> list[ReturningLoop]:
        return [loop for loop in self.found.values() if loop.on(turns)]

    def add(self, moment: Moment, turns: Sequence[Any]) -> bool:
        """Note one more way back to a moment. False where its probability is not known."""
        prefix, segment = turns[: moment.turns], turns[moment.turns :]
        if self._own(segment) is None:
            return False
        # All runs with these turns come to this moment, each with objects of its own.
        key = (moment, id(prefix[-1]) if prefix else 0)
        loop = self.found.setdefault(key, ReturningLoop(tuple(prefix), moment.depth))
        loop.segments.append(tuple(segment))
        self._factors.clear()
        return True

    def _own(self, segment: Sequence[Any]) -> Chance | None:
        conditions = [c for turn in segment for c in turn.conditions]
        choices = [turn.choice for turn in segment if turn.choice is not None]
        found = probability(conditions, choices, self.noises)
        return None if found is None or found >= 1 else found

    def weight(self, turns: Sequence[Any]) -> Chance:
        """How much more probable a path is than its first way through its loops."""
        result: Chance = Fraction(1)
        for loop in self.on(turns):
            result = result * self._factor(loop)
        return result

    def check(self) -> None:
        """Raises EndlessError unless every loop ends."""
        for loop in self.found.values():
            self._factor(loop)

    def _factor(self, loop: ReturningLoop) -> Chance:
        known = self._factors.get(id(loop))
        if known is not None:
            return known
        again: list[Chance] = []
        for segment in loop.segments:
            one = self._own(segment)
            assert one is not None
            turns = (*loop.prefix, *segment)
            for inner in self.found.values():
                if inner.order > loop.order and inner.on(turns):
                    one = one * self._factor(inner)
            again.append(one)
        if all(isinstance(one, Fraction) for one in again):
            ending: Chance = 1 - sum(again, start=Fraction(0))
            least: Chance = Fraction(0)
        else:
            ending = 1 - math.fsum(again)
            least = _LEAST_ENDING
        if ending <= least:
            raise EndlessError(f"ends with a probability of {float(ending):.2g} in each turn")
        factor = self._factors[id(loop)] = 1 / ending
        return factor

    def choices(self, turns: Sequence[Any]) -> list[Choice]:
        """The weight of a path as a choice; nothing where it is 1."""
        weight = self.weight(turns)
        if weight == 1:
            return []
        return [Choice("again", Bernoulli(1), True, weight, rounded=isinstance(weight, float))]


@dataclass(frozen=True)
class Moment:
    """When in a run: after so many turns, noises and draws, at which depth of calls."""

    turns: int
    noises: int
    draws: int
    depth: int


@dataclass(frozen=True)
class _Step:
    """What a call of a function did at an event: at which instruction, and what came of it."""

    place: int
    outcome: bool | None
    inside: FrameType | None = None  # the call that it waited for


class Watch:
    """Follows one run: its draws and decisions, and the states before its draws."""

    def __init__(self, loops: ReturningLoops) -> None:
        self.loops = loops
        self._steps: dict[FrameType, list[_Step]] = {}
        self._seen: dict[Hashable, list[tuple[Moment, int]]] = {}
        self._kept: list[Any] = []  # compared objects, so that no id is used twice

    def decided(self, outcome: bool | None) -> None:
        for frame, inside, _ in _calls():
            self._note(frame, inside, outcome)

    def _note(self, frame: FrameType, inside: FrameType | None, outcome: bool | None) -> None:
        code = bytecode(frame.f_code)
        if code.loops:
            place = code.place_at.get(frame.f_lasti, -1)
            self._steps.setdefault(frame, []).append(_Step(place, outcome, inside))

    def drawing(self, turns: int, noises: int, draws: int) -> list[Moment]:
        """A draw is about to be made, after so many others. Gives earlier moments of its state."""
        found: list[Moment] = []
        calls = _calls()
        above: list[FrameType] = []
        for frame, inside, depth in calls:
            code = bytecode(frame.f_code)
            # A loop over data moves on: its iterator is part of its state.
            if code.loops and inside_while(frame.f_code.co_filename, frame.f_lineno):
                now = Moment(turns, noises, draws, depth)
                found += self._compared(frame, inside, code, above, now)
            above.append(frame)
        for frame, inside, _ in calls:
            self._note(frame, inside, None)
        return found

    def _compared(
        self,
        frame: FrameType,
        inside: FrameType | None,
        code: Bytecode,
        above: Sequence[FrameType],
        now: Moment,
    ) -> list[Moment]:
        place = code.place_at.get(frame.f_lasti, -1)
        start = code.start_of(place) if place >= 0 else None
        if start is None:
            return []
        steps = self._steps.setdefault(frame, [])
        if steps and start <= steps[-1].place <= place:
            # Not the first event since the start, unless the draw itself was made again.
            owner = code.owner_called(place) if steps[-1].place == place else None
            again = owner is not None and hasattr(frame.f_locals.get(owner), "dpest_signature")
            if not again or steps[-1].inside is inside:
                return []
        if not _computes(frame, code, start, place) or not all(map(_just_begun, above)):
            return []
        try:
            key = self._key(frame, code, start)
        except _NoStateError:
            return []
        earlier = self._seen.setdefault(key, [])
        matched = []
        base = code.depths[start]
        for moment, step in earlier:
            way = [*steps[step:], _Step(place, None)]
            if base == 0 or all(
                code.stays_above(a.place, a.outcome, b.place, base)
                for a, b in itertools.pairwise(way)
            ):
                matched.append(moment)
        earlier[1:] = [(now, len(steps))]  # the first moment and the last are enough
        return matched

    def _key(self, frame: FrameType, code: Bytecode, start: int) -> Hashable:
        # The calls below wait: what they hold can be changed only through what is compared here.
        names = frame.f_locals
        cells = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
        compared = _Comparison(self.loops.names, self._kept)
        own = tuple(
            (n, compared.of(names[n])) for n in sorted(code.live[start] | cells) if n in names
        )
        looked_up = tuple(compared.of(space.get(name)) for space, name in self.loops.names.globals)
        self._kept.append(frame)
        return (id(frame), start, own, looked_up)


def _calls() -> list[tuple[FrameType, FrameType | None, int]]:
    """The user's frames, the innermost first, with the call that each waits for, and its depth."""
    found: list[tuple[FrameType, FrameType | None]] = []
    frame: FrameType | None = sys._getframe(1)
    inside = None
    while frame is not None:
        if frame.f_code.co_filename.endswith("reading/calls.py"):
            break
        if is_user_frame(frame):
            found.append((frame, inside))
        frame, inside = frame.f_back, frame
    return [(f, inside, len(found) - i) for i, (f, inside) in enumerate(found)]


def _just_begun(frame: FrameType) -> bool:
    """Whether a call has only computed numbers since it began."""
    code = bytecode(frame.f_code)
    place = code.place_at.get(frame.f_lasti, -1)
    straight = all(
        len(code.after[p]) == 1 or code.instructions[p].opname == "FOR_ITER" for p in range(place)
    )
    return place >= 0 and straight and _computes(frame, code, 0, place)


def _computes(frame: FrameType, code: Bytecode, start: int, place: int) -> bool:
    """Whether nothing but numbers was computed since the start: nothing that changes an object.

    Stores are of variables that don't count at the start. Called were only pure functions.
    """
    calls = pure = 0
    steps = code.instructions[start:place]
    for i, instruction in enumerate(steps):
        name = instruction.opname
        if name.startswith("CALL"):
            calls += 1
        elif name.startswith(("STORE_", "DELETE_")):
            if name != "STORE_FAST" or instruction.argval in code.live[start]:
                return False
        elif name == "LOAD_GLOBAL":
            value = frame.f_globals.get(instruction.argval)
            if isinstance(value, ModuleType):
                following = steps[i + 1] if i + 1 < len(steps) else None
                method = following is not None and (
                    following.opname == "LOAD_METHOD" or "NULL" in following.argrepr
                )
                pure += method and value.__name__ in ("numpy", "math")
            elif instruction.argval not in frame.f_globals:
                pure += instruction.argval in _PURE
    return calls <= pure


class _LookedUp:
    """The globals that the user's code looks up, and the functions and classes that it can meet."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.globals: list[tuple[dict[str, Any], str]] = []
        self.codes: list[CodeType] = []
        self._met: set[int] = set()
        self._kept: list[Any] = []
        self._pending: list[Any] = [function]
        while self._pending:
            self._visit(self._pending.pop())

    def knows(self, value: Any) -> bool:
        """Whether a function's globals, or a class's methods, are among those looked at."""
        return id(value) in self._met

    def _visit(self, value: Any) -> None:
        if isinstance(value, Mechanism):
            value = value.function
        if isinstance(value, (staticmethod, classmethod, MethodType)):
            self._pending += [value.__func__, getattr(value, "__self__", None)]
        elif isinstance(value, property):
            self._pending += [value.fget, value.fset]
        elif isinstance(value, functools.partial):
            self._pending += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            if _is_users(value) and self._new(value):
                self._pending += [*vars(value).values(), *value.__bases__]
        elif _is_users(type(value)):
            self._pending.append(type(value))

    def _new(self, value: Any) -> bool:
        if id(value) in self._met:
            return False
        self._met.add(id(value))
        self._kept.append(value)
        return True

    def _function(self, function: FunctionType) -> None:
        self._pending.append(getattr(function, "__wrapped__", None))
        if not is_user_file(function.__code__.co_filename) or not self._new(function.__code__):
            return
        self._met.add(id(function))
        self._kept.append(function)
        for cell in function.__closure__ or ():
            self._pending.append(_content(cell))
        self._pending += [*(function.__defaults__ or ())]
        codes = [function.__code__]
        self.codes.append(function.__code__)
        for code in codes:
            self._new(code)
            inner = [c for c in code.co_consts if isinstance(c, CodeType)]
            codes += inner
            self.codes += inner
            for name in code.co_names:
                if name in function.__globals__:
                    self.globals.append((function.__globals__, name))
                    self._pending.append(function.__globals__[name])


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _is_users(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return kind.__module__ == "__main__"
    return is_user_file(file)


class _Comparison:
    """Values as keys: equal for what the rest of a run can't tell apart."""

    def __init__(self, known: _LookedUp, kept: list[Any]) -> None:
        self.known = known
        self.kept = kept
        self.met: set[int] = set()
        self.count = 0

    def of(self, value: Any) -> Hashable:
        self.count += 1
        if self.count > _MOST_COMPARED:
            raise _NoStateError
        if isinstance(value, TracedReal):
            return ("real", value.form, value.integer, value.numpy)
        if isinstance(value, TracedTruth):
            return ("truth", value.key, value.numpy)
        kind = type(value)
        if kind is bool or kind is np.bool_ or kind in _ATOMS:
            return (kind, value)
        if isinstance(value, (float, np.generic)) and kind.__module__ in ("builtins", "numpy"):
            return (kind, repr(value))
        if kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
            return (kind, *map(self.of, value))
        own = getattr(kind, "dpest_signature", None)
        if own is not None:
            return ("own", value.dpest_signature())
        self.kept.append(value)
        if id(value) in self.met:
            return ("again", id(value))
        self.met.add(id(value))
        return (kind, id(value), self._inside(value))

    def _inside(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in (list, collections.deque):
            return tuple(map(self.of, value))
        if kind in (set, frozenset):
            return frozenset(map(self.of, value))
        if kind in (dict, collections.OrderedDict, collections.Counter):
            return tuple((self.of(k), self.of(v)) for k, v in value.items())
        if kind is collections.defaultdict:
            inside = tuple((self.of(k), self.of(v)) for k, v in value.items())
            return (self.of(value.default_factory), inside)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, (ModuleType, np.ufunc, np.dtype, CodeType)):
            return None
        if isinstance(value, (MethodWrapperType, WrapperDescriptorType)):
            return None
        if isinstance(value, BuiltinFunctionType):
            owner = value.__self__
            return None if owner is None or isinstance(owner, ModuleType) else self.of(owner)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, (MethodType, functools.partial)):
            parts = (
                (value.__func__, value.__self__)
                if isinstance(value, MethodType)
                else (value.func, value.args, value.keywords)
            )
            return tuple(map(self.of, parts))
        if isinstance(value, Mechanism):
            return self.of(value.function)
        if isinstance(value, type):
            return self._class(value)
        return self._instance(value)

    def _array(self, value: Any) -> Hashable:
        if value.dtype == object:
            return (value.shape, *map(self.of, value.view(np.ndarray).ravel().tolist()))
        self.count += value.size // 16
        return (value.shape, str(value.dtype), value.tobytes())

    def _function(self, value: FunctionType) -> Hashable:
        if not is_user_file(value.__code__.co_filename):
            return None  # a library's
        if not self.known.knows(value.__code__):
            raise _NoStateError
        return (
            tuple(self.of(v) for v in value.__defaults__ or ()),
            tuple((k, self.of(v)) for k, v in (value.__kwdefaults__ or {}).items()),
            tuple((k, self.of(v)) for k, v in vars(value).items()),
            tuple(self.of(_content(cell)) for cell in value.__closure__ or ()),
        )

    def _class(self, value: type) -> Hashable:
        if not _is_users(value):
            return None
        if not self.known.knows(value):
            raise _NoStateError
        inside = [
            (name, self.of(v))
            for name, v in vars(value).items()
            if not name.startswith("__") and not isinstance(v, _METHODS)
        ]
        return (tuple(inside), *(self.of(base) for base in value.__bases__))

    def _instance(self, value: Any) -> Hashable:
        kind = type(value)
        if not _is_users(kind):
            raise _NoStateError
        slots = [n for base in kind.__mro__ for n in _slots(base)]
        inside = {**getattr(value, "__dict__", {})}
        inside.update({n: getattr(value, n) for n in slots if hasattr(value, n)})
        if not isinstance(kind.__mro__[-2], type) or not _plain_instance(kind):
            raise _NoStateError
        return (self.of(kind), *((n, self.of(v)) for n, v in inside.items()))


def _slots(kind: type) -> Iterator[str]:
    slots = vars(kind).get("__slots__", ())
    yield from (n for n in ([slots] if isinstance(slots, str) else slots) if not n.startswith("__"))


def _plain_instance(kind: type) -> bool:
    """Whether an instance is what its attributes are, not a list or an iterator underneath."""
    return all(base is object or _is_users(base) for base in kind.__mro__)


__all__ = ["EndlessError", "ReturningLoop", "ReturningLoops", "Watch"]
