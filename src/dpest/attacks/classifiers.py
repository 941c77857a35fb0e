"""Classifiers that tell outputs of two inputs apart, for DP-Sniper.

A trainer takes labelled outputs and gives a scorer: a number per output that is larger the more the
output speaks for the first input. Only the order of the numbers matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpest.attacks import additive
from dpest.attacks.features import Coder, Family, Parts, Splitter, as_numbers
from dpest.program.samples import Samples

Floats = NDArray[np.float64]

_PILOT = 400_000  # outputs on which families of features are compared
_LOOK = 200_000  # outputs that suffice to choose atoms, bins and scales


#: Enough to compare pairs of inputs with.
QUICK = Family(bins=16, differences=True)


class Scorer(Protocol):
    def scores(self, samples: Samples) -> Floats: ...

    def describe(self) -> str: ...


class AdditiveScorer:
    """Log-odds of an additive model over the codes of an output."""

    def __init__(self, coder: Coder, model: additive.AdditiveModel) -> None:
        self.coder, self.model = coder, model

    def scores(self, samples: Samples) -> Floats:
        return self.model.scores(self.coder.codes(samples), samples.size)

    def describe(self) -> str:
        names = [f.name for f in self.coder.features]
        shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        return f"additive model over {shown}" if names else "constant"


def train_additive(
    first: Samples,
    second: Samples,
    steps: Sequence[float] = (0.5, 0.1, 0.02, 0.004),
    families: Sequence[Family] | None = None,
    keep: int = 3,
) -> list[AdditiveScorer]:
    """The `keep` most promising scorers among families of features and strengths of the prior.

    They are compared on a part of the outputs and then trained on all of them. `first` and
    `second` should have the same size.
    """
    look_samples = _look(first, second)
    splitter = Splitter(look_samples)
    look = splitter.parts(look_samples)
    parts = [splitter.parts(first), splitter.parts(second)]
    labels = np.zeros(first.size + second.size, dtype=bool)
    labels[: first.size] = True
    if families is None:
        families = _families(look)
    stride = max(1, len(labels) // _PILOT)
    # Hold out every other row of a thinned set to compare families and priors on.
    held = np.arange(len(labels[::stride])) % 2 == 1
    trials: list[tuple[float, Coder, float]] = []
    if len(families) == len(steps) == 1:
        coder = Coder(splitter, look, families[0])
        model = additive.fit(_design(coder, parts), labels, step=steps[0])
        return [AdditiveScorer(coder, model)]
    for family in families:
        coder = Coder(splitter, look, family)
        pilot = _design(coder, parts).strided(stride)
        pilot_labels = labels[::stride]
        part = pilot.where(~held)
        start: additive.AdditiveModel | None = None
        for step in steps:
            start = additive.fit(part, pilot_labels[~held], step=step, start=start)
            eta = pilot.scores(start.weights)[held]
            loss = np.logaddexp(0.0, np.where(pilot_labels[held], -eta, eta)).mean()
            trials.append((float(loss), coder, step))
    trials.sort(key=lambda t: t[0])
    found: list[AdditiveScorer] = []
    for _, coder, step in trials[:keep]:
        design = _design(coder, parts)
        found.append(AdditiveScorer(coder, additive.fit(design, labels, step=step)))
    return found


def _families(look: Parts) -> list[Family]:
    """Feature families that can make a difference for outputs like these."""
    numbers = len(look.numbers)
    if numbers == 0:
        return [Family()]
    families = [Family(bins=16), Family(bins=64 if numbers == 1 else 4)]
    if numbers >= 2:
        families.append(Family(bins=16, differences=True))
    if len(np.unique(look.signatures[:20_000])) > 1:
        families.append(Family(bins=16, crossed=True))
    return families


def _design(coder: Coder, parts: Sequence[Parts]) -> additive.Design:
    return additive.Design.join(
        [additive.Design(coder.features, coder.codes_of(p), p.size) for p in parts]
    )


def _look(first: Samples, second: Samples) -> Samples:
    return Samples.concatenate([_head(first, _LOOK // 2), _head(second, _LOOK // 2)])


def _head(samples: Samples, count: int) -> Samples:
    """The first `count` outputs."""
    from dpest.program.samples import Group

    if samples.size <= count:
        return samples
    groups = []
    for group in samples.groups:
        inside = group.rows < count
        if inside.any():
            groups.append(
                Group(group.skeleton, group.rows[inside], tuple(c[inside] for c in group.columns))
            )
    return Samples(count, groups)


class VectorFeatures:
    """Outputs as rows of plain numbers: the values leaf by leaf, with flags for what is special.

    Variable-length and mixed outputs are padded; a leaf that is absent, NaN or infinite gets 0 as
    its value and a flag. Columns are scaled to mean 0 and variance 1 over a first look. With
    `bits` every double adds its 64 bits, each exactly 0 or 1, at fixed places.
    """

    def __init__(self, look: Samples, bits: bool = False) -> None:
        self._bits = bits
        self._leaves = max((len(g.columns) for g in look.groups), default=0)
        self._skeletons = [g.skeleton for g in look.groups]
        raw = self._raw(look)
        self._mean = raw.mean(axis=0)
        spread = raw.std(axis=0)
        self._kept = spread > 0
        self._spread = np.where(self._kept, spread, 1.0)

    def __call__(self, samples: Samples) -> Floats:
        scaled = (self._raw(samples) - self._mean) / self._spread
        return np.ascontiguousarray(scaled[:, self._kept])

    def _raw(self, samples: Samples) -> Floats:
        width = self._leaves
        total = 4 * width + 1 + (64 * width if self._bits else 0)
        matrix = np.zeros((samples.size, total))
        for group in samples.groups:
            rows = group.rows
            matrix[rows, 4 * width] = len(group.columns)
            for leaf, column in enumerate(group.columns[:width]):
                values = as_numbers(column)
                good = np.isfinite(values)
                matrix[rows, 4 * leaf] = np.where(good, values, 0.0)
                matrix[rows, 4 * leaf + 1] = 1.0
                matrix[rows, 4 * leaf + 2] = np.isnan(values)
                matrix[rows, 4 * leaf + 3] = np.where(np.isinf(values), np.sign(values), 0.0)
                if self._bits:
                    start = 4 * width + 1 + 64 * leaf
                    words = values.view(np.uint64)
                    for bit in range(64):
                        matrix[rows, start + bit] = (words >> np.uint64(bit)) & np.uint64(1)
        return matrix


class ProbabilityScorer:
    """The probability that a fitted classifier gives to the first input."""

    def __init__(self, features: VectorFeatures, classifier: Any) -> None:
        self._features, self._classifier = features, classifier

    def scores(self, samples: Samples) -> Floats:
        matrix = self._features(samples)
        if matrix.shape[1] == 0:
            return np.full(samples.size, 0.5)
        return np.asarray(self._classifier.predict_proba(matrix)[:, 1], dtype=np.float64)

    def describe(self) -> str:
        return type(self._classifier).__name__


def train_probability(
    first: Samples, second: Samples, classifier: Any, seed: int, bits: bool = False
) -> ProbabilityScorer:
    """Fit anything with `fit` and `predict_proba` on shuffled outputs of both inputs."""
    features = VectorFeatures(_look(first, second), bits=bits)
    matrix = np.concatenate([features(first), features(second)])
    labels = np.zeros(len(matrix), dtype=np.int64)
    labels[: first.size] = 1
    order = np.random.default_rng(seed).permutation(len(matrix))
    if matrix.shape[1]:
        classifier.fit(matrix[order], labels[order])
    return ProbabilityScorer(features, classifier)
