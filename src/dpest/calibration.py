"""The least noise at which a claim still holds, so that nobody loses accuracy to caution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.questions import Question, resolve
from dpest.campaign.campaign import Campaign
from dpest.campaign.settings import Settings
from dpest.errors import DpestError, InputError, RefusedError
from dpest.evidence import Evidence
from dpest.running.samples import Samples

DIGITS = 6
_STEPS = 60
ERROR_RUNS = 20_000


@dataclass(frozen=True)
class Calibration:
    """The parameter's value with the least noise, the bound that holds there, and the error.

    `error` describes the output at this value on one input, as an estimate from runs: the root
    mean square and mean absolute distance to the noise-free output where outputs are numbers, or
    how often the output differs from it where they aren't.
    """

    parameter: str
    value: float
    limit: float
    bound: Evidence
    error: Mapping[str, float]
    input: Any
    notes: tuple[str, ...] = ()


def calibrate(
    target: Callable[..., Any] | Mechanism,
    *,
    epsilon: float,
    param: str,
    delta: float | None = None,
    length: int | None = None,
    seed: int = 0,
    **question: Any,
) -> Calibration:
    """Find the least-noise value of `param` at which ε ≤ `epsilon` is proved or holds exactly.

    With `delta`: at which (ε, δ)-DP is.

    The bound must move in one direction with the parameter. The value is rounded towards more
    noise, and the bound is established at the rounded value itself.
    """
    question = {**question, "delta": delta}
    start = resolve(target, epsilon=epsilon, length=length, **question)
    params = start.mechanism.all_params
    if param not in params:
        known = ", ".join(params) or "none"
        raise InputError(f"{start.mechanism.name} has no parameter {param!r}; it takes: {known}")
    first = params[param]
    if isinstance(first, bool) or not isinstance(first, (int, float)) or first <= 0:
        raise InputError(f"{param} must be a positive number to be calibrated; it is {first!r}")

    def bound(value: float) -> Evidence | None:
        asked = resolve(
            start.mechanism.with_params({param: value}), epsilon=epsilon, length=length, **question
        )
        return upper_bound(asked, seed)

    value, evidence = least_noise(bound, float(first), epsilon, param)
    mechanism = start.mechanism.with_params({param: value})
    x = central_input(start)
    return Calibration(
        param, value, epsilon, evidence, error_of(mechanism, x, seed), x, start.notes
    )


def upper_bound(question: Question, seed: int) -> Evidence | None:
    """A proved bound, or an exact one over a finite domain; no runs."""
    campaign = Campaign(question, Settings(seed=seed, engines=("proof",)))
    if question.measure.delta:
        campaign.prover.prove_by_contributions()
        proved = campaign.findings.verdict().upper
        if proved is not None:
            return proved
    verdict = campaign.run()
    if verdict.upper is None and question.domain.size is not None:
        campaign = Campaign(question, Settings(seed=seed, engines=("exact",)))
        verdict = campaign.run()
    return verdict.upper


def least_noise(
    bound: Callable[[float], Evidence | None], start: float, limit: float, param: str
) -> tuple[float, Evidence]:
    """Bracket and bisect; both ends of the bracket are values whose bounds were established."""

    def level(value: float) -> float:
        evidence = bound(value)
        return math.inf if evidence is None else evidence.value

    here, there = level(start), level(2 * start)
    if not math.isfinite(here) and not math.isfinite(there):
        raise RefusedError(f"no upper bound on ε is known at {param} = {start:g} or {2 * start:g}")
    if here == there:
        raise RefusedError(f"ε doesn't depend on {param} ({here:g} at {start:g} and {2 * start:g})")
    factor = 0.5 if there > here else 2.0  # towards more noise
    private = start
    for _ in range(_STEPS):
        if level(private) <= limit:
            break
        private *= factor
    else:
        raise RefusedError(f"no value of {param} was found at which ε ≤ {limit:g} holds")
    loose = private
    for _ in range(_STEPS):
        if level(loose) > limit:
            break
        private = loose
        loose /= factor
    else:
        raise RefusedError(f"ε ≤ {limit:g} holds at every value of {param} that was tried")
    while abs(loose - private) > 10.0 ** (-DIGITS - 1) * abs(private):
        middle = math.sqrt(loose * private)
        if level(middle) <= limit:
            private = middle
        else:
            loose = middle
    return settle(bound, private, loose, limit)


def settle(
    bound: Callable[[float], Evidence | None], private: float, loose: float, limit: float
) -> tuple[float, Evidence]:
    """The nearest short number at which the bound still holds."""
    places = DIGITS - 1 - math.floor(math.log10(abs(private)))
    short = round(private, places)
    step = 10.0 ** (-places) * (1 if private > loose else -1)
    for value in (short, short + step, private):
        evidence = bound(value)
        if evidence is not None and evidence.value <= limit * (1 + 1e-12):
            return value, evidence
    raise RefusedError(f"the bound at {private:g} could not be established again")


def central_input(question: Question) -> Any:
    """A plain input to measure the error on."""
    from dpest.ask.patterns import patterns

    found = patterns(question.adjacency, question.domain, question.length)
    if found:
        return found[0][1]
    return question.domain.random(np.random.default_rng(0), question.length)


def error_of(mechanism: Mechanism, x: Any, seed: int) -> Mapping[str, float]:
    from dpest.reading.trace import noise_free
    from dpest.running.batch.batch import batch

    samples = batch(mechanism, x, ERROR_RUNS, seed)
    try:
        truth = noise_free(mechanism, x)
    except DpestError:
        return {}
    return distance(samples, truth)


def distance(samples: Samples, truth: Any) -> Mapping[str, float]:
    """How far outputs lie from the noise-free one."""
    exact = Samples.from_outputs([truth])
    group = exact.groups[0]
    same = [g for g in samples.groups if g.skeleton == group.skeleton]
    numeric = all(kind in ("int", "float") for kind in group.kinds) and group.kinds
    if numeric and same and len(same[0].rows) == samples.size:
        differences = np.stack(
            [
                column.astype(float) - float(true[0])
                for column, true in zip(same[0].columns, group.columns, strict=True)
            ]
        )
        return {
            "root_mean_square": float(np.sqrt(np.mean(differences**2))),
            "mean_absolute": float(np.mean(np.abs(differences))),
        }
    equal = 0
    for g in same:
        match = np.ones(len(g.rows), dtype=bool)
        for column, true in zip(g.columns, group.columns, strict=True):
            match &= column == true[0]
        equal += int(match.sum())
    return {"differs": 1 - equal / samples.size}
