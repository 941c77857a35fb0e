"""Built-in functions of Python: types, numbers, attributes, text."""

from __future__ import annotations

import builtins
import contextlib
import copy
import fractions
import functools
import operator
import statistics
import typing
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import FLOAT, Real, Truth, as_number, result_kinds
from dpest.reading.machine import attributes, operators, prelude
from dpest.reading.machine.attributes import OBJECT_INIT
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import is_class, is_instance_of, is_object, type_of
from dpest.reading.machine.heap import DictObject, Instance, ListObject, SetObject
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    Partial,
    RandomSource,
    Ref,
    Super,
)
from dpest.reading.table.registry import entry, native

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

native(
    [
        *(builtins.abs, builtins.round, builtins.divmod, builtins.pow, builtins.chr, builtins.ord),
        *(builtins.hex, builtins.bin, builtins.oct, builtins.str, builtins.repr, builtins.ascii),
        *(builtins.format, builtins.int, builtins.float, builtins.complex, builtins.bytes),
        *(fractions.Fraction, statistics.mean, statistics.median, statistics.stdev),
        *(statistics.pstdev, statistics.variance, statistics.pvariance),
        *(bytes.fromhex, int.from_bytes, str.maketrans),
    ]
)
native([*(getattr(operator, n) for n in ("add", "sub", "mul", "truediv", "neg", "lt", "gt"))])

# Types


@entry(builtins.isinstance)
def isinstance_(m: Machine, value: Any, kinds: Any) -> Any:
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    flat: list[Any] = []
    for kind in every:
        flat.extend(kind if isinstance(kind, tuple) else (kind,))
    return any(is_instance_of(m.state, value, kind) for kind in flat)


@entry(builtins.issubclass)
def issubclass_(m: Machine, cls: Any, kinds: Any) -> Any:
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    if not is_class(m.state, cls):
        raise Thrown(TypeError("issubclass() arg 1 must be a class"))
    return any(m.is_subclass(cls, kind) for kind in every)


@entry(builtins.type)
def type_(m: Machine, *args: Any) -> Any:
    if len(args) != 1:
        raise Refused("a class that is made by type(…)")
    return type_of(m.state, args[0])


@entry(builtins.callable)
def callable_(m: Machine, value: Any) -> Any:
    if isinstance(value, (Closure, BoundMethod, Partial, type)):
        return True
    if is_object(m.state, value):
        return attributes.find_in_class(m.state, type_of(m.state, value), "__call__") is not None
    if isinstance(value, (Ref, RandomSource, Array, Real, Truth)):
        return is_class(m.state, value)
    return callable(value)


@entry(builtins.id, builtins.hash, builtins.vars, builtins.dir, builtins.locals, builtins.globals)
def seen_from_inside(m: Machine, *_: Any) -> Any:
    raise Refused("a function that looks at addresses, hashes or frames", final=True)


@entry(builtins.eval, builtins.exec, builtins.compile, builtins.input, builtins.open)
def outside_world(m: Machine, *_: Any, **__: Any) -> Any:
    raise Refused("code that is made at run time, or files", final=True)


@entry(builtins.print)
def print_(m: Machine, *values: Any, **options: Any) -> Any:
    raise Refused("the function prints, and whoever sees that learns it", "return what is released")


@entry(OBJECT_INIT)
def object_init(m: Machine, thing: Any, *args: Any) -> Any:
    cls = type_of(m.state, thing)
    if m.is_subclass(cls, BaseException):
        m.state.heap.write(thing).attributes["args"] = args
    elif args:
        raise Thrown(TypeError("object.__init__() takes exactly one argument"))
    return None


# Attributes


@entry(builtins.getattr)
def getattr_(m: Machine, thing: Any, name: Any, *default: Any) -> Any:
    if default:
        return Enter(prelude.attribute_or_, (thing, name, default[0]))
    if not isinstance(name, str):
        raise Thrown(TypeError("attribute name must be string"))
    return attributes.get(m, thing, name)


@entry(builtins.hasattr)
def hasattr_(m: Machine, thing: Any, name: Any) -> Any:
    return Enter(prelude.has_attribute_, (thing, name))


