"""Mechanisms that look right and are not: none may be proved at ε = 1 (μ = 1 where it says so)."""

from __future__ import annotations

import math
import random
import secrets

import numpy as np
from scipy.special import softmax

_SYSTEM = secrets.SystemRandom()
CACHE = {"n": 0}


def _counts(x):
    return [sum(1 for v in x if g <= v < g + 1) for g in range(3)]


def score_of_sensitivity_two(x, rng, *, epsilon=1.0):
    """Each record adds up to 2 to a score that is taken to move by 1."""
    scores = np.array([2.0 * c for c in _counts(x)])
    w = np.exp(epsilon * scores)
    return int(rng.choice(3, p=w / w.sum()))


def weights_without_half(x, rng, *, epsilon=1.0):
    """Under replacement two scores move, in opposite directions."""
    w = np.exp(epsilon * np.array(_counts(x), dtype=float))
    return int(rng.choice(3, p=w / w.sum()))


def candidates_of_the_data(x, rng, *, epsilon=1.0):
    pool = sorted({round(v) for v in x})
    w = np.array([math.exp(epsilon * sum(1 for v in x if round(v) == c) / 2) for c in pool])
    return pool[rng.choice(len(pool), p=w / w.sum())]


def weights_of_the_data(x, rng, *, epsilon=1.0):
    """The counts themselves are the weights."""
    w = np.array(_counts(x), dtype=float) + 1
    return int(rng.choice(3, p=w / w.sum()))


def normalised_by_another(x, rng, *, epsilon=1.0):
    """The weights of half of the candidates are left out of the sum: the chances don't add up."""
    c = _counts(x)
    w = [math.exp(epsilon * v) for v in c]
    p = [v / (w[0] + w[1]) for v in w]
    return int(rng.choice(3, p=p))


def chosen_and_shown(x, rng, *, epsilon=1.0):
    """The noisy score of the chosen one is the largest, and shown with the same noise."""
    noisy = [c + rng.gumbel(scale=1 / epsilon) for c in _counts(x)]
    best = int(np.argmax(noisy))
    return best, noisy[best]


def race_with_one_noise(x, rng, *, epsilon=1.0):
    z = rng.laplace(scale=1 / epsilon)
    return int(np.argmax([c + z for c in _counts(x)]))


def race_on_the_wrong_side(x, rng, *, epsilon=1.0):
    """The least of scores with exponential noise: the noise has an end."""
    noisy = [c + rng.exponential(scale=1 / epsilon) for c in _counts(x)]
    return int(np.argmin(noisy))


def race_of_different_noises(x, rng, *, epsilon=1.0):
    c = _counts(x)
    noisy = [
        c[0] + rng.laplace(scale=0.1),
        c[1] + rng.laplace(scale=9),
        c[2] + rng.laplace(scale=9),
    ]
    return int(np.argmax(noisy))


def max_of_noisy(x, rng, *, epsilon=1.0):
    """The value of the maximum, with exponential noise: it has an end too."""
    return max(c + rng.exponential(scale=1 / epsilon) for c in _counts(x))


def uniform_that_is_told(x, rng, *, epsilon=1.0):
    w = [math.exp(epsilon * c / 2) for c in _counts(x)]
    u = rng.random()
    acc, best = 0.0, 2
    for i, wi in enumerate(w):
        acc += wi
        if u * sum(w) <= acc:
            best = i
            break
    return best, u


def uniform_for_two(x, rng, *, epsilon=1.0):
    """One uniform number decides two choices."""
    u = rng.random()
    out = []
    for t in (0, 1, 2):
        w = [math.exp(epsilon * sum(1 for v in x if v > t + g) / 6) for g in range(2)]
        out.append(0 if u * sum(w) <= w[0] else 1)
    return out


def sums_in_another_order(x, rng, *, epsilon=1.0):
    """The sums of weights that u is held against don't grow by one candidate at a time."""
    w = [math.exp(epsilon * c) for c in _counts(x)]
    u = rng.random() * sum(w)
    return [u <= w[0], u <= w[1], u <= w[2]]


