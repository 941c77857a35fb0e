"""The search for the worst pair of neighbours, given what one pair is worth.

`value(x, x2)` is a black box, such as the exact ε of one pair. The search only chooses pairs: its
answer is a lower bound on the supremum, as good as `value` is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.ask.adjacency import AddRemoveOne, Adjacency, ReplaceOne
from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.patterns import all_pairs, plain_patterns
from dpest.ask.tables import Table
from dpest.errors import DpestError, InputError

_GAIN = 1e-3
_FEW = 24
_LISTABLE = 512

Value = Callable[[Any, Any], float]


@dataclass(frozen=True)
class WorstPair:
    """The best pair found.

    `exhaustive`: every pair of the domain was tried, so that `value` is the maximum. `history` has
    (evaluations so far, value, how) at each improvement. `refused` counts pairs without a value.
    """

    value: float
    x: Any
    x2: Any
    how: str
    evaluations: int
    exhaustive: bool = False
    history: tuple[tuple[int, float, str], ...] = ()
    refused: int = 0


class Spent(Exception):
    """The budget is used up, or nothing can be better."""


@dataclass
class EvaluationLedger:
    """Evaluations: counted, remembered, and the best of them."""

    value: Value
    adjacency: Adjacency
    domain: Domain
    budget: int
    symmetric: bool
    stop: Callable[[], bool] | None = None
    enough: float = math.inf
    idle: float = math.inf
    best: float = -math.inf
    pair: tuple[Any, Any, str] | None = None
    evaluations: int = 0
    refused: int = 0
    error: DpestError | None = None
    history: list[tuple[int, float, str]] = field(default_factory=list)
    known: dict[tuple[str, str], float] = field(default_factory=dict)
    gained: tuple[int, float] = (0, 0.0)  # the last gain that was worth the search, and its place

    def at(self, x: Any, x2: Any, how: str) -> float:
        """The value of a pair; -inf if it is no pair of neighbours or has no value."""
        key = (repr(x), repr(x2))
        if key in self.known:
            return self.known[key]
        if x == x2 or not self.adjacency.holds(x, x2, self.domain):
            return -math.inf
        if self.evaluations >= min(self.budget, self.gained[0] + self.idle):
            raise Spent
        if self.stop is not None and self.stop():
            raise Spent
        self.evaluations += 1
        try:
            found = float(self.value(self.domain.as_input(x), self.domain.as_input(x2)))
        except DpestError as error:
            self.refused += 1
            self.error = error
            found = -math.inf
        if math.isnan(found):
            self.refused += 1
            found = -math.inf
        self.known[key] = found
        if self.symmetric:
            self.known[key[::-1]] = found
        # Rounding must not pass for an improvement.
        slack = 1e-9 * abs(self.best) if self.pair is not None else 0.0
        if found > self.best + slack:
            self.best, self.pair = found, (x, x2, how)
            self.history.append((self.evaluations, found, how))
        if found > self.gained[1] * (1 + _GAIN):
            self.gained = (self.evaluations, found)
        if found >= self.enough:
            raise Spent
        return found

    @property
    def left(self) -> int:
        return self.budget - self.evaluations


def search(
    value: Value,
    adjacency: Adjacency,
    domain: Domain,
    *,
    length: int | None = None,
    budget: int = 200,
    seed: int = 0,
    symmetric: bool = True,
    starts: Sequence[tuple[str, Any, Any]] = (),
    stop: Callable[[], bool] | None = None,
    enough: float = math.inf,
    idle: float = math.inf,
    listed: int = 0,
    patience: float = math.inf,
) -> WorstPair:
    """Look for the neighbours x, x2 with the largest `value(x, x2)`.

    At most `budget` evaluations; the same seed makes the same ones. `symmetric`: the value doesn't
    depend on the order, so that one order is enough. `starts` (how each was found, and
    its two inputs) are tried first. A domain that can
    be listed is searched exhaustively if the budget, or `listed`, covers its pairs and the first
    few let expect that all of them take less than `patience` seconds of computing. `stop()` ends
    the search early, and so does a value of at least `enough` (a known upper bound: nothing can be
    better), and so do `idle` evaluations in a row without a gain of one in a thousand.
    """
    from dpest.ask.record_search import search_datasets
    from dpest.ask.vector_search import search_vectors

    n = domain.default_length() if length is None else length
    domain = domain.with_length(
        n or None
    )  # no record at all is a length of a pair, not of a domain
    ledger = EvaluationLedger(value, adjacency, domain, budget, symmetric, stop, enough, idle)
    generator = np.random.default_rng(seed)
    exhaustive = ended = False
    try:
        for how, x, x2 in starts:
            ledger.at(x, x2, how)
        every = _every_pair(adjacency, domain, max(budget, listed), symmetric)
        if every is not None and _all_of(ledger, every, patience):
            exhaustive = ledger.refused == 0
        else:
            for name, x, x2 in plain_patterns(adjacency, domain, n, both_orders=not symmetric):
                ledger.at(x, x2, name)
            datasets = isinstance(adjacency, (ReplaceOne, AddRemoveOne))
            if isinstance(domain, (Records, Table)) or datasets:
                search_datasets(ledger, generator, n)
            elif isinstance(domain, Reals):
                search_vectors(ledger, generator, n)
            else:
                _at_random(ledger, generator)
    except Spent:
        exhaustive, ended = False, True
    if ledger.pair is None:
        if ledger.error is not None:
            raise ledger.error
        if ended:
            raise InputError("the search had to end before a pair was computed")
        raise InputError(f"{domain} has no two different neighbours under {adjacency}")
    x, x2, how = ledger.pair
    return WorstPair(
        ledger.best,
        domain.as_input(x),
        domain.as_input(x2),
        how,
        ledger.evaluations,
        exhaustive,
        tuple(ledger.history),
        ledger.refused,
    )


def _all_of(ledger: EvaluationLedger, every: list[tuple[str, Any, Any]], patience: float) -> bool:
    """Try every pair, unless the first ones show that it would take too long."""
    started, before, usual = time.thread_time(), ledger.evaluations, (ledger.budget, ledger.idle)
    ledger.budget, ledger.idle = max(ledger.budget, before + len(every)), math.inf
    try:
        for name, x, x2 in every:
            ledger.at(x, x2, name)
            tried = ledger.evaluations - before
            if tried == _FEW:
                expected = (time.thread_time() - started) * len(every) / tried
                if expected > patience:
                    return False
    finally:
        ledger.budget, ledger.idle = usual
    return True


def _every_pair(
    adjacency: Adjacency, domain: Domain, budget: int, symmetric: bool
) -> list[tuple[str, Any, Any]] | None:
    """All pairs of a domain that can be listed, if the budget covers them."""
    if domain.size is None or adjacency.changes_length:
        return None
    if adjacency.relates_all and domain.size * (domain.size - 1) > 2 * budget:
        return None
    if domain.size > _LISTABLE:  # listing the neighbours themselves would take too long
        return None
    pairs = all_pairs(adjacency, domain)
    if not symmetric:
        pairs += [(f"{name}, swapped", x2, x) for name, x, x2 in pairs]
    return pairs if len(pairs) <= budget else None


def _at_random(ledger: EvaluationLedger, generator: np.random.Generator) -> None:
    tries = 0
    while tries < 20 * ledger.budget:
        tries += 1
        x, x2 = ledger.domain.random(generator), ledger.domain.random(generator)
        ledger.at(x, x2, "random")
