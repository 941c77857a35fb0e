"""The syntax tree of a function, found by where its code object says that it stands.

`inspect.getsource` follows `__wrapped__`, so that it shows another function than the one that is
called. Here the code object itself is looked for, and the source is compiled again and compared:
a file that has changed since it was loaded is not what runs.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
import operator
import types
from dataclasses import dataclass
from typing import Any

from dpest.reading.code.instructions import Code
from dpest.reading.code.lowering import lower
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.scopes import renamed


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A file with its functions by the line of their definition, and all that it compiles to."""

    name: str
    functions: dict[int, list[tuple[ast.FunctionDef | ast.Lambda, str | None]]]
    compiled: dict[tuple[str, int], list[types.CodeType]]


_FUTURE = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)


@functools.lru_cache(maxsize=256)
def _file(name: str, text: str, flags: int) -> SourceFile:
    """`flags`: the `from __future__ import …` that a text was compiled with, but doesn't say."""
    try:
        tree = ast.parse(text)
        module = compile(text, name, "exec", flags=flags, dont_inherit=True)
        # A notebook compiles each statement of a cell by itself, and CPython calls what the same
        # text imports by other instructions.
        alone = [
            compile(ast.Module([statement], []), name, "exec", flags=flags, dont_inherit=True)
            for statement in tree.body
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef))
        ]
    except (SyntaxError, ValueError):
        raise NotLowered("its source can't be parsed", None, name) from None
    functions: dict[int, list[tuple[ast.FunctionDef | ast.Lambda, str | None]]] = {}
    pending: list[tuple[ast.AST, str | None]] = [(renamed(tree), None)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions.setdefault(line, []).append((node, inside))
        elif isinstance(node, ast.Lambda):
            functions.setdefault(node.lineno, []).append((node, inside))
        elif isinstance(node, ast.ClassDef):
            inside = node.name
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
    compiled: dict[tuple[str, int], list[types.CodeType]] = {}
    codes = [module, *alone]
    while codes:
        code = codes.pop()
        compiled.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return SourceFile(name, functions, compiled)


def _source_file(code: types.CodeType) -> SourceFile:
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise NotLowered("it has no source", None, code.co_filename)
    return _file(code.co_filename, "".join(lines), code.co_flags & _FUTURE)


_MADE: dict[types.CodeType, ast.FunctionDef] = {}


def remember(code: types.CodeType, outer: ast.Module) -> None:
    """What a function was compiled from that was made at run time, inside of another one.

    `outer` must be the very tree that was compiled: nothing else says what the code is.
    """
    shell = renamed(copy.deepcopy(outer)).body[0]
    assert isinstance(shell, ast.FunctionDef)
    (definition,) = shell.body
    assert isinstance(definition, ast.FunctionDef)
    _MADE[code] = definition


@functools.lru_cache(maxsize=4096)
def lowered(code: types.CodeType) -> Code:
    """The code of a function that has a source; NotLowered where there is none.

    Decorators that replace the function are read where they are called: this is the code of the
    function object at hand, whatever it says about itself.
    """
    made = _MADE.get(code)
    if made is not None:
        free = frozenset(code.co_freevars)
        return lower(made, code.co_name, code.co_filename, free, None, code.co_qualname)
    source = _source_file(code)
    same = source.compiled.get((code.co_name, code.co_firstlineno), [])
    if not any(_same_code(code, other) for other in same):
        raise NotLowered(
            f"the source of `{code.co_name}` is not what was loaded (its file has changed, or the "
            "function was made at run time)",
            code.co_firstlineno,
            code.co_filename,
        )
    node, class_name = _definition(source, code)
    return lower(
        node,
        code.co_name,
        code.co_filename,
        frozenset(code.co_freevars),
        class_name,
        code.co_qualname,
    )


def lambda_text(function: Any) -> str | None:
    """The text of a lambda, or None: no source, or two that can't be told apart."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    try:
        node, _ = _definition(_source_file(code), code)
    except NotLowered:
        return None
    return ast.unparse(node)


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Equal but for the name of the file."""
    return a.replace(co_filename="", co_consts=()) == b.replace(
        co_filename="", co_consts=()
    ) and _same_constants(a.co_consts, b.co_consts)


def _same_constants(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same_code(x, y):
                return False
        elif type(x) is not type(y) or repr(x) != repr(y):
            return False
    return True


def _definition(
    source: SourceFile, code: types.CodeType
) -> tuple[ast.FunctionDef | ast.Lambda, str | None]:
    found: list[tuple[ast.FunctionDef | ast.Lambda, str | None]] = []
    for node, inside in source.functions.get(code.co_firstlineno, ()):
        if isinstance(node, ast.FunctionDef):
            if node.name == code.co_name and _parameter_count(node) == _arguments(code):
                found.append((node, inside))
        elif code.co_name == "<lambda>" and _stands_in(code, node.body):
            found.append((node, inside))
    # Of lambdas inside of each other, all of the code lies in the body of the innermost alone.
    bodies = [node.body for node, _ in found if isinstance(node, ast.Lambda)]
    found = [
        (node, inside)
        for node, inside in found
        if not isinstance(node, ast.Lambda)
        or not any(body is not node.body and _covers(node.body, body) for body in bodies)
    ]
    if len(found) != 1:
        raise NotLowered(
            f"`{code.co_name}` can't be told from others on its line",
            code.co_firstlineno,
            code.co_filename,
        )
    return found[0]


def _parameter_count(node: ast.FunctionDef) -> int:
    return len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])


def _arguments(code: types.CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _covers(outer: ast.expr, inner: ast.expr) -> bool:
    (begin, end), (first, last) = _span(outer), _span(inner)
    return begin <= first and last <= end


def _stands_in(code: types.CodeType, body: ast.expr) -> bool:
    """Whether all of the code comes from this expression."""
    begin, end = _span(body)
    spans = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and end_column and column is not None
    ]
    return bool(spans) and all(begin <= a and b <= end for a, b in spans)
