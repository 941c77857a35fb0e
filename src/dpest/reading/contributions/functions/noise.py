"""Noise of a family, a location, a scale and a shape; uniform draws and coins."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.registry import as_array
from dpest.reading.contributions.functions.units import (
    PRIVATE_SCALE,
    Divided,
    has_unit,
    is_positive,
)
from dpest.reading.contributions.gaps.drawing import noise_of_each
from dpest.reading.contributions.gaps.loops import drawn_in_turn
from dpest.reading.contributions.gaps.values import PerGap, is_gap_count
from dpest.reading.contributions.values import Case, Rows, SmallArray, Uniforms

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

NOISE_FOR_EACH = (
    "noise is drawn for each record. A sensitivity is proved for sums over the records, to which "
    "noise is added afterwards"
)


def noise_like(m: ContributionMachine, family: str, loc: Any, scale: Any, size: Any) -> Any:
    if m.record is not None and m.key is None:
        raise Unread(NOISE_FOR_EACH)
    if m.gap_case is not None and size is None:
        return drawn_in_turn(m, family, loc, scale)
    size = size[0] if isinstance(size, tuple) and len(size) == 1 else size
    if isinstance(loc, PerGap) or (is_gap_count(m, size) and _zero(loc)):
        return noise_of_each(m, family, loc, scale, size)
    loc, scale = as_array(m, loc), as_array(m, m.pinned_public(scale))
    if not has_unit(scale) and not m.is_public(scale):
        raise Unread(PRIVATE_SCALE)
    if isinstance(loc, Rows) or m.is_length(_length_of(size)):
        raise Unread(NOISE_FOR_EACH)
    shape = _shape(size)
    for value in (loc, scale):
        if isinstance(value, SmallArray):
            if shape is None:
                shape = value.shape
            elif np.broadcast_shapes(shape, value.shape) != shape:
                raise Unread("noise of another shape than its location")
    if shape is None:
        return (
            m.binary("+", loc, _one(m, family, scale)) if not _zero(loc) else _one(m, family, scale)
        )
    scales = m.broadcast(lambda _, s: s, SmallArray(shape, [0] * int(np.prod(shape))), scale)
    drawn = scales.map(lambda s: _one(m, family, s))
    return drawn if _zero(loc) else m.binary("+", loc, drawn)


def _zero(value: Any) -> bool:
    return is_number(value) and value == 0


def _one(m: ContributionMachine, family: str, scale: Any) -> Any:
    if has_unit(scale):
        return _in_units(m, family, scale)
    if isinstance(scale, SymbolicForm) and scale.terms:
        return _divided(m, family, scale)
    if not is_number(scale) and not isinstance(scale, SymbolicForm):
        raise Unread("a scale of noise that is not known")
    if isinstance(scale, SymbolicForm):
        scale = scale.constant
    size = Fraction(scale.item() if hasattr(scale, "item") else scale)
    if family == "geometric":
        return m.noise(family, 1 - size) if size != 1 else 0
    if size < 0:
        raise Unread("a negative scale")
    return m.noise(family, size) if size else 0.0


def _in_units(m: ContributionMachine, family: str, scale: Any) -> Any:
    """Noise whose scale is a multiple of a power of eps, perhaps divided by a public number."""
    unit = scale.unit if isinstance(scale, Divided) else scale
    if family == "geometric" or not is_positive(unit):
        raise Unread("a scale of noise that is not known")
    if not isinstance(scale, Divided):
        return m.noise(family, unit)
    if scale.power != -1:
        raise Unread("a scale of noise that is not known")
    return m.terms.of("over", m.noise(family, unit, scale.number), scale.number)


def _divided(m: ContributionMachine, family: str, scale: SymbolicForm) -> Any:
    """Noise of the scale c/d, d public and not known here: noise of the scale c, divided by d."""
    ((symbol, c), *others) = scale.terms
    node = m.terms.nodes[symbol]
    if others or scale.constant or node[0] != "div" or node[1].terms or node[2].constant:
        raise Unread("a scale of noise that is not known")
    lead = node[2].terms[0][1]
    size = c * node[1].constant / lead
    if size <= 0 or family == "geometric":
        raise Unread("a scale of noise that is not known")
    divisor = node[2].times(1 / lead)
    return m.terms.of("over", m.noise(family, size, divisor), divisor)


def _length_of(size: Any) -> Any:
    """The length in a shape of one: x.shape."""
    return size[0] if isinstance(size, tuple) and len(size) == 1 else size


def _shape(size: Any) -> tuple[int, ...] | None:
    if size is None:
        return None
    if isinstance(size, tuple) and all(isinstance(s, int) for s in size):
        return size
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    raise Unread("a number of draws that is not known")


def uniform_draw(m: ContributionMachine, size: Any) -> Any:
    if m.key is not None:
        raise Unread("coins for the keys of the data")
    if m.record is not None:
        if size is not None:
            raise Unread("several coins for a record")
        m.coin_count += 1
        return Uniforms(("loop", m.loop_count, m.coin_count))
    if m.is_length(_length_of(size)):
        m.loop_count += 1
        return Rows((Case((), Uniforms(("draw", m.loop_count))),), True)
    shape = _shape(size)
    if shape is None:
        return m.uniform()
    raise Unread("several uniform draws at once")
