"""Generators that a file seeds with a number while it is loaded: whoever knows it has the noise."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from dpest.running.places import code_of

_MAKERS = {"default_rng", "RandomState", "Random", "PCG64", "MT19937", "Philox", "SeedSequence"}


def seeded_when_loaded(function: Callable[..., Any]) -> tuple[str, ...]:
    """The statements of the function's file that fix the noise which it uses, as they are written.

    They are found in the file's text, at its top level, under the names that the function and what
    it calls there look up. A seed that is set in another file is not seen.
    """
    code = code_of(function)
    if code is None:
        return ()
    text = "".join(linecache.getlines(code.co_filename))
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return ()
    used = _names(code, getattr(function, "__globals__", {}))
    found = []
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            fixed = statement.value is not None and _is_fixed(statement.value, _MAKERS)
            concerned = any(isinstance(t, ast.Name) and t.id in used for t in targets)
        else:
            fixed = isinstance(statement, ast.Expr) and _is_fixed(statement.value, {"seed"})
            concerned = "random" in used
        if fixed and concerned:
            found.append(ast.unparse(statement))
    return tuple(found)


def _is_fixed(value: ast.expr, makers: set[str]) -> bool:
    """Whether it makes or seeds a generator from a number that is written there."""
    if not isinstance(value, ast.Call):
        return False
    name = getattr(value.func, "attr", None) or getattr(value.func, "id", None)
    given = [*value.args, *(k.value for k in value.keywords)]
    if name == "Generator":
        return any(_is_fixed(one, makers) for one in given)
    literal = [one for one in given if _is_literal(one)]
    return name in makers and bool(literal)


def _is_literal(value: ast.expr) -> bool:
    try:
        return ast.literal_eval(value) is not None
    except (ValueError, TypeError, SyntaxError):
        return False


def _names(code: CodeType, names: dict[str, Any]) -> set[str]:
    """What the code looks up, and the functions of the same file that it calls."""
    found: set[str] = set()
    waiting = [code]
    while waiting:
        for name in _looked_up(waiting.pop()):
            if name in found:
                continue
            found.add(name)
            value = names.get(name)
            if isinstance(value, FunctionType) and value.__globals__ is names:
                waiting.append(value.__code__)
    return found


def _looked_up(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _looked_up(inner)
