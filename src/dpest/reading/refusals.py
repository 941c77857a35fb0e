"""The one error of what can't be read: the user's line, what stood there, what to do."""

from __future__ import annotations

from typing import NoReturn

from dpest.errors import PathLimitError, ReadingError, UntraceableError
from dpest.reading.machine.signals import OutOfLimits, Refused
from dpest.running.places import shown, source_line, user_place

SAMPLING = "dpest audit falls back to sampling for this mechanism"
_LIMITS = "raise the limits (max_paths=, seconds=)"
_FORKS = f"use np.max, np.argmax or np.where for whole vectors, a shorter input, or {_LIMITS}"
_ENDLESS = f"look for a loop that never ends, or {_LIMITS}"


def refuse(operation: str, advice: str = "") -> NoReturn:
    """Raises the error, with the user's line."""
    place = user_place()
    text = source_line(place)
    what = f"{operation}, in `{text}`" if text else operation
    raise UntraceableError(
        what, f"{advice}; or leave it: {SAMPLING}" if advice else SAMPLING, shown(place)
    )


PLAINER = "write this line with plain Python, sums and comparisons"


def error_of(refusal: Refused, function_at: str | None) -> ReadingError:
    """The error for a refusal; where the machine knows no line, it is that of the function."""
    where = refusal.where or function_at
    if not isinstance(refusal, OutOfLimits):
        advice = refusal.advice or PLAINER
        return UntraceableError(refusal.reason, f"{advice}; {SAMPLING}", where)
    if refusal.advice:
        return PathLimitError(refusal.reason, refusal.advice, where)
    text = _text_at(where)
    if refusal.forks:
        what = f"the trace took {refusal.reason}; most of its {refusal.forks} forks are here"
        return PathLimitError(what + text, _FORKS, where)
    what = f"the function took {refusal.reason} without coming to an end"
    return PathLimitError(what + text, _ENDLESS, where)


def _text_at(where: str | None) -> str:
    file, _, line = (where or "").rpartition(":")
    text = source_line((file, int(line))) if file and line.isdigit() else ""
    return f", in `{text}`" if text else ""
