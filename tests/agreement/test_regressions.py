"""Ways in which a reading, a loss or a proof was once wrong."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import dpest
from dpest.errors import ReadingError
from dpest.kernel import check
from dpest.noise import discrete_laplace
from dpest.running.batch.batch import batch


def integer_noise(x, rng, eps=1.0):
    return x[0] + discrete_laplace(rng, 1 / eps)


def integer_noise_on_a_mean(x, rng, eps=1.0):
    return (x[0] + x[1]) / 2 + discrete_laplace(rng, 1 / eps)


def integer_noise_on_a_half(x, rng, eps=1.0):
    return x[0] / 2 + discrete_laplace(rng, 1 / eps)


@pytest.mark.parametrize(
    ("function", "adjacency", "domain", "x", "x2"),
    [
        pytest.param(
            integer_noise,
            dpest.linf(1),
            dpest.reals(1),
            [0],
            [0.5],
        ),
        pytest.param(
            integer_noise_on_a_mean,
            dpest.linf(1),
            dpest.integers(2),
            [0, 0],
            [1, 0],
        ),
        pytest.param(
            integer_noise_on_a_half,
            dpest.linf(2),
            dpest.integers(1),
            [0],
            [1],
        ),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_no_proof_where_supports_differ(function, adjacency, domain, x, x2) -> None:
    assert dpest.exact(function, x, x2).epsilon == math.inf
    proof = dpest.prove(function, adjacency=adjacency, length=len(x), domain=domain)
    assert proof.status in ("unknown", "refuted"), proof


def test_a_proof_on_integers_says_nothing_of_reals() -> None:
    proof = dpest.prove(integer_noise, adjacency=dpest.linf(1), length=1, domain=dpest.integers(1))
    assert proof.certificate is not None
    certificate = json.loads(json.dumps(proof.certificate))
    check(certificate)
    certificate["domain"]["kind"] = "reals"
    with pytest.raises(Exception):  # noqa: B017, PT011
        check(certificate)


def geometric_by_hand(x, rng):
    k = 0
    while rng.random() < 0.5:
        k += 1
    return x + (k if rng.random() < 0.5 else -k)


def test_a_cut_loop_is_no_infinity() -> None:
    try:
        epsilon = dpest.exact(geometric_by_hand, 0, 1).epsilon
    except (ReadingError, dpest.errors.RefusedError):
        return
    assert epsilon <= math.log(4) + 1e-6


def added_bools(x, rng):
    return (rng.random() < 0.5) + (rng.random() < 0.5) + (rng.random() < 0.5)


def test_bools_of_scalar_draws_add_up() -> None:
    assert {int(v) for v in batch(added_bools, 0, 1000, 1)} == {0, 1, 2, 3}


def added_numpy_bools(x, rng):
    above = np.asarray(x) + rng.laplace(size=2) > 0
    return above[0] + above[1]


def test_numpy_bools_are_or() -> None:
    try:
        epsilon = dpest.exact(added_numpy_bools, [0, 0], [-1, -1]).epsilon
    except ReadingError:
        return
    none = [(1 - p) ** 2 for p in (0.5, math.exp(-1) / 2)]
    want = max(math.log(none[1] / none[0]), math.log((1 - none[0]) / (1 - none[1])))
    assert epsilon == pytest.approx(want, rel=1e-9)


def swallowed(x, rng):
    try:
        return math.exp(x + rng.laplace())
    except Exception:
        return 0


def test_swallowed_errors_are_told() -> None:
    with pytest.raises(ReadingError):
        dpest.exact(swallowed, 0, 1)


def looks_at_type(x, rng):
    return 0 if isinstance(rng.laplace(), float) else 1


def looks_at_identity(x, rng):
    return 1 if (rng.laplace() > 0) is True else 0


def standard_library(x, rng):
    return random.random() < 0.3


def noisy_key(x, rng):
    return {round(rng.laplace()): 1}


def drawn_keys(x, rng):
    return {("roll", rng.integers(3)): rng.random() < 0.5, "n": 1}


def drawn_set(x, rng):
    return frozenset({rng.integers(3), rng.integers(3)})


def _shown(output: Any) -> str:
    """Values with their types; a dictionary is a mapping and has no order."""
    return str(sorted(output.items(), key=repr) if isinstance(output, dict) else output)


@pytest.mark.parametrize(
    "function",
    [
        looks_at_type,
        looks_at_identity,
        standard_library,
        noisy_key,
        drawn_keys,
        drawn_set,
    ],
    ids=lambda f: f.__name__,
)
def test_batch_is_the_plain_run(function: Any) -> None:
    """Each outcome's frequency within 6 standard deviations."""
    size = 4000
    rng = np.random.default_rng(1)
    random.seed(2)
    plain = Counter(_shown(function(0, rng)) for _ in range(size))
    batched = Counter(_shown(v) for v in batch(function, 0, size, 1))
    for outcome in plain | batched:
        slack = 6 * math.sqrt(plain[outcome] + batched[outcome])
        assert abs(plain[outcome] - batched[outcome]) <= slack, outcome
