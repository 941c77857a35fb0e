"""A function that does the same for each entry of its data, one mechanism for each entry.

`[max(0, q + rng.laplace()) for q in x]` has 2^n paths together and 2·n apart. That the entries have
nothing to do with each other is found by the machine (`reading.lengths.entries`): the function on
one entry is then what it does for it among others. What is found is held against runs of the whole
function, bit by bit, before anybody believes it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, data_first, parameters_of
from dpest.errors import DpestError
from dpest.reading.calls import caller
from dpest.reading.lengths.entries import alike
from dpest.reading.trace import trace
from dpest.running.watchdog import Deadline, TimeUp, watched

_CHECKS = 12
_SECONDS = 5.0
_MOST = 64


def independent_results(mechanism: Mechanism, *inputs: Any) -> list[Mechanism]:
    """Mechanisms for the entries, each of which releases a list of one; or the mechanism itself.

    Their noises are independent, and together they release what the mechanism does: seen on runs
    with each of the inputs.
    """
    count = _entries(inputs)
    if not 2 <= count <= _MOST or not _takes_rng_by_name(mechanism):
        return [mechanism]
    arrays = isinstance(inputs[0], np.ndarray)
    if not alike(mechanism, arrays=arrays) or not _has_ways(mechanism, inputs[0][:1]):
        return [mechanism]
    found = [replace(mechanism, function=_on_entry(mechanism.function, i)) for i in range(count)]
    return found if all(agree(mechanism, found, x) for x in inputs) else [mechanism]


def _entries(inputs: Sequence[Any]) -> int:
    """How many entries all of the inputs have; 0 where they are no lists of one length."""
    plain = all(isinstance(x, (list, tuple)) or getattr(x, "ndim", 0) == 1 for x in inputs)
    counts = {len(x) for x in inputs} if plain else {0}
    return counts.pop() if len(counts) == 1 else 0


def _takes_rng_by_name(mechanism: Mechanism) -> bool:
    found = parameters_of(mechanism.function).get("rng")
    by_name = found is not None and found.kind is not inspect.Parameter.POSITIONAL_ONLY
    return by_name and data_first(mechanism.function)


def _has_ways(mechanism: Mechanism, entry: Any) -> bool:
    """Whether entries are worth taking apart: one of them alone has several paths."""
    try:
        return len(trace(mechanism, entry, max_paths=_MOST).paths) > 1
    except DpestError:
        return False


def _on_entry(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    def on_entry(x: Any, rng: Any, **params: Any) -> Any:
        return function(x[place : place + 1], rng=rng, **params)

    return on_entry


def agree(whole: Mechanism, parts: Sequence[Mechanism], x: Any, checks: int = _CHECKS) -> bool:
    """Whether the parts, run one after the other on one stream, release what the whole does.

    Also that none of them changes the data, which the next one would see.
    """
    together, apart = caller(whole), [caller(part) for part in parts]
    try:
        with watched(Deadline(_SECONDS)):
            for seed in range(checks):
                stream = np.random.default_rng(seed)
                expected = together(copy.deepcopy(x), np.random.default_rng(seed))
                data = copy.deepcopy(x)
                found: list[Any] = []
                for call in apart:
                    found += list(call(data, stream))
                if _shown(found) != _shown(expected) or repr(data) != repr(x):
                    return False
    except (Exception, TimeUp):  # the user's code: whatever it does, the whole function is traced
        return False
    return True


def _shown(values: Any) -> str:
    """Elements as text; NumPy's numbers as Python's."""
    return repr([v.item() if isinstance(v, (np.generic, np.ndarray)) else v for v in values])
