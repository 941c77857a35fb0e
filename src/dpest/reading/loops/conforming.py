"""A path of a trace held against a run of the untouched function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import ReplayError, UntraceableError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.regions import Point, Region, digest
from dpest.noise.family import Noise
from dpest.reading.calls import place_of
from dpest.reading.fixed import FixedRun
from dpest.reading.loops.inputs import as_value, caller, concrete, fresh
from dpest.reading.refusals import SAMPLING
from dpest.reading.replay import leaf_agrees
from dpest.reading.rewrites.readings import FarNoiseError, Plan
from dpest.reading.tracing.forking import Explored, Names
from dpest.reading.tracing.generator import SymbolicGenerator
from dpest.reading.tracing.patches import Overlay, patched
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth
from dpest.running.places import innermost, shown
from dpest.running.skeleton import flatten, raised_output

_BORDER = 1e-9
_MOST_BITS = 16  # truth values that a point of a path is made to differ in


def check_path(
    target: Mechanism,
    x: Any,
    found: Explored,
    names: Names,
    overlay: Overlay,
    assumed: Sequence[Condition] = (),
    *,
    points: int = 1,
) -> None:
    """Run the untouched function at points of the path; it must do there what the path says.

    One point is the path's own; the others differ from it in every noise that can differ, and, as
    far as they can, in every truth value that the path releases without having decided it.
    """
    if any(names.supports.integral(s) and v.denominator != 1 for s, v in found.point.items()):
        return  # only a point of the real relaxation is known
    for turn in range(points):
        point = dict(found.point) if not turn else _elsewhere(found, names, assumed, turn)
        _check_point(target, x, found, overlay, _PointOfNoise(names, point, turn))


def _elsewhere(found: Explored, names: Names, assumed: Sequence[Condition], turn: int) -> Point:
    """Another point of the path."""
    supports = names.supports
    tight = [supports.tightened(c) for c in found.conditions]
    point = dict(found.point)
    bits = {
        s
        for leaf in (() if found.raised else found.outcome[1])
        if isinstance(leaf, Form)
        for s in leaf.symbols("indicator")
    }
    region = Region(supports, [*assumed, *tight], point)
    for symbol in sorted(bits)[:_MOST_BITS]:
        # All true, all false, and mixed.
        wanted = turn == 1 if turn < 3 else bool(digest(symbol, turn) % 2)
        truth = names.indicators[symbol]
        for condition in _conditions(truth if wanted else truth.negated()):
            met = region.meet((condition,))
            if met is not None:
                region.add((supports.tightened(condition),), met)
    point = dict(region.point)
    if any(supports.integral(s) and v.denominator != 1 for s, v in point.items()):
        point = dict(found.point)
    bounds = supports.conditions(s for s in point if s.kind == "noise")
    for width in (4, 1, Fraction(1, 8)):
        moved = {s: v + _step(s, turn, width, names) for s, v in point.items()}
        if all(c.holds(moved) for c in (*region.conditions, *bounds)):
            return moved
    return point


def _step(symbol: Symbol, turn: int, width: int | Fraction, names: Names) -> Fraction:
    if symbol.kind != "noise":
        return Fraction(0)
    step = Fraction(digest(symbol, turn) % 997 - 498, 498) * width
    return Fraction(round(step)) if names.supports.integral(symbol) else step


def _conditions(truth: TracedTruth) -> Iterator[Condition]:
    if truth.condition is not None:
        yield truth.condition
    for part in truth.parts if truth.conjunction else truth.parts[:1]:
        yield from _conditions(part)


class _PointOfNoise:
    """Numbers for all symbols: those that a path has none for are taken from their supports."""

    def __init__(self, names: Names, values: Point, turn: int) -> None:
        self.names = names
        self.values = values
        self.turn = turn

    def anywhere(self, symbol: Symbol) -> Fraction:
        return self.names.supports.anywhere(symbol, self.turn)

    def of(self, form: Form) -> float:
        values = self.values
        for symbol in form.terms:
            if symbol not in values and symbol.kind != "indicator":
                values[symbol] = self.anywhere(symbol)
            elif symbol.kind == "indicator":
                truth = self.names.indicators[symbol].at(values, self.anywhere)
                values[symbol] = Form.number(truth).constant
        return float(form.at(values))

    def number(self, leaf: Any) -> Any:
        return self.of(leaf.form) if isinstance(leaf, TracedReal) else leaf

    def near_a_border(self, conditions: Sequence[Condition]) -> bool:
        return any(
            abs(c.form.at(self.values)) < _BORDER
            for c in conditions
            if c.form.terms.keys() <= self.values.keys()
        )


def _check_point(
    target: Mechanism, x: Any, found: Explored, overlay: Overlay, point: _PointOfNoise
) -> None:
    names = point.names
    if names.plan and point.near_a_border(found.conditions):
        return  # a draw that is made from the noise may fall on the other side
    generator = _at_point(point.values, names.drawn, point.anywhere, found.choices, names.plan)
    changed = target
    if any(isinstance(v, (TracedReal, Symbol, Form)) for v in target.params.values()):
        numbers = {k: point.number(as_value(v)) for k, v in target.params.items()}
        changed = target.with_params(numbers)
    try:
        with patched(overlay):
            given = concrete(fresh(x, lenient=False), point.number)
            output: Any = caller(changed)(given, generator)
    except FarNoiseError:
        return
    except Exception as error:
        if found.raised and raised_output(error) == raised_output(found.outcome):
            if not found.conditions and not found.choices:
                _check_always_raises(changed, x, point.number, found.outcome)
            return
        if found.raised:
            _not_the_users(found.outcome)
        raise ReplayError(
            f"the function raised {type(error).__name__} ({error}) on noise where the trace "
            "returned an output",
            "it must treat numbers alike, whatever their type",
            place_of(target.function),
        ) from error
    if found.raised:
        _not_the_users(found.outcome)
    _check_output(target, found, output, point)


def _check_output(target: Mechanism, found: Explored, output: Any, point: _PointOfNoise) -> None:
    """The output of the untouched function must be what its path says."""
    _, expected = found.outcome
    _, actual = flatten(output)
    same = len(expected) == len(actual) and all(
        leaf_agrees(point.of(e) if isinstance(e, Form) else e, a)
        for e, a in zip(expected, actual, strict=True)
    )
    if not same:
        raise ReplayError(
            f"run with numbers for its noise, the function returned {output!r}, which is not what "
            "its trace says",
            "it must treat numbers alike, whatever their type, and depend on nothing but its "
            "input, its parameters and `rng`",
            place_of(target.function),
        )


def _check_always_raises(
    target: Mechanism, x: Any, number: Callable[[Any], Any], error: BaseException
) -> None:
    """What raises whatever the noise must raise with NumPy's own generator, too."""
    try:
        caller(target)(concrete(fresh(x, lenient=False), number), np.random.default_rng(0))
    except Exception as actual:
        if type(actual) is type(error):
            return
    _not_the_users(error)


