"""Bounds by what one record adds: the rules, and the programs that must be refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import dpest
from dpest import kernel
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.notions.claims import GaussianDP
from dpest.proofs.approximate.proving import contributions, prove_contributions
from dpest.proofs.question import asked
from dpest.proofs.rebuilding import compared
from proofs import contribution_mechanisms as m

RECORDS = {"x1": (-5, 5), "x2": (-5, 5), "y": (0, 1)}


def question(function, adjacency="add_remove_one", domain=None, form=None):
    domain = domain if domain is not None else dpest.reals(dpest.ANY, -3, 3)
    return asked(function, adjacency, dpest.ANY, None, None, domain, None, form)


def bound(function, measure, **asked_for):
    return prove_contributions(question(function, **asked_for), measure, None)


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (m.clip_by_quotient, None),
        (m.clip_by_factor, None),
        (m.clip_if_long, None),
        (m.clip_of_a_matrix, "matrix"),
    ],
)
def test_clipping_by_norm_in_all_its_spellings(function, form):
    domain = dpest.records(dpest.ANY, fields=RECORDS)
    proof = bound(function, Measure("gdp"), domain=domain, form=form)
    assert proof.bound == Fraction(1, 2)
    replaced = bound(function, Measure("gdp"), domain=domain, form=form, adjacency="replace_one")
    assert float(replaced.bound) == 1.0


@pytest.mark.parametrize("function", [m.clip_of_one_coordinate, m.clip_of_another_norm])
def test_a_norm_clips_only_its_own_parts(function):
    """No bound of the clip alone: the domain's own bounds are what is left."""
    domain = dpest.records(dpest.ANY, fields=RECORDS)
    proof = bound(function, Measure("gdp"), domain=domain)
    assert float(proof.bound) >= math.sqrt(1 + 25) / 2 - 1e-9
    with pytest.raises(DpestError, match="no bound"):
        bound(function, Measure("gdp"), domain=dpest.records(fields={"x1": (-math.inf, math.inf),
              "x2": (-math.inf, math.inf)}))  # fmt: skip


@pytest.mark.parametrize(
    ("function", "domain"),
    [
        (m.quotient_that_raises, None),
        (m.sample_size_told, None),
        (m.noise_for_two, None),
        (m.clamped, dpest.integers(dpest.ANY, 0, 1)),
        (m.ends_early, None),
        (m.depends_on_the_others, None),
        (m.last_record, None),
        (m.remembers, None),
        (m.looks_at_the_type, None),
        (m.catches, None),
        (m.keys_in_order, dpest.integers(dpest.ANY, 0, 2)),
        (m.keys_that_are_counted, dpest.integers(dpest.ANY, 0, 2)),
    ],
)
def test_what_is_not_understood_is_refused(function, domain):
    with pytest.raises(DpestError):
        contributions(question(function, domain=domain))


def test_data_that_are_changed_in_place_are_refused():
    domain = dpest.records(dpest.ANY, fields={"a": (0, 1), "b": (0, 1)})
    with pytest.raises(DpestError):
        contributions(question(m.changes_its_data, domain=domain, form="matrix"))


def test_one_sample_in_two_stages_is_not_amplified_twice():
    """Twice δ(1) ≤ 0.082 would be claimed where 0.107 is the truth."""
    twice = contributions(question(m.one_sample_twice)).account.ledger
    assert all(step.q == 1 for step, _ in twice)
    fresh = contributions(question(m.two_samples)).account.ledger
    assert [(float(step.q), times) for step, times in fresh] == [(0.2, 2)]


def test_samples_are_accounted_for_in_both_directions():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    proof = bound(m.two_samples, Measure(delta=1e-4))
    theirs = pld.from_gaussian_mechanism(1.0, sampling_prob=0.2).self_compose(2)
    ratio = float(proof.bound) / theirs.get_epsilon_for_delta(1e-4)
    assert 0.9999 < ratio < 1.005


def test_replacing_is_not_amplified():
    found = contributions(question(m.two_samples, adjacency="replace_one"))
    assert all(step.q == 1 for step, _ in found.account.ledger)


def test_a_shift_may_depend_on_noise_that_was_seen_before():
    proof = bound(m.later_noise, Measure("gdp"))
    assert float(proof.bound) == 1.0


@pytest.mark.parametrize(("adjacency", "epsilon"), [("add_remove_one", 1), ("replace_one", 2)])
def test_keys_of_the_data(adjacency, epsilon):
    domain = dpest.integers(dpest.ANY, 0, 2)
    proof = bound(m.keys, Measure(delta=0.0021), domain=domain, adjacency=adjacency)
    assert float(proof.bound) <= epsilon + 1e-6
    assert any("mapping" in note for note in proof.notes)


