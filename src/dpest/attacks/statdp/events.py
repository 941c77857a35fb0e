"""Events: sets of outputs that a person can read, and Python can replay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp.features import (
    Floats,
    Grouped,
    LeafFeature,
    Mismatches,
    OneOf,
    Within,
    says_yes_or_no,
)
from dpest.running.samples import Samples


@dataclass(frozen=True)
class Range:
    """The numbers between `low` and `high`, ends included where they are `closed`."""

    low: float = -math.inf
    high: float = math.inf
    low_closed: bool = False
    high_closed: bool = False

    def contains(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        above = values >= self.low if self.low_closed else values > self.low
        below = values <= self.high if self.high_closed else values < self.high
        # An unbounded end takes the infinities too; NaN is in no range.
        if self.low == -math.inf:
            above = ~np.isnan(values)
        if self.high == math.inf:
            below = ~np.isnan(values)
        return above & below

    @property
    def everything(self) -> bool:
        return self.low == -math.inf and self.high == math.inf

    def apart_from(self, other: Range) -> bool:
        """Is there surely no number in both?"""
        low, high = sorted((self, other), key=lambda r: (r.low, r.high))
        if low.high == high.low:
            return not (low.high_closed and high.low_closed)
        return low.high < high.low

    def words(self, subject: str, integral: bool) -> str:
        low, high = _number(self.low), _number(self.high)
        if self.low == self.high:
            return f"{subject} is {low}"
        if self.everything:
            return f"{subject} is any number"
        if self.low == -math.inf:
            how = "at most" if self.high_closed else "below"
            return f"{subject} is {how} {high}"
        if self.high == math.inf:
            how = "at least" if self.low_closed else "above"
            return f"{subject} is {how} {low}"
        if integral:
            return f"{subject} is between {low} and {high}"
        left, right = "[" if self.low_closed else "(", "]" if self.high_closed else ")"
        return f"{subject} lies in {left}{low}, {high}{right}"

    def source(self, subject: str) -> str:
        low, high = _literal(self.low), _literal(self.high)
        if self.low == self.high:
            return f"{subject} == {low}"
        if self.everything:
            return f"{subject} == {subject}"
        left = f"{low} {'<=' if self.low_closed else '<'} " if self.low != -math.inf else ""
        right = f" {'<=' if self.high_closed else '<'} {high}" if self.high != math.inf else ""
        return f"{left}{subject}{right}"


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")


def _literal(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _is_yes(wanted: Range) -> bool:
    """Does a range of an indicator, a feature with the values 0 and 1, ask for 1?"""
    return bool(wanted.contains(np.array([1.0]))[0])


@dataclass(frozen=True)
class Event:
    """Every feature lies in its range."""

    parts: tuple[tuple[LeafFeature, Range], ...]

    def mask(self, samples: Samples) -> NDArray[np.bool_]:
        """One boolean per output, in order."""
        inside = np.ones(samples.size, dtype=bool)
        for feature, wanted in self.parts:
            if isinstance(samples, Grouped) and not isinstance(feature, Either):
                inside &= wanted.contains(samples.read(feature))
            else:
                inside &= wanted.contains(feature.values(samples))
        return inside

    def count(self, samples: Samples) -> int:
        return int(np.count_nonzero(self.mask(Grouped.of(samples))))

    def apart_from(self, other: Event) -> bool:
        """Is there surely no output in both?"""
        return any(
            feature == known and wanted.apart_from(held)
            for feature, wanted in self.parts
            for known, held in other.parts
        )

    def turned(self) -> Event:
        """The same event where the two inputs have changed their names."""
        return Event(
            tuple(
                (feature.turned() if isinstance(feature, (Mismatches, Either)) else feature, wanted)
                for feature, wanted in self.parts
            )
        )

    @property
    def words(self) -> str:
        texts = []
        for feature, wanted in self.parts:
            if isinstance(feature, Either):
                texts.append(feature.words)
            elif says_yes_or_no(feature):
                yes = _is_yes(wanted)
                texts.append(feature.words if yes else feature.words.replace(" is ", " is not ", 1))
            else:
                texts.append(wanted.words(feature.words, feature.integral))
        return " and ".join(texts)

    @property
    def source(self) -> str:
        """A Python expression over `output` and its `leaves`.

        The other names in it are those of `statdp.replay`.
        """
        texts = []
        for feature, wanted in self.parts:
            if isinstance(feature, Either) or says_yes_or_no(feature):
                texts.append(feature.source if _is_yes(wanted) else f"not {feature.source}")
            else:
                texts.append(wanted.source(feature.source))
        return " and ".join(texts)

    @property
    def complexity(self) -> int:
        """How much there is to read: fewer features, fewer ends, fewer listed outputs."""
        total = 0
        for given, wanted in self.parts:
            feature = given.feature if isinstance(given, Within) else given
            total += 2
            if isinstance(feature, Either):
                total += sum(event.complexity for event in feature.events)
            elif isinstance(feature, OneOf):
                total += len(feature.outputs) - 1
            elif wanted.low != wanted.high:
                total += (wanted.low != -math.inf) + (wanted.high != math.inf)
        return total

    def __str__(self) -> str:
        return self.words


ONE = Range(1, 1, True, True)


@dataclass(frozen=True)
class Either:
    """1 where one of several events happens, else 0."""

    events: tuple[Event, ...]
    integral = True

    @property
    def words(self) -> str:
        return ", or ".join(event.words for event in self.events)

    @property
    def source(self) -> str:
        return "(" + " or ".join(f"({event.source})" for event in self.events) + ")"

    def turned(self) -> Either:
        return Either(tuple(event.turned() for event in self.events))

    def values(self, samples: Samples) -> Floats:
        inside = np.zeros(samples.size, dtype=bool)
        for event in self.events:
            inside |= event.mask(samples)
        return inside.astype(np.float64)
