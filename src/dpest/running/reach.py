"""The user's code that a mechanism can reach: the globals and closures it looks names up in."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.running.places import is_user_file

CONVERSIONS = ("float", "int")
_MOST_ELEMENTS = 256  # containers with more elements hold data, not functions


def containers(*roots: Any) -> Iterator[dict[str, Any] | CellType]:
    """Globals (as dicts) and cells, of the roots and of what they can call.

    Followed are functions, classes, their instances, the user's modules, and small containers of
    those. The roots' own globals count whatever their file; of others only the user's.
    """
    yield from _ReachSearch(roots).found


def reached(*roots: Any) -> tuple[list[CodeType], list[Any]]:
    """The user's code that the roots can run, and the values that it finds under its names."""
    search = _ReachSearch(roots, by_name=True)
    return search.codes, search.values


def names_in(code: CodeType) -> Iterator[str]:
    """The names that code looks up outside of itself, with those of the functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def conversions(*roots: Any) -> list[str]:
    """`float` and `int`, where the code that can be reached does nothing with them but call them.

    There a function can stand in for them; elsewhere (`isinstance(x, float)`) only the type can.
    """
    codes = _ReachSearch(roots, by_name=True).codes
    other = {name for code in codes for name in _not_called(code)}
    return [name for name in CONVERSIONS if name not in other]


@functools.lru_cache(maxsize=4096)
def _not_called(code: CodeType) -> frozenset[str]:
    """The conversions that the code does something else with than calling them."""
    if not any(name in code.co_names for name in CONVERSIONS):
        return frozenset()
    found: set[str] = set()
    mapped = False
    for step in dis.get_instructions(code):
        # A global that is loaded to be called is loaded together with a NULL.
        called = step.opname == "LOAD_GLOBAL" and step.arg is not None and bool(step.arg & 1)
        touched = step.opname.startswith(("LOAD_", "STORE_", "DELETE_"))
        if step.argval in CONVERSIONS and touched and not called and not mapped:
            found.add(step.argval)
        mapped = called and step.argval == "map"
    return frozenset(found)


class _ReachSearch:
    """`by_name`: of a function's globals only those are followed that its code names."""

    def __init__(self, roots: tuple[Any, ...], *, by_name: bool = False) -> None:
        self.by_name = by_name
        self.codes: list[CodeType] = []
        self.values: list[Any] = []  # constants and containers that the code names
        self.found: list[dict[str, Any] | CellType] = []
        self._seen: set[int] = set()
        self._pending: list[Any] = []
        self._kept: list[Any] = []  # so that no id is used twice
        for root in roots:
            if isinstance(root, dict):
                self._globals(root)
            else:
                self._root(root)
        while self._pending:
            self._visit(self._pending.pop())

    def _root(self, root: Any) -> None:
        self._pending.append(root)
        while not isinstance(root, FunctionType):
            if isinstance(root, functools.partial):
                root = root.func
            elif isinstance(root, Mechanism):
                root = root.function
            elif isinstance(root, MethodType):
                root = root.__func__
            elif hasattr(root, "__wrapped__"):
                root = root.__wrapped__
            else:
                root = getattr(type(root), "__call__", None)  # noqa: B004
                if not isinstance(root, FunctionType):
                    return
        while isinstance(root, FunctionType):
            if not self.by_name:
                self._globals(root.__globals__)
            root = getattr(root, "__wrapped__", None)

    def _globals(self, names: dict[str, Any]) -> None:
        if self._new(names):
            self.found.append(names)
            self._pending += [v for name, v in list(names.items()) if not name.startswith("__")]

    def _new(self, value: Any) -> bool:
        if id(value) in self._seen:
            return False
        self._seen.add(id(value))
        self._kept.append(value)
        return True

    def _visit(self, value: Any) -> None:
        if isinstance(value, (int, float, list, tuple, dict, set, frozenset, np.ndarray)):
            self.values.append(value)
        if isinstance(value, (str, bytes, int, float, complex)) or value is None:
            return
        if not self._new(value):
            return
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, ModuleType):
            file = getattr(value, "__file__", None)
            if isinstance(file, str) and is_user_file(file):
                self._globals(vars(value))
        elif isinstance(value, functools.partial):
            self._pending += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, Mechanism):
            self._pending.append(value.function)
        elif isinstance(value, MethodType):
            self._pending += [value.__func__, value.__self__]
        elif isinstance(value, (staticmethod, classmethod)):
            self._pending.append(value.__func__)
        elif isinstance(value, property):
            self._pending += [value.fget, value.fset]
        elif isinstance(value, type):
            if _is_users(value):
                self._pending += [*vars(value).values(), *value.__bases__]
        elif isinstance(value, (list, tuple, set, frozenset)):
            if len(value) <= _MOST_ELEMENTS:
                self._pending.extend(value)
        elif isinstance(value, dict):
            if len(value) <= _MOST_ELEMENTS:
                self._pending.extend(value.values())
        else:
            self._instance(value)

    def _function(self, function: FunctionType) -> None:
        if is_user_file(function.__code__.co_filename):
            found = [function.__code__]
            for code in found:
                found += [c for c in code.co_consts if isinstance(c, CodeType)]
            self.codes += found
            named = {name for code in found for name in code.co_names}
            if self.by_name:
                self._pending += [v for k, v in function.__globals__.items() if k in named]
            else:
                self._globals(function.__globals__)
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            if self._new(cell):
                self.found.append(cell)
                self._pending.append(content)
        self._pending += [
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
            getattr(function, "__wrapped__", None),
        ]

    def _instance(self, value: Any) -> None:
        kind = type(value)
        inner = getattr(value, "__dict__", None)
        if _is_users(kind):
            self._pending.append(kind)
            if isinstance(inner, dict):
                self._pending.extend(list(inner.values()))
        elif isinstance(inner, dict) and "__wrapped__" in inner:
            self._pending.append(inner["__wrapped__"])


def _is_users(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return kind.__module__ == "__main__"
    return is_user_file(file)
