"""What a report draws of one pair: distributions, privacy loss, δ(ε), trade-off."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError, RefusedError
from dpest.evidence import up_to_rounding
from dpest.geometry.linear import Form
from dpest.running.samples import Samples
from dpest.running.watchdog import Deadline, TimeUp, watched

if TYPE_CHECKING:
    from dpest.attacks.sampler import Sampler
    from dpest.evidence import Witness
    from dpest.exact.losses.loss import ExactLoss
    from dpest.exact.outputs.output import OutputDistribution

BARS = 24
LEAVES = 6
CELLS = 20  # of a histogram of runs
POINTS = 81
RUNS, BLOCK = 4000, 500
# Seconds of computing for one curve; what there is by then is drawn.
CURVE_SECONDS, PICTURE_SECONDS, RUN_SECONDS = 2.0, 5.0, 2.0
LEAST_DELTA = 1e-10
# Where the loss is unbounded the curve ends where δ is negligible, or here.
FARTHEST = 40.0

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Bars:
    """Two probabilities for each output; `marked` are the outputs of the event."""

    labels: Sequence[str]
    p: Sequence[float]
    q: Sequence[float]
    marked: Sequence[int] = ()


@dataclass(frozen=True)
class Densities:
    y: Sequence[float]
    p: Sequence[float]
    q: Sequence[float]
    label: str


@dataclass(frozen=True)
class PairPicture:
    """What is known to draw about one pair of inputs; what has no answer is left empty.

    Everything is exact where `runs` is None. Otherwise `outputs` are frequencies among so many runs
    on each input, and there is nothing else. `profile` has (ε, δ) with a δ that the pair needs at
    least at ε; `needed` has (δ, ε) with an ε that it needs at least at δ, and begins at δ = 0.
    """

    title: str
    x: Any
    x2: Any
    runs: int | None = None
    outputs: Bars | None = None
    densities: Densities | None = None
    loss: Points = ()
    profile: Points = ()
    needed: Points = ()
    tradeoff: Points = ()


def exact_picture(
    title: str,
    mechanism: Mechanism,
    x: Any,
    x2: Any,
    claim: tuple[float, float] | None = None,
) -> PairPicture:
    """The pair's curves by the exact engine, with the claim's own ε and δ among the points.

    Raises a DpestError where the pair has no exact answer, or not soon enough.
    """
    from dpest.exact.engine import exact_loss

    try:
        with watched(Deadline(PICTURE_SECONDS)):
            loss = exact_loss(mechanism, x, x2)
    except TimeUp:
        raise RefusedError(f"the pair takes more than {PICTURE_SECONDS:g} s") from None
    profile = _or_nothing(lambda: _profile(loss, claim)) or ()
    found: dict[str, Any] = {
        "profile": profile,
        "needed": _or_nothing(lambda: _needed(loss, profile, claim)) or (),
        "loss": _or_nothing(lambda: _loss_curve(loss)) or (),
        "tradeoff": _tradeoff(profile) if profile else (),
    }
    found.update(_or_nothing(lambda: _outputs(mechanism, x, x2, loss.witness)) or {})
    return PairPicture(title, x, x2, **found)


def _or_nothing(make: Callable[[], Any]) -> Any:
    """A picture, or None: a report is complete without it."""
    try:
        with watched(Deadline(PICTURE_SECONDS)):
            return make()
    except (DpestError, ArithmeticError, TimeUp):
        return None


# Curves ----------------------------------------------------------------------------------------


def _profile(loss: ExactLoss, claim: tuple[float, float] | None) -> list[tuple[float, float]]:
    """(ε, δ(ε)): a coarse curve first, then points between them while there is time."""
    top = loss.epsilon if math.isfinite(loss.epsilon) else _far_enough(loss)
    if claim is not None:
        top = max(top, claim[0])
    top = 1.15 * max(top, 1e-6)
    steps = [i / 10 for i in range(11)]
    order = [*steps, *(i / 80 for i in range(80) if i % 8)]
    wanted = [s * top for s in order]
    wanted[11:11] = [v for v in (claim and claim[0], loss.epsilon) if v and v < top]
    found: dict[float, float] = {}
    deadline = Deadline(CURVE_SECONDS)
    for number, epsilon in enumerate(wanted):
        if number > 13 and deadline.passed():
            break
        over = loss.complete and epsilon >= loss.epsilon
        found[epsilon] = 0.0 if over else float(loss.sure_delta(epsilon))
    return sorted(found.items())


def _far_enough(loss: ExactLoss) -> float:
    """An ε at which δ no longer matters, or no longer falls."""
    epsilon = 1.0
    while epsilon < FARTHEST:
        delta = loss.sure_delta(epsilon)
        if delta < LEAST_DELTA or delta - loss.sure_delta(2 * epsilon) < 1e-3 * delta:
            break
        epsilon *= 2
    return epsilon


def _needed(
    loss: ExactLoss, profile: Points, claim: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """(δ, ε): what the pair needs at δ, from below; round δ first, others while there is time."""
    found = {0.0: max(loss.epsilon, 0.0)}
    wanted = [claim[1]] if claim is not None and claim[1] > 0 else []
    wanted += [10.0**-k for k in range(1, 11)]
    wanted += [m * 10.0**-k for m in (2, 5) for k in range(2, 11)]
    deadline = Deadline(CURVE_SECONDS)
    for delta in wanted:
        if deadline.passed():
            break
        found[delta] = _least(loss, profile, delta)
    return sorted(found.items())


def _least(loss: ExactLoss, profile: Points, delta: float) -> float:
    """An ε just below the least that (ε, delta) holds with: bisection between the known points."""
    edge = up_to_rounding(delta)
    above = [e for e, d in profile if d > edge]
    below = [e for e, d in profile if d <= edge]
    if not above:
        return 0.0
    if not below:
        return max(above)
    low, high = max(above), min(below)
    for _ in range(14):
        middle = (low + high) / 2
        if loss.sure_delta(middle) > edge:
            low = middle
        else:
            high = middle
    return low


def _tradeoff(profile: Points) -> list[tuple[float, float]]:
    """The trade-off curve as the envelope of the lines that δ(ε) gives, one pair for each ε."""
    curve = []
    for i in range(POINTS):
        a = i / (POINTS - 1)
        lines = (
            max(1 - d - math.exp(min(e, 700.0)) * a, math.exp(-e) * (1 - d - a)) for e, d in profile
        )
        curve.append((a, max(0.0, *lines)))
    return curve


def _loss_curve(loss: ExactLoss) -> list[tuple[float, float]]:
    """The distribution function of the privacy loss, for outputs of the first input."""
    from dpest.exact.losses.privacy_loss import loss_distribution

    distribution = loss_distribution(loss.parts, 0)
    total = np.cumsum(distribution.masses)
    losses = distribution.losses
    kept = np.flatnonzero((total > 1e-9) & (total < total[-1] - 1e-9))
    if len(kept):
        first, last = max(int(kept[0]) - 1, 0), min(int(kept[-1]) + 2, len(losses))
        losses, total = losses[first:last], total[first:last]
    if len(losses) > 400:
        keep = np.unique(np.linspace(0, len(losses) - 1, 400).astype(int))
        losses, total = losses[keep], total[keep]
    return list(zip(losses.tolist(), total.tolist(), strict=True))


# Outputs ---------------------------------------------------------------------------------------


def _outputs(mechanism: Mechanism, x: Any, x2: Any, witness: Witness) -> dict[str, Any]:
    from dpest.exact.outputs.output import output_distribution
    from dpest.reading.trace import trace

    first, second = (output_distribution(trace(mechanism, value)) for value in (x, x2))
    found: dict[str, Any] = {"outputs": _bars(first, second, witness)}
    densities = [_densities(first, second, leaf) for leaf in _real_leaves(first)[:LEAVES]]
    found["densities"] = max(
        (shown for shown in densities if max(shown.p) > 0 and max(shown.q) > 0),
        key=_difference,
        default=None,
    )
    return found


def _difference(shown: Densities) -> float:
    """How far apart the two curves are: of several released numbers the one that tells most."""
    step = shown.y[1] - shown.y[0]
    return step * sum(abs(a - b) for a, b in zip(shown.p, shown.q, strict=True))


def _bars(first: OutputDistribution, second: OutputDistribution, witness: Witness) -> Bars | None:
    """The likeliest outcomes, and something of the event."""
    table: dict[str, list[float]] = {}
    values: dict[str, Any] = {}
    for side, distribution in enumerate((first, second)):
        for outcome in distribution.outcomes:
            label = repr(outcome.output)
            values[label] = outcome.output
            table.setdefault(label, [0.0, 0.0])[side] = outcome.probability
    if len(table) < 2:
        return None
    shown = sorted(table, key=lambda label: -max(table[label]))
    details = witness.details
    event = {repr(v) for v in details.get("outputs", (details.get("output"),))}
    if not event & set(shown[:BARS]):
        shown[BARS - 1 : BARS] = [label for label in shown if label in event][:1]
    shown = shown[:BARS]
    if all(isinstance(values[label], numbers.Real) for label in shown):
        shown.sort(key=lambda label: float(values[label]))
    return Bars(
        shown,
        [table[label][0] for label in shown],
        [table[label][1] for label in shown],
        [i for i, label in enumerate(shown) if label in event],
    )


def _densities(first: OutputDistribution, second: OutputDistribution, leaf: int) -> Densities:
    """Both densities of one released number, on a common grid."""
    points, _ = first.marginal(leaf)
    other, _ = second.marginal(leaf)
    ends = min(points[0], other[0]), max(points[-1], other[-1])
    grid = np.linspace(*ends, 241).tolist()
    return Densities(
        grid,
        first.marginal(leaf, grid)[1].tolist(),
        second.marginal(leaf, grid)[1].tolist(),
        "released number" if leaf == 0 else f"released number at place {leaf}",
    )


def _real_leaves(distribution: OutputDistribution) -> list[int]:
    """The places of the released numbers that are continuous, in reading order."""
    found = {
        i
        for path in distribution.trace.paths
        for i, leaf in enumerate(path.leaves)
        if isinstance(leaf, Form) and leaf.terms
    }
    return sorted(found)


# Runs, for code that can only be run -----------------------------------------------------------


def sampled_picture(title: str, sampler: Sampler, x: Any, x2: Any, seed: int) -> PairPicture:
    """Frequencies of the outputs in some thousand runs on each input, or in what time allows."""
    deadline = Deadline(RUN_SECONDS)
    parts: tuple[list[Samples], list[Samples]] = ([], [])
    for block in range(RUNS // BLOCK):
        if block and deadline.passed():
            break
        for side, given in enumerate((x, x2)):
            parts[side].append(sampler.draw(given, BLOCK, seed + 2 * block + side))
    first, second = (Samples.concatenate(part) for part in parts)
    return PairPicture(title, x, x2, first.size, outputs=_frequencies(first, second))


def _frequencies(first: Samples, second: Samples) -> Bars | None:
    """Counts of equal outputs; of numbers that hardly ever repeat, a histogram."""
    values = [s.to_list() for s in (first, second)]
    both = [*values[0], *values[1]]
    numeric = all(isinstance(v, numbers.Real) and math.isfinite(v) for v in both)
    if numeric and len(set(both)) > BARS:
        low, high = np.quantile(np.array(both, dtype=float), [0.005, 0.995])
        edges = np.linspace(low, high, CELLS + 1)
        counts = [
            np.histogram(np.clip(np.array(v, dtype=float), low, high), edges)[0] for v in values
        ]
        labels = [f"{a:.4g} to {b:.4g}" for a, b in itertools.pairwise(edges)]
        labels[0], labels[-1] = f"to {edges[1]:.4g}", f"{edges[-2]:.4g} and more"
        p, q = (c / len(v) for c, v in zip(counts, values, strict=True))
        return Bars(labels, p.tolist(), q.tolist())
    table: dict[str, list[int]] = {}
    known: dict[str, Any] = {}
    for side, outputs in enumerate(values):
        for output in outputs:
            label = repr(output)
            known[label] = output
            table.setdefault(label, [0, 0])[side] += 1
    if len(table) < 2 or len(table) > len(both) // 10:
        return None
    shown = sorted(table, key=lambda label: -sum(table[label]))[:BARS]
    if numeric:
        shown.sort(key=lambda label: float(known[label]))
    return Bars(
        shown,
        [table[label][0] / first.size for label in shown],
        [table[label][1] / second.size for label in shown],
    )
