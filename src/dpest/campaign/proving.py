"""Upper bounds: proofs for every length, for one length, and by what one record adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpest import measures
from dpest.ask.domains import ANY, integers
from dpest.campaign.findings import Findings
from dpest.errors import DpestError
from dpest.evidence import Evidence
from dpest.proofs import INTEGER_DATA, goal_of, prove_goal, theorem_note
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.proof import Proof
from dpest.running.watchdog import Deadline, TimeUp, watched
from dpest.verdict import Obstacle

# Guards, not budgets: what takes longer than this is given up, and the notes say so. They are
# seconds of computing (see `watchdog.Deadline`), times the audit's patience.
PROOF_SECONDS = 15.0
# Proofs for every length take a fraction of a second, or don't come at all.
ANY_SECONDS = 4.0
# Proofs by contributions: reading takes milliseconds, laws of the loss a second or two.
CONTRIBUTION_SECONDS = 20.0
# What stood in the way of a proof, where it is no line of the code.
NO_GENERATOR = Obstacle(
    "", "it takes no generator", "Take a parameter `rng` and draw all noise from it"
)
OUT_OF_TIME = Obstacle(
    "", "the proof took too long", "--patience 10 lets every engine try ten times as long"
)


class Prover:
    """Looks for proofs and adds their bounds; a length that was tried is not tried again."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.tried: set[Any] = set()

    def prove(self, length: Any) -> None:
        """A proof for every length if it is ANY; one for a single length has a ray to follow."""
        findings = self.findings
        if findings.question.mechanism.black_box:
            findings.notes.append(
                "no proof: proofs are of functions that take their generator as a parameter `rng`"
            )
            findings.obstacles["rng"] = NO_GENERATOR
            return
        if length in self.tried:
            return
        self.tried.add(length)
        where = "every length" if length is ANY else f"n = {length}"
        proof = self._attempt(length, where)
        if proof is None:
            return
        findings.proofs.append(proof)
        self.tried.add(proof.length)
        self._narrow_to_integers(proof)
        words = proof.explain() if proof.bound is not None else ""
        if proof.status == "unknown":
            findings.refuse(f"no proof for {where}", str(proof.reason))
        for evidence in proof.evidence(findings.unit_value()):
            if length is not ANY and findings.is_of_one_length(evidence):
                continue
            known = len(findings.evidence)
            self._add(proof, evidence, words or evidence.witness.event)
            if length is not ANY:
                findings.for_one_length += findings.evidence[known:]

    def _attempt(self, length: Any, where: str) -> Proof | None:
        """The proof within its time, or None with the reason in the notes."""
        findings = self.findings
        findings.tell(f"proof for {where}")
        deadline = Deadline(ANY_SECONDS if length is ANY else PROOF_SECONDS)
        try:
            with watched(deadline):
                goal = goal_of(findings.question, length)
                return prove_goal(goal, 0, by_contributions=False)
        except DpestError as reason:
            findings.refuse(f"no proof for {where}", reason)
        except TimeUp:
            findings.notes.append(f"no proof for {where} within {deadline.seconds:.3g} s")
            findings.obstacles["time"] = OUT_OF_TIME
        return None

    def _narrow_to_integers(self, proof: Proof) -> None:
        """The whole audit is then about integers: real data would be another question."""
        findings = self.findings
        question = findings.question
        if question.domain_assumed and INTEGER_DATA in proof.notes:
            findings.notes.append(INTEGER_DATA)
            findings.question = replace(question, domain=integers(question.length))

    def prove_by_contributions(self) -> None:
        """A bound by what one record adds to sums, for every length where there is one."""
        findings = self.findings
        question = findings.question
        if question.mechanism.takes_size:
            return
        findings.tell("proof by what a record adds")
        length = ANY if question.length_assumed else question.length
        deadline = Deadline(CONTRIBUTION_SECONDS)
        try:
            with watched(deadline):
                goal = goal_of(question, length, question.claim)
                proof = prove_contributions(goal, question.measure, question.limit)
        except DpestError as reason:
            findings.refuse("no proof by what a record adds", reason)
            return
        except TimeUp:
            findings.notes.append(f"no proof by what a record adds within {deadline.seconds:.3g} s")
            findings.obstacles["time"] = OUT_OF_TIME
            return
        findings.notes += [n for n in proof.notes if n not in findings.notes]
        words = proof.explain()
        for evidence in proof.evidence():
            self._add(proof, evidence, words)

    def _add(self, proof: Proof, evidence: Evidence, words: str) -> None:
        """Keep a proved bound, and what follows from it for the measure that was asked."""
        told = replace(evidence.witness, event=words)
        bound = self._with_theorem(proof, evidence.with_(witness=told))
        measure = self.findings.question.measure
        kept = bound if bound.measure == measure else measures.follows(bound, measure)
        if kept is not None:
            self.findings.evidence.append(kept)

    def _with_theorem(self, proof: Proof, evidence: Evidence) -> Evidence:
        """The evidence with a note on what Coq makes of its certificate, where that was asked."""
        asked = self.findings.settings.coq
        if not asked or evidence.side != "upper" or proof.certificate is None:
            return evidence
        self.findings.tell("Coq")
        return evidence.with_(notes=(*evidence.notes, theorem_note(proof.certificate)))
