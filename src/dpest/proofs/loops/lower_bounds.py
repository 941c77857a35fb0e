"""Lower bounds from the same linear programs: the ray argument (see `proof.Lower`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.proofs.alignments.alignment import (
    AlignedNoise,
    Alignment,
    Cost,
    DualBound,
    Face,
    Problem,
    climb_shared,
    cost_at,
    dual_bound,
    starts,
)
from dpest.proofs.alignments.regions_of_release import ReleaseRegion, problem, release_text
from dpest.proofs.alignments.renaming import Costs
from dpest.proofs.loops.potentials import BudgetStep, Potential
from dpest.proofs.proof import Lower, Ray
from dpest.reading.loop_graph import END, Graph, LoopEdge
from dpest.reading.world import ELEMENT

_CLOSE = 1e-9
_LONGEST = 60
_MOST_SHARED = 32
_ALIKE = 2


def from_regions(
    regions: Sequence[ReleaseRegion],
    plan_alignments: Sequence[tuple[int, int, Alignment]],
    stuck: tuple[int, Face] | None,
    inputs: Sequence[Symbol],
    data: Mapping[Symbol, Any],
) -> Lower | None:
    """The greatest cost, over differences, of the cheapest region that gives the release."""
    if data:
        return None  # derived data don't range over all differences
    cost_of = Costs()
    together: dict[Any, list[int]] = {}
    for i, region in enumerate(regions):
        together.setdefault(region.seen, []).append(i)
    best: tuple[float, Mapping[Symbol, Fraction], list[int]] | None = None
    if stuck is not None and any(math.isinf(end) for ends in stuck[1].values() for end in ends):
        return None
    if stuck is not None:
        candidates: list[Any] = [(stuck[0], stuck[1], math.inf, [])]
    else:
        top = max((a.cost for _, _, a in plan_alignments), default=Fraction(0))
        ordered = sorted(plan_alignments, key=lambda e: (-e[2].cost, -len(e[2].face)))
        candidates = [(i, a.face, float(top), [a]) for i, _, a in ordered if a.cost]
    limit = max((c[2] for c in candidates), default=0.0)
    tried: Counter[Any] = Counter()  # releases that are alike up to names give the same
    for i, face, cost, aligned in candidates[:64]:
        if best is not None and (best[0] >= limit - _CLOSE or cost <= best[0] + _CLOSE):
            break
        group = together[regions[i].seen]
        problems = [regions[k].problem for k in group]
        alike = tuple(sorted(hash(cost_of.named(p, face).key) for p in problems))
        tried[alike] += 1
        if tried[alike] > _ALIKE:
            continue
        for start in starts(face, aligned, seed=i, tries=4 if len(group) > 1 else 1):
            value, point = climb_shared(problems, face, start, cost_of)
            if best is None or value > best[0] + _CLOSE:
                best = (value, point, group)
            if value >= limit - _CLOSE:
                break
    if best is None or best[0] <= 0:
        return None
    shown = release_text(regions[best[2][0]])
    return _lower([regions[k].problem for k in best[2]], best[1], inputs, shown, cost_of)


def from_samples(
    regions: Sequence[ReleaseRegion],
    groups: Sequence[Sequence[Face]],
    inputs: Sequence[Symbol],
    derived: Mapping[Symbol, Any],
    enough: float,
    tries: int = 40,
) -> Lower | None:
    """The best of some regions, chosen at random, at corners of the faces."""
    import random

    if derived:
        return None
    source = random.Random(3)
    together: dict[Any, list[int]] = {}
    for i, region in enumerate(regions):
        together.setdefault(region.seen, []).append(i)
    best: tuple[float, Mapping[Symbol, Fraction], list[int]] | None = None
    for i in source.sample(range(len(regions)), min(tries, len(regions))):
        group = together[regions[i].seen]
        if len(group) > 8:
            continue
        face = source.choice(source.choice(list(groups)))
        start = {s: source.choice(ends) for s, ends in face.items()}
        value, point = climb_shared([regions[k].problem for k in group], face, start)
        if best is None or value > best[0]:
            best = (value, point, group)
        if best[0] > enough or math.isinf(best[0]):
            break
    if best is None or best[0] <= 0:
        return None
    return _lower(
        [regions[k].problem for k in best[2]], best[1], inputs, release_text(regions[best[2][0]])
    )


def _lower(
    problems: Sequence[Problem],
    point: Mapping[Symbol, Fraction],
    inputs: Sequence[Symbol],
    release: str,
    cost: Cost = cost_at,
) -> Lower | None:
    found: list[DualBound] = []
    infinite = 0
    for one in problems:
        bound = dual_bound(one, point, cost)
        if bound is None:
            if math.isinf(cost(one, point).cost):
                infinite += 1
                continue
            return None
        found.append(bound)
    direction = tuple(point.get(q, Fraction(0)) for q in inputs)
    if infinite == len(problems):
        return Lower(math.inf, len(inputs), Ray(direction, release, True))
    value = min(b.value for b in found)
    far = any(any(b.keep) for b in found)  # conditions are kept with a chance that grows to 1
    ray = Ray(direction, release, idle=_idle(problems, found, inputs), far=far)
    multipliers = [
        {"keep": [str(y) for y in b.keep], "pin": [str(z) for z in b.pin]} for b in found
    ]
    return Lower(value, len(inputs), ray, multipliers)


def _idle(
    problems: Sequence[Problem], bounds: Sequence[DualBound], inputs: Sequence[Symbol]
) -> frozenset[int]:
    """The inputs whose difference is in none of the bounds."""
    if len(bounds) < len(problems):
        return frozenset()
    felt: set[Symbol] = set()
    for one, bound in zip(problems, bounds, strict=True):
        slopes: dict[Symbol, Fraction] = {}
        weights = (*bound.keep, *bound.pin)
        for weight, change in zip(weights, (*one.keep, *one.pin), strict=True):
            for symbol, coefficient in change.data.items():
                slopes[symbol] = slopes.get(symbol, Fraction(0)) + weight * coefficient
        felt.update(s for s, slope in slopes.items() if slope)
    return frozenset(i for i, symbol in enumerate(inputs) if symbol not in felt)


def from_potential(
    graph: Graph,
    draws: Mapping[Symbol, AlignedNoise],
    found: Potential,
    box: tuple[Fraction, Fraction] | None = None,
    length: int | None = None,
) -> Lower | None:
    """The run that the solver's multipliers point at, as a region of its own.

    `box` is where each datum may move, if all of them may move at once. With a `length` only runs
    on data of that length count.
    """
    if not graph.faithful or graph.world.derived:
        return None
    search = _CostliestRun(graph, draws, box, length)
    for scale in (1, 2, 4):
        steps = _worst_run(found, scale)
        if steps is None:
            break
        corners = [s.corner for s in steps if graph.edges[s.edge].reads]
        search.consider([graph.edges[s.edge] for s in steps], corners)
        if search.value >= found.epsilon:
            return search.lower()
    search.improve(float(found.epsilon))
    return search.lower()


def from_paths(
    graph: Graph,
    draws: Mapping[Symbol, AlignedNoise],
    box: tuple[Fraction, Fraction] | None,
    length: int,
    enough: float,
    tries: int = 60,
) -> Lower | None:
    """The worst of some runs at random: where no budget suffices, a run may show why."""
    import random

    if not graph.faithful or graph.world.derived or box is None:
        return None
    source = random.Random(4)
    search = _CostliestRun(graph, draws, box, length)
    leaving: dict[int, list[LoopEdge]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    for _ in range(tries):
        node, read = 0, 0
        path: list[LoopEdge] = []
        while node != END and len(path) < 4 * _LONGEST:
            options = leaving.get(node, [])
            if any(e.reads for e in options):
                options = [e for e in options if e.reads == (read < length)]
            edge = source.choice(options)
            path.append(edge)
            node, read = edge.target, read + edge.reads
        corners = [{ELEMENT: source.choice(box)} for e in path if e.reads]
        search.consider(path, corners)
        if search.value > enough or math.isinf(search.value):
            break
    return search.lower()


class _CostliestRun:
    """Runs through the graph, and the one with the greatest cost so far."""

    def __init__(
        self,
        graph: Graph,
        draws: Mapping[Symbol, AlignedNoise],
        box: tuple[Fraction, Fraction] | None,
        length: int | None,
    ) -> None:
        self.graph = graph
        self.draws = draws
        self.box = box
        self.length = length
        self.cost_of = Costs()
        self.value = 0.0
        self.best: tuple[list[LoopEdge], list[Problem], Mapping[Symbol, Fraction], int] | None = (
            None
        )

    def consider(self, path: list[LoopEdge], corners: Sequence[Mapping[Symbol, Fraction]]) -> bool:
        read = sum(e.reads for e in path)
        length = self.length if self.length is not None else read
        # Data beyond what a run reads cost nothing: they are the same in both inputs.
        if not 0 < read <= min(length, _LONGEST):
            return False
        shared = _matching(self.graph, path, length)
        if shared is None:
            return False
        inputs = _inputs(length)
        point: Mapping[Symbol, Fraction] = {
            q: c.get(ELEMENT, Fraction(0)) for q, c in zip(inputs, corners, strict=False)
        }
        problems = [_as_problem(one, self.draws) for one in shared]
        if self.box is not None:
            face = dict.fromkeys(inputs[:read], self.box)
            value, point = climb_shared(problems, face, point, self.cost_of)
        else:
            value = min(self.cost_of(p, point).cost for p in problems)
        if value <= self.value + _CLOSE:
            return False
        self.value, self.best = value, (path, problems, point, length)
        return True

    def improve(self, enough: float, tries: int = 80) -> None:
        """Another edge at one place after the other, while that helps."""
        place, idle = 0, 0
        while self.best is not None and self.value < enough - _CLOSE:
            path = self.best[0]
            if idle >= len(path) or tries <= 0:
                return
            place %= len(path)
            better = False
            for other in self._instead_of(path, place):
                tries -= 1
                better = better or self.consider(other, self._corners(place))
            idle = 0 if better else idle + 1
            place += 1

    def _instead_of(self, path: Sequence[LoopEdge], place: int) -> list[list[LoopEdge]]:
        """The runs with another edge at a place that then release what the run releases."""
        edge = path[place]
        found = []
        for other in self.graph.edges:
            if other is edge or (other.source, other.reads) != (edge.source, edge.reads):
                continue
            changed = [*path[:place], other]
            for step in path[place + 1 :]:
                at = changed[-1].target
                ways = [
                    e
                    for e in self.graph.edges
                    if (e.source, e.reads) == (at, step.reads) and _tokens(e, 0) == _tokens(step, 0)
                ]
                same = [e for e in ways if e.target == step.target]
                if not ways:
                    break
                changed.append((same or ways)[0])
            if len(changed) == len(path) and changed[-1].target == END:
                found.append(changed)
        return found

    def _corners(self, place: int) -> list[Mapping[Symbol, Fraction]]:
        """The moves of the data of the best run; at one place the other way."""
        assert self.best is not None
        path, _, point, _ = self.best
        read = sum(e.reads for e in path)
        corners: list[Mapping[Symbol, Fraction]] = [
            {ELEMENT: point.get(q, Fraction(0))} for q in _inputs(read)
        ]
        if self.box is not None and path[place].reads:
            flip = sum(e.reads for e in path[:place])
            ends = [e for e in self.box if e != corners[flip][ELEMENT]]
            corners[flip] = {ELEMENT: ends[0] if ends else corners[flip][ELEMENT]}
        return corners

    def lower(self) -> Lower | None:
        if self.best is None:
            return None
        path, problems, point, length = self.best
        release = ", ".join(
            "real" if isinstance(v, Form) else str(v) for e in path for v in e.released
        )
        return _lower(problems, point, _inputs(length), release)


def _inputs(length: int) -> list[Symbol]:
    return [Symbol("input", f"q{j}") for j in range(length)]


def _worst_run(found: Potential, scale: int) -> list[BudgetStep] | None:
    """A path that takes the loops as often as their multipliers say, and then spends the budget.

    The multipliers are a flow that may fall into parts: loops that cost nothing are not connected
    to the rest. They are visited first; then the steps that spend most, to the end.
    """
    left = {id(s): math.ceil(scale * s.weight - 1e-6) for s in found.steps}
    leaving: dict[Any, list[BudgetStep]] = {}
    for step in found.steps:
        leaving.setdefault(step.source, []).append(step)
    state = found.start
    path: list[BudgetStep] = []

    def loops(at: Any) -> list[BudgetStep]:
        return [s for s in leaving.get(at, []) if s.target == at and left[id(s)] > 0]

    while len(path) <= 4 * _LONGEST:
        way = _route(state, leaving, lambda at: bool(loops(at)))
        if way is None:
            break
        path += way
        state = way[-1].target if way else state
        for step in loops(state):
            path += [step] * left[id(step)]
            left[id(step)] = 0
    visits: dict[Any, int] = {}
    while state.node != END and len(path) <= 4 * _LONGEST:
        visits[state] = visits.get(state, 0) + 1
        # Tight steps: those on which the budget is spent to the last bit.
        options = [
            s
            for s in leaving.get(state, [])
            if s.target != state
            and visits.get(s.target, 0) < 2
            and s.cost == found.budgets[s.source] - found.budgets[s.target]
        ]
        best = max(options, key=lambda s: (left[id(s)] > 0, s.cost, s.weight), default=None)
        if best is None or not found.budgets[state]:
            way = _route(state, leaving, lambda at: at.node == END)
            return None if way is None else path + way
        left[id(best)] -= 1
        path.append(best)
        state = best.target
    return path if state.node == END else None


def _route(
    start: Any, leaving: Mapping[Any, Sequence[BudgetStep]], reached: Callable[[Any], bool]
) -> list[BudgetStep] | None:
    """A shortest path, steps with a multiplier first."""
    seen: dict[Any, list[BudgetStep]] = {start: []}
    queue = [start]
    for state in queue:
        if reached(state):
            return seen[state]
        for step in sorted(leaving.get(state, []), key=lambda s: -s.weight):
            if step.target not in seen:
                seen[step.target] = [*seen[state], step]
                queue.append(step.target)
    return None


def _tokens(edge: LoopEdge, position: int) -> list[Any]:
    found: list[Any] = []
    for value in edge.released:
        if isinstance(value, Form):
            found.append("real")
        elif isinstance(value, str) and value == "position":
            found.append(("position", position))
        else:
            found.append((type(value).__name__, repr(value)))
    return found


def _matching(graph: Graph, path: Sequence[LoopEdge], length: int) -> list[list[LoopEdge]] | None:
    """All paths that release the same on data of this length; None if they are many."""
    wanted: list[Any] = []
    position = 0
    for edge in path:
        wanted += _tokens(edge, position)
        position += edge.reads
    leaving: dict[int, list[LoopEdge]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    found: list[list[LoopEdge]] = []
    dead: set[tuple[int, int, int]] = set()
    longest = 4 * (length + len(graph.nodes))

    def walk(node: int, read: int, at: int, path: list[LoopEdge]) -> bool:
        if node == END:
            if at == len(wanted):
                found.append(list(path))
            return at == len(wanted)
        if (node, read, at) in dead or len(found) > _MOST_SHARED:
            return False
        if len(path) > longest:
            raise _TooManyError
        some = False
        has_pass = any(e.reads for e in leaving.get(node, []))
        for edge in leaving.get(node, []):
            if has_pass and edge.reads != (read < length):
                continue
            tokens = _tokens(edge, read)
            if wanted[at : at + len(tokens)] == tokens:
                path.append(edge)
                reached = walk(edge.target, read + edge.reads, at + len(tokens), path)
                some = some or reached
                path.pop()
        if not some and len(found) <= _MOST_SHARED:
            dead.add((node, read, at))
        return some

    try:
        walk(0, 0, 0, [])
    except (_TooManyError, RecursionError):
        return None
    return found if 0 < len(found) <= _MOST_SHARED else None


class _TooManyError(Exception):
    """A path that neither reads nor releases goes in circles."""


def _as_problem(path: Sequence[LoopEdge], draws: Mapping[Symbol, AlignedNoise]) -> Problem:
    """A path through the graph as one region: every turn has its own datum and noises."""
    slots: dict[Symbol, Form] = {}
    conditions: list[Condition] = []
    forms: list[Form] = []
    own: dict[Symbol, AlignedNoise] = {}
    read = 0
    for number, edge in enumerate(path):
        values = dict(slots)
        if edge.reads:
            values[ELEMENT] = Form.of(Symbol("input", f"q{read}"))
            read += 1
        for symbol in edge.draws:
            fresh = Symbol("noise", f"{symbol.name}@{number}")
            values[symbol] = Form.of(fresh)
            own[fresh] = draws[symbol]
        for block in edge.blocks:
            conditions += [Condition(c.form.substitute(values), c.relation) for c in block]
        forms += [f.substitute(values) for f in edge.forms]
        slots = {s: f.substitute(values) for s, f in edge.updates.items()}
    return problem(conditions, forms, own, own)
