"""Functions of numbers, cell by cell: roots and logarithms, tests for NaN, operators, limits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_nan, is_number
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.registry import (
    FUNCTIONS,
    Handler,
    all_plain,
    as_array,
    entry,
    rows_of,
)
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.values import Rows, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


_MOST_PRODUCTS = 4096  # of one einsum


def _elementwise(op: str, *functions: Any) -> None:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if all_plain(arguments, named) and not any(map(has_unit, arguments)):
            return NotImplemented
        (value,) = given(arguments, named, "x")
        native = functions[0]
        return m.elementwise(lambda x: m.function_of(op, native, x), rows_of(m, value))

    for function in functions:
        FUNCTIONS[function] = handler


_elementwise("sqrt", np.sqrt, math.sqrt)
_elementwise("exp", math.exp)
_elementwise("npexp", np.exp)
_elementwise("tanh", np.tanh, math.tanh)
_elementwise("arctan", np.arctan, math.atan)
_elementwise("sin", np.sin, math.sin)
_elementwise("cos", np.cos, math.cos)
_elementwise("log", math.log, np.log)
_elementwise("log1p", math.log1p, np.log1p)


def _expit() -> None:
    from scipy.special import expit

    _elementwise("expit", expit)


_expit()


@entry(np.sign)
def _sign(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    (value,) = given(arguments, named, "x")
    value = as_array(m, value)
    if not isinstance(value, Rows) and not m.in_pass:
        return m.publicly(np.sign, value)

    def one(x: Any) -> Any:
        if is_nan(x):
            return x
        if m.decide(m.compare(">", x, 0)):
            return 1.0
        return -1.0 if m.decide(m.compare("<", x, 0)) else 0.0

    return m.elementwise(one, value)


@entry(np.square)
def _square(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    return m.binary("**", as_array(m, value), 2)


def _pair(op: str) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if all_plain(arguments, named):
            return NotImplemented
        a, b = (as_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.elementwise(lambda x, y: m.extreme(op, [x, y]), a, b)

    return handler


FUNCTIONS[np.minimum] = _pair("min")
FUNCTIONS[np.maximum] = _pair("max")


def _pair_of_numbers(op: str) -> Handler:
    """np.fmin and np.fmax: NaN is left out."""

    def one(m: ContributionMachine, x: Any, y: Any) -> Any:
        numbers = [v for v in (x, y) if not is_nan(v)]
        return m.extreme(op, numbers) if numbers else math.nan

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if all_plain(arguments, named):
            return NotImplemented
        a, b = (as_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.elementwise(lambda x, y: one(m, x, y), a, b)

    return handler


FUNCTIONS[np.fmin] = _pair_of_numbers("min")
FUNCTIONS[np.fmax] = _pair_of_numbers("max")


def _nan_test(on_nan: bool, *functions: Any) -> None:
    """A test for NaN: a form is a finite number."""

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if all_plain(arguments, named):
            return NotImplemented
        (value,) = given(arguments, named, "x")

        def one(x: Any) -> bool:
            if not isinstance(x, SymbolicForm) and not is_number(x):
                raise Unread("a test for NaN of a value that is no number")
            return is_nan(x) == on_nan

        return m.elementwise(one, as_array(m, value))

    for function in functions:
        FUNCTIONS[function] = handler


_nan_test(True, np.isnan, math.isnan)
_nan_test(False, np.isfinite, math.isfinite)


@entry(np.nan_to_num)
def _nan_to_num(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    value, _, nan = given(arguments, named, "x", "copy", "nan", copy=True, nan=0.0)
    if not is_number(nan):
        raise Unread("NaN that is replaced by something that is not plain")
    return m.elementwise(lambda x: nan if is_nan(x) else x, as_array(m, value))


def _operator(op: str) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        a, b = (as_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.binary(op, a, b)

    return handler


for _function, _op in (
    (np.add, "+"), (np.subtract, "-"), (np.multiply, "*"), (np.divide, "/"), (np.matmul, "@"),
    (np.logical_and, "&"), (np.logical_or, "|"),
):  # fmt: skip
    FUNCTIONS[_function] = _operator(_op)


@entry(np.logical_not)
def _logical_not(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    (value,) = given(arguments, named, "x")
    return m.elementwise(lambda t: not m.decide(t), as_array(m, value))


@entry(np.isin)
def _isin(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    value, values = given(arguments, named, "element", "test_elements")
    known = m.listed(values)
    if not all(isinstance(v, str) or is_number(v) for v in known):
        raise Unread("np.isin of values that are not plain")
    return m.elementwise(
        lambda x: any(m.decide(m.compare("==", x, v)) for v in known), as_array(m, value)
    )


@entry(np.interp)
def _interp(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    """np.interp: straight between public points that go up, and level outside of them."""
    if all_plain(arguments, named):
        return NotImplemented
    value, xs, ys = given(arguments, named, "x", "xp", "fp")
    points = list(zip(m.listed(xs), m.listed(ys), strict=True))
    plain = all(is_number(c) for point in points for c in point)
    if not plain or not points or any(b[0] <= a[0] for a, b in itertools.pairwise(points)):
        raise Unread("np.interp between points that are not plain, or don't go up")

    def one(x: Any) -> Any:
        if is_nan(x):
            return x
        if m.decide(m.compare("<=", x, points[0][0])):
            return float(points[0][1])
        for (a, c), (b, d) in itertools.pairwise(points):
            if m.decide(m.compare("<=", x, b)):
                slope = Fraction(d - c) / Fraction(b - a)
                part = m.binary("-", m.form(x), a)
                return m.binary("+", m.form(part).times(slope), c)
        return float(points[-1][1])

    return m.elementwise(one, as_array(m, value))


@entry(np.dot, np.inner, np.vdot)
def _dot(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    a, b = (as_array(m, v) for v in given(arguments, named, "a", "b"))
    if is_number(a) or is_number(b) or isinstance(a, SymbolicForm) or isinstance(b, SymbolicForm):
        return m.binary("*", a, b)
    return m.binary("@", a, b)


@entry(np.outer)
def _outer(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    a, b = (as_array(m, v) for v in given(arguments, named, "a", "b"))
    if not all(isinstance(v, SmallArray) and len(v.shape) == 1 for v in (a, b)):
        raise Unread("an outer product of other than two short lists of numbers")
    cells = [m.mixed("*", x, y) for x in a.cells for y in b.cells]
    return SmallArray((len(a.cells), len(b.cells)), cells)


@entry(np.einsum)
def _einsum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    """np.einsum("ni,nj->ij", X, Y): sums over the records, or a row for each of them."""
    if all_plain(arguments, named):
        return NotImplemented
    text, *values = arguments
    operands = [as_array(m, v) for v in values]
    if named or not isinstance(text, str) or "->" not in text or "." in text:
        raise Unread("einsum whose subscripts are not written out")
    before, after = text.replace(" ", "").split("->")
    names = before.split(",")
    if len(names) != len(operands):
        raise Unread("einsum of another number of arrays")
    per = {n[:1] for n, v in zip(names, operands, strict=True) if isinstance(v, Rows)}
    inner = [n[1:] if isinstance(v, Rows) else n for n, v in zip(names, operands, strict=True)]
    if not per:
        return _contracted(m, inner, after, operands)
    (record, *others) = per
    if others or not record or any(record in n for n in inner) or record in after[1:]:
        raise Unread("einsum of the data along other axes than that of the records")
    of_each = after.startswith(record)
    rows = m.per_record(
        lambda *parts: _contracted(m, inner, after[of_each:], list(parts)), *operands
    )
    return rows if of_each else m.sum_rows(rows)


def _contracted(m: ContributionMachine, names: list[str], after: str, operands: list[Any]) -> Any:
    """einsum of small arrays: Σ of products."""
    sizes: dict[str, int] = {}
    for name, value in zip(names, operands, strict=True):
        shape = value.shape if isinstance(value, SmallArray) else ()
        if len(shape) != len(name) or any(
            sizes.setdefault(c, k) != k for c, k in zip(name, shape, strict=True)
        ):
            raise Unread("einsum of arrays whose shapes don't fit")
    summed = [c for c in sizes if c not in after]
    if not set(after) <= set(sizes) or len(set(after)) < len(after):
        raise Unread("einsum whose subscripts are not understood")
    if math.prod(sizes.values()) > _MOST_PRODUCTS:
        raise Unread("einsum of large arrays")
    cells = []
    for outer in itertools.product(*(range(sizes[c]) for c in after)):
        total: Any = 0
        for place in itertools.product(*(range(sizes[c]) for c in summed)):
            at = dict(zip([*after, *summed], (*outer, *place), strict=True))
            one: Any = 1
            for name, value in zip(names, operands, strict=True):
                one = m.mixed("*", one, _cell(value, [at[c] for c in name]))
            total = m.mixed("+", total, one)
        cells.append(total)
    return SmallArray(tuple(sizes[c] for c in after), cells) if after else cells[0]


def _cell(value: Any, place: list[int]) -> Any:
    if not isinstance(value, SmallArray):
        return value
    return value.cells[int(np.ravel_multi_index(place, value.shape))]


@entry(np.clip)
def _clip(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    names = {"min": "a_min", "max": "a_max"}
    named = {names.get(k, k): v for k, v in named.items()}
    value, low, high = given(arguments, named, "a", "a_min", "a_max", a_min=None, a_max=None)
    return clipped(m, as_array(m, value), low, high)


def clipped(m: ContributionMachine, value: Any, low: Any, high: Any) -> Any:
    ends = [as_array(m, e) for e in (low, high)]
    if ends[0] is None or ends[1] is None:
        return m.elementwise(lambda x: m.clip(x, *ends), value)
    return m.elementwise(m.clip, value, *ends)


@entry(math.hypot, np.hypot)
def _hypot(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    if any(isinstance(a, (Rows, SmallArray)) for a in arguments) or named:
        raise Unread("hypot of arrays")
    return m.terms.norm([m.local(m.form(c)) for c in arguments])


@entry(np.select)
def _select(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    """np.select: the choice of the first condition that holds."""
    conditions, choices, default = given(
        arguments, named, "condlist", "choicelist", "default", default=0
    )
    truths, values = m.listed(conditions), m.listed(choices)
    if len(truths) != len(values) or not truths:
        raise Unread("np.select of other than a choice for each condition")
    found = default
    for truth, value in zip(reversed(truths), reversed(values), strict=True):
        found = m.call(np.where, [truth, value, found], {})
    return found


@entry(np.where)
def _where(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    truth, a, b = (as_array(m, v) for v in given(arguments, named, "condition", "x", "y"))
    return m.elementwise(lambda t, x, y: x if m.decide(t) else y, truth, a, b)
