"""Tables and what people do with them: right ones are proved, and none that leaks is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpest
from dpest.ask.declaration import as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked
from soundness.frames import CITIES, PUBLIC_N, TRAPS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))
from pandas_mechanisms import BUGS, PEOPLE, RIGHT

ROWS = f"table(any, {PEOPLE}, as_='pandas')"


def bound(function: Callable[..., Any], domain: str, adjacency: str = "add_remove_one") -> float:
    """The proved ε; infinite where there is no proof."""
    inputs = parse_domain(domain)
    question = asked(
        as_mechanism(function), adjacency, inputs.length, None, None, inputs, None, inputs.form
    )
    try:
        proof = prove_contributions(question, Measure(), 1.0)
    except DpestError:
        return float("inf")
    assert proof.bound is not None
    return float(proof.bound)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_is_proved(name: str) -> None:
    assert bound(RIGHT[name], ROWS) == pytest.approx(1.0)


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("name", RIGHT)
def test_with_a_bug_it_is_not(name: str, bug: str) -> None:
    plant, fields = BUGS[bug]
    assert bound(plant(RIGHT[name]), f"table(any, {fields}, as_='pandas')") > 1.5


@pytest.mark.parametrize("trap", TRAPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("adjacency", ["add_remove_one", "replace_one"])
def test_a_trap_is_not_proved(trap: Callable[..., Any], adjacency: str) -> None:
    if trap in PUBLIC_N and adjacency == "replace_one":
        pytest.skip("it is right where everybody knows how many there are")
    assert bound(trap, TRAPS[trap], adjacency) > 1.5


# What pandas has besides -------------------------------------------------------------------------

AGES = ["young", "grown", "old"]


def a_frame_is_given(df, rng):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return pd.DataFrame({"city": CITIES, "count": counts.to_numpy() + rng.laplace(0, 1, size=3)})


def cut_and_reindexed(df, rng):
    ages = pd.cut(df["age"], bins=[0, 18, 65, 120], labels=AGES, include_lowest=True)
    return ages.value_counts().reindex(AGES, fill_value=0) + rng.laplace(0, 1, size=3)


def cut_in_order(df, rng):
    ages = pd.cut(df["age"], bins=[0, 18, 65, 121], labels=AGES, right=False)
    return (ages.value_counts(sort=False) + rng.laplace(0, 1, size=3)).to_dict()


def queried(df, rng):
    return len(df.query("18 <= age < 65 and city == 'Paris'").index) + rng.laplace(0, 1)


def named_totals(df, rng):
    capped = df.assign(income=df["income"].clip(0, 100))
    table = capped.groupby("city").agg(n=("income", "size"), total=("income", "sum"))
    table = table.reindex(CITIES, fill_value=0)
    table["n"] = table["n"] + rng.laplace(0, 2, size=3)
    table["total"] = table.total + rng.laplace(0, 200, size=3)
    table["mean"] = table["total"] / table["n"].clip(lower=1)
    return table


def totals_by_a_dict(df, rng):
    df["income"] = df["income"].clip(0, 100)
    table = df.groupby("city").agg({"income": "sum", "age": "count"}).reindex(CITIES).fillna(0)
    sums = table["income"] + rng.laplace(0, 200, size=3)
    return sums.to_dict(), table["age"] + rng.laplace(0, 2, size=3)


def totals_of_two_columns(df, rng):
    capped = df[["age", "income"]].clip(0, 100).assign(city=df["city"])
    sums = capped.groupby("city")[["age", "income"]].sum().reindex(CITIES, fill_value=0)
    return (sums + rng.laplace(0, 200, size=(3, 2))).round(1)


@pytest.mark.parametrize(
    "function",
    [
        a_frame_is_given, cut_and_reindexed, cut_in_order, queried, named_totals,
        totals_by_a_dict, totals_of_two_columns,
    ],
)  # fmt: skip
def test_more_of_pandas(function: Callable[..., Any]) -> None:
    assert bound(function, ROWS) == pytest.approx(1.0)


def cut_by_count(df, rng):
    ages = pd.cut(df["age"], bins=[-1, 18, 65, 120], labels=AGES)
    return ages.value_counts() + rng.laplace(0, 1, size=3)


def text_of_a_column(df, rng):
    return len(df.query("income > @df.income.mean()")) + rng.laplace(0, 1)


@pytest.mark.parametrize("function", [cut_by_count, text_of_a_column])
def test_an_order_by_counts_is_not_proved(function: Callable[..., Any]) -> None:
    assert bound(function, ROWS) == float("inf")


# Shapes ------------------------------------------------------------------------------------------


def of_dicts(rows, rng):
    return sum(min(r["income"], 10.0) for r in rows if r["city"] == "Rome") + rng.laplace(0, 10)


def of_objects(rows, rng):
    return sum(min(r.income, 10.0) for r in rows if r.city == "Rome") + rng.laplace(0, 10)


def of_tuples(rows, rng):
    total = 0.0
    for age, city, income in rows:
        if city in ("Rome", "Paris") and age > 20:
            total += min(income, 10.0)
    return total + rng.laplace(0, 10)


def of_columns(table, rng):
    import numpy as np

    rome = table["city"] == "Rome"
    return np.clip(table["income"][rome], 0, 10).sum() + rng.laplace(0, 10)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (of_dicts, "dicts"), (of_objects, "objects"), (of_objects, "namedtuples"),
        (of_tuples, "tuples"), (of_tuples, "namedtuples"), (of_columns, "structured"),
        (of_columns, "columns"), (of_columns, "pandas"),
    ],
)  # fmt: skip
def test_every_shape_is_proved(function: Callable[..., Any], shape: str) -> None:
    assert bound(function, f"table(any, {PEOPLE}, as_='{shape}')") == pytest.approx(1.0)


def of_rows(matrix, rng):
    import numpy as np

    norms = np.linalg.norm(matrix, axis=1)
    scaled = matrix / np.maximum(norms, 1.0)[:, None]
    return scaled.sum(axis=0) + rng.laplace(0, 4, size=2)


def test_rows_of_a_matrix() -> None:
    assert bound(of_rows, "table(any, a=(-5, 5), b=(-5, 5), as_='matrix')") <= 1.0


# Counts by public keys ---------------------------------------------------------------------------


def by_get(cities, rng):
    counts = {}
    for c in cities:
        counts[c] = counts.get(c, 0) + 1
    return [counts.get(c, 0) + rng.laplace(0, 1) for c in CITIES]


def by_counter(cities, rng):
    from collections import Counter

    counts = Counter(cities)
    return {c: round(counts[c] + rng.laplace(0, 1)) for c in CITIES}


def by_defaultdict(cities, rng):
    from collections import defaultdict

    counts = defaultdict(int)
    for c in cities:
        counts[c] += 1
    return {c: counts[c] + rng.laplace(0, 1) for c in CITIES}


def by_count(cities, rng):
    return [cities.count(c) + rng.laplace(0, 1) for c in CITIES]


@pytest.mark.parametrize("function", [by_get, by_counter, by_defaultdict, by_count])
def test_counts_by_public_keys(function: Callable[..., Any]) -> None:
    domain = "records(any, values=['Berlin', 'Paris', 'Rome'])"
    assert bound(function, domain) == pytest.approx(1.0)
    assert bound(function, domain, "replace_one") == pytest.approx(2.0)


# People ------------------------------------------------------------------------------------------

OWN = f"table(any, {PEOPLE}, user='id', rows_each=3, as_='pandas')"


def every_row(df, rng):
    return df["income"].clip(0, 10).sum() + rng.laplace(0, 30)


def one_row_each(df, rng):
    return df.drop_duplicates("id")["income"].clip(0, 10).sum() + rng.laplace(0, 10)


def capped_sums(df, rng):
    return df.groupby("id")["income"].sum().clip(0, 20).sum() + rng.laplace(0, 20)


def rows_and_people(df, rng):
    total = df.groupby("id")["income"].mean().clip(0, 20).sum() + rng.laplace(0, 40)
    return len(df) + rng.laplace(0, 6), total


@pytest.mark.parametrize("function", [every_row, one_row_each, capped_sums, rows_and_people])
@pytest.mark.parametrize("adjacency", ["add_remove_one", "replace_one"])
def test_people_with_several_rows(function: Callable[..., Any], adjacency: str) -> None:
    assert bound(function, OWN, adjacency) == pytest.approx(1.0)


def test_a_person_is_added_at_the_end() -> None:
    domain = parse_domain("table(any, x=(0, 1), user='id', rows_each=2)")
    one, two = ({"x": 0.0},), ({"x": 1.0}, {"x": 0.5})
    rule = dpest.add_remove_one()
    assert rule.holds([one], [one, two], domain)
    assert not rule.holds([one], [two, one], domain)  # then the first one's number changes
    assert not rule.holds([one], [one, two, two], domain)
    assert not domain.contains([({"x": 0.0},) * 3])
    assert domain.as_input([one, two]) == [
        {"id": 0, "x": 0.0}, {"id": 1, "x": 1.0}, {"id": 1, "x": 0.5},
    ]  # fmt: skip


# Missing values ----------------------------------------------------------------------------------

MAYBE = "table(any, income=reals(0, 1000, nan=True), as_='pandas')"


def skipped(df, rng):
    return df["income"].clip(0, 10).sum() + rng.laplace(0, 10)


def filled(df, rng):
    import numpy as np

    return np.clip(df["income"].fillna(0).to_numpy(), 0, 10).sum() + rng.laplace(0, 10)


def python_drops_it(df, rng):
    return sum(min(max(0.0, v), 10.0) for v in df["income"]) + rng.laplace(0, 10)


@pytest.mark.parametrize("function", [skipped, filled, python_drops_it])
def test_missing_values_that_are_handled(function: Callable[..., Any]) -> None:
    assert bound(function, MAYBE) == pytest.approx(1.0)


def test_nan_is_in_a_domain_only_where_it_is_said() -> None:
    import math

    assert parse_domain("reals(2, 0, 1, nan=True)").contains([0.5, math.nan])
    assert not parse_domain("reals(2, 0, 1)").contains([0.5, math.nan])


# Certificates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "domain"), [(RIGHT["by_city"], ROWS), (capped_sums, OWN), (skipped, MAYBE)]
)
def test_a_certificate_is_read_again(function: Callable[..., Any], domain: str) -> None:
    from dpest import kernel
    from dpest.proofs.rebuilding import differences

    inputs = parse_domain(domain)
    question = asked(
        as_mechanism(function), "add_remove_one", dpest.ANY, None, None, inputs, None, inputs.form
    )
    proof = prove_contributions(question, Measure(), 1.0)
    assert proof.certificate is not None
    assert differences(proof.certificate, function) == []
    assert "people" in str(kernel.check(proof.certificate)) or domain is not OWN


def _certificate(function: Callable[..., Any], domain: str) -> dict[str, Any]:
    inputs = parse_domain(domain)
    question = asked(
        as_mechanism(function), "add_remove_one", dpest.ANY, None, None, inputs, None, inputs.form
    )
    found = prove_contributions(question, Measure(), 1.0).certificate
    assert found is not None
    return dict(found)


def _without(certificate: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in certificate.items() if k not in keys}


def test_people_of_a_certificate_can_not_be_left_out() -> None:
    from dpest import kernel
    from dpest.proofs.certificates import sealed

    made = _certificate(every_row, OWN)
    kernel.check(made)
    forged = [
        _without(made, "rows_each", "user"),  # then the passes over rows are nobody's
        {**made, "rows_each": 2},
        {**made, "rows_each": 0},
        {**made, "user": ""},
    ]
    for one in forged:
        with pytest.raises(kernel.Invalid):
            kernel.check(sealed(_without(one, "digest")))


def test_values_of_a_certificate_are_as_many_as_its_places() -> None:
    from dpest import kernel
    from dpest.proofs.certificates import sealed

    made = _certificate(RIGHT["by_city"], ROWS)
    assert "{'Berlin', 'Paris', 'Rome'}" in str(kernel.check(made))
    city = next(c for c in made["columns"] if "values" in c)
    for values in (["'Berlin'", "'Paris'"], ["'Berlin'"] * 3, []):
        columns = [{**c, "values": values} if c is city else c for c in made["columns"]]
        with pytest.raises(kernel.Invalid):
            kernel.check(sealed(_without({**made, "columns": columns}, "digest")))


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    plant, fields = BUGS[bug]
    verdict = dpest.audit(
        plant(RIGHT["total_income"]),
        epsilon=1.0,
        adjacency="add_remove_one",
        domain=f"table(any, {fields}, as_='pandas')",
        seed=1,
    )
    assert verdict.status == "violated"


def rng_before_data(rng, data, *, epsilon=1.0):
    return sum(data) + rng.laplace(0, 1 / epsilon)


def test_the_data_may_come_after_rng() -> None:
    verdict = dpest.audit(
        rng_before_data, epsilon=1.0, adjacency="replace_one", domain="integers(4, 0, 1)"
    )
    assert verdict.status == "exact"
    assert dpest.prove(rng_before_data, adjacency="replace_one", domain="integers(4, 0, 1)").bound
