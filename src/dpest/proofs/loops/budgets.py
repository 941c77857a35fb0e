"""Proofs by budgets on the states of a loop, and what runs of the loop show from below."""

from __future__ import annotations

import math
import types
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.ask.domains import ANY
from dpest.errors import (
    DpestError,
    PathLimitError,
    RefusedError,
    UntraceableError,
)
from dpest.proofs import certificates, conformance, older_reader
from dpest.proofs.alignments.adjacency_faces import faces
from dpest.proofs.alignments.linear_program import InexactError, InfeasibleError
from dpest.proofs.alignments.regions_of_release import Rates
from dpest.proofs.conformance import place_of
from dpest.proofs.loops import lower_bounds
from dpest.proofs.loops.contributions import attained, may_take_two_steps
from dpest.proofs.loops.potentials import Phase, automata, potential
from dpest.proofs.loops.record_budgets import record_potential
from dpest.proofs.proof import AttainingPair, Lower, Proof, Ray
from dpest.proofs.question import (
    ProofGoal,
    bare,
    certified,
    checked_rates,
    concluded,
    has_integral,
    head_of,
    notes_of,
    rays_hold,
)
from dpest.reading.cases.graphs import read_cases
from dpest.reading.cases.records import RecordError
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.reading import Data, RecordField, bounds
from dpest.reading.lengths.reading import read_graph
from dpest.reading.loop_graph import Graph
from dpest.reading.loops import inputs
from dpest.reading.loops.loops import graph
from dpest.reading.machine.signals import Refused
from dpest.reading.world import ELEMENT
from dpest.running.landmarks import landmarks

_SMALL = (1, 2, 3, 5)
_SHORT = 10


def graph_of(question: ProofGoal, length: int | None = None, by_cases: bool = False) -> Graph:
    """The graph of the mechanism; `by_cases`: each record is looked at case by case.

    The machine is asked first; the reader that came before it, where the machine has no rule.
    """
    if by_cases:
        return _cases_of(question)
    # What has no source of its own (a partial, an object) has no certificate.
    plain = isinstance(question.mechanism.function, types.FunctionType)
    if plain and not question.fields and question.reader != "before":
        try:
            return read_graph(
                question.mechanism, question.variables(), question.world, question.form, length
            )
        except Refused as refusal:
            if refusal.final or question.reader:
                advice = refusal.advice or "give a length instead of ANY"
                raise UntraceableError(refusal.reason, advice, refusal.where) from None
    elif question.reader == "machine":
        raise RefusedError("the machine reads functions that go through numbers")
    older_reader.check(question)
    return graph(
        question.mechanism.function,
        question.argument,
        question.variables(),
        question.world,
        length,
        inputs.fresh(question.element, lenient=False),
    )


def _cases_of(question: ProofGoal) -> Graph:
    """The graph of a function of sums over records, of each of which the cases are known."""
    if not isinstance(question.mechanism.function, types.FunctionType):
        raise RecordError("what has no source of its own has no certificate", telling=False)
    entry = question.record
    columns = tuple(
        RecordField(name, *bounds(*ends), entry.integers)
        for name, ends in zip(question.fields or (None,), entry.ranges, strict=True)
    )
    data = Data(columns, question.form, not question.adjacency.changes_length)
    try:
        return read_cases(
            question.mechanism.function, question.variables(), data, entry, question.world()
        )
    except Unread as refusal:
        advice = ""
        if refusal.of_record and entry.values is None:
            advice = (
                ". If the records are whole numbers within bounds, say so, and each of them is "
                "looked at: domain=dpest.integers(dpest.ANY, low, high)"
            )
        raise RecordError(f"{refusal}{advice}") from None


def potentials_of(question: ProofGoal, found: Graph, rated: Rates, length: Any) -> Proof:
    components = []
    cases = found.world.cases
    twice = 2 if cases is not None and cases.two_steps else 1
    free: list[Any] | None = [] if not any(e.blocks for e in found.edges) else None
    rays = rays_hold(question, rated.draws, free)
    try:
        solve = potential if cases is None else record_potential
        for phases in phases_of(question, found, rated):
            components.append(solve(found, rated.draws, phases))
    except (InfeasibleError, InexactError):
        if length is ANY:
            raise
        return _some_run(question, found, rated, length, rays)
    place = max(range(len(components)), key=lambda i: components[i].epsilon)
    worst = components[place]
    epsilon = worst.epsilon * twice
    lower = None
    if cases is not None:
        lower = attained(question, found, rated.draws, epsilon)
    elif rays:
        box = box_of(question, place)
        exact_length = None if length is ANY else length
        if length is not ANY:
            lower = _lower_of_every(question, length, box)
        if lower is None or lower.value < worst.epsilon:
            other = lower_bounds.from_potential(found, rated.draws, worst, box, exact_length)
            if other is not None and (lower is None or other.value > lower.value):
                lower = other
    if length is ANY and cases is None:
        lower = _shorter(question, lower, place)
    head = head_of(question, "loop", epsilon, length, found.noises, rated.draws, found.world)
    certificate = certified(lambda: certificates.loop(head, found, components))
    return concluded(
        question,
        replace(
            bare(question, length),
            bound=epsilon,
            method="potentials",
            lower=lower,
            certificate=certificate,
            notes=notes_of(question, rated.draws, found.world),
            words=("loop" if cases is None else "records", found, components, rated),
        ),
    )


