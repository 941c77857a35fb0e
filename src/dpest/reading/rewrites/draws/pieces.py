"""A uniform draw, cut where it is compared: in which piece it lies, and where in it.

The two are independent (`laws/curves`). So logarithms of its place in the piece are read as one new
exponential (or Gumbel) noise, and the draw itself is left to say which piece it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from dpest.geometry.linear import Condition, Form, Symbol, compare
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.signals import Refused
from dpest.reading.rewrites.draws.changes import ChangedWay, symbols_in
from dpest.reading.rewrites.laws.curves import (
    BESIDE,
    Bend,
    CurveRange,
    CutNeeded,
    Line,
    Shape,
    UnreadCurve,
    cut,
    range_of,
    shape_on,
)
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Holds,
    Law,
    recognised,
)

_ONE = Fraction(1)
_MOST_PIECES = 16


class Piece:
    """The draw lies in a piece of its range."""

    def __init__(self, reading: PieceReading, piece: CurveRange) -> None:
        self.reading = reading
        self.piece = piece
        self.end: bool | None = None  # from which end of the piece its place is measured
        draw, whole = Form.of(reading.draw), reading.whole
        above = Condition(draw.minus(Form(None, piece.low)), ">=")
        below = Condition(Form(None, piece.high).minus(draw), ">")
        ends = ((above, piece.low > whole.low), (below, piece.high < whole.high))
        self.side = tuple(condition for condition, inside in ends if inside)
        self._values: dict[Symbol, Form] = {}

    def holds(self, condition: Condition) -> bool:
        middle = (self.piece.low + self.piece.high) / 2
        return compare(condition.form.at({self.reading.draw: middle}), condition.relation)

    def value(self, symbol: Symbol) -> Form | None:
        made = self.reading.curves.get(symbol)
        if made is None:
            return None
        if symbol not in self._values:
            shape = shape_on(made, self.piece)
            if isinstance(shape, Line) and shape.slope:
                raise self.reading.refused(symbol, BESIDE)
            if isinstance(shape, UnreadCurve):
                raise self.reading.refused(symbol, shape)
            self._values[symbol] = self.reading.like(symbol, self._in_terms_of_noise(shape))
        return self._values[symbol]

    def _in_terms_of_noise(self, shape: Shape) -> Form:
        assert not isinstance(shape, UnreadCurve)
        form = Form(None, shape.constant)
        if isinstance(shape, Bend):
            # The noise is −log w, or −log of that.
            form = form.minus(Form.of(self.reading.noise).times(shape.slope))
        return form


class PieceReading:
    """What was made of one uniform draw, by its place in the piece in which it lies."""

    keeps_draw = True

    def __init__(
        self,
        drawn: Drawn,
        curves: Mapping[Symbol, Expression],
        ways: Sequence[ChangedWay],
        definitions: Mapping[Symbol, Truth],
        refused: Callable[[Symbol, UnreadCurve], Refused],
        like: Callable[[Symbol, Form], Form],
    ) -> None:
        whole = range_of(drawn)
        assert whole is not None
        self.drawn, self.draw, self.whole = drawn, drawn.symbol, whole
        self.curves, self.refused, self.like = curves, refused, like
        self.noise: Symbol
        self._ways = [(way, list(symbols_in(way, definitions))) for way in ways]
        self.depth = 1
        self.cases = self._pieces()

    def _pieces(self) -> list[Piece]:
        places = set(self._compared())
        while len(places) < _MOST_PIECES:
            pieces = [Piece(self, piece) for piece in cut(self.whole, sorted(places))]
            try:
                self._measure(pieces)
            except CutNeeded as needed:
                places.add(needed.place)
                continue
            return pieces
        raise Refused("a uniform draw that is compared with many numbers beside its logarithm")

    def _compared(self) -> Iterable[Fraction]:
        """The numbers that the draw is compared with."""
        for _, symbols in self._ways:
            for symbol, condition in symbols:
                if symbol != self.draw:
                    continue
                if condition is None or len(condition.form.terms) > 1:
                    raise self.refused(self.draw, BESIDE)
                yield -condition.form.constant / condition.form.terms[symbol]

    def _measure(self, pieces: Sequence[Piece]) -> None:
        """From which end each piece is measured, and by how many logarithms."""
        depths = set()
        for piece in pieces:
            ends = set()
            for symbol in self._used_on(piece):
                shape = shape_on(self.curves[symbol], piece.piece)
                if isinstance(shape, UnreadCurve):
                    raise self.refused(symbol, shape)
                if isinstance(shape, Line) and shape.slope:
                    raise self.refused(symbol, BESIDE)
                if isinstance(shape, Bend):
                    ends.add(shape.from_low)
                    depths.add(shape.depth)
                if len(ends) > 1 or len(depths) > 1:
                    raise self.refused(symbol, TWO_LOGARITHMS)
            piece.end = next(iter(ends), True)
        self.depth = next(iter(depths), 1)

    def _used_on(self, piece: Piece) -> dict[Symbol, None]:
        """What was made of the draw, and matters where it lies in this piece."""
        found: dict[Symbol, None] = {}
        for way, symbols in self._ways:
            about = [c for c in way.conditions if c.form.terms.keys() == {self.draw}]
            if all(piece.holds(c) for c in about):
                found.update(dict.fromkeys(s for s, _ in symbols if s in self.curves))
        return found

    def noise_made(self) -> tuple[Expression, Law]:
        """The logarithm of the place in the piece, as one expression, and its law."""
        *before, last = self.cases
        made = self._logarithm(last)
        for piece in reversed(before):
            below = Combination(piece.piece.high, ((-_ONE, self.drawn),))
            made = Applied("where", (Holds(below, ">"), self._logarithm(piece), made))
        law = recognised(made)
        assert law is not None
        return made, law

    def _logarithm(self, piece: Piece) -> Expression:
        low, high, width = piece.piece.low, piece.piece.high, piece.piece.width
        if piece.end:
            place = Combination(-low / width, ((1 / width, self.drawn),))
        else:
            place = Combination(high / width, ((-1 / width, self.drawn),))
        made: Expression = Applied("log", (place,))
        if self.depth == 2:
            made = Applied("log", (Combination(Fraction(0), ((-_ONE, made),)),))
        return made


TWO_LOGARITHMS = UnreadCurve(
    "two logarithms of one uniform draw, of u and of 1 - u", "draw once for each of them"
)
