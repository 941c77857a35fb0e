"""Functions as people write them; of each manner some that are right and some with a mistake."""

from __future__ import annotations

import bisect
import contextlib
import copy
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

REGIONS = ["a", "b", "c"]
PUBLIC = pd.DataFrame({"region": REGIONS, "weight": [1.0, 2.0, 0.5], "part": ["x", "x", "y"]})
TWICE = pd.DataFrame({"region": ["a", "a", "b", "c"], "weight": [1.0, 1.0, 2.0, 0.5]})
RATES = pd.Series({"a": 1.0, "b": 2.0, "c": 0.5})


# Tables by two fields ----------------------------------------------------------------------------


def cross_table(df: Any, rng: Any) -> Any:
    table = pd.crosstab(df["region"], df["sex"])
    table = table.reindex(index=REGIONS, columns=["f", "m"], fill_value=0)
    return table + rng.laplace(size=table.shape)


def cross_table_as_it_is(df: Any, rng: Any) -> Any:
    table = pd.crosstab(df["region"], df["sex"])
    return table + rng.laplace(size=table.shape)


def cross_table_of_known_rows(df: Any, rng: Any) -> Any:
    """Its columns are still those that occur."""
    table = pd.crosstab(df["region"], df["sex"]).reindex(REGIONS, fill_value=0)
    return table + rng.laplace(size=table.shape)


def unstacked(df: Any, rng: Any) -> Any:
    table = df.groupby(["region", "sex"]).size().unstack(fill_value=0)
    table = table.reindex(index=REGIONS, columns=["f", "m"], fill_value=0)
    return table.to_numpy() + rng.laplace(size=(3, 2))


def pivoted(df: Any, rng: Any) -> Any:
    df = df.assign(v=df["v"].clip(upper=5))
    table = df.pivot_table(
        index="region", columns="sex", values="v", aggfunc="sum", fill_value=0
    ).reindex(index=REGIONS, columns=["f", "m"], fill_value=0)
    return table + rng.laplace(scale=5, size=(3, 2))


def pivoted_without_clip(df: Any, rng: Any) -> Any:
    table = df.pivot_table(
        index="region", columns="sex", values="v", aggfunc="sum", fill_value=0
    ).reindex(index=REGIONS, columns=["f", "m"], fill_value=0)
    return table + rng.laplace(scale=5, size=(3, 2))


def pairs(df: Any, rng: Any) -> Any:
    index = pd.MultiIndex.from_product([REGIONS, ["f", "m"]])
    counts = df.groupby(["region", "sex"]).size().reindex(index, fill_value=0)
    return counts + rng.laplace(size=6)


def several_aggregates(df: Any, rng: Any) -> Any:
    groups = df.assign(v=df["v"].clip(upper=5)).groupby("region")["v"]
    found = groups.agg(["sum", "count"]).reindex(REGIONS, fill_value=0)
    sums = found["sum"] + rng.laplace(scale=10, size=3)
    return sums / (found["count"] + rng.laplace(scale=2, size=3))


def several_aggregates_at_full_price(df: Any, rng: Any) -> Any:
    groups = df.assign(v=df["v"].clip(upper=5)).groupby("region")["v"]
    found = groups.agg(["sum", "count"]).reindex(REGIONS, fill_value=0)
    sums = found["sum"] + rng.laplace(scale=5, size=3)
    return sums / (found["count"] + rng.laplace(scale=1, size=3))


def column_by_column(df: Any, rng: Any) -> Any:
    sums = df["v"].clip(upper=5).groupby(df["region"]).sum()
    return sums.reindex(REGIONS, fill_value=0) + rng.laplace(scale=5, size=3)


# Public tables -----------------------------------------------------------------------------------


def merged(df: Any, rng: Any) -> Any:
    full = df.merge(PUBLIC, on="region", how="left")
    return (full["weight"] * full["v"].clip(0, 5)).sum() + rng.laplace(scale=10)


