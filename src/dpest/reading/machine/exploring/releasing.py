"""What a function returns, as everything that a receiver sees of it.

The value is rebuilt as Python would hold it, with a placeholder for each symbolic number, and then
looked at in the same way as the outputs of runs (`running.skeleton`).
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.errors import OpaqueError
from dpest.geometry.linear import Form
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    GeneratorObject,
    Instance,
    ListObject,
    OpenList,
    SetObject,
    Undecided,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Outcome, State
from dpest.reading.machine.values import Array, Known, Ref
from dpest.reading.model import Release
from dpest.running.skeleton import (
    PLAIN_LEAVES,
    Generated,
    LeafKind,
    Skeleton,
    flatten,
    raised_output,
)


class Unknown:
    """A symbolic number in a release: a leaf of its kind."""

    __slots__ = ("form", "leaf_kind")

    def __init__(self, form: Form, leaf_kind: LeafKind) -> None:
        self.form = form
        self.leaf_kind = leaf_kind


class Before:
    """In a release: what an open list held before this part of the way (`merging`)."""

    __slots__ = ("slot",)
    leaf_kind: LeafKind = "object"

    def __init__(self, slot: int) -> None:
        self.slot = slot


def released(machine: Machine, state: State) -> Release:
    """The outcome of a state that has ended."""
    outcome = state.outcome
    assert outcome is not None
    machine.state = state
    _no_generator_left(state)
    try:
        return _released(machine, state, outcome)
    except Undecided:
        raise Refused("an order of noisy values that is part of an error") from None


def _released(machine: Machine, state: State, outcome: Outcome) -> Release:
    if outcome.raised:
        skeleton, leaves = flatten(raised_output(_error(machine, state, outcome.value)))
        return Release(skeleton, tuple(leaves), True)
    try:
        skeleton, leaves = flatten(_rebuilt(machine, state, outcome.value, {}))
    except OpaqueError as error:
        raise Refused(str(error), final=True) from None
    return Release(skeleton, tuple([_plain_leaf(leaf) for leaf in leaves]))


def released_items(
    machine: Machine, state: State, items: Sequence[Any]
) -> tuple[tuple[Skeleton, ...], tuple[Any, ...]]:
    """The skeletons of the elements of a list that is released, and their leaves."""
    made: dict[int, Any] = {}
    try:
        flattening = [flatten(_rebuilt(machine, state, value, made)) for value in items]
    except OpaqueError as error:
        raise Refused(str(error), final=True) from None
    leaves = tuple([_plain_leaf(leaf) for _, found in flattening for leaf in found])
    return tuple([skeleton for skeleton, _ in flattening]), leaves


def _no_generator_left(state: State) -> None:
    for thing in state.heap.objects():
        if isinstance(thing, GeneratorObject) and thing.started and thing.frame is not None:
            waiting = thing.frame
            if waiting.code.instructions[waiting.pc].handler is not None:
                raise Refused("a generator that is left inside of a `try`")


def _error(m: Machine, state: State, ref: Ref) -> BaseException:
    """The exception, for its type and its text."""
    thing = state.heap.read(ref)
    if isinstance(thing.cls, Ref):
        raise Refused("an exception of an inner class leaves the function")
    if "__str__" in vars(thing.cls) and thing.cls.__module__ != "builtins":
        raise Refused("an exception with a text of its own leaves the function")
    made: BaseException = thing.cls.__new__(thing.cls)
    made.args = tuple(m.for_text(v) for v in thing.attributes["args"])
    return made


def _plain_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Unknown):
        return leaf.form
    return leaf.item() if isinstance(leaf, np.generic) else leaf


def _rebuilt(m: Machine, state: State, value: Any, made: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in PLAIN_LEAVES or kind is str:
        return value
    if isinstance(value, (Real, Truth)):
        return _number(m, value)
    if isinstance(value, tuple):
        parts = [_rebuilt(m, state, v, made) for v in value]
        return kind._make(parts) if hasattr(kind, "_make") else tuple(parts)
    if isinstance(value, Array):
        return _rebuilt_array(m, state, value, made)
    if isinstance(value, Ref):
        if value.address not in made:
            _rebuild_object(m, state, value, made)
        return made[value.address]
    if isinstance(value, frozenset):
        return value
    if isinstance(value, Known):
        return value.thing
    if type(value).__module__.startswith("dpest.reading"):
        raise Refused(f"a {m.type_name(value)} is returned", final=True)
    return value


def _number(m: Machine, value: Real | Truth) -> Any:
    if isinstance(value, Truth):
        known = known_truth(m, value)
        return Unknown(m.indicator(value), "bool") if known is None else value.kind(known)
    form = _with_known_bits(m, value.form)
    if form.terms:
        return Unknown(form, "int" if value.integral else "real")
    constant = form.constant
    return value.kinds[0](int(constant) if value.integral else float(constant))


def _rebuilt_array(m: Machine, state: State, value: Array, made: dict[int, Any]) -> np.ndarray:
    if m.arrays.is_known(m, value):
        return m.arrays.known_content(m, value)
    parts = np.empty(value.places.size, dtype=object)
    for i, part in enumerate(m.arrays.elements(m, value)):
        parts[i] = _rebuilt(m, state, part, made)
    return parts.reshape(value.shape)


def _rebuild_object(m: Machine, state: State, ref: Ref, made: dict[int, Any]) -> None:
    thing = state.heap.read(ref)
    if isinstance(thing, ListObject):
        items = made[ref.address] = Generated() if thing.kind is Generated else []
        if isinstance(thing, OpenList):
            items.append(Before(thing.slot))
            items.extend([_rebuilt(m, state, v, made) for v in thing.added])
            return
        # Long lists of plain numbers are common, and each path has its own.
        if PLAIN_LEAVES.keys() >= set(map(type, thing.items)):
            items.extend(thing.items)
        else:
            items.extend([_rebuilt(m, state, v, made) for v in thing.items])
    elif isinstance(thing, DictObject):
        kind = thing.kind
        new: Any = collections.defaultdict(None) if kind is collections.defaultdict else kind()
        made[ref.address] = new
        for key, value in thing.items.items():
            if isinstance(key, Ref):
                raise Refused("a dict with objects as keys is returned", final=True)
            dict.__setitem__(new, key, _rebuilt(m, state, value, made))
    elif isinstance(thing, SetObject):
        made[ref.address] = set(thing.items)
    elif isinstance(thing, DequeObject):
        made[ref.address] = collections.deque(
            [_rebuilt(m, state, v, made) for v in thing.items], thing.maximum
        )
    elif isinstance(thing, Instance) and isinstance(thing.cls, type):
        owner: Any = thing.cls
        found: Any = owner.__new__(owner)
        made[ref.address] = found
        for name, value in thing.attributes.items():
            object.__setattr__(found, name, _rebuilt(m, state, value, made))
    elif isinstance(thing, GeneratorObject):
        raise Refused("a generator is returned")
    else:
        raise Refused(f"a {m.type_name(ref)} is returned, which can't be looked into", final=True)


def known_truth(m: Machine, truth: Truth) -> bool | None:
    """Its value, where the path has decided it."""
    if truth.condition is not None:
        condition = truth.condition
        if any(s.kind == "indicator" for s in condition.form.terms):
            return None
        if m.easily(condition) and m.easily(condition.negated()):
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
