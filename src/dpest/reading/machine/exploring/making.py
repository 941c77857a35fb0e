"""Noise that a program makes of its draws, read by its law (`rewrites/laws/`).

What is no linear function of draws becomes a symbol of its own: noise, if a rewrite knows its law,
or something unfinished, if a rewrite may know of what it becomes a part. Such a symbol is
independent of everything else as long as its draws are used for nothing else: that is looked at
when all paths are known (`made_noise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.exploring.drawing import NoiseDrawing
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.laws.curves import is_positive, range_of
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Holds,
    Law,
    drawn_form,
    drawn_in,
    is_part,
    recognised,
    with_parts,
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
    where: str = ""  # file:line

    def value(self, made: float) -> float:
        if self.place:
            return 0.0
        factor, _ = self.law.terms[0]
        return (made - float(self.law.constant)) / float(factor)

    @property
    def inverse(self) -> Expression | None:
        """The noise as an expression of the draws; None where only a sum is determined by them."""
        if len(self.law.terms) > 1:
            return None
        factor, _ = self.law.terms[0]
        return Combination(-self.law.constant / factor, ((1 / factor, self.expression),))


class Unfinished(NamedTuple):
    """Something that was made of draws, and the refusal for where nothing becomes of it."""

    expression: Expression
    refusal: Refused


class Making(NoiseDrawing):
    """The part of the machine that reads noise made of noise."""

    def __init__(self) -> None:
        super().__init__()
        self.makes_noise = False  # whoever reads the model has to know of it
        self.makes_curves = False  # signs and sizes of draws are parts of noise, too
        self.has_made_curves = False
        self.may_leave = False  # whoever explores may leave what is improbable
        self.made: dict[Symbol, Made] = {}
        self.unfinished: dict[Symbol, Unfinished] = {}
        self.null_forms: set[Form] = set()  # what was taken not to be 0, since that is improbable
        self._known: dict[Expression, Form] = {}

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What a function gives of noise alone; the refusal, where no law is known of it."""
        made = self._applied(function, arguments) if self.makes_noise else None
        by_truths = any(s.kind == "indicator" for form in arguments for s in form.terms)
        if made is None or (by_truths and not self.makes_curves):
            raise refusal
        form = self._known.get(made)
        if form is None:
            law = recognised(made)
            if law is not None:
                form = self.by_law(made, law)
            elif is_part(made):
                symbol = Symbol("noise", f"made{len(self._known)}")
                self.unfinished[symbol] = Unfinished(made, self.placed(refusal))
                form = Form.of(symbol)
            else:
                raise refusal
            self._known[made] = form
        self.has_made_curves |= by_truths
        return form

    def made_curve(self, function: str, arguments: Sequence[Form]) -> Form | None:
        """What a function gives of one uniform draw, without a decision; None: decide."""
        if not self.is_of_one_draw(arguments):
            return None
        try:
            return self.make(function, arguments, Refused(f"`{function}` of a noisy number"))
        except Refused:
            return None

    def is_of_one_draw(self, forms: Sequence[Form]) -> bool:
        """Whether all is made of one uniform draw, so that decisions about it may wait."""
        if not self.makes_curves:
            return False
        inside = {s for form in forms for s in self._inside(form)}
        if any(s.kind != "noise" for s in inside):
            return False
        roots = {root for s in inside for root in self.roots(s)}
        noises = self.supports.noises
        if len(roots) != 1 or any(range_of(Drawn(s, noises[s])) is None for s in roots):
            return False
        self.has_made_curves = True
        return True

    def placed(self, refusal: Refused) -> Refused:
        raise NotImplementedError  # by the machine, which has the frames

    def has_continuous_noise(self, form: Form) -> bool:
        return any(s in self.unfinished for s in form.terms) or super().has_continuous_noise(form)

    def is_null(self, form: Form) -> bool:
        """Beside what is made of draws only where a draw stands that it is not made of."""
        made = [s for s in form.terms if s in self.made or s in self.unfinished]
        behind = {root for s in made for root in self.roots(s)}
        apart = any(
            s.kind == "noise" and self.supports.continuous(s) and s not in behind
            for s in form.terms
            if s not in made
        )
        if not apart or not super().is_null(form):
            return False
        self.null_forms.add(form)
        return True

    def is_positive(self, form: Form) -> bool:
        """Whether a number is positive here, by a decision where it is open."""
        if not any(s in self.unfinished for s in form.terms):
            return self.holds(Truth(Condition(form, ">")))
        made = self._expression(form, True)
        if made is None or not is_positive(made):
            raise Refused("a number made of draws that may be negative")
        return True

    # Expressions

    def _applied(self, function: str, arguments: Sequence[Form]) -> Applied | None:
        """A function of noise alone; what was made of the same draws is written out."""
        inside = {s for form in arguments for s in self._inside(form)}
        if not inside or any(s.kind != "noise" for s in inside):
            return None
        roots = [root for s in inside for root in self.roots(s)]
        together = len(set(roots)) < len(roots)
        parts = [self._expression(form, together) for form in arguments]
        known = [part for part in parts if part is not None]
        return Applied(function, tuple(known)) if len(known) == len(parts) else None

    def _inside(self, form: Form) -> Iterator[Symbol]:
        """The symbols of a form, and of the truths in it."""
        for symbol in form.terms:
            if symbol.kind != "indicator":
                yield symbol
                continue
            pending = [self._definitions[symbol]]
            for truth in pending:
                pending += truth.parts
                if truth.condition is not None:
                    yield from self._inside(truth.condition.form)

    def _expression(self, form: Form, together: bool) -> Expression | None:
        """A form over noise alone, as an expression."""
        terms: list[tuple[Fraction, Expression]] = []
        for symbol, factor in form.terms.items():
            part = self._part(symbol, together)
            if part is None:
                return None
            terms.append((factor, part))
        if len(terms) == 1 and not form.constant and terms[0][0] == 1:
            return terms[0][1]
        return Combination(form.constant, tuple(terms))

    def _part(self, symbol: Symbol, together: bool) -> Expression | None:
        if symbol.kind == "indicator":
            condition = self._definitions[symbol].condition
            inner = None if condition is None else self._expression(condition.form, together)
            if condition is None or inner is None:
                return None
            if not isinstance(inner, Combination):
                inner = Combination(Fraction(0), ((Fraction(1), inner),))
            return Holds(inner, condition.relation)
        if symbol in self.unfinished:
            return self.unfinished[symbol].expression
        if together and symbol in self.made:
            found = self.made[symbol].inverse
            return None if found is None else self.written_out(found)
        noise = self.supports.noises.get(symbol)
        return None if noise is None else Drawn(symbol, noise)

    def written_out(self, made: Expression) -> Expression:
        """An expression of draws alone: what was made is written out, where that can be."""
        if isinstance(made, Drawn):
            known = self.made.get(made.symbol)
            inner = None if known is None else known.inverse
            return made if inner is None else self.written_out(inner)
        return with_parts(made, self.written_out)

    def by_law(self, made: Expression, law: Law, where: str | None = None) -> Form:
        """New noise in the place of what was made."""
        symbols = []
        where = (self.placed(Refused("")).where or "") if where is None else where
        for place, (_, noise) in enumerate(law.terms):
            symbol = Symbol("noise", f"{noise.family}_made{len(self.made)}")
            self.made[symbol] = Made(noise, made, law, place, where)
            self.known_noise(symbol, noise)
            symbols.append(symbol)
        return drawn_form(law, symbols)

    def forget(self, symbol: Symbol) -> None:
        """Takes noise back that was made last."""
        del self.made[symbol], self.supports.noises[symbol]

    # What was made

    @property
    def has_made_noise(self) -> bool:
        return bool(self.made or self.unfinished)

    def draws_apart(self, used: Iterable[Symbol], shared: Iterable[Symbol] = ()) -> set[Symbol]:
        """The draws behind made noise that is used; refuses where one is used twice.

        `shared`: draws of which it is known that what is made of them does not depend on what
        else they are used for.
        """
        seen: dict[Symbol, Expression] = {}
        shared, used = set(shared), set(used)
        for symbol in used:
            if symbol in self.unfinished:
                raise self.unfinished[symbol].refusal
            if symbol in self.made:
                expression = self.made[symbol].expression
                for root in self._behind(expression):
                    if seen.setdefault(root, expression) != expression:
                        raise self.used_otherwise(symbol)
                    if root in used and root not in shared:
                        raise self.used_otherwise(symbol)
        return set(seen) - shared

    def used_otherwise(self, symbol: Symbol) -> Refused:
        """The refusal of made noise whose draws matter beside it."""
        made = self.made[symbol]
        drawn = " and ".join(dict.fromkeys(d.noise.family for d in drawn_in(made.expression)))
        refusal = Refused(
            f"{drawn} draws are read as {made.noise.family} noise, and used in another way, too",
            "draw once for each of them",
        )
        refusal.where = made.where or None
        return refusal

    def base_of(self, symbol: Symbol) -> Symbol:
        """What was made, where a symbol is a multiple of it by a power of eps."""
        return symbol

    def like(self, symbol: Symbol, form: Form) -> Form:
        """A form, multiplied by the power of eps by which a symbol is."""
        return form

    def roots(self, symbol: Symbol) -> set[Symbol]:
        """The draws behind a symbol: itself, or those that it was made of."""
        if symbol in self.unfinished:
            found = self._behind(self.unfinished[symbol].expression)
        elif symbol in self.made:
            found = self._behind(self.made[symbol].expression)
        else:
            return {symbol}
        return {s for s in found if s not in self.made}

    def _behind(self, expression: Expression) -> Iterator[Symbol]:
        """All symbols behind an expression: its draws, and those that they were made of."""
        for drawn in drawn_in(expression):
            yield drawn.symbol
            if drawn.symbol in self.made:
                yield from self._behind(self.made[drawn.symbol].expression)
