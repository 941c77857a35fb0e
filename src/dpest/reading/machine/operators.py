"""Operators and comparisons on every kind of value: numbers, text, containers, arrays, objects."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise.uniform import Uniform
from dpest.reading.domains import arithmetic
from dpest.reading.domains.arithmetic import COMPARISONS, OPERATORS, conjunction_of, disjunction_of
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import known, prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import class_of, find_in_class, is_object
from dpest.reading.machine.heap import DequeObject, DictObject, ListObject, SetObject
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, DictView, Known, Lazy, Ref, is_plain

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "**": "pow", "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_REFLECTED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_MOST_REPEATED = 1_000_000


def native(function: Callable[..., Any], *values: Any) -> Any:
    """An operator of Python's on plain values; what it raises is the program's exception."""
    try:
        with np.errstate(all="ignore"):
            return function(*values)
    except Exception as error:
        raise Thrown(error) from None


def is_scalar(value: Any) -> bool:
    return isinstance(value, (Real, Truth)) or arithmetic.is_number(value)


def binary(m: Machine, op: str, a: Any, b: Any) -> Any:
    """`a op b`, or an Enter where a method of the program does it."""
    if is_plain(a) and is_plain(b):
        if op in ("*", "**", "<<"):
            _not_too_large(op, a, b)
        result = native(OPERATORS[op], a, b)
        m.known_errors.computed(op, a, b, result)
        return result
    if isinstance(a, Known) or isinstance(b, Known):
        return known.native(m, OPERATORS[op], (a, b), {}, f"`{op}` of a table")
    if isinstance(a, Array) or isinstance(b, Array):
        return m.arrays.operate(m, op, a, b)
    if is_scalar(a) and is_scalar(b):
        return arithmetic.binary(m, op, a, b)
    lazy = m.lazy_operation(op, a, b)
    if lazy is not None:
        return lazy
    _no_numpy_scalar(m, op, a, b)
    if is_object(m.state, a) or is_object(m.state, b):
        return _by_method(m, op, a, b)
    found = _of_containers(m, op, a, b)
    if found is not None:
        return found
    raise Refused(f"`{op}` of a {m.type_name(a)} and a {m.type_name(b)}")


def _no_numpy_scalar(m: Machine, op: str, a: Any, b: Any) -> None:
    """NumPy's numbers take lists for arrays, and objects for something that it may look into."""
    for one, other in ((a, b), (b, a)):
        kinds = one.kinds if isinstance(one, Real) else (getattr(one, "kind", type(one)),)
        if is_scalar(one) and any(issubclass(k, np.generic) for k in kinds):
            whole = op == "*" and isinstance(one, np.integer)
            if not whole and other is not None and not isinstance(other, (str, bytes)):
                raise Refused(f"`{op}` of a number of NumPy's and a {m.type_name(other)}")


def _not_too_large(op: str, a: Any, b: Any) -> None:
    """Python would do it, slowly: numbers of millions of digits, texts of gigabytes."""
    for one, other in ((a, b), (b, a)):
        repeats = op == "*" and isinstance(one, (str, bytes, tuple)) and isinstance(other, int)
        if repeats and len(one) * other > _MOST_REPEATED:
            raise Refused("a text or tuple of more than a million parts")
    if op != "*" and isinstance(a, int) and isinstance(b, int) and abs(b) > 100_000:
        raise Refused("a power with a huge exponent")


def _of_containers(m: Machine, op: str, a: Any, b: Any) -> Any:
    heap = m.state.heap
    left = heap.read(a) if isinstance(a, Ref) else a
    right = heap.read(b) if isinstance(b, Ref) else b
    if op == "+":
        if isinstance(left, ListObject) and isinstance(right, ListObject):
            return heap.new(ListObject([*left.items, *right.items]))
        if type(left) is tuple and type(right) is tuple:
            return left + right
    if op == "*":
        for one, other in ((left, right), (right, left)):
            if isinstance(other, (int, np.integer)):
                if isinstance(one, ListObject):
                    _check_repeat(len(one.items), other)
                    return heap.new(ListObject(one.items * int(other)))
                if type(one) is tuple:
                    _check_repeat(len(one), other)
                    return one * int(other)
            elif isinstance(one, ListObject) or type(one) is tuple:
                raise Refused("a repetition by a symbolic number")
    if isinstance(left, SetObject) and isinstance(right, SetObject) and op in ("|", "&", "-", "^"):
        made = OPERATORS[op](left.items.keys(), right.items.keys())
        return heap.new(SetObject(dict.fromkeys(made)))
    if isinstance(left, DictObject) and isinstance(right, DictObject) and op == "|":
        return heap.new(DictObject({**left.items, **right.items}, left.kind))
    if op == "%" and isinstance(a, (str, bytes)):
        raise Refused("text of a symbolic value", final=True)
    return None


