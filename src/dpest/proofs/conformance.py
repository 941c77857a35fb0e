"""The untouched function against the model, on random inputs and noises, before a proof is issued.

A symbolic run can be fooled: by hidden state, by code that looks at types. Here the function
itself runs on plain numbers; the model must take exactly one way and release the same.
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import Mechanism, in_order
from dpest.errors import RefusedError, ReplayError, UntraceableError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator
from dpest.reading.domains.unit import Complement, Root, Unit, UnitExponential
from dpest.reading.fixed import FixedRun
from dpest.reading.loop_graph import END, Graph, LoopEdge
from dpest.reading.merged_states import MergedEdge, MergedModel
from dpest.reading.world import ELEMENT, Coin, World
from dpest.running.landmarks import places
from dpest.running.places import code_of
from dpest.running.skeleton import flatten, is_other_zero

_TRIALS = 24
_LENGTHS = (1, 2, 3, 5)
# Lengths that the numbers of the code suggest: the longest, and how many.
_FAR, _MOST_FAR = 100, 6
_MOST_MARKS = 48


def call(mechanism: Mechanism, x: Any, rng: Any) -> Any:
    """The untouched function; what a generator function yields, as a list."""
    result = in_order(mechanism.function)(x, rng=rng, **mechanism.params)
    return list(result) if inspect.isgenerator(result) else result


def place_of(function: Callable[..., Any]) -> str | None:
    code = code_of(function)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


@dataclass
class Draws:
    """What the function drew, in order: the distribution and the value."""

    source: random.Random
    values: list[Fraction] = field(default_factory=list)
    noises: list[Noise] = field(default_factory=list)
    made: bool = False
    """Whether the model has noise that the function makes of what it draws."""

    def generator(self) -> Any:
        return AnsweringGenerator(FixedRun(self._draw, self._choose))

    def _draw(self, _: int, noise: Noise) -> Any:
        # No ties, which the last bit of a value that is made of it would decide.
        value = _random_value(noise, self.source, steps=1 << (44 if self.made else 10))
        self.values.append(value)
        self.noises.append(noise)
        return int(value) if noise.discrete else float(value)

    def _choose(self, _: int, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        place = self.source.randrange(len(outcomes))
        self.values.append(Fraction(place))
        self.noises.append(noise)
        return outcomes[place][0]


def _random_value(
    noise: Noise, source: random.Random, reach: float = 20.0, steps: int = 1 << 10
) -> Fraction:
    """A short binary fraction, exact as a double, so that the function's arithmetic is too."""
    low, high = noise.support
    if noise.discrete:
        first = int(low) if math.isfinite(low) else -6
        last = int(high) if math.isfinite(high) else first + 12
        return Fraction(source.randint(first, min(last, first + 40)))
    least = low if math.isfinite(low) else -reach
    most = high if math.isfinite(high) else least + 2 * reach
    return Fraction(least) + Fraction(source.randrange(1, steps), steps) * Fraction(most - least)


def random_input(
    length: int,
    source: random.Random,
    integers: bool,
    ranges: Sequence[tuple[Any, Any]] = ((-math.inf, math.inf),),
) -> list[Any]:
    """Random numbers, in turn within each of the ranges: short binary fractions."""
    found: list[Any] = []
    for i in range(length):
        low, high = ranges[i % len(ranges)]
        # Near the end of a range that has one, where a case may begin.
        least = low if math.isfinite(low) else (-6 if integers else -10) + min(high, 0)
        most = high if math.isfinite(high) else (6 if integers else 10) + max(low, 0)
        if integers:
            found.append(source.randint(math.ceil(least), math.floor(most)))
        else:
            place = Fraction(source.randrange(0, 321), 320)
            value = Fraction(least) + place * (Fraction(most) - Fraction(least))
            found.append(min(max(round(value * 16) / 16, float(least)), float(most)))
    return found


def special_inputs(
    lengths: Sequence[int],
    marks: Sequence[float],
    source: random.Random,
    integers: bool,
    ranges: Sequence[tuple[Any, Any]] = ((-math.inf, math.inf),),
) -> Iterator[list[Any]]:
    """Inputs whose entries all lie in one case of the code, and those with one such entry alone.

    Random numbers hardly ever fall between 0.61 and 0.611; a filter that leaves nothing, or one
    entry that changes what an array is, shows at such places only.
    """
    for place, (low, high) in enumerate(ranges):
        found = places(marks, low, high)
        if integers:
            found = sorted({float(round(v)) for v in found if low <= round(v) <= high})
        for mark in found[:_MOST_MARKS]:
            value = int(mark) if integers else mark
            for length in lengths:
                for special in (range(length), range(length - 1, length)):
                    x = random_input(length * len(ranges), source, integers, ranges)
                    for i in special:
                        x[i * len(ranges) + place] = value
                    yield x


