"""A bound by what one record adds: read, replayed, accounted for, and checked by the kernel."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest import kernel
from dpest.ask.declaration import Mechanism
from dpest.ask.domains import ANY, Integers, Reals, Records
from dpest.ask.people import People
from dpest.ask.tables import Column, Table
from dpest.errors import RefusedError
from dpest.evidence import EPSILON, Measure, at_the_edge, up_to_rounding
from dpest.kernel.approximate.accountant import Account, LossGrid, mu2_bound, pure_bound, rho_bound
from dpest.kernel.approximate.ways import MOVED
from dpest.kernel.rules.contributions import ledger_of
from dpest.proofs.approximate.exporting import columns, exported
from dpest.proofs.approximate.replay import replay
from dpest.proofs.certificates import FORMAT, sealed
from dpest.proofs.proof import Proof
from dpest.proofs.question import ProofGoal
from dpest.reading.contributions.reading import Data, PublicWay, RecordField, bounds, read
from dpest.running.landmarks import landmarks
from dpest.running.places import source_of

_MOST_APART = 16
DEFAULT_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class ReadContributions:
    """What was read, accepted by the kernel, and what it costs."""

    question: ProofGoal
    data: Data
    ways: tuple[PublicWay, ...]
    account: Account
    model: dict[str, Any]
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    seconds: float


_MANNERS = ((True, False), (False, False), (False, True))
"""Races as one step or not; and of sums of noisy counts these first."""


def contributions(question: ProofGoal) -> ReadContributions:
    """The reading of a mechanism that its runs agree with; RefusedError says why there is none."""
    started = time.perf_counter()
    if question.adjacency.name not in ("replace_one", "add_remove_one", *MOVED):
        raise RefusedError(
            f"{question.adjacency.name}: no single record is replaced, comes or goes"
        )
    if question.mechanism.takes_size:
        raise RefusedError(f"{question.mechanism.name} gives many outputs a call")
    if question.filled:
        raise RefusedError(f"{question.mechanism.name} needs a value for {question.filled[0]}")
    first: RefusedError | None = None
    shown = False  # whether what was read shows something without noise of its own
    for data, (races, cells) in itertools.product(_shapes(question), _MANNERS):
        if cells and not shown:
            continue
        shown = False
        try:
            function, parameters = question.mechanism.function, question.mechanism.all_params
            found = tuple(read(function, parameters, data, races, cells_first=cells))
            model = {
                "apart": data.apart,
                "columns": columns(data.columns, found),
                "ways": [exported(way) for way in found],
            }
            if data.user is not None:
                model |= {"rows_each": data.rows_each, "user": data.user}
            ledger = ledger_of(model, question.adjacency.name, _radius(question), data.length)
        except kernel.Invalid as reason:
            first, shown = first or RefusedError(str(reason)), True
            continue
        except RefusedError as reason:
            first = first or reason
            continue
        special = replay(question.mechanism, found, data, _case_edges(question.mechanism))
        supposed = (a for way in found for a in way.ledger.assumptions)
        special = tuple(dict.fromkeys((*special, *supposed)))
        notes = tuple(dict.fromkeys((*(n for w in found for n in w.ledger.notes), *special)))
        took = time.perf_counter() - started
        return ReadContributions(
            question, data, found, Account(ledger), model, notes, special, took
        )
    assert first is not None
    raise first


def _shapes(question: ProofGoal) -> Sequence[Data]:
    """Data of every length; then of the length that is known, and its records apart."""
    listed = _columns(question.domain)
    form = question.form
    if form == "number":
        raise RefusedError("one number is no data set")
    replace = question.adjacency.name != "add_remove_one"
    if question.adjacency.name == "any_pair" and any(column.missing for column in listed):
        raise RefusedError("any_pair: numbers that may be missing on one input, and not on another")
    if isinstance(question.domain, People):
        user, each = question.domain.user, question.domain.rows_each
        known = [Data(listed, form, replace, user=user, rows_each=each)]
        if replace and isinstance(question.domain.length, int):
            known.append(Data(listed, form, True, question.domain.length, False, user, each))
        return known
    found = [Data(listed, form, replace)]
    length = question.length
    if length is ANY:
        length = getattr(question.domain, "length", None)
    if replace and isinstance(length, int):
        found.append(Data(listed, form, True, length))
        if length <= _MOST_APART:
            found.append(Data(listed, form, True, length, apart=True))
    return found


def _radius(question: ProofGoal) -> Fraction | float:
    """How far neighbours' numbers move, where that is what makes them neighbours."""
    if question.adjacency.name not in MOVED or question.adjacency.name == "any_pair":
        return math.inf
    found = question.adjacency.radius
    return Fraction(found if isinstance(found, (int, Fraction)) else repr(float(found)))


def _columns(domain: Any) -> tuple[RecordField, ...]:
    if domain is None:
        return (RecordField(None, None, None, False),)
    if isinstance(domain, Records) and domain.fields:
        return tuple(RecordField(n, *bounds(a, b), False) for n, a, b in domain.fields)
    if isinstance(domain, Table):
        return tuple(_column(c, domain.nameless) for c in domain.columns)
    if isinstance(domain, (Reals, Records)):
        ends = bounds(domain.low, domain.high)
        missing = isinstance(domain, Reals) and domain.nan
        return (RecordField(None, *ends, isinstance(domain, Integers), missing=missing),)
    raise RefusedError(f"the domain {domain} has no records with bounds")


