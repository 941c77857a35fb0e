"""Noise that people make by hand, from uniform draws and coins, in the ways that they write it."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

Maker = Callable[[Any, float], Any]


# Laplace noise of scale b


def by_inverse_cdf(rng, b):
    u = rng.random() - 0.5
    return -b * np.sign(u) * np.log(1 - 2 * abs(u))


def by_copysign(rng, b):
    u = rng.uniform(-0.5, 0.5)
    return -b * math.copysign(1, u) * math.log(1 - 2 * abs(u))


def by_cases(rng, b):
    u = rng.random()
    if u < 0.5:
        return b * math.log(2 * u)
    return -b * math.log(2 * (1 - u))


def by_sign_of_cases(rng, b):
    u = rng.uniform(-0.5, 0.5)
    sign = 1 if u > 0 else -1
    return -b * sign * math.log1p(-2 * abs(u))


def by_where(rng, b):
    u = rng.random()
    return b * np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def from_the_middle(rng, b):
    u = rng.random() - 0.5
    return b * np.sign(u) * np.log(2 * abs(u))


def by_two_logarithms(rng, b):
    return b * (math.log(rng.random()) - math.log(rng.random()))


def never_zero(rng, b):
    u = 0.0
    while u == 0.0:
        u = rng.random()
    v = u - 0.5
    return b * log(1 + 2 * v) if v < 0 else -b * log(1 - 2 * v)


def on_minus_one_to_one(rng, b):
    u = rng.uniform(low=-1, high=1)
    return -b * np.sign(u) * np.log(1 - np.abs(u))


def by_the_nearer_end(rng, b):
    u = rng.random()
    return -np.sign(u - 0.5) * b * np.log(2 * min(u, 1 - u))


def by_a_truth(rng, b):
    u = rng.random() - 0.5
    return -b * (2 * (u > 0) - 1) * np.log(1 - 2 * abs(u))


def by_log2(rng, b):
    return b * (np.log2(rng.random()) - np.log2(rng.random())) / np.log2(np.e)


def chosen_sign(rng, b):
    return rng.choice([-1, 1]) * rng.exponential(b)


def integer_sign(rng, b):
    sign = 2 * rng.integers(2) - 1
    return sign * rng.exponential(b)


def sign_by_an_if(rng, b):
    e = rng.exponential(scale=b)
    if rng.random() < 0.5:
        e = -e
    return e


def sign_by_an_expression(rng, b):
    return (1 if rng.random() < 0.5 else -1) * rng.exponential(b)


def binomial_sign_and_log(rng, b):
    return (2 * rng.binomial(1, 0.5) - 1) * -b * np.log(rng.random())


def sign_after_log(rng, b):
    e = -b * math.log(1.0 - rng.random())
    return e if rng.random() < 0.5 else -e


def sign_of_a_uniform(rng, b):
    return np.sign(rng.random() - 0.5) * b * rng.standard_exponential()


def sign_of_integers_before(rng, b):
    return b * rng.standard_exponential() * (1 if rng.integers(2) else -1)


def sign_and_log_on_one_line(rng, b):
    return (1 if rng.random() < 0.5 else -1) * -b * np.log(rng.random())


def sign_of_one_and_log_of_another(rng, b):
    return np.sign(rng.random() - 0.5) * -b * math.log(rng.random())


def logs_of_both_ends(rng, b):
    return b * (np.log(rng.random()) - np.log(1 - rng.random()))


LAPLACE: list[Maker] = [
    sign_and_log_on_one_line,
    sign_of_one_and_log_of_another,
    logs_of_both_ends,
    by_inverse_cdf,
    by_copysign,
    by_cases,
    by_sign_of_cases,
    by_where,
    from_the_middle,
    by_two_logarithms,
    never_zero,
    on_minus_one_to_one,
    by_the_nearer_end,
    by_a_truth,
    by_log2,
    chosen_sign,
    integer_sign,
    sign_by_an_if,
    sign_by_an_expression,
    binomial_sign_and_log,
    sign_after_log,
    sign_of_a_uniform,
    sign_of_integers_before,
]


# Exponential and Gumbel noise


def minus_log(rng, b):
    return -b * np.log(rng.random())


def minus_log_of_the_rest(rng, b):
    return -b * math.log(1 - rng.random())


def minus_log1p(rng, b):
    u = rng.random()
    return -np.log1p(-u) * b


EXPONENTIAL: list[Maker] = [minus_log, minus_log_of_the_rest, minus_log1p]


def log_of_log(rng, b):
    return -b * np.log(-np.log(rng.random()))


def log_of_exponential(rng, b):
    return -b * math.log(rng.exponential())


def log_of_log_of_the_rest(rng, b):
    u = rng.uniform()
    return -b * math.log(-math.log(1 - u))


GUMBEL: list[Maker] = [log_of_log, log_of_exponential, log_of_log_of_the_rest]


def added(maker: Maker) -> Callable[..., Any]:
    """The first number plus noise of scale 2."""

    def mechanism(x, rng, b=2.0):
        return x[0] + maker(rng, b)

    return mechanism


# Vectors: x plus Laplace noise of scale 2


def vector_by_inverse_cdf(x, rng):
    u = rng.random(len(x)) - 0.5
    return np.array(x) - 2 * np.sign(u) * np.log(1 - 2 * np.abs(u))


def vector_by_where(x, rng):
    u = rng.uniform(size=len(x))
    return np.array(x) + np.where(u < 0.5, 2 * np.log(2 * u), -2 * np.log(2 - 2 * u))


def vector_by_a_helper(x, rng):
    return [v + by_inverse_cdf(rng, 2) for v in x]


def vector_by_cases(x, rng):
    out = []
    for v in x:
        u = rng.random()
        if u < 0.5:
            out.append(v + 2 * math.log(2 * u))
        else:
            out.append(v - 2 * math.log(2 - 2 * u))
    return out


def vector_by_logarithms(x, rng):
    return np.asarray(x) + 2 * (np.log(rng.random(len(x))) - np.log(rng.random(len(x))))


def vector_drawn_before(x, rng):
    us = rng.random(len(x))
    return [
        v + (2 * math.log(2 * u) if u < 0.5 else -2 * math.log(2 - 2 * u))
        for v, u in zip(x, us, strict=True)
    ]


def vector_of_signs(x, rng):
    return np.array(x) + rng.choice([-1, 1], size=len(x)) * rng.exponential(2, size=len(x))


def vector_of_where_signs(x, rng):
    signs = np.where(rng.random(len(x)) < 0.5, -1, 1)
    return np.array(x) + signs * rng.exponential(2, size=len(x))


def vector_of_sign_ifs(x, rng):
    out = []
    for v in x:
        e = rng.exponential(2)
        if rng.random() < 0.5:
            e = -e
        out.append(v + e)
    return out


def vector_on_one_line(x, rng):
    return [v + 2 * (1 if rng.random() < 0.5 else -1) * math.log(rng.random()) for v in x]


VECTORS = [
    vector_by_inverse_cdf,
    vector_by_where,
    vector_by_a_helper,
    vector_by_cases,
    vector_by_logarithms,
    vector_drawn_before,
    vector_of_signs,
    vector_of_where_signs,
    vector_of_sign_ifs,
    vector_on_one_line,
]