def merged_without_weights(df: Any, rng: Any) -> Any:
    """The weight may be 2: a record adds 10."""
    full = df.merge(PUBLIC, on="region", how="left")
    return (full["weight"] * full["v"].clip(0, 5)).sum() + rng.laplace(scale=5)


def merged_with_rows_twice(df: Any, rng: Any) -> Any:
    """A record of region a is in the merged table twice."""
    full = df.merge(TWICE, on="region")
    return len(full) + rng.laplace()


def merged_groups(df: Any, rng: Any) -> Any:
    full = pd.merge(df, PUBLIC, on="region")
    return full.groupby("part").size().reindex(["x", "y"], fill_value=0) + rng.laplace(size=2)


def mapped(df: Any, rng: Any) -> Any:
    return df["region"].map(RATES).sum() + rng.laplace(scale=2)


def merged_results(df: Any, rng: Any) -> Any:
    counts = [float((df["region"] == r).sum() + rng.laplace()) for r in REGIONS]
    return PUBLIC.merge(pd.DataFrame({"region": REGIONS, "n": counts}), on="region")


# One record in several steps ---------------------------------------------------------------------


def means_by_region(df: Any, rng: Any) -> Any:
    found = {}
    for region in REGIONS:
        part = df.loc[df["region"] == region, "v"].clip(0, 5)
        total = part.sum() + rng.laplace(scale=10)
        size = len(part) + rng.laplace(scale=2)
        found[region] = total / size if size > 1 else 0.0
    return found


def means_of_overlapping_parts(df: Any, rng: Any) -> Any:
    found = []
    for region in REGIONS:
        part = df.loc[df["region"] <= region, "v"].clip(0, 5)
        size = len(part) + rng.laplace(scale=1)
        found.append(size if size > 1 else 0.0)
    return found


def next_part_by_the_last(df: Any, rng: Any) -> Any:
    """Where the first count is large the same people are counted again."""
    a = (df["region"] == "a").sum() + rng.laplace()
    again = "a" if a > 3 else "b"
    return a, (df["region"] == again).sum() + rng.laplace()


def other_part_by_the_last(df: Any, rng: Any) -> Any:
    a = (df["region"] == "a").sum() + rng.laplace()
    other = "c" if a > 3 else "b"
    return a, (df["region"] == other).sum() + rng.laplace()


# Objects, copies, contexts -----------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    upper: float = 1.0
    name: str = field(default="count", kw_only=True)

    def __post_init__(self) -> None:
        if self.upper <= 0:
            raise ValueError("upper")
        object.__setattr__(self, "width", self.upper)


@dataclass
class Report:
    total: float
    notes: list[str] = field(default_factory=list)
    config: Config = field(default_factory=Config)


def report(df: Any, rng: Any) -> Any:
    config = replace(Config(), upper=5.0)
    found = Report(float(df["v"].clip(0, config.upper).sum() + rng.laplace(scale=config.width)))
    if found.total < 5:
        found.notes.append("few")
    return asdict(found)


def report_of_the_default(df: Any, rng: Any) -> Any:
    config = replace(Config(), upper=5.0)
    return asdict(Report(float(df["v"].clip(0, config.upper).sum() + rng.laplace())))


class Tally:
    def __init__(self, counts: dict[str, float]) -> None:
        self.counts = counts

    def __iadd__(self, key: str) -> Tally:
        self.counts[key] += 1
        return self

    def __mul__(self, factor: float) -> Tally:
        return Tally({k: factor * v for k, v in self.counts.items()})

    __rmul__ = __mul__


def tallied(df: Any, rng: Any) -> Any:
    tally = Tally(dict.fromkeys(REGIONS, 0.0))
    for region in df["region"]:
        tally += region
    return {k: v + rng.laplace(scale=2) for k, v in (2 * tally).counts.items()}


def tallied_twice(df: Any, rng: Any) -> Any:
    tally = Tally(dict.fromkeys(REGIONS, 0.0))
    for region in df["region"]:
        tally += region
    return {k: v + rng.laplace(scale=1) for k, v in (2 * tally).counts.items()}


