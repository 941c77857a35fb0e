"""A function on data of any length, read by the machine: the graph that proofs are made of.

Start at the call. A state that wants the next element of the data is a node (`abstraction`); from
a node one way reads an element and one finds the end. Equal states are one node, so that a loop is
a finite graph. What a list that is only filled gets is released at once; whatever is returned is
released at the end. A reading that finds out that it needs to know more begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains.numbers import Real
from dpest.reading.lengths.abstraction import Abstraction
from dpest.reading.lengths.gathering import gather
from dpest.reading.lengths.machine import LengthMachine, new_data
from dpest.reading.lengths.made_noise import (
    DeadWay,
    MadeReading,
    held_way,
    keep_noises,
    with_curves,
    with_forms,
)
from dpest.reading.lengths.places import IN_ORDER
from dpest.reading.lengths.releases import Leaves, leaves_of, released_at_end
from dpest.reading.lengths.starting import first_state
from dpest.reading.lengths.totals import total_of, totalled
from dpest.reading.lengths.values import (
    Cut,
    FilledList,
    Gap,
    NeedsCounters,
    NeedsIndex,
    NeedsList,
    NeedsPosition,
    NeedsTotals,
    PassLog,
    Plan,
    Restart,
    SecondPass,
)
from dpest.reading.loop_graph import END, Graph, LoopEdge, LoopNode, Selection
from dpest.reading.machine.exploring.explorer import Limits, Walk
from dpest.reading.machine.signals import Dead, Fork, Refused
from dpest.reading.machine.state import State
from dpest.reading.rewrites.draws.made_values import MadeNoises
from dpest.reading.rewrites.draws.rereading import HeldWay
from dpest.reading.rewrites.races import ArgmaxLaw, ChanceError, law_of
from dpest.reading.rewrites.running_maximum import greatest_so_far
from dpest.reading.table.registry import load
from dpest.reading.world import World

_MOST_NODES = 300
_MOST_EDGES = 2_000
_MANY_VALUES = 16
_MOST_POSITIONS = 64
_MOST_READINGS = 30
_INSTRUCTIONS = 200_000
_LIMITS = Limits(forks=64)


def read_graph(
    target: Mechanism,
    parameters: Mapping[str, Any],
    world: Callable[[], World],
    form: str = "list",
    length: int | None = None,
) -> Graph:
    """The graph of a mechanism for every length (or, unrolled, for one); Refused without a rule.

    `parameters` may hold a `Unit` for eps: the graph is then one for every eps > 0.
    """
    load()
    limit = 0 if length is None else length + 1
    plan = Plan(limit=limit, length=length)
    try:
        return _settled(target, parameters, world, form, plan)
    except SecondPass as second:
        if length is not None:
            raise
        try:
            return _settled(target, parameters, world, form, Plan(totals=()))
        except Refused:
            raise second from None
    except Refused as refusal:
        if not plan.counters:
            raise
        try:  # numbers that seemed to grow are looked at: they may have a bound after all
            bounded = Plan(limit=limit, length=length, widens=False)
            return _settled(target, parameters, world, form, bounded)
        except Refused:
            raise refusal from None


def _settled(
    target: Mechanism,
    parameters: Mapping[str, Any],
    world: Callable[[], World],
    form: str,
    plan: Plan,
) -> Graph:
    for _ in range(_MOST_READINGS):
        try:
            return with_curves(
                lambda curves: _Reading(target, parameters, world(), form, plan, curves)
            )
        except Restart as needed:
            _learn(plan, needed)
        except (Refused, ChanceError):
            raise
        except Exception as error:
            # A rule that does not know what it was given must not go on.
            raise Refused(f"data of any length: {type(error).__name__}: {error}") from error
    raise Refused("the states of the function don't settle")


def _learn(plan: Plan, needed: Restart) -> None:
    if isinstance(needed, NeedsList) and needed.name not in plan.vectors:
        plan.vectors.add(needed.name)  # it may hold one value for each element
    elif isinstance(needed, NeedsList) and needed.name not in plan.lists:
        plan.lists.add(needed.name)
    elif isinstance(needed, NeedsIndex) and needed.name not in plan.indices:
        plan.indices.add(needed.name)
    elif isinstance(needed, NeedsCounters) and needed.names - plan.counters:
        plan.counters |= needed.names
    elif isinstance(needed, NeedsTotals):
        plan.totals = tuple(sorted({*(plan.totals or ()), *needed.symbols}))
    elif isinstance(needed, NeedsPosition):
        plan.limit = max(plan.limit, needed.exact)
        if plan.modulus % needed.modulus:
            plan.modulus *= needed.modulus
        if plan.length is None and plan.limit + plan.modulus > _MOST_POSITIONS:
            raise Refused(f"the number of an element, beyond {_MOST_POSITIONS}, is looked at")
    else:
        raise Refused("the states of the function don't settle")


class _Reading:
    """One attempt, with what those before it have learned."""

    def __init__(
        self,
        target: Mechanism,
        parameters: Mapping[str, Any],
        world: World,
        form: str,
        plan: Plan,
        curves: bool,
    ) -> None:
        self.plan = plan
        self.world = world
        self.machine = LengthMachine(world, plan, _INSTRUCTIONS)
        self.machine.makes_curves = curves
        self.nodes = [LoopNode(0, (), "start")]
        self.edges: list[LoopEdge] = []
        self.known: dict[Any, int] = {}
        data = self.machine.data = new_data(form)
        self.states = [first_state(self.machine, target, parameters, lambda _: data)]
        self.integers: dict[Any, dict[str, set[int]]] = {}
        self.releases: list[Leaves] = []
        self.returned: list[set[str]] = []
        self.shown = True
        self.by_chance = False
        """Whether there is something that only a law of `rewrites.races` speaks of."""

    def read(self) -> Graph:
        if self.plan.totals is not None:
            self._sum_up_first(self.plan.totals)
        for number, node in enumerate(self.nodes):
            if number or self.plan.totals is None:
                self._expand(number, node)
        return self._made()

    def _expand(self, number: int, node: LoopNode) -> None:
        """All ways from a node to the next ones."""
        machine = self.machine
        machine.node, machine.slots = number, frozenset(node.slots)
        walk = Walk(machine, self.states[number].fork(), _LIMITS, self._advanced)
        for state in walk:
            self._check_size(len(walk))
            walk.asked(state)
            try:
                if state.outcome is not None:
                    self._leave(number, state)
                elif self.plan.totals is not None:
                    self._arrive_behind_sum(number, state)
                else:
                    self._arrive(number, state)
            except Fork as fork:  # a truth that is kept or released is decided
                walk.decided(state, fork)
            except Dead:
                continue

    def _sum_up_first(self, data: Sequence[Symbol]) -> None:
        """A pass over the data that only sums them up, before the function begins."""
        totals = {total_of(s): s for s in data}
        self.nodes.append(LoopNode(1, tuple(sorted(totals)), "sums"))
        self.states.append(self.states[0])
        start: dict[Symbol, Form] = {total: Form() for total in totals}
        step = {total: Form.of(total).plus(Form.of(s)) for total, s in totals.items()}
        self.edges.append(LoopEdge(0, 1, False, (), (), start, ()))
        self.edges.append(LoopEdge(1, 1, True, (), (), step, ()))

    def _arrive_behind_sum(self, source: int, state: State) -> None:
        """An edge to the state in which a sum over the data is known."""
        found, updates = totalled(self.machine, state, self.plan)
        updates |= {total_of(s): Form.of(total_of(s)) for s in self.plan.totals or ()}
        key = ("sum", found.key)
        target = self.known.get(key)
        if target is None:
            target = self.known[key] = len(self.nodes)
            self.nodes.append(LoopNode(target, tuple(sorted(updates))))
            behind = found.state
            behind.heap.place(self.machine.log_ref.address, PassLog(begun=True, ended=True))
            self.states.append(behind)
        self._edge(source, target, state, updates, [], {})

    def _gathered(self, state: State) -> bool:
        """A loop that puts one value for each element into a list: the list is a vector then."""
        machine, plan = self.machine, self.plan
        log: PassLog = state.heap.read(machine.log_ref)
        if log.begun or plan.limit or plan.modulus > 1:
            return False
        try:
            before = Abstraction(machine, state, plan)
            wanted = [a for a, name in before.filled.items() if name in plan.vectors]
            return len(wanted) == 1 and gather(machine, state, plan, before, wanted[0])
        except (Fork, Refused):
            return False

    def _advanced(self, state: State) -> list[State] | None:
        """To a fork, to the next element or to the end; a list that is a vector is passed over."""
        try:
            return self.machine.advance(state)
        except Cut:
            return [state] if self.plan.vectors and self._gathered(state) else None

    def _check_size(self, waiting: int) -> None:
        if len(self.edges) + waiting > _MOST_EDGES:
            raise Refused(f"more than {_MOST_EDGES} ways through one turn")

    def _arrive(self, source: int, state: State) -> None:
        """An edge to the node of a state; a new one if there is none yet."""
        machine = self.machine
        found = Abstraction(machine, state, self.plan)
        released = Leaves()
        held = set(found.seen)
        for values in found.put:
            for value in values:
                leaves_of(machine, state, value, released, held)
        released.need_plain()
        self.shown = self.shown and released.shown
        if found.log.removed and found.log.removed not in found.seen:
            raise Refused("candidates that come from a new list in each turn")
        target = self.known.get(found.key)
        if target is None:
            target = self._new_node(found)
        self._edge(source, target, state, found.updates, released.values, found.places)

    def _new_node(self, found: Abstraction) -> int:
        target = self.known[found.key] = len(self.nodes)
        frame = found.state.frames[-1]
        place = (id(frame.code), frame.pc)
        values = self.integers.setdefault(place, {})
        for name, size in found.sizes.items():
            seen = self.integers.setdefault((place, "sizes"), {}).setdefault(name, set())
            seen.add(size)
            if len(seen) > _MANY_VALUES:
                raise Refused(f"the list {name.split(':')[-1]} grows with the data, and is read")
        for name, value in found.integers.items():
            values.setdefault(name, set()).add(value)
        names = frozenset(n for n, seen in values.items() if len(seen) > _MANY_VALUES)
        if self.plan.widens and names - self.plan.counters:
            raise NeedsCounters(names)
        if len(self.nodes) >= _MOST_NODES:
            raise Refused(
                f"the discrete variables of a loop take more than {_MOST_NODES} values as the data "
                "get longer"
            )
        self.nodes.append(LoopNode(target, tuple(sorted(found.updates))))
        self.states.append(found.state)
        return target

    def _leave(self, source: int, state: State) -> None:
        """An edge to the end, releasing what is returned."""
        assert state.outcome is not None
        released = released_at_end(self.machine, state, state.outcome.value)
        if state.outcome.raised and any(isinstance(v, Form) for v in released.values):
            raise Refused("an exception with a noisy or private value")
        if source:
            self.returned.append(released.lists)
        self.releases.append(released)
        kept = [("kept place",) for _ in released.kept]
        others = [("other place",) for _ in (*released.greatest, *released.gaps, *released.drawn)]
        self._edge(source, END, state, {}, released.values, {}, (*kept, *others))

    def _edge(
        self,
        source: int,
        target: int,
        state: State,
        updates: Mapping[Symbol, Form],
        released: list[Any],
        places: Mapping[str, str],
        told: tuple[Any, ...] = (),
    ) -> None:
        machine = self.machine
        log: PassLog = state.heap.read(machine.log_ref)
        machine.state = state
        forms = [*updates.values(), *(v for v in released if isinstance(v, Form))]
        used = {s for f in forms for s in f.terms}
        if any(s.kind == "indicator" for s in used):
            raise Refused("a truth that is not decided")
        machine.need_at_hand(used)
        decided = [c.form for block in log.blocks for c in block]
        at_random = log.looked not in ("", IN_ORDER) or any(map(_is_random, released))
        if at_random or machine.named_values.among([*forms, *decided]):
            self.by_chance = True
        order = tuple((d.symbol, d.column is not None) for d in state.draws)
        self.edges.append(
            LoopEdge(
                source,
                target,
                bool(log.at),
                log.blocks,
                machine.drawn(state),
                dict(updates),
                tuple(released),
                order,
                dict(places),
                looked="" if log.looked == IN_ORDER else log.looked,
                removed=bool(log.removed) and target != END,
                told=told,
            )
        )

    def _rewritten(self) -> MadeNoises:
        """Puts the noise that was made in the place of the draws behind it, everywhere."""
        machine = self.machine
        made = MadeReading(machine, [*self._held(), self._held_selections()])
        if made.roots:
            self.edges, machine.dead = [], {}
            for held in made.held:
                self._take(held, made)
            self.world.notes.update(made.notes)
        return made.made

    def _held(self) -> Iterator[HeldWay]:
        for e in self.edges:
            places = tuple(sorted(e.places.items()))
            turn = (e.looked, e.removed, e.told)
            rest = (e.source, e.target, tuple(e.updates), e.order, places, turn)
            values = (*e.updates.values(), *e.released)
            yield held_way(e.blocks, values, rest, e, (e.source, e.reads))
        for dead in self.machine.dead:
            node, reads, blocks, _ = dead
            yield held_way(blocks, (), "dead", DeadWay(dead), (node, reads))

    def _held_selections(self) -> HeldWay:
        """What places of the greatest are released of, as a way of its own."""
        forms = [a.element.form for r in self.releases for a in r.greatest]
        forms += [g.vector.element.form for r in self.releases for g in r.gaps]
        return held_way((), forms, "selections", None, "selections")

    def _take(self, held: HeldWay, made: MadeReading) -> None:
        """A way as it is now."""
        forms = iter(held.way.forms)
        if held.owner is None:
            if held.way.conditions:
                raise Refused("the greatest of values of which each has its own case")
            for r in self.releases:
                r.greatest = [
                    replace(a, element=Real(next(forms), a.element.kinds)) for a in r.greatest
                ]
            for r in self.releases:
                r.gaps = [_with_element(g, next(forms)) for g in r.gaps]
            return
        is_dead = isinstance(held.owner, DeadWay)
        before = held.owner.owner if is_dead else held.owner
        if isinstance(before, LoopEdge):
            place, blocks, draws = (before.source, before.reads), before.blocks, before.draws
        else:
            *place, blocks, draws = before
        blocks, draws = made.blocks(held, blocks), made.draws(draws)
        if is_dead:
            self.machine.dead[(*place, blocks, draws)] = None
            return
        updates = dict(zip(before.updates, forms, strict=False))
        released = with_forms(before.released, forms)
        edge = replace(before, blocks=blocks, draws=draws, updates=updates, released=released)
        self.edges.append(edge)

    def _made(self) -> Graph:
        made = self._rewritten()
        drawn = [d for r in self.releases for d in r.drawn]
        if drawn:
            return self._lawful(self._only_law([d.law for d in drawn]))
        if self.by_chance:
            edges = [replace(e, released=(*e.released, *e.told)) for e in self.edges]
            return self._lawful(law_of(edges, self.world.noises, self.machine.named_values))
        selections = [Selection(a.element.form, a.least) for r in self.releases for a in r.greatest]
        gaps = [g.vector.element.form for r in self.releases for g in r.gaps]
        chosen = [s.form for s in selections] + gaps
        if any(s.kind == "indicator" for form in chosen for s in form.terms):
            raise Refused("the greatest of values with a truth in them")
        if self.machine.named_values.among(chosen):
            raise Refused("a weight, or the greatest of the data, otherwise than in chances")
        if (selections or gaps) and len(self.nodes) > 1:
            raise Refused("the place of the greatest of the data, with other looks at them")
        graph = Graph(
            self.nodes,
            self.edges,
            list(self.machine.dead),
            self.world,
            made=made,
            faithful=self._faithful(),
            selections=selections,
            gaps=gaps,
        )
        graph.table = self._table()
        kept = [r for r in self.releases if r.kept]
        if kept:
            found = greatest_so_far(self.edges, len(kept) == 1)
            places = {(p, how) for e in self.edges for p, how in e.places.items()}
            known = {k.path for r in kept for k in r.kept} <= {p for p, _ in places}
            if found is None or not known or any(how == "other" for _, how in places):
                raise Refused("the place of an element that is kept, or a count without a bound")
            graph.selections.append(found)
            graph.recognised = True
        noises = {s for e in self.edges for s, _ in e.order if s not in made.drawn}
        keep_noises(self.world, (*noises, *made.roots))
        return graph

    def _only_law(self, laws: list[ArgmaxLaw]) -> ArgmaxLaw:
        """The law of a choice that is all that is released."""
        plain = len(self.edges) == len(laws) == 1 and not self.edges[0].blocks
        if not plain or self.edges[0].forms or len(self.edges[0].told) > 1:
            raise Refused("a choice by weights, with other decisions or releases")
        return laws[0]

    def _lawful(self, law: ArgmaxLaw) -> Graph:
        """The argmax that a choice or a loop amounts to, in its place."""
        world = World(private=True)
        world.derived, world.notes = self.world.derived, self.world.notes
        noise = world.noise_symbol("0_0", law.noise)
        edge = LoopEdge(0, END, False, (), (), {}, (), ((noise, True),))
        return Graph(
            [LoopNode(0, ())],
            [edge],
            [],
            world,
            selections=[Selection(law.form.plus(Form.of(noise)))],
            rule=law.rule,
            table=self._table(),
        )

    def _table(self) -> tuple[Any, ...] | None:
        """The public list whose entry at the chosen place is released, if one is."""
        tables = {t for r in self.releases for t in r.tables}
        if len(tables) > 1:
            raise Refused("entries of several lists at the place that is released")
        return next(iter(tables), None)

    def _faithful(self) -> bool:
        """Whether ways that release other things are told apart by what is returned.

        Lower bounds need it: all that a list got must be returned on every way to the end, and
        two lists could get the same in another order.
        """
        lists = {
            thing.items.name
            for state in self.states[1:]
            for _, thing in state.heap.items()
            if isinstance(thing, FilledList)
        }
        shown = self.shown and all(r.shown for r in self.releases)
        return shown and len(lists) <= 1 and all(lists <= names for names in self.returned)


def _with_element(gap: Gap, form: Form) -> Gap:
    element = gap.vector.element
    return Gap(replace(gap.vector, element=Real(form, element.kinds)))


def _is_random(value: Any) -> bool:
    """Whether a released value is a place that was come to at random."""
    return isinstance(value, tuple) and value[:1] in (("place",), ("chosen",))
