"""Selection mechanisms in many spellings: right ones are proved, wrong ones are not.

Permute-and-flip is an argmax with exponential noise (the rule `race`); the exponential mechanism,
however it is sampled, one with Gumbel noise.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import ANY, kernel, zoo
from dpest.errors import RoundedChanceError
from dpest.proofs import prove
from dpest.proofs.enumeration.laws import race, softmax
from dpest.proofs.rebuilding import differences
from proofs import choice_mechanisms as choices
from proofs import race_mechanisms as races
from proofs import race_mistakes as mistakes


def named(module, prefix, *without):
    found = [f for name, f in vars(module).items() if name.split("_")[0] == prefix]
    return [f for f in found if f.__name__ not in without]


RACES = named(races, "pf", "pf_sens", "pf_hard")
CHOICES = named(choices, "sm", "sm_bad", "sm_bad_cum")
REJECTIONS = named(choices, "rej", "rej_twice", "rej_nomax")
MAXIMA = named(choices, "nm", "nm_bad")
WRONG = named(mistakes, "bad", "bad_twice")
TWICE = [mistakes.bad_twice, *(getattr(choices, n) for n in ("rej_twice", "sm_bad", "sm_bad_cum"))]
TWICE.append(choices.nm_bad)
# 1 - e^-200 is 1 in doubles, and what is drawn with it has no exact value.
ROUNDED_FAR_OUT = [races.pf_choice_coin]


def neighbours(source, n, adjacency="linf", radius=1):
    x = [source.randint(-24, 24) / 8 for _ in range(n)]
    steps = (0, 1) if adjacency == "monotone" else (-1, 0, 1)
    return x, [v + radius * source.choice(steps) for v in x]


def held_against_the_exact_engine(function, proof, adjacency="linf", radius=1):
    """Never above on random neighbours, and near along the ray."""
    source = random.Random(7)
    bound = float(proof.epsilon)
    for n in (2, 3):
        x, other = neighbours(source, n, adjacency, radius)
        found = dpest.exact(function, np.array(x), np.array(other))
        assert found.epsilon <= bound + 1e-9
    if proof.status == "exact":
        x, other = proof.lower.ray.pair(400)
        if function in ROUNDED_FAR_OUT:
            with pytest.raises(RoundedChanceError):
                dpest.exact(function, np.array(x), np.array(other))
            return
        found = dpest.exact(function, np.array(x), np.array(other))
        assert 0.99 * bound <= found.epsilon <= bound + 1e-9


@pytest.mark.parametrize("function", RACES, ids=lambda f: f.__name__)
def test_permute_and_flip_is_a_race(function):
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.length, proof.epsilon) == ("exact", ANY, 1)
    assert proof.certificate["rule"] == "race"
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    at = prove(function, adjacency="linf", length=3, claim="pure:eps")
    assert (at.status, at.length, at.epsilon) == ("exact", 3, 1)
    monotone = prove(function, adjacency="monotone")
    assert monotone.epsilon == Fraction(1, 2)
    held_against_the_exact_engine(function, proof)
    held_against_the_exact_engine(function, monotone, "monotone")


def test_other_scales():
    proof = prove(races.pf_sens, adjacency="linf:2")
    assert proof.epsilon == 1
    held_against_the_exact_engine(races.pf_sens, proof, radius=2)
    assert prove(races.pf_sens, adjacency="linf").epsilon == Fraction(1, 2)
    assert prove(races.pf_hard, adjacency="linf").epsilon == Fraction(1, 2)
    assert prove(races.pf_zoo, adjacency="l1").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("function", CHOICES, ids=lambda f: f.__name__)
def test_the_exponential_mechanism_by_its_probabilities(function):
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.length, proof.epsilon) == ("exact", ANY, 1)
    assert proof.certificate["rule"] in ("choice", "inversion")
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    assert prove(function, adjacency="linf", length=4).status == "exact"
    assert prove(function, adjacency="monotone").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("function", REJECTIONS, ids=lambda f: f.__name__)
def test_the_exponential_mechanism_by_rejection(function):
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.length, proof.epsilon) == ("exact", ANY, 1)
    assert proof.certificate["rule"] == "rejection"
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []


@pytest.mark.parametrize("function", MAXIMA, ids=lambda f: f.__name__)
def test_noisy_maxima(function):
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.length, proof.epsilon) == ("exact", ANY, 1)
    assert prove(function, adjacency="linf", length=3).epsilon == 1
    held_against_the_exact_engine(function, proof)


@pytest.mark.parametrize("function", TWICE, ids=lambda f: f.__name__)
def test_half_the_noise_is_refuted(function):
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.epsilon, proof.lower.value) == ("refuted", 2, 2)
    x, other = proof.lower.ray.pair(20)
    assert dpest.exact(function, np.array(x), np.array(other)).epsilon > 1.9


@pytest.mark.parametrize("length", [ANY, 3])
@pytest.mark.parametrize("function", [*WRONG, choices.rej_nomax], ids=lambda f: f.__name__)
def test_what_is_no_race_is_not_proved(function, length):
    proof = prove(function, adjacency="linf", length=length, claim="pure:eps")
    assert (proof.status, proof.certificate) == ("unknown", None)
    assert proof.reason


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (mistakes.bad_nomax, "may be above 1"),
        (mistakes.bad_other_best, "may be above 1"),
        (mistakes.bad_order, "in the order of the data"),
        (mistakes.bad_state2, "changes something"),
        (mistakes.bad_turn_out, "more than the place"),
        (mistakes.bad_out, "more than the place"),
        (mistakes.bad_same_u, "not one coin"),
        (mistakes.bad_half, "not always accepted"),
    ],
)
def test_the_reason_says_what_is_wrong(function, why):
    assert why in prove(function, adjacency="linf").reason


# What would fool a reading: the law of the untouched function is held against that of the model.


def looks_at_types(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if isinstance(scores[i], float) or rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


CALLS = []


def remembers(scores, rng, *, eps=1.0):
    best = max(scores)
    CALLS.append(1)
    for i in rng.permutation(len(scores)):
        factor = 2 - len(CALLS) % 2
        if rng.random() < np.exp(factor * eps / 2 * (scores[i] - best)):
            return i


def fresh_order_each_turn(scores, rng, *, eps=1.0):
    best = max(scores)
    for j in range(len(scores)):
        order = rng.permutation(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[order[j]] - best)):
            return order[j]


def another_entry(scores, rng, *, eps=1.0):
    best = max(scores)
    order = rng.permutation(len(scores))
    for j in range(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[j] - best)):
            return order[j]


def both_entries(scores, rng, *, eps=1.0):
    best = max(scores)
    order = rng.permutation(len(scores))
    for j, s in enumerate(scores):
        if rng.random() < np.exp(eps / 2 * (scores[order[j]] - best + 0 * s)):
            return order[j]


def last_place(scores, rng, *, eps=1.0):
    best = max(scores)
    last = 0
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return last
        last = i


def same_candidate_again(scores, rng, *, eps=1.0):
    best = max(scores)
    i = rng.integers(len(scores))
    while True:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def two_draws_of_a_place(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        j = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return j


def share_of_other_weights(scores, rng, *, eps=1.0):
    weights = [math.exp(eps / 2 * s) for s in scores]
    others = [math.exp(eps * s) for s in scores]
    u = rng.random() * sum(others)
    acc = 0.0
    for i, w in enumerate(weights):
        acc += w
        if u < acc:
            return i


def squares_of_weights(scores, rng, *, eps=1.0):
    weights = [math.exp(eps / 2 * s) for s in scores]
    u = rng.random() * sum(weights)
    acc = 0.0
    for i, w in enumerate(weights):
        acc += 2 * w
        if u < acc:
            return i


def a_share_for_each(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    p = w / w.sum()
    c = 0.0
    for i in range(len(p)):
        c += p[i]
        if rng.random() <= c:
            return i


def part_of_a_share(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return np.searchsorted(np.cumsum(w / w.sum()), rng.uniform(0, 0.5))


def share_is_released(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    u = rng.random()
    return np.searchsorted(np.cumsum(w / w.sum()), u), u


def chance_is_released(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        p = np.exp(eps / 2 * (scores[i] - best))
        if rng.random() < p:
            return p


def labels_that_are_scores(scores, rng, *, eps=1.0):
    best = max(scores)
    labels = list(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return labels[i]


def two_orders(scores, rng, *, eps=1.0):
    best = max(scores)
    first, second = rng.permutation(len(scores)), rng.permutation(len(scores))
    for j in range(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[first[j]] - best)):
            return second[j]


def one_is_thrown_away(scores, rng, *, eps=1.0):
    best = max(scores)
    left = list(range(len(scores)))
    left.pop(rng.integers(len(left)))
    while left:
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def ends_with_another_list(scores, rng, *, eps=1.0):
    best = max(scores)
    left, others = list(range(len(scores))), list(range(len(scores)))
    while left and others:
        others.pop(rng.integers(len(others)))
        if others:
            others.pop(rng.integers(len(others)))
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def index_of_another_list(scores, rng, *, eps=1.0):
    best = max(scores)
    left, others = list(range(len(scores))), list(range(len(scores)))
    others.pop(rng.integers(len(others)))
    while others:
        i = left.pop(rng.integers(len(others)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def weights_with_noise(scores, rng, *, eps=1.0):
    noisy = np.asarray(scores) + rng.laplace(scale=1.0)
    w = np.exp(eps / 2 * noisy)
    return rng.choice(len(scores), p=w / w.sum()), noisy[0]


def changed_by_another_name(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    p = w
    p /= w.sum()
    w *= 2
    return rng.choice(len(scores), p=p / 2), w.max()


def two_choices(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    p = w / w.sum()
    return rng.choice(len(scores), p=p), rng.choice(len(scores), p=p)


@pytest.mark.parametrize(
    "function",
    [
        two_orders,
        one_is_thrown_away,
        ends_with_another_list,
        index_of_another_list,
        weights_with_noise,
        changed_by_another_name,
        two_choices,
        looks_at_types,
        remembers,
        fresh_order_each_turn,
        another_entry,
        both_entries,
        last_place,
        same_candidate_again,
        two_draws_of_a_place,
        share_of_other_weights,
        squares_of_weights,
        a_share_for_each,
        part_of_a_share,
        share_is_released,
        chance_is_released,
        labels_that_are_scores,
    ],
)
def test_what_only_looks_like_one_has_no_proof(function):
    CALLS.clear()
    proof = prove(function, adjacency="linf", claim="pure:eps")
    assert (proof.status, proof.certificate) == ("unknown", None), proof.reason


# The rule itself.


def tried_in_every_order(weights):
    """The law of a race, order by order."""
    found = [Fraction(0)] * len(weights)
    orders = list(itertools.permutations(range(len(weights))))
    for order in orders:
        left = Fraction(1)
        for i in order:
            found[i] += left * weights[i] / len(orders)
            left *= 1 - weights[i]
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_race_has_the_law_of_the_rule_exactly(n):
    source = random.Random(n)
    for _ in range(5):
        weights = [Fraction(source.randint(1, 20), 20) for _ in range(n)]
        weights[source.randrange(n)] = Fraction(1)
        assert race(weights) == tried_in_every_order(weights)
        assert sum(race(weights)) == 1
        assert sum(softmax(weights)) == 1


def with_exponential_noise(scores, rng, *, eps=1.0):
    return np.argmax(np.asarray(scores) + rng.exponential(2 / eps, size=len(scores)))


@pytest.mark.parametrize("x", [[0.0, 0.5], [1.0, -1.25, 0.5], [0.0, 0.0, 3.0, 2.75]])
def test_an_argmax_with_exponential_noise_has_it_too(x):
    """The exact engine integrates the noise out; the rule's formula never sees it."""
    weights = [math.exp((v - max(x)) / 2) for v in x]
    noisy = dpest.distribution(with_exponential_noise, np.array(x))
    raced = dpest.distribution(races.pf_zoo, np.array(x))
    for i, p in enumerate(race(weights)):
        assert noisy.probability(i) == pytest.approx(p, abs=1e-9)
        assert raced.probability(i) == pytest.approx(p, abs=1e-9)


def test_the_rule_is_part_of_the_certificate():
    certificate = json.loads(json.dumps(prove(races.pf_zoo, adjacency="linf").certificate))
    kernel.check(certificate)
    forged = {**certificate, "rule": "rejection"}
    with pytest.raises(kernel.Invalid):
        kernel.check(forged)
    plain = {k: v for k, v in certificate.items() if k != "rule"}
    assert differences(plain, races.pf_zoo) == ["rule"]
    other = {**certificate, "element": {"q": "1/2", "h0_0": "1"}}
    assert differences(other, races.pf_zoo) == ["element"]


def test_the_zoo():
    entry = zoo.get("PermuteAndFlip")
    proof = prove(entry)
    assert (proof.status, proof.length, proof.epsilon) == ("exact", ANY, 1)
    assert "`race`" in proof.explain()
    verdict = dpest.audit(entry)
    assert verdict.status == "exact"
    assert verdict.gap <= 0.01
