"""How a user's function gets to a worker: by value, so that the worker needs none of its files."""

from __future__ import annotations

import functools
import inspect
import pickle
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dpest.errors import WorkerError

_LIBRARIES = tuple(
    path
    for path in {sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")}
    if path
)


def pack(task: Any, name: str = "the mechanism") -> bytes:
    """`task` with the code of the user's modules that it uses, as bytes for any worker."""
    import cloudpickle

    with _by_value(_modules_of(task)):
        try:
            packed = cloudpickle.dumps(task)
        except Exception as error:
            raise WorkerError(
                f"{name} can't travel to a worker process: {type(error).__name__}: {error}. "
                "Keep files, locks, sockets and the like out of its globals and closures (open "
                "them inside the function), or run with one worker"
            ) from error
    return packed


@functools.lru_cache(maxsize=8)
def unpack(packed: bytes) -> Any:
    """What was packed; kept, since a worker gets many blocks of one task."""
    return pickle.loads(packed)


def pack_result(result: Any) -> bytes:
    """A result or an error of a worker. What can't travel is replaced by its description."""
    import cloudpickle

    try:
        packed = cloudpickle.dumps(result)
        if isinstance(result, BaseException):
            pickle.loads(packed)  # some pickle well, and fail when they are loaded
    except Exception as error:
        if isinstance(result, BaseException):
            return pickle.dumps(WorkerError(f"{type(result).__name__}: {result}"))
        description = f"{type(error).__name__}: {error}"
        return pickle.dumps(WorkerError(f"a result can't travel back: {description}"))
    return packed


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    import cloudpickle

    registered = []
    for module in modules:
        if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            registered.append(module)
    try:
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _modules_of(task: Any) -> list[ModuleType]:
    """The user's modules that a task names: neither installed libraries nor dpest itself."""
    found: dict[str, ModuleType] = {}
    seen: set[int] = set()
    stack = [task]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or len(seen) > 10_000:
            continue
        seen.add(id(thing))
        if isinstance(thing, functools.partial):
            stack += [thing.func, *thing.args, *thing.keywords.values()]
            continue
        function = getattr(thing, "function", None)
        if callable(function):  # a Mechanism
            stack.append(function)
        if not (inspect.isfunction(thing) or inspect.isclass(thing) or inspect.ismethod(thing)):
            continue
        module = sys.modules.get(getattr(thing, "__module__", None) or "")
        if module is None or not _belongs_to_user(module):
            continue
        found[module.__name__] = module
        if inspect.isfunction(thing):
            for cell in thing.__closure__ or ():
                try:
                    stack.append(cell.cell_contents)
                except ValueError:  # not assigned yet
                    continue
            stack += [
                thing.__globals__[name]
                for name in thing.__code__.co_names
                if name in thing.__globals__
            ]
    return [module for name, module in found.items() if name != "__main__"]


def _belongs_to_user(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ == "__main__"
    name = module.__name__.partition(".")[0]
    return name != "dpest" and not file.startswith(_LIBRARIES)


def describe(function: Callable[..., Any]) -> str:
    return str(getattr(function, "name", None) or getattr(function, "__name__", function))
