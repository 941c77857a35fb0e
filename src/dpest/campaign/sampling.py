"""Lower bounds by runs: the sequential audit, scores, steps, and the grey box of the noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from dpest.attacks.methods import RECORDED_PAIRS, SEARCH_SHARE, gravity
from dpest.attacks.power import detectable, runs_needed
from dpest.attacks.protocol import Pair
from dpest.attacks.recorded import recorded_attack
from dpest.attacks.sampler import MechanismSampler, Sampler
from dpest.attacks.sequential import sequential_attack
from dpest.attacks.sniper import sniper_attack
from dpest.attacks.steps import steps_attack
from dpest.campaign.findings import Findings
from dpest.campaign.samplers import attack_budget, in_runs, left, sampler_of
from dpest.campaign.scouting import Scout
from dpest.errors import DependentRunsError, DpestError, InputError, StateError
from dpest.evidence import ESTIMATE, Evidence, Measure, Witness, confidence
from dpest.running.watchdog import Deadline, TimeUp, ending_within, watched
from dpest.verdict import exceeds

# The chance of missing a violation that is stated where nothing else is asked for.
MISSED = 0.05
# Plain runs of mechanisms that release step by step: a look at pairs, learning, measuring.
STEPS_SECONDS = 15.0
# The grey box goes on to another pair within these seconds of computing, and is ended after those.
RECORDED_SECONDS = 1.0
# A search for a pair that takes so much longer than its share is ended.
_LATE = 1.2
RECORDED_LIMIT = 60.0


def search_pair(
    findings: Findings, scout: Scout, sampler: Sampler, share: float, alpha: float = 0.5
) -> Evidence:
    """The pair that looks worst on a share of the budget; its runs are not used again.

    The first pair, and no bound, where the share buys too few runs to look, or no answer.
    """
    settings, pairs = findings.settings, scout.pairs()
    x = pairs[0][0]
    budget = in_runs(sampler, x, attack_budget(findings, sampler, x), share)
    first = Evidence(
        "lower",
        0.0,
        confidence(alpha),
        "first pair",
        Witness(*pairs[0]),
        seed=settings.seed,
        measure=findings.question.measure,
    )
    if budget.runs == 0:
        return first
    left = findings.seconds_left()
    try:
        with ending_within(math.inf if left is None else _LATE * share * left), _unless(left):
            return sniper_attack(
                sampler,
                pairs,
                alpha=alpha,
                budget=budget,
                seed=settings.seed + 1,
                progress=settings.progress,
                delta=findings.question.measure.delta,
            )
    except TimeUp:
        if left is None:
            raise
        return first


def _unless(left: float | None) -> AbstractContextManager[None]:
    """Who gave no seconds waits for no end."""
    return nullcontext() if left is None else watched(Deadline(math.inf))


def statistical(findings: Findings, scout: Scout) -> list[Evidence]:
    """Search with half of alpha and of the runs, then the sequential audit with the rest."""
    question, settings = findings.question, findings.settings
    alpha = findings.alpha_left
    sampler = sampler_of(findings)
    if question.measure != Measure():
        return _by_scores(findings, scout, sampler)
    found = _sampled(
        findings, lambda: search_pair(findings, scout, sampler, SEARCH_SHARE, alpha / 2)
    )
    if found is None:
        return []
    if found.details.get("interrupted"):
        return [found]
    evidence = sequential_attack(
        sampler,
        found.witness.x,
        found.witness.x2,
        claim=question.limit,
        alpha=alpha / 2,
        budget=left(findings, attack_budget(findings, sampler, found.witness.x), found),
        seed=settings.seed,
        progress=settings.progress,
        delta=question.measure.delta,
    )
    if evidence.details.get("interrupted"):
        findings.details["interrupted"] = True
    else:
        _state_power(findings, evidence)
    better = max(found, evidence, key=lambda e: e.value)
    looked = [found] if found.runs else []
    return [*looked, evidence, *estimate_beside(better)]


def _sampled(findings: Findings, attack: Callable[[], Evidence]) -> Evidence | None:
    """What an attack by runs finds; None, with a note, where the function can't be sampled.

    Runs that depend on one another and a state that can't be kept are no note: they are raised.
    """
    try:
        found = attack()
    except (DependentRunsError, StateError):
        raise
    except DpestError as reason:
        findings.notes.append(f"no sampling: {reason}")
        return None
    if found.details.get("interrupted"):
        findings.details["interrupted"] = True
    return found


def estimate_beside(lower: Evidence) -> list[Evidence]:
    """The estimate that belongs to a bound from runs: what its event, or its average, points to."""
    known = lower.details.get("estimate")
    if known is None:
        p, q, n = lower.witness.p, lower.witness.q, lower.runs / 2
        gap = (p or 0.0) - lower.measure.delta
        if p is None or q is None or gap <= 0.0 or q <= 0.0 or n < 1:
            return []
        error = math.sqrt(p * (1.0 - p) / (n * gap * gap) + (1.0 - q) / (n * q))
        known = {"value": max(0.0, math.log(gap / q)), "error": error}
    about = "what this event shows, not the most that the mechanism leaks"
    return [
        lower.with_(
            value=known["value"],
            error=known["error"],
            standing=ESTIMATE,
            notes=(),
            details={"of": about},
        )
    ]


def _by_scores(findings: Findings, scout: Scout, sampler: MechanismSampler) -> list[Evidence]:
    """The attack by scores, with what is left of alpha and of the runs, and its estimate."""
    from dpest.attacks.scores.attack import scores_attack  # loads SciPy's optimisers

    def attack() -> Evidence:
        pairs = scout.pairs()
        return scores_attack(
            sampler,
            pairs,
            measure=findings.question.measure,
            alpha=findings.alpha_left,
            budget=in_runs(sampler, pairs[0][0], attack_budget(findings, sampler, pairs[0][0])),
            seed=findings.settings.seed,
            progress=findings.settings.progress,
        )

    found = _sampled(findings, attack)
    if found is None:
        return []
    return [_judged(found, findings.question.limit), *estimate_beside(found)]


def _judged(evidence: Evidence, limit: float | None) -> Evidence:
    refuted = limit is not None and evidence.value > limit
    return evidence.with_(details={**evidence.details, "refuted_claim": refuted})


def by_steps(findings: Findings) -> list[Evidence]:
    """Plain runs of what releases step by step, for half of alpha.

    Only for claims with a δ about data sets, where no other attack looks at steps.
    """
    question, settings = findings.question, findings.settings
    if question.limit is None or not question.measure.delta or settings.given_budget is not None:
        return []
    if question.mechanism.black_box:
        return []
    try:
        found = steps_attack(
            question.mechanism,
            question.adjacency,
            question.domain,
            delta=question.measure.delta,
            alpha=settings.alpha / 2,
            seconds=STEPS_SECONDS * settings.patience,
            seed=settings.seed,
        )
    except DpestError:
        return []
    findings.alpha_left = settings.alpha / 2
    return [found]


def _state_power(findings: Findings, evidence: Evidence) -> None:
    """What an audit that refuted nothing would have missed."""
    limit = findings.question.limit
    if not limit or findings.question.measure.delta or exceeds(evidence, limit):
        return
    least = detectable(limit, evidence.runs, findings.alpha_left / 2, MISSED)
    if math.isfinite(least):
        findings.details["power"] = {
            "epsilon": least,
            "missed": MISSED,
            "runs": evidence.runs,
        }
        findings.notes.append(
            f"a leak of ε ≥ {least:.3g} on this pair, in common outputs (as Laplace noise leaks), "
            f"would have been missed with chance at most {MISSED:.0%} in {evidence.runs:,} runs"
        )


def runs_to_catch(claim: float, true: float, alpha: float, missed: float) -> int:
    """Runs of an audit that misses a leak of `true`, in common outputs, with chance ≤ `missed`.

    Half of them look for the pair and the event.
    """
    if not true > claim:
        raise InputError(f"a leak that is caught must exceed the claim: {true:g} against {claim:g}")
    if not 0 < missed < 1:
        raise InputError(f"missed is a probability between 0 and 1; got {missed=}")
    needed = runs_needed(claim, true, alpha / 2, missed)
    if needed is None:
        raise InputError(f"no number of runs tells {true:g} from {claim:g} so surely")
    return math.ceil(needed / (1 - SEARCH_SHARE))


def recorded(findings: Findings, scout: Scout) -> list[Evidence]:
    """The grey box on the question's pairs, for code that can only be run: its worst finding."""
    deadline, limit = Deadline(RECORDED_SECONDS), Deadline(RECORDED_LIMIT)
    found: list[Evidence] = []
    try:
        with watched(limit):
            for pair in scout.pairs()[:RECORDED_PAIRS]:
                found.append(_recorded_pair(findings, pair))
                if deadline.passed():
                    break
    except TimeUp:
        findings.notes.append(f"no grey box: five runs take more than {limit.seconds:.3g} s")
    except DpestError as reason:
        findings.notes.append(f"no grey box: {reason}")
    return [max(found, key=gravity)] if found else []


def _recorded_pair(findings: Findings, pair: Pair) -> Evidence:
    question = findings.question
    return recorded_attack(
        question.mechanism,
        *pair,
        limit=question.limit,
        measure=question.measure,
        seed=findings.settings.seed,
    )
