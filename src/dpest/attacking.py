"""Where the statistical attacks are chosen, handed their pairs and their share of alpha."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.ask.patterns import patterns
from dpest.attacks import protocol
from dpest.attacks.budget import Budget
from dpest.attacks.methods import RECORDED_PAIRS, SEARCH_SHARE, gravity
from dpest.attacks.protocol import Pair
from dpest.attacks.sampler import MechanismSampler, Sampler
from dpest.attacks.statdp.arguments import missing_parameters
from dpest.errors import DpestError, InputError, StateError
from dpest.evidence import ESTIMATE, Evidence, Measure
from dpest.running.skeleton import flatten
from dpest.running.watchdog import Deadline, TimeUp, watched
from dpest.verdict import exceeds

if TYPE_CHECKING:
    from dpest.campaign import Campaign
    from dpest.reading.paths import Trace
    from dpest.running.samples import Samples

# Enough to see bits that give the input away; one at a time, some 10 µs each.
DOUBLES_BUDGET = Budget(runs=100_000)
# The chance of missing a violation that is stated where nothing else is asked for.
MISSED = 0.05
# Plain runs of mechanisms that release step by step: a look at pairs, learning, measuring.
STEPS_SECONDS = 15.0
# Where nobody asked for it: what it may take, and how slow a run may be.
UNASKED_DOUBLES = Budget(runs=60_000, seconds=4.0)
SLOWEST_RUN = 2e-3
# It goes on to another pair within these seconds of computing, and is ended after those.
RECORDED_SECONDS = 1.0
RECORDED_LIMIT = 60.0
_TRIAL = 64
_LEAST = 400


def attack(
    campaign: Campaign, method: str, x: Any = None, x2: Any = None, **options: Any
) -> Evidence:
    """One attack by name, on a given pair or on the pairs of the question."""
    evidence = _attack(campaign, method, x, x2, **options)
    question = campaign.question
    about = {"adjacency": question.adjacency.describe(), "limit": question.limit}
    return evidence.with_(details={**evidence.details, **about})


def _attack(
    campaign: Campaign, method: str, x: Any = None, x2: Any = None, **options: Any
) -> Evidence:
    question, chosen = campaign.question, protocol.get(method)
    missing = () if chosen.chooses_parameters else missing_parameters(question.mechanism)
    if missing:
        raise InputError(
            f"{question.mechanism.name} needs a value for {missing[0]}: give --param "
            f"{missing[0]}=…, params={{{missing[0]!r}: …}}; the method statdp can choose one"
        )
    reason = chosen.refuses(question)
    if reason is not None:
        raise InputError(reason)
    return chosen.run(request_of(campaign, None if x is None else (x, x2), options))


def request_of(
    campaign: Campaign, pair: Pair | None, options: Mapping[str, Any]
) -> protocol.AttackRequest:
    """What the campaign hands to an attack."""

    def search(sampler: Sampler, share: float) -> tuple[Pair, Budget]:
        found = search_pair(campaign, sampler, share)
        return (found.witness.x, found.witness.x2), left(campaign.attack_budget, found)

    return protocol.AttackRequest(
        campaign.question,
        pair,
        campaign.alpha,
        campaign.seed,
        campaign.attack_budget,
        campaign.given_budget,
        campaign.progress,
        sampler=lambda: sampler_of(campaign),
        pairs=lambda: pairs_of(campaign),
        in_runs=lambda sampler, first: in_runs(sampler, first[0], campaign.attack_budget),
        search=search,
        confirm=lambda: confirmer(campaign),
        run_all=run_all_of(campaign),
        options=options,
        event_ratio=event_ratio,
    )


def event_ratio(first: Trace, second: Trace) -> float | None:
    """|log P/P'| of an event from the paths into it on both inputs; None where that is refused."""
    from dpest.exact.engine import privacy_loss

    if not first.paths and not second.paths:
        return None
    try:
        return float(privacy_loss(first, second).epsilon)
    except DpestError:
        return None


def _judged(evidence: Evidence, limit: float | None) -> Evidence:
    refuted = limit is not None and evidence.value > limit
    return evidence.with_(details={**evidence.details, "refuted_claim": refuted})


def sampler_of(campaign: Campaign) -> MechanismSampler:
    """Runs of the question's mechanism, wherever the campaign was told to run them."""
    return MechanismSampler(
        campaign.question.mechanism,
        device=campaign.device,
        run_all=run_all_of(campaign),
        map_blocks=None if campaign.runner is None else campaign.runner.map_blocks,
    )


def run_all_of(campaign: Campaign) -> Callable[..., list[Samples]] | None:
    """How the campaign's workers draw, if it has some."""
    return campaign.runner.batches if campaign.runner is not None else None


