"""The grey box: what noise covers, what it doesn't, and on which line."""

from __future__ import annotations

import inspect
import math
import random
import secrets
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpest
from attacks import recorded_bugs
from dpest.attacks.recorded.pricing import Price, chances_price, coin_price, shift_price
from dpest.evidence import Measure


def recorded(function, x, x2, **question):
    question.setdefault("adjacency", dpest.any_pair())
    return dpest.attack(function, x, x2, method="recorded", **question)


def kinds(evidence):
    return [f["what"] for f in evidence.details["recorded"]["findings"]]


# The six published bugs ---------------------------------------------------------------------


def line_of(mark):
    lines = Path(recorded_bugs.__file__).read_text().splitlines()
    return next(i for i, text in enumerate(lines, 1) if f"# BUG {mark}" in text)


@pytest.mark.parametrize("name", recorded_bugs.BUGS)
def test_published_bugs_are_found_with_their_line(name):
    x, x2, question, what, mark = recorded_bugs.BUGS[name]
    found = recorded(getattr(recorded_bugs, name), x, x2, epsilon=1.0, **question)
    assert what in kinds(found)
    finding = next(f for f in found.details["recorded"]["findings"] if f["what"] == what)
    if mark:
        assert finding["line"] == line_of(mark)
        assert finding["file"] == recorded_bugs.__file__
    else:
        assert "['records']" in finding["words"]
    assert found.seconds < 5
    assert found.runs <= 10


def test_a_finding_is_no_bound():
    found = recorded(recorded_bugs.sum_of_shifted_values, [0.0], [1.0], epsilon=1.0)
    assert found.standing.name == "estimate"
    assert not found.standing.is_bound


# What is right is found right ---------------------------------------------------------------


def added(x, rng):
    return [v + rng.laplace(scale=2) for v in x]


def located(x, rng):
    return rng.laplace(np.asarray(x), 2)


def global_numpy(x):
    return np.asarray(x) + np.random.laplace(0, 2, size=len(x))  # noqa: NPY002


def accumulated(x, rng):
    total = rng.laplace(scale=2)
    for v in x:
        total += v
    return total


def two_sided(x, rng):
    return sum(x) + rng.exponential(2) - rng.exponential(2)


def scaled(x, rng):
    return 2 * (sum(x) / 2 + 0.5 * rng.laplace(0.0, 2.0))


@pytest.mark.parametrize("function", [added, located, global_numpy, accumulated, two_sided, scaled])
def test_laplace_noise_costs_its_shift(function):
    found = recorded(function, [1.0, 2.0], [2.0, 2.0], epsilon=0.5)
    assert found.value == pytest.approx(0.5)
    assert kinds(found) == []
    assert found.details["recorded"]["complete"]
    row = found.details["recorded"]["primitives"][-1]
    body, first = inspect.getsourcelines(function)
    assert first <= row["line"] < first + len(body)


def test_gaussian_noise_composes_in_squares():
    def noisy(x, rng):
        return np.asarray(x) + rng.normal(0, 2, size=2)

    found = recorded(noisy, [0.0, 0.0], [3.0, 4.0], epsilon=50, delta=1e-5)
    assert found.value == pytest.approx(dpest.GaussianDP(2.5).epsilon_at(1e-5))
    assert "exact" in found.witness.event


def test_coins_and_choices_cost_their_log_ratio():
    def coin(x, rng):
        return bool(rng.random() < x[0])

    def choice(x, rng):
        weights = np.exp(np.asarray(x) / 2)
        return int(rng.choice(len(x), p=weights / weights.sum()))

    assert recorded(coin, [0.25], [0.75]).value == pytest.approx(math.log(3))
    p, q = (np.exp(np.array(v)) for v in ([0.0, 0.0], [0.5, 0.0]))
    expected = np.abs(np.log(p / p.sum()) - np.log(q / q.sum())).max()
    assert recorded(choice, [0.0, 0.0], [1.0, 0.0]).value == pytest.approx(expected)


def test_post_processing_is_an_upper_bound_and_says_so():
    def above(x, rng):
        return bool(x[0] + rng.laplace(0, 1) > 0.3)

    found = recorded(above, [0.5], [1.5], epsilon=1.0)
    assert found.value == pytest.approx(1.0)
    assert "upper bound" in found.witness.event
    assert kinds(found) == []
    # More than the claim, but an argmax may cost less: not a finding.
    found = recorded(above, [0.5], [1.5], epsilon=0.5)
    assert kinds(found) == []
    assert not found.details["recorded"]["complete"]


# No false findings --------------------------------------------------------------------------


def response(x):
    return x[0] if random.random() < 0.75 else 1 - x[0]


def rounded(x, rng):
    return sum(x) + round(rng.laplace(0, 1))


def inverse_cdf(x, rng):
    u = rng.random() - 0.5
    return x[0] - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


@pytest.mark.parametrize("function", [response, rounded, inverse_cdf])
def test_what_can_not_be_followed_is_unresolved(function):
    for seed in range(5):
        found = recorded(function, [0.0], [1.0], epsilon=1.0, seed=seed)
        assert kinds(found) == []


def noise_on_a_table(x, rng):
    """pandas makes a table of the noise, and loses sight of it; two cells are 0."""
    table = pd.DataFrame({"a": [float(x[0]), 0.0], "b": [1.0, 0.0]})
    return table + rng.laplace(0, 1.0, size=(2, 2))


def test_noise_that_is_lost_on_the_way_is_no_finding():
    found = recorded(noise_on_a_table, [0.0], [1.0])
    assert not kinds(found)


def test_noise_that_no_hook_sees_is_said():
    import os

    def unseen(x):
        return x[0] + int.from_bytes(os.urandom(4), "big") / 2**32

    found = recorded(unseen, [0.0], [1.0], epsilon=1.0)
    assert kinds(found) == []
    assert not found.details["recorded"]["complete"]
    assert any("bypass" in note for note in found.notes)


