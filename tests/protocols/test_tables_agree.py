"""The kernel's own tables against the library's: they were written twice, and say the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpest import noise
from dpest.ask.adjacency import parse_adjacency
from dpest.kernel.adjacency import SHAPES, Request
from dpest.kernel.models.noise import FAMILIES
from dpest.noise.family import Noise

LATTICE_BY_CHANCE = {"geometric", "two_sided_geometric"}
"""Their rates are logarithms of a chance: a proof takes them from e^-eps, in the reader."""
MADE = {
    "laplace": noise.Laplace(2),
    "discrete_laplace": noise.DiscreteLaplace(2),
    "exponential": noise.Exponential(2),
    "gumbel": noise.Gumbel(2),
    "logistic": noise.Logistic(2),
    "cauchy": noise.Cauchy(2),
    "student_t": noise.StudentT(1, 2),  # of one degree of freedom: the same as Cauchy noise
    "gaussian": noise.Gaussian(2),
    "discrete_gaussian": noise.DiscreteGaussian(2),
}


def test_every_row_is_a_family_of_the_library():
    families = {made.family for made in vars(noise).values() if _is_family(made)}
    own = {name for name in FAMILIES if name != "skew_laplace"}
    assert own <= families
    assert own == {*MADE, *LATTICE_BY_CHANCE}


def _is_family(made: object) -> bool:
    return isinstance(made, type) and issubclass(made, Noise) and made is not Noise


@pytest.mark.parametrize("name", MADE)
def test_rows_of_noise_agree(name):
    row, made = FAMILIES[name], MADE[name]
    rule = {"one_sided": "upward"}.get(made.shift_cost.kind, made.shift_cost.kind)
    assert row.rule == rule
    assert row.integral == made.shift_cost.integral == made.discrete
    low = made.support[0]
    assert (row.least is None) == (low == -float("inf"))
    if row.least is not None:
        assert row.least == Fraction(low)
    # A Gaussian's scale in a certificate is its variance.
    scale = Fraction(4) if row.rule == "square" else Fraction(2)
    rate = 1 / (2 * scale) if row.rule == "square" else 1 / scale
    assert rate == made.shift_cost.rate


@pytest.mark.parametrize("name", [n for n in SHAPES if n not in ("add_remove_one", "tilted")])
def test_rows_of_adjacencies_agree(name):
    shape, rule = SHAPES[name], parse_adjacency(name)
    assert shape.moves_one == rule.moves_one
    assert shape.hull == rule.spans_hull
    assert shape.changes_length == rule.changes_length
    entries, radius = [["q0"], ["q1"], ["q2"]], Fraction(3, 2)
    reach = ((-radius, radius),)
    found = shape.boxes(Request(entries, radius, reach))
    assert found == rule.faces(entries, radius, reach)


def test_records_that_come_and_go_agree():
    shape, rule = SHAPES["add_remove_one"], parse_adjacency("add_remove_one")
    assert (shape.moves_one, shape.changes_length) == (rule.moves_one, rule.changes_length)
