"""Proofs and certificates that were once accepted and were about something false."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import dpest
from dpest import ANY, kernel, zoo
from dpest.ask.declaration import as_mechanism
from dpest.cli.check import check
from dpest.errors import RefusedError
from dpest.proofs import prove
from dpest.proofs.certificates import sealed
from dpest.proofs.question import asked
from dpest.proofs.rebuilding import differences
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.reading import Data, RecordField, read
from proofs import proof_mechanisms as m


def half_sum(x, rng, *, eps=1.0):
    return (x[0] + x[1]) / 2 + dpest.noise.discrete_laplace(rng, 1 / eps)


def half(x, rng, *, eps=1.0):
    return x[0] / 2 + dpest.noise.discrete_laplace(rng, 1 / eps)


def half_of_each(x, rng, *, eps=1.0):
    out = []
    for v in x:
        out.append(v / 2 + dpest.noise.discrete_laplace(rng, 1 / eps))
    return out


def shifted_clip(x, rng, *, eps=1.0):
    return np.clip(x[0] + 0.5, 0, 1) + dpest.noise.discrete_laplace(rng, 1 / eps)


def plain(x, rng, *, eps=1.0):
    return x[0] + dpest.noise.discrete_laplace(rng, 1 / eps)


def clipped(x, rng, *, eps=1.0):
    return np.clip(x[0], 0, 1) + dpest.noise.discrete_laplace(rng, 1 / eps)


def distance(x, rng, *, eps=1.0):
    return x[0] + dpest.noise.discrete_laplace(rng, 1 / eps) > 0


def count_above(x, rng, *, eps=1.0):
    count = 0
    for v in x:
        count += v > 0.5
    return count + dpest.noise.discrete_laplace(rng, 1 / eps)


@pytest.mark.parametrize(
    ("function", "question"),
    [
        (half_sum, {"adjacency": "linf", "length": 2, "domain": "integers(2)"}),
        (half, {"adjacency": "linf:2", "length": 1, "domain": "integers(1)"}),
        (half, {"adjacency": "linf:2", "length": 1}),
        (half_of_each, {"adjacency": "replace_one:2", "domain": "integers()"}),
        (half_of_each, {"adjacency": "replace_one:2", "length": 2, "domain": "integers(2)"}),
        (shifted_clip, {"adjacency": "linf:2", "length": 1, "domain": "integers(1)"}),
    ],
)
def test_a_mixture_of_integer_shifts_is_no_integer(function, question):
    """At some integer difference the supports differ (ε = ∞), though both corners are fine."""
    proof = prove(function, **question)
    assert (proof.status, proof.epsilon, proof.certificate) == ("unknown", None, None)


@pytest.mark.parametrize(
    ("function", "question", "expected"),
    [
        (plain, {"adjacency": "linf", "length": 1, "domain": "integers(1)"}, 1),
        (plain, {"adjacency": "linf:3", "length": 1, "domain": "integers(1)"}, 3),
        (clipped, {"adjacency": "linf:5", "length": 1, "domain": "integers(1)"}, 1),
        (clipped, {"adjacency": "replace_one", "length": 1, "domain": "integers(1)"}, 1),
        (distance, {"adjacency": "linf:2", "length": 1, "domain": "integers(1)"}, 2),
        (count_above, {"adjacency": "replace_one", "domain": "reals()"}, 1),
        (count_above, {"adjacency": "replace_one", "length": 3, "domain": "reals(3)"}, 1),
    ],
)
def test_whole_steps_are_still_proved(function, question, expected):
    proof = prove(function, **question)
    assert proof.epsilon == expected
    kernel.check(json.loads(json.dumps(proof.certificate)))


def forged_by_splitting(certificate, ends):
    """The certificate of x/2 + integer noise, radius 2, with one plan per corner."""
    forged = copy.deepcopy(certificate)
    (h,) = forged["noises"]
    forged["adjacency"]["radius"] = "2"
    forged["leaves"][0]["real"] = [{h: "1", "q0": "1/2"}]
    forged["alignments"] = [
        {
            "leaf": forged["leaves"][0]["node"],
            "component": 0,
            "face": {"q0": [str(end), str(end)]},
            "shift": {h: [str(-Fraction(end) / 2), {}]},
            "bound": {h: [str(abs(Fraction(end)) / 2), {}]},
        }
        for end in ends
    ]
    return forged


def test_the_checker_refuses_integer_noise_split_at_corners():
    good = prove(plain, adjacency="linf", length=1, domain="integers(1)").certificate
    good = json.loads(json.dumps(good))
    kernel.check(good)
    for ends in ((-2, 2), (-2, 0, 2), (-2, -1, 0, 1, 2)):
        with pytest.raises(kernel.Invalid, match=r"not covered|not an integer"):
            kernel.check(forged_by_splitting(good, ends))
    real = forged_by_splitting(good, (-2, 2))  # the same with Laplace noise is right
    real["noises"] = {h: ["laplace", "1"] for h in real["noises"]}
    kernel.check(real)


def test_the_checker_refuses_a_loop_with_corners_alone():
    proof = prove(count_above, adjacency="replace_one", domain="integers()")
    whole = json.loads(json.dumps(proof.certificate))
    kernel.check(whole)
    assert whole["method"] == "loop"
    part = whole["components"][0]
    part["steps"] = [s for s in part["steps"] if s["move"] != max(t["move"] for t in part["steps"])]
    with pytest.raises(kernel.Invalid, match="missing"):
        kernel.check(whole)


def gaussian(x, rng, *, eps=1.0):
    return x[0] + rng.normal(scale=1 / eps)


def no_noise(x, rng, *, eps=1.0):
    return x[0]


def test_integer_noise_on_real_data_is_not_proved():
    """0 and 1/2 are neighbours, and their supports don't meet."""
    for domain in ("reals(1)", dpest.finite([[0], [0.5], [1]]), "records(1, 0, 1)"):
        proof = dpest.prove(plain, adjacency="linf", length=1, domain=domain)
        assert proof.epsilon is None
    verdict = dpest.audit(
        plain, epsilon=1.0, adjacency="linf", length=1, domain="reals(1)", engines=["proof"]
    )
    assert verdict.upper is None


