"""The sensitivity of queries that branch on their data: found, proved, and never too small."""

from __future__ import annotations

import copy
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import ANY, kernel
from dpest.notions.claims import ZCDP
from dpest.proofs import prove
from dpest.proofs.certificates import sealed
from dpest.proofs.rebuilding import differences
from proofs import query_mechanisms as m

REPLACE, ADD = "replace_one", "add_remove_one"
DOMAIN = dpest.integers(ANY, 0, 3)
HALF = Fraction(1, 2)

# What is proved on whole numbers from 0 to 3: under replace_one, under add_remove_one.
RIGHT = {
    **dict.fromkeys(
        [
            m.bincount,
            m.bincount_of_clipped,
            m.counter,
            m.counter_of_module,
            m.histogram,
            m.histogram_edges,
            m.counts_in_a_list,
            m.counts_in_an_array,
            m.counts_in_a_dict,
            m.counts_in_a_defaultdict,
            m.counts_in_a_counter,
            m.counts_by_place,
            m.loop_with_elif,
            m.two_loops,
            m.for_each_value,
            m.noisy_mode,
            m.geometric_histogram,
        ],
        (1, HALF),
    ),
    **dict.fromkeys(
        [
            m.list_count,
            m.length_of_a_list,
            m.appended,
            m.sum_of_ones,
            m.sum_of_truths,
            m.nonzero,
            m.masked,
            m.where,
            m.loop_with_if,
            m.one_of,
            m.parity,
            m.squares,
            m.lookup,
            m.filtered_sum,
            m.count_if_enough,
        ],
        (1, 1),
    ),
    **dict.fromkeys(
        [
            m.clipped_mean,
            m.mean_by_hand,
            m.maximum,
            m.spread,
            m.median,
            m.median_of_statistics,
            m.middle,
        ],
        (1, None),
    ),
}
# The same on any real numbers (None: on [0, 3]), where no values can be listed.
REAL = {
    m.list_count: None,
    m.counter: None,
    m.histogram: None,
    m.histogram_edges: None,
    m.length_of_a_list: None,
    m.appended: None,
    m.masked: None,
    m.where: None,
    m.loop_with_if: None,
    m.loop_with_elif: None,
    m.two_loops: None,
    m.one_of: None,
    m.filtered_sum: None,
    m.for_each_value: None,
    m.clipped_mean: None,
    m.mean_by_hand: None,
    m.maximum: dpest.reals(ANY, 0, 3),
    m.spread: dpest.reals(ANY, 0, 3),
    m.median: dpest.reals(ANY, 0, 3),
    m.middle: dpest.reals(ANY, 0, 3),
}


def neighbours(adjacency, source):
    x = [source.randint(0, 3) for _ in range(source.randint(1, 3))]
    x2 = list(x)
    if adjacency == REPLACE:
        x2[source.randrange(len(x))] = source.randint(0, 3)
    else:
        x2.insert(source.randrange(len(x) + 1), source.randint(0, 3))
    return x, x2


def at_most(function, adjacency, bound, pairs):
    source = random.Random(8)
    for _ in range(pairs):
        x, x2 = neighbours(adjacency, source)
        loss = dpest.exact(function, x, x2, adjacency=adjacency, params={"eps": 1.0})
        assert loss.epsilon <= float(bound) * (1 + 1e-9)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_a_query_needs_no_number_from_the_user(function, adjacency):
    """And the exact ε of neighbours is never above; where it is `exact`, a pair attains it."""
    expected = RIGHT[function][adjacency == ADD]
    proof = prove(function, adjacency=adjacency, domain=DOMAIN, claim=dpest.PureDP("eps"))
    assert proof.epsilon == expected
    if expected is None:
        assert proof.status == "unknown"
        return
    assert (proof.length, proof.proved) == (ANY, True)
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    at_most(function, adjacency, proof.epsilon, 3)
    if proof.status == "exact":
        x, x2 = proof.lower.ray.pair(1)
        loss = dpest.exact(function, x, x2, adjacency=adjacency, params={"eps": 1.0})
        assert math.isclose(loss.epsilon, float(proof.epsilon))


@pytest.mark.parametrize("function", REAL, ids=lambda f: f.__name__)
def test_a_query_of_real_numbers(function):
    proof = prove(function, adjacency=REPLACE, domain=REAL[function])
    assert (proof.length, proof.epsilon) == (ANY, 1)
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []


# Wrong at eps: neighbours on which they lose more, on whole numbers from 0 to 3.
WRONG = {
    (m.bincount_half, REPLACE): ([0], [1]),
    (m.bincount_too_short, REPLACE): ([0], [3]),
    (m.bincount_too_short, ADD): ([0], [0, 3]),
    (m.bincount_bare_length, REPLACE): ([0], [3]),
    (m.weighted_count, REPLACE): ([0], [3]),
    (m.weighted_count, ADD): ([0], [0, 3]),
    (m.count_both_ways, REPLACE): ([0], [3]),
    (m.overlapping_bins, ADD): ([1], [1, 1]),
    (m.overlapping_bins, REPLACE): ([0], [3]),
    (m.overlapping_three, REPLACE): ([0], [3]),
    (m.overlapping_three, ADD): ([0], [0, 3]),
    (m.nested_ranges, ADD): ([0], [0, 3]),
    (m.unclipped_sum, REPLACE): ([0], [3]),
    (m.clipped_too_wide, REPLACE): ([0], [3]),
    (m.clipped_too_wide, ADD): ([0], [0, 3]),
    (m.clipped_from_below, ADD): ([0], [0, 3]),
    (m.clipped_both_signs, REPLACE): ([0], [3]),
    (m.squares_too_small, REPLACE): ([0], [3]),
    (m.lookup_too_small, ADD): ([0], [0, 1]),
    (m.modulus_three, REPLACE): ([0], [2]),
    (m.mean_noise_too_small, REPLACE): ([0], [3]),
    (m.mean_noise_too_small, ADD): ([0], [0, 3]),
    (m.mean_by_square, REPLACE): ([0, 0], [0, 3]),
    (m.mean_of_kept, REPLACE): ([0], [3]),
    (m.scale_of_kept, REPLACE): ([0], [3]),
    (m.maximum_too_small, REPLACE): ([0], [3]),
    (m.maximum_too_small, ADD): ([0], [0, 3]),
    (m.maximum_twice, REPLACE): ([0], [3]),
    (m.maximum_and_sum, REPLACE): ([0], [3]),
    (m.sum_of_extremes, REPLACE): ([0], [3]),
    (m.median_doubled, REPLACE): ([0], [3]),
    (m.median_of_kept, REPLACE): ([1], [3]),
    (m.bare_count, REPLACE): ([0], [3]),
    (m.bare_maximum, REPLACE): ([0], [3]),
    (m.bare_decision, REPLACE): ([3, 0], [3, 3]),
    (m.bare_keys, REPLACE): ([0], [3]),
    (m.bare_keys, ADD): ([0], [0, 3]),
    (m.keys_of_a_loop, ADD): ([0], [0, 3]),
    (m.distinct, REPLACE): ([0, 0], [0, 3]),
    (m.shared_noise, REPLACE): ([0], [3]),
    (m.noise_used_twice, REPLACE): ([0], [2]),
    (m.noise_on_one_bin, REPLACE): ([0], [3]),
    (m.early_exit, REPLACE): ([0, 1, 1, 1], [1, 1, 1, 1]),
    (m.first_record, REPLACE): ([0], [3]),
    (m.running_product, REPLACE): ([0, 3, 3], [3, 3, 3]),
    (m.last_record, REPLACE): ([0], [3]),
    (m.late_threshold, REPLACE): ([0], [3]),
    (m.late_threshold, ADD): ([0], [0, 3]),
    (m.changed_threshold, REPLACE): ([0], [3]),
    (m.noisy_mode_half, REPLACE): ([0, 0, 0], [0, 0, 3]),
    (m.half_weights, ADD): ([0], [0, 3]),
    (m.rare_branch, REPLACE): None,  # a chance of e^-60
}


@pytest.mark.parametrize(("function", "adjacency"), WRONG, ids=lambda v: getattr(v, "__name__", v))
def test_no_wrong_query_is_proved_at_its_claim(function, adjacency):
    pair = WRONG[function, adjacency]
    proof = prove(function, adjacency=adjacency, domain=DOMAIN, claim=dpest.PureDP("eps"))
    assert not proof.proved
    assert proof.epsilon is None or proof.epsilon > 1
    if pair is not None:
        loss = dpest.exact(function, *pair, adjacency=adjacency, params={"eps": 1.0}).epsilon
        assert loss > 1
        assert proof.epsilon is None or loss <= float(proof.epsilon) * (1 + 1e-9)


def many_bins(x, rng, *, eps=1.0, k=60):
    return np.bincount(x, minlength=k) + rng.laplace(scale=2 / eps, size=k)


def test_a_histogram_of_many_bins_is_proved_by_a_removal_and_an_addition():
    """Sixty values make 3,540 differences; removing one and adding another takes 120."""
    proof = prove(many_bins, adjacency=REPLACE, domain=dpest.integers(ANY, 0, 59))
    assert proof.epsilon == 1
    assert proof.certificate["steps"] == 2
    forged = copy.deepcopy(dict(proof.certificate))
    forged["epsilon"] = "1/2"  # as if one step were all
    with pytest.raises(kernel.Invalid, match="start"):
        kernel.check(sealed(forged))