def pairs_of(campaign: Campaign) -> list[Pair]:
    """The literature's patterns and the pairs around the numbers of the code, best first.

    Where the grey box found a pair that costs more than is claimed, it leads and few others follow:
    runs are spent where a leak was seen.
    """
    question = campaign.question
    usual = patterns(question.adjacency, question.domain, question.length, both_orders=False)
    found = [*campaign.clearly_worse(usual), *usual]
    seen = [
        (e.witness.x, e.witness.x2)
        for e in campaign.evidence
        if e.method == "recorded" and question.limit is not None and e.value > question.limit
    ]
    if seen:
        return [*seen, *((x, x2) for _, x, x2 in found[:3])]
    if not found:
        raise InputError(
            f"no pair of neighbours is known for {question.domain} under {question.adjacency}; "
            "give one with --pair"
        )
    return [(x, x2) for _, x, x2 in found[:32]]


def search_pair(campaign: Campaign, sampler: Sampler, share: float, alpha: float = 0.5) -> Evidence:
    """The pair that looks worst on a share of the budget; its runs are not used again."""
    from dpest.attacks.sniper import sniper_attack

    pairs = pairs_of(campaign)
    budget = in_runs(sampler, pairs[0][0], campaign.attack_budget, share)
    return sniper_attack(
        sampler,
        pairs,
        alpha=alpha,
        budget=budget,
        seed=campaign.seed + 1,
        progress=campaign.progress,
        delta=campaign.question.measure.delta,
    )


def in_runs(sampler: Sampler, x: Any, budget: Budget, share: float = 1.0) -> Budget:
    """A share of the budget; seconds become runs by the speed of a short trial."""
    if budget.seconds is None:
        return replace(budget, runs=None if budget.runs is None else int(share * budget.runs))
    started = time.monotonic()
    size = _TRIAL
    sampler.draw(x, size, 0)
    spent = time.monotonic() - started
    # Long enough that what each path costs, however few its runs, does not count.
    while spent < min(0.02 * budget.seconds, 0.25) and size < 1 << 18:
        size *= 8
        started = time.monotonic()
        sampler.draw(x, size, 0)
        spent = time.monotonic() - started
    # Learning and counting cost about as much as drawing.
    fits = int(0.4 * share * budget.seconds * size / max(spent, 1e-9))
    if budget.runs is not None:
        fits = min(fits, int(share * budget.runs))
    return Budget(runs=max(fits, _LEAST), seconds=budget.seconds * share)


def left(budget: Budget, spent: Evidence) -> Budget:
    return Budget(
        runs=None if budget.runs is None else max(budget.runs - spent.runs, _LEAST),
        seconds=None if budget.seconds is None else max(budget.seconds - spent.seconds, 0.1),
    )


def statistical(campaign: Campaign) -> list[Evidence]:
    """Search with half of alpha and of the runs, then the sequential audit with the rest."""
    from dpest.attacks.sequential import sequential_attack

    question = campaign.question
    alpha = campaign.alpha_left
    sampler = sampler_of(campaign)
    if question.measure != Measure():
        return _by_scores(campaign, sampler)
    try:
        found = search_pair(campaign, sampler, SEARCH_SHARE, alpha / 2)
    except StateError:
        raise
    except DpestError as reason:
        campaign.notes.append(f"no sampling: {reason}")
        return []
    if found.details.get("interrupted"):
        campaign.details["interrupted"] = True
        return [found]
    evidence = sequential_attack(
        sampler,
        found.witness.x,
        found.witness.x2,
        claim=question.limit,
        alpha=alpha / 2,
        budget=left(campaign.attack_budget, found),
        seed=campaign.seed,
        progress=campaign.progress,
        delta=question.measure.delta,
    )
    if evidence.details.get("interrupted"):
        campaign.details["interrupted"] = True
    else:
        _state_power(campaign, evidence)
    better = max(found, evidence, key=lambda e: e.value)
    return [found, evidence, *estimate_beside(better)]


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


def _by_scores(campaign: Campaign, sampler: MechanismSampler) -> list[Evidence]:
    """The attack by scores, with what is left of alpha and of the runs, and its estimate."""
    from dpest.attacks.scores.attack import scores_attack

    try:
        pairs = pairs_of(campaign)
        found = scores_attack(
            sampler,
            pairs,
            measure=campaign.question.measure,
            alpha=campaign.alpha_left,
            budget=in_runs(sampler, pairs[0][0], campaign.attack_budget),
            seed=campaign.seed,
            progress=campaign.progress,
        )
    except StateError:
        raise
    except DpestError as reason:
        campaign.notes.append(f"no sampling: {reason}")
        return []
    if found.details.get("interrupted"):
        campaign.details["interrupted"] = True
    return [_judged(found, campaign.question.limit), *estimate_beside(found)]


