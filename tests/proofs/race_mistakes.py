"""What looks like permute-and-flip, and is not."""

from __future__ import annotations

import math

import numpy as np


def bad_twice(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps * (scores[i] - best)):
            return i


def bad_nomax(scores, rng, *, eps=1.0):
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * scores[i]):
            return i


def bad_order(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in range(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_order2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i, s in enumerate(scores):
        if rng.random() < np.exp(eps / 2 * (s - best)):
            return i


def bad_sorted(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in np.argsort(scores):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_state(scores, rng, *, eps=1.0):
    best = np.max(scores)
    k = 1
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(k * eps / 2 * (scores[i] - best)):
            return i
        k = 2


def bad_state2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        best = scores[i]


def bad_turn(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for t, i in enumerate(rng.permutation(len(scores))):
        if rng.random() < np.exp(eps / 2 * (t + 1) * (scores[i] - best)):
            return i


def bad_turn_out(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for t, i in enumerate(rng.permutation(len(scores))):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i, t


def bad_out(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return scores[i]


def bad_out2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i, best


def bad_other_best(scores, rng, *, eps=1.0):
    best = np.max(np.clip(scores, 0, 1))
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_noisy_best(scores, rng, *, eps=1.0):
    best = np.max(np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores)))
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_same_u(scores, rng, *, eps=1.0):
    best = np.max(scores)
    u = rng.random()
    for i in rng.permutation(len(scores)):
        if u < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_half(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < 0.5 * np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_skip0(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if i == 0:
            continue
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_min(scores, rng, *, eps=1.0):
    best = np.min(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_sign(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(-eps / 2 * (scores[i] - best)):
            return i


def bad_plus1(scores, rng, *, eps=1.0):
    best = np.max(scores) + 1
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_u2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.uniform(0, 2) < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_fixed_perm(scores, rng, *, eps=1.0):
    best = np.max(scores)
    perm = np.random.default_rng(0).permutation(len(scores))
    for i in perm:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_perm_scores(scores, rng, *, eps=1.0):
    best = max(scores)
    for j, s in enumerate(rng.permutation(scores)):
        if rng.random() < math.exp(eps / 2 * (s - best)):
            return j


def bad_keydraw(scores, rng, *, eps=1.0):
    z = rng.laplace(scale=2 / eps)
    return max(range(len(scores)), key=lambda i: scores[i] + z)


def bad_last(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(len(left)))
        if not left:
            return -1
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_some(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        if rng.random() < 0.5:
            left.remove(i)


def bad_first(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop(0)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_lastpop(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop()
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_again(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    i = left.pop(rng.integers(len(left)))
    for i in left:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_other(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(len(left)))
        j = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return j


def bad_twice_looked(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return left.pop(i)


def bad_copy(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    mixed = order.copy()
    rng.shuffle(mixed)
    best = max(scores)
    for i in order:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_slice(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    mixed = order[:]
    rng.shuffle(mixed)
    best = max(scores)
    for i in order:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_reshuffle(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    best = max(scores)
    while True:
        rng.shuffle(order)
        i = order[0]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_two_lists(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    other = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        other.remove(i)


def bad_new_list(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        left = list(range(len(scores)))


def bad_new_list2(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        left = list(range(len(scores)))
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_copied(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    rng.shuffle(left)
    best = max(scores)
    while True:
        i = left.copy().pop()
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_listed_order(scores, rng, *, eps=1.0):
    best = max(scores)
    order = [i for i in range(len(scores))]  # noqa: C416
    for i in order:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_listed_order2(scores, rng, *, eps=1.0):
    best = max(scores)
    order = [scores[i] - best for i in range(len(scores))]
    for i in range(len(order)):
        if rng.random() < np.exp(eps / 2 * order[i]):
            return i


def bad_pairs_in_order(scores, rng, *, eps=1.0):
    best = max(scores)
    pairs = [(i, s) for i, s in enumerate(scores)]
    for i, s in pairs:
        if rng.random() < np.exp(eps / 2 * (s - best)):
            return i


def bad_shuffled_apart(scores, rng, *, eps=1.0):
    best = max(scores)
    mixed = rng.permutation(scores)
    for i in range(len(scores)):
        if rng.random() < np.exp(eps / 2 * (mixed[i] - best)):
            return i
