"""Privacy-loss distributions: brackets around δ, and the hand-over to dp-accounting."""

from __future__ import annotations

import math

import pytest

from dpest.exact.engine import exact_loss
from dpest.exact.losses.privacy_loss import loss_distribution


def laplace(x, rng):
    return x[0] + rng.laplace(scale=2.0)


def gaussian(x, rng):
    return x[0] + rng.normal(scale=2.0)


def response(x, rng):
    return x[0] if rng.random() < 0.75 else 1 - x[0]


@pytest.mark.parametrize("mechanism", [laplace, gaussian, response])
def test_the_roundings_bracket_delta(mechanism):
    loss = exact_loss(mechanism, [0], [1])
    for epsilon in (0.0, 0.1, 0.3):
        above = loss_distribution(loss.parts, 0, pessimistic=True, step=1e-4).delta(epsilon)
        below = loss_distribution(loss.parts, 0, pessimistic=False, step=1e-4).delta(epsilon)
        assert below - 1e-12 <= loss.delta(epsilon) <= above + 1e-12
        assert above - below < 2e-4


def test_two_releases_are_composed():
    def twice(x, rng):
        return [x[0] + rng.laplace(scale=2.0), x[0] + rng.laplace(scale=2.0)]

    one = loss_distribution(exact_loss(laplace, [0.0], [1.0]).parts, 0, step=1e-4)
    both = exact_loss(twice, [0.0], [1.0])
    assert both.epsilon == 1.0
    assert both.delta(0.3) == pytest.approx(one.composed(one).delta(0.3), abs=2e-4)
    assert both.errors["delta"] < 1e-5


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "response"])
def test_agreement_with_dp_accounting(mechanism):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    ours, theirs = {
        "laplace": (laplace, lambda: pld.from_laplace_mechanism(2.0)),
        "gaussian": (gaussian, lambda: pld.from_gaussian_mechanism(2.0)),
        "response": (response, lambda: pld.from_randomized_response(0.5, 2)),
    }[mechanism]
    loss = exact_loss(ours, [0], [1])
    handed = loss_distribution(loss.parts, 0, step=1e-4).to_dp_accounting()
    reference = theirs()
    for count in (1, 4):
        mine, other = handed.self_compose(count), reference.self_compose(count)
        for epsilon in (0.1, 0.5, 1.0):
            difference = mine.get_delta_for_epsilon(epsilon) - other.get_delta_for_epsilon(epsilon)
            assert abs(difference) < 1e-3
    assert math.isfinite(handed.get_delta_for_epsilon(0.1))
