"""What a reading finds: passes over the records, noises, and rows that were made visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import Arithmetic
from dpest.reading.contributions.choices import ways
from dpest.reading.contributions.control.snapshots import apart
from dpest.reading.contributions.forms import (
    GAP,
    NOISE,
    RECORD,
    SUM,
    TOTAL,
    Raised,
    SymbolicForm,
    Unread,
    form_of,
    number,
)
from dpest.reading.contributions.values import (
    Case,
    Combined,
    RecordTruth,
    Rows,
    RowsLength,
    SmallArray,
)

MOST_CASES = 600
# Holds of everybody; marks what there is once for each person, where people have several rows.
ONCE = RecordTruth("==", number(0))
_ROUNDED = {"floor": np.floor, "ceil": np.ceil, "rint": np.rint}
OF_GAPS = (
    "something of the gaps between the sorted records is shown: which of them was chosen, or where "
    "it lies, is private. Only a uniform point of the gap that was chosen may be released"
)
# Families of noise whose draws are whole numbers.
_WHOLE = ("geometric", "two_sided_geometric", "discrete_laplace", "discrete_gaussian")


@dataclass(frozen=True)
class Derived:
    """A number of a person: the sum, the mean, … of what its rows are, by cases."""

    what: str
    cases: tuple[tuple[tuple[RecordTruth, ...], SymbolicForm | None], ...]
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class OrderStatistic:
    """An order statistic (max, median, …): `at` computes it from all values."""

    name: str
    at: Callable[[list[Fraction]], Fraction]


@dataclass(frozen=True)
class Pass:
    """Sums over the records: in each case, what a record adds to each of them.

    `made`: how many rows were visible before. `times`: how often one person may be among them.
    `statistic`: it is no sum but an order statistic of these numbers (`reading.cases`).
    """

    cases: tuple[tuple[tuple[RecordTruth, ...], tuple[SymbolicForm, ...]], ...]
    made: int
    times: int = 1
    statistic: OrderStatistic | None = None


@dataclass(frozen=True)
class LedgerNoise:
    """A draw around 0. `most`: it was drawn again until its size was at most that.

    `parts`: it is the difference of two one-sided draws. `coins`: it is a number of coins.
    `over`: a public number that the draw is divided by. `made`: how it is made of uniform draws.
    `gaps`: there is a draw for each gap between sorted records, or ("wide") each that has a length.
    """

    family: str
    scale: Any
    """A rational; in a proof for every eps also a multiple of a power of it (`units`)."""
    most: Fraction | None = None
    parts: tuple[int, int] | None = None
    coins: bool = False
    over: SymbolicForm | None = None
    made: SymbolicForm | None = None
    gaps: str | None = None


@dataclass(frozen=True)
class Row:
    """A value that is treated as released: noises and private symbols, with coefficients.

    Or a choice: `exponents` are those of the weights of what is chosen from; or they are the scores
    of a race, in which the largest of score + draw is chosen, and `noises` are the draws.
    `between`: what is chosen is a point between two numbers, and the exponent is that of each.
    """

    form: SymbolicForm
    exponents: tuple[SymbolicForm, ...] = ()
    noises: tuple[int, ...] = ()
    between: tuple[Fraction, Fraction] | None = None


@dataclass(frozen=True)
class Gate:
    """Keys of the data, each with its count and noise of its own, shown from a threshold on."""

    noise: int
    threshold: Fraction
    made: int
    rows: Rows | None = None
    """The key of each record, for replays."""
    order: str = "first"
    """In which order the noises are drawn: see `KeyCounts`."""


@dataclass(frozen=True)
class MovedStatistic:
    """A number of all records together; one of them moves it by no more than `low` to `high`.

    (Where one is replaced: by the difference of two such numbers.) `function`, of what the records
    are, gives it to a replay.
    """

    what: str
    rows: Rows
    function: Callable[[list[Any]], float]
    low: Fraction
    high: Fraction
    whole: bool = False


@dataclass
class Ledger:
    passes: list[Pass] = field(default_factory=list)
    noises: list[LedgerNoise] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    statistics: dict[str, MovedStatistic] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)


class Recording(Arithmetic):
    """Sums, draws and visible values, written down."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.seen: dict[SymbolicForm, SymbolicForm] = {}
        self.pass_memo: dict[Any, tuple[SymbolicForm, ...]] = {}
        self.publics = 0
        self.watched: set[int] = set()  # noises that some row has
        self.row_of: dict[Any, int] = {}
        self.uniform_symbols: dict[Any, int] = {}  # public symbols that are uniform draws
        self.uniforms = 0
        self.picks = 0
        self.revealed: dict[int, SymbolicForm] = {}
        self.spent: set[int] = set()  # noises whose values must never be seen
        self.folds: dict[tuple[int, int], int] = {}
        self.made: dict[SymbolicForm, SymbolicForm] = {}  # noises that are made of uniform draws
        self.made_of: frozenset[Any] = frozenset()  # those draws
        self.cumulative: dict[Any, list[Any]] = {}
        self.derived: dict[str, Derived] = {}
        self.cells: dict[int, SymbolicForm] = {}  # for a noise the first sum that has it alone
        self.cells_first = False  # what sums of noisy counts are made of is seen before them
        self.decided = 0  # how many rows were visible at the last public decision

    # Public values -------------------------------------------------------------------------------

    def public(self) -> SymbolicForm:
        """A public number of which only is known how many rows were visible when it came up."""
        self.publics += 1
        return self.terms.of("pub", self.publics, len(self.ledger.rows))

    def uniform(self) -> SymbolicForm:
        """A uniform draw: public, unless it decides a choice whose chances are private."""
        self.settled_ways()
        self.uniforms += 1
        return self.terms.of("uniform", self.uniforms - 1)

    def fresh_uniform(self, form: SymbolicForm) -> int | None:
        """The symbol of a uniform draw that is not public, if the form is that alone."""
        if form.constant or len(form.terms) != 1 or form.terms[0][1] != 1:
            return None
        symbol = form.terms[0][0]
        hidden = self.terms.nodes[symbol][0] == "uniform" and symbol not in self.revealed
        return symbol if hidden else None

    def reveal(self, form: SymbolicForm) -> SymbolicForm:
        """The form with its uniform draws as public numbers."""
        for symbol, c in form.terms:
            if self.terms.nodes[symbol][0] != "uniform":
                continue
            if any(symbol == used for used, _ in self.cumulative):
                raise Unread("a uniform number that decides a choice, and is used besides")
            if symbol not in self.revealed:
                self.revealed[symbol] = self.public()
                self.uniform_symbols[self.publics] = self.terms.nodes[symbol][1]
            own = SymbolicForm(((symbol, c),), Fraction(0))
            form = form - own + self.revealed[symbol].times(c)
        return form

    def number_of(self, value: Any) -> SymbolicForm:
        raise NotImplementedError

    def is_positive_noise(self, number: int) -> bool:
        return bool(self.ledger.noises[number].family == "exponential")

    @property
    def in_pass(self) -> bool:
        return self.record is not None

    def is_seen(self, form: SymbolicForm) -> bool:
        return self._scaled(form)[0] in self.seen

    def public_if_seen(self, value: Any) -> Any:
        """A noisy number that was made visible before, as the public one that it is."""
        if not isinstance(value, SymbolicForm):
            return value
        kinds = self.terms.kinds
        private = {s for s in value.symbols if kinds[s] & (SUM | NOISE | RECORD)}
        if private and self.is_seen(value.part(private)):
            return self.visible(value)
        return value

    def _scaled(self, form: SymbolicForm) -> tuple[SymbolicForm, Fraction]:
        if not form.terms:
            return form, Fraction(1)
        lead = form.terms[0][1]
        return form.times(1 / lead), lead

    def visible(self, form: SymbolicForm) -> SymbolicForm:
        """The value as a public one: a row of what is treated as released."""
        form = self.folded(self.reveal(form))
        kinds = self.terms.kinds
        if self.terms.kind(form) & TOTAL:
            raise Unread("a release that depends on the records so far")
        if self.terms.kind(form) & GAP:
            raise Unread(OF_GAPS)
        private = {s for s in form.symbols if kinds[s] & (SUM | NOISE | RECORD)}
        if not private:
            return form
        if self.in_pass and any(kinds[s] & RECORD for s in private):
            raise Unread("a release for every record")
        over = self._common_divisor(private)
        if over is not None:
            inner, rest = form_of({}), form
            for s, c in form.terms:
                if s in private:
                    inner += self.terms.nodes[s][1].times(c)
                    rest = rest - SymbolicForm(((s, c),), Fraction(0))
            return rest + self.terms.div(self.visible(inner), over)
        by_cells = self._by_cells(form)
        if by_cells is not None:
            return by_cells
        rounded = self._rounded_noise(form, private)
        if rounded is not None:
            return rounded
        if private & self.spent:
            raise Unread("noise that decided which value is the largest, and is seen besides")
        part = form.part(private)
        scaled, lead = self._scaled(part)
        known = self.seen.get(scaled)
        if known is None:
            for s in private:
                if kinds[s] & NOISE and self.terms.nodes[s][0] != "noise":
                    raise Unread("a function of a draw beside private values")
            self.settled_ways()
            self.ledger.rows.append(Row(scaled))
            self.watched |= {s for s in private if kinds[s] & NOISE}
            known = self.seen[scaled] = self.public()
            self.row_of[self.publics] = len(self.ledger.rows) - 1
        return (form - part) + known.times(lead)

    def noted(self, form: SymbolicForm) -> SymbolicForm:
        kinds = self.terms.kinds
        drawn = [s for s in form.symbols if kinds[s] & NOISE]
        if len(drawn) == 1 and any(kinds[s] & SUM for s in form.symbols):
            self.cells.setdefault(drawn[0], form)
        return form

    def _by_cells(self, form: SymbolicForm) -> SymbolicForm | None:
        """A sum of several counts that have noise of their own: all of them are seen."""
        slopes = dict(form.terms)
        noises = [s for s in slopes if s in self.cells]
        if not self.cells_first or len(noises) < 2:
            return None
        parts = [(self.cells[s], slopes[s] / dict(self.cells[s].terms)[s]) for s in noises]
        rest = form
        for cell, factor in parts:
            rest = rest - cell.times(factor)
        if any(self.terms.kinds[s] & (SUM | NOISE | RECORD) for s in rest.symbols):
            return None
        for cell, factor in parts:
            rest = rest + self.visible(cell).times(factor)
        return rest

    def is_unseen_noise(self, value: Any) -> bool:
        """Whether a number is made of draws alone, of which nothing was seen."""
        if not isinstance(value, SymbolicForm) or not value.terms:
            return False
        drawn = {s for s, _ in value.terms if self.terms.nodes[s][0] == "noise"}
        return drawn == set(value.symbols) and not drawn & (self.watched | self.spent)

    def _rounded_noise(self, form: SymbolicForm, private: set[int]) -> SymbolicForm | None:
        """Whole numbers beside noise that was rounded: k + round(z) is round(k + z)."""
        nodes = self.terms.nodes
        rounded = [
            (s, c) for s, c in form.terms if nodes[s][0] in _ROUNDED and self.terms.kinds[s] & NOISE
        ]
        if len(rounded) != 1 or abs(rounded[0][1]) != 1:
            return None
        ((symbol, sign),) = rounded
        rest = form.part(private - {symbol})
        if rest.terms and not self.is_whole_sum(rest):
            raise Unread("rounded noise beside values that may be no whole numbers")
        function, inner = _ROUNDED[nodes[symbol][0]], nodes[symbol][1] + rest.times(sign)
        public = form - form.part(private)
        return public + self.number_of(self.publicly(function, inner)).times(sign)

    def _common_divisor(self, private: set[int]) -> SymbolicForm | None:
        """The public number that all private parts of a form are divided by."""
        nodes = [self.terms.nodes[s] for s in private]
        divisors = {n[2] for n in nodes if n[0] == "over"}
        if len(divisors) != 1 or not all(n[0] == "over" for n in nodes):
            return None
        return divisors.pop()

    # Sums ----------------------------------------------------------------------------------------

    def sums(
        self, cases: Sequence[tuple[tuple[RecordTruth, ...], Sequence[Any]]]
    ) -> list[SymbolicForm]:
        """Σ over the records, of each of several numbers."""
        clean = []
        for conditions, adds in cases:
            forms = tuple(self.form(a) for a in adds)
            for f in forms:
                if self.terms.kind(f) & ~RECORD:
                    raise Unread("what a record adds depends on other private values")
            clean.append((conditions, forms))
        known = [self._constant_total([forms[j] for _, forms in clean])
                 for j in range(len(clean[0][1]) if clean else 0)]  # fmt: skip
        if any(k is not None for k in known):
            rest = [
                (c, [f for f, k in zip(forms, known, strict=True) if k is None])
                for c, forms in clean
            ]
            others = iter(self.sums(rest) if None in known else ())
            return [next(others) if k is None else k for k in known]
        key = tuple(clean)
        if key not in self.pass_memo:
            self.settled_ways()
            place = len(self.ledger.passes)
            self.ledger.passes.append(Pass(key, self._made(clean), self._times(clean)))
            count = len(clean[0][1]) if clean else 0
            found = tuple(self.terms.of("sum", place, j) for j in range(count))
            self.pass_memo[key] = found
        return list(self.pass_memo[key])

    def _constant_total(self, forms: list[SymbolicForm]) -> SymbolicForm | None:
        """The sum where every record adds the same number, and how many there are is public."""
        if self.public_length is None or self.rows_each != 1:
            return None
        if len(set(forms)) != 1 or forms[0].terms:
            return None
        return self.form(self.public_length).times(forms[0].constant)

    def _times(self, cases: Sequence[tuple[tuple[RecordTruth, ...], Any]]) -> int:
        once = {ONCE in conditions for conditions, _ in cases}
        if len(once) != 1:
            raise Unread("people and their rows in one sum")
        return 1 if once == {True} else self.rows_each

    def _made(self, cases: Sequence[tuple[tuple[RecordTruth, ...], Sequence[SymbolicForm]]]) -> int:
        """How many rows must be visible before the sums can be made: those that they use.

        On one way the program is straight: what uses no later row, and follows no later decision,
        might as well have been computed before. A sample is left where it is drawn: together with
        another one it would be worth less.
        """
        if any(c.coin is not None for conditions, _ in cases for c in conditions):
            return len(self.ledger.rows)
        forms = [f for _, adds in cases for f in adds]
        forms += [c.form for conditions, _ in cases for c in conditions if c.form is not None]
        return max([self.decided, *(self._after(s) for f in forms for s in f.symbols)])

    def _after(self, symbol: int) -> int:
        """How many rows were visible when the public parts of a symbol came up."""
        node = self.terms.nodes[symbol]
        if node[0] == "pub":
            return int(node[2])
        inner = [self._after(s) for a in node[1:] if isinstance(a, SymbolicForm) for s in a.symbols]
        return max(inner, default=0)

    def uses_rows(self, form: SymbolicForm) -> bool:
        """Whether a form has public symbols: what was released, or drawn."""
        return any(self._publicly(s) for s in form.symbols)

    def _publicly(self, symbol: int) -> bool:
        node = self.terms.nodes[symbol]
        inner = [a for a in node[1:] if isinstance(a, SymbolicForm)]
        return node[0] == "pub" or any(map(self.uses_rows, inner))

    def decide_truth(self, truth: RecordTruth) -> bool:
        before = len(self.script.answers)
        found = super().decide_truth(truth)
        if len(self.script.answers) != before:
            self.decided = len(self.ledger.rows)
        return found

    def is_whole_sum(self, value: Any) -> bool:
        """Whether it is made of whole numbers, sums or noise: int() leaves it as it is."""
        if (
            not isinstance(value, SymbolicForm)
            or value.constant.denominator != 1
            or not value.terms
        ):
            return False
        for symbol, c in value.terms:
            node = self.terms.nodes[symbol]
            if c.denominator != 1:
                return False
            if node[0] == "noise" and self.ledger.noises[node[1]].family in _WHOLE:
                continue
            if node[0] in _ROUNDED and self.terms.kinds[symbol] == NOISE:
                continue
            if node[0] != "sum":
                return False
            if node[1] == "key":
                continue  # how often a key occurs
            if not isinstance(node[1], int):
                return False
            adds = [forms[node[2]] for _, forms in self.ledger.passes[node[1]].cases]
            if not all(map(self.adds_whole, adds)):
                return False
        return True

    def adds_whole(self, added: SymbolicForm) -> bool:
        """Whether what a record adds is made of whole numbers."""
        nodes = [self.terms.nodes[s] for s, _ in added.terms]
        fields = all(n[0] == "field" and self.fields[n[2]][2] for n in nodes)
        whole = all(c.denominator == 1 for c in (added.constant, *(c for _, c in added.terms)))
        return fields and whole

    def sum_rows(self, rows: Rows) -> Any:
        """rows.sum(axis=0): a number, or an array of numbers."""
        shapes = {
            c.element.shape if isinstance(c.element, SmallArray) else None
            for c in rows.cases
            if c.present
        }
        if not shapes:
            return 0
        if len(shapes) != 1:
            raise Unread("rows of different shapes")
        (shape,) = shapes
        rows = self.per_record(self._numbers, rows)
        count = 1 if shape is None else max(1, len(SmallArray(shape, []).shape) and _size(shape))
        cases = [
            (c.conditions, _cells(c.element) if c.present else [0] * count) for c in rows.cases
        ]
        found = self.sums(cases)
        return found[0] if shape is None else SmallArray(shape, list(found))

    def _numbers(self, element: Any) -> Any:
        """Truths as 0 and 1, by cases."""
        if isinstance(element, SmallArray):
            return element.map(self.form)
        return self.form(element)

    def length_of(self, rows: Rows) -> Any:
        """How many there are."""
        once = self.rows_each == 1 or all(ONCE in c.conditions for c in rows.cases)
        if rows.whole and self.public_length is not None and once:
            return self.public_length
        cases = [(c.conditions, [int(c.present)]) for c in rows.cases]
        if rows.whole:
            cases = [((ONCE,) if once and self.rows_each > 1 else (), [1])]
        return self.sums(cases)[0]

    def is_length(self, value: Any) -> bool:
        """Whether a value is the number of all records."""
        if isinstance(value, RowsLength):
            return True
        if not isinstance(value, SymbolicForm):
            return False
        if self.public_length is not None:
            return bool(value == self.public_length)
        return value == self.sums([((), [1])])[0]

    fields: dict[Any, tuple[Any, Any, bool]]
    """Between which numbers a field is, and whether it is whole."""

    rows_each: int = 1
    """How many rows a person has at most."""

    least_records: int = 0
    """How many records there are at least."""

    def winner(self, forms: Sequence[SymbolicForm]) -> int:
        """The place of the first greatest of several numbers: a way of its own for each of them."""
        *others, last = range(len(forms))
        for place in others:
            if self.script.decide(RecordTruth("wins", None, (tuple(forms), Fraction(place)))):
                return place
        self.script.taken.append(RecordTruth("wins", None, (tuple(forms), Fraction(last))))
        self.decided = len(self.ledger.rows)
        return last

    def order_statistic(self, rows: Rows, statistic: OrderStatistic) -> SymbolicForm:
        """An order statistic of one number per record: a symbol like that of a sum."""
        rows = self.per_record(self._numbers, rows)
        clean = tuple((c.conditions, (self.form(c.element),)) for c in rows.cases)
        if any(self.terms.kind(f) & ~RECORD for _, (f,) in clean):
            raise Unread("what a record adds depends on other private values")
        key = (clean, statistic.name)
        if key not in self.pass_memo:
            self.settled_ways()
            place = len(self.ledger.passes)
            self.ledger.passes.append(Pass(clean, self._made(clean), statistic=statistic))
            self.pass_memo[key] = (self.terms.of("sum", place, 0),)
        return self.pass_memo[key][0]

    # Cases of a record ---------------------------------------------------------------------------

    def per_record(self, function: Any, *values: Any) -> Rows:
        return self.carried(lambda *given: function(*map(self.settled, given)), *values)

    def carried(self, function: Any, *values: Any) -> Rows:
        """As `per_record`, for a function that looks at no value: options stay open."""
        if self.record is not None:
            raise Unread("what a record adds depends on all records")
        with apart(self):
            return self._each(function, values)

    def _each(self, function: Any, values: tuple[Any, ...]) -> Rows:
        rows = [v for v in values if isinstance(v, Rows)]
        found: list[Case] = []
        for conditions, chosen in self.crossed(rows):
            present = {c.present for c in chosen}
            if len(present) != 1:
                raise Unread("arrays that hold different records")
            if not present.pop():
                found.append(Case(conditions, None, False))
                continue
            elements = iter(chosen)
            given = [next(elements).element if isinstance(v, Rows) else v for v in values]
            found += [
                Case(c, e) for c, e in self.in_record(conditions, lambda g=given: function(*g))
            ]
        return Rows(tuple(found), any(r.array for r in rows))

    def in_record(
        self, known: tuple[RecordTruth, ...], one: Any
    ) -> list[tuple[tuple[RecordTruth, ...], Any]]:
        """What `one` gives for a record of which something is known, by further cases."""
        found = []
        try:

            def attempt(script: Any) -> Any:
                self.record = script
                try:
                    return one()
                except Raised:
                    raise Unread("an exception for some of the records") from None

            for script, value in ways(attempt, known):
                found.append((tuple(script.taken), value))
        finally:
            self.record = None
        return found

    def crossed(self, rows: Sequence[Rows]) -> list[tuple[tuple[RecordTruth, ...], list[Case]]]:
        """The cases of several rows together, without those that contradict each other."""
        if len({ONCE in c.conditions for r in rows for c in r.cases}) > 1:
            raise Unread("people beside their rows")
        found: list[tuple[tuple[RecordTruth, ...], list[Case]]] = [((), [])]
        for one in rows:
            longer = []
            for conditions, chosen in found:
                for case in one.cases:
                    joined = tuple(dict.fromkeys((*conditions, *case.conditions)))
                    if not any(c.negated() in joined for c in joined):
                        longer.append((joined, [*chosen, case]))
            found = longer
            if len(found) > MOST_CASES:
                raise Unread(f"more than {MOST_CASES} cases of a record")
        return found

    # Noise ---------------------------------------------------------------------------------------

    def settled_ways(self) -> None:
        """Refuses what must not happen on one of two ways that are to become one."""
        if self.joining:
            raise Unread("a draw, a sum or a release inside of a decision")
        if self.gap_case is not None:
            raise Unread("a draw, a sum or a release for each gap between records")

    gap_case: str | None = None
    """What is known of the gap at hand: "wide", it has a length, or "empty", it has none."""

    def noise(self, family: str, scale: Any, over: SymbolicForm | None = None) -> SymbolicForm:
        self.settled_ways()
        self.ledger.noises.append(LedgerNoise(family, scale, over=over))
        return self.terms.of("noise", len(self.ledger.noises) - 1)

    def made_noise(self, family: str, made: SymbolicForm, sources: frozenset[Any]) -> SymbolicForm:
        """Standard noise that the program makes of uniform draws, which are used for it alone."""
        known = self.made.get(made)
        if known is None:
            if sources & self.made_of:
                raise Unread("a uniform draw that two noises are made of")
            self.settled_ways()
            self.made_of |= sources
            self.ledger.noises.append(LedgerNoise(family, Fraction(1), made=made))
            known = self.made[made] = self.terms.of("noise", len(self.ledger.noises) - 1)
        return known

    def folded(self, form: SymbolicForm) -> SymbolicForm:
        """Differences of two one-sided draws of one kind, as draws of their two-sided noise."""
        symmetric = {"exponential": "laplace", "geometric": "two_sided_geometric"}
        drawn: dict[Any, list[int]] = {}
        slopes = dict(form.terms)
        for (first, second), both in self.folds.items():
            c = slopes.get(first)
            if c and slopes.get(second) == -c:
                del slopes[first], slopes[second]
                slopes[both] = c
        form = form_of(slopes, form.constant)
        for symbol, c in form.terms:
            node = self.terms.nodes[symbol]
            if node[0] != "noise" or symbol in self.watched:
                continue
            noise = self.ledger.noises[node[1]]
            if noise.family not in symmetric:
                continue
            others = drawn.get((noise.family, noise.scale, -c))
            if not others:
                drawn.setdefault((noise.family, noise.scale, c), []).append(symbol)
                continue
            other = others.pop()
            first, second = (symbol, other) if c > 0 else (other, symbol)
            numbers = (self.terms.nodes[first][1], self.terms.nodes[second][1])
            new = LedgerNoise(symmetric[noise.family], noise.scale, None, numbers)
            self.settled_ways()
            self.watched |= {first, second}
            self.spent |= {first, second}
            self.ledger.noises.append(new)
            both = self.terms.symbol(("noise", len(self.ledger.noises) - 1))
            self.folds[first, second] = both
            del slopes[first], slopes[second]
            slopes[both] = abs(c)
        return form_of(slopes, form.constant)

    def is_rejection(self, form: SymbolicForm) -> bool:
        """Only one draw that no row has, or its size, and a constant."""
        if len(form.terms) != 1:
            return False
        symbol = form.terms[0][0]
        node = self.terms.nodes[symbol]
        if node[0] == "noise":
            return symbol not in self.watched
        return (
            node[0] == "abs"
            and bool(self.terms.kinds[symbol] & NOISE)
            and self.is_rejection(node[1])
        )


def _size(shape: tuple[int, ...]) -> int:
    found = 1
    for n in shape:
        found *= n
    return found


def _cells(element: Any) -> list[Any]:
    return list(element.cells) if isinstance(element, SmallArray) else [element]


__all__ = ["Combined", "Gate", "Ledger", "LedgerNoise", "Pass", "Recording", "Row", "number"]
