"""Loop graphs for data of any length."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.errors import RefusedError
from dpest.reading.domains.unit import Unit
from dpest.reading.loop_graph import END
from dpest.reading.loops.loops import graph
from dpest.reading.world import World


def svt(x, rng, *, eps, cutoff):
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for value in x:
        if value + rng.laplace(scale=4 / eps) >= rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def every_third(x, rng, *, eps):
    answers = []
    for i, value in enumerate(x):
        if (i + 1) % 3 == 0:
            answers.append(value + rng.laplace(scale=1 / eps))
    return answers


def first_is_special(x, rng, *, eps):
    answers = []
    for i in range(len(x)):
        scale = 2 / eps if i == 0 else 1 / eps
        answers.append(x[i] + rng.laplace(scale=scale))
    return answers


def filled_array(x, rng, *, eps):
    out = np.zeros(len(x))
    for i, value in enumerate(x):
        out[i] = value + rng.laplace(scale=1 / eps)
    return out


def reads_its_list(x, rng, *, eps):
    answers = []
    for value in x:
        noisy = value + rng.laplace(scale=1 / eps)
        if not answers or noisy > answers[-1]:
            answers.append(noisy)
    return answers


def twice(x, rng, *, eps):
    total = 0
    for value in x:
        total += value
    for value in x:
        total += value
    return total + rng.laplace(scale=1 / eps)


def make(function, **params):
    return graph(function, "x", {"eps": Unit(), **params}, lambda: World(private=True))


def test_states_are_the_hits_and_the_slot_is_the_threshold():
    for cutoff in (1, 2, 5):
        found = make(svt, cutoff=cutoff)
        with_slot = [n for n in found.nodes if n.slots]
        assert len(with_slot) == cutoff
        assert found.faithful
        assert any(e.target == END for e in found.edges)


def test_positions_are_followed_modulo_and_exactly():
    assert sum(bool(e.forms) for e in make(every_third).edges if e.reads) == 1
    special = make(first_is_special)
    scales = {repr(noise) for noise in special.noises.values()}
    assert len(scales) == 2


def test_an_array_that_is_only_filled_is_released():
    found = make(filled_array)
    assert [len(e.forms) for e in found.edges if e.reads] == [1]


def test_what_is_read_again_is_refused():
    with pytest.raises(RefusedError, match=r"[gG]ive a length"):
        make(reads_its_list)


def test_a_second_pass_is_refused_where_it_stands():
    with pytest.raises(RefusedError, match=r"test_loops\.py:\d+: .*second pass"):
        make(twice)
