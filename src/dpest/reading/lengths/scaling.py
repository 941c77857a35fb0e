"""Noise times a power of eps, where eps has no value: noise of another scale.

Forms hold rational numbers alone. So what a program multiplies or divides by eps is a symbol of its
own, s·eps^p. Where s is noise of a family in which a multiple of a noise is a noise it has a law;
all others (a sign, a logarithm that is not finished) are of use inside of a product only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.code.operators import OPERATORS
from dpest.reading.domains.numbers import Real, result_kinds
from dpest.reading.domains.unit import Unit
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.laws.protocol import Drawn, Expression, with_parts

_ONE = Symbol("noise", "one")
"""What stands for the number 1 in a multiple of eps."""
_WITHOUT_VALUE = (
    "eps, which has no value here, together with a value that is no noise of a known scale",
    "let eps scale the noise only, or give eps a value",
)
_POWERS = {
    "*": lambda powers: sum(powers),
    "/": lambda powers: powers[0] - powers[1],
    "abs": lambda powers: powers[0],
    "sign": lambda _: 0,
}
"""Which power of eps a function of multiples of eps is a multiple of."""


def rescaled(noise: Noise | None, unit: Unit) -> Noise | None:
    """The law of a multiple of noise; None where it is not of the family."""
    return None if noise is None else noise.times(unit)


def _with_draw(made: Expression, before: Symbol, after: Symbol) -> Expression:
    if isinstance(made, Drawn):
        return Drawn(after, made.noise) if made.symbol == before else made
    return with_parts(made, lambda part: _with_draw(part, before, after))


class ScalingMachine(Machine):
    """A machine that multiplies noise by powers of eps."""

    def __init__(self, most_instructions: int) -> None:
        super().__init__(most_instructions)
        self.scaled: dict[Symbol, tuple[Symbol, int]] = {}
        """Of s·eps^p: s and p."""
        self._multiples: dict[tuple[Symbol, int], Symbol] = {}

    def times_unit(self, op: str, a: Any, b: Any) -> Any:
        """A noisy number times (or divided by) a power of eps."""
        number, unit = (a, b) if isinstance(a, Real) else (b, a)
        if not isinstance(unit, Unit) or op not in ("*", "/") or (op == "/" and number is b):
            raise Refused(*_WITHOUT_VALUE)
        kinds = result_kinds(OPERATORS[op], number.kinds, (float,))
        form = number.form if self.makes_curves else self.without_truths(number.form)
        return Real(self._multiple(form, unit if op == "*" else 1 / unit), kinds)

    def _multiple(self, form: Form, unit: Any) -> Form:
        if not isinstance(unit, Unit):
            return form.times(unit)
        found = Form()
        for symbol, factor in [*form.terms.items(), (_ONE, form.constant)]:
            if factor:
                scaled = self._scaled_symbol(symbol, unit.power)
                found = found.plus(scaled.times(factor * unit.factor))
        return found

    def _scaled_symbol(self, symbol: Symbol, power: int) -> Form:
        base, before = self.scaled.get(symbol, (symbol, 0))
        total = before + power
        if not total:
            return Form.number(1) if base == _ONE else Form.of(base)
        if base.kind not in ("noise", "indicator"):
            raise Refused(*_WITHOUT_VALUE)
        made = self._multiples.get((base, total))
        if made is None:
            name = f"{base.name}_eps{total}".replace("-", "m")
            made = self._multiples[base, total] = Symbol("noise", name)
            self.scaled[made] = (base, total)
            law = rescaled(self.supports.noises.get(base), Unit(1, total))
            if law is not None:
                self.known_noise(made, law)
        return Form.of(made)

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """A function of multiples of eps is a multiple of eps, where it is homogeneous."""
        powers = [self._power(form) for form in arguments]
        if not any(powers):
            return super().make(function, arguments, refusal)
        known = [p for p in powers if p is not None]
        if function not in _POWERS or len(known) != len(powers):
            raise refusal
        plain = [
            self._multiple(form, Unit(1, -power) if power else 1)
            for form, power in zip(arguments, known, strict=True)
        ]
        found = super().make(function, plain, refusal)
        total = _POWERS[function](known)
        return self._multiple(found, Unit(1, total)) if total else found

    def _power(self, form: Form) -> int | None:
        """The power of eps that a form is a multiple of; None where there are several."""
        powers = {self.scaled.get(symbol, (symbol, 0))[1] for symbol in form.terms}
        if form.constant:
            powers.add(0)
        return powers.pop() if len(powers) == 1 else None

    def draws_apart(self, used: Iterable[Symbol], shared: Iterable[Symbol] = ()) -> set[Symbol]:
        """Noise that is multiplied by eps is used for nothing else."""
        powers: dict[Any, int] = {}  # of noises, and of what they are parts of
        bases: dict[Symbol, int] = {}
        for symbol in used:
            base, power = self.scaled.get(symbol, (symbol, 0))
            bases[base] = power
            whole = self.made[base].expression if base in self.made else base
            if any(powers.setdefault(key, power) != power for key in (base, whole)):
                raise Refused("noise that is multiplied by eps, and used in another way beside it")
        behind = super().draws_apart(bases, shared)
        scaled = {base for base, power in bases.items() if power}
        if any(rescaled(self.supports.noises.get(base), Unit()) is None for base in scaled):
            raise Refused(*_WITHOUT_VALUE)
        return behind | scaled

    def made_again(self, form: Form, before: Symbol, after: Symbol) -> Form:
        """A form in which all that was made of one draw is made of another one like it."""
        values = {s: self._made_again(s, before, after) for s in form.terms}
        return form.substitute({s: value for s, value in values.items() if value is not None})

    def _made_again(self, symbol: Symbol, before: Symbol, after: Symbol) -> Form | None:
        if symbol == before:
            return Form.of(after)
        if before not in self.roots(symbol):
            return None
        base, power = self.scaled.get(symbol, (symbol, 0))
        made = self.made.get(base)
        if made is None:
            if power and base == before:
                return self._scaled_symbol(after, power)
            raise Refused("what is made of a draw in a loop, and is no noise")
        if made.place or len(made.law.terms) > 1:
            raise Refused("several noises that are made of a draw in a loop")
        expression = _with_draw(self.written_out(made.expression), before, after)
        found = self._known.get(expression)
        if found is None:
            found = self._known[expression] = self.by_law(expression, made.law, made.where)
        # The law is the noise times a factor, plus a constant.
        factor, _ = made.law.terms[0]
        noise = found.minus(Form(None, made.law.constant)).times(1 / factor)
        return self._multiple(noise, Unit(1, power)) if power else noise

    def base_of(self, symbol: Symbol) -> Symbol:
        return self.scaled.get(symbol, (symbol, 0))[0]

    def like(self, symbol: Symbol, form: Form) -> Form:
        power = self.scaled.get(symbol, (symbol, 0))[1]
        return self._multiple(form, Unit(1, power)) if power else form

    def _behind(self, expression: Expression) -> Iterator[Symbol]:
        for symbol in super()._behind(expression):
            yield symbol
            base = self.scaled.get(symbol, (None, 0))[0]
            if base is not None:
                yield base
                if base in self.made:
                    yield from self._behind(self.made[base].expression)

    def roots(self, symbol: Symbol) -> set[Symbol]:
        """The draws that noise was made of; of a draw itself."""
        if symbol in self.scaled:
            return self.roots(self.scaled[symbol][0])
        return {root for root in super().roots(symbol) if root not in self.scaled}
