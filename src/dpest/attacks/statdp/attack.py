"""StatDP as an attack: a mechanism in, a lower bound with its counterexample out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpest.attacks.budget import Budget, Report
from dpest.attacks.statdp.curve import p_value_curve
from dpest.attacks.statdp.detection import (
    FINALISTS,
    MOST_FINALISTS,
    SELECTION_RUNS,
    TEST_RUNS,
    Detection,
    detect,
    first_look,
)
from dpest.attacks.statdp.inputs import generate_cases
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.errors import InputError
from dpest.evidence import Evidence
from dpest.running.samples import Samples

# Shares of a budget: the test gets this much of the runs, the search the rest.
_TEST_SHARE = 0.6
_CURVE_RUNS = 100_000
_CURVE_POINTS = 12


def statdp_attack(
    target: Any,
    x: Any = None,
    x2: Any = None,
    *,
    cases: Sequence[InputCase] | None = None,
    adjacency: Any = None,
    domain: Any = None,
    length: int | Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    epsilon: float | None = None,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    selection_runs: int = SELECTION_RUNS,
    test_runs: int = TEST_RUNS,
    seed: int = 0,
    progress: Report | None = None,
    run_all: Callable[..., list[Samples]] | None = None,
    lengths: Sequence[int] = (),
    patterns: Sequence[str] = (),
    curve: bool = False,
) -> Evidence:
    """A lower bound on ε from the event that tells two inputs apart best.

    `target` is a mechanism or a sampler. The pair is given, or the literature's patterns under
    `adjacency` and `domain` are tried at every `length`. `free` names parameters that StatDP may
    choose: those of the noise get their least noise, the others a value that sends the two inputs
    down different branches. A required parameter that nobody gave is free too. `run_all` draws in
    other processes: `Runner.batches`.

    `lengths` are tried in the place of `length`; `patterns` leaves out all pairs but those of
    these names. With `curve` the details hold the paper's figure: p-values against the tested ε.

    Guarantees that the value exceeds the true ε, over the pairs and arguments tried, with
    probability at most `alpha`. Interrupted with Ctrl-C before the test, the bound is 0.
    """
    if lengths:
        length = tuple(lengths)
    if cases is None and (patterns or curve):
        found = generate_cases(
            target,
            x,
            x2,
            adjacency=adjacency,
            domain=domain,
            length=length,
            params=params,
            free=free,
        )
        cases = _named(found, patterns)
    evidence = statdp_detection(
        target,
        x,
        x2,
        cases=cases,
        adjacency=adjacency,
        domain=domain,
        length=length,
        params=params,
        free=free,
        epsilon=epsilon,
        alpha=alpha,
        budget=budget,
        selection_runs=selection_runs,
        test_runs=test_runs,
        seed=seed,
        progress=progress,
        run_all=run_all,
    ).evidence()
    if not curve or cases is None:
        return evidence
    drawn = p_value_curve(
        target,
        cases,
        _grid(epsilon, evidence.value),
        claim=epsilon,
        params=params,
        selection_runs=min(selection_runs, _CURVE_RUNS),
        test_runs=min(test_runs, _CURVE_RUNS),
        most_runs=_CURVE_RUNS,
        seed=seed,
        run_all=run_all,
    )
    found_curve = {"claim": epsilon, "rises": drawn.rise(), "points": drawn.rows()}
    return evidence.with_(details={**evidence.details, "curve": found_curve})


def _named(cases: Sequence[InputCase], patterns: Sequence[str]) -> list[InputCase]:
    """The cases of the patterns asked for."""
    known = list(dict.fromkeys(case.pattern for case in cases))
    unknown = [name for name in patterns if name not in known]
    if unknown:
        raise InputError(f"no pattern {unknown[0]!r} here; there are: {', '.join(known)}")
    return [case for case in cases if not patterns or case.pattern in patterns]


def _grid(claim: float | None, bound: float) -> list[float]:
    """ε's to test: around the claim and the bound, twelve of them."""
    top = 1.6 * max(claim or 0.0, bound if math.isfinite(bound) else 0.0, 0.05)
    return [top * (i + 1) / _CURVE_POINTS for i in range(_CURVE_POINTS)]


def statdp_detection(
    target: Any,
    x: Any = None,
    x2: Any = None,
    *,
    cases: Sequence[InputCase] | None = None,
    adjacency: Any = None,
    domain: Any = None,
    length: int | Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    epsilon: float | None = None,
    alpha: float = 0.05,
    budget: Budget | int | str | None = None,
    selection_runs: int = SELECTION_RUNS,
    test_runs: int = TEST_RUNS,
    seed: int = 0,
    progress: Report | None = None,
    run_all: Callable[..., list[Samples]] | None = None,
) -> Detection:
    """As `statdp_attack`, with the counterexample as an object."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha is an error probability in (0, 1), got {alpha=}")
    started = time.perf_counter()
    try:
        if cases is None:
            cases = generate_cases(
                target,
                x,
                x2,
                adjacency=adjacency,
                domain=domain,
                length=length,
                params=params,
                free=free,
            )
        limit = Budget.of(budget)
        if limit.runs is not None or limit.seconds is not None:
            selection_runs, test_runs = spread(target, params, cases, limit, seed)
        return detect(
            target,
            cases,
            epsilon,
            params=params,
            alpha=alpha,
            selection_runs=selection_runs,
            test_runs=test_runs,
            seed=seed,
            progress=progress,
            run_all=run_all,
        )
    except KeyboardInterrupt:
        notes = ("interrupted before the test: no bound above 0 is established",)
        seconds = time.perf_counter() - started
        return Detection(epsilon, alpha, None, 0, len(cases or ()), 0, seconds, seed, notes)


def spread(
    target: Any,
    params: Mapping[str, Any] | None,
    cases: Sequence[InputCase],
    limit: Budget,
    seed: int,
) -> tuple[int, int]:
    """Runs a side for selection and test, so that all of them fit the budget."""
    total = limit.runs
    if limit.seconds is not None:
        probe, case = 2000, cases[0]
        started = time.perf_counter()
        Laboratory(target, params, seed).draw(case, case.x, probe, seed)
        rate = probe / max(time.perf_counter() - started, 1e-4)
        # Small draws are slow per run: the estimate errs on the safe side. Counting costs as
        # much again as drawing.
        affordable = int(0.5 * rate * limit.seconds)
        total = affordable if total is None else min(total, affordable)
    assert total is not None
    test = max(1, int(total * _TEST_SHARE / 2))
    sides = len({repr((sorted(c.arguments.items()), x)) for c in cases for x in (c.x, c.x2)})
    several = min(2 * MOST_FINALISTS, sides)

    def cost(runs: int) -> int:
        """All pairs are looked at, the best with more runs, and some of these again."""
        first = first_look(runs) if len(cases) > FINALISTS else runs
        return sides * first + several * runs * (2 if first < runs else 1)

    low, high = 1, max(2, min(total, SELECTION_RUNS) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= total - 2 * test else (low, middle)
    return low, test
