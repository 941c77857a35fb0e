"""Outputs that differ in what is around their numbers: told apart, or refused, never equal."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import types
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dpest
from dpest.errors import OpaqueError
from dpest.running.skeleton import consumed, flatten, raised_output


class Named(NamedTuple):
    value: float


class Other(NamedTuple):
    value: float


class Tagged(list):
    tag = ""


class Sub(dict):
    pass


class Note(str):
    pass


class Unit(float):
    pass


@dataclasses.dataclass
class Point:
    value: float


@dataclasses.dataclass
class Place:
    value: float


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Fitted:
    def __init__(self, mean: float, **more: Any) -> None:
        self.mean_ = mean
        self.__dict__.update(more)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def tagged(tag: str) -> Tagged:
    out = Tagged([1.0])
    out.tag = tag
    return out


def with_attrs(**attrs: Any) -> pd.Series:
    column = pd.Series([1.0])
    column.attrs.update(attrs)
    return column


KINDS: dict[str, tuple[Any, Any]] = {
    "list or tuple": ([1.0], (1.0,)),
    "int or bool": (1, True),
    "int or float": (1, 1.0),
    "float or numpy": (1.0, np.float64(1.0)),
    "single or double": (np.float32(1.0), np.float64(1.0)),
    "bool or numpy": (True, np.bool_(True)),
    "type of an array": (np.zeros(2), np.zeros(2, dtype=np.float32)),
    "array of whole numbers": (np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.int64)),
    "shape of an array": (np.zeros((2, 1)), np.zeros((1, 2))),
    "list or array": ([0.0, 0.0], np.zeros(2)),
    "mask": (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[1, 0])),
    "names of a record": (
        np.zeros(1, dtype=[("a", float)]),
        np.zeros(1, dtype=[("b", float)]),
    ),
    "keys": ({"a": 1.0}, {"b": 1.0}),
    "types of keys": ({1: 1.0}, {1.0: 1.0}),
    "true as a key": ({1: 1.0}, {True: 1.0}),
    "order of an ordered dict": (
        collections.OrderedDict(a=1.0, b=2.0),
        collections.OrderedDict([("b", 2.0), ("a", 1.0)]),
    ),
    "dict or counter": ({"a": 1}, collections.Counter(a=1)),
    "dict or a kind of dict": ({"a": 1}, Sub(a=1)),
    "attribute of a list": (tagged("low"), tagged("high")),
    "list or a kind of list": ([1.0], tagged("")),
    "text or a kind of text": ("a", Note("a")),
    "text or bytes": ("a", b"a"),
    "float or a kind of float": (1.0, Unit(1.0)),
    "named tuples": (Named(1.0), Other(1.0)),
    "named tuple or tuple": (Named(1.0), (1.0,)),
    "data classes": (Point(1.0), Place(1.0)),
    "slots": (Slotted(1.0), Slotted(2.0)),
    "an estimator's attribute": (Fitted(1.0, n_=3), Fitted(1.0, n_=4)),
    "a namespace": (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
    "members of a set": ({1, 2}, {1, 3}),
    "set or frozenset": ({1}, frozenset({1})),
    "an enumeration": (Colour.RED, Colour.BLUE),
    "index of a column": (pd.Series([1.0], index=["a"]), pd.Series([1.0], index=["b"])),
    "name of a column": (pd.Series([1.0], name="a"), pd.Series([1.0], name="b")),
    "type of a column": (pd.Series([1.0]), pd.Series([1.0], dtype="float32")),
    "attributes of a column": (with_attrs(n=3), with_attrs(n=4)),
    "categories": (
        pd.Series(pd.Categorical(["a"], categories=["a"])),
        pd.Series(pd.Categorical(["a"], categories=["a", "b"])),
    ),
    "columns of a table": (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})),
    "order of columns": (pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [2], "a": [1]})),
    "rows of a table": (
        pd.DataFrame({"a": [1.0]}, index=[0]),
        pd.DataFrame({"a": [1.0]}, index=[1]),
    ),
    "name of an index": (
        pd.DataFrame({"a": [1.0]}, index=pd.Index([0], name="k")),
        pd.DataFrame({"a": [1.0]}, index=pd.Index([0], name="l")),
    ),
    "several columns": (
        pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", "c")])),
    ),
    "times": (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")),
    "dates": (datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
    "decimals": (decimal.Decimal("1.0"), decimal.Decimal("1.1")),
    "fractions": (Fraction(1, 2), Fraction(1, 3)),
    "complex numbers": (1 + 1j, 1 + 2j),
    "an error that is returned": (ValueError("a"), ValueError("b")),
    "a class that is returned": (int, float),
    "a queue": (collections.deque([1], maxlen=2), collections.deque([1], maxlen=3)),
    "a generator or a list": (consumed(v for v in [1.0]), [1.0]),
    "paths": (Path("a"), Path("b")),
    "ranges": (range(3), range(4)),
    "bytes that change": (bytearray(b"a"), b"a"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_told_apart(kind: str) -> None:
    first, second = KINDS[kind]
    assert flatten(first, typed=True) != flatten(second, typed=True)
    again, _ = KINDS[kind]
    assert flatten(first, typed=True) == flatten(again, typed=True)


def test_there_are_enough_of_them() -> None:
    assert len(KINDS) >= 40


OPAQUE = [object(), lambda: 1, np.random.default_rng(0), types, {object()}, {object(): 1}, iter]


@pytest.mark.parametrize("value", OPAQUE, ids=lambda v: type(v).__name__)
def test_what_is_compared_by_its_address_is_refused(value: Any) -> None:
    with pytest.raises(OpaqueError, match="can't be looked into"):
        flatten([1.0, value])


def test_the_order_of_a_mapping_is_not_released() -> None:
    assert flatten({"a": 1, "b": 2}) == flatten({"b": 2, "a": 1})
    assert flatten({3, 1, 2}) == flatten({2, 1, 3})


def test_the_text_of_an_error_is_released_and_an_address_is_not() -> None:
    assert raised_output(ValueError("3 rows")) != raised_output(ValueError("4 rows"))
    first, second = (raised_output(KeyError(f"{object()}")) for _ in range(2))
    assert first == second


AUDITED = (
    "float or numpy", "attribute of a list", "index of a column", "columns of a table",
    "type of an array", "a namespace", "types of keys", "mask",
)  # fmt: skip


@pytest.mark.parametrize("kind", AUDITED)
def test_an_audit_finds_the_leak(kind: str) -> None:
    pair = KINDS[kind]

    def leaky(x: Any, rng: Any) -> Any:
        return pair[x[0] > 0]

    verdict = dpest.audit(leaky, epsilon=1.0, adjacency="l1", length=1, budget=4000, patience=0.1)
    assert verdict.status == "violated", verdict


def test_an_audit_refuses_what_nobody_can_compare() -> None:
    with pytest.raises(OpaqueError, match="vars"):
        dpest.audit(lambda x, rng: object(), epsilon=1.0, adjacency="l1", length=1)
