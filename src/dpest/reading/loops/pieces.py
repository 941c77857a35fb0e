"""A function cut at its top-level loops, so that its states can be compared between the pieces.

The pieces are the user's own statements, compiled with the line numbers of their file and run by
CPython. `return`, `break` and `continue` that leave a piece become exceptions; a `yield` hands its
value to the piece's list of what was given out. Between two pieces only variables that are still
needed are kept (liveness), so that states that differ in forgotten values are equal.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Literal

from dpest.errors import UntraceableError
from dpest.reading.loops.counted_loops import with_counted_loops
from dpest.reading.tracing.math_for_units import with_units
from dpest.running.places import code_of, is_user_file, undeclared

ITEM = "__dpest_item__"
GIVEN = "__dpest_given__"
BOUND, BIND = "__dpest_bound__", "__dpest_bind__"
_RETURN, _BREAK, _CONTINUE = "__dpest_return__", "__dpest_break__", "__dpest_continue__"


class PieceReturn(BaseException):
    """The piece executed `return value`. Not an Exception: a user's `except` must not catch it."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class PieceBreak(BaseException):
    """The body of a loop executed `break`."""


class PieceContinue(BaseException):
    """The body of a loop executed `continue`."""


CONTROL: dict[str, Any] = {
    _RETURN: PieceReturn,
    _BREAK: PieceBreak,
    _CONTINUE: PieceContinue,
}


@dataclass(frozen=True)
class Piece:
    """Some statements, or the body of a loop.

    `iterable` is the code of what a `for` loop runs over (None for `while`, whose test is the
    first statement of its body). `before` are the variables needed before the piece (for a loop:
    at its head too), `after` those needed after it.
    """

    kind: Literal["block", "loop", "enter"]
    code: CodeType
    iterable: CodeType | None
    before: frozenset[str]
    after: frozenset[str]
    line: int
    names: Mapping[str, Any]
    """The globals of its function, with what that closes over."""
    rng: str
    """What its function calls the generator."""


@dataclass(frozen=True)
class FunctionCut:
    """A function in pieces.

    Where it ends in `return other(...)`, the pieces of the other function follow, after a piece
    of kind "enter" that leaves the other one's arguments as the only variables.
    """

    name: str
    file: str
    pieces: tuple[Piece, ...]
    is_generator: bool


def cut(
    function: Callable[..., Any],
    rng: str = "rng",
    change: ast.NodeTransformer | None = None,
    lists_as_loops: bool = True,
) -> FunctionCut:
    """Cut a function at its top-level loops; raises UntraceableError where that can't be done.

    `change` may rewrite each statement first. `lists_as_loops`: whether a statement that makes a
    list by a comprehension is cut like the loop that fills it.
    """
    return _cut(function, rng, (), change, lists_as_loops)


def _cut(
    function: Callable[..., Any],
    rng: str,
    inside: tuple[Any, ...],
    change: ast.NodeTransformer | None,
    lists_as_loops: bool,
) -> FunctionCut:
    function = undeclared(function)
    definition, file = _definition(function)
    statements = _expand(definition.body) if lists_as_loops else definition.body
    if change is not None:
        statements = [change.visit(s) for s in with_counted_loops(statements)]
    closure = inspect.getclosurevars(function)
    names = {**function.__globals__, **closure.nonlocals}
    rest: tuple[Piece, ...] = ()
    entered = _tail_call(statements, names, rng, (*inside, function))
    if entered is not None:
        other, its_rng, call = entered
        rest = _cut(other, its_rng, (*inside, function), change, lists_as_loops).pieces
        statements = [*statements[:-1]]
        enter = _Segment("enter", [_bound(call)], None, call.lineno, file)
        segments = [*_segments(statements, file), enter]
    else:
        segments = _segments(statements, file)
    needed = rest[0].before if rest else frozenset()
    pieces = tuple(_with_liveness(segments, names, rng, needed))
    generator = inspect.isgeneratorfunction(function)
    return FunctionCut(definition.name, file, (*pieces, *rest), generator)


