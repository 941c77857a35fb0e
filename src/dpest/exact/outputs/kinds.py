"""Numbers that are equal and that a receiver tells apart: 1 and 1.0, 0.0 and -0.0.

Cells hold numbers by their value. Where one place of an output holds one number in two ways, its
cells would be coarser than what is seen, and the loss too small: such traces are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpest.errors import RefusedError
from dpest.geometry.linear import Form
from dpest.reading.paths import Path, Trace
from dpest.running.skeleton import leaf_kinds, numbers_alike


def check_kinds(traces: Iterable[Trace]) -> None:
    """Refuse a number that some path releases as an int and another one as a float, or as -0.0."""
    seen: dict[tuple[Any, int, float], tuple[str, Any]] = {}
    for path in (path for trace in traces for path in trace.paths):
        for place, value, way in _numbers(path):
            key = (numbers_alike(path.skeleton), place, float(value))
            first, other = seen.setdefault(key, (way, value))
            if first != way:
                raise RefusedError(
                    f"{other!r} and {value!r} are released in one place ({first} and {way}): who "
                    "gets them sees which, and exact answers go by the value alone. return one "
                    "type, such as float(v) + 0.0"
                )


def _numbers(path: Path) -> Iterable[tuple[int, Any, str]]:
    """The constant numbers of a path: their places, and what is seen besides the value."""
    for place, (value, kind) in enumerate(zip(path.leaves, leaf_kinds(path.skeleton), strict=True)):
        if isinstance(value, Form) or kind not in ("int", "float"):
            continue
        if not isinstance(value, (int, float, np.integer, np.floating)) or math.isnan(value):
            continue
        yield place, value, "-0.0" if _is_negative_zero(value) else kind


def _is_negative_zero(value: Any) -> bool:
    return value == 0 and math.copysign(1.0, float(value)) < 0
