"""Numbers that remember which noise is in them, so that the value before the noise is seen.

A hooked generator returns these instead of plain numbers. They are real floats, ints and arrays,
and do what those do; on the way they keep Σ factor·atom + offset. Where one meets a plain value in
a sum, the tape writes down that value; in a replay the sum is the one of the record.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.recorded.tape import Atoms, Floats, Tape, TapedDraw, Use, place

Term = tuple[Atoms, Floats]


@dataclass(frozen=True)
class Tag:
    """What a number is: offset + Σ factor·atom, and the uses that showed it, if any did."""

    tape: Tape
    terms: tuple[Term, ...]
    offset: Floats
    uses: tuple[int, ...] = ()
    # It has met a value: from here on it is a number like any other, and nothing that is added
    # to it is protected by the noise in it.
    settled: bool = False

    def scaled(self, by: Any) -> Tag:
        factor = np.asarray(by, dtype=float)
        terms = tuple(_term(atoms, f * factor) for atoms, f in self.terms)
        return Tag(self.tape, terms, self.offset * factor, self.uses, self.settled)

    def joined(self, other: Tag, sign: float) -> Tag:
        moved = other.scaled(sign)
        offset, uses = self.offset + moved.offset, self.uses + moved.uses
        return Tag(self.tape, self.terms + moved.terms, offset, uses)

    def part(self, key: Any) -> Tag:
        shape = np.shape(self.offset)
        terms = tuple((a[key], np.broadcast_to(f, shape)[key]) for a, f in self.terms)
        return Tag(self.tape, terms, np.asarray(self.offset)[key], self.uses, self.settled)


def _term(atoms: Atoms, factor: Floats) -> Term:
    shape = np.broadcast_shapes(np.shape(atoms), np.shape(factor))
    return np.broadcast_to(atoms, shape), np.broadcast_to(factor, shape)


def drawn(tape: Tape, draw: TapedDraw, numbers: NDArray[Any], loc: Any = None) -> Any:
    """The numbers of a draw as noisy ones. A location that was given is a value that noise met."""
    atoms = draw.first + np.arange(draw.size, dtype=np.int64).reshape(numbers.shape)
    tag = Tag(tape, ((atoms, np.ones(numbers.shape)),), np.zeros(numbers.shape))
    if loc is None:
        return tagged(numbers, tag)
    return _meet(tag, loc, np.asarray(numbers + loc))


def tagged(numbers: Any, tag: Tag) -> Any:
    """A number or an array with its tag; the kind of number stays what it was."""
    if isinstance(numbers, np.ndarray) and numbers.ndim:
        made = np.asarray(numbers).view(NoisyArray)
        made.tag = tag
        return made
    plain = numbers.item() if isinstance(numbers, (np.ndarray, np.generic)) else numbers
    one = NoisyInt(plain) if isinstance(plain, int) else NoisyFloat(plain)
    one.tag = tag
    return one


def plain(value: Any) -> Any:
    """The same number without its tag."""
    if isinstance(value, NoisyArray):
        return value.view(np.ndarray)
    if isinstance(value, NoisyFloat):
        return float.__float__(value)
    if isinstance(value, NoisyInt):
        return int.__int__(value)
    return value


def tag_of(value: Any) -> Tag | None:
    if isinstance(value, (NoisyArray, NoisyFloat, NoisyInt)) and value.tag is not None:
        return None if value.tag.tape.ended else value.tag
    return None


def _meet(tag: Tag, other: Any, result: Any) -> Any:
    """A noisy number and a plain one were added: `result`, whose value before noise is seen.

    A literal zero is no value yet: `rng.normal(0, s)` and `sum([...])` begin with one.
    """
    settled = not (type(other) in (int, float) and other == 0)
    shape = np.shape(result)
    value = np.broadcast_to(np.asarray(tag.offset + np.asarray(other, dtype=float)), shape)
    terms = tuple(_term(a, np.broadcast_to(f, shape)) for a, f in tag.terms)
    terms = tuple((np.broadcast_to(a, shape), f) for a, f in terms)
    made = Use("sum", value, result, place(), terms, replaces=tag.uses)
    at = len(tag.tape.uses)
    noisy = tag.tape.use(made)
    master = tag.tape.master
    if master is not None:  # as in the record, where the number may have been another
        settled = master.uses[at].settles
    made.settles = settled
    return tagged(noisy, Tag(tag.tape, terms, value, (at,), settled))


def _handle(value: Any) -> None:
    """The number was used in another way than by going on with it."""
    tag = tag_of(value)
    if tag is None:
        return
    for use in tag.uses:
        tag.tape.uses[use].handled = True


def _sum(a: Any, b: Any, sign: float) -> Any:
    """a + sign·b, where at least one is noisy."""
    first, second = tag_of(a), tag_of(b)
    x, y = plain(a), plain(b)
    result = x + y if sign > 0 else x - y
    if first is not None and second is not None:
        if first.settled and second.settled:
            _handle(a)
            _handle(b)
            return result
        joined = first.joined(second, sign)
        if first.settled or second.settled or bool(first.uses) != bool(second.uses):
            return _meet(joined, np.float64(0.0), result)
        return tagged(result, joined)
    tag = first if first is not None else second
    assert tag is not None
    other = y if first is not None else x
    if tag.settled or not _numeric(other):
        _handle(a)
        _handle(b)
        return result
    if first is not None:
        return _meet(first, other if sign > 0 else _negative(other), result)
    return _meet(tag.scaled(sign), other, result)


def _negative(value: Any) -> Any:
    return -value if type(value) in (int, float) else -np.asarray(value, dtype=float)


def _product(a: Any, b: Any, divide: bool = False) -> Any:
    first, second = tag_of(a), tag_of(b)
    x, y = plain(a), plain(b)
    result = x / y if divide else x * y
    if first is not None and second is None and _numeric(y):
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = 1 / np.asarray(y, dtype=float) if divide else np.asarray(y, dtype=float)
        if np.all(np.isfinite(factor)):
            return tagged(result, first.scaled(factor))
    if second is not None and first is None and not divide and _numeric(x):
        return tagged(result, second.scaled(np.asarray(x, dtype=float)))
    _handle(a)
    _handle(b)
    return result


def _numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _compare(a: Any, b: Any, how: Callable[[Any, Any], Any]) -> Any:
    """A comparison: of noise with a number it is a coin; a noisy value is just compared."""
    first, second = tag_of(a), tag_of(b)
    x, y = plain(a), plain(b)
    result = how(x, y)
    tag = first if first is not None else second
    if tag is None or (first is not None and second is not None):
        _handle(a)
        _handle(b)
        return result
    other = y if first is not None else x
    if tag.settled or not _numeric(other):
        _handle(a)
        _handle(b)
        return result
    value = np.asarray(other, dtype=float) - tag.offset
    return tag.tape.use(Use("coin", value, result, place(), tag.terms, replaces=tag.uses))


class _Noisy:
    """What noisy floats and ints have in common."""

    tag: Tag | None = None

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1.0)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self, 1.0)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return _sum(other, self, -1.0)

    def __mul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _product(other, self)

    def __truediv__(self, other: Any) -> Any:
        return _product(self, other, divide=True)

    def __neg__(self) -> Any:
        return _product(self, -1)

    def __pos__(self) -> Any:
        return self

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, operator.ge)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc_on_noisy(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_stripped(args), **_stripped(kwargs))


class NoisyFloat(_Noisy, float):
    """A float with noise in it."""

    __hash__ = float.__hash__

    def __reduce__(self) -> Any:
        return float, (float.__float__(self),)


class NoisyInt(_Noisy, int):
    """An int with noise in it."""

    __hash__ = int.__hash__

    def __reduce__(self) -> Any:
        return int, (int.__int__(self),)


class NoisyArray(np.ndarray):
    """An array with noise in it."""

    tag: Tag | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.tag = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc_on_noisy(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _mark(args)
        return func(*_stripped(args), **_stripped(kwargs))

    def __getitem__(self, key: Any) -> Any:
        found = self.view(np.ndarray)[key]
        tag = tag_of(self)
        return found if tag is None else tagged(found, tag.part(key))

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        found = self.view(np.ndarray).reshape(*shape, **options)
        tag = tag_of(self)
        if tag is None:
            return found
        own, to = np.shape(self), found.shape
        terms = tuple((a.reshape(to), np.broadcast_to(f, own).reshape(to)) for a, f in tag.terms)
        offset = np.broadcast_to(tag.offset, own).reshape(to)
        return tagged(found, Tag(tag.tape, terms, offset, tag.uses, tag.settled))

    def tolist(self) -> Any:
        return [v.tolist() if isinstance(v, np.ndarray) else v for v in self]

    def item(self, *at: Any) -> Any:
        if self.size == 1:
            return self.reshape(-1)[0]
        return self[at[0] if len(at) == 1 else tuple(at)]


def _stripped(values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return type(values)(_stripped(v) for v in values)
    if isinstance(values, dict):
        return {k: _stripped(v) for k, v in values.items()}
    return plain(values)


def _mark(values: Any) -> None:
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, (list, tuple)):
            _mark(value)
        else:
            _handle(value)


_COMPARISONS = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def ufunc_on_noisy(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """NumPy's functions on noisy numbers: sums and products are followed, the rest forgets."""
    inplace = kwargs.get("out")
    if method == "__call__" and not (set(kwargs) - {"out", "dtype", "casting"}):
        followed: Any = None
        if ufunc in (np.add, np.subtract):
            followed = _sum(inputs[0], inputs[1], 1.0 if ufunc is np.add else -1.0)
        elif ufunc in (np.multiply, np.true_divide):
            followed = _product(inputs[0], inputs[1], divide=ufunc is np.true_divide)
        elif ufunc is np.negative:
            followed = _product(inputs[0], -1)
        elif ufunc in _COMPARISONS:
            followed = _compare(inputs[0], inputs[1], _COMPARISONS[ufunc])
        if followed is not None:
            return _written(inplace, followed)
    _mark(inputs)
    if inplace is not None:
        kwargs = {**kwargs, "out": tuple(plain(o) for o in inplace)}
    return getattr(ufunc, method)(*_stripped(inputs), **kwargs)


def _written(inplace: Any, value: Any) -> Any:
    """`a += noise` writes into a: the array that the user holds."""
    if inplace is None:
        return value
    target = inplace[0]
    plain(target)[...] = plain(value)
    if isinstance(target, NoisyArray):
        target.tag = tag_of(value)
        return target
    return value if isinstance(value, np.ndarray) else target
