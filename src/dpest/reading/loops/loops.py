"""A function that passes once over data of any length, as a finite graph.

Nodes are the discrete live variables (SVT: the count of hits); real live variables are slots.
An edge is one path of one piece: for a loop over the data, of one turn. What the function appends
to a list that it only fills counts as released at that moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpest.errors import DpestError, RefusedError, UntraceableError
from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains import weights
from dpest.reading.loop_graph import END, Graph, LoopEdge, LoopNode, Selection
from dpest.reading.loops.any_length import (
    ElementTotals,
    OutputList,
    PrefixSums,
    ReadsOutputError,
    TracedVector,
    pass_over,
)
from dpest.reading.loops.comprehensions import ENTRY, MAP, Mapped, mapped, with_vectors
from dpest.reading.loops.lengths import Counter, LengthCount, NeedsPositionError, Position
from dpest.reading.loops.loop_states import LoopStateAbstraction
from dpest.reading.loops.loop_values import PLACED, as_released, decided_variable, leaves_of
from dpest.reading.loops.merging import NoDraws, decided
from dpest.reading.loops.passes import (
    IN_ORDER,
    TURN,
    Chosen,
    Index,
    Items,
    LoopPass,
    PlacesLeft,
    RandomPlace,
)
from dpest.reading.loops.piece_runs import PieceOutcome, PieceRun, kept, outcomes
from dpest.reading.loops.pieces import ITEM, FunctionCut, Piece, cut, scope
from dpest.reading.loops.vector_functions import ANY_LENGTH
from dpest.reading.loops.vector_generator import VectorGenerator
from dpest.reading.rewrites.labels import LabelOfPlace, entry
from dpest.reading.rewrites.named_values import NamedValues, Share
from dpest.reading.rewrites.order_statistics import (
    Selected,
    TracedGap,
)
from dpest.reading.rewrites.races import ArgmaxLaw, law_of
from dpest.reading.rewrites.readings import Plan, RereadError, words
from dpest.reading.rewrites.running_maximum import greatest_so_far
from dpest.reading.rewrites.signs import signs_among
from dpest.reading.rewrites.softmax import Chance, ScaledScore, Weight
from dpest.reading.tracing.needless_forks import without_needless_forks
from dpest.reading.tracing.running import in_run
from dpest.reading.tracing.states import copied, signature
from dpest.reading.tracing.symbolic import TracedReal
from dpest.reading.world import ELEMENT, World
from dpest.running.skeleton import raised_output

_MOST_NODES = 300
_MANY_VALUES = 40
_MOST_PATHS = 2_000
_MOST_POSITIONS = 64
BUILTINS = {**ANY_LENGTH, MAP: mapped, ENTRY: entry}


def graph(
    function: Callable[..., Any],
    argument: str,
    variables: Mapping[str, Any],
    world: Callable[[], World],
    length: int | None = None,
    element: Any = None,
) -> Graph:
    """The graph for every length (or, unrolled, for one length) of the named argument.

    `element` is what the argument holds many of: by default the number `q`.
    """
    try:
        parts = cut(function, change=Mapped())
        return _built(parts, argument, variables, world, length, element)
    except DpestError as error:
        # A list that is filled in a loop and then read may do better as a vector of its own.
        parts = cut(function, change=Mapped(), lists_as_loops=False)
        try:
            return _built(parts, argument, variables, world, length, element)
        except DpestError:
            raise error from None


def _built(
    parts: FunctionCut,
    argument: str,
    variables: Mapping[str, Any],
    world: Callable[[], World],
    length: int | None,
    element: Any,
) -> Graph:
    exact, modulus = 0, 1
    kept_lists: set[str] = set()
    counters: set[str] = set()
    plan: Plan = {}
    before: Graph | None = None
    while True:
        builder = LoopBuilder(parts, argument, world(), exact, modulus, kept_lists, length)
        builder.counters = counters
        builder.world.plan = plan
        builder.world.notes.update(dict.fromkeys(words(plan)))
        try:
            found = builder.build(variables, element)
            plan = _with_signs(plan, found)
            if plan == builder.world.plan:
                return found
            before = found
        except _UnboundedError as unbounded:
            if not unbounded.names - counters:
                raise RefusedError(str(unbounded)) from None
            counters |= unbounded.names
        except RereadError as again:
            plan = again.added(plan)
        except DpestError:
            if before is None:
                raise
            return before
        except NeedsPositionError as need:
            exact = max(exact, need.exact)
            modulus = math.lcm(modulus, need.modulus)
            if exact + modulus > _MOST_POSITIONS:
                raise RefusedError(
                    "the function looks at the position of an element beyond "
                    f"{_MOST_POSITIONS}: give a length instead of ANY"
                ) from None
        except ReadsOutputError as read:
            if read.name in kept_lists:
                raise RefusedError(
                    f"the list {read.name!r} is filled and read in a loop over data of any "
                    "length: give a length instead of ANY"
                ) from None
            kept_lists.add(read.name)


def _with_signs(plan: Plan, graph: Graph) -> Plan:
    conditions = [c for edge in graph.edges for block in edge.blocks for c in block]
    forms = [f for edge in graph.edges for f in (*edge.updates.values(), *edge.released)]
    forms = [f for f in forms if isinstance(f, Form)]
    return signs_among(plan, graph.world.noises, graph.world.draw_sites, conditions, forms)


def _meanings(named: NamedValues) -> weights.NamedValues:
    """The meanings of symbols as laws know them."""

    def of(value: Any) -> Any:
        if isinstance(value, ScaledScore):
            return weights.Score(value.factor, value.value.form)
        if isinstance(value, Weight):
            return weights.Weight(of(value.score))
        if isinstance(value, Chance):
            return weights.Chance(of(value.weight))
        if isinstance(value, Share):
            return weights.Share(value.noise, of(value.weights))
        if isinstance(value, Form):
            return weights.Greatest(value)
        return weights.CandidatesLeft("") if isinstance(value, PlacesLeft) else value

    return weights.NamedValues({s: of(v) for s, v in named.meanings.items()})


class _UnboundedError(Exception):
    """The discrete state of a loop has no bound; `names` are the integers that grow."""

    def __init__(self, names: set[str], message: str) -> None:
        super().__init__(message)
        self.names = names


class _LoopRun(PieceRun):
    """A run that may also ask for a sum over all elements."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.totals = ElementTotals()
        self.vector_draws: set[Symbol] = set()
        self.given_draws: frozenset[Symbol] = frozenset()
        self.values: NamedValues | None = None
        self.looked: set[str] = set()
        """At which places of the data this run has looked (see `passes.look_at`)."""
        self.places = 0
        self.shuffled = False
        self.at_each = False
        self.removed: set[str] = set()
        """Places that were taken out of the list that they were drawn from."""

    def total(self, vector: TracedVector) -> TracedReal:
        return self.totals.total(vector)

    def use_own(self, own: frozenset[Symbol]) -> None:
        """Each element's own noises, drawn before this piece and used for the one of this turn."""
        fresh = own - frozenset(self.draws)
        self.draws += sorted(fresh)
        self.given_draws |= fresh

    def own(self, value: Any) -> frozenset[Symbol]:
        """The noises of a drawn vector are not this piece's: each element has its own."""
        if not isinstance(value, TracedReal):
            return frozenset()
        new = frozenset(s for s in value.noises(self) if s in self.draws)
        self.vector_draws |= new
        return new


