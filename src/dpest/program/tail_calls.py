"""`return other(x, rng, scale=2 / eps)`: the body of the other function in place of the call.

Variants of a mechanism often share one implementation. Cutting a function at its top-level loops
has to see the loops of what it ends in. Only calls that can be replaced without changing anything
are replaced; any doubt leaves the call as it is.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

_DEEPEST = 8


def unfold(
    definition: ast.FunctionDef, names: Mapping[str, Any], file: str
) -> tuple[list[tuple[list[ast.stmt], str]], dict[str, Any]]:
    """The statements of a function and of what it ends in, each part with its file; their names."""
    names = dict(names)
    parts: list[tuple[list[ast.stmt], str]] = []
    statements = definition.body
    set_here = {a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)}
    used: set[str] = set()
    while len(parts) < _DEEPEST:
        found = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
        used |= {n.id for n in found}
        set_here |= {n.id for n in found if not isinstance(n.ctx, ast.Load)}
        call = _tail_call(statements)
        step = _called(call, names, set_here, used) if call is not None else None
        if step is None:
            break
        binding, body, more, next_file = step
        for statement in binding:
            ast.copy_location(statement, statements[-1])
            ast.fix_missing_locations(statement)
        parts.append(([*statements[:-1], *binding], file))
        set_here |= {n.id for s in binding for n in ast.walk(s) if isinstance(n, ast.Name)}
        statements, file = body, next_file
        names.update(more)
    parts.append((statements, file))
    return parts, names


def _called(
    call: ast.Call, names: Mapping[str, Any], set_here: set[str], used: set[str]
) -> tuple[list[ast.stmt], list[ast.stmt], dict[str, Any], str] | None:
    """(binding of the arguments, body, names of the called function, its file)."""
    if not isinstance(call.func, ast.Name) or call.func.id in set_here:
        return None
    called: Any = names.get(call.func.id)
    called = getattr(called, "function", called) if not inspect.isfunction(called) else called
    found = _definition(called)
    if found is None:
        return None
    definition, file = found
    bound = _bound(called, call)
    if bound is None or not any(isinstance(s, (ast.For, ast.While)) for s in definition.body):
        return None
    arguments, defaults = bound
    closure = inspect.getclosurevars(called)
    inner = {**closure.globals, **closure.nonlocals}
    # A name that means one thing here and another there would need renaming: leave such a call.
    if any(name in set_here for name in (*inner, *closure.builtins)):
        return None
    if any(name in used and names.get(name) is not value for name, value in inner.items()):
        return None
    binding: list[ast.stmt] = []
    if arguments:
        targets = ast.Tuple([ast.Name(n, ast.Store()) for n in arguments], ast.Store())
        values = ast.Tuple(list(arguments.values()), ast.Load())
        binding = [ast.Assign([targets], values)]
    return binding, definition.body, {**inner, **defaults}, file


def _tail_call(statements: list[ast.stmt]) -> ast.Call | None:
    if not statements or not isinstance(statements[-1], ast.Return):
        return None
    value = statements[-1].value
    return value if isinstance(value, ast.Call) else None


def _definition(called: Any) -> tuple[ast.FunctionDef, str] | None:
    if not isinstance(called, FunctionType) or inspect.isgeneratorfunction(called):
        return None
    called = inspect.unwrap(called)
    try:
        lines, first = inspect.getsourcelines(called)
        file = inspect.getsourcefile(called)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if file is None or not isinstance(definition, ast.FunctionDef):
        return None
    changes_outside = (ast.Global, ast.Nonlocal)
    if any(isinstance(node, changes_outside) for node in ast.walk(definition)):
        return None
    ast.increment_lineno(tree, first - 1)
    return definition, file


def _bound(
    called: Callable[..., Any], call: ast.Call
) -> tuple[dict[str, ast.expr], dict[str, Any]] | None:
    """Parameter -> argument expression (those that differ), and the values of defaults."""
    signature = inspect.signature(called)
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    variadic = any(
        p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()
    )
    if starred or variadic or any(k.arg is None for k in call.keywords):
        return None
    try:
        bound = signature.bind(*call.args, **{str(k.arg): k.value for k in call.keywords})
    except TypeError:
        return None
    arguments: dict[str, ast.expr] = {}
    defaults: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name not in bound.arguments:
            hidden = f"__dpest_default_{name}__"
            defaults[hidden] = parameter.default
            arguments[name] = ast.Name(hidden, ast.Load())
            continue
        expression = bound.arguments[name]
        same = isinstance(expression, ast.Name) and expression.id == name
        if not same:
            arguments[name] = expression
    return arguments, defaults
