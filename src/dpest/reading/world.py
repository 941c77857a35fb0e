"""What all runs of one reading of symbolic data share: its noises, and what its symbols mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.regions import Supports
from dpest.noise.family import Noise
from dpest.reading.decision_path import Block
from dpest.reading.rewrites.readings import Plan, Site

ELEMENT = Symbol("input", "q")
"""The datum of the element that is read on an edge."""


def fields_of(name: str, count: int) -> list[Symbol]:
    """The data of one entry: one symbol, or one for each field of a record."""
    return [Symbol("input", f"{name}_{k}" if k else name) for k in range(max(count, 1))]


@dataclass(frozen=True)
class DerivedDatum:
    """Data computed from data alone: `clip` to [low, high], or the `indicator` of a condition.

    What a proof uses: it moves only if `of` moves; a clipped value by no more than `of` does and by
    no more than `width`, in the same direction; an indicator by at most 1.
    """

    kind: str
    of: Form
    width: Fraction | None
    truth: Any = None
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class Coin(Noise):
    """The number of the outcome of a finite draw. It can't be shifted: both runs share it."""

    noise: Noise
    values: tuple[Any, ...]
    family: ClassVar[str] = "coin"
    discrete: ClassVar[bool] = True

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, float(len(self.values) - 1))

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...] | None:
        found = self.noise.outcomes or ()
        known = tuple(value for value, _ in found) == self.values
        return tuple((n, p) for n, (_, p) in enumerate(found)) if known else None

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        chances = np.array([float(chance) for _, chance in self.outcomes or ()])
        return generator.choice(len(chances), size=size, p=chances / chances.sum())


class PrivateBranchError(RefusedError):
    """A branch is decided by private data alone."""


class World:
    """What all runs of one reading share: the noises, and the names of everything symbolic."""

    def __init__(self, private: bool = False) -> None:
        self.supports = Supports()
        self.private = private
        """Whether input symbols stand for private data, so that branches on them are refused."""
        self.derived: dict[Symbol, DerivedDatum] = {}
        self.notes: dict[str, None] = {}
        self.chosen: set[Symbol] = set()
        """Gumbel noises that stand for one choice with probabilities (see `rewrites.softmax`)."""
        self.cases: Any = None
        """What one record adds to all sums, case by case (see `reading.cases`)."""
        self.sized: dict[Symbol, int] = {}
        """Noises that the function multiplies by this power of the public length."""
        self.plan: Plan = {}
        """Which draws are read in another way (see `rewrites.curves`), and where they are made."""
        self.eps: Any = None
        """What the unit of a proof stands for in runs with numbers."""
        self.draw_sites: dict[Symbol, Site | None] = {}
        self._names: dict[tuple[str, Noise], Symbol] = {}
        self._taken: dict[str, int] = {}
        self._indicators: dict[Any, Symbol] = {}
        self._truths: dict[Symbol, Any] = {}
        self._derived_keys: dict[Any, Symbol] = {}
        self.families: dict[Block, tuple[tuple[Block, ...], int]] = {}
        """For each answer to "which of several?": all the answers, and its number."""

    @property
    def noises(self) -> dict[Symbol, Noise]:
        return self.supports.noises

    def noise_symbol(self, site: str, noise: Noise) -> Symbol:
        """The symbol of a draw: one name always has one distribution."""
        symbol = self._names.get((site, noise))
        if symbol is None:
            count = self._taken.get(site, 0)
            self._taken[site] = count + 1
            name = f"h{site}" if count == 0 else f"h{site}{chr(ord('a') + count)}"
            symbol = self._names[site, noise] = Symbol("noise", name)
            self.supports.noises[symbol] = noise
        return symbol

    def indicator(self, truth: Any) -> Symbol:
        symbol = self._indicators.get(truth.key)
        if symbol is None:
            # A slot of a loop may hold noise: only the data themselves are data.
            only_data = self.private and all(
                s.kind == "input" for c in conditions_of(truth) for s in c.form.terms
            )
            name = f"i{len(self._indicators)}"
            symbol = Symbol("input" if only_data else "indicator", name)
            self._indicators[truth.key] = symbol
            self._truths[symbol] = truth
            if only_data:
                total = Form()
                for condition in conditions_of(truth):
                    for s in condition.form.terms:
                        total = total.plus(Form.of(s)) if s not in total.terms else total
                self.derived[symbol] = DerivedDatum("indicator", total, Fraction(1), truth)
        return symbol

    def defined(self, symbol: Symbol) -> Any:
        return self._truths[symbol]

    def clip(self, form: Form, low: Fraction | None, high: Fraction | None) -> Symbol:
        if len(form.terms) == 1 and not form.constant:
            ((inner, slope),) = form.terms.items()
            rule = self.derived.get(inner)
            if slope == 1 and rule is not None and rule.kind == "clip":
                # clip(clip(q, a, b), low, high) is clip(q, a', b') with a and b clipped, too.
                form = rule.of
                low, high = _clipped(rule.low, low, high, low), _clipped(rule.high, low, high, high)
        key = (form, low, high)
        symbol = self._derived_keys.get(key)
        if symbol is None:
            symbol = self._derived_keys[key] = Symbol("input", f"c{len(self._derived_keys)}")
            width = None if low is None or high is None else high - low
            self.derived[symbol] = DerivedDatum("clip", form, width, None, low, high)
        return symbol


def _clipped(
    end: Fraction | None, low: Fraction | None, high: Fraction | None, otherwise: Fraction | None
) -> Fraction | None:
    if end is None:
        return otherwise
    end = end if low is None else max(end, low)
    return end if high is None else min(end, high)


def conditions_of(truth: Any) -> Iterator[Condition]:
    if truth.condition is not None:
        yield truth.condition
    for part in truth.parts:
        yield from conditions_of(part)
