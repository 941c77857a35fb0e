"""Records that are assigned to the nearest of public centres, and other readings by cases."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

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


CITIES = ["a", "b", "c"]
PEOPLE = dpest.table(dpest.ANY, city=CITIES, age=(0, 120), pay=(0, 1000))


def lists_by_city(rows, rng):
    by = defaultdict(list)
    for r in rows:
        by[r["city"]].append(min(r["pay"], 50))
    return [
        (sum(by[c]) + rng.laplace(0, 100)) / max(1, len(by[c]) + rng.laplace(0, 2)) for c in CITIES
    ]


def place_of_city(rows, rng):
    counts = [0] * 3
    for r in rows:
        counts[CITIES.index(r["city"])] += 1
    return [c + rng.laplace(0, 1) for c in counts]


def by_decade(rows, rng):
    counts = [0] * 13
    for r in rows:
        counts[int(r["age"] // 10)] += 1
    return [c + rng.laplace(0, 1) for c in counts]


def anybody(rows, rng):
    return int(any(r["age"] > 100 for r in rows)) + rng.laplace(0, 1)


def everybody(rows, rng):
    return float(all(r["age"] > 18 for r in rows)) + rng.laplace(0, 1)


@pytest.mark.parametrize("function", [lists_by_city, place_of_city, by_decade, anybody, everybody])
def test_groups_places_and_quantifiers(function):
    assert bound(function, PEOPLE) == 1
    assert bound(function, PEOPLE, "replace_one") <= 2


def cities_that_occur(rows, rng):
    by = defaultdict(list)
    for r in rows:
        by[r["city"]].append(1)
    return {c: sum(v) + rng.laplace(0, 1) for c, v in by.items()}


def how_many_cities(rows, rng):
    by = defaultdict(list)
    for r in rows:
        by[r["city"]].append(1)
    return len(by)


def in_two_lists(rows, rng):
    by = defaultdict(list)
    for r in rows:
        by[r["city"]].append(1)
        by["a"].append(1)
    return [sum(by[c]) + rng.laplace(0, 1) for c in CITIES]


def first_of_a_city(rows, rng):
    by = defaultdict(list)
    for r in rows:
        by[r["city"]].append(min(r["pay"], 1))
    return by["a"][0] + rng.laplace(0, 1)


def whether_anybody(rows, rng):
    return any(r["age"] > 100 for r in rows)


def if_anybody(rows, rng):
    if any(r["age"] > 100 for r in rows):
        return 0.0
    return rng.laplace(0, 1)


@pytest.mark.parametrize(
    "function",
    [
        cities_that_occur, how_many_cities, in_two_lists, first_of_a_city, whether_anybody,
        if_anybody,
    ],
)  # fmt: skip
def test_what_groups_and_quantifiers_show_without_noise(function):
    with pytest.raises(DpestError):
        bound(function, PEOPLE)


def trimmed_sum(xs, rng):
    kept = sorted(min(max(x, 0.0), 10.0) for x in xs)[1:-1]
    return sum(kept) + rng.laplace(0, 10)


def third(xs, rng):
    return sorted(xs)[2] + rng.laplace(0, 10)


def every_second(xs, rng):
    return sum(sorted(xs)[::2]) + rng.laplace(0, 10)


def of_one_length(function, adjacency="replace_one"):
    question = asked(function, adjacency, 5, None, None, dpest.reals(5, 0, 10), None, None)
    return prove_contributions(question, Measure("epsilon"), None).bound


def test_places_of_the_sorted_data_and_their_sums():
    assert of_one_length(trimmed_sum) == 1
    assert of_one_length(third) == 1
    for function in (every_second, trimmed_sum):
        with pytest.raises(DpestError):
            of_one_length(function, "add_remove_one")
    with pytest.raises(DpestError):
        of_one_length(every_second)


def shares(points, rng):
    table = np.zeros((2, 2))
    for p in points:
        table[int(p >= 5), int(p >= 8)] += 1
    noisy = np.maximum(table + rng.laplace(0, 1, size=(2, 2)), 0.5)
    return noisy / noisy.sum(axis=1, keepdims=True)


def test_sums_along_an_axis_keep_it_where_that_is_said():
    assert bound(shares) == 1
