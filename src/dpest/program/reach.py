"""The user's code that a mechanism can reach: the globals and closures it looks names up in."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from dpest.declaration import Mechanism
from dpest.program.places import is_user_file

_MOST_ELEMENTS = 256  # containers with more elements hold data, not functions


def containers(*roots: Any) -> Iterator[dict[str, Any] | CellType]:
    """Globals (as dicts) and cells, of the roots and of what they can call.

    Followed are functions, classes, their instances, the user's modules, and small containers of
    those. The roots' own globals count whatever their file; of others only the user's.
    """
    yield from _Search(roots).found


class _Search:
    def __init__(self, roots: tuple[Any, ...]) -> None:
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
