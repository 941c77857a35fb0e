"""The run that symbolic values ask when a decision is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from dpest.errors import DpestError, UntraceableError
from dpest.geometry.linear import Condition, Symbol
from dpest.noise.family import Noise
from dpest.reading.refusals import SAMPLING, collecting, refuse
from dpest.running.places import innermost, shown


class RunDecider(Protocol):
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
    run: RunDecider | None = None


_local = _Local()


def running() -> RunDecider:
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
def in_run(run: RunDecider) -> Iterator[None]:
    """Symbolic values ask `run` inside of this.

    An error of ours that the user's function caught is raised again at its end: what the function
    did after it is not what a plain run does.
    """
    before, _local.run = _local.run, run
    try:
        with collecting() as raised:
            try:
                yield
            except (DpestError, KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:
                _raise_swallowed([e for e in raised if e is not error])
                raise
            else:
                _raise_swallowed(raised)
    finally:
        _local.run = before


def _raise_swallowed(errors: Sequence[BaseException]) -> None:
    if not errors:
        return
    if isinstance(errors[0], DpestError):
        raise errors[0] from None
    raise UntraceableError(
        "the function catches everything, also what ends a run of the trace",
        f"write `except Exception:` instead of `except:`; {SAMPLING}",
        shown(innermost(errors[0].__traceback__)),
    ) from None
