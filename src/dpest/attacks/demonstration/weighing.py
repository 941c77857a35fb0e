"""Pairs and events chosen by how likely outputs are, where that is known exactly.

Outputs are drawn on both inputs in equal numbers. An output with the densities p and q counts as
2p/(p+q) on the first input and as 2q/(p+q) on the second, whichever it came from: its expected
counts are those of the two inputs. What they scatter by is only which outputs come up, and that
cancels between the two inputs: losses near to each other are told apart with a thousandth of the
runs. The best event of a pair is the set of outputs whose ratio p/q is above some number; it says
how many runs the pair takes at least, before any event in words is looked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dpest.attacks.demonstration.needed_runs import MOST, runs_to_refute
from dpest.attacks.demonstration.plans import CAUTION, RunPlan
from dpest.attacks.statdp.detection import DetectedEvent, events_of, oriented
from dpest.attacks.statdp.families import Floats, Ints, PairedOutputs
from dpest.attacks.statdp.laboratory import InputCase, Laboratory, named_seed
from dpest.errors import DpestError
from dpest.running.samples import Samples

# The log densities of outputs on the two inputs of a pair. Raises DpestError where unknown.
Likelihood = Callable[[Samples], tuple[Floats, Floats]]
Likelihoods = Callable[[Any, Any], Likelihood]

# Runs a side that rank a pair, that choose its event, and that judge it; that rank the best few.
_RANKING, _SEARCHING, _JUDGING = 4_000, 50_000, 100_000
_CLOSELY, _AGAIN = 40_000, 6
# How many pairs are searched, and how much worse they may be than the best.
_SEARCHED, _NEARLY = 3, 1.25
# Seconds of computing: for all ranks, and for the densities of a search. Where these are slow there
# are fewer runs; below a share of the usual ones, none.
_RANK_SECONDS, _SEARCH_SECONDS, _LEAST_SHARE = 8.0, 5.0, 0.05
_MORE_SECONDS = 4.0  # after so many no other pair is searched, where one was
_TRIAL = 500  # runs a side that tell how long it takes
# Pairs without densities, from the first on, after which no other is asked for.
_REFUSED = 3
# Outputs that an event has at least, in a sample; events of a search that are judged.
_FEWEST, _JUDGED = 10, 24
# Outputs whose densities are not known, at most, and standard errors by which frequencies may
# differ from what the densities say.
_UNKNOWN, _APART = 1e-3, 5.0
# As so many runs, at most, does one output tell about the excess over a claim.
_SHARPEST = 1000.0


class _Drawn(NamedTuple):
    """As many outputs of each input, and the log of the ratio of their densities."""

    first: Samples
    second: Samples
    ratio: Floats

    @property
    def weights(self) -> tuple[Floats, Floats]:
        return 2 * special.expit(self.ratio), 2 * special.expit(-self.ratio)


class WeighedOutputs(PairedOutputs):
    """Outputs of two inputs that count by their likelihood; `runs` are those that tell as much."""

    def __init__(self, drawn: _Drawn, sharpness: float = 1.0) -> None:
        super().__init__(drawn.first, drawn.second)
        self.weights = [weights[self.joint.runs] for weights in drawn.weights]
        self._unit = sharpness / 2
        self.runs = int(sharpness * self.runs)

    def tally(self, cells: Ints, size: int) -> Ints:
        counts = [np.bincount(cells, weights, minlength=size) for weights in self.weights]
        return np.rint(self._unit * np.stack(counts)).astype(np.int64)


class Weighing:
    """Draws outputs of pairs and weighs them."""

    def __init__(
        self, laboratory: Laboratory, likelihoods: Likelihoods, epsilon: float, delta: float
    ) -> None:
        self.laboratory, self.likelihoods = laboratory, likelihoods
        self.epsilon, self.delta = epsilon, delta
        self.plans: list[RunPlan] = []
        self._ranked: list[tuple[float, InputCase]] = []
        self._asked = False  # for the ranks of the pairs
        self._pace: float | None = None  # seconds for the densities of one output

    def weigh(self, cases: Sequence[InputCase]) -> bool:
        """Find the best events of the best pairs, as `plans`. Were there any?"""
        started = time.process_time()
        self._rank(cases)
        good = [case for n, case in self._ranked if n <= min(MOST, _NEARLY * self._ranked[0][0])]
        for case in good[:_SEARCHED]:
            if self.plans and time.process_time() - started > _MORE_SECONDS:
                break
            self.plans += self._searched(case)
        return bool(self.plans)

    def fewest_runs(self, cases: Sequence[InputCase]) -> float:
        """How many runs refute the claim by the best event of the best pair, roughly."""
        self._rank(cases)
        return self._ranked[0][0] if self._ranked else math.inf

    def _rank(self, cases: Sequence[InputCase]) -> None:
        """Sort the pairs by the runs that their best events need; once."""
        if self._asked:
            return
        self._asked, started = True, time.process_time()
        for i, case in enumerate(cases):
            left = _RANK_SECONDS - (time.process_time() - started)
            if left < 0 or (i >= _REFUSED and not self._ranked):
                break
            try:
                if self._pace is None:
                    self._draw(case, _TRIAL, "trial")
                fits = left / (len(cases) - i) / max(2 * (self._pace or 0.0), 1e-9)
                drawn = self._draw(case, int(np.clip(fits, _TRIAL, _RANKING)), "ranking")
            except DpestError:
                continue
            self._ranked.append((fewest_runs(drawn.ratio, self.epsilon, self.delta)[0], case))
        self._ranked.sort(key=lambda entry: entry[0])
        self._rank_again(started)

    def _rank_again(self, started: float) -> None:
        """The first few by more outputs: of rare events there were only some among the first."""
        again = list(self._ranked)
        for i, (needed, case) in enumerate(self._ranked[:_AGAIN]):
            slow = 2 * _CLOSELY * (self._pace or 0.0) + time.process_time() - started
            if needed > min(MOST, 2 * self._ranked[0][0]) or slow > _RANK_SECONDS:
                break
            drawn = self._draw(case, _CLOSELY, "ranking again")
            again[i] = (fewest_runs(drawn.ratio, self.epsilon, self.delta)[0], case)
        self._ranked = sorted(again, key=lambda entry: entry[0])

    def _draw(self, case: InputCase, runs: int, stage: str) -> _Drawn:
        likelihood = self.likelihoods(case.x, case.x2)
        seeds = (named_seed(self.laboratory.seed, stage, repr(case), side) for side in "ab")
        draws = [(x, runs, seed) for x, seed in zip((case.x, case.x2), seeds, strict=True)]
        first, second = self.laboratory.draw_all(self.laboratory.sampler(case), draws)
        started = time.process_time()
        try:
            log_p, log_q = likelihood(Samples.concatenate([first, second]))
        except ArithmeticError as error:
            raise DpestError(f"densities are beyond floating point: {error}") from None
        self._pace = (time.process_time() - started) / (2 * runs)
        with np.errstate(invalid="ignore"):
            ratio = log_p - log_q
        unknown = np.isnan(ratio)
        if unknown.mean() > _UNKNOWN:
            raise DpestError("outputs came up whose densities are not known")
        return _Drawn(first, second, np.where(unknown, 0.0, ratio))

    def _searched(self, case: InputCase) -> list[RunPlan]:
        """The events of one pair: chosen on some outputs, judged by others."""
        usual = 2 * (_SEARCHING + _JUDGING) * (self._pace or 0.0)
        share = min(1.0, _SEARCH_SECONDS / max(usual, 1e-9))
        if share < _LEAST_SHARE:
            return []
        drawn = self._draw(case, int(share * _SEARCHING), "weighing")
        reading = WeighedOutputs(drawn, self._sharpness(drawn))
        found = events_of(self.laboratory, case, drawn.first, drawn.second, reading, thorough=True)
        surest = found.surest(self.epsilon, _JUDGED)
        fresh = WeighedOutputs(self._draw(case, int(share * _JUDGING), "judging"))
        plans = (self._judged(oriented(case, c), fresh, c.swapped) for c in surest)
        return [plan for plan in plans if plan is not None]

    def _sharpness(self, drawn: _Drawn) -> float:
        """How many runs tell as much about the excess of the best event as one weighed output."""
        _, level, swapped = fewest_runs(drawn.ratio, self.epsilon, self.delta)
        large, small = drawn.weights[::-1] if swapped else drawn.weights
        inside = (-drawn.ratio if swapped else drawn.ratio) >= level
        factor = math.exp(self.epsilon)
        plain = large[inside].sum() + factor**2 * small[inside].sum()
        weighed = np.square(large[inside] - factor * small[inside]).sum()
        return float(np.clip(2 * plain / max(weighed, 1e-300), 1.0, _SHARPEST))

    def _judged(self, found: DetectedEvent, fresh: WeighedOutputs, swapped: bool) -> RunPlan | None:
        """A plan by the weights of outputs that chose nothing; None if frequencies deny them."""
        inside = found.choice.event.mask(fresh.joint)
        larger = 1 if swapped else 0
        large, small = fresh.weights[larger], fresh.weights[1 - larger]
        size = len(inside)
        p, q = (float(w[inside].sum()) / size for w in (large, small))
        for chance, side in ((p, larger), (q, 1 - larger)):
            frequency = float(inside[fresh.side == side].mean())
            if abs(frequency - chance) > _APART * math.sqrt((chance + 1 / size) * 2 / size):
                return None
        factor = math.exp(self.epsilon)
        excess = np.where(inside, large - factor * small, 0.0)
        doubt = CAUTION * float(excess.std()) / math.sqrt(size)
        cautious = min(q + doubt / factor, 1.0)
        needed = runs_to_refute(p, cautious, self.epsilon, self.delta)
        promised = runs_to_refute(p, q, self.epsilon, self.delta)
        return RunPlan(needed, promised, found, p, q, p, cautious)


def fewest_runs(ratio: Floats, epsilon: float, delta: float) -> tuple[float, float, bool]:
    """Runs a side that refute the claim by the best event of all, roughly.

    `ratio` are log ratios of the densities of outputs of both inputs. With the least ratio of an
    output in the event, and whether it is the second input that has more of them.
    """
    best = (math.inf, math.inf, False)
    factor = math.exp(epsilon)
    for swapped in (False, True):
        level = np.sort(-ratio if swapped else ratio)[::-1]
        p = np.cumsum(2 * special.expit(level)) / len(level)
        q = np.cumsum(2 * special.expit(-level)) / len(level)
        excess = p - factor * q - delta
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(excess > 0, (p + factor**2 * q) / np.square(excess), np.inf)
        needed[:_FEWEST] = np.inf
        at = int(np.argmin(needed))
        if needed[at] < np.inf:
            runs = runs_to_refute(float(min(p[at], 1.0)), float(q[at]), epsilon, delta)
            best = min(best, (runs, float(level[at]), swapped))
    return best
