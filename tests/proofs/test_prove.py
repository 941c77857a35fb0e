"""Proofs: minimal bounds, refutations and refusals, for mechanisms written in many ways."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import ANY, zoo
from dpest.errors import InputError
from dpest.proofs import prove
from proofs import proof_mechanisms as m

F = Fraction


@pytest.mark.parametrize(
    ("function", "adjacency", "params", "expected"),
    [
        (m.svt, "linf", {"cutoff": 1}, F(1)),
        (m.svt, "linf", {"cutoff": 3}, F(1)),
        (m.svt, "linf:2", {"cutoff": 1}, F(2)),
        (m.svt_yielding, "linf", {"cutoff": 2}, F(1)),
        (m.noisy_max, "linf", {}, F(1)),
        (m.noisy_max_loop, "linf", {}, F(1)),
        (m.noisy_max_range, "linf", {}, F(1)),
        (m.noisy_max, "l1", {}, F(1, 2)),
        (m.noisy_max_with_gap, "linf", {}, F(1)),
        (m.counting_max, "monotone", {}, F(1)),
        (m.counting_max, "linf", {}, F(2)),
        (m.prefix_sums, "l1", {}, F(1)),
    ],
)
def test_every_length_exactly(function, adjacency, params, expected):
    proof = prove(function, adjacency=adjacency, params=params)
    assert proof.length is ANY
    assert (proof.status, proof.epsilon) == ("exact", expected)
    assert proof.certificate is not None


@pytest.mark.parametrize(
    ("function", "adjacency", "expected"),
    [
        (m.clipped_sum, "replace_one", F(1)),
        (m.clipped_sum_loop, "replace_one", F(1)),
        (m.clipped_sum, "l1:2", F(2, 5)),
        (m.count_above, "replace_one", F(1)),
    ],
)
def test_sensitivity_of_data_queries_at_every_length(function, adjacency, expected):
    proof = prove(function, adjacency=adjacency)
    assert proof.length is ANY
    status = "exact" if adjacency == "replace_one" else "upper bound"
    assert (proof.status, proof.epsilon) == (status, expected)


def test_a_clipped_mean_at_a_length():
    proof = prove(m.clipped_mean, adjacency="replace_one", length=4)
    assert proof.epsilon == 1


@pytest.mark.parametrize(
    ("function", "adjacency", "length", "params", "expected"),
    [
        (m.laplace, "l1", 1, {}, F(1)),
        (m.svt, "linf", 5, {"cutoff": 2}, F(5, 8)),
        (m.svt, "linf", 8, {"cutoff": 1}, F(1)),
        (m.noisy_max_comprehension, "linf", 4, {}, F(1)),
        (m.noisy_max_value, "linf", 4, {}, F(2)),
        (m.noisy_max_with_gap, "linf", 3, {}, F(1)),
        (m.svt_without_cutoff, "linf", 4, {}, F(2)),
        (m.prefix_sums, "linf", 6, {}, F(6)),
        (m.counting_max, "monotone", 5, {}, F(1)),
    ],
)
def test_one_length_exactly(function, adjacency, length, params, expected):
    proof = prove(function, adjacency=adjacency, length=length, params=params)
    assert (proof.status, proof.epsilon) == ("exact", expected)
    assert proof.lower is not None
    assert len(proof.ray.direction) == length


def test_hard_coded_scales_give_an_absolute_number():
    proof = prove(m.hard_coded, adjacency="l1", length=1)
    assert proof.unit is None
    assert (proof.status, proof.epsilon) == ("exact", F(1, 4))
    (evidence,) = proof.evidence()
    assert evidence.value == 0.25
    assert evidence.standing.name == "proved"


def test_evidence_is_rounded_up():
    proof = prove(m.laplace, adjacency="l1", length=1)
    (evidence,) = proof.evidence(0.1)
    assert evidence.value >= 0.1
    assert evidence.value == pytest.approx(0.1, rel=1e-15)


RIGHT = ["SVT1", "SVT2", "NumericalSVT", "GapSVT", "NumSVT", "AdaptiveSVT", "MonotoneSVT"]
RIGHT += ["SmartSum", "PartialSum", "PrefixSum_L1", "ReportNoisyMax1", "ReportNoisyMax2"]
RIGHT += ["GumbelMax", "NoisyMaxGap", "NoisyHist1"]


@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_proved_at_their_claim_for_every_length(name):
    proof = prove(zoo.get(name))
    assert proof.length is ANY
    assert proof.proved
    assert proof.status in ("exact", "upper bound")


WRONG = ["SVT3", "SVT4", "SVT5", "SVT6", "GapSVT_wrong", "AdaptiveSVT_wrong", "SmartSum_wrong"]
WRONG += ["PartialSum_wrong", "PrefixSum", "NoisyHist2", "ReportNoisyMax3", "ReportNoisyMax4"]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_mechanisms_are_refuted(name):
    proof = prove(zoo.get(name))
    assert proof.status == "refuted"
    assert not proof.proved
    assert proof.lower is not None
    assert proof.lower.value > proof.claimed


def test_an_infinite_loss_is_infinite_on_the_ray():
    proof = prove(zoo.get("SVT5"), length=3)
    assert proof.epsilon is None
    assert math.isinf(proof.lower.value)


def test_gaussian_noise_is_proved_for_zcdp_only():
    proof = prove(m.gaussian_sum, adjacency="l1", length=3, claim=dpest.ZCDP("rho"))
    assert (proof.status, proof.rho, proof.measure.kind) == ("exact", 1, "zcdp")
    assert proof.epsilon is None
    pure = prove(m.gaussian_sum, adjacency="l1", length=3, claim=dpest.PureDP(1))
    assert pure.status == "unknown"
    assert "no pure ε" in pure.reason


def test_gaussian_noisy_max_is_not_proved_by_its_worst_region():
    """Raising 16 of 3000 entries and lowering the rest gives more than 2·α/σ² at α = 2."""
    for length in (2, 3, 6):
        proof = prove(m.gaussian_max, adjacency="linf", length=length, claim="zcdp:1")
        # What all entries together cost, as if all were released: it grows with the length.
        assert proof.rho >= length / 2


@pytest.mark.parametrize(
    ("function", "length", "words"),
    [
        (m.squared, 2, ["product", "linear"]),
        (m.private_scale, 1, ["scale"]),
        (m.private_branch, 1, ["branch on private data alone", "np.clip"]),
        (m.two_passes, ANY, ["second pass", "give a length"]),
    ],
)
def test_refusals_say_what_where_and_what_to_do(function, length, words):
    proof = prove(function, adjacency="linf", length=length)
    assert proof.status == "unknown"
    assert proof.certificate is None
    assert proof.evidence(0.1) == []
    for word in words:
        assert word in proof.reason
    assert "proof_mechanisms.py:" in proof.reason


def test_two_passes_are_proved_at_a_length():
    proof = prove(m.two_passes, adjacency="l1", length=3)
    assert proof.epsilon == 3


def test_hidden_state_is_noticed_before_a_proof_is_issued():
    proof = prove(m.counting_its_calls, adjacency="l1", length=1)
    assert proof.status == "unknown"
    assert proof.certificate is None


def test_a_function_without_rng_and_bad_arguments_are_told_apart():
    with pytest.raises(dpest.DpestError, match="rng"):
        prove(lambda x: x[0], adjacency="l1")
    with pytest.raises(InputError, match="adjacency"):
        prove(m.laplace)
    with pytest.raises(InputError, match="length"):
        prove(m.laplace, adjacency="l1", length=0)
    with pytest.raises(InputError, match="unit"):
        prove(m.laplace, adjacency="l1", unit="gamma")


def test_explanations_name_the_shift_its_cost_and_the_rule():
    text = prove(m.svt, adjacency="linf").explain()
    assert "rho' = rho + 1" in text
    assert "[Lap]" in text
    assert "cost 1/2·eps" in text
    text = prove(m.noisy_max, adjacency="linf", length=3).explain()
    assert "[PwEq]" in text
    assert "λ → ∞" in text


def test_a_bit_about_noisy_state_is_not_taken_for_data():
    """Each answer shows rho, which moves with all data so far: there is no bound for every n."""
    proof = prove(m.counts_its_threshold, adjacency="linf")
    assert proof.epsilon is None
    fixed = prove(m.counts_its_threshold, adjacency="linf", length=2)
    x, x2 = [2.0, 2.0], [3.0, 3.0]
    if fixed.epsilon is not None:
        assert dpest.exact(m.counts_its_threshold, x, x2).epsilon <= float(fixed.epsilon) + 1e-9


def test_exceptions_of_the_function_are_no_crash():
    """It raises on a noisy number, with a text of its own: that is a post-processing."""
    proof = prove(m.raises_sometimes, adjacency="linf", length=1)
    assert (proof.method, proof.bound) == ("contributions", 1)


def test_an_equality_with_noise_is_a_function_of_it():
    proof = prove(m.equality, adjacency="linf", length=1)
    assert (proof.method, float(proof.bound)) == ("contributions", pytest.approx(0.1))


def without_defaults(x, rng, *, eps, factor):
    return factor * x[0] + rng.laplace(scale=1 / eps)


def test_only_the_unit_needs_no_value():
    proof = prove(without_defaults, adjacency="l1", length=1, params={"factor": 2})
    assert (proof.status, proof.epsilon) == ("exact", 2)
    with pytest.raises(InputError, match="factor"):
        prove(without_defaults, adjacency="l1", length=1)


class Box:
    def __init__(self, threshold):
        self.threshold = threshold


def svt_with_an_object(q, rng, *, eps=1.0):
    box = Box(rng.laplace(scale=2 / eps))
    out = []
    for v in q:
        if v + rng.laplace(scale=4 / eps) >= box.threshold:
            out.append(True)
            break
        out.append(False)
    return out


def svt_with_a_dict(q, rng, *, eps=1.0):
    state = {"threshold": rng.laplace(scale=2 / eps), "hits": 0}
    out = []
    for v in q:
        if v + rng.laplace(scale=4 / eps) >= state["threshold"]:
            out.append(True)
            state["hits"] += 1
            if state["hits"] == 1:
                break
        else:
            out.append(False)
    return out


def svt_with_an_array(q, rng, *, eps=1.0):
    state = np.array([rng.laplace(scale=2 / eps), rng.laplace(scale=1 / eps)])
    out = []
    for v in q:
        if v + rng.laplace(scale=4 / eps) >= state[0]:
            out.append(True)
            break
        out.append(False)
    return out


@pytest.mark.parametrize("function", [svt_with_a_dict, svt_with_an_array, svt_with_an_object])
def test_a_threshold_in_a_container_is_followed_through_the_loop(function):
    proof = prove(function, adjacency="linf")
    assert (proof.length, proof.status, proof.epsilon) == (ANY, "exact", 1)


def lap_of_exponentials(x, rng, *, eps=1.0):
    return x[0] + rng.exponential(1 / eps) - rng.exponential(1 / eps)


def test_a_difference_of_exponentials_is_laplace_noise():
    proof = prove(lap_of_exponentials, adjacency="linf", length=1)
    assert (proof.status, proof.epsilon) == ("exact", 1)


@pytest.mark.parametrize("length", [9, 12])
def test_decisions_that_lead_to_other_states_are_tried_for_the_lower_bound(length):
    """SVT6 has no cutoff: half of the answers are hits, whatever their order."""
    proof = prove(zoo.get("SVT6"), length=length)
    assert proof.epsilon == proof.lower.value == F(length, 2)


def test_records_that_come_and_go_need_no_domain():
    proof = dpest.prove(m.count_above, adjacency="add_remove_one")
    assert (proof.length, proof.epsilon) == (ANY, 1)
