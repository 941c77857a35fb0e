"""The cases of one record, as a tree of decisions that covers every record there may be.

The reading says what a record adds by functions of it (its fields, their extremes and products)
under conditions. Here they are followed for one record: each decision is taken both ways where both
are possible, and a way that no record can take is kept, so that the tree can be checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form
from dpest.geometry.regions import Region, Supports
from dpest.reading.cases.records import RecordError, SymbolicRecord
from dpest.reading.contributions.forms import SymbolicForm as ReadForm
from dpest.reading.contributions.forms import Terms
from dpest.reading.contributions.values import RecordTruth
from dpest.reading.decision_path import Block, DecisionPath

_MOST_CASES = 600
_DOMAIN = (
    "If the records are whole numbers within bounds, say so, and each of them is looked at: "
    "domain=dpest.integers(dpest.ANY, low, high)"
)
Leaf = tuple[tuple[Block, ...], Any]


class RecordBranches(DecisionPath):
    """One record along one path of decisions about it."""

    def __init__(self, entry: SymbolicRecord, prefix: Sequence[int]) -> None:
        super().__init__(Region(Supports(), entry.known(), entry.point()), prefix)


class OneRecord:
    """What the functions of a reading are for one record: affine forms of its fields."""

    def __init__(
        self, terms: Terms, fields: Mapping[Any, Form], branches: RecordBranches | None
    ) -> None:
        self.terms = terms
        self.fields = fields
        self.branches = branches
        self._known: dict[int, Form] = {}

    def holds(self, truths: Sequence[RecordTruth]) -> bool:
        return all(self._truth(t) for t in truths)

    def _truth(self, truth: RecordTruth) -> bool:
        if truth.form is None:
            raise RecordError("a coin for each record", telling=False)
        condition = Condition(self.form(truth.form), truth.relation)  # type: ignore[arg-type]
        return self._decide(condition)

    def _decide(self, condition: Condition) -> bool:
        known = condition.decided()
        if known is not None:
            return known
        assert self.branches is not None
        return self.branches.decide(condition)

    def form(self, form: ReadForm) -> Form:
        found = Form(None, meant(form.constant))
        for symbol, c in form.terms:
            found = found.plus(self._symbol(symbol), meant(c))
        return found

    def _symbol(self, symbol: int) -> Form:
        known = self._known.get(symbol)
        if known is None:
            known = self._known[symbol] = self._computed(self.terms.nodes[symbol])
        return known

    def _computed(self, node: tuple[Any, ...]) -> Form:
        op, *given = node
        if op == "field":
            return self.fields[given[1]]
        if not all(isinstance(a, ReadForm) for a in given):
            raise RecordError(_no_function(op), telling=False)
        values = [self.form(a) for a in given]
        if op in ("min", "max"):
            return self._extreme(op, values)
        if op == "abs":
            (value,) = values
            return value if self._decide(Condition(value, ">=")) else value.times(-1)
        if op == "mul":
            first, second = values
            if not first.terms or not second.terms:
                return (
                    second.times(first.constant)
                    if not first.terms
                    else first.times(second.constant)
                )
        if op == "div" and not values[1].terms:
            if not values[1].constant:
                raise RecordError("a division by a number that may be 0", telling=False)
            return values[0].times(1 / values[1].constant)
        if op in _FUNCTIONS and not any(v.terms for v in values):
            return Form(None, _FUNCTIONS[op](values[0].constant))
        raise RecordError(_no_function(op), telling=False)

    def _extreme(self, op: str, values: Sequence[Form]) -> Form:
        best, *rest = values
        for value in rest:
            gap = best.plus(value, -1) if op == "max" else value.plus(best, -1)
            if not self._decide(Condition(gap, ">=")):
                best = value
        return best


def _no_function(op: str) -> str:
    return (
        f"what is computed of a record is no linear function of it (`{op}`), in none of finitely "
        f"many cases. {_DOMAIN}"
    )


_FUNCTIONS: dict[str, Callable[[Fraction], Fraction]] = {
    "floor": lambda v: Fraction(math.floor(v)),
    "ceil": lambda v: Fraction(math.ceil(v)),
    "sqrt": lambda v: meant(Fraction(math.sqrt(v))),
    "exp": lambda v: meant(Fraction(math.exp(v))),
    "npexp": lambda v: meant(Fraction(math.exp(v))),
    "log": lambda v: meant(Fraction(math.log(v))),
}


def meant(value: Fraction) -> Fraction:
    """The number that a double stands for: 0.1 · 3 is 3/10, as proofs are about real numbers."""
    simple = value.limit_denominator(10**6)
    near = abs(simple - value) <= 4 * Fraction(math.ulp(float(value)))
    return simple if near else value


def explored(
    entry: SymbolicRecord,
    names: Sequence[Any],
    compute: Callable[[Mapping[Any, Form], RecordBranches | None], Any],
) -> tuple[list[Leaf], list[tuple[Block, ...]]]:
    """What is computed of a record in each of its cases, and the decisions that none can take."""
    if entry.values is not None:
        found = []
        for value, blocks in zip(entry.values, value_blocks(entry), strict=True):
            found.append((blocks, compute({names[0]: Form(None, Fraction(value))}, None)))
        return found, []
    fields = {name: Form.of(s) for name, s in zip(names, entry.symbols, strict=True)}
    leaves: list[Leaf] = []
    dead: dict[tuple[Block, ...], None] = {}
    pending: list[list[int]] = [[]]
    while pending:
        branches = RecordBranches(entry, pending.pop())
        found_here = compute(fields, branches)  # it decides as it goes
        leaves.append((tuple(branches.blocks), found_here))
        dead.update(dict.fromkeys(branches.dead))
        pending += branches.other_prefixes()
        if len(leaves) > _MOST_CASES:
            raise RecordError(
                f"a record decides between more than {_MOST_CASES} cases: give a length"
            )
    return leaves, list(dead)


def value_blocks(entry: SymbolicRecord) -> list[tuple[Block, ...]]:
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
