"""Polynomials with rational coefficients, lowest power first, and their sign on [0, 1]."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import comb

Polynomial = Sequence[Fraction | int]
_DEPTH = 16


def times(p: Polynomial, q: Polynomial) -> list[Fraction | int]:
    found: list[Fraction | int] = [0] * (len(p) + len(q) - 1) if p and q else []
    for (i, x), (j, y) in itertools.product(enumerate(p), enumerate(q)):
        found[i + j] += x * y
    return found


def minus(p: Polynomial, q: Polynomial) -> list[Fraction | int]:
    return [x - y for x, y in itertools.zip_longest(p, q, fillvalue=0)]


def plus(p: Polynomial, q: Polynomial) -> list[Fraction | int]:
    return [x + y for x, y in itertools.zip_longest(p, q, fillvalue=0)]


def is_non_negative(p: Polynomial) -> bool:
    """Whether it is shown that p ≥ 0 on [0, 1]: Bernstein coefficients on halves, quarters, …

    A polynomial lies in the convex hull of its Bernstein coefficients on any interval.
    """
    return _on_halves(_bernstein(p), _DEPTH, inside=False)


def is_positive(p: Polynomial) -> bool:
    """Whether it is shown that p > 0 on (0, 1): Bernstein's own polynomials are positive there."""
    return any(p) and _on_halves(_bernstein(p), _DEPTH, inside=True)


def _bernstein(p: Polynomial) -> list[Fraction]:
    n = len(p) - 1
    scaled = [sum(comb(n - j, i - j) * p[j] for j in range(i + 1)) for i in range(n + 1)]
    return [Fraction(v) / comb(n, i) for i, v in enumerate(scaled)]


def _on_halves(values: list[Fraction], depth: int, inside: bool) -> bool:
    """By de Casteljau's algorithm; the end values are values of the polynomial.

    `inside`: where an interval is cut, the value must be positive.
    """
    if all(v >= 0 for v in values):
        return True
    if depth == 0 or values[0] < 0 or values[-1] < 0:
        return False
    left, right, row = [values[0]], [values[-1]], values
    while len(row) > 1:
        row = [(x + y) / 2 for x, y in itertools.pairwise(row)]
        left, right = [*left, row[0]], [row[-1], *right]
    if inside and not row[0]:
        return False
    return _on_halves(left, depth - 1, inside) and _on_halves(right, depth - 1, inside)
