"""Online predictors of the label of an output: which of the two inputs did it come from?

Each one gives, for every output of a batch, the probability that the label is 1, from earlier
labels only. They are weighed against each other by how well they predicted so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from dpest.attacks.features import Coder, FeatureFamily, Parts, Splitter, quantile_edges
from dpest.attacks.models import additive
from dpest.running.samples import Samples
from dpest.stats.betting import tails_log_wealth, tree_log_wealth

Floats = NDArray[np.float64]

#: Strengths of the Beta(k, k) priors on a label's probability. The weak one learns a large leak at
#: once, the strong ones do not bet on noise when the leak is small.
_STRENGTHS = np.array([0.5, 4.0, 32.0, 256.0])
_DEEPEST = 9


def tree_predictions(ones: Floats, zeros: Floats) -> tuple[Floats, float]:
    """Context-tree weighting over 2^d ordered leaves: predictions per leaf, and log evidence.

    Every node either stops (one Beta-Bernoulli for all its outputs) or splits in two, with equal
    prior weight; the prediction averages over all prunings of the tree and over the strengths of
    the priors. `ones` and `zeros` have shape (..., leaves); leading axes are separate trees that
    share one choice of strength.
    """
    leaves = ones.shape[-1]
    depth = leaves.bit_length() - 1
    # The first axis is for the strengths.
    k = _STRENGTHS.reshape(-1, *[1] * ones.ndim)
    base = betaln(k, k)
    stops, means = [], []
    weight: Floats | None = None
    up, down = ones, zeros
    for level in range(depth + 1):
        if level:
            up, down = up[..., ::2] + up[..., 1::2], down[..., ::2] + down[..., 1::2]
        stop = betaln(up + k, down + k) - base
        means.append((up + k) / (up + down + 2.0 * k))
        if weight is None:
            weight = stop
            stops.append(np.ones_like(stop))
        else:
            split = weight[..., ::2] + weight[..., 1::2]
            weight = np.logaddexp(stop, split) - np.log(2.0)
            stops.append(np.exp(stop - np.log(2.0) - weight))
    assert weight is not None
    evidence = weight.reshape(len(_STRENGTHS), -1).sum(axis=1)
    left = np.ones_like(stops[-1])
    guess = np.zeros_like(stops[-1])
    for level in range(depth, -1, -1):
        guess = guess + left * stops[level] * means[level]
        left = left * (1.0 - stops[level])
        if level:
            guess, left = np.repeat(guess, 2, axis=-1), np.repeat(left, 2, axis=-1)
    shares = np.exp(evidence - evidence.max())
    shares /= shares.sum()
    return np.tensordot(shares, guess, axes=1), float(np.logaddexp.reduce(evidence))


@dataclass
class LabelTable:
    """Counts of labels by cell, and the predictions that follow from them."""

    ones: Floats
    zeros: Floats
    guess: Floats

    @staticmethod
    def empty(shape: tuple[int, ...]) -> LabelTable:
        return LabelTable(np.zeros(shape), np.zeros(shape), np.full(shape, 0.5))

    def add(self, cells: NDArray[np.intp], labels: NDArray[np.bool_]) -> None:
        size = self.ones.size
        counts = np.bincount(cells[labels], minlength=size)
        self.ones += counts.reshape(self.ones.shape)
        self.zeros += np.bincount(cells[~labels], minlength=size).reshape(self.ones.shape)

    def refresh(self) -> None:
        self.guess = tree_predictions(self.ones, self.zeros)[0]


class ScoreCells:
    """Bins of a score, within each frequent signature if `crossed`; cells never see labels.

    There are at most `signatures` + 1 rows (the first is for all others) of 2^`deepest` bins,
    with about `outputs` of the history in each.
    """

    def __init__(
        self, crossed: bool, scored: bool, signatures: int, deepest: int, outputs: float
    ) -> None:
        self.crossed, self.scored = crossed, scored
        self._most, self._deepest, self._outputs = signatures, deepest, outputs
        self._signatures: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._edges = np.empty(0)

    def fit(self, signatures: NDArray[np.uint64], score: Floats) -> tuple[int, int]:
        """Choose the cells for these outputs; gives their shape: rows and bins."""
        rows = 1
        if self.crossed:
            distinct, counts = np.unique(signatures, return_counts=True)
            kept = distinct[counts >= 2]
            if len(kept) > self._most:
                kept = distinct[np.argsort(counts)[-self._most :]]
            self._signatures = np.sort(kept)
            rows = len(kept) + 1
        depth = 0
        if self.scored:
            per_row = len(score) / max(rows - 1, 1)
            depth = int(np.clip(np.log2(max(per_row / self._outputs, 1.0)), 0, self._deepest))
            edges = quantile_edges(score, 2**depth)
            # Repeated values give fewer edges, and so fewer bins; nothing lies below the least.
            edges = edges[edges > score.min(initial=np.inf)]
            depth = len(edges).bit_length()
            # Infinite edges keep the tree complete.
            self._edges = np.concatenate([edges, np.full(2**depth - 1 - len(edges), np.inf)])
        return rows, 2**depth

    def place(self, signatures: NDArray[np.uint64], score: Floats) -> NDArray[np.intp]:
        """The cell of each output, in row-major order."""
        row = np.zeros(len(score), dtype=np.intp)
        if self.crossed and len(self._signatures):
            near = np.minimum(
                np.searchsorted(self._signatures, signatures), len(self._signatures) - 1
            )
            row = np.where(self._signatures[near] == signatures, near + 1, 0)
        if not self.scored:
            return row
        bins = len(self._edges) + 1
        return row * bins + np.searchsorted(self._edges, score, side="right")


class TreePredictor:
    """Predicts by the label counts of cells, smoothed over each row's tree."""

    def __init__(self, crossed: bool, scored: bool) -> None:
        self.name = " and ".join(n for n, on in (("signature", crossed), ("score", scored)) if on)
        self.loss = 0.0
        self._cells = ScoreCells(crossed, scored, signatures=4096, deepest=_DEEPEST, outputs=6.0)
        self.table = LabelTable.empty((1, 1))

    def fit(
        self,
        signatures: NDArray[np.uint64],
        score: Floats,
        labels: NDArray[np.bool_],
        counted: NDArray[np.bool_],
    ) -> None:
        """Choose cells from all outputs (without their labels), then count the labels.

        Only rows where `counted` is true give labels: the others trained the score.
        """
        self.table = LabelTable.empty(self._cells.fit(signatures, score))
        self.table.add(self._cells.place(signatures, score)[counted], labels[counted])
        self.table.refresh()

    def predict(self, signatures: NDArray[np.uint64], score: Floats) -> Floats:
        self._last = self._cells.place(signatures, score)
        return self.table.guess.ravel()[self._last]

    def learn(self, labels: NDArray[np.bool_]) -> None:
        """Count the labels of the outputs that were predicted last."""
        self.table.add(self._last, labels)
        self.table.refresh()