def _definition(function: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    try:
        lines, first = inspect.getsourcelines(code_of(function) or function)
        file = inspect.getsourcefile(code_of(function) or function) or "<unknown>"
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError) as error:
        raise UntraceableError(
            f"the source of {getattr(function, '__name__', function)!r} can't be read ({error})",
            "Define the mechanism with `def` in a file.",
        ) from None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise UntraceableError(
            "only plain functions can be cut into pieces",
            "Define the mechanism with `def`.",
            f"{file}:{first}",
        )
    ast.increment_lineno(tree, first - 1)
    for node in ast.walk(definition):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            raise UntraceableError(
                f"`{ast.unparse(node)}`: a mechanism that changes outside variables",
                "Keep the state of a run in local variables.",
                f"{file}:{node.lineno}",
            )
    return definition, file


def _tail_call(
    statements: list[ast.stmt], names: Mapping[str, Any], rng: str, inside: tuple[Any, ...]
) -> tuple[Any, str, ast.Call] | None:
    """The function that a last `return other(...)` hands over to, and what it calls rng."""
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Call):
        return None
    call = last.value
    if not isinstance(call.func, ast.Name) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    other = names.get(call.func.id)
    if (
        not isinstance(other, FunctionType)
        or other in inside
        or hasattr(other, "__wrapped__")
        or inspect.isgeneratorfunction(other)
        or not is_user_file(other.__code__.co_filename)
        or any(k.arg is None for k in call.keywords)
    ):
        return None
    parameters = list(inspect.signature(other).parameters.values())
    its_rng = ""
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Name) and argument.id == rng and position < len(parameters):
            its_rng = parameters[position].name
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Name) and keyword.value.id == rng:
            its_rng = keyword.arg or ""
    try:
        _definition(other)
    except UntraceableError:
        return None
    return other, its_rng, call


def _bound(call: ast.Call) -> ast.stmt:
    """`__dpest_bound__ = __dpest_bind__(other, …)`: the other function's variables, as a dict."""
    bind = ast.Call(_load(BIND), [call.func, *call.args], call.keywords)
    statement = ast.Assign([ast.Name(BOUND, ast.Store())], bind)
    for node in (bind, statement):
        ast.copy_location(node, call)
    return ast.fix_missing_locations(statement)


def _bind(function: Callable[..., Any], *args: Any, **options: Any) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **options)
    bound.apply_defaults()
    return dict(bound.arguments)


def scope(
    piece: Piece, variables: Mapping[str, Any], replacements: Mapping[str, Any]
) -> dict[str, Any]:
    """The names that a piece runs with: globals, then replacements of builtins, then variables."""
    inner = {**vars(builtins), **replacements}
    # `math` would turn the unit of a proof into a float.
    names = {k: with_units(v) for k, v in piece.names.items()}
    return {**names, "__builtins__": inner, **CONTROL, BIND: _bind, **variables}


def _expand(statements: list[ast.stmt]) -> list[ast.stmt]:
    """`a = [f(q) for q in x]` and `return [f(q) for q in x]` as loops, so that they are cut too."""
    result: list[ast.stmt] = []
    for number, statement in enumerate(statements):
        value = getattr(statement, "value", None)
        simple = (
            isinstance(statement, (ast.Assign, ast.Return))
            and isinstance(value, ast.ListComp)
            and len(value.generators) == 1
            and not value.generators[0].is_async
        )
        if not simple:
            result.append(statement)
            continue
        assert isinstance(value, ast.ListComp)
        clause = value.generators[0]
        name = f"__dpest_list_{number}__"
        append: ast.stmt = ast.Expr(
            ast.Call(ast.Attribute(_load(name), "append", ast.Load()), [value.elt], [])
        )
        for test in reversed(clause.ifs):
            append = ast.If(test, [append], [])
        loop = ast.For(clause.target, clause.iter, [append], [], None)
        start = ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load()))
        statement.value = _load(name)  # type: ignore[attr-defined]
        for new in (start, loop):
            ast.copy_location(new, value)
            for node in ast.walk(new):
                if not hasattr(node, "lineno"):
                    ast.copy_location(node, value)
        result += [start, loop, statement]
    return result


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


@dataclass
class _Segment:
    kind: Literal["block", "loop", "enter"]
    body: list[ast.stmt]
    iterable: ast.expr | None
    line: int
    file: str


