"""Claims and guarantees as values: what is said about a mechanism's privacy.

Every claim speaks of all neighbouring inputs, in both directions. Written beside code, its numbers
may be expressions in the mechanism's parameters (`PureDP("2*eps")`); `resolve` turns them into
numbers. A claim whose numbers are known is a guarantee, and answers with the best bound that
follows from it alone: `delta_at(epsilon)`, `epsilon_at(delta)`, `renyi_at(alpha)`, `tradeoff()`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpest.errors import DomainError
from dpest.notions import domain, expressions
from dpest.notions.domain import Number

if TYPE_CHECKING:
    from dpest.notions.tradeoff import Tradeoff

Value = int | float | Fraction | str

_CHECKS: dict[str, Callable[[Any, str], Number]] = {
    "epsilon": domain.epsilon,
    "delta": domain.probability,
    "alpha": domain.order,
    "rho": domain.non_negative,
    "mu": domain.non_negative,
}


def known(value: Value) -> Number:
    """The number itself; an expression in the parameters has to be resolved first."""
    if isinstance(value, str):
        raise DomainError(f"{value!r} has parameters without values; use resolve(params) first")
    return value


class Claim:
    """What all claims share. `main` names the number that a proof or an audit bounds."""

    main: ClassVar[str | None] = None
    keyword: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, value in self.numbers().items():
            if isinstance(value, str):
                expressions.parse(value)
            else:
                object.__setattr__(self, name, _CHECKS[name](value, name))

    def numbers(self) -> dict[str, Any]:
        """Its numbers by name, as they were given."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name in _CHECKS}  # type: ignore[arg-type]

    @property
    def resolved(self) -> bool:
        """Whether all of its numbers are known."""
        return not any(isinstance(value, str) for value in self.numbers().values())

    def resolve(self, params: Mapping[str, Any]) -> Self:
        """The same claim with numbers in place of expressions in the parameters."""
        known = {
            name: expressions.evaluate(value, params)
            for name, value in self.numbers().items()
            if isinstance(value, str)
        }
        return replace(self, **known) if known else self  # type: ignore[type-var]

    @property
    def value(self) -> Any:
        """The claim's main number (or the expression that stands for it)."""
        return getattr(self, self.main) if self.main else None

    @property
    def unit(self) -> str | None:
        """The one parameter that the main number mentions, if it mentions exactly one."""
        if not isinstance(self.value, str):
            return None
        mentioned = expressions.names(self.value)
        return next(iter(mentioned)) if len(mentioned) == 1 else None

    def multiple(self, unit: str, params: Mapping[str, Any] | None = None) -> Fraction | None:
        """The k with main number = k·unit, or None. `params` may give other names exact values."""
        if isinstance(self.value, str):
            return expressions.multiple(self.value, unit, params)
        return Fraction(0) if self.value == 0 else None

    def _known(self) -> None:
        if not self.resolved:
            raise DomainError(f"{self!r} has parameters without values; use resolve(params) first")

    def delta_at(self, epsilon: Number) -> float:
        """The least δ for which (epsilon, δ)-DP follows from this guarantee."""
        from dpest.notions import conversions

        self._known()
        return conversions.delta_of(self, epsilon)

    def epsilon_at(self, delta: Number) -> float:
        """The least ε for which (ε, delta)-DP follows from this guarantee; may be infinite."""
        from dpest.notions import conversions

        self._known()
        return conversions.epsilon_of(self, delta)

    def renyi_at(self, alpha: Number) -> float:
        """The least ρ for which (alpha, ρ)-Rényi DP follows from this guarantee."""
        from dpest.notions import conversions

        self._known()
        return conversions.renyi_of(self, alpha)

    def tradeoff(self) -> Tradeoff:
        """The greatest trade-off function f for which f-DP follows from this guarantee."""
        from dpest.notions import conversions

        self._known()
        return conversions.tradeoff_of(self)

    def implies(self, other: Claim) -> bool:
        """Whether `other` follows from this claim; see `dpest.notions.implication.implies`."""
        from dpest.notions.implication import implies

        return implies(self, other)


