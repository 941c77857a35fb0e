"""A function may take a list, an array or one number; an audit finds out which."""

from __future__ import annotations

import numpy as np
import pytest

import dpest
from dpest.ask.domain_text import parse_domain
from dpest.errors import InputError


def of_a_number(x, rng, *, eps=0.5):
    return x + rng.laplace(scale=1 / eps)


def of_an_array(x, rng, *, eps=0.5):
    return x.sum() + rng.laplace(scale=1 / eps)


def by_a_mask(x, rng, *, eps=0.5):
    return (x > 0.5).sum() + rng.laplace(scale=1 / eps)


def of_a_list(x, rng, *, eps=0.5):
    return sum(x) + rng.laplace(scale=1 / eps)


def flipped(bit, rng):
    return bit if rng.random() < 0.75 else 1 - bit


def of_a_table(x, rng):
    return x["age"] + rng.laplace()


def black_box_of_a_number(x):
    return x + np.random.default_rng().laplace(scale=2)


@pytest.mark.parametrize(
    ("function", "form", "adjacency"),
    [
        (of_a_number, "one number", "l1"),
        (of_an_array, "an array", "l1"),
        (by_a_mask, "an array", "replace_one"),
        (of_a_list, None, "l1"),
    ],
)
def test_both_bounds_are_about_the_form_that_works(function, form, adjacency):
    verdict = dpest.audit(function, epsilon=0.5, adjacency=adjacency)
    assert verdict.status == "exact", str(verdict)
    assert verdict.upper.value == pytest.approx(0.5)
    assert verdict.lower.value == pytest.approx(0.5, rel=1e-2)
    said = [note for note in verdict.notes if "takes" in note]
    assert [form is not None] == [bool(said)] or (not said and form is None)
    assert form is None or form in said[0]


def test_a_number_where_the_length_is_one():
    verdict = dpest.audit(of_a_number, epsilon=0.5, adjacency="l1", length=1)
    assert isinstance(verdict.lower.witness.x, (int, float))
    assert verdict.status == "exact"


def test_an_array_where_a_length_is_given():
    # As a vector of five, the same noise is added to every entry: another question.
    verdict = dpest.audit(of_a_number, epsilon=0.5, adjacency="l1", length=5)
    assert verdict.violated
    assert isinstance(verdict.lower.witness.x, np.ndarray)


def test_a_bit_is_one_whole_number():
    verdict = dpest.audit(flipped, epsilon=1.1, adjacency="any_pair", domain="integer(0, 1)")
    assert verdict.status == "exact"
    assert verdict.lower.value == pytest.approx(np.log(3))
    assert verdict.lower.witness.x in (0, 1)


def test_one_branch_that_fails_is_enough_to_look_further():
    verdict = dpest.audit(flipped, epsilon=1.1, adjacency="l1", domain=dpest.integers(1, 0, 1))
    assert verdict.status == "exact"
    assert "flipped takes one number" in " ".join(verdict.notes)


def test_a_function_that_takes_none_of_them_is_not_audited():
    with pytest.raises(InputError, match=r"raises TypeError .* on the input \[1.0"):
        dpest.audit(of_a_table, epsilon=0.5, adjacency="l1")


def test_a_black_box_of_a_number():
    verdict = dpest.audit(black_box_of_a_number, epsilon=0.1, adjacency="l1", seed=1)
    assert verdict.violated
    assert isinstance(verdict.lower.witness.x, float)


@pytest.mark.parametrize("method", ["sequential", "sniper", "statdp", "finder"])
@pytest.mark.parametrize("function", [of_a_number, of_an_array])
def test_every_attack_hands_over_the_right_form(method, function):
    evidence = dpest.attack(
        function, method=method, epsilon=0.1, adjacency="l1", budget="60000runs", seed=3
    )
    assert evidence.value > 0.1
    assert not any("raised" in note for note in evidence.notes)


@pytest.mark.parametrize("function", [of_a_number, of_an_array, by_a_mask])
def test_replay_lines_run(function, tmp_path):
    verdict = dpest.audit(function, epsilon=0.3, adjacency="l1")
    names = {function.__name__: function}
    exec(verdict.lower.witness.replay, names)
    assert names["loss"].epsilon == pytest.approx(verdict.lower.value)


def test_a_proof_is_of_the_form_and_its_certificate_builds_again():
    from dpest.proofs.rebuilding import differences

    proof = dpest.prove(of_a_number, adjacency="l1")
    assert (proof.status, proof.length, proof.epsilon) == ("exact", 1, 1)
    assert differences(proof.certificate, of_a_number) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("reals(3)", "3 real numbers: reals(3)"),
        ("reals(1, 0, 1)", "1 real number between 0 and 1: reals(1, 0, 1)"),
        ("real(0, 1)", "1 real number between 0 and 1: real(0, 1)"),
        ("integer()", "1 whole number: integer()"),
        ("integers(2, 0, 5)", "2 whole numbers between 0 and 5: integers(2, 0, 5)"),
        ("records(any, 0, inf)", "any number of records, each a number of at least 0"),
    ],
)
def test_domains_in_words_and_back(text, words):
    domain = parse_domain(text)
    assert domain.describe().startswith(words)
    if "records" not in text:
        assert parse_domain(str(domain)) == domain


def test_one_number_has_length_one():
    with pytest.raises(InputError, match="length 1"):
        dpest.real().with_length(3)


def test_a_given_pair_becomes_an_array_where_that_is_taken():
    assert dpest.exact(of_an_array, [0, 0], [1, 0]).epsilon == pytest.approx(0.5)
    bound = dpest.attack(of_an_array, [0, 0], [1, 0], epsilon=0.1, adjacency="l1", budget=20_000)
    assert bound.value > 0.1


def test_a_pair_that_always_raises_is_no_question():
    with pytest.raises(InputError, match="raises TypeError"):
        dpest.exact(of_a_table, [0, 0], [1, 0])
