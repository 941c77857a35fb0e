"""Farkas's lemma: non-negative weights under which conditions add up to what is claimed.

If Σ wᵢ·(cᵢ + tᵢ·x) = c + t·x with wᵢ ≥ 0, then the conditions imply c' + t·x ≥ 0 for all c' ≥ c
(> 0 if c' > c, or if one of them with a positive weight is strict). A sum without symbols that is
negative (or 0, though one of them is strict) is a contradiction: no point satisfies them all.
Where only a set of probability 0 is at stake, a condition on continuous noise counts as strict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .fields import mapping, rational
from .forms import ZERO, LinearInequality, combined
from .invalid import need
from .models.noise import Noises

Weights = Mapping[int, Fraction]


def read_weights(value: object, where: str) -> Weights:
    found: dict[int, Fraction] = {}
    for place, weight in mapping(value, where).items():
        need(place.isascii() and place.isdigit() and len(place) < 9, f"{where}: not a place")
        found[int(place)] = rational(weight, where)
        need(found[int(place)] >= 0, f"{where}: a negative weight")
    return found


def need_implied(
    held: Sequence[LinearInequality], weights: Weights, goal: LinearInequality, where: str
) -> None:
    """The conditions imply the goal."""
    constant, terms, strict = _sum(held, weights, lambda c: c.strict, where)
    above = goal.constant > constant
    equal = goal.constant == constant and (strict or not goal.strict)
    need(terms == dict(goal.terms) and (above or equal), f"{where}: the weights don't add up")


def need_empty(
    held: Sequence[LinearInequality], weights: Weights, noises: Noises, where: str
) -> None:
    """The conditions hold with probability 0."""

    def is_strict(condition: LinearInequality) -> bool:
        drawn = (noises[s] for s in condition.symbols if s in noises)
        return condition.strict or any(noise.continuous for noise in drawn)

    constant, terms, strict = _sum(held, weights, is_strict, where)
    below = constant < 0 or (constant == 0 and strict)
    need(not terms and below, f"{where}: the weights don't add up to a contradiction")


def _sum(
    held: Sequence[LinearInequality],
    weights: Weights,
    is_strict: Callable[[LinearInequality], bool],
    where: str,
) -> tuple[Fraction, dict[str, Fraction], bool]:
    need(all(i < len(held) for i in weights), f"{where}: a weight of nothing")
    used = [(w, held[i]) for i, w in weights.items() if w]
    constant = sum((w * c.constant for w, c in used), ZERO)
    terms = combined(*((w, dict(c.terms)) for w, c in used))
    return constant, terms, any(is_strict(c) for _, c in used)
