"""Everyday code that is proved by what one record adds, and the same code with a mistake."""

from __future__ import annotations

import contextlib
import functools
import heapq
import logging
import math
import operator
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

REALS = "reals(any, 0, 1)"
BITS = "integers(any, 0, 1)"
PEOPLE = "table(any, user='id', rows_each=3, pay=(0, 100), as_='dicts')"
POINTS = "table(any, x=(0, 1), y=(0, 1), as_='matrix')"


# Noise that is made of uniform draws ---------------------------------------------------------


def inverse_cdf(bits: Any) -> Any:
    u = random.random() - 0.5
    return sum(bits) - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


def legacy_sign(bits: Any) -> Any:
    u = np.random.rand() - 0.5  # noqa: NPY002
    return sum(bits) - np.sign(u) * np.log(1 - 2 * abs(u))


def sign_and_log(bits: Any, rng: Any) -> Any:
    sign = 1 if rng.random() < 0.5 else -1
    return sum(bits) + sign * -math.log(rng.random())


def log_of_ratio(bits: Any, rng: Any) -> Any:
    return sum(bits) + math.log(rng.random() / rng.random())


def minus_two_logs(bits: Any, rng: Any) -> Any:
    return sum(bits) - math.log(rng.random()) + math.log(rng.random())


def shows_the_draw(bits: Any, rng: Any) -> Any:
    u = rng.random() - 0.5
    return sum(bits) - math.copysign(1.0, u) * math.log(1 - 2 * abs(u)), u


def decides_by_the_draw(bits: Any, rng: Any) -> Any:
    u = rng.random() - 0.5
    noisy = sum(bits) - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return noisy if u > 0.2 else -noisy


def draw_for_two(bits: Any, rng: Any) -> Any:
    u = rng.random() - 0.5
    noise = math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return sum(bits) - noise, len(bits) - math.log(1 - abs(u) * 2)


def sign_of_the_same_draw(bits: Any, rng: Any) -> Any:
    u = rng.random()
    sign = 1 if u < 0.5 else -1
    return sum(bits) + sign * -math.log(u)


def unfair_sign(bits: Any, rng: Any) -> Any:
    sign = 1 if rng.random() < 0.6 else -1
    return sum(bits) + sign * -math.log(rng.random())


def no_two_in_the_log(bits: Any, rng: Any) -> Any:
    u = rng.random() - 0.5
    return sum(bits) - math.copysign(1.0, u) * math.log(1 - abs(u))


def one_sided(bits: Any, rng: Any) -> Any:
    return sum(bits) - math.log(rng.random())


# People with several rows --------------------------------------------------------------------


def capped_totals(rows: Any, rng: Any) -> Any:
    each = defaultdict(float)
    for row in rows:
        each[row["id"]] += max(row["pay"], 0.0)
    return sum(min(total, 50.0) for total in each.values()) + rng.laplace(0, 50)


def capped_get(rows: Any, rng: Any) -> Any:
    each: dict[Any, float] = {}
    for row in rows:
        each[row["id"]] = each.get(row["id"], 0.0) + row["pay"]
    total = 0.0
    for _, mine in each.items():
        total += min(max(mine, 0.0), 50.0)
    return total + rng.laplace(0, 50)


def people_by_set(rows: Any, rng: Any) -> Any:
    return len(set(row["id"] for row in rows)) + rng.laplace(0, 1)  # noqa: C401


def people_by_counter(rows: Any, rng: Any) -> Any:
    visits = Counter(row["id"] for row in rows)
    return sum(min(n, 2) for n in visits.values()) + rng.laplace(0, 2)


def uncapped_totals(rows: Any, rng: Any) -> Any:
    each = defaultdict(float)
    for row in rows:
        each[row["id"]] += row["pay"]
    return sum(each.values()) + rng.laplace(0, 100)


def capped_rows(rows: Any, rng: Any) -> Any:
    return sum(min(max(row["pay"], 0.0), 50.0) for row in rows) + rng.laplace(0, 50)


def shows_a_person(rows: Any, rng: Any) -> Any:
    each = defaultdict(float)
    for row in rows:
        each[row["id"]] += max(row["pay"], 0.0)
    return 0 in each, sum(min(t, 50.0) for t in each.values()) + rng.laplace(0, 50)


# Other habits --------------------------------------------------------------------------------


@contextlib.contextmanager
def session(rng: Any) -> Iterator[Any]:
    yield lambda value: value + rng.laplace(0, 1)


def in_a_session(bits: Any, rng: Any) -> Any:
    with session(rng) as noisy:
        return noisy(sum(bits))


def leaves_the_session(bits: Any, rng: Any) -> Any:
    with session(rng) as noisy:
        found = noisy(sum(bits))
    return found, sum(bits)


def counter_update(bits: Any, rng: Any) -> Any:
    counts = Counter({"a": 0, "b": 0})
    counts.update(bits)
    return [counts[k] + rng.laplace(0, 1) for k in ("a", "b")]


