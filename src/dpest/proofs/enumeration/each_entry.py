"""Functions that do the same for each entry, as randomised response does: one entry is enough.

f([x0, x1, …]) is [g(x0), g(x1), …] with draws of its own for each. Where neighbours differ in one
entry, the others' outputs have the same distribution on both sides and are independent of it: ε is
g's, for every length. g is f on data of one entry, and is enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.domains import ANY, Integers
from dpest.errors import ReplayError
from dpest.proofs.conformance import place_of
from dpest.proofs.enumeration.enumerating import enumerated_proof
from dpest.proofs.enumeration.ways import shown
from dpest.proofs.proof import AttainingPair, Lower, Proof
from dpest.proofs.question import ProofGoal
from dpest.reading.lengths.entries import alike

_TRIALS = 24
_LENGTHS = (2, 3, 5)


def each_entry_proof(question: ProofGoal) -> Proof | None:
    """A proof for every length from the enumeration of one entry; None where it does not apply."""
    domain = question.domain
    if not isinstance(domain, Integers) or domain.form == "number" or not _moves_one(question):
        return None
    arrays = question.form == "array"
    if question.length == 1 or not alike(question.mechanism, question.unit, arrays=arrays):
        return None
    one = replace(domain, length=1)
    proof = enumerated_proof(replace(question, length=1, domain=one), each=True)
    if proof is None:
        return None
    _check(question)
    lower = proof.lower
    if lower is not None:
        lower = _longer(lower, question)
    return replace(proof, length=question.length, lower=lower)


def _moves_one(question: ProofGoal) -> bool:
    """Whether neighbours differ in one entry at most."""
    adjacency = question.adjacency
    if adjacency.replaces:
        return True
    # Of integers, less than two steps in total are one step of one entry.
    return adjacency.spans_hull and adjacency.radius is not None and bool(adjacency.radius < 2)


def _longer(lower: Lower, question: ProofGoal) -> Lower:
    """The worst pair of one entry among others that don't change."""
    n = question.length if question.length is not ANY else question.domain.length
    if n is ANY or not isinstance(lower.ray, AttainingPair):
        return lower
    x, x2 = ([*pair, *[lower.ray.x[0]] * (n - 1)] for pair in (lower.ray.x, lower.ray.x2))
    return Lower(lower.value, n, AttainingPair(x, x2, lower.ray.release))


def _check(question: ProofGoal) -> None:
    """The untouched function on several entries against itself on each, with the same draws."""
    domain = question.domain
    source = np.random.default_rng(5)
    lengths = (*_LENGTHS, question.length) if isinstance(question.length, int) else _LENGTHS
    for trial in range(_TRIALS):
        x = domain.random(source, lengths[trial % len(lengths)])
        log: list[Any] = []
        output = shown(question.run(x, _EntryDraws(_kept(log, trial))))
        orders = (_one_by_one(log), _all_at_once(log))
        if not any(output == _apart(question, x, order) for order in orders):
            raise ReplayError(
                f"on {x} the function does not do for each entry what it does for it alone",
                "A mechanism must depend on its input, its parameters and `rng` alone",
                place_of(question.mechanism.function),
            )


class _EntryDraws:
    """A generator whose every draw is made, or found again, by one function."""

    def __init__(self, draw: Callable[[str, Any, Any], Any]) -> None:
        self._draw = draw

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self._draw(name, args, kwargs)


def _kept(log: list[Any], seed: int) -> Callable[[str, Any, Any], Any]:
    generator = np.random.default_rng(seed)

    def draw(name: str, args: Any, kwargs: Any) -> Any:
        log.append(getattr(generator, name)(*args, **kwargs))
        return log[-1]

    return draw


class _Astray(Exception):
    """The draws that were kept are not those that are asked for."""


def _one_by_one(log: Sequence[Any]) -> Callable[[int], Callable[[str, Any, Any], Any]]:
    """Each entry goes on where the last one stopped."""
    left = list(log)

    def draw(name: str, args: Any, kwargs: Any) -> Any:
        if not left:
            raise _Astray
        return left.pop(0)

    return lambda place: draw


def _all_at_once(log: Sequence[Any]) -> Callable[[int], Callable[[str, Any, Any], Any]]:
    """Each draw was made for all entries together."""

    def at(place: int) -> Callable[[str, Any, Any], Any]:
        left = list(log)

        def draw(name: str, args: Any, kwargs: Any) -> Any:
            if not left:
                raise _Astray
            return np.atleast_1d(left.pop(0))[place : place + 1]

        return draw

    return at


def _apart(question: ProofGoal, x: Sequence[Any], order: Any) -> str:
    found: list[Any] = []
    for place, entry in enumerate(x):
        try:
            found.extend(question.run([entry], _EntryDraws(order(place))))
        except _Astray:
            return ""
    return shown(found)
