"""What is still sure where a loop without a bound was cut off.

Of each input's outputs a part of probability at most r was not explored. The true probabilities of
an event lie in [P, P + r1] and [Q, Q + r2], so that the largest log P/(Q + r2) over the explored
events is a lower bound of the true ε. It is never infinite by the cut.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpest.evidence import Witness
from dpest.exact.losses.divergences import LossMeasure
from dpest.exact.losses.pairs import CellPair, GroupPair
from dpest.exact.losses.privacy_loss import loss_distribution
from dpest.exact.losses.witness import shown
from dpest.running.skeleton import leaf_kinds, unflatten

_MOST_SHOWN = 3
_ROUNDING = 1e-11  # of sums over quadrature nodes, relative
_ENDLESS = 700.0  # an ε beyond which e^ε is no double


def cut_loss(
    parts: list[list[GroupPair]], side: int, missing: float, x: Any, x2: Any
) -> tuple[float, Witness]:
    """The lower bound of one direction's ε, with the event that shows it.

    `missing` bounds the probability that the other side has and was not explored.
    """
    alone = [(g, c) for groups in parts for g in groups for b in g.blocks for c in b.cells]
    single = len(parts) == 1 and all(len(g.blocks) == 1 for g in parts[0])
    if single and all(cell.is_constant for _, cell in alone):
        return _discrete(alone, side, missing, x, x2)
    value, least = _by_losses(parts, side, missing)
    event = f"the outputs whose log-ratio is at least {least:.6g}"
    return value, Witness(x, x2, event, details={"how": "event", "output": ()})


def _discrete(
    cells: list[tuple[GroupPair, CellPair]], side: int, missing: float, x: Any, x2: Any
) -> tuple[float, Witness]:
    """The best event is the outputs with the largest ratios: all such sets are tried."""
    logs = np.array([cell.log_constant for _, cell in cells])
    masses = np.exp(logs)
    mine, theirs = masses[:, side], masses[:, 1 - side]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(mine > 0, logs[:, side] - logs[:, 1 - side], -np.inf)
        order = np.argsort(-ratio, kind="stable")
        # Rounding must not lift the bound: a few units in the last place are given away.
        above = np.cumsum(mine[order]) * (1 - 1e-14)
        below = (np.cumsum(theirs[order]) + missing) * (1 + 1e-14)
        values = np.log(above) - np.log(below)
    last = int(np.argmax(values))
    chosen = [cells[i] for i in order[: last + 1]]
    totals = [math.fsum(math.exp(c.log_constant[s]) for _, c in chosen) for s in (0, 1)]
    outputs = [_output(group, cell) for group, cell in chosen]
    if len(outputs) == 1:
        event = f"output = {shown(outputs[0])}"
    else:
        if all(isinstance(v, (int, float)) for v in outputs):
            outputs.sort()
        listed = ", ".join(map(shown, outputs[:_MOST_SHOWN]))
        rest = len(outputs) - _MOST_SHOWN
        event = f"output is one of {listed}" + (f" and {rest} more" if rest > 0 else "")
    details = {"how": "at", "output": outputs[0], "outputs": tuple(outputs[:1000])}
    totals[1 - side] += missing  # what is sure: at least P here, at most Q + missing there
    witness = Witness(x, x2, event, totals[0], totals[1], False, details=details)
    return float(values[last]), witness


def _output(group: GroupPair, pair: CellPair) -> Any:
    leaves: list[Any] = [None] * len(leaf_kinds(group.skeleton))
    for j, leaf in zip(group.blocks[0].positions, pair.cell.leaves, strict=True):
        leaves[j] = leaf
    return unflatten(group.skeleton, leaves)


def _by_losses(parts: list[list[GroupPair]], side: int, missing: float) -> tuple[float, float]:
    """The same for real outputs, on the distribution of the loss, rounded down.

    Gives the bound and the loss above which the outputs form its event.
    """
    found = loss_distribution(parts, side, pessimistic=False)
    losses, masses = found.losses[::-1], found.masses[::-1]
    with np.errstate(divide="ignore", over="ignore"):
        above = (np.cumsum(masses) + found.infinite) * (1 - _ROUNDING)
        below = np.cumsum(masses * np.exp(-losses)) * (1 + _ROUNDING) + missing
        values = np.log(above) - np.log(below)
    best = int(np.argmax(values))
    return float(values[best]), float(losses[best])


def sure_delta(measure: LossMeasure, epsilon: float, side: int, missing: float) -> float:
    """A lower bound of one direction's δ(ε): no event loses more than e^ε·missing."""
    if missing == 0:
        return measure.delta_below(min(epsilon, _ENDLESS), side)
    if epsilon > _ENDLESS:
        return 0.0
    explored = measure.delta_below(epsilon, side)
    slack = measure.errors["delta"]
    return max(0.0, explored - math.exp(epsilon) * missing - slack)
