"""How far sums over records move between neighbours: by what one record adds, case by case.

In each case a record adds an affine function of itself, and its numbers lie in a box (the domain
and the conditions of the case). So what it may add is a union of polytopes, and what neighbours
differ by lies between differences of their corners: the kernel finds the same list.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.proofs.alignments.alignment import AlignedNoise
from dpest.proofs.proof import AttainingPair, Lower
from dpest.reading.cases.records import ReadCases, RecordError, SymbolicRecord
from dpest.reading.decision_path import Block
from dpest.reading.loop_graph import END, Graph

Point = tuple[tuple[Symbol, Fraction], ...]
_MANY_MOVES = 100
_MOST_MOVES = 2_500


def added(cases: ReadCases) -> list[Point]:
    """What one record may add: the corners of each case, without repetitions."""
    found: dict[Point, None] = {}
    for blocks, values in cases.leaves:
        box = box_of_case(cases.entry, blocks)
        if any(low > high for low, high in box.values()):
            continue
        used = sorted({s for form in values.values() for s in form.terms})
        if any(math.isinf(end) for s in used for end in box[s]):
            raise RecordError(
                "a record may add anything to a sum, and no noise hides that: clip the data first "
                "(np.clip), or bound the domain (domain=dpest.reals(dpest.ANY, low, high))"
            )
        for corner in itertools.product(*(box[s] for s in used)):
            at = dict(zip(used, corner, strict=True))
            point = ((t, form.at(at)) for t, form in values.items())
            found[_point(point)] = None
    return list(found)


def _point(values: Any) -> Point:
    return tuple(sorted((t, v) for t, v in values if v))


def box_of_case(entry: SymbolicRecord, blocks: tuple[Block, ...]) -> dict[Symbol, tuple[Any, Any]]:
    """Where the numbers of a record are: conditions on several at once only make it less."""
    box = dict(zip(entry.symbols, entry.ranges, strict=True))
    for condition in (c for block in blocks for c in block):
        if len(condition.form.terms) == 1:
            ((symbol, slope),) = condition.form.terms.items()
            low, high = box[symbol]
            end = -condition.form.constant / slope
            box[symbol] = (max(low, end), high) if slope > 0 else (low, min(high, end))
    return box


def moves(cases: ReadCases, come_and_go: bool) -> list[Point]:
    """All differences between neighbours; of two steps, those of each."""
    points = added(cases)
    if come_and_go or cases.two_steps:
        return list(dict.fromkeys([*points, *(tuple((t, -v) for t, v in p) for p in points)]))
    if len(points) ** 2 > _MOST_MOVES:
        raise RecordError(
            f"{len(points)} different records make too many pairs for a bound: give a domain with "
            "fewer values"
        )
    found = dict.fromkeys(_difference(a, b) for a, b in itertools.product(points, points))
    return list(dict.fromkeys(m for move in found for m in _parts(move, cases)))


def may_take_two_steps(cases: ReadCases) -> bool:
    """Whether so many pairs of records differ that two steps should be tried first.

    Replacing a record is removing it and adding another. That costs no more where records add to
    different sums (a histogram), and takes 2k moves for k records instead of k².
    """
    return not cases.statistics and len(added(cases)) ** 2 > _MANY_MOVES


def _difference(a: Point, b: Point) -> Point:
    left, right = dict(a), dict(b)
    every = {*left, *right}
    return _point((t, right.get(t, Fraction(0)) - left.get(t, Fraction(0))) for t in every)


def _parts(move: Point, cases: ReadCases) -> Iterator[Point]:
    """An order statistic moves by any part of what its values move by."""
    options = [((t, v),) if t not in cases.statistics else ((t, v), None) for t, v in move]
    for chosen in itertools.product(*options):
        yield tuple(part for part in chosen if part is not None)


def attained(
    question: Any, graph: Graph, draws: Mapping[Symbol, AlignedNoise], bound: Fraction
) -> Lower | None:
    """A pair of inputs on which the bound is attained, where that can be read off.

    If nothing is decided and every released number has symmetric noise of its own, then the
    log-ratio of the densities far out in every coordinate is Σ rate·|difference|.
    """
    cases: ReadCases = graph.world.cases
    released = _released(graph)
    if released is None:
        return None
    rates: list[tuple[Mapping[Symbol, Fraction], Fraction]] = []
    noises: list[Symbol] = []
    for form, origin in released:
        own = [s for s in form.terms if s.kind == "noise"]
        noises += own
        draw = draws[origin[own[0]]] if len(own) == 1 else None
        if draw is None or draw.kind != "absolute" or not draw.attained:
            return None
        scale = draws[origin[own[0]]].rate / abs(form.terms[own[0]])
        rates.append(({s: c for s, c in form.terms.items() if s.kind == "state"}, scale))
    if len(set(noises)) != len(noises):
        return None
    records = list(_records(cases))
    come_and_go = question.adjacency.changes_length
    for a, b in itertools.product([None] if come_and_go else records, records):
        before = {} if a is None else a[1]
        moved = {cases.slots[t]: v - before.get(t, 0) for t, v in b[1].items()}
        cost = sum(
            (
                scale * abs(sum((c * moved.get(s, 0) for s, c in sums.items()), Fraction(0)))
                for sums, scale in rates
            ),
            Fraction(0),
        )
        if cost == bound:  # of one record every order statistic is its value
            x, x2 = ([b[0]], [b[0], b[0]]) if a is None else ([a[0]], [b[0]])
            if question.adjacency.radius is not None and not question.adjacency.holds(x, x2):
                continue  # a record is replaced by a near one alone
            return Lower(bound, len(x2), AttainingPair(x, x2, f"on {x} against {x2}"))
    return None


def _released(graph: Graph) -> list[tuple[Form, dict[Symbol, Symbol]]] | None:
    """All released numbers as forms of the sums and of noises, where there is only one way.

    A noise of a loop's turn gets a name of its own; the dict says which noise it is.
    """
    at, found = 1, []
    values: dict[Symbol, Form] = {slot: Form.of(slot) for slot in graph.nodes[1].slots}
    origin: dict[Symbol, Symbol] = {}
    for step in range(len(graph.edges)):
        ways = [e for e in graph.edges if e.source == at and not e.reads]
        if len(ways) != 1 or ways[0].blocks:
            return None
        (edge,) = ways
        here = dict(values)
        for symbol in edge.draws:
            fresh = Symbol("noise", f"{symbol.name}@{step}")
            origin[fresh] = symbol
            here[symbol] = Form.of(fresh)
        found += [(form.substitute(here), origin) for form in edge.forms]
        if edge.target == END:
            return found
        values = {slot: form.substitute(here) for slot, form in edge.updates.items()}
        at = edge.target
    return None


def _records(cases: ReadCases) -> Iterator[tuple[Any, dict[Symbol, Fraction]]]:
    """Records of every case, and what they add."""
    entry = cases.entry
    for blocks, values in cases.leaves:
        held = [*entry.known(), *(c for block in blocks for c in block)]
        box = box_of_case(entry, blocks)
        ends = [[e for e in box[s] if not math.isinf(e)] for s in entry.symbols]
        corners = [dict(zip(entry.symbols, c, strict=True)) for c in itertools.product(*ends)]
        inside = feasible(held)
        if inside is not None:
            corners.append({s: inside.get(s, Fraction(0)) for s in entry.symbols})
        for at in corners:
            whole = not entry.integers or all(v.denominator == 1 for v in at.values())
            if whole and all(c.holds(at) for c in held):
                numbers = [_plain(at[s]) for s in entry.symbols]
                yield entry.make(numbers), {t: f.at(at) for t, f in values.items()}


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
