"""A proof for every length: a budget for each state of the loop that no step overdraws.

State = (node of the loop graph, phase of the adjacency). V(state) bounds what the rest of the run
can cost; slots have one difference D per state. One linear program finds V, D and the shifts of
every step with V(state) ≥ cost(step) + V(next state), for every difference of that step's datum.
A proof for one step is then a proof for every length.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Form, Symbol
from dpest.proofs.alignments.adjacency_faces import faces, whole_data
from dpest.proofs.alignments.alignment import AlignedNoise, points
from dpest.proofs.alignments.linear_program import (
    Affine,
    InfeasibleError,
    LinearProgram,
    Solution,
    combine,
    constant,
)
from dpest.proofs.loops.contributions import moves
from dpest.reading.loop_graph import END, Graph, LoopEdge
from dpest.reading.world import ELEMENT, fields_of

_MOST_STATES = 5_000
Corner = dict[Symbol, Fraction]


@dataclass(frozen=True)
class Phase:
    """While in phase `before` the datum may move by a corner; then the phase is `after`."""

    before: int
    corner: Corner
    after: int
    move: int = -1
    """Which corner it is; -1: the datum does not move."""


@dataclass(frozen=True)
class BudgetState:
    """`known` are the differences of slots without noise: they follow from the data alone."""

    node: int
    phase: int
    known: tuple[tuple[Symbol, Fraction], ...] = ()


@dataclass(frozen=True)
class BudgetStep:
    source: BudgetState
    edge: int
    move: Phase
    target: BudgetState
    shifts: Mapping[Symbol, Fraction]
    cost: Fraction
    weight: float = 0.0
    """How often the worst run takes it, as the solver sees it (a hint for the lower bound)."""

    @property
    def corner(self) -> Corner:
        return self.move.corner


@dataclass(frozen=True)
class Potential:
    """One component of the adjacency: budgets, slot differences and steps."""

    epsilon: Fraction
    budgets: Mapping[BudgetState, Fraction]
    differences: Mapping[tuple[BudgetState, Symbol], Fraction]
    steps: Sequence[BudgetStep]
    start: BudgetState


def automata(
    adjacency: Any,
    graph: Graph,
    domain: Any = None,
    draws: Mapping[Symbol, AlignedNoise] | None = None,
    integers: bool = False,
) -> list[list[Phase]]:
    """The adjacency as phases, one list per component; `integers`: whether the data are.

    linf, monotone: each datum moves within a box, on its own. l1, replace_one: nothing moves until
    one datum moves by a corner of its face, then nothing again.
    """
    if graph.world.cases is not None:
        return [_one_of(corners_of(adjacency, graph, draws))]
    entry = fields_of(ELEMENT.name, len(getattr(domain, "fields", ())))
    components = faces(adjacency, entry, graph.world.derived, domain, integers)
    integral = any(draw.integral for draw in (draws or {}).values())
    whole = whole_data(entry, graph.world.derived, integers)
    if not adjacency.moves_one:
        return [
            [Phase(0, c, 0, m) for m, c in enumerate(_corners(face, graph, integral, whole))]
            for (face,) in components
        ]
    return [
        _one_of(
            [
                c
                for group in components
                for face in group
                for c in _corners(face, graph, integral, whole)
            ]
        )
    ]


def corners_of(
    adjacency: Any, graph: Graph, draws: Mapping[Symbol, AlignedNoise] | None = None
) -> list[Corner]:
    """By how much the sums over records may differ, where one record is looked at case by case."""
    cases = graph.world.cases
    found = moves(cases, adjacency.changes_length)
    used = (draws or {}).values()
    whole = all(not f.terms for _, values in cases.leaves for f in values.values())
    steps = whole and all(v.denominator == 1 for move in found for _, v in move)
    if any(draw.integral for draw in used) and (not steps or cases.statistics):
        raise RefusedError(
            "integer noise on sums that do not move by a few integers: say that the data are "
            "integers (domain=dpest.integers(dpest.ANY, low, high))"
        )
    return [dict(move) for move in found]


def _one_of(moves: Sequence[Corner]) -> list[Phase]:
    """Nothing moves until one datum moves by one of the corners, then nothing again."""
    phases = [Phase(0, {}, 0)]
    for move, corner in enumerate(moves):
        phases += [Phase(0, corner, move + 1, move), Phase(move + 1, {}, move + 1)]
    return phases


def _corners(
    face: Mapping[Symbol, tuple[Any, Any]], graph: Graph, integral: bool, whole: frozenset[Symbol]
) -> list[Corner]:
    used = {s for e in graph.edges if e.reads for form in _forms(e) for s in form.terms}
    names = sorted(s for s in face if s in used)
    for name in names:
        if any(abs(end) == float("inf") for end in face[name]):
            raise RefusedError(
                "an entry may be anything, and it is used as it is: no noise hides that. Clip the "
                "data first (np.clip), or bound the adjacency (radius) or the domain"
            )
    ends = [points(name, face[name], integral, whole) for name in names]
    if integral and not all(
        name in whole and found for name, found in zip(names, ends, strict=True)
    ):
        raise RefusedError(
            "integer noise in a loop on data that do not differ by a few integers: say that the "
            "data are integers (domain=dpest.integers()), or give a length"
        )
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*ends)]


def _forms(edge: LoopEdge) -> list[Form]:
    return [
        *(c.form for block in edge.blocks for c in block),
        *edge.updates.values(),
        *edge.forms,
    ]


def steps_of(
    graph: Graph, phases: Sequence[Phase]
) -> tuple[BudgetState, list[BudgetState], list[Any]]:
    """All states that can be reached, and the steps between them."""
    leaving: dict[int, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        leaving.setdefault(edge.source, []).append(number)
    one_move = any(p.after != p.before for p in phases)
    start = BudgetState(0, 0)
    seen = {start: None}
    todo = [start]
    steps: list[tuple[BudgetState, int, Phase, BudgetState]] = []
    while todo:
        state = todo.pop()
        known = dict(state.known)
        for number in leaving.get(state.node, []):
            edge = graph.edges[number]
            moves = (
                [p for p in phases if p.before == state.phase]
                if edge.reads
                else [Phase(state.phase, {}, state.phase)]
            )
            for move in moves:
                if edge.target == END:
                    target = BudgetState(END, 0)
                else:
                    fixed = _known_after(edge, known, move.corner) if one_move else ()
                    target = BudgetState(edge.target, move.after, fixed)
                steps.append((state, number, move, target))
                if target not in seen:
                    if len(seen) > _MOST_STATES:
                        raise RefusedError(
                            "the differences of the loop's variables take too many values: give a "
                            "length instead of ANY"
                        )
                    seen[target] = None
                    if target.node != END:
                        todo.append(target)
    return start, list(seen), steps


def _known_after(
    edge: LoopEdge, known: Mapping[Symbol, Fraction], corner: Corner
) -> tuple[tuple[Symbol, Fraction], ...]:
    found = []
    for slot, form in sorted(edge.updates.items()):
        if all(s.kind == "input" or s in known for s in form.terms):
            moved = sum(
                (
                    c * (corner.get(s, Fraction(0)) if s.kind == "input" else known[s])
                    for s, c in form.terms.items()
                ),
                Fraction(0),
            )
            found.append((slot, moved))
    return tuple(found)


def potential(
    graph: Graph, draws: Mapping[Symbol, AlignedNoise], phases: Sequence[Phase]
) -> Potential:
    """The least budget of the start; raises InfeasibleError if no budget is enough.

    With Gaussian noise the program finds shifts of least total size that leave every condition as
    it is; budgets are then the greatest Σ rate·s² that a run can come to (ρ of zCDP).
    """
    program = _BudgetProgram(graph, draws, phases)
    solution = program.solved()
    found = program.solved_steps(solution)
    differences = {key: solution.at(x) for key, x in program.differences.items()}
    start = program.start
    if program.squares:
        found, spent = squared(found, draws, program.states)
        return Potential(spent[start], spent, differences, found, start)
    budgets = {state: solution.at(x) for state, x in program.budgets.items()}
    return Potential(budgets[start], budgets, differences, found, start)


class _BudgetProgram:
    """The program: a budget for each state, differences of its slots, shifts of each step."""

    def __init__(
        self, graph: Graph, draws: Mapping[Symbol, AlignedNoise], phases: Sequence[Phase]
    ) -> None:
        self.graph = graph
        self.draws = draws
        self.squares = any(draw.kind == "square" for draw in draws.values())
        self.start, self.states, self.steps = steps_of(graph, phases)
        self.budgets: dict[BudgetState, Affine] = {}
        self.differences: dict[tuple[BudgetState, Symbol], Affine] = {}
        self._program = LinearProgram()
        self._shifts: list[dict[Symbol, Affine]] = []
        self._shared: dict[Any, Affine] = {}
        self._balances: list[int] = []

    def solved(self) -> Solution:
        """The solution with the least budget of the start."""
        self._add_states()
        for source, number, move, target in self.steps:
            self._add_step(source, self.graph.edges[number], move, target)
        return self._program.minimise(self.budgets[self.start])

    def solved_steps(self, solution: Solution) -> list[BudgetStep]:
        """The steps with the shifts of a solution."""
        found = []
        for step, here, row in zip(self.steps, self._shifts, self._balances, strict=True):
            source, number, move, target = step
            shifts = {s: solution.at(x) for s, x in here.items()}
            cost = sum((self.draws[s].rate * abs(x) for s, x in shifts.items()), Fraction(0))
            weight = abs(solution.inequality_multipliers[row])
            found.append(BudgetStep(source, number, move, target, shifts, cost, weight))
        return found

    def _add_states(self) -> None:
        slots = {node.index: node.slots for node in self.graph.nodes}
        for state in self.states:
            if state.node == END:
                self.budgets[state] = constant(0)
                continue
            self.budgets[state] = self._program.variable(0)
            known = dict(state.known)
            for slot in slots[state.node]:
                self.differences[state, slot] = (
                    constant(known[slot]) if slot in known else self._program.variable()
                )

    def _add_step(
        self, source: BudgetState, edge: LoopEdge, move: Phase, target: BudgetState
    ) -> None:
        """The shifts of a step release the same things, and its budget pays for them."""
        shifts = {s: self._shift(s, source, edge, move) for s in edge.draws}
        self._shifts.append(shifts)
        program = self._program

        def moved(form: Form) -> Affine:
            parts: list[tuple[Fraction, Affine]] = []
            for symbol, coefficient in form.terms.items():
                if symbol.kind == "noise":
                    parts.append((coefficient, shifts[symbol]))
                elif symbol.kind == "state":
                    parts.append((coefficient, self.differences[source, symbol]))
                else:
                    parts.append((coefficient, constant(move.corner.get(symbol, Fraction(0)))))
            return combine(*parts)

        for block in edge.blocks:
            for condition in block:
                if self.squares:
                    program.require_zero(moved(condition.form))
                else:
                    program.require_non_negative(moved(condition.form))
        for form in edge.forms:
            program.require_zero(moved(form))
        for slot, form in edge.updates.items():
            program.require_zero(combine((1, self.differences[target, slot]), (-1, moved(form))))
        balance = combine((1, self.budgets[source]), (-1, self.budgets[target]))
        for symbol, shift in shifts.items():
            draw = self.draws[symbol]
            if draw.rate:
                balance = combine((1, balance), (-draw.rate, self._size(draw, shift)))
        self._balances.append(program.require_non_negative(balance))

    def _shift(self, symbol: Symbol, source: BudgetState, edge: LoopEdge, move: Phase) -> Affine:
        """By how much a noise moves in a step."""
        draw = self.draws[symbol]
        if not draw.rate:
            return constant(0)
        if draw.kind == "square":
            # One shift, whichever way is taken: a maximum over ways is no Rényi bound.
            key = (source, edge.reads, move.move, symbol)
            if key not in self._shared:
                self._shared[key] = self._program.variable(None, draw.integral)
            return self._shared[key]
        lower = None if draw.kind == "absolute" else 0
        return self._program.variable(lower, draw.integral)

    def _size(self, draw: AlignedNoise, shift: Affine) -> Affine:
        """What is paid for a shift: its absolute value, or itself where it is one-sided."""
        if draw.kind not in ("absolute", "square"):
            return shift
        size = self._program.variable(0)
        self._program.require_non_negative(combine((1, size), (1, shift)))
        self._program.require_non_negative(combine((1, size), (-1, shift)))
        return size


def squared(
    steps: Sequence[BudgetStep], draws: Mapping[Symbol, AlignedNoise], states: Sequence[BudgetState]
) -> tuple[list[BudgetStep], dict[BudgetState, Fraction]]:
    """The steps with their Rényi costs, and the most that is spent from each state on."""
    found = [
        replace(s, cost=sum((draws[h].rate * x * x for h, x in s.shifts.items()), Fraction(0)))
        for s in steps
    ]
    spent = dict.fromkeys(states, Fraction(0))
    for _ in range(len(states) + 1):
        changed = False
        for step in found:
            needed = step.cost + spent[step.target]
            if needed > spent[step.source]:
                spent[step.source], changed = needed, True
        if not changed:
            return found, spent
    raise InfeasibleError


__all__ = [
    "BudgetState",
    "BudgetStep",
    "InfeasibleError",
    "Phase",
    "Potential",
    "automata",
    "potential",
]
