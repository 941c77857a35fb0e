"""Small arithmetic expressions over parameters, such as "2*eps" or "eps*sqrt(n)".

They stand where a claim written beside code needs a number that is only known with the parameters.
An expression is parsed by Python's own grammar and interpreted node by node, never evaluated as
code. Decimal literals are read exactly: "0.1*eps" is eps/10.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

from dpest.errors import DomainError
from dpest.notions.domain import Number, real

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "min": min,
    "max": max,
}
_CONSTANTS: dict[str, Number] = {"inf": math.inf}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_ADVICE = "write numbers, parameter names, + - * / ** and sqrt, exp, log, min, max"


@lru_cache(maxsize=512)
def parse(text: str) -> ast.expr:
    """The checked syntax tree of an expression; `DomainError` for anything else."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _check(tree, text)
    except DomainError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        shown = text if len(text) <= 80 else text[:79] + "…"
        raise DomainError(f"{shown!r} is not an arithmetic expression; {_ADVICE}") from None
    return tree


def _check(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            # Digits as they were written, so that 0.1 is one tenth and not its nearest double.
            digits = ast.get_source_segment(text.strip(), node) or repr(node.value)
            node.exact = Fraction(digits.replace("_", "")) if digits[:2] != "0x" else node.value  # type: ignore[attr-defined]
        case ast.Name():
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            _check(node.operand, text)
        case ast.BinOp() if isinstance(node.op, _OPERATORS):
            _check(node.left, text)
            _check(node.right, text)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS and node.args:
            for argument in node.args:
                _check(argument, text)
        case _:
            raise DomainError(f"{text!r} uses something that a claim can't; {_ADVICE}")


def names(text: str) -> frozenset[str]:
    """The parameters that an expression mentions."""
    return frozenset(_names(parse(text)))


def _names(node: ast.expr) -> set[str]:
    match node:
        case ast.Name(id=name):
            return set() if name in _CONSTANTS else {name}
        case ast.UnaryOp(operand=operand):
            return _names(operand)
        case ast.BinOp(left=left, right=right):
            return _names(left) | _names(right)
        case ast.Call(args=arguments):
            return set().union(*map(_names, arguments))
    return set()


def evaluate(text: str, params: Mapping[str, Any]) -> Number:
    """The value of an expression; exact when every parameter is an int or a Fraction."""
    missing = sorted(name for name in names(text) if name not in params)
    if missing:
        known = ", ".join(sorted(map(str, params))) or "none"
        raise DomainError(
            f"{text!r} needs the parameter {missing[0]!r}; the parameters given are: {known}"
        )
    try:
        value = _evaluate(parse(text), params)
    except ZeroDivisionError:
        raise DomainError(f"{text!r} divides by zero") from None
    except (OverflowError, ValueError) as problem:
        raise DomainError(f"{text!r} has no value: {problem}") from None
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return real(value, repr(text))


def _evaluate(node: ast.expr, params: Mapping[str, Any]) -> Number:
    match node:
        case ast.Constant():
            return node.exact  # type: ignore[attr-defined]
        case ast.Name(id=name):
            value = real(params[name] if name in params else _CONSTANTS[name], name)
            return Fraction(value) if isinstance(value, int) else value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, params)
        case ast.UnaryOp(operand=operand):
            return _evaluate(operand, params)
        case ast.BinOp(left=left, op=op, right=right):
            return _apply(op, _evaluate(left, params), _evaluate(right, params))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_evaluate(argument, params) for argument in arguments))
    raise AssertionError(ast.dump(node))


def _apply(op: ast.operator, a: Any, b: Any) -> Any:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Div():
            return a / b
    if abs(b) > 1000:
        raise OverflowError("the exponent is too large")
    power: Any = a**b
    if isinstance(power, complex):
        raise ValueError("a root of a negative number")
    return real(power, "a power")


# A polynomial in one unit that may have negative powers: exponent -> coefficient.
_Laurent = dict[int, Fraction]


def multiple(text: str, unit: str, params: Mapping[str, Any] | None = None) -> Fraction | None:
    """The rational k with expression = k·unit, or None if it is no such multiple.

    `params` gives values for other names, if they are exact ("n*eps" with n = 5 is 5·eps).
    """
    others = {name: value for name, value in (params or {}).items() if name != unit}
    terms = _laurent(parse(text), unit, others)
    if terms is None or any(power != 1 for power in terms):
        return None
    return terms.get(1, Fraction(0))


def _laurent(node: ast.expr, unit: str, params: Mapping[str, Any]) -> _Laurent | None:
    match node:
        case ast.Constant():
            return _trim({0: Fraction(node.exact)})  # type: ignore[attr-defined]
        case ast.Name(id=name):
            if name == unit:
                return {1: Fraction(1)}
            value = params.get(name)
            if not isinstance(value, Rational) or isinstance(value, bool):
                return None
            return _trim({0: Fraction(int(value.numerator), int(value.denominator))})
        case ast.UnaryOp(op=op, operand=operand):
            terms = _laurent(operand, unit, params)
            if terms is None or isinstance(op, ast.UAdd):
                return terms
            return {power: -factor for power, factor in terms.items()}
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _laurent(left, unit, params), _laurent(right, unit, params)
            return None if a is None or b is None else _combine(op, a, b)
    return None


def _trim(terms: _Laurent) -> _Laurent:
    return {power: factor for power, factor in terms.items() if factor != 0}


def _combine(op: ast.operator, a: _Laurent, b: _Laurent) -> _Laurent | None:
    match op:
        case ast.Add() | ast.Sub():
            sign = 1 if isinstance(op, ast.Add) else -1
            powers = a.keys() | b.keys()
            return _trim({n: a.get(n, Fraction(0)) + sign * b.get(n, Fraction(0)) for n in powers})
        case ast.Mult():
            product: _Laurent = {}
            for n, x in a.items():
                for m, y in b.items():
                    product[n + m] = product.get(n + m, Fraction(0)) + x * y
            return _trim(product)
        case ast.Div() if len(b) == 1:
            ((m, y),) = b.items()
            return {n - m: x / y for n, x in a.items()}
        case ast.Pow() if set(b) <= {0} and len(a) <= 1:
            exponent = b.get(0, Fraction(0))
            if exponent.denominator != 1 or abs(exponent) > 64 or (not a and exponent <= 0):
                return None
            k = int(exponent)
            return {n * k: x**k for n, x in a.items()} if a else {}
    return None
