"""Pairs of neighbours that straddle given numbers.

A threshold on one entry, on the sum or on the mean of all of them, a clip bound, a bin edge: for
each number there are pairs whose entries lie just on its two sides, one entry moved or all of them
together as far as the adjacency lets them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dpest.ask.adjacency import Adjacency
from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.entries import same
from dpest.ask.patterns import typical_entries
from dpest.ask.tables import Table
from dpest.running.landmarks import around

Candidate = tuple[str, Any, Any]
_SHORT = (0, 1, 2, 3)
_LONG, _MOST_LENGTHS = 200, 12
_FEW = 12  # entries of two kinds in every proportion
_GRID = 2.0**20


def candidates(
    adjacency: Adjacency,
    domain: Domain,
    length: int,
    numbers: Sequence[float],
    *,
    other_lengths: bool = False,
) -> Iterator[Candidate]:
    """(how, x, x2) as lists, without repetition; the most usual places come first.

    `other_lengths`: nobody said how long the data are, so that short and empty ones are tried too,
    and lengths on both sides of a number of the code: many a program withholds small counts.
    """
    if not isinstance(domain, (Reals, Records, Table)):
        return
    lengths = [
        length,
        *(n for n in lengths_to_try(adjacency, numbers) if other_lengths and n != length),
    ]
    made = [
        _of_length(adjacency, domain.with_length(n or None), n, numbers)
        for n in lengths
        if n or adjacency.changes_length
    ]
    first = _entries_in_turn(adjacency, domain, length, numbers)
    seen: set[str] = set()
    for candidate in _in_turn([first, _in_turn(made)]):
        key = repr(candidate[1:])
        if key not in seen:
            seen.add(key)
            yield candidate


def lengths_to_try(
    adjacency: Adjacency, numbers: Sequence[float], longest: int = _LONG
) -> list[int]:
    """Short ones, and those where a threshold on the number of entries is crossed.

    A pair whose lengths differ crosses it by itself.
    """
    steps = (-1, 0) if adjacency.changes_length else (-1, 0, 1)
    near = (int(v) + d for v in numbers if v == int(v) and 1 < v <= longest for d in steps)
    return list(dict.fromkeys((*_SHORT, *itertools.islice(near, _MOST_LENGTHS))))


def _of_length(
    adjacency: Adjacency, domain: Reals | Records | Table, n: int, numbers: Sequence[float]
) -> Iterator[Candidate]:
    make = _datasets if adjacency.swaps_entries else _vectors
    for how, x, x2 in make(adjacency, domain, n, numbers):
        differ = len(x) != len(x2) or not all(map(same, x, x2))
        if differ and adjacency.holds(x, x2, domain):
            yield how, x, x2


def _in_turn(sources: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """One of each source after the other, until all have ended."""
    end = object()
    for row in itertools.zip_longest(*sources, fillvalue=end):
        yield from (c for c in row if c is not end)  # type: ignore[misc]


# Vectors: every entry may move a little ------------------------------------------------------


def _vectors(
    adjacency: Adjacency, domain: Reals | Records | Table, n: int, numbers: Sequence[float]
) -> Iterator[Candidate]:
    if n == 0 or not isinstance(domain, Reals):
        return
    moves = list(_moves(adjacency, n))
    places = [*numbers, *_ends(domain)]
    for share in (0.5, 0.0, 1.0):
        for number in places:
            for level, rest in _levels(number, n):
                for move in moves:
                    moved = [level - share * d if d else rest for d in move]
                    x = domain.clip(moved)
                    x2 = domain.clip([u + d for u, d in zip(moved, move, strict=True)])
                    yield f"around {number:g}, a number of the code", x, x2


def _levels(number: float, n: int) -> Iterator[tuple[float, float]]:
    """(what the moved entries straddle, what the others are) for an entry and for the sum."""
    yield number, number
    if n > 1:
        yield number, 0.0
        yield _share(number, n), _share(number, n)


def _share(number: float, n: int) -> float:
    """One of n equal parts, rounded down to a short one: doubles add these up without rounding.

    A sum of thirds may be on the other side of a whole number than in real numbers.
    """
    part = number / n
    return math.copysign(math.floor(abs(part) * _GRID) / _GRID, part) if abs(part) < _GRID else part


def _moves(adjacency: Adjacency, n: int) -> Iterator[list[float]]:
    """One entry as far as it may, and all of them together."""
    radius = float(adjacency.radius if adjacency.radius is not None else 1)
    for sign in (radius, -radius):
        yield [sign, *[0.0] * (n - 1)]
        for together in (sign, _share(sign, n)):
            if n > 1 and adjacency.holds([0.0] * n, [together] * n):
                yield [together] * n
                break
        if n > 1:
            yield [*[0.0] * (n - 1), sign]


# Datasets: one entry is replaced, added or removed -------------------------------------------


def _datasets(
    adjacency: Adjacency, domain: Reals | Records | Table, n: int, numbers: Sequence[float]
) -> Iterator[Candidate]:
    usual = _usual_entries(domain, adjacency)
    yield from _in_turn(
        [
            _around(adjacency, domain, n, usual, usual, "typical entries"),
            *(
                _around(
                    adjacency,
                    domain,
                    n,
                    [*usual[:3], *_near(domain, number)[:1]],
                    _near(domain, number),
                    f"around {number:g}, a number of the code",
                )
                for number in numbers
            ),
        ]
    )


def _entries_in_turn(
    adjacency: Adjacency, domain: Reals | Records | Table, n: int, numbers: Sequence[float]
) -> Iterator[Candidate]:
    """Every entry worth trying, among entries that are all alike: which of them matters at all?"""
    if not adjacency.swaps_entries:
        return
    usual = _usual_entries(domain, adjacency)
    near = ((f"around {v:g}, a number of the code", _near(domain, v)) for v in numbers)
    rest = usual[:1] * max(n, 1)
    for how, x, x2 in _in_turn(
        _changes(adjacency, rest, n, [entry], how)
        for how, entries in (("typical entries", usual), *near)
        for entry in entries
    ):
        if adjacency.holds(x, x2, domain) and not (len(x) == len(x2) and all(map(same, x, x2))):
            yield how, x, x2


def _around(
    adjacency: Adjacency,
    domain: Reals | Records | Table,
    n: int,
    rests: Sequence[Any],
    entries: Sequence[Any],
    how: str,
) -> Iterator[Candidate]:
    for rest in _backgrounds(domain, rests, n):
        yield from _changes(adjacency, rest, n, entries, how)


def _changes(
    adjacency: Adjacency, rest: list[Any], n: int, entries: Sequence[Any], how: str
) -> Iterator[Candidate]:
    if adjacency.changes_length:
        for entry in entries:
            yield how, rest[:n], [*rest[:n], entry]
        return
    for entry in entries:
        for other in (rest[0], *entries):
            yield how, [other, *rest[1:n]], [entry, *rest[1:n]]


def _backgrounds(
    domain: Reals | Records | Table, usual: Sequence[Any], n: int
) -> Iterator[list[Any]]:
    """The entries that stay: all alike, or all different, from one end of the domain to the other.

    One more than are needed, since an entry may be replaced.
    """
    count = max(n, 1)
    for entry in usual:
        yield [entry] * count
    if count > 2 and len(usual) > 1:
        yield [usual[i % len(usual)] for i in range(count)]
        # One entry more decides the median, or what is said of a count.
        half, few = (count - 1) // 2, range(1, count - 1) if count <= _FEW else ()
        for a, b in itertools.combinations(usual[:3], 2):
            for many in dict.fromkeys((half, *few)):
                yield [a, *[a] * many, *[b] * (count - 1 - many)]
    ends = _ends(domain) if isinstance(domain, Reals) else []
    if count > 2 and len(ends) > 1:
        step = (ends[1] - ends[0]) / (count - 1)
        yield [domain.clip_entry(ends[0] + step * i) for i in range(count)]


def _usual_entries(domain: Reals | Records | Table, adjacency: Adjacency) -> list[Any]:
    return typical_entries(domain, adjacency)[:6]


def _near(domain: Reals | Records | Table, number: float) -> list[Any]:
    """Entries at, just below and just above a number: in each field, where there are fields."""
    found = {repr(e): e for value in around(number) for e in domain.entries_at(value)}
    return list(found.values())


def _ends(domain: Reals) -> list[float]:
    """The ends of the part of the domain that is searched."""
    return [float(v) for v in domain.box]
