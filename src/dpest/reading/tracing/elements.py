"""A function that does something for each entry of its data, one function for each entry.

`[max(0, q + rng.laplace()) for q in x]` has 2^n paths together and 2·n apart. That the entries have
nothing to do with each other is read off the source: a comprehension, a loop that appends or sets
one value an entry and carries nothing over, or arithmetic on whole arrays. Where it is the same for
each, what is true of one entry is true of data of any length.
"""

from __future__ import annotations

import ast
import copy
import inspect
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.reading.tracing.sources import (
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
    *("round", "around", "rint", "floor", "ceil", "trunc", "int"),
)
_PLAIN = (
    *("max", "min", "abs", "round", "int", "float", "bool", "str", "len", "sum", "pow", "divmod"),
    *("list", "tuple", "sorted", "any", "all", "range", "zip", "enumerate", "complex"),
)
_ENTRYWISE = (
    *("maximum", "minimum", "clip", "abs", "absolute", "fabs", "where"),
    *("round", "around", "rint", "floor", "ceil", "trunc"),
    *("logical_xor", "logical_and", "logical_or", "logical_not", "bitwise_xor"),
)
_SIZE_COMES = {  # the place of `size` among the arguments of a draw
    **dict.fromkeys(("laplace", "normal", "uniform", "gumbel", "binomial", "integers"), 2),
    **dict.fromkeys(("exponential", "geometric", "poisson", "choice"), 1),
    **dict.fromkeys(("random", "standard_normal", "standard_exponential"), 0),
}
_FREE = ("np", "numpy", "math", "rng")  # whose methods change nothing but the stream, except
_CHANGING = (
    *("shuffle", "bit_generator", "spawn", "random_state", "seed", "at"),
    *("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"),
)


def for_each(function: Any, inputs: Sequence[Any]) -> list[types.FunctionType]:
    """One function for each entry, which releases a list of one; [] if there is no split."""
    lengths = {len(x) if hasattr(x, "__len__") else 0 for x in inputs}
    definition = definition_of(function)
    if definition is None or len(lengths) != 1 or not 2 <= (n := lengths.pop()) <= _MOST:
        return []
    body = body_of(definition)
    argument = _argument(function)
    found = _comprehension(body) or _loop(argument, body)
    if found is None:
        arrays = all(isinstance(x, np.ndarray) and x.ndim == 1 for x in inputs)
        turns = [_Turn(argument, arrays, _at(argument, i)).of(body) for i in range(n)]
        return [rebuilt(function, definition, turn) for turn in turns if turn and _forks(turn)]
    before, target, over, work = found
    if not _apart(function, definition, before, target, work) or not _forks(work):
        return []
    sizes = _sizes(argument, before)
    entries = [_entry(argument, sizes, target, over, i) for i in range(n)]
    if None in entries:
        return []
    return [
        rebuilt(function, definition, copy.deepcopy([*before, entry, *work]))
        for entry in entries
        if entry is not None
    ]


def alike(function: Any, arrays: bool = False) -> bool:
    """Whether f([x0, x1, …]) is [g(x0), g(x1), …] for one g, each with draws of its own.

    `arrays` says whether the data come as an array. False where the source does not show it: g may
    look at the place of an entry, at their number, or at the others.
    """
    definition = definition_of(function)
    if definition is None:
        return False
    body = body_of(definition)
    argument = _argument(function)
    found = _comprehension(body) or _loop(argument, body)
    if found is None:
        turn = _Turn(argument, arrays, ast.Name("_entry", ast.Load()))
        made = turn.of(body)
        hidden = {argument}
        for statement in made:
            if _is_size(argument, getattr(statement, "value", None)):
                hidden |= names_bound(statement)
            elif names_read(statement) & hidden:
                return False
            else:
                hidden -= names_bound(statement)  # `x = np.asarray(x)`: its entries from here on
        return bool(made)
    before, target, over, work = found
    sizes = _sizes(argument, before)
    if not _apart(function, definition, before, target, work):
        return False
    if _entry(argument, sizes, target, over, 0) is None:
        return False
    hidden = {argument, *sizes}
    place = _place(argument, target, over)
    if place is not None:
        hidden.add(place)
        work = [_OwnEntry(f"{argument}[{place}]").visit(s) for s in copy.deepcopy(work)]
    kept = [s for s in before if not _is_size(argument, getattr(s, "value", None))]
    return not any(names_read(s) & hidden for s in (*kept, *work))


def _place(argument: str, target: ast.expr, over: ast.expr) -> str | None:
    """The name of the place of an entry: i in `for i, v in enumerate(x)` and in `range(len(x))`."""
    if ast.unparse(over) == argument:
        return None
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[0]
    return target.id if isinstance(target, ast.Name) else None


