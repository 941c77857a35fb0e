"""Certificates: all that the kernel needs, nothing that it has to believe."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest import kernel
from dpest.ask.adjacency import Adjacency
from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Condition, Form, Symbol, distinct
from dpest.geometry.polyhedra import farkas, feasible
from dpest.kernel.header import FORMAT, VERSION
from dpest.kernel.models.noise import FAMILIES
from dpest.noise.family import Noise
from dpest.proofs.alignments.alignment import AffineShift, AlignedNoise, Alignment
from dpest.proofs.alignments.regions_of_release import ReleaseRegion
from dpest.proofs.alignments.selection import ArgmaxPlan
from dpest.proofs.loops.potentials import BudgetState, Potential
from dpest.reading.cases.records import ReadCases
from dpest.reading.decision_path import Block
from dpest.reading.loop_graph import Graph
from dpest.reading.merged_states import MergedModel, MergedNode
from dpest.reading.world import World
from dpest.running.places import source_of, undeclared


class UncertifiedError(Exception):
    """A step holds, but not by a certificate that the kernel knows."""


def subject(
    mechanism: Mechanism, unit: str | None, adjacency: Adjacency, radius: Any
) -> dict[str, Any]:
    """What a certificate is about: a function with its parameters, and which inputs are close.

    `unit` is the parameter that all bounds are multiples of: its value is no part of it.
    """
    source = source_of(mechanism.function)
    return {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": mechanism.name,
        "source": source,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "module": getattr(undeclared(mechanism.function), "__module__", None),
        "parameters": {k: repr(v) for k, v in mechanism.all_params.items() if k != unit},
        "unit": unit,
        "adjacency": {"name": adjacency.name, "radius": number(radius)},
    }


def header(
    about: Mapping[str, Any],
    length: Any,
    epsilon: Fraction,
    method: str,
    domain: Mapping[str, Any],
    noises: Mapping[Symbol, Noise],
    draws: Mapping[Symbol, AlignedNoise],
    world: World,
) -> dict[str, Any]:
    """What every certificate of a model begins with; `about` is its `subject`."""
    return {
        **about,
        "length": length,
        "domain": dict(domain),
        "method": method,
        "epsilon": str(epsilon),
        "noises": {label(s): _noise(noises[s], draws[s]) for s in sorted(noises)},
        "bounds": {
            label(s): [number(end) for end in world.supports.bounds(s)]
            for s in sorted(noises)
            if any(end is not None for end in world.supports.bounds(s))
        },
        "derived": {
            label(s): {
                "kind": rule.kind,
                "of": _terms(rule.of),
                "constant": str(rule.of.constant),
                "ends": [
                    None if end is None else number(end - rule.of.constant)
                    for end in (rule.low, rule.high)
                ],
            }
            for s, rule in world.derived.items()
        },
    }


def sealed(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """With a digest of all of it, so that no part is changed by accident."""
    body = {k: v for k, v in certificate.items() if k != "digest"}
    return {**body, "digest": kernel.digest(body)}


def table(
    mechanism: Mechanism,
    unit: str | None,
    adjacency: Adjacency,
    epsilon: Fraction | None,
    inputs: Sequence[Any],
    found: Any,
) -> dict[str, Any]:
    """A finite mechanism: the exact chances of every output on every input."""
    radius = adjacency._exact_radius() if adjacency.radius is not None else math.inf
    return {
        **subject(mechanism, unit, adjacency, radius),
        "length": 1,
        "domain": {"kind": "finite", "values": [_jsonable(x) for x in inputs]},
        "method": "finite",
        "epsilon": number(epsilon),
        "power": found.power,
        "denominator": found.denominator,
        "exponential": number(found.factor),
        "tables": [
            {
                "input": _jsonable(x),
                "parts": [
                    {
                        y: [[str(v) for v in p.top] or ["0"], [str(v) for v in p.bottom]]
                        for y, p in part.items()
                    }
                    for part in found.tables[repr(x)]
                ],
            }
            for x in inputs
        ],
    }


def _jsonable(x: Any) -> Any:
    if hasattr(x, "tolist"):
        return x.tolist()
    return [_jsonable(v) for v in x] if isinstance(x, (list, tuple)) else x


def _noise(noise: Noise, draw: AlignedNoise) -> list[Any]:
    """Family and scale in units of 1/unit (a Gaussian's variance in units of 1/unit²)."""
    if not draw.rate:
        return [noise.family, None]
    if draw.kind == "square":
        return [noise.family, str(1 / (2 * draw.rate))]
    return [noise.family, str(1 / draw.rate)]


def number(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(value)


def label(symbol: Symbol) -> str:
    return f"v.{symbol.name}" if symbol.kind == "state" else symbol.name


def _terms(form: Form) -> dict[str, str]:
    return {label(s): str(c) for s, c in sorted(form.terms.items())}


def _condition(condition: Condition) -> list[Any]:
    return [str(condition.form.constant), _terms(condition.form), condition.strict]


def _decision(block: Block, world: World) -> list[Any]:
    if len(block) == 1:
        return _condition(block[0])
    cells, place = world.families[block]
    first = cells[0]  # what the first value is ahead of each of the others by
    values: list[Form] = [Form(), *(c.form.times(-1) for c in first)]
    return ["greatest", [[str(v.constant), _terms(v)] for v in values], place]


def _weights(found: Mapping[int, Fraction]) -> dict[str, str]:
    return {str(i): str(w) for i, w in sorted(found.items()) if w}


def multipliers(premises: Sequence[Condition], goal: Condition | None) -> dict[str, str]:
    """Farkas weights; a premise or a sum of two is looked for first."""
    held: dict[Form, int] = {c.form: i for i, c in enumerate(premises)}
    if goal is None:
        for form, i in held.items():
            j = held.get(form.times(-1))
            if j is not None and (premises[i].strict or premises[j].strict):
                return _weights({i: Fraction(1), j: Fraction(1)})
    else:
        for form, i in held.items():
            if form.terms.keys() & goal.form.terms.keys():
                rest = goal.form.plus(form, -1)
                j = held.get(rest)
                strict = premises[i].strict or (j is not None and premises[j].strict)
                if j is not None and j != i and (strict or not goal.strict):
                    return _weights({i: Fraction(1), j: Fraction(1)})
                enough = rest.constant > 0 or premises[i].strict or not goal.strict
                if not rest.terms and rest.constant >= 0 and enough:
                    return _weights({i: Fraction(1)})
    found = farkas(premises, goal)
    if found is None:
        raise UncertifiedError
    return _weights(found)


def opened(conditions: Iterable[Condition], world: World) -> list[Condition]:
    """The conditions without their borders, where a continuous noise makes these null sets."""
    return [
        Condition(c.form, ">")
        if any(s.kind == "noise" and continuous(s, world) for s in c.form.terms)
        else c
        for c in conditions
    ]


def continuous(symbol: Symbol, world: World) -> bool:
    """Whether the kernel knows that no single value has a chance."""
    known = FAMILIES.get(world.noises[symbol].family)
    return known is not None and not known.integral


def square(
    head: dict[str, Any],
    model: MergedModel,
    regions: Sequence[ReleaseRegion],
    slopes: Mapping[Symbol, Mapping[Symbol, Fraction]],
) -> dict[str, Any]:
    """One shift for all releases; `epsilon` stands for ρ."""
    shift = {
        label(h): {label(j): str(v) for j, v in sorted(s.items())}
        for h, s in sorted(slopes.items())
        if s
    }
    return {**cells(head, model, regions, ()), "common": shift}


def cells(
    head: dict[str, Any],
    model: MergedModel,
    regions: Sequence[ReleaseRegion],
    alignments: Iterable[tuple[int, int, Alignment]],
) -> dict[str, Any]:
    """A graph of merged states, its releases, and a shift of the noise for each of them."""
    by_index = {node.index: node for node in model.nodes}
    return {
        **head,
        "nodes": [_node(node, by_index, model.world) for node in model.nodes],
        "dead": [
            _impossible(by_index[source], blocks, model.world) for source, blocks in model.dead
        ],
        "leaves": [
            {
                "node": r.node.index,
                "release": repr(r.seen),
                "real": [_terms(f) for f in r.released],
            }
            for r in regions
        ],
        "disjoint": list(_disjoint(model)),
        "alignments": [
            {"leaf": regions[i].node.index, **_alignment(component, a)}
            for i, component, a in alignments
        ],
    }


def _node(node: MergedNode, by_index: Mapping[int, MergedNode], world: World) -> dict[str, Any]:
    """A state; where several ways meet, what holds on each of them, with a proof."""
    edges = []
    for edge in node.incoming:
        entry: dict[str, Any] = {
            "from": edge.source,
            "if": [_decision(b, world) for b in edge.blocks],
            "noise": [label(s) for s in edge.draws],
        }
        if len(node.incoming) > 1:
            before = by_index[edge.source].known
            support = world.supports.conditions(edge.draws)
            held = distinct((*before, *support, *edge.conditions))
            if feasible(held) is None:
                entry["empty"] = multipliers(opened(held, world), None)
            else:
                present = set(held)
                entry["proof"] = {
                    str(k): multipliers(held, goal)
                    for k, goal in enumerate(node.known)
                    if goal not in present
                }
        edges.append(entry)
    record: dict[str, Any] = {"id": node.index, "in": edges}
    if len(node.incoming) > 1:
        record["invariant"] = [_condition(c) for c in node.known]
    return record


def _impossible(source: MergedNode, blocks: Sequence[Block], world: World) -> dict[str, Any]:
    """Decisions that no run takes, with a proof."""
    conditions = [c for b in blocks for c in b]
    used = sorted({s for c in conditions for s in c.form.terms if s.kind == "noise"})
    held = (*source.known, *world.supports.conditions(used), *conditions)
    return {
        "from": source.index,
        "if": [_decision(b, world) for b in blocks],
        "empty": multipliers(opened(held, world), None),
    }


def _disjoint(model: MergedModel) -> Iterator[dict[str, Any]]:
    """Proofs that no run releases twice, where that does not follow from the decisions."""
    for i, first in enumerate(model.leaves):
        for second in model.leaves[i + 1 :]:
            if not (first.plain and second.plain):
                held = opened((*first.known, *second.known), model.world)
                yield {"pair": [first.index, second.index], "proof": multipliers(held, None)}


def _alignment(component: int, found: Alignment) -> dict[str, Any]:
    return {
        "component": component,
        "face": {label(s): [number(e) for e in ends] for s, ends in sorted(found.face.items())},
        "shift": _shifts(found.shifts),
        "bound": _shifts(found.bounds),
    }


def _shifts(table: Mapping[Symbol, AffineShift]) -> dict[str, Any]:
    return {
        label(s): [str(x.constant), {label(j): str(v) for j, v in sorted(x.slopes.items())}]
        for s, x in sorted(table.items())
        if not x.is_zero
    }


def selection(head: dict[str, Any], found: ArgmaxPlan, rule: str = "") -> dict[str, Any]:
    """`rule`: by which the function's loop is this argmax (`rewrites.races`), if by one."""
    own = {label(s) for s in found.own}
    return {
        **head,
        **{
            part: {h: entry for h, entry in head[part].items() if h in own}
            for part in ("noises", "bounds")
        },
        "element": _terms(found.element),
        "gap": bool(found.problem.pin),
        **({"rule": rule} if rule else {}),
        "alignments": [_alignment(component, a) for _, component, a in found.plan.alignments],
    }


def loop(head: dict[str, Any], graph: Graph, components: Sequence[Potential]) -> dict[str, Any]:
    world = graph.world
    dead = []
    for source, reads, blocks, _ in graph.dead:
        conditions = [c for b in blocks for c in b]
        used = sorted({s for c in conditions for s in c.form.terms if s.kind == "noise"})
        held = (*world.supports.conditions(used), *conditions)
        dead.append(
            {
                "from": source,
                "reads": reads,
                "if": [_decision(b, world) for b in blocks],
                "empty": multipliers(opened(held, world), None),
            }
        )
    return {
        **head,
        "nodes": [{"id": n.index, "slots": [label(s) for s in n.slots]} for n in graph.nodes],
        "edges": [
            {
                "from": e.source,
                "to": e.target,
                "reads": e.reads,
                "if": [_decision(b, world) for b in e.blocks],
                "noise": [label(s) for s in e.draws],
                "release": [None if isinstance(v, Form) else repr(v) for v in e.released],
                "real": [_terms(f) for f in e.forms],
                "set": {label(s): _terms(f) for s, f in sorted(e.updates.items())},
            }
            for e in graph.edges
        ],
        "dead": dead,
        "components": [_component(p) for p in components],
        **({} if world.cases is None else _records(world)),
    }


def _records(world: World) -> dict[str, Any]:
    """What one record adds, case by case; which sums are order statistics instead."""
    cases: ReadCases = world.cases
    known = cases.entry.known()
    found: list[dict[str, Any]] = [
        {
            "if": [_decision(b, world) for b in blocks],
            "value": {label(t): [str(f.constant), _terms(f)] for t, f in sorted(values.items())},
        }
        for blocks, values in cases.leaves
    ]
    for blocks in cases.dead:
        conditions = [c for b in blocks for c in b]
        found.append(
            {
                "if": [_decision(b, world) for b in blocks],
                "empty": multipliers([*known, *conditions], None),
            }
        )
    return {
        "cases": found,
        "statistics": sorted(label(t) for t in cases.statistics),
        "steps": 2 if cases.two_steps else 1,
    }


def _component(found: Potential) -> dict[str, Any]:
    ids: dict[BudgetState, int] = {state: i for i, state in enumerate(found.budgets)}
    differences: dict[BudgetState, dict[str, str]] = {state: {} for state in ids}
    for (state, slot), value in found.differences.items():
        differences[state][label(slot)] = str(value)
    return {
        "start": ids[found.start],
        "states": [
            {
                "id": i,
                "node": state.node,
                "phase": state.phase,
                "budget": str(found.budgets[state]),
                "difference": differences[state],
            }
            for state, i in ids.items()
        ],
        "steps": [
            {
                "state": ids[step.source],
                "edge": step.edge,
                "move": step.move.move,
                "next": ids[step.target],
                "shift": {label(s): str(x) for s, x in step.shifts.items() if x},
            }
            for step in found.steps
        ],
    }
