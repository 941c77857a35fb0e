"""Noise made by hand is read as the noise that it is; wrong spellings as what they are."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from dpest.errors import UntraceableError
from dpest.noise import Exponential, Gumbel, Laplace
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch
from reading.hand_made import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    VECTORS,
    Maker,
    added,
    by_inverse_cdf,
    by_log2,
    vector_drawn_before,
)

MAKERS = [(m, stats.laplace, Laplace) for m in LAPLACE]
MAKERS += [(m, stats.expon, Exponential) for m in EXPONENTIAL]
MAKERS += [(m, stats.gumbel_r, Gumbel) for m in GUMBEL]
IDS = [m[0].__name__ for m in MAKERS]


def plain(x, rng):
    return x[0] + rng.laplace(0, 2.0)


@pytest.mark.parametrize(("maker", "law", "family"), MAKERS, ids=IDS)
def test_the_maker_makes_that_noise(maker: Maker, law: Any, family: type) -> None:
    # False alarms: 0.001 for each of the makers, at a fixed seed.
    rng = np.random.default_rng(1)
    values = [float(maker(rng, 2.0)) for _ in range(20_000)]
    assert stats.kstest(values, law(scale=2.0).cdf).pvalue > 0.001


@pytest.mark.parametrize(("maker", "law", "family"), MAKERS, ids=IDS)
def test_its_trace_has_that_noise(maker: Maker, law: Any, family: type) -> None:
    # The probability of each interval, from the trace, against SciPy's.
    ends = [-3.0, -0.5, 0.25, 1.0, 4.0]

    def cell(x, rng):
        noisy = x[0] + maker(rng, 2.0)
        return sum(bool(noisy > end) for end in ends)

    found = {o.output: o.probability for o in dpest.distribution(cell, [0.5]).outcomes}
    edges = law(loc=0.5, scale=2.0).cdf([-math.inf, *ends, math.inf])
    for place, expected in enumerate(np.diff(edges)):
        assert found.get(place, 0.0) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(("maker", "law", "family"), MAKERS, ids=IDS)
def test_batches_have_that_noise(maker: Maker, law: Any, family: type) -> None:
    # False alarms: 0.001 for each of the makers, at a fixed seed.
    found = batch(added(maker), [0.25], 20_000, 1)
    assert not found.notes  # all runs at once
    (group,) = found.groups
    assert stats.kstest(group.columns[0], law(loc=0.25, scale=2.0).cdf).pvalue > 0.001


def test_runs_outside_of_a_logarithms_domain_raise() -> None:
    def mechanism(x, rng):
        try:
            return math.log(rng.random() - 0.25) < 0
        except ValueError as error:
            return str(error)

    found = batch(mechanism, [0.0], 4_000, 1)
    shares = Counter()
    for group in found.groups:
        shares.update(str(v) for v in group.columns[0])
    assert set(shares) == {"True", "math domain error"}
    # False alarms: 6 standard deviations, 2e-9.
    assert abs(shares["math domain error"] / 4_000 - 0.25) < 6 * math.sqrt(0.1875 / 4_000)


@pytest.mark.parametrize("maker", LAPLACE, ids=lambda m: m.__name__)
def test_laplace_noise_has_its_exact_loss(maker: Maker) -> None:
    loss, expected = (dpest.exact(f, [0.0], [1.0]) for f in (added(maker), plain))
    assert loss.epsilon == pytest.approx(0.5, rel=1e-14)
    for epsilon in (0.0, 0.1, 0.4):
        assert loss.delta(epsilon) == pytest.approx(expected.delta(epsilon), rel=1e-12)


@pytest.mark.parametrize("maker", LAPLACE, ids=lambda m: m.__name__)
def test_laplace_noise_is_proved(maker: Maker) -> None:
    proof = dpest.prove(added(maker), adjacency=dpest.linf(1), length=1)
    assert float(proof.bound) == pytest.approx(0.5, rel=1e-15)
    assert proof.certificate is not None
    if maker is not by_log2:  # whose constants are rounded
        assert (proof.bound, proof.status) == (0.5, "exact")


@pytest.mark.parametrize("maker", LAPLACE, ids=lambda m: m.__name__)
@pytest.mark.parametrize("eps", [0.02, 0.5, 8.0])
def test_laplace_noise_is_proved_for_every_eps(maker: Maker, eps: float) -> None:
    def mechanism(x, rng, eps=1.0):
        return x[0] + maker(rng, 1 / eps)

    proof = dpest.prove(mechanism, adjacency=dpest.linf(1), length=1, params={"eps": eps})
    assert (proof.unit, float(proof.bound)) == ("eps", pytest.approx(1, rel=1e-15))
    assert proof.certificate is not None


def divided_by_eps(x, rng, eps=0.5):
    return np.array(x) + rng.laplace(size=len(x)) / eps


def vector_over_eps(x, rng, eps=0.5):
    u = rng.random(len(x)) - 0.5
    return np.array(x) - np.sign(u) * np.log(1 - 2 * np.abs(u)) / eps


def signs_over_eps(x, rng, eps=0.5):
    return [v + rng.exponential() * (1 if rng.random() < 0.5 else -1) / eps for v in x]


@pytest.mark.parametrize("mechanism", [divided_by_eps, vector_over_eps, signs_over_eps])
def test_noise_over_eps_is_proved_for_every_eps_and_length(mechanism: Any) -> None:
    for length in (2, dpest.ANY):
        proof = dpest.prove(mechanism, adjacency=dpest.l1(1), length=length)
        assert (proof.bound, proof.unit, proof.status) == (1, "eps", "exact")
        assert proof.length == length


def test_noise_that_is_also_used_without_eps_needs_its_value() -> None:
    def mechanism(x, rng, eps=0.5):
        noise = rng.laplace()
        return x[0] + noise / eps + noise

    # Scale 3 at eps = 1/2: no multiple of eps.
    proof = dpest.prove(mechanism, adjacency=dpest.linf(1), length=1)
    assert (proof.unit, proof.bound) == (None, Fraction(1, 3))


@pytest.mark.parametrize("mechanism", VECTORS, ids=lambda m: m.__name__)
def test_vectors_have_their_exact_loss_and_proof(mechanism: Any) -> None:
    assert dpest.exact(mechanism, [0.0, 1.0], [1.0, 1.0]).epsilon == pytest.approx(0.5, rel=1e-14)
    for length in (2, dpest.ANY):
        proof = dpest.prove(mechanism, adjacency=dpest.l1(1), length=length)
        assert (proof.bound, proof.status, proof.length) == (0.5, "exact", length)


@pytest.mark.parametrize("mechanism", VECTORS[:2] + VECTORS[6:8], ids=lambda m: m.__name__)
def test_long_vectors_are_one_path(mechanism: Any) -> None:
    found = trace(mechanism, [0.0] * 40)
    assert len(found.paths) == 1
    assert not found.paths[0].conditions


def test_forks_that_make_no_difference_are_joined() -> None:
    found = trace(vector_drawn_before, [0.0] * 5)
    assert len(found.paths) == 1
    assert not found.paths[0].conditions


def test_a_sparse_vector_by_hand() -> None:
    def by_hand(x, rng):
        threshold = by_inverse_cdf(rng, 2.0)
        out = []
        for q in x:
            if q + by_inverse_cdf(rng, 4.0) >= threshold:
                out.append(True)
                break
            out.append(False)
        return out

    def as_usual(x, rng):
        threshold = rng.laplace(0, 2.0)
        out = []
        for q in x:
            if q + rng.laplace(0, 4.0) >= threshold:
                out.append(True)
                break
            out.append(False)
        return out

    pair = [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]
    expected = dpest.exact(as_usual, *pair).epsilon
    assert dpest.exact(by_hand, *pair).epsilon == pytest.approx(expected, rel=1e-11)
    for length in (3, dpest.ANY):
        proofs = [
            dpest.prove(f, adjacency=dpest.linf(1), length=length) for f in (by_hand, as_usual)
        ]
        assert proofs[0].bound == proofs[1].bound
        assert proofs[0].length == length


@pytest.mark.parametrize("maker", GUMBEL, ids=lambda m: m.__name__)
def test_gumbel_max_by_hand(maker: Maker) -> None:
    def by_hand(x, rng):
        return int(np.argmax([v + maker(rng, 2.0) for v in x]))

    weights = np.exp(np.array([0.0, 1.0, -0.5]) / 2)
    found = {
        o.output: o.probability for o in dpest.distribution(by_hand, [0.0, 1.0, -0.5]).outcomes
    }
    for place, expected in enumerate(weights / weights.sum()):
        assert found[place] == pytest.approx(expected, rel=1e-12)
    assert dpest.prove(by_hand, adjacency=dpest.linf(1), length=3).bound == 1


@pytest.mark.parametrize("length", range(2, 9))
def test_a_noisy_maximum_by_hand_is_proved_at_every_length(length: int) -> None:
    def mechanism(x, rng, eps=1.0):
        u = rng.random(len(x)) - 0.5
        noise = -np.sign(u) * np.log(1 - 2 * np.abs(u)) * 2 / eps
        return int(np.argmax(np.array(x) + noise))

    proof = dpest.prove(mechanism, adjacency=dpest.linf(1), length=length)
    assert (proof.bound, proof.unit) == (1, "eps")


# Wrong spellings


def test_a_forgotten_sign_is_infinite() -> None:
    def mechanism(x, rng):
        u = rng.random() - 0.5
        return x[0] - 2 * np.log(1 - 2 * abs(u))

    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == math.inf
    assert dpest.prove(mechanism, adjacency=dpest.linf(1), length=1).bound is None


def test_a_biased_sign_has_its_own_loss() -> None:
    def mechanism(x, rng):
        sign = 1 if rng.random() < 0.6 else -1
        return x[0] + sign * rng.exponential(2.0)

    expected = 0.5 + math.log(0.6 / 0.4)
    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == pytest.approx(expected, rel=1e-10)
    assert dpest.prove(mechanism, adjacency=dpest.linf(1), length=1).bound is None


def test_two_scales_have_their_own_loss() -> None:
    def mechanism(x, rng):
        u = rng.random()
        return x[0] + (2 * math.log(2 * u) if u < 0.5 else -4 * math.log(2 - 2 * u))

    # Density 1/4 below x and 1/8 above it.
    expected = math.log(2) + 0.25
    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("released", ["sign", "size", "side"])
def test_what_else_is_released_of_the_noise_counts(released: str) -> None:
    def mechanism(x, rng):
        if released == "side":
            u = rng.random() - 0.5
            return x[0] - 2 * np.sign(u) * np.log(1 - 2 * abs(u)), bool(u > 0)
        sign, size = rng.choice([-1, 1]), rng.exponential(2.0)
        return x[0] + sign * size, sign if released == "sign" else size

    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == math.inf
    assert dpest.prove(mechanism, adjacency=dpest.linf(1), length=1).bound is None


def test_a_draw_that_is_a_sign_and_more_is_read_by_forks() -> None:
    def mechanism(x, rng):
        u = rng.random()
        return x[0] + (2 * (u < 0.5) - 1) * rng.exponential(2.0), bool(u < 0.25)

    # Where u ≥ 1/2 only values below x are released.
    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == math.inf
    found = dpest.distribution(mechanism, [0.0])
    assert found.density((1.0, True)) == pytest.approx(0.25 * math.exp(-0.5) / 2, rel=1e-12)
    assert found.density((1.0, False)) == pytest.approx(0.25 * math.exp(-0.5) / 2, rel=1e-12)
    assert found.density((-1.0, False)) == pytest.approx(0.5 * math.exp(-0.5) / 2, rel=1e-12)


def test_one_draw_for_two_answers() -> None:
    def mechanism(x, rng):
        noise = by_inverse_cdf(rng, 2.0)
        return x[0] + noise, x[1] + noise

    assert dpest.exact(mechanism, [0.0, 0.0], [1.0, 0.0]).epsilon == math.inf
    assert dpest.exact(mechanism, [0.0, 0.0], [1.0, 1.0]).epsilon == pytest.approx(0.5, rel=1e-14)


def test_a_geometric_noise_with_two_zeros() -> None:
    def two_zeros(x, rng):
        return int(x[0]) + rng.choice([-1, 1]) * (rng.geometric(0.3) - 1)

    def one_zero(x, rng):
        while True:
            sign, size = rng.choice([-1, 1]), rng.geometric(0.3) - 1
            if not (size == 0 and sign == -1):
                return int(x[0]) + sign * size

    # P(0) = p and P(1) = p·(1 − p)/2: twice the ratio that it should be.
    assert dpest.exact(two_zeros, [0], [1]).epsilon == pytest.approx(-math.log(0.35), rel=1e-12)
    assert dpest.exact(one_zero, [0], [1]).epsilon == pytest.approx(-math.log(0.7), rel=1e-12)


def by_floors(x, rng):
    return x[0] + math.floor(rng.exponential(2.0)) - math.floor(rng.exponential(2.0))


def by_ceilings(x, rng):
    return x[0] + math.ceil(rng.exponential(2.0)) + math.floor(-rng.exponential(2.0))


def by_logarithms_of_alpha(x, rng):
    alpha = math.exp(-0.5)
    first = math.floor(math.log(rng.random()) / math.log(alpha))
    return x[0] + first - int(np.floor(np.log(1 - rng.random()) / np.log(alpha)))


def by_int(x, rng):
    return x[0] + int(rng.exponential(2.0)) - int(-2 * np.log(rng.random()))


@pytest.mark.parametrize("mechanism", [by_floors, by_ceilings, by_logarithms_of_alpha, by_int])
def test_floors_of_exponential_noise_are_geometric(mechanism: Any) -> None:
    assert dpest.exact(mechanism, [0], [1]).epsilon == pytest.approx(0.5, rel=1e-12)
    found = dpest.distribution(mechanism, [0])
    law = stats.dlaplace(0.5)
    for output in range(-6, 7):
        assert found.density(output) == pytest.approx(law.pmf(output), rel=1e-12)
    # False alarms: 0.001 for each of the mechanisms, at a fixed seed.
    rng = np.random.default_rng(3)
    seen = Counter(min(abs(int(mechanism([0], rng))), 9) for _ in range(20_000))
    expected = [law.pmf(0), *(2 * law.pmf(k) for k in range(1, 9)), 2 * law.sf(8)]
    counts = [seen[k] for k in range(10)]
    assert stats.chisquare(counts, 20_000 * np.array(expected)).pvalue > 0.001


def forgotten_factor(x, rng):
    u = rng.random() - 0.5
    return x[0] - 2 * np.sign(u) * np.log(1 - abs(u))


def beside_its_log(x, rng):
    u = rng.random()
    return x[0] - 2 * math.log(u) + u


def logistic(x, rng):
    u = rng.random()
    return x[0] + math.log(u) - math.log(1 - u)


def rounded_and_not(x, rng):
    e = rng.exponential(2.0)
    return x[0] + math.floor(e), bool(e > 1)


def rounded_twice(x, rng):
    e = rng.exponential(2.0)
    return x[0] + math.floor(e) + math.floor(2 * e)


def half_a_range(x, rng):
    return x[0] - 2 * math.log(rng.uniform(0, 0.5))


def compared_elsewhere(x, rng):
    u = rng.random()
    return x[0] - 2 * math.log(u) if u < 0.25 else x[0] - 3 * math.log(u)


def box_muller(x, rng):
    u, v = rng.random(), rng.random()
    return x[0] + np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def squared(x, rng):
    return x[0] + np.log(rng.random()) ** 2


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (forgotten_factor, "noise with an end"),
        (beside_its_log, "used beside its logarithm"),
        (logistic, "two logarithms of one uniform draw"),
        (half_a_range, "between 0 and 1/2"),
        (rounded_and_not, "used in another way"),
        (rounded_twice, "used in another way"),
        (compared_elsewhere, "between 0 and 1/4|compared with a number beside its logarithm"),
        (box_muller, "sqrt|cos"),
        (squared, "a power of a noisy"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_has_no_reading_says_why(mechanism: Any, message: str) -> None:
    with pytest.raises(UntraceableError, match=message) as caught:
        trace(mechanism, [0.0])
    assert "test_noise_by_hand.py" in str(caught.value)
    assert dpest.prove(mechanism, adjacency=dpest.linf(1), length=1).bound is None


def test_what_the_noise_is_made_of_has_its_types() -> None:
    def by_a_curve(x, rng):
        u = rng.random() - 0.5
        noise = -2 * np.sign(u) * np.log(1 - 2 * abs(u))
        return x[0] + (noise if not isinstance(u, float) else noise / 2)

    def by_a_coin(x, rng):
        sign = rng.choice([-1, 1])
        noise = sign * rng.exponential(2.0)
        return x[0] + (noise if not isinstance(sign, np.integer) else noise / 2)

    for mechanism in (by_a_curve, by_a_coin):
        assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == pytest.approx(1, rel=1e-14)


# Random programs of several noises that meet: the trace against runs of the untouched function


def _program(seed: int) -> Any:
    choice = np.random.default_rng(seed)
    makers = [m[0] for m in MAKERS]
    picked = [makers[i] for i in choice.integers(len(makers), size=3)]
    scales = choice.choice([0.5, 1.0, 3.0], size=3)
    weights = choice.choice([-1.0, 0.5, 1.0], size=3)
    ends = choice.choice([-1.0, 0.0, 0.25, 2.0], size=2)
    nested = bool(choice.integers(2))

    def mechanism(x, rng):
        a, b, c = (m(rng, s) for m, s in zip(picked, scales.tolist(), strict=True))
        first = bool(x[0] + weights[0] * a > ends[0])
        if nested and first:
            return first, bool(weights[1] * b + a > ends[1]), None
        total = weights[0] * a + weights[1] * b + weights[2] * c
        return first, bool(b > weights[2] * c), bool(total > ends[1])

    mechanism.__name__ = "_".join(m.__name__ for m in picked)
    return mechanism


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_distribution_of_their_runs(seed: int) -> None:
    # False alarms: 12 programs with at most 8 outcomes, 4.5 standard deviations each: 7e-4 in all.
    mechanism = _program(seed)
    runs = 8_000
    rng = np.random.default_rng(seed)
    seen = Counter(mechanism([0.5], rng) for _ in range(runs))
    found = {o.output: o.probability for o in dpest.distribution(mechanism, [0.5]).outcomes}
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    for output in set(seen) | set(found):
        p = found.get(output, 0.0)
        spread = math.sqrt(max(p * (1 - p) / runs, 1e-9))
        assert abs(seen[output] / runs - p) < 4.5 * spread, (mechanism.__name__, output)