def test_without_a_domain_integer_noise_means_integer_data_and_the_verdict_says_so():
    verdict = dpest.audit(
        plain, epsilon=1.0, adjacency="linf", length=1, engines=["proof", "exact"]
    )
    assert verdict.upper.value == 1
    assert verdict.lower.value == pytest.approx(1)
    assert "the data are taken to be integers, as the noise is" in verdict.notes
    assert str(dpest.integers(1)) in verdict.question.domain


def test_a_gaussian_bound_is_no_epsilon():
    proof = prove(gaussian, adjacency="l1", length=1)
    assert (proof.epsilon, proof.rho, proof.bound) == (None, Fraction(1, 2), Fraction(1, 2))
    assert "ρ ≤ 1/2" in proof.summary()
    assert prove(plain, adjacency="l1", length=1).rho is None


def test_a_refutation_without_a_claim_names_none():
    proof = prove(no_noise, adjacency="l1", length=1)
    assert proof.status == "refuted"
    assert proof.summary().endswith("ε is at least ∞ (at n = 1)")


def laplace(x, rng, *, eps=1.0):
    return x[0] + rng.laplace(scale=2 / eps)


def fixed_scale(x, rng, *, eps=1.0, scale=2.5):
    return x[0] + rng.laplace(scale=scale)


REBUILT = {
    "laplace": lambda: prove(laplace, adjacency="linf:2", length=1),
    "absolute": lambda: prove(fixed_scale, adjacency="linf:0.5", length=1),
    "loop": lambda: prove(m.svt, adjacency="linf", params={"cutoff": 2}),
    "zoo": lambda: prove(zoo.get("ReportNoisyMax1"), length=2),
    "selection": lambda: prove(m.noisy_max, adjacency="linf"),
    "square": lambda: prove(m.gaussian_sum, adjacency="l1", length=3),
    "clipped": lambda: prove(m.clipped_sum, adjacency="replace_one"),
    "integers": lambda: prove(plain, adjacency="linf", length=1),
    "finite": lambda: prove(zoo.get("TruncatedGeometric")),
}


