"""What the walk knows of objects: whose they are, what they are called, where they come from."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpest.reading.guard.values import (
    MISSING,
    Value,
)
from dpest.running.places import is_user_file

ALL = frozenset({"data", "length", "noise", "parameter"})
PLAIN = "compute with the numbers themselves"
STATE = "keep everything in variables of the call"


@dataclass(frozen=True)
class Suspicion:
    """Something that symbolic values are not known to be read rightly in.

    `touches` says whose symbols it looks at; None: it is wrong whatever they are. `method` is the
    name of the method, where all that is wrong with it is that it is not known.
    """

    where: str
    operation: str
    advice: str
    touches: frozenset[str] | None
    method: str = ""


@dataclass(frozen=True)
class InnerClass:
    """A class that is defined inside of a function."""

    node: ast.ClassDef


class LibraryFunction:
    """A function of a library inside of a container."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LibraryFunction) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def defined_at(thing: Any) -> str:
    code = getattr(getattr(thing, "__wrapped__", thing), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def joined(values: Sequence[Value]) -> Value:
    found = values[0]
    for value in values[1:]:
        found = found.join(value)
    return found


def is_users_class(kind: type) -> bool:
    if kind.__module__ in ("builtins", "functools", "collections", "types", "numpy"):
        return False
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return kind.__module__ == "__main__" or module is None
    return is_user_file(file)


def imported(name: str) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        return MISSING


def dotted(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__name__", type(thing).__name__)
    return name if module in (None, "builtins") else f"{module}.{name}"
