"""Numbers that can be read off an output: its length, a count, an element, the largest value.

An event of StatDP says that one or two of these lie in a range. Every feature reads a whole
column of outputs at once; NaN stands where an output has no such number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp.discrete import NUMBER, Discrete, Keys, tagged
from dpest.attacks.statdp.leaves import MIXED, PLAIN, as_leaves, by_kinds, part_of
from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import leaf_kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NUMERIC = ("int", "float")


class LeafFeature(Protocol):
    """`words` and `source` describe it to a person and to Python (over the list `leaves`)."""

    @property
    def words(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def integral(self) -> bool:
        """All its values are whole numbers."""
        ...

    def values(self, samples: Samples) -> Floats: ...


class Grouped(Samples):
    """The same outputs, one group after the other: for whoever only counts them.

    Nothing has to be put back into the order of the runs, which takes longer than reading it.
    Numbers that were read off them are kept: many events ask for the same.
    """

    def __init__(self, samples: Samples, groups: Sequence[SkeletonGroup], runs: Ints) -> None:
        super().__init__(samples.size, groups, samples.notes, samples.raised)
        self.runs = runs  # the number of the run that each output comes from
        self.whole = samples
        self._numbers: dict[LeafFeature, Floats] = {}
        self._keys: dict[tuple[float, ...], Keys] = {}
        self._parts: dict[int, tuple[Grouped, Ints]] = {}

    def read(self, feature: LeafFeature) -> Floats:
        """`feature.values` of these outputs."""
        if isinstance(feature, (OneOf, ElementIs, Within)):
            return feature.values(self)
        if feature not in self._numbers:
            self._numbers[feature] = feature.values(self)
        return self._numbers[feature]

    def keys(self, atoms: tuple[float, ...]) -> Keys:
        """`Discrete(atoms).keys` of these outputs."""
        if atoms not in self._keys:
            self._keys[atoms] = Discrete(atoms).keys(self)
        return self._keys[atoms]

    def part(self, index: int) -> tuple[Grouped, Ints]:
        """One part of each output, and the place in it of each of these outputs."""
        if index not in self._parts:
            part = Grouped.of(part_of(self.whole, index))
            place = np.empty(self.size, dtype=np.int64)
            place[part.runs] = np.arange(self.size)
            self._parts[index] = (part, place[self.runs])
        return self._parts[index]

    @staticmethod
    def of(samples: Samples) -> Grouped:
        if isinstance(samples, Grouped):
            return samples
        groups, start = [], 0
        runs = [np.empty(0, dtype=np.int64)]
        for group in by_kinds(part for whole in samples.groups for part in as_leaves(whole)):
            rows = np.arange(start, start + len(group.rows))
            groups.append(SkeletonGroup(group.skeleton, rows, group.columns))
            runs.append(group.rows)
            start += len(rows)
        return Grouped(samples, groups, np.concatenate(runs))


def by_group(samples: Samples, read: Callable[[SkeletonGroup], Floats | float]) -> Floats:
    if isinstance(samples, Grouped):
        parts = [
            np.broadcast_to(np.asarray(read(group), dtype=np.float64), len(group.rows))
            for group in samples.groups
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
    grouped = Grouped.of(samples)
    result = np.full(samples.size, np.nan)
    result[grouped.runs] = by_group(grouped, read)
    return result


def equals(group: SkeletonGroup, leaf: int, value: Any) -> Bools | bool:
    """Where a leaf is `value`. True is not 1, and 1 is 1.0: a kind is part of a category."""
    kind, wanted = group.kinds[leaf], leaf_kind(value)
    if kind == MIXED:
        return np.asarray(group.columns[leaf] == value, dtype=bool) if wanted in PLAIN else False
    if kind != wanted and not (kind in NUMERIC and wanted in NUMERIC):
        return False
    if kind == "none":
        return True
    return np.asarray(group.columns[leaf] == value, dtype=bool)


def show(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)


def literal(value: Any) -> str:
    """A value as exact Python source."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return f"float({str(plain)!r})"
    return repr(plain)


