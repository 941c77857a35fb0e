"""What the variables of a loop may hold: what is seen of them, and what is still to be decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.loops.any_length import OutputList, PrefixSums, TracedVector
from dpest.reading.loops.lengths import Counter, LengthCount, Position
from dpest.reading.loops.merging import decided
from dpest.reading.loops.passes import Chosen, Index, Items, PlacesLeft, RandomPlace
from dpest.reading.loops.vector_generator import OneDraw, OneHot
from dpest.reading.rewrites.labels import LabelOfPlace
from dpest.reading.rewrites.order_statistics import (
    Extreme,
    Others,
    Selected,
    Sorted,
    SortedPlaces,
    TracedGap,
    TracedRank,
    Withheld,
)
from dpest.reading.rewrites.softmax import Chance, ScaledScore, Weight
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth
from dpest.running.skeleton import flatten


def substituted(truth: Any, values: Mapping[Symbol, Form]) -> Any:
    if truth.condition is not None:
        form = truth.condition.form.substitute(values)
        return TracedTruth(Condition(form, truth.condition.relation))
    return TracedTruth(None, tuple(substituted(p, values) for p in truth.parts), truth.conjunction)


def decided_variable(value: Any) -> Any:
    if isinstance(value, OutputList):
        value.items = decided(value.items)
        return value
    if isinstance(value, WHOLE) or not _is_open(value):
        return value  # the same object: other names may stand for it, too
    return decided(value)


def _is_open(value: Any) -> bool:
    """Whether a truth, or a number with one in it, is still to be decided."""
    if isinstance(value, TracedTruth):
        return True
    if isinstance(value, TracedReal):
        return any(s.kind == "indicator" for s in value.form.terms)
    if type(value) in (list, tuple):
        return any(map(_is_open, value))
    if type(value) is dict:
        return any(map(_is_open, value.values()))
    return (
        isinstance(value, np.ndarray) and value.dtype == object and any(map(_is_open, value.flat))
    )


PLACED = (
    Selected, TracedRank, TracedGap, Sorted, Others, SortedPlaces, Extreme, Withheld,
    OneDraw, OneHot,
)  # fmt: skip
WHOLE = (
    *PLACED,
    TracedVector,
    OutputList,
    PrefixSums,
    Position,
    Counter,
    LengthCount,
    RandomPlace,
    Chosen,
    LabelOfPlace,
    Items,
    Index,
    PlacesLeft,
    ScaledScore,
    Weight,
    Chance,
)


def as_released(released: Any) -> Any:
    """A released value, as an edge has it."""
    if isinstance(released, RandomPlace):
        return ("place", released.source, released.offset)
    if isinstance(released, Chosen):
        return ("chosen", released.path, released.offset)
    return "position" if isinstance(released, Position) else released


def leaves_of(value: Any) -> list[Any]:
    """What an observer sees: forms of noise and data, or plain values."""
    if isinstance(value, WHOLE):
        return [value]
    if type(value) in (list, tuple):
        return [leaf for part in value for leaf in leaves_of(part)]
    if type(value) is dict:
        return [leaf for part in value.values() for leaf in leaves_of(part)]
    _, flat = flatten(value)
    found: list[Any] = []
    for leaf in flat:
        if isinstance(leaf, TracedReal):
            found.append(leaf.form if leaf.form.terms else leaf.plain)
        else:
            found.append(leaf)
    return found
