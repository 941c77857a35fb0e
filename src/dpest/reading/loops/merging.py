"""A function on an input of known length as a graph: equal states are one node, not many paths.

A running maximum over n noisy values has 2^n paths but only n states. The conditions that reach
a node are those that all of its ways share; the regions of two releases must then be shown to be
disjoint, which makes each region exactly the set of noises that release it. Where they are not,
the plain paths are taken instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpest.errors import DpestError, PathLimitError, UntraceableError
from dpest.geometry.linear import Form
from dpest.reading.decision_path import Block
from dpest.reading.loops.piece_runs import PieceOutcome, PieceRun, kept, outcomes
from dpest.reading.loops.pieces import GIVEN, ITEM, FunctionCut, cut, scope
from dpest.reading.merged_states import MergedEdge, MergedModel, MergedNode, all_disjoint, settle
from dpest.reading.refusals import remembered
from dpest.reading.rewrites.readings import Plan, RereadError, words
from dpest.reading.rewrites.signs import signs_among
from dpest.reading.tracing.running import in_run
from dpest.reading.tracing.states import copied, signature
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, settled
from dpest.reading.world import World
from dpest.running.watchdog import Deadline

_MOST_NODES = 20_000
_MOST_PATHS = 20_000


class _OverlappingError(Exception):
    """Merged regions are not disjoint: they are not what they stand for."""


def build(
    function: Callable[..., Any],
    variables: Mapping[str, Any],
    world: Callable[[], World] = World,
    *,
    replacements: Mapping[str, Any] | None = None,
    nodes: int = _MOST_NODES,
    width: float = math.inf,
    seconds: float = math.inf,
) -> MergedModel:
    """The graph of a function with these arguments (without rng); merged where that is exact.

    Raises PathLimitError where it has more `nodes`, or more than `width` of them at one place (each
    leads to a leaf), or takes more `seconds`.
    """
    parts, names = cut(function), replacements or {}
    plan: Plan = {}
    merge = True
    before: MergedModel | None = None
    while True:
        empty = world()
        empty.plan = plan
        empty.notes.update(dict.fromkeys(words(plan)))
        builder = _MergedBuilder(parts, empty, names, merge, nodes, width, seconds)
        try:
            model = builder.build(variables)
        except _OverlappingError:
            merge = False
        except RereadError as again:
            plan = again.added(plan)
        except DpestError:
            if before is None:
                raise
            return before
        else:
            plan = _with_signs(plan, model)
            if plan == empty.plan:
                return model
            before = model


def _with_signs(plan: Plan, model: MergedModel) -> Plan:
    conditions = [c for node in model.nodes for edge in node.incoming for c in edge.conditions]
    released = [v for leaf in model.leaves if leaf.release for v in leaf.release[1]]
    forms = [v for v in released if isinstance(v, Form)]
    return signs_among(plan, model.noises, model.world.draw_sites, conditions, forms)


class NoDraws:
    """Stands for the generator where a loop's header is evaluated."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __getattr__(self, name: str) -> Any:
        raise remembered(
            UntraceableError(
                f"what a loop runs over is drawn by rng.{name}",
                "Draw it in a statement before the loop.",
                self._where,
            )
        )


