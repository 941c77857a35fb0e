"""DP-Finder as an attack: search with shared noise and gradients, report what is confirmed."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec

import numpy as np

from dpest.ask.adjacency import Adjacency, LInf, parse_adjacency
from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.ask.domains import Domain, reals
from dpest.ask.patterns import patterns
from dpest.attacks.budget import Budget, Progress, Report
from dpest.attacks.finder.confirmation import (
    DEFAULT_SECONDS,
    Confirm,
    Confirmation,
    Confirmed,
    FinderRequest,
    Ratio,
)
from dpest.attacks.finder.estimate import DEFAULT_HALF_WIDTH
from dpest.attacks.finder.neighbourhood import Neighbourhood, neighbourhoods
from dpest.attacks.finder.objective import ProgramSide
from dpest.attacks.finder.program import ProgramReading
from dpest.attacks.finder.search import Candidate, SearchCost, Searcher, Side
from dpest.attacks.finder.smooth import LinearInput, NotSmoothError
from dpest.attacks.finder.tape import DEFAULT_STEEPNESS
from dpest.attacks.statdp.attack import spread, statdp_detection
from dpest.attacks.statdp.detection import SELECTION_RUNS, TEST_RUNS
from dpest.attacks.statdp.laboratory import InputCase, named_seed
from dpest.attacks.statdp.replay import replay_code
from dpest.errors import InputError, ReadingError
from dpest.evidence import Evidence, Witness, confidence
from dpest.geometry.linear import Symbol
from dpest.reading.trace import trace

DEFAULT_RESTARTS = 5
DEFAULT_SAMPLES = 8192
_LEAST_STARTS = 16
# With more paths than this a function is smoothed as a program.
_MOST_LISTED = 128
_MOST_READING = 10.0
# Candidates are ranked on this many samples; only the winner is measured to the half-width.
_RANKING_SAMPLES = 50_000
_WINNER_SAMPLES = 1_000_000


_Given = ParamSpec("_Given")


@dataclass(frozen=True)
class SearchResult:
    """The outcome of one search. `best` is None if nothing was confirmed."""

    best: Confirmed | None
    candidates: tuple[Candidate, ...]
    cost: SearchCost
    seconds: float
    runs: int
    seed: int
    notes: tuple[str, ...] = ()
    fallback: Evidence | None = None
    searcher: Searcher | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    """The exact ε of the event and of the pair, from the search alone and after refinement."""


def finder_search(
    target: Any,
    adjacency: Any = None,
    domain: Any = None,
    length: int | None = None,
    *,
    confirm: Confirm | None = None,
    x: Any = None,
    x2: Any = None,
    params: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    restarts: int = DEFAULT_RESTARTS,
    samples: int = DEFAULT_SAMPLES,
    steepness: float = DEFAULT_STEEPNESS,
    half_width: float = DEFAULT_HALF_WIDTH,
    refine: bool = True,
    ratio: Ratio | None = None,
    seed: int = 0,
    progress: Report | None = None,
) -> tuple[SearchResult, Evidence]:
    """A lower bound on ε from an optimised pair of inputs and event; all candidates and costs.

    `confirm(x, x2, event)` gives the true ε of a candidate, or None if it can't; then a rigorous
    bound on fresh samples at level `alpha` takes its place. Only confirmed values are reported.
    Without a budget the search ends after some seconds at the latest, and the notes say what it
    left out. The search is DP-Finder's; with `refine` its best candidates are climbed further on
    exact values, and the details tell what each step has found. `ratio` gives an event's own ratio
    from the paths into it: where a function has too many paths to list, it is all that is asked.
    A mechanism that can't be made smooth is searched at random, and the notes say so.
    """
    if (x is None) != (x2 is None):
        raise InputError("give both inputs of the pair, or none")
    started = time.perf_counter()
    mechanism = as_mechanism(target).with_params(params)
    rule, space, length = _where_to_search(mechanism, adjacency, domain, length, x)
    search = _Attack(
        FinderRequest(
            mechanism,
            space,
            confirm=confirm,
            ratio=ratio,
            refine=refine,
            alpha=alpha,
            limit=Budget.of(budget),
            seed=seed,
            started=started,
            progress=progress,
        )
    )
    try:
        pairs = search.pairs(rule, space, length, x, x2)
        searcher = search.prepare(pairs, samples, steepness)
    except RecursionError:
        return search.fall_back(rule, space, length, x, x2, "its reading is too deeply nested")
    except (NotSmoothError, ReadingError) as error:
        return search.fall_back(rule, space, length, x, x2, str(error))
    return search.run(searcher, restarts, half_width)


def _where_to_search(
    mechanism: Mechanism, adjacency: Any, domain: Any, length: int | None, x: Any
) -> tuple[Adjacency, Domain, int]:
    """What was asked for, what the mechanism declares, or vectors of reals that differ by 1."""
    rule = adjacency if adjacency is not None else mechanism.adjacency
    rule = parse_adjacency(rule) if rule is not None else LInf()
    space = domain if domain is not None else mechanism.domain
    space = parse_domain(space) if space is not None else reals()
    if length is None:
        length = len(x) if x is not None and np.ndim(x) == 1 else space.default_length()
    return rule, space.with_length(length), length


def _evidence_alone(
    search: Callable[_Given, tuple[SearchResult, Evidence]],
) -> Callable[_Given, Evidence]:
    """The same search with the same arguments, for those who want the bound alone."""

    @functools.wraps(search)
    def attack(*args: _Given.args, **kwargs: _Given.kwargs) -> Evidence:
        return search(*args, **kwargs)[1]

    return attack


finder_attack = _evidence_alone(finder_search)


class _Attack:
    def __init__(self, request: FinderRequest) -> None:
        self.request = request
        self.confirmation = Confirmation(request)
        self.notes: list[str] = []

    # --- preparation --------------------------------------------------------------------------

    def pairs(self, rule: Any, space: Any, length: int, x: Any, x2: Any) -> list[Neighbourhood]:
        if x is not None:
            return [fixed_pair(x, x2)]
        found = neighbourhoods(rule, space, length, reach=math.inf)
        if found is None:
            raise NotSmoothError(f"inputs of {space} are not vectors of real numbers")
        return found

    def prepare(self, pairs: Sequence[Neighbourhood], samples: int, steepness: float) -> Searcher:
        """Read every length with symbolic inputs, share the noise, freeze it."""
        sides: dict[int, Side] = {}
        noises: dict[Symbol, Any] = {}
        for pair in pairs:
            for maps in (pair.first, pair.second):
                n = len(maps)
                if n in sides:
                    continue
                sides[n], found = self._side(n)
                for symbol, noise in found.items():
                    if noises.setdefault(symbol, noise) != noise:
                        raise NotSmoothError("the two inputs draw different noises")
        if len({type(side) for side in sides.values()}) > 1:
            raise NotSmoothError("the two inputs were read in different ways")
        searcher = Searcher(
            sides,
            pairs,
            noises,
            samples=samples,
            steepness=steepness,
            seed=named_seed(self.request.seed, "finder"),
            spent=self.confirmation.spent,
        )
        self.confirmation.cost = searcher.cost
        return searcher

    def _side(self, n: int) -> tuple[Side, dict[Symbol, Any]]:
        """One length: as a program where it has many paths, else by its paths."""
        number = self.request.domain.form == "number"
        symbols = [Symbol("input", "x" if number else f"x{i}") for i in range(n)]
        program = self._program(n, number)
        if program is not None and program.ways > _MOST_LISTED:
            self.notes.append(f"smoothed as a program: it has up to {program.ways:.3g} paths")
            return ProgramSide(program, symbols), program.noises
        try:
            found = trace(
                self.request.mechanism,
                self.request.domain.as_input([0.0] * n),
                symbolic=True,
                seconds=self._reading_time(),
            )
            if found.leftover:
                raise NotSmoothError("a loop without a bound")
        except (NotSmoothError, ReadingError):
            if program is None:
                raise
            self.notes.append("smoothed as a program: its paths are not linear")
            return ProgramSide(program, symbols), program.noises
        return Side(found, symbols), dict(found.noises)

    def _program(self, n: int, number: bool) -> ProgramReading | None:
        if self.request.domain.form not in ("list", "number"):
            return None
        try:
            return ProgramReading(self.request.mechanism, None if number else n)
        except NotSmoothError:
            return None

    def _reading_time(self) -> float:
        """A part of the budget's seconds, where it has some."""
        if self.request.limit.seconds is None:
            return _MOST_READING
        return max(0.5, min(_MOST_READING, self.request.limit.seconds / 3))

    # --- the search ---------------------------------------------------------------------------

    def run(
        self, searcher: Searcher, restarts: int, half_width: float
    ) -> tuple[SearchResult, Evidence]:
        found: list[Candidate] = []
        interrupted = False
        best: Confirmed | None = None
        try:
            self._report("looking for starts", best)
            tried = max(_LEAST_STARTS, 2 * min(searcher.patterns, 4 * restarts))
            starts, others = searcher.best_starts(tried, restarts)
            for i, start in enumerate(starts):
                if i and self.confirmation.spent():
                    self.confirmation.undone.append(f"{len(starts) - i} of {len(starts)} restarts")
                    found += starts[i:]
                    break
                self._report(f"climbing, {i + 1} of {restarts}", best)
                candidate = searcher.climb(start.objective, start.variables)
                if candidate is not None:
                    found.append(candidate)
            self._report("estimating on fresh noise", best)
            most, last = self._samples(len(found))
            # What is integrated needs no counting, and lies where counts would be zero.
            found = [
                c if c.objective.sharp else searcher.measure(c, half_width, most) for c in found
            ]
            self._report("confirming", best)
            best = self.confirmation.confirmed(searcher, found, others)
            if best is not None and not best.candidate.objective.sharp:
                self._report("measuring the winner", best)
                candidate = searcher.measure(best.candidate, half_width, last)
                best = replace(best, candidate=candidate)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            self.notes.append("interrupted: only what was confirmed before is reported")
        if self.confirmation.undone:
            seconds = self.request.limit.seconds
            when = "the usual work" if seconds is None else f"{seconds:g} s"
            self.notes.append(
                f"stopped after {when} (a budget of more seconds goes on); not done: "
                + ", ".join(self.confirmation.undone)
            )
        self._split_note(searcher.cost)
        finding = SearchResult(
            best,
            tuple(found),
            searcher.cost,
            time.perf_counter() - self.request.started,
            self.confirmation.runs + 2 * searcher.cost.samples,
            self.request.seed,
            tuple(self.notes),
            searcher=searcher,
            values=self._values(searcher, best),
        )
        return finding, self.evidence(finding)

    def _values(self, searcher: Searcher, best: Confirmed | None) -> dict[str, float]:
        """What the event shows by itself and what the pair does, before and after refinement."""
        found: dict[str, float] = {}
        kinds = {"search": self.confirmation.alone}
        if self.request.refine:
            kinds["refined"] = best
        for name, known in kinds.items():
            if known is None or known.standing.name == "confidence":
                continue
            if not known.of_event:
                found[f"{name}_pair"] = known.value
            own = (
                known.value
                if known.of_event
                else self.confirmation.of_event(searcher, known.candidate)
            )
            if own is not None:
                found[f"{name}_event"] = own
        return found

    def _samples(self, candidates: int) -> tuple[int, int]:
        """How many samples each candidate gets, and the winner: half of a budget for all of them.

        A run on both inputs counts twice.
        """
        if self.request.limit.runs is None:
            return _RANKING_SAMPLES, _WINNER_SAMPLES
        each = max(1, self.request.limit.runs // (4 * (candidates + 1)))
        return min(_RANKING_SAMPLES, each), min(_WINNER_SAMPLES, each)

    # --- the rest -----------------------------------------------------------------------------

    def fall_back(
        self, rule: Any, space: Any, length: int, x: Any, x2: Any, reason: str
    ) -> tuple[SearchResult, Evidence]:
        """Random pairs, events chosen on samples, one exact test; said aloud."""
        self.notes.append(f"no smooth objective ({reason}): random search instead")
        rng = np.random.default_rng(named_seed(self.request.seed, "random pairs"))
        cases = [InputCase(x, x2)] if x is not None else random_cases(rule, space, length, rng)
        cases = [replace(c, x=space.as_input(c.x), x2=space.as_input(c.x2)) for c in cases]
        selection, test = SELECTION_RUNS, TEST_RUNS
        if self.request.limit.runs is None and self.request.limit.seconds is None:
            affordable = spread(
                self.request.mechanism,
                None,
                cases,
                Budget(seconds=DEFAULT_SECONDS),
                self.request.seed,
            )
            if affordable[1] < test:
                selection, test = min(selection, affordable[0]), affordable[1]
                self.notes.append(
                    f"a slow mechanism: {selection} runs a side to choose an event and {test} to "
                    f"test it, which fit into {DEFAULT_SECONDS:g} s (a budget of more seconds or "
                    "runs goes further)"
                )
        limit = self.request.limit
        if limit.seconds is not None:  # what the reading has left of it
            left = limit.seconds - (time.perf_counter() - self.request.started)
            limit = replace(limit, seconds=max(left, limit.seconds / 4))
        found = statdp_detection(
            self.request.mechanism,
            cases=cases,
            alpha=self.request.alpha,
            budget=limit,
            selection_runs=selection,
            test_runs=test,
            seed=self.request.seed,
            progress=self.request.progress,
        )
        evidence = found.evidence()
        evidence = evidence.with_(
            method="finder: random search", notes=(*self.notes, *evidence.notes)
        )
        seconds = time.perf_counter() - self.request.started
        finding = SearchResult(
            None,
            (),
            SearchCost(),
            seconds,
            found.runs,
            self.request.seed,
            tuple(self.notes),
            evidence,
        )
        return finding, evidence

    def evidence(self, finding: SearchResult) -> Evidence:
        best = finding.best
        details: dict[str, Any] = {
            **finding.values,
            "evaluations": finding.cost.evaluations,
            "samples": finding.cost.samples,
            "shares": shares(finding.cost),
            "candidates": len(finding.candidates),
        }
        if best is None:
            return Evidence(
                "lower",
                0.0,
                confidence(self.request.alpha),
                "finder",
                runs=finding.runs,
                seconds=finding.seconds,
                seed=self.request.seed,
                notes=(*finding.notes, "no candidate was confirmed"),
                details=details,
            )
        candidate = best.candidate
        values = {"smooth": candidate.smooth, "frozen": candidate.frozen}
        details |= {name: value for name, value in values.items() if math.isfinite(value)}
        if candidate.counts is not None and math.isfinite(candidate.estimate):
            details["estimate"] = candidate.estimate
        inner = best.evidence
        x, x2 = (
            self.request.domain.as_input(candidate.x),
            self.request.domain.as_input(candidate.x2),
        )
        code = replay_code(
            self.request.mechanism.function,
            x,
            x2,
            dict(self.request.mechanism.params),
            candidate.event.source,
            100_000,
            not self.request.mechanism.black_box,
        )
        counts = candidate.counts
        p, q = best.p, best.q
        if p is None and counts is not None and counts.p > 0 and counts.q > 0:
            p, q = counts.p, counts.q
        witness = Witness(x, x2, candidate.event.words, p, q, replay=code)
        if inner is not None and inner.witness.event:
            witness = replace(inner.witness, replay=code)
        return Evidence(
            "lower",
            max(0.0, best.value),
            best.standing,
            "finder",
            witness,
            finding.runs,
            finding.seconds,
            self.request.seed,
            error=inner.error if inner is not None else 0.0,
            notes=finding.notes,
            details=details,
        )

    def _report(self, stage: str, best: Confirmed | None) -> None:
        if self.request.progress is not None:
            seconds = time.perf_counter() - self.request.started
            bound = max(0.0, best.value) if best else 0.0
            self.request.progress(Progress("finder", self.confirmation.runs, seconds, bound, stage))

    def _split_note(self, cost: SearchCost) -> None:
        text = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares(cost).items())
        self.notes.append(f"time: {text}")


