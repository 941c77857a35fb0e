"""Lower bounds from the same linear programs: the ray argument (see `proof.Lower`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.program.linear import Condition, Form, Symbol
from dpest.program.loops import END, Graph, LoopEdge
from dpest.proofs.alignment import (
    Alignment,
    Draw,
    DualBound,
    Face,
    Problem,
    climb_shared,
    dual_bound,
    starts,
)
from dpest.proofs.potentials import Potential, Step
from dpest.proofs.proof import Lower, Ray
from dpest.proofs.regions_of_release import Region, problem

_CLOSE = 1e-9
_LONGEST = 60


def from_regions(
    regions: Sequence[Region],
    plan_alignments: Sequence[tuple[int, int, Alignment]],
    stuck: tuple[int, Face] | None,
    inputs: Sequence[Symbol],
    data: Mapping[Symbol, Any],
) -> Lower | None:
    """The greatest cost, over differences, of the cheapest region that gives the release."""
    if data:
        return None  # derived data don't range over all differences
    together: dict[Any, list[int]] = {}
    for i, region in enumerate(regions):
        together.setdefault(region.seen, []).append(i)
    best: tuple[float, Mapping[Symbol, Fraction], list[int]] | None = None
    if stuck is not None:
        candidates = [(stuck[0], stuck[1], math.inf, [])]
    else:
        top = max((a.cost for _, _, a in plan_alignments), default=Fraction(0))
        ordered = sorted(plan_alignments, key=lambda e: -e[2].cost)
        candidates = [(i, a.face, float(top), [a]) for i, _, a in ordered if a.cost]
    limit = max((c[2] for c in candidates), default=0.0)
    for i, face, cost, aligned in candidates[:64]:
        if best is not None and (best[0] >= limit - _CLOSE or cost <= best[0] + _CLOSE):
            break
        group = together[regions[i].seen]
        problems = [regions[k].problem for k in group]
        for start in starts(face, aligned, seed=i, tries=4 if len(group) > 1 else 1):
            value, point = climb_shared(problems, face, start)
            if best is None or value > best[0] + _CLOSE:
                best = (value, point, group)
            if value >= limit - _CLOSE:
                break
    if best is None or best[0] <= 0:
        return None
    return _lower([regions[k].problem for k in best[2]], best[1], inputs, _release(regions[best[2][0]]))


def from_samples(
    regions: Sequence[Region],
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
        [regions[k].problem for k in best[2]], best[1], inputs, _release(regions[best[2][0]])
    )


def _release(region: Region) -> str:
    from dpest.program.skeleton import unflatten

    assert region.node.release is not None
    skeleton, leaves = region.node.release
    return repr(unflatten_text(unflatten, skeleton, leaves))


def unflatten_text(unflatten: Any, skeleton: Any, leaves: Sequence[Any]) -> Any:
    return unflatten(skeleton, [Real_(v) if isinstance(v, Form) else v for v in leaves])


class Real_:
    """A released real in a text."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def __repr__(self) -> str:
        return "real"


def _lower(
    problems: Sequence[Problem],
    point: Mapping[Symbol, Fraction],
    inputs: Sequence[Symbol],
    release: str,
) -> Lower | None:
    found: list[DualBound] = []
    infinite = 0
    for one in problems:
        bound = dual_bound(one, point)
        if bound is None:
            from dpest.proofs.alignment import cost_at

            if math.isinf(cost_at(one, point).cost):
                infinite += 1
                continue
            return None
        found.append(bound)
    direction = tuple(point.get(q, Fraction(0)) for q in inputs)
    ray = Ray(direction, release)
    if infinite == len(problems):
        return Lower(math.inf, len(inputs), ray)
    value = min(b.value for b in found)
    multipliers = [
        {"keep": [str(y) for y in b.keep], "pin": [str(z) for z in b.pin]} for b in found
    ]
    return Lower(value, len(inputs), ray, multipliers)