def same_source(leaf: str, value: Any) -> str:
    """Python source that asks whether a leaf is `value`, as `equals` does."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return f"{leaf} is {literal(value)}"
    if isinstance(value, str):
        return f"{leaf} == {literal(value)}"
    return f"(type({leaf}) is not bool and {leaf} == {literal(value)})"


def ordinal(index: int) -> str:
    if index < 0:
        return "the last element" if index == -1 else f"element {index} from the end"
    return f"element {index}"


@dataclass(frozen=True)
class Length:
    words = "the length"
    source = "len(leaves)"
    integral = True

    def values(self, samples: Samples) -> Floats:
        return by_group(samples, lambda group: float(len(group.columns)))


@dataclass(frozen=True)
class CountOfValue:
    """How many elements are `value`."""

    value: Any
    integral = True

    @property
    def words(self) -> str:
        return f"the number of {show(self.value)}"

    @property
    def source(self) -> str:
        return f"sum({same_source('v', self.value)} for v in leaves)"

    def values(self, samples: Samples) -> Floats:
        def read(group: SkeletonGroup) -> Floats:
            total = np.zeros(len(group.rows))
            for leaf in range(len(group.columns)):
                total += equals(group, leaf, self.value)
            return total

        return by_group(samples, read)


@dataclass(frozen=True)
class Mismatches:
    """t(ω): the Hamming distance to a reference, the noise-free output of one of the inputs.

    Places that only one of the two has count as different.
    """

    reference: tuple[Any, ...]
    of: str
    integral = True

    def turned(self) -> Mismatches:
        """For D1 and D2 that have changed their names."""
        return Mismatches(self.reference, {"D1": "D2", "D2": "D1"}.get(self.of, self.of))

    @property
    def words(self) -> str:
        shown = ", ".join(show(v) for v in self.reference)
        which = {"D1": "first", "D2": "second"}.get(self.of, self.of)
        return f"the Hamming distance to the noise-free output on the {which} input, [{shown}],"

    @property
    def source(self) -> str:
        # Kinds are part of the comparison: True is not 1.
        reference = "[" + ", ".join(literal(v) for v in self.reference) + "]"
        return f"hamming(leaves, {reference})"

    def values(self, samples: Samples) -> Floats:
        def read(group: SkeletonGroup) -> Floats:
            shared = min(len(group.columns), len(self.reference))
            longer = max(len(group.columns), len(self.reference)) - shared
            total = np.full(len(group.rows), float(longer))
            for leaf in range(shared):
                total += 1.0 - np.asarray(equals(group, leaf, self.reference[leaf]), dtype=float)
            return total

        return by_group(samples, read)


@dataclass(frozen=True)
class Element:
    """The number at one place (from the end if negative)."""

    index: int
    integral: bool = False
    alone: bool = False

    @property
    def words(self) -> str:
        return "the output" if self.alone else ordinal(self.index)

    @property
    def source(self) -> str:
        return f"number(leaves, {self.index})"

    def values(self, samples: Samples) -> Floats:
        def read(group: SkeletonGroup) -> Floats | float:
            width = len(group.columns)
            if not -width <= self.index < width:
                return np.nan
            leaf = self.index % width
            if group.kinds[leaf] not in NUMERIC:
                return np.nan
            return np.asarray(group.columns[leaf], dtype=np.float64)

        return by_group(samples, read)


@dataclass(frozen=True)
class ElementIs:
    """1 where the element at one place is `value`, else 0."""

    index: int
    value: Any
    alone: bool = False
    integral = True

    @property
    def words(self) -> str:
        return f"{'the output' if self.alone else ordinal(self.index)} is {show(self.value)}"

    @property
    def source(self) -> str:
        test = same_source(f"leaves[{self.index}]", self.value)
        enough = self.index + 1 if self.index >= 0 else -self.index
        return f"(len(leaves) >= {enough} and {test})"

    def values(self, samples: Samples) -> Floats:
        def read(group: SkeletonGroup) -> Floats | float:
            width = len(group.columns)
            if not -width <= self.index < width:
                return 0.0
            return np.asarray(equals(group, self.index % width, self.value), dtype=np.float64)

        return by_group(samples, read)


def numbers(group: SkeletonGroup, without: Sequence[Any]) -> Iterator[tuple[Floats, Bools | None]]:
    """The numeric columns of a group, each with the rows where it is one of `without`."""
    for kind, column in zip(group.kinds, group.columns, strict=True):
        if kind not in NUMERIC:
            continue
        values = np.asarray(column, dtype=np.float64)
        hidden: Bools | None = None
        for value in without:
            at = values == value
            if at.any():
                hidden = at if hidden is None else hidden | at
        yield values, hidden


@dataclass(frozen=True)
class Aggregate:
    """The mean, least, largest, last number, its place, or how far apart the extremes are.

    Numbers listed in `without` don't count: constants that a mechanism writes for "nothing here".
    """

    name: str
    without: tuple[Any, ...] = ()
    integral: bool = False

    @property
    def words(self) -> str:
        names = {
            "mean": "the mean",
            "min": "the least value",
            "max": "the largest value",
            "argmax": "the place of the largest value",
            "last": "the last number",
            "range": "the largest less the least value",
        }
        other = f" other than {', '.join(show(v) for v in self.without)}" if self.without else ""
        return names[self.name] + other

    @property
    def source(self) -> str:
        values = f"numbers(leaves, without={list(self.without)!r})"
        how = {
            "mean": "sum(v) / len(v)",
            "min": "min(v)",
            "max": "max(v)",
            "argmax": "v.index(max(v))",
            "last": "v[-1]",
            "range": "max(v) - min(v)",
        }[self.name]
        return f"(lambda v: {how} if v else nan)({values})"

    def values(self, samples: Samples) -> Floats:
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            return by_group(samples, self._read)

    def _read(self, group: SkeletonGroup) -> Floats | float:
        found = list(numbers(group, self.without))
        if not found:
            return np.nan
        size = len(group.rows)
        if self.name == "last":
            last = np.full(size, np.nan)
            for values, hidden in found:
                last = values.copy() if hidden is None else np.where(hidden, last, values)
            return last
        if self.name == "mean":
            total, count = np.zeros(size), np.zeros(size)
            for values, hidden in found:
                total += values if hidden is None else np.where(hidden, 0.0, values)
                count += 1.0 if hidden is None else ~hidden
            return np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
        if self.name == "range":
            high, low = self._extreme(found, np.fmax), self._extreme(found, np.fmin)
            return high - low
        if self.name == "argmax":
            return self._place(found, size)
        return self._extreme(found, np.fmax if self.name == "max" else np.fmin)

    @staticmethod
    def _extreme(found: list[tuple[Floats, Bools | None]], pick: Any) -> Floats:
        best: Floats | None = None
        for values, hidden in found:
            seen = values if hidden is None else np.where(hidden, np.nan, values)
            best = seen if best is None else pick(best, seen)
        assert best is not None
        return best

    @staticmethod
    def _place(found: list[tuple[Floats, Bools | None]], size: int) -> Floats:
        best, place, count = np.full(size, -np.inf), np.full(size, np.nan), np.zeros(size)
        for values, hidden in found:
            shown = np.ones(size, dtype=bool) if hidden is None else ~hidden
            better = shown & (values > best)
            place[better] = count[better]
            best[better] = values[better]
            count += shown
        return place


@dataclass(frozen=True)
class Difference:
    """One element less another."""

    left: int
    right: int
    integral: bool = False

    @property
    def words(self) -> str:
        return f"{ordinal(self.left)} less {ordinal(self.right)}"

    @property
    def source(self) -> str:
        return f"(number(leaves, {self.left}) - number(leaves, {self.right}))"

    def values(self, samples: Samples) -> Floats:
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            return Element(self.left).values(samples) - Element(self.right).values(samples)


@dataclass(frozen=True)
class OneOf:
    """1 where the discrete output is one of a list, else 0."""

    outputs: tuple[tuple[Any, ...], ...]
    atoms: tuple[float, ...] = ()
    integral = True
    _known: frozenset[Any] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(tagged(o) for o in self.outputs))

    @property
    def words(self) -> str:
        def one(output: tuple[Any, ...]) -> str:
            texts = ["…" if v is NUMBER else show(v) for v in output]
            return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

        if len(self.outputs) == 1:
            return f"the output is {one(self.outputs[0])}"
        shown = [one(o) for o in self.outputs[:4]]
        rest = f", and {len(self.outputs) - 4} more" if len(self.outputs) > 4 else ""
        return f"the output is one of {', '.join(shown)}{rest}"

    @property
    def source(self) -> str:
        outputs = [[None if v is NUMBER else v for v in o] for o in self.outputs]
        places = [[i for i, v in enumerate(o) if v is NUMBER] for o in self.outputs]
        return f"one_of(leaves, {outputs!r}, {places!r}, {list(self.atoms)!r})"

    def values(self, samples: Samples) -> Floats:
        grouped = Grouped.of(samples)
        codes, outputs = grouped.keys(self.atoms)
        inside = np.array([tagged(o) in self._known for o in outputs] or [False], dtype=np.float64)
        if grouped is samples:
            return inside[codes]
        result = np.zeros(samples.size)
        result[grouped.runs] = inside[codes]
        return result


@dataclass(frozen=True)
class Within:
    """What a feature says of one part of the output alone; `name` stands in `output[…]`."""

    index: int
    name: str
    feature: LeafFeature

    @property
    def integral(self) -> bool:
        return self.feature.integral

    @property
    def words(self) -> str:
        part, words = f"output[{self.name}]", self.feature.words
        whole = "the output"
        return part + words[len(whole) :] if words.startswith(whole) else f"in {part} {words}"

    @property
    def source(self) -> str:
        return f"(lambda leaves: {self.feature.source})(part(output, {self.index}))"

    def values(self, samples: Samples) -> Floats:
        grouped = Grouped.of(samples)
        part, place = grouped.part(self.index)
        values = part.read(self.feature)[place]
        if grouped is samples:
            return values
        result = np.empty(samples.size)
        result[grouped.runs] = values
        return result


def says_yes_or_no(feature: LeafFeature) -> bool:
    """Is its name a statement that is true or false, rather than a number's?"""
    inner = feature.feature if isinstance(feature, Within) else feature
    return isinstance(inner, (OneOf, ElementIs))
