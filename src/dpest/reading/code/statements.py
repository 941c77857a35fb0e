"""Statements, lowered: control flow, exceptions, `with`, definitions of functions and classes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from dpest.reading.code.emitting import Cleanup, Label, Loop
from dpest.reading.code.expressions import BINARY, Expressions
from dpest.reading.code.instructions import CallShape, ClassBody, Import, Unpack
from dpest.reading.code.refusal import NotLowered

_ONE_ARGUMENT = CallShape((False,), ())


class Statements(Expressions):
    """The methods `do_X` lower a statement of the syntax node X."""

    current_error: str | None = None  # what a bare `raise` raises again

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.at(statement)
            method: Callable[[Any], None] | None = getattr(
                self, f"do_{type(statement).__name__}", None
            )
            if method is None:
                raise NotLowered(f"`{type(statement).__name__}` is not read", statement.lineno)
            method(statement)

    def do_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Name):
            self.value("move", [self.load(s.value.id)])  # it may be unbound
        elif not isinstance(s.value, ast.Constant):  # a docstring
            self.expression(s.value)

    def do_Pass(self, s: ast.Pass) -> None:
        pass

    def do_Nonlocal(self, s: ast.Nonlocal) -> None:
        pass

    def do_Global(self, s: ast.Global) -> None:
        pass

    # Assignments

    def do_Assign(self, s: ast.Assign) -> None:
        value = self.expression(s.value)
        if len(s.targets) > 1:
            self.barrier()
        for target in s.targets:
            self.assign(target, value)

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if self.code.is_class:
            raise NotLowered("an annotation in the body of an inner class", s.lineno)
        if s.value is not None:
            self.assign(s.target, self.expression(s.value))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        op, target = BINARY[type(s.op)], s.target
        if isinstance(target, ast.Name):
            old = self.load(target.id)
            if old in self.rebound:
                old = self.value("move", [old])
            self.assign(target, self.value("inplace", [old, self.expression(s.value)], op))
        elif isinstance(target, ast.Attribute):
            thing, name = self.expression(target.value), self.mangled(target.attr)
            old = self.value("attr", [thing], name)
            new = self.value("inplace", [old, self.expression(s.value)], op)
            self.emit("setattr", [thing, new], name)
        else:
            thing, index = self.expression(target.value), self.expression(target.slice)
            old = self.value("item", [thing, index])
            new = self.value("inplace", [old, self.expression(s.value)], op)
            self.emit("setitem", [thing, index, new])

    def assign(self, target: ast.expr, value: str) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            stars = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
            unpack = Unpack(len(target.elts), stars[0] if stars else None)
            row = self.value("unpack", [value], unpack)
            for i, element in enumerate(target.elts):
                inner = element.value if isinstance(element, ast.Starred) else element
                self.assign(inner, self.value("part", [row], i))
        elif isinstance(target, ast.Attribute):
            self.emit("setattr", [self.expression(target.value), value], self.mangled(target.attr))
        elif isinstance(target, ast.Subscript):
            thing, index = self.expression(target.value), self.expression(target.slice)
            self.emit("setitem", [thing, index, value])
        else:
            raise NotLowered(f"an assignment to a {type(target).__name__}", self.place.line)

    def do_Delete(self, s: ast.Delete) -> None:
        pending = list(s.targets)
        while pending:
            target = pending.pop(0)
            if isinstance(target, ast.Name):
                self.unstore(target.id)
            elif isinstance(target, ast.Subscript):
                thing, index = self.expression(target.value), self.expression(target.slice)
                self.emit("unsetitem", [thing, index])
            elif isinstance(target, ast.Attribute):
                self.emit("unsetattr", [self.expression(target.value)], self.mangled(target.attr))
            elif isinstance(target, (ast.Tuple, ast.List)):
                pending = [*target.elts, *pending]

    # Control flow

    def do_If(self, s: ast.If) -> None:
        yes, no, end = Label(), Label(), Label()
        self.branch(s.test, yes, no)
        self.put(yes)
        self.block(s.body)
        self.jump(end)
        self.put(no)
        self.block(s.orelse)
        self.put(end)

    def do_While(self, s: ast.While) -> None:
        head, body, no, end = Label(), Label(), Label(), Label()
        self.put(head)
        self.code.heads[head.pc] = False
        self.branch(s.test, body, no)
        self.put(body)
        self._loop_body(s.body, head, end)
        self.put(no)
        self.block(s.orelse)
        self.put(end)

    def do_For(self, s: ast.For) -> None:
        head, no, end = Label(), Label(), Label()
        iterator = self.value("iter", [self.expression(s.iter)])
        self.put(head)
        self.code.heads[head.pc] = False
        self.assign(s.target, self.value("next", [iterator], None, (no,)))
        self._loop_body(s.body, head, end)
        self.put(no)
        self.block(s.orelse)
        self.put(end)

    def _loop_body(self, body: Sequence[ast.stmt], head: Label, end: Label) -> None:
        outer = self.loops
        self.loops = (*outer, Loop(head, end, len(self.cleanups)))
        self.block(body)
        self.loops = outer
        self.jump(head)

    def _leave(self, depth: int) -> None:
        """The cleanups on the way out of blocks, innermost first."""
        before = self.cleanups, self.handler, self.loops
        while len(self.cleanups) > depth:
            cleanup = self.cleanups[-1]
            self.cleanups = self.cleanups[:-1]
            self.handler, self.loops = cleanup.handler, cleanup.loops
            cleanup.emit()
        self.cleanups, self.handler, self.loops = before

    def do_Break(self, s: ast.Break) -> None:
        loop = self.loops[-1]
        self._leave(loop.cleanups)
        self.jump(loop.end)

    def do_Continue(self, s: ast.Continue) -> None:
        loop = self.loops[-1]
        self._leave(loop.cleanups)
        self.jump(loop.head)

    def do_Return(self, s: ast.Return) -> None:
        value = self.constant(None) if s.value is None else self.expression(s.value)
        if self.cleanups and not value.startswith("%"):
            value = self.value("move", [value])  # `finally` may change the variable
        self._leave(0)
        self.emit("return", [value])

    # Exceptions

    def do_Raise(self, s: ast.Raise) -> None:
        if s.exc is None:
            if self.current_error is None:
                raise NotLowered("a bare `raise` outside of an `except`", s.lineno)
            self.emit("reraise", [self.current_error])
            return
        uses = [self.expression(s.exc)]
        if s.cause is not None:
            uses.append(self.expression(s.cause))
        self.emit("raise", uses)

    def do_Assert(self, s: ast.Assert) -> None:
        yes, no = Label(), Label()
        self.branch(s.test, yes, no)
        self.put(no)
        error = self.constant(AssertionError)
        if s.msg is not None:
            error = self.value("call", [error, self.expression(s.msg)], _ONE_ARGUMENT)
        self.emit("raise", [error])
        self.put(yes)

    def do_Try(self, s: ast.Try) -> None:
        if s.finalbody:
            self._guarded(
                lambda: self._try_except(s), lambda: self.block(s.finalbody), lambda _: None
            )
        else:
            self._try_except(s)

    def do_TryStar(self, s: ast.stmt) -> None:
        raise NotLowered("`except*`", s.lineno)

    def _guarded(
        self,
        body: Callable[[], None],
        cleanup: Callable[[], None],
        on_error: Callable[[str], None],
    ) -> None:
        """`body`, with `cleanup` on every way out of it; `on_error` sees the exception first."""
        outer, failed, after = self.handler, Label(), Label()
        self.cleanups = (*self.cleanups, Cleanup(cleanup, outer, self.loops))
        self.handler = failed
        body()
        self.handler = outer
        self.cleanups = self.cleanups[:-1]
        cleanup()
        self.jump(after)
        self.put(failed)
        error = self.value("catch")
        before, self.current_error = self.current_error, error
        on_error(error)
        cleanup()
        self.current_error = before
        self.emit("reraise", [error])
        self.put(after)

    def _try_except(self, s: ast.Try) -> None:
        if not s.handlers:
            self.block(s.body)
            self.block(s.orelse)
            return
        outer, caught, after = self.handler, Label(), Label()
        self.handler = caught
        self.block(s.body)
        self.handler = outer
        self.block(s.orelse)
        self.jump(after)
        self.put(caught)
        error = self.value("catch")
        before = self.current_error
        for handler in s.handlers:
            self._except(handler, error, after)
        self.current_error = before
        self.emit("reraise", [error])
        self.put(after)

    def _except(self, handler: ast.ExceptHandler, error: str, after: Label) -> None:
        yes, no = Label(), Label()
        self.at(handler)
        if handler.type is not None:
            test = self.value("caught", [error, self.expression(handler.type)])
            self.emit("branch", [test], jumps=(yes, no))
            self.put(yes)
        self.current_error = error
        name = handler.name
        if name is None:
            self.block(handler.body)
        else:
            self.barrier()
            self.store(name, error)

            def forget() -> None:
                self.store(name, self.constant(None))
                self.unstore(name)

            self._guarded(lambda: self.block(handler.body), forget, lambda _: None)
        self.jump(after)
        self.put(no)

    def do_With(self, s: ast.With) -> None:
        self._with(list(s.items), s.body)

    def _with(self, items: list[ast.withitem], body: Sequence[ast.stmt]) -> None:
        if not items:
            self.block(body)
            return
        item, *rest = items
        manager = self.expression(item.context_expr)
        if not manager.startswith("%"):
            manager = self.value("move", [manager])
        enter = self.value("special", [manager], "__enter__")
        leave = self.value("special", [manager], "__exit__")
        entered = self.value("call", [enter], CallShape((), ()))

        def finish() -> None:
            nothing = self.constant(None)
            self.value("call", [leave, nothing, nothing, nothing], CallShape((False,) * 3, ()))

        outer, failed, after = self.handler, Label(), Label()
        self.cleanups = (*self.cleanups, Cleanup(finish, outer, self.loops))
        self.handler = failed
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        self._with(rest, body)
        self.handler = outer
        self.cleanups = self.cleanups[:-1]
        finish()
        self.jump(after)
        self.put(failed)
        error = self.value("catch")
        kind = self.value("attr", [error], "__class__")
        nothing = self.constant(None)
        swallowed = self.value("call", [leave, kind, error, nothing], CallShape((False,) * 3, ()))
        again = Label()
        self.emit("branch", [swallowed], jumps=(after, again))
        self.put(again)
        self.emit("reraise", [error])
        self.put(after)

    # Definitions and imports

    def do_FunctionDef(self, s: ast.FunctionDef) -> None:
        decorators = [self.expression(d) for d in s.decorator_list]
        value = self.closure(s, s.name)
        for decorator in reversed(decorators):
            value = self.value("call", [decorator, value], _ONE_ARGUMENT)
        self.store(s.name, value)

    def do_ClassDef(self, s: ast.ClassDef) -> None:
        if s.keywords:
            raise NotLowered("a class with keywords (a metaclass)", s.lineno)
        decorators = [self.expression(d) for d in s.decorator_list]
        bases = [self.expression(b) for b in s.bases]
        if any(isinstance(b, ast.Starred) for b in s.bases):
            raise NotLowered("starred bases of a class", s.lineno)
        code = self.inner_code(s, s.name)
        needs_class = "__class__" in code.cells
        value = self.value("class", [*code.free, *bases], ClassBody(code, s.name, needs_class))
        for decorator in reversed(decorators):
            value = self.value("call", [decorator, value], _ONE_ARGUMENT)
        self.store(s.name, value)

    def do_Import(self, s: ast.Import) -> None:
        for a in s.names:
            whole = a.asname is not None
            value = self.value("import", extra=Import(a.name, None, 0, whole))
            self.store(a.asname or a.name.split(".")[0], value)

    def do_ImportFrom(self, s: ast.ImportFrom) -> None:
        for a in s.names:
            if a.name == "*":
                raise NotLowered("`from … import *` in a function", s.lineno)
            value = self.value("import", extra=Import(s.module or "", a.name, s.level, True))
            self.store(a.asname or a.name, value)
