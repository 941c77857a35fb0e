"""Closed forms against high-precision integration and dp-accounting, to 8 digits or better."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpest.errors import DomainError
from dpest.notions import Density, DensityPair, FinitePair
from dpest.notions.closed_forms import (
    ExponentialMechanism,
    GaussianMechanism,
    GeometricMechanism,
    LaplaceMechanism,
    RandomisedResponse,
)

ORDERS = [1.0001, 1.5, 2, 7.3, 64]


def _mp_gaussian_delta(mu, eps):
    with mpmath.workdps(80):
        m, e = mpmath.mpf(mu), mpmath.mpf(eps)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize("mu", [1e-5, 1e-3, 0.1, 1, 3, 20])
@pytest.mark.parametrize("eps", [0, 1e-4, 0.01, 0.3, 1, 5, 40])
def test_gaussian_delta(mu, eps):
    truth = _mp_gaussian_delta(mu, eps)
    if truth < 1e-290:
        assert GaussianMechanism(1 / mu).delta(eps) <= 1e-280
    else:
        assert GaussianMechanism(1, mu).delta(eps) == pytest.approx(truth, rel=1e-9, abs=0)


@pytest.mark.parametrize("scale", [0.05, 0.7, 10, 1e4])
@pytest.mark.parametrize("alpha", ORDERS)
def test_laplace_renyi(scale, alpha):
    with mpmath.workdps(60):
        a, e = mpmath.mpf(alpha), 1 / mpmath.mpf(scale)
        total = a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)
        truth = float(mpmath.log(total / (2 * a - 1)) / (a - 1))
    assert LaplaceMechanism(scale).renyi(alpha) == pytest.approx(truth, rel=1e-9, abs=0)


def test_limits_of_the_order():
    for form in (
        LaplaceMechanism(2),
        RandomisedResponse(0.5),
        GeometricMechanism(0.5),
        LaplaceMechanism(0.1),
    ):
        assert form.renyi(math.inf) == pytest.approx(form.epsilon, rel=1e-14)
        assert form.renyi(1) == pytest.approx(form.renyi(1 + 1e-9), rel=1e-7)
        assert form.kl() == form.renyi(1)
    assert GaussianMechanism(2).renyi(1) == 0.125
    assert GaussianMechanism(2).epsilon == math.inf


def _density(form):
    if isinstance(form, LaplaceMechanism):
        s = float(form.scale)
        return lambda m: Density(lambda x: -np.abs(x - m) / s - math.log(2 * s), (m,))
    s = float(form.sigma)
    constant = math.log(s) + math.log(2 * math.pi) / 2
    return lambda m: Density(lambda x: -(((x - m) / s) ** 2) / 2 - constant, (m,))


@pytest.mark.parametrize(
    "form",
    [LaplaceMechanism(0.3), LaplaceMechanism(4), GaussianMechanism(0.6), GaussianMechanism(3)],
)
def test_quadrature_agrees(form):
    make = _density(form)
    pair = DensityPair(make(0.0), make(1.0))
    for eps in (0, 0.01, 0.2, 1, 3):
        assert pair.delta(eps) == pytest.approx(form.delta(eps), rel=1e-9, abs=1e-15)
    for alpha in (1, 1.2, 2, 8):
        assert pair.renyi(alpha) == pytest.approx(form.renyi(alpha), rel=1e-9)


@pytest.mark.parametrize(("eps", "shift"), [(0.1, 1), (1.0, 1), (2.0, 5), (0.7, 3)])
def test_geometric_against_its_own_sums(eps, shift):
    z = np.arange(-600, 600)
    p = np.exp(-eps / shift * np.abs(z))
    q = np.exp(-eps / shift * np.abs(z - shift))
    direct = FinitePair(p / p.sum(), q / q.sum())
    form = GeometricMechanism(eps, shift)
    assert form.epsilon == eps
    for e in (0, 0.05, 0.5, 1.5):
        assert form.delta(e) == pytest.approx(direct.delta(e), rel=1e-9, abs=1e-14)
    for alpha in ORDERS:
        assert form.renyi(alpha) == pytest.approx(direct.renyi(alpha), rel=1e-8)


def test_randomised_response():
    form = RandomisedResponse(1.2, categories=5)
    total = math.exp(1.2) + 4
    p = [math.exp(1.2) / total, 1 / total, 3 / total]
    direct = FinitePair(p, [p[1], p[0], p[2]])
    assert form.renyi(3) == pytest.approx(direct.renyi(3), rel=1e-12)
    assert form.delta(0.4) == pytest.approx(direct.delta(0.4), rel=1e-12)
    assert RandomisedResponse(0.9).kl() == pytest.approx(0.9 * math.tanh(0.45), rel=1e-12)


def test_exponential_mechanism_stays_within_its_parameter():
    form = ExponentialMechanism([0, 1, 2], [1, 0, 2], 0.8)
    p, q = (np.exp(0.4 * np.array(s)) for s in ([0, 1, 2], [1, 0, 2]))
    direct = FinitePair(p / p.sum(), q / q.sum())
    assert form.epsilon == pytest.approx(direct.epsilon)
    assert form.epsilon <= 0.8
    assert form.delta(0.1) == pytest.approx(direct.delta(0.1))


@pytest.mark.parametrize(
    "form",
    [LaplaceMechanism(2), GaussianMechanism(1), RandomisedResponse(1), GeometricMechanism(1, 2)],
)
def test_epsilon_at_inverts_delta(form):
    for delta in (0.2, 1e-3, 1e-9):
        assert form.delta(form.epsilon_at(delta)) <= delta * (1 + 1e-9)
        assert form.delta(form.epsilon_at(delta) * (1 - 1e-6)) >= delta * (1 - 1e-9)


def test_against_dp_accounting():
    pytest.importorskip("dp_accounting")
    from dp_accounting import dp_event
    from dp_accounting.pld import privacy_loss_mechanism as plm
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    for sigma in (0.5, 2.0):
        for eps in (0.1, 1.0, 3.0):
            theirs = plm.GaussianPrivacyLoss(sigma).get_delta_for_epsilon(eps)
            assert GaussianMechanism(sigma).delta(eps) == pytest.approx(theirs, rel=1e-8)
            theirs = plm.LaplacePrivacyLoss(sigma).get_delta_for_epsilon(eps)
            assert LaplaceMechanism(sigma).delta(eps) == pytest.approx(theirs, rel=1e-8)
    for rate, shift in ((0.4, 1), (0.3, 4)):
        theirs = plm.DiscreteLaplacePrivacyLoss(rate, shift).get_delta_for_epsilon(0.2)
        assert GeometricMechanism(rate * shift, shift).delta(0.2) == pytest.approx(theirs, rel=1e-8)
    orders = [1.5, 2.0, 8.0, 40.0]
    for event, form in (
        (dp_event.LaplaceDpEvent(1.7), LaplaceMechanism(1.7)),
        (dp_event.GaussianDpEvent(1.7), GaussianMechanism(1.7)),
    ):
        accountant = rdp.RdpAccountant(orders).compose(event)
        assert accountant._rdp == pytest.approx([form.renyi(a) for a in orders], rel=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: LaplaceMechanism(0),
        lambda: GaussianMechanism(-1),
        lambda: LaplaceMechanism(math.nan),
        lambda: GeometricMechanism(1, 0.5),
        lambda: RandomisedResponse(1, 1),
        lambda: ExponentialMechanism([1], [1, 2], 1),
        lambda: LaplaceMechanism(1).delta(-0.1),
        lambda: GaussianMechanism(1).renyi(0.5),
        lambda: GaussianMechanism(1).epsilon_at(2),
    ],
)
def test_domain_errors(call):
    with pytest.raises(DomainError):
        call()
