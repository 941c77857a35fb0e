"""What is to be proved, with all defaults filled in, and what follows from what was found."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest import kernel
from dpest.ask.adjacency import Adjacency, parse_adjacency
from dpest.ask.declaration import Mechanism, as_mechanism, data_parameter, other_parameters
from dpest.ask.domain_text import parse_domain
from dpest.ask.domains import ANY, Finite, Form, Integers, Reals
from dpest.ask.questions import Question
from dpest.errors import DpestError, InputError, RefusedError
from dpest.evidence import EPSILON
from dpest.geometry.linear import Form as Linear
from dpest.geometry.linear import Symbol, rational
from dpest.notions.claims import Claim, PureDP, as_claim
from dpest.proofs import certificates
from dpest.proofs.alignments.adjacency_faces import entry_ranges, radius_of
from dpest.proofs.alignments.alignment import AlignedNoise
from dpest.proofs.alignments.regions_of_release import Rates, rates
from dpest.proofs.conformance import call
from dpest.proofs.proof import Proof
from dpest.reading.cases.records import SymbolicRecord
from dpest.reading.domains.numbers import NUMBER, Real
from dpest.reading.domains.unit import Unit
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.reading.world import ELEMENT, World, fields_of

INTEGER_DATA = "the data are taken to be integers, as the noise is"


@dataclass(frozen=True)
class ProofGoal:
    """What is to be proved: a question about data of one length, or of every length."""

    mechanism: Mechanism
    adjacency: Adjacency
    length: Any
    unit: str | None
    domain: Any
    claim: Any
    notes: tuple[str, ...] = ()
    form: Form = "list"
    filled: tuple[str, ...] = ()
    """Parameters that nobody gave a value: a proof must then be for every value of them."""

    def world(self) -> World:
        """A fresh reading, of private data."""
        found = World(private=True)
        if self.unit is not None:
            found.eps = self.mechanism.all_params.get(self.unit)
        return found

    @property
    def argument(self) -> str:
        return data_parameter(self.mechanism.function)

    @property
    def rng(self) -> str:
        return "rng"

    def variables(self) -> dict[str, Any]:
        """The function's parameters, the unit as a symbol."""
        found = dict(self.mechanism.all_params)
        if self.unit is not None:
            found[self.unit] = Unit()
        return found

    def run(self, x: Any, rng: Any) -> Any:
        """The untouched function on plain numbers; `rng` has the methods of a generator."""
        import numpy as np

        given = self.given(x, np.array)
        if isinstance(rng, np.random.Generator):
            return call(self.mechanism, given, rng)
        with self._stand_ins.drawing(rng) as generator:
            return call(self.mechanism, given, generator)

    @functools.cached_property
    def _stand_ins(self) -> StandIns:
        """Whatever the function could draw from: libraries take NumPy's own generators alone."""
        return StandIns(ScriptStage(), self.mechanism.function)

    def given(self, data: Any, array: Callable[[Any], Any]) -> Any:
        """A list of numbers or of symbols in the form that the function takes."""
        if self.fields:
            return self.as_records(data)
        if self.form == "number":
            return data[0]
        return array(data) if self.form == "array" else data

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the records that the data are; none where they are numbers."""
        return tuple(name for name, _, _ in getattr(self.domain, "fields", ()))

    def as_records(self, values: Sequence[Any]) -> list[dict[str, Any]]:
        names = self.fields
        rows = range(0, len(values), len(names))
        return [dict(zip(names, values[i : i + len(names)], strict=True)) for i in rows]

    def inputs(self, length: int) -> list[Symbol]:
        """The symbols of the data, entry by entry, field by field."""
        return [s for j in range(length) for s in fields_of(f"q{j}", len(self.fields))]

    def symbols(self, length: int) -> list[Real]:
        return [Real(Linear.of(s), NUMBER) for s in self.inputs(length)]

    def data(self, length: int) -> Any:
        """The data as symbols, in the shape in which the function takes them."""
        import numpy as np

        def array(values: Sequence[Any]) -> Any:
            found = np.empty(len(values), dtype=object)
            for i, value in enumerate(values):
                found[i] = value
            return found

        return self.given(self.symbols(length), array)

    @property
    def entry(self) -> list[Symbol]:
        """The symbols of one entry of data of any length."""
        return fields_of(ELEMENT.name, len(self.fields))

    @property
    def element(self) -> Any:
        """What data of any length hold many of: a number, or a record."""
        values = [Real(Linear.of(s), NUMBER) for s in self.entry]
        return self.as_records(values)[0] if self.fields else values[0]

    @property
    def record(self) -> SymbolicRecord:
        """What one record may be."""
        comes = self.adjacency.changes_length
        # Otherwise a radius bounds how far an entry moves, not what it is.
        adjacency = self.adjacency if comes else replace(self.adjacency, radius=None)
        ranges = entry_ranges(adjacency, self.domain)
        names = self.fields
        return SymbolicRecord(
            tuple(self.entry),
            tuple(ranges),
            self.integers,
            comes,
            (lambda v: dict(zip(names, v, strict=True))) if names else (lambda v: v[0]),
            self.form == "array",
        )

    @property
    def integers(self) -> bool:
        """Whether the domain says that all data are whole numbers."""
        if isinstance(self.domain, Finite):
            return all(_is_whole(x) for x in self.domain.values)
        return isinstance(self.domain, Integers)

    def integer_data(self, integer_noise: bool) -> bool:
        """Whether a proof takes the data as integers: where nothing is said, as the noise is."""
        return self.integers or (integer_noise and self.domain is None)

    def claimed(self) -> Fraction | None:
        """The claim's ε in units of the unit."""
        if self.claim is None or not hasattr(self.claim, "multiple"):
            return None
        if self.unit is not None:
            others = {k: v for k, v in self.mechanism.all_params.items() if k != self.unit}
            found = self.claim.multiple(self.unit, others)
            if found is not None:
                return Fraction(found)
            return None
        try:
            return rational(self.claim.resolve(self.mechanism.all_params).value)
        except (DpestError, TypeError, ValueError):
            return None


