"""Curves of one uniform draw: on each piece of its range, linear in the logarithm of its place.

A uniform draw that is cut at some points lies in one of the pieces (p, q), and whichever it is, its
place w = (u − p)/(q − p) there is uniform on (0, 1): −log w and −log(1 − w) are exponential noise,
−log of that is Gumbel noise. So the inverse of a distribution function has that distribution, with
branches or without: b·log(2u) below 1/2 and −b·log(2 − 2u) above it is Laplace noise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpest.geometry.linear import compare
from dpest.noise.exponential import Exponential
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.parameters import exact, is_number
from dpest.noise.uniform import Uniform
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Holds,
    Law,
    drawn_in,
    register,
)

_ZERO, _ONE, _HALF = Fraction(0), Fraction(1), Fraction(1, 2)
_MOST_CUTS = 16
_SHAPES = frozenset({"log", "abs", "where", "*", "/"})


@dataclass(frozen=True)
class CurveRange:
    """A piece of the range of a draw: an interval, open on both sides."""

    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        return self.high - self.low


@dataclass(frozen=True)
class Line:
    """constant + slope·u."""

    constant: Fraction
    slope: Fraction = _ZERO


@dataclass(frozen=True)
class Bend:
    """constant + slope·log w, or with a depth of 2, constant + slope·log(−log w).

    w is the distance to one end of the piece, as a share of its width.
    """

    constant: Fraction
    slope: Fraction
    depth: int
    from_low: bool


@dataclass(frozen=True)
class UnreadCurve:
    """A function of the draw that has no reading, and why."""

    reason: str
    advice: str = ""


Shape = Line | Bend | UnreadCurve
"""What an expression is on one piece."""


class CutNeeded(Exception):
    """An expression is not one shape on a piece: it has to be cut here."""

    def __init__(self, place: Fraction) -> None:
        super().__init__()
        self.place = place


def range_of(drawn: Drawn) -> CurveRange | None:
    """All values of a uniform draw."""
    noise = drawn.noise
    if not isinstance(noise, Uniform) or not (is_number(noise.low) and is_number(noise.high)):
        return None
    low, high = exact(noise.low), exact(noise.high)
    return CurveRange(low, high) if low < high else None


def cut(whole: CurveRange, places: Sequence[Fraction]) -> list[CurveRange]:
    """The pieces of a range between some of its points."""
    inner = sorted({p for p in places if whole.low < p < whole.high})
    ends = [whole.low, *inner, whole.high]
    return [CurveRange(a, b) for a, b in itertools.pairwise(ends)]


def shape_on(made: Expression, piece: CurveRange) -> Shape:
    """What an expression of one draw is on a piece; raises CutNeeded."""
    if isinstance(made, Drawn):
        return Line(_ZERO, _ONE)
    if isinstance(made, Combination):
        found: Shape = Line(made.constant)
        for factor, part in made.terms:
            found = _sum(found, _multiple(shape_on(part, piece), factor))
        return found
    if isinstance(made, Holds):
        return _truth(shape_on(made.value, piece), made, piece)
    return _APPLIED.get(made.function, _unread)(made, piece)


def _unread(made: Applied, piece: CurveRange) -> Shape:
    return UnreadCurve(
        f"`{made.function}` of a uniform draw", "only logarithms of it are known noises"
    )


def _sum(a: Shape, b: Shape) -> Shape:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, UnreadCurve):
            return one
        if isinstance(one, Line) and not one.slope and isinstance(other, Bend):
            constant = other.constant + one.constant
            return Bend(constant, other.slope, other.depth, other.from_low)
    if isinstance(a, Line) and isinstance(b, Line):
        return Line(a.constant + b.constant, a.slope + b.slope)
    if isinstance(a, Bend) and isinstance(b, Bend):
        if (a.depth, a.from_low) == (b.depth, b.from_low):
            slope = a.slope + b.slope
            constant = a.constant + b.constant
            return Bend(constant, slope, a.depth, a.from_low) if slope else Line(constant)
        return UnreadCurve(
            "two logarithms of one uniform draw, of u and of 1 - u", "draw once for each of them"
        )
    return BESIDE


BESIDE = UnreadCurve(
    "a uniform draw that is used beside its logarithm", "draw once for each use of the noise"
)


def _multiple(shape: Shape, factor: Fraction) -> Shape:
    if isinstance(shape, UnreadCurve) or factor == 1:
        return shape
    if isinstance(shape, Line):
        return Line(factor * shape.constant, factor * shape.slope)
    if not factor:
        return Line(_ZERO)
    return Bend(factor * shape.constant, factor * shape.slope, shape.depth, shape.from_low)


def _sign(line: Line, piece: CurveRange) -> int:
    """The sign of a line inside of a piece; where it changes there, a cut is needed."""
    ends = [line.constant + line.slope * p for p in (piece.low, piece.high)]
    if min(ends) < 0 < max(ends):
        raise CutNeeded(-line.constant / line.slope)
    return (max(ends) > 0) - (min(ends) < 0)


def _truth(value: Shape, made: Holds, piece: CurveRange) -> Shape:
    if isinstance(value, Line):
        return Line(Fraction(int(compare(Fraction(_sign(value, piece)), made.relation))))
    if isinstance(value, UnreadCurve):
        return value
    return UnreadCurve(
        "the logarithm of a uniform draw that is compared with a number, inside of other noise"
    )


def _absolute(made: Applied, piece: CurveRange) -> Shape:
    (inner,) = (shape_on(part, piece) for part in made.arguments)
    if isinstance(inner, Line):
        return _multiple(inner, Fraction(_sign(inner, piece)))
    # log w is negative; −log w and its logarithm have no end in common with it.
    if isinstance(inner, Bend) and inner.depth == 1 and not inner.constant:
        return _multiple(inner, Fraction(-1 if inner.slope > 0 else 1))
    return (
        inner
        if isinstance(inner, UnreadCurve)
        else UnreadCurve("the size of the logarithm of a draw")
    )


def _where(made: Applied, piece: CurveRange) -> Shape:
    test, yes, no = made.arguments
    found = shape_on(test, piece)
    if isinstance(found, Line) and not found.slope:
        return shape_on(yes if found.constant else no, piece)
    return (
        found
        if isinstance(found, UnreadCurve)
        else UnreadCurve("a choice by a number that is no truth")
    )


def _product(made: Applied, piece: CurveRange) -> Shape:
    a, b = (shape_on(part, piece) for part in made.arguments)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Line) and not one.slope:
            return _multiple(other, one.constant)
    for one in (a, b):
        if isinstance(one, UnreadCurve):
            return one
    return UnreadCurve("a product of two numbers that are made of one uniform draw")


def _quotient(made: Applied, piece: CurveRange) -> Shape:
    a, b = (shape_on(part, piece) for part in made.arguments)
    if isinstance(b, Line) and not b.slope and b.constant:
        return _multiple(a, 1 / b.constant)
    return UnreadCurve("a quotient by a number that is made of a uniform draw")


def _logarithm(made: Applied, piece: CurveRange) -> Shape:
    (inner,) = (shape_on(part, piece) for part in made.arguments)
    if isinstance(inner, Bend):
        if inner.depth == 1 and (inner.constant, inner.slope) == (0, -1):
            return Bend(_ZERO, _ONE, 2, inner.from_low)
        return UnreadCurve("the logarithm of a logarithm that does not run from 0 without an end")
    if isinstance(inner, UnreadCurve):
        return inner
    at = [inner.constant + inner.slope * p for p in (piece.low, piece.high)]
    if (min(at), max(at)) == (0, 1):
        return Bend(_ZERO, _ONE, 1, at[0] == 0)
    return _no_noise(min(at), max(at))


def _no_noise(low: Fraction, high: Fraction) -> UnreadCurve:
    """Why the logarithm of a uniform number between two others is not read."""
    if low == 0:
        return UnreadCurve(
            f"the logarithm of a uniform draw between 0 and {high}",
            "scale it to run from 0 to 1: log(u / c) + log(c) is log(u)",
        )
    if low < 0:
        return UnreadCurve(
            "the logarithm of a uniform draw that can be negative",
            "log(u), log(1 - u), log(2u) below 1/2 and log(1 - 2|u - 1/2|) can be read",
        )
    return UnreadCurve(
        f"the logarithm of a uniform draw between {low} and {high}: noise with an end",
        "noise that is added to data must have none: let the draw run from 0 to 1",
    )


_APPLIED: dict[str, Callable[[Applied, CurveRange], Shape]] = {
    "log": _logarithm,
    "abs": _absolute,
    "where": _where,
    "*": _product,
    "/": _quotient,
}


def pieces_of(
    made: Expression, whole: CurveRange, cuts: Sequence[Fraction] = ()
) -> list[tuple[CurveRange, Shape]] | None:
    """The shape of an expression on each piece of the range; None where it has too many pieces."""
    places = list(cuts)
    while len(places) <= _MOST_CUTS:
        try:
            return [(piece, shape_on(made, piece)) for piece in cut(whole, places)]
        except CutNeeded as needed:
            places.append(needed.place)
    return None


def is_positive(made: Expression) -> bool:
    """Whether a function of one uniform draw is known to be positive wherever the draw lies."""
    drawn = list(drawn_in(made))
    whole = range_of(drawn[0]) if len(drawn) == 1 else None
    pieces = None if whole is None else pieces_of(made, whole)
    return pieces is not None and all(_shape_is_positive(shape, at) for at, shape in pieces)


def _shape_is_positive(shape: Shape, piece: CurveRange) -> bool:
    if isinstance(shape, Line):
        ends = [shape.constant + shape.slope * p for p in (piece.low, piece.high)]
        return min(ends) >= 0 and max(ends) > 0
    if isinstance(shape, Bend):  # log w lies below 0
        return shape.depth == 1 and shape.constant >= 0 and shape.slope < 0
    return False


class Curves:
    name = "curves"
    lemma = (
        "on each piece of its range the place of a uniform draw is uniform: its logarithm is "
        "exponential noise, whichever piece it is"
    )
    families: frozenset[str] = frozenset()

    def law(self, made: Expression) -> Law | None:
        drawn = list(drawn_in(made))
        whole = range_of(drawn[0]) if len(drawn) == 1 else None
        pieces = None if whole is None else pieces_of(made, whole)
        if whole is None or pieces is None:
            return None
        shapes = [shape for _, shape in pieces if isinstance(shape, Bend)]
        if len(shapes) < len(pieces):
            return None
        first, last = shapes[0], shapes[-1]
        if len({(s.constant, s.slope, s.depth) for s in shapes}) == 1:
            noise = Exponential(1) if first.depth == 1 else Gumbel(1)
            return Law(((-first.slope, noise),), first.constant)
        halves = len(pieces) == 2 and all(2 * piece.width == whole.width for piece, _ in pieces)
        mirrored = Bend(first.constant, -first.slope, 1, last.from_low)
        if halves and first.depth == 1 and last == mirrored:
            return Law(((first.slope, Laplace(1)),), first.constant)
        return None

    def is_part(self, made: Applied) -> bool:
        drawn = list(drawn_in(made))
        return made.function in _SHAPES and len(drawn) == 1 and range_of(drawn[0]) is not None


register(Curves())
