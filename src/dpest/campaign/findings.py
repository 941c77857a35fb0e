"""What an audit knows so far: its question, the evidence, and what was not done, and why."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.ask.questions import Question
from dpest.attacks.budget import Budget, Progress
from dpest.campaign.contradictions import contradictions, withdrawn
from dpest.campaign.settings import Settings
from dpest.errors import DpestError, ReadingError, located
from dpest.evidence import Evidence
from dpest.reading.code.sources import lambda_text
from dpest.verdict import MEET, Obstacle, Verdict, exceeds

if TYPE_CHECKING:
    from dpest.proofs.proof import Proof

LAMBDA, LONGEST_NAME = "<lambda>", 60
_NO_PROOF = "no proof"


class Findings:
    """The state of one audit. The steps read it and add to it; `verdict` is what follows so far.

    The question may become a narrower one on the way: a domain that nobody gave, a length that
    nobody gave, and engines that the code rules out.
    """

    def __init__(self, question: Question, settings: Settings) -> None:
        self.question = question
        self.settings = settings
        self.engines = settings.engines
        self.alpha_left = settings.alpha
        self.evidence: list[Evidence] = []
        self.notes: list[str] = list(question.notes)
        self.refusals: dict[str, list[str]] = {}  # a reason, and what it stood in the way of
        self.obstacles: dict[str, Obstacle] = {}  # a reason, and what can be done about it
        self.details: dict[str, Any] = {}
        self.proofs: list[Proof] = []
        self.for_one_length: list[Evidence] = []  # upper bounds for the question's length alone
        self.by_records_alone = False  # outputs of several types: only that proof looks at them
        self.unread_pairs = False  # whether the exact engine refused some pairs and took others
        self.memory: Mapping[str, str] = {}  # what a call could change, before there was one
        self.started = time.monotonic()
        # What a verdict is given before anybody sees it: its pictures and its demonstration.
        self.present: Callable[[Verdict], Verdict] = lambda verdict: verdict

    # What follows ----------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        stated = replace(self.question.stated(), mechanism=self.name)
        contradicted = contradictions(self.evidence)
        details = {**self.details, "obstacles": [o.to_dict() for o in self.obstacles.values()]}
        found = Verdict(
            stated,
            tuple(e for e in self.evidence if e not in contradicted),
            tuple(dict.fromkeys((*self.all_notes(), *map(withdrawn, contradicted)))),
            seed=self.settings.seed,
            seconds=time.monotonic() - self.started,
            alpha=self.settings.alpha,
            details=details if self.obstacles else self.details,
        )
        return self.present(found)

    @functools.cached_property
    def name(self) -> str:
        """What the report calls the mechanism: a function without a name by its own text."""
        name = self.question.mechanism.name
        if name != LAMBDA:
            return name
        text = lambda_text(self.question.mechanism.function)
        if text is None or len(text) <= LONGEST_NAME:
            return text or name
        return text[: LONGEST_NAME - 1] + "…"

    def settled(self) -> bool:
        """Whether the bounds meet: nothing more can be learnt by looking at pairs."""
        verdict = self.verdict()
        lower = verdict.lower
        if lower is not None and math.isinf(lower.value):
            return True
        return verdict.gap is not None and verdict.gap <= 0.2 * MEET

    def seconds_left(self) -> float | None:
        """What is left of the seconds that somebody gave; None where nobody gave any."""
        given = self.settings.given_budget
        if given is None or given.seconds is None:
            return None
        return max(0.0, given.seconds - (time.monotonic() - self.started))

    def budget_left(self) -> Budget:
        """What runs may spend from now on."""
        seconds = self.seconds_left()
        usual = self.settings.attack_budget
        return usual if seconds is None else replace(usual, seconds=max(seconds, 0.05))

    def enough(self) -> float:
        """A value that no pair can exceed, less what counts as meeting it."""
        upper = self.verdict().upper
        return math.inf if upper is None else upper.value * (1 - 0.2 * MEET)

    def claim_proved(self) -> bool:
        """Whether an upper bound is within the claim already."""
        upper, limit = self.verdict().upper, self.question.limit
        return upper is not None and limit is not None and upper.value <= limit

    def claim_refuted(self) -> bool:
        return exceeds(self.verdict().lower, self.question.limit)

    def leaks_seen(self) -> list[tuple[Any, Any]]:
        """The pairs that cost more than is claimed by the noise that the grey box recorded."""
        limit = self.question.limit
        return [
            (e.witness.x, e.witness.x2)
            for e in self.evidence
            if e.method == "recorded" and limit is not None and e.value > limit
        ]

    def lower_is_open(self) -> bool:
        """Whether running the code could still change the answer."""
        lower = self.verdict().lower
        if self.settled() or exceeds(lower, self.question.limit):
            return False
        if self.question.measure.delta and self.claim_proved():
            return False  # runs bound ε at a δ from far below: they would not close the gap
        return lower is None or lower.standing.name == "confidence" or self.unread_pairs

    def best_lower(self) -> Evidence:
        return max((e for e in self.evidence if e.side == "lower"), key=lambda e: e.value)

    def unit_value(self) -> float:
        """What the claim's unit is worth: proofs bound ε in units of a parameter."""
        unit = self.question.unit
        return 1.0 if unit is None else float(self.question.mechanism.all_params[unit])

    # What is added ---------------------------------------------------------------------------

    def refuse(self, what: str, why: DpestError | str) -> None:
        """Note what was not done; what has one reason is said once."""
        reason = str(why)
        if isinstance(why, ReadingError):
            place = located(why.where) if why.where else ""
            found = Obstacle(place, why.operation, why.advice)
        else:
            found = Obstacle("", reason, "")
        if what.startswith(f"{_NO_PROOF} for"):
            self.obstacles.setdefault(reason, found)
        done = self.refusals.setdefault(reason, [])
        if what not in done:
            done.append(what)

    def all_notes(self) -> list[str]:
        """Also what was not done, and why; where one proof shows the claim, no other is missed."""
        limit, measure = self.question.limit, self.question.measure
        proved = limit is not None and any(
            e.side == "upper" and e.measure == measure and e.value <= limit for e in self.evidence
        )
        missed = {
            reason: [what for what in done if not (proved and what.startswith(_NO_PROOF))]
            for reason, done in self.refusals.items()
        }
        return [
            *self.notes,
            *(f"{', '.join(done)}: {reason}" for reason, done in missed.items() if done),
        ]

    def tell(self, stage: str) -> None:
        """Report the stage to whoever watches, who may ask for the verdict so far."""
        progress = self.settings.progress
        if progress is not None:
            lower = self.verdict().lower
            bound = lower.value if lower is not None else 0.0
            spent = time.monotonic() - self.started
            progress(Progress("audit", 0, spent, bound, stage, self.verdict))

    def is_of_one_length(self, evidence: Evidence) -> bool:
        """Is this an upper bound for one length, where every length was asked for? It is noted."""
        if evidence.side != "upper" or not self.question.every_length:
            return False
        upper = self.verdict().upper  # for every length; what is no less for one is no news
        if math.isfinite(evidence.value) and (upper is None or evidence.value < upper.value):
            self.notes.append(
                f"for n = {self.question.length} alone: {evidence.measure} at most "
                f"{evidence.value:.6g} ({evidence.standing}); another length may leak more, and "
                "--length asks about one"
            )
        return True

    def change_length(self, n: int) -> None:
        """Nobody said how long the data are: they have n entries. Bounds for others are dropped."""
        question = self.question
        self.notes.append(
            f"nobody said how long the data are: audited at n = {n}, where neighbours are told "
            "apart best"
        )
        self.evidence = [
            e for e in self.evidence if e.side == "upper" and e not in self.for_one_length
        ]
        self.question = replace(question, length=n, domain=question.domain.with_length(n or None))
