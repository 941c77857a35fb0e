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
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.reading import guard
from dpest.reading.calls import caller
from dpest.reading.tracing import elements
from dpest.reading.tracing.sources import body_of, definition_of, names_read, rebuilt, target_of
from dpest.running.places import undeclared
from dpest.running.watchdog import Deadline, TimeUp, watched

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
    function = undeclared(mechanism.function)
    if guard.refused(mechanism, form=guard.form_of(inputs[0]), symbols=("data", "noise")):
        return [mechanism]
    functions = _split(function) or elements.for_each(function, inputs)
    if len(functions) < 2:
        return [mechanism]
    found = [replace(mechanism, function=function) for function in functions]
    return found if all(agree(mechanism, found, x) for x in inputs) else [mechanism]


def _split(function: Any) -> list[types.FunctionType]:
    """One function for each independent element of what is returned; [] if there is no split."""
    definition = definition_of(function)
    if definition is None:
        return []
    body = body_of(definition)
    if not body or not isinstance(body[-1], ast.Return):
        return []
    returned = body[-1].value
    if not isinstance(returned, (ast.Tuple, ast.List)) or not 2 <= len(returned.elts) <= 16:
        return []
    statements = body[:-1]
    if any(target_of(s) is None for s in statements):
        return []
    slices = [_needed(element, statements) for element in returned.elts]
    drawing = [i for i, s in enumerate(statements) if "rng" in names_read(s)]
    owners = [[k for k, own in enumerate(slices) if i in own] for i in drawing]
    if any(len(own) != 1 for own in owners):
        return []  # noise that two elements share, or that nobody sees
    order = [own[0] for own in owners]
    direct = [k for k, element in enumerate(returned.elts) if "rng" in names_read(element)]
    if order != sorted(order) or (order and direct and max(order) > min(direct)):
        return []  # the draws of the elements take turns
    if len({*order, *direct}) != len(returned.elts):
        return []
    if _shares_state(function, statements, slices, returned.elts):
        return []
    return [
        rebuilt(function, definition, [*(statements[i] for i in own), _alone(element)])
        for own, element in zip(slices, returned.elts, strict=True)
    ]


def _alone(element: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Return(ast.Tuple([element], ast.Load())), element)


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
        set().union(names_read(element), *(names_read(statements[i]) for i in own))
        for own, element in zip(slices, elements, strict=True)
    ]
    shared = {name for a, b in itertools.combinations(read, 2) for name in a & b}
    local = {target_of(s) for s in statements}
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


def _needed(element: ast.expr, statements: Sequence[ast.stmt]) -> list[int]:
    """The statements that an element depends on, in order."""
    wanted, found = names_read(element), []
    for i in reversed(range(len(statements))):
        target = target_of(statements[i])
        if target in wanted:
            wanted = (wanted - {target}) | names_read(statements[i])
            found.append(i)
    return found[::-1]


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
                if _shown(found) != _shown(expected) or repr(data) != repr(x):
                    return False
    except (Exception, TimeUp):  # the user's code: whatever it does, the whole function is traced
        return False
    return True


def _shown(values: Any) -> str:
    """Elements as text; NumPy's numbers as Python's."""
    return repr([v.item() if isinstance(v, (np.generic, np.ndarray)) else v for v in values])
