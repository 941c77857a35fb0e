"""Comprehensions over data of any length, in the mechanism and in the functions that it calls.

`[f(q) for q in x]` becomes `__dpest_map__(x, lambda q: f(q), ...)`: for an ordinary iterable the
same comprehension, for a vector of any length a vector whose element is f(q).
"""

from __future__ import annotations

import ast
import builtins
import functools
import heapq
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dpest.reading.loops.any_length import TracedVector, pass_over
from dpest.reading.loops.lengths import LengthCount, unsupported
from dpest.reading.loops.passes import Items, LoopPass, RandomPlace, at_each
from dpest.reading.loops.vector_functions import ANY_LENGTH, HeapForVectors, NumpyForVectors
from dpest.reading.rewrites.labels import entry
from dpest.reading.rewrites.order_statistics import TracedRank
from dpest.reading.rewrites.softmax import Chance, ScaledScore, Weight
from dpest.reading.rewrites.special import SPECIAL, SpecialFunctions, special
from dpest.reading.tracing.math_for_units import MATH, with_units
from dpest.reading.tracing.running import running
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, is_symbolic
from dpest.reading.world import conditions_of
from dpest.running.places import is_user_file

MAP, ENTRY = "__dpest_map__", "__dpest_entry__"
_SYMBOLIC = (
    TracedVector,
    LoopPass,
    LengthCount,
    Items,
    RandomPlace,
    TracedRank,
    ScaledScore,
    Weight,
    Chance,
    TracedReal,
)


class Mapped(ast.NodeTransformer):
    """Comprehensions with one `for` as calls of MAP, entries as calls of ENTRY."""

    def _mapped(self, node: Any, as_list: bool) -> Any:
        self.generic_visit(node)
        clause = node.generators[0]
        names = _target(clause.target)
        inner = [node.elt, *clause.ifs]
        odd = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
        if (
            len(node.generators) != 1
            or clause.is_async
            or names is None
            or any(isinstance(n, odd) for part in inner for n in ast.walk(part))
        ):
            return node
        test = ast.BoolOp(ast.And(), clause.ifs) if len(clause.ifs) > 1 else None
        condition = test or (clause.ifs[0] if clause.ifs else None)
        single = isinstance(clause.target, ast.Name)
        call = ast.Call(
            ast.Name(MAP, ast.Load()),
            [
                clause.iter,
                _lambda(names, node.elt),
                ast.Constant(None) if condition is None else _lambda(names, condition),
                ast.Constant(single),
                ast.Constant(as_list),
            ],
            [],
        )
        for part in ast.walk(call):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return call

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        slices = any(isinstance(n, ast.Slice) for n in ast.walk(node.slice))
        if slices or not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(ast.Name(ENTRY, ast.Load()), [node.value, node.slice], [])
        for part in (call, call.func):
            ast.copy_location(part, node)
        return call

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._mapped(node, True)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._mapped(node, False)


def _target(target: ast.expr) -> list[str] | None:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
        return [e.id for e in target.elts if isinstance(e, ast.Name)]
    return None


def _lambda(names: list[str], body: ast.expr) -> ast.expr:
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    return ast.Lambda(arguments, body)


def mapped(
    values: Any,
    function: Callable[..., Any],
    condition: Callable[..., Any] | None,
    single: bool,
    as_list: bool,
) -> Any:
    """What a comprehension gives: a vector of any length, where it runs over one."""
    over = pass_over(values)
    if over is None:
        items = ((item,) if single else item for item in values)
        found = (function(*i) for i in items if condition is None or condition(*i))
        return list(found) if as_list else found
    if over.shuffled:
        unsupported("a comprehension in a random order")
    run: Any = running()
    before, decisions = len(run.draws), len(run.blocks)

    def each(item: Any) -> Any:
        values = (item,) if single else item
        element = function(*values)
        return element if condition is None else _counted(condition(*values), element)

    element = at_each(each, over) if over.numbered else each(over.item(None))
    if len(run.blocks) != decisions:
        unsupported("a decision for each element, inside of an expression: write a loop; a list")
    fresh = frozenset(run.draws[before:])
    run.vector_draws |= fresh
    return TracedVector(element, over.own | fresh)


def _counted(truth: Any, element: Any) -> Any:
    """`1 for q in x if q > 0` is a count: a sum of indicators."""
    about_data = isinstance(truth, TracedTruth) and all(
        s.kind == "input" for c in conditions_of(truth) for s in c.form.terms
    )
    if not about_data or is_symbolic(element):
        unsupported("a choice among the elements, other than to count them,")
    return truth.number() * element


def with_vectors(names: Mapping[str, Any]) -> dict[str, Any]:
    """The globals of a function: NumPy and the user's functions know vectors of any length."""
    return {k: _knowing(v) for k, v in names.items()}


def _knowing(value: Any) -> Any:
    if isinstance(value, ModuleType):
        value = vars(value).get("_module", value)  # as it is outside of a trace
    if value is np:
        return NumpyForVectors()
    if value is math.exp:
        return MATH.exp
    if callable(value) and not isinstance(value, type):
        name = getattr(value, "__name__", "")
        if getattr(np, name, None) is value:
            return getattr(NumpyForVectors(), name)
        if name in SPECIAL and getattr(value, "__module__", "").startswith("scipy.special"):
            return special(name, value)
    if isinstance(value, ModuleType) and value.__name__ in ("scipy", "scipy.special"):
        return SpecialFunctions(value)
    if value is heapq:
        return HeapForVectors()
    if isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
        return _helper(value)
    return value


def _helper(function: FunctionType) -> Any:
    """The function; where it is given a vector of any length, with its comprehensions mapped."""
    made: list[Any] = []

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = (*args, *options.values())
        if not any(isinstance(v, _SYMBOLIC) for v in given):
            return function(*args, **options)
        if not made:
            made.append(_rewritten(function) or function)
        return made[0](*args, **options)

    return call


def _rewritten(function: FunctionType) -> Any:
    if function.__closure__ or hasattr(function, "__wrapped__"):
        return None
    try:
        lines, first = inspect.getsourcelines(function.__code__)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return None
    definition.decorator_list = []
    ast.increment_lineno(tree, first - 1)
    tree = ast.fix_missing_locations(Mapped().visit(tree))
    names = {k: with_units(v) for k, v in with_vectors(function.__globals__).items()}
    names["__builtins__"] = {**vars(builtins), **ANY_LENGTH}
    names[MAP], names[ENTRY] = mapped, entry
    scratch = dict(names)
    exec(compile(tree, function.__code__.co_filename, "exec"), scratch)
    found = FunctionType(
        scratch[definition.name].__code__, names, function.__name__, function.__defaults__
    )
    found.__kwdefaults__ = function.__kwdefaults__
    return found
