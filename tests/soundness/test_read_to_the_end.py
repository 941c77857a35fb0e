"""Code that is written so is read, or refused, and never ends in an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpest


def all_and_any(x, rng):
    above = np.asarray(x) > 0
    return float(np.any(above)) + float(np.all(above)) + rng.laplace(scale=1)


def the_first_above(x, rng):
    return next(v for v in x if v > 0.5) * 0 + rng.laplace(scale=1)


def the_first_above_or_none(x, rng):
    return next((v for v in x if v > 0.5), 0.0) + rng.laplace(scale=1)


@pytest.mark.parametrize(
    ("function", "question", "epsilon"),
    [
        (all_and_any, {"adjacency": "add_remove_one", "domain": "integers(any, -1, 2)"}, 2.0),
        (the_first_above, {"adjacency": "replace_one", "domain": "reals(3, 0, 1)"}, np.inf),
        (the_first_above_or_none, {"adjacency": "replace_one", "domain": "reals(3, 0, 1)"}, 1.0),
    ],
)
def test_it_is_answered(
    function: Callable[..., Any], question: dict[str, Any], epsilon: float
) -> None:
    found = dpest.audit(function, epsilon=1.0, engines=("proof", "exact"), patience=0.1, **question)
    if found.lower is not None:
        assert found.lower.value <= epsilon + 1e-9
    if found.upper is not None:
        assert found.upper.value >= epsilon - 1e-9
