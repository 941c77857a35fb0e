"""An entry of the reader's table of somebody else's, in one file: what `math.ldexp` does."""

from __future__ import annotations

import math
from typing import Any

from dpest.reading.machine import operators
from dpest.reading.table.registry import TABLE, entry


def ldexp(m: Any, value: Any, exponent: int) -> Any:
    """x·2^n: linear in x, for a public n."""
    return operators.binary(m, "*", value, 2.0**exponent)


def add() -> None:
    entry(math.ldexp)(ldexp)


def remove() -> None:
    del TABLE[math.ldexp]


def released(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return math.ldexp(x[0] + rng.laplace(scale=1 / eps), 1)
