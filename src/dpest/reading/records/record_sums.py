"""A function of sums over records, of any number, that looks at each record case by case.

The graph has one pass over the data, which comes first: every turn adds what its record adds to
all the sums that the function asks for anywhere. So the function may pass over its data often.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.geometry.linear import Form, Symbol
from dpest.reading.loops.loop_graph import END, Graph, LoopEdge, LoopNode
from dpest.reading.loops.loops import BUILTINS, LoopBuilder, LoopState
from dpest.reading.loops.merging import decided
from dpest.reading.loops.piece_runs import PieceOutcome, executed
from dpest.reading.loops.pieces import ITEM, Piece
from dpest.reading.records.public_sizes import RecordPlace, RecordPlaces
from dpest.reading.records.record_cases import (
    SKIPPED,
    CaseTable,
    Entry,
    ReadCase,
    RecordError,
    RecordRun,
    Sums,
    as_number,
    explored,
)
from dpest.reading.records.record_containers import Tally
from dpest.reading.records.records import RecordValues, of_table
from dpest.reading.tracing.generator import SymbolicGenerator
from dpest.reading.tracing.patches import overlay_of
from dpest.reading.tracing.running import in_run
from dpest.reading.tracing.states import copied, signature
from dpest.reading.tracing.symbolic import Real
from dpest.reading.tracing.symbolic_arrays import symbolic_array

Path = tuple[Any, ...]
_NUMBER = (int, float, np.integer, np.floating, Real)


class SumsBuilder(LoopBuilder):
    """Builds the graph of a function of sums over records."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        entry: Entry = args[-1]
        self.sums = Sums(entry)

    def data(self, element: Any) -> Any:
        found = RecordValues(lambda record: record)
        return found.as_array() if self.sums.entry.array else found

    def kept_slots(self) -> Iterable[Symbol]:
        return self.sums.added

    def new_run(self, *args: Any) -> Any:
        run = super().new_run(*args)
        run.sums = self.sums
        return run

    def build(self, variables: Mapping[str, Any], element: Any = None) -> Graph:
        found = super().build(variables, element)
        found.world.cases = self.sums.cases()
        return _with_sums(found, self.sums)

    # A loop over the records

    def turns(self, state: LoopState, piece: Piece, over: RecordValues | RecordPlaces) -> None:
        """What each turn adds to the variables; after the loop they hold the sums."""
        where = f"{self.parts.file}:{piece.line}"
        slots: dict[Path, Symbol] = {}
        while True:
            table, paths, lists = self._one_turn(state, piece, over, slots, where)
            new = [p for p in paths if p not in slots]
            if not new:
                break
            slots.update({p: Symbol("state", f"turn{len(slots) + i}") for i, p in enumerate(new)})
        totals = self.sums.totals(table) if paths else []
        after = dict(zip(paths, totals, strict=True))
        memo: dict[int, Any] = {}
        variables = {
            name: _changed(
                value, (name,), lambda p, v: v + after[p] if p in after else v, memo, after
            )
            for name, value in state.variables.items()
        }
        for name, value in variables.items():
            if isinstance(value, dict) and type(value) is not dict:
                # Which keys there are is private; the number at a key is not there without noise.
                variables[name] = Tally(functools.partial(_at_key, value))
        for (name,), column in lists.items():
            values = CaseTable(
                tuple(ReadCase(c.blocks, (v,)) for c, v in zip(table.cases, column, strict=True))
            )
            variables[name] = of_table(self.sums.entry, values, 0, SKIPPED not in column)
        outcome = PieceOutcome(self._still(), "next", None, variables)
        self._go(state, state.node, outcome, False, state.piece + 1, None, self.first, piece.after)

    def _one_turn(
        self, state: LoopState, piece: Piece, over: Any, slots: Mapping[Path, Symbol], where: str
    ) -> tuple[CaseTable, list[Path], dict[Path, list[Any]]]:
        """A table of what a turn adds at each path, and of what it appends to lists."""
        memo: dict[int, Any] = {}

        def opened(path: Path, value: Any) -> Any:
            return Real(Form.of(slots[path]), isinstance(value, int)) if path in slots else value

        before = {
            name: _changed(value, (name,), opened, memo, slots)
            for name, value in state.variables.items()
        }
        overlay = overlay_of(piece.names)

        def follow(run: RecordRun) -> tuple[Any]:
            def start(names: dict[str, Any]) -> bool:
                item = RecordPlace() if isinstance(over, RecordPlaces) else over.of(run.record)
                names[ITEM] = item
                return item is not SKIPPED

            outcome = executed(
                run, piece, before, SymbolicGenerator, BUILTINS, overlay, None, start
            )
            if outcome.how != "next":
                raise RecordError(
                    f"{where}: a loop over the records that ends early: what it releases depends "
                    "on their order. A sensitivity is proved for sums over all records"
                )
            if run.given:
                raise RecordError(
                    f"{where}: something is released for each record without noise of its own. "
                    "Add noise to sums over the records"
                )
            added: dict[Path, Any] = {}
            with in_run(run):
                for name in sorted(before):
                    _added(before[name], outcome.variables.get(name), (name,), added, where)
            return (added,)

        found = explored(self.sums.entry, None, follow)
        results = [case.values[0] for case in found.cases]
        every = dict.fromkeys(path for result in results for path in result)
        paths = [p for p in every if not isinstance(p[-1], _Appended)]
        lists: dict[Path, list[Any]] = {
            p[:-1]: [result.get(p, SKIPPED) for result in results]
            for p in every
            if isinstance(p[-1], _Appended)
        }
        cases = [
            ReadCase(case.blocks, tuple(_less(result.get(p), slots.get(p)) for p in paths))
            for case, result in zip(found.cases, results, strict=True)
        ]
        return CaseTable(tuple(cases), found.dead), paths, lists