def _segments(statements: list[ast.stmt], file: str) -> list[_Segment]:
    segments: list[_Segment] = []
    block: list[ast.stmt] = []

    def close() -> None:
        nonlocal block
        if block:
            segments.append(_Segment("block", block, None, block[0].lineno, file))
            block = []

    for statement in statements:
        if isinstance(statement, ast.For) and not statement.orelse:
            close()
            take = ast.copy_location(ast.Assign([statement.target], _load(ITEM)), statement)
            body = [_Leaving(True).visit(s) for s in [take, *statement.body]]
            segments.append(_Segment("loop", body, statement.iter, statement.lineno, file))
        elif isinstance(statement, ast.While) and not statement.orelse:
            close()
            leave: ast.stmt = ast.If(ast.UnaryOp(ast.Not(), statement.test), [ast.Break()], [])
            ast.copy_location(leave, statement)
            body = [_Leaving(True).visit(s) for s in [leave, *statement.body]]
            segments.append(_Segment("loop", body, None, statement.lineno, file))
        else:
            block.append(_Leaving(False).visit(statement))
    close()
    return segments


class _Leaving(ast.NodeTransformer):
    """Statements that leave a piece, as exceptions; yields, as entries of a list."""

    def __init__(self, inside_loop: bool) -> None:
        self.inside_loop = inside_loop
        self.depth = 0

    def _leave(self, node: ast.stmt, name: str, *values: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Raise(ast.Call(_load(name), list(values), []), None), node)

    def _keep(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _keep

    def _loop(self, node: Any) -> Any:
        self.depth += 1
        node = self.generic_visit(node)
        self.depth -= 1
        return node

    visit_For = visit_While = _loop

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        node = self.generic_visit(node)  # type: ignore[assignment]
        return self._leave(node, _RETURN, *([node.value] if node.value else []))

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return self._leave(node, _BREAK) if self.inside_loop and self.depth == 0 else node

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return self._leave(node, _CONTINUE) if self.inside_loop and self.depth == 0 else node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        value = node.value or ast.Constant(None)
        call = ast.Call(ast.Attribute(_load(GIVEN), "append", ast.Load()), [value], [])
        return ast.copy_location(call, node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        call = ast.Call(ast.Attribute(_load(GIVEN), "extend", ast.Load()), [node.value], [])
        return ast.copy_location(call, node)


def _with_liveness(
    segments: list[_Segment], names: Mapping[str, Any], rng: str, entered: frozenset[str]
) -> list[Piece]:
    pieces: list[Piece] = []
    needed: set[str] = set()
    for segment in reversed(segments):
        after = entered if segment.kind == "enter" else frozenset(needed)
        if segment.kind != "loop":
            needed = live(segment.body, needed, needed)
        else:
            head = set(needed)
            while True:
                wider = head | (live(segment.body, head, head) - {ITEM})
                if wider == head:
                    break
                head = wider
            needed = head | (_read(segment.iterable) if segment.iterable is not None else set())
        code = _compiled(ast.Module(body=segment.body, type_ignores=[]), segment.file, "exec")
        iterable = None
        if segment.iterable is not None:
            iterable = _compiled(ast.Expression(segment.iterable), segment.file, "eval")
        before = frozenset(needed)
        pieces.append(Piece(segment.kind, code, iterable, before, after, segment.line, names, rng))
    return pieces[::-1]


def _compiled(tree: ast.Module | ast.Expression, file: str, mode: str) -> CodeType:
    return compile(ast.fix_missing_locations(tree), file, mode)


def live(statements: Iterable[ast.stmt], after: set[str], leaving: set[str]) -> set[str]:
    """The variables that may be read before they are set again.

    `leaving` are those needed where a `break`, `continue` or `return` leads to. Only plain
    assignments end the life of a variable; anything unusual just keeps more alive.
    """
    for statement in reversed(list(statements)):
        if isinstance(statement, ast.Assign):
            written = {name for t in statement.targets for name in _written(t)}
            read = _read(statement.value)
            for target in statement.targets:
                if not isinstance(target, ast.Name):
                    read |= _read(target)
            after = (after - written) | read
        elif isinstance(statement, ast.If):
            after = (
                _read(statement.test)
                | live(statement.body, after, leaving)
                | live(statement.orelse, after, leaving)
            )
        elif isinstance(statement, ast.Raise):
            after = _read(statement) | leaving
        elif isinstance(statement, ast.AugAssign):
            after = after | _read(statement.value) | _read(statement.target)
            after |= _written(statement.target)
        else:
            after = after | _read(statement)
    return set(after)


def _read(node: ast.AST) -> set[str]:
    return {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Load, ast.Del))
    }


def _written(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for element in target.elts for name in _written(element)}
    return set()
