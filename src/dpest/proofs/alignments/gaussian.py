"""Gaussian noise: one shift for all releases, and its Rényi cost α·s²/(2σ²) (zCDP).

A maximum over regions is no bound on a Rényi divergence. So the shift must be the same linear
function of the difference wherever the noise lies, and leave every condition and every release
exactly as it is: then the second run is the first with shifted noise, and the divergence of the
outputs is at most that of the noises.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise
from dpest.proofs.alignments.adjacency_faces import Faces, lowest
from dpest.proofs.alignments.alignment import AlignedNoise, Change
from dpest.proofs.alignments.regions_of_release import ReleaseRegion
from dpest.reading.domains.unit import Unit

_MOST_CORNERS = 4096


@dataclass(frozen=True)
class CommonShift:
    """Slopes of each noise in each difference; ρ of zCDP; whether some difference attains it."""

    slopes: Mapping[Symbol, Mapping[Symbol, Fraction]]
    rho: Fraction
    attained: bool


def variances(noises: Mapping[Symbol, Noise], draws: Mapping[Symbol, AlignedNoise]) -> int:
    """The power of the unit in the rates 1/(2σ²); refuses a mixture with other noise."""
    powers = set()
    for symbol, draw in draws.items():
        if draw.kind == "square":
            rate = noises[symbol].shift_cost.rate
            powers.add(rate.power if isinstance(rate, Unit) else 0)
        elif draw.rate:
            raise RefusedError(
                f"Gaussian and {draw.family} noise in one mechanism: prove the parts on their own "
                "and compose them"
            )
    if len(powers) != 1:
        raise RefusedError("some variances are in units of the parameter and some are not")
    return powers.pop()


def common_shift(
    regions: Sequence[ReleaseRegion], draws: Mapping[Symbol, AlignedNoise], components: Faces
) -> CommonShift:
    """The least-cost shift that keeps everything; refuses where there is none."""
    changes: dict[Any, Change] = {}
    for region in regions:
        for change in (*region.problem.keep, *region.problem.pin):
            key = (tuple(sorted(change.noise.items())), tuple(sorted(change.data.items())))
            changes[key] = change
    noises = sorted({s for c in changes.values() for s in c.noise if draws[s].kind == "square"})
    data = sorted({s for c in changes.values() for s in c.data})
    rows = _independent(list(changes.values()), noises, data)
    slopes: dict[Symbol, dict[Symbol, Fraction]] = {h: {} for h in noises}
    for place, j in enumerate(data):
        for h, value in _least(rows, noises, draws, place).items():
            if value:
                slopes[h][j] = value
    for change in changes.values():
        for j in data:
            moved = change.data.get(j, Fraction(0)) + sum(
                (c * slopes[h].get(j, Fraction(0)) for h, c in change.noise.items() if h in slopes),
                Fraction(0),
            )
            if moved:
                raise RefusedError(
                    "no shift of the Gaussian noise keeps every release at once: the shift would "
                    "have to differ between releases, and a maximum over them is no bound on a "
                    "Rényi divergence"
                )
    rho, attained = _cost(slopes, draws, components)
    rank = len(_independent([c for r in regions for c in r.problem.pin], noises, data))
    return CommonShift(slopes, rho, attained and rank == len(noises))


def check_steps(
    shift: CommonShift, draws: Mapping[Symbol, AlignedNoise], whole: frozenset[Symbol]
) -> None:
    """Discrete Gaussian noise moves by integers: so must the data that it follows."""
    for h, slopes in shift.slopes.items():
        steps = all(j in whole and slope.denominator == 1 for j, slope in slopes.items())
        if draws[h].integral and not steps:
            raise RefusedError(
                "integer noise moves by whole steps, but what it is added to does not: say that "
                "the data are integers (domain=dpest.integers()), or round them first"
            )


def _independent(
    changes: Sequence[Change], noises: Sequence[Symbol], data: Sequence[Symbol]
) -> list[tuple[list[Fraction], list[Fraction]]]:
    """Row-reduced equations noise·s = −data·d, without repetitions."""
    reduced: list[tuple[list[Fraction], list[Fraction]]] = []
    zero = Fraction(0)
    for change in changes:
        a = [change.noise.get(h, zero) for h in noises]
        b = [change.data.get(j, zero) for j in data]
        for left, right in reduced:
            pivot = next(i for i, v in enumerate(left) if v)
            if a[pivot]:
                factor = a[pivot] / left[pivot]
                a = [x - factor * y for x, y in zip(a, left, strict=True)]
                b = [x - factor * y for x, y in zip(b, right, strict=True)]
        if any(a):
            reduced.append((a, b))
        elif any(b):
            raise RefusedError(
                "data are released, or decide a branch, without Gaussian noise of their own"
            )
    return reduced


def _least(
    rows: Sequence[tuple[list[Fraction], list[Fraction]]],
    noises: Sequence[Symbol],
    draws: Mapping[Symbol, AlignedNoise],
    place: int,
) -> dict[Symbol, Fraction]:
    """The s of least Σ rate·s² with a·s = −b_j for all rows: s = W⁻¹Aᵀ(AW⁻¹Aᵀ)⁻¹(−b_j)."""
    size = len(rows)
    inverse = [1 / draws[h].rate for h in noises]
    gram = [
        [
            sum(
                (x * w * y for x, w, y in zip(rows[i][0], inverse, rows[k][0], strict=True)),
                Fraction(0),
            )
            for k in range(size)
        ]
        + [-rows[i][1][place]]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(k for k in range(i, size) if gram[k][i])
        gram[i], gram[pivot] = gram[pivot], gram[i]
        gram[i] = [v / gram[i][i] for v in gram[i]]
        for k in range(size):
            if k != i and gram[k][i]:
                factor = gram[k][i]
                gram[k] = [x - factor * y for x, y in zip(gram[k], gram[i], strict=True)]
    weights = [row[-1] for row in gram]
    return {
        h: inverse[p]
        * sum((w * row[0][p] for w, row in zip(weights, rows, strict=True)), Fraction(0))
        for p, h in enumerate(noises)
    }


def _cost(
    slopes: Mapping[Symbol, Mapping[Symbol, Fraction]],
    draws: Mapping[Symbol, AlignedNoise],
    components: Faces,
) -> tuple[Fraction, bool]:
    """max over differences of Σ rate·s(d)²: at a corner, as it is convex."""
    worst, attained = Fraction(0), True
    for group in components:
        for face in group:
            bound = Fraction(0)
            for h, s in slopes.items():
                reach = max(-lowest(s, face), -lowest({j: -v for j, v in s.items()}, face))
                bound += draws[h].rate * reach * reach
            names = [j for j, (low, high) in face.items() if low != high]
            reached = bound
            if 2 ** len(names) <= _MOST_CORNERS:
                reached = max(
                    _at(
                        {
                            **{j: e[0] for j, e in face.items()},
                            **dict(zip(names, ends, strict=True)),
                        },
                        slopes,
                        draws,
                    )
                    for ends in itertools.product(*(face[j] for j in names))
                )
            if bound > worst:
                worst, attained = bound, reached == bound
    return worst, attained


def _at(
    point: Mapping[Symbol, Fraction],
    slopes: Mapping[Symbol, Mapping[Symbol, Fraction]],
    draws: Mapping[Symbol, AlignedNoise],
) -> Fraction:
    total = Fraction(0)
    for h, s in slopes.items():
        moved = sum((v * point.get(j, Fraction(0)) for j, v in s.items()), Fraction(0))
        total += draws[h].rate * moved * moved
    return total
