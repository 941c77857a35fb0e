"""The exact search: patterns and pairs of the domain, of one number, and of other lengths."""

from __future__ import annotations

import math
from typing import Any

from dpest.ask.domains import Reals
from dpest.ask.patterns import patterns
from dpest.ask.search import WorstPair, search
from dpest.attacks.scouting.candidates import lengths_to_try
from dpest.campaign.findings import Findings
from dpest.campaign.pair_values import PairValues
from dpest.campaign.scouting import Scout
from dpest.errors import DpestError, RoundedChanceError
from dpest.evidence import Measure, Witness
from dpest.exact.losses.one_number import worst_of_one_number
from dpest.reading.machine.values import LOG_NOTE
from dpest.running.landmarks import landmarks
from dpest.running.watchdog import Deadline, TimeUp, watched

# Exact evaluations of pairs: enough for the patterns, the corners and a local search.
PAIRS = 160
# A search that ran out of time after fewer pairs than that has not seen much.
FEW_PAIRS = 40
# Without a bound to meet, a search ends when so many pairs in a row are no worse than known ones.
IDLE = 80
# All pairs of a domain that can be listed, if they take no longer than an ordinary search.
LISTED = 4000
# Guards, not budgets: what takes longer than this is given up, and the notes say so. They are
# seconds of computing (see `watchdog.Deadline`), times the audit's patience.
LOOK_SECONDS = 0.5
EXACT_SECONDS = 6.0
# Lengths that are looked at where every length is asked for, how many patterns of each, how long.
LENGTHS, SHOWN_PATTERNS, LENGTH_SECONDS, LONGEST = (1, 2, 3, 6, 8, 10), 12, 5.0, 2_000


