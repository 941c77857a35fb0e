"""Mechanisms in the many ways that people write them: each is run, and read in batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

X = [1.0, 2.0, 0.0, 1.0, 1.5]


def svt(x, rng, *, cutoff=2):
    rho = rng.laplace(scale=2)
    answers, hits = [], 0
    for q in x:
        if q + rng.laplace(scale=4) >= 1 + rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def svt_from_one_array(x, rng):
    rho = rng.laplace(0, 2)
    noisy = np.array(x) + rng.laplace(0, 4, size=len(x))
    out = []
    for value in noisy:
        if value < 1 + rho:
            out.append(0)
        else:
            out.append(1)
            return out
    return out


def svt_by_mask(x, rng):
    return list(x + rng.laplace(scale=4, size=len(x)) >= 1 + rng.laplace(scale=2))


def numerical_svt(x, rng):
    rho = rng.laplace(scale=2)
    out = []
    for q in x:
        if not q + rng.laplace(scale=3) < 1 + rho:
            out.append(q + rng.laplace(scale=1))
        else:
            out.append(0.0)
    return tuple(out)


def argmax(x, rng):
    return int(np.argmax(np.asarray(x) + rng.exponential(2, len(x))))


def argmax_of_a_list(x, rng):
    noisy = [q + rng.gumbel(0, 2) for q in x]
    return noisy.index(max(noisy))


def running_maximum(x, rng):
    best, where = -math.inf, None
    for i, q in enumerate(x):
        value = q + rng.normal(0, 2)
        if value > best:
            best, where = value, i
    return where, best


def argmax_of_an_array_of_values(x, rng):
    noisy = np.array([q + rng.laplace() for q in x])
    return np.argmax(noisy), noisy.max()


def top_two(x, rng):
    noisy = x + rng.laplace(size=len(x))
    return np.sort(np.argsort(-noisy)[:2])


def prefix_sums(x, rng):
    return np.cumsum(x + rng.laplace(scale=3, size=len(x)))


def dictionary(x, rng):
    total = np.sum(x) + rng.normal(scale=2)
    return {"sum": total, "big": total > 5, "note": "big" if total > 5 else None}


def noisy_scale(x, rng):
    first = x[0] + rng.laplace()
    return first, x[1] + rng.laplace(scale=1 + abs(first))


def randomised_response(x, rng):
    return [bool(q > 1) if rng.random() < 0.75 else bool(rng.integers(2)) for q in x]


def categorical(x, rng):
    return rng.choice(["a", "b", "c"], p=[0.2, 0.3, 0.5])


def picks(x, rng):
    return rng.choice([10, 20, 30, 40], size=2, replace=False)


def geometric_difference(x, rng):
    return int(x[1]) + rng.geometric(0.4) - rng.geometric(0.4)


def counts(x, rng):
    return rng.binomial(5, 0.3) + rng.poisson(2.0)


def permute_and_flip(x, rng):
    for i in rng.permutation(len(x)):
        if rng.random() <= np.exp((x[i] - max(x)) / 2):
            return i
    return None


def rejection(x, rng):
    while True:
        value = x[0] + rng.laplace()
        if 0 <= value <= 1:
            return value


def clipped(x, rng):
    noisy = np.clip(np.asarray(x) + rng.laplace(size=len(x)), 0, 2)
    noisy[noisy < 0.5] = 0
    noisy[1] += 1
    return noisy


def rounded(x, rng):
    return round(x[0] + rng.laplace()), math.floor(x[1] + rng.laplace())


def one_number_at_a_time(x, rng):
    return float(x[0] + rng.laplace()) > 0, math.erf(1 + abs(rng.laplace()))


def one_number_after_a_decision(x, rng):
    value = x[0] + rng.laplace(scale=2)
    if value > 1:
        return "big", math.exp(-value)
    return "small", f"{value:.0f}"


def two_by_two(x, rng):
    noise = rng.laplace(size=(2, 2))
    return (np.array([[1.0, 2.0], [3.0, 4.0]]) + noise).sum(axis=0), noise.T[0] @ np.array([1, 2])


def table_look_up(x, rng):
    winner = np.argmax(x + rng.laplace(size=len(x)))
    return x[winner], ["a", "b", "c", "d", "e"][winner]


def medians(x, rng):
    noisy = x + rng.laplace(size=len(x))
    return np.median(noisy), np.mean(noisy) > 1, sum(noisy), min(noisy[:2])


def sometimes_raises(x, rng):
    value = x[0] + rng.laplace()
    if value < 0:
        raise ValueError("a negative count")
    return value


def fills_an_array(x, rng):
    out = np.zeros(len(x))
    rho = rng.laplace()
    for i, q in enumerate(x):
        if q + rng.laplace() > 1 + rho:
            out[i] = q + rng.laplace()
            break
    return out


def fills_and_uses_an_array(x, rng):
    out = np.zeros(len(x))
    out[:2] = rng.laplace(size=2)
    out += rng.laplace(size=len(x))
    out[1:3] *= 2
    return out.sum(), np.argmax(out), out[out.shape[0] - 1] > 0


def adds_in_place(x, rng):
    noisy = np.array(x)
    noisy += rng.laplace(size=len(x))
    return noisy


def adds_in_place_to_a_shared_array(x, rng):
    noisy = np.array(x)
    same, view = noisy, noisy[:2]
    noisy += rng.laplace(size=len(x))
    return same, view


def function_of_a_list(x, rng):
    noisy = [q + rng.laplace() for q in x]
    return np.argmax(noisy), np.sum(noisy), np.array(noisy).max() - max(noisy)


def greatest_by_key(x, rng):
    noisy = [q + rng.laplace() for q in x]
    return max(range(len(x)), key=lambda i: noisy[i]), min(3.0, noisy[0])


CASES: list[Callable[..., Any]] = [
    svt,
    svt_from_one_array,
    svt_by_mask,
    numerical_svt,
    argmax,
    argmax_of_a_list,
    running_maximum,
    argmax_of_an_array_of_values,
    top_two,
    prefix_sums,
    dictionary,
    noisy_scale,
    randomised_response,
    categorical,
    picks,
    geometric_difference,
    counts,
    permute_and_flip,
    rejection,
    clipped,
    rounded,
    one_number_at_a_time,
    one_number_after_a_decision,
    two_by_two,
    table_look_up,
    medians,
    sometimes_raises,
    fills_an_array,
    fills_and_uses_an_array,
    adds_in_place,
    adds_in_place_to_a_shared_array,
    function_of_a_list,
    greatest_by_key,
]
