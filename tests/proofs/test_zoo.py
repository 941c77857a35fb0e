"""Every mechanism of the zoo: the right ones are proved, no wrong one is, and rays show why."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest import ANY, kernel, zoo
from dpest.proofs import prove

# Right ones that are proved for the length of their domain alone, and why not for every length.
AT_A_LENGTH = {
    "LaplaceMechanism": "an entry",  # one number
    "LaplaceParallel": "an entry",
    "SnappingLaplace": "an entry",
    "GaussianMechanism": "an entry",
    "ClassicGaussian": "an entry",
    "DiscreteGaussianMechanism": "an entry",
    "DiscreteLaplaceMechanism": "an entry",
    "GeometricMechanism": "an entry",
    "ReleasedScale": "an entry",  # two numbers
    "RandomizedResponse": "",  # finite domains are enumerated
    "KaryRandomizedResponse": "",
    "OneTimeRappor": "",
    "Rappor": "",
    "TopK": "entry of an order",
    "GaussianNoisyMax": "Rényi",
}
# Wrong ones that are not refuted but refused: what is said.
REFUSED = {
    "SalaryMean_unclipped": "no noise hides that",
    "JoiningMean": "their number is private",
    "JoiningMean_unclipped": "their number is private",
    "DataDependentScale": "depends on private data",
    "GaussianNoisyMax_wrong": "no pure ε",
}


def marked(entry):
    slow = entry.name == "NoisyMaxSum"  # n = 20
    return pytest.param(entry, id=entry.name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("entry", [marked(e) for e in zoo.entries()])
def test_what_is_proved_of_the_zoo(entry):
    """Along the ray the exact engine comes near to an `exact` ε, and never above.

    The pair that a refutation names shows more than the claim.
    """
    proof = prove(entry)
    if proof.certificate is not None:
        kernel.check(proof.certificate)
    if not entry.about["right"]:
        assert not proof.proved
        if entry.name in REFUSED:
            assert (proof.status, proof.certificate) == ("unknown", None)
            assert REFUSED[entry.name] in proof.reason
            return
        assert proof.status == "refuted"
    else:
        assert proof.proved
        assert proof.status in ("exact", "upper bound")
        if entry.name in AT_A_LENGTH:
            assert isinstance(proof.length, int)
            by_records = proof.certificate is not None and (
                proof.certificate["method"] == "contributions"
            )
            assert by_records or AT_A_LENGTH[entry.name] in " ".join(proof.notes)
        else:
            assert proof.length is ANY
    if proof.lower is None or proof.status not in ("exact", "refuted"):
        return
    unit = 1.0 if proof.unit is None else float(entry.all_params[proof.unit])
    value = float(proof.lower.value) * unit
    loss = dpest.exact(entry, *proof.ray.pair(40 / unit)).epsilon
    if math.isinf(value):
        assert math.isinf(loss)
        return
    assert 0.95 * value < loss <= value * (1 + 1e-9)
    if proof.status == "refuted":
        assert loss > float(proof.claimed) * unit


def test_the_lists_name_mechanisms_of_the_zoo():
    named = {*AT_A_LENGTH, *REFUSED}
    assert named <= set(zoo.names())
    assert all(zoo.get(n).about["right"] for n in AT_A_LENGTH)
    assert not any(zoo.get(n).about["right"] for n in REFUSED)
