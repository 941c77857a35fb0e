"""The coupling: a shift of the noise that keeps a region and what it releases.

Lemma (alignment). In a region of the noise with one release, move each noise h to h + s_h(d), where
d is the difference of the data and s_h is affine in d. If every condition of the region changes by
at least 0 and every released real by exactly 0, the region is carried into itself with the same
release. A translation is injective with Jacobian 1. So the probability (density) of the release
under the first input is at most e^cost times that under the second, with cost = Σ rate·|s_h|.

All that is affine in d is compared on a box of differences at once, by its least value there.
The size |s_h| is bounded by an affine function that comes with the certificate. Costs are convex in
d, so that the corners of a box stand for all of it; integer noise moves by integers, and a mixture
of corners is none: there each integer point is a corner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from .fields import Extended, Fields, listed, mapping, rational
from .forms import (
    ONE,
    STILL,
    ZERO,
    Box,
    Interval,
    LinearInequality,
    Terms,
    combined,
    least,
    read_terms,
    symbols_of,
    terms_of,
)
from .invalid import Invalid, need
from .models.data import MOST_POINTS
from .models.noise import Noises, ShiftedNoise


@dataclass(frozen=True)
class AffineForm:
    """constant + slopes·d"""

    constant: Fraction = ZERO
    slopes: Terms = field(default_factory=dict)

    def is_whole(self, whole: frozenset[str]) -> bool:
        """Whether its values are integers, given the data whose differences are."""
        numbers = (self.constant, *self.slopes.values())
        return all(v.denominator == 1 for v in numbers) and whole.issuperset(self.slopes)


NOTHING = AffineForm()


@dataclass(frozen=True)
class KeptRegion:
    """What must be kept: conditions that may not decrease, reals that may not change."""

    keep: Sequence[LinearInequality]
    pin: Sequence[Terms]
    noises: Noises
    whole: frozenset[str]
    """The data whose differences are integers."""

    @property
    def data(self) -> set[str]:
        return symbols_of((*map(terms_of, self.keep), *self.pin)) - self.noises.keys()

    @property
    def integral(self) -> bool:
        return any(noise.integral for noise in self.noises.values())


@dataclass(frozen=True)
class BoxPlan:
    """A shift on one box of differences; `size` bounds its absolute values."""

    box: Box
    shift: Mapping[str, AffineForm]
    size: Mapping[str, AffineForm]


def need_aligned(region: KeptRegion, plan: BoxPlan, budget: Fraction, where: str) -> None:
    """The shift keeps the region, and costs no more than the budget anywhere in the box."""
    need_kept(region, plan, where)
    left: Extended = budget
    rest: dict[str, Fraction] = {}
    for noise in region.noises.values():
        size = _size(noise, plan, region.whole, where)
        left = left - noise.rate * size.constant
        rest = combined((ONE, rest), (-noise.rate, size.slopes))
    need(least(left, rest, plan.box) >= 0, f"{where}: it costs more than the bound")


def need_kept(region: KeptRegion, plan: BoxPlan, where: str) -> None:
    """The shift keeps every condition and every released real, whatever it costs."""
    named = {*plan.shift, *plan.size}
    slopes = symbols_of(a.slopes for a in (*plan.shift.values(), *plan.size.values()))
    need(named <= region.noises.keys(), f"{where}: a shift of an unknown noise")
    need(slopes <= plan.box.keys(), f"{where}: a shift by unknown data")
    for condition in region.keep:
        moved = _change(terms_of(condition), region, plan, where)
        need(least(moved.constant, moved.slopes, plan.box) >= 0, f"{where}: a branch is not kept")
    for terms in region.pin:
        moved = _change(terms, region, plan, where)
        need(_is_zero(moved, plan.box), f"{where}: a release changes")


def _change(terms: Terms, region: KeptRegion, plan: BoxPlan, where: str) -> AffineForm:
    """By how much a form changes from the first run to the second."""
    constant, parts = ZERO, []
    for symbol, value in terms.items():
        if symbol in region.noises:
            shift = plan.shift.get(symbol, NOTHING)
            constant += value * shift.constant
            parts.append((value, shift.slopes))
        else:
            need(symbol in plan.box, f"{where}: unknown symbol {symbol[:40]!r}")
            parts.append((value, {symbol: ONE}))
    return AffineForm(constant, combined(*parts))


def _is_zero(value: AffineForm, box: Box) -> bool:
    low = least(value.constant, value.slopes, box)
    high = least(-value.constant, {k: -v for k, v in value.slopes.items()}, box)
    return low == 0 == high


def _size(noise: ShiftedNoise, plan: BoxPlan, whole: frozenset[str], where: str) -> AffineForm:
    """The bound of the shift's size in the certificate, after it was checked."""
    shift = plan.shift.get(noise.name, NOTHING)
    need(noise.rule != "square", f"{where}: Gaussian noise has no pure ε")
    need(bool(noise.rate) or shift == NOTHING, f"{where}: {noise.family} noise can't be shifted")
    need(not noise.integral or shift.is_whole(whole), f"{where}: a shift is not an integer")
    size = plan.size.get(noise.name, NOTHING) if noise.rule == "absolute" else shift
    for sign in (ONE, -ONE) if noise.rule == "absolute" else (ZERO,):
        constant = size.constant + sign * shift.constant
        slopes = combined((ONE, size.slopes), (sign, shift.slopes))
        need(least(constant, slopes, plan.box) >= 0, f"{where}: a shift is larger than was said")
    return size


