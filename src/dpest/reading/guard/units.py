"""The user's functions as syntax trees, found by their code: whatever `wraps` says of them."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

from dpest.reading.guard.values import MISSING, NOTHING, Value

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class InspectedUnit:
    """One function: its tree, where it looks names up, and what is known of its variables."""

    def __init__(
        self,
        node: Definition,
        file: str,
        names: Mapping[str, Any],
        cells: Mapping[str, Any],
        parent: InspectedUnit | None = None,
    ) -> None:
        self.node = node
        self.file = file
        self.globals = names
        self.cells = cells
        self.parent = parent
        self.bound = _bound(node)
        self.variables: dict[str, Value] = {}
        self.returns: Value | None = None
        self.reached = False

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    @property
    def parameters(self) -> list[ast.arg]:
        given = self.node.args
        return [*given.posonlyargs, *given.args, *given.kwonlyargs]

    def bind(self, name: str, value: Value) -> bool:
        """Join what is known of a variable; whether that is news."""
        before = self.variables.get(name)
        after = value if before is None else before.join(value)
        self.variables[name] = after
        return before is None or (before, before.known is MISSING) != (
            after,
            after.known is MISSING,
        )

    def owner(self, name: str) -> InspectedUnit | None:
        """The function of this nest that binds a name."""
        unit: InspectedUnit | None = self
        while unit is not None:
            if name in unit.bound:
                return unit
            unit = unit.parent
        return None


def _bound(node: Definition) -> set[str]:
    """The names that belong to the function itself."""
    given = node.args
    found = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    found |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
    declared: set[str] = set()
    body = node.body if isinstance(node.body, list) else [node.body]
    pending: list[ast.AST] = list(body)
    while pending:
        step = pending.pop()
        if isinstance(step, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(step.name)
            pending += step.decorator_list
            continue
        if isinstance(step, ast.Lambda):
            continue
        if isinstance(step, (ast.Global, ast.Nonlocal)):
            declared |= set(step.names)
        if isinstance(step, ast.Name) and isinstance(step.ctx, (ast.Store, ast.Del)):
            found.add(step.id)
        if isinstance(step, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).split(".")[0] for a in step.names}
        if isinstance(step, ast.ExceptHandler) and step.name:
            found.add(step.name)
        if isinstance(step, (ast.MatchAs, ast.MatchStar)) and step.name:
            found.add(step.name)
        pending += ast.iter_child_nodes(step)
    return found - declared


def unit_of(function: FunctionType) -> InspectedUnit | None:
    """The tree of a function, by its code object; None where there is no source."""
    code = function.__code__
    node = function.__dict__.get("dpest_tree") or _definition(code)
    if node is None:
        return None
    cells: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return InspectedUnit(node, code.co_filename, function.__globals__, cells)


def _definition(code: CodeType) -> Definition | None:
    text = "".join(linecache.getlines(code.co_filename))
    tree = _tree(text) if text else None
    if tree is None:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and _first_line(node) == code.co_firstlineno
        and getattr(node, "name", "<lambda>") == code.co_name
        and _parameters(node) == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    ]
    if len(found) > 1:  # several lambdas on one line
        found = [node for node in found if _inside(node, code)]
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=256)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _first_line(node: Definition) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _parameters(node: Definition) -> tuple[str, ...]:
    given = node.args
    return tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _inside(node: Definition, code: CodeType) -> bool:
    """Whether the body of a lambda is exactly where its code comes from."""
    assert isinstance(node, ast.Lambda)
    body = node.body
    places = [
        (line, end_line, start, end)
        for line, end_line, start, end in code.co_positions()
        if None not in (line, end_line, start, end) and (start, end) != (0, 0)
    ]
    if not places:
        return False
    first = min((line, start) for line, _, start, _ in places)
    last = max((line, end) for _, line, _, end in places)
    return first >= (body.lineno, body.col_offset) and last <= (
        body.end_lineno or body.lineno,
        body.end_col_offset or 0,
    )


__all__ = ["MISSING", "NOTHING", "InspectedUnit", "unit_of"]
