"""How much an attack may spend, and how it reports on the way."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpest.errors import InputError

_PATTERN = re.compile(
    r"^\s*([0-9]{1,15}(?:\.[0-9]{0,15})?(?:e[+-]?[0-9]{1,2})?)\s*(s|sec|seconds?|min|m|h|runs?)?\s*$",
    re.I | re.A,
)
_UNITS = {"min": 60.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Budget:
    """At most `runs` mechanism runs (both inputs together) and at most `seconds`."""

    runs: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(value: Budget | int | float | str | None, default: Budget | None = None) -> Budget:
        """From a Budget, a number of runs, or text such as "30s" or "1e6 runs"."""
        if value is None:
            return default or Budget()
        if isinstance(value, Budget):
            return value
        if isinstance(value, (int, float)):
            if not math.isfinite(value) or value <= 0:
                raise InputError(f"a budget is a positive number of runs, got {value!r}")
            return Budget(runs=int(value))
        match = _PATTERN.match(value)
        if not match:
            shown = value if len(value) < 60 else value[:59] + "…"
            raise InputError(f"a budget looks like '30s', '2min' or '1e6runs', got {shown!r}")
        number, unit = float(match.group(1)), (match.group(2) or "runs").lower()
        if number <= 0:
            raise InputError(f"a budget is positive, got {value!r}")
        if unit.startswith("run"):
            return Budget(runs=int(number))
        return Budget(seconds=number * _UNITS.get(unit, 1.0))


@dataclass(frozen=True)
class Progress:
    """Where an attack stands: runs so far, seconds so far, and the bound that is valid now.

    An audit can be asked for its verdict `so_far`.
    """

    method: str
    runs: int
    seconds: float
    bound: float
    stage: str = ""
    so_far: Callable[[], Any] | None = None


Report = Callable[[Progress], None]


class Meter:
    """Counts runs and seconds against a budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.runs = 0
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def allow(self, wanted: int) -> int:
        """How many of the next `wanted` runs still fit, judged by the speed so far."""
        size = wanted
        if self.budget.runs is not None:
            size = min(size, self.budget.runs - self.runs)
        if self.budget.seconds is not None:
            spent = self.seconds
            left = self.budget.seconds - spent
            if left <= 0:
                return 0
            if self.runs and spent > 0:  # a clock may stand still between two looks
                size = min(size, math.floor(left * self.runs / spent))
        return max(size, 0)