def gaussian_histogram(x, rng, *, rho=0.5, k=4):
    return np.bincount(x, minlength=k) + rng.normal(scale=np.sqrt(1 / rho), size=k)


def test_gaussian_noise_on_a_histogram():
    """A replacement moves two counts by 1 each: ρ = 2/(2σ²) with σ² = 1/ρ."""
    proof = prove(gaussian_histogram, adjacency=REPLACE, domain=DOMAIN, claim=ZCDP("rho"))
    assert (proof.length, proof.rho, proof.proved) == (ANY, 1, True)
    proof = prove(gaussian_histogram, adjacency=ADD, domain=DOMAIN, claim=ZCDP("rho"))
    assert proof.rho == HALF


def people_over(people, rng, *, eps=1.0):
    old = rich = 0
    for p in people:
        if p["age"] > 65:
            old += 1
            if p["pay"] > 10:
                rich += 1
    return old + rng.laplace(scale=2 / eps), rich + rng.laplace(scale=2 / eps)


def test_records_with_fields_case_by_case():
    domain = dpest.records(ANY, fields={"age": (0, 120), "pay": (0, math.inf)})
    for adjacency in (REPLACE, ADD):
        proof = prove(people_over, adjacency=adjacency, domain=domain)
        assert (proof.length, proof.epsilon) == (ANY, 1)
        assert differences(json.loads(json.dumps(proof.certificate)), people_over) == []


@pytest.mark.parametrize(
    ("function", "adjacency", "domain", "words"),
    [
        (m.bincount, REPLACE, None, "domain=dpest.integers(dpest.ANY, 0, 3)"),
        (m.bincount, ADD, None, "domain=dpest.integers(dpest.ANY, 0, 3)"),
        (m.counts_in_a_list, REPLACE, None, "domain=dpest.integers(dpest.ANY, low, high)"),
        (m.parity, REPLACE, None, "domain=dpest.integers(dpest.ANY, low, high)"),
        (m.maximum, REPLACE, None, "bound the domain"),
        (m.maximum, ADD, DOMAIN, "come and go"),
        (m.clipped_mean, ADD, DOMAIN, "noisy count"),
        (m.bare_keys, REPLACE, DOMAIN, "which values occur"),
        (m.early_exit, REPLACE, DOMAIN, "ends early"),
        (m.first_record, REPLACE, DOMAIN, "records before it"),
        (m.bare_count, REPLACE, DOMAIN, "no noise of its own"),
    ],
)
def test_a_refusal_says_what_to_write(function, adjacency, domain, words):
    proof = prove(function, adjacency=adjacency, domain=domain)
    assert (proof.status, proof.certificate) == ("unknown", None)
    assert words in proof.reason


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_cases_can_not_be_forged(adjacency):
    """A case that is left out, moved or made smaller is refused, or is another program."""
    domain = dpest.reals(ANY, 0, 3)
    whole = json.loads(
        json.dumps(prove(m.filtered_sum, adjacency=adjacency, domain=domain).certificate)
    )
    assert whole["cases"]
    for place in range(len(whole["cases"])):
        forged = copy.deepcopy(whole)
        forged["cases"].pop(place)
        with pytest.raises(kernel.Invalid):
            kernel.check(sealed(forged))
        forged = copy.deepcopy(whole)
        if "value" in forged["cases"][place]:
            forged["cases"][place].pop("value")
            forged["cases"][place]["empty"] = {"0": "1"}
            with pytest.raises(kernel.Invalid):
                kernel.check(sealed(forged))
    for key, value in (("steps", 0), ("steps", 2), ("range", [["0", "inf"]])):
        forged = copy.deepcopy(whole)
        (forged["domain"] if key == "range" else forged)[key] = value
        if key == "range" and all(
            "q" not in v[1] for c in whole["cases"] for v in c.get("value", {}).values()
        ):
            continue
        accepted = True
        try:
            kernel.check(sealed(forged))
        except kernel.Invalid:
            accepted = False
        assert not accepted or differences(forged, m.filtered_sum)


def test_the_explanation_names_cases_moves_and_shifts():
    text = prove(m.bincount, adjacency=REPLACE, domain=DOMAIN).explain()
    assert "if it = 2: 1 to sum2" in text
    assert "where the data move sum0 by -1, sum1 by 1: noise 1 by 1, noise 2 by -1" in text
    text = prove(m.spread, adjacency=REPLACE, domain=DOMAIN).explain()
    assert "no sum but the maximum" in text
    text = prove(m.clipped_mean, adjacency=REPLACE).explain()
    assert "times the number of records" in text
    text = prove(many_bins, adjacency=REPLACE, domain=dpest.integers(ANY, 0, 59)).explain()
    assert "a removal, then an addition" in text
    assert "[Trans]" in text
