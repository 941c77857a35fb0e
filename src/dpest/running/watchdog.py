"""Ends code that doesn't end by itself."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# On a busy machine a thread gets less than its time: by the clock it may take so much longer.
BUSY = 3.0

_patience: ContextVar[float] = ContextVar("patience", default=1.0)


@contextmanager
def patient(factor: float) -> Iterator[None]:
    """Let every deadline that is set inside be `factor` times as far away."""
    before = _patience.set(_patience.get() * factor)
    try:
        yield
    finally:
        _patience.reset(before)


class Deadline:
    """`seconds` from now, of the time that this thread itself computes.

    What else the machine does is not held against the code, up to `BUSY` times the seconds.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds * _patience.get()
        own = getattr(time, "pthread_getcpuclockid", None)
        self.clock = None if own is None else own(threading.get_ident())
        self.began = time.monotonic()
        self.used = self._used()

    def _used(self) -> float:
        if self.clock is None:
            return time.monotonic()
        try:
            return time.clock_gettime(self.clock)
        except OSError:  # the thread has ended
            return time.monotonic()

    def passed(self) -> bool:
        """Whether it has passed; any thread may ask."""
        spent = time.monotonic() - self.began
        if spent < self.seconds:
            return False
        return spent >= BUSY * self.seconds or self._used() - self.used >= self.seconds


class TimeUp(BaseException):
    """Raised inside the code under watch when its time is up.

    Not an `Exception`, so that the code's own handlers let it pass.
    """


class _Dog:
    """One thread for the process; it sleeps until the earliest deadline."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.deadlines: dict[int, list[Deadline]] = {}  # of each thread, the outer ones first
        self.thread: threading.Thread | None = None
        self.idle = False

    def watch(self, ident: int, deadline: Deadline) -> list[Deadline]:
        with self.changed:
            before = self.deadlines.get(ident, [])
            self.deadlines[ident] = [*before, deadline]
            if self.thread is None or not self.thread.is_alive():
                _hush()
                self.thread = threading.Thread(target=self._run, name="dpest-watch", daemon=True)
                self.thread.start()
            elif self.idle:
                self.changed.notify()
        return before

    def rest(self, ident: int, before: list[Deadline]) -> None:
        with self.changed:
            if before:
                self.deadlines[ident] = before
            else:
                self.deadlines.pop(ident, None)

    def _run(self) -> None:
        with self.changed:
            while True:
                for ident, deadlines in self.deadlines.items():
                    if any(deadline.passed() for deadline in deadlines):
                        # Again and again, should the code swallow it.
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(ident), ctypes.py_object(TimeUp)
                        )
                # Deadlines are seconds away; a look now and then costs less than a wake-up for
                # each of the many short runs.
                self.idle = not self.deadlines
                self.changed.wait(5.0 if self.idle else 0.05)
                if self.idle and not self.deadlines:
                    self.idle = False
                    self.thread = None
                    return


_dog = _Dog()


def _hush() -> None:
    """Let nobody report a TimeUp that came inside of a destructor or a weak reference's callback.

    Python can't raise there; the next one comes a moment later.
    """
    before = sys.unraisablehook
    if getattr(before, "knows_time_up", False):
        return

    def hook(unraisable: Any) -> None:
        if unraisable.exc_type is not TimeUp:
            before(unraisable)

    hook.knows_time_up = True  # type: ignore[attr-defined]
    sys.unraisablehook = hook


def _new_dog() -> None:
    global _dog
    _dog = _Dog()


if hasattr(os, "register_at_fork"):  # the thread, and maybe its lock, stay with the parent
    os.register_at_fork(after_in_child=_new_dog)


@contextmanager
def watched(deadline: Deadline) -> Iterator[None]:
    """Raise TimeUp in this thread when the deadline has passed."""
    if deadline.passed():
        raise TimeUp
    ident = threading.get_ident()
    dog = _dog
    before = dog.watch(ident, deadline)
    try:
        yield
    finally:
        try:
            dog.rest(ident, before)
        except TimeUp:
            dog.rest(ident, before)
        if not before and deadline.passed():
            # One that was sent and has not arrived must not arrive later.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), None)
