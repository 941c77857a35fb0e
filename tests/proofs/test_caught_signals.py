"""A bare `except:` catches signals of the reading, too: what follows is then no proof."""

from __future__ import annotations

import pytest

import dpest
from dpest.proofs import prove


def at_the_seventh(x, rng, *, eps=1.0):
    """Without noise at place 7, which a reading that swallows the question would not see."""
    out = []
    for i, q in enumerate(x):
        try:
            special = i == 7
        except:  # noqa: E722
            special = False
        out.append(q if special else q + rng.laplace(scale=1 / eps))
    return out


def reads_its_list(x, rng, *, eps=1.0):
    out = []
    for q in x:
        try:
            late = len(out) > 6
        except:  # noqa: E722
            late = False
        out.append(q if late else q + rng.laplace(scale=1 / eps))
    return out


def draws_in_the_header(x, rng, *, eps=1.0):
    def some():
        try:
            return [rng.laplace(scale=1 / eps)]
        except:  # noqa: E722
            return []

    total = 0
    for noise in some():
        total += noise
    return x[0] + total


def looks_at_the_length(x, rng, *, eps=1.0):
    try:
        long = len(x) > 6
    except:  # noqa: E722
        long = False
    return x if long else [q + rng.laplace(scale=1 / eps) for q in x]


@pytest.mark.parametrize(
    "function", [at_the_seventh, reads_its_list, draws_in_the_header, looks_at_the_length]
)
@pytest.mark.parametrize("adjacency", ["l1", "add_remove_one"])
def test_a_caught_signal_is_no_proof(function, adjacency):
    proof = prove(function, adjacency=adjacency)
    assert proof.epsilon is None
    assert proof.certificate is None


def test_the_same_without_a_bare_except_is_seen_through():
    def plain(x, rng, *, eps=1.0):
        out = []
        for i, q in enumerate(x):
            out.append(q if i == 7 else q + rng.laplace(scale=1 / eps))
        return out

    proof = prove(plain, adjacency="l1")
    assert proof.epsilon is None
    assert prove(plain, adjacency="l1", length=3).epsilon == 1
    assert dpest.exact(plain, [0.0] * 3, [1.0, 0.0, 0.0]).epsilon == pytest.approx(1)
