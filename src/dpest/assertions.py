"""Privacy as an assertion: what a test-suite calls."""

from __future__ import annotations

from collections import deque

from dpest.report.text import headline, witness_lines
from dpest.verdict import Verdict


class PrivacyViolation(AssertionError):
    """The claim is refuted. `verdict` has the evidence."""

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message)
        self.verdict = verdict


# The latest verdicts; the pytest plugin takes them from here for its summary.
recent: deque[Verdict] = deque(maxlen=256)


def check(verdict: Verdict) -> Verdict:
    """Return the verdict, or raise PrivacyViolation with the counterexample."""
    recent.append(verdict)
    if verdict.violated or verdict.floating_point_violated:
        raise PrivacyViolation(failure_message(verdict), verdict)
    return verdict


def failure_message(verdict: Verdict) -> str:
    """The counterexample, with the lines that replay it."""
    lines = [headline(verdict)]
    shown = verdict.lower if verdict.violated else verdict.floating_point
    if shown is not None:
        lines += ["", *witness_lines(shown)]
        if shown.witness.replay:
            lines += ["", "replay:", *shown.witness.replay.splitlines()]
    lines += ["", f"adjacency: {verdict.question.adjacency}", f"seed: {verdict.seed}"]
    return "\n".join(lines)
