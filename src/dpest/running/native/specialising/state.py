"""The state of the specialiser: frames of lowered code, and what it knows besides Python's own."""

from __future__ import annotations

import collections
import functools
import types
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpest.reading.code.instructions import Code, Instruction, Parameters, Place
from dpest.running.native.ir import Step
from dpest.running.native.values import SCALARS, RunValue


class Rng:
    """Stands for the generator that the function is handed."""


RNG = Rng()


class BoundName(NamedTuple):
    """A method of something that holds values of the run, or of the generator."""

    owner: Any
    name: str


@dataclass(eq=False)
class Iterator:
    """An iterator over a sequence of known length."""

    items: Any
    index: int = 0


@dataclass(eq=False)
class RunCell:
    value: Any = None
    empty: bool = True


@dataclass(eq=False)
class RunClosure:
    """A function of the program: its code, its module's names, its cells and defaults."""

    code: Code
    names: dict[str, Any]
    cells: dict[str, RunCell]
    defaults: dict[str, Any]


class FrameReturn(NamedTuple):
    """What becomes of the value that a frame returns.

    "value": the caller's instruction gets it; "made": the caller gets `target` instead, which was
    being initialised; "generator": the frame belongs to the generator `target`; "items": it is all
    that the generator `target` gives, and the caller's instruction is executed again.
    """

    kind: str = "value"
    target: Any = None


@dataclass(eq=False)
class RunFrame:
    code: Code
    names: dict[str, Any]
    registers: dict[str, Any]
    pc: int = 0
    back: FrameReturn = field(default_factory=FrameReturn)
    error: Any = None


@dataclass(eq=False)
class RunGenerator:
    """A generator: its frame while it isn't running or finished; `items` once gone through."""

    frame: RunFrame | None
    items: list[Any] | None = None


@dataclass(eq=False)
class RunState:
    frames: list[RunFrame]
    log: list[str] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)
    moved: bool = False
    cut: bool = False  # a function has returned: a place where ways meet


@dataclass(eq=False)
class Segment:
    """Steps without a jump, and how they end: a `BlockEdge`, `Branch` or `RunOutput`."""

    label: str
    steps: list[Step] = field(default_factory=list)
    end: Any = None


class BlockEdge(NamedTuple):
    """On to the block with this shape, with these values in its slots."""

    shape: Any
    leaves: list[Any]


class Branch(NamedTuple):
    register: Any
    kind: str
    ways: list[tuple[int, str]]


class RunOutput(NamedTuple):
    """The end of the run: what it gives, as a skeleton with leaves."""

    key: str
    skeleton: Any
    leaves: list[Any]
    raised: BaseException | None


OPAQUE = (
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, types.MethodType,
    types.MethodWrapperType, types.GenericAlias, Code, np.ufunc, range, Rng, BaseException,
    np.dtype, type(...), type(NotImplemented),
)  # fmt: skip
DICTS = (dict, collections.Counter, collections.defaultdict, collections.OrderedDict)
OWN = (RunValue, Rng, Iterator, RunCell, RunClosure, RunGenerator)


def is_instance(value: Any) -> bool:
    """Whether a value is an object of a class of the program, with attributes of its own."""
    return (
        hasattr(value, "__dict__")
        and type(value).__new__ is object.__new__
        and not isinstance(value, (*OPAQUE, *OWN, functools.partial, np.ndarray))
        and type(value).__module__.split(".")[0]
        not in ("builtins", "numpy", "pandas", "torch", "collections")
    )


def entry_code() -> Code:
    """The code of a frame below all others, which the result is delivered to."""
    code = Code("entry", "entry", "", 0, Parameters())
    place = Place(0, 0)
    code.instructions = [
        Instruction("const", "result", (), None, (), None, place),
        Instruction("return", None, ("result",), None, (), None, place),
    ]
    code.live = [frozenset(), frozenset({"result"})]
    return code


ENTRY = entry_code()


class Outside:
    """What the function did not make itself: it is shared by all runs, and must not change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bool]] = {}

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._known

    def holds_run(self, value: Any) -> bool | None:
        """Whether a known value has values of the run in it; None for what is not known."""
        found = self._known.get(id(value))
        return None if found is None else found[1]

    def adopt(self, value: Any) -> bool:
        """Take in a value with all that is in it; whether values of the run are among that."""
        if isinstance(value, RunValue):
            return True
        if isinstance(value, (*SCALARS, *OPAQUE)):
            return False
        found = self._known.get(id(value))
        if found is not None:
            return found[1]
        self._known[id(value)] = value, False
        parts = [self.adopt(part) for part in _parts(value)]
        holds = any(parts)
        self._known[id(value)] = value, holds
        return holds


def _parts(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype == object else []
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, RunCell):
        return [value.value]
    if isinstance(value, RunClosure):
        return [*value.cells.values(), *value.defaults.values()]
    return list(vars(value).values()) if is_instance(value) else []


def holds_run(value: Any, outside: Outside, depth: int = 0) -> bool:
    """Whether there are values of the run in a value, or the generator, or functions in making."""
    if isinstance(value, OWN):
        return True
    if isinstance(value, (*SCALARS, *OPAQUE)):
        return isinstance(value, types.MethodType) and holds_run(value.__self__, outside, depth)
    known = outside.holds_run(value)
    if known is not None:
        return known
    if isinstance(value, BoundName):
        return True
    if isinstance(value, slice):
        return any(isinstance(v, RunValue) for v in (value.start, value.stop, value.step))
    if depth > 8:
        return True
    return any(holds_run(part, outside, depth + 1) for part in _parts(value))
