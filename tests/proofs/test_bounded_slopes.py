"""Proofs with noise whose log-density has a bounded slope: logistic, Cauchy and Student's t."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from dpest import ANY, kernel
from dpest.errors import RefusedError
from dpest.kernel.invalid import Invalid
from dpest.proofs import prove
from dpest.proofs.coq import exporting as coq

F = Fraction


def logistic_sum(x, rng, *, eps=1.0):
    return sum(x) + rng.logistic(scale=1 / eps)


def cauchy_sum(x, rng, *, eps=1.0):
    return sum(x) + rng.standard_cauchy() / eps


def cauchy_vector(x, rng):
    return np.array(x) + 2 * rng.standard_cauchy(size=len(x))


def cauchy_of_scipy(x, rng):
    return x[0] + stats.cauchy.rvs(scale=2.0, random_state=rng)


def student_sum(x, rng, *, eps=1.0):
    return sum(x) + 5 * rng.standard_t(4) / eps


def student_of_scipy(x, rng):
    return x[0] + stats.t.rvs(4, scale=5.0, random_state=rng)


def logistic_max(x, rng):
    return int(np.argmax(np.array(x) + rng.logistic(scale=2, size=len(x))))


def cauchy_max(x, rng):
    return int(np.argmax(np.array(x) + rng.standard_cauchy(size=len(x))))


def above_threshold(x, rng):
    bar = rng.logistic(scale=2.0)
    for i, q in enumerate(x):
        if q + rng.logistic(scale=4.0) >= bar:
            return i
    return -1


def triangular_sum(x, rng):
    return x[0] + rng.triangular(-3, 0, 3)


@pytest.mark.parametrize(
    ("mechanism", "adjacency", "length", "status", "bound"),
    [
        (logistic_sum, "l1", ANY, "exact", F(1)),
        (logistic_max, "linf", ANY, "exact", F(1)),
        (above_threshold, "linf", ANY, "exact", F(1)),
        (cauchy_sum, "l1", ANY, "upper bound", F(1)),
        (cauchy_vector, "l1", ANY, "upper bound", F(1, 2)),
        (cauchy_of_scipy, "linf", 1, "upper bound", F(1, 2)),
        (cauchy_max, "linf", 3, "upper bound", F(2)),
        (student_sum, "l1", ANY, "upper bound", F(1, 4)),
        (student_of_scipy, "linf", 1, "upper bound", F(1, 4)),
    ],
)
def test_proofs(mechanism: Any, adjacency: str, length: Any, status: str, bound: Fraction) -> None:
    proof = prove(mechanism, adjacency=adjacency, length=length)
    assert (proof.status, proof.bound) == (status, bound)
    kernel.check(proof.certificate)


def test_a_long_rate_is_rounded_up_and_no_further() -> None:
    def mechanism(x, rng):
        return x[0] + 2.5 * rng.standard_t(3)

    bound = prove(mechanism, adjacency="linf", length=1).bound
    # (ν + 1)/(2·√ν)/2.5 = 4/(5·√3)
    assert bound is not None
    assert F(16, 75) <= bound**2 <= F(16, 75) * (1 + F(1, 10**10))


def test_no_proof_with_triangular_noise() -> None:
    proof = prove(triangular_sum, adjacency="linf", length=1)
    assert proof.bound is None


@pytest.mark.parametrize("name", ["logistic", "cauchy", "student_t"])
def test_the_kernel_knows_them_and_no_rate_below(name: str) -> None:
    mechanism = {"logistic": logistic_max, "cauchy": cauchy_vector, "student_t": student_of_scipy}
    adjacency = {"logistic": "linf", "cauchy": "l1", "student_t": "linf"}
    proof = prove(mechanism[name], adjacency=adjacency[name], length=2 - (name == "student_t"))
    kernel.check(proof.certificate)
    assert proof.bound is not None
    for lowered in (proof.bound * F(99, 100), F(0)):
        with pytest.raises(Invalid):
            kernel.check({**proof.certificate, "epsilon": str(lowered)})
    wider = {h: [f, str(F(scale) / 2)] for h, (f, scale) in proof.certificate["noises"].items()}
    with pytest.raises(Invalid):
        kernel.check({**proof.certificate, "noises": wider})


def test_what_coq_has_a_theorem_of() -> None:
    for mechanism in (logistic_sum, cauchy_sum):
        text = coq.export(prove(mechanism, adjacency="l1", length=1).certificate)
        assert "Logistic" in text or "Cauchy" in text
    with pytest.raises(RefusedError, match="no pure law for student_t"):
        coq.export(prove(student_of_scipy, adjacency="linf", length=1).certificate)


def test_a_shift_of_known_size_costs_less_than_the_proof_says() -> None:
    """The proof's rule is linear in the shift; what a shift of Cauchy noise costs is concave."""
    found = dpest.audit(
        cauchy_of_scipy, claim=dpest.PureDP(0.5), adjacency=dpest.linf(1), domain=dpest.reals(1),
        engines=("proof", "exact"),
    )  # fmt: skip
    assert found.status == "proved"
    assert found.lower.value == pytest.approx(2 * np.arcsinh(0.25), rel=1e-9)
    assert found.upper.value == pytest.approx(0.5)
