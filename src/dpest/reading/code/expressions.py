"""Expressions, lowered: each becomes instructions, and the register that its value is in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from dpest.reading.code.emitting import Emitter, Label
from dpest.reading.code.instructions import Build, CallShape, Code, Function
from dpest.reading.code.refusal import NotLowered

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


class Expressions(Emitter):
    """The methods `of_X` lower an expression of the syntax node X."""

    rebound: frozenset[str] = frozenset()  # names that `:=` may change within an expression

    def expression(self, node: ast.expr) -> str:
        before = self.place
        self.at(node)
        method: Callable[[Any], str] | None = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise NotLowered(f"`{type(node).__name__}` is not read", self.place.line)
        result = method(node)
        self.place = before
        return result

    def inner_code(self, node: Any, name: str) -> Code:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: str) -> None:
        raise NotImplementedError

    # Names and constants

    def of_Name(self, e: ast.Name) -> str:
        register = self.load(e.id)
        # `x + (x := 1)`: the first x is the old one.
        return self.value("move", [register]) if register in self.rebound else register

    def of_Constant(self, e: ast.Constant) -> str:
        return self.constant(e.value)

    def of_NamedExpr(self, e: ast.NamedExpr) -> str:
        value = self.expression(e.value)
        self.barrier()
        self.store(e.target.id, value)
        return value

    # Operators

    def of_BinOp(self, e: ast.BinOp) -> str:
        left, right = self.expression(e.left), self.expression(e.right)
        return self.value("binary", [left, right], BINARY[type(e.op)])

    def of_UnaryOp(self, e: ast.UnaryOp) -> str:
        if isinstance(e.op, ast.Not):
            return self.value("unary", [self.expression(e.operand)], "not")
        return self.value("unary", [self.expression(e.operand)], UNARY[type(e.op)])

    def of_BoolOp(self, e: ast.BoolOp) -> str:
        end, result = Label(), self.temporary()
        for value in e.values:
            self.emit("move", [self.expression(value)], dst=result)
            if value is not e.values[-1]:
                going = Label()
                both = isinstance(e.op, ast.And)
                self.emit("branch", [result], jumps=(going, end) if both else (end, going))
                self.put(going)
        self.put(end)
        return result

    def of_Compare(self, e: ast.Compare) -> str:
        left = self.expression(e.left)
        if len(e.ops) == 1:
            right = self.expression(e.comparators[0])
            return self.value("compare", [left, right], COMPARE[type(e.ops[0])])
        end, result = Label(), self.temporary()
        for op, node in zip(e.ops, e.comparators, strict=True):
            right, going = self.expression(node), Label()
            self.emit("compare", [left, right], COMPARE[type(op)], dst=result)
            if node is not e.comparators[-1]:
                self.emit("branch", [result], jumps=(going, end))
                self.put(going)
            left = right
        self.put(end)
        return result

    def of_IfExp(self, e: ast.IfExp) -> str:
        yes, no, end, result = Label(), Label(), Label(), self.temporary()
        self.branch(e.test, yes, no)
        self.put(yes)
        self.emit("move", [self.expression(e.body)], dst=result)
        self.jump(end)
        self.put(no)
        self.emit("move", [self.expression(e.orelse)], dst=result)
        self.put(end)
        return result

    def branch(self, test: ast.expr, yes: Label, no: Label) -> None:
        """A condition as jumps: `and`, `or` and `not` have no value of their own here."""
        if isinstance(test, ast.BoolOp):
            both = isinstance(test.op, ast.And)
            for value in test.values[:-1]:
                going = Label()
                self.branch(value, going if both else yes, no if both else going)
                self.put(going)
            self.branch(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.branch(test.operand, no, yes)
        else:
            self.emit("branch", [self.expression(test)], jumps=(yes, no))

    # Parts of objects

    def of_Attribute(self, e: ast.Attribute) -> str:
        return self.value("attr", [self.expression(e.value)], self.mangled(e.attr))

    def of_Subscript(self, e: ast.Subscript) -> str:
        return self.value("item", [self.expression(e.value), self.expression(e.slice)])

    def of_Slice(self, e: ast.Slice) -> str:
        parts = [
            self.constant(None) if p is None else self.expression(p)
            for p in (e.lower, e.upper, e.step)
        ]
        return self.value("build", parts, Build("slice", (False,) * 3))

    # Containers

    def of_Tuple(self, e: ast.Tuple) -> str:
        return self._built(e.elts, "tuple")

    def of_List(self, e: ast.List) -> str:
        return self._built(e.elts, "list")

    def of_Set(self, e: ast.Set) -> str:
        return self._built(e.elts, "set")

    def _built(self, elements: Sequence[ast.expr], kind: str) -> str:
        parts, stars = self._starred(elements)
        return self.value("build", parts, Build(kind, stars))

    def _starred(self, nodes: Sequence[ast.expr]) -> tuple[list[str], tuple[bool, ...]]:
        parts = [self.expression(n.value if isinstance(n, ast.Starred) else n) for n in nodes]
        return parts, tuple(isinstance(n, ast.Starred) for n in nodes)

    def of_Dict(self, e: ast.Dict) -> str:
        parts: list[str] = []
        for key, value in zip(e.keys, e.values, strict=True):
            parts.append(self.constant(None) if key is None else self.expression(key))
            parts.append(self.expression(value))
        return self.value("dict", parts, tuple(k is None for k in e.keys))

    def of_JoinedStr(self, e: ast.JoinedStr) -> str:
        return self.value("text", [self.expression(v) for v in e.values])

    def of_FormattedValue(self, e: ast.FormattedValue) -> str:
        parts = [self.expression(e.value)]
        if e.format_spec is not None:
            parts.append(self.expression(e.format_spec))
        return self.value("format", parts, e.conversion)

    # Calls and functions

    def of_Call(self, e: ast.Call) -> str:
        plain_super = isinstance(e.func, ast.Name) and e.func.id == "super"
        if plain_super and not e.args and not e.keywords and "__class__" in self.cells:
            first = next(iter(self.code.parameters.names), None)
            if first is None:
                raise NotLowered("`super()` in a function without parameters", e.lineno)
            return self.value("super", ["__class__", self.load(first)])
        function = self.expression(e.func)
        parts, stars = self._starred(e.args)
        keywords = [self.expression(k.value) for k in e.keywords]
        shape = CallShape(stars, tuple(k.arg for k in e.keywords))
        return self.value("call", [function, *parts, *keywords], shape)

    def of_Lambda(self, e: ast.Lambda) -> str:
        return self.closure(e, "<lambda>")

    def closure(self, node: ast.FunctionDef | ast.Lambda | ast.GeneratorExp, name: str) -> str:
        defaults: list[str] = []
        if not isinstance(node, ast.GeneratorExp):
            given = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            defaults = [self.expression(d) for d in given]
        code = self.inner_code(node, name)
        return self.value("closure", [*code.free, *defaults], Function(code))

    # Generators and comprehensions

    def of_Yield(self, e: ast.Yield) -> str:
        value = self.constant(None) if e.value is None else self.expression(e.value)
        return self.value("yield", [value])

    def of_YieldFrom(self, e: ast.YieldFrom) -> str:
        head, end, result = Label(), Label(), self.temporary()
        iterator = self.value("iter", [self.expression(e.value)])
        self.put(head)
        self.code.heads[head.pc] = False
        value = self.value("next", [iterator], result, (end,))
        self.value("yield", [value])
        self.jump(head)
        self.put(end)
        return result

    def of_GeneratorExp(self, e: ast.GeneratorExp) -> str:
        iterator = self.value("iter", [self.expression(e.generators[0].iter)])
        function = self.closure(e, "<genexpr>")
        return self.value("call", [function, iterator], CallShape((False,), ()))

    def of_ListComp(self, e: ast.ListComp) -> str:
        return self._comprehension(
            e, "list", lambda made: self.emit("append", [made, self.expression(e.elt)])
        )

    def of_SetComp(self, e: ast.SetComp) -> str:
        return self._comprehension(
            e, "set", lambda made: self.emit("add", [made, self.expression(e.elt)])
        )

    def of_DictComp(self, e: ast.DictComp) -> str:
        return self._comprehension(
            e,
            "dict",
            lambda made: self.emit("put", [made, self.expression(e.key), self.expression(e.value)]),
        )

    def _comprehension(
        self,
        e: ast.ListComp | ast.SetComp | ast.DictComp,
        kind: str,
        body: Callable[[str], None],
    ) -> str:
        if self.code.is_class:
            raise NotLowered("a comprehension in the body of an inner class", e.lineno)
        iterator = self.value("iter", [self.expression(e.generators[0].iter)])
        for name in sorted(_target_names(e.generators)):
            if name in self.cells:
                self.emit("newcell", dst=name)  # closures of two runs don't share a variable
        if kind == "dict":
            made = self.value("dict", (), ())
        else:
            made = self.value("build", (), Build(kind, ()))
        self.generator_loops(e.generators, lambda: body(made), iterator)
        return made

    def generator_loops(
        self, generators: Sequence[ast.comprehension], body: Callable[[], None], iterator: str
    ) -> None:
        """The loops of a comprehension, inner ones last."""
        first, *rest = generators
        if first.is_async:
            raise NotLowered("an asynchronous comprehension", self.place.line)
        head, end = Label(), Label()
        self.put(head)
        self.code.heads[head.pc] = True
        self.assign(first.target, self.value("next", [iterator], None, (end,)))
        for test in first.ifs:
            yes = Label()
            self.branch(test, yes, head)
            self.put(yes)
        if rest:
            inner = self.value("iter", [self.expression(rest[0].iter)])
            self.generator_loops(rest, body, inner)
        else:
            body()
        self.jump(head)
        self.put(end)


def _target_names(generators: Sequence[ast.comprehension]) -> set[str]:
    nodes = [n for g in generators for n in ast.walk(g.target)]
    return {n.id for n in nodes if isinstance(n, ast.Name)}
