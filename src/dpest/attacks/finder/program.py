"""A function as a smooth program: DP-Finder's own transformation (its Figure 8), statement by
statement.

An `if` becomes a weighted sum of what its branches leave behind, so that the cost grows with the
length of the program and not with the number of its paths. Numbers may be multiplied. For the true
probability of an event only those paths are listed that end in it: as soon as a branch has stored
an output that the event excludes, it is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.attacks.finder.smooth import (
    EventShape,
    LinearInput,
    NotSmoothError,
)
from dpest.attacks.finder.tape import DEFAULT_STEEPNESS, Floats, SmoothTape
from dpest.attacks.statdp.discrete import NUMBER
from dpest.errors import ReadingError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.kernel.forms import LinearInequality as Test
from dpest.kernel.judgments import assertions as program_forms
from dpest.kernel.judgments.assertions import All, Assertion, Some
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, While
from dpest.noise import Exponential, Gaussian, Laplace
from dpest.noise.family import Noise
from dpest.reading.paths import Path, Trace
from dpest.reading.programs.replaying import replayed
from dpest.reading.programs.translation import ProgramCode, translated
from dpest.reading.programs.values import BOOL, INT, NUMPY_BOOL, NUMPY_INT, Product
from dpest.running.skeleton import Leaf

_MOST_EVENT_PATHS = 512


class ProgramReading:
    """The program of a mechanism at one length, with a symbol for each of its draws."""

    def __init__(self, mechanism: Mechanism, length: int | None) -> None:
        try:
            self.code: ProgramCode = translated(mechanism, length, products=True)
            replayed(mechanism, self.code, length)
        except ReadingError as error:
            raise NotSmoothError(str(error)) from None
        if len(self.code.skeletons) > 1:
            raise NotSmoothError("outputs of several types or lengths")
        self.draws: dict[int, Symbol] = {}
        self.noises: dict[Symbol, Noise] = {}
        self._number_draws(self.code.program)
        self.values = [self._values().get(name) for name in self.code.outputs]

    def _number_draws(self, program: Sequence[Any]) -> None:
        for statement in program:
            if isinstance(statement, DrawStatement):
                if statement.noise.family == "bernoulli":
                    raise NotSmoothError("a coin in a program that is not traced")
                symbol = Symbol("noise", f"{statement.noise.family}{len(self.noises):04d}")
                self.draws[id(statement)] = symbol
                self.noises[symbol] = _noise(statement)
            elif isinstance(statement, If):
                self._number_draws(statement.then)
                self._number_draws(statement.other)
            elif isinstance(statement, While):
                raise NotSmoothError("a loop that is not unrolled")

    def _values(self) -> dict[str, frozenset[Fraction] | None]:
        """For each variable all values that it may have at the end, or None if they are many."""
        return _possible(self.code.program, {})

    @property
    def ways(self) -> float:
        """How many ways there are through the program, at most."""
        return _ways(self.code.program)

    def typed(self, place: int, value: float) -> Any:
        """An output of a finite set, as Python returns it."""
        kind = self.code.skeletons[0].types[place]
        if kind in (BOOL, NUMPY_BOOL):
            return bool(value)
        return int(value) if kind in (INT, NUMPY_INT) else float(value)

    def run(self, x: Floats, noise: Mapping[Symbol, float]) -> dict[str, float]:
        """One run, on given noise."""
        memory = dict(zip(self.code.inputs, map(float, x), strict=True))
        self._run(self.code.program, memory, noise)
        return memory

    def _run(
        self, program: Sequence[Any], memory: dict[str, float], noise: Mapping[Symbol, float]
    ) -> None:
        for statement in program:
            if isinstance(statement, Assign):
                memory[statement.name] = _at(statement.value, memory)
            elif isinstance(statement, Product):
                memory[statement.name] = _at(statement.left, memory) * _at(statement.right, memory)
            elif isinstance(statement, DrawStatement):
                drawn = noise[self.draws[id(statement)]]
                memory[statement.name] = _at(statement.centre, memory) + drawn
            else:
                chosen = _true(statement.test, memory)
                self._run(statement.then if chosen else statement.other, memory, noise)

    def pattern(self, memory: Mapping[str, float]) -> tuple[tuple[Any, ...], dict[int, float]]:
        """The discrete outputs of a run, and the real ones."""
        pattern: list[Any] = []
        numbers: dict[int, float] = {}
        for place, name in enumerate(self.code.outputs):
            if self.values[place] is None:
                pattern.append(NUMBER)
                numbers[place] = memory[name]
            else:
                pattern.append(self.typed(place, memory[name]))
        return tuple(pattern), numbers

    def event_trace(self, x: Sequence[float], event: Any) -> Trace:
        """The paths at an input that end in an event, as a trace that holds nothing else."""
        values: dict[str, Form] = {
            name: Form.number(float(v)) for name, v in zip(self.code.inputs, x, strict=True)
        }
        wanted = {
            name: Fraction(float(leaf))
            for name, leaf in zip(self.code.outputs, event.pattern, strict=True)
            if leaf is not NUMBER
        }
        paths = []
        for memory, conditions in self._ends(self.code.program, values, (), wanted):
            more = self._in_ranges(memory, event)
            if more is None:
                continue
            paths.append(Path((*conditions, *more), Leaf("bool"), (True,), ()))
            if len(paths) > _MOST_EVENT_PATHS:
                raise NotSmoothError("too many paths to one event")
        return Trace(tuple(paths), dict(self.noises), {}, inputs=list(x))

    def _in_ranges(self, memory: Mapping[str, Form], event: Any) -> list[Condition] | None:
        found: list[Condition] = []
        for place, name in enumerate(self.code.outputs):
            if event.pattern[place] is not NUMBER:
                continue
            wanted, form = event.range_of(place), memory[name]
            if wanted.low != -math.inf:
                low = form.minus(Form.number(wanted.low))
                found.append(Condition(low, ">=" if wanted.low_closed else ">"))
            if wanted.high != math.inf:
                high = Form.number(wanted.high).minus(form)
                found.append(Condition(high, ">=" if wanted.high_closed else ">"))
        known = [(c, c.decided()) for c in found]
        if any(answer is False for _, answer in known):
            return None
        return [c for c, answer in known if answer is None]

    def _ends(
        self,
        program: Sequence[Any],
        memory: dict[str, Form],
        conditions: tuple[Condition, ...],
        wanted: Mapping[str, Fraction],
    ) -> Iterator[tuple[dict[str, Form], tuple[Condition, ...]]]:
        """All ways to the end on which nothing final is stored that is not wanted."""
        memory = dict(memory)
        for place, statement in enumerate(program):
            if isinstance(statement, If):
                rest = program[place + 1 :]
                final = _final(rest, wanted)
                for branch, test in (
                    (statement.then, statement.test),
                    (statement.other, program_forms.negated(statement.test)),
                ):
                    for more in _alternatives(test, memory):
                        after = self._ends(branch, memory, (*conditions, *more), {})
                        for known, held in after:
                            if _excluded(known, final):
                                continue
                            yield from self._ends(rest, known, held, wanted)
                return
            if isinstance(statement, Assign):
                memory[statement.name] = _form(statement.value, memory)
            elif isinstance(statement, Product):
                memory[statement.name] = _product(statement, memory)
            else:
                noise = Form.of(self.draws[id(statement)])
                memory[statement.name] = _form(statement.centre, memory).plus(noise)
        if not _excluded(memory, dict(wanted)):
            yield memory, conditions


def _noise(draw: DrawStatement) -> Noise:
    size = draw.noise.size
    if draw.noise.family == "laplace":
        return Laplace(size)
    if draw.noise.family == "gaussian":
        return Gaussian(size)
    return Exponential(size)


def _possible(
    program: Sequence[Any], known: Mapping[str, frozenset[Fraction] | None]
) -> dict[str, frozenset[Fraction] | None]:
    now = dict(known)
    for statement in program:
        if isinstance(statement, If):
            one, two = _possible(statement.then, now), _possible(statement.other, now)
            for name in {*one, *two}:
                a, b = one.get(name, frozenset()), two.get(name, frozenset())
                now[name] = None if a is None or b is None else a | b
        elif isinstance(statement, Assign):
            form = statement.value
            if not form.terms:
                now[statement.name] = frozenset({form.constant})
            elif form.constant == 0 and list(form.terms.values()) == [1]:
                now[statement.name] = now.get(next(iter(form.terms)))
            else:
                now[statement.name] = None
        else:
            now[statement.name] = None
    return now


def _ways(program: Sequence[Any]) -> float:
    total = 1.0
    for statement in program:
        if isinstance(statement, If):
            total *= _ways(statement.then) + _ways(statement.other)
    return total


def _final(rest: Sequence[Any], wanted: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Variables that are an output in the end, whatever comes, and what they must be."""
    final = dict(wanted)
    for statement in reversed(rest):
        if isinstance(statement, Assign):
            value = final.pop(statement.name, None)
            terms = list(statement.value.terms.items())
            copied = statement.value.constant == 0 and len(terms) == 1 and terms[0][1] == 1
            if value is not None and copied:
                final[terms[0][0]] = value
        else:
            for name in _stored(statement):
                final.pop(name, None)
    return final


