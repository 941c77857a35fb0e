"""Work in a process of its own, and the one that watches it, owns its limits and its answer."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from dpest.errors import InputError
from dpest.execution.frames import FrameReader, FrameWriter, GarbledError

_TICK = 0.05  # seconds between two looks at the worker
_GRACE = 1.4  # seconds from a request to stop to its end: an answer is due within two
_NUDGE = 0.4  # seconds between two requests: code may swallow one
# By how much a call may exceed its limit, in parts of it and in seconds, before its process is
# ended: by then it was asked to stop, and did not.
_SLACK, _MOST_SLACK = 1.0, 10.0
_SUBREAPER = 36  # prctl's name for "orphans of my descendants are my children"
_SHOWN = 1 << 16  # bytes of what the audited code prints that are passed on

End = Literal["done", "interrupted", "time", "memory", "died"]


@dataclass(frozen=True)
class WorkLimits:
    """What the audited code may take: `seconds` for one call of it, `memory` bytes in all."""

    seconds: float = 30.0
    memory: int = 8 << 30

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise InputError(
                f"the time limit is a number of seconds, at most 86400 (a day); got {self.seconds}"
            )
        if not 1 << 28 <= self.memory <= 1 << 50:
            raise InputError(f"the memory limit is at least 256 MB; got {self.memory / 1e6:.6g} MB")


@dataclass(frozen=True)
class WorkOutcome:
    """How the work ended, and why if it did not end by itself. `status` is what it answered.

    `asked`: whether somebody had asked to stop.
    """

    end: End
    status: int | None = None
    reason: str = ""
    asked: bool = False


def can_isolate() -> bool:
    """Whether this system can copy the process (Windows can't)."""
    return hasattr(os, "fork") and hasattr(os, "setpgid")


def supervise(
    work: Callable[[FrameWriter], int | None],
    *,
    limits: WorkLimits,
    on_message: Callable[[dict[str, Any]], None],
    on_print: Callable[[bytes], None],
    adopt: bool = False,
) -> WorkOutcome:
    """Run `work` in a copy of this process and wait for it, whatever it does.

    `work` is handed the writer of its messages and returns a status. `on_message` gets the
    messages in their order, `on_print` what was printed, up to a limit. SIGINT and SIGTERM ask the
    work to stop; it has a little more than a second to say what it found. When this returns,
    nothing that the work has started is running any more; with `adopt`, for a process that has no
    other children, not even what left the worker's group.
    """
    word = os.urandom(16)
    channel_in, channel_out = os.pipe()
    noise_in, noise_out = os.pipe()
    supervisor = os.getpid()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()  # or the copy would say it again
    with _adopting(adopt) as others, _asked_to_stop() as asked:
        worker = _fork()
        if worker == 0:
            os.close(channel_in)
            os.close(noise_in)
            _be_worker(work, channel_out, noise_out, word, supervisor)
        os.close(channel_out)
        os.close(noise_out)
        watch = _Watch(worker, limits, FrameReader(word), on_message, on_print)
        watch.others = others if adopt else None
        try:
            return watch.until_the_end(channel_in, noise_in, asked)
        finally:
            watch.end_all()
            os.close(channel_in)
            os.close(noise_in)


def _fork() -> int:
    import warnings

    with warnings.catch_warnings():
        # The copy needs none of this process's threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _be_worker(
    work: Callable[[FrameWriter], int | None],
    channel: int,
    noise: int,
    word: bytes,
    supervisor: int,
) -> None:
    """In the copy: do the work, say how it ended, and leave without touching what is the other's.

    `os._exit` flushes no buffer and runs no exit handler, neither those of the audited code nor
    those that were inherited.
    """
    leave = os._exit
    try:
        from dpest.execution.worker import begin

        writer = begin(channel, noise, word, supervisor)
        status = work(writer)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        writer.send({"done": status})
    except BaseException:
        leave(3)
    leave(0)


