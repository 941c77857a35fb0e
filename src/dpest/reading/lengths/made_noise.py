"""Noise that a function makes of its draws, in a model for proofs: in the place of the draws.

A model has such noise on the edge on which the last of its draws is made. Runs that are held
against the model draw what the function draws: what it makes of that is computed (`MadeNoises`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.decision_path import Block
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.draws.changes import ChangedWay
from dpest.reading.rewrites.draws.made_values import MadeNoises
from dpest.reading.rewrites.draws.rereading import HeldWay, Rereading, forms_of, substituted
from dpest.reading.rewrites.laws.joining import joined
from dpest.reading.rewrites.laws.protocol import drawn_in
from dpest.reading.rewrites.races import ChanceError
from dpest.reading.world import World
from dpest.running.skeleton import seen_constant

_Model = TypeVar("_Model", covariant=True)


class LengthReading(Protocol[_Model]):
    @property
    def machine(self) -> LengthMachine: ...

    def read(self) -> _Model: ...


def with_curves(begin: Callable[[bool], LengthReading[_Model]]) -> _Model:
    """A reading in which signs and sizes of draws are parts of noise; else by decisions."""
    reading = begin(True)
    try:
        return reading.read()
    except (Refused, ChanceError) as refusal:
        final = isinstance(refusal, Refused) and refusal.final
        if final or not reading.machine.has_made_curves:
            raise
    return begin(False).read()


class DeadWay(NamedTuple):
    """A way that nothing comes to: it shows that decisions are complete."""

    owner: Any


class MadeReading(Rereading):
    """The ways of a model for proofs, with made noise in the place of the draws behind it.

    Each way is there with its blocks of conditions, and with all forms that are on it: a draw
    behind made noise must be in none of them.
    """

    machine: LengthMachine

    def __init__(self, machine: LengthMachine, held: Sequence[HeldWay]) -> None:
        super().__init__(machine, held, machine.supports.noises)
        self.values: dict[Symbol, Form] = {}
        self.roots: dict[Symbol, frozenset[Symbol]] = {}
        self.shared = set(self.cut_draws())
        machine.draws_apart(self.used(), self.shared)
        self.pair_signs()
        self._join_sums()
        used = self.used()
        self._behind = machine.draws_apart(used, self.shared) | (self.shared - used.keys())
        self._rename([s for s in used if s.kind == "noise"])
        self._families()
        noises = machine.supports.noises
        draws = {root for roots in self.roots.values() for root in roots}
        self.made = MadeNoises(
            {s: noises[s] for s in draws}, self.roots, dict(machine.made), dict(machine.scaled)
        )

    def impossible(self, held: HeldWay) -> list[HeldWay]:
        dead = held.owner if isinstance(held.owner, DeadWay) else DeadWay(held.owner)
        return [HeldWay(ChangedWay(held.way.conditions, ()), "dead", dead, held.group)]

    def _join_sums(self) -> None:
        """Differences of noises that only appear together."""
        forms = [form for way in self.ways for form in forms_of(way)]
        noises = self.machine.supports.noises
        joining = joined(forms, {s: noises[s] for s in self.used() if s in noises})
        for symbol, made in joining.made.items():
            self.machine.made[symbol] = made
            self.machine.known_noise(symbol, made.noise)
        self._substitute(joining.settled())

    def _rename(self, used: Sequence[Symbol]) -> None:
        """Made noise is called after its draws: h…, as the kernel calls all noise."""
        machine = self.machine
        renamed: dict[Symbol, Form] = {}
        for symbol in used:
            roots = frozenset(machine.roots(symbol))
            if roots == {symbol}:
                continue
            stem = "h" + "+".join(sorted(root.name.removeprefix("h") for root in roots))
            names = (Symbol("noise", stem + "'" * n) for n in itertools.count(1))
            name = next(n for n in names if n not in machine.supports.noises)
            machine.known_noise(name, machine.supports.noises[symbol])
            machine.scaled[name] = (symbol, 0)
            self.roots[name] = roots
            renamed[symbol] = Form.of(name)
        self._substitute(renamed)

    def _substitute(self, values: Mapping[Symbol, Form]) -> None:
        if values:
            self.values = {s: f.substitute(values) for s, f in self.values.items()} | dict(values)
            self.held = [held._replace(way=substituted(held.way, values)) for held in self.held]
            self.changed = True

    def _families(self) -> None:
        """Decisions between several, by the symbols that there are now."""
        families = self.machine.world.families
        if not self.values:
            return
        for options, number in list(families.values()):
            new = tuple(self._block(option) for option in options)
            families[new[number]] = (new, number)

    def _block(self, block: Block) -> Block:
        return tuple(Condition(c.form.substitute(self.values), c.relation) for c in block)

    def blocks(self, held: HeldWay, before: Sequence[Block]) -> tuple[Block, ...]:
        """The decisions of a way; those between several stay together."""
        found: list[Block] = []
        several = [self._block(block) for block in before if len(block) != 1]
        rest = held.way.conditions
        while rest:
            size = 1
            if several and rest[: len(several[0])] == several[0]:
                size = len(several.pop(0))
            found.append(rest[:size])
            rest = rest[size:]
        if several:
            raise Refused("a decision between several, about noise that is made of draws")
        return tuple(found)

    def draws(self, draws: Sequence[Symbol]) -> tuple[Symbol, ...]:
        """The noises of a way on which these were drawn."""
        there = frozenset(draws)
        kept = [s for s in draws if s not in self._behind and self.machine.roots(s) == {s}]
        return (*kept, *(s for s, roots in self.roots.items() if roots <= there))

    @property
    def notes(self) -> dict[str, None]:
        """How draws were read, for people."""
        noises = self.machine.supports.noises
        found: dict[str, None] = {}
        for symbol, roots in self.roots.items():
            drawn = " and ".join(dict.fromkeys(self.made.drawn[r].family for r in sorted(roots)))
            if drawn != noises[symbol].family:
                file, _, line = self._place(symbol).rpartition(":")
                where = f"{Path(file).name}:{line}: " if file else ""
                found[f"{where}{drawn} draws are read as {noises[symbol].family} noise"] = None
        return found

    def _place(self, symbol: Symbol) -> str:
        """Where noise is made."""
        base = self.machine.base_of(symbol)
        if base != symbol:
            return self._place(base)
        made = self.machine.made.get(symbol)
        if made is None:
            return ""
        return made.where or next(
            filter(None, (self._place(s.symbol) for s in drawn_in(made.expression))), ""
        )


def held_way(
    blocks: Sequence[Block],
    values: Sequence[Any],
    rest: Hashable,
    owner: Any,
    group: Hashable = None,
) -> HeldWay:
    """A way with its decisions; forms are those of its values that are some."""
    conditions = tuple(c for block in blocks for c in block)
    forms = tuple(v for v in values if isinstance(v, Form))
    plain = tuple(seen_constant(v) for v in values if not isinstance(v, Form))
    return HeldWay(ChangedWay(conditions, forms), (rest, plain), owner, group)


def with_forms(values: Sequence[Any], forms: Iterator[Form]) -> tuple[Any, ...]:
    """The values of a way, with its forms as they are now."""
    return tuple(next(forms) if isinstance(v, Form) else v for v in values)


def keep_noises(world: World, used: Iterable[Symbol]) -> None:
    """Only the noises that are used."""
    wanted = set(used)
    noises = world.supports.noises
    for symbol in [s for s in noises if s not in wanted]:
        del noises[symbol]
