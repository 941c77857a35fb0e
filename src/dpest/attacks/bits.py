"""What the low bits of a double tell: its granularity, and whether a sum could have made it.

A mechanism releases y = a + n, computed in doubles. Two things depend on the secret a:

- *granularity*: where a and the noise cancel, y keeps trailing zeros; where a is 0 it doesn't;
- *reachability*: n comes from a set with gaps. The scale times a double skips doubles, and NumPy's
  Laplace sampler knows only the 2^52 values log(j/2^52). So y - a may be a number that the noise
  never takes.

These are features of an event that is then measured; a wrong guess here (another library, another
processor) costs power, not soundness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LOWEST, _HIGHEST = -24, 24  # exponents that are told apart
_MOST_ZEROS = 30


@dataclass(frozen=True)
class NoiseCall:
    """A draw that a mechanism makes: the generator's method and the scale it passes."""

    method: str
    scale: float


def granularity(values: Floats) -> NDArray[np.intp]:
    """A code of (exponent, trailing zero bits of the significand); 0 for 0, NaN and infinity."""
    usable = np.isfinite(values) & (values != 0.0)
    safe = np.where(usable, values, 1.0)
    fraction, exponent = np.frexp(np.abs(safe))
    whole = (fraction * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    zeros = np.minimum(np.log2(lowest.astype(np.float64)).astype(np.intp), _MOST_ZEROS)
    place = np.clip(exponent, _LOWEST, _HIGHEST) - _LOWEST
    return np.where(usable, place * (_MOST_ZEROS + 1) + zeros + 1, 0).astype(np.intp)


def _near(base: Floats, steps: int) -> Floats:
    """The doubles around each base, `steps` to each side."""
    found = [base]
    up = down = base
    for _ in range(steps):
        up, down = np.nextafter(up, np.inf), np.nextafter(down, -np.inf)
        found += [up, down]
    return np.stack(found)


def reachable_by_scaling(values: Floats, shift: float, scale: float) -> NDArray[np.bool_]:
    """Is y = shift + scale * z for some double z, with the roundings of both operations?"""
    with np.errstate(all="ignore"):
        z = _near((values - shift) / scale, 3)
        return np.asarray((shift + scale * z == values).any(axis=0))


def reachable_by_laplace(values: Floats, shift: float, scale: float) -> NDArray[np.bool_]:
    """Is y = shift -+ scale * log(j/2^52), rounded as NumPy's sampler does, for some j?

    Where many j fit (the noise is small against the shift) the answer is yes without a look.
    """
    noise = values - shift
    with np.errstate(all="ignore"):
        size = np.abs(noise) / scale
        centre = np.exp(-size) * 2.0**52
        # How many j lead to the same y: its rounding over the spacing of the noise.
        width = np.spacing(np.maximum(np.abs(values), np.abs(noise)))
        fitting = width / (scale * 2.0**-52 * np.exp(size))
    usable = np.isfinite(values) & np.isfinite(centre)
    many = fitting > 6.0
    found = np.where(usable, many, False)
    look = np.flatnonzero(usable & ~many)
    if len(look) == 0:
        return found
    # The sampler takes U = k/2^53 and computes -+scale * log(2U), or of 2 - U - U from 1/2 on,
    # where the first subtraction rounds.
    below = noise[look] < 0
    whole = np.where(below, np.rint(centre[look]), 2.0**53 - np.rint(centre[look]))
    hit = np.zeros(len(look), dtype=bool)
    for offset in range(-4, 5):
        u = (whole + offset) * 2.0**-53
        inside = np.where(below, (u > 0.0) & (u < 0.5), (u >= 0.5) & (u < 1.0))
        argument = np.where(inside, np.where(below, u + u, (2.0 - u) - u), 1.0)
        # The C library's scalar logarithm; NumPy's vector one may differ in the last bit.
        logs = np.fromiter(map(math.log, argument.tolist()), dtype=np.float64, count=len(u))
        made = np.where(below, shift + scale * logs, shift - scale * logs)
        hit |= inside & (made == values[look])
    found[look] = hit
    return found


def reachable(values: Floats, shift: float, call: NoiseCall) -> NDArray[np.bool_]:
    """Could `shift` plus the noise of this call, in NumPy's doubles, be each value?"""
    possible = reachable_by_scaling(values, shift, call.scale)
    if call.method == "laplace":
        possible &= reachable_by_laplace(values, shift, call.scale)
    return possible
