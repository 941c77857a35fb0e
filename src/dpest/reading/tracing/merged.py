"""A trace by merging: equal states are one, so that a running maximum is n paths and not 2^n."""

from __future__ import annotations

from typing import Any

from dpest.ask.declaration import Mechanism, parameters_of
from dpest.reading.paths import Path, Trace
from dpest.running.watchdog import Deadline, TimeUp, watched


def merged_trace(target: Mechanism, x: Any, seconds: float) -> Trace | None:
    """The trace with one path for each release, or None where states can't be merged exactly."""
    from dpest.reading.loops import inputs
    from dpest.reading.loops.merging import build

    parameters = list(parameters_of(target.function))
    if not parameters or "rng" not in parameters or parameters[0] == "rng":
        return None
    variables = {**target.all_params, parameters[0]: inputs.fresh(x, lenient=False)}
    if set(variables) != set(parameters) - {"rng"}:
        return None
    try:
        with watched(Deadline(seconds)):
            model = build(target.function, variables)
    except (Exception, TimeUp):
        # Whatever stands in the way, the plain paths are always there.
        return None
    if not model.merged or model.world.derived:
        return None
    known = {noise.family for noise in model.noises.values()}
    if "coin" in known:
        return None
    supports = set(model.world.supports.conditions(model.noises))
    paths = []
    for leaf in model.leaves:
        if leaf.release is None:
            return None
        skeleton, leaves = leaf.release
        conditions = tuple(c for c in leaf.known if c not in supports)
        paths.append(Path(conditions, skeleton, tuple(leaves)))
    return Trace(
        tuple(paths), dict(model.noises), {}, inputs=x, notes=("equal states were merged",)
    )