def _check_repeat(size: int, times: Any) -> None:
    if size * int(times) > _MOST_REPEATED:
        raise Refused("a list of more than a million elements")


def inplace(m: Machine, op: str, a: Any, b: Any) -> Any:
    """`a op= b`: changes what can change."""
    if isinstance(a, Array):
        return m.arrays.operate_in_place(m, op, a, b)
    if isinstance(a, Ref):
        thing = m.state.heap.read(a)
        if isinstance(thing, ListObject):
            if op == "+":
                return Enter(prelude.extend_, (a, b)) if not m.extend_list(a, b) else a
            if op == "*" and isinstance(b, (int, np.integer)):
                _check_repeat(len(thing.items), b)
                written = m.state.heap.write(a)
                written.items *= int(b)
                return a
        if isinstance(thing, DictObject) and op == "|":
            other = m.state.heap.read(b) if isinstance(b, Ref) else None
            if not isinstance(other, DictObject):
                raise Refused("`|=` of a dict and something else")
            m.state.heap.write(a).items.update(other.items)
            return a
        if isinstance(thing, SetObject) and op in ("|", "&", "-", "^"):
            made = binary(m, op, a, b)
            m.state.heap.write(a).items = dict(m.state.heap.read(made).items)
            return a
        if isinstance(thing, DequeObject):
            raise Refused(f"`{op}=` of a deque")
        if is_object(m.state, a):
            method = find_in_class(m.state, class_of(m.state, a), f"__i{_METHODS[op]}__")
            if method is not None:
                return Enter(prelude.inplace_, (method, a, b, _METHODS[op]))
    return binary(m, op, a, b)


def _by_method(m: Machine, op: str, a: Any, b: Any) -> Any:
    """An operator that a class of the program defines: `__add__`, or the other's `__radd__`."""
    name = _METHODS[op]
    left = right = None
    if is_object(m.state, a):
        left = find_in_class(m.state, class_of(m.state, a), f"__{name}__")
    if is_object(m.state, b):
        right = find_in_class(m.state, class_of(m.state, b), f"__r{name}__")
        if is_object(m.state, a):
            kinds = class_of(m.state, a), class_of(m.state, b)
            if kinds[0] is kinds[1] or kinds[0] == kinds[1]:
                right = None
            elif m.is_subclass(kinds[1], kinds[0]):
                raise Refused("an operator between an object and one of a subclass")
    if left is None and right is None:
        raise Thrown(TypeError(f"unsupported operand type(s) for {op}"))
    if left is None:
        return Enter(prelude.one_way_, (right, b, a, op))
    if right is None:
        return Enter(prelude.one_way_, (left, a, b, op))
    return Enter(prelude.two_ways_, (left, right, a, b, op))


def unary(m: Machine, op: str, a: Any) -> Any:
    if is_plain(a):
        return native(_UNARY[op], a)
    if op == "not":
        truth = m.truth_value(a)
        if isinstance(truth, Enter):
            return Enter(prelude.not_, (truth.function, *truth.args))
        return not truth if isinstance(truth, bool) else truth.negated().typed(bool)
    if isinstance(a, Known):
        return known.native(m, _UNARY[op], (a,), {}, f"`{op}` of a table")
    if isinstance(a, Array):
        return m.arrays.operate_unary(m, op, a)
    if is_scalar(a):
        return arithmetic.unary(m, op, a)
    lazy = m.lazy_operation(op, a)
    if lazy is not None:
        return lazy
    if is_object(m.state, a):
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[op]
        method = find_in_class(m.state, class_of(m.state, a), name)
        if method is not None:
            return Enter(method, (a,))
    raise Refused(f"`{op}` of a {m.type_name(a)}")


# Comparisons


def compare(m: Machine, op: str, a: Any, b: Any) -> Any:
    if op == "is" or op == "is not":
        same = identical(m, a, b)
        if isinstance(same, Truth):
            return same if op == "is" else same.negated()
        return same == (op == "is")
    if op == "in" or op == "not in":
        return contains(m, b, a, negated=op == "not in")
    if is_plain(a) and is_plain(b):
        return native(COMPARISONS[op], a, b)
    if isinstance(a, Known) or isinstance(b, Known):
        return known.native(m, COMPARISONS[op], (a, b), {}, f"`{op}` of a table")
    if isinstance(a, Array) or isinstance(b, Array):
        return m.arrays.compare(m, op, a, b)
    if is_scalar(a) and is_scalar(b):
        _chance_of(m, a, b)
        return arithmetic.compare(m, op, a, b)
    lazy = m.lazy_operation(op, a, b)
    if lazy is not None:
        return lazy
    _no_numpy_scalar(m, op, a, b)
    if op in ("==", "!="):
        return _compared_by_equality(m, op, a, b)
    if is_object(m.state, a) or is_object(m.state, b):
        return _ordered_by_method(m, op, a, b)
    return _ordered(m, op, a, b)


