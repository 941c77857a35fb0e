"""Symbols of a certificate, where their values lie, and how long vectors of them can be.

A form is Σ coefficient·symbol + constant. A symbol is a field of a record, a public value, a sum
over the records, a noise, or a function of forms. Ranges are exact for sums, products and squares,
and rounded outwards for roots and exponentials; an end that is None is infinite.

**Clipping by a norm.** Let N = √Σ gᵢ² (or |g|). A vector gᵢ·s with one common factor 0 ≤ s ≤ K/N is
no longer than K, and gᵢ/m with m ≥ N/K neither. `_times` and `_least` show such bounds for factors
made of minima, maxima and quotients: min(1, K/D) with D ≥ N, max(1, N/K). Each gᵢ must be a part of
N of its own; a part may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeVar

from ..invalid import Invalid
from .enclosures import exp_range, log_range, sqrt_range

Name = TypeVar("Name", bound=Hashable)
End = Fraction | None
Range = tuple[End, End]
EVERYWHERE: Range = (None, None)
RELATIONS = (">", ">=", "==", "!=")
COINS = ({"heads", "tails"}, {"in", "out"})
"""What a record's own coin shows, and whether the record is in a subset."""
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor, "ceil": math.ceil, "rint": round,
}  # fmt: skip
"""They grow with their argument, and give whole numbers."""


@dataclass(frozen=True)
class RecordForm:
    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction

    def times(self, factor: Fraction) -> RecordForm:
        return RecordForm(tuple((s, c * factor) for s, c in self.terms), self.constant * factor)


@dataclass(frozen=True)
class RecordCondition:
    """About a record: a form against 0, or a coin of its own that shows heads or tails."""

    relation: str
    form: RecordForm | None = None
    coin: str = ""
    chance: Fraction = Fraction(1)

    def opposite(self, other: RecordCondition) -> bool:
        if self.form is None or other.form is None:
            both = self.form is None and other.form is None
            same = (self.coin, self.chance) == (other.coin, other.chance)
            return both and same and {self.relation, other.relation} in COINS
        pair = {self.relation, other.relation}
        if self.form == other.form:
            return pair == {"==", "!="} or pair == {"==", ">"}
        if self.form.times(Fraction(-1)) == other.form:
            return pair in ({">", ">="}, {">"}) or pair == {"==", ">"}
        return False


@dataclass(frozen=True)
class RecordSymbol:
    """`op` and its arguments; `record`: whether it depends on a record, and `index` on which.

    A function has `forms`; a field has a `name`; a noise, a sum and a public value have `numbers`.
    """

    op: str
    record: bool
    index: int | None
    after: int
    """How many rows must have been visible before its public parts are known."""
    forms: tuple[RecordForm, ...] = ()
    numbers: tuple[int, ...] = ()
    name: str = ""
    private: bool = False
    """A function of sums over the records (or of several records that have symbols of their own)
    that is 1-Lipschitz in its largest argument: abs, min, max, or one of several."""


class RecordColumn(NamedTuple):
    """Between which numbers a field is, whether it is whole, and which values its places name."""

    low: End
    high: End
    whole: bool
    values: tuple[str, ...] = ()
    of_all: bool = False
    """Not a field: what one record moves a number of all records by."""
    of_person: bool = False
    """Not a field of a row: a number that all rows of a person decide."""

    @property
    def made(self) -> bool:
        """Whether it is no field, but a number that is made of several records or rows."""
        return self.of_all or self.of_person


def low_of(a: End, b: End) -> End:
    return None if a is None or b is None else min(a, b)


def high_of(a: End, b: End) -> End:
    return None if a is None or b is None else max(a, b)


def plus(a: Range, b: Range) -> Range:
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def scaled(a: Range, c: Fraction) -> Range:
    ends = (None if a[0] is None else a[0] * c, None if a[1] is None else a[1] * c)
    return ends if c >= 0 else (ends[1], ends[0])


def product(a: Range, b: Range) -> Range:
    """All products; 0 times an unbounded end is 0, the other end of both being finite numbers."""
    nothing = (Fraction(0), Fraction(0))
    if nothing in (a, b):
        return nothing
    known = [[end for end in r if end is not None] for r in (a, b)]
    if len(known[0]) == len(known[1]) == 2:
        values = [x * y for x in known[0] for y in known[1]]
        return min(values), max(values)
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], None
    return EVERYWHERE


def size(a: Range) -> End:
    """The largest size of a number in a range."""
    return None if a[0] is None or a[1] is None else max(abs(a[0]), abs(a[1]))


