"""Records in the shapes in which people hold them."""

from __future__ import annotations

import numpy as np
import pytest

import dpest
from dpest import ANY, add_remove_one, replace_one, table
from dpest.ask.domain_text import parse_domain
from dpest.ask.shapes import SHAPES
from dpest.errors import InputError

CITIES = ["Berlin", "Paris"]
INSTALLED = [s for s in SHAPES if s != "polars"]


def people(n=4, **options):
    return table(n, age=(0, 120), city=CITIES, **options)


@pytest.mark.parametrize("shape", [s for s in INSTALLED if s != "matrix"])
def test_every_shape_holds_the_same_records(shape):
    domain = people(as_=shape)
    rows = domain.random(np.random.default_rng(3))
    given = domain.as_input(rows)
    domain.check(given)
    assert domain.rows(given) == rows


@pytest.mark.parametrize("shape", INSTALLED)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_tables_of_numbers_in_every_shape_and_size(shape, n):
    domain = table(ANY, age=(0, 120), pay=(0, 9), as_=shape)
    rows = [{"age": float(i), "pay": 1.0} for i in range(n)]
    given = domain.as_input(rows)
    domain.check(given)
    add_remove_one().check(given, domain.as_input([*rows, {"age": 5.0, "pay": 2.0}]))


def test_as_text():
    text = 'table(8, age=(0,120), city=["Berlin","Paris"])'
    assert parse_domain(text) == table(8, age=(0, 120), city=["Berlin", "Paris"])
    assert "any number of records" in parse_domain("table(any, city=['a'])").describe()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: table(3), "at least one field"),
        (lambda: table(3, age=5), "(low, high)"),
        (lambda: table(3, age=(9, 1)), "nothing lies between"),
        (lambda: table(3, age=(0, 1), as_="frame"), "pandas"),
        (lambda: people().check([{"age": 3.0, "city": "Rome"}] * 4), "Rome"),
        (lambda: people().check([{"age": 3.0}] * 4), "no field 'city'"),
        (lambda: people().check([{"age": 130.0, "city": "Paris"}] * 4), "outside"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value)


def by_city(df, rng, *, eps=1.0):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return [c + rng.laplace(scale=1 / eps) for c in counts]


def over_40(patients, rng, *, eps=1.0):
    return sum(p.age > 40 for p in patients) + rng.laplace(scale=0.25 / eps)


def test_the_shape_is_found_by_trying():
    verdict = dpest.audit(over_40, epsilon=1, adjacency=add_remove_one(), domain=people(3))
    assert verdict.violated
    assert verdict.lower.value == pytest.approx(4)
    assert any("as objects" in note for note in verdict.notes)


def test_a_histogram_of_a_data_frame():
    verdict = dpest.audit(
        by_city, epsilon=1, adjacency=add_remove_one(), domain=people(3, as_="pandas")
    )
    assert not verdict.violated
    assert verdict.lower.value == pytest.approx(1)
    verdict = dpest.audit(
        by_city, epsilon=1, adjacency=replace_one(), domain=people(3, as_="pandas")
    )
    assert verdict.violated
    assert verdict.lower.value == pytest.approx(2)


def test_keys_from_the_data_are_a_leak():
    def keys(df, rng):
        return {c: int(k) + rng.laplace() for c, k in df["city"].value_counts().items()}

    verdict = dpest.audit(
        keys, epsilon=1, adjacency=add_remove_one(), domain=people(3, as_="pandas")
    )
    assert verdict.violated


def test_records_that_are_strings():
    def count(people, rng):
        return sum(p == "Paris" for p in people) + rng.laplace()

    domain = parse_domain('records(3, values=["Berlin", "Paris"])')
    verdict = dpest.audit(count, epsilon=1, adjacency=replace_one(), domain=domain)
    assert verdict.lower.value == pytest.approx(1)
    assert not verdict.violated


def test_a_function_that_takes_no_shape_is_refused():
    def wrong(x, rng):
        return x["nothing"].there + rng.laplace()

    with pytest.raises(InputError, match="none of the other shapes"):
        dpest.audit(wrong, epsilon=1, adjacency=replace_one(), domain=people())
