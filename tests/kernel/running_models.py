"""The model in a certificate of noisy sums, run on neighbours: what its rows are without noise.

Nothing here is the kernel's: the JSON is read as its documentation says, in floating point.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Totals = dict[tuple[int, int], float]
Coins = Mapping[str, bool]
Field = Callable[[Any, str], float]
HELD = ("heads", "in")
COIN_WORDS = ("heads", "tails", "in", "out")


class Undecided(Exception):
    """This pair, or this model, says nothing here."""


@dataclass(frozen=True)
class Run:
    """What one data set gives, for some coins of one record: rows without noise, and exponents."""

    chance: float
    rows: tuple[float, ...]
    choices: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Pair:
    """Two neighbours' runs of one way through the model."""

    way: Mapping[str, Any]
    first: list[Run]
    second: list[Run]


# Values of symbols ----------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., float]] = {
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "abs": abs,
    "min": lambda *listed: min(listed),
    "max": lambda *listed: max(listed),
    "norm": math.hypot,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "npexp": lambda a: math.exp(a) if a < 700 else math.inf,
    "tanh": math.tanh,
    "arctan": math.atan,
    "sin": math.sin,
    "cos": math.cos,
    "log": math.log,
    "log1p": math.log1p,
    "expit": lambda a: 1 / (1 + math.exp(-a)) if a > -700 else 0.0,
    "floor": math.floor,
    "ceil": math.ceil,
    "rint": round,
    "pick": lambda place, *listed: listed[int(place) % len(listed)],
}


@functools.lru_cache(maxsize=10_000)
def number_of(text: str | int) -> float:
    return float(Fraction(text))


def value_of(form: Any, values: Sequence[float]) -> float:
    if not form[1]:
        return number_of(form[0])
    return math.fsum([number_of(form[0]), *[number_of(c) * values[s] for s, c in form[1]]])


def values_of(terms: Any, field: Field, public: Mapping[int, float], totals: Totals) -> list[float]:
    """The value of each symbol; NaN where it is about something that is not given."""
    values: list[float] = []
    for op, *arguments in terms:
        if op == "field":
            values.append(field(*arguments))
        elif op == "pub":
            values.append(public[arguments[0]])
        elif op == "sum":
            values.append(totals.get((arguments[0], arguments[1]), math.nan))
        elif op == "noise":
            values.append(math.nan)
        else:
            inner = [value_of(form, values) for form in arguments]
            values.append(math.nan if any(map(math.isnan, inner)) else _applied(op, inner))
    return values


def _applied(op: str, inner: Sequence[float]) -> float:
    try:
        return FUNCTIONS[op](*inner)
    except (ValueError, ArithmeticError):
        return math.nan


def holds(condition: Any, values: Sequence[float], coins: Coins) -> bool:
    if condition[0] in COIN_WORDS:
        return coins[condition[1]] == (condition[0] in HELD)
    found = value_of(condition[1], values)
    if math.isnan(found):
        raise Undecided("a question without an answer")
    answers = {">": found > 0, ">=": found >= 0, "==": found == 0, "!=": found != 0}
    return answers[condition[0]]


# Records --------------------------------------------------------------------------------------


def drawn(column: Mapping[str, Any], source: random.Random) -> float:
    """A number of a column: often an end of its range."""
    size = source.choice([1, 2, 10, 1000])
    low = -size if column["low"] == "-inf" else number_of(column["low"])
    high = size if column["high"] == "inf" else number_of(column["high"])
    low, high = min(low, high), max(low, high)
    near = max(low, min(high, source.uniform(-2, 2)))
    found = source.choice([low, low, high, high, max(low, min(high, 0.0)), near])
    if source.random() < 0.2:
        found = source.uniform(low, high)
    return max(math.ceil(low), min(math.floor(high), round(found))) if column["whole"] else found


