"""The untouched function against its model: the same draws, the same ways, the same output."""

from __future__ import annotations

import inspect
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.shapes import in_shape
from dpest.errors import ReplayError
from dpest.proofs.approximate.recorder import Recorder
from dpest.proofs.conformance import call
from dpest.reading.contributions.control.public import chosen
from dpest.reading.contributions.forms import Raised, SymbolicForm
from dpest.reading.contributions.functions.flips import CANDIDATE
from dpest.reading.contributions.groups import Labelled
from dpest.reading.contributions.ledger import ONCE, Gate, MovedStatistic
from dpest.reading.contributions.machine import PICK
from dpest.reading.contributions.reading import Data, PublicWay
from dpest.reading.contributions.sheets import Sheet
from dpest.reading.contributions.values import (
    Combined,
    Map,
    Option,
    ProgramObject,
    PublicValue,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
)
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.running.landmarks import places

TRIALS = 30
_MOST_RECORDS = 64
_MOST_MARKS = 48
_ADVICE = (
    "A mechanism must depend on its input, its parameters and `rng` alone, and treat numbers alike "
    "whatever their type"
)


def replay(
    mechanism: Mechanism, ways: Sequence[PublicWay], data: Data, constants: Sequence[float]
) -> tuple[str, ...]:
    """Raises ReplayError where a run and the model differ; what is to be said comes back."""
    source = random.Random(17)
    seen: dict[Any, str] = {}
    lengths = [data.length] if data.length is not None else _lengths(constants)
    stage = ScriptStage()
    found = StandIns(stage, mechanism.function, [n for way in ways for n in way.namespaces])
    with found.in_place() as rng:
        for trial in range(max(TRIALS, len(lengths))):
            length = lengths[trial % len(lengths)]
            records = _records(data, length, source, constants, trial)
            _one(mechanism, ways, data, records, trial, seen, stage, rng)
        for trial, records in enumerate(_special(data, ways, source, constants)):
            _one(mechanism, ways, data, records, trial, seen, stage, rng)
        if data.length is None and not data.replace:
            try:
                _one(mechanism, ways, data, [], TRIALS, seen, stage, rng)
            except ReplayError:
                return (
                    "the bound is for data sets of at least one record: none at all is special",
                )
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


def _special(
    data: Data, ways: Sequence[PublicWay], source: random.Random, constants: Sequence[float]
) -> Iterator[list[dict[Any, Any]]]:
    """Data whose records all lie in one case of the code, and those with one such record alone.

    Random records hardly ever fall between 0.61 and 0.611; a filter that leaves nothing, or one
    record that changes what an array is, shows at such places only.
    """
    numbers = [*constants, *_thresholds(ways)]
    lengths = (1, 3, 7) if data.length is None else (data.length,)
    for column in data.columns:
        for value in _marks(column, numbers)[:_MOST_MARKS]:
            for length in lengths:
                alike = _records(data, length, source, constants, 0)
                for row in alike:
                    row[column.name] = value
                yield alike
                alone = _records(data, length, source, constants, 0)
                alone[-1][column.name] = value
                yield alone


def _marks(column: Any, numbers: Sequence[float]) -> list[Any]:
    """One value of a column for each case that the numbers tell apart."""
    if column.values is not None:
        return list(column.values)
    low = -math.inf if column.low is None else float(column.low)
    high = math.inf if column.high is None else float(column.high)
    found = places(numbers, low, high)
    if column.whole:
        near = {round(v) + d for v in found for d in (-1, 0, 1)}
        return sorted(v for v in near if low <= v <= high)
    return found


