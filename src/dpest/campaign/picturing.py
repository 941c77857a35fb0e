"""Which pairs a report shows: the verdict's own, and a nearer one where that is far out."""

from __future__ import annotations

from typing import Any

from dpest.campaign.demonstrating import Demonstrator
from dpest.campaign.findings import Findings
from dpest.campaign.samplers import sampler_of
from dpest.errors import DpestError
from dpest.evidence import EXACT
from dpest.pictures import PairPicture, exact_picture, sampled_picture

# An event less likely than this is not to be seen in a picture: another pair is drawn as well.
RARE = 1e-6


def pictures_of(findings: Findings, demonstrator: Demonstrator) -> list[PairPicture]:
    """The pair that shows the lower bound, first; none where there is no pair."""
    lower = findings.verdict().lower
    if lower is None or lower.witness.x is None:
        return []
    witness, exact = lower.witness, lower.standing == EXACT
    found = [_picture(findings, "The pair of the verdict", witness.x, witness.x2, exact)]
    rare = not witness.densities and max(witness.p or 0.0, witness.q or 0.0) < RARE
    if exact and rare:
        found += [
            _picture(findings, *nearer, True) for nearer in _nearer(findings, demonstrator)[:1]
        ]
    return [picture for picture in found if picture is not None]


def _nearer(findings: Findings, demonstrator: Demonstrator) -> list[tuple[str, Any, Any]]:
    """Pairs whose outputs are easier to see than those of one far out on a ray."""
    shown = demonstrator.demonstration if findings.verdict().violated else None
    if shown is not None:
        return [("The pair of the demonstration", shown.x, shown.x2)]
    question = findings.question
    rays = [ray for p in findings.proofs for ray in (p.ray, *p.rays) if ray is not None]
    pairs = [tuple(map(question.domain.as_input, ray.pair(1.0))) for ray in rays]
    return [
        ("A nearer pair, in the same direction", x, x2)
        for x, x2 in pairs
        if question.adjacency.holds(x, x2, question.domain)
    ]


def _picture(findings: Findings, title: str, x: Any, x2: Any, exact: bool) -> PairPicture | None:
    """By the exact engine, otherwise from runs; None where neither can."""
    question = findings.question
    claim = None
    if question.limit is not None and question.measure.kind == "epsilon":
        claim = (question.limit, question.measure.delta)
    try:
        if exact:
            return exact_picture(title, question.mechanism, x, x2, claim)
    except DpestError:
        pass  # runs show what it looks like
    try:
        return sampled_picture(title, sampler_of(findings), x, x2, findings.settings.seed + 1)
    except DpestError:
        return None
