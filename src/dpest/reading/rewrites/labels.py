"""What a public list has at a place that was chosen by noise: a label of the place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.reading.loops.lengths import Counter, unsupported
from dpest.reading.loops.passes import Chosen, RandomPlace
from dpest.reading.rewrites.order_statistics import Selected


@dataclass(frozen=True)
class LabelOfPlace:
    """What a public list has at a place that is released: it tells as much as the place."""

    table: tuple[Any, ...]
    place: Any

    def item(self) -> LabelOfPlace:
        return self

    def dpest_signature(self) -> Any:
        return ("labelled", repr(self.table), self.place.dpest_signature())


def entry(values: Any, key: Any) -> Any:
    """values[key]; at a place that was chosen, of a public list: a label of the place."""
    if not isinstance(key, (RandomPlace, Chosen, Selected, Counter)):
        return values[key]
    if isinstance(values, np.ndarray) and values.dtype != object and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, (list, tuple, str)) or not all(map(_is_plain, values)):
        return values[key]
    if len(set(values)) != len(values):
        unsupported("a list whose entries are not all different, at a chosen place,")
    return LabelOfPlace(tuple(values), key)


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return isinstance(value, (str, int, float, bool, np.generic, type(None)))
