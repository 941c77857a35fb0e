"""Expressions: what their values may be."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from dpest.reading.guard import permitted
from dpest.reading.guard.calls import WalkedCalls
from dpest.reading.guard.things import (
    ALL,
    PLAIN,
    STATE,
    LibraryFunction,
    is_users_class,
    joined,
)
from dpest.reading.guard.values import (
    MISSING,
    NOTHING,
    Kind,
    Value,
    touched,
)
from dpest.running.places import is_user_file

_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def sign_of(op: ast.operator) -> str:
    return _SIGNS.get(type(op), "?")


class WalkedExpressions(WalkedCalls):
    """The methods `eval_X` give the value of the syntax node X."""

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
        found = self._fixed_attribute(base, node.attr)
        if found is None and base.kind in ("object", "any", "element"):
            found = self._users_attribute(node, base)
        if found is None:
            found = self._known_attribute(node, base)
        if found is not None:
            return found
        thing = base.known
        if base.touched or base.kind == "rng" or node.attr.startswith("__"):
            self.note(
                node, f".{node.attr} looks at more than a number", PLAIN, base.touched or None
            )
        elif (thing is MISSING and base.kind in ("any", "object")) or (
            base.kind == "object" and thing is not MISSING and not permitted.pure(type(thing))
        ):
            self.note(node, f".{node.attr}: it is not known what that is", PLAIN)
        return Value("any", base.touched, base.shared)

    def _fixed_attribute(self, base: Value, name: str) -> Value | None:
        """An attribute of a module, a class or an object that is at hand."""
        known = self._static(base, name)
        if known is not MISSING:
            return self.value_of(known)
        thing = base.known
        if isinstance(thing, type):
            self._class(thing)
            found = getattr(thing, name, MISSING)
            if found is not MISSING:
                return self.value_of(found)
        if thing is not MISSING and base.kind == "object" and is_users_class(type(thing)):
            self._instance(thing)
            found = getattr(thing, "__dict__", {}).get(name, MISSING)
            if found is not MISSING and name not in self._stored():
                return self.value_of(found)
        return None

    def _users_attribute(self, node: ast.Attribute, base: Value) -> Value | None:
        """A method of the user's, or what their code keeps in attributes of this name."""
        name = node.attr
        if name in self.methods and base.kind in ("object", "any"):
            units = self.methods[name]
            result = Value("function", base.touched, NOTHING, frozenset(units))
            for unit in units:  # a property is called where it is named
                if name in self.attributes:
                    result = result.join(self.call_unit(unit, [base], {}))
            return result
        if name not in self.attributes:
            return None
        held = self.attributes[name]
        shared = held.shared | base.shared
        if any(isinstance(f, LibraryFunction) for f in held.functions):
            self.note(node, f".{name} is kept between calls", STATE)
        known = held.known if not shared else MISSING
        return Value(
            held.kind, held.touched | base.touched, shared, held.functions, held.inner, known
        )

    def _known_attribute(self, node: ast.Attribute, base: Value) -> Value | None:
        """A property or a bound method of a container, an array or a generator."""
        name = node.attr
        if name in permitted.PROPERTIES and base.known is MISSING:
            if name == "T":
                return Value("array", base.touched, base.shared)
            return Value("number" if name in ("size", "ndim") else "list", base.counted)
        methods = permitted.METHODS | {"__getitem__"}
        if name in methods and base.kind in ("list", "array", "any", "data"):
            # A bound method, handed on: what it does, it does to what it is bound to.
            if name in permitted.MUTATORS:
                self.mutation(node, base, f".{name}")
            return Value(
                "function",
                base.touched,
                base.shared,
                known=MISSING,
                functions=frozenset({LibraryFunction(sum)}),
            )
        if base.kind == "rng" and name in permitted.DRAWS:
            return Value("function", base.touched, NOTHING, frozenset({LibraryFunction(abs)}))
        return None

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
                f"{sign_of(op)} of a whole list is not arithmetic",
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
        return joined([self.eval(v) for v in node.values])

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
                self.note(node, "an order between whole lists", PLAIN, left.touched | right.touched)
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
            self.note(node, "== of objects", PLAIN, together)
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
            return self._unit(thing) or LibraryFunction(thing)
        return LibraryFunction(thing)

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
