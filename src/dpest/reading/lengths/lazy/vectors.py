"""Vectors with an entry for each of the data: arithmetic with all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Symbol
from dpest.noise.parameters import is_number
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.domains.weights import Normaliser, Weighted, WeightSum
from dpest.reading.lengths.values import Count, Scale, Vector, symbols_of
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Lazy, Ref, is_plain

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


def elementwise(m: LengthMachine, function: Any, *values: Any) -> Any:
    """A function of the elements of vectors, and of numbers that all of them share."""
    own: frozenset[Symbol] = frozenset()
    row = []
    arrays = any(isinstance(v, Vector) and v.kind is np.ndarray for v in values)
    for value in values:
        if isinstance(value, Vector):
            if value.kind is not np.ndarray:
                if not arrays:
                    raise Refused("arithmetic with a list")
                value = m.lazy_array(value, None)  # as NumPy does
            own |= value.own
            row.append(value.element)
        elif isinstance(value, (Real, Truth)):
            mine = symbols_of(value)
            if any(s.kind == "input" for s in mine) or mine & m.log.used:
                raise Refused("each of the data together with the one of this turn")
            row.append(value)
        elif isinstance(value, Weighted):
            shared = isinstance(value, (WeightSum, Normaliser))
            if not shared and any(s.kind == "input" for s in value.form.terms):
                raise Refused("each of the data together with the one of this turn")
            row.append(value)
        elif is_number(value) or isinstance(value, (bool, np.bool_, Scale)):
            row.append(value)
        else:
            raise Refused("arithmetic with data of any length and this")
    found = function(*row)
    if not isinstance(found, (Real, Truth, Weighted)) and not is_number(found):
        raise Refused("a function of each of the data that gives no number")
    return Vector(found, own | _made_of(m, own, found))


def _made_of(m: LengthMachine, own: frozenset[Symbol], value: Any) -> set[Symbol]:
    """The noises of each element that are made of others of its own."""
    made = set()
    for symbol in symbols_of(value) - own:
        roots = m.roots(symbol)
        if roots <= own:
            made.add(symbol)
        elif not roots.isdisjoint(own):
            raise Refused("noise that is made of draws for each of the data, and of another")
    return made


def array_of(m: LengthMachine, value: Any, dtype: Any) -> Any:
    """An array made of a vector."""
    if not isinstance(value, Vector) or (dtype is not None and np.dtype(dtype) != np.float64):
        raise Refused("an array of this")
    if value.kind is np.ndarray and dtype is None:
        return value
    element = value.element
    if isinstance(element, Real):
        if element.integral:
            raise Refused("an array of whole numbers")
        element = Real(element.form, (np.float64,))
    elif not is_number(element) and not isinstance(element, Weighted):
        raise Refused("an array of truths")
    return Vector(element, value.own)


def repeated(m: LengthMachine, *values: Any) -> Any:
    """`[0.0] * len(x)`"""
    if not any(type(v) is Count and v == Count() for v in values):
        raise Refused("a product with the length of the data")
    (value,) = [v for v in values if type(v) is not Count] or [None]
    items = None if isinstance(value, Lazy) else m.sequence(value)
    if not isinstance(value, Ref) or items is None or len(items) != 1:
        raise Refused("a repetition by the length of the data")
    if not is_plain(items[0]) and not isinstance(items[0], Real):
        raise Refused("a repetition of an object by the length of the data")
    return m.new_places((items[0],), list)
