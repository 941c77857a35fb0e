"""Records that come and go, records of several fields, and comprehensions at any length."""

from __future__ import annotations

import copy
import json
import math
import random

import numpy as np
import pytest

import dpest
from dpest import ANY, kernel, noise, records, zoo
from dpest.proofs import prove
from dpest.proofs.rebuilding import differences

ADD = "add_remove_one"


def loop_of_sums(x, rng, *, eps=1.0):
    total = 0
    n = 0
    for v in x:
        total += min(max(v, 0), 1)
        n += 1
    return total + rng.laplace(scale=2 / eps), n + rng.laplace(scale=2 / eps)


def count_if(x, rng, *, eps=1.0):
    return sum(1 for v in x if v > 3) + rng.laplace(scale=1 / eps)


def count_true(x, rng, *, eps=1.0):
    return sum(v > 3 for v in x) + rng.laplace(scale=1 / eps)


def numpy_sum(x, rng, *, eps=1.0):
    return np.sum(np.clip(x, -1, 2)) + rng.laplace(scale=2 / eps)


def then_the_count(x, rng, *, eps=1.0):
    s = 0.0
    for v in x:
        s += np.clip(v, 0, 1)
    s = s + rng.laplace(scale=2 / eps)
    n = len(x) + rng.laplace(scale=2 / eps)
    if n > 3:
        return s, n
    return 0, n


def whole_count(x, rng, *, eps=1.0):
    return len(x) + noise.discrete_laplace(rng, 1 / eps)


def too_little_noise(x, rng, *, eps=1.0):
    return sum(np.clip(v, -1, 2) for v in x) + rng.laplace(scale=1 / eps)


PROVED = {
    loop_of_sums: 1,
    count_if: 1,
    count_true: 1,
    numpy_sum: 1,
    then_the_count: 1,
    whole_count: 1,
    too_little_noise: 2,
}


@pytest.mark.parametrize("function", PROVED)
def test_sums_and_counts_are_proved_where_records_come_and_go(function):
    """And the exact ε of random neighbours of different lengths is never above what is proved."""
    proof = prove(function, adjacency=ADD)
    assert (proof.length, proof.epsilon) == (ANY, PROVED[function])
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    source = random.Random(5)
    worst = 0.0
    for _ in range(12):
        x = [source.randint(-3, 6) for _ in range(source.randint(0, 3))]
        place = source.randint(0, len(x))
        x2 = [*x[:place], source.randint(-3, 6), *x[place:]]
        worst = max(worst, dpest.exact(function, x, x2, adjacency=ADD).epsilon)
    assert worst <= float(proof.epsilon) + 1e-9
    assert worst >= float(proof.epsilon) - 1e-9  # and the worst record attains it


def half_steps(x, rng, *, eps=1.0):
    return sum(np.clip(v + 0.5, 0.5, 1.5) for v in x) + noise.discrete_laplace(rng, 1 / eps)


def bare_count(x, rng, *, eps=1.0):
    return len(x), rng.laplace(scale=1 / eps)


def noise_for_each(x, rng, *, eps=1.0):
    return [v + rng.laplace(scale=1 / eps) for v in x]


def only_the_first(x, rng, *, eps=1.0):
    out = 0
    for i, v in enumerate(x):
        if i == 0:
            out += np.clip(v, 0, 1)
    return out + rng.laplace(scale=1 / eps)


def unclipped(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)


def scale_by_count(x, rng, *, eps=1.0):
    n = len(x) + 1
    return sum(np.clip(v, 0, 1) for v in x) / n + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (half_steps, "integer noise"),
        (bare_count, "how many records"),
        (noise_for_each, "noise is drawn for each record"),
        (only_the_first, "how many came before"),
        (unclipped, "np.clip"),
        (scale_by_count, "private"),
    ],
)
def test_what_depends_on_the_number_of_records_otherwise_is_refused(function, words):
    proof = prove(function, adjacency=ADD)
    assert (proof.status, proof.certificate) == ("unknown", None)
    assert words in proof.reason


def a_special_length(x, rng, *, eps=1.0):
    if len(x) == 7:
        return 0
    return sum(np.clip(v, 0, 1) for v in x) + rng.laplace(scale=1 / eps)


def test_a_length_that_is_looked_at_is_no_unknown_length():
    assert prove(a_special_length, adjacency=ADD).status == "unknown"


def less_noise_at_seven(x, rng, *, eps=1.0):
    scale = 0.25 / eps if len(x) == 7 else 1 / eps
    return sum(np.clip(v, 0, 1) for v in x) + rng.laplace(scale=scale)


def no_noise_at_seven(x, rng, *, eps=1.0):
    if len(x) == 7:
        return sum(np.clip(v, 0, 1) for v in x)
    return sum(np.clip(v, 0, 1) for v in x) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize(("function", "bound"), [(a_special_length, 1), (less_noise_at_seven, 4)])
def test_a_length_that_neighbours_share_may_decide(function, bound):
    """Where a record is replaced, the length is public: each of its ways has its own bound."""
    proof = prove(function, adjacency="replace_one")
    assert (proof.length, proof.epsilon, proof.method) == (ANY, bound, "contributions")
    worst = 0.0
    for rest in ([], [0.5, 2], [3, 0, 1, -1, 0.5, 2]):
        loss = dpest.exact(function, [0, *rest], [1, *rest], adjacency="replace_one")
        worst = max(worst, loss.epsilon)
    assert worst == pytest.approx(bound)