class _OwnEntry(ast.NodeTransformer):
    """`x[i]`, where i is the place of this turn, is the entry of this turn."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if ast.unparse(node) == self.shown:
            return ast.copy_location(ast.Name("_entry", ast.Load()), node)
        return self.generic_visit(node)


def _argument(function: Any) -> str:
    return next(iter(inspect.signature(function).parameters), "")


def _at(argument: str, i: int) -> ast.expr:
    return ast.Subscript(ast.Name(argument, ast.Load()), ast.Constant(i), ast.Load())


def _is_size(argument: str, value: ast.expr | None) -> bool:
    """Whether an expression is the number of entries."""
    shown = "" if value is None else ast.unparse(value)
    return shown in (f"len({argument})", f"{argument}.shape", f"np.shape({argument})")


def _sizes(argument: str, before: Sequence[ast.stmt]) -> set[str]:
    """The names of the number of entries."""
    found = {target_of(s) for s in before if _is_size(argument, getattr(s, "value", None))}
    bound = [name for s in before for name in names_bound(s)]
    return {name for name in found if name is not None and bound.count(name) == 1}


class _Mixed(Exception):
    """Something that is not done entry by entry."""


class _Turn:
    """Arithmetic on whole arrays, as it is for one entry."""

    def __init__(self, argument: str, arrays: bool, entry: ast.expr) -> None:
        self.argument = argument
        self.arrays = arrays  # whether the data are an array already
        self.data = entry
        self.vectors: set[str] = set()
        self.sizes: set[str] = set()  # names of the number of entries

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The body for this entry; [] if entries are not apart."""
        made: list[ast.stmt] = []
        *before, last = body
        if not isinstance(last, ast.Return) or last.value is None:
            return []
        try:
            for statement in before:
                name, value = target_of(statement), getattr(statement, "value", None)
                if name is None or value is None or name == "rng" or name in self.sizes:
                    return []
                new, vector = self.at(value)
                if name in (*self.vectors, self.argument) and not vector:
                    return []
                if vector:
                    self.vectors.add(name)
                elif _is_size(self.argument, value):
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
            return self.draw(node, method), True
        elif method == "astype" and len(node.args) == 1 and not node.keywords:
            assert isinstance(node.func, ast.Attribute)
            if ast.unparse(node.args[0]) in ("int", "float", "bool"):
                value, vector = self.at(node.func.value)
                if vector:
                    return ast.copy_location(ast.Call(node.args[0], [value], []), node), True
        elif owner in ("np", "numpy") and method in _ENTRYWISE and not node.keywords:
            parts = [self.at(a) for a in node.args]
            found.args = [p[0] for p in parts]
            return found, any(p[1] for p in parts)
        return self.scalar(node), False

    def draw(self, node: ast.Call, method: str) -> ast.expr:
        """As many draws as entries: one draw."""
        sizes = [k.value for k in node.keywords if k.arg == "size"]
        place = _SIZE_COMES.get(method, len(node.args))
        sizes += node.args[place : place + 1]
        if len(sizes) != 1 or not (
            _is_size(self.argument, sizes[0]) or ast.unparse(sizes[0]) in self.sizes
        ):
            raise _Mixed
        rest = copy.copy(node)
        rest.args = [a for a in node.args if a is not sizes[0]]
        rest.keywords = [k for k in node.keywords if k.arg != "size"]
        for part in (*rest.args, *(k.value for k in rest.keywords)):
            self.scalar(part)
        return rest

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


def _loop(argument: str, body: list[ast.stmt]) -> _Parts | None:
    """…; out = []; for target in over: work, out.append(value); return out

    Or out is a list or an array as long as the data, and the turn ends with out[place] = value.
    """
    if len(body) < 3:
        return None
    *before, loop, last = body
    if not isinstance(loop, ast.For) or loop.orelse or not isinstance(last, ast.Return):
        return None
    value = _plain_list(last.value) if last.value is not None else None
    if not isinstance(value, ast.Name):
        return None
    name = value.id
    starts = [s for s in before if name in names_bound(s)]
    if len(starts) != 1 or target_of(starts[0]) != name:
        return None
    before = [s for s in before if s is not starts[0]]
    place = _place(argument, loop.target, loop.iter)
    made: Any = getattr(starts[0], "value", None)
    if _is_empty_list(made):
        work = _Ends(name, None).of(loop.body, None)
    elif place is not None and _as_long(argument, _sizes(argument, before), made):
        copied = ast.unparse(made) in (f"{argument}.copy()", f"list({argument})")
        index = ast.Name(place, ast.Load())
        keeps = ast.Subscript(ast.Name(argument, ast.Load()), index, ast.Load())
        kept = _released(ast.copy_location(keeps, loop)) if copied else None
        work = _Ends(name, place).of(loop.body, kept)
    else:
        return None
    if work is None or any(name in names_read(s) | names_bound(s) for s in (*before, *work)):
        return None
    return before, loop.target, loop.iter, work


