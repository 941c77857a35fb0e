"""What one record may be, and what it adds to sums over all records in each of its cases.

A query that branches on its data alone is a sum over the records if what is done with a record
depends on that record only. Then one record decides between finitely many cases (its value, where
it has few; otherwise on which side of each threshold it lies), and in each case it adds a number,
or an affine function of itself, to each sum. Neighbours differ by what one record adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.contributions.ledger import OrderStatistic
from dpest.reading.decision_path import Block

_MOST_VALUES = 256
Range = tuple[Any, Any]


class RecordError(RefusedError):
    """A query that is no sum over records.

    `telling`: it says what is wrong with the mechanism, whatever else was tried.
    """

    def __init__(self, text: str, *, telling: bool = True) -> None:
        super().__init__(text)
        self.telling = telling


@dataclass(frozen=True)
class SymbolicRecord:
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
class ReadCases:
    """All that one record may add to all sums at once.

    `statistics` are no sums but order statistics of what the records give: where one of these
    values moves, they move by any part of it, in its direction.
    """

    leaves: tuple[tuple[tuple[Block, ...], Mapping[Symbol, Form]], ...]
    dead: tuple[tuple[Block, ...], ...]
    entry: SymbolicRecord
    statistics: Mapping[Symbol, OrderStatistic]
    slots: Mapping[Symbol, Symbol]
    """From what a record adds to the slot of its sum."""
    two_steps: bool = False
    """Whether a replacement is taken as a removal and an addition, each at half of the bound."""

    def at(self, record: Mapping[Symbol, Fraction]) -> dict[Symbol, Fraction]:
        for blocks, values in self.leaves:
            if all(c.holds(record) for block in blocks for c in block):
                return {symbol: form.at(record) for symbol, form in values.items()}
        raise RecordError(f"no case fits the record {dict(record)}")
