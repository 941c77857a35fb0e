"""Panels far from the only peak of a log-concave integrand are left out; the integral stays."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.exact.integration.densities import log_concave
from dpest.exact.integration.quadrature import around_peak, graded, integrate
from dpest.noise.gaussian import Gaussian
from dpest.noise.laplace import Laplace

CENTRES = np.array([-3000.0, -40.0, 0.0, 2.0, 5000.0])


def product(kernel, centres):
    """log Π kernel(x - c) · P(V ≤ x), one integrand for each owner's centre."""

    def log_integrand(x, owner):
        at = centres[owner]
        total = kernel.log_density(x - at) + kernel.log_density(x) + kernel.log_cdf(x - 1.0)
        return total[None, :]

    return log_integrand


@pytest.mark.parametrize("kernel", [Laplace(1.0), Laplace(0.3), Gaussian(20.0)])
def test_the_integral_is_the_same(kernel):
    assert log_concave(kernel)
    edges = [np.minimum(CENTRES, 0.0) - 600, CENTRES, np.zeros(5), np.ones(5)]
    breaks = np.sort(np.stack([*edges, np.maximum(CENTRES, 1.0) + 600], axis=1), axis=1)
    panels = graded(breaks, np.full(5, 2.0))
    log_integrand = product(kernel, CENTRES)
    fewer = around_peak(log_integrand, panels, 5)
    assert len(fewer[0]) < len(panels[0])
    everything = integrate(log_integrand, panels, 5).log_total
    some = integrate(log_integrand, fewer, 5).log_total
    np.testing.assert_allclose(some, everything, rtol=0, atol=1e-12)


def test_where_nothing_is_seen_every_panel_stays():
    panels = graded(np.array([[0.0, 1.0, 50.0]]), np.array([1.0]))

    def nowhere(x, owner):
        return np.full((1, len(x)), -np.inf)

    assert len(around_peak(nowhere, panels, 1)[0]) == len(panels[0])


def test_an_owner_without_panels_is_no_trouble():
    starts, ends, owner = graded(np.array([[0.0, 1.0, 50.0]]), np.array([1.0]))

    def falling(x, owner):
        return -100 * x[None, :]

    kept = around_peak(falling, (starts, ends, owner + 1), 3)
    assert set(kept[2].tolist()) == {1}
    assert len(kept[0]) < len(starts)


def test_only_known_families_count():
    assert not log_concave(None)
