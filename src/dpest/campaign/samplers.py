"""Where runs of the audited code come from, and how many of them a budget buys."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.attacks.budget import Budget
from dpest.attacks.sampler import MechanismSampler, Sampler
from dpest.campaign.findings import Findings
from dpest.evidence import Evidence

if TYPE_CHECKING:
    from dpest.running.samples import Samples

_TRIAL = 64
LEAST = 400
# A part of the budget is worth its own look where it buys so many times the fewest runs.
_WORTHWHILE = 3
# Runs that refute a claim where the loss is twice as large, and how much longer they may take.
_USEFUL, _PATIENCE = 8_000, 4.0
# Seconds a run, at most, that learning from it and counting it may cost.
_LEARNING = 5e-5


def sampler_of(findings: Findings) -> MechanismSampler:
    """Runs of the question's mechanism, wherever the audit was told to run them."""
    runner = findings.settings.runner
    return MechanismSampler(
        findings.question.mechanism,
        device=findings.settings.device,
        run_all=run_all_of(findings),
        map_blocks=None if runner is None else runner.map_kept,
    )


def run_all_of(findings: Findings) -> Callable[..., list[Samples]] | None:
    """How the audit's workers draw, if it has some."""
    runner = findings.settings.runner
    return runner.batches if runner is not None else None


def attack_budget(findings: Findings, sampler: Sampler, x: Any) -> Budget:
    """The budget of an attack: what was given, or the usual seconds.

    Where these buy only few runs of a slow function, there are up to `_PATIENCE` times as many, and
    twice that where the grey box saw a leak that only runs can show.
    """
    usual, suspicion = findings.budget_left(), 2.0 if findings.leaks_seen() else 1.0
    if findings.settings.given_budget is not None or usual.seconds is None:
        return usual
    started = time.monotonic()
    sampler.draw(x, _TRIAL, 0)
    wanted = suspicion * _USEFUL * (time.monotonic() - started) / _TRIAL
    most = suspicion * _PATIENCE * usual.seconds
    return replace(usual, seconds=min(max(wanted, usual.seconds), most))


def in_runs(sampler: Sampler, x: Any, budget: Budget, share: float = 1.0) -> Budget:
    """A share of the budget; seconds become runs by the speed of a short trial, which they pay.

    No runs: so few fit into the share that the rest had better have them.
    """
    if budget.seconds is None:
        return replace(budget, runs=None if budget.runs is None else int(share * budget.runs))
    began = started = time.monotonic()
    size = _TRIAL
    sampler.draw(x, size, 0)
    spent = time.monotonic() - started
    # Long enough that what each path costs, however few its runs, does not count.
    while spent < min(0.02 * budget.seconds, 0.25) and size < 1 << 18:
        size *= 8
        started = time.monotonic()
        sampler.draw(x, size, 0)
        spent = time.monotonic() - started
    # Learning and counting cost about as much as drawing, where that is quick.
    a_run = max(spent / size, 1e-12)
    seconds = max(share * budget.seconds - (time.monotonic() - began), 0.05)
    if share < 1 and seconds < _WORTHWHILE * LEAST * a_run:
        return Budget(runs=0, seconds=seconds)
    fits = int(seconds / (a_run + min(1.5 * a_run, _LEARNING)))
    if budget.runs is not None:
        fits = min(fits, int(share * budget.runs))
    return Budget(runs=max(fits, LEAST), seconds=seconds)


def left(findings: Findings, budget: Budget, spent: Evidence) -> Budget:
    """What an attack has left of the budget; seconds that were given run by themselves."""
    seconds = findings.seconds_left()
    if seconds is None and budget.seconds is not None:
        seconds = budget.seconds - spent.seconds
    return Budget(
        runs=None if budget.runs is None else max(budget.runs - spent.runs, LEAST),
        seconds=None if seconds is None else max(seconds, 0.1),
    )