def check_model(
    function: Callable[[Any, Any], Any],
    model: MergedModel,
    inputs: Sequence[Symbol],
    *,
    integers: bool,
    where: Any,
    marks: Sequence[float] = (),
    ranges: Sequence[tuple[Any, Any]] = ((-math.inf, math.inf),),
) -> None:
    """Each run of the function must follow the model of its length to the same release.

    `marks` are the numbers of the code.
    """
    source = random.Random(20)
    leaving: dict[int, list[tuple[int, MergedEdge]]] = {}
    for node in model.nodes:
        for edge in node.incoming:
            leaving.setdefault(edge.source, []).append((node.index, edge))
    leaves = {node.index: node for node in model.leaves}
    usual = (random_input(len(inputs), source, integers) for _ in range(_TRIALS))
    size = len(inputs) // len(ranges)
    for x in itertools.chain(usual, special_inputs((size,), marks, source, integers, ranges)):
        eps = model.world.eps
        draws = Draws(source, made=bool(model.made))
        output = run_on(function, x, draws.generator(), where)
        data = dict(zip(inputs, map(Fraction, x), strict=True))
        values = with_derived(data, model.world)
        rest = list(draws.values)
        at = 0
        while at not in leaves:
            ways = []
            for target, edge in leaving.get(at, []):
                drawn = edge.draws if edge.order is None else edge.order
                if len(drawn) <= len(rest):
                    with_draws = {**values, **dict(zip(drawn, rest, strict=False))}
                    model.made.fill(with_draws, edge.draws, eps)
                    if _holds(edge.conditions, with_draws):
                        ways.append((target, edge, with_draws))
            if len(ways) != 1:
                raise mismatch(where, f"{len(ways)} ways of the model fit a run on {x}")
            at, edge, values = ways[0]
            rest = rest[len(edge.draws if edge.order is None else edge.order) :]
        if rest:
            raise mismatch(where, f"the function drew {len(rest)} more noises than the model")
        release = leaves[at].release
        assert release is not None
        _compare(release[1], values, output, where)


def run_on(function: Callable[[Any, Any], Any], x: list[Any], rng: Any, where: Any) -> Any:
    """The function's output; UntraceableError where it has none."""
    try:
        return function(list(x), rng)
    except Exception as error:
        raise UntraceableError(
            f"the function raises {type(error).__name__} ({error}) on the input {x}",
            "Its input must be a vector of numbers, and it must return on every one",
            where,
        ) from error


def _holds(conditions: Sequence[Condition], values: Mapping[Symbol, Fraction]) -> bool:
    return all(c.holds(values) for c in conditions)


def with_derived(values: dict[Symbol, Fraction], world: World) -> dict[Symbol, Fraction]:
    if world.cases is not None:
        values.update(world.cases.at(values))
    for symbol, rule in world.derived.items():
        if rule.kind == "clip":
            found = rule.of.at(values)
            found = found if rule.low is None else max(found, rule.low)
            values[symbol] = found if rule.high is None else min(found, rule.high)
        else:
            values[symbol] = Fraction(int(_true(rule.truth, values)))
    return values


def _true(truth: Any, values: Mapping[Symbol, Fraction]) -> bool:
    if truth.condition is not None:
        return bool(truth.condition.holds(values))
    parts = [_true(p, values) for p in truth.parts]
    return all(parts) if truth.conjunction else any(parts)


def _compare(
    leaves: Sequence[Any], values: Mapping[Symbol, Fraction], output: Any, where: Any
) -> None:
    _, actual = flatten(output)
    expected = [float(v.at(values)) if isinstance(v, Form) else v for v in leaves]
    known = [float(v.constant) if isinstance(v, Form) and not v.terms else v for v in leaves]
    if (
        len(expected) != len(actual)
        or not all(map(_same, expected, actual))
        or any(map(is_other_zero, known, actual))
    ):
        raise mismatch(where, f"it released {output!r}, the model {expected!r}")


def _same(expected: Any, actual: Any) -> bool:
    plain = actual.item() if hasattr(actual, "item") else actual
    numbers = (int, float)
    if isinstance(expected, numbers) and isinstance(plain, numbers):
        return math.isclose(float(expected), float(plain), rel_tol=1e-9, abs_tol=1e-9)
    return bool(expected == plain)