@pytest.mark.parametrize("claimed", [1e-3, 0.999e-3])
def test_at_the_edge(claimed):
    """Exactly at its δ: the claim holds up to rounding; at 0.999 of it, it does not."""
    asked_for = question(m.truncated, "replace_one", dpest.integers(dpest.ANY, 0, 1))
    found = contributions(asked_for)
    from dpest.proofs.approximate.proving import proof_of

    if claimed == 1e-3:
        assert proof_of(found, Measure(delta=claimed), 1.0).claim_holds
    else:
        with pytest.raises(DpestError):
            proof_of(found, Measure(delta=claimed), 1.0)


# Certificates ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified():
    domain = dpest.records(dpest.ANY, fields=RECORDS)
    return {
        "clip": bound(m.clip_by_factor, Measure("gdp"), domain=domain).certificate,
        "sample": bound(m.two_samples, Measure(delta=1e-4)).certificate,
        "keys": bound(
            m.keys, Measure(delta=1e-3 * (1 + 1e-9)), domain=dpest.integers(dpest.ANY, 0, 2)
        ).certificate,
        "truncated": bound(
            m.truncated,
            Measure(delta=1e-3 * (1 + 1e-9)),
            domain=dpest.integers(dpest.ANY, 0, 1),
            adjacency="replace_one",
        ).certificate,
    }


def changed(certificate, change):
    copy = json.loads(json.dumps(certificate))
    change(copy)
    return copy


def smaller_bound(c):
    c["epsilon"] = str(Fraction(c["epsilon"]) * 999 / 1000)


def smaller_delta(c):
    c["delta"] = str(Fraction(c["delta"]) * 99 / 100)


def smaller_noise(c):
    for noise in c["ways"][0]["noises"]:
        noise["scale"] = str(Fraction(noise["scale"]) * 99 / 100)


def wider_data(c):
    for column in c["columns"]:
        column["low"], column["high"] = "-1000", "1000"


def larger_sample(c):
    for one in c["ways"][0]["passes"]:
        for case in one["cases"]:
            for condition in case["if"]:
                if condition[0] in ("heads", "tails"):
                    condition[2] = "1/4"


def smaller_threshold(c):
    c["ways"][0]["gates"][0]["threshold"] = "7"


def truncated_sooner(c):
    c["ways"][0]["noises"][0]["most"] = "6"


def no_condition(c):
    for one in c["ways"][0]["passes"]:
        for case in one["cases"]:
            case["if"] = []


def later_row(c):
    for term in c["ways"][0]["terms"]:
        if term[0] == "pub":
            term[2] = 99


def other_adjacency(c):
    c["adjacency"]["name"] = "replace_one"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("clip", smaller_bound),
        ("clip", smaller_noise),
        ("clip", other_adjacency),
        ("sample", smaller_bound),
        ("sample", smaller_delta),
        ("sample", smaller_noise),
        ("sample", larger_sample),
        ("sample", no_condition),
        ("sample", later_row),
        ("sample", other_adjacency),
        ("keys", smaller_bound),
        ("keys", smaller_delta),
        ("keys", smaller_threshold),
        ("truncated", smaller_delta),
        ("truncated", truncated_sooner),
        ("truncated", wider_data),
    ],
)
def test_wrong_certificates_are_refused(certified, name, change):
    kernel.check(certified[name])
    with pytest.raises(kernel.Invalid):
        kernel.check(changed(certified[name], change))


def test_a_smaller_clip_is_not_the_programs(certified):
    """A consistent certificate of another program: the source is read again."""
    text = json.dumps(certified["clip"]["ways"])
    other = changed(
        certified["clip"], lambda c: c.update(ways=json.loads(text.replace('"1"', '"1/2"', 1)))
    )
    assert "ways" in compared(other, m.clip_by_factor).differences
    assert compared(certified["clip"], m.clip_by_factor).differences == ()


def test_the_digest_is_of_everything(certified):
    text = json.dumps(changed(certified["clip"], smaller_bound))
    with pytest.raises(kernel.Invalid, match="digest"):
        kernel.check_text(text)


def test_a_gaussian_claim_is_compared_exactly():
    domain = dpest.records(dpest.ANY, fields=RECORDS)
    proof = prove_contributions(question(m.clip_by_factor, domain=domain), Measure("gdp"), 0.5)
    assert proof.claim_holds
    assert GaussianDP(0.5).delta_at(1.0) > 0
