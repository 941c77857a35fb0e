"""The worst pair among datasets: one entry replaced, added or removed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.patterns import typical_entries
from dpest.ask.people import People
from dpest.ask.search import EvaluationLedger
from dpest.ask.tables import Table

_FAR = 1e9


def search_datasets(ledger: EvaluationLedger, generator: np.random.Generator, n: int) -> None:
    """Spend what is left of the budget on datasets built from typical and random entries."""
    numeric = not isinstance(ledger.domain, Table)
    if numeric:
        _extremes(ledger, n)
    _mixtures(ledger, n)
    if numeric:
        _outwards(ledger)
    idle = 0
    # A dataset has too many directions for a coordinate search: random ones, kept if better.
    while idle < 50:
        before = ledger.best
        x, x2 = _mutated(ledger, generator, n)
        ledger.at(x, x2, "random")
        idle = 0 if ledger.best > before else idle + 1
    if numeric:
        _outwards(ledger)


def _extremes(ledger: EvaluationLedger, n: int) -> None:
    """An entry that goes from one end to the other, further and further apart.

    A mechanism clips where it likes: where the domain has no end, nobody knows how far out the
    ends are. The clipped entries then stop changing, and so does the value.
    """
    domain = ledger.domain
    assert isinstance(domain, (Reals, Records))
    if n < 1:
        return
    before = -math.inf
    reach = 10.0
    while reach <= _FAR:
        low, high = _entry(domain, -reach), _entry(domain, reach)
        for rest in (_entry(domain, 0.0), low):
            base = [rest] * (n - 1)
            if ledger.adjacency.changes_length:
                pairs = [([rest] * n, [*[rest] * n, end]) for end in (low, high)]
            else:
                pairs = [([low, *base], [high, *base])]
            for x, x2 in pairs:
                ledger.at(x, x2, "from one end to the other")
        if ledger.best <= before * (1 + 1e-9) and reach >= 1e4:
            return
        before = ledger.best
        reach *= 10


def _entry(domain: Reals | Records, value: float) -> Any:
    """A record with this value everywhere, as far as the bounds let it."""
    if isinstance(domain, Records) and domain.fields:
        return domain.clip_entry({name: value for name, _, _ in domain.fields})
    return domain.clip_entry(value)


def _mixtures(ledger: EvaluationLedger, n: int) -> None:
    """Half of one entry, half of another, and the change at each end."""
    some = typical_entries(ledger.domain, ledger.adjacency)[:5]
    for a in some:
        for b in some:
            base = [a] * (n // 2) + [b] * (n - n // 2)
            for entry in (a, b):
                for x2 in _neighbours(ledger, base, entry):
                    ledger.at(base, x2, "two kinds of entries")


def _neighbours(ledger: EvaluationLedger, base: list[Any], entry: Any) -> list[list[Any]]:
    if ledger.adjacency.changes_length:
        ends = [[*base, entry], [entry, *base]]
        return ends[:1] if isinstance(ledger.domain, People) else ends
    if not base:
        return []
    return [[entry, *base[1:]], [*base[:-1], entry]]


def _outwards(ledger: EvaluationLedger) -> None:
    """Scale the entry that differs, then the whole dataset, as long as it pays."""
    if ledger.pair is None:
        return
    for whole in (False, True):
        for factor in (3.0, -3.0):
            x, x2, _ = ledger.pair
            best = ledger.best
            while True:
                shared = [entry for entry in x if entry in x2]
                x, x2 = (
                    _scaled(ledger.domain, part, factor, [] if whole else shared)
                    for part in (x, x2)
                )
                if _largest(x) > _FAR or _largest(x2) > _FAR:
                    break
                value = ledger.at(x, x2, "entries far out")
                if not value > best * (1 + 1e-4):
                    break
                best = value


def _scaled(domain: Domain, dataset: list[Any], factor: float, kept: list[Any]) -> list[Any]:
    assert isinstance(domain, (Reals, Records))
    clip: Callable[[Any], Any] = domain.clip_entry
    scaled = []
    for entry in dataset:
        if entry in kept:
            scaled.append(entry)
        elif isinstance(entry, dict):
            scaled.append(clip({k: factor * v for k, v in entry.items()}))
        else:
            scaled.append(clip(factor * (entry or 1.0)))
    return scaled


def _largest(dataset: list[Any]) -> float:
    flat = [v for e in dataset for v in (e.values() if isinstance(e, dict) else [e])]
    return max((abs(v) for v in flat), default=0.0) if flat else -math.inf


def _mutated(ledger: EvaluationLedger, generator: np.random.Generator, n: int) -> tuple[Any, Any]:
    domain = ledger.domain
    assert isinstance(domain, (Reals, Records, Table))
    typical = typical_entries(domain, ledger.adjacency)

    def entry() -> Any:
        if generator.random() < 0.5:
            return typical[int(generator.integers(len(typical)))]
        return domain.random_entry(generator)

    base = list(ledger.pair[0]) if ledger.pair is not None else [entry() for _ in range(n)]
    if generator.random() < 0.3 or not base:
        base = [entry() for _ in range(n)]
    else:
        base[int(generator.integers(len(base)))] = entry()
    options = _neighbours(ledger, base, entry())
    if not options:
        return base, base
    return base, options[int(generator.integers(len(options)))]
