"""Functions of NumPy: element by element, sums and extremes, orders, tests."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains import arithmetic
from dpest.reading.domains.arithmetic import conjunction_of, disjunction_of, is_symbolic
from dpest.reading.domains.numbers import NUMPY_FLOAT, Real, Truth, as_number, kinds_of
from dpest.reading.machine import operators
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array
from dpest.reading.table.iterating import extreme_of, extreme_place
from dpest.reading.table.numpy_arrays import _as_array, array, astype
from dpest.reading.table.registry import TABLE, entry, native

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

native(f for f in vars(np).values() if isinstance(f, np.ufunc))
native(
    [
        *(np.sum, np.mean, np.max, np.min, np.amax, np.amin, np.argmax, np.argmin, np.any, np.all),
        *(np.cumsum, np.prod, np.std, np.var, np.median, np.clip, np.round, np.around, np.where),
        *(np.dot, np.inner, np.outer, np.argsort, np.sort, np.unique, np.histogram, np.bincount),
        *(np.percentile, np.quantile, np.diff, np.cumprod, np.count_nonzero, np.isclose),
        *(np.allclose, np.array_equal, np.searchsorted, np.digitize, np.average, np.ptp),
        *(np.flatnonzero, np.nonzero, np.argwhere, np.isin, np.interp, np.nansum, np.nanmean),
        *(np.linalg.cholesky, np.linalg.qr, np.linalg.svd, np.linalg.eigh, np.linalg.eigvalsh),
        *(np.linalg.eigvals, np.linalg.eig, np.linalg.pinv, np.linalg.lstsq, np.linalg.cond),
        *(np.linalg.matrix_rank, np.linalg.matrix_power, np.linalg.slogdet, np.vander),
        *(np.triu_indices, np.tril_indices, np.diag_indices, np.indices, np.unravel_index),
        *(np.einsum, np.tensordot, np.pad, np.histogram2d, np.histogramdd, np.nanmin, np.nanmax),
        *(np.histogram_bin_edges, np.nanstd, np.nanvar, np.nanmedian, np.nanquantile),
        *(np.nanpercentile, np.gradient, np.roots, np.ravel_multi_index, np.vdot),
        *(np.linalg.norm, np.linalg.det, np.linalg.inv, np.linalg.solve, np.matmul, np.fix),
        *(np.cov, np.corrcoef, np.trace, np.nan_to_num, np.polyfit, np.polyval, np.convolve),
        *(np.power, np.sign, np.tril, np.triu, np.cross, np.kron, np.partition, np.argpartition),
        *(np.setdiff1d,),
        *(np.intersect1d, np.union1d, np.isscalar, np.broadcast_shapes, np.lexsort),
    ]
)

_BINARY: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.divide: "/",
    np.floor_divide: "//", np.mod: "%", np.remainder: "%", np.power: "**",
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^",
}  # fmt: skip
_COMPARE: dict[Any, str] = {
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.equal: "==",
    np.not_equal: "!=",
}  # fmt: skip


def numpy_kind(value: Any) -> Any:
    """A scalar that comes out of a function of NumPy is one of NumPy's."""
    kinds: dict[type, type] = {float: np.float64, int: np.int64, bool: np.bool_}
    if isinstance(value, Real):
        return Real(value.form, tuple(dict.fromkeys(kinds.get(k, k) for k in value.kinds)))
    if isinstance(value, Truth):
        return value.typed(np.bool_)
    made = kinds.get(type(value))
    return value if made is None else made(value)


def _elementwise(function: Callable[..., Any], sample: Any) -> Any:
    def made(m: Machine, *values: Any, **options: Any) -> Any:
        if options:
            raise Refused(f"an option of np.{sample.__name__}")
        lazy = m.lazy_map(lambda *row: numpy_kind(function(m, *row)), *values)
        if lazy is not None:
            return lazy
        shown = [
            v if isinstance(v, Array) or is_symbolic(v) or arithmetic.is_number(v) else array(m, v)
            for v in values
        ]
        found = m.arrays.elementwise(m, functools.partial(function, m), sample, *shown)
        return found if isinstance(found, Array) else numpy_kind(found)

    return made


for _ufunc, _op in _BINARY.items():
    entry(_ufunc)(_elementwise(lambda m, a, b, _op=_op: operators.binary(m, _op, a, b), _ufunc))
for _ufunc, _op in _COMPARE.items():
    entry(_ufunc)(_elementwise(lambda m, a, b, _op=_op: operators.compare(m, _op, a, b), _ufunc))
