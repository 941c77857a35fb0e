"""`prove`: which engine answers, in which unit, and what follows for the claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.adjacency import Adjacency
from dpest.ask.declaration import Mechanism, as_mechanism, data_first
from dpest.ask.domains import ANY, Form, Reals
from dpest.ask.patterns import patterns
from dpest.ask.people import People
from dpest.ask.questions import measured
from dpest.ask.tables import Table
from dpest.errors import DpestError, PathLimitError, RefusedError, ReplayError, UntraceableError
from dpest.evidence import EPSILON, Measure
from dpest.kernel.approximate.ways import MOVED
from dpest.proofs import composition
from dpest.proofs.approximate.proving import contributions, proof_of
from dpest.proofs.enumeration.each_entry import each_entry_proof
from dpest.proofs.enumeration.enumerating import enumerated_proof
from dpest.proofs.every_length import every_length, small_lower, tells, without_bound
from dpest.proofs.one_length import at_length, with_either_input
from dpest.proofs.proof import AttainingPair, Proof, Ray
from dpest.proofs.question import ProofGoal, asked, concluded, unknown, with_claim
from dpest.reading.domains.unit import NO_VALUE
from dpest.reading.rewrites.post_processing import before_processing, described

_DELTA = 1e-6  # where nothing is claimed, and a bound needs one


def prove(
    mechanism: Callable[..., Any] | Mechanism,
    *,
    adjacency: Adjacency | str | None = None,
    length: Any = ANY,
    params: Mapping[str, Any] | None = None,
    unit: str | None = None,
    domain: Any = None,
    claim: Any = None,
    fallback_length: int | None = None,
    form: Form | None = None,
    by_contributions: bool = True,
) -> Proof:
    """The least ε that is provable for all neighbouring inputs.

    For `length=ANY` the mechanism must pass over its data once (or take an argmax of it); where it
    doesn't, the proof says why and, if `fallback_length` (or the length of the domain) is known, is
    about that length (0: about none). ε is a multiple of the parameter `unit` (by default the one
    that the claim names, or eps, or epsilon), for every positive value of it; where the mechanism's
    scales are not multiples of it, an absolute number for the parameters' values.

    `form` is what the function takes (by default what the domain says): a list, an array, or one
    number. Never issued before the untouched function has agreed with the model on random inputs.
    `by_contributions`: whether to look at what one record adds, which also bounds (ε, δ).
    """
    goal = asked(mechanism, adjacency, length, params, unit, domain, claim, form)
    return prove_goal(goal, fallback_length, by_contributions)


def prove_goal(
    question: ProofGoal, fallback_length: int | None = None, by_contributions: bool = True
) -> Proof:
    """The same for a question that was resolved (`goal_of`)."""
    started = time.perf_counter()
    differs: list[ReplayError] = []
    proof = _by_contributions(question, True, differs) if by_contributions else None
    if proof is None and question.mechanism.black_box:
        proof = _by_contributions(question, False, differs) if by_contributions else None
        if proof is None:
            raise RefusedError(
                f"{question.mechanism.name} has no parameter `rng`: a function that draws its "
                "noise elsewhere is proved by what one record adds alone, and here that is not read"
            )
    if proof is None:
        proof = prove_question(question, fallback_length)
        if by_contributions and _wanting(question, proof):
            proof = _by_contributions(question, False, differs) or proof
    if proof.status == "unknown" and proof.bound is None and differs:
        proof = replace(proof, reason=str(differs[0]))  # it was read, and is not what was read
    if proof.bound is not None and (where := _overflows(question)) is not None:
        proof = unknown(question, f"it overflows on the input {where}, which the domain admits")
    return replace(proof, seconds=time.perf_counter() - started)


def _overflows(question: ProofGoal) -> str | None:
    """An input at the ends of a bounded domain on which the arithmetic leaves the numbers.

    A proof is about real numbers: e^1000 is one, and infinity is what the function gets.
    """
    low, high = (getattr(question.domain, end, None) for end in ("low", "high"))
    if question.fields or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return None
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    n = question.length if isinstance(question.length, int) else 2
    for x in ([high] * n, [low] * n, [high, *[low] * (n - 1)]):
        try:
            with np.errstate(over="raise"):
                question.run(list(x), np.random.default_rng(0))
        except (FloatingPointError, OverflowError):
            return str(x)
        except Exception:  # it raises there: that is read as what it releases
            continue
    return None


def _wanting(question: ProofGoal, proof: Proof) -> bool:
    """Whether another proof may say more: there is no bound, or it doesn't give a claim of ρ."""
    if proof.status == "refuted":
        return False
    if proof.bound is None:
        return proof.exponential is None
    if proof.measure.kind != "zcdp" or question.claim is None:
        return False
    return not proof.proved or (question.length is ANY and proof.length is not ANY)


