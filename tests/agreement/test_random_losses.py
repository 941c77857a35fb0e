"""Exact losses of random small functions against densities by a second way.

No draws are made: an answer agrees up to the stated errors, or it is false. More functions, with
figures, are in validation/random_losses.py.
"""

from __future__ import annotations

import linecache
import math

import pytest

import dpest
from agreement.small_functions import disagreement, small_function
from dpest.errors import DpestError


def exact(seed):
    function = small_function(seed)
    name = f"<random function {seed}>"
    linecache.cache[name] = (len(function.code), None, function.code.splitlines(True), name)
    namespace = {}
    exec(compile(function.code, name, "exec"), namespace)
    try:
        return function, dpest.exact(namespace["f"], *function.pair)
    except DpestError:
        return function, None


@pytest.mark.parametrize("seed", range(20))
def test_the_second_way_agrees(seed):
    function, loss = exact(seed)
    if loss is not None:
        assert disagreement(function, loss) == "", (function.code, str(loss))


@pytest.mark.parametrize("seed", [13, 40, 143])
def test_sums_of_pieces_with_gaussian_tails_are_infinite(seed):
    """These had a finite ε, as far out as the search had looked."""
    _, loss = exact(seed)
    assert loss.epsilon == math.inf
    assert loss.complete


def test_the_second_way_sees_a_false_value():
    """A value that is 1e-3 off is contradicted, in both directions."""
    function, loss = exact(1301)
    assert loss.complete
    for factor in (0.999, 1.001):
        loss.epsilon_forward *= factor
        loss.epsilon_backward *= factor
        assert disagreement(function, loss) != ""
        loss.epsilon_forward /= factor
        loss.epsilon_backward /= factor
