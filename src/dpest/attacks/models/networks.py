"""The two classifiers of the DP-Sniper paper, with its settings, in plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class _Layers:
    """A feed-forward network with ReLU layers and a sigmoid output, trained on mini-batches."""

    def __init__(self, hidden: tuple[int, ...], epochs: int, batch: int, seed: int) -> None:
        self.hidden, self.epochs, self.batch, self.seed = hidden, epochs, batch, seed
        self.weights: list[Floats] = []
        self.biases: list[Floats] = []

    def fit(self, matrix: Floats, labels: NDArray[np.int64]) -> _Layers:
        rng = np.random.default_rng(self.seed)
        sizes = (matrix.shape[1], *self.hidden, 1)
        # Uniform in +-1/sqrt(inputs), the usual start of a linear layer.
        self.weights = [rng.uniform(-1, 1, (a, b)) / np.sqrt(a) for a, b in pairwise(sizes)]
        self.biases = [rng.uniform(-1, 1, b) / np.sqrt(a) for a, b in pairwise(sizes)]
        target = labels.astype(np.float64)[:, None]
        self._start()
        for _ in range(self.epochs):
            for begin in range(0, len(matrix), self.batch):
                rows = slice(begin, begin + self.batch)
                self._update(*self._gradients(matrix[rows], target[rows]))
        return self

    def predict_proba(self, matrix: Floats) -> Floats:
        p = self._forward(matrix)[-1]
        return np.hstack([1.0 - p, p])

    def _forward(self, matrix: Floats) -> list[Floats]:
        values = [matrix]
        for depth, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = values[-1] @ w + b
            last = depth == len(self.weights) - 1
            values.append(0.5 * (1.0 + np.tanh(0.5 * z)) if last else np.maximum(z, 0.0))
        return values

    def _gradients(self, matrix: Floats, target: Floats) -> tuple[list[Floats], list[Floats]]:
        values = self._forward(matrix)
        error = (values[-1] - target) / len(matrix)
        dw: list[Floats] = []
        db: list[Floats] = []
        for depth in range(len(self.weights) - 1, -1, -1):
            dw.append(values[depth].T @ error)
            db.append(error.sum(axis=0))
            if depth:
                error = (error @ self.weights[depth].T) * (values[depth] > 0)
        return dw[::-1], db[::-1]

    def _start(self) -> None:
        raise NotImplementedError

    def _update(self, dw: list[Floats], db: list[Floats]) -> None:
        raise NotImplementedError


class PaperLogistic(_Layers):
    """Logistic regression by SGD: rate 0.3, momentum 0.3, weight decay 0.001, 10 epochs."""

    def __init__(self, seed: int = 0, batch: int = 100_000) -> None:
        super().__init__((), 10, batch, seed)

    def _start(self) -> None:
        self._speed = [np.zeros_like(p) for p in (*self.weights, *self.biases)]

    def _update(self, dw: list[Floats], db: list[Floats]) -> None:
        for speed, parameter, gradient in zip(
            self._speed, (*self.weights, *self.biases), (*dw, *db), strict=True
        ):
            speed *= 0.3
            speed += gradient + 0.001 * parameter
            parameter -= 0.3 * speed


class PaperNetwork(_Layers):
    """10 and 5 ReLU units; Adam with rate 0.1, betas 0.9 and 0.999, decay 0.0001, 10 epochs."""

    def __init__(self, seed: int = 0, batch: int = 100_000) -> None:
        super().__init__((10, 5), 10, batch, seed)

    def _start(self) -> None:
        self._first = [np.zeros_like(p) for p in (*self.weights, *self.biases)]
        self._second = [np.zeros_like(p) for p in (*self.weights, *self.biases)]
        self._count = 0

    def _update(self, dw: list[Floats], db: list[Floats]) -> None:
        self._count += 1
        for first, second, parameter, raw in zip(
            self._first,
            self._second,
            (*self.weights, *self.biases),
            (*dw, *db),
            strict=True,
        ):
            gradient = raw + 0.0001 * parameter
            first *= 0.9
            first += 0.1 * gradient
            second *= 0.999
            second += 0.001 * gradient**2
            step = first / (1.0 - 0.9**self._count)
            scale = np.sqrt(second / (1.0 - 0.999**self._count)) + 1e-8
            parameter -= 0.1 * step / scale
