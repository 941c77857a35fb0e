"""Values computed from draws that are read as curves over another noise (see `rewrites.readings`).

What the function does with such a value is computed exactly, on the negative and on the positive
half of the noise N apart, until it is linear in N; what stays curved has no reading and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

from dpest.errors import UntraceableError
from dpest.geometry.linear import Condition, Form, Relation, Symbol
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.geometric import Geometric
from dpest.noise.laplace import Laplace
from dpest.noise.parameters import exact, is_number
from dpest.noise.uniform import Uniform
from dpest.reading.refusals import SAMPLING, refuse, remembered
from dpest.reading.rewrites.curve_pieces import (
    BESIDE,
    COMPARED,
    ROUNDED,
    AffinePiece,
    ExponentialCell,
    Opaque,
    Piece,
    piece_product,
    piece_sum,
)
from dpest.reading.rewrites.readings import NO_LOGARITHM, Curve, Plan, RereadError, Site, can_change
from dpest.reading.rewrites.rounding import How
from dpest.reading.tracing.running import running
from dpest.reading.tracing.symbolic import (
    TracedReal,
    TracedTruth,
    about,
    as_real,
    joined,
    of_numpy,
    opposite,
    typed,
)
from dpest.running.places import shown, source_line

_ONE = Fraction(1)


def drawn_value(curve: Curve, drawn: Any, noise: Noise, eps: Any = None) -> Any:
    """A draw of `noise`, given N: a number for a number, else a curve (of a coin, a truth).

    `eps` is what a unit stands for in a run with numbers.
    """
    if isinstance(noise, Bernoulli):
        if not isinstance(drawn, TracedReal):
            return drawn > 0
        (symbol,) = drawn.form.terms
        return TracedTruth(_positive(symbol))
    if curve.part and isinstance(noise, Exponential):
        return _size(curve, drawn, noise, eps)
    if curve.kind == "scaled":
        return (
            curve.standard(drawn, eps) if not isinstance(drawn, TracedReal) else _over(curve, drawn)
        )
    if isinstance(noise, Uniform):
        start, width = exact(noise.low), exact(noise.high) - exact(noise.low)
    else:
        assert isinstance(noise, Exponential)
        start, width = Fraction(0), exact(noise.scale)
    lines = [(start + width * a, width * b) for a, b in curve.lines()]
    if not isinstance(drawn, TracedReal):
        a, b = lines[1 if drawn > 0 and len(lines) == 2 else 0]
        return float(a) + float(b) * curve.t(curve.standard(float(drawn), eps))
    (symbol,) = drawn.form.terms
    if curve.kind == "geometric" and isinstance(noise, Exponential):
        return _made(
            symbol, (ExponentialCell(exact(noise.scale), curve.scale, _floor_of(symbol)),), False
        )
    pieces = tuple(AffinePiece(a, b, curve.depth, curve.most) for a, b in lines)
    return _made(symbol, pieces, drawn.numpy)


def _floor_of(symbol: Symbol) -> Form:
    """NumPy's geometric noise starts at 1."""
    return Form({symbol: _ONE}, -_ONE)


def _over(curve: Curve, value: TracedReal) -> Any:
    """What is left of N, or of a curve over it, when its scale is divided out."""
    if is_number(curve.scale):
        return value / curve.scale
    from dpest.reading.tracing.in_units import in_units  # it knows curves

    return in_units(1 / curve.scale, value)


def _size(curve: Curve, drawn: Any, noise: Exponential, eps: Any) -> Any:
    """Exponential noise as the size of a Laplace noise."""
    if not isinstance(drawn, TracedReal):
        return abs(curve.standard(float(drawn), eps)) * float(noise.scale)
    (symbol,) = drawn.form.terms
    size = _made(
        symbol, tuple(TracedReal(Form({symbol: Fraction(s)})) for s in (-1, 1)), drawn.numpy
    )
    return size if noise.scale == curve.scale else _over(curve, size) * noise.scale


