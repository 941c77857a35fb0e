"""Entailment: Φ implies Ψ for all real values of the variables, by a proof that is checked.

Lemma. Φ ⊢ Ψ if Φ ∧ ¬Ψ has no solution. That is shown by a tree: a leaf has weights of Farkas's
lemma, under which the conditions at hand add up to a contradiction; an inner node takes a
disjunction at hand and has one subtree for each of its cases.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..farkas import need_empty, read_weights
from ..fields import Fields, listed
from ..forms import LinearInequality
from ..invalid import need
from .assertions import All, Assertion, Some, negated

_DEEPEST = 300


@dataclass(frozen=True)
class Hand:
    """What holds at a node, in the order in which it was laid open."""

    conditions: tuple[LinearInequality, ...]
    choices: tuple[Some, ...]

    def with_(self, assertion: Assertion) -> Hand:
        if isinstance(assertion, LinearInequality):
            return Hand((*self.conditions, assertion), self.choices)
        if isinstance(assertion, Some):
            return Hand(self.conditions, (*self.choices, assertion))
        found = self
        for part in assertion.parts:
            found = found.with_(part)
        return found


def need_entailed(premise: Assertion, goal: Assertion, proof: object, where: str) -> None:
    hand = Hand((), ()).with_(All((premise, negated(goal))))
    _need_contradiction(hand, proof, where, 0)


def _need_contradiction(hand: Hand, proof: object, where: str, depth: int) -> None:
    need(depth < _DEEPEST, f"{where}: too deeply nested")
    fields = Fields(proof, where)
    if fields.has("weights"):
        weights = read_weights(fields.take("weights"), where)
        fields.done()
        need_empty(hand.conditions, weights, {}, where)
        return
    place = fields.whole("split")
    cases = listed(fields.take("cases"), where)
    fields.done()
    need(0 <= place < len(hand.choices), f"{where}: a split of nothing")
    chosen = hand.choices[place]
    need(len(cases) == len(chosen.parts), f"{where}: not one proof for each case")
    rest = Hand(hand.conditions, hand.choices[:place] + hand.choices[place + 1 :])
    for part, case in zip(chosen.parts, cases, strict=True):
        _need_contradiction(rest.with_(part), case, where, depth + 1)
