"""What an audit does by itself for code that can only be run: the grey box, and the doubles.

A sum that goes through JSON is not read: where noise comes from is no reason to stop any more.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dpest
from dpest.attacks.floating import audit_doubles


def total(x):
    return json.loads(json.dumps(sum(x)))


def textbook(x):
    return total(x) + np.random.laplace(0.0, 1.0)  # noqa: NPY002


def on_a_grid(x):
    return round(total(x) + np.random.laplace(0.0, 1.0))  # noqa: NPY002


def too_little(x):
    return 2 * total(x) + np.random.laplace(0.0, 1.0)  # noqa: NPY002


def asked(function, **question):
    return dpest.audit(
        function, epsilon=1.0, adjacency="l1", length=1, budget=150_000, seed=0, **question
    )


def test_a_black_box_that_releases_doubles():
    verdict = asked(textbook)
    assert verdict.status == "unsettled"
    assert verdict.floating_point is not None
    assert verdict.floating_point_violated
    assert verdict.floating_point.runs <= 60_000
    assert verdict.recorded is not None
    assert verdict.recorded.value == pytest.approx(1.0)
    assert verdict.upper is None  # a finding is not a bound
    assert "Grey box: no findings" in str(verdict)
    assert '"recorded"' in verdict.to_json()


def test_a_grid_has_no_doubles_to_audit():
    verdict = asked(on_a_grid)
    assert verdict.floating_point is None
    assert not verdict.violated


def test_doubles_can_be_left_alone():
    assert asked(textbook, floating_point=False).floating_point is None
    dpest.assert_private(textbook, epsilon=1.0, adjacency="l1", length=1, budget=2000)


def test_the_grey_box_says_what_runs_show():
    verdict = asked(too_little, floating_point=False)
    assert verdict.violated
    findings = verdict.recorded.details["recorded"]["findings"]
    assert [f["what"] for f in findings] == ["sensitivity"]
    assert findings[0]["line"] == too_little.__code__.co_firstlineno + 1


def test_doubles_are_audited_at_a_delta():
    def gaussian(x, rng):
        return x + rng.normal(scale=10.0)

    found = audit_doubles(gaussian, 0.0, 1.0, budget=40_000, seed=1, delta=1e-3)
    assert found.measure.delta == 1e-3
    assert found.value > 3 * dpest.GaussianDP(0.1).epsilon_at(1e-3)

    def rounded(x, rng):
        return float(np.round(x + rng.normal(scale=10.0)))

    # The bound exceeds the truth with chance 0.05 at most; the seed is fixed.
    found = audit_doubles(rounded, 0.0, 1.0, budget=40_000, seed=1, delta=1e-3)
    assert found.value <= dpest.GaussianDP(0.1).epsilon_at(1e-3)


def test_the_names_of_the_older_generator():
    """`rng.rand` and `rng.randint` are those of NumPy's RandomState: it is handed in."""

    def flipped(x, rng, p=0.75):
        return [v if rng.rand() < p else 1 - v for v in x]

    verdict = dpest.audit(
        flipped, epsilon=math.log(3), adjacency="replace_one", domain="integers(2, 0, 1)"
    )
    assert verdict.status in ("exact", "proved")

    def few(x, rng):
        return sum(x) + rng.randint(0, 3)

    verdict = dpest.audit(few, epsilon=1, adjacency="replace_one", domain="integers(2, 0, 1)")
    assert verdict.status == "violated"
    assert math.isinf(verdict.lower.value)


def test_what_the_grey_box_saw_is_sampled_first():
    """Keys of the data: the pair whose runs draw different numbers of noises is the one to run."""
    pd = pytest.importorskip("pandas")

    def counts(df, rng, *, epsilon=1.0):
        found = pd.Series(df["city"]).value_counts()
        return found + rng.laplace(scale=1 / epsilon, size=len(found))

    verdict = dpest.audit(
        counts,
        epsilon=1,
        adjacency="add_remove_one",
        domain=dpest.table(dpest.ANY, city=["Berlin", "Paris", "Rome"], as_="pandas"),
    )
    assert verdict.status == "violated"
