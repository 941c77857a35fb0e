"""The trace reading: a plain function and an input become paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import PathLimitError, UntraceableError
from dpest.geometry.linear import Condition
from dpest.reading.calls import caller, data_size, fresh, place_of, symbols_for
from dpest.reading.fixed import at_centre
from dpest.reading.instances import expand_indicators, instantiate
from dpest.reading.machine.exploring.explorer import Limits
from dpest.reading.machine.signals import Refused
from dpest.reading.paths import Trace
from dpest.reading.paths_of_code import read_paths
from dpest.reading.refusals import SAMPLING, error_of
from dpest.reading.rewrites.laws.joining import with_joined_noises
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.running.watchdog import Deadline, TimeUp, watched

__all__ = ["expand_indicators", "instantiate", "noise_free", "trace"]

_FEW_PATHS = 32


def trace(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    *,
    params: Mapping[str, Any] | None = None,
    symbolic: bool = False,
    assume: Sequence[Condition] = (),
    max_paths: int = 100_000,
    seconds: float = 60.0,
    leftover: float = 1e-9,
) -> Trace:
    """All paths of `mechanism(x, rng, **params)`.

    With `symbolic` each number in `x` becomes an input symbol (x0, x1, …) and the paths hold for
    all inputs of this shape, or for those that satisfy `assume`. Parameters may be Symbols, too.

    An exception that the function raises is what it releases there: a leaf "raises ValueError".
    Loops without a bound that come back to a state are summed up (see `turns.paths`). Others
    are followed until at most `leftover` of the probability is left, or, if that takes thousands of
    paths, until 0.001 is; the trace says how much.

    Raises UntraceableError (an operation that is not linear in the noise), ReplayError (hidden
    state or randomness that doesn't come from `rng`) or PathLimitError.
    """
    target = as_mechanism(mechanism).with_params(params)
    where = place_of(target.function)
    if target.takes_size:
        raise UntraceableError(
            f"{target.name} has no parameter called rng, and makes many outputs in one call",
            f"a mechanism that can be traced returns one output; {SAMPLING}",
            where,
        )
    size = data_size(x)
    limits = Limits(
        max_paths,
        seconds,
        min(200 + 8 * size + min(size**2, 10_000), 400 + 4 * size),
        merge_at=_FEW_PATHS,
        leftover=leftover,
        data_size=size,
    )
    try:
        found = read_paths(target, symbols_for(x) if symbolic else x, assume, limits)
    except Refused as refusal:
        raise error_of(refusal, where) from None
    return with_joined_noises(found)


def noise_free(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    params: Mapping[str, Any] | None = None,
    *,
    seconds: float = 10.0,
) -> Any:
    """What the function returns when every noise is at its centre (see `fixed.at_centre`)."""
    target = as_mechanism(mechanism).with_params(params)
    try:
        found = StandIns(ScriptStage(), target.function)
        with found.drawing(at_centre()) as rng, watched(Deadline(seconds)):
            return caller(target)(fresh(x), rng)
    except TimeUp:
        raise PathLimitError(
            f"the run without noise took more than {seconds:g} s",
            "look for a loop that ends only by noise",
            place_of(target.function),
        ) from None