def need_aligned_everywhere(
    region: KeptRegion,
    groups: Sequence[Sequence[Box]],
    plans: Sequence[tuple[int, BoxPlan]],
    budget: Fraction,
    where: str,
) -> None:
    """The plans, each for a component of the adjacency, align every box of all of them."""
    used = region.data
    known = {symbol for group in groups for face in group for symbol in face}
    need(used <= known, f"{where}: unknown data")
    need(all(0 <= g < len(groups) for g, _ in plans), f"{where}: an unknown component")
    for number, group in enumerate(groups):
        given = [plan for g, plan in plans if g == number]
        boxes = [dict(plan.box) for plan in given]
        for face in group:
            wanted = {k: e for k, e in face.items() if k in used and e != STILL}
            covers = not wanted or _covered(wanted, boxes, region)
            need(covers, f"{where}: some neighbours are not covered")
        for plan in given:
            box = {**dict.fromkeys(used, STILL), **plan.box}
            need_aligned(region, BoxPlan(box, plan.shift, plan.size), budget, where)


def _covered(face: Box, given: list[dict[str, Interval]], region: KeptRegion) -> bool:
    """Whether the boxes are the face itself, or split it at all its points."""

    def fits(box: Box) -> bool:
        if box.keys() != face.keys():
            return False
        return all(
            box[k] == ends or (box[k][0] == box[k][1] and box[k][0] in points(k, ends, region))
            for k, ends in face.items()
        )

    inside = [box for box in given if fits(box)]
    if dict(face) in inside:
        return True
    for symbol, (low, high) in face.items():
        if low != high and inside and all(box[symbol][0] == box[symbol][1] for box in inside):
            parts = ({**face, symbol: (v, v)} for v in points(symbol, (low, high), region))
            return all(_covered(part, inside, region) for part in parts)
    return False


def points(symbol: str, ends: Interval, region: KeptRegion) -> list[Extended]:
    """Where a range may be split: at its ends, or with integer noise at every integer in it."""
    low, high = ends
    if not region.integral or low == high:
        return [low] if low == high else [low, high]
    if symbol not in region.whole:
        return []
    if isinstance(low, float) or isinstance(high, float):
        raise Invalid(f"{symbol[:40]}: data without bounds")
    first, last = math.ceil(low), math.floor(high)
    need(last - first < MOST_POINTS, f"{symbol[:40]}: too many integers to be checked")
    return [Fraction(v) for v in range(first, last + 1)]


def read_plan(fields: Fields) -> tuple[int, BoxPlan]:
    """A component of the adjacency, and the plan for a box of it."""
    component = fields.whole("component")
    box: dict[str, Interval] = {}
    for symbol, ends in mapping(fields.take("face"), fields.where).items():
        low, high = (rational(e, fields.where) for e in listed(ends, fields.where, 2))
        need(low <= high, f"{fields.where}.face: no interval")
        box[symbol] = (low, high)
    shift, size = (_affine(fields.take(key), fields.where) for key in ("shift", "bound"))
    fields.done()
    return component, BoxPlan(box, shift, size)


def _affine(value: object, where: str) -> dict[str, AffineForm]:
    found = {}
    for symbol, parts in mapping(value, where).items():
        constant, slopes = listed(parts, where, 2)
        found[symbol] = AffineForm(rational(constant, where), read_terms(slopes, where))
    return found