class RegionBets:
    """Bets on a few large regions of outputs, where a prior beats an estimate of the odds.

    Few regions are learnt from few runs. Between two fits each way of betting is an e-process
    that started from the history's counts; the gains multiply up to one over all fits.
    """

    #: The ways of betting, and the parts of the wealth of a `RegionBets` that they start with.
    WAYS = ((tails_log_wealth, 0.75), (tree_log_wealth, 0.25))

    def __init__(self) -> None:
        self._cells = ScoreCells(crossed=True, scored=True, signatures=15, deepest=4, outputs=4.0)
        self.table = LabelTable.empty((1, 1))
        self._logs = np.empty((0, 0))  # log wealths by way and hypothesis, NaN where not needed

    def fit(
        self,
        signatures: NDArray[np.uint64],
        score: Floats,
        labels: NDArray[np.bool_],
        counted: NDArray[np.bool_],
    ) -> None:
        self.table = LabelTable.empty(self._cells.fit(signatures, score))
        self.table.add(self._cells.place(signatures, score)[counted], labels[counted])
        self._logs[:] = np.nan

    def predict(self, signatures: NDArray[np.uint64], score: Floats) -> None:
        """Fix the regions of the next outputs."""
        self._last = self._cells.place(signatures, score)

    def boldest(self) -> float:
        """The largest log-odds of a cell or a tail so far; nothing is bet on beyond them."""
        ones, zeros = self.table.ones, self.table.zeros
        found = 0.0
        for sums in (
            lambda n: n,
            lambda n: np.cumsum(n, axis=1),
            lambda n: np.cumsum(n[:, ::-1], axis=1),
        ):
            odds = np.log(sums(ones) + 0.5) - np.log(sums(zeros) + 0.5)
            found = max(found, float(np.abs(odds).max()))
        return found

    def learn(self, labels: NDArray[np.bool_], grid: Floats, open_: NDArray[np.intp]) -> Floats:
        """Count the labels of the outputs seen last: log gains, one row per way of betting.

        Only the hypotheses at the positions `open_` of the grid are bet against.
        """
        gains = np.zeros((len(self.WAYS), len(grid)))
        active = open_[grid[open_] < self.boldest()]
        if self._logs.shape != gains.shape:
            self._logs = np.full(gains.shape, np.nan)
        unknown = active[np.isnan(self._logs[0, active])]
        self._logs[:, unknown] = self._wealths(grid[unknown])
        gains[:, active] = -self._logs[:, active]
        self.table.add(self._last, labels)
        self._logs[:] = np.nan
        self._logs[:, active] = self._wealths(grid[active])
        gains[:, active] += self._logs[:, active]
        return gains

    def _wealths(self, epsilons: Floats) -> Floats:
        if len(epsilons) == 0:
            return np.empty((len(self.WAYS), 0))
        used = (self.table.ones + self.table.zeros).any(axis=1)  # the others' log wealth is 0
        ones, zeros = self.table.ones[used], self.table.zeros[used]
        return np.array([wealth(ones, zeros, epsilons) for wealth, _ in self.WAYS])


