"""The run that symbolic values ask when a decision is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

from dpest.errors import UntraceableError
from dpest.noise.family import Noise
from dpest.program.linear import Condition, Symbol
from dpest.program.places import shown, source_line, user_place

SAMPLING = "dpest audit falls back to sampling for this mechanism"


class Decider(Protocol):
    """What a symbolic value needs of the run it belongs to."""

    def decide(self, condition: Condition) -> bool:
        """Whether the condition holds on this path; forks where both are possible."""

    def choose(self, cells: Sequence[Sequence[Condition] | None]) -> int:
        """Which of the cells (conjunctions; None is impossible) this path is in.

        The cells are disjoint and cover everything.
        """

    def indicator(self, truth: Any) -> Symbol:
        """The 0/1 symbol that stands for a truth value."""

    def defined(self, indicator: Symbol) -> Any:
        """The truth value that an indicator stands for."""

    def noise_of(self, symbol: Symbol) -> Noise | None:
        """The distribution of a noise symbol."""

    def note(self, text: str) -> None:
        """Say something in the result."""


class _Local(threading.local):
    run: Decider | None = None


_local = _Local()


def running() -> Decider:
    """The run in progress; outside of one a symbolic value can't decide anything."""
    run = _local.run
    if run is None:
        refuse(
            "a symbolic value was asked for a decision outside of a trace",
            "look at the paths of the trace instead",
        )
    return run


def has_run() -> bool:
    return _local.run is not None


def lenient() -> bool:
    """Whether arrays of plain numbers are handed out in a form that can hold noisy values."""
    return getattr(_local.run, "lenient", False)


@contextmanager
def in_run(run: Decider) -> Iterator[None]:
    before, _local.run = _local.run, run
    try:
        yield
    finally:
        _local.run = before


def refuse(operation: str, advice: str = "") -> NoReturn:
    """The one error of what can't be traced: the user's line, what stood there, what to do."""
    place = user_place()
    text = source_line(place)
    what = f"{operation}, in `{text}`" if text else operation
    raise UntraceableError(
        what, f"{advice}; or leave it: {SAMPLING}" if advice else SAMPLING, shown(place)
    )