class Curved(TracedReal):
    """A number computed from a curve: what it is for N ≤ 0 and for N > 0, or, by one piece, always.

    Where it is asked for as a linear form, the half is decided, by a fork if it is open.
    """

    __slots__ = ("pieces", "symbol")

    def __init__(self, symbol: Symbol, pieces: tuple[Piece, ...], numpy: bool | None) -> None:
        self.symbol = symbol
        self.pieces = pieces
        self.integer = False
        self.numpy = numpy

    def noises(self, run: Any) -> set[Symbol]:
        found = {self.symbol}
        return found.union(*(p.noises(run) for p in self.pieces if isinstance(p, TracedReal)))

    def _half(self) -> int:
        """Which half this path is on, by a fork if it is open."""
        return int(len(self.pieces) == 2 and running().decide(_positive(self.symbol)))

    @property
    def form(self) -> Form:  # type: ignore[override]
        piece = self.pieces[self._half()]
        if isinstance(piece, TracedReal):
            return piece.form
        if isinstance(piece, ExponentialCell):
            self._refuse(ROUNDED)
        self._refuse(piece if isinstance(piece, Opaque) else BESIDE)

    def _refuse(self, reason: Opaque) -> NoReturn:
        site = running().draw_sites.get(self.symbol)  # type: ignore[attr-defined]
        place = None if site is None else (site[0], site[1])
        text = source_line(place)
        raise remembered(
            UntraceableError(
                f"{reason.what}, in `{text}`" if text else reason.what,
                f"{reason.advice}; or leave it: {SAMPLING}",
                shown(place),
            )
        )

    def retyped(self, numpy: bool | None) -> TracedReal:
        return _made(self.symbol, self.pieces, numpy)

    def dpest_signature(self) -> Any:
        forms = tuple(p.form if isinstance(p, TracedReal) else p for p in self.pieces)
        return ("curved", self.symbol, forms)

    # Arithmetic, on each half

    def _each(self, function: Callable[[Piece], Piece]) -> Any:
        return _made(self.symbol, tuple(map(function, self.pieces)), self.numpy)

    def _with(self, other: Any, function: Callable[[Piece, Piece], Piece]) -> Any:
        found = as_real(other)
        if not isinstance(found, TracedReal):
            if found is not NotImplemented:
                refuse("arithmetic of a uniform draw with an infinite number or NaN", "")
            return NotImplemented
        numpy = of_numpy(self, found)
        if isinstance(found, Curved) and found.symbol == self.symbol:
            others = found.pieces
        else:
            plain = TracedReal(found.form, False, found.numpy)
            others = tuple(self._on_half(plain, i) for i in range(len(self.pieces)))
        pairs = zip(self.pieces, others, strict=True)
        return _made(self.symbol, tuple(function(a, b) for a, b in pairs), numpy)

    def _on_half(self, value: TracedReal, half: int) -> TracedReal:
        """A number where the half is known, and with it what is said of N's sign."""
        if len(self.pieces) == 1:
            return value
        positive = TracedTruth(_positive(self.symbol))
        known = {}
        for symbol in value.form.symbols("indicator"):
            truth = running().defined(symbol)
            if truth.key == positive.key or truth.key == positive.negated().key:
                known[symbol] = Form.number(int((truth.key == positive.key) == bool(half)))
        return TracedReal(value.form.substitute(known)) if known else value

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: piece_sum(a, b, 1))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: piece_sum(a, b, -1))

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: piece_sum(b, a, -1))

    def __neg__(self) -> Any:
        return self._each(lambda p: piece_product(p, _number(-1)))

    def __mul__(self, other: Any) -> Any:
        from dpest.reading.tracing.in_units import InUnits  # it knows curves

        if isinstance(other, InUnits):
            return NotImplemented  # and knows how
        return self._with(other, piece_product)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        found = as_real(other)
        if not isinstance(found, TracedReal):
            return super().__truediv__(other)
        return self * _inverse(found)

    def __rtruediv__(self, other: Any) -> Any:
        return self._each(_inverse_piece) * other

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float)) and other in (0, 1):
            return self if other else 1.0
        refuse("a power of a noisy value", "powers are not linear in the noise: release it plain")

    def __abs__(self) -> Any:
        return self.sign() * self

    def sign(self) -> Any:
        """1 or −1; where it is not known on a half, by a fork."""
        signs = [self._sign(i) for i in range(len(self.pieces))]
        known = tuple(_number(s) for s in signs if s is not None)
        if len(known) < len(signs):
            return 1.0 if TracedReal(self.form) > 0 else -1.0
        return _made(self.symbol, known, self.numpy)

    def _sign(self, half: int) -> int | None:
        piece = self.pieces[half]
        if isinstance(piece, AffinePiece):
            return piece.sign() or None
        if isinstance(piece, ExponentialCell):
            return 1 if piece.factor > 0 else -1
        if len(self.pieces) == 1 or isinstance(piece, Opaque):
            return None
        if not piece.form.terms.keys() <= {self.symbol}:
            return None
        slope, rest = piece.form.terms.get(self.symbol, Fraction(0)), piece.form.constant
        slope *= self._side(half)
        if slope >= 0 and rest >= 0:
            return 1 if slope or rest else None
        return -1 if slope <= 0 and rest <= 0 else None

    def _side(self, half: int) -> int:
        """The sign of N there. One piece that is linear is no curve."""
        return 1 if half else -1

    def log(self) -> Any:
        """The natural logarithm."""
        found = _made(self.symbol, tuple(self._log(i) for i in range(len(self.pieces))), self.numpy)
        run: Any = running()
        curve = run.plan[run.draw_sites[self.symbol]]
        linear = any(isinstance(p, AffinePiece) and p.depth == 1 for p in self.pieces)
        return _over(curve, found) if linear and curve.kind != "geometric" else found

    def _log(self, half: int) -> Piece:
        piece = self.pieces[half]
        if isinstance(piece, AffinePiece) and piece.a and piece.ends()[0] == 0 and piece.depth:
            return Opaque(
                "two logarithms of one uniform draw, of u and of 1 - u",
                "draw once for each of them",
            )
        if not isinstance(piece, AffinePiece) or piece.a or piece.b < 0 or not piece.depth:
            return Opaque(
                "the logarithm of a uniform draw that does not run from 0 here",
                "a shifted or cut-off logarithm is not a noise that the trace knows",
            )
        if piece.b != 1:
            return Opaque(
                f"the logarithm of a uniform draw between 0 and {piece.b} here",
                "scale it to run up to 1: log(2*u) for u below 1/2",
            )
        if piece.depth == 2:
            return AffinePiece(Fraction(0), -_ONE, 1, None)
        noise = running().noise_of(self.symbol)
        if isinstance(noise, Geometric):
            site = running().draw_sites[self.symbol]  # type: ignore[attr-defined]
            rate = running().plan[site].scale  # type: ignore[attr-defined]
            return ExponentialCell(-_ONE, rate, _floor_of(self.symbol))
        side = -1 if isinstance(noise, Laplace) and not half else 1
        return TracedReal(Form({self.symbol: Fraction(-side)}))  # over its scale

    def _whole(self, operation: str, how: How, step: Fraction = _ONE, plain: bool = False) -> Any:
        piece = self.pieces[0]
        if not isinstance(piece, ExponentialCell):
            return super()._whole(operation, how, step, plain)
        up = self._upward(how)
        found = None if up is None or step != 1 else piece.rounded(up)
        if found is None:
            self._refuse(ROUNDED)
        return TracedReal(found, True, self.numpy)

    def _upward(self, how: How) -> bool | None:
        piece = self.pieces[0]
        if how == "trunc" and isinstance(piece, ExponentialCell):
            return piece.factor < 0
        return super()._upward(how)

    # Comparisons, on each half

    def _compared(self, other: Any, relation: Relation, flipped: bool) -> Any:
        gap = other - self if flipped else self - other
        if gap is NotImplemented:
            return NotImplemented
        if not isinstance(gap, Curved):
            return typed(about(gap.form, relation), gap.numpy)
        truths = [_truth(piece, relation) for piece in gap.pieces]
        if None in truths or len(truths) == 1:
            # One half may be known not to matter: decided, by a fork if it is open.
            return typed(gap._truth_here(truths), gap.numpy)
        high = TracedTruth(_positive(gap.symbol))
        both = joined(joined(high, truths[1], True), joined(high.negated(), truths[0], True), False)
        return typed(both, gap.numpy)

    def _truth_here(self, truths: Sequence[Any]) -> Any:
        half = self._half()
        if truths[half] is None:
            piece = self.pieces[half]
            self._refuse(piece if isinstance(piece, Opaque) else COMPARED)
        return truths[half]

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, ">", True)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, ">=", True)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, ">", False)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, ">=", False)

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, "==", False)

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else opposite(same)

    def __hash__(self) -> int:
        refuse("a noisy value is a key of a dict or set", "keep noisy values in a list")

    def __repr__(self) -> str:
        return f"⟨a curve over {self.symbol}⟩"


