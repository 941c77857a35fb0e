"""A model with noise that was made of draws: the noise in the place of the draws behind it.

When all paths are known, a uniform draw that was compared beside its logarithm is cut into pieces
(`rewrites/draws/pieces`), a coin and a noise that it gives its sign are one noise (`fair_signs`),
and decisions that make no difference any more are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.making import Made
from dpest.reading.machine.signals import Refused
from dpest.reading.model import Edge, Model
from dpest.reading.rewrites.draws.changes import (
    Change,
    Way,
    changed,
    changed_truth,
    conditions_in,
    symbols_in,
)
from dpest.reading.rewrites.draws.fair_signs import SignAndSize, pairs
from dpest.reading.rewrites.draws.forks import without_needless_forks
from dpest.reading.rewrites.draws.pieces import PieceReading
from dpest.reading.rewrites.laws.curves import Unread, range_of
from dpest.reading.rewrites.laws.protocol import Drawn, drawn_in

_MOST_PATHS = 1024  # that are looked at for coins and noises which are one noise


def with_made_noise(machine: Machine, model: Model) -> Model:
    """The same model; refuses where a draw behind made noise is used for anything else."""
    paths = _Paths(machine, model)
    shared = set(paths.cut_draws())
    machine.draws_apart(paths.used(), shared)
    paths.pair_signs()
    used = paths.used()
    behind = machine.draws_apart(used, shared)
    made = {symbol: machine.made[symbol] for symbol in used if symbol in machine.made}
    if not made:
        return model
    noises = {symbol: noise for symbol, noise in model.noises.items() if symbol not in behind}
    noises = {s: n for s, n in noises.items() if s not in shared or s in used}
    return replace(
        model,
        edges=paths.edges(),
        noises=noises | {symbol: one.noise for symbol, one in made.items()},
        definitions=machine.definitions,
        notes=(*model.notes, *dict.fromkeys(note(machine, one) for one in made.values())),
        made=made,
    )


def note(machine: Machine, made: Made) -> str:
    """How draws were read, for people."""
    draws = (d for d in drawn_in(machine.written_out(made.expression)))
    drawn = " and ".join(dict.fromkeys(d.noise.family for d in draws))
    read = " and ".join(dict.fromkeys(noise.family for _, noise in made.law.terms))
    file, _, line = made.where.rpartition(":")
    place = f"{Path(file).name}:{line}: " if file else ""
    return f"{place}{drawn} draws are read as {read} noise"


class _Held(NamedTuple):
    """A path as a way: its conditions, the numbers that it releases, and its edge."""

    way: Way
    edge: Edge


class _Paths:
    """The paths of a model while its draws are read again."""

    def __init__(self, machine: Machine, model: Model) -> None:
        self.machine = machine
        self.held = [_held(edge) for edge in model.edges]
        self.noises: dict[Symbol, Noise] = dict(model.noises)
        self.noises |= {s: made.noise for s, made in machine.made.items()}
        self.changed = False

    @property
    def ways(self) -> list[Way]:
        return [held.way for held in self.held]

    def used(self) -> dict[Symbol, None]:
        """All symbols that something depends on: conditions, releases, and the truths in them."""
        definitions = self.machine.definitions
        return dict.fromkeys(s for way in self.ways for s, _ in symbols_in(way, definitions))

    def edges(self) -> list[Edge]:
        if not self.changed:
            return [held.edge for held in self.held]
        return [_edge(held) for held in self.held]

    # Uniform draws

    def cut_draws(self) -> Iterable[Symbol]:
        """Reads draws by pieces where that is needed; gives those that are left for the pieces."""
        machine = self.machine
        if not machine.has_made_noise:
            return
        used = self.used()
        behind: dict[Symbol, list[Symbol]] = {}
        for symbol in used:
            if symbol in machine.made or symbol in machine.unfinished:
                for root in machine.roots(symbol):
                    behind.setdefault(root, []).append(symbol)
        for root, symbols in behind.items():
            drawn = Drawn(root, machine.supports.noises[root])
            laws = {machine.made[s].expression if s in machine.made else s for s in symbols}
            alone = root not in used and len(laws) == 1 and symbols[0] in machine.made
            if alone or range_of(drawn) is None:
                continue
            if any(len(machine.roots(symbol)) > 1 for symbol in symbols):
                continue
            curves = {s: machine.written_out(self._expression(s)) for s in symbols}
            reading = PieceReading(
                drawn, curves, self.ways, machine.definitions, self._refused(symbols)
            )
            self._make(reading, self._where(symbols))
            self.held = self._possible(self._after(reading))
            yield root

    def _expression(self, symbol: Symbol) -> Any:
        if symbol in self.machine.unfinished:
            return self.machine.unfinished[symbol].expression
        found = self.machine.made[symbol].inverse
        if found is None:
            raise self.machine.used_otherwise(symbol)
        return found

    def _where(self, symbols: Sequence[Symbol]) -> str:
        machine = self.machine
        for symbol in symbols:
            if symbol in machine.unfinished:
                return machine.unfinished[symbol].refusal.where or ""
            if symbol in machine.made:
                return machine.made[symbol].where
        return ""

    def _refused(self, symbols: Sequence[Symbol]) -> Any:
        def refused(symbol: Symbol, why: Unread) -> Refused:
            found = Refused(why.reason, why.advice)
            found.where = self._where([symbol, *symbols]) or None
            return found

        return refused

    def _make(self, change: PieceReading | SignAndSize, where: str) -> None:
        """The new noise of a change."""
        form = self.machine.by_law(*change.noise_made(), where)
        (change.noise,) = form.terms
        self.noises[change.noise] = self.machine.made[change.noise].noise

    def _after(self, change: Change) -> list[_Held]:
        """The paths, with a change applied."""
        self.changed = True
        bits = self._changed_bits(change)
        found = []
        for held in self.held:
            way = _with_bits(held.way, bits)
            found += [_Held(new, held.edge) for new in changed(change, way)]
        return found

    def _changed_bits(self, change: Change) -> dict[Symbol, Form]:
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

    def _possible(self, paths: Iterable[_Held]) -> list[_Held]:
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
        return found

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
        forks = [(held.way.conditions, _key(held), held) for held in self.held]
        left = without_needless_forks(forks)
        self.changed = self.changed or len(left) < len(self.held)
        self.held = [_Held(Way(c, held.way.forms), held.edge) for c, _, held in left]


def _held(edge: Edge) -> _Held:
    assert edge.release is not None
    forms = tuple(leaf for leaf in edge.release.leaves if isinstance(leaf, Form))
    return _Held(Way(edge.conditions, forms), edge)


def _edge(held: _Held) -> Edge:
    """The edge of a path, with what is known of it now."""
    release = held.edge.release
    assert release is not None
    forms = iter(held.way.forms)
    leaves = tuple(next(forms) if isinstance(v, Form) else v for v in release.leaves)
    new = release._replace(leaves=leaves)
    return replace(held.edge, conditions=held.way.conditions, release=new)


def _key(held: _Held) -> Any:
    """All of a path but its decisions. True and 1 are not the same release."""
    edge = held.edge
    assert edge.release is not None
    plain = tuple((type(v), v) for v in edge.release.leaves if not isinstance(v, Form))
    rest = (edge.release.skeleton, plain, edge.release.raised, edge.draws, edge.picks)
    return held.way.forms, rest


def _with_bits(way: Way, bits: dict[Symbol, Form]) -> Way:
    if not bits:
        return way
    conditions = tuple(Condition(c.form.substitute(bits), c.relation) for c in way.conditions)
    return Way(conditions, tuple(form.substitute(bits) for form in way.forms))
