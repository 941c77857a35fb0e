"""All that a function can reach, walked once: where does it look at more than numbers?

The walk is flow-insensitive: a variable is the join of all that is ever assigned to it, and a
parameter of all that is ever handed in. It goes round until nothing is news, then once more to
write down its findings.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.guard import permitted
from dpest.reading.guard.units import InspectedUnit, unit_of
from dpest.reading.guard.values import (
    ARGUMENT,
    MISSING,
    NOTHING,
    OUTSIDE,
    Kind,
    Value,
    number,
    touched,
)
from dpest.running.places import is_user_file

ALL = frozenset({"data", "length", "noise", "parameter"})
_ROUNDS = 24
_PLAIN = "compute with the numbers themselves"
STATE = "keep everything in variables of the call"


@dataclass(frozen=True)
class Suspicion:
    """Something that symbolic values are not known to be read rightly in.

    `touches` says whose symbols it looks at; None: it is wrong whatever they are.
    """

    where: str
    operation: str
    advice: str
    touches: frozenset[str] | None


class Inspection:
    """The findings in one function and in all of the user's code that it can reach."""

    def __init__(self, function: Any, params: Mapping[str, Any], form: str) -> None:
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
        for _ in range(_ROUNDS):
            if not self.news:
                break
            self.news = False
            self._root(function, params)
            self._walk_all()
        self.recording = True
        self._root(function, params)
        self._walk_all()
        if self.news:
            self._note_at("?", "code that is too involved to inspect", _PLAIN, None)

    # What is walked ----------------------------------------------------------------------------

    def _root(self, function: Any, params: Mapping[str, Any]) -> None:
        """Call the mechanism as dpest does: data, rng, and the parameters by name."""
        data = Value(
            "number" if self.form == "number" else "data",
            frozenset({"data"}),
            NOTHING if self.form == "number" else ARGUMENT,
        )
        rng = Value("rng", frozenset({"noise"}))
        named = {name: self._parameter(value) for name, value in params.items()}
        self.calling = function
        self._call_object(None, function, [data], {"rng": rng, **named}, NOTHING)
        self.calling = None

    def _parameter(self, value: Any) -> Value:
        if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
            return self.value_of(value)
        if isinstance(value, (int, float, np.number)):
            known = value if isinstance(value, float) else MISSING
            return Value("number", frozenset({"parameter"}), known=known)
        return self.value_of(value)

    def _walk_all(self) -> None:
        done: set[int] = set()
        while True:
            waiting = [(k, u) for k, u in self.units.items() if u.reached and k not in done]
            if not waiting:
                return
            for key, unit in waiting:
                done.add(key)
                self._walk(unit)

    def _walk(self, unit: InspectedUnit) -> None:
        self.unit = unit
        given = unit.node.args
        for extra in (given.vararg, given.kwarg):
            if extra is not None and extra.arg not in unit.variables:
                unit.bind(extra.arg, Value("list"))
        if isinstance(unit.node, ast.Lambda):
            self._returned(self.eval(unit.node.body))
            return
        for statement in unit.node.body:
            self.run(statement)

    def _returned(self, value: Value) -> None:
        before = self.unit.returns
        after = value if before is None else before.join(value)
        if before != after:
            self.unit.returns = after
            self.news = True

    def _bind(self, unit: InspectedUnit, name: str, value: Value) -> None:
        self.news |= unit.bind(name, value)

    # Findings ----------------------------------------------------------------------------------

    def note(
        self,
        node: ast.AST,
        operation: str,
        advice: str = _PLAIN,
        touches: frozenset[str] | None = None,
    ) -> None:
        if self.calling is not None:  # no line of the user's calls it
            where = _defined_at(self.calling)
        else:
            where = f"{self.unit.file}:{getattr(node, 'lineno', self.unit.node.lineno)}"
        self._note_at(where, operation, advice, touches)

    def _note_at(
        self, where: str, operation: str, advice: str, touches: frozenset[str] | None
    ) -> None:
        if self.recording and (touches is None or touches):
            self.found[Suspicion(where, operation, advice, touches)] = None

    # Names and objects -------------------------------------------------------------------------

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
            where = _defined_at(self.calling) if self.calling is not None else self.unit.file
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
                found = found.join(Value("any", functions=frozenset({_Opaque(part)})))
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

    # Calls -------------------------------------------------------------------------------------

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

    def _or_root(self, place: Any, thing: Any, what: str, advice: str) -> None:
        """A finding at a call; at the mechanism itself where nobody calls it."""
        if isinstance(place, ast.Call):
            self.note(place, what, advice)
            return
        self._note_at(_defined_at(thing), what, advice, None)

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
        if id(kind) in self.classes or not _users(kind):
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
                    self.attributes[name] = Value("any", functions=frozenset({_Opaque(value)}))

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
        if issubclass(kind, BaseException) and not _users(kind):
            if touches:
                self.note(
                    place,
                    "the text of an exception that depends on data or noise",
                    "raise it with a fixed text",
                    touches,
                )
            return Value("object", touches)
        if not _users(kind):
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

    def _library(
        self,
        place: Any,
        thing: Any,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
    ) -> Value:
        name = getattr(thing, "__name__", type(thing).__name__)
        values = [*args, *named.values()]
        shared = frozenset().union(*(v.shared for v in values)) if values else NOTHING
        for value in values:
            if value.functions or value.known is not MISSING:
                parts = frozenset().union(*(v.parts for v in values))
                touches = touches | self.escape(value, touches, parts).touched
        self._narrow(place, name, args, named)
        if thing is np.random.default_rng:
            if args and args[0].kind == "rng" and not args[0].shared:
                return args[0]
            if args and not touches and not args[0].shared:
                return Value("rng")  # the same numbers in every call
            seeded = "data" in touches
            self.note(
                place,
                "a generator that is seeded from the data"
                if seeded
                else "a generator that the function makes itself",
                "draw from the parameter `rng`",
            )
            return Value("rng", frozenset({"noise"}))
        if thing is functools.partial or thing is functools.wraps:
            inner = frozenset().union(*(v.functions for v in args)) if args else NOTHING
            return Value("function", touches, shared, inner)
        if thing is getattr and len(args) == 2 and args[0].kind == "rng" and not args[1].touched:
            return Value("function", touches, NOTHING, frozenset({_Opaque(abs)}))
        if permitted.permitted(thing):
            return self._result(name, thing, args, touches, shared)
        if not touches and permitted.pure(thing):
            return Value("any")
        words = f"{_dotted(thing)}(…)"
        if touches:
            self.note(place, f"{words} looks at values in a way that is not known", _PLAIN, touches)
        else:
            self.note(place, f"{words} may depend on more than its arguments", STATE)
        return Value("any", touches, shared)

    def _result(
        self,
        name: str,
        thing: Any,
        args: Sequence[Value],
        touches: frozenset[str],
        shared: frozenset[str],
    ) -> Value:
        """What a function on the list gives back."""
        if thing is bool:
            return Value("number")
        if name in ("len", "size", "ndim") and args:
            return Value("number", args[0].counted)
        if name == "shape" and args:
            return Value("list", args[0].counted)
        if name in ("sum", "abs", "float", "int", "round", "len", "fsum", "mean", "median"):
            array = any(v.kind in ("array",) for v in args) and name in ("abs", "round")
            return Value("array" if array else "number", touches)
        if getattr(thing, "__module__", None) == "math":
            return Value("number", touches)
        if name in (
            "asarray",
            "asanyarray",
            "ravel",
            "reshape",
            "squeeze",
            "atleast_1d",
            "transpose",
            "ascontiguousarray",
            "expand_dims",
        ):
            return Value("array", touches, shared)  # the same memory, perhaps
        if name in ("list", "tuple", "set", "frozenset", "dict", "sorted"):
            first = args[0] if args else Value("list")
            return Value("list", touches, NOTHING, first.functions, first.parts)
        if name in (
            "max",
            "min",
            "next",
            "iter",
            "enumerate",
            "zip",
            "map",
            "filter",
            "reversed",
            "copy",
            "islice",
            "chain",
            "reduce",
        ):
            functions = frozenset().union(*(v.functions for v in args)) if args else NOTHING
            kind: Kind = "number" if name in ("max", "min") and len(args) > 1 else "any"
            if name in ("enumerate", "zip", "map", "reversed", "filter", "islice", "chain"):
                inner = frozenset().union(*(v.parts for v in args)) if args else NOTHING
                return Value("list", touches, NOTHING, functions, inner)
            return Value(
                kind, touches, shared if kind == "any" and name != "copy" else NOTHING, functions
            )
        if isinstance(thing, np.ufunc) or (getattr(thing, "__module__", "") or "").startswith(
            "numpy"
        ):
            scalars = all(v.scalar or v.kind == "element" for v in args) and bool(args)
            return Value(
                "number"
                if scalars and isinstance(thing, np.ufunc)
                else "array"
                if name
                not in (
                    "argmax",
                    "argmin",
                    "max",
                    "min",
                    "mean",
                    "median",
                    "any",
                    "all",
                    "count_nonzero",
                    "searchsorted",
                    "size",
                    "ndim",
                )
                else "any",
                touches,
            )
        return Value("any", touches)

    def _narrow(
        self, place: Any, name: str, args: Sequence[Value], named: Mapping[str, Value]
    ) -> None:
        """Types of numbers that don't hold all the numbers that the reader means."""
        asked = named.get("dtype")
        at = permitted.DTYPE_AT.get(name)
        if asked is None and at is not None and len(args) > at:
            asked = args[at]
        if asked is None:
            return
        try:
            wide = asked.known is not MISSING and asked.known in permitted.WIDE
        except TypeError:
            wide = False
        if not wide:
            self.note(
                place,
                "a type of numbers that is narrower than a float or an int64",
                "leave the dtype out, or use float or int",
            )

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
            if isinstance(unit, _Class):
                for method in self.methods.get("__init__", []):
                    self.call_unit(method, [Value("object", touches), *args], named, rest)
                found = Value("object", touches)
            elif isinstance(unit, _Opaque):
                found = self._call_object(node, unit.thing, args, named, touches, rest)
            else:
                found = self.call_unit(unit, args, named, rest)
            result = found if result is None else result.join(found)
        assert result is not None
        return result

    def _static(self, base: Value, attribute: str) -> Any:
        """What stands behind `module.name` or `Class.name`, where that is fixed."""
        thing = base.known
        if thing is MISSING:
            return MISSING
        if isinstance(thing, ModuleType):
            return getattr(thing, attribute, MISSING)
        if isinstance(thing, type):
            self._class(thing)
            found = getattr(thing, attribute, MISSING)
            return found if callable(found) else MISSING
        if isinstance(thing, Mechanism) and attribute == "function":
            return thing.function
        if base.kind in ("object", "function") and _users(type(thing)):
            self._instance(thing)
            found = getattr(thing, attribute, MISSING)
            return found if isinstance(found, MethodType) else MISSING
        return MISSING

    def _method(
        self,
        node: ast.Call,
        base: Value,
        name: str,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None,
    ) -> Value:
        assert isinstance(node.func, ast.Attribute)
        together = touches | base.touched
        values = [*args, *named.values()]
        drawn = name in permitted.DRAWS and base.kind == "any" and "noise" in base.touched
        if base.kind == "rng" or drawn:
            return self._draw(node, base, name, args, named, touches)
        if name in self.methods and (base.kind in ("object", "any")):
            result: Value | None = None
            for unit in self.methods[name]:
                static = not unit.parameters or unit.parameters[0].arg not in ("self", "cls")
                found = self.call_unit(unit, [*([] if static else [base]), *args], named, rest)
                result = found if result is None else result.join(found)
            assert result is not None
            return result
        held = self.attributes.get(name)
        if (
            held is not None
            and base.kind in ("object", "any")
            and (held.functions or held.known is not MISSING)
        ):
            if held.known is not MISSING:
                return self._call_object(node, held.known, args, named, touches, rest)
            return self._call_functions(node, held, args, named, touches, rest)
        if name in permitted.TEXT and base.kind in ("text", "any"):
            self.note(
                node, "text that is made from data or noise", "return the number itself", together
            )
            return Value("text", together)
        for value in values:
            if value.functions or callable(value.known):
                self.escape(value, together, base.shared)
        self._narrow(node, name, args, named)
        if name in permitted.MUTATORS:
            self.mutation(node, base, f".{name}()")
            for value in values:
                self._into(node.func.value, value)
        thing = base.known
        if thing is not MISSING and not isinstance(
            thing, (list, dict, set, tuple, str, np.ndarray)
        ):
            if isinstance(thing, np.ufunc) and name in ("accumulate", "outer", "reduce"):
                return Value("array" if name != "reduce" else "any", together)
            if permitted.permitted(thing) and name in permitted.METHODS:
                return Value("any", together)
            if not (not together and permitted.pure(type(thing))):
                self.note(
                    node,
                    f".{name}() of {ast.unparse(node.func.value)}: it is not known what it does",
                    _PLAIN,
                    together or None,
                )
            return Value("any", together)
        if name not in permitted.METHODS and (
            together or base.kind not in ("text", "list", "array", "number")
        ):
            self.note(
                node,
                f".{name}() looks at values in a way that is not known",
                _PLAIN,
                together or None,
            )
            return Value("any", together)
        if name in ("copy", "tolist", "astype", "flatten"):
            kind: Kind = "list" if name == "tolist" else "array" if name != "copy" else base.kind
            if base.kind == "number":
                kind = "number"
            return Value(
                kind, together, NOTHING, base.functions, base.inner if name == "copy" else NOTHING
            )
        if name in ("sum", "mean", "item"):
            return Value("number" if not args and not named else "any", together)
        if name in ("ravel", "reshape", "transpose", "squeeze"):
            return Value("array", together, base.shared)
        if name in ("get", "pop", "popleft", "setdefault"):
            inside = base.part()
            for value in args[1:]:
                inside = inside.join(value)
            return Value("any", together, inside.shared, inside.functions, inside.inner)
        if name in ("index", "count", "argmax", "argmin"):
            return Value("number" if name in ("index", "count") else "any", together)
        if name in ("items", "values", "keys"):
            return Value("list", together, NOTHING, base.functions, base.parts)
        return Value("any", together, NOTHING, base.functions)

    def _draw(
        self,
        node: ast.Call,
        base: Value,
        name: str,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
    ) -> Value:
        noise = base.touched
        if "outside" in base.shared:
            self.note(
                node,
                "noise from a generator that outlives the call",
                "draw from the parameter `rng`",
            )
        if name not in permitted.DRAWS:
            self.note(node, f"rng.{name} is not known to the reader", "use another draw", noise)
        if name == "shuffle" and args:
            self.mutation(node, args[0], "rng.shuffle")
        self._narrow(node, name, args, named)
        if name in ("permutation", "multinomial", "spawn"):
            return Value("list" if name == "spawn" else "array", touches | noise)
        if name == "choice":
            return Value("any", touches | noise, NOTHING, args[0].functions if args else NOTHING)
        sized = "size" in named or len(args) > (0 if name == "random" else 2)
        whole = all(v.scalar or v.kind == "element" for v in args)
        return Value("array" if sized else "number" if whole else "any", touches | noise)

    # Changing things ---------------------------------------------------------------------------

    def mutation(self, node: ast.AST, base: Value, how: str) -> None:
        if "outside" in base.shared:
            self.note(node, f"{how} changes something that outlives the call", STATE)
        elif "argument" in base.shared:
            self.note(
                node,
                f"{how} changes the data that the function was given",
                "work on a copy: list(x), x.copy()",
                frozenset({"data"}),
            )

    def _into(self, target: ast.expr, value: Value) -> None:
        """A container has got something: it may hold symbols from now on."""
        while isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
            if isinstance(target, ast.Attribute):
                self._attribute(target.attr, Value("any", value.touched, NOTHING, value.functions))
            target = target.value
        if isinstance(target, ast.Name):
            owner = self.unit.owner(target.id)
            if owner is not None and target.id in owner.variables:
                before = owner.variables[target.id]
                held = NOTHING if value.scalar else value.shared | value.inner
                after = Value(before.kind, value.touched, NOTHING, value.functions, held)
                self._bind(owner, target.id, after)

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            owner = self.unit.owner(target.id)
            if owner is not None:
                self._bind(owner, target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                inner = value.part() if value.kind != "any" else value
                self.store(part.value if isinstance(part, ast.Starred) else part, inner)
        elif isinstance(target, ast.Subscript):
            base = self.eval(target.value)
            self.eval(target.slice)
            self.mutation(target, base, f"{ast.unparse(target)} = …")
            self._into(target.value, value)
        elif isinstance(target, ast.Attribute):
            base = self.eval(target.value)
            if base.known is not MISSING or "outside" in base.shared:
                self.note(
                    target,
                    f"{ast.unparse(target)} = … changes something that outlives the call",
                    STATE,
                )
            elif "argument" in base.shared:
                self.mutation(target, base, f"{ast.unparse(target)} = …")
            self._attribute(target.attr, value)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value)

    # Statements --------------------------------------------------------------------------------

    def run(self, node: ast.stmt) -> None:
        handler = getattr(self, f"run_{type(node).__name__}", None)
        if handler is None:
            self.note(node, f"a statement that is not read here ({type(node).__name__})")
            return
        handler(node)

    def run_all(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.run(statement)

    def run_Expr(self, node: ast.Expr) -> None:
        self.eval(node.value)

    def run_Pass(self, node: ast.stmt) -> None:
        pass

    run_Break = run_Continue = run_Pass

    def run_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(target, (ast.Tuple, ast.List))
            and isinstance(node.value, (ast.Tuple, ast.List))
            and len(target.elts) == len(node.value.elts)
            and not any(isinstance(e, ast.Starred) for e in (*target.elts, *node.value.elts))
        ):
            values = [self.eval(e) for e in node.value.elts]
            for inner, value in zip(target.elts, values, strict=True):
                self.store(inner, value)
            return
        value = self.eval(node.value)
        for target in node.targets:
            self.store(target, value)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.eval(node.value))

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        before = self.eval(node.target) if isinstance(node.target, ast.Name) else Value("any")
        if isinstance(node.target, ast.Subscript):
            before = self.eval(node.target.value).part()
        value = self.eval(node.value)
        result = self._operation(node, node.op, before, value)
        in_place = before.kind in ("list", "array", "data") or (
            before.kind == "any" and bool(before.shared)
        )
        if in_place and isinstance(node.target, ast.Name):
            self.mutation(node, before, f"{node.target.id} {_sign(node.op)}= …")
            result = Value(before.kind, result.touched, before.shared, result.functions)
        self.store(node.target, result)

    def run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.mutation(node, self.eval(target.value), "del")

    def run_Return(self, node: ast.Return) -> None:
        self._returned(self.eval(node.value) if node.value is not None else Value("none"))

    def run_If(self, node: ast.If) -> None:
        self.eval(node.test)
        self.run_all(node.body)
        self.run_all(node.orelse)

    run_While = run_If

    def run_For(self, node: ast.For) -> None:
        over = self.eval(node.iter)
        self._loop(node.target, node.iter, over)
        self.run_all(node.body)
        self.run_all(node.orelse)

    def _loop(self, target: ast.expr, source: ast.expr, over: Value) -> None:
        """Bind what a loop runs over; places are numbers, entries of data are entries."""
        name = (
            source.func.id
            if isinstance(source, ast.Call) and isinstance(source.func, ast.Name)
            else ""
        )
        if name == "range":
            self.store(target, Value("number", over.touched))
            return
        if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            assert isinstance(source, ast.Call)
            self.store(target.elts[0], Value("number", over.counted))
            inner = self.eval(source.args[0]) if source.args else over
            self.store(target.elts[1], inner.part())
            return
        if name == "zip" and isinstance(target, ast.Tuple) and isinstance(source, ast.Call):
            parts = [self.eval(a) for a in source.args if not isinstance(a, ast.Starred)]
            if len(parts) == len(target.elts):
                for inner_target, part in zip(target.elts, parts, strict=True):
                    self.store(inner_target, part.part())
                return
        self.store(target, over.part() if over.kind != "any" else over)

    def run_With(self, node: ast.With) -> None:
        for item in node.items:
            value = self.eval(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, value)
        for unit in (*self.methods.get("__enter__", ()), *self.methods.get("__exit__", ())):
            self.call_unit(unit, [Value("object", ALL)] + [Value("any")] * 3, {})
        self.run_all(node.body)

    def run_Try(self, node: ast.Try) -> None:
        self.run_all(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self.eval(handler.type)
            if handler.name:
                self._bind(self.unit, handler.name, Value("object", ALL))
            self.run_all(handler.body)
        self.run_all(node.orelse)
        self.run_all(node.finalbody)

    def run_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        if node.cause is not None:
            self.eval(node.cause)

    def run_Assert(self, node: ast.Assert) -> None:
        self.eval(node.test)
        if node.msg is not None and self.eval(node.msg).touched:
            self.note(
                node,
                "the text of an exception that depends on data or noise",
                "give it a fixed text",
                self.eval(node.msg).touched,
            )

    def run_Global(self, node: ast.Global) -> None:
        self.note(node, f"global {', '.join(node.names)}: it outlives the call", STATE)

    def run_Nonlocal(self, node: ast.Nonlocal) -> None:
        outside = [
            name
            for name in node.names
            if self.unit.parent is None or not self.unit.parent.owner(name)
        ]
        if outside:
            self.note(node, f"nonlocal {', '.join(outside)}: it outlives the call", STATE)

    def run_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            module = _imported(name)
            self._bind(self.unit, alias.asname or name, self.value_of(module))

    def run_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = _imported(node.module or "") if not node.level else None
        for alias in node.names:
            thing = getattr(module, alias.name, MISSING)
            value = Value("any") if thing is MISSING else self.value_of(thing)
            self._bind(self.unit, alias.asname or alias.name, value)

    def run_FunctionDef(self, node: ast.FunctionDef) -> None:
        unit = self._inner(node)
        given = node.args
        places = [*given.posonlyargs, *given.args]
        for place, default in zip(
            places[len(places) - len(given.defaults) :], given.defaults, strict=True
        ):
            self._bind(unit, place.arg, self.eval(default))
        for place, kw_default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if kw_default is not None:
                self._bind(unit, place.arg, self.eval(kw_default))
        value = Value("function", functions=frozenset({unit}))
        for decorator in node.decorator_list:
            found = self.eval(decorator)
            plain = isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(
                "wraps"
            )
            if not plain:
                self.note(
                    node,
                    f"the decorator @{ast.unparse(decorator)} inside of a function",
                    "define the decorated function outside",
                )
            value = value.join(Value("function", functions=found.functions)) if plain else value
        self._bind(self.unit, node.name, value)

    def run_ClassDef(self, node: ast.ClassDef) -> None:
        """A class inside of a function: its methods are found by their names."""
        for base in (*node.bases, *node.keywords, *node.decorator_list):
            value = self.eval(base) if isinstance(base, ast.expr) else Value("any")
            known = value.known
            if known is object or (isinstance(known, type) and issubclass(known, BaseException)):
                continue
            self.note(
                node, "a class with bases or decorators inside of a function", "define it outside"
            )
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                unit = self._inner(part)
                if unit not in self.methods.setdefault(part.name, []):
                    self.methods[part.name].append(unit)
                    self.news = True
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                if part.value is not None:
                    self._attribute(part.target.id, self.eval(part.value))
            elif isinstance(part, ast.Assign):
                for target in part.targets:
                    if isinstance(target, ast.Name):
                        self._attribute(target.id, self.eval(part.value))
            elif not (isinstance(part, (ast.Pass, ast.Expr))):
                self.note(part, "a class that is made by statements", "define it outside")
        made = Value("function", functions=frozenset({_Class(node)}))
        self._bind(self.unit, node.name, made)

    def run_Match(self, node: ast.Match) -> None:
        subject = self.eval(node.subject)
        for case in node.cases:
            self._pattern(case.pattern, subject)
            if case.guard is not None:
                self.eval(case.guard)
            self.run_all(case.body)

    def _pattern(self, pattern: ast.pattern, subject: Value) -> None:
        if isinstance(pattern, (ast.MatchClass, ast.MatchMapping)):
            self.note(pattern, "match by type or by keys", _PLAIN, subject.touched)
        if isinstance(pattern, ast.MatchValue):
            value = self.eval(pattern.value)
            self._equal(pattern, subject, value)
        if isinstance(pattern, ast.MatchSequence) and subject.kind == "data":
            self.note(pattern, "match by the shape of the data", _PLAIN, subject.touched)
        name = getattr(pattern, "name", None)
        if name:
            self._bind(self.unit, name, subject)
        for inner in ast.iter_child_nodes(pattern):
            if isinstance(inner, ast.pattern):
                self._pattern(
                    inner,
                    subject if isinstance(pattern, (ast.MatchAs, ast.MatchOr)) else subject.part(),
                )

    # Expressions -------------------------------------------------------------------------------

    def eval(self, node: ast.expr) -> Value:
        handler = getattr(self, f"eval_{type(node).__name__}", None)
        if handler is None:
            self.note(node, f"an expression that is not read here ({type(node).__name__})")
            return Value("any", ALL)
        found: Value = handler(node)
        return found

    def eval_Constant(self, node: ast.Constant) -> Value:
        return self.value_of(node.value) if node.value is not ... else Value("none")

    def eval_Name(self, node: ast.Name) -> Value:
        return self.lookup(node)

    def eval_Call(self, node: ast.Call) -> Value:
        return self.call(node)

    def eval_Attribute(self, node: ast.Attribute) -> Value:
        base = self.eval(node.value)
        known = self._static(base, node.attr)
        if known is not MISSING:
            return self.value_of(known)
        thing = base.known
        if isinstance(thing, type):
            self._class(thing)
            found = getattr(thing, node.attr, MISSING)
            if found is not MISSING:
                return self.value_of(found)
        if thing is not MISSING and base.kind == "object" and _users(type(thing)):
            self._instance(thing)
            found = getattr(thing, "__dict__", {}).get(node.attr, MISSING)
            if found is not MISSING and node.attr not in self._stored():
                return self.value_of(found)
        if node.attr in self.methods and base.kind in ("object", "any"):
            units = self.methods[node.attr]
            result = Value("function", base.touched, NOTHING, frozenset(units))
            for unit in units:  # a property is called where it is named
                if node.attr in self.attributes:
                    result = result.join(self.call_unit(unit, [base], {}))
            return result
        if node.attr in self.attributes and base.kind in ("object", "any", "element"):
            held = self.attributes[node.attr]
            shared = held.shared | base.shared
            if any(isinstance(f, _Opaque) for f in held.functions):
                self.note(node, f".{node.attr} is kept between calls", STATE)
            known = held.known if not shared else MISSING
            return Value(
                held.kind, held.touched | base.touched, shared, held.functions, held.inner, known
            )
        if node.attr in permitted.PROPERTIES and not base.known is not MISSING:
            kind: Kind = (
                "array"
                if node.attr == "T"
                else "number"
                if node.attr in ("size", "ndim")
                else "list"
            )
            if node.attr != "T":
                return Value(kind, base.counted)
            return Value(kind, base.touched, base.shared)
        if node.attr in (permitted.METHODS | {"__getitem__"}) and base.kind in (
            "list",
            "array",
            "any",
            "data",
        ):
            # A bound method, handed on: what it does, it does to what it is bound to.
            if node.attr in permitted.MUTATORS:
                self.mutation(node, base, f".{node.attr}")
            return Value(
                "function",
                base.touched,
                base.shared,
                known=MISSING,
                functions=frozenset({_Opaque(sum)}),
            )
        if base.kind == "rng" and node.attr in permitted.DRAWS:
            return Value("function", base.touched, NOTHING, frozenset({_Opaque(abs)}))
        if base.touched or base.kind == "rng" or node.attr.startswith("__"):
            self.note(
                node, f".{node.attr} looks at more than a number", _PLAIN, base.touched or None
            )
        elif (thing is MISSING and base.kind in ("any", "object")) or (
            base.kind == "object" and thing is not MISSING and not permitted.pure(type(thing))
        ):
            self.note(node, f".{node.attr}: it is not known what that is", _PLAIN)
        return Value("any", base.touched, base.shared)

    def _stored(self) -> set[str]:
        """Attributes that the code which can be reached assigns."""
        return {
            target.attr
            for unit in self.units.values()
            for target in ast.walk(unit.node)
            if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
        }

    def eval_BinOp(self, node: ast.BinOp) -> Value:
        return self._operation(node, node.op, self.eval(node.left), self.eval(node.right))

    def _operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        together = left.touched | right.touched
        shared = NOTHING
        if left.kind == "text" and isinstance(op, ast.Mod) and right.touched:
            self.note(
                node,
                "text that is made from data or noise",
                "return the number itself",
                right.touched,
            )
            return Value("text", right.touched)
        pair = (left, right)
        repeats = isinstance(op, ast.Mult) or (
            isinstance(op, ast.Add) and not any(v.scalar for v in pair)
        )
        if (
            self.form == "list"
            and repeats
            and "data" in (left.kind, right.kind)
            and not any(v.kind == "array" or isinstance(v.known, float) for v in pair)
        ):
            self.note(
                node,
                f"{_sign(op)} of a whole list is not arithmetic",
                "write np.asarray(x), or go through its entries",
                frozenset({"data"}),
            )
        kinds = {left.kind, right.kind}
        functions = left.functions | right.functions
        if kinds & {"array", "data"}:
            kind: Kind = "array"
        elif "list" in kinds:
            kind, shared = "list", NOTHING
        elif "any" in kinds or "object" in kinds:
            kind = "any"
        elif "text" in kinds:
            kind = "text"
        else:
            kind = "number"
        return Value(kind, together, shared, functions)

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return Value("number")
        kind: Kind = "number" if value.kind in ("number", "truth", "element") else value.kind
        return Value("array" if kind == "data" else kind, value.touched)

    def eval_BoolOp(self, node: ast.BoolOp) -> Value:
        return _joined([self.eval(v) for v in node.values])

    def eval_IfExp(self, node: ast.IfExp) -> Value:
        self.eval(node.test)
        return self.eval(node.body).join(self.eval(node.orelse))

    def eval_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.store(node.target, value)
        return value

    def eval_Compare(self, node: ast.Compare) -> Value:
        values = [self.eval(v) for v in (node.left, *node.comparators)]
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if isinstance(op, (ast.Eq, ast.NotEq)):
                self._equal(node, left, right)
            elif isinstance(op, (ast.In, ast.NotIn)):
                self._member(node, left, right)
            elif isinstance(op, (ast.Is, ast.IsNot)):
                if "none" not in (left.kind, right.kind):
                    self.note(
                        node,
                        "`is` asks for an object, not for a number",
                        "use == or `if value:`",
                        left.touched | right.touched,
                    )
            elif (
                left.kind == "list"
                or right.kind == "list"
                or (self.form == "list" and "data" in (left.kind, right.kind))
            ):
                self.note(
                    node, "an order between whole lists", _PLAIN, left.touched | right.touched
                )
        array = any(v.kind in ("array", "data") for v in values)
        return Value("array" if array else "truth", touched(values))

    def _equal(self, node: ast.AST, left: Value, right: Value) -> None:
        together = left.touched | right.touched
        pair = (left, right)
        if any(v.kind == "none" for v in pair):
            return
        whole = any(v.kind == "list" for v in pair) or (
            self.form == "list" and any(v.kind == "data" for v in pair)
        )
        public = not any(v.touched for v in pair)
        if whole and not public:
            self.note(node, "== of whole lists", "compare their entries, one by one", together)
        elif any(v.kind in ("object", "function", "rng") for v in pair):
            self.note(node, "== of objects", _PLAIN, together)
        elif not any(v.scalar or v.kind in ("element", "array", "data") for v in pair):
            self.note(
                node, "== of values that may be lists or objects", "compare numbers", together
            )

    def _member(self, node: ast.AST, left: Value, right: Value) -> None:
        together = left.touched | right.touched
        whole = left.kind in ("data", "list", "array", "object", "function")
        if right.touched or right.kind == "text" or whole:
            self.note(
                node,
                "`in` looks at more than a number",
                "compare with == in a loop, or with np.any",
                together,
            )

    def eval_Subscript(self, node: ast.Subscript) -> Value:
        base = self.eval(node.value)
        place = self.eval(node.slice)
        together = base.touched | place.touched
        if isinstance(node.slice, ast.Slice):
            copied = base.kind == "list" or (base.kind == "data" and self.form == "list")
            shared = NOTHING if copied else base.shared
            return Value(base.kind, together, shared, base.functions, base.parts)
        inside = base.part()
        return Value(inside.kind, together, inside.shared, inside.functions, inside.inner)

    def eval_Slice(self, node: ast.Slice) -> Value:
        return Value(
            "any",
            touched([self.eval(e) for e in (node.lower, node.upper, node.step) if e is not None]),
        )

    def eval_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        return self._held([self.eval(e) for e in node.elts])

    eval_List = eval_Set = eval_Tuple

    def eval_Dict(self, node: ast.Dict) -> Value:
        return self._held(
            [self.eval(e) for e in (*(k for k in node.keys if k is not None), *node.values)]
        )

    def _held(self, values: Sequence[Value]) -> Value:
        """A new container of these."""
        functions: frozenset[Any] = NOTHING
        shared: frozenset[str] = NOTHING
        for value in values:
            functions |= value.functions
            if not value.scalar:
                shared |= value.shared | value.inner
            if callable(value.known):
                functions |= {self._as_function(value.known)}
        return Value("list", touched(values), NOTHING, functions, shared)

    def _as_function(self, thing: Any) -> Any:
        if isinstance(thing, FunctionType) and is_user_file(thing.__code__.co_filename):
            return self._unit(thing) or _Opaque(thing)
        return _Opaque(thing)

    def eval_Lambda(self, node: ast.Lambda) -> Value:
        unit = self._inner(node)
        given = node.args
        places = [*given.posonlyargs, *given.args]
        for place, default in zip(
            places[len(places) - len(given.defaults) :], given.defaults, strict=True
        ):
            self._bind(unit, place.arg, self.eval(default))
        return Value("function", functions=frozenset({unit}))

    def eval_ListComp(self, node: Any) -> Value:
        for part in node.generators:
            over = self.eval(part.iter)
            self._loop(part.target, part.iter, over)
            for test in part.ifs:
                self.eval(test)
        values = [
            self.eval(e) for e in ([node.elt] if hasattr(node, "elt") else [node.key, node.value])
        ]
        return self._held(values)

    eval_GeneratorExp = eval_SetComp = eval_DictComp = eval_ListComp

    def eval_JoinedStr(self, node: ast.JoinedStr) -> Value:
        together: frozenset[str] = NOTHING
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.eval(part.value)
                if value.kind == "truth" and part.conversion == -1 and part.format_spec is None:
                    continue
                together |= value.touched
        if together:
            self.note(
                node, "text that is made from data or noise", "return the number itself", together
            )
        return Value("text", together)

    def eval_Starred(self, node: ast.Starred) -> Value:
        return self.eval(node.value)

    def eval_Yield(self, node: ast.Yield) -> Value:
        value = self.eval(node.value) if node.value is not None else Value("none")
        self._returned(Value("list", value.touched, NOTHING, value.functions))
        return Value("any", value.touched)

    def eval_YieldFrom(self, node: ast.YieldFrom) -> Value:
        value = self.eval(node.value)
        self._returned(value)
        return value


@dataclass(frozen=True)
class _Class:
    """A class that is defined inside of a function."""

    node: ast.ClassDef


class _Opaque:
    """A function of a library inside of a container."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def _defined_at(thing: Any) -> str:
    code = getattr(getattr(thing, "__wrapped__", thing), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def _joined(values: Sequence[Value]) -> Value:
    found = values[0]
    for value in values[1:]:
        found = found.join(value)
    return found


def _users(kind: type) -> bool:
    if kind.__module__ in ("builtins", "functools", "collections", "types", "numpy"):
        return False
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return kind.__module__ == "__main__" or module is None
    return is_user_file(file)


def _imported(name: str) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        return MISSING


def _dotted(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__name__", type(thing).__name__)
    return name if module in (None, "builtins") else f"{module}.{name}"


_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def _sign(op: ast.operator) -> str:
    return _SIGNS.get(type(op), "?")


__all__ = ["Inspection", "Suspicion", "number"]
