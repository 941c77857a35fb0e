"""Wrong medians: each says more than its claim, ε = 1 where one record is replaced."""

# ruff: noqa: RUF005, RUF059, F841 -- as people write them

from __future__ import annotations

import math

import numpy as np

EPS = 1.0
LOW, HIGH = 0.0, 10.0


def _parts(x, epsilon, factor=0.5):
    n = len(x)
    edges = np.concatenate(([LOW], np.sort(np.clip(x, LOW, HIGH)), [HIGH]))
    widths = np.diff(edges)
    weights = widths * np.exp(-epsilon * factor * np.abs(np.arange(n + 1) - n / 2))
    return edges, weights, n


def releases_the_edge(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return edges[i]


def releases_the_middle(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return (edges[i] + edges[i + 1]) / 2


def releases_the_place_too(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1]), int(i)


def decides_by_the_place(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    t = rng.uniform(edges[i], edges[i + 1])
    return 0.0 if i == 0 else t


def two_points(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return [rng.uniform(edges[i], edges[i + 1]) for _ in range(2)]


def noisy_edge(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return edges[i] + rng.laplace(0, 1 / epsilon)


def part_of_the_gap(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return edges[i] + 0.5 * rng.random() * (edges[i + 1] - edges[i])


def next_gap(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n, p=weights[:-1] / weights[:-1].sum())
    return rng.uniform(edges[i + 1], edges[i + 2])


def two_gaps(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[n + 1])


def without_lengths(x, rng, *, epsilon=EPS):
    edges, _, n = _parts(x, epsilon)
    weights = np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def lengths_squared(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    weights = weights * np.diff(edges)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def twice_epsilon(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon, factor=1.0)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def half_the_noise(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = np.argmax(np.log(weights) + rng.gumbel(scale=0.5, size=n + 1))
    return rng.uniform(edges[i], edges[i + 1])


def other_noise(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = np.argmax(np.log(weights) + rng.laplace(size=n + 1))
    return rng.uniform(edges[i], edges[i + 1])


def ends_of_the_data(x, rng, *, epsilon=EPS):
    n = len(x)
    edges = np.concatenate(([np.min(x) - 1], np.sort(x), [np.max(x) + 1]))
    weights = np.diff(edges) * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def unclipped(x, rng, *, epsilon=EPS):
    n = len(x)
    edges = np.concatenate(([LOW], np.sort(x), [HIGH]))
    weights = np.abs(np.diff(edges)) * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def unsorted(x, rng, *, epsilon=EPS):
    n = len(x)
    edges = np.concatenate(([LOW], np.clip(x, LOW, HIGH), [HIGH]))
    weights = np.abs(np.diff(edges)) * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def equal_records_count(x, rng, *, epsilon=EPS):
    edges, _, n = _parts(x, epsilon)
    widths = np.maximum(np.diff(edges), 0.01)
    weights = widths * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def equal_records_score(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values)
    n = len(xs)
    edges = [LOW] + xs + [HIGH]
    best, score = 0, -math.inf
    for i in range(n + 1):
        width = edges[i + 1] - edges[i]
        s = -epsilon / 2 * abs(i - n / 2) + rng.gumbel()
        if width > 0:
            s += math.log(width)
        if s > score:
            best, score = i, s
    return rng.uniform(edges[best], edges[best + 1])


def score_of_the_data(x, rng, *, epsilon=EPS):
    edges, _, n = _parts(x, epsilon)
    weights = np.diff(edges) * np.exp(-epsilon / 2 * np.abs(edges[:-1] - np.mean(x)))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def one_uniform_number(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    u = rng.random()
    i = np.searchsorted(np.cumsum(weights / weights.sum()), u)
    return edges[i] + u * (edges[i + 1] - edges[i])


def uniform_number_told(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    i = rng.choice(n + 1, p=weights / weights.sum())
    u = rng.random()
    return edges[i] + u * (edges[i + 1] - edges[i]), u


def noise_told(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    g = rng.gumbel(size=n + 1)
    i = np.argmax(np.log(weights) + g)
    return rng.uniform(edges[i], edges[i + 1]), float(np.max(g))


def same_noise_twice(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon / 2)
    g = rng.gumbel(size=n + 1)
    i, j = np.argmax(np.log(weights) + g), np.argmax(np.log(weights) + 2 * g)
    return [rng.uniform(edges[i], edges[i + 1]), rng.uniform(edges[j], edges[j + 1])]


def before_the_weight_is_added(values, rng, *, epsilon=EPS):
    edges, weights, _ = _parts(values, epsilon)
    u = rng.random() * np.sum(weights)
    acc = 0.0
    for i, w in enumerate(weights):
        if u <= acc:
            return rng.uniform(edges[i], edges[i + 1])
        acc += w
    return HIGH


def share_of_other_weights(values, rng, *, epsilon=EPS):
    edges, weights, _ = _parts(values, epsilon)
    u = rng.random() * np.sum(np.diff(edges))
    acc = 0.0
    for i, w in enumerate(weights):
        acc += w
        if u <= acc:
            return rng.uniform(edges[i], edges[i + 1])
    return HIGH


def counts_the_turns(values, rng, *, epsilon=EPS):
    edges, weights, _ = _parts(values, epsilon)
    u = rng.random() * np.sum(weights)
    acc, turns = 0.0, 0
    for i, w in enumerate(weights):
        acc += w
        turns += 1
        if u <= acc:
            return rng.uniform(edges[i], edges[i + 1]), turns
    return HIGH, turns


def part_of_the_records(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values if v > 2)
    n = len(xs)
    edges = [LOW] + xs + [HIGH]
    weights = [
        (edges[i + 1] - edges[i]) * math.exp(-epsilon / 2 * abs(i - n / 2)) for i in range(n + 1)
    ]
    i = rng.choice(n + 1, p=[w / sum(weights) for w in weights])
    return rng.uniform(edges[i], edges[i + 1])


def squared_distance(x, rng, *, epsilon=EPS):
    edges, _, n = _parts(x, epsilon)
    weights = np.diff(edges) * np.exp(-epsilon / 2 * (np.arange(n + 1) - n / 2) ** 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def far_scores(x, rng, *, epsilon=EPS):
    edges, _, n = _parts(x, epsilon)
    weights = np.diff(edges) * np.exp(-epsilon / 2 * np.abs(2 * np.arange(n + 1) - n))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def last_gap(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values)
    n = len(xs)
    edges = [LOW] + xs + [HIGH]
    best, score = -math.inf, -math.inf
    for i in range(n + 1):
        if edges[i + 1] <= edges[i]:
            continue
        s = math.log(edges[i + 1] - edges[i]) - epsilon / 2 * abs(i - n / 2) + rng.gumbel()
        if s > score:
            best, score = i, s
    return rng.uniform(edges[i], edges[i + 1])


def compressed(values, rng, *, epsilon=EPS):
    edges, _, n = _parts(values, epsilon)
    logits = []
    for i in range(n + 1):
        width = edges[i + 1] - edges[i]
        if width > 0:
            logits.append(np.log(width) - epsilon / 2 * abs(i - n / 2))
    weights = np.exp(np.array(logits))
    i = rng.choice(len(weights), p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def pairs_of_sorted_data(values, rng, *, epsilon=EPS):
    """Sorted data are no longer in the order of the data."""
    ys = [min(max(v, LOW), HIGH) for v in values]
    xs = [min(max(v, LOW), HIGH) for v in values]
    xs.sort()
    return sum(a * b for a, b in zip(xs, ys, strict=True)) + rng.laplace(scale=100 / epsilon)


def stops_at_equal_records(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values)
    n = len(xs)
    edges = [LOW] + xs + [HIGH]
    w = [(edges[i + 1] - edges[i]) * math.exp(-epsilon / 2 * abs(i - n / 2)) for i in range(n + 1)]
    u = rng.random() * sum(w)
    acc = 0.0
    for i in range(n + 1):
        acc += w[i]
        if w[i] == 0:
            if acc < u:
                break
        elif u <= acc:
            break
    return rng.uniform(edges[i], edges[i + 1])


def tells_of_equal_records(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values)
    n, equal, w = len(xs), 0, []
    edges = [LOW] + xs + [HIGH]
    for i in range(n + 1):
        if edges[i + 1] == edges[i]:
            equal += 1
        w.append((edges[i + 1] - edges[i]) * math.exp(-epsilon / 2 * abs(i - n / 2)))
    i = rng.choice(n + 1, p=[v / sum(w) for v in w])
    return rng.uniform(edges[i], edges[i + 1]), equal


def what_the_last_turn_did(values, rng, *, epsilon=EPS):
    xs = sorted(min(max(v, LOW), HIGH) for v in values)
    n = len(xs)
    edges = [LOW] + xs + [HIGH]
    best, chosen, last = -math.inf, 0, None
    for i in range(n + 1):
        last = None
        if edges[i + 1] > edges[i]:
            s = math.log(edges[i + 1] - edges[i]) - epsilon / 2 * abs(i - n / 2) + rng.gumbel()
            if s > best:
                best, chosen, last = s, i, "it"
    return rng.uniform(edges[chosen], edges[chosen + 1]), last


def gap_of_other_data(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    others = np.concatenate(([LOW], np.sort(np.clip(-x, LOW, HIGH)), [HIGH]))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(others[i], others[i + 1])


def two_draws_of_one_gap(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon / 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    width = edges[i + 1] - edges[i]
    return [edges[i] + rng.random() * width, rng.uniform(edges[i], edges[i + 1])]


def one_number_for_two_walks(x, rng, *, epsilon=EPS):
    edges, weights, _ = _parts(x, epsilon / 2)
    u = rng.random()
    i = np.searchsorted(np.cumsum(weights), u * np.sum(weights))
    j = np.searchsorted(np.cumsum(weights / weights.sum()), u)
    return [rng.uniform(edges[i], edges[i + 1]), rng.uniform(edges[j], edges[j + 1])]


def sign_of_the_noise(x, rng, *, epsilon=EPS):
    edges, weights, n = _parts(x, epsilon)
    g = rng.gumbel(size=n + 1)
    i = np.argmax(np.log(weights) + g)
    t = rng.uniform(edges[i], edges[i + 1])
    return t if g[i] > 0 else -t


def noisy_weights(x, rng, *, epsilon=EPS):
    """Laplace noise around each score, besides."""
    edges, weights, n = _parts(x, epsilon)
    i = np.argmax(rng.laplace(np.log(weights)) + rng.gumbel(size=n + 1))
    return rng.uniform(edges[i], edges[i + 1])


def one_other_name(x, rng, *, epsilon=EPS):
    """Both names are one array: it has the scores twice."""
    edges, weights, n = _parts(x, epsilon)
    logits = np.log(weights)
    kept = logits
    logits -= epsilon / 2 * np.abs(np.arange(n + 1) - n / 2)
    i = np.argmax(kept + rng.gumbel(size=n + 1))
    return rng.uniform(edges[i], edges[i + 1])


WRONG = [
    pairs_of_sorted_data, stops_at_equal_records, tells_of_equal_records, what_the_last_turn_did,
    gap_of_other_data, two_draws_of_one_gap, one_number_for_two_walks, sign_of_the_noise,
    noisy_weights, one_other_name, releases_the_edge, releases_the_middle, releases_the_place_too,
    decides_by_the_place,
    two_points, noisy_edge, part_of_the_gap, next_gap, two_gaps, without_lengths, lengths_squared,
    twice_epsilon, half_the_noise, other_noise, ends_of_the_data, unclipped, unsorted,
    equal_records_count, equal_records_score, score_of_the_data, one_uniform_number,
    uniform_number_told, noise_told, same_noise_twice, before_the_weight_is_added,
    share_of_other_weights, counts_the_turns, part_of_the_records, squared_distance, far_scores,
    last_gap, compressed,
]  # fmt: skip
