"""Noise that a function makes of its draws, in a model for proofs: in the place of the draws.

A model has such noise on the edge on which the last of its draws is made. Runs that are held
against the model draw what the function draws: what it makes of that is computed (`MadeNoises`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Real
from dpest.reading.lengths.scaling import ScaledNoise
from dpest.reading.machine.exploring.making import Made
from dpest.reading.rewrites.laws.joining import joined
from dpest.reading.rewrites.laws.protocol import drawn_in, evaluated
from dpest.reading.world import World


@dataclass(frozen=True)
class MadeNoises:
    """The noises of a model that are made of others, and the draws at the bottom of them.

    `scaled`: of s·eps^p, s and p.
    """

    drawn: Mapping[Symbol, Noise] = field(default_factory=dict)
    roots: Mapping[Symbol, frozenset[Symbol]] = field(default_factory=dict)
    made: Mapping[Symbol, Made] = field(default_factory=dict)
    scaled: Mapping[Symbol, tuple[Symbol, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.roots)

    def value(self, symbol: Symbol, drawn: Mapping[Symbol, Fraction], eps: Any) -> float:
        """What a noise is, where its draws have values."""
        if symbol in self.scaled:
            base, power = self.scaled[symbol]
            found = self.value(base, drawn, eps)
            return found * float(eps) ** power if power else found
        made = self.made.get(symbol)
        if made is None:
            return float(drawn[symbol])
        values = {d.symbol: self.value(d.symbol, drawn, eps) for d in drawn_in(made.expression)}
        return made.value(float(evaluated(made.expression, values)))

    def fill(
        self, values: dict[Symbol, Fraction], wanted: Iterable[Symbol], eps: Any
    ) -> dict[Symbol, Fraction]:
        """The same values with those of noises that are made of them."""
        for symbol in wanted:
            roots = self.roots.get(symbol)
            if roots is not None and symbol not in values and roots <= values.keys():
                values[symbol] = Fraction(self.value(symbol, values, eps))
        return values


class Rewritten:
    """What was read, with the noise that was made in the place of the draws behind it.

    `forms` are all that are there: a draw behind made noise must be in none of them.
    """

    def __init__(self, machine: ScaledNoise, forms: Iterable[Form]) -> None:
        forms = list(forms)
        noises = machine.supports.noises
        used = {s: None for form in forms for s in form.terms if s.kind == "noise"}
        joining = joined(forms, {s: noises[s] for s in used if s in noises})
        self.values = joining.settled()
        for symbol, made in joining.made.items():
            machine.made[symbol] = made
            machine.known_noise(symbol, made.noise)
        used = {s: None for form in forms for s in self.form(form).terms if s.kind == "noise"}
        self._behind = machine.draws_apart(used)
        self._rename(machine, list(used))
        draws = {root for roots in self.roots.values() for root in roots}
        self.made = MadeNoises(
            {s: noises[s] for s in draws}, self.roots, dict(machine.made), dict(machine.scaled)
        )

    def _rename(self, machine: ScaledNoise, used: Sequence[Symbol]) -> None:
        """Made noise is called after its draws: h…, as the kernel calls all noise."""
        self.roots: dict[Symbol, frozenset[Symbol]] = {}
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
        self.values = {s: form.substitute(renamed) for s, form in self.values.items()} | renamed

    def form(self, form: Form) -> Form:
        return form.substitute(self.values)

    def real(self, value: Real) -> Real:
        return Real(self.form(value.form), value.kinds)

    def leaf(self, value: Any) -> Any:
        return self.form(value) if isinstance(value, Form) else value

    def block(self, block: tuple[Condition, ...]) -> tuple[Condition, ...]:
        if not self.values:
            return block
        return tuple(Condition(self.form(c.form), c.relation) for c in block)

    def draws(self, draws: Sequence[Symbol]) -> tuple[Symbol, ...]:
        """The noises of an edge on which these were drawn."""
        there = frozenset(draws)
        kept = [s for s in draws if s not in self._behind and s not in self.values]
        return (*kept, *(s for s, roots in self.roots.items() if roots <= there))


def keep_noises(world: World, used: Iterable[Symbol]) -> None:
    """Only the noises that are used."""
    wanted = set(used)
    noises = world.supports.noises
    for symbol in [s for s in noises if s not in wanted]:
        del noises[symbol]
