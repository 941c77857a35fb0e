"""The values of noise that was made of draws, in runs that are held against a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise
from dpest.reading.machine.exploring.making import Made
from dpest.reading.rewrites.laws.protocol import drawn_in, evaluated


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
