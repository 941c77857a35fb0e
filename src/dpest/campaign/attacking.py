"""One attack by name: what it is handed, and what is said where it can't be made."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpest.attacks import protocol
from dpest.attacks.budget import Budget
from dpest.attacks.protocol import Pair
from dpest.attacks.sampler import Sampler
from dpest.attacks.statdp.arguments import missing_parameters
from dpest.campaign.findings import Findings
from dpest.campaign.samplers import in_runs, left, run_all_of, sampler_of
from dpest.campaign.sampling import search_pair
from dpest.campaign.scouting import Scout
from dpest.errors import DpestError, InputError
from dpest.evidence import Evidence, confidence
from dpest.running.watchdog import Deadline, TimeUp, ending_within, watched

if TYPE_CHECKING:
    from dpest.reading.paths import Trace

# Seconds that an attack may go on after those that were given, before it is ended.
GRACE = 0.5


def attack(
    findings: Findings, method: str, x: Any = None, x2: Any = None, **options: Any
) -> Evidence:
    """One attack by name, on a given pair or on the pairs of the question."""
    question, chosen = findings.question, protocol.get(method)
    missing = () if chosen.chooses_parameters else missing_parameters(question.mechanism)
    if missing:
        raise InputError(
            f"{question.mechanism.name} needs a value for {missing[0]}: give --param "
            f"{missing[0]}=…, params={{{missing[0]!r}: …}}; the method statdp can choose one"
        )
    reason = chosen.refuses(question)
    if reason is not None:
        raise InputError(reason)
    pair = None if x is None else (x, x2)
    request = request_of(findings, Scout(findings), pair, options)
    evidence = _in_time(findings, method, lambda: chosen.run(request))
    about = {"adjacency": question.adjacency.describe(), "limit": question.limit}
    return evidence.with_(details={**evidence.details, **about})


def _in_time(findings: Findings, method: str, run: Callable[[], Evidence]) -> Evidence:
    """What an attack finds; nothing, if it goes on when the seconds that were given are over."""
    seconds = findings.seconds_left()
    if seconds is None:
        return run()
    try:
        with ending_within(seconds + GRACE), watched(Deadline(math.inf)):
            return run()
    except TimeUp:
        return Evidence(
            side="lower",
            value=0.0,
            standing=confidence(findings.settings.alpha),
            method=method,
            seconds=time.monotonic() - findings.started,
            seed=findings.settings.seed,
            measure=findings.question.measure,
            notes=("the seconds were over before it had an answer; more of them go further",),
        )


def request_of(
    findings: Findings, scout: Scout, pair: Pair | None, options: Mapping[str, Any]
) -> protocol.AttackRequest:
    """What an attack is handed: the question, a budget, and ways to get pairs and runs."""
    settings = findings.settings

    def search(sampler: Sampler, share: float) -> tuple[Pair, Budget]:
        found = search_pair(findings, scout, sampler, share)
        return (found.witness.x, found.witness.x2), left(findings, settings.attack_budget, found)

    return protocol.AttackRequest(
        findings.question,
        pair,
        settings.alpha,
        settings.seed,
        findings.budget_left,
        settings.budget is not None,
        settings.progress,
        sampler=lambda: sampler_of(findings),
        pairs=scout.pairs,
        in_runs=lambda sampler, first: in_runs(sampler, first[0], findings.budget_left()),
        search=search,
        confirm=lambda: confirmer(findings),
        run_all=run_all_of(findings),
        options=options,
        event_ratio=event_ratio,
    )


# The exact engine is needed by DP-Finder alone, and takes longer to load than other attacks.


def event_ratio(first: Trace, second: Trace) -> float | None:
    """|log P/P'| of an event from the paths into it on both inputs; None where that is refused."""
    from dpest.exact.engine import privacy_loss

    if not first.paths and not second.paths:
        return None
    try:
        return float(privacy_loss(first, second).epsilon)
    except DpestError:
        return None


def confirmer(findings: Findings) -> Callable[..., Any]:
    """DP-Finder's confirmation: the exact ε of a candidate pair, or None where there is none."""
    from dpest.exact.engine import PairObjective

    objective = PairObjective(findings.question.mechanism)

    def confirm(x: Any, x2: Any, event: Any = None) -> Any:
        try:
            return objective.loss(x, x2)
        except DpestError:
            return None

    return confirm
