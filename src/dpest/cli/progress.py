"""A progress line on standard error, for a person who waits; silent where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dpest.cli.output import send_progress

PATIENCE = 1.0  # seconds before anything is shown
_APART = 0.1  # seconds between two messages


class ProgressLine:
    """One line that changes; shown where standard error is a terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._status: Any = None

    def show(self, method: str, stage: str, runs: int, seconds: float, bound: float) -> None:
        if not self._wanted or time.monotonic() - self._started < PATIENCE:
            return
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()
        made = f"{runs:,} runs, " if runs else ""
        what = f"{method}, {stage}" if stage else method
        self._status.update(f"{what}: {made}{seconds:.0f} s, bound so far {bound:.4g}")

    def hide(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextmanager
def showing_progress(
    quiet: bool = False, keep: Callable[[Any], None] | None = None
) -> Iterator[Callable[[Any], None]]:
    """Yield a function that takes the engines' progress.

    In a process of its own it is sent to the one that watches. `keep` gets each progress too.
    """
    line = ProgressLine(quiet)
    last = 0.0

    def report(progress: Any) -> None:
        nonlocal last
        if keep is not None:
            keep(progress)
        now = time.monotonic()
        if now - last < _APART:
            return
        last = now
        fields = (
            progress.method,
            progress.stage,
            int(progress.runs),
            float(progress.seconds),
            float(progress.bound),
        )
        line.show(*fields)
        send_progress(*fields)

    try:
        yield report
    finally:
        line.hide()
