"""The search: SLSQP on the smooth objective from random starts, and random search beside it."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.finder.estimate import DEFAULT_HALF_WIDTH, PairedCounts, estimate
from dpest.attacks.finder.event import PatternEvent
from dpest.attacks.finder.frozen import freeze
from dpest.attacks.finder.neighbourhood import Neighbourhood
from dpest.attacks.finder.objective import ProgramSide, Side, SmoothObjective
from dpest.attacks.finder.outcomes import Outcomes, ProgramOutcomes
from dpest.attacks.finder.smooth import NotSmoothError
from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise

Floats = NDArray[np.float64]

_LARGE = 1.0
_SCREENED = 1024
_KEPT_OBJECTIVES = 32
# Where a half-line gets its second end, in spreads of the noise.
_FAR = 10.0


@dataclass(frozen=True)
class Candidate:
    """A pair and an event. `smooth` is the objective that was maximised, `counts` fresh ones."""

    x: list[Any]
    x2: list[Any]
    event: PatternEvent
    smooth: float
    frozen: float
    counts: PairedCounts | None = None
    variables: Floats = field(default_factory=lambda: np.zeros(0))
    start: Floats = field(default_factory=lambda: np.zeros(0))
    objective: Any = None

    @property
    def estimate(self) -> float:
        return self.counts.epsilon if self.counts is not None else self.frozen


@dataclass
class SearchCost:
    """Where the time goes."""

    sampling: float = 0.0
    optimisation: float = 0.0
    confirmation: float = 0.0
    evaluations: int = 0
    samples: int = 0
    confirmations: int = 0
    work: float = 0.0
    """Counted, not timed: operations on arrays times their lengths, and exact values."""


class ClimbSpace:
    """Where the variables of an objective may be, in units in which a step is about 1."""

    def __init__(self, objective: SmoothObjective, scale: float) -> None:
        pair = objective.neighbourhood
        self.unit = np.full(objective.size, scale)
        self.unit[list(pair.differences)] = 1.0
        self.low = np.full(objective.size, -np.inf)
        self.high = np.full(objective.size, np.inf)
        self.low[: pair.size] = pair.bounds[:, 0]
        self.high[: pair.size] = pair.bounds[:, 1]
        self.bounds = list(zip(self.low / self.unit, self.high / self.unit, strict=True))
        self.constraints: list[dict[str, Any]] = []
        """As SciPy wants them."""
        rows, limits = objective.constraints()
        if len(rows):
            scaled = rows * self.unit
            self.constraints.append(
                {
                    "type": "ineq",
                    "fun": lambda u: limits - scaled @ u,
                    "jac": lambda u: -scaled,
                }
            )


class Searcher:
    """Everything that a search shares: traces, neighbourhoods, frozen noise, costs."""

    def __init__(
        self,
        sides: Mapping[int, Side],
        neighbourhoods: Sequence[Neighbourhood],
        noises: Mapping[Symbol, Noise],
        *,
        samples: int,
        steepness: float,
        seed: int,
        spent: Callable[[], bool] = lambda: False,
    ) -> None:
        self.sides, self.neighbourhoods, self.noises = sides, list(neighbourhoods), noises
        self.spent = spent
        self.rng = np.random.default_rng(seed)
        self.steepness = steepness
        self.cost = SearchCost()
        self.scale = _typical_scale(noises)
        started = time.perf_counter()
        self.noise = freeze(noises, samples, self.rng)
        self.cost.sampling += time.perf_counter() - started
        self._chances = np.cumsum(self.noise.weights)
        self._outcomes = {
            n: ProgramOutcomes(side, self.noise.symbols)
            if isinstance(side, ProgramSide)
            else Outcomes(side, self.noise.symbols)
            for n, side in sides.items()
        }
        self._built: OrderedDict[tuple[int, str], SmoothObjective] = OrderedDict()
        self._kinds: dict[str, list[int]] = {}

    def start(self) -> tuple[SmoothObjective, Floats]:
        """A random pair and a random event of the next pattern in turn, ends around a value."""
        for _ in range(100):
            index = int(self.rng.integers(len(self.neighbourhoods)))
            neighbourhood = self.neighbourhoods[index]
            point = neighbourhood.random(self.rng)
            x, x2 = neighbourhood.pair(point)
            source = x if self.rng.random() < 0.5 else x2
            found = self._outcomes[len(source)].next(source, self._random_row(), self.rng)
            if found is None:
                continue
            pattern, numbers = found
            ends, values = self._ends(pattern, numbers)
            objective = self._objective(index, pattern, ends)
            if any(check.possible for check in objective.checks):
                return objective, np.concatenate([point, values])
        raise NotSmoothError("no output of the traced paths could be drawn")

    def _objective(
        self, index: int, pattern: tuple[Any, ...], ends: Mapping[int, tuple[bool, bool]]
    ) -> SmoothObjective:
        """The objective of one event shape, on the whole frozen noise; the last few are kept."""
        key = (index, shape_name(pattern, ends))
        if key not in self._built:
            neighbourhood = self.neighbourhoods[index]
            first, second = len(neighbourhood.first), len(neighbourhood.second)
            objective = SmoothObjective(
                (self.sides[first], self.sides[second]),
                neighbourhood,
                pattern,
                ends,
                self.noises,
                self.noise.symbols,
                self.steepness,
            )
            self._freeze(objective)
            self._built[key] = objective
            if len(self._built) > _KEPT_OBJECTIVES:
                self._built.popitem(last=False)
        self._built.move_to_end(key)
        return self._built[key]

    def _freeze(self, objective: SmoothObjective) -> None:
        """All of the frozen noise; where most noises are integrated, a part will do."""
        objective.freeze(self.noise.part(_SCREENED) if objective.sharp else self.noise)

    def _random_row(self) -> Floats:
        place = int(np.searchsorted(self._chances, self.rng.random() * self._chances[-1]))
        return self.noise.values[min(place, len(self.noise.values) - 1)]

    @property
    def paths(self) -> int:
        """How many paths the longest trace has."""
        return max(side.paths for side in self.sides.values())

    @property
    def by_program(self) -> bool:
        """Whether the function was read as a program, whose paths are not listed."""
        return any(isinstance(side, ProgramSide) for side in self.sides.values())

    def event_traces(self, candidate: Candidate) -> tuple[Any, Any]:
        """Both inputs' paths into the event of a candidate, and no others."""
        return (
            self.sides[len(candidate.x)].event_trace(candidate.x, candidate.event),
            self.sides[len(candidate.x2)].event_trace(candidate.x2, candidate.event),
        )

    @property
    def patterns(self) -> int:
        """How many patterns of outputs the search goes through."""
        return max(outcomes.patterns for outcomes in self._outcomes.values())

    def best_starts(self, tried: int, kept: int) -> tuple[list[Candidate], list[Candidate]]:
        """Short climbs on a part of the frozen noise: those that got furthest, and the others.

        No more are made once the time is spent.
        """
        part = self.noise.part(_SCREENED)
        ranked: list[tuple[float, int, Candidate]] = []
        for i in range(tried):
            if ranked and self.spent():
                break
            objective, point = self.start()
            objective.freeze(part)
            found = self.climb(objective, point, iterations=12)
            self._freeze(objective)
            if found is not None:
                ranked.append((abs(found.smooth), i, found))
        ranked.sort(key=lambda entry: (-entry[0], entry[1]))
        chosen: list[Candidate] = []
        rest: list[Candidate] = []
        used: Counter[str] = Counter()
        for _, _, candidate in ranked:
            name = repr(candidate.objective.pattern)
            # Not all from one pattern: what looks best on little noise need not be.
            if len(chosen) < kept and used[name] < max(2, kept // 2):
                used[name] += 1
                chosen.append(candidate)
            else:
                rest.append(candidate)
        return chosen, rest

    def _ends(
        self, pattern: tuple[Any, ...], numbers: Mapping[int, float]
    ) -> tuple[dict[int, tuple[bool, bool]], Floats]:
        """For each real leaf: below, above, an interval, or (one of several) anything.

        Each pattern goes through the three kinds before it sees one again.
        """
        ends: dict[int, tuple[bool, bool]] = {}
        values: list[float] = []
        leaves = list(numbers)
        sure = leaves[int(self.rng.integers(len(leaves)))] if leaves else -1
        turn = self._kinds.setdefault(repr(pattern), [])
        if not turn:
            turn += self.rng.permutation(3).tolist()
        for leaf in leaves:
            kind = turn.pop() if leaf == sure else int(self.rng.integers(3))
            if leaf != sure and self.rng.random() < 0.5:
                continue
            ends[leaf] = (kind != 0, kind != 1)
            spread = self.scale * self.rng.uniform(0.2, 1.0)
            if kind == 2:
                values += [numbers[leaf] - spread, numbers[leaf] + spread]
            else:
                values.append(numbers[leaf] + (spread if kind == 0 else -spread))
        return ends, np.array(values)

    def climb(
        self,
        objective: SmoothObjective,
        start: Floats,
        iterations: int = 60,
    ) -> Candidate | None:
        """SLSQP from one start, first with soft sigmoids, then with the steepness asked for."""
        if not objective.size:  # a given pair and one output: nothing to move
            return self.candidate(objective, start, start)
        started = time.perf_counter()
        space = ClimbSpace(objective, self.scale)
        point = start.copy()
        if objective.value(point) < 0:
            # The other direction is the larger one here: a start for log(q/p) is none for log(p/q).
            point = self._mirrored(objective, point)
        lasting, floor = None, objective.floor
        stages = (self.steepness / 8, self.steepness, 8 * self.steepness)
        for steepness in stages[1:2] if objective.sharp else stages:
            if steepness > self.steepness:
                here = abs(objective.hard_value(point))
                if here < _LARGE or math.isinf(here):
                    break
                # Steeper only where the smooth optimum is an artefact (the event never happens),
                # or where the ratio is so large that it may well be infinite nearby.
                objective.floor /= 50
            objective.with_steepness(steepness)
            try:
                reached = self._optimum(objective, space, point, iterations)
            except _SpentError:
                break
            if np.all(np.isfinite(reached)) and objective.value(reached) >= objective.value(point):
                point = reached
            if not math.isnan(objective.hard_value(point)):
                lasting = point
        objective.with_steepness(self.steepness)
        objective.floor = floor
        point = self._corners(objective, point)
        self.cost.optimisation += time.perf_counter() - started
        # An optimum at which the event never happens on the frozen noise shows nothing; the last
        # point before it may.
        for end in (point, lasting, start):
            found = self.candidate(objective, end, start) if end is not None else None
            if found is not None:
                return found
        return None

    def _optimum(
        self, objective: SmoothObjective, space: ClimbSpace, start: Floats, iterations: int
    ) -> Floats:
        """Where SLSQP ends; raises _SpentError when the budget is spent on the way."""
        from scipy.optimize import minimize

        def loss(u: Floats) -> tuple[float, Floats]:
            if self.spent():
                raise _SpentError
            self.cost.evaluations += 1
            self.cost.work += objective.work
            value, gradient = objective.value_and_gradient(u * space.unit)
            return -value, -gradient * space.unit

        result = minimize(
            loss,
            start / space.unit,
            jac=True,
            method="SLSQP",
            bounds=space.bounds,
            constraints=space.constraints,
            options={"maxiter": iterations, "ftol": 1e-6},
        )
        return np.clip(result.x * space.unit, space.low, space.high)

    @staticmethod
    def _mirrored(objective: SmoothObjective, point: Floats) -> Floats:
        """Turn the difference around, which turns the sign of a small ε around."""
        mirrored = point.copy()
        for i in objective.neighbourhood.differences:
            low, high = objective.neighbourhood.bounds[i]
            mirrored[i] = low + high - point[i]
        return mirrored if objective.value(mirrored) > objective.value(point) else point

    def _corners(self, objective: SmoothObjective, point: Floats) -> Floats:
        """Differences at the ends of their range: ε is rarely largest inside."""
        rows, limits = objective.constraints()
        best, value = point, objective.value(point)
        for i in objective.neighbourhood.differences:
            for end in objective.neighbourhood.bounds[i]:
                if not math.isfinite(end) or end == best[i]:
                    continue
                moved = best.copy()
                moved[i] = end
                self.cost.evaluations += 1
                if len(rows) and np.any(rows @ moved > limits + 1e-12):
                    continue
                reached = objective.value(moved)
                if reached >= value:
                    best, value = moved, reached
        return best

    def candidate(
        self, objective: SmoothObjective, point: Floats, start: Floats
    ) -> Candidate | None:
        """None if the event happens on neither side; turned so that the first side is larger."""
        smooth, hard = objective.value(point), objective.hard_value(point)
        if math.isnan(hard):
            return None
        x, x2 = objective.neighbourhood.pair(point)
        event = objective.event(point)
        if hard < 0:
            x, x2, smooth, hard = x2, x, -smooth, -hard
        return Candidate(x, x2, event, smooth, hard, None, point, start, objective)

    def bounded(self, candidate: Candidate) -> Candidate | None:
        """The same pair and event with a far second end for each half-line; None if it has none."""
        old: SmoothObjective = candidate.objective
        if all(low == high for low, high in old.ends.values()):
            return None
        objective = SmoothObjective(
            old.sides,
            old.neighbourhood,
            old.pattern,
            {
                leaf: (True, True) if low or high else (low, high)
                for leaf, (low, high) in old.ends.items()
            },
            self.noises,
            self.noise.symbols,
            old.steepness,
        )
        self._freeze(objective)
        size = old.neighbourhood.size
        known = dict(zip(old.places, candidate.variables[size:], strict=True))
        start = dict(zip(old.places, candidate.start[size:], strict=True))

        def ends(at: Mapping[tuple[int, int], float]) -> list[float]:
            far = _FAR * self.scale
            return [
                at[leaf, i] if (leaf, i) in at else at[leaf, 1 - i] + (far if i else -far)
                for leaf, i in objective.places
            ]

        point = np.concatenate([candidate.variables[:size], ends(known)])
        return replace(
            candidate,
            event=objective.event(point),
            variables=point,
            start=np.concatenate([candidate.start[:size], ends(start)]),
            objective=objective,
            counts=None,
        )

    def with_pattern(
        self, candidate: Candidate, pattern: tuple[Any, ...], variables: Floats
    ) -> Candidate:
        """Another output in the place of a candidate's, at other variables."""
        old: SmoothObjective = candidate.objective
        objective = SmoothObjective(
            old.sides,
            old.neighbourhood,
            pattern,
            old.ends,
            self.noises,
            self.noise.symbols,
            old.steepness,
        )
        self._freeze(objective)
        x, x2 = objective.neighbourhood.pair(variables)
        if old.neighbourhood.pair(candidate.variables)[0] != candidate.x:
            x, x2 = x2, x
        return replace(
            candidate,
            x=x,
            x2=x2,
            event=objective.event(variables),
            variables=variables,
            objective=objective,
            counts=None,
        )

    def measure(
        self, candidate: Candidate, half_width: float = DEFAULT_HALF_WIDTH, most: int = 1_000_000
    ) -> Candidate:
        """Estimate on fresh shared noise until the M-CLT half-width is small enough."""
        started = time.perf_counter()
        objective: SmoothObjective = candidate.objective
        counts = estimate(
            objective.paired(candidate.variables, self.rng), half_width=half_width, most=most
        )
        self.cost.sampling += time.perf_counter() - started
        self.cost.samples += counts.samples
        x, x2, smooth, frozen = candidate.x, candidate.x2, candidate.smooth, candidate.frozen
        first, _ = objective.neighbourhood.pair(candidate.variables)
        if first != x:  # the candidate was turned around
            counts = PairedCounts(counts.both, counts.second, counts.first, counts.samples)
        return Candidate(
            x,
            x2,
            candidate.event,
            smooth,
            frozen,
            counts,
            candidate.variables,
            candidate.start,
            objective,
        )

    def random_search(self, evaluations: int) -> Iterator[Candidate]:
        """The baseline: random candidates, each with one evaluation of the objective.

        On the part of the frozen noise on which the search tries its starts.
        """
        part = self.noise.part(_SCREENED)
        on_part: dict[int, SmoothObjective] = {}
        try:
            for _ in range(evaluations):
                self.cost.evaluations += 1
                try:
                    objective, point = self.start()
                except NotSmoothError:
                    return
                if id(objective) not in on_part:
                    on_part[id(objective)] = objective
                    objective.freeze(part)
                found = self.candidate(objective, point, point)
                if found is not None:
                    yield found
        finally:
            for objective in on_part.values():
                self._freeze(objective)


class _SpentError(Exception):
    """The time for the search is over."""


def shape_name(pattern: tuple[Any, ...], ends: Mapping[int, tuple[bool, bool]]) -> str:
    """Equal for events that differ in nothing but where their intervals end."""
    return repr((pattern, sorted(ends.items())))


def _typical_scale(noises: Mapping[Symbol, Noise]) -> float:
    spreads = [n.width for n in noises.values() if not n.discrete]
    spreads = [s for s in spreads if 0 < s < math.inf]
    return float(np.median(spreads)) if spreads else 1.0
