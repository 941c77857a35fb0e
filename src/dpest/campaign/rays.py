"""What a proof says from below: pairs along its ray, or its own argument where pairs are slow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpest.ask.domains import ANY, Reals
from dpest.campaign.findings import Findings
from dpest.campaign.pair_values import PairValues
from dpest.errors import DpestError
from dpest.evidence import EXACT, Evidence, Measure, Witness
from dpest.proofs.loops.budgets import lower_at
from dpest.proofs.proof import AttainingPair, Proof, Ray

# A guard, in seconds of computing; the proof has said what comes out.
RAY_SECONDS = 5.0
# Points on a ray: next to the origin, then far out. The loss rises to its limit like 1/λ or faster.
SCALES = (1.0, 1024.0, 32768.0, 1048576.0)


def follow_rays(findings: Findings, values: PairValues) -> None:
    """A proof names a direction along which its bound is approached; go there.

    The pairs (λd, (λ+1)d) come as close to the supremum as one likes on the real line.
    """
    if findings.question.measure != Measure():
        return
    rays = [(p, ray) for p in findings.proofs for ray in (p.ray, *p.rays) if ray is not None]
    for proof, ray in rays:
        _follow(findings, values, proof, ray)
        if findings.settled():
            return


def _follow(findings: Findings, values: PairValues, proof: Proof, ray: Ray | AttainingPair) -> None:
    """Pairs further and further out, as long as they are worth more."""
    question = findings.question
    best: tuple[float, Any, Any] | None = None
    far = isinstance(ray, Ray) and ray.far
    for scale in (*SCALES[1:], SCALES[0]) if far else SCALES:
        if best is not None and best[0] >= findings.enough():
            break
        x, x2 = map(question.domain.as_input, ray.pair(scale))
        if not question.adjacency.holds(x, x2, question.domain):
            continue
        findings.tell("exact, along the proof's ray")
        try:
            with values.limited_to(RAY_SECONDS):
                found = values.value(x, x2)
        except DpestError as reason:
            findings.notes.append(f"the proof's ray could not be followed: {reason}")
            if ray is proof.ray and values.late:
                trust(findings, proof, (x, x2))
            break
        if best is not None and found <= best[0] * (1 + 1e-4):
            break  # no longer rising
        best = (found, x, x2)
    if best is not None:
        values.consider(best, "exact: along the proof's ray")


def trust_every_length(findings: Findings) -> None:
    """What the proof for every length says from below about this length.

    The paths of the exact engine grow with the data; the loop of the proof does not. So long
    data are asked first here, and short ones where no pair settled the question.
    """
    question = findings.question
    if question.measure != Measure():
        return
    for proof in [p for p in findings.proofs if p.length is ANY and p.bound is not None]:
        domain = None if question.domain_assumed else question.domain
        lower = lower_at(proof, question.length, domain)
        if lower is not None and lower.length == question.length:
            pair = lower.ray.pair(SCALES[-1])
            x, x2 = map(question.domain.as_input, pair)
            trust(findings, replace(proof, length=question.length, lower=lower), (x, x2))


def trust(findings: Findings, proof: Proof, pair: tuple[Any, Any]) -> None:
    """What a proof says from below, where a pair takes the exact engine too long.

    The ray argument, with exact multipliers: a supremum over all real inputs, of no one pair.
    A bounded domain ends before the ray does, and its ε may be smaller.
    """
    lower, n = proof.lower, findings.question.length
    domain = findings.question.domain
    reached = lower is not None and isinstance(lower.ray, AttainingPair)
    endless = isinstance(domain, Reals) and (domain.low, domain.high) == (-math.inf, math.inf)
    if not endless and not reached:
        return
    if lower is None or lower.length != n or proof.length != n or math.isinf(lower.value):
        return
    far = f"release {lower.ray.release}: a limit, as these inputs go on along their difference"
    method = "exact: the proof's ray argument, of no pair alone"
    if reached:
        far = f"far out in every released number: {lower.ray.release}"
        method = "exact: the pair of the proof"
    findings.evidence.append(
        Evidence(
            side="lower",
            value=math.nextafter(float(lower.value) * findings.unit_value(), 0.0),
            standing=EXACT,
            method=method,
            witness=Witness(x=pair[0], x2=pair[1], event=far),
            seconds=proof.seconds,
        )
    )