def copied(df: Any, rng: Any) -> Any:
    empty: dict[str, list[float]] = {"a": [0.0], "rest": [0.0, 0.0]}
    found = copy.deepcopy(empty)
    for region in df["region"]:
        if region == "a":
            found["a"][0] += 1
        else:
            found["rest"][int(region == "c")] += 1
    return {k: [v + rng.laplace() for v in cells] for k, cells in found.items()}


@contextlib.contextmanager
def ledger(total: float) -> Iterator[list[float]]:
    spent: list[float] = []
    yield spent
    assert sum(spent) <= total + 1e-9


def in_a_context(df: Any, rng: Any, eps: float = 1.0) -> Any:
    with ledger(eps) as spent:
        spent.append(eps / 2)
        n = len(df) + rng.laplace(scale=1 / spent[-1])
        spent.append(eps / 2)
        return n, df["v"].clip(0, 5).sum() + rng.laplace(scale=5 / spent[-1])


def more_than_the_context(df: Any, rng: Any, eps: float = 1.0) -> Any:
    with ledger(2 * eps) as spent:
        spent.append(eps)
        n = len(df) + rng.laplace(scale=1 / spent[-1])
        spent.append(eps)
        return n, df["v"].clip(0, 5).sum() + rng.laplace(scale=5 / spent[-1])


# Noise that is rounded ---------------------------------------------------------------------------


def rounded_noise(df: Any, rng: Any) -> Any:
    return len(df) + round(rng.laplace())


def rounded_noises(df: Any, rng: Any) -> Any:
    counts = np.array([(df["region"] == r).sum() for r in REGIONS])
    return counts - np.floor(rng.laplace(size=3))


def rounded_noise_on_a_sum(df: Any, rng: Any) -> Any:
    """What is behind the comma is exact."""
    return df["v"].clip(0, 1).sum() + round(rng.laplace())


def rounded_noise_beside_it(df: Any, rng: Any) -> Any:
    z = rng.laplace()
    return z, len(df) + round(z)


def noise_cut_off(df: Any, rng: Any) -> Any:
    """int() gives 0 twice its share."""
    return len(df) + int(rng.laplace())


def even_noise(df: Any, rng: Any) -> Any:
    """The parity of the count is exact."""
    return len(df) + 2 * round(rng.laplace(scale=2))


# Weights -----------------------------------------------------------------------------------------


def weighted(x: Any, rng: Any) -> Any:
    w = np.array([0.125, 0.25, 0.25, 0.375])
    return np.average(np.clip(x, 0, 1), weights=w) + rng.laplace(scale=0.375)


def weighted_as_if_alike(x: Any, rng: Any) -> Any:
    w = np.array([0.125, 0.25, 0.25, 0.375])
    return np.average(np.clip(x, 0, 1), weights=w) + rng.laplace(scale=0.25)


def without_missing(x: Any, rng: Any) -> Any:
    x = np.asarray(x, dtype=float)
    known = ~np.isnan(x)
    total = np.clip(x[known], 0, 1).sum() + rng.laplace(scale=2)
    return total / max(known.sum() + rng.laplace(scale=2), 1)


def without_missing_exact_number(x: Any, rng: Any) -> Any:
    x = np.asarray(x, dtype=float)
    known = ~np.isnan(x)
    return (np.clip(x[known], 0, 1).sum() + rng.laplace(scale=1)) / max(known.sum(), 1)


# Places among the sorted data, few private numbers, arrays ---------------------------------------


def ranks(x: Any, rng: Any) -> Any:
    found = np.searchsorted(np.sort(np.asarray(x)), np.arange(6), side="right")
    weights = np.exp(-np.abs(found - len(x) / 2) / 2)
    return int(rng.choice(6, p=weights / weights.sum()))


def ranks_at_full_price(x: Any, rng: Any) -> Any:
    found = np.searchsorted(np.sort(np.asarray(x)), np.arange(6), side="right")
    weights = np.exp(-np.abs(found - len(x) / 2))
    return int(rng.choice(6, p=weights / weights.sum()))


