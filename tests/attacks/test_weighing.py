"""Pairs and events chosen by exact likelihoods: right weights, few runs, and no trust in a lie."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from dpest import zoo
from dpest.ask.declaration import as_mechanism
from dpest.attacks.demonstration.choosing import _cases, demonstrate
from dpest.attacks.demonstration.needed_runs import runs_to_refute
from dpest.attacks.demonstration.weighing import WeighedOutputs, Weighing, fewest_runs
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.attacks.statdp.selector import families_of
from dpest.errors import RefusedError
from dpest.exact.engine import PairObjective, exact_loss

AT3_PAIR = InputCase([1.0] * 4, [2.0, 2.0, 2.0, 0.0])


def weighing_of(mechanism, epsilon, likelihoods=None):
    target = as_mechanism(mechanism)
    exact = PairObjective(target).densities
    return Weighing(Laboratory(target, None, 0), likelihoods or exact, epsilon, 0.0)


def test_the_best_event_is_where_the_ratio_is_large():
    """Randomised response with ε = 1 against a claim of 0.5: the event is one of two answers."""
    loss = 1.0
    ratio = np.array([loss] * 731 + [-loss] * 269 + [loss] * 269 + [-loss] * 731)
    runs, level, _ = fewest_runs(ratio, 0.5, 0.0)
    assert level == pytest.approx(loss)
    assert 200 <= runs < 2000
    assert fewest_runs(ratio, 1.0, 0.0)[0] == math.inf


def test_weighed_tables_are_those_of_many_runs():
    """Shares of a table by 4,000 weighed outputs, and by 400,000 counted ones: 6 standard errors.

    The difference of the inputs, which decides, has a tenth of the scatter that counts have.
    """
    weighing = weighing_of(zoo.get("AT3"), 0.1)
    few = WeighedOutputs(weighing._draw(AT3_PAIR, 2_000, "few"))
    many = WeighedOutputs(weighing._draw(AT3_PAIR, 200_000, "many"))
    checked = 0
    for family in list(families_of(few))[:12]:
        small, large = family.table(few), family.table(many)
        axes = tuple(i for i, size in enumerate(small.shape) if size != 2)
        share = large / many.runs
        error = np.sqrt((share + 1 / few.runs) / few.runs)
        assert np.all(np.abs(small / few.runs - share) < 6 * error + 1 / few.runs)
        checked += len(axes) > 0
    assert checked > 3


def test_fewest_runs_of_pairs_are_known_from_few_outputs():
    """Against integrals of the densities: δ(λ) and its slope give the best event's chances."""
    loss = exact_loss(zoo.get("AT3"), AT3_PAIR.x, AT3_PAIR.x2)
    exact, step = math.inf, 1e-3
    for level in np.linspace(0.11, 0.15, 9):
        low, high = loss.delta(level - step), loss.delta(level + step)
        q = (low - high) / (2 * step) * math.exp(-level)
        p = (low + high) / 2 + math.exp(level) * q
        exact = min(exact, runs_to_refute(p, q, 0.1, 0.0))
    weighing = weighing_of(zoo.get("AT3"), 0.1)
    needed = [weighing._draw(AT3_PAIR, 4_000, f"try {i}").ratio for i in range(5)]
    found = [fewest_runs(ratio, 0.1, 0.0)[0] for ratio in needed]
    assert 0.75 * exact < min(found) < max(found) < 1.25 * exact
    assert np.mean(found) == pytest.approx(exact, rel=0.1)


def test_the_event_needs_hardly_more_runs_than_the_best_of_all():
    weighing = weighing_of(zoo.get("AT3"), 0.1)
    assert weighing.weigh([InputCase([1.0] * 4, [2.0] * 4), AT3_PAIR])
    best = min(weighing.plans, key=lambda plan: plan.needed)
    assert best.found.case == AT3_PAIR
    assert 1_100_000 < best.promised < best.needed < 1_700_000


def test_of_a_claim_that_holds_no_event_is_searched():
    weighing = weighing_of(zoo.get("SVT1"), 0.1)
    assert not weighing.weigh([InputCase([1.0] * 10, [2.0] * 10)])
    assert weighing.fewest_runs([]) == math.inf


def test_likelihoods_that_the_runs_deny_choose_nothing():
    def lie(x, x2):
        def densities(samples):
            values = samples.groups[0].columns[0]
            return np.where(values > 0, 0.0, -3.0), np.where(values > 0, -3.0, 0.0)

        return densities

    def fine(x, rng):
        return sum(x) + rng.laplace(scale=1.0)

    weighing = weighing_of(fine, 1.0, lie)
    assert not weighing.weigh([InputCase([0.0], [1.0])])
    assert weighing.plans == []


def test_unknown_densities_leave_the_runs_to_decide():
    def unknown(x, x2):
        raise RefusedError("no")

    def wrong(x, rng):
        return sum(x) + rng.laplace(scale=0.65)

    shown = demonstrate(as_mechanism(wrong), [([0.0], [1.0])], 1.0, likelihoods=unknown)
    assert shown is not None
    assert shown.p > math.e * shown.q


def test_pairs_are_looked_at_once():
    cases = _cases([([1], [2]), ([2.0], [1.0]), ([1], [3]), ([1], [2])])
    assert cases == [InputCase([1], [2]), InputCase([1], [3])]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("SVT34Parallel", 400_000), ("SVT6", 200_000)])
def test_scripts_of_small_excesses(name, most, tmp_path):
    target = zoo.get(name)
    pairs = [([1.0] * 10, [2.0] * 5 + [0.0] * 5), ([1.0] * 10, [2.0] * 10)]
    shown = demonstrate(target, pairs, 0.1, likelihoods=PairObjective(target).densities)
    assert shown is not None
    assert shown.runs <= most
    (tmp_path / "shown.py").write_text(shown.script, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "shown.py"], cwd=tmp_path, env=dict(os.environ), capture_output=True,
        text=True, check=True, timeout=600,
    )  # fmt: skip
    printed = re.search(r"p-value of the claim .*: (\S+)", ended.stdout)
    assert printed is not None
    assert float(printed[1]) < 1e-3
