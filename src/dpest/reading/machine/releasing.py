"""What a function returns, as everything that a receiver sees of it."""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Any

import numpy as np

from dpest.geometry.linear import Form
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    GeneratorObject,
    Instance,
    ListObject,
    SetObject,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import Array, Ref
from dpest.reading.model import Release
from dpest.running.skeleton import Leaf, LeafKind, Nest, Skeleton, leaf_kind

_NOT_SEEN = "return numbers, text, lists, tuples, dicts, arrays or dataclasses of them"


def released(machine: Machine, state: State) -> Release:
    """The outcome of a state that has ended."""
    outcome = state.outcome
    assert outcome is not None
    machine.state = state
    for address in state.heap.addresses():
        thing = state.heap.read(Ref(address))
        if isinstance(thing, GeneratorObject) and thing.started and thing.frame is not None:
            waiting = thing.frame
            if waiting.code.instructions[waiting.pc].handler is not None:
                raise Refused("a generator that is left inside of a `try`")
    if outcome.raised:
        name = _class_name(state, state.heap.read(outcome.value).cls)
        return Release(Leaf("str"), (f"raises {name}",), True)
    leaves: list[Any] = []
    skeleton = _flatten(machine, state, outcome.value, leaves, set())
    return Release(skeleton, tuple(leaves))


def _class_name(state: State, cls: Any) -> str:
    return str(state.heap.read(cls).name if isinstance(cls, Ref) else cls.__name__)


def _flatten(m: Machine, state: State, value: Any, leaves: list[Any], inside: set[int]) -> Skeleton:
    if isinstance(value, tuple):
        parts = tuple(_flatten(m, state, v, leaves, inside) for v in value)
        return Nest("tuple", (), parts)
    if isinstance(value, Array):
        found = m.arrays.elements(m, value)
        if not value.shape:
            return _leaf(m, found[0], leaves)
        return Nest("array", value.shape, tuple(_leaf(m, v, leaves) for v in found))
    if isinstance(value, Ref):
        if value.address in inside:
            raise Refused("a container that holds itself is returned")
        return _object(m, state, value, leaves, inside | {value.address})
    return _leaf(m, value, leaves)


def _object(m: Machine, state: State, ref: Ref, leaves: list[Any], inside: set[int]) -> Skeleton:
    thing = state.heap.read(ref)
    if isinstance(thing, ListObject):
        return Nest("list", (), tuple(_flatten(m, state, v, leaves, inside) for v in thing.items))
    if isinstance(thing, DictObject) and thing.kind in (dict, collections.OrderedDict):
        keys = tuple(k.item() if isinstance(k, np.generic) else k for k in thing.items)
        parts = tuple(_flatten(m, state, v, leaves, inside) for v in thing.items.values())
        return Nest("dict", keys, parts)
    if isinstance(thing, DictObject):
        keys = tuple(thing.items)
        parts = tuple(_flatten(m, state, v, leaves, inside) for v in thing.items.values())
        return Nest("dict", keys, parts)
    if isinstance(thing, SetObject):
        leaves.append(frozenset(thing.items))
        return Leaf("object")
    if isinstance(thing, Instance) and isinstance(thing.cls, type):
        if dataclasses.is_dataclass(thing.cls):
            names = tuple(f.name for f in dataclasses.fields(thing.cls))
            if set(thing.attributes) != set(names):
                raise Refused("an object with attributes beside its fields is returned", _NOT_SEEN)
            parts = tuple(_flatten(m, state, thing.attributes[n], leaves, inside) for n in names)
            return Nest("dict", names, parts)
    if isinstance(thing, GeneratorObject):
        raise Refused("a generator is returned")
    if isinstance(thing, DequeObject):
        raise Refused("a deque is returned", _NOT_SEEN)
    raise Refused(f"a {m.type_name(ref)} is returned, which can't be looked into", _NOT_SEEN)


def _leaf(m: Machine, value: Any, leaves: list[Any]) -> Leaf:
    if isinstance(value, Truth):
        known = known_truth(m, value)
        if known is None:
            leaves.append(m.indicator(value))
        else:
            leaves.append(known)
        return Leaf("bool")
    if isinstance(value, Real):
        form = _with_known_bits(m, value.form)
        kind: LeafKind = "int" if value.integral else "real"
        if form.terms:
            leaves.append(form)
            return Leaf(kind)
        if kind == "int":
            leaves.append(int(form.constant))
            return Leaf("int")
        leaves.append(float(form.constant))
        return Leaf("float")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, frozenset):
        leaves.append(value)
        return Leaf("object")
    if not isinstance(value, (int, float, str, bytes, type(None), enum.Enum)):
        raise Refused(f"a {m.type_name(value)} is returned, which can't be looked into", _NOT_SEEN)
    leaves.append(value)
    return Leaf(leaf_kind(value))


def known_truth(m: Machine, truth: Truth) -> bool | None:
    """Its value, where the path has decided it."""
    if truth.condition is not None:
        condition = truth.condition
        if any(s.kind == "indicator" for s in condition.form.terms):
            return None
        if not any(s in m.state.constrained for s in condition.form.terms) and m.easily(condition):
            if m.easily(condition.negated()):
                return None
        if not m.possible((condition,)):
            return False
        return None if m.possible((condition.negated(),)) else True
    answers = [known_truth(m, part) for part in truth.parts]
    if (not truth.conjunction) in answers:
        return not truth.conjunction
    return truth.conjunction if None not in answers else None


def _with_known_bits(m: Machine, form: Form) -> Form:
    values = {}
    for symbol in form.symbols("indicator"):
        known = known_truth(m, m.definitions[symbol])
        if known is not None:
            values[symbol] = Form.number(int(known))
    return form.substitute(values) if values else form
