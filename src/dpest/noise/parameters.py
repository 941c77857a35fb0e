"""Checks of the parameters of a noise, with NumPy's own messages, and their exact values.

A parameter may be a number or, in a proof, a symbol: anything that is not a number passes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

_NUMBERS = (int, float, Fraction, np.integer, np.floating)


def is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS)


def exact(value: Any) -> Fraction:
    """A number as a rational; a float as the decimal that it prints as."""
    if isinstance(value, (float, np.floating)):
        return Fraction(repr(float(value)))
    if isinstance(value, np.integer):
        return Fraction(int(value))
    return Fraction(value)


def inverse(value: Any) -> Any:
    """1/value: a rational for a number, whatever division gives for a symbol."""
    return 1 / exact(value) if is_number(value) else 1 / value


def check_scale(value: Any, name: str = "scale") -> None:
    if not is_number(value):
        return
    if value < 0 or (value == 0 and math.copysign(1.0, float(value)) < 0):
        raise ValueError(f"{name} < 0")
    if not math.isfinite(value):
        # NumPy would draw NaN or ±inf here; noise without a distribution can't be audited.
        raise ValueError(f"{name} is {'NaN' if math.isnan(value) else 'infinite'}")


def check_probability(value: Any, message: str, *, zero: bool = True) -> None:
    # Written so that NaN fails.
    if is_number(value) and not (0 <= value <= 1 and (zero or value > 0)):
        raise ValueError(message)
