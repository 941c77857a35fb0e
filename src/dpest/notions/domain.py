"""Checks that a number lies in the domain of a definition.

Each check returns the number unchanged (so a Fraction stays exact) or raises `DomainError` with
the offending value. Infinity is a legal ε, ρ, μ and α: it means "no bound".
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError

Number = int | float | Fraction
Array = npt.NDArray[np.float64]


def real(value: Any, name: str) -> Number:
    """`value` as a real number that is not NaN; NumPy scalars become Python numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DomainError(f"{name} must be a real number, got {value!r}")
    if isinstance(value, float) and math.isnan(value):
        raise DomainError(f"{name} is NaN")
    return value if isinstance(value, int | float | Fraction) else float(value)


def non_negative(value: Any, name: str) -> Number:
    """A number in [0, ∞]."""
    number = real(value, name)
    if number < 0:
        raise DomainError(f"{name} must be at least 0, got {number}")
    return number


def epsilon(value: Any, name: str = "epsilon") -> Number:
    """A privacy parameter ε in [0, ∞]."""
    return non_negative(value, name)


def probability(value: Any, name: str = "delta") -> Number:
    """A number in [0, 1], such as δ."""
    number = real(value, name)
    if not 0 <= number <= 1:
        raise DomainError(f"{name} must lie in [0, 1], got {number}")
    return number


def order(value: Any, name: str = "alpha") -> Number:
    """A Rényi order α in (1, ∞]; the limit 1 is the Kullback-Leibler divergence."""
    number = real(value, name)
    if not number > 1:
        raise DomainError(f"{name} must be greater than 1, got {number}")
    return number


def order_or_one(value: Any, name: str = "alpha") -> Number:
    """A Rényi order α in [1, ∞], where the limits 1 and ∞ are meant as limits."""
    number = real(value, name)
    if not number >= 1:
        raise DomainError(f"{name} must be at least 1, got {number}")
    return number


def count(value: Any, name: str) -> int:
    """A whole number, at least 1."""
    number = real(value, name)
    if number != number // 1 or number < 1 or math.isinf(number):
        raise DomainError(f"{name} must be a whole number of at least 1, got {number}")
    return int(number)


def epsilons(value: npt.ArrayLike, name: str = "epsilon") -> Array:
    """An array (or scalar) of ε in [0, ∞]."""
    array = np.asarray(value, dtype=float)
    if np.isnan(array).any():
        raise DomainError(f"{name} is NaN")
    if (array < 0).any():
        raise DomainError(f"{name} must be at least 0, got {array.min()}")
    return array


def probabilities(value: npt.ArrayLike, name: str) -> Array:
    """An array (or scalar) of numbers in [0, 1]."""
    array = np.asarray(value, dtype=float)
    if np.isnan(array).any():
        raise DomainError(f"{name} is NaN")
    if ((array < 0) | (array > 1)).any():
        raise DomainError(f"{name} must lie in [0, 1], got {value!r}")
    return array


def scalar_like(result: npt.ArrayLike) -> Any:
    """A Python float for a zero-dimensional result, the array otherwise."""
    array = np.asarray(result, dtype=float)
    return float(array) if array.ndim == 0 else array