def two_ranks(x: Any, rng: Any) -> Any:
    ordered = sorted(x)
    return [bisect.bisect(ordered, t) + rng.laplace(scale=2) for t in (3, 4)]


def two_ranks_at_full_price(x: Any, rng: Any) -> Any:
    ordered = sorted(x)
    return [bisect.bisect(ordered, t) + rng.laplace(scale=1) for t in (3, 4)]


def mean_of_medians(x: Any, rng: Any) -> Any:
    x = np.asarray(x)
    medians = np.array([np.median(x[i : i + 3]) for i in range(0, len(x), 3)])
    return np.clip(medians, 0, 1).mean() + rng.laplace(scale=1 / len(medians))


def mean_of_overlapping_medians(x: Any, rng: Any) -> Any:
    x = np.asarray(x)
    medians = np.array([np.median(x[i : i + 3]) for i in range(len(x) - 2)])
    return np.clip(medians, 0, 1).mean() + rng.laplace(scale=1 / len(medians))


def clipped_sum(x: Any, rng: Any) -> Any:
    return np.clip(np.sum(x), 0, 2) + rng.laplace(scale=2)


def clipped_sum_at_full_price(x: Any, rng: Any) -> Any:
    return np.clip(np.sum(x), 0, 2) + rng.laplace(scale=1)


def moments(rows: Any, rng: Any) -> Any:
    unit = np.clip(np.asarray(rows, dtype=float), 0, 1)
    found = np.einsum("ni,nj->ij", unit, unit)
    noise = np.triu(rng.laplace(scale=3, size=(2, 2)))
    return np.triu(found) + noise


def moments_as_one_number(rows: Any, rng: Any) -> Any:
    unit = np.clip(np.asarray(rows, dtype=float), 0, 1)
    found = np.einsum("ni,nj->ij", unit, unit)
    return np.triu(found) + np.triu(rng.laplace(scale=1, size=(2, 2)))


def nearest(x: Any, rng: Any) -> Any:
    x, centres = np.clip(np.asarray(x), 0, 9), np.array([2.0, 7.0])
    place = np.argmin(np.abs(x[:, None] - centres[None, :]), axis=1)
    return [(place == j).sum() + rng.laplace(scale=2) for j in range(2)]


def nearest_with_totals(x: Any, rng: Any) -> Any:
    """The totals move by 9."""
    x, centres = np.clip(np.asarray(x), 0, 9), np.array([2.0, 7.0])
    place = np.argmin(np.abs(x[:, None] - centres[None, :]), axis=1)
    return [x[place == j].sum() + rng.laplace(scale=2) for j in range(2)]


# A person's own vector ----------------------------------------------------------------------------


def own_vector(point: Any, rng: Any) -> Any:
    return np.clip(point, 0, 1) + rng.laplace(scale=2, size=2)


def own_vector_at_full_price(point: Any, rng: Any) -> Any:
    return np.clip(point, 0, 1) + rng.laplace(scale=1, size=2)


def own_vector_and_its_sum(point: Any, rng: Any) -> Any:
    x = np.clip(point, 0, 1)
    return x + rng.laplace(scale=2, size=2), x.sum() + rng.laplace(scale=2)


# What frames are asked ---------------------------------------------------------------------------


def bands(df: Any, rng: Any) -> Any:
    band = np.select([df["v"] < 3, df["v"] < 6], [0, 1], default=2)
    return np.bincount(band, minlength=3) + rng.laplace(size=3)


def bands_that_overlap(df: Any, rng: Any) -> Any:
    """Who is below 3 is below 6, too."""
    return [(df["v"] < t).sum() + rng.laplace() for t in (3, 6)]


def some_rows_changed(df: Any, rng: Any) -> Any:
    df = df.copy()
    df.loc[df["v"] > 5, "v"] = 5
    return df["v"].sum() + rng.laplace(scale=5)