def mismatch(where: Any, what: str) -> ReplayError:
    return ReplayError(
        f"the function is not what its symbolic run says: {what}",
        "A mechanism must depend on its input, its parameters and `rng` alone, and treat numbers "
        "alike whatever their type",
        where,
    )


def _past(marks: Sequence[float]) -> list[int]:
    """Lengths just past the whole numbers of the code: something may change there."""
    whole = {int(m) for m in marks if 2 <= m <= _FAR and m == int(m)}
    return [m + 2 for m in sorted(whole)[:_MOST_FAR]]


def check_graph(
    function: Callable[[Any, Any], Any],
    graph: Graph,
    *,
    integers: bool,
    where: Any,
    entry: Sequence[Symbol] = (ELEMENT,),
    lengths: Sequence[int] = _LENGTHS,
    ranges: Sequence[tuple[Any, Any]] = ((-math.inf, math.inf),),
    marks: Sequence[float] = (),
) -> None:
    """The same for a graph of every length: runs of several lengths must follow it."""
    source = random.Random(21)
    wanted = []
    for trial in range(_TRIALS):
        length = lengths[trial % len(lengths)]
        if graph.table is not None:
            length = min(length, len(graph.table))
        if not graph.gaps or length >= 2:
            wanted.append(length)
    if graph.table is None and lengths == _LENGTHS:  # else it is a graph of one length
        wanted += _past(marks)
    entries = [ranges[i % len(ranges)] for i in range(len(entry))]
    usual = (random_input(n * len(entry), source, integers, ranges) for n in wanted)
    short = sorted(set(wanted))[:2]
    for x in itertools.chain(usual, special_inputs(short, marks, source, integers, entries)):
        draws = Draws(source, made=bool(graph.made))
        output = run_on(function, x, draws.generator(), where)
        _Walk(graph, x, entry, draws, where).run(output)


