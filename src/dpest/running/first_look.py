"""A few plain runs before anything is believed: does the function run, and does it forget?

An audit of a function that raises whatever it is given would be about its error messages, and runs
of a function that remembers the last one are not independent. Outputs are looked at closely, too:
what differs in nothing but the types of its numbers must be told apart from then on.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import OpaqueError
from dpest.running.batch.block import fresh
from dpest.running.places import is_user_file
from dpest.running.skeleton import (
    PLAIN_LEAVES,
    Leaf,
    Skeleton,
    consumed,
    flatten,
    numbers_alike,
)
from dpest.running.watchdog import Deadline, TimeUp, watched

_SEEDS = 3
_MANY_SEEDS = range(_SEEDS, 40)
_MOST_KINDS = 4
_SECONDS = 1.0
_MOST = 20_000  # values of one thing that are compared: more is data
_LOOKS = itertools.count(1)


@dataclass
class Look:
    """What a few runs showed."""

    calls: int = 0
    raised: int = 0
    error: str = ""
    """The first error, and the input it came from."""
    raises_on: dict[str, Any] = field(default_factory=dict)
    """For each kind of error an input on which every run raised it."""
    state: tuple[str, ...] = ()
    """What a call leaves changed behind."""
    types: tuple[str, str] | None = None
    """Two outputs that differ in the types of their numbers alone."""
    opaque: OpaqueError | None = None

    @property
    def always_raises(self) -> bool:
        return self.calls > 0 and self.raised == self.calls


@dataclass
class _Seen:
    """What calls gave: skeletons by what they have in common, and what they left changed."""

    types: dict[Any, dict[Any, None]] = field(default_factory=dict)
    kinds: dict[Any, dict[Skeleton, Any]] = field(default_factory=dict)
    """Of skeletons that differ in ints and floats alone, an input that gave each."""
    changed: dict[str, None] = field(default_factory=dict)

    def add(self, x: Any, output: Any) -> None:
        coarse, leaves = flatten(output)
        self.types.setdefault(coarse, {})[flatten(output, typed=True)[0]] = None
        self.kinds.setdefault(numbers_alike(coarse), {}).setdefault(coarse, x)
        for number, leaf in _numbers(coarse, leaves):
            self.types.setdefault(number, {})[leaf] = None

    def of_several_kinds(self) -> list[Any]:
        """Inputs with an int where another has a float: few runs may not show a number as both."""
        several = [inputs for inputs in self.kinds.values() if len(inputs) > 1]
        return [x for inputs in several for x in list(inputs.values())[:_MOST_KINDS]]


def look(mechanism: Mechanism, inputs: Sequence[Any]) -> Look:
    """Call the function on each input a few times, with an eye on everything it could change."""
    found, seen = Look(), _Seen()
    deadline = Deadline(_SECONDS)
    try:
        with watched(deadline), np.errstate(all="ignore"):
            for x in inputs:
                _on(mechanism, x, found, seen)
            for x in seen.of_several_kinds():
                _on(mechanism, x, found, seen, _MANY_SEEDS)
    except TimeUp:
        pass
    found.state = tuple(seen.changed)
    for several in seen.types.values():
        if len(several) > 1:
            first, second, *_ = several
            found.types = (_described(first), _described(second))
    return found


def _on(
    mechanism: Mechanism, x: Any, found: Look, seen: _Seen, seeds: Sequence[int] = range(_SEEDS)
) -> None:
    errors: set[str] = set()
    copied = fresh(x)
    for seed in seeds[:1] if mechanism.black_box else seeds:
        before = memory(mechanism.function) if seed == 0 else None
        found.calls += 1
        try:
            seen.add(x, consumed(_called(mechanism, copied(), seed)))
        except OpaqueError as error:
            found.opaque = found.opaque or error
        except Exception as error:
            found.raised += 1
            errors.add(type(error).__name__)
            found.error = found.error or f"{type(error).__name__} ({error})"
        else:
            errors.add("")
        if before is not None:
            after = memory(mechanism.function)
            seen.changed |= dict.fromkeys(k for k in after if after[k] != before.get(k, after[k]))
    if len(errors) == 1 and "" not in errors:
        found.raises_on.setdefault(errors.pop(), x)


def _numbers(skeleton: Skeleton, leaves: list[Any]) -> Iterator[tuple[Any, Leaf]]:
    """Each number at its place, and whether it came as an int or as a float.

    A place that has 0 as an int and other numbers as floats tells nothing by that. One number that
    comes as both does.
    """
    alike = numbers_alike(skeleton)
    for place, leaf in enumerate(leaves):
        if type(leaf) in (int, float) and abs(leaf) < 1e15:
            yield (alike, place, float(leaf)), PLAIN_LEAVES[type(leaf)]


def _called(mechanism: Mechanism, x: Any, seed: int) -> Any:
    if mechanism.takes_size:
        return mechanism(x, size=1)
    if mechanism.black_box:
        return mechanism(x)
    return mechanism(x, rng=np.random.default_rng(seed))


def _described(skeleton: Any) -> str:
    if hasattr(skeleton, "kind"):
        return skeleton.type or skeleton.kind
    inside = ", ".join(dict.fromkeys(_described(part) for part in skeleton.parts))
    return f"{skeleton.container}{' ' + skeleton.label if skeleton.label else ''} of {inside}"


# What a function could remember ------------------------------------------------------------------


def memory(function: Any) -> dict[str, str]:
    """Everything that outlives a call of the function, by name, as a digest of its content.

    Globals that its code names, cells of its closures, defaults, attributes of functions, classes
    and objects, caches: of the user's code alone.
    """
    return {name: _digest(value) for name, value in _Reach(function).slots()}


class _Reach:
    def __init__(self, function: Any) -> None:
        self.pending: list[tuple[str, Any]] = [(getattr(function, "__name__", "it"), function)]
        self.seen: set[int] = set()
        self.kept: list[Any] = []

    def slots(self) -> Iterator[tuple[str, Any]]:
        while self.pending:
            name, value = self.pending.pop()
            if id(value) in self.seen:
                continue
            self.seen.add(id(value))
            self.kept.append(value)
            yield from self._visit(name, value)

    def _visit(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, Mechanism):
            self.pending.append((name, value.function))
        elif isinstance(value, functools.partial):
            self.pending += [(name, value.func), *((name, v) for v in value.args)]
            self.pending += [(f"{name}.{k}", v) for k, v in value.keywords.items()]
            yield name, [*value.args, *value.keywords.values()]
        elif isinstance(value, functools._lru_cache_wrapper):
            yield f"the cache of {name}", value.cache_info().currsize
            self.pending.append((name, value.__wrapped__))
        elif isinstance(value, MethodType):
            self.pending += [(name, value.__func__), (f"{name}'s object", value.__self__)]
        elif isinstance(value, FunctionType):
            yield from self._function(name, value)
        elif isinstance(value, type):
            if _users(value):
                held = {k: v for k, v in vars(value).items() if not k.startswith("__")}
                yield from self._held(name, held)
        elif _users(type(value)):
            self.pending.append((type(value).__name__, type(value)))
            yield from self._held(name, getattr(value, "__dict__", {}))

    def _function(self, name: str, function: FunctionType) -> Iterator[tuple[str, Any]]:
        code = function.__code__
        if not is_user_file(code.co_filename):
            return
        names = set(_names(code))
        found = {k: v for k, v in function.__globals__.items() if k in names}
        for module in [v for v in found.values() if isinstance(v, ModuleType)]:
            if is_user_file(getattr(module, "__file__", None) or "/lib/python3/"):
                found |= {k: v for k, v in vars(module).items() if k in names}
        for cell_name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            content = _content(cell)
            if content is not cell:
                found[cell_name] = content
        for place, default in enumerate(function.__defaults__ or ()):
            found[f"default {place + 1} of {name}"] = default
        for key, default in (function.__kwdefaults__ or {}).items():
            found[f"the default of {key}"] = default
        found |= {f"{name}.{k}": v for k, v in vars(function).items() if k != "__wrapped__"}
        self.pending.append((name, getattr(function, "__wrapped__", None)))
        yield from self._held("", found)

    def _held(self, owner: str, things: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for key, value in list(things.items()):
            name = f"{owner}.{key}" if owner else key
            if isinstance(value, ModuleType):
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if callable(value) or _users(type(value)):
                self.pending.append((name, value))
                if isinstance(value, type) or callable(value):
                    continue
            yield name, value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return cell


def _users(kind: type) -> bool:
    if kind.__module__ in ("builtins", "functools", "types", "collections"):
        return False
    try:
        return is_user_file(inspect.getfile(kind))
    except (TypeError, OSError):
        return kind.__module__ == "__main__"


def _digest(value: Any) -> str:
    """The content of a value; of what can't be looked into, which object it is."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, (list, dict, set, tuple)) and len(value) > _MOST:
        return f"{len(value)} values at {id(value)}"
    if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
        # That a generator moves on is what it is for: its draws are independent of those before.
        return f"a generator at {id(value)}"
    if isinstance(value, Iterator):
        # How far it has gone can't be seen, but whoever goes on with it finds it elsewhere.
        return f"an iterator, looked at for the {next(_LOOKS)}th time"
    try:
        skeleton, leaves = flatten(value)
    except Exception:
        return f"at {id(value)}"
    return repr((skeleton, leaves))


def inputs_of(pairs: Iterable[tuple[Any, Any]], most: int = 12) -> list[Any]:
    """The inputs of some pairs, each once."""
    found: dict[str, Any] = {}
    for pair in pairs:
        for x in pair:
            found.setdefault(repr(x), x)
    return list(found.values())[:most]


__all__ = ["Look", "inputs_of", "look", "memory"]
