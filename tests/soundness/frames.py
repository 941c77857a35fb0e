"""Functions on tables that are subtly not private: none of them may be proved.

`TRAPS` has the function and its domain; the noise of each would do for ε = 1 if it were right.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd

CITIES = ["Berlin", "Paris", "Rome"]
FIELDS = "age=(0, 120), city=['Berlin', 'Paris', 'Rome'], income=(0, 1000)"
TABLE = f"table(any, {FIELDS}, as_='pandas')"
FEW = f"table(4, {FIELDS}, as_='pandas')"
MISSING = f"table(any, {FIELDS.replace('(0, 1000)', 'reals(0, 1000, nan=True)')}, as_='pandas')"
PEOPLE = f"table(any, {FIELDS}, user='id', rows_each=2, as_='pandas')"
TEXTS = "records(any, values=['Berlin', 'Paris', 'Rome'])"
DICTS = f"table(any, {FIELDS}, as_='dicts')"


# Keys and labels that the data decide ------------------------------------------------------------


def keys_from_value_counts(df, rng):
    counts = df["city"].value_counts()
    return {c: n + rng.laplace(0, 1) for c, n in counts.items()}


def value_counts_without_reindex(df, rng):
    counts = df["city"].value_counts()
    return counts + rng.laplace(0, 1, size=len(counts))


def groupby_without_reindex(df, rng):
    sums = df.groupby("city")["income"].sum()
    return sums + rng.laplace(0, 1000, size=len(sums))


def reindex_without_fill(df, rng):
    counts = df["city"].value_counts().reindex(CITIES)
    return counts + rng.laplace(0, 1, size=3)


def reindex_with_ones(df, rng):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=1)
    return counts + rng.laplace(0, 0.5, size=3)


def named_totals_without_reindex(df, rng):
    table = df.groupby("city").agg(n=("income", "size"))
    table["n"] = table["n"] + rng.laplace(0, 1, size=len(table))
    return table


def named_totals_with_gaps(df, rng):
    table = df.groupby("city").agg(n=("income", "size")).reindex(CITIES)
    return table["n"] + rng.laplace(0, 1, size=3)


def two_totals_for_the_price_of_one(df, rng):
    table = df.groupby("city").agg(n=("income", "size"), m=("age", "count"))
    table = table.reindex(CITIES, fill_value=0)
    return table + rng.laplace(0, 1, size=(3, 2))


def a_column_left_without_noise(df, rng):
    table = df.groupby("city").agg(n=("income", "size"), m=("age", "count"))
    table = table.reindex(CITIES, fill_value=0)
    table["n"] = table["n"] + rng.laplace(0, 1, size=3)
    return table


def largest_of_a_group(df, rng):
    table = df.groupby("city").agg(top=("income", "max")).reindex(CITIES, fill_value=0)
    return table["top"] + rng.laplace(0, 10, size=3)


def loop_over_groups(df, rng):
    return {city: len(group) + rng.laplace(0, 1) for city, group in df.groupby("city")}


def order_of_the_groups(df, rng):
    counts = df["city"].value_counts()
    noisy = counts.reindex(CITIES, fill_value=0) + rng.laplace(0, 1, size=3)
    return noisy.reindex(list(counts.index) + [c for c in CITIES if c not in counts.index])


def keys_of_a_counter(cities, rng):
    return {c: n + rng.laplace(0, 1) for c, n in Counter(cities).items()}


def keys_of_a_defaultdict(cities, rng):
    counts = defaultdict(int)
    for c in cities:
        counts[c] += 1
    return {c: counts[c] + rng.laplace(0, 1) for c in sorted(counts)}


def how_many_cities(cities, rng):
    counts = {}
    for c in cities:
        counts[c] = counts.get(c, 0) + 1
    return [counts.get(c, 0) + rng.laplace(0, 1) for c in CITIES], len(counts)


def a_city_is_there(cities, rng):
    counts = {}
    for c in cities:
        counts[c] = counts.get(c, 0) + 1
    return counts.get("Rome", 0) + rng.laplace(0, 1), "Rome" in counts


def starts_with_five(cities, rng):
    counts = {}
    for c in cities:
        counts[c] = counts.get(c, 5) + 1
    return [counts.get(c, 0) + rng.laplace(0, 1) for c in CITIES]


def index_left_in(df, rng):
    old = df[df["age"] > 60]
    return pd.Series(rng.laplace(0, 1, size=len(old)), index=old.index)


def label_of_the_richest(df, rng):
    return df["income"].idxmax(), len(df) + rng.laplace(0, 1)


# The number of rows ------------------------------------------------------------------------------


def divided_by_private_n(df, rng):
    return df["income"].clip(0, 10).sum() / max(len(df), 1) + rng.laplace(0, 10)


def scale_by_private_n(df, rng):
    return df["income"].clip(0, 10).mean() + rng.laplace(0, 10 / len(df))


def mean_of_a_part(df, rng):
    part = df.loc[df["age"] > 60, "income"].clip(0, 10)
    return part.mean() + rng.laplace(0, 10 / len(df))


def shape_shown(df, rng):
    return df["income"].clip(0, 10).sum() + rng.laplace(0, 10), df[df.age > 60].shape[0]


def empty_or_not(df, rng):
    if df[df["age"] > 60].empty:
        return rng.laplace(0, 1)
    return 100 + rng.laplace(0, 1)


# Missing values ----------------------------------------------------------------------------------


def nan_through_clip(df, rng):
    return np.clip(df["income"].to_numpy(), 0, 10).sum() + rng.laplace(0, 10)


def nan_through_max(df, rng):
    total = 0.0
    for v in df["income"]:
        total += min(max(v, 0.0), 10.0)
    return total + rng.laplace(0, 10)


def dropna_changes_n(df, rng):
    kept = df["income"].dropna().clip(0, 10)
    return kept.sum() + rng.laplace(0, 10), len(kept)


def missing_counted(df, rng):
    return df["income"].clip(0, 10).sum() + rng.laplace(0, 10), int(df["income"].isna().sum())


def mean_skips_nan(df, rng):
    return df["income"].clip(0, 10).mean() + rng.laplace(0, 10 / 4)


# People ------------------------------------------------------------------------------------------


def two_rows_per_person(df, rng):
    return df["income"].clip(0, 10).sum() + rng.laplace(0, 10)


def capped_rows_and_not_people(df, rng):
    return df.groupby("id")["income"].sum().sum() + rng.laplace(0, 1000)


def ids_shown(df, rng):
    return df["id"].max(), len(df) + rng.laplace(0, 2)


def merged_with_itself(df, rng):
    pairs = df.merge(df, on="id")
    return len(pairs) + rng.laplace(0, 2)


# Other -------------------------------------------------------------------------------------------


def too_little_for_two_sums(df, rng):
    sums = df[["age", "income"]].clip(0, 100).sum()
    return sums + rng.laplace(0, 100, size=2)


def apply_keeps_count(df, rng):
    seen = []
    df["age"].apply(lambda v: seen.append(v) or 0.0)
    return len(seen) + 0.0 * rng.laplace()


def first_row(df, rng):
    return df["income"].iloc[0] + rng.laplace(0, 1)


def sorted_head(df, rng):
    return df.sort_values("income").head(2)["income"].sum() + rng.laplace(0, 1)


def cumulated(df, rng):
    return df["income"].clip(0, 1).cumsum().sum() + rng.laplace(0, 1)


def type_of_an_empty_sum(rows, rng):
    old = [np.float64(r["income"]) for r in rows if r["age"] > 60]
    return min(sum(old), 0) + rng.laplace(0, 1)


def unbounded_map(df, rng):
    points = df["city"].map({"Berlin": 5, "Paris": 1})
    return points.sum() + rng.laplace(0, 1)


@dataclass
class Visit:
    age: float
    pay: float

    def __post_init__(self):
        self.pay = 1000 * self.pay


def changed_by_its_class(rows, rng):
    visits = [Visit(r["age"], min(r["income"], 1.0)) for r in rows]
    return sum(v.pay for v in visits) + rng.laplace(0, 1)


def exact_text(rows, rng):
    lengths = sum(len(r["city"]) for r in rows)
    return f"{lengths}", rng.laplace(0, 1)


def square_root_of_a_sum(df, rng):
    return math.sqrt(df["income"].clip(0, 1).sum()) + rng.laplace(0, 0.1)


TRAPS = {
    keys_from_value_counts: TABLE, value_counts_without_reindex: TABLE,
    groupby_without_reindex: TABLE, reindex_without_fill: TABLE, reindex_with_ones: TABLE,
    named_totals_without_reindex: TABLE, named_totals_with_gaps: TABLE,
    two_totals_for_the_price_of_one: TABLE, a_column_left_without_noise: TABLE,
    largest_of_a_group: TABLE,
    loop_over_groups: TABLE, order_of_the_groups: TABLE, keys_of_a_counter: TEXTS,
    keys_of_a_defaultdict: TEXTS, how_many_cities: TEXTS, a_city_is_there: TEXTS,
    starts_with_five: TEXTS, index_left_in: TABLE, label_of_the_richest: TABLE,
    divided_by_private_n: TABLE, scale_by_private_n: TABLE, mean_of_a_part: FEW,
    shape_shown: TABLE, empty_or_not: TABLE, nan_through_clip: MISSING, nan_through_max: MISSING,
    dropna_changes_n: MISSING, missing_counted: MISSING, mean_skips_nan: MISSING,
    two_rows_per_person: PEOPLE, capped_rows_and_not_people: PEOPLE, ids_shown: PEOPLE,
    merged_with_itself: PEOPLE, too_little_for_two_sums: TABLE, apply_keeps_count: TABLE,
    first_row: TABLE, sorted_head: TABLE, cumulated: TABLE, type_of_an_empty_sum: DICTS,
    unbounded_map: TABLE, changed_by_its_class: DICTS, exact_text: DICTS,
    square_root_of_a_sum: TABLE,
}  # fmt: skip
# Private where records come and go, and no secret where one is replaced by another.
PUBLIC_N = (divided_by_private_n, scale_by_private_n)
