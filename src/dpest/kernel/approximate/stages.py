"""Stages: which noises are moved together, and by what.

Rows whose sums were all made before the first of them was visible are one stage: what one record
moves is looked at in all of them together, case by case. Costs of stages compose.

A choice between public candidates is a stage of its own (`choices.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .shifts import atoms, exponents_of, shifts_of
from .ways import Private, Shift, StageChoice, StageWay


@dataclass
class Stage:
    """Noises that are moved together, and the private symbols that move them.

    `points`: it is a choice of a point, by an exponent that is that of every point.
    """

    first: int
    shifts: dict[int, Shift]
    exponents: tuple[Shift, ...] = ()
    points: bool = False

    def symbols(self) -> set[Private]:
        return {p for shift in (*self.shifts.values(), *self.exponents) for p in shift}


def stages_of(way: StageWay) -> list[Stage]:
    """The stages of noises in the order of their rows, then the choices."""
    found: list[Stage] = []
    for t, moved in shifts_of(way):
        moved = {n: s for n, s in moved.items() if s}
        if not moved:
            continue
        symbols = {p for shift in moved.values() for p in shift}
        births = [way.passes[p.passed].made for p in atoms(way, symbols) if p.passed >= 0]
        births += [way.terms.symbols[p.place].after for p in symbols if p.passed == -2]
        joined = found and (way.apart or all(b <= found[-1].first for b in births))
        if not joined:
            found.append(Stage(t, {}))
        found[-1].shifts.update(moved)
    for t, row in enumerate(way.rows):
        if isinstance(row, StageChoice):
            found.append(Stage(t, {}, exponents_of(way, row, t), row.between is not None))
    return found
