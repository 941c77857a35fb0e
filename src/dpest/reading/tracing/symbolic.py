"""Values that a traced function computes with: reals linear in the noise, and truths about them.

A `TracedReal` wraps a linear form and behaves as the float (or int) would in its place. A
comparison gives a `TracedTruth`, a formula of conditions; only when Python needs to know it (`if`,
`and`, `while`, `bool`, an index) does the run decide it, and fork. A TracedTruth that is used as a
number becomes an indicator symbol instead, so that twenty independent bits are one path and not
2^20.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpest.geometry.linear import Condition, Form, Relation, Symbol, rational
from dpest.reading.refusals import refuse, remembered
from dpest.reading.rewrites.rounding import PLAINLY, How, rounded
from dpest.reading.tracing.running import has_run, running

_NUMBERS = (int, float, Fraction, np.integer, np.floating, np.bool_)
_INTEGERS = (int, np.integer, np.bool_)
_MOST_EXPANDED = 4  # indicators inside one condition that are written out as a formula
ROUNDING = "rounding is not linear in the noise: round outside of the mechanism"


def is_symbolic(value: Any) -> bool:
    return isinstance(value, (TracedReal, TracedTruth))


def is_bool(value: Any) -> bool:
    return isinstance(value, (TracedTruth, bool, np.bool_))


def of_numpy(*values: Any) -> bool | None:
    """Whether an operation on them gives a scalar of NumPy's in a plain run; None: unknown.

    It matters for truth values alone: np.bool_ + np.bool_ is `or`, bool + bool an int.
    """
    found: bool | None = False
    for value in values:
        if isinstance(value, (TracedReal, TracedTruth)):
            if value.numpy is None:
                found = None
            elif value.numpy:
                return True
        elif isinstance(value, (np.generic, np.ndarray)):
            return True
    return found


def typed(value: Any, numpy: bool | None) -> Any:
    """The same value, as NumPy's scalar or as Python's."""
    if isinstance(value, TracedReal):
        return value if value.numpy is numpy else value.retyped(numpy)
    if isinstance(value, TracedTruth):
        if value.numpy is numpy:
            return value
        return TracedTruth(value.condition, value.parts, value.conjunction, numpy)
    if not numpy:
        return value.item() if numpy is False and isinstance(value, np.generic) else value
    kind = type(value)
    if kind is bool:
        return np.bool_(value)
    if kind is float:
        return np.float64(value)
    return np.int64(value) if kind is int and abs(value) < 2**63 else value


class TracedTruth:
    """A formula: a condition, or a conjunction or disjunction of formulas.

    Negation is pushed to the conditions. Formulas with a known value are plain bools, not this.
    `numpy`: a plain run would hold an np.bool_ in its place (False: a bool; None: unknown).
    """

    __slots__ = ("condition", "conjunction", "key", "numpy", "parts")
    leaf_kind = "bool"
    __array_priority__ = 1000

    def __init__(
        self,
        condition: Condition | None,
        parts: tuple[TracedTruth, ...] = (),
        conjunction: bool = True,
        numpy: bool | None = None,
    ) -> None:
        self.numpy = numpy
        self.condition = condition
        self.parts = parts
        self.conjunction = conjunction
        # Equality of formulas, apart from `==`, which is the user's.
        self.key: Any = (
            condition if condition is not None else (conjunction, tuple(p.key for p in parts))
        )

    # Logic

    def negated(self) -> TracedTruth:
        if self.condition is not None:
            return TracedTruth(self.condition.negated(), numpy=self.numpy)
        parts = tuple(p.negated() for p in self.parts)
        return TracedTruth(None, parts, not self.conjunction, self.numpy)

    def __and__(self, other: Any) -> Any:
        return typed(joined(self, other, True), of_numpy(self, other))

    def __or__(self, other: Any) -> Any:
        return typed(joined(self, other, False), of_numpy(self, other))

    def __xor__(self, other: Any) -> Any:
        numpy = of_numpy(self, other)
        other = as_truth(other)
        if other is NotImplemented:
            return NotImplemented
        if isinstance(other, bool):
            return typed(self.negated() if other else self, numpy)
        first = joined(self, other.negated(), True)
        return typed(joined(first, joined(self.negated(), other, True), False), numpy)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        if self.numpy is None:
            _ambiguous("~ of a truth value is `not` for NumPy's and −1 or −2 for Python's", "not b")
        return self.negated() if self.numpy else -1 - self.number()

    def __bool__(self) -> bool:
        if self.condition is not None:
            return running().decide(self.condition)
        if self.conjunction:
            return all(bool(p) for p in self.parts)
        return any(bool(p) for p in self.parts)

    def at(self, values: dict[Symbol, Fraction], inside: Callable[[Symbol], Fraction]) -> bool:
        """Its truth at a point; symbols without a place there are put where `inside` says."""
        if self.condition is not None:
            for symbol in self.condition.form.terms:
                if symbol not in values:
                    values[symbol] = inside(symbol)
            return self.condition.holds(values)
        answers = [p.at(values, inside) for p in self.parts]
        return all(answers) if self.conjunction else any(answers)

    def symbols(self) -> set[Symbol]:
        """All symbols in its conditions."""
        if self.condition is not None:
            return set(self.condition.form.terms)
        return set().union(*(p.symbols() for p in self.parts))

    def __hash__(self) -> int:
        return hash(bool(self))

    def __index__(self) -> int:
        return int(bool(self))

    __int__ = __index__

    def __float__(self) -> float:
        return float(bool(self))

    # As a number

    def number(self) -> TracedReal:
        return TracedReal(Form.of(running().indicator(self)), True, self.numpy)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else self.negated()
        if isinstance(other, TracedTruth):
            return True if self.key == other.key else (self ^ other.negated())
        if isinstance(other, (*_NUMBERS, TracedReal)):
            return self.number() == other
        return NotImplemented

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else opposite(same)

    def __lt__(self, other: Any) -> Any:
        return self.number() < other

    def __le__(self, other: Any) -> Any:
        return self.number() <= other

    def __gt__(self, other: Any) -> Any:
        return self.number() > other

    def __ge__(self, other: Any) -> Any:
        return self.number() >= other

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from dpest.reading.tracing.symbolic_arrays import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def item(self) -> Any:
        return typed(self, False)

    tolist = item

    def astype(self, dtype: Any, **_: Any) -> Any:
        from dpest.reading.tracing.selections import converted

        return typed(converted(self, np.dtype(dtype)), True)

    def __getattr__(self, name: str) -> Any:
        if name in _SCALAR_ATTRIBUTES:
            return _SCALAR_ATTRIBUTES[name]
        raise AttributeError(f"a noisy truth value has no attribute {name!r}")

    def __str__(self) -> str:
        return str(bool(self)) if has_run() else repr(self)

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec) if has_run() else repr(self)

    def __repr__(self) -> str:
        if self.condition is not None:
            return repr(self.condition)
        return (" and " if self.conjunction else " or ").join(f"({p!r})" for p in self.parts)


class TracedReal:
    """A number that is linear in the noise (and, in a symbolic trace, in the input).

    `integer`: Python or NumPy would hold an int in its place. `numpy`: a plain run would hold a
    scalar of NumPy's there, whose comparisons are np.bool_ (False: Python's; None: unknown).
    """

    __slots__ = ("form", "integer", "numpy")
    __array_priority__ = 1000

    def __init__(self, form: Form, integer: bool = False, numpy: bool | None = None) -> None:
        self.form = form
        self.integer = integer
        self.numpy = numpy

    @property
    def leaf_kind(self) -> str:
        return "int" if self.integer else "real"

    def __deepcopy__(self, memo: Any) -> TracedReal:
        return self  # it can't change

    def noises(self, run: Any) -> set[Symbol]:
        """All noises that it is computed from."""
        found = set(self.form.terms)
        for symbol in self.form.symbols("indicator"):
            found |= run.defined(symbol).symbols()
        return found

    def retyped(self, numpy: bool | None) -> TracedReal:
        """The same number, as NumPy's scalar or as Python's."""
        return TracedReal(self.form, self.integer, numpy)

    @property
    def plain(self) -> int | float:
        """Its value, where it has no symbols."""
        value = self.form.constant
        return int(value) if self.integer and value.denominator == 1 else float(value)

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return _sum(-self, other, 1)

    def __neg__(self) -> TracedReal:
        return TracedReal(self.form.times(-1), self.integer, self.numpy)

    def __pos__(self) -> TracedReal:
        return self

    def __mul__(self, other: Any) -> Any:
        found = as_real(other)
        if found is NotImplemented:
            return NotImplemented
        if not isinstance(found, TracedReal):  # ±inf and NaN
            return _times_infinity(self, found)
        first, second = self, found
        if first.form.terms and second.form.terms:
            # A sign times exponential noise is read as one noise.
            from dpest.reading.rewrites.signs import signed

            again = signed(first.form, second.form) or signed(second.form, first.form)
            if again is not None:
                raise remembered(again)
            # One factor must be a number; a factor of 0/1 symbols becomes one by a fork.
            if all(s.kind == "indicator" for s in second.form.terms):
                second = settled(second)
            elif all(s.kind == "indicator" for s in first.form.terms):
                first = settled(first)
            else:
                refuse(
                    "two noisy values are multiplied",
                    "the product is not linear in the noise: release the factors instead",
                )
        if second.form.terms:
            first, second = second, first
        return TracedReal(
            first.form.times(second.form.constant),
            self.integer and found.integer,
            of_numpy(self, found),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        found = as_real(other)
        if found is NotImplemented:
            return NotImplemented
        if not isinstance(found, TracedReal):
            return float(found) if math.isnan(found) else 0.0
        divisor = _divisor(found)
        if not divisor:
            raise ZeroDivisionError("float division by zero")
        return TracedReal(self.form.times(1 / divisor), False, of_numpy(self, found))

    def __rtruediv__(self, other: Any) -> Any:
        found = as_real(other)
        if found is NotImplemented:
            return NotImplemented
        divisor = _divisor(self)
        if not divisor:
            raise ZeroDivisionError("float division by zero")
        return found / float(divisor) if not isinstance(found, TracedReal) else found / divisor

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, _NUMBERS) and other in (0, 1):
            return self if other == 1 else (1 if self.integer else 1.0)
        if not self.form.terms and isinstance(other, _NUMBERS):
            return self.plain**other
        refuse("a power of a noisy value", "powers are not linear in the noise: release it plain")

    def __rpow__(self, other: Any) -> Any:
        refuse("a noisy value is an exponent", "exponentiate outside of the mechanism")

    def __floordiv__(self, other: Any) -> Any:
        return _rounded(self, other, "//", operator.floordiv)

    def __mod__(self, other: Any) -> Any:
        return _rounded(self, other, "%", operator.mod)

    def __divmod__(self, other: Any) -> Any:
        return _rounded(self, other, "divmod()", divmod)

    def __rfloordiv__(self, other: Any) -> Any:
        return _rounded(other, self, "//", operator.floordiv)

    def __rmod__(self, other: Any) -> Any:
        return _rounded(other, self, "%", operator.mod)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __xor__(self, other: Any) -> Any:
        return _bitwise(self, other, "^", operator.xor)

    def __and__(self, other: Any) -> Any:
        return _bitwise(self, other, "&", operator.and_)

    def __or__(self, other: Any) -> Any:
        return _bitwise(self, other, "|", operator.or_)

    __rxor__, __rand__, __ror__ = __xor__, __and__, __or__

    # Comparisons

    def __lt__(self, other: Any) -> Any:
        return compared(other, self, ">", operator.lt, flipped=True)

    def __le__(self, other: Any) -> Any:
        return compared(other, self, ">=", operator.le, flipped=True)

    def __gt__(self, other: Any) -> Any:
        return compared(other, self, ">", operator.gt, flipped=False)

    def __ge__(self, other: Any) -> Any:
        return compared(other, self, ">=", operator.ge, flipped=False)

    def __eq__(self, other: Any) -> Any:
        return compared(other, self, "==", operator.eq, flipped=False)

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else opposite(same)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        if self.form.terms:
            refuse("a noisy value is a key of a dict or set", "keep noisy values in a list")
        return hash(self.plain)

    # Conversions to one number

    def _number(self, operation: str, advice: str) -> int | float:
        if self.form.terms and all(s.kind == "indicator" for s in self.form.terms):
            return settled(self).plain
        if self.form.terms:
            refuse(operation, advice)
        return self.plain

    def __float__(self) -> float:
        return float(
            self._number(
                "float() of a noisy value (math functions call it too)",
                "NumPy arithmetic, comparisons, abs, clip, max and sums keep it symbolic",
            )
        )

    def __int__(self) -> int:
        return int(self._whole("int() of a noisy value", "trunc", plain=True))

    def __index__(self) -> int:
        value = self._number(
            "a noisy value is used as an index or a count", "compare it with numbers instead"
        )
        return operator.index(value)  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(float(self))

    def _whole(
        self, operation: str, how: How, step: Fraction = Fraction(1), plain: bool = False
    ) -> Any:
        """The multiple of `step` that it is rounded to; itself where it is whole already."""
        if self.integer and not plain and step <= 1:
            return self
        value = settled(self)
        if not value.form.terms:
            return PLAINLY[how](value.form.constant / step) * step
        if step == 1 and self._upward(how) is not None:
            from dpest.reading.rewrites.curves import as_geometric

            again = as_geometric(value.form)
            if again is not None:
                raise remembered(again)
        found = _rounded_form(value.form, how, step)
        if found is None:
            refuse(operation, ROUNDING)
        return found * step

    def _upward(self, how: How) -> bool | None:
        """Whether it is rounded up, or down; None: to what is near."""
        if how != "trunc":
            return {"floor": False, "ceil": True}.get(how)
        # One noise that is never negative goes down, or up where it is subtracted.
        terms = tuple(self.form.terms.items())
        return terms[0][1] < 0 if len(terms) == 1 and terms[0][0].kind == "noise" else None

    def __round__(self, digits: int | None = None) -> Any:
        value = self._whole("round() of a noisy value", "round", Fraction(10) ** -(digits or 0))
        if isinstance(value, TracedReal):
            return value
        return int(value) if digits is None or self.integer else round(float(value), digits)

    def __floor__(self) -> Any:
        value = self._whole("floor() of a noisy value", "floor")
        return value if isinstance(value, TracedReal) else int(value)

    def __ceil__(self) -> Any:
        value = self._whole("ceil() of a noisy value", "ceil")
        return value if isinstance(value, TracedReal) else int(value)

    def __trunc__(self) -> Any:
        value = self._whole("trunc() of a noisy value", "trunc")
        return value if isinstance(value, TracedReal) else int(value)

    def __format__(self, spec: str) -> str:
        if self.form.terms and spec:
            refuse("a noisy value is formatted as text", "release the value itself")
        return format(self.plain, spec) if not self.form.terms else repr(self)

    def __str__(self) -> str:
        if self.form.terms:
            refuse("a noisy value is turned into text", "release the value itself")
        return str(self.plain)

    def __repr__(self) -> str:
        return f"⟨{self.form}⟩"

    # As NumPy's scalars have it

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from dpest.reading.tracing.symbolic_arrays import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, options: Any) -> Any:
        from dpest.reading.tracing.symbolic_arrays import apply_function

        return apply_function(func, args, options)

    @property
    def real(self) -> TracedReal:
        return self

    def conjugate(self) -> TracedReal:
        return self

    def item(self) -> Any:
        return typed(self, False)

    tolist = item

    def is_integer(self) -> bool:
        return self.integer or bool(round(self) == self)

    def astype(self, dtype: Any, **_: Any) -> Any:
        from dpest.reading.tracing.selections import converted

        return typed(converted(self, np.dtype(dtype)), True)

    def clip(self, low: Any = None, high: Any = None) -> Any:
        from dpest.reading.tracing.selections import clipped

        return clipped(self, low, high)

    def round(self, digits: int = 0) -> Any:
        return round(self, digits)

    def __getattr__(self, name: str) -> Any:
        if name in _SCALAR_ATTRIBUTES:
            return _SCALAR_ATTRIBUTES[name]
        raise AttributeError(f"a noisy value has no attribute {name!r}")


def _number_operator(name: str) -> Callable[..., Any]:
    bare = name.strip("_").removeprefix("r") if name != "__round__" else "round"

    def apply(self: TracedTruth, *others: Any) -> Any:
        if all(is_bool(other) for other in others) and bare in _OF_BOOLS:
            numpy = of_numpy(self, *others)
            if numpy is None:
                _ambiguous(
                    "arithmetic of truth values is logic for NumPy's and adds for Python's",
                    "int(b)",
                )
            if numpy:
                return of_bools(bare, self, *others)
        return getattr(self.number(), name)(*others)

    apply.__name__ = name
    return apply


_OF_BOOLS = {"add", "sub", "mul", "neg", "pos", "abs", "round"}


def of_bools(name: str, first: Any, second: Any = False) -> Any:
    """Arithmetic of np.bool_ alone: + is `or`, * is `and`; there is no −."""
    if name in ("add", "mul"):
        return typed(joined(first, second, name == "mul"), True)
    if name == "abs":
        return typed(first, True)
    signs = {"sub": "−", "neg": "−", "pos": "+", "round": "round()"}
    raise TypeError(f"numpy boolean {name}, the {signs[name]} operator, is not supported")


def _ambiguous(what: str, instead: str) -> NoReturn:
    refuse(f"{what}, and which one this is isn't known", f"write {instead}, or np.sum for a count")


# A truth value in arithmetic is 0 or 1.
for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "pos", "abs",
    "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow", "round",
):  # fmt: skip
    setattr(TracedTruth, f"__{_name}__", _number_operator(f"__{_name}__"))

_SCALAR_ATTRIBUTES = {"shape": (), "ndim": 0, "size": 1, "imag": 0.0}


@functools.lru_cache(maxsize=65536, typed=True)
def _constant(value: int | float) -> TracedReal:
    return TracedReal(Form._made({}, rational(value)), not isinstance(value, float), False)


def as_real(value: Any) -> Any:
    """A TracedReal, a float (±inf or NaN), or NotImplemented."""
    kind = type(value)
    if kind is TracedReal:
        return value
    if kind is int or (kind is float and math.isfinite(value)):
        return _constant(value)
    if isinstance(value, TracedTruth):
        return value.number()
    if isinstance(value, TracedReal):
        return value
    if isinstance(value, _NUMBERS):
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            return float(value)
        return TracedReal(
            Form._made({}, rational(value)),
            isinstance(value, _INTEGERS),
            isinstance(value, np.generic),
        )
    if isinstance(value, np.ndarray) and value.ndim == 0 and type(value) is np.ndarray:
        return typed(as_real(value.item()), True)
    if isinstance(value, numbers.Number) and hasattr(value, "as_integer_ratio"):
        return TracedReal(Form.number(Fraction(*value.as_integer_ratio())))
    return NotImplemented


def as_truth(value: Any) -> Any:
    """A TracedTruth, a bool, or NotImplemented."""
    if isinstance(value, TracedTruth):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    if isinstance(value, TracedReal) and value.integer:
        return value != 0
    return NotImplemented


def opposite(value: Any) -> Any:
    return value.negated() if isinstance(value, TracedTruth) else not value


def joined(first: Any, second: Any, conjunction: bool) -> Any:
    first, second = as_truth(first), as_truth(second)
    if first is NotImplemented or second is NotImplemented:
        return NotImplemented
    for known, other in ((first, second), (second, first)):
        if isinstance(known, bool):
            return other if known is conjunction else known
    parts: dict[Any, TracedTruth] = {}
    for side in (first, second):
        inside = side.condition is None and side.conjunction is conjunction
        for part in side.parts if inside else (side,):
            parts.setdefault(part.key, part)
    if len(parts) == 1:
        return first
    for part in parts.values():
        if part.negated().key in parts:
            return not conjunction
    return TracedTruth(None, tuple(parts.values()), conjunction)


def _bitwise(value: TracedReal, other: Any, sign: str, operation: Callable[[Any, Any], Any]) -> Any:
    """A bit with 0 or 1 stays a bit; anything else is decided first."""
    if isinstance(other, TracedReal) and not other.form.terms:
        other = other.plain
    bit = len(value.form.terms) == 1 and value.form.constant in (0, 1)
    bit = bit and all(s.kind == "indicator" for s in value.form.terms)
    bit = bit and {value.form.constant, sum(value.form.terms.values(), value.form.constant)} == {
        *(0, 1)
    }
    if bit and type(other) in (int, bool, np.int64) and other in (0, 1):
        zero, one = (operation(side, int(other)) for side in (0, 1))
        if zero == one:
            return typed(TracedReal(Form.number(zero), True), of_numpy(value, other))
        changed = value.form if zero == 0 else value.form.times(-1).plus(Form.number(1))
        return typed(TracedReal(changed, True), of_numpy(value, other))
    numbers = []
    for side in (value, other):
        if isinstance(side, TracedReal):
            side = side._number(f"{sign} of a noisy value", "compare it with numbers instead")
        numbers.append(side)
    return operation(*numbers)


def settled(value: TracedReal) -> TracedReal:
    """The indicators in it decided on this path, by forks where they are open."""
    run = running()
    values: dict[Symbol, Form] = {}
    if type(value) is not TracedReal:
        value = TracedReal(value.form, value.integer, value.numpy)
    for symbol in value.form.terms:
        if symbol.kind == "indicator":
            values[symbol] = Form.number(int(bool(run.defined(symbol))))
    return (
        TracedReal(value.form.substitute(values), value.integer, value.numpy) if values else value
    )


def about(form: Form, relation: Relation) -> Any:
    """The truth of `form relation 0`: a bool where it is known, else a TracedTruth."""
    if not form.terms:
        return Condition(form, relation).decided()
    indicators = [s for s in form.terms if s.kind == "indicator"]
    if indicators:
        if len(indicators) > _MOST_EXPANDED:
            return about(settled(TracedReal(form)).form, relation)
        return _expanded(form, relation, indicators)
    if relation in ("==", "!="):
        return _equality(form, relation)
    return TracedTruth(Condition(form, relation))


def _expanded(form: Form, relation: Relation, indicators: Sequence[Symbol]) -> Any:
    """A condition on indicators, written out over their values: conditions stay on noises."""
    run = running()
    result: Any = False
    for values in itertools.product((1, 0), repeat=len(indicators)):
        case: Any = about(
            form.substitute({s: Form.number(v) for s, v in zip(indicators, values, strict=True)}),
            relation,
        )
        for symbol, value in zip(indicators, values, strict=True):
            truth = run.defined(symbol)
            case = joined(case, truth if value else truth.negated(), True)
        result = joined(result, case, False)
    return result


def _equality(form: Form, relation: Relation) -> Any:
    run = running()
    for symbol in form.terms:
        noise = run.noise_of(symbol) if symbol.kind == "noise" else None
        if noise is not None and not noise.discrete:
            if sum(s.kind == "noise" for s in form.terms) > 1:
                # Two noisy values tie with probability zero: leaving the tie out changes no
                # probability of any output.
                run.note("ties between continuous noises have probability zero and are left out")
                return relation == "!="
            if len(form.terms) == 1 and _at_the_end(form, symbol, noise):
                run.note("the ends of a noise have probability zero and are left out")
                return relation == "!="
            refuse(
                "a continuous noisy value is compared for equality",
                "this has probability zero in real arithmetic: use >= or <",
            )
    return TracedTruth(Condition(form, relation))


def _at_the_end(form: Form, symbol: Symbol, noise: Any) -> bool:
    """Whether the noise would have to be at, or beyond, a finite end of its support."""
    try:
        low, high = noise.support
    except (TypeError, ValueError):  # symbolic parameters
        return False
    place = -form.constant / form.terms[symbol]
    return (math.isfinite(low) and place <= rational(low)) or (
        math.isfinite(high) and place >= rational(high)
    )


def compared(
    other: Any,
    value: TracedReal,
    relation: Relation,
    plain: Callable[[Any, Any], bool],
    *,
    flipped: bool,
) -> Any:
    found = as_real(other)
    if found is NotImplemented:
        return NotImplemented
    if not isinstance(found, TracedReal):
        return typed(plain(0.0, found), of_numpy(value, other))
    first, second = (found, value) if flipped else (value, found)
    return typed(about(first.form.minus(second.form), relation), of_numpy(value, found))


def _sum(value: TracedReal, other: Any, sign: int) -> Any:
    found = as_real(other)
    if found is NotImplemented:
        return NotImplemented
    if not isinstance(found, TracedReal):
        return sign * found
    return TracedReal(
        value.form.plus(found.form, sign), value.integer and found.integer, of_numpy(value, found)
    )


def _rounded_form(form: Form, how: How, step: Fraction) -> int | None:
    run = running()
    choose = getattr(run, "choose_endlessly", None)
    noises = {s: run.noise_of(s) for s in form.terms if s.kind == "noise"}
    known = {s: noise for s, noise in noises.items() if noise is not None}
    if choose is None:
        return None
    return rounded(form, how, step, known, lambda window: int(choose(window, window.cells)))


def _times_infinity(value: TracedReal, infinity: float) -> float:
    if math.isnan(infinity):
        return infinity
    return infinity if value > 0 else -infinity


def _divisor(value: TracedReal) -> Fraction:
    value = settled(value)
    if value.form.terms:
        refuse("a division by a noisy value", "divide by a number, or release both values")
    return value.form.constant


def _rounded(first: Any, second: Any, name: str, plain: Callable[[Any, Any], Any]) -> Any:
    numbers_ = []
    for value in (first, second):
        if isinstance(value, TracedTruth):
            value = int(value)
        if isinstance(value, TracedReal):
            value = value._number(f"{name} of a noisy value", ROUNDING)
        elif not isinstance(value, _NUMBERS):
            return NotImplemented
        numbers_.append(value)
    return plain(*numbers_)
