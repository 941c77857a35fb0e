"""The clocks that code reads: what a run gives may then depend on when it was made.

Runs on one input are made before those on the other. Outputs that hold a time tell them apart, and
say nothing of the data.
"""

from __future__ import annotations

import builtins
import datetime
import dis
import functools
import importlib
import time
from collections.abc import Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

_OF_TIME = {
    id(value): f"time.{name}"
    for name, value in vars(time).items()
    if name.split("_ns")[0]
    in ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")
    or name in ("localtime", "gmtime", "ctime", "strftime")
}
_OF_DATES = ("now", "utcnow", "today")
_LOOKED_UP = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BETWEEN = ("PUSH_NULL", "PRECALL", "COPY", "CACHE")
_STORED = ("STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL")
_NOTHING = object()


def clocks_read(code: CodeType, known: Mapping[str, Any]) -> Iterator[str]:
    """The clocks that code, or a function inside of it, names, by what the outer names stand for.

    Names that it imports itself are followed; values that it keeps elsewhere are not.
    """
    names = {**vars(builtins), **known}
    value: Any = _NOTHING
    module: Any = _NOTHING
    for operation, name in _steps(code):
        owner = value
        if operation == "IMPORT_NAME":
            value = module = _imported(name)
        elif operation in _STORED:
            names[name] = value
        elif operation in _LOOKED_UP:
            value = names.get(name, _NOTHING)
            yield from _clock(value)
        elif operation == "IMPORT_FROM":
            value = _attribute(module, name)
        elif operation in _ATTRIBUTES:
            value = _attribute(owner, name)
            yield from _clock(value)
            yield from _date(owner, name)
        elif operation not in _BETWEEN:
            value = _NOTHING
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from clocks_read(constant, names)


@functools.lru_cache(maxsize=4096)
def _steps(code: CodeType) -> tuple[tuple[str, Any], ...]:
    return tuple((step.opname, step.argval) for step in dis.get_instructions(code))


def _clock(value: Any) -> Iterator[str]:
    if id(value) in _OF_TIME:
        yield _OF_TIME[id(value)]


def _imported(name: str) -> Any:
    """A module of the standard library; what else is imported has been, or is not followed."""
    return importlib.import_module(name) if name in ("time", "datetime") else _NOTHING


def _attribute(owner: Any, name: str) -> Any:
    if not isinstance(owner, (ModuleType, type)):
        return _NOTHING
    return vars(owner).get(name, _NOTHING)


def _date(owner: Any, name: str) -> Iterator[str]:
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in _OF_DATES:
        yield f"{owner.__name__}.{name}"
