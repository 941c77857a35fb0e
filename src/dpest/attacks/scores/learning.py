"""Scores for outputs of any kind: learnt on some runs, chosen on others, used on the rest.

Where a run gives several numbers, or something that is no number at all, one score is learnt from
labelled outputs. Several models are tried; the one that shows most on outputs that it has not seen
is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.models.classifiers import AdditiveTrainer, Scorer, VectorFeatures
from dpest.attacks.scores.bounds import worth
from dpest.evidence import Measure
from dpest.running.samples import Samples

Floats = NDArray[np.float64]

# Boosted trees see what the simpler models miss, but want this many outputs, and take their time.
_ENOUGH_FOR_TREES, _MOST_FOR_TREES = 2000, 60_000
# Columns up to which a covariance is learnt.
_MOST_COLUMNS = 200
# The part of the learning runs that the models are compared on.
_COMPARED = 0.4


class LogOddsScorer:
    """The log-odds of a fitted model on the numbers of an output."""

    def __init__(
        self, features: VectorFeatures, log_odds: Callable[[Floats], Floats], name: str
    ) -> None:
        self._features, self._log_odds, self._name = features, log_odds, name

    def scores(self, samples: Samples) -> Floats:
        return np.asarray(self._log_odds(self._features(samples)), dtype=np.float64)

    def describe(self) -> str:
        return self._name


def learnt_score(
    first: Samples, second: Samples, measure: Measure, seed: int, seconds: float | None = None
) -> Scorer:
    """The score that shows most of `measure`, of several models learnt from these outputs."""
    n1, n2 = first.size, second.size
    cut1, cut2 = int((1.0 - _COMPARED) * n1), int((1.0 - _COMPARED) * n2)
    train = first.take(np.arange(cut1)), second.take(np.arange(cut2))
    rest = first.take(np.arange(cut1, n1)), second.take(np.arange(cut2, n2))
    scorers = _candidates(*train, seed, seconds)
    values = [worth(measure, *(scorer.scores(part) for part in rest)) for scorer in scorers]
    return scorers[int(np.argmax(values))]


def _candidates(
    first: Samples, second: Samples, seed: int, seconds: float | None
) -> Sequence[Scorer]:
    trainer = AdditiveTrainer(seconds=seconds)
    trainer.add(first, second)
    found: list[Scorer] = list(trainer.finish())
    features = VectorFeatures(Samples.concatenate([first, second]))
    one, two = features(first), features(second)
    if 0 < one.shape[1] <= _MOST_COLUMNS and min(len(one), len(two)) > 4 * one.shape[1]:
        found.append(LogOddsScorer(features, quadratic_log_odds(one, two), "Gaussian ratio"))
        if min(len(one), len(two)) >= _ENOUGH_FOR_TREES:
            found.extend(_boosted_trees(features, one, two, seed))
    return found


def quadratic_log_odds(first: Floats, second: Floats) -> Callable[[Floats], Floats]:
    """The log-likelihood ratio of two normal distributions with these means and covariances.

    The covariances are drawn towards their common diagonal, as far as few rows call for it.
    """
    shared = np.diag(np.diag(0.5 * (_covariance(first) + _covariance(second))) + 1e-9)
    parts = []
    for rows in (first, second):
        weight = rows.shape[1] / (rows.shape[1] + len(rows))
        covariance = (1.0 - weight) * _covariance(rows) + weight * shared
        inverse = np.linalg.inv(covariance)
        _, log_volume = np.linalg.slogdet(covariance)
        parts.append((rows.mean(axis=0), inverse, float(log_volume)))

    def log_odds(rows: Floats) -> Floats:
        found = []
        for mean, inverse, log_volume in parts:
            moved = rows - mean
            found.append(-0.5 * (np.einsum("ij,jk,ik->i", moved, inverse, moved) + log_volume))
        return np.asarray(found[0] - found[1])

    return log_odds


def _covariance(rows: Floats) -> Floats:
    return np.atleast_2d(np.cov(rows, rowvar=False))


def _boosted_trees(
    features: VectorFeatures, first: Floats, second: Floats, seed: int
) -> list[Scorer]:
    """scikit-learn's boosted trees, where it is installed."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits
    except ImportError:
        return []
    half = _MOST_FOR_TREES // 2
    first, second = first[:half], second[:half]
    trees = HistGradientBoostingClassifier(
        max_iter=150, max_leaf_nodes=12, learning_rate=0.07, early_stopping=True, random_state=seed
    )
    rows = np.concatenate([first, second])
    labels = np.arange(len(rows)) < len(first)
    order = np.random.default_rng(seed).permutation(len(rows))
    # Threads that wait for each other by spinning take minutes on a machine that is busy.
    with threadpool_limits(limits=1):
        trees.fit(rows[order], labels[order])
    return [LogOddsScorer(features, trees.decision_function, "boosted trees")]


def score_columns(values: Any) -> Samples:
    """Rows of a table of scores as outputs, one column a leaf."""
    table = np.asarray(values, dtype=np.float64)
    return Samples.from_outputs([tuple(row) for row in table.tolist()])
