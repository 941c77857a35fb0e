"""What a run computes: numbers in registers, and values that are one of several."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from dpest.running.native.ir import Operand
from dpest.running.native.signals import NotCompiled

_LEAF_KINDS = {"f": "float", "i": "int", "b": "bool"}
SCALARS = (bool, int, float, str, bytes, type(None), np.generic)


class RunValue:
    """Known only when the run is made. Python must not look at it by accident."""

    __slots__ = ("numpy",)
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    numpy: bool

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotCompiled("a number of the run where a plain one is needed")

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __index__ = __int__ = __float__ = __len__ = __iter__ = _refuse
    __str__ = __format__ = _refuse


class RunNumber(RunValue):
    """A real ("f"), an integer ("i") or a truth ("b"); `numpy` where it is a scalar of NumPy.

    An integer lies between `low` and `high`, where those are known.
    """

    __slots__ = ("high", "kind", "low", "register")

    def __init__(
        self,
        kind: str,
        register: Operand,
        low: int | None = None,
        high: int | None = None,
        numpy: bool = False,
    ) -> None:
        self.kind, self.register, self.numpy = kind, register, numpy
        self.low, self.high = low, high

    def __repr__(self) -> str:
        return f"<{self.kind} {self.register}>"

    @property
    def leaf_kind(self) -> str:
        return _LEAF_KINDS[self.kind]

    def as_numpy(self, numpy: bool = True) -> RunNumber:
        return RunNumber(self.kind, self.register, self.low, self.high, numpy)


class RunChoice(RunValue):
    """One of `options`, by the number in `tag`: a kind of number, whose bits are in `payload`, or
    a constant, as a tuple of one.
    """

    __slots__ = ("options", "payload", "tag")

    def __init__(
        self, tag: Operand, payload: Operand, options: tuple[Any, ...], numpy: bool = False
    ) -> None:
        self.tag, self.payload, self.options, self.numpy = tag, payload, options, numpy

    def __repr__(self) -> str:
        return f"<one of {self.options}>"

    leaf_kind = "object"


def kind_of(value: Any) -> str:
    """ "f", "i", "b"; "u" for a choice; "c" for what is no number."""
    if isinstance(value, RunNumber):
        return value.kind
    if isinstance(value, RunChoice):
        return "u"
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, np.integer)):
        return "i"
    if isinstance(value, (float, np.floating)):
        return "f"
    return "c"


def is_numpy(*values: Any) -> bool:
    return any(v.numpy if isinstance(v, RunValue) else isinstance(v, np.generic) for v in values)


def same(a: Any, b: Any) -> bool:
    """Equal, and of one type; 0.0 and -0.0 are two, and NaN is one."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return bool(a == b)
