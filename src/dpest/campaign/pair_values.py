"""What one pair of neighbours is worth, computed exactly and within a time."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpest import measures
from dpest.campaign.findings import Findings
from dpest.errors import PathLimitError, RefusedError
from dpest.evidence import EXACT, Evidence, Measure
from dpest.exact.engine import PairObjective, exact_loss
from dpest.running.watchdog import Deadline, TimeUp, watched

# A guard, in seconds of computing: a pair that takes longer is given up, and the notes say so.
PAIR_SECONDS = 10.0


class PairValues:
    """Exact losses of pairs, in the measure that was asked; a pair is computed once."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.complete = True  # whether the value of every pair so far was more than a lower bound
        self.seconds = PAIR_SECONDS
        # Where one pair took more than so many seconds, and the reason: no other is tried for less.
        self.late: tuple[float, str] | None = None

    @functools.cached_property
    def objective(self) -> PairObjective:
        return PairObjective(self.findings.question.mechanism)

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """How long one pair may take meanwhile."""
        self.seconds = seconds
        try:
            yield
        finally:
            self.seconds = PAIR_SECONDS

    def value(self, x: Any, x2: Any) -> float:
        if self.late and self.seconds <= self.late[0]:
            raise RefusedError(self.late[1])
        deadline, began = Deadline(self.seconds), time.thread_time()
        try:
            with watched(deadline):
                return self._compute(x, x2)
        except TimeUp:
            reason = f"the exact loss of one pair takes more than {deadline.seconds:g} s"
            self.late = (self.seconds, reason)
            raise RefusedError(reason) from None
        except PathLimitError as error:
            if time.thread_time() - began > 0.5 * self.seconds:
                self.late = (self.seconds, str(error))
            raise

    def _compute(self, x: Any, x2: Any) -> float:
        question = self.findings.question
        if question.measure == Measure():
            worth = self.objective(x, x2)
            self.complete = self.complete and self.objective.complete
            return worth
        loss = exact_loss(question.mechanism, x, x2)
        self.complete = self.complete and loss.complete
        return measures.of_loss(loss, question.measure)

    def consider(self, candidate: tuple[float, Any, Any], method: str) -> None:
        """Turn the best pair so far into evidence, with its witness."""
        value, x, x2 = candidate
        findings, question = self.findings, self.findings.question
        lower = findings.verdict().lower
        if lower is not None and lower.value >= value:
            return
        started = time.monotonic()
        loss = self.objective.loss(x, x2)
        measured = measures.of_loss(loss, question.measure)
        edge = measures.edge_of_loss(loss, question.measure, question.limit)
        if edge is not None:
            findings.notes.append(edge)
        findings.evidence.append(
            Evidence(
                side="lower",
                value=measured,
                standing=EXACT,
                method=method,
                witness=measures.exact_witness(loss, x, x2, question.mechanism),
                seconds=time.monotonic() - started,
                measure=question.measure,
                error=loss.error,
                notes=loss.notes,
            )
        )
