"""Budgets where one record moves sums: a program for each move, as the moves don't meet again.

The pass over the records comes first and draws nothing, so that what happens after one move is no
concern of the others. Where every release has a noise of its own no program is needed at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpest.geometry.linear import Form, Symbol
from dpest.proofs.alignments.alignment import AlignedNoise
from dpest.proofs.loops.potentials import (
    BudgetState,
    BudgetStep,
    Phase,
    Potential,
    potential,
    steps_of,
)
from dpest.reading.loop_graph import END, Graph, LoopEdge

_ZERO = Fraction(0)


def record_potential(
    graph: Graph, draws: Mapping[Symbol, AlignedNoise], phases: Sequence[Phase]
) -> Potential:
    """The same as `potential`, for the graph of a function of sums (`reading.cases.graphs`)."""
    moves = [p for p in phases if p.move >= 0]
    start, states, steps = steps_of(graph, [p for p in phases if p.before == p.after == 0])
    budgets: dict[BudgetState, Fraction] = dict.fromkeys(states, _ZERO)
    slots = {node.index: node.slots for node in graph.nodes}
    differences = {
        (state, slot): _ZERO for state in states if state.node != END for slot in slots[state.node]
    }
    found = [
        BudgetStep(
            source, number, move, target, dict.fromkeys(graph.edges[number].draws, _ZERO), _ZERO
        )
        for source, number, move, target in steps
    ]
    reading = next(i for i, e in enumerate(graph.edges) if e.reads)
    before = next(s for s in states if s.node == graph.edges[reading].source)
    chain = _only_way(graph)
    for move in moves:
        moved = _forced(graph, chain, draws, move) if chain is not None else None
        if moved is None:
            after = [p for p in phases if p.before == move.after]
            moved = potential(graph, draws, [move, *after])
        first = next(s.target for s in moved.steps if s.edge == reading and s.move == move)
        budgets[before] = max(budgets[before], moved.budgets[first])
        budgets.update({s: b for s, b in moved.budgets.items() if s.phase == move.after})
        differences.update({k: d for k, d in moved.differences.items() if k[0].phase == move.after})
        found.append(BudgetStep(before, reading, move, first, {}, _ZERO))
        found += [s for s in moved.steps if s.source.phase == move.after]
    budgets[start] = budgets[before]
    return Potential(budgets[start], budgets, differences, found, start)


def _only_way(graph: Graph) -> list[tuple[int, LoopEdge]] | None:
    """The edges after the pass over the records, where there is only one way.

    None where something is decided, or a release has not one symmetric noise of its own.
    """
    at, found = 1, []
    for _ in range(len(graph.edges)):
        ways = [(i, e) for i, e in enumerate(graph.edges) if e.source == at and not e.reads]
        if len(ways) != 1 or ways[0][1].blocks:
            return None
        edge = ways[0][1]
        own = [[s for s in form.terms if s.kind == "noise"] for form in edge.forms]
        kept = {s for form in edge.updates.values() for s in form.terms if s.kind == "noise"}
        single = [names[0] for names in own if len(names) == 1]
        if len(single) != len(own) or len({*single}) != len(single) or kept:
            return None
        found += ways
        if edge.target == END:
            return found
        at = edge.target
    return None


def _forced(
    graph: Graph,
    chain: Sequence[tuple[int, LoopEdge]],
    draws: Mapping[Symbol, AlignedNoise],
    move: Phase,
) -> Potential | None:
    """Every release fixes the shift of its noise: nothing is left to choose."""
    reading = next(i for i, e in enumerate(graph.edges) if e.reads)
    difference = {
        slot: _at(form, dict.fromkeys(graph.nodes[1].slots, _ZERO), move.corner)
        for slot, form in graph.edges[reading].updates.items()
    }
    still = Phase(move.after, {}, move.after)

    def state(node: int) -> BudgetState:  # once in each phase: no need to tell its slots
        return BudgetState(END, 0) if node == END else BudgetState(node, move.after)

    now = difference
    here = state(1)
    start = BudgetState(1, 0)
    steps = [BudgetStep(start, reading, move, here, {}, _ZERO)]
    differences = {(here, slot): v for slot, v in now.items()}
    for number, edge in chain:
        shifts = dict.fromkeys(edge.draws, _ZERO)
        for form in edge.forms:
            (noise,) = (s for s in form.terms if s.kind == "noise")
            if draws[noise].kind not in ("absolute", "square") or not draws[noise].rate:
                return None
            shifts[noise] = -_at(form, now, {}) / form.terms[noise]
        cost = sum(
            (
                draws[h].rate * (x * x if draws[h].kind == "square" else abs(x))
                for h, x in shifts.items()
                if x
            ),
            _ZERO,
        )
        now = {slot: _at(form, now, {}) for slot, form in edge.updates.items()}
        target = state(edge.target)
        steps.append(BudgetStep(here, number, still, target, shifts, cost))
        if target.node != END:
            differences.update({(target, slot): v for slot, v in now.items()})
        here = target
    budgets: dict[BudgetState, Fraction] = {BudgetState(END, 0): _ZERO}
    for step in reversed(steps[1:]):
        budgets[step.source] = budgets[step.target] + step.cost
    first = steps[0].target
    steps.append(BudgetStep(first, reading, still, first, {}, _ZERO))  # the other records
    return Potential(_ZERO, budgets, differences, steps, start)


def _at(
    form: Form, slots: Mapping[Symbol, Fraction], corner: Mapping[Symbol, Fraction]
) -> Fraction:
    """How much a form moves, but for its noise."""
    return sum(
        (
            c * (slots[s] if s.kind == "state" else corner.get(s, _ZERO))
            for s, c in form.terms.items()
            if s.kind != "noise"
        ),
        _ZERO,
    )
