"""frame.query("age >= 18 and city == 'Paris'"): a mask, written as text."""

from __future__ import annotations

import ast
from typing import Any

from dpest.reading.contributions.forms import Unread

_COMPARE: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def mask_of(m: Any, frame: Any, text: str) -> Any:
    """The Series of truths; names are columns, and nothing else is known."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise Unread(f"the query {text!r}") from None
    return _value(m, frame, tree)


def _value(m: Any, frame: Any, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return frame.series(node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value
    if isinstance(node, ast.BoolOp):
        op = "&" if isinstance(node.op, ast.And) else "|"
        first, *rest = (_value(m, frame, v) for v in node.values)
        for other in rest:
            first = m.binary(op, first, other)
        return first
    if isinstance(node, ast.Compare):
        parts = [_value(m, frame, n) for n in (node.left, *node.comparators)]
        if any(type(relation) not in _COMPARE for relation in node.ops):
            raise Unread("a query with an operator that is not known here")
        found = None
        for a, relation, b in zip(parts, node.ops, parts[1:], strict=False):
            one = m.compare(_COMPARE[type(relation)], a, b)
            found = one if found is None else m.binary("&", found, one)
        return found
    raise Unread("a query with more than comparisons of columns with numbers and texts")