@pytest.mark.parametrize("name", REBUILT)
def test_the_model_is_built_again_from_the_source(name):
    certificate = json.loads(json.dumps(REBUILT[name]().certificate))
    assert differences(certificate) == []


def check_file(certificate, path, *options):
    path.write_text(json.dumps(certificate))
    return CliRunner().invoke(check, [str(path), *options], standalone_mode=False)


def test_a_proof_about_another_model_is_refused(tmp_path):
    """A larger scale and a smaller ε is a true statement, but not about this source."""
    path = tmp_path / "forged.json"
    good = json.loads(json.dumps(prove(laplace, adjacency="linf:2", length=1).certificate))
    told = check_file(good, path, "--rebuild")
    assert told.return_value == 0
    assert "valid " in told.output

    forged = json.loads(json.dumps(good).replace('["laplace", "2"]', '["laplace", "4"]'))
    forged["epsilon"] = "1/2"
    kernel.check(forged)
    assert "digest" in check_file(forged, path).output
    told = check_file(sealed(forged), path, "--rebuild")
    assert told.return_value == 1
    assert "another model; different: noises" in told.output
    told = check_file(sealed(forged), path)
    assert told.return_value == 2
    assert "compared with no program" in told.output
    told = check_file(sealed(forged), path, "--proof-only")
    assert told.return_value == 0
    assert told.output.startswith("model ")
    assert "valid" not in told.output


@pytest.mark.parametrize("decorator", ["@leaky", "@np.vectorize", "@dpest.noise(2)", "@half(1)"])
def test_a_source_with_a_decorator_that_is_no_declaration_is_not_rebuilt(decorator):
    """The model is that of the bare function, and nobody knows what the decorator makes of it."""
    certificate = dict(prove(laplace, adjacency="linf", length=1).certificate)
    source = "@dpest.mechanism(adjacency='linf')\n" + certificate["source"]
    assert differences({**certificate, "source": source}) == []
    with pytest.raises(RefusedError, match="no declaration"):
        differences({**certificate, "source": f"{decorator}\n{source}"})


def test_emptied_releases_are_refused(tmp_path):
    good = json.loads(json.dumps(prove(laplace, adjacency="linf", length=1).certificate))
    good["leaves"][0]["real"] = []
    told = check_file(sealed(good), tmp_path / "forged.json")
    assert (told.return_value, "REFUSED" in told.output) == (1, True)


def test_a_function_that_is_not_the_source_is_refused(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "def laplace(x, rng, *, eps=1.0):\n    return x[0] + rng.laplace(scale=1 / eps)\n"
    )
    good = json.loads(json.dumps(prove(laplace, adjacency="linf", length=1).certificate))
    told = check_file(good, tmp_path / "good.json", "--against", f"{mine}:laplace")
    assert (told.return_value, "different: source" in told.output) == (1, True)


def test_an_explanation_shows_releases_as_python_does_and_only_the_worst():
    text = prove(m.svt, adjacency="linf", length=6).explain()
    assert "release [False, " in text
    assert "more that cost no more" in text
    assert "noise 1: laplace of scale" in text
    assert "('bool'" not in text


@pytest.mark.parametrize("length", [1, 3])
def test_records_of_one_field_are_proved_where_they_are_clipped(length):
    """Also where a helper clips them with Python's own min and max."""
    proof = prove(zoo.get("SalaryMean"), length=length)
    assert proof.epsilon == 1
    assert differences(json.loads(json.dumps(proof.certificate))) == []
    assert prove(zoo.get("SalaryMean_unclipped"), length=length).epsilon is None


def combination(x, rng, *, eps=1.0, a=1.0, b=1.0):
    return a * x[0] + b * x[1] + dpest.noise.discrete_laplace(rng, 1 / eps)


