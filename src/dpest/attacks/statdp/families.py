"""Families of events that are counted together, in one table of the samples.

The table of a family is a sum over outputs: tables of several samples add up, so that a family can
be counted on more runs than memory holds. Every range of a number is then a difference of two
cumulative sums.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp import features as f
from dpest.attacks.statdp.discrete import Keys, tagged
from dpest.attacks.statdp.events import ONE, Event, Range
from dpest.attacks.statdp.unions import FEW, MANY, Place, unions
from dpest.running.samples import Samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Positions in a short list.
Places = NDArray[np.int16 | np.int32]
# A feature and the range that it lies in.
Part = tuple[f.LeafFeature, Range]

MOST_CATEGORIES = 24
_PROBE = 5000
_MOST_OUTPUTS = 1024
_SETS = 48
_CELLS = 4096


def probed(values: Any) -> Any:
    """Some thousand of the values, from everywhere among them."""
    return values[:: max(1, len(values) // _PROBE)]


def rare_limit(runs: Any, epsilon: float) -> Any:
    """Events that happened less often than this, on both sides together, are not looked at."""
    return 0.001 * runs * math.exp(epsilon)


@dataclass(frozen=True)
class CountedBlock:
    """Candidates that were counted together: `c1`, `c2` on the two inputs, `event(i)` the i-th.

    `runs` is the number of outputs a side that the counts come from.
    """

    c1: Ints
    c2: Ints
    runs: int
    event: Callable[[int], Event]
    family: EventFamily


class PairedOutputs:
    """Outputs of two inputs together, and what was read off them, each once."""

    def __init__(self, first: Samples, second: Samples) -> None:
        self.joint = f.Grouped.of(Samples.concatenate([first, second]))
        runs = self.joint.runs
        self.side = (runs >= first.size).astype(np.int64)
        # By the number of the run: runs of one path stand together, and every second one of them
        # would give both halves the same counts.
        self.half = runs & 1
        self.first_size = first.size
        self.runs = min(first.size, second.size)
        self._values: tuple[f.LeafFeature, Floats] | None = None
        self._places: dict[Any, Places] = {}

    def tally(self, cells: Ints, size: int) -> Ints:
        """How many outputs of each input fall into each of `size` cells: input, cell."""
        return np.bincount(self.side * size + cells, minlength=2 * size).reshape(2, size)

    def values(self, feature: f.LeafFeature) -> Floats:
        """The feature of each output; only the last that was asked for is kept."""
        if self._values is None or self._values[0] is not feature:
            self._values = (feature, feature.values(self.joint))
        return self._values[1]

    def places(self, of: FeatureBins | Split | OutputSplit, keep: bool = False) -> Places:
        """Which bin, or which part, each output falls into; kept for who asks again."""
        found = self._places.get(of)
        if found is None:
            found = of.places(self)
            if keep:
                self._places[of] = found
        return found


class EventFamily(Protocol):
    """Events that one table of counts tells about."""

    def table(self, reading: PairedOutputs) -> Ints:
        """Counts of these outputs; tables of other outputs can be added."""
        ...

    def blocks(self, table: Ints, runs: int) -> Iterator[CountedBlock]:
        """The events, with their counts from a table of `runs` outputs a side."""
        ...


# --- how outputs are sorted ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """The values of a feature in bins; the last bin takes what is in no other, and NaN.

    `edges` gives the range of bins i to j.
    """

    feature: f.LeafFeature
    width: int
    edges: Callable[[int, int], Range]
    place: Callable[[Floats], Ints]

    @staticmethod
    def of_points(feature: f.LeafFeature, points: Floats) -> FeatureBins:
        """One bin a point; values between points (unseen in the probe) count as NaN does."""
        last = len(points) - 1

        def edges(i: int, j: int) -> Range:
            low = -math.inf if i == 0 and j < last else float(points[i])
            high = math.inf if j == last and i > 0 else float(points[j])
            if i == j:
                low = high = float(points[i])
            return Range(low, high, True, True)

        return FeatureBins(feature, len(points) + 1, edges, lambda values: _matched(points, values))

    @staticmethod
    def between(feature: f.LeafFeature, cuts: Floats) -> FeatureBins:
        """Bins [cut, next cut), and the two unbounded ones; of whole numbers where they are."""
        whole = feature.integral
        if whole:
            cuts = np.unique(np.ceil(cuts))

        def edges(i: int, j: int) -> Range:
            low = float(cuts[i - 1]) if i > 0 else -math.inf
            high = float(cuts[j]) - whole if j < len(cuts) else math.inf
            return Range(low, high, True, whole)

        def place(values: Floats) -> Ints:
            index = between_cuts(cuts, values)
            index[np.isnan(values)] = len(cuts) + 1
            return index

        return FeatureBins(feature, len(cuts) + 2, edges, place)

    def places(self, reading: PairedOutputs) -> Places:
        return self.place(reading.values(self.feature)).astype(np.int16)

    def event(self, first: int, last: int, given: tuple[Part, ...], always: bool) -> Event:
        """The values in bins `first` to `last`, where `given` holds.

        `always` says that there is a value wherever it holds: any value is then no condition.
        """
        if given and always and first == 0 and last == self.width - 2:
            return Event(given)
        return Event((*given, (self.feature, self.edges(first, last))))

    def block(
        self, table: Ints, runs: int, family: EventFamily, given: tuple[Part, ...] = ()
    ) -> CountedBlock:
        """All ranges of neighbouring bins, from counts of input and bin."""
        sums = np.concatenate([np.zeros((2, 1), dtype=np.int64), np.cumsum(table, axis=1)], axis=1)
        i, j = _neighbouring(self.width - 1)
        counts = sums[:, j + 1] - sums[:, i]
        always = not table[:, -1].any()

        def event(k: int) -> Event:
            return self.event(int(i[k]), int(j[k]), given, always)

        return CountedBlock(counts[0], counts[1], runs, event, family)


@functools.lru_cache(maxsize=64)
def _neighbouring(bins: int) -> tuple[Ints, Ints]:
    """First and last bin of every range of neighbouring bins."""
    first, last = np.triu_indices(bins)
    return first, last


def between_cuts(cuts: Floats, values: Floats) -> Ints:
    """How many cuts are at most each value, as `searchsorted(side="right")` has it; NaN: any.

    The line from the first to the last cut is divided into cells of equal width: values in a cell
    without a cut need no search. Rounding is monotone, so that a cut in an earlier cell is smaller.
    """
    width = cuts[-1] - cuts[0] if len(cuts) else 0.0
    if len(values) < _CELLS or not 0 < width < math.inf:
        return np.searchsorted(cuts, values, side="right")

    def cells(of: Floats) -> NDArray[np.int32]:
        with np.errstate(invalid="ignore", over="ignore"):
            place = (of - cuts[0]) * ((_CELLS - 2) / width)
            place += 1
            np.clip(place, 0, _CELLS - 1, out=place)
            return place.astype(np.int32)

    with_cuts = cells(cuts)
    below = np.zeros(_CELLS + 1, dtype=np.int64)
    np.add.at(below, with_cuts + 1, 1)
    below = np.cumsum(below)[:_CELLS]
    searched = np.zeros(_CELLS, dtype=bool)
    searched[with_cuts] = True
    place = cells(values)
    # What NaN became is no cell.
    np.clip(place, 0, _CELLS - 1, out=place)
    index = below[place]
    left = np.flatnonzero(searched[place])
    index[left] = np.searchsorted(cuts, values[left], side="right")
    return index


def _matched(points: Floats, values: Floats) -> Ints:
    """The place of each value among sorted points, their number where it is none of them."""
    index = np.minimum(np.searchsorted(points, values), len(points) - 1)
    return np.where(points[index] == values, index, len(points))


@dataclass(frozen=True, eq=False)
class Split:
    """Outputs by the value of a feature that takes few; place -1 for rare values."""

    feature: f.LeafFeature
    values: Floats

    @staticmethod
    def of(feature: f.LeafFeature, values: Floats) -> Split | None:
        """By the most frequent values; None where they aren't few, or don't differ."""
        seen, counts = np.unique(probed(values), return_counts=True)
        if not 1 < len(seen) <= 4 * MOST_CATEGORIES or np.isnan(seen).any():
            return None
        often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        return Split(feature, np.sort(seen[often]))

    @property
    def parts(self) -> list[Part]:
        return [(self.feature, Range(v, v, True, True)) for v in self.values.tolist()]

    def in_a_row(self, counts: Ints) -> list[tuple[Part, Ints]]:
        """All parts up to one, and all from one on, with the sums of their counts."""
        up, down = np.cumsum(counts, axis=0), np.cumsum(counts[::-1], axis=0)[::-1]
        found: list[tuple[Part, Ints]] = []
        for i, value in enumerate(self.values[1:-1].tolist(), start=1):
            found.append(((self.feature, Range(high=value, high_closed=True)), up[i]))
            found.append(((self.feature, Range(low=value, low_closed=True)), down[i]))
        return found

    def places(self, reading: PairedOutputs) -> Places:
        index = _matched(self.values, reading.values(self.feature))
        return np.where(index == len(self.values), -1, index).astype(np.int16)


@dataclass(frozen=True, eq=False)
class OutputSplit:
    """Outputs by all that is discrete in them; place -1 for what is not listed.

    Or by all that is discrete in one part of them: `within` makes a feature of the part's.
    """

    outputs: tuple[tuple[Any, ...], ...]
    atoms: tuple[float, ...]
    within: Callable[[f.LeafFeature], f.LeafFeature] = lambda feature: feature
    part: int | None = None

    def one_of(self, outputs: Sequence[tuple[Any, ...]]) -> Event:
        return Event(((self.within(f.OneOf(tuple(outputs), self.atoms)), ONE),))

    @property
    def parts(self) -> list[Part]:
        return [self.one_of([output]).parts[0] for output in self.outputs]

    def most_frequent(self, reading: PairedOutputs, most: int) -> OutputSplit:
        """Only those that come up most often."""
        counts = np.bincount(reading.places(self) + 1, minlength=len(self.outputs) + 1)[1:]
        often = np.argsort(-counts, kind="stable")[:most]
        return replace(self, outputs=tuple(self.outputs[int(i)] for i in often))

    def keys(self, reading: PairedOutputs) -> Keys:
        """A code for every output, and what each code stands for."""
        if self.part is None:
            return reading.joint.keys(self.atoms)
        part, place = reading.joint.part(self.part)
        codes, outputs = part.keys(self.atoms)
        return codes[place], outputs

    def places(self, reading: PairedOutputs) -> Places:
        codes, outputs = self.keys(reading)
        if tuple(outputs) == self.outputs:  # those that they were read from
            return codes.astype(np.int32)
        known = {tagged(output): i for i, output in enumerate(self.outputs)}
        return np.array([known.get(tagged(o), -1) for o in outputs], dtype=np.int32)[codes]


# --- families ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranges:
    """A feature lies in a range. Table: input, bin."""

    bins: FeatureBins

    def table(self, reading: PairedOutputs) -> Ints:
        return reading.tally(reading.places(self.bins).astype(np.int64), self.bins.width)

    def blocks(self, table: Ints, runs: int) -> Iterator[CountedBlock]:
        yield self.bins.block(table, runs, self)


@dataclass(frozen=True, eq=False)
class Products:
    """An output is in one part of a split, and a number in a range; also unions of such events.

    Where it is `thorough`, also in several parts in a row, with one range, and larger unions.
    Table: half of the runs, part, input, bin.
    """

    split: Split | OutputSplit
    bins: FeatureBins
    thorough: bool = False

    def table(self, reading: PairedOutputs) -> Ints:
        parts, width = len(self.split.parts), self.bins.width
        place = reading.places(self.split, keep=True)
        # Outputs of no part are counted past the end.
        cells = reading.half * (parts + 1) + np.where(place < 0, parts, place)
        cells *= width
        cells += reading.places(self.bins, keep=True)
        counts = reading.tally(cells, 2 * (parts + 1) * width)
        return counts.reshape(2, 2, parts + 1, width).transpose(1, 2, 0, 3)[:, :parts]

    def blocks(self, table: Ints, runs: int) -> Iterator[CountedBlock]:
        parts, bins = self.split.parts, self.bins
        always = table[..., -1].sum(axis=(0, 2)) == 0

        def event(place: Place) -> Event:
            return bins.event(place[1], place[2], (parts[place[0]],), bool(always[place[0]]))

        for counts, union in unions(table[0], table[1], event, MANY if self.thorough else FEW):
            yield CountedBlock(counts[:, 0], counts[:, 1], runs // 2, union, self)
        rows = list(zip(parts, table.sum(axis=0), strict=True))
        if self.thorough and isinstance(self.split, Split):
            rows += self.split.in_a_row(table.sum(axis=0))
        for part, row in rows:
            if row[:, :-1].sum() >= rare_limit(runs, 0.0):
                yield bins.block(row, runs, self, (part,))


@dataclass(frozen=True, eq=False)
class Outputs:
    """Single discrete outputs, and sets of them in the order of their likelihood ratio.

    Table: half of the runs, input, output (the last for those that are not listed).
    """

    listed: OutputSplit

    def table(self, reading: PairedOutputs) -> Ints:
        size = len(self.listed.outputs) + 1
        place = reading.places(self.listed)
        cells = reading.half * size + np.where(place < 0, size - 1, place)
        return reading.tally(cells, 2 * size).reshape(2, 2, size).transpose(1, 0, 2)

    def blocks(self, table: Ints, runs: int) -> Iterator[CountedBlock]:
        learn, count = table[0, :, :-1], table[1, :, :-1]
        outputs = self.listed.outputs
        both = learn + count
        often = np.flatnonzero(both.sum(axis=0) >= rare_limit(runs, 0.0))
        if len(often) > _MOST_OUTPUTS:
            often = often[np.argsort(-np.abs(np.diff(both[:, often], axis=0)[0]))[:_MOST_OUTPUTS]]

        def event(chosen: Sequence[int] | Ints) -> Event:
            return self.listed.one_of([outputs[int(i)] for i in chosen])

        yield CountedBlock(both[0, often], both[1, often], runs, lambda i: event([often[i]]), self)
        # The order is learned from one half, the counts come from the other.
        usable = np.flatnonzero(learn.sum(axis=0) >= 8)
        if len(usable) < 3:
            return
        ratio = np.log((learn[0, usable] + 0.5) / (learn[1, usable] + 0.5))
        for order in (usable[np.argsort(-ratio)], usable[np.argsort(ratio)]):
            sizes = np.unique(np.geomspace(2, len(order) - 1, _SETS).astype(np.int64))
            sums = np.cumsum(count[:, order], axis=1)[:, sizes - 1]

            def several(i: int, order: Ints = order, sizes: Ints = sizes) -> Event:
                return event(order[: sizes[i]])

            yield CountedBlock(sums[0], sums[1], runs // 2, several, self)
