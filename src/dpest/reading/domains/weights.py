"""Private numbers that are not linear in the data: scores with eps, weights e^score, chances.

A score is a multiple of a power of eps times data; a weight is e^score; a chance is a weight
divided by the sum of all. The greatest of all scores, and a uniform share of the sum of all
weights, are the same number for every element. Where such a number is compared, or added up, it is
a symbol with a known meaning (`NamedValues`), so that comparisons stay linear. What the comparisons
amount to is found when the graph of the loop is known (`rewrites.races`); a graph that holds such a
symbol in any other way is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Lazy

ONLY = (
    "a proof follows weights exp(c·score), divided by their sum or by the greatest, as chances of "
    "a choice or of a coin"
)


def refused(what: str = "the data, used otherwise than in weights") -> Refused:
    return Refused(what, ONLY)


class Weighted(Lazy):
    """A number that is not linear in the data. Nobody may ask for its type, or release it."""

    form: Form
    """The data behind it."""

    @property
    def key(self) -> Any:
        """Equal for equal numbers."""
        raise NotImplementedError


class _OfWeight(Weighted):
    """What is made of a weight."""

    weight: Weight

    @property
    def form(self) -> Form:  # type: ignore[override]
        return self.weight.form

    @property
    def key(self) -> Any:
        return (type(self).__name__, self.weight.key)


@dataclass(frozen=True, eq=False)
class ScaledScore(Weighted):
    """factor·form, where the factor is a number or a multiple of a power of eps."""

    factor: Any
    form: Form

    @property
    def key(self) -> Any:
        return ("score", repr(self.factor), self.form)

    def times(self, number: Any) -> ScaledScore:
        return replace(self, form=self.form.times(number))

    def plus(self, other: ScaledScore, sign: int = 1) -> ScaledScore:
        share = other.factor / self.factor
        if not isinstance(share, (int, Fraction)):
            raise refused("scores in different powers of eps that are added")
        return replace(self, form=self.form.plus(other.form, sign * share))


@dataclass(frozen=True, eq=False)
class Weight(Weighted):
    """e^score."""

    score: ScaledScore

    @property
    def key(self) -> Any:
        return ("weight", self.score.key)

    @property
    def form(self) -> Form:  # type: ignore[override]
        return self.score.form


@dataclass(frozen=True, eq=False)
class WeightSum(_OfWeight):
    """The sum of the weights of all elements."""

    weight: Weight


@dataclass(frozen=True, eq=False)
class Normaliser(_OfWeight):
    """log of the sum of the weights, times `sign`: it is taken from the scores alone."""

    weight: Weight
    sign: int = 1

    @property
    def key(self) -> Any:
        return ("normaliser", self.sign, self.weight.key)


@dataclass(frozen=True, eq=False)
class LogChance(_OfWeight):
    """score − log Σ e^score."""

    weight: Weight


@dataclass(frozen=True, eq=False)
class Chance(_OfWeight):
    """An element's weight divided by the sum of all."""

    weight: Weight


@dataclass(frozen=True)
class Greatest:
    """The greatest value of a form of an element's data, over all elements."""

    form: Form


@dataclass(frozen=True, eq=False)
class Share:
    """A uniform draw times the sum of all weights."""

    noise: Symbol
    weight: Weight


@dataclass(frozen=True)
class CandidatesLeft:
    """How many candidates a list still has from which some were taken: 0 or more."""

    source: str


@dataclass
class NamedValues:
    """What the symbols of one reading stand for. A symbol has one meaning, wherever it is met."""

    meanings: dict[Symbol, Any] = field(default_factory=dict)
    """Greatest, Share, CandidatesLeft: one number for all; Score, Weight, Chance: of the element
    at hand."""
    _known: dict[Any, Symbol] = field(default_factory=dict)

    def symbol(self, key: Any, meaning: Any) -> Symbol:
        found = self._known.get(key)
        if found is None:
            found = Symbol("state", f"__value{len(self._known)}__")
            self._known[key] = found
            self.meanings[found] = meaning
        return found

    def number(self, value: Weighted) -> Form:
        """A score, a weight or a chance as a number that is compared, or added up."""
        if not isinstance(value, (ScaledScore, Weight, Chance)):
            raise refused()
        return Form.of(self.symbol(value.key, value))

    def share(self, noise: Symbol, total: WeightSum) -> Form:
        key = ("share", noise, total.weight.key)
        return Form.of(self.symbol(key, Share(noise, total.weight)))

    def left(self, source: str) -> Form:
        return Form.of(self.symbol(("left", source), CandidatesLeft(source)))

    def greatest(self, form: Form) -> Form:
        """The greatest value of a form over all elements.

        max(a·f + b) is a·max(f) + b for a > 0 and b the same for all: one symbol for all of these.
        """
        mine = {s: c for s, c in form.terms.items() if s.kind == "input"}
        rest = Form({s: c for s, c in form.terms.items() if s not in mine}, form.constant)
        if any(not self.is_shared(s) for s in rest.terms):
            raise refused("the greatest of values that are not data alone")
        if not mine:
            return form
        scale = abs(mine[min(mine)])
        plain = Form(mine).times(1 / scale)
        symbol = self.symbol(("greatest", plain), Greatest(plain))
        return rest.plus(Form.of(symbol), scale)

    def is_shared(self, symbol: Symbol) -> bool:
        """Whether it is one number for all elements, wherever it is met."""
        return isinstance(self.meanings.get(symbol), (Greatest, Share, CandidatesLeft))

    def among(self, forms: Any) -> bool:
        """Whether a form has a symbol of these."""
        return any(s in self.meanings for form in forms for s in form.terms)
