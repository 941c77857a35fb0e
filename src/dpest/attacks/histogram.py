"""DPEST's sampling mode: a point estimate of ε from two histograms, with its error, and hints.

It answers where code can't be read and an estimate is wanted. The pattern whose ratio looks largest
is chosen on one half of the runs and its ratio estimated on the other: the maximum of many noisy
ratios, which is biased upwards, is never reported. A pattern that only one input has shown is a
hint with its counts; whether it is impossible on the other is not for samples to say.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.attacks.protocol import AttackRequest, Pair
from dpest.attacks.sampler import Sampler
from dpest.evidence import ESTIMATE, Evidence, Witness
from dpest.running.samples import Samples
from dpest.running.skeleton import flatten

BINS = 20
DEFAULT_RUNS = 200_000
# A pattern has to turn up so often before it is compared, or told as a hint.
_LEAST = 20
_MOST_HINTS = 3
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Estimate:
    """log p/q of a pattern on runs that did not choose it, and its standard error."""

    pattern: str
    counts: tuple[int, int]
    runs: tuple[int, int]

    @property
    def value(self) -> float:
        # Half a count more on both sides: finite, and nearly unbiased.
        (a, b), (n, m) = self.counts, self.runs
        return math.log((a + 0.5) / (n + 0.5)) - math.log((b + 0.5) / (m + 0.5))

    @property
    def error(self) -> float:
        (a, b), (n, m) = self.counts, self.runs
        return math.sqrt(1 / (a + 0.5) - 1 / (n + 0.5) + 1 / (b + 0.5) - 1 / (m + 0.5))


class _Patterns:
    """Outputs as patterns: discrete values as they are, reals by bins of equal frequency."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        reals: dict[tuple[int, int], list[float]] = {}
        for output in outputs:
            leaves = flatten(output)[1]
            for place, leaf in enumerate(leaves):
                if isinstance(leaf, float) and math.isfinite(leaf):
                    reals.setdefault((len(leaves), place), []).append(leaf)
        # A released real, and not a few values that happen to be floats.
        self.edges = {
            key: np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
            for key, values in reals.items()
            if len(set(values)) > BINS
        }

    def key(self, output: Any) -> Key:
        leaves = flatten(output)[1]
        found: list[Any] = []
        for place, leaf in enumerate(leaves):
            edges = self.edges.get((len(leaves), place))
            if edges is not None and isinstance(leaf, float) and math.isfinite(leaf):
                found.append(("bin", int(np.searchsorted(edges, leaf, side="right"))))
            else:
                found.append((type(leaf).__name__, repr(leaf)))
        return tuple(found)

    def words(self, key: Key) -> str:
        shown = []
        for place, (kind, value) in enumerate(key):
            if kind != "bin":
                shown.append(value)
                continue
            edges = [-math.inf, *self.edges[len(key), place], math.inf]
            shown.append(f"[{edges[value]:.4g}, {edges[value + 1]:.4g})")
        return "the output is " + (shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]")

    def counted(self, samples: Samples) -> Counter[Key]:
        return Counter(self.key(output) for output in samples.to_list())


