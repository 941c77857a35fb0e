"""Chances that are proportional to e^score: the exponential mechanism and its relatives.

`rng.choice(n, p=weights / weights.sum())` with weights e^(c·q) has the distribution of the argmax
of q + Gumbel noise of scale 1/c, one draw for each element (the Gumbel-max trick, exactly). So it
is read as that argmax, for which a proof has a rule. A coin that is tossed with chance e^score, or
a running sum of weights that is compared with a random share of their sum, is a comparison with a
symbol (`named_values`); what it amounts to is found in `races`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from dpest.geometry.linear import Form
from dpest.reading.domains.unit import NO_VALUE
from dpest.reading.refusals import refuse
from dpest.reading.rewrites.named_values import Share, named_values
from dpest.reading.tracing.symbolic import TracedReal

_ONLY = (
    "a proof follows weights exp(c·score), divided by their sum or by the greatest, as chances of "
    "a choice or of a coin"
)


def _refused(*_: Any) -> NoReturn:
    refuse(f"eps, {NO_VALUE}, times the data, which is used otherwise than in weights", _ONLY)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


class _Closed:
    """What can't be done with a value is refused, in words of this module."""

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = _refused
    __pow__ = __rpow__ = __mod__ = __floordiv__ = __abs__ = __round__ = __getitem__ = _refused
    __iter__ = __len__ = __array__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refused
    __truediv__ = __rtruediv__ = _refused


class _Named(_Closed):
    """A value that is a symbol where it is compared, or added up: only in a loop of any length."""

    def real(self) -> TracedReal:
        values = named_values()
        if values is None:
            _refused()
        return TracedReal(Form.of(values.symbol(self.dpest_signature(), self)))

    def dpest_signature(self) -> Any:
        raise NotImplementedError

    def _with(self, other: Any, how: Callable[[TracedReal, Any], Any]) -> Any:
        if isinstance(other, _Named):
            other = other.real()
        if not _is_number(other) and not isinstance(other, TracedReal):
            _refused()
        return how(self.real(), other)

    def __lt__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a >= b)

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class ScaledScore(_Named):
    """factor·value, where the factor is a multiple of a power of eps and the value is data."""

    factor: Any
    value: TracedReal

    def _times(self, number: Any) -> ScaledScore:
        if not _is_number(number):
            _refused()
        return ScaledScore(self.factor, self.value * number)

    def __mul__(self, other: Any) -> Any:
        return self._times(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not _is_number(other):
            _refused()
        return ScaledScore(self.factor, self.value / other)

    def __neg__(self) -> ScaledScore:
        return ScaledScore(self.factor, -self.value)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Normaliser):
            return other.added(self)
        if not isinstance(other, ScaledScore):
            return super().__add__(other)
        share = other.factor / self.factor
        if not _is_number(share):
            _refused()
        return ScaledScore(self.factor, self.value + other.value * share)

    def __radd__(self, other: Any) -> Any:
        return self + other if isinstance(other, ScaledScore) else super().__radd__(other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (ScaledScore, Normaliser)):
            return self + (-other)
        return super().__sub__(other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other if isinstance(other, ScaledScore) else super().__rsub__(other)

    def exp(self) -> Weight:
        return Weight(self)

    def greatest(self) -> ScaledScore:
        """The greatest score of all elements."""
        form, rising = self.value.form, self.factor > 0
        values = named_values()
        if values is None or any(s.kind != "input" for s in form.terms) or not form.terms:
            _refused()
        top = values.greatest(form) if rising else values.greatest(form.times(-1)).times(-1)
        return ScaledScore(self.factor, TracedReal(top))

    def dpest_signature(self) -> Any:
        return ("scaled", repr(self.factor), self.value.form)


@dataclass(frozen=True, eq=False)
class Weight(_Named):
    """e^score."""

    score: ScaledScore

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, WeightSum) and other.weight.dpest_signature() == (
            self.dpest_signature()
        ):
            return Chance(self)
        if isinstance(other, Weight):
            return Weight(self.score - other.score)
        if _is_number(other):
            return self.real() / other
        _refused()

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Weight):
            return Weight(self.score + other.score)
        return super().__mul__(other)

    __rmul__ = __mul__

    def greatest(self) -> Weight:
        """The greatest weight of all elements."""
        return Weight(self.score.greatest())

    def dpest_signature(self) -> Any:
        return ("weight", self.score.dpest_signature())


def weight_of(value: Any) -> Weight | None:
    """e^value of private data, where a proof has a use for it."""
    if not isinstance(value, TracedReal) or not value.form.terms or named_values() is None:
        return None
    return ScaledScore(Fraction(1), value).exp()


@dataclass(frozen=True, eq=False)
class WeightSum(_Closed):
    """The sum of the weights of all elements."""

    weight: Weight

    def __mul__(self, other: Any) -> Any:
        """A uniform draw times the sum: a random share of it."""
        values = named_values()
        form = other.form if isinstance(other, TracedReal) else Form()
        if values is None or len(form.terms) != 1 or form.constant:
            _refused()
        ((noise, slope),) = form.terms.items()
        if slope != 1 or noise.kind != "noise":
            _refused()
        share = Share(noise, self.weight)
        key = ("share", noise, self.weight.dpest_signature())
        return TracedReal(Form.of(values.symbol(key, share)))

    __rmul__ = __mul__

    def log(self) -> Normaliser:
        return Normaliser(self.weight)

    def dpest_signature(self) -> Any:
        return ("weights", self.weight.dpest_signature())


@dataclass(frozen=True, eq=False)
class Normaliser(_Closed):
    """log of the sum of the weights, or −log of it: subtracted from the scores alone."""

    weight: Weight
    sign: int = 1

    def __neg__(self) -> Normaliser:
        return Normaliser(self.weight, -self.sign)

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, TracedReal) and self.sign > 0:
            return (-self).added(ScaledScore(Fraction(1), other))
        _refused()

    def added(self, score: ScaledScore) -> Any:
        if self.sign > 0 or self.weight.score.dpest_signature() != score.dpest_signature():
            _refused()
        return LogChance(self.weight)

    def dpest_signature(self) -> Any:
        return ("normaliser", self.sign, self.weight.dpest_signature())


@dataclass(frozen=True, eq=False)
class LogChance(_Closed):
    """score − log Σ e^score."""

    weight: Weight

    def exp(self) -> Chance:
        return Chance(self.weight)

    def dpest_signature(self) -> Any:
        return ("log chance", self.weight.dpest_signature())


@dataclass(frozen=True, eq=False)
class Chance(_Named):
    """An element's weight divided by the sum of all."""

    weight: Weight

    def dpest_signature(self) -> Any:
        return ("chance", self.weight.dpest_signature())
