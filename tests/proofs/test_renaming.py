"""Regions that are equal up to names are solved once, with the same answer as one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpest import zoo
from dpest.geometry.linear import Symbol
from dpest.proofs import prove
from dpest.proofs.alignments import planning
from dpest.proofs.alignments.alignment import (
    AlignedNoise,
    Change,
    Problem,
    align,
    cost_at,
    dual_bound,
)
from dpest.proofs.alignments.renaming import Costs, named, renamed


def noise(i):
    return Symbol("noise", f"h{i}")


def score(i):
    return Symbol("input", f"q{i}")


def winner(i, n, rate=Fraction(1, 2), released=False):
    """Candidate i beats all others."""
    keep = [
        Change(
            {noise(i): Fraction(1), noise(k): Fraction(-1)},
            {score(i): Fraction(1), score(k): Fraction(-1)},
        )
        for k in range(n)
        if k != i
    ]
    pin = [Change({noise(i): Fraction(1)}, {score(i): Fraction(1)})] if released else []
    return Problem({noise(k): AlignedNoise("absolute", rate) for k in range(n)}, keep, pin)


def box(n, low=-1, high=1):
    return {score(k): (Fraction(low), Fraction(high)) for k in range(n)}


def test_every_winner_asks_the_same():
    names = [named(winner(i, 6), box(6)) for i in range(6)]
    assert len({name.key for name in names}) == 1


def test_what_differs_has_another_key():
    base = named(winner(0, 4), box(4)).key
    assert named(winner(0, 4, Fraction(1, 3)), box(4)).key != base
    assert named(winner(0, 4), box(4, 0, 1)).key != base
    assert named(winner(0, 4, released=True), box(4)).key != base
    one = {**box(4), score(0): (Fraction(0), Fraction(1))}
    other = {**box(4), score(1): (Fraction(0), Fraction(1))}
    assert named(winner(0, 4), one).key != named(winner(0, 4), other).key


@pytest.mark.parametrize("released", [False, True])
def test_an_answer_under_other_names_is_an_answer(released):
    n = 5
    first, face = winner(0, n, released=released), box(n)
    found = align(first, face)
    for i in range(1, n):
        problem = winner(i, n, released=released)
        moved = renamed(found, named(first, face), named(problem, face))
        assert moved.cost == align(problem, face).cost
        ends = [dict.fromkeys(face, Fraction(v)) for v in (-1, 1)]
        ends += [{**ends[0], score(k): Fraction(1)} for k in range(n)]
        for point in ends:
            shift = {
                s: a.constant + sum(c * point[j] for j, c in a.slopes.items())
                for s, a in moved.shifts.items()
            }
            for change in problem.keep:
                assert change.at(point) + sum(c * shift[s] for s, c in change.noise.items()) >= 0
            for change in problem.pin:
                assert change.at(point) + sum(c * shift[s] for s, c in change.noise.items()) == 0
            assert sum(abs(v) / 2 for v in shift.values()) <= moved.cost


def test_costs_and_multipliers_under_other_names():
    n, costs = 5, Costs()
    for i in range(n):
        problem = winner(i, n, released=True)
        point = {score(k): Fraction(1 if k != i else -1) for k in range(n)}
        assert costs(problem, point).cost == cost_at(problem, point).cost
        shared, own = dual_bound(problem, point, costs), dual_bound(problem, point)
        assert shared is not None
        assert own is not None
        assert shared.value == own.value
    assert len(costs.known) == 1


@pytest.mark.parametrize(
    ("name", "length"),
    [("NoisyMaxSum", 6), ("NoisyMaxGap", 4), ("SVT1", 4), ("ReportNoisyMax2", 5)],
)
def test_proofs_are_those_without_sharing(name, length, monkeypatch):
    shared = prove(zoo.get(name), length=length)
    numbers = iter(range(10**6))

    def unshared(problem, face):
        from dataclasses import replace

        found = named(problem, face)
        return replace(found, key=next(numbers))

    monkeypatch.setattr(planning, "named", unshared)
    apart = prove(zoo.get(name), length=length)
    assert shared.bound == apart.bound
    assert shared.status == apart.status
