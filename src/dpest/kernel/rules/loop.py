"""Loop: a program that passes over its data once, for every length. ε, or ρ with Gaussian noise.

Lemma. Follow the two runs state by state: the same edges are taken and the same things released,
if every step is aligned (see `alignment`) with the differences of the slots before and after it.
Let no step cost more than the budget of its state less that of the next. Then all steps of a run
cost no more than the budget of the first state, however long the data are. The edges that leave a
node are disjoint and cover everything, so that each noise has one way, which is carried into
itself. Every corner of what an entry may differ by is a move of its own; costs are convex.

Where one entry moves, the phase of a state says whether it has been read. Then Gaussian noise may
be shifted, by the same amount on all edges of a step that leave everything exactly as it is (see
`square`): ρ adds up along a run. Replacing a record in two steps doubles the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..alignment import AffineForm, BoxPlan, KeptRegion, need_aligned, need_kept, points
from ..farkas import need_empty
from ..fields import Extended, Fields
from ..forms import ONE, STILL, ZERO, Interval, Terms, symbols_of, terms_of
from ..header import Header
from ..invalid import need
from ..models.data import MOST_POINTS
from ..models.decisions import Branch, held, need_all_branches
from ..models.graph import (
    END,
    GraphBudgets,
    GraphEdge,
    GraphState,
    GraphStep,
    StateGraph,
    read_graph,
)
from ..models.model import Numbers, need_pure, read_numbers, read_power
from ..models.noise import Noises, support_of
from ..models.records import RecordCases, read_cases, record_moves
from ..statement import Finding

Move = Mapping[str, Extended]


@dataclass(frozen=True)
class BudgetedLoop:
    numbers: Numbers
    graph: StateGraph
    cases: RecordCases | None
    squares: bool
    """Whether the noise is Gaussian, and ρ is bounded."""

    @property
    def one_moves(self) -> bool:
        return self.numbers.header.adjacency.shape.moves_one

    @property
    def integral(self) -> bool:
        return any(noise.integral for noise in self.numbers.noises.values())

    @property
    def data(self) -> set[str]:
        """The symbols of the entry that is read."""
        sums = () if self.cases is None else (k for k in self.graph.used if k.startswith("t"))
        return {*self.numbers.inputs, *self.numbers.data.derived, *sums}


def read(header: Header, fields: Fields) -> tuple[BudgetedLoop, int]:
    """The loop, and the power of the unit in its bound."""
    numbers = read_numbers(header, fields, ["q"])
    squares = any(noise.rule == "square" for noise in numbers.noises.values())
    power = read_power(header, fields) if squares else 1
    need_pure(fields)
    graph = read_graph(fields)
    cases = read_cases(fields) if fields.has("cases") else None
    fields.done()
    return BudgetedLoop(numbers, graph, cases, squares), power


def check(header: Header, fields: Fields) -> Finding:
    loop, power = read(header, fields)
    graph, cases, numbers, squares = loop.graph, loop.cases, loop.numbers, loop.squares
    _need_every_way(loop)
    steps = 1 if cases is None else cases.steps
    need(not squares or (loop.one_moves and steps == 1), "Gaussian noise: one entry, one step")
    moves = moves_of(loop)
    need(len(graph.potentials) == len(moves), "components: not one for each of the adjacency")
    for potential, corners in zip(graph.potentials, moves, strict=True):
        start = potential.start
        need(start.node == start.phase == 0 and not graph.slots[0], "start: not at the start")
        need(steps * start.budget <= header.value(), "start: its budget is above the bound")
        _need_potential(loop, potential, corners)
    declared = cases is not None and header.adjacency.shape.changes_length
    return Finding(
        "rho" if squares else "epsilon",
        header.value(),
        numbers.lengths,
        numbers.stated(declared),
        power,
        numbers.assumptions,
    )


def _need_every_way(loop: BudgetedLoop) -> None:
    """The edges that leave a node cover everything; a program can stop when its data end."""
    graph, noises = loop.graph, loop.numbers.noises
    leaving: dict[tuple[int, bool], list[Branch]] = {}
    for edge in graph.edges:
        need(noises.keys() >= set(edge.noise), "edges: an unknown noise")
        leaving.setdefault((edge.source, edge.reads), []).append(edge.branch)
    for dead in graph.dead:
        leaving.setdefault((dead.source, dead.reads), []).append(dead.branch)
        conditions = held(dead.branch)
        drawn = sorted(symbols_of(map(terms_of, conditions)) & noises.keys())
        every = [*support_of(drawn, noises), *conditions]
        need_empty(every, dead.empty, noises, f"dead branch of {dead.source}")
    for (node, reads), branches in leaving.items():
        need_all_branches(branches, f"node {node}")
        ends = not reads or (node, False) in leaving
        need(ends or loop.numbers.header.length is not None, f"node {node}: endless")
    need({node for node, _ in leaving} == graph.slots.keys(), "nodes: a dead end")
    if loop.cases is not None:
        for edge in graph.edges:
            _need_sums_only(edge)


def _need_sums_only(edge: GraphEdge) -> None:
    """With cases, a turn only adds to sums, and nothing else sees data."""
    if not edge.reads:
        need(not any(k[:1] in ("q", "c", "i", "t") for k in edge.symbols), "a turn: data elsewhere")
        return
    own = all(terms.get(slot) == ONE for slot, terms in edge.slots.items())
    adds = all(k == slot or k[:1] == "t" for slot, terms in edge.slots.items() for k in terms)
    need(own and adds and edge.source == edge.target, "a turn does not only add")
    bare = not (edge.branch or edge.noise or edge.real or edge.release)
    need(bare, "a turn does more than to add")


def moves_of(loop: BudgetedLoop) -> list[list[Move]]:
    """For each component of the adjacency all corners of what an entry may differ by."""
    numbers, used = loop.numbers, loop.graph.used
    if loop.cases is not None:
        adjacency = numbers.header.adjacency
        found: list[list[Move]] = [
            [*record_moves(loop.cases, adjacency, numbers.data, loop.integral)]
        ]
    else:
        region = KeptRegion([], [], numbers.noises, numbers.whole)
        data = used & loop.data
        need(not loop.integral or data <= numbers.whole, "data of integer noise are no integers")
        groups = numbers.faces()
        found = [[m for face in group for m in _corners(face, data, region)] for group in groups]
    if loop.one_moves:
        found = [[move for group in found for move in group]]
    need(all(found), "no moves")
    return found


def _corners(face: Mapping[str, Interval], data: set[str], region: KeptRegion) -> Iterator[Move]:
    need(face.keys() >= data, "unknown data")
    names = sorted(data)
    ends = [points(k, face[k], region) for k in names]
    count = 1
    for values in ends:
        need(not any(isinstance(v, float) for v in values), "data without bounds")
        count *= len(values)
        need(count <= MOST_POINTS, "too many corners to be checked")
    for corner in itertools.product(*ends):
        yield dict(zip(names, corner, strict=True))


def _need_potential(loop: BudgetedLoop, potential: GraphBudgets, moves: Sequence[Move]) -> None:
    """Every step from every state is there, is aligned, and is within its budget."""
    shared: dict[tuple[int, bool, int, str], Fraction] = {}
    leaving: dict[int, list[tuple[int, GraphEdge]]] = {}
    used: set[tuple[int, int, int]] = set()
    for number, edge in enumerate(loop.graph.edges):
        leaving.setdefault(edge.source, []).append((number, edge))
    for state in potential.states.values():
        for number, edge in leaving.get(state.node, []):
            for place, move, phase in _turns(loop, state, edge, moves):
                where = f"state {state.number}, edge {number}, move {place}"
                step = potential.steps.get((state.number, number, place))
                if step is None:
                    need(False, f"{where}: missing")
                    continue
                after = potential.states[step.following]
                leads = after.node == edge.target and (edge.target == END or after.phase == phase)
                need(leads, f"{where}: leads elsewhere")
                _need_step(loop, edge, move, (state, step, after), where)
                for name in edge.noise if loop.squares else ():
                    key = (state.number, edge.reads, place, name)
                    amount = step.shift.get(name, ZERO)
                    same = shared.setdefault(key, amount) == amount
                    need(same, f"{where}: shifts of Gaussian noise differ")
                used.add((state.number, number, place))
    need(used == potential.steps.keys(), "steps: one that no run takes")


def _turns(
    loop: BudgetedLoop, state: GraphState, edge: GraphEdge, moves: Sequence[Move]
) -> Iterator[tuple[int, Move, int]]:
    """(move, what the entry differs by, the phase after it)"""
    if loop.one_moves or not edge.reads:
        yield -1, {}, state.phase
    if edge.reads and (not loop.one_moves or state.phase == 0):
        for place, move in enumerate(moves):
            yield place, move, place + 1 if loop.one_moves else 0


def _need_step(
    loop: BudgetedLoop,
    edge: GraphEdge,
    move: Move,
    way: tuple[GraphState, GraphStep, GraphState],
    where: str,
) -> None:
    before, step, after = way
    region, plan = aligned_step(loop, edge, move, way)
    budget = before.budget - after.budget
    if loop.squares:
        exact = [*region.pin, *map(terms_of, region.keep)]
        need_kept(KeptRegion([], exact, region.noises, region.whole), plan, where)
        cost = _squared_cost(step, region.noises, where)
        need(cost <= budget, f"{where}: it costs more than is left")
    else:
        need_aligned(region, plan, budget, where)


def aligned_step(
    loop: BudgetedLoop, edge: GraphEdge, move: Move, way: tuple[GraphState, GraphStep, GraphState]
) -> tuple[KeptRegion, BoxPlan]:
    """What a step must keep, and its shift; `=v` stands for the difference of v afterwards."""
    before, step, after = way
    box: dict[str, Interval] = {k: (v, v) for k, v in before.difference.items()}
    if edge.reads:
        box |= dict.fromkeys(loop.data, STILL)
        box |= {k: (v, v) for k, v in move.items()}
    box |= {f"={k}": (v, v) for k, v in after.difference.items()}
    pin: list[Terms] = [*edge.real]
    pin += [{**terms, f"={k}": -ONE} for k, terms in edge.slots.items()]
    noises = {name: loop.numbers.noises[name] for name in edge.noise}
    shift = {name: AffineForm(amount) for name, amount in step.shift.items()}
    size = {name: AffineForm(abs(amount)) for name, amount in step.shift.items()}
    return KeptRegion(edge.keep, pin, noises, loop.numbers.whole), BoxPlan(box, shift, size)


def _squared_cost(step: GraphStep, noises: Noises, where: str) -> Fraction:
    total = ZERO
    for name, amount in step.shift.items():
        noise = noises[name]
        need(not amount or noise.rule == "square", f"{where}: only Gaussian noise may move")
        need(not noise.integral or amount.denominator == 1, f"{where}: a shift is not an integer")
        total += noise.rate * amount * amount
    return total
