"""What one record moves: how far private symbols of neighbours can differ.

**Cases.** A record is in one case of each pass; cases that exclude each other are left out. Where a
record is replaced, what it added goes and what it adds comes.

**Functions of sums.** abs, min, max of forms, and one of several forms at a public place, move by
no more than the form that moves most; and by no more than from one end of their values to the other
(a mean that is clipped).

**Moved data.** Where neighbours differ by numbers that move (l1, linf, monotone), a form moves by
its slope times that. Costs are convex in the move, and positively homogeneous (ε, √μ²), and the
ball of l1 is the hull of moves of one entry by the whole radius: those are looked at. Any two
inputs (any_pair) differ in each entry by no more than the bounds of the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from ..invalid import Invalid
from .accountant import ONE, ZERO
from .cases import MOST_CASES, Added, added_in_case, hull_of, joint_cases
from .reach import Move, row_bound
from .shifts import atoms, private_part
from .terms import Range, RecordForm, high_of, low_of, plus, scaled, size
from .ways import Private, Shift, StageWay


def moves(way: StageWay, symbols: set[Private], sampled: bool = False) -> list[Move]:
    """All that neighbours may differ by, in these symbols; `sampled`: in a subset with them."""
    base = atoms(way, symbols)
    if way.moved:
        found = list(moves_of_numbers(way, base))
    elif way.apart:
        found = list(moves_of_own_symbols(way, base))
    else:
        found = moves_of_sums(way, base, sampled)
    derived = sorted(p for p in symbols if p.passed == -2)
    return [_with_functions(way, move, derived) for move in found] if derived else found


def moves_of_sums(way: StageWay, symbols: set[Private], sampled: bool) -> list[Move]:
    added = joint_cases(way, symbols, sampled)
    if not way.replace:
        return [Move({k: size(r) for k, r in a.ranges.items()}, a.groups, a.ranges) for a in added]
    if len(added) ** 2 > MOST_CASES:
        added = [hull_of(added, symbols)]
    return [_difference(a, b) for a, b in itertools.product(added, added)]


def _with_functions(way: StageWay, move: Move, derived: Sequence[Private]) -> Move:
    """The same move, with functions of sums in it: they move no more than an argument does."""
    sizes, ranges = dict(move.sizes), dict(move.ranges)
    whole = Move(sizes, move.groups, ranges)
    pending = [p.place for p in derived]
    while pending:
        symbol = pending[-1]
        s = way.terms.symbols[symbol]
        parts = [private_part(way, form, len(way.rows)) for form in s.forms]
        inner = {p.place for part in parts for p in part if p.passed == -2}
        missing = [p for p in inner if Private(-2, p) not in sizes]
        if missing:
            pending += missing
            continue
        pending.pop()
        key = Private(-2, symbol)
        moved = [form_range(part, whole) for part in parts[1 if s.op == "pick" else 0 :]]
        low, high = moved[0]
        for other in moved[1:]:
            low, high = low_of(low, other[0]), high_of(high, other[1])
        if s.op == "abs":
            most = None if low is None or high is None else max(abs(low), abs(high))
            low, high = None if most is None else -most, most
        low, high = _between_ends(values_of(way, symbol), (low, high))
        sizes[key], ranges[key] = size((low, high)), (low, high)
    return whole


def _between_ends(values: Range, moved: Range) -> Range:
    """A move, which is a difference of two of these values."""
    (a, b), (low, high) = values, moved
    if a is None or b is None:
        return moved
    return a - b if low is None else max(low, a - b), b - a if high is None else min(high, b - a)


def values_of(way: StageWay, symbol: int) -> Range:
    """Where an extreme or a size of private numbers lies, whatever these are."""
    s = way.terms.symbols[symbol]
    if s.op not in ("min", "max", "abs") or not s.private:
        known = s.record and not s.private and s.op not in ("sum", "noise")
        return way.terms.range(symbol, {}) if known else (None, None)
    inner: list[Range] = []
    for form in s.forms:
        found: Range = (form.constant, form.constant)
        for other, c in form.terms:
            found = plus(found, scaled(values_of(way, other), c))
        inner.append(found)
    lows, highs = [r[0] for r in inner], [r[1] for r in inner]
    if s.op == "abs":
        most = size(inner[0])
        return ZERO, most
    if s.op == "min":
        return _if_all(min, lows), min([h for h in highs if h is not None], default=None)
    return max([a for a in lows if a is not None], default=None), _if_all(max, highs)


def _if_all(pick: Callable[..., Fraction], ends: Sequence[Fraction | None]) -> Fraction | None:
    known = [e for e in ends if e is not None]
    return pick(known) if len(known) == len(ends) else None


def form_range(shift: Shift, move: Move) -> Range:
    """Where Σ slope·Δ lies."""
    found: Range = (ZERO, ZERO)
    for k, c in shift.items():
        found = plus(found, scaled(move.ranges[k], c))
    most = row_bound(shift, move)
    if most is None:
        return found
    low, high = found
    return (
        -most if low is None else max(low, -most),
        most if high is None else min(high, most),
    )


def _reach(way: StageWay, symbol: int) -> Fraction:
    """How far a function of moved numbers moves: by its slope, or through all of its values."""
    slope = way.terms.slope(RecordForm(((symbol, ONE),), ZERO))
    low, high = way.terms.range(symbol, {})
    most = slope * way.radius
    return most if low is None or high is None else min(most, high - low)


def moves_of_numbers(way: StageWay, symbols: set[Private]) -> Iterator[Move]:
    """Numbers that move: by the radius in one entry (l1), or each of them (linf, monotone)."""
    r = way.radius
    reach: dict[Private, Fraction] = {}
    for k in symbols:
        if k.passed >= 0:
            cases = way.passes[k.passed].cases
            if way.moved != "l1" or len(cases) != 1 or cases[0].conditions:
                raise Invalid("a sum over entries that all move, or by cases of them")
            reach[k] = way.terms.slope(cases[0].adds[k.place]) * r
        else:
            reach[k] = _reach(way, k.place)
    still = dict.fromkeys(symbols, ZERO)
    if way.moved == "l1":
        by_index: dict[int | None, list[Private]] = {}
        for k in symbols:
            index = None if k.passed >= 0 else way.terms.symbols[k.place].index
            by_index.setdefault(index, []).append(k)
        for mine in by_index.values():
            found = {**still, **{k: reach[k] for k in mine}}
            yield Move(found, (), {k: (-v, v) for k, v in found.items()})
        return
    up = way.moved == "monotone"
    ranges = {
        k: (ZERO if up and way.terms.symbols[k.place].op == "field" else -v, v)
        for k, v in reach.items()
    }
    yield Move(reach, (), ranges)


def _difference(a: Added, b: Added) -> Move:
    sizes: dict[Private, Fraction | None] = {}
    ranges: dict[Private, Range] = {}
    for k in a.ranges:
        (low, high), (low2, high2) = a.ranges[k], b.ranges[k]
        ranges[k] = plus(a.ranges[k], scaled(b.ranges[k], -ONE))
        if low is None or high is None or low2 is None or high2 is None:
            sizes[k] = None
        else:
            sizes[k] = max(abs(high - low2), abs(high2 - low))
    groups = []
    for group, bound in _groups_or_nothing(a):
        for other, bound2 in _groups_or_nothing(b):
            if group == other or not other or not group:
                groups.append((group or other, bound + bound2))
    return Move(sizes, tuple((g, r) for g, r in groups if g), ranges)


def _groups_or_nothing(a: Added) -> list[tuple[frozenset[Private], Fraction]]:
    """The groups of a case; a case that adds nothing at all fits every group."""
    if all(r == (ZERO, ZERO) for r in a.ranges.values()):
        return [(frozenset(), ZERO)]
    return list(a.groups)


def moves_of_own_symbols(way: StageWay, symbols: set[Private]) -> Iterator[Move]:
    """Records with symbols of their own: one of them is replaced."""
    if not way.replace:
        raise Invalid("records that come and go can't have symbols of their own")
    by_index: dict[int, list[Private]] = {}
    for k in symbols:
        index = way.terms.symbols[k.place].index
        assert index is not None
        by_index.setdefault(index, []).append(k)
    for mine in by_index.values():
        adds = {k: RecordForm(((k.place, ONE),), ZERO) for k in mine}
        one = added_in_case(way, (), adds)
        move = _difference(one, one)
        sizes: dict[Private, Fraction | None] = dict.fromkeys(symbols, ZERO)
        sizes.update(move.sizes)
        ranges: dict[Private, Range] = dict.fromkeys(symbols, (ZERO, ZERO))
        ranges.update(move.ranges)
        yield Move(sizes, move.groups, ranges)
