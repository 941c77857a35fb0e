"""Contributions: sums of what single records add, with noise, step by step, for every length.

Lemma. Let a program compute sums Σ f(record; public values), add noise to linear forms of them, and
do everything else with public values: parameters, and such noisy forms (its *rows*). Let neighbours
differ in one record. For fixed public values each sum moves by f of that record (add or remove), or
by a difference of two (replace): all other terms are equal, and addition commutes. So the bound is
that of the adaptive composition of the rows' noises, each moved by no more than the record can move
its row (`approximate/shifts.py`), and the output is a post-processing of the rows.

Neighbours whose entries move (l1, linf, monotone): each sum, and each entry, moves by no more than
its slope times the move.

Choices between public candidates by private scores are steps too, and so are choices of a point by
the exponent of its density (`approximate/choices.py`).

Keys of the data. Each key has noise of its own, and below a threshold nothing of it is seen, as if
it were absent: up to the event that a key of one record alone reaches the threshold.

People. Where a record of the statement is a person with up to k rows (`rows_each`), a pass is over
people, each once, or over all rows (`times` = k): then what one row moves counts k times.

Numbers of all records. A number s of the whole data (how many different values there are, a median)
that one record, when it comes, moves by an amount in [a, b], whatever the others are, is a sum in
which only that record adds, by a column `of_all` with this range; removing it moves s back. Where a
record is replaced, s moves by a difference of two numbers in [a, b]. Nothing else may look at such
a column: it is of one pair of data sets, not of one record.

The certificate has the symbols, the passes over the records, the noises and the rows of each way
through the program. All ranges, lengths, shifts and costs are computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..approximate.accountant import (
    Account,
    Ledger,
    LossGrid,
    StageLoss,
    mu2_bound,
    pure_bound,
    rho_bound,
)
from ..approximate.choices import RACING
from ..approximate.covering import need_every_record
from ..approximate.steps import steps_of, together
from ..approximate.terms import (
    RELATIONS,
    End,
    RecordColumn,
    RecordCondition,
    RecordForm,
    RecordSymbol,
    RecordTerms,
)
from ..approximate.ways import (
    MOVED,
    StageCase,
    StageChoice,
    StageGate,
    StageNoise,
    StagePass,
    StageWay,
)
from ..fields import Extended, Fields, extended, line, listed, rational, text, whole
from ..header import Header
from ..invalid import Invalid, need
from ..statement import Finding, Inputs, Lengths, Measure, shown_range

_FUNCTIONS = {
    "mul": 2, "div": 2, "abs": 1, "sqrt": 1, "exp": 1, "npexp": 1, "tanh": 1, "arctan": 1,
    "sin": 1, "cos": 1, "log": 1, "log1p": 1, "expit": 1, "floor": 1, "ceil": 1, "rint": 1,
}  # fmt: skip
_ANY_NUMBER = ("min", "max", "norm", "pick")
_LIPSCHITZ = ("abs", "min", "max", "pick")
_FAMILIES = (
    "laplace", "normal", "gumbel", "exponential", "geometric", "discrete_laplace",
    "two_sided_geometric",
)  # fmt: skip
_MOST = 200_000
Columns = dict[str, RecordColumn]


def check(header: Header, fields: Fields) -> Finding:
    name = header.adjacency.name
    apart = fields.truth("apart")
    need(header.unit is None, "unit: the bound is for the parameters' values")
    columns = _columns(fields)
    assumptions = tuple(line(a, "assumptions") for a in fields.texts("assumptions"))
    setting = Setting(name, header.adjacency.radius, header.length, apart, columns)
    ways = [_way(one, setting) for one in fields.each("ways")]
    need(bool(ways), "ways: none")
    measure, delta = _measure(fields.text("measure")), fields.number("delta")
    plan = _plan(fields)
    fields.text("form")
    each = _rows_each(fields)
    fields.done()
    _need_times(ways, each)
    ledger = together([steps_of(way) for way in ways])
    _need_bound(ledger, measure, header.value(), delta, plan)
    lengths = Lengths() if header.length is None else Lengths((header.length,))
    return Finding(
        measure,
        header.value(),
        lengths,
        (_inputs(columns, each),),
        assumptions=(*assumptions, *_supposed(columns)),
        delta=delta,
    )


@dataclass(frozen=True)
class Setting:
    """Who is a neighbour of whom, and what the data are."""

    adjacency: str
    radius: Extended
    length: int | None
    apart: bool
    columns: Columns

    def __post_init__(self) -> None:
        known = ("replace_one", "add_remove_one", *MOVED)
        need(self.adjacency in known, f"{self.adjacency}: records are replaced, or come and go")
        comes = self.adjacency == "add_remove_one"
        need(not self.apart or (self.length is not None and not comes), "apart: needs a length")
        if self.adjacency == "any_pair":
            need(self.apart, "any_pair: for entries with symbols of their own")
        elif self.adjacency in MOVED:
            need(isinstance(self.radius, Fraction) and self.radius > 0, "radius: not a number")
        if self.adjacency in MOVED:
            need(len(self.columns) == 1, "columns: numbers that move, one in each entry")

    @property
    def records(self) -> int | None:
        """How many records have symbols of their own."""
        return self.length if self.apart else None

    def reach(self) -> Fraction:
        """How far an entry moves; for any two inputs, through all of its values."""
        if self.adjacency == "any_pair":
            (column,) = self.columns.values()
            if column.low is None or column.high is None:
                raise Invalid("any_pair: data without bounds")
            return column.high - column.low
        return self.radius if isinstance(self.radius, Fraction) else Fraction(1)

    @property
    def moved(self) -> str:
        return self.adjacency if self.adjacency in MOVED else ""


def _measure(name: str) -> Measure:
    known: dict[str, Measure] = {"epsilon": "epsilon", "rho": "rho", "mu2": "mu2"}
    need(name in known, f"measure: {name[:20]!r}")
    return known[name]


def _need_bound(
    ledger: Ledger, measure: Measure, bound: Fraction, delta: Fraction, plan: LossGrid | None
) -> None:
    need(0 <= delta <= 1, "delta: outside of [0, 1]")
    if measure == "epsilon" and delta:
        account = Account(ledger, plan)
        if plan is not None:
            need(len(plan.windows) == len(account.ledger), "plan: a window for each step")
        need(account.delta(bound) <= delta, "delta: more than the bound")
        return
    need(not delta, "delta: for ε alone")
    found = {"epsilon": pure_bound, "rho": rho_bound, "mu2": mu2_bound}[measure](ledger)
    if found is None:
        raise Invalid(f"{measure}: there is no bound of this kind")
    need(found <= bound, "it costs more than the bound")


def ledger_of(model: object, adjacency: str, radius: Extended, length: int | None) -> Ledger:
    """The steps of a model alone, before anything is claimed about it."""
    return together(steps_of_ways(model, adjacency, radius, length))


def steps_of_ways(
    model: object, adjacency: str, radius: Extended, length: int | None
) -> list[list[StageLoss]]:
    """For each way through a model its steps, in the order in which they are seen."""
    fields = Fields(model, "model")
    apart, columns = fields.truth("apart"), _columns(fields)
    setting = Setting(adjacency, radius, length, apart, columns)
    ways = [_way(one, setting) for one in fields.each("ways")]
    need(bool(ways), "ways: none")
    _need_times(ways, _rows_each(fields))
    fields.done()
    return [steps_of(way) for way in ways]


def _rows_each(fields: Fields) -> int:
    """How many rows one record of the statement, a person, has at most."""
    if not fields.has("rows_each"):
        return 1
    each = fields.whole("rows_each")
    need(1 <= each <= _MOST and bool(fields.text("user")), "rows_each: out of range, or of nobody")
    return each


def _need_times(ways: Sequence[StageWay], each: int) -> None:
    """A person is in a pass once, or with each of its rows."""
    for way in ways:
        need(all(p.times in (1, each) for p in way.passes), "times: neither once nor each row")
        whole = any(column.of_all for column in way.terms.fields.values())
        need(each == 1 or not whole, "columns.of_all: for one row of each person alone")
        need(each == 1 or not way.gates, "gates: for one row of each person alone")
        sums = not way.apart and not way.moved
        need(each == 1 or sums, "rows_each: people come, go or are replaced, in sums alone")


# Parsing ----------------------------------------------------------------------------------------


def _columns(fields: Fields) -> Columns:
    found: Columns = {}
    for column in fields.each("columns"):
        name = column.text("name")
        low = extended(column.take("low"), "columns.low")
        high = extended(column.take("high"), "columns.high")
        is_whole = column.truth("whole")
        listed_values = column.has("values")
        values = column.texts("values") if listed_values else ()
        values = tuple(line(v, "columns.values") for v in values)
        of_person = column.has("of_person")  # a number that all rows of a person decide
        if of_person:
            need(column.truth("of_person"), "columns.of_person: it is, or it is not said")
        of_all = column.has("of_all")
        if of_all:
            need(column.truth("of_all"), "columns.of_all: it is, or it is not said")
        column.done()
        need(name not in found and low <= high, f"columns: {name[:40]!r}")
        need(not (of_all and of_person), "columns: of all records, and of one person")
        if of_all or of_person:
            line(name, "columns.name")
        if listed_values:  # its number is the place among them
            places = is_whole and (low, high) == (0, len(values) - 1)
            need(places, f"columns: {name[:40]!r}: not the places of its values")
        found[name] = RecordColumn(_end(low), _end(high), is_whole, values, of_all, of_person)
    need(bool(found), "columns: none")
    need(any(not c.made for c in found.values()), "columns: none is of a record")
    return found


def _end(value: Extended) -> End:
    return value if isinstance(value, Fraction) else None


def _inputs(columns: Columns, each: int) -> Inputs:
    fields = [c for c in columns.values() if not c.made]
    kind: Literal["integers", "reals"] = "integers" if all(c.whole for c in fields) else "reals"
    return Inputs(
        kind,
        tuple(map(_ends, fields)),
        names=tuple(c.values for c in fields),
        rows=each,
        whole=tuple(c.whole for c in fields),
    )


def _ends(column: RecordColumn) -> tuple[Extended, Extended]:
    inf = float("inf")
    low, high = column.low, column.high
    return -inf if low is None else low, inf if high is None else high


def _supposed(columns: Columns) -> tuple[str, ...]:
    """The ranges of numbers that are no fields: nothing here shows that they are right."""
    found = []
    for name, column in columns.items():
        if column.made:
            kind = "a whole number" if column.whole else "a number"
            between = shown_range(_ends(column))
            what = f"what one record moves ‘{name}’ by" if column.of_all else f"‘{name}’"
            found.append(f"{what} is {kind} in {between}")
    return tuple(found)


def _plan(fields: Fields) -> LossGrid | None:
    value = fields.take("plan")
    if value is None:
        return None
    plan = Fields(value, "plan")
    grid, tail = plan.whole("grid"), plan.whole("tail")
    windows = []
    for pair in listed(plan.take("windows"), "plan.windows"):
        low, high = (whole(end, "plan.windows") for end in listed(pair, "plan.windows", 2))
        need(low < high and high - low <= _MOST, "plan.windows: empty, or too many cells")
        windows.append((low, high))
    plan.done()
    need(1 < grid <= 10**9 and 0 < tail <= 90, "plan: out of range")
    return LossGrid(grid, tuple(windows), tail)


def _way(fields: Fields, setting: Setting) -> StageWay:
    symbols: list[RecordSymbol] = []
    for value in listed(fields.take("terms"), "terms"):
        need(len(symbols) < _MOST, "terms: too many")
        symbols.append(_symbol(listed(value, "terms"), symbols, setting.columns, setting.records))
    noises = tuple(map(_noise, fields.each("noises")))
    passes = tuple(_pass(one, symbols, setting) for one in fields.each("passes"))
    rows = tuple(_row(v, len(symbols)) for v in listed(fields.take("rows"), "rows"))
    gates = tuple(_gate(one, noises) for one in fields.each("gates"))
    fields.done()
    need(not (gates and setting.moved), "gates: keys of records, and numbers that move")
    way = StageWay(
        RecordTerms(symbols, setting.columns),
        passes,
        noises,
        rows,
        gates,
        setting.adjacency == "replace_one",
        setting.apart,
        setting.moved,
        setting.reach(),
        setting.length,
    )
    need(not (passes and setting.apart), "apart: there are no sums over records")
    for one in passes:
        need_every_record(way.terms, one.cases)
    _need_one_meaning(way)
    _need_alone(way)
    _need_references(way)
    return way


def _need_one_meaning(way: StageWay) -> None:
    """A coin has one chance, and a public value is known from one row on."""
    questions = (c for p in way.passes for case in p.cases for c in case.conditions)
    coins = {(c.coin, c.relation in ("in", "out"), c.chance) for c in questions if c.form is None}
    need(len({c[:2] for c in coins}) == len(coins), "cases.if: a coin with two chances")
    known = {(s.numbers[0], s.after) for s in way.terms.symbols if s.op == "pub"}
    need(len({number for number, _ in known}) == len(known), "terms: a public value of two times")


def _need_alone(way: StageWay) -> None:
    """A column `of_all` is all that a pass of its own adds; nothing else has it."""
    named = {s: way.terms.fields[x.name] for s, x in enumerate(way.terms.symbols) if x.name}
    of_all = {s for s, column in named.items() if column.of_all}
    if not of_all:
        return
    need(not way.moved and not way.apart, "columns.of_all: records come, go or are replaced")
    for one in way.passes:
        forms = [f for case in one.cases for f in case.adds]
        forms += [c.form for case in one.cases for c in case.conditions if c.form is not None]
        if not of_all & _inside(way, {s for f in forms for s, _ in f.terms}):
            continue
        alone = len(one.cases) == 1 and not one.cases[0].conditions and len(forms) == 1
        plain = all(not f.constant and len(f.terms) == 1 and f.terms[0][1] == 1 for f in forms)
        need(alone and plain, "columns.of_all: beside something else in a pass")
        need(of_all >= {s for s, _ in forms[0].terms}, "columns.of_all: inside of a function")


def _row(value: object, size: int) -> RecordForm | StageChoice:
    if isinstance(value, list):
        return _form(value, size)
    fields = Fields(value, "rows")
    if fields.has("point"):
        return _point(fields, size)
    exponents = tuple(_form(v, size) for v in listed(fields.take("exponents"), "exponents"))
    noises = tuple(whole(n, "rows.noises") for n in listed(fields.take("noises"), "rows.noises"))
    fields.done()
    need(bool(exponents), "rows: a choice from nothing")
    need(not noises or len(noises) == len(exponents), "rows: a noise for each candidate")
    return StageChoice(exponents, noises)


def _point(fields: Fields, size: int) -> StageChoice:
    """A point between two numbers, by the exponent of its density."""
    exponent = _form(fields.take("point"), size)
    low, high = fields.number("low"), fields.number("high")
    fields.done()
    need(low < high, "rows: a point of nothing")
    return StageChoice((exponent,), (), (low, high))


def _need_references(way: StageWay) -> None:
    gated = {gate.noise for gate in way.gates}
    need(len(gated) == len(way.gates), "gates: one noise for two")
    used = set(gated)
    for row in way.rows:
        if isinstance(row, StageChoice) and row.noises:
            _need_race(way, row, used)
    symbols = {s for row in way.rows for f in _forms_of(row) for s, _ in f.terms}
    drawn = {s for row in way.rows if isinstance(row, RecordForm) for s, _ in row.terms}
    for s in sorted(_inside(way, symbols)):
        symbol = way.terms.symbols[s]
        if symbol.op == "noise":
            need(s in drawn and symbol.numbers[0] < len(way.noises), "rows: an unknown noise")
            need(symbol.numbers[0] not in used, "rows: the noise of a gate, or of a race")
        elif symbol.op == "sum":
            p, place = symbol.numbers
            need(p < len(way.passes), "rows: an unknown pass")
            need(place < len(way.passes[p].cases[0].adds), "rows: an unknown sum")


def _forms_of(row: RecordForm | StageChoice) -> tuple[RecordForm, ...]:
    return row.exponents if isinstance(row, StageChoice) else (row,)


def _inside(way: StageWay, symbols: set[int]) -> set[int]:
    """The symbols, and those that they are functions of."""
    found: set[int] = set()
    pending = sorted(symbols)
    while pending:
        s = pending.pop()
        if s not in found:
            found.add(s)
            pending += [t for form in way.terms.symbols[s].forms for t, _ in form.terms]
    return found


def _need_race(way: StageWay, row: StageChoice, used: set[int]) -> None:
    """Draws of one kind, one for each candidate, that nothing else has."""
    for n in row.noises:
        need(0 <= n < len(way.noises) and n not in used, "rows: a noise of two")
        used.add(n)
    kinds = {way.noises[n] for n in row.noises}
    need(len(kinds) == 1, "rows: a race of different noises")
    noise = kinds.pop()
    need(noise.family in RACING and noise.most is None, "rows: noise that decides no race")


def _symbol(
    parts: Sequence[object], known: Sequence[RecordSymbol], columns: Columns, records: int | None
) -> RecordSymbol:
    need(bool(parts), "terms: an empty one")
    op = text(parts[0], "terms")
    if op == "field":
        return _field(parts, columns, records)
    if op in ("pub", "sum"):
        need(len(parts) == 3, f"terms: {op}")
        a, b = whole(parts[1], "terms"), whole(parts[2], "terms")
        need(a >= 0 and b >= 0, "terms: a negative number")
        return RecordSymbol(op, False, None, b if op == "pub" else 0, numbers=(a, b))
    if op == "noise":
        need(len(parts) == 2, "terms: noise")
        k = whole(parts[1], "terms")
        need(k >= 0, "terms: a negative number")
        return RecordSymbol(op, False, None, 0, numbers=(k,))
    need(op in _FUNCTIONS or op in _ANY_NUMBER, f"terms: the function {op[:20]!r}")
    forms = tuple(_form(v, len(known)) for v in parts[1:])
    need(bool(forms) and len(forms) == _FUNCTIONS.get(op, len(forms)), f"terms: {op}")
    inner = [known[s] for form in forms for s, _ in form.terms]
    need(all(s.op != "noise" for s in inner), f"terms: {op} of a noise")
    record = any(s.record for s in inner)
    indices = {s.index for s in inner if s.record}
    after = max((s.after for s in inner), default=0)
    if any(s.op == "sum" or s.private for s in inner) or len(indices) > 1:
        need(op in _LIPSCHITZ, f"terms: {op} of private values")
        need(not record or records is not None, f"terms: {op} of sums and of one record")
        if op == "pick":
            first = [known[s] for s, _ in forms[0].terms]
            public = all(not (s.op == "sum" or s.private or s.record) for s in first)
            need(public and len(forms) > 1, "terms: a place that is private")
        return RecordSymbol(op, False, None, after, forms=forms, private=True)
    need(op != "pick", "terms: pick of public values")
    return RecordSymbol(op, record, next(iter(indices), None), after, forms=forms)


def _field(parts: Sequence[object], columns: Columns, records: int | None) -> RecordSymbol:
    need(len(parts) == 3, "terms: field")
    name = text(parts[2], "terms")
    need(name in columns, "terms: an unknown field")
    index = None if parts[1] is None else whole(parts[1], "terms")
    need((index is None) == (records is None), "terms: which record is it of?")
    need(index is None or records is None or 0 <= index < records, "terms: no such record")
    return RecordSymbol("field", True, index, 0, name=name)


def _form(value: object, size: int) -> RecordForm:
    constant, terms = listed(value, "form", 2)
    found: list[tuple[int, Fraction]] = []
    for pair in listed(terms, "form"):
        place, c = listed(pair, "form", 2)
        symbol, slope = whole(place, "form"), rational(c, "form")
        need(0 <= symbol < size and slope != 0, "form: an unknown symbol, or a slope of 0")
        need(not found or found[-1][0] < symbol, "form: symbols out of order")
        found.append((symbol, slope))
    return RecordForm(tuple(found), rational(constant, "form"))


def _noise(fields: Fields) -> StageNoise:
    family, scale = fields.text("family"), fields.number("scale")
    most = fields.take("most")
    fields.done()
    need(family in _FAMILIES and scale > 0, "noises: family or scale")
    need("geometric" not in family or scale < 1, "noises: what is left of a chance after a step")
    bound = None if most is None else rational(most, "noises.most")
    need(bound is None or bound > 0, "noises: most")
    return StageNoise(family, scale, bound)


def _pass(fields: Fields, symbols: Sequence[RecordSymbol], setting: Setting) -> StagePass:
    made = fields.whole("made")
    cases = []
    for case in fields.each("cases"):
        conditions = tuple(
            _condition(listed(v, "cases.if"), len(symbols))
            for v in listed(case.take("if"), "cases.if")
        )
        adds = tuple(_form(v, len(symbols)) for v in listed(case.take("adds"), "cases.adds"))
        case.done()
        used = [f for f in (*adds, *(c.form for c in conditions)) if f is not None]
        for symbol in (symbols[s] for form in used for s, _ in form.terms):
            private = symbol.op in ("sum", "noise") or symbol.private
            need(not private, "cases: private values of others")
            need(symbol.after <= made, "cases: what a record adds depends on a later row")
        for condition in conditions:
            _need_subset(condition, setting)
        cases.append(StageCase(conditions, adds))
    times = fields.whole("times") if fields.has("times") else 1
    fields.done()
    need(bool(cases) and len({len(c.adds) for c in cases}) == 1, "cases: of different sizes")
    return StagePass(tuple(cases), made, times)


def _condition(parts: Sequence[object], size: int) -> RecordCondition:
    relation = text(parts[0] if parts else None, "cases.if")
    if relation in ("heads", "tails", "in", "out"):
        need(len(parts) == 3, "cases.if: a coin")
        chance = rational(parts[2], "cases.if")
        need(0 < chance <= 1, "cases.if: a chance outside of (0, 1]")
        return RecordCondition(relation, None, text(parts[1], "cases.if"), chance)
    need(relation in RELATIONS and len(parts) == 2, "cases.if: an unknown relation")
    return RecordCondition(relation, _form(parts[1], size))


def _need_subset(condition: RecordCondition, setting: Setting) -> None:
    """A subset of known size, of as many records as there are."""
    if condition.relation not in ("in", "out"):
        return
    need(setting.adjacency == "replace_one" and setting.length is not None, "cases.if: a subset")
    size = condition.chance * (setting.length or 0)
    need(size.denominator == 1 and size >= 1, "cases.if: a subset of a whole number of records")


def _gate(fields: Fields, noises: Sequence[StageNoise]) -> StageGate:
    noise, threshold, made = fields.whole("noise"), fields.number("threshold"), fields.whole("made")
    fields.done()
    need(0 <= noise < len(noises), "gates: an unknown noise")
    return StageGate(noise, threshold, made)