class _Walk:
    def __init__(
        self,
        graph: Graph,
        x: Sequence[Any],
        entry: Sequence[Symbol],
        drawn: Draws,
        where: Any,
    ) -> None:
        self.graph = graph
        values, size = [Fraction(v) for v in x], len(entry)
        self.x = [
            dict(zip(entry, values[i : i + size], strict=True)) for i in range(0, len(x), size)
        ]
        self.rest, self.noises = list(drawn.values), drawn.noises
        self.where = where
        self.vectors: dict[Symbol, list[Fraction]] = {}
        self.slots: dict[Symbol, Fraction] = {}
        self.fixed: dict[Symbol, Fraction] = {}
        cases = graph.world.cases
        for t, statistic in {} if cases is None else cases.statistics.items():
            self.fixed[cases.slots[t]] = statistic.at([cases.at(record)[t] for record in self.x])
        self.read = 0
        self.released: list[Any] = []

    def run(self, output: Any) -> None:
        node = 0
        while node != END:
            edges = [e for e in self.graph.edges if e.source == node]
            if any(e.reads for e in edges):
                edges = [e for e in edges if e.reads == (self.read < len(self.x))]
            fits = [found for e in edges if (found := self._try(e)) is not None]
            if len(fits) != 1:
                raise mismatch(self.where, f"{len(fits)} ways of the model fit a run on {self.x}")
            node = self._take(*fits[0])
        if self.rest:
            raise mismatch(
                self.where, f"the function drew {len(self.rest)} more noises than the model"
            )
        self._compare(output)

    def _try(self, edge: LoopEdge) -> tuple[LoopEdge, dict[Symbol, Fraction], int] | None:
        values = {**self.slots, **{s: v for s, v in self.fixed.items() if s in self.slots}}
        if edge.reads:
            values = with_derived({**values, **self.x[self.read]}, self.graph.world)
        at = 0
        for symbol, is_vector in edge.order:
            count = len(self.x) if is_vector else 1
            if at + count > len(self.rest) or not self._drawn_alike(symbol, at, count):
                return None
            if not is_vector:
                power = self.graph.world.sized.get(symbol, 0)
                values[symbol] = self.rest[at] / Fraction(len(self.x)) ** power
            at += count
        made = self.graph.made
        for symbol in {s for made_ in edge.draws for s in made.roots.get(made_, (made_,))}:
            if symbol in self.vectors and len(self.vectors[symbol]) > self.read:
                values[symbol] = self.vectors[symbol][self.read]
        made.fill(values, edge.draws, self.graph.world.eps)
        if not _holds([c for b in edge.blocks for c in b], values):
            return None
        return edge, values, at

    def _drawn_alike(self, symbol: Symbol, at: int, count: int) -> bool:
        """Whether the next draws are of the family, and with the parameters, of the model's."""
        first = len(self.noises) - len(self.rest) + at
        model, eps = self.graph.made.drawn.get(symbol), self.graph.world.eps
        model = self.graph.noises[symbol] if model is None else model
        factor = float(len(self.x)) ** self.graph.world.sized.get(symbol, 0)
        return all(same_noise(model, n, eps, factor) for n in self.noises[first : first + count])

    def _take(self, edge: LoopEdge, values: dict[Symbol, Fraction], used: int) -> int:
        at = 0
        for symbol, is_vector in edge.order:
            count = len(self.x) if is_vector else 1
            if is_vector:
                self.vectors[symbol] = self.rest[at : at + count]
            at += count
        self.rest = self.rest[used:]
        if self.graph.recognised and edge.reads:
            for symbol in edge.draws:
                self.vectors.setdefault(symbol, []).append(values[symbol])
        for place, value in enumerate(edge.released):
            if isinstance(value, Form):
                scale = Fraction(len(self.x)) ** edge.sized.get(place, 0)
                self.released.append(float(value.at(values) * scale))
            elif isinstance(value, str) and value == "position":
                self.released.append("position")
            else:
                self.released.append(value)
        known = values.keys()
        if any(f.terms.keys() - known for f in edge.updates.values()):
            raise RefusedError(
                "a truth about noise is kept as a number from one entry to the next: a run can't "
                "be held against the model. Give a length instead of ANY"
            )
        self.slots = {s: f.at(values) for s, f in edge.updates.items()}
        self.read += edge.reads
        return edge.target

    def _compare(self, output: Any) -> None:
        _, actual = flatten(output)
        expected = self.released
        if self.graph.selections or self.graph.gaps:
            least = any(s.least for s in self.graph.selections)
            found = [s.form for s in self.graph.selections] + self.graph.gaps
            values = []
            for i, datum in enumerate(self.x):
                here = {s: v[i] for s, v in self.vectors.items()}
                self.graph.made.fill(here, self.graph.made.roots, self.graph.world.eps)
                here = with_derived({**here, **datum}, self.graph.world)
                form = found[0]
                shared = {s: Fraction(0) for s in form.terms if s not in here}
                values.append(form.at({**shared, **here}))
            ordered = sorted(values, reverse=not least)
            if self.graph.selections:
                winner, table = values.index(ordered[0]), self.graph.table
                expected = [winner if table is None else table[winner], *expected]
            if self.graph.gaps:
                expected = [*expected, float(ordered[0] - ordered[1])]
        if self.graph.prefix_sums:
            total = 0.0
            sums = []
            for value in expected:
                total += value
                sums.append(total)
            expected = sums
        left = list(expected)
        for value in actual:
            place = next(
                (
                    i
                    for i, e in enumerate(left)
                    if (isinstance(e, str) and e == "position") or _same(e, value)
                ),
                None,
            )
            if place is None:
                raise mismatch(self.where, f"it released {output!r}, the model {expected!r}")
            left.pop(place)
        if left and self.graph.faithful:
            raise mismatch(self.where, f"it released {output!r}, the model {expected!r}")


def same_noise(model: Noise, drawn: Noise, eps: Any, factor: float = 1.0) -> bool:
    """Whether a draw of a run is one of the model's, whose scales may be multiples of eps.

    `factor`: what the function multiplies the scale by, and the model the noise.
    """
    if isinstance(model, Coin):
        chances = [[p for _, p in n.outcomes or ()] for n in (model.noise, drawn)]
        return len(chances[0]) == len(chances[1]) and all(map(_same, *chances))
    if type(model) is not type(drawn):
        return False
    for part in fields(model):
        expected, actual = getattr(model, part.name), getattr(drawn, part.name)
        if isinstance(expected, Unit):
            expected = expected.at(eps)
        elif isinstance(expected, Root) and isinstance(expected.square, Unit):
            expected = math.sqrt(expected.square.at(eps))
        elif isinstance(expected, Complement):
            expected = -math.expm1(expected.exponent.at(eps))
        elif isinstance(expected, UnitExponential):
            expected = math.exp(expected.exponent.at(eps))
        if not _same(float(expected) * factor, float(actual)):
            return False
    return True


__all__ = ["Coin", "check_graph", "check_model"]
