"""The number of records where it is public: means, and noise whose scale is divided by it.

A value times a power of the length is private exactly if the value is, since both runs know the
length. So sum/n + Laplace(b/n) is (sum + Laplace(b))/n, and a proof looks at the bracket.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.records.record_cases import refuse_query
from dpest.reading.tracing.running import running
from dpest.reading.tracing.symbolic import Real, Truth, as_real
from dpest.reading.tracing.unit import Unit

_NUMBERS = (int, float, Fraction, np.integer, np.floating)
_ADVICE = (
    "A proof for every length follows products and quotients with it, as in a mean; give a length "
    "(length=10) for anything else"
)


def _no(what: str) -> Any:
    refuse_query(f"{what} with the number of records", _ADVICE, telling=False)


@dataclass(frozen=True)
class Public:
    """A number that both runs know and that depends on the length: it can be an index.

    `text` says which one it is: two with one text are one number, at every length.
    """

    at: Callable[[int], Any]
    text: str

    def _with(self, other: Any, how: Callable[[Any, Any], Any], turned: bool = False) -> Any:
        if not isinstance(other, (Public, *_NUMBERS)):
            return NotImplemented
        name = getattr(other, "text", repr(other))
        first, second = (name, self.text) if turned else (self.text, name)

        def at(n: int) -> Any:
            value = other.at(n) if isinstance(other, Public) else other
            return how(value, self.at(n)) if turned else how(self.at(n), value)

        return Public(at, f"{how.__name__}({first}, {second})")

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, operator.floordiv)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, operator.mod)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, True)

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        if name in ("int", "round", "float") and len(args) == 1:
            convert: Any = {"int": int, "round": round, "float": float}[name]
            return Public(lambda n: convert(self.at(n)), f"{name}({self.text})")
        return _no(f"{name}()")

    def _unknown(self, *_: Any) -> Any:
        _no("a decision")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = __float__ = __int__ = _unknown

    def __eq__(self, other: object) -> Any:
        return self._unknown()

    __hash__ = None  # type: ignore[assignment]

    def dpest_signature(self) -> Any:
        return ("public", self.text)


class Size(Public):
    """factor · n^power, n the length; the factor is a number, or has eps in it."""

    def __init__(self, factor: Any = 1, power: int = 1) -> None:
        super().__init__(lambda n: factor * Fraction(n) ** power, f"({factor!r} * n**{power})")
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "power", power)

    factor: Any
    power: int

    def _plain(self) -> Any:
        return self.factor if self.power == 0 else self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Size):
            return Size(self.factor * other.factor, self.power + other.power)._plain()
        if isinstance(other, (Real, Truth, Sized)):
            return times(other, self)
        if isinstance(other, (*_NUMBERS, Unit)):
            return Size(_exact(other) * self.factor, self.power)
        return NotImplemented

    __rmul__ = __mul__

    def _inverse(self) -> Size:
        return Size(1 / _exact(self.factor), -self.power)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Size):
            return self * other._inverse()
        if isinstance(other, (*_NUMBERS, Unit)):
            return Size(self.factor / _exact(other), self.power)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def __neg__(self) -> Size:
        return Size(-self.factor, self.power)

    def _against(self, other: Any, how: Callable[[Any, Any], bool]) -> Any:
        """There is at least one record: enough for `n == 0` and `n > 0`."""
        if isinstance(other, Size) and other.power == self.power:
            return how(self.factor, other.factor)
        if self.power == 1 and isinstance(self.factor, _NUMBERS) and self.factor > 0:
            least, most = self.factor, self.factor * 10**9
            if isinstance(other, _NUMBERS) and (
                other < least or (other == least and how in (operator.lt, operator.ge))
            ):
                return how(most, other)
        return self._unknown()

    def __lt__(self, other: Any) -> Any:
        return self._against(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._against(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._against(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._against(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._against(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._against(other, operator.ne)

    __hash__ = None

    def __bool__(self) -> bool:
        return bool(self > 0)

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        if name == "range" and args in ((self,), (0, self)) and self.power == 1:
            return RecordPlaces()
        if name in ("max", "min") and len(args) == 2 and not options:
            other = args[0] if args[1] is self else args[1]
            if isinstance(other, _NUMBERS) and other <= self.factor and self.power == 1:
                return self if name == "max" else other
        if name in ("int", "float") and len(args) == 1:
            return self
        return super().dpest_builtin(name, args, options)

    def dpest_numpy(self, name: str, args: Any, options: Any) -> Any:
        if name == "arange" and args == (self,) and self.power == 1:
            return RecordPlaces()
        return _no(f"np.{name}")

    def dpest_signature(self) -> Any:
        return ("size", repr(self.factor), self.power)


def _exact(value: Any) -> Any:
    if isinstance(value, Unit):
        return value
    return (
        Fraction(repr(float(value)))
        if isinstance(value, (float, np.floating))
        else (Fraction(int(value)) if isinstance(value, (int, np.integer)) else value)
    )


class RecordPlaces:
    """range(len(x)): the places of all records."""

    def __iter__(self) -> Any:
        _no("a loop inside of an expression")

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        return self if name in ("list", "tuple") else _no(f"{name}()")

    def dpest_signature(self) -> Any:
        return "places"


class RecordPlace:
    """The place of the record that a turn looks at."""

    def _unknown(self, *_: Any) -> Any:
        refuse_query(
            "what is done with a record depends on its place: on how many came before it",
            "A sensitivity is proved for sums that treat all records alike; give a length "
            "(length=10) for anything else",
            telling=False,
        )

    __eq__ = __ne__ = _unknown
    __hash__ = None  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __mul__ = __mod__ = __lt__ = __gt__ = __le__ = __ge__ = _unknown
    __index__ = __int__ = __bool__ = __rsub__ = _unknown

    def dpest_signature(self) -> Any:
        return "place"


@dataclass(frozen=True)
class Sized:
    """value · n^power: as private as the value."""

    value: Real
    power: int
    __array_priority__ = 3000
    __array_ufunc__ = None

    def _same(self, other: Any) -> Any:
        if isinstance(other, Sized) and other.power == self.power:
            return other.value
        if isinstance(other, Size) and other.power == self.power:
            return other.factor
        if isinstance(other, _NUMBERS) and other == 0:
            return 0
        if isinstance(other, (Sized, Size, Real, Truth, *_NUMBERS)):
            refuse_query(
                "a value divided by the number of records meets one that is not",
                "Divide the noise, too: sum(x)/n + rng.laplace(scale=b/n)",
            )
        return NotImplemented

    def _made(self, value: Any) -> Any:
        return value if value is NotImplemented else Sized(value, self.power)

    def __add__(self, other: Any) -> Any:
        found = self._same(other)
        return found if found is NotImplemented else self._made(self.value + found)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        found = self._same(other)
        return found if found is NotImplemented else self._made(self.value - found)

    def __rsub__(self, other: Any) -> Any:
        found = self._same(other)
        return found if found is NotImplemented else self._made(found - self.value)

    def __neg__(self) -> Any:
        return self._made(-self.value)

    def __mul__(self, other: Any) -> Any:
        return times(self, other) if isinstance(other, Size) else self._made(self.value * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Size):
            return times(self, 1 / other)
        return self._made(self.value / other)

    def __lt__(self, other: Any) -> Any:
        return self.value < self._same(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= self._same(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > self._same(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= self._same(other)

    def _unknown(self, *_: Any) -> Any:
        refuse_query("a conversion of a noisy mean", "Release it as it is")

    __float__ = __int__ = __index__ = __bool__ = __round__ = __abs__ = _unknown

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        if name == "float" and len(args) == 1:
            return self
        return _no(f"{name}() of a noisy mean")

    def dpest_numpy(self, name: str, args: Any, options: Any) -> Any:
        if name in ("asarray", "array", "float64"):
            return self
        return _no(f"np.{name} of a noisy mean")

    def item(self) -> Sized:
        return self

    def dpest_signature(self) -> Any:
        return ("sized", self.value.form, self.power)


def times(value: Any, size: Size) -> Any:
    """A value times the size."""
    power = size.power + (value.power if isinstance(value, Sized) else 0)
    inner = value.value if isinstance(value, Sized) else as_real(value)
    inner = inner * size.factor
    return inner if power == 0 else Sized(inner, power)


_SCALED = {
    "laplace": ("loc", "scale", "size"),
    "normal": ("loc", "scale", "size"),
    "gumbel": ("loc", "scale", "size"),
    "exponential": ("scale", "size"),
}


def sized_draw(name: str, method: Callable[..., Any], args: Any, options: Any) -> Any:
    """Noise whose scale is b·n^p is n^p times noise of scale b."""
    if any(isinstance(v, Sized) for v in (*args, *options.values())):
        refuse_query(
            "a parameter of the noise depends on private data",
            "Use a public scale: from the bounds of the data, not from the data",
        )
    given = {**dict(zip(_SCALED.get(name, ()), args, strict=False)), **options}
    scale, loc = given.get("scale"), given.get("loc", 0)
    if not isinstance(scale, Size) or not isinstance(loc, _NUMBERS) or loc != 0:
        return _no(f"this draw of {name} noise")
    if given.get("size") is not None:
        return _no("several draws at once")
    value = method(scale=scale.factor)
    if not isinstance(value, Real):
        return _no(f"this draw of {name} noise")
    world = running().world  # type: ignore[attr-defined]
    world.sized.update(dict.fromkeys(value.form.terms, scale.power))
    return Sized(value, scale.power)