entry(np.negative)(_elementwise(lambda m, a: operators.unary(m, "-", a), np.negative))
entry(np.positive)(_elementwise(lambda m, a: a, np.positive))
entry(np.invert)(_elementwise(lambda m, a: operators.unary(m, "~", a), np.invert))


def _absolute(m: Machine, value: Any) -> Any:
    return TABLE[abs](m, value) if is_symbolic(value) else abs(value)


def _larger(m: Machine, a: Any, b: Any) -> Any:
    return extreme_of(m, [a, b], True)


def _smaller(m: Machine, a: Any, b: Any) -> Any:
    return extreme_of(m, [a, b], False)


def _sign(m: Machine, value: Any) -> Any:
    if not is_symbolic(value):
        return np.sign(value)
    kind: type = np.int64 if isinstance(value, Real) and value.integral else np.float64
    above = arithmetic.compare(m, ">", value, 0)
    if m.has_continuous_noise(arithmetic.form_of(m, value)):
        m.notes["a noisy value that is 0 has probability zero and is left out"] = None
        return m.chosen(above, kind(1), kind(-1), (kind,))
    if m.holds(above):
        return kind(1)
    return kind(0) if m.holds(arithmetic.compare(m, "==", value, 0)) else kind(-1)


def _truth(m: Machine, value: Any) -> Any:
    found = m.truth_value(value)
    return found.typed(np.bool_) if isinstance(found, Truth) else np.bool_(found)


def _both(m: Machine, a: Any, b: Any) -> Any:
    return conjunction_of((_truth(m, a), _truth(m, b)), np.bool_)


def _either(m: Machine, a: Any, b: Any) -> Any:
    return disjunction_of((_truth(m, a), _truth(m, b)), np.bool_)


def _neither(m: Machine, a: Any) -> Any:
    found = _truth(m, a)
    return found.negated() if isinstance(found, Truth) else np.bool_(not found)


def _finite(m: Machine, value: Any) -> Any:
    return np.bool_(True) if is_symbolic(value) else np.isfinite(value)


def _nan(m: Machine, value: Any) -> Any:
    return np.bool_(False) if is_symbolic(value) else np.isnan(value)


_SCALAR: dict[Any, Callable[..., Any]] = {
    np.absolute: _absolute, np.fabs: _absolute, np.maximum: _larger, np.minimum: _smaller,
    np.sign: _sign, np.logical_and: _both, np.logical_or: _either, np.logical_not: _neither,
    np.isfinite: _finite, np.isnan: _nan, np.isinf: _nan,
}  # fmt: skip
for _ufunc, _function in _SCALAR.items():
    entry(_ufunc)(_elementwise(_function, _ufunc))


for _ufunc in (np.log, np.exp, np.sqrt, np.sin, np.cos, np.tan):
    entry(_ufunc)(
        _elementwise(
            lambda m, v, _name=_ufunc.__name__: arithmetic.applied(m, _name, v, NUMPY_FLOAT), _ufunc
        )
    )


@entry(np.square)
def square(m: Machine, value: Any) -> Any:
    raise Refused("a square of a noisy or private number")


