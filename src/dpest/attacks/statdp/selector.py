"""Algorithm 3 of StatDP: which event tells two inputs apart best?

All candidates of one feature are counted together: the feature's values fall into bins, and the
count of every range is a difference of two cumulative sums. Nothing here is a test: the winner is
measured again on fresh samples.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp import features as f
from dpest.attacks.statdp.events import ONE, Event, Range
from dpest.attacks.statdp.hypothesis_test import promise
from dpest.attacks.statdp.unions import Place, unions
from dpest.program.samples import Samples

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
_MOST_CATEGORIES = 24
_MOST_ELEMENTS = 24
_PROBE = 5000
_MOST_CLOSE = 256
_ALIKE = 4


@dataclass(frozen=True)
class Block:
    """Candidates that were counted together: `c1`, `c2` on the two inputs, `event(i)` the i-th.

    `runs` is the number of outputs a side that the counts come from.
    """

    c1: Ints
    c2: Ints
    runs: int
    event: Callable[[int], Event]


@dataclass(frozen=True)
class Choice:
    """A candidate and the side on which it is more likely; counts are those of the search."""

    event: Event
    swapped: bool
    k1: int
    k2: int
    score: float


@dataclass
class Search:
    """All counted candidates of one pair."""

    blocks: list[Block] = field(default_factory=list)
    _joined: tuple[Ints, Ints, Ints, Ints] | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        return 2 * sum(len(b.c1) for b in self.blocks)

    def best(self, epsilon: float | None, caution: float = CAUTION) -> Choice | None:
        """The admissible candidate that promises the largest ε, or None.

        A promise is what an event would show if its counts were `caution` sigmas worse. Rare
        events, c1 + c2 < 0.001·n·e^ε, are left out as in the paper.
        """
        if not self.blocks:
            return None
        scores = self._scores(epsilon, caution)
        top = float(scores.max())
        if top == -math.inf:
            return None
        least = top - TOLERANCE * abs(top)
        close = np.argwhere(scores >= least) if math.isfinite(top) else np.argwhere(scores == top)
        if len(close) > _MOST_CLOSE:
            order = np.argsort(-scores[close[:, 0], close[:, 1]], kind="stable")
            close = close[order[:_MOST_CLOSE]]
        return simplest([self._choice(scores, side, place) for side, place in close.tolist()])

    def promising(self, epsilon: float | None, caution: float, most: int) -> list[Choice]:
        """The best candidates, but only a few of those that were counted together: they are alike.

        Luck is among them; who looks again at other samples can tell.
        """
        if not self.blocks:
            return []
        scores = self._scores(epsilon, caution)
        starts = self._together()[3]
        order = np.argsort(-scores, axis=None, kind="stable")[: 100 * most]
        found: list[Choice] = []
        used: Counter[tuple[int, int]] = Counter()
        for side, place in np.column_stack(np.unravel_index(order, scores.shape)).tolist():
            if len(found) == most or scores[side, place] == -np.inf:
                break
            group = (side, int(np.searchsorted(starts, place, side="right")))
            if used[group] < _ALIKE:
                used[group] += 1
                found.append(self._choice(scores, side, place))
        return found

    def _scores(self, epsilon: float | None, caution: float) -> Floats:
        """The promise of every candidate, for both sides; -inf where it is too rare."""
        c1, c2, runs, _ = self._together()
        scores = np.stack([promise(c1, c2, caution), promise(c2, c1, caution)])
        scores[:, c1 + c2 < rare_limit(runs, epsilon or 0.0)] = -np.inf
        return scores

    def _choice(self, scores: Floats, side: int, place: int) -> Choice:
        c1, c2, _, starts = self._together()
        number = int(np.searchsorted(starts, place, side="right")) - 1
        event = self.blocks[number].event(place - int(starts[number]))
        large, small = (c2, c1) if side else (c1, c2)
        value = float(scores[side, place])
        return Choice(event, bool(side), int(large[place]), int(small[place]), value)

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


def simplest(choices: Sequence[Choice]) -> Choice:
    """Of choices that are equally good the one that reads best."""
    return min(choices, key=lambda c: (c.event.complexity, -c.score, c.event.words))


def rare_limit(runs: Any, epsilon: float) -> Any:
    """Events that happened less often than this, on both sides together, are not looked at."""
    return 0.001 * runs * math.exp(epsilon)


def select_events(
    first: Samples,
    second: Samples,
    references: Sequence[tuple[str, tuple[Any, ...]]] = (),
    marks: Sequence[float] = (),
) -> Search:
    """Count every candidate event on the outputs of two inputs.

    `references` are noise-free outputs with the name of their input; `marks` are numbers that are
    likely ends of intervals (noise-free values, entries of the inputs).
    """
    both = Samples.concatenate([first, second])
    joint = f.Grouped.of(both)
    rows = [group.rows for group in both.groups]
    side = (np.concatenate([np.empty(0, dtype=np.int64), *rows]) >= first.size).astype(np.int64)
    table = _Table(joint, side, min(first.size, second.size), references, marks)
    return Search([b for b in table.blocks() if len(b.c1)])


class _Table:
    def __init__(
        self,
        joint: Samples,
        side: Ints,
        runs: int,
        references: Sequence[tuple[str, tuple[Any, ...]]],
        marks: Sequence[float],
    ) -> None:
        self.joint, self.side, self.runs = joint, side, runs
        self.references, self.marks = references, [float(m) for m in marks]
        self.widths = sorted({len(g.columns) for g in joint.groups})
        self.kinds = {kind for g in joint.groups for kind in g.kinds}
        self.alone = self.widths == [1]
        self.atoms = _atoms(joint)
        self.many_integers = _many_integers(joint)

    def blocks(self) -> Iterator[Block]:
        categories = []
        for feature in self.categorical():
            values = feature.values(self.joint)
            yield from self._ranges(feature, self._bins(feature, values))
            categories.append((feature, values))
        codes, outputs = self._whole()
        if len(outputs) > 1:
            yield from self._outputs(codes, outputs)
        numeric = []
        for number in self.numeric():
            bins = self._bins(number, number.values(self.joint))
            if bins is not None:
                yield from self._ranges(number, bins)
                numeric.append((number, bins))
        if numeric:
            yield from self._products(categories, codes, outputs, numeric)

    # --- which features -----------------------------------------------------------------------

    def categorical(self) -> Iterator[f.Feature]:
        values = self._category_values()
        discrete = bool(values)
        if len(self.widths) > 1:
            yield f.Length()
        if not self.alone:
            for value in values:
                yield f.Count(value)
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
                part = column[: _PROBE * 4]
                seen, counts = np.unique(part, return_counts=True)
                for value, count in zip(seen.tolist(), counts.tolist(), strict=True):
                    key = (kind, value)
                    found[key] = found.get(key, 0) + count
        ranked = sorted(found, key=lambda key: -found[key])[:_MOST_CATEGORIES]
        return [value for _, value in sorted(ranked, key=repr)] + list(self.atoms)

    def numeric(self) -> Iterator[f.Feature]:
        if not self.kinds & set(f.NUMERIC):
            return
        whole = "float" not in self.kinds
        places = list(self._places(lambda kind: kind in f.NUMERIC))
        if not whole or self.many_integers or self.alone:
            for index in places:
                yield f.Element(index, whole, self.alone)
        if self.alone or (whole and not self.many_integers):
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

    # --- counting -----------------------------------------------------------------------------

    def _ranges(self, feature: f.Feature, bins: Bins | None) -> Iterator[Block]:
        if bins is None:
            return
        table = np.bincount(self.side * bins.width + bins.index, minlength=2 * bins.width).reshape(
            2, bins.width
        )
        yield bins.block(feature, table, self.runs, ())

    def _products(
        self,
        categories: Sequence[tuple[f.Feature, Floats]],
        codes: Ints,
        outputs: Sequence[tuple[Any, ...]],
        numeric: Sequence[tuple[f.Feature, Bins]],
    ) -> Iterator[Block]:
        """A category and a range of a number."""
        splits: list[tuple[list[tuple[f.Feature, Range]], Ints]] = []
        for feature, values in categories:
            if isinstance(feature, f.ElementIs):
                continue
            seen, index, counts = np.unique(values, return_inverse=True, return_counts=True)
            if 1 < len(seen) <= 4 * _MOST_CATEGORIES and not np.isnan(seen).any():
                parts = [(feature, Range(v, v, True, True)) for v in seen.tolist()]
                splits.append(_often(parts, index.reshape(-1), counts))
        if 1 < len(outputs) <= 4096:
            counts = np.bincount(codes, minlength=len(outputs))
            whole: list[tuple[f.Feature, Range]] = [
                (f.OneOf((o,), self.atoms), ONE) for o in outputs
            ]
            splits.append(_often(whole, codes, counts))
        splits = _distinct_splits(splits)
        # Outputs of no listed category are counted past the end.
        sides = [np.where(index < 0, len(parts), index) * 2 + self.side for parts, index in splits]
        for number, bins in numeric:
            for (parts, _), first in zip(splits, sides, strict=True):
                size = len(parts) * 2 * bins.width
                cells = first * bins.width + bins.index
                learn, count = (
                    np.bincount(half, minlength=size)[:size].reshape(len(parts), 2, bins.width)
                    for half in (cells[::2], cells[1::2])
                )
                table = learn + count
                for counts, union in unions(learn, count, bins.events(number, parts)):
                    yield Block(counts[:, 0], counts[:, 1], self.runs // 2, union)
                for part, row in zip(parts, table, strict=True):
                    if row[:, :-1].sum() >= rare_limit(self.runs, 0.0):
                        yield bins.block(number, row, self.runs, (part,))

    def _bins(self, feature: f.Feature, values: Floats) -> Bins | None:
        known = values[~np.isnan(values)] if np.isnan(values).any() else values
        if not len(known):
            return None
        step = max(1, len(known) // (4 * _PROBE))
        probe = known[::step]
        if feature.integral:
            points = np.unique(probe)
            if len(points) <= 64:
                if len(points) < 2 and len(known) == len(values):
                    return None
                return Bins.of_points(points, values)
        cuts = readable(np.quantile(probe, _QUANTILES), probe)
        low, high = probe.min(), probe.max()
        cuts = np.unique(np.concatenate([cuts, [m for m in self.marks if low < m <= high]]))
        return Bins.between(cuts, values)

    def _whole(self) -> tuple[Ints, list[tuple[Any, ...]]]:
        if self.many_integers or "object" in self.kinds:
            return np.zeros(self.joint.size, dtype=np.int64), []
        return f.Discrete(self.atoms).keys(self.joint)

    def _outputs(self, codes: Ints, outputs: Sequence[tuple[Any, ...]]) -> Iterator[Block]:
        """Single discrete outputs, and sets of them in the order of their likelihood ratio."""
        size = len(outputs)
        table = np.bincount(self.side * size + codes, minlength=2 * size).reshape(2, size)
        often = np.flatnonzero(table.sum(axis=0) >= rare_limit(self.runs, 0.0))
        if len(often) > 1024:
            often = often[np.argsort(-np.abs(np.diff(table[:, often], axis=0)[0]))[:1024]]
        atoms = self.atoms

        def single(i: int) -> Event:
            return Event(((f.OneOf((outputs[int(often[i])],), atoms), ONE),))

        yield Block(table[0, often], table[1, often], self.runs, single)
        if size < 3:
            return
        # The order is learned from one half, the counts come from the other.
        half = np.arange(self.joint.size) % 2 == 0
        learn, count = (
            np.bincount(self.side[m] * size + codes[m], minlength=2 * size).reshape(2, size)
            for m in (half, ~half)
        )
        usable = np.flatnonzero(learn.sum(axis=0) >= 8)
        if len(usable) < 3:
            return
        ratio = np.log((learn[0, usable] + 0.5) / (learn[1, usable] + 0.5))
        for order in (usable[np.argsort(-ratio)], usable[np.argsort(ratio)]):
            sizes = np.unique(np.geomspace(2, len(order) - 1, 48).astype(np.int64))
            sums = np.cumsum(count[:, order], axis=1)[:, sizes - 1]

            def several(i: int, order: Ints = order, sizes: Ints = sizes) -> Event:
                chosen = tuple(outputs[int(j)] for j in order[: sizes[i]])
                return Event(((f.OneOf(chosen, atoms), ONE),))

            yield Block(sums[0], sums[1], self.runs // 2, several)


@dataclass(frozen=True)
class Bins:
    """Values sorted into bins; the last bin takes NaN. `edges` gives the range of bins i to j."""

    index: Ints
    width: int
    edges: Callable[[int, int], Range]

    @staticmethod
    def of_points(points: Floats, values: Floats) -> Bins:
        """One bin a point; values between points (unseen in the probe) count as NaN does."""
        index = np.searchsorted(points, values)
        inside = np.minimum(index, len(points) - 1)
        index = np.where(points[inside] == values, inside, len(points))
        last = len(points) - 1

        def edges(i: int, j: int) -> Range:
            low = -math.inf if i == 0 and j < last else float(points[i])
            high = math.inf if j == last and i > 0 else float(points[j])
            if i == j:
                low = high = float(points[i])
            return Range(low, high, True, True)

        return Bins(index, len(points) + 1, edges)

    @staticmethod
    def between(cuts: Floats, values: Floats) -> Bins:
        """Bins [cut, next cut), and the two unbounded ones."""
        index = np.searchsorted(cuts, values, side="right")
        index[np.isnan(values)] = len(cuts) + 1

        def edges(i: int, j: int) -> Range:
            low = float(cuts[i - 1]) if i > 0 else -math.inf
            high = float(cuts[j]) if j < len(cuts) else math.inf
            return Range(low, high, True, False)

        return Bins(index, len(cuts) + 2, edges)

    def block(
        self, feature: f.Feature, table: Ints, runs: int, given: tuple[tuple[f.Feature, Range], ...]
    ) -> Block:
        """All ranges of neighbouring bins."""
        sums = np.concatenate([np.zeros((2, 1), dtype=np.int64), np.cumsum(table, axis=1)], axis=1)
        bins = self.width - 1
        i, j = _neighbouring(bins)
        counts = sums[:, j + 1] - sums[:, i]

        def event(k: int) -> Event:
            return self.event(feature, int(i[k]), int(j[k]), given)

        return Block(counts[0], counts[1], runs, event)

    def event(
        self, feature: f.Feature, first: int, last: int, given: tuple[tuple[f.Feature, Range], ...]
    ) -> Event:
        """The values in bins `first` to `last`, where `given` holds."""
        if given and first == 0 and last == self.width - 2:
            return Event(given)
        return Event((*given, (feature, self.edges(first, last))))

    def events(
        self, feature: f.Feature, parts: Sequence[tuple[f.Feature, Range]]
    ) -> Callable[[Place], Event]:
        """The event of a category among `parts` and a range of bins in it."""
        return lambda place: self.event(feature, place[1], place[2], (parts[place[0]],))


@functools.lru_cache(maxsize=64)
def _neighbouring(bins: int) -> tuple[Ints, Ints]:
    """First and last bin of every range of neighbouring bins."""
    first, last = np.triu_indices(bins)
    return first, last


def readable(values: Floats, sample: Floats) -> Floats:
    """Cut points with as few digits as the spread of the sample allows."""
    low, high = np.quantile(sample, [0.25, 0.75])
    spread = high - low if high > low else float(np.ptp(sample))
    if not spread > 0 or not np.isfinite(spread):
        return np.unique(values[np.isfinite(values)])
    unit = 10.0 ** math.floor(math.log10(spread / 50))
    digits = max(0, -math.floor(math.log10(unit)))
    return np.unique(np.round(np.round(values[np.isfinite(values)] / unit) * unit, digits))


def _often(
    parts: list[tuple[f.Feature, Range]], index: Ints, counts: Ints
) -> tuple[list[tuple[f.Feature, Range]], Ints]:
    """The most frequent categories only; the others get index -1."""
    kept = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    target = np.full(len(counts), -1, dtype=np.int64)
    target[kept] = np.arange(len(kept))
    return [parts[int(k)] for k in kept], target[index]


def _distinct_splits(splits: list[Any]) -> list[Any]:
    """Leave out a split that divides the outputs just as an earlier one does."""
    kept: list[Any] = []
    for parts, index in splits:
        probe = index[:: max(1, len(index) // _PROBE)]
        for _, earlier in kept:
            other = earlier[:: max(1, len(earlier) // _PROBE)]
            pairs = len(np.unique(probe * 4096 + other))
            if pairs == len(np.unique(probe)) == len(np.unique(other)):
                break
        else:
            kept.append((parts, index))
    return kept


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


def _many_integers(samples: Samples) -> bool:
    """Do integers take more values than one would list?"""
    seen: set[int] = set()
    for group in samples.groups:
        for kind, column in zip(group.kinds, group.columns, strict=True):
            if kind == "int":
                seen.update(np.unique(column[:_PROBE]).tolist())
    return len(seen) > 3 * _MOST_CATEGORIES
