"""What one record adds to sums over all records: case by case, whatever the record may be.

A query that branches on its data alone is a sum over the records if what is done with a record
depends on that record only. Then one record decides between finitely many cases (its value, where
it has few; otherwise on which side of each threshold it lies), and in each case it adds a number,
or an affine function of itself, to each sum. Neighbours differ by what one record adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from dpest.errors import RefusedError, UntraceableError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.loops.merging import decided
from dpest.reading.loops.piece_runs import Block, PieceRun, World
from dpest.reading.tracing.running import SAMPLING, has_run, in_run, remembered, running
from dpest.reading.tracing.symbolic import Real, Truth
from dpest.running.places import shown, source_line, user_place

_MOST_VALUES = 256
_MOST_CASES = 600
_AFTER = "A sensitivity is proved for sums over the records, to which noise is added afterwards"
Range = tuple[Any, Any]


class RecordError(RefusedError):
    """A query that is no sum over records.

    `telling`: it says what is wrong with the mechanism, whatever else was tried.
    """

    telling = True


def refuse_query(what: str, advice: str, telling: bool = True) -> NoReturn:
    """Refuse, with the user's line."""
    place = user_place()
    text = source_line(place)
    where = f"{shown(place)}: " if place else ""
    error = RecordError(f"{where}{what}{f', in `{text}`' if text else ''}. {advice}")
    error.telling = telling
    raise remembered(error)


class _Skipped:
    """A record that a filter leaves out."""

    def __repr__(self) -> str:
        return "SKIPPED"


SKIPPED = _Skipped()


@dataclass(frozen=True)
class Entry:
    """What one record may be: a number or some fields, each within a range (±inf: any)."""

    symbols: tuple[Symbol, ...]
    ranges: tuple[Range, ...]
    integers: bool
    come_and_go: bool
    """Whether neighbours differ by one record, so that their number is private."""
    make: Callable[[Sequence[Any]], Any]
    array: bool = False
    """Whether the function is given an array of them, not a list."""

    @property
    def values(self) -> range | None:
        """All values of a record, where it is one whole number within narrow bounds."""
        low, high = self.ranges[0]
        if not self.integers or len(self.symbols) > 1 or math.isinf(low) or math.isinf(high):
            return None
        found = range(math.ceil(low), math.floor(high) + 1)
        return found if 0 < len(found) <= _MOST_VALUES else None

    def known(self) -> list[Condition]:
        """The bounds of the domain."""
        found = []
        for symbol, (low, high) in zip(self.symbols, self.ranges, strict=True):
            if not math.isinf(low):
                found.append(Condition(Form({symbol: Fraction(1)}, -Fraction(low)), ">="))
            if not math.isinf(high):
                found.append(Condition(Form({symbol: Fraction(-1)}, Fraction(high)), ">="))
        return found

    def point(self) -> dict[Symbol, Fraction]:
        """A record that the domain allows."""
        found = {}
        for symbol, (low, high) in zip(self.symbols, self.ranges, strict=True):
            end = high if math.isinf(low) else low
            found[symbol] = Fraction(0) if math.isinf(end) else Fraction(end)
        return found


