"""Independent parts of an output multiply: twenty random bits are twenty small distributions.

A trace is a list of paths; each path is cut into blocks of leaves that share no noise. Blocks whose
leaves are indicators are written out over the truth of their conditions. Paths that an observer
tells apart by their constants form separate groups; within a group, if each side has one path,
losses of the blocks add.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.exact.outputs.cells import PathRegion, constant_key
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.paths import Path, Trace
from dpest.running.skeleton import Skeleton, leaf_kinds, numbers_alike

_MOST_REGIONS = 20_000
_ONE = Fraction(1)


@dataclass(frozen=True)
class LeafBlock:
    """Leaves that share noise: their positions, and the regions that give them values.

    For each side, the regions and the noises they speak of.
    """

    positions: tuple[int, ...]
    regions: tuple[tuple[PathRegion, ...], ...]


@dataclass(frozen=True)
class FactorGroup:
    """Outputs of one skeleton, as a product of independent blocks, for one or two sides."""

    skeleton: Skeleton
    blocks: tuple[LeafBlock, ...]


def groups_of(traces: Sequence[Trace]) -> list[FactorGroup]:
    """The groups of one trace, or of two traces side by side."""
    if not any(trace.indicators for trace in traces):
        return _plain_groups(traces)
    split: dict[Any, tuple[list[list[_Product]], Skeleton]] = {}
    for side, trace in enumerate(traces):
        for path in trace.paths:
            key = _group_key(path)
            entry = split.get(key)
            if entry is None:
                entry = split[key] = ([[] for _ in traces], path.skeleton)
            entry[0][side].append(_product_of(path, trace))
    groups = []
    meeting = _meeting(split)
    for key, (sides, skeleton) in split.items():
        if (
            key not in meeting
            and all(len(products) <= 1 for products in sides)
            and any(product.indicators for products in sides for product in products)
        ):
            groups.append(_factored(sides, skeleton))
        else:
            width = len(leaf_kinds(skeleton))
            regions = tuple(
                tuple(r for product in products for r in product.regions(range(width)))
                for products in sides
            )
            groups.append(FactorGroup(skeleton, (LeafBlock(tuple(range(width)), regions),)))
    return _merged(groups)


class Interned:
    """Equal conditions as one object, so that what is known of them is found by identity."""

    def __init__(self) -> None:
        self._known: dict[Condition, Condition] = {}
        self._seen: dict[int, tuple[Condition, Condition]] = {}

    def of(self, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
        found = []
        for condition in conditions:
            entry = self._seen.get(id(condition))
            if entry is None:
                one = self._known.setdefault(condition, condition)
                entry = self._seen[id(condition)] = (condition, one)
            found.append(entry[1])
        return tuple(found)


@dataclass
class Memory:
    """What was made of a trace's paths, found by their identity, for as long as the trace lives."""

    conditions: Interned = field(default_factory=Interned)
    regions: dict[int, PathRegion] = field(default_factory=dict)
    products: dict[int, _Product] = field(default_factory=dict)
    latents: Any = None


_MEMORIES: dict[int, Memory] = {}


def memory_of(trace: Trace) -> Memory:
    found = _MEMORIES.get(id(trace))
    if found is None:
        found = _MEMORIES[id(trace)] = Memory()
        weakref.finalize(trace, _MEMORIES.pop, id(trace), None)
    return found


def _product_of(path: Path, trace: Trace) -> _Product:
    memory = memory_of(trace)
    found = memory.products.get(id(path))
    if found is None:
        # Without the trace itself: what is remembered must not keep it alive.
        found = memory.products[id(path)] = _Product(path, trace.indicators)
    return found


def _plain_groups(traces: Sequence[Trace]) -> list[FactorGroup]:
    """One group of one block for each skeleton: without indicators nothing factors here."""
    keys: dict[Skeleton, Any] = {}
    split: dict[Any, tuple[list[list[PathRegion]], Skeleton]] = {}
    for side, trace in enumerate(traces):
        memory = memory_of(trace)
        one = memory.conditions
        for path in trace.paths:
            key = keys.get(path.skeleton)
            if key is None:
                key = keys[path.skeleton] = numbers_alike(path.skeleton)
            entry = split.get(key)
            if entry is None:
                entry = split[key] = ([[] for _ in traces], path.skeleton)
            region = memory.regions.get(id(path))
            if region is None:
                conditions = one.of(path.conditions)
                region = PathRegion(conditions, path.leaves, _weight(path), path, kept=True)
                memory.regions[id(path)] = region
            entry[0][side].append(region)
    return [
        FactorGroup(
            skeleton,
            (LeafBlock(tuple(range(len(leaf_kinds(skeleton)))), tuple(map(tuple, sides))),),
        )
        for sides, skeleton in split.values()
    ]


