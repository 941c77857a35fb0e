"""Calls: the parameters of the user's functions join all that is ever handed in."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.guard import permitted
from dpest.reading.guard.library import LibraryCalls
from dpest.reading.guard.things import (
    STATE,
    InnerClass,
    LibraryFunction,
)
from dpest.reading.guard.units import InspectedUnit
from dpest.reading.guard.values import (
    MISSING,
    NOTHING,
    Kind,
    Value,
    touched,
)
from dpest.running.places import is_user_file


class WalkedCalls(LibraryCalls):
    """The part of the walk that follows calls."""

    def call_unit(
        self,
        unit: InspectedUnit,
        args: Sequence[Value],
        named: Mapping[str, Value],
        rest: Value | None = None,
    ) -> Value:
        """Hand values to a function; what it is known to return."""
        if not unit.reached:
            unit.reached = True
            self.news = True
        given = unit.node.args
        places = [*given.posonlyargs, *given.args]
        for place, value in zip(places, args, strict=False):
            self._bind(unit, place.arg, value)
        over = args[len(places) :]
        if given.vararg is not None:
            for value in over:
                held = Value("list", value.touched, NOTHING, value.functions, value.shared)
                self._bind(unit, given.vararg.arg, held)
        known = {p.arg for p in unit.parameters}
        for name, value in named.items():
            if name in known:
                self._bind(unit, name, value)
            elif given.kwarg is not None:
                held = Value("list", value.touched, NOTHING, value.functions, value.shared)
                self._bind(unit, given.kwarg.arg, held)
        if rest is not None:
            # Arguments that were handed on as *args or **kwargs: they may be any of the others.
            for i, place in enumerate(unit.parameters):
                if place.arg == "rng" and "noise" in rest.touched:
                    self._bind(unit, "rng", Value("rng", frozenset({"noise"})))
                elif i >= len(args) and place.arg not in named:
                    kind: Kind = "data" if i == 0 and "data" in rest.touched else "any"
                    handed = Value(kind, rest.touched, rest.parts, rest.functions, rest.parts)
                    self._bind(unit, place.arg, handed)
            for extra in (given.vararg, given.kwarg):
                if extra is not None:
                    self._bind(
                        unit,
                        extra.arg,
                        Value("list", rest.touched, NOTHING, rest.functions, rest.parts),
                    )
        for place in unit.parameters:
            if place.arg not in unit.variables:
                self._bind(unit, place.arg, Value("any"))
        return unit.returns if unit.returns is not None else Value("any")

    def escape(self, value: Value, with_: frozenset[str], shared: frozenset[str]) -> Value:
        """A function that is handed to a library's: it may be called with anything in there."""
        result = Value("any", with_, shared)
        known = value.known
        if isinstance(known, FunctionType) and is_user_file(known.__code__.co_filename):
            unit = self._unit(known)
            if unit is None:
                return result
            value = Value("function", functions=frozenset({unit}))
        for unit in value.functions:
            if isinstance(unit, InspectedUnit):
                inside = Value("any", with_, shared)
                result = result.join(self.call_unit(unit, [inside] * len(unit.parameters), {}))
        return result

    def _call_object(
        self,
        node: ast.Call | None,
        thing: Any,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None = None,
    ) -> Value:
        """A call of an object that is known."""
        place: Any = node if node is not None else ast.Pass(lineno=1)
        if isinstance(thing, Mechanism):
            bound = {k: self._parameter(v) for k, v in thing.params.items()}
            return self._call_object(node, thing.function, args, {**bound, **named}, touches, rest)
        if isinstance(thing, functools.partial):
            first = [self._parameter(v) for v in thing.args]
            bound = {k: self._parameter(v) for k, v in thing.keywords.items()}
            return self._call_object(
                node, thing.func, [*first, *args], {**bound, **named}, touches, rest
            )
        if isinstance(thing, functools._lru_cache_wrapper):
            self._or_root(
                place, thing, "a cache (functools.cache, lru_cache): it outlives the call", STATE
            )
            return Value("any", touches)
        if isinstance(thing, MethodType) and isinstance(thing.__func__, FunctionType):
            owner = self._instance(thing.__self__)
            return self._call_object(node, thing.__func__, [owner, *args], named, touches, rest)
        if isinstance(thing, FunctionType):
            if not is_user_file(thing.__code__.co_filename):
                return self._library(place, thing, args, named, touches)
            unit = self._unit(thing)
            if unit is None:
                self._or_root(
                    place,
                    thing,
                    f"{thing.__name__} has no source that could be read",
                    "define it in a file",
                )
                return Value("any", touches)
            return self.call_unit(unit, args, named, rest)
        if isinstance(thing, type):
            if issubclass(thing, np.number) and thing not in permitted.WIDE:
                self.note(
                    place,
                    f"numbers of the type {thing.__name__}, which wrap or round",
                    "count with Python's own numbers, float64 or int64",
                )
            return self._make(place, thing, args, named, touches)
        own = getattr(type(thing), "__call__", None)  # noqa: B004
        if isinstance(own, FunctionType) and is_user_file(own.__code__.co_filename):
            return self._call_object(
                node, own, [self._instance(thing), *args], named, touches, rest
            )
        return self._library(place, thing, args, named, touches)

    def call(self, node: ast.Call) -> Value:
        args: list[Value] = []
        named: dict[str, Value] = {}
        rest: Value | None = None
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                value = self.eval(arg.value)
                rest = value if rest is None else rest.join(value)
            else:
                args.append(self.eval(arg))
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is None:
                rest = value if rest is None else rest.join(value)
            else:
                named[keyword.arg] = value
        values = [*args, *named.values(), *([rest] if rest is not None else [])]
        touches = touched(values)
        if isinstance(node.func, ast.Attribute):
            base = self.eval(node.func.value)
            known = self._static(base, node.func.attr)
            if known is MISSING:
                return self._method(node, base, node.func.attr, args, named, touches, rest)
            return self._call_object(node, known, args, named, touches, rest)
        target = self.eval(node.func)
        if target.known is not MISSING:
            return self._call_object(node, target.known, args, named, touches, rest)
        return self._call_functions(node, target, args, named, touches, rest)

    def _call_functions(
        self,
        node: ast.Call,
        target: Value,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None,
    ) -> Value:
        if not target.functions:
            self.note(
                node,
                f"a call of {ast.unparse(node.func)}, and it is not known what that is",
                "call functions by their names",
                touches | target.touched or None,
            )
            return Value("any", touches)
        result: Value | None = None
        for unit in target.functions:
            if isinstance(unit, InnerClass):
                for method in self.methods.get("__init__", []):
                    self.call_unit(method, [Value("object", touches), *args], named, rest)
                found = Value("object", touches)
            elif isinstance(unit, LibraryFunction):
                found = self._call_object(node, unit.thing, args, named, touches, rest)
            else:
                found = self.call_unit(unit, args, named, rest)
            result = found if result is None else result.join(found)
        assert result is not None
        return result
