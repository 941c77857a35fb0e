"""Long data: where a proof for every length exists, the verdict is that of short data."""

from __future__ import annotations

import numpy as np
import pytest

import dpest
from dpest import zoo


def clipped_sum(x, rng, *, eps=1.0):
    return np.clip(x, 0, 5).sum() + rng.laplace(scale=5 / eps)


@pytest.mark.parametrize("name", ["SVT1", "ReportNoisyMax1"])
def test_ten_thousand_queries_are_settled_as_ten_are(name):
    verdict = dpest.audit(zoo.get(name), length=10_000)
    assert verdict.status == "exact"
    assert verdict.lower.value <= verdict.upper.value == pytest.approx(0.1)
    assert len(verdict.lower.witness.x) == 10_000


def test_ten_thousand_records_are_settled():
    verdict = dpest.audit(clipped_sum, epsilon=1.0, adjacency="replace_one", length=10_000)
    assert verdict.status == "exact"
    x, x2 = verdict.lower.witness.x, verdict.lower.witness.x2
    assert len(x) == len(x2) == 10_000
    assert dpest.exact(clipped_sum, x[:50], x2[:50]).epsilon == pytest.approx(1.0)
