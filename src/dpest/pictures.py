"""What a report draws of one pair: distributions, privacy loss, δ(ε), trade-off."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError

if TYPE_CHECKING:
    from dpest.distributions.loss import ExactLoss
    from dpest.distributions.output import OutputDistribution
    from dpest.evidence import Witness

BARS = 24
POINTS = 81


def curves(mechanism: Mechanism, x: Any, x2: Any) -> Mapping[str, Any]:
    """Data for the pictures; one that has no exact answer is left out."""
    from dpest.distributions.engine import exact_loss
    from dpest.distributions.output import output_distribution
    from dpest.reading.trace import trace

    found: dict[str, Any] = {"pair": [x, x2]}
    loss = exact_loss(mechanism, x, x2)
    top = loss.epsilon if math.isfinite(loss.epsilon) else 5.0
    epsilons = [max(top, 1e-6) * 1.1 * i / (POINTS - 1) for i in range(POINTS)]
    makers: dict[str, Callable[[], Any]] = {
        "delta": lambda: [(e, float(loss.delta(e))) for e in epsilons],
        "tradeoff": lambda: _tradeoff(found["delta"]),
        "loss": lambda: _loss_curve(loss),
    }
    for name, make in makers.items():
        try:
            found[name] = make()
        except (DpestError, ArithmeticError, KeyError):
            continue
    try:
        sides = [output_distribution(trace(mechanism, value)) for value in (x, x2)]
        found.update(_outputs(sides[0], sides[1], loss.witness))
    except (DpestError, ArithmeticError):
        pass
    return found


def _outputs(
    first: OutputDistribution, second: OutputDistribution, witness: Witness
) -> dict[str, Any]:
    """The likeliest outcomes as bars, and the density of the first real leaf, if there is one."""
    found: dict[str, Any] = {}
    table: dict[str, list[float]] = {}
    values: dict[str, Any] = {}
    for side, distribution in enumerate((first, second)):
        for outcome in distribution.outcomes:
            label = repr(outcome.output)
            values[label] = outcome.output
            table.setdefault(label, [0.0, 0.0])[side] = outcome.probability
    if len(table) > 1:
        shown = sorted(table, key=lambda label: -max(table[label]))
        details = witness.details
        event = {repr(v) for v in details.get("outputs", (details.get("output"),))}
        if not event & set(shown[:BARS]):  # something of the event is always in the picture
            shown[BARS - 1 : BARS] = [label for label in shown if label in event][:1]
        shown = shown[:BARS]
        if all(isinstance(values[label], numbers.Real) for label in shown):
            shown.sort(key=lambda label: float(values[label]))
        found["outputs"] = {
            "labels": shown,
            "p": [table[label][0] for label in shown],
            "q": [table[label][1] for label in shown],
            "marked": [i for i, label in enumerate(shown) if label in event],
        }
    leaf = _first_real(first)
    if leaf is not None:
        points, _ = first.marginal(leaf)
        other, _ = second.marginal(leaf)
        ends = min(points[0], other[0]), max(points[-1], other[-1])
        grid = np.linspace(*ends, 241).tolist()
        found["density"] = {
            "y": grid,
            "p": first.marginal(leaf, grid)[1].tolist(),
            "q": second.marginal(leaf, grid)[1].tolist(),
            "label": "released number" if leaf == 0 else f"released number at place {leaf}",
        }
    return found


def _first_real(distribution: OutputDistribution) -> int | None:
    from dpest.geometry.linear import Form

    for path in distribution.trace.paths:
        for i, leaf in enumerate(path.leaves):
            if isinstance(leaf, Form) and leaf.terms:
                return i
    return None


def _tradeoff(profile: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The trade-off curve as the envelope of the lines that δ(ε) gives, one pair for each ε."""
    curve = []
    for i in range(POINTS):
        a = i / (POINTS - 1)
        lines = (max(1 - d - math.exp(e) * a, math.exp(-e) * (1 - d - a)) for e, d in profile)
        curve.append((a, max(0.0, *lines)))
    return curve


def _loss_curve(loss: ExactLoss) -> list[tuple[float, float]]:
    """The distribution function of the privacy loss, for outputs of the first input."""
    from dpest.distributions.privacy_loss import loss_distribution

    distribution = loss_distribution(loss.parts, 0)
    total = np.cumsum(distribution.masses)
    losses = distribution.losses
    if len(losses) > 400:
        keep = np.linspace(0, len(losses) - 1, 400).astype(int)
        losses, total = losses[keep], total[keep]
    return list(zip(losses.tolist(), total.tolist(), strict=True))
