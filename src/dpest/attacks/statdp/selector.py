"""Algorithm 3 of StatDP: which event tells two inputs apart best?

Which families of events make sense for the outputs, and which of their events promises most.
Nothing here is a test: the winner is measured again on fresh samples.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp import features as f
from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.families import (
    MOST_CATEGORIES,
    CountedBlock,
    EventFamily,
    FeatureBins,
    Outputs,
    OutputSplit,
    PairedOutputs,
    Products,
    Ranges,
    Split,
    probed,
    rare_limit,
)
from dpest.attacks.statdp.hypothesis_test import promise, sigmas_above
from dpest.attacks.statdp.leaves import MIXED, part_names
from dpest.running.samples import Samples
from dpest.running.skeleton import leaf_kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Sigmas that a candidate must survive: about 10^5 candidates compete.
CAUTION = 3.5
# Candidates within this share of the best are equally good; the one that reads best wins.
TOLERANCE = 0.02
_QUANTILES = np.concatenate(
    [
        [0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.02],
        np.arange(0.05, 0.96, 0.025),
        [0.98, 0.99, 0.995, 0.997, 0.998, 0.9985, 0.999],
    ]
)
_MOST_ELEMENTS = 24
_PROBE = 5000
_MOST_POINTS = 64
_MOST_SPLIT = 4096
_MOST_CLOSE = 256
_ALIKE = 4


@dataclass(frozen=True)
class ChosenEvent:
    """A candidate and the side on which it is more likely; counts are those of the search.

    They come from `runs` outputs a side.
    """

    event: Event
    swapped: bool
    k1: int
    k2: int
    score: float
    family: EventFamily | None = field(default=None, repr=False, compare=False)
    runs: int = 0


@dataclass
class EventSearch:
    """All counted candidates of one pair."""

    blocks: list[CountedBlock] = field(default_factory=list)
    _joined: tuple[Ints, Ints, Ints, Ints] | None = field(default=None, repr=False, compare=False)

    def add(self, family: EventFamily, table: Ints, runs: int) -> None:
        """The events of a family, by its table of counts of `runs` outputs a side."""
        self.blocks += [block for block in family.blocks(table, runs) if len(block.c1)]

    @property
    def size(self) -> int:
        return 2 * sum(len(b.c1) for b in self.blocks)

    def best(
        self,
        epsilon: float | None,
        caution: float = CAUTION,
        tolerance: float = TOLERANCE,
        swapped: bool | None = None,
    ) -> ChosenEvent | None:
        """The admissible candidate that promises the largest ε, or None.

        Of those within `tolerance` of it the one that reads best. With `swapped`, of those that
        speak for the second input (or, where it is False, for the first) alone.

        A promise is what an event would show if its counts were `caution` sigmas worse. Rare
        events, c1 + c2 < 0.001·n·e^ε, are left out as in the paper.
        """
        if not self.blocks:
            return None
        scores = self._scores(epsilon, caution)
        if swapped is not None:
            scores[int(not swapped)] = -np.inf
        top = float(scores.max())
        if top == -math.inf:
            return None
        least = top - tolerance * abs(top)
        close = np.argwhere(scores >= least) if math.isfinite(top) else np.argwhere(scores == top)
        if len(close) > _MOST_CLOSE:
            order = np.argsort(-scores[close[:, 0], close[:, 1]], kind="stable")
            close = close[order[:_MOST_CLOSE]]
        return simplest([self._choice(scores, side, place) for side, place in close.tolist()])

    def promising(self, epsilon: float | None, caution: float, most: int) -> list[ChosenEvent]:
        """The best candidates, but only a few of those that were counted together: they are alike.

        Luck is among them; who looks again at other samples can tell.
        """
        if not self.blocks:
            return []
        starts = self._together()[3]

        def counted_together(place: int, choice: ChosenEvent) -> int:
            return int(np.searchsorted(starts, place, side="right"))

        return self._leading(self._scores(epsilon, caution), most, counted_together)

    def surest(self, epsilon: float, most: int) -> list[ChosenEvent]:
        """The candidates that stand furthest above `epsilon`, in sigmas, rare ones and common ones.

        Only a few of those that happen about equally often.
        """
        if not self.blocks:
            return []

        def how_often(place: int, choice: ChosenEvent) -> int:
            return round(8 * math.log(choice.k1)) if choice.k1 else -1

        return self._leading(self._sigmas(epsilon), most, how_often)

    def _leading(
        self, scores: Floats, most: int, kind: Callable[[int, ChosenEvent], int]
    ) -> list[ChosenEvent]:
        """The best by `scores`, a few of each kind."""
        order = np.argsort(-scores, axis=None, kind="stable")[: 100 * most]
        found: dict[tuple[int, int, int], ChosenEvent] = {}
        used: Counter[tuple[int, int]] = Counter()
        for side, place in np.column_stack(np.unravel_index(order, scores.shape)).tolist():
            if len(found) == most or scores[side, place] == -np.inf:
                break
            choice = self._choice(scores, side, place)
            group = (side, kind(place, choice))
            # Equal counts: the same event in other words.
            same = (side, choice.k1, choice.k2)
            if same in found:
                found[same] = simplest([found[same], choice])
            elif used[group] < _ALIKE:
                used[group] += 1
                found[same] = choice
        return list(found.values())

    def _scores(self, epsilon: float | None, caution: float) -> Floats:
        """The promise of every candidate, for both sides; -inf where it is too rare."""
        c1, c2, runs, _ = self._together()
        scores = np.stack([promise(c1, c2, caution), promise(c2, c1, caution)])
        scores[:, c1 + c2 < rare_limit(runs, epsilon or 0.0)] = -np.inf
        return scores

    def _sigmas(self, epsilon: float) -> Floats:
        """How far each candidate stands above `epsilon`, for both sides, in errors of one run."""
        c1, c2, runs, _ = self._together()
        both = [sigmas_above(c1, c2, epsilon), sigmas_above(c2, c1, epsilon)]
        sigmas = np.stack(both) / np.sqrt(runs)
        sigmas[:, c1 + c2 < rare_limit(runs, epsilon)] = -np.inf
        return sigmas

    def _choice(self, scores: Floats, side: int, place: int) -> ChosenEvent:
        c1, c2, _, starts = self._together()
        number = int(np.searchsorted(starts, place, side="right")) - 1
        block = self.blocks[number]
        event = block.event(place - int(starts[number]))
        large, small = (c2, c1) if side else (c1, c2)
        counts, score = (int(large[place]), int(small[place])), float(scores[side, place])
        return ChosenEvent(event, bool(side), *counts, score, block.family, block.runs)

    def _together(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Counts of all candidates, the runs they come from, and where each block starts."""
        if self._joined is None:
            sizes = [len(b.c1) for b in self.blocks]
            self._joined = (
                np.concatenate([b.c1 for b in self.blocks]),
                np.concatenate([b.c2 for b in self.blocks]),
                np.repeat([b.runs for b in self.blocks], sizes),
                np.concatenate([[0], np.cumsum(sizes)[:-1]]),
            )
        return self._joined