@entry(np.clip)
def clip(m: Machine, value: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    low, high = options.pop("a_min", low), options.pop("a_max", high)
    low, high = options.pop("min", low), options.pop("max", high)
    if options:
        raise Refused("an option of np.clip")

    def one(m: Machine, v: Any, a: Any, b: Any) -> Any:
        if a is not _NONE and m.holds(operators.compare(m, "<", v, a)):
            return a
        return b if b is not _NONE and m.holds(operators.compare(m, ">", v, b)) else v

    bounds = [b for b in (low, high) if b is not None]
    if len(bounds) == 2:
        return _elementwise(one, np.clip)(m, value, low, high)
    if low is not None:
        return _elementwise(lambda m, v, a: one(m, v, a, _NONE), np.maximum)(m, value, low)
    if high is not None:
        return _elementwise(lambda m, v, b: one(m, v, _NONE, b), np.minimum)(m, value, high)
    raise Thrown(ValueError("One of max or min must be given"))


_NONE = object()


@entry(np.where)
def where(m: Machine, test: Any, *ways: Any) -> Any:
    if not ways:
        raise Refused("np.where of noisy values, without values to choose from")

    def one(m: Machine, t: Any, a: Any, b: Any) -> Any:
        truth = m.truth_value(t)
        if not isinstance(truth, Truth):
            return a if truth else b
        if all(isinstance(v, (bool, np.bool_, Truth)) for v in (a, b)):
            return _either(m, _both(m, truth, a), _both(m, truth.negated(), b))
        if arithmetic.is_number(a) and arithmetic.is_number(b) and type(a) is type(b):
            return m.chosen(truth, a, b, (type(a),))
        curve = _chosen_curve(m, truth, a, b) if isinstance(truth, Truth) else None
        if curve is not None:
            return curve
        return a if m.holds(truth) else b

    return _elementwise(one, np.where)(m, test, *ways)


def _chosen_curve(m: Machine, truth: Truth, yes: Any, no: Any) -> Any:
    """One of two functions of a draw, by where the draw lies; None where it has to be decided."""
    kinds = set(kinds_of(yes)) | set(kinds_of(no))
    if not kinds <= {float, np.float64}:
        return None
    forms = [m.indicator(truth), arithmetic.form_of(m, yes), arithmetic.form_of(m, no)]
    found = m.made_curve("where", forms)
    return None if found is None else as_number(found, NUMPY_FLOAT)


for _ufunc, _base in {np.log2: 2, np.log10: 10}.items():
    entry(_ufunc)(
        _elementwise(
            lambda m, v, _base=_base: arithmetic.binary(
                m, "/", arithmetic.applied(m, "log", v, NUMPY_FLOAT), math.log(_base)
            ),
            _ufunc,
        )
    )
entry(np.log1p)(
    _elementwise(
        lambda m, v: arithmetic.applied(m, "log", arithmetic.binary(m, "+", v, 1), NUMPY_FLOAT),
        np.log1p,
    )
)


@entry(np.select)
def select(m: Machine, tests: Any, values: Any, default: Any = 0) -> Any:
    """The first of the values whose test holds."""
    ways = list(zip(m.all_items(tests, "tests"), m.all_items(values, "values"), strict=True))
    found = default
    for test, value in reversed(ways):
        found = where(m, test, value, found)
    return found


def _step(m: Machine, value: Any, at_zero: Any) -> Any:
    form = arithmetic.form_of(m, value)
    above = arithmetic.compare(m, ">", value, 0)
    if m.has_continuous_noise(form):
        m.notes["a noisy value that is 0 has probability zero and is left out"] = None
        return m.chosen(above, np.float64(1), np.float64(0), NUMPY_FLOAT)
    if m.holds(above):
        return np.float64(1)
    return at_zero if m.holds(arithmetic.compare(m, "==", value, 0)) else np.float64(0)


entry(np.heaviside)(_elementwise(_step, np.heaviside))


@entry(np.isclose)
def isclose(m: Machine, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    def one(m: Machine, x: Any, y: Any) -> Any:
        if is_symbolic(y):
            raise Refused("np.isclose to a noisy or private number")
        near = atol + rtol * abs(y)
        return _both(
            m, operators.compare(m, "<=", x, y + near), operators.compare(m, ">=", x, y - near)
        )

    return _elementwise(one, np.isclose)(m, a, b)


# Along an axis


def reduced(function: Callable[..., Any]) -> Any:
    """A function of the elements of a vector, as one of arrays with an axis."""

    def made(m: Machine, value: Any, axis: Any = None, **options: Any) -> Any:
        keep = options.pop("keepdims", False)
        if any(v is not None for v in options.values()):
            raise Refused("an option of a function of NumPy")
        lazy = m.lazy_reduction(function, value)
        if lazy is not None:
            return lazy
        shown = _as_array(m, value)
        if keep:
            found = made(m, shown, axis)
            shape = np.sum(np.zeros(shown.shape), axis, keepdims=True).shape
            row = found if isinstance(found, Array) else array(m, (found,))
            return m.arrays.view(m, row, lambda places: places.reshape(shape))
        if axis is None:
            return function(m, m.arrays.elements(m, shown), shown.dtype)
        if isinstance(axis, tuple):
            raise Refused("several axes at once")
        places = np.moveaxis(shown.places, axis, -1)
        buffer = m.state.heap.read(shown.buffer)
        rows = [list(buffer.at(row)) for row in places.reshape(-1, places.shape[-1])]
        found = [function(m, row, shown.dtype) for row in rows]
        if places.ndim == 1:
            return found[0]
        kind = np.asarray([_python_sample(v) for v in found]).dtype if found else shown.dtype
        return m.arrays.made_of(m, found, places.shape[:-1], kind)

    return made


def _python_sample(value: Any) -> Any:
    if isinstance(value, Real):
        return value.kinds[0](1)
    return value.kind(True) if isinstance(value, Truth) else value


def sum_of(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    kind = np.sum(np.ones(1, dtype)).dtype.type
    total = functools.reduce(
        lambda a, b: a.plus(b), (arithmetic.form_of(m, v) for v in items),
        arithmetic.form_of(m, 0),
    )  # fmt: skip
    if any(isinstance(v, (Real, Truth)) for v in items):
        return as_number(total, (kind,))
    return np.sum(np.array(items, dtype))


def mean_of(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    if not items:
        return np.float64(np.nan)
    total = sum_of(m, items, dtype)
    if is_symbolic(total):
        return as_number(arithmetic.form_of(m, total).times(Fraction(1, len(items))), (np.float64,))
    return np.float64(total / len(items))


entry(np.sum)(reduced(sum_of))
entry(np.mean)(reduced(mean_of))


@entry(np.average)
def average(m: Machine, value: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return TABLE[np.mean](m, value, axis)
    known = _as_array(m, weights)
    if axis is not None or not m.arrays.is_known(m, known):
        raise Refused("np.average with an axis, or with noisy or private weights")
    total = np.sum(m.arrays.known_content(m, known))
    if total == 0:
        raise Thrown(ZeroDivisionError("Weights sum to zero, can't be normalized"))
    return numpy_kind(operators.binary(m, "/", dot(m, value, known), total))


def _extreme(largest: bool) -> Any:
    def found(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
        if not items:
            raise Thrown(ValueError("zero-size array to reduction operation has no identity"))
        return numpy_kind(extreme_of(m, items, largest))

    return reduced(found)


def _place(largest: bool) -> Any:
    def found(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
        if not items:
            raise Thrown(ValueError("attempt to get argmax of an empty sequence"))
        return np.int64(extreme_place(m, items, largest))

    return reduced(found)


entry(np.max, np.amax)(_extreme(True))
entry(np.min, np.amin)(_extreme(False))
entry(np.argmax)(_place(True))
entry(np.argmin)(_place(False))


def _range(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    if not items:
        raise Thrown(ValueError("zero-size array to reduction operation has no identity"))
    return numpy_kind(
        operators.binary(m, "-", extreme_of(m, items, True), extreme_of(m, items, False))
    )


def _product_of(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    kind = np.prod(np.ones(1, dtype)).dtype.type
    if dtype.kind == "b":
        return as_number(arithmetic.form_of(m, _all(m, items, dtype)), (kind,))
    total: Any = kind(1)
    for value in items:
        total = operators.binary(m, "*", total, value)
    return total


entry(np.ptp)(reduced(_range))
entry(np.prod)(reduced(_product_of))


def _any(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    return disjunction_of(tuple(_truth(m, v) for v in items), np.bool_)


def _all(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    return conjunction_of(tuple(_truth(m, v) for v in items), np.bool_)


entry(np.any)(reduced(_any))
entry(np.all)(reduced(_all))


def _count(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    total = arithmetic.form_of(m, 0)
    for value in items:
        total = total.plus(arithmetic.form_of(m, _truth(m, value)))
    return as_number(total, (int,))


entry(np.count_nonzero)(reduced(_count))


@entry(np.cumsum)
def cumsum(m: Machine, value: Any, axis: Any = None) -> Any:
    shown = _as_array(m, value)
    if axis not in (None, 0) or (axis == 0 and shown.places.ndim != 1):
        raise Refused("np.cumsum along an axis")
    kind = np.cumsum(np.ones(1, shown.dtype)).dtype
    total: Any = kind.type(0)
    found = []
    for v in m.arrays.elements(m, shown):
        total = operators.binary(
            m,
            "+",
            total,
            numpy_kind(v) if not isinstance(v, Truth) else (Real(m.indicator(v), (kind.type,))),
        )
        found.append(total)
    return m.arrays.made_of(m, found, (len(found),), kind)


@entry(np.diff)
def diff(m: Machine, value: Any, n: Any = 1) -> Any:
    shown = _as_array(m, value)
    if n != 1 or shown.places.ndim != 1 or shown.dtype.kind == "b":
        raise Refused("np.diff of this")
    later, earlier = m.arrays.item(m, shown, slice(1, None)), m.arrays.item(m, shown, slice(-1))
    return m.arrays.operate(m, "-", later, earlier)


@entry(np.dot, np.matmul, np.inner)
def dot(m: Machine, a: Any, b: Any) -> Any:
    left, right = _as_array(m, a), _as_array(m, b)
    if left.places.ndim == 1 and right.places.ndim == 1:
        return _inner(m, left, right)
    if left.places.ndim == 2 and right.places.ndim == 1:
        rows = [_inner(m, row, right) for row in m.state_items(left)]
        kind = np.result_type(left.dtype, right.dtype)
        return m.arrays.made_of(m, rows, (len(rows),), kind)
    if left.places.ndim == 1 and right.places.ndim == 2:
        columns = m.state_items(m.arrays.view(m, right, np.transpose))
        found = [_inner(m, left, column) for column in columns]
        kind = np.result_type(left.dtype, right.dtype)
        return m.arrays.made_of(m, found, (len(found),), kind)
    raise Refused("a product of matrices with noisy or private entries")


def _inner(m: Machine, a: Array, b: Array) -> Any:
    if a.shape != b.shape:
        raise Thrown(ValueError(f"shapes {a.shape} and {b.shape} not aligned"))
    product = m.arrays.operate(m, "*", a, b)
    if product.dtype.kind == "b":
        return TABLE[np.any](m, product)
    return TABLE[np.sum](m, product)


# Tests and others


@entry(np.array_equal)
def array_equal(m: Machine, a: Any, b: Any) -> Any:
    left, right = _as_array(m, a), _as_array(m, b)
    if left.shape != right.shape:
        return False
    pairs = zip(m.arrays.elements(m, left), m.arrays.elements(m, right), strict=True)
    parts = [operators.compare(m, "==", x, y) for x, y in pairs]
    return conjunction_of(
        tuple(p.typed(bool) if isinstance(p, Truth) else bool(p) for p in parts), bool
    )


@entry(np.outer)
def outer(m: Machine, a: Any, b: Any) -> Any:
    left = m.arrays.view(m, _as_array(m, a), lambda p: p.reshape(-1, 1))
    right = m.arrays.view(m, _as_array(m, b), lambda p: p.reshape(1, -1))
    return m.arrays.operate(m, "*", left, right)


@entry(np.ufunc.outer)
def ufunc_outer(m: Machine, ufunc: Any, a: Any, b: Any) -> Any:
    left, right = _as_array(m, a), _as_array(m, b)
    shape = (*left.shape, *(1,) * right.places.ndim)
    return m.call_table(ufunc, (m.arrays.view(m, left, lambda p: p.reshape(shape)), right))


@entry(np.ufunc.accumulate)
def ufunc_accumulate(m: Machine, ufunc: Any, value: Any) -> Any:
    shown = _as_array(m, value)
    if shown.places.ndim != 1 or not shown.places.size:
        raise Refused("accumulate along an axis")
    kind = ufunc.accumulate(np.ones(1, shown.dtype)).dtype
    items = m.arrays.elements(m, shown if kind == shown.dtype else astype(m, shown, kind))
    found = [items[0]]
    for item in items[1:]:
        found.append(m.call_table(ufunc, (found[-1], item)))
    return m.arrays.made_of(m, found, shown.shape, kind)


@entry(np.ufunc.reduce)
def ufunc_reduce(m: Machine, ufunc: Any, value: Any, *options: Any) -> Any:
    known = {np.add: np.sum, np.maximum: np.max, np.minimum: np.min}
    if options or ufunc not in known:
        raise Refused(f"np.{ufunc.__name__}.reduce")
    return m.call_table(known[ufunc], (value,))


@entry(np.isscalar)
def isscalar(m: Machine, value: Any) -> Any:
    return is_symbolic(value)


@entry(np.vectorize)
def vectorize(m: Machine, function: Any, **options: Any) -> Any:
    raise Refused("np.vectorize")


@entry(np.bincount)
def bincount(m: Machine, value: Any, weights: Any = None, minlength: Any = 0) -> Any:
    lazy = m.lazy_bincount(value, weights, minlength)
    if lazy is not None:
        return lazy
    raise Refused("np.bincount of noisy or private numbers")


@entry(np.nonzero, np.flatnonzero)
def nonzero(m: Machine, value: Any) -> Any:
    shown = _as_array(m, value)
    if shown.places.ndim != 1:
        raise Refused("np.nonzero of a matrix")
    items = m.arrays.elements(m, shown)
    places = [n for n, v in enumerate(items) if m.holds(m.truth_value(v))]
    return m.adopted(np.array(places, dtype=np.int64))


entry(np.nonzero)(lambda m, value: (nonzero(m, value),))
