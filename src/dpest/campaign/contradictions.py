"""Upper bounds that an exact value contradicts: they are withdrawn, and the report says so."""

from __future__ import annotations

from collections.abc import Sequence

from dpest.evidence import EXACT, Evidence


def contradictions(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Upper bounds that an exact value of one pair exceeds, beyond all rounding.

    The pair can be computed again by whoever doubts it, so the upper bound goes: it was proved
    under an assumption that the pair does not meet (no records at all), or dpest is wrong.
    """
    exact = [
        e.value - e.error
        for e in evidence
        if e.side == "lower" and e.standing == EXACT and e.arithmetic == "real"
    ]
    most = max(exact, default=0.0)
    return [
        e
        for e in evidence
        if e.side == "upper" and e.standing.is_bound and e.value * (1 + 1e-6) + 1e-9 < most
    ]


def withdrawn(upper: Evidence) -> str:
    return (
        f"the upper bound {upper.value:g} ({upper.method}) is withdrawn: the exact value of a pair "
        "exceeds it. It holds under an assumption that this pair does not meet, or this is a bug "
        "in dpest: please report it"
    )