def _number(value: int) -> TracedReal:
    return TracedReal(Form.number(value))


def _positive(symbol: Symbol) -> Condition:
    return Condition(Form.of(symbol), ">")


def _made(symbol: Symbol, pieces: tuple[Piece, ...], numpy: bool | None) -> TracedReal:
    """A plain TracedReal where the pieces are one linear form."""
    first = pieces[0]
    forms = [p.form for p in pieces if isinstance(p, TracedReal)]
    if isinstance(first, TracedReal) and forms == [first.form] * len(pieces):
        return TracedReal(first.form, False, numpy)
    return Curved(symbol, pieces, numpy)


def _inverse(value: TracedReal) -> TracedReal:
    if isinstance(value, Curved):
        return value._each(_inverse_piece)
    return TracedReal(Form.number(1)) / value


def _inverse_piece(piece: Piece) -> Piece:
    if isinstance(piece, TracedReal) and not piece.form.terms:
        if not piece.form.constant:
            raise ZeroDivisionError("float division by zero")
        return TracedReal(Form.number(1 / piece.form.constant))
    return Opaque("a division by a noisy value", "divide by a number, or release both values")


def _truth(piece: Piece, relation: Relation) -> Any:
    """The truth of `piece relation 0`; None where it has no reading."""
    if isinstance(piece, Opaque):
        return None
    return about(piece.form, relation) if isinstance(piece, TracedReal) else piece.holds(relation)