def by_steps(campaign: Campaign) -> list[Evidence]:
    """Plain runs of what releases step by step, for half of alpha.

    Only for claims with a δ about data sets, where no other attack looks at steps.
    """
    question = campaign.question
    if question.limit is None or not question.measure.delta or campaign.given_budget is not None:
        return []
    if question.mechanism.black_box:
        return []
    from dpest.attacks.steps import steps_attack

    try:
        found = steps_attack(
            question.mechanism,
            question.adjacency,
            question.domain,
            delta=question.measure.delta,
            alpha=campaign.alpha / 2,
            seconds=STEPS_SECONDS * campaign.patience,
            seed=campaign.seed,
        )
    except DpestError:
        return []
    campaign.alpha_left = campaign.alpha / 2
    return [found]


def _state_power(campaign: Campaign, evidence: Evidence) -> None:
    """What an audit that refuted nothing would have missed."""
    limit = campaign.question.limit
    if not limit or campaign.question.measure.delta or exceeds(evidence, limit):
        return
    from dpest.attacks.power import detectable

    least = detectable(limit, evidence.runs, campaign.alpha_left / 2, MISSED)
    if math.isfinite(least):
        campaign.details["power"] = {
            "epsilon": least,
            "missed": MISSED,
            "runs": evidence.runs,
        }
        campaign.notes.append(
            f"a leak of ε ≥ {least:.3g} on this pair, in common outputs (as Laplace noise leaks), "
            f"would have been missed with chance at most {MISSED:.0%} in {evidence.runs:,} runs"
        )


def runs_to_catch(claim: float, true: float, alpha: float, missed: float) -> int:
    """Runs of an audit that misses a leak of `true`, in common outputs, with chance ≤ `missed`.

    Half of them look for the pair and the event.
    """
    from dpest.attacks.power import runs_needed

    if not true > claim:
        raise InputError(f"a leak that is caught must exceed the claim: {true:g} against {claim:g}")
    if not 0 < missed < 1:
        raise InputError(f"missed is a probability between 0 and 1; got {missed=}")
    needed = runs_needed(claim, true, alpha / 2, missed)
    if needed is None:
        raise InputError(f"no number of runs tells {true:g} from {claim:g} so surely")
    return math.ceil(needed / (1 - SEARCH_SHARE))


def recorded(campaign: Campaign) -> list[Evidence]:
    """The grey box on the question's pairs, for code that can only be run: its worst finding."""
    deadline = Deadline(RECORDED_SECONDS)
    found: list[Evidence] = []
    try:
        with watched(Deadline(RECORDED_LIMIT)):
            for pair in pairs_of(campaign)[:RECORDED_PAIRS]:
                found.append(_recorded_pair(campaign, pair))
                if deadline.passed():
                    break
    except TimeUp:
        campaign.notes.append(f"no grey box: five runs take more than {RECORDED_LIMIT:g} s")
    except DpestError as reason:
        campaign.notes.append(f"no grey box: {reason}")
    return [max(found, key=gravity)] if found else []


def _recorded_pair(campaign: Campaign, pair: Pair) -> Evidence:
    from dpest.attacks.recorded import recorded_attack

    question = campaign.question
    return recorded_attack(
        question.mechanism,
        *pair,
        limit=question.limit,
        measure=question.measure,
        seed=campaign.seed,
    )


def releases_doubles(campaign: Campaign) -> bool:
    """Whether one run returns a float that is no whole number, quickly enough to do it often."""
    mechanism = campaign.question.mechanism
    if mechanism.takes_size:
        return False
    try:
        x, _ = pairs_of(campaign)[0]
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


def floating_point(campaign: Campaign, budget: Budget | None = None) -> list[Evidence]:
    """What the machine's doubles leak beyond the mathematics, on the question's first pair.

    The function is run as it is: the batch reading draws its noise by other arithmetic.
    """
    from dpest.attacks.floating import audit_doubles

    question = campaign.question
    if question.measure.kind != "epsilon":
        campaign.notes.append("no audit of the machine's doubles: it tests ε, or ε at a δ, only")
        return []
    try:
        x, x2 = pairs_of(campaign)[0]
        return [
            audit_doubles(
                question.mechanism,
                x,
                x2,
                alpha=campaign.alpha,
                delta=question.measure.delta,
                seed=campaign.seed,
                budget=budget or campaign.given_budget or DOUBLES_BUDGET,
                progress=campaign.progress,
            )
        ]
    except DpestError as reason:
        campaign.notes.append(f"no audit of the machine's doubles: {reason}")
        return []


def confirmer(campaign: Campaign) -> Callable[..., Any]:
    """DP-Finder's confirmation: the exact ε of a candidate pair, or None where there is none."""
    from dpest.exact.engine import PairObjective

    objective = PairObjective(campaign.question.mechanism)

    def confirm(x: Any, x2: Any, event: Any = None) -> Any:
        try:
            return objective.loss(x, x2)
        except DpestError:
            return None

    return confirm