def score_by_the_rank(x, rng, *, epsilon=1.0):
    """|rank − n/2| moves by 1/2 under add and remove; with 4 times it, by 2."""
    grid = [0, 1, 2]
    w = np.array(
        [math.exp(-4 * epsilon * abs(sum(1 for v in x if v <= g) - len(x) / 2)) for g in grid]
    )
    return grid[int(rng.choice(3, p=w / w.sum()))]


def product_of_sums(x, rng, *, epsilon=1.0):
    """A score that is a product of two counts has no bounded sensitivity."""
    c = _counts(x)
    w = np.exp(epsilon * np.array([c[0] * c[1], c[1] * c[2], c[2] * c[0]], dtype=float) / 2)
    return int(rng.choice(3, p=w / w.sum()))


def chosen_then_exact(x, rng, *, epsilon=1.0):
    """The exact count of the chosen candidate is told."""
    c = _counts(x)
    w = np.exp(epsilon * np.array(c, dtype=float) / 2)
    best = int(rng.choice(3, p=w / w.sum()))
    return best, c[best]


def softmax_of_the_sum(x, rng, *, epsilon=1.0):
    """Records of [-5, 5] that are taken to be of [-1, 1]."""
    s = np.array([sum(x), -sum(x)])
    return int(rng.choice(2, p=softmax(epsilon * s / 2)))


class Remembers:
    def __init__(self):
        self.last = 0.0
        self.total = 0.0

    def add(self, v):
        self.total += abs(v - self.last)
        self.last = v


def state_between_records(x, rng, *, epsilon=1.0):
    """What a record adds depends on the one before."""
    r = Remembers()
    for v in x:
        r.add(min(max(v, 0), 1))
    return r.total + rng.laplace(scale=1 / epsilon)


class Keeps:
    def __init__(self, x):
        self.data = x
        self.noisy = None

    def fit(self, rng, epsilon):
        self.noisy = len(self.data) + rng.laplace(scale=1 / epsilon)
        return self


def object_with_the_data(x, rng, *, epsilon=1.0):
    """The released object holds the data."""
    return Keeps(x).fit(rng, epsilon)


class Counts:
    seen = 0

    def count(self, x):
        Counts.seen += len(x)
        return Counts.seen


def kept_in_the_class(x, rng, *, epsilon=1.0):
    return Counts().count(x) + rng.laplace(scale=1 / epsilon)


def kept_in_a_global(x, rng, *, epsilon=1.0):
    CACHE["n"] += len(x)
    return CACHE["n"] + rng.laplace(scale=1 / epsilon)


def clip_too_wide(x, rng, *, epsilon=1.0):
    """Clipped to [-1, 1]: under replacement it moves by 2."""
    return sum(max(-1.0, min(1.0, v)) for v in x) + rng.laplace(scale=1 / epsilon)


def clip_after_noise(x, rng, *, epsilon=1.0):
    return np.clip(sum(x) + rng.laplace(scale=1 / epsilon), 0, 1)


def off_by_one(x, rng, *, epsilon=1.0):
    """Three histograms of one record, paid for as two."""
    out = []
    for k in (1, 2, 3):
        out.append(sum(1 for v in x if v >= -k) + rng.laplace(scale=2 / epsilon))
    return out


def fractional_shift(x, rng, *, epsilon=1.0):
    """Noise on the whole numbers, and a sum that is no whole number."""
    p = 1 - math.exp(-epsilon)
    return sum(min(max(v, 0.0), 1.0) for v in x) + rng.geometric(p) - rng.geometric(p)


def one_sided(x, rng, *, epsilon=1.0):
    p = 1 - math.exp(-epsilon)
    return len(x) + rng.geometric(p)


def unequal_geometric(x, rng, *, epsilon=1.0):
    return len(x) + rng.geometric(1 - math.exp(-epsilon)) - rng.geometric(0.999)


def exponential_of_two_scales(x, rng, *, epsilon=1.0):
    return len(x) + rng.exponential(1 / epsilon) - rng.exponential(0.01 / epsilon)


