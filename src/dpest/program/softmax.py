"""Choices with probabilities proportional to e^score: the exponential mechanism.

`rng.choice(n, p=weights / weights.sum())` with weights e^(c·q) has the distribution of the argmax
of q + Gumbel noise of scale 1/c, one draw for each element (the Gumbel-max trick, exactly). So it
is read as that argmax, for which a proof has a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from dpest.program.running import refuse
from dpest.program.symbolic import Real

_ONLY = "a proof follows weights exp(c·score), divided by their sum, as the p of rng.choice"


def _refused(*_: Any) -> NoReturn:
    refuse("an expression of eps and the data, which is used otherwise than in weights", _ONLY)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


class _Closed:
    """What can't be done with a value is refused, in words of this module."""

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = _refused
    __pow__ = __rpow__ = __mod__ = __floordiv__ = __abs__ = __round__ = __getitem__ = _refused
    __iter__ = __len__ = __array__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refused
    __truediv__ = __rtruediv__ = _refused


@dataclass(frozen=True, eq=False)
class Scaled(_Closed):
    """factor·value, where the factor is a multiple of a power of eps and the value is data."""

    factor: Any
    value: Real

    def _times(self, number: Any) -> Scaled:
        if not _is_number(number):
            _refused()
        return Scaled(self.factor, self.value * number)

    def __mul__(self, other: Any) -> Any:
        return self._times(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not _is_number(other):
            _refused()
        return Scaled(self.factor, self.value / other)

    def __neg__(self) -> Scaled:
        return Scaled(self.factor, -self.value)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Scaled):
            _refused()
        share = other.factor / self.factor
        if not _is_number(share):
            _refused()
        return Scaled(self.factor, self.value + other.value * share)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def exp(self) -> Weight:
        return Weight(self)

    def dpest_signature(self) -> Any:
        return ("scaled", repr(self.factor), self.value.form)


@dataclass(frozen=True, eq=False)
class Weight(_Closed):
    """e^score."""

    score: Scaled

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, WeightSum) and other.weight.dpest_signature() == (
            self.dpest_signature()
        ):
            return Chance(self)
        _refused()

    def dpest_signature(self) -> Any:
        return ("weight", self.score.dpest_signature())


@dataclass(frozen=True, eq=False)
class WeightSum(_Closed):
    """The sum of the weights of all elements."""

    weight: Weight

    def dpest_signature(self) -> Any:
        return ("weights", self.weight.dpest_signature())


@dataclass(frozen=True, eq=False)
class Chance(_Closed):
    """An element's weight divided by the sum of all."""

    weight: Weight

    def dpest_signature(self) -> Any:
        return ("chance", self.weight.dpest_signature())