@dataclass(frozen=True)
class ReadCase:
    """One case: the decisions that lead to it, and what was computed in it."""

    blocks: tuple[Block, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class CaseTable:
    """Disjoint cases that cover every record; `dead` are decisions that no record can take."""

    cases: tuple[ReadCase, ...]
    dead: tuple[tuple[Block, ...], ...] = ()

    @property
    def tree(self) -> tuple[tuple[Block, ...], ...]:
        return tuple(case.blocks for case in self.cases)


class RecordRun(PieceRun):
    """A run on one record. It forks on the record alone, and draws nothing."""

    record: Any = None
    sums: Any = None

    def decide(self, condition: Condition) -> bool:
        known = condition.decided()
        if known is None and any(s.kind != "input" for s in condition.form.terms):
            refuse_query(
                "what is done with a record depends on the records before it, or on noise",
                _AFTER,
            )
        return super().decide(condition)

    def choose(self, cells: Sequence[Sequence[Condition] | None]) -> int:
        open_ = [i for i, cell in enumerate(cells) if cell is not None]
        for i in open_[:-1]:
            if all(self.decide(c) for c in cells[i] or ()):
                return i
        return open_[-1]

    def draw(self, noise: Noise) -> Any:
        return self._no_draws()

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        return self._no_draws()

    def _no_draws(self) -> NoReturn:
        refuse_query(
            "noise is drawn for each record of a query that branches on its data",
            _AFTER,
            False,
        )


def value_blocks(entry: Entry) -> list[tuple[Block, ...]]:
    """For each value of a record the decisions that single it out, by halving their range."""
    (symbol,) = entry.symbols
    assert entry.values is not None

    def halved(values: Sequence[int], known: tuple[Block, ...]) -> list[tuple[Block, ...]]:
        if len(values) == 1:
            return [known]
        middle = (len(values) - 1) // 2
        at_most = Condition(Form({symbol: Fraction(-1)}, Fraction(values[middle])), ">=")
        low = halved(values[: middle + 1], (*known, (at_most,)))
        return low + halved(values[middle + 1 :], (*known, (at_most.negated(),)))

    return halved(entry.values, ())


def explored(entry: Entry, sums: Any, follow: Callable[[RecordRun], tuple[Any, ...]]) -> CaseTable:
    """The table of a computation: `follow` makes it along the path of a run."""
    world = World()

    def make(record: Any, prefix: Sequence[int]) -> RecordRun:
        run = RecordRun(world, "record", entry.known(), entry.point(), prefix)
        run.record, run.sums = record, sums
        return run

    outside = running() if has_run() else None
    drawn = len(getattr(outside, "draws", ()))
    try:
        table = _explored(entry, make, follow)
    except UntraceableError as error:
        if entry.values is not None:
            raise
        text = str(error).split(f"; or leave it: {SAMPLING}")[0]
        raise remembered(
            RecordError(
                f"{text.replace('noisy value', 'value of a record')}. If the records are whole "
                "numbers within bounds, say so, and each of them is looked at: "
                "domain=dpest.integers(dpest.ANY, low, high)"
            )
        ) from None
    if len(getattr(outside, "draws", ())) > drawn:
        refuse_query(
            "noise is drawn for each record of a query that branches on its data", _AFTER, False
        )
    return table


def _explored(
    entry: Entry, make: Callable[..., RecordRun], follow: Callable[[RecordRun], tuple[Any, ...]]
) -> CaseTable:
    cases: list[ReadCase] = []
    dead: list[tuple[Block, ...]] = []
    if entry.values is not None:
        for value, blocks in zip(entry.values, value_blocks(entry), strict=True):
            for run, values in paths(entry.make([value]), make, follow):
                if run.blocks:
                    raise RecordError("a decision about a number that is known")
                cases.append(ReadCase(blocks, values))
        return CaseTable(tuple(cases))
    record = entry.make([Real(Form.of(s), entry.integers) for s in entry.symbols])
    for run, values in paths(record, make, follow):
        cases.append(ReadCase(tuple(run.blocks), values))
        dead += [d for d in run.dead if d not in dead]
        if len(cases) > _MOST_CASES:
            raise RecordError(
                f"a record decides between more than {_MOST_CASES} cases: give a length"
            )
    return CaseTable(tuple(cases), tuple(dead))


def paths(
    record: Any, make: Callable[..., RecordRun], follow: Callable[[RecordRun], Any]
) -> Iterator[tuple[RecordRun, Any]]:
    """All paths of what is done with a record."""
    pending: list[list[int]] = [[]]
    while pending:
        prefix = pending.pop()
        run = make(record, prefix)
        found = follow(run)
        for at in range(len(prefix), len(run.taken)):
            pending += [[*run.taken[:at], o] for o in run.options[at] if o != run.taken[at]]
        yield run, found


def computed(entry: Entry, sums: Any, compute: Callable[[Any], Sequence[Any]]) -> CaseTable:
    """The table of a function of the record, with every number in it decided."""

    def follow(run: RecordRun) -> tuple[Any, ...]:
        with in_run(run):
            return tuple(as_number(v) for v in compute(run.record))

    return explored(entry, sums, follow)


def as_number(value: Any) -> Any:
    """A form of what a record adds; SKIPPED stays. Inside of a run: it may fork."""
    if value is SKIPPED:
        return value
    if isinstance(value, (Truth, Real)):
        value = decided(value)
    if isinstance(value, Real):
        return value.form
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, (bool, int, Fraction)):
        return Form.number(int(plain) if isinstance(plain, bool) else plain)
    if isinstance(plain, float) and math.isfinite(plain):
        return Form.number(_meant(plain))
    refuse_query(
        f"a record adds {type(plain).__name__} {plain!r}, which is no number",
        "A sensitivity is proved for sums of numbers over the records",
    )


def _meant(value: float) -> Fraction:
    """The number that a double stands for: 0.1 · 3 is 3/10, as proofs are about real numbers."""
    exact = Fraction(value)
    simple = exact.limit_denominator(10**6)
    return simple if abs(simple - exact) <= 4 * Fraction(math.ulp(value)) else exact


@dataclass(frozen=True)
class Statistic:
    """An order statistic (max, median, …): `at` computes it from all values."""

    name: str
    at: Callable[[list[Fraction]], Fraction]