def _thresholds(ways: Sequence[PublicWay]) -> list[float]:
    """The numbers at which what one field is decides about a record."""
    found = set()
    for way in ways:
        for one in way.ledger.passes:
            for conditions, _ in one.cases:
                for truth in conditions:
                    form = getattr(truth, "form", None)
                    if form is not None and len(form.terms) == 1:
                        found.add(float(-form.constant / form.terms[0][1]))
    return sorted(found)


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
    ways: Sequence[PublicWay],
    data: Data,
    records: list[dict[Any, Any]],
    trial: int,
    seen: dict[Any, str],
    stage: Any,
    generator: Any,
) -> None:
    """One run; `seen` are the types of what the runs before it gave, which must not change."""
    rng = Recorder(1000 + trial)
    stage.script = rng
    given = _given(data, records)
    try:
        with np.errstate(all="ignore"):
            output = _called(mechanism, given, generator)
    except ReplayError:
        raise
    except Exception as error:
        if not any(isinstance(way.output, Raised) for way in ways):
            raise ReplayError(
                f"the function raises {type(error).__name__} ({error}) on {given!r}", _ADVICE
            ) from error
        output = Raised(error)
    fitting, other = 0, None
    for place, way in enumerate(ways):
        try:
            run = _SymbolValues(way, data, records, rng)
        except _Different as reason:
            other = reason  # a way with other draws; this run's own must fit
            continue
        try:
            if not all(run.holds(t) for t in way.decided):
                continue
            fitting += 1
            run.compare(way.output, output)
            run.finish()
            for path, kind in run.types.items():
                if seen.setdefault((place, path), kind) != kind:
                    raise _Different(
                        f"the type of what it gives is {kind} here, and {seen[place, path]} on "
                        "other data: a receiver sees that, and float(…) around it makes them alike"
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


def _called(mechanism: Mechanism, given: Any, generator: Any) -> Any:
    if not mechanism.black_box:
        return call(mechanism, given, generator)
    result = mechanism.function(given, **mechanism.params)
    return list(result) if inspect.isgenerator(result) else result


class _Different(Exception):
    pass


class _SymbolValues:
    """The values of all symbols in one run."""

    def __init__(
        self,
        way: PublicWay,
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
        self.fitting: dict[tuple[int, int], bool] = {}
        self.forms: list[SymbolicForm] = []
        self.slopes: dict[int, list[tuple[int, float]]] = {}
        self.left = list(rng.noises)
        self.vectors = list(rng.vectors)
        self.uniforms = list(rng.uniforms)
        self.all_uniforms = tuple(rng.uniforms)
        self.picks = list(rng.picks)
        self.made: dict[int, Any] = {}
        self.told: dict[int, str] = {}
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
                for key, count in self._counts(gates[k]):
                    value = count + self._take(noise.family, noise.scale)
                    if value >= gates[k].threshold:
                        self.shown[key] = value
                self.noise_values.append(math.nan)
                continue
            if noise.parts is not None:
                first, second = (self.noise_values[i] for i in noise.parts)
                self.noise_values.append(first - second)
                continue
            if noise.made is not None:
                self.noise_values.append(self.value(noise.made))
                continue
            if noise.coins:
                self.noise_values.append(self._coins_below(noise.scale))
                continue
            if noise.over is not None:
                divisor = self.value(noise.over)
                drawn = self._take(noise.family, Fraction(float(noise.scale) / divisor))
                self.noise_values.append(drawn * divisor)
                continue
            value = self._take(noise.family, noise.scale)
            while noise.most is not None and abs(value) > noise.most:
                value = self._take(noise.family, noise.scale)
            self.noise_values.append(value)

    def _counts(self, gate: Gate) -> list[tuple[Any, int]]:
        """How often each key occurs, in the order in which their noises are drawn."""
        keys = self._elements(gate.rows)
        found = Counter(keys)
        if gate.order == "set":
            return [(key, found[key]) for key in set(keys)]
        if gate.order == "count":
            return found.most_common()
        if gate.order == "value_counts":
            import pandas as pd

            return list(pd.Series(keys, dtype=None if keys else object).value_counts().items())
        return sorted(found.items()) if gate.order == "sorted" else list(found.items())

    def _elements(self, rows: Rows | None) -> list[Any]:
        """What the records are, those that are there."""
        if rows is None:
            return [raw[None] for raw in self.raw]
        found = []
        for i, record in enumerate(self.records):
            fits = [c for c in rows.cases if self._fits(c.conditions, record, i)]
            if len(fits) != 1:
                raise _Different(f"{len(fits)} cases fit a record")
            if fits[0].present:
                found.append(self._key(fits[0].element, record))
        return found

    def _key(self, element: Any, record: Any) -> Any:
        if isinstance(element, Option):
            element = element.values[round(self.value(element.place, record))]
        return self.value(element, record) if isinstance(element, SymbolicForm) else element

    def _coins_below(self, chance: Fraction) -> float:
        """How many uniform numbers come before one that is not below a chance."""
        for count, value in enumerate(self.uniforms):
            if value >= chance:
                del self.uniforms[: count + 1]
                return float(count)
        raise _Different("it draws less coins")

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
        if self.uniforms and len(self.all_uniforms) != self._uniforms_read():
            raise _Different("it draws more uniform numbers")

    def _uniforms_read(self) -> int:
        """How many single uniform numbers the model draws."""
        nodes = self.way.terms.nodes
        return 1 + max((n[1] for n in nodes if n[0] == "uniform"), default=-1)

    # Values --------------------------------------------------------------------------------------

    def _sum(self, p: int) -> None:
        cases = self.way.ledger.passes[p].cases
        statistic = self._statistic(cases)
        if statistic is not None:
            elements = self._elements(statistic.rows)
            self.sums[p] = [statistic.function(elements) if elements else 0.0]
            return
        totals = [0.0] * len(cases[0][1])
        once = all(ONCE in conditions for conditions, _ in cases)
        for i, record in enumerate(self.people if once else self.records):
            fits = [adds for c, adds in cases if self._fits(c, record, i)]
            if len(fits) != 1:
                raise _Different(f"{len(fits)} cases fit a record")
            for j, form in enumerate(fits[0]):
                totals[j] += self.value(form, record)
        self.sums[p] = totals

    def _fits(self, conditions: tuple[RecordTruth, ...], record: Any, place: int) -> bool:
        """Whether conditions hold of a record; several passes have the same ones."""
        key = (id(conditions), id(record))
        if key not in self.fitting:
            self.fitting[key] = all(self.holds(t, record, place) for t in conditions)
        return self.fitting[key]

    def _statistic(self, cases: Any) -> MovedStatistic | None:
        """The number of all records that a pass stands for."""
        if len(cases) != 1 or len(cases[0][1]) != 1 or len(cases[0][1][0].terms) != 1:
            return None
        node = self.way.terms.nodes[cases[0][1][0].terms[0][0]]
        return self.way.ledger.statistics.get(node[2]) if node[0] == "field" else None

    def holds(self, truth: RecordTruth, record: Any = None, place: int = -1) -> bool:
        if truth.coin is not None:
            name, chance = truth.coin
            if name[0] == "subset":
                drawn: Any = np.asarray(self.picks[name[1]]) if name[1] < len(self.picks) else []
                return bool(place in drawn) == (truth.relation == "in")
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

    def value(self, form: SymbolicForm, record: Any = None) -> float:
        slopes = self.slopes.get(id(form))
        if slopes is None:
            slopes = self.slopes[id(form)] = [(s, float(c)) for s, c in form.terms]
            self.forms.append(form)  # while it is held, no other has its id
        return float(form.constant) + math.fsum(c * self._symbol(s, record) for s, c in slopes)

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
        if op == "uniform":
            return self._unit(node[1])
        if op == "pick":
            place, *rest = (a for a in node[1:])
            return self.value(rest[int(self.value(place, record))], record)
        inner = [self.value(a, record) for a in node[1:] if isinstance(a, SymbolicForm)]
        return _FUNCTIONS[op](node, *inner)

    def _public(self, symbol: int, node: Any) -> float:
        row = self.way.row_of.get(node[1])
        if row is not None:
            return self.value(self.way.ledger.rows[row].form)
        if node[1] == self.way.length_symbol:
            return float(len(self.people))
        if node[1] in self.way.uniform_symbols:
            return self._unit(self.way.uniform_symbols[node[1]])
        if node[1] in self.way.recipes:
            return self._number(self._prepared(self.way.recipes[node[1]]))
        raise _Different("a public value can't be followed")

    def _unit(self, place: int) -> float:
        """A uniform number: by its place, or in turn where records have coins of their own."""
        if place not in self.rows:
            if not self.coins and len(self.all_uniforms) > place:
                self.rows[place] = self.all_uniforms[place]
                self.uniforms = self.uniforms[1:]
            elif self.uniforms:
                self.rows[place] = self.uniforms.pop(0)
            else:
                raise _Different("it draws less uniform numbers")
        return self.rows[place]

    # Public values -------------------------------------------------------------------------------

    def native(self, value: Any) -> Any:
        """A value of the model as the run has it."""
        if isinstance(value, SymbolicForm):
            only = value.terms[0][0] if len(value.terms) == 1 else None
            if only is not None and value == SymbolicForm(((only, Fraction(1)),), Fraction(0)):
                node = self.way.terms.nodes[only]
                if node[0] == "pub" and node[1] in self.way.recipes:
                    return self._prepared(self.way.recipes[node[1]])
            return self.value(value)
        if isinstance(value, PublicValue):
            if value.recipe is None:
                raise _Different("a public value can't be followed")
            return self._prepared(value.recipe)
        if isinstance(value, RecordTruth):
            return self.holds(value)
        if isinstance(value, Combined):
            found = [self.native(p) for p in value.parts]
            return all(found) if value.conjunction else any(found)
        if isinstance(value, SmallArray):
            return np.array([self.native(c) for c in value.cells]).reshape(value.shape)
        if isinstance(value, Seq):
            return [self.native(v) for v in value.items]
        if isinstance(value, Map):
            return {self.native(k): self.native(v) for k, v in value.items.items()}
        if type(value) is tuple:
            return tuple(map(self.native, value))
        return value

    def _prepared(self, recipe: Any) -> Any:
        if id(recipe) not in self.made:
            self.made[id(recipe)] = self._cooked(recipe)
        return self.made[id(recipe)]

    def _cooked(self, recipe: Any) -> Any:
        if recipe.function is PICK:
            if recipe.arguments[0] >= len(self.picks):
                raise _Different("it draws less whole numbers")
            return self.picks[recipe.arguments[0]]
        if recipe.function is CANDIDATE:
            return self._winner(recipe.arguments[0])
        if recipe.function is chosen:  # the other one may not be there
            truth, first, second = recipe.arguments
            return self.native(first if self.native(truth) else second)
        try:
            return recipe.made(
                [self.native(a) for a in recipe.arguments],
                {k: self.native(v) for k, v in recipe.named.items()},
            )
        except _Different:
            raise
        except Exception as error:
            raise _Different(f"a step of it raises {type(error).__name__}: {error}") from None

    def _winner(self, drawing: Any) -> Any:
        """Which candidate's coin is the first to show heads."""
        scores = [self.value(e) for e in drawing.exponents]
        left = list(range(len(scores)))
        for turn in range(len(scores)):
            if drawing.permuted:
                place = int(self.picks[drawing.pick][turn])
            else:
                place = left.pop(int(self.picks[drawing.pick + turn]) if len(left) > 1 else 0)
            if drawing.uniform + turn >= len(self.all_uniforms):
                break
            coin = self.all_uniforms[drawing.uniform + turn]
            if coin <= math.exp(scores[place] - max(scores)):
                self.uniforms = self.uniforms[turn + 1 :]
                return drawing.items[place]
        raise _Different("it throws other coins")

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise _Different(f"it computes with {value!r} as if it were a number") from None

    # Outputs -------------------------------------------------------------------------------------

    def compare(self, expected: Any, actual: Any, path: str = "") -> None:
        if isinstance(expected, Raised) or isinstance(actual, Raised):
            self._compare_errors(expected, actual)
            return
        if isinstance(expected, SymbolicForm):
            value = self.native(expected)
            if not alike(value, actual):
                raise _Different(f"it gives {actual!r}, not {value!r}")
            told = f"{self._chosen(expected, value)}{self._told(expected)}"
            self.types[f"{path}{told}"] = type(actual).__name__
        elif isinstance(expected, Sheet):
            self._compare_sheet(expected, actual, path)
        elif isinstance(expected, Labelled):
            self._compare_series(expected, actual, path)
        elif isinstance(expected, SmallArray):
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
        elif isinstance(expected, ProgramObject):
            self._compare_object(expected, actual, path)
        elif isinstance(expected, PublicValue) and expected.recipe is None:
            self._compare_keys(actual)
        elif isinstance(expected, (PublicValue, RecordTruth, Combined)):
            value = self.native(expected)
            if not alike(value, actual):
                raise _Different(f"it gives {actual!r}, not {value!r}")
            self.types[f"{path}{self._told(expected)}"] = _kinds(actual)
        elif isinstance(expected, (int, float, np.number)) and not isinstance(expected, bool):
            if not _close(float(expected), actual):
                raise _Different(f"it gives {actual!r}, not {expected!r}")
        elif not bool(np.all(expected == actual)):
            raise _Different(f"it gives {actual!r}, not {expected!r}")

    def _compare_errors(self, expected: Any, actual: Any) -> None:
        if not (isinstance(expected, Raised) and isinstance(actual, Raised)):
            raise _Different("it raises an exception, or does not")
        error = self.native(expected.error)
        if type(error) is not type(actual.error) or not alike(str(error), str(actual.error)):
            raise _Different(f"it raises {actual.error!r}, not {error!r}")

    def _compare_object(self, expected: ProgramObject, actual: Any, path: str) -> None:
        if type(actual) is not expected.kind:
            raise _Different(f"it gives {actual!r}, not a {expected.kind.__name__}")
        held = actual._asdict() if hasattr(actual, "_asdict") else vars(actual)
        held = {
            k: v for k, v in held.items()
            if not isinstance(v, (np.random.Generator, np.random.RandomState, random.Random))
        }  # fmt: skip
        if set(held) != set(expected.attributes):
            raise _Different(f"it gives an object with the attributes {list(held)}")
        for name, value in expected.attributes.items():
            self.compare(value, held[name], f"{path}.{name}")

    def _chosen(self, form: SymbolicForm, value: float) -> str:
        """Which operand a minimum or maximum of public values is: it has the type of that one."""
        if len(form.terms) != 1 or form.constant or form.terms[0][1] != 1:
            return ""
        node = self.way.terms.nodes[form.terms[0][0]]
        if node[0] not in ("min", "max"):
            return ""
        equal = [k for k, a in enumerate(node[1:]) if self.value(a) == value]
        return "".join(f" operand {k}{self._chosen(node[1 + k], value)}" for k in equal)

    def _told(self, value: Any) -> str:
        """What public values say of a type: which way was taken, and of what types they are."""
        recipe = getattr(value, "recipe", None)
        if isinstance(value, SymbolicForm) and len(value.terms) == 1:
            node = self.way.terms.nodes[value.terms[0][0]]
            recipe = self.way.recipes.get(node[1]) if node[0] == "pub" else None
        if recipe is None or recipe.function is PICK:
            return ""
        if recipe.function is chosen:
            first = bool(self.native(recipe.arguments[0]))
            return f" way {first}{self._told(recipe.arguments[1 if first else 2])}"
        if id(recipe) not in self.told:
            inner = "".join(self._told(a) for a in recipe.arguments)
            self.told[id(recipe)] = f" {_kinds(self._prepared(recipe))}({inner})"
        return self.told[id(recipe)]

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


def _kinds(value: Any) -> str:
    """The types of a value, and of what it holds."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{','.join(dict.fromkeys(map(_kinds, value)))}]"
    if isinstance(value, dict):
        return f"{type(value).__name__}{{{','.join(dict.fromkeys(map(_kinds, value.values())))}}}"
    return f"{type(value).__name__} {getattr(value, 'dtype', '')}".strip()


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def alike(expected: Any, actual: Any) -> bool:
    """Whether a run gave what the model says, up to rounding."""
    if isinstance(expected, (bool, np.bool_)) or expected is None:
        return bool(np.all(expected == actual)) and np.ndim(actual) == 0
    if isinstance(expected, (int, float, np.number)):
        return _close(float(expected), actual)
    if isinstance(expected, str):
        if not isinstance(actual, str) or _NUMBER.sub("#", expected) != _NUMBER.sub("#", actual):
            return False
        pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
        return all(_close(float(a), float(b)) for a, b in pairs)
    if isinstance(expected, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(expected)
        if not isinstance(actual, np.ma.MaskedArray) or hidden.shape != actual.shape:
            return False
        same = bool(np.all(hidden == np.ma.getmaskarray(actual)))
        return same and alike(np.asarray(expected.data), np.asarray(actual.data))
    if isinstance(expected, np.ndarray) and not expected.ndim:
        return np.ndim(actual) == 0 and alike(expected.item(), actual)
    if isinstance(expected, (list, tuple, np.ndarray)):
        if isinstance(actual, (str, dict)) or not hasattr(actual, "__len__"):
            return False
        many = len(expected) == len(actual)
        return many and all(alike(a, b) for a, b in zip(expected, actual, strict=True))
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or list(expected) != list(actual):
            return False
        return all(alike(v, actual[k]) for k, v in expected.items())
    if isinstance(expected, (set, frozenset)):
        return isinstance(actual, (set, frozenset)) and (
            expected == actual or alike(sorted(expected), sorted(actual))
        )
    if type(expected) is not type(actual):
        return False
    if hasattr(expected, "to_dict"):  # a table, or one of its columns
        return alike(expected.to_dict(), actual.to_dict())
    if hasattr(expected, "__dict__"):
        return alike(vars(expected), vars(actual))
    return bool(expected == actual)


def _close(expected: float, actual: Any) -> bool:
    try:
        value = float(actual)
    except (TypeError, ValueError):
        return False
    if math.isnan(expected) or math.isnan(value):
        return math.isnan(expected) and math.isnan(value)
    return math.isclose(expected, value, rel_tol=1e-6, abs_tol=1e-6)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


_DERIVED: dict[str, Any] = {
    "sum": math.fsum,
    "mean": lambda v: math.fsum(v) / len(v) if v else math.nan,
    "max": max,
    "min": min,
    "count": len,
}
_FUNCTIONS: dict[str, Any] = {
    "mul": lambda _, a, b: a * b,
    "over": lambda _, a, b: a / b if b else math.nan,
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
    "floor": lambda _, a: math.floor(a),
    "ceil": lambda _, a: math.ceil(a),
    "rint": lambda _, a: round(a),
}
