"""How results look in a notebook: the answer in bold, the details below it; and how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

PATIENCE = 1.0  # seconds before anything is shown
APART = 0.3  # seconds between two changes of the line

_COLOURS = {
    "VIOLATED": "#c0392b",
    "EXACT": "#2e7d32",
    "PROVED": "#2e7d32",
    "UNSETTLED": "#b7791f",
}


def as_html(text: str) -> str:
    """Plain text with its answer in the first line, as HTML that needs no style sheet."""
    first, _, rest = text.partition("\n")
    word = first.split(":", 1)[0]
    colour = _COLOURS.get(word, "inherit")
    body = (
        f'<details><summary>details</summary><pre style="white-space:pre-wrap">{escape(rest)}'
        "</pre></details>"
        if rest.strip()
        else ""
    )
    return f'<div><p style="color:{colour};font-weight:bold">{escape(first)}</p>{body}</div>'


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def showing_progress(given: Callable[[Any], None] | None) -> Iterator[Callable[[Any], None] | None]:
    """Who is told how far it is: whoever was given, otherwise a line below a notebook's cell.

    The line is there after a second, and goes when the answer comes.
    """
    if given is not None or not in_notebook():
        yield given
        return
    from IPython.display import HTML, display

    line: Any = None
    began = changed = time.monotonic()

    def show(progress: Any) -> None:
        nonlocal line, changed
        now = time.monotonic()
        if now - began < PATIENCE or (line is not None and now - changed < APART):
            return
        changed = now
        runs = f"{progress.runs:,} runs, " if progress.runs else ""
        words = f"{progress.stage or progress.method}: {runs}{progress.seconds:.0f} s"
        shown = HTML(f"<i>{escape(words)}, bound so far {progress.bound:.4g}</i>")
        if line is None:
            line = display(shown, display_id=True)
        else:
            line.update(shown)

    try:
        yield show
    finally:
        if line is not None:
            line.update(HTML(""))
