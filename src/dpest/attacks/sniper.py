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
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv

from dpest.attacks.budget import Budget, Meter, Progress, Report
from dpest.attacks.fused import count_scores
from dpest.attacks.models.classifiers import (
    QUICK,
    AdditiveTrainer,
    NumberScorer,
    ProbabilityTrainer,
    Scorer,
    Trainer,
)
from dpest.attacks.models.networks import PaperLogistic, PaperNetwork
from dpest.attacks.outcomes import (
    OutcomeCounts,
    count_outcomes,
    countable,
    outcome_scorers,
    scores_of,
)
from dpest.attacks.readable import KEPT, EventScorer, event_scorer
from dpest.attacks.sampler import MechanismSampler, Sampler, runners_of
from dpest.attacks.thresholds import (
    CAUTION,
    COMPARED,
    RANKING,
    Counts,
    OrderedScores,
    ThresholdAttack,
    best_threshold,
    paper_threshold,
)
from dpest.errors import InputError
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.running.native.runs import WORTHWHILE, compiled_for
from dpest.running.native.signals import NotCompiled
from dpest.running.samples import Samples

Floats = NDArray[np.float64]
Pair = tuple[Any, Any]
Scored = tuple[Scorer, OrderedScores, OrderedScores]

_METHOD = "sniper"
# Runs on each input that are counted at a time where only counts come back: on cores, on a GPU.
_FUSED_PORTION, _GPU_PORTION = 1 << 22, 1 << 30
# Outputs of one input that are held to compare pairs.
_MOST_COMPARED = 1 << 20
# Of a budget in seconds: when the comparison of pairs, and all learning, should be over.
_COMPARING, _LEARNING = 0.3, 0.7
# What the final stage gets at least: without it, all that was learnt is worth nothing.
_MEASURING = 0.2
# Several pairs that promise much learn with so many times the runs of one, all together.
_SEVERAL = 1.5
# A pair that promises this much less than the best may still be the better one.
_NEARLY = 0.25
# Attacks that fresh runs compare: one as it would be chosen without those, a bolder one, and one
# that is more careful about rare outputs.
_CAUTIONS = CAUTION, RANKING, 2 * CAUTION
# Runs on each input from which on attacks are compared, and how many of them a second time.
_COMPARABLE, _COMPARED_AGAIN = 16 * WORTHWHILE, 3


def guideline_size(c: float = 0.01, omega: float = 0.005, alpha: float = 0.05) -> int:
    """Samples that Guideline 1 asks for, so that the attack is within `omega` of the best.

    N = max{2(1-c)/(omega^2 c), 8(1-c)/c} (erfinv(1 - 2 alpha))^2: 1.07e7 for the defaults.
    """
    if not (0 < c < 1 and omega > 0 and 0 < alpha < 0.5):
        raise InputError(f"needs 0 < c < 1, omega > 0, 0 < alpha < 1/2: {c=}, {omega=}, {alpha=}")
    factor = max(2.0 * (1.0 - c) / (omega**2 * c), 8.0 * (1.0 - c) / c)
    return math.ceil(factor * float(erfinv(1.0 - 2.0 * alpha)) ** 2)


