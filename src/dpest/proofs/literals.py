"""Parameters of a certificate are read as literals; nothing in them is evaluated.

They are written as `repr` writes them: numbers, texts, lists, `Fraction(1, 2)`, `array([1, 2])`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError

_NAMES = {"inf": math.inf, "nan": math.nan}


def read_literals(parameters: Mapping[str, str]) -> dict[str, Any]:
    return {name: read_literal(text, name) for name, text in parameters.items()}


def read_literal(text: str, name: str) -> Any:
    """The value of a literal; RefusedError for anything else, such as a call."""
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, ArithmeticError):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise RefusedError(f"the parameter {name} is no literal: {shown}") from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(_value(v) for v in node.elts)
    if isinstance(node, ast.List):
        return [_value(v) for v in node.elts]
    if isinstance(node, ast.Set):
        return {_value(v) for v in node.elts}
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_value(k) for k in node.keys if k is not None]
        return dict(zip(keys, map(_value, node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(node)
    raise ValueError("no literal")


def _number(node: ast.expr) -> Any:
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, (int, float, complex, Fraction)):
        raise ValueError("no number")
    return value


def _call(node: ast.Call) -> Any:
    """The three names that `repr` writes for numbers and arrays; nothing is looked up."""
    name = node.func
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        word = name.attr if name.value.id in ("np", "numpy", "fractions") else ""
    else:
        word = name.id if isinstance(name, ast.Name) else ""
    if word not in _CALLS:
        raise ValueError("no literal")
    return _CALLS[word](*map(_value, node.args))


def _array(values: list[Any]) -> Any:
    import numpy as np

    return np.array(values)


def _fraction(top: int, bottom: int = 1) -> Fraction:
    return Fraction(top, bottom)


_CALLS: dict[str, Callable[..., Any]] = {
    "Fraction": _fraction,
    "array": _array,
    "float64": float,
    "int64": int,
}
