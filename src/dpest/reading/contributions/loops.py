"""Loops over the records: one of them goes through the body, and what it adds becomes sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import is_number, is_plain, share, unshared
from dpest.reading.contributions.control.bodies import body_of
from dpest.reading.contributions.control.redrawing import rejected
from dpest.reading.contributions.control.snapshots import Absent, Left, Place, Snapshot, same_value
from dpest.reading.contributions.control.whole_numbers import pinned
from dpest.reading.contributions.forms import TOTAL, SymbolicForm, Unread
from dpest.reading.contributions.ledger import Recording
from dpest.reading.contributions.persons import PERSON, person_totals
from dpest.reading.contributions.values import (
    Case,
    Map,
    RecordTruth,
    Rows,
    RowsIterator,
    Seq,
    SmallArray,
    Stepped,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame


_ROUNDS = 8
_MOST_LISTS = 64

KEYS = (
    "which values occur in the data is private, however noisy their counts are. Ask for the values "
    "that can occur: [c[v] for v in range(k)]"
)


class NeedsKey(Unread):
    """A record puts something into a list that a dict has by default, and does not have yet."""

    def __init__(self, owner: Map, key: Any) -> None:
        super().__init__("a list for each key of the data, outside of a loop over the records")
        self.owner, self.key = owner, key


class Loops(Recording):
    """The loops whose number of turns is private, or not known."""

    frames: list[Any]
    gaps: Any
    """What is known of gaps between sorted records."""

    key: SymbolicForm | None = None  # the count of the key at hand, in a loop over keys of the data

    def __init__(self) -> None:
        super().__init__()
        self.loop_count = 0
        self.coin_count = 0
        self.apart = False  # whether functions are called for records one apart from the other
        self.appended: dict[int, tuple[Seq, list[Any]]] | None = None
        self.looked_for: set[int] = set()  # dicts of which a record asked whether they have a key
        self.touched: dict[int, set[Any]] = {}  # keys that it uses of dicts that grow
        self.outer: set[int] = set()  # containers that were there before the record
        self.confined: tuple[Any, frozenset[int]] | None = None
        self.fields: dict[Any, tuple[Any, Any, bool]] = {}

    def run_until(self, frame: Any, stop: int | None) -> tuple[bool, Any]:
        raise NotImplementedError

    # Over the records ----------------------------------------------------------------------------

    def pass_over(self, frame: CallFrame, instruction: Any, iterator: RowsIterator) -> None:
        """One generic record goes through the body; what it adds to variables becomes sums."""
        if self.record is not None or self.key is not None:
            raise Unread("a loop over the records inside of another")
        self.loop_count += 1
        outside = Snapshot(self.frames)
        moving: dict[Place, Any] = {}
        rounds = 0
        while rounds < _ROUNDS:
            rounds += 1
            try:
                found = self._round(frame, instruction, iterator, outside, moving)
            except NeedsKey as needed:
                outside = self._with_list(frame, outside, needed)
                rounds, moving = 0, {}
                continue
            if found is not None:
                self._need_alike(frame, instruction, iterator, outside, moving, found[0])
                self._settle(outside, moving, *found)
                frame.pc = instruction.jumps[0]
                return
        raise Unread("a loop whose variables keep changing")

    def _with_list(self, frame: CallFrame, outside: Snapshot, needed: NeedsKey) -> Snapshot:
        """As if the list had been there: an empty one is as good as none, but for the keys."""
        outside.restore()
        self.record, self.appended = None, None
        if id(needed.owner) not in outside.containers or len(needed.owner.items) > _MOST_LISTS:
            raise Unread("a dict of very many lists, or of one record")
        needed.owner.items[needed.key] = Seq()
        needed.owner.partial.add(needed.key)
        return Snapshot(self.frames)

    def _round(
        self,
        frame: CallFrame,
        instruction: Any,
        iterator: RowsIterator,
        outside: Snapshot,
        moving: dict[Place, Any],
        absent: bool = False,
    ) -> tuple[list[Any], list[Any]] | None:
        """The cases of a record, with totals in the places that move; None if more places do.

        `absent`: as the first record that brings a key to a dict finds it, without the key.
        """
        outside.restore()
        for k, (place, before) in enumerate(moving.items()):
            if before is Absent:
                outside.containers[place[1]][0].growing = True
                if absent:
                    continue
            outside.put(place, self._total(before, (self.loop_count, k)))
        start = Snapshot(self.frames)
        more: dict[Place, Any] = {}
        cases: list[tuple[tuple[RecordTruth, ...], dict[Place, Any], dict[int, Any]]] = []
        for case in iterator.rows.cases:
            if not case.present:
                cases.append((case.conditions, {}, {}))
                continue

            def one(element: Any = case.element) -> Any:
                start.restore()
                changed = self._body(frame, instruction, element, start)
                for place, before, _ in changed:
                    if place not in moving:
                        more.setdefault(place, self._before(outside, place, before))
                return {p: now for p, _, now in changed}, dict(self.appended or {})

            try:
                for conditions, (now, grown) in self.in_record(case.conditions, one):
                    cases.append((conditions, now, grown))
            finally:
                self.appended = None
        start.restore()
        outside.restore()
        if more:
            moving.update(more)
            return None
        return cases, [start.registers.get(p[1]) if p[0] == "register" else None for p in moving]

    def _need_alike(
        self,
        frame: CallFrame,
        instruction: Instruction,
        iterator: RowsIterator,
        outside: Snapshot,
        moving: dict[Place, Any],
        cases: list[Any],
    ) -> None:
        """A key that a record brings to a dict: without it the same must happen as with 0 there."""
        names = {p: (self.loop_count, k) for k, p in enumerate(moving) if moving[p] is Absent}
        if not names:
            return
        found = self._round(frame, instruction, iterator, outside, moving, absent=True)
        for place in names:
            outside.containers[place[1]][0].growing = False
        if found is None or [c for c, _, _ in found[0]] != [c for c, _, _ in cases]:
            raise Unread("a dict that grows with the data, by decisions of its own")
        zero = {self._total(Absent, name).symbols[0] for name in names.values()}
        for (_, now, grown), (_, first, grown_first) in zip(cases, found[0], strict=True):
            if grown or grown_first:
                raise Unread("a dict that grows with the data, beside other changes")
            # Of what nobody can use in a later turn, or after the loop, nothing is asked.
            used = [p for p in {**now, **first} if moving[p] is not Left]
            for place in used:
                if place not in now or place not in first:
                    raise Unread("a dict that grows with the data, beside other changes")
                left = place[0] == "register"
                if not self._alike_at_zero(now[place], first[place], zero, left):
                    raise Unread("a key that the data bring starts with something else than 0")

    def has_key(self, mapping: Map, key: Any) -> bool:
        """Whether a dict that the records bring keys to has one, when a record comes.

        Both answers are looked at, with all of these keys there and with none of them. That is
        enough where a record uses this key alone (`touch`): others don't matter then.
        """
        self.looked_for.add(id(mapping))
        self.touch(mapping, key)
        return key in mapping.items

    def touch(self, mapping: Map, key: Any) -> None:
        """A key of a growing dict is used by the record at hand."""
        if mapping.growing and self.record is not None:
            keys = self.touched.setdefault(id(mapping), set())
            keys.add(key)
            if len(keys) > 1 and id(mapping) in self.looked_for:
                raise Unread("a record that looks for one key of the data, and uses another")

    def _alike_at_zero(self, a: Any, b: Any, zero: set[int], left: bool) -> bool:
        """Whether `a` with 0 for some totals is `b`; `left`: it is of no use after the loop."""
        if isinstance(a, SmallArray) and isinstance(b, SmallArray) and a.shape == b.shape:
            pairs = zip(a.cells, b.cells, strict=True)
            return all(self._alike_at_zero(x, y, zero, False) for x, y in pairs)
        if isinstance(a, SymbolicForm) and (isinstance(b, SymbolicForm) or is_number(b)):
            rest = SymbolicForm(tuple(t for t in a.terms if t[0] not in zero), a.constant)
            return rest == self.form(b)
        return same_value(a, b) or (
            left and not isinstance(b, (SymbolicForm, SmallArray)) and not is_number(b)
        )

    def _before(self, outside: Snapshot, place: Place, before: Any) -> Any:
        if place[0] == "register":
            return outside.registers.get(place[1], Left)
        return before

    def _total(self, before: Any, name: Any) -> Any:
        """What an accumulator holds when a record comes: a symbol; of arrays and lists, many."""
        if isinstance(before, SymbolicForm) or is_number(before) or before is Absent:
            return self.terms.of("total", name)
        if isinstance(before, SmallArray):
            cells = [self._total(c, (*name, i)) for i, c in enumerate(before.cells)]
            return SmallArray(before.shape, cells)
        if before is Left:
            return Left()
        return before if not isinstance(before, (Seq, Map)) else Left()

    def _body(
        self, frame: CallFrame, instruction: Any, element: Any, start: Snapshot
    ) -> list[tuple[Place, Any, Any]]:
        head = frame.pc
        counted = instruction.op == "counted"
        first, back = (instruction.first, instruction.head) if counted else (head + 1, head)
        frame.pc = first
        self.outer = set(start.containers)
        share(element)  # what is changed in one record's turn would be seen in another's
        if instruction.dst is not None:
            frame.registers[instruction.dst] = element
        self.appended, self.looked_for, self.touched = {}, set(), {}
        self.coin_count = 0
        before = self.confined
        self.confined = (frame, body_of(frame.code, back))
        try:
            done, _ = self.run_until(frame, back)
        finally:
            self.confined = before
            frame.pc = head
        if done:
            raise Unread("a loop over the records that ends early")
        if counted:
            if not isinstance(frame.registers.get(instruction.dst), Stepped):
                raise Unread("a loop over places that does not go on by one")
            frame.registers[instruction.dst] = start.registers[instruction.dst]
        return list(start.changes())

    def _settle(
        self, outside: Snapshot, moving: dict[Place, Any], cases: list[Any], totals: list[Any]
    ) -> None:
        """After the loop: what was there before, and the sums of what the records add."""
        for k, (place, before) in enumerate(moving.items()):
            name = (self.loop_count, k)
            old = self._total(before, name)
            if place[-1] is PERSON:
                adds = [(c, self._added(old, now.get(place))) for c, now, _ in cases]
                outside.put(place, person_totals(self, adds))
                continue
            after = [(c, now.get(place, old)) for c, now, _ in cases]
            outside.put(place, self._summed(before, old, after))
            if before is Absent:
                outside.containers[place[1]][0].partial.add(place[2])
        lists = {key: seq for _, _, grown in cases for key, (seq, _) in grown.items()}
        for key, seq in lists.items():
            seq.rows = self._rows(key, seq, cases)

    def _summed(self, before: Any, old: Any, after: list[tuple[Any, Any]]) -> Any:
        if isinstance(before, SmallArray) and isinstance(old, SmallArray):
            if not all(isinstance(v, SmallArray) and v.shape == before.shape for _, v in after):
                return Left()
            adds = [
                (c, [self._added(o, n) for o, n in zip(old.cells, v.cells, strict=True)])
                for c, v in after
            ]
            if any(a is None for _, parts in adds for a in parts):
                return Left()
            found = self.sums(adds)
            cells = [self.form(b) + s for b, s in zip(before.cells, found, strict=True)]
            return SmallArray(before.shape, list(cells))
        if isinstance(old, SymbolicForm):
            parts = [(c, [self._added(old, n)]) for c, n in after]
            if any(p[0] is None for _, p in parts):
                return Left()
            (total,) = self.sums(parts)
            return total if before is Absent else self.form(before) + total
        return Left()

    def _added(self, old: Any, now: Any) -> SymbolicForm | None:
        """What was added to a total; None where it was overwritten."""
        if not isinstance(old, SymbolicForm) or not (
            isinstance(now, SymbolicForm) or is_number(now)
        ):
            return None
        difference = self.form(now) - old
        return None if self.terms.kind(difference) & TOTAL else difference

    def _rows(self, key: int, seq: Seq, cases: list[Any]) -> Rows:
        if seq.items or seq.rows is not None:
            raise Unread("a list that grows with the data, and has other entries")
        found = []
        for conditions, _, grown in cases:
            values = grown.get(key, (seq, []))[1]
            if len(values) > 1:
                raise Unread("a list that grows by several entries for a record")
            found.append(Case(conditions, values[0] if values else None, bool(values)))
        return Rows(tuple(found), False)

    def append(self, seq: Any, value: Any) -> None:
        """list.append, and what a generator hands out."""
        if not isinstance(seq, Seq) or seq.rows is not None or seq.bag:
            raise Unread("an entry that is put into a list of the data")
        unshared(seq)
        turn = self.gaps.turn
        if turn is not None and id(seq) in turn.outer:
            if self.joining:
                raise Unread("a list that grows inside of a decision")
            turn.appended.setdefault(id(seq), (seq, []))[1].append(value)
            return
        if self.record is not None or self.key is not None:
            if self.appended is None:
                raise Unread("a list that grows with the data")
            if id(seq) not in self.outer:
                seq.items.append(value)  # a list of this record alone
                return
            self.appended.setdefault(id(seq), (seq, []))[1].append(value)
            return
        seq.items.append(value)

    def rows_item(self, rows: Rows, index: Any) -> Any:
        """x[mask], X[:, j], X[:, None]."""
        if isinstance(index, Rows):
            found = []
            for conditions, (case, mask) in self.crossed([rows, index]):
                if not case.present or not mask.present:
                    if case.present != mask.present:
                        raise Unread("a mask of other records")
                    found.append(Case(conditions, None, False))
                    continue

                def kept(option: Any = mask.element) -> bool:
                    truth = self.settled(option)
                    if not isinstance(truth, (RecordTruth, bool)) and not hasattr(truth, "parts"):
                        raise Unread("an index for every record that is no mask")
                    return self.decide(truth)

                for more, keep in self.in_record(conditions, kept):
                    found.append(Case(more, case.element if keep else None, keep))
            return Rows(tuple(found), rows.array)
        if index == slice(None):
            return rows
        if rows.array and isinstance(index, tuple) and index and index[0] == slice(None):
            if index == (slice(None), None):
                return self.per_record(lambda e: SmallArray((1,), [e]), rows)
            if len(index) == 2 and is_plain(index[1]):
                return self.per_record(lambda e: self.item(e, index[1]), rows)
        raise Unread("the place of a record")

    def item(self, owner: Any, index: Any) -> Any:
        raise NotImplementedError

    def is_whole(self, value: Any) -> bool:
        """Whether it is a whole number of the record, as it is given."""
        if not isinstance(value, SymbolicForm) or value.constant or len(value.terms) != 1:
            return False
        ((symbol, slope),) = value.terms
        node = self.terms.nodes[symbol]
        return bool(node[0] == "field" and slope == 1 and self.fields[node[2]][2])

    # Whole numbers, and draws that are repeated

    def pinned(self, value: Any) -> Any:
        return pinned(self, value)

    def rejected(self, frame: CallFrame, truth: RecordTruth) -> bool:
        return rejected(self, frame, truth)

    steps: int

    def step(self, frame: Any, instruction: Instruction) -> None:
        raise NotImplementedError