def _by_contributions(question: ProofGoal, first: bool, differs: list[ReplayError]) -> Proof | None:
    """By what one record adds: last for claims of pure ε and of ρ, first for all others.

    Those have proofs for every value of the unit, which say more than one for its value alone; so
    have numbers that move. A function that runs otherwise than it was read is told in `differs`.
    """
    try:
        claim = question.claim
        said = None if claim is None else claim.resolve(question.mechanism.all_params)
        measure, limit = measured(said)
    except (DpestError, KeyError, TypeError, ValueError):
        return None
    late = measure == EPSILON or measure.kind == "zcdp" or question.adjacency.name in MOVED
    if first == late:
        return None
    tried = [measure] if limit is not None else [measure, Measure("gdp"), Measure(delta=_DELTA)]
    try:
        found = contributions(question)
    except ReplayError as reason:
        differs.append(reason)
        return None
    except DpestError:
        return None
    for one in tried:
        try:
            return proof_of(found, one, limit)
        except DpestError:
            continue
    return None


def prove_question(question: ProofGoal, fallback: int | None) -> Proof:
    """An answer; where there is none, one about the numbers that the result is computed from."""
    proof = answer(question, fallback)
    if proof.status == "unknown" and proof.bound is None:
        return _before_processing(question, fallback) or proof
    return proof


def _before_processing(question: ProofGoal, fallback: int | None) -> Proof | None:
    """A bound for the numbers that the mechanism's result is computed from, if there is one."""
    length = question.length if isinstance(question.length, int) else fallback
    if not isinstance(length, int) or not length:
        length = getattr(question.domain, "length", None)
    if not isinstance(length, int):
        length = 3
    inputs = _some_inputs(question, length)
    tried: set[str] = set()
    for depth in (None, 1, 2, 3):
        found = before_processing(question.mechanism, inputs, depth=depth)
        if found is None or found.body in tried:
            continue
        tried.add(found.body)
        proof = answer(replace(question, mechanism=found.mechanism), fallback)
        if proof.bound is None and proof.rho is None:
            continue
        # What shows that the numbers are that revealing need not show it of the result.
        return replace(
            proof,
            status="upper bound",
            lower=None,
            rays=(),
            notes=(*proof.notes, described(found.steps)),
        )
    return None


def _some_inputs(question: ProofGoal, length: int) -> list[Any]:
    """A few inputs of the function, in the form that it takes."""
    if question.domain is not None:
        listed = patterns(question.adjacency, question.domain, length)
        return [x for _, x, _ in listed[:2]]
    rows = [[0.0, 1.0, -2.5], [3.0, 0.5, 10.0]]
    found = [[row[i % 3] for i in range(length)] for row in rows]
    return [question.given(x, np.array) for x in found]


def _of_table(question: ProofGoal) -> Proof | None:
    """Records of a table are no numbers, and may be people: what follows is not about them."""
    if isinstance(question.domain, Reals) and question.domain.nan:
        return unknown(question, "data that may be NaN: only what one record adds is looked at")
    if not isinstance(question.domain, Table):
        return None
    return unknown(question, "records of a table: only what one of them adds is looked at")


def answer(question: ProofGoal, fallback: int | None = None) -> Proof:
    """Try the unit, then its value; every length, then a known one."""
    if not data_first(question.mechanism.function):
        return unknown(question, "the data are not its first parameter")
    attempts = [question]
    if question.unit is not None:
        value = question.mechanism.all_params[question.unit]
        note = f"the bound is for {question.unit} = {value} alone"
        attempts.append(replace(question, unit=None, notes=(note,)))
    first: DpestError | None = None
    for attempt in attempts:
        try:
            proof = _enumerated(attempt) or _of_table(attempt) or _at_lengths(attempt, fallback)
            if proof.status == "unknown" and attempt is not attempts[-1]:
                return _enumerated(attempts[-1]) or proof
            return proof
        except ReplayError as error:
            return unknown(question, str(error))
        except DpestError as error:
            if first is None or NO_VALUE in str(first):
                first = error  # what is wrong apart from eps having no value
    assert first is not None
    return unknown(question, str(first))


