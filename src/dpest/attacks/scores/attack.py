"""The attack by scores: learn a score on some runs, then test the claim on runs by a coin.

It bounds every measure: ε, ε at a δ, μ of Gaussian DP, Rényi divergences, ρ of zCDP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.attacks.budget import Budget, Meter, Progress, Report
from dpest.attacks.models.classifiers import QUICK, AdditiveTrainer, Scorer
from dpest.attacks.sampler import Sampler
from dpest.attacks.scores.bounds import ScoredRuns, worth
from dpest.attacks.scores.evidence import evidence_of
from dpest.attacks.scores.learning import learnt_score
from dpest.errors import InputError
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.running.samples import Samples

Pair = tuple[Any, Any]

_METHOD = "scores"
# Parts of the runs: to compare pairs (where there are several), and to learn the score.
_COMPARING, _LEARNING = 0.1, 0.25
_MOST_COMPARED, _MOST_LEARNT = 20_000, 200_000
_PORTION = 1 << 17
_LEAST = 400
# Runs that tell how fast the mechanism is, once it has been made ready; and the part of the time
# that runs may take, since a score is learnt in the rest.
_PILOT, _RUNNING = 50, 0.8
# When comparing pairs ends, at the latest, as a part of the time.
_COMPARED_BY = 0.3
DEFAULT_BUDGET = Budget(runs=400_000)


class _Runs:
    """Runs of the mechanism: their seeds and their cost."""

    def __init__(self, sample: Sampler, seed: int, meter: Meter, progress: Report | None) -> None:
        self.sample, self.meter, self._progress = sample, meter, progress
        self.rng = np.random.default_rng(np.random.SeedSequence([seed, 24]))

    def late(self, share: float) -> bool:
        """Whether more than this share of the budget's seconds is gone."""
        seconds = self.meter.budget.seconds
        return seconds is not None and self.meter.seconds > share * seconds

    def draw(self, x: Any, size: int, stage: str) -> Samples:
        samples = self.sample.draw(x, size, int(self.rng.integers(0, 2**63)))
        self.meter.runs += size
        if self._progress is not None:
            self._progress(Progress(_METHOD, self.meter.runs, self.meter.seconds, 0.0, stage))
        return samples


