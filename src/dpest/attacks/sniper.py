"""DP-Sniper (Bichsel et al., S&P 2021), with the paper's choices or with better ones.

Learn to tell the outputs of two inputs apart, make an attack of it ("the score is above t"), and
measure the attack's two probabilities on samples that nothing was learnt from. The paper fixes the
probability c of the attack on the second input at 0.01 and spends alpha/2 on each of two
Clopper-Pearson bounds. By default this engine chooses c for the best bound that the final samples
can show, tries several models, and uses an exact bound on the ratio. `paper=True` gives the
paper's choices.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv, ndtri

from dpest.attacks.budget import Budget, Meter, Progress, Report
from dpest.attacks.classifiers import QUICK, AdditiveTrainer, ProbabilityTrainer, Scorer, Trainer
from dpest.attacks.networks import PaperLogistic, PaperNetwork
from dpest.attacks.sampler import Sampler
from dpest.errors import InputError
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.program.samples import Samples
from dpest.stats import clopper_pearson, ratio
from dpest.stats.betting import bernoulli_sequence

Floats = NDArray[np.float64]
Pair = tuple[Any, Any]

_METHOD = "sniper"
_CHUNK = 1 << 18
# What chance alone gives the best of many candidates, as a level of one-sided bounds.
_PROMISE_ALPHA = 0.04
# A pair that promises this much less than the best may still be the better one.
_NEARLY = 0.25
_CANDIDATES = np.unique(np.concatenate([np.geomspace(1e-6, 0.2, 90), np.linspace(0.02, 0.98, 60)]))


def guideline_size(c: float = 0.01, omega: float = 0.005, alpha: float = 0.05) -> int:
    """Samples that Guideline 1 asks for, so that the attack is within `omega` of the best.

    N = max{2(1-c)/(omega^2 c), 8(1-c)/c} (erfinv(1 - 2 alpha))^2: 1.07e7 for the defaults.
    """
    if not (0 < c < 1 and omega > 0 and 0 < alpha < 0.5):
        raise InputError(f"needs 0 < c < 1, omega > 0, 0 < alpha < 1/2: {c=}, {omega=}, {alpha=}")
    factor = max(2.0 * (1.0 - c) / (omega**2 * c), 8.0 * (1.0 - c) / c)
    return math.ceil(factor * float(erfinv(1.0 - 2.0 * alpha)) ** 2)


@dataclass(frozen=True)
class Plan:
    """Runs on each input: to compare pairs, to train, to choose the attack, and to measure it."""

    screen: int
    train: int
    choose: int
    final: int

    @staticmethod
    def for_runs(runs: int, pairs: int) -> Plan:
        """Shares of a total budget: about a tenth to compare pairs, a third to learn."""
        if runs < 400:
            raise InputError(f"DP-Sniper needs at least 400 runs, got a budget of {runs}")
        half = runs // 2
        screen = 0 if pairs == 1 else min(200_000, half // (10 * pairs))
        left = half - screen * pairs
        train, choose = min(3_000_000, left // 7), min(6_000_000, left // 5)
        return Plan(screen, train, choose, left - train - choose)

    @staticmethod
    def paper(c: float = 0.01) -> Plan:
        size = guideline_size(c)
        return Plan(screen=size, train=size, choose=size, final=200_000_000)

    def total(self, pairs: int) -> int:
        return 2 * (
            self.screen * (pairs if pairs > 1 else 0) + self.train + self.choose + self.final
        )


@dataclass(frozen=True)
class Attack:
    """Outputs whose score exceeds `t`, and those at `t` with probability `q`.

    `flipped`: the roles of the inputs are exchanged (low scores, p belongs to the second input).
    """

    scorer: Scorer
    t: float
    q: float
    flipped: bool
    expected: float = -math.inf
    c: float = math.nan

    def count(self, samples: Samples, rng: np.random.Generator) -> int:
        score = self.scorer.scores(samples)
        if self.flipped:
            score = -score
        inside = int(np.count_nonzero(score > self.t))
        if self.q > 0.0:
            inside += int(rng.binomial(np.count_nonzero(score == self.t), self.q))
        return inside

    def describe(self) -> str:
        sign = "the negated score" if self.flipped else "the score"
        tie = f", and with probability {self.q:.4g} where it equals that" if self.q else ""
        return f"outputs where {sign} of the {self.scorer.describe()} exceeds {self.t:.6g}{tie}"


def best_threshold(
    scorer: Scorer, first: Floats, second: Floats, final: int, alpha: float, delta: float
) -> Attack:
    """The threshold, in either direction, whose bound after `final` runs a side promises most.

    `first` and `second` are scores of outputs that did not train the scorer. The promise subtracts
    what chance alone gives the best of many, or else the luckiest rare event would be chosen.
    """
    best = Attack(scorer, math.inf, 0.0, False)
    for flipped in (False, True):
        one, two = (-second, -first) if flipped else (first, second)
        one, two = np.sort(one), np.sort(two)
        levels = np.unique(
            np.concatenate(
                [
                    np.quantile(two, 1.0 - _CANDIDATES, method="higher"),
                    np.quantile(one, 1.0 - _CANDIDATES, method="higher"),
                    # Just above the largest score of the second input.
                    two[-1:],
                ]
            )
        )
        k1 = len(one) - np.searchsorted(one, levels, side="right")
        k2 = len(two) - np.searchsorted(two, levels, side="right")
        promise = _promise(k1, len(one), k2, len(two), final, alpha, delta)
        place = int(np.argmax(promise))
        if promise[place] > best.expected:
            c = float(k2[place] / len(two))
            best = Attack(scorer, float(levels[place]), 0.0, flipped, float(promise[place]), c)
    return best


def _promise(
    k1: NDArray[np.int_],
    n1: int,
    k2: NDArray[np.int_],
    n2: int,
    final: int,
    alpha: float,
    delta: float,
) -> Floats:
    p1 = clopper_pearson.lower(k1, n1, _PROMISE_ALPHA)
    p2 = np.maximum(clopper_pearson.upper(k2, n2, _PROMISE_ALPHA), 1e-300)
    p1 = np.minimum(p1, 1.0 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(
            p1 * (1.0 - p1) / (final * np.maximum(p1 - delta, 1e-300) ** 2)
            + (1.0 - p2) / (final * p2)
        )
        value = np.log((p1 - delta) / p2) + float(ndtri(alpha)) * spread
    return np.where(p1 > delta, value, -np.inf)


def paper_threshold(scorer: Scorer, second: Floats, c: float) -> Attack:
    """Algorithm 1: t and q such that the attack has probability c on the second input."""
    ordered = np.sort(second)[::-1]
    place = min(math.floor(c * len(ordered)), len(ordered) - 1)
    t = float(ordered[place])
    above = int(np.count_nonzero(ordered > t))
    equal = int(np.count_nonzero(ordered == t))
    return Attack(scorer, t, (c * len(ordered) - above) / equal, False, c=c)


def _trainer(classifier: Any, paper: bool, seed: int, quick: bool) -> Trainer:
    """Something that learns to score; `quick` where only pairs are compared."""
    if classifier in (None, "additive") and not (paper and classifier is None):
        if quick:
            return AdditiveTrainer(steps=(0.1,), families=[QUICK], keep=1)
        return AdditiveTrainer()
    kinds: dict[str, Callable[[int], Any]] = {"logistic": PaperLogistic, "network": PaperNetwork}
    name = classifier or "logistic"
    if isinstance(name, str):
        if name not in kinds:
            raise InputError(
                f"classifier is 'additive', 'logistic', 'network' or an object with fit and "
                f"predict_proba, got {name!r}"
            )
        return ProbabilityTrainer(kinds[name](seed), seed)
    if not (hasattr(name, "fit") and hasattr(name, "predict_proba")):
        raise InputError(f"a classifier needs fit and predict_proba, got {name!r}")
    return ProbabilityTrainer(copy.deepcopy(name), seed)


@dataclass(frozen=True)
class _Options:
    """What the stages of one attack share."""

    plan: Plan
    alpha: float
    delta: float
    classifier: Any
    paper: bool
    c: float


class _Run:
    """One run of the attack: its seeds, its budget, its samples."""

    def __init__(self, sample: Sampler, seed: int, meter: Meter, progress: Report | None) -> None:
        self.sample, self.meter, self.progress = sample, meter, progress
        self._seeds = np.random.default_rng(np.random.SeedSequence(seed))

    def seed(self) -> int:
        return int(self._seeds.integers(0, 2**63))

    def draw(self, pair: Pair, size: int, stage: str) -> Iterator[tuple[Samples, Samples]]:
        """`size` runs on each input, in portions."""
        for begin in range(0, size, _CHUNK):
            count = min(_CHUNK, size - begin)
            first, second = (self.sample.draw(x, count, self.seed()) for x in pair)
            self.meter.runs += 2 * count
            self.report(stage)
            yield first, second

    def report(self, stage: str) -> None:
        if self.progress is not None:
            self.progress(Progress(_METHOD, self.meter.runs, self.meter.seconds, 0.0, stage))


def sniper_attack(
    sample: Sampler,
    pairs: Sequence[Pair],
    *,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    plan: Plan | None = None,
    seed: int = 0,
    progress: Report | None = None,
    delta: float = 0.0,
    classifier: Any = None,
    paper: bool = False,
    c: float = 0.01,
) -> Evidence:
    """A lower bound on epsilon from the best pair and attack found (DD-Search).

    `pairs` are tried in both orders. Assumes independent runs. Guarantees that the value exceeds
    log((P(S|x) - delta)/P(S|x2)) of the reported pair and attack S, and so the true epsilon, with
    probability at most `alpha`: everything is chosen on samples that the bound does not use.
    `classifier`: None (several additive models), "logistic", "network", or any object with `fit`
    and `predict_proba`. `paper` fixes c, splits alpha and uses logistic regression by default.
    Interrupted in the final stage it gives an anytime-valid bound from the runs made.
    """
    if not pairs:
        raise InputError("DP-Sniper needs at least one pair of inputs")
    chosen_budget = Budget.of(budget)
    meter = Meter(chosen_budget)
    run = _Run(sample, seed, meter, progress)
    if plan is None:
        plan = (
            Plan.paper(c)
            if paper and chosen_budget.runs is None
            else Plan.for_runs(chosen_budget.runs or 4_000_000, len(pairs))
        )
    options = _Options(plan, alpha, delta, classifier, paper, c)
    _trainer(classifier, paper, 0, True)  # a bad choice is refused before anything runs
    notes: list[str] = []
    k1 = k2 = n1 = n2 = 0
    attack: Attack | None = None
    pair: Pair = pairs[0]
    stopped = False
    try:
        for candidate in _best_pairs(run, pairs, options):
            found = _find(run, candidate, plan.train, plan.choose, options, quick=False)
            if attack is None or found.expected > attack.expected:
                attack = found
                pair = candidate[::-1] if found.flipped else candidate
        assert attack is not None
        rng = np.random.default_rng(run.seed())
        for first, second in run.draw(pair, _final_size(plan, meter), "measuring"):
            hits = attack.count(first, rng), attack.count(second, rng)
            k1, n1, k2, n2 = k1 + hits[0], n1 + first.size, k2 + hits[1], n2 + second.size
    except KeyboardInterrupt:
        stopped = True
        notes.append(
            "interrupted: the bound is an anytime-valid one for the runs of the final stage"
            if n1
            else "interrupted before the final stage: nothing was measured"
        )
    value = _bound(k1, n1, k2, n2, alpha, delta, stopped, paper)
    p, q = (k1 / n1, k2 / n2) if n1 else (None, None)
    details: dict[str, Any] = {
        "interrupted": stopped,
        "final_runs_per_side": n1,
        "counts": (k1, k2),
        "paper": paper,
    }
    if p is not None and q is not None:
        details["c"] = q if attack is None or math.isnan(attack.c) else attack.c
        details["c_power"] = math.log(max(p, c) / max(q, c))
        details["c_of_power"] = c
    notes.extend(sample.notes())
    return Evidence(
        side="lower",
        value=max(0.0, value),
        standing=confidence(alpha),
        method=_METHOD + (" (paper)" if paper else ""),
        witness=Witness(x=pair[0], x2=pair[1], event=attack.describe() if attack else "", p=p, q=q),
        runs=meter.runs,
        seconds=meter.seconds,
        seed=seed,
        measure=Measure(delta=delta),
        notes=tuple(notes),
        details=details,
    )


def _best_pairs(run: _Run, pairs: Sequence[Pair], options: _Options) -> list[Pair]:
    """The pair whose quick attack promises most, and the next if it promises nearly as much.

    Many pairs are compared in rounds: each keeps the best quarter and gives it more runs. The
    paper trains on both orders of a pair, in one round, and keeps one. These samples are not used
    again.
    """
    paper, screen = options.paper, options.plan.screen
    left = [p for pair in pairs for p in (pair, pair[::-1])] if paper else list(pairs)
    if len(left) == 1 or screen == 0:
        return left[:1]
    rounds = 1 if paper else math.ceil(math.log(len(left), 4))
    each_round = screen * len(left) // rounds
    for last in range(rounds - 1, -1, -1):
        size = max(each_round // len(left) // 2, 50)
        promises = np.array(
            [_find(run, pair, size, size, options, quick=True).expected for pair in left]
        )
        order = np.argsort(promises)[::-1]
        keep = 1 if paper else 2 if last == 0 else max(2, -(-len(left) // 4))
        best = promises[order[0]]
        left = [
            left[i]
            for place, i in enumerate(order[:keep])
            if place == 0 or last or promises[i] > best - _NEARLY * abs(best)
        ]
    return left


def _find(
    run: _Run, pair: Pair, train: int, choose: int, options: _Options, *, quick: bool
) -> Attack:
    """Train on `train` runs of each input, then choose model and threshold on `choose` others."""
    trainer = _trainer(options.classifier, options.paper, run.seed(), quick)
    stage = "comparing pairs" if quick else "training"
    for first, second in run.draw(pair, train, stage):
        trainer.add(first, second)
    scorers = trainer.finish()
    ones: list[list[Floats]] = [[] for _ in scorers]
    twos: list[list[Floats]] = [[] for _ in scorers]
    for first, second in run.draw(pair, choose, stage if quick else "choosing the attack"):
        for number, scorer in enumerate(scorers):
            ones[number].append(scorer.scores(first))
            twos[number].append(scorer.scores(second))
    found = []
    for scorer, one_parts, two_parts in zip(scorers, ones, twos, strict=True):
        one, two = np.concatenate(one_parts), np.concatenate(two_parts)
        if options.paper:
            found.append(_paper_attack(scorer, one, two, options.c))
        else:
            final = options.plan.final
            found.append(best_threshold(scorer, one, two, final, options.alpha, options.delta))
    return max(found, key=lambda a: a.expected)


def _paper_attack(scorer: Scorer, one: Floats, two: Floats, c: float) -> Attack:
    attack = paper_threshold(scorer, two, c)
    hits = np.count_nonzero(one > attack.t) + attack.q * np.count_nonzero(one == attack.t)
    # The paper ranks by a point estimate of the power.
    return replace(attack, expected=math.log(max(hits, 1.0) / len(one) / c))


def algorithm_one(
    sample: Sampler,
    pair: Pair,
    *,
    size: int,
    c: float = 0.01,
    classifier: Any = "logistic",
    seed: int = 0,
) -> Attack:
    """The paper's Algorithm 1: an attack on one ordered pair, with probability c on the second.

    `size` runs on each input train the classifier, `size` others set the threshold.
    """
    run = _Run(sample, seed, Meter(Budget()), None)
    options = _Options(Plan(0, size, size, size), 0.05, 0.0, classifier, True, c)
    return _find(run, pair, size, size, options, quick=False)


def _final_size(plan: Plan, meter: Meter) -> int:
    """Runs on each side of the final stage, fixed before it starts."""
    return min(plan.final, max(100, meter.allow(2 * plan.final) // 2))


def _bound(
    k1: int, n1: int, k2: int, n2: int, alpha: float, delta: float, stopped: bool, paper: bool
) -> float:
    if n1 == 0:
        return -math.inf
    if stopped:
        low = bernoulli_sequence(k1, n1, alpha / 2)[0]
        high = bernoulli_sequence(k2, n2, alpha / 2)[1]
        return math.log((low - delta) / high) if low > delta else -math.inf
    if paper:
        return ratio.split(k1, n1, k2, n2, alpha, delta)
    return ratio.unconditional(k1, n1, k2, n2, alpha, delta)
