from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import Premises, between, entails, farkas, feasible
from dpest.geometry.simplex import _by_floats, _by_rationals, is_point

SYMBOLS = [Symbol("noise", name) for name in "abcdefgh"]


def random_conditions(rng: random.Random, count: int, symbols: int) -> list[Condition]:
    found = []
    for _ in range(count):
        chosen = rng.sample(SYMBOLS[:symbols], rng.randint(1, symbols))
        form = Form(
            {s: Fraction(rng.randint(-3, 3), rng.randint(1, 3)) for s in chosen},
            Fraction(rng.randint(-4, 4)),
        )
        found.append(Condition(form, rng.choice([">=", ">", ">=", ">", "==", "!="])))
    return found


def by_z3(conditions: list[Condition]) -> bool:
    z3 = pytest.importorskip("z3")
    solver = z3.Solver()
    names = {s: z3.Real(s.name) for s in SYMBOLS}
    for condition in conditions:
        term = z3.RealVal(str(condition.form.constant))
        for symbol, coefficient in condition.form.terms.items():
            term = term + z3.RealVal(str(coefficient)) * names[symbol]
        relations = {">=": term >= 0, ">": term > 0, "==": term == 0, "!=": term != 0}
        solver.add(relations[condition.relation])
    return solver.check() == z3.sat


@pytest.mark.parametrize("seed", range(300))
def test_feasibility_agrees_with_z3_and_gives_a_point_or_multipliers(seed: int) -> None:
    rng = random.Random(seed)
    symbols = rng.randint(1, 5)
    conditions = random_conditions(rng, rng.randint(1, 9), symbols)
    point = feasible(conditions)
    assert (point is not None) == by_z3(conditions)
    if point is not None:
        assert all(c.holds(point) for c in conditions)
    plain = [c for c in conditions if c.relation != "!="]
    if feasible(plain) is None:
        weights = farkas(plain, None)
        assert weights is not None
        check_contradiction(plain, weights)
    else:
        assert farkas(plain, None) is None


def check_contradiction(conditions: list[Condition], weights: dict[int, Fraction]) -> None:
    total = Form()
    strict = False
    for i, weight in weights.items():
        assert weight >= 0 or conditions[i].relation == "=="
        total = total.plus(conditions[i].form, weight)
        strict |= conditions[i].strict and weight > 0
    assert total.is_constant
    assert total.constant < 0 or (strict and total.constant == 0)


@pytest.mark.parametrize("seed", range(100))
def test_entailment_and_its_multipliers(seed: int) -> None:
    rng = random.Random(1000 + seed)
    conditions = [c for c in random_conditions(rng, 6, 3) if c.relation != "!="]
    goals = [c for c in random_conditions(rng, 6, 3) if c.relation in (">=", ">")]
    premises = Premises(conditions)
    for goal in goals:
        answer = not by_z3([*conditions, goal.negated()])
        assert entails(conditions, goal) == answer
        assert premises.entails(goal) == answer
        weights = farkas(conditions, goal)
        if not answer:
            assert weights is None
        if weights is not None:
            rest = goal.form
            strict = False
            for i, weight in weights.items():
                assert weight >= 0 or conditions[i].relation == "=="
                rest = rest.plus(conditions[i].form, -weight)
                strict |= conditions[i].strict and weight > 0
            assert rest.is_constant
            assert rest.constant > 0 or (rest.constant == 0 and (strict or not goal.strict))
        elif answer:
            assert not premises.consistent


@pytest.mark.parametrize("seed", range(60))
def test_simplex_alone_agrees_with_elimination(seed: int) -> None:
    rng = random.Random(seed)
    conditions = [
        c
        for c in random_conditions(rng, rng.randint(2, 12), 6)
        if c.relation in (">=", ">") and c.form.terms
    ]
    if not conditions:
        return
    rows = [[c.form.terms.get(s, Fraction(0)) for s in SYMBOLS] for c in conditions]
    constants = [c.form.constant for c in conditions]
    strict = [c.strict for c in conditions]
    expected = feasible(conditions) is not None
    for method in (_by_rationals, _by_floats):
        answer = method(rows, constants, strict)
        if answer is None:
            assert method is _by_floats
            continue
        weights, point = answer
        assert (point is not None) == expected
        if point is not None:
            assert is_point(rows, constants, strict, point)
        else:
            assert weights is not None
            check_contradiction(conditions, dict(enumerate(weights)))


def test_the_border_of_a_hair_is_decided_exactly() -> None:
    x = Symbol("noise", "x")
    tiny = Fraction(1, 10**40)
    low = Condition(Form({x: Fraction(1)}, -1 - tiny), ">=")
    high = Condition(Form({x: Fraction(-1)}, Fraction(1)), ">=")
    assert feasible([low, high]) is None
    assert feasible([Condition(Form({x: Fraction(1)}, tiny - 1), ">="), high]) is not None


def test_between_is_inside_and_short() -> None:
    rng = random.Random(5)
    for _ in range(200):
        a = Fraction(rng.randint(-50, 50), rng.randint(1, 40))
        b = a + Fraction(1, rng.randint(1, 400))
        middle = between(a, b)
        assert a < middle < b
        assert middle.denominator <= 801
