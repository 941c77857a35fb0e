"""Points drawn by the exponent of their density: the lemma in numbers, and forged certificates."""

from __future__ import annotations

import copy
import itertools
import math
import random
from fractions import Fraction

import pytest

from dpest import kernel
from dpest.kernel.approximate.accountant import pure_bound
from dpest.kernel.rules.contributions import ledger_of
from dpest.proofs.certificates import sealed
from kernel.examples import certificate

RANK, COUNT = 2, 3  # the places of two sums among the terms


def model(exponent, terms=(), **changes):
    """One pass: whether a record lies below a point, and that it is there."""
    record, point = ["field", None, ""], ["pub", 1, 0]
    below = [[">=", ["0", [[0, "-1"], [1, "1"]]]], [">", ["0", [[0, "1"], [1, "-1"]]]]]
    cases = [
        {"if": [below[0]], "adds": [["1", []], ["1", []]]},
        {"if": [below[1]], "adds": [["0", []], ["1", []]]},
    ]
    row = {"point": exponent, "low": "0", "high": "1"}
    way = {
        "terms": [record, point, ["sum", 0, 0], ["sum", 0, 1], *terms],
        "noises": [],
        "passes": [{"made": 0, "cases": cases}],
        "rows": [row],
        "gates": [],
        **changes,
    }
    columns = [{"name": "", "low": "0", "high": "1", "whole": False}]
    return {"apart": False, "columns": columns, "ways": [way]}


def quantile(q, slope):
    """−slope·|rank − q·n|."""
    return model(
        ["0", [[4, str(-slope)]]], [["abs", ["0", [[RANK, "1"], [COUNT, str(-Fraction(q))]]]]]
    )


def bound(found, adjacency):
    return pure_bound(ledger_of(found, adjacency, math.inf, None))


def log_density(score, data, point):
    """Of a point, exactly but for rounding: pieces of [0, 1] between the records."""
    edges = [0.0, *sorted(data), 1.0]
    pieces = list(itertools.pairwise(edges))
    mass = math.fsum(math.exp(score(i, len(data))) * (b - a) for i, (a, b) in enumerate(pieces))
    return score(sum(v <= point for v in data), len(data)) - math.log(mass)


def neighbours(source, adjacency):
    values = [0.0, 0.25, 0.5, 1.0, *(source.random() for _ in range(3))]
    data = [source.choice(values) for _ in range(source.randint(1, 8))]
    if adjacency == "replace_one":
        return data, [*data[:-1], source.choice(values)]
    return data, data[:-1]


def largest_loss(score, adjacency, seed, trials=400):
    source = random.Random(seed)
    worst = 0.0
    for _ in range(trials):
        first, second = neighbours(source, adjacency)
        cuts = sorted({0.0, 1.0, *first, *second})
        for a, b in itertools.pairwise(cuts):
            loss = log_density(score, first, (a + b) / 2) - log_density(score, second, (a + b) / 2)
            worst = max(worst, abs(loss))
    return worst


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize(("q", "slope"), [("1/2", 1), ("1/4", 2), ("9/10", "1/3"), ("1", 1)])
def test_no_density_moves_by_more_than_the_bound(q, slope, adjacency):
    q, slope = Fraction(q), Fraction(slope)
    found = bound(quantile(q, slope), adjacency)
    assert found == 2 * slope * (1 if adjacency == "replace_one" else max(q, 1 - q))

    def score(i, n):
        return float(-slope * abs(i - q * n))

    worst = largest_loss(score, adjacency, seed=3)
    assert 0.2 * float(found) < worst <= float(found) + 1e-9


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove_one"])
def test_a_record_lies_below_some_points_and_above_others(adjacency):
    """In each case alone all points' scores move alike: that says nothing about all cases."""
    found = bound(model(["0", [[RANK, "1"]]]), adjacency)
    assert found == (2 if adjacency == "replace_one" else 1)
    assert 0.2 < largest_loss(lambda i, n: float(i), adjacency, seed=4) <= float(found)


def test_what_all_points_share_costs_nothing():
    assert bound(model(["0", [[COUNT, "5"]]]), "add_remove_one") == 0


def test_the_greater_of_several_scores_moves_no_more_than_one_of_them():
    ends = ["max", ["0", [[RANK, "-1"]]], ["0", [[RANK, "1/2"]]]]
    assert bound(model(["0", [[4, "1"]]], [ends]), "replace_one") == 2


# Forged ones


def refused(whole):
    with pytest.raises(kernel.Invalid) as reason:
        kernel.check(sealed(whole))
    return str(reason.value)


def test_the_certificate_of_a_median():
    found = kernel.check(certificate("point"))
    assert (found.bound, found.measure) == (1, "epsilon")


def test_less_than_it_costs_is_refused():
    whole = certificate("point")
    assert "costs more" in refused({**whole, "epsilon": "999/1000"})
    whole = copy.deepcopy(whole)
    whole["ways"][0]["rows"][0]["point"][1][0][1] = "-3/5"
    assert "costs more" in refused(whole)


@pytest.mark.parametrize(("low", "high"), [("10", "10"), ("10", "0")])
def test_a_point_of_nothing_is_refused(low, high):
    whole = certificate("point")
    whole["ways"][0]["rows"][0] |= {"low": low, "high": high}
    assert "a point of nothing" in refused(whole)


@pytest.mark.parametrize("name", ["linf", "l1", "monotone"])
def test_records_that_all_move_are_refused(name):
    whole = certificate("point")
    refused({**whole, "adjacency": {"name": name, "radius": "1"}})


def test_exponents_that_one_record_moves_without_bound_are_refused():
    rank = ["0", [[RANK, "1"]]]
    for term in (["mul", rank, rank], ["exp", rank], ["floor", rank]):
        with pytest.raises(kernel.Invalid):
            bound(model(["0", [[4, "1"]]], [term]), "replace_one")
    with pytest.raises(kernel.Invalid):
        bound(model(["0", [[0, "1"]]]), "replace_one")  # the record itself


def test_points_know_neither_noise_nor_several_exponents():
    row = {"point": ["0", [[RANK, "1"]]], "low": "0", "high": "1"}
    for more in ({"noises": []}, {"exponents": [["0", []]]}):
        with pytest.raises(kernel.Invalid):
            bound(model(row["point"], rows=[{**row, **more}]), "replace_one")


def test_people_with_several_rows_are_refused():
    found = quantile("1/2", 1)
    found["ways"][0]["passes"][0]["times"] = 2
    with pytest.raises(kernel.Invalid, match="other data than single records"):
        bound({**found, "rows_each": 2, "user": "who"}, "add_remove_one")


def test_samples_are_refused():
    found = quantile("1/2", 1)
    for case in found["ways"][0]["passes"][0]["cases"]:
        case["if"].append(["heads", "coin 0", "1/2"])
    nobody = {"if": [["tails", "coin 0", "1/2"]], "adds": [["0", []], ["0", []]]}
    found["ways"][0]["passes"][0]["cases"].append(nobody)
    with pytest.raises(kernel.Invalid, match="other data than single records"):
        bound(found, "add_remove_one")


def test_a_sum_that_is_made_later_is_refused():
    found = quantile("1/2", 1)
    found["ways"][0]["passes"][0]["made"] = 1
    with pytest.raises(kernel.Invalid):
        bound(found, "replace_one")


def test_a_record_that_is_in_no_case_is_refused():
    whole = certificate("point")
    del whole["ways"][0]["passes"][0]["cases"][0]
    assert "in none of them" in refused(whole)
