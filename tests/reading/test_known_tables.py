"""Tables at one input: their library computes what has no noise in it, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpest.errors import UntraceableError
from dpest.reading.trace import trace


def people() -> pd.DataFrame:
    return pd.DataFrame({"age": [10.0, 200.0, 30.0], "city": ["a", "b", "a"]})


def total(table, rng):
    return table["age"].clip(0, 120).sum() + rng.laplace(scale=100)


def counts(table, rng):
    return {city: len(group) + rng.laplace() for city, group in table.groupby("city")}


def rows(table, rng):
    capped = sum(min(row.age, 50) for row in table.itertuples())
    older = table[table["age"] > 20]
    return capped + len(older) + rng.laplace(), float(np.mean(table["age"])), older.shape[0]


def made(table, rng):
    return pd.Series([1, 2]).sum() + np.asarray(table["age"])[0] + rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "constants"), [(total, [160]), (counts, [2, 1]), (rows, [92]), (made, [13])]
)
def test_what_is_known_is_computed(mechanism: Any, constants: list[float]) -> None:
    (path,) = trace(mechanism, people()).paths
    assert [float(form.constant) for form in path.forms] == constants


def test_a_table_that_is_released_is_released_with_its_labels() -> None:
    def released(table, rng):
        return table if rng.laplace() > 0 else None

    first, second = trace(released, people()).paths
    assert {first.skeleton.container, getattr(second.skeleton, "kind", None)} == {"table", "none"}


def noise_in_it(table, rng):
    return table["age"] + rng.laplace(size=3)


def element_set(table, rng):
    table["age"] = 0
    return rng.laplace()


def changed_in_place(table, rng):
    table.drop(columns="age", inplace=True)
    return rng.laplace()


def own_code(table, rng):
    return table["age"].apply(lambda v: v + 1).sum() + rng.laplace()


def drawn_by_pandas(table, rng):
    return table["age"].sample(1).sum() + rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "says"),
    [(noise_in_it, "noisy"), (element_set, "setting an element"),
     (changed_in_place, "changed in place"), (own_code, "code of its own"),
     (drawn_by_pandas, "global generator")],
)  # fmt: skip
def test_what_is_not_is_refused(mechanism: Any, says: str) -> None:
    table = people()
    with pytest.raises(UntraceableError, match=says):
        trace(mechanism, table)
    assert table.equals(people())
