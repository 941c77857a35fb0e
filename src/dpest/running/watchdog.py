"""Ends code that doesn't end by itself: at a deadline, or when one call takes too long.

A `Deadline` is for work of ours on the user's code: TimeUp comes out, and the caller goes another
way. `limited` is for calls of the user's function, which are the user's to mend: TimeLimitError.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, FunctionType
from typing import Any, Protocol

from dpest.errors import TimeLimitError, user_line

DEFAULT_SECONDS = 30.0  # for one call of the user's function

# On a busy machine a thread gets less than its time: by the clock it may take so much longer.
BUSY = 3.0

_patience: ContextVar[float] = ContextVar("patience", default=1.0)
_end: ContextVar[float] = ContextVar("end", default=math.inf)  # by `time.monotonic`
_one_call: ContextVar[float | None] = ContextVar("one_call", default=None)


@contextmanager
def patient(factor: float) -> Iterator[None]:
    """Let every deadline that is set inside be `factor` times as far away."""
    before = _patience.set(_patience.get() * factor)
    try:
        yield
    finally:
        _patience.reset(before)


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Let no deadline that is set inside be further away than `seconds` from now, by the clock."""
    before = _end.set(min(_end.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _end.reset(before)


@contextmanager
def one_call(seconds: float) -> Iterator[None]:
    """Let one call take `seconds` inside, wherever no other limit was asked for."""
    before = _one_call.set(seconds)
    try:
        yield
    finally:
        _one_call.reset(before)


# Seconds until TimeUp is sent again to code that has swallowed it: whoever is on the way out of
# much work needs some of them.
AGAIN = 1.0

# Seconds after which a signal that nobody handled counts as blocked.
DEAF = 5.0


class Limit(Protocol):
    """What the watching thread asks. `has_ended`: TimeUp was sent at least once."""

    has_ended: bool
    sent: float  # when it was sent last, by the clock

    def passed(self) -> bool:
        """Whether the code under watch has to end; any thread may ask."""
        ...

    def ending(self, frame: FrameType | None) -> None:
        """TimeUp is about to be raised in this frame."""
        ...


class Deadline:
    """`seconds` from now, of the time that this thread itself computes.

    What else the machine does is not held against the code, up to `BUSY` times the seconds; but
    where somebody who waits was promised an end, that counts (`ending_within`).
    """

    def __init__(self, seconds: float) -> None:
        self.has_ended, self.sent = False, -math.inf
        self.end = _end.get()
        self.seconds = min(seconds * _patience.get(), max(self.end - time.monotonic(), 0.0))
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
        now = time.monotonic()
        spent = now - self.began
        if now >= self.end:
            return True
        if spent < self.seconds:
            return False
        return spent >= BUSY * self.seconds or self._used() - self.used >= self.seconds

    def ending(self, frame: FrameType | None) -> None:
        self.has_ended = True


class Clock:
    """When the call that is under way began; None between calls. It ends one call, once."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began: float | None = None
        self.where: str | None = None
        self.has_ended, self.sent = False, -math.inf

    def start(self) -> None:
        self.began = time.monotonic()

    def stop(self) -> None:
        self.began = None

    def passed(self) -> bool:
        return self.began is not None and time.monotonic() - self.began > self.seconds

    def ending(self, frame: FrameType | None) -> None:
        self.where = user_line(frame)
        self.has_ended = True
        self.stop()


class TimeUp(BaseException):
    """Raised inside the code under watch when its time is up.

    Not an `Exception`, so that the code's own handlers let it pass.
    """


class _Dog:
    """One thread for the process; it looks now and then whether a limit has passed.

    The main thread is stopped by a signal: its handler runs where the thread is at that moment, and
    sees whether it may be disturbed there; a call that sleeps is interrupted. Elsewhere, and where
    the signal is taken or blocked, the exception is set from outside. That one arrives at the next
    line of Python, wherever this may be by then.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.limits: dict[int, list[Limit]] = {}  # of each thread, the outer ones first
        self.thread: threading.Thread | None = None
        self.idle = False
        self.unheard: float | None = None  # when the first signal went out that wasn't handled

    def watch(self, ident: int, limit: Limit) -> list[Limit]:
        with self.changed:
            before = self.limits.get(ident, [])
            self.limits[ident] = [*before, limit]
            if self.thread is None or not self.thread.is_alive():
                _hush()
                self.thread = threading.Thread(target=self._run, name="dpest-watch", daemon=True)
                self.thread.start()
            elif self.idle:
                self.changed.notify()
        return before

    def rest(self, ident: int, before: list[Limit]) -> None:
        with self.changed:
            if before:
                self.limits[ident] = before
            else:
                self.limits.pop(ident, None)

    def passed(self, ident: int) -> list[Limit]:
        """The limits of a thread that have passed and were not told so a moment ago."""
        now = time.monotonic()
        limits = self.limits.get(ident, ())
        return [x for x in limits if x.passed() and now - x.sent >= AGAIN]

    def _stop(self, ident: int) -> None:
        now = time.monotonic()
        if ident == threading.main_thread().ident and _is_heard():
            self.unheard = self.unheard or now
            if now - self.unheard < DEAF:
                signal.pthread_kill(ident, signal.SIGALRM)
                return
        frame = sys._current_frames().get(ident)
        if not _leaving(frame):
            _tell(self.passed(ident), frame)
            # Again and again, should the code swallow it.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(TimeUp)
            )

    def _run(self) -> None:
        with self.changed:
            while True:
                for ident in self.limits:
                    if self.passed(ident):
                        self._stop(ident)
                # Deadlines are seconds away; a look now and then costs less than a wake-up for
                # each of the many short runs.
                self.idle = not self.limits
                self.changed.wait(5.0 if self.idle else 0.05)
                if self.idle and not self.limits:
                    self.idle = False
                    self.thread = None
                    return


_dog = _Dog()


def _tell(passed: list[Limit], frame: FrameType | None) -> None:
    for limit in passed:
        limit.ending(frame)
        limit.sent = time.monotonic()


def _alarm(number: int, frame: FrameType | None) -> None:
    """The main thread, at a place of its own: is it time, and may it be disturbed here?"""
    _dog.unheard = None
    passed = _dog.passed(threading.get_ident())
    if passed and not _leaving(frame):
        _tell(passed, frame)
        raise TimeUp


def _is_heard() -> bool:
    return hasattr(signal, "pthread_kill") and signal.getsignal(signal.SIGALRM) is _alarm


@contextmanager
def _listening() -> Iterator[None]:
    """Let the main thread hear the signal inside, unless somebody else uses it."""
    free = (
        threading.current_thread() is threading.main_thread()
        and hasattr(signal, "pthread_kill")
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    if not free:
        yield
        return
    signal.signal(signal.SIGALRM, _alarm)
    try:
        yield
    finally:
        # A signal that is still on its way would end the process.
        if _is_heard() and _dog.unheard is None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _leaving(frame: FrameType | None) -> bool:
    """Is a thread entering or leaving a block under watch, or importing? It is not disturbed there.

    Libraries import in the middle of their C++, where an exception ends the process.
    """
    if frame is not None and frame.f_code.co_filename in (__file__, contextlib.__file__):
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code in _importers:
            return True
        frame = frame.f_back
    return False


_importers: set[CodeType] = set()


def imports(function: Callable[..., Any]) -> None:
    """This stands in for `__import__`, or puts that in place: nothing under it is disturbed."""
    if isinstance(function, FunctionType):
        _importers.add(function.__code__)


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
    with _within(deadline):
        yield


@contextmanager
def limited(seconds: float, name: str) -> Iterator[Clock]:
    """Calls between `clock.start()` and `clock.stop()` may take `seconds` each."""
    chosen = _one_call.get()
    if seconds == DEFAULT_SECONDS and chosen is not None:
        seconds = chosen
    clock = Clock(seconds)
    try:
        with _within(clock):
            yield clock
    except TimeUp:
        if not clock.has_ended:
            raise  # of a deadline around this
        raise TimeLimitError(
            f"one call of {name} took more than {seconds:g} s",
            "If it loops forever, give the loop an end; if it is only slow, raise the time limit",
            clock.where,
        ) from None


@contextmanager
def _within(limit: Limit) -> Iterator[None]:
    ident = threading.get_ident()
    dog = _dog
    with _listening():
        before = dog.watch(ident, limit)
        try:
            yield
        finally:
            try:
                dog.rest(ident, before)
            except TimeUp:
                dog.rest(ident, before)
            if limit.has_ended and not any(outer.has_ended for outer in before):
                # One that was sent for this limit and has not arrived must not arrive later.
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), None)