def records_of(question: ProofGoal, found: Graph, rated: Rates) -> Proof:
    """By what one record adds; where many records differ, first by a removal and an addition."""
    cases = found.world.cases
    if question.adjacency.replaces and may_take_two_steps(cases):
        found.world.cases = replace(cases, two_steps=True)
        proof = potentials_of(question, found, rated, ANY)
        found.world.cases = cases
        if proof.status == "exact" or any(e.blocks for e in found.edges):
            return proof
        try:
            return potentials_of(question, found, rated, ANY)
        except RecordError:
            return proof
    return potentials_of(question, found, rated, ANY)


def phases_of(question: ProofGoal, found: Graph, rated: Rates) -> list[list[Phase]]:
    whole = question.integer_data(has_integral(rated.draws))
    return automata(question.adjacency, found, question.domain, rated.draws, whole)


def _shorter(question: ProofGoal, lower: Lower | None, place: int) -> Lower | None:
    """A refutation on shorter data, which other engines can confirm, if there is one.

    The shortest that shows as much; else the shortest that shows more than the claim.
    """
    claimed = question.claimed()
    if lower is None or claimed is None or lower.value <= claimed or lower.length <= _SMALL[-1]:
        return lower
    enough: Lower | None = None
    for length in range(2, min(lower.length, _SHORT)):
        small = _lower_unrolled(question, length, place)
        if small is not None and small.value >= lower.value:
            return small
        if small is not None and small.value > claimed and enough is None:
            enough = small
    return enough or lower


def _lower_unrolled(question: ProofGoal, length: int, place: int) -> Lower | None:
    """The worst run of the loop, unrolled for this length."""
    try:
        found = graph_of(question, length)
        draws = checked_rates(question, found.noises).draws
        phases = automata(question.adjacency, found, question.domain, draws, question.integers)[
            place
        ]
        worst = potential(found, draws, phases)
    except (DpestError, InfeasibleError, InexactError):
        return None
    return lower_bounds.from_potential(found, draws, worst, box_of(question, place), length)


def box_of(question: ProofGoal, component: int) -> tuple[Fraction, Fraction] | None:
    """Where each datum may move, if all of them may at once."""
    if question.adjacency.moves_one:
        return None
    return faces(question.adjacency, [ELEMENT], {}, question.domain)[component][0][ELEMENT]


def lower_at(proof: Proof, length: int, domain: Any) -> Lower | None:
    """From the proof for every length: what no bound for this length can be below.

    The worst run of the loop on data of this length, of which it may read a few entries only. The
    ray argument must have held for the proof, whose own lower bound shows it.
    """
    lower = proof.lower
    if lower is None or not proof.words or lower.length > length:
        return None
    if proof.words[0] == "records":
        return _padded_records(lower, proof.words[1], length)
    if not isinstance(lower.ray, Ray):
        return None
    if proof.words[0] == "selection" and not lower.ray.infinite:
        # More candidates, which don't move, are more conditions: keeping all costs no less.
        zeros = (Fraction(0),) * (length - lower.length)
        ray = replace(lower.ray, direction=(*lower.ray.direction, *zeros))
        return replace(lower, length=length, ray=ray)
    if proof.words[0] != "loop":
        return None
    _, graph, components, rated = proof.words
    place = max(range(len(components)), key=lambda i: components[i].epsilon)
    box = None
    if not proof.adjacency.moves_one:
        box = faces(proof.adjacency, [ELEMENT], {}, domain)[place][0][ELEMENT]
    return lower_bounds.from_potential(graph, rated.draws, components[place], box, length)


def _padded_records(lower: Lower, graph: Graph, length: int) -> Lower | None:
    """The pair of one record among others that are the same: sums move by what they moved by."""
    pair = lower.ray
    if not isinstance(pair, AttainingPair) or graph.world.cases.statistics or not pair.x:
        return None
    rest = [pair.x[-1]] * (length - len(pair.x))
    x, x2 = [*pair.x, *rest], [*pair.x2, *rest]
    return Lower(
        lower.value, length, AttainingPair(x, x2, f"{length} records, of which one differs")
    )


def _lower_of_every(question: ProofGoal, length: int, box: Any) -> Lower | None:
    """The worst run of the loop that is not unrolled, on data of this length."""
    try:
        found = graph_of(question)
        rated = checked_rates(question, found.noises)
        parts = [
            potential(found, rated.draws, phases) for phases in phases_of(question, found, rated)
        ]
    except (DpestError, InfeasibleError, InexactError):
        return None
    worst = max(parts, key=lambda p: p.epsilon)
    return lower_bounds.from_potential(found, rated.draws, worst, box, length)


def _some_run(question: ProofGoal, found: Graph, rated: Rates, length: int, rays: bool) -> Proof:
    """No budget suffices for the unrolled loop; some runs may show why."""
    lower = None
    claimed = question.claimed()
    if rays:
        enough = math.inf if claimed is None else float(claimed) + 1e-9
        lower = lower_bounds.from_paths(found, rated.draws, box_of(question, 0), length, enough)
    reason = "no budget for the unrolled loop was found"
    return concluded(
        question, replace(bare(question, length), reason=reason, lower=lower, notes=question.notes)
    )


def unrolled(question: ProofGoal, length: int, error: PathLimitError) -> Proof:
    """Too many regions: the loop graph, unrolled, if the mechanism passes once over its data."""
    try:
        found = graph_of(question, length)
        rated = checked_rates(question, found.noises)
        if found.selections or found.gaps:
            raise error
    except Exception:
        raise error from None
    where = place_of(question.mechanism.function)
    integers = question.integer_data(has_integral(rated.draws))
    conformance.check_graph(
        question.run,
        found,
        integers=integers,
        where=where,
        entry=question.entry,
        lengths=(length,),
        marks=landmarks(question.mechanism),
        ranges=question.record.ranges,
    )
    return potentials_of(question, found, rated, length)
