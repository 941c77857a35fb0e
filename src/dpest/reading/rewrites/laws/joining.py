"""Noises that only ever appear together, in one proportion, are one noise where a law says so.

Half as many variables for whoever integrates over them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.machine.exploring.making import Made
from dpest.reading.paths import Formula, Path, Trace
from dpest.reading.rewrites.laws.protocol import (
    Combination,
    Drawn,
    Expression,
    Law,
    drawn_form,
    recognised,
    rewrites,
)

_Appearances = tuple[tuple[int, Fraction], ...]
_ZERO, _ONE = Fraction(0), Fraction(1)


def with_joined_noises(trace: Trace) -> Trace:
    """The same trace, with such noises replaced. Exact: no probability changes."""
    joining = joined(_forms(trace), trace.noises)
    return _replaced(trace, joining) if joining.values else trace


def joined(forms: Iterable[Form], noises: Mapping[Symbol, Noise]) -> Joining:
    """Which noises are one, where these forms are all that they stand in."""
    joining = Joining(dict(noises))
    families = frozenset().union(*(rewrite.families for rewrite in rewrites()))
    candidates = [s for s, n in noises.items() if n.family in families]
    if len(candidates) < 2:
        return joining
    appearances = _appearances(forms, set(candidates))
    for symbol in candidates:
        seen = tuple(appearances[symbol])
        if seen:
            scale = seen[0][1]
            proportion = tuple((number, c / scale) for number, c in seen)
            joining.add(proportion, scale, symbol)
    return joining


class Joining:
    """Noises by where they appear: those of one proportion are multiples in one sum."""

    def __init__(self, noises: dict[Symbol, Noise]) -> None:
        self.noises = noises
        self.values: dict[Symbol, Form] = {}
        self.made: dict[Symbol, Made] = {}  # the new noises
        self._open: dict[_Appearances, dict[tuple[Noise, Fraction], list[Symbol]]] = defaultdict(
            dict
        )

    def add(self, proportion: _Appearances, scale: Fraction, symbol: Symbol) -> None:
        """A noise that appears as `scale`·`symbol` in the sum."""
        waiting = self._open[proportion]
        noise = self.noises[symbol]
        for (other_noise, other_scale), symbols in waiting.items():
            if not symbols:
                continue
            other, factor = symbols[-1], scale / other_scale
            made = Combination(
                _ZERO, ((_ONE, Drawn(other, other_noise)), (factor, Drawn(symbol, noise)))
            )
            law = recognised(made)
            if law is not None:
                symbols.pop()
                one = self._joined(law, made, other, symbol, factor)
                if one is not None:
                    self.add(proportion, other_scale * law.terms[0][0], one)
                return
        waiting.setdefault((noise, scale), []).append(symbol)

    def _joined(
        self, law: Law, made: Expression, other: Symbol, symbol: Symbol, factor: Fraction
    ) -> Symbol | None:
        """The new noise, if it is one; in the place of `other` + `factor`·`symbol`."""
        sign = {_ONE: "+", -_ONE: "-"}.get(factor, f"+{factor}*")
        name = f"{other.name}{sign}{symbol.name}"
        marks = [""] if len(law.terms) == 1 else [f"#{i}" for i in range(len(law.terms))]
        symbols = [Symbol("noise", name + mark) for mark in marks]
        for place, (one, (_, noise)) in enumerate(zip(symbols, law.terms, strict=True)):
            self.noises[one] = noise
            self.made[one] = Made(noise, made, law, place)
        # The second one cancels wherever the first stands.
        self.values[other] = drawn_form(law, symbols).minus(Form.of(symbol).times(factor))
        del self.noises[symbol], self.noises[other]
        return symbols[0] if len(symbols) == 1 and not law.constant else None

    def settled(self) -> dict[Symbol, Form]:
        """Each noise that is gone by those that are left: what was joined may be joined again."""
        found: dict[Symbol, Form] = {}
        for symbol in reversed(self.values):
            found[symbol] = self.values[symbol].substitute(found)
        return found


def _forms(trace: Trace) -> Iterator[Form]:
    for path in trace.paths:
        yield from (c.form for c in path.conditions)
        yield from path.forms
    for formula in trace.indicators.values():
        yield from (c.form for c in formula.conditions())


def _appearances(
    forms: Iterable[Form], candidates: set[Symbol]
) -> dict[Symbol, dict[tuple[int, Fraction], None]]:
    """In which forms a noise stands, and with which coefficient; equal forms are one."""
    numbers: dict[Form, int] = {}
    found: dict[Symbol, dict[tuple[int, Fraction], None]] = {s: {} for s in candidates}
    for form in forms:
        own = form.terms.keys() & candidates
        if own:
            number = numbers.setdefault(form, len(numbers))
            for symbol in own:
                found[symbol][number, form.terms[symbol]] = None
    return found


def _replaced(trace: Trace, joining: Joining) -> Trace:
    known: dict[Condition, Condition] = {}
    values = joining.settled()

    def condition(old: Condition) -> Condition:
        new = known.get(old)
        if new is None:
            new = known[old] = Condition(old.form.substitute(values), old.relation)
        return new

    def leaf(old: Any) -> Any:
        return old.substitute(values) if isinstance(old, Form) else old

    paths = tuple(
        Path(
            tuple(condition(c) for c in path.conditions),
            path.skeleton,
            tuple(leaf(v) for v in path.leaves),
            path.choices,
        )
        for path in trace.paths
    )
    indicators = {}
    for symbol, formula in trace.indicators.items():
        found = formula.substituted(values)
        indicators[symbol] = found if isinstance(found, Formula) else Formula(None, (), found)
    return replace(trace, paths=paths, noises=joining.noises, indicators=indicators)
