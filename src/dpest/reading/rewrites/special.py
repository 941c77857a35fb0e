"""softmax and logsumexp of SciPy, of the scores of data of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpest.reading.loops.any_length import TracedVector, exponential
from dpest.reading.loops.lengths import unsupported
from dpest.reading.rewrites.softmax import Normaliser, WeightSum


def _weights(scores: TracedVector) -> TracedVector:
    return TracedVector(exponential(scores.element), scores.own)


def _softmax(scores: TracedVector) -> Any:
    weights = _weights(scores)
    return weights / WeightSum(weights.element)


def _logsumexp(scores: TracedVector) -> Normaliser:
    return WeightSum(_weights(scores).element).log()


SPECIAL: dict[str, Callable[[TracedVector], Any]] = {"softmax": _softmax, "logsumexp": _logsumexp}


def special(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """The function; of a vector of any length by what its value stands for."""

    def call(*args: Any, **options: Any) -> Any:
        if not any(isinstance(v, TracedVector) for v in (*args, *options.values())):
            return original(*args, **options)
        if len(args) != 1 or set(options) - {"axis"} or options.get("axis") not in (None, 0, -1):
            unsupported(f"{name} with these options")
        return SPECIAL[name](args[0])

    return call


class SpecialFunctions:
    """`scipy`, or `scipy.special`, with these functions."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name == "special":
            return SpecialFunctions(found)
        return special(name, found) if name in SPECIAL else found

    def __deepcopy__(self, memo: Any) -> SpecialFunctions:
        return self

    def dpest_signature(self) -> Any:
        return ("module", self._module.__name__)
