"""What a function does to its noisy values just before it returns them.

Whatever is computed from released numbers alone, without the data and without new noise, tells
nobody more than the numbers: a bound for the numbers is one for the result. So a function that ends
in `return max(0, round(noisy))` is taken apart, by its source, into one that returns `noisy` and
the rest. What is found is held against runs of the whole function before anybody believes it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading.calls import caller
from dpest.reading.rewrites.sources import (
    definition_of,
    names_bound,
    names_read,
    rebuilt,
    target_of,
)
from dpest.running.places import undeclared
from dpest.running.watchdog import Deadline, TimeUp, watched

_CHECKS = 12
_SECONDS = 5.0
_PURE = frozenset({round, int, float, str, bool, abs, min, max, repr, format, complex})
_PURE_NUMPY = frozenset(
    {
        *("floor", "ceil", "rint", "round", "around", "trunc", "fix", "sign", "isnan"),
        *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "square"),
        *("power", "abs", "absolute", "fabs", "clip", "maximum", "minimum", "mod", "remainder"),
        *("floor_divide", "divide", "true_divide", "float64", "int64", "tanh", "arctan", "sin"),
        *("cos", "nan_to_num"),
    }
)
_PURE_METHODS = frozenset({"round", "astype", "tolist", "item", "clip", "is_integer", "strip"})
_BENDING = (ast.Pow, ast.Mod, ast.FloorDiv)
_SPLIT = (ast.Div, ast.Mult)


@dataclass(frozen=True)
class Unprocessed:
    """A mechanism that releases what another one processes; the text of both."""

    mechanism: Mechanism
    steps: tuple[str, ...]
    body: str


def before_processing(
    mechanism: Mechanism, inputs: Iterable[Any], *, depth: int | None = None
) -> Unprocessed | None:
    """The mechanism without what it does to its results at its end; None if it does nothing.

    The mechanism is a function of what the found one releases, and of nothing else: seen in the
    source, and on runs with each of the inputs. What stands inside of `depth` functions stays in
    it: a logarithm may be how its noise is made.
    """
    if mechanism.black_box:
        return None
    function = undeclared(mechanism.function)
    definition = definition_of(function)
    if definition is None:
        return None
    scope = _Scope(function, definition, depth)
    found = _taken_apart(definition, scope)
    if found is None:
        return None
    body, ending, steps = found
    # The name of a file, for messages: a slash would look like a folder.
    file = f"<{mechanism.name} before {' and '.join(steps)}>".replace("/", "÷")
    inner = replace(mechanism, function=rebuilt(function, definition, body, file=file))
    rest = _compiled(ending, function)
    given = list(inputs)
    if not given or not all(_agree(mechanism, inner, rest, x) for x in given):
        return None
    return Unprocessed(inner, steps, "\n".join(map(ast.unparse, body)))


class _Scope:
    """What the names of a function mean, where they are not its own."""

    def __init__(
        self, function: types.FunctionType, definition: ast.FunctionDef, depth: int | None
    ) -> None:
        self.left = math.inf if depth is None else depth  # functions around what is looked at
        arguments = {a.arg for a in ast.walk(definition) if isinstance(a, ast.arg)}
        self._own = names_bound(definition) | arguments
        known = inspect.getclosurevars(function).nonlocals
        self._outside = {**vars(builtins), **function.__globals__, **known}

    def meaning(self, name: str) -> Any:
        return None if name in self._own else self._outside.get(name)

    def is_pure(self, node: ast.expr) -> bool:
        """Whether a called expression is a function of its arguments that this module knows."""
        if isinstance(node, ast.Name):
            meant = self.meaning(node.id)
            return isinstance(meant, (type, types.BuiltinFunctionType)) and _is_known(meant)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.meaning(node.value.id)
            if owner is math:
                return hasattr(math, node.attr)
            if owner is np:
                return node.attr in _PURE_NUMPY
        return False


def _is_known(meant: Any) -> bool:
    return meant in _PURE or getattr(math, getattr(meant, "__name__", ""), None) is meant


def _leaf_name(number: int) -> str:
    return f"_leaf{number}"


def _decomposed(node: ast.expr, scope: _Scope, leaves: list[ast.expr]) -> tuple[ast.expr, bool]:
    """The processing of an expression, its leaves added to the list; whether there is any."""
    start = len(leaves)
    ending, bent = _children(node, scope, leaves)
    if bent:
        return ending, True
    del leaves[start:]
    if isinstance(node, ast.Constant):
        return node, False
    same = (
        i for i, leaf in enumerate(leaves) if _is_name(leaf) and ast.dump(leaf) == ast.dump(node)
    )
    place = next(same, len(leaves))
    if place == len(leaves):
        leaves.append(node)
    return ast.copy_location(ast.Name(_leaf_name(place), ast.Load()), node), False


def _is_name(node: ast.expr) -> bool:
    """An expression that is another name of a value: evaluating it again changes nothing."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return _is_name(node.value)
    return isinstance(node, ast.Name)