def combination_above(x, rng, *, eps=1.0, a=1.0, b=1.0):
    return a * x[0] + b * x[1] + dpest.noise.discrete_laplace(rng, 1 / eps) > 0


@pytest.mark.slow
@pytest.mark.parametrize("function", [combination, combination_above])
def test_integer_noise_never_proves_less_than_the_exact_loss(function):
    proved = 0
    for a, b in [(0.5, 0.5), (1, 0.5), (1, -1), (1.5, 0), (2, 1), (0.5, -1.5), (0.25, 0)]:
        params = {"a": a, "b": b}
        proof = prove(function, adjacency="linf", length=2, domain="integers(2)", params=params)
        mechanism = as_mechanism(function).with_params(params)
        pairs = [([0, 0], [i, j]) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        pairs += [([3, -2], [3 + i, j - 2]) for i in (-1, 1) for j in (-1, 0, 1)]
        worst = max(dpest.exact(mechanism, x, x2).epsilon for x, x2 in pairs)
        if proof.epsilon is not None:
            proved += 1
            assert worst <= float(proof.epsilon) * (1 + 1e-9), params
        elif function is combination:
            assert math.isinf(worst), params
    assert proved >= 2


def count_over_three(x, rng, *, eps=1.0):
    return sum(v > 3 for v in x) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("length", [ANY, 2])
def test_a_count_under_l1_moves_by_as_many_entries_as_cross_the_threshold(length):
    """[2.75, 2.75] and [3.25, 3.25] are neighbours under l1(1), and their counts differ by 2."""
    loss = dpest.exact(count_over_three, [2.75, 2.75], [3.25, 3.25], params={"eps": 1.0})
    assert math.isclose(loss.epsilon, 2.0)
    proof = prove(count_over_three, adjacency="l1", length=length)
    assert proof.status == "unknown"
    assert "many entries" in proof.reason
    whole = prove(count_over_three, adjacency="l1", length=length, domain=dpest.integers())
    assert whole.epsilon == 1
    forged = copy.deepcopy(dict(whole.certificate))
    forged["domain"]["kind"] = "reals"
    with pytest.raises(kernel.Invalid, match="hull"):
        kernel.check(sealed(forged))


def two_sums(x, rng, *, eps=1.0):
    x = np.asarray(x)
    if rng.laplace(scale=1 / eps) < 25:
        return np.clip(x, 0, 1).sum() + rng.laplace(scale=1 / eps)
    return np.clip(x, 0, 9).sum() + rng.laplace(scale=1 / eps)


def test_sums_on_different_branches_are_different_sums():
    """The second branch is so rare that no run of the conformance test takes it."""
    assert prove(two_sums, adjacency="replace_one").epsilon == 9


def two_order_statistics(x, rng, *, eps=1.0):
    s = sorted(x)
    return s[len(s) // 10] - s[len(s) // 11] + rng.laplace(scale=1 / eps)


def test_order_statistics_that_agree_on_short_data_are_two():
    """They are one record on every dataset of the conformance test, but not on one of 10."""
    domain = dpest.reals(ANY, 0, 3)
    assert prove(two_order_statistics, adjacency="replace_one", domain=domain).epsilon == 3


def one_list_two_names(x, rng, *, eps=1.0):
    a = b = [0]
    for v in x:
        a[0] += 1 if v > 1 else 0
        b[0] += 1 if v > 1 else 0
    return a[0] + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove_one"])
def test_one_list_of_two_names_is_one_list(adjacency):
    """A record above 1 adds 2 to it. The reader of what one record adds follows that."""
    domain = dpest.integers(ANY, 0, 3)
    proof = prove(one_list_two_names, adjacency=adjacency, domain=domain)
    assert (proof.length, proof.epsilon) == (ANY, 2)
    pairs = [([0], [2]), ([3, 1], [3, 3])]
    if adjacency == "add_remove_one":
        pairs = [([], [2]), ([3, 1], [3, 1, 3])]
    for x, x2 in pairs:
        loss = dpest.exact(one_list_two_names, x, x2, adjacency=adjacency).epsilon
        assert loss == pytest.approx(2)


def sum_with_an_option(x, rng, *, eps=1.0):
    return np.sum(np.clip(x, 0, 1), initial=0, where=False) + rng.laplace(scale=1 / eps)


def a_slice(x, rng, *, eps=1.0):
    a = np.zeros(2)
    b = a[:1]
    for v in x:
        a[0] += 1 if v > 1 else 0
        b[0] += 1 if v > 1 else 0
    return a[0] + rng.laplace(scale=1 / eps)


def a_row(x, rng, *, eps=1.0):
    a = np.zeros((2, 2))
    b = a[0]
    for v in x:
        a[0, 1] += 1 if v > 1 else 0
        b[1] += 1 if v > 1 else 0
    return a[0, 1] + rng.laplace(scale=1 / eps)


def a_transpose(x, rng, *, eps=1.0):
    a = np.zeros((2, 2))
    b = a.T
    for v in x:
        a[0, 1] += 1 if v > 1 else 0
        b[1, 0] += 1 if v > 1 else 0
    return a[0, 1] + rng.laplace(scale=1 / eps)


def raveled(x, rng, *, eps=1.0):
    a = np.zeros((1, 2))
    b = np.ravel(a)
    for v in x:
        a[0, 0] += 1 if v > 1 else 0
        b[0] += 1 if v > 1 else 0
    return a[0, 0] + rng.laplace(scale=1 / eps)


def filled(x, rng, *, eps=1.0):
    a = np.ones(1)
    np.copyto(a, 5.0)
    for v in x:
        a[0] += 1 if v > 1 else 0
    return a[0] * a[0] + rng.laplace(scale=1 / eps)


def rows_in_a_loop(x, rng, *, eps=1.0):
    a = np.zeros((1, 1))
    for row in a:
        for v in x:
            row[0] += 1 if v > 1 else 0
            a[0, 0] += 1 if v > 1 else 0
    return a[0, 0] + rng.laplace(scale=1 / eps)


def lists_of_the_records(x, rng, *, eps=1.0):
    rows = [[v, 0] for v in x]
    for r in rows:
        r[1] += 1 if r[0] > 1 else 0
    return sum(r[1] for r in rows) + rng.laplace(scale=1 / eps)


VIEWS = [a_slice, a_row, a_transpose, raveled, filled, rows_in_a_loop, lists_of_the_records]


@pytest.mark.parametrize("function", VIEWS)
def test_a_view_that_is_changed_is_refused_by_the_reader(function):
    """A view was read as a copy, and only the runs showed it: a rare case would not be run."""
    domain = dpest.integers(ANY, 0, 3)
    question = asked(function, "replace_one", ANY, None, None, domain, None, None)
    data = Data((RecordField(None, Fraction(0), Fraction(3), True),), question.form, True)
    with pytest.raises(Unread, match=r"in place|changes what it is given"):
        read(function, {"eps": 1.0}, data)
    assert prove(function, adjacency="replace_one", domain=domain).certificate is None


def a_copy(x, rng, *, eps=1.0):
    a = np.zeros(1)
    b = np.array(a)
    for v in x:
        a[0] += 1 if v > 1 else 0
        b[0] -= 1 if v > 1 else 0
    return a[0] + rng.laplace(scale=1 / eps)


def test_a_copy_is_another_array():
    """It was read as the array itself: what is taken from it would be taken from both."""
    proof = prove(a_copy, adjacency="replace_one", domain=dpest.integers(ANY, 0, 3))
    assert proof.epsilon == 1


@pytest.mark.parametrize("function", [sum_with_an_option])
@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove_one"])
def test_what_is_not_followed_is_refused_and_not_dropped(function, adjacency):
    """Not by the conformance run: the model is never made."""
    proof = prove(function, adjacency=adjacency, domain=dpest.integers(ANY, 0, 3))
    assert (proof.status, proof.certificate) == ("unknown", None)
    assert "is not what its symbolic run says" not in proof.reason
