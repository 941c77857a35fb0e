"""Data of any length on the machine: the graphs are those of the functions, or are refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest.ask.domains import ANY
from dpest.proofs import prove
from dpest.proofs.question import asked
from dpest.reading.lengths.reading import read_graph
from dpest.reading.loop_graph import Graph
from dpest.reading.machine.signals import Refused
from reading.random_loops import agrees

F = Fraction


def graph(function, adjacency="linf", length=None, form="list") -> Graph:
    question = asked(function, adjacency, ANY, None, None, None, None)
    return read_graph(question.mechanism, question.variables(), question.world, form, length)


def refusal(function) -> str:
    with pytest.raises(Refused) as caught:
        graph(function)
    return caught.value.reason


# Ways to go through the data


def by_while(x, rng, *, eps=1.0):
    i, rho = 0, rng.laplace(scale=2 / eps)
    while i < len(x):
        if x[i] + rng.laplace(scale=4 / eps) > rho:
            return i
        i += 1
    return None


def by_generator(x, rng, *, eps=1.0):
    def tested():
        rho = rng.laplace(scale=2 / eps)
        for v in x:
            yield v + rng.laplace(scale=4 / eps) > rho

    out = []
    for above in tested():
        out.append(above)
        if above:
            break
    return out


def by_object(x, rng, *, eps=1.0):
    class Threshold:
        def __init__(self):
            self.noisy = rng.laplace(scale=2 / eps)
            self.hits = 0

        def above(self, v):
            found = v + rng.laplace(scale=4 / eps) > self.noisy
            self.hits += bool(found)
            return found

    threshold, out = Threshold(), []
    for v in x:
        out.append(threshold.above(v))
        if threshold.hits == 1:
            break
    return out


def by_zip(x, rng, *, eps=1.0, thresholds=(0.0, 1.0, 2.0, 3.0, 4.0, 5.0)):
    rho, out = rng.laplace(scale=2 / eps), []
    for v, threshold in zip(x, thresholds):  # noqa: B905
        out.append(v + rng.laplace(scale=4 / eps) > threshold + rho)
        if out_is_true(out):
            break
    return out


def out_is_true(out):
    return out[-1]


def by_any(x, rng, *, eps=1.0):
    rho = rng.laplace(scale=2 / eps)
    return any(v + rng.laplace(scale=4 / eps) > rho for v in x)


@pytest.mark.parametrize("function", [by_while, by_generator, by_object, by_any])
def test_sparse_vector_however_it_is_written(function):
    proof = prove(function, adjacency="linf")
    status = "upper bound" if function is by_any else "exact"  # which of them is not released
    assert (proof.length, proof.status, proof.epsilon) == (ANY, status, 1)


def argmax_of_list(x, rng, *, eps=1.0):
    noisy = [v + rng.laplace(scale=2 / eps) for v in x]
    return noisy.index(max(noisy))


def argmax_by_appending(x, rng, *, eps=1.0):
    noisy = []
    for v in x:
        noisy.append(v + rng.laplace(scale=2 / eps))
    return int(np.argmax(noisy))


def argmax_by_loop(x, rng, *, eps=1.0):
    best, place = -math.inf, 0
    for i, v in enumerate(x):
        noisy = v + rng.laplace(scale=2 / eps)
        if noisy > best:
            best, place = noisy, i
    return place


def gap(x, rng, *, eps=1.0):
    noisy = np.sort(np.asarray(x) + rng.laplace(scale=2 / eps, size=len(x)))
    return noisy[-1] - noisy[-2]


@pytest.mark.parametrize("function", [argmax_of_list, argmax_by_appending, argmax_by_loop, gap])
def test_noisy_maximum_however_it_is_written(function):
    proof = prove(function, adjacency="linf")
    assert (proof.method, proof.epsilon) == ("selection", 1)


def weighted(x, rng, *, eps=1.0, weights=(1, 2, 3)):
    total = 0.0
    for v, w in zip(x, weights):  # noqa: B905
        total += w * v
    return total + rng.laplace(scale=3 / eps)


def in_pairs(x, rng, *, eps=1.0):
    it, out = iter(x), []
    for a in it:
        out.append(a + next(it, 0.0) + rng.laplace(scale=1 / eps))
    return out


def every_third(x, rng, *, eps=1.0):
    total = 0.0
    for i, v in enumerate(x, 1):
        if i % 3 == 0:
            total += 2 * v
    return total + rng.laplace(scale=2 / eps)


def first_two(x, rng, *, eps=1.0):
    total = 0.0
    for i in range(len(x)):
        if i < 2:
            total += x[i]
    return total + rng.laplace(scale=1 / eps)


def clipped(x, rng, *, eps=1.0):
    return sum(min(max(v, 0.0), 1.0) for v in x) + rng.laplace(scale=1 / eps)


def generated(x, rng, *, eps=1.0):
    yield from (v + rng.laplace(scale=1 / eps) for v in x)


def into_an_array(x, rng, *, eps=1.0):
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        out[i] += v
        out[i] += rng.laplace(scale=1 / eps)
    return out


def into_a_list(x, rng, *, eps=1.0):
    out = [0.0] * len(x)
    for i in range(len(x)):
        out[i] = x[i] + rng.laplace(scale=1 / eps)
    return out


SUMS = [weighted, in_pairs, every_third, first_two, generated, into_an_array, into_a_list]


@pytest.mark.parametrize("function", SUMS)
def test_sums_under_l1(function):
    proof = prove(function, adjacency="l1")
    assert (proof.length, proof.status, proof.epsilon) == (ANY, "exact", 1)


def test_clipped_data_are_data_of_their_own():
    proof = prove(clipped, adjacency="replace_one")
    assert (proof.length, proof.epsilon) == (ANY, 1)


def test_a_graph_at_one_length_is_the_loop_unrolled():
    found = graph(by_while, length=4)
    assert sum(e.reads for e in found.edges) == 8  # a hit or none, at each of four
    assert not any(e.reads and e.source == e.target for e in found.edges)


# Counters and kept numbers


def counts_without_looking(x, rng, *, eps=1.0):
    hits, out = 0, []
    rho = rng.laplace(scale=2 / eps)
    for v in x:
        if v + rng.laplace(scale=4 / eps) > rho:
            hits += 1
        out.append(True)
    return out


def stops_at_thirty(x, rng, *, eps=1.0):
    hits, out = 0, []
    for v in x:
        if v + rng.laplace(scale=4 / eps) > 0:
            hits += 1
        out.append(hits == 30)
        if hits == 30:
            break
    return out


def releases_a_count(x, rng, *, eps=1.0):
    hits = 0
    for v in x:
        if v + rng.laplace(scale=4 / eps) > 0:
            hits += 1
    return hits


def test_a_counter_without_a_bound_is_one_node():
    assert len(graph(counts_without_looking).nodes) <= 3


def test_a_counter_with_a_bound_is_followed_to_it():
    assert len(graph(stops_at_thirty).nodes) == 31


def test_a_count_that_grows_is_not_released():
    assert "count without a bound" in refusal(releases_a_count)


# What is refused


def two_passes(x, rng, *, eps=1.0):
    total = sum(x)
    return [v - total + rng.laplace(scale=1 / eps) for v in x]


def inside_itself(x, rng, *, eps=1.0):
    return [v + w for v in x for w in x]


def iterator_used_up(x, rng, *, eps=1.0):
    it = iter(x)
    noisy = [v + rng.laplace(scale=1 / eps) for v in it]
    return noisy.index(max(noisy)), list(it)


def branch_on_data(x, rng, *, eps=1.0):
    total = 0.0
    for v in x:
        if v > 3:
            total += v
    return total + rng.laplace(scale=1 / eps)


def entry_beside(x, rng, *, eps=1.0):
    return [x[i - 1] + rng.laplace(scale=1 / eps) for i in range(len(x))]


def list_inside_of_a_list(x, rng, *, eps=1.0):
    row, rows = [], []
    for v in x:
        row.append(v + rng.laplace(scale=1 / eps))
        rows.append(row)
    return rows


def array_in_place(x, rng, *, eps=1.0):
    a = np.asarray(x)
    b = a
    b += rng.laplace(scale=1 / eps, size=len(x))
    return a


def each_and_one(x, rng, *, eps=1.0):
    a = np.asarray(x)
    for v in x:
        return a - v + rng.laplace(scale=1 / eps)


def array_left_early(x, rng, *, eps=1.0):
    out = [None] * len(x)
    for i, v in enumerate(x):
        if v + rng.laplace(scale=1 / eps) > 0:
            out[i] = True
            break
    return out


def array_that_is_copied(x, rng, *, eps=1.0):
    out = np.zeros(len(x))
    other = out
    for i, v in enumerate(x):
        other = out.copy()
        out[i] = v + rng.laplace(scale=1 / eps)
    return other


def length_looked_at(x, rng, *, eps=1.0):
    return sum(x) / len(x) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize(
    "function",
    [
        two_passes,
        inside_itself,
        iterator_used_up,
        branch_on_data,
        entry_beside,
        list_inside_of_a_list,
        array_in_place,
        each_and_one,
        array_left_early,
        array_that_is_copied,
        length_looked_at,
    ],
)
def test_what_has_no_rule_is_refused(function):
    assert refusal(function)


def type_matters(x, rng, *, eps=1.0):
    return [(v if isinstance(v, float) else 0) + rng.laplace(scale=1 / eps) for v in x]


def test_types_that_matter_are_left_to_nobody():
    with pytest.raises(Refused) as caught:
        graph(type_matters)
    assert caught.value.final
    assert prove(type_matters, adjacency="l1", fallback_length=0).bound is None


calls = []


def keeps_state(x, rng, *, eps=1.0):
    calls.append(1)
    return [v + rng.laplace(scale=1 / eps) for v in x]


def test_a_function_that_keeps_state_is_refused():
    with pytest.raises(Refused) as caught:
        graph(keeps_state)
    assert caught.value.final


def test_replay_compares_the_parameters_of_draws():
    """A model with another scale draws as often and releases the same, and is none."""
    from dpest.errors import ReplayError
    from dpest.noise import Laplace
    from dpest.proofs import conformance

    question = asked(generated, "l1", ANY, None, None, None, None)
    found = read_graph(question.mechanism, question.variables(), question.world)
    arguments = {"integers": False, "where": None}
    conformance.check_graph(question.run, found, **arguments)
    for symbol, noise in found.noises.items():
        found.noises[symbol] = Laplace(2 * noise.scale)
    with pytest.raises(ReplayError):
        conformance.check_graph(question.run, found, **arguments)


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_random_programs_are_what_their_graphs_say(first):
    read = sum(agrees(seed) for seed in range(first, first + 30))
    assert read >= 20


def test_the_zoo_is_read_by_the_machine():
    """Mechanisms that pass over their data once, by name: the machine reads them all."""
    names = [
        *("NoisyHist1", "PrefixSum", "ReportNoisyMax1", "SVT1", "SVT2", "SVT3", "SVT5", "SVT6"),
        *("NumericalSVT", "AT", "AT5", "ExpMech", "StatDP_SVT", "AdaptiveSVT_wrong", "SmartSum"),
        *("PartialSum", "PrefixSum_L1", "GumbelMax", "NoisyMaxGap", "GapSVT", "MonotoneSVT"),
    ]
    for name in names:
        question = asked(dpest.zoo.get(name), None, ANY, None, None, None, None)
        read_graph(question.mechanism, question.variables(), question.world, question.form)


def _looks_at_its_list(x, rng, *, eps=1.0):
    out = []
    for q in x:
        late = len(out) > 6
        out.append(q if late else q + rng.laplace(scale=1 / eps))
    return out


def _first_alone_has_noise(x, rng, *, eps=1.0):
    out = []
    for q in x:
        out.append(q + rng.laplace(scale=1 / eps) * (len(out) == 0))
    return out.index(max(out))


def _looks_by_another_name(x, rng, *, eps=1.0):
    out = []
    same = out
    for q in x:
        out.append(q + (rng.laplace(scale=2 / eps) if len(same) < 9 else 0))
    return out.index(max(out))


@pytest.mark.parametrize(
    "function", [_looks_at_its_list, _first_alone_has_noise, _looks_by_another_name]
)
def test_a_list_that_its_own_loop_looks_at_is_no_vector(function):
    proof = prove(function, adjacency=dpest.l1(1), length=dpest.ANY, fallback_length=0)
    assert proof.bound is None


def gets_longer(x, rng, *, eps=1.0):
    out = [0.0] * len(x)
    for v in x:
        out.append(v + rng.laplace(scale=1 / eps))
    return out


def test_a_list_with_a_place_for_each_element_that_gets_longer_is_refused():
    with pytest.raises(Refused):
        graph(gets_longer)
