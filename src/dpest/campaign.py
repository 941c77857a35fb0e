"""One audit from start to end: which engines answer, in which order, at what cost.

Proof and exact engines come first; they take milliseconds. Runs are spent on what they leave open.
What was not done, and why, goes into the notes.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpest import attacking, measures
from dpest.ask.declaration import data_first
from dpest.ask.domains import ANY, Reals, integers
from dpest.ask.entries import short
from dpest.ask.patterns import Pattern, patterns
from dpest.ask.questions import Question
from dpest.ask.search import WorstPair, search
from dpest.attacks.budget import Budget, Progress, Report
from dpest.attacks.scouting.candidates import candidates, lengths_to_try
from dpest.attacks.scouting.coupled import Coupled, Scored
from dpest.errors import (
    DomainError,
    DpestError,
    InputError,
    PathLimitError,
    ReadingError,
    RefusedError,
    located,
)
from dpest.evidence import EXACT, Demonstration, Evidence, Measure, Witness
from dpest.picturing import pictures_of
from dpest.reading.code.sources import lambda_text
from dpest.running.landmarks import landmarks
from dpest.running.places import described_code
from dpest.running.watchdog import Deadline, TimeUp, patient, watched
from dpest.verdict import MEET, Obstacle, Verdict, exceeds

if TYPE_CHECKING:
    from dpest.exact.engine import PairObjective
    from dpest.execution.runner import Runner
    from dpest.proofs.proof import Proof

ENGINES = ("proof", "exact", "attack")
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
PAIR_SECONDS = 10.0
RAY_SECONDS = 5.0  # the proof has said what comes out
PROOF_SECONDS = 15.0
# Proofs for every length take a fraction of a second, or don't come at all.
ANY_SECONDS = 4.0
# From this length on the proof for every length is asked for a lower bound before any pair is.
LONG = 100
# Proofs by contributions: reading takes milliseconds, laws of the loss a second or two.
CONTRIBUTION_SECONDS = 20.0
# Lengths that are looked at where every length is asked for, how many patterns of each, how long.
LENGTHS, SHOWN_PATTERNS, LENGTH_SECONDS, LONGEST = (1, 2, 3, 6, 8, 10), 12, 5.0, 2_000
# Points on a ray: next to the origin, then far out. The loss rises to its limit like 1/λ or faster.
SCALES = (1.0, 1024.0, 32768.0, 1048576.0)
# Pairs around the numbers of the code: seconds of computing to rank them, how many are kept, how
# many the exact search begins with, how many an attack may be given, and how much more they, or
# another length, must show for that.
SCOUT_SECONDS, MANY, STARTS, PROMISING, CLEARLY = 0.6, 64, 24, 8, 2.0
# The demonstration of a violation: seconds of computing, and pairs that are tried for it.
DEMONSTRATION_SECONDS, DEMONSTRATED = 25.0, 24
LAMBDA, LONGEST_NAME = "<lambda>", 60
# What stood in the way of a proof, where it is no line of the code.
NO_GENERATOR = Obstacle(
    "", "it takes no generator", "Take a parameter `rng` and draw all noise from it"
)
OUT_OF_TIME = Obstacle(
    "", "the proof took too long", "--patience 10 lets every engine try ten times as long"
)
# What sampling may spend by default.
RUNS, SECONDS = 400_000, 4.0


class Campaign:
    """The state of one audit: the question, the evidence so far, what is left to spend."""

    def __init__(
        self,
        question: Question,
        *,
        alpha: float = 0.05,
        budget: Budget | str | int | None = None,
        seed: int = 0,
        engines: Sequence[str] = ENGINES,
        floating_point: bool | None = False,
        progress: Report | None = None,
        runner: Runner | None = None,
        device: str = "numpy",
        patience: float = 1.0,
        coq: bool = False,
    ) -> None:
        if not 0 < alpha < 1:
            raise DomainError(f"alpha is a probability between 0 and 1; got {alpha=}")
        unknown = [name for name in engines if name not in ENGINES]
        if unknown:
            raise InputError(f"no engine is called {unknown[0]!r}; there are {', '.join(ENGINES)}")
        if not 0 < patience < math.inf:
            raise DomainError(f"patience is a positive factor; got {patience=}")
        self.question = question
        self.alpha = self.alpha_left = alpha
        self.patience = patience
        self.coq = coq
        self.given_budget = None if budget is None else Budget.of(budget)
        self.attack_budget = Budget.of(budget, Budget(RUNS, SECONDS * patience))
        self.seed = seed
        self.engines = tuple(engines)
        self.floating_point = floating_point
        self.progress = progress
        self.runner = runner
        self.device = device
        self.evidence: list[Evidence] = []
        self.notes: list[str] = list(question.notes)
        self.refusals: dict[str, list[str]] = {}  # a reason, and what it stood in the way of
        self.obstacles: dict[str, Obstacle] = {}  # a reason, and what can be done about it
        self.details: dict[str, Any] = {}
        self.proofs: list[Proof] = []
        self.by_records_alone = False  # outputs of several types: only that proof looks at them
        self.tried: set[Any] = set()  # lengths for which a proof was looked for
        self.known_scores: dict[Any, float] = {}  # of the known pairs, by domain and length
        self.for_one_length: list[Evidence] = []  # upper bounds for the question's length alone
        self.complete = True  # whether the value of every pair so far was more than a lower bound
        self.unread_pairs = False  # whether the exact engine refused some pairs and took others
        self.pair_seconds = PAIR_SECONDS
        # Where one pair took more than so many seconds, and the reason: no other is tried for less.
        self.late: tuple[float, str] | None = None
        self.started = time.monotonic()

    # The whole audit -------------------------------------------------------------------------

    def run(self) -> Verdict:
        """All steps; an interrupt ends them with what was established so far."""
        with patient(self.patience):
            return self._run()

    def _run(self) -> Verdict:
        self.first_look()
        self.details["code"] = described_code(self.question.mechanism.function)
        try:
            if self.by_records_alone:
                self.prove_by_contributions()
            proof, exact = "proof" in self.engines, "exact" in self.engines
            pure = self.question.measure == Measure()
            if proof:
                if self.question.measure != Measure():
                    self.prove_by_contributions()
                    if self.refuted_early():
                        self.audit_doubles()
                        return self.verdict()
                if not self.claim_proved():
                    self.prove((ANY,))
                if self.question.measure == Measure() and self.verdict().upper is None:
                    self.prove_by_contributions()
            if exact and proof and not self.settled() and self.question.length >= LONG:
                self.trust_every_length()
            if exact and not self.settled() and not any(p.ray is not None for p in self.proofs):
                # Without a bound for every length the first patterns may show at once that ε is
                # infinite; with one that has no ray, that it is reached.
                with self.pair_limit(4 * LOOK_SECONDS):
                    self.search_exactly(look=True)
            if proof and not self.settled() and (pure or not self.claim_proved()):
                # Within a pure claim it still gives the ray along which its bound is approached.
                self.prove((self.question.length,))
            if exact and not self.settled():
                self.follow_rays()
            if not self.settled():
                self.choose_length()
            if exact:
                self.search_exactly()
                if not self.settled() or self.for_one_length:
                    self.search_lengths()
            if exact and proof and not self.settled():
                self.trust_every_length()
            if "attack" in self.engines:
                unread = self.question.mechanism.black_box and self.verdict().upper is None
                if unread or self.lower_is_open():
                    self.record()
                if self.lower_is_open():
                    self.sample()
            self.audit_doubles()
        except KeyboardInterrupt:
            self.details["interrupted"] = True
            self.notes.append("interrupted: the bounds are valid, the search is not complete")
        return self.verdict()

    def first_look(self) -> None:
        """A few plain runs: nothing is audited that doesn't run, or that remembers the last run.

        Raises InputError (or OpaqueError) where there is nothing to audit.
        """
        from dpest.ask.input_form import check_call
        from dpest.running.first_look import inputs_of, look

        question = self.question
        check_call(question.mechanism, question.unit)
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
            self.details["raises"] = [
                f"{error} on {short(x)}" for error, x in found.raises_on.items()
            ]
        if found.state:
            kept = ", ".join(found.state[:3])
            self.notes.append(
                f"{name} keeps state between calls ({kept}): what one call does depends on those "
                "before, so that nothing is read or sampled. Hand in what it needs, and return "
                "what it changes"
            )
            self.details["state"] = list(found.state)
            self.engines = ()
        else:
            self._suspect_state()
        self._look_closely(found.types)

    def _guard(self) -> ModuleType:
        from dpest.reading import guard

        return guard

    def _suspect_state(self) -> None:
        """Code that changes what outlives a call, though no call so far did."""
        if self.question.mechanism.black_box:
            return
        suspect = self._guard().keeps_state(self.question.mechanism)
        if suspect is not None:
            self.notes.append(
                f"{suspect.where}: {suspect.operation}; no call that was tried did so, and runs "
                "are taken to be independent of each other"
            )

    def _look_closely(self, types: tuple[str, str] | None) -> None:
        """Whether runs must be made one by one, as plain calls."""
        guard = self._guard()
        mechanism, why = self.question.mechanism, ""
        if types is not None:
            self.notes.append(
                f"outputs differ in their types alone ({types[0]} against {types[1]}), which "
                "whoever gets them sees: no exact answer, only runs, and proofs that look at types"
            )
            self.by_records_alone = "proof" in self.engines
            self.engines = tuple(e for e in self.engines if e == "attack")
            why = "returns numbers of several types"
        elif not data_first(mechanism.function):
            why = "takes rng before its data"
        elif not mechanism.black_box:
            form = guard.form_of(self.question.domain.as_input([0.0]))
            finding = guard.refused(mechanism, form=form, symbols=("noise",))
            why = finding.operation if finding is not None else ""
        if why:
            about = {**mechanism.about, "plain": why}
            self.question = replace(self.question, mechanism=replace(mechanism, about=about))

    def verdict(self) -> Verdict:
        stated = replace(self.question.stated(), mechanism=self.name)
        contradicted = contradictions(self.evidence)
        details = {**self.details, "obstacles": [o.to_dict() for o in self.obstacles.values()]}
        return Verdict(
            stated,
            tuple(e for e in self.evidence if e not in contradicted),
            tuple(dict.fromkeys((*self.all_notes(), *map(withdrawn, contradicted)))),
            seed=self.seed,
            seconds=time.monotonic() - self.started,
            alpha=self.alpha,
            details=details if self.obstacles else self.details,
            picturing=functools.partial(pictures_of, self),
            demonstrating=self.demonstrate,
        )

    def demonstrate(self) -> Demonstration | None:
        return self.demonstration

    @functools.cached_property
    def demonstration(self) -> Demonstration | None:
        """Which pair and event refute the claim with the fewest runs; looked for once."""
        question = self.question
        if question.limit is None or question.measure.kind != "epsilon":
            return None
        from dpest.attacks.demonstration.choosing import demonstrate

        lower = self.verdict().lower
        witness = [] if lower is None else [(lower.witness.x, lower.witness.x2)]
        found: Demonstration | None = None
        try:
            with watched(Deadline(DEMONSTRATION_SECONDS)):
                found = demonstrate(
                    question.mechanism,
                    [
                        *(p for p in witness if p[0] is not None),
                        *attacking.pairs_of(self)[:DEMONSTRATED],
                    ],
                    question.limit,
                    question.measure.delta,
                    seed=self.seed,
                    run_all=attacking.run_all_of(self),
                )
        except (DpestError, TimeUp):
            pass  # the bounds stand without it; the time may be up as soon as it was found
        return found

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

    def refuse(self, what: str, why: DpestError | str) -> None:
        """Note what was not done; what has one reason is said once."""
        reason = str(why)
        if isinstance(why, ReadingError):
            place = located(why.where) if why.where else ""
            found = Obstacle(place, why.operation, why.advice)
        else:
            found = Obstacle("", reason, "")
        if what.startswith("no proof for"):
            self.obstacles.setdefault(reason, found)
        done = self.refusals.setdefault(reason, [])
        if what not in done:
            done.append(what)

    def all_notes(self) -> list[str]:
        return [
            *self.notes,
            *(f"{', '.join(done)}: {reason}" for reason, done in self.refusals.items()),
        ]

    def tell(self, stage: str, runs: int = 0) -> None:
        if self.progress is not None:
            lower = self.verdict().lower
            bound = lower.value if lower is not None else 0.0
            spent = time.monotonic() - self.started
            self.progress(Progress("audit", runs, spent, bound, stage, self.verdict))

    # Upper bounds ----------------------------------------------------------------------------

    def prove(self, lengths: Sequence[Any]) -> None:
        """A proof for every length if there is one; one for this length has a ray to follow.

        A length that was tried before is not tried again.
        """
        question = self.question
        if question.mechanism.black_box:
            self.notes.append(
                "no proof: proofs are of functions that take their generator as a parameter `rng`"
            )
            self.obstacles["rng"] = NO_GENERATOR
            return
        from dpest.proofs import INTEGER_DATA, goal_of, prove_goal

        for length in lengths:
            if length in self.tried:
                continue
            self.tried.add(length)
            self.tell(f"proof for {'every length' if length is ANY else f'n = {length}'}")
            where = "every length" if length is ANY else f"n = {length}"
            deadline = Deadline(ANY_SECONDS if length is ANY else PROOF_SECONDS)
            try:
                with watched(deadline):
                    proof = prove_goal(goal_of(question, length), 0, by_contributions=False)
            except DpestError as reason:
                self.refuse(f"no proof for {where}", reason)
                continue
            except TimeUp:
                self.notes.append(f"no proof for {where} within {deadline.seconds:g} s")
                self.obstacles["time"] = OUT_OF_TIME
                continue
            self.proofs.append(proof)
            self.tried.add(proof.length)
            if question.domain_assumed and INTEGER_DATA in proof.notes:
                # The whole audit is then about integers: real data would be another question.
                self.notes.append(INTEGER_DATA)
                self.question = replace(self.question, domain=integers(question.length))
            words = proof.explain() if proof.bound is not None else ""
            if proof.status == "unknown":
                self.refuse(f"no proof for {where}", str(proof.reason))
            for evidence in proof.evidence(self.unit_value()):
                if length is not ANY and self.of_one_length(evidence):
                    continue
                told = replace(evidence.witness, event=words or evidence.witness.event)
                known = len(self.evidence)
                self.add_guarantee(self.with_theorem(proof, evidence.with_(witness=told)))
                if length is not ANY:
                    self.for_one_length += self.evidence[known:]

    def of_one_length(self, evidence: Evidence) -> bool:
        """Is this an upper bound for one length, where every length was asked for? It is noted."""
        if evidence.side != "upper" or not self.question.every_length:
            return False
        if math.isfinite(evidence.value):
            self.notes.append(
                f"for n = {self.question.length} alone: {evidence.measure} at most "
                f"{evidence.value:.6g} ({evidence.standing}); another length may leak more, and "
                "--length asks about one"
            )
        return True

    def prove_by_contributions(self) -> None:
        """A bound by what one record adds to sums, for every length where there is one."""
        question = self.question
        if question.mechanism.takes_size:
            return
        from dpest.proofs.approximate.proving import prove_contributions
        from dpest.proofs.question import goal_of

        self.tell("proof by what a record adds")
        length = ANY if question.length_assumed else question.length
        deadline = Deadline(CONTRIBUTION_SECONDS)
        try:
            with watched(deadline):
                goal = goal_of(question, length, question.claim)
                proof = prove_contributions(goal, question.measure, question.limit)
        except DpestError as reason:
            self.refuse("no proof by what a record adds", reason)
            return
        except TimeUp:
            self.notes.append(f"no proof by what a record adds within {deadline.seconds:g} s")
            self.obstacles["time"] = OUT_OF_TIME
            return
        self.notes += [n for n in proof.notes if n not in self.notes]
        words = proof.explain()
        for evidence in proof.evidence():
            told = replace(evidence.witness, event=words)
            self.add_guarantee(self.with_theorem(proof, evidence.with_(witness=told)))

    def with_theorem(self, proof: Proof, evidence: Evidence) -> Evidence:
        """The evidence with a note on what Coq makes of its certificate, where that was asked."""
        if not self.coq or evidence.side != "upper" or proof.certificate is None:
            return evidence
        from dpest.proofs import theorem_note

        self.tell("Coq")
        return evidence.with_(notes=(*evidence.notes, theorem_note(proof.certificate)))

    def refuted_early(self) -> bool:
        """Whether a look at pairs, or at steps, refutes a claim with a δ: before long proofs."""
        if self.claim_proved() or not self.question.measure.delta:
            return False
        if "exact" in self.engines:
            with self.pair_limit(4 * LOOK_SECONDS):
                self.search_exactly(look=True)
        if "attack" in self.engines and self.verdict().lower is None:
            self.tell("runs, step by step")
            self.evidence += attacking.by_steps(self)
        return exceeds(self.verdict().lower, self.question.limit)

    def claim_proved(self) -> bool:
        """Whether an upper bound is within the claim already."""
        upper, limit = self.verdict().upper, self.question.limit
        return upper is not None and limit is not None and upper.value <= limit

    def unit_value(self) -> float:
        unit = self.question.unit
        return 1.0 if unit is None else float(self.question.mechanism.all_params[unit])

    def add_guarantee(self, evidence: Evidence) -> None:
        """Keep a proved bound, and what follows from it for the measure that was asked."""
        if evidence.measure == self.question.measure:
            self.evidence.append(evidence)
            return
        followed = measures.follows(evidence, self.question.measure)
        if followed is not None:
            self.evidence.append(followed)

    # Exact lower bounds ----------------------------------------------------------------------

    @functools.cached_property
    def objective(self) -> PairObjective:
        from dpest.exact.engine import PairObjective

        return PairObjective(self.question.mechanism)

    @contextmanager
    def pair_limit(self, seconds: float) -> Iterator[None]:
        """How long one pair may take meanwhile."""
        self.pair_seconds = seconds
        try:
            yield
        finally:
            self.pair_seconds = PAIR_SECONDS

    @functools.cached_property
    def value(self) -> Callable[[Any, Any], float]:
        """What one pair is worth, in the measure that was asked; a pair is computed once."""
        from dpest.exact.engine import exact_loss

        mechanism, measure = self.question.mechanism, self.question.measure
        objective = self.objective

        def value(x: Any, x2: Any) -> float:
            if self.late and self.pair_seconds <= self.late[0]:
                raise RefusedError(self.late[1])
            deadline, began = Deadline(self.pair_seconds), time.thread_time()
            try:
                with watched(deadline):
                    if measure == Measure():
                        worth = objective(x, x2)
                        self.complete = self.complete and objective.complete
                        return worth
                    loss = exact_loss(mechanism, x, x2)
                    self.complete = self.complete and loss.complete
                    return measures.of_loss(loss, measure)
            except TimeUp:
                reason = f"the exact loss of one pair takes more than {deadline.seconds:g} s"
                self.late = (self.pair_seconds, reason)
                raise RefusedError(reason) from None
            except PathLimitError as error:
                if time.thread_time() - began > 0.5 * self.pair_seconds:
                    self.late = (self.pair_seconds, str(error))
                raise

        return value

    def follow_rays(self) -> None:
        """The proof names a direction along which its bound is approached; go there.

        The pairs (λd, (λ+1)d) come as close to the supremum as one likes on the real line.
        """
        rays = [(p, ray) for p in self.proofs for ray in (p.ray, *p.rays) if ray is not None]
        if not rays or self.question.measure != Measure():
            return
        from dpest.proofs.proof import Ray

        for proof, ray in rays:
            best: tuple[float, Any, Any] | None = None
            far = isinstance(ray, Ray) and ray.far
            for scale in (*SCALES[1:], SCALES[0]) if far else SCALES:
                if best is not None and best[0] >= self.enough():
                    break
                x, x2 = map(self.question.domain.as_input, ray.pair(scale))
                if not self.question.adjacency.holds(x, x2, self.question.domain):
                    continue
                self.tell("exact, along the proof's ray")
                try:
                    with self.pair_limit(RAY_SECONDS):
                        found = self.value(x, x2)
                except DpestError as reason:
                    self.notes.append(f"the proof's ray could not be followed: {reason}")
                    if ray is proof.ray and self.late:
                        self.trust(proof, (x, x2))
                    break
                if best is not None and found <= best[0] * (1 + 1e-4):
                    break  # no longer rising
                best = (found, x, x2)
            if best is not None:
                self.consider(best, "exact: along the proof's ray")
            if self.settled():
                return

    def trust_every_length(self) -> None:
        """What the proof for every length says from below about this length.

        The paths of the exact engine grow with the data; the loop of the proof does not. So long
        data are asked first here, and short ones where no pair settled the question.
        """
        n = self.question.length
        if self.question.measure != Measure():
            return
        from dpest.proofs.loops.budgets import lower_at

        for proof in [p for p in self.proofs if p.length is ANY and p.bound is not None]:
            domain = None if self.question.domain_assumed else self.question.domain
            lower = lower_at(proof, n, domain)
            if lower is not None and lower.length == n:
                pair = lower.ray.pair(SCALES[-1])
                x, x2 = map(self.question.domain.as_input, pair)
                self.trust(replace(proof, length=n, lower=lower), (x, x2))

    def trust(self, proof: Proof, pair: tuple[Any, Any]) -> None:
        """What a proof says from below, where a pair takes the exact engine too long.

        The ray argument, with exact multipliers: a supremum over all real inputs, of no one pair.
        A bounded domain ends before the ray does, and its ε may be smaller.
        """
        from dpest.proofs.proof import AttainingPair

        lower, n = proof.lower, self.question.length
        domain = self.question.domain
        reached = lower is not None and isinstance(lower.ray, AttainingPair)
        endless = isinstance(domain, Reals) and (domain.low, domain.high) == (-math.inf, math.inf)
        if not endless and not reached:
            return
        if lower is None or lower.length != n or proof.length != n or math.isinf(lower.value):
            return
        far = f"release {lower.ray.release}: a limit, as these inputs go on along their difference"
        if reached:
            far = f"far out in every released number: {lower.ray.release}"
        self.evidence.append(
            Evidence(
                side="lower",
                value=math.nextafter(float(lower.value) * self.unit_value(), 0.0),
                standing=EXACT,
                method="exact: the pair of the proof"
                if reached
                else "exact: the proof's ray argument, of no pair alone",
                witness=Witness(x=pair[0], x2=pair[1], event=far),
                seconds=proof.seconds,
            )
        )

    def search_exactly(self, look: bool = False) -> None:
        """The literature's patterns, then a search over the domain; a `look`: some patterns."""
        if self.settled() or self.question.mechanism.takes_size:
            return
        question = self.question
        known = patterns(question.adjacency, question.domain, question.length, both_orders=False)
        count = max(len(known), 1)
        # A domain that can be listed is worth more time: its maximum is an upper bound too.
        seconds = EXACT_SECONDS * (1 if question.domain.size is None else 3)
        deadline = Deadline(LOOK_SECONDS if look else seconds)
        refused: list[DpestError] = []

        def one(x: Any, x2: Any) -> float:
            self.tell("exact, searching pairs")
            try:
                return self.value(x, x2)
            except DpestError as reason:
                refused.append(reason)
                raise

        found: WorstPair | None = None
        try:
            found = search(
                one,
                question.adjacency,
                question.domain,
                length=question.length,
                budget=count if look else max(PAIRS, count),
                seed=self.seed,
                starts=[] if look else self.starts(),
                enough=self.enough(),
                idle=IDLE,
                stop=lambda: deadline.passed() or len(refused) > 1,
                listed=0 if look else LISTED,
                patience=EXACT_SECONDS * self.patience,
            )
        except DpestError as reason:
            if not look:  # the search that follows will say it
                self.refuse("no exact answer", str(reason))
        if refused and found is not None and not look:
            self.unread_pairs = True  # the worst pair may be one of them
            self.refuse("no exact answer on some pairs", str(refused[0]))
        if found is not None and not look and deadline.passed() and found.evaluations < FEW_PAIRS:
            self.unread_pairs = True  # there was no time for them
        if found is not None and found.value > -math.inf:
            # A value that is a lower bound for its pair says nothing from above.
            whole = found.exhaustive and self.complete
            how = "exact: all pairs of the domain" if whole else f"exact: {found.how}"
            self.consider((found.value, found.x, found.x2), how)
            if whole:
                self.exhausted(found)
            elif not look:
                self.bound_one_number()

    def bound_one_number(self) -> None:
        """All pairs of one real number, where chances are linear in it: a bound from above."""
        question = self.question
        domain = question.domain
        if not isinstance(domain, Reals) or domain.form != "number" or domain.integral:
            return
        known = question.adjacency.relates_all and question.measure == Measure()
        if not known or not math.isfinite(domain.width) or self.verdict().upper is not None:
            return
        from dpest.exact.losses.one_number import worst_of_one_number

        worst = None
        try:
            with watched(Deadline(EXACT_SECONDS)):
                worst = worst_of_one_number(question.mechanism, domain.low, domain.high)
        except TimeUp:
            self.notes.append("no bound for all pairs of numbers within its time")
        best = max((e for e in self.evidence if e.side == "lower"), key=lambda e: e.value)
        if worst is not None:
            words = "all pairs of numbers: chances are linear in the input between finitely many"
            self.evidence.append(
                best.with_(
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
        question = self.question
        if not question.length_assumed or exceeds(self.verdict().lower, question.limit):
            return
        deadline = Deadline(LENGTH_SECONDS)
        tried = {question.length}
        lengths = lengths_to_try(question.adjacency, landmarks(question.mechanism), LONGEST)
        best: tuple[float, Any, Any] | None = None
        for n in sorted({*lengths, *LENGTHS} - tried - {0}):
            domain = question.domain.with_length(n)
            known = patterns(question.adjacency, domain, n, both_orders=False)
            for _, x, x2 in known[:SHOWN_PATTERNS]:
                if deadline.passed():
                    break
                try:
                    with self.pair_limit(LOOK_SECONDS):
                        found = self.value(x, x2)
                except DpestError:
                    continue
                if best is None or found > best[0] * (1 + 1e-9):
                    best = found, x, x2
        if best is None:
            return
        if not question.every_length:
            if question.limit is None or not best[0] > question.limit:
                return
            self.change_length(len(best[1]))
        self.consider(best, f"exact: at n = {len(best[1])}")

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

    # Where to look ---------------------------------------------------------------------------

    @functools.cached_property
    def scouted(self) -> list[Scored]:
        """Pairs around the numbers of the code that a few runs tell apart best."""
        question = self.question
        numbers = landmarks(question.mechanism)
        self.tell("scouting pairs around the numbers of the code")
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
            self.refuse("no pairs around the numbers of the code", str(reason))
            return []
        return [found for found in ranked if found.score > 0]

    def starts(self) -> list[tuple[str, Any, Any]]:
        """The scouted pairs of the question's length, most promising first."""
        n = self.question.length
        return [(s.how, s.x, s.x2) for s in self.scouted if len(s.x) == n][:STARTS]

    def clearly_worse(self, known: Sequence[Pattern]) -> list[Pattern]:
        """Scouted pairs that a few runs tell apart much better than the known ones.

        Every pair that is looked at costs runs: where nothing promises more, nothing is added.
        """
        domain, n = self.question.domain, self.question.length
        scouted = [s for s in self.scouted if len(s.x) == n]
        if not scouted:
            return []
        best = self.best_of_known(known)
        worse = [s for s in scouted if s.score > CLEARLY * max(best, 0.5)]
        return [(s.how, domain.as_input(s.x), domain.as_input(s.x2)) for s in worse[:PROMISING]]

    def best_of_known(self, known: Sequence[Pattern]) -> float:
        """How well a few runs tell the best of the known pairs apart; asked once a domain."""
        question = self.question
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
        question = self.question
        fixed = any(e.side == "upper" and math.isfinite(e.value) for e in self.evidence)
        if not question.length_assumed or fixed or not self.scouted:
            return
        usual = max((s.score for s in self.scouted if len(s.x) == question.length), default=0.0)
        worst = max(self.scouted, key=lambda s: s.score)
        n = len(worst.x)
        if n == question.length or worst.score < CLEARLY * max(usual, 1.0):
            return
        self.change_length(n)

    def exhausted(self, found: WorstPair) -> None:
        """Every pair of a finite domain was computed: the maximum is an upper bound too."""
        best = max((e for e in self.evidence if e.side == "lower"), key=lambda e: e.value)
        pairs = f"the largest of all {found.evaluations} pairs of neighbours of the domain"
        bound = best.with_(side="upper", witness=Witness(event=pairs), runs=0)
        if not self.of_one_length(bound):
            self.evidence.append(bound)
            self.for_one_length.append(bound)

    def consider(self, candidate: tuple[float, Any, Any], method: str) -> None:
        """Turn the best pair so far into evidence, with its witness."""
        value, x, x2 = candidate
        lower = self.verdict().lower
        if lower is not None and lower.value >= value:
            return
        started = time.monotonic()
        loss = self.objective.loss(x, x2)
        measured = measures.of_loss(loss, self.question.measure)
        edge = measures.edge_of_loss(loss, self.question.measure, self.question.limit)
        if edge is not None:
            self.notes.append(edge)
        self.evidence.append(
            Evidence(
                side="lower",
                value=measured,
                standing=EXACT,
                method=method,
                witness=measures.exact_witness(loss, x, x2, self.question.mechanism),
                seconds=time.monotonic() - started,
                measure=self.question.measure,
                error=loss.error,
                notes=loss.notes,
            )
        )

    # Statistical lower bounds ----------------------------------------------------------------

    def lower_is_open(self) -> bool:
        """Whether running the code could still change the answer."""
        lower = self.verdict().lower
        if self.settled() or exceeds(lower, self.question.limit):
            return False
        if self.question.measure.delta and self.claim_proved():
            return False  # runs bound ε at a δ from far below: they would not close the gap
        return lower is None or lower.standing.name == "confidence" or self.unread_pairs

    def enough(self) -> float:
        """A value that no pair can exceed, less what counts as meeting it."""
        upper = self.verdict().upper
        return math.inf if upper is None else upper.value * (1 - 0.2 * MEET)

    def settled(self) -> bool:
        """Whether the bounds meet: nothing more can be learnt by looking at pairs."""
        verdict = self.verdict()
        lower = verdict.lower
        if lower is not None and math.isinf(lower.value):
            return True
        return verdict.gap is not None and verdict.gap <= 0.2 * MEET

    def sample(self) -> None:
        """The sequential audit on the pair that looks worst, for code that can only be run."""
        self.tell("sampling")
        self.evidence += attacking.statistical(self)

    def attack(self, method: str, x: Any = None, x2: Any = None, **options: Any) -> Evidence:
        return attacking.attack(self, method, x, x2, **options)

    def record(self) -> None:
        """The grey box, for code that can only be run: a finding, on which no verdict rests."""
        self.tell("recording the noise")
        self.evidence += attacking.recorded(self)

    def audit_doubles(self) -> None:
        """The machine's doubles: where it was asked for, and for black boxes that release them."""
        mechanism = self.question.mechanism
        if self.floating_point or mechanism.about.get("floating_point"):
            self.tell("the machine's doubles")
            self.evidence += attacking.floating_point(self)
        elif (
            self.floating_point is None
            and mechanism.black_box
            and "attack" in self.engines
            and self.question.measure.kind == "epsilon"
            and attacking.releases_doubles(self)
        ):
            self.tell("the machine's doubles")
            self.details["floating_point_unasked"] = True
            self.evidence += attacking.floating_point(self, attacking.UNASKED_DOUBLES)


def contradictions(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Upper bounds that an exact value of one pair exceeds, beyond all rounding.

    The pair can be computed again by whoever doubts it, so the upper bound goes: it was proved
    under an assumption that the pair does not meet (no records at all), or dpest is wrong.
    """
    exact = [
        e.value - e.error
        for e in evidence
        if e.side == "lower" and e.standing == EXACT and e.arithmetic == "real"
    ]
    most = max(exact, default=0.0)
    return [
        e
        for e in evidence
        if e.side == "upper" and e.standing.is_bound and e.value * (1 + 1e-6) + 1e-9 < most
    ]


def withdrawn(upper: Evidence) -> str:
    return (
        f"the upper bound {upper.value:g} ({upper.method}) is withdrawn: the exact value of a pair "
        "exceeds it. It holds under an assumption that this pair does not meet, or this is a bug "
        "in dpest: please report it"
    )
