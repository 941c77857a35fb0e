"""A model held against runs of the untouched function.

The function is run with numbers for its noise: at a point of each of some paths, at other points
of them, and with random draws. It must draw what the model says (the same families with the same
parameters, in the same order), exactly one path must fit, and what it returns must be what that
path says, types included.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dpest.ask.declaration import Mechanism, in_order, parameters_of
from dpest.errors import ReplayError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.geometry.regions import digest
from dpest.noise import Uniform
from dpest.noise.family import Noise
from dpest.reading.calls import concrete, fresh, place_of
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.signals import Refused
from dpest.reading.model import Edge, Model, Release
from dpest.reading.rewrites.laws.protocol import drawn_in, evaluated
from dpest.reading.scripted import DrawScript, ScriptStage, StandIns
from dpest.running.skeleton import (
    Leaf,
    Nest,
    Skeleton,
    consumed,
    flatten,
    is_other_zero,
    raised_output,
)

_End = TypeVar("_End")
_GENERATOR = np.random.default_rng  # np.random is replaced while the function runs
_PATHS = 8  # paths whose own points are run
_POINTS = 3
_MANY = 200  # conditions of a path that is looked at in one point only
_RANDOM_RUNS = 6
_RUNS_OF_MADE_NOISE = 40  # random runs alone, where noise is made of draws
_MOST_CHECKS = 40_000  # conditions looked at to see that one path alone fits
_BORDER = 1e-9
_ADVICE = (
    "it must depend on nothing but its input, its parameters and its draws: look for global "
    "variables, caches, files, clocks and what tells types apart"
)


class Replay:
    """The checks of one model at one input (with numbers for symbols)."""

    points = _POINTS  # of each path that is looked at

    def __init__(
        self,
        machine: Machine,
        model: Model,
        target: Mechanism,
        x: Any,
        assumed: Sequence[Condition],
    ) -> None:
        self.machine = machine
        self.model = model
        self.target = target
        self.x = x
        self.assumed = assumed
        self.stage = ScriptStage()
        self.rng: Any = None
        self.rng_parameter = parameters_of(target.function).get("rng")
        self._points_found: dict[frozenset[Condition], dict[Symbol, Fraction] | None] = {}
        self._floats: dict[int, tuple[Form, float, list[tuple[Symbol, float]]]] = {}
        self.checks = sum(len(e.conditions) + 1 for e in model.edges)

    def check(self) -> None:
        """Raises ReplayError where a run and the model differ."""
        found = StandIns(self.stage, self.target.function, self.machine.namespaces)
        with found.in_place() as self.rng:
            for edge in _few_long_ones(self.chosen()):
                for turn, point in enumerate(self._points(edge)):
                    self._run(point, edge, turn)
            # Data that are assumed to be so and so are so in every run.
            given = (self._inside(self.assumed) or {}) if self.assumed else {}
            for seed in range(_RUNS_OF_MADE_NOISE if self.model.made else _RANDOM_RUNS):
                self._run(given, None, seed)

    def chosen(self) -> list[Edge]:
        """The paths at whose points the function is run: some from first to last, and errors."""
        return spread(self.model.edges, lambda edge: edge.release)

    # Points

    def _points(self, edge: Edge) -> Iterator[dict[Symbol, Fraction]]:
        """Points of a path: one inside of it, and others nearby."""
        supports = self.machine.supports
        tight = [supports.tightened(c) for c in (*self.assumed, *edge.conditions)]
        bounds = supports.conditions({s for c in tight for s in c.form.terms})
        point = self._inside([*tight, *bounds])
        if point is None or any(s in self.model.made for s in point):
            return  # which draws make noise of a given value is not known
        for turn in range(self.points if len(tight) < _MANY else 1):
            found = point
            for width in (4, 1, Fraction(1, 8)) if turn else ():
                moved = {s: v + self._step(s, turn, width) for s, v in point.items()}
                if all(c.holds(moved) for c in (*tight, *bounds)):
                    found = moved
                    break
            whole = all(v.denominator == 1 for s, v in found.items() if supports.integral(s))
            if whole and not self._is_improbable(found):
                yield found

    def _is_improbable(self, point: Mapping[Symbol, Fraction]) -> bool:
        """Whether noises tie in a point where the model says that they don't."""
        return any(
            form.terms.keys() <= point.keys() and form.at(point) == 0
            for form in self.machine.null_forms
        )

    def _inside(self, conditions: Sequence[Condition]) -> dict[Symbol, Fraction] | None:
        """A point where all hold; those without a common symbol are looked at one by one."""
        point: dict[Symbol, Fraction] = {}
        for part in independent(conditions):
            key = frozenset(part)
            if key not in self._points_found:
                self._points_found[key] = feasible(part)
            found = self._points_found[key]
            if found is None:
                return None
            point |= found
        return point

    def _step(self, symbol: Symbol, turn: int, width: int | Fraction) -> Fraction:
        step = Fraction(digest(symbol, turn) % 997 - 498, 498) * width
        return Fraction(round(step)) if self.machine.supports.integral(symbol) else step

    # Runs

    def _run(self, point: Mapping[Symbol, Fraction], wanted: Edge | None, turn: int) -> None:
        values: dict[Symbol, Any] = {s: _number(v) for s, v in point.items()}
        script = self.script(values, wanted, turn)
        outcome = self._call(script, values, turn)
        self.compare(script, values, wanted, outcome)

    @staticmethod
    def generator(seed: int) -> np.random.Generator:
        return _GENERATOR(seed)

    def script(self, values: dict[Symbol, Any], wanted: Edge | None, turn: int) -> AtPoint:
        return AtPoint(self.machine, values, wanted, turn)

    def compare(
        self,
        script: AtPoint,
        values: dict[Symbol, Any],
        wanted: Edge | None,
        outcome: tuple[bool, Any],
    ) -> None:
        """Exactly one path fits the run, and it says what the function gave."""
        self._make(values)
        fitting = self._fitting(script, values, wanted)
        if len(fitting) != 1:
            if self._at_a_border(script, values, wanted):
                return
            raise self.mismatch(f"{len(fitting)} paths fit a run of the function")
        assert fitting[0].release is not None
        self.check_release(fitting[0].release, outcome, values)

    def check_release(
        self, release: Release, outcome: tuple[bool, Any], values: dict[Symbol, Any]
    ) -> None:
        """Raises where the function gave something else."""
        if not self._alike(release, outcome, values):
            if outcome[0] and release.raised and _same_type(release, outcome[1]):
                raise Refused("an exception whose text is not known")
            shown = outcome[1] if outcome[0] else repr(outcome[1])
            raise self.mismatch(f"a run of the function gave {shown}, which is not what was read")

    def _call(self, script: DrawScript, values: dict[Symbol, Any], turn: int) -> tuple[bool, Any]:
        """Whether the function raised, and what it gave."""

        def number(form: Form) -> Any:
            for symbol in form.terms:
                if symbol not in values:
                    values[symbol] = self._datum(symbol, turn)
            only = next(iter(form.terms), None)
            if only is not None and form == Form.of(only):
                return values[only]  # as an int or a float, as it is
            return _value(form, values)

        x = concrete(fresh(self.x), number)
        params = {k: concrete(v, number) for k, v in self.target.params.items()}
        self.stage.script = script
        try:
            return False, consumed(self._called(x, params))
        except ReplayError:
            raise
        except (Exception, SystemExit) as error:
            return True, raised_output(error)

    def _datum(self, symbol: Symbol, turn: int) -> Any:
        """A number for a datum: near or far, a constant of the code, an int or a float."""
        pool: list[Any] = [*self.machine.constants, 0.0, 1, -1.0, 1e7, -1e7, 12345, 0.5]
        if symbol.kind != "input" or self.assumed or not turn:
            return float(self.machine.supports.anywhere(symbol, turn))
        found = pool[digest(symbol, turn) % len(pool)]
        beside = (0, 0, 1, -1, Fraction(1, 3))[digest(symbol, turn + 7) % 5]
        moved = found + (float(beside) if isinstance(found, float) else int(beside))
        return moved

    def _called(self, x: Any, params: dict[str, Any]) -> Any:
        function, found = in_order(self.target.function), self.rng_parameter
        if found is None:
            return function(x, **params)
        if found.kind is inspect.Parameter.POSITIONAL_ONLY:
            return function(x, self.rng, **params)
        return function(x, rng=self.rng, **params)

    def _make(self, values: dict[Symbol, Any]) -> None:
        """The values of noise that was made, from those of its draws."""
        for symbol, made in self.machine.made.items():
            if all(drawn.symbol in values for drawn in drawn_in(made.expression)):
                values[symbol] = made.value(float(evaluated(made.expression, values)))

    # Comparing

    def _fitting(
        self, script: AtPoint, values: dict[Symbol, Any], wanted: Edge | None
    ) -> list[Edge]:
        edges = self.model.edges
        if wanted is not None and self.checks > _MOST_CHECKS:
            edges = [wanted]
        return [e for e in edges if self._fits(e, script, values)]

    def _fits(self, edge: Edge, script: AtPoint, values: dict[Symbol, Any]) -> bool:
        if len(edge.draws) + len(edge.picks) != len(script.log):
            return False
        # Most paths fail at one of their first conditions.
        if not all(self.holds(c, values) for c in edge.conditions):
            return False
        return self._same_draws(edge, script)

    def _same_draws(self, edge: Edge, script: AtPoint) -> bool:
        picked = {p.site: p for p in edge.picks}
        draws = iter(edge.draws)
        for index, (noise, value) in enumerate(script.log):
            pick = picked.get(f"{noise.family}{index}")
            if pick is not None and pick.noise == noise:
                if pick.outcome != value:
                    return False
            else:
                draw = next(draws, None)
                if draw is None or draw.noise != noise:
                    return False
        return True

    def _value(self, form: Form, values: Mapping[Symbol, Any]) -> Any:
        """The number that a form of the model is; its coefficients are made floats once."""
        known = self._floats.get(id(form))
        if known is None:
            terms = [(s, float(c)) for s, c in form.terms.items()]
            known = self._floats[id(form)] = (form, float(form.constant), terms)
        _, total, terms = known
        for symbol, coefficient in terms:
            total += coefficient * values[symbol]
        return total

    def holds(self, condition: Condition, values: dict[Symbol, Any]) -> bool:
        try:
            found = self._value(condition.form, values)
        except KeyError:  # a noise that was not drawn
            return False
        if condition.relation == ">=":
            return bool(found >= 0)
        if condition.relation == ">":
            return bool(found > 0)
        return bool((found == 0) == (condition.relation == "=="))

    def _at_a_border(self, script: AtPoint, values: dict[Symbol, Any], wanted: Edge | None) -> bool:
        """Floating point may fall on the other side of a condition that is nearly tight."""
        for edge in [wanted] if wanted is not None else self.model.edges:
            if not self._same_draws(edge, script):
                continue
            for c in edge.conditions:
                if nearly_tight(c, values):
                    return True
        return False

    def _alike(
        self, release: Release, outcome: tuple[bool, Any], values: dict[Symbol, Any]
    ) -> bool:
        raised, output = outcome
        if release.raised or raised:
            return release.raised == raised and release.leaves == (output,)
        skeleton, leaves = flatten(output)
        if not same_shape(release.skeleton, skeleton) or len(leaves) != len(release.leaves):
            return False
        return all(
            leaf_agrees(self._leaf(leaf, values), found) and not is_other_zero(leaf, found)
            for leaf, found in zip(release.leaves, leaves, strict=True)
        )

    def _leaf(self, leaf: Any, values: dict[Symbol, Any]) -> Any:
        if not isinstance(leaf, Form):
            return leaf
        for symbol in leaf.symbols("indicator"):
            if symbol not in values:
                values[symbol] = int(self._truth(self.machine.definitions[symbol], values))
        return self._value(leaf, values)

    def _truth(self, truth: Truth, values: dict[Symbol, Any]) -> bool:
        if truth.condition is not None:
            for symbol in truth.condition.form.symbols("indicator"):
                if symbol not in values:
                    values[symbol] = int(self._truth(self.machine.definitions[symbol], values))
            return self.holds(truth.condition, values)
        answers = (self._truth(p, values) for p in truth.parts)
        return all(answers) if truth.conjunction else any(answers)

    def mismatch(self, what: str) -> ReplayError:
        return ReplayError(what, _ADVICE, place_of(self.target.function))


