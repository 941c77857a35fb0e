"""Proofs for data of one known length: regions of the noise, or one shift of Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import FunctionType

from dpest.errors import (
    DpestError,
    PathLimitError,
    RefusedError,
    UntraceableError,
)
from dpest.evidence import Measure
from dpest.notions.claims import ZCDP, PureDP
from dpest.proofs import certificates, conformance
from dpest.proofs.alignments import gaussian
from dpest.proofs.alignments.adjacency_faces import faces, radius_of, relevant, whole_data
from dpest.proofs.alignments.planning import plan
from dpest.proofs.alignments.regions_of_release import rates, regions
from dpest.proofs.conformance import place_of
from dpest.proofs.loops import lower_bounds
from dpest.proofs.loops.budgets import unrolled
from dpest.proofs.proof import Proof
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
    rays_hold,
    with_claim,
)
from dpest.reading.lengths.fixed import ManyWays, read_model
from dpest.reading.machine.signals import Refused
from dpest.reading.merged_states import MergedModel
from dpest.reading.refusals import PLAINER
from dpest.running.landmarks import landmarks

_MOST_REGIONS = 150


def with_either_input(question: ProofGoal, ask: Callable[[ProofGoal], Proof]) -> Proof:
    """A list, or, where the function asks an array's questions, an array."""
    try:
        return ask(question)
    except DpestError:
        raise
    except Exception as error:  # the function's own, on a symbolic input
        try:
            return ask(replace(question, form="array"))
        except DpestError:
            raise
        except Exception:
            raise UntraceableError(
                f"a symbolic value can't be used here ({type(error).__name__}: {error})",
                "Use NumPy arithmetic, comparisons, sums, max, argmax, clip or where",
                place_of_error(error) or place_of(question.mechanism.function),
            ) from error


def at_length(question: ProofGoal, length: int, certify: bool = True) -> Proof:
    """`certify=False`: for what is said from below alone, of a model that no source defines."""
    model: MergedModel | None = None
    try:
        model = _model(question, length)
        if len(model.leaves) > _MOST_REGIONS:
            raise PathLimitError(f"{len(model.leaves)} regions", "Use a smaller length", None)
    except PathLimitError as many:
        try:
            return unrolled(question, length, many)
        except (RefusedError, PathLimitError) as error:
            if model is None:
                raise error from None
            return _by_samples(question, model, length)
    if any(n.shift_cost.kind == "square" for n in model.noises.values()):
        return _gaussian(question, model, length)
    return _by_cells(question, model, length, certify)


def _by_cells(question: ProofGoal, model: MergedModel, length: int, certify: bool) -> Proof:
    """A shift of the noise for each release, affine in the difference of the inputs."""
    rated = checked_rates(question, model.noises)
    integers = question.integer_data(has_integral(rated.draws))
    _check_model(question, model, length, integers)
    found = regions(model, rated.draws)
    inputs = question.inputs(length)
    used = {s for r in found for s in r.problem.data_symbols()}
    groups = faces(question.adjacency, inputs, model.world.derived, question.domain, integers)
    groups = relevant(groups, used)
    whole = whole_data(inputs, model.world.derived, integers)
    planned = plan([replace(r.problem, whole=whole) for r in found], groups)
    derived = {s: rule for s, rule in model.world.derived.items() if s in used}
    lower = None
    if rays_hold(question, rated.draws, found):
        lower = lower_bounds.from_regions(found, planned.alignments, planned.stuck, inputs, derived)
    certificate = None
    if planned.cost is not None and certify:
        head = head_of(
            question, "cells", planned.cost, length, model.noises, rated.draws, model.world
        )
        certificate = certified(lambda: certificates.cells(head, model, found, planned.alignments))
    reason = ""
    if planned.cost is None:
        reason = _no_shift(question, has_integral(rated.draws), whole.issuperset(used))
    return concluded(
        question,
        replace(
            bare(question, length),
            bound=planned.cost,
            method="cells",
            reason=reason,
            lower=lower,
            certificate=certificate,
            notes=notes_of(question, rated.draws, model.world),
            words=("cells", model, found, planned),
        ),
    )


def _check_model(question: ProofGoal, model: MergedModel, length: int, integers: bool) -> None:
    """Raises unless the untouched function does what the model says."""
    conformance.check_model(
        question.run,
        model,
        question.inputs(length),
        integers=integers,
        where=place_of(question.mechanism.function),
        marks=landmarks(question.mechanism),
        ranges=question.record.ranges,
    )


