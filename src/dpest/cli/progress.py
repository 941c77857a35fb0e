"""A progress line on standard error, for a person who waits; silent where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # seconds before anything is shown


@contextmanager
def showing_progress(quiet: bool = False) -> Iterator[Callable[[Any], None] | None]:
    """Yield a function that takes the engines' progress, or None where nothing is to be shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.status import Status

    started = time.monotonic()
    status: Status | None = None

    def report(progress: Any) -> None:
        nonlocal status
        if time.monotonic() - started < PATIENCE:
            return
        if status is None:
            status = Status("", console=Console(stderr=True))
            status.start()
        runs = f"{progress.runs:,} runs, " if progress.runs else ""
        what = f"{progress.method}, {progress.stage}" if progress.stage else progress.method
        status.update(f"{what}: {runs}{progress.seconds:.0f} s, bound so far {progress.bound:.4g}")

    try:
        yield report
    finally:
        if status is not None:
            status.stop()