@dataclass
class RecordTerms:
    """The symbols of one way, with the ranges of the fields of a record."""

    symbols: Sequence[RecordSymbol]
    fields: Mapping[str, RecordColumn]
    _known: dict[object, Range] = field(default_factory=dict)

    # Ranges --------------------------------------------------------------------------------------

    def box(self, conditions: Iterable[RecordCondition]) -> dict[int, Range]:
        """What conditions about one symbol say of it."""
        found: dict[int, Range] = {}
        for condition in conditions:
            form = condition.form
            if form is None or len(form.terms) != 1 or condition.relation == "!=":
                continue
            ((symbol, slope),) = form.terms
            end = -form.constant / slope
            low, high = found.get(symbol, EVERYWHERE)
            if condition.relation == "==" or slope > 0:
                low = end if low is None else max(low, end)
            if condition.relation == "==" or slope < 0:
                high = end if high is None else min(high, end)
            found[symbol] = (low, high)
        return found

    def empty(self, conditions: Sequence[RecordCondition]) -> bool:
        """Whether no record meets the conditions, as far as that is easily seen."""
        for i, a in enumerate(conditions):
            if any(a.opposite(b) for b in conditions[i + 1 :]):
                return True
        box = self.box(conditions)
        for symbol in box:
            low, high = self.range(symbol, box)
            if low is not None and high is not None and low > high:
                return True
        return False

    def range_of(self, form: RecordForm, box: Mapping[int, Range]) -> Range:
        found: Range = (form.constant, form.constant)
        huge = 0
        for symbol, c in form.terms:
            found = plus(found, scaled(self.range(symbol, box), c))
            huge += self.overflows(symbol, box)
        if huge > 1:
            raise Invalid("a difference of exponentials that may both be infinite")
        return found

    def range(self, symbol: int, box: Mapping[int, Range]) -> Range:
        key = (symbol, tuple(sorted(box.items(), key=lambda i: i[0])))
        if key not in self._known:
            low, high = self._range(self.symbols[symbol], box)
            if symbol in box:
                a, b = box[symbol]
                low = a if low is None else low if a is None else max(low, a)
                high = b if high is None else high if b is None else min(high, b)
            self._known[key] = (low, high)
        return self._known[key]

    def _range(self, s: RecordSymbol, box: Mapping[int, Range]) -> Range:
        if s.op == "field":
            return self.fields[s.name].low, self.fields[s.name].high
        if s.op in ("pub", "public"):
            return EVERYWHERE
        if s.op in ("sum", "noise") or s.private:
            raise Invalid("the range of a private value")
        inner = [self.range_of(a, box) for a in s.forms]
        if s.op in ("mul", "div") and any(self._huge(a, box) for a in s.forms[:1]):
            raise Invalid("a product with an exponential that may be infinite")
        if s.op == "mul":
            if self._huge(s.forms[1], box):
                raise Invalid("a product with an exponential that may be infinite")
            return self._squared(inner[0]) if s.forms[0] == s.forms[1] else product(*inner)
        if s.op == "div":
            return self._quotient(s, inner)
        if s.op == "abs":
            return self._absolute(inner[0])
        if s.op in ("min", "max"):
            return self._extreme(s.op, inner)
        if s.op == "norm":
            return self._norm(inner)
        return self._function(s.op, inner[0])

    def _squared(self, a: Range) -> Range:
        low, high = self._absolute(a)
        return (low or Fraction(0)) ** 2, None if high is None else high**2

    def _absolute(self, a: Range) -> Range:
        low, high = a
        if low is not None and low >= 0:
            return a
        if high is not None and high <= 0:
            return -high, None if low is None else -low
        return Fraction(0), size(a)

    def _extreme(self, op: str, inner: Sequence[Range]) -> Range:
        lows = [r[0] for r in inner if r[0] is not None]
        highs = [r[1] for r in inner if r[1] is not None]
        all_low, all_high = len(lows) == len(inner), len(highs) == len(inner)
        if op == "min":
            return min(lows) if all_low else None, min(highs) if highs else None
        return max(lows) if lows else None, max(highs) if all_high else None

    def _norm(self, inner: Sequence[Range]) -> Range:
        sizes = [self._absolute(r) for r in inner]
        low = sqrt_range(sum(((r[0] or Fraction(0)) ** 2 for r in sizes), Fraction(0)))[0]
        highs = [r[1] for r in sizes if r[1] is not None]
        if len(highs) < len(sizes):
            return low, None
        return low, sqrt_range(sum((h * h for h in highs), Fraction(0)))[1]

    def _quotient(self, s: RecordSymbol, inner: Sequence[Range]) -> Range:
        low, high = inner[1]
        if low is not None and low > 0:
            other = (Fraction(0) if high is None else 1 / high, 1 / low)
        elif high is not None and high < 0:
            other = (1 / high, Fraction(0) if low is None else 1 / low)
        elif s.record and self._of_record(s.forms[1]):
            raise Invalid("a division by a value of a record that may be 0")
        else:
            return EVERYWHERE
        return product(inner[0], other)

    def _of_record(self, form: RecordForm) -> bool:
        return any(self.symbols[t].record for t, _ in form.terms)

    def _function(self, op: str, a: Range) -> Range:
        low, high = a
        one = Fraction(1)
        if op == "expit":
            return Fraction(0), one
        if op in ("sin", "cos"):
            return -one, one
        if op == "tanh":
            return self._bounded(a, one)
        if op == "arctan":
            return self._bounded(a, Fraction(15708, 10000))
        if op in ("exp", "npexp"):
            if op == "exp" and (high is None or high > 700):
                raise Invalid("an exponential of a record that may overflow")
            least = (
                Fraction(0) if low is None or low < -4000 else max(exp_range(low)[0], Fraction(0))
            )
            return least, None if high is None or high > 700 else exp_range(high)[1]
        if op == "sqrt":
            if low is None or low < 0:
                raise Invalid("the root of a value of a record that may be negative")
            return sqrt_range(low)[0], None if high is None else sqrt_range(high)[1]
        if op in ("log", "log1p"):
            shift = 1 if op == "log1p" else 0
            if low is None or low + shift <= 0:
                raise Invalid("the logarithm of a value of a record that may not be positive")
            return log_range(low + shift)[0], None if high is None else log_range(high + shift)[1]
        if op in ROUNDINGS:
            ends = [None if end is None else Fraction(ROUNDINGS[op](end)) for end in a]
            return ends[0], ends[1]
        raise Invalid(f"a function that is not known: {op}")

    def _bounded(self, a: Range, most: Fraction) -> Range:
        """An odd, growing function that is at most its argument, and at most `most`."""
        low, high = a
        return (
            -most if low is None or low < -most else min(low, Fraction(0)),
            most if high is None or high > most else max(high, Fraction(0)),
        )

    # Whole numbers, and slopes -------------------------------------------------------------------

    def whole(self, form: RecordForm) -> bool:
        """Whether a form of a record is a whole number whatever the record is."""
        if form.constant.denominator != 1:
            return False
        return all(c.denominator == 1 and self._whole(s) for s, c in form.terms)

    def _whole(self, symbol: int) -> bool:
        s = self.symbols[symbol]
        if s.op == "field":
            return self.fields[s.name][2]
        if s.op in ("abs", "min", "max", "mul"):
            return all(map(self.whole, s.forms))
        return s.op in ROUNDINGS

    def slope(self, form: RecordForm) -> Fraction:
        """L with |form(r) − form(r′)| ≤ L·max |field − field′|, for every pair of records."""
        return sum((abs(c) * self._slope(s) for s, c in form.terms), Fraction(0))

    def _slope(self, symbol: int) -> Fraction:
        s = self.symbols[symbol]
        if s.op == "field":
            return Fraction(1)
        if not s.record:
            return Fraction(0)
        if s.op in ("abs", "min", "max", "tanh", "sin", "cos", "arctan"):
            return max(map(self.slope, s.forms))
        raise Invalid(f"how much `{s.op}` of a record moves where the record moves a little")

    # Exponentials that may be infinite -----------------------------------------------------------

    def overflows(self, symbol: int, box: Mapping[int, Range]) -> bool:
        """Whether a symbol may be infinite in doubles: np.exp of something without a bound, and
        what is made of it and has no bound either."""
        s = self.symbols[symbol]
        if s.op != "npexp" and not any(self._huge(form, box) for form in s.forms):
            return False
        return None in (self.range(symbol, box) if s.op != "npexp" else self.range(symbol, box)[1:])

    def _huge(self, form: RecordForm, box: Mapping[int, Range]) -> bool:
        return any(self.overflows(t, box) for t, _ in form.terms)

    # Lengths -------------------------------------------------------------------------------------

    def parts(self, symbol: int) -> tuple[RecordForm, ...] | None:
        """What a norm is the length of."""
        s = self.symbols[symbol]
        return s.forms if s.op in ("norm", "abs") else None

    def norms_in(self, form: RecordForm) -> set[int]:
        """All norms that a form is made of."""
        found: set[int] = set()
        for symbol, _ in form.terms:
            if self.parts(symbol) is not None:
                found.add(symbol)
            for argument in self.symbols[symbol].forms:
                found |= self.norms_in(argument)
        return found

    def least(self, form: RecordForm, norm: int, box: Mapping[int, Range]) -> Fraction:
        """c ≥ 0 with form ≥ c·norm."""
        best = Fraction(0)
        for symbol, slope in form.terms:
            if slope <= 0:
                continue
            c = Fraction(1) if symbol == norm else Fraction(0)
            s = self.symbols[symbol]
            if s.op == "max":
                c = max([c, *(self.least(a, norm, box) for a in s.forms)])
            if c == 0:
                continue
            rest = RecordForm(tuple(t for t in form.terms if t[0] != symbol), form.constant)
            low = self.range_of(rest, box)[0]
            if low is not None and low >= 0:
                best = max(best, c * slope)
        return best

    def times(self, form: RecordForm, norm: int, box: Mapping[int, Range]) -> End:
        """K with 0 ≤ form and form·norm ≤ K, or None."""
        low = self.range_of(form, box)[0]
        if low is None or low < 0 or form.constant or len(form.terms) != 1:
            return None
        ((symbol, slope),) = form.terms
        s = self.symbols[symbol]
        if s.op == "min":
            found = [self.times(a, norm, box) for a in s.forms]
            bounds = [b for b in found if b is not None]
            return min(bounds) * slope if bounds and slope > 0 else None
        if s.op == "div":
            numerator, denominator = s.forms
            top = self.range_of(numerator, box)[1]
            c = self.least(denominator, norm, box)
            if c > 0 and top is not None and top >= 0 and slope > 0:
                return top / c * slope
        return None

    def ratio(self, a: RecordForm, b: RecordForm) -> Fraction | None:
        """c with a = c·b."""
        if [t for t, _ in a.terms] != [t for t, _ in b.terms] or not a.terms:
            return None
        c = a.terms[0][1] / b.terms[0][1]
        return c if b.times(c) == a else None

    def clipped(
        self, form: RecordForm, box: Mapping[int, Range]
    ) -> list[tuple[tuple[int, str, RecordForm], RecordForm, Fraction]]:
        """Ways to see a form as part·factor: (norm and factor, the part, bound on the length)."""
        if form.constant or len(form.terms) != 1:
            return []
        ((symbol, c),) = form.terms
        s = self.symbols[symbol]
        found = []
        if s.op == "div":
            part, m = s.forms
            low = self.range_of(m, box)[0]
            if low is not None and low > 0:
                for norm in sorted(self.norms_in(m)):
                    least = self.least(m, norm, box)
                    if least > 0:
                        found.append(((norm, "/", m), part.times(c), 1 / least))
        elif s.op == "mul":
            for part, factor in (s.forms, s.forms[::-1]):
                for norm in sorted(self.norms_in(factor)):
                    most = self.times(factor, norm, box)
                    if most is not None:
                        found.append(((norm, "*", factor), part.times(c), most))
        return found

    def within(
        self, forms: Mapping[Name, RecordForm], conditions: Sequence[RecordCondition]
    ) -> list[tuple[frozenset[Name], Fraction]]:
        """Groups of forms that are together no longer than a number."""
        box = self.box(conditions)
        groups: dict[tuple[int, str, RecordForm], dict[Name, tuple[RecordForm, Fraction]]] = {}
        for name, form in forms.items():
            for key, part, most in self.clipped(form, box):
                groups.setdefault(key, {})[name] = (part, most)
        for condition in conditions:  # most − norm ≥ 0
            f = condition.form
            if f is None or len(f.terms) != 1 or condition.relation not in (">", ">="):
                continue
            ((symbol, slope),) = f.terms
            if slope < 0 and self.parts(symbol) is not None:
                most = max(Fraction(0), f.constant / -slope)
                for name, form in forms.items():
                    groups.setdefault((symbol, "if", f), {})[name] = (form, most)
        found = []
        for key, members in groups.items():
            group = self._matched(key[0], members)
            if group is not None:
                found.append(group)
        return found

    def _matched(
        self, norm: int, members: Mapping[Name, tuple[RecordForm, Fraction]]
    ) -> tuple[frozenset[Name], Fraction] | None:
        """The members that are multiples of parts of the norm, each of one of its own."""
        left = list(self.parts(norm) or ())
        most = Fraction(0)
        names: set[Name] = set()
        for name, (part, bound) in members.items():
            for i, other in enumerate(left):
                c = self.ratio(part, other)
                if c is not None:
                    most = max(most, abs(c) * bound)
                    names.add(name)
                    del left[i]
                    break
        return (frozenset(names), most) if names else None