def other_rows_changed(df: Any, rng: Any) -> Any:
    df = df.copy()
    df.loc[df["v"] < 5, "v"] = 5
    return df["v"].sum() + rng.laplace(scale=5)


def categories(df: Any, rng: Any) -> Any:
    counts = pd.Series(pd.Categorical(df["region"], categories=REGIONS)).value_counts(sort=False)
    return counts.to_numpy() + rng.laplace(size=3)


def categories_in_their_order(df: Any, rng: Any) -> Any:
    counts = pd.Series(pd.Categorical(df["region"], categories=REGIONS)).value_counts()
    return counts.to_numpy() + rng.laplace(scale=0.5, size=3)


def piped(df: Any, rng: Any) -> Any:
    known = df.pipe(lambda d: d[d["sex"] == "f"]).assign(v=lambda d: d["v"].clip(0, 5))
    return known.agg({"v": "sum"})["v"] + rng.laplace(scale=5)


def piped_at_full_price(df: Any, rng: Any) -> Any:
    known = df.pipe(lambda d: d[d["sex"] == "f"]).assign(v=lambda d: d["v"].clip(0, 5))
    found = known.agg({"v": "sum"})
    return found["v"] + rng.laplace(scale=5), len(known) + rng.laplace()


def shares(df: Any, rng: Any) -> Any:
    noisy = df["region"].value_counts().reindex(REGIONS, fill_value=0) + rng.laplace(size=3)
    return noisy / noisy.sum()


def shares_of_the_exact_number(df: Any, rng: Any) -> Any:
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0)
    return (counts + rng.laplace(size=3)) / counts.sum()


def shares_one_by_one(df: Any, rng: Any) -> Any:
    noisy = {r: (df["region"] == r).sum() + rng.laplace() for r in REGIONS}
    total = sum(noisy.values())
    return {r: v / total for r, v in noisy.items()}


def total_before_its_parts(df: Any, rng: Any) -> Any:
    noisy = [(df["region"] == r).sum() + rng.laplace() for r in REGIONS]
    return sum(noisy), [round(v, 1) for v in noisy]


def total_before_parts_that_overlap(df: Any, rng: Any) -> Any:
    noisy = [(df["v"] > t).sum() + rng.laplace() for t in (3, 6)]
    return sum(noisy), [round(v, 1) for v in noisy]


def shares_of_the_exact_total(df: Any, rng: Any) -> Any:
    counts = {r: (df["region"] == r).sum() for r in REGIONS}
    total = sum(counts.values())
    return {r: (v + rng.laplace()) / total for r, v in counts.items()}


def unzipped(df: Any, rng: Any) -> Any:
    """Right where the number of records is public: of no pair zip(*…) makes nothing to unpack."""
    pairs = [(row.sex, row.v) for row in df.itertuples()]
    _, values = zip(*pairs)  # noqa: B905
    return sum(min(v, 5) for v in values) + rng.laplace(scale=5)


def spread(x: Any, rng: Any) -> Any:
    return np.var(np.clip(x, 0, 1)) + rng.laplace(scale=1 / len(x))


def spread_at_a_quarter(x: Any, rng: Any) -> Any:
    """The greatest variance is a quarter; it moves by more than a quarter of 1/n."""
    return np.var(np.clip(x, 0, 1)) + rng.laplace(scale=0.25 / len(x))


# Arrays by parts, and functions of each number ---------------------------------------------------


def two_halves(x: Any, rng: Any) -> Any:
    parts = np.array_split(np.clip(np.asarray(x, dtype=float), 0, 1), 2)
    return [part.mean() + rng.laplace(scale=1 / len(part)) for part in parts]


def two_halves_as_a_whole(x: Any, rng: Any) -> Any:
    parts = np.array_split(np.clip(np.asarray(x, dtype=float), 0, 1), 2)
    return [part.mean() + rng.laplace(scale=1 / len(x)) for part in parts]


