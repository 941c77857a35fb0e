"""Records that come and go: a function of sums over them.

Two neighbouring inputs differ in one record, so that one run takes a turn more than the other. The
turns match if each one only adds something of its own record to the sums: then the other run
stands still for one turn, and the sums differ by what that record adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.program.any_length import COUNT, ONE
from dpest.program.linear import Form, Symbol
from dpest.program.loop_graph import END, Graph, LoopEdge, LoopNode
from dpest.program.piece_runs import Derived
from dpest.program.symbolic import Real


def starting_as_numbers(graph: Graph, variables_of: Mapping[int, Mapping[str, Any]]) -> set[str]:
    """Variables that are plain numbers before the first record and sums after it."""
    found: set[str] = set()
    for edge in graph.edges:
        if edge.reads and edge.target not in (edge.source, END):
            before = variables_of.get(edge.source, {})
            after = variables_of.get(edge.target, {})
            found |= {
                name
                for name, value in after.items()
                if isinstance(value, Real) and type(before.get(name)) in (int, float)
            }
    return found


def of_records(graph: Graph, name: str) -> Graph:
    """The graph with what each record adds as data of its own; refuses where turns don't match."""
    if graph.selections or graph.gaps:
        raise RefusedError(
            f"{name}: an argmax over records that come and go: its result depends on how many "
            "there are. Take the argmax of noisy counts or sums of them."
        )
    if any(COUNT in form.terms for edge in graph.edges for form in _forms(edge)):
        graph = _with_count(graph)
    edges = [_adding(edge, name) if edge.reads else edge for edge in graph.edges]
    if any(ONE in form.terms for edge in edges for form in edge.updates.values()):
        one = Fraction(1)
        graph.world.derived[ONE] = Derived("one", Form(), None, None, one, one)
    return replace(graph, edges=edges)


def _forms(edge: LoopEdge) -> list[Form]:
    conditions = [c.form for block in edge.blocks for c in block]
    return [*conditions, *edge.updates.values(), *edge.forms]


def _adding(edge: LoopEdge, name: str) -> LoopEdge:
    what = ""
    if edge.draws:
        what = "noise is drawn for each record"
    elif edge.blocks:
        what = "something is decided for each record"
    elif edge.released:
        what = "something is released for each record"
    elif edge.target != edge.source:
        what = "what is done with a record depends on how many came before it"
    for slot, form in edge.updates.items():
        others = [s for s in form.terms if s != slot]
        if form.terms.get(slot) != 1 or any(s.kind != "input" for s in others):
            what = what or f"{slot.name} is no sum over the records"
    if what:
        raise RefusedError(
            f"{name}: {what}, and records come and go (add_remove_one). A proof follows sums and "
            "counts over the records, to which noise is added afterwards"
        )
    updates = {s: _counting(f) for s, f in edge.updates.items()}
    return replace(edge, updates=updates)


def _counting(form: Form) -> Form:
    if not form.constant:
        return form
    return Form({**form.terms, ONE: form.constant})


def _with_count(graph: Graph) -> Graph:
    """How many records were read, as a slot of every node, after a new start."""
    nodes = [LoopNode(0, (), "start")]
    nodes += [LoopNode(n.index + 1, tuple(sorted((*n.slots, COUNT))), n.note) for n in graph.nodes]
    edges = [LoopEdge(0, 1, False, (), (), {COUNT: Form()}, ())]
    for edge in graph.edges:
        updates: dict[Symbol, Form] = dict(edge.updates)
        target = edge.target
        if target != END:
            target += 1
            updates[COUNT] = Form({COUNT: Fraction(1)}, Fraction(int(edge.reads)))
        edges.append(replace(edge, source=edge.source + 1, target=target, updates=updates))
    dead = [(source + 1, *rest) for source, *rest in graph.dead]
    return replace(graph, nodes=nodes, edges=edges, dead=dead)  # type: ignore[arg-type]
