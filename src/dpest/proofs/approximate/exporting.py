"""A reading as the kernel's certificate has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.reading.contributions.forms import SymbolicForm
from dpest.reading.contributions.ledger import ONCE, Row
from dpest.reading.contributions.reading import PublicWay, RecordField
from dpest.reading.contributions.values import RecordTruth


class _Exported:
    """The symbols of one way that something needs, in the order in which they are needed."""

    def __init__(self, way: PublicWay) -> None:
        self.way = way
        self.places: dict[int, int] = {}
        self.terms: list[list[Any]] = []
        self.coins: dict[Any, str] = {}

    def place(self, symbol: int) -> int:
        known = self.places.get(symbol)
        if known is not None:
            return known
        node = self.way.terms.nodes[symbol]
        found: list[Any] = [node[0]]
        if node[0] == "field":
            found += [node[1], node[2] or ""]
        elif node[0] == "pub":
            found += [self._number(node[1]), node[2]]
        elif node[0] in ("sum", "noise"):
            found += list(node[1:])
        elif node[0] in ("total", "uniform"):
            raise RefusedError("a value that only one step may have is part of the model")
        else:
            found += [self.form(a) if isinstance(a, SymbolicForm) else str(a) for a in node[1:]]
        self.places[symbol] = len(self.terms)
        self.terms.append(found)
        return self.places[symbol]

    def _number(self, name: Any) -> int:
        if not isinstance(name, int):
            raise RefusedError("a public value that the model has no number for")
        return name

    def form(self, form: SymbolicForm) -> list[Any]:
        terms = sorted((self.place(s), str(c)) for s, c in form.terms)
        return [str(form.constant), [list(t) for t in terms]]

    def condition(self, truth: RecordTruth) -> list[Any]:
        if truth.coin is not None:
            name = self.coins.setdefault(truth.coin[0], f"coin {len(self.coins)}")
            return [truth.relation, name, str(truth.coin[1])]
        assert truth.form is not None
        return [truth.relation, self.form(truth.form)]


def exported(way: PublicWay) -> dict[str, Any]:
    """One way, as JSON."""
    found = _Exported(way)
    ledger = way.ledger
    shown = [f for row in ledger.rows for f in (row.form, *row.exponents)]
    used = {way.terms.nodes[s][1] for s in _within(way, shown) if way.terms.nodes[s][0] == "sum"}
    places = {p: i for i, p in enumerate(sorted(used))}
    passes = [
        {
            "made": ledger.passes[p].made,
            **({} if ledger.passes[p].times == 1 else {"times": ledger.passes[p].times}),
            "cases": [
                {
                    "if": [found.condition(c) for c in conditions if c != ONCE],
                    "adds": [found.form(a) for a in adds],
                }
                for conditions, adds in ledger.passes[p].cases
            ],
        }
        for p in sorted(used)
    ]
    rows = [_row(found, row) for row in ledger.rows]
    for term in found.terms:
        if term[0] == "sum":
            term[1] = places[term[1]]
    return {
        "terms": found.terms,
        "noises": [
            {"family": n.family, "scale": str(n.scale), "most": _number(n.most)}
            for n in ledger.noises
        ],
        "passes": passes,
        "rows": rows,
        "gates": [
            {"noise": g.noise, "threshold": str(g.threshold), "made": g.made} for g in ledger.gates
        ],
    }


def _within(way: PublicWay, forms: Iterable[SymbolicForm]) -> set[int]:
    """The symbols of forms, and those that they are functions of."""
    found: set[int] = set()
    pending = list(forms)
    while pending:
        for symbol in pending.pop().symbols:
            if symbol not in found:
                found.add(symbol)
                pending += [a for a in way.terms.nodes[symbol] if isinstance(a, SymbolicForm)]
    return found


def _row(found: _Exported, row: Row) -> Any:
    if not row.exponents:
        return found.form(row.form)
    if row.between is not None:
        low, high = map(str, row.between)
        return {"point": found.form(row.exponents[0]), "low": low, "high": high}
    return {"exponents": [found.form(e) for e in row.exponents], "noises": list(row.noises)}


def columns(
    listed: Iterable[RecordField], ways: Iterable[PublicWay] = ()
) -> list[Mapping[str, Any]]:
    """The symbols of a record; with `values`, they stand for the place among them."""
    found: list[Mapping[str, Any]] = []
    for column in listed:
        for name, (low, high, whole) in column.ranges().items():
            one: dict[str, Any] = {
                "name": name or "",
                "low": "-inf" if low is None else str(low),
                "high": "inf" if high is None else str(high),
                "whole": whole,
            }
            if column.values is not None:
                one["values"] = [repr(v) for v in column.values]
            elif name == column.flag:
                one["values"] = ["a number", "NaN"]
            found.append(one)
    ways = list(ways)
    derived = {name: one for way in ways for name, one in way.derived.items()}
    for name, number_of in derived.items():
        low, high = number_of.low, number_of.high
        ends = {
            "low": "-inf" if low is None else str(low),
            "high": "inf" if high is None else str(high),
        }
        found.append({"name": name, **ends, "whole": False, "of_person": True})
    statistics: dict[str, dict[str, Any]] = {}
    for way in ways:
        for name, statistic in way.ledger.statistics.items():
            moved: dict[str, Any] = {"low": str(statistic.low), "high": str(statistic.high)}
            moved["whole"] = statistic.whole
            if statistics.setdefault(name, moved) != moved:
                raise RefusedError("numbers of all records that are others on other ways")
    found += [{"name": name, **moved, "of_all": True} for name, moved in statistics.items()]
    return found


def _number(value: Fraction | None) -> str | None:
    return None if value is None else str(value)