def rows_of_three(x: Any, rng: Any) -> Any:
    means = np.clip(np.asarray(x, dtype=float), 0, 1).reshape(2, 3).mean(axis=1)
    return means + rng.laplace(scale=1 / 3, size=2)


def rows_of_three_as_a_whole(x: Any, rng: Any) -> Any:
    means = np.clip(np.asarray(x, dtype=float), 0, 1).reshape(2, 3).mean(axis=1)
    return means + rng.laplace(scale=1 / 6, size=2)


def rated(x: Any, rng: Any) -> Any:
    return np.interp(x, [2, 6], [0.25, 1.25]).sum() + rng.laplace()


def rated_with_a_peak(x: Any, rng: Any) -> Any:
    """Up to 3 in between."""
    return np.interp(x, [0, 5, 9], [0, 3, 1]).sum() + rng.laplace()


def listed(x: Any, rng: Any) -> Any:
    x = np.round(x)
    return np.logical_not(np.isin(x, [1, 2, 3])).sum() + rng.laplace()


def listed_twice(x: Any, rng: Any) -> Any:
    x = np.round(x)
    return np.isin(x, [1, 2]).sum() + np.isin(x, [2, 3]).sum() + rng.laplace()


TABLE = 'table(any, region=["a","b","c"], sex=["f","m"], v=(0,20), as_="pandas")'
RIGHT = {
    TABLE: [
        cross_table, unstacked, pivoted, pairs, several_aggregates, column_by_column, merged,
        merged_groups, mapped, merged_results, means_by_region, other_part_by_the_last, report,
        tallied, copied, in_a_context, rounded_noise, rounded_noises, bands, some_rows_changed,
        categories, piped, shares, shares_one_by_one, total_before_its_parts,
    ],
}  # fmt: skip
WRONG = {
    TABLE: [
        cross_table_as_it_is, cross_table_of_known_rows, pivoted_without_clip,
        several_aggregates_at_full_price, merged_without_weights, merged_with_rows_twice,
        means_of_overlapping_parts, next_part_by_the_last, report_of_the_default, tallied_twice,
        more_than_the_context, rounded_noise_on_a_sum, rounded_noise_beside_it, noise_cut_off,
        even_noise, bands_that_overlap, other_rows_changed, categories_in_their_order,
        piped_at_full_price, shares_of_the_exact_number, unzipped,
        total_before_parts_that_overlap, shares_of_the_exact_total,
    ],
}  # fmt: skip
REPLACED = {
    "reals(4, 0, 9)": [weighted],
    "reals(any, 0, 9, nan=True)": [without_missing],
    "reals(any, 0, 9)": [
        ranks, two_ranks, clipped_sum, nearest, spread, rated, listed,
    ],
    "reals(6, 0, 9)": [mean_of_medians, two_halves, rows_of_three],
    TABLE: [unzipped],
    'table(any, a=(-3, 3), b=(-3, 3), as_="matrix")': [moments],
}  # fmt: skip
REPLACED_WRONG = {
    "reals(4, 0, 9)": [weighted_as_if_alike],
    "reals(any, 0, 9, nan=True)": [without_missing_exact_number],
    "reals(any, 0, 9)": [
        ranks_at_full_price, two_ranks_at_full_price, clipped_sum_at_full_price,
        nearest_with_totals, spread_at_a_quarter, rated_with_a_peak, listed_twice,
    ],
    "reals(6, 0, 9)": [
        mean_of_overlapping_medians, two_halves_as_a_whole, rows_of_three_as_a_whole,
    ],
    'table(any, a=(-3, 3), b=(-3, 3), as_="matrix")': [moments_as_one_number],
}  # fmt: skip

ANY_PAIR = {"reals(2, -5, 5)": [own_vector]}
ANY_PAIR_WRONG = {
    "reals(2, -5, 5)": [own_vector_at_full_price, own_vector_and_its_sum],
    "reals(2)": [own_vector_at_full_price],
    "reals(2, -5, 5, nan=True)": [own_vector],
    "reals(any, -5, 5)": [own_vector_at_full_price],
}
