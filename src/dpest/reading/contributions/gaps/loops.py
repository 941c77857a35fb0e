"""Loops over the gaps between sorted records: one of them goes through the body.

It is read for a gap that has a length, and for one that has none. A loop may put a value for each
gap into a list, add values up, take the largest, keep the place of the largest of noisy scores, or
add weights up until a uniform share of all of them is reached: then the gap at hand was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Code, Instruction, successors
from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.snapshots import Left, Snapshot, same_value
from dpest.reading.contributions.forms import SymbolicForm, Unread, form_of, number
from dpest.reading.contributions.gaps.drawing import (
    chosen_by_walk,
    first_of,
    noise_of_gaps,
    raced,
    share_of_all,
)
from dpest.reading.contributions.gaps.values import PerGap, at_choice, in_case, is_of_gap
from dpest.reading.contributions.gaps.weights import over_gaps, sign_of, weight_of_gap
from dpest.reading.contributions.values import Drained, RecordTruth, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.control.stack import CallFrame
    from dpest.reading.contributions.machine import ContributionMachine

_MOST_STEPS = 2000
_TOO_MUCH = "a loop over the gaps between records that does more than is known"


@dataclass
class GapTurn:
    """A turn of a loop: its answer to a decision about what the loop carries on, and what it did.

    `outer`: containers that were there before. `noise`: the draw of each turn of the loop.
    """

    case: str
    answer: bool
    outer: frozenset[int]
    noise: dict[str, SymbolicForm]
    decision: RecordTruth | None = None
    appended: dict[int, tuple[Seq, list[Any]]] = field(default_factory=dict)
    draws: int = 0
    writes: list[tuple[PerGap, Any]] = field(default_factory=list)
    left: int | None = None
    """The instruction at which it left the loop."""
    changed: dict[str, Any] = field(default_factory=dict)


def decided(m: ContributionMachine, truth: RecordTruth) -> bool:
    """A decision about the gap at hand: by its length, or by what the loop carries on."""
    assert truth.form is not None
    sign = sign_of(m, truth.form)
    if sign:
        known = {">": sign > 0, ">=": sign > 0, "==": False, "!=": True}
        return known[truth.relation]
    turn: GapTurn | None = m.gaps.turn
    if turn is not None and not turn.writes and _carried(m, truth.form, "sum so far"):
        if turn.decision is None:
            turn.decision = truth
        if turn.decision == truth:
            return turn.answer
        if turn.decision.negated() == truth:
            return not turn.answer
    raise Unread("a decision about the gaps between records, or about which of them was chosen")


def _carried(m: ContributionMachine, form: SymbolicForm, *more: str) -> dict[int, Fraction]:
    return {s: c for s, c in form.terms if m.terms.nodes[s][0] in ("carried", *more)}


def body_of_gaps(code: Code, head: int) -> frozenset[int]:
    """The instructions of a loop from which it comes back to its head, and not by a new start."""
    iterator = code.instructions[head].uses[0]
    starts = {pc for pc, i in enumerate(code.instructions) if i.dst == iterator}
    forward, pending = {head + 1}, [head + 1]
    while pending:
        for after in successors(code, pending.pop()):
            if after != head and after not in forward and after not in starts:
                forward.add(after)
                pending.append(after)
    found: set[int] = set()
    grown = True
    while grown:
        more = {
            pc for pc in forward - found
            if any(after == head or after in found for after in successors(code, pc))
        }  # fmt: skip
        grown = bool(more)
        found |= more
    return frozenset(found)


class GapLoop:
    """One loop over the gaps, with all turns that are looked at."""

    def __init__(
        self, m: ContributionMachine, frame: CallFrame, instruction: Instruction, gaps: PerGap
    ) -> None:
        if m.in_pass or m.key is not None or m.gap_case is not None or m.joining or m.by_cases:
            raise Unread("a loop over the gaps between records inside of another")
        if frame.lazy:
            raise Unread("a generator that goes over the gaps between records, one by one")
        self.m, self.frame, self.instruction, self.gaps = m, frame, instruction, gaps
        self.head = frame.pc
        self.body = body_of_gaps(frame.code, self.head)
        m.gaps.loops += 1
        self.noise: dict[str, SymbolicForm] = {}
        self.start = Snapshot(m.frames)
        self.symbols: dict[str, int] = {}
        self.carried: dict[str, Any] = {}
        self._name_what_goes_on()

    def _name_what_goes_on(self) -> None:
        """What a turn may hand on to the next: numbers as symbols, all else as nothing known."""
        m = self.m
        written = {self.frame.code.instructions[pc].dst for pc in self.body}
        names = {name for name in written if name is not None}
        for name in sorted(names & self.frame.code.live[self.head] & set(self.start.registers)):
            value = self.start.registers[name]
            if is_number(value) or isinstance(value, SymbolicForm):
                symbol = m.terms.symbol(("carried", f"{name} {m.gaps.loops}"))
                self.symbols[name] = symbol
                self.carried[name] = form_of({symbol: Fraction(1)})
            else:
                self.carried[name] = Left()

    def run(self) -> None:
        first = self.turn("wide", True)
        if first.decision is None:
            self._without_decision(first)
            return
        second = self.turn("wide", False)
        if first.appended or second.appended or first.writes or second.writes:
            raise Unread(_TOO_MUCH)
        if (first.left is None) != (second.left is None):
            leaving, staying = (second, first) if first.left is None else (first, second)
            self._walk(leaving, staying)
        elif first.left is None:
            self._largest(first, second)
        else:
            raise Unread(_TOO_MUCH)

    def turn(self, case: str, answer: bool) -> GapTurn:
        m, frame, start = self.m, self.frame, self.start
        start.restore()
        frame.registers.update(self.carried)
        before = dict(frame.registers)
        turn = m.gaps.turn = GapTurn(case, answer, frozenset(start.containers), self.noise)
        if self.instruction.dst is not None:
            frame.registers[self.instruction.dst] = (
                self.gaps.wide if case == "wide" else self.gaps.empty
            )
        try:
            with in_case(m, case):
                self._go(turn)
        finally:
            m.gaps.turn = None
            frame.pc = self.head
        for place, _, _ in start.changes():
            if place[0] != "register":
                raise Unread(_TOO_MUCH)
        turn.changed = {
            name: now
            for name, now in frame.registers.items()
            if name not in before or not same_value(before[name], now)
        }
        return turn

    def _go(self, turn: GapTurn) -> None:
        frame = self.frame
        frame.pc = self.head + 1
        for _ in range(_MOST_STEPS):
            if frame.pc == self.head:
                return
            if frame.pc not in self.body:
                turn.left = frame.pc
                return
            self.m.steps += 1
            self.m.step(frame, frame.code.instructions[frame.pc])
        raise Unread(_TOO_MUCH)

    # What it comes to ----------------------------------------------------------------------------

    def _settle_noise(self) -> None:
        """A loop that skips gaps of length 0 draws for the others alone."""
        if self.noise and "empty" not in self.noise:
            k = self.m.terms.nodes[self.noise["wide"].symbols[0]][1]
            self.m.ledger.noises[k] = replace(self.m.ledger.noises[k], gaps="wide")

    def _leave(self, pc: int, changed: dict[str, Any]) -> None:
        """Goes on behind the loop; what only a turn has is of no use there."""
        self.start.restore()
        self._settle_noise()
        names = {self.frame.code.instructions[p].dst for p in self.body} | {self.instruction.dst}
        for name in names:
            if name is not None:
                self.frame.registers.pop(name, None)
        self.frame.registers.update(changed)
        if self.instruction.extra is not None:
            self.frame.registers[self.instruction.extra] = None
        self.frame.pc = pc

    def _without_decision(self, wide: GapTurn) -> None:
        """Lists that grow by a value for each gap, sums, and the largest value."""
        empty = self.turn("empty", True)
        if wide.left is not None or empty.left is not None or empty.decision is not None:
            raise Unread("a loop over the gaps between records that ends early")
        if set(wide.appended) != set(empty.appended):
            raise Unread("a list of some of the gaps between records: give the others weight 0")
        after = {}
        for name, symbol in self.symbols.items():
            found = self._summed_up(name, symbol, wide, empty)
            if found is not None:
                after[name] = found
        lists = {}
        for key, (seq, values) in wide.appended.items():
            others = empty.appended[key][1]
            if len(values) != 1 or len(others) != 1 or seq.items or seq.rows is not None:
                raise Unread(_TOO_MUCH)
            lists[key] = (seq, PerGap(values[0], others[0], False))
        still = self._still(wide, empty)
        self._leave(self.instruction.jumps[0], {**still, **after})
        for seq, listed in lists.values():
            self._put(seq, listed)
        for turn in (wide, empty):
            for owner, value in turn.writes:
                setattr(owner, turn.case, value)

    def _still(self, *turns: GapTurn) -> dict[str, Any]:
        """What is carried on, and no turn changes."""
        names = [n for n in self.carried if not any(n in t.changed for t in turns)]
        return {n: self.start.registers[n] for n in names}

    def _put(self, seq: Any, values: PerGap) -> None:
        """The values of all gaps in the place of the list that grew; other names of it are void."""
        for frame in self.m.frames:
            for name, value in frame.registers.items():
                if value is seq:
                    frame.registers[name] = values
            if frame.yielded is seq:
                frame.yielded = values
        seq.items = [Drained()]

    def _summed_up(self, name: str, symbol: int, wide: GapTurn, empty: GapTurn) -> Any:
        m, before = self.m, self.start.registers[name]
        own = form_of({symbol: Fraction(1)})
        ends = [t.changed.get(name, own) for t in (wide, empty)]
        if all(same_value(e, own) for e in ends):
            return before
        if not all(is_number(e) or isinstance(e, SymbolicForm) for e in ends):
            return None
        node = m.terms.nodes[m.form(ends[0]).symbols[0]] if m.form(ends[0]).terms else ("",)
        if node[0] == "max" and own in node[1:] and before == -math.inf:
            rest = [a for a in node[1:] if a != own]
            value = rest[0] if len(rest) == 1 else m.terms.greatest(rest)
            if _carried(m, value) or not same_value(ends[1], own):
                return None
            return over_gaps(m, "max", PerGap(value, -math.inf, True))
        added = [m.form(e) - own for e in ends]
        if any(self._has_carried(a) for a in added) or added[1] != number(0):
            return None
        return m.tidy(m.form(before) + over_gaps(m, "sum", PerGap(added[0], 0.0, True)))

    def _has_carried(self, form: SymbolicForm) -> bool:
        nodes = self.m.terms.nodes
        pending, seen = list(form.symbols), set()
        while pending:
            s = pending.pop()
            if s in seen:
                continue
            seen.add(s)
            if nodes[s][0] == "carried":
                return True
            pending += [t for a in nodes[s][1:] if isinstance(a, SymbolicForm) for t in a.symbols]
        return False

    # A walk along sums of weights ----------------------------------------------------------------

    def _walk(self, leaving: GapTurn, staying: GapTurn) -> None:
        m = self.m
        assert staying.decision is not None
        assert leaving.left is not None
        truth = staying.decision if leaving.answer else staying.decision.negated()
        if truth.relation not in (">", ">=") or truth.form is None or leaving.decision is None:
            raise Unread(_TOO_MUCH)
        name, weight, target, plain = self._so_far(truth.form, staying)
        turns = (leaving, staying, *self._need_still(name, plain))
        uniform = share_of_all(m, target, weight)
        found = chosen_by_walk(m, weight_of_gap(m, weight), uniform)
        k = m.terms.nodes[found.symbols[0]][1]
        still = self._still(*turns)
        self._leave(leaving.left, {**still, **self._at(k, leaving.changed)})

    def _so_far(
        self, form: SymbolicForm, staying: GapTurn
    ) -> tuple[str, SymbolicForm, SymbolicForm, SymbolicForm]:
        """Of a sum of weights against a number: what carries it, the weight, the number.

        And the form before the weight of the gap at hand was added.
        """
        m = self.m
        for symbol, slope in form.terms:
            node = m.terms.nodes[symbol]
            if node[0] == "sum so far":
                rest = form - form_of({symbol: slope})
                if is_of_gap(m, rest):
                    break
                return "", node[1].times(slope), -rest, form
        carried = _carried(m, form)
        if len(carried) != 1:
            raise Unread(_TOO_MUCH)
        ((symbol, slope),) = carried.items()
        (name,) = (n for n, s in self.symbols.items() if s == symbol)
        own = form_of({symbol: Fraction(1)})
        step = (m.form(staying.changed.get(name, own)) - own).times(slope)
        rest = form - own.times(slope) - step
        if self._has_carried(step) or is_of_gap(m, rest):
            raise Unread("a walk along weights of gaps that chooses another gap than it stands at")
        start = m.form(self.start.registers[name]).times(slope)
        return name, step, -rest - start, form - step

    def _need_still(self, name: str, plain: SymbolicForm) -> list[GapTurn]:
        """A gap of length 0 adds nothing, so that it is come to with chance 0; its turns."""
        turns = []
        for answer in (True, False):
            empty = self.turn("empty", answer)
            turns.append(empty)
            if empty.appended or empty.writes:
                raise Unread(_TOO_MUCH)
            if empty.left is None:
                if name in empty.changed:
                    raise Unread("gaps between equal records, of length 0, that count")
                continue
            seen = empty.decision if answer or not empty.decision else empty.decision.negated()
            if seen is None or seen.form != plain or seen.relation not in (">", ">="):
                raise Unread("gaps between equal records, of length 0, that are chosen")
        return turns

    # The place of the largest --------------------------------------------------------------------

    def _largest(self, first: GapTurn, second: GapTurn) -> None:
        """`if score > best: best, place = score, i`, from minus infinity on; or the least."""
        m = self.m
        taking, leaving = (second, first) if self._moves(second) else (first, second)
        truth = taking.decision
        assert truth is not None
        truth = truth if taking.answer else truth.negated()
        if truth.form is None or truth.relation not in (">", ">=") or self._moves(leaving):
            raise Unread(_TOO_MUCH)
        carried = _carried(m, truth.form)
        names = [n for n, s in self.symbols.items() if s in carried]
        if len(carried) != 1 or len(names) != 1:
            raise Unread(_TOO_MUCH)
        (name,), ((_, slope),) = names, carried.items()
        score = m.form(taking.changed.get(name, 0))
        exact = (score - self.carried[name]).times(-slope) == truth.form
        if not exact or self.start.registers[name] != math.copysign(math.inf, slope):
            raise Unread("the largest value of the gaps, other than from minus infinity on")
        for answer in (True, False):
            empty = self.turn("empty", answer)
            if self._moves(empty) or empty.left is not None or empty.decision is not None:
                raise Unread("gaps between equal records, of length 0, that may be chosen")
        found = raced(m, score) if slope < 0 else first_of(m, score)
        k = m.terms.nodes[found.symbols[0]][1]
        won = {n: v for n, v in taking.changed.items() if n in self.carried}
        self._leave(self.instruction.jumps[0], {**self._still(taking), **self._at(k, won)})

    def _moves(self, turn: GapTurn) -> dict[str, Any]:
        """What a turn changed of what is carried on."""
        return {n: v for n, v in turn.changed.items() if n in self.carried}

    def _at(self, k: int, changed: dict[str, Any]) -> dict[str, Any]:
        """What a turn left in variables, of the gap that was chosen; without what is no such."""
        found = {}
        for name, value in changed.items():
            if isinstance(value, SymbolicForm) and self._has_carried(value):
                continue
            try:
                found[name] = at_choice(self.m, k, value)
            except Unread:
                continue
        return found


def pass_over_gaps(
    m: ContributionMachine, frame: CallFrame, instruction: Instruction, gaps: PerGap
) -> None:
    GapLoop(m, frame, instruction, gaps).run()


def drawn_in_turn(m: ContributionMachine, family: str, loc: Any, scale: Any) -> Any:
    """Noise for the gap at hand: one draw in each turn of a loop."""
    turn: GapTurn | None = m.gaps.turn
    if turn is None or turn.draws or m.joining or not is_number(loc) or loc != 0:
        raise Unread("several draws for each gap between records, or noise around its values")
    turn.draws = 1
    if "wide" not in turn.noise:
        turn.noise["wide"] = noise_of_gaps(m, family, scale, "all")
    turn.noise[turn.case] = turn.noise["wide"]
    return turn.noise["wide"]
