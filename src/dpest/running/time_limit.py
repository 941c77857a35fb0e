"""A limit on the time of one call of the user's function, so that nothing hangs."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from dpest.errors import TimeLimitError, user_line

DEFAULT_SECONDS = 30.0
_one_call: ContextVar[float | None] = ContextVar("one_call", default=None)


@contextmanager
def one_call(seconds: float) -> Iterator[None]:
    """Let one call take `seconds` inside, wherever no other limit was asked for."""
    before = _one_call.set(seconds)
    try:
        yield
    finally:
        _one_call.reset(before)


class Expired(BaseException):
    """Raised inside the function; not an Exception, so that the function can't swallow it."""


class Clock:
    """When the call that is under way began; None between calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began: float | None = None
        self.where: str | None = None

    def start(self) -> None:
        self.began = time.monotonic()

    def stop(self) -> None:
        self.began = None

    def over(self) -> bool:
        return self.began is not None and time.monotonic() - self.began > self.seconds


@contextmanager
def limited(seconds: float, name: str) -> Iterator[Clock]:
    """Calls between `clock.start()` and `clock.stop()` may take `seconds` each.

    In the main thread a timer signal interrupts even a call that sleeps; elsewhere a second thread
    raises the exception, which takes effect at the next line of Python.
    """
    chosen = _one_call.get()
    if seconds == DEFAULT_SECONDS and chosen is not None:
        seconds = chosen
    clock = Clock(seconds)
    by_signal = (
        threading.current_thread() is threading.main_thread()
        and hasattr(signal, "setitimer")
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    try:
        with _by_signal(clock) if by_signal else _by_thread(clock):
            yield clock
    except Expired:
        raise TimeLimitError(
            f"one call of {name} took more than {seconds:g} s",
            "If it loops forever, give the loop an end; if it is only slow, raise the time limit",
            clock.where,
        ) from None


@contextmanager
def _by_signal(clock: Clock) -> Iterator[None]:
    def alarm(number: int, frame: FrameType | None) -> None:
        if clock.over():
            clock.where = user_line(frame)
            clock.stop()
            raise Expired

    interval = max(clock.seconds / 8, 0.01)
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, interval, interval)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextmanager
def _by_thread(clock: Clock) -> Iterator[None]:
    done = threading.Event()
    target = threading.get_ident()

    def watch() -> None:
        import sys

        while not done.wait(max(clock.seconds / 8, 0.01)):
            if clock.over():
                clock.where = user_line(sys._current_frames().get(target))
                clock.stop()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(target), ctypes.py_object(Expired)
                )
                return

    thread = threading.Thread(target=watch, name="dpest time limit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def where_defined(function: Any) -> str | None:
    """The "file:line" of a function's definition."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None
