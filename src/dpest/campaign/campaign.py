"""The order of an audit: proofs and exact values first, runs for what they leave open.

Proof and exact engines take milliseconds. What was not done, and why, goes into the notes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dpest.ask.domains import ANY
from dpest.ask.questions import Question
from dpest.attacks.methods import SEARCH_SHARE
from dpest.campaign.demonstrating import Demonstrator
from dpest.campaign.doubles import add_doubles
from dpest.campaign.findings import Findings
from dpest.campaign.first_look import look_first, look_last, stop_at_state
from dpest.campaign.pair_values import PairValues
from dpest.campaign.picturing import pictures_of
from dpest.campaign.proving import Prover
from dpest.campaign.rays import follow_rays, trust_every_length
from dpest.campaign.sampling import by_steps, recorded, statistical
from dpest.campaign.scouting import Scout
from dpest.campaign.searching import PairSearch
from dpest.campaign.settings import Settings
from dpest.errors import DependentRunsError
from dpest.evidence import Measure
from dpest.running.places import described_code
from dpest.running.watchdog import Deadline, TimeUp, ending_within, patient, watched
from dpest.verdict import Verdict

T = TypeVar("T")

# Seconds that each step has, however few are left: most have nothing to do.
_MOMENT = 0.25
# Runs look at the clock between portions: an answer is on its way when the seconds are over.
_GRACE = 0.5
# From this length on the proof for every length is asked for a lower bound before any pair is.
LONG = 100


class Campaign:
    """One audit: its findings, and the engines that add to them."""

    def __init__(self, question: Question, settings: Settings | None = None) -> None:
        self.findings = Findings(question, settings or Settings())
        self.scout = Scout(self.findings)
        self.prover = Prover(self.findings)
        self.values = PairValues(self.findings)
        self.search = PairSearch(self.findings, self.values, self.scout)
        self.demonstrator = Demonstrator(self.findings, self.scout)
        self.findings.present = self._with_pictures

    def _with_pictures(self, verdict: Verdict) -> Verdict:
        pictures = functools.partial(pictures_of, self.findings, self.demonstrator)
        return replace(verdict, picturing=pictures, demonstrating=self.demonstrator)

    def run(self) -> Verdict:
        """All steps; an interrupt ends them with what was established so far."""
        findings = self.findings
        with patient(findings.settings.patience):
            look_first(findings)
            findings.details["code"] = described_code(findings.question.mechanism.function)
            try:
                # Who gave seconds gave them to all: proofs and values leave the runs their part.
                runs = "attack" in findings.engines
                if not self._in_time(self._prove_or_compute, 1 - SEARCH_SHARE if runs else 1.0):
                    self._in_time(self._run_code, 1.0, _GRACE)
                self._in_time(lambda: add_doubles(findings, self.scout), 1.0)
            except DependentRunsError as found:
                stop_at_state(findings, found)
            except KeyboardInterrupt:
                findings.details["interrupted"] = True
                findings.notes.append(
                    "interrupted: the bounds are valid, the search is not complete"
                )
            look_last(findings)
            return findings.verdict()

    @property
    def _pure(self) -> bool:
        return self.findings.question.measure == Measure()

    def _in_time(self, step: Callable[[], T], share: float, late: float = 0.0) -> T | None:
        """A step within a share of what is left of the seconds that were given.

        None where it was ended, `late` seconds after; what it had established stays.
        """
        left = self.findings.seconds_left()
        if left is None:
            return step()
        try:
            with ending_within(share * max(left, _MOMENT) + late), watched(Deadline(math.inf)):
                return step()
        except TimeUp:
            note = "the seconds that were given ended a search that more of them would go on with"
            if note not in self.findings.notes:
                self.findings.notes.append(note)
            return None

    def _prove_or_compute(self) -> bool:
        """Whether a look refuted the claim, so that nothing is left to run."""
        if self._prove_or_refute():
            return True
        self._compute()
        return False

    def _prove_or_refute(self) -> bool:
        """Upper bounds for every length; True where a look refuted the claim before long proofs."""
        findings, prover = self.findings, self.prover
        if findings.by_records_alone:
            prover.prove_by_contributions()
        if "proof" not in findings.engines:
            return False
        if not self._pure:
            prover.prove_by_contributions()
            if self._refuted_by_a_look():
                return True
        if not findings.claim_proved():
            prover.prove(ANY)
        if self._pure and findings.verdict().upper is None:
            prover.prove_by_contributions()
        return False

    def _refuted_by_a_look(self) -> bool:
        """Whether a look at pairs, or at steps, refutes a claim with a δ."""
        findings = self.findings
        if findings.claim_proved() or not findings.question.measure.delta:
            return False
        if "exact" in findings.engines:
            self.search.look()
        if "attack" in findings.engines and findings.verdict().lower is None:
            findings.tell("runs, step by step")
            findings.evidence += by_steps(findings)
        return findings.claim_refuted()

    def _compute(self) -> None:
        """Exact lower bounds, and the proofs for one length that show where to look for them."""
        findings = self.findings
        proof, exact = "proof" in findings.engines, "exact" in findings.engines
        if exact and proof and not findings.settled() and findings.question.length >= LONG:
            trust_every_length(findings)
        if exact and not findings.settled() and all(p.ray is None for p in findings.proofs):
            # Without a bound for every length the first patterns may show at once that ε is
            # infinite; with one that has no ray, that it is reached.
            self.search.look()
        if proof and not findings.settled() and (self._pure or not findings.claim_proved()):
            # Within a pure claim it still gives the ray along which its bound is approached.
            self.prover.prove(findings.question.length)
        if exact and not findings.settled():
            follow_rays(findings, self.values)
        if not findings.settled():
            self.scout.choose_length()
        if exact:
            self.search.search()
            if not findings.settled() or findings.for_one_length:
                self.search.search_lengths()
        if exact and proof and not findings.settled():
            trust_every_length(findings)

    def _run_code(self) -> None:
        """Statistical lower bounds, where running the code could still change the answer."""
        findings, question = self.findings, self.findings.question
        if "attack" not in findings.engines:
            return
        unread = question.mechanism.black_box and findings.verdict().upper is None
        if unread or findings.lower_is_open():
            # The grey box, for code that can only be run: a finding, on which no verdict rests.
            findings.tell("recording the noise")
            findings.evidence += recorded(findings, self.scout)
        if findings.lower_is_open():
            findings.tell("sampling")
            findings.evidence += statistical(findings, self.scout)
