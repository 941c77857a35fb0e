"""A verdict: all evidence on one question, and what follows from it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dpest.ask.stated import StatedQuestion
from dpest.evidence import MEET, ROUNDING, Demonstration, Evidence
from dpest.notebooks import as_html

if TYPE_CHECKING:
    from dpest.pictures import PairPicture

Status = Literal["exact", "proved", "violated", "unsettled"]


@dataclass(frozen=True)
class Obstacle:
    """What stood in the way of a proof: where, what it is, and what to do about it."""

    where: str
    operation: str
    advice: str

    def to_dict(self) -> dict[str, str]:
        return {"where": self.where, "operation": self.operation, "advice": self.advice}


@dataclass(frozen=True)
class Verdict:
    """[lower, upper] on one measure of privacy, for one question.

    `violated`: a lower bound exceeds the claim. `exact`: the two bounds meet (within 1 %) and the
    claim, if there is one, holds. `proved`: an upper bound for all inputs is within the claim, or,
    without a claim, is finite. `unsettled`: none of these. `floating_point` is the separate verdict
    on the machine's doubles, if it was asked for.
    """

    question: StatedQuestion
    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...] = ()
    seed: int = 0
    seconds: float = 0.0
    alpha: float = 0.05
    details: Mapping[str, Any] = field(default_factory=dict)
    # What the report draws, computed when it is asked for.
    picturing: Callable[[], Sequence[PairPicture]] | None = field(
        default=None, repr=False, compare=False
    )
    # How a violation is shown with few runs, looked for when it is asked for.
    demonstrating: Callable[[], Demonstration | None] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def _usable(self) -> list[Evidence]:
        return [
            e
            for e in self.evidence
            if e.standing.is_bound
            and not e.assumption
            and e.measure == self.question.measure
            and e.arithmetic == "real"
        ]

    @property
    def lower(self) -> Evidence | None:
        """The largest lower bound; among equals the one of the strongest standing."""
        found = [e for e in self._usable if e.side == "lower"]
        return max(found, key=lambda e: (e.value, _rank(e)), default=None)

    @property
    def upper(self) -> Evidence | None:
        found = [e for e in self._usable if e.side == "upper"]
        return min(found, key=lambda e: (e.value, -_rank(e)), default=None)

    @property
    def gap(self) -> float | None:
        """(upper − lower)/upper, if both are known; 0 when both are infinite."""
        if self.lower is None or self.upper is None:
            return None
        if math.isinf(self.upper.value):
            return 0.0 if math.isinf(self.lower.value) else None
        if self.upper.value == 0:
            return 0.0
        return max(0.0, (self.upper.value - self.lower.value) / self.upper.value)

    @property
    def status(self) -> Status:
        if exceeds(self.lower, self.question.limit):
            return "violated"
        limit = self.question.limit
        infinite = self.lower is not None and math.isinf(self.lower.value)
        within = self.upper is not None and (
            limit is None or self.upper.value <= limit * (1 + ROUNDING)
        )
        meets = self.gap is not None and self.gap <= MEET
        if (meets and within) or (limit is None and infinite):
            return "exact"
        if within and self.upper is not None and math.isfinite(self.upper.value):
            return "proved"
        return "unsettled"

    @functools.cached_property
    def demonstration(self) -> Demonstration | None:
        """The pair and event that refute the claim with the fewest runs, if it is violated."""
        if not self.violated or self.demonstrating is None:
            return None
        return self.demonstrating()

    @functools.cached_property
    def pictures(self) -> Sequence[PairPicture]:
        """What can be drawn: the pair that shows the lower bound first, then one easier to see."""
        return () if self.picturing is None else self.picturing()

    @property
    def floating_point(self) -> Evidence | None:
        """The largest lower bound on what the machine's doubles leak, if it was measured."""
        found = [e for e in self.evidence if e.arithmetic == "floating point" and e.side == "lower"]
        return max(found, key=lambda e: e.value, default=None)

    @property
    def floating_point_violated(self) -> bool:
        return exceeds(self.floating_point, self.question.limit)

    @property
    def recorded(self) -> Evidence | None:
        """What the grey box found, if it was used: a finding, on which no status rests."""
        return next((e for e in self.evidence if "recorded" in e.details), None)

    @property
    def obstacles(self) -> list[Obstacle]:
        """What stood in the way of a proof, in the order in which it was met."""
        return [Obstacle(**found) for found in self.details.get("obstacles", ())]

    @property
    def violated(self) -> bool:
        return self.status == "violated"

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def plot(self, axes: Any = None) -> Any:
        """The bounds and the claim on one line (extra `report`); gives the matplotlib axes."""
        from dpest.report.plots import plot_bounds

        return plot_bounds(self, axes)

    def __str__(self) -> str:
        from dpest.report.text import plain

        return plain(self)

    def to_json(self, indent: int | None = 2) -> str:
        from dpest.report.json_report import dumps

        return dumps(self, indent=indent)

    def to_html(self) -> str:
        from dpest.report.page import render

        return render(self)


_RANKS = {"estimate": 0, "confidence": 1, "exact": 2, "proved": 3}


def _rank(evidence: Evidence) -> int:
    return _RANKS[evidence.standing.name]


def exceeds(evidence: Evidence | None, limit: float | None) -> bool:
    """Whether a lower bound refutes the claim "at most limit", beyond its numerical error."""
    if evidence is None or limit is None:
        return False
    if math.isinf(evidence.value):
        return not math.isinf(limit)
    if evidence.details.get("refuted_claim") and evidence.value >= limit:
        return True  # a test of this very value rejected it
    slack = evidence.error + (
        ROUNDING * max(limit, 1e-12) if evidence.standing.alpha is None else 0
    )
    return evidence.value > limit + slack
