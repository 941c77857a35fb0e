"""How draws are read: as they are, or as part of another noise that is made from them.

−log U is exponential, sign(U − ½)·log(1 − 2|U − ½|) is Laplace, −log(−log U) is Gumbel, and a fair
sign times exponential noise is Laplace. A draw that turns out to be used so is read again, as a
`Curve` over that noise N: U = t or 1 − t, or the like on each half of N, where t = e^−|N|; a coin
and an exponential draw as the sign and the size of one Laplace noise. Given N, the draws have the
joint distribution that they had: however they are read, the reading is exact, and the `Plan` of
who is read how decides only what can be read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpest.errors import UntraceableError
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.geometric import Geometric
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.parameters import is_number
from dpest.noise.uniform import Uniform
from dpest.reading.domains.unit import Unit
from dpest.reading.refusals import SAMPLING
from dpest.running.places import shown, user_call

_HALF = Fraction(1, 2)
_ONE = Fraction(1)
NO_LOGARITHM = "it is not linear in the noise: apply it outside of the mechanism"

SCALED = ("laplace", "gaussian", "exponential", "gumbel")
"""The families in which a multiple of a noise is a noise."""


def scale_of(noise: Noise) -> Any:
    """Its scale, where it has one."""
    return getattr(noise, "sigma", None) if noise.family == "gaussian" else noise.scale  # type: ignore[attr-defined]


def value_of(scale: Any, eps: Any) -> float:
    """A scale as a number, where eps has a value."""
    if not isinstance(scale, Unit):
        return float(scale)
    return float(scale.factor) * float(eps) ** scale.power


Site = tuple[str, int, int, str]
"""Where a draw is made: file, line, which call of the line, and the family."""


class FarNoiseError(Exception):
    """A value of the noise from which the draw can't be had back in floating point."""


@dataclass(frozen=True)
class Curve:
    """How a draw is read. `kind` is what N is: "exponential", "laplace", "gumbel", "geometric".

    `low`: t is 0 at the lower end of the draw; for a Laplace noise, at both ends (else at the
    middle). `drawn`: the family that the function draws from. With a `partner`, the line of another
    draw, N is shared: `part` is what of it this draw is, its "sign" or its "size", and `scale` is
    N's. The draws of the two lines are paired in their order; any pairing is exact. Geometric noise
    is 1 + ⌊scale·E⌋ of the standard exponential noise E = −log t. "scaled" noise is N / scale.
    """

    kind: str
    low: bool
    drawn: str = "uniform"
    part: str = ""
    partner: Site | None = None
    scale: Any = 1

    def noise(self, drawn: Noise) -> Noise:
        """N, for a draw of this noise."""
        if self.kind == "scaled":
            return type(drawn)(scale_of(drawn) * self.scale)  # type: ignore[call-arg]
        if self.kind == "geometric":
            return Geometric(-math.expm1(-1 / float(self.scale)))
        kinds = {"laplace": Laplace, "exponential": Exponential, "gumbel": Gumbel}
        return kinds[self.kind](self.scale)

    def standard(self, place: float, eps: Any) -> float:
        """Where N, divided by its scale, is, given where it is; eps is what a unit stands for."""
        return place if self.kind == "geometric" else place / value_of(self.scale, eps)

    @property
    def depth(self) -> int:
        """How many logarithms make t linear in N; 0: t has nothing to do with N."""
        if self.part == "sign":
            return 0
        return 2 if self.kind == "gumbel" and self.drawn == "uniform" else 1

    def lines(self) -> list[tuple[Fraction, Fraction]]:
        """The standard draw as a + b·t, on each half of N."""
        if self.part == "sign":
            return [(Fraction(0), _HALF), (_HALF, _HALF)]
        if self.part == "size":
            return [(Fraction(0), _ONE) if self.low else (_ONE, -_ONE)] * 2
        if self.drawn == "exponential":
            return [(Fraction(0), _ONE)]
        if self.kind != "laplace":
            return [(Fraction(0), _ONE) if self.low else (_ONE, -_ONE)]
        if self.low:
            return [(Fraction(0), _HALF), (_ONE, -_HALF)]
        return [(_HALF, -_HALF), (_HALF, _HALF)]

    def fits(self, noise: Noise) -> bool:
        """Whether a draw of this noise can be read so."""
        if noise.family != self.drawn or noise.constant is not None:
            return False
        if self.kind == "scaled":
            return is_number(scale_of(noise))
        if isinstance(noise, Uniform):
            return is_number(noise.low) and is_number(noise.high)
        if isinstance(noise, Exponential):
            return is_number(noise.scale) or (bool(self.part) and noise.scale == self.scale)
        return isinstance(noise, Bernoulli) and is_number(noise.p) and noise.p == _HALF

    @property
    def most(self) -> Fraction | None:
        """The supremum of t, if it has one."""
        return None if self.drawn == "exponential" else _ONE

    def t(self, place: float) -> float:
        """t where N is at a place."""
        if self.part == "sign":
            return 0.5
        if self.kind == "gumbel":
            least = -6.0 if self.low or self.drawn == "exponential" else -2.7
            if not least <= place <= 15:
                raise FarNoiseError
            return math.exp(-math.exp(-place)) if self.depth == 2 else math.exp(-place)
        if self.kind == "geometric":
            place = (place - 0.5) / float(self.scale)  # in the middle of its cell
        if abs(place) > 18:
            raise FarNoiseError
        return place if self.drawn == "exponential" else math.exp(-abs(place))


Plan = dict[Site, Curve]
"""Which draws are read in another way."""


def can_change(curve: Curve | None) -> bool:
    """Whether a reading may be refined: exponential noise gets a sign, or a logarithm."""
    return curve is None or (curve.kind in ("exponential", "scaled") and not curve.part)


def words(plan: Plan) -> list[str]:
    """What a result says about how draws were read."""
    found = set()
    for (file, line, *_), curve in plan.items():
        part = f"the {curve.part} of " if curve.part else ""
        where = f"{Path(file).name}:{line}"
        if curve.kind != "scaled":
            found.add(f"{where}: {curve.drawn} draws are read as {part}{curve.kind} noise")
    return sorted(found)


class RereadError(UntraceableError):
    """The function does something that could be read if its draws were read as `curves`."""

    def __init__(self, curves: Plan) -> None:
        site = next(iter(curves))
        super().__init__(
            "the logarithm of a noisy value", f"{NO_LOGARITHM}; {SAMPLING}", shown(site[:2])
        )
        self.curves = curves

    def added(self, plan: Plan) -> Plan:
        """The plan with these draws in it; refuses to read one a third way."""
        for site, curve in self.curves.items():
            before = plan.get(site)
            scaled = before is not None and before.scale == 1 and replace(curve, scale=1) == before
            if before == curve or not (scaled or can_change(before)):
                raise UntraceableError(
                    "the logarithm of a uniform draw that is used in two ways",
                    f"draw once for each noise, on a line of its own; {SAMPLING}",
                    shown(site[:2]),
                ) from None
        return {**plan, **self.curves}


_OTHERWISE = ("uniform", "bernoulli", *SCALED)


def site_of_draw(noise: Noise) -> Site | None:
    """Where a draw is made, for the families that can be read in another way."""
    place = user_call() if noise.family in _OTHERWISE else None
    return None if place is None else (*place, noise.family)
