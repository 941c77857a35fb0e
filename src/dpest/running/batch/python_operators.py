"""Operators between Python's own numbers, for all runs at once.

A scalar draw of NumPy's generator is a Python number, and so is what operators make of it: the sum
of two comparisons is a whole number there, where NumPy's own truth values are joined by "or".
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.running.batch.values import Batched

if TYPE_CHECKING:
    from dpest.running.batch.reading import BatchReading

_KINDS: dict[type, type] = {bool: bool, int: int, float: float}
_OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
    np.invert: operator.invert,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
_DIVISIONS = frozenset({np.true_divide, np.floor_divide, np.remainder})
_SHIFTS = frozenset({np.left_shift, np.right_shift})
_MAY_OVERFLOW = frozenset({np.add, np.subtract, np.multiply, np.power, np.left_shift})
_BEYOND = 2.0**62
_result_kinds: dict[Any, type] = {}


def kind_of(value: Any) -> type | None:
    """bool, int or float if a plain run has a Python number here; None if a value of NumPy."""
    return value.python if isinstance(value, Batched) else _KINDS.get(type(value))


def operate(reading: BatchReading, ufunc: np.ufunc, *operands: Any) -> Any:
    """What an operator of Python makes of its operands, at least one of them batched."""
    kinds = tuple(kind_of(value) for value in operands)
    known = _result_kinds.get((ufunc, *kinds))
    if known is None:
        if None in kinds:
            return reading.elementwise(ufunc, operands)
        known = _result_kind(ufunc, kinds)
    if ufunc in _DIVISIONS or ufunc in _SHIFTS or ufunc is np.power:
        second = operands[1]
        if not isinstance(second, Batched):
            if ufunc is not np.power:
                _OPERATORS[ufunc](1, second)  # zero and negative counts raise Python's own error
            elif known is int and second < 0:
                operands, known = (reading.astype(operands[0], np.dtype(float)), second), float
        elif ufunc in _SHIFTS or (ufunc is np.power and known is int):
            reading.need_scalar("a whole number to a noisy power, or shifted by one")
    if known is not bool and bool in kinds:
        operands = tuple(
            value
            if kind is not bool
            else reading.astype(value, np.dtype(np.int64))
            if isinstance(value, Batched)
            else int(value)
            for value, kind in zip(operands, kinds, strict=True)
        )
    result = reading.elementwise(ufunc, operands)
    if ufunc in _MAY_OVERFLOW and known is int:
        result = _within_64_bits(reading, ufunc, operands, result)
    elif ufunc is np.power:
        result = _finite(reading, result)
    result.python = known
    return result


def _result_kind(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> type:
    """The type that Python gives; operands that it refuses raise Python's own error."""
    ones = [kind(1) for kind in kinds]
    found = int if ufunc is np.invert and kinds == (bool,) else type(_OPERATORS[ufunc](*ones))
    _result_kinds[(ufunc, *kinds)] = found
    return found


def _within_64_bits(
    reading: BatchReading, ufunc: np.ufunc, operands: Any, result: Batched
) -> Batched:
    """Python's whole numbers know no bound: what doesn't fit in 64 bits goes one by one."""
    arrays = reading.arrays
    nodes = tuple(v.node if isinstance(v, Batched) else v for v in operands)
    real = arrays.ufunc(np.multiply if ufunc is np.left_shift else ufunc)

    def check(data: Any, a: Any, b: Any) -> Any:
        rough = real(a * 1.0, 2.0**b if ufunc is np.left_shift else b * 1.0)
        if arrays.count(~(abs(rough) < _BEYOND)):
            reading.need_scalar("arithmetic beyond 64 bits on noisy whole numbers")
        return data

    return Batched(reading, (), check, (result, *nodes))


def _finite(reading: BatchReading, result: Batched) -> Batched:
    """Where NumPy's power is infinite, Python's raises."""

    def check(data: Any) -> Any:
        if reading.arrays.count(~(abs(data) < np.inf)):
            reading.need_scalar("a power of a noisy value that can be infinite")
        return data

    return Batched(reading, (), check, (result,))


def retyped(value: Batched, kind: type | None) -> Batched:
    """The same numbers as Python's (`kind`) or NumPy's (None)."""
    if value.python is kind:
        return value
    result = Batched(value._reading, (), _same, (value.node,), elementwise=True)
    result.python = kind
    return result


def _same(data: Any) -> Any:
    return data


def common_kind(values: Any) -> type | None:
    """The kind of one of these values; the wider one where they differ."""
    kinds = {kind_of(value) for value in values}
    if None in kinds:
        return None
    return float if float in kinds else int if int in kinds else bool
