"""One mechanism, written in many ways, and many mechanisms, each as a user might write it."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections import Counter, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpest
from dpest.errors import ReadingError
from dpest.reading.trace import trace
from reading.conformance import check_conformance

# SVT: the same mechanism in ten ways


def svt_loop(x, rng, eps=1.0, c=1, t=0.5):
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in x:
        if q + rng.laplace(scale=4 * c / eps) >= t + rho:
            answers.append(True)
            hits += 1
            if hits == c:
                break
        else:
            answers.append(False)
    return answers


def svt_while(x, rng, eps=1.0, c=1, t=0.5):
    noisy_threshold = t + rng.laplace(0.0, 2 / eps)
    i, left, out = 0, c, []
    while i < len(x) and left > 0:
        above = not x[i] + rng.laplace(0, 4 * c / eps) < noisy_threshold
        out += [bool(above)]
        left -= 1 if above else 0
        i += 1
    return out


def svt_vector(x, rng, eps=1.0, c=1, t=0.5):
    rho = rng.laplace(scale=2 / eps)
    above = np.asarray(x) + rng.laplace(scale=4 * c / eps, size=len(x)) >= t + rho
    hits = np.flatnonzero(above)
    return above[: hits[c - 1] + 1].tolist() if len(hits) >= c else above.tolist()


def svt_generator(x, rng, eps=1.0, c=1, t=0.5):
    rho = rng.laplace(scale=2 / eps)
    hits = 0
    for q in x:
        hit = q + rng.laplace(scale=4 * c / eps) >= t + rho
        yield bool(hit)
        hits += bool(hit)
        if hits >= c:
            return


@dataclass
class Budget:
    left: int
    answers: list = field(default_factory=list)

    def record(self, answer: bool) -> bool:
        self.answers.append(answer)
        if answer:
            self.left -= 1
        return self.left > 0


def svt_object(x, rng, eps=1.0, c=1, t=0.5):
    budget = Budget(c)
    threshold = t + rng.laplace(scale=2 / eps)

    def is_above(q):
        return bool(q + rng.laplace(scale=4 * c / eps) >= threshold)

    for _, q in enumerate(x):
        if not budget.record(is_above(q)):
            break
    return budget.answers


def svt_recursive(x, rng, eps=1.0, c=1, t=0.5):
    threshold = t + rng.laplace(scale=2 / eps)

    def rest(i, left):
        if i == len(x) or left == 0:
            return []
        hit = bool(threshold <= x[i] + rng.laplace(scale=4 * c / eps))
        return [hit, *rest(i + 1, left - hit)]

    return rest(0, c)


def svt_takewhile(x, rng, eps=1.0, c=1, t=0.5):
    threshold = t + rng.laplace(scale=2 / eps)
    hits = 0
    out = []
    for q, noise in zip(
        x, (rng.laplace(scale=4 * c / eps) for _ in itertools.count()), strict=False
    ):
        gap = q + noise - threshold
        out.append(bool(gap >= 0))
        hits += out[-1]
        if hits == c:
            break
    return out


SVTS = [
    svt_loop, svt_while, svt_generator, svt_object, svt_recursive, svt_takewhile,
]  # fmt: skip


@pytest.mark.parametrize("mechanism", SVTS)
@pytest.mark.parametrize("c", [1, 2])
def test_svt_has_the_same_paths_however_it_is_written(mechanism: Any, c: int) -> None:
    x = [1, 0, 2, 0.5]
    found = trace(mechanism, x, params={"c": c})
    reference = trace(svt_loop, x, params={"c": c})
    assert {str(p.output) for p in found.paths} == {str(p.output) for p in reference.paths}
    assert len(found.paths) == len(reference.paths)
    check_conformance(mechanism, x, found, c=c)


def test_the_vectorised_svt_draws_everything_and_releases_the_same() -> None:
    x = [1, 0, 2]
    found = trace(svt_vector, x)
    assert {str(p.output) for p in found.paths} == {str(p.output) for p in trace(svt_loop, x).paths}
    check_conformance(svt_vector, x, found)


# Noisy Max: n cells, however it is written


def max_numpy(x, rng):
    return int(np.argmax(np.asarray(x) + rng.laplace(scale=2.0, size=len(x))))


def max_method(x, rng):
    return (x + rng.laplace(scale=2.0, size=len(x))).argmax()


def max_key(x, rng):
    noisy = [q + rng.laplace(scale=2.0) for q in x]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def max_index(x, rng):
    noisy = [q + rng.laplace(scale=2.0) for q in x]
    return noisy.index(max(noisy))


def max_pairs(x, rng):
    return max((q + rng.laplace(scale=2.0), i) for i, q in enumerate(x))[1]


def max_zeros(x, rng):
    noisy = np.zeros(len(x))
    for i, q in enumerate(x):
        noisy[i] = q + rng.laplace(scale=2.0)
    return np.argmax(noisy)


def max_min(x, rng):
    return np.argmin([-(q + rng.laplace(scale=2.0)) for q in x])


def max_where(x, rng):
    noisy = np.array(x) + rng.laplace(scale=2.0, size=len(x))
    return int(np.where(noisy == noisy.max())[0][0])


def max_sorted(x, rng):
    noisy = np.array(x) + rng.laplace(scale=2.0, size=len(x))
    return np.argsort(noisy)[-1]


def max_broadcast(x, rng):
    return np.argmax(rng.laplace(loc=x, scale=[2.0] * len(x)))


def max_dict(x, rng):
    noisy = {name: q + rng.laplace(scale=2.0) for name, q in enumerate(x)}
    return max(noisy, key=noisy.get)


def max_gumbel(x, rng):
    return np.argmax(np.array(x) / 2 + rng.gumbel(size=len(x)))


def max_exponential(x, rng):
    return np.argmax(np.add(x, rng.exponential(2.0, len(x))))


MAXIMA = [
    max_numpy, max_method, max_key, max_index, max_pairs, max_zeros, max_min, max_where,
    max_sorted, max_broadcast, max_dict, max_gumbel, max_exponential,
]  # fmt: skip


@pytest.mark.parametrize("mechanism", MAXIMA)
def test_argmax_is_n_cells(mechanism: Any) -> None:
    x = [1.0, 2.0, 0.5, 1.5, 0.0, 1.0]
    found = trace(mechanism, x)
    assert sorted(p.output for p in found.paths) == list(range(6))
    assert all(len(p.conditions) == 5 for p in found.paths)
    check_conformance(mechanism, x, found)


def running_maximum(x, rng):
    best, place = -math.inf, None
    for i, q in enumerate(x):
        noisy = q + rng.laplace(scale=2.0)
        if noisy > best:
            best, place = noisy, i
    return place


def running_maximum_while(x, rng):
    best, place, i = -math.inf, None, 0
    while i < len(x):
        noisy = x[i] + rng.laplace(scale=2.0)
        if noisy > best:
            best, place = noisy, i
        i += 1
    return place


@pytest.mark.parametrize("mechanism", [running_maximum, running_maximum_while])
def test_a_running_maximum_is_merged(mechanism: Any) -> None:
    found = trace(mechanism, [1.0] * 12)
    assert sorted(p.output for p in found.paths) == list(range(12))
    assert found.leftover == 0


def test_a_short_running_maximum_conforms() -> None:
    x = [1.0, 0.0, 2.0]
    check_conformance(running_maximum, x, trace(running_maximum, x))


# One of everything


def prefix_sum(x, rng):
    return np.cumsum(x + rng.laplace(scale=3, size=len(x)))


def prefix_sum_loop(x, rng):
    total, out = 0, []
    for q in x:
        total += q + rng.laplace(scale=3)
        out.append(total)
    return tuple(out)


def prefix_accumulate(x, rng):
    return list(itertools.accumulate(q + rng.laplace() for q in x))


def reduced(x, rng):
    return functools.reduce(lambda a, b: a + b, x) + rng.normal(scale=2.0)


def clipped_mean(x, rng):
    return np.clip(np.mean(np.clip(x, 0, 1)) + rng.laplace(scale=1 / len(x)), 0, 1)


def clip_by_hand(x, rng):
    return min(max(sum(x) + rng.laplace(), 0), 3)


def absolute(x, rng):
    return abs(x[0] + rng.laplace()) + np.abs(rng.normal())


def signs(x, rng):
    return np.sign(x + rng.laplace(size=len(x)))


def top_two(x, rng):
    noisy = np.array(x) + rng.laplace(size=len(x))
    return np.argsort(-noisy)[:2]


def top_two_heap(x, rng):
    return heapq.nlargest(2, [q + rng.laplace() for q in x])


def gap(x, rng):
    first, second = sorted((q + rng.laplace() for q in x), reverse=True)[:2]
    return first - second


def median(x, rng):
    return np.median(x + rng.laplace(size=len(x)))


def thresholded(x, rng):
    noisy = np.array(x) + rng.laplace(size=len(x))
    noisy[noisy < 1] = 0
    return noisy


def masked(x, rng):
    x = np.array(x)
    return x[x + rng.laplace(size=len(x)) > 1]


def histogram(x, rng):
    counts, _ = np.histogram(x, bins=3, range=(0, 3))
    return counts + rng.laplace(size=3)


def counted(x, rng):
    counts = Counter(x)
    return {value: count + rng.laplace() for value, count in sorted(counts.items())}


def bits(x, rng):
    keep = rng.random(len(x)) < 0.75
    return np.where(keep, np.array(x) > 0.5, np.array(x) <= 0.5).astype(int)


def bits_by_choice(x, rng):
    return [(q > 0.5) ^ rng.choice([True, False], p=[0.25, 0.75]) for q in x]


def bits_by_binomial(x, rng):
    flips = rng.binomial(1, 0.25, size=len(x))
    return (np.array(x) > 0.5) ^ flips.astype(bool)


def number_of_hits(x, rng):
    return np.sum(np.array(x) + rng.laplace(size=len(x)) > 1)


def hits_python(x, rng):
    return sum(q + rng.laplace() > 1 for q in x)


def any_hit(x, rng):
    return bool(np.any(np.array(x) + rng.laplace(size=len(x)) > 1))


def all_hits(x, rng):
    return all(q + rng.laplace() > 0 for q in x)


def xor(x, rng):
    a, b = rng.laplace() > 0, rng.laplace() > x[0]
    return a ^ b, a & b, a | (b == False)  # noqa: E712


def chained(x, rng):
    return "in" if 0 < x[0] + rng.laplace() < 2 else "out"


def mixed(x, rng):
    noisy = x[0] + rng.laplace()
    if noisy < -1:
        return None
    if noisy < 0:
        return "low"
    return noisy if noisy > 1 else [False, noisy]


def raises(x, rng):
    noisy = x[0] + rng.laplace()
    if noisy < 0:
        raise ValueError("negative")
    return noisy


def not_a_number(x, rng):
    noisy = x[0] + rng.laplace()
    return float("nan") if noisy < 0 else noisy


Answer = namedtuple("Answer", "value flag")


def named(x, rng):
    noisy = x[0] + rng.laplace()
    return Answer(noisy, noisy > 1)


def k_ary(x, rng):
    return int(x[0]) if rng.random() < 0.5 else rng.integers(0, 3)


def k_ary_choice(x, rng):
    return rng.choice(["a", "b", "c"], p=[0.5, 0.25, 0.25])


def without_replacement(x, rng):
    return rng.choice(x, size=2, replace=False, p=[0.1, 0.2, 0.3, 0.4])


def shuffled(x, rng):
    rng.shuffle(x)
    return x[0]


def permuted(x, rng):
    for i in rng.permutation(len(x)):
        if rng.random() < 0.5 + 0.1 * i:
            return i
    return -1


def discrete(x, rng):
    k = round(x[0]) + dpest.noise.discrete_laplace(rng, 2.0)
    return max(k, 0)


def discrete_equal(x, rng):
    k = dpest.noise.discrete_gaussian(rng, 2.0)
    return "zero" if k == 0 else "even" if k in (-2, 2) else k


def geometric(x, rng):
    return int(x[0]) + rng.geometric(0.5) - rng.geometric(0.5)


def coin(x, rng):
    return dpest.noise.bernoulli(rng, 0.3) or x[0] > 1


def digitized(x, rng):
    return np.digitize(x[0] + rng.laplace(), [0, 1, 2])


def uniform_integer(x, rng):
    u = rng.integers(1, 1001)
    for z in range(5):
        if 200 * (z + 1) >= u:
            return z


def matrix(x, rng):
    w = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, -1.0, 0.5]])
    return w @ (np.array(x) + rng.laplace(size=len(x)))


def stacked(x, rng):
    a = rng.laplace(size=(2, 2)) + np.reshape(x, (2, 2))
    return np.concatenate([a.max(axis=0), a.sum(axis=1), np.diff(a.ravel())])


def scale_by_release(x, rng):
    first = x[0] + rng.laplace(scale=1.0)
    return first, x[1] + rng.laplace(scale=1.0 if first > 2 else 4.0)


def in_place(x, rng):
    x = np.array(x)
    x[0] += rng.laplace()
    x[1:] *= 2
    return x


def sets(x, rng):
    return {i for i, q in enumerate(x) if q + rng.laplace() > 1}


def selected(x, rng):
    v = np.array(x) + rng.laplace(size=len(x))
    return np.select([v < 0, v < 1], [0, 1], default=2)


def cases(x, rng):
    match bool(x[0] + rng.laplace() > 0), x:
        case True, [first, *_]:
            return first
        case _:
            return -1


@dataclass
class Report:
    value: Any
    flags: list


def data_class(x, rng):
    noisy = x[0] + rng.laplace()
    return Report(noisy, [noisy > 1])


def first_above(x, rng):
    above = np.array(x) + rng.laplace(size=len(x)) > 1
    return np.argmax(above) if above.any() else None


def default_generator(x, rng):
    rng = np.random.default_rng(rng)
    return x[0] + rng.standard_exponential()


def reduced_maximum(x, rng):
    return functools.reduce(lambda a, b: b if b > a else a, [q + rng.laplace() for q in x])


def pandas_column(x, rng):
    table = pd.DataFrame({"pay": x})
    return table["pay"] + rng.laplace(size=len(table))


EVERYTHING = [
    data_class, first_above, default_generator, reduced_maximum,
    prefix_sum, prefix_sum_loop, prefix_accumulate, reduced, clipped_mean, clip_by_hand, absolute,
    signs, top_two, top_two_heap, gap, median, thresholded, masked, histogram, counted, bits,
    bits_by_choice, bits_by_binomial, number_of_hits, hits_python, any_hit, all_hits, xor, chained,
    mixed, raises, not_a_number, named, k_ary, k_ary_choice, without_replacement, shuffled,
    permuted, discrete, discrete_equal, geometric, coin, digitized, uniform_integer, matrix,
    stacked, scale_by_release, in_place, sets, selected, cases,
]  # fmt: skip


@pytest.mark.parametrize("mechanism", EVERYTHING)
def test_the_trace_says_what_the_function_does(mechanism: Any) -> None:
    x = [1.0, 2.0, 0.5, 1.5]
    check_conformance(mechanism, x, trace(mechanism, x))


@pytest.mark.parametrize("mechanism", [max_numpy, prefix_sum, masked, in_place, bits, top_two])
def test_arrays_and_tuples_are_handed_over_as_such(mechanism: Any) -> None:
    for x in (np.array([1.0, 2.0, 0.5, 1.5]), (1.0, 2, 0, 1)):
        check_conformance(mechanism, x, trace(mechanism, x))


@pytest.mark.parametrize("mechanism", [prefix_sum, max_numpy, svt_loop, clip_by_hand, gap])
def test_a_symbolic_input_becomes_each_input(mechanism: Any) -> None:
    from dpest.reading.trace import instantiate

    x = [1.0, 2.0, 0.5]
    general = trace(mechanism, [0.0] * 3, symbolic=True)
    for path in general.paths:
        assert all(s.kind in ("input", "noise") for f in path.forms for s in f.terms)
    check_conformance(mechanism, x, instantiate(general, x))


def test_twenty_bits_are_one_path_and_expand() -> None:
    from dpest.reading.trace import expand_indicators

    found = trace(bits, [1.0] * 20)
    assert len(found.paths) == 1
    assert len(found.indicators) == 20
    small = expand_indicators(trace(bits, [1.0, 0.0, 1.0]))
    assert len(small.paths) == 8
    assert sorted(tuple(p.leaves) for p in small.paths) == list(itertools.product((0, 1), repeat=3))
    check_conformance(bits, [1.0, 0.0, 1.0], small)


def test_a_table_that_is_given_noise_is_refused() -> None:
    """Its index and its types would be part of the output, and nobody reads them here."""
    with pytest.raises(ReadingError, match=r"`\+` of a table"):
        trace(pandas_column, [0.0, 1.0])


def uniform_of_two_places(x: Any, rng: Any) -> Any:
    if rng.random() < 0.5:
        return rng.uniform(0, x[0])
    return rng.uniform(x[0], 2)


def test_uniform_draws_of_equal_width_on_two_ways_are_told_apart() -> None:
    """Between 0 and 1 on one way, between 1 and 2 on the other: each run has its own of them."""
    found = dpest.distribution(uniform_of_two_places, [1.0])
    logs = [found.log_density(v) for v in (0.25, 1.5, 2.5)]
    assert logs == pytest.approx([math.log(0.5), math.log(0.5), -math.inf])
