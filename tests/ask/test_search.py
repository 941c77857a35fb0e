"""The search for the worst pair, on objectives with a known supremum."""

from __future__ import annotations

import math

import pytest

from ask.closed_forms import noisy_max_epsilon, svt_epsilon
from dpest.ask.adjacency import add_remove_one, any_pair, l1, linf, monotone, replace_one
from dpest.ask.domains import finite, integers, reals
from dpest.ask.search import search
from dpest.ask.tables import records
from dpest.errors import InputError, RefusedError
from dpest.zoo.local import bloom_bits

EPS = 0.1


def svt1(x, x2):
    return svt_epsilon(x, x2, threshold=0.5, rho_scale=2 / EPS, nu_scale=4 / EPS)


def svt4(x, x2):
    return svt_epsilon(x, x2, threshold=1, rho_scale=4 / EPS, nu_scale=4 / (3 * EPS))


def svt6(x, x2):
    return svt_epsilon(x, x2, threshold=1, rho_scale=2 / EPS, nu_scale=2 / EPS, cutoff=False)


def noisy_max(x, x2):
    return noisy_max_epsilon(x, x2, scale=2 / EPS)


# In the box: what the published tools missed. On the line: the worst case over all inputs.
@pytest.mark.parametrize(
    ("value", "n", "budget", "in_box", "on_line"),
    [
        (svt1, 10, 80, 0.0993, 0.1),
        (svt4, 10, 80, 0.1749, 0.175),
        (svt6, 10, 24, 0.4666, 0.5),
        (noisy_max, 5, 80, 0.099, 0.1),
    ],
)
def test_reaches_the_worst_pair(value, n, budget, in_box, on_line):
    box = search(value, linf(), reals(n, -10, 10), budget=budget)
    assert in_box <= box.value <= on_line
    assert max(map(abs, box.x + box.x2)) <= 10
    line = search(value, linf(), reals(n), budget=budget)
    assert line.value == pytest.approx(on_line, rel=0.01)
    assert line.value <= on_line * (1 + 1e-9)
    assert value(line.x, line.x2) == line.value


def test_same_seed_same_pairs():
    def recorded(seed):
        seen = []

        def value(x, x2):
            seen.append((x, x2))
            return noisy_max(x, x2)

        search(value, linf(), reals(3), budget=60, seed=seed)
        return seen

    assert recorded(1) == recorded(1)


def test_every_pair_tried_is_a_pair_of_neighbours_within_the_budget():
    for adjacency, domain in [
        (linf(), reals(4)),
        (l1(), integers(3, 0, 10)),
        (monotone(0.5), reals(3, -1, 1)),
        (replace_one(), records(3, 0, 1)),
        (add_remove_one(), records(3, fields={"s": (0, math.inf)})),
        (add_remove_one(1), reals(4)),
        (any_pair(), reals(2, 0, 1)),
    ]:
        seen = []

        def value(x, x2, seen=seen, adjacency=adjacency, domain=domain):
            adjacency.check(x, x2, domain)
            seen.append((repr(x), repr(x2)))
            return 0.0

        found = search(value, adjacency, domain, budget=70, symmetric=False)
        assert len(seen) == found.evaluations <= 70
        assert len(set(seen)) == len(seen)


def test_finite_domains_exhaustively():
    def one_time_rappor(x, x2):
        bits = (bloom_bits(x) != bloom_bits(x2)).sum()
        return bits * math.log(0.525 / 0.475)

    found = search(one_time_rappor, any_pair(), finite(range(-10, 11)), budget=300)
    assert found.exhaustive
    assert found.evaluations == 210
    assert found.value == pytest.approx(0.800668, abs=1e-6)
    small = search(one_time_rappor, any_pair(), finite(range(-10, 11)), budget=50)
    assert not small.exhaustive


def test_integer_domains_exhaustively():
    found = search(lambda x, x2: x[0] * x2[0], l1(), integers(1, 0, 5), budget=50)
    assert (found.exhaustive, found.value) == (True, 20)


def test_stops_at_infinity():
    found = search(
        lambda x, x2: math.inf if x[0] > x2[0] else 0.1,
        linf(),
        reals(2),
        budget=500,
        symmetric=False,
    )
    assert found.value == math.inf
    assert found.evaluations < 10


def test_unclipped_records_are_followed_outwards():
    def mean_loss(x, x2):
        return abs(sum(p["s"] for p in x) - sum(p["s"] for p in x2)) / 10

    domain = records(3, fields={"s": (0, math.inf)}, box=(0, 100))
    found = search(mean_loss, replace_one(), domain, budget=100)
    assert found.value > 1000


def test_values_without_an_answer_are_passed_over():
    def sometimes(x, x2):
        if x[0] > 5 or x2[0] > 5:
            raise RefusedError("no")
        return 0.1

    found = search(sometimes, linf(), reals(2), budget=60)
    assert found.value == 0.1
    assert found.refused > 0
    assert not found.exhaustive

    def never(x, x2):
        raise RefusedError("never")

    with pytest.raises(RefusedError, match="never"):
        search(never, linf(), reals(2), budget=20)
    assert search(lambda x, x2: math.nan if x[0] > 1 else 0.2, linf(), reals(2)).value == 0.2


def test_a_domain_without_neighbours():
    with pytest.raises(InputError, match="no two different"):
        search(lambda x, x2: 0.0, any_pair(), finite([1]))


def test_given_pairs_come_first_and_a_stop_is_obeyed():
    calls = []

    def value(x, x2):
        calls.append(x)
        return 0.0

    search(
        value,
        linf(),
        reals(2),
        starts=[("given", [7.0, 7.0], [8.0, 8.0])],
        stop=lambda: len(calls) >= 3,
    )
    assert calls[0] == [7.0, 7.0]
    assert len(calls) == 3


def test_enough_is_enough():
    found = search(noisy_max, linf(), reals(3), budget=500, enough=0.0999)
    assert found.value >= 0.0999
    assert found.evaluations < 60
    assert not found.exhaustive


def test_an_early_stop_is_never_exhaustive():
    found = search(lambda x, x2: math.inf, any_pair(), finite([0, 1, 2]))
    assert found.value == math.inf
    assert not found.exhaustive  # the campaign would take the maximum for an upper bound


def test_ends_when_there_is_nothing_new():
    found = search(lambda x, x2: 1.0, l1(), integers(1, 0, 200), budget=10**5)
    assert found.value == 1.0
    assert found.evaluations <= 200


def test_neighbours_that_do_not_exist_are_not_looked_for_forever():
    with pytest.raises(InputError, match="no two different"):
        search(lambda x, x2: 1.0, linf(0.5), integers(3, 0, 1000), budget=100)


def test_a_search_that_gains_nothing_ends():
    calls = []

    def flat(x, x2):
        calls.append(1)
        return 1.0 + 1e-6 * len(calls)

    found = search(flat, linf(), reals(6), budget=500, idle=25)
    assert found.evaluations == 26
    assert len(calls) == 26


def test_every_pair_of_a_listed_domain_is_tried_however_idle():
    found = search(lambda x, x2: 1.0, linf(), integers(2, 0, 3), budget=500, idle=3)
    assert found.exhaustive
    assert found.evaluations > 3
