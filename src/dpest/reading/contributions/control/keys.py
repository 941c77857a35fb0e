"""Loops over the keys of the data: counts by key, noise for each, and a threshold below which
nothing is seen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.choices import DecisionScript, ways
from dpest.reading.contributions.control.snapshots import Left, Snapshot
from dpest.reading.contributions.forms import NOISE, RECORD, SUM, Raised, SymbolicForm, Unread
from dpest.reading.contributions.ledger import Gate
from dpest.reading.contributions.loops import KEYS, Loops
from dpest.reading.contributions.values import (
    Case,
    Drained,
    Key,
    KeyCounts,
    Map,
    PublicValue,
    RecordTruth,
    Rows,
    Seq,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A dict that has, for each key of the data, its count with a draw of its own: not seen yet.

    `form` is what the dict holds for a key whose count is `key`; `noise` is the draw.
    """

    form: SymbolicForm
    key: SymbolicForm
    noise: int
    rows: Rows | None
    order: str


_HIDDEN = object()


class Keys(Loops):
    """Loops over keys that only the data have."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: dict[int, tuple[Map, list[Any]]] | None = None
        self.key_rows: list[tuple[SymbolicForm, SymbolicForm]] = []
        self.pending: SymbolicForm | None = (
            None  # the noisy count of a key, before anything is seen of it
        )

    def counts_of(self, mapping: Map) -> KeyCounts:
        """A dict that the records brought their keys to, as the counts of these keys.

        Each record must add 1 to the count of one key, or nothing to any.
        """
        if mapping.noisy is not None and not mapping.items:
            return KeyCounts(mapping.noisy.rows, source=mapping, order=mapping.noisy.order)
        if mapping.growing or set(mapping.items) != mapping.partial or not mapping.items:
            raise Unread("a loop over a mapping whose keys are those of the data")
        return KeyCounts(self._keys_of_records(mapping), source=mapping)

    def _keys_of_records(self, mapping: Map) -> Rows:
        """Which key each record brought, by cases, from what it adds to the counts."""
        found: dict[tuple[RecordTruth, ...], list[Any]] = {}
        listed: list[tuple[RecordTruth, ...]] | None = None
        for key, count in mapping.items.items():
            cases = self._adds_to(count)
            here = [conditions for conditions, _ in cases]
            if listed is not None and here != listed:
                raise Unread("counts of keys of the data that several loops made")
            listed = here
            for conditions, add in cases:
                if add.terms or add.constant not in (0, 1):
                    raise Unread("a key of the data that is not counted by ones")
                brought = found.setdefault(conditions, [])
                if add.constant:
                    brought.append(key)
        if any(len(keys) > 1 for keys in found.values()) or len(found) != len(listed or ()):
            raise Unread("a record that is counted for several keys")
        return Rows(
            tuple(Case(c, keys[0] if keys else None, bool(keys)) for c, keys in found.items()),
            False,
        )

    def _adds_to(self, count: Any) -> list[tuple[tuple[RecordTruth, ...], SymbolicForm]]:
        """What a record adds to a count that is one sum over the records, and nothing else."""
        if isinstance(count, SymbolicForm) and not count.constant and len(count.terms) == 1:
            ((symbol, slope),) = count.terms
            node = self.terms.nodes[symbol]
            if node[0] == "sum" and slope == 1 and isinstance(node[1], int):
                passed = self.ledger.passes[node[1]]
                return [(conditions, adds[node[2]]) for conditions, adds in passed.cases]
        raise Unread("a value for each key of the data that is no count")

    def count_at(self, owner: Any, key: Key) -> Any:
        """counts[key], for the key that a loop over these counts is at."""
        counted = key.source is owner and (isinstance(owner, Map) or counted_keys(owner))
        if isinstance(owner, (KeyCounts, Rows)) and isinstance(key.source, KeyCounts):
            rows = owner.rows if isinstance(owner, KeyCounts) and owner.counted else owner
            theirs = key.source.rows
            alike = isinstance(rows, Rows) and theirs is not None and rows.cases == theirs.cases
            counted = counted or alike
        if self.key is None or not counted:
            raise Unread("a look-up by a key of the data")
        return self.pending if self.pending is not None else self.key

    def pass_over_keys(self, frame: CallFrame, instruction: Instruction, counts: KeyCounts) -> None:
        """Each key has noise of its own; nothing of it is seen below a threshold."""
        if self.record is not None or self.key is not None or frame.lazy:
            raise Unread("a loop over the keys of the data inside of another, or of a generator")
        start = Snapshot(self.frames)
        self.loop_count += 1
        first_noise = len(self.ledger.noises)
        noisy = counts.source.noisy if isinstance(counts.source, (Map, Seq)) else None
        if noisy is None:
            self.key, self.pending = self.terms.of("sum", "key", self.loop_count), None
        else:
            self.key, self.pending, first_noise = noisy.key, noisy.form, noisy.noise
            self._need_last(first_noise)
        value = self.key if self.pending is None else self.pending
        key = Key(counts.source or counts)
        if counts.gives != "keys" and not counts.counted:
            raise Unread("the counts of something that has only keys")
        element: Any = {"keys": key, "items": (key, value), "values": value}[counts.gives]
        kept = first_noise + (noisy is not None)

        def one(script: DecisionScript) -> Any:
            start.restore()
            del self.ledger.noises[kept:]
            self.key_rows, self.puts = [], {}
            self.record = script
            try:
                changed = self._body(frame, instruction, element, start)
            except Raised:
                raise Unread("an exception for some of the keys of the data") from None
            # Of every way: what it made visible and drew, not of the last one alone.
            if len(self.ledger.noises) != first_noise + 1 or len(self.key_rows) > 1:
                raise Unread("a loop over the keys of the data that shows more than a noisy count")
            seen.append(self.key_rows[0] if self.key_rows else None)
            return changed, dict(self.appended or {}), dict(self.puts)

        seen: list[tuple[SymbolicForm, SymbolicForm] | None] = []
        symbol = self.key
        try:
            found = list(ways(one))
        finally:
            self.record, self.key, self.appended, self.pending = None, None, None, None
            start.restore()
        if any(row != seen[0] for row in seen):
            raise Unread("a loop over the keys of the data that shows one count or another")
        if seen[0] is None:
            self._keep(start, found, first_noise, symbol, counts)
        else:
            self._gate(start, found, first_noise, counts)
        self.puts = None
        frame.pc = instruction.jumps[0]

    def _need_last(self, noise: int) -> None:
        """The draws of the keys came last: with others after them, a replay can't tell them."""
        if noise != len(self.ledger.noises) - 1 or any(g.noise == noise for g in self.ledger.gates):
            raise Unread("noisy counts of keys of the data that are looked at later, or twice")

    def _keep(
        self, start: Snapshot, found: list[Any], first: int, key: SymbolicForm, counts: KeyCounts
    ) -> None:
        """A dict of noisy counts, of which nothing is seen yet: a threshold comes later."""
        if len(found) != 1:
            raise Unread(
                f"a loop over the keys of the data that decides more than a threshold: {KEYS}"
            )
        _, (changed, appended, puts) = found[0]
        self._leave(start, changed)
        if len(appended) + len(puts) != 1:
            raise Unread("a loop over the keys of the data without a threshold")
        if appended:
            ((seq, pairs),) = appended.values()
            self._keep_list(seq, pairs, key, first, counts)
            return
        ((mapping, values),) = puts.values()
        if mapping.items or mapping.partial or mapping.default is not None or len(values) != 1:
            raise Unread("a dict of the keys of the data with other entries")
        self._need_own_noise(values[0], key, first)
        mapping.partial = {_HIDDEN}  # which keys there are is private
        mapping.noisy = NoisyCounts(values[0], key, first, counts.rows, counts.order)

    def _keep_list(
        self, seq: Seq, values: list[Any], key: SymbolicForm, first: int, counts: KeyCounts
    ) -> None:
        """The same as a list of pairs."""
        pair = values[0] if len(values) == 1 and isinstance(values[0], tuple) else ()
        if seq.items or len(pair) != 2 or not isinstance(pair[0], Key):
            raise Unread("a list of the keys of the data with other entries")
        self._need_own_noise(pair[1], key, first)
        seq.items = [Drained()]  # how many there are is private, too
        seq.noisy = NoisyCounts(pair[1], key, first, counts.rows, counts.order)

    def _need_own_noise(self, form: Any, key: SymbolicForm, noise: int) -> None:
        """A count with its own draw, and nothing else that is private."""
        private = () if not isinstance(form, SymbolicForm) else form.symbols
        wanted = {key.terms[0][0], self.terms.symbol(("noise", noise))}
        if set(private) != wanted or len({c for _, c in form.terms}) != 1:
            raise Unread("a count with more than its own noise")

    def _gate(self, start: Snapshot, found: list[Any], first: int, counts: KeyCounts) -> None:
        if len(found) != 2:
            raise Unread(
                f"a loop over the keys of the data that decides more than a threshold: {KEYS}"
            )
        ((noisy, shown),) = self.key_rows
        noise = self.terms.symbol(("noise", first))
        if noisy.terms != tuple(
            sorted(((noise, Fraction(1)), (noisy_key(noisy, noise), Fraction(1))))
        ):
            raise Unread("a count with more than its own noise")
        threshold = None
        for script, (_, appended, puts) in found:
            if len(script.taken) != 1:
                raise Unread(
                    f"a loop over the keys of the data that decides more than a threshold: {KEYS}"
                )
            above = _threshold(script.taken[0], shown)
            if above is not None:
                threshold = above
                continue
            if appended or puts:
                raise Unread("whether a key is absent or below its threshold is seen")
        if threshold is None:
            raise Unread("a loop over the keys of the data without a threshold")
        for _, (changed, appended, puts) in found:
            self._leave(start, changed)
            for seq, values in appended.values():
                self._shown(values)
                if seq.items or len(values) != 1:
                    raise Unread("a list of the keys of the data with other entries")
                seq.bag, seq.sorted = True, counts.order == "sorted"
            for mapping, values in puts.values():
                self._shown(values)
                if mapping.items or mapping.partial or len(values) != 1:
                    raise Unread("a dict of the keys of the data with other entries")
                mapping.open = True
        self.watched.add(noise)
        self.ledger.gates.append(
            Gate(first, threshold, len(self.ledger.rows), counts.rows, counts.order)
        )

    def _leave(self, start: Snapshot, changed: list[Any]) -> None:
        for place, _, _ in changed:
            if place[0] != "register":
                raise Unread("a variable that counts the keys of the data")
            start.put(place, Left())

    def _shown(self, values: list[Any]) -> None:
        for value in values:
            if isinstance(value, tuple):
                self._shown(list(value))
            elif isinstance(value, SymbolicForm):
                if self.terms.kind(value):
                    raise Unread("a count is shown without noise")
            elif not isinstance(value, (Key, PublicValue)) and not is_plain(value):
                raise Unread("a value that is not public is kept for a key of the data")

    def append(self, seq: Any, value: Any) -> None:
        if self.key is not None and self.key_rows:
            value = self._seen(value)
        super().append(seq, value)

    def _seen(self, value: Any) -> Any:
        """What is kept for a key above its threshold: its noisy count, and what follows from it."""
        if isinstance(value, tuple):
            return tuple(map(self._seen, value))
        return self.visible(value) if isinstance(value, SymbolicForm) else value

    def put(self, mapping: Map, key: Any, value: Any) -> None:
        """mapping[key] = value, for a key of the data."""
        if not isinstance(key, Key) or self.puts is None:
            raise Unread("a key that is not plain")
        if self.key_rows:
            value = self._seen(value)
        self.puts.setdefault(id(mapping), (mapping, []))[1].append(value)

    def visible(self, form: SymbolicForm) -> SymbolicForm:
        if self.key is not None:
            symbol = self.key.terms[0][0]
            if symbol in form.symbols:
                private = {s for s in form.symbols if self.terms.kinds[s] & (SUM | NOISE | RECORD)}
                part = form.part(private)
                scaled = part.times(1 / dict(part.terms)[symbol])
                for known, shown in self.key_rows:
                    if known == scaled:
                        return (form - part) + shown.times(dict(part.terms)[symbol])
                shown = self.terms.of("pub", ("key", len(self.key_rows)), len(self.ledger.rows))
                self.key_rows.append((scaled, shown))
                return (form - part) + shown.times(dict(part.terms)[symbol])
            if any(self.terms.kinds[s] & (SUM | NOISE) for s in form.symbols):
                raise Unread("other private values in a loop over the keys of the data")
        return super().visible(form)


def counted_keys(owner: Any) -> bool:
    return isinstance(owner, KeyCounts) and owner.counted


def noisy_key(form: SymbolicForm, noise: int) -> int:
    """The other symbol of a noisy count."""
    others = [s for s in form.symbols if s != noise]
    if len(others) != 1:
        raise Unread("a count with more than its own noise")
    return others[0]


def _threshold(truth: RecordTruth, shown: SymbolicForm) -> Fraction | None:
    """τ where the truth says that the shown count is at least τ; None where it is below."""
    if truth.form is None or truth.relation not in (">", ">="):
        raise Unread("a decision about a key of the data that is no threshold")
    symbol = shown.terms[0][0]
    terms = dict(truth.form.terms)
    if set(terms) != {symbol}:
        raise Unread("a threshold that is not plain")
    slope = terms[symbol]
    return -truth.form.constant / slope if slope > 0 else None