class AtPoint(DrawScript):
    """Draws the values of a point; what the point doesn't say is drawn at random."""

    def __init__(
        self, machine: Machine, values: dict[Symbol, Any], wanted: Edge | None, turn: int
    ) -> None:
        super().__init__()
        self.machine = machine
        self.values = values
        self.picks = None if wanted is None else {p.site: p.outcome for p in wanted.picks}
        self.random = _GENERATOR(turn)

    def symbol(self, index: int, noise: Noise) -> Symbol:
        return self.machine.symbol_of(index, noise)

    def as_read(self, index: int, noise: Noise) -> tuple[Noise, float]:
        """A uniform draw between data is read as one of its width, moved there."""
        read = self.candidates(index)
        if isinstance(noise, Uniform) and noise not in read:
            width = noise.high - noise.low
            for other in read:
                if not isinstance(other, Uniform) or other.low != 0:
                    continue
                rounding = 4 * math.ulp(max(abs(noise.low), abs(noise.high)))
                if math.isclose(other.high, width, rel_tol=1e-12, abs_tol=rounding):
                    return other, float(noise.low)
        return noise, 0.0

    def candidates(self, index: int) -> list[Noise]:
        """What may have been read in this place."""
        return self.machine.noises_at(index)

    def value(self, index: int, noise: Noise) -> Any:
        symbol = self.symbol(index, noise)
        if symbol not in self.values:
            drawn = noise.sample(self.random)
            self.values[symbol] = int(drawn) if noise.discrete else float(drawn)
        found = self.values[symbol]
        return int(found) if noise.discrete else float(found)

    def outcome(self, index: int, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        if self.picks is not None:
            site = f"{noise.family}{index}"
            if site in self.picks:
                return self.picks[site]
        chances = np.array([float(p) for _, p in outcomes])
        return outcomes[self.random.choice(len(outcomes), p=chances / chances.sum())][0]


def spread(ends: Sequence[_End], release: Callable[[_End], Release | None]) -> list[_End]:
    """Some from the first to the last, and some that raise."""
    step = max(1, len(ends) // _PATHS)
    found = {id(e): e for e in ends[::step][:_PATHS]}
    raising = [e for e in ends if (of := release(e)) is not None and of.raised]
    found |= {id(e): e for e in raising[:_PATHS]}
    return list(found.values())


def _few_long_ones(edges: Sequence[Edge]) -> list[Edge]:
    """Of paths with hundreds of conditions only some, the first and the last among them."""
    long = [e for e in edges if len(e.conditions) >= _MANY]
    left_out = {id(e) for n, e in enumerate(long[1:-1]) if n % 3}
    return [e for e in edges if id(e) not in left_out]


def independent(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """The conditions in groups that have no symbol in common."""
    group_of: dict[Symbol, int] = {}
    groups: list[list[Condition]] = []
    for condition in conditions:
        own = {group_of[s] for s in condition.form.terms if s in group_of}
        home = min(own, default=len(groups))
        if home == len(groups):
            groups.append([])
        for other in own - {home}:
            for moved in groups[other]:
                group_of.update(dict.fromkeys(moved.form.terms, home))
            groups[home] += groups[other]
            groups[other] = []
        groups[home].append(condition)
        group_of.update(dict.fromkeys(condition.form.terms, home))
    return [group for group in groups if group]


def nearly_tight(condition: Condition, values: Mapping[Symbol, Any]) -> bool:
    """Whether floating point may see a condition on its other side."""
    terms = condition.form.terms
    if not all(s in values for s in terms):
        return False
    size = max([1.0, *(abs(float(values[s])) for s in terms)])
    return abs(float(_value(condition.form, values))) < _BORDER * size


def _same_type(release: Release, text: str) -> bool:
    return str(release.leaves[0]).split(":")[0] == text.split(":")[0]


def _number(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else float(value)


def _value(form: Form, values: Mapping[Symbol, Any]) -> Any:
    total = float(form.constant)
    for symbol, coefficient in form.terms.items():
        total += float(coefficient) * values[symbol]
    return total


def same_shape(model: Skeleton, found: Skeleton) -> bool:
    """Equal structure and types; a symbolic real is a float, or a whole number that may vary."""
    if isinstance(model, Leaf) or isinstance(found, Leaf):
        if not (isinstance(model, Leaf) and isinstance(found, Leaf)):
            return False
        return model.kind == found.kind or (model.kind, found.kind) in (
            ("real", "float"),
            ("real", "int"),
        )
    return (
        isinstance(model, Nest)
        and model.container == found.container
        and model.keys == found.keys
        and model.label == found.label
        and len(model.parts) == len(found.parts)
        and all(same_shape(a, b) for a, b in zip(model.parts, found.parts, strict=True))
    )


def leaf_agrees(expected: Any, actual: Any) -> bool:
    """Whether a number or a word of an output is the one that a reading expects."""
    if isinstance(actual, np.generic):
        actual = actual.item()
    numbers = (int, float)
    if isinstance(expected, numbers) and isinstance(actual, numbers):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(expected, frozenset):
        return expected == frozenset(actual)
    return bool(expected == actual)
