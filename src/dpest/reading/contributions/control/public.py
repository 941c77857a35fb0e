"""Public values: whatever is computed from what was made visible is a post-processing of it.

What such a value is does not matter for privacy; a *recipe* says how a run makes it, so that a
replay can compare it with what the function gave.
"""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import BINARY, COMPARE, is_plain
from dpest.reading.contributions.control.keys import Keys
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.values import (
    Combined,
    Key,
    Map,
    ProgramObject,
    PublicValue,
    RecordTruth,
    Seq,
    SmallArray,
    has_private_order,
)


@dataclass(frozen=True, eq=False)
class Recipe:
    """A call on public values; `raises`: whether it raises, rather than what it gives."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)

    def made(self, arguments: list[Any], named: Mapping[str, Any]) -> Any:
        """By a run; what changes its arguments is not a function of them."""
        before = _frozen((arguments, dict(named)))
        with np.errstate(all="ignore"):
            found = self.function(*arguments, **named)
        if isinstance(found, Iterator):
            found = list(found)
        if before is not None and _differ(before, _frozen((arguments, dict(named)))):
            raise ValueError("a call that changes what it is given")
        return found


def _frozen(value: Any) -> bytes | None:
    try:
        return pickle.dumps(value)
    except Exception:  # nothing that can be compared: objects of the user
        return None


def _differ(before: bytes, after: bytes | None) -> bool:
    """Whether two states are not equal; equal ones may share their parts in different ways."""
    if before == after:
        return False
    if after is None:
        return True
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return repr(pickle.loads(before)) != repr(pickle.loads(after))


def item_of(owner: Any, index: Any) -> Any:
    return owner[index]


def chosen(truth: Any, first: Any, second: Any) -> Any:
    return first if truth else second


def ordered(items: Iterable[Any], keys: Iterable[Any], reverse: bool) -> list[Any]:
    """sorted(items, key=…), with the keys known."""
    pairs = list(zip(keys, items, strict=True))
    return [item for _, item in sorted(pairs, key=lambda p: p[0], reverse=bool(reverse))]


def extreme_of(op: str, items: Iterable[Any], keys: Iterable[Any]) -> Any:
    """max(items, key=…), with the keys known: the first of the largest."""
    pick: Any = max if op == "max" else min
    pairs = list(zip(keys, items, strict=True))
    return pick(pairs, key=lambda p: p[0])[1]


def method_of(name: str) -> Callable[..., Any]:
    def called(owner: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(owner, name)(*arguments, **named)

    called.__name__ = name
    return called


@dataclass(frozen=True)
class Native:
    """A function, as an argument of a recipe."""

    function: Any


class Publics(Keys):
    """Calls on public values."""

    def __init__(self) -> None:
        super().__init__()
        self.recipes: dict[Any, Recipe] = {}
        self.opaque: dict[int, tuple[PublicValue, SymbolicForm]] = {}

    def publicly(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> PublicValue:
        """A call of a pure function; noisy arguments are made visible, private ones refused."""
        given = tuple(self.shown(a) for a in arguments)
        options = {k: self.shown(v) for k, v in named.items()}
        found: tuple[Any, ...] = ()
        if function in (int, str) and len(given) == 1 and isinstance(given[0], PublicValue):
            found = tuple(map(function, given[0].options))
        return PublicValue(Recipe(function, given, options), len(self.ledger.rows), found)

    def pinned_public(self, value: Any) -> Any:
        """A public value as a plain one, on a way of its own for each that it may be."""
        if not isinstance(value, PublicValue) or not value.options or self.in_pass:
            return value
        *others, last = value.options
        for one in others:
            if self.decide(self.compare("==", value, one)):
                return one
        return last

    def number_of(self, value: PublicValue) -> SymbolicForm:
        """A public value as a number."""
        known = self.opaque.get(id(value))
        if known is None:
            self.publics += 1
            form = self.terms.of("pub", self.publics, value.after)
            if value.recipe is None:
                raise Unread("arithmetic with a value that is not known")
            self.recipes[self.publics] = value.recipe
            known = self.opaque[id(value)] = value, form
        return known[1]

    def form(self, value: Any) -> SymbolicForm:
        return self.number_of(value) if isinstance(value, PublicValue) else super().form(value)

    def is_public(self, value: Any) -> bool:
        """Whether it has neither private values nor noise that nobody has seen."""
        if isinstance(value, SymbolicForm):
            return not self.terms.kind(value)
        if isinstance(value, RecordTruth):
            return value.coin is None and value.form is not None and self.is_public(value.form)
        if isinstance(value, Combined):
            return all(map(self.is_public, value.parts))
        if isinstance(value, (tuple, Seq, Map, SmallArray)):
            if isinstance(value, Seq) and value.rows is not None:
                return False
            if has_private_order(value):
                return False
            return all(map(self.is_public, _inside(value)))
        return is_plain(value) or isinstance(value, PublicValue)

    def shown(self, value: Any) -> Any:
        """A copy of a value as public: noisy numbers in it become visible."""
        if isinstance(value, SymbolicForm):
            found = self.local(value)
            if self.terms.kind(found):
                raise Unread("a function of private values that is not known here")
            return found
        if isinstance(value, (RecordTruth, Combined)):
            if self.is_public(value):
                return value
            raise Unread("whether something holds of private values")
        if isinstance(value, tuple):
            return tuple(map(self.shown, value))
        if isinstance(value, SmallArray):
            return value.map(self.shown)
        if isinstance(value, Seq):
            if value.rows is not None or value.bag:
                raise Unread("a function of a list of the data")
            return Seq([self.shown(v) for v in value.items])
        if isinstance(value, Map):
            if value.frozen or not value.known:
                raise Unread("a function of a mapping that is not known")
            return Map({k: self.shown(v) for k, v in value.items.items()})
        if isinstance(value, slice):
            return value
        if is_plain(value) or isinstance(value, (PublicValue, Native, type)):
            return value
        if isinstance(value, (ProgramObject, Key)):
            raise Unread(f"a function of {type(value).__name__} that is not known here")
        raise Unread(f"a function of {type(value).__name__}")

    # Operators -----------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if op == "%" and isinstance(a, str) and not is_plain(b):
            return self.publicly(BINARY[op], a, b)
        if _opaque(a, b) and self._public_pair(a, b):
            return self.publicly(BINARY[op], a, b)
        return super().binary(op, a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if _opaque(a, b) and self._public_pair(a, b):
            return self.publicly(COMPARE[op], a, b)
        return super().compare(op, a, b)

    def _public_pair(self, a: Any, b: Any) -> bool:
        return self.is_public(a) and self.is_public(b)

    def unary(self, op: str, a: Any) -> Any:
        if isinstance(a, PublicValue) and op != "not":
            signs: dict[str, Any] = {
                "-": operator.neg, "+": operator.pos, "~": operator.invert,
            }  # fmt: skip
            return self.publicly(signs[op], a)
        return super().unary(op, a)

    def decide(self, value: Any) -> bool:
        if isinstance(value, PublicValue):
            return super().decide(RecordTruth("!=", self.number_of(self.publicly(bool, value))))
        return super().decide(value)


def _opaque(*values: Any) -> bool:
    return any(isinstance(v, PublicValue) for v in values)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Seq):
        return value.items
    if isinstance(value, Map):
        return [*value.items, *value.items.values()]
    return value.cells if isinstance(value, SmallArray) else value
