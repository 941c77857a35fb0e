"""Permute-and-flip, in many spellings."""

from __future__ import annotations

import math
from math import exp

import numpy as np
from numpy import exp as npexp


def pf_zoo(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_shuffle(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    rng.shuffle(order)
    best = max(scores)
    for i in order:
        if rng.random() < math.exp(eps * (scores[i] - best) / 2):
            return i


def pf_tolist(scores, rng, *, eps=1.0):
    n = len(scores)
    top = max(scores)
    for i in rng.permutation(n).tolist():
        p = math.exp(0.5 * eps * (scores[i] - top))
        if rng.uniform() <= p:
            return i


def pf_array(scores, rng, *, eps=1.0):
    s = np.asarray(scores)
    p = np.exp(eps / 2 * (s - s.max()))
    for i in rng.permutation(len(s)):
        if rng.random() >= p[i]:
            continue
        return int(i)


def pf_binomial(scores, rng, *, eps=1.0):
    s = np.asarray(scores) - np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.binomial(1, np.exp(eps / 2 * s[i])) == 1:
            return i


def pf_binomial2(scores, rng, *, eps=1.0):
    s = np.asarray(scores) - np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.binomial(1, np.exp(eps / 2 * s[i])):
            return i


def pf_break(scores, rng, *, eps=1.0):
    best = max(scores)
    chosen = None
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            chosen = i
            break
    return chosen


def pf_while(scores, rng, *, eps=1.0):
    order = rng.permutation(len(scores))
    best = max(scores)
    j = 0
    while True:
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        j += 1


def pf_while2(scores, rng, *, eps=1.0):
    n = len(scores)
    order = rng.permutation(n)
    best = max(scores)
    j = 0
    while j < n:
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        j += 1


def pf_range(scores, rng, *, eps=1.0):
    n = len(scores)
    order = rng.permutation(n)
    best = max(scores)
    for j in range(n):
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_pop(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_sens(scores, rng, *, eps=1.0, sensitivity=2.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps * (scores[i] - best) / (2 * sensitivity)):
            return i


def pf_scaled(scores, rng, *, eps=1.0):
    z = eps / 2 * np.asarray(scores)
    z = z - z.max()
    for i in rng.permutation(len(z)):
        if rng.random() < np.exp(z[i]):
            return i


def pf_wmax(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    w = w / w.max()
    for i in rng.permutation(len(w)):
        if rng.random() < w[i]:
            return i


def pf_list(scores, rng, *, eps=1.0):
    best = max(scores)
    p = [math.exp(eps / 2 * (s - best)) for s in scores]
    for i in rng.permutation(len(p)):
        if rng.random() < p[i]:
            return i


def pf_loss(scores, rng, *, eps=1.0):
    best = min(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(-eps / 2 * (scores[i] - best)):
            return i


def pf_label(scores, rng, *, eps=1.0):
    labels = ["a", "b", "c", "d"]
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return labels[i]


def pf_enum_perm(scores, rng, *, eps=1.0):
    best = max(scores)
    pairs = list(enumerate(scores))
    rng.shuffle(pairs)
    for i, s in pairs:
        if rng.random() < np.exp(eps / 2 * (s - best)):
            return i


def pf_choice(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.choice(len(scores), size=len(scores), replace=False):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_logu(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if np.log(rng.random()) < eps / 2 * (scores[i] - best):
            return i


def pf_expo(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.exponential(2 / eps) > best - scores[i]:
            return i


def pf_max_arg(scores, rng, *, eps=1.0):
    scores = np.asarray(scores)
    best = scores[np.argmax(scores)]
    for i in rng.permutation(scores.size):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_helper(scores, rng, *, eps=1.0):
    best = max(scores)
    order = rng.permutation(np.arange(len(scores)))
    for i in order:
        if flip(rng, scores[i] - best, eps):
            return i


def flip(rng, gap, eps):
    return rng.random() < math.exp(eps * gap / 2)


def pf_hard(scores, rng):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(0.25 * (scores[i] - best)):
            return i


def pf_from_exp(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < exp(eps / 2 * (scores[i] - best)):
            return i


def pf_from_npexp(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < npexp(eps / 2 * (scores[i] - best)):
            return i


def pf_raise(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    raise RuntimeError("never")


def pf_ret(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return len(scores) - 1


def pf_ret2(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return int(np.argmax(scores))


def pf_coin_vector(scores, rng, *, eps=1.0):
    best = max(scores)
    u = rng.random(len(scores))
    for i in rng.permutation(len(scores)):
        if u[i] < math.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_np_list(scores, rng, *, eps=1.0):
    s = np.array(scores, dtype=float)
    s -= s.max()
    p = np.exp(eps * s / 2)
    order = np.arange(len(s))
    rng.shuffle(order)
    for i in order:
        if rng.random() < p[i]:
            return int(i)


def pf_two_coins(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 4 * (scores[i] - best)) and rng.random() < math.exp(
            eps / 4 * (scores[i] - best)
        ):
            return i


def pf_choice_coin(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        p = math.exp(eps / 2 * (scores[i] - best))
        if rng.choice([True, False], p=[p, 1 - p]):
            return i


def pf_chosen_none(scores, rng, *, eps=1.0):
    best = max(scores)
    chosen = None
    for i in rng.permutation(len(scores)):
        if chosen is None and rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            chosen = i
    return chosen


def pf_pair(scores, rng, *, eps=1.0):
    names = ["a", "b", "c"]
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i, names[i]


def pf_plus1(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i + 1


def pf_zip(scores, rng, *, eps=1.0):
    best = max(scores)
    pairs = list(zip(range(len(scores)), scores, strict=True))
    rng.shuffle(pairs)
    for i, s in pairs:
        if rng.random() < math.exp(eps / 2 * (s - best)):
            return i


def pf_pop_true(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(0, len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_len(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while len(left) > 0:
        k = rng.integers(len(left))
        i = left.pop(k)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
    raise RuntimeError


def pf_remove(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        left.remove(i)


def pf_shuffle_pop(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    rng.shuffle(order)
    best = max(scores)
    while order:
        i = order.pop()
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_guard(scores, rng, *, eps=1.0):
    n = len(scores)
    if n == 0:
        return None
    best = max(scores)
    for i in rng.permutation(n):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_listed(scores, rng, *, eps=1.0):
    best = max(scores)
    p = [np.exp(eps / 2 * (scores[i] - best)) for i in range(len(scores))]
    for i in rng.permutation(len(scores)):
        if rng.random() < p[i]:
            return i
