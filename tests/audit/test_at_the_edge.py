"""Mechanisms that are exactly at their δ are not called violated; at 0.999 of it, they are."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import dpest


def partition_selection(x, rng, *, eps=1.0, delta=1e-3):
    threshold = 1 + math.log(1 / (2 * delta)) / eps
    out = {}
    for key, count in Counter(x).items():
        noisy = count + rng.laplace(0, 1 / eps)
        if noisy > threshold:
            out[key] = noisy
    return out


def set_union(x, rng, *, eps=1.0, delta=1e-3):
    threshold = 1 + math.log(1 / (2 * delta)) / eps
    counts = {}
    for item in x:
        counts[item] = counts.get(item, 0) + 1
    return {k for k, c in counts.items() if c + rng.laplace(0, 1 / eps) >= threshold}


def propose_test_release(x, rng, *, eps=1.0, delta=1e-3):
    ones = sum(x)
    distance = max(0, (abs(2 * ones - len(x)) - 1) // 2)
    if distance + rng.laplace(scale=1 / eps) > math.log(1 / (2 * delta)) / eps:
        return 1 if 2 * ones > len(x) else 0
    return None


def truncated_noise(x, rng, *, eps=1.0, delta=1e-3):
    most = (1 / eps) * math.log(1 + (math.exp(eps) - 1) / (2 * delta))
    while True:
        z = rng.laplace(scale=1 / eps)
        if abs(z) <= most:
            break
    return sum(x) + z


CITIES = ("add_remove_one", 'records(any, values=["a", "b", "c"])')
BITS = ("replace_one", "integers(3, 0, 1)")
CASES = [
    (partition_selection, *CITIES),
    (set_union, *CITIES),
    (propose_test_release, *BITS),
    (truncated_noise, *BITS),
]


@pytest.mark.parametrize(("function", "adjacency", "domain"), CASES)
def test_exactly_at_its_delta(function, adjacency, domain):
    asked = {"epsilon": 1.0, "adjacency": adjacency, "domain": domain}
    assert dpest.audit(function, delta=1e-3, **asked).status != "violated"
    assert dpest.audit(function, delta=0.999e-3, **asked).status == "violated"
