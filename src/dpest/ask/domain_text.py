"""A domain as a person types it."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from typing import Any

from dpest.ask.domains import ANY, Domain, finite, integer, integers, real, reals
from dpest.ask.people import table
from dpest.ask.tables import records
from dpest.errors import InputError

_MAKERS: dict[str, Callable[..., Domain]] = {
    "table": table,
    "reals": reals,
    "integers": integers,
    "real": real,
    "integer": integer,
    "finite": finite,
    "records": records,
}


def parse_domain(text: str | Domain) -> Domain:
    """A domain from text, as Python writes it or with a colon.

    As Python: "reals(10)", "integers(5, 0, 10)", "reals(low=0, high=1)", "finite([1, 2])",
    "real(0, 1)" (one number). With a colon: "reals:10" is a length, "reals:0,1" are bounds,
    "reals:10,0,1" is both. `inf` and `any` may stand for numbers.

    >>> parse_domain("integers(5, 0, 10)") == parse_domain("integers:5,0,10")
    True
    """
    if isinstance(text, Domain):
        return text
    form = str(text).strip()
    colon = ":" in form.split("(")[0]
    name, _, inside = form.partition(":" if colon else "(")
    maker = _MAKERS.get(name.strip().lower())
    if not colon and "(" in form and not form.endswith(")"):
        raise InputError(f"can't read the domain {text!r}: a bracket is not closed")
    if maker is None:
        raise InputError(f"unknown domain {text!r}; write reals(…), integers(…), finite([…]), …")
    try:
        numbers, named = _arguments(inside if colon else inside.strip().removesuffix(")"))
        if colon and len(numbers) == 2 and "length" in inspect.signature(maker).parameters:
            numbers = [ANY, *numbers]
        return maker(*numbers, **named)
    except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"can't read the domain {text!r}: {error}") from None


def _arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, as Python writes them: values and `inf` and `any`, no more."""
    call = ast.parse(f"domain({text})", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise SyntaxError("unbalanced brackets")
    named = {str(k.arg): _argument(k.value) for k in call.keywords}
    return [_argument(node) for node in call.args], named


def _argument(node: ast.expr) -> Any:
    words: dict[str, Any] = {"inf": math.inf, "any": ANY, "ANY": ANY}
    sign, inner = 1, node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, inner = -1, node.operand
    if isinstance(inner, ast.Name) and inner.id in words:
        return words[inner.id] if sign == 1 else -words[inner.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FIELDS:
        numbers = [_argument(n) for n in node.args]
        return _FIELDS[node.func.id](
            *numbers, **{str(k.arg): _argument(k.value) for k in node.keywords}
        )
    return ast.literal_eval(node)


def _field(maker: Callable[..., Domain]) -> Callable[..., Domain]:
    """A field of a table: reals(0, 100, nan=True) has bounds, and no length."""

    def made(low: float = -math.inf, high: float = math.inf, **named: Any) -> Domain:
        return maker(low=low, high=high, **named)

    return made


_FIELDS = {"reals": _field(reals), "integers": _field(integers)}