def simplest(choices: Sequence[ChosenEvent]) -> ChosenEvent:
    """Of choices that are equally good the one that reads best."""
    return min(choices, key=lambda c: (c.event.complexity, -c.score, c.event.words))


def select_events(
    first: Samples,
    second: Samples,
    references: Sequence[tuple[str, tuple[Any, ...]]] = (),
    marks: Sequence[float] = (),
    thorough: bool = False,
) -> EventSearch:
    """Count every candidate event on the outputs of two inputs.

    `references` are noise-free outputs with the name of their input; `marks` are numbers that are
    likely ends of intervals (noise-free values, entries of the inputs). `thorough` adds events
    that take longer to count, and to read.
    """
    return select_from(PairedOutputs(first, second), references, marks, thorough)


def select_from(
    reading: PairedOutputs,
    references: Sequence[tuple[str, tuple[Any, ...]]] = (),
    marks: Sequence[float] = (),
    thorough: bool = False,
) -> EventSearch:
    """The same of outputs that are read already."""
    search = EventSearch()
    for family in families_of(reading, references, marks, thorough):
        search.add(family, family.table(reading), reading.runs)
    return search


def families_of(
    reading: PairedOutputs,
    references: Sequence[tuple[str, tuple[Any, ...]]] = (),
    marks: Sequence[float] = (),
    thorough: bool = False,
) -> Iterator[EventFamily]:
    """The families of the outputs, or of their parts and of two parts together."""
    parts = list(enumerate(part_names(reading.joint.whole)))
    if not parts:
        yield from Grammar(reading, references, marks, thorough).families()
        return
    grammars = [Grammar(reading, (), marks, thorough, part) for part in parts]
    for grammar in grammars:
        yield from grammar.families()
    for one, other in itertools.permutations(grammars, 2):
        for bins in one.numeric_bins:
            if one.alone or not isinstance(one.inside(bins.feature), f.Element | f.Difference):
                yield from (Products(split, bins, thorough) for split in other.splits)