@dataclass(frozen=True)
class ReadCases:
    """All that one record may add to all sums at once.

    `statistics` are no sums but order statistics of what the records give: where one of these
    values moves, they move by any part of it, in its direction.
    """

    leaves: tuple[tuple[tuple[Block, ...], Mapping[Symbol, Form]], ...]
    dead: tuple[tuple[Block, ...], ...]
    entry: Entry
    statistics: Mapping[Symbol, Statistic]
    slots: Mapping[Symbol, Symbol]
    """From what a record adds to the slot of its sum."""
    two_steps: bool = False
    """Whether a replacement is taken as a removal and an addition, each at half of the bound."""

    def at(self, record: Mapping[Symbol, Fraction]) -> dict[Symbol, Fraction]:
        for blocks, values in self.leaves:
            if all(c.holds(record) for block in blocks for c in block):
                return {symbol: form.at(record) for symbol, form in values.items()}
        raise RecordError(f"no case fits the record {dict(record)}")


@dataclass
class Sums:
    """All sums that a function asks for: equal ones are one slot."""

    entry: Entry
    trees: dict[Any, dict[tuple[Any, ...], Symbol]] = field(default_factory=dict)
    tables: dict[Any, CaseTable] = field(default_factory=dict)
    statistics: dict[Symbol, Statistic] = field(default_factory=dict)
    added: dict[Symbol, Symbol] = field(default_factory=dict)

    def totals(self, table: CaseTable) -> list[Any]:
        """A slot for each column of the table; a column of zeros is 0."""
        return [
            self._slot(table, tuple(c.values[i] for c in table.cases), None)
            for i in range(len(table.cases[0].values))
        ]

    def statistic(self, table: CaseTable, which: Statistic) -> Real:
        (column,) = zip(*(c.values for c in table.cases), strict=True)
        return self._slot(table, tuple(column), which)

    def _slot(self, table: CaseTable, column: tuple[Any, ...], which: Statistic | None) -> Any:
        column = tuple(Form() if v is SKIPPED else v for v in column)
        foreign = {s for form in column for s in form.terms if s.kind != "input"}
        if foreign:
            raise RecordError(
                "what a record adds depends on noise, or on the records before it. A sensitivity "
                "is proved for sums over the records, to which noise is added afterwards"
            )
        if which is None and not any(f.terms or f.constant for f in column):
            return 0
        tree = self.trees.setdefault(table.tree, {})
        self.tables.setdefault(table.tree, table)
        key = (*column, None if which is None else which.name)
        slot = tree.get(key)
        if slot is None:
            number = len(self.added)
            slot = tree[key] = Symbol("state", f"sum{number}")
            self.added[slot] = Symbol("input", f"t{number}")
            if which is not None:
                self.statistics[self.added[slot]] = which
        whole = all(not f.terms and f.constant.denominator == 1 for f in column)
        return Real(Form.of(slot), whole)

    def cases(self) -> ReadCases:
        """The common refinement of all tables."""
        trees = list(self.trees)
        if not trees:  # the data don't matter
            return ReadCases((((), {}),), (), self.entry, {}, {})
        table = self.tables[trees[0]] if len(trees) == 1 else self._refined(trees)
        leaves = []
        for place, case in enumerate(table.cases):
            numbers = case.values if len(trees) > 1 else (place,)
            values: dict[Symbol, Form] = {}
            for tree, number in zip(trees, numbers, strict=True):
                for key, slot in self.trees[tree].items():
                    values[self.added[slot]] = key[number]
            leaves.append((case.blocks, values))
        back = {t: slot for slot, t in self.added.items()}
        return ReadCases(tuple(leaves), table.dead, self.entry, dict(self.statistics), back)

    def _refined(self, trees: Sequence[Any]) -> CaseTable:
        """Each case says which case of each table it is."""

        def follow(run: RecordRun) -> tuple[int, ...]:
            with in_run(run):
                return tuple(case_of(tree, run) for tree in trees)

        return explored(self.entry, None, follow)


def case_of(tree: Sequence[tuple[Block, ...]], run: RecordRun) -> int:
    """Which of the cases a record is in, by their own decisions in order."""
    open_ = list(range(len(tree)))
    depth = 0
    while len(open_) > 1 or depth < len(tree[open_[0]]):
        block = tree[open_[0]][depth]
        taken = block if all(run.decide(c) for c in block) else _other(tree, open_, depth, block)
        open_ = [i for i in open_ if len(tree[i]) > depth and tree[i][depth] == taken]
        depth += 1
    return open_[0]


def _other(
    tree: Sequence[tuple[Block, ...]], open_: Sequence[int], depth: int, block: Block
) -> Block:
    return next(tree[i][depth] for i in open_ if tree[i][depth] != block)
