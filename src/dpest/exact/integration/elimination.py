"""Integrate the noise out of a conjunction of linear conditions, variable by variable.

A variable that is bounded by one other variable only is absorbed into it: its interval probability
is a closed form (or a table, if it has absorbed others itself). Trees of any depth fall this way.
What is left is conditioned on, one variable at a time, by a nested integral; at most two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpest.errors import RefusedError
from dpest.exact.integration.composites import (
    Composite,
    DensityRow,
    IntervalRow,
    density_row,
    interval_row,
    rational_bound,
)
from dpest.exact.integration.densities import LineDensity
from dpest.exact.integration.latents import Latents
from dpest.exact.integration.terms import (
    FloatForm,
    GateTerm,
    IntegralTerm,
    IntervalTerm,
    KernelTerm,
    MassTerm,
    Term,
)
from dpest.geometry.linear import Form, Symbol

_ZERO, _ONE = Fraction(0), Fraction(1)
_DEEPEST = 2


@dataclass(frozen=True)
class Inequality:
    """form ≥ 0, or > 0; the difference matters to lattice noise only."""

    form: Form
    strict: bool = False


@dataclass(frozen=True)
class Kernel:
    """A density at a linear form (a noise that an output pins)."""

    density: LineDensity
    form: Form


@dataclass
class _Leaf:
    """An absorbed variable: its density and its bounds in its parent's variable."""

    density: LineDensity
    lows: list[tuple[Fraction, Fraction, bool]]
    highs: list[tuple[Fraction, Fraction, bool]]
    order: int


@dataclass
class _Variable:
    symbol: Symbol
    density: LineDensity
    order: int
    inequalities: list[Inequality] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=list)
    own_kernels: list[tuple[LineDensity, Fraction, Fraction]] = field(default_factory=list)
    low: Fraction | None = None
    low_strict: bool = False
    high: Fraction | None = None
    high_strict: bool = False

    @property
    def plain(self) -> bool:
        return not self.leaves and not self.own_kernels

    def bound(self, constant: Fraction, coefficient: Fraction, strict: bool) -> None:
        """coefficient·v + constant ≥ 0."""
        edge = -constant / coefficient
        if coefficient > 0:
            if self.low is None or edge > self.low or (edge == self.low and strict):
                self.low, self.low_strict = edge, strict
        elif self.high is None or edge < self.high or (edge == self.high and strict):
            self.high, self.high_strict = edge, strict

    def own_bounds(self) -> tuple[list[tuple[Fraction, Fraction, bool]], ...]:
        lows = [] if self.low is None else [(_ZERO, self.low, self.low_strict)]
        highs = [] if self.high is None else [(_ZERO, self.high, self.high_strict)]
        return lows, highs

    def composite(self, *, aligned: bool) -> Composite:
        """What depends on this variable alone, in x = v + shift.

        Aligned composites shift x so that the first noise drawn has location 0: then cells that
        differ in which variable won still share their kinks.
        """
        shift = self._shift() if aligned and not self.density.discrete else _ZERO
        own = density_row(self.density, _ONE, -shift)
        rows: list[DensityRow | IntervalRow] = []
        rows += [density_row(d, a, b - a * shift) for d, a, b in self.own_kernels]
        for leaf in self.leaves:
            lows = tuple(rational_bound(a, b - a * shift, s) for a, b, s in leaf.lows)
            highs = tuple(rational_bound(a, b - a * shift, s) for a, b, s in leaf.highs)
            rows.append(interval_row(leaf.density, lows, highs))
        low, high = float("-inf"), float("inf")
        if self.density.discrete:
            # A strict bound on a lattice is the next point; half a step is on the safe side.
            if self.low is not None:
                low = float(self.low) + (1e-6 if self.low_strict else -1e-6)
            if self.high is not None:
                high = float(self.high) - (1e-6 if self.high_strict else -1e-6)
        else:
            low = low if self.low is None else float(self.low + shift)
            high = high if self.high is None else float(self.high + shift)
        rows.sort(key=id)  # cells that differ in the order of equal noises have one mass
        return Composite((own, *rows), low, high, self.density.discrete)

    def _shift(self) -> Fraction:
        if not self.leaves:
            return _ZERO
        first = min(self.leaves, key=lambda leaf: leaf.order)
        if first.order > self.order:
            return _ZERO
        for slope, offset, _ in first.lows + first.highs:
            if slope:
                return offset / slope
        return _ZERO

    def as_density(self) -> tuple[LineDensity, list[tuple[Fraction, Fraction, bool]], list]:
        """The variable as a leaf: its density and the bounds that are still to be applied."""
        if self.plain:
            lows, highs = self.own_bounds()
            return self.density, lows, highs
        return self.composite(aligned=False).tabulated(), [], []


