"""Python's and NumPy's arithmetic on numbers of the run.

What raises in Python raises here, on a way of its own. What leaves 64 bits is trapped: the block's
runs are then made by other means.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.code.operators import COMPARISONS, OPERATORS
from dpest.running.native.ir import TYPES, KnownNumber, Operand, SegmentBuilder
from dpest.running.native.signals import NotCompiled, RunThrown, error_of
from dpest.running.native.values import RunChoice, RunNumber, RunValue, is_numpy, kind_of

LARGE = 1 << 62
_EXACT = 1 << 53
_PREDICATES = {
    "<": ("olt", "slt"),
    "<=": ("ole", "sle"),
    ">": ("ogt", "sgt"),
    ">=": ("oge", "sge"),
    "==": ("oeq", "eq"),
    "!=": ("une", "ne"),
}
_INTEGER = {"+": ("add", "sadd"), "-": ("sub", "ssub"), "*": ("mul", "smul")}
_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_BITWISE = {"&": "and", "|": "or", "^": "xor"}
_INTRINSICS = {"sqrt", "rint", "floor", "ceil", "fabs", "trunc", "log", "exp", "log2", "sin", "cos"}
_LIBRARY = {"log1p", "expm1", "tanh", "log10", "atan", "erf"}


def constant(value: Any, kind: str) -> KnownNumber:
    if kind == "f":
        return KnownNumber("f", float(value))
    if kind == "i":
        if not -(1 << 63) <= int(value) < 1 << 63:
            raise NotCompiled("an integer of more than 64 bits")
        return KnownNumber("i", int(value))
    return KnownNumber("b", bool(value))


def bounds(value: Any) -> tuple[int | None, int | None]:
    if isinstance(value, RunNumber):
        return (0, 1) if value.kind == "b" else (value.low, value.high)
    return int(value), int(value)


def _range(op: Callable[[int, int], int], a: Any, b: Any) -> tuple[int | None, int | None]:
    """Where the result lies; unknown where it may leave 62 bits."""
    (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return None, None
    ends = [op(x, y) for x in (a_low, a_high) for y in (b_low, b_high)]
    low, high = min(ends), max(ends)
    return (low, high) if low > -LARGE and high < LARGE else (None, None)


class RunArithmetic(SegmentBuilder):
    """Operators on numbers of the run and plain numbers alike; plain ones stay plain."""

    # Choices

    def resolved(self, value: Any) -> Any:
        """A choice by cases."""
        if not isinstance(value, RunChoice):
            return value
        options = range(len(value.options))
        option = value.options[self.decide(value.tag, "i64", options)]
        return option[0] if isinstance(option, tuple) else self.number(option, value)

    def number(self, kind: str, choice: RunChoice) -> RunNumber:
        """The number of this kind that a choice holds."""
        if kind == "f":
            return RunNumber("f", self.from_bits(choice.payload), numpy=choice.numpy)
        if kind == "b":
            register = self.emit("trunc i64 {0} to i1", choice.payload)
            return RunNumber("b", register, numpy=choice.numpy)
        return RunNumber("i", choice.payload, numpy=choice.numpy)

    def payload(self, value: Any) -> Operand:
        """A number as bits."""
        kind = kind_of(value)
        operand = self.as_kind(value, kind)
        if kind == "f":
            return self.to_bits(operand)
        return self.emit("zext i1 {0} to i64", operand) if kind == "b" else operand

    # Conversions

    def as_kind(self, value: Any, kind: str) -> Operand:
        """The operand of a value as this kind of number."""
        if not isinstance(value, RunValue):
            if kind_of(value) == "c":
                raise NotCompiled(f"a {type(value).__name__} among numbers")
            return constant(value, kind)
        if not isinstance(value, RunNumber):
            raise NotCompiled("a value of several kinds among numbers")
        if value.kind == kind:
            return value.register
        if kind == "b":
            return self.truth(value)
        if value.kind == "b":
            integer = self.emit("zext i1 {0} to i64", value.register)
            return integer if kind == "i" else self.emit("sitofp i64 {0} to {F}", integer)
        if value.kind == "i" and kind == "f":
            return self.emit("sitofp i64 {0} to {F}", value.register)
        raise NotCompiled("a real where an integer is needed")

    def truth(self, value: Any) -> Operand:
        if not isinstance(value, RunValue):
            return KnownNumber("b", bool(value))
        assert isinstance(value, RunNumber)
        if value.kind == "b":
            return value.register
        if value.kind == "i":
            return self.emit("icmp ne i64 {0}, 0", value.register)
        return self.emit("fcmp une {F} {0}, {1}", value.register, KnownNumber("f", 0.0))

    def boolean(self, value: Any) -> Any:
        value = self.resolved(value)
        return RunNumber("b", self.truth(value)) if isinstance(value, RunNumber) else bool(value)

    def to_float(self, value: Any) -> Any:
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return float(value)
        return RunNumber("f", self.as_kind(value, "f"), numpy=value.numpy)

    def cast(self, value: Any, kind: str) -> Any:
        """As NumPy converts: reals are cut off towards zero."""
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return {"f": float, "i": int, "b": bool}[kind](value)
        if kind == "i" and value.kind == "f":
            return self.whole(value.register, value.numpy)
        low, high = bounds(value) if kind == "i" else (None, None)
        return RunNumber(kind, self.as_kind(value, kind), low, high, value.numpy)

    def whole(self, real: Operand, numpy: bool = False, low: int | None = None) -> RunNumber:
        """A real as an integer; beyond 62 bits, infinite or NaN it is trapped."""
        size = self.emit("call {F} @llvm.fabs.{S}({F} {0})", real)
        fits = self.emit("fcmp olt {F} {0}, {1}", size, KnownNumber("f", float(LARGE)))
        self.trap(self.emit("xor i1 {0}, true", fits))
        safe = self.emit("select i1 {0}, {F} {1}, {F} {2}", fits, real, KnownNumber("f", 0.0))
        return RunNumber("i", self.emit("fptosi {F} {0} to i64", safe), low, None, numpy)

    # Operators

    def raise_if(self, condition: Operand, error: BaseException) -> None:
        if isinstance(condition, KnownNumber):
            if condition.value:
                raise RunThrown(error)
        elif self.decide(condition):
            raise RunThrown(error)

    def plain(self, call: Callable[[], Any]) -> Any:
        """What Python says of plain values."""
        try:
            return call()
        except NotCompiled:
            raise
        except Exception as error:
            raise RunThrown(error.with_traceback(None)) from None

    def arithmetic(self, op: str, a: Any, b: Any) -> Any:
        a, b = self.resolved(a), self.resolved(b)
        if not isinstance(a, RunNumber) and not isinstance(b, RunNumber):
            return self.plain(lambda: OPERATORS[op](a, b))
        kinds = kind_of(a) + kind_of(b)
        if "c" in kinds:
            raise NotCompiled(f"`{op}` of a {type(a).__name__} and a {type(b).__name__}")
        if op in _BITWISE or op in ("<<", ">>"):
            return self._bitwise(op, a, b, kinds)
        if op == "**":
            return self._power(a, b, kinds)
        numpy = is_numpy(a, b)
        if op in _INTEGER and "f" not in kinds:
            if kinds == "bb" and numpy:
                raise NotCompiled("arithmetic of NumPy's booleans")
            return self._integer(op, a, b, numpy)
        if op in ("//", "%"):
            if "f" in kinds:
                return self._real_division(op, a, b, numpy)
            return self._integer_division(op, a, b, numpy)
        if op not in _REAL:
            raise NotCompiled(f"`{op}` of numbers of the run")
        x, y = self.as_kind(a, "f"), self.as_kind(b, "f")
        if op == "/" and not numpy:
            self._divisor(a, b, y, operator.truediv)
        return RunNumber("f", self.emit(_REAL[op] + " {F} {0}, {1}", x, y), numpy=numpy)

    def _divisor(self, a: Any, b: Any, y: Operand, op: Callable[[Any, Any], Any]) -> None:
        """Division by zero raises, with the text that Python has for these types."""
        one: Any = 1.0 if kind_of(a) == "f" else 1
        zero: Any = 0.0 if kind_of(b) == "f" else 0
        error = error_of(lambda: op(one, zero))
        if isinstance(b, RunNumber):
            self.raise_if(self.emit("fcmp oeq {F} {0}, {1}", y, KnownNumber("f", 0.0)), error)
        elif b == 0:
            raise RunThrown(error)

    def _integer(self, op: str, a: Any, b: Any, numpy: bool) -> RunNumber:
        x, y = self.as_kind(a, "i"), self.as_kind(b, "i")
        low, high = _range(OPERATORS[op], a, b)
        plain, checked = _INTEGER[op]
        if low is not None:
            return RunNumber("i", self.emit(plain + " nsw i64 {0}, {1}", x, y), low, high, numpy)
        pair = self.emit(
            f"call {{{{i64, i1}}}} @llvm.{checked}.with.overflow.i64(i64 {{0}}, i64 {{1}})", x, y
        )
        self.trap(self.emit("extractvalue {{i64, i1}} {0}, 1", pair))
        return RunNumber("i", self.emit("extractvalue {{i64, i1}} {0}, 0", pair), None, None, numpy)

    def _bitwise(self, op: str, a: Any, b: Any, kinds: str) -> RunNumber:
        numpy = is_numpy(a, b)
        if "f" in kinds:
            raise NotCompiled(f"`{op}` of a real")
        if kinds == "bb" and op in _BITWISE:
            x, y = self.as_kind(a, "b"), self.as_kind(b, "b")
            return RunNumber("b", self.emit(_BITWISE[op] + " i1 {0}, {1}", x, y), numpy=numpy)
        x, y = self.as_kind(a, "i"), self.as_kind(b, "i")
        if op in _BITWISE:
            (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
            low = high = None
            if None not in (a_low, b_low, a_high, b_high) and min(a_low or 0, b_low or 0) >= 0:
                low, high = 0, (1 << max(a_high or 0, b_high or 0).bit_length()) - 1
            return RunNumber("i", self.emit(_BITWISE[op] + " i64 {0}, {1}", x, y), low, high, numpy)
        if isinstance(b, RunNumber) or not 0 <= int(b) < 63:
            raise NotCompiled("a shift by a number of the run")
        if op == "<<":
            return self._integer("*", a, 1 << int(b), numpy)
        low, high = bounds(a)
        ends = (None if low is None else low >> int(b), None if high is None else high >> int(b))
        return RunNumber("i", self.emit("ashr i64 {0}, {1}", x, y), *ends, numpy)

    def _power(self, a: Any, b: Any, kinds: str) -> Any:
        numpy = is_numpy(a, b)
        if not isinstance(b, RunNumber) and b == int(b) and 1 <= b <= 8:
            made = a
            for _ in range(int(b) - 1):
                made = self.arithmetic("*", made, a)
            return made if kinds[1] == "i" else self.to_float(made)
        if "f" not in kinds:
            raise NotCompiled("a power of integers")
        x, y = self.as_kind(a, "f"), self.as_kind(b, "f")
        if not numpy and (isinstance(a, RunNumber) or a <= 0):
            # Python makes a complex number, or raises: neither is computed here.
            self.trap(self.emit("fcmp ole {F} {0}, {1}", x, KnownNumber("f", 0.0)))
        result = self.emit("call {F} @llvm.pow.{S}({F} {0}, {F} {1})", x, y)
        if not numpy:
            self._trap_infinite(result)
        return RunNumber("f", result, numpy=numpy)

    def _trap_infinite(self, result: Operand) -> None:
        """Python raises OverflowError where the result is infinite; that is left to Python."""
        size = self.emit("call {F} @llvm.fabs.{S}({F} {0})", result)
        self.trap(self.emit("fcmp oeq {F} {0}, {1}", size, KnownNumber("f", math.inf)))

    def _real_division(self, op: str, a: Any, b: Any, numpy: bool) -> RunNumber:
        """As Python's float_divmod: the remainder has the sign of the divisor."""
        x, y = self.as_kind(a, "f"), self.as_kind(b, "f")
        if numpy:
            raise NotCompiled(f"`{op}` of NumPy's reals")
        self._divisor(a, b, y, OPERATORS[op])
        zero = KnownNumber("f", 0.0)
        rest = self.emit("frem {F} {0}, {1}", x, y)
        wrong = self.emit(
            "xor i1 {0}, {1}",
            self.emit("fcmp olt {F} {0}, {1}", rest, zero),
            self.emit("fcmp olt {F} {0}, {1}", y, zero),
        )
        some = self.emit("fcmp une {F} {0}, {1}", rest, zero)
        moved = self.emit("fadd {F} {0}, {1}", rest, y)
        shift = self.emit("and i1 {0}, {1}", wrong, some)
        modulo = self.emit("select i1 {0}, {F} {1}, {F} {2}", shift, moved, rest)
        if op == "%":
            signed = self.emit("call {F} @llvm.copysign.{S}({F} {0}, {F} {1})", zero, y)
            result = self.emit("select i1 {0}, {F} {1}, {F} {2}", some, modulo, signed)
            return RunNumber("f", result)
        exact = self.emit("fdiv {F} {0}, {1}", self.emit("fsub {F} {0}, {1}", x, modulo), y)
        floor = self.emit("call {F} @llvm.floor.{S}({F} {0})", exact)
        gap = self.emit("fsub {F} {0}, {1}", exact, floor)
        up = self.emit("fcmp ogt {F} {0}, {1}", gap, KnownNumber("f", 0.5))
        more = self.emit("fadd {F} {0}, {1}", floor, KnownNumber("f", 1.0))
        return RunNumber("f", self.emit("select i1 {0}, {F} {1}, {F} {2}", up, more, floor))

    def _integer_division(self, op: str, a: Any, b: Any, numpy: bool) -> RunNumber:
        low, _ = bounds(b)
        if low is None or low <= 0:
            raise NotCompiled("division by an integer of the run that may be zero or negative")
        x, y = self.as_kind(a, "i"), self.as_kind(b, "i")
        rest = self.emit("srem i64 {0}, {1}", x, y)
        below = self.emit("icmp slt i64 {0}, 0", rest)
        moved = self.emit("add i64 {0}, {1}", rest, y)
        modulo = self.emit("select i1 {0}, i64 {1}, i64 {2}", below, moved, rest)
        if op == "%":
            _, high = bounds(b)
            return RunNumber("i", modulo, 0, None if high is None else high - 1, numpy)
        quotient = self.emit("sdiv i64 {0}, {1}", self.emit("sub i64 {0}, {1}", x, modulo), y)
        low_a, high_a = bounds(a)
        ends = (
            None if low_a is None else min(low_a, 0),
            None if high_a is None else max(high_a, 0),
        )
        return RunNumber("i", quotient, *ends, numpy)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        a, b = self.resolved(a), self.resolved(b)
        if not isinstance(a, RunNumber) and not isinstance(b, RunNumber):
            return self.plain(lambda: COMPARISONS[op](a, b))
        kinds = kind_of(a) + kind_of(b)
        if "c" in kinds:
            if op in ("==", "!="):
                return op == "!="
            example: Any = {"f": 1.0, "i": 1, "b": True}
            one, two = example.get(kinds[0], a), example.get(kinds[1], b)
            return self.plain(lambda: COMPARISONS[op](one, two))
        real, integer = _PREDICATES[op]
        numpy = is_numpy(a, b)
        if "f" not in kinds:
            x, y = self.as_kind(a, "i"), self.as_kind(b, "i")
            return RunNumber("b", self.emit(f"icmp {integer} i64 {{0}}, {{1}}", x, y), numpy=numpy)
        self._exact_real(a)
        self._exact_real(b)
        x, y = self.as_kind(a, "f"), self.as_kind(b, "f")
        return RunNumber("b", self.emit(f"fcmp {real} {{F}} {{0}}, {{1}}", x, y), numpy=numpy)

    def _exact_real(self, value: Any) -> None:
        """Python compares integers and reals exactly: an integer must be a real without loss."""
        if kind_of(value) != "i":
            return
        low, high = bounds(value)
        if low is not None and high is not None:
            if max(abs(low), abs(high)) > _EXACT:
                raise NotCompiled("a large integer beside a real")
        elif isinstance(value, RunNumber):
            shifted = self.emit("add i64 {0}, {1}", value.register, KnownNumber("i", _EXACT))
            self.trap(self.emit("icmp ugt i64 {0}, {1}", shifted, KnownNumber("i", 2 * _EXACT)))

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """a where the condition holds, else b; on ways of their own if their kinds differ."""
        condition = self.resolved(condition)
        if not isinstance(condition, RunNumber):
            return a if condition else b
        if a is b:
            return a
        test, kind = self.truth(condition), kind_of(a)
        if kind_of(b) != kind or kind not in "fib":
            return a if self.decide(test) else b
        low = high = None
        if kind == "i":
            (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
            low = None if a_low is None or b_low is None else min(a_low, b_low)
            high = None if a_high is None or b_high is None else max(a_high, b_high)
        form = f"select i1 {{0}}, {TYPES[kind]} {{1}}, {TYPES[kind]} {{2}}"
        register = self.emit(form, test, self.as_kind(a, kind), self.as_kind(b, kind))
        return RunNumber(kind, register, low, high, is_numpy(a, b))

    def negative(self, value: Any) -> Any:
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return self.plain(lambda: -value)
        if value.kind == "f":
            return RunNumber("f", self.emit("fneg {F} {0}", value.register), numpy=value.numpy)
        return self.arithmetic("-", 0, value)

    def inverted(self, value: Any) -> Any:
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return self.plain(lambda: ~value)
        if value.kind == "b" and value.numpy:
            return RunNumber("b", self.emit("xor i1 {0}, true", value.register), numpy=True)
        if value.kind == "f":
            raise NotCompiled("`~` of a real")
        return self.arithmetic("-", self.negative(value), 1)

    def negation(self, value: Any) -> Any:
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return self.plain(lambda: not value)
        return RunNumber("b", self.emit("xor i1 {0}, true", self.truth(value)))

    def either(self, a: Any, b: Any) -> Any:
        if not isinstance(a, RunValue):
            return True if a else b
        if not isinstance(b, RunValue):
            return True if b else a
        return RunNumber("b", self.emit("or i1 {0}, {1}", self.truth(a), self.truth(b)))

    def both(self, a: Any, b: Any) -> Any:
        if not isinstance(a, RunValue):
            return b if a else False
        if not isinstance(b, RunValue):
            return a if b else False
        return RunNumber("b", self.emit("and i1 {0}, {1}", self.truth(a), self.truth(b)))

    def absolute(self, value: Any) -> Any:
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            return self.plain(lambda: abs(value))
        if value.kind == "f":
            register = self.emit("call {F} @llvm.fabs.{S}({F} {0})", value.register)
            return RunNumber("f", register, numpy=value.numpy)
        return self.select(self.compare("<", value, 0), self.arithmetic("-", 0, value), value)

    # Functions of one real

    def function(self, name: str, value: Any, numpy: bool) -> Any:
        """log, exp, sqrt, floor, … as `math` has them, or as NumPy has them."""
        value = self.resolved(value)
        if not isinstance(value, RunNumber):
            library = np if numpy else math
            return self.plain(lambda: getattr(library, name)(value))
        if not numpy and name in ("floor", "ceil") and value.kind != "f":
            return self.cast(value, "i")
        x = self.as_kind(value, "f")
        if not numpy:
            self._domain(name, x)
        result = self.real_function(name, x)
        if not numpy and name in ("exp", "expm1"):
            self._trap_infinite(result)
        if not numpy and name in ("floor", "ceil"):
            return self.whole(result)
        return RunNumber("f", result, numpy=numpy)

    def _domain(self, name: str, x: Operand) -> None:
        zero = KnownNumber("f", 0.0)
        if name in ("log", "log2", "log10"):
            error = error_of(lambda: getattr(math, name)(0.0))
            self.raise_if(self.emit("fcmp ole {F} {0}, {1}", x, zero), error)
        elif name == "log1p":
            self.trap(self.emit("fcmp ole {F} {0}, {1}", x, KnownNumber("f", -1.0)))
        elif name == "sqrt":
            error = error_of(lambda: math.sqrt(-1.0))
            self.raise_if(self.emit("fcmp olt {F} {0}, {1}", x, zero), error)

    def real_function(self, name: str, x: Operand) -> str:
        if name in _INTRINSICS:
            return self.emit(f"call {{F}} @llvm.{name}.{{S}}({{F}} {{0}})", x)
        if name in _LIBRARY:
            return self.emit(f"call {{F}} @{name}({{F}} {{0}})", x)
        raise NotCompiled(f"the function {name}")
