"""Decisions: which of several conditions holds, asked of a state that may leave it open.

An instruction that must know raises `Fork`; each possible answer becomes a state, in which the same
instruction is executed again with the answer at hand. So an instruction decides before it changes
anything, which is checked here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.geometry.regions import Supports
from dpest.noise.family import Noise
from dpest.reading.domains.known_errors import KnownErrors
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.signals import Dead, Fork, OutOfLimits, Refused, Thrown
from dpest.reading.machine.state import State

_MOST_CANDIDATES = 1000  # of which the greatest is taken: each has a condition for each other
_MOST_PLACES = 4096
_TIES = "ties between continuous noises have probability zero and are left out"
_ENDS = "the ends of a noise have probability zero and are left out"


class Decisions:
    """The part of the machine that knows what is possible."""

    state: State
    supports: Supports

    def __init__(self) -> None:
        self.supports = Supports()
        self.taken = 0
        self.changes_before = 0
        self._definitions: dict[Symbol, Truth] = {}
        self._indicators: dict[Any, Symbol] = {}
        self._answers: dict[frozenset[Condition], bool] = {}
        self.assumed: tuple[Condition, ...] = ()
        self.notes: dict[str, None] = {}
        self.known_errors = KnownErrors()

    # Truths

    def truth(self, condition: Condition, kind: type) -> Any:
        """A comparison that is open: a formula, which is decided when it is needed."""
        return Truth(condition, kind=kind)

    def holds(self, truth: Any) -> bool:
        """Whether a formula holds, by as many decisions as it takes."""
        if not isinstance(truth, Truth):
            return bool(truth)
        if truth.condition is not None:
            return self._condition_holds(truth.condition)
        for part in truth.parts:
            if self.holds(part) != truth.conjunction:
                return not truth.conjunction
        return truth.conjunction

    def _condition_holds(self, condition: Condition) -> bool:
        condition = self.without_indicators(condition)
        known = condition.decided()
        if known is not None:
            return known
        return self.decide([(condition,), (condition.negated(),)]) == 0

    def without_indicators(self, condition: Condition) -> Condition:
        """The truths that a condition speaks of are decided first."""
        form = self.without_truths(condition.form)
        return condition if form is condition.form else Condition(form, condition.relation)

    def without_truths(self, form: Form) -> Form:
        """A form in which the truths are decided."""
        bits = [s for s in form.terms if s.kind == "indicator"]
        values = {s: Form.number(int(self.holds(self._definitions[s]))) for s in bits}
        return form.substitute(values) if values else form

    def settled(self, form: Form) -> Form:
        """The form, with the truths that it speaks of decided."""
        return self.without_indicators(Condition(form, ">=")).form

    def indicator(self, truth: Truth) -> Form:
        """A truth as a number: a symbol that is 0 or 1."""
        key = truth.key
        symbol = self._indicators.get(key)
        if symbol is None:
            symbol = Symbol("indicator", f"bit{len(self._indicators)}")
            self._indicators[key] = symbol
            self._definitions[symbol] = truth
        return Form.of(symbol)

    def definition(self, indicator: Symbol) -> Truth:
        return self._definitions[indicator]

    @property
    def definitions(self) -> dict[Symbol, Truth]:
        return self._definitions

    # Choices between several

    def either(self) -> bool:
        """A truth of which nothing is known: both ways."""
        state = self.state
        if self.taken == len(state.pending):
            if state.heap.changes != self.changes_before:
                raise Refused("a decision in the middle of a change")
            raise Fork([(), ()], (0, 1))
        self.taken += 1
        return state.pending[self.taken - 1] == 1

    def decide(self, options: Sequence[tuple[Condition, ...]], *, endless: bool = False) -> int:
        """Which of several conjunctions holds; they exclude each other, and one of them does.

        `endless`: some of them lead to more such decisions, without a bound.
        """
        state = self.state
        if self.taken == len(state.pending):
            if state.heap.changes != self.changes_before:
                raise Refused("a decision in the middle of a change")
            alive = [k for k, option in enumerate(options) if self.possible(option)]
            if not alive:
                raise Dead
            if len(alive) > 1:
                raise Fork(options, alive, endless=endless)
            state.pending = (*state.pending, alive[0])
        self.taken += 1
        return state.pending[self.taken - 1]

    def answered(self, forms: Sequence[Form]) -> int | None:
        """The answer of a decision that was made before a fork: nobody has to ask again.

        Indicators in the forms are decided first, so that there may be decisions before this one.
        """
        pending = self.state.pending
        if self.taken == len(pending):
            return None
        if any(s.kind == "indicator" for form in forms for s in form.terms):
            return None
        self.taken += 1
        return pending[self.taken - 1]

    def position(self, index: Real, size: int) -> int:
        """Which place of `size` a symbolic whole number is: one fork for each."""
        if not index.integral:
            raise Thrown(TypeError("only integers can be used as indices"))
        if size > _MOST_PLACES:
            raise Refused("a symbolic index into thousands of places")
        places = [*range(size), *range(-size, 0)]
        k = self.one_of(index.form, places)
        if k is None:
            raise Thrown(IndexError("index out of range"))
        return places[k]

    def one_of(self, form: Form, candidates: Sequence[Any]) -> int | None:
        """Which of the candidates a number is, or None."""
        answer = self.answered([form])
        if answer is not None:
            return answer if answer < len(candidates) else None
        options: list[tuple[Condition, ...]] = [
            (self.without_indicators(Condition(form.minus(Form.number(c)), "==")),)
            for c in candidates
        ]
        options.append(tuple(Condition(o[0].form, "!=") for o in options))
        k = self.decide(options)
        return k if k < len(candidates) else None

    def greatest(self, forms: Sequence[Form], *, first: bool = True) -> int:
        """The place of the greatest of several numbers; of equal ones the first (or the last)."""
        answer = self.answered(forms)
        if answer is not None:
            return answer
        if len(forms) > _MOST_CANDIDATES:
            raise OutOfLimits(f"the greatest of {len(forms)} noisy values")
        options = []
        for i, form in enumerate(forms):
            wins = []
            for j, other in enumerate(forms):
                if j != i:
                    strict = (j < i) == first
                    difference = Condition(form.minus(other), ">" if strict else ">=")
                    wins.append(self.without_indicators(difference))
            options.append(tuple(wins))
        return self.decide(options)

    def at_rank(self, forms: Sequence[Form], rank: int) -> tuple[int, list[int]]:
        """Which number has `rank` others before it in a stable order, and those that follow it.

        One decision between n·C(n−1, rank) cells, where an order of all has n!.
        """
        count = len(forms)
        ways = [
            (k, set(before))
            for k in range(count)
            for before in itertools.combinations([j for j in range(count) if j != k], rank)
        ]
        answer = self.answered(forms)
        if answer is None:
            if len(ways) > _MOST_PLACES:
                raise Refused("the middle of many noisy or private values")
            answer = self.decide([self._between(forms, k, before) for k, before in ways])
        place, before = ways[answer]
        return place, [j for j in range(count) if j != place and j not in before]

    def _between(self, forms: Sequence[Form], k: int, before: set[int]) -> tuple[Condition, ...]:
        found = []
        for j in range(len(forms)):
            if j != k:
                first, last = (j, k) if j in before else (k, j)
                gap = Condition(forms[last].minus(forms[first]), ">=" if first < last else ">")
                found.append(self.without_indicators(gap))
        return tuple(found)

    # What is possible

    def possible(self, option: Sequence[Condition]) -> bool:
        """Whether some point of the noise and the data that came here satisfies all conditions."""
        new = []
        for condition in option:
            known = condition.decided()
            if known is False:
                return False
            if known is None:
                new.append(self.supports.tightened(condition))
        if not new:
            return True
        state = self.state
        if len(new) == 1 and self.easily(new[0]):
            return True
        near = {s for c in new for s in c.form.terms}
        related: list[Condition] = []
        others = [*self.assumed, *state.conditions]
        while True:
            touching = [c for c in others if not near.isdisjoint(c.form.terms)]
            if not touching:
                break
            others = [c for c in others if near.isdisjoint(c.form.terms)]
            related += touching
            near.update(s for c in touching for s in c.form.terms)
        # Ways that differ in other noises ask the same question again and again.
        question = frozenset([*new, *related])
        answer = self._answers.get(question)
        if answer is None:
            tight = [self.supports.tightened(c) for c in related]
            found = feasible([*new, *tight, *self.supports.conditions(near)])
            answer = self._answers[question] = found is not None
        return answer

    def easily(self, condition: Condition) -> bool:
        """A symbol that nothing was said of yet, without bounds, makes it true alone."""
        constrained = self.state.constrained
        return any(
            symbol not in constrained and self.satisfies_alone(condition, symbol)
            for symbol in condition.form.terms
        )

    def satisfies_alone(self, condition: Condition, symbol: Symbol) -> bool:
        """Whether a symbol of a condition has, whatever the others are, a value that makes it true.

        Only if nothing else is asked of the symbol.
        """
        low, high = self.supports.bounds(symbol)
        if condition.relation == "!=":
            return low is None or high is None or low < high
        if condition.relation == "==":
            return low is None and high is None and not self.supports.integral(symbol)
        return (high if condition.form.terms[symbol] > 0 else low) is None

    def divisible(self, form: Form, divisor: int) -> int | None:
        """The remainder of a whole number, where those of its symbols don't matter."""
        if all(
            (c / divisor).denominator == 1 and self.supports.integral(s)
            for s, c in form.terms.items()
        ):
            return int(form.constant) % divisor if form.constant.denominator == 1 else None
        return None

    def has_continuous_noise(self, form: Form) -> bool:
        return any(s.kind == "noise" and not self.supports.integral(s) for s in form.terms)

    def is_null(self, form: Form) -> bool:
        """Whether a number is 0 with probability 0, and no float of it would be meant to be.

        Two noisy values that tie, or a noise at an end of its support: leaving that out changes no
        probability of any output. One noisy value that equals a number is another matter: whoever
        writes that thinks of floating point.
        """
        if not self.has_continuous_noise(form):
            return False
        noises = [s for s in form.terms if s.kind == "noise"]
        if len(noises) > 1:
            self.notes["ties between continuous noises have probability zero and are left out"] = (
                None
            )
            return True
        if len(form.terms) > 1:
            return False
        low, high = self.supports.bounds(noises[0])
        place = -form.constant / form.terms[noises[0]]
        at_end = (low is not None and place <= low) or (high is not None and place >= high)
        if at_end:
            self.notes[_ENDS] = None
        return at_end

    def known_noise(self, symbol: Symbol, noise: Noise) -> None:
        self.supports.noises[symbol] = noise

    def entails(self, condition: Condition) -> bool:
        return not self.possible((condition.negated(),))