def difference_used_twice(x, rng, *, epsilon=1.0):
    """The two draws of the difference are shown as well."""
    a, b = rng.exponential(1 / epsilon), rng.exponential(1 / epsilon)
    return len(x) + a - b, a


def coins_that_depend(x, alpha=0.36787944117144233):
    """The coins' chance depends on the data."""
    n = len(x)
    k = 0
    while _SYSTEM.random() < alpha ** (1 + n):
        k += 1
    return k


def seeded(x, epsilon=1.0):
    rng = np.random.default_rng(7)
    return len(x) + rng.laplace(scale=1 / epsilon)


def seeded_by_the_data(x, epsilon=1.0):
    rng = random.Random(len(x))
    return len(x) + rng.gauss(0, 10)


def exception_of_the_data(x, rng, *, epsilon=1.0):
    try:
        m = sum(min(max(v, 0), 1) for v in x) / (len(x) - 3)
    except ZeroDivisionError:
        return "three"
    return m * 0 + len(x) + rng.laplace(scale=1 / epsilon)


def raises_for_a_record(x, rng, *, epsilon=1.0):
    total = 0.0
    for v in x:
        if v > 4:
            raise ValueError("out of range")
        total += min(max(v, 0), 1)
    return total + rng.laplace(scale=1 / epsilon)


def text_with_the_count(x, rng, *, epsilon=1.0):
    noisy = len(x) + rng.laplace(scale=1 / epsilon)
    return f"{noisy:.1f} of {len(x)}"


def sample_used_twice(x, rng, *, epsilon=1.0):
    """One subset in two releases, each paid for as if it were amplified by itself."""
    idx = rng.choice(len(x), size=2, replace=False)
    a = sum(min(max(x[i], 0), 1) for i in idx) + rng.laplace(scale=1 / (1.31 * epsilon))
    b = sum(min(max(x[i], 0), 1) for i in idx) + rng.laplace(scale=1 / (1.31 * epsilon))
    return a, b


def sample_with_replacement(x, rng, *, epsilon=1.0):
    """A record may be drawn several times."""
    idx = rng.choice(len(x), size=3, replace=True)
    return sum(min(max(x[i], 0), 1) for i in idx) + rng.laplace(scale=1 / epsilon)


def sample_and_total(x, rng, *, epsilon=1.0):
    """Amplified noise on a sum of all records."""
    idx = rng.choice(len(x), size=2, replace=False)
    total = sum(min(max(v, 0), 1) for v in x) + sum(0 for _ in idx)
    return total + rng.laplace(scale=1 / (1.9 * epsilon))


def sorted_by_the_data(x, rng, *, epsilon=1.0):
    c = _counts(x)
    order = sorted(range(3), key=lambda i: -c[i])
    return order, [v + rng.laplace(scale=1 / epsilon) for v in c]


def any_of_the_data(x, rng, *, epsilon=1.0):
    if any(v > 4 for v in x):
        return 99.0
    return len(x) + rng.laplace(scale=1 / epsilon)


def noise_in_a_branch(x, rng, *, epsilon=1.0):
    """Noise is drawn only where the exact count is large."""
    n = len(x)
    z = rng.laplace(scale=1 / epsilon) if n > 10 else 0.0
    return n + z


def counts_turns(x, rng, *, epsilon=1.0):
    """The number of turns of a loop is told."""
    turns = 0
    for _ in x:
        turns += 1
    noisy = turns + rng.laplace(scale=1 / epsilon)
    return noisy, turns


def printed(x, rng, *, epsilon=1.0):
    print(len(x))
    return len(x) + rng.laplace(scale=1 / epsilon)


def squared_noise_is_seen(x, rng, *, epsilon=1.0):
    """The same noise on two counts: their difference is exact."""
    z = rng.laplace(scale=1 / epsilon)
    c = _counts(x)
    return [max(0.0, c[0] + z), max(0.0, c[1] + z)]


def last_place(x, rng, *, epsilon=1.0):
    i = 0
    while i < len(x):
        i += 1
    return i + rng.laplace(scale=0.5 / epsilon)


def gaussian_race(x, rng, *, epsilon=1.0):
    noisy = [c + rng.normal(0, 1 / epsilon) for c in _counts(x)]
    return int(np.argmax(noisy))


