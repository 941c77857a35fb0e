"""One symbolic trace for many inputs: searches and tables fill in the numbers.

And a trace whose output is a tuple of independent results, taken apart: two sparse vectors side by
side are 56 + 56 regions, not 56·56.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.declaration import Mechanism
from dpest.distributions.factors import Interned
from dpest.errors import DpestError
from dpest.program.linear import Condition, Form, Symbol, rational
from dpest.program.paths import Path, Trace
from dpest.program.skeleton import Leaf, Nest, leaf_kinds

_MOST_PATHS = 5000
_SECONDS = 20.0


def _numbers(x: Any) -> dict[Symbol, Fraction] | None:
    """The values of the input symbols that a symbolic trace of `x` has; None: not a plain input."""
    if isinstance(x, (bool, np.bool_)):
        return None
    if isinstance(x, (int, float, np.number)):
        return {Symbol("input", "x"): rational(x)}
    if isinstance(x, (list, tuple)):
        plain = all(
            isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_))
            for v in x
        )
        return {Symbol("input", f"x{i}"): rational(v) for i, v in enumerate(x)} if plain else None
    return None


def shape_key(x: Any) -> Any:
    """Equal for inputs that one template serves."""
    return (type(x).__name__, len(x) if isinstance(x, (list, tuple)) else 0)


@dataclass
class _Formula:
    """A formula over conditions, as the trace's truths are."""

    condition: Condition | None
    parts: tuple[_Formula, ...]
    conjunction: bool


class Template:
    """A mechanism's paths for all inputs of one shape."""

    def __init__(self, trace: Trace) -> None:
        self.parts = [_interned(part) for part in independent_parts(trace)]

    @staticmethod
    def of(mechanism: Mechanism, x: Any) -> Template | None:
        """The template for inputs like `x`, or None where the paths must be found per input."""
        from dpest.program.trace import trace

        if _numbers(x) is None:
            return None
        try:
            found = trace(mechanism, x, symbolic=True, max_paths=_MOST_PATHS, seconds=_SECONDS)
        except (DpestError, TypeError, ValueError, ArithmeticError):
            return None
        if found.leftover or not _concrete_noise(found):
            return None
        return Template(found)

    def at(self, x: Any) -> list[Trace]:
        """The trace of one input, as independent parts (usually one)."""
        numbers = _numbers(x)
        assert numbers is not None
        return [_filled(part, numbers, x) for part in self.parts]


def _concrete_noise(trace: Trace) -> bool:
    """Whether no distribution depends on the input."""
    for noise in trace.noises.values():
        for value in vars(noise).values():
            values = value if isinstance(value, tuple) else (value,)
            if any(not isinstance(v, (int, float, str, Fraction, np.number)) for v in values):
                return False
    return all(
        isinstance(choice.probability, (int, float, Fraction))
        for path in trace.paths
        for choice in path.choices
    )


def _filled_form(form: Form, numbers: Mapping[Symbol, Fraction]) -> Form:
    constant = form.constant
    terms: dict[Symbol, Fraction] = {}
    for symbol, c in form.terms.items():
        if symbol.kind == "input":
            constant += c * numbers[symbol]
        else:
            terms[symbol] = c
    return Form(terms, constant)


def _interned(trace: Trace) -> Trace:
    """The same trace, where equal conditions are one object."""
    one = Interned()
    paths = (replace(path, conditions=one.of(path.conditions)) for path in trace.paths)
    return replace(trace, paths=tuple(paths))


@dataclass(frozen=True)
class _Filled:
    """A condition at one input: its truth, if that is known, and the bound it is on one noise."""

    condition: Condition
    value: bool | None
    bound: tuple[Symbol, bool, Fraction, bool] | None  # noise, from below, edge, strict

    @staticmethod
    def of(condition: Condition, numbers: Mapping[Symbol, Fraction]) -> _Filled:
        concrete = Condition(_filled_form(condition.form, numbers), condition.relation)
        bound = None
        if len(concrete.form.terms) == 1 and concrete.relation in (">=", ">"):
            ((symbol, c),) = concrete.form.terms.items()
            bound = (symbol, c > 0, -concrete.form.constant / c, concrete.strict)
        return _Filled(concrete, concrete.decided(), bound)


def _filled(trace: Trace, numbers: Mapping[Symbol, Fraction], x: Any) -> Trace:
    known: dict[int, _Filled] = {}  # by identity: the template's conditions are interned

    def fill(condition: Condition) -> _Filled:
        found = known.get(id(condition))
        if found is None:
            found = known[id(condition)] = _Filled.of(condition, numbers)
        return found

    def formula(truth: Any) -> _Formula:
        condition = None
        if truth.condition is not None:
            condition = _Filled.of(truth.condition, numbers).condition
        return _Formula(condition, tuple(map(formula, truth.parts)), truth.conjunction)

    paths = []
    for path in trace.paths:
        conditions: list[Condition] = []
        bounds = []
        for condition in path.conditions:
            concrete = fill(condition)
            if concrete.value is None:
                conditions.append(concrete.condition)
                if concrete.bound is not None:
                    bounds.append(concrete.bound)
            elif not concrete.value:
                break
        else:
            if len(bounds) > 1 and _contradict(bounds):
                continue
            leaves = path.leaves
            if any(isinstance(leaf, Form) for leaf in leaves):
                leaves = tuple(_filled_leaf(leaf, numbers) for leaf in leaves)
            paths.append(Path(tuple(conditions), path.skeleton, leaves, path.choices))
    return replace(
        trace,
        paths=tuple(paths),
        indicators={s: formula(t) for s, t in trace.indicators.items()},
        inputs=x,
    )


