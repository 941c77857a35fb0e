"""What the sequential audit would miss: its power, stated before it runs.

A test that may fail falsely once in a million times needs to say what it would catch. Two shapes of
leak are known in closed form: randomised response (every output says something) and Laplace noise
on a number that moves by its sensitivity. For both, the wealth of the audit is at least the prior
weight of one well-chosen bet times that bet's wealth, and the latter depends on one binomial count.
Leaks in rarer outputs need more runs: about in proportion to how rare they are.
"""

from __future__ import annotations

import math

import numpy as np

from dpest.attacks.models.predictors import RegionBets
from dpest.attacks.sequential import REGIONS
from dpest.errors import InputError
from dpest.stats import betting, binomial

#: Runs that pass before the bets on regions have settled, and nats that the cells' noise may cost.
_WARM_UP, _SLACK = 64, 2.0
_TAIL_CELLS = 16


def missed_chance(
    claim: float, true: float, runs: int, alpha: float = 0.05, shape: str = "laplace"
) -> float:
    """At most how likely an audit of `runs` runs fails to refute `claim` if epsilon is `true`.

    For one pair of inputs, runs of both together, and a false alarm with chance at most `alpha`.
    `shape` is "laplace" or "response". Errs upwards: the audit catches more than this says.

    >>> missed_chance(claim=1.0, true=2.0, runs=4000, alpha=1e-6) < 1e-3
    True
    """
    _check(claim, alpha, shape)
    if true <= claim:
        return 1.0
    used = runs - _WARM_UP
    if used <= 0:
        return 1.0
    cost, share = _bet(true, shape)
    need = math.log(1.0 / alpha) + cost + _SLACK
    right = share * float(betting.odds_limit(true))
    wrong = share - right
    best = 1.0
    for excess in betting.EXCESS:
        limit, beyond = (float(betting.odds_limit(e)) for e in (claim, claim + excess))
        if beyond == 1.0:  # in doubles: nobody bets on what runs can't show
            continue
        # Log gains of a bet that is right, and of one that is wrong.
        up, down = math.log(beyond / limit), math.log((1.0 - beyond) / (1.0 - limit))
        best = min(best, _below(used, right, wrong, up, down, need))
    return best


def runs_needed(
    claim: float,
    true: float,
    alpha: float = 0.05,
    missed: float = 0.05,
    shape: str = "laplace",
    most: int = 1 << 40,
) -> int | None:
    """Runs with which `true` is missed with chance at most `missed`; None if over `most`."""
    _check(claim, alpha, shape)
    runs = 2 * _WARM_UP
    while missed_chance(claim, true, runs, alpha, shape) > missed:
        runs *= 2
        if runs > most:
            return None
    low, high = runs // 2, runs
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        if missed_chance(claim, true, middle, alpha, shape) > missed:
            low = middle
        else:
            high = middle
    return high


def detectable(
    claim: float, runs: int, alpha: float = 0.05, missed: float = 0.05, shape: str = "laplace"
) -> float:
    """The least true epsilon that `runs` runs miss with chance at most `missed`; inf if none.

    >>> 1.1 < detectable(claim=1.0, runs=10_000, alpha=1e-6) < 1.6
    True
    """
    _check(claim, alpha, shape)
    low, high = claim, claim + 12.0
    if missed_chance(claim, high, runs, alpha, shape) > missed:
        return math.inf
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        if missed_chance(claim, middle, runs, alpha, shape) > missed:
            low = middle
        else:
            high = middle
    return high


def _bet(true: float, shape: str) -> tuple[float, float]:
    """Minus the log of the bet's prior weight, and the share of runs that it is made in."""
    excess = float(betting.EXCESS_PRIOR.min())
    if shape == "response":
        # Two outputs, each a region with a bet of its own.
        side = 0.5 * (1.0 - betting.NO_BET) * excess
        return -math.log(REGIONS * side**2), 1.0
    tails = dict(RegionBets.WAYS)[betting.tails_log_wealth]
    alike = 0.5 * betting.MONOTONE * betting.ALIKE * 2.0 / _TAIL_CELLS
    outside = 0.5 * (1.0 + math.exp(-true))  # below the lower or above the upper value
    cells = math.floor(0.5 * _TAIL_CELLS * outside)
    return -math.log(REGIONS * tails * alike * excess), 2.0 * cells / _TAIL_CELLS


def _below(runs: int, right: float, wrong: float, up: float, down: float, need: float) -> float:
    """P(up K + down L < need), K right and L wrong bets among independent runs."""
    share = right + wrong
    if share >= 1.0:
        # up K + down (runs - K) < need
        return float(
            binomial.lower_tail(math.ceil((need - down * runs) / (up - down)) - 1, runs, right)
        )
    spread = math.sqrt(runs * share * (1.0 - share))
    bets = np.unique(np.round(np.linspace(-6.0, 6.0, 61) * spread + runs * share))
    bets = bets[(bets >= 0) & (bets <= runs)]
    # Between two numbers of bets the chance is at most that of the fewer ones.
    missed = binomial.lower_tail(
        np.ceil((need - down * bets) / (up - down)) - 1, bets, right / share
    )
    fewer = binomial.lower_tail(bets - 1, runs, share)
    return float(min(1.0, fewer[0] + np.diff(fewer, append=1.0) @ missed))


def _check(claim: float, alpha: float, shape: str) -> None:
    if not (claim > 0.0 and 0.0 < alpha < 1.0):
        raise InputError(f"needs a positive claim and 0 < alpha < 1: {claim=}, {alpha=}")
    if shape not in ("laplace", "response"):
        raise InputError(f"shape is 'laplace' or 'response', got {shape!r}")
