"""From outputs of any shape to a few small integers per run, which classifiers work on.

An output splits into a *signature* and *numbers*. The signature is everything discrete: its
skeleton, its booleans, strings and special values, and every number that comes up again and again
(an atom: the 0 of a numerical SVT, an infinity, NaN). The numbers are what is left, in order. A
`Coder` learns from unlabelled outputs which values are atoms and where the numbers' quantiles lie;
it never sees which input an output came from.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.text import apart, hides_numbers
from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import Nest, Skeleton, leaf_kinds

Codes = NDArray[np.intp]

_MOST_ATOMS = 64
_MOST_SIGNATURES = 1024
_MOST_CROSSED = 600  # bins within signatures, of all numbers together
_MOST_BINS = 1000  # of all numbers together
_MOST_NUMBERS = 250  # of one output that have bins of their own; of more, some evenly spaced
_MOST_PARTS = 16  # parts of an output that are looked at one by one
_GRID = 4096
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NAN_ATOM = -2
NOT_ATOM = -1
_NUMBER = np.full(1, NOT_ATOM, dtype=np.int64)


@dataclass(frozen=True)
class Feature:
    """One small integer per run: its codes lie in [0, size).

    With `chain` > 0 code 0 means "absent", and the codes from 1 on are runs of `chain` bins in
    increasing order, each bin with its neighbours. With 0 the codes have no order.
    """

    name: str
    size: int
    chain: int = 0


def as_numbers(column: np.ndarray) -> NDArray[np.float64]:
    """A column as floats. Strings and other objects become a checksum of their text."""
    if column.dtype == object:
        return np.array([_number(value) for value in column], dtype=np.float64)
    return column.astype(np.float64, copy=False)


def _number(value: object) -> float:
    if isinstance(value, (int, float, np.number)):
        try:
            return float(value)
        except OverflowError:
            return np.inf if value > 0 else -np.inf
    return float(zlib.crc32(repr(value).encode()))


def find_atoms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values that hold a share of the probability of their own, sorted; NaN is not among them."""
    numbers = values[~np.isnan(values)]
    if len(numbers) == 0:
        return np.empty(0)
    distinct, counts = np.unique(numbers, return_counts=True)
    if len(distinct) <= min(_MOST_ATOMS, len(numbers) // 4):
        return distinct
    often = counts > max(3.0, len(numbers) / 100)
    kept = distinct[often]
    if len(kept) > _MOST_ATOMS:
        top = np.sort(np.argsort(counts[often])[-_MOST_ATOMS:])
        kept = kept[top]
    return np.union1d(kept, distinct[np.isinf(distinct)])


def atom_codes(values: NDArray[np.float64], atoms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Position of each value among the atoms, NOT_ATOM or NAN_ATOM."""
    if len(atoms) == 0:
        codes = np.full(len(values), NOT_ATOM, dtype=np.int64)
    else:
        place = np.minimum(np.searchsorted(atoms, values), len(atoms) - 1)
        codes = np.where(atoms[place] == values, place, NOT_ATOM)
    missing = np.isnan(values)
    if missing.any():
        codes[missing] = NAN_ATOM
    return codes


def quantile_edges(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Inner edges of about `bins` bins of equal mass; fewer where values repeat."""
    numbers = values[~np.isnan(values)]
    if len(numbers) == 0 or bins < 2:
        return np.empty(0)
    inner = np.quantile(numbers, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.unique(inner)


def tailed_edges(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Like `quantile_edges`, with more edges in both tails, where rare events are told apart."""
    numbers = values[~np.isnan(values)]
    if len(numbers) == 0 or bins < 2:
        return np.empty(0)
    tail = np.array([0.0003, 0.001, 0.003, 0.01, 0.03])
    # A tail bin holds at least a few dozen of the values it is chosen from.
    tail = tail[tail > 30.0 / len(numbers)]
    levels = np.unique(np.concatenate([tail, np.arange(1, bins) / bins, 1.0 - tail]))
    return np.unique(np.quantile(numbers, levels, method="inverted_cdf"))


class Bins:
    """Bins between sorted edges, and the bin of each value: 1 + the edges at or below it.

    Absent values (NaN) have code 0. Edges are moved to an even grid where that moves each by a
    small part of its bins only; a value is then looked up instead of searched for.
    """

    def __init__(self, edges: NDArray[np.float64]) -> None:
        self.count = len(edges) + 1
        self._edges = edges
        self._table: NDArray[np.intp] | None = None
        if len(edges) < 3:
            return
        width = float(edges[-1]) - float(edges[0])
        if not (np.isfinite(width) and float(np.diff(edges).min()) * _GRID > 4.0 * width):
            return
        self._scale = _GRID / width
        # Cells are centred on the grid, so that rounding does not part an edge from its value.
        cells = np.floor((edges - edges[0]) * self._scale + 1.5).astype(np.intp)
        self._table = 1 + np.searchsorted(cells, np.arange(_GRID + 2), side="right")

    def codes(self, values: NDArray[np.float64]) -> Codes:
        if self._table is None:
            codes = np.searchsorted(self._edges, values, side="right") + 1
            absent = np.isnan(values)
            if absent.any():
                codes[absent] = 0
            return codes
        place = values - self._edges[0]
        place *= self._scale
        place += 1.5
        np.clip(place, 0.0, _GRID + 1.0, out=place)
        if not np.isnan(place.sum()):
            return self._table[place.astype(np.intp)]
        absent = np.isnan(place)
        place[absent] = 0.0
        codes = self._table[place.astype(np.intp)]
        codes[absent] = 0
        return codes


@dataclass(frozen=True)
class Parts:
    """Outputs taken apart: a signature code per run, and numbers by rank (NaN where absent).

    Where outputs are containers of containers, `inner` holds a signature for each of the outer
    one's parts, and `holders` counts the numbers by rank and part.
    """

    size: int
    signatures: NDArray[np.uint64]
    numbers: list[NDArray[np.float64]]
    discrete: list[NDArray[np.int64]]
    inner: list[NDArray[np.uint64]] = field(default_factory=list)
    holders: Counter[tuple[int, int]] = field(default_factory=Counter)

    def rows(self, begin: int, end: int) -> Parts:
        """The outputs from `begin` to before `end`."""
        span = slice(begin, end)
        return Parts(
            len(self.signatures[span]),
            self.signatures[span],
            [numbers[span] for numbers in self.numbers],
            [codes[span] for codes in self.discrete],
            [keys[span] for keys in self.inner],
            self.holders,
        )


class Splitter:
    """Takes outputs apart into signature and numbers, by atoms learnt from a first batch."""

    def __init__(self, samples: Samples) -> None:
        self._last: tuple[Samples, bool, Parts] | None = None
        self._atoms: dict[tuple[Skeleton, int], NDArray[np.float64]] = {}
        self._hiding = {
            (group.skeleton, leaf)
            for group in samples.groups
            for leaf, column in enumerate(group.columns)
            if hides_numbers(column)
        }
        for group in apart(samples, self._hiding).groups:
            for leaf, column in enumerate(group.columns):
                self._atoms[group.skeleton, leaf] = find_atoms(as_numbers(column))

    def parts(self, samples: Samples, leaves: bool = True) -> Parts:
        """Signatures and numbers, and with `leaves` also the discrete values leaf by leaf."""
        if self._last is not None and self._last[0] is samples and self._last[1] >= leaves:
            return self._last[2]  # several coders look at the same outputs
        found = self._parts(samples, leaves)
        self._last = samples, leaves, found
        return found

    def _parts(self, samples: Samples, leaves: bool) -> Parts:
        found = Parts(samples.size, np.zeros(samples.size, dtype=np.uint64), [], [])
        samples = apart(samples, self._hiding)
        for group in samples.groups:
            whole = len(samples.groups) == 1
            rows: slice | NDArray[np.int64] = (
                slice(None) if whole and _in_order(group.rows) else group.rows
            )
            self._split(group, rows, found, leaves)
        return found

    def _split(
        self,
        group: SkeletonGroup,
        rows: slice | NDArray[np.int64],
        found: Parts,
        leaves: bool,
    ) -> None:
        size, numbers, discrete = found.size, found.numbers, found.discrete
        count = len(group.rows)
        keys = _Keys(group.skeleton)
        rank = np.zeros(count, dtype=np.int64)
        fixed_rank: int | None = 0  # the common rank, while no column mixes atoms and numbers
        for leaf, column in enumerate(group.columns):
            if fixed_rank is not None and self._only_numbers(group, leaf, column):
                keys.mix(leaf, _NUMBER)
                _put(numbers, fixed_rank, size, rows, column)
                found.holders[fixed_rank, keys.part(leaf)] += count
                fixed_rank += 1
                continue
            if column.dtype == np.bool_ and not leaves:
                keys.mix(leaf, column.view(np.uint8))
                continue
            values = as_numbers(column)
            if column.dtype == np.bool_:
                codes = column.astype(np.int64)
            else:
                atoms = self._atoms.get((group.skeleton, leaf))
                codes = atom_codes(values, np.empty(0) if atoms is None else atoms)
            loose = codes == NOT_ATOM
            all_loose = bool(loose.all())
            if leaves and not all_loose:
                # Codes above the atoms' positions keep "absent" (0) and "a number" (1) apart.
                while len(discrete) <= leaf:
                    discrete.append(np.zeros(size, dtype=np.int64))
                discrete[leaf][rows] = np.where(loose, 1, _value_code(values, codes))
            keys.mix(leaf, codes)
            if not loose.any():
                continue
            if all_loose and fixed_rank is not None:
                _put(numbers, fixed_rank, size, rows, values)
                found.holders[fixed_rank, keys.part(leaf)] += count
                fixed_rank += 1
                continue
            if fixed_rank is not None:
                rank += fixed_rank
                fixed_rank = None
            positions = np.arange(size)[rows]
            for place in np.unique(rank[loose]):
                chosen = loose & (rank == place)
                _slot(numbers, int(place), size)[positions[chosen]] = values[chosen]
                found.holders[int(place), keys.part(leaf)] += int(np.count_nonzero(chosen))
            rank += loose
        found.signatures[rows] = keys.whole
        for part, key in enumerate(keys.inner):
            while len(found.inner) <= part:
                found.inner.append(np.zeros(size, dtype=np.uint64))
            found.inner[part][rows] = key

    def _only_numbers(self, group: SkeletonGroup, leaf: int, column: np.ndarray) -> bool:
        """Whether a column of doubles can have no atoms and no NaN."""
        if column.dtype != np.float64 or len(self._atoms.get((group.skeleton, leaf), ())):
            return False
        with np.errstate(invalid="ignore", over="ignore"):
            # A finite sum needs no closer look.
            return bool(np.isfinite(column.sum()) or not np.isnan(column).any())


class _Keys:
    """Hashes of the signatures of one group of outputs: of the whole, and of each inner part."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.whole = _first_key(skeleton)
        self.inner: list[NDArray[np.uint64]] = []
        self._part: list[int] = []
        if (
            isinstance(skeleton, Nest)
            and 2 <= len(skeleton.parts) <= _MOST_PARTS
            and any(isinstance(part, Nest) for part in skeleton.parts)
        ):
            self.inner = [_first_key(part) for part in skeleton.parts]
            for place, part in enumerate(skeleton.parts):
                self._part.extend([place] * len(leaf_kinds(part)))

    def part(self, leaf: int) -> int:
        """The part that a leaf lies in; 0 where parts are not looked at."""
        return self._part[leaf] if self._part else 0

    def mix(self, leaf: int, codes: NDArray[np.integer]) -> None:
        self.whole = _mixed(self.whole, codes)
        if self._part:
            part = self._part[leaf]
            self.inner[part] = _mixed(self.inner[part], codes)


def _first_key(skeleton: Skeleton) -> NDArray[np.uint64]:
    """One hash for all rows, for as long as no column has told them apart."""
    return np.full(1, zlib.crc32(repr(skeleton).encode()), dtype=np.uint64)


def _mixed(key: NDArray[np.uint64], codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The hash of a signature so far, with one more leaf."""
    key = (key ^ (codes.astype(np.int64) + 3).view(np.uint64)) * _GOLDEN
    key ^= key >> np.uint64(29)
    return key


def _value_code(values: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A code of an atom's value that does not depend on the skeleton it was seen in."""
    finite = np.isfinite(values)
    small = finite & (np.abs(values) < 2**40) & (values == np.floor(values))
    coded = np.where(small, np.where(small, values, 0).astype(np.int64) + 2**41, 0)
    other = ~small
    if other.any():
        coded[other] = values[other].view(np.int64) | (1 << 62)
        coded[np.isnan(values)] = 2
    return coded


def _put(
    numbers: list[NDArray[np.float64]],
    rank: int,
    size: int,
    rows: slice | NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    if isinstance(rows, slice) and len(numbers) == rank:
        numbers.append(values)  # all rows: no copy
    else:
        _slot(numbers, rank, size)[rows] = values


def _slot(numbers: list[NDArray[np.float64]], rank: int, size: int) -> NDArray[np.float64]:
    while len(numbers) <= rank:
        numbers.append(np.full(size, np.nan))
    return numbers[rank]


def _in_order(rows: NDArray[np.int64]) -> bool:
    return len(rows) == 0 or (
        rows[0] == 0 and rows[-1] == len(rows) - 1 and bool(np.all(rows[1:] > rows[:-1]))
    )


@dataclass(frozen=True)
class FeatureFamily:
    """Which features a coder makes.

    `bins` per number; `differences` of neighbouring numbers; `crossed` bins of the numbers within
    each frequent signature; `tails`: more bins at both ends; `inner`: the signature of each part of
    the output instead of the whole's, where the output is a container of containers; `leaves`: each
    discrete leaf, even where frequent signatures cover nearly everything; `signatures`: how many
    of the most frequent ones have a weight each.
    """

    bins: int = 16
    differences: bool = False
    crossed: bool = False
    tails: bool = True
    inner: bool = False
    leaves: bool = False
    signatures: int = _MOST_SIGNATURES


class _Signatures:
    """The frequent ones of some signatures, and how much is left over."""

    def __init__(self, keys: NDArray[np.uint64], most: int) -> None:
        distinct, counts = np.unique(keys, return_counts=True)
        kept = np.flatnonzero(counts >= max(20, len(keys) // 20_000))
        if len(kept) > most:
            kept = np.sort(kept[np.argsort(counts[kept])[-most:]])
        self.known, self.counts = distinct[kept], counts[kept]
        self.several = len(distinct) > 1
        self.rare = int(counts.sum() - self.counts.sum())

    def codes(self, keys: NDArray[np.uint64]) -> Codes:
        """1 + the place among the frequent ones; 0 for the others."""
        if len(self.known) == 0:
            return np.zeros(len(keys), dtype=np.intp)
        near = np.minimum(np.searchsorted(self.known, keys), len(self.known) - 1)
        return np.where(self.known[near] == keys, near + 1, 0)


class Coder:
    """Feature codes for outputs, fitted on unlabelled ones."""

    def __init__(self, splitter: Splitter, parts: Parts, family: FeatureFamily) -> None:
        self.splitter = splitter
        self.family = family
        self.features: list[Feature] = []
        self._inner = len(parts.inner) if family.inner else 0
        keys = parts.inner if self._inner else [parts.signatures]
        self._signatures = [_Signatures(key, family.signatures) for key in keys]
        for place, one in enumerate(self._signatures):
            if one.several:
                name = f"signature of part {place}" if self._inner else "signature"
                self.features.append(Feature(name, len(one.known) + 1))
        # Signatures that cover nearly everything need no separate look at the leaves.
        rare = max(one.rare for one in self._signatures)
        self._leaves: list[tuple[int, NDArray[np.int64]]] = []
        if family.leaves or rare > parts.size // 1000:
            for leaf, codes in enumerate(parts.discrete):
                seen, often = np.unique(codes, return_counts=True)
                seen = np.sort(seen[np.argsort(often)[-_MOST_ATOMS:]])
                if len(seen) > 1:
                    self._leaves.append((leaf, seen))
                    self.features.append(Feature(f"leaf {leaf}", len(seen) + 1))
        self._bins: list[tuple[str, int, Bins]] = []
        looked_at = min(len(parts.numbers), _MOST_NUMBERS) * (2 if family.differences else 1)
        self._most_bins = max(2, _MOST_BINS // max(looked_at, 1))
        ranks = range(0, len(parts.numbers), -(-len(parts.numbers) // _MOST_NUMBERS) or 1)
        for rank in ranks:
            self._add("number", rank, parts.numbers[rank])
        if family.differences:
            for rank in ranks[1:]:
                self._add("difference", rank, parts.numbers[rank] - parts.numbers[rank - 1])
        self._crossed: list[tuple[int, int, Bins, Codes]] = []
        if family.crossed:
            for rank in ranks:
                # Bins within the signatures of the part where most of these numbers lie.
                counts = [parts.holders[rank, p] for p in range(len(self._signatures))]
                place = int(np.argmax(counts))
                self._cross(rank, place, parts.numbers[rank], len(ranks))

    def _cross(self, rank: int, place: int, values: NDArray[np.float64], numbers: int) -> None:
        one = self._signatures[place]
        edges = tailed_edges(values, max(4, self.family.bins // 2))
        # Many signatures: those that are left over share one chain of bins.
        wanted = _MOST_CROSSED // max((len(edges) + 1) * numbers, 1)
        if len(one.known) < 2 or not len(edges) or not wanted:
            return
        bins = Bins(edges)
        chains = np.zeros(len(one.known) + 1, dtype=np.intp)
        often = np.argsort(-one.counts, kind="stable")[:wanted]
        chains[1 + often] = 1 + np.arange(len(often))
        self._crossed.append((rank, place, bins, chains))
        size = (len(often) + 1) * bins.count + 1
        self.features.append(Feature(f"crossed {rank}", size, bins.count))

    def _add(self, kind: str, rank: int, values: NDArray[np.float64]) -> None:
        # A fit solves for all weights at once, which takes the cube of their number.
        few = self._most_bins < self.family.bins
        cut = tailed_edges if self.family.tails and not few else quantile_edges
        edges = cut(values, min(self.family.bins, self._most_bins))
        if len(edges):
            self._bins.append((kind, rank, Bins(edges)))
            self.features.append(Feature(f"{kind} {rank}", len(edges) + 2, len(edges) + 1))

    def codes(self, samples: Samples) -> list[Codes]:
        return self.codes_of(self.splitter.parts(samples, leaves=self.uses_leaves))

    @property
    def uses_leaves(self) -> bool:
        return bool(self._leaves)

    def signature_places(self, parts: Parts) -> list[Codes]:
        """Where the signature of each output, or of each of its parts, is among the frequent."""
        keys = [parts.signatures]
        if self._inner:
            # Parts that no output here has are absent in all rows.
            absent = np.zeros(parts.size, dtype=np.uint64)
            keys = [*parts.inner, *[absent] * self._inner][: self._inner]
        return [one.codes(key) for one, key in zip(self._signatures, keys, strict=True)]

    def codes_of(self, parts: Parts) -> list[Codes]:
        """One array of codes per feature, in the order of `features`."""
        found: list[Codes] = []
        places = self.signature_places(parts)
        found.extend(
            place for one, place in zip(self._signatures, places, strict=True) if one.several
        )
        for leaf, seen in self._leaves:
            if leaf < len(parts.discrete):
                codes = parts.discrete[leaf]
                near = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
                found.append(np.where(seen[near] == codes, near + 1, 0))
            else:
                found.append(np.zeros(parts.size, dtype=np.intp))
        for kind, rank, bins in self._bins:
            found.append(_codes(_number_of(parts, kind, rank), bins, parts.size))
        for rank, place, bins, chains in self._crossed:
            inner = _codes(_number_of(parts, "number", rank), bins, parts.size)
            found.append(np.where(inner > 0, chains[places[place]] * bins.count + inner, 0))
        return found


def _number_of(parts: Parts, kind: str, rank: int) -> NDArray[np.float64] | None:
    if rank >= len(parts.numbers):
        return None
    if kind == "difference":
        return parts.numbers[rank] - parts.numbers[rank - 1]
    return parts.numbers[rank]


def _codes(values: NDArray[np.float64] | None, bins: Bins, size: int) -> Codes:
    return np.zeros(size, dtype=np.intp) if values is None else bins.codes(values)
