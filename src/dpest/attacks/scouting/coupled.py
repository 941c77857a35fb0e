"""What a few runs with the same randomness say of a pair.

The function is run on both inputs from the same state of its generator. Where the outputs differ
though the noise is the same, the difference is the data's. It is measured in units of what the
noise does to the output from run to run. This ranks pairs; it bounds nothing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.domains import Domain
from dpest.attacks.scouting.candidates import Candidate
from dpest.attacks.text import taken
from dpest.reading.calls import caller
from dpest.running.black_box import global_randomness
from dpest.running.skeleton import flatten
from dpest.running.watchdog import Deadline, TimeUp, watched

RUNS = 6
# So many first: most pairs are not told apart at all, and those get no more.
_FIRST = 3
# A difference in what is discrete, where the noise never makes one, is worth a large one of reals.
_CERTAIN = 50.0
_MOST = 1e6
# Where runs share nothing, more of them are needed, and medians scatter by themselves.
_MANY_RUNS, _CHANCE = 24, 0.6


Output = tuple[Any, list[Any]]  # its skeleton and its leaves


class Scored(NamedTuple):
    score: float
    how: str
    x: Any
    x2: Any


class Coupled:
    """Scores of pairs by runs that share their randomness; each input is run once."""

    def __init__(self, mechanism: Mechanism, domain: Domain, runs: int = RUNS) -> None:
        self._mechanism = mechanism
        self._domain = domain
        self._runs = runs
        self._known: dict[str, list[Output]] = {}
        self._coupled: bool | None = None

    def rank(self, pairs: Iterable[Candidate], seconds: float, most: int) -> list[Scored]:
        """The pairs with the largest scores, as far as `seconds` of computing go.

        Of pairs that gave the same outputs the first stands for all.
        """
        found: dict[Any, Scored] = {}
        deadline = Deadline(seconds)
        try:
            with watched(deadline):
                for how, x, x2 in pairs:
                    scored = Scored(self.score(x, x2), how, x, x2)
                    same = (repr(self._known.get(repr(x))), repr(self._known.get(repr(x2))))
                    found.setdefault(same, scored)
        except TimeUp:
            pass
        # Of scores that are nearly equal the pair that came first: the more usual one.
        return sorted(found.values(), key=lambda s: -float(f"{s.score:.3g}"))[:most]

    def score(self, x: Any, x2: Any) -> float:
        """How far apart the outputs are, in units of their own scatter."""
        if not self._repeatable(x):
            return self._apart(self._outputs(x, _MANY_RUNS), self._outputs(x2, _MANY_RUNS))
        first = min(_FIRST, self._runs)
        if all(map(_equal, self._outputs(x, first)[:first], self._outputs(x2, first)[:first])):
            return 0.0
        ours, theirs = self._outputs(x, self._runs), self._outputs(x2, self._runs)
        scatter = _smaller(_scatter(ours), _scatter(theirs))
        told = _told_apart(ours, theirs)
        total = 0.0
        for (shape, leaves), (shape2, leaves2) in zip(ours, theirs, strict=True):
            if shape != shape2:
                total += _CERTAIN if _all_shaped(ours, shape) else 1.0
                continue
            for i, (a, b) in enumerate(zip(leaves, leaves2, strict=True)):
                apart = _distance(a, b, scatter.get((shape, i), 0.0))
                certain = (shape, i) in told and not (_is_real(a) and _is_real(b))
                total += _CERTAIN * apart if certain else apart
        return min(total / self._runs, _MOST)

    def _repeatable(self, x: Any) -> bool:
        """Whether the same randomness gives the same output: found on the first input."""
        if self._coupled is None:
            self._coupled = _equal(self._output(x, 0), self._output(x, 0))
        return self._coupled

    @staticmethod
    def _apart(ours: list[Output], theirs: list[Output]) -> float:
        """Of runs that share nothing: how far their medians are apart, beyond what chance does."""
        if not {str(shape) for shape, _ in ours} & {str(shape) for shape, _ in theirs}:
            return _CERTAIN
        first, second = _columns(ours), _columns(theirs)
        total = 0.0
        for place in first.keys() & second.keys():
            one, two = np.array(first[place]), np.array(second[place])
            scatter = float(np.subtract(*np.quantile([*one, *two], [0.75, 0.25])))
            shift = float(abs(np.median(one) - np.median(two)))
            if shift > 0:
                total += max(shift / scatter - _CHANCE, 0.0) if scatter > 0 else _MOST
        return min(total, _MOST)

    def _outputs(self, x: Any, runs: int) -> list[Output]:
        """Of that many runs, or more: those of an input are kept."""
        known = self._known.setdefault(repr(x), [])
        known += [self._output(x, seed) for seed in range(len(known), runs)]
        return known

    def _output(self, x: Any, seed: int) -> Output:
        target = self._mechanism
        given = copy.deepcopy(self._domain.as_input(x))
        with global_randomness(np.random.SeedSequence(seed)):
            try:
                if target.takes_size:
                    value = target(given, size=1)
                elif target.black_box:
                    value = target(given)
                else:
                    value = caller(target)(given, np.random.default_rng(seed))
            except Exception as error:  # an error is an output, too
                value = f"raises {type(error).__name__}"
        return _read(value)


def _read(value: Any) -> Output:
    """An output's skeleton and leaves; of texts, their patterns and the numbers in them."""
    shape, leaves = flatten(value)
    texts = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (str, bytes, complex))]
    apart = [taken(leaves[i]) for i in texts]
    if not any(numbers for _, numbers in apart):
        return shape, leaves
    others = [leaf for i, leaf in enumerate(leaves) if i not in texts]
    patterns = tuple(pattern for pattern, _ in apart)
    return (shape, patterns), [*others, *(n for _, numbers in apart for n in numbers)]