def _contradict(bounds: Sequence[tuple[Symbol, bool, Fraction, bool]]) -> bool:
    """Whether bounds on one noise exclude each other: paths for other inputs, not for this one."""
    lows: dict[Symbol, tuple[Fraction, bool]] = {}
    highs: dict[Symbol, tuple[Fraction, bool]] = {}
    for symbol, low, edge, strict in bounds:
        side = lows if low else highs
        before = side.get(symbol)
        # Of equal bounds the strict one is the tighter.
        if before is None or (edge > before[0] if low else edge < before[0]):
            side[symbol] = (edge, strict)
        elif edge == before[0] and strict:
            side[symbol] = (edge, True)
    for symbol, (low_edge, low_strict) in lows.items():
        if symbol in highs:
            high_edge, high_strict = highs[symbol]
            if low_edge > high_edge or (low_edge == high_edge and (low_strict or high_strict)):
                return True
    return False


def _filled_leaf(leaf: Any, numbers: Mapping[Symbol, Fraction]) -> Any:
    if not isinstance(leaf, Form):
        return leaf
    form = _filled_form(leaf, numbers)
    if form.terms:
        return form
    whole = form.constant.denominator == 1
    return int(form.constant) if whole else float(form.constant)


def independent_parts(trace: Trace) -> list[Trace]:
    """The trace as a product of independent ones, if its output is a tuple of such; else itself.

    The parts' outputs are the elements of the outermost container, in order; an element that is
    the same on every path stays with the first part.
    """
    paths = trace.paths
    # A trace that was cut off is no product: what is missing belongs to no part.
    if len(paths) < 32 or trace.leftover or trace.indicators or any(p.choices for p in paths):
        return [trace]
    first = paths[0].skeleton
    if isinstance(first, Leaf) or not 2 <= len(first.parts) <= 8:
        return [trace]
    container, keys, width = first.container, first.keys, len(first.parts)
    for path in paths:
        s = path.skeleton
        if isinstance(s, Leaf) or (s.container, s.keys, len(s.parts)) != (container, keys, width):
            return [trace]
    split = [_components(path) for path in paths]
    count = len(split[0] or ())
    if count < 2 or any(parts is None or len(parts) != count for parts in split):
        return [trace]
    for cut in range(1, count):
        for elements in range(1, width):
            found = _product(trace, [parts or [] for parts in split], cut, elements)
            if found is not None:
                return found
    return [trace]


def _components(path: Path) -> list[list[Symbol]] | None:
    """The path's noises, tied by its conditions and outputs, in order of their first use.

    None if a condition is on the input alone.
    """
    parent: dict[Symbol, Symbol] = {}

    def find(s: Symbol) -> Symbol:
        while parent[s] != s:
            s = parent[s]
        return s

    forms = [c.form for c in path.conditions]
    if any(all(s.kind != "noise" for s in f.terms) for f in forms):
        return None
    for form in [*forms, *(leaf for leaf in path.leaves if isinstance(leaf, Form))]:
        known = [s for s in form.terms if s.kind == "noise"]
        for s in known:
            parent.setdefault(s, s)
        for s in known[1:]:
            parent[find(s)] = find(known[0])
    groups: dict[Symbol, list[Symbol]] = {}
    for s in parent:
        groups.setdefault(find(s), []).append(s)
    return list(groups.values())


def _product(
    trace: Trace, split: Sequence[list[list[Symbol]]], cut: int, elements: int
) -> list[Trace] | None:
    """The trace as a product, if the first `cut` components fix the first elements alone.

    Draws are numbered along a path, so that the same draw has other names on other paths: they
    are named anew within each part. The paths must be all combinations of the parts' paths.
    """
    tables: tuple[dict[Any, Path], dict[Any, Path]] = ({}, {})
    noises: tuple[dict[Symbol, Any], dict[Symbol, Any]] = ({}, {})
    combinations = set()
    for path, components in zip(trace.paths, split, strict=True):
        assert isinstance(path.skeleton, Nest)
        size = sum(len(leaf_kinds(p)) for p in path.skeleton.parts[:elements])
        outputs = (
            (path.skeleton.parts[:elements], path.leaves[:size]),
            (path.skeleton.parts[elements:], path.leaves[size:]),
        )
        keys = []
        for side, own in enumerate((components[:cut], components[cut:])):
            symbols = {s for group in own for s in group}
            mine = [c for c in path.conditions if not symbols.isdisjoint(c.form.terms)]
            parts, leaves = outputs[side]
            names: dict[Symbol, Form] = {}
            for form in [*(c.form for c in mine), *(v for v in leaves if isinstance(v, Form))]:
                for s in form.terms:
                    if s.kind == "noise" and s not in names:
                        if s not in symbols:
                            return None
                        new = Symbol("noise", f"part{side}_{len(names)}")
                        if noises[side].setdefault(new, trace.noises[s]) != trace.noises[s]:
                            return None
                        names[s] = Form.of(new)
            conditions = tuple(Condition(c.form.substitute(names), c.relation) for c in mine)
            renamed = tuple(v.substitute(names) if isinstance(v, Form) else v for v in leaves)
            part = Path(conditions, Nest("tuple", (), tuple(parts)), renamed)
            if tables[side].setdefault(conditions, part) != part:
                return None
            keys.append(conditions)
        combinations.add(tuple(keys))
    whole = len(tables[0]) * len(tables[1])
    if whole != len(trace.paths) or len(combinations) != whole or 1 in map(len, tables):
        return None
    found = []
    for side in (0, 1):
        paths = tuple(tables[side].values())
        found += independent_parts(replace(trace, paths=paths, noises=noises[side]))
    return found