@entry(builtins.setattr)
def setattr_(m: Machine, thing: Any, name: Any, value: Any) -> Any:
    return attributes.put(m, thing, name, value)


@entry(builtins.super)
def super_(m: Machine, *args: Any) -> Any:
    if len(args) != 2:
        raise Refused("super() outside of a method")
    return Super(*args)


@entry(builtins.object)
def object_(m: Machine) -> Any:
    return m.state.heap.new(Instance(object, {}))


@entry(builtins.property, builtins.staticmethod, builtins.classmethod)
def descriptor(m: Machine, function: Any) -> Any:
    raise Refused("a property, static or class method of an inner class")


# Numbers


@entry(builtins.float)
def float_(m: Machine, value: Any = 0.0) -> Any:
    if isinstance(value, Array):
        if value.places.size != 1:
            raise Thrown(TypeError("only length-1 arrays can be converted to Python scalars"))
        value = m.arrays.elements(m, value)[0]
    if isinstance(value, (Real, Truth)):
        return as_number(arithmetic.form_of(m, value), FLOAT)
    if is_object(m.state, value):
        raise Refused("float(…) of an object")
    return operators.native(float, m.plain_index(value))


@entry(np.float64)
def numpy_float(m: Machine, value: Any = 0.0) -> Any:
    made = float_(m, value)
    return Real(made.form, (np.float64,)) if isinstance(made, Real) else np.float64(made)


@entry(builtins.bool, operator.truth)
def bool_(m: Machine, value: Any = False) -> Any:
    truth = m.truth_value(value)
    if isinstance(truth, Enter):
        return truth
    return m.holds(truth)


@entry(builtins.abs)
def abs_(m: Machine, value: Any) -> Any:
    if isinstance(value, Array):
        return m.call_table(np.abs, (value,))
    if isinstance(value, (Real, Truth)):
        kinds = result_kinds(abs, arithmetic.kinds_of(value))
        form = arithmetic.form_of(m, value)
        curve = m.made_curve("abs", (form,))
        if curve is not None:
            return as_number(curve, kinds)
        below = arithmetic.compare(m, "<", value, 0)
        return as_number(form.times(-1) if m.holds(below) else form, kinds)
    if is_object(m.state, value):
        method = attributes.find_in_class(m.state, type_of(m.state, value), "__abs__")
        if method is not None:
            return Enter(method, (value,))
    raise Refused(f"abs(…) of a {m.type_name(value)}")


@entry(builtins.pow)
def pow_(m: Machine, base: Any, exponent: Any, *mod: Any) -> Any:
    if mod:
        raise Refused("pow(…) with three arguments")
    return operators.binary(m, "**", base, exponent)


@entry(builtins.divmod)
def divmod_(m: Machine, a: Any, b: Any) -> Any:
    return operators.binary(m, "//", a, b), operators.binary(m, "%", a, b)


def _text(function: Any) -> Any:
    return lambda m, *values: operators.native(function, *(m.for_text(v) for v in values))


for _maker in (builtins.str, builtins.repr, builtins.format, builtins.ascii):
    entry(_maker)(_text(_maker))


@entry(float.is_integer)
def is_integer(m: Machine, value: Any) -> Any:
    raise Refused("is_integer() of a noisy or private number")


@entry(np.generic.item, np.float64.item, float.conjugate, int.conjugate, np.generic.conjugate)
def item(m: Machine, value: Any) -> Any:
    if isinstance(value, Truth):
        return value.typed(bool)
    if isinstance(value, Real):
        kinds = tuple(sorted({type(k(1).item()) for k in value.kinds if hasattr(k, "item")},
                             key=lambda k: k.__name__))  # fmt: skip
        return Real(value.form, kinds or value.kinds)
    return value


# Functions


@entry(functools.partial)
def partial(m: Machine, function: Any, *args: Any, **kwargs: Any) -> Any:
    return Partial(function, args, tuple(kwargs.items()))


@entry(functools.wraps)
def wraps(m: Machine, wrapped: Any, *_: Any, **__: Any) -> Any:
    """What `wraps` copies (name, text, `__wrapped__`) changes nothing of what is called."""
    return Partial(_rewrapped, (wrapped,), ())


