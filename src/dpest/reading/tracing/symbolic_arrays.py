"""Arrays of symbolic values, in NumPy through its own protocols.

A `SymbolicArray` is an ndarray of objects: what NumPy does by structure (indexing, reshaping,
stacking) it does itself; arithmetic, comparisons and reductions are those of `tracing.symbolic`.
Comparisons stay unforced: they give arrays of TracedTruths.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpest.geometry.linear import Form, Symbol
from dpest.reading.refusals import refuse
from dpest.reading.rewrites.curves import logarithm, logarithm_of_more
from dpest.reading.rewrites.rounding import How
from dpest.reading.tracing.selections import chosen, clipped, converted, extreme, sign_of, with_sign
from dpest.reading.tracing.symbolic import (
    TracedReal,
    TracedTruth,
    as_real,
    is_bool,
    is_symbolic,
    joined,
    of_bools,
    opposite,
    typed,
)

Objects = np.ndarray[Any, np.dtype[np.object_]]


class SymbolicArray(np.ndarray):
    """An ndarray whose elements are TracedReals, TracedTruths and numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(_index(key))
        return found if isinstance(found, np.ndarray) else typed(found, True)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, SymbolicArray) and key.shape == self.shape and symbolic_inside(key):
            fits = not isinstance(value, np.ndarray) or value.shape in ((), self.shape)
            if fits:
                # Without a fork where the choice is between numbers.
                value = np.broadcast_to(_objects(value), self.shape)
                for place in np.ndindex(self.shape):
                    old = super().__getitem__(place)
                    super().__setitem__(place, chosen(key[place], value[place], old))
                return
        super().__setitem__(_index(key), self._fitting(value))

    def _fitting(self, value: Any) -> Any:
        """A truth that comes into an array of numbers is a number there."""
        truths = isinstance(value, TracedTruth) or (
            isinstance(value, (list, tuple, np.ndarray))
            and any(isinstance(v, TracedTruth) for v in _objects(value).flat)
        )
        if not truths or all(is_bool(v) for v in self.view(np.ndarray).flat):
            return value
        if isinstance(value, TracedTruth):
            return value.number()
        return _mapped(lambda v: v.number() if isinstance(v, TracedTruth) else v, value)

    def __contains__(self, value: Any) -> bool:
        return any(bool(element == value) for element in self.ravel())

    # The methods that NumPy would carry out by comparing one by one, or by conversion.

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        return np.sum(self, axis=axis, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        return np.mean(self, axis=axis, **options)

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        return np.max(self, axis=axis, **options)

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        return np.min(self, axis=axis, **options)

    def argmax(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        return np.argmax(self, axis=axis, **options)

    def argmin(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        return np.argmin(self, axis=axis, **options)

    def any(self, axis: Any = None, out: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return np.any(self, axis=axis, **options)

    def all(self, axis: Any = None, out: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return np.all(self, axis=axis, **options)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return np.cumsum(self, axis=axis)

    def argsort(self, axis: Any = -1, *args: Any, **options: Any) -> Any:
        return np.argsort(self, axis=axis)

    def sort(self, axis: Any = -1, *args: Any, **options: Any) -> None:
        self[...] = np.sort(self, axis=axis)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
        return np.clip(self, min, max)

    def round(self, decimals: int = 0, out: Any = None) -> Any:  # type: ignore[override]
        return np.round(self, decimals)

    def nonzero(self) -> Any:
        return np.nonzero(self)

    def std(self, *args: Any, **options: Any) -> Any:
        return np.std(self, *args, **options)

    def var(self, *args: Any, **options: Any) -> Any:
        return np.var(self, *args, **options)

    def ptp(self, axis: Any = None, **options: Any) -> Any:
        return np.ptp(self, axis=axis)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        kind = np.dtype(dtype)
        if not symbolic_inside(self):
            return natural(self).astype(kind)
        return wrapped(_mapped(lambda v: converted(v, kind), self))

    def tolist(self) -> Any:
        return _typed_inside(np.ndarray.tolist(self), False)


def _typed_inside(value: Any, numpy: bool) -> Any:
    if isinstance(value, list):
        return [_typed_inside(v, numpy) for v in value]
    return typed(value, numpy)


def elements_of_numpy(value: Any) -> Objects:
    """The elements as the scalars that NumPy computes with, for its loops over objects."""
    array = _objects(value)
    if not any(isinstance(v, TracedTruth) for v in array.flat):
        return array
    return _mapped(lambda v: typed(v, True), array)


def uniform(array: Objects) -> Objects:
    """Elements of one kind: truths among numbers are numbers, as NumPy would have it."""
    elements = list(array.flat)
    if any(isinstance(v, TracedTruth) for v in elements) and not all(is_bool(v) for v in elements):
        found = np.empty(array.size, dtype=object)
        for i, value in enumerate(elements):
            found[i] = value.number() if isinstance(value, TracedTruth) else value
        return found.reshape(array.shape)
    return array


def symbolic_inside(array: Any) -> bool:
    return any(is_symbolic(v) for v in array.flat)


def natural(array: Any) -> Any:
    """An array of plain numbers with the type that NumPy gives them."""
    base = np.asarray(array)
    if base.dtype != object:
        return base
    if not base.size:
        return np.zeros(base.shape)
    return np.array(base.tolist()).reshape(base.shape)


def _objects(value: Any) -> Objects:
    """Anything as an ndarray of objects."""
    if isinstance(value, np.ndarray):
        return np.asarray(value).astype(object) if value.dtype != object else value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        plain = np.array(value, dtype=object)
        return plain if type(plain) is np.ndarray else plain.view(np.ndarray)
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy(), dtype=object)
    if hasattr(value, "symbolic_elements"):
        return _objects(value.symbolic_elements)
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def symbolic_array(values: Any) -> SymbolicArray:
    return _objects(values).view(SymbolicArray)


def wrapped(value: Any) -> Any:
    """A result for the user: an element, a plain array, or a SymbolicArray."""
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value
        if value.ndim == 0:
            return typed(value.item(), True)
        return uniform(value).view(SymbolicArray) if symbolic_inside(value) else natural(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(wrapped(v) for v in value)
    return value


def _mapped(function: Callable[..., Any], *arrays: Any) -> Any:
    """Elementwise, with broadcasting, into objects."""
    result = np.frompyfunc(function, len(arrays), 1)(*(_objects(a) for a in arrays))
    return result if isinstance(result, np.ndarray) else _objects(result)


def _index(key: Any) -> Any:
    """An index without symbolic values: masks are decided here, by forks."""
    if isinstance(key, tuple):
        return tuple(_index(k) for k in key)
    if isinstance(key, TracedTruth):
        return bool(key)
    if isinstance(key, TracedReal):
        return operator.index(key)
    if isinstance(key, list) and any(is_symbolic(k) for k in key):
        key = symbolic_array(key)
    if hasattr(key, "symbolic_elements"):
        key = key.symbolic_elements
    if isinstance(key, np.ndarray) and key.dtype == object:
        if any(isinstance(v, TracedTruth) for v in key.flat):
            flags = [bool(v) for v in key.flat]
            return np.array(flags, dtype=bool).reshape(key.shape)
        return np.array([operator.index(v) for v in key.flat], dtype=int).reshape(key.shape)
    return key


def total(values: Sequence[Any]) -> Any:
    """A sum in one pass; adding one by one would copy the growing form each time."""
    terms: dict[Symbol, Any] = {}
    constant: Any = 0
    integer = True
    rest: list[Any] = []
    for value in values:
        found = as_real(value)
        if not isinstance(found, TracedReal):
            rest.append(value)
            continue
        integer = integer and found.integer
        constant += found.form.constant
        for symbol, coefficient in found.form.terms.items():
            terms[symbol] = terms[symbol] + coefficient if symbol in terms else coefficient
    result: Any = TracedReal(Form(terms, Form.number(constant).constant), integer)
    for value in rest:
        result = result + value
    return result


# ufuncs, elementwise


def _logical(conjunction: bool) -> Callable[[Any, Any], Any]:
    return lambda a, b: joined(_as_condition(a), _as_condition(b), conjunction)


def _as_condition(value: Any) -> Any:
    if isinstance(value, TracedTruth):
        return value
    return value != 0 if isinstance(value, TracedReal) else bool(value)


def _greater(a: Any, b: Any) -> Any:
    return a if a >= b else b


def _lesser(a: Any, b: Any) -> Any:
    return a if a <= b else b


def _whole(name: str, how: How) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        found = value.number() if isinstance(value, TracedTruth) else value
        whole = found._whole(f"np.{name} of a noisy value", how)
        return whole if isinstance(whole, TracedReal) else np.float64(whole)

    return apply


_ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.fabs: abs,
    np.sign: sign_of,
    np.maximum: _greater,
    np.fmax: _greater,
    np.minimum: _lesser,
    np.fmin: _lesser,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.logical_and: _logical(True),
    np.logical_or: _logical(False),
    np.logical_not: lambda a: opposite(_as_condition(a)),
    np.logical_xor: lambda a, b: _as_condition(a) ^ _as_condition(b),
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.invert: operator.invert,
    np.power: operator.pow,
    np.square: lambda a: a**2,
    np.conjugate: lambda a: a,
    np.isnan: lambda a: False,
    np.isinf: lambda a: False,
    np.isfinite: lambda a: True,
    np.signbit: lambda a: a < 0,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.floor: _whole("floor", "floor"),
    np.ceil: _whole("ceil", "ceil"),
    np.trunc: _whole("trunc", "trunc"),
    np.rint: _whole("rint", "round"),
    np.log: logarithm,
    np.log1p: logarithm_of_more,
    np.log2: lambda a: logarithm(a) / math.log(2),
    np.log10: lambda a: logarithm(a) / math.log(10),
    np.copysign: with_sign,
    np.heaviside: lambda a, h: chosen(a > 0, 1.0, 0.0),
    np.deg2rad: lambda a: a * (math.pi / 180),
}
# TracedTruths take part in arithmetic as numbers.
_ARITHMETIC = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute,
}  # fmt: skip


_ON_BOOLS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.negative: "neg", np.positive: "pos",
    np.absolute: "abs",
}  # fmt: skip


_SCALARS = (TracedReal, TracedTruth, int, float, np.generic)


def _elementwise(ufunc: Any) -> Callable[..., Any]:
    function = _ELEMENTWISE.get(ufunc)

    def apply(*values: Any) -> Any:
        if not any(is_symbolic(v) for v in values):
            return ufunc(*values)
        if ufunc in _ON_BOOLS and all(is_bool(v) for v in values):
            return of_bools(_ON_BOOLS[ufunc], *values)
        if ufunc is np.invert and isinstance(values[0], TracedTruth):
            return values[0].negated()
        # NumPy's scalars would send their operators back here.
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        if function is None:
            refuse(
                f"np.{ufunc.__name__} of a noisy value",
                "it is not linear in the noise: apply it outside of the mechanism",
            )
        if ufunc in _ARITHMETIC:
            values = tuple(v.number() if isinstance(v, TracedTruth) else v for v in values)
        return function(*values)

    return apply


def apply_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods, on arguments of which one is symbolic."""
    if method == "__call__" and not options and all(isinstance(v, _SCALARS) for v in inputs):
        return typed(_elementwise(ufunc)(*inputs), True)
    out = options.pop("out", None)
    where = options.pop("where", True)
    options.pop("dtype", None)
    options.pop("casting", None)
    arrays = [_objects(v) for v in inputs]
    if ufunc is np.matmul and method == "__call__":
        arrays = [elements_of_numpy(a) for a in arrays]
        result = np.dot(*arrays) if max(a.ndim for a in arrays) <= 2 else np.matmul(*arrays)
        result = _objects(result)
    elif method == "__call__" and ufunc.nout == 1:
        if where is not True:
            refuse(f"np.{ufunc.__name__} with where=", "use np.where")
        result = _mapped(_elementwise(ufunc), *arrays)
    elif method == "reduce":
        result = _reduced(ufunc, arrays[0], options, where, inputs[1:])
    elif method == "accumulate":
        axis = options.get("axis", 0)
        function = _elementwise(ufunc)
        result = _along(
            arrays[0],
            axis,
            lambda row: list(itertools.accumulate(_counted(ufunc, row), function)),
            keep=True,
        )
    elif method == "outer":
        first, second = arrays
        shape = first.shape + (1,) * second.ndim
        result = _mapped(_elementwise(ufunc), first.reshape(shape), second)
    else:
        refuse(
            f"np.{ufunc.__name__}.{method} on noisy values"
            if method != "__call__"
            else f"np.{ufunc.__name__} of a noisy value",
            "write it with arithmetic and comparisons",
        )
    if out is not None:
        return _into(out[0] if isinstance(out, tuple) else out, result)
    if result.ndim and ufunc in _ARITHMETIC and not symbolic_inside(result):
        return result.view(SymbolicArray)  # plain so far, but it may come to hold noisy values
    return wrapped(result)


def _into(target: Any, result: Objects) -> Any:
    if isinstance(target, np.ndarray) and target.dtype == object:
        target.view(np.ndarray)[...] = result
        return target
    if symbolic_inside(result):
        refuse(
            "a noisy array is written into an array of numbers",
            "write `a = a + noise` instead of `a += noise`",
        )
    target[...] = natural(result)
    return target


def _reduced(
    ufunc: Any, array: Objects, options: dict[str, Any], where: Any, extra: Sequence[Any]
) -> Any:
    axis = options.get("axis", 0)
    if where is not True:
        refuse(f"np.{ufunc.__name__} with where=", "use np.where")
    initial = options.get("initial")
    first: list[Any] = [] if initial is None or initial is np._NoValue else [initial]
    if ufunc is np.add:
        fold: Callable[[list[Any]], Any] = total
    elif ufunc in (np.maximum, np.fmax):
        fold = _maximum_of
    elif ufunc in (np.minimum, np.fmin):
        fold = _minimum_of
    elif ufunc in (np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or):
        conjunction = ufunc in (np.logical_and, np.bitwise_and)
        fold = lambda row: _folded(_logical(conjunction), row, conjunction)  # noqa: E731
    else:
        function = _elementwise(ufunc)
        fold = lambda row: _folded(function, _counted(ufunc, row), ufunc.identity)  # noqa: E731
    return _along(array, axis, lambda row: fold(first + row), keepdims=options.get("keepdims"))


def _counted(ufunc: Any, row: list[Any]) -> list[Any]:
    """NumPy adds up and multiplies a row of truth values as integers."""
    if ufunc not in (np.add, np.multiply):
        return row
    return [v.number() if isinstance(v, TracedTruth) else int(v) if is_bool(v) else v for v in row]


def _folded(function: Callable[[Any, Any], Any], row: list[Any], empty: Any) -> Any:
    if not row:
        return empty
    result = row[0]
    for value in row[1:]:
        result = function(result, value)
    return result


def _maximum_of(row: list[Any]) -> Any:
    if not row:
        raise ValueError("zero-size array to reduction operation maximum which has no identity")
    return row[extreme(row)]


def _minimum_of(row: list[Any]) -> Any:
    if not row:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    return row[extreme(row, least=True)]


def _from_the_front(axis: int, count: int) -> int:
    """The number of an axis; NumPy counts from the end, too."""
    if not -count <= axis < count:
        raise np.exceptions.AxisError(axis, count)
    return axis % count


def _along(
    array: Any,
    axis: Any,
    function: Callable[[list[Any]], Any],
    *,
    keep: bool = False,
    keepdims: Any = False,
) -> Any:
    """Apply to each row along the axis (None: to all elements); `keep` for rows that stay rows."""
    if axis is None and keep:
        array, axis = array.ravel(), 0
    if axis is None:
        axes = tuple(range(array.ndim))
    else:
        axes = tuple(
            _from_the_front(a, array.ndim) for a in (axis if isinstance(axis, tuple) else (axis,))
        )
    rest = tuple(i for i in range(array.ndim) if i not in axes)
    moved = np.transpose(array, rest + axes)
    outer = moved.shape[: len(rest)]
    rows = moved.reshape((*outer, -1)) if moved.size else moved.reshape((*outer, 0))
    length = rows.shape[-1]
    if keep:
        result = np.empty((*outer, length), dtype=object)
        for place in np.ndindex(outer):
            row = function(list(rows[place]))
            for i, value in enumerate(row):
                result[(*place, i)] = value
        return np.moveaxis(result, -1, axes[0]) if outer else result
    result = np.empty(outer, dtype=object)
    for place in np.ndindex(outer):
        result[place] = function(list(rows[place]))
    if keepdims is True:
        shape = [1 if i in axes else n for i, n in enumerate(array.shape)]
        result = result.reshape(shape)
    return result


def apply_function(func: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """A NumPy function on arguments of which one is symbolic."""
    from dpest.reading.tracing.symbolic_functions import FUNCTIONS, PRODUCTS, STRUCTURAL

    found = FUNCTIONS.get(func)
    if found is not None:
        return found(*args, **options)
    if func in PRODUCTS:
        return wrapped(func(*(elements_of_numpy(a) for a in args), **options))
    if func in STRUCTURAL:
        return wrapped(func(*_stripped(args), **_stripped(options)))
    symbols = False
    for value in _leaves((*args, *options.values())):
        symbols = symbols or is_symbolic(value)
    if not symbols:
        return func(*_naturals(args), **_naturals(options))
    refuse(
        f"{func.__module__}.{func.__name__} of noisy values".replace("numpy.", "np.", 1),
        "write it with arithmetic, comparisons, sums, max, argmax, sort or where",
    )


def _stripped(value: Any) -> Any:
    if isinstance(value, SymbolicArray):
        return value.view(np.ndarray)
    if is_symbolic(value):
        return _objects(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_stripped(v) for v in value)
    if isinstance(value, dict):
        return {k: _stripped(v) for k, v in value.items()}
    return value


def _naturals(value: Any) -> Any:
    if isinstance(value, SymbolicArray):
        return natural(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_naturals(v) for v in value)
    if isinstance(value, dict):
        return {k: _naturals(v) for k, v in value.items()}
    return value


def _leaves(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        yield from value.flat if value.dtype == object else ()
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _leaves(v)
    else:
        yield value


def clip_all(array: Any, low: Any, high: Any) -> Any:
    low = _objects(low) if low is not None else _objects(-math.inf)
    high = _objects(high) if high is not None else _objects(math.inf)

    def one(value: Any, least: Any, most: Any) -> Any:
        if isinstance(value, TracedTruth):
            value = value.number()
        return clipped(value, least, most)

    return wrapped(_mapped(one, array, low, high))