def counter_update_shown(bits: Any, rng: Any) -> Any:
    counts = Counter({"a": 0, "b": 0})
    counts.update(bits)
    return [counts["a"] + rng.laplace(0, 1), counts["b"]]


def histogram_2d(points: Any, rng: Any) -> Any:
    h, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=2, range=[[0, 1], [0, 1]])
    return h + rng.laplace(0, 1, size=h.shape)


def histogram_2d_own_edges(points: Any, rng: Any) -> Any:
    h, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=2)
    return h + rng.laplace(0, 1, size=h.shape)


def products(points: Any, rng: Any) -> Any:
    clipped = np.clip(points, 0, 1)
    return clipped.T @ clipped + rng.laplace(0, 4, size=(2, 2))


def products_unclipped(points: Any, rng: Any) -> Any:
    return (2 * points).T @ (2 * points) + rng.laplace(0, 4, size=(2, 2))


def signs(points: Any, rng: Any) -> Any:
    return np.sign(points - 0.5).sum(axis=0) + rng.laplace(0, 2, size=2)


def int_of_a_count(bits: Any, rng: Any) -> Any:
    return int(sum(1 for b in bits if b)) + rng.laplace(0, 1)


def int_of_a_mean(points: Any, rng: Any) -> Any:
    return int(points[:, 0].sum()) + rng.laplace(0, 1)


def quantile_of_the_noise(bits: Any, rng: Any) -> Any:
    return sum(bits) + rng.laplace(0, 1) > norm.ppf(0.75)


def typed_series(bits: Any, rng: Any) -> Any:
    counts = pd.Series(list(bits), dtype=int).value_counts().reindex([0, 1], fill_value=0)
    return counts + rng.laplace(0, 1, size=2)


def whole_array(bits: Any, rng: Any) -> Any:
    counts = np.bincount(np.asarray(bits, dtype=int), minlength=2)[:2]
    return (counts + rng.laplace(0, 1, size=2)).round(2).tolist()


def folded(bits: Any, rng: Any) -> Any:
    return functools.reduce(lambda total, b: total + min(max(b, 0), 1), bits, 0.0) + rng.laplace()


def folded_twice(bits: Any, rng: Any) -> Any:
    return functools.reduce(lambda total, b: total + b + min(b, 1), bits, 0.0) + rng.laplace()


def whole_noise(bits: Any, rng: Any) -> Any:
    p = 1 - math.exp(-1)
    return sum(bits) + int(rng.geometric(p)) - int(rng.geometric(p))


def whole_noise_unlike(bits: Any, rng: Any) -> Any:
    return sum(bits) + int(rng.geometric(0.6)) - int(rng.geometric(0.5))


def greatest_by_item(bits: Any, rng: Any) -> Any:
    noisy = [bits.count(k) + rng.exponential(1) for k in range(2)]
    return max(range(2), key=noisy.__getitem__)


def greatest_by_item_cheap(bits: Any, rng: Any) -> Any:
    noisy = [bits.count(k) + rng.exponential(0.5) for k in range(2)]
    return max(range(2), key=noisy.__getitem__)


def greatest_by_getter(bits: Any, rng: Any) -> Any:
    noisy = [(k, bits.count(k) + rng.exponential(1)) for k in range(2)]
    return max(noisy, key=operator.itemgetter(1))[0]


def two_by_heap(bits: Any, rng: Any) -> Any:
    return heapq.nsmallest(2, [bits.count(k) + rng.laplace(0, 1) for k in range(2)])


# Guards, logs, bins and outputs around it -----------------------------------------------------

LOGGER = logging.getLogger(__name__)


def no_records_as_a_list(values: Any, rng: Any) -> Any:
    held = [min(v, 1.0) for v in values]
    total = sum(held) if held else 0.0
    return total + rng.laplace(0, 1)


def no_records_by_length(values: Any, rng: Any) -> Any:
    if len(values) == 0:
        total = 0.0
    else:
        total = np.sum(values)
    return total + rng.laplace(0, 1)


def no_records_not(values: Any, rng: Any) -> Any:
    sums = np.zeros(2)
    if not len(values) < 1:
        sums = np.sum([np.array([v, v]) for v in values], axis=0)
    return sums + rng.laplace(0, 2, 2)


def no_records_are_one(values: Any, rng: Any) -> Any:
    total = sum(values) if len(values) > 0 else 1.5
    return total + rng.laplace(0, 1)


def no_records_return(values: Any, rng: Any) -> Any:
    if len(values) == 0:
        return 0.0
    return sum(values) + rng.laplace(0, 1)


def one_record_is_none(values: Any, rng: Any) -> Any:
    total = 0.0 if len(values) <= 1 else sum(values)
    return total + rng.laplace(0, 1)


def no_records_less_noise(values: Any, rng: Any) -> Any:
    return rng.laplace(0, 0.5) if len(values) == 0 else sum(values) + rng.laplace(0, 1)


def logs_the_release(values: Any, rng: Any) -> Any:
    LOGGER.debug("starting")
    found = sum(values) + rng.laplace(0, 1)
    LOGGER.info("released %s", found)
    return round(found, 2)


