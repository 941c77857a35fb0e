"""What functions do with data of any length: the part of the table that speaks of vectors.

What is not here is either written in Python and goes through the data (`machine.prelude`), or it
is refused.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    TwoSidedGeometric,
    discrete_gaussian,
    discrete_laplace,
    two_sided_geometric,
)
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.domains.unit import Unit, sqrt
from dpest.reading.lengths.places import (
    ChosenPlace,
    DrawnByLaw,
    OneDraw,
    OneHot,
    PlaceLabel,
    RandomPlace,
)
from dpest.reading.lengths.values import (
    Argmax,
    Count,
    ElementPlace,
    Gap,
    Kept,
    Ordered,
    OrderedPlaces,
    Others,
    Places,
    Ranked,
    Scale,
    Sums,
    Vector,
    symbols_of,
)
from dpest.reading.machine import prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import BoundMethod, Lazy, Method
from dpest.reading.table.numpy_functions import numpy_kind
from dpest.reading.table.registry import TABLE

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine

_SAME = Method("lengths", "same")
_LISTED = Method("lengths", "tolist")
_PLACE_OF = Method("lengths", "index")
_COPY = Method("lengths", "copy")
_ONE_OF = Method("lengths", "one")
_ENTRY = Method("lengths", "entry")
_FINITE = ("choice", "integers", "binomial", "randint")
EVERY_LENGTH: dict[Any, Callable[..., Any]] = {}


def entry(*functions: Any) -> Callable[[Any], Any]:
    def register(made: Any) -> Any:
        for function in functions:
            EVERY_LENGTH[function] = made
        return made

    return register


def _as_array(m: LengthMachine, value: Any) -> Vector:
    if not isinstance(value, Vector):
        raise Refused("a function of NumPy on this")
    found = value if value.kind is np.ndarray else m.lazy_array(value, None)
    assert isinstance(found, Vector)
    return found


@entry(np.asarray, np.array)
def asarray(m: LengthMachine, value: Any, dtype: Any = None) -> Any:
    if isinstance(value, Vector) and value.kind is np.ndarray and dtype is None:
        return value
    return m.lazy_array(value, dtype)


def _array_for_each(fill: Any) -> Any:
    def made(m: LengthMachine, shape: Any, dtype: Any = float) -> Any:
        one = shape[0] if isinstance(shape, tuple) and len(shape) == 1 else shape
        if one != Count() or np.dtype(dtype) != np.float64:
            raise Refused("an array whose size depends on the length of the data")
        return m.new_places(() if fill is None else (np.float64(fill),), np.ndarray)

    return made


entry(np.zeros)(_array_for_each(0))
entry(np.ones)(_array_for_each(1))
entry(np.empty)(_array_for_each(None))


@entry(builtins.list)
def list_(m: LengthMachine, value: Any) -> Any:
    """A copy of the data that nobody can change otherwise than by going through it."""
    if isinstance(value, Vector) and value.kind is list:
        return value
    return Enter(prelude.list_, (value,))


@entry(np.argmax)
def argmax(m: LengthMachine, value: Any) -> Any:
    return _selected(m, value, False)


@entry(np.argmin)
def argmin(m: LengthMachine, value: Any) -> Any:
    return _selected(m, value, True)


def _selected(m: LengthMachine, value: Any, least: bool) -> Argmax:
    vector = _as_array(m, value)
    if not isinstance(vector.element, Real) or (vector.own and m.log.begun):
        raise Refused("the place of the greatest of these")
    return Argmax(vector.element, least)


@entry(builtins.max)
def max_(m: LengthMachine, value: Any, key: Any = None) -> Any:
    """The greatest of noisy values, of which the place can be asked; with a key, by going on."""
    if key is not None or isinstance(value, Places):
        message = "max() iterable argument is empty"
        return Enter(prelude.best_, (value, key, True, False, None, message))
    if isinstance(value, Others):
        return Ranked(value.vector, 2)
    if not isinstance(value, Vector) or not value.own or m.log.begun:
        raise Refused("the greatest of the data")
    return Ranked(value, 1)


@entry(builtins.min)
def min_(m: LengthMachine, value: Any, key: Any = None) -> Any:
    if key is not None or isinstance(value, Places):
        message = "min() iterable argument is empty"
        return Enter(prelude.best_, (value, key, False, False, None, message))
    if not isinstance(value, Vector) or not value.own or m.log.begun:
        raise Refused("the least of the data")
    return Ranked(value, -1)


@entry(np.max, np.amax)
def amax(m: LengthMachine, value: Any) -> Any:
    return max_(m, value)


@entry(np.min, np.amin)
def amin(m: LengthMachine, value: Any) -> Any:
    return min_(m, value)


@entry(np.delete)
def delete(m: LengthMachine, value: Any, place: Any) -> Any:
    array = isinstance(value, Vector) and value.kind is np.ndarray
    if array and isinstance(place, Argmax) and place.is_greatest_of(value):
        return Others(value)
    raise Refused("np.delete of another element than the greatest")


@entry(np.sort)
def sort(m: LengthMachine, value: Any) -> Any:
    vector = _as_array(m, value)
    if not isinstance(vector.element, Real) or not vector.own or m.log.begun:
        raise Refused("the data in order")
    return Ordered(vector)


@entry(np.argsort)
def argsort(m: LengthMachine, value: Any) -> Any:
    vector = _as_array(m, value)
    if not isinstance(vector.element, Real) or not vector.own or m.log.begun:
        raise Refused("the order of the data")
    return OrderedPlaces(vector.element)


@entry(np.clip)
def clip(m: LengthMachine, value: Any, low: Any = None, high: Any = None) -> Any:
    vector = _as_array(m, value)
    if not m.is_data(vector.element) or not all(b is None or is_number(b) for b in (low, high)):
        raise Refused("np.clip of each of the data to this")
    return m.elementwise(lambda v: m.clip(v, *map(_float, (low, high))), vector)


def _float(bound: Any) -> Any:
    return None if bound is None else np.float64(bound)


@entry(np.sum)
def total(m: LengthMachine, value: Any) -> Any:
    vector = _as_array(m, value)
    element = vector.element
    if isinstance(element, Truth) and all(s.kind == "input" for s in symbols_of(element)):
        counted = Vector(Real(m.indicator(element), (np.int64,)))
        return Enter(prelude.sum_, (counted, np.int64(0)))
    if not isinstance(element, Real) or element.integral:
        raise Refused("the sum of what are no real numbers")
    return Enter(prelude.sum_, (vector, np.float64(0)))


@entry(np.count_nonzero)
def count_nonzero(m: LengthMachine, value: Any) -> Any:
    if not isinstance(value, Vector) or not isinstance(value.element, Truth):
        raise Refused("np.count_nonzero of what are no truths")
    return total(m, value)


@entry(np.cumsum)
def cumsum(m: LengthMachine, value: Any) -> Any:
    vector = _as_array(m, value)
    if not isinstance(vector.element, Real) or vector.element.integral:
        raise Refused("running sums of what are no real numbers")
    return Sums(vector)


@entry(builtins.int)
def int_(m: LengthMachine, value: Any) -> Any:
    if isinstance(value, (Argmax, Count, ElementPlace, Kept, RandomPlace, ChosenPlace, DrawnByLaw)):
        return value
    raise Refused("int(…) of this")


@entry(builtins.float)
def float_(m: LengthMachine, value: Any) -> Any:
    """Every value of eps that is admitted is a float."""
    if isinstance(value, (Scale, Gap)):
        return value
    raise Refused("float(…) of this")


@entry(builtins.abs)
def abs_(m: LengthMachine, value: Any) -> Any:
    if isinstance(value, Scale) and isinstance(value.unit, Unit):
        return Scale(abs(value.unit))
    raise Refused("abs(…) of each of the data")


def _root(m: LengthMachine, value: Any) -> Any:
    return m.in_units(lambda: sqrt(value.unit))


def _exponential(m: LengthMachine, value: Any) -> Any:
    return m.in_units(lambda: value.unit.exp())


def _drawn(family: Callable[[Any], Noise]) -> Callable[..., Any]:
    """One draw of whole-numbered noise whose parameter is made of eps."""

    def draw(m: LengthMachine, rng: Any, parameter: Any, size: Any = None) -> Any:
        if not isinstance(parameter, Scale) or size is not None:
            raise Refused("several draws whose parameter is made of eps, which has no value here")
        return m.draw(family(parameter.unit), (int,))

    return draw


def _one_for_each(method: Method) -> Callable[..., Any]:
    """A draw of finitely many outcomes for each of the data."""

    def draw(m: LengthMachine, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(TABLE[method]).bind(m, *args, **kwargs)
        size = given.arguments.pop("size", None)
        one = size[0] if isinstance(size, tuple) and len(size) == 1 else size
        rest = [v for v in given.arguments.values() if isinstance(v, Lazy)]
        if one != Count() or rest:
            raise Refused(f"`{method.name}` with a value that depends on the length of the data")
        return m.drawn_for_each(lambda: numpy_kind(TABLE[method](*given.args, **given.kwargs)))

    return draw


for _method in (Method(library, name) for library in ("generator", "state") for name in _FINITE):
    entry(_method)(_one_for_each(_method))


IN_UNITS: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys((math.sqrt, np.sqrt), _root),
    **dict.fromkeys((math.exp, np.exp), _exponential),
    discrete_laplace: _drawn(DiscreteLaplace),
    discrete_gaussian: _drawn(DiscreteGaussian),
    two_sided_geometric: _drawn(TwoSidedGeometric),
    Method("generator", "geometric"): _drawn(Geometric),
}
"""Functions of eps that proofs for every eps know."""


def _clip_scalar(m: LengthMachine, value: Any, low: Any = None, high: Any = None) -> Any:
    if not isinstance(value, Real) or not all(b is None or is_number(b) for b in (low, high)):
        return None
    return m.clip(Real(value.form, (np.float64,)), *map(_float, (low, high)))


def _at_least(m: LengthMachine, *values: Any) -> Any:
    return _one_bound(m, values, True)


def _at_most(m: LengthMachine, *values: Any) -> Any:
    return _one_bound(m, values, False)


def _one_bound(m: LengthMachine, values: tuple[Any, ...], below: bool) -> Any:
    if len(values) != 2:
        return None
    data = next(v for v in values if isinstance(v, Real))
    bound = next((v for v in values if v is not data), None)
    if bound is None or not is_number(bound) or not math.isfinite(bound):
        return None
    return m.clip(data, bound, None) if below else m.clip(data, None, bound)


CLIPS: dict[Any, Callable[..., Any]] = {
    builtins.max: _at_least,
    builtins.min: _at_most,
    np.clip: _clip_scalar,
}
"""Functions of private numbers whose result is a datum of its own, by its own rule."""

_METHODS = {
    "sum": np.sum,
    "cumsum": np.cumsum,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "argsort": np.argsort,
    "max": np.max,
    "min": np.min,
    "clip": np.clip,
}


def attribute(m: LengthMachine, thing: Any, name: str) -> Any:
    """An attribute of a value that depends on the length; all others are refused."""
    if isinstance(thing, Vector) and thing.kind is np.ndarray:
        if name == "shape":
            return (Count(),)
        if name == "size":
            return Count()
        if name == "ndim":
            return 1
        if name in _METHODS:
            return BoundMethod(_METHODS[name], thing)
        if name in ("copy", "flatten"):
            return BoundMethod(_COPY, thing)
        if name == "ravel":
            return BoundMethod(_SAME, thing)
    if isinstance(thing, Vector) and thing.kind is list and name == "index":
        return BoundMethod(_PLACE_OF, thing)
    if isinstance(thing, Vector) and name == "tolist" and thing.kind is np.ndarray:
        return BoundMethod(_LISTED, thing)
    if isinstance(thing, Sums) and name == "tolist":
        return BoundMethod(_SAME, thing)
    if (
        isinstance(thing, (Argmax, Gap, RandomPlace, ChosenPlace, DrawnByLaw, PlaceLabel))
        and name == "item"
    ):
        return BoundMethod(_SAME, thing)
    if isinstance(thing, Sums) and name == "searchsorted":
        return BoundMethod(np.searchsorted, thing)
    if isinstance(thing, OneHot) and name == "argmax":
        return BoundMethod(np.argmax, thing)
    if isinstance(thing, OneDraw) and name == "item":
        return BoundMethod(_ONE_OF, thing)
    if isinstance(thing, Vector) and name == "__getitem__":
        return BoundMethod(_ENTRY, thing)
    raise Refused(f"the attribute `{name}` of data of any length")


@entry(_COPY)
def copy(m: LengthMachine, value: Vector) -> Vector:
    """Another array, which may be changed in place."""
    return replace(value)


@entry(_ONE_OF)
def one_of(m: LengthMachine, drawn: OneDraw) -> Any:
    return drawn.place


@entry(_ENTRY)
def entry_at(m: LengthMachine, vector: Vector, place: Any) -> Any:
    return m.item(vector, place)


@entry(_SAME)
def same(m: LengthMachine, value: Any) -> Any:
    return value


@entry(_LISTED)
def listed(m: LengthMachine, value: Vector) -> Any:
    if not isinstance(value.element, Real) or value.element.integral:
        raise Refused("tolist() of what are no real numbers")
    return Vector(Real(value.element.form, (float,)), value.own, list)


@entry(_PLACE_OF)
def place_of(m: LengthMachine, values: Vector, value: Any) -> Any:
    if isinstance(value, Ranked) and value.vector is values and value.rank in (1, -1):
        return _selected(m, values, value.rank < 0)
    raise Refused("index() of something else than the greatest")