def _stored(statement: Any) -> set[str]:
    if isinstance(statement, If):
        inner = (*statement.then, *statement.other)
        return {name for part in inner for name in _stored(part)}
    return {statement.name}


def _excluded(memory: Mapping[str, Form], final: Mapping[str, Fraction]) -> bool:
    for name, value in final.items():
        form = memory.get(name)
        if form is not None and form.is_constant and form.constant != value:
            return True
    return False


def _form(linear: program_forms.LinearTerm, memory: Mapping[str, Form]) -> Form:
    total = Form.number(linear.constant)
    for name, factor in linear.terms.items():
        total = total.plus(memory[name], factor)
    return total


def _product(statement: Product, memory: Mapping[str, Form]) -> Form:
    left, right = _form(statement.left, memory), _form(statement.right, memory)
    if left.is_constant:
        return right.times(left.constant)
    if right.is_constant:
        return left.times(right.constant)
    raise NotSmoothError("a product of two noises has no linear form")


def _alternatives(test: Assertion, memory: Mapping[str, Form]) -> Iterator[tuple[Condition, ...]]:
    """Conjunctions of which exactly one holds where the test does."""
    if isinstance(test, Test):
        form = _form(program_forms.LinearTerm(test.constant, dict(test.terms)), memory)
        condition = Condition(form, ">" if test.strict else ">=")
        known = condition.decided()
        if known is None:
            yield (condition,)
        elif known:
            yield ()
        return
    if isinstance(test, All):
        found: list[tuple[Condition, ...]] = [()]
        for part in test.parts:
            found = [(*a, *b) for a in found for b in _alternatives(part, memory)]
        yield from found
        return
    # The first part, or not the first but the second, …: disjoint.
    for k, part in enumerate(test.parts):
        others = tuple(program_forms.negated(p) for p in test.parts[:k])
        yield from _alternatives(All((*others, part)), memory)


