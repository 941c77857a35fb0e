"""The exponential mechanism by its probabilities: read as an argmax with Gumbel noise."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import ANY, zoo
from dpest.proofs import prove
from dpest.proofs.rebuilding import differences


def with_maximum(scores, rng, *, eps=1.0):
    weights = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return rng.choice(len(scores), p=weights / np.sum(weights))


def plain_array(scores, rng, *, eps=1.0):
    p = np.exp(eps * scores / 2)
    p /= p.sum()
    return rng.choice(np.arange(len(scores)), p=p)


def lists(scores, rng, *, eps=1.0):
    weights = [math.exp(eps * s / 2) for s in scores]
    total = sum(weights)
    return rng.choice(range(len(scores)), p=[w / total for w in weights])


def losses(scores, rng, *, eps=1.0, sensitivity=2):
    w = np.exp(-eps * np.asarray(scores) / (2 * sensitivity))
    return rng.choice(len(scores), p=w / w.sum())


def without_half(scores, rng, *, eps=1.0):
    w = np.exp(eps * np.asarray(scores))
    return rng.choice(len(scores), p=w / w.sum())


def hard_coded(scores, rng):
    w = np.exp(0.25 * np.asarray(scores))
    return rng.choice(len(scores), p=w / w.sum())


@pytest.mark.parametrize(
    ("function", "adjacency", "expected"),
    [
        (with_maximum, "linf", 1),
        (with_maximum, "monotone", Fraction(1, 2)),
        (plain_array, "linf", 1),
        (lists, "linf", 1),
        (losses, "linf:2", 1),
        (without_half, "linf", 2),
        (hard_coded, "linf", Fraction(1, 2)),
    ],
)
def test_it_is_proved_for_every_length(function, adjacency, expected):
    """And the exact ε of random neighbours is never above, but comes near."""
    proof = prove(function, adjacency=adjacency)
    assert (proof.length, proof.epsilon) == (ANY, expected)
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    source = random.Random(2)
    radius = 2 if adjacency == "linf:2" else 1
    worst = 0.0
    for n in (2, 3, 4, 4):
        x = np.array([source.randint(-3, 3) for _ in range(n)], dtype=float)
        steps = (0, 1) if adjacency == "monotone" else (-1, 1)
        x2 = x + radius * np.array([source.choice(steps) for _ in range(n)])
        worst = max(worst, dpest.exact(function, x, x2).epsilon)
    x, x2 = np.array([0.0, 40.0]), np.array([1.0, 40.0])
    if adjacency == "linf":
        x, x2 = np.array([0.0, 40.0]), np.array([1.0, 39.0])
    if adjacency != "linf:2":
        worst = max(worst, dpest.exact(function, x, x2).epsilon)
        assert worst >= 0.99 * float(expected)
    assert worst <= float(expected) + 1e-9


def half_of_the_data(scores, rng, *, eps=1.0):
    w = np.exp(eps * np.asarray(scores) / 2)
    return rng.choice(len(scores), p=w / (2 * w.sum()))


def of_values(scores, rng, *, eps=1.0):
    w = np.exp(eps * np.asarray(scores) / 2)
    return rng.choice(scores, p=w / w.sum())


def released_weight(scores, rng, *, eps=1.0):
    return np.exp(eps * scores[0])


def the_greatest(scores, rng, *, eps=1.0):
    return np.max(scores) - 0 + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("function", [half_of_the_data, of_values, released_weight, the_greatest])
def test_anything_else_with_weights_is_refused(function):
    proof = prove(function, adjacency="linf")
    assert (proof.status, proof.certificate) == ("unknown", None)


def test_the_zoo():
    proof = prove(zoo.get("ExponentialMechanism"))
    assert proof.proved
    assert proof.length is ANY
    at = prove(zoo.get("ExponentialMechanism"), length=4)
    assert at.proved
    assert at.length == 4
