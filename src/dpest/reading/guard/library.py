"""Calls of functions that are not the user's own: what they give, and what is not safe."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.guard import permitted
from dpest.reading.guard.objects import WalkedObjects
from dpest.reading.guard.things import (
    PLAIN,
    STATE,
    LibraryFunction,
    dotted,
    is_users_class,
)
from dpest.reading.guard.values import (
    MISSING,
    NOTHING,
    Kind,
    Value,
)

_NUMBERS = ("sum", "abs", "float", "int", "round", "len", "fsum", "mean", "median")
# These give an array that shares memory with their argument, perhaps.
_SAME_MEMORY = (
    *("asarray", "asanyarray", "ravel", "reshape", "squeeze", "atleast_1d", "transpose"),
    *("ascontiguousarray", "expand_dims"),
)
_ITERATORS = ("enumerate", "zip", "map", "reversed", "filter", "islice", "chain")
# These give one of the things inside of their arguments, or a copy.
_ONE_OF_THEM = ("max", "min", "next", "iter", "copy", "reduce")
_NUMPY_REDUCTIONS = (
    *("argmax", "argmin", "max", "min", "mean", "median", "any", "all", "count_nonzero"),
    *("searchsorted", "size", "ndim"),
)


class LibraryCalls(WalkedObjects):
    """The part of the walk that knows libraries."""

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
            return Value("function", touches, NOTHING, frozenset({LibraryFunction(abs)}))
        if permitted.permitted(thing):
            return self._result(name, thing, args, touches, shared)
        if not touches and permitted.pure(thing):
            return Value("any")
        words = f"{dotted(thing)}(…)"
        if touches:
            self.note(place, f"{words} looks at values in a way that is not known", PLAIN, touches)
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
        if name in _NUMBERS:
            array = any(v.kind in ("array",) for v in args) and name in ("abs", "round")
            return Value("array" if array else "number", touches)
        if getattr(thing, "__module__", None) == "math":
            return Value("number", touches)
        if name in _SAME_MEMORY:
            return Value("array", touches, shared)
        if name in ("list", "tuple", "set", "frozenset", "dict", "sorted"):
            first = args[0] if args else Value("list")
            return Value("list", touches, NOTHING, first.functions, first.parts)
        functions = frozenset().union(*(v.functions for v in args)) if args else NOTHING
        if name in _ITERATORS:
            inner = frozenset().union(*(v.parts for v in args)) if args else NOTHING
            return Value("list", touches, NOTHING, functions, inner)
        if name in ("max", "min") and len(args) > 1:
            return Value("number", touches, NOTHING, functions)
        if name in _ONE_OF_THEM:
            return Value("any", touches, NOTHING if name == "copy" else shared, functions)
        if isinstance(thing, np.ufunc) or (getattr(thing, "__module__", "") or "").startswith(
            "numpy"
        ):
            scalars = all(v.scalar or v.kind == "element" for v in args) and bool(args)
            if scalars and isinstance(thing, np.ufunc):
                return Value("number", touches)
            return Value("any" if name in _NUMPY_REDUCTIONS else "array", touches)
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
        if base.kind in ("object", "function") and is_users_class(type(thing)):
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
        drawn = name in permitted.DRAWS and base.kind == "any" and "noise" in base.touched
        if base.kind == "rng" or drawn:
            return self._draw(node, base, name, args, named, touches)
        found = self._users_method(node, base, name, args, named, touches, rest)
        if found is not None:
            return found
        if name in permitted.TEXT and base.kind in ("text", "any"):
            self.note(
                node, "text that is made from data or noise", "return the number itself", together
            )
            return Value("text", together)
        values = [*args, *named.values()]
        for value in values:
            if value.functions or callable(value.known):
                self.escape(value, together, base.shared)
        self._narrow(node, name, args, named)
        if name in permitted.MUTATORS:
            self.mutation(node, base, f".{name}()")
            for value in values:
                self._into(node.func.value, value)
        if base.known is not MISSING and not isinstance(
            base.known, (list, dict, set, tuple, str, np.ndarray)
        ):
            return self._method_of_known(node, base.known, name, together)
        if name not in permitted.METHODS and (
            together or base.kind not in ("text", "list", "array", "number")
        ):
            self.note(
                node,
                f".{name}() looks at values in a way that is not known",
                PLAIN,
                together or None,
                name,
            )
            return Value("any", together)
        return _method_result(base, name, args, named, together)

    def _users_method(
        self,
        node: ast.Call,
        base: Value,
        name: str,
        args: Sequence[Value],
        named: Mapping[str, Value],
        touches: frozenset[str],
        rest: Value | None,
    ) -> Value | None:
        """What a method of the user's, or a function that is kept in an attribute, may give."""
        if base.kind not in ("object", "any"):
            return None
        if name in self.methods:
            result: Value | None = None
            for unit in self.methods[name]:
                static = not unit.parameters or unit.parameters[0].arg not in ("self", "cls")
                found = self.call_unit(unit, [*([] if static else [base]), *args], named, rest)
                result = found if result is None else result.join(found)
            assert result is not None
            return result
        held = self.attributes.get(name)
        if held is None:
            return None
        if held.known is not MISSING:
            return self._call_object(node, held.known, args, named, touches, rest)
        if held.functions:
            return self._call_functions(node, held, args, named, touches, rest)
        return None

    def _method_of_known(
        self, node: ast.Call, thing: Any, name: str, together: frozenset[str]
    ) -> Value:
        """A method of an object that is at hand, and no plain container."""
        assert isinstance(node.func, ast.Attribute)
        if isinstance(thing, np.ufunc) and name in ("accumulate", "outer", "reduce"):
            return Value("array" if name != "reduce" else "any", together)
        if permitted.permitted(thing) and name in permitted.METHODS:
            return Value("any", together)
        if together or not permitted.pure(type(thing)):
            self.note(
                node,
                f".{name}() of {ast.unparse(node.func.value)}: it is not known what it does",
                PLAIN,
                together or None,
            )
        return Value("any", together)

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


def _method_result(
    base: Value,
    name: str,
    args: Sequence[Value],
    named: Mapping[str, Value],
    together: frozenset[str],
) -> Value:
    """What a method of a container, a text or a number gives back."""
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
