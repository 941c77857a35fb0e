"""Arrays of NumPy: how they are made, their attributes, views and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains.arithmetic import is_number, is_symbolic
from dpest.reading.domains.numbers import Real, Truth, kinds_of
from dpest.reading.machine.adopting import new_array, to_python
from dpest.reading.machine.heap import ListObject
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, BoundMethod, Known
from dpest.reading.table.registry import NATIVE, TABLE, entry, native

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

native(
    [
        *(np.zeros, np.ones, np.full, np.empty, np.arange, np.linspace, np.logspace, np.eye),
        *(np.identity, np.dtype, np.finfo, np.iinfo, np.geomspace, np.tri, np.meshgrid),
        *(np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16),
        *(np.uint32, np.uint64, np.bool_, np.float64),
    ]
)


def _listed(m: Machine, value: Any) -> Any:
    """Nested lists and tuples of values, as NumPy sees them; arrays as lists of their rows."""
    if isinstance(value, Array):
        return (
            [_listed(m, v) for v in m.state_items(value)]
            if value.shape
            else (m.arrays.elements(m, value)[0])
        )
    items = m.sequence(value)
    if items is not None:
        return [_listed(m, v) for v in items]
    if isinstance(value, range):
        return list(value)
    if is_number(value) or is_symbolic(value) or isinstance(value, str):
        return value
    raise Refused(f"an array of a {m.type_name(value)}")


def _samples(nested: Any) -> Any:
    """The same nesting with ones of each type: NumPy finds shape and dtype of it."""
    if isinstance(nested, list):
        return [_samples(v) for v in nested]
    if is_symbolic(nested):
        kinds = kinds_of(nested)
        return (float if float in kinds else kinds[0])(1)
    return nested


@entry(np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
def array(m: Machine, value: Any, dtype: Any = None, copy: Any = True, **options: Any) -> Any:
    if options:
        raise Refused("an option of np.array")
    if isinstance(value, Array):
        made = m.call_table(np.copy, (value,))
        return made if dtype is None else astype(m, made, dtype)
    if isinstance(value, Known):
        return m.adopted(np.array(value.thing, dtype))
    if m.is_lazy(value):
        return m.lazy_array(value, dtype)
    nested = _listed(m, value)
    try:
        sample = np.array(_samples(nested))
    except ValueError as error:
        raise Thrown(error) from None
    if sample.dtype == object:
        raise Refused("an array of objects")
    flat: list[Any] = []

    def collect(part: Any) -> None:
        if isinstance(part, list):
            for inner in part:
                collect(inner)
        else:
            flat.append(part)

    collect(nested)
    made = m.arrays.made_of(m, flat, sample.shape, sample.dtype)
    return made if dtype is None else astype(m, made, dtype)


@entry(np.asarray, np.asanyarray, np.ascontiguousarray)
def asarray(m: Machine, value: Any, dtype: Any = None) -> Any:
    if isinstance(value, Array) and (dtype is None or np.dtype(dtype) == value.dtype):
        return value
    return array(m, value, dtype)


@entry(np.copy)
def copy(m: Machine, value: Any, *_: Any) -> Any:
    if not isinstance(value, Array):
        return array(m, value)
    content = m.arrays.content(m, value)
    return new_array(m.state, np.array(content), value.dtype)


@entry(np.ndarray.copy)
def copy_method(m: Machine, value: Array, *_: Any) -> Any:
    return copy(m, value)


def _like(fill: Any) -> Any:
    def made(m: Machine, value: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
        if options:
            raise Refused("an option of np.zeros_like or its like")
        lazy = m.lazy_like(fill, value)
        if lazy is not None:
            return lazy
        shown = value if isinstance(value, Array) else array(m, value)
        kind = shown.dtype if dtype is None else np.dtype(dtype)
        if fill is None:
            filling = args[0]
            if is_symbolic(filling):
                return m.arrays.made_of(m, [filling] * shown.places.size, shown.shape, kind)
            return new_array(m.state, np.full(shown.shape, filling, kind))
        return new_array(m.state, np.full(shown.shape, fill, kind))

    return made


entry(np.zeros_like, np.empty_like)(_like(0))
entry(np.ones_like)(_like(1))
entry(np.full_like)(_like(None))


@entry(np.full)
def full(m: Machine, shape: Any, value: Any, dtype: Any = None) -> Any:
    size = to_python(m.state, shape)
    sample = np.full(size, _samples(value), dtype)
    return m.arrays.made_of(m, [value] * sample.size, sample.shape, sample.dtype)


@entry(np.ndarray.astype)
def astype(m: Machine, value: Array, dtype: Any, **options: Any) -> Any:
    if options:
        raise Refused("an option of astype")
    kind = np.dtype(dtype)
    if m.arrays.is_known(m, value):
        with np.errstate(all="ignore"):
            return new_array(m.state, m.arrays.known_content(m, value).astype(kind))
    if kind == value.dtype:
        return copy(m, value)
    if kind == np.float64 and value.dtype in (np.dtype(np.int64), np.dtype(bool)):
        return m.arrays.made_of(m, m.arrays.elements(m, value), value.shape, kind)
    if kind == np.int64 and value.dtype == bool:
        return m.arrays.made_of(m, m.arrays.elements(m, value), value.shape, kind)
    if kind == np.bool_:
        truths = [m.truth_value(v) for v in m.arrays.elements(m, value)]
        return m.arrays.made_of(m, truths, value.shape, kind)
    if kind == np.int64 and value.dtype == np.float64:
        cut = [TABLE[int](m, v) for v in m.arrays.elements(m, value)]
        whole = [Real(v.form, (np.int64,)) if isinstance(v, Real) else np.int64(v) for v in cut]
        return m.arrays.made_of(m, whole, value.shape, kind)
    raise Refused(
        f"noisy or private numbers that are cast to {kind}, which wraps or rounds",
        "keep them as float64",
    )


# Attributes


_METHODS = (
    *("sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "prod", "std"),
    *("var", "clip", "round", "dot", "argsort", "repeat", "take", "nonzero", "diagonal", "trace"),
    *("reshape", "ravel", "squeeze", "transpose", "swapaxes", "searchsorted", "cumprod", "ptp"),
)


def attribute(m: Machine, thing: Array, name: str) -> Any:
    places = thing.places
    if name == "shape":
        return tuple(int(n) for n in places.shape)
    if name == "size":
        return int(places.size)
    if name == "ndim":
        return int(places.ndim)
    if name == "dtype":
        return thing.dtype
    if name == "T":
        return m.arrays.view(m, thing, np.transpose)
    if name == "itemsize":
        return thing.dtype.itemsize
    if name == "real" and thing.dtype.kind in "fib":
        return thing
    if name in _METHODS:
        return BoundMethod(getattr(np, name), thing)
    method = getattr(np.ndarray, name, None)
    if method is None:
        raise Thrown(AttributeError(f"'numpy.ndarray' object has no attribute '{name}'"))
    if not callable(method):
        raise Refused(f"the attribute `{name}` of an array")
    return BoundMethod(method, thing)


# Views


def _view(function: Any) -> Any:
    def made(m: Machine, value: Any, *args: Any, **options: Any) -> Any:
        shown = value if isinstance(value, Array) else array(m, value)
        known = [to_python(m.state, a) for a in args]
        named = {k: to_python(m.state, v) for k, v in options.items()}
        return m.arrays.view(m, shown, lambda places: function(places, *known, **named))

    return made


for _function in (
    *(np.reshape, np.ravel, np.transpose, np.squeeze, np.swapaxes, np.expand_dims, np.flip),
    *(np.atleast_1d, np.atleast_2d, np.moveaxis, np.fliplr, np.flipud),
):
    entry(_function)(_view(_function))
entry(np.ndarray.flatten)(lambda m, value, *a: copy(m, _view(np.ravel)(m, value)))


@entry(np.reshape)
def reshape(m: Machine, value: Any, *shape: Any, **options: Any) -> Any:
    if options:
        raise Refused("an option of reshape")
    known = [to_python(m.state, s) for s in shape]
    size = known[0] if len(known) == 1 else tuple(known)
    shown = value if isinstance(value, Array) else array(m, value)
    return m.arrays.view(m, shown, lambda places: places.reshape(size))


def _moved(function: Any) -> Any:
    """Functions that copy elements to other places, and do nothing else to them."""

    def made(m: Machine, value: Any, *args: Any, **options: Any) -> Any:
        shown = value if isinstance(value, Array) else array(m, value)
        known = [to_python(m.state, a) for a in args]
        named = {k: to_python(m.state, v) for k, v in options.items()}
        try:
            places = np.asarray(function(shown.places, *known, **named))
        except Exception as error:
            raise Thrown(error) from None
        found = m.state.heap.read(shown.buffer).at(places)
        return new_array(m.state, np.array(found), shown.dtype)

    return made


for _mover in (np.repeat, np.tile, np.take, np.roll, np.delete):
    entry(_mover)(_moved(_mover))
    NATIVE.add(_mover)


def _joined(function: Any) -> Any:
    def made(m: Machine, values: Any, axis: Any = 0, **options: Any) -> Any:
        if options:
            raise Refused("an option of np.concatenate or its like")
        parts = [v if isinstance(v, Array) else array(m, v) for v in m.all_items(values, "joining")]
        kind = np.result_type(*(p.dtype for p in parts)) if parts else np.dtype(float)
        contents = []
        for part in parts:
            content = np.empty(part.shape, dtype=object)
            content.reshape(-1)[:] = [_cell(v) for v in m.arrays.elements(m, part)]
            contents.append(content)
        try:
            joined = function(contents, axis) if function in _WITH_AXIS else function(contents)
        except Exception as error:
            raise Thrown(error) from None
        return m.arrays.made_of(m, [c.value for c in joined.reshape(-1)], joined.shape, kind)

    return made


class _Cell:
    """Keeps NumPy from looking into a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _cell(value: Any) -> _Cell:
    return _Cell(value)


