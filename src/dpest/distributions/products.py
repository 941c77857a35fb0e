"""A function that returns several independent results, one function for each.

Two sparse vectors side by side have 56·56 paths together and 56 + 56 apart. The split is read off
the source: plain assignments and a `return` of a tuple or list, where each statement that sees
`rng` serves one element alone. What is found is held against runs of the whole function, bit by
bit, before anybody believes it.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import textwrap
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.declaration import Mechanism
from dpest.program.calls import caller
from dpest.program.watchdog import Deadline, TimeUp, watched

_CHECKS = 12
_SECONDS = 5.0
_PLAIN = ("len", "sum", "min", "max", "abs", "float", "int", "round", "sorted", "list", "tuple")
_UNCHANGING = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    tuple,
    frozenset,
    types.ModuleType,
    type(None),
)


def independent_results(mechanism: Mechanism, *inputs: Any) -> list[Mechanism]:
    """Mechanisms for the elements of the output, each a tuple of one; or the mechanism itself.

    Their noises are independent, and together they release what the mechanism does: seen on runs
    with each of the inputs.
    """
    if mechanism.black_box:
        return [mechanism]
    functions = _split(inspect.unwrap(mechanism.function))
    if len(functions) < 2:
        return [mechanism]
    found = [replace(mechanism, function=function) for function in functions]
    return found if all(agree(mechanism, found, x) for x in inputs) else [mechanism]


def _split(function: Any) -> list[types.FunctionType]:
    """One function for each independent element of what is returned; [] if there is no split."""
    definition = _definition(function)
    if definition is None:
        return []
    body = list(definition.body)
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    if not body or not isinstance(body[-1], ast.Return):
        return []
    returned = body[-1].value
    if not isinstance(returned, (ast.Tuple, ast.List)) or not 2 <= len(returned.elts) <= 16:
        return []
    statements = body[:-1]
    if any(_target(s) is None for s in statements):
        return []
    slices = [_needed(element, statements) for element in returned.elts]
    drawing = [i for i, s in enumerate(statements) if "rng" in _read(s)]
    owners = [[k for k, own in enumerate(slices) if i in own] for i in drawing]
    if any(len(own) != 1 for own in owners):
        return []  # noise that two elements share, or that nobody sees
    order = [own[0] for own in owners]
    direct = [k for k, element in enumerate(returned.elts) if "rng" in _read(element)]
    if order != sorted(order) or (order and direct and max(order) > min(direct)):
        return []  # the draws of the elements take turns
    if len({*order, *direct}) != len(returned.elts):
        return []
    if _shares_state(function, statements, slices, returned.elts):
        return []
    return [
        _built(function, definition, [statements[i] for i in own], element)
        for own, element in zip(slices, returned.elts, strict=True)
    ]


def _shares_state(
    function: types.FunctionType,
    statements: Sequence[ast.stmt],
    slices: Sequence[Sequence[int]],
    elements: Sequence[ast.expr],
) -> bool:
    """Whether two elements see an object that one might change for the other.

    Runs would show that only if they happen to take the way that changes it.
    """
    read = [
        set().union(_read(element), *(_read(statements[i]) for i in own))
        for own, element in zip(slices, elements, strict=True)
    ]
    shared = {name for a, b in itertools.combinations(read, 2) for name in a & b}
    local = {_target(s) for s in statements}
    for i, statement in enumerate(statements):
        if sum(i in own for own in slices) > 1 and any(map(_makes_state, ast.walk(statement))):
            return True
    outside = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    return any(
        not isinstance(outside[name], _UNCHANGING)
        for name in shared - local
        if name in outside and not callable(outside[name])
    )


def _makes_state(node: ast.AST) -> bool:
    """A call that may return an object with a life of its own; arithmetic on data doesn't."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Dict, ast.Set, ast.Lambda))
    if isinstance(node.func, ast.Name):
        return node.func.id not in _PLAIN
    owner = node.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return not (isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "math"))


def _definition(function: Any) -> ast.FunctionDef | None:
    if not isinstance(function, types.FunctionType):
        return None
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    definition = tree.body[0]
    if definition.name != function.__name__ or "rng" not in inspect.signature(function).parameters:
        return None
    forbidden = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.NamedExpr)
    if any(isinstance(node, forbidden) for node in ast.walk(definition)):
        return None
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    return definition


def _target(statement: ast.stmt) -> str | None:
    """The one name that a plain assignment binds."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id if statement.value is not None else None
    return None


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _needed(element: ast.expr, statements: Sequence[ast.stmt]) -> list[int]:
    """The statements that an element depends on, in order."""
    wanted, found = _read(element), []
    for i in reversed(range(len(statements))):
        target = _target(statements[i])
        if target in wanted:
            wanted = (wanted - {target}) | _read(statements[i])
            found.append(i)
    return found[::-1]


def _built(
    function: types.FunctionType,
    definition: ast.FunctionDef,
    statements: list[ast.stmt],
    element: ast.expr,
) -> types.FunctionType:
    """The function with these statements, returning the element in a tuple of one."""
    release = ast.Return(ast.Tuple([element], ast.Load()))
    inner = copy.copy(definition)
    inner.body = [*statements, ast.copy_location(release, element)]
    inner.decorator_list = []
    # Free variables are found as such only inside of a function that binds them.
    outer = ast.parse(f"def outer({', '.join(function.__code__.co_freevars)}): pass")
    shell = outer.body[0]
    assert isinstance(shell, ast.FunctionDef)
    shell.body = [inner]
    code = compile(ast.fix_missing_locations(outer), function.__code__.co_filename, "exec")
    for name in ("outer", definition.name):
        code = next(
            c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name
        )
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    built = types.FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    built.__kwdefaults__ = function.__kwdefaults__
    built.__module__, built.__qualname__ = function.__module__, function.__qualname__
    return built


def agree(whole: Mechanism, parts: Sequence[Mechanism], x: Any, checks: int = _CHECKS) -> bool:
    """Whether the parts, run one after the other on one stream, release what the whole does.

    Also that none of them changes the data, which the next one would see.
    """
    together, apart = caller(whole), [caller(part) for part in parts]
    try:
        with watched(Deadline(_SECONDS)):
            for seed in range(checks):
                stream = np.random.default_rng(seed)
                expected = together(copy.deepcopy(x), np.random.default_rng(seed))
                data = copy.deepcopy(x)
                found: list[Any] = []
                for call in apart:
                    found += call(data, stream)
                if repr(found) != repr(list(expected)) or repr(data) != repr(x):
                    return False
    except (Exception, TimeUp):  # the user's code: whatever it does, the whole function is traced
        return False
    return True