def _is_whole(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(_is_whole, x))
    return isinstance(x, (int, float)) and float(x).is_integer()


def goal_of(question: Question, length: Any, claim: Any = None) -> ProofGoal:
    """A question as a goal for one length, or for ANY; nothing in it is resolved again.

    Without a `claim` it is the mechanism's own that the goal speaks of, in units of its parameter.
    """
    said = as_claim(claim) if claim is not None else question.mechanism.claim
    target, filled = _with_unit(question.mechanism, question.unit, said)
    return _goal(
        target,
        question.adjacency,
        length,
        question.unit or _unit_of(target, said),
        question.declared_domain,
        said,
        question.domain.form,
        filled,
    )


def asked(
    mechanism: Any,
    adjacency: Any,
    length: Any,
    params: Mapping[str, Any] | None,
    unit: str | None,
    domain: Any,
    claim: Any,
    form: Form | None = None,
) -> ProofGoal:
    """A goal from its parts, as they are in a certificate or in a call of `prove`."""
    target = as_mechanism(mechanism).with_params(params)
    found = adjacency if adjacency is not None else target.adjacency
    if found is None:
        raise InputError("a proof needs an adjacency: adjacency=dpest.linf(1), l1(1), monotone(1)…")
    if length is not ANY and (
        isinstance(length, bool) or not isinstance(length, int) or length < 1
    ):
        raise InputError(f"a length is ANY or a positive integer: {length=}")
    said = as_claim(claim) if claim is not None else target.claim
    target, filled = _with_unit(target, unit, said)
    inputs = parse_domain(domain) if domain is not None else target.domain
    taken: Form = form if form is not None else getattr(inputs, "form", "list")
    rule = parse_adjacency(found)
    return _goal(target, rule, length, unit or _unit_of(target, said), inputs, said, taken, filled)


