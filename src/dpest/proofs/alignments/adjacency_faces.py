"""An adjacency as boxes of differences: components, each the convex hull of its faces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Symbol
from dpest.proofs.alignments.alignment import Face
from dpest.reading.world import DerivedDatum

Faces = list[list[dict[Symbol, tuple[Fraction, Fraction]]]]
_ZERO = Fraction(0)


def radius_of(adjacency: Any, domain: Any = None) -> Any:
    """The exact radius; infinite where entries may be replaced by anything."""
    if adjacency.radius is not None:
        return adjacency._exact_radius()
    width = getattr(domain, "width", None)
    if not adjacency.changes_length and width is not None and math.isfinite(width):
        return Fraction(repr(float(width)))
    return math.inf


def faces(
    adjacency: Any,
    inputs: Sequence[Symbol],
    derived: Mapping[Symbol, DerivedDatum],
    domain: Any = None,
    integers: bool = False,
) -> Faces:
    """The faces over the inputs and over what was derived from them (the kernel has its own).

    `integers`: whether the data are taken to be integers, of which a ball of radius 1 moves one.
    """
    r = radius_of(adjacency, domain)
    one_moves = r <= 1 and (integers or (domain is not None and domain.integral))
    if (
        adjacency.spans_hull
        and not one_moves
        and any(d.kind == "indicator" for d in derived.values())
    ):
        raise RefusedError(
            f"a comparison of data is counted under {adjacency.name}: many entries may each move a "
            "little and all cross the threshold, so that the count moves by their number. Say what "
            "one person can change (replace_one, add_remove_one), or that the data are integers "
            "(domain=dpest.integers())"
        )
    reach = [(-r, r)]
    if math.isinf(r) and getattr(domain, "fields", None):
        reach = [(low - high, high - low) for low, high in entry_ranges(adjacency, domain)]
    size = len(reach)
    rows = [list(inputs[i : i + size]) for i in range(0, len(inputs), size)]
    plain: Faces = adjacency.faces(rows, r, reach)
    cut = not adjacency.spans_hull
    return [[widened(face, derived, cut) for face in group] for group in plain]


def entry_ranges(adjacency: Any, domain: Any = None) -> list[tuple[Any, Any]]:
    """What an entry may be, field by field: within the bounds of the domain and of the radius."""
    bounds = [(low, high) for _, low, high in getattr(domain, "fields", ())]
    if not bounds:
        bounds = [(getattr(domain, "low", -math.inf), getattr(domain, "high", math.inf))]
    found: list[tuple[Any, Any]] = []
    for ends in bounds:
        low, high = (e if math.isinf(e) else Fraction(repr(float(e))) for e in ends)
        if adjacency.radius is not None:
            r = adjacency._exact_radius()
            low, high = max(low, -r), min(high, r)
        found.append((low, high))
    return found


def widened(
    face: Mapping[Symbol, tuple[Any, Any]], derived: Mapping[Symbol, DerivedDatum], cut: bool
) -> dict[Symbol, tuple[Any, Any]]:
    """Add the ranges of derived data; `cut`: by the widths of clips (no vertex of a hull is)."""
    result = dict(face)
    for symbol, rule in derived.items():
        if rule.kind == "indicator":
            still = all(result.get(s, (_ZERO, _ZERO)) == (_ZERO, _ZERO) for s in rule.of.terms)
            result[symbol] = (_ZERO, _ZERO) if still else (Fraction(-1), Fraction(1))
            continue
        low = lowest(rule.of.terms, result)
        high = -lowest({s: -c for s, c in rule.of.terms.items()}, result)
        if cut and rule.width is not None:
            low, high = max(low, -rule.width), min(high, rule.width)
        result[symbol] = (min(low, _ZERO), max(high, _ZERO))
    return result


def whole_data(
    inputs: Iterable[Symbol], derived: Mapping[Symbol, DerivedDatum], integers: bool
) -> frozenset[Symbol]:
    """The data whose differences are integers: integer noise can follow no others."""
    found = set(inputs) if integers else set()
    for symbol, rule in derived.items():
        numbers = [*rule.of.terms.values(), rule.of.constant]
        numbers += [end - rule.of.constant for end in (rule.low, rule.high) if end is not None]
        if rule.kind == "indicator" or (
            found.issuperset(rule.of.terms) and all(n.denominator == 1 for n in numbers)
        ):
            found.add(symbol)
    return frozenset(found)


def lowest(slopes: Mapping[Symbol, Fraction], face: Face) -> Any:
    total: Any = _ZERO
    for symbol, slope in slopes.items():
        low, high = face.get(symbol, (_ZERO, _ZERO))
        if slope and (low or high):
            total += min(slope * low, slope * high)
    return total


def relevant(groups: Iterable[Iterable[Face]], used: set[Symbol]) -> Faces:
    """The faces on the symbols that are used; without repetitions and without the trivial one."""
    result: Faces = []
    for group in groups:
        seen: dict[Any, dict[Symbol, tuple[Fraction, Fraction]]] = {}
        for face in group:
            cut = {s: e for s, e in face.items() if s in used and e != (_ZERO, _ZERO)}
            if cut:
                seen[tuple(sorted(cut.items(), key=lambda item: item[0].name))] = cut
        result.append(list(seen.values()))
    return result