@dataclass(frozen=True)
class SniperPlan:
    """Runs on each input: to compare pairs, to train, to choose the attack, and to measure it.

    Runs are made in portions of at most `portion` on each input.
    """

    screen: int
    train: int
    choose: int
    final: int
    portion: int = 1 << 18
    check: int = 0
    """DD-Search: runs on each input that compare the attacks of all pairs, and do nothing else."""
    counted: int = 0
    """Where native loops count, and this is more: instead of `train` and `choose` where outputs are
    few; to compare pairs, all together; half of it to compare attacks, all together."""

    @staticmethod
    def for_runs(runs: int, pairs: int) -> SniperPlan:
        """Shares of a total budget: about a tenth to compare pairs, a third to learn."""
        if runs < 400:
            raise InputError(f"DP-Sniper needs at least 400 runs, got a budget of {runs}")
        half = runs // 2
        screen = 0 if pairs == 1 else min(200_000, half // (10 * pairs))
        left = half - screen * pairs
        train, choose = min(3_000_000, left // 7), min(6_000_000, left // 5)
        counted = min(50_000_000, left // 8)
        return SniperPlan(screen, train, choose, left - train - choose, counted=counted)

    @staticmethod
    def paper(c: float = 0.01) -> SniperPlan:
        """Algorithm 2 with N of the guideline to train, to set thresholds and to check them."""
        size = guideline_size(c)
        return SniperPlan(0, size, size, 200_000_000, check=size)

    @property
    def comparable(self) -> int:
        """Runs on each input that choose where native loops count; half as many compare."""
        return max(self.choose, self.counted)

    def total(self, pairs: int) -> int:
        if self.check:
            return 2 * (2 * pairs * (self.train + self.choose + self.check) + self.final)
        return 2 * (
            self.screen * (pairs if pairs > 1 else 0) + self.train + self.choose + self.final
        )


def _trainer(
    classifier: Any, paper: bool, seed: int, quick: bool, seconds: float | None = None
) -> Trainer:
    """Something that learns to score; `quick` where only pairs are compared."""
    if classifier in (None, "additive") and not (paper and classifier is None):
        if quick:
            return AdditiveTrainer((0.1,), [QUICK], keep=1, seconds=seconds)
        return AdditiveTrainer(seconds=seconds)
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

    plan: SniperPlan
    alpha: float
    delta: float
    classifier: Any
    paper: bool
    c: float


class _SniperRun:
    """One run of the attack: its seeds, its budget, its samples."""

    def __init__(
        self, sample: Sampler, seed: int, meter: Meter, progress: Report | None, portion: int
    ) -> None:
        self.sample, self.meter, self.progress = sample, meter, progress
        self.portion = portion
        self.a_run = 0.0
        """Seconds that one run took when the attack was chosen, its scores included."""
        self._seeds = np.random.default_rng(np.random.SeedSequence(seed))

    def seed(self) -> int:
        return int(self._seeds.integers(0, 2**63))

    @property
    def may_fuse(self) -> bool:
        return isinstance(self.sample, MechanismSampler) and self.sample.counts_natively

    @property
    def _fused_portion(self) -> int:
        on_cores = isinstance(self.sample, MechanismSampler) and self.sample.counts_on_cores
        return _FUSED_PORTION if on_cores else _GPU_PORTION

    def call_by_call(self, x: Any) -> bool:
        """Is this code that no native loop counts? Outputs are then at hand in every stage."""
        if not self.may_fuse:
            return True
        assert isinstance(self.sample, MechanismSampler)
        try:
            compiled_for(self.sample.mechanism, x)
        except NotCompiled:
            return True
        return False

    def draw(
        self, pair: Pair, size: int, stage: str, *, coin: bool = False
    ) -> Iterator[tuple[Samples, Samples]]:
        """`size` runs on each input, in portions; or twice as many runs on what a coin picks."""
        for begin in range(0, size, self.portion):
            count = min(self.portion, size - begin)
            ahead = int(self._seeds.binomial(2 * count, 0.5)) if coin else count
            sizes = ahead, 2 * count - ahead
            first, second = (
                self.sample.draw(x, n, self.seed()) for x, n in zip(pair, sizes, strict=True)
            )
            self.meter.runs += 2 * count
            self.report(stage)
            yield first, second

    def measure(
        self, pair: Pair, size: int, attack: ThresholdAttack, rng: np.random.Generator
    ) -> Iterator[tuple[Counts, Counts]]:
        """The counts of an attack after each portion: in native loops where it can be.

        Beside them those of the attack in words, where there is one.
        """
        counts, named = Counts(), Counts()
        fused = self.may_fuse
        portion = self._fused_portion if fused else self.portion
        for begin in range(0, size, portion):
            count = min(portion, size - begin)
            draws = self._draws(pair, count, attack.uses_coin)
            found = self._fused(attack, draws, rng) if fused else None
            if found is None:
                fused = False
                for first, second in self._portions(draws):
                    counts = counts.plus(attack, first, second, rng)
                    if attack.in_words is not None:
                        sides = (second, first) if attack.words_turned else (first, second)
                        named = named.plus(attack.in_words, *sides, rng)
            else:
                counts = counts.joined(found)
            self.meter.runs += 2 * count
            self.report("measuring")
            yield counts, named

    def count(self, pair: Pair, size: int, attack: ThresholdAttack) -> Counts | None:
        """The counts of an attack on `size` native runs of each input; None if there are none."""
        rng = np.random.default_rng(self.seed())
        counts, parts = Counts(), -(-size // self._fused_portion)
        for part in range(parts):
            count = size * (part + 1) // parts - size * part // parts
            found = self._fused(attack, self._draws(pair, count, attack.uses_coin), rng)
            if found is None:
                return None
            counts = counts.joined(found)
            self.meter.runs += 2 * count
            self.report("comparing attacks")
        return counts

    def _draws(self, pair: Pair, count: int, coin: bool) -> list[tuple[Any, int, int]]:
        """`count` runs on each input, or twice as many on what a coin picks: x, size and seed."""
        ahead = int(self._seeds.binomial(2 * count, 0.5)) if coin else count
        sizes = ahead, 2 * count - ahead
        return [(x, n, self.seed()) for x, n in zip(pair, sizes, strict=True)]

    def _fused(
        self,
        attack: ThresholdAttack,
        draws: Sequence[tuple[Any, int, int]],
        rng: np.random.Generator,
    ) -> Counts | None:
        assert isinstance(self.sample, MechanismSampler)
        sample = self.sample
        try:
            found = count_scores(
                sample.mechanism, attack, draws, sample.map_blocks, sample.count_on
            )
        except (NotCompiled, pickle.PicklingError):
            return None
        where = "native, fused" if sample.counts_on_cores else "GPU, fused"
        sample.counted(sum(part.size for part in found), where)
        return Counts.of_scores(attack, found[0], found[1], rng)

    def _portions(self, draws: Sequence[tuple[Any, int, int]]) -> Iterator[tuple[Samples, Samples]]:
        """Outputs for two draws, in portions that fit into memory."""
        (x, n, seed), (x2, n2, seed2) = draws
        parts = max(1, -(-max(n, n2) // self.portion))
        seeds = [np.random.default_rng(s).integers(0, 2**63, parts) for s in (seed, seed2)]
        for part in range(parts):
            sizes = [k * (part + 1) // parts - k * part // parts for k in (n, n2)]
            yield (
                self.sample.draw(x, sizes[0], int(seeds[0][part])),
                self.sample.draw(x2, sizes[1], int(seeds[1][part])),
            )

    def counts_outcomes(self, pair: Pair, options: _Options) -> bool:
        """Can outputs be counted one by one, in native loops that the final stage needs anyway?"""
        if options.classifier is not None or options.paper or not self.may_fuse:
            return False
        assert isinstance(self.sample, MechanismSampler)
        mechanism = self.sample.mechanism
        return options.plan.final >= WORTHWHILE and all(countable(mechanism, x) for x in pair)

    def compares(self, pair: Pair, options: _Options) -> bool:
        """Can native loops compare attacks on fresh runs, enough of them to tell them apart?"""
        return (
            options.classifier is None
            and not options.paper
            and min(options.plan.comparable, options.plan.final) >= _COMPARABLE
            and not any(self.call_by_call(x) for x in pair)
        )

    def outcomes(self, x: Any, sizes: Sequence[int], stage: str) -> list[OutcomeCounts]:
        """How often each output came up in so many runs, and in so many others."""
        assert isinstance(self.sample, MechanismSampler)
        sample = self.sample
        draws = [(x, size, self.seed()) for size in sizes]
        found = count_outcomes(sample.mechanism, draws, sample.map_blocks)
        sample.counted(sum(sizes), "native, counted")
        self.meter.runs += sum(sizes)
        self.report(stage)
        return found

    def outputs(self, x: Any, size: int, stage: str) -> Samples:
        samples = self.sample.draw(x, size, self.seed())
        self.meter.runs += size
        self.report(stage)
        return samples

    def left(self, share: float) -> float | None:
        """Seconds until this share of the budget's seconds is spent; None without such a limit."""
        limit = self.meter.budget.seconds
        return None if limit is None else max(share * limit - self.meter.seconds, 0.0)

    def report(self, stage: str) -> None:
        if self.progress is not None:
            self.progress(Progress(_METHOD, self.meter.runs, self.meter.seconds, 0.0, stage))


def sniper_attack(
    sample: Sampler,
    pairs: Sequence[Pair],
    *,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    plan: SniperPlan | None = None,
    seed: int = 0,
    progress: Report | None = None,
    delta: float = 0.0,
    classifier: Any = None,
    paper: bool = False,
    c: float = 0.01,
) -> Evidence:
    """A lower bound on epsilon from the best pair and attack found (DD-Search).

    `pairs` are tried in both orders. Assumes independent runs. Guarantees that the value exceeds
    log((P(S|x) - delta)/P(S|x2)) of the reported pair and attack S (or the same for an attack that
    names outputs for both inputs), and so the true epsilon, with probability at most `alpha`:
    everything is chosen on samples that the bound does not use.
    `classifier`: None (several additive models), "logistic", "network", or any object with `fit`
    and `predict_proba`. `paper` fixes c, splits alpha and uses logistic regression by default.
    Interrupted in the final stage it gives an anytime-valid bound from the runs made.
    """
    if not pairs:
        raise InputError("DP-Sniper needs at least one pair of inputs")
    chosen_budget = Budget.of(budget)
    meter = Meter(chosen_budget)
    if plan is None and paper and chosen_budget.runs is None:
        plan = SniperPlan.paper(c)
    elif plan is None:
        plan = SniperPlan.for_runs(chosen_budget.runs or 4_000_000, len(pairs))
    run = _SniperRun(sample, seed, meter, progress, plan.portion)
    options = _Options(plan, alpha, delta, classifier, paper, c)
    _trainer(classifier, paper, 0, True)  # a bad choice is refused before anything runs
    shot = _Shot(pairs[0])
    try:
        shot.choose(run, pairs, options)
        shot.measure(run, options)
    except KeyboardInterrupt:
        shot.stopped = True
    notes = (*shot.notes(), *sample.notes())
    level = shot.prefer_words(options)
    value, p, q, details = shot.bound(run, options, level)
    event = shot.attack.describe() if shot.attack else ""
    return Evidence(
        side="lower",
        value=max(0.0, value),
        standing=confidence(alpha),
        method=_METHOD + (" (paper)" if paper else ""),
        witness=Witness(x=shot.pair[0], x2=shot.pair[1], event=event, p=p, q=q),
        runs=meter.runs,
        seconds=meter.seconds,
        seed=seed,
        measure=Measure(delta=delta),
        notes=notes,
        details=details,
    )


@dataclass
class _Shot:
    """The best attack so far, the pair that it is aimed at, and what was counted of it.

    `named` are the counts of the attack in words, where there is one. Whatever interrupts a stage,
    what those before it have found is here.
    """

    pair: Pair
    attack: ThresholdAttack | None = None
    counts: Counts = field(default_factory=Counts)
    named: Counts = field(default_factory=Counts)
    stopped: bool = False

    def choose(self, run: _SniperRun, pairs: Sequence[Pair], options: _Options) -> None:
        """Learn attacks on the pairs that promise most, and keep the best."""
        plan = options.plan
        if plan.check:
            self.pair, self.attack = _dd_search(
                run, pairs, plan.train, plan.choose, plan.check, options
            )
            return
        candidates = _best_pairs(run, pairs, options)
        share = min(1.0, _SEVERAL / len(candidates))
        train, choose = (max(int(share * size), 50) for size in (plan.train, plan.choose))
        counted = int(share * plan.counted)
        aimed: list[_Aimed] = []
        for candidate in candidates:
            if self.attack is not None and run.left(_LEARNING) == 0.0:
                break
            found = _find(run, candidate, train, choose, options, counted=counted)
            aimed += [_Aimed(candidate[::-1] if one.flipped else candidate, one) for one in found]
            if self.attack is None or found[0].expected > self.attack.expected:
                self.pair, self.attack = aimed[-len(found)].pair, found[0]
        best = _compared(run, aimed, options)
        if best is not None:
            self.pair, self.attack = best.pair, best.attack

    def measure(self, run: _SniperRun, options: _Options) -> None:
        """Count on fresh runs."""
        assert self.attack is not None
        rng = np.random.default_rng(run.seed())
        final = _final_size(options.plan, run, self.attack.uses_coin)
        for so_far in run.measure(self.pair, final, self.attack, rng):
            self.counts, self.named = so_far

    def notes(self) -> tuple[str, ...]:
        if not self.stopped:
            return ()
        if self.counts.n1:
            return (
                "interrupted: the bound is an anytime-valid one for the runs of the final stage",
            )
        return ("interrupted before the final stage: nothing was measured",)

    def prefer_words(self, options: _Options) -> float:
        """Take the attack in words where it shows nearly as much; the level of what is taken.

        Where two were measured and one of them is picked by its counts, each has half of alpha.
        """
        attack = self.attack
        if attack is None or attack.in_words is None:
            return options.alpha
        level = options.alpha / 2
        halved = replace(options, alpha=level)
        if _keeps(attack, attack.in_words, self.counts, self.named, halved, self.stopped):
            self.pair = self.pair[::-1] if attack.words_turned else self.pair
            self.attack, self.counts = attack.in_words, self.named
        return level

    def bound(
        self, run: _SniperRun, options: _Options, level: float
    ) -> tuple[float, float | None, float | None, dict[str, Any]]:
        """The bound at a level, the two frequencies behind it, and details for the evidence."""
        attack, counts, c = self.attack, self.counts, options.c
        details: dict[str, Any] = {
            "interrupted": self.stopped,
            "final_runs_per_side": max(counts.n1, counts.n2),
            "counts": (counts.above1, counts.above2),
            "paper": options.paper,
            "runner": runners_of(run.sample),
        }
        if attack is None or not counts.n1 or not counts.n2:
            return -math.inf, None, None, details
        value = counts.bound(
            attack, level, options.delta, stopped=self.stopped, paper=options.paper
        )
        p, q = counts.above1 / counts.n1, counts.above2 / counts.n2
        details["c"] = q if math.isnan(attack.c) else attack.c
        details["c_power"] = math.log(max(p, c) / max(q, c))
        details["c_of_power"] = c
        if attack.two_sided:
            details["right_and_wrong"] = (counts.right, counts.wrong)
        return value, p, q, details


@dataclass
class _Aimed:
    """An attack, the pair that it is aimed at, and fresh counts that compare it with others."""

    pair: Pair
    attack: ThresholdAttack
    counts: Counts = field(default_factory=Counts)

    def promise(self, options: _Options) -> float:
        return self.counts.promise(
            self.attack, options.plan.final, options.alpha, options.delta, COMPARED
        )


def _compared(run: _SniperRun, aimed: list[_Aimed], options: _Options) -> _Aimed | None:
    """The attack that promises most by native runs that chose none of them, in two rounds.

    None where there is nothing to compare, or nothing to compare it with.
    """
    runs = options.plan.comparable // 4  # in each of the rounds
    if len(aimed) < 2 or runs // len(aimed) < 2 * WORTHWHILE:
        return None
    left = aimed
    for _ in range(2):
        size, started = runs // len(left), run.meter.seconds
        for one in left:
            counts = run.count(one.pair, size, one.attack)
            if counts is None:
                return None
            one.counts = one.counts.joined(counts)
            if run.left(_LEARNING) == 0.0:
                break
        run.a_run = (run.meter.seconds - started) / (2 * size * len(left))
        left = sorted(left, key=lambda one: one.promise(options), reverse=True)[:_COMPARED_AGAIN]
    return left[0]


def _keeps(
    attack: ThresholdAttack,
    in_words: ThresholdAttack,
    counts: Counts,
    named: Counts,
    options: _Options,
    stopped: bool,
) -> bool:
    """Does the attack in words show nine tenths of what the classifier's shows?"""
    best, words = (
        of.bound(which, options.alpha, options.delta, stopped=stopped, paper=False)
        for which, of in ((attack, counts), (in_words, named))
    )
    return words > 0 and words >= KEPT * best


def _best_pairs(run: _SniperRun, pairs: Sequence[Pair], options: _Options) -> list[Pair]:
    """The pair whose quick attack promises most, and two more if they promise nearly as much.

    Many pairs are compared in rounds: each keeps the best third and gives it more runs. Pairs with
    an input in common share its outputs, which are not used again. The paper trains on both orders
    of a pair, in one round, and keeps one.
    """
    screen = options.plan.screen
    if (len(pairs) == 1 and not options.paper) or screen == 0:
        return list(pairs[:1])
    if options.paper:
        size = max(screen // 3, 50)
        return [_dd_search(run, pairs, size, size, size, options, quick=True)[0]]
    left = list(pairs)
    rounds = math.ceil(math.log(len(left), 3))
    each_round, most = screen * len(left) // rounds, _MOST_COMPARED
    if all(run.counts_outcomes(pair, options) for pair in pairs):
        each_round = most = max(each_round, options.plan.counted // rounds)
    for last in range(rounds - 1, -1, -1):
        size = min(max(each_round // len(left) // 2, 50), most)
        promises = np.full(len(left), -np.inf)
        for place, attack in enumerate(_quick(run, left, size, options)):
            promises[place] = attack.expected
            if run.left(_COMPARING) == 0.0:
                break
        order = np.argsort(promises)[::-1]
        keep = 3 if last == 0 else max(3, -(-len(left) // 3))
        best = promises[order[0]]
        if not best > -np.inf:
            return left[:1]
        left = [
            left[i]
            for place, i in enumerate(order[:keep])
            if place == 0 or last or promises[i] > best - _NEARLY * abs(best)
        ]
    return left


def _dd_search(
    run: _SniperRun,
    pairs: Sequence[Pair],
    train: int,
    choose: int,
    check: int,
    options: _Options,
    *,
    quick: bool = False,
) -> tuple[Pair, ThresholdAttack]:
    """The paper's Algorithm 2: an attack on each pair in both orders, and the one of most power.

    The powers are estimated on `check` runs of each input that neither trained nor chose anything;
    so no attack is preferred for what it has overfitted.
    """
    best: tuple[float, Pair, ThresholdAttack] | None = None
    for pair in [ordered for both in pairs for ordered in (both, both[::-1])]:
        attack = _find(run, pair, train, choose, options, quick=quick)[0]
        rng = np.random.default_rng(run.seed())
        counts = Counts()
        for first, second in run.draw(pair, check, "checking attacks"):
            counts = counts.plus(attack, first, second, rng)
        c = options.c
        p, q = counts.above1 / counts.n1, counts.above2 / counts.n2
        power = math.log(max(p, c) / max(q, c))
        if best is None or power > best[0]:
            best = power, pair, replace(attack, expected=power)
    assert best is not None
    return best[1], best[2]


def _quick(
    run: _SniperRun, pairs: Sequence[Pair], size: int, options: _Options
) -> Iterator[ThresholdAttack]:
    """An attack on each pair, from `size` outputs of each input to train and as many to choose."""
    counted: dict[str, list[OutcomeCounts]] = {}
    outputs: dict[str, tuple[Samples, Samples]] = {}
    for pair in pairs:
        if run.counts_outcomes(pair, options):
            for x in pair:
                if repr(x) not in counted:
                    counted[repr(x)] = run.outcomes(x, (size, size), "comparing pairs")
            scored = _by_outcomes([counted[repr(x)] for x in pair], quick=True)
            yield _best_of(scored, options, (CAUTION,))[0]
            continue
        for x in pair:
            if repr(x) not in outputs:
                drawn = run.outputs(x, 2 * size, "comparing pairs")
                halves = np.arange(size), np.arange(size, 2 * size)
                outputs[repr(x)] = drawn.take(halves[0]), drawn.take(halves[1])
        (first, first_rest), (second, second_rest) = (outputs[repr(x)] for x in pair)
        seconds = run.left(_COMPARING)
        each = None if seconds is None else seconds / len(pairs)
        trainer = _trainer(options.classifier, options.paper, run.seed(), True, each)
        trainer.add(first, second)
        yield _choose(trainer.finish(), [(first_rest, second_rest)], options, (CAUTION,))[0]


def _by_outcomes(sides: Sequence[list[OutcomeCounts]], *, quick: bool = False) -> Iterator[Scored]:
    """Outputs are ordered by the first counts of both inputs; the second are to choose by."""
    (first, first_rest), (second, second_rest) = sides
    for scorer in outcome_scorers(first, second, quick):
        yield scorer, scores_of(scorer, first_rest), scores_of(scorer, second_rest)


def _find(
    run: _SniperRun,
    pair: Pair,
    train: int,
    choose: int,
    options: _Options,
    *,
    quick: bool = False,
    counted: int = 0,
) -> list[ThresholdAttack]:
    """Train on `train` runs of each input, then choose model and threshold on `choose` others.

    Where outputs are few and native loops count them, on `counted` runs in all if that is more.
    The attack to take is the first; others follow where native runs can compare them.
    """
    stage = "comparing pairs" if quick else "training"
    cautions = _CAUTIONS if not quick and run.compares(pair, options) else (CAUTION,)
    if run.counts_outcomes(pair, options):
        # Odds are as easily counted as thresholds: each gets half of the runs.
        half = max(train + choose, counted) // 2
        started = run.meter.seconds
        sides = [run.outcomes(x, (half, half), stage) for x in pair]
        run.a_run = (run.meter.seconds - started) / (4 * half)
        return _best_of(_by_outcomes(sides), options, cautions)
    # Drawing takes about half of the time.
    seconds = run.left(_COMPARING if quick else _LEARNING)
    each = None if seconds is None else 0.5 * seconds
    trainer = _trainer(options.classifier, options.paper, run.seed(), quick, each)
    ours = not (quick or options.paper) and options.classifier is None
    looks = ours and run.call_by_call(pair[0])
    in_words: EventScorer | None = None
    number: NumberScorer | None = None
    for first, second in run.draw(pair, train, stage):
        trainer.add(first, second)
        if looks and in_words is None:
            in_words = event_scorer(first, second)
        if ours and number is None:
            number = NumberScorer.of(first)
    scorers = [*trainer.finish(), *(s for s in (number, in_words) if s is not None)]
    rest = run.draw(pair, choose, stage if quick else "choosing the attack")
    started = run.meter.seconds
    attacks = _choose(scorers, rest, options, cautions)
    run.a_run = (run.meter.seconds - started) / (2 * choose)
    return attacks


def _choose(
    scorers: Sequence[Scorer],
    outputs: Iterable[tuple[Samples, Samples]],
    options: _Options,
    cautions: Sequence[float],
) -> list[ThresholdAttack]:
    """The most promising attacks of these scorers, on outputs that did not train them."""
    ones: list[list[Floats]] = [[] for _ in scorers]
    twos: list[list[Floats]] = [[] for _ in scorers]
    for first, second in outputs:
        for number, scorer in enumerate(scorers):
            ones[number].append(scorer.scores(first))
            twos[number].append(scorer.scores(second))
    if options.paper:
        attacks = (
            _paper_attack(scorer, np.concatenate(one), np.concatenate(two), options.c)
            for scorer, one, two in zip(scorers, ones, twos, strict=True)
        )
        return [max(attacks, key=lambda attack: attack.expected)]
    scored = (
        (scorer, OrderedScores.of(np.concatenate(one)), OrderedScores.of(np.concatenate(two)))
        for scorer, one, two in zip(scorers, ones, twos, strict=True)
    )
    return _best_of(scored, options, cautions)


def _best_of(
    scored: Iterable[Scored], options: _Options, cautions: Sequence[float]
) -> list[ThresholdAttack]:
    """The best attack with each of these cautions, in their order, without those that are one."""
    final, alpha, delta = options.plan.final, options.alpha, options.delta
    found: list[list[ThresholdAttack]] = [[] for _ in cautions]
    for scorer, one, two in scored:
        for some, caution in zip(found, cautions, strict=True):
            some.append(
                best_threshold(scorer, one, two, final, alpha, delta, coin=True, caution=caution)
            )
    kept: dict[Any, ThresholdAttack] = {}
    for some in found:
        best = max(some, key=lambda attack: attack.expected)
        in_words = [a for a in some if isinstance(a.scorer, EventScorer) and a.expected > 0]
        best = replace(best, in_words=in_words[0]) if in_words else best
        kept.setdefault((best.flipped, best.two_sided, best.c), best)
    return list(kept.values())


def _paper_attack(scorer: Scorer, one: Floats, two: Floats, c: float) -> ThresholdAttack:
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
) -> ThresholdAttack:
    """The paper's Algorithm 1: an attack on one ordered pair, with probability c on the second.

    `size` runs on each input train the classifier, `size` others set the threshold.
    """
    plan = SniperPlan(0, size, size, size)
    run = _SniperRun(sample, seed, Meter(Budget()), None, plan.portion)
    options = _Options(plan, 0.05, 0.0, classifier, True, c)
    return _find(run, pair, size, size, options)[0]


def _final_size(plan: SniperPlan, run: _SniperRun, coin: bool) -> int:
    """Runs on each side of the final stage, fixed before it starts.

    With a coin these are means, a little lower so that neither side exceeds the plan.
    """
    size, budget = plan.final, run.meter.budget
    if budget.runs is not None:
        size = min(size, (budget.runs - run.meter.runs) // 2)
    if budget.seconds is not None and run.a_run > 0.0:
        seconds = max(budget.seconds - run.meter.seconds, _MEASURING * budget.seconds)
        size = min(size, int(0.5 * seconds / run.a_run))
    size = max(100, size)
    return size - min(math.ceil(4.0 * math.sqrt(size)), size // 10) if coin else size
