"""Operators on plain values, forms, truths, small arrays, and one value per record."""

from __future__ import annotations

import math
import operator
import pickle
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.contributions.choices import Choices
from dpest.reading.contributions.forms import (
    GAP,
    NOISE,
    RECORD,
    SUM,
    TOTAL,
    SymbolicForm,
    Terms,
    Unread,
    number,
)
from dpest.reading.contributions.functions.units import (
    UNITS,
    arithmetic,
    as_number,
    function_of,
    has_unit,
)
from dpest.reading.contributions.values import (
    Case,
    Combined,
    Map,
    Object,
    Option,
    ProgramObject,
    RecordPosition,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
    Stepped,
    Uniforms,
)

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
# Others wrap or round: what they do is not what numbers do.
_NUMBERS = (bool, int, float, np.int64, np.float64, np.bool_)
_DTYPES = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))


def is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS)


def is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def _infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and math.isinf(value)


def is_plain(value: Any) -> bool:
    """A value that is known here: a number, text, None, or a tuple or small array of such."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if isinstance(value, SmallArray):
        return all(map(is_number, value.cells))
    return value is None or isinstance(value, (str, bytes, slice, range, *_NUMBERS, *UNITS))


def to_native(value: Any) -> Any:
    """A plain value as Python and NumPy have it."""
    if isinstance(value, SmallArray):
        return np.array(value.cells).reshape(value.shape)
    if isinstance(value, tuple):
        return tuple(map(to_native, value))
    if isinstance(value, Seq):
        return [to_native(v) for v in value.items]
    return value


def from_native(value: Any) -> Any:
    """What a native call gave, as this reading holds it."""
    if isinstance(value, np.ndarray):
        if value.dtype not in _DTYPES:
            raise Unread(f"an array of {value.dtype}")
        if value.ndim == 0:
            return value[()]
        return SmallArray(value.shape, [value.ravel()[i].item() for i in range(value.size)])
    if isinstance(value, list):
        return Seq([from_native(v) for v in value])
    if isinstance(value, tuple):
        return tuple(map(from_native, value))
    if type(value) is dict and all(map(is_plain, (*value, *value.values()))):
        return Map(dict(value))  # nothing in it can be changed by another name
    if isinstance(value, Fraction):
        return as_number(value)
    if is_plain(value):
        return value
    raise Unread(f"a value of type {type(value).__name__}")


def natively(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """A call on plain values; what raises, or changes what it is given, ends the reading."""
    native = [to_native(v) for v in arguments]
    options = {k: to_native(v) for k, v in named.items()}
    given = [v for v in (*native, *options.values()) if isinstance(v, (np.ndarray, list, tuple))]
    try:
        before = pickle.dumps(given) if given else b""
        with np.errstate(all="ignore"):
            found = function(*native, **options)
        after = pickle.dumps(given) if given else b""
    except Exception as error:
        raise Unread(f"a call that raises {type(error).__name__}: {error}") from None
    if before != after:
        raise Unread("a call that changes what it is given")
    result = from_native(found)
    inside = list(_arrays(given))
    if any(np.shares_memory(a, b) for a in _arrays(found) for b in inside):
        share((*arguments, *named.values(), result))
    return result


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays of NumPy in a value."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _arrays(v)


def share(value: Any) -> None:
    """From here on what a value holds may be held by another: it must not be changed."""
    if isinstance(value, (SmallArray, Seq, Map, ProgramObject)):
        if value.shared:
            return
        value.shared = True
    inside: dict[type, Any] = {
        tuple: tuple,
        Seq: lambda s: s.items,
        Map: lambda d: d.items.values(),
        ProgramObject: lambda o: o.attributes.values(),
    }
    for v in inside.get(type(value), lambda _: ())(value):
        share(v)


def unshared(value: Any) -> None:
    """Refuses a change in place of what may be held by another."""
    if isinstance(value, (SmallArray, Seq, Map, ProgramObject)) and value.shared:
        raise Unread("a change in place of what may be held, or seen, by another name")


class Arithmetic(Choices):
    """Operators. Whatever leaves the linear forms must be public, or of one record."""

    terms: Terms
    record: Any
    by_cases: bool = False
    """For a graph of sums: every decision is a way of its own, and order statistics are symbols."""

    public_length: Any = None
    """The number of records where that is public: a number, or a form."""

    # Levels --------------------------------------------------------------------------------------

    def form(self, value: Any) -> SymbolicForm:
        """A number as a form; a truth counts as 0 or 1, by cases."""
        if isinstance(value, SymbolicForm):
            return value
        if isinstance(value, (RecordTruth, Combined)):
            return number(int(self.decide(value)))
        if is_number(value):
            plain = value.item() if hasattr(value, "item") else value
            if isinstance(plain, float) and not math.isfinite(plain):
                raise Unread(
                    "an infinite number, or NaN, among private values: one record makes the whole "
                    "result so. Replace it first (fillna, np.nan_to_num, a test with math.isnan)"
                )
            return number(plain)
        if isinstance(value, (RecordPosition, Stepped)):
            raise Unread(
                "what is done with a record depends on its place: on how many came before it"
            )
        raise Unread(f"arithmetic with {type(value).__name__}")

    def local(self, form: SymbolicForm) -> SymbolicForm:
        """The same value by public symbols and those of one record; the rest is made visible."""
        form = self.reveal(form)
        kind = self.terms.kind(form)
        if kind & TOTAL:
            raise Unread("what a record adds depends on the records before it")
        if not kind & (SUM | NOISE):
            if len(self.terms.records_of(form)) <= 1:
                return form
            if self.in_pass:
                raise Unread("a function of several records that is not a sum")
            return form  # private as a whole: good for a score, and for nothing that is seen
        if not self.in_pass and not kind & (NOISE | RECORD):
            return form  # likewise
        mine = self._own(form)
        rest = form.part({s for s in form.symbols if s not in mine and self.terms.kinds[s]})
        if not mine or not (self.in_pass or self.is_seen(rest) or self.terms.records_of(rest)):
            return self.visible(form)
        return (form - rest) + self.visible(rest)

    def _own(self, form: SymbolicForm) -> set[int]:
        """The symbols of the record that a function is of; all others are to be made visible.

        Where records have symbols of their own it is the last one, as in a stream. Another choice
        would be sound too, and prove less.
        """
        records = self.terms.records_of(form)
        if not records:
            return set()
        last = max(records) if None not in records else None
        return {s for s in form.symbols if self.terms.records[s] == frozenset([last])}

    def visible(self, form: SymbolicForm) -> SymbolicForm:
        raise NotImplementedError

    def pinned(self, value: Any) -> Any:
        raise NotImplementedError

    def winner(self, forms: Sequence[SymbolicForm]) -> int:
        raise NotImplementedError

    def reveal(self, form: SymbolicForm) -> SymbolicForm:
        raise NotImplementedError

    def fresh_uniform(self, form: SymbolicForm) -> int | None:
        raise NotImplementedError

    def is_seen(self, form: SymbolicForm) -> bool:
        raise NotImplementedError

    def publicly(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError

    @property
    def in_pass(self) -> bool:
        raise NotImplementedError

    # Scalars -------------------------------------------------------------------------------------

    def scalar(self, op: str, a: Any, b: Any) -> Any:
        if op in ("&", "|") and all(
            isinstance(v, (RecordTruth, Combined, bool, np.bool_)) for v in (a, b)
        ):
            return self.joined(op == "&", a, b)
        if (is_nan(a) or is_nan(b)) and op in ("+", "-", "*", "/"):
            return math.nan
        if has_unit(a) or has_unit(b):
            return arithmetic(self, op, a, b)
        if self.gap_case == "empty" and op in ("+", "-") and (_infinite(a) or _infinite(b)):
            return natively(BINARY[op], *(v if _infinite(v) else 0.0 for v in (a, b)))
        x, y = self.form(a), self.form(b)
        if self.gap_case == "empty" and op == "/" and not y.terms and not y.constant:
            return self.over_no_length(x)
        if op == "+":
            return self.tidy(self.noted(self.point_of(x + y)))
        if op == "-":
            return self.tidy(self.noted(self.point_of(x - y)))
        if op == "*":
            if x.terms and y.terms and not self.of_uniform(x, y):
                x, y = self.local(x), self.local(y)
            return self.tidy(self.terms.mul(x, y))
        if op == "/":
            if self.is_over(x, y):
                return self.over(x, y)
            if y.terms:
                x, y = self.local(x), self.local(y)
            return self.tidy(self.terms.div(x, y))
        if op == "**":
            return self.power(x, y)
        if op in ("//", "%"):
            x, y = self.local(x), self.local(y)
            known = self.pinned(x)
            if is_number(known) and not y.terms and self.in_pass:
                return natively(BINARY[op], known, b if is_number(b) else self.tidy(y))
            if self.terms.kind(x) or self.terms.kind(y):
                raise Unread(f"`{op}` of private values")
            return self.publicly(BINARY[op], x, y)
        raise Unread(f"`{op}` of values that are not plain")

    def noted(self, form: SymbolicForm) -> SymbolicForm:
        """A sum; one with noise is remembered: a count with its noise."""
        raise NotImplementedError

    gap_case: str | None = None

    def over_no_length(self, form: SymbolicForm) -> float:
        """A number of a gap of length 0, divided by 0 as NumPy does it."""
        node = self.terms.nodes[form.terms[0][0]] if len(form.terms) == 1 else ("",)
        if node[0] != "gap noise" or form.constant or form.terms[0][1] < 0:
            raise Unread("a division by 0, for a gap between equal records")
        return math.inf if self.is_positive_noise(node[1]) else math.nan

    def is_positive_noise(self, number: int) -> bool:
        raise NotImplementedError

    def point_of(self, form: SymbolicForm) -> SymbolicForm:
        """A sum that is a uniform point of the gap that was chosen, as a public number."""
        return form

    def is_over(self, x: SymbolicForm, y: SymbolicForm) -> bool:
        """Whether a private number is divided by a public one that is not known here."""
        if self.in_pass or not y.terms or self.terms.kind(y):
            return False
        kind = self.terms.kind(x)
        return bool(kind & SUM) and not kind & (NOISE | RECORD | TOTAL)

    def over(self, x: SymbolicForm, y: SymbolicForm) -> SymbolicForm:
        """x/y, which a row can have: with noise that is divided by the same number."""
        lead = y.terms[0][1]
        return self.terms.of("over", x.times(1 / lead), y.times(1 / lead))

    def of_uniform(self, x: SymbolicForm, y: SymbolicForm) -> bool:
        """Whether one is a uniform draw, and the other a private number without noise."""
        for a, b in ((x, y), (y, x)):
            kind = self.terms.kind(b)
            private = kind & (SUM | RECORD | GAP) and not kind & NOISE
            if self.fresh_uniform(a) is not None and private:
                return not self.in_pass
        return False

    def tidy(self, form: SymbolicForm) -> Any:
        """A form without symbols is a number again, where a double says it exactly."""
        if form.terms:
            return form
        value = float(form.constant)
        return value if Fraction(value) == form.constant else form

    def power(self, x: SymbolicForm, y: SymbolicForm) -> Any:
        if y.terms:
            x, y = self.local(x), self.local(y)
            if self.terms.kind(x) or self.terms.kind(y):
                raise Unread("a power with a private exponent")
            return self.publicly(operator.pow, x, y)
        if y.constant == Fraction(1, 2):
            return self.terms.sqrt(self.local(x))
        if y.constant.denominator != 1 or not 1 <= y.constant <= 8:
            x = self.local(x)
            if self.terms.kind(x):
                raise Unread(f"a private value to the power {y.constant}")
            return self.publicly(operator.pow, x, y)
        base = found = self.local(x)
        for _ in range(int(y.constant) - 1):
            found = self.terms.mul(found, base)
        return found

    def joined(self, conjunction: bool, a: Any, b: Any) -> Any:
        plain = [bool(v) for v in (a, b) if isinstance(v, (bool, np.bool_))]
        others = tuple(v for v in (a, b) if not isinstance(v, (bool, np.bool_)))
        if plain and plain[0] != conjunction:
            return not conjunction
        return others[0] if len(others) == 1 else Combined(conjunction, others)

    def unary_scalar(self, op: str, a: Any) -> Any:
        if op in ("not", "~") and isinstance(a, (RecordTruth, Combined)):
            return self.opposite(a)
        if op == "-":
            return -self.form(a)
        if op == "+":
            return self.form(a)
        raise Unread(f"`{op}` of a value that is not plain")

    def opposite(self, a: Any) -> Any:
        if isinstance(a, Combined):
            return Combined(not a.conjunction, tuple(map(self.opposite, a.parts)))
        return a.negated()

    def compared(self, op: str, a: Any, b: Any) -> Any:
        """A truth, or a plain one."""
        if isinstance(a, Uniforms) or isinstance(b, Uniforms):
            return self.coin(op, a, b)
        if is_nan(a) or is_nan(b):
            return op == "!="
        for value in (a, b):
            if isinstance(value, (float, np.floating)) and math.isinf(value):
                other = 0.0 if value is b else value
                return bool(COMPARE[op](other, value if value is b else 0.0))
        a, b = self.apart_if_noisy(self.form(a), self.form(b))
        difference = a - b
        if not difference.terms:
            return COMPARE[op](difference.constant, 0)
        found = self.special_comparison(op, difference)
        if found is not None:
            return found
        of_gap = self.terms.kind(difference) & GAP
        if not of_gap and not self.is_rejection(difference):
            difference = self.local(difference)
        if op in ("<", "<="):
            return RecordTruth(">" if op == "<" else ">=", -difference)
        return RecordTruth(op, difference)

    def apart_if_noisy(self, a: SymbolicForm, b: SymbolicForm) -> tuple[SymbolicForm, SymbolicForm]:
        """Two numbers with noise of their own, each made visible: each is then hidden by itself."""
        drawn = [{s for s in f.symbols if self.terms.kinds[s] & NOISE} for f in (a, b)]
        private = [self.terms.kind(f) & (SUM | RECORD) for f in (a, b)]
        if self.in_pass or not all(drawn) or not all(private) or drawn[0] & drawn[1]:
            return a, b
        return self.visible(a), self.visible(b)

    def special_comparison(self, op: str, difference: SymbolicForm) -> Any:
        """A comparison that decides a choice between public candidates, or None."""
        return None

    def is_rejection(self, form: SymbolicForm) -> bool:
        """Whether it is about the size of one draw that nothing has looked at yet."""
        raise NotImplementedError

    def coin(self, op: str, a: Any, b: Any) -> RecordTruth:
        if isinstance(b, Uniforms):
            op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
            a, b = b, a
        if not is_number(b) or op not in ("<", "<=", ">", ">="):
            raise Unread("a record's coin that is compared with more than a number")
        chance = Fraction(b.item() if hasattr(b, "item") else b)
        if not 0 < chance <= 1:
            raise Unread("a chance outside of (0, 1]")
        heads = op in ("<", "<=")
        return RecordTruth("heads" if heads else "tails", None, (a.name, chance))

    # Everything ----------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if is_plain(a) and is_plain(b):
            return natively(BINARY[op], a, b)
        a, b = (v.ordered or v if isinstance(v, Seq) else v for v in (a, b))
        if isinstance(a, Object) or isinstance(b, Object):
            return (a if isinstance(a, Object) else b).operate(self, op, a, b)
        if isinstance(a, Rows) or isinstance(b, Rows):
            if op != "@":
                a, b = self.beside_rows(a, b)
            self.check_rows(a, b)
            return self.per_record(lambda x, y: self.binary(op, x, y), a, b)
        if isinstance(a, Seq) or isinstance(b, Seq):
            return self.lists(op, a, b)
        if op == "@":
            return self.product(a, b)
        if op == "/" and isinstance(a, SmallArray) and self._is_noisy(b):
            # noisy / noisy.sum(): first the parts are seen, and then what they add up to.
            a = a.map(lambda x: self.visible(x) if self._is_noisy(x) else x)
        if isinstance(a, SmallArray) or isinstance(b, SmallArray):
            return self.broadcast(lambda x, y: self.mixed(op, x, y), a, b)
        return self.scalar(op, a, b)

    def _is_noisy(self, value: Any) -> bool:
        noisy = isinstance(value, SymbolicForm) and bool(self.terms.kind(value) & NOISE)
        return noisy and not self.in_pass

    def mixed(self, op: str, a: Any, b: Any) -> Any:
        return natively(BINARY[op], a, b) if is_plain(a) and is_plain(b) else self.scalar(op, a, b)

    def lists(self, op: str, a: Any, b: Any) -> Any:
        if op == "+" and isinstance(a, Seq) and isinstance(b, Seq):
            self.need_known(a, b)
            return Seq([*a.items, *b.items])
        if op == "*" and isinstance(a, Seq) and isinstance(b, int):
            self.need_known(a)
            return Seq(a.items * b)
        if op == "*" and isinstance(b, Seq) and isinstance(a, int):
            return self.lists(op, b, a)
        if any(isinstance(v, SmallArray) for v in (a, b)):
            x, y = (self.array(v) if isinstance(v, Seq) else v for v in (a, b))
            return self.binary(op, x, y)
        raise Unread(f"`{op}` of a list")

    def need_known(self, *lists: Seq) -> None:
        if any(one.rows is not None or one.bag for one in lists):
            raise Unread("a list whose entries are those of the data")

    def array(self, value: Any) -> Any:
        """np.array(value)."""
        if isinstance(value, Rows):
            cases = [
                Case(c.conditions, self._dense(c.element) if c.present else None, c.present)
                for c in value.cases
            ]
            return Rows(tuple(cases), True)
        if isinstance(value, Seq) and value.rows is not None:
            return self.array(value.rows)
        return self._dense(value)

    def _dense(self, value: Any) -> Any:
        if isinstance(
            value, (SmallArray, SymbolicForm, RecordTruth, Combined, Uniforms, Option)
        ) or is_number(value):
            return (
                SmallArray(value.shape, list(value.cells))
                if isinstance(value, SmallArray)
                else value
            )
        if isinstance(value, Seq) and (value.rows is not None or value.bag):
            raise Unread("an array of a list that is not known")
        if not isinstance(value, (Seq, tuple)):
            raise Unread(f"an array of {type(value).__name__}")
        parts = [self._dense(v) for v in (value.items if isinstance(value, Seq) else value)]
        if any(isinstance(p, Option) for p in parts):
            raise Unread("an array of fields that are not all numbers")
        if parts and all(isinstance(p, SmallArray) for p in parts):
            if len({p.shape for p in parts}) != 1:
                raise Unread("an array of rows of different lengths")
            return SmallArray((len(parts), *parts[0].shape), [c for p in parts for c in p.cells])
        if any(isinstance(p, SmallArray) for p in parts):
            raise Unread("an array of numbers and of arrays")
        return SmallArray((len(parts),), parts)

    def broadcast(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> SmallArray:
        left, right = (v if isinstance(v, SmallArray) else SmallArray((), [v]) for v in (a, b))
        try:
            shape = np.broadcast_shapes(left.shape, right.shape)
        except ValueError:
            raise Unread("arrays whose shapes don't fit") from None
        places = [
            np.broadcast_to(np.arange(len(v.cells)).reshape(v.shape), shape).ravel()
            for v in (left, right)
        ]
        pairs = zip(places[0].tolist(), places[1].tolist(), strict=True)
        return SmallArray(shape, [function(left.cells[i], right.cells[j]) for i, j in pairs])

    def product(self, a: Any, b: Any) -> Any:
        """a @ b, of small arrays."""
        a, b = (self.array(v) if isinstance(v, (Seq, tuple)) else v for v in (a, b))
        if not isinstance(a, SmallArray) or not isinstance(b, SmallArray):
            raise Unread("`@` of values that are no arrays")
        left = a.rows() if len(a.shape) == 2 else [a]
        if len(b.shape) == 1:
            right = [b]
        elif len(b.shape) == 2:
            k = b.shape[1]
            right = [SmallArray((b.shape[0],), b.cells[j::k]) for j in range(k)]
        else:
            raise Unread("`@` of arrays with more than two axes")
        if len(a.shape) > 2 or left[0].shape != right[0].shape:
            raise Unread("`@` of arrays whose shapes don't fit")
        found = [self.dot(r.cells, c.cells) for r in left for c in right]
        shape = (*a.shape[:-1], *b.shape[1:])
        return SmallArray(shape, found) if shape else found[0]

    def dot(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        total: Any = 0
        for x, y in zip(a, b, strict=True):
            total = self.mixed("+", total, self.mixed("*", x, y))
        return total

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if is_plain(a) and is_plain(b):
            return natively(COMPARE[op], a, b)
        if isinstance(a, Object) or isinstance(b, Object):
            return (a if isinstance(a, Object) else b).compare(self, op, a, b)
        if isinstance(a, Rows) or isinstance(b, Rows):
            a, b = self.beside_rows(a, b)
            self.check_rows(a, b)
            return self.per_record(lambda x, y: self.compare(op, x, y), a, b)
        if isinstance(a, SmallArray) or isinstance(b, SmallArray):
            return self.broadcast(lambda x, y: self.compare(op, x, y), a, b)
        return self.compared(op, a, b)

    def unary(self, op: str, a: Any) -> Any:
        if op == "not":
            return not self.decide(a)
        if is_plain(a):
            known: dict[str, Any] = {
                "-": operator.neg, "+": operator.pos, "~": operator.invert,
            }  # fmt: skip
            return natively(known[op], a)
        if isinstance(a, Object):
            return a.unary(self, op)
        if isinstance(a, Rows):
            return self.per_record(lambda x: self._unary_of_entry(op, x), a)
        if isinstance(a, SmallArray):
            return a.map(lambda x: self._unary_of_entry(op, x))
        return self.unary_scalar(op, a)

    def _unary_of_entry(self, op: str, a: Any) -> Any:
        """Of an entry of an array: ~ of a truth is its opposite there, and no number."""
        return not a if op == "~" and isinstance(a, bool) else self.unary(op, a)

    # One value per record ------------------------------------------------------------------------

    def beside_rows(self, *values: Any) -> tuple[Any, ...]:
        """Arrays as each record meets them: an axis of one, c[None, :], is that of the records."""
        elements = [c.element for v in values if isinstance(v, Rows) for c in v.cases if c.present]
        depth = max((len(e.shape) for e in elements if isinstance(e, SmallArray)), default=0)

        def one(value: Any) -> Any:
            if not isinstance(value, SmallArray) or len(value.shape) != depth + 1:
                return value
            if value.shape[0] != 1:
                raise Unread("an array of the data and one of another length")
            return SmallArray(value.shape[1:], value.cells) if depth else value.cells[0]

        return tuple(map(one, values))

    def check_rows(self, *values: Any) -> None:
        """A list of the data knows no arithmetic; arrays of other lengths don't fit."""
        rows = [v for v in values if isinstance(v, Rows)]
        if not any(r.array for r in rows):
            raise Unread("arithmetic with a list of the data")
        deep = any(isinstance(c.element, SmallArray) for r in rows for c in r.cases if c.present)
        for value in values:
            if isinstance(value, (Seq, tuple)) or (isinstance(value, SmallArray) and not deep):
                raise Unread("an array of the data and one of another length")

    def per_record(self, function: Callable[..., Any], *values: Any) -> Rows:
        """The function of one record's values, for every record, by cases."""
        raise NotImplementedError

    # Functions -----------------------------------------------------------------------------------

    def elementwise(self, function: Callable[..., Any], *values: Any) -> Any:
        """A function of numbers, of arrays and of rows."""
        if any(isinstance(v, Rows) for v in values):
            values = self.beside_rows(*values)
            self.check_rows(*values)
            return self.per_record(lambda *v: self.elementwise(function, *v), *values)
        values = tuple(self.array(v) if isinstance(v, (Seq, tuple)) else v for v in values)
        if any(isinstance(v, SmallArray) for v in values):
            if len(values) == 1:
                return values[0].map(function)
            if len(values) == 2:
                return self.broadcast(function, *values)
            first = self.broadcast(lambda a, b: (a, b), values[0], values[1])
            return self.broadcast(lambda p, c: function(p[0], p[1], c), first, values[2])
        return function(*values)

    def extreme(self, op: str, values: Sequence[Any]) -> Any:
        """min or max of numbers."""
        if all(map(is_number, values)):
            pick: Any = min if op == "min" else max
            return natively(pick, *values) if len(values) > 1 else values[0]
        if any(map(is_nan, values)):
            return math.nan  # as NumPy has it; for Python see the table
        if op == "max" and self.by_cases and self._is_length_or_less(values):
            return self.public_length
        noisy = [self.form(v) for v in values] if self.by_cases and not self.in_pass else []
        if any(self.terms.kind(f) & NOISE for f in noisy):
            return values[self.winner(noisy if op == "max" else [-f for f in noisy])]
        forms = [self.local(self.form(v)) for v in values]
        pick = self.terms.least if op == "min" else self.terms.greatest
        return self.tidy(pick(forms))

    def _is_length_or_less(self, values: Sequence[Any]) -> bool:
        """Whether the greatest is the public number of records, of which there is at least one."""
        length = self.public_length
        others = [v for v in values if v != length]
        return len(others) < len(values) and all(is_number(v) and v <= 1 for v in others)

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        if low is not None:
            x = self.extreme("max", [x, low])
        return x if high is None else self.extreme("min", [x, high])

    def absolute(self, x: Any) -> Any:
        if is_number(x):
            return abs(x)
        form = self.form(x)
        return self.terms.absolute(form if self.is_rejection(form) else self.local(form))

    def function_of(self, op: str, native: Callable[[Any], Any], x: Any) -> Any:
        """exp, tanh, …: a symbol; of a plain number, the number."""
        if is_number(x):
            return natively(native, x)
        if has_unit(x):
            return function_of(op, x)
        form = self.local(self.form(x))
        if op == "sqrt":
            return self.terms.sqrt(form)
        return self.terms.apply(op, form)