def scores_attack(
    sample: Sampler,
    pairs: Sequence[Pair],
    *,
    measure: Measure,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    seed: int = 0,
    progress: Report | None = None,
) -> Evidence:
    """A lower bound on the measure from the pair that looks worst.

    Assumes independent runs. Guarantees that the value exceeds the measure's true value for the
    reported pair with probability at most `alpha`: pair and score are chosen on runs that the bound
    does not use. An estimate is in its details.
    """
    if not pairs:
        raise InputError("an attack needs at least one pair of inputs")
    meter = Meter(Budget.of(budget, DEFAULT_BUDGET))
    total = meter.budget.runs or DEFAULT_BUDGET.runs or 0
    if total < _LEAST:
        raise InputError(f"the attack by scores needs at least {_LEAST} runs, got {total}")
    runs = _Runs(sample, seed, meter, progress)
    shared = _affordable(runs, pairs[0][0], total)
    pair = _worst(runs, pairs, measure, shared)
    learn = min(int(_LEARNING * shared) // 2, _MOST_LEARNT)
    outputs = [runs.draw(x, learn, "learning a score") for x in pair]
    seconds = meter.budget.seconds
    scorer = learnt_score(
        outputs[0], outputs[1], measure, seed, None if seconds is None else 0.2 * seconds
    )
    scored, interrupted = _measured(
        runs, pair, scorer, total, shared // 4 if shared > _LEAST else 0
    )
    notes = sample.notes()
    if interrupted:
        notes += ("interrupted: the bound is valid for the runs made so far",)
    if min(len(scored.inside), len(scored.outside)) == 0:
        return _nothing(measure, alpha, pair, meter, seed, notes)
    lower, _ = evidence_of(
        scored,
        measure,
        alpha,
        seed=seed,
        pair=pair,
        spent=meter.runs,
        notes=notes,
        details={"score": scorer.describe(), "interrupted": interrupted, "measured": scored.runs},
    )
    event = f"{lower.witness.event} (score: {scorer.describe()})" if lower.witness.event else ""
    return lower.with_(seconds=meter.seconds, witness=replace(lower.witness, event=event))


def _affordable(runs: _Runs, x: Any, total: int) -> int:
    """How many runs fit into the budget's seconds: the parts of the attack share these."""
    seconds = runs.meter.budget.seconds
    if seconds is None:
        return total
    runs.draw(x, _PILOT, "making ready")
    start = runs.meter.seconds
    if start > 0.5 * seconds:
        return _LEAST
    runs.draw(x, _PILOT, "taking its time")
    took = max(runs.meter.seconds - start, 1e-9)
    left = _RUNNING * (seconds - runs.meter.seconds)
    return min(total, max(_LEAST, int(left / took * _PILOT)))


def _nothing(
    measure: Measure, alpha: float, pair: Pair, meter: Meter, seed: int, notes: tuple[str, ...]
) -> Evidence:
    """No run was left to measure with: nothing is claimed, of no event."""
    return Evidence(
        side="lower",
        value=0.0,
        standing=confidence(alpha),
        method=_METHOD,
        witness=Witness(x=pair[0], x2=pair[1]),
        runs=meter.runs,
        seed=seed,
        measure=measure,
        seconds=meter.seconds,
        notes=(*notes, "the budget was spent before anything was measured"),
    )


def _worst(runs: _Runs, pairs: Sequence[Pair], measure: Measure, total: int) -> Pair:
    """The pair whose quickly learnt score shows most, on a tenth of the runs."""
    if len(pairs) == 1:
        return pairs[0]
    inputs = {repr(x): x for pair in pairs for x in pair}
    size = min(max(int(_COMPARING * total) // len(inputs), 100), _MOST_COMPARED)
    size = min(size, int(0.5 * total) // len(inputs))
    if size < 50:
        pairs = pairs[: max(1, int(0.5 * total) // 100)]
        inputs = {repr(x): x for pair in pairs for x in pair}
        size = 50
    outputs = {name: runs.draw(x, size, "comparing pairs") for name, x in inputs.items()}
    half = np.arange(size // 2), np.arange(size // 2, size)
    found: list[float] = []
    for x, x2 in pairs:
        if found and runs.late(_COMPARED_BY):
            break  # the first ones are the likeliest
        one, two = outputs[repr(x)], outputs[repr(x2)]
        trainer = AdditiveTrainer((0.1,), [QUICK], keep=1)
        trainer.add(one.take(half[0]), two.take(half[0]))
        scorer = trainer.finish()[0]
        found.append(
            worth(measure, scorer.scores(one.take(half[1])), scorer.scores(two.take(half[1])))
        )
    return pairs[int(np.argmax(found))]


def _measured(
    runs: _Runs, pair: Pair, scorer: Scorer, total: int, kept_back: int
) -> tuple[ScoredRuns, bool]:
    """Scores of the runs that are left, each on the input that a fair coin picks."""
    inside: list[Any] = []
    outside: list[Any] = []
    interrupted = False
    try:
        while (size := min(_PORTION, total - runs.meter.runs)) > 0:
            if runs.meter.budget.seconds is not None:
                # Learning may have taken longer than its time: a quarter of the runs is kept.
                size = runs.meter.allow(size) or (0 if inside or outside else kept_back)
                if size < 1:
                    break
            first = int(runs.rng.binomial(size, 0.5))
            for x, count, kept in ((pair[0], first, inside), (pair[1], size - first, outside)):
                if count:
                    kept.append(scorer.scores(runs.draw(x, count, "measuring")))
    except KeyboardInterrupt:
        interrupted = True
    joined = [np.concatenate(part) if part else np.empty(0) for part in (inside, outside)]
    return ScoredRuns(joined[0], joined[1], coin=not interrupted), interrupted