def _enumerated(question: ProofGoal) -> Proof | None:
    """Every outcome of every draw, on each value of an entry or on each input."""
    if isinstance(question.domain, People) or getattr(question.domain, "nan", False):
        return None  # a person has several entries; NaN is no number
    found = each_entry_proof(question)
    if found is not None or question.domain is None:
        return found
    length = getattr(question.domain, "length", None)
    if length is ANY and question.length is not ANY:
        domain = question.domain.with_length(question.length)
        return enumerated_proof(replace(question, domain=domain))
    return enumerated_proof(question) if question.length in (ANY, length) else None


def _at_lengths(question: ProofGoal, fallback: int | None) -> Proof:
    if question.adjacency.changes_length:
        return every_length(question)
    if question.length is not ANY:
        composed = _composed(question)  # the states of the parts are fewer than of all together
        if composed is not None:
            return composed
        try:
            proof = with_either_input(question, lambda q: at_length(q, question.length))
        except (RefusedError, UntraceableError, PathLimitError) as error:
            return _from_every(question, error)
        return _better(question, proof) if proof.status == "upper bound" else proof
    try:
        return every_length(question)
    except (RefusedError, UntraceableError, PathLimitError) as error:
        composed = _composed(question)
        if composed is not None:
            return composed
        length = getattr(question.domain, "length", None) if fallback is None else fallback
        if not isinstance(length, int) or not length:
            raise
        note = f"not for every length: {error}"
        about = replace(question, length=length, notes=(*question.notes, note))
        try:
            proof = with_either_input(about, lambda q: at_length(q, length))
        except DpestError as other:
            raise (error if tells(error) else other) from None
        if proof.status == "unknown" and tells(error):
            raise
        return proof


def _composed(question: ProofGoal) -> Proof | None:
    """A program that hands its data to mechanisms of its own: their budgets add up."""
    try:
        called = composition.calls_of(question.mechanism, question.unit)
        proofs = []
        for part, given in called:
            target = as_mechanism(part).with_params(given["params"])
            asked_of = replace(question, mechanism=target, unit=given["unit"], claim=None, notes=())
            proofs.append((part, answer(asked_of)))
    except DpestError:
        return None
    except Exception:  # the program's own, on tokens
        return None
    if any(p.bound is None for _, p in proofs):
        return without_bound(question) if question.length is ANY else None
    try:
        found = composition.compose(
            question.mechanism, proofs, adjacency=question.adjacency, unit=question.unit
        )
    except DpestError:
        return None
    found = replace(
        found,
        claim=question.claim,
        claimed=question.claimed() if found.rho is None else None,
        rays=_joined([p.lower.ray for _, p in proofs if p.lower is not None]),
    )
    if found.rho is not None:
        return with_claim(question, found)
    lower = small_lower(question, found.bound or 0, (2, 3)) if question.length is ANY else None
    return concluded(question, replace(found, lower=lower))


def _joined(rays: Sequence[Ray | AttainingPair]) -> tuple[Ray | AttainingPair, ...]:
    """Directions that may be bad for all parts at once: where one of them rests, another's move."""
    moving = [ray for ray in rays if isinstance(ray, Ray) and not ray.infinite]
    found: dict[Ray | AttainingPair, None] = {}
    for first in moving:
        direction = first.felt
        for ray in moving:
            if len(ray.direction) == len(direction):
                direction = tuple(a or b for a, b in zip(direction, ray.felt, strict=True))
        found[replace(first, direction=direction)] = None
    return (*found, *(ray for ray in rays if ray not in found))


def _from_every(question: ProofGoal, error: DpestError) -> Proof:
    """What has no proof at its length may have one for every length."""
    try:
        every = every_length(replace(question, length=ANY), (question.length,))
    except DpestError as other:
        raise (other if tells(other) else error) from None
    if every.bound is None:
        raise error
    lower = every.lower
    if lower is not None and lower.length != question.length:
        lower = None
    note = "the bound is that for every length"
    found = replace(every, length=question.length, lower=lower, notes=(*every.notes, note))
    return concluded(question, found)


def _better(question: ProofGoal, proof: Proof) -> Proof:
    """A bound for every length holds for this one too, and its rules may be stronger."""
    try:
        every = every_length(replace(question, length=ANY))
    except DpestError:
        return proof
    if every.bound is None or proof.bound is None or every.bound >= proof.bound:
        return proof
    note = "the bound is that for every length"
    joined = replace(every, length=question.length, lower=proof.lower, notes=(*every.notes, note))
    return concluded(question, joined)


__all__ = ["Proof", "ProofGoal", "prove"]
