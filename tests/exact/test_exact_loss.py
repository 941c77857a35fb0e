"""Exact losses: closed forms, known truths, supports, singular maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpest import zoo
from dpest.errors import DomainError, RefusedError, ReplayError
from dpest.exact.engine import PairObjective, exact_loss


def laplace(x, rng, *, scale=2.0):
    return x[0] + rng.laplace(scale=scale)


def gaussian(x, rng, *, sigma=2.0):
    return x[0] + rng.normal(scale=sigma)


def response(x, rng):
    return x[0] if rng.random() < 0.75 else 1 - x[0]


def sparse(x, rng, *, scale=2.0, threshold=1):
    rho = rng.laplace(scale=scale)
    return [q + rng.laplace(scale=2 * scale) >= threshold + rho for q in x]


def test_laplace_in_closed_form():
    loss = exact_loss(laplace, [0.0], [1.0])
    assert loss.epsilon == 0.5
    assert loss.delta(0.2) == pytest.approx(1 - math.exp(-0.15), abs=1e-14)
    assert loss.total_variation == pytest.approx(1 - math.exp(-0.25), abs=1e-14)
    renyi = math.log(2 / 3 * math.exp(0.5) + 1 / 3 * math.exp(-1.0))
    assert loss.renyi(2.0) == pytest.approx(renyi, abs=1e-13)
    assert loss.renyi(math.inf) == 0.5
    assert loss.delta(loss.epsilon_at(1e-3)) == pytest.approx(1e-3, rel=1e-9)
    assert loss.tradeoff(0.1) == pytest.approx(1 - 0.1 * math.exp(0.5), abs=1e-9)


def test_gaussian_in_closed_form():
    loss = exact_loss(gaussian, [0.0], [1.0])
    mu = 0.5
    for epsilon in (0.0, 0.1, 1.0, 3.0):
        truth = norm.cdf(mu / 2 - epsilon / mu)
        truth -= math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-11)
    assert loss.renyi(3.0) == pytest.approx(1.5 * mu**2, rel=1e-11)
    assert loss.renyi(1.0) == pytest.approx(mu**2 / 2, rel=1e-9)
    assert loss.tradeoff(0.05) == pytest.approx(norm.cdf(norm.ppf(0.95) - mu), abs=1e-9)
    assert loss.epsilon == math.inf
    assert loss.witness.details["how"] == "unbounded"


def test_randomised_response_is_rational():
    loss = exact_loss(response, [0], [1])
    assert loss.mode == "rational"
    assert loss.witness.details["exact"] == ("3/4", "1/4")
    assert loss.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert loss.delta(0.5) == pytest.approx(0.75 - math.exp(0.5) / 4, abs=1e-15)


def test_discrete_laplace_is_one_over_its_scale():
    entry = zoo.get("DiscreteLaplaceMechanism")
    scale = 1 / entry.all_params["eps"]
    loss = exact_loss(entry, [3], [4])
    assert loss.epsilon == pytest.approx(1 / scale, abs=1e-12)


def test_independent_coordinates_add_and_a_prefix_sum_is_independent_coordinates():
    def prefix(x, rng):
        return list(np.cumsum([a + rng.laplace(scale=10.0) for a in x]))

    def separate(x, rng):
        return [a + rng.laplace(scale=10.0) for a in x]

    for mechanism in (prefix, separate):
        assert exact_loss(mechanism, [1.0] * 8, [2.0] * 8).epsilon == pytest.approx(0.8, abs=1e-12)


def test_the_same_noise_released_twice_is_an_exact_relation():
    def twice(x, rng):
        noise = rng.laplace(scale=1.0)
        return [x[0] + noise, x[1] + noise]

    loss = exact_loss(twice, [1.0, 1.0], [0.0, 1.0])
    assert loss.epsilon == math.inf
    assert "output[0] - output[1] = 0" in loss.witness.event
    # The relation stays where it is: then the second number tells nothing new.
    assert exact_loss(twice, [1.0, 1.0], [2.0, 2.0]).epsilon == 1.0


def test_the_seeds_example_of_a_difference_of_supports():
    loss = exact_loss(zoo.get("SVT5"), [0.5, 1.5], [1.5, 1.5])
    assert loss.epsilon == math.inf
    assert loss.witness.details["output"] == [False, True]
    assert "impossible for the second input" in loss.witness.event


def test_a_ratio_that_diverges_at_the_edge_of_a_support():
    """max(a + Exp): one density vanishes like a higher power than the other."""
    entry = zoo.get("ReportNoisyMax4")
    loss = exact_loss(entry, [1.0] * 3, [0.0, 1.0, 1.0])
    # What was reached near the edge: no exponent decides it, and it is not called infinite.
    assert 15 < loss.epsilon < math.inf
    assert not loss.complete
    # A common shift moves the support itself.
    shifted = exact_loss(entry, [1.0] * 3, [2.0] * 3)
    assert shifted.epsilon == math.inf
    assert "impossible" in shifted.witness.event


def test_a_probability_too_small_to_see_is_not_impossible():
    loss = exact_loss(zoo.get("SVT1"), [1000.0] * 10, [1001.0] * 10)
    assert math.isfinite(loss.epsilon)
    assert loss.epsilon <= 0.1 + 1e-9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SVT1", 0.0885258),
        ("SVT2", 0.0882304),
        ("SVT4", 0.1724707),
        ("NumericalSVT", 0.0805192),
    ],
)
def test_sparse_vectors_on_the_half_half_pattern(name, value):
    loss = exact_loss(zoo.get(name), [1.0] * 10, [2.0] * 5 + [0.0] * 5)
    assert loss.epsilon == pytest.approx(value, abs=6e-8)


def test_released_maxima_and_values_reach_their_limits():
    loss = exact_loss(zoo.get("ReportNoisyMax3"), [1.0] * 5, [2.0] * 5)
    assert loss.epsilon == pytest.approx(0.25, abs=1e-12)
    loss = exact_loss(zoo.get("SVT3"), [1.0] * 10, [0.0] * 10)
    assert loss.epsilon == pytest.approx(0.5, abs=1e-12)


def test_a_limit_with_polynomial_tails_is_extrapolated():
    """Two maxima added: the ratio tends to (Σa - Σb)/scale like 1/|y|."""
    loss = exact_loss(zoo.get("NoisyMaxSum"), [1.0] * 6, [0.0] * 6)
    assert loss.epsilon == pytest.approx(0.6, abs=1e-6)
    assert loss.epsilon <= 0.6 + 1e-9


def test_two_sparse_vectors_side_by_side_add():
    both = PairObjective(zoo.get("SVT34Parallel"))([1.0] * 4, [2.0, 2.0, 0.0, 0.0])
    third = exact_loss(zoo.get("SVT3"), [1.0] * 4, [2.0, 2.0, 0.0, 0.0], params={"cutoff": 2})
    fourth = exact_loss(zoo.get("SVT4"), [1.0] * 4, [2.0, 2.0, 0.0, 0.0], params={"cutoff": 2})
    forward = third.epsilon_forward + fourth.epsilon_forward
    backward = third.epsilon_backward + fourth.epsilon_backward
    assert both == pytest.approx(max(forward, backward), abs=1e-9)


def test_bits_are_factors():
    loss = exact_loss(zoo.get("Rappor"), 1, 0)
    assert loss.epsilon == pytest.approx(0.300063, abs=6e-7)
    assert loss.mode == "rational"


def test_one_mechanism_written_in_several_ways():
    def by_loop(x, rng):
        best, at = None, None
        for i, a in enumerate(x):
            noisy = a + rng.laplace(scale=20.0)
            if best is None or noisy > best:
                best, at = noisy, i
        return at

    def by_numpy(x, rng):
        return np.argmax(np.asarray(x) + rng.laplace(scale=20.0, size=len(x)))

    pair = ([1.0] * 5, [0.0] + [2.0] * 4)
    values = [exact_loss(f, *pair).epsilon for f in (by_loop, by_numpy)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert values[0] == pytest.approx(0.0946149, abs=6e-8)


def test_the_objective_agrees_with_single_pairs():
    objective = PairObjective(zoo.get("SVT4"))
    for pair in (([1.0] * 4, [0.0] * 4), ([3.0, 1.0, 2.0, 0.5], [2.5, 1.5, 1.0, 1.0])):
        assert objective(*pair) == pytest.approx(
            exact_loss(zoo.get("SVT4"), *pair).epsilon, abs=1e-13
        )


def test_questions_outside_their_domain():
    loss = exact_loss(laplace, [0.0], [1.0])
    for call in (
        lambda: loss.delta(math.nan),
        lambda: loss.epsilon_at(2.0),
        lambda: loss.renyi(0.0),
        lambda: loss.tradeoff(-0.1),
    ):
        with pytest.raises(DomainError):
            call()


def geometric_by_hand(x, rng):
    k = 0
    while rng.random() < 0.5:
        k += 1
    sign = 1 if rng.random() < 0.5 else -1
    return x + sign * k


def test_a_loop_that_was_cut_off_gives_a_lower_bound():
    loss = exact_loss(geometric_by_hand, 0, 1)
    truth = math.log(4)
    assert not loss.complete
    assert truth - 1e-8 < loss.epsilon < truth
    ratio = abs(math.log(loss.witness.p / loss.witness.q))
    assert ratio == pytest.approx(loss.epsilon, abs=1e-12)
    assert any("cut off" in note for note in loss.notes)
    # p is 1/2 at 0 and 2^-(k+2) at ±k: δ(0) is P(at most 0) - Q(at most 0).
    assert loss.delta(0.0) == pytest.approx(0.5, abs=1e-8)
    assert loss.delta(0.0) < 0.5
    assert loss.delta(math.inf) == 0.0
    assert loss.epsilon_at(0.01) < truth
    with pytest.raises(RefusedError):
        loss.renyi(2.0)
    assert exact_loss(geometric_by_hand, 0, 1, certify=True).enclosure is None


def test_a_cut_in_a_loop_with_real_outputs_is_not_a_difference_of_supports():
    def shifted(x, rng):
        k = 0
        while rng.random() < 0.5:
            k += 1
        return x + k + rng.laplace()

    loss = exact_loss(shifted, 0.0, 1.0)
    assert not loss.complete
    # Post-processing: at most 1; far to the left only the Laplace noise tells.
    assert 0.99 < loss.epsilon <= 1.0
    assert loss.tradeoff(0.1) >= 1 - math.e * 0.1 - 1e-9


def test_a_large_leftover_lowers_the_bound_and_never_lifts_it():
    from dpest.exact.losses.loss import privacy_loss
    from dpest.reading.trace import trace

    truth, before = math.log(4), 0.0
    for leftover in (1e-1, 1e-2, 1e-4, 1e-7):
        found = privacy_loss(
            *(trace(geometric_by_hand, x, leftover=leftover) for x in (0, 1))
        ).epsilon
        assert before <= found < truth
        before = found
    assert before > truth - 1e-5


def test_traces_without_a_cut_are_complete():
    assert exact_loss(laplace, [0.0], [1.0]).complete
    assert exact_loss(response, [0], [1]).complete


def test_lower_bounds_of_all_pairs_are_no_upper_bound():
    import dpest

    def entry(x, rng):
        return geometric_by_hand(x[0], rng)

    question = {"epsilon": 1.5, "adjacency": "linf", "length": 1, "domain": "integers(1, 0, 2)"}
    verdict = dpest.audit(entry, engines=("exact",), **question)
    assert verdict.lower.value < math.log(4)
    assert verdict.upper is None
    assert verdict.status == "unsettled"


def test_the_objective_refuses_what_tells_generators_apart():
    def tells(x, rng, *, eps=1.0):
        noise = rng.laplace(scale=1 / eps)
        return x[0] if type(rng) is np.random.Generator else x[0] + noise

    with pytest.raises(ReplayError, match="not what was read"):
        PairObjective(tells)([0.0], [1.0])


def difference_of_sizes(x, rng):
    return abs(x[0] + rng.laplace()) - abs(rng.laplace())


def test_summands_that_are_split_by_their_signs_end_where_their_signs_do():
    """The density of a sum of two results, each of which is pieces that end at 0."""
    assert exact_loss(difference_of_sizes, [0.0], [1.0]).epsilon == pytest.approx(
        math.log(math.cosh(1)), rel=1e-9
    )