def _with_unit(
    target: Mechanism, unit: str | None, claim: Claim | None
) -> tuple[Mechanism, tuple[str, ...]]:
    """The mechanism with a value for the unit, if nobody gave one, and the names of such.

    The proof is for every value of the unit; the runs that test the model need one.
    """
    filled: list[str] = []
    for needed, parameter in other_parameters(target.function).items():
        named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if not named or needed == "rng" or needed in target.all_params:
            continue
        if needed == "size" and parameter.default is not parameter.empty:
            continue  # with how many runs at once some functions are called: not here
        if needed not in (unit, None if claim is None else claim.unit, "eps", "epsilon"):
            raise InputError(
                f"{target.name} needs a value for {needed}: params={{{needed!r}: ...}}"
            )
        filled.append(needed)
    return target.with_params(dict.fromkeys(filled, 1.0)) if filled else target, tuple(filled)


def _unit_of(target: Mechanism, claim: Claim | None) -> str | None:
    names = (None if claim is None else claim.unit, "eps", "epsilon")
    return next((name for name in names if name in target.all_params), None)


def _goal(
    mechanism: Mechanism,
    adjacency: Adjacency,
    length: Any,
    unit: str | None,
    domain: Any,
    claim: Claim | None,
    form: Form,
    filled: tuple[str, ...],
) -> ProofGoal:
    if unit is not None and unit not in mechanism.all_params:
        raise InputError(f"{mechanism.name} has no parameter {unit!r} to be the unit of a proof")
    length = 1 if form == "number" else length
    return ProofGoal(mechanism, adjacency, length, unit, domain, claim, form=form, filled=filled)


def unknown(question: ProofGoal, reason: str, **details: Any) -> Proof:
    return Proof(
        question.mechanism.name,
        question.adjacency,
        question.length,
        question.unit,
        "unknown",
        None,
        "none",
        reason,
        claim=question.claim,
        claimed=question.claimed(),
        notes=question.notes,
        **details,
    )


def place_of_error(error: BaseException) -> str | None:
    from dpest.running.places import is_user_file

    step, where = error.__traceback__, None
    while step is not None:
        if is_user_file(step.tb_frame.f_code.co_filename):
            where = f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        step = step.tb_next
    return where


def checked_rates(question: ProofGoal, noises: Mapping[Symbol, Any]) -> Rates:
    rated = rates(noises)
    if any(d.kind == "square" for d in rated.draws.values()):
        raise RefusedError(
            "Gaussian noise has no pure ε: its log-ratio has no bound in the tails. Claim zCDP, "
            "Rényi DP or (ε, δ)-DP instead"
        )
    if question.unit is not None and rated.power != 1 and any(d.rate for d in rated.draws.values()):
        raise RefusedError(
            f"the scales are not multiples of 1/{question.unit}: the bound is not a multiple of it"
        )
    return rated


def has_integral(draws: Mapping[Symbol, AlignedNoise]) -> bool:
    return any(d.integral for d in draws.values())


def rays_hold(
    question: ProofGoal, draws: Mapping[Symbol, AlignedNoise], found: Iterable[Any] | None = None
) -> bool:
    """Whether the ray argument applies: lower bounds and infinities are sound only then.

    It walks out along λ·d, so that inputs must range over the whole line; or, where no condition
    restricts the noise, along the released reals, which a bounded domain allows too. And it needs
    every noise to have tails to walk into: a uniform draw that can't be shifted makes no release
    impossible (`rng.random() < 0.5 + 0.1 * x`), and lattice noise moves by whole steps.
    """
    if question.adjacency.changes_length:
        return False  # a ray joins inputs of one length
    if not all(d.attained for d in draws.values()):
        return False  # the rates bound the costs, no more
    if has_integral(draws) or any(d.rate == 0 and d.family != "coin" for d in draws.values()):
        return False
    domain = question.domain
    if domain is None:
        return True
    if not isinstance(domain, Reals):
        return False
    radius = question.adjacency.radius
    if radius is not None and question.integers and not float(radius).is_integer():
        return False
    if domain.low == -math.inf and domain.high == math.inf:
        return True
    fits = radius is not None and domain.width >= radius
    return fits and found is not None and not any(r.problem.keep for r in found)


