"""From a syntax tree to code: one function, and the functions inside of it."""

from __future__ import annotations

import ast
from typing import Any

from dpest.reading.code.instructions import Code, Parameters
from dpest.reading.code.liveness import analyse
from dpest.reading.code.patterns import Patterns
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.scopes import Scoped, parts_of, scope_of


class Lowering(Patterns):
    """The code of one node; `enclosing` are the names that outer functions bind."""

    def __init__(
        self,
        node: Scoped,
        name: str,
        file: str,
        enclosing: frozenset[str],
        class_name: str | None = None,
        qualname: str | None = None,
    ) -> None:
        scope = scope_of(node)
        is_class = isinstance(node, ast.ClassDef)
        code = Code(
            name,
            qualname or name,
            file,
            node.lineno,
            _parameters(node),
            cells=scope.captured,
            free=tuple(sorted(scope.free & enclosing)),
            is_generator=_is_generator(node),
            is_class=is_class,
        )
        super().__init__(code, scope, node.name if isinstance(node, ast.ClassDef) else class_name)
        self.node = node
        # Functions inside of a class body don't see its names.
        visible = scope.captured if is_class else scope.own
        self.enclosing = (enclosing | visible) - scope.globals
        self.rebound = frozenset(
            part.target.id for part in parts_of(node) if isinstance(part, ast.NamedExpr)
        )

    def lowered(self) -> Code:
        node = self.node
        if isinstance(node, ast.GeneratorExp):
            self.generator_loops(
                node.generators, lambda: self.emit("yield", [self.expression(node.elt)]), ".0"
            )
        elif isinstance(node, ast.Lambda):
            self.emit("return", [self.expression(node.body)])
        else:
            self.block(node.body)
        if isinstance(node, ast.ClassDef):
            names = tuple(sorted(self.scope.own))
            self.emit("namespace", extra=names)
        else:
            self.emit("return", [self.constant(None)])
        self.finish()
        analyse(self.code)
        return self.code

    def inner_code(self, node: Any, name: str) -> Code:
        joint = "." if self.code.is_class else ".<locals>."
        inner = Lowering(
            node,
            name,
            self.code.file,
            self.enclosing,
            self.class_name if not isinstance(node, ast.ClassDef) else None,
            f"{self.code.qualname}{joint}{name}",
        )
        return inner.lowered()


def lower(
    node: ast.FunctionDef | ast.Lambda,
    name: str,
    file: str,
    enclosing: frozenset[str] = frozenset(),
    class_name: str | None = None,
    qualname: str | None = None,
) -> Code:
    """The code of a function; its comprehensions must have been renamed (`scopes.renamed`)."""
    try:
        return Lowering(node, name, file, enclosing, class_name, qualname).lowered()
    except NotLowered as reason:
        reason.file = file
        raise


def _is_generator(node: Scoped) -> bool:
    if isinstance(node, ast.GeneratorExp):
        return True
    yields = (ast.Yield, ast.YieldFrom)
    return any(isinstance(part, yields) for part in parts_of(node))


def _parameters(node: Scoped) -> Parameters:
    if isinstance(node, ast.GeneratorExp):
        return Parameters(positional_only=(".0",))
    if isinstance(node, ast.ClassDef):
        return Parameters()
    a = node.args
    plain = [v.arg for v in (*a.posonlyargs, *a.args)]
    keyword = [v.arg for v in a.kwonlyargs]
    defaulted = plain[len(plain) - len(a.defaults) :] if a.defaults else []
    defaulted += [n for n, d in zip(keyword, a.kw_defaults, strict=True) if d is not None]
    return Parameters(
        tuple(v.arg for v in a.posonlyargs),
        tuple(v.arg for v in a.args),
        None if a.vararg is None else a.vararg.arg,
        tuple(keyword),
        None if a.kwarg is None else a.kwarg.arg,
        tuple(defaulted),
    )
