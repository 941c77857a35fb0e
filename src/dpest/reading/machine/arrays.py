"""Arrays: elements, views, operators and writing, with NumPy's own rules of shape and type.

An array whose values are all known is handed to NumPy. Where one is symbolic, the shape and the
dtype of the result are NumPy's (found by doing the same to ones), and the elements are computed one
by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains import arithmetic
from dpest.reading.domains.arithmetic import COMPARISONS, OPERATORS
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.adopting import NotConcrete, array_content, new_array, to_python
from dpest.reading.machine.heap import ListObject
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, Lazy, Ref

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

EXACT = frozenset(map(np.dtype, ("float64", "int64", "bool")))


def content(m: Machine, array: Array) -> np.ndarray:
    """What an array shows: of its dtype if all is known, of objects otherwise."""
    found = m.state.heap.read(array.buffer).at(array.places)
    return found if isinstance(found, np.ndarray) else _zero_dimensional(found)


def _zero_dimensional(value: Any) -> np.ndarray:
    made = np.empty((), dtype=object)
    made[()] = value
    return made


def is_known(m: Machine, array: Array) -> bool:
    buffer = m.state.heap.read(array.buffer)
    if buffer.undecided:
        return array.dtype != object and buffer.at(array.places).dtype == array.dtype
    return bool(buffer.data.dtype == array.dtype) and array.dtype != object


def elements(m: Machine, array: Array) -> list[Any]:
    """The elements in order, as scalars of NumPy or symbolic numbers."""
    found = content(m, array)
    return list(found.reshape(-1))


def scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as an element of an array of this dtype; refused where that would change it."""
    if dtype.kind == "O":
        return value
    if isinstance(value, Lazy):
        raise Refused("an array of values that are not known")
    if isinstance(value, Real):
        if dtype not in EXACT:
            raise Refused(f"a symbolic number in an array of {dtype}, which rounds or wraps")
        if dtype.kind == "b":
            raise Refused("a symbolic number in an array of truth values")
        if dtype.kind == "i" and not value.integral:
            raise Refused(
                "a noisy or private number in an array of integers, which cuts off its fraction",
                "make the array one of floats",
                final=True,
            )
        return Real(value.form, (dtype.type,))
    if isinstance(value, Truth):
        if dtype.kind != "b":
            raise NotConcrete
        return value.typed(np.bool_)
    try:
        return dtype.type(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Thrown(error) from None


def made_of(m: Machine, values: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array of these elements."""
    typed = []
    for value in values:
        if isinstance(value, Truth) and dtype.kind in "if":
            value = Real(m.indicator(value), (dtype.type,))
        typed.append(scalar(value, dtype))
    if dtype.kind != "O" and not any(isinstance(v, (Real, Truth)) for v in typed):
        return new_array(m.state, np.array(typed, dtype=dtype).reshape(shape))
    data = np.empty(len(typed), dtype=object)
    for i, value in enumerate(typed):
        data[i] = value
    return new_array(m.state, data.reshape(shape), dtype)


def operand(m: Machine, value: Any) -> tuple[np.ndarray, Any]:
    """A value as an array of objects, and a sample of its type for NumPy's rules."""
    if isinstance(value, Array):
        if value.dtype == object:
            raise Refused("an operator on an array of objects")
        return content(m, value), np.ones(value.shape, dtype=value.dtype)
    if isinstance(value, Real):
        return _zero_dimensional(value), _sample(value.kinds)
    if isinstance(value, Truth):
        return _zero_dimensional(value), value.kind(True)
    if arithmetic.is_number(value):
        return _zero_dimensional(value), value
    if m.is_lazy(value):
        return _zero_dimensional(value), m.lazy_sample(value)
    made = m.as_array(value)
    return content(m, made), np.ones(made.shape, dtype=made.dtype)


def _sample(kinds: tuple[type, ...]) -> Any:
    if len(kinds) > 1:
        return 1.0 if float in kinds else kinds[0](1)
    return kinds[0](1)


def _known_operands(m: Machine, values: tuple[Any, ...]) -> list[Any] | None:
    try:
        return [to_python(m.state, v) for v in values]
    except NotConcrete:
        return None


def elementwise(
    m: Machine,
    function: Callable[..., Any],
    sample: Callable[..., Any],
    *values: Any,
    native: bool = True,
) -> Any:
    """`function` on each row of broadcast values; `sample` is NumPy's function, for its types."""
    known = _known_operands(m, values) if native else None
    if known is not None:
        return native_result(m, sample, known)
    parts, samples = zip(*(operand(m, v) for v in values), strict=True)
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(sample(*samples))
        rows = np.broadcast_arrays(*parts)
    except (ValueError, TypeError) as error:
        raise Thrown(error) from None
    columns = [r.reshape(-1) for r in rows]
    made = [function(*row) for row in zip(*columns, strict=True)]
    if not rows[0].shape and not any(isinstance(v, Array) for v in values):
        return scalar(_as_number(m, made[0], result.dtype), result.dtype)
    array = made_of(m, made, rows[0].shape, result.dtype)
    return array if array.shape else elements(m, array)[0]


_NAMES = {function: op for op, function in OPERATORS.items()}


def native_result(m: Machine, function: Callable[..., Any], values: list[Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            result = function(*values)
        if function in _NAMES and len(values) == 2:
            m.known_errors.computed(_NAMES[function], values[0], values[1], result)
        else:
            m.known_errors.called(function, values, result)
        return m.adopted(result)
    except Refused:
        raise
    except Exception as error:
        raise Thrown(error) from None


def operate(m: Machine, op: str, a: Any, b: Any) -> Any:
    if op == "@":
        return m.call_table(np.matmul, (a, b))
    _no_sequences_of_objects(m, a, b)
    return elementwise(
        m, lambda x, y: m.scalar_operation(op, x, y), OPERATORS[op], _listed(m, a), _listed(m, b)
    )


def compare(m: Machine, op: str, a: Any, b: Any) -> Any:
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        raise Refused("an array compared with something that is no number")
    return elementwise(
        m, lambda x, y: m.scalar_comparison(op, x, y), COMPARISONS[op], _listed(m, a), _listed(m, b)
    )


def operate_unary(m: Machine, op: str, a: Array) -> Any:
    functions: dict[str, Callable[[Any], Any]] = {
        "-": np.negative,
        "+": np.positive,
        "~": np.invert,
    }
    return elementwise(m, lambda x: arithmetic_unary(m, op, x), functions[op], a)


def arithmetic_unary(m: Machine, op: str, value: Any) -> Any:
    if isinstance(value, (Real, Truth)):
        return arithmetic.unary(m, op, value)
    return {"-": lambda v: -v, "+": lambda v: +v, "~": lambda v: ~v}[op](value)


def _listed(m: Machine, value: Any) -> Any:
    """Lists and tuples in arithmetic with an array are arrays."""
    if isinstance(value, tuple):
        return m.as_array(value)
    if isinstance(value, Ref) and isinstance(m.state.heap.read(value), ListObject):
        return m.as_array(value)
    return value


def _no_sequences_of_objects(m: Machine, *values: Any) -> None:
    for value in values:
        if isinstance(value, Array) and value.dtype.kind in "US":
            raise Refused("arithmetic with an array of text")


def operate_in_place(m: Machine, op: str, a: Array, b: Any) -> Any:
    """`a op= b`: the array keeps its dtype, or NumPy refuses."""
    known = _known_operands(m, (a, _listed(m, b)))
    if known is not None:
        target, other = known
        try:
            with np.errstate(all="ignore"):
                changed = _INPLACE[op](target, other)
        except Exception as error:
            raise Thrown(error) from None
        write(m, a, np.asarray(changed))
        return a
    _, left = operand(m, a)
    _, right = operand(m, _listed(m, b))
    try:
        with np.errstate(all="ignore"):
            _INPLACE[op](left.copy(), right)  # raises where the dtype would have to change
    except (TypeError, ValueError) as error:
        raise Thrown(error) from None
    result = operate(m, op, a, b)
    new = content(m, result) if isinstance(result, Array) else _zero_dimensional(result)
    values = [scalar(_as_number(m, v, a.dtype), a.dtype) for v in new.reshape(-1)]
    objects = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        objects[i] = value
    write(m, a, objects.reshape(new.shape))
    return a


def _as_number(m: Machine, value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, Truth) and dtype.kind in "if":
        return Real(m.indicator(value), (dtype.type,))
    return value


_INPLACE: dict[str, Callable[[Any, Any], Any]] = {}


def _fill_in_place() -> None:
    import operator

    names = {
        "+": "iadd", "-": "isub", "*": "imul", "/": "itruediv", "//": "ifloordiv", "%": "imod",
        "**": "ipow", "&": "iand", "|": "ior", "^": "ixor", "<<": "ilshift", ">>": "irshift",
        "@": "imatmul",
    }  # fmt: skip
    for op, name in names.items():
        _INPLACE[op] = getattr(operator, name)


_fill_in_place()


def write(m: Machine, array: Array, values: np.ndarray) -> None:
    """Puts elements into the places that an array shows."""
    buffer = m.state.heap.write(array.buffer)
    if values.dtype == object and buffer.data.dtype != object:
        if any(isinstance(v, (Real, Truth)) for v in values.reshape(-1)) or array.dtype == object:
            buffer.data = _as_objects(buffer.data)
        else:
            values = values.astype(array.dtype)
    if array.places.ndim == 0:
        buffer.data[int(array.places)] = values[()]  # an array of no dimension is not an element
    else:
        buffer.data[array.places] = values
    known = not any(isinstance(v, (Real, Truth)) for v in buffer.data)
    if buffer.data.dtype == object and array.dtype != object and known:
        buffer.data = buffer.data.astype(array.dtype)


def _as_objects(data: np.ndarray) -> np.ndarray:
    """Elements as scalars of their own dtype: `astype(object)` would make them Python's."""
    made = np.empty(data.size, dtype=object)
    for i in range(data.size):
        made[i] = data[i]
    return made


# Elements and views


def item(m: Machine, array: Array, index: Any) -> Any:
    where = _index(m, array, index)
    try:
        found = array.places[where]
    except (IndexError, ValueError, TypeError) as error:
        raise Thrown(error) from None
    if not isinstance(found, np.ndarray):
        return m.state.heap.read(array.buffer).at(found)
    if np.shares_memory(found, array.places) or not found.size:
        return Array(array.buffer, found, array.dtype)
    shown = m.state.heap.read(array.buffer).at(found)
    return new_array(m.state, np.array(shown), array.dtype)


def set_item(m: Machine, array: Array, index: Any, value: Any) -> None:
    where = _index(m, array, index)
    try:
        found = array.places[where]
    except (IndexError, ValueError, TypeError) as error:
        raise Thrown(error) from None
    target = Array(array.buffer, np.asarray(found), array.dtype)
    known = _known_operands(m, (value,))
    if known is not None and array.dtype != object:
        _set_known(m, target, known[0])
        return
    source = operand(m, _listed(m, value))[0] if array.dtype != object else _object_row(m, value)
    try:
        rows = np.broadcast_to(source, target.shape)
    except ValueError as error:
        raise Thrown(error) from None
    values = np.empty(rows.size, dtype=object)
    for i, v in enumerate(rows.reshape(-1)):
        values[i] = scalar(_as_number(m, v, array.dtype), array.dtype)
    write(m, target, values.reshape(rows.shape))


def _object_row(m: Machine, value: Any) -> np.ndarray:
    if isinstance(value, (Array, tuple, Ref)):
        raise Refused("containers in an array of objects")
    return _zero_dimensional(value)


def _set_known(m: Machine, target: Array, value: Any) -> None:
    shown = np.zeros(target.shape, dtype=target.dtype)
    try:
        with np.errstate(all="ignore"):
            shown[...] = value
    except Exception as error:
        raise Thrown(error) from None
    if m.state.heap.read(target.buffer).data.dtype == object:
        write(m, target, _as_objects(shown.reshape(-1)).reshape(shown.shape))
    else:
        write(m, target, shown)


def _index(m: Machine, array: Array, index: Any) -> Any:
    """An index with known parts; a symbolic one forks by its value, a mask by its truths."""
    if isinstance(index, tuple):
        return tuple(_index_part(m, array, i, axis) for axis, i in enumerate(index))
    return _index_part(m, array, index, 0)


def _index_part(m: Machine, array: Array, index: Any, axis: int) -> Any:
    if isinstance(index, Real):
        if axis >= len(array.shape):
            raise Thrown(IndexError("too many indices for array"))
        return m.position(index, array.shape[axis])
    if isinstance(index, Truth):
        return m.holds(index)
    if isinstance(index, Array) and not is_known(m, index):
        values = elements(m, index)
        if index.dtype.kind == "b":
            known = [m.holds(v) if isinstance(v, Truth) else bool(v) for v in values]
            return np.array(known, dtype=bool).reshape(index.shape)
        size = array.shape[axis] if array.shape else 0
        places = [m.position(v, size) if isinstance(v, Real) else int(v) for v in values]
        return np.array(places, dtype=int).reshape(index.shape)
    try:
        return to_python(m.state, index)
    except NotConcrete:
        if isinstance(index, Ref):
            return _index_part(m, array, m.as_array(index), axis)
        raise Refused(f"an index that is a {m.type_name(index)}") from None


def view(m: Machine, array: Array, change: Callable[[np.ndarray], Any]) -> Any:
    """What a function of NumPy that moves elements gives: a view where NumPy gives one."""
    try:
        found = change(array.places)
    except Exception as error:
        raise Thrown(error) from None
    if found is array.places:
        return array
    if np.shares_memory(found, array.places) or not found.size:
        return Array(array.buffer, found, array.dtype)
    return new_array(m.state, np.array(m.state.heap.read(array.buffer).at(found)), array.dtype)


def known_content(m: Machine, array: Array) -> np.ndarray:
    return array_content(m.state, array)
