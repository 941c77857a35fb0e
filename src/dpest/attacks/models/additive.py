"""An additive model of the log-odds of the two inputs: one weight per code of each feature.

The log-likelihood ratio of independent coordinates is a sum over coordinates, and a saturated
feature (the signature) can be any function of what is discrete; so this small model can represent
the optimal attack on most mechanisms. It is fitted by penalised maximum likelihood: neighbouring
bins of an ordered feature are tied to each other, other codes to zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.features import Codes, Feature

Floats = NDArray[np.float64]

_BLOCK = 1 << 14  # rows at a time: their codes and weights stay in the cache
_CURVATURE_ROWS = 25_000
_PILOT_ROWS = 200_000
_MOST_CELLS = 2_000_000
_MOST_STEPS = 15


class Design:
    """Codes of many outputs in one matrix, each feature shifted to its own range of weights."""

    def __init__(self, features: Sequence[Feature], codes: Sequence[Codes], rows: int) -> None:
        self.features = list(features)
        self.offsets = np.concatenate([[0], np.cumsum([f.size for f in features])]).astype(int)
        self.count = int(self.offsets[-1]) + 1  # the last weight is the intercept
        kind = np.uint16 if self.count < 2**16 else np.uint32
        self.matrix = np.empty((len(codes), rows), dtype=kind)
        for line, column, start in zip(self.matrix, codes, self.offsets[:-1], strict=True):
            np.add(column, start, out=line, casting="unsafe")
        self.rows = rows

    @staticmethod
    def join(parts: Sequence[Design]) -> Design:
        return parts[0]._with(np.concatenate([p.matrix for p in parts], axis=1))

    def strided(self, step: int) -> Design:
        return self._with(np.ascontiguousarray(self.matrix[:, ::step]))

    def where(self, rows: NDArray[np.bool_]) -> Design:
        return self._with(self.matrix[:, rows])

    def _with(self, matrix: NDArray[np.unsignedinteger]) -> Design:
        part = object.__new__(Design)
        part.features, part.offsets, part.count = self.features, self.offsets, self.count
        part.matrix, part.rows = matrix, matrix.shape[1]
        return part

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        for begin in range(0, self.rows, _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            yield rows, self.matrix[:, rows].astype(np.intp)

    def scores(self, weights: Floats) -> Floats:
        eta = np.empty(self.rows)
        for rows, codes in self.blocks():
            total = np.full(codes.shape[1], weights[-1])
            for line in codes:
                total += weights[line]
            eta[rows] = total
        return eta

    def gradient(self, rest: Floats) -> Floats:
        total = np.zeros(self.count)
        for rows, codes in self.blocks():
            values = rest[rows]
            for line, start, stop in zip(codes, self.offsets[:-1], self.offsets[1:], strict=True):
                total[start:stop] += np.bincount(
                    line - start, weights=values, minlength=stop - start
                )
            total[-1] += values.sum()
        return total

    def curvature(self, variance: Floats) -> Floats:
        """The Fisher information, from every k-th row where there are many."""
        stride = max(1, self.rows // _CURVATURE_ROWS)
        weight = variance[::stride]
        codes = self.matrix[:, ::stride].astype(np.intp)
        sizes = np.diff(self.offsets)
        matrix = np.zeros((self.count, self.count))
        for i, (line, start) in enumerate(zip(codes, self.offsets[:-1], strict=True)):
            local = line - start
            here = slice(start, start + sizes[i])
            own = np.bincount(local, weights=weight, minlength=sizes[i])
            matrix[np.arange(here.start, here.stop), np.arange(here.start, here.stop)] = own
            matrix[here, -1] = matrix[-1, here] = own
            for j in range(i):
                there = slice(self.offsets[j], self.offsets[j + 1])
                table = np.bincount(
                    local * sizes[j] + (codes[j] - self.offsets[j]),
                    weights=weight,
                    minlength=sizes[i] * sizes[j],
                ).reshape(sizes[i], sizes[j])
                matrix[here, there] = table
                matrix[there, here] = table.T
        matrix[-1, -1] = weight.sum()
        return matrix * (self.rows / len(weight))


class AdditiveModel:
    """Scores: the log-odds of the first input, a sum of one weight per feature.

    `information` per output, and the largest log-odds that it was computed at, let a fit to more
    rows or with another prior begin without computing it again.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        weights: Floats,
        information: tuple[Floats, float] | None = None,
    ) -> None:
        self.features = list(features)
        self.weights = weights
        self.information = information

    def scores(self, codes: Sequence[Codes], size: int) -> Floats:
        total = np.full(size, self.weights[-1])
        start = 0
        for column, feature in zip(codes, self.features, strict=True):
            total += self.weights[start : start + feature.size][column]
            start += feature.size
        return total


