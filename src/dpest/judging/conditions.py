"""Pre- and postconditions as people write them.

A condition is a Python expression over the inputs (or outputs) of both programs: `x<1>` and `x<2>`,
or `x1` and `x2`; `x1[0]` is an item of a list. Known are comparisons, `and`, `or`, `not`,
`implies(a, b)`, `abs`, `sum`, `len`, `all(… for i in range(n))`, `any(…)`, and lists compared
as wholes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import InputError
from dpest.kernel.forms import ONE, ZERO
from dpest.kernel.judgments.assertions import (
    FALSE,
    TRUE,
    Assertion,
    LinearTerm,
    all_of,
    any_of,
    at_least_zero,
    equal,
    implies,
    negated,
    number,
)

_SIDED = re.compile(r"([A-Za-z_]\w*)\s*[<⟨]\s*([12])\s*[>⟩]")
_Value = LinearTerm | list[LinearTerm] | Callable[..., Any]


def parsed(text: str, names: Mapping[str, LinearTerm | list[LinearTerm]]) -> Assertion:
    """The assertion that a text stands for; `names` are what it may speak of."""
    try:
        tree = ast.parse(_SIDED.sub(r"\1\2", text).strip(), mode="eval").body
    except SyntaxError:
        raise InputError(f"a condition is a Python expression, got {text!r}") from None
    return _ConditionReader(text, names).truth(tree)


class _ConditionReader:
    def __init__(self, text: str, names: Mapping[str, LinearTerm | list[LinearTerm]]) -> None:
        self.text = text
        self.names: dict[str, LinearTerm | list[LinearTerm]] = dict(names)

    def refuse(self, node: ast.AST, why: str) -> Any:
        known = ", ".join(self.names)
        raise InputError(
            f"`{ast.unparse(node)}` in the condition {self.text!r}: {why}; it may speak of {known}"
        )

    def truth(self, node: ast.expr) -> Assertion:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return TRUE if node.value else FALSE
        if isinstance(node, ast.BoolOp):
            join = all_of if isinstance(node.op, ast.And) else any_of
            return join(*(self.truth(part) for part in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negated(self.truth(node.operand))
        if isinstance(node, ast.Compare):
            ends = [node.left, *node.comparators]
            parts = zip(node.ops, ends, ends[1:], strict=False)
            return all_of(*(self._compare(node, op, a, b) for op, a, b in parts))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "implies" and len(node.args) == 2:
                return implies(self.truth(node.args[0]), self.truth(node.args[1]))
            if node.func.id in ("all", "any") and len(node.args) == 1:
                join = all_of if node.func.id == "all" else any_of
                return join(*self._each(node.args[0]))
        return self.refuse(node, "no condition")

    def _each(self, node: ast.expr) -> list[Assertion]:
        if not isinstance(node, ast.GeneratorExp) or len(node.generators) != 1:
            return self.refuse(node, "write `all(… for i in range(n))`")
        loop = node.generators[0]
        if not isinstance(loop.target, ast.Name) or loop.ifs:
            return self.refuse(node, "write `all(… for i in range(n))`")
        call, found = loop.iter, []
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "range"):
            return self.refuse(node, "write `all(… for i in range(n))`")
        ends = [self._whole(a) for a in call.args]
        outer = self.names.get(loop.target.id)
        for i in range(*ends):
            self.names[loop.target.id] = number(Fraction(i))
            found.append(self.truth(node.elt))
        if outer is None:
            self.names.pop(loop.target.id, None)
        else:
            self.names[loop.target.id] = outer
        return found

    def _whole(self, node: ast.expr) -> int:
        found = self.form(node)
        if found.terms or found.constant.denominator != 1:
            return self.refuse(node, "no whole number that is known")
        return int(found.constant)

    def _compare(self, node: ast.expr, op: ast.cmpop, a: ast.expr, b: ast.expr) -> Assertion:
        if isinstance(op, (ast.Eq, ast.NotEq)):
            left, right = self._side(a), self._side(b)
            if isinstance(left, list) and isinstance(right, list):
                if len(left) != len(right):
                    return self.refuse(node, "lists of different lengths")
                same = all_of(*(equal(x, y) for x, y in zip(left, right, strict=True)))
                return same if isinstance(op, ast.Eq) else negated(same)
            if isinstance(left, LinearTerm) and isinstance(right, LinearTerm):
                same = equal(left, right)
                return same if isinstance(op, ast.Eq) else negated(same)
            return self.refuse(node, "a list and a number")
        if isinstance(op, (ast.Gt, ast.GtE)):
            a, b = b, a
        elif not isinstance(op, (ast.Lt, ast.LtE)):
            return self.refuse(node, "an unknown comparison")
        strict = isinstance(op, (ast.Lt, ast.Gt))
        return self._below(a, b, strict)

    def _below(self, small: ast.expr, large: ast.expr, strict: bool) -> Assertion:
        """small ≤ large, where either may be an absolute value."""
        inner = _absolute(small)
        if inner is not None:
            form, bound = self.form(inner), self.form(large)
            below = bound.plus(form, -ONE), bound.plus(form)
            return all_of(*(at_least_zero(f, strict) for f in below))
        inner = _absolute(large)
        if inner is not None:
            form, bound = self.form(inner), self.form(small)
            above = form.plus(bound, -ONE), number(ZERO).plus(form, -ONE).plus(bound, -ONE)
            return any_of(*(at_least_zero(f, strict) for f in above))
        return at_least_zero(self.form(large).plus(self.form(small), -ONE), strict)

    def _side(self, node: ast.expr) -> LinearTerm | list[LinearTerm]:
        if isinstance(node, ast.Name) and isinstance(self.names.get(node.id), list):
            return self.names[node.id]
        if isinstance(node, ast.List):
            return [self.form(e) for e in node.elts]
        return self.form(node)

    def form(self, node: ast.expr) -> LinearTerm:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return number(
                Fraction(repr(node.value))
                if type(node.value) is not bool
                else Fraction(int(node.value))
            )
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            return found if isinstance(found, LinearTerm) else self.refuse(node, "no number")
        if isinstance(node, ast.Subscript):
            items = self._side(node.value)
            place = self._whole(node.slice)
            if not isinstance(items, list) or not -len(items) <= place < len(items):
                return self.refuse(node, "no such item")
            return items[place]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return number(ZERO).plus(self.form(node.operand), -ONE)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            items = self._side(node.args[0])
            if node.func.id == "sum" and isinstance(items, list):
                total = number(ZERO)
                for item in items:
                    total = total.plus(item)
                return total
            if node.func.id == "len" and isinstance(items, list):
                return number(Fraction(len(items)))
        return self.refuse(node, "no linear expression")

    def _arithmetic(self, node: ast.BinOp) -> LinearTerm:
        left, right = self.form(node.left), self.form(node.right)
        if isinstance(node.op, ast.Add):
            return left.plus(right)
        if isinstance(node.op, ast.Sub):
            return left.plus(right, -ONE)
        if isinstance(node.op, ast.Mult) and not right.terms:
            return number(ZERO).plus(left, right.constant)
        if isinstance(node.op, ast.Mult) and not left.terms:
            return number(ZERO).plus(right, left.constant)
        if isinstance(node.op, ast.Div) and not right.terms and right.constant:
            return number(ZERO).plus(left, 1 / right.constant)
        return self.refuse(node, "no linear expression")


def _absolute(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "abs" and len(node.args) == 1:
        return node.args[0]
    return None
