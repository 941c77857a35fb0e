"""Exact answers about conjunctions of linear conditions over the reals.

Is a conjunction possible, and where? Does it entail another condition, and by which multipliers?
Nothing here rests on a tolerance: points and multipliers are rationals that satisfy what is said of
them exactly. Most questions that a trace asks fall to elimination (a variable that is bounded from
one side only takes its conditions with it); what is left goes to `geometry.simplex`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.simplex import contradiction_or_point

Point = dict[Symbol, Fraction]
_ZERO = Fraction(0)
_MOST_ROWS = 400  # elimination hands over to the simplex method before it grows past this


class _Row:
    """terms·x + constant >= 0 (> 0 if strict), and from which conditions it was combined."""

    __slots__ = ("constant", "sources", "strict", "terms")

    def __init__(
        self,
        terms: dict[Symbol, Fraction],
        constant: Fraction,
        strict: bool,
        sources: dict[int, Fraction] | None,
    ) -> None:
        self.terms = terms
        self.constant = constant
        self.strict = strict
        self.sources = sources

    def bound(self, symbol: Symbol, point: Mapping[Symbol, Fraction]) -> Fraction:
        """Where the row is tight in `symbol`, the other symbols at `point`."""
        total = self.constant
        for other, coefficient in self.terms.items():
            if other is not symbol and other != symbol:
                total += coefficient * point[other]
        return -total / self.terms[symbol]

    @property
    def contradicts(self) -> bool:
        return self.constant < 0 or (self.strict and self.constant == 0)


class _Contradiction(Exception):
    def __init__(self, sources: dict[int, Fraction] | None) -> None:
        self.sources = sources


def feasible(conditions: Iterable[Condition]) -> Point | None:
    """A point where all conditions hold, away from their borders where it can be, or None.

    >>> x = Symbol("noise", "x")
    >>> above, below = Condition(Form.of(x), ">"), Condition(Form({x: Fraction(-1)}), ">=")
    >>> feasible([above]), feasible([above, below])
    ({x: Fraction(1, 1)}, None)
    """
    held = list(conditions)
    avoided = [c.form for c in held if c.relation == "!="]
    for form in avoided:
        if not form.terms and not form.constant:
            return None
    try:
        point = _solve([c for c in held if c.relation != "!="], tracked=False)
    except _Contradiction:
        return None
    for form in avoided:
        for symbol in form.terms:
            point.setdefault(symbol, _ZERO)
    for form in avoided:
        if form.at(point) == 0:
            rest = [c for c in held if c.relation != "!=" or c.form != form]
            for side in (Condition(form, ">"), Condition(form.times(-1), ">")):
                found = feasible([*rest, side])
                if found is not None:
                    return found
            return None
    return point


def entails(conditions: Sequence[Condition], goal: Condition) -> bool:
    """Whether `goal` holds wherever all `conditions` do."""
    if goal.relation == "==":
        return entails(conditions, Condition(goal.form, ">=")) and entails(
            conditions, Condition(goal.form.times(-1), ">=")
        )
    known = goal.decided()
    if known is True:
        return True
    return feasible([*conditions, goal.negated()]) is None


def farkas(premises: Sequence[Condition], goal: Condition | None) -> dict[int, Fraction] | None:
    """Multipliers that show, by adding up, that `goal` follows or that the premises contradict.

    Without a goal: Σ λ_i·form_i is a constant that is negative, or zero with a strict premise of
    positive multiplier. With a goal (>= or >): goal.form − Σ λ_i·form_i is a constant that is
    positive, or zero (for a strict goal only with a strict premise of positive multiplier).
    λ_i ≥ 0, but for equalities, which may have either sign. None: it doesn't follow (or, with a
    goal, only because the premises contradict each other; ask without the goal). Premises with !=
    are not used.
    """
    if goal is not None and goal.relation not in (">=", ">"):
        raise ValueError("a goal of farkas() is >= or >; ask for both sides of an equality")
    held = [(i, c) for i, c in enumerate(premises) if c.relation != "!="]
    rows = [c for _, c in held]
    if goal is not None:
        rows.append(goal.negated())
    try:
        _solve(rows, tracked=True)
    except _Contradiction as found:
        sources = {i: v for i, v in (found.sources or {}).items() if v}
        if goal is None:
            return {held[i][0]: v for i, v in sources.items()}
        weight = sources.pop(len(held), _ZERO)
        if not weight:
            return None
        return {held[i][0]: v / weight for i, v in sources.items()}
    return None


class Premises:
    """The same premises for many questions: points that refuted one goal refute others cheaply."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self.conditions = tuple(conditions)
        first = feasible(self.conditions)
        self.consistent = first is not None
        self._points: list[Point] = [] if first is None else [first]
        self._known: dict[Condition, bool] = {}

    def entails(self, goal: Condition) -> bool:
        if not self.consistent:
            return True
        answer = self._known.get(goal)
        if answer is None:
            answer = self._known[goal] = self._decide(goal)
        return answer

    def _decide(self, goal: Condition) -> bool:
        if goal in self.conditions:
            return True
        for point in self._points:
            if all(s in point for s in goal.form.terms) and not goal.holds(point):
                return False
        if goal.relation == "==":
            sides = [Condition(goal.form, ">="), Condition(goal.form.times(-1), ">=")]
            return all(self.entails(side) for side in sides)
        found = feasible([*self.conditions, goal.negated()])
        if found is None:
            return True
        for condition in (*self.conditions, goal):
            for symbol in condition.form.terms:
                found.setdefault(symbol, _ZERO)
        self._points.append(found)
        return False


