"""Algorithm 1 of StatDP: search on some samples, test once on fresh ones.

Whatever chose the pair, the arguments, the event and the direction never sees the samples of the
test, so one α pays for everything that was tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.attacks.budget import Report
from dpest.attacks.statdp.counterexample import Counterexample
from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.families import PairedOutputs
from dpest.attacks.statdp.features import Grouped
from dpest.attacks.statdp.hypothesis_test import (
    coin_label_bound,
    hypothesis_test,
    promise,
    sigmas_above,
)
from dpest.attacks.statdp.laboratory import InputCase, Laboratory, named_seed
from dpest.attacks.statdp.leaves import leaves_of
from dpest.attacks.statdp.replay import replay_code
from dpest.attacks.statdp.selector import (
    CAUTION,
    TOLERANCE,
    ChosenEvent,
    EventSearch,
    rare_limit,
    select_from,
    simplest,
)
from dpest.errors import InputError
from dpest.evidence import Evidence, Witness, confidence
from dpest.running.samples import Samples

SELECTION_RUNS = 100_000
TEST_RUNS = 500_000
# All pairs are looked at with a tenth of the selection's runs; the best few with all of them.
_FIRST_SHARE = 10
_FIRST_CAUTION = 3.0
FINALISTS = 2
# Where nothing is clear, more pairs are looked at, and the best candidates again.
MOST_FINALISTS = 6
_LOOKED_AT = 64
_SECOND_CAUTION = 2.5
_LIKELY_REFUTED = 2.5
_BEYOND_LUCK = 6.0
_CLEAR_SHARE = 0.8
# So many runs a side are held in memory at a time, where they are only counted.
_PART = 1 << 20


@dataclass(frozen=True)
class DetectedEvent:
    """What the search chose: the larger side of the event is `case.x`."""

    case: InputCase
    choice: ChosenEvent


def count_candidates(
    laboratory: Laboratory, case: InputCase, runs: int, thorough: bool = False
) -> EventSearch:
    """Every candidate event of one case, counted on `runs` outputs a side."""
    first = laboratory.search_samples(case, case.x, runs)
    second = laboratory.search_samples(case, case.x2, runs)
    return events_of(laboratory, case, first, second, PairedOutputs(first, second), thorough)


def events_of(
    laboratory: Laboratory,
    case: InputCase,
    first: Samples,
    second: Samples,
    reading: PairedOutputs,
    thorough: bool = False,
) -> EventSearch:
    """Every candidate event of one case, counted by a reading of outputs of its two inputs."""
    references = []
    marks: set[float] = set()
    for name, x, samples in (("D1", case.x, first), ("D2", case.x2, second)):
        reference = laboratory.reference(case, x, samples)
        if reference is not None:
            references.append((name, reference))
        for value in (*(reference or ()), *leaves_of(x)):
            if isinstance(value, (int, float)) and math.isfinite(value):
                marks.add(float(value))
    return select_from(reading, references, sorted(marks)[:24], thorough)


def search(
    laboratory: Laboratory,
    cases: Sequence[InputCase],
    epsilon: float | None,
    runs: int,
    most: int = MOST_FINALISTS,
    worth: float | None = None,
    thorough: bool = False,
) -> tuple[list[tuple[InputCase, EventSearch]], int]:
    """The most promising cases with all their candidates counted, and how many were tried.

    Up to `most` cases: fewer where some candidate of the best ones is clear, or, with `worth`, only
    those that promise this share of the best. `thorough`: by all the events that there are.
    """
    tried = 0
    small = first_look(runs)
    if len(cases) > FINALISTS:
        ranked: list[tuple[float, int]] = []
        best: ChosenEvent | None = None
        laboratory.prepare(cases, small)
        for i, case in enumerate(cases):
            laboratory.report(f"selecting events, pair {i + 1} of {len(cases)}")
            counted = count_candidates(laboratory, case, small, thorough)
            tried += counted.size
            choice = counted.best(epsilon, _FIRST_CAUTION)
            ranked.append((choice.score if choice else -math.inf, i))
            if choice is not None and (best is None or choice.score > best.score):
                best = choice
        ranked.sort(key=lambda entry: (-entry[0], entry[1]))
        if worth is not None:
            kept = sum(score >= worth * ranked[0][0] for score, _ in ranked) or 1
        else:
            clear = best is not None and is_clear(best, epsilon, CAUTION)
            kept = FINALISTS if clear else most
        cases = [cases[i] for _, i in ranked[: min(kept, most)]]
    finalists: list[tuple[InputCase, EventSearch]] = []
    for some in (cases[:FINALISTS], cases[FINALISTS:]):
        laboratory.prepare(some, runs)
        for case in some:
            counted = count_candidates(laboratory, case, runs, thorough)
            tried += counted.size
            finalists.append((case, counted))
        found = choose(finalists, epsilon) if worth is None else None
        if found is not None and is_clear(found.choice, epsilon, _BEYOND_LUCK):
            break
    return finalists, tried


def first_look(runs: int) -> int:
    """How many runs a side every pair gets, where only the best get `runs`."""
    return min(runs, max(1000, runs // _FIRST_SHARE))


def is_clear(choice: ChosenEvent, epsilon: float | None, sigmas: float) -> bool:
    """Is a candidate so good that luck among many can't be what made it?

    Against a claim it is enough that it refutes it; without one, that it is known well.
    """
    sure = float(promise(choice.k1, choice.k2, sigmas))
    return sure > (_CLEAR_SHARE * choice.score if epsilon is None else epsilon)


def choose(
    finalists: Sequence[tuple[InputCase, EventSearch]],
    epsilon: float | None,
    caution: float = CAUTION,
    tolerance: float = TOLERANCE,
) -> DetectedEvent | None:
    """The candidate to test: the one that promises the largest ε.

    Where some candidate can refute the claim, this one does too. The least p-value at the claim,
    the paper's criterion, would favour luck among the many candidates close to it.
    """
    best: DetectedEvent | None = None
    for case, counted in finalists:
        choice = counted.best(epsilon, caution, tolerance)
        if choice is not None and (best is None or choice.score > best.choice.score):
            best = oriented(case, choice)
    return best


class SecondLook:
    """Counts the most promising candidates again, on samples that chose none of them.

    Some of 10^5 candidates look good by luck: what they promise there is theirs.
    """

    def __init__(
        self, laboratory: Laboratory, finalists: Sequence[tuple[InputCase, EventSearch]], runs: int
    ) -> None:
        self.laboratory, self.finalists, self.runs = laboratory, finalists, runs
        self._counts: dict[tuple[int, Event], tuple[int, int]] = {}
        self._samples: dict[int, tuple[Grouped, Grouped]] = {}

    def _count(self, number: int, event: Event) -> tuple[int, int]:
        key = (number, event)
        if key not in self._counts:
            if number not in self._samples:
                case, draw = self.finalists[number][0], self.laboratory.second_samples
                first, second = (draw(case, x, self.runs) for x in (case.x, case.x2))
                self._samples[number] = (Grouped.of(first), Grouped.of(second))
            one, two = self._samples[number]
            self._counts[key] = (event.count(one), event.count(two))
        return self._counts[key]

    def choose(
        self, epsilon: float | None, caution: float = CAUTION, refute: bool = False
    ) -> DetectedEvent | None:
        """As `choose`, by the second counts.

        To `refute` a claim, the candidate that stands furthest above it in sigmas goes before one
        that promises more and shows it less surely.
        """
        found = self.counted_again(epsilon, caution)
        if not found:
            return None
        if refute and epsilon is not None:
            number, best = max(found, key=lambda e: float(sigmas_above(e[1].k1, e[1].k2, epsilon)))
            if sigmas_above(best.k1, best.k2, epsilon) > _LIKELY_REFUTED:
                return oriented(self.finalists[number][0], best)
        top = max(choice.score for _, choice in found)
        close = [entry for entry in found if entry[1].score >= top - TOLERANCE * abs(top)]
        best = simplest([choice for _, choice in close])
        number = next(n for n, choice in close if choice is best)
        return oriented(self.finalists[number][0], best)

    def counted_again(
        self, epsilon: float | None, caution: float, second_caution: float = _SECOND_CAUTION
    ) -> list[tuple[int, ChosenEvent]]:
        """The most promising candidates with their second counts, those that are frequent enough.

        Each with the number of its case; the score is what it promises by the second counts.
        """
        return self._again(
            lambda counted: counted.promising(epsilon, caution, _LOOKED_AT), epsilon, second_caution
        )

    def surest_again(self, epsilon: float) -> list[tuple[int, ChosenEvent]]:
        """As `counted_again`, of the candidates that stand furthest above `epsilon` in sigmas."""
        return self._again(
            lambda counted: counted.surest(epsilon, _LOOKED_AT), epsilon, _SECOND_CAUTION
        )

    def _again(
        self,
        chosen: Callable[[EventSearch], list[ChosenEvent]],
        epsilon: float | None,
        second_caution: float,
    ) -> list[tuple[int, ChosenEvent]]:
        candidates = [
            (choice.score, number, choice)
            for number, (_, counted) in enumerate(self.finalists)
            for choice in chosen(counted)
        ]
        candidates.sort(key=lambda entry: -entry[0])
        found: list[tuple[int, ChosenEvent]] = []
        for _, number, choice in candidates[:_LOOKED_AT]:
            large, small = self._count(number, choice.event)
            if choice.swapped:
                large, small = small, large
            if large + small >= rare_limit(self.runs, epsilon or 0.0):
                score = float(promise(large, small, second_caution))
                again = replace(choice, k1=large, k2=small, score=score, runs=self.runs)
                found.append((number, again))
        return found


def oriented(case: InputCase, choice: ChosenEvent) -> DetectedEvent:
    """The choice with its larger side first."""
    if choice.swapped:
        case = InputCase(case.x2, case.x, case.arguments, case.pattern)
        choice = replace(choice, event=choice.event.turned())
    return DetectedEvent(case, choice)


def fresh_counts(
    laboratory: Laboratory, case: InputCase, events: Sequence[Event], runs: int, seed: int
) -> list[tuple[int, int, int, int]]:
    """c1, n1, c2, n2 of each event on new samples: how often it happened, of how many runs.

    A fair coin picks the input of each of the 2·`runs` runs. They are drawn and forgotten in
    parts, so that memory doesn't limit their number.
    """
    n1 = int(np.random.default_rng(named_seed(seed, "coin")).binomial(2 * runs, 0.5))
    sizes = (n1, 2 * runs - n1)
    sampler = laboratory.sampler(case)
    counts = np.zeros((len(events), 2), dtype=np.int64)
    for part in range(max(1, -(-max(sizes) // _PART))):
        draws = [
            (side, (x, min(_PART, size - part * _PART), named_seed(seed, name, part)))
            for side, (x, size, name) in enumerate(
                zip((case.x, case.x2), sizes, ("first", "second"), strict=True)
            )
            if size > part * _PART
        ]
        found = laboratory.draw_all(sampler, [draw for _, draw in draws])
        for (side, _), samples in zip(draws, found, strict=True):
            together = Grouped.of(samples)
            counts[:, side] += [event.count(together) for event in events]
    return [(int(c1), sizes[0], int(c2), sizes[1]) for c1, c2 in counts]


@dataclass(frozen=True)
class Detection:
    """The outcome of one complete detection. `violated` is None without a claim."""

    epsilon: float | None
    alpha: float
    counterexample: Counterexample | None
    candidates: int
    cases: int
    runs: int
    seconds: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> float:
        """A lower bound on ε, never below 0."""
        return max(0.0, self.counterexample.bound) if self.counterexample else 0.0

    @property
    def violated(self) -> bool | None:
        if self.epsilon is None:
            return None
        return self.counterexample is not None and self.counterexample.bound > self.epsilon

    @property
    def p_value(self) -> float:
        """Of the exact test at the claim; 1 if there was nothing to test."""
        found = self.counterexample
        return found.p_values.exact if found and found.p_values else 1.0

    def evidence(self) -> Evidence:
        found = self.counterexample
        witness = Witness()
        if found is not None:
            witness = Witness(
                found.x,
                found.x2,
                found.event.words,
                found.c1 / max(found.n1, 1),
                found.c2 / max(found.n2, 1),
                replay=found.replay,
                details={"arguments": dict(found.arguments), "pattern": found.pattern},
            )
        notes = list(self.notes)
        if found is not None:
            notes.insert(0, found.counts)
        if found is not None and found.arguments:
            chosen = ", ".join(f"{key} = {value}" for key, value in found.arguments.items())
            notes.insert(0, f"arguments that StatDP chose: {chosen}")
        if found is not None and found.c1 and not found.c2:
            notes.append(
                "the event never happened on the second input; whether ε is infinite is for the "
                "exact engine to decide (dpest exact on this pair)"
            )
        details: dict[str, Any] = {"candidates": self.candidates, "cases": self.cases}
        if found is not None:
            details["counterexample"] = found.to_dict()
        return Evidence(
            "lower",
            self.bound,
            confidence(self.alpha),
            "statdp",
            witness,
            self.runs,
            self.seconds,
            self.seed,
            notes=tuple(notes),
            details=details,
        )


def detect(
    target: Any,
    cases: Sequence[InputCase],
    epsilon: float | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
    selection_runs: int = SELECTION_RUNS,
    test_runs: int = TEST_RUNS,
    seed: int = 0,
    thinnings: int = 10,
    progress: Report | None = None,
    run_all: Callable[..., list[Samples]] | None = None,
) -> Detection:
    """Search all cases for the event that tells most, and test it once on fresh samples.

    `run_all` draws in other processes: `Runner.batches`.

    Assumes independent runs. Guarantees, whatever the search did: if the mechanism is
    `epsilon`-DP on the cases, `violated` is true with probability at most `alpha`; and `bound`
    exceeds the true ε with probability at most `alpha`.
    """
    if not cases:
        raise InputError("StatDP needs at least one pair of inputs")
    started = time.perf_counter()
    laboratory = Laboratory(target, params, seed, progress, run_all)
    finalists, tried = search(laboratory, cases, epsilon, selection_runs)
    found = choose(finalists, epsilon)
    if found is not None and not is_clear(found.choice, epsilon, _BEYOND_LUCK):
        laboratory.report("looking again at what may be luck")
        found = SecondLook(laboratory, finalists, selection_runs).choose(epsilon, refute=True)
    example = None
    notes: tuple[str, ...] = ()
    if found is None:
        notes = (_nothing(finalists),)
    else:
        laboratory.report("testing the chosen event on fresh samples")
        ((c1, n1, c2, n2),) = fresh_counts(
            laboratory, found.case, [found.choice.event], test_runs, named_seed(seed, "test")
        )
        p_values = None
        if epsilon is not None and n1 and n2:
            rng = np.random.default_rng(named_seed(seed, "thinning"))
            p_values = hypothesis_test(c1, n1, c2, n2, epsilon, rng, thinnings)
        example = describe(laboratory, found, (c1, n1, c2, n2), alpha, p_values)
    return Detection(
        epsilon,
        alpha,
        example,
        tried,
        len(cases),
        laboratory.runs,
        time.perf_counter() - started,
        seed,
        notes + laboratory.notes(),
    )


def _nothing(finalists: Sequence[tuple[InputCase, EventSearch]]) -> str:
    """Why there was no event to test."""
    if any(counted.blocks for _, counted in finalists):
        return "no event was frequent enough to be tested"
    return (
        "no two outputs could be told apart: all are alike, or of a type that is not looked into "
        "(numbers, strings, None, and lists, tuples, sets, dictionaries and arrays of them are)"
    )


def describe(
    laboratory: Laboratory,
    found: DetectedEvent,
    counts: tuple[int, int, int, int],
    alpha: float,
    p_values: Any,
) -> Counterexample:
    c1, n1, c2, n2 = counts
    case, event = found.case, found.choice.event
    code = ""
    mechanism = laboratory.mechanism
    if mechanism is not None:
        code = replay_code(
            mechanism.function,
            case.x,
            case.x2,
            {**mechanism.params, **case.arguments},
            event.source,
            # Enough for some hundred hits on the likelier side, within seconds.
            int(min(200_000, max(10_000, 300 * n1 / max(c1, 1)))),
            not mechanism.black_box,
        )
    return Counterexample(
        case.x,
        case.x2,
        case.arguments,
        event,
        c1,
        n1,
        c2,
        n2,
        coin_label_bound(c1, c2, alpha),
        alpha,
        p_values,
        case.pattern,
        code,
    )