def histogram_attack(
    sample: Sampler, pair: Pair, *, runs: int = DEFAULT_RUNS, seed: int = 0
) -> Evidence:
    """An estimate of the ε of one pair (standing `estimate`), with hints in its details.

    `runs` counts both inputs. Each half of them chooses or measures, never both.
    """
    started = time.perf_counter()
    each = max(runs // 4, 50)
    rng = np.random.default_rng(seed)
    seeds = [int(s) for s in rng.integers(0, 2**63, size=4)]
    choosing = [sample.draw(x, each, s) for x, s in zip(pair, seeds[:2], strict=True)]
    measuring = [sample.draw(x, each, s) for x, s in zip(pair, seeds[2:], strict=True)]
    patterns = _Patterns([*choosing[0].to_list(), *choosing[1].to_list()])
    first = [patterns.counted(part) for part in choosing]
    second = [patterns.counted(part) for part in measuring]
    key, flipped = _chosen(first)
    sides = (second[1], second[0]) if flipped else (second[0], second[1])
    found = Estimate(patterns.words(key), (sides[0][key], sides[1][key]), (each, each))
    totals = [first[0] + second[0], first[1] + second[1]]
    hints = _exclusive(patterns, totals[::-1] if flipped else totals, 2 * each)
    x, x2 = (pair[1], pair[0]) if flipped else pair
    notes = [f"the estimate is {found.value:.4g} ± {found.error:.2g} (one standard error)"]
    notes += [hint["words"] for hint in hints]
    return Evidence(
        "lower",
        max(0.0, found.value),
        ESTIMATE,
        "histogram",
        Witness(x, x2, found.pattern, found.counts[0] / each, found.counts[1] / each),
        4 * each,
        time.perf_counter() - started,
        seed,
        error=found.error,
        notes=(*notes, *sample.notes()),
        details={"estimate": found.value, "standard_error": found.error, "exclusive": hints},
    )


def _chosen(counts: Sequence[Counter[Key]]) -> tuple[Key, bool]:
    """The pattern whose ratio is surely largest, and whether it is the second input's."""
    best: tuple[float, Key, bool] | None = None
    for key in counts[0].keys() | counts[1].keys():
        a, b = counts[0][key], counts[1][key]
        if max(a, b) < _LEAST and best is not None:
            continue
        ratio = math.log((max(a, b) + 0.5) / (min(a, b) + 0.5))
        sure = ratio - math.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))
        if best is None or sure > best[0]:
            best = sure, key, b > a
    assert best is not None
    return best[1], best[2]


def _exclusive(
    patterns: _Patterns, counts: Sequence[Counter[Key]], runs: int
) -> list[dict[str, Any]]:
    """Patterns that one input has shown often and the other never."""
    found: list[dict[str, Any]] = []
    for key in counts[0].keys() | counts[1].keys():
        a, b = counts[0][key], counts[1][key]
        if min(a, b) == 0 and max(a, b) >= _LEAST:
            side = "first" if a else "second"
            words = (
                f"exclusive so far: {patterns.words(key)} in {max(a, b)} of {runs} runs on the "
                f"{side} input and in none on the other; `dpest exact` decides whether ε is "
                "infinite"
            )
            found.append({"count": max(a, b), "runs": runs, "side": side, "words": words})
    return sorted(found, key=lambda hint: -int(hint["count"]))[:_MOST_HINTS]


class Histogram:
    """The method `histogram` on the list of attacks."""

    name = "histogram"
    summary = "DPEST: a point estimate from histograms, with its error (no bound)"
    chooses_parameters = False

    def refuses(self, question: Any) -> str | None:
        if question.measure.kind != "epsilon" or question.measure.delta:
            return "it estimates ε alone"
        return None

    def run(self, request: AttackRequest) -> Evidence:
        sampler, pairs = request.sampler(), request.chosen_pairs(8)
        runs = request.in_runs(sampler, pairs[0]) if request.given_budget is not None else None
        total = (runs.runs if runs is not None else None) or DEFAULT_RUNS
        seed, most = request.seed, request.options.get("runs", total)
        if len(pairs) == 1:
            return histogram_attack(sampler, pairs[0], runs=most, seed=seed)
        # A tenth of the runs choose the pair; what measures it is drawn anew.
        part = max(most // (10 * len(pairs)), 400)
        tried = [
            histogram_attack(sampler, p, runs=part, seed=seed + 1 + i) for i, p in enumerate(pairs)
        ]
        best = max(range(len(pairs)), key=lambda i: tried[i].value - 2 * tried[i].error)
        found = histogram_attack(sampler, pairs[best], runs=most - most // 10, seed=seed)
        spent = found.runs + sum(t.runs for t in tried)
        return found.with_(runs=spent)
