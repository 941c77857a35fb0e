"""The built-in attacks behind the protocol: what each is handed, and what it can't answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpest.attacks.protocol import AttackRequest
from dpest.evidence import Evidence

if TYPE_CHECKING:
    from dpest.ask.questions import Question

SEARCH_SHARE = 0.5
"""The search for a pair and an event gets this share of the runs; the sequential audit the rest."""
RECORDED_PAIRS = 8
"""Pairs that the grey box looks at where none is given: five runs each."""


class _OfEpsilon:
    """An attack that bounds ε, or ε at a δ."""

    name = ""
    summary = ""
    chooses_parameters = False
    pure_only = False

    def refuses(self, question: Question) -> str | None:
        if question.measure.kind != "epsilon":
            return (
                f"the attack {self.name} bounds ε, or ε at a δ; the method scores bounds "
                f"{question.measure}"
            )
        if self.pure_only and question.measure.delta:
            return f"{self.summary.split(':')[0]} bounds pure ε; use sequential or sniper for a δ"
        return None


class Sequential(_OfEpsilon):
    name = "sequential"
    summary = "Sequential audit: bets on which input an output came from"

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.sequential import sequential_attack

        sampler, pair, budget = request.sampler(), request.pair, request.budget
        if pair is None:
            pair, budget = request.search(sampler, SEARCH_SHARE)
        return sequential_attack(
            sampler,
            *pair,
            claim=request.question.limit,
            delta=request.question.measure.delta,
            budget=budget,
            **request.settings,
        )


class Sniper(_OfEpsilon):
    name = "sniper"
    summary = "DP-Sniper: a classifier, its thresholds, and a count"

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.sniper import sniper_attack

        sampler, pairs = request.sampler(), request.chosen_pairs()
        delta = request.question.measure.delta
        own_plan = request.given_budget is None and request.options.get("paper")
        budget = None if own_plan else request.in_runs(sampler, pairs[0])
        return sniper_attack(sampler, pairs, budget=budget, delta=delta, **request.settings)


class StatDP(_OfEpsilon):
    name = "statdp"
    summary = "StatDP: events that people can read, and a hypothesis test"
    chooses_parameters = True
    pure_only = True

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.statdp.attack import statdp_attack
        from dpest.attacks.statdp.inputs import DEFAULT_LENGTHS

        question = request.question
        x, x2 = request.pair or (None, None)
        return statdp_attack(
            question.mechanism,
            x,
            x2,
            adjacency=question.adjacency,
            domain=question.domain,
            length=DEFAULT_LENGTHS if question.length_assumed else question.length,
            epsilon=question.limit,
            budget=request.given_budget,
            run_all=request.run_all,
            **request.settings,
        )


class Finder(_OfEpsilon):
    name = "finder"
    summary = "DP-Finder: smooth optimisation, then confirmation"
    pure_only = True

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.finder import finder_attack

        question = request.question
        x, x2 = request.pair or (None, None)
        return finder_attack(
            question.mechanism,
            adjacency=question.adjacency,
            domain=question.domain,
            length=question.length,
            confirm=request.confirm(),
            ratio=request.event_ratio,
            x=x,
            x2=x2,
            budget=request.given_budget,
            **request.settings,
        )


class Scores:
    name = "scores"
    summary = "Scores: every measure, from a score of outputs"
    chooses_parameters = False

    def refuses(self, question: Question) -> str | None:
        return None

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.scores.attack import scores_attack

        sampler, pairs = request.sampler(), request.chosen_pairs()
        budget, measure = request.in_runs(sampler, pairs[0]), request.question.measure
        found = scores_attack(sampler, pairs, measure=measure, budget=budget, **request.settings)
        limit = request.question.limit
        refuted = limit is not None and found.value > limit
        return found.with_(details={**found.details, "refuted_claim": refuted})


class Recorded:
    name = "recorded"
    summary = "Grey box: five runs, and where noise meets values"
    chooses_parameters = False

    def refuses(self, question: Question) -> str | None:
        return None

    def run(self, request: AttackRequest) -> Evidence:
        from dpest.attacks.recorded import recorded_attack

        question = request.question
        found = [
            recorded_attack(
                question.mechanism,
                x,
                x2,
                limit=question.limit,
                measure=question.measure,
                seed=request.seed,
            )
            for x, x2 in request.chosen_pairs(RECORDED_PAIRS)
        ]
        return max(found, key=gravity)


def gravity(evidence: Evidence) -> tuple[bool, bool, float]:
    """What is worse comes later: something found, on a run that was understood, at a cost."""
    seen = evidence.details["recorded"]
    return bool(seen["findings"]), seen["complete"], evidence.value
