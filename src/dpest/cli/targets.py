"""From the word TARGET to a mechanism."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import TargetError


def load(target: str) -> Mechanism:
    """A zoo name, `file.py:function` or `package.module:function`; TargetError says what failed."""
    if ":" not in target:
        if target.endswith(".py"):
            raise TargetError(f"{target}: name the function too, as {target}:function")
        from dpest import zoo

        return zoo.get(target)
    place, _, name = target.rpartition(":")
    module = _from_file(place) if place.endswith(".py") or "/" in place else _from_package(place)
    try:
        found: Any = getattr(module, name)
    except AttributeError:
        functions = [n for n, v in vars(module).items() if callable(v) and _defined_in(v, module)]
        has = ", ".join(functions) if functions else "no function"
        raise TargetError(f"{place} has no function {name!r}; it has: {has}") from None
    if not callable(found):
        raise TargetError(f"{target} is not a function but a {type(found).__name__}")
    return as_mechanism(found)


def _defined_in(value: Any, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _from_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        raise TargetError(f"there is no file {place}")
    name = f"dpest_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))  # the file's neighbours, as `python file` would
    return _execute(lambda: spec.loader.exec_module(module), module, place)


def _from_package(place: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    module = ModuleType(place)
    return _execute(lambda: importlib.import_module(place), module, place)


def _execute(run: Any, module: ModuleType, place: str) -> ModuleType:
    try:
        return run() or module
    except SyntaxError as wrong:
        raise TargetError(f"{wrong.filename}:{wrong.lineno}: syntax error: {wrong.msg}") from None
    except ModuleNotFoundError as wrong:
        raise TargetError(f"{place}: {wrong}") from None
    except Exception as wrong:
        raise TargetError(
            f"{place} could not be loaded: {type(wrong).__name__}: {wrong}"
        ) from wrong
