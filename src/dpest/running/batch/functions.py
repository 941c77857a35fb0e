"""NumPy's functions on batched arrays: the user's axes come first, the runs last."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.running.batch.values import Batched, BatchedArray, element_of

if TYPE_CHECKING:
    from dpest.running.batch.reading import BatchReading

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _named(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return register


def _array(reading: BatchReading, value: Any) -> Any:
    """`value` as an array of this function's own: rearranging it leaves the user's unshared."""
    return reading.wrap(value.node) if isinstance(value, Batched) else reading.array_of(value)


def _node(reading: BatchReading, value: Any) -> Any:
    """An operand of a waiting operation, with the axis of runs (of length 1 for constants)."""
    value = _array(reading, value)
    return value.node if isinstance(value, Batched) else reading.arrays.constant(value)


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _along(name: str, result: Callable[[tuple[int, ...], int], tuple[int, ...]]) -> None:
    """Register a function along one axis; `result` gives the shape that comes out."""

    def call(
        reading: BatchReading, a: Any, *args: Any, axis: Any = "default", **kwargs: Any
    ) -> Any:
        value = _array(reading, a)
        if args and name not in _POSITIONAL:
            axis, args = args[0], args[1:]
        if args and name in _POSITIONAL:
            kwargs[_POSITIONAL[name]] = args[0]
            if len(args) > 1:
                axis = args[1]
        elif args:
            reading.need_scalar(f"np.{name} with these arguments")
        if axis == "default":
            axis = -1 if name in _LAST_AXIS else None
        for default in ("dtype", "initial", "where", "out"):
            if kwargs.get(default, 0) is None or kwargs.get(default, 0) is np._NoValue:
                del kwargs[default]
        keepdims = bool(kwargs.pop("keepdims", False))
        if isinstance(axis, (tuple, list)):
            return _several_axes(reading, name, value, tuple(axis), keepdims, kwargs)
        if axis is None or not value.shape:
            shape: tuple[int, ...] = (value.size,)
            flat = value.reshape(-1) if value.ndim != 1 else value
            position = 0
            if axis is not None:
                _axis(axis, max(value.ndim, 1))
        else:
            shape, flat, position = value.shape, value, _axis(axis, value.ndim)
        if shape[position] == 0 and name in ("max", "min", "argmax", "argmin"):
            raise ValueError(f"zero-size array to reduction operation {name} has no identity")
        if not reading.arrays.reduces(name, kwargs):
            reading.need_scalar(f"np.{name} of noise on this device")
        after = result(shape, position)
        out = Batched(
            reading,
            after,
            lambda d: reading.arrays.reduce(name, d, position, kwargs),
            (flat.node,),
        )
        wrapped = reading.wrap(out)
        if keepdims and len(after) < len(shape):
            whole = value.shape if axis is not None else (1,) * value.ndim
            kept = [1 if i == position or axis is None else n for i, n in enumerate(whole)]
            return wrapped.reshape(tuple(kept))
        return wrapped

    FUNCTIONS[name] = call


def _several_axes(
    reading: BatchReading, name: str, value: Any, axes: tuple[int, ...], keepdims: bool, kwargs: Any
) -> Any:
    if name not in ("sum", "prod", "max", "min", "any", "all", "mean"):
        reading.need_scalar(f"np.{name} over several axes")
    wanted = sorted({_axis(axis, value.ndim) for axis in axes}, reverse=True)
    for axis in wanted:
        value = FUNCTIONS[name](reading, value, axis=axis, keepdims=keepdims, **kwargs)
    return value


_LAST_AXIS = frozenset({"sort", "argsort", "diff", "partition"})
_POSITIONAL = {"quantile": "q", "percentile": "q", "partition": "kth", "diff": "n"}


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


for _name in (
    *("sum", "prod", "max", "min", "mean", "std", "var", "median", "argmax", "argmin"),
    *("any", "all", "ptp", "count_nonzero", "quantile", "percentile"),
):
    _along(_name, _without)
for _name in ("cumsum", "cumprod", "sort", "argsort", "partition"):
    _along(_name, lambda shape, axis: shape)
_along("diff", lambda shape, axis: (*shape[:axis], max(shape[axis] - 1, 0), *shape[axis + 1 :]))
FUNCTIONS["amax"] = FUNCTIONS["max"]
FUNCTIONS["amin"] = FUNCTIONS["min"]


@_named("_accumulate")
def _accumulate(reading: BatchReading, ufunc: np.ufunc, a: Any, axis: int = 0, **_: Any) -> Any:
    value = _array(reading, a)
    if axis != 0:
        reading.need_scalar(f"np.{ufunc.__name__}.accumulate along axis {axis}")
    parts = [value[0]]
    for i in range(1, len(value)):
        parts.append(reading.elementwise(ufunc, (parts[-1], value[i])))
    return reading.stack(parts)


@_named("where")
def _where(reading: BatchReading, condition: Any, *choices: Any) -> Any:
    if not choices:
        reading.need_scalar("np.where with a condition alone")
    operands = [_array(reading, v) for v in (condition, *choices)]
    shape = np.broadcast_shapes(*[v.shape for v in operands])
    nodes = tuple(_node(reading, v) for v in operands)
    return reading.wrap(Batched(reading, shape, reading.arrays.where, nodes))


@_named("clip")
def _clip(
    reading: BatchReading,
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    if low is not None:
        a = reading.elementwise(np.maximum, (a, low))
    return a if high is None else reading.elementwise(np.minimum, (a, high))


@_named("round", "around")
def _round(reading: BatchReading, a: Any, decimals: int = 0) -> Any:
    if decimals == 0:
        return reading.elementwise(np.rint, (a,))
    if decimals > 0:
        return np.rint(a * 10.0**decimals) / 10.0**decimals
    return np.rint(a / 10.0**-decimals) * 10.0**-decimals


@_named("fix")
def _fix(reading: BatchReading, a: Any) -> Any:
    return reading.elementwise(np.trunc, (a,))


@_named("isclose")
def _isclose(
    reading: BatchReading,
    a: Any,
    b: Any,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:
    return np.less_equal(abs(a - b), atol + rtol * abs(b))


@_named("nan_to_num")
def _nan_to_num(reading: BatchReading, a: Any, *args: Any, **kwargs: Any) -> Any:
    reading.need_scalar("np.nan_to_num of noise")


@_named("interp")
def _interp(reading: BatchReading, x: Any, xp: Any, fp: Any, **kwargs: Any) -> Any:
    if isinstance(xp, Batched) or isinstance(fp, Batched) or reading.arrays.name != "numpy":
        reading.need_scalar("np.interp of noise")
    return reading.wrap(
        Batched(
            reading,
            x.shape,
            lambda d: np.interp(d.ravel(), xp, fp, **kwargs).reshape(d.shape),
            (x.node,),
        )
    )


# Products


@_named("dot", "matmul", "inner", "vdot")
def _dot(reading: BatchReading, a: Any, b: Any) -> Any:
    left, right = _array(reading, a), _array(reading, b)
    if not left.shape or not right.shape:
        return reading.elementwise(np.multiply, (left, right))
    if left.ndim == 1 and right.ndim == 1:
        return np.sum(left * right)
    if left.ndim == 2 and right.ndim == 1:
        return np.sum(left * right, axis=1)
    if left.ndim == 1 and right.ndim == 2:
        return np.sum(left.reshape(-1, 1) * right, axis=0)
    if left.ndim == 2 and right.ndim == 2:
        rows, inner = left.shape
        columns = right.shape[1]
        return np.sum(left.reshape(rows, inner, 1) * right.reshape(1, inner, columns), axis=1)
    reading.need_scalar("a product of noisy arrays of more than two dimensions")


@_named("outer")
def _outer(reading: BatchReading, a: Any, b: Any) -> Any:
    left, right = _array(reading, a), _array(reading, b)
    return left.reshape(-1, 1) * right.reshape(1, -1)


# Shapes


def _view(reading: BatchReading, value: Any, shape: tuple[int, ...], function: Any) -> Any:
    """A rearrangement of one array, which in NumPy may share its memory."""
    out = reading.wrap(Batched(reading, shape, function, (value.node,)))
    if isinstance(out, BatchedArray):
        out.shared = True
    if isinstance(value, BatchedArray):
        value.shared = True
    return out


@_named("reshape")
def _reshape(
    reading: BatchReading, a: Any, shape: Any = None, order: str = "C", **kwargs: Any
) -> Any:
    if order != "C" or kwargs:
        reading.need_scalar("np.reshape in another order")
    wanted = (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
    wanted = np.empty(a.shape, dtype=np.int8).reshape(wanted).shape  # NumPy's own error, and -1
    return _view(reading, a, wanted, lambda d: d.reshape((*wanted, d.shape[-1])))


@_named("ravel")
def _ravel(reading: BatchReading, a: Any, order: str = "C") -> Any:
    return _reshape(reading, a, (-1,), order)


@_named("squeeze")
def _squeeze(reading: BatchReading, a: Any, axis: Any = None) -> Any:
    return _reshape(reading, a, np.empty(a.shape, dtype=np.int8).squeeze(axis).shape)


@_named("expand_dims")
def _expand_dims(reading: BatchReading, a: Any, axis: Any) -> Any:
    return _reshape(reading, a, np.expand_dims(np.empty(a.shape, dtype=np.int8), axis).shape)


@_named("atleast_1d")
def _atleast_1d(reading: BatchReading, a: Any) -> Any:
    return a if a.shape else _reshape(reading, a, (1,))


@_named("transpose")
def _transpose(reading: BatchReading, a: Any, axes: Any = None) -> Any:
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axes)
    return _pick(reading, a, np.transpose(_positions(a.shape), order))


@_named("swapaxes")
def _swapaxes(reading: BatchReading, a: Any, first: int, second: int) -> Any:
    return _pick(reading, a, np.swapaxes(_positions(a.shape), first, second))


@_named("flip")
def _flip(reading: BatchReading, a: Any, axis: Any = None) -> Any:
    return _pick(reading, a, np.flip(_positions(a.shape), axis))


@_named("roll")
def _roll(reading: BatchReading, a: Any, shift: Any, axis: Any = None) -> Any:
    return _pick(reading, a, np.roll(_positions(a.shape), shift, axis))


@_named("repeat")
def _repeat(reading: BatchReading, a: Any, repeats: Any, axis: Any = None) -> Any:
    return _pick(reading, a, np.repeat(_positions(a.shape), repeats, axis))


@_named("tile")
def _tile(reading: BatchReading, a: Any, reps: Any) -> Any:
    return _pick(reading, a, np.tile(_positions(a.shape), reps))


def _positions(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape)


def _pick(reading: BatchReading, a: Any, positions: np.ndarray) -> Any:
    """The elements of `a` at these positions of the flat array."""
    flat = positions.ravel()
    shape = positions.shape
    listed = flat.tolist()
    return _view(
        reading,
        a,
        shape,
        lambda d: d.reshape(-1, d.shape[-1])[listed].reshape((*shape, d.shape[-1])),
    )


@_named("copy")
def _copy(reading: BatchReading, a: Any, *args: Any, **kwargs: Any) -> Any:
    return reading.wrap(a.node)


@_named("concatenate", "hstack", "append")
def _concatenate(
    reading: BatchReading, arrays: Any, *more: Any, axis: Any = 0, **kwargs: Any
) -> Any:
    if more and isinstance(more[0], int) and not isinstance(arrays, Batched):
        axis, more = more[0], ()
    parts = [arrays, *more] if more else list(arrays)
    parts = [_array(reading, part) for part in parts]
    if axis is None or more:
        parts, axis = [part.reshape(-1) for part in parts], 0
    positions, offset = [], 0
    for part in parts:
        count = math.prod(part.shape)
        positions.append(np.arange(offset, offset + count).reshape(part.shape))
        offset += count
    joined = (
        np.hstack(positions)
        if any(not p.shape for p in positions)
        else np.concatenate(positions, axis=axis)
    )
    elements: list[Any] = []
    for part in parts:
        flat = part.reshape(-1)
        elements.extend(flat[i] for i in range(flat.shape[0]))
    whole = reading.stack([_array(reading, element) for element in elements])
    return reading.wrap(_pick(reading, whole, joined).node)


@_named("stack")
def _stack(reading: BatchReading, arrays: Any, axis: int = 0, **kwargs: Any) -> Any:
    parts = [_array(reading, part) for part in arrays]
    if len({part.shape for part in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    whole = reading.stack(parts)
    axis = _axis(axis, whole.ndim)
    if axis == 0:
        return whole
    return _pick(reading, whole, np.moveaxis(_positions(whole.shape), 0, axis))


@_named("vstack")
def _vstack(reading: BatchReading, arrays: Any, **kwargs: Any) -> Any:
    parts = [_array(reading, part) for part in arrays]
    parts = [part.reshape(1, -1) if part.ndim < 2 else part for part in parts]
    return _concatenate(reading, parts, axis=0)


@_named("zeros_like", "ones_like", "full_like", "empty_like")
def _like(reading: BatchReading, a: Any, fill: Any = None, *args: Any, **kwargs: Any) -> Any:
    reading.need_scalar("an array shaped like noise, to be filled in place")


@_named("shape")
def _shape(reading: BatchReading, a: Any) -> Any:
    return a.shape


@_named("ndim")
def _ndim(reading: BatchReading, a: Any) -> int:
    return a.ndim


@_named("size")
def _size(reading: BatchReading, a: Any, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


@_named("take")
def _take(reading: BatchReading, a: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
    value = _array(reading, a)
    if isinstance(indices, Batched):
        if axis not in (None, 0) or value.ndim != 1:
            reading.need_scalar("np.take of a table by noise")
        return _gather(reading, value, indices)
    return _pick(reading, value, np.take(_positions(value.shape), indices, axis=axis))


@_named("isscalar", "iscomplexobj")
def _isscalar(reading: BatchReading, a: Any) -> bool:
    return False


@_named("isrealobj")
def _isrealobj(reading: BatchReading, a: Any) -> bool:
    return True


@_named("array_equal")
def _array_equal(reading: BatchReading, a: Any, b: Any, **kwargs: Any) -> Any:
    left, right = _array(reading, a), _array(reading, b)
    return left.shape == right.shape and np.all(left == right)


# Elements


@_named("_item")
def _item(reading: BatchReading, value: Batched, key: Any) -> Any:
    if not value.shape:
        raise TypeError("'float' object is not subscriptable")
    if isinstance(key, Batched):
        return _item_by_noise(reading, value, key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        index = int(key)
        if not -value.shape[0] <= index < value.shape[0]:
            raise IndexError(
                f"index {index} is out of bounds for axis 0 with size {value.shape[0]}"
            )
        if value.ndim == 1:
            return element_of(value.node, index % value.shape[0])
    if isinstance(key, tuple) and any(isinstance(part, Batched) for part in key):
        reading.need_scalar("several indices, one of them noisy")
    positions = _positions(value.shape)[key]
    if isinstance(positions, (int, np.integer)):
        flat = int(positions)
        return Batched(reading, (), lambda d: d.reshape(-1, d.shape[-1])[flat], (value.node,))
    return _pick(reading, value, positions)


def _item_by_noise(reading: BatchReading, value: Batched, key: Batched) -> Any:
    if key.dtype == np.bool_:
        reading.need_scalar("a selection of elements by a noisy mask")
    if value.ndim != 1:
        return value[int(key)] if not key.shape else reading.need_scalar("rows picked by noise")
    return _gather(reading, value, key)


def _gather(reading: BatchReading, table: Any, key: Batched) -> Any:
    length = table.shape[0]
    source = _node(reading, table)

    def gather(data: Any, index: Any) -> Any:
        if reading.arrays.count((index < -length) | (index >= length)):
            reading.need_scalar("a noisy index out of bounds")
        index = reading.arrays.where(index < 0, index + length, index)
        if data.shape[-1] == 1 and index.shape[-1] != 1:
            return reading.arrays.lookup(data.reshape(-1), index)
        flat = index.reshape(-1, index.shape[-1])
        rows = [reading.arrays.gather(data, row) for row in flat]
        return rows[0] if index.ndim == 1 else reading.arrays.stack(rows, index.shape[-1])

    if key.ndim > 1:
        reading.need_scalar("an array picked by a matrix of noise")
    return reading.wrap(Batched(reading, key.shape, gather, (source, key.node)))


@_named("_with_item")
def _with_item(reading: BatchReading, value: Batched, key: Any, new: Any) -> Batched:
    """The array after `value[key] = new`."""
    if isinstance(key, Batched):
        if key.shape == value.shape and key.dtype == np.bool_:
            fresh = _array(reading, new)
            if fresh.shape:
                reading.need_scalar("assignment of several values through a noisy mask")
            return np.where(key, fresh, value)  # type: ignore[return-value]
        if key.shape or value.ndim != 1:
            reading.need_scalar("assignment to elements picked by noise")
        places = np.arange(value.shape[0])
        spot = reading.elementwise(np.remainder, (key, value.shape[0]))
        return np.where(reading.elementwise(np.equal, (places, spot)), new, value)  # type: ignore
    value = _array(reading, value)
    positions = np.atleast_1d(_positions(value.shape)[key])
    fresh = _array(reading, new)
    target = np.shape(_positions(value.shape)[key])
    flat = value.reshape(-1)
    elements = [flat[i] for i in range(value.size)]
    spread = np.broadcast_to(_positions(fresh.shape), target).ravel()
    source = fresh.reshape(-1)
    for place, origin in zip(positions.ravel().tolist(), spread.tolist(), strict=True):
        elements[place] = _array(reading, source[origin])
    return reading.stack(elements).reshape(value.shape)
