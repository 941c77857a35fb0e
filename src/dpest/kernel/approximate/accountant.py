"""What a list of steps costs together: ε, ρ, μ², or δ at an ε. Exact rationals, rounded upwards.

Each step is of one kind (`value` says how large it is):

- `gauss`: Gaussian noise, μ² = (shift/σ)². Steps add up their μ², also adaptively (Dong, Roth and
  Su 2022, Corollary 3.3);
- `laplace`: one draw of Laplace noise, ε = shift/scale; `pure`: anything ε-private;
- `bad`: ε-private but for an event of chance at most `delta`.

`q` is the chance with which a record takes part (Poisson sampling, add or remove one): then
((1 − q)Q + qP, Q) and its reverse dominate (Zhu, Dong and Wang 2022, Theorem 11), and the bound is
the larger over removing in all steps and adding in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

from .enclosures import exp_range, log_range, rounded
from .losses import (
    UNIT,
    Curve,
    LossLaw,
    gaussian_curve,
    laplace_curve,
    law_through,
    points,
    pure_curve,
    reversed_values,
    sampled_curve,
    values_of,
)

ZERO, ONE = Fraction(0), Fraction(1)
KINDS = ("gauss", "laplace", "pure", "bad")


@dataclass(frozen=True)
class StageLoss:
    """One stage of a mechanism, by its worst pair."""

    kind: str
    value: Fraction
    q: Fraction = ONE
    delta: Fraction = ZERO

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.value < 0:
            raise ValueError(f"no step is {self.kind!r} of size {self.value}")
        if not 0 < self.q <= 1 or not 0 <= self.delta <= 1:
            raise ValueError("a chance outside of (0, 1]")
        if self.delta and self.kind != "bad":
            raise ValueError("only an up-to-bad step has a δ of its own")
        if self.kind == "bad" and self.q != 1:
            raise ValueError("an up-to-bad step of a sample is not understood")

    def curve(self) -> Curve:
        """An upper bound on δ of this step alone, removing."""
        if self.kind == "gauss":
            base = gaussian_curve(self.value)
        elif self.kind == "laplace":
            base = laplace_curve(self.value)
        else:
            base = pure_curve(self.value)
        if self.kind == "bad":
            inner, share = base, self.delta
            return lambda t: share + (1 - share) * inner(t)
        return base if self.q == 1 else sampled_curve(base, self.q)


Ledger = Sequence[tuple[StageLoss, int]]
"""Steps, and how often each is taken."""


@dataclass(frozen=True)
class LossGrid:
    """The grid on which laws are composed: a choice that makes bounds finer, never wrong."""

    grid: int
    windows: tuple[tuple[int, int], ...]
    tail: int = 72  # bits: cells of a mass below 2^-tail are joined


def merged(steps: Iterable[tuple[StageLoss, int]]) -> list[tuple[StageLoss, int]]:
    """The same costs in fewer entries: Gaussian steps without sampling are one."""
    found: dict[StageLoss, int] = {}
    mu2 = ZERO
    for step, times in steps:
        if times < 1:
            raise ValueError("a step that is taken less than once")
        if step.value == 0 and step.delta == 0:
            continue
        if step.kind == "gauss" and step.q == 1:
            mu2 += step.value * times
        else:
            found[step] = found.get(step, 0) + times
    first = [(StageLoss("gauss", mu2), 1)] if mu2 else []
    return [*first, *found.items()]


# Bounds that need no law ------------------------------------------------------------------------


def pure_bound(ledger: Ledger) -> Fraction | None:
    """ε of pure privacy, or None: ln(1 + q(e^ε − 1)) for a sample."""
    total = ZERO
    for step, times in ledger:
        if step.kind == "gauss" or step.delta:
            return None
        one = step.value
        if step.q < 1:
            one = log_range(1 + step.q * (exp_range(step.value)[1] - 1))[1]
        total += one * times
    return total


def rho_bound(ledger: Ledger) -> Fraction | None:
    """ρ of zCDP, or None: μ²/2, and ε²/2 for a pure step (Bun and Steinke 2016)."""
    total = ZERO
    for step, times in ledger:
        if step.delta or step.q < 1:
            return None
        total += times * (step.value if step.kind == "gauss" else step.value**2) / 2
    return total


def mu2_bound(ledger: Ledger) -> Fraction | None:
    """μ² of Gaussian DP, or None."""
    if any(step.kind != "gauss" or step.q < 1 for step, _ in ledger):
        return None
    return sum((step.value * times for step, times in ledger), ZERO)


def _in_sequence(ledger: Ledger, epsilon: Fraction) -> Fraction | None:
    """δ by adding up: the parts' ε, what is left for the Gaussian part, the parts' δ."""
    if any(step.q < 1 for step, _ in ledger):
        return None
    rest, delta, mu2 = epsilon, ZERO, ZERO
    for step, times in ledger:
        if step.kind == "gauss":
            mu2 += step.value * times
        else:
            rest -= step.value * times
            delta += step.delta * times
    if rest < 0:
        return None
    if mu2:
        delta += max(ZERO, gaussian_curve(mu2)(exp_range(rest)[0]))
    return min(delta, ONE)


# Bounds by laws ---------------------------------------------------------------------------------


def planned(ledger: Ledger, delta: float = 1e-12, cells: int = 2000) -> LossGrid:
    """A grid by floating point, for answers near `delta`.

    It has a few cells a standard deviation, and goes as far as there is mass that matters.
    """
    spreads = [_spread(step, 1e-5 * delta / times) for step, times in ledger]
    finest = min(s for _, _, s in spreads)
    widest = max(high - low for low, high, _ in spreads)
    many = sum(times for _, times in ledger)
    width = max(finest / min(max(200 / math.sqrt(many), 6), 40), widest / cells)
    grid = max(2, round(1 / math.expm1(width)))
    cell = math.log1p(1 / grid)
    windows = tuple((math.floor(a / cell) - 1, math.ceil(b / cell) + 1) for a, b, _ in spreads)
    tail = math.ceil(-math.log2(1e-6 * delta / many))
    return LossGrid(grid, windows, min(max(tail, 20), 80))


def _spread(step: StageLoss, tail: float) -> tuple[float, float, float]:
    """Where the loss of a step lies, but for a tail, and its standard deviation, about."""
    q = float(step.q)
    if step.kind == "gauss":
        mu = math.sqrt(step.value)
        far = -NormalDist().inv_cdf(min(0.01, max(tail / q, 1e-300)))
        ends = (-mu * far - mu * mu / 2, mu * far + mu * mu / 2)
        nodes = [(-6 + i * 0.05, 0.05) for i in range(241)]
        losses = [(mu * x - mu * mu / 2, w * math.exp(-x * x / 2) / 2.5066) for x, w in nodes]
    else:
        size = float(step.value)
        ends = (-size, size)
        losses = [(-size, 0.5), (size, 0.5)]
    taken = [(_mixed(loss, q), w) for loss, w in losses]
    mean = sum(a * w for a, w in taken)
    spread = math.sqrt(max(sum((a - mean) ** 2 * w for a, w in taken), 1e-12))
    return max(-29.0, _mixed(ends[0], q)), min(29.0, _mixed(ends[1], q)), spread


def _mixed(loss: float, q: float) -> float:
    if q == 1 or loss > 500:
        return loss + math.log(q)
    return math.log1p(q * math.expm1(loss))


def laws(ledger: Ledger, plan: LossGrid) -> tuple[LossLaw, ...]:
    """The law of all steps, removing in all and adding in all."""
    tail = UNIT >> plan.tail
    sampled = any(step.q < 1 for step, _ in ledger)
    found: list[LossLaw | None] = [None, None]
    for (step, times), (low, high) in zip(ledger, plan.windows, strict=True):
        if sampled:
            low, high = min(low, -high), max(high, -low)
        at = points(plan.grid, low, high)
        values = values_of(step.curve(), at)
        ways = [law_through(values, plan.grid, low)]
        if sampled:
            back = reversed_values(values, at)
            ways.append(law_through(back, plan.grid, -high))
        for i, law in enumerate(ways):
            one = law.trimmed(tail).power(times, tail)
            before = found[i]
            found[i] = one if before is None else before.times(one).trimmed(tail)
    return tuple(law for law in found if law is not None)


@dataclass
class Account:
    """Answers about one ledger; its laws are composed once."""

    ledger: Ledger
    plan: LossGrid | None = None
    _laws: tuple[LossLaw, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.ledger = merged(self.ledger)

    @property
    def needs_laws(self) -> bool:
        """Whether adding up is not the best that is known."""
        kinds = {step.kind for step, _ in self.ledger}
        several = len(self.ledger) > 1 or any(times > 1 for _, times in self.ledger)
        return any(step.q < 1 for step, _ in self.ledger) or (several and kinds != {"gauss"})

    def laws(self) -> tuple[LossLaw, ...]:
        if self._laws is None:
            if self.plan is None:
                self.plan = planned(self.ledger)
            self._laws = laws(self.ledger, self.plan)
        return self._laws

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound on δ(ε), ε ≥ 0."""
        if not self.ledger:
            return ZERO
        bounds = [ONE]
        added = _in_sequence(self.ledger, epsilon)
        if added is not None:
            bounds.append(added)
        if not added and added is not None:
            return ZERO
        if self.needs_laws:
            bounds.append(max(law.delta(epsilon) for law in self.laws()))
        return rounded(min(bounds), True)

    def epsilon(self, delta: Fraction, most: Fraction = Fraction(10**6)) -> Fraction | None:
        """An ε with a proved δ(ε) ≤ delta, near the least one; None where there is none."""
        if self.plan is None and self.needs_laws:
            self.plan = planned(self.ledger, float(delta))
        if self.delta(ZERO) <= delta:
            return ZERO
        low, high = ZERO, ONE
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > most or (high > 64 and self.needs_laws):
                return None
        while high - low > high / 10**7:
            middle = rounded((low + high) / 2, True, 48)
            if self.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        # A step's own ε may be just what was claimed: then it is the answer, not a little more.
        total = sum((s.value * n for s, n in self.ledger if s.kind != "gauss"), ZERO)
        if abs(total - high) <= high / 10**6 and self.delta(total) <= delta:
            return min(total, high)
        return high