class Grammar:
    """Which events make sense for these outputs: by their lengths, their kinds and their values.

    Or for one `part` of them, given by its place and its name.
    """

    def __init__(
        self,
        reading: PairedOutputs,
        references: Sequence[tuple[str, tuple[Any, ...]]],
        marks: Sequence[float],
        thorough: bool = False,
        part: tuple[int, str] | None = None,
    ) -> None:
        self.reading, self.thorough, self.part = reading, thorough, part
        self.joint = reading.joint if part is None else reading.joint.part(part[0])[0]
        self.side = (self.joint.runs >= reading.first_size).astype(np.int64)
        # Filled by `families`: what outputs are sorted by.
        self.splits: list[Split | OutputSplit] = []
        self.numeric_bins: list[FeatureBins] = []
        self.references, self.marks = references, [float(m) for m in marks]
        self.widths = sorted({len(g.columns) for g in self.joint.groups})
        self.kinds = {kind for g in self.joint.groups for kind in g.kinds}
        self.alone = self.widths == [1]
        self.atoms = _atoms(self.joint)
        self.many_integers = _many_integers(self.joint)

    def families(self) -> Iterator[EventFamily]:
        splits, numeric = self.splits, self.numeric_bins
        for own in self.categorical():
            feature = self.within(own)
            bins = self._bins(feature)
            if bins is not None:
                yield Ranges(bins)
            if not isinstance(own, f.ElementIs):
                split = Split.of(feature, self.reading.values(feature))
                if split is not None and self._divides(split, splits):
                    splits.append(split)
        outputs = self._outputs()
        if outputs is not None:
            yield Outputs(outputs)
        for number in self.numeric():
            bins = self._bins(self.within(number))
            if bins is not None:
                if splits or outputs is not None or self.part is not None:
                    self.reading.places(bins, keep=True)
                yield Ranges(bins)
                numeric.append(bins)
        crossed = bool(numeric) or self.part is not None
        if crossed and outputs is not None and len(outputs.outputs) <= _MOST_SPLIT:
            often = outputs.most_frequent(self.reading, MOST_CATEGORIES)
            if self._divides(often, splits):
                splits.append(often)
        for bins in numeric:
            yield from (Products(split, bins, self.thorough) for split in splits)

    def within(self, feature: f.LeafFeature) -> f.LeafFeature:
        """The feature of the whole output that says this of the part that is looked at."""
        return feature if self.part is None else f.Within(*self.part, feature)

    @staticmethod
    def inside(feature: f.LeafFeature) -> f.LeafFeature:
        """The feature of the part, from what `within` made of it."""
        return feature.feature if isinstance(feature, f.Within) else feature

    # --- which features -----------------------------------------------------------------------

    def categorical(self) -> Iterator[f.LeafFeature]:
        values = self._category_values()
        discrete = bool(values)
        if len(self.widths) > 1:
            yield f.Length()
        if not self.alone:
            for value in values:
                yield f.CountOfValue(value)
        if discrete or len(self.widths) > 1:
            seen = set()
            for name, reference in self.references:
                if not self.alone and reference not in seen:
                    seen.add(reference)
                    yield f.Mismatches(reference, name)
        for index in self._places(lambda kind: kind not in ("float",)):
            for value in values:
                yield f.ElementIs(index, value, self.alone)

    def _category_values(self) -> list[Any]:
        """Values that are categories: booleans, strings, None, integers if few, atoms."""
        found: dict[tuple[str, Any], int] = {}
        for group in self.joint.groups:
            for kind, column in zip(group.kinds, group.columns, strict=True):
                if kind == "float" or (kind == "int" and self.many_integers) or kind == "object":
                    continue
                if kind == "none":
                    found[("none", None)] = found.get(("none", None), 0) + len(column)
                    continue
                for value, count in _counted(column[: _PROBE * 4]):
                    key = (leaf_kind(value) if kind == MIXED else kind, value)
                    found[key] = found.get(key, 0) + count
        ranked = sorted(found, key=lambda key: -found[key])[:MOST_CATEGORIES]
        return [value for _, value in sorted(ranked, key=repr)] + list(self.atoms)

    def numeric(self) -> Iterator[f.LeafFeature]:
        if not self.kinds & set(f.NUMERIC):
            return
        integers, whole = "float" not in self.kinds, _whole_numbers(self.joint)
        places = list(self._places(lambda kind: kind in f.NUMERIC))
        if not integers or self.many_integers or self.alone:
            for index in places:
                yield f.Element(index, whole, self.alone)
        if self.alone or (integers and not self.many_integers):
            return
        names = ["last"] if self.atoms or len(self.widths) > 1 or len(self.kinds) > 1 else []
        if self._most_numbers() > 1:
            names += ["mean", "min", "max", "argmax"]
        for name in names:
            yield f.Aggregate(name, self.atoms, name == "argmax" or (whole and name != "mean"))
        if self._most_numbers() > 1:
            if "argmax" in names:
                yield f.Aggregate("range", self.atoms, whole)
            pairs = list(zip(places[1:], places[:-1], strict=True))
            if len(places) > 2:
                pairs.append((places[-1], places[0]))
            for left, right in pairs[:_MOST_ELEMENTS]:
                if left >= 0 and right >= 0:
                    yield f.Difference(left, right, whole)

    def _most_numbers(self) -> int:
        return max(sum(kind in f.NUMERIC for kind in g.kinds) for g in self.joint.groups)

    def _places(self, wanted: Callable[[str], bool]) -> list[int]:
        """Places worth a look: all, or of many those that differ most between the two inputs."""
        width = max(self.widths)
        places = [
            i
            for i in range(width)
            if any(len(g.columns) > i and wanted(g.kinds[i]) for g in self.joint.groups)
        ]
        if len(places) > _MOST_ELEMENTS:
            places = sorted(sorted(places, key=lambda i: -self._difference(i))[:_MOST_ELEMENTS])
        if len(self.widths) > 1 and any(
            len(g.columns) and wanted(g.kinds[-1]) for g in self.joint.groups
        ):
            places.append(-1)
        return places

    def _difference(self, place: int) -> float:
        total = 0.0
        for group in self.joint.groups:
            if len(group.columns) <= place or group.kinds[place] not in ("bool", *f.NUMERIC):
                continue
            step = max(1, len(group.rows) // _PROBE)
            values = np.asarray(group.columns[place][::step], dtype=np.float64)
            side = self.side[group.rows[::step]]
            above = values > np.median(values)
            if 0 < side.sum() < len(side):
                total += abs(above[side == 0].mean() - above[side == 1].mean()) * len(group.rows)
        return total

    def _divides(self, split: Split | OutputSplit, others: Sequence[Split | OutputSplit]) -> bool:
        """Does it divide the outputs in another way than all others do?"""
        probe = probed(self.reading.places(split, keep=True)).astype(np.int64)
        for earlier in others:
            other = probed(self.reading.places(earlier))
            pairs = len(np.unique(probe * 4096 + other))
            if pairs == len(np.unique(probe)) == len(np.unique(other)):
                return False
        return True

    def _bins(self, feature: f.LeafFeature) -> FeatureBins | None:
        values = self.reading.values(feature)
        known = values[~np.isnan(values)] if np.isnan(values).any() else values
        if not len(known):
            return None
        probe = known[:: max(1, len(known) // (4 * _PROBE))]
        probe = probe[np.isfinite(probe)]
        if not len(probe):
            return None
        if feature.integral:
            points = np.unique(probe)
            if len(points) <= _MOST_POINTS:
                if len(points) < 2 and len(known) == len(values):
                    return None
                return FeatureBins.of_points(feature, points)
        cuts = readable(np.quantile(probe, _QUANTILES), probe)
        low, high = probe.min(), probe.max()
        cuts = np.unique(np.concatenate([cuts, [m for m in self.marks if low < m <= high]]))
        return FeatureBins.between(feature, cuts)

    def _outputs(self) -> OutputSplit | None:
        """All discrete outputs, where there is more than one."""
        if self.many_integers or "object" in self.kinds:
            return None
        _, outputs = self.joint.keys(self.atoms)
        if len(outputs) < 2:
            return None
        if self.part is None:
            return OutputSplit(tuple(outputs), self.atoms)
        return OutputSplit(tuple(outputs), self.atoms, self.within, self.part[0])


def _counted(column: NDArray[Any]) -> list[tuple[Any, int]]:
    """The values of a column, and how often each comes up."""
    if column.dtype == object:
        return list(Counter(column.tolist()).items())
    seen, counts = np.unique(column, return_counts=True)
    return list(zip(seen.tolist(), counts.tolist(), strict=True))


def readable(values: Floats, sample: Floats) -> Floats:
    """Cut points with as few digits as the spread of the sample allows."""
    low, high = np.quantile(sample, [0.25, 0.75])
    spread = high - low if high > low else float(np.ptp(sample))
    if not spread > 0 or not np.isfinite(spread):
        return np.unique(values[np.isfinite(values)])
    unit = 10.0 ** math.floor(math.log10(spread / 50))
    digits = max(0, -math.floor(math.log10(unit)))
    return np.unique(np.round(np.round(values[np.isfinite(values)] / unit) * unit, digits))


def _atoms(samples: Samples) -> tuple[float, ...]:
    """Constants that real-valued places take: continuous noise never repeats a number.

    Only a hint for which events to try. With many repeated values (noise on a lattice, say)
    intervals do better, and there are none.
    """
    found: dict[float, int] = {}
    for group in samples.groups:
        for kind, column in zip(group.kinds, group.columns, strict=True):
            if kind != "float":
                continue
            part = column[:: max(1, len(column) // _PROBE)]
            seen, counts = np.unique(part[~np.isnan(part)], return_counts=True)
            for value, count in zip(seen[counts >= 3], counts[counts >= 3], strict=True):
                found[float(value)] = found.get(float(value), 0) + int(count)
    return tuple(sorted(found)) if len(found) <= 8 else ()


def _whole_numbers(samples: Samples) -> bool:
    """Are all numbers whole, as far as some of them show? Only a hint for which events to try."""
    for group in samples.groups:
        for kind, column in zip(group.kinds, group.columns, strict=True):
            if kind == "float":
                part = probed(column)
                if not (part == np.floor(part)).all():
                    return False
    return True


def _many_integers(samples: Samples) -> bool:
    """Do integers take more values than one would list?"""
    seen: set[int] = set()
    for group in samples.groups:
        for kind, column in zip(group.kinds, group.columns, strict=True):
            if kind == "int":
                seen.update(np.unique(column[:_PROBE]).tolist())
    return len(seen) > 3 * MOST_CATEGORIES