class _MergedBuilder:
    def __init__(
        self,
        parts: FunctionCut,
        world: World,
        replacements: Mapping[str, Any],
        merge: bool,
        most_nodes: int,
        width: float,
        seconds: float,
    ) -> None:
        self.parts = parts
        self.deadline = Deadline(seconds)
        self.world = world
        self.replacements = replacements
        self.merge = merge
        self.most_nodes = most_nodes
        self.width = width
        self.nodes: list[MergedNode] = []
        self.leaves: dict[Any, MergedNode] = {}
        self.dead: dict[tuple[int, tuple[Block, ...]], None] = {}
        self.order: list[MergedNode] = []

    def build(self, variables: Mapping[str, Any]) -> MergedModel:
        root = self._new(dict(variables), ())
        self.order.append(root)
        layer = [root]
        for number, piece in enumerate(self.parts.pieces):
            after: dict[Any, MergedNode] = {}
            if piece.kind != "loop":
                for node in layer:
                    for outcome in self._run(node, number, str(number), node.variables):
                        self._arrive(node, outcome, after, piece.after)
            else:
                self._loop(number, layer, after)
            layer = self._settle(after)
        for node in layer:
            self._finish(node, PieceOutcome(self._still(node), "next", None), False)
        leaves = self._settle(self.leaves)
        if not all_disjoint(leaves):
            raise _OverlappingError
        return MergedModel(self.order, leaves, list(self.dead), self.world, self.merge)

    def _loop(self, number: int, layer: list[MergedNode], after: dict[Any, MergedNode]) -> None:
        piece = self.parts.pieces[number]
        active: list[tuple[MergedNode, list[Any] | None]] = [
            (node, self._items(number, node)) for node in layer
        ]
        turn = 0
        while active:
            following: dict[Any, MergedNode] = {}
            items_of: dict[int, list[Any] | None] = {}
            for node, items in active:
                if items is not None and turn >= len(items):
                    still = PieceOutcome(self._still(node), "next", None, dict(node.variables))
                    self._arrive(node, still, after, piece.after)
                    continue
                variables = dict(node.variables)
                if items is not None:
                    variables[ITEM] = items[turn]
                for outcome in self._run(node, number, f"{number}x{turn}", variables):
                    if outcome.how == "next":
                        key = signature(items)
                        reached = self._arrive(node, outcome, following, piece.before, key)
                        items_of[reached.index] = items
                    else:
                        self._arrive(node, outcome, after, piece.after)
            active = [(node, items_of[node.index]) for node in self._settle(following)]
            if len(active) > self.width:
                raise PathLimitError(
                    f"{self.parts.name} has more than {self.width:g} states at once",
                    "Use a smaller length.",
                    f"{self.parts.file}:{piece.line}",
                )
            turn += 1
            if turn > self.most_nodes:
                raise PathLimitError(
                    "a loop does not come to an end",
                    "Bound the number of its turns.",
                    f"{self.parts.file}:{piece.line}",
                )

    def _items(self, number: int, node: MergedNode) -> list[Any] | None:
        code = self.parts.pieces[number].iterable
        if code is None:
            return None
        run = self._still(node)
        piece = self.parts.pieces[number]
        names = copied(dict(node.variables))
        names.setdefault(piece.rng, NoDraws(f"{self.parts.file}:{piece.line}"))
        with in_run(run):
            found = eval(code, scope(piece, names, self.replacements))
            items = list(found)
        if run.taken:
            raise UntraceableError(
                "what a loop runs over depends on a decision about noise",
                "Compute it in a statement before the loop.",
                f"{self.parts.file}:{self.parts.pieces[number].line}",
            )
        return items

    def _still(self, node: MergedNode) -> PieceRun:
        return PieceRun(self.world, "", node.known, node.point, ())

    def _run(self, node: MergedNode, number: int, site: str, variables: Mapping[str, Any]) -> Any:
        from dpest.reading.tracing.generator import SymbolicGenerator

        def make_run(prefix: Sequence[int]) -> PieceRun:
            return PieceRun(self.world, site, node.known, node.point, prefix)

        return outcomes(
            self.parts,
            self.parts.pieces[number],
            variables,
            make_run,
            SymbolicGenerator,
            self.replacements,
            limit=_MOST_PATHS,
            finish=self._release if number + 1 == len(self.parts.pieces) else self._only_return,
        )

    def _new(self, variables: Mapping[str, Any], given: tuple[Any, ...]) -> MergedNode:
        if self.deadline.passed():
            raise PathLimitError(
                f"the states of {self.parts.name} take more than {self.deadline.seconds:g} s",
                "Use a smaller length.",
                self.parts.file,
            )
        if len(self.nodes) >= self.most_nodes:
            raise PathLimitError(
                f"{self.parts.name} has more than {self.most_nodes} states",
                "Use a smaller length.",
                self.parts.file,
            )
        node = MergedNode(len(self.nodes), variables, given)
        self.nodes.append(node)
        return node

    def _arrive(
        self,
        source: MergedNode,
        outcome: PieceOutcome[PieceRun],
        table: dict[Any, MergedNode],
        names: frozenset[str],
        extra: Any = None,
    ) -> MergedNode:
        if outcome.how == "return":
            return self._finish(source, outcome, True)
        variables = kept(outcome, names)
        given = (*source.given, *outcome.run.given)
        key: Any = (extra, signature([variables, list(given)])) if self.merge else len(self.nodes)
        node = table.get(key)
        if node is None:
            node = table[key] = self._new(variables, given)
        self._connect(source, node, outcome.run)
        return node

    def _only_return(self, outcome: PieceOutcome[PieceRun]) -> None:
        if outcome.how == "return":
            self._release(outcome)

    def _release(self, outcome: PieceOutcome[PieceRun]) -> None:
        """Decide what is still open in a released value, inside of the run."""
        outcome.value = decided(outcome.value)
        outcome.run.given[:] = decided(outcome.run.given)

    def _finish(
        self, source: MergedNode, outcome: PieceOutcome[PieceRun], returned: bool
    ) -> MergedNode:
        from dpest.reading.release import released

        given = [*source.given, *outcome.run.given]
        value = given if self.parts.is_generator else outcome.value
        with in_run(outcome.run):
            skeleton, leaves = released(value)
        key: Any = (skeleton, leaves, tuple(type(v) for v in leaves))
        if not self.merge:
            key = len(self.nodes)
        node = self.leaves.get(key)
        if node is None:
            node = self.leaves[key] = self._new({}, ())
            node.release = skeleton, leaves
        self._connect(source, node, outcome.run)
        return node

    def _connect(self, source: MergedNode, node: MergedNode, run: PieceRun) -> None:
        node.incoming.append(MergedEdge(source.index, tuple(run.blocks), tuple(run.draws)))
        for blocks in run.dead:
            self.dead[source.index, blocks] = None

    def _settle(self, table: Mapping[Any, MergedNode]) -> list[MergedNode]:
        """What holds at each node, now that all ways to it are known."""
        by_index = {node.index: node for node in self.nodes}
        for node in table.values():
            settle(node, by_index, self.world)
            self.order.append(node)
        return list(table.values())


def decided(value: Any) -> Any:
    """A released value with every truth and every 0/1 symbol decided, by forks."""
    if isinstance(value, TracedTruth):
        return bool(value)
    if isinstance(value, TracedReal):
        return settled(value)
    if type(value) in (list, tuple):
        return type(value)(decided(v) for v in value)
    if type(value) is dict:
        return {k: decided(v) for k, v in value.items()}
    elements = getattr(value, "symbolic_elements", None)
    if isinstance(value, np.ndarray) and value.dtype == object:
        elements = value.view(np.ndarray)
    if elements is not None:
        from dpest.reading.tracing.symbolic_arrays import wrapped

        found = np.empty(elements.shape, dtype=object)
        for place in np.ndindex(elements.shape):
            found[place] = decided(elements[place])
        return wrapped(found)
    return value


__all__ = ["GIVEN", "build", "decided"]
