"""The untouched function against its model: the same draws, the same ways, the same output."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.shapes import in_shape
from dpest.errors import ReplayError
from dpest.proofs.conformance import call
from dpest.reading.contributions.forms import Form
from dpest.reading.contributions.groups import Labelled
from dpest.reading.contributions.ledger import ONCE
from dpest.reading.contributions.reading import Data, Way
from dpest.reading.contributions.sheets import Sheet
from dpest.reading.contributions.values import Array, Map, PublicValue, Seq, Truth

TRIALS = 30
_MOST_RECORDS = 64
_ADVICE = (
    "A mechanism must depend on its input, its parameters and `rng` alone, and treat numbers alike "
    "whatever their type"
)


class Recorder(np.random.Generator):
    """NumPy's generator, which writes down what was drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.noises: list[tuple[str, float, float]] = []  # family, scale, value around 0
        self.vectors: list[list[float]] = []
        self.uniforms: list[float] = []

    def _noisy(self, family: str, drawn: Any, loc: Any, scale: Any) -> Any:
        values, locs, scales = np.broadcast_arrays(np.asarray(drawn), loc, scale)
        triples = zip(values.ravel(), locs.ravel(), scales.ravel(), strict=True)
        self.noises += [(family, float(s), float(v - a)) for v, a, s in triples]
        return drawn

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("laplace", super().laplace(loc, scale, size), loc, scale)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("normal", super().normal(loc, scale, size), loc, scale)

    def standard_normal(self, size: Any = None, *rest: Any, **named: Any) -> Any:
        return self._noisy("normal", super().standard_normal(size, *rest, **named), 0.0, 1.0)

    def random(self, size: Any = None, *rest: Any, **named: Any) -> Any:
        return self._uniform(super().random(size, *rest, **named))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._uniform(super().uniform(low, high, size))

    def _uniform(self, drawn: Any) -> Any:
        if np.ndim(drawn) == 0:
            self.uniforms.append(float(drawn))
        else:
            self.vectors.append([float(v) for v in np.ravel(drawn)])
        return drawn


def replay(
    mechanism: Mechanism, ways: Sequence[Way], data: Data, constants: Sequence[float]
) -> tuple[str, ...]:
    """Raises ReplayError where a run and the model differ; what is to be said comes back."""
    source = random.Random(17)
    seen: dict[Any, str] = {}
    lengths = [data.length] if data.length is not None else _lengths(constants)
    for trial in range(max(TRIALS, len(lengths))):
        length = lengths[trial % len(lengths)]
        records = _records(data, length, source, constants, trial)
        _one(mechanism, ways, data, records, trial, seen)
    if data.length is None and not data.replace:
        try:
            _one(mechanism, ways, data, [], TRIALS, seen)
        except ReplayError:
            return ("the bound is for data sets of at least one record: none at all is special",)
    return ()


def _lengths(constants: Sequence[float]) -> list[int]:
    """Some lengths, and those that the source names: there a program may do something else."""
    named = [int(c) for c in constants if 0 < c <= _MOST_RECORDS and c == int(c)]
    return list(dict.fromkeys((1, 2, 3, 5, 8, *named)))


def _records(
    data: Data, length: int, source: random.Random, constants: Sequence[float], trial: int
) -> list[dict[Any, Any]]:
    found = []
    for person in range(length):
        for _ in range(source.randint(1, data.rows_each)):
            row = {c.name: _value(c, source, constants, trial) for c in data.columns}
            found.append(row if data.user is None else {data.user: person, **row})
    return found


def _value(column: Any, source: random.Random, constants: Sequence[float], trial: int) -> Any:
    low = float(column.low) if column.low is not None else -math.inf
    high = float(column.high) if column.high is not None else math.inf
    kind = source.random()
    inside = [c for c in constants if low <= c <= high and math.isfinite(c)]
    if kind < 0.2 and inside:
        found = source.choice(inside)
    elif kind < 0.4 and (math.isfinite(low) or math.isfinite(high)):
        found = source.choice([e for e in (low, high) if math.isfinite(e)])
    elif math.isfinite(low) and math.isfinite(high):
        found = source.uniform(low, high)
    else:
        reach = 1e6 if trial % 5 == 4 else 10.0
        found = min(max(source.uniform(-reach, reach), low), high)
    if column.values is not None:
        return source.choice(column.values)
    if column.missing and source.random() < 0.3:
        return math.nan
    return int(min(max(round(found), math.ceil(low)), math.floor(high))) if column.whole else found


