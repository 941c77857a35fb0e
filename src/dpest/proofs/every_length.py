"""Proofs for data of every length, by the rule that fits what the loop does."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.errors import (
    DpestError,
    RefusedError,
    UntraceableError,
)
from dpest.evidence import Measure
from dpest.inputs.domains import ANY
from dpest.program.loops import Graph
from dpest.program.unit import Unit
from dpest.proofs import certificates, conformance, gaussian
from dpest.proofs.budgets import graph_of, phases_of, potentials_of
from dpest.proofs.conformance import place_of
from dpest.proofs.linear_program import InexactError, InfeasibleError
from dpest.proofs.one_length import at_length, claimed_rho, refuse_pure, with_either_input
from dpest.proofs.potentials import potential
from dpest.proofs.proof import Lower, Proof
from dpest.proofs.question import (
    Question,
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
from dpest.proofs.regions_of_release import Rates, rates
from dpest.proofs.selection import selection

_SMALL = (1, 2, 3, 5)


def every_length(question: Question) -> Proof:
    try:
        found = graph_of(question)
    except DpestError:
        raise
    except Exception as error:  # the function's own, on a vector without a length
        raise UntraceableError(
            f"a vector of any length can't be used here ({type(error).__name__}: {error})",
            "Give a length",
            place_of_error(error) or place_of(question.mechanism.function),
        ) from error
    squares = any(n.shift_cost.kind == "square" for n in found.noises.values())
    if squares:
        refuse_pure(question)
    rated = rates(found.noises) if squares else checked_rates(question, found.noises)
    where = place_of(question.mechanism.function)
    integers = question.integer_data(has_integral(rated.draws))
    try:
        conformance.check_graph(
            question.run,
            found,
            integers=integers,
            where=where,
            entry=question.entry,
            choice=_choice_scale(question, found),
        )
    except UntraceableError:
        if question.form != "list" or question.fields:
            raise
        return every_length(replace(question, form="array"))  # it asks an array's questions
    if squares:
        return _squares(question, found, rated)
    if found.selections or found.gaps:
        return _selected(question, found, rated)
    try:
        return potentials_of(question, found, rated, ANY)
    except (InfeasibleError, InexactError):
        return without_bound(question)


def _squares(question: Question, found: Graph, rated: Rates) -> Proof:
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
        spent = potential(found, rated.draws, phases)
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
        words=("loop", found, [spent], rated),
    )
    return with_claim(question, proof)


def _choice_scale(question: Question, found: Graph) -> float | None:
    """The scale of the Gumbel noise that stands for a choice, at the parameters' values."""
    scales = {found.noises[s].scale for s in found.world.chosen}  # type: ignore[attr-defined]
    if not scales:
        return None
    if len(scales) > 1:
        raise RefusedError("several choices with different weights: give a length instead of ANY")
    (scale,) = scales
    if not isinstance(scale, Unit):
        return float(scale)
    assert question.unit is not None
    value = float(question.mechanism.all_params[question.unit])
    return float(scale.factor) * value**scale.power


def _selected(question: Question, found: Graph, rated: Rates) -> Proof:
    chosen = selection(found, rated.draws, question.adjacency, question.domain)
    if chosen.plan.cost is None:
        return without_bound(question)
    epsilon = chosen.plan.cost
    head = head_of(question, "selection", epsilon, ANY, found.noises, rated.draws, found.world)
    certificate = certified(lambda: certificates.selection(head, chosen))
    lower = small_lower(question, epsilon, (2, 3))
    return concluded(
        question,
        replace(
            bare(question, ANY),
            bound=epsilon,
            method="selection",
            lower=lower,
            certificate=certificate,
            notes=notes_of(question, rated.draws, found.world),
            words=("selection", found, chosen, rated),
        ),
    )


def small_lower(
    question: Question, enough: Fraction | float, lengths: tuple[int, ...]
) -> Lower | None:
    """The best lower bound at a few small lengths; a bound for every length is at least that."""
    best: Lower | None = None
    for length in lengths:
        try:
            proof = with_either_input(
                replace(question, length=length), lambda q: at_length(q, length)
            )
        except DpestError:
            continue
        if proof.lower is not None and (best is None or proof.lower.value > best.value):
            best = proof.lower
        if best is not None and best.value >= enough:
            break
    return best


def without_bound(question: Question) -> Proof:
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