def logs_another(values: Any, rng: Any) -> Any:
    LOGGER.info("there are about %s", len(values) + rng.laplace(0, 1))
    return sum(values) + rng.laplace(0, 1)


def logs_the_sum(values: Any, rng: Any) -> Any:
    LOGGER.info("the sum is %s", sum(values))
    return sum(values) + rng.laplace(0, 1)


def logs_each(values: Any, rng: Any) -> Any:
    total = 0.0
    for v in values:
        if v > 0.9:
            LOGGER.warning("a large one")
        total += v
    return total + rng.laplace(0, 1)


def bins_by_digitize(values: Any, rng: Any) -> Any:
    counts = np.bincount(np.digitize(values, [0, 0.25, 0.5]) - 1, minlength=3)
    return counts + rng.laplace(0, 1, 3)


def bins_by_searchsorted(values: Any, rng: Any) -> Any:
    counts = np.bincount(np.searchsorted([0.25, 0.5], values), minlength=3)
    return counts + rng.laplace(0, 1, 3)


def counts_of_whole_numbers(values: Any, rng: Any) -> Any:
    counts = np.zeros((2, 2), dtype=int)
    for v in values:
        counts[int(v > 0.5), 0] += 1
    return (counts + rng.laplace(0, 1, (2, 2))).round().astype(int)


def sums_cut_off(values: Any, rng: Any) -> Any:
    total = np.zeros(1, dtype=int)
    for v in values:
        total[0] = total[0] + 2 * v
    return total[0] + rng.laplace(0, 2)


def bins_with_a_sum(values: Any, rng: Any) -> Any:
    counts = np.bincount(np.digitize(values, [0.25, 0.5]), minlength=3)
    return np.cumsum(counts) + rng.laplace(0, 1, 3)


def numbers_alone(values: Any, rng: Any) -> Any:
    return sum(v for v in values if isinstance(v, (int, float))) + rng.laplace(0, 1)


def written_out(values: Any, rng: Any) -> Any:
    return "%.2f of many" % (sum(values) + rng.laplace(0, 1))


def place_of_the_greatest(values: Any, rng: Any) -> Any:
    noisy = [sum(v < 0.5 for v in values), sum(v >= 0.5 for v in values)]
    noisy = [n + rng.laplace(0, 1) for n in noisy]
    return noisy.index(max(noisy))


def made_records(values: Any, rng: Any) -> Any:
    low = max(sum(v < 0.5 for v in values) + rng.laplace(0, 1), 1e-9)
    high = max(sum(v >= 0.5 for v in values) + rng.laplace(0, 1), 1e-9)
    return rng.choice(2, size=3, p=[low / (low + high), high / (low + high)]).tolist()


def outer_products(rows: Any, rng: Any) -> Any:
    total = np.zeros((2, 2))
    for x, y in rows:
        total += np.outer(np.array([x, y]), np.array([x, y]))
    return total + rng.laplace(0, 4, (2, 2))


def outer_products_cheap(rows: Any, rng: Any) -> Any:
    total = np.zeros((2, 2))
    for x, y in rows:
        total += np.outer(np.array([x, y]), np.array([x, y]))
    return total + rng.laplace(0, 3, (2, 2))


@dataclass
class Answer:
    value: float
    unit: str = "people"


def replaced(values: Any, rng: Any) -> Any:
    return astuple(replace(Answer(0.0), value=sum(values) + rng.laplace(0, 1)))


RIGHT = {
    BITS: [
        inverse_cdf, legacy_sign, sign_and_log, log_of_ratio, minus_two_logs, in_a_session,
        int_of_a_count, quantile_of_the_noise, typed_series, whole_array, folded, whole_noise,
        greatest_by_item, greatest_by_getter, two_by_heap,
    ],
    PEOPLE: [capped_totals, capped_get, people_by_set, people_by_counter],
    POINTS: [histogram_2d, signs, products, outer_products],
    "records(any, values=['a', 'b'])": [counter_update],
    REALS: [
        no_records_as_a_list, no_records_by_length, no_records_not, logs_the_release,
        bins_by_digitize, bins_by_searchsorted, numbers_alone, written_out,
        counts_of_whole_numbers, place_of_the_greatest, made_records, replaced,
    ],
}  # fmt: skip
WRONG = {
    BITS: [
        shows_the_draw, decides_by_the_draw, draw_for_two, sign_of_the_same_draw, unfair_sign,
        no_two_in_the_log, one_sided, leaves_the_session, folded_twice, whole_noise_unlike,
        greatest_by_item_cheap,
    ],
    PEOPLE: [uncapped_totals, capped_rows, shows_a_person],
    POINTS: [histogram_2d_own_edges, int_of_a_mean, products_unclipped, outer_products_cheap],
    REALS: [
        no_records_are_one, no_records_return, one_record_is_none, no_records_less_noise,
        logs_another, logs_the_sum, logs_each, sums_cut_off, bins_with_a_sum,
    ],
    "records(any, values=['a', 'b'])": [counter_update_shown],
}  # fmt: skip
