"""Functions that do the same for each entry: proved for every length from one entry."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import kernel
from dpest.ask.declaration import as_mechanism
from dpest.proofs import prove, rebuilding
from dpest.reading.lengths.entries import alike

BITS = "integers:0,1"


def xor(x, rng, *, eps=1.0):
    p = 1 / (1 + math.exp(eps))
    return [b ^ int(rng.random() < p) for b in x]


def branches(x, rng, *, eps=1.0):
    out = []
    for b in x:
        if rng.random() < math.exp(eps) / (1 + math.exp(eps)):
            out.append(b)
        else:
            flipped = 1 - b
            out.append(flipped)
    return out


def arrays(x, rng, *, eps=1.0):
    x = np.asarray(x)
    flip = rng.random(len(x)) < 1 / (1 + np.exp(eps))
    return np.where(flip, 1 - x, x)


def places(x, rng, *, eps=1.0):
    n = len(x)
    out = [0] * n
    for i in range(n):
        out[i] = 1 - x[i] if rng.random() < 1 / (1 + math.exp(eps)) else x[i]
    return out


def copied(x, rng, *, eps=1.0):
    out = x.copy()
    for i in range(len(x)):
        if rng.random() < 1 / (1 + math.exp(eps)):
            out[i] = 1 - x[i]
    return out


@pytest.mark.parametrize("function", [xor, branches, arrays, places, copied])
@pytest.mark.parametrize("length", [dpest.ANY, 2, 7, 40])
def test_randomised_response(function, length):
    proof = prove(function, adjacency="replace_one", domain=BITS, length=length)
    assert (proof.bound, proof.status, proof.length) == (1, "exact", length)
    assert "every length" in str(kernel.check(proof.certificate))
    assert not rebuilding.differences(json.loads(json.dumps(proof.certificate)), function)


def wide(x, rng, *, eps=1.0, k=4):
    """k-ary randomised response."""
    out = []
    stay = math.exp(eps) / (math.exp(eps) + k - 1)
    for v in x:
        if rng.random() < stay:
            out.append(v)
        else:
            w = rng.integers(k - 1)
            out.append(w if w < v else w + 1)
    return out


def two_coins(x, rng):
    keep = rng.random(len(x)) < 0.5
    other = rng.integers(0, 2, size=len(x))
    return np.where(keep, np.array(x), other)


def test_other_choices():
    proof = prove(wide, adjacency="replace_one", domain="integers:0,3", length=20)
    assert (proof.bound, proof.status) == (1, "exact")
    assert prove(two_coins, adjacency="replace_one", domain=BITS).exponential == 3


def test_whole_numbers_that_move_by_one():
    """Under l1 of radius 1 one entry moves by one; under linf every entry moves."""

    def steps(x, rng):
        return [int(rng.random() < 0.2 + 0.2 * v) for v in x]

    one = prove(steps, adjacency="l1", domain="integers:0,3", length=9)
    assert one.exponential == 2  # 0.4 against 0.2; 0.8 against 0.2 where an entry is replaced
    assert prove(steps, adjacency="replace_one", domain="integers:0,3").exponential == 4
    assert prove(steps, adjacency="linf", domain="integers:0,3").exponential is None
    assert prove(steps, adjacency="l1:2", domain="integers:0,3").exponential is None


def carries(x, rng):
    last, out = 0, []
    for b in x:
        if rng.random() < 0.5:
            last = b
        out.append(last)
    return out


def one_coin(x, rng):
    c = rng.random() < 0.25
    return [b ^ int(c) for b in x]


def looks_at_all(x, rng):
    m = max(x)
    return [int(rng.random() < 0.25 + 0.5 * m) for b in x]


def looks_at_the_place(x, rng):
    return [int(rng.random() < (0.25 + 0.5 * b if i < 2 else b)) for i, b in enumerate(x)]


def looks_at_the_one_before(x, rng):
    out = []
    for i, b in enumerate(x):
        out.append(int(rng.random() < 0.25 + 0.25 * b + 0.25 * x[i - 1]))
    return out


def looks_at_the_size(x, rng):
    n = len(x)
    return [int(rng.random() < 1 / (n + 2) + 0.25 * b) for b in x]


def entry_as_a_place(x, rng):
    return [int(rng.random() < 0.25 + 0.5 * x[b]) for b in x]


def longer_than_the_data(x, rng):
    out = [0] * len(x)
    for _, b in enumerate(x):
        out.append(b ^ int(rng.random() < 0.25))
    return out


def shuffles(x, rng):
    state = [0, 1]
    out = []
    for b in x:
        out.append(b ^ state[0] ^ int(rng.random() < 0.25))
        rng.shuffle(state)
    return out


def fills(x, rng):
    u = np.ones(1)
    out = []
    for b in x:
        out.append(b ^ int(u[0] < 0.25))
        rng.random(out=u)
    return out


def sees_before_it_is_an_array(x, rng):
    m = max(x)
    x = np.asarray(x)
    return x ^ (rng.random(len(x)) < 0.25 + 0.5 * m)


NOT_ALIKE = [
    carries, one_coin, looks_at_all, looks_at_the_place, looks_at_the_one_before,
    looks_at_the_size, entry_as_a_place, longer_than_the_data, shuffles, fills,
    sees_before_it_is_an_array,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_ALIKE)
def test_entries_that_know_of_each_other(function):
    assert not alike(as_mechanism(function))
    assert not alike(as_mechanism(function), arrays=True)
    proof = prove(function, adjacency="replace_one", domain=BITS, length=dpest.ANY)
    assert proof.bound is None
    assert proof.exponential is None


@pytest.mark.parametrize("function", [xor, branches, wide, two_coins, *NOT_ALIKE])
def test_every_output_of_every_pair(function):
    """What is proved at n = 3 against an enumeration by the exact engine."""
    proof = prove(function, adjacency="replace_one", domain=BITS, length=3)
    worst = 0.0
    for x in itertools.product((0, 1), repeat=3):
        for i in range(3):
            y = [1 - v if j == i else v for j, v in enumerate(x)]
            try:
                worst = max(worst, dpest.exact(function, list(x), y).epsilon)
            except dpest.DpestError:  # rng.shuffle of private data and the like
                pytest.skip("not traced")
    proved = math.inf
    if proof.exponential is not None:
        proved = math.log(proof.exponential)
    elif proof.bound is not None:
        proved = float(proof.bound)
    assert worst <= proved * (1 + 1e-12)
    if function not in NOT_ALIKE:
        assert worst == pytest.approx(proved, rel=1e-9)


def test_certificate_is_about_one_entry():
    certificate = prove(xor, adjacency="replace_one", domain=BITS).certificate
    for change in (
        {"length": 3},
        {"adjacency": {"name": "linf", "radius": "1"}},
        {"adjacency": {"name": "l1", "radius": "2"}},
        {"entries": "all"},
    ):
        with pytest.raises(kernel.Invalid):
            kernel.check({**certificate, **change})
    kernel.check({**certificate, "adjacency": {"name": "l1", "radius": "1"}})
    assert certificate["epsilon"] == str(Fraction(1))


def test_audit():
    verdict = dpest.audit(xor, epsilon=1, adjacency="replace_one", domain=BITS, length=12)
    assert verdict.status == "exact"
    assert verdict.upper.value == 1
    assert verdict.lower.value == pytest.approx(1)
    worse = dpest.audit(xor, epsilon=0.9, adjacency="replace_one", domain=BITS, length=12)
    assert worse.violated
