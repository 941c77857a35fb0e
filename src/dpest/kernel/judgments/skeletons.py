"""What a program returns, apart from the numbers: a container, and the type of each item.

A receiver tells [y] from (y,), None from 0 and 1 from 1.0. A judgment therefore names the skeletons
of both programs. Where there are several, the output `out.skeleton` of either program is the place
of its own in the list, and two outputs are equal only if that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..fields import listed, text
from ..invalid import Invalid, need
from .programs import Assign, If, Program, While, assigned

OUT = "out"
SKELETON = f"{OUT}.skeleton"
SCALAR = "scalar"
CONTAINERS = (SCALAR, "list", "tuple", "array", "range")
NUMBER_TYPES = ("bool", "int", "float", "numpy.bool", "numpy.int64", "numpy.float64")
NO_NUMBER = "None"
_SHOWN = {"list": "[{}]", "tuple": "({})", "array": "array([{}])", "range": "range: {}"}


@dataclass(frozen=True)
class ReturnSkeleton:
    """`container`: list, tuple, array, range, or scalar for one value alone; a type an item."""

    container: str
    types: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that have the values."""
        if self.container == SCALAR:
            return (OUT,)
        return tuple(f"{OUT}.{i}" for i in range(len(self.types)))

    def __str__(self) -> str:
        items = ", ".join(self.types)
        if self.container == SCALAR:
            return items
        return _SHOWN[self.container].format(
            f"{items}," if self.container == "tuple" and len(self.types) == 1 else items
        )


def output_names(skeletons: Iterable[ReturnSkeleton]) -> tuple[str, ...]:
    """The output variables of programs that return these; those that one has not are 0 there."""
    found = list(skeletons)
    names = sorted({name for s in found for name in s.names}, key=lambda name: (len(name), name))
    return (*names, SKELETON) if len(found) > 1 else tuple(names)


def returned(code: Program, skeletons: Sequence[ReturnSkeleton], where: str) -> frozenset[int]:
    """The places of the skeletons that a program may return; it sets the outputs and no others."""
    outputs = {name for name in assigned(code) if name.split(".")[0] == OUT}
    wanted = set(output_names(skeletons))
    need(outputs == wanted, f"{where}: the outputs are not those of what is returned")
    need(wanted <= _always(code), f"{where}: an output that is not set on every way")
    if len(skeletons) == 1:
        return frozenset({0})
    found = frozenset(_stored(code, where))
    need(found <= set(range(len(skeletons))), f"{where}: {SKELETON} is no place in the list")
    return found


def _always(code: Program) -> set[str]:
    """The variables that are set whichever way a program goes, at its end."""
    found: set[str] = set()
    for statement in code:
        if isinstance(statement, If):
            found |= _always(statement.then) & _always(statement.other)
        elif not isinstance(statement, While):
            found.add(statement.name)
    return found


def _stored(code: Program, where: str) -> set[int]:
    found: set[int] = set()
    for statement in code:
        if isinstance(statement, If):
            found |= _stored(statement.then, where) | _stored(statement.other, where)
        elif isinstance(statement, While):
            need(SKELETON not in assigned(statement.body), f"{where}: {SKELETON} in a loop")
        elif isinstance(statement, Assign) and statement.name == SKELETON:
            value = statement.value
            known = not value.terms and value.constant.denominator == 1
            need(known, f"{where}: {SKELETON} is no place in the list")
            found.add(int(value.constant))
        else:
            need(statement.name != SKELETON, f"{where}: {SKELETON} is drawn")
    return found


def read_skeletons(value: object, where: str) -> tuple[ReturnSkeleton, ...]:
    """[[container, [type, …]], …], none twice."""
    found = tuple(_read(part, where) for part in listed(value, where))
    need(bool(found), f"{where}: none")
    need(len(set(found)) == len(found), f"{where}: one twice")
    return found


def _read(value: object, where: str) -> ReturnSkeleton:
    container, items = listed(value, where, 2)
    types = tuple(text(item, where) for item in listed(items, where))
    found = ReturnSkeleton(text(container, where), types)
    if found.container not in CONTAINERS:
        raise Invalid(f"{where}: unknown container {found.container[:40]!r}")
    need(set(types) <= {*NUMBER_TYPES, NO_NUMBER}, f"{where}: an unknown type")
    need(found.container != SCALAR or len(types) == 1, f"{where}: not one value")
    return found