def _no_shift(question: ProofGoal, integer_noise: bool, integer_data: bool) -> str:
    """Why there is no proof, and what a user can do about it."""
    reason = "no shift of the noise that is affine in the difference keeps a release"
    adjacency = question.adjacency
    if adjacency.replaces and math.isinf(radius_of(adjacency, question.domain)):
        reason += ". An entry may be replaced by anything: clip it (np.clip), or bound the domain"
    if integer_noise:
        reason += ". Integer noise moves by whole steps: what it is added to must do so, too"
    if integer_noise and not integer_data:
        reason += "; say that the data are integers (domain=dpest.integers()) if they are"
    return reason


def refuse_pure(question: ProofGoal) -> None:
    if isinstance(question.claim, PureDP):
        raise RefusedError(
            "Gaussian noise has no pure ε: its log-ratio has no bound in the tails. Claim zCDP, "
            "Rényi DP or (ε, δ)-DP instead"
        )


def claimed_rho(question: ProofGoal, power: int) -> Fraction | None:
    named = isinstance(question.claim, ZCDP)
    return question.claimed() if named and (power == 1 or question.unit is None) else None


def _gaussian(question: ProofGoal, model: MergedModel, length: int) -> Proof:
    """zCDP by one shift for all releases; Rényi and (ε, δ) bounds follow from it."""
    refuse_pure(question)
    draws = rates(model.noises).draws
    power = gaussian.variances(model.noises, draws)
    integers = question.integer_data(has_integral(draws))
    _check_model(question, model, length, integers)
    found = regions(model, draws)
    inputs = question.inputs(length)
    groups = faces(question.adjacency, inputs, model.world.derived, question.domain, integers)
    shift = gaussian.common_shift(found, draws, groups)
    if math.isinf(shift.rho):
        raise RefusedError(
            "an entry may be replaced by anything, and it is used as it is: no noise hides that. "
            "Clip it (np.clip), or bound the adjacency (radius) or the domain"
        )
    if has_integral(draws):
        gaussian.check_steps(shift, draws, whole_data(inputs, model.world.derived, integers))
    head = head_of(question, "square", shift.rho, length, model.noises, draws, model.world)
    head["power"] = power
    certificate = certified(lambda: certificates.square(head, model, found, shift.slopes))
    claimed = claimed_rho(question, power)
    proof = replace(
        bare(question, length),
        bound=shift.rho,
        method="one shift",
        status="exact" if shift.attained else "upper bound",
        measure=Measure("zcdp"),
        power=power,
        claimed=claimed,
        certificate=certificate,
        gaussian=not has_integral(draws),
        notes=notes_of(question, draws, model.world),
        words=("square", model, shift, draws),
    )
    return with_claim(question, proof)


def _by_samples(question: ProofGoal, model: MergedModel, length: int) -> Proof:
    """Too many regions for a proof: the worst of some of them still gives a lower bound."""
    rated = checked_rates(question, model.noises)
    where = place_of(question.mechanism.function)
    conformance.check_model(
        question.run,
        model,
        question.inputs(length),
        integers=question.integers,
        where=where,
        marks=landmarks(question.mechanism),
        ranges=question.record.ranges,
    )
    found = regions(model, rated.draws)
    inputs = question.inputs(length)
    claimed = question.claimed()
    enough = math.inf if claimed is None else float(claimed) + 1e-9
    lower = None
    if rays_hold(question, rated.draws):
        groups = faces(question.adjacency, inputs, model.world.derived, question.domain)
        lower = lower_bounds.from_samples(found, groups, inputs, model.world.derived, enough)
    reason = f"{len(found)} regions are too many for a proof; use a smaller length"
    return concluded(
        question, replace(bare(question, length), reason=reason, lower=lower, method="cells")
    )


def _model(question: ProofGoal, length: int) -> MergedModel:
    """The model of the releases."""
    if not isinstance(question.mechanism.function, FunctionType):
        raise RefusedError("what has no source of its own (a partial, an object) has no model")
    try:
        return read_model(
            question.mechanism, question.variables(), question.data(length), question.world
        )
    except ManyWays as many:
        raise PathLimitError(many.reason, "Use a smaller length", many.where) from None
    except Refused as refusal:
        advice = refusal.advice or PLAINER
        raise UntraceableError(refusal.reason, advice, refusal.where) from None