def between(low: Fraction, high: Fraction) -> Fraction:
    """A simple rational strictly between: an integer if there is one, else a short fraction."""
    if low < 0 < high:
        return _ZERO
    if high <= 0:
        return -between(-high, -low)
    whole = low.numerator // low.denominator
    if whole + 1 < high:
        return Fraction(whole + 1)
    # 0 ≤ low - whole < high - whole ≤ 1: the simplest fraction there, by continued fractions.
    low, high = low - whole, high - whole
    if low == 0:
        return whole + Fraction(1, high.denominator // high.numerator + 1)
    return whole + 1 / between(1 / high, 1 / low)


def _solve(conditions: Sequence[Condition], *, tracked: bool) -> Point:
    """A point that satisfies all (no !=), or _Contradiction."""
    rows: list[_Row] = []
    solved: list[tuple[Symbol, Form]] = []
    equalities: list[tuple[Form, dict[int, Fraction] | None]] = []
    for i, condition in enumerate(conditions):
        form = condition.form
        sources = {i: Fraction(1)} if tracked else None
        if condition.relation == "==":
            equalities.append((form, sources))
        else:
            _keep(rows, _Row(form.terms, form.constant, condition.relation == ">", sources))
    while equalities:
        form, sources = equalities.pop()
        if not form.terms:
            if form.constant:
                sign = -1 if form.constant > 0 else 1
                raise _Contradiction(_scaled(sources, Fraction(sign)))
            continue
        symbol, pivot = min(form.terms.items(), key=lambda item: item[1].denominator)
        for k, (other, others) in enumerate(equalities):
            if symbol in other.terms:
                factor = -other.terms[symbol] / pivot
                equalities[k] = (other.plus(form, factor), _added(others, sources, factor))
        old, rows = rows, []
        for row in old:
            if symbol in row.terms:
                factor = -row.terms[symbol] / pivot
                sum_ = Form(row.terms, row.constant).plus(form, factor)
                row = _Row(
                    sum_.terms, sum_.constant, row.strict, _added(row.sources, sources, factor)
                )
            _keep(rows, row)
        solved.append((symbol, form))
    point = _eliminate(rows)
    for condition in conditions:
        for symbol in condition.form.terms:
            if symbol not in point:
                point[symbol] = _ZERO
    for symbol, form in reversed(solved):
        pivot = form.terms[symbol]
        point[symbol] = _ZERO
        point[symbol] = -form.at(point) / pivot
    return point


def _keep(rows: list[_Row], row: _Row) -> None:
    if row.terms:
        rows.append(row)
    elif row.contradicts:
        raise _Contradiction(row.sources)


def _scaled(sources: dict[int, Fraction] | None, factor: Fraction) -> dict[int, Fraction] | None:
    return None if sources is None else {i: v * factor for i, v in sources.items()}


def _added(
    first: dict[int, Fraction] | None, second: dict[int, Fraction] | None, factor: Fraction
) -> dict[int, Fraction] | None:
    if first is None or second is None:
        return None
    result = dict(first)
    for i, value in second.items():
        result[i] = result.get(i, _ZERO) + factor * value
    return result


def _eliminate(rows: list[_Row]) -> Point:
    """Fourier-Motzkin while it doesn't grow, the simplex method for what it leaves."""
    removed: list[tuple[Symbol, list[_Row]]] = []
    while rows:
        lower: dict[Symbol, int] = {}
        upper: dict[Symbol, int] = {}
        for row in rows:
            for symbol, coefficient in row.terms.items():
                side = lower if coefficient > 0 else upper
                side[symbol] = side.get(symbol, 0) + 1
        one_sided = {s for s in lower if s not in upper} | {s for s in upper if s not in lower}
        if one_sided:
            kept: list[_Row] = []
            gone: dict[Symbol, list[_Row]] = {}
            for row in rows:
                free = next((s for s in row.terms if s in one_sided), None)
                if free is None:
                    kept.append(row)
                else:
                    gone.setdefault(free, []).append(row)
            # A row that goes with one symbol may hold another one-sided symbol of this round,
            # taken as 0 until it is placed: `_place` then moves it only the way that all its
            # rows like.
            removed.extend(gone.items())
            rows = kept
            continue
        symbol, growth = min(
            ((s, lower[s] * upper[s] - lower[s] - upper[s]) for s in lower), key=lambda p: p[1]
        )
        if growth > 4 and len(rows) + growth > min(_MOST_ROWS, 3 * len(rows)):
            break
        above = [r for r in rows if r.terms.get(symbol, _ZERO) > 0]
        below = [r for r in rows if r.terms.get(symbol, _ZERO) < 0]
        rest = [r for r in rows if symbol not in r.terms]
        for a in above:
            for b in below:
                _keep(rest, _combined(a, b, symbol))
        removed.append((symbol, above + below))
        rows = _tightest(rest)
    point: Point = {}
    if rows:
        point = _by_simplex(rows)
    for symbol, bounds in reversed(removed):
        for row in bounds:
            for other in row.terms:
                if other not in point and other != symbol:
                    point[other] = _ZERO
        point[symbol] = _place(symbol, bounds, point)
    return point


def _combined(above: _Row, below: _Row, symbol: Symbol) -> _Row:
    up, down = above.terms[symbol], -below.terms[symbol]
    second = up / down
    terms = {s: c for s, c in above.terms.items() if s != symbol}
    for other, coefficient in below.terms.items():
        if other != symbol:
            value = terms.get(other, _ZERO) + second * coefficient
            if value:
                terms[other] = value
            else:
                terms.pop(other, None)
    return _Row(
        terms,
        above.constant + second * below.constant,
        above.strict or below.strict,
        _added(above.sources, below.sources, second),
    )


def _tightest(rows: list[_Row]) -> list[_Row]:
    """Of rows with proportional terms only the strongest."""
    best: dict[frozenset[tuple[Symbol, Fraction]], tuple[Fraction, _Row]] = {}
    for row in rows:
        size = abs(row.terms[min(row.terms)])
        key = frozenset((s, c / size) for s, c in row.terms.items())
        constant = row.constant / size
        found = best.get(key)
        if (
            found is None
            or constant < found[0]
            or (constant == found[0] and row.strict and not found[1].strict)
        ):
            best[key] = (constant, row)
    return [row for _, row in best.values()]


def _place(symbol: Symbol, rows: Sequence[_Row], point: Mapping[Symbol, Fraction]) -> Fraction:
    low: Fraction | None = None
    high: Fraction | None = None
    for row in rows:
        value = row.bound(symbol, point)
        if row.terms[symbol] > 0:
            low = value if low is None or value > low else low
        else:
            high = value if high is None or value < high else high
    if low is None and high is None:
        return _ZERO
    if high is None:
        assert low is not None
        return Fraction(max(0, low.numerator // low.denominator + 1)) if low >= 0 else _ZERO
    if low is None:
        return Fraction(min(0, -(-high.numerator // high.denominator) - 1)) if high <= 0 else _ZERO
    return between(low, high) if low < high else low


def _by_simplex(rows: Sequence[_Row]) -> Point:
    symbols = sorted({s for row in rows for s in row.terms})
    weights, values = contradiction_or_point(
        [[row.terms.get(s, _ZERO) for s in symbols] for row in rows],
        [row.constant for row in rows],
        [row.strict for row in rows],
    )
    if weights is not None:
        total: dict[int, Fraction] | None = {}
        for weight, row in zip(weights, rows, strict=True):
            if weight:
                total = _added(total, row.sources, weight)
        raise _Contradiction(total)
    assert values is not None
    return dict(zip(symbols, values, strict=True))
