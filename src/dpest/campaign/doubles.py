"""The machine's doubles: what they leak beyond the mathematics, a verdict of its own."""

from __future__ import annotations

import math
import time

from dpest.attacks.budget import Budget
from dpest.attacks.floating import audit_doubles
from dpest.campaign.findings import Findings
from dpest.campaign.scouting import Scout
from dpest.errors import DpestError
from dpest.evidence import Evidence
from dpest.running.skeleton import flatten
from dpest.running.watchdog import Deadline, TimeUp, watched

# Enough to see bits that give the input away; one at a time, some 10 µs each.
DOUBLES_BUDGET = Budget(runs=100_000)
# Where nobody asked for it: what it may take, and how slow a run may be.
UNASKED_DOUBLES = Budget(runs=60_000, seconds=4.0)
SLOWEST_RUN = 2e-3


def add_doubles(findings: Findings, scout: Scout) -> None:
    """Where it was asked for, and for black boxes that release doubles."""
    mechanism, asked = findings.question.mechanism, findings.settings.floating_point
    if asked or mechanism.about.get("floating_point"):
        findings.tell("the machine's doubles")
        findings.evidence += floating_point(findings, scout)
    elif (
        asked is None
        and mechanism.black_box
        and "attack" in findings.engines
        and findings.question.measure.kind == "epsilon"
        and releases_doubles(findings, scout)
    ):
        findings.tell("the machine's doubles")
        findings.details["floating_point_unasked"] = True
        findings.evidence += floating_point(findings, scout, UNASKED_DOUBLES)


def releases_doubles(findings: Findings, scout: Scout) -> bool:
    """Whether one run returns a float that is no whole number, quickly enough to do it often."""
    mechanism = findings.question.mechanism
    if mechanism.takes_size:
        return False
    try:
        x, _ = scout.pairs()[0]
        outputs, seconds = [], []
        with watched(Deadline(1.0)):
            for _ in range(5):
                started = time.monotonic()
                outputs.append(mechanism(x))
                seconds.append(time.monotonic() - started)
    except (Exception, TimeUp):  # the user's code may do anything
        return False
    slow = min(seconds) > SLOWEST_RUN  # the machine may be busy with other things
    leaves = [leaf for output in outputs for leaf in flatten(output)[1]]
    doubles = [v for v in leaves if isinstance(v, float) and math.isfinite(v)]
    return not slow and any(v != round(v) for v in doubles)


def floating_point(
    findings: Findings, scout: Scout, budget: Budget | None = None
) -> list[Evidence]:
    """What the machine's doubles leak beyond the mathematics, on the question's first pair.

    The function is run as it is: the batch reading draws its noise by other arithmetic.
    """
    question, settings = findings.question, findings.settings
    usual = DOUBLES_BUDGET if settings.budget is None else findings.budget_left()
    if question.measure.kind != "epsilon":
        findings.notes.append("no audit of the machine's doubles: it tests ε, or ε at a δ, only")
        return []
    try:
        x, x2 = scout.pairs()[0]
        return [
            audit_doubles(
                question.mechanism,
                x,
                x2,
                alpha=settings.alpha,
                delta=question.measure.delta,
                seed=settings.seed,
                budget=budget or usual,
                progress=settings.progress,
            )
        ]
    except DpestError as reason:
        findings.notes.append(f"no audit of the machine's doubles: {reason}")
        return []