def from_potential(
    graph: Graph, draws: Mapping[Symbol, Draw], found: Potential
) -> Lower | None:
    """The run that the solver's multipliers point at, as a region of its own."""
    if not graph.faithful or graph.world.derived:
        return None
    best: Lower | None = None
    for scale in (1, 2, 4):
        steps = _worst_run(found, scale)
        if steps is None:
            return best
        length = sum(graph.edges[s.edge].reads for s in steps)
        if not 0 < length <= _LONGEST or not _alone(graph, steps, length):
            return best
        one, point, inputs, release = _as_region(graph, draws, steps)
        lower = _lower([one], point, inputs, release)
        if lower is not None and (best is None or lower.value > best.value):
            best = lower
        if best is not None and best.value >= found.epsilon:
            return best
    return best


def _worst_run(found: Potential, scale: int) -> list[Step] | None:
    """A path whose steps are taken about as often as their multipliers say."""
    left = {id(s): math.ceil(scale * s.weight - 1e-6) for s in found.steps}
    leaving: dict[Any, list[Step]] = {}
    for step in found.steps:
        leaving.setdefault(step.source, []).append(step)
    state = found.start
    path: list[Step] = []
    while state.node != END:
        options = leaving.get(state, [])
        open_ = [s for s in options if left[id(s)] > 0]
        if not open_:
            ends = [s for s in options if s.target.node == END]
            if not ends:
                return None
            path.append(ends[0])
            break
        # Turns of the loop first: what leaves a state is taken last.
        step = max(open_, key=lambda s: (s.target == state, s.target.node != END, s.weight))
        left[id(step)] -= 1
        path.append(step)
        state = step.target
        if len(path) > 4 * _LONGEST:
            return None
    return path


def _tokens(edge: LoopEdge, position: int) -> list[Any]:
    found = []
    for value in edge.released:
        if isinstance(value, Form):
            found.append("real")
        elif isinstance(value, str) and value == "position":
            found.append(("position", position))
        else:
            found.append((type(value).__name__, repr(value)))
    return found


def _alone(graph: Graph, steps: Sequence[Step], length: int) -> bool:
    """Whether no other path through the graph releases the same on data of this length."""
    wanted: list[Any] = []
    position = 0
    for step in steps:
        edge = graph.edges[step.edge]
        wanted += _tokens(edge, position)
        position += edge.reads
    leaving: dict[int, list[LoopEdge]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    memo: dict[tuple[int, int, int], int] = {}

    def count(node: int, read: int, at: int) -> int:
        if node == END:
            return int(at == len(wanted))
        key = (node, read, at)
        if key in memo:
            return memo[key]
        memo[key] = 2  # a cycle that reads and releases nothing: not alone
        total = 0
        has_pass = any(e.reads for e in leaving.get(node, []))
        for edge in leaving.get(node, []):
            if has_pass and edge.reads != (read < length):
                continue
            tokens = _tokens(edge, read)
            if wanted[at : at + len(tokens)] == tokens:
                total += count(edge.target, read + edge.reads, at + len(tokens))
        memo[key] = min(total, 2)
        return memo[key]

    return count(0, 0, 0) == 1


def _as_region(
    graph: Graph, draws: Mapping[Symbol, Draw], steps: Sequence[Step]
) -> tuple[Problem, dict[Symbol, Fraction], list[Symbol], str]:
    slots: dict[Symbol, Form] = {}
    conditions: list[Condition] = []
    forms: list[Form] = []
    point: dict[Symbol, Fraction] = {}
    inputs: list[Symbol] = []
    own: dict[Symbol, Draw] = {}
    release: list[str] = []
    for number, step in enumerate(steps):
        edge = graph.edges[step.edge]
        values = dict(slots)
        if edge.reads:
            datum = Symbol("input", f"q{len(inputs)}")
            inputs.append(datum)
            values[Symbol("input", "q")] = Form.of(datum)
            point[datum] = step.corner.get(Symbol("input", "q"), Fraction(0))
        for symbol in edge.draws:
            fresh = Symbol("noise", f"{symbol.name}@{number}")
            values[symbol] = Form.of(fresh)
            own[fresh] = draws[symbol]
        for block in edge.blocks:
            conditions += [Condition(c.form.substitute(values), c.relation) for c in block]
        forms += [f.substitute(values) for f in edge.forms]
        release += ["real" if isinstance(v, Form) else str(v) for v in edge.released]
        slots = {s: f.substitute(values) for s, f in edge.updates.items()}
    return problem(conditions, forms, own, own), point, inputs, ", ".join(release)
