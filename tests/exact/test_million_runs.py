"""Exact distributions against a million runs of the batch reading, for every zoo mechanism.

Each mechanism spends a false-alarm rate of 1e-6: exact binomial tails, halved between discrete
outcomes and reals, shared equally by all of either. A run of the whole file alarms falsely once in
10,000 times.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.errors import DpestError
from dpest.exact.outputs.output import RELEASED, output_distribution
from dpest.geometry.linear import Form
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch
from dpest.running.skeleton import flatten

RUNS = 1_000_000
ALPHA = 1e-6
LEVELS = (0.1, 0.5, 0.9)


def typical_input(entry):
    length = entry.about.get("length")
    found = patterns(entry.adjacency, entry.domain, min(length, 4) if length else length)
    return found[0][1]


def plain(value):
    """Constants that an observer can't tell apart are equal: 1 and 1.0, but not True and 1."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    return float(value) if isinstance(value, (int, float, np.number)) else value


def expected_of(outcomes):
    """Probabilities by (containers, leaves), with `…` for reals; and the constants of each leaf."""
    found, constants = {}, {}
    for outcome in outcomes:
        _, leaves = flatten(outcome.output)
        key = tuple("…" if v is RELEASED else plain(v) for v in leaves)
        found[key] = found.get(key, 0.0) + outcome.probability
        for j, value in enumerate(key):
            if value != "…":
                constants.setdefault((len(key), j), set()).add(value)
    return found, constants


def counts_of(samples, constants):
    """How often each such key came up."""
    counts = {}
    for group in samples.groups:
        width = len(group.columns)
        codes, tables = np.zeros(len(group.rows), dtype=np.int64), []
        for j, (kind, column) in enumerate(zip(group.kinds, group.columns, strict=True)):
            if kind == "none":
                values, own = [None], np.zeros(len(column), dtype=np.int64)
            elif kind == "float":
                known = sorted(
                    v for v in constants.get((width, j), ()) if isinstance(v, (int, float))
                )
                own = np.zeros(len(column), dtype=np.int64)
                for k, value in enumerate(known):
                    own[column == value] = k + 1
                values = ["…", *known]
            else:
                distinct, own = np.unique(column, return_inverse=True)
                values = [plain(v) for v in distinct.tolist()]
            codes = codes * len(values) + own
            tables.append(values)
        for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
            key, rest = [], int(code)
            for values in reversed(tables):
                rest, place = divmod(rest, len(values))
                key.append(values[place])
            name = tuple(reversed(key))
            counts[name] = counts.get(name, 0) + int(count)
    return counts


def compare(n, p, alpha, what):
    p = min(max(p, 0.0), 1.0)
    tail = min(binom.cdf(n, RUNS, p), binom.sf(n - 1, RUNS, p))
    assert tail > alpha / 2, (what, p, n / RUNS, tail)


def integers_that_are_released(expected, counts, constants):
    """A lattice leaf is `…` in the outcomes and a number in the runs: fold those together."""
    folded = {}
    for key, count in counts.items():
        if key not in expected:
            key = tuple(
                "…" if isinstance(v, float) and v not in constants.get((len(key), j), ()) else v
                for j, v in enumerate(key)
            )
        folded[key] = folded.get(key, 0) + count
    return folded


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.entries(), ids=lambda e: e.name)
def test_a_million_runs_agree(entry):
    x = typical_input(entry)
    try:
        distribution = output_distribution(trace(entry, x))
    except DpestError as error:
        pytest.skip(f"not traced: {error}")
    samples = batch(entry, x, RUNS, seed=2026)
    try:
        outcomes = distribution.outcomes
    except DpestError:
        blocks_agree(distribution, samples)
        return
    expected, constants = expected_of(outcomes)
    counts = integers_that_are_released(expected, counts_of(samples, constants), constants)
    keys = expected.keys() | counts.keys()
    for key in keys:
        p, n = expected.get(key, 0.0), counts.get(key, 0)
        p = max(p, min(n / RUNS, p + distribution.leftover))  # what was not explored may be here
        compare(n, p, ALPHA / 2 / len(keys), key)
    reals_agree(entry, x, distribution, samples)


def blocks_agree(distribution, samples):
    """Too many outcomes to list: the independent blocks of leaves, one by one."""
    ((group, blocks),) = distribution._masses
    (sampled,) = samples.groups
    total = sum(map(len, blocks))
    for block, cells in zip(group.blocks, blocks, strict=True):
        for cell in cells:
            inside = np.ones(RUNS, dtype=bool)
            for j, leaf in zip(block.positions, cell.leaves, strict=True):
                inside &= sampled.columns[j] == leaf
            p = float(np.exp(cell.log_density(0, {})))
            compare(int(inside.sum()), p, ALPHA / 2 / total, (block.positions, cell.leaves))


def reals_agree(entry, x, distribution, samples):
    """The first leaf where it is real, over all outcomes: how often it lies below some levels."""
    leaves = [p.leaves[0] for p in distribution.trace.paths if p.leaves]
    forms = [leaf for leaf in leaves if isinstance(leaf, Form)]
    noises = distribution.trace.noises
    if not forms or any(s.kind != "noise" or noises[s].discrete for f in forms for s in f.terms):
        return
    fixed = [float(leaf) for leaf in leaves if isinstance(leaf, (int, float))]

    def released(some):
        found = [g.columns[0] for g in some.groups if g.kinds and g.kinds[0] == "float"]
        values = np.concatenate(found)
        return values[~np.isin(values, fixed)]

    before = released(batch(entry, x, 10_000, seed=1))  # other runs choose the levels
    values = released(samples)
    nodes, weights = np.polynomial.legendre.leggauss(2)
    levels = np.quantile(before, LEVELS)
    spots = [before.min() - 30 * before.std(), before.min(), *levels]
    breaks = np.concatenate(
        [np.linspace(a, b, 800, endpoint=False) for a, b in itertools.pairwise(spots)]
    )
    breaks = np.append(breaks, levels[-1])
    half = (breaks[1:] - breaks[:-1]) / 2
    points = (breaks[:-1] + half)[:, None] + half[:, None] * nodes
    try:
        _, density = distribution.marginal(0, points.ravel())
    except DpestError:
        return  # the leaf alone needs more integrals than are allowed
    below = np.cumsum(density.reshape(points.shape) @ weights * half)
    for level in levels:
        p = float(below[np.searchsorted(breaks, level) - 1])
        n = int((values <= level).sum())
        p = min(max(p - 1e-5, n / RUNS), p + 1e-5)  # of this sum, where it meets a kink
        compare(n, p, ALPHA / 2 / len(LEVELS), level)
