"""All paths of a function, by running it again and again with other decisions.

Each run follows the decisions of a prefix and then takes the first possible way at every open
question, leaving the other ways for later runs. Ways that no noise can take are dropped, exactly.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import DpestError, PathLimitError, ReplayError
from dpest.geometry.linear import Condition, Symbol, distinct
from dpest.geometry.masses import mass_bound
from dpest.geometry.regions import Point
from dpest.reading.rewrites.returning import ReturningLoops
from dpest.reading.tracing.joining import Joins
from dpest.reading.tracing.patches import Overlay, patched
from dpest.reading.tracing.running import in_run
from dpest.reading.tracing.runs import (
    Explored,
    Joined,
    Names,
    SuspendedRun,
    TraceLimits,
    TraceRun,
    Turn,
)
from dpest.reading.tracing.symbolic import TracedTruth
from dpest.running.places import Place, innermost, shown, source_line
from dpest.running.watchdog import Deadline, TimeUp, watched

__all__ = [
    "Explored",
    "Names",
    "TraceExploration",
    "TraceLimits",
    "TraceRun",
    "explore",
    "same_outcome",
]


class TraceExploration:
    """Iterate over it to get the paths; `leftover`, `notes` and `forks` are complete after that.

    `run` is called with a `Run`, once a path and twice more for the first one, to see that it does
    the same thing again. `assume` are conditions that hold from the start and are not repeated in
    the paths. With `join`, paths stand for several ways through a loop without a bound: what they
    are is said by `joins.merged(path.turns, …)` when the iteration is over. `function` is the
    user's, in whose modules NumPy is replaced; `run` itself if it isn't given.
    """

    def __init__(
        self,
        run: Callable[[TraceRun], Any],
        *,
        limits: TraceLimits | None = None,
        names: Names | None = None,
        assume: Sequence[Condition] = (),
        where: str | None = None,
        lenient: bool = False,
        join: bool = False,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.run = run
        self.overlay = Overlay(run if function is None else function)
        self.lenient = lenient
        self.limits = limits or TraceLimits()
        self.names = names or Names()
        self.assume = tuple(assume)
        self.where = where
        self.joins = Joins(self.names.supports.noises) if join else None
        self.loops = ReturningLoops(self.names.supports.noises, function or run) if join else None
        self.notes: dict[str, None] = {}
        self.forks: Counter[Place | None] = Counter()
        self.leftover: Fraction | float = Fraction(0)
        self.start: Point = {}
        self.tight = [self.names.supports.tightened(c) for c in self.assume]
        self.runs = 0
        self.suspensions = 0

    @property
    def indicators(self) -> dict[Symbol, TracedTruth]:
        return self.names.indicators

    def __iter__(self) -> Iterator[Explored]:
        if self.assume:
            from dpest.geometry.polyhedra import feasible

            symbols = {s for c in self.tight for s in c.form.terms}
            start = feasible([*self.tight, *self.names.supports.conditions(symbols)])
            if start is None:
                return
            self.start = start
        deadline = Deadline(self.limits.seconds)
        stack: list[list[Turn]] = [[]]
        suspended: list[tuple[float, int, list[Turn], int]] = []
        order = itertools.count()
        first: tuple[list[Turn], Explored] | None = None
        found = 0
        patience = self.limits.patience
        improbable = self.limits.leftover / 100
        while stack or suspended:
            if not stack:
                suspended = [(-self._mass(t), i, t, p) for _, i, t, p in suspended]
                heapq.heapify(suspended)
                left = sum(-mass for mass, *_ in suspended)
                if left <= self.limits.leftover:
                    self.leftover = left
                    break
                _, _, turns, spent = heapq.heappop(suspended)
                patience = 2 * spent
                improbable = min(improbable, self._mass(turns, joined=False) / 100)
            else:
                turns = stack.pop()
            run, result = self._attempt(turns, patience, deadline, improbable)
            stack.extend(run.open)
            if result is None:
                if not run.joined:
                    self.suspensions += 1
                    suspended.append((0.0, next(order), run.turns, patience))
                continue
            found += 1
            if found > self.limits.paths:
                raise self._too_much(f"more than {self.limits.paths} paths")
            if first is None:
                first = (run.turns, result)
                self._check_repeats(*first, deadline)
            yield result
        if first is not None and found > 1:
            self._check_repeats(*first, deadline)

    def _attempt(
        self, turns: Sequence[Turn], patience: int, deadline: Deadline, improbable: float
    ) -> tuple[TraceRun, Explored | None]:
        run = TraceRun(self, turns, patience, improbable)
        self.runs += 1
        outcome: Any
        raised = False
        try:
            with in_run(run), patched(self.overlay), watched(deadline):
                outcome = self.run(run)
        except SuspendedRun:
            return run, None
        except Joined:
            run.joined = True
            return run, None
        except TimeUp as stop:
            if not deadline.passed():
                raise  # another deadline, of who asked for the trace
            raise self._too_much(
                f"more than {deadline.seconds:g} s", innermost(stop.__traceback__)
            ) from None
        except DpestError:
            raise
        except Exception as error:
            outcome, raised = error, True
        if run.position < run.given:
            raise ReplayError(
                "the function made fewer decisions when it was run again with the same noise",
                "a mechanism must depend on its input, its parameters and `rng` alone",
                self.where,
            )
        return run, Explored(
            distinct(run.conditions),
            run.choices,
            run.noises,
            outcome,
            raised,
            run.turns[-1].point if run.turns else self.start,
            run.turns,
        )

    def _mass(self, turns: Sequence[Turn], *, joined: bool = True) -> float:
        """A bound on the probability of all ways that the turns stand for."""
        noises = self.names.supports.noises
        if self.joins is None or self.loops is None or not joined:
            return mass_bound(
                [c for t in turns for c in t.conditions],
                [t.choice for t in turns if t.choice is not None],
                noises,
            )
        return float(self.loops.weight(turns)) * sum(
            mass_bound(conditions, choices, noises)
            for conditions, choices, _ in self.joins.merged(turns, ())
        )

    def _check_repeats(self, turns: list[Turn], before: Explored, deadline: Deadline) -> None:
        run, again = self._attempt(turns, 10**9, deadline, 0.0)
        same = (
            again is not None
            and len(run.turns) == len(turns)
            and again.noises == before.noises
            and again.raised == before.raised
            and same_outcome(run, again.outcome, before.outcome)
        )
        if not same:
            raise ReplayError(
                "the function did something else when it was run again with the same noise",
                "a mechanism must depend on its input, its parameters and `rng` alone: look for "
                "global variables, default arguments that are changed, files, clocks, and random "
                "numbers that don't come from `rng`",
                self.where,
            )

    def _too_much(self, limit: str, stopped: Place | None = None) -> PathLimitError:
        place = max(self.forks, key=lambda p: self.forks[p], default=None)
        if place is None:
            place = stopped
            text = source_line(place)
            what = f"the function took {limit} without coming to an end"
            what += f", in `{text}`" if text else ""
            advice = "look for a loop that never ends, or raise the limits (max_paths=, seconds=)"
        else:
            text = source_line(place)
            what = f"the trace took {limit}; most of its {sum(self.forks.values())} forks are here"
            what += f", in `{text}`" if text else ""
            advice = (
                "use np.max, np.argmax or np.where for whole vectors, a shorter input, or raise "
                "the limits (max_paths=, seconds=)"
            )
            if self.suspensions:
                advice = (
                    "this loop has no bound; a larger leftover= ends it earlier, or raise the "
                    "limits (max_paths=, seconds=)"
                )
        return PathLimitError(what, advice, shown(place) or self.where)


def explore(
    run: Callable[[Any], Any],
    *,
    limits: TraceLimits | None = None,
    names: Names | None = None,
    assume: Sequence[Condition] = (),
    where: str | None = None,
    lenient: bool = False,
    join: bool = False,
    function: Callable[..., Any] | None = None,
) -> TraceExploration:
    """The paths of `run(generator)`, where the generator stands in for NumPy's.

    >>> for path in explore(lambda rng: bool(rng.laplace() > 1)):
    ...     print(path.outcome, path.conditions)
    True (laplace0 - 1 > 0,)
    False (-laplace0 + 1 >= 0,)
    """
    from dpest.reading.tracing.generator import SymbolicGenerator

    return TraceExploration(
        lambda inner: run(SymbolicGenerator(inner)),
        limits=limits,
        names=names,
        assume=assume,
        where=where,
        lenient=lenient,
        join=join,
        function=run if function is None else function,
    )


def same_outcome(run: TraceRun, first: Any, second: Any) -> bool:
    """Structural equality of outputs that may hold symbolic values."""
    from dpest.reading.release import released, same_release

    if isinstance(first, BaseException) or isinstance(second, BaseException):
        return type(first) is type(second)
    with in_run(run):
        return same_release(released(first), released(second))