def _weight(path: Path) -> Fraction | float:
    weight: Fraction | float = _ONE
    for choice in path.choices:
        weight = weight * choice.probability
    return weight if isinstance(weight, Fraction) else float(weight)


def _merged(groups: list[FactorGroup]) -> list[FactorGroup]:
    """Groups of a single block and equal skeletons are one: their cells tell them apart."""
    merged: dict[Any, list[FactorGroup]] = {}
    result = []
    for group in groups:
        if len(group.blocks) == 1:
            merged.setdefault(numbers_alike(group.skeleton), []).append(group)
        else:
            result.append(group)
    for same in merged.values():
        sides = len(same[0].blocks[0].regions)
        regions = tuple(
            tuple(r for g in same for r in g.blocks[0].regions[side]) for side in range(sides)
        )
        positions = same[0].blocks[0].positions
        result.append(FactorGroup(same[0].skeleton, (LeafBlock(positions, regions),)))
    return result


def _factored(sides: Sequence[Sequence[_Product]], skeleton: Skeleton) -> FactorGroup:
    width = len(leaf_kinds(skeleton))
    parent = list(range(width))

    def find(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for products in sides:
        for product in products:
            for positions in product.partition():
                for j in positions[1:]:
                    parent[find(j)] = find(positions[0])
    classes: dict[int, list[int]] = {}
    for j in range(width):
        classes.setdefault(find(j), []).append(j)
    blocks = []
    partition = list(classes.values()) or [[]]
    for number, positions in enumerate(partition):
        regions = tuple(
            tuple(
                region
                for product in products
                for region in product.regions(positions, weighted=number == 0)
            )
            for products in sides
        )
        blocks.append(LeafBlock(tuple(positions), regions))
    return FactorGroup(skeleton, tuple(blocks))


_VARIES = "varies"
_MOST_PATTERNS = 40  # of varying places, up to which they are compared with each other


def _group_key(path: Path) -> Any:
    constants = tuple(
        _VARIES if isinstance(leaf, Form) and leaf.terms else constant_key(leaf)
        for leaf in path.leaves
    )
    return numbers_alike(path.skeleton), constants


def _meeting(keys: Iterable[Any]) -> set[Any]:
    """The groups that may share an output with another one: where one is fixed the other varies.

    Such groups have to be compared output by output; only a group that has its outputs to itself
    is a product.
    """
    patterns: dict[Any, dict[tuple[int, ...], list[tuple[Any, ...]]]] = {}
    for skeleton, constants in keys:
        fixed = tuple(j for j, c in enumerate(constants) if c != _VARIES)
        patterns.setdefault(skeleton, {}).setdefault(fixed, []).append(constants)
    found: set[Any] = set()
    for skeleton, by_fixed in patterns.items():
        if len(by_fixed) > _MOST_PATTERNS:
            found.update((skeleton, c) for listed in by_fixed.values() for c in listed)
            continue
        for one, two in itertools.combinations(by_fixed, 2):
            both = sorted(set(one) & set(two))
            seen: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
            for constants in by_fixed[one]:
                seen.setdefault(tuple(constants[j] for j in both), []).append(constants)
            for constants in by_fixed[two]:
                others = seen.get(tuple(constants[j] for j in both), ())
                found.update((skeleton, c) for c in others)
                if others:
                    found.add((skeleton, constants))
    return found


class _Product:
    """One path, cut into independent parts on demand."""

    def __init__(self, path: Path, indicators: Mapping[Symbol, Any]) -> None:
        self.path = path
        self.indicators = indicators
        self._regions: dict[Any, list[PathRegion]] = {}
        self.kinds = leaf_kinds(path.skeleton)
        self.weight = _weight(path)
        self._component: dict[Symbol, Symbol] = {}
        self._connected = False

    def _find(self, s: Symbol) -> Symbol:
        while self._component[s] != s:
            s = self._component[s]
        return s

    def _tie(self, symbols: Iterable[Symbol]) -> None:
        first: Symbol | None = None
        for s in symbols:
            self._component.setdefault(s, s)
            if first is None:
                first = s
            else:
                self._component[self._find(s)] = self._find(first)

    def _noises_of(self, form: Form) -> set[Symbol]:
        found: set[Symbol] = set()
        for s in form.terms:
            if s in self.indicators:
                for condition in conditions_of(self.indicators[s]):
                    found |= set(condition.form.terms)
            else:
                found.add(s)
        return found

    def _connect(self) -> None:
        """Which noises belong together; only what is cut into parts needs it."""
        if self._connected:
            return
        self._connected = True
        for condition in self.path.conditions:
            self._tie(condition.form.terms)
        for leaf in self.path.leaves:
            if isinstance(leaf, Form):
                self._tie(self._noises_of(leaf))

    def partition(self) -> list[list[int]]:
        """Leaf positions that share noise; constants stand alone."""
        self._connect()
        classes: dict[Any, list[int]] = {}
        for j, leaf in enumerate(self.path.leaves):
            touched = self._noises_of(leaf) if isinstance(leaf, Form) else set()
            key = self._find(next(iter(touched))) if touched else ("constant", j)
            classes.setdefault(key, []).append(j)
        return list(classes.values())

    def regions(self, positions: Sequence[int], *, weighted: bool = True) -> list[PathRegion]:
        """What the leaves at these positions can be, each with its conditions.

        The weighted block carries the path's choices and the conditions on no leaf's noise.
        """
        key = (tuple(positions), weighted)
        found = self._regions.get(key)
        if found is None:
            found = self._regions[key] = self._written_out(positions, weighted)
        return found

    def _written_out(self, positions: Sequence[int], weighted: bool) -> list[PathRegion]:
        path = self.path
        leaves = tuple(path.leaves[j] for j in positions)
        if not self.indicators and len(positions) == len(path.leaves):
            return [PathRegion(path.conditions, leaves, self.weight, path, kept=True)]
        self._connect()
        roots = {
            self._find(s)
            for leaf in leaves
            if isinstance(leaf, Form)
            for s in self._noises_of(leaf)
        }
        others = set()
        if weighted and len(positions) < len(path.leaves):
            for j, leaf in enumerate(path.leaves):
                if j not in positions and isinstance(leaf, Form):
                    others |= {self._find(s) for s in self._noises_of(leaf)}
        conditions = tuple(
            c
            for c in path.conditions
            if not c.form.terms
            or self._find(next(iter(c.form.terms))) in roots
            or (weighted and self._find(next(iter(c.form.terms))) not in others)
        )
        indicators = dict.fromkeys(
            s
            for leaf in leaves
            if isinstance(leaf, Form)
            for s in leaf.terms
            if s in self.indicators
        )
        weight = self.weight if weighted else Fraction(1)
        found: list[PathRegion] = []
        kinds = [self.kinds[j] for j in positions]
        for extra, bits in assignments(list(indicators), self.indicators):
            if len(found) >= _MOST_REGIONS:
                raise RefusedError(
                    f"{len(indicators)} truth values are tied together: "
                    f"more than {_MOST_REGIONS} combinations"
                )
            values = tuple(
                _decided(leaf, kind, bits) for leaf, kind in zip(leaves, kinds, strict=True)
            )
            found.append(PathRegion((*conditions, *extra), values, weight, path, kept=True))
        return found


def _decided(leaf: Any, kind: str, bits: Mapping[Symbol, bool]) -> Any:
    if not isinstance(leaf, Form) or not any(s in bits for s in leaf.terms):
        return leaf
    form = leaf.substitute({s: Form.number(v) for s, v in bits.items() if s in leaf.terms})
    if form.terms:
        return form
    if kind == "bool":
        return bool(form.constant)
    return int(form.constant) if form.constant.denominator == 1 else float(form.constant)


def conditions_of(truth: Any) -> list[Condition]:
    """The conditions that a formula is made of."""
    if truth.condition is not None:
        return [truth.condition]
    return [c for part in truth.parts for c in conditions_of(part)]


def assignments(
    indicators: Sequence[Symbol], formulas: Mapping[Symbol, Any]
) -> Iterable[tuple[tuple[Condition, ...], dict[Symbol, bool]]]:
    """All ways to decide the indicators: disjoint conjunctions, with the indicators' values."""

    def walk(
        known: dict[Condition, bool], held: tuple[Condition, ...], bits: dict[Symbol, bool]
    ) -> Iterable[tuple[tuple[Condition, ...], dict[Symbol, bool]]]:
        for indicator in itertools.islice(indicators, len(bits), None):
            value = _truth(formulas[indicator], known)
            if isinstance(value, Condition):
                for outcome in (True, False):
                    more = value if outcome else value.negated()
                    yield from walk({**known, value: outcome}, (*held, more), bits)
                return
            bits = {**bits, indicator: value}
        yield held, bits

    return walk({}, (), {})


def _truth(formula: Any, known: Mapping[Condition, bool]) -> bool | Condition:
    """The formula's value, or a condition that has to be decided first."""
    if formula.condition is not None:
        condition = formula.condition
        fixed = condition.decided()
        if fixed is not None:
            return bool(fixed)
        if condition in known:
            return known[condition]
        negated = condition.negated()
        if negated in known:
            return not known[negated]
        return condition
    for part in formula.parts:
        value = _truth(part, known)
        if isinstance(value, Condition):
            return value
        if value != formula.conjunction:
            return value
    return bool(formula.conjunction)
