"""The kernel's numbers with a guarantee: enclosures, laws of the privacy loss, and accounts."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import flint
import pytest

from dpest.kernel.approximate.accountant import (
    Account,
    StageLoss,
    mu2_bound,
    planned,
    pure_bound,
    rho_bound,
)
from dpest.kernel.approximate.enclosures import (
    exp_range,
    log_range,
    normal_cdf_range,
    sqrt_range,
)
from dpest.notions.claims import GaussianDP


def phi(x):
    return (1 + (x / flint.arb(2).sqrt()).erf()) / 2


@pytest.mark.parametrize(
    ("ours", "ball", "low", "high"),
    [
        (exp_range, lambda x: x.exp(), -60, 60),
        (normal_cdf_range, phi, -15, 15),
        (log_range, lambda x: x.log(), 1e-6, 1e6),
        (sqrt_range, lambda x: x.sqrt(), 0, 1e6),
    ],
    ids=["exp", "Φ", "log", "√"],
)
def test_enclosures_hold_the_value_and_are_narrow(ours, ball, low, high):
    source = random.Random(5)
    before, flint.ctx.prec = flint.ctx.prec, 300
    try:
        for _ in range(200):
            x = source.uniform(low, high)
            a, b = ours(Fraction(x))
            value = ball(flint.arb(x))
            assert flint.arb(a.numerator) / a.denominator <= value + value.rad()
            assert flint.arb(b.numerator) / b.denominator >= value - value.rad()
            assert b - a <= max(abs(b), 1) * Fraction(1, 2**110)
    finally:
        flint.ctx.prec = before


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_gaussian_steps_are_the_analytic_formula(mu, epsilon):
    account = Account([(StageLoss("gauss", Fraction(mu) ** 2 / 4), 4)])
    truth = GaussianDP(mu).delta_at(epsilon)
    found = float(account.delta(Fraction(epsilon)))
    assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-9) + 1e-30


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"),
    [(1.0, 0.2, 1, 1e-3), (2.0, 0.1, 30, 1e-5), (0.8, 0.01, 20, 1e-6)],
)
def test_samples_agree_with_dp_accounting(sigma, q, steps, delta):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = (
        pld.from_gaussian_mechanism(sigma, sampling_prob=q, use_connect_dots=True)
        .self_compose(steps)
        .get_epsilon_for_delta(delta)
    )
    step = StageLoss("gauss", 1 / Fraction(sigma) ** 2, Fraction(q))
    ours = Account([(step, steps)]).epsilon(Fraction(delta))
    assert ours is not None
    assert 1 - 1e-6 < float(ours) / theirs < 1.005


def test_a_coarse_grid_is_a_larger_bound():
    ledger = [(StageLoss("gauss", Fraction(1), Fraction(1, 5)), 3)]
    fine, coarse = (Account(ledger, planned(ledger, 1e-6, cells)) for cells in (1500, 60))
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
        assert fine.delta(epsilon) <= coarse.delta(epsilon) + Fraction(1, 10**12)


def test_laplace_steps_compose_below_their_sum():
    account = Account([(StageLoss("laplace", Fraction(1, 10)), 30)])
    assert pure_bound(account.ledger) == 3
    found = account.epsilon(Fraction(1, 10**5))
    assert found is not None
    assert found < Fraction(27, 10)


def test_up_to_bad_adds_its_chance():
    account = Account([(StageLoss("bad", Fraction(1), delta=Fraction(1, 1000)), 2)])
    found = account.delta(Fraction(2))
    assert Fraction(1999, 10**6) <= found <= Fraction(2, 1000) + Fraction(1, 2**100)
    assert pure_bound(account.ledger) is rho_bound(account.ledger) is None


def test_kinds_have_their_own_bounds():
    mixed = [(StageLoss("gauss", Fraction(1, 4)), 2), (StageLoss("pure", Fraction(1)), 1)]
    assert rho_bound(mixed) == Fraction(3, 4)
    assert mu2_bound(mixed) is None
    assert pure_bound(mixed) is None
    sampled = [(StageLoss("pure", Fraction(1), Fraction(1, 10)), 1)]
    found = pure_bound(sampled)
    assert found is not None
    assert math.isclose(float(found), math.log1p(0.1 * math.expm1(1)), rel_tol=1e-12)
    assert rho_bound(sampled) is None
