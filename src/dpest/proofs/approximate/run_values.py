"""The values of all symbols of a model in one run of the untouched function."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.proofs.approximate.recorder import Recorder
from dpest.proofs.approximate.run_draws import Different, RunDraws
from dpest.proofs.approximate.run_points import gaps_of_run, point_of_run
from dpest.proofs.approximate.sample_data import symbol_numbers
from dpest.reading.contributions.control.picks import PICK
from dpest.reading.contributions.control.public import chosen
from dpest.reading.contributions.forms import SymbolicForm
from dpest.reading.contributions.functions.flips import CANDIDATE
from dpest.reading.contributions.gaps.values import POINT
from dpest.reading.contributions.ledger import ONCE, Gate, MovedStatistic
from dpest.reading.contributions.reading import Data, PublicWay
from dpest.reading.contributions.values import (
    Combined,
    Map,
    Option,
    PublicValue,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
)


class RunValues:
    """The values of all symbols in one run."""

    def __init__(
        self,
        way: PublicWay,
        data: Data,
        raw: list[dict[Any, Any]],
        rng: Recorder,
    ) -> None:
        self.way, self.raw = way, raw
        self.records = [symbol_numbers(data, r) for r in raw]
        self.sums: dict[int, list[float]] = {}
        self.fitting: dict[tuple[int, int], bool] = {}
        self.forms: list[SymbolicForm] = []
        self.slopes: dict[int, list[tuple[int, float]]] = {}
        self.draws = RunDraws(rng)
        self.made: dict[int, Any] = {}
        self.noise_values: list[float] = []
        self.gap_noises: dict[int, list[float]] = {}
        self.place = 0  # of the gap that is looked at
        self.shown: dict[Any, float] = {}
        self.people = self.records if data.user is None else self._people(data.user)
        self._take_noises()
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
            raise Different(f"{len(fits)} cases fit a row")
        return [] if fits[0] is None else [self.value(fits[0], row)]

    def _take_noises(self) -> None:
        """The noises in the order of the program; drawn again where they are too large."""
        gates = {g.noise: g for g in self.way.ledger.gates}
        for k, noise in enumerate(self.way.ledger.noises):
            if k in gates:
                for key, count in self._counts(gates[k]):
                    value = count + self.draws.noise(noise.family, noise.scale)
                    if value >= gates[k].threshold:
                        self.shown[key] = value
                self.noise_values.append(math.nan)
                continue
            if noise.gaps is not None:
                self.noise_values.append(math.nan)
                self._take_noise_of_gaps(k)
                continue
            if noise.parts is not None:
                first, second = (self.noise_values[i] for i in noise.parts)
                self.noise_values.append(first - second)
                continue
            if noise.made is not None:
                self.noise_values.append(self.value(noise.made))
                continue
            if noise.coins:
                self.noise_values.append(self.draws.coins_below(noise.scale))
                continue
            if noise.over is not None:
                divisor = self.value(noise.over)
                drawn = self.draws.noise(noise.family, Fraction(float(noise.scale) / divisor))
                self.noise_values.append(drawn * divisor)
                continue
            value = self.draws.noise(noise.family, noise.scale)
            while noise.most is not None and abs(value) > noise.most:
                value = self.draws.noise(noise.family, noise.scale)
            self.noise_values.append(value)

    def _take_noise_of_gaps(self, k: int) -> None:
        """A draw for each gap, or for each that has a length."""
        noise = self.way.ledger.noises[k]
        raced = [c for c in self.way.gap_choices if c.how in ("race", "times") and c.draw == k]
        if not raced:
            raise Different("it draws noise for each gap between records, and does not use it")
        self.gap_noises[k] = [
            self.draws.noise(noise.family, noise.scale) / float(noise.scale)
            if noise.gaps == "all" or b > a
            else math.nan
            for a, b in gaps_of_run(self, raced[0].gaps)
        ]

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
                raise Different(f"{len(fits)} cases fit a record")
            if fits[0].present:
                found.append(self._key(fits[0].element, record))
        return found

    def numbers_of(self, rows: Rows) -> list[float]:
        """A number of each record."""
        return [float(v) for v in self._elements(rows)]

    def _key(self, element: Any, record: Any) -> Any:
        if isinstance(element, Option):
            element = element.values[round(self.value(element.place, record))]
        return self.value(element, record) if isinstance(element, SymbolicForm) else element

    def uniforms_read(self) -> int:
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
                raise Different(f"{len(fits)} cases fit a record")
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
                drawn: Any = (
                    np.asarray(self.draws.picks[name[1]]) if name[1] < len(self.draws.picks) else []
                )
                return bool(place in drawn) == (truth.relation == "in")
            return (self.draws.coin(name, place, len(self.records)) < chance) == (
                truth.relation == "heads"
            )
        assert truth.form is not None
        value = self.value(truth.form, record)
        return {">": value > 0, ">=": value >= 0, "==": value == 0, "!=": value != 0}[
            truth.relation
        ]

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
        if op == "place":
            return self.place
        if op == "pub":
            return self._public(symbol, node)
        if op == "uniform":
            return self.draws.uniform(node[1])
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
            return self.draws.uniform(self.way.uniform_symbols[node[1]])
        if node[1] in self.way.recipes:
            return self._number(self.prepared(self.way.recipes[node[1]]))
        raise Different("a public value can't be followed")

    # Public values -------------------------------------------------------------------------------

    def native(self, value: Any) -> Any:
        """A value of the model as the run has it."""
        if isinstance(value, SymbolicForm):
            only = value.terms[0][0] if len(value.terms) == 1 else None
            if only is not None and value == SymbolicForm(((only, Fraction(1)),), Fraction(0)):
                node = self.way.terms.nodes[only]
                if node[0] == "pub" and node[1] in self.way.recipes:
                    return self.prepared(self.way.recipes[node[1]])
            return self.value(value)
        if isinstance(value, PublicValue):
            if value.recipe is None:
                raise Different("a public value can't be followed")
            return self.prepared(value.recipe)
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

    def prepared(self, recipe: Any) -> Any:
        if id(recipe) not in self.made:
            self.made[id(recipe)] = self._cooked(recipe)
        return self.made[id(recipe)]

    def _cooked(self, recipe: Any) -> Any:
        if recipe.function is PICK:
            return self.draws.pick(recipe.arguments[0])
        if recipe.function is POINT:
            return point_of_run(self, recipe.arguments[0])
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
        except Different:
            raise
        except Exception as error:
            raise Different(f"a step of it raises {type(error).__name__}: {error}") from None

    def _winner(self, drawing: Any) -> Any:
        """Which candidate's coin is the first to show heads."""
        scores = [self.value(e) for e in drawing.exponents]
        left = list(range(len(scores)))
        for turn in range(len(scores)):
            if drawing.permuted:
                place = int(self.draws.picks[drawing.pick][turn])
            else:
                place = left.pop(int(self.draws.picks[drawing.pick + turn]) if len(left) > 1 else 0)
            if drawing.uniform + turn >= len(self.draws.all_uniforms):
                break
            coin = self.draws.all_uniforms[drawing.uniform + turn]
            if coin <= math.exp(scores[place] - max(scores)):
                self.draws.uniforms = self.draws.uniforms[turn + 1 :]
                return drawing.items[place]
        raise Different("it throws other coins")

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise Different(f"it computes with {value!r} as if it were a number") from None


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