class Model:
    """One way of a certificate, with public values that are drawn once."""

    def __init__(self, certificate: Mapping[str, Any], way: Any, source: random.Random) -> None:
        self.way, self.source, self.certificate = way, source, certificate
        self.adjacency = certificate["adjacency"]["name"]
        self.salt = source.random()
        self.apart, self.each = certificate["apart"], certificate.get("rows_each", 1)
        numbers = {t[1] for t in way["terms"] if t[0] == "pub"}
        self.public = {n: source.choice([0, 1, -1, source.uniform(-5, 5), 1e3]) for n in numbers}
        conditions = [c for p in way["passes"] for case in p["cases"] for c in case["if"]]
        self.coins = {c[1]: c for c in conditions if c[0] in COIN_WORDS}
        length = certificate["length"]
        self.length = source.choice([1, 2, 5]) if length == "any" else length

    def record(self) -> dict[str, float]:
        return {c["name"]: drawn(c, self.source) for c in self.certificate["columns"]}

    def pair(self) -> Pair:
        if self.adjacency in ("l1", "linf", "monotone"):
            return self._pair(*map(self._of_numbers, self._moved()))
        if self.apart:
            records = [self.record() for _ in range(self.length)]
            changed = list(records)
            changed[self.source.randrange(self.length)] = self.record()
            return self._pair(self._of_records(records), self._of_records(changed))
        if self.coins:
            return self._pair(*self._of_coins())
        others = self._total([self.person() for _ in range(self.source.choice([0, 0, 1, 5]))])
        second = [self.person()] if self.adjacency == "replace_one" else []
        ends = (_added(others, self._total(people)) for people in ([self.person()], second))
        return self._pair(*([self._run(1.0, totals)] for totals in ends))

    def _pair(self, first: list[Run], second: list[Run]) -> Pair:
        return Pair(self.way, first, second)

    # Numbers that move, and records with symbols of their own

    def _moved(self) -> tuple[list[float], list[float]]:
        (column,) = self.certificate["columns"]
        radius = float(Fraction(self.certificate["adjacency"]["radius"]))
        before = [drawn(column, self.source) for _ in range(self.length)]
        if self.adjacency == "l1":
            moves = [0.0] * self.length
            moves[self.source.randrange(self.length)] = self.source.choice([-radius, radius])
        else:
            least = 0 if self.adjacency == "monotone" else -radius
            moves = [self.source.choice([least, radius]) for _ in before]
        ends = [drawn({**column, "whole": False, "low": "-inf", "high": "inf"}, self.source)]
        free = before if column["low"] == column["high"] else [*ends * self.length]
        start = free if column["low"] == "-inf" and column["high"] == "inf" else before
        after = [a + b for a, b in zip(start, moves, strict=True)]
        return start, after

    def _of_numbers(self, numbers: list[float]) -> list[Run]:
        name = self.certificate["columns"][0]["name"]
        records = [{name: v} for v in numbers]
        if self.apart:
            return self._of_records(records)
        return [self._run(1.0, self._total([([r], r) for r in records]))]

    def _of_records(self, records: list[dict[str, float]]) -> list[Run]:
        return [self._run(1.0, {}, lambda index, name: records[index][name])]

    # Sums

    def person(self) -> tuple[list[dict[str, float]], dict[str, float]]:
        """The rows of a person, and what is of the person as a whole."""
        rows = [self.record() for _ in range(self.source.randint(1, self.each))]
        return rows, (rows[0] if self.each == 1 else self.record())

    def _total(self, people: Sequence[Any], coins: Coins | None = None) -> Totals:
        total: Totals = {
            (p, place): 0.0
            for p, one in enumerate(self.way["passes"])
            for place in range(len(one["cases"][0]["adds"]))
        }
        for rows, whole in people:
            for p, one in enumerate(self.way["passes"]):
                for record in rows if one.get("times", 1) > 1 else [whole]:
                    for place, value in enumerate(self._adds(one, record, coins or {})):
                        total[p, place] += value
        return total

    def _adds(self, one: Any, record: Mapping[str, float], coins: Coins) -> list[float]:
        values = values_of(self.way["terms"], lambda _, name: record[name], self.public, {})
        fitting = [c for c in one["cases"] if all(holds(q, values, coins) for q in c["if"])]
        if not fitting:
            raise Undecided("a record in no case, by a rounding")
        case = fitting[0]
        if len(fitting) > 1:  # cases that overlap: one of them for this record, always the same
            case = random.Random(f"{self.salt} {record} {one['made']}").choice(fitting)
        found = [value_of(a, values) for a in case["adds"]]
        if any(map(math.isnan, found)):
            raise Undecided("a record that adds no number")
        return found

    def _of_coins(self) -> Iterator[list[Run]]:
        """One record with coins of its own, and (in subsets) others that are all alike."""
        if self.each > 1:
            raise Undecided("coins of people")
        replace, alike = self.adjacency == "replace_one", self.person()
        subsets = any(c[0] in ("in", "out") for c in self.coins.values())
        if subsets and not all(c[0] in ("in", "out") for c in self.coins.values()):
            raise Undecided("coins and subsets")
        for person in (self.person(), self.person() if replace else None):
            found = []
            for shown in itertools.product((True, False), repeat=len(self.coins)):
                coins = dict(zip(self.coins, shown, strict=True))
                chances = (self._chance(name, coins[name]) for name in coins)
                total = self._total([person] if person else [], coins)
                if subsets:
                    total = _added(total, self._of_alike(alike, coins))
                found.append(self._run(math.prod(chances), total))
            yield found

    def _chance(self, name: str, shown: bool) -> float:
        chance = float(Fraction(self.coins[name][2]))
        return chance if shown else 1 - chance

    def _of_alike(self, person: Any, coins: Coins) -> Totals:
        """n − 1 records that are all the same, m of them (or m − 1) in the subset."""
        total: Totals = {}
        for p, one in enumerate(self.way["passes"]):
            names = {q[1] for case in one["cases"] for q in case["if"] if q[0] in COIN_WORDS}
            if len(names) > 1:
                raise Undecided("two subsets in one pass")
            inside = self.length - 1
            for name in names:
                inside = round(self.length * Fraction(self.coins[name][2])) - coins[name]
            for many, shown in ((inside, True), (self.length - 1 - inside, False)):
                added = self._adds(one, person[1], dict.fromkeys(self.coins, shown))
                for place, value in enumerate(added if many else []):
                    total[p, place] = total.get((p, place), 0.0) + many * value
        return total

    # Rows

    def _run(self, chance: float, totals: Totals, field: Field | None = None) -> Run:
        nothing: Field = lambda _, __: math.nan  # noqa: E731
        values = values_of(self.way["terms"], field or nothing, self.public, totals)
        noises = {s for s, t in enumerate(self.way["terms"]) if t[0] == "noise"}
        rows: list[float] = []
        choices: list[tuple[float, ...]] = []
        for row in self.way["rows"]:
            if isinstance(row, dict):
                choices.append(tuple(value_of(e, values) for e in row["exponents"]))
            else:
                kept = [row[0], [[s, c] for s, c in row[1] if s not in noises]]
                rows.append(value_of(kept, values))
        if any(map(math.isnan, itertools.chain(rows, *choices))):
            raise Undecided("a row that is no number")
        return Run(chance, tuple(rows), tuple(choices))


def _added(a: Totals, b: Totals) -> Totals:
    return {key: a.get(key, 0.0) + b.get(key, 0.0) for key in {*a, *b}}
