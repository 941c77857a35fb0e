"""The table of functions, and how an entry gets into it.

An entry says what a function does to values of the machine:

    @entry(np.cumsum)
    def cumsum(m: Machine, values: Any) -> Any: ...

It is called with the machine (for draws, decisions, the heap) and the arguments, and gives a value,
or `Enter(function, args)` where code has to be executed. It decides before it changes anything,
since it is called again after a fork. What has no entry is refused. Functions that `native` names
have no effects: where all arguments are known, Python's own function answers.

A file outside of dpest adds entries in the same way; `load` imports those of dpest itself.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol


class Entry(Protocol):
    """What a function does: a value, a Frame, or an Enter."""

    def __call__(self, machine: Any, /, *args: Any, **kwargs: Any) -> Any: ...


TABLE: dict[Any, Entry] = {}
NATIVE: set[Any] = set()
_FILES = (
    *("python", "containers", "iterating", "math", "numpy_arrays", "numpy_functions", "orders"),
    *("rounding", "journals"),
)
_FILES_OF_NOISE = ("generator", "random", "scipy")
_FILES_OF_LIBRARIES = {  # heavy ones
    "scipy.special": "scipy_functions",
    "scipy.linalg": "scipy_linalg",
    "scipy.optimize": "scipy_optimize",
}
_LIBRARIES = ("numpy", "scipy", "pandas", "dataclasses", "functools", "typing", "torch", "sklearn")


def entry(*functions: Any) -> Callable[[Any], Any]:
    """Registers what these functions do."""

    def register(made: Any) -> Any:
        for function in functions:
            TABLE[function] = made
        return made

    return register


def native(functions: Iterable[Any]) -> None:
    """Registers functions without effects."""
    NATIVE.update(functions)


def load() -> None:
    """All entries of dpest; asked for by whoever makes a machine."""
    for name in (*_FILES, *_FILES_OF_NOISE):
        importlib.import_module(f"dpest.reading.table.{name}")
    for library, name in _FILES_OF_LIBRARIES.items():
        if library in sys.modules:  # nobody else can call it
            importlib.import_module(f"dpest.reading.table.{name}")


def is_library(function: types.FunctionType) -> bool:
    """Whether a function belongs to a library that the table speaks for."""
    module = (function.__module__ or "").split(".")[0]
    return module in _LIBRARIES or module in _STANDARD


_STANDARD = frozenset(
    {"random", "secrets", "copy", "itertools", "warnings", "logging", "os", "time"}
)
