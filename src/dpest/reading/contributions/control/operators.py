"""Operators of the user's own classes: `a + b` is `a.__add__(b)`, `a += b` is `a.__iadd__(b)`."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.objects import looked_up
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.values import ProgramObject

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip


def of_objects(m: ContributionMachine, op: str, a: Any, b: Any, in_place: bool = False) -> Any:
    """a op b, where one of them is an object of the program."""
    name = _NAMES[op]
    if isinstance(a, ProgramObject):
        for method in (f"__i{name}__", f"__{name}__") if in_place else (f"__{name}__",):
            if (found := _method(a, method)) is not None:
                return _settled(m.call(found, [a, b], {}), op)
    plain = isinstance(a, SymbolicForm) or is_number(a)
    if isinstance(b, ProgramObject) and plain and (found := _method(b, f"__r{name}__")) is not None:
        return _settled(m.call(found, [b, a], {}), op)
    raise Unread(f"`{op}` of an object that does not say what it is")


def _method(owner: ProgramObject, name: str) -> Any:
    found = looked_up(owner.kind.__mro__, name)
    return found if isinstance(found, types.FunctionType) else None


def _settled(value: Any, op: str) -> Any:
    if value is NotImplemented:
        raise Unread(f"`{op}` of an object that leaves it to the other one")
    return value


__all__ = ["of_objects"]
