"""A function that does the same for each entry of its data, one function for each entry.

`[max(0, q + rng.laplace()) for q in x]` has 2^n paths together and 2·n apart. That the entries have
nothing to do with each other is read off the source: a comprehension, a loop that appends one value
an entry and carries nothing over, or arithmetic on whole arrays.
"""

from __future__ import annotations

import ast
import copy
import inspect
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.program.sources import (
    body_of,
    definition_of,
    names_bound,
    names_read,
    rebuilt,
    target_of,
)

_MOST = 64
_FORKING = (
    "max",
    "min",
    "abs",
    "clip",
    "maximum",
    "minimum",
    "fabs",
    "where",
    "integers",
    "choice",
)
_PLAIN = (
    *("max", "min", "abs", "round", "int", "float", "bool", "str", "len", "sum", "pow", "divmod"),
    *("list", "tuple", "sorted", "any", "all", "range", "zip", "enumerate", "complex"),
)
_ENTRYWISE = ("maximum", "minimum", "clip", "abs", "absolute", "fabs", "where")
_FREE = ("np", "numpy", "math", "rng")  # whose methods change nothing but the stream


def for_each(function: Any, inputs: Sequence[Any]) -> list[types.FunctionType]:
    """One function for each entry, which releases a list of one; [] if there is no split."""
    lengths = {len(x) if hasattr(x, "__len__") else 0 for x in inputs}
    definition = definition_of(function)
    if definition is None or len(lengths) != 1 or not 2 <= (n := lengths.pop()) <= _MOST:
        return []
    body = body_of(definition)
    argument = next(iter(inspect.signature(function).parameters), "")
    found = _comprehension(body) or _loop(body)
    if found is None:
        arrays = all(isinstance(x, np.ndarray) and x.ndim == 1 for x in inputs)
        turns = [_Turn(argument, arrays, i).of(body) for i in range(n)]
        return [rebuilt(function, definition, turn) for turn in turns if turn]
    before, target, over, work = found
    if not _apart(function, definition, before, target, work) or not _forks(work):
        return []
    entries = [_entry(argument, target, over, i) for i in range(n)]
    if None in entries:
        return []
    return [
        rebuilt(function, definition, copy.deepcopy([*before, entry, *work]))
        for entry in entries
        if entry is not None
    ]


class _Mixed(Exception):
    """Something that is not done entry by entry."""