def written(function: Any) -> Any:
    """The function whose source says what a mechanism does: of an object, or behind a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        return vars(type(function)).get("__call__", function)
    return function


def _column(column: Column, nameless: bool) -> RecordField:
    name = None if nameless else column.name
    if column.values is None:
        ends = bounds(column.low, column.high)
        return RecordField(name, *ends, column.integral, missing=column.nan)
    return RecordField.of_values(name, column.values)


def _case_edges(mechanism: Mechanism) -> list[float]:
    """Numbers at which a case may begin: those of all code that the mechanism reaches."""
    return sorted({0.0, 1.0, *landmarks(mechanism)})


# What follows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounded:
    """A bound on one measure: `value` is ε, ρ or μ² as the kernel has it; with ε, its δ."""

    kind: str
    value: Fraction
    delta: Fraction
    plan: LossGrid | None


def bounded(found: ReadContributions, measure: Measure, limit: float | None) -> Bounded | None:
    """The least bound on a measure that is provable; None where there is none of this kind."""
    ledger = found.account.ledger
    if measure.kind == "epsilon" and not measure.delta:
        value = pure_bound(ledger)
        return None if value is None else Bounded("epsilon", value, Fraction(0), None)
    if measure.kind == "zcdp" or measure.kind == "renyi":
        value = rho_bound(ledger)
        return None if value is None else Bounded("rho", value, Fraction(0), None)
    if measure.kind == "gdp":
        value = mu2_bound(ledger)
        return None if value is None else Bounded("mu2", value, Fraction(0), None)
    delta = Fraction(measure.delta)
    account = Account(ledger)
    most = Fraction(up_to_rounding(measure.delta))
    epsilon = account.epsilon(delta)
    if limit is not None and (epsilon is None or epsilon > Fraction(limit)):
        # At the edge of the claim its own ε may do, with a δ that rounding has made too large.
        here = account.delta(Fraction(limit))
        if here <= most:
            return Bounded("epsilon", Fraction(limit), max(here, delta), account.plan)
    if epsilon is None:
        return None
    return Bounded("epsilon", epsilon, delta, account.plan)


def certificate(found: ReadContributions, bound: Bounded) -> dict[str, Any]:
    """The certificate of a bound, accepted by the kernel."""
    question = found.question
    function = question.mechanism.function
    source = source_of(written(function))
    plan = bound.plan
    made = sealed(
        {
            "format": FORMAT,
            "mechanism": question.mechanism.name,
            "source": source,
            "sha256": hashlib.sha256(source.encode()).hexdigest(),
            "module": getattr(inspect.unwrap(written(function)), "__module__", None),
            "parameters": {k: repr(v) for k, v in question.mechanism.all_params.items()},
            "unit": None,
            "adjacency": {"name": question.adjacency.name, "radius": str(_radius(question))},
            "length": "any" if found.data.length is None else found.data.length,
            "method": "contributions",
            "epsilon": str(bound.value),
            "measure": bound.kind,
            "delta": str(bound.delta),
            "plan": None
            if plan is None
            else {"grid": plan.grid, "tail": plan.tail, "windows": [list(w) for w in plan.windows]},
            "form": found.data.form,
            "assumptions": list(found.assumptions),
            **found.model,
        }
    )
    try:
        kernel.check(made)
    except kernel.Invalid as reason:
        raise RefusedError(f"the kernel did not accept the certificate ({reason})") from None
    return made


def prove_contributions(question: ProofGoal, measure: Measure, limit: float | None) -> Proof:
    """A proof of a bound on a measure; RefusedError where there is none."""
    found = contributions(question)
    return proof_of(found, measure, limit)


def proof_of(found: ReadContributions, measure: Measure, limit: float | None) -> Proof:
    started = time.perf_counter()
    bound = bounded(found, measure, limit)
    if bound is None:
        raise RefusedError(_none(found, measure))
    made = certificate(found, bound)
    question = found.question
    notes = [*question.notes, *found.notes]
    value = bound.value
    if measure.kind == "epsilon" and bound.delta > Fraction(measure.delta):
        notes.append(at_the_edge(float(bound.delta), measure.delta))
    if measure.kind == "renyi":
        assert measure.alpha is not None
        value = bound.value * Fraction(measure.alpha)
    if measure.kind == "gdp":
        value = _root(bound.value)
    holds = None if limit is None else _holds(value, bound, measure, limit)
    return Proof(
        question.mechanism.name,
        question.adjacency,
        ANY if found.data.length is None else found.data.length,
        None,
        "upper bound",
        value,
        "contributions",
        claim=question.claim,
        certificate=made,
        seconds=found.seconds + time.perf_counter() - started,
        notes=tuple(notes),
        measure=measure,
        claim_holds=holds,
        words=("contributions", tuple(found.account.ledger)),
    )


def _holds(value: Fraction, bound: Bounded, measure: Measure, limit: float) -> bool:
    if measure.kind == "gdp":  # compared as squares, exactly
        return bound.value <= Fraction(limit) ** 2
    return value <= Fraction(limit)


def _root(square: Fraction) -> Fraction:
    """√ rounded up to a double."""
    found = math.sqrt(square)
    while Fraction(found) ** 2 < square:
        found = math.nextafter(found, math.inf)
    return Fraction(found)


def _none(found: ReadContributions, measure: Measure) -> str:
    kinds = {step.kind for step, _ in found.account.ledger}
    if measure == EPSILON and "gauss" in kinds:
        return (
            "Gaussian noise has no pure ε: its log-ratio has no bound in the tails. Claim zCDP, "
            "Rényi DP or (ε, δ)-DP instead"
        )
    if any(step.delta for step, _ in found.account.ledger):
        return f"a bound on {measure} needs a δ: something that may happen gives a record away"
    if any(step.q < 1 for step, _ in found.account.ledger):
        return f"samples are accounted for by (ε, δ) alone, not by {measure}"
    return f"no bound on {measure} follows from what the records add"
