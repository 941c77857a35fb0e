"""A few plain runs before anything is believed: does the function run, and does it forget?

An audit of a function that raises whatever it is given would be about its error messages, and runs
of a function that remembers the last one are not independent. Outputs are looked at closely, too:
what differs in nothing but the types of its numbers must be told apart from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import OpaqueError
from dpest.running.batch.block import fresh
from dpest.running.memory import changed, memory
from dpest.running.skeleton import (
    PLAIN_LEAVES,
    Leaf,
    Skeleton,
    consumed,
    flatten,
    numbers_alike,
)
from dpest.running.watchdog import Deadline, TimeUp, watched

_SEEDS = 3
_MANY_SEEDS = range(_SEEDS, 40)
_MOST_KINDS = 4
_SECONDS = 1.0


@dataclass
class Look:
    """What a few runs showed."""

    calls: int = 0
    raised: int = 0
    error: str = ""
    """The first error, and the input it came from."""
    raises_on: dict[str, Any] = field(default_factory=dict)
    """For each kind of error an input on which every run raised it."""
    state: tuple[str, ...] = ()
    """What a call leaves changed behind."""
    types: tuple[str, str] | None = None
    """Two outputs that differ in the types of their numbers alone."""
    opaque: OpaqueError | None = None

    @property
    def always_raises(self) -> bool:
        return self.calls > 0 and self.raised == self.calls


@dataclass
class _Seen:
    """What calls gave: skeletons by what they have in common, and what they left changed."""

    types: dict[Any, dict[Any, None]] = field(default_factory=dict)
    kinds: dict[Any, dict[Skeleton, Any]] = field(default_factory=dict)
    """Of skeletons that differ in ints and floats alone, an input that gave each."""
    changed: dict[str, None] = field(default_factory=dict)

    def add(self, x: Any, output: Any) -> None:
        coarse, leaves = flatten(output)
        self.types.setdefault(coarse, {})[flatten(output, typed=True)[0]] = None
        self.kinds.setdefault(numbers_alike(coarse), {}).setdefault(coarse, x)
        for number, leaf in _numbers(coarse, leaves):
            self.types.setdefault(number, {})[leaf] = None

    def of_several_kinds(self) -> list[Any]:
        """Inputs with an int where another has a float: few runs may not show a number as both."""
        several = [inputs for inputs in self.kinds.values() if len(inputs) > 1]
        return [x for inputs in several for x in list(inputs.values())[:_MOST_KINDS]]


def look(mechanism: Mechanism, inputs: Sequence[Any]) -> Look:
    """Call the function on each input a few times, with an eye on everything it could change."""
    found, seen = Look(), _Seen()
    deadline = Deadline(_SECONDS)
    try:
        with watched(deadline), np.errstate(all="ignore"):
            for x in inputs:
                _on(mechanism, x, found, seen)
            for x in seen.of_several_kinds():
                _on(mechanism, x, found, seen, _MANY_SEEDS)
    except TimeUp:
        pass
    found.state = tuple(seen.changed)
    for several in seen.types.values():
        if len(several) > 1:
            first, second, *_ = several
            found.types = (_described(first), _described(second))
    return found


def _on(
    mechanism: Mechanism, x: Any, found: Look, seen: _Seen, seeds: Sequence[int] = range(_SEEDS)
) -> None:
    errors: set[str] = set()
    copied = fresh(x)
    for seed in seeds[:1] if mechanism.black_box else seeds:
        before = memory(mechanism.function) if seed == 0 else None
        found.calls += 1
        try:
            seen.add(x, consumed(_called(mechanism, copied(), seed)))
        except OpaqueError as error:
            found.opaque = found.opaque or error
        except Exception as error:
            found.raised += 1
            errors.add(type(error).__name__)
            found.error = found.error or f"{type(error).__name__} ({error})"
        else:
            errors.add("")
        if before is not None:
            seen.changed |= dict.fromkeys(changed(before, memory(mechanism.function)))
    if len(errors) == 1 and "" not in errors:
        found.raises_on.setdefault(errors.pop(), x)


def _numbers(skeleton: Skeleton, leaves: list[Any]) -> Iterator[tuple[Any, Leaf]]:
    """Each number at its place, and whether it came as an int or as a float.

    A place that has 0 as an int and other numbers as floats tells nothing by that. One number that
    comes as both does.
    """
    alike = numbers_alike(skeleton)
    for place, leaf in enumerate(leaves):
        if type(leaf) in (int, float) and abs(leaf) < 1e15:
            yield (alike, place, float(leaf)), PLAIN_LEAVES[type(leaf)]


def _called(mechanism: Mechanism, x: Any, seed: int) -> Any:
    if mechanism.takes_size:
        return mechanism(x, size=1)
    if mechanism.black_box:
        return mechanism(x)
    return mechanism(x, rng=np.random.default_rng(seed))


def _described(skeleton: Any) -> str:
    if hasattr(skeleton, "kind"):
        return skeleton.type or skeleton.kind
    inside = ", ".join(dict.fromkeys(_described(part) for part in skeleton.parts))
    return f"{skeleton.container}{' ' + skeleton.label if skeleton.label else ''} of {inside}"


def inputs_of(pairs: Iterable[tuple[Any, Any]], most: int = 12) -> list[Any]:
    """The inputs of some pairs, each once."""
    found: dict[str, Any] = {}
    for pair in pairs:
        for x in pair:
            found.setdefault(repr(x), x)
    return list(found.values())[:most]


__all__ = ["Look", "inputs_of", "look"]
