"""Every error that dpest raises on purpose, in one small hierarchy.

A message says what was wrong, where in the user's function, and what to do instead.
"""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parent)
# What IPython calls the "file" of a cell: a name that says nothing to whoever wrote the cell.
_CELL = re.compile(r"ipykernel_\d+[/\\][^/\\]+\.py$|^<ipython-input|^<stdin>$")


class DpestError(Exception):
    """Base of all errors of dpest."""


class DomainError(DpestError, ValueError):
    """A number lies outside the domain of a definition (δ = 2, α = 0.5, NaN)."""


class InputError(DpestError, ValueError):
    """The inputs can't be used as they are: not neighbours, NaN, the wrong shape."""


class TargetError(DpestError):
    """The mechanism that was named can't be found or loaded."""


class MissingExtraError(DpestError, ImportError):
    """A feature needs an optional dependency that isn't installed."""

    def __init__(self, extra: str, feature: str) -> None:
        super().__init__(f"{feature} needs the extra '{extra}': pip install 'dpest-audit[{extra}]'")
        self.extra = extra
        self.feature = feature

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self.feature)


class ReadingError(DpestError):
    """A mechanism can't be read in the way that was asked for.

    `where` is the user's "file:line", `operation` what stood there, `advice` what to do.
    """

    def __init__(self, operation: str, advice: str, where: str | None = None) -> None:
        self.operation = operation
        self.advice = advice
        self.where = where if where is not None else user_line()
        place = f"{located(self.where)}: " if self.where else ""
        super().__init__(f"{place}{operation}. {advice}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.operation, self.advice, self.where or "")


class UntraceableError(ReadingError):
    """The symbolic reading met an operation that is not linear in the noise."""


class OpaqueError(ReadingError):
    """An output that can't be looked into: nobody can say whether two of them are alike."""


class PathLimitError(ReadingError):
    """Too many paths, or too much time, before the trace was complete."""


class TimeLimitError(ReadingError):
    """One call of the user's function took longer than a run may take."""


class DependentRunsError(DpestError):
    """Runs changed something that later runs may see: they are not independent of each other."""

    def __init__(self, name: str, kept: tuple[str, ...]) -> None:
        super().__init__(
            f"{name} depends on what lies outside of its input and its draws "
            f"({', '.join(kept[:3])}): calls depend on those before, or on when they are made, so "
            "that nothing is read or sampled. Hand in what it needs, and return what it changes"
        )
        self.name = name
        self.kept = kept

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.kept)


class ReplayError(ReadingError):
    """The function behaved differently when it was run again with the same noise."""


class WorkerError(DpestError):
    """A task could not travel to a worker, or ended every worker that it was given to."""


class StateError(DpestError):
    """A state file belongs to other work, or can't be used."""


class RefusedError(DpestError):
    """A proof or an exact answer was refused, with the reason."""


class RoundedChanceError(RefusedError):
    """No exact answer for this pair: rounding of the program's own numbers decides a chance."""


def user_line(frame: FrameType | None = None) -> str | None:
    """The innermost "file:line" of the running code that belongs to the user, if there is one.

    The zoo counts as user code: it is written as a user would write it. `frame` is where to start
    from, the caller if it isn't given.
    """
    frame = frame if frame is not None else sys._getframe(1)
    while frame is not None:
        if belongs_to_user(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def located(where: str) -> str:
    """A "file:line" as people find it: a line of a notebook's cell by its own text."""
    file, colon, line = where.rpartition(":")
    if not colon or not line.isdigit() or not _CELL.search(file):
        return where
    text = linecache.getline(file, int(line)).strip()
    return f"line {line} of the cell, `{text}`" if text else f"line {line} of the cell"


def belongs_to_user(file: str) -> bool:
    """Whether code of this file is the user's: neither dpest's own, nor a library's."""
    inside = file.startswith(_PACKAGE) and "/zoo/" not in file
    library = "site-packages" in file or "/lib/python" in file
    return not inside and not library and not file.startswith("<frozen")


def described(error: BaseException) -> str:
    """The type and the text of an error, even of one whose text can't be had."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
