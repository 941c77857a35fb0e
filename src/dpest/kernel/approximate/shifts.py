"""Common shift: how noises are moved, so that every row stays as it is.

A row is Σ d·noise + Σ b·(private symbol) + public. Neighbours differ in the private symbols by Δ.
Rows are taken in the order in which they became visible; in each, noises that no earlier row has
are moved so that the row stays as it is. So the second run with moved noises shows the same rows,
hence takes the same ways and shows the same outputs. A noise is moved by a number that earlier rows
fix (what a record adds may depend on them), and is independent of them: the program is a
post-processing of adaptive additive-noise steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from ..invalid import Invalid
from .accountant import ONE, ZERO
from .enclosures import log_range
from .terms import RecordForm
from .ways import Private, Shift, StageChoice, StageNoise, StageWay

WHOLE = ("discrete_laplace", "two_sided_geometric")
MOVING = ("normal", "laplace", *WHOLE)
"""Noises on both sides of 0: a move costs something, and not everything."""


def shifts_of(way: StageWay) -> list[tuple[int, dict[int, Shift]]]:
    """Row by row, the noises that it moves; refuses rows that no noise can keep as they are."""
    known: dict[int, Shift] = {}
    found = []
    for t, row in enumerate(way.rows):
        noises: dict[int, Fraction] = {}
        rest: Shift = {}
        if isinstance(row, StageChoice):
            continue
        if row.constant:
            raise Invalid("a row with a constant")
        for symbol, c in row.terms:
            s = way.terms.symbols[symbol]
            if s.after > t:
                raise Invalid("a row that depends on later ones")
            if s.op == "noise":
                noises[s.numbers[0]] = noises.get(s.numbers[0], ZERO) + c
            else:
                key = private_symbol(way, symbol, t)
                rest[key] = rest.get(key, ZERO) + c
        noises = {n: c for n, c in noises.items() if c}
        for noise, c in noises.items():
            for key, slope in known.get(noise, {}).items():
                rest[key] = rest.get(key, ZERO) + c * slope
        rest = {k: c for k, c in rest.items() if c}
        fresh = {n: c for n, c in noises.items() if n not in known}
        if rest and not fresh:
            raise Invalid("a private value is shown, or decides, without noise of its own")
        moved = share_move(way, fresh, rest)
        known.update(moved)
        found.append((t, moved))
    return found


def exponents_of(way: StageWay, choice: StageChoice, t: int) -> tuple[Shift, ...]:
    """The private symbols in the exponents of a choice; public ones don't move.

    Those of a race are scores, in units of its noise.
    """
    scale = way.noises[choice.noises[0]].scale if choice.noises else ONE
    return tuple(private_part(way, form.times(1 / scale), t) for form in choice.exponents)


def private_part(way: StageWay, form: RecordForm, t: int) -> Shift:
    """The private symbols of a form, visible when row t is; public ones don't move."""
    found: Shift = {}
    for symbol, c in form.terms:
        s = way.terms.symbols[symbol]
        if s.after > t:
            raise Invalid("a choice that depends on later rows")
        if s.op in ("sum", "noise") or s.private or s.record:
            key = private_symbol(way, symbol, t)
            found[key] = found.get(key, ZERO) + c
    return found


def private_symbol(way: StageWay, symbol: int, t: int) -> Private:
    """The sum, function of sums, or record's own symbol that a symbol is; refuses others."""
    s = way.terms.symbols[symbol]
    if s.private:
        for form in s.forms:
            private_part(way, form, t)
        return Private(-2, symbol)
    if s.op == "sum":
        p, place = s.numbers
        if way.passes[p].made > t:
            raise Invalid("a row with a sum that was made later")
        return Private(p, place)
    if s.record and way.apart and s.index is not None:
        return Private(-1, symbol)
    raise Invalid("a row with something that is neither noise nor a sum")


def share_move(way: StageWay, fresh: Mapping[int, Fraction], rest: Shift) -> dict[int, Shift]:
    """How the fresh noises of a row share its move."""
    still: dict[int, Shift] = {n: {} for n in fresh}
    if not rest:
        return still
    fresh = {n: c for n, c in fresh.items() if way.noises[n].family in MOVING}
    if not fresh:
        raise Invalid("noise on one side alone hides nothing")
    normal = [n for n in fresh if way.noises[n].family == "normal" and way.noises[n].most is None]
    if normal:  # in proportion to their variances: the least cost
        weights = {n: fresh[n] * way.noises[n].scale ** 2 for n in normal}
        total = sum((fresh[n] * w for n, w in weights.items()), ZERO)
        for n, w in weights.items():
            still[n] = {k: -c * w / total for k, c in rest.items()}
        return still
    smooth = [n for n in fresh if way.noises[n].family not in WHOLE]
    best = max(smooth or fresh, key=lambda n: abs(fresh[n]) * spread(way.noises[n]))
    still[best] = {k: -c / fresh[best] for k, c in rest.items()}
    return still


def spread(noise: StageNoise) -> Fraction:
    """How far a noise is moved for ε = 1; for one that falls off by α a step, a lower bound."""
    if noise.family != "two_sided_geometric":
        return noise.scale
    return 1 / -log_range(noise.scale)[0]


def atoms(way: StageWay, symbols: Iterable[Private]) -> set[Private]:
    """The sums, and the symbols of single records, that private symbols are made of."""
    found: set[Private] = set()
    for p in symbols:
        if p.passed != -2:
            found.add(p)
            continue
        for form in way.terms.symbols[p.place].forms:
            found |= atoms(way, private_part(way, form, len(way.rows)))
    return found
