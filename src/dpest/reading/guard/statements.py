"""Statements: what they bind and change."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from dpest.reading.guard.expressions import WalkedExpressions, sign_of
from dpest.reading.guard.things import (
    ALL,
    PLAIN,
    STATE,
    InnerClass,
    imported,
)
from dpest.reading.guard.values import (
    MISSING,
    NOTHING,
    Value,
)


class WalkedStatements(WalkedExpressions):
    """The methods `run_X` walk through the syntax node X."""

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
            self.mutation(node, before, f"{node.target.id} {sign_of(node.op)}= …")
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
            module = imported(name)
            self._bind(self.unit, alias.asname or name, self.value_of(module))

    def run_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = imported(node.module or "") if not node.level else None
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
        made = Value("function", functions=frozenset({InnerClass(node)}))
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
            self.note(pattern, "match by type or by keys", PLAIN, subject.touched)
        if isinstance(pattern, ast.MatchValue):
            value = self.eval(pattern.value)
            self._equal(pattern, subject, value)
        if isinstance(pattern, ast.MatchSequence) and subject.kind == "data":
            self.note(pattern, "match by the shape of the data", PLAIN, subject.touched)
        name = getattr(pattern, "name", None)
        if name:
            self._bind(self.unit, name, subject)
        for inner in ast.iter_child_nodes(pattern):
            if isinstance(inner, ast.pattern):
                self._pattern(
                    inner,
                    subject if isinstance(pattern, (ast.MatchAs, ast.MatchOr)) else subject.part(),
                )
