"""From what a person types to a question that the engines can answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpest.ask.adjacency import Adjacency, linf, parse_adjacency
from dpest.ask.arguments import check_length, check_size
from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.ask.domains import Domain, reals
from dpest.ask.input_form import with_form
from dpest.ask.stated import StatedQuestion
from dpest.errors import DomainError, InputError
from dpest.evidence import EPSILON, Measure
from dpest.notions.claims import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    PureDP,
    RenyiDP,
    as_claim,
)

DEFAULT_LENGTH = 5


@dataclass(frozen=True)
class Question:
    """What is asked, with all that was not said filled in: made once, read by every engine."""

    mechanism: Mechanism
    adjacency: Adjacency
    domain: Domain
    length: int
    claim: Claim | None
    measure: Measure
    limit: float | None
    unit: str | None
    notes: tuple[str, ...] = ()
    domain_assumed: bool = False
    """Whether nobody said what the data are: then they may turn out to be integers."""
    length_assumed: bool = False
    """Whether nobody said how long they are."""

    @property
    def declared_domain(self) -> Domain | None:
        """The domain, if somebody said what the data are."""
        return None if self.domain_assumed else self.domain

    @property
    def every_length(self) -> bool:
        """Is the question about data of every length? `length` is then where pairs are looked for.

        Where nobody said anything about the data, it is about the length that was assumed.
        """
        return self.length_assumed and not self.domain_assumed

    def stated(self) -> StatedQuestion:
        """In words."""
        return StatedQuestion(
            mechanism=self.mechanism.name,
            parameters=self.mechanism.all_params,
            adjacency=self.adjacency.describe(),
            domain=self.domain.describe(),
            length=self.length,
            claim=str(self.claim) if self.claim is not None else None,
            measure=self.measure,
            limit=self.limit,
        )


def resolve(
    target: Callable[..., Any] | Mechanism,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Claim | str | None = None,
    adjacency: Adjacency | str | None = None,
    domain: Domain | str | None = None,
    length: int | None = None,
    params: Mapping[str, Any] | None = None,
    unit: str | None = None,
    find_form: bool = True,
) -> Question:
    """Fill in what was not said from the mechanism's own declaration, and say what was assumed.

    `find_form`: call the function to see whether it takes a list, an array or a number.
    """
    mechanism = as_mechanism(target).with_params(params)
    notes: list[str] = []
    stated = _claim(mechanism, epsilon, delta, claim)
    resolved_claim = stated.resolve(mechanism.all_params) if stated is not None else None
    measure, limit = measured(resolved_claim)

    rule = parse_adjacency(adjacency) if isinstance(adjacency, str) else adjacency
    rule = rule if rule is not None else mechanism.adjacency
    if rule is None:
        rule = linf(1)
        notes.append(
            "no adjacency was given: assumed that every entry may move by at most 1 (linf)"
        )
    if length is not None:
        check_length(length)
    inputs = parse_domain(domain) if isinstance(domain, str) else domain
    inputs = inputs if inputs is not None else mechanism.domain
    assumed = inputs is None
    if inputs is None:
        n = length if length is not None else DEFAULT_LENGTH
        inputs = reals(n)
        if length is None:
            notes.append(f"no length was given: assumed vectors of {n} real numbers")
    elif length is not None:
        inputs = inputs.with_length(length)
    free_length = length is None and (assumed or not isinstance(inputs.length, int))
    n = inputs.default_length(DEFAULT_LENGTH)
    check_size(n)
    if find_form:
        said = length is not None or not assumed
        inputs, note = with_form(mechanism, rule, inputs, n, said=said)
        if note is not None:
            n = inputs.default_length(n)
            notes = [*([] if inputs.form == "number" else notes), note]
    return Question(
        mechanism=mechanism,
        adjacency=rule,
        domain=inputs,
        length=n,
        claim=resolved_claim,
        measure=measure,
        limit=limit,
        unit=unit or privacy_unit(mechanism, stated),
        notes=tuple(notes),
        domain_assumed=assumed,
        length_assumed=free_length and getattr(inputs, "form", "list") != "number",
    )


def _claim(
    mechanism: Mechanism, epsilon: float | None, delta: float | None, claim: Claim | str | None
) -> Claim | None:
    if claim is not None and (epsilon is not None or delta is not None):
        raise InputError("give either a claim or epsilon and delta, not both")
    if claim is not None:
        return as_claim(claim)
    if epsilon is not None:
        return PureDP(epsilon) if not delta else ApproxDP(epsilon, delta)
    if delta is not None:
        if isinstance(mechanism.claim, (PureDP, ApproxDP)):
            return ApproxDP(mechanism.claim.epsilon, delta)
        raise DomainError("delta was given without epsilon; give both")
    return mechanism.claim


def privacy_unit(mechanism: Mechanism, claim: Claim | None = None) -> str | None:
    """The parameter in whose multiples a proof speaks: named by the claim, or eps, or epsilon."""
    for said in (claim, mechanism.claim):
        if said is not None and said.unit is not None:
            return said.unit
    return next((name for name in ("eps", "epsilon") if name in mechanism.all_params), None)


def measured(claim: Claim | None) -> tuple[Measure, float | None]:
    """The measure that a claim bounds, and the bound."""
    if claim is None:
        return EPSILON, None
    if isinstance(claim, PureDP):
        return EPSILON, float(claim.epsilon)
    if isinstance(claim, ApproxDP):
        return Measure("epsilon", delta=float(claim.delta)), float(claim.epsilon)
    if isinstance(claim, RenyiDP):
        return Measure("renyi", alpha=float(claim.alpha)), float(claim.rho)
    if isinstance(claim, ZCDP):
        return Measure("zcdp"), float(claim.rho)
    if isinstance(claim, GaussianDP):
        return Measure("gdp"), float(claim.mu)
    raise DomainError(f"an audit can't test the claim {claim}: use pure, (ε,δ), Rényi, zCDP or GDP")
