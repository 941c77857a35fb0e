"""An adjacency as boxes of differences: components, each the convex hull of its faces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.program.linear import Symbol
from dpest.program.piece_runs import Derived
from dpest.proofs.alignment import Face

Faces = list[list[dict[Symbol, tuple[Fraction, Fraction]]]]
_ZERO = Fraction(0)


def radius_of(adjacency: Any, domain: Any = None) -> Any:
    """The exact radius; infinite where entries may be replaced by anything."""
    if adjacency.radius is not None:
        return adjacency._exact_radius()
    width = getattr(domain, "width", None)
    if width is not None and math.isfinite(width):
        return Fraction(repr(float(width)))
    return math.inf


def faces(
    adjacency: Any,
    inputs: Sequence[Symbol],
    derived: Mapping[Symbol, Derived],
    domain: Any = None,
) -> Faces:
    """The faces over the inputs and over what was derived from them (see the checker's twin)."""
    r = radius_of(adjacency, domain)
    name = adjacency.name
    plain: Faces
    if name in ("linf", "any_pair"):
        plain = [[dict.fromkeys(inputs, (-r, r))]]
    elif name == "monotone":
        plain = [[dict.fromkeys(inputs, (_ZERO, r))], [dict.fromkeys(inputs, (-r, _ZERO))]]
    elif name == "l1":
        plain = [[{q: (v, v)} for q in inputs for v in (r, -r)]]
    elif name == "replace_one":
        plain = [[{q: (-r, r)}] for q in inputs]
    else:
        raise RefusedError(
            f"inputs that are neighbours under {name} have different lengths; ask for a proof "
            "with replace_one, l1, linf or monotone"
        )
    return [[widened(face, derived, name) for face in group] for group in plain]


def widened(
    face: Mapping[Symbol, tuple[Any, Any]], derived: Mapping[Symbol, Derived], name: str
) -> dict[Symbol, tuple[Any, Any]]:
    """Add the ranges of derived data. For l1 a face is a vertex of a hull: no width cuts it."""
    result = dict(face)
    for symbol, rule in derived.items():
        if rule.kind == "indicator":
            still = name != "l1" and all(
                result.get(s, (_ZERO, _ZERO)) == (_ZERO, _ZERO) for s in rule.of.terms
            )
            result[symbol] = (_ZERO, _ZERO) if still else (Fraction(-1), Fraction(1))
            continue
        low = lowest(rule.of.terms, result)
        high = -lowest({s: -c for s, c in rule.of.terms.items()}, result)
        if name != "l1" and rule.width is not None:
            low, high = max(low, -rule.width), min(high, rule.width)
        result[symbol] = (min(low, _ZERO), max(high, _ZERO))
    return result


def whole_data(
    inputs: Iterable[Symbol], derived: Mapping[Symbol, Derived], integers: bool
) -> frozenset[Symbol]:
    """The data whose differences are integers: integer noise can follow no others."""
    found = set(inputs) if integers else set()
    for symbol, rule in derived.items():
        numbers = [*rule.of.terms.values()]
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
