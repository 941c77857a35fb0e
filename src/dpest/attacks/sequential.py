"""The sequential audit: bet on which input an output came from, and stop when it is certain.

A fair coin picks the input of each run. A predictor says, from earlier runs only, how likely the
label 1 is given the next output. Under epsilon-DP the odds never exceed e^epsilon, so a bet at
those odds can't win in the long run: its wealth is an e-process, and wealth 1/alpha refutes epsilon
whenever it is reached. All epsilons of a grid are bet against at once; the bound is the largest one
such that it and all smaller ones are refuted, which is valid at every moment.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.budget import Budget, Meter, Progress, Report
from dpest.attacks.models.predictors import Ensemble, RegionBets
from dpest.attacks.readable import named
from dpest.attacks.sampler import Sampler, runners_of
from dpest.errors import InputError
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.running.samples import Samples
from dpest.stats.betting import MixtureWealth, event_payoffs, label_bets, odds_limit, prefix_bound

Floats = NDArray[np.float64]

_METHOD = "sequential"
_FIRST_BATCH = 8
# A batch is at most this part of the runs so far: small ones learn sooner, large ones cost less.
_GROWTH_EARLY, _GROWTH_LATE, _EARLY = 32, 12, 4000
_LARGEST_BATCH = 1 << 18
# A batch that takes this part of a budget in seconds is made larger, if that makes runs cheaper.
_VISIBLE, _CHEAPER = 0.005, 0.75
_HISTORY = 1 << 17
# The part of the wealth for bets on few large regions, which learn soonest; the rest follows the
# predictors, which see more in the end.
REGIONS = 0.7
# Predictions are rounded towards 1/2 on this scale of log-odds, so that a batch of any size is a
# short table of counts.
_STEP = 0.01
_LEVELS = 1200
_LOGITS = _STEP * (np.arange(2 * _LEVELS + 1) - _LEVELS)
_PREDICTIONS = 0.5 * (1.0 + np.tanh(0.5 * _LOGITS))

DEFAULT_BUDGET = Budget(runs=1_000_000)


def default_grid(claim: float | None = None) -> Floats:
    """Epsilons from 0.002 to 12 in steps of 2 %, and the claim itself."""
    grid = np.geomspace(0.002, 12.0, 440)
    if claim is not None:
        grid = np.union1d(grid, [claim])
    return grid


class SequentialAudit:
    """The audit as a machine that is fed batches; `bound` is valid after each of them."""

    def __init__(self, grid: Sequence[float] | Floats, alpha: float, delta: float = 0.0) -> None:
        self.grid = np.unique(np.asarray(grid, dtype=np.float64))
        if len(self.grid) == 0 or self.grid[0] < 0 or not np.isfinite(self.grid).all():
            raise InputError(f"the grid needs finite epsilons of at least 0, got {grid!r}")
        if not 0.0 <= delta < 1.0:
            raise InputError(f"delta is a probability below 1, got {delta=}")
        self.alpha, self.delta = alpha, delta
        # With delta > 0 the two directions are separate bets, each with half of the wealth.
        copies = 1 if delta == 0.0 else 2
        self._wealth = MixtureWealth(len(self.grid) * copies, alpha)
        # Used against pure epsilon only.
        shares = np.array([share for _, share in RegionBets.WAYS])
        self._region_logs = np.tile(np.log(REGIONS * shares)[:, None], len(self.grid))
        self._ensemble = Ensemble()
        self._past: list[Samples] = []
        self._past_labels: list[NDArray[np.bool_]] = []
        self._kept = 0
        self._next_fit = _FIRST_BATCH
        self.runs = 0
        self.refuted = np.zeros(len(self.grid), dtype=bool)
        self._ones = np.zeros(len(_LOGITS))
        self._zeros = np.zeros(len(_LOGITS))

    @property
    def bound(self) -> float:
        return prefix_bound(self.grid, self.refuted)

    @property
    def next_batch(self) -> int:
        growth = _GROWTH_EARLY if self.runs < _EARLY else _GROWTH_LATE
        return int(min(_LARGEST_BATCH, max(_FIRST_BATCH, self.runs // growth)))

    def feed(self, samples: Samples, labels: NDArray[np.bool_]) -> None:
        """One batch: predict all outputs, then look at the labels, settle the bets, and learn."""
        guess = self._ensemble.predict(samples)
        logit = np.log(guess) - np.log1p(-guess)
        level = np.clip(np.trunc(logit / _STEP), -_LEVELS, _LEVELS).astype(np.intp) + _LEVELS
        ones = np.bincount(level[labels], minlength=len(_LOGITS)).astype(np.float64)
        zeros = np.bincount(level[~labels], minlength=len(_LOGITS)).astype(np.float64)
        self._settle(ones, zeros)
        self._ones += ones
        self._zeros += zeros
        open_ = np.flatnonzero(~self.refuted) if self.delta == 0.0 else np.empty(0, dtype=np.intp)
        self._region_logs += self._ensemble.learn(labels, self.grid, open_)
        self.refuted |= self.log_wealth() >= math.log(1.0 / self.alpha)
        self.runs += samples.size
        self._remember(samples, labels)

    def _settle(self, ones: Floats, zeros: Floats) -> None:
        levels = np.flatnonzero(ones + zeros)
        times = np.concatenate([ones[levels], zeros[levels]])[None, :]
        prediction = _PREDICTIONS[levels][None, :]
        open_ = np.flatnonzero(~self.refuted)
        if self.delta == 0.0:
            # Where even the boldest prediction stays within the odds, nothing is bet.
            boldest = float(np.abs(_LOGITS[levels]).max(initial=0.0))
            open_ = open_[self.grid[open_] < boldest]
            if len(open_):
                one, zero = label_bets(prediction, self.grid[open_][:, None])
                self._wealth.settle(open_, np.concatenate([one, zero], axis=1) - 1.0, times)
            return
        if len(open_) == 0:
            return
        epsilon = self.grid[open_][:, None]
        limit = odds_limit(epsilon)
        one, zero = event_payoffs(prediction > limit, epsilon, self.delta)
        self._wealth.settle(open_, np.concatenate([one, zero], axis=1), times)
        # The other direction: the labels change places.
        one, zero = event_payoffs(prediction < 1.0 - limit, epsilon, self.delta)
        self._wealth.settle(open_ + len(self.grid), np.concatenate([zero, one], axis=1), times)

    def log_wealth(self) -> Floats:
        """Log of the whole wealth against each epsilon of the grid: one e-process each."""
        logs = self._wealth.log_wealth()
        if self.delta == 0.0:
            parts = np.concatenate([[math.log(1.0 - REGIONS) + logs], self._region_logs])
            return np.asarray(np.logaddexp.reduce(parts, axis=0))
        ahead, back = logs.reshape(2, len(self.grid))
        return np.asarray(np.logaddexp(ahead, back) - math.log(2.0))

    def _remember(self, samples: Samples, labels: NDArray[np.bool_]) -> None:
        if self._kept < _HISTORY:
            self._past.append(samples)
            self._past_labels.append(labels)
            self._kept += samples.size
        if self.runs >= self._next_fit and self._past:
            history = Samples.concatenate(self._past)
            known = np.concatenate(self._past_labels)
            self._past, self._past_labels = [history], [known]
            self._ensemble.refit(history, known)
            factor = 1.5 if self.runs < _EARLY else 2.0
            self._next_fit = int(factor * self.runs) if self._kept < _HISTORY else 1 << 62

    def event(self, epsilon: float) -> tuple[str, float, float, bool]:
        """The event bet on, and how often it came up (an estimate) on the input that it speaks
        for and on the other; at last, whether it speaks for the second input.

        In words where an event in words shows nearly as much as the bound.
        """
        if self._past and self.delta == 0.0:
            history, labels = Samples.concatenate(self._past), np.concatenate(self._past_labels)
            first, second = (history.take(np.flatnonzero(labels == one)) for one in (True, False))
            in_words = named(first, second, epsilon)
            if in_words is not None:
                return str(in_words.event), in_words.p, in_words.q, in_words.swapped
        high = epsilon < _LOGITS
        low = epsilon < -_LOGITS
        total1, total0 = max(self._ones.sum(), 1.0), max(self._zeros.sum(), 1.0)
        flip = self._ones[low].sum() + self._zeros[low].sum() > (
            self._ones[high].sum() + self._zeros[high].sum()
        )
        chosen = low if flip else high
        text = (
            f"outputs for which the predictor ({self._ensemble.best}) gives the first input odds "
            f"above e^{epsilon:.4g}"
        )
        p = float(self._ones[chosen].sum() / total1)
        q = float(self._zeros[chosen].sum() / total0)
        return (text, q, p, True) if flip else (text, p, q, False)


def sequential_attack(
    sample: Sampler,
    x: Any,
    x2: Any,
    *,
    claim: float | None = None,
    epsilons: Sequence[float] | None = None,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    seed: int = 0,
    progress: Report | None = None,
    delta: float = 0.0,
    stop_when_refuted: bool = True,
) -> Evidence:
    """A lower bound on epsilon for one pair of inputs, valid whenever it stops.

    Assumes that runs are independent of each other. Guarantees that the value exceeds the true
    epsilon of the pair (at `delta`) with probability at most `alpha`, for any way of stopping,
    Ctrl-C included. With a `claim` it stops as soon as that is refuted (unless told not to).
    The same seed and a budget in runs give the same answer.
    """
    grid = default_grid(claim) if epsilons is None else np.asarray(epsilons, dtype=np.float64)
    audit = SequentialAudit(grid, alpha, delta)
    meter = Meter(Budget.of(budget, DEFAULT_BUDGET))
    seeds = np.random.SeedSequence(seed)
    coins = np.random.default_rng(seeds.spawn(1)[0])
    notes: list[str] = []
    wealth: list[tuple[int, float]] = []
    # The claim, or the next epsilon that is bet against.
    watched = None if claim is None else int(np.searchsorted(audit.grid, claim))
    interrupted = False
    pace = _Pace(meter.budget.seconds)
    try:
        while True:
            size = meter.allow(max(audit.next_batch, pace.least))
            if size < 1:
                break
            started = time.monotonic()
            labels, samples = _coin_batch(sample, x, x2, size, coins)
            pace.note(size, time.monotonic() - started)
            audit.feed(samples, labels)
            meter.runs += size
            if watched is not None and watched < len(audit.grid):
                wealth.append((meter.runs, float(audit.log_wealth()[watched]) / math.log(10.0)))
            if progress is not None:
                progress(Progress(_METHOD, meter.runs, meter.seconds, audit.bound))
            if stop_when_refuted and claim is not None and audit.bound >= claim:
                break
            if audit.refuted.all():
                break
    except KeyboardInterrupt:
        interrupted = True
        notes.append("interrupted: the bound is valid for the runs made so far")
    notes.extend(sample.notes())
    event, p, q, swapped = audit.event(audit.bound)
    first, second = (x2, x) if swapped else (x, x2)
    return Evidence(
        side="lower",
        value=audit.bound,
        standing=confidence(alpha),
        method=_METHOD,
        witness=Witness(x=first, x2=second, event=event, p=p, q=q),
        runs=meter.runs,
        seconds=meter.seconds,
        seed=seed,
        measure=Measure(delta=delta),
        notes=tuple(notes),
        details={
            "interrupted": interrupted,
            "runner": runners_of(sample),
            "refuted_claim": claim is not None and audit.bound >= claim,
            # Points (runs, log10 of the wealth against the claim).
            "wealth": _thinned(wealth),
        },
    )


def _thinned(points: list[tuple[int, float]], most: int = 200) -> list[tuple[int, float]]:
    """At most `most` of the points, evenly spaced, the last one among them."""
    if len(points) <= most:
        return points
    places = np.linspace(0, len(points) - 1, most).round().astype(int)
    return [points[place] for place in places]


class _Pace:
    """The least size of a batch, where making one takes long however few its runs are.

    It doubles as long as batches take a visible part of the seconds that there are, and runs of
    larger ones are cheaper. A budget in runs alone has no pace: its answer can be repeated.
    """

    def __init__(self, seconds: float | None) -> None:
        self.least = 1
        self._visible = math.inf if seconds is None else _VISIBLE * seconds
        self._a_run = math.inf

    def note(self, size: int, seconds: float) -> None:
        """A batch of this size took so long."""
        if seconds > self._visible and seconds / size < _CHEAPER * self._a_run:
            self._a_run = seconds / size
            self.least = 2 * size


def _coin_batch(
    sample: Sampler, x: Any, x2: Any, size: int, coins: np.random.Generator
) -> tuple[NDArray[np.bool_], Samples]:
    """`size` runs, each on the input that a fair coin picks; those of label 1 come first.

    The order within a batch carries no information: predictions are fixed before it.
    """
    first = int(coins.binomial(size, 0.5))
    seed1, seed2 = (int(s) for s in coins.integers(0, 2**63, size=2))
    parts = []
    if first:
        parts.append(sample.draw(x, first, seed1))
    if size - first:
        parts.append(sample.draw(x2, size - first, seed2))
    labels = np.zeros(size, dtype=bool)
    labels[:first] = True
    return labels, Samples.concatenate(parts)
