"""Ends code that doesn't end by itself."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeUp(BaseException):
    """Raised inside the code under watch when its time is up.

    Not an `Exception`, so that the code's own handlers let it pass.
    """


class _Dog:
    """One thread for the process; it sleeps until the earliest deadline."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.deadlines: dict[int, float] = {}
        self.thread: threading.Thread | None = None
        self.idle = False

    def watch(self, ident: int, deadline: float) -> float | None:
        with self.changed:
            before = self.deadlines.get(ident)
            self.deadlines[ident] = deadline if before is None else min(before, deadline)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="dpest-watch", daemon=True)
                self.thread.start()
            elif self.idle:
                self.changed.notify()
        return before

    def rest(self, ident: int, before: float | None) -> None:
        with self.changed:
            if before is None:
                self.deadlines.pop(ident, None)
            else:
                self.deadlines[ident] = before

    def _run(self) -> None:
        with self.changed:
            while True:
                now = time.monotonic()
                for ident, deadline in self.deadlines.items():
                    if deadline <= now:
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


def _new_dog() -> None:
    global _dog
    _dog = _Dog()


if hasattr(os, "register_at_fork"):  # the thread, and maybe its lock, stay with the parent
    os.register_at_fork(after_in_child=_new_dog)


@contextmanager
def watched(deadline: float) -> Iterator[None]:
    """Raise TimeUp in this thread when `deadline` (time.monotonic) has passed."""
    if time.monotonic() >= deadline:
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
        if time.monotonic() >= deadline and before is None:
            # One that was sent and has not arrived must not arrive later.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), None)
