"""Real outputs as coordinates: which combinations of them pin which noise.

Outputs y are a linear map of the noise plus an offset that the input moves. Row operations that
depend on the map alone bring it to reduced form, so that a prefix sum falls into independent
coordinates. A row without noise is an exact relation between outputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise

Row = tuple[Fraction, ...]
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class OutputShape:
    """How some outputs lie in space: their exact relations and their lattice combinations.

    Two parts of a distribution with different shapes are mutually singular.
    `relations` rows are (m, value): Σ m_j·y_j = value, in canonical form. `lattice` rows are
    combinations of outputs that take values on a lattice only. `free` are the outputs that the
    relations leave free.
    """

    relations: tuple[tuple[Row, Fraction], ...]
    lattice: tuple[Row, ...]
    free: tuple[int, ...]


@dataclass(frozen=True)
class Reduced:
    """Rows of the reduced map: the combination of outputs, and the pivot noise (None: none)."""

    combination: Row
    noise: Mapping[Symbol, Fraction]
    pivot: Symbol | None


def reduce_map(forms: Sequence[Form], columns: Sequence[Symbol]) -> list[Reduced]:
    """Reduced row echelon form of the outputs' noise map, pivots in the order of `columns`."""
    rows = [dict(f.terms) for f in forms]
    size = len(rows)
    combos: list[dict[int, Fraction]] = [{i: _ONE} for i in range(size)]
    pivots: list[Symbol | None] = [None] * size
    for column in columns:
        found = [i for i in range(size) if pivots[i] is None and rows[i].get(column)]
        if not found:
            continue
        chosen = min(found, key=lambda i: (len(rows[i]), i))
        factor = rows[chosen][column]
        if factor != 1:
            rows[chosen] = {s: c / factor for s, c in rows[chosen].items()}
            combos[chosen] = {j: c / factor for j, c in combos[chosen].items()}
        pivots[chosen] = column
        for i in range(size):
            scale = rows[i].get(column)
            if i == chosen or not scale:
                continue
            _subtract(rows[i], rows[chosen], scale)
            _subtract(combos[i], combos[chosen], scale)
    return [
        Reduced(tuple(combos[i].get(j, _ZERO) for j in range(size)), rows[i], pivots[i])
        for i in range(size)
    ]


def _subtract(target: dict, source: dict, scale: Fraction) -> None:
    for key, value in source.items():
        left = target.get(key, _ZERO) - scale * value
        if left:
            target[key] = left
        else:
            target.pop(key, None)


def canonical(rows: Sequence[Row]) -> list[Row]:
    """Reduced row echelon form of plain rows; zero rows dropped."""
    work = [list(row) for row in rows]
    done = 0
    width = len(work[0]) if work else 0
    for column in range(width):
        pick = next((i for i in range(done, len(work)) if work[i][column]), None)
        if pick is None:
            continue
        work[done], work[pick] = work[pick], work[done]
        lead = work[done][column]
        work[done] = [v / lead for v in work[done]]
        for i in range(len(work)):
            if i != done and work[i][column]:
                scale = work[i][column]
                work[i] = [a - scale * b for a, b in zip(work[i], work[done], strict=True)]
        done += 1
    return [tuple(row) for row in work[:done]]


def column_order(
    forms: Sequence[Form], noises: Mapping[Symbol, Noise], uses: Mapping[Symbol, int]
) -> list[Symbol]:
    """Noise symbols in the order in which they should be pinned.

    Continuous ones first; then those that appear in the fewest conditions and outputs, so that
    what stays to be integrated is what ties the outputs together.
    """
    seen: dict[Symbol, int] = {}
    for form in forms:
        for symbol in form.terms:
            seen[symbol] = seen.get(symbol, 0) + 1
    order = {s: i for i, s in enumerate(noises)}
    return sorted(
        seen, key=lambda s: (noises[s].discrete, seen[s], uses.get(s, 0), order.get(s, 0))
    )


def shape_of(
    forms: Sequence[Form],
    noises: Mapping[Symbol, Noise],
    uses: Mapping[Symbol, int],
    on_lattice: Sequence[bool],
) -> OutputShape:
    """The shape of outputs given by these forms.

    `on_lattice` marks outputs that are lattice-valued somewhere in the comparison: relations
    between those are not singular, they are just lattice points.
    """
    size = len(forms)
    if size == 1:
        (form,) = forms
        if not form.terms and not on_lattice[0]:
            return OutputShape((((_ONE,), form.constant),), (), ())
        is_lattice = all(noises[s].discrete for s in form.terms)
        return OutputShape((), ((_ONE,),) if is_lattice else (), (0,))
    reduced = reduce_map(forms, column_order(forms, noises, uses))
    relations: list[Row] = []
    lattice: list[Row] = []
    for row in reduced:
        touched = [j for j, c in enumerate(row.combination) if c]
        if row.pivot is None and not all(on_lattice[j] for j in touched):
            value = sum((c * forms[j].constant for j, c in enumerate(row.combination)), start=_ZERO)
            relations.append((*row.combination, value))
        elif row.pivot is None or noises[row.pivot].discrete:
            lattice.append(row.combination)
    if not relations:
        return OutputShape((), tuple(canonical(lattice)), tuple(range(size)))
    rows = canonical(relations)
    pinned = {next(j for j, c in enumerate(row) if c) for row in rows}
    free = tuple(j for j in range(size) if j not in pinned)
    if lattice:  # modulo the relations, in terms of the free outputs
        lattice = canonical([*[r[:-1] for r in rows], *lattice])
        lattice = [r for r in lattice if not any(r[j] for j in pinned)]
    return OutputShape(tuple((r[:-1], r[-1]) for r in rows), tuple(lattice), free)


def log_determinant(rows: Sequence[Sequence[Fraction]]) -> float:
    """Log of the absolute determinant, exact until the last step."""
    work = [list(row) for row in rows]
    size = len(work)
    product = _ONE
    for column in range(size):
        pick = next((i for i in range(column, size) if work[i][column]), None)
        if pick is None:
            return -math.inf
        work[column], work[pick] = work[pick], work[column]
        lead = work[column][column]
        product *= lead
        for i in range(column + 1, size):
            if work[i][column]:
                scale = work[i][column] / lead
                work[i] = [a - scale * b for a, b in zip(work[i], work[column], strict=True)]
    return math.log(abs(product.numerator)) - math.log(product.denominator)