def _chance_of(m: Machine, a: Any, b: Any) -> None:
    """A uniform draw between 0 and 1 is compared with a number, which makes a chance."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Real) and arithmetic.is_number(other) and len(one.form.terms) == 1:
            ((symbol, times),) = one.form.terms.items()
            noise = m.supports.noises.get(symbol)
            if isinstance(noise, Uniform) and (noise.low, noise.high) == (0, 1):
                m.known_errors.interval(other, times, one.form.constant)


def _compared_by_equality(m: Machine, op: str, a: Any, b: Any) -> Any:
    types_of_arrays = all(isinstance(v, (np.dtype, type, str)) for v in (a, b))
    if types_of_arrays and (isinstance(a, np.dtype) or isinstance(b, np.dtype)):
        return native(COMPARISONS[op], a, b)
    if is_object(m.state, a) or is_object(m.state, b):
        return _equal_by_method(m, op, a, b)
    found = equal(m, a, b)
    if op == "==":
        return found
    return not found if isinstance(found, (bool, np.bool_)) else found.negated()


def _equal_by_method(m: Machine, op: str, a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if not is_object(m.state, one):
            continue
        cls = class_of(m.state, one)
        method = find_in_class(m.state, cls, f"__{_COMPARED[op]}__")
        if method is None and op == "!=":
            method = find_in_class(m.state, cls, "__eq__")
            if method is not None:
                return Enter(prelude.unequal_, (m.dataclass_method(method), one, other))
        if method is not None:
            function = m.dataclass_method(method)
            return Enter(prelude.equal_, (function, one, other, identical(m, a, b), op))
    return identical(m, a, b) == (op == "==")


def _ordered_by_method(m: Machine, op: str, a: Any, b: Any) -> Any:
    for one, other, name in ((a, b, op), (b, a, _REFLECTED[op])):
        if is_object(m.state, one):
            method = find_in_class(m.state, class_of(m.state, one), f"__{_COMPARED[name]}__")
            if isinstance(method, types.FunctionType) or method is not None:
                return Enter(prelude.one_way_, (m.dataclass_method(method), one, other, op))
    raise Thrown(TypeError(f"'{op}' not supported between instances"))


def _ordered(m: Machine, op: str, a: Any, b: Any) -> Any:
    """< and its like of sequences: by the first elements that differ."""
    left, right = m.sequence(a), m.sequence(b)
    if left is None or right is None or type(left) is not type(right):
        if isinstance(m.state.heap.read(a) if isinstance(a, Ref) else None, SetObject):
            raise Refused("a comparison of sets by inclusion")
        names = f"'{m.type_name(a)}' and '{m.type_name(b)}'"
        raise Thrown(TypeError(f"'{op}' not supported between instances of {names}"))
    for x, y in zip(left, right, strict=False):
        if _never_equal(m, x, y):
            return compare(m, op, x, y)
        same = equal(m, x, y)
        if not (m.holds(same) if isinstance(same, Truth) else same):
            return compare(m, op, x, y)
    return COMPARISONS[op](len(left), len(right))


def _never_equal(m: Machine, a: Any, b: Any) -> bool:
    """Whether two numbers are equal with probability 0 alone."""
    if not is_scalar(a) or not is_scalar(b):
        return False
    numbers = [arithmetic.form_of(m, v) for v in (a, b) if not isinstance(v, Truth)]
    if len(numbers) != 2:
        return False
    gap = numbers[0].minus(numbers[1])
    kept = any(s.kind == "state" for s in gap.terms)  # of an earlier turn
    return m.is_null(gap) or (kept and m.has_continuous_noise(gap))


def equal(m: Machine, a: Any, b: Any) -> Any:
    """Whether two values without methods of the program are equal: a bool or a Truth."""
    if is_plain(a) and is_plain(b):
        return native(operator.eq, a, b)
    if is_scalar(a) and is_scalar(b):
        return arithmetic.compare(m, "==", a, b)
    if is_object(m.state, a) or is_object(m.state, b):
        for one in (a, b):
            cls = class_of(m.state, one) if is_object(m.state, one) else object
            if find_in_class(m.state, cls, "__eq__") is not None:
                raise Refused("objects with an `__eq__` of their own, inside of others")
        return identical(m, a, b)
    if isinstance(a, Array) or isinstance(b, Array):
        raise Refused("arrays compared inside of other containers")
    left, right = m.sequence(a), m.sequence(b)
    if left is not None and right is not None:
        if type(left) is not type(right) or len(left) != len(right):
            return False
        return _all_equal(m, list(zip(left, right, strict=True)))
    one = m.state.heap.read(a) if isinstance(a, Ref) else a
    other = m.state.heap.read(b) if isinstance(b, Ref) else b
    if isinstance(one, DictObject) and isinstance(other, DictObject):
        if one.items.keys() != other.items.keys():
            return False
        return _all_equal(m, [(v, other.items[k]) for k, v in one.items.items()])
    sets = [v.items.keys() if isinstance(v, SetObject) else v for v in (one, other)]
    if all(isinstance(v, (frozenset, type({}.keys()))) for v in sets):
        return sets[0] == sets[1]
    if m.is_lazy(a) or m.is_lazy(b):
        raise Refused("== of something of unknown length")
    if type(one) is type(other) and isinstance(one, DequeObject) and isinstance(other, DequeObject):
        if len(one.items) != len(other.items):
            return False
        return _all_equal(m, list(zip(one.items, other.items, strict=True)))
    return identical(m, a, b)


def _all_equal(m: Machine, pairs: list[tuple[Any, Any]]) -> Any:
    parts = []
    for x, y in pairs:
        if x is y and not isinstance(x, (Real, Truth)):
            continue
        found = equal(m, x, y)
        if found is False:
            return False
        if isinstance(found, Truth):
            found = found.typed(bool)
        parts.append(found)
    return conjunction_of(tuple(parts))


_SINGLETONS = (type(None), bool, type(...), type(NotImplemented), type)


def identical(m: Machine, a: Any, b: Any) -> Any:
    """`a is b`; numbers and text have no identity that a program may rely on."""
    if isinstance(a, Ref) or isinstance(b, Ref):
        return a == b
    for one, other in ((a, b), (b, a)):
        if isinstance(one, _SINGLETONS):
            if isinstance(other, Truth):
                if other.kind is bool and isinstance(one, bool):
                    return other if one else other.negated()
                return False
            if isinstance(other, Real):
                if isinstance(one, bool) and bool in other.kinds:
                    raise Refused("`is` of a number that may be a bool")
                return False
            return a is b
    if isinstance(a, (Real, Truth)) or isinstance(b, (Real, Truth)):
        if is_scalar(a) and is_scalar(b):
            raise Refused("`is` between numbers", "compare them with ==")
        return False
    if is_plain(a) and is_plain(b):
        if type(a) is not type(b):
            return False
        raise Refused("`is` between numbers or texts", "compare them with ==")
    if isinstance(a, Lazy) or isinstance(b, Lazy):
        raise Refused("`is` between values that depend on the length of the data")
    if isinstance(a, tuple) and isinstance(b, tuple) and not (a and b):
        raise Refused("`is` between tuples", "compare them with ==")
    return a is b


def contains(m: Machine, container: Any, item: Any, *, negated: bool) -> Any:
    """`item in container`, or code to be executed."""
    search = Enter(prelude.contains_none_ if negated else prelude.contains_, (container, item))
    if m.is_lazy(container):
        return search
    if isinstance(container, Known):
        found = known.native(m, operator.contains, (container, item), {}, "`in` of a table")
        return found != negated
    if isinstance(container, (str, bytes)) or (is_plain(container) and is_plain(item)):
        if not is_plain(item):
            raise Refused("text that is looked for in text, and is not known")
        return native(operator.contains, container, item) != negated
    if is_object(m.state, container):
        method = find_in_class(m.state, class_of(m.state, container), "__contains__")
        if method is not None:
            return Enter(prelude.contains_by_method_, (method, container, item, negated))
        return search
    if isinstance(container, DictView) and container.name == "keys":
        container = container.owner
    keys = m.keys_of(container)
    if keys is not None:
        found = _key_in(m, keys, item)
    else:
        items = m.sequence(container)
        if items is None:
            if isinstance(container, DictView):
                items = m.view_items(container)
            elif isinstance(container, Array):
                items = m.arrays.elements(m, container)
            else:
                return search
        if any(is_object(m.state, v) for v in (*items, item)):
            return search
        parts = []
        for value in items:
            same = value is item and not isinstance(item, (Real, Truth))
            part = True if same else equal(m, value, item)
            parts.append(part.typed(bool) if isinstance(part, Truth) else bool(part))
        found = disjunction_of(tuple(parts))
    if isinstance(found, Truth):
        return found.negated() if negated else found
    return bool(found) != negated


def _key_in(m: Machine, keys: Any, item: Any) -> Any:
    if isinstance(item, Real):
        numbers = [k for k in keys if isinstance(k, (int, float, np.number))]
        parts = [equal(m, item, k) for k in numbers]
        typed = (p.typed(bool) if isinstance(p, Truth) else p for p in parts)
        return disjunction_of(tuple(typed))
    return m.key(item) in keys