def show(value: Any) -> str:
    """A number as people write it; expressions stay as they are."""
    if isinstance(value, float):
        return "∞" if value == math.inf else f"{value:.10g}"
    return str(value)


@dataclass(frozen=True)
class PureDP(Claim):
    """ε-differential privacy: P(S) ≤ e^ε Q(S) for every event S."""

    epsilon: Value
    main: ClassVar[str | None] = "epsilon"
    keyword: ClassVar[str] = "pure"

    def __str__(self) -> str:
        return f"{show(self.epsilon)}-DP"


@dataclass(frozen=True)
class ApproxDP(Claim):
    """(ε, δ)-differential privacy: P(S) ≤ e^ε Q(S) + δ for every event S."""

    epsilon: Value
    delta: Value
    main: ClassVar[str | None] = "epsilon"
    keyword: ClassVar[str] = "approx"

    def __str__(self) -> str:
        return f"({show(self.epsilon)}, {show(self.delta)})-DP"


@dataclass(frozen=True)
class RenyiDP(Claim):
    """(α, ρ)-Rényi differential privacy: D^α(P‖Q) ≤ ρ."""

    alpha: Value
    rho: Value
    main: ClassVar[str | None] = "rho"
    keyword: ClassVar[str] = "renyi"

    def __str__(self) -> str:
        return f"({show(self.alpha)}, {show(self.rho)})-Rényi DP"


@dataclass(frozen=True)
class ZCDP(Claim):
    """ρ-zero-concentrated differential privacy: D^α(P‖Q) ≤ ρ·α for every α > 1."""

    rho: Value
    main: ClassVar[str | None] = "rho"
    keyword: ClassVar[str] = "zcdp"

    def __str__(self) -> str:
        return f"{show(self.rho)}-zCDP"


@dataclass(frozen=True)
class GaussianDP(Claim):
    """μ-Gaussian differential privacy: at least as hard to tell apart as N(0,1) and N(μ,1)."""

    mu: Value
    main: ClassVar[str | None] = "mu"
    keyword: ClassVar[str] = "gdp"

    def __str__(self) -> str:
        return f"{show(self.mu)}-GDP"


@dataclass(frozen=True)
class TradeoffDP(Claim):
    """f-differential privacy: every test of level x errs the other way at least f(x) often.

    `f` is a trade-off function: convex, non-increasing on [0, 1], with f(x) ≤ 1 − x. A plain
    callable is taken at its word that it is one; use `dpest.notions.tradeoff` for the known ones.
    """

    f: Callable[[Any], Any]
    keyword: ClassVar[str] = "tradeoff"

    def __str__(self) -> str:
        return f"f-DP with f = {getattr(self.f, '__name__', self.f)}"


@dataclass(frozen=True)
class PrivacyProfile(Claim):
    """(ε, δ(ε))-differential privacy for every ε ≥ 0; `delta_of_epsilon` is that function."""

    delta_of_epsilon: Callable[[Any], Any]
    keyword: ClassVar[str] = "profile"

    @classmethod
    def of(cls, *losses: Any) -> PrivacyProfile:
        """The profile of anything with `.delta(eps)`: the largest δ of those given.

        Pass both directions of a pair if its `delta` looks at one direction only.
        """
        return cls(lambda epsilon: max(float(loss.delta(epsilon)) for loss in losses))

    def __str__(self) -> str:
        return f"(ε, δ(ε))-DP with δ(0) = {show(float(self.delta_of_epsilon(0.0)))}"


