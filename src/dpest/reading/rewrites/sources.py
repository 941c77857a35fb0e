"""A function as its syntax tree, and back: for what is read off the source."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import types
from collections.abc import Sequence
from typing import Any

from dpest.reading.code.sources import remember
from dpest.running.places import source_of


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The syntax tree of a plain function that takes `rng`; None where it can't be read."""
    if not isinstance(function, types.FunctionType):
        return None
    try:
        source = source_of(function)
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    definition = tree.body[0]
    if (
        definition.name != function.__code__.co_name
        or "rng" not in inspect.signature(function).parameters
    ):
        return None
    forbidden = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.NamedExpr)
    if any(isinstance(node, forbidden) for node in ast.walk(definition)):
        return None
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    return definition


def body_of(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    first, *rest = definition.body
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return rest
    return list(definition.body)


def names_bound(node: ast.AST) -> set[str]:
    """The names that an expression or a statement binds, or unbinds."""
    return {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))
    }


def target_of(statement: ast.stmt) -> str | None:
    """The one name that a plain assignment binds."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id if statement.value is not None else None
    return None


def names_read(node: ast.AST) -> set[str]:
    """The names that an expression or a statement reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def rebuilt(
    function: types.FunctionType,
    definition: ast.FunctionDef,
    body: Sequence[ast.stmt],
    *,
    file: str | None = None,
) -> types.FunctionType:
    """The function with another body: its name, defaults, globals and closure are the same.

    Its lines are those of the original; with `file` it has a source of its own, of that name, for
    what reads the source again.
    """
    inner = copy.copy(definition)
    inner.body = list(body)
    inner.decorator_list = []
    # Free variables are found as such only inside of a function that binds them.
    outer = ast.parse(f"def outer({', '.join(function.__code__.co_freevars)}): pass")
    shell = outer.body[0]
    assert isinstance(shell, ast.FunctionDef)
    shell.body = [inner]
    tree = ast.fix_missing_locations(outer)
    if file is not None:
        text = ast.unparse(outer)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        tree = ast.parse(text)
    code = compile(tree, file or function.__code__.co_filename, "exec", dont_inherit=True)
    for name in ("outer", definition.name):
        code = next(
            c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name
        )
    remember(code, tree)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    built = types.FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    built.__kwdefaults__ = function.__kwdefaults__
    built.__dict__["dpest_tree"] = inner  # what it is, for whoever reads it next
    built.__module__, built.__qualname__ = function.__module__, function.__qualname__
    return built
