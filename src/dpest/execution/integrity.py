"""Whether the audited code has replaced functions that the answer depends on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from dpest.errors import TargetError, belongs_to_user

# Whose functions dpest computes with.
_WATCHED = (
    "builtins",
    "math",
    "cmath",
    "random",
    "time",
    "json",
    "fractions",
    "itertools",
    "functools",
    "operator",
    "numpy",
    "numpy.random",
    "numpy.linalg",
    "scipy.special",
)


class Integrity:
    """The functions of dpest and of what it computes with, as they were before any user code.

    Modules are compared by name: what was added doesn't matter, what was replaced or removed does.
    Modules of dpest that were loaded later must hold no function of the user's.
    """

    def __init__(self) -> None:
        self._before = {
            name: dict(_functions(module))
            for name, module in list(sys.modules.items())
            if name in _WATCHED or _is_ours(name)
        }

    def replaced(self) -> str | None:
        """The name of a function that is another one now; None if all are as they were."""
        for name, before in self._before.items():
            module = sys.modules.get(name)
            if module is None:
                return name
            for attribute, value in before.items():
                holder, _, last = attribute.rpartition(".")
                owner: Any = vars(module).get(holder) if holder else module
                if owner is None or vars(owner).get(last) is not value:
                    return f"{name}.{attribute}"
        for name, module in list(sys.modules.items()):
            if not _is_ours(name) or name in self._before:
                continue
            for attribute, value in _functions(module):
                if not isinstance(value, FunctionType):
                    continue
                file = value.__code__.co_filename
                if not file.startswith("<") and belongs_to_user(file):
                    return f"{name}.{attribute}"
        return None

    def check(self, name: str) -> None:
        """Refuse an answer that was computed with replaced functions."""
        found = self.replaced()
        if found is not None:
            raise TargetError(
                f"{name} has replaced {found}, which dpest itself computes with: no answer can be "
                "trusted. Leave the modules of others as they are"
            )


def _is_ours(name: str) -> bool:
    return (name == "dpest" or name.startswith("dpest.")) and not name.startswith("dpest.zoo")


def _functions(module: ModuleType | None) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a module, and the methods of the classes that are its own."""
    for name, value in list(vars(module).items()) if module is not None else ():
        if not callable(value):
            continue
        yield name, value
        if isinstance(value, type) and value.__module__.startswith("dpest."):
            for inner, method in list(vars(value).items()):
                if isinstance(method, (FunctionType, property, staticmethod, classmethod)):
                    yield f"{name}.{inner}", method
