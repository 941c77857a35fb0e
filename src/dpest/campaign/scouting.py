"""Where to look: pairs around the numbers of the code, and the length that shows most."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from dpest.ask.patterns import Pattern, patterns
from dpest.attacks.protocol import Pair
from dpest.attacks.scouting.candidates import candidates
from dpest.attacks.scouting.coupled import Coupled, Scored
from dpest.campaign.findings import Findings
from dpest.errors import DpestError, InputError
from dpest.running.landmarks import landmarks

# Pairs around the numbers of the code: seconds of computing to rank them, how many are kept, how
# many the exact search begins with, how many an attack may be given, and how much more they, or
# another length, must show for that.
SCOUT_SECONDS, MANY, STARTS, PROMISING, CLEARLY = 1.0, 64, 24, 8, 2.0
# Pairs that an attack chooses from; how many beside one that was seen to leak.
ATTACKED, BESIDE_A_LEAK = 32, 3


class Scout:
    """Ranks pairs by a few runs with shared noise; the runs are used for nothing else."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.known_scores: dict[Any, float] = {}  # of the known pairs, by domain and length
        self.known_best: dict[Any, list[Pair]] = {}  # of several pairs, those told apart best

    @functools.cached_property
    def scouted(self) -> list[Scored]:
        """Pairs around the numbers of the code that a few runs tell apart best."""
        question = self.findings.question
        numbers = landmarks(question.mechanism)
        self.findings.tell("scouting pairs around the numbers of the code")
        pairs = candidates(
            question.adjacency,
            question.domain,
            question.length,
            numbers,
            other_lengths=question.length_assumed,
        )
        try:
            ranked = Coupled(question.mechanism, question.domain).rank(pairs, SCOUT_SECONDS, MANY)
        except DpestError as reason:
            self.findings.refuse("no pairs around the numbers of the code", str(reason))
            return []
        return [found for found in ranked if found.score > 0]

    def starts(self) -> list[tuple[str, Any, Any]]:
        """The scouted pairs of the question's length, most promising first."""
        n = self.findings.question.length
        return [(s.how, s.x, s.x2) for s in self.scouted if len(s.x) == n][:STARTS]

    def pairs(self) -> list[Pair]:
        """The literature's patterns and the pairs around the numbers of the code, best first.

        Where the grey box found a pair that costs more than is claimed, there are only the few that
        are told apart best: runs are spent where a leak was seen.
        """
        question = self.findings.question
        usual = patterns(question.adjacency, question.domain, question.length, both_orders=False)
        found = [*self.clearly_worse(usual), *usual]
        seen = self.findings.leaks_seen()
        if seen:
            scouted = self.scouted if question.length_assumed else []
            others = [*((s.x, s.x2) for s in scouted), *((x, x2) for _, x, x2 in found)]
            return self.told_apart_best([*seen, *others])
        if not found:
            raise InputError(
                f"no pair of neighbours is known for {question.domain} under {question.adjacency}; "
                "give one with --pair"
            )
        return [(x, x2) for _, x, x2 in found[:ATTACKED]]

    def told_apart_best(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The few that runs tell apart best; the first of them where none is told apart."""
        question = self.findings.question
        named = {repr(pair): ("", *pair) for pair in pairs}
        key = (question.length, *named)
        if key not in self.known_best:
            coupled = Coupled(question.mechanism, question.domain)
            ranked = coupled.rank(named.values(), SCOUT_SECONDS, len(named))
            best = [(s.x, s.x2) for s in ranked if s.score > 0][: 1 + BESIDE_A_LEAK]
            as_input = question.domain.as_input
            chosen = [(as_input(x), as_input(x2)) for x, x2 in best or pairs[:1]]
            self.known_best[key] = chosen
        return self.known_best[key]

    def clearly_worse(self, known: Sequence[Pattern]) -> list[Pattern]:
        """Scouted pairs that a few runs tell apart much better than the known ones.

        Every pair that is looked at costs runs: where nothing promises more, nothing is added.
        """
        domain, n = self.findings.question.domain, self.findings.question.length
        scouted = [s for s in self.scouted if len(s.x) == n]
        if not scouted:
            return []
        best = self.best_of_known(known)
        worse = [s for s in scouted if s.score > CLEARLY * max(best, 0.5)]
        return [(s.how, domain.as_input(s.x), domain.as_input(s.x2)) for s in worse[:PROMISING]]

    def best_of_known(self, known: Sequence[Pattern]) -> float:
        """How well a few runs tell the best of the known pairs apart; asked once a domain."""
        question = self.findings.question
        key = (question.domain.describe(), question.length, len(known))
        if key not in self.known_scores:
            coupled = Coupled(question.mechanism, question.domain)
            usual = coupled.rank(known, SCOUT_SECONDS, len(known))
            self.known_scores[key] = max((s.score for s in usual), default=0.0)
        return self.known_scores[key]

    def choose_length(self) -> None:
        """Where nobody said how long the data are: the length at which they are told apart best.

        Bounds for another length alone would no longer be about the question, so there are none.
        """
        question, evidence = self.findings.question, self.findings.evidence
        fixed = any(e.side == "upper" and math.isfinite(e.value) for e in evidence)
        if not question.length_assumed or fixed or not self.scouted:
            return
        usual = max((s.score for s in self.scouted if len(s.x) == question.length), default=0.0)
        worst = max(self.scouted, key=lambda s: s.score)
        n = len(worst.x)
        if n == question.length or worst.score < CLEARLY * max(usual, 1.0):
            return
        self.findings.change_length(n)
