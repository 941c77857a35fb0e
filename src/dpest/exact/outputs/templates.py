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

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError
from dpest.exact.outputs.factors import Interned
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.reading.paths import Formula, Path, Trace
from dpest.running.skeleton import Leaf, Nest, leaf_kinds
from dpest.running.watchdog import Deadline, TimeUp, watched

_MOST_PATHS = 5000
_SECONDS = 3.0  # what is longer on its way is sooner there pair by pair
_FEWEST, _FEW = 4, 32  # paths of a product that is worth taking apart
_MOST_CUTS = 8  # elements between which a cut is sought


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


class Template:
    """A mechanism's paths for all inputs of one shape."""

    def __init__(self, trace: Trace) -> None:
        self.parts = [_interned(part) for part in independent_parts(trace)]

    @staticmethod
    def of(mechanism: Mechanism, x: Any) -> Template | None:
        """The template for inputs like `x`, or None where the paths must be found per input."""
        from dpest.reading.trace import trace

        if _numbers(x) is None:
            return None
        try:
            with watched(Deadline(_SECONDS)):
                found = trace(mechanism, x, symbolic=True, max_paths=_MOST_PATHS, seconds=_SECONDS)
        except TimeUp:  # an outer deadline that has passed comes again
            return None
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

    def formula(truth: Any) -> Formula:
        condition = None
        if truth.condition is not None:
            condition = _Filled.of(truth.condition, numbers).condition
        return Formula(condition, tuple(map(formula, truth.parts)), truth.conjunction)

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

    The parts' outputs are the elements of the outermost container, in order.
    """
    paths = trace.paths
    if len(paths) == 1:
        return _several_results(trace)
    # A trace that was cut off is no product: what is missing belongs to no part.
    if len(paths) < _FEWEST or trace.leftover or any(p.choices for p in paths):
        return [trace]
    first = paths[0].skeleton
    if isinstance(first, Leaf) or len(first.parts) < 2:
        return [trace]
    if first.container not in ("list", "tuple") and len(paths) < _FEW:
        return [trace]  # its elements have names, which parts lose
    fixed, width = (first.container, first.keys, first.label), len(first.parts)
    for path in paths:
        s = path.skeleton
        if isinstance(s, Leaf) or (s.container, s.keys, s.label) != fixed or len(s.parts) != width:
            return [trace]
    # Where elements are alike the first one alone is a part; else some cut near the middle is.
    for elements in range(1, width if width <= _MOST_CUTS else 2):
        for size in _divisors(len(paths)):
            found = _product(trace, elements, size)
            if found is not None:
                return [part for one in found for part in independent_parts(one)]
    return [trace]


def _several_results(trace: Trace) -> list[Trace]:
    """A single path that returns several lists, cut where no draw is on both sides."""
    (path,) = trace.paths
    outermost = path.skeleton
    if path.conditions or path.choices or trace.leftover or isinstance(outermost, Leaf):
        return [trace]
    parts = outermost.parts
    if outermost.container not in ("list", "tuple") or any(isinstance(p, Leaf) for p in parts):
        return [trace]
    for elements in range(1, len(parts)):
        found = _product(trace, elements, 1)
        if found is not None:
            return [part for one in found for part in _several_results(one)]
    return [trace]


def _divisors(count: int) -> list[int]:
    return [d for d in range(2, count // 2 + 1) if count % d == 0]


@dataclass
class _Half:
    """The paths of the first elements, or of the others, with the names of their own draws."""

    name: str
    container: str
    noises: dict[Symbol, Any]
    indicators: dict[Symbol, Formula]
    names: dict[tuple[int, Any], Symbol]

    def path(
        self, trace: Trace, conditions: Sequence[Condition], parts: Sequence[Any], leaves: Any
    ) -> tuple[Path, set[Symbol]] | None:
        """A path of this half and the draws it uses; None if it knows an input alone.

        Draws are numbered along a path, so that the same draw has other names on other paths:
        here the k-th draw that is seen gets the name k.
        """
        names: dict[Symbol, Form] = {}
        used: set[Symbol] = set()

        def rename(form: Form) -> Form:
            for symbol in form.terms:
                if symbol in names or symbol.kind == "input":
                    continue
                if symbol in trace.indicators:
                    meaning = formula(trace.indicators[symbol])
                    new = self._named(len(names), meaning, "indicator")
                    self.indicators[new] = meaning
                else:
                    noise = trace.noises[symbol]
                    new = self._named(len(names), noise, "noise")
                    self.noises[new] = noise
                    used.add(symbol)
                names[symbol] = Form.of(new)
            return form.substitute(names)

        def formula(truth: Any) -> Formula:
            condition = None
            if truth.condition is not None:
                given = truth.condition
                condition = Condition(rename(given.form), given.relation)
            return Formula(condition, tuple(map(formula, truth.parts)), truth.conjunction)

        kept = []
        for given in conditions:
            if all(s.kind == "input" for s in given.form.terms):
                return None
            kept.append(Condition(rename(given.form), given.relation))
        released = tuple(rename(v) if isinstance(v, Form) else v for v in leaves)
        return Path(tuple(kept), Nest(self.container, (), tuple(parts)), released), used

    def _named(self, number: int, meaning: Any, kind: Any) -> Symbol:
        key = (number, meaning)
        if key not in self.names:
            self.names[key] = Symbol(kind, f"{self.name}_{number}_{len(self.names)}")
        return self.names[key]


def _product(trace: Trace, elements: int, size: int) -> list[Trace] | None:
    """The trace as a product of its first elements and the others, if it is one.

    A path decides about the first elements first. So the paths come in runs of `size` that begin
    with the same conditions and release the same first elements, and the rest of each run is the
    same list of paths, of other draws.
    """
    outermost = trace.paths[0].skeleton
    assert isinstance(outermost, Nest)
    container = "list" if outermost.container == "list" else "tuple"
    halves = [_Half(name, container, {}, {}, {}) for name in ("a", "b")]
    heads: list[Path] = []
    tails: list[Path] | None = None
    for start in range(0, len(trace.paths), size):
        run = trace.paths[start : start + size]
        cut = _common([path.conditions for path in run])
        first, rest = [], []
        for path in run:
            assert isinstance(path.skeleton, Nest)
            parts = path.skeleton.parts
            count = sum(len(leaf_kinds(p)) for p in parts[:elements])
            one = (path.conditions[:cut], parts[:elements], path.leaves[:count])
            two = (path.conditions[cut:], parts[elements:], path.leaves[count:])
            first.append(one)
            made = [half.path(trace, *own) for half, own in zip(halves, (one, two), strict=True)]
            if made[0] is None or made[1] is None or not made[0][1].isdisjoint(made[1][1]):
                return None
            rest.append(made[1][0])
            head = made[0][0]
        if any(own != first[0] for own in first[1:]) or (tails is not None and rest != tails):
            return None
        tails = rest
        heads.append(head)
    assert tails is not None
    return [
        replace(trace, paths=tuple(paths), noises=half.noises, indicators=half.indicators)
        for half, paths in zip(halves, (heads, tails), strict=True)
    ]


def _common(lists: Sequence[Sequence[Condition]]) -> int:
    """How many conditions all lists begin with."""
    count = 0
    for column in zip(*lists, strict=False):
        if any(c != column[0] for c in column[1:]):
            break
        count += 1
    return count
