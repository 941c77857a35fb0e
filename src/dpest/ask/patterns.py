"""The literature's input patterns (StatDP, and DP-Sniper's order of their halves).

1ⁿ against itself with some entries moved, and the X shape; clipped to the domain and kept where
the adjacency allows them. For datasets and finite domains, their counterparts.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from dpest.ask.adjacency import Adjacency
from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.entries import same
from dpest.ask.tables import Table
from dpest.errors import InputError

Pattern = tuple[str, Any, Any]


def patterns(
    adjacency: Adjacency,
    domain: Domain,
    length: int | None = None,
    *,
    both_orders: bool = True,
    most: int = 1000,
) -> list[Pattern]:
    """(name, x, x2) for each pattern; the other order follows each, marked in its name.

    A domain with at most `most` ordered pairs under the adjacency gives all of them instead. The
    inputs have the form that the domain says.
    """
    found = plain_patterns(adjacency, domain, length, both_orders=both_orders, most=most)
    if domain.form == "list":
        return found
    return [(name, domain.as_input(x), domain.as_input(x2)) for name, x, x2 in found]


def plain_patterns(
    adjacency: Adjacency,
    domain: Domain,
    length: int | None = None,
    *,
    both_orders: bool = True,
    most: int = 1000,
) -> list[Pattern]:
    """The patterns as lists, whatever the form."""
    n = domain.default_length() if length is None else length
    size = domain.size
    if adjacency.relates_all and size is not None and size * (size - 1) <= most:
        found = all_pairs(adjacency, domain)
    elif isinstance(domain, (Records, Table)) or adjacency.swaps_entries:
        found = _datasets(adjacency, domain, n)
    elif isinstance(domain, Reals):
        found = _vectors(adjacency, domain, n)
    else:
        found = all_pairs(adjacency, domain)[: most // 2]
    if not both_orders:
        return found
    return [p for name, x, x2 in found for p in ((name, x, x2), (f"{name}, swapped", x2, x))]


def all_pairs(adjacency: Adjacency, domain: Domain) -> list[Pattern]:
    """Every unordered pair of different neighbours of a domain that can be listed."""
    found = []
    for x, x2 in itertools.combinations(domain.enumerate(), 2):
        if adjacency.holds(x, x2, domain):
            found.append((f"{x} against {x2}", x, x2))
    return found


def _vectors(adjacency: Adjacency, domain: Reals, n: int) -> list[Pattern]:
    radius = float(adjacency.radius) if adjacency.radius is not None else 1.0
    low, high = domain.box
    # The usual place; where the domain has nothing of it, its middle; then its lower end.
    for base, reach in ((1.0, radius), ((low + high) / 2, radius), (low, min(radius, high - low))):
        shapes = _shapes(n, base, reach)
        if adjacency.spans_hull:
            shapes = shapes[:2]
        if found := _kept(shapes, adjacency, domain):
            return found
    return []


def _shapes(n: int, base: float, radius: float) -> list[tuple[str, list[float], list[float]]]:
    up, down, half = base + radius, base - radius, n // 2
    ones = [base] * n
    return [
        ("one below", ones, [down] + [base] * (n - 1)),
        ("one above", ones, [up] + [base] * (n - 1)),
        ("one above, rest below", ones, [up] + [down] * (n - 1)),
        ("one below, rest above", ones, [down] + [up] * (n - 1)),
        ("half half", ones, [up] * half + [down] * (n - half)),
        ("all above", ones, [up] * n),
        ("all below", ones, [down] * n),
        ("X shape", [base] * half + [down] * (n - half), [down] * half + [base] * (n - half)),
    ]


def change_points(adjacency: Adjacency, domain: Domain, n: int) -> list[Pattern]:
    """Vectors whose first entries go up while the others go down; all but the last one, say.

    Programs that stop at the first hit are told apart by what came before it and by the hit.
    """
    if not isinstance(domain, Reals) or adjacency.swaps_entries or adjacency.radius is None:
        return []
    radius = float(adjacency.radius)
    places = [k for k in dict.fromkeys((n - 1, 3 * n // 4)) if n // 2 < k < n]
    shapes = [
        (f"{k} above, the rest below", [1.0] * n, [1 + radius] * k + [1 - radius] * (n - k))
        for k in places
    ]
    return _kept(shapes, adjacency, domain)


def _kept(
    shapes: list[tuple[str, list[float], list[float]]], adjacency: Adjacency, domain: Reals
) -> list[Pattern]:
    found: list[Pattern] = []
    for name, a, b in shapes:
        if not a:
            continue
        x, x2 = domain.clip(a), domain.clip(b)
        new = not any((x, x2) in ((y, y2), (y2, y)) for _, y, y2 in found)
        if x != x2 and new and adjacency.holds(x, x2, domain.with_length(len(x))):
            found.append((name, x, x2))
    return found


def _datasets(adjacency: Adjacency, domain: Domain, n: int) -> list[Pattern]:
    entries = typical_entries(domain, adjacency)
    bases = [(f"{n} of {e!r}", [e] * n) for e in entries]
    found: list[Pattern] = []
    for name, base in bases:
        for entry in entries:
            if adjacency.changes_length:
                candidates = [(f"{entry!r} added to {name}", base, [*base, entry])]
            else:
                candidates = [
                    (f"the first of {name} becomes {entry!r}", base, [entry, *base[1:]]),
                    (f"the last of {name} becomes {entry!r}", base, [*base[:-1], entry]),
                ][: max(n, 0) and 2]
            for title, x, x2 in candidates:
                try:
                    adjacency.check(x, x2, domain.with_length(n))
                except InputError:
                    continue
                differ = len(x) != len(x2) or not all(map(same, x, x2))
                if differ and not any(x == y and x2 == y2 for _, y, y2 in found):
                    found.append((title, x, x2))
    if adjacency.changes_length:
        alone: list[Pattern] = [(f"{e!r} added to nothing", [], [e]) for e in entries]
        found += [p for p in alone if adjacency.holds(p[1], p[2], domain)]
    return found


def typical_entries(domain: Domain, adjacency: Adjacency | None = None) -> list[Any]:
    """The entries that a dataset is built from: the extremes, the middle, 0 and ±1."""
    if isinstance(domain, Table):
        return domain.typical_entries()
    if isinstance(domain, Records) and domain.fields:
        lows, highs = zip(*((a, b) for _, a, b in domain.bounds()), strict=True)
        middle = [(a + b) / 2 for a, b in zip(lows, highs, strict=True)]
        return [domain.entry(list(v)) for v in (highs, lows, middle)]
    if isinstance(domain, Records):
        ((_, low, high),) = domain.bounds()
    elif isinstance(domain, Reals):
        low, high = domain.box
    else:
        return domain.enumerate()
    radius = adjacency.radius if adjacency is not None else None
    reach = [radius, -radius] if radius is not None else []
    missing = [math.nan] if isinstance(domain, Reals) and domain.nan else []
    wanted = [*reach, high, *missing, low, 0.0, 1.0, -1.0, (low + high) / 2]
    return list(dict.fromkeys(domain.clip_entry(value) for value in wanted))
