"""Operators on symbolic numbers and truths: exact where they are linear, refused elsewhere."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpest.geometry.linear import Condition, Form, Relation, Symbol, rational
from dpest.reading.code.operators import COMPARISONS, OPERATORS
from dpest.reading.domains.numbers import (
    Kinds,
    Real,
    Truth,
    as_number,
    is_integral,
    kinds_of,
    result_kinds,
)
from dpest.reading.machine.signals import Refused, Thrown

NUMBERS = (int, float, Fraction, np.integer, np.floating, np.bool_)
_MOST_WRITTEN_OUT = 4  # truths inside of one condition that become a formula
NOT_LINEAR = "only sums, and products with public numbers, are linear in the noise"


class Decider(Protocol):
    """Who knows, or finds out by forking, whether a formula holds."""

    def holds(self, truth: Truth) -> bool: ...

    def truth(self, condition: Condition, kind: type) -> Any:
        """A comparison that is open, as a value."""
        ...

    def indicator(self, truth: Truth) -> Form: ...

    def definition(self, indicator: Symbol) -> Truth: ...

    def divisible(self, form: Form, divisor: int) -> int | None: ...

    def has_continuous_noise(self, form: Form) -> bool: ...

    def is_null(self, form: Form) -> bool: ...

    def make(self, function: str, arguments: Sequence[Form], refusal: Refused) -> Form:
        """What a function gives of noise alone, by a law; raises the refusal where none is."""
        ...

    def is_positive(self, form: Form) -> bool:
        """Whether a number of noise is positive here, by a decision where it is open."""
        ...

    def is_of_one_draw(self, forms: Sequence[Form]) -> bool:
        """Whether all is made of one uniform draw, so that decisions about it may wait."""
        ...

    def made_curve(self, function: str, arguments: Sequence[Form]) -> Form | None:
        """The same of one uniform draw, where that needs no decision; None: decide."""
        ...


def is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS)


def is_symbolic(value: Any) -> bool:
    return isinstance(value, (Real, Truth))


def form_of(decider: Decider, value: Any) -> Form:
    if isinstance(value, Real):
        return value.form
    if isinstance(value, Truth):
        return decider.indicator(value)
    if isinstance(value, NUMBERS):
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            raise Refused(f"{value} in arithmetic with a symbolic number")
        return Form(None, rational(value))
    raise Refused(f"a {type(value).__name__} in arithmetic with a symbolic number")


def _narrow(kinds: Kinds) -> bool:
    """Types whose arithmetic wraps or rounds visibly."""
    exact = (int, float, bool, np.float64, np.int64, np.bool_, Fraction)
    return any(k not in exact for k in kinds)


def binary(decider: Decider, op: str, a: Any, b: Any) -> Any:
    """`a op b`, one of them symbolic and the other a number."""
    function = OPERATORS.get(op)
    if op in ("&", "|", "^"):
        return _logic(decider, op, a, b)
    if function is None:
        raise Refused(f"`{op}` on a symbolic number", NOT_LINEAR)
    truths = (Truth, bool, np.bool_)
    if isinstance(a, truths) and isinstance(b, truths) and np.bool_ in (*kinds_of(a), *kinds_of(b)):
        # NumPy's truths are not numbers: + is `or`, * is `and`, - is an error.
        if op in ("+", "*"):
            return _logic(decider, "|" if op == "+" else "&", a, b)
        raise Refused(f"`{op}` between truth values of NumPy")
    kinds = result_kinds(function, kinds_of(a), kinds_of(b))
    if _narrow((*kinds_of(a), *kinds_of(b), *kinds)):
        raise Refused("arithmetic with a narrow type of numbers, which wraps or rounds")
    return as_number(_linear(decider, op, a, b), kinds)


def _linear(decider: Decider, op: str, a: Any, b: Any) -> Form:
    if op == "+":
        return form_of(decider, a).plus(form_of(decider, b))
    if op == "-":
        return form_of(decider, a).minus(form_of(decider, b))
    if op == "*":
        return _product(decider, a, b)
    if op == "/":
        if is_symbolic(b):
            divisor = form_of(decider, b)
            if divisor.terms:
                refusal = Refused("a quotient by a noisy or private number", NOT_LINEAR)
                return decider.make("/", (form_of(decider, a), divisor), refusal)
        number = rational(b)
        if number == 0:
            if any(issubclass(k, np.generic) for k in (*kinds_of(a), *kinds_of(b))):
                raise Refused("a division by zero that gives infinity")
            raise Thrown(ZeroDivisionError("division by zero"))
        return form_of(decider, a).times(1 / number)
    if op in ("//", "%"):
        return _division(decider, op, a, b)
    return _power(decider, a, b)


def _product(decider: Decider, a: Any, b: Any) -> Form:
    for one, other in ((a, b), (b, a)):
        if is_number(one):
            return form_of(decider, other).times(form_of(decider, one).constant)
    # A truth times a number is the number or nothing: a decision makes it linear.
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Truth):
            return form_of(decider, other) if decider.holds(one) else Form()
    left, right = form_of(decider, a), form_of(decider, b)
    if not left.terms:
        return right.times(left.constant)
    if not right.terms:
        return left.times(right.constant)
    refusal = Refused("a product of two noisy or private numbers", NOT_LINEAR)
    try:
        return decider.make("*", (left, right), refusal)
    except Refused:
        for one, other in ((left, right), (right, left)):
            if _is_of_truths(one):
                return other.times(_decided(decider, one))
        raise


def _is_of_truths(form: Form) -> bool:
    return all(s.kind == "indicator" for s in form.terms)


def _decided(decider: Decider, form: Form) -> Fraction:
    """A number that is made of truths alone, by decisions about them."""
    known = {s: Form.number(int(decider.holds(decider.definition(s)))) for s in form.terms}
    return form.substitute(known).constant


def _division(decider: Decider, op: str, a: Any, b: Any) -> Form:
    """Whole division of a whole number whose remainder is known."""
    whole = isinstance(b, (int, np.integer)) and not isinstance(b, bool) and int(b) > 0
    form = form_of(decider, a)
    if not whole or not is_integral(kinds_of(a)):
        raise Refused(f"`{op}` of a noisy or private number", NOT_LINEAR)
    residue = decider.divisible(form, int(b))
    if residue is None:
        raise Refused(f"`{op}` of a number whose remainder is not known")
    if op == "%":
        return Form(None, Fraction(residue))
    return form.minus(Form(None, Fraction(residue))).times(Fraction(1, int(b)))


def _power(decider: Decider, a: Any, b: Any) -> Form:
    if is_number(b) and b == 1:
        return form_of(decider, a)
    if is_number(b) and b == 0:
        return Form(None, Fraction(1))
    refusal = Refused("a power of a noisy or private number", NOT_LINEAR)
    return decider.make("**", (form_of(decider, a), form_of(decider, b)), refusal)


def applied(decider: Decider, name: str, value: Any, kinds: Kinds) -> Any:
    """A function of one symbolic number that is not linear."""
    refusal = Refused(f"`{name}` of a noisy or private number", NOT_LINEAR)
    return as_number(decider.make(name, (form_of(decider, value),), refusal), kinds)


def sign_of(decider: Decider, value: Real, kinds: Kinds) -> Any:
    """1 or −1, for a number that is 0 with probability 0."""
    positive = compare(decider, ">", value, 0)
    if not isinstance(positive, Truth):
        return kinds[0](1 if positive else -1)
    if not decider.is_of_one_draw((value.form,)):
        return kinds[0](1 if decider.holds(positive) else -1)
    return as_number(decider.indicator(positive).times(2).minus(Form.number(1)), kinds)


def unary(decider: Decider, op: str, a: Any) -> Any:
    if op == "~" and isinstance(a, Truth):
        if a.kind is np.bool_:
            return a.negated()
        return as_number(form_of(decider, a).times(-1).minus(Form.number(1)), (int,))
    if op == "~":
        raise Refused("`~` of a symbolic number")
    function = operator.neg if op == "-" else operator.pos
    if isinstance(a, Truth) and a.kind is np.bool_:
        raise Refused(f"`{op}` of a truth value of NumPy")
    kinds = result_kinds(function, kinds_of(a))
    if _narrow(kinds):
        raise Refused("arithmetic with a narrow type of numbers, which wraps or rounds")
    form = form_of(decider, a)
    return as_number(form.times(-1) if op == "-" else form, kinds)


RELATIONS: dict[str, tuple[Relation, int]] = {
    "<": (">", -1),
    "<=": (">=", -1),
    ">": (">", 1),
    ">=": (">=", 1),
    "==": ("==", 1),
    "!=": ("!=", 1),
}


def compare(decider: Decider, op: str, a: Any, b: Any) -> Any:
    """`a op b` of numbers, one of them symbolic: a truth, or a bool where it is known."""
    numpy = any(issubclass(k, np.generic) for k in (*kinds_of(a), *kinds_of(b)))
    kind: type = np.bool_ if numpy else bool
    for value, other_side in ((a, False), (b, True)):
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            return kind(_beside_infinity(op, float(value), other_side))
    relation, sign = RELATIONS[op]
    form = form_of(decider, a).minus(form_of(decider, b)).times(sign)
    if relation in ("==", "!=") and decider.has_continuous_noise(form):
        if decider.is_null(form):
            return kind(relation == "!=")
        raise Refused("equality of noisy values, which has probability 0", "use >= or <")
    bits = [s for s in form.terms if s.kind == "indicator"]
    return _with_bits_written_out(decider, Condition(form, relation), bits, kind)


def _with_bits_written_out(
    decider: Decider, condition: Condition, bits: list[Symbol], kind: type
) -> Any:
    """A condition without truths in it: for a few of them as a formula, for more by decisions."""
    if not bits:
        known = condition.decided()
        return decider.truth(condition, kind) if known is None else kind(known)
    bit, *rest = bits
    truth = decider.definition(bit)
    ways = [
        Condition(condition.form.substitute({bit: Form.number(value)}), condition.relation)
        for value in (1, 0)
    ]
    if len(bits) > _MOST_WRITTEN_OUT:
        way = ways[0] if decider.holds(truth) else ways[1]
        return _with_bits_written_out(decider, way, rest, kind)
    yes, no = (_with_bits_written_out(decider, way, rest, kind) for way in ways)
    parts = (
        _joined((truth.typed(kind), yes), True, kind),
        _joined((truth.negated().typed(kind), no), True, kind),
    )
    return _joined(parts, False, kind)


def _beside_infinity(op: str, value: float, other_side: bool) -> bool:
    """A finite number compared with infinity or NaN: 0 stands for it."""
    a, b = (0.0, value) if other_side else (value, 0.0)
    return bool(COMPARISONS[op](a, b))


def _logic(decider: Decider, op: str, a: Any, b: Any) -> Any:
    """& | ^ between truth values."""
    truths = [v for v in (a, b) if isinstance(v, (Truth, bool, np.bool_))]
    if len(truths) != 2:
        return _logic_of_numbers(decider, op, a, b)
    kind: type = np.bool_ if np.bool_ in (kinds_of(a)[0], kinds_of(b)[0]) else bool
    if op == "^":
        for one, other in ((a, b), (b, a)):
            if not isinstance(one, Truth):
                assert isinstance(other, Truth)
                return (other.negated() if one else other).typed(kind)
        left, right = a, b
        return _joined(
            (
                _joined((left, right.negated()), True, kind),
                _joined((left.negated(), right), True, kind),
            ),
            False,
            kind,
        )
    return _joined((a, b), op == "&", kind)


def _logic_of_numbers(decider: Decider, op: str, a: Any, b: Any) -> Any:
    """& | ^ between whole numbers that are made of truths: bits stay bits."""
    kinds = result_kinds(OPERATORS[op], kinds_of(a), kinds_of(b))
    if not is_integral((*kinds_of(a), *kinds_of(b))) or _narrow(kinds):
        raise Refused(f"`{op}` on a symbolic number")
    forms = [form_of(decider, v) for v in (a, b)]
    if not all(map(_is_of_truths, forms)):
        raise Refused(f"`{op}` on a symbolic number")
    bits = [_bit(decider, form) for form in forms]
    if all(bit is not None for bit in bits):
        return as_number(form_of(decider, _logic(decider, op, *bits)), kinds)
    known = [int(_decided(decider, form)) for form in forms]
    return kinds[0](OPERATORS[op](*known))


def _bit(decider: Decider, form: Form) -> Any:
    """A number that is 0 or 1 as a truth; None where it isn't one."""
    if not form.terms:
        return bool(form.constant) if form.constant in (0, 1) else None
    if len(form.terms) > 1:
        return None
    ((symbol, factor),) = form.terms.items()
    truth = decider.definition(symbol).typed(bool)
    if (factor, form.constant) == (1, 0):
        return truth
    return truth.negated() if (factor, form.constant) == (-1, 1) else None


def _joined(parts: tuple[Any, ...], conjunction: bool, kind: type) -> Any:
    """A conjunction or disjunction; what is known is left out."""
    open_parts: list[Truth] = []
    for part in parts:
        if not isinstance(part, Truth):
            if bool(part) != conjunction:
                return kind(not conjunction)
        elif part.condition is None and part.conjunction == conjunction:
            open_parts.extend(part.parts)
        else:
            open_parts.append(part)
    if not open_parts:
        return kind(conjunction)
    if len(open_parts) == 1:
        return open_parts[0].typed(kind)
    return Truth(None, tuple(open_parts), conjunction, kind)


def conjunction_of(parts: tuple[Any, ...], kind: type = bool) -> Any:
    return _joined(parts, True, kind)


def disjunction_of(parts: tuple[Any, ...], kind: type = bool) -> Any:
    return _joined(parts, False, kind)
