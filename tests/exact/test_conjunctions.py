"""Probabilities of conjunctions: against closed forms, complements and sampling."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpest.errors import RefusedError
from dpest.exact.integration.composites import (
    Composite,
    LinearBound,
    density_row,
    interval_row,
    log_masses,
)
from dpest.exact.integration.elimination import Inequality, eliminate
from dpest.exact.integration.latents import Latents
from dpest.geometry.linear import Form, Symbol
from dpest.noise.exponential import Exponential
from dpest.noise.gaussian import Gaussian
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.uniform import Uniform

NOISES = [Laplace(2.0), Exponential(3.0), Gaussian(1.5), Gumbel(2.0), Uniform(-1.0, 2.0)]
V = [Symbol("noise", f"v{i}") for i in range(6)]


def form(constant: float, **terms: float) -> Form:
    exact = {V[int(name[1:])]: Fraction(str(c)) for name, c in terms.items()}
    return Form(exact, Fraction(str(constant)))


def probability(noise, *forms: Form) -> float:
    latents = Latents(dict.fromkeys(V, noise))
    terms = eliminate(latents, [], [Inequality(f) for f in forms])
    return math.exp(sum(float(t.log_value({})) for t in terms))


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.family)
def test_each_of_n_equal_noises_is_the_largest_with_probability_one_in_n(noise):
    forms = [form(0, v0=1, **{f"v{j}": -1}) for j in range(1, 5)]
    assert probability(noise, *forms) == pytest.approx(1 / 5, abs=1e-13)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.family)
def test_an_order_of_five_is_a_chain_and_has_probability_one_in_120(noise):
    chain = [form(0, **{f"v{i}": 1, f"v{i + 1}": -1}) for i in range(4)]
    assert probability(noise, *chain) == pytest.approx(1 / 120, rel=1e-11)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.family)
def test_redundant_comparisons_change_nothing(noise):
    full = [form(0, **{f"v{i}": 1, f"v{j}": -1}) for i in range(4) for j in range(i + 1, 4)]
    assert probability(noise, *full) == pytest.approx(1 / 24, rel=1e-11)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.family)
def test_a_triangle_of_comparisons_and_its_complement_add_up(noise):
    one, two = form(-0.3, v1=1, v2=1), form(-0.7, v0=1, v2=2)
    first = probability(noise, form(0.2, v0=1, v1=-1), one, two)
    second = probability(noise, form(-0.2, v0=-1, v1=1), one, two)
    assert first + second == pytest.approx(probability(noise, one, two), rel=1e-10)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.family)
def test_against_sampling(noise):
    """4σ of 10^6 runs: a false alarm in one of 16,000 tests."""
    forms = [form(0.4, v0=1, v1=-1, v2=0.5), form(0.1, v1=2, v3=-1)]
    draws = noise.sample(np.random.default_rng(7), (4, 1_000_000))
    inside = np.ones(1_000_000, dtype=bool)
    for f in forms:
        total = float(f.constant) + sum(float(c) * draws[V.index(s)] for s, c in f.terms.items())
        inside &= total >= 0
    p = probability(noise, *forms)
    assert abs(inside.mean() - p) < 4 * math.sqrt(p * (1 - p) / 1e6)


def test_far_out_probabilities_keep_their_digits():
    """P(X ≥ a, Y ≥ X) for two Laplace noises is e^(-2a/b)/8, also where it underflows."""
    noise = Laplace(1.0)
    for a in (10.0, 500.0, 20_000.0):
        latents = Latents({V[0]: noise, V[1]: noise})
        items = [Inequality(form(-a, v0=1)), Inequality(form(0, v0=-1, v1=1))]
        terms = eliminate(latents, [], items)
        log_p = sum(float(t.log_value({})) for t in terms)
        assert log_p == pytest.approx(-2 * a - math.log(8), rel=1e-12)


def test_gaussian_tails_peak_between_their_kinks():
    """P(X + Y ≥ 2a) by one integral whose peak lies far from both centres."""
    noise, a = Gaussian(1.0), 30.0
    latents = Latents({V[0]: noise, V[1]: noise})
    (term,) = eliminate(latents, [], [Inequality(form(-2 * a, v0=1, v1=1))])
    truth = float(noise.log_sf(np.array(2 * a / math.sqrt(2))))
    assert float(term.log_value({})) == pytest.approx(truth, rel=1e-12)


def test_cells_that_share_nodes_agree_with_cells_alone():
    own, leaf = Laplace(2.0), Laplace(4.0)
    composites = [
        Composite(
            (
                density_row(own, 1.0, 0.0),
                *(interval_row(leaf, (), (LinearBound(1.0, a),)) for a in range(k)),
                interval_row(leaf, (LinearBound(1.0, float(k)),), ()),
            )
        )
        for k in range(8)
    ]
    together, _ = log_masses(composites)
    alone = [log_masses([c])[0][0] for c in composites]
    assert np.abs(together - alone).max() < 1e-13


def test_too_many_ties_are_refused():
    forms = [
        form(0, **{f"v{i}": 1, f"v{j}": 2, f"v{k}": -1})
        for i in range(6)
        for j in range(i + 1, 6)
        for k in range(j + 1, 6)
    ]
    with pytest.raises(RefusedError, match="nested integrals"):
        probability(Laplace(1.0), *forms)
