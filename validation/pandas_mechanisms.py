"""Twenty mechanisms on DataFrames as people write them, and each of them with five planted bugs.

`RIGHT` lists the mechanisms with what they are asked about. `BUGGED` lists them again with a bug:
keys from the data, a private n used as public, the index left in, NaN not handled, two rows per
person (the function itself is right then, and the data are not what it was written for).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

CITIES = ["Berlin", "Paris", "Rome"]
AGES = [0, 18, 30, 45, 65, 121]
PEOPLE = "age=(0, 120), city=['Berlin', 'Paris', 'Rome'], income=(0, 1000)"
MAYBE = "age=(0, 120), city=['Berlin', 'Paris', 'Rome'], income=reals(0, 1000, nan=True)"


# Histograms --------------------------------------------------------------------------------------


def by_city(df, rng, *, epsilon=1.0):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return counts + rng.laplace(0, 1 / epsilon, size=len(CITIES))


def by_city_grouped(df, rng, *, epsilon=1.0):
    counts = df.groupby("city").size().reindex(CITIES, fill_value=0)
    return (counts + rng.laplace(scale=1 / epsilon, size=3)).clip(lower=0).to_dict()


def by_city_loop(df, rng, *, epsilon=1.0):
    result = {}
    for city in CITIES:
        noisy = (df["city"] == city).sum() + rng.laplace(0, 1 / epsilon)
        result[city] = int(noisy.round())
    return result


def by_age(df, rng, *, epsilon=1.0):
    counts, _ = np.histogram(df["age"].to_numpy(), bins=AGES)
    return list(counts + rng.laplace(0, 1 / epsilon, size=len(AGES) - 1))


def shares_by_city(df, rng, *, epsilon=1.0):
    counts = df["city"].value_counts().reindex(CITIES).fillna(0)
    noisy = np.maximum(counts + rng.laplace(0, 1 / epsilon, size=3), 0.5)
    return noisy / noisy.sum()


# Counts ------------------------------------------------------------------------------------------


def adults(df, rng, *, epsilon=1.0):
    return len(df[df["age"] >= 18]) + rng.laplace(0, 1 / epsilon)


def parisians_between(df, rng, *, epsilon=1.0):
    chosen = df.loc[(df.city == "Paris") & df.age.between(30, 50)]
    return chosen.shape[0] + rng.laplace(0, 1 / epsilon)


def northern(df, rng, *, epsilon=1.0):
    return df["city"].isin(["Berlin", "Paris"]).sum() + rng.laplace(0, 1 / epsilon)


def coded(df, rng, *, epsilon=1.0):
    points = df["city"].map({"Berlin": 2, "Paris": 1, "Rome": 0})
    return points.sum() + rng.laplace(0, 2 / epsilon)


# Sums and means ----------------------------------------------------------------------------------


def total_income(df, rng, *, epsilon=1.0, cap=500.0):
    return df["income"].clip(0, cap).sum() + rng.laplace(0, cap / epsilon)


def total_of_adults(df, rng, *, epsilon=1.0):
    incomes = df.loc[df["age"] >= 18, "income"].clip(upper=200)
    return incomes.sum() + rng.laplace(0, 200 / epsilon)


def income_by_city(df, rng, *, epsilon=1.0):
    capped = df.assign(income=df["income"].clip(0, 100))
    sums = capped.groupby("city")["income"].sum().reindex(CITIES, fill_value=0.0)
    return sums + rng.laplace(0, 100 / epsilon, size=3)


def mean_by_city(df, rng, *, epsilon=1.0):
    capped = df.assign(income=df["income"].clip(0, 100))
    sums = capped.groupby("city")["income"].sum().reindex(CITIES, fill_value=0.0)
    counts = capped.groupby("city").size().reindex(CITIES, fill_value=0)
    sums = sums + rng.laplace(0, 200 / epsilon, size=3)
    counts = counts + rng.laplace(0, 2 / epsilon, size=3)
    return {c: sums[c] / max(counts[c], 1.0) for c in CITIES}


def ratio(df, rng, *, epsilon=1.0):
    young = df["age"] < 30
    first = df["income"].where(young, 0).clip(0, 50).sum() + rng.laplace(0, 100 / epsilon)
    second = df["income"].clip(0, 50).sum() + rng.laplace(0, 100 / epsilon)
    return first / max(second, 1.0)


def row_by_row(df, rng, *, epsilon=1.0):
    total = 0.0
    for _, row in df.iterrows():
        if row["city"] == "Rome":
            total += min(row["income"], 100.0)
    return total + rng.laplace(0, 100 / epsilon)


def tuple_by_tuple(df, rng, *, epsilon=1.0):
    total = sum(min(p.income, 100.0) for p in df.itertuples(index=False) if p.age > 40)
    return total + rng.laplace(0, 100 / epsilon)


def bracketed(df, rng, *, epsilon=1.0):
    taxed = df["income"].apply(lambda v: 0.0 if v < 100 else min(0.2 * v, 80.0))
    return taxed.sum() + rng.laplace(0, 80 / epsilon)


def two_columns(df, rng, *, epsilon=1.0):
    sums = df[["age", "income"]].clip(0, 100).sum()
    return sums + rng.laplace(0, 200 / epsilon, size=2)


# Choices -----------------------------------------------------------------------------------------


def top_city(df, rng, *, epsilon=1.0):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return (counts + rng.laplace(0, 1 / epsilon, size=3)).idxmax()


def rank_of_median(df, rng, *, epsilon=1.0):
    below = [(df["income"] <= g).sum() + rng.laplace(0, 4 / epsilon) for g in (100, 300, 500, 700)]
    half = sum(below) / 4
    return [float(b) for b in below], half


RIGHT = {
    function.__name__: function
    for function in (
        by_city, by_city_grouped, by_city_loop, by_age, shares_by_city, adults, parisians_between,
        northern, coded, total_income, total_of_adults, income_by_city, mean_by_city, ratio,
        row_by_row, tuple_by_tuple, bracketed, two_columns, top_city, rank_of_median,
    )
}  # fmt: skip


# Bugs --------------------------------------------------------------------------------------------


def keys_from_the_data(function):
    """The result also lists the cities that occur, with noise on their counts."""

    def bugged(df, rng, *, epsilon=1.0):
        counts = df["city"].value_counts()
        extra = {c: n + rng.laplace(0, 1 / epsilon) for c, n in counts.items()}
        return function(df, rng, epsilon=epsilon), extra

    return bugged


def private_n_as_public(function):
    """Divided by the number of rows as if everybody knew it, under adding and removing."""

    def bugged(df, rng, *, epsilon=1.0):
        return function(df, rng, epsilon=epsilon), 100.0 / max(len(df), 1)

    return bugged


def index_left_in(function):
    """The index of the rows that were chosen goes out with the result."""

    def bugged(df, rng, *, epsilon=1.0):
        chosen = df[df["age"] >= 18]
        noise = pd.Series(rng.laplace(0, 1 / epsilon, size=len(chosen)), index=chosen.index)
        return function(df, rng, epsilon=epsilon), noise

    return bugged


def nan_not_handled(function):
    """A sum in NumPy, which NaN goes through, where pandas would have skipped it."""

    def bugged(df, rng, *, epsilon=1.0):
        capped = np.clip(df["income"].to_numpy(), 0, 100)
        return function(df, rng, epsilon=epsilon), capped.sum() + rng.laplace(0, 100 / epsilon)

    return bugged


BUGS = {
    "keys from the data": (keys_from_the_data, PEOPLE),
    "private n as public": (private_n_as_public, PEOPLE),
    "index left in": (index_left_in, PEOPLE),
    "NaN not handled": (nan_not_handled, MAYBE),
    "two rows per person": (lambda function: function, f"{PEOPLE}, user='id', rows_each=2"),
}