class _Turn:
    """Arithmetic on whole arrays, as it is for one entry."""

    def __init__(self, argument: str, arrays: bool, entry: int) -> None:
        self.argument = argument
        self.arrays = arrays  # whether the data are an array already
        self.data = ast.Subscript(ast.Name(argument, ast.Load()), ast.Constant(entry), ast.Load())
        self.vectors: set[str] = set()
        self.sizes = {f"len({argument})", f"{argument}.shape", f"np.shape({argument})"}

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The body for this entry; [] if entries are not apart, or have one path each."""
        made: list[ast.stmt] = []
        *before, last = body
        if not isinstance(last, ast.Return) or last.value is None or not _forks(body):
            return []
        try:
            for statement in before:
                name, value = target_of(statement), getattr(statement, "value", None)
                if name is None or value is None or name in (self.argument, "rng"):
                    return []
                new, vector = self.at(value)
                if name in self.vectors and not vector:
                    return []
                if vector:
                    self.vectors.add(name)
                elif ast.unparse(value) in self.sizes:
                    self.sizes.add(name)
                target = ast.Assign([ast.Name(name, ast.Store())], new)
                made.append(ast.copy_location(target, statement))
            new, vector = self.at(_plain_list(last.value))
        except _Mixed:
            return []
        return [*made, _released(ast.copy_location(new, last.value))] if vector else []

    def at(self, node: ast.expr) -> tuple[ast.expr, bool]:
        """The expression for this entry, and whether it has one value for each entry."""
        if isinstance(node, ast.Name) and node.id in self.vectors:
            return node, True
        if isinstance(node, ast.Name) and node.id == self.argument and self.arrays:
            return self.data, True
        if isinstance(node, ast.Call):
            return self.call(node)
        found = copy.copy(node)
        if isinstance(found, ast.BinOp):
            found.left, one = self.at(found.left)
            found.right, two = self.at(found.right)
            return found, one or two
        if isinstance(found, ast.UnaryOp) and not isinstance(found.op, ast.Not):
            found.operand, vector = self.at(found.operand)
            return found, vector
        if isinstance(found, ast.Compare) and len(found.ops) == 1:
            found.left, one = self.at(found.left)
            right, two = self.at(found.comparators[0])
            found.comparators = [right]
            return found, one or two
        return self.scalar(node), False

    def call(self, node: ast.Call) -> tuple[ast.expr, bool]:
        name = ast.unparse(node.func)
        owner, _, method = name.rpartition(".")
        found = copy.copy(node)
        if owner in ("np", "numpy") and method in ("array", "asarray"):
            if [ast.unparse(a) for a in node.args] == [self.argument] and not node.keywords:
                return self.data, True
        elif owner == "rng":
            sizes = [k for k in node.keywords if k.arg == "size"]
            if len(sizes) != 1 or ast.unparse(sizes[0].value) not in self.sizes:
                raise _Mixed
            for part in (*node.args, *(k.value for k in node.keywords)):
                self.scalar(part)
            found.keywords = [k for k in node.keywords if k.arg != "size"]
            return found, True
        elif owner in ("np", "numpy") and method in _ENTRYWISE and not node.keywords:
            parts = [self.at(a) for a in node.args]
            found.args = [p[0] for p in parts]
            return found, any(p[1] for p in parts)
        return self.scalar(node), False

    def scalar(self, node: ast.expr) -> ast.expr:
        """An expression that has nothing to do with whole arrays, nor with noise."""
        if names_read(node) & {*self.vectors, "rng"}:
            raise _Mixed
        return node


def _plain_list(node: ast.expr) -> ast.expr:
    """`values.tolist()` and `list(values)` are the values."""
    if isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist" and not node.args:
            return node.func.value
        if isinstance(node.func, ast.Name) and node.func.id == "list" and len(node.args) == 1:
            return node.args[0]
    return node


_Parts = tuple[list[ast.stmt], ast.expr, ast.expr, list[ast.stmt]]


def _comprehension(body: list[ast.stmt]) -> _Parts | None:
    """…; return [work for target in over]"""
    *before, last = body
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.ListComp):
        return None
    made = last.value
    if len(made.generators) != 1 or made.generators[0].ifs or made.generators[0].is_async:
        return None
    (turn,) = made.generators
    return before, turn.target, turn.iter, [_released(made.elt)]


def _loop(body: list[ast.stmt]) -> _Parts | None:
    """…; out = []; for target in over: work, out.append(value); return out"""
    if len(body) < 3:
        return None
    *before, loop, last = body
    if not isinstance(loop, ast.For) or loop.orelse or not isinstance(last, ast.Return):
        return None
    if not isinstance(last.value, ast.Name):
        return None
    name = last.value.id
    starts = [s for s in before if target_of(s) == name]
    if len(starts) != 1 or not _is_empty_list(getattr(starts[0], "value", None)):
        return None
    before = [s for s in before if s is not starts[0]]
    work = _ending(loop.body, name)
    if work is None or any(name in names_read(s) for s in (*before, *work)):
        return None
    return before, loop.target, loop.iter, work


def _is_empty_list(node: Any) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "list" and not node.args
    return isinstance(node, ast.List) and not node.elts


def _ending(statements: list[ast.stmt], name: str) -> list[ast.stmt] | None:
    """The statements with the `append` that each way through them ends with as a `return`."""
    *rest, last = statements
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        call = last.value
        appends = isinstance(call.func, ast.Attribute) and call.func.attr == "append"
        if not appends or len(call.args) != 1 or call.keywords:
            return None
        assert isinstance(call.func, ast.Attribute)
        if not isinstance(call.func.value, ast.Name) or call.func.value.id != name:
            return None
        return [*rest, _released(call.args[0])]
    if isinstance(last, ast.If) and last.orelse:
        branches = [_ending(branch, name) for branch in (last.body, last.orelse)]
        if None in branches:
            return None
        chosen = copy.copy(last)
        chosen.body, chosen.orelse = branches[0] or [], branches[1] or []
        return [*rest, chosen]
    return None


def _released(value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Return(ast.List([value], ast.Load())), value)


def _entry(argument: str, target: ast.expr, over: ast.expr, i: int) -> ast.stmt | None:
    """What the loop's variables are for one entry: over x, enumerate(x) or range(len(x))."""
    data = ast.Subscript(ast.Name(argument, ast.Load()), ast.Constant(i), ast.Load())
    shown = ast.unparse(over)
    value: ast.expr
    if shown == argument:
        value = data
    elif shown == f"enumerate({argument})":
        value = ast.Tuple([ast.Constant(i), data], ast.Load())
    elif shown == f"range(len({argument}))":
        value = ast.Constant(i)
    else:
        return None
    return ast.copy_location(ast.Assign([copy.deepcopy(target)], value), over)


def _apart(
    function: types.FunctionType,
    definition: ast.FunctionDef,
    before: Sequence[ast.stmt],
    target: ast.expr,
    work: Sequence[ast.stmt],
) -> bool:
    """Whether nothing is drawn before the loop, and nothing is carried from turn to turn."""
    if any(target_of(s) is None or "rng" in names_read(s) for s in before):
        return False
    arguments = {a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)}
    outer = {target_of(s) for s in before} | arguments
    own = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    if own & outer:
        return False
    fixed = outer | own
    for node in (n for s in work for n in ast.walk(s)):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, (ast.Break, ast.Continue, ast.While, ast.For, ast.Try, ast.With)):
            return False
        if isinstance(node, (ast.Delete, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Lambda)):
            return False
        if isinstance(node, ast.Call) and not _harmless(node, function, fixed):
            return False
    return _assigned_first(work, fixed)


def _harmless(call: ast.Call, function: types.FunctionType, local: set[Any]) -> bool:
    """A call that changes nothing that another entry could see."""
    if isinstance(call.func, ast.Name):
        name = call.func.id
        own = name in local or name in function.__globals__ or name in function.__code__.co_freevars
        return not own and name in _PLAIN
    owner = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id in _FREE


def _assigned_first(work: Sequence[ast.stmt], fixed: set[Any]) -> bool:
    """Whether each name that the turn binds is bound, in this turn, before it is read."""
    bound: set[str] = set()
    stored = {name for s in work for name in names_bound(s)}
    if stored & fixed:
        return False
    for statement in work:
        name = target_of(statement)
        reads = names_read(statement)
        if any(other in stored and other not in bound for other in reads):
            return False
        if name is not None:
            bound.add(name)
        elif names_bound(statement):
            return False
    return True


def _forks(work: Sequence[ast.stmt]) -> bool:
    """Whether entries have several paths each; without them there is nothing to gain."""
    nodes = [n for s in work for n in ast.walk(s)]
    if any(isinstance(n, (ast.If, ast.IfExp, ast.BoolOp)) for n in nodes):
        return True
    called = {ast.unparse(n.func).rpartition(".")[2] for n in nodes if isinstance(n, ast.Call)}
    return not called.isdisjoint(_FORKING)
