"""Calls: functions of the program become frames; others are in the table, or need plain arguments.

Code of a library is executed only on plain values, and only where it is known to be a function of
its arguments and nothing else: everything that reads a clock, a file or a source of randomness is
refused, since it would be executed once instead of once a run.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.code.instructions import Parameters
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.sources import lowered
from dpest.reading.machine import prelude
from dpest.running.native.signals import NotCompiled
from dpest.running.native.specialising.drawing import RunDrawing
from dpest.running.native.specialising.state import (
    DICTS,
    BoundName,
    FrameReturn,
    Iterator,
    Outside,
    Rng,
    RunCell,
    RunClosure,
    RunFrame,
    RunGenerator,
    RunState,
    holds_run,
    is_instance,
)
from dpest.running.native.values import SCALARS, RunValue

_DEEPEST = 60
# Modules whose functions give the same for the same arguments, and change nothing.
_PURE = frozenset(
    {
        *("builtins", "math", "numpy", "operator", "itertools", "functools", "_functools"),
        *("collections", "_collections", "statistics", "fractions", "cmath", "_operator"),
        *("bisect", "_bisect", "string", "re", "copy", "dataclasses", "types", "typing"),
        *("enum", "abc", "numbers", "decimal", "_decimal", "scipy", "_statistics"),
    }
)
_LIBRARIES = frozenset(
    {"pandas", "torch", "sklearn", "random", "secrets", "polars", "jax", "time", "datetime", "os"}
)
_IMPURE: frozenset[Any] = frozenset(
    {print, input, open, id, hash, eval, exec, compile, vars, globals, locals, setattr, delattr}
    | {np.put, np.copyto, np.place, np.putmask, np.fill_diagonal, np.save, np.load, np.loadtxt}
    | {np.seterr, np.random.default_rng, np.empty, np.empty_like, breakpoint, __import__}
)

_MUTATORS = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    dict: {"pop", "popitem", "clear", "update", "setdefault"},
    set: {"add", "discard", "remove", "pop", "clear", "update"},
}


class Entered:
    """A call has become a frame; its result comes later."""


ENTERED = Entered()


class RunCalls(RunDrawing):
    state: RunState
    outside: Outside
    lookups: list[tuple[Any, str, Any]]
    """What was looked up outside of the function: where, under which name, what was found."""

    def unchanged(self) -> bool:
        """Whether all that was looked up is still the same."""
        return all(
            (where.get(name) if isinstance(where, dict) else where.cell_contents) is found
            for where, name, found in self.lookups
        )

    table: Mapping[Any, Callable[..., Any]]
    lazy_table: Mapping[Any, Callable[..., Any]]
    """What functions of libraries do (see `functions`)."""

    def bound_method(self, owner: Any, name: str) -> Callable[..., Any]:
        """A method of something that holds values of the run (see `methods`)."""
        raise NotImplementedError

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """An operator on anything (see `instructions`)."""
        raise NotImplementedError

    # What is known of values

    def holds_run(self, value: Any) -> bool:
        return holds_run(value, self.outside)

    def adopted(self, value: Any) -> Any:
        """A value from outside of the function: shared by all runs, and not to be changed."""
        self.outside.adopt(value)
        return value

    def changeable(self, thing: Any) -> None:
        """Refuses to change what all runs share."""
        if type(thing) not in (list, set, np.ndarray, *DICTS) and not is_instance(thing):
            raise NotCompiled(f"a {type(thing).__name__} is changed")
        base = thing
        while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
            base = base.base
        if thing in self.outside or base in self.outside:
            raise NotCompiled("something from outside of the function is changed")

    # Functions of the program

    def closure_of(self, function: types.FunctionType) -> RunClosure:
        try:
            code = lowered(function.__code__)
        except NotLowered as refusal:
            raise NotCompiled(refusal.reason) from None
        cells: dict[str, RunCell] = {}
        for name, held in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                cells[name] = RunCell(self.adopted(held.cell_contents), False)
                self.lookups.append((held, name, held.cell_contents))
            except ValueError:
                cells[name] = RunCell()
        return RunClosure(code, function.__globals__, cells, self._defaults(function))

    def _defaults(self, function: types.FunctionType) -> dict[str, Any]:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        values = function.__defaults__ or ()
        found = dict(zip(names[len(names) - len(values) :], values, strict=True))
        found |= function.__kwdefaults__ or {}
        return {name: self.adopted(value) for name, value in found.items()}

    def entered(
        self, closure: RunClosure, args: tuple[Any, ...], words: dict[str, Any], back: FrameReturn
    ) -> Any:
        registers = _bound(closure, args, words)
        code = closure.code
        for name in code.cells:
            registers[name] = RunCell(registers.get(name), name not in registers)
        frame = RunFrame(code, closure.names, {**registers, **closure.cells}, 0, back)
        if code.is_generator:
            return RunGenerator(frame)
        if len(self.state.frames) > _DEEPEST:
            raise NotCompiled("a deep recursion")
        self.state.frames.append(frame)
        return ENTERED

    def by_prelude(self, function: Any, *args: Any) -> Any:
        """A function of Python or NumPy that is written in Python."""
        return self.entered(self.closure_of(function), args, {}, FrameReturn())

    def gone_through(self, generator: RunGenerator) -> Any:
        """All that a generator gives, first; then the instruction is executed again."""
        function: Any = prelude.list_
        closure = self.closure_of(function)
        return self.entered(closure, (generator,), {}, FrameReturn("items", generator))

    # Calls

    def call(self, f: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        while isinstance(f, (functools.partial, Mechanism)):
            if isinstance(f, functools.partial):
                f, args, words = f.func, (*f.args, *args), {**f.keywords, **words}
            else:
                f, words = f.function, {**f.params, **words}
        if isinstance(f, RunClosure):
            return self.entered(f, args, words, FrameReturn())
        if isinstance(f, types.MethodType):
            return self.call(f.__func__, (f.__self__, *args), words)
        if isinstance(f, BoundName):
            if isinstance(f.owner, Rng):
                return self._of_generator(f.name, args, words)
            return self._with_items(self._method(f.owner, f.name), args, words)
        if isinstance(f, types.FunctionType) and not _of_library(f):
            return self.entered(self.closure_of(f), args, words, FrameReturn())
        if isinstance(f, RunValue):
            raise NotCompiled("a call of a number")
        if is_instance(f):
            return self._called_object(f, args, words)
        return self._library_call(f, args, words)

    def _of_generator(self, name: str, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        lists = tuple(list(a.items or ()) if isinstance(a, RunGenerator) else a for a in args)
        if any(isinstance(a, (RunGenerator, Iterator)) for a in lists):
            raise NotCompiled("draws by a generator's values")
        return self.drawn(name, lists, words)

    def _called_object(self, f: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        method = vars(type(f)).get("__call__")
        if not isinstance(method, types.FunctionType):
            raise NotCompiled(f"a call of a {type(f).__name__}")
        return self.entered(self.closure_of(method), (f, *args), words, FrameReturn())

    def _library_call(self, f: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        try:
            lazy, entry = self.lazy_table.get(f), self.table.get(f)
        except TypeError:
            lazy = entry = None
        if lazy is not None and (self.holds_run(args) or self.holds_run(words)):
            found = lazy(self, *args, **words)
            if found is not NotImplemented:
                return found
        owner = getattr(f, "__self__", None)
        if isinstance(owner, (list, dict, set)):
            return self._with_items(self._method(owner, f.__name__), args, words)

        def called(*plain: Any, **named: Any) -> Any:
            if isinstance(f, type) and _of_program(f):
                return self._made(f, plain, named)
            if not self.holds_run(plain) and not self.holds_run(named):
                return self._native(f, plain, named)
            if entry is not None:
                return self._by_table(f, entry, plain, named)
            if owner is not None and not isinstance(owner, types.ModuleType):
                return self._method(owner, f.__name__)(*plain, **named)
            raise NotCompiled(f"{_name(f)} of values of the run")

        return self._with_items(called, args, words)

    def _by_table(self, f: Any, entry: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        try:
            return entry(self, *args, **words)
        except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
            # An error of the entry, not of the user's code: that would be `Thrown`.
            raise NotCompiled(f"{_name(f)}: {error}") from None

    def _with_items(
        self, f: Callable[..., Any], args: tuple[Any, ...], words: dict[str, Any]
    ) -> Any:
        """f with generators gone through before, as Python goes through them inside of it."""
        plain = []
        used: list[RunGenerator | Iterator] = []
        for value in args:
            if isinstance(value, RunGenerator):
                if value.items is None:
                    return self.gone_through(value)
                plain.append(list(value.items))
                used.append(value)
            elif isinstance(value, Iterator):
                plain.append(list(value.items)[value.index :])
                used.append(value)
            else:
                plain.append(value)
        result = f(*plain, **words)
        for thing in used:
            if isinstance(thing, Iterator):
                thing.index = len(thing.items)
            else:
                thing.items = []
        return result

    def _native(self, f: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        module = str(getattr(f, "__module__", None) or type(f).__module__)
        owner = getattr(f, "__self__", None)
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            module = type(owner).__module__
            self._unchanging_method(owner, f.__name__)
        root = module.split(".")[0]
        try:
            impure = f in _IMPURE
        except TypeError:
            impure = True
        pure = root in _PURE or module == "dpest.noise" or module.startswith("dpest.noise.")
        if impure or not pure or "random" in module.split(".") or "out" in words:
            raise NotCompiled(f"{_name(f)} may do something else at each call")
        return self.plain(lambda: f(*args, **words))

    def _unchanging_method(self, owner: Any, name: str) -> None:
        if isinstance(owner, np.ndarray) and name in (
            *("fill", "sort", "partition", "put", "resize", "itemset", "setflags", "byteswap"),
            *("setfield", "tofile", "dump"),
        ):
            self.changeable(owner)
            if name in ("setflags", "tofile", "dump", "resize"):
                raise NotCompiled(f"the method {name} of an array")
        elif not isinstance(owner, (*SCALARS, tuple, frozenset, range, np.ndarray, np.ufunc)):
            raise NotCompiled(f"the method {name} of a {type(owner).__name__}")

    # Methods and objects

    def _method(self, owner: Any, name: str) -> Callable[..., Any]:
        for kind, names in _MUTATORS.items():
            if isinstance(owner, kind) and name in names:
                self.changeable(owner)
        return self.bound_method(owner, name)

    def _made(self, cls: type, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        """An object of a class of the program."""
        if hasattr(cls, "_fields") and issubclass(cls, tuple):
            return self.plain(lambda: cls(*args, **words))
        if issubclass(cls, BaseException):
            own = cls.__init__ is not BaseException.__init__ and "__init__" in vars(cls)
            if own or self.holds_run(args) or self.holds_run(words):
                raise NotCompiled("an exception with values of the run in it")
            return self.plain(lambda: cls(*args, **words))
        init: Any = vars(cls).get("__init__", cls.__init__)
        if not _plain_class(cls):
            raise NotCompiled(f"an object of the class {cls.__name__}")
        made = object.__new__(cls)
        if init is object.__init__ and not args and not words:
            return made
        if not isinstance(init, types.FunctionType):
            raise NotCompiled(f"an object of the class {cls.__name__}")
        if hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "__post_init__"):
            self.plain(lambda: init(made, *args, **words))
            return made
        return self.entered(self.closure_of(init), (made, *args), words, FrameReturn("made", made))


def _plain_class(cls: type) -> bool:
    return (
        cls.__new__ is object.__new__
        and type(cls) is type
        and not any("__slots__" in vars(base) for base in cls.__mro__)
    )


def _of_program(cls: type) -> bool:
    """Whether a class is the program's own, whose methods are read like its functions."""
    module = cls.__module__ or ""
    return module.split(".")[0] not in (*_PURE, *_LIBRARIES) and not module.startswith(
        "dpest.noise"
    )


def _of_library(f: types.FunctionType) -> bool:
    root = (f.__module__ or "").split(".")[0]
    return root in _PURE or root in _LIBRARIES


def _name(f: Any) -> str:
    return str(getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__)


def _bound(closure: RunClosure, args: tuple[Any, ...], words: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, with Python's rules."""
    p: Parameters = closure.code.parameters
    positional = (*p.positional_only, *p.positional)
    values: dict[str, Any] = dict(zip(positional, args, strict=False))
    rest = args[len(positional) :]
    named = dict(words)
    for name in (*p.positional, *p.keyword_only):
        if name in named and name not in values:
            values[name] = named.pop(name)
    if (rest and p.star is None) or (named and p.double_star is None):
        raise NotCompiled(f"{closure.code.name}() is called with other arguments")
    for name in (*positional, *p.keyword_only):
        if name not in values:
            if name not in closure.defaults:
                raise NotCompiled(f"{closure.code.name}() misses the argument {name}")
            values[name] = closure.defaults[name]
    if p.star is not None:
        values[p.star] = tuple(rest)
    if p.double_star is not None:
        values[p.double_star] = named
    return values