@dataclass
class LoopState:
    node: LoopNode
    piece: int
    turn: int | None
    position: Position
    variables: dict[str, Any]


class LoopBuilder:
    def __init__(
        self,
        parts: FunctionCut,
        argument: str,
        world: World,
        exact: int,
        modulus: int,
        kept_lists: set[str],
        length: int | None,
    ) -> None:
        pieces = tuple(replace(p, names=with_vectors(p.names)) for p in parts.pieces)
        self.parts = replace(parts, pieces=pieces)
        self.argument = argument
        self.world = world
        self.first = Position(0, exact > 0, exact, modulus)
        self.kept_lists = kept_lists
        self.length = length
        self.nodes: list[LoopNode] = []
        self.edges: list[LoopEdge] = []
        self.dead: dict[Any, None] = {}
        self.table: dict[Any, LoopNode] = {}
        self.todo: list[LoopState] = []
        self.passes: dict[int, int] = {}
        self.used_own: dict[Symbol, int] = {}
        self.faithful = True
        self.counters: set[str] = set()
        self.places: dict[str, str] = {}
        self.values: dict[int, list[dict[str, Any]]] = {}
        self.selections: list[Selected] = []
        self.unknown_places: list[int] = []
        self.gaps: list[TracedGap] = []
        self.recognised = False
        self.prefix_sums = False
        self.named = NamedValues()
        self.by_chance = False
        """Whether a turn is left by chances that depend on the data (see `rewrites.races`)."""
        self.tables: set[tuple[Any, ...]] = set()

    def build(self, variables: Mapping[str, Any], element: Any = None) -> Graph:
        start = dict(variables)
        start[self.argument] = self.data(element)
        self._node(
            0, None, self.first, start, frozenset(start), PieceOutcome(self._still(), "next", None)
        )
        while self.todo:
            self._expand(self.todo.pop())
        if self.world.plan:
            self.edges, self.dead = without_needless_forks(self.edges, self.dead)
        if self.by_chance:
            return self._raced(law_of(self.edges, self.world.noises, _meanings(self.named)))
        if self.unknown_places:
            found = greatest_so_far(self.edges, len(self.unknown_places) == 1)
            if found is None:
                raise self._unknown_place()
            self.selections.append(Selected(TracedReal(found.form), found.least))
            self.recognised = True
        return Graph(
            self.nodes,
            self.edges,
            list(self.dead),
            self.world,
            self.faithful,
            [Selection(s.element.form, s.least) for s in self.selections],
            self.prefix_sums,
            self.recognised,
            [g.vector.element.form for g in self.gaps],
            "inversion" if self.named.inversions else "",
            self._table(),
        )

    def _raced(self, law: ArgmaxLaw) -> Graph:
        """The argmax that the loop amounts to, in place of the loop."""
        world = World(private=True)
        world.derived, world.notes = self.world.derived, self.world.notes
        noise = world.noise_symbol("0_0", law.noise)
        edge = LoopEdge(0, END, False, (), (), {}, (), ((noise, True),))
        node = LoopNode(0, ())
        return Graph(
            [node],
            [edge],
            [],
            world,
            selections=[Selection(law.form.plus(Form.of(noise)))],
            rule=law.rule,
            table=self._table(),
        )

    def _table(self) -> tuple[Any, ...] | None:
        """The public list whose entry at the chosen place is released, if one is."""
        if len(self.tables) > 1:
            raise RefusedError(f"{self.parts.name} releases entries of several lists")
        return next(iter(self.tables), None)

    # States

    def data(self, element: Any) -> Any:
        """What stands for the private argument."""
        return TracedVector(TracedReal(Form.of(ELEMENT)) if element is None else element)

    def new_run(self, *args: Any) -> _LoopRun:
        return _LoopRun(*args)

    def _still(self) -> _LoopRun:
        run = self.new_run(self.world, "", (), {}, ())
        run.values = self.named
        return run

    def _node(
        self,
        piece: int,
        turn: int | None,
        position: Position,
        variables: Mapping[str, Any],
        names: frozenset[str],
        outcome: PieceOutcome[_LoopRun],
        extra: Sequence[Symbol] = (),
    ) -> tuple[LoopNode, dict[Symbol, Form], list[Any]]:
        """The node of a state, what its slots are set to, and what is released on the way."""
        if turn is None and piece < len(self.parts.pieces):
            turn = 0 if self.parts.pieces[piece].kind == "loop" else None
        looked = outcome.run.looked
        found = LoopStateAbstraction(self.parts, self.named, self.counters, self.kept_lists, looked)
        abstract = {
            name: found.of(variables[name], name) for name in sorted(variables) if name in names
        }
        self.places = found.places
        slots = tuple(sorted({*found.updates, *extra}))
        key = (piece, turn, position.dpest_signature(), signature(abstract), slots)
        node = self.table.get(key)
        if node is None:
            if len(self.nodes) >= _MOST_NODES:
                line = self.parts.pieces[min(piece, len(self.parts.pieces) - 1)].line
                raise _UnboundedError(
                    self._growing(piece),
                    f"{self.parts.file}:{line}: the discrete variables of this loop take more than "
                    f"{_MOST_NODES} values as the data get longer (a counter without a bound?). "
                    "Give a length instead of ANY.",
                )
            node = self.table[key] = LoopNode(len(self.nodes), slots)
            self.nodes.append(node)
            self.todo.append(LoopState(node, piece, turn, position, abstract))
            self.values.setdefault(piece, []).append(abstract)
        return node, found.updates, found.released

    def _growing(self, piece: int) -> set[str]:
        """The integers that take many values at the head of this loop."""
        found: dict[str, set[int]] = {}
        for variables in self.values.get(piece, []):
            for name, value in variables.items():
                if type(value) is int:
                    found.setdefault(name, set()).add(value)
        return {name for name, values in found.items() if len(values) > _MANY_VALUES}

    # Steps

    def _expand(self, state: LoopState) -> None:
        if state.piece >= len(self.parts.pieces):
            self._leave(
                state, PieceOutcome(self._still(), "next", None, dict(state.variables)), state.node
            )
            return
        piece = self.parts.pieces[state.piece]
        if piece.kind != "loop":
            self._block(state, piece)
            return
        over = self._iterable(state, piece)
        if isinstance(over, LoopPass):
            self._pass(state, piece, over)
        else:
            self._plain_loop(state, piece, over)

    def _iterable(self, state: LoopState, piece: Piece) -> Any:
        if piece.iterable is None:
            return None
        run = self._still()
        with in_run(run):
            names = scope(piece, copied(state.variables), BUILTINS)
            if piece.rng:
                nothing = NoDraws(f"{self.parts.file}:{piece.line}")
                names.setdefault(piece.rng, VectorGenerator(nothing, run.own))
            found = eval(piece.iterable, names)
            over = pass_over(found)
            return over if over is not None else list(found)

    def _run(
        self,
        state: LoopState,
        piece: Piece,
        variables: Mapping[str, Any],
        own: frozenset[Symbol],
        looked: frozenset[str] = frozenset(),
    ) -> Iterator[PieceOutcome[_LoopRun]]:
        from dpest.reading.tracing.generator import SymbolicGenerator

        totals: dict[Any, Symbol] = {}

        def make_run(prefix: Sequence[int]) -> _LoopRun:
            run = self.new_run(self.world, f"{state.piece}", (), {}, prefix)
            run.draws = sorted(own)
            run.given_draws = own
            run.totals.known = totals
            run.values = self.named
            run.looked = set(looked)
            return run

        def prepare(run: _LoopRun) -> Any:
            return VectorGenerator(SymbolicGenerator(run), run.own)

        def finish(outcome: PieceOutcome[_LoopRun]) -> None:
            outcome.value = decided_variable(outcome.value)
            for name, value in outcome.variables.items():
                if name in piece.after or name in piece.before:
                    outcome.variables[name] = decided_variable(value)

        return outcomes(
            self.parts,
            piece,
            variables,
            make_run,
            prepare,
            BUILTINS,
            limit=_MOST_PATHS,
            finish=finish,
        )

    def _block(self, state: LoopState, piece: Piece) -> None:
        try:
            found = list(self._run(state, piece, state.variables, frozenset()))
        except DpestError:
            raise
        except Exception as error:
            if not self.by_chance:
                raise
            # A loop that always ends before may be followed by an error. That it does is shown
            # where its law is found (`races`); elsewhere this release is none that is known.
            outcome = PieceOutcome(self._still(), "return", raised_output(error))
            self._leave(state, outcome, state.node)
            return
        asked: dict[Symbol, TracedVector] = {}
        for outcome in found:
            asked.update(outcome.run.totals.vectors)
        source = state.node
        if asked:
            source = self._sums(state, list(asked.items()))
        for outcome in found:
            self._go(state, source, outcome, False, state.piece + 1, None, self.first, piece.after)

    def _sums(self, state: LoopState, totals: Sequence[tuple[Symbol, TracedVector]]) -> LoopNode:
        """A pass over the data that fills the sums, put before a block that uses them."""
        self._count_pass(state.piece, "a sum")
        slots = tuple(sorted({*state.node.slots, *(s for s, _ in totals)}))
        node = LoopNode(len(self.nodes), slots, "sums")
        self.nodes.append(node)
        still = {s: Form.of(s) for s in slots}
        empty = {**still, **{s: Form() for s, _ in totals}}
        self.edges.append(LoopEdge(state.node.index, node.index, False, (), (), empty, ()))
        step = dict(still)
        own: set[Symbol] = set()
        for symbol, vector in totals:
            self._use_own(vector.own, state.piece)
            own |= vector.own
            element = vector.element
            form = element.form if isinstance(element, TracedReal) else Form.number(element)
            step[symbol] = Form.of(symbol).plus(form)
        draws = tuple(sorted(own))
        self.edges.append(LoopEdge(node.index, node.index, True, (), draws, step, ()))
        return node

    def _pass(self, state: LoopState, piece: Piece, over: LoopPass) -> None:
        if state.turn is None:
            state.turn = 0
        self._count_pass(state.piece, "a loop")
        self._use_own(over.own, state.piece)
        over_now = self.length is not None and state.turn >= self.length
        if self.length is None or over_now:
            outcome = PieceOutcome(self._still(), "next", None, dict(state.variables))
            self._go(
                state, state.node, outcome, False, state.piece + 1, None, self.first, piece.after
            )
        if over_now:
            return
        turn = 0 if self.length is None else state.turn + 1
        variables = dict(state.variables)
        variables[ITEM] = over.item(replace(state.position, turn=over.shuffled))
        # Items that hold an entry of the data: the one of this turn.
        looked = frozenset() if over.plain else frozenset({TURN if over.shuffled else IN_ORDER})
        for outcome in self._run(state, piece, variables, over.own, looked):
            if outcome.how == "break":
                self._go(
                    state, state.node, outcome, True, state.piece + 1, None, self.first, piece.after
                )
            else:
                self._go(
                    state,
                    state.node,
                    outcome,
                    True,
                    state.piece,
                    turn,
                    state.position.next(),
                    piece.before,
                )

    def _plain_loop(self, state: LoopState, piece: Piece, items: list[Any] | None) -> None:
        turn = state.turn or 0
        if items is not None and turn >= len(items):
            outcome = PieceOutcome(self._still(), "next", None, dict(state.variables))
            self._go(
                state, state.node, outcome, False, state.piece + 1, None, self.first, piece.after
            )
            return
        variables = dict(state.variables)
        if items is not None:
            variables[ITEM] = items[turn]
        for outcome in self._run(state, piece, variables, frozenset()):
            here = outcome.how != "break"
            # A `while` that looks at a random place knows its turn by its variables alone.
            again = turn if items is None and outcome.run.looked else turn + 1
            self._go(
                state,
                state.node,
                outcome,
                False,
                state.piece if here else state.piece + 1,
                again if here else None,
                self.first,
                piece.before if here else piece.after,
            )

    def _count_pass(self, piece: int, what: str) -> None:
        self.passes.setdefault(piece, len(self.passes))
        if len(self.passes) > 1:
            line = self.parts.pieces[min(piece, len(self.parts.pieces) - 1)].line
            raise RefusedError(
                f"{self.parts.file}:{line}: {what} that is the second pass over data of any "
                "length. A proof for every length follows one pass: join the loops, put "
                "each into a function of its own (their proofs are composed), or give a length."
            )

    def _use_own(self, own: frozenset[Symbol], piece: int) -> None:
        for symbol in own:
            if self.used_own.setdefault(symbol, piece) != piece:
                raise RefusedError(
                    f"{self.parts.name}: the noise of a vector of any length is used twice: give "
                    "a length instead of ANY"
                )

    def _go(
        self,
        state: LoopState,
        source: LoopNode,
        outcome: PieceOutcome[_LoopRun],
        reads: bool,
        piece: int,
        turn: int | None,
        position: Position,
        names: frozenset[str],
    ) -> None:
        run = outcome.run
        self._use_own(run.given_draws, state.piece)
        for blocks in run.dead:
            self.dead[source.index, reads, blocks, tuple(run.draws)] = None
        if outcome.how == "return":
            self._leave(state, outcome, source, reads)
            return
        target, updates, released = self._node(
            piece, turn, position, kept(outcome, names), names, outcome
        )
        given = leaves_of(decided(run.given))
        self._edge(source, target.index, outcome, reads, updates, [*given, *released])

    def _edge(
        self,
        source: LoopNode,
        target: int,
        outcome: PieceOutcome[_LoopRun],
        reads: bool,
        updates: Mapping[Symbol, Form],
        released: Sequence[Any],
    ) -> None:
        run = outcome.run
        forms = [*(c.form for b in run.blocks for c in b), *updates.values()]
        forms += [v for v in released if isinstance(v, Form)]
        looked: set[str] = getattr(run, "looked", set())
        places = [v for v in released if isinstance(v, (RandomPlace, Chosen))]
        if self.named.among(forms) or looked - {IN_ORDER} or places:
            self.by_chance = True  # all edges together say what it is
        hidden: set[Symbol] = getattr(run, "vector_draws", set())
        draws = tuple(s for s in run.draws if s not in hidden)
        known = {*draws, *source.slots, *self.named.meanings}
        self._refuse_unknown(forms, known)
        if any(isinstance(v, Counter) for v in released):
            raise self._unknown_place()
        given: frozenset[Symbol] = getattr(run, "given_draws", frozenset())
        order = tuple((s, s in hidden) for s in run.draws if s not in given)
        self.edges.append(
            LoopEdge(
                source.index,
                target,
                reads,
                tuple(run.blocks),
                draws,
                dict(updates),
                tuple(map(as_released, released)),
                order,
                dict(self.places) if target != END else {},
                {},
                next(iter(looked - {IN_ORDER}), ""),
                bool(looked & getattr(run, "removed", set())),
            )
        )

    def _refuse_unknown(self, forms: Sequence[Form], known: set[Symbol]) -> None:
        """A value that came here past the variables: no state of the loop tells where it moves."""
        for symbol in {s for form in forms for s in form.terms}:
            if symbol.kind in ("noise", "state") and symbol not in known:
                raise RefusedError(
                    f"{self.parts.file}: {self.parts.name} keeps a noisy or private value over a "
                    "loop where a proof for every length can't follow it (in an object, a closure, "
                    "or a sum inside of an inner loop): keep it in a variable, or give a length "
                    "instead of ANY"
                )

    def _unknown_place(self) -> RefusedError:
        return RefusedError(
            f"{self.parts.name} releases a number that grows with the data, or the place of an "
            "element that it remembers: give a length instead of ANY (the place of the greatest "
            "noisy value can be released)"
        )

    def _leave(
        self,
        state: LoopState,
        outcome: PieceOutcome[_LoopRun],
        source: LoopNode,
        reads: bool = False,
    ) -> None:
        """An edge to the end, releasing what is returned."""
        returned_value = [] if self.parts.is_generator else [outcome.value]
        vectors: list[TracedVector] = []
        plain: list[Any] = []
        returned: set[str] = set()
        for leaf in leaves_of(decided(outcome.run.given)) + leaves_of(returned_value):
            if isinstance(leaf, LabelOfPlace):
                self.tables.add(leaf.table)
                leaf = leaf.place
            if isinstance(leaf, Counter):
                self.unknown_places.append(source.index)
                if self.by_chance:
                    plain.append(("kept place",))
                continue
            if isinstance(leaf, LengthCount):
                plain.append(self.first)  # as public as a position
                continue
            if isinstance(leaf, (Items, Index, PlacesLeft, ScaledScore, Weight, Chance)):
                raise RefusedError(
                    f"{self.parts.name} releases an order of the elements, or a weight that is "
                    "computed from the data"
                )
            if isinstance(leaf, PrefixSums):
                self.prefix_sums = True
                vectors.append(leaf.vector)
            elif isinstance(leaf, TracedVector):
                vectors.append(leaf)
            elif isinstance(leaf, OutputList):
                returned.add(leaf.name)
                plain.extend(leaves_of(leaf.items))
            elif isinstance(leaf, Selected):
                self.selections.append(leaf)
            elif isinstance(leaf, TracedGap):
                self.gaps.append(leaf)
            elif isinstance(leaf, PLACED):
                raise RefusedError(
                    f"{self.parts.name} releases the value of the greatest element of data of any "
                    "length: give a length instead of ANY"
                )
            else:
                plain.append(leaf)
        lists = {v.name for v in state.variables.values() if isinstance(v, OutputList)}
        if lists - returned:
            self.faithful = False
        if (self.selections or self.gaps) and (
            vectors or len(self.nodes) > 1 + 2 * len(self.parts.pieces)
        ):
            raise RefusedError(
                f"{self.parts.name}: an argmax over data of any length together with other "
                "releases of the data: give a length instead of ANY"
            )
        if vectors:
            self._release_vectors(state, outcome, source, plain, vectors)
        else:
            self._edge(source, END, outcome, reads, {}, plain)

    def _release_vectors(
        self,
        state: LoopState,
        outcome: PieceOutcome[_LoopRun],
        source: LoopNode,
        plain: Sequence[Any],
        vectors: Sequence[TracedVector],
    ) -> None:
        """A last pass that releases the elements one by one."""
        self._count_pass(len(self.parts.pieces), "a release of the elements")
        found = LoopStateAbstraction(self.parts, self.named)
        shared = [found.element(v, f"release{i}") for i, v in enumerate(vectors)]
        updates = found.updates
        node = LoopNode(len(self.nodes), tuple(sorted(updates)), "release")
        self.nodes.append(node)
        own = frozenset().union(*(v.own for v in vectors))
        self._use_own(own, len(self.parts.pieces) + 1)
        self._edge(source, node.index, outcome, False, updates, plain)
        self.edges.append(LoopEdge(node.index, END, False, (), (), {}, ()))
        still = {s: Form.of(s) for s in updates}
        pending: list[list[int]] = [[]]
        while pending:
            run = _LoopRun(self.world, "release", (), {}, pending.pop())
            run.draws = sorted(own)
            run.given_draws = frozenset(own)
            with in_run(run):
                values = [decided(v.element) for v in shared]
            pending += run.other_prefixes()
            for blocks in run.dead:
                self.dead[node.index, True, blocks, tuple(run.draws)] = None
            self._edge(
                node, node.index, PieceOutcome(run, "next", None), True, still, leaves_of(values)
            )


__all__ = ["END", "Graph", "LoopEdge", "LoopNode", "UntraceableError", "graph"]
