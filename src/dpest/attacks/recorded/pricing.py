"""What one use of noise costs on a pair: from the two values before noise and the noise's scale.

Laplace noise of scale b between v and v2 costs exactly |v − v2|/b; Gaussian noise of deviation σ
is Gaussian DP with μ = |v − v2|/σ; a coin or a choice costs the largest log-ratio of its chances.
A library's primitive whose noise can't be seen is priced by the library's own claim, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.attacks.recorded.tape import Floats
from dpest.evidence import Measure

# How far two values may differ by rounding alone, relative to their size.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Price:
    """A cost: pure ε, Gaussian μ, and (ε, δ) as a library claims it; they compose.

    `behind` is the pure cost of telling x2 from x, where it is not the same as of x from x2.

    `trusted`: rests on a library's claim, not on noise that was seen. `loose`: an upper bound even
    if all is released. `unpriced`: why there is no price.
    """

    pure: float = 0.0
    behind: float | None = None
    mu: float = 0.0
    claimed: tuple[float, float] = (0.0, 0.0)
    trusted: bool = False
    loose: bool = False
    unpriced: str = ""

    @property
    def free(self) -> bool:
        return not (self.pure or self.behind or self.mu or any(self.claimed) or self.unpriced)

    @property
    def both_ways(self) -> float:
        return max(self.pure, self.behind or 0.0)

    def at(self, measure: Measure) -> float:
        """This cost in the measure that was asked: an upper bound, tight for one kind of noise."""
        from dpest.notions.conversions import gdp_to_epsilon

        pure = self.both_ways + self.claimed[0]
        if measure.kind == "zcdp":
            return math.inf if self.claimed[1] else self.mu**2 / 2 + pure**2 / 2
        if measure.kind == "gdp":
            from dpest.notions.conversions import pure_to_gdp

            whole = math.isinf(pure) or self.claimed[1]
            return math.inf if whole else math.hypot(self.mu, pure_to_gdp(pure) if pure else 0.0)
        if measure.kind == "renyi":
            order = float(measure.alpha or math.inf)
            loose = self.claimed[1] or math.isinf(pure)
            return math.inf if loose else order * self.mu**2 / 2 + min(pure, order * pure**2 / 2)
        if self.mu == 0 and self.claimed[1] <= measure.delta:
            return pure
        left = measure.delta - self.claimed[1]
        if left <= 0 or math.isinf(self.mu):
            return math.inf
        return pure + (gdp_to_epsilon(self.mu, left) if self.mu else 0.0)

    @property
    def tight(self) -> bool:
        """Whether the sum of such costs is what the pair is worth if all of it is released."""
        mixed = bool(self.both_ways and self.mu)
        return not (self.trusted or self.loose or self.unpriced or mixed)


def total(prices: Iterable[Price]) -> Price:
    """The cost of all of them, one after another."""
    found = list(prices)
    return Price(
        pure=sum(p.pure for p in found),
        behind=sum(p.pure if p.behind is None else p.behind for p in found),
        mu=math.hypot(*(p.mu for p in found)) if found else 0.0,
        claimed=(sum(p.claimed[0] for p in found), sum(p.claimed[1] for p in found)),
        trusted=any(p.trusted and not p.free for p in found),
        loose=any(p.loose and not p.free for p in found),
        unpriced="; ".join(dict.fromkeys(p.unpriced for p in found if p.unpriced)),
    )


_ABSOLUTE = ("laplace", "logistic", "discrete_laplace")


def shift_price(law: str, scale: float, shift: float) -> Price:
    """What it costs to move one number of this noise by `shift`."""
    size = abs(shift)
    if size == 0:
        return Price()
    if not math.isfinite(size):
        return Price(pure=math.inf)
    if scale == 0:
        return Price(pure=math.inf)
    if law in _ABSOLUTE:
        return Price(pure=size / scale)
    if law == "cauchy":
        return Price(pure=2 * math.asinh(size / (2 * scale)))
    if law == "normal":
        return Price(mu=size / scale)
    if law in ("uniform", "exponential", "geometric"):
        # The supports of the two noisy values differ.
        return Price(pure=math.inf)
    return Price(unpriced=f"no price is known for {law} noise")


def difference_price(laws: list[str], scales: list[float], shift: float) -> Price:
    """Several noises in one sum: the difference of two equal one-sided ones is two-sided.

    Otherwise the cheapest of them is moved, and the others stay: an upper bound.
    """
    mine = [s for law, s in zip(laws, scales, strict=True) if law == "exponential"]
    if len(mine) == 2 and mine[0] * mine[1] < 0 and math.isclose(abs(mine[0]), abs(mine[1])):
        return Price(pure=abs(shift) / abs(mine[0]))
    prices = [shift_price(law, abs(s), shift) for law, s in zip(laws, scales, strict=True)]
    normal = [abs(s) for law, s in zip(laws, scales, strict=True) if law == "normal"]
    if len(normal) > 1:
        prices.append(Price(mu=abs(shift) / math.hypot(*normal)))
    known = [p for p in prices if not p.unpriced]
    if not known:
        return prices[0]
    cheapest = min(known, key=lambda p: (p.pure + p.mu, p.mu))
    return cheapest if len(normal) == len(laws) else replace(cheapest, loose=True)


def chances_price(first: Floats, second: Floats) -> Price:
    """One outcome of these chances: the largest log-ratio."""
    if first.shape != second.shape:
        return Price(pure=math.inf)
    if np.allclose(first, second, rtol=ROUNDING, atol=0):
        return Price()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(first) - np.log(second)
    ratio = np.where((first <= 0) & (second <= 0), 0.0, ratio)
    return Price(pure=float(np.max(ratio, initial=0.0)), behind=float(np.max(-ratio, initial=0.0)))


def coin_price(law: str, scale: Floats, first: Floats, second: Floats) -> Price:
    """Noise compared with `first` on x and with `second` on x2: for each number one coin."""
    if np.allclose(first, second, rtol=ROUNDING, atol=ROUNDING):
        return Price()
    p, q = _cdf(law, first, scale), _cdf(law, second, scale)
    if p is None or q is None:
        return Price(unpriced=f"no price is known for coins made of {law} noise")
    pairs = (np.stack([a, 1 - a]) for a in (np.ravel(p), np.ravel(q)))
    one, two = pairs
    return total(chances_price(one[:, i], two[:, i]) for i in range(one.shape[1]))


def _cdf(law: str, at: Floats, scale: Floats) -> Floats | None:
    from scipy import special

    z = np.asarray(at, dtype=float) / scale
    if law == "uniform":
        return np.clip(z, 0.0, 1.0)
    if law == "laplace":
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)
    if law == "normal":
        return special.ndtr(z)
    if law == "logistic":
        return special.expit(z)
    if law == "exponential":
        return np.where(z > 0, -np.expm1(-np.maximum(z, 0)), 0.0)
    return None


def distance(first: Any, second: Any, norm: str) -> float | None:
    """How far apart two values before noise are; None where they can't be compared."""
    try:
        a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    except (TypeError, ValueError):
        return None
    if a.shape != b.shape:
        return None
    if np.any(np.isnan(a) != np.isnan(b)):
        return math.inf
    with np.errstate(invalid="ignore"):
        gap = np.where(a == b, 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), 0.0, gap)
    gap = np.where(gap <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, gap)
    if gap.size == 0:
        return 0.0
    if norm == "l2":
        return float(np.sqrt(np.sum(gap**2)))
    return float(np.max(gap)) if norm == "linf" else float(np.sum(gap))
