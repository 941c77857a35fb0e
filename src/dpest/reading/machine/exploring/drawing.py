"""Draws: each is a symbol with its noise, or one of finitely many outcomes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise import Bernoulli, Binomial, Geometric
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.reading.domains.numbers import Kinds, Real, Truth
from dpest.reading.machine.exploring.decisions import Decisions
from dpest.reading.machine.signals import BeforeDraw, Fork, Refused
from dpest.reading.machine.state import Draw, Picked

_HALF = Fraction(1, 2)


class NoiseDrawing(Decisions):
    """The part of the machine that makes noise."""

    def __init__(self) -> None:
        super().__init__()
        self._symbols: dict[tuple[int, Noise], Symbol] = {}
        self._names: set[str] = set()
        self.stops_before_draws = False  # before the first one of each turn of a loop

    def _next_draw(self) -> int:
        return self.state.drawn_before + len(self.state.draws) + len(self.state.picks)

    def _may_stop(self) -> None:
        """Ends the instruction before the first draw of a turn, if somebody waits for that."""
        state = self.state
        if not (self.stops_before_draws and state.new_turn):
            return
        if not state.pending and state.heap.changes == self.changes_before:
            raise BeforeDraw

    def symbol_of(self, index: int, noise: Noise) -> Symbol:
        """The same on every path that makes the same draw."""
        symbol = self._symbols.get((index, noise))
        if symbol is None:
            stem = f"{noise.family}{index}"
            name = stem
            for other in itertools.count(2):
                if name not in self._names:
                    break
                name = f"{stem}_{other}"
            self._names.add(name)
            symbol = self._symbols[index, noise] = Symbol("noise", name)
            self.known_noise(symbol, noise)
        return symbol

    def all_noises(self) -> list[Noise]:
        """What was drawn anywhere."""
        return list(dict.fromkeys(noise for _, noise in self._symbols))

    def noises_at(self, index: int) -> list[Noise]:
        """What was drawn in this place, on some path."""
        return [noise for place, noise in self._symbols if place == index]

    def draw(self, noise: Noise, kinds: Kinds) -> Any:
        """A value of a noise: a symbol, or the only value that it has."""
        if isinstance(noise, (Binomial, Geometric)):
            self.known_errors.coin(noise.p)
        if noise.constant is not None:
            return kinds[0](noise.constant)
        self._may_stop()
        symbol = self.symbol_of(self._next_draw(), noise)
        self.state.draws = (*self.state.draws, Draw(symbol, noise))
        return Real(Form.of(symbol), kinds)

    def coin(self, chance: Any, kind: type = bool) -> Any:
        """True with a chance: a truth that is decided when it is needed."""
        chance = exact(chance) if is_number(chance) else chance
        drawn = self.draw(Bernoulli(chance), (int,))
        if not isinstance(drawn, Real):
            return kind(drawn)
        return Truth(Condition(drawn.form.minus(Form(None, _HALF)), ">"), kind=kind)

    def chosen(self, truth: Any, yes: Any, no: Any, kinds: Kinds) -> Any:
        """One of two numbers, as a number."""
        if not isinstance(truth, Truth):
            return yes if truth else no
        bit = self.indicator(truth)
        low, high = Form.number(no), Form.number(yes)
        return Real(low.plus(bit.times(high.constant - low.constant)), kinds)

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        """One of finitely many outcomes of a draw, each a state of its own."""
        state = self.state
        if len(outcomes) == 1:
            return outcomes[0][0]
        if not outcomes:
            raise Refused("a draw without outcomes")
        self._may_stop()
        site = f"{noise.family}{self._next_draw()}"
        if self.taken == len(state.pending):
            if state.heap.changes != self.changes_before:
                raise Refused("a draw in the middle of a change")
            raise Fork([()] * len(outcomes), range(len(outcomes)))
        self.taken += 1
        value, probability = outcomes[state.pending[self.taken - 1]]
        state.picks = (*state.picks, Picked(site, noise, value, probability))
        return value
