"""Objects and classes of the program, as the walk sees them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from dpest.reading.guard.things import (
    LibraryFunction,
    defined_at,
    is_users_class,
)
from dpest.reading.guard.values import (
    NOTHING,
    OUTSIDE,
    Value,
)
from dpest.reading.guard.walk import Walk
from dpest.running.places import is_user_file


class WalkedObjects(Walk):
    """The part of the walk that knows objects."""

    def _or_root(self, place: Any, thing: Any, what: str, advice: str) -> None:
        """A finding at a call; at the mechanism itself where nobody calls it."""
        if isinstance(place, ast.Call):
            self.note(place, what, advice)
            return
        self._note_at(defined_at(thing), what, advice, None)

    def _instance(self, thing: Any) -> Value:
        """An object that exists before the call; its class is read."""
        if isinstance(thing, type):
            self._class(thing)
            return self.value_of(thing)
        self._class(type(thing))
        for name, value in getattr(thing, "__dict__", {}).items():
            self._attribute(name, self._parameter(value))
        return Value("object", NOTHING, OUTSIDE, known=thing)

    def _class(self, kind: type) -> None:
        """The methods of a user's class, and the names of what its objects hold."""
        if id(kind) in self.classes or not is_users_class(kind):
            return
        self.classes[id(kind)] = kind
        self.news = True
        for base in kind.__mro__[1:]:
            self._class(base)
        for name in getattr(kind, "__dataclass_fields__", ()):
            self.attributes.setdefault(name, Value("any"))
        for name in getattr(kind, "_fields", ()):
            self.attributes.setdefault(name, Value("any"))
        for name, value in vars(kind).items():
            inner = value
            if isinstance(value, (staticmethod, classmethod)):
                inner = value.__func__
            if isinstance(value, property):
                inner = value.fget
            if isinstance(inner, FunctionType):
                if (
                    not is_user_file(inner.__code__.co_filename)
                    or inner.__code__.co_filename == "<string>"
                ):
                    continue  # made by dataclass, namedtuple and such
                unit = self._unit(inner)
                if unit is None:
                    continue
                if isinstance(value, property):
                    self.attributes.setdefault(name, Value("any", functions=frozenset({unit})))
                self.methods.setdefault(name, []).append(unit)
            elif not name.startswith("__"):
                self._attribute(name, self._parameter(value))
                if type(value).__name__ == "cached_property":
                    self.attributes[name] = Value(
                        "any", functions=frozenset({LibraryFunction(value)})
                    )

    def _attribute(self, name: str, value: Value) -> None:
        before = self.attributes.get(name)
        after = value if before is None else before.join(value)
        if after != before:
            self.attributes[name] = after
            self.news = True

    def _make(
        self,
        place: Any,
        kind: type,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
    ) -> Value:
        """An object of a class."""
        if issubclass(kind, BaseException) and not is_users_class(kind):
            if touches:
                self.note(
                    place,
                    "the text of an exception that depends on data or noise",
                    "raise it with a fixed text",
                    touches,
                )
            return Value("object", touches)
        if not is_users_class(kind):
            return self._library(place, kind, args, named, touches)
        if issubclass(kind, (list, dict, set, str, float, int, tuple)) and not hasattr(
            kind, "_fields"
        ):
            self.note(
                place,
                f"{kind.__name__} is a kind of {kind.__mro__[1].__name__} of its own",
                "return plain lists, dictionaries and numbers",
            )
        self._class(kind)
        this = Value("object", touches)
        shared = (
            frozenset().union(*(v.shared for v in (*args, *named.values())))
            if args or named
            else NOTHING
        )
        for unit in self.methods.get("__init__", []):
            self.call_unit(unit, [this, *args], named)
        for unit in self.methods.get("__post_init__", []):
            self.call_unit(unit, [this], {})
        for name in (*getattr(kind, "__dataclass_fields__", ()), *getattr(kind, "_fields", ())):
            joined = Value("any", touches, shared)
            for value in (*args, *named.values()):
                joined = joined.join(Value("any", functions=value.functions))
                if value.kind == "rng":
                    self._attribute(name, value)
            self._attribute(name, joined)
        return Value("object", touches, shared)