_WITH_AXIS = (np.concatenate, np.stack)
for _joiner in (np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack):
    entry(_joiner)(_joined(_joiner))


@entry(np.append)
def append(m: Machine, values: Any, more: Any, axis: Any = None) -> Any:
    if axis is not None:
        raise Refused("np.append with an axis")
    parts = (_view(np.ravel)(m, _as_array(m, values)), _view(np.ravel)(m, _as_array(m, more)))
    return _joined(np.concatenate)(m, parts)


def _as_array(m: Machine, value: Any) -> Array:
    made = value if isinstance(value, Array) else array(m, value)
    if not isinstance(made, Array):
        raise Refused("an array of something that is no sequence")
    return made


# Methods


@entry(np.ndarray.tolist)
def tolist(m: Machine, value: Array) -> Any:
    def go(part: Any) -> Any:
        if isinstance(part, Array):
            if not part.shape:
                return _python(m.arrays.elements(m, part)[0])
            return m.state.heap.new(ListObject([go(v) for v in m.state_items(part)]))
        return _python(part)

    return go(value)


def _python(value: Any) -> Any:
    """A scalar of NumPy's as Python's."""
    if isinstance(value, Real):
        kind: type = int if value.integral else float
        return Real(value.form, (kind,))
    if isinstance(value, Truth):
        return value.typed(bool)
    return value.item() if isinstance(value, np.generic) else value


@entry(np.ndarray.item)
def item(m: Machine, value: Array, *index: Any) -> Any:
    if index:
        raise Refused("item(…) with an index")
    if value.places.size != 1:
        raise Thrown(ValueError("can only convert an array of size 1 to a Python scalar"))
    return _python(m.arrays.elements(m, value)[0])


@entry(np.ndarray.fill)
def fill(m: Machine, value: Array, filling: Any) -> Any:
    m.arrays.set_item(m, value, ..., filling)
    return None


@entry(np.shape)
def shape(m: Machine, value: Any) -> Any:
    return tuple(int(n) for n in _as_array(m, value).shape) if not is_symbolic(value) else ()


@entry(np.size)
def size(m: Machine, value: Any) -> Any:
    lazy = m.lazy_length(value)
    if lazy is not None:
        return lazy
    return 1 if is_symbolic(value) else int(_as_array(m, value).places.size)


@entry(np.ndim)
def ndim(m: Machine, value: Any) -> Any:
    return 0 if is_symbolic(value) else int(_as_array(m, value).places.ndim)


native([np.shape, np.size, np.ndim])
