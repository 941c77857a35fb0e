"""Exact, proof and sampling agree on mechanisms written in many styles."""

from __future__ import annotations

import copy
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from agreement.styles import CASES, Case
from dpest.running.batch.batch import batch

NAMES = [f"{case}-{i}" for i, case in enumerate(CASES)]
PROVED = [case for case in CASES if case.adjacency]
RUNS, BATCHED = 1000, 10_000


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_exact_is_the_closed_form(case: Case) -> None:
    found = dpest.exact(case.f, case.x, case.x2)
    if math.isinf(case.want):
        assert found.epsilon == math.inf
    else:
        assert found.epsilon == pytest.approx(case.want, rel=1e-9, abs=1e-12)
    assert dpest.exact(case.f, case.x2, case.x).epsilon == pytest.approx(found.epsilon, rel=1e-12)


def _neighbours(adjacency: str, n: int):
    """Pairs at small and large values: vertices, random ones, and pairs along rays."""
    rng = np.random.default_rng(20)
    for centre in (0.0, 40.0):
        for _ in range(2):
            x = rng.normal(size=n) * 2 + centre * rng.choice([-1, 1], size=n)
            d = rng.choice([-1.0, 1.0], size=n)
            if adjacency == "l1":
                d = d * (np.arange(n) == rng.integers(n))
            yield x.tolist(), (x + d).tolist()


@pytest.mark.parametrize("case", PROVED, ids=str)
def test_no_pair_exceeds_the_proof(case: Case) -> None:
    proof = dpest.prove(case.f, adjacency=case.adjacency, length=len(case.x))
    assert proof.status in ("exact", "upper bound"), proof
    bound = proof.value(1)
    assert bound >= case.want - 1e-9
    for x, x2 in _neighbours(case.adjacency, len(case.x)):
        assert dpest.exact(case.f, x, x2).epsilon <= bound + 1e-9, (x, x2)
    if proof.lower is not None:
        assert float(proof.lower.value) <= bound + 1e-12


def _kind(output: Any) -> Any:
    """An output with its numbers rounded coarsely, for a contingency table."""
    if isinstance(output, (bool, np.bool_)):
        return bool(output)
    if isinstance(output, (int, float, np.integer, np.floating)):
        return round(float(output) / 3)
    if isinstance(output, dict):
        return tuple((k, _kind(v)) for k, v in output.items())
    if isinstance(output, (list, tuple, np.ndarray)):
        return tuple(_kind(v) for v in output)
    return output


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_batch_is_the_plain_run(case: Case) -> None:
    """Chi-square on coarse outputs; each case fails by chance once in 10^6."""
    rng = np.random.default_rng(7)
    plain = Counter(_kind(case.f(copy.deepcopy(case.x), rng)) for _ in range(RUNS))
    batched = Counter(map(_kind, batch(case.f, case.x, BATCHED, 3).to_list()))
    often = [k for k in plain.keys() | batched.keys() if plain[k] + batched[k] > 60]
    table = np.array([[c[k] for k in often] + [0] for c in (plain, batched)])
    table[:, -1] = RUNS - table[0].sum(), BATCHED - table[1].sum()
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert stats.chi2_contingency(table).pvalue > 1e-6, (plain, batched)