# What the readings call


def logarithm(value: Any) -> Any:
    """The natural logarithm of a noisy value."""
    if isinstance(value, TracedTruth):
        value = value.number()
    if isinstance(value, Curved):
        return value.log()
    if not value.form.terms:
        return math.log(value.plain)
    if all(s.kind == "indicator" for s in value.form.terms):
        return math.log(float(value))
    again = _reread(value.form)
    if again is not None:
        raise remembered(again)
    refuse("the logarithm of a noisy value", NO_LOGARITHM)


def logarithm_of_more(value: Any) -> Any:
    """log1p."""
    return logarithm(value + 1)


def as_geometric(form: Form) -> RereadError | None:
    """How exponential noise has to be read for its floor to be a noise: as geometric."""
    run: Any = running()
    plan: Plan | None = getattr(run, "plan", None)
    if plan is None or len(form.terms) != 1 or form.constant:
        return None
    ((symbol, slope),) = form.terms.items()
    site, noise = run.draw_sites.get(symbol), run.noise_of(symbol)
    before = None if site is None else plan.get(site)
    if site is None or not isinstance(noise, Exponential) or not is_number(noise.scale):
        return None
    if not can_change(before):
        return None
    rate = abs(slope) * exact(noise.scale)
    part = before or Curve("geometric", True, "exponential")
    return RereadError({site: replace(part, kind="geometric", scale=rate)})


def chosen_of_curves(truth: TracedTruth, yes: Any, no: Any) -> Any:
    """np.where on the sign of N, without a fork; None where it is something else."""
    curve = yes if isinstance(yes, Curved) else no
    if not isinstance(curve, Curved) or len(curve.pieces) != 2:
        return None
    positive = TracedTruth(_positive(curve.symbol))
    if truth.key == positive.key:
        low, high = no, yes
    elif truth.key == positive.negated().key:
        low, high = yes, no
    else:
        return None
    pieces = []
    for half, value in enumerate((low, high)):
        found = as_real(value)
        if not isinstance(found, TracedReal):
            return None
        if isinstance(found, Curved):
            if found.symbol != curve.symbol:
                return None
            pieces.append(found.pieces[half])
        else:
            pieces.append(found)
    return _made(curve.symbol, tuple(pieces), of_numpy(yes, no))


def _reread(form: Form) -> RereadError | None:
    """How the draw inside has to be read for its logarithm to be linear."""
    run = running()
    plan: Plan | None = getattr(run, "plan", None)
    if plan is None or len(form.terms) != 1:
        return None
    ((symbol, slope),) = form.terms.items()
    site: Site | None = run.draw_sites.get(symbol)  # type: ignore[attr-defined]
    noise = run.noise_of(symbol)
    if site is None or noise is None:
        return None
    if isinstance(noise, Exponential) and is_number(noise.scale) and not form.constant:
        if slope * exact(noise.scale) != 1:
            refuse(
                f"the logarithm of {slope * exact(noise.scale)} times a standard exponential noise",
                "write log(e) of the standard noise and move the factor out of it",
            )
        before = plan.get(site)
        if before is not None:
            return RereadError({site: replace(before, kind="gumbel")})
        return RereadError({site: Curve("gumbel", True, "exponential")})
    if not isinstance(noise, Uniform) or not (is_number(noise.low) and is_number(noise.high)):
        return None
    low, high = exact(noise.low), exact(noise.high)
    at = [form.constant + slope * v for v in (low, (low + high) / 2, high)]
    if (min(at), max(at)) == (0, 1):
        return RereadError({site: Curve("exponential", at[0] == 0)})
    if at[1] == 1 and min(at) == 0:
        return RereadError({site: Curve("laplace", True)})
    if at[1] == 0 and max(at) == 1:
        return RereadError({site: Curve("laplace", False)})
    if min(at) == 0:
        refuse(
            f"the logarithm of a uniform draw between 0 and {max(at)}",
            "scale it to run from 0 to 1: log(u / c) + log(c) is log(u)",
        )
    if min(at) < 0:
        refuse(
            "the logarithm of a uniform draw that can be negative",
            "log(u), log(1 - u), log(2u) below 1/2 and log(1 - 2|u - 1/2|) can be read",
        )
    refuse(
        f"the logarithm of a uniform draw between {min(at)} and {max(at)}: noise with an end",
        "noise that is added to data must have none: let the draw run from 0 to 1",
    )