def _rewrapped(wrapped: Any, wrapper: Any) -> Any:
    """Stands for what functools.wraps gives."""


@entry(_rewrapped)
def rewrapped(m: Machine, wrapped: Any, wrapper: Any) -> Any:
    if not isinstance(wrapper, Closure):
        return wrapper
    name = attributes.get(m, wrapped, "__name__")
    found = (("__wrapped__", wrapped), ("__name__", name))
    return Closure(wrapper.code, wrapper.names, wrapper.cells, wrapper.defaults, found)


@entry(functools.lru_cache, functools.cache, functools.cached_property)
def cache(m: Machine, *_: Any, **__: Any) -> Any:
    raise Refused("a cache", "take the cache away", final=True)


@entry(contextlib.suppress)
def suppress(m: Machine, *kinds: Any) -> Any:
    return Enter(prelude.Suppressing, kinds)


@entry(typing.cast)
def cast(m: Machine, kind: Any, value: Any) -> Any:
    return value


@entry(copy.copy)
def copy_(m: Machine, value: Any) -> Any:
    if isinstance(value, Array):
        return m.call_table(np.copy, (value,))
    if isinstance(value, Ref):
        thing = m.state.heap.read(value)
        if isinstance(thing, (ListObject, DictObject, SetObject)):
            made = thing.copied()
            made.outside = False
            return m.state.heap.new(made)
        raise Refused("copy.copy of an object")
    return value


@entry(copy.deepcopy)
def deepcopy(m: Machine, value: Any) -> Any:
    memo: dict[int, Any] = {}

    def go(part: Any) -> Any:
        if isinstance(part, Array):
            return m.call_table(np.copy, (part,))
        if isinstance(part, tuple):
            return type(part)(*map(go, part)) if hasattr(part, "_fields") else tuple(map(go, part))
        if not isinstance(part, Ref):
            return part
        if part.address in memo:
            return memo[part.address]
        thing = m.state.heap.read(part)
        if isinstance(thing, ListObject):
            made = memo[part.address] = m.state.heap.new(ListObject([]))
            items = [go(v) for v in thing.items]
            m.state.heap.read(made).items.extend(items)
            return made
        if isinstance(thing, DictObject):
            found = DictObject({k: go(v) for k, v in thing.items.items()}, thing.kind)
            found.factory = thing.factory
            return m.state.heap.new(found)
        if isinstance(thing, SetObject):
            return m.state.heap.new(SetObject(dict(thing.items)))
        raise Refused("copy.deepcopy of an object")

    return go(value)


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and_": "&", "or_": "|", "xor": "^", "matmul": "@",
}  # fmt: skip
for _function, _op in _OPERATORS.items():
    entry(getattr(operator, _function))(lambda m, a, b, _op=_op: operators.binary(m, _op, a, b))
for _function, _op in {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}.items():
    entry(getattr(operator, _function))(lambda m, a, b, _op=_op: operators.compare(m, _op, a, b))
entry(operator.neg)(lambda m, a: operators.unary(m, "-", a))
entry(operator.not_)(lambda m, a: operators.unary(m, "not", a))


@entry(operator.itemgetter)
def itemgetter(m: Machine, *keys: Any) -> Any:
    if len(keys) != 1:
        raise Refused("operator.itemgetter of several keys")
    return Partial(_item_of, (keys[0],), ())


def _item_of(key: Any, thing: Any) -> Any:
    """Stands for what operator.itemgetter gives."""


@entry(_item_of)
def item_of(m: Machine, key: Any, thing: Any) -> Any:
    return m.item(thing, key)


@entry(operator.attrgetter)
def attrgetter(m: Machine, *names: Any) -> Any:
    if len(names) != 1 or "." in names[0]:
        raise Refused("operator.attrgetter of several names")
    return Partial(_attribute_of, (names[0],), ())


def _attribute_of(name: Any, thing: Any) -> Any:
    """Stands for what operator.attrgetter gives."""


@entry(_attribute_of)
def attribute_of(m: Machine, name: Any, thing: Any) -> Any:
    return attributes.get(m, thing, name)