def moved_twice(x, rng, *, epsilon=1.0):
    """Numbers that move by 1 in all: a prefix sum moves in every place after."""
    out, run = [], 0.0
    for v in x:
        run += v
        out.append(run + rng.laplace(scale=1 / epsilon))
    return out


def squared_numbers(x, rng, *, epsilon=1.0):
    """A square moves by more than its number."""
    return sum(v * v for v in x) + rng.laplace(scale=1 / epsilon)


def counted_numbers(x, rng, *, epsilon=1.0):
    """Numbers that all move a little may all cross a threshold."""
    return sum(1 for v in x if v > 0.5) + rng.laplace(scale=1 / epsilon)


def scores_that_all_move(scores, rng, *, epsilon=1.0):
    """Each score moves by 1, in any direction: without the half it is 2ε."""
    w = np.exp(epsilon * (np.array(scores) - max(scores)))
    return int(rng.choice(len(scores), p=w / w.sum()))


def mean_with_the_noise_of_another(x, rng, *, epsilon=1.0):
    """The noise is divided by the square of what the sum is divided by."""
    n = len(x)
    return sum(min(max(v, 0.0), 1.0) for v in x) / n + rng.laplace(scale=1 / (n * n * epsilon))


def mean_with_less_noise(x, rng, *, epsilon=1.0):
    n = len(x)
    return sum(min(max(v, 0.0), 2.0) for v in x) / n + rng.laplace(scale=1 / (n * epsilon))


def flips_that_are_counted(x, rng, *, epsilon=1.0):
    c = _counts(x)
    top, tries = max(c), 0
    for i in rng.permutation(3):
        tries += 1  # noqa: SIM113
        if rng.random() < math.exp(epsilon * (c[i] - top)):
            return int(i), tries
    return 0, 0


def flips_and_what_is_left(x, rng, *, epsilon=1.0):
    c = _counts(x)
    pool, top = [0, 1, 2], max(c)
    while True:
        k = pool.pop(int(rng.integers(len(pool))))
        if rng.random() <= math.exp(epsilon * (c[k] - top)):
            return k, sorted(pool)


def flips_and_how_many_are_left(x, rng, *, epsilon=1.0):
    c = _counts(x)
    pool, top = [0, 1, 2], max(c)
    while pool:
        k = pool.pop(int(rng.integers(len(pool))))
        if rng.random() <= math.exp(epsilon * (c[k] - top)):
            return k, len(pool), sum(1 for _ in pool)
    return None


def flips_with_the_coin_told(x, rng, *, epsilon=1.0):
    c = _counts(x)
    top = max(c)
    for i in rng.permutation(3):
        u = rng.random()
        if u < math.exp(epsilon * (c[i] - top)):
            return int(i), u
    return 0, 0.0


def flips_against_another_top(x, rng, *, epsilon=1.0):
    c = _counts(x)
    top = max(c[:2])
    for i in rng.permutation(3):
        if rng.random() < math.exp(epsilon * (c[i] - top)):
            return int(i)
    return 0


def flips_of_a_part(x, rng, *, epsilon=1.0):
    """The pool is drawn from without its last entry."""
    c = _counts(x)
    pool, top = [0, 1, 2], max(c)
    while len(pool) > 1:
        k = pool.pop(int(rng.integers(len(pool) - 1)))
        if rng.random() <= math.exp(epsilon * (c[k] - top)):
            return k
    return pool[0]


def flips_that_are_kept(x, rng, *, epsilon=1.0):
    c = _counts(x)
    top, tried = max(c), []
    for i in rng.permutation(3):
        if rng.random() < math.exp(epsilon * (c[i] - top)):
            return int(i), tried
        tried.append(int(i))
    return 0, tried


def flips_in_a_fixed_order(x, rng, *, epsilon=1.0):
    """Permute-and-flip without the permutation."""
    c = _counts(x)
    top = max(c)
    for i in range(3):
        if rng.random() <= math.exp(epsilon * (c[i] - top) / 2):
            return i
    return 2