def fit(
    design: Design,
    labels: NDArray[np.bool_],
    *,
    step: float,
    start: AdditiveModel | None = None,
) -> AdditiveModel:
    """Fit to `labels` (true: the first input).

    `step` is the standard deviation that the prior allows between neighbouring bins; a code
    without neighbours gets four times that around zero. The penalty makes the problem strictly
    concave, also for separable data. Equal rows are counted once; many different rows are fitted
    from a start that a part of them gave.
    """
    design, ones, zeros = _tally(design, labels)
    if start is None and design.rows > 4 * _PILOT_ROWS:
        stride = design.rows // _PILOT_ROWS
        start = _newton(design.strided(stride), ones[::stride], zeros[::stride], step, None)
    return _newton(design, ones, zeros, step, start)


def fit_counts(
    design: Design,
    ones: Floats,
    zeros: Floats,
    *,
    step: float,
    start: AdditiveModel | None = None,
) -> AdditiveModel:
    """`fit`, where each row of the design stands for so many labels of each kind."""
    return _newton(design, ones, zeros, step, start)


def _tally(design: Design, labels: NDArray[np.bool_]) -> tuple[Design, Floats, Floats]:
    """Distinct rows with the number of labels of each kind, where the codes have few values."""
    sizes = np.diff(design.offsets)
    cells = math.prod(sizes.tolist())
    if cells > min(_MOST_CELLS, design.rows // 2):
        return design, labels.astype(np.float64), (~labels).astype(np.float64)
    key = np.zeros(design.rows, dtype=np.int64)
    for line, begin, size in zip(design.matrix, design.offsets[:-1], sizes, strict=True):
        key *= size
        key += line
        key -= begin
    ones = np.bincount(key[labels], minlength=cells).astype(np.float64)
    zeros = np.bincount(key[~labels], minlength=cells).astype(np.float64)
    seen = np.flatnonzero(ones + zeros)
    codes = []
    rest = seen.copy()
    for size in sizes[::-1]:
        codes.append(rest % size)
        rest //= size
    return Design(design.features, codes[::-1], len(seen)), ones[seen], zeros[seen]


def _newton(
    design: Design, ones: Floats, zeros: Floats, step: float, start: AdditiveModel | None
) -> AdditiveModel:
    from scipy.linalg import cho_factor, cho_solve

    weights = np.zeros(design.count) if start is None else start.weights.copy()
    penalty = _penalty(design.features, design.offsets, design.count, step)
    total = ones + zeros

    def value(w: Floats, eta: Floats) -> float:
        return float(ones @ eta - total @ _softplus(eta) - 0.5 * w @ penalty @ w)

    eta = design.scores(weights)
    best = value(weights, eta)
    known = None if start is None else start.information
    factor: tuple[Floats, bool] | None = None
    length = 1.0
    rows = max(float(total.sum()), 1.0)
    for _ in range(_MOST_STEPS):
        probability = _sigmoid(eta)
        gradient = design.gradient(ones - total * probability) - penalty @ weights
        now = float(np.abs(eta).max(initial=0.0))
        # The curvature hardly changes while the log-odds do not: it is computed again where they
        # do, or where it proved to be wrong.
        if known is None or abs(now - known[1]) > 0.5 or length < 0.5:
            variance = total * np.maximum(probability * (1.0 - probability), 1e-4)
            known, factor = (design.curvature(variance) / rows, now), None
        if factor is None:
            factor = cho_factor(known[0] * rows + penalty, overwrite_a=True)
        move = cho_solve(factor, gradient)
        length = 1.0
        while length > 1e-3:
            trial = weights + length * move
            trial_eta = design.scores(trial)
            trial_value = value(trial, trial_eta)
            if trial_value >= best:
                break
            length *= 0.5
        else:
            break
        weights, eta = trial, trial_eta
        improvement, best = trial_value - best, trial_value
        # A fraction of a nat changes no decision that these rows can support.
        if improvement < 0.2:
            break
    return AdditiveModel(design.features, weights, known)


def _sigmoid(eta: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * eta))


def _softplus(eta: Floats) -> Floats:
    return np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))


def _penalty(
    features: Sequence[Feature], offsets: NDArray[np.int_], count: int, step: float
) -> Floats:
    matrix = np.zeros((count, count))
    tie, pull = 1.0 / step**2, 1.0 / (4.0 * step) ** 2
    for feature, begin in zip(features, offsets[:-1], strict=True):
        codes = np.arange(begin, begin + feature.size)
        if not feature.chain:
            matrix[codes, codes] += pull
            continue
        matrix[begin, begin] += pull
        # A weak pull to zero fixes the level of a chain, which other weights may carry too.
        matrix[codes[1:], codes[1:]] += pull / feature.chain
        later = codes[1:][np.arange(feature.size - 1) % feature.chain > 0]
        matrix[later, later] += tie
        matrix[later - 1, later - 1] += tie
        matrix[later, later - 1] -= tie
        matrix[later - 1, later] -= tie
    matrix[-1, -1] += 1e-6
    return matrix
