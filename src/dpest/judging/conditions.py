"""Pre- and postconditions as people write them.

A condition is a Python expression over the inputs (or outputs) of both programs: `x<1>` and `x<2>`,
or `x1` and `x2`; `x1[0]` is an item of a list. Known are comparisons, `and`, `or`, `not`,
`implies(a, b)`, `abs`, `sum`, `len`, `all(… for i in range(n))`, `any(…)`, and lists and outputs
compared as wholes (see outputs.py).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import InputError
from dpest.judging.outputs import OutputTerm
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
Named = LinearTerm | list[LinearTerm] | OutputTerm
"""What a condition may speak of: a number, a list of numbers, or what a program returns."""


@dataclass(frozen=True)
class _Written:
    """A list or tuple: one that is written out, or a list of inputs."""

    items: list[LinearTerm]
    container: str


def parsed(text: str, names: Mapping[str, Named]) -> Assertion:
    """The assertion that a text stands for; `names` are what it may speak of."""
    try:
        tree = ast.parse(_SIDED.sub(r"\1\2", text).strip(), mode="eval").body
    except SyntaxError:
        raise InputError(f"a condition is a Python expression, got {text!r}") from None
    return _ConditionReader(text, names).truth(tree)


class _ConditionReader:
    def __init__(self, text: str, names: Mapping[str, Named]) -> None:
        self.text = text
        self.names: dict[str, Named] = dict(names)

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
            same = self._equal(node, self._side(a), self._side(b))
            return same if isinstance(op, ast.Eq) else negated(same)
        if isinstance(op, (ast.Gt, ast.GtE)):
            a, b = b, a
        elif not isinstance(op, (ast.Lt, ast.LtE)):
            return self.refuse(node, "an unknown comparison")
        strict = isinstance(op, (ast.Lt, ast.Gt))
        return self._below(a, b, strict)

    def _equal(
        self,
        node: ast.expr,
        left: LinearTerm | _Written | OutputTerm,
        right: LinearTerm | _Written | OutputTerm,
    ) -> Assertion:
        if isinstance(left, OutputTerm) and isinstance(right, OutputTerm):
            return left.is_output(right)
        if isinstance(left, OutputTerm) or isinstance(right, OutputTerm):
            return self._output_is(node, left, right)
        if isinstance(left, _Written) and isinstance(right, _Written):
            if left.container != right.container or len(left.items) != len(right.items):
                return self.refuse(node, "lists of different lengths, or a list and a tuple")
            return all_of(*(equal(x, y) for x, y in zip(left.items, right.items, strict=True)))
        if isinstance(left, LinearTerm) and isinstance(right, LinearTerm):
            return equal(left, right)
        return self.refuse(node, "a list and a number")

    def _output_is(
        self,
        node: ast.expr,
        left: LinearTerm | _Written | OutputTerm,
        right: LinearTerm | _Written | OutputTerm,
    ) -> Assertion:
        output, value = (left, right) if isinstance(left, OutputTerm) else (right, left)
        assert isinstance(output, OutputTerm)
        if isinstance(value, _Written):
            found = output.is_sequence(value.items, value.container)
        else:
            assert isinstance(value, LinearTerm)
            found = output.is_number(value)
        return self.refuse(node, f"the output is {output}") if found is None else found

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

    def _side(self, node: ast.expr) -> LinearTerm | _Written | OutputTerm:
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            if isinstance(found, OutputTerm):
                return found
            return _Written(found, "list") if isinstance(found, list) else self.form(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            container = "list" if isinstance(node, ast.List) else "tuple"
            return _Written([self.form(e) for e in node.elts], container)
        return self.form(node)

    def _items(self, node: ast.expr) -> list[LinearTerm]:
        found = self._side(node)
        if isinstance(found, OutputTerm):
            items = found.items
            return self.refuse(node, f"the output is {found}") if items is None else items
        if isinstance(found, _Written):
            return found.items
        return self.refuse(node, "no list")

    def _length(self, node: ast.expr) -> int:
        found = self._side(node)
        if not isinstance(found, OutputTerm):
            return len(self._items(node))
        size = found.length
        return self.refuse(node, f"the output is {found}") if size is None else size

    def _item(self, node: ast.Subscript) -> LinearTerm:
        found, place = self._side(node.value), self._whole(node.slice)
        if isinstance(found, OutputTerm):
            item = found.item(place)
            if item is None:
                return self.refuse(node, f"no number that is always there: the output is {found}")
            return item
        items = self._items(node.value)
        if not -len(items) <= place < len(items):
            return self.refuse(node, "no such item")
        return items[place]

    def form(self, node: ast.expr) -> LinearTerm:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return number(
                Fraction(repr(node.value))
                if type(node.value) is not bool
                else Fraction(int(node.value))
            )
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            if isinstance(found, OutputTerm):
                value = found.number
                return self.refuse(node, f"the output is {found}") if value is None else value
            return found if isinstance(found, LinearTerm) else self.refuse(node, "no number")
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return number(ZERO).plus(self.form(node.operand), -ONE)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            if node.func.id == "sum":
                total = number(ZERO)
                for item in self._items(node.args[0]):
                    total = total.plus(item)
                return total
            if node.func.id == "len":
                return number(Fraction(self._length(node.args[0])))
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
