"""Ways through a function whose draws are read again, once all of them are known.

A uniform draw that was compared beside its logarithm is cut into pieces (`pieces`), a coin and a
noise that it gives its sign are one noise (`fair_signs`), and decisions that make no difference any
more are left out (`forks`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.exploring.making import Making
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.draws.changes import (
    ChangedWay,
    DrawChange,
    changed,
    changed_truth,
    conditions_in,
    symbols_in,
)
from dpest.reading.rewrites.draws.fair_signs import SignAndSize, pairs
from dpest.reading.rewrites.draws.forks import without_needless_forks
from dpest.reading.rewrites.draws.pieces import PieceReading
from dpest.reading.rewrites.laws.curves import UnreadCurve, range_of
from dpest.reading.rewrites.laws.protocol import Drawn

_MOST_PATHS = 1024  # that are looked at for coins and noises which are one noise


class HeldWay(NamedTuple):
    """A way through a function, or through a part of it.

    `rest` is all of it but its decisions and its numbers: ways with the same rest may become one.
    `group`: the ways of one tree of decisions. `owner` is whatever the way belongs to.
    """

    way: ChangedWay
    rest: Hashable
    owner: Any
    group: Hashable = None


class Rereading:
    """The ways through a function while its draws are read again."""

    def __init__(
        self, machine: Making, held: Sequence[HeldWay], noises: Mapping[Symbol, Noise]
    ) -> None:
        self.machine = machine
        self.held = list(held)
        self.noises: dict[Symbol, Noise] = dict(noises)
        self.noises |= {s: made.noise for s, made in machine.made.items()}
        self.changed = False

    @property
    def ways(self) -> list[ChangedWay]:
        return [held.way for held in self.held]

    def used(self) -> dict[Symbol, None]:
        """All symbols that something depends on: conditions, releases, and the truths in them."""
        definitions = self.machine.definitions
        return dict.fromkeys(s for way in self.ways for s, _ in symbols_in(way, definitions))

    # Uniform draws

    def cut_draws(self) -> Iterable[Symbol]:
        """Reads draws by pieces where that is needed; gives those that are left for the pieces."""
        machine = self.machine
        if not machine.has_made_noise:
            return
        used = self.used()
        behind: dict[Symbol, list[Symbol]] = {}
        for symbol in used:
            base = machine.base_of(symbol)
            if base in machine.made or base in machine.unfinished:
                for root in machine.roots(symbol):
                    behind.setdefault(root, []).append(symbol)
        for root, symbols in behind.items():
            drawn = Drawn(root, machine.supports.noises[root])
            bases = [machine.base_of(s) for s in symbols]
            laws = {machine.made[s].expression if s in machine.made else s for s in bases}
            alone = root not in used and len(laws) == 1 and bases[0] in machine.made
            if alone or range_of(drawn) is None:
                continue
            if any(len(machine.roots(symbol)) > 1 for symbol in symbols):
                continue
            curves = {s: machine.written_out(self._expression(s)) for s in symbols}
            reading = PieceReading(
                drawn, curves, self.ways, machine.definitions, self._refused(symbols), machine.like
            )
            self._make(reading, self._where(symbols))
            self.held = self._possible(self._after(reading))
            yield root

    def _expression(self, symbol: Symbol) -> Any:
        symbol = self.machine.base_of(symbol)
        if symbol in self.machine.unfinished:
            return self.machine.unfinished[symbol].expression
        found = self.machine.made[symbol].inverse
        if found is None:
            raise self.machine.used_otherwise(symbol)
        return found

    def _where(self, symbols: Sequence[Symbol]) -> str:
        machine = self.machine
        for symbol in map(machine.base_of, symbols):
            if symbol in machine.unfinished:
                return machine.unfinished[symbol].refusal.where or ""
            if symbol in machine.made:
                return machine.made[symbol].where
        return ""

    def _refused(self, symbols: Sequence[Symbol]) -> Any:
        def refused(symbol: Symbol, why: UnreadCurve) -> Refused:
            found = Refused(why.reason, why.advice)
            found.where = self._where([symbol, *symbols]) or None
            return found

        return refused

    def _make(self, change: PieceReading | SignAndSize, where: str) -> None:
        """The new noise of a change."""
        form = self.machine.by_law(*change.noise_made(), where)
        (change.noise,) = form.terms

    def _after(self, change: DrawChange) -> list[HeldWay]:
        """The paths, with a change applied."""
        self.changed = True
        bits = self._changed_bits(change)
        found = []
        for held in self.held:
            way = substituted(held.way, bits)
            found += [held._replace(way=new) for new in changed(change, way)]
        # What a change makes may be made of its new noise in turn.
        known = self.machine.supports.noises
        new = {s for held in found for form in forms_of(held.way) for s in form.terms}
        self.noises |= {s: known[s] for s in sorted(new) if s in known and s not in self.noises}
        return found

    def _changed_bits(self, change: DrawChange) -> dict[Symbol, Form]:
        """Truths that speak of what is changed, as new ones."""
        machine = self.machine
        found: dict[Symbol, Form] = {}
        for symbol in self.used():
            if symbol.kind != "indicator":
                continue
            truth = machine.definitions[symbol]
            new = changed_truth(change, truth)
            if isinstance(new, Truth) and new.key == truth.key:
                continue
            found[symbol] = machine.indicator(new) if isinstance(new, Truth) else Form.number(new)
        for symbol in self.used():
            inside = machine.definitions[symbol] if symbol.kind == "indicator" else None
            if inside is not None and any(
                not found.keys().isdisjoint(c.form.terms) for c in conditions_in(inside)
            ):
                raise Refused("a truth about noise that is made of draws, inside of another one")
        return found

    def _possible(self, paths: Iterable[HeldWay]) -> list[HeldWay]:
        """Without the paths that nothing comes to: what was unfinished had no bounds."""
        supports = self.machine.supports
        found = []
        for held in paths:
            conditions = [supports.tightened(c) for c in held.way.conditions]
            near = {s for c in conditions for s in c.form.terms}
            bounds = supports.conditions(near)
            assumed = [c for c in self.machine.assumed if not near.isdisjoint(c.form.terms)]
            if feasible([*conditions, *bounds, *assumed]) is not None:
                found.append(held)
            else:
                found += self.impossible(held)
        return found

    def impossible(self, held: HeldWay) -> list[HeldWay]:
        """What is kept of a way that nothing comes to."""
        return []

    # Signs

    def pair_signs(self) -> None:
        """Coins and noises that are one noise, where paths become the same by it."""
        exponential = any(isinstance(n, Exponential) for n in self.noises.values())
        if len(self.held) > _MOST_PATHS or not exponential:
            self._join()
            return
        self._join()
        again = True
        while again and len(self.held) > 1:
            again = False
            for pair in pairs(self.ways, self.noises, self.machine.definitions, self._order()):
                if self._paired(pair):
                    again = True
                    break

    def _order(self) -> dict[Symbol, int]:
        """The places of the draws in the program; of what was made, that of its first draw."""
        places = {symbol: place for place, symbol in enumerate(self.noises)}
        return {s: min(places[r] for r in self.machine.roots(s)) for s in places}

    def _paired(self, pair: SignAndSize) -> bool:
        before = self.held, self.changed, dict(self.noises)
        self._make(pair, self._where([pair.size]))
        self.held = self._possible(self._after(pair))
        self._join()
        if len(self.held) < len(before[0]):
            return True
        self.held, self.changed, self.noises = before
        self.machine.forget(pair.noise)
        return False

    def _join(self) -> None:
        if not self.machine.has_made_noise:
            return
        groups: dict[Hashable, list[HeldWay]] = {}
        for held in self.held:
            groups.setdefault(held.group, []).append(held)
        found = []
        for group in groups.values():
            forks = [(held.way.conditions, (held.way.forms, held.rest), held) for held in group]
            for conditions, _, held in without_needless_forks(forks):
                found.append(held._replace(way=ChangedWay(conditions, held.way.forms)))
        self.changed = self.changed or len(found) < len(self.held)
        self.held = found


def forms_of(way: ChangedWay) -> Iterator[Form]:
    yield from way.forms
    yield from (c.form for c in way.conditions)


def substituted(way: ChangedWay, bits: Mapping[Symbol, Form]) -> ChangedWay:
    if not bits:
        return way
    conditions = tuple(Condition(c.form.substitute(bits), c.relation) for c in way.conditions)
    return ChangedWay(conditions, tuple(form.substitute(bits) for form in way.forms))