def sampled(x, rng):
    taken = [v for v, keep in zip(x, rng.random(len(x)) < 0.5, strict=True) if keep]
    return sum(taken) + rng.laplace(0, 1)


def descent(x, rng):
    theta = 0.0
    for _ in range(3):
        steps = np.clip(theta - np.asarray(x), -1, 1)
        theta = theta - 0.2 * (steps.sum() + rng.normal(0, 3.0))
    return theta


def top_of_noisy(x, rng):
    return int(np.argmax([v + rng.laplace(0, 2) for v in x]))


@pytest.mark.parametrize(
    ("function", "x", "x2"),
    [
        (sampled, [0.5] * 3, [0.5] * 4),
        (descent, [1.0, 2.0], [1.0, 2.0, 3.0]),
        (top_of_noisy, [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]),
    ],
)
def test_sampling_adaptivity_and_selection_are_no_findings(function, x, x2):
    adjacency = dpest.any_pair() if len(x) == len(x2) else "add_remove_one"
    for seed in range(3):
        found = recorded(function, x, x2, epsilon=1.0, delta=1e-3, adjacency=adjacency, seed=seed)
        assert kinds(found) == []


def test_each_step_of_an_adaptive_loop_is_priced():
    question = {"adjacency": "add_remove_one", "epsilon": 5.0, "delta": 1e-3}
    found = recorded(descent, [1.0, 2.0], [1.0, 2.0, 3.0], **question)
    assert found.details["recorded"]["primitives"][0]["uses"] == 3
    assert found.details["recorded"]["cost"] <= dpest.GaussianDP(3**0.5 / 3).epsilon_at(1e-3) + 1e-9


# More that is wrong -------------------------------------------------------------------------


def test_noise_used_for_two_values():
    def shared(x, rng):
        noise = rng.laplace(0, 1)
        return x[0] + noise, x[1] + noise

    assert "noise used twice" in kinds(recorded(shared, [0.0, 0.0], [1.0, 0.0]))
    # Both values move alike: the noise moves once, and pays once.
    assert recorded(shared, [0.0, 0.0], [1.0, 1.0]).value == pytest.approx(1.0)


def test_a_scale_that_depends_on_the_data():
    def scaled_by_length(x, rng):
        return sum(x) / len(x) + rng.laplace(0, 1 / len(x))

    found = recorded(scaled_by_length, [0.0] * 3, [0.0] * 4, adjacency="add_remove_one")
    assert kinds(found) == ["scale from data"]


def test_a_seed_made_of_the_data():
    def seeded(x):
        return sum(x) + np.random.default_rng(int(sum(x))).laplace(0, 1)

    assert kinds(recorded(seeded, [1.0], [2.0])) == ["seed from data"]


def test_an_exception_is_named():
    def fails(x, rng):
        if not x:
            raise KeyError("nothing there")
        return sum(x) + rng.laplace(0, 1)

    found = recorded(fails, [1.0], [], adjacency="add_remove_one")
    assert kinds(found) == ["raises"]
    assert "KeyError" in found.notes[0]


def test_the_hooks_go_away():
    before = {
        "laplace": np.random.Generator.laplace,
        "numpy": np.random.laplace,
        "random": random.random,
        "gauss": random.Random.gauss,
        "secrets": secrets.randbelow,
    }
    recorded(added, [1.0], [2.0])
    after = {
        "laplace": np.random.Generator.laplace,
        "numpy": np.random.laplace,
        "random": random.random,
        "gauss": random.Random.gauss,
        "secrets": secrets.randbelow,
    }
    assert before == after
    assert type(np.random.default_rng(0).laplace()) is float
    assert "random" not in vars(random.Random)


# Prices -------------------------------------------------------------------------------------


def test_prices():
    assert shift_price("laplace", 2.0, -3.0) == Price(pure=1.5)
    assert shift_price("normal", 2.0, 3.0) == Price(mu=1.5)
    assert shift_price("uniform", 1.0, 0.1).pure == math.inf
    assert shift_price("gumbel", 1.0, 0.1).unpriced
    assert shift_price("cauchy", 2.0, -3.0).pure == pytest.approx(2 * math.asinh(0.75))
    assert chances_price(np.array([0.5, 0.5]), np.array([1.0, 0.0])).pure == math.inf
    coin = coin_price("uniform", np.array([1.0]), np.array([0.5]), np.array([0.25]))
    assert coin.pure == pytest.approx(math.log(2))
    both = Price(pure=0.5, mu=1.0)
    assert both.at(Measure()) == math.inf
    assert both.at(Measure("zcdp")) == pytest.approx(0.625)
    assert Price(claimed=(1.0, 1e-6)).at(Measure()) == math.inf
    assert Price(claimed=(1.0, 1e-6)).at(Measure(delta=1e-5)) == 1.0


# The command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pair", "status", "said"),
    [
        ("budget_spent_twice", ("[0, 0.5]", "[1, 0.5]"), 2, "FINDING budget"),
        ("budget_spent_twice", ("[0, 0.5]", "[0.25, 0.5]"), 0, "nothing found"),
    ],
)
def test_the_command_says_that_a_finding_is_no_bound(name, pair, status, said, capsys):
    from dpest.cli import main

    target = f"{recorded_bugs.__file__}:{name}"
    options = ["--method", "recorded", "--pair", *pair, "--epsilon", "1"]
    with pytest.raises(SystemExit) as end:
        main(["attack", target, *options, "--adjacency", "replace_one"])
    assert end.value.code == status
    shown = capsys.readouterr().out
    assert said in shown
    assert "a finding, not a bound" in shown
