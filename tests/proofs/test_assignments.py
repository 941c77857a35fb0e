"""Records that are assigned to the nearest of public centres, and other readings by cases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import dpest
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked

POINTS = dpest.reals(dpest.ANY, 0, 10)
ROWS = dpest.table(dpest.ANY, a=(0, 1), b=(0, 1))


def bound(function, domain=POINTS, adjacency="add_remove_one"):
    question = asked(function, adjacency, dpest.ANY, None, None, domain, None, None)
    return prove_contributions(question, Measure("epsilon"), None).bound


def two_rounds(points, rng):
    centres = [2.0, 7.0]
    for _ in range(2):
        sums, counts = np.zeros(2), np.zeros(2)
        for p in points:
            j = int(np.argmin([abs(p - c) for c in centres]))
            sums[j] += p
            counts[j] += 1
        sums += rng.laplace(0, 40, size=2)
        counts += rng.laplace(0, 4, size=2)
        centres = [s / max(c, 1.0) for s, c in zip(sums, counts, strict=True)]
    return centres


def nearest_by_key(points, rng):
    centres, sums = [2.0, 7.0, 9.0], [0.0] * 3
    for p in points:
        sums[min(range(3), key=lambda i: abs(p - centres[i]))] += p
    return [s + rng.laplace(0, 10) for s in sums]


def nearest_in_arrays(points, rng):
    x, centres = np.asarray(points), np.array([2.0, 7.0])
    labels = np.argmin(np.abs(x[:, None] - centres), axis=1)
    return np.bincount(labels, minlength=2) + rng.laplace(0, 1, size=2)


def decades(points, rng):
    counts = [0] * 6
    for p in points:
        counts[int(p / 2)] += 1
    return [c + rng.laplace(0, 1) for c in counts]


def below_zero(points, rng):
    counts = {-1: 0, 0: 0, 1: 0}
    for p in points:
        counts[int((p - 5) / 4)] += 1
    return [c + rng.laplace(0, 1) for c in counts.values()]


@pytest.mark.parametrize(
    "function", [two_rounds, nearest_by_key, nearest_in_arrays, decades, below_zero]
)
def test_a_record_is_in_one_place(function):
    assert bound(function) == 1


def nearest_and_second(points, rng):
    counts = [0, 0, 0]
    for p in points:
        near = [abs(p - c) for c in (2.0, 7.0, 9.0)]
        counts[int(np.argmin(near))] += 1
        counts[int(np.argmax(near))] += 1
    return [c + rng.laplace(0, 1) for c in counts]


def test_a_record_in_two_places_costs_twice():
    assert bound(nearest_and_second) == 2


def private_centres(points, rng):
    centre = sum(points)
    near = 0
    for p in points:
        near += int(np.argmin([abs(p - centre), abs(p - 1.0)]))
    return near + rng.laplace(0, 1)


def test_centres_that_are_private_are_refused():
    with pytest.raises(DpestError):
        bound(private_centres)


def stacked(rows, rng):
    x = np.array([[r["a"], r["b"]] for r in rows]).reshape(-1, 2)
    return x.sum(axis=0) + rng.laplace(0, 2, size=2)


def as_a_column(rows, rng):
    x = np.array([r["a"] for r in rows]).reshape(-1, 1)
    return x.sum(axis=0) + rng.laplace(0, 1, size=1)


def flattened(rows, rng):
    x = np.array([[r["a"], r["b"]] for r in rows]).reshape(-1)
    return x.sum() + rng.laplace(0, 1)


def test_rows_are_reshaped_to_rows():
    assert bound(stacked, ROWS) == 1
    assert bound(as_a_column, ROWS) == 1
    with pytest.raises(DpestError):
        bound(flattened, ROWS)


@dataclasses.dataclass
class Report:
    total: float
    note: str = "ok"


def reported(points, rng):
    return dataclasses.asdict(Report(len(points) + rng.laplace(0, 1)))


def reported_exactly(points, rng):
    return vars(Report(len(points) + rng.laplace(0, 1), f"{len(points)}"))


def lines(points, rng):
    low = sum(1 for p in points if p < 5) + rng.laplace(0, 1)
    high = sum(1 for p in points if p >= 5) + rng.laplace(0, 1)
    return "\n".join(f"{name},{n:.1f}" for name, n in (("low", low), ("high", high)))


def test_reports_and_lines_of_text():
    assert bound(reported) == 1
    assert bound(lines) == 1
    with pytest.raises(DpestError):
        bound(reported_exactly)
