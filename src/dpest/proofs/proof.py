"""What a proof says: a bound for all neighbouring inputs, its standing, and its certificate."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from dpest.evidence import EPSILON, PROVED, Evidence, Measure, Witness
from dpest.notebooks import as_html

Status = Literal["exact", "upper bound", "refuted", "unknown"]


@dataclass(frozen=True)
class Ray:
    """The direction of inputs along which the loss approaches a value: x = λd, x2 = (λ+1)d."""

    direction: tuple[Fraction, ...]
    release: str
    infinite: bool = False
    """Whether the release is possible on one half of the line only: then λ = −1/2 shows it."""
    idle: frozenset[int] = frozenset()
    """Entries of the direction that the value doesn't depend on."""
    far: bool = False
    """Whether the value is approached as λ grows; otherwise it is reached at every λ."""

    @property
    def felt(self) -> tuple[Fraction, ...]:
        """The direction, 0 where it doesn't matter."""
        kept = enumerate(self.direction)
        return tuple(Fraction(0) if i in self.idle else d for i, d in kept)

    def pair(self, scale: float) -> tuple[list[Any], list[Any]]:
        """Two neighbouring inputs on the ray, in either order."""
        step = Fraction(-1, 2) if self.infinite else Fraction(scale).limit_denominator(10**6)
        return (
            [_plain(step * d) for d in self.direction],
            [_plain((step + 1) * d) for d in self.direction],
        )


