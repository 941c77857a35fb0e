"""A proof for every eps is of code that does the same for every eps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpest


def noisy(x: Any, rng: Any, scale: Any) -> Any:
    return sum(x) + rng.laplace(scale=scale)


def equal(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if eps == 2 else 1 / eps)


def not_equal(x, rng, *, eps=1.0):
    return noisy(x, rng, 1 / eps if eps != 2 else 0.1)


def member(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if eps in (2.0, 3.0) else 1 / eps)


def member_of_a_set(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if eps in {2.0, 3.0} else 1 / eps)


def counted(x, rng, *, eps=1.0):
    return noisy(x, rng, 1 / eps / (1 + 9 * [2.0, 3.0].count(eps)))


def got(x, rng, *, eps=1.0):
    return noisy(x, rng, {2.0: 0.1}.get(eps, 1 / eps))


def looked_up(x, rng, *, eps=1.0):
    try:
        scale = {1.0: 1.0, 2.0: 0.1}[eps]
    except KeyError:
        scale = 1 / eps
    return noisy(x, rng, scale)


def a_key(x, rng, *, eps=1.0):
    scales = {eps: 1 / eps}
    scales[2.0] = 0.1
    return noisy(x, rng, scales[eps])


def of_a_type(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if isinstance(eps, int) else 1 / eps)


def in_text(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if f"{eps}" == "2.0" else 1 / eps)


def in_words(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if repr(eps) == "2.0" or str(eps) == "2.0" else 1 / eps)


def matched(x, rng, *, eps=1.0):
    match eps:
        case 2.0:
            scale = 0.1
        case _:
            scale = 1 / eps
    return noisy(x, rng, scale)


def by_numpy(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if np.equal(eps, 2) else 1 / eps)


def masked(x, rng, *, eps=1.0):
    return noisy(x, rng, np.where(eps == 2, 0.1, 1 / eps))


def root(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if math.sqrt(eps) == 2 else 1 / eps)


def exponential(x, rng, *, eps=1.0):
    return noisy(x, rng, 0.1 if math.exp(-eps) in (math.exp(-2.0),) else 1 / eps)


def flipped(x, rng, *, eps=1.0):
    chance = math.exp(eps) / (1 + math.exp(eps))
    if chance == math.exp(2.0) / (1 + math.exp(2.0)):
        chance = 0.9999
    return [b if rng.random() < chance else 1 - b for b in x]


def flipped_by_power(x, rng, *, eps=1.0):
    power = math.exp(-eps)
    chance = {math.exp(-2.0): 0.9999}.get(power, 1 / (1 + power))
    return [b if rng.random() < chance else 1 - b for b in x]


ANOTHER = (
    equal, not_equal, member, member_of_a_set, counted, got, looked_up, a_key, of_a_type,
    in_text, in_words, matched, by_numpy, masked, root, exponential, flipped, flipped_by_power,
)  # fmt: skip
BITS = {"adjacency": "replace_one", "domain": "integers(any, 0, 1)"}


@pytest.mark.parametrize("function", ANOTHER, ids=lambda f: f.__name__)
def test_another_scale_at_one_eps_is_no_proof_for_every_eps(function: Callable[..., Any]) -> None:
    proof = dpest.prove(function, **BITS)
    assert proof.bound is None or "the bound is for eps = 1.0 alone" in proof.notes, proof


def checked(x, rng, *, eps=1.0):
    if eps is None or eps == 0 or eps <= 0:
        raise ValueError("eps must be positive")
    return noisy(x, rng, 1 / eps)


def flipped_plainly(x, rng, *, eps=1.0):
    chance = max(math.exp(eps) / (1 + math.exp(eps)), 0.5)
    return [b if rng.random() < chance else 1 - b for b in x]


@pytest.mark.parametrize("function", [checked, flipped_plainly], ids=lambda f: f.__name__)
def test_what_is_the_same_for_every_eps_is_decided(function: Callable[..., Any]) -> None:
    proof = dpest.prove(function, **BITS)
    assert proof.unit == "eps", proof
    assert proof.epsilon == 1, proof


@pytest.mark.parametrize(
    ("poly", "positive", "non_negative"),
    [
        ((1, -4, 4), False, True),  # (1 - 2a)²: 0 in the middle
        ((0, 1), True, True),  # a: 0 at the end alone
        ((1, -1), True, True),
        ((4, -12, 9), False, True),  # (2 - 3a)²: 0 at 2/3
        ((1, -2), False, False),
        ((), False, True),
    ],
)
def test_a_sign_is_the_same_everywhere(
    poly: tuple[int, ...], positive: bool, non_negative: bool
) -> None:
    from dpest.proofs.enumeration import ratios

    assert ratios.positive(poly) is positive
    if non_negative is False:
        assert not ratios.non_negative(poly)
