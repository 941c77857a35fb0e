"""From candidates to values that may be reported: exact ones, or bounds on fresh samples."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.domains import Domain
from dpest.attacks.budget import Budget, Report
from dpest.attacks.finder.event import PatternEvent
from dpest.attacks.finder.search import Candidate, SearchCost, Searcher, shape_name
from dpest.attacks.finder.smooth import NotSmoothError
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.statdp.hypothesis_test import coin_label_bound
from dpest.attacks.statdp.laboratory import named_seed
from dpest.evidence import EXACT, Evidence, Standing, Witness, confidence

# Handed in by whoever can compute exactly: a number, an Evidence, or an exact loss (an object with
# `epsilon`, `witness` and `error`); None where there is no exact answer.
Confirm = Callable[[Any, Any, PatternEvent], Any]
# Handed in as well: |log P/P'| for two traces that hold nothing but the paths into one event.
Ratio = Callable[[Any, Any], float | None]

DEFAULT_SECONDS = 15.0
# About as much as a core does in that time: operations on arrays times their lengths.
DEFAULT_WORK = 6e9
_WORK_OF_A_PATH = 1e6
_TEST_RUNS = 500_000
# How far a confirmed candidate is pushed on along the way that the search took.
_STRETCHES = (3.0, 10.0, 30.0, 100.0)
_MOST_CONFIRMED = 3
_REFINEMENTS = 60
_FIRST_STEP = 4.0
_LOST_BY_AN_END = 1e-2
# Smaller gains are not worth inputs that are further out.
_WORTHWHILE = 1e-3
_LARGE = 1.0
_MOST_REFINED_PATHS = 64
_MOST_REFINED = 3
_MOST_SHAPES = 12
_MOST_RETREATS = 6


@dataclass(frozen=True)
class Confirmed:
    """A candidate with a value that may be reported: exact, or a bound at some confidence."""

    candidate: Candidate
    value: float
    standing: Standing
    evidence: Evidence | None = None
    p: float | None = None
    q: float | None = None
    of_event: bool = False
    """Whether the value is the event's own ratio; otherwise it is the pair's ε."""


@dataclass(frozen=True)
class FinderRequest:
    """What is searched, what may be spent on it, and who can compute a candidate's value exactly.

    `started` is when the search began (`time.perf_counter`); with `refine` its best candidates are
    climbed further on exact values.
    """

    mechanism: Mechanism
    domain: Domain
    confirm: Confirm | None
    ratio: Ratio | None
    refine: bool
    alpha: float
    limit: Budget
    seed: int
    started: float
    progress: Report | None


class Confirmation:
    """Confirms candidates of one search; counts its runs and the tests that share α."""

    def __init__(self, request: FinderRequest) -> None:
        self.request = request
        self.alone: Confirmed | None = None
        self.runs = 0
        self.tests = 0
        self.undone: list[str] = []
        self._known: dict[str, Any] = {}
        # Without any budget a search ends by itself, but it may take long. Its work is counted, so
        # that the answer depends neither on the machine nor on what else it does.
        limit = request.limit
        self._unlimited = limit.seconds is None and limit.runs is None
        self.cost: SearchCost | None = None

    def spent(self) -> bool:
        """Is the budget's time over or, where there is no budget, the usual amount of work done?"""
        seconds = self.request.limit.seconds
        if seconds is not None and time.perf_counter() - self.request.started > seconds:
            return True
        return self._unlimited and self.cost is not None and self.cost.work > DEFAULT_WORK

    def confirmed(
        self, searcher: Searcher, found: Sequence[Candidate], others: Sequence[Candidate] = ()
    ) -> Confirmed | None:
        """The best confirmed candidate, pushed further along its way while that helps.

        `others` are starts that were not followed to the end. An event that shows most in the far
        tails shows little on frozen noise: where exact values are cheap, every shape of event that
        was tried gets its turn.
        """
        checked: list[Confirmed] = []
        ranked = _distinct(sorted(found, key=lambda c: -_rank(c)))
        first = ranked[:_MOST_CONFIRMED]
        for i, candidate in enumerate(first):
            if i and self.spent():
                self.undone.append(f"{len(first) - i} of {len(first)} confirmations")
                break
            answer = self.check(searcher, candidate)
            if answer is not None:
                checked.append(answer)
        if not checked:
            return None
        best = self.alone = max(checked, key=lambda c: c.value)
        if not self.request.refine:
            return best
        if best.standing.name == "confidence" or math.isinf(best.value):
            return best
        exact = [c for c in checked if c.standing.name != "confidence"]
        if searcher.paths <= _MOST_REFINED_PATHS:
            exact += self._other_shapes(searcher, first, [*ranked[_MOST_CONFIRMED:], *others])
        exact.sort(key=lambda c: -c.value)
        pushed = sorted((self.push(searcher, c) for c in exact), key=lambda c: -c.value)
        best = pushed[0]
        patterns: dict[str, Confirmed] = {}
        for known in pushed:
            patterns.setdefault(repr(known.candidate.event.pattern), known)
        for known in list(patterns.values())[:_MOST_REFINED]:
            if math.isinf(best.value) or self.spent():
                break
            best = max(best, self.refine(searcher, known), key=lambda c: c.value)
        if self.spent():
            self.undone.append("parts of the way to the tails")
        return self.retreat(searcher, best) if math.isfinite(best.value) else best

    def _other_shapes(
        self, searcher: Searcher, first: Sequence[Candidate], more: Sequence[Candidate]
    ) -> list[Confirmed]:
        """Exact values of shapes of events that are not among the first."""
        seen = {_shape(c) for c in first}
        found = []
        for candidate in more:
            if _shape(candidate) in seen or len(seen) >= _MOST_SHAPES or self.spent():
                continue
            seen.add(_shape(candidate))
            answer = self.exact(searcher, candidate)
            if answer is not None:
                found.append(answer)
        return found

    def moved(self, searcher: Searcher, base: Candidate, variables: Any) -> Candidate:
        """A candidate with other variables, turned the same way round as `base`."""
        objective = base.objective
        pair = objective.neighbourhood
        low = np.full(objective.size, -np.inf)
        high = np.full(objective.size, np.inf)
        low[: pair.size], high[: pair.size] = pair.bounds[:, 0], pair.bounds[:, 1]
        point = np.clip(variables, low, high)
        x, x2 = pair.pair(point)
        if pair.pair(base.variables)[0] != base.x:
            x, x2 = x2, x
        return replace(base, x=x, x2=x2, event=objective.event(point), variables=point, counts=None)

    def push(self, searcher: Searcher, best: Confirmed) -> Confirmed:
        """Exact values cost little and see what frozen noise can't: events in the far tails.

        The inputs and the event's ends go on in the direction in which the search moved them, and
        away from zero, as long as that helps.
        """
        base = best.candidate
        steady = np.zeros(len(base.variables), dtype=bool)
        steady[list(base.objective.neighbourhood.differences)] = True
        for way in (base.variables - base.start, base.variables):
            for stretch in _STRETCHES:
                if self.spent():
                    return best
                point = base.variables + (stretch - 1) * np.where(steady, 0.0, way)
                checked = self.exact(searcher, self.moved(searcher, base, point))
                if checked is None or not checked.value > best.value * (1 + _WORTHWHILE):
                    break
                best = checked
        return best

    def retreat(self, searcher: Searcher, best: Confirmed) -> Confirmed:
        """Back from the far tails while hardly anything is lost: likelier events, nearer inputs."""
        least = best.value * (1 - _WORTHWHILE)
        for _ in range(_MOST_RETREATS):
            if self.spent():
                break
            point = best.candidate.variables / 2
            fixed = list(best.candidate.objective.neighbourhood.differences)
            point[fixed] = best.candidate.variables[fixed]
            checked = self.exact(searcher, self.moved(searcher, best.candidate, point))
            if checked is None or checked.value < least:
                break
            best = checked
        return best

    def refine(self, searcher: Searcher, best: Confirmed) -> Confirmed:
        """A pattern search on the exact value, one variable after the other.

        Half-lines become intervals first, which can do what those do and more, and each difference
        is tried the other way round. Then a step that helps is made four times as long, one that
        doesn't is turned, then shortened. The number of steps is fixed, and none are made where a
        confirmation means tracing many paths.
        """
        if searcher.paths > _MOST_REFINED_PATHS or not best.candidate.objective.size:
            return best
        bounded = searcher.bounded(best.candidate)
        if bounded is not None:
            checked = self.exact(searcher, bounded)
            if checked is not None and checked.value >= best.value * (1 - _LOST_BY_AN_END):
                best = checked
        objective = best.candidate.objective
        pair = objective.neighbourhood
        for i in pair.differences:
            point = best.candidate.variables.copy()
            point[i] = pair.bounds[i].sum() - point[i]
            if not math.isfinite(point[i]) or self.spent():
                continue
            checked = self.exact(searcher, self.moved(searcher, best.candidate, point))
            if checked is not None and checked.value > best.value * (1 + _WORTHWHILE):
                best = checked
        fixed = set(pair.differences)
        free = [i for i in range(objective.size) if i not in fixed]
        if not free or math.isinf(best.value):
            return best
        best = self._other_answers(searcher, best)
        objective = best.candidate.objective
        # A large ratio comes from a support that is about to end, at the scale of the differences;
        # a small one from the noise's tails.
        spans = np.abs(pair.bounds[list(fixed)])
        span = float(spans[np.isfinite(spans)].max(initial=0.0)) or searcher.scale
        steps = np.full(objective.size, _FIRST_STEP * searcher.scale)
        if best.value >= _LARGE:
            steps[:] = span
        idle = 0
        for turn in range(_REFINEMENTS):
            if self.spent() or idle >= 2 * len(free):
                break
            i = free[turn % len(free)]
            point = best.candidate.variables.copy()
            point[i] += steps[i]
            checked = self.exact(searcher, self.moved(searcher, best.candidate, point))
            if checked is not None and checked.value > best.value * (1 + _WORTHWHILE):
                best, idle = checked, 0
                steps[i] *= 4
                if math.isinf(best.value):
                    break
            else:
                idle += 1
                steps[i] *= -1 if steps[i] > 0 else -0.25
        return best

    def _other_answers(self, searcher: Searcher, best: Confirmed) -> Confirmed:
        """One answer turned into its opposite, with its entry and difference mirrored.

        Where each entry has an answer of its own, how many of them are True decides how far out the
        event shows most; the smooth search can't pass from one pattern to another.
        """
        pair = best.candidate.objective.neighbourhood
        fixed = list(pair.differences)
        free = [i for i in range(pair.size) if i not in set(fixed)]
        count = len(best.candidate.x)
        if not searcher.by_program or len(free) != count or len(fixed) != count:
            return best
        for i in range(count):
            pattern = best.candidate.event.pattern
            if len(pattern) != count or not isinstance(pattern[i], bool) or self.spent():
                return best
            turned = (*pattern[:i], not pattern[i], *pattern[i + 1 :])
            point = best.candidate.variables.copy()
            point[free[i]] = -point[free[i]]
            point[fixed[i]] = pair.bounds[fixed[i]].sum() - point[fixed[i]]
            checked = self.exact(searcher, searcher.with_pattern(best.candidate, turned, point))
            if checked is not None and checked.value > best.value * (1 + _WORTHWHILE):
                best = checked
        return best

    def exact(self, searcher: Searcher, candidate: Candidate) -> Confirmed | None:
        """As `check`, without a bound on samples where there is no exact answer."""
        checked = self.check(searcher, candidate, sampled=False)
        return checked if checked is not None and checked.standing.name != "confidence" else None

    def check(
        self, searcher: Searcher, candidate: Candidate, sampled: bool = True
    ) -> Confirmed | None:
        """The confirmed value of one candidate, exact where that is possible."""
        started = time.perf_counter()
        try:
            searcher.cost.confirmations += 1
            searcher.cost.work += _WORK_OF_A_PATH * (10 + searcher.paths)
            if searcher.by_program:
                own = self.of_event(searcher, candidate)
                if own is not None:
                    return Confirmed(candidate, own, EXACT, of_event=True)
                return self.test(candidate) if sampled else None
            answer = self._answer(candidate)
            if isinstance(answer, Evidence) and answer.standing.is_bound:
                return Confirmed(candidate, answer.value, answer.standing, answer)
            if hasattr(answer, "epsilon"):
                found = _as_evidence(answer)
                return Confirmed(candidate, found.value, found.standing, found)
            if isinstance(answer, (int, float)) and not math.isnan(answer):
                return Confirmed(candidate, float(answer), EXACT)
            return self.test(candidate) if sampled else None
        finally:
            searcher.cost.confirmation += time.perf_counter() - started

    def of_event(self, searcher: Searcher, candidate: Candidate) -> float | None:
        """The event's own |log ratio|, exactly; None where there is no exact answer."""
        if self.request.ratio is None:
            return None
        try:
            return self.request.ratio(*searcher.event_traces(candidate))
        except NotSmoothError:
            return None

    def _answer(self, candidate: Candidate) -> Any:
        """What `confirm` says; the loss of a pair does not depend on the event."""
        if self.request.confirm is None:
            return None
        pair = repr((candidate.x, candidate.x2))
        if pair not in self._known:
            x, x2 = (
                self.request.domain.as_input(candidate.x),
                self.request.domain.as_input(candidate.x2),
            )
            answer = self.request.confirm(x, x2, candidate.event)
            if not hasattr(answer, "epsilon"):
                return answer
            self._known[pair] = answer
        return self._known[pair]

    def test(self, candidate: Candidate) -> Confirmed | None:
        """A rigorous bound on fresh samples; each test of this search spends half of what is left
        of α, so that all of them together stay within it."""
        self.tests += 1
        level = self.request.alpha / 2**self.tests
        runs = _TEST_RUNS
        if self.request.limit.runs is not None:  # half of the budget is for all tests, both sides
            runs = max(1, min(runs, self.request.limit.runs // (4 * _MOST_CONFIRMED)))
        rng = np.random.default_rng(named_seed(self.request.seed, "coin", self.tests))
        n1 = int(rng.binomial(2 * runs, 0.5))
        sampler = MechanismSampler(self.request.mechanism)
        counts = []
        for name, x, n in (("first", candidate.x, n1), ("second", candidate.x2, 2 * runs - n1)):
            drawn = sampler.draw(
                self.request.domain.as_input(x), n, named_seed(self.request.seed, name, self.tests)
            )
            counts.append(candidate.event.count(drawn))
        self.runs += 2 * runs
        bound = coin_label_bound(counts[0], counts[1], level)
        if bound <= 0:
            return None
        return Confirmed(
            candidate,
            bound,
            confidence(self.request.alpha),
            None,
            counts[0] / max(n1, 1),
            counts[1] / max(2 * runs - n1, 1),
        )


def _as_evidence(loss: Any) -> Evidence:
    return Evidence(
        "lower",
        float(loss.epsilon),
        EXACT,
        "exact",
        getattr(loss, "witness", None) or Witness(),
        error=float(getattr(loss, "error", 0.0) or 0.0),
    )


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best of every pattern first, then the rest."""
    first: dict[str, Candidate] = {}
    rest = []
    for candidate in candidates:
        name = repr(candidate.event.pattern)
        if name in first:
            rest.append(candidate)
        else:
            first[name] = candidate
    return [*first.values(), *rest]


def _shape(candidate: Candidate) -> str:
    return shape_name(candidate.objective.pattern, candidate.objective.ends)


def _rank(candidate: Candidate) -> float:
    """Estimates are ranked by what is left of them after their half-width."""
    counts = candidate.counts
    if counts is None:
        return candidate.frozen - 1.0 if math.isfinite(candidate.frozen) else -math.inf
    value = counts.epsilon
    if math.isnan(value):
        return -math.inf
    if math.isinf(value):
        # A denominator of zero: the support analysis of the exact engine decides.
        return value
    return value - counts.half_width()