@contextmanager
def _asked_to_stop() -> Iterator[list[float]]:
    """The times at which somebody asked to stop, as they come."""
    asked: list[float] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: Any) -> None:
        asked.append(time.monotonic())

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Watch:
    """One worker, as seen by the process that watches it."""

    def __init__(
        self,
        worker: int,
        limits: WorkLimits,
        reader: FrameReader,
        on_message: Callable[[dict[str, Any]], None],
        on_print: Callable[[bytes], None],
    ) -> None:
        self.worker = worker
        self.limits = limits
        self.reader = reader
        self.on_message = on_message
        self.on_print = on_print
        self.printed = 0
        self.beat = time.monotonic()
        self.call = 0.0  # seconds that the present call of the audited code has lasted
        self.status: int | None = None
        self.done = False
        self.stopping: tuple[float, WorkOutcome] | None = None
        self.nudged = 0.0
        self.gone = False
        self.code = 0
        self.others: set[int] | None = None  # children that are none of the worker's business

    def until_the_end(self, channel: int, noise: int, asked: list[float]) -> WorkOutcome:
        open_ends = {channel, noise}
        look = 0.0
        while open_ends:
            try:
                ready, _, _ = select.select(list(open_ends), [], [], _TICK)
            except InterruptedError:
                ready = []
            for end in ready:
                data = _read(end)
                if not data:
                    open_ends.discard(end)
                elif end == noise:
                    self._pass_on(data)
                else:
                    try:
                        self._take(self.reader.feed(data))
                    except GarbledError:
                        reason = "the audited code wrote into dpest's own channel"
                        return WorkOutcome("died", None, reason)
            if self.done or (channel not in open_ends):
                break
            now = time.monotonic()
            if now >= look:
                look = now + _TICK
                self._look(now, asked)
            if self.stopping is not None and now > self.stopping[0]:
                return self.stopping[1]
            if self._reaped() and not ready:
                break
        return self._outcome(noise, bool(asked))

    def _outcome(self, noise: int, asked: bool) -> WorkOutcome:
        while select.select([noise], [], [], 0)[0] and (data := _read(noise)):
            self._pass_on(data)
        if self.stopping is not None and self.stopping[1].end != "interrupted":
            return self.stopping[1]  # it was asked to stop: what it says now is no whole answer
        if self.done:
            return WorkOutcome("done", self.status, asked=asked)
        for _ in range(20):
            if self._reaped():
                break
            time.sleep(0.02)
        if self.stopping is not None:
            return self.stopping[1]
        return WorkOutcome("died", None, self._death())

    def _death(self) -> str:
        if not self.gone:
            return "the audited code closed dpest's own channel"
        if os.WIFSIGNALED(self.code):
            number = os.WTERMSIG(self.code)
            name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
            return f"the audited code ended its process by the signal {name}"
        return f"the audited code ended its process with the status {os.WEXITSTATUS(self.code)}"

    def _take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if "beat" in message:
                self.beat = time.monotonic()
                self.call = float(message["beat"])
            elif "done" in message:
                self.done = True
                self.status = message["done"]
            else:
                self.on_message(message)

    def _pass_on(self, data: bytes) -> None:
        if self.printed < _SHOWN:
            self.on_print(data[: _SHOWN - self.printed])
            if self.printed + len(data) >= _SHOWN:
                self.on_print(b"\ndpest: the audited code prints more; it is not shown\n")
        self.printed += len(data)

    def _look(self, now: float, asked: list[float]) -> None:
        """Ask the worker to stop where somebody wants it, or it took more than it may."""
        if self.stopping is None:
            outcome = self._excess(now, asked)
            if outcome is None:
                return
            wait = 0.0 if outcome.end == "memory" else _GRACE
            self.stopping = (now + wait, outcome)
        elif len(asked) > 1 and self.stopping[1].end == "interrupted":
            self.stopping = (now if now - asked[0] > 0.3 else now + 0.3, self.stopping[1])
            asked[1:] = []
        if now - self.nudged > _NUDGE:
            self.nudged = now
            _signal(self.worker, signal.SIGINT)

    def _excess(self, now: float, asked: list[float]) -> WorkOutcome | None:
        if asked:
            return WorkOutcome("interrupted", None, "interrupted")
        seconds = self.limits.seconds
        if max(self.call, now - self.beat) > seconds + min(_SLACK * seconds, _MOST_SLACK):
            return WorkOutcome(
                "time",
                None,
                f"one call of the audited code took more than {seconds:g} s and was stopped "
                "(--time-limit sets the limit)",
            )
        if _resident(self.worker) > self.limits.memory:
            return WorkOutcome(
                "memory",
                None,
                f"the audited code took more than {self.limits.memory / 2**30:.3g} GiB of memory "
                "and was stopped (--memory-limit sets the limit)",
            )
        return None

    def _reaped(self) -> bool:
        if not self.gone:
            try:
                found, self.code = os.waitpid(self.worker, os.WNOHANG)
            except ChildProcessError:
                found = self.worker
            self.gone = found == self.worker
        return self.gone

    def end_all(self) -> None:
        """End the worker and everything that it has started, wherever that has gone."""
        if self.done:  # it is on its way out
            for _ in range(50):
                if self._reaped():
                    break
                time.sleep(0.002)
        with contextlib.suppress(OSError):
            os.killpg(self.worker, signal.SIGKILL)
        if not self.gone:
            _signal(self.worker, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.worker, 0)
            self.gone = True
        for orphan in [] if self.others is None else set(_children()) - self.others:
            _signal(orphan, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan, 0)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError as error:
        if error.errno in (errno.EINTR, errno.EAGAIN):
            return b""
        raise


def _signal(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _resident(process: int, depth: int = 0) -> int:
    """Bytes in memory of a process and of those that it started (Linux; elsewhere 0)."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            pages = int(file.read().split()[1])
        total = pages * os.sysconf("SC_PAGE_SIZE")
        with open(f"/proc/{process}/task/{process}/children", "rb") as file:
            children = [int(word) for word in file.read().split()]
    except (OSError, ValueError, IndexError):
        return 0
    return total + sum(_resident(child, depth + 1) for child in children if depth < 8)


@contextmanager
def _adopting(wanted: bool) -> Iterator[set[int]]:
    """Be the parent of what the worker leaves behind (Linux), so that it can be ended.

    Yields the children that this process has already.
    """
    if not wanted or sys.platform != "linux":
        yield set()
        return
    import ctypes

    control = getattr(ctypes.CDLL(None), "prctl", None)
    if control is not None:
        control(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield set(_children())
    finally:
        if control is not None:
            control(_SUBREAPER, 0, 0, 0, 0)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/children", "rb") as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []
