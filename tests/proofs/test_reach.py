"""What one record adds, in programs as people write them: proved where private, never otherwise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dpest
from dpest import kernel
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked
from dpest.proofs.rebuilding import compared
from proofs import reach_mechanisms as m
from proofs import reach_mistakes as wrong

NUMBERS = dpest.reals(dpest.ANY, -5, 5)
SIX = dpest.reals(6, -5, 5)
DICTS = dpest.records(dpest.ANY, fields={"x": (-5, 5), "y": (-5, 5)})


def bound(function, adjacency="add_remove_one", domain=NUMBERS, measure=None, length=dpest.ANY):
    question = asked(function, adjacency, length, None, None, domain, None, None)
    return prove_contributions(question, measure or Measure(), None)


@pytest.mark.parametrize(
    "function",
    [
        m.two_passes, m.helper_over_records, m.lambdas_over_records, m.filter_and_len,
        m.while_loop, m.index_loop, m.zip_with_itself, m.inner_generator, m.any_with_noise,
        m.methods_and_state, m.object_that_counts, m.named_tuple, m.derived, m.global_numpy,
        m.own_generator, m.module_generator, m.exponential_difference, m.geometric_difference,
        m.top_two, m.clamped_histogram, m.text_of_it, m.caught, m.raises_on_noise, m.isotonic,
        m.matrix_queries, m.exponential_mechanism, m.by_softmax, m.by_logsumexp, m.by_choices,
        m.gumbel_trick, m.noisy_max, m.exponential_noise_max, m.cumulative, m.quantile,
        m.choose_then_count, m.peeling, m.permute_and_flip, m.permute_and_flip_by_popping,
        m.peeling_with_removal,
    ],
    ids=lambda f: getattr(f, "__name__", "derived"),
)  # fmt: skip
def test_it_is_proved_at_every_length(function):
    """Each costs exactly ε = 1 where a record comes or goes."""
    proof = bound(function)
    assert proof.length is dpest.ANY
    assert float(proof.bound) == pytest.approx(1.0, abs=1e-9)
    assert kernel.check(proof.certificate)


def test_other_costs_at_every_length():
    assert float(bound(m.partial_mechanism).bound) == 0.5
    assert float(bound(m.python_gauss, measure=Measure("gdp")).bound) == 0.5
    coins = bound(m.geometric_by_coins)
    assert float(coins.bound) == pytest.approx(math.log(4), rel=1e-12)


@pytest.mark.parametrize("function", [m.nested_passes, m.nested_passes_over_dicts])
def test_gradient_descent_of_four_steps_at_every_length(function):
    domain = DICTS if function is m.nested_passes_over_dicts else NUMBERS
    proof = bound(function, domain=domain, measure=Measure("gdp"))
    assert proof.length is dpest.ANY
    assert float(proof.bound) == pytest.approx(1.0)  # √4 steps of 1/2


@pytest.mark.parametrize(
    ("function", "adjacency", "expected"),
    [
        (m.tree, "l1", 1.0),
        (m.zip_with_weights, "l1", 1.0),
        (m.softmax_of_scores, "linf", 1.0),
        (m.softmax_of_scores, "monotone", 0.5),
        (m.softmax_of_scores, "l1", 0.5),
    ],
)
def test_numbers_that_move(function, adjacency, expected):
    proof = bound(function, adjacency, None, length=4)
    assert float(proof.bound) == pytest.approx(expected)


def test_a_sum_of_numbers_that_move_at_every_length():
    def total(x, rng):
        return sum(abs(v) for v in x) + rng.laplace(scale=2.0)

    proof = bound(total, "l1", None)
    assert proof.length is dpest.ANY
    assert float(proof.bound) == 0.5


def test_a_subset_amplifies_under_replacement():
    proof = bound(m.subset, "replace_one", dpest.reals(6, 0, 1), length=6)
    assert float(proof.bound) == pytest.approx(math.log(1 + (math.e - 1) / 2))


@pytest.mark.parametrize("function", [m.mean_of_known_length, m.two_means])
def test_a_public_number_of_records_scales_means_and_noise(function):
    proof = bound(function, "replace_one")
    assert proof.length is dpest.ANY
    assert float(proof.bound) == 1.0
    with pytest.raises(DpestError):
        bound(function)  # where records come and go it is private


def test_replacing_costs_more():
    assert float(bound(m.exponential_mechanism, "replace_one").bound) == 2.0
    assert float(bound(m.noisy_max, "replace_one").bound) == 2.0
    assert float(bound(m.quantile, "replace_one").bound) == 2.0


def test_weights_that_may_overflow():
    """Proved under an assumption that is told, or refused where the domain shows that they do."""
    assert any("overflow" in a for a in bound(m.by_choices).certificate["assumptions"])
    assert not bound(m.exponential_mechanism).certificate["assumptions"]

    def plain(x, rng):
        w = np.exp(np.array(x) / 2)
        return int(rng.choice(len(x), p=w / w.sum()))

    with pytest.raises(DpestError):
        bound(plain, "linf", dpest.reals(3, 0, 2000), length=3)


# Mistakes ----------------------------------------------------------------------------------------

COMES = ("add_remove_one", NUMBERS)
REPLACED, OF_SIX = ("replace_one", NUMBERS), ("replace_one", SIX)
ALL = (COMES, REPLACED, OF_SIX)
ONLY = {
    "weights_without_half": (REPLACED, OF_SIX),
    "clip_too_wide": (REPLACED, OF_SIX),
    **dict.fromkeys(
        (
            "one_sided", "unequal_geometric", "exponential_of_two_scales", "coins_that_depend",
            "text_with_the_count", "noise_in_a_branch", "counts_turns", "last_place",
        ),
        (COMES,),
    ),
    "moved_twice": (("l1", None),),
    "squared_numbers": (("l1", None), ("linf", None)),
    "counted_numbers": (("l1", None), ("linf", None)),
    "scores_that_all_move": (("linf", None),),
    "exception_of_the_data": tuple(one for one in ALL if one[0] != "replace_one"),
}  # fmt: skip
"""Where the number of records is public, or nothing is moved twice, some are right."""


@pytest.mark.parametrize(
    "name",
    [n for n, f in vars(wrong).items() if callable(f) and getattr(f, "__module__", "") ==
     wrong.__name__ and not isinstance(f, type) and not n.startswith("_")],
)  # fmt: skip
def test_no_mistake_is_proved(name):
    for adjacency, domain in ONLY.get(name, ALL):
        length = 6 if domain is None else dpest.ANY
        try:
            proof = bound(getattr(wrong, name), adjacency, domain, length=length)
        except DpestError:
            continue
        assert proof.bound is None or float(proof.bound) > 1 + 1e-9, (name, adjacency)


# Certificates ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified():
    return {
        "weights": bound(m.exponential_mechanism).certificate,
        "race": bound(m.noisy_max).certificate,
        "pick": bound(m.choose_then_count).certificate,
        "whole": bound(m.geometric_difference).certificate,
        "subset": bound(m.subset, "replace_one", dpest.reals(6, 0, 1), length=6).certificate,
        "moved": bound(m.tree, "l1", None, length=4).certificate,
    }


def changed(certificate, change):
    forged = json.loads(json.dumps(certificate))
    change(forged)
    return forged


def _row(forged):
    return next(r for r in forged["ways"][0]["rows"] if isinstance(r, dict))


def _smaller_bound(forged):
    forged["epsilon"] = "999/1000"


@pytest.mark.parametrize("kind", ["weights", "race", "pick", "whole", "moved"])
def test_a_smaller_bound_is_refused(certified, kind):
    with pytest.raises(kernel.Invalid):
        kernel.check(changed(certified[kind], _smaller_bound))


def _larger_exponents(forged):
    row = _row(forged)
    row["exponents"] = [[c, [[s, f"{x}0"] for s, x in terms]] for c, terms in row["exponents"]]


def _one_noise_for_two(forged):
    noises = _row(forged)["noises"]
    noises[1] = noises[0]


def _less_noises(forged):
    _row(forged)["noises"].pop()


def _noise_of_a_race_is_shown(forged):
    way = forged["ways"][0]
    way["terms"].append(["noise", _row(forged)["noises"][0]])
    way["rows"].append(["0", [[len(way["terms"]) - 1, "1"]]])


def _normal_race(forged):
    for noise in forged["ways"][0]["noises"]:
        noise["family"] = "normal"


def _choice_of_nothing(forged):
    _row(forged)["exponents"] = []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("weights", _larger_exponents),
        ("weights", _choice_of_nothing),
        ("race", _one_noise_for_two),
        ("race", _less_noises),
        ("race", _noise_of_a_race_is_shown),
        ("race", _normal_race),
    ],
)
def test_forged_choices_are_refused(certified, kind, change):
    with pytest.raises(kernel.Invalid):
        kernel.check(changed(certified[kind], change))


def _private_place(forged):
    way = forged["ways"][0]
    place = next(i for i, t in enumerate(way["terms"]) if t[0] == "pick")
    way["terms"][place][1] = way["terms"][place][2]


def test_a_place_that_is_private_is_refused(certified):
    with pytest.raises(kernel.Invalid, match="private"):
        kernel.check(changed(certified["pick"], _private_place))


def test_noise_on_the_whole_numbers_needs_whole_moves(certified):
    def half(forged):
        for case in forged["ways"][0]["passes"][0]["cases"]:
            case["adds"] = [["1/2" if c == "1" else c, terms] for c, terms in case["adds"]]

    with pytest.raises(kernel.Invalid, match="whole"):
        kernel.check(changed(certified["whole"], half))


def test_a_subset_needs_its_length_and_its_stage(certified):
    def another_length(forged):
        forged["length"] = 7

    def everybody(forged):
        for case in forged["ways"][0]["passes"][0]["cases"]:
            case["if"] = [c for c in case["if"] if c[0] not in ("in", "out")]

    def comes_and_goes(forged):
        forged["adjacency"]["name"] = "add_remove_one"

    for change in (another_length, everybody, comes_and_goes):
        with pytest.raises(kernel.Invalid):
            kernel.check(changed(certified["subset"], change))


def test_a_larger_radius_is_refused(certified):
    def twice(forged):
        forged["adjacency"]["radius"] = "2"

    with pytest.raises(kernel.Invalid):
        kernel.check(changed(certified["moved"], twice))


@pytest.mark.parametrize("kind", ["weights", "race"])
def test_a_certificate_is_compared_with_its_program(certified, kind):
    function = {"weights": m.exponential_mechanism, "race": m.noisy_max}[kind]
    assert compared(certified[kind], function).differences == ()