class PairSearch:
    """Looks for the worst pair by exact values; the worst of all pairs bounds from above too."""

    def __init__(self, findings: Findings, values: PairValues, scout: Scout) -> None:
        self.findings, self.values, self.scout = findings, values, scout
        self.refused: list[DpestError] = []  # by the exact engine, in the search that goes on

    def look(self) -> None:
        """Some of the literature's patterns, quickly; what they don't tell, the search will."""
        if self._needless():
            return
        known = self._known_pairs()
        with self.values.limited_to(4 * LOOK_SECONDS):
            try:
                found = self._worst(known, Deadline(LOOK_SECONDS), thorough=False)
            except DpestError:
                return
            self._conclude(found)

    def search(self) -> None:
        """The literature's patterns, then a search over the domain."""
        if self._needless():
            return
        findings, known = self.findings, self._known_pairs()
        # A domain that can be listed is worth more time: its maximum is an upper bound too.
        longer = 1 if findings.question.domain.size is None else 3
        deadline = Deadline(longer * EXACT_SECONDS)
        try:
            found = self._worst(known, deadline, thorough=True)
        except DpestError as reason:
            findings.unread_pairs = True  # a look may have read some
            findings.refuse("no exact answer", str(reason))
            return
        if self.refused:
            findings.unread_pairs = True  # the worst pair may be one of them
            findings.refuse("no exact answer on some pairs", str(self.refused[0]))
        if deadline.passed() and found.evaluations < FEW_PAIRS:
            findings.unread_pairs = True  # there was no time for them
        whole = self._conclude(found)
        if not whole and found.value > -math.inf:
            self._bound_one_number()

    def _needless(self) -> bool:
        return self.findings.settled() or self.findings.question.mechanism.takes_size

    def _known_pairs(self) -> int:
        """How many pairs the literature's patterns make, at least one."""
        question = self.findings.question
        known = patterns(question.adjacency, question.domain, question.length, both_orders=False)
        return max(len(known), 1)

    def _worst(self, known: int, deadline: Deadline, *, thorough: bool) -> WorstPair:
        """Raises DpestError where no pair could be computed."""
        question, settings = self.findings.question, self.findings.settings
        self.refused = []
        return search(
            self._value,
            question.adjacency,
            question.domain,
            length=question.length,
            budget=max(PAIRS, known) if thorough else known,
            seed=settings.seed,
            starts=self.scout.starts() if thorough else [],
            enough=self.findings.enough(),
            idle=IDLE,
            stop=lambda: deadline.passed() or self._often_refused(),
            listed=LISTED if thorough else 0,
            patience=EXACT_SECONDS * settings.patience,
        )

    def _often_refused(self) -> bool:
        """Whether the exact engine can't say more; where rounding decides, other pairs are near."""
        return len([e for e in self.refused if not isinstance(e, RoundedChanceError)]) > 1

    def _value(self, x: Any, x2: Any) -> float:
        self.findings.tell("exact, searching pairs")
        try:
            return self.values.value(x, x2)
        except DpestError as reason:
            self.refused.append(reason)
            raise

    def _conclude(self, found: WorstPair) -> bool:
        """The worst pair as evidence; whether it is the worst of all pairs of the domain."""
        if not found.value > -math.inf:
            return False
        # A value that is a lower bound for its pair says nothing from above.
        whole = found.exhaustive and self.values.complete
        how = "exact: all pairs of the domain" if whole else f"exact: {found.how}"
        self.values.consider((found.value, found.x, found.x2), how)
        if whole:
            self._bound_by_all_pairs(found)
        return whole

    def _bound_by_all_pairs(self, found: WorstPair) -> None:
        """Every pair of a finite domain was computed: the maximum is an upper bound too."""
        findings = self.findings
        pairs = f"the largest of all {found.evaluations} pairs of neighbours of the domain"
        best = findings.best_lower()
        if self._logs():
            return
        bound = best.with_(side="upper", witness=Witness(event=pairs), runs=0)
        if not findings.is_of_one_length(bound):
            findings.evidence.append(bound)
            findings.for_one_length.append(bound)

    def _logs(self) -> bool:
        """Whether something is logged: where data are known, nothing tells them from constants."""
        return any(LOG_NOTE in evidence.notes for evidence in self.findings.evidence)

    def _bound_one_number(self) -> None:
        """All pairs of one real number, where chances are linear in it: a bound from above."""
        findings, question = self.findings, self.findings.question
        domain = question.domain
        if not isinstance(domain, Reals) or domain.form != "number" or domain.integral:
            return
        known = question.adjacency.relates_all and question.measure == Measure()
        if not known or not math.isfinite(domain.width) or findings.verdict().upper is not None:
            return
        if self._logs():
            return
        worst = None
        try:
            with watched(Deadline(EXACT_SECONDS)):
                worst = worst_of_one_number(question.mechanism, domain.low, domain.high)
        except TimeUp:
            findings.notes.append("no bound for all pairs of numbers within its time")
        if worst is not None:
            words = "all pairs of numbers: chances are linear in the input between finitely many"
            findings.evidence.append(
                findings.best_lower().with_(
                    side="upper",
                    value=worst,
                    method="exact: all pairs of one number",
                    witness=Witness(event=words),
                    runs=0,
                )
            )

    def search_lengths(self) -> None:
        """Where nobody said how long the data are: the patterns at other lengths, shortest first.

        Where nothing was said about the data, a length is reported if it breaks the claim.
        """
        findings, question = self.findings, self.findings.question
        if not question.length_assumed or findings.claim_refuted():
            return
        best = self._worst_of_other_lengths()
        if best is None:
            return
        if not question.every_length:
            if question.limit is None or not best[0] > question.limit:
                return
            findings.change_length(len(best[1]))
        self.values.consider(best, f"exact: at n = {len(best[1])}")

    def _worst_of_other_lengths(self) -> tuple[float, Any, Any] | None:
        question = self.findings.question
        deadline = Deadline(LENGTH_SECONDS)
        lengths = lengths_to_try(question.adjacency, landmarks(question.mechanism), LONGEST)
        best: tuple[float, Any, Any] | None = None
        for n in sorted({*lengths, *LENGTHS} - {question.length, 0}):
            domain = question.domain.with_length(n)
            known = patterns(question.adjacency, domain, n, both_orders=False)
            for _, x, x2 in known[:SHOWN_PATTERNS]:
                if deadline.passed():
                    break
                try:
                    with self.values.limited_to(LOOK_SECONDS):
                        found = self.values.value(x, x2)
                except DpestError:
                    continue
                if best is None or found > best[0] * (1 + 1e-9):
                    best = found, x, x2
        return best
