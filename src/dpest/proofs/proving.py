"""`prove`: which engine answers, in which unit, and what follows for the claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.declaration import Mechanism, as_mechanism
from dpest.errors import (
    DpestError,
    PathLimitError,
    RefusedError,
    ReplayError,
    UntraceableError,
)
from dpest.evidence import Measure
from dpest.inputs.adjacency import Adjacency
from dpest.inputs.domains import ANY, Form
from dpest.program.any_length import ELEMENT, LISTS
from dpest.program.loops import Graph, graph
from dpest.program.merging import Model, build
from dpest.program.roots import Exponential
from dpest.program.unit import NO_VALUE, Unit
from dpest.proofs import certificates, composition, conformance, finite, gaussian, lower_bounds
from dpest.proofs.adjacency_faces import faces, relevant, whole_data
from dpest.proofs.alignment import plan
from dpest.proofs.conformance import place_of
from dpest.proofs.linear_program import InexactError, InfeasibleError
from dpest.proofs.potentials import Phase, automata, potential
from dpest.proofs.proof import FinitePair, Lower, Proof
from dpest.proofs.question import (
    Question,
    asked,
    bare,
    certified,
    checked_rates,
    concluded,
    has_integral,
    head_of,
    notes_of,
    place_of_error,
    rays_hold,
    unknown,
    with_claim,
)
from dpest.proofs.regions_of_release import Rates, rates, regions
from dpest.proofs.selection import selection

_MOST_REGIONS = 150
_MOST_INPUTS = 64
_MOST_NODES = 3_000
_BUILDING = 8.0  # seconds; a length with more states than that needs the loop graph
_SMALL = (1, 2, 3, 5)
_SHORT = 10


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
) -> Proof:
    """The least ε that is provable for all neighbouring inputs.

    For `length=ANY` the mechanism must pass over its data once (or take an argmax of it); where it
    doesn't, the proof says why and, if `fallback_length` (or the length of the domain) is known, is
    about that length. ε is a multiple of the parameter `unit` (by default the one that the claim
    names, or eps, or epsilon), for every positive value of it; where the mechanism's scales are
    not multiples of it, an absolute number for the parameters' values.

    `form` is what the function takes (by default what the domain says): a list, an array, or one
    number. Never issued before the untouched function has agreed with the model on random inputs.
    """
    started = time.perf_counter()
    question = asked(mechanism, adjacency, length, params, unit, domain, claim, form)
    proof = answer(question, fallback_length)
    return replace(proof, seconds=time.perf_counter() - started)


def answer(question: Question, fallback: int | None = None) -> Proof:
    """Try the unit, then its value; every length, then a known one."""
    attempts = [question]
    if question.unit is not None:
        value = question.mechanism.all_params[question.unit]
        note = f"the bound is for {question.unit} = {value} alone"
        attempts.append(replace(question, unit=None, notes=(note,)))
    first: DpestError | None = None
    for attempt in attempts:
        before = Unit.exponential
        Unit.exponential = Exponential
        try:
            return _at_lengths(attempt, fallback)
        except ReplayError as error:
            return unknown(question, str(error))
        except DpestError as error:
            if first is None or NO_VALUE in str(first):
                first = error  # what is wrong apart from eps having no value
        finally:
            Unit.exponential = before
    assert first is not None
    return unknown(question, str(first))


def _enumerated(question: Question, inputs: list[Any]) -> finite.FiniteBound | None:
    target = question.mechanism
    if question.unit is None:
        try:
            return finite.independent(target, inputs, question.adjacency.holds)
        except Exception:  # another kind of output; the enumeration says what it is
            pass
    try:
        return finite.bound(
            target.function, target.all_params, question.unit, inputs, question.adjacency.holds
        )
    except (DpestError, TypeError, AttributeError, ValueError, IndexError, KeyError):
        return None


def _finite(question: Question) -> Proof | None:
    """Exact enumeration, where the domain is small and every draw has finitely many outcomes."""
    domain = question.domain
    size = getattr(domain, "size", None)
    if size is None or size > _MOST_INPUTS or type(domain).__name__ not in ("Finite", "Integers"):
        return None
    inputs = [domain.as_input(x) for x in domain.enumerate()]
    found = _enumerated(question, inputs)
    if found is None:
        return None
    epsilon = None
    if found.power is not None:
        epsilon = Fraction(found.power, found.denominator)
    table = certificates.table(
        question.mechanism.function,
        question.mechanism.name,
        {k: v for k, v in question.mechanism.all_params.items() if k != question.unit},
        question.adjacency,
        question.unit,
        epsilon,
        inputs,
        found,
    )
    from dpest.proofs import finite_checker

    try:
        finite_checker.check(table)
    except finite_checker.Invalid as error:
        raise RefusedError(f"the checker did not accept the certificate ({error})") from None
    certificate = certificates.sealed(table)
    claimed = question.claimed()
    status: Any = "exact" if found.attained else "upper bound"
    pure = type(question.claim).__name__ == "PureDP"
    lower = None
    if found.factor is not None:
        value = math.log(found.factor)
        if pure and claimed is not None and value > float(claimed) * (1 + 1e-12):
            status = "refuted"
    elif pure and claimed is not None and found.attained and epsilon is not None:
        status = "refuted" if epsilon > claimed else status
    if status == "refuted" or found.factor is not None:
        worth: Any = epsilon if epsilon is not None else math.log(found.factor or 1)
        text = f"{found.output} on {found.pair[0]!r} against {found.pair[1]!r}"
        lower = Lower(worth, 1, FinitePair(found.pair[0], found.pair[1], text))
    return replace(
        bare(question, getattr(domain, "length", 1)),
        status=status,
        bound=epsilon,
        exponential=found.factor,
        method="enumeration",
        lower=lower,
        certificate=certificate,
        notes=question.notes,
        words=("finite", found),
    )


def _at_lengths(question: Question, fallback: int | None) -> Proof:
    if question.length is ANY or question.length == getattr(question.domain, "length", None):
        small = _finite(question)
        if small is not None:
            return small
    if question.adjacency.name == "add_remove_one":
        return _every_length(question)
    if question.length is not ANY:
        try:
            proof = _with_either_input(question, lambda q: _fixed(q, question.length))
        except (RefusedError, UntraceableError, PathLimitError) as error:
            return _from_every(question, error)
        return _better(question, proof) if proof.status == "upper bound" else proof
    try:
        return _every_length(question)
    except (RefusedError, UntraceableError, PathLimitError) as error:
        composed = _composed(question)
        if composed is not None:
            return composed
        length = fallback or getattr(question.domain, "length", None)
        if not isinstance(length, int):
            raise
        note = f"not for every length: {error}"
        about = replace(question, length=length, notes=(*question.notes, note))
        return _with_either_input(about, lambda q: _fixed(q, length))


def _composed(question: Question) -> Proof | None:
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
        return _without_bound(question) if question.length is ANY else None
    try:
        found = composition.compose(
            question.mechanism, proofs, adjacency=question.adjacency, unit=question.unit
        )
    except DpestError:
        return None
    found = replace(
        found, claim=question.claim, claimed=question.claimed() if found.rho is None else None
    )
    if found.rho is not None:
        return with_claim(question, found)
    lower = _small_lower(question, found.bound or 0, (2, 3)) if question.length is ANY else None
    return concluded(question, replace(found, lower=lower))


def _from_every(question: Question, error: DpestError) -> Proof:
    """What has no proof at its length may have one for every length."""
    try:
        every = _every_length(replace(question, length=ANY))
    except DpestError:
        raise error from None
    if every.bound is None:
        raise error
    lower = every.lower
    if lower is not None and lower.length != question.length:
        lower = None
    note = "the bound is that for every length"
    found = replace(every, length=question.length, lower=lower, notes=(*every.notes, note))
    return concluded(question, found)


def _better(question: Question, proof: Proof) -> Proof:
    """A bound for every length holds for this one too, and its rules may be stronger."""
    try:
        every = _every_length(replace(question, length=ANY))
    except DpestError:
        return proof
    if every.bound is None or proof.bound is None or every.bound >= proof.bound:
        return proof
    note = "the bound is that for every length"
    joined = replace(every, length=question.length, lower=proof.lower, notes=(*every.notes, note))
    return concluded(question, joined)


def _with_either_input(question: Question, ask: Callable[[Question], Proof]) -> Proof:
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


# ---- every length


def _graph(question: Question, length: int | None = None) -> Graph:
    return graph(
        question.mechanism.function,
        question.argument,
        question.variables(),
        question.world,
        length,
        question.element,
    )


def _every_length(question: Question) -> Proof:
    try:
        found = _graph(question)
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
        _refuse_pure(question)
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
        return _every_length(replace(question, form="array"))  # it asks an array's questions
    if squares:
        return _squares(question, found, rated)
    if found.selections or found.gaps:
        return _selected(question, found, rated)
    return _potentials(question, found, rated, ANY)


def _squares(question: Question, found: Graph, rated: Rates) -> Proof:
    """zCDP for every length: where one datum moves, its shifts cost Σ rate·s² whatever comes."""
    power = gaussian.variances(found.noises, rated.draws)
    if found.selections or found.gaps:
        raise RefusedError(
            "an argmax with Gaussian noise over data of any length: a maximum over its releases "
            "is no bound on a Rényi divergence. Give a length instead of ANY"
        )
    (phases,) = _phases(question, found, rated)[:1]
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
        claimed=_claimed_rho(question, power),
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


def _potentials(question: Question, found: Graph, rated: Rates, length: Any) -> Proof:
    components = []
    free: list[Any] | None = [] if not any(e.blocks for e in found.edges) else None
    rays = rays_hold(question, rated.draws, free)
    try:
        for phases in _phases(question, found, rated):
            components.append(potential(found, rated.draws, phases))
    except (InfeasibleError, InexactError):
        if length is ANY:
            return _without_bound(question)
        return _some_run(question, found, rated, length, rays)
    place = max(range(len(components)), key=lambda i: components[i].epsilon)
    worst = components[place]
    lower = None
    if rays:
        box = _box(question, place)
        exact_length = None if length is ANY else length
        if length is not ANY:
            lower = _lower_of_every(question, length, box)
        if lower is None or lower.value < worst.epsilon:
            other = lower_bounds.from_potential(found, rated.draws, worst, box, exact_length)
            if other is not None and (lower is None or other.value > lower.value):
                lower = other
    if length is ANY:
        lower = _shorter(question, lower, place)
    head = head_of(question, "loop", worst.epsilon, length, found.noises, rated.draws, found.world)
    certificate = certified(lambda: certificates.loop(head, found, components))
    return concluded(
        question,
        replace(
            bare(question, length),
            bound=worst.epsilon,
            method="potentials",
            lower=lower,
            certificate=certificate,
            notes=notes_of(question, rated.draws, found.world),
            words=("loop", found, components, rated),
        ),
    )


def _phases(question: Question, found: Graph, rated: Rates) -> list[list[Phase]]:
    whole = question.integer_data(has_integral(rated.draws))
    return automata(question.adjacency, found, question.domain, rated.draws, whole)


def _shorter(question: Question, lower: Lower | None, place: int) -> Lower | None:
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


def _lower_unrolled(question: Question, length: int, place: int) -> Lower | None:
    """The worst run of the loop, unrolled for this length."""
    try:
        found = _graph(question, length)
        draws = checked_rates(question, found.noises).draws
        phases = automata(question.adjacency, found, question.domain, draws, question.integers)[
            place
        ]
        worst = potential(found, draws, phases)
    except (DpestError, InfeasibleError, InexactError):
        return None
    return lower_bounds.from_potential(found, draws, worst, _box(question, place), length)


def _box(question: Question, component: int) -> tuple[Fraction, Fraction] | None:
    """Where each datum may move, if all of them may at once."""
    if question.adjacency.name in ("l1", "replace_one"):
        return None
    return faces(question.adjacency, [ELEMENT], {}, question.domain)[component][0][ELEMENT]


def _lower_of_every(question: Question, length: int, box: Any) -> Lower | None:
    """The worst run of the loop that is not unrolled, on data of this length."""
    try:
        found = _graph(question)
        rated = checked_rates(question, found.noises)
        parts = [
            potential(found, rated.draws, phases) for phases in _phases(question, found, rated)
        ]
    except (DpestError, InfeasibleError, InexactError):
        return None
    worst = max(parts, key=lambda p: p.epsilon)
    return lower_bounds.from_potential(found, rated.draws, worst, box, length)


def _some_run(question: Question, found: Graph, rated: Rates, length: int, rays: bool) -> Proof:
    """No budget suffices for the unrolled loop; some runs may show why."""
    lower = None
    claimed = question.claimed()
    if rays:
        enough = math.inf if claimed is None else float(claimed) + 1e-9
        lower = lower_bounds.from_paths(found, rated.draws, _box(question, 0), length, enough)
    reason = "no budget for the unrolled loop was found"
    return concluded(
        question, replace(bare(question, length), reason=reason, lower=lower, notes=question.notes)
    )


def _selected(question: Question, found: Graph, rated: Rates) -> Proof:
    chosen = selection(found, rated.draws, question.adjacency, question.domain)
    if chosen.plan.cost is None:
        return _without_bound(question)
    epsilon = chosen.plan.cost
    head = head_of(question, "selection", epsilon, ANY, found.noises, rated.draws, found.world)
    certificate = certified(lambda: certificates.selection(head, chosen))
    lower = _small_lower(question, epsilon, (2, 3))
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


def _small_lower(
    question: Question, enough: Fraction | float, lengths: tuple[int, ...]
) -> Lower | None:
    """The best lower bound at a few small lengths; a bound for every length is at least that."""
    best: Lower | None = None
    for length in lengths:
        try:
            proof = _with_either_input(
                replace(question, length=length), lambda q: _fixed(q, length)
            )
        except DpestError:
            continue
        if proof.lower is not None and (best is None or proof.lower.value > best.value):
            best = proof.lower
        if best is not None and best.value >= enough:
            break
    return best


def _without_bound(question: Question) -> Proof:
    """No bound holds for every length, as far as the rules go: what do small lengths say?"""
    claimed = question.claimed()
    enough: Any = math.inf if claimed is None else claimed + Fraction(1, 10**9)
    lower = _small_lower(question, enough, (*_SMALL, 8))
    reason = "no finite bound for every length was found"
    if lower is not None:
        reason += f"; at n = {lower.length} ε is at least {lower.value}"
        reason += f"·{question.unit}" if question.unit else ""
    return concluded(
        question,
        replace(bare(question, ANY), reason=reason, lower=lower, notes=question.notes),
    )


# ---- one length


def _fixed(question: Question, length: int) -> Proof:
    try:
        model = _model(question, length)
    except PathLimitError as error:
        return _unrolled(question, length, error)
    if len(model.leaves) > _MOST_REGIONS:
        many = PathLimitError(f"{len(model.leaves)} regions", "Use a smaller length", None)
        try:
            return _unrolled(question, length, many)
        except (RefusedError, PathLimitError):
            return _by_samples(question, model, length)
    if any(n.shift_cost.kind == "square" for n in model.noises.values()):
        return _gaussian(question, model, length)
    rated = checked_rates(question, model.noises)
    where = place_of(question.mechanism.function)
    integers = question.integer_data(has_integral(rated.draws))
    conformance.check_model(
        question.run, model, question.inputs(length), integers=integers, where=where
    )
    found = regions(model, rated.draws)
    inputs = question.inputs(length)
    used = {s for r in found for s in r.problem.data_symbols()}
    groups = relevant(faces(question.adjacency, inputs, model.world.derived, question.domain), used)
    whole = whole_data(
        inputs, model.world.derived, question.integer_data(has_integral(rated.draws))
    )
    planned = plan([replace(r.problem, whole=whole) for r in found], groups)
    derived = {s: rule for s, rule in model.world.derived.items() if s in used}
    lower = None
    if rays_hold(question, rated.draws, found):
        lower = lower_bounds.from_regions(found, planned.alignments, planned.stuck, inputs, derived)
    certificate = None
    if planned.cost is not None:
        head = head_of(
            question, "cells", planned.cost, length, model.noises, rated.draws, model.world
        )
        certificate = certified(lambda: certificates.cells(head, model, found, planned.alignments))
    reason = ""
    if planned.cost is None:
        reason = "no shift of the noise that is affine in the difference keeps a release"
        if has_integral(rated.draws):
            reason += ". Integer noise moves by whole steps: what it is added to must do so, too"
        if has_integral(rated.draws) and not whole.issuperset(used):
            reason += "; say that the data are integers (domain=dpest.integers()) if they are"
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


def _refuse_pure(question: Question) -> None:
    if type(question.claim).__name__ == "PureDP":
        raise RefusedError(
            "Gaussian noise has no pure ε: its log-ratio has no bound in the tails. Claim zCDP, "
            "Rényi DP or (ε, δ)-DP instead"
        )


def _claimed_rho(question: Question, power: int) -> Fraction | None:
    named = type(question.claim).__name__ == "ZCDP"
    return question.claimed() if named and (power == 1 or question.unit is None) else None


def _gaussian(question: Question, model: Model, length: int) -> Proof:
    """zCDP by one shift for all releases; Rényi and (ε, δ) bounds follow from it."""
    _refuse_pure(question)
    draws = rates(model.noises).draws
    power = gaussian.variances(model.noises, draws)
    where = place_of(question.mechanism.function)
    integers = question.integer_data(has_integral(draws))
    conformance.check_model(
        question.run, model, question.inputs(length), integers=integers, where=where
    )
    found = regions(model, draws)
    inputs = question.inputs(length)
    groups = faces(question.adjacency, inputs, model.world.derived, question.domain)
    shift = gaussian.common_shift(found, draws, groups)
    if has_integral(draws):
        gaussian.check_steps(shift, draws, whole_data(inputs, model.world.derived, integers))
    head = head_of(question, "square", shift.rho, length, model.noises, draws, model.world)
    head["power"] = power
    certificate = certified(lambda: certificates.square(head, model, found, shift.slopes))
    claimed = _claimed_rho(question, power)
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


def _by_samples(question: Question, model: Model, length: int) -> Proof:
    """Too many regions for a proof: the worst of some of them still gives a lower bound."""
    rated = checked_rates(question, model.noises)
    where = place_of(question.mechanism.function)
    conformance.check_model(
        question.run, model, question.inputs(length), integers=question.integers, where=where
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


def _model(question: Question, length: int) -> Model:
    from dpest.program.symbolic_arrays import symbolic_array

    variables = question.variables()
    variables[question.argument] = question.given(question.symbols(length), symbolic_array)
    return build(
        question.mechanism.function,
        variables,
        question.world,
        replacements=LISTS,
        nodes=_MOST_NODES,
        seconds=_BUILDING,
    )


def _unrolled(question: Question, length: int, error: PathLimitError) -> Proof:
    """Too many regions: the loop graph, unrolled, if the mechanism passes once over its data."""
    try:
        found = _graph(question, length)
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
    )
    return _potentials(question, found, rated, length)


__all__ = ["Proof", "Question", "prove"]
