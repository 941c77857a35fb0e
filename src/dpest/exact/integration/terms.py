"""Log-densities as functions of parameters: what elimination leaves when outputs are real.

A term is evaluated on arrays of parameter values and knows the lines (affine in the parameters)
across which it is not smooth.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpest.exact.integration.composites import Composite, DensityRow, log_masses
from dpest.exact.integration.densities import (
    LineDensity,
    features,
    log_concave,
    log_interval,
    reach,
    spread,
)
from dpest.exact.integration.quadrature import Floats, Ints, around_peak, graded, integrate
from dpest.geometry.linear import Form, Symbol

Values = Mapping[Symbol, Floats]
_CHUNK = 600_000  # quadrature nodes that are held at once
_TOGETHER = 256  # sums over a lattice that share one window
_KINKS = 64  # kinks of a sum over a lattice that are looked at
NEVER = -600.0  # a log density below it has no weight in any probability


@dataclass(frozen=True)
class FloatForm:
    """constant + Σ coefficient·parameter, in floating point; the exact form stays beside it."""

    form: Form

    @functools.cached_property
    def _numbers(self) -> tuple[float, list[tuple[Symbol, float]]]:
        return float(self.form.constant), [(s, float(c)) for s, c in self.form.terms.items()]

    def __call__(self, values: Values) -> Floats:
        constant, terms = self._numbers
        total: Floats = np.asarray(constant)
        for symbol, coefficient in terms:
            part = values[symbol] if coefficient == 1.0 else coefficient * values[symbol]
            total = total + part
        return total

    def slope(self, symbol: Symbol) -> float:
        return float(self.form.terms.get(symbol, 0))


class Term(Protocol):
    """One factor of a density, in the log domain."""

    def log_value(self, values: Values) -> Floats: ...

    def lines(self) -> list[Form]: ...

    def scale(self, symbol: Symbol) -> float:
        """The shortest length in `symbol` over which the term changes."""
        ...


@dataclass(frozen=True)
class KernelTerm:
    """A density at an affine function of the parameters."""

    density: LineDensity
    at: FloatForm

    def log_value(self, values: Values) -> Floats:
        at = self.at(values)
        if not self.density.discrete:
            return self.density.log_density(at)
        near = np.rint(at)  # offsets are rational: what should be an integer is one up to rounding
        return np.where(np.abs(at - near) < 1e-9, self.density.log_density(near), -np.inf)

    def lines(self) -> list[Form]:
        return [_minus(self.at.form, k) for k in features(self.density)]

    def scale(self, symbol: Symbol) -> float:
        slope = abs(self.at.slope(symbol))
        return spread(self.density) / slope if slope else math.inf


@dataclass(frozen=True)
class GateTerm:
    """1 where the affine function is positive (at least 0, if not strict), else 0."""

    at: FloatForm
    strict: bool = False

    def log_value(self, values: Values) -> Floats:
        inside = self.at(values) > 0 if self.strict else self.at(values) >= 0
        return np.where(inside, 0.0, -np.inf)

    def lines(self) -> list[Form]:
        return [self.at.form]

    def scale(self, symbol: Symbol) -> float:
        return math.inf


@dataclass(frozen=True)
class IntervalTerm:
    """The probability that a variable lies between bounds that move with the parameters."""

    density: LineDensity
    lows: tuple[tuple[FloatForm, bool], ...]
    highs: tuple[tuple[FloatForm, bool], ...]

    def log_value(self, values: Values) -> Floats:
        lattice = self.density.discrete
        low, low_strict = _tightest(self.lows, values, np.maximum, -np.inf, lattice)
        high, high_strict = _tightest(self.highs, values, np.minimum, np.inf, lattice)
        return log_interval(self.density, low, high, low_strict, high_strict)

    def lines(self) -> list[Form]:
        forms = [a.form for a, _ in self.lows + self.highs]
        found = [_minus(f, k) for f in forms for k in features(self.density)]
        for i, one in enumerate(forms):
            found += [one.plus(two, -1) for two in forms[i + 1 :]]
        return found

    def scale(self, symbol: Symbol) -> float:
        slopes = [abs(a.slope(symbol)) for a, _ in self.lows + self.highs]
        steepest = max(slopes, default=0.0)
        return spread(self.density) / steepest if steepest else math.inf


def _tightest(
    bounds: tuple[tuple[FloatForm, bool], ...],
    values: Values,
    pick: np.ufunc,
    none: float,
    lattice: bool,
) -> tuple[Floats | float, bool]:
    if not bounds:
        return none, False
    if lattice and len({strict for _, strict in bounds}) > 1:
        nudge = 1e-6 if pick is np.maximum else -1e-6
        nudged = [a(values) + nudge * s for a, s in bounds]
        return functools.reduce(pick, nudged), False
    return functools.reduce(pick, [a(values) for a, _ in bounds]), bounds[0][1]


@dataclass(frozen=True)
class ConstantTerm:
    """A factor that no parameter moves."""

    log: float

    def log_value(self, values: Values) -> Floats:
        return np.asarray(self.log)

    def lines(self) -> list[Form]:
        return []

    def scale(self, symbol: Symbol) -> float:
        return math.inf


class MassTerm:
    """The mass of a composite; computed on first use, or in a batch by `settle`."""

    def __init__(self, composite: Composite) -> None:
        self.composite = composite
        self.log: float | None = None
        self.error = 0.0

    def log_value(self, values: Values) -> Floats:
        if self.log is None:
            settle([self])
        assert self.log is not None
        return np.asarray(self.log)

    def lines(self) -> list[Form]:
        return []

    def scale(self, symbol: Symbol) -> float:
        return math.inf


def settle(terms: Sequence[MassTerm]) -> None:
    """Compute all masses in one batch, sharing nodes and rows."""
    open_terms = [t for t in terms if t.log is None]
    logs, errors = log_masses([t.composite for t in open_terms])
    for term, log, error in zip(open_terms, logs, errors, strict=True):
        term.log, term.error = float(log), float(error)


class IntegralTerm:
    """∫ composite(r) · Π inner terms(r, parameters) dr, or the sum over a lattice.

    `composite` holds what depends on r alone. Values are computed for many parameter points at
    once, each with panels between its own kinks.
    """

    def __init__(
        self,
        symbol: Symbol,
        composite: Composite,
        inner: Sequence[Term],
        aligned: tuple[Composite, Fraction] | None = None,
    ) -> None:
        self.symbol = symbol
        self.composite = composite
        self._aligned = aligned
        self.inner = tuple(inner)
        self.error = 0.0
        self.errors: Floats = np.zeros(0)  # relative, at each point of the last call
        self._lines = _distinct(line for term in self.inner for line in term.lines())
        self._crossing = [line for line in self._lines if symbol in line.terms]
        self._scale = min([composite.spread, *(t.scale(symbol) for t in self.inner)])
        self._one_peak = all(log_concave(d) for d in self.densities())

    def densities(self) -> Iterator[LineDensity | None]:
        """All that it is a product and an integral of."""
        for row in self.composite.rows:
            yield row.density
        for term in self.inner:
            yield from _densities(term)

    def aligned(self) -> tuple[Composite, Fraction] | None:
        """The composite in x = r + shift, where the first noise drawn has location 0."""
        return self._aligned

    def lines(self) -> list[Form]:
        found = [line for line in self._lines if self.symbol not in line.terms]
        fixed = [Form({self.symbol: Fraction(1)}, -Fraction(k)) for k in self.composite.kinks()]
        if self.composite.lattice:
            # The sum has a kink wherever one of its summands has.
            for line in self._crossing:
                solved_line = _solve_for(line, self.symbol)
                found += [Form(solved_line.terms, solved_line.constant - k) for k in self._likely()]
            return _distinct(line for line in found if line.terms)
        # The integral has a kink where two kinks of the integrand meet.
        solved = [_solve_for(line, self.symbol) for line in self._crossing]
        fixed_at = [_solve_for(line, self.symbol) for line in fixed]
        for i, one in enumerate(solved):
            found += [one.plus(two, -1) for two in solved[i + 1 :]]
            found += [one.plus(two, -1) for two in fixed_at]
        return _distinct(line for line in found if line.terms)

    def _likely(self) -> range:
        """The likeliest values of a lattice, a few dozen at most."""
        first, last = self.composite.extent(depth=20.0)
        low, high = math.ceil(first - 1e-9), math.floor(last + 1e-9)
        most = max(_KINKS // max(1, len(self._crossing)), 1)
        if high - low >= most:
            middle = (low + high) // 2
            low, high = middle - most // 2, middle + (most - 1) // 2
        return range(low, high + 1)

    def scale(self, symbol: Symbol) -> float:
        best = math.inf
        for term in self.inner:
            best = min(best, term.scale(symbol))
        return best

    def log_value(self, values: Values) -> Floats:
        free = {s for line in self._lines for s in line.terms if s != self.symbol}
        free |= {s for t in self.inner for s in _parameters(t) if s != self.symbol}
        used = {s: np.asarray(values[s], dtype=float) for s in free}
        shape = np.broadcast_shapes(*(v.shape for v in used.values()))
        flat = {s: np.broadcast_to(v, shape).ravel() for s, v in used.items()}
        count = math.prod(shape)
        self.errors = np.zeros(count)
        if self.composite.lattice:
            result = self._sum(flat, count)
        else:
            panels = 4 * (len(self._crossing) + len(self.composite.kinks()) + 4)
            step = max(1, _CHUNK // (panels * 16))
            parts = [
                self._integrate({s: v[i : i + step] for s, v in flat.items()}, min(step, count - i))
                for i in range(0, count, step)
            ]
            result = np.concatenate([p[0] for p in parts]) if parts else np.empty(0)
            self.errors = np.concatenate([p[1] for p in parts]) if parts else np.empty(0)
            # Far beyond what ever happens an integrand may be too steep for any rule.
            weighed = self.errors[result > NEVER]
            self.error = max(self.error, float(weighed.max(initial=0.0)))
        self.errors = self.errors.reshape(shape)
        return result.reshape(shape)

    def _sum(self, flat: dict[Symbol, Floats], count: int) -> Floats:
        """Each sum over its own window: where the terms meet moves with the parameters."""
        at = {**flat, self.symbol: np.zeros(count)}
        columns = [
            np.broadcast_to(-FloatForm(line)(at) / float(line.terms[self.symbol]), (count,))
            for line in self._crossing
        ]
        first, last = self.composite.extent(depth=80.0)
        columns += [np.full(count, k) for k in self.composite.kinks()]
        own = self.composite.rows[0]
        assert isinstance(own, DensityRow)
        left, right = (side / abs(own.slope) for side in reach(own.density, 80.0))
        if own.slope < 0:
            left, right = right, left
        low, high = np.full(count, first), np.full(count, last)
        if columns:
            breaks = np.stack(columns, axis=1)
            low = np.maximum(np.minimum(low, breaks.min(axis=1) - left), self.composite.low)
            high = np.minimum(np.maximum(high, breaks.max(axis=1) + right), self.composite.high)
        result = np.full(count, -np.inf)
        order = np.argsort(low + high)
        for i in range(0, count, _TOGETHER):
            rows = order[i : i + _TOGETHER]
            start, end = math.ceil(low[rows].min() - 1e-9), math.floor(high[rows].max() + 1e-9)
            if end - start > 5e6:
                from dpest.errors import RefusedError

                raise RefusedError("lattice noise with more than five million likely values")
            points = np.arange(start, end + 1, dtype=float)
            if not len(points):
                continue
            weights = self.composite.log_value(points)
            step = max(1, _CHUNK // len(points))
            for k in range(0, len(rows), step):
                some = rows[k : k + step]
                part = {s: v[some, None] for s, v in flat.items()}
                part[self.symbol] = points[None, :]
                total = np.zeros((len(some), len(points))) + weights
                for term in self.inner:
                    total = total + term.log_value(part)
                result[some] = np.logaddexp.reduce(total, axis=1)
        return result

    def _integrate(self, flat: dict[Symbol, Floats], count: int) -> tuple[Floats, Floats]:
        """Log-integrals and their relative error estimates."""
        at = {**flat, self.symbol: np.zeros(count)}
        columns = [
            np.broadcast_to(-FloatForm(line)(at) / float(line.terms[self.symbol]), (count,))
            for line in self._crossing
        ]
        fixed = self.composite.kinks()
        columns += [np.full(count, k) for k in fixed]
        breaks = np.stack(columns, axis=1)
        own = self.composite.rows[0]
        assert isinstance(own, DensityRow)
        left, right = reach(own.density)
        slope = own.slope
        if slope < 0:
            left, right = right, left
        low = np.maximum(breaks.min(axis=1) - left / abs(slope), self.composite.low)
        high = np.minimum(breaks.max(axis=1) + right / abs(slope), self.composite.high)
        breaks = np.concatenate([low[:, None], breaks, high[:, None]], axis=1)
        breaks = np.sort(np.clip(breaks, low[:, None], high[:, None]), axis=1)

        def log_integrand(x: Floats, owner: Ints) -> Floats:
            here: dict[Symbol, Floats] = {s: v[owner] for s, v in flat.items()}
            here[self.symbol] = x
            total = self.composite.log_value(x)
            for term in self.inner:
                total = total + term.log_value(here)
            return total[None, :]

        panels = graded(breaks, np.full(count, 4 * self._scale))
        if not len(panels[0]):
            return np.full(count, -np.inf), np.zeros(count)
        if self._one_peak:
            panels = around_peak(log_integrand, panels, count)
        result = integrate(log_integrand, panels, count)
        return result.log_total[0], result.error[0]


def _densities(term: Term) -> Iterator[LineDensity | None]:
    """The densities in a term; None stands for what is not known."""
    if isinstance(term, (KernelTerm, IntervalTerm)):
        yield term.density
    elif isinstance(term, IntegralTerm):
        yield from term.densities()
    elif isinstance(term, MassTerm):
        yield from ()
    elif not isinstance(term, (GateTerm, ConstantTerm)):
        yield None


def _parameters(term: Term) -> set[Symbol]:
    if isinstance(term, (KernelTerm, GateTerm)):
        return set(term.at.form.terms)
    if isinstance(term, IntervalTerm):
        return {s for a, _ in term.lows + term.highs for s in a.form.terms}
    if isinstance(term, IntegralTerm):
        return {s for t in term.inner for s in _parameters(t)} - {term.symbol}
    symbol = getattr(term, "symbol", None)  # a convolution
    return set() if symbol is None else {symbol}


def parameters_of(terms: Sequence[Term]) -> set[Symbol]:
    """The parameters that the terms depend on."""
    return {s for term in terms for s in _parameters(term)}


def _minus(form: Form, value: float) -> Form:
    return Form(form.terms, form.constant - Fraction(value))


def _solve_for(line: Form, symbol: Symbol) -> Form:
    """line = 0 solved for the symbol."""
    coefficient = line.terms[symbol]
    rest = Form({s: c for s, c in line.terms.items() if s != symbol}, line.constant)
    return rest.times(-1 / coefficient)


def _distinct(lines: Iterable[Form]) -> list[Form]:
    found: dict[Form, None] = {}
    for line in lines:
        if not line.terms:
            continue
        lead = line.terms[min(line.terms)]
        found[line if lead == 1 else line.times(1 / lead)] = None
    return list(found)


def renamed(term: Term, names: Mapping[Symbol, Form]) -> Any:
    """The term in other coordinates, as something that can be compared; an integral as itself."""
    if isinstance(term, KernelTerm):
        return KernelTerm(term.density, FloatForm(term.at.form.substitute(names)))
    if isinstance(term, GateTerm):
        return GateTerm(FloatForm(term.at.form.substitute(names)), term.strict)
    if isinstance(term, IntervalTerm):
        return IntervalTerm(
            term.density,
            tuple((FloatForm(a.form.substitute(names)), s) for a, s in term.lows),
            tuple((FloatForm(a.form.substitute(names)), s) for a, s in term.highs),
        )
    if isinstance(term, IntegralTerm):
        inner = tuple(renamed(t, names) for t in term.inner)
        return ("integral", term.symbol, term.composite, inner)
    return term
