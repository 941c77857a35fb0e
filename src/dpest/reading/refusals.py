"""The one error of what can't be read: the user's line, what stood there, what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dpest.errors import UntraceableError
from dpest.running.places import shown, source_line, user_place

SAMPLING = "dpest audit falls back to sampling for this mechanism"


class _Local(threading.local):
    raised: list[BaseException] | None = None


_local = _Local()


@contextmanager
def collecting() -> Iterator[list[BaseException]]:
    """Errors that are raised inside of this, for those that the user's function catches."""
    before = _local.raised
    raised: list[BaseException] = []
    _local.raised = raised
    try:
        yield raised
    finally:
        _local.raised = before


@contextmanager
def forgetting() -> Iterator[None]:
    """Inside of this, dpest itself catches what symbolic values refuse."""
    before, _local.raised = _local.raised, None
    try:
        yield
    finally:
        _local.raised = before


def remembered(error: BaseException) -> BaseException:
    """The error, to be raised now, and again should the user's function catch it."""
    if _local.raised is not None:
        _local.raised.append(error)
    return error


def arrived(error: BaseException) -> None:
    """A remembered error has come to whom it was meant for."""
    if _local.raised is not None:
        _local.raised[:] = [e for e in _local.raised if e is not error]


def refuse(operation: str, advice: str = "") -> NoReturn:
    """Raises the error, with the user's line."""
    place = user_place()
    text = source_line(place)
    what = f"{operation}, in `{text}`" if text else operation
    raise remembered(
        UntraceableError(
            what, f"{advice}; or leave it: {SAMPLING}" if advice else SAMPLING, shown(place)
        )
    )