class Score:
    """One number per output that orders outputs by how much they speak for label 1.

    An output with a single number is its own score. Otherwise an additive model is trained on
    half of the history; the other half is left to count labels on.
    """

    def __init__(self, history: Samples, labels: NDArray[np.bool_]) -> None:
        self.splitter = Splitter(history)
        parts = self.splitter.parts(history)
        self.parts = parts
        self.trained = len(parts.numbers) > 1 or (
            len(parts.numbers) == 0 and len(np.unique(parts.signatures)) > parts.size // 8
        )
        self.counted = np.ones(parts.size, dtype=bool)
        self._model: additive.AdditiveModel | None = None
        if self.trained and parts.size >= 64:
            family = FeatureFamily(bins=8, differences=len(parts.numbers) > 1, tails=False)
            self._coder = Coder(self.splitter, parts, family)
            if self._coder.features:
                codes = self._coder.codes_of(parts)
                half = np.arange(parts.size) % 2 == 0
                design = additive.Design(self._coder.features, codes, parts.size)
                self._model = additive.fit(design.where(half), labels[half], step=0.1)
                self.counted = ~half

    @property
    def uses_leaves(self) -> bool:
        return self._model is not None and self._coder.uses_leaves

    def __call__(self, parts: Parts) -> Floats:
        if self._model is not None:
            return self._model.scores(self._coder.codes_of(parts), parts.size)
        if parts.numbers:
            score = parts.numbers[0]
            return np.where(np.isnan(score), np.inf, score)
        return np.zeros(parts.size)


class Ensemble:
    """All predictors, averaged by how well each has predicted so far."""

    def __init__(self) -> None:
        self._members = [
            TreePredictor(crossed=False, scored=True),
            TreePredictor(crossed=True, scored=False),
            TreePredictor(crossed=True, scored=True),
        ]
        self._awake = self._members[:1]
        self._regions = RegionBets()
        self._score: Score | None = None

    def refit(self, history: Samples, labels: NDArray[np.bool_]) -> None:
        self._score = Score(history, labels)
        parts = self._score.parts
        score = self._score(parts)
        # Without signatures, or without a score, some members would see the same cells.
        several = bool((parts.signatures != parts.signatures[:1]).any())
        scored = bool((score != score[:1]).any())
        by_score, by_signature, by_both = self._members
        if several:
            self._awake = [by_score, by_signature, by_both] if scored else [by_signature]
        else:
            self._awake = [by_score]
        members: list[TreePredictor | RegionBets] = [*self._awake, self._regions]
        for member in members:
            member.fit(parts.signatures, score, labels, self._score.counted)

    def predict(self, samples: Samples) -> Floats:
        """P(label 1) for each output; 1/2 before anything was seen."""
        if self._score is None:
            return np.full(samples.size, 0.5)
        parts = self._score.splitter.parts(samples, leaves=self._score.uses_leaves)
        score = self._score(parts)
        self._regions.predict(parts.signatures, score)
        self._guesses = [m.predict(parts.signatures, score) for m in self._awake]
        losses = np.array([m.loss for m in self._awake])
        shares = np.exp(losses.min() - losses)
        self._mean = np.einsum("m,mn->n", shares / shares.sum(), np.array(self._guesses))
        return self._mean

    def learn(self, labels: NDArray[np.bool_], grid: Floats, open_: NDArray[np.intp]) -> Floats:
        """Labels of the outputs predicted last: log gains of the region bets against the grid."""
        if self._score is None:
            return np.zeros((len(RegionBets.WAYS), len(grid)))
        for member, guess in zip(self._awake, self._guesses, strict=True):
            member.loss += _loss(guess, labels)
            member.learn(labels)
        for member in self._members:
            if member not in self._awake:
                # Who sleeps is taken to agree with the others.
                member.loss += _loss(self._mean, labels)
        return self._regions.learn(labels, grid, open_)

    @property
    def best(self) -> str:
        return min(self._awake, key=lambda m: m.loss).name


def _loss(guess: Floats, labels: NDArray[np.bool_]) -> float:
    return -float(np.log(np.where(labels, guess, 1.0 - guess)).sum())