def _given(data: Data, records: Sequence[Mapping[Any, Any]]) -> Any:
    if None in (c.name for c in data.columns):
        values = [r[None] for r in records]
        return np.array(values) if data.form == "array" else values
    form = "dicts" if data.form == "list" else data.form
    return in_shape(form, records, data.kinds)


def _coded(data: Data, record: Mapping[Any, Any]) -> dict[Any, float]:
    """The numbers that the symbols of a record stand for."""
    return {k: v for c in data.columns for k, v in c.codes(record[c.name]).items()}


def _one(
    mechanism: Mechanism,
    ways: Sequence[Way],
    data: Data,
    records: list[dict[Any, Any]],
    trial: int,
    seen: dict[Any, str],
) -> None:
    """One run; `seen` are the types of what the runs before it gave, which must not change."""
    rng = Recorder(1000 + trial)
    given = _given(data, records)
    try:
        with np.errstate(all="ignore"):
            output = call(mechanism, given, rng)
    except Exception as error:
        raise ReplayError(
            f"the function raises {type(error).__name__} ({error}) on {given!r}", _ADVICE
        ) from error
    fitting, other = 0, None
    for place, way in enumerate(ways):
        try:
            run = _Run(way, data, records, rng)
        except _Different as reason:
            other = reason  # a way with other draws; this run's own must fit
            continue
        try:
            if not all(run.holds(t) for t in way.decided):
                continue
            fitting += 1
            run.finish()
            run.compare(way.output, output)
            for path, kind in run.types.items():
                if seen.setdefault((place, path), kind) != kind:
                    raise _Different(
                        f"the type of what it gives is {kind} here, and {seen[place, path]} on "
                        "other data: a receiver sees that"
                    )
        except _Different as reason:
            raise ReplayError(
                f"the function is not what was read of it: {reason}, on {given!r}", _ADVICE
            ) from None
    if fitting != 1:
        why = f"{fitting} ways fit a run" if fitting or other is None else str(other)
        raise ReplayError(
            f"the function is not what was read of it: {why} on {given!r}",
            _ADVICE,
        )


class _Different(Exception):
    pass