def _is_real(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and math.isfinite(value)


def _columns(outputs: list[Output]) -> dict[tuple[Any, int], list[float]]:
    """The real values at each place of the output, over the runs."""
    columns: dict[tuple[Any, int], list[float]] = {}
    for shape, leaves in outputs:
        for i, leaf in enumerate(leaves):
            if _is_real(leaf):
                columns.setdefault((shape, i), []).append(float(leaf))
    return columns


def _scatter(outputs: list[Output]) -> dict[tuple[Any, int], float]:
    """The spread of each real place of the output over the runs: its interquartile range."""
    return {
        place: float(np.subtract(*np.quantile(values, [0.75, 0.25])))
        for place, values in _columns(outputs).items()
    }


def _told_apart(ours: list[Output], theirs: list[Output]) -> set[tuple[Any, int]]:
    """Places where what is discrete is one thing on one input, and never that on the other.

    NaN is such a thing: it stands in every run on one input, and a number on the other.
    """
    found = set()
    first, second = _discrete(ours), _discrete(theirs)
    for place in first.keys() | second.keys():
        one, two = first.get(place), second.get(place)
        if one is None or two is None:
            is_told = place not in _columns(theirs if one is None else ours)
        else:
            is_told = min(len(one), len(two)) == 1 and not one & two
        if is_told:
            found.add(place)
    return found


def _discrete(outputs: list[Output]) -> dict[tuple[Any, int], set[str]]:
    values: dict[tuple[Any, int], set[str]] = {}
    for shape, leaves in outputs:
        for i, leaf in enumerate(leaves):
            if not _is_real(leaf):
                values.setdefault((shape, i), set()).add(repr(leaf))
    return values


def _equal(one: Output, other: Output) -> bool:
    return one[0] == other[0] and all(
        _distance(a, b, 0.0) == 0 for a, b in zip(one[1], other[1], strict=True)
    )


def _smaller(
    one: dict[tuple[Any, int], float], other: dict[tuple[Any, int], float]
) -> dict[tuple[Any, int], float]:
    """Of two inputs: what one of them leaves almost alone is seen to differ under the other."""
    return {k: min(one.get(k, 0.0), other.get(k, 0.0)) for k in one.keys() | other.keys()}


def _all_shaped(outputs: list[Output], shape: Any) -> bool:
    return all(other == shape for other, _ in outputs)


def _distance(a: Any, b: Any, scatter: float) -> float:
    if _is_real(a) and _is_real(b):
        if a == b:
            return 0.0
        return min(abs(a - b) / scatter, _MOST) if scatter > 0 else _MOST
    try:
        return 0.0 if bool(a == b) else 1.0
    except (TypeError, ValueError):  # compared by something that has no truth
        return 0.0
