"""Linear forms over symbols that are named by their content."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError

# What a symbol depends on.
RECORD, SUM, NOISE, TOTAL, UNIFORM, GAP = 1, 2, 4, 8, 16, 32

_KINDS = {
    "sum": SUM, "noise": NOISE, "total": TOTAL, "uniform": UNIFORM,
    "place": GAP, "low": GAP, "high": GAP, "gap noise": GAP, "carried": GAP, "chosen": GAP,
    "sum so far": GAP,
}  # fmt: skip

Node = tuple[Any, ...]


class Unread(RefusedError):
    """The program is not read in this way; the message says what stands in it.

    `placed`: it names the line. `of_record`: it is about what is done with one record.
    """

    placed = False
    of_record = False


class Raised(Exception):
    """An exception of the program, in a run in which some public values are as they are."""

    def __init__(self, error: Any) -> None:
        super().__init__()
        self.error = error


@dataclass(frozen=True)
class SymbolicForm:
    """Σ coefficient·symbol + constant; symbols are numbers in a `Terms`."""

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction

    def __add__(self, other: SymbolicForm) -> SymbolicForm:
        found = dict(self.terms)
        for symbol, c in other.terms:
            found[symbol] = found.get(symbol, Fraction(0)) + c
        return form_of(found, self.constant + other.constant)

    def times(self, factor: Fraction) -> SymbolicForm:
        if factor == 1:
            return self
        return form_of({s: c * factor for s, c in self.terms}, self.constant * factor)

    def __neg__(self) -> SymbolicForm:
        return self.times(Fraction(-1))

    def __sub__(self, other: SymbolicForm) -> SymbolicForm:
        return self + -other

    @property
    def symbols(self) -> tuple[int, ...]:
        return tuple(s for s, _ in self.terms)

    def part(self, kept: set[int]) -> SymbolicForm:
        return SymbolicForm(tuple((s, c) for s, c in self.terms if s in kept), Fraction(0))


def form_of(terms: dict[int, Fraction], constant: Fraction = Fraction(0)) -> SymbolicForm:
    return SymbolicForm(tuple(sorted((s, c) for s, c in terms.items() if c)), constant)


def number(value: Any) -> SymbolicForm:
    return SymbolicForm((), Fraction(value))


class Terms:
    """All symbols of one reading.

    A node is `(op, *arguments)`: ("field", record, name), ("pub", k), ("sum", pass, place),
    ("noise", k), ("uniform", k) (a draw), ("total", k) (what an accumulator holds when a record
    comes), or a function of forms: "mul", "div", "min", "max", "abs", "sqrt", "exp", "tanh",
    "norm", "pick" (one of several, at a public place), and others. Of gaps between sorted records
    (`gaps`): their ("place",), ("low", k) and ("high", k), ("gap noise", k), what a loop over them
    has ("carried", name), ("sum so far", form) up to one of them, ("chosen", k, which), and
    ("over gaps", operation, form).
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.kinds: list[int] = []
        self.records: list[frozenset[Any]] = []
        self._known: dict[Node, int] = {}

    def symbol(self, node: Node) -> int:
        known = self._known.get(node)
        if known is not None:
            return known
        kind, records = 0, frozenset[Any]()
        op = node[0]
        if op == "field":
            kind, records = RECORD, frozenset([node[1]])
        elif op in _KINDS:
            kind = _KINDS[op]
        elif op != "pub":
            for argument in node[1:]:
                if isinstance(argument, SymbolicForm):
                    kind |= self.kind(argument)
                    records |= self.records_of(argument)
        self._known[node] = len(self.nodes)
        self.nodes.append(node)
        self.kinds.append(kind)
        self.records.append(records)
        return len(self.nodes) - 1

    def of(self, *node: Any) -> SymbolicForm:
        """The form that is this symbol alone."""
        return SymbolicForm(((self.symbol(node), Fraction(1)),), Fraction(0))

    def kind(self, form: SymbolicForm) -> int:
        found = 0
        for s, _ in form.terms:
            found |= self.kinds[s]
        return found

    def records_of(self, form: SymbolicForm) -> frozenset[Any]:
        found: frozenset[Any] = frozenset()
        for s, _ in form.terms:
            found |= self.records[s]
        return found

    # Functions of forms; arguments are public or of one record -----------------------------------

    def mul(self, a: SymbolicForm, b: SymbolicForm) -> SymbolicForm:
        if not a.terms:
            return b.times(a.constant)
        if not b.terms:
            return a.times(b.constant)
        first, second = sorted((a, b), key=lambda f: (f.terms, f.constant))
        return self.of("mul", first, second)

    def div(self, a: SymbolicForm, b: SymbolicForm) -> SymbolicForm:
        if not b.terms:
            if not b.constant:
                raise Unread("a division by 0")
            return a.times(1 / b.constant)
        if not a.terms and not a.constant:
            return a
        return self.of("div", a, b)

    def least(self, values: list[SymbolicForm]) -> SymbolicForm:
        return self._extreme("min", values)

    def greatest(self, values: list[SymbolicForm]) -> SymbolicForm:
        return self._extreme("max", values)

    def _extreme(self, op: str, values: list[SymbolicForm]) -> SymbolicForm:
        pick = min if op == "min" else max
        constants = [v.constant for v in values if not v.terms]
        others = list(dict.fromkeys(v for v in values if v.terms))
        if constants:
            others.append(number(pick(constants)))
        if len(others) == 1:
            return others[0]
        return self.of(op, *sorted(others, key=lambda f: (f.terms, f.constant)))

    def absolute(self, a: SymbolicForm) -> SymbolicForm:
        if not a.terms:
            return number(abs(a.constant))
        sign = -1 if a.terms[0][1] < 0 else 1
        return self.of("abs", a.times(Fraction(sign)))

    def norm(self, parts: list[SymbolicForm]) -> SymbolicForm:
        """√Σ part²."""
        if len(parts) == 1:
            return self.absolute(parts[0])
        return self.of("norm", *parts)

    def sqrt(self, a: SymbolicForm) -> SymbolicForm:
        """A root; that of a sum of squares is a norm."""
        if not a.constant and all(c == 1 and self._square(s) is not None for s, c in a.terms):
            return self.norm([part for s, _ in a.terms if (part := self._square(s)) is not None])
        return self.of("sqrt", a)

    def _square(self, symbol: int) -> SymbolicForm | None:
        node = self.nodes[symbol]
        if node[0] == "mul" and node[1] == node[2]:
            found: SymbolicForm = node[1]
            return found
        return None

    def apply(self, op: str, a: SymbolicForm) -> SymbolicForm:
        """exp, tanh, log, …: a symbol of its own."""
        return self.of(op, a)