class _Run:
    """The values of all symbols in one run."""

    def __init__(
        self,
        way: Way,
        data: Data,
        raw: list[dict[Any, Any]],
        rng: Recorder,
    ) -> None:
        self.way, self.raw = way, raw
        self.records = [_coded(data, r) for r in raw]
        self.types: dict[str, str] = {}
        self.rows: dict[int, float] = {}
        self.sums: dict[int, list[float]] = {}
        self.coins: dict[Any, float] = {}
        self.left = list(rng.noises)
        self.vectors = list(rng.vectors)
        self.uniforms = list(rng.uniforms)
        self.noise_values: list[float] = []
        self.shown: dict[Any, float] = {}
        self.people = self.records if data.user is None else self._people(data.user)
        self._draws()
        for p in range(len(way.ledger.passes)):
            self._sum(p)

    def _people(self, user: str) -> list[dict[Any, float]]:
        """One for each person: the first of its rows, with what is derived from all of them."""
        rows: dict[Any, list[dict[Any, float]]] = {}
        for raw, coded in zip(self.raw, self.records, strict=True):
            rows.setdefault(raw[user], []).append(coded)
        found = []
        for mine in rows.values():
            person = dict(mine[0])
            for name, derived in self.way.derived.items():
                values = [v for row in mine for v in self._of_row(derived.cases, row)]
                person[name] = _DERIVED[derived.what](values)
            found.append(person)
        return found

    def _of_row(self, cases: Any, row: dict[Any, float]) -> list[float]:
        fits = [form for c, form in cases if all(self.holds(t, row) for t in c)]
        if len(fits) != 1:
            raise _Different(f"{len(fits)} cases fit a row")
        return [] if fits[0] is None else [self.value(fits[0], row)]

    def _draws(self) -> None:
        """The noises in the order of the program; drawn again where they are too large."""
        gates = {g.noise: g for g in self.way.ledger.gates}
        for k, noise in enumerate(self.way.ledger.noises):
            if k in gates:
                for key, count in Counter(r[None] for r in self.raw).items():
                    value = count + self._take(noise.family, noise.scale)
                    if value >= gates[k].threshold:
                        self.shown[key] = value
                self.noise_values.append(math.nan)
                continue
            value = self._take(noise.family, noise.scale)
            while noise.most is not None and abs(value) > noise.most:
                value = self._take(noise.family, noise.scale)
            self.noise_values.append(value)

    def _take(self, family: str, scale: Fraction) -> float:
        if not self.left:
            raise _Different("it draws less noise")
        found, size, value = self.left.pop(0)
        if found != family or not math.isclose(size, scale, rel_tol=1e-12):
            raise _Different(
                f"it draws {found} noise of scale {size:g}, not {family} {float(scale):g}"
            )
        return value

    def finish(self) -> None:
        if self.left:
            raise _Different("it draws more noise")
        if any(self.vectors):
            raise _Different("it draws more coins")
        if self.uniforms:
            raise _Different("it draws more uniform numbers")

    # Values --------------------------------------------------------------------------------------

    def _sum(self, p: int) -> None:
        cases = self.way.ledger.passes[p].cases
        totals = [0.0] * len(cases[0][1])
        once = all(ONCE in conditions for conditions, _ in cases)
        for i, record in enumerate(self.people if once else self.records):
            fits = [adds for c, adds in cases if all(self.holds(t, record, i) for t in c)]
            if len(fits) != 1:
                raise _Different(f"{len(fits)} cases fit a record")
            for j, form in enumerate(fits[0]):
                totals[j] += self.value(form, record)
        self.sums[p] = totals

    def holds(self, truth: Truth, record: Any = None, place: int = -1) -> bool:
        if truth.coin is not None:
            name, chance = truth.coin
            return (self._coin(name, place) < chance) == (truth.relation == "heads")
        assert truth.form is not None
        value = self.value(truth.form, record)
        return {">": value > 0, ">=": value >= 0, "==": value == 0, "!=": value != 0}[
            truth.relation
        ]

    def _coin(self, name: Any, place: int) -> float:
        if (name, place) not in self.coins:
            if name[0] == "draw":
                if not self.vectors or len(self.vectors[0]) != len(self.records):
                    raise _Different("it draws other coins")
                for i, value in enumerate(self.vectors.pop(0)):
                    self.coins[name, i] = value
            else:
                if not self.uniforms:
                    raise _Different("it draws less coins")
                self.coins[name, place] = self.uniforms.pop(0)
        return self.coins[name, place]

    def value(self, form: Form, record: Any = None) -> float:
        return float(form.constant) + math.fsum(
            float(c) * self._symbol(s, record) for s, c in form.terms
        )

    def _symbol(self, symbol: int, record: Any) -> float:
        node = self.way.terms.nodes[symbol]
        op = node[0]
        if op == "field":
            return float((record if node[1] is None else self.records[node[1]])[node[2]])
        if op == "noise":
            return self.noise_values[node[1]]
        if op == "sum":
            return self.sums[node[1]][node[2]]
        if op == "pub":
            return self._public(symbol, node)
        inner = [self.value(a, record) for a in node[1:] if isinstance(a, Form)]
        return _FUNCTIONS[op](node, *inner)

    def _public(self, symbol: int, node: Any) -> float:
        row = self.way.row_of.get(node[1])
        if row is not None:
            return self.value(self.way.ledger.rows[row].form)
        if node[1] == self.way.length_symbol:
            return float(len(self.people))
        if node[1] in self.way.uniform_symbols:
            place = self.way.uniform_symbols.index(node[1])
            if place not in self.rows:
                if not self.uniforms:
                    raise _Different("it draws less uniform numbers")
                self.rows[place] = self.uniforms.pop(0)
            return self.rows[place]
        raise _Different("a public value can't be followed")

    # Outputs -------------------------------------------------------------------------------------

    def compare(self, expected: Any, actual: Any, path: str = "") -> None:
        if isinstance(expected, Form):
            value = self.value(expected)
            if not _close(value, actual):
                raise _Different(f"it gives {actual!r}, not {value!r}")
            self.types[f"{path}{self._chosen(expected, value)}"] = type(actual).__name__
        elif isinstance(expected, Sheet):
            self._compare_sheet(expected, actual, path)
        elif isinstance(expected, Labelled):
            self._compare_series(expected, actual, path)
        elif isinstance(expected, Array):
            found = np.asarray(actual)
            if found.shape != expected.shape:
                raise _Different(f"it gives an array of shape {found.shape}, not {expected.shape}")
            for e, a in zip(expected.cells, found.ravel(), strict=True):
                self.compare(e, a, path)
            self.types[path] = f"{type(actual).__name__} of {found.dtype}"
        elif isinstance(expected, (Seq, tuple)):
            items = expected.items if isinstance(expected, Seq) else expected
            if not isinstance(actual, (list, tuple)) or len(actual) != len(items):
                raise _Different(f"it gives {actual!r}, not {len(items)} values")
            for i, (e, a) in enumerate(zip(items, actual, strict=True)):
                self.compare(e, a, f"{path}[{i}]")
        elif isinstance(expected, Map):
            self._compare_dict(expected, actual, path)
        elif isinstance(expected, PublicValue):
            self._compare_keys(actual)
        elif isinstance(expected, (int, float, np.number)) and not isinstance(expected, bool):
            if not _close(float(expected), actual):
                raise _Different(f"it gives {actual!r}, not {expected!r}")
        elif not bool(np.all(expected == actual)):
            raise _Different(f"it gives {actual!r}, not {expected!r}")

    def _chosen(self, form: Form, value: float) -> str:
        """Which operand a minimum or maximum of public values is: it has the type of that one."""
        if len(form.terms) != 1 or form.constant or form.terms[0][1] != 1:
            return ""
        node = self.way.terms.nodes[form.terms[0][0]]
        if node[0] not in ("min", "max"):
            return ""
        equal = [k for k, a in enumerate(node[1:]) if self.value(a) == value]
        return "".join(f" operand {k}{self._chosen(node[1 + k], value)}" for k in equal)

    def _compare_sheet(self, expected: Sheet, actual: Any, path: str) -> None:
        if list(getattr(actual, "columns", ())) != list(expected.columns):
            raise _Different(f"it gives {actual!r}, not a DataFrame of {list(expected.columns)}")
        for name, cells in expected.columns.items():
            self._compare_series(Labelled(expected.labels, cells), actual[name], f"{path}[{name}]")
        self.types[path] = f"{type(actual).__name__} by {actual.columns.dtype}"

    def _compare_series(self, expected: Labelled, actual: Any, path: str) -> None:
        labels = list(getattr(actual, "index", ()))
        if labels != list(expected.labels) or not hasattr(actual, "dtype"):
            raise _Different(f"it gives {actual!r}, not a Series by {list(expected.labels)}")
        for label, e, a in zip(labels, expected.held, actual.tolist(), strict=True):
            self.compare(e, a, f"{path}[{label!r}]")
        self.types[path] = (
            f"{type(actual).__name__} {actual.name!r} of {actual.dtype}, by "
            f"{type(actual.index).__name__} {actual.index.name!r} of {actual.index.dtype}"
        )

    def _compare_dict(self, expected: Map, actual: Any, path: str) -> None:
        if not isinstance(actual, dict):
            raise _Different(f"it gives {actual!r}, not a dict")
        if expected.open:
            self._compare_keys(list(actual))
            return
        if list(actual) != list(expected.items):
            raise _Different(f"it gives a dict with the keys {list(actual)}")
        for key, value in expected.items.items():
            self.compare(value, actual[key], f"{path}[{key!r}]")

    def _compare_keys(self, actual: Any) -> None:
        if not self.way.ledger.gates:
            return
        plain = isinstance(actual, (list, tuple, set, frozenset)) and all(
            not isinstance(a, (list, tuple)) for a in actual
        )
        if plain and set(actual) != set(self.shown):
            raise _Different(f"it shows the keys {actual!r}, not {sorted(self.shown)!r}")


