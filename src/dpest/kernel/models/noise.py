"""The families of noise that the kernel can shift: its own table, and what a shift costs.

The kernel takes nothing from the library's description of a family; a test compares the two.
With X the noise and s a shift, log p(x) − log p(x + s) is at most
  absolute  rate·|s|            (Laplace, logistic and Cauchy noise, rate 1/scale; Student t)
  upward    rate·s, for s ≥ 0   (exponential, Gumbel, geometric)
and the Rényi divergence of order α between X and X + s is
  square    α·rate·s²           (Gaussian, rate 1/(2·variance)).
Noise on the integers may be shifted by integers only.

For logistic noise: the slope of log p is −tanh(x/(2·scale))/scale. For Cauchy noise it is
−2x/(scale² + x²), which lies within ±1/scale (at x = ±scale). For Student's t with ν degrees of
freedom and scale b it is −(ν + 1)·x/(ν·b² + x²), within ±(ν + 1)/(2·b·√ν) (at x = ±b·√ν): what a
certificate calls its scale is the inverse of that bound, or less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..fields import Fields, listed, mapping, rational, text
from ..forms import ONE, ZERO, LinearInequality
from ..invalid import need

Rule = Literal["absolute", "upward", "square"]


@dataclass(frozen=True)
class Family:
    """How a family may be shifted; whether it lives on the integers; its least value, if any."""

    rule: Rule
    integral: bool
    least: Fraction | None = None


FAMILIES: dict[str, Family] = {
    "laplace": Family("absolute", False),
    "discrete_laplace": Family("absolute", True),
    "two_sided_geometric": Family("absolute", True),
    "exponential": Family("upward", False, ZERO),
    "geometric": Family("upward", True, ONE),
    "gumbel": Family("upward", False),
    "logistic": Family("absolute", False),
    "cauchy": Family("absolute", False),
    "student_t": Family("absolute", False),
    "gaussian": Family("square", False),
    "discrete_gaussian": Family("square", True),
}
_OWN = frozenset(FAMILIES)


def trust(name: str, family: Family) -> None:
    """Add a row. Whoever does so answers for it: each statement that rests on it says so."""
    need(FAMILIES.setdefault(name, family) == family, f"{name} is in the table already")


@dataclass(frozen=True)
class ShiftedNoise:
    """A draw: its rule, its rate (0: it can't be shifted), and the ends of its support."""

    name: str
    family: str
    rule: Rule
    rate: Fraction
    integral: bool
    low: Fraction | None = None
    high: Fraction | None = None

    @property
    def continuous(self) -> bool:
        """Whether the kernel knows that no single value has a chance."""
        return self.family in FAMILIES and not FAMILIES[self.family].integral

    def support(self) -> list[LinearInequality]:
        ends = ((ONE, self.low), (-ONE, self.high))
        return [
            LinearInequality(-sign * end, ((self.name, sign),), False)
            for sign, end in ends
            if end is not None
        ]


Noises = dict[str, ShiftedNoise]


def support_of(names: Iterable[str], noises: Noises) -> list[LinearInequality]:
    return [c for name in names for c in noises[name].support()]


def outside_families(noises: Noises) -> tuple[str, ...]:
    """The families that were added to the table by somebody else."""
    return tuple(sorted({n.family for n in noises.values()} & FAMILIES.keys() - _OWN))


def read_noises(fields: Fields) -> Noises:
    """{"h0": [family, scale]} and {"h0": [low, high]}; a Gaussian's scale is its variance."""
    bounds = mapping(fields.take("bounds"), "bounds")
    found: Noises = {}
    for name, value in mapping(fields.take("noises"), "noises").items():
        where = f"noise {name}"
        need(name.startswith("h"), f"{where}: a noise is called h…")
        family, scale = listed(value, where, 2)
        low, high = listed(bounds.get(name, (None, None)), where, 2)
        found[name] = _noise(
            name, text(family, where), _optional(scale, where), _optional(low, where), high
        )
    need(bounds.keys() <= found.keys(), "bounds of an unknown noise")
    return found


def _noise(
    name: str, family: str, scale: Fraction | None, low: Fraction | None, high: object
) -> ShiftedNoise:
    top = _optional(high, f"noise {name}")
    known = FAMILIES.get(family)
    if known is None or scale is None:
        # Both runs share its value. Of a known family the support is the table's.
        least = low if known is None else known.least
        return ShiftedNoise(name, family, "absolute", ZERO, False, least, None if known else top)
    need(scale > 0, f"noise {name}: its scale is not positive")
    rate = 1 / (2 * scale) if known.rule == "square" else 1 / scale
    return ShiftedNoise(name, family, known.rule, rate, known.integral, known.least, None)


def _optional(value: object, where: str) -> Fraction | None:
    return None if value is None else rational(value, where)
