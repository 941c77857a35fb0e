"""Loops over the records, and loops that draw again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Code, Instruction, successors
from dpest.reading.contributions.arithmetic import is_number, is_plain, share, unshared
from dpest.reading.contributions.forms import (
    TOTAL,
    SymbolicForm,
    Unread,
    form_of,
)
from dpest.reading.contributions.ledger import Recording
from dpest.reading.contributions.persons import PERSON, person_totals
from dpest.reading.contributions.values import (
    Bound,
    Case,
    DrawMethod,
    Held,
    LoweredFunction,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    RecordTruth,
    Rows,
    RowsIterator,
    Seq,
    SharedVariable,
    SmallArray,
    Stepped,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame

_ROUNDS = 8
_MOST_LISTS = 64
_MANY = 64  # values of a field that are looked at one by one
_MOST = 255  # the same for a graph of sums, which does so in any case
_CONTAINERS = (Seq, Map, SmallArray, SharedVariable, ProgramObject, PlainIterator)
_Place = tuple[Any, ...]

KEYS = (
    "which values occur in the data is private, however noisy their counts are. Ask for the values "
    "that can occur: [c[v] for v in range(k)]"
)
_WHOLE: dict[str, Callable[..., int]] = {
    "min": lambda *v: min(v), "max": lambda *v: max(v), "abs": abs, "mul": lambda a, b: a * b
}  # fmt: skip


class Absent:
    """What a dict has for a key that a record brings: nothing yet, which counts as 0."""


class Left:
    """What a loop over the records left in a variable: it depends on the last one."""


class NeedsKey(Unread):
    """A record puts something into a list that a dict has by default, and does not have yet."""

    def __init__(self, owner: Map, key: Any) -> None:
        super().__init__("a list for each key of the data, outside of a loop over the records")
        self.owner, self.key = owner, key


class Snapshot:
    """All containers that frames hold, and the registers of the last frame: to go back to."""

    def __init__(self, frames: list[CallFrame]) -> None:
        self.frame = frames[-1]
        self.registers = dict(self.frame.registers)
        self.kept: dict[int, tuple[Any, Any]] = {}
        for frame in frames:
            for value in (*frame.registers.values(), frame.yielded):
                self._walk(value)

    def _walk(self, value: Any) -> None:
        if isinstance(value, tuple):
            for v in value:
                self._walk(v)
        elif _holds(value) and id(value) not in self.kept:
            inside = _inside(value)
            self.kept[id(value)] = (value, inside)
            for v in inside.values() if isinstance(inside, dict) else inside:
                self._walk(v)
            if isinstance(value, PlainIterator):
                self._walk(tuple(value.values))
        else:
            self._walk(held_by(value))

    def restore(self) -> None:
        self.frame.registers.clear()
        self.frame.registers.update(self.registers)
        for value, inside in self.kept.values():
            if isinstance(value, Seq):
                value.items = list(inside)
            elif isinstance(value, Map):
                value.items = dict(inside)
            elif isinstance(value, ProgramObject):
                value.attributes = dict(inside)
            elif isinstance(value, SmallArray):
                value.cells = list(inside)
            elif isinstance(value, PlainIterator):
                (value.place,) = inside
            elif isinstance(value, Object):
                value.restore(dict(inside))
            else:
                (value.value,) = inside

    def changes(self) -> Iterator[tuple[_Place, Any, Any]]:
        """Places whose value is another now: (place, before, now)."""
        for name, now in self.frame.registers.items():
            before = self.registers.get(name, Left)
            if not same_value(before, now):
                yield ("register", name), before, now
        for key, (value, inside) in self.kept.items():
            now = _inside(value)
            if isinstance(inside, dict):
                if [k for k in now if k in inside] != list(inside) or (
                    len(now) > len(inside) and not isinstance(value, Map)
                ):
                    raise Unread("a dict that grows with the data, or loses keys")
                for k in now:
                    if k not in inside:
                        yield ("inside", key, k), Absent, now[k]
                for k in inside:
                    if not same_value(inside[k], now[k]):
                        yield ("inside", key, k), inside[k], now[k]
                continue
            if len(now) != len(inside):
                raise Unread("a list that grows with the data")
            for k, (a, b) in enumerate(zip(inside, now, strict=True)):
                if not same_value(a, b):
                    yield ("inside", key, k), a, b

    def before(self, place: _Place) -> Any:
        """What a place held."""
        if place[0] == "register":
            return self.registers.get(place[1], Left)
        return self.kept[place[1]][1][place[2]]

    def put(self, place: _Place, value: Any) -> None:
        if place[0] == "register":
            self.frame.registers[place[1]] = value
            return
        owner = self.kept[place[1]][0]
        if isinstance(owner, (Seq, Map)):
            owner.items[place[2]] = value
        elif isinstance(owner, ProgramObject):
            owner.attributes[place[2]] = value
        elif isinstance(owner, SmallArray):
            owner.cells[place[2]] = value
        elif isinstance(owner, SharedVariable):
            owner.value, owner.full = value, True
        else:
            raise Unread("something that goes on from record to record")


def _holds(value: Any) -> bool:
    """Whether a value can be changed in place."""
    if isinstance(value, Object):
        return value.state() is not None
    return isinstance(value, _CONTAINERS)


def _inside(value: Any) -> Any:
    if isinstance(value, Object):
        return dict(value.state() or {})
    if isinstance(value, Seq):
        return list(value.items)
    if isinstance(value, Map):
        return dict(value.items)
    if isinstance(value, ProgramObject):
        return dict(value.attributes)
    if isinstance(value, SmallArray):
        return list(value.cells)
    return [value.place if isinstance(value, PlainIterator) else value.value]


def held_by(value: Any) -> tuple[Any, ...]:
    """What functions and methods hold: variables of outer functions, their objects."""
    if isinstance(value, LoweredFunction):
        return (*value.cells, *value.defaults.values())
    if isinstance(value, (Bound, Held)):
        return value.held() if isinstance(value, Held) else (value.owner,)
    return ()


def same_value(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if (
        is_plain(a)
        and is_plain(b)
        and not isinstance(a, SmallArray)
        and not isinstance(b, SmallArray)
    ):
        return type(a) is type(b) and bool(a == b)
    return isinstance(a, SymbolicForm) and isinstance(b, SymbolicForm) and a == b


@functools.lru_cache(maxsize=1024)
def body_of(code: Code, head: int) -> frozenset[int]:
    """The instructions of a loop: from behind its head back to it."""
    forward = {head + 1}
    pending = [head + 1]
    while pending:
        for after in successors(code, pending.pop()):
            if after != head and after not in forward:
                forward.add(after)
                pending.append(after)
    found: set[int] = set()
    grown = True
    while grown:
        grown = False
        for pc in forward - found:
            if any(after == head or after in found for after in successors(code, pc)):
                found.add(pc)
                grown = True
    return frozenset(found)


class Loops(Recording):
    """The loops whose number of turns is private, or not known."""

    frames: list[Any]
    key: SymbolicForm | None = None  # the count of the key at hand, in a loop over keys of the data

    def __init__(self) -> None:
        super().__init__()
        self.loop_count = 0
        self.coin_count = 0
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
        moving: dict[_Place, Any] = {}
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
        if id(needed.owner) not in outside.kept or len(needed.owner.items) > _MOST_LISTS:
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
        moving: dict[_Place, Any],
        absent: bool = False,
    ) -> tuple[list[Any], list[Any]] | None:
        """The cases of a record, with totals in the places that move; None if more places do.

        `absent`: as the first record that brings a key to a dict finds it, without the key.
        """
        outside.restore()
        for k, (place, before) in enumerate(moving.items()):
            if before is Absent:
                outside.kept[place[1]][0].growing = True
                if absent:
                    continue
            outside.put(place, self._total(before, (self.loop_count, k)))
        start = Snapshot(self.frames)
        more: dict[_Place, Any] = {}
        cases: list[tuple[tuple[RecordTruth, ...], dict[_Place, Any], dict[int, Any]]] = []
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
        moving: dict[_Place, Any],
        cases: list[Any],
    ) -> None:
        """A key that a record brings to a dict: without it the same must happen as with 0 there."""
        names = {p: (self.loop_count, k) for k, p in enumerate(moving) if moving[p] is Absent}
        if not names:
            return
        found = self._round(frame, instruction, iterator, outside, moving, absent=True)
        for place in names:
            outside.kept[place[1]][0].growing = False
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

    def _before(self, outside: Snapshot, place: _Place, before: Any) -> Any:
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
    ) -> list[tuple[_Place, Any, Any]]:
        head = frame.pc
        counted = instruction.op == "counted"
        first, back = (instruction.first, instruction.head) if counted else (head + 1, head)
        frame.pc = first
        self.outer = set(start.kept)
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
        self, outside: Snapshot, moving: dict[_Place, Any], cases: list[Any], totals: list[Any]
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
                outside.kept[place[1]][0].partial.add(place[2])
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

    def pinned(self, value: Any) -> Any:
        """A whole number of the record, as a plain one, by cases."""
        if self.record is None or not isinstance(value, SymbolicForm) or not value.terms:
            return value
        field = self._small_field(value)
        if field is None:
            return value
        symbol, low, high = field
        for k in range(low, high):
            if self.decide(RecordTruth("==", form_of({symbol: Fraction(1)}, Fraction(-k)))):
                return self._whole_at(value, symbol, k)
        last = RecordTruth("==", form_of({symbol: Fraction(1)}, Fraction(-high)))
        if last not in self.record.taken:
            self.record.taken.append(last)  # there is no other: it follows, and it tells more
        return self._whole_at(value, symbol, high)

    def whole_range(self, value: Any) -> tuple[Any, Any]:
        """Between which numbers a whole number of the record lies; None: of no known bounds."""
        field = self._small_field(value) if isinstance(value, SymbolicForm) else None
        if field is None:
            return None, None
        symbol, low, high = field
        values = [self._whole_at(value, symbol, k) for k in range(low, high + 1)]
        return min(values), max(values)

    def _small_field(self, value: SymbolicForm) -> tuple[int, int, int] | None:
        """The one field of few whole values that a number is computed of, and its ends."""
        symbols = self._fields_in(value)
        if symbols is None or len(symbols) != 1:
            return None
        (symbol,) = symbols
        low, high, whole = self.fields[self.terms.nodes[symbol][2]]
        if not whole or low is None or high is None:
            return None
        few = high - low <= (_MOST if self.by_cases else _MANY)
        return (symbol, int(low), int(high)) if few else None

    def _fields_in(self, value: SymbolicForm) -> set[int] | None:
        """The fields that a whole number is computed of; None: by other than whole numbers."""
        if value.constant.denominator != 1:
            return None
        found: set[int] = set()
        for symbol, c in value.terms:
            op, *given = self.terms.nodes[symbol]
            if c.denominator != 1 or op not in ("field", *_WHOLE):
                return None
            inside = [{symbol}] if op == "field" else [self._fields_in(a) for a in given]
            for one in inside:
                if one is None:
                    return None
                found |= one
        return found

    def _whole_at(self, value: SymbolicForm, field: int, number: int) -> int:
        """A whole number where the field that it is computed of has a value."""
        total = value.constant
        for symbol, c in value.terms:
            op, *given = self.terms.nodes[symbol]
            if symbol == field:
                total += c * number
            else:
                total += c * _WHOLE[op](*(self._whole_at(a, field, number) for a in given))
        return int(total)

    # Drawing again -------------------------------------------------------------------------------

    def rejected(self, frame: CallFrame, truth: RecordTruth) -> bool:
        """A draw that is repeated until it is small enough; otherwise the draw is made visible."""
        assert truth.form is not None
        found = self._bound_of(truth)
        if found is None or self.record is not None:
            return self.decide(self._seen_truth(truth))
        noise, most, accept = found
        if not self._draws_again(frame, noise, accept):
            return self.decide(self._seen_truth(truth))
        old = self.ledger.noises[noise]
        self.ledger.noises[noise] = replace(old, most=most)
        return accept

    def _bound_of(self, truth: RecordTruth) -> tuple[int, Fraction, bool] | None:
        """(noise, A, which answer means that |noise| ≤ A)."""
        assert truth.form is not None
        ((symbol, slope),) = truth.form.terms
        node = self.terms.nodes[symbol]
        if node[0] != "abs" or truth.relation not in (">", ">="):
            return None
        inner: SymbolicForm = node[1]
        if inner.constant or len(inner.terms) != 1:
            return None
        ((drawn, factor),) = inner.terms
        most = -truth.form.constant / (slope * abs(factor))
        number = self.terms.nodes[drawn][1]
        if most <= 0 or self.ledger.noises[number].most is not None:
            return None
        return number, most, slope < 0

    def _seen_truth(self, truth: RecordTruth) -> RecordTruth:
        assert truth.form is not None
        ((symbol, slope),) = truth.form.terms
        node = self.terms.nodes[symbol]
        if node[0] == "abs":
            value = self.terms.absolute(self.visible(node[1]))
        else:
            value = self.visible(form_of({symbol: Fraction(1)}))
        return RecordTruth(truth.relation, value.times(slope) + form_of({}, truth.form.constant))

    def _draws_again(self, frame: CallFrame, noise: int, accept: bool) -> bool:
        """Whether the other way leads back here with one like draw in the place of the first."""
        here = frame.pc
        start = Snapshot(self.frames)
        count = len(self.ledger.noises)
        size = (len(self.ledger.rows), len(self.ledger.passes), len(self.ledger.gates))
        live = frame.code.live[here]
        before = {name: frame.registers[name] for name in live if name in frame.registers}
        frame.pc = frame.code.instructions[here].jumps[1 if accept else 0]
        steps = self.steps
        try:
            while frame.pc != here:
                self.steps += 1
                instruction = frame.code.instructions[frame.pc]
                if self.steps > steps + 200 or instruction.op in ("return", "next", "yield"):
                    return False
                if instruction.op == "branch" and not is_plain(
                    frame.registers[instruction.uses[0]]
                ):
                    return False
                self.step(frame, instruction)
            drawn = self.ledger.noises[count:]
            same = len(drawn) == 1 and drawn[0] == self.ledger.noises[noise]
            unchanged = size == (
                len(self.ledger.rows),
                len(self.ledger.passes),
                len(self.ledger.gates),
            )
            names = {
                name
                for place, _, _ in start.changes()
                for name in place[1:2]
                if place[0] == "register"
            }
            inside = any(place[0] == "inside" for place, _, _ in start.changes())
            alike = all(
                self._alike(before[name], frame.registers.get(name), count, noise)
                for name in before
            )
            return same and unchanged and not inside and alike and len(names) >= 0
        except Unread:
            return False
        finally:
            del self.ledger.noises[count:]
            start.restore()
            frame.pc = here

    def _alike(self, a: Any, b: Any, new: int, old: int) -> bool:
        """Equal, with the new draw in the place of the old one."""
        if isinstance(a, RecordTruth) and isinstance(b, RecordTruth):
            if a.form is None or b.form is None:
                return a == b
            return a.relation == b.relation and self._alike(a.form, b.form, new, old)
        if isinstance(a, SymbolicForm) and isinstance(b, SymbolicForm):
            return a == self._renamed(b, new, old)
        if isinstance(a, DrawMethod) and isinstance(b, DrawMethod):
            return a.family == b.family
        return same_value(a, b)

    def _renamed(self, form: SymbolicForm, new: int, old: int) -> SymbolicForm:
        found = form_of({}, form.constant)
        for symbol, c in form.terms:
            node = self.terms.nodes[symbol]
            if node == ("noise", new):
                found += self.terms.of("noise", old).times(c)
            elif node[0] == "abs":
                found += self.terms.absolute(self._renamed(node[1], new, old)).times(c)
            else:
                found += form_of({symbol: c})
        return found

    steps: int

    def step(self, frame: Any, instruction: Instruction) -> None:
        raise NotImplementedError
