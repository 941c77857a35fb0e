"""What a value is, on one half of the noise that it is a curve over (see `rewrites.curves`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpest.geometry.linear import Form, Relation, compare
from dpest.reading.tracing.symbolic import TracedReal


@dataclass(frozen=True)
class AffinePiece:
    """a + b·t for 0 < t < most, b ≠ 0; `depth` logarithms make t linear."""

    a: Fraction
    b: Fraction
    depth: int
    most: Fraction | None

    def ends(self) -> tuple[Fraction | None, Fraction | None]:
        """Infimum and supremum, neither attained; None: none."""
        last = None if self.most is None else self.a + self.b * self.most
        return (self.a, last) if self.b > 0 else (last, self.a)

    def sign(self) -> int:
        """1 or −1 where it is known, else 0."""
        low, high = self.ends()
        if low is not None and low >= 0:
            return 1
        return -1 if high is not None and high <= 0 else 0

    def holds(self, relation: Relation) -> bool | None:
        """The truth of `self relation 0`, where it is the same for all t."""
        sign = self.sign()
        if sign:
            return compare(Fraction(sign), relation)
        return None if relation in (">", ">=") else relation == "!="


@dataclass(frozen=True)
class Opaque:
    """What has no reading, and why."""

    what: str
    advice: str


@dataclass(frozen=True)
class ExponentialCell:
    """factor·E, where E is a standard exponential noise of which only a floor is known.

    ⌊rate·E⌋ = `floor`. E is memoryless: what it is within its cell says nothing of the cell.
    """

    factor: Fraction
    rate: Fraction
    floor: Form

    def rounded(self, up: bool) -> Form | None:
        """Rounded down or up to a whole number, which it is with probability 0."""
        if abs(self.factor) != self.rate:
            return None
        if self.factor > 0:
            return self.floor.plus(Form.number(1)) if up else self.floor
        return self.floor.times(-1) if up else self.floor.plus(Form.number(1)).times(-1)

    def holds(self, relation: Relation) -> bool:
        """The truth of `self relation 0`."""
        return compare(self.factor, relation)


Piece = TracedReal | AffinePiece | ExponentialCell | Opaque
ROUNDED = Opaque(
    "exponential noise is rounded, and used in another way, too",
    "round it once, as it is: floor(b·e) is geometric noise",
)
BESIDE = Opaque(
    "a uniform draw is used beside its logarithm",
    "use the draw for one noise alone, by log(u), log(2u), log(1 - 2|u - 1/2|) or the like",
)

COMPARED = Opaque(
    "a uniform draw is compared with a number beside its logarithm",
    "log(2u) and log(1 - 2|u - 1/2|) go with a comparison with the middle of u's range",
)


def piece_sum(first: Piece, second: Piece, sign: int) -> Piece:
    if isinstance(first, Opaque) or isinstance(second, Opaque):
        return first if isinstance(first, Opaque) else second
    if isinstance(first, ExponentialCell) or isinstance(second, ExponentialCell):
        return _sum_of_cell(first, second, sign)
    if isinstance(first, TracedReal) and isinstance(second, TracedReal):
        found = first + second if sign == 1 else first - second
        return found if isinstance(found, TracedReal) else BESIDE
    if isinstance(first, AffinePiece) and isinstance(second, AffinePiece):
        if first.depth != second.depth:
            return BESIDE
        a, b = first.a + sign * second.a, first.b + sign * second.b
        return replace(first, a=a, b=b) if b else TracedReal(Form.number(a))
    curved, plain = (first, second) if isinstance(first, AffinePiece) else (second, first)
    if not isinstance(curved, AffinePiece) or not isinstance(plain, TracedReal) or plain.form.terms:
        return BESIDE
    if curved is first:
        return replace(curved, a=curved.a + sign * plain.form.constant)
    return replace(curved, a=plain.form.constant + sign * curved.a, b=sign * curved.b)


def _sum_of_cell(first: Piece, second: Piece, sign: int) -> Piece:
    for cell, other, own in ((first, second, 1), (second, first, sign)):
        if (
            isinstance(cell, ExponentialCell)
            and isinstance(other, TracedReal)
            and other.form == Form()
        ):
            return replace(cell, factor=own * cell.factor)
    return ROUNDED


def piece_product(first: Piece, second: Piece) -> Piece:
    if isinstance(first, Opaque) or isinstance(second, Opaque):
        return first if isinstance(first, Opaque) else second
    if isinstance(first, TracedReal) and isinstance(second, TracedReal):
        found = first * second
        return found if isinstance(found, TracedReal) else BESIDE
    curved, plain = (second, first) if isinstance(first, TracedReal) else (first, second)
    if (
        not isinstance(plain, TracedReal)
        or plain.form.terms
        or not isinstance(curved, (AffinePiece, ExponentialCell))
    ):
        return BESIDE
    factor = plain.form.constant
    if not factor:
        return TracedReal(Form())
    if isinstance(curved, ExponentialCell):
        return replace(curved, factor=curved.factor * factor)
    return replace(curved, a=curved.a * factor, b=curved.b * factor)
