"""A batch has the distribution of single runs, for every style, on every array library.

Each comparison fails by chance with probability below 1e-6 (p-values of exact or asymptotic tests
against a threshold of 1e-7, at most ten a case); seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpest.running.batch.batch import batch
from dpest.running.samples import Samples
from dpest.running.skeleton import raised_output

from .batch_cases import CASES, X

RUNS = 4000
THRESHOLD = 1e-7


def single_runs(mechanism: Callable[..., Any], x: Any, size: int, seed: int) -> Samples:
    rng = np.random.default_rng(seed)
    outputs = []
    for _ in range(size):
        try:
            outputs.append(mechanism(x, rng))
        except ValueError as error:
            outputs.append(raised_output(error))
    return Samples.from_outputs(outputs)


def assert_alike(a: Samples, b: Samples) -> None:
    """Two-sample tests: chi-squared on the discrete part, Kolmogorov-Smirnov on each float."""
    joined = Samples.concatenate([a, b]).codes()
    first = np.bincount(joined.values[: a.size], minlength=len(joined.keys))
    second = np.bincount(joined.values[a.size :], minlength=len(joined.keys))
    table = np.array([first, second])
    rare = table.sum(axis=0) < 20
    pooled = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    pooled = pooled[:, pooled.sum(axis=0) > 0]
    if pooled.shape[1] > 1:
        assert stats.chi2_contingency(pooled).pvalue > THRESHOLD, table
    for group in a.groups:
        other = [g for g in b.groups if g.skeleton == group.skeleton]
        if not other:
            continue
        for kind, column, against in zip(group.kinds, group.columns, other[0].columns, strict=True):
            if kind == "float" and len(column) > 50 and len(against) > 50:
                assert stats.ks_2samp(column, against, method="asymp").pvalue > THRESHOLD


@pytest.mark.parametrize("mechanism", CASES, ids=lambda m: m.__name__)
def test_batch_has_the_distribution_of_single_runs(mechanism: Any) -> None:
    x = np.array(X) if mechanism.__name__ in ("svt_by_mask", "table_look_up") else X
    assert_alike(batch(mechanism, x, 5 * RUNS, 1), single_runs(mechanism, x, RUNS, 2))


STYLES_THAT_NEED_ONE_NUMBER = {
    "one_number_at_a_time",
    "one_number_after_a_decision",
    "adds_in_place_to_a_shared_array",
    "sometimes_raises",
}


@pytest.mark.parametrize("mechanism", CASES, ids=lambda m: m.__name__)
def test_only_what_must_goes_one_by_one(mechanism: Any) -> None:
    x = np.array(X) if mechanism.__name__ in ("svt_by_mask", "table_look_up") else X
    notes = batch(mechanism, x, 2_000, 1).notes
    assert bool(notes) == (mechanism.__name__ in STYLES_THAT_NEED_ONE_NUMBER), notes


@pytest.mark.parametrize("mechanism", CASES, ids=lambda m: m.__name__)
def test_torch_agrees_with_numpy(mechanism: Any) -> None:
    pytest.importorskip("torch")
    x = np.array(X) if mechanism.__name__ in ("svt_by_mask", "table_look_up") else X
    here = batch(mechanism, x, 5 * RUNS, 1)
    there = batch(mechanism, x, 2 * RUNS, 1, device="torch:cpu")
    assert_alike(here, there)
    assert {g.skeleton for g in there.groups if len(g.rows) > 40} <= {
        g.skeleton for g in here.groups
    }


def test_draws_before_a_split_are_kept() -> None:
    """The sides of a split must not draw again what decided it: the sign is always right."""

    def signs(x: Any, rng: Any) -> Any:
        value = rng.laplace()
        for _ in range(6):
            if rng.laplace() > 0:
                value = value + 0.0
        return value > 0, value

    samples = batch(signs, 0, 30_000, 3)
    group = samples.groups[0]
    np.testing.assert_array_equal(group.columns[0], group.columns[1] > 0)
    assert stats.kstest(group.columns[1], stats.laplace.cdf).pvalue > THRESHOLD


def test_many_paths_keep_the_distribution() -> None:
    """2^16 paths: most runs are finished one by one, with the draws that they had."""

    def many(x: Any, rng: Any) -> Any:
        total, code = 0.0, 0
        for bit in range(16):
            value = rng.laplace()
            total = total + value
            if value > 0.5:
                code += 1 << bit
        return code, total

    samples = batch(many, 0, 20_000, 4)
    assert_alike(samples, single_runs(many, 0, 20_000, 5))
    group = samples.groups[0]
    bits = (group.columns[0][:, None] >> np.arange(16)) & 1
    expected = 0.5 * np.exp(-0.5)
    deviation = (bits.mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / 20_000)
    assert np.abs(deviation).max() < 6
    assert np.corrcoef(bits.sum(axis=1), group.columns[1])[0, 1] > 0.5
