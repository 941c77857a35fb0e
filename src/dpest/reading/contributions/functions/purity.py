"""Functions that may be called as they are: on plain values, and on public ones."""

from __future__ import annotations

import types
from typing import Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.functions.registry import FUNCTIONS
from dpest.reading.contributions.values import Seq

PURE_MODULES = ("math", "numpy", "scipy", "fractions", "operator", "collections", "itertools")


def module_of(function: Any) -> str:
    return str(getattr(function, "__module__", None) or "").split(".")[0]


def is_library(function: Any) -> bool:
    module = module_of(function)
    return module in PURE_MODULES or (module in POST and module != "builtins")


POST = frozenset({
    "builtins", "json", "statistics", "decimal", "datetime", "heapq", "bisect", "copy", "string",
    "textwrap", "re", "pandas", "types", "functools", "functional",
})  # fmt: skip
_NOT_PURE = frozenset({
    "print", "open", "input", "exec", "eval", "compile", "globals", "locals", "vars", "setattr",
    "delattr", "getattr", "id", "hash", "object", "super", "type", "iter", "next", "breakpoint",
    "__import__", "memoryview", "map", "filter", "exit", "quit", "now", "today", "utcnow",
    "read_csv", "read_pickle", "read_json",
})  # fmt: skip


def is_post_processing(function: Any) -> bool:
    """Functions that may be called on public values: they depend on these alone."""
    name = getattr(function, "__name__", "")
    if name in _NOT_PURE or not callable(function):
        return False
    module = str(getattr(function, "__module__", None) or "builtins")
    if "random" in module or "secrets" in module:
        return False
    return module.split(".")[0] in POST


def is_known(function: Any) -> bool:
    try:
        return function in FUNCTIONS or is_pure(function) or is_post_processing(function)
    except TypeError:
        return False


def is_pure(function: Any) -> bool:
    """Functions of the mathematical libraries but for random ones, and a few builtins."""
    module = str(getattr(function, "__module__", None) or "")
    if isinstance(function, (types.BuiltinFunctionType, type)) and module in ("builtins", ""):
        return function in (int, float, bool, abs, round, len, pow, divmod, str, tuple, complex)
    if "random" in module or module.startswith("scipy.stats.qmc"):
        return False
    name = getattr(function, "__name__", "")
    if type(function).__name__ == "ufunc":
        return True
    if module.startswith("scipy.stats") and name in ("rvs",):
        return False
    bound = getattr(function, "__self__", None)
    if module.startswith("scipy.stats") and bound is not None and name == "rvs":
        return False
    return module.split(".")[0] in PURE_MODULES


def is_plain_list(value: Any) -> bool:
    return (
        isinstance(value, Seq)
        and value.rows is None
        and not value.bag
        and all(is_plain(v) or is_plain_list(v) for v in value.items)
    )
