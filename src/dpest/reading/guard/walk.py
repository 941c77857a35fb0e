"""The state of the walk: what was found, and what names and objects stand for."""

from __future__ import annotations

import ast
import builtins
import random
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.guard import permitted
from dpest.reading.guard.things import (
    PLAIN,
    STATE,
    LibraryFunction,
    Suspicion,
    defined_at,
)
from dpest.reading.guard.units import InspectedUnit, unit_of
from dpest.reading.guard.values import (
    NOTHING,
    OUTSIDE,
    Value,
)
from dpest.running.places import is_user_file


class Walk:
    """What all parts of the walk share, and what they ask of each other."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.units: dict[int, InspectedUnit] = {}
        self.kept: list[Any] = []
        self.classes: dict[int, type] = {}
        self.methods: dict[str, list[InspectedUnit]] = {}
        self.attributes: dict[str, Value] = {}
        self.news = True
        self.recording = False
        self.found: dict[Suspicion, None] = {}
        self.missing: list[Suspicion] = []
        self.unit: InspectedUnit
        self.calling: Any = None  # the mechanism itself, while it is called from outside

    def note(
        self,
        node: ast.AST,
        operation: str,
        advice: str = PLAIN,
        touches: frozenset[str] | None = None,
        method: str = "",
    ) -> None:
        if self.calling is not None:  # no line of the user's calls it
            where = defined_at(self.calling)
        else:
            where = f"{self.unit.file}:{getattr(node, 'lineno', self.unit.node.lineno)}"
        self._note_at(where, operation, advice, touches, method)

    def _note_at(
        self,
        where: str,
        operation: str,
        advice: str,
        touches: frozenset[str] | None,
        method: str = "",
    ) -> None:
        if self.recording and (touches is None or touches):
            self.found[Suspicion(where, operation, advice, touches, method)] = None

    def value_of(self, thing: Any) -> Value:
        """An object that a name stands for, outside of all calls."""
        if isinstance(thing, Mechanism):
            return self.value_of(thing.function)
        if thing is None:
            return Value("none", known=None)
        if isinstance(thing, (bool, int, float, complex, np.number, np.bool_)):
            return Value("number", known=thing)
        if isinstance(thing, (str, bytes)):
            return Value("text", known=thing)
        if isinstance(thing, np.ndarray):
            return Value("array", NOTHING, OUTSIDE, known=thing)
        if isinstance(thing, (list, dict, set)):
            inside = self._inside(thing)
            return Value("list", NOTHING, OUTSIDE, inside.functions, inside.shared, known=thing)
        if isinstance(thing, (tuple, frozenset)):
            inside = self._inside(thing)
            return Value("list", NOTHING, NOTHING, inside.functions, inside.shared, known=thing)
        if isinstance(thing, (np.random.Generator, np.random.RandomState, random.Random)):
            return Value("rng", frozenset({"noise"}), OUTSIDE, known=thing)
        if isinstance(thing, Iterator):
            where = defined_at(self.calling) if self.calling is not None else self.unit.file
            what = f"an iterator ({type(thing).__name__}) that outlives the call"
            self._note_at(where, what, STATE, None)
        elif callable(thing) or isinstance(thing, ModuleType):
            return Value("function", known=thing)
        return Value("object", NOTHING, OUTSIDE, known=thing)

    def _inside(self, container: Any) -> Value:
        """What a small container of functions may hand out."""
        found = Value("any")
        parts = list(container.values()) if isinstance(container, dict) else list(container)
        for part in parts[:64]:
            value = self.value_of(part)
            if isinstance(part, FunctionType) and is_user_file(part.__code__.co_filename):
                unit = self._unit(part)
                if unit is not None:
                    found = found.join(Value("any", functions=frozenset({unit})))
            elif callable(part) and not permitted.permitted(part):
                found = found.join(Value("any", functions=frozenset({LibraryFunction(part)})))
            else:
                found = found.join(Value("any", shared=value.shared))
        return found

    def lookup(self, node: ast.Name) -> Value:
        name = node.id
        owner = self.unit.owner(name)
        if owner is not None:
            return owner.variables.get(name, Value("any"))
        unit: InspectedUnit = self.unit
        while unit.parent is not None:
            unit = unit.parent
        if name in unit.cells:
            return self.value_of(unit.cells[name])
        if name in unit.globals:
            return self.value_of(unit.globals[name])
        if hasattr(builtins, name):
            return self.value_of(getattr(builtins, name))
        return Value("any")

    def _unit(self, function: FunctionType) -> InspectedUnit | None:
        key = id(function)
        if key not in self.units:
            unit = unit_of(function)
            if unit is None:
                return None
            self.kept.append(function)
            self.units[key] = unit
            self._defaults(unit, function)
        return self.units[key]

    def _defaults(self, unit: InspectedUnit, function: FunctionType) -> None:
        given = unit.node.args
        places = [*given.posonlyargs, *given.args]
        values = function.__defaults__ or ()
        for place, value in zip(places[len(places) - len(values) :], values, strict=True):
            unit.bind(place.arg, self._parameter(value))
        for name, value in (function.__kwdefaults__ or {}).items():
            unit.bind(name, self._parameter(value))

    def _inner(self, node: Any) -> InspectedUnit:
        """A function that is defined inside of this one."""
        if id(node) not in self.units:
            unit = InspectedUnit(
                node, self.unit.file, self.unit.globals, self.unit.cells, self.unit
            )
            self.units[id(node)] = unit
        return self.units[id(node)]

    # What later parts know

    def _parameter(self, value: Any) -> Value:
        raise NotImplementedError

    def _library(
        self,
        place: Any,
        thing: Any,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
    ) -> Value:
        raise NotImplementedError

    def call_unit(
        self,
        unit: InspectedUnit,
        args: Sequence[Value],
        named: Mapping[str, Value],
        rest: Value | None = None,
    ) -> Value:
        raise NotImplementedError

    def escape(self, value: Value, with_: frozenset[str], shared: frozenset[str]) -> Value:
        raise NotImplementedError

    def _call_object(
        self,
        node: ast.Call | None,
        thing: Any,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None = None,
    ) -> Value:
        raise NotImplementedError

    def _call_functions(
        self,
        node: ast.Call,
        target: Value,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None,
    ) -> Value:
        raise NotImplementedError

    def mutation(self, node: ast.AST, base: Value, how: str) -> None:
        raise NotImplementedError

    def _into(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def _bind(self, unit: InspectedUnit, name: str, value: Value) -> None:
        raise NotImplementedError

    def eval(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def store(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def _loop(self, target: ast.expr, source: ast.expr, over: Value) -> None:
        raise NotImplementedError

    def _returned(self, value: Value) -> None:
        raise NotImplementedError
