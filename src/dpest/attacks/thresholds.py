"""Attacks made of a score: where its thresholds lie, and the bound that counting gives.

An attack names outputs that speak for one input: those whose score exceeds a threshold. Where low
scores speak as clearly for the other input, it names those too: under epsilon-DP each of the two
sets has a probability ratio of at most e^epsilon, and so has the ratio of the sums. If a fair coin
picks the input of each run, the runs in either set are right or wrong about it, right with odds of
at most e^epsilon: one exact binomial bound, from twice as many runs.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dpest.attacks.models.classifiers import Scorer
from dpest.running.native.scoring import ScoreCounts
from dpest.running.samples import Samples
from dpest.stats import clopper_pearson, ratio
from dpest.stats.betting import bernoulli_sequence

Floats = NDArray[np.float64]

#: Standard deviations that chance alone gives the best of many candidates: of all thresholds,
#: models, directions and pairs; less among a few attacks that fresh runs compare; and still less
#: where pairs are only ranked, to be looked at again.
CAUTION, COMPARED, RANKING = 2.6, 2.0, 1.2
_CANDIDATES = np.unique(np.concatenate([np.geomspace(1e-6, 0.2, 90), np.linspace(0.02, 0.98, 60)]))
# Counts from which on the logarithm of a ratio is about normal.
_MANY = 30


@runtime_checkable
class WordedScorer(Protocol):
    """A scorer that can say which outputs have a score strictly between two numbers."""

    def words(self, low: float, high: float) -> str: ...


@dataclass(frozen=True)
class ThresholdAttack:
    """Outputs whose score exceeds `t`, and those at `t` with probability `q`.

    `flipped`: the score is negated, and the first input of the pair is the second. Outputs whose
    score lies below `low`, if any, are named for the other input. `expected` is the bound that
    the attack promises, `c` its probability on the input that it does not name. `in_words` is an
    attack on the same pair that a person can read, to be measured beside this one.
    """

    scorer: Scorer
    t: float
    q: float
    flipped: bool
    expected: float = -math.inf
    c: float = math.nan
    low: float = -math.inf
    in_words: ThresholdAttack | None = None

    @property
    def two_sided(self) -> bool:
        return self.low > -math.inf

    @property
    def uses_coin(self) -> bool:
        """Must a fair coin pick the input of each run?"""
        return self.two_sided or (self.in_words is not None and self.in_words.two_sided)

    @property
    def words_turned(self) -> bool:
        """Does the attack in words name the other input of the pair?"""
        return self.in_words is not None and self.in_words.flipped != self.flipped

    def count(self, samples: Samples, rng: np.random.Generator) -> tuple[int, int]:
        """How many outputs are named for the first input, and how many for the second."""
        score = self.scorer.scores(samples)
        if self.flipped:
            score = -score
        above = int(np.count_nonzero(score > self.t))
        if self.q > 0.0:
            above += int(rng.binomial(np.count_nonzero(score == self.t), self.q))
        return above, int(np.count_nonzero(score < self.low)) if self.two_sided else 0

    def describe(self) -> str:
        if isinstance(self.scorer, WordedScorer):
            return self._in_words_of(self.scorer)
        sign = "the negated score" if self.flipped else "the score"
        tie = f", and with probability {self.q:.4g} where it equals that" if self.q else ""
        text = f"outputs where {sign} of the {self.scorer.describe()} exceeds {self.t:.6g}{tie}"
        if self.two_sided:
            text += f" (and, for the other input, those where it is below {self.low:.6g})"
        return text

    def _in_words_of(self, scorer: WordedScorer) -> str:
        sign = -1.0 if self.flipped else 1.0
        text = scorer.words(*sorted((sign * self.t, sign * math.inf)))
        if self.two_sided:
            other = scorer.words(*sorted((sign * self.low, -sign * math.inf)))
            text += f" (and, for the other input: {other})"
        return text


@dataclass(frozen=True)
class OrderedScores:
    """The scores of runs on one input, in increasing order.

    `upto`, where a score stands for many runs: how many of them come before each score, and at the
    end how many there are.
    """

    values: Floats
    upto: NDArray[np.int64] | None = None

    @staticmethod
    def of(scores: Floats) -> OrderedScores:
        """One score a run."""
        return OrderedScores(np.sort(scores))

    @staticmethod
    def counted(scores: Floats, counts: NDArray[np.int64]) -> OrderedScores:
        """Scores that came up so often."""
        order = np.argsort(scores, kind="stable")
        return OrderedScores(scores[order], np.concatenate([[0], np.cumsum(counts[order])]))

    @property
    def size(self) -> int:
        return len(self.values) if self.upto is None else int(self.upto[-1])

    def negated(self) -> OrderedScores:
        upto = None if self.upto is None else self.size - self.upto[::-1]
        return OrderedScores(-self.values[::-1], upto)

    def above(self, levels: Floats) -> NDArray[np.int64]:
        return self.size - self._before(np.searchsorted(self.values, levels, side="right"))

    def below(self, levels: Floats) -> NDArray[np.int64]:
        return self._before(np.searchsorted(self.values, levels, side="left"))

    def levels(self) -> Floats:
        """Scores that some shares of the runs exceed; all of them, where they are few."""
        if self.upto is not None and len(self.values) <= len(_CANDIDATES):
            return self.values
        runs = np.minimum(((1.0 - _CANDIDATES) * self.size).astype(np.int64), self.size - 1)
        if self.upto is None:
            return self.values[runs]
        return self.values[np.searchsorted(self.upto, runs, side="right") - 1]

    def _before(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return places if self.upto is None else self.upto[places]


@dataclass(frozen=True)
class Counts:
    """Runs on both inputs, and how many of them an attack named for the first, for the second."""

    n1: int = 0
    n2: int = 0
    above1: int = 0
    above2: int = 0
    below1: int = 0
    below2: int = 0

    def plus(
        self, attack: ThresholdAttack, first: Samples, second: Samples, rng: np.random.Generator
    ) -> Counts:
        above1, below1 = attack.count(first, rng)
        above2, below2 = attack.count(second, rng)
        return Counts(
            self.n1 + first.size,
            self.n2 + second.size,
            self.above1 + above1,
            self.above2 + above2,
            self.below1 + below1,
            self.below2 + below2,
        )

    @staticmethod
    def of_scores(
        attack: ThresholdAttack, first: ScoreCounts, second: ScoreCounts, rng: np.random.Generator
    ) -> Counts:
        """From counts of scores: a coin decides about each run at the threshold."""
        ones, twos = (
            part.above + (int(rng.binomial(part.equal, attack.q)) if attack.q > 0.0 else 0)
            for part in (first, second)
        )
        below = (first.below, second.below) if attack.two_sided else (0, 0)
        return Counts(first.size, second.size, ones, twos, *below)

    def joined(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def right(self) -> int:
        return self.above1 + self.below2

    @property
    def wrong(self) -> int:
        return self.above2 + self.below1

    def bound(
        self, attack: ThresholdAttack, alpha: float, delta: float, *, stopped: bool, paper: bool
    ) -> float:
        """A lower bound on epsilon at confidence 1 - alpha; -inf where nothing follows.

        A two-sided attack assumes that a fair coin picked the input of each run. `stopped`: the
        number of runs was not fixed beforehand, so that an anytime-valid bound is needed.
        """
        if self.n1 == 0 or self.n2 == 0:
            return -math.inf
        if attack.two_sided:
            if not stopped:
                return ratio.coin_label(self.right, self.wrong, alpha)
            share = bernoulli_sequence(self.right, self.right + self.wrong, alpha)[0]
            return math.log(share / (1.0 - share)) if share > 0.0 else -math.inf
        if stopped:
            low = bernoulli_sequence(self.above1, self.n1, alpha / 2)[0]
            high = bernoulli_sequence(self.above2, self.n2, alpha / 2)[1]
            return math.log((low - delta) / high) if low > delta else -math.inf
        kind = ratio.split if paper else ratio.unconditional
        return kind(self.above1, self.n1, self.above2, self.n2, alpha, delta)

    def promise(
        self, attack: ThresholdAttack, final: int, alpha: float, delta: float, caution: float
    ) -> float:
        """The bound to expect after `final` runs on each input, by counts that chose nothing.

        Where the best of several attacks is taken, `caution` subtracts what chance alone gives it:
        an event that came up twenty times seems better than it is more often than a common one.
        """
        if self.n1 == 0 or self.n2 == 0:
            return -math.inf
        if attack.two_sided:
            right, wrong = np.array([self.right]), np.array([self.wrong])
            runs = (self.n1 + self.n2) // 2
            return float(_promise_of_both(right, wrong, runs, final, alpha, caution)[0])
        k1, k2 = np.array([self.above1]), np.array([self.above2])
        return float(_promise(k1, self.n1, k2, self.n2, final, alpha, delta, caution)[0])


def best_threshold(
    scorer: Scorer,
    first: OrderedScores,
    second: OrderedScores,
    final: int,
    alpha: float,
    delta: float = 0.0,
    *,
    coin: bool = False,
    caution: float = CAUTION,
) -> ThresholdAttack:
    """The thresholds, for either input or both, whose bound after `final` runs promises most.

    `first` and `second` are scores of outputs that did not train the scorer. The promise subtracts
    what chance alone gives the best of many (`caution`), or else the luckiest rare event would be
    chosen.
    Attacks on both inputs at once need pure epsilon, and a `coin` that picks the input of each run.
    """
    best = ThresholdAttack(scorer, math.inf, 0.0, False)
    for flipped in (False, True):
        one, two = (second.negated(), first.negated()) if flipped else (first, second)
        levels = np.union1d(
            one.levels(),
            # Just above the largest score of the second input.
            np.append(two.levels(), two.values[-1]),
        )
        k1, k2 = one.above(levels), two.above(levels)
        promise = _promise(k1, one.size, k2, two.size, final, alpha, delta, caution)
        place = int(np.argmax(promise))
        if promise[place] > best.expected:
            c = float(k2[place] / two.size)
            best = ThresholdAttack(
                scorer, float(levels[place]), 0.0, flipped, float(promise[place]), c
            )
        if coin and delta == 0.0 and not flipped:
            both = _two_sided(best, levels, one, two, final, alpha, caution)
            best = max(best, both, key=lambda a: a.expected)
    return best


def _two_sided(
    start: ThresholdAttack,
    levels: Floats,
    one: OrderedScores,
    two: OrderedScores,
    final: int,
    alpha: float,
    caution: float,
) -> ThresholdAttack:
    """The best pair of thresholds, above and below; S is named after the larger of the ratios."""
    above1, above2 = one.above(levels), two.above(levels)
    below1, below2 = one.below(levels), two.below(levels)
    # Axes: the threshold above, the threshold below.
    right, wrong = above1[:, None] + below2, above2[:, None] + below1
    apart = (levels[:, None] >= levels) & (np.minimum(right, wrong) >= _MANY)
    apart &= (np.minimum(above1, above2) > 0)[:, None] & (np.minimum(below1, below2) > 0)
    promise = np.where(
        apart, _promise_of_both(right, wrong, one.size, final, alpha, caution), -np.inf
    )
    i, j = np.unravel_index(int(np.argmax(promise)), promise.shape)
    if not promise[i, j] > -np.inf:
        return start
    found = replace(start, flipped=False, q=0.0, expected=float(promise[i, j]))
    if above1[i] * below1[j] >= above2[i] * below2[j]:
        return replace(
            found, t=float(levels[i]), low=float(levels[j]), c=float(above2[i] / two.size)
        )
    return replace(
        found,
        flipped=True,
        t=-float(levels[j]),
        low=-float(levels[i]),
        c=float(below1[j] / one.size),
    )


def _promise_of_both(
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    runs: int,
    final: int,
    alpha: float,
    caution: float,
) -> Floats:
    """What runs that are right or wrong about their input promise, of `runs` on each."""
    right, wrong = np.maximum(right, 1), np.maximum(wrong, 1)
    cost = caution - float(ndtri(alpha)) * math.sqrt(runs / final)
    promise: Floats = np.log(right / wrong) - cost * np.sqrt(1.0 / right + 1.0 / wrong)
    return promise


def _promise(
    k1: NDArray[np.int_],
    n1: int,
    k2: NDArray[np.int_],
    n2: int,
    final: int,
    alpha: float,
    delta: float,
    caution: float,
) -> Floats:
    # Each side's share of the caution: together they lie about that far apart.
    side = float(ndtr(-caution / math.sqrt(2.0)))
    p1 = clopper_pearson.lower(k1, n1, side)
    p2 = np.maximum(clopper_pearson.upper(k2, n2, side), 1e-300)
    p1 = np.minimum(p1, 1.0 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(
            p1 * (1.0 - p1) / (final * np.maximum(p1 - delta, 1e-300) ** 2)
            + (1.0 - p2) / (final * p2)
        )
        value = np.log((p1 - delta) / p2) + float(ndtri(alpha)) * spread
    return np.where(p1 > delta, value, -np.inf)


def paper_threshold(scorer: Scorer, second: Floats, c: float) -> ThresholdAttack:
    """Algorithm 1: t and q such that the attack has probability c on the second input."""
    ordered = np.sort(second)[::-1]
    place = min(math.floor(c * len(ordered)), len(ordered) - 1)
    t = float(ordered[place])
    above = int(np.count_nonzero(ordered > t))
    equal = int(np.count_nonzero(ordered == t))
    return ThresholdAttack(scorer, t, (c * len(ordered) - above) / equal, False, c=c)
