"""Permute and flip: candidates in a random order, each with a coin of e^(score − largest score).

It is the race of the scores with exponential noise of scale 1 (Ding, Kifer, Sayed Saghaian E.,
Steinke, Wang, Xiao and Zhang 2021), so that nothing but the winner is told. The program must
therefore do the same after every candidate that was not chosen: a turn of its loop is read twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain, unshared
from dpest.reading.contributions.control.public import Recipe
from dpest.reading.contributions.control.snapshots import Snapshot, same_value
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.selections import chosen_by, with_options
from dpest.reading.contributions.values import Drained, Object, PublicValue, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.control.stack import CallFrame
    from dpest.reading.contributions.machine import ContributionMachine

_MOST_STEPS = 300


@dataclass(eq=False)
class CandidateDraws:
    """Candidates that are drawn one after the other, by whole numbers or in a random order.

    `uniform` and `exponents` are known when one of them is chosen by a coin.
    """

    items: tuple[Any, ...]
    pick: int
    permuted: bool
    uniform: int = -1
    exponents: tuple[SymbolicForm, ...] = ()


def CANDIDATE(drawing: CandidateDraws) -> Any:  # a mark: a replay throws the coins again
    raise AssertionError


@dataclass(eq=False)
class Permuted(Object):
    """rng.permutation(n): gone through, one candidate after the other."""

    count: int
    pick: int
    words = "a random order"

    def iterate(self, m: Any) -> Any:
        return self

    def length(self, m: Any) -> Any:
        return self.count

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "tolist":
            return self
        raise self.refused(f"the method `{name}`")

    def candidate(self, m: ContributionMachine) -> PublicValue:
        drawing = CandidateDraws(tuple(range(self.count)), self.pick, True)
        return PublicValue(Recipe(CANDIDATE, (drawing,)), len(m.ledger.rows))


def drawn_from(m: ContributionMachine, pool: Seq, place: Any) -> PublicValue | None:
    """pool.pop(i), i a whole number that was drawn last, between all places of the pool."""
    recipe = place.recipe if isinstance(place, PublicValue) else None
    while recipe is not None and recipe.function is int:
        recipe = getattr(recipe.arguments[0], "recipe", None)
    if recipe is None or len(recipe.arguments) != 4 or not m.races:
        return None
    pick, kind, low, count = recipe.arguments
    items = m.drained.get(id(pool), (pool, tuple(pool.items)))[1]
    if kind != "integers" or low != 0 or count != len(items) or pick != m.picks - 1:
        return None
    if (pool.drained and not m.flipping) or not all(map(is_plain, items)):
        return None
    if pool.rows is not None or pool.bag:
        return None
    unshared(pool)
    m.drained[id(pool)] = (pool, items)
    pool.items = [Drained() for _ in items] if not pool.drained else pool.items
    drawing = CandidateDraws(items, pick, False)
    return PublicValue(Recipe(CANDIDATE, (drawing,)), len(m.ledger.rows))


@dataclass(frozen=True, eq=False)
class Flip:
    """Whether a candidate is chosen by its coin; `heads`: which answer says so."""

    winner: PublicValue
    exponents: tuple[SymbolicForm, ...]
    uniform: int
    heads: bool

    @property
    def drawing(self) -> CandidateDraws:
        found: CandidateDraws = self.winner.recipe.arguments[0]
        return found


def flip_of(m: ContributionMachine, op: str, difference: SymbolicForm) -> Flip | None:
    """u against exp(c·(score of a candidate − largest score))."""
    if difference.constant or len(difference.terms) != 2:
        return None
    for (first, a), (second, b) in (difference.terms, difference.terms[::-1]):
        uniform = m.fresh_uniform(SymbolicForm(((first, Fraction(1)),), Fraction(0)))
        node = m.terms.nodes[second]
        if uniform is None or abs(a) != 1 or b != -a or node[0] not in ("exp", "npexp"):
            continue
        found = _scores(m, node[1])
        if found is not None:
            below = (op in ("<", "<=")) == (a > 0)
            return Flip(found[0], found[1], uniform, below)
    return None


def _scores(
    m: ContributionMachine, form: SymbolicForm
) -> tuple[PublicValue, tuple[SymbolicForm, ...]] | None:
    if form.constant or len(form.terms) != 2:
        return None
    for (first, c), (second, d) in (form.terms, form.terms[::-1]):
        pick, top = m.terms.nodes[first], m.terms.nodes[second]
        if pick[0] != "pick" or top[0] != "max" or c <= 0 or d != -c:
            continue
        forms = pick[2:]
        place = m.place_of(pick[1])
        if set(forms) == set(top[1:]) and place is not None:
            return place, tuple(f.times(c) for f in forms)
    return None


def settle(m: ContributionMachine, frame: CallFrame, flip: Flip) -> None:
    """The branch of a coin: after tails the loop must come back here, and nothing else be other."""
    here, start = frame.pc, Snapshot(m.frames)
    jumps = frame.code.instructions[here].jumps
    heads, tails = jumps if flip.heads else jumps[::-1]
    before, sizes = (m.uniforms, m.picks), m.extent()
    if len(flip.exponents) != len(flip.drawing.items) or m.flipping or m.joining:
        raise Unread("a coin of a candidate that is not one of all")
    m.flipping = True
    try:
        alike = _again(m, frame, flip, start, tails)
        same = m.extent()[:4] == sizes[:4] and m.extent()[-1] == sizes[-1]
        turn = (m.uniforms - before[0], m.picks - before[1])
    finally:
        m.flipping = False
        start.restore()
        frame.pc = here
        m.uniforms, m.picks = before
    if not alike or not same or turn != (1, 0 if flip.drawing.permuted else 1):
        raise Unread("a candidate that is not chosen leaves something behind")
    chosen_by(m, flip.exponents)
    m.cumulative[
        flip.uniform, SymbolicForm((), Fraction(0))
    ] = []  # the number itself is never told
    flip.drawing.uniform = m.terms.nodes[flip.uniform][1]
    flip.drawing.exponents = flip.exponents
    for name, value in frame.registers.items():
        if value is flip.winner:
            frame.registers[name] = with_options(flip.winner, flip.drawing.items)
    frame.pc = heads


def _again(
    m: ContributionMachine, frame: CallFrame, flip: Flip, start: Snapshot, tails: int
) -> bool:
    """Whether another turn comes to the same coin, of another candidate."""
    here = frame.pc
    live = frame.code.live[here]
    frame.pc = tails
    for _ in range(_MOST_STEPS):
        if frame.pc == here:
            break
        instruction = frame.code.instructions[frame.pc]
        if instruction.op in ("return", "yield"):
            return False
        if instruction.op == "branch":
            value = frame.registers[instruction.uses[0]]
            # Some are left: one of those that score the most was not drawn yet.
            if not is_plain(value) and id(value) not in m.drained:
                return False
        m.step(frame, instruction)
    else:
        return False
    for place, before, now in start.changes():
        if place[0] != "register":
            return False
        if place[1] in live and not _alike(flip, before, now):
            return False
    return True


def _alike(flip: Flip, before: Any, now: Any) -> bool:
    if isinstance(before, Flip) and isinstance(now, Flip):
        same = before.exponents == now.exponents and before.heads == now.heads
        return same and before.drawing.items == now.drawing.items
    if isinstance(before, PublicValue) and isinstance(now, PublicValue):
        return before is flip.winner and now.recipe.function is CANDIDATE
    return same_value(before, now)