def domain_facts(
    question: ProofGoal, draws: Mapping[Symbol, AlignedNoise], by_cases: bool = False
) -> dict[str, Any]:
    whole = question.integer_data(has_integral(draws))
    facts: dict[str, Any] = {
        "kind": "integers" if whole else "reals",
        "width": certificates.number(radius_of(question.adjacency, question.domain)),
    }
    if by_cases:
        facts["range"] = _numbers(question.record.ranges)
        if question.adjacency.changes_length and question.adjacency.radius is not None:
            unlimited = replace(question.adjacency, radius=None)
            facts["declared"] = _numbers(entry_ranges(unlimited, question.domain))
    elif question.fields:
        facts["range"] = _numbers(entry_ranges(question.adjacency, question.domain))
    if question.form != "list":
        facts["form"] = question.form
    return {**facts, "fields": list(question.fields)} if question.fields else facts


def _numbers(ranges: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
    return [[certificates.number(end) for end in ends] for ends in ranges]


def notes_of(
    question: ProofGoal, draws: Mapping[Symbol, AlignedNoise], world: World
) -> tuple[str, ...]:
    notes = [*question.notes, *world.notes]
    if has_integral(draws) and question.domain is None:
        notes.append(INTEGER_DATA)
    return tuple(notes)


def head_of(
    question: ProofGoal,
    method: str,
    epsilon: Fraction,
    length: Any,
    noises: Mapping[Symbol, Any],
    draws: Mapping[Symbol, AlignedNoise],
    world: World,
) -> dict[str, Any]:
    radius = radius_of(question.adjacency, question.domain)
    return certificates.header(
        certificates.subject(question.mechanism, question.unit, question.adjacency, radius),
        "any" if length is ANY else length,
        epsilon,
        method,
        domain_facts(question, draws, world.cases is not None),
        noises,
        draws,
        world,
    )


def bare(question: ProofGoal, length: Any) -> Proof:
    return Proof(
        question.mechanism.name,
        question.adjacency,
        length,
        question.unit,
        "unknown",
        None,
        "none",
        claim=question.claim,
        claimed=question.claimed(),
    )


def certified(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The certificate, accepted by the kernel; otherwise there is no proof."""
    try:
        certificate = certificates.sealed(make())
        kernel.check(certificate)
    except certificates.UncertifiedError:
        raise RefusedError(
            "a step needs reasoning about integers that the certificate can't show"
        ) from None
    except kernel.Invalid as error:
        raise RefusedError(f"the kernel did not accept the certificate ({error})") from None
    return certificate


def with_claim(question: ProofGoal, proof: Proof) -> Proof:
    """Whether a claim follows from a bound on ρ: by μ of Gaussian DP where that is known."""
    from dpest.notions.claims import ZCDP, GaussianDP, RenyiDP
    from dpest.notions.implication import gdp_of, zcdp_of

    claim = question.claim
    if claim is None or proof.claimed is not None or proof.bound is None:
        return proof
    try:
        said = claim.resolve(question.mechanism.all_params)
        unit = None if proof.unit is None else question.mechanism.all_params[proof.unit]
    except (DpestError, KeyError, TypeError, ValueError):
        return proof
    known = GaussianDP(proof.mu(unit)) if proof.gaussian else ZCDP(proof.value(unit))
    if isinstance(said, ZCDP):
        value, most = zcdp_of(known), said.rho
    elif isinstance(said, GaussianDP):
        value, most = gdp_of(known), said.mu
    elif isinstance(said, RenyiDP):
        value, most = known.renyi_at(float(said.alpha)), said.rho
    elif hasattr(said, "delta"):
        value, most = proof.epsilon_at(said.delta, unit), said.epsilon
    else:
        return proof
    return replace(proof, claim_holds=bool(value <= float(most) * (1 + 1e-12)))


def concluded(question: ProofGoal, proof: Proof) -> Proof:
    lower, claimed = proof.lower, proof.claimed
    pure = proof.measure == EPSILON and (
        question.claim is None or isinstance(question.claim, PureDP)
    )
    if lower is not None and pure and claimed is not None and lower.value > claimed:
        return replace(proof, status="refuted")
    if proof.bound is None:
        if lower is not None and math.isinf(lower.value):
            return replace(proof, status="refuted" if pure else "unknown")
        return replace(proof, status="unknown")
    if lower is not None and lower.value == proof.bound:
        return replace(proof, status="exact")
    return replace(proof, status="upper bound")
