"""One certificate of every kind that the prover writes."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import dpest
from agreement.styles import clipped_data
from dpest import ANY, zoo
from dpest.proofs import prove
from proofs import proof_mechanisms as m
from proofs import query_mechanisms as q
from proofs.quantile_mechanisms import by_walk


def gaussian_sum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(x) + rng.normal(scale=1 / eps)


def laplace_sum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(x) + rng.laplace(scale=1 / eps)


def both(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return laplace_sum(x, rng, eps=eps / 2), gaussian_sum(x, rng, eps=eps)


def flipped(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    p = 1 / (1 + math.exp(eps))
    return [b ^ int(rng.random() < p) for b in x]


TARGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "loop": (m.svt, {"adjacency": "linf", "params": {"cutoff": 2}}),
    "loop l1": (zoo.get("SmartSum"), {}),
    "clipped": (m.clipped_sum, {"adjacency": "replace_one"}),
    "selection": (m.noisy_max, {"adjacency": "linf"}),
    "gap": (m.noisy_max_with_gap, {"adjacency": "linf"}),
    "race": (zoo.get("PermuteAndFlip"), {}),
    "cells": (m.svt, {"adjacency": "linf", "length": 3}),
    "merged": (m.noisy_max_loop, {"adjacency": "linf", "length": 4}),
    "clip": (clipped_data, {"adjacency": "linf", "length": 2}),
    "exponential": (zoo.get("ReportNoisyMax2"), {"length": 3}),
    "integers": (zoo.get("DiscreteLaplaceMechanism"), {"length": 2}),
    "square": (m.gaussian_max, {"adjacency": "l1", "length": 3, "claim": "zcdp:1"}),
    "gaussian loop": (gaussian_sum, {"adjacency": "l1", "claim": "zcdp:1"}),
    "statistic": (q.spread, {"adjacency": "replace_one", "domain": dpest.reals(ANY, 0, 3)}),
    "records": (q.filtered_sum, {"adjacency": "add_remove_one"}),
    "radius": (
        laplace_sum,
        {"adjacency": "add_remove_one:2", "domain": dpest.reals(ANY, 0, 5), "unit": "eps"},
    ),
    "steps": (q.parity, {"adjacency": "replace_one", "domain": dpest.integers(ANY, 0, 20)}),
    "finite": (m.randomised_response, {"adjacency": "any_pair", "domain": dpest.finite([0, 1])}),
    "numbers": (m.fair_coin, {"adjacency": "any_pair", "domain": dpest.finite([0, 1])}),
    "parts": (zoo.get("OneTimeRappor"), {}),
    "each": (flipped, {"adjacency": "replace_one", "domain": dpest.integers(ANY, 0, 1)}),
    "composition": (m.two_step, {"adjacency": "linf"}),
    "point": (by_walk, {"adjacency": "replace_one", "domain": dpest.reals(ANY, 0, 10)}),
    "mixture": (both, {"adjacency": "l1", "claim": dpest.ApproxDP(5.0, 1e-5)}),
}


@functools.cache
def _text(name: str) -> str:
    target, question = TARGETS[name]
    found = prove(target, **question).certificate
    assert found is not None, name
    return json.dumps(found)


def certificate(name: str) -> dict[str, Any]:
    """As it is read from a file."""
    return dict(json.loads(_text(name)))


def certificates() -> dict[str, dict[str, Any]]:
    return {name: certificate(name) for name in TARGETS}
