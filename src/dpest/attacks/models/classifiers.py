"""Classifiers that tell outputs of two inputs apart, for DP-Sniper.

A trainer takes labelled outputs and gives a scorer: a number per output that is larger the more the
output speaks for the first input. Only the order of the numbers matters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.features import Coder, FeatureFamily, Parts, Splitter, as_numbers
from dpest.attacks.models import additive
from dpest.running.samples import Samples
from dpest.running.skeleton import Skeleton

Floats = NDArray[np.float64]

_LOOK = 400_000  # outputs that choose atoms, bins and scales, and compare families of features
# What a fit costs, roughly: rows times features in a second, with a few models and steps each.
_ROWS_A_SECOND, _LEAST_ROWS = 1_500_000, 4_000
_BLOCK = 1 << 15  # outputs scored at a time: what is read again stays in the cache
_MOST_CELLS = 400_000_000  # codes held for training, two bytes each


#: Enough to compare pairs of inputs with.
QUICK = FeatureFamily(bins=16, differences=True, inner=True)


class Scorer(Protocol):
    def scores(self, samples: Samples) -> Floats: ...

    def describe(self) -> str: ...


class AdditiveScorer:
    """Log-odds of an additive model over the codes of an output."""

    def __init__(self, coder: Coder, model: additive.AdditiveModel) -> None:
        self.coder, self.model = coder, model

    def scores(self, samples: Samples) -> Floats:
        parts = self.coder.splitter.parts(samples, leaves=self.coder.uses_leaves)
        found = np.empty(parts.size)
        for begin in range(0, parts.size, _BLOCK):
            some = parts.rows(begin, begin + _BLOCK)
            found[begin : begin + some.size] = self.model.scores(
                self.coder.codes_of(some), some.size
            )
        return found

    def describe(self) -> str:
        names = [f.name for f in self.coder.features]
        shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        return f"additive model over {shown}" if names else "constant"


@dataclass(frozen=True)
class NumberScorer:
    """The output itself, where it is one number and nothing else; other outputs are below all."""

    skeleton: Skeleton

    @staticmethod
    def of(samples: Samples) -> NumberScorer | None:
        """None where outputs are anything but one number."""
        if len(samples.groups) != 1 or samples.groups[0].kinds != ["float"]:
            return None
        return NumberScorer(samples.groups[0].skeleton)

    def scores(self, samples: Samples) -> Floats:
        found = np.full(samples.size, -np.inf)
        for group in samples.groups:
            if group.skeleton == self.skeleton:
                values = as_numbers(group.columns[0])
                found[group.rows] = np.where(np.isnan(values), -np.inf, values)
        return found

    def describe(self) -> str:
        return "number"

    def words(self, low: float, high: float) -> str:
        if low == -math.inf:
            return f"the number is below {high:.6g}"
        return f"the number exceeds {low:.6g}"


class Trainer(Protocol):
    """Takes labelled outputs in portions of equal size for both inputs, then gives scorers."""

    def add(self, first: Samples, second: Samples) -> None: ...

    def finish(self) -> Sequence[Scorer]: ...


class AdditiveTrainer:
    """The most promising additive scorers among families of features and strengths of the prior.

    The first portion decides which: half of a thinned set trains, the other half compares. All
    portions then train those that are kept. Outputs are coded at once and not held. With a limit
    in `seconds` from now on, fewer outputs are used and fewer models are tried.
    """

    def __init__(
        self,
        steps: Sequence[float] = (0.5, 0.1, 0.02, 0.004),
        families: Sequence[FeatureFamily] | None = None,
        keep: int = 3,
        seconds: float | None = None,
    ) -> None:
        self._steps, self._families, self._keep = tuple(steps), families, keep
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._chosen: list[tuple[Coder, float, additive.AdditiveModel | None]] | None = None
        self._coders: list[Coder] = []
        self._designs: dict[int, list[additive.Design]] = {}
        self._labels: list[NDArray[np.bool_]] = []
        self._cells = 0

    def add(self, first: Samples, second: Samples) -> None:
        if self._chosen is None:
            self._choose(first, second)
        if self._cells > _MOST_CELLS:
            return  # memory is full; more rows would hardly change the weights
        leaves = any(coder.uses_leaves for coder in self._coders)
        for samples, label in ((first, True), (second, False)):
            for number, coder in enumerate(self._coders):
                parts = coder.splitter.parts(samples, leaves)
                design = additive.Design(coder.features, coder.codes_of(parts), parts.size)
                self._designs.setdefault(number, []).append(design)
                self._cells += design.matrix.size
            self._labels.append(np.full(samples.size, label))

    def finish(self) -> list[AdditiveScorer]:
        if self._chosen is None:
            raise ValueError("a classifier needs outputs to train on")
        labels = np.concatenate(self._labels)
        found: list[AdditiveScorer] = []
        for number, coder in enumerate(self._coders):
            design = additive.Design.join(self._designs.pop(number))
            stride = max(1, -(-design.rows // self._affordable(len(coder.features))))
            if stride > 1:
                design = design.strided(stride)
            for chosen, step, start in self._chosen:
                if chosen is coder and (not found or time.monotonic() < self._end):
                    model = additive.fit(design, labels[::stride], step=step, start=start)
                    found.append(AdditiveScorer(coder, model))
        return found

    def _affordable(self, features: int) -> int:
        """Rows that a few fits have the time for."""
        if self._end == math.inf:
            return 1 << 62
        left = max(self._end - time.monotonic(), 0.0)
        return max(_LEAST_ROWS, int(_ROWS_A_SECOND * left / max(features, 1)))

    def _choose(self, first: Samples, second: Samples) -> None:
        self._half = min(_LOOK, self._affordable(16)) // 2
        head = _look(first, second, self._half)
        splitter = Splitter(head)
        look = splitter.parts(head)
        families = _families(look) if self._families is None else self._families
        coders = [Coder(splitter, look, family) for family in families]
        if len(coders) * len(self._steps) == 1:
            self._chosen = [(coders[0], self._steps[0], None)]
        else:
            self._chosen = self._compare(coders, look, first, second)
        kept = [coder for coder, _, _ in self._chosen]
        self._coders = [coder for coder in coders if any(coder is k for k in kept)]

    def _compare(
        self, coders: Sequence[Coder], look: Parts, first: Samples, second: Samples
    ) -> list[tuple[Coder, float, additive.AdditiveModel | None]]:
        labels = np.zeros(look.size, dtype=bool)
        labels[: min(first.size, self._half)] = True
        held = np.arange(look.size) % 2 == 1
        trials: list[tuple[float, Coder, float, additive.AdditiveModel | None]] = []
        middle = self._end if self._end == math.inf else 0.5 * (time.monotonic() + self._end)
        for coder in coders:
            if trials and time.monotonic() > middle:
                break
            design = additive.Design(coder.features, coder.codes_of(look), look.size)
            part = design.where(~held)
            model: additive.AdditiveModel | None = None
            for step in self._steps:
                model = additive.fit(part, labels[~held], step=step, start=model)
                eta = design.scores(model.weights)[held]
                loss = np.logaddexp(0.0, np.where(labels[held], -eta, eta)).mean()
                trials.append((float(loss), coder, step, model))
        trials.sort(key=lambda t: t[0])
        return [trial[1:] for trial in trials[: self._keep]]


def _families(look: Parts) -> list[FeatureFamily]:
    """Feature families that can make a difference for outputs like these."""
    numbers = len(look.numbers)
    if numbers == 0:
        return [FeatureFamily(), FeatureFamily(inner=True)] if look.inner else [FeatureFamily()]
    if look.inner:
        # Parts made on their own add up; the whole is looked at in case they were not.
        families = [
            FeatureFamily(bins=16, inner=True),
            FeatureFamily(bins=16, crossed=True, inner=True),
        ]
        if numbers >= 2:
            families.append(FeatureFamily(bins=16, differences=True, inner=True))
        return [*families, FeatureFamily(bins=16)]
    families = [FeatureFamily(bins=16), FeatureFamily(bins=64 if numbers == 1 else 4)]
    if numbers >= 2:
        families.append(FeatureFamily(bins=16, differences=True))
    if len(np.unique(look.signatures[:20_000])) > 1:
        families.append(FeatureFamily(bins=16, crossed=True))
    return families


def _look(first: Samples, second: Samples, half: int = _LOOK // 2) -> Samples:
    return Samples.concatenate([_head(first, half), _head(second, half)])


def _head(samples: Samples, count: int) -> Samples:
    """The first `count` outputs."""
    from dpest.running.samples import SkeletonGroup

    if samples.size <= count:
        return samples
    groups = []
    for group in samples.groups:
        inside = group.rows < count
        if inside.any():
            groups.append(
                SkeletonGroup(
                    group.skeleton, group.rows[inside], tuple(c[inside] for c in group.columns)
                )
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


class ProbabilityTrainer:
    """Fits anything with `fit` and `predict_proba` on shuffled outputs of both inputs."""

    def __init__(self, classifier: Any, seed: int, bits: bool = False) -> None:
        self._classifier, self._seed, self._bits = classifier, seed, bits
        self._features: VectorFeatures | None = None
        self._rows: list[Floats] = []
        self._labels: list[NDArray[np.int64]] = []

    def add(self, first: Samples, second: Samples) -> None:
        if self._features is None:
            self._features = VectorFeatures(_look(first, second), bits=self._bits)
        for samples, label in ((first, 1), (second, 0)):
            self._rows.append(self._features(samples))
            self._labels.append(np.full(samples.size, label, dtype=np.int64))

    def finish(self) -> list[ProbabilityScorer]:
        if self._features is None:
            raise ValueError("a classifier needs outputs to train on")
        matrix, labels = np.concatenate(self._rows), np.concatenate(self._labels)
        self._rows.clear()
        order = np.random.default_rng(self._seed).permutation(len(matrix))
        if matrix.shape[1]:
            self._classifier.fit(matrix[order], labels[order])
        return [ProbabilityScorer(self._features, self._classifier)]
