"""Two noises that only ever appear as their difference are one noise.

The difference of two exponential noises of one scale is a Laplace noise, that of two geometric
ones is two-sided geometric: half as many variables for whoever integrates over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.geometric import Geometric
from dpest.noise.laplace import Laplace
from dpest.noise.two_sided_geometric import TwoSidedGeometric
from dpest.reading.instances import substituted
from dpest.reading.paths import Path, Trace
from dpest.reading.tracing.symbolic import Truth

_Appearances = tuple[tuple[int, Fraction], ...]


def with_differences(trace: Trace) -> Trace:
    """The same trace, with such pairs replaced. Exact: no probability changes."""
    candidates = [s for s, n in trace.noises.items() if isinstance(n, (Exponential, Geometric))]
    if len(candidates) < 2:
        return trace
    noises = dict(trace.noises)
    values: dict[Symbol, Form] = {}
    open_: dict[tuple[Noise, _Appearances], Symbol] = {}
    appearances = _appearances(trace, set(candidates))
    for symbol in candidates:
        seen = tuple(appearances[symbol])
        noise = noises[symbol]
        opposite = tuple((number, -c) for number, c in seen)
        other = open_.pop((noise, opposite), None)
        if not seen or other is None:
            open_[noise, seen] = symbol
            continue
        one = Symbol("noise", f"{other.name}-{symbol.name}")
        noises[one] = _difference(noise)
        # The other one cancels wherever it stands.
        values[other] = Form.of(one).plus(Form.of(symbol))
        del noises[symbol], noises[other]
    return _replaced(trace, noises, values) if values else trace


def _difference(noise: Noise) -> Noise:
    if isinstance(noise, Exponential):
        return Laplace(noise.scale)
    assert isinstance(noise, Geometric)
    return TwoSidedGeometric(noise.p)


def _forms(trace: Trace) -> Iterator[Form]:
    for path in trace.paths:
        yield from (c.form for c in path.conditions)
        yield from path.forms
    pending: list[Truth] = list(trace.indicators.values())
    for truth in pending:
        if truth.condition is not None:
            yield truth.condition.form
        pending.extend(truth.parts)


def _appearances(
    trace: Trace, candidates: set[Symbol]
) -> dict[Symbol, dict[tuple[int, Fraction], None]]:
    """In which forms a noise stands, and with which coefficient; equal forms are one."""
    numbers: dict[Form, int] = {}
    found: dict[Symbol, dict[tuple[int, Fraction], None]] = {s: {} for s in candidates}
    for form in _forms(trace):
        own = form.terms.keys() & candidates
        if own:
            number = numbers.setdefault(form, len(numbers))
            for symbol in own:
                found[symbol][number, form.terms[symbol]] = None
    return found


def _replaced(trace: Trace, noises: dict[Symbol, Noise], values: dict[Symbol, Form]) -> Trace:
    known: dict[Condition, Condition] = {}

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
    indicators = {s: substituted(truth, values) for s, truth in trace.indicators.items()}
    return replace(trace, paths=paths, noises=noises, indicators=indicators)
