"""The part of a page that the reader moves: an ε and a δ, and what is known about them.

The sliders have no positions between computed points: whatever they show was computed, nothing is
interpolated. The words for the first position are written here, so that they are there without a
script and in print; the page's script has the same rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpest.evidence import ROUNDING
from dpest.pictures import PairPicture
from dpest.report.sentence import certainty

if TYPE_CHECKING:
    from dpest.verdict import Verdict

STEPS = 80
TINY = "more than 0, less than any double"


@dataclass(frozen=True)
class Explorer:
    """`epsilons` and `deltas` are the positions, `start` those of the claim.

    `least_delta[i]`: what the pair needs at ε i, `least_epsilon[j]` at δ j; empty where only bounds
    are known. `refuted`: (ε, δ) below which the verdict's lower bound refutes; `covered`: from
    which on its upper bound holds.
    """

    epsilons: list[float]
    deltas: list[float]
    least_delta: list[float]
    least_epsilon: list[float]
    start: tuple[int, int]
    refuted: tuple[float, float] | None
    covered: tuple[float, float] | None
    standing: str

    def answer(self, i: int, j: int) -> str:
        """Whether (ε, δ)-DP holds, as far as it is known."""
        epsilon, delta = self.epsilons[i], self.deltas[j]
        if self.least_epsilon and epsilon < self.least_epsilon[j] * (1 - ROUNDING):
            return "refuted by this pair"
        if self.refuted is not None:
            limit, at = self.refuted
            if delta <= at and epsilon < limit * (1 - ROUNDING):
                return f"refuted by the lower bound ({self.standing})"
        if self.covered is not None:
            limit, at = self.covered
            if delta >= at and epsilon >= limit * (1 - ROUNDING):
                return "covered by the upper bound, for all inputs"
        return "not refuted here, and no upper bound covers it"

    def delta_at(self, i: int) -> str:
        """The δ of the pair at ε i; one that is positive and no double is not called zero."""
        needed = self.least_epsilon[0] if self.least_epsilon else 0.0
        if self.least_delta[i] == 0 and self.epsilons[i] < needed * (1 - ROUNDING):
            return TINY
        return shown(self.least_delta[i])

    def words(self) -> dict[str, str]:
        """What the page says at the start."""
        i, j = self.start
        return {
            "epsilon": shown(self.epsilons[i]),
            "delta": shown(self.deltas[j]),
            "least_delta": self.delta_at(i) if self.least_delta else "",
            "least_epsilon": shown(self.least_epsilon[j]) if self.least_epsilon else "",
            "certainty": certainty(self.epsilons[i]),
            "answer": self.answer(i, j),
        }

    def data(self) -> dict[str, Any]:
        """For the page's script: ∞ as the string that JSON has for it."""
        return {
            "epsilons": self.epsilons,
            "deltas": self.deltas,
            "leastDelta": self.least_delta,
            "leastEpsilon": [_plain(v) for v in self.least_epsilon],
            "start": list(self.start),
            "refuted": None if self.refuted is None else [_plain(v) for v in self.refuted],
            "covered": None if self.covered is None else [_plain(v) for v in self.covered],
            "standing": self.standing,
        }


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def shown(value: float) -> str:
    """Four digits, as the page's script writes them too."""
    return "∞" if math.isinf(value) else f"{value:.4g}"


def explorer_of(verdict: Verdict, picture: PairPicture | None) -> Explorer | None:
    """The sliders for a verdict; of no pair, they speak of its bounds on ε alone."""
    question = verdict.question
    at = question.measure.delta
    lower, upper = verdict.lower, verdict.upper
    limit = question.limit
    if question.measure.kind != "epsilon":  # μ, ρ and Rényi divergences are no ε to slide to
        lower = upper = limit = None
    refuted = None if lower is None or lower.value <= 0 else (lower.value, at)
    covered = None if upper is None or math.isinf(upper.value) else (upper.value, at)
    if picture is not None and picture.profile and picture.needed:
        epsilons = [e for e, _ in picture.profile]
        least_delta = [d for _, d in picture.profile]
        deltas = [d for d, _ in picture.needed]
        least_epsilon = [e for _, e in picture.needed]
    elif refuted or covered:
        epsilons = _grid(verdict)
        least_delta, least_epsilon = [], []
        deltas = sorted({0.0, at})
    else:
        return None
    wanted = limit
    if wanted is None:
        wanted = lower.value if lower is not None else epsilons[len(epsilons) // 4]
    start = (_nearest(epsilons, wanted), _nearest(deltas, at))
    standing = str(lower.standing) if lower is not None else ""
    return Explorer(epsilons, deltas, least_delta, least_epsilon, start, refuted, covered, standing)


def _grid(verdict: Verdict) -> list[float]:
    """Round steps up to a bit more than all that is known, with the claim among them."""
    known = [b.value for b in (verdict.lower, verdict.upper) if b is not None]
    known += [verdict.question.limit] if verdict.question.limit is not None else []
    top = 1.25 * max([v for v in known if math.isfinite(v)], default=1.0)
    exact = [v for v in known if math.isfinite(v)]
    return sorted({*exact, *(top * i / STEPS for i in range(STEPS + 1))})


def _nearest(values: list[float], wanted: float) -> int:
    return min(range(len(values)), key=lambda i: abs(values[i] - wanted))
