"""Numbers that are equal and that a receiver tells apart: 1 and 1.0, 0.0 and -0.0.

Cells hold numbers by their value. Where one place of an output holds one number in two ways, its
cells would be coarser than what is seen, and the loss too small: such traces are refused. The sign
of a zero is lost only where the place holds reals, too; among constants the two zeros are two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpest.errors import RefusedError
from dpest.geometry.linear import Form
from dpest.reading.paths import Path, Trace
from dpest.running.skeleton import is_negative_zero, leaf_kinds, numbers_alike


def check_kinds(traces: Iterable[Trace]) -> None:
    """Refuse a number that some path releases as an int and another one as a float, or as -0.0."""
    seen: dict[tuple[Any, int, float], tuple[str, Any]] = {}
    paths = [path for trace in traces for path in trace.paths]
    real = {
        (numbers_alike(path.skeleton), place)
        for path in paths
        for place, leaf in enumerate(path.leaves)
        if isinstance(leaf, Form) and leaf.terms
    }
    for path in paths:
        for place, value, kind in _numbers(path):
            where = (numbers_alike(path.skeleton), place)
            way = "-0.0" if where in real and is_negative_zero(value) else kind
            key = (*where, float(value))
            first, other = seen.setdefault(key, (way, value))
            if first != way:
                raise RefusedError(
                    f"{other!r} and {value!r} are released in one place ({first} and {way}): who "
                    "gets them sees which, and exact answers go by the value alone. return one "
                    "type, such as float(v) + 0.0"
                )


def _numbers(path: Path) -> Iterable[tuple[int, Any, str]]:
    """The constant numbers of a path: their places and their types."""
    for place, (value, kind) in enumerate(zip(path.leaves, leaf_kinds(path.skeleton), strict=True)):
        if isinstance(value, Form) or kind not in ("int", "float"):
            continue
        if not isinstance(value, (int, float, np.integer, np.floating)) or math.isnan(value):
            continue
        yield place, value, kind