@dataclass(frozen=True)
class AttainingPair:
    """The pair of inputs of a finite domain on which a bound is attained."""

    x: Any
    x2: Any
    release: str
    direction: tuple[Fraction, ...] = ()

    def pair(self, scale: float) -> tuple[Any, Any]:
        return self.x, self.x2


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True)
class Lower:
    """No smaller ε holds over all real inputs: the ray argument, with exact multipliers.

    For a region that alone gives its release and whose cheapest alignment at difference d costs
    C(d), −log P(release | λd) grows at least like λ·C(d); so the log-ratio between some
    neighbours on the ray comes as near to C(d) as one likes. `value` is infinite where no shift
    of the noise keeps the release.
    """

    value: Fraction | float
    length: int
    ray: Ray | AttainingPair
    multipliers: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Proof:
    """The result of `prove`.

    `epsilon` is a multiple of `unit` (an absolute number where `unit` is None); None where no
    bound on ε was found. Gaussian noise has none: its proofs bound ρ of zCDP, in `rho`, a multiple
    of `unit` to the power `power`. `bound` is whichever of the two was found. `status`: `exact`
    (no smaller bound holds), `upper bound`, `refuted` (the claim can't hold: `lower` is above it),
    `unknown` (and `reason` says why).
    `measure` is what is bounded: ε, or ρ of zCDP.
    """

    mechanism: str
    adjacency: Any
    length: Any
    unit: str | None
    status: Status
    bound: Fraction | None
    method: str
    reason: str = ""
    lower: Lower | None = None
    claim: Any = None
    claimed: Fraction | None = None
    certificate: Mapping[str, Any] | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    measure: Measure = EPSILON
    exponential: Fraction | None = None
    """e^ε as a rational, for finite mechanisms without a unit."""
    power: int = 1
    gaussian: bool = False
    """Whether the runs differ by one shift of Gaussian noise: then μ of Gaussian DP is √(2ρ)."""
    mixture: tuple[Fraction, Fraction, bool] | None = None
    """Of a composition of both kinds: ε of its pure parts (a multiple of the unit), ρ of the
    others, and whether those are Gaussian."""
    rays: tuple[Ray | AttainingPair, ...] = ()
    """Where the parts of a composition are at their worst: pairs worth a look, nothing more."""
    claim_holds: bool | None = None
    """Whether a claim of another notion follows from the bound, at the parameters' values."""
    words: Any = field(default=None, repr=False, compare=False)

    @property
    def epsilon(self) -> Fraction | None:
        return self.bound if self.measure == EPSILON else None

    @property
    def rho(self) -> Fraction | None:
        return self.bound if self.measure.kind == "zcdp" else None

    @property
    def ray(self) -> Ray | AttainingPair | None:
        return self.lower.ray if self.lower is not None else None

    @property
    def proved(self) -> bool:
        """Whether the claim, if there is one, is proved; without one, whether a bound is."""
        if self.bound is None and self.exponential is None:
            return False
        if self.claim_holds is not None:
            return self.claim_holds
        if self.claimed is None:
            return True
        if self.bound is None:
            # A claim with a logarithm in it is a rounded number.
            return math.log(self.exponential or 1) <= float(self.claimed) * (1 + 1e-12)
        return self.bound <= self.claimed

    def value(self, unit_value: Any = None) -> float:
        """The bound as a number, rounded up, for a value of the unit."""
        if self.exponential is not None:
            return math.nextafter(math.log(self.exponential), math.inf)
        if self.bound is None:
            return math.inf
        from dpest.geometry.linear import rational

        unit = Fraction(1) if self.unit is None else rational(unit_value) ** self.power
        exact = self.bound * unit
        found = float(exact)
        return found if Fraction(found) >= exact else math.nextafter(found, math.inf)

    def evidence(self, unit_value: Any = None) -> list[Evidence]:
        """The bound as evidence, for a value of the unit. Its ray is for the exact engine."""
        if self.bound is None and self.exponential is None:
            return []
        details: dict[str, Any] = {
            "bound": None if self.bound is None else str(self.bound),
            "unit": self.unit,
            "length": self.length if isinstance(self.length, int) else "any",
            "status": self.status,
        }
        found = Evidence(
            side="upper",
            value=self.value(unit_value),
            standing=PROVED,
            method=f"proof: {self.method}",
            witness=Witness(event=self.summary(), details=details),
            seconds=self.seconds,
            measure=self.measure,
            notes=self.notes,
            details=details,
        )
        if not self.gaussian:
            return [found]
        return [found, found.with_(value=self.mu(unit_value), measure=Measure("gdp"))]

    def epsilon_at(self, delta: float, unit_value: Any = None) -> float:
        """An ε for which (ε, δ)-DP follows: budgets add up, a shift of Gaussian noise has its μ."""
        from dpest.notions.claims import ZCDP, GaussianDP

        if self.bound is None or self.rho is None:
            return self.value(unit_value)
        known = GaussianDP(self.mu(unit_value)) if self.gaussian else ZCDP(self.value(unit_value))
        found = float(known.epsilon_at(delta))
        if self.mixture is None:
            return found
        pure, rho, gaussian = self.mixture
        first = replace(self, bound=pure, measure=EPSILON, power=1, mixture=None)
        second = replace(self, bound=rho, gaussian=gaussian, mixture=None)
        sequence = first.value(unit_value) + second.epsilon_at(delta, unit_value)
        return min(found, math.nextafter(sequence, math.inf))

    def mu(self, unit_value: Any = None) -> float:
        """μ of Gaussian DP, rounded up, where the runs differ by one shift of Gaussian noise."""
        if not self.gaussian:
            return math.inf
        return math.nextafter(math.sqrt(2 * self.value(unit_value)), math.inf)

    def bound_text(self) -> str:
        name = {"zcdp": "ρ", "gdp": "μ", "renyi": "the Rényi divergence"}.get(
            self.measure.kind, "ε"
        )
        if self.exponential is not None:
            return f"e^{name} = {self.exponential}"
        if self.bound is None:
            return f"no bound on {name}"
        unit = ""
        if self.unit is not None:
            unit = f"·{self.unit}" + (f"^{self.power}" if self.power != 1 else "")
        bound = str(self.bound)
        if len(bound) > 24:
            bound = _rounded_up(self.bound)
        at = f" at δ = {self.measure.delta!r}" if self.measure.delta else ""
        return f"{name} ≤ {bound}{unit}{at}"

    def summary(self) -> str:
        length = f"n = {self.length}" if isinstance(self.length, int) else "every length"
        text = f"{self.mechanism}, {self.adjacency}, {length}: "
        if self.status == "unknown":
            return text + f"unknown. {self.reason}"
        if self.status == "refuted":
            assert self.lower is not None
            claimed = shown(self.claimed, self.unit)
            above = "" if self.claimed is None else f", above the claimed {claimed}"
            return (
                text + f"refuted. ε is at least {shown(self.lower.value, self.unit)} "
                f"(at n = {self.lower.length}){above}"
            )
        return text + f"{self.bound_text()} ({self.status})"

    def explain(self) -> str:
        """The coupling in words, and as an apRHL derivation."""
        from dpest.proofs.explaining import explain

        return explain(self)

    def save(self, path: str | Path) -> None:
        """Write the certificate; `dpest check` and `dpest.kernel` read it."""
        from dpest.errors import RefusedError

        if self.certificate is None:
            raise RefusedError(f"there is no certificate to save: {self.summary()}")
        Path(path).write_text(json.dumps(self.certificate, indent=1, ensure_ascii=False) + "\n")

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def __str__(self) -> str:
        return self.summary()


def _rounded_up(value: Fraction) -> str:
    """At least the value, in twelve digits: what is printed is proved too."""
    with localcontext(prec=12, rounding=ROUND_CEILING):
        return f"{float(Decimal(value.numerator) / Decimal(value.denominator)):.12g}"


def shown(value: Fraction | float | None, unit: str | None) -> str:
    if value is None:
        return "no bound"
    if isinstance(value, float) and math.isinf(value):
        return "∞"
    return f"{value}·{unit}" if unit else str(value)