def _close(expected: float, actual: Any) -> bool:
    try:
        value = float(actual)
    except (TypeError, ValueError):
        return False
    return math.isclose(expected, value, rel_tol=1e-6, abs_tol=1e-6)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _public(node: Any, *inner: float) -> float:
    name = node[1]
    if name == "round":
        return round(inner[0], int(inner[1]))
    if name in ("floor", "ceil"):
        return float({"floor": math.floor, "ceil": math.ceil}[name](inner[0]))
    if name == "int":
        return float(int(inner[0]))
    return float(
        {"//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b}[name](*inner)
    )


_DERIVED: dict[str, Any] = {
    "sum": math.fsum,
    "mean": lambda v: math.fsum(v) / len(v) if v else math.nan,
    "max": max,
    "min": min,
    "count": len,
}
_FUNCTIONS: dict[str, Any] = {
    "mul": lambda _, a, b: a * b,
    "div": lambda _, a, b: a / b if b else math.nan,
    "abs": lambda _, a: abs(a),
    "min": lambda _, *a: min(a),
    "max": lambda _, *a: max(a),
    "norm": lambda _, *a: math.hypot(*a),
    "sqrt": lambda _, a: math.sqrt(max(a, 0.0)),
    "exp": lambda _, a: _exp(a),
    "npexp": lambda _, a: _exp(a),
    "tanh": lambda _, a: math.tanh(a),
    "arctan": lambda _, a: math.atan(a),
    "sin": lambda _, a: math.sin(a),
    "cos": lambda _, a: math.cos(a),
    "log": lambda _, a: math.log(a) if a > 0 else math.nan,
    "log1p": lambda _, a: math.log1p(a) if a > -1 else math.nan,
    "expit": lambda _, a: 1 / (1 + _exp(-a)),
    "public": _public,
}