def test_a_length_without_noise_is_not_proved():
    assert prove(no_noise_at_seven, adjacency="replace_one").certificate is None


def _share(person, cap):
    return min(max(person["pay"], 0), cap)


def of_two_fields(people, rng, *, eps=1.0):
    ages = [min(max(p["age"], 0), 100) for p in people]
    return (
        sum(ages) + rng.laplace(scale=200 / eps),
        sum(_share(p, 10) for p in people) + rng.laplace(scale=20 / eps),
    )


def as_they_are(people, rng, *, eps=1.0):
    age = sum(p["age"] for p in people) + rng.laplace(scale=100 / eps)
    return age, sum(p["pay"] for p in people) + rng.laplace(scale=10 / eps)


OPEN = records(3, fields={"age": (0, math.inf), "pay": (0, math.inf)})
CLOSED = records(3, fields={"age": (0, 100), "pay": (0, 10)})


@pytest.mark.parametrize(
    ("function", "domain", "adjacency", "expected"),
    [
        (of_two_fields, OPEN, ADD, 1),
        (of_two_fields, OPEN, "replace_one", 1),
        (as_they_are, CLOSED, ADD, 2),
        (as_they_are, CLOSED, "replace_one", 2),
    ],
)
def test_records_of_several_fields(function, domain, adjacency, expected):
    proof = prove(function, adjacency=adjacency, domain=domain)
    assert (proof.length, proof.epsilon) == (ANY, expected)
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []


def mean_age(people, rng, *, eps=1.0):
    n = len(people)
    return sum(min(max(p["age"], 0), 100) for p in people) / n + rng.laplace(scale=100 / (eps * n))


def test_a_mean_of_records():
    proof = prove(mean_age, adjacency="replace_one", domain=OPEN)
    assert (proof.length, proof.epsilon) == (ANY, 1)


def test_unbounded_fields_are_not_proved():
    for adjacency in (ADD, "replace_one"):
        assert prove(as_they_are, adjacency=adjacency, domain=OPEN).certificate is None


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["domain"]["range"][0].__setitem__(1, "200"),
        lambda c: c["cases"].pop(),
        lambda c: c["cases"][0]["value"]["t0"].__setitem__(0, "-100"),
        lambda c: c["cases"][0]["if"].append(["0", {"q": "1"}, False]),
        lambda c: c.__setitem__("steps", 2),
        lambda c: c["statistics"].append("t0"),
        lambda c: c["edges"][1].__setitem__("release", ["1"]),
        lambda c: c["adjacency"].__setitem__("name", "linf"),
        lambda c: [
            e["set"].update({s: {s: "1"}}) for e in c["edges"] if e["reads"] for s in e["set"]
        ],
    ],
)
def test_the_checker_sees_what_a_record_adds(change):
    def both(x, rng, *, eps=1.0):
        return sum(x) + rng.laplace(scale=200 / eps), len(x) + rng.laplace(scale=2 / eps)

    domain = dpest.reals(ANY, 0, 100)
    certificate = json.loads(json.dumps(prove(both, adjacency=ADD, domain=domain).certificate))
    kernel.check(certificate)
    changed = copy.deepcopy(certificate)
    change(changed)
    accepted = True
    try:
        kernel.check(changed)
    except Exception:
        accepted = False
    # A turn that adds nothing is another program: `dpest check` compares the source with it.
    if accepted:
        assert "edges" in differences(changed, both)


def test_the_zoo_where_records_come_and_go():
    for name in ("Sum", "SalarySumAndCount"):
        assert prove(zoo.get(name)).proved
    for name in ("JoiningMean", "JoiningMean_unclipped"):
        assert prove(zoo.get(name)).certificate is None


def decides_for_each(x, rng, *, eps=1.0):
    return sum([1 if v + rng.laplace(scale=1 / eps) > 0 else 0 for v in x])


def test_a_decision_inside_of_a_comprehension_is_not_taken_once_for_all():
    proof = prove(decides_for_each, adjacency="linf")
    if proof.epsilon is not None:
        worst = dpest.exact(decides_for_each, [5.0] * 3, [6.0] * 3).epsilon
        assert worst <= float(proof.epsilon)
    else:
        assert proof.certificate is None


def count_of_noisy(x, rng, *, eps=1.0):
    v = [q + rng.laplace(scale=1 / eps) for q in x]
    return sum(w > 0 for w in v)


def count_if_noisy(x, rng, *, eps=1.0):
    return sum(1 for q in x if q + rng.laplace(scale=1 / eps) > 0)


@pytest.mark.parametrize("function", [count_of_noisy, count_if_noisy])
@pytest.mark.parametrize("adjacency", ["linf", "l1", ADD])
def test_a_count_of_noisy_decisions_is_no_count_of_data(function, adjacency):
    proof = prove(function, adjacency=adjacency)
    assert (proof.status, proof.certificate) == ("unknown", None)
    if adjacency != ADD:
        fixed = prove(function, adjacency=adjacency, length=2)
        worst = dpest.exact(function, [5.0, 5.0], [6.0, 6.0 if adjacency == "linf" else 5.0])
        assert fixed.epsilon is None or worst.epsilon <= float(fixed.epsilon) + 1e-9
