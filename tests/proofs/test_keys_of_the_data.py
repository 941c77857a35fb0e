"""Keys that only the data have: counts by key in all their spellings, thresholds, how many."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpest
from dpest import kernel
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked

SHOWN = 1 + math.log(1 / (2 * 1e-4))
DOMAIN = dpest.integers(dpest.ANY, 0, 2)
LETTERS = dpest.records(dpest.ANY, values=["a", "b", "c"])


def proved(function, delta=1e-4, domain=DOMAIN, adjacency="add_remove_one", length=dpest.ANY):
    measure = Measure("epsilon", delta) if delta else Measure("epsilon")
    question = asked(function, adjacency, length, None, None, domain, None, None)
    return prove_contributions(question, measure, None)


def by_get(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 1
    out = {}
    for k, n in counts.items():
        noisy = n + rng.laplace(0, 1)
        if noisy > SHOWN:
            out[k] = noisy
    return out


def by_defaultdict(users, rng):
    counts = defaultdict(int)
    for u in users:
        counts[u] += 1
    return {k for k in counts if counts[k] + rng.laplace(0, 1) >= SHOWN}


def by_in(users, rng):
    counts = {}
    for u in users:
        if u in counts:
            counts[u] += 1
        else:
            counts[u] = 1
    return sorted(k for k, n in counts.items() if n + rng.laplace(0, 1) >= SHOWN)


def by_setdefault(users, rng):
    counts = {}
    for u in users:
        counts.setdefault(u, 0)
        counts[u] += 1
    noisy = {k: n + rng.laplace(0, 1) for k, n in counts.items()}
    return {k: v for k, v in noisy.items() if v > SHOWN}


def in_order(users, rng):
    counts = Counter(users)
    shown = []
    for k in sorted(counts):
        noisy = counts[k] + rng.laplace(0, 1)
        if noisy > SHOWN:
            shown.append((k, noisy))
    return shown


def by_exception(users, rng):
    counts = {}
    for u in users:
        try:
            counts[u] += 1
        except KeyError:
            counts[u] = 1
    return {k: v for k, v in ((k, n + rng.laplace(0, 1)) for k, n in counts.items()) if v > SHOWN}


def by_set(users, rng):
    shown = {}
    for k in set(users):
        noisy = list(users).count(k) + rng.laplace(0, 1)
        if noisy <= SHOWN:
            continue
        shown[k] = max(0, round(noisy))
    return shown


def most_common_first(users, rng):
    noisy = {k: n + rng.laplace(0, 1) for k, n in Counter(users).most_common()}
    return {k: v for k, v in noisy.items() if v > SHOWN}


def in_pandas(users, rng):
    shown = {}
    for key, n in pd.Series(users).value_counts().items():
        noisy = n + rng.laplace(0, 1)
        if noisy > SHOWN:
            shown[key] = noisy
    return shown


@pytest.mark.parametrize(
    "function",
    [
        by_get, by_defaultdict, by_in, by_setdefault, in_order, by_exception, by_set,
        most_common_first, in_pandas,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("domain", [DOMAIN, LETTERS], ids=["numbers", "letters"])
def test_counts_by_key_in_all_their_spellings(function, domain):
    assert float(proved(function, domain=domain).bound) == 1.0
    kernel.check(proved(function, domain=domain).certificate)


def one_too_low(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 1
    return {k: n for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def no_threshold(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 1
    return {k: n + rng.laplace(0, 1) for k, n in counts.items()}


def two_each(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 2
    return {k for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def two_keys(users, rng):
    counts = defaultdict(int)
    for u in users:
        counts[u] += 1
        counts[9] += 1
    return {k for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def shown_if_absent(users, rng):
    out = {}
    for k, n in Counter(users).items():
        noisy = n + rng.laplace(0, 1)
        out[k] = noisy if noisy > SHOWN else None
    return out


def another_key_decides(users, rng):
    counts = {}
    for u in users:
        if 0 in counts:
            counts[u] = counts.get(u, 0) + 1
        else:
            counts[u] = counts.get(u, 0) + 1
            counts[0] = 1
    return {k for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def starts_at_two(users, rng):
    counts = {}
    for u in users:
        if u in counts:
            counts[u] += 1
        else:
            counts[u] = 2
    return {k for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def asked_for_later(users, rng):
    noisy = {k: n + rng.laplace(0, 1) for k, n in Counter(users).items()}
    return noisy.get(0, 0.0)


def keys_as_labels(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 1
    return pd.Series(counts) + rng.laplace(0, 1)


def unpacked(users, rng):
    counts = {}
    for u in users:
        counts[u] = counts.get(u, 0) + 1
    whole = {**counts}
    return [whole[k] + rng.laplace(0, 1) for k in whole]


def pairs_without_threshold(users, rng):
    return sorted((k, n + rng.laplace(0, 1)) for k, n in Counter(users).items())


def how_many_pairs(users, rng):
    return len([(k, n + rng.laplace(0, 1)) for k, n in Counter(users).items()])


def most_common_listed(users, rng):
    return [k for k, n in Counter(users).most_common() if n + rng.laplace(0, 1) > SHOWN]


def most_common_alone(users, rng):
    ((key, n),) = Counter(users).most_common(1)
    return key, n + rng.laplace(0, 1)


def used_twice(users, rng):
    noisy = {k: n + rng.laplace(0, 1) for k, n in Counter(users).items()}
    low = {k for k, v in noisy.items() if v > SHOWN}
    return low, {k for k, v in noisy.items() if v > 2}


def merged_keys(users, rng):
    shown = {}
    for k, n in Counter(users).items():
        noisy = n + rng.laplace(0, 1)
        if noisy > SHOWN:
            shown[int(k)] = noisy
    return shown


def other_key_at_exception(users, rng):
    counts = {}
    for u in users:
        try:
            counts[0] += 1
        except KeyError:
            counts[u] = 1
    return {k for k, n in counts.items() if n + rng.laplace(0, 1) > SHOWN}


def in_private_order(users, rng):
    return [k for k, n in Counter(users).items() if n + rng.laplace(0, 1) > SHOWN]


@pytest.mark.parametrize(
    "function",
    [
        one_too_low, no_threshold, two_each, two_keys, shown_if_absent, another_key_decides,
        starts_at_two, asked_for_later, keys_as_labels, unpacked, in_private_order,
        pairs_without_threshold, how_many_pairs, most_common_listed, most_common_alone, used_twice,
        merged_keys, other_key_at_exception,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_shows_keys_or_counts_is_refused(function):
    with pytest.raises(DpestError):
        proved(function)


def gaussian_keys(users, rng):
    sigma = 4.0
    out = {}
    for k, n in Counter(users).items():
        noisy = n + rng.normal(0, sigma)
        if noisy > 1 + 3.2905 * sigma:  # Φ(-3.2905) is just below 0.0005
            out[k] = noisy
    return out


def changed(certificate, change):
    copy = json.loads(json.dumps(certificate))
    change(copy)
    return copy


def test_gaussian_noise_for_each_key():
    proof = proved(gaussian_keys, delta=1e-3)
    certificate, bound = proof.certificate, float(proof.bound)
    kernel.check(certificate)
    # A key of others moves by 1 (μ = 1/4); one of nobody else is shown with a chance.
    chance = math.erfc(3.2905 / math.sqrt(2)) / 2
    exact = dpest.exact(gaussian_keys, [0] * 40, [0] * 41, adjacency=dpest.add_remove_one())
    together = [chance + (1 - chance) * exact.delta(b) for b in (bound, 0.99 * bound)]
    assert together[0] <= 1e-3 + 1e-12 < together[1]
    for change in (
        lambda c: c["ways"][0]["gates"][0].update(threshold="12"),
        lambda c: c["ways"][0]["noises"][0].update(scale="2"),
        lambda c: c.update(delta=str(Fraction(c["delta"]) * 99 / 100)),
        lambda c: c["adjacency"].update(name="replace_one"),
    ):
        with pytest.raises(kernel.Invalid):
            kernel.check(changed(certificate, change))


def how_many(ids, rng):
    return len(set(ids)) + rng.laplace(0, 1)


def how_many_in_a_comprehension(ids, rng):
    return len({i % 2 for i in ids}) + rng.laplace(0, 1)


def how_many_keys(ids, rng):
    counts = {}
    for i in ids:
        counts[i] = counts.get(i, 0) + 1
    return len(counts) + rng.laplace(0, 1)


def how_many_seen(ids, rng):
    seen = set()
    for i in ids:
        seen.add(i)
    return len(seen) + rng.laplace(0, 1)


@pytest.mark.parametrize(
    "function",
    [how_many, how_many_in_a_comprehension, how_many_keys, how_many_seen],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("adjacency", ["add_remove_one", "replace_one"])
def test_how_many_different_values_moves_by_one(function, adjacency):
    proof = proved(function, delta=0, adjacency=adjacency)
    assert proof.bound == 1
    kernel.check(proof.certificate)


def beside_a_field(c):
    """What one record moves a number of all records by, times one of its own fields."""
    terms = c["ways"][0]["terms"]
    terms.append(["field", None, ""])
    c["ways"][0]["passes"][0]["cases"][0]["adds"] = [["0", [[0, "1"], [len(terms) - 1, "1"]]]]


def on_a_condition(c):
    place = next(i for i, t in enumerate(c["ways"][0]["terms"]) if t[0] == "field")
    c["ways"][0]["passes"][0]["cases"] = [
        {"if": [[">", ["0", [[place, "1"]]]]], "adds": [["0", [[place, "1"]]]]},
        {"if": [[">=", ["0", [[place, "-1"]]]]], "adds": [["0", []]]},
    ]


def wider(c):
    next(x for x in c["columns"] if x.get("of_all"))["high"] = "2"


def of_moved_numbers(c):
    c["adjacency"].update(name="l1", radius="1")


@pytest.mark.parametrize("change", [beside_a_field, on_a_condition, wider, of_moved_numbers])
def test_numbers_of_all_records_stand_alone(change):
    certificate = proved(how_many, delta=0).certificate
    kernel.check(certificate)
    with pytest.raises(kernel.Invalid):
        kernel.check(changed(certificate, change))


def the_set_itself(ids, rng):
    return {i % 2 for i in ids}


def sum_of_the_set(ids, rng):
    return sum({i % 2 for i in ids}) + rng.laplace(0, 1)


def test_a_set_of_the_data_is_counted_and_no_more():
    for function in (the_set_itself, sum_of_the_set):
        with pytest.raises(DpestError):
            proved(function, delta=0)


def median(xs, rng):
    return float(np.median(xs)) + rng.laplace(0, 1)


def median_of_clipped(xs, rng):
    return statistics.median([min(max(x, 0.0), 1.0) for x in xs]) + rng.laplace(0, 1)


def spread(xs, rng):
    return max(xs) - min(xs) + rng.laplace(0, 1)


@pytest.mark.parametrize(
    ("function", "domain", "bound"),
    [
        (median, dpest.reals(5, 0, 1), 1),
        (median, dpest.reals(5, -1, 2), 3),
        (median_of_clipped, dpest.reals(5, -9, 9), 1),
        (spread, dpest.reals(4, 0, 1), 2),
    ],
)
def test_an_order_statistic_moves_by_no_more_than_its_range(function, domain, bound):
    proof = proved(function, delta=0, domain=domain, adjacency="replace_one", length=domain.length)
    assert proof.bound == bound
    kernel.check(proof.certificate)
    with pytest.raises(DpestError):  # of data that may be empty it is none
        proved(function, delta=0, domain=domain)


def test_order_statistics_without_bounds_or_of_nothing_are_refused():
    for domain, length in ((dpest.reals(5), 5), (dpest.reals(dpest.ANY, 0, 1), dpest.ANY)):
        with pytest.raises(DpestError):
            proved(median, delta=0, domain=domain, length=length)
