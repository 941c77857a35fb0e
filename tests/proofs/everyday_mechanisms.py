"""Everyday code that is proved by what one record adds, and the same code with a mistake."""

from __future__ import annotations

import contextlib
import functools
import heapq
import math
import operator
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

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


RIGHT = {
    BITS: [
        inverse_cdf, legacy_sign, sign_and_log, log_of_ratio, minus_two_logs, in_a_session,
        int_of_a_count, quantile_of_the_noise, typed_series, whole_array, folded, whole_noise,
        greatest_by_item, greatest_by_getter, two_by_heap,
    ],
    PEOPLE: [capped_totals, capped_get, people_by_set, people_by_counter],
    POINTS: [histogram_2d, signs, products],
    "records(any, values=['a', 'b'])": [counter_update],
}  # fmt: skip
WRONG = {
    BITS: [
        shows_the_draw, decides_by_the_draw, draw_for_two, sign_of_the_same_draw, unfair_sign,
        no_two_in_the_log, one_sided, leaves_the_session, folded_twice, whole_noise_unlike,
        greatest_by_item_cheap,
    ],
    PEOPLE: [uncapped_totals, capped_rows, shows_a_person],
    POINTS: [histogram_2d_own_edges, int_of_a_mean, products_unclipped],
    "records(any, values=['a', 'b'])": [counter_update_shown],
}  # fmt: skip