class _Appended:
    """The end of a list that a turn appends to."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Appended)

    def __hash__(self) -> int:
        return 1


def _less(value: Any, slot: Symbol | None) -> Any:
    """What was added to a slot; 0 where a case leaves it alone."""
    if value is None:
        return Form()
    return value if slot is None else value.plus(Form.of(slot), -1)


def _added(before: Any, after: Any, path: Path, found: dict[Path, Any], where: str) -> None:
    """The numbers that a turn changed, as forms."""
    if isinstance(before, _NUMBER) and not isinstance(before, (bool, np.bool_)):
        changed = isinstance(after, Real) or type(after) is not type(before) or after != before
        if isinstance(before, Real) and isinstance(after, Real):
            changed = before.form != decided(after).form
        if changed:
            found[path] = as_number(after)
        return
    if isinstance(before, (list, tuple)) and type(after) is type(before):
        if len(after) == len(before):
            for i, (old, new) in enumerate(zip(before, after, strict=True)):
                _added(old, new, (*path, i), found, where)
            return
        if not before and len(after) == 1 and len(path) == 1:
            found[(*path, _Appended())] = decided(after[0])
            return
    if isinstance(before, np.ndarray) and np.shape(after) == before.shape:
        for place in np.ndindex(before.shape):
            _added(before[place], after[place], (*path, place), found, where)
        return
    if isinstance(before, dict) and isinstance(after, dict):
        missing = 0 if type(before) is not dict else None
        for key in dict.fromkeys([*before, *after]):
            if key not in before and missing is None:
                raise RecordError(
                    f"{where}: the keys of {path[0]!r} depend on the data: which values occur is "
                    "private, however noisy their counts are. Start with all of them: "
                    "{v: 0 for v in range(k)}"
                )
            _added(before.get(key, missing), after[key], (*path, key), found, where)
        return
    if getattr(before, "name", None) is not None and getattr(before, "items", None) == []:
        if after is before or not after.items:  # an output that the turn leaves alone
            return
        from dpest.reading.loops.any_length import ReadsOutputError
        from dpest.reading.tracing.running import remembered

        raise remembered(ReadsOutputError(before.name))
    if isinstance(before, (RecordValues, Tally)) or signature(before) == signature(after):
        return
    raise RecordError(
        f"{where}: after a turn {path[0]!r} depends on its record, and is no sum. A sensitivity is "
        "proved for sums and counts over the records"
    )


def _at_key(counts: Mapping[Any, Any], key: Any) -> Any:
    return counts.get(key, 0)


def _changed(
    value: Any, path: Path, change: Any, memo: dict[int, Any], paths: Iterable[Path]
) -> Any:
    """The value with its numbers replaced; two names of one list stay two names of one list.

    `paths` are the numbers that a turn may change: of a defaultdict or Counter also new ones.
    """
    if isinstance(value, _NUMBER) and not isinstance(value, (bool, np.bool_)):
        return change(path, value)
    if id(value) in memo:
        return memo[id(value)]
    if type(value) is list:
        fresh: list[Any] = []
        memo[id(value)] = fresh
        fresh.extend(_changed(v, (*path, i), change, memo, paths) for i, v in enumerate(value))
        return fresh
    if type(value) is tuple:
        return tuple(_changed(v, (*path, i), change, memo, paths) for i, v in enumerate(value))
    if isinstance(value, np.ndarray):
        parts = np.empty(value.shape, dtype=object)
        for place in np.ndindex(value.shape):
            parts[place] = _changed(value[place], (*path, place), change, memo, paths)
        same = value.dtype != object and not any(isinstance(v, Real) for v in parts.ravel())
        memo[id(value)] = copied(value) if same else symbolic_array(parts)
        return memo[id(value)]
    if isinstance(value, dict):
        made: Any = value.copy()
        memo[id(value)] = made
        new = [p[-1] for p in paths if p[:-1] == path and p[-1] not in made]
        for key in [*made, *new]:
            made[key] = _changed(value.get(key, 0), (*path, key), change, memo, paths)
        return made
    return value


def _with_sums(graph: Graph, sums: Sums) -> Graph:
    """The pass that fills all sums, put first; every node keeps them."""
    slots = tuple(sorted(sums.added))
    kept = {s: Form.of(s) for s in slots}
    nodes = [LoopNode(0, (), "start"), LoopNode(1, slots, "sums")]
    for node in graph.nodes[1:]:
        nodes.append(LoopNode(node.index + 1, tuple(sorted({*node.slots, *slots})), node.note))
    edges = [
        LoopEdge(0, 1, False, (), (), {s: Form() for s in slots}, ()),
        LoopEdge(
            1, 1, True, (), (), {s: Form.of(s).plus(Form.of(sums.added[s])) for s in slots}, ()
        ),
    ]
    for edge in graph.edges:
        updates, target = dict(edge.updates), edge.target
        if target != END:
            target += 1
            updates = {**updates, **kept}
        edges.append(replace(edge, source=edge.source + 1, target=target, updates=updates))
    dead = [(source + 1, *rest) for source, *rest in graph.dead]
    return replace(graph, nodes=nodes, edges=edges, dead=dead)  # type: ignore[arg-type]
