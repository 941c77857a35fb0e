"""Gumbel's left tail is an exponential of an exponential: there, digits run out before outputs do.

A supremum that is sought over outputs must not pick the rounding noise of such a tail.
"""

from __future__ import annotations

import math

import pytest

import dpest


def released_when_above(x, rng, *, eps=1.0):
    out = []
    for q in x:
        v = -q + rng.laplace(scale=4 / eps)
        if v >= -0.5:
            out.append(v + rng.gumbel(scale=0.5 / eps))
    return out


def released_twice(x, rng, *, eps=1.0):
    shared = rng.laplace(scale=2 / eps)
    return [q + shared + rng.gumbel(scale=1 / eps) for q in x]


def one_sum(x, rng, *, eps=1.0):
    return x[0] + rng.laplace(scale=1 / eps) + rng.gumbel(scale=0.5 / eps)


def chosen_sum(x, rng, *, eps=1.0):
    v = x[0] + rng.laplace(scale=2 / eps)
    if v > 0:
        return v + rng.gumbel(scale=0.25 / eps)
    return rng.gumbel(scale=0.25 / eps) - v


def far_out(x, rng, *, eps=1.0):
    return x[0] + rng.gumbel(scale=1 / eps)


@pytest.mark.parametrize(
    ("function", "x", "x2", "bound"),
    [
        # Everything after the Laplace draw of the entry that moved is post-processing.
        (released_when_above, [-1.5, 3.5, 3.0], [-2.5, 3.5, 3.0], 0.25),
        (released_when_above, [0.5, 3.5, 3.0], [0.5, 3.5, 2.0], 0.25),
        (released_when_above, [0.0, 0.0], [1.0, 0.0], 0.25),
        (one_sum, [0.0], [1.0], 1.0),
        (chosen_sum, [0.25], [-0.75], 0.5),
        (chosen_sum, [3.0], [2.0], 0.5),
    ],
)
def test_rounding_noise_is_no_loss(function, x, x2, bound):
    loss = dpest.exact(function, x, x2)
    assert loss.error < 1e-6
    assert loss.epsilon <= bound + loss.error
    assert loss.epsilon > 0.3 * bound


def test_a_shared_laplace_draw_hides_nothing_of_one_entry():
    # The other entry's output tells the shared draw up to Gumbel noise, whose left tail has no
    # bound on its ratio: the loss of one entry is infinite, and that is no rounding noise.
    loss = dpest.exact(released_twice, [0.0, 0.0], [1.0, 0.0])
    assert loss.epsilon == math.inf or loss.epsilon > 1


def test_a_steep_tail_alone_is_unbounded():
    loss = dpest.exact(far_out, [0.0], [1.0])
    assert loss.epsilon == math.inf
    assert loss.epsilon_forward == pytest.approx(1.0) or loss.epsilon_backward == pytest.approx(1.0)


def test_a_tail_that_falls_ever_faster_is_not_continued_as_an_exponential_one():
    """The first noisy value below a Gumbel threshold: Laplace noise bounds the loss."""

    def first_below(x, rng):
        threshold = -rng.gumbel(scale=4)
        for q in x:
            v = q + rng.laplace(scale=1)
            if v < threshold:
                return [v]
        return []

    for x, x2 in (([-2.0, -2.5], [-1.5, -1.5]), ([-2.0, -0.5], [-1.5, 0.5])):
        for pair in ((x, x2), (x2, x)):
            assert 0.5 <= dpest.exact(first_below, *pair).epsilon <= 2
