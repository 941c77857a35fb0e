"""A fair sign times exponential noise is Laplace noise.

For t > 0, P(S·E > t) = P(S = 1)·P(E > t) = e^−t/2, and the same below −t.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpest.noise.exponential import Exponential
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
    with_parts,
)

_ZERO, _ONE, _HALF = Fraction(0), Fraction(1), Fraction(1, 2)


class Signs:
    name = "signs"
    lemma = "±E with a fair sign is Laplace noise of the same scale for exponential noise E"
    families: frozenset[str] = frozenset()

    def law(self, made: Expression) -> Law | None:
        truths = set(_truths(made))
        if len(truths) != 1:
            return None
        (truth,) = truths
        if not is_fair(truth):
            return None
        heads, tails = (_multiple(_decided(made, truth, value)) for value in (True, False))
        if heads is None or tails is None:
            return None
        (constant, factor, size), (other, opposite, same) = heads, tails
        if size is None or size != same or size in drawn_in(truth):
            return None
        if constant != other or factor != -opposite or not isinstance(size.noise, Exponential):
            return None
        return Law(((abs(factor), Laplace(size.noise.scale)),), constant)

    def is_part(self, made: Applied) -> bool:
        return False


def is_fair(truth: Holds) -> bool:
    """Whether a condition on one draw holds with probability 1/2."""
    value = truth.value
    if (
        not isinstance(value, Combination)
        or len(value.terms) != 1
        or truth.relation not in (">", ">=")
    ):
        return False
    ((slope, drawn),) = value.terms
    if not isinstance(drawn, Drawn):
        return False
    border, noise = -value.constant / slope, drawn.noise
    outcomes = noise.outcomes
    if outcomes is not None and len(outcomes) == 2:
        (first, chance), (second, _) = outcomes
        between = min(first, second) < border < max(first, second)
        return between and is_number(chance) and exact(chance) == _HALF
    if not isinstance(noise, Uniform) or not (is_number(noise.low) and is_number(noise.high)):
        return False
    return 2 * border == exact(noise.low) + exact(noise.high) and noise.low < noise.high


def _truths(made: Expression) -> Iterator[Holds]:
    if isinstance(made, Holds):
        yield made
    elif isinstance(made, Applied):
        for part in made.arguments:
            yield from _truths(part)
    elif isinstance(made, Combination):
        for _, part in made.terms:
            yield from _truths(part)


def _decided(made: Expression, truth: Holds, value: bool) -> Expression:
    """An expression where a truth in it is known."""
    if made == truth:
        return Combination(Fraction(int(value)), ())
    return with_parts(made, lambda part: _decided(part, truth, value))


def _multiple(made: Expression) -> tuple[Fraction, Fraction, Drawn | None] | None:
    """A number plus a multiple of one draw; None where it is something else."""
    if isinstance(made, Drawn):
        return _ZERO, _ONE, made
    if isinstance(made, Combination):
        return _combined(made)
    if not isinstance(made, Applied):
        return None
    parts = [_multiple(part) for part in made.arguments]
    known = [part for part in parts if part is not None]
    if made.function == "where":
        test = parts[0]
        return None if test is None or test[2] is not None else parts[1 if test[0] else 2]
    if made.function == "*" and len(known) == 2:
        for one, other in (known, known[::-1]):
            if one[2] is None:
                return one[0] * other[0], one[0] * other[1], other[2]
    return None


def _combined(made: Combination) -> tuple[Fraction, Fraction, Drawn | None] | None:
    constant, slope, drawn = made.constant, _ZERO, None
    for factor, part in made.terms:
        found = _multiple(part)
        if found is None or (drawn is not None and found[2] not in (None, drawn)):
            return None
        constant += factor * found[0]
        slope += factor * found[1]
        drawn = found[2] or drawn
    return constant, slope, drawn if slope else None


register(Signs())