def _as_long(argument: str, sizes: set[str], made: Any) -> bool:
    """Whether a new list or array has as many entries as the data."""
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        if not isinstance(made.left, ast.List) or len(made.left.elts) != 1:
            return False
        return _is_size(argument, made.right) or ast.unparse(made.right) in sizes
    if not isinstance(made, ast.Call):
        return False
    if ast.unparse(made) in (f"{argument}.copy()", f"list({argument})"):
        return True
    name = ast.unparse(made.func)
    if name not in [f"{m}.{f}" for m in ("np", "numpy") for f in ("zeros", "empty", "ones")]:
        return False
    first = made.args[0] if made.args else None
    return _is_size(argument, first) or (first is not None and ast.unparse(first) in sizes)


def _is_empty_list(node: Any) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "list" and not node.args
    return isinstance(node, ast.List) and not node.elts


class _Ends:
    """Each way through a turn ends with one value for its entry: it becomes a `return`.

    The value is set at the entry's `place`, or appended where there is no place.
    """

    def __init__(self, name: str, place: str | None) -> None:
        self.name, self.place = name, place

    def of(self, statements: list[ast.stmt], kept: ast.stmt | None) -> list[ast.stmt] | None:
        """`kept` is what the entry has where nothing is set."""
        if not statements:
            return None if kept is None else [kept]
        *rest, last = statements
        value = self.appended(last) if self.place is None else self.assigned(last)
        if value is not None:
            return [*rest, _released(value)]
        if isinstance(last, ast.If) and (last.orelse or kept is not None):
            branches = [self.of(branch, kept) for branch in (last.body, last.orelse)]
            if None in branches:
                return None
            chosen = copy.copy(last)
            chosen.body, chosen.orelse = branches[0] or [], branches[1] or []
            return [*rest, chosen]
        return None

    def appended(self, last: ast.stmt) -> ast.expr | None:
        if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
            return None
        call = last.value
        if ast.unparse(call.func) != f"{self.name}.append" or len(call.args) != 1 or call.keywords:
            return None
        return call.args[0]

    def assigned(self, last: ast.stmt) -> ast.expr | None:
        if not isinstance(last, ast.Assign) or len(last.targets) != 1:
            return None
        shown = f"{self.name}[{self.place}]"
        return last.value if ast.unparse(last.targets[0]) == shown else None


def _released(value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Return(ast.List([value], ast.Load())), value)


def _entry(
    argument: str, sizes: set[str], target: ast.expr, over: ast.expr, i: int
) -> ast.stmt | None:
    """What the loop's variables are for one entry: over x, enumerate(x) or range(len(x))."""
    data = _at(argument, i)
    shown = ast.unparse(over)
    value: ast.expr
    if shown == argument:
        value = data
    elif _place(argument, target, over) is None:
        return None
    elif shown == f"enumerate({argument})" and isinstance(target, ast.Tuple):
        value = ast.Tuple([ast.Constant(i), data], ast.Load())
    elif shown in {f"range({n})" for n in (*sizes, f"len({argument})")}:
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
    owner: ast.expr = call.func
    while isinstance(owner, ast.Attribute):
        if owner.attr in _CHANGING:
            return False
        owner = owner.value
    if any(keyword.arg in (None, "out") for keyword in call.keywords):
        return False
    return isinstance(owner, ast.Name) and owner.id in _FREE


def _assigned_first(work: Sequence[ast.stmt], fixed: set[Any]) -> bool:
    """Whether each name that the turn binds is bound, in this turn, before it is read."""
    stored = {name for s in work for name in names_bound(s)}
    return not stored & fixed and _bound_after(work, stored, set()) is not None


def _bound_after(work: Sequence[ast.stmt], stored: set[str], before: set[str]) -> set[str] | None:
    """The names that are bound for sure after these statements; None if one was read too early."""
    bound = set(before)
    for statement in work:
        if isinstance(statement, ast.If):
            if names_read(statement.test) & stored - bound:
                return None
            ways = [_bound_after(way, stored, bound) for way in (statement.body, statement.orelse)]
            if ways[0] is None or ways[1] is None:
                return None
            bound = ways[0] & ways[1]
            continue
        if names_read(statement) & stored - bound:
            return None
        name = target_of(statement)
        if name is not None:
            bound.add(name)
        elif names_bound(statement) - bound or not isinstance(
            statement, (ast.AugAssign, ast.Return, ast.Expr)
        ):
            return None
    return bound


def _forks(work: Sequence[ast.stmt]) -> bool:
    """Whether entries have several paths each; without them there is nothing to gain."""
    nodes = [n for s in work for n in ast.walk(s)]
    if any(isinstance(n, (ast.If, ast.IfExp, ast.BoolOp)) for n in nodes):
        return True
    called = {ast.unparse(n.func).rpartition(".")[2] for n in nodes if isinstance(n, ast.Call)}
    return not called.isdisjoint(_FORKING)
