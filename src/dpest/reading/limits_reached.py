"""What the machine refuses, as an error that says where, why and what to do."""

from __future__ import annotations

from dpest.errors import PathLimitError, ReadingError, UntraceableError
from dpest.reading.machine.signals import LimitReached, Refused
from dpest.running.places import source_line

SAMPLING = "dpest audit falls back to sampling for this mechanism"
_LIMITS = "raise the limits (max_paths=, seconds=)"
_FORKS = f"use np.max, np.argmax or np.where for whole vectors, a shorter input, or {_LIMITS}"
_ENDLESS = f"look for a loop that never ends, or {_LIMITS}"


def error_of(refusal: Refused, function_at: str | None) -> ReadingError:
    """The error for a refusal; where the machine knows no line, it is that of the function."""
    where = refusal.where or function_at
    if not isinstance(refusal, LimitReached):
        advice = refusal.advice or "write it in another way"
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
