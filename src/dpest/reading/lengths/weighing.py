"""What functions and operators do with scores, weights and chances (`domains.weights`)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.geometry.linear import Form, rational
from dpest.noise.parameters import is_number
from dpest.noise.uniform import Uniform
from dpest.reading.code.operators import COMPARISONS
from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import Real, as_number
from dpest.reading.domains.unit import Unit
from dpest.reading.domains.weights import (
    Chance,
    LogChance,
    Normaliser,
    ScaledScore,
    Weight,
    Weighted,
    WeightSum,
    refused,
)
from dpest.reading.lengths.places import DrawnByLaw
from dpest.reading.lengths.values import Argmax, Scale, Sums, Vector
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.races import softmax_law

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


def is_private(m: LengthMachine, value: Any) -> bool:
    """Whether a number is made of data, or kept from earlier, without noise of this edge."""
    if not isinstance(value, Real) or not value.form.terms:
        return False
    return all(s.kind in ("input", "state") for s in value.form.terms)


def is_chance(m: LengthMachine, value: Any) -> bool:
    """Whether a number is private, and not linear in the data."""
    return isinstance(value, Weighted) or (
        isinstance(value, Real) and m.named_values.among([value.form])
    )


def real(m: LengthMachine, value: Any) -> Any:
    """A weight as a number, with a name; others as they are."""
    return Real(m.named_values.number(value), (float,)) if isinstance(value, Weighted) else value


# Operators


def scaled(m: LengthMachine, op: str, a: Any, b: Any) -> Any:
    """eps times data, or data divided by eps; None where it is neither."""
    unit, data = (a, b) if isinstance(a, Scale) else (b, a)
    if not isinstance(unit, Scale) or not isinstance(unit.unit, Unit) or unit.unit.factor == 0:
        return None
    if op == "/" and unit is b:
        factor = 1 / unit.unit
    elif op == "*":
        factor = unit.unit
    else:
        return None
    if isinstance(data, Real) and is_private(m, data):
        return ScaledScore(factor, data.form)
    if isinstance(data, ScaledScore):
        return ScaledScore(data.factor * factor, data.form)
    return None


def operate(m: LengthMachine, op: str, *values: Any) -> Any:
    """An operator with a score, a weight or a chance among its operands."""
    if len(values) == 1:
        return _unary(m, op, values[0])
    a, b = values
    if op in COMPARISONS:
        if op in ("==", "!=") and any(v is None or isinstance(v, str) for v in values):
            return op == "!="
        return arithmetic.compare(m, op, real(m, a), real(m, b))
    found = _product(m, op, a, b) if op in ("*", "/") else _sum(op, a, b)
    if found is not None:
        return found
    if any(not (is_number(v) or isinstance(v, (Real, Weight, Chance))) for v in values):
        raise refused(
            "eps, which has no value here, times the data, used otherwise than in weights"
        )
    return arithmetic.binary(m, op, real(m, a), real(m, b))


def _unary(m: LengthMachine, op: str, value: Any) -> Any:
    if op == "-" and isinstance(value, ScaledScore):
        return value.times(-1)
    if op == "-" and isinstance(value, Normaliser):
        return Normaliser(value.weight, -value.sign)
    return arithmetic.unary(m, op, real(m, value))


def _product(m: LengthMachine, op: str, a: Any, b: Any) -> Any:
    found = scaled(m, op, a, b)
    if found is not None:
        return found
    if isinstance(a, ScaledScore) and is_number(b):
        return a.times(rational(b) if op == "*" else 1 / rational(b))
    if isinstance(b, ScaledScore) and is_number(a) and op == "*":
        return b.times(rational(a))
    if isinstance(a, Weight) and isinstance(b, Weight):
        return Weight(a.score.plus(b.score, 1 if op == "*" else -1))
    if op == "/" and isinstance(a, Weight) and isinstance(b, WeightSum):
        if a.key != b.weight.key:
            raise refused("weights that are divided by a sum of others")
        return Chance(a)
    if op == "*":
        for total, drawn in ((a, b), (b, a)):
            if isinstance(total, WeightSum) and isinstance(drawn, Real):
                return share_of(m, total, drawn)
    return None


def _sum(op: str, a: Any, b: Any) -> Any:
    if op not in ("+", "-"):
        return None
    sign = 1 if op == "+" else -1
    if isinstance(a, ScaledScore) and isinstance(b, ScaledScore):
        return a.plus(b, sign)
    if isinstance(a, Normaliser) and op == "+":
        a, b = b, a
    if isinstance(b, Normaliser):
        score = ScaledScore(Fraction(1), a.form) if isinstance(a, Real) else a
        if (
            sign * b.sign > 0
            or not isinstance(score, ScaledScore)
            or score.key != b.weight.score.key
        ):
            raise refused()
        return LogChance(b.weight)
    return None


def share_of(m: LengthMachine, total: WeightSum, drawn: Real) -> Real:
    """A uniform draw times the sum of all weights."""
    form = drawn.form
    ((noise, slope), *more) = [*form.terms.items(), (None, None)]
    if len(more) != 1 or form.constant or slope != 1 or noise is None or noise.kind != "noise":
        raise refused("a sum of weights, times something else than a draw")
    return Real(m.named_values.share(noise, total), (float,))


# Functions


def exponential(m: LengthMachine, value: Any) -> Any:
    """e^score; None where it is something else."""
    if isinstance(value, Real) and is_private(m, value):
        return Weight(ScaledScore(Fraction(1), value.form))
    if isinstance(value, ScaledScore):
        return Weight(value)
    return Chance(value.weight) if isinstance(value, LogChance) else None


def logarithm(m: LengthMachine, value: Any) -> Any:
    if isinstance(value, WeightSum):
        return Normaliser(value.weight)
    return value.score if isinstance(value, Weight) else None


def greatest(m: LengthMachine, vector: Vector, least: bool = False) -> Any:
    """The greatest (or least) value of data, of scores or of weights, over all elements."""
    element = vector.element
    if vector.own:
        raise refused("the greatest of noisy values")
    if isinstance(element, Weight):
        score = greatest(m, Vector(element.score), least)
        assert isinstance(score, ScaledScore)
        return Weight(score)
    if isinstance(element, ScaledScore):
        turned = element.factor < 0
        return ScaledScore(element.factor, _extreme(m, element.form, least != turned))
    if isinstance(element, Real) and is_private(m, element):
        return as_number(_extreme(m, element.form, least), element.kinds)
    raise refused("the greatest of the data")


def entry_at(m: LengthMachine, vector: Vector, place: Argmax) -> Any:
    """x[np.argmax(x)]: the greatest."""
    element = vector.element
    if not isinstance(element, Real) or element.form != place.element.form:
        raise Refused("an entry of data of any length, but that of this turn")
    return greatest(m, vector, place.least)


def _extreme(m: LengthMachine, form: Form, least: bool) -> Form:
    if least:
        return m.named_values.greatest(form.times(-1)).times(-1)
    return m.named_values.greatest(form)


def softmax(m: LengthMachine, scores: Vector) -> Vector:
    weights = m.elementwise(lambda v: exponential(m, v), scores)
    return m.elementwise(lambda w: operate(m, "/", w, WeightSum(w)), weights)


def log_sum_of_weights(m: LengthMachine, scores: Vector) -> Normaliser:
    weights = m.elementwise(lambda v: exponential(m, v), scores)
    return Normaliser(weights.element)


# Choices


def drawn_by(m: LengthMachine, rule: str, weight: Weight) -> DrawnByLaw:
    """A place that is drawn with chances proportional to the weights."""
    factor, form = weight.score.factor, weight.score.form
    if any(s.kind != "input" and not m.named_values.is_shared(s) for s in form.terms):
        raise refused("a choice by weights that noise is in")
    if isinstance(factor, Unit):
        return DrawnByLaw(softmax_law(rule, factor.power, form.times(factor.factor)))
    return DrawnByLaw(softmax_law(rule, 0, form.times(rational(factor))))


def chosen_by(m: LengthMachine, chances: Any) -> DrawnByLaw:
    """A place that is drawn with the chances of a vector."""
    element = chances.element if isinstance(chances, Vector) else None
    if not isinstance(element, Chance) or chances.own or m.log.begun:
        raise refused("a choice with these chances")
    return drawn_by(m, "choice", element.weight)


def place_in_sums(m: LengthMachine, sums: Sums, share: Any) -> DrawnByLaw:
    """Where the running sum of weights is above a uniform share of all: a choice by them."""
    element = sums.vector.element
    form = share.form if isinstance(share, Real) else Form()
    ((symbol, slope), *more) = [*form.terms.items(), (None, None)]
    if sums.vector.own or m.log.begun or len(more) != 1 or form.constant or slope != 1:
        raise refused("np.searchsorted, but for a uniform share of all the weights")
    meaning = m.named_values.meanings.get(symbol)
    if isinstance(element, Weight) and meaning is not None:
        fits = getattr(meaning, "weight", None) is not None and meaning.weight.key == element.key
        noise, weight = getattr(meaning, "noise", None), element
    elif isinstance(element, Chance) and meaning is None:
        fits, noise, weight = True, symbol, element.weight
    else:
        raise refused("np.searchsorted, but for a uniform share of all the weights")
    family = m.world.noises.get(noise)  # type: ignore[arg-type]
    if not fits or family != Uniform(0.0, 1.0):
        raise refused("np.searchsorted, but for a uniform share of all the weights")
    return drawn_by(m, "inversion", weight)


def tossed(m: LengthMachine, chance: Any) -> Any:
    """A coin with a private chance: a uniform draw below it."""
    drawn = m.draw(Uniform(0.0, 1.0), (float,))
    return arithmetic.compare(m, "<", drawn, real(m, chance))


def complementary(m: LengthMachine, chances: Any) -> bool:
    """Whether two chances add up to 1."""
    if len(chances) != 2 or not any(is_chance(m, c) for c in chances):
        return False
    values = [real(m, c) for c in chances]
    if not all(is_number(v) or isinstance(v, Real) for v in values):
        return False
    forms = [v.form if isinstance(v, Real) else Form.number(v) for v in values]
    whole = forms[0].plus(forms[1])
    return not whole.terms and whole.constant == 1
