"""An attack of somebody else's, in one file: how often is the output above its middle?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpest.attacks.protocol import AttackRequest, register
from dpest.evidence import Evidence, Witness, confidence
from dpest.stats.ratio import split


class AboveTheMiddle:
    name = "above_the_middle"
    summary = "Counts outputs above the middle of the first input's"
    chooses_parameters = False

    def refuses(self, question: Any) -> str | None:
        return None if question.measure.kind == "epsilon" else "it bounds ε, or ε at a δ"

    def run(self, request: AttackRequest) -> Evidence:
        """The threshold is chosen on runs of its own; the bound is Clopper-Pearson's, split."""
        x, x2 = request.chosen_pairs(1)[0]
        sampler, n = request.sampler(), (request.budget.runs or 20_000) // 3
        first = numbers(sampler.draw(x, n, request.seed))
        middle = float(np.median(first))
        counts = []
        for place, value in enumerate((x, x2)):
            outputs = numbers(sampler.draw(value, n, request.seed + 1 + place))
            counts.append(int((outputs > middle).sum()))
        delta = request.question.measure.delta
        found = [
            split(a, n, b, n, request.alpha / 4, delta)
            for a, b in ((counts[0], counts[1]), (counts[1], counts[0]))
        ]
        found += [
            split(n - a, n, n - b, n, request.alpha / 4, delta)
            for a, b in ((counts[0], counts[1]), (counts[1], counts[0]))
        ]
        return Evidence(
            side="lower",
            value=max(0.0, *(v for v in found if not math.isnan(v))),
            standing=confidence(request.alpha),
            method=self.name,
            witness=Witness(x, x2, f"output > {middle:g}", counts[0] / n, counts[1] / n),
            measure=request.question.measure,
            runs=3 * n,
            seed=request.seed,
        )


def numbers(samples: Any) -> np.ndarray:
    return np.array([float(np.ravel(v)[0]) for v in samples])


register(AboveTheMiddle())
