"""How the privacy loss grows with the length of the input, and whether it is bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpest.ask.domains import ANY
from dpest.campaign.campaign import Campaign
from dpest.campaign.findings import Findings
from dpest.report.text import number
from dpest.verdict import Verdict


def growth(campaigns: Sequence[Campaign]) -> Verdict:
    """Audit each length; the verdict is on the last, with the table in `details["growth"]`."""
    rows: list[dict[str, Any]] = []
    last: Verdict | None = None
    interrupted = False
    for campaign in campaigns:
        last = campaign.run()
        rows.append(
            {
                "length": campaign.findings.question.length,
                "lower": last.lower.value if last.lower is not None else 0.0,
                "upper": last.upper.value if last.upper is not None else math.inf,
                "status": last.status,
            }
        )
        interrupted = bool(last.details.get("interrupted"))
        if interrupted:
            break
    assert last is not None
    table = {"rows": rows, "summary": summary(rows, campaigns[len(rows) - 1].findings)}
    return replace(last, details={**last.details, "growth": table})


def summary(rows: Sequence[dict[str, Any]], findings: Findings) -> str:
    """Bounded by a proof, infinite, or the trend of the lower bounds, each said as what it is."""
    for proof in findings.proofs:
        if proof.length is ANY and proof.epsilon is not None:
            value = float(proof.epsilon) * findings.unit_value()
            return f"bounded: at most {number(value)} for every n (proved)"
    infinite = [row for row in rows if math.isinf(row["lower"])]
    if infinite:
        return f"infinite from n = {infinite[0]['length']} on: supports differ"
    finite = [row for row in rows if row["lower"] > 0]
    if len(finite) < 2:
        return "too few lengths to say how it grows"
    first, last = finite[0], finite[-1]
    steps = last["length"] - first["length"]
    slope = (last["lower"] - first["lower"]) / steps
    if slope <= 0.01 * last["lower"] / max(last["length"], 1):
        return "the lower bounds don't grow with n here; no proof for every n was found"
    return (
        f"grows: the lower bound rises by {number(slope)} an entry on average "
        f"({number(first['lower'])} at n = {first['length']}, {number(last['lower'])} at "
        f"n = {last['length']}); no bound for every n was proved"
    )
