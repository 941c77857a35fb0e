"""Inside the process of its own: what keeps the audited code from reaching anything else."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from dpest.errors import belongs_to_user
from dpest.execution.frames import FrameWriter

BEAT = 0.25  # seconds between two signs of life
# Above the numbers that code gets when it opens files, and that careless code closes.
_HIGH = 512
_MOST_DESCRIPTORS = 1 << 16


class ForkRefused(RuntimeError):
    """The audited code wanted to make a copy of the process that audits it."""


def begin(channel: int, noise: int, word: bytes, supervisor: int) -> FrameWriter:
    """Make this process, just forked, a worker. What it has to say goes through the writer.

    Standard input is empty. What is printed goes to `noise`. The process is the head of a group
    of its own, so that all that it starts can be ended with it.
    """
    os.setpgid(0, 0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    for number in (1, 2):
        os.dup2(noise, number)
    channel = _high(channel)
    # Files and pipes that the other process has open are none of this one's business.
    os.closerange(3, channel)
    os.closerange(channel + 1, _MOST_DESCRIPTORS)
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(  # noqa: SIM115
            number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.addaudithook(_guard(supervisor))
    writer = FrameWriter(channel, word)
    _beat(writer, supervisor, sys._getframe(1))
    return writer


def _high(descriptor: int) -> int:
    try:
        import fcntl

        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except (ImportError, OSError):
        return descriptor
    return moved


def _guard(supervisor: int) -> Callable[[str, tuple[Any, ...]], None]:
    """No copies of this process, no signals to the one that watches it."""

    def guard(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.fork", "os.forkpty"):
            raise ForkRefused(
                "audited code must not fork: both copies would go on with the audit "
                "(--no-isolate runs it without this guard)"
            )
        if event == "os.kill" and (arguments[0] == supervisor or arguments[0] <= 0):
            raise PermissionError("audited code must not send signals to the audit")
        if event == "os.killpg" and arguments[0] != os.getpid():
            raise PermissionError("audited code must not send signals to the audit")

    return guard


def _beat(writer: FrameWriter, supervisor: int, entry: FrameType) -> None:
    """Say a few times a second for how long the present call of the audited code has lasted.

    From a thread: it goes on while the code sleeps or loops. Where it stops too, the code is
    inside of something that never lets go of the interpreter.
    """
    sleep, now, frames, parent = time.sleep, time.monotonic, sys._current_frames, os.getppid
    main = threading.get_ident()

    def beat() -> None:
        last: FrameType | None = None
        since = now()
        while True:
            sleep(BEAT)
            if parent() != supervisor:
                os._exit(1)  # nobody waits for the answer any more
            call = _user_call(frames().get(main), entry)
            if call is None or call is not last:
                last, since = call, now()
            try:
                writer.send({"beat": now() - since})
            except OSError:
                os._exit(1)

    threading.Thread(target=beat, name="dpest beat", daemon=True).start()


def _user_call(frame: FrameType | None, entry: FrameType) -> FrameType | None:
    """The outermost frame of the user's code that is under way: one call of the function."""
    found = None
    while frame is not None and frame is not entry:
        if belongs_to_user(frame.f_code.co_filename):
            found = frame
        frame = frame.f_back
    return found


class Interruption:
    """A request to stop is a KeyboardInterrupt, once; again where the audited code swallowed it."""

    def __init__(self) -> None:
        self._entry = sys._getframe(1)
        self._asked = False
        self.finishing = False

    def install(self) -> None:
        """Again after the user's file was loaded: it may have installed handlers of its own."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.finishing or (self._asked and _user_call(frame, self._entry) is None):
            return
        self._asked = True
        raise KeyboardInterrupt
