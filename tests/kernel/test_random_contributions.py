"""A small run of validation/random_contributions.py: random programs of noisy sums."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))

import random_contributions


def test_no_pair_costs_more_than_the_bound_and_some_more_than_nine_tenths():
    counts, false = random_contributions.compared(150, seed=2)
    assert not false
    assert counts["accepted"] >= 40
    assert counts["false at 90 %"] >= 5
