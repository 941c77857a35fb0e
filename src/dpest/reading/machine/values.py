"""What the machine computes with.

Plain immutable values of Python stand for themselves: numbers, text, None, types, modules,
functions, ranges; tuples and slices of values, too. Symbolic numbers are `Real` and `Truth`.
Whatever can change lies on the heap (`machine.heap`) and is held by a `Ref`, so that two names of
one list are two equal Refs. An array is an immutable description of places in a buffer on the heap.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpest.reading.code.instructions import Code


class Ref:
    """The address of an object on the heap."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.address == self.address

    def __hash__(self) -> int:
        return hash(("ref", self.address))

    def __repr__(self) -> str:
        return f"#{self.address}"


@dataclass(frozen=True, eq=False)
class Array:
    """An array of NumPy's: which places of a buffer it shows.

    `places` holds positions of the buffer and has the shape, the strides and the order that NumPy's
    own array would have: a view of the array is made by making the same view of `places`.
    """

    buffer: Ref
    places: np.ndarray
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places.shape


@dataclass(frozen=True, eq=False)
class Closure:
    """A function that was made while the machine ran."""

    code: Code
    names: dict[str, Any]  # the globals
    cells: tuple[Ref, ...]
    defaults: tuple[Any, ...]
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class BoundMethod:
    """A function together with its first argument."""

    function: Any
    owner: Any

    def __hash__(self) -> int:
        return hash((id(self.function), id(self.owner)))


@dataclass(frozen=True, eq=False)
class Partial:
    """functools.partial of something."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Super:
    """super(): attributes are looked up behind `after` in the order of the type of `owner`."""

    after: Any
    owner: Any


@dataclass(frozen=True, eq=False)
class RandomSource:
    """A generator of random numbers that nobody has seeded: each draw is new noise.

    `library` tells whose methods it has: "generator" (numpy.random.Generator), "state"
    (RandomState, and the functions of numpy.random), "random" (random.Random, the module random),
    "system" (secrets, SystemRandom).
    """

    library: str
    kind: Any  # the type that `type(rng)` gives, or the module


LOG_NOTE = "what is logged, or said as a warning, is no part of the release that is looked at"


@dataclass(frozen=True)
class Journal:
    """A logger of the module logging: all of them write to logs, and give nothing back."""


@dataclass(frozen=True, eq=False)
class SciPyDistribution:
    """A distribution of scipy.stats, by its name; `frozen`: with parameters that it was given."""

    name: str
    frozen: bool = False
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


class Method(NamedTuple):
    """A method of a generator, an iterator or a distribution, by name."""

    library: str
    name: str


@dataclass(frozen=True, eq=False)
class DictView:
    """The keys, values or items of a dict, as they are when they are looked at."""

    owner: Ref
    name: str


@dataclass(frozen=True, eq=False)
class Known:
    """An object of a library of tables that is known, and that nobody changes (`known.py`)."""

    thing: Any


def root_of_module(value: Any) -> str:
    """The package that a class or function comes from."""
    return str(getattr(value, "__module__", "") or "").split(".")[0]


class Lazy:
    """A value that depends on how long the data are; only a machine that knows it may use it.

    `python_type` is the type that a program would see; None where it must not ask. `node_key`
    stands for a value that is the same from one element to the next.
    """

    python_type: type | None = None
    node_key: str | None = None


PLAIN = (
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented),
    np.generic, range, Fraction,
)  # fmt: skip
FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
    np.ufunc, types.GetSetDescriptorType, type(np.sum), type(np.random.default_rng),
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """A number, text, None …, or a tuple or frozenset of such: native code may have it."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_plain, value))
    return kind in _PLAIN_TYPES or isinstance(value, np.generic)


_PLAIN_TYPES = frozenset(
    {
        *(int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented)),
        *(range, Fraction),
    }
)
