"""Proofs for data of every length, by the rule that fits what the loop does."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.ask.domains import ANY
from dpest.errors import (
    DpestError,
    RefusedError,
    UntraceableError,
)
from dpest.evidence import Measure
from dpest.geometry.linear import Form
from dpest.proofs import certificates, conformance
from dpest.proofs.alignments import gaussian
from dpest.proofs.alignments.linear_program import InexactError, InfeasibleError
from dpest.proofs.alignments.regions_of_release import Rates, rates
from dpest.proofs.alignments.selection import noisy_argmax, selection
from dpest.proofs.conformance import place_of
from dpest.proofs.enumeration import laws
from dpest.proofs.loops.budgets import graph_of, phases_of, potentials_of, records_of
from dpest.proofs.loops.potentials import potential
from dpest.proofs.loops.record_budgets import record_potential
from dpest.proofs.one_length import at_length, claimed_rho, refuse_pure, with_either_input
from dpest.proofs.proof import Lower, Proof
from dpest.proofs.question import (
    ProofGoal,
    bare,
    certified,
    checked_rates,
    concluded,
    has_integral,
    head_of,
    notes_of,
    place_of_error,
    with_claim,
)
from dpest.reading.cases.records import RecordError
from dpest.reading.loop_graph import Graph
from dpest.reading.rewrites.races import ChanceError
from dpest.reading.world import ELEMENT
from dpest.running.landmarks import landmarks

_SMALL = (1, 2, 3, 5)
_RULES = {
    "race": (
        "by the rule `race`: candidates in random order, each accepted with chance e^(score − "
        "greatest), have the distribution of an argmax with exponential noise",
    ),
    "rejection": (
        "by the rule `rejection`: candidates drawn with replacement until one is accepted, with "
        "chances proportional to e^score, have the distribution of an argmax with Gumbel noise",
    ),
    "inversion": (
        "by the rule `inversion`: the first running sum of weights e^score above a uniform share "
        "of all has the distribution of an argmax with Gumbel noise",
    ),
    "choice": (
        "by the rule `choice`: a choice with chances proportional to e^score has the distribution "
        "of an argmax with Gumbel noise",
    ),
}


def every_length(question: ProofGoal, lengths: tuple[int, ...] = (2, 3)) -> Proof:
    """By a graph of the loop; where one record changes, by what each case of it adds to sums.

    `lengths`: where a lower bound on what an argmax costs is looked for.
    """
    if question.adjacency.changes_length:
        return _proof_of(question, _graph_of(question, True), lengths)
    if not question.adjacency.replaces:
        return _by_graph(question, lengths)
    try:
        proof = _by_graph(question, lengths)
    except (RefusedError, UntraceableError) as error:
        try:
            return _proof_of(question, _graph_of(question, True))
        except DpestError as second:
            raise (second if tells(second) else error) from None
    if proof.status == "exact":
        return proof
    try:  # the differences of several derived data are no box
        other = _proof_of(question, _graph_of(question, True))
    except DpestError as error:
        if proof.bound is None and proof.lower is None and tells(error):
            return replace(proof, reason=str(error))
        return proof
    better = other.bound is not None and (proof.bound is None or other.bound <= proof.bound)
    return other if better else proof


def _by_graph(question: ProofGoal, lengths: tuple[int, ...]) -> Proof:
    return _proof_of(question, _graph_of(question, False), lengths)


def tells(error: DpestError) -> bool:
    """Whether an error of a reading says what is wrong with the mechanism."""
    if isinstance(error, ChanceError):
        return True
    return isinstance(error, RecordError) and error.telling


def _graph_of(question: ProofGoal, by_cases: bool) -> Graph:
    try:
        return graph_of(question, by_cases=by_cases)
    except DpestError:
        raise
    except Exception as error:  # the function's own, on a vector without a length
        raise UntraceableError(
            f"a vector of any length can't be used here ({type(error).__name__}: {error})",
            "Give a length",
            place_of_error(error) or place_of(question.mechanism.function),
        ) from error


def _proof_of(question: ProofGoal, found: Graph, lengths: tuple[int, ...] = (2, 3)) -> Proof:
    squares = any(n.shift_cost.kind == "square" for n in found.noises.values())
    if squares:
        refuse_pure(question)
    rated = rates(found.noises) if squares else checked_rates(question, found.noises)
    where = place_of(question.mechanism.function)
    integers = question.integer_data(has_integral(rated.draws))
    try:
        if found.rule:
            laws.check(question, found, where)
        else:
            conformance.check_graph(
                question.run,
                found,
                integers=integers,
                where=where,
                entry=question.entry,
                ranges=question.record.ranges,
                marks=landmarks(question.mechanism),
            )
    except UntraceableError:
        if question.form != "list" or question.fields:
            raise
        as_array = replace(question, form="array")  # it asks an array's questions
        return _proof_of(as_array, _graph_of(as_array, found.world.cases is not None), lengths)
    if squares:
        return _squares(question, found, rated)
    if found.selections or found.gaps:
        return _selected(question, found, rated, lengths)
    try:
        if found.world.cases is not None:
            return records_of(question, found, rated)
        return potentials_of(question, found, rated, ANY)
    except (InfeasibleError, InexactError):
        if found.world.cases is not None:
            raise RecordError(
                f"{question.mechanism.name}: no shift of the noise keeps every release. A sum over "
                "the records (or how many records there are, where they come and go), or a "
                "decision about one, has no noise of its own: add some to it"
            ) from None
        return without_bound(question)


def _squares(question: ProofGoal, found: Graph, rated: Rates) -> Proof:
    """zCDP for every length: where one datum moves, its shifts cost Σ rate·s² whatever comes."""
    power = gaussian.variances(found.noises, rated.draws)
    if found.selections or found.gaps:
        raise RefusedError(
            "an argmax with Gaussian noise over data of any length: a maximum over its releases "
            "is no bound on a Rényi divergence. Give a length instead of ANY"
        )
    (phases,) = phases_of(question, found, rated)[:1]
    if all(p.before == p.after for p in phases):
        raise RefusedError(
            f"under {question.adjacency} all data move at once: what Gaussian noise costs grows "
            "with their number. Give a length instead of ANY"
        )
    try:
        solve = potential if found.world.cases is None else record_potential
        spent = solve(found, rated.draws, phases)
    except (InfeasibleError, InexactError):
        raise RefusedError(
            "no shift of the Gaussian noise keeps every release at once, for every length"
        ) from None
    head = head_of(question, "loop", spent.epsilon, ANY, found.noises, rated.draws, found.world)
    head["power"] = power
    certificate = certified(lambda: certificates.loop(head, found, [spent]))
    straight = not any(e.blocks for e in found.edges)
    proof = replace(
        bare(question, ANY),
        bound=spent.epsilon,
        method="one shift",
        status="upper bound",
        measure=Measure("zcdp"),
        power=power,
        claimed=claimed_rho(question, power),
        certificate=certificate,
        gaussian=straight and not has_integral(rated.draws),
        notes=notes_of(question, rated.draws, found.world),
        words=("loop" if found.world.cases is None else "records", found, [spent], rated),
    )
    return with_claim(question, proof)


def _selected(question: ProofGoal, found: Graph, rated: Rates, lengths: tuple[int, ...]) -> Proof:
    chosen = selection(found, rated.draws, question.adjacency, question.domain)
    if chosen.plan.cost is None:
        return without_bound(question)
    epsilon = chosen.plan.cost
    head = head_of(question, "selection", epsilon, ANY, found.noises, rated.draws, found.world)
    rule = found.rule
    certificate = certified(lambda: certificates.selection(head, chosen, rule))
    lower = small_lower(question, epsilon, lengths) if not rule else None
    model = _of_model(question, found, chosen.element) if lower is None else None
    if model is not None:
        # A certificate is of a function's own source, which a model stands for but doesn't have.
        lower = small_lower(model, epsilon, lengths, certify=False)
    return concluded(
        question,
        replace(
            bare(question, ANY),
            bound=epsilon,
            method="selection",
            lower=lower,
            certificate=certificate,
            notes=(*notes_of(question, rated.draws, found.world), *_RULES.get(rule, ())),
            words=("selection", found, chosen, rated),
        ),
    )


def _of_model(question: ProofGoal, found: Graph, element: Form) -> ProofGoal | None:
    """What has the function's distribution and can be read at a known length; None: nothing."""
    if found.gaps:
        return None
    data = [s for s in element.terms if s.kind == "input"]
    drawn = [s for s in element.terms if s.kind == "noise"]
    if data != [ELEMENT] or len(drawn) != 1:
        return None
    model = noisy_argmax(element.terms[ELEMENT], element.terms[drawn[0]], found.noises[drawn[0]])
    if model is None:
        return None
    return replace(question, mechanism=model, unit=None, claim=None, form="list")


def small_lower(
    question: ProofGoal,
    enough: Fraction | float,
    lengths: tuple[int, ...],
    certify: bool = True,
) -> Lower | None:
    """The best lower bound at a few small lengths; a bound for every length is at least that."""
    best: Lower | None = None
    for length in lengths:
        try:
            proof = with_either_input(
                replace(question, length=length), lambda q: at_length(q, length, certify)
            )
        except DpestError:
            continue
        if proof.lower is not None and (best is None or proof.lower.value > best.value):
            best = proof.lower
        if best is not None and best.value >= enough:
            break
    return best


def without_bound(question: ProofGoal) -> Proof:
    """No bound holds for every length, as far as the rules go: what do small lengths say?"""
    claimed = question.claimed()
    enough: Any = math.inf if claimed is None else claimed + Fraction(1, 10**9)
    lower = small_lower(question, enough, (*_SMALL, 8))
    reason = "no finite bound for every length was found"
    if lower is not None:
        reason += f"; at n = {lower.length} ε is at least {lower.value}"
        reason += f"·{question.unit}" if question.unit else ""
    return concluded(
        question,
        replace(bare(question, ANY), reason=reason, lower=lower, notes=question.notes),
    )