def _not_the_users(error: BaseException) -> NoReturn:
    """An exception that only symbolic values cause: not an output, but an untraceable line."""
    raise UntraceableError(
        f"a noisy value can't be used here ({type(error).__name__}: {error})",
        f"write it with NumPy arithmetic, comparisons, sums, max, argmax or where; {SAMPLING}",
        shown(innermost(error.__traceback__)),
    ) from error


class PlannedRun(FixedRun):
    """Answers draws that a plan reads in another way."""

    def __init__(self, value: Any, outcome: Any, plan: Plan | None, eps: Any = None) -> None:
        super().__init__(value, outcome)
        self.plan = plan
        self.eps = eps


def _at_point(
    point: Mapping[Symbol, Fraction],
    symbol_of: Callable[[int, Noise], Symbol],
    inside: Callable[[Symbol], Fraction],
    choices: Sequence[Any],
    plan: Plan | None = None,
) -> SymbolicGenerator:
    """A generator that gives each noise its value at `point`, and takes the given choices."""

    def value(index: int, noise: Noise) -> Any:
        symbol = symbol_of(index, noise)
        found = point[symbol] if symbol in point else inside(symbol)
        return int(found) if noise.discrete else float(found)

    def outcome(index: int, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        # A draw with a single outcome is not a choice; the others come in order.
        return choices[index].outcome

    return SymbolicGenerator(PlannedRun(value, outcome, plan))