def _at(form: program_forms.LinearTerm, memory: Mapping[str, float]) -> float:
    return float(form.constant) + sum(float(c) * memory[k] for k, c in form.terms.items())


def _true(test: Assertion, memory: Mapping[str, float]) -> bool:
    if isinstance(test, All):
        return all(_true(part, memory) for part in test.parts)
    if isinstance(test, Some):
        return any(_true(part, memory) for part in test.parts)
    value = float(test.constant) + sum(float(c) * memory[k] for k, c in test.terms)
    return value > 0 or (value == 0 and not test.strict)


class ProgramCheck(SmoothTape):
    """P(output in the event) on one input, from a program in the place of paths."""

    def __init__(
        self,
        reading: ProgramReading,
        shape: EventShape,
        inputs: Mapping[Symbol, LinearInput],
        symbols: Sequence[Symbol],
        steepness: float = DEFAULT_STEEPNESS,
    ) -> None:
        size = len(next(iter(inputs.values())).coefficients) if inputs else 0
        super().__init__(len(symbols), size, steepness)
        self._reading = reading
        self._columns = {symbol: i for i, symbol in enumerate(symbols)}
        memory: dict[str, int] = {}
        for name, at in zip(reading.code.inputs, inputs.values(), strict=True):
            memory[name] = self._value_node(np.zeros(len(symbols)), at.coefficients, at.constant)
        root = self._check(reading.code.program, memory, shape)
        self._finish(root, self._needed(root))
        self._chances = self._own_noises(list(symbols))

    def _needed(self, root: int) -> list[int]:
        """The part of the tape that the event depends on, in order."""
        found, pending = set(), [root]
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            pending += self._inner(node)
        return sorted(found)

    def _inner(self, node: int) -> list[int]:
        kind, content = self._tape[node]
        if kind in ("linear", "value"):
            return [n for n, _ in content[1]]
        if kind == "product":
            return list(content)
        return [content[0]] if kind in ("above", "bump") else []

    def _own_noises(self, symbols: Sequence[Symbol]) -> dict[int, tuple[int, Noise, float]]:
        """Comparisons with a noise that occurs nowhere else: (its column, the noise, its factor).

        Given the other noises such a comparison is a chance, which the noise's distribution
        function gives exactly: smooth, and without any sampling of that noise.
        """
        users: dict[int, list[int]] = {}
        for node in self._live:
            for inner in self._inner(node):
                users.setdefault(inner, []).append(node)
        rows = {i: self._tape[i][1][0] for i in self._live if self._tape[i][0] == "value"}
        used = np.zeros(len(symbols), dtype=int)
        for row in rows.values():
            used += self._rows[row][0] != 0
        found = {}
        for node, row in rows.items():
            alone = [k for k in np.flatnonzero(self._rows[row][0]) if used[k] == 1]
            above = users.get(node, [])
            if not alone or len(above) != 1 or self._tape[above[0]][0] != "above":
                continue
            k = int(alone[0])
            noise = self._reading.noises[symbols[k]]
            found[above[0]] = (k, noise, float(self._rows[row][0][k]))
        return found

    def _constant(self, value: float) -> int:
        return self._node("constant", float(value))

    def _linear(self, form: program_forms.LinearTerm, memory: Mapping[str, int]) -> int:
        parts = [(memory[name], float(c)) for name, c in form.terms.items()]
        return self._sum(float(form.constant), parts)

    def _sum(self, constant: float, parts: Sequence[tuple[int, float]]) -> int:
        """Sums of rows are rows, constants are folded: the tape stays short."""
        rows = [(self._tape[n][1][0], c) for n, c in parts if self._tape[n][0] == "value"]
        rest = [(n, c) for n, c in parts if self._tape[n][0] not in ("value", "constant")]
        constant += sum(c * self._tape[n][1] for n, c in parts if self._tape[n][0] == "constant")
        if not rows and not rest:
            return self._constant(constant)
        if rows:
            key = ("rows", constant, tuple(sorted(rows)))
            if key not in self._known:
                noise = sum((c * self._rows[r][0] for r, c in rows), np.zeros(len(self._columns)))
                variables = sum(
                    (c * self._rows[r][1] for r, c in rows), np.zeros(self._variable_count)
                )
                total = constant + sum(c * self._rows[r][2] for r, c in rows)
                self._known[key] = self._value_node(noise, variables, total)
            row = self._known[key]
            if not rest:
                return row
            constant, rest = 0.0, [*rest, (row, 1.0)]
        if constant == 0.0 and len(rest) == 1 and rest[0][1] == 1.0:
            return rest[0][0]
        return self._node("linear", (constant, tuple(sorted(rest))))

    def _times(self, *nodes: int) -> int:
        values = [self._tape[n][1] for n in nodes if self._tape[n][0] == "constant"]
        factor = math.prod(values)
        rest = tuple(n for n in nodes if self._tape[n][0] != "constant")
        if factor == 0 or not rest:
            return self._constant(factor)
        node = rest[0] if len(rest) == 1 else self._node("product", tuple(sorted(rest)))
        return node if factor == 1 else self._sum(0.0, [(node, factor)])

    def _not(self, node: int) -> int:
        return self._sum(1.0, [(node, -1.0)])

    def _scale(self, node: int) -> float:
        kind, content = self._tape[node]
        if kind == "value":
            total = 0.0
            for symbol, column in self._columns.items():
                c = self._rows[content[0]][0][column]
                total += (c * self._reading.noises[symbol].width) ** 2 if c else 0.0
            return math.sqrt(total) if 0 < total < math.inf else 1.0
        inner = [n for n, _ in content[1]] if kind == "linear" else []
        inner = list(content) if kind == "product" else inner
        return max([self._scale(n) for n in inner], default=1.0)

    def _above(self, node: int, strict: bool) -> int:
        kind, content = self._tape[node]
        if kind == "constant":
            return self._constant(float(content > 0 or (content == 0 and not strict)))
        return self._node("above", (node, self._scale(node), strict))

    def _test(self, test: Assertion, memory: Mapping[str, int]) -> int:
        if isinstance(test, All):
            if len(test.parts) == 2 and _equation(test):
                part = test.parts[0]
                assert isinstance(part, Test)
                form = program_forms.LinearTerm(part.constant, dict(part.terms))
                return self._equal(self._linear(form, memory))
            return self._times(*(self._test(part, memory) for part in test.parts))
        if isinstance(test, Some):
            none = (self._not(self._test(part, memory)) for part in test.parts)
            return self._not(self._times(*none))
        form = program_forms.LinearTerm(test.constant, dict(test.terms))
        return self._above(self._linear(form, memory), test.strict)

    def _equal(self, node: int) -> int:
        kind, content = self._tape[node]
        if kind == "constant":
            return self._constant(float(abs(content) < 1e-12))
        return self._node("bump", (node, self._scale(node)))

    def _check(self, program: Sequence[Any], memory: dict[str, int], shape: EventShape) -> int:
        memory = dict(memory)
        for place, statement in enumerate(program):
            if isinstance(statement, If) and place == len(program) - 1:
                test = self._test(statement.test, memory)
                yes = self._check(statement.then, memory, shape)
                no = self._check(statement.other, memory, shape)
                return self._sum(
                    0.0, [(self._times(test, yes), 1.0), (self._times(self._not(test), no), 1.0)]
                )
            self._step(statement, memory)
        return self._event(memory, shape)

    def _step(self, statement: Any, memory: dict[str, int]) -> None:
        if isinstance(statement, Assign):
            memory[statement.name] = self._linear(statement.value, memory)
        elif isinstance(statement, Product):
            left, right = (self._linear(f, memory) for f in (statement.left, statement.right))
            memory[statement.name] = self._times(left, right)
        elif isinstance(statement, DrawStatement):
            noise = np.zeros(len(self._columns))
            noise[self._columns[self._reading.draws[id(statement)]]] = 1.0
            drawn = self._value_node(noise, np.zeros(self._variable_count), 0.0)
            centre = self._linear(statement.centre, memory)
            memory[statement.name] = self._sum(0.0, [(centre, 1.0), (drawn, 1.0)])
        else:
            self._branch(statement, memory)

    def _branch(self, statement: If, memory: dict[str, int]) -> None:
        """x := B·E₁ + (1 - B)·E₂ for every variable that the branches leave different."""
        test = self._test(statement.test, memory)
        one, two = dict(memory), dict(memory)
        for part in statement.then:
            self._step(part, one)
        for part in statement.other:
            self._step(part, two)
        for name in one.keys() & two.keys():
            if one[name] == two[name]:
                memory[name] = one[name]
                continue
            yes, no = self._times(test, one[name]), self._times(self._not(test), two[name])
            memory[name] = self._sum(0.0, [(yes, 1.0), (no, 1.0)])
        for name in memory.keys() - (one.keys() & two.keys()):
            memory.pop(name)

    def _event(self, memory: Mapping[str, int], shape: EventShape) -> int:
        factors = []
        for place, name in enumerate(self._reading.code.outputs):
            node, wanted = memory[name], shape.pattern[place]
            if wanted is NUMBER:
                low, high = shape.ends.get(place, (None, None))
                for end, sign in ((low, 1.0), (high, -1.0)):
                    if end is not None:
                        zero = np.zeros(len(self._columns))
                        at = self._value_node(zero, end.coefficients, end.constant)
                        gap = self._sum(0.0, [(node, sign), (at, -sign)])
                        factors.append(self._above(gap, sign < 0))
                continue
            factors.append(self._is(node, float(wanted), self._reading.values[place]))
        return self._times(*factors)

    def _is(self, node: int, wanted: float, values: frozenset[Fraction] | None) -> int:
        """That a discrete output has a value: one of two is a truth already."""
        kind, content = self._tape[node]
        if kind == "constant":
            return self._constant(float(content == wanted))
        if values is not None and len(values) == 2:
            (other,) = {float(v) for v in values} - {wanted}
            span = wanted - other
            return self._sum(-other / span, [(node, 1.0 / span)])
        return self._node("bump", (self._sum(-wanted, [(node, 1.0)]), 0.25))


def _equation(test: All) -> bool:
    one, two = test.parts
    if not isinstance(one, Test) or not isinstance(two, Test) or one.strict or two.strict:
        return False
    return one.constant == -two.constant and dict(one.terms) == {k: -v for k, v in two.terms}
