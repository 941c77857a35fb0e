"""Where the statistical attacks are chosen, handed their pairs and their share of alpha."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.ask.patterns import patterns
from dpest.attacks.budget import Budget
from dpest.attacks.sampler import MechanismSampler, Sampler
from dpest.errors import DpestError, InputError
from dpest.evidence import Evidence, Measure
from dpest.verdict import exceeds

if TYPE_CHECKING:
    from dpest.campaign import Campaign

Pair = tuple[Any, Any]

# The search for a pair and an event gets this share of the runs; the sequential audit the rest.
SEARCH_SHARE = 0.5
# Enough to see bits that give the input away; one at a time, some 10 µs each.
DOUBLES_BUDGET = Budget(runs=100_000)
# The chance of missing a violation that is stated where nothing else is asked for.
MISSED = 0.05
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
    question = campaign.question
    if method != "statdp":
        from dpest.attacks.statdp.arguments import missing_parameters

        missing = missing_parameters(question.mechanism)
        if missing:
            raise InputError(
                f"{question.mechanism.name} needs a value for {missing[0]}: give --param "
                f"{missing[0]}=…, params={{{missing[0]!r}: …}}; the method statdp can choose one"
            )
    settings: dict[str, Any] = {
        "alpha": campaign.alpha,
        "seed": campaign.seed,
        "progress": campaign.progress,
        **options,
    }
    delta = question.measure.delta
    if question.measure.kind != "epsilon":
        raise InputError("an attack bounds ε, or ε at a δ; give --epsilon and --delta")
    if method == "sequential":
        from dpest.attacks.sequential import sequential_attack

        sampler = sampler_of(campaign)
        budget = campaign.attack_budget
        if x is None:
            found = search_pair(campaign, sampler, SEARCH_SHARE)
            x, x2 = found.witness.x, found.witness.x2
            budget = left(budget, found)
        return sequential_attack(
            sampler, x, x2, claim=question.limit, delta=delta, budget=budget, **settings
        )
    if method == "sniper":
        from dpest.attacks.sniper import sniper_attack

        sampler = sampler_of(campaign)
        pairs = [(x, x2)] if x is not None else pairs_of(campaign)
        budget = in_runs(sampler, pairs[0][0], campaign.attack_budget)
        return sniper_attack(sampler, pairs, budget=budget, delta=delta, **settings)
    if method == "statdp":
        from dpest.attacks.statdp.attack import statdp_attack
        from dpest.attacks.statdp.inputs import DEFAULT_LENGTHS

        if delta:
            raise InputError("StatDP tests pure ε; use sequential or sniper for a δ")
        return statdp_attack(
            question.mechanism,
            x,
            x2,
            adjacency=question.adjacency,
            domain=question.domain,
            length=DEFAULT_LENGTHS if question.length_assumed else question.length,
            epsilon=question.limit,
            budget=campaign.given_budget,
            run_all=campaign.runner.batches if campaign.runner is not None else None,
            **settings,
        )
    if method == "finder":
        from dpest.attacks.finder import finder_attack

        if delta:
            raise InputError("DP-Finder bounds pure ε; use sequential or sniper for a δ")
        return finder_attack(
            question.mechanism,
            adjacency=question.adjacency,
            domain=question.domain,
            length=question.length,
            confirm=confirmer(campaign),
            x=x,
            x2=x2,
            budget=campaign.given_budget,
            **settings,
        )
    raise InputError(
        f"no attack is called {method!r}; there are sequential, sniper, statdp, finder"
    )


def sampler_of(campaign: Campaign) -> MechanismSampler:
    """Runs of the question's mechanism, wherever the campaign was told to run them."""
    run_all = campaign.runner.batches if campaign.runner is not None else None
    return MechanismSampler(campaign.question.mechanism, device=campaign.device, run_all=run_all)


def pairs_of(campaign: Campaign) -> list[Pair]:
    question = campaign.question
    found = patterns(question.adjacency, question.domain, question.length, both_orders=False)
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
    if question.measure.kind != "epsilon":
        campaign.notes.append("no sampling: attacks bound ε and ε at a δ only")
        return []
    sampler = sampler_of(campaign)
    try:
        found = search_pair(campaign, sampler, SEARCH_SHARE, campaign.alpha / 2)
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
        alpha=campaign.alpha / 2,
        budget=left(campaign.attack_budget, found),
        seed=campaign.seed,
        progress=campaign.progress,
        delta=question.measure.delta,
    )
    if evidence.details.get("interrupted"):
        campaign.details["interrupted"] = True
    else:
        _state_power(campaign, evidence)
    return [found, evidence]


def _state_power(campaign: Campaign, evidence: Evidence) -> None:
    """What an audit that refuted nothing would have missed."""
    limit = campaign.question.limit
    if not limit or campaign.question.measure.delta or exceeds(evidence, limit):
        return
    from dpest.attacks.power import detectable

    least = detectable(limit, evidence.runs, campaign.alpha / 2, MISSED)
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


def floating_point(campaign: Campaign) -> list[Evidence]:
    """What the machine's doubles leak beyond the mathematics, on the question's first pair.

    The function is run as it is: the batch reading draws its noise by other arithmetic.
    """
    from dpest.attacks.floating import audit_doubles

    question = campaign.question
    if question.measure != Measure():
        campaign.notes.append("no audit of the machine's doubles: it tests pure ε only")
        return []
    x, x2 = pairs_of(campaign)[0]
    try:
        return [
            audit_doubles(
                question.mechanism,
                x,
                x2,
                alpha=campaign.alpha,
                seed=campaign.seed,
                budget=campaign.given_budget or DOUBLES_BUDGET,
                progress=campaign.progress,
            )
        ]
    except DpestError as reason:
        campaign.notes.append(f"no audit of the machine's doubles: {reason}")
        return []


def confirmer(campaign: Campaign) -> Callable[..., Any]:
    """DP-Finder's confirmation: the exact ε of a candidate pair, or None where there is none."""
    from dpest.distributions.engine import Objective

    objective = Objective(campaign.question.mechanism)

    def confirm(x: Any, x2: Any, event: Any = None) -> Any:
        try:
            return objective.loss(x, x2)
        except DpestError:
            return None

    return confirm