def eliminate(
    latents: Latents, kernels: Sequence[Kernel], inequalities: Sequence[Inequality]
) -> list[Term]:
    """The integral over all latents, as a product of terms in what is left: the parameters.

    Symbols that are not latent are parameters. Raises RefusedError where more than two nested
    integrals would be needed.
    """
    inequalities = _without_implied(inequalities)
    terms: list[Term] = []
    touched: dict[Symbol, _Variable] = {}

    def touch(symbol: Symbol) -> _Variable:
        variable = touched.get(symbol)
        if variable is None:
            variable = touched[symbol] = _Variable(symbol, *latents.known(symbol))
        return variable

    for inequality in inequalities:
        found = [s for s in inequality.form.terms if s in latents]
        if not found:
            terms.append(GateTerm(FloatForm(inequality.form), inequality.strict))
        elif len(inequality.form.terms) == 1:
            variable = touch(found[0])
            variable.bound(
                inequality.form.constant, inequality.form.terms[found[0]], inequality.strict
            )
        else:
            for s in found:
                touch(s).inequalities.append(inequality)
    for kernel in kernels:
        found = [s for s in kernel.form.terms if s in latents]
        if not found:
            terms.append(KernelTerm(kernel.density, FloatForm(kernel.form)))
        elif len(kernel.form.terms) == 1:
            variable = touch(found[0])
            variable.own_kernels.append(
                (kernel.density, kernel.form.terms[found[0]], kernel.form.constant)
            )
        else:
            for s in found:
                touch(s).kernels.append(kernel)
    for component in _components(touched):
        terms += _component(component, 0)
    return terms


def _without_implied(inequalities: Sequence[Inequality]) -> list[Inequality]:
    """Drop a ≥ c where a ≥ b and b ≥ c say so already: orders written in full become chains."""
    known: dict[Symbol, dict[Symbol, tuple[Fraction, bool]]] = {}
    kept: list[Inequality] = []
    differences: list[tuple[Symbol, Symbol, Inequality]] = []
    for item in inequalities:
        terms = item.form.terms
        if len(terms) == 2 and set(terms.values()) == {_ONE, -_ONE}:
            upper = next(s for s, c in terms.items() if c == 1)
            lower = next(s for s in terms if s != upper)
            below = known.setdefault(upper, {})
            before = below.get(lower)
            entry = (item.form.constant, item.strict)
            if before is None or entry[0] < before[0] or (entry[0] == before[0] and entry[1]):
                below[lower] = entry
            differences.append((upper, lower, item))
        else:
            kept.append(item)
    if len(differences) < 3:
        return list(inequalities)
    for upper, lower, item in differences:
        entry = (item.form.constant, item.strict)
        if known[upper].get(lower) != entry:
            continue  # weaker than another one, or dropped with an equal one
        del known[upper][lower]
        for between, (first, first_strict) in known[upper].items():
            step = known.get(between, {}).get(lower)
            if step is None:
                continue
            total = first + step[0]
            strict = first_strict or step[1]
            if total < entry[0] or (total == entry[0] and (strict or not entry[1])):
                break
        else:
            known[upper][lower] = entry
            kept.append(item)
    return kept


def _components(variables: dict[Symbol, _Variable]) -> list[dict[Symbol, _Variable]]:
    left = dict(variables)
    found = []
    while left:
        symbol, _ = next(iter(left.items()))
        group: dict[Symbol, _Variable] = {}
        stack = [symbol]
        while stack:
            s = stack.pop()
            if s not in left:
                continue
            variable = group[s] = left.pop(s)
            items: list[Inequality | Kernel] = [*variable.inequalities, *variable.kernels]
            for item in items:
                stack += [o for o in item.form.terms if o in left]
        found.append(group)
    return found


def _component(variables: dict[Symbol, _Variable], depth: int) -> list[Term]:
    terms: list[Term] = []
    while variables:
        ready = _leaves(variables, plain=True) or _leaves(variables, plain=False)[:1]
        if not ready:
            return terms + _condition(variables, depth)
        gone: set[int] = set()
        parents: dict[Symbol, _Variable] = {}
        for variable, parent in ready:
            if variable.symbol in parents:
                continue  # it has absorbed its only neighbour in this round
            del variables[variable.symbol]
            if parent is not None:
                gone.update(map(id, variable.inequalities))
                parents[parent.symbol] = parent
                _absorb(variable, parent)
            elif variable.inequalities:
                terms.append(_interval_term(variable))
            else:
                terms.append(_mass_term(variable))
        for parent in parents.values():
            parent.inequalities = [i for i in parent.inequalities if id(i) not in gone]
    return terms


