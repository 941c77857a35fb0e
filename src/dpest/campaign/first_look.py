"""A few plain runs before anything else: what fails, keeps state, or must be run as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpest.ask.declaration import data_first
from dpest.ask.entries import short
from dpest.ask.input_form import check_call
from dpest.ask.patterns import patterns
from dpest.campaign.findings import Findings
from dpest.errors import DependentRunsError, DpestError, InputError
from dpest.reading.machine.exploring.explorer import Limits
from dpest.reading.machine.signals import KeepsState, Refused
from dpest.reading.paths_of_code import refusal_at
from dpest.running.first_look import inputs_of, look
from dpest.running.memory import changed, memory
from dpest.running.seeding import seeded_when_loaded

_LIMITS = Limits(paths=256, seconds=1.0, instructions=500_000)


def look_first(findings: Findings) -> None:
    """A few plain runs: nothing is audited that doesn't run, or that remembers the last run.

    Raises InputError (or OpaqueError) where there is nothing to audit.
    """
    question = findings.question
    findings.memory = memory(question.mechanism.function)
    check_call(question.mechanism, question.unit)
    if seeds := seeded_when_loaded(question.mechanism.function):
        findings.details["seeded"] = list(seeds)
    try:
        known = patterns(question.adjacency, question.domain, question.length)
    except DpestError:
        return
    found = look(question.mechanism, inputs_of([(x, x2) for _, x, x2 in known]))
    name = question.mechanism.name
    if found.always_raises:
        raise InputError(
            f"{name} raises {found.error} on every input that was tried: say with a domain "
            f"and a length what it takes (now: {question.domain.describe()})"
        )
    if found.opaque is not None:
        raise found.opaque
    if found.raises_on:
        findings.details["raises"] = [
            f"{error} on {short(x)}" for error, x in found.raises_on.items()
        ]
    refusal = _refusal(findings, known[0][1]) if known else None
    if found.state:
        stop_at_state(findings, DependentRunsError(name, found.state))
    elif isinstance(refusal, KeepsState):
        findings.notes.append(
            f"{refusal.where}: {refusal.reason}, a change that outlives the call; no trial call "
            "made it, and every block of runs is watched for it"
        )
    _look_at_types(findings, found.types, refusal)


def look_last(findings: Findings) -> None:
    """Whether any call of the whole audit left a trace in what outlives it."""
    mechanism = findings.question.mechanism
    if "state" in findings.details:
        return
    if kept := changed(findings.memory, memory(mechanism.function)):
        stop_at_state(findings, DependentRunsError(mechanism.name, kept))


def stop_at_state(findings: Findings, found: DependentRunsError) -> None:
    """Runs depend on each other: no engine has a question to answer, and none has answered it."""
    findings.notes.append(str(found))
    findings.details["state"] = list(found.kept)
    findings.engines = ()
    findings.evidence = []


def _refusal(findings: Findings, x: Any) -> Refused | None:
    """Where the code looks at more than numbers, or at what outlives a call, on some path."""
    mechanism = findings.question.mechanism
    if mechanism.black_box:
        return None
    refusal = refusal_at(mechanism, x, _LIMITS)
    return refusal if refusal is not None and refusal.final else None


def _look_at_types(
    findings: Findings, types: tuple[str, str] | None, refusal: Refused | None
) -> None:
    """Whether runs must be made one by one, as plain calls."""
    mechanism, why = findings.question.mechanism, ""
    if types is not None:
        findings.notes.append(
            f"outputs differ in their types alone ({types[0]} against {types[1]}), which "
            "whoever gets them sees: no exact answer, only runs, and proofs that look at types. "
            "Convert what is returned to one type: float(…), int(…), bool(…) or str(…)"
        )
        findings.by_records_alone = "proof" in findings.engines
        findings.engines = tuple(e for e in findings.engines if e == "attack")
        why = "returns values of several types"
    elif not data_first(mechanism.function):
        why = "takes rng before its data"
    elif refusal is not None:
        why = refusal.reason
    if why:
        about = {**mechanism.about, "plain": why}
        plain = replace(mechanism, about=about)
        findings.question = replace(findings.question, mechanism=plain)
