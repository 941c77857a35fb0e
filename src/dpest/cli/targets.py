"""From the word TARGET to a mechanism."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.cli.output import discard, finishing, listen_again
from dpest.errors import DpestError, TargetError, described


@contextlib.contextmanager
def audited(target: str) -> Iterator[Mechanism]:
    """The one mechanism that a target names, see `all_audited`."""
    with all_audited(target) as found:
        if len(found) > 1:
            raise TargetError(
                f"{target} declares {len(found)} mechanisms: name one, as {target}:{found[0].name}"
            )
        yield found[0]


@contextlib.contextmanager
def all_audited(target: str) -> Iterator[list[Mechanism]]:
    """The mechanisms, for as long as their code is run; then the answer is only to be written down.

    The folder is that of the start again, requests to stop are heard again. An answer that was
    computed with functions that the audited code has replaced is refused.
    """
    if ":" not in target and not target.endswith(".py"):
        yield [load(target)]
        finishing()
        return
    importlib.import_module("dpest.auditing")  # what is watched has to be there before
    from dpest.execution.integrity import Integrity

    integrity = Integrity()
    folder = os.getcwd()
    try:
        found = [load(target)] if ":" in target else declared_in(target)
        listen_again()
        os.chdir(folder)
        integrity.check(target)
        yield found
    finally:
        os.chdir(folder)
    finishing()
    if integrity.replaced() is not None:
        discard()
    integrity.check(target)


def declared_in(target: str) -> list[Mechanism]:
    """All mechanisms that a file declares with `@dpest.mechanism`, in its own order."""
    module = _from_file(target)
    found = [v for v in vars(module).values() if isinstance(v, Mechanism)]
    if not found:
        functions = [n for n, v in vars(module).items() if callable(v) and _defined_in(v, module)]
        named = f"; name a function, as {target}:{functions[0]}" if functions else ""
        raise TargetError(f"{target} declares no mechanism with @dpest.mechanism{named}")
    return list({id(m): m for m in found}.values())


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
    except (KeyboardInterrupt, DpestError):
        raise
    except SyntaxError as wrong:
        raise TargetError(f"{wrong.filename}:{wrong.lineno}: syntax error: {wrong.msg}") from None
    except ModuleNotFoundError as wrong:
        raise TargetError(f"{place}: {wrong}") from None
    except SystemExit as stop:
        raise TargetError(
            f"{place} could not be loaded: it calls sys.exit({stop.code!r}). Put what a script "
            'does under `if __name__ == "__main__":`'
        ) from None
    except BaseException as wrong:
        raise TargetError(f"{place} could not be loaded: {described(wrong)}") from wrong
