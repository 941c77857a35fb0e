"""Expressions of a translated function: linear numbers, tests, lists of known length, draws."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

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
    negated,
    number,
    variable,
)
from dpest.kernel.judgments.programs import (
    Assign,
    DrawStatement,
    Family,
    If,
    StatedNoise,
    Statement,
)
from dpest.reading.programs.values import (
    BOOL,
    FLOAT,
    INT,
    NUMPY_BOOL,
    NUMPY_FLOAT,
    NUMPY_INT,
    OTHER,
    Apply,
    Product,
    ProgramConstant,
    ProgramGenerator,
    ProgramNumber,
    ProgramState,
    ProgramTruth,
    Quotient,
    Sequence_,
    Value,
    compared,
    divided,
    integer,
    joined,
    of_variable,
    plain_value,
    plus,
    scaled,
)

_DRAWS: dict[str, tuple[Family, tuple[str, ...]]] = {
    "laplace": ("laplace", ("loc", "scale", "size")),
    "normal": ("gaussian", ("loc", "scale", "size")),
    "exponential": ("exponential", ("scale", "size")),
}
_COINS = ("random", "uniform")
_NUMPY_KINDS = {
    INT: NUMPY_INT,
    FLOAT: NUMPY_FLOAT,
    NUMPY_INT: NUMPY_INT,
    NUMPY_FLOAT: NUMPY_FLOAT,
}


class ProgramExpressions:
    """Reads expressions; draws and choices inside of them become statements before."""

    def __init__(self, products: bool = False, curves: bool = False) -> None:
        self._count = itertools.count(1)
        self._first = 1
        self._products = products
        self._curves = curves

    def refuse(self, node: ast.AST, what: str, advice: str = "") -> Any:
        raise NotImplementedError

    def _unknown(self, node: ast.AST) -> NoReturn:
        self.refuse(node, f"`{ast.unparse(node)}` is not known to judgments")
        raise AssertionError

    def fresh(self, state: ProgramState) -> str:
        return state.memory(f"_{next(self._count)}")

    def value(self, node: ast.expr, state: ProgramState, before: list[Statement]) -> Value:
        if isinstance(node, ast.Constant):
            return plain_value(node.value)
        if isinstance(node, ast.Name):
            return self._name(node, state)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = tuple(self.value(e, state, before) for e in node.elts)
            is_list = isinstance(node, ast.List)
            return Sequence_(items, "list" if is_list else "tuple", is_list)
        if isinstance(node, ast.BinOp):
            left = self.value(node.left, state, before)
            return self._binary(node, left, self.value(node.right, state, before), before)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found = self.number(node.operand, state, before)
            return scaled(found, -ONE, joined(found.kind, INT))
        if isinstance(node, (ast.Compare, ast.BoolOp)) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            return self.truth(node, state, before)
        if isinstance(node, ast.Subscript):
            return self._item(node, state, before)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self._name(node.value, state)
            if isinstance(owner, ProgramConstant) and owner.value in (np, math):
                return ProgramConstant(getattr(owner.value, node.attr, None))
        if isinstance(node, ast.IfExp):
            return self._choice(node, state, before)
        if isinstance(node, ast.Call):
            return self._call(node, state, before)
        self._unknown(node)

    def _name(self, node: ast.Name, state: ProgramState) -> Value:
        if node.id in state.names:
            return state.names[node.id]
        if node.id not in state.globals:
            self.refuse(node, f"{node.id} may not have a value here", "Give it one before.")
        return plain_value(state.globals[node.id])

    def number(self, node: ast.expr, state: ProgramState, before: list[Statement]) -> ProgramNumber:
        found = self.value(node, state, before)
        return self.as_number(found, node, before, state)

    def as_number(
        self, found: Value, node: ast.expr, before: list[Statement], state: ProgramState
    ) -> ProgramNumber:
        if isinstance(found, ProgramNumber):
            return found
        if isinstance(found, ProgramTruth):
            if found.test in (TRUE, FALSE):
                return ProgramNumber(number(ONE if found.test == TRUE else ZERO), found.kind)
            name = self.fresh(state)
            then, other = Assign(name, number(ONE)), Assign(name, number(ZERO))
            before.append(If(found.test, (then,), (other,)))
            return of_variable(name, found.kind)
        return self.refuse(node, f"`{ast.unparse(node)}` is no number")

    def constant(self, node: ast.expr, state: ProgramState) -> Fraction:
        before: list[Statement] = []
        found = self.number(node, state, before).constant
        if found is None or before:
            self.refuse(node, f"`{ast.unparse(node)}` must be a known number")
        assert found is not None
        return found

    def _binary(self, node: ast.BinOp, left: Value, right: Value, before: list[Statement]) -> Value:
        arrays = [v for v in (left, right) if isinstance(v, Sequence_)]
        if arrays:
            return self._elementwise(node, left, right, before)
        if not isinstance(left, ProgramNumber) or not isinstance(right, ProgramNumber):
            self._unknown(node)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            found = plus(left, right, ONE if isinstance(node.op, ast.Add) else -ONE)
            return _centred(found, before)
        kind = joined(left.kind, right.kind)
        if isinstance(node.op, ast.Mult) and right.constant is not None:
            return scaled(left, right.constant, kind)
        if isinstance(node.op, ast.Mult) and left.constant is not None:
            return scaled(right, left.constant, kind)
        if isinstance(node.op, ast.Div) and right.constant:
            return scaled(left, 1 / right.constant, divided(left.kind, right.kind))
        if (self._curves and left.constant is None) or right.constant is None:
            found_curve = self._curved(node.op, left, right, before)
            if found_curve is not None:
                return found_curve
        if self._products and isinstance(node.op, ast.Mult):
            return self._product(left, right, before)
        if self._products and isinstance(node.op, ast.Pow) and right.constant in (2, 3, 4):
            found = left
            for _ in range(int(right.constant) - 1):
                found = self._product(found, left, before)
            return found
        if isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Pow)):
            return self._of_constants(node, left, right)
        return self.refuse(
            node, f"`{ast.unparse(node)}` is not linear", "One factor must be known."
        )

    def _curved(
        self, op: ast.operator, left: ProgramNumber, right: ProgramNumber, before: list[Statement]
    ) -> ProgramNumber | None:
        """Quotients and powers, which are not linear."""
        name = f"_{next(self._count)}"
        statements: list[Any] = before
        if not self._curves:
            return None
        if isinstance(op, ast.Div) and right.constant is None:
            statements.append(Quotient(name, left.form, right.form))
        elif isinstance(op, ast.Pow) and right.constant is not None and left.constant is None:
            statements.append(Apply(name, "power", left.form, right.constant))
        else:
            return None
        return of_variable(name, joined(joined(left.kind, right.kind), FLOAT))

    def applied(
        self, function: str, found: ProgramNumber, before: list[Statement]
    ) -> ProgramNumber | None:
        """exp, log or sqrt of a number, where curves may be read."""
        if not self._curves or found.constant is not None:
            return None
        name = f"_{next(self._count)}"
        statements: list[Any] = before
        exponent = Fraction(1, 2) if function == "sqrt" else None
        kind = "power" if function == "sqrt" else function
        statements.append(Apply(name, kind, found.form, exponent))
        return of_variable(name, joined(found.kind, FLOAT))

    def _product(
        self, left: ProgramNumber, right: ProgramNumber, before: list[Statement]
    ) -> ProgramNumber:
        name = f"_{next(self._count)}"
        statements: list[Any] = before
        statements.append(Product(name, left.form, right.form))
        return of_variable(name, joined(left.kind, right.kind))

    def _of_constants(
        self, node: ast.BinOp, left: ProgramNumber, right: ProgramNumber
    ) -> ProgramNumber:
        one, two = left.constant, right.constant
        whole = left.kind == right.kind == INT
        if one is None or two is None or not whole or (two <= 0):
            self.refuse(node, f"`{ast.unparse(node)}` is not linear")
        assert one is not None
        assert two is not None
        if isinstance(node.op, ast.Pow):
            return integer(int(one) ** int(two))
        return integer(int(one // two) if isinstance(node.op, ast.FloorDiv) else int(one % two))

    def _elementwise(
        self, node: ast.BinOp, left: Value, right: Value, before: list[Statement]
    ) -> Value:
        """NumPy's arithmetic; a plain list on both sides would mean something else."""
        both = [v for v in (left, right) if isinstance(v, Sequence_)]
        if not any(v.kind == "array" for v in both):
            self._unknown(node)
        size = len(both[0].items)
        parts = [v.items if isinstance(v, Sequence_) else (v,) * size for v in (left, right)]
        if len(parts[0]) != len(parts[1]):
            self.refuse(node, "arrays of different lengths")
        pairs = zip(*parts, strict=True)
        found: list[Value] = []
        for one, two in pairs:
            place = _drawn_at(two, before) if isinstance(node.op, ast.Add) else None
            if (
                place is not None
                and isinstance(one, ProgramNumber)
                and isinstance(two, ProgramNumber)
            ):
                draw = before[place]
                assert isinstance(draw, DrawStatement)
                before[place] = DrawStatement(draw.name, draw.centre.plus(one.form), draw.noise)
                found.append(ProgramNumber(two.form, joined(one.kind, two.kind)))
            else:
                found.append(self._binary(node, one, two, before))
        return Sequence_(tuple(found), "array")

    def _item(self, node: ast.Subscript, state: ProgramState, before: list[Statement]) -> Value:
        found = self.value(node.value, state, before)
        if not isinstance(found, Sequence_) or isinstance(node.slice, ast.Slice):
            self._unknown(node)
        place = self.constant(node.slice, state)
        if place.denominator != 1 or not -len(found.items) <= place < len(found.items):
            self.refuse(node, f"there is no item {place}")
        return found.items[int(place)]

    def _choice(self, node: ast.IfExp, state: ProgramState, before: list[Statement]) -> Value:
        test = self.test(node.test, state, before)
        if test in (TRUE, FALSE):
            return self.value(node.body if test == TRUE else node.orelse, state, before)
        name = self.fresh(state)
        ways: list[tuple[ProgramNumber, list[Statement]]] = []
        for part in (node.body, node.orelse):
            inside: list[Statement] = []
            ways.append((self.number(part, state, inside), inside))
        (one, then), (two, other) = ways
        if one.kind != two.kind:
            self.refuse(node, f"{one.kind} or {two.kind}", "Use one type.")
        then.append(Assign(name, one.form))
        other.append(Assign(name, two.form))
        before.append(If(test, tuple(then), tuple(other)))
        return of_variable(name, one.kind)

    # Tests

    def test(self, node: ast.expr, state: ProgramState, before: list[Statement]) -> Assertion:
        return self.truth(node, state, before).test

    def truth(self, node: ast.expr, state: ProgramState, before: list[Statement]) -> ProgramTruth:
        """Whether a value counts as true; its kind is that of the value."""
        if isinstance(node, ast.BoolOp):
            # Python stops at the first that decides; a draw there would not be made always.
            first, rest = node.values[0], node.values[1:]
            found = [self.truth(first, state, before)]
            for part in rest:
                inside: list[Statement] = []
                found.append(self.truth(part, state, inside))
                if inside:
                    self.refuse(part, "noise or a choice inside of `and`/`or`", "Draw before.")
            join = all_of if isinstance(node.op, ast.And) else any_of
            return ProgramTruth(join(*(f.test for f in found)), _one_kind(found))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ProgramTruth(negated(self.test(node.operand, state, before)))
        if isinstance(node, ast.Compare):
            return self._compare(node, state, before)
        found_value = self.value(node, state, before)
        if isinstance(found_value, ProgramTruth):
            return found_value
        if isinstance(found_value, ProgramNumber):
            boolean = found_value.kind in (BOOL, NUMPY_BOOL)
            test = negated(equal(found_value.form, number(ZERO)))
            return ProgramTruth(test, found_value.kind if boolean else OTHER)
        if isinstance(found_value, ProgramConstant) and not isinstance(
            found_value.value, ProgramGenerator
        ):
            return ProgramTruth(TRUE if found_value.value else FALSE, OTHER)
        return self.refuse(node, f"`{ast.unparse(node)}` is no test")

    def _compare(
        self, node: ast.Compare, state: ProgramState, before: list[Statement]
    ) -> ProgramTruth:
        coin = self._coin(node, state, before)
        if coin is not None:
            return coin
        operands = [self.value(e, state, before) for e in (node.left, *node.comparators)]
        found: list[ProgramTruth] = []
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            if isinstance(op, (ast.Is, ast.IsNot)) or isinstance(right, ProgramConstant):
                found.append(ProgramTruth(self._identity(node, op, left, right)))
                continue
            one = self.as_number(left, node, before, state)
            two = self.as_number(right, node, before, state)
            test = self._order(node, op, one.form, two.form)
            found.append(ProgramTruth(test, compared(one.kind, two.kind)))
        return ProgramTruth(all_of(*(f.test for f in found)), _one_kind(found))

    def _order(
        self, node: ast.Compare, op: ast.cmpop, one: LinearTerm, two: LinearTerm
    ) -> Assertion:
        if isinstance(op, (ast.Lt, ast.LtE)):
            return at_least_zero(two.plus(one, -ONE), isinstance(op, ast.Lt))
        if isinstance(op, (ast.Gt, ast.GtE)):
            return at_least_zero(one.plus(two, -ONE), isinstance(op, ast.Gt))
        if isinstance(op, ast.Eq):
            return equal(one, two)
        if isinstance(op, ast.NotEq):
            return negated(equal(one, two))
        self._unknown(node)

    def _identity(self, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Assertion:
        """`x is None` and comparisons of texts: decided here."""
        if not isinstance(right, ProgramConstant) or not isinstance(right.value, (str, type(None))):
            self._unknown(node)
        same = isinstance(left, ProgramConstant) and left.value == right.value
        if isinstance(op, (ast.Eq, ast.Is)):
            return TRUE if same else FALSE
        if isinstance(op, (ast.NotEq, ast.IsNot)):
            return FALSE if same else TRUE
        self._unknown(node)

    def _coin(
        self, node: ast.Compare, state: ProgramState, before: list[Statement]
    ) -> ProgramTruth | None:
        """`rng.random() < p`: a coin that shows 1 with chance p."""
        call = node.left
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            return None
        if not self._is_generator(call.func.value, state) or call.func.attr not in _COINS:
            return None
        if call.args or call.keywords or len(node.ops) != 1:
            self._unknown(node)
        chance = self.constant(node.comparators[0], state)
        kind = compared(FLOAT, self.number(node.comparators[0], state, []).kind)
        if not 0 <= chance <= 1:
            self.refuse(node, f"{chance} is no chance")
        if not isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            self._unknown(node)
        name = self.fresh(state)
        before.append(DrawStatement(name, number(ZERO), StatedNoise("bernoulli", chance)))
        below = at_least_zero(variable(name).plus(number(Fraction(1, 2)), -ONE))
        is_below = isinstance(node.ops[0], (ast.Lt, ast.LtE))
        return ProgramTruth(below if is_below else negated(below), kind)

    def _is_generator(self, node: ast.expr, state: ProgramState) -> bool:
        found = state.names.get(node.id) if isinstance(node, ast.Name) else None
        return isinstance(found, ProgramConstant) and isinstance(found.value, ProgramGenerator)

    # Calls

    def _call(self, node: ast.Call, state: ProgramState, before: list[Statement]) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_generator(function.value, state):
            return self._draw(node, function.attr, state, before)
        if node.keywords:
            self._unknown(node)
        target = self.value(function, state, before)
        known = target.value if isinstance(target, ProgramConstant) else None
        arguments = [self.value(a, state, before) for a in node.args]
        rule = _FUNCTIONS.get(known) if callable(known) else None
        found = rule(self, node, arguments, before, state) if rule is not None else None
        if found is None:
            self._unknown(node)
        return found

    def _draw(
        self, node: ast.Call, method: str, state: ProgramState, before: list[Statement]
    ) -> Value:
        if method not in _DRAWS:
            self._unknown(node)
        family, order = _DRAWS[method]
        given: dict[str, ast.expr] = dict(zip(order, node.args, strict=False))
        given.update({k.arg: k.value for k in node.keywords if k.arg})
        if len(given) != len(node.args) + len(node.keywords) or not given.keys() <= set(order):
            self._unknown(node)
        size = self.constant(given["scale"], state) if "scale" in given else ONE
        centre = self.number(given["loc"], state, before).form if "loc" in given else number(ZERO)
        if size <= 0:
            self.refuse(node, "noise of no size", "Give a positive scale.")
        count = self.constant(given["size"], state) if "size" in given else None
        if count is None:
            name = self.fresh(state)
            before.append(DrawStatement(name, centre, StatedNoise(family, size)))
            return of_variable(name, FLOAT)
        items = []
        for _ in range(int(count)):
            name = self.fresh(state)
            before.append(DrawStatement(name, centre, StatedNoise(family, size)))
            items.append(of_variable(name, NUMPY_FLOAT))
        return Sequence_(tuple(items), "array")


def _one_kind(found: list[ProgramTruth]) -> str:
    """`and`, `or` and chains give one of their parts."""
    kinds = {truth.kind for truth in found}
    return kinds.pop() if len(kinds) == 1 else OTHER


def _drawn_at(value: Value, before: list[Statement]) -> int | None:
    """Where the noise that a value is was drawn, with nothing but draws since."""
    for place in range(len(before) - 1, -1, -1):
        draw = before[place]
        if not isinstance(draw, DrawStatement):
            return None
        if isinstance(value, ProgramNumber) and value.form == variable(draw.name):
            return place
    return None


def _centred(found: ProgramNumber, before: list[Statement]) -> ProgramNumber:
    """q + noise, drawn just now, is noise around q."""
    last = before[-1] if before else None
    if not isinstance(last, DrawStatement) or found.form.terms.get(last.name) != 1:
        return found
    if last.noise.family == "bernoulli" or (len(found.form.terms) == 1 and not found.form.constant):
        return found
    rest = found.form.plus(variable(last.name), -ONE)
    before[-1] = DrawStatement(last.name, last.centre.plus(rest), last.noise)
    return of_variable(last.name, found.kind)


_Rule = Callable[
    [ProgramExpressions, ast.Call, list[Value], list[Statement], ProgramState], Value | None
]


def _len(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    if len(given) == 1 and isinstance(given[0], Sequence_):
        return integer(len(given[0].items))
    return None


def _range(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    ends = [v.constant for v in given if isinstance(v, ProgramNumber) and v.kind == INT]
    if len(ends) != len(given) or not ends or None in ends:
        return None
    whole = [int(e) for e in ends if e is not None]
    return Sequence_(tuple(integer(i) for i in range(*whole)), "range")


def _enumerate(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    if len(given) != 1 or not isinstance(given[0], Sequence_):
        return None
    pairs = (Sequence_((integer(i), v), "tuple") for i, v in enumerate(given[0].items))
    return Sequence_(tuple(pairs), "list")


def _zip(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    lists = [v.items for v in given if isinstance(v, Sequence_)]
    if len(lists) != len(given):
        return None
    rows = zip(*lists, strict=False)
    return Sequence_(tuple(Sequence_(tuple(row), "tuple") for row in rows), "list")


def _sum(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    if len(given) != 1 or not isinstance(given[0], Sequence_):
        return None
    total = integer(0)
    for item in given[0].items:
        if not isinstance(item, ProgramNumber):
            return None
        total = plus(total, item)
    return total


def _as_array(_: ProgramExpressions, __: ast.Call, given: list[Value], *rest: Any) -> Value | None:
    if len(given) != 1 or not isinstance(given[0], Sequence_):
        return None
    items = []
    for item in given[0].items:
        if not isinstance(item, ProgramNumber) or item.kind not in _NUMPY_KINDS:
            return None
        kind = _NUMPY_KINDS[item.kind]
        items.append(ProgramNumber(item.form, kind))
    return Sequence_(tuple(items), "array") if len({i.kind for i in items}) == 1 else None


def _abs(
    reader: ProgramExpressions,
    node: ast.Call,
    given: list[Value],
    before: list[Statement],
    state: ProgramState,
) -> Value | None:
    if len(given) != 1 or not isinstance(given[0], ProgramNumber):
        return None
    found, name = given[0], reader.fresh(state)
    minus = number(ZERO).plus(found.form, -ONE)
    then, other = Assign(name, minus), Assign(name, found.form)
    before.append(If(at_least_zero(minus, True), (then,), (other,)))
    return of_variable(name, INT if found.kind == BOOL else found.kind)


def _extreme(sign: Fraction, numpy: bool = False) -> _Rule:
    def rule(
        reader: ProgramExpressions,
        node: ast.Call,
        given: list[Value],
        before: list[Statement],
        state: ProgramState,
    ) -> Value | None:
        items = (
            list(given[0].items) if len(given) == 1 and isinstance(given[0], Sequence_) else given
        )
        numbers = [v for v in items if isinstance(v, ProgramNumber)]
        if len(numbers) != len(items) or not items or len({v.kind for v in numbers}) > 1:
            return None
        name = reader.fresh(state)
        before.append(Assign(name, numbers[0].form))
        for item in numbers[1:]:
            above = number(ZERO).plus(item.form.plus(variable(name), -ONE), sign)
            before.append(If(at_least_zero(above, True), (Assign(name, item.form),), ()))
        kind = numbers[0].kind
        if numpy:
            if kind not in _NUMPY_KINDS:
                return None
            kind = _NUMPY_KINDS[kind]
        return of_variable(name, kind)

    return rule


def _argmax(
    reader: ProgramExpressions,
    node: ast.Call,
    given: list[Value],
    before: list[Statement],
    state: ProgramState,
) -> Value | None:
    if len(given) != 1 or not isinstance(given[0], Sequence_) or not given[0].items:
        return None
    numbers = [v for v in given[0].items if isinstance(v, ProgramNumber)]
    if len(numbers) != len(given[0].items):
        return None
    best, place = reader.fresh(state), reader.fresh(state)
    before += [Assign(best, numbers[0].form), Assign(place, number(ZERO))]
    for i, item in enumerate(numbers[1:], 1):
        larger = (Assign(best, item.form), Assign(place, number(Fraction(i))))
        before.append(If(at_least_zero(item.form.plus(variable(best), -ONE), True), larger, ()))
    return of_variable(place, NUMPY_INT)


def _curve(function: str, numpy: bool = False) -> _Rule:
    def rule(
        reader: ProgramExpressions,
        node: ast.Call,
        given: list[Value],
        before: list[Statement],
        state: ProgramState,
    ) -> Value | None:
        if len(given) != 1 or not isinstance(given[0], ProgramNumber):
            return None
        found = reader.applied(function, given[0], before)
        return None if found is None else ProgramNumber(found.form, NUMPY_FLOAT if numpy else FLOAT)

    return rule


_FUNCTIONS: dict[Any, _Rule] = {
    math.exp: _curve("exp"),
    math.log: _curve("log"),
    math.sqrt: _curve("sqrt"),
    np.exp: _curve("exp", True),
    np.log: _curve("log", True),
    np.sqrt: _curve("sqrt", True),
    len: _len,
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    sum: _sum,
    abs: _abs,
    max: _extreme(ONE),
    min: _extreme(-ONE),
    np.max: _extreme(ONE, True),
    np.min: _extreme(-ONE, True),
    np.asarray: _as_array,
    np.array: _as_array,
    np.argmax: _argmax,
}
