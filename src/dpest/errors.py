"""Every error that dpest raises on purpose, in one small hierarchy.

A message says what was wrong, where in the user's function, and what to do instead.
"""

from __future__ import annotations

import traceback
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent)


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


class ReadingError(DpestError):
    """A mechanism can't be read in the way that was asked for.

    `where` is the user's "file:line", `operation` what stood there, `advice` what to do.
    """

    def __init__(self, operation: str, advice: str, where: str | None = None) -> None:
        self.operation = operation
        self.advice = advice
        self.where = where if where is not None else user_line()
        place = f"{self.where}: " if self.where else ""
        super().__init__(f"{place}{operation}. {advice}")


class UntraceableError(ReadingError):
    """The symbolic reading met an operation that is not linear in the noise."""


class UnbatchableError(ReadingError):
    """The batch reading met an operation that needs one number at a time."""


class PathLimitError(ReadingError):
    """Too many paths, or too much time, before the trace was complete."""


class ReplayError(ReadingError):
    """The function behaved differently when it was run again with the same noise."""


class RefusedError(DpestError):
    """A proof or an exact answer was refused, with the reason."""


def user_line() -> str | None:
    """The innermost "file:line" of the running code that belongs to the user, if there is one.

    The zoo counts as user code: it is written as a user would write it.
    """
    for frame in reversed(traceback.extract_stack()):
        inside = frame.filename.startswith(_PACKAGE) and "/zoo/" not in frame.filename
        library = "site-packages" in frame.filename or "/lib/python" in frame.filename
        if not inside and not library and not frame.filename.startswith("<frozen"):
            return f"{frame.filename}:{frame.lineno}"
    return None
