"""`while` loops that count, as the `for` loops that they are.

`j = 0; while j < n: ...; j += 1` is `for j in range(n): ...`, where the body neither changes j or n
nor continues early, and j is not read afterwards. `while True: i = order[j]; ...; j += 1` is that
loop over the length of `order`, and then the IndexError; where the body has no `break`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence


def with_counted_loops(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, with each top-level `while` that counts from 0 as a `for` over a range."""
    found: list[ast.stmt] = []
    for place, statement in enumerate(statements):
        loop = endless = None
        if isinstance(statement, ast.While) and not statement.orelse:
            before, after = statements[:place], statements[place + 1 :]
            loop = _counted(statement, before, after)
            endless = _indexed(statement) if loop is None else None
            if endless is not None:
                loop = _counted(endless, before, after)
        found.append(statement if loop is None else loop)
        if loop is not None and endless is not None:
            found.append(_out_of_range(statement))
    return found


def _indexed(loop: ast.While) -> ast.While | None:
    """`while True: i = order[j]; …; j += 1` with the test that its first statement makes."""
    first = loop.body[0]
    value = first.value if isinstance(first, ast.Assign) else None
    if not (
        isinstance(loop.test, ast.Constant)
        and loop.test.value in (True, 1)
        and isinstance(value, ast.Subscript)
        and isinstance(value.value, ast.Name)
        and isinstance(value.slice, ast.Name)
        and not _leaves(loop.body, ast.Break)
    ):
        return None
    length = ast.Call(ast.Name("len", ast.Load()), [value.value], [])
    test = ast.Compare(ast.Name(value.slice.id, ast.Load()), [ast.Lt()], [length])
    made = ast.While(test, loop.body, [])
    for node in (made, test, test.left, length, length.func):
        ast.copy_location(node, loop)
    return made


def _out_of_range(loop: ast.stmt) -> ast.stmt:
    name = ast.Name("IndexError", ast.Load())
    text = ast.Constant("list index out of range")
    call = ast.Call(name, [text], [])
    made = ast.Raise(call, None)
    for node in (made, call, name, text):
        ast.copy_location(node, loop)
    return made


def _counted(
    loop: ast.While, before: Sequence[ast.stmt], after: Sequence[ast.stmt]
) -> ast.For | None:
    test = loop.test
    if not (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Lt)
        and isinstance(test.comparators[0], (ast.Name, ast.Call))
        and loop.body
        and _is_step(loop.body[-1], test.left.id)
    ):
        return None
    name, body = test.left.id, loop.body[:-1]
    bound = test.comparators[0]
    changed = set(_stored(body))
    reads = {n.id for n in ast.walk(bound) if isinstance(n, ast.Name)}
    if name in changed or name in reads or reads & changed or not body:
        return None
    if isinstance(bound, ast.Call) and not _is_length(bound):
        return None
    if _leaves(body, ast.Continue) or any(name in set(_names(s)) for s in after):
        return None
    if not _starts_at_zero(before, name):
        return None
    iterable = ast.Call(ast.Name("range", ast.Load()), [bound], [])
    made = ast.For(ast.Name(name, ast.Store()), iterable, body, [], None)
    for node in (made, made.target, iterable, iterable.func):
        ast.copy_location(node, loop)
    return made


def _is_step(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.AugAssign):
        target, value = statement.target, statement.value
        plus = isinstance(statement.op, ast.Add)
        return plus and _is_name(target, name) and _is_constant(value, 1)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value = statement.value
        return (
            _is_name(statement.targets[0], name)
            and isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Add)
            and _is_name(value.left, name)
            and _is_constant(value.right, 1)
        )
    return False


def _is_length(call: ast.Call) -> bool:
    """`len(x)`: the same on every turn, if x is."""
    return _is_name(call.func, "len") and len(call.args) == 1 and isinstance(call.args[0], ast.Name)


def _starts_at_zero(before: Sequence[ast.stmt], name: str) -> bool:
    """Whether the last statement that has to do with the counter sets it to 0."""
    for statement in reversed(before):
        if name not in set(_names(statement)):
            continue
        return (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and _is_name(statement.targets[0], name)
            and _is_constant(statement.value, 0)
        )
    return False


def _leaves(nodes: Iterable[ast.AST], kind: type[ast.stmt]) -> bool:
    """Whether a `continue` or a `break` of this loop is among them."""
    for node in nodes:
        if isinstance(node, kind):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        loop = isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        if _leaves(node.orelse if loop else ast.iter_child_nodes(node), kind):  # type: ignore[attr-defined]
            return True
    return False


def _names(node: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _stored(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that are set, or whose object may be changed."""
    for node in (n for statement in body for n in ast.walk(statement)):
        changes = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        if isinstance(node, ast.Name) and changes:
            yield node.id
        inner = node.func if isinstance(node, ast.Call) else node if changes else None
        if isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.value, ast.Name):
            yield inner.value.id  # order.pop(), order[0] = 1


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_constant(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value
