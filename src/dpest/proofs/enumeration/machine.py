"""The machine for finite mechanisms: every draw with few outcomes forks, and eps is a symbol.

A public number that is made of eps is a symbol with a known value: a rational function of
a = e^(-eps/D). So the machine's own arithmetic knows it as a float, and every look at it is
answered for all eps > 0 at once, or refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import Bernoulli
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.proofs.enumeration.draws import OF_EPS, made_of_eps
from dpest.proofs.enumeration.ratios import Ratio, exponential
from dpest.reading.domains.numbers import Kinds
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.signals import Refused

EPS = Symbol("parameter", "eps")
_ALL_EPS = "the answer depends on eps: give eps a value"
_FEW = 64  # draws with more outcomes stay symbols


class _Bent(NamedTuple):
    """A rising function of one draw; `inverse` takes a border back to it, None where none is."""

    form: Form
    inverse: Callable[[Fraction], Fraction | None]


class EnumeratingMachine(Machine):
    """Executes states whose data are known; `denominator` is the D of a = e^(-eps/D)."""

    def __init__(self, denominator: int = 1) -> None:
        super().__init__()
        self.denominator = denominator
        self.public: dict[Symbol, Ratio] = {}
        self._symbols_of_values: dict[Any, Symbol] = {}
        self._bent: dict[Symbol, _Bent] = {}

    def write_log(self) -> None:
        """The data are known numbers here, which nothing tells from constants of the code."""
        raise Refused(
            "a log of a function whose inputs are looked at one by one: it may hold them",
            "log outside of the function",
        )

    # Draws

    def draw(self, noise: Noise, kinds: Kinds) -> Any:
        if noise.constant is not None:
            return kinds[0](noise.constant)
        outcomes = noise.outcomes
        if outcomes is None or len(outcomes) > _FEW:
            return super().draw(noise, kinds)
        return self.outcome(noise, [(kinds[0](value), chance) for value, chance in outcomes])

    def coin(self, chance: Any, kind: type = bool) -> Any:
        noise = Bernoulli(exact(chance) if is_number(chance) else chance)
        return self.draw(noise, (kind,))

    def chosen(self, truth: Any, yes: Any, no: Any, kinds: Kinds) -> Any:
        return kinds[0](yes if self.holds(truth) else no)

    # Public numbers that are made of eps

    def in_eps(self, form: Form) -> bool:
        """Whether a number is public, and known by its values for all eps."""
        return bool(form.terms) and all(s.kind == "parameter" for s in form.terms)

    def value_of(self, form: Form) -> Ratio:
        """A public number as a function of e^-eps."""
        total = Ratio.of(form.constant)
        for symbol, factor in form.terms.items():
            value = self.public.get(symbol)
            if value is None:
                raise Refused("eps itself, beside a power of e^eps", _ALL_EPS)
            total = total + value * factor
        assert isinstance(total, Ratio)
        return total

    def sign_of(self, form: Form) -> int:
        """The sign of a public number: the same for all eps > 0, or refused."""
        if EPS not in form.terms:
            return self._sign(self.value_of(form))
        if len(form.terms) == 1 and form.terms[EPS] * form.constant >= 0:
            return 1 if form.terms[EPS] > 0 else -1
        raise Refused("a comparison with eps", _ALL_EPS)

    def _sign(self, value: Ratio) -> int:
        try:
            return (value > 0) - (value < 0)
        except RefusedError as error:
            raise Refused(str(error)) from None

    def form_of_public(self, value: Ratio) -> Form:
        """A public number as a form."""
        if len(value.top) <= 1 and len(value.bottom) == 1:
            return Form(None, value.value)
        key = (value.top, value.bottom)
        symbol = self._symbols_of_values.get(key)
        if symbol is None:
            symbol = Symbol("parameter", f"public{len(self.public)}")
            self._symbols_of_values[key] = symbol
            self.public[symbol] = value
        return Form.of(symbol)

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What a function that is not linear gives of public numbers, or of one draw."""
        if all(not form.terms or self.in_eps(form) for form in arguments):
            return self._of_eps(function, arguments, refusal)
        if len(arguments) == 1 and function in _RISING:
            (form,) = arguments
            if len(form.terms) == 1 and next(iter(form.terms)).kind == "noise":
                symbol = Symbol("noise", f"{function}{len(self._bent)}")
                self._bent[symbol] = _Bent(form, _RISING[function])
                return Form.of(symbol)
        raise refusal

    def _of_eps(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        first, *rest = arguments
        if function == "exp" and set(first.terms) == {EPS} and not first.constant:
            return self.form_of_public(exponential(first.terms[EPS], self.denominator))
        if function not in ("*", "/", "**") or any(EPS in form.terms for form in arguments):
            raise refusal
        left, right = self.value_of(first), self.value_of(rest[0])
        if function == "*":
            return self.form_of_public(left * right)
        if function == "**":
            power = rest[0].constant
            if rest[0].terms or power.denominator != 1 or not 0 <= power <= _FEW:
                raise refusal
            return self.form_of_public(math.prod([left] * int(power), start=Ratio((1,))))
        sign = self._sign(right)
        if not sign:
            raise refusal
        return self.form_of_public(left / right if sign > 0 else (-left) / (-right))

    def is_chance(self, value: Ratio) -> bool:
        return self._sign(value) >= 0 and self._sign(1 - value) >= 0

    def call_table(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        entry = OF_EPS.get(f)
        if entry is not None and made_of_eps(self, (*args, *(kwargs or {}).values())):
            return entry(self, *args, **(kwargs or {}))
        return super().call_table(f, args, kwargs)

    # Decisions

    def possible(self, option: Sequence[Condition]) -> bool:
        """Conditions on public numbers hold for all eps or for none."""
        open_conditions = []
        for condition in option:
            if not self.in_eps(condition.form):
                open_conditions.append(condition)
            elif not self.holds_for_all(condition):
                return False
        return super().possible(open_conditions)

    def truth(self, condition: Condition, kind: type) -> Any:
        """Comparisons are decided at once: what is computed from them is then known."""
        return kind(self._condition_holds(condition))

    def holds_for_all(self, condition: Condition) -> bool:
        return compared(self.sign_of(condition.form), condition.relation)

    def _condition_holds(self, condition: Condition) -> bool:
        return super()._condition_holds(self._unbent(self.without_indicators(condition)))

    def _unbent(self, condition: Condition) -> Condition:
        """A condition on a rising function of a draw, as one on the draw."""
        form = condition.form
        symbol = next((s for s in form.terms if s in self._bent), None)
        if symbol is None:
            return condition
        bent = self._bent[symbol]
        if len(form.terms) != 1 or condition.relation in ("==", "!="):
            raise Refused("a function of a draw that is compared with another draw")
        slope = form.terms[symbol]
        border = bent.inverse(-form.constant / slope)
        if border is None:  # below all its values
            return Condition(Form.number(1 if slope > 0 else -1), condition.relation)
        inner = bent.form.minus(Form.number(border))
        return self._unbent(Condition(inner if slope > 0 else inner.times(-1), condition.relation))

    def settled(self, form: Form) -> Form:
        """A number without truths and finite draws in it: they are decided, by forks."""
        bits = sorted(form.symbols("indicator"))
        form = form.substitute({s: Form.number(int(self.holds(self.definition(s)))) for s in bits})
        for symbol in sorted(form.symbols("noise")):
            noise = self.supports.noises.get(symbol)
            outcomes = None if noise is None else noise.outcomes
            if outcomes is None:
                raise Refused("a continuous value is released: not a finite mechanism")
            numbers = [Form.number(value) for value, _ in outcomes]
            options = [(Condition(Form.of(symbol).minus(n), "=="),) for n in numbers]
            form = form.substitute({symbol: numbers[self.decide(options)]})
        if form.terms:
            raise Refused("a number that is made of eps is released")
        return form


def compared(sign: int, relation: str) -> bool:
    """Whether a number of this sign satisfies `number relation 0`."""
    return {">": sign > 0, ">=": sign >= 0, "==": sign == 0, "!=": sign != 0}[relation]


def _exp(value: Fraction) -> Fraction:
    return rational(math.exp(value)) if value < 700 else rational(10**300)


def _log(value: Fraction) -> Fraction | None:
    return rational(math.log(value)) if value > 0 else None


_RISING: dict[str, Callable[[Fraction], Fraction | None]] = {"log": _exp, "exp": _log}