def shares(cost: SearchCost) -> dict[str, float]:
    """Which part of the time went where."""
    parts = {
        "sampling": cost.sampling,
        "optimisation": cost.optimisation,
        "confirmation": cost.confirmation,
    }
    total = sum(parts.values()) or 1.0
    return {name: value / total for name, value in parts.items()}


def fixed_pair(x: Any, x2: Any) -> Neighbourhood:
    """Only the event is searched."""
    try:
        first = [float(v) for v in np.atleast_1d(np.asarray(x, dtype=np.float64))]
        second = [float(v) for v in np.atleast_1d(np.asarray(x2, dtype=np.float64))]
    except (TypeError, ValueError):
        raise NotSmoothError("the inputs are not vectors of real numbers") from None
    empty = np.zeros((0, 2))
    return Neighbourhood(
        tuple(LinearInput(np.zeros(0), v) for v in first),
        tuple(LinearInput(np.zeros(0), v) for v in second),
        empty,
        np.zeros((0, 0)),
        np.zeros(0),
        empty,
        (),
    )


def random_cases(
    rule: Any, space: Any, length: int, rng: np.random.Generator, count: int = 20
) -> list[InputCase]:
    """Random neighbours; where the domain isn't one of vectors, the literature's patterns."""
    found = neighbourhoods(rule, space, length, reach=math.inf)
    if found is None:
        return [
            InputCase(a, b, {}, name)
            for name, a, b in patterns(rule, space, length, both_orders=False)[:count]
        ]
    cases = []
    for _ in range(count):
        pair = found[int(rng.integers(len(found)))]
        x, x2 = pair.pair(pair.random(rng))
        cases.append(InputCase(x, x2, {}, "random"))
    return cases