class _Parts:
    """Decomposes the parts of one expression; `bent`: whether one of them has any processing."""

    def __init__(self, scope: _Scope, leaves: list[ast.expr]) -> None:
        self.scope = scope
        self.leaves = leaves
        self.bent = False

    def __call__(self, child: ast.expr) -> ast.expr:
        ending, bent = _decomposed(child, self.scope, self.leaves)
        self.bent = self.bent or bent
        return ending


def _children(node: ast.expr, scope: _Scope, leaves: list[ast.expr]) -> tuple[ast.expr, bool]:
    found = copy.copy(node)
    part = _Parts(scope, leaves)
    if isinstance(found, ast.Call):
        return _call(found, part) or (node, False)
    if isinstance(found, ast.BinOp):
        return _operation(found, part) if scope.left else (node, False)
    if isinstance(found, ast.UnaryOp):
        found.operand = part(found.operand)
    elif isinstance(found, (ast.Tuple, ast.List)):
        found.elts = [part(e) for e in found.elts]
    elif isinstance(found, ast.Dict):
        if not all(isinstance(k, ast.Constant) for k in found.keys):
            return node, False
        found.values = [part(v) for v in found.values]
    elif isinstance(found, ast.IfExp):
        # Of the two branches only one is evaluated: a leaf in them must not do anything.
        count = len(leaves)
        found.test, found.body, found.orelse = map(part, (found.test, found.body, found.orelse))
        if not all(isinstance(leaf, ast.Name) for leaf in leaves[count:]):
            return node, False
    elif isinstance(found, ast.Compare):
        if len(found.ops) != 1 or not isinstance(found.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            return node, False
        found.left, found.comparators = part(found.left), [part(found.comparators[0])]
    elif isinstance(found, ast.JoinedStr):
        found.values = [part(v) if isinstance(v, ast.FormattedValue) else v for v in found.values]
        return found, len(leaves) > 0
    elif isinstance(found, ast.FormattedValue):
        if found.format_spec is not None and names_read(found.format_spec):
            return node, False
        found.value = part(found.value)
        return found, True
    elif isinstance(found, ast.ListComp):
        return _comprehension(found, scope, leaves)
    else:
        return node, False
    return found, part.bent


def _call(found: ast.Call, part: _Parts) -> tuple[ast.expr, bool] | None:
    """A call of a pure function or method, changed in place; None for any other."""
    scope = part.scope
    plain = not any(isinstance(a, ast.Starred) for a in found.args)
    plain = plain and all(k.arg is not None for k in found.keywords)
    method = isinstance(found.func, ast.Attribute) and found.func.attr in _PURE_METHODS
    known = scope.is_pure(found.func)
    if not plain or not (known or (method and not _is_module(found.func, scope))):
        return None
    if not scope.left:
        return None
    scope.left -= 1
    if not known:
        assert isinstance(found.func, ast.Attribute)
        found.func = copy.copy(found.func)
        found.func.value = part(found.func.value)
    found.args = [part(a) for a in found.args]
    found.keywords = [ast.keyword(k.arg, part(k.value)) for k in found.keywords]
    scope.left += 1
    return found, len(part.leaves) > 0


def _operation(found: ast.BinOp, part: _Parts) -> tuple[ast.expr, bool]:
    """An operator, changed in place: some bend a leaf, others only a leaf with another one."""
    before = len(part.leaves)
    found.left = part(found.left)
    between = len(part.leaves)
    found.right = part(found.right)
    after = len(part.leaves)
    bending = isinstance(found.op, _BENDING) and after > before
    both = before < between < after and isinstance(found.op, _SPLIT)
    return found, part.bent or bending or both


def _is_module(func: ast.expr, scope: _Scope) -> bool:
    owner = func.value if isinstance(func, ast.Attribute) else func
    return isinstance(owner, ast.Name) and isinstance(scope.meaning(owner.id), types.ModuleType)


def _comprehension(
    node: ast.ListComp, scope: _Scope, leaves: list[ast.expr]
) -> tuple[ast.expr, bool]:
    """[f(E) for …] is f over the list [E for …]."""
    if len(node.generators) != 1 or node.generators[0].ifs:
        return node, False
    own: list[ast.expr] = []
    ending, bent = _decomposed(node.elt, scope, own)
    if not bent or not own:
        return node, False
    inner = copy.copy(node)
    inner.elt = _packed(own)
    leaves.append(inner)
    turn = ast.comprehension(
        target=ast.Name("_each", ast.Store()),
        iter=ast.Name(_leaf_name(len(leaves) - 1), ast.Load()),
        ifs=[],
        is_async=0,
    )
    each = _places_of_leaves("_each", len(own))
    return ast.ListComp(_replaced(ending, each), [turn]), True


def _packed(leaves: list[ast.expr]) -> ast.expr:
    """One leaf itself, or a tuple of several."""
    return leaves[0] if len(leaves) == 1 else ast.Tuple(leaves, ast.Load())


def _places_of_leaves(variable: str, count: int) -> dict[str, ast.expr]:
    """Where each leaf is in a variable that holds what `_packed` makes of them."""
    if count == 1:
        return {_leaf_name(0): ast.Name(variable, ast.Load())}
    return {
        _leaf_name(i): ast.Subscript(ast.Name(variable, ast.Load()), ast.Constant(i), ast.Load())
        for i in range(count)
    }


def _replaced(node: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    class BoundNames(ast.NodeTransformer):
        def visit_Name(self, found: ast.Name) -> ast.expr:
            return copy.deepcopy(names[found.id]) if found.id in names else found

    result = BoundNames().visit(copy.deepcopy(node))
    assert isinstance(result, ast.expr)
    return result


def _taken_apart(
    definition: ast.FunctionDef, scope: _Scope
) -> tuple[list[ast.stmt], ast.expr, tuple[str, ...]] | None:
    """The body that returns the leaves, the processing of what it returns, and its text."""
    body = list(definition.body)
    returns = [n for n in ast.walk(definition) if isinstance(n, ast.Return)]
    nested = [n for n in ast.walk(definition) if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    last = body[-1]
    if len(returns) != 1 or len(nested) != 1 or not isinstance(last, ast.Return):
        return None
    if last.value is None:
        return None
    released = last.value
    steps: list[str] = []
    kept: list[ast.stmt] = []
    used: set[str] = set()  # by the statements that stay after the one in question
    place = len(body) - 1
    while place > 0:
        statement = body[place - 1]
        name = target_of(statement)
        if name is None:
            break
        place -= 1
        value = getattr(statement, "value", None)
        assert value is not None
        leaves: list[ast.expr] = []
        ending, bent = _decomposed(value, scope, leaves)
        # What only got another name could be changed by the statements in between.
        shared = bool(kept) and any(_is_name(leaf) for leaf in leaves)
        if not bent or shared or name in used or name not in names_read(released):
            kept.insert(0, statement)
            used |= names_read(statement)
            continue
        steps.insert(0, ast.unparse(value))
        given = _packed(leaves)
        plain = ast.Assign([ast.Name(name, ast.Store())], given)
        kept.insert(0, ast.copy_location(plain, statement))
        used |= names_read(given)
        stands = {
            leaf: ast.copy_location(place_of_leaf, value)
            for leaf, place_of_leaf in _places_of_leaves(name, len(leaves)).items()
        }
        released = _replaced(released, {name: _replaced(ending, stands)})
    leaves = []
    ending, bent = _decomposed(released, scope, leaves)
    if not bent:
        return None
    if _decomposed(last.value, scope, [])[1]:
        steps.append(ast.unparse(last.value))
    end = ast.copy_location(ast.Return(_packed(leaves)), last)
    names = _places_of_leaves("_released", len(leaves))
    return [*body[:place], *kept, end], _replaced(ending, names), tuple(steps)


def _compiled(ending: ast.expr, function: types.FunctionType) -> Any:
    """The processing as a function of what is released."""
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    made = ast.Expression(
        ast.Lambda(ast.parse("lambda _released: 0", mode="eval").body.args, ending)  # type: ignore[attr-defined]
    )
    return eval(compile(ast.fix_missing_locations(made), "<processing>", "eval"), names)


def _agree(whole: Mechanism, inner: Mechanism, rest: Any, x: Any) -> bool:
    """Whether the processing of what the inner one releases is what the whole one releases."""
    together, before = caller(whole), caller(inner)
    try:
        with watched(Deadline(_SECONDS)):
            for seed in range(_CHECKS):
                expected = together(copy.deepcopy(x), np.random.default_rng(seed))
                released = before(copy.deepcopy(x), np.random.default_rng(seed))
                if repr(rest(released)) != repr(expected):
                    return False
    except (Exception, TimeUp):  # the user's code: whatever it does, it is not taken apart then
        return False
    return True


def described(steps: Sequence[str]) -> str:
    """A note for a report."""
    shown = " and ".join(f"`{step}`" for step in steps)
    return f"post-processing is free: the bound is that of what {shown} is computed from"
