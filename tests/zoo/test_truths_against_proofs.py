"""The formulas for the true worst case against proofs by linear programming, found apart."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest import zoo

CASES = [
    ("SVT1", {"cutoff": 1}, 3),
    ("SVT1", {"cutoff": 2}, 6),
    ("SVT2", {"cutoff": 2}, 6),
    ("SVT2", {"cutoff": 3}, 5),
    ("SVT3", {"cutoff": 2}, 5),
    ("SVT4", {"cutoff": 1}, 2),
    ("SVT4", {"cutoff": 2}, 4),
    ("SVT5", {}, 1),
    ("SVT5", {}, 2),
    ("SVT6", {}, 4),
    ("NumericalSVT", {"cutoff": 1}, 3),
    ("MonotoneSVT", {"cutoff": 2}, 5),
    ("GapSVT", {"cutoff": 1}, 3),
    ("GapSVT_wrong", {"cutoff": 1}, 5),
    ("AT1", {}, 4),
    ("AT3", {}, 4),
    ("AdaptiveSVT_wrong", {"cutoff": 1}, 3),
    ("SmartSum", {"block": 2}, 4),
    ("SmartSum_wrong", {}, 3),
    ("PartialSum_wrong", {}, 2),
    ("PrefixSum", {}, 3),
    ("PrefixSum_L1", {}, 3),
    ("NoisyMaxSum", {}, 3),
    ("NoisyMaxSum", {}, 4),
    ("ReportNoisyMax1", {}, 2),
    ("ReportNoisyMax2", {}, 3),
    ("ReportNoisyMax3", {}, 3),
    ("ReportNoisyMax4", {}, 2),
    ("GumbelMax", {}, 3),
    ("LaplaceParallel", {"copies": 3}, 1),
    ("StatDP_HistogramEps", {}, 2),
]


@pytest.mark.parametrize(("name", "params", "n"), CASES)
def test_truth_is_what_can_be_proved_and_no_more(name, params, n):
    entry = zoo.get(name).with_params(params)
    truth = entry.about["truth"](n, entry.all_params)
    proof = dpest.prove(entry, length=n)
    assert proof.lower is not None
    unit = entry.all_params["eps"] if name != "StatDP_HistogramEps" else 1
    if truth == math.inf:
        assert proof.lower.value == math.inf
        return
    assert float(proof.epsilon) * unit == pytest.approx(truth, rel=1e-9)
    assert float(proof.lower.value) * unit == pytest.approx(truth, rel=1e-9)
