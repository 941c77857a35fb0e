"""Mechanisms in several ways of writing them, for the tests of proofs."""

from __future__ import annotations

import math

import numpy as np


def laplace(x, rng, *, eps=0.1):
    return x[0] + rng.laplace(scale=1 / eps)


def svt(queries, rng, *, eps=0.1, threshold=0.5, cutoff=1):
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in queries:
        if q + rng.laplace(scale=4 * cutoff / eps) >= threshold + rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def svt_yielding(queries, rng, *, eps=0.1, threshold=0.5, cutoff=1):
    rho = rng.laplace(scale=2 / eps)
    hits = 0
    for q in queries:
        above = q + rng.laplace(scale=4 * cutoff / eps) >= threshold + rho
        if above:
            yield True
            hits += 1
            if hits >= cutoff:
                return
        else:
            yield False


def svt_without_cutoff(queries, rng, *, eps=0.1, threshold=0.5):
    rho = rng.laplace(scale=2 / eps)
    return np.asarray(queries) + rng.laplace(scale=2 / eps, size=len(queries)) >= threshold + rho


def noisy_max(scores, rng, *, eps=0.1):
    return np.argmax(np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores)))


def noisy_max_loop(scores, rng, *, eps=0.1):
    best, winner = None, None
    for i, score in enumerate(scores):
        noisy = score + rng.laplace(scale=2 / eps)
        if best is None or noisy > best:
            best, winner = noisy, i
    return winner


def noisy_max_range(scores, rng, *, eps=0.1):
    best, winner = float("-inf"), 0
    for i in range(len(scores)):
        noisy = scores[i] + rng.laplace(scale=2 / eps)
        if noisy > best:
            best = noisy
            winner = i
    return winner


def noisy_max_comprehension(scores, rng, *, eps=0.1):
    noisy = [score + rng.laplace(scale=2 / eps) for score in scores]
    return noisy.index(max(noisy))


def counting_max(counts, rng, *, eps=0.1):
    return int(np.argmax(counts + rng.laplace(scale=1 / eps, size=len(counts))))


def noisy_max_value(scores, rng, *, eps=0.1):
    return max(score + rng.laplace(scale=2 / eps) for score in scores)


def noisy_max_with_gap(scores, rng, *, eps=0.1):
    noisy = np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores))
    winner = np.argmax(noisy)
    return winner, noisy[winner] - np.max(np.delete(noisy, winner))


def clipped_sum(x, rng, *, eps=0.1):
    return np.clip(x, 0, 5).sum() + rng.laplace(scale=5 / eps)


def clipped_sum_loop(x, rng, *, eps=0.1):
    total = 0
    for value in x:
        total += min(max(value, 0), 5)
    return total + rng.laplace(scale=5 / eps)


def clipped_mean(x, rng, *, eps=0.1):
    return np.mean(np.clip(x, 0, 1)) + rng.laplace(scale=1 / (len(x) * eps))


def count_above(x, rng, *, eps=0.1):
    return np.sum(np.asarray(x) > 3) + rng.laplace(scale=1 / eps)


def prefix_sums(x, rng, *, eps=0.1):
    return np.cumsum(np.asarray(x) + rng.laplace(scale=1 / eps, size=len(x)))


def hard_coded(x, rng):
    return x[0] + rng.laplace(scale=4)


def gaussian_sum(x, rng, *, rho=0.05):
    return np.sum(x) + rng.normal(scale=np.sqrt(1 / (2 * rho)))


def gaussian_max(x, rng, *, sigma=1.0):
    return np.argmax(np.asarray(x) + rng.normal(scale=sigma, size=len(x)))


def squared(x, rng, *, eps=0.1):
    noise = rng.laplace(scale=1 / eps)
    return (x[0] + noise) * (x[1] + noise)


def private_scale(x, rng, *, eps=0.1):
    return rng.laplace(scale=x[0] / eps)


def private_branch(x, rng, *, eps=0.1):
    if x[0] > 1:
        return x[0] + rng.laplace(scale=1 / eps)
    return rng.laplace(scale=1 / eps)


def equality(x, rng, *, eps=0.1):
    return x[0] + rng.laplace(scale=1 / eps) == 2


def two_passes(x, rng, *, eps=0.1):
    total = 0
    for value in x:
        total += value
    largest = 0
    for value in x:
        largest += 2 * value
    return total + rng.laplace(scale=1 / eps), largest + rng.laplace(scale=1 / eps)


_calls = 0


def counting_its_calls(x, rng, *, eps=0.1):
    return x[0] + rng.laplace(scale=1 / eps) + _next_call()


def _next_call():
    global _calls
    _calls += 1
    return _calls


def randomised_response(x, rng, *, eps=1.0):
    return x if rng.random() < 1 / (1 + math.exp(-eps)) else 1 - x


def lying_response(x, rng, *, eps=1.0):
    return x if rng.random() < 1 / (1 + math.exp(-2 * eps)) else 1 - x


def two_sided_geometric(x, rng, *, eps=1.0):
    p = 1 - math.exp(-eps)
    return x[0] + rng.geometric(p) - rng.geometric(p)


def fair_coin(x, rng):
    return x if rng.random() < 0.75 else 1 - x


def two_step(x, rng, *, eps=1.0):
    first = noisy_max(x, rng, eps=eps / 2)
    total = svt(x, rng, eps=eps / 4)
    if first > 1:
        return first, total, svt(x, rng, eps=eps / 4)
    return first, total


def peeking(x, rng, *, eps=1.0):
    return noisy_max(x, rng, eps=eps), x[0]


def counts_a_slot(x, rng, *, eps=1.0):
    """The bit about rho is noisy state, not data: its loss grows with the data."""
    rho = x[0] + rng.laplace(scale=1 / eps)
    answers = []
    for value in x:
        answers.append((rho > value) + rng.laplace(scale=1 / eps))
    return answers


def counts_its_threshold(x, rng, *, eps=1.0):
    rho = rng.laplace(scale=1 / eps)
    answers = []
    for value in x:
        rho = rho + value
        answers.append((rho > 3) * 1.0 + rng.laplace(scale=1 / eps))
    return answers


def raises_sometimes(x, rng, *, eps=1.0):
    if x[0] + rng.laplace(scale=1 / eps) > 3:
        raise RuntimeError("too large")
    return 1
