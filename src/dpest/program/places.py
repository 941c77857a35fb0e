"""Where in the user's code a reading stands, found quickly."""

from __future__ import annotations

import functools
import linecache
import sys
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).resolve().parent.parent)

Place = tuple[str, int]


@functools.lru_cache(maxsize=4096)
def is_user_file(filename: str) -> bool:
    """Not dpest itself (the zoo counts as a user), not a library."""
    if filename.startswith(_PACKAGE):
        return "/zoo/" in filename
    return not (
        "site-packages" in filename or "/lib/python" in filename or filename.startswith("<frozen")
    )


def user_place() -> Place | None:
    """File and line of the innermost frame that belongs to the user."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def shown(place: Place | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"


def source_line(place: Place | None) -> str:
    """The text of the line, or nothing."""
    return "" if place is None else linecache.getline(*place).strip()
