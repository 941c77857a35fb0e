"""Noise that a program makes of its draws, read by its law (`rewrites/laws/`).

What is no linear function of draws becomes a symbol of its own, if a rewrite knows its law. Such
a symbol is independent of everything else as long as its draws are used for nothing else: that is
looked at when all paths are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.machine.exploring.drawing import NoiseDrawing
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Law,
    drawn_form,
    drawn_in,
    is_inside,
    recognised,
)


class Made(NamedTuple):
    """Noise that was made: of which draws, and what it counts for where they have values.

    A law may be a sum of several noises. Only the sum is determined by the draws: in a replay the
    first one is what `law` leaves for it, and the others are 0.
    """

    noise: Noise
    expression: Expression
    law: Law
    place: int

    def value(self, made: float) -> float:
        if self.place:
            return 0.0
        factor, _ = self.law.terms[0]
        return (made - float(self.law.constant)) / float(factor)


class Making(NoiseDrawing):
    """The part of the machine that reads noise made of noise."""

    def __init__(self) -> None:
        super().__init__()
        self.makes_noise = False  # whoever reads the model has to know of it
        self.may_leave = False  # whoever explores may leave what is improbable
        self.made: dict[Symbol, Made] = {}
        self._known: dict[Expression, Form] = {}
        self._unfinished: dict[Symbol, tuple[Expression, Refused]] = {}

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What a function gives of noise alone; the refusal, where no law is known of it."""
        if not self.makes_noise:
            raise refusal
        parts = [self._expression(form) for form in arguments]
        if any(part is None for part in parts) or not any(form.terms for form in arguments):
            raise refusal
        made = Applied(function, tuple(part for part in parts if part is not None))
        form = self._known.get(made)
        if form is None:
            law = recognised(made)
            if law is not None:
                form = self._by_law(made, law)
            elif is_inside(function):
                symbol = Symbol("noise", f"made{len(self._known)}")
                self._unfinished[symbol] = (made, self.placed(refusal))
                form = Form.of(symbol)
            else:
                raise refusal
            self._known[made] = form
        return form

    def placed(self, refusal: Refused) -> Refused:
        raise NotImplementedError  # by the machine, which has the frames

    def _expression(self, form: Form) -> Expression | None:
        """A form over noise alone, as an expression."""
        terms: list[tuple[Fraction, Expression]] = []
        for symbol, factor in form.terms.items():
            noise = self.supports.noises.get(symbol)
            if symbol in self._unfinished:
                terms.append((factor, self._unfinished[symbol][0]))
            elif noise is not None:
                terms.append((factor, Drawn(symbol, noise)))
            else:
                return None
        if len(terms) == 1 and not form.constant and terms[0][0] == 1:
            return terms[0][1]
        return Combination(form.constant, tuple(terms))

    def _by_law(self, made: Expression, law: Law) -> Form:
        symbols = []
        for place, (_, noise) in enumerate(law.terms):
            symbol = Symbol("noise", f"{noise.family}_made{len(self.made)}")
            self.made[symbol] = Made(noise, made, law, place)
            self.known_noise(symbol, noise)
            symbols.append(symbol)
        drawn = " and ".join(dict.fromkeys(d.noise.family for d in drawn_in(made)))
        read = " and ".join(dict.fromkeys(noise.family for _, noise in law.terms))
        where = self.placed(Refused("")).where
        file, _, line = (where or "").rpartition(":")
        self.notes[f"{Path(file).name}:{line}: {drawn} draws are read as {read} noise"] = None
        return drawn_form(law, symbols)

    @property
    def has_made_noise(self) -> bool:
        return bool(self.made or self._unfinished)

    def draws_apart(self, used: Iterable[Symbol]) -> set[Symbol]:
        """The draws behind made noise that is used; refuses where one is used twice."""
        seen: dict[Symbol, Expression] = {}
        used = list(used)
        for symbol in used:
            if symbol in self._unfinished:
                raise self._unfinished[symbol][1]
            if symbol in self.made:
                expression = self.made[symbol].expression
                for root in self._roots(expression):
                    if seen.setdefault(root, expression) != expression:
                        raise Refused("a draw that noise is made of in two ways")
        if not seen.keys().isdisjoint(used):
            raise Refused("a draw that noise is made of, and that is used beside it")
        return set(seen)

    def _roots(self, expression: Expression) -> Iterator[Symbol]:
        """All symbols behind an expression: its draws, and those that they were made of."""
        for drawn in drawn_in(expression):
            yield drawn.symbol
            if drawn.symbol in self.made:
                yield from self._roots(self.made[drawn.symbol].expression)