def _leaves(
    variables: dict[Symbol, _Variable], *, plain: bool
) -> list[tuple[_Variable, _Variable | None]]:
    """Variables that can be integrated out now, each with the one it goes into (None: none)."""
    found: list[tuple[_Variable, _Variable | None]] = []
    for variable in variables.values():
        if variable.kernels or variable.plain != plain:
            continue
        other: Symbol | None = None
        for item in variable.inequalities:
            for s in item.form.terms:
                if s is not variable.symbol and s != variable.symbol and s != other:
                    if other is not None:
                        break
                    other = s
            else:
                continue
            break
        else:
            parent = None if other is None else variables.get(other)
            if parent is None or parent.density.discrete or not variable.density.discrete:
                found.append((variable, parent))
            continue
        # Several others: fine if all of them are parameters.
        if not any(
            s in variables and s != variable.symbol
            for item in variable.inequalities
            for s in item.form.terms
        ):
            found.append((variable, None))
    found.sort(key=lambda pair: -pair[0].order)
    return found


def _absorb(variable: _Variable, parent: _Variable) -> None:
    density, lows, highs = variable.as_density()
    for item in variable.inequalities:
        own = item.form.terms[variable.symbol]
        other = item.form.terms[parent.symbol]
        entry = (-other / own, -item.form.constant / own, item.strict)
        (lows if own > 0 else highs).append(entry)
    parent.leaves.append(_Leaf(density, lows, highs, variable.order))


def _interval_term(variable: _Variable) -> Term:
    density, lows, highs = variable.as_density()
    low_terms = [(FloatForm(Form(None, b)), s) for _, b, s in lows]
    high_terms = [(FloatForm(Form(None, b)), s) for _, b, s in highs]
    for item in variable.inequalities:
        own = item.form.terms[variable.symbol]
        rest = Form(
            {s: c for s, c in item.form.terms.items() if s != variable.symbol}, item.form.constant
        )
        entry = (FloatForm(rest.times(-1 / own)), item.strict)
        (low_terms if own > 0 else high_terms).append(entry)
    return IntervalTerm(density, tuple(low_terms), tuple(high_terms))


def _mass_term(variable: _Variable) -> Term:
    if variable.plain:
        lows, highs = variable.own_bounds()
        return IntervalTerm(
            variable.density,
            tuple((FloatForm(Form(None, b)), s) for _, b, s in lows),
            tuple((FloatForm(Form(None, b)), s) for _, b, s in highs),
        )
    return MassTerm(variable.composite(aligned=True))


def _condition(variables: dict[Symbol, _Variable], depth: int) -> list[Term]:
    """Integrate over one variable with the others inside, where no leaf is left."""
    if depth >= _DEEPEST:
        names = ", ".join(str(s) for s in variables)
        raise RefusedError(
            f"the noises {names} are tied together in a way that needs more than "
            f"{_DEEPEST} nested integrals"
        )
    choices = sorted(
        variables.values(),
        key=lambda v: (-len(v.inequalities) - len(v.kernels), v.order),
    )
    refusal: RefusedError | None = None
    for chosen in choices:
        rest = {s: v for s, v in variables.items() if s != chosen.symbol}
        copies = {
            s: _Variable(
                s,
                v.density,
                v.order,
                list(v.inequalities),
                list(v.kernels),
                list(v.leaves),
                list(v.own_kernels),
                v.low,
                v.low_strict,
                v.high,
                v.high_strict,
            )
            for s, v in rest.items()
        }
        inner: list[Term] = []
        for item in chosen.inequalities:
            if not any(s in copies for s in item.form.terms):
                inner.append(GateTerm(FloatForm(item.form), item.strict))
        for kernel in chosen.kernels:
            if not any(s in copies for s in kernel.form.terms):
                inner.append(KernelTerm(kernel.density, FloatForm(kernel.form)))
        try:
            for component in _components(copies):
                inner += _component(component, depth + 1)
        except RefusedError as error:
            refusal = error
            continue
        return [_integral(chosen, inner)]
    assert refusal is not None
    raise refusal


def _integral(chosen: _Variable, inner: list[Term]) -> Term:
    composite = chosen.composite(aligned=False)
    aligned = None
    if not chosen.density.discrete:
        aligned = (chosen.composite(aligned=True), chosen._shift())
    return IntegralTerm(chosen.symbol, composite, inner, aligned)
