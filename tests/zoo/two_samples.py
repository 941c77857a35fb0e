"""Do two lists of outputs come from one distribution? Outputs of any shape."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from dpest.running.skeleton import flatten

Features = tuple[Hashable, tuple[Hashable, ...], tuple[float, ...]]


def features(output: Any) -> Features:
    """(kind of output, its discrete leaves, its real leaves)."""
    _, leaves = flatten(output)
    reals = tuple(float(v) for v in leaves if isinstance(v, (float, np.floating)))
    discrete = tuple(_plain(v) for v in leaves if not isinstance(v, (float, np.floating)))
    # Which leaves are real is part of the kind: a released value is not a released flag.
    kind = tuple(isinstance(v, (float, np.floating)) for v in leaves)
    return kind, discrete, reals


def _plain(value: Any) -> Hashable:
    return value.item() if isinstance(value, np.generic) else value


def p_values(first: Sequence[Any], second: Sequence[Any]) -> dict[str, float]:
    """A p-value for each thing compared; under equality each is (about) uniform."""
    a, b = [features(o) for o in first], [features(o) for o in second]
    found: dict[str, float] = {}
    whole = [Counter(f[:2] for f in side) for side in (a, b)]
    if len(whole[0] | whole[1]) <= 300:
        found["discrete part"] = _counts(*whole)
    else:
        kinds = [Counter(f[0] for f in side) for side in (a, b)]
        found["kind"] = _counts(*kinds)
        width = min(len(f[1]) for f in (*a, *b))
        for i in range(width):
            pairs = [Counter(f[1][i : i + 2] for f in side) for side in (a, b)]
            found[f"leaves {i} and {i + 1}"] = _counts(*pairs)
    groups = [_by_discrete_part(side, len(whole[0] | whole[1]) <= 300) for side in (a, b)]
    for number, key in enumerate(groups[0].keys() & groups[1].keys()):
        x, y = (np.array(group[key]) for group in groups)
        if min(len(x), len(y)) < 200 or x.shape[1] == 0:
            continue
        views = {f"real {i}": (x[:, i], y[:, i]) for i in range(x.shape[1])}
        views["sum of reals"] = (x.sum(axis=1), y.sum(axis=1))
        for i in range(x.shape[1] - 1):
            views[f"reals {i} and {i + 1}"] = (x[:, i + 1] - x[:, i], y[:, i + 1] - y[:, i])
        for name, (u, v) in views.items():
            found[f"group {number}: {name}"] = float(stats.ks_2samp(u, v, method="asymp").pvalue)
    return found


def _by_discrete_part(side: list[Features], joint: bool) -> dict[Hashable, list[Any]]:
    groups: dict[Hashable, list[Any]] = defaultdict(list)
    for kind, discrete, reals in side:
        groups[(kind, discrete) if joint else (kind, len(reals))].append(reals)
    return groups


def _counts(a: Counter[Any], b: Counter[Any]) -> float:
    """Homogeneity of two counts: χ², rare outcomes pooled."""
    rows, rest = [], [0, 0]
    for key in a.keys() | b.keys():
        if a[key] + b[key] >= 25:
            rows.append([a[key], b[key]])
        else:
            rest[0] += a[key]
            rest[1] += b[key]
    if sum(rest) >= 25:
        rows.append(rest)
    if len(rows) < 2:
        return 1.0
    return float(stats.chi2_contingency(np.array(rows), correction=False).pvalue)


def smallest(found: dict[str, float], comparisons: int | None = None) -> float:
    """Bonferroni: a bound on the p-value of all comparisons together."""
    return min(1.0, min(found.values(), default=1.0) * (comparisons or max(len(found), 1)))


def describe(found: dict[str, float]) -> str:
    name = min(found, key=lambda n: found[n]) if found else "nothing to compare"
    return f"{name}: p = {found.get(name, math.nan):.2g} of {len(found)} comparisons"