@dataclass(frozen=True)
class RenyiCurve(Claim):
    """(α, ρ(α))-Rényi DP for many orders.

    `rho_of_alpha` is a function on (1, ∞), or a mapping from known orders to their ρ. Between known
    orders, (α−1)·D^α is convex in α and D^α does not decrease: both bound the curve soundly.
    """

    rho_of_alpha: Callable[[float], float] | Mapping[float, float]
    keyword: ClassVar[str] = "renyi-curve"

    def __post_init__(self) -> None:
        if isinstance(self.rho_of_alpha, Mapping):
            if not self.rho_of_alpha:
                raise DomainError("a Rényi curve needs at least one order")
            known = {
                float(domain.order(alpha)): float(domain.non_negative(rho, "rho"))
                for alpha, rho in self.rho_of_alpha.items()
            }
            object.__setattr__(self, "rho_of_alpha", dict(sorted(known.items())))

    @classmethod
    def of(cls, *losses: Any) -> RenyiCurve:
        """The curve of anything with `.renyi(alpha)`: the largest ρ of those given."""
        return cls(lambda alpha: max(float(loss.renyi(alpha)) for loss in losses))

    @property
    def orders(self) -> tuple[float, ...] | None:
        """The orders that are known, or None when the curve is a function."""
        return tuple(self.rho_of_alpha) if isinstance(self.rho_of_alpha, Mapping) else None

    def at(self, alpha: Number) -> float:
        """The least ρ at order alpha that follows from the curve."""
        order = float(domain.order(alpha))
        if not isinstance(self.rho_of_alpha, Mapping):
            return float(domain.non_negative(self.rho_of_alpha(order), "rho"))
        known = self.rho_of_alpha
        if order in known:
            return known[order]
        above = [rho for other, rho in known.items() if other > order]
        if not above:
            return math.inf
        best = min(above)
        finite = {1.0: 0.0} | {a: (a - 1) * rho for a, rho in known.items() if a < math.inf}
        lower = max(a for a in finite if a < order)
        upper = min((a for a in finite if a > order), default=None)
        if upper is not None and math.isfinite(finite[lower]) and math.isfinite(finite[upper]):
            weight = (order - lower) / (upper - lower)
            chord = (1 - weight) * finite[lower] + weight * finite[upper]
            best = min(best, chord / (order - 1))
        return best

    def __str__(self) -> str:
        if self.orders is None:
            return f"(α, ρ(α))-Rényi DP with ρ(2) = {show(self.at(2))}"
        points = ", ".join(f"({show(a)}, {show(self.at(a))})" for a in self.orders[:4])
        return f"Rényi DP at {points}{', …' if len(self.orders) > 4 else ''}"


_FORMS = {
    "pure": (PureDP, "pure:EPSILON"),
    "approx": (ApproxDP, "approx:EPSILON,DELTA"),
    "renyi": (RenyiDP, "renyi:ALPHA,RHO"),
    "zcdp": (ZCDP, "zcdp:RHO"),
    "gdp": (GaussianDP, "gdp:MU"),
}


def parse_claim(text: str) -> Claim:
    """A claim from its short form, such as "pure:0.1" or "approx:1,1e-5".

    The others are "renyi:2,0.1", "zcdp:0.05" and "gdp:1". A number alone is a pure ε.
    A number may be an expression in the mechanism's parameters, as in "pure:2*eps".
    """
    try:
        alone = float(text)
    except ValueError:
        pass
    else:
        return PureDP(alone)
    forms = ", ".join(form for _, form in _FORMS.values())
    keyword, colon, rest = text.partition(":")
    entry = _FORMS.get(keyword.strip().lower())
    if not colon or entry is None:
        raise DomainError(f"{text!r} is not a claim; write one of {forms}")
    kind, form = entry
    parts = _split(rest)
    wanted = form.count(",") + 1
    if len(parts) != wanted or not all(parts):
        raise DomainError(f"{text!r} has {len(parts)} numbers where {form} has {wanted}")
    return kind(*(_number(part) for part in parts))


def as_claim(said: Any) -> Claim | None:
    """A claim from what a person states: a claim, its short form, or a number, a pure ε."""
    if said is None or isinstance(said, Claim):
        return said
    if isinstance(said, str):
        return parse_claim(said)
    if isinstance(said, numbers.Real) and not isinstance(said, bool):
        return PureDP(float(said))
    raise DomainError(
        f"{said!r} is not a claim; write dpest.PureDP(1.0), its short form 'pure:1.0', or 1.0"
    )


def _split(text: str) -> list[str]:
    """The parts between commas that stand outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _number(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        if expressions.names(text):
            return text
        return float(expressions.evaluate(text, {}))
