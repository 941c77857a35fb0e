"""The demonstration of a violation: the pair and the event that take the fewest runs."""

from __future__ import annotations

import functools
import math

from dpest.ask.patterns import change_points
from dpest.attacks.demonstration.choosing import demonstrate
from dpest.attacks.demonstration.weighing import Likelihoods
from dpest.campaign.findings import Findings
from dpest.campaign.samplers import run_all_of
from dpest.campaign.scouting import Scout
from dpest.errors import DpestError
from dpest.evidence import Demonstration
from dpest.exact.engine import PairObjective
from dpest.running.watchdog import Deadline, TimeUp, ending_within, watched

# Seconds of computing, and pairs that are tried.
SECONDS, PAIRS = 40.0, 24
# Seconds that it has in any case, where the audit was given some and has used them.
MOMENT = 0.5


class Demonstrator:
    """Looks for the demonstration when somebody asks for it, once."""

    def __init__(self, findings: Findings, scout: Scout) -> None:
        self.findings, self.scout = findings, scout

    def __call__(self) -> Demonstration | None:
        return self.demonstration

    @functools.cached_property
    def demonstration(self) -> Demonstration | None:
        """Which pair and event refute the claim with the fewest runs."""
        findings, question = self.findings, self.findings.question
        if question.limit is None or question.measure.kind != "epsilon":
            return None
        lower = findings.verdict().lower
        witness = [] if lower is None else [(lower.witness.x, lower.witness.x2)]
        further = change_points(question.adjacency, question.domain, question.length)
        found: Demonstration | None = None
        left = findings.seconds_left()
        promised = math.inf if left is None else max(left, MOMENT)
        try:
            with ending_within(promised), watched(Deadline(SECONDS)):
                found = demonstrate(
                    question.mechanism,
                    [
                        *(p for p in witness if p[0] is not None),
                        *self.scout.pairs()[:PAIRS],
                        *((x, x2) for _, x, x2 in further),
                    ],
                    question.limit,
                    question.measure.delta,
                    seed=findings.settings.seed,
                    run_all=run_all_of(findings),
                    likelihoods=self._likelihoods(),
                )
        except (DpestError, TimeUp):
            pass  # the bounds stand without it; the time may be up as soon as it was found
        return found

    def _likelihoods(self) -> Likelihoods | None:
        """How likely outputs are on two inputs, where the code is read."""
        findings = self.findings
        if findings.question.mechanism.black_box or "exact" not in findings.engines:
            return None
        return PairObjective(findings.question.mechanism).densities
