"""Noise whose scale, place or number depends on the data's length: drawn for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Form
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number
from dpest.reading.domains.numbers import Real
from dpest.reading.lengths.values import Count, Scale, Vector
from dpest.reading.machine import operators
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.state import Draw
from dpest.reading.machine.values import Lazy

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


def drawn(m: LengthMachine, family: Any, loc: Any, scale: Any, size: Any) -> Any:
    """Noise where a parameter depends on the length; None: none does."""
    sized = isinstance(size, Count) or (
        isinstance(size, tuple) and len(size) == 1 and isinstance(size[0], Count)
    )
    everywhere = sized or isinstance(loc, Vector)
    if not everywhere and not any(isinstance(v, Lazy) for v in (loc, scale, size)):
        return None
    known = scale.unit if isinstance(scale, Scale) else scale
    if not isinstance(scale, Scale) and not is_number(scale):
        raise Refused("a scale that depends on noise or data")
    try:
        noise = family(known)
    except ValueError as error:
        raise Thrown(error) from None
    if everywhere:
        return _noise_for_each(m, noise, loc, size)
    if size is None:
        drawn = m.draw(noise, (float,))
    else:
        shape = m.plain_index(size)
        shape = (shape,) if isinstance(shape, int) else shape
        values = [m.draw(noise, (np.float64,)) for _ in range(int(np.prod(shape)))]
        drawn = m.arrays.made_of(m, values, tuple(shape), np.dtype(float))
    if is_number(loc) and loc == 0:
        return drawn
    found = operators.binary(m, "+", drawn, loc)
    return Real(found.form, (float,)) if isinstance(found, Real) else found


def _noise_for_each(m: LengthMachine, noise: Noise, loc: Any, size: Any) -> Any:
    """A draw for every element, before the pass over them."""
    count = size[0] if isinstance(size, tuple) else size
    if count is not None and count != Count():
        raise Refused("more or fewer draws than there are data")
    if m.log.begun:
        raise Refused("noise for each of the data that is drawn after some of them were read")
    if noise.constant is not None:
        made = Vector(np.float64(noise.constant))
    else:
        symbol = m.symbol_of_each(noise)
        m.state.draws = (*m.state.draws, Draw(symbol, noise, "each"))
        made = Vector(Real(Form.of(symbol), (np.float64,)), frozenset({symbol}))
    if is_number(loc) and loc == 0:
        return made
    return m.elementwise(lambda a, b: operators.binary(m, "+", a, b), made, loc)


def drawn_for_each(m: LengthMachine, draw: Callable[[], Any]) -> Vector:
    """What a draw gives, for each of the data, before the pass over them."""
    if m.log.begun:
        raise Refused("noise for each of the data that is drawn after some of them were read")
    before = len(m.state.draws)
    m.for_each = True
    try:
        found = draw()
    finally:
        m.for_each = False
    if not isinstance(found, Real):
        raise Refused("draws for each of the data that are no numbers")
    return Vector(found, frozenset(d.symbol for d in m.state.draws[before:]))
