"""A function on symbolic data of one length, read by the machine: the model of its releases.

Nothing is cut into turns: each way from the call to the end is one edge. Ways to the same release
are one leaf where what they share tells it apart from all others (`merged_states`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Form, Symbol
from dpest.reading.decision_path import Block
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.made_noise import (
    DeadWay,
    MadeReading,
    held_way,
    keep_noises,
    with_curves,
    with_forms,
)
from dpest.reading.lengths.starting import first_state
from dpest.reading.lengths.values import Plan, Restart
from dpest.reading.machine.exploring.explorer import Limits, Walk
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import Dead, Fork, Refused
from dpest.reading.machine.state import State
from dpest.reading.merged_states import MergedEdge, MergedModel, MergedNode, all_disjoint, settle
from dpest.reading.paths_of_code import lifted
from dpest.reading.rewrites.draws.rereading import HeldWay
from dpest.reading.table.registry import load
from dpest.reading.world import World
from dpest.running.skeleton import Leaf, Skeleton

_INSTRUCTIONS = 200_000
_MOST_WAYS = 128
_LIMITS = Limits(forks=64)


class ManyWays(Refused):
    """More ways than a model of one length may have."""


class ReleaseWay(NamedTuple):
    """From the call to the end; `order` is what is drawn on it."""

    blocks: tuple[Block, ...]
    draws: tuple[Symbol, ...]
    skeleton: Skeleton
    leaves: tuple[Any, ...]
    order: tuple[Symbol, ...]


def read_model(
    target: Mechanism, parameters: Mapping[str, Any], data: Any, world: Callable[[], World]
) -> MergedModel:
    """The model of a mechanism on data with symbols in it; Refused where the machine has no rule.

    `parameters` may hold a `Unit` for eps: the model is then one for every eps > 0.
    """
    load()
    try:
        return with_curves(
            lambda curves: _FixedLengthReading(target, parameters, data, world(), curves)
        )
    except Restart:
        raise Refused("a list that is filled without being looked at") from None
    except Refused:
        raise
    except Exception as error:
        # A rule that does not know what it was given must not go on.
        raise Refused(f"data of one length: {type(error).__name__}: {error}") from error


class _Machine(LengthMachine):
    """All data are at hand, all the time."""

    is_whole = True

    def need_at_hand(self, symbols: set[Symbol]) -> None:
        return

    def greatest(self, forms: Sequence[Form], *, first: bool = True) -> int:
        if len(forms) > _MOST_WAYS:
            raise ManyWays(f"more than {_MOST_WAYS} ways")
        return super().greatest(forms, first=first)


class _FixedLengthReading:
    def __init__(
        self,
        target: Mechanism,
        parameters: Mapping[str, Any],
        data: Any,
        world: World,
        curves: bool,
    ) -> None:
        self.world = world
        self.machine = _Machine(world, Plan(), _INSTRUCTIONS)
        self.machine.makes_curves = curves
        self.ways: list[ReleaseWay] = []
        self.first = first_state(self.machine, target, parameters, lambda s: lifted(s, data))

    def read(self) -> MergedModel:
        self._explore()
        dead = list(dict.fromkeys((0, blocks) for _, _, blocks, _ in self.machine.dead))
        made = MadeReading(self.machine, self._held(dead))
        if made.roots:
            self.ways = []
            dead = []
            for held in made.held:
                self._take(held, made, dead)
            self.world.notes.update(made.notes)
            keep_noises(self.world, (s for way in self.ways for s in way.draws))
        for merged in (True, False):
            root = MergedNode(0, {}, ())
            leaves = self._leaves(root, merged)
            if all_disjoint(leaves):
                break
        return MergedModel([root, *leaves], leaves, dead, self.world, merged, made.made)

    def _held(self, dead: Sequence[tuple[int, tuple[Block, ...]]]) -> list[HeldWay]:
        ways = [
            held_way(way.blocks, way.leaves, (way.skeleton, way.order), way) for way in self.ways
        ]
        return ways + [held_way(blocks, (), "dead", DeadWay(blocks)) for _, blocks in dead]

    def _take(
        self, held: HeldWay, made: MadeReading, dead: list[tuple[int, tuple[Block, ...]]]
    ) -> None:
        """A way as it is now."""
        before = held.owner.owner if isinstance(held.owner, DeadWay) else held.owner
        old = before.blocks if isinstance(before, ReleaseWay) else before
        blocks = made.blocks(held, old)
        if isinstance(held.owner, DeadWay):
            dead.append((0, blocks))
            return
        leaves = with_forms(held.owner.leaves, iter(held.way.forms))
        draws = made.draws(held.owner.draws)
        self.ways.append(held.owner._replace(blocks=blocks, leaves=leaves, draws=draws))

    def _explore(self) -> None:
        """All ways to the end, in order."""
        machine = self.machine
        walk = Walk(machine, self.first, _LIMITS)
        for state in walk:
            if len(self.ways) >= _MOST_WAYS:
                raise ManyWays(f"more than {_MOST_WAYS} ways")
            state.pending = ()  # what was decided before is among the conditions
            walk.asked(state)
            try:
                self.ways.append(self._way(state))
            except Fork as fork:  # a truth that is released is decided
                walk.decided(state, fork)
            except Dead:
                continue

    def _way(self, state: State) -> ReleaseWay:
        machine = self.machine
        release = released(machine, state)
        if release.raised:
            raise Refused("an exception")
        kinds = _kinds(release.skeleton)
        leaves = tuple(
            self._decided(leaf, kind) if isinstance(leaf, Form) else leaf
            for leaf, kind in zip(release.leaves, kinds, strict=True)
        )
        drawn = machine.drawn(state)
        return ReleaseWay(machine.log_of(state).blocks, drawn, release.skeleton, leaves, drawn)

    def _decided(self, leaf: Form, kind: str) -> Any:
        """A released number with every truth in it decided, by forks."""
        machine = self.machine
        bits = sorted(leaf.symbols("indicator"))
        if not bits:
            return leaf
        known = {s: Form.number(int(machine.holds(machine.definition(s)))) for s in bits}
        form = leaf.substitute(known)
        if form.terms:
            return form
        return {"bool": bool, "int": int}.get(kind, float)(form.constant)

    def _leaves(self, root: MergedNode, merged: bool) -> list[MergedNode]:
        found: dict[Any, MergedNode] = {}
        for number, way in enumerate(self.ways):
            released = way.skeleton, way.leaves
            key: Any = (*released, tuple(map(type, way.leaves))) if merged else number
            node = found.get(key)
            if node is None:
                node = found[key] = MergedNode(len(found) + 1, {}, ())
                node.release = released
            node.incoming.append(MergedEdge(0, way.blocks, way.draws, way.order))
        for node in found.values():
            settle(node, {0: root}, self.world)
        return list(found.values())


def _kinds(skeleton: Skeleton) -> list[str]:
    """What the leaves of a release are, in order."""
    if isinstance(skeleton, Leaf):
        return [skeleton.kind]
    return [kind for part in skeleton.parts for kind in _kinds(part)]
