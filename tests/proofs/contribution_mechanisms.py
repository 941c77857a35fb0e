"""Mechanisms whose records add to sums: right ones, and ones that look right."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def clip_by_quotient(data, rng, *, clip=1.0, sigma=2.0):
    total = np.zeros(2)
    for r in data:
        g = np.array([r["x1"] * r["y"], r["x2"]])
        total = total + g / max(1.0, np.linalg.norm(g) / clip)
    return total + rng.normal(0, sigma * clip, size=2)


def clip_by_factor(data, rng, *, clip=1.0, sigma=2.0):
    first, second = 0.0, 0.0
    for r in data:
        a, b = r["x1"] * r["y"], r["x2"]
        norm = math.sqrt(a**2 + b**2)
        factor = min(1.0, clip / (norm + 1e-9))
        first += a * factor
        second += factor * b
    return [first + rng.normal(0, sigma * clip), second + rng.normal(0, sigma * clip)]


def clip_if_long(data, rng, *, clip=1.0, sigma=2.0):
    total = [0.0, 0.0]
    for r in data:
        g = [r["x1"], r["x2"]]
        norm = math.hypot(g[0], g[1])
        if norm > clip:
            g = [v * (clip / norm) for v in g]
        for j in range(2):
            total[j] += g[j]
    return [t + rng.normal(0, sigma * clip) for t in total]


def clip_of_a_matrix(data, rng, *, clip=1.0, sigma=2.0):
    gradients = data[:, :2] * data[:, 2][:, None]
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients * np.minimum(1.0, clip / np.maximum(norms, 1e-12))
    return clipped.sum(axis=0) + rng.normal(0, sigma * clip, size=2)


def clip_of_one_coordinate(data, rng, *, clip=1.0, sigma=2.0):
    """The second number is not scaled by the norm that has it."""
    first, second = 0.0, 0.0
    for r in data:
        norm = math.sqrt(r["x1"] ** 2 + r["x2"] ** 2)
        factor = min(1.0, clip / (norm + 1e-9))
        first += r["x1"] * factor
        second += r["x2"]
    return [first + rng.normal(0, sigma * clip), second + rng.normal(0, sigma * clip)]


def clip_of_another_norm(data, rng, *, clip=1.0, sigma=2.0):
    """Both numbers are divided by the size of the first alone."""
    first, second = 0.0, 0.0
    for r in data:
        m = max(1.0, abs(r["x1"]) / clip)
        first += r["x1"] / m
        second += r["x2"] / m
    return [first + rng.normal(0, sigma * clip), second + rng.normal(0, sigma * clip)]


def quotient_that_raises(data, rng, *, clip=1.0, sigma=2.0):
    total = 0.0
    for v in data:
        total += v * min(1.0, clip / abs(v))
    return total + rng.normal(0, sigma)


def one_sample_twice(data, rng, *, q=0.2, sigma=1.0):
    keep = rng.random(len(data)) < q
    x = np.clip(np.asarray(data), 0, 1)
    first = x[keep].sum() + rng.normal(0, sigma)
    second = (x[keep] * min(max(first, 0), 1)).sum() + rng.normal(0, sigma)
    return [first, second]


def two_samples(data, rng, *, q=0.2, sigma=1.0):
    out, w = [], 1.0
    for _ in range(2):
        keep = rng.random(len(data)) < q
        x = np.clip(np.asarray(data) * w, 0, 1)
        y = x[keep].sum() + rng.normal(0, sigma)
        w = min(max(y, 0), 1)
        out.append(y)
    return out


def sample_size_told(data, rng, *, q=0.2, sigma=1.0):
    total, count = 0.0, 0
    for v in data:
        if rng.random() < q:
            total += min(max(v, 0.0), 1.0)
            count += 1
    return [total + rng.normal(0, sigma), count]


def noise_for_two(data, rng, *, sigma=1.0):
    h = rng.normal(0, sigma)
    s = sum(min(max(v, 0.0), 1.0) for v in data)
    return [s + h, 2 * s + h]


def later_noise(data, rng, *, sigma=1.0):
    """The query depends on a noise, and another noise was drawn before it."""
    h = rng.normal(0, sigma)
    theta = rng.normal(0, sigma)
    s = sum(min(max(v - theta, 0.0), 1.0) for v in data)
    return [theta, s + h]


def keys(users, rng, *, epsilon=1.0, delta=1e-3):
    threshold = 1 + math.log(1 / (2 * delta)) / epsilon
    out = {}
    for key, n in Counter(users).items():
        noisy = n + rng.laplace(0, 1 / epsilon)
        if noisy >= threshold:
            out[key] = noisy
    return out


def keys_in_order(users, rng, *, epsilon=1.0, delta=1e-3):
    return list(keys(users, rng, epsilon=epsilon, delta=delta))


def keys_that_are_counted(users, rng, *, epsilon=1.0, delta=1e-3):
    threshold = 1 + math.log(1 / (2 * delta)) / epsilon
    out, below = {}, 0
    for key, n in Counter(users).items():
        noisy = n + rng.laplace(0, 1 / epsilon)
        if noisy >= threshold:
            out[key] = noisy
        else:
            below += 1
    return out, below


def truncated(x, rng, *, epsilon=1.0, delta=1e-3):
    most = (1 / epsilon) * math.log(1 + (math.exp(epsilon) - 1) / (2 * delta))
    z = rng.laplace(scale=1 / epsilon)
    while abs(z) > most:
        z = rng.laplace(scale=1 / epsilon)
    return sum(x) + z


def clamped(x, rng, *, epsilon=1.0):
    """The noise has atoms at its ends."""
    z = min(max(rng.laplace(scale=1 / epsilon), -7.0), 7.0)
    return sum(x) + z


def ends_early(data, rng, *, sigma=1.0):
    total = 0.0
    for v in data:
        if v > 2.5:
            break
        total += min(max(v, 0.0), 1.0)
    return total + rng.normal(0, sigma)


def depends_on_the_others(data, rng, *, sigma=1.0):
    total = 1.0
    for v in data:
        total += min(max(v * total, 0.0), 1.0)
    return total + rng.normal(0, sigma)


def last_record(data, rng, *, sigma=1.0):
    total, last = 0.0, 0.0
    for v in data:
        last = min(max(v, 0.0), 1.0)
        total += last
    return total + 0 * last + rng.normal(0, sigma)


_seen = []


def remembers(data, rng, *, sigma=1.0):
    _seen.append(len(data))
    return sum(min(max(v, 0.0), 1.0) for v in data) + rng.normal(0, sigma)


def changes_its_data(data, rng, *, sigma=1.0):
    data[:, 0] = 0.0
    return data.sum() + rng.normal(0, sigma)


def looks_at_the_type(data, rng, *, sigma=1.0):
    total = sum(v if isinstance(v, float) else 100 * v for v in data)
    return total + rng.normal(0, sigma)


def catches(data, rng, *, sigma=1.0):
    total = 0.0
    for v in data:
        try:
            total += min(1.0, 1 / v)
        except ZeroDivisionError:
            total += 50.0
    return total + rng.normal(0, sigma)
