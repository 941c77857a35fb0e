"""The verdict as one sentence for who has to decide and doesn't speak of ε."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpest.verdict import Verdict


_WHO = "Whoever sees the output and held two neighbouring inputs for equally likely"


def certainty(epsilon: float) -> str:
    """How sure an observer can become of one of two equally likely inputs: e^ε/(1+e^ε)."""
    if math.isinf(epsilon):
        return "100 %"
    share = 1 / (1 + math.exp(-epsilon))
    digits = 0 if share < 0.985 else 1 if share < 0.9985 else 3
    return f"{100 * share:.{digits}f} %" if share < 0.99999 else "more than 99.999 %"


def sentence(verdict: Verdict) -> str:
    """One sentence on what the bounds mean; empty for measures that are no statement on odds."""
    measure, limit = verdict.question.measure, verdict.question.limit
    if measure.kind != "epsilon":
        return ""
    apart = f", apart from events of chance {measure.delta:g}," if measure.delta else ""
    lower, upper = verdict.lower, verdict.upper
    if verdict.violated and lower is not None and limit is not None:
        return (
            f"{_WHO} can{apart} become {certainty(lower.value)} sure which of them it was, instead "
            f"of the {certainty(limit)} that the claim allows."
        )
    if upper is not None and math.isfinite(upper.value):
        return (
            f"{_WHO} can{apart} never become more than {certainty(upper.value)} sure which it was."
        )
    if lower is None or lower.value <= 0:
        return ""
    return (
        f"{_WHO} can{apart} become {certainty(lower.value)} sure which of them it was; how much "
        "more is not known."
    )
