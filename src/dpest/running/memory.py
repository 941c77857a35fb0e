"""What a function could keep from one call to the next, and whether it did.

Bounds from runs rest on runs that are independent of each other. A few trial calls show what every
call changes. What only some calls change is seen behind each block of runs, where they were made.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import io
import itertools
import os
import random
import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import DependentRunsError
from dpest.running.clocks import clocks_read
from dpest.running.places import is_user_file
from dpest.running.reach import names_in
from dpest.running.skeleton import flatten

_MOST = 20_000  # values of one thing that are compared: more is data
_LOOKS = itertools.count(1)
_MODES = {f"{way}{kind}" for way in ("w", "a", "x", "r+", "w+", "a+") for kind in ("", "b", "t")}
_MODES |= {"wb+", "ab+", "rb+", "wt+", "at+", "rt+"}
_ENVIRONMENT = {"environ", "environb", "getenv", "putenv", "unsetenv"}
# What is said there reaches nobody's later call; what an audit hands in there is always empty.
_STREAMS = {"stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"}


@contextmanager
def forgotten(mechanism: Mechanism) -> Iterator[None]:
    """Runs that are taken to be independent; raises DependentRunsError where one left a trace.

    Also where they failed: what was left behind is the likely reason.
    """
    before = memory(mechanism.function)
    try:
        yield
    except Exception as error:
        if kept := changed(before, memory(mechanism.function)):
            raise DependentRunsError(mechanism.name, kept) from error
        raise
    if kept := changed(before, memory(mechanism.function)):
        raise DependentRunsError(mechanism.name, kept)


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The names of what is there on both looks, and is no longer what it was."""
    return tuple(name for name in after if after[name] != before.get(name, after[name]))


def memory(function: Any) -> dict[str, str]:
    """Everything that outlives a call of the function, by name, as a digest of its content.

    Globals that its code names, cells of its closures, defaults, attributes of functions, classes
    and objects, caches, of the user's code; what that code names in modules of others, and the
    environment; clocks that it reads and files that it writes, which are never the same.
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
        names = set(names_in(code))
        found = {k: v for k, v in function.__globals__.items() if k in names}
        # A module may be imported by the code itself, too.
        loaded = [sys.modules[k] for k in sorted(names) if k in sys.modules]
        modules = [v for v in [*found.values(), *loaded] if isinstance(v, ModuleType)]
        for module in modules:
            if is_user_file(getattr(module, "__file__", None) or "/lib/python3/"):
                found |= {k: v for k, v in vars(module).items() if k in names}
            else:  # what is kept in the modules of others
                found |= {
                    f"{module.__name__}.{k}": v
                    for k, v in vars(module).items()
                    if k in names and not callable(v) and not (module is sys and k in _STREAMS)
                }
        if names & _ENVIRONMENT and (
            os in modules or any(v is os.getenv or v is os.environ for v in found.values())
        ):
            found["os.environ"] = os.environ
        for cell_name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            content = _content(cell)
            if content is not cell:
                found[cell_name] = content
        known = {**function.__globals__, **found}
        # A clock, or a file, is another one at each look.
        if _writes_files(code, names, modules):
            yield "a file that it writes", iter(())
        yield from ((f"the clock of {clock}", iter(())) for clock in clocks_read(code, known))
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


def _writes_files(code: CodeType, names: set[str], modules: Sequence[ModuleType]) -> bool:
    """Whether code opens a file to write, or a database: what it finds there later is its own."""
    modes = any(constant in _MODES for constant in _texts(code))
    if ("open" in names and modes) or names & {"write_text", "write_bytes"}:
        return True
    return any(module.__name__ in ("sqlite3", "shelve", "dbm") for module in modules)


def _texts(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _texts(constant)
        elif isinstance(constant, str):
            yield constant


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
    if isinstance(value, threading.local):
        value = vars(value)
    elif isinstance(value, MutableMapping):  # also the environment
        value = dict(value)
    if isinstance(value, (list, dict, set, tuple)) and len(value) > _MOST:
        return f"{len(value)} values at {id(value)}"
    if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
        # That a generator moves on is what it is for: its draws are independent of those before.
        return f"a generator at {id(value)}"
    if _is_output(value):
        return f"a stream at {id(value)}"
    if isinstance(value, Iterator):
        # How far it has gone can't be seen, but whoever goes on with it finds it elsewhere.
        return f"an iterator, looked at for the {next(_LOOKS)}th time"
    try:
        skeleton, leaves = flatten(value)
    except Exception:
        return _entries(value) if isinstance(value, dict) else f"at {id(value)}"
    return repr((skeleton, leaves))


def _entries(value: Mapping[Any, Any]) -> str:
    """A dict whose keys are objects: which they are, and the content of the values."""
    return repr([(id(key), _digest(held)) for key, held in value.items()])


def _is_output(value: Any) -> bool:
    """Whether a value is a stream that can only be written to: no later call finds it changed."""
    try:
        return isinstance(value, io.IOBase) and not value.readable()
    except ValueError:  # closed
        return True


__all__ = ["changed", "forgotten", "memory"]
