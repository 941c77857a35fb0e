"""An additive model of the log-odds of the two inputs: one weight per code of each feature.

The log-likelihood ratio of independent coordinates is a sum over coordinates, and a saturated
feature (the signature) can be any function of what is discrete; so this small model can represent
the optimal attack on most mechanisms. It is fitted by penalised maximum likelihood: neighbouring
bins of an ordered feature are tied to each other, other codes to zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.features import Codes, Feature

_HESSIAN_WORK = 4e7
_MOST_STEPS = 12


class AdditiveModel:
    """Scores s = log-odds of the first input, as a sum of one weight per feature."""

    def __init__(self, features: Sequence[Feature], weights: NDArray[np.float64]) -> None:
        self.features = list(features)
        self.offsets = np.concatenate([[0], np.cumsum([f.size for f in features])]).astype(int)
        self.weights = weights

    def scores(self, codes: Sequence[Codes], size: int) -> NDArray[np.float64]:
        total = np.full(size, self.weights[-1])
        for column, start, feature in zip(codes, self.offsets[:-1], self.features, strict=True):
            total += self.weights[start : start + feature.size][column]
        return total


def fit(
    features: Sequence[Feature],
    codes: Sequence[Codes],
    labels: NDArray[np.bool_],
    *,
    step: float,
    start: AdditiveModel | None = None,
) -> AdditiveModel:
    """Fit to `labels` (true: the first input).

    `step` is the standard deviation that the prior allows between neighbouring bins; a code
    without neighbours gets four times that around zero. The penalty makes the problem strictly
    concave, also for separable data.
    """
    sizes = [f.size for f in features]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    count, rows = int(offsets[-1]) + 1, len(labels)
    weights = np.zeros(count) if start is None else start.weights.copy()
    penalty = _penalty(features, offsets, count, step)
    target = labels.astype(np.float64)

    def predict(w: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.full(rows, w[-1])
        for column, begin, size in zip(codes, offsets[:-1], sizes, strict=True):
            total += w[begin : begin + size][column]
        return total

    def value(w: NDArray[np.float64], eta: NDArray[np.float64]) -> float:
        return float(np.dot(target, eta) - np.logaddexp(0.0, eta).sum() - 0.5 * w @ penalty @ w)

    eta = predict(weights)
    best = value(weights, eta)
    inner: NDArray[np.float64] | None = None
    spread = 0.0
    for _ in range(_MOST_STEPS):
        probability = _sigmoid(eta)
        rest = target - probability
        gradient = np.empty(count)
        for column, begin, size in zip(codes, offsets[:-1], sizes, strict=True):
            gradient[begin : begin + size] = np.bincount(column, weights=rest, minlength=size)
        gradient[-1] = rest.sum()
        gradient -= penalty @ weights
        now = float(np.abs(eta).max(initial=0.0))
        if inner is None or now > 1.25 * spread + 0.25:
            inner, spread = _curvature(codes, offsets, count, probability), now
        move = np.linalg.solve(inner + penalty, gradient)
        gain = 0.5 * float(gradient @ move)
        length = 1.0
        while length > 1e-3:
            trial = weights + length * move
            trial_eta = predict(trial)
            trial_value = value(trial, trial_eta)
            if trial_value >= best:
                break
            length *= 0.5
        else:
            break
        weights, eta = trial, trial_eta
        improvement, best = trial_value - best, trial_value
        # A hundredth of a nat changes no decision that these rows can support.
        if max(improvement, gain) < 0.01 or improvement < 1e-10 * abs(best):
            break
    return AdditiveModel(features, weights)


def _sigmoid(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 * (1.0 + np.tanh(0.5 * eta))


def _curvature(
    codes: Sequence[Codes],
    offsets: NDArray[np.int_],
    count: int,
    probability: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The Fisher information, estimated on every k-th row where there are many."""
    from scipy.sparse import csr_matrix

    rows, width = len(probability), len(codes) + 1
    keep = int(min(rows, max(20_000, _HESSIAN_WORK / width**2)))
    stride = max(1, rows // keep)
    picked = slice(0, None, stride)
    weight = probability[picked] * (1.0 - probability[picked])
    number = len(weight)
    columns = np.empty((number, width), dtype=np.int32)
    for j, (column, begin) in enumerate(zip(codes, offsets[:-1], strict=True)):
        columns[:, j] = column[picked] + begin
    columns[:, -1] = count - 1
    # A floor keeps rows that are already separated from making the step infinite.
    data = np.repeat(np.sqrt(np.maximum(weight, 1e-3)), width)
    design = csr_matrix(
        (data, columns.ravel(), np.arange(0, number * width + 1, width)), shape=(number, count)
    )
    information = np.asarray((design.T @ design).todense(), dtype=np.float64)
    return information * (rows / number)


def _penalty(
    features: Sequence[Feature], offsets: NDArray[np.int_], count: int, step: float
) -> NDArray[np.float64]:
    matrix = np.zeros((count, count))
    tie, pull = 1.0 / step**2, 1.0 / (4.0 * step) ** 2
    for feature, begin in zip(features, offsets[:-1], strict=True):
        if not feature.ordered:
            index = np.arange(begin, begin + feature.size)
            matrix[index, index] += pull
            continue
        matrix[begin, begin] += pull
        for code in range(begin + 1, begin + feature.size):
            # A weak pull to zero fixes the level, which the intercept carries already.
            matrix[code, code] += pull / feature.size
            if code > begin + 1:
                matrix[code, code] += tie
                matrix[code - 1, code - 1] += tie
                matrix[code, code - 1] -= tie
                matrix[code - 1, code] -= tie
    matrix[-1, -1] += 1e-6
    return matrix
