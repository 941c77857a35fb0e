"""How many runs refute a claim by an event, from its chances on the two inputs."""

from __future__ import annotations

import math

from scipy import special

from dpest.evidence import LEVEL
from dpest.stats import binomial, clopper_pearson

# Standard errors by which counts may be worse than expected: one script in ten thousand misses.
_UNLUCKY = 3.72
# Runs of a script, a side.
LEAST, MOST = 200, 20_000_000


def runs_to_refute(p: float, q: float, epsilon: float, delta: float) -> float:
    """Runs a side after which the script's exact test is below LEVEL, nearly always.

    The event has the chances p and q. The counts are taken at their unlucky ends; the test of those
    must still refute. With a δ each count is tested on its own, and may be unlucky alone.
    """
    if p - math.exp(epsilon) * q - delta <= 0:
        return math.inf
    low, high = 0, LEAST
    while not _refutes(p, q, epsilon, delta, high):
        low, high = high, 2 * high
        if high > 2 * MOST:
            return math.inf
    while high - low > high // 50 + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _refutes(p, q, epsilon, delta, middle) else (middle, high)
    return high


def _unlucky(p: float, q: float, runs: int, ways: tuple[float, float]) -> tuple[int, int]:
    """Too few hits on the first input and too many on the second: so many standard errors each."""
    low, high = special.ndtr(-_UNLUCKY * ways[0]), special.ndtr(_UNLUCKY * ways[1])
    return math.floor(_quantile(low, runs, p)), math.ceil(_quantile(high, runs, q))


def _quantile(level: float, runs: int, chance: float) -> float:
    """The count up to which the hits lie with a chance of `level`, between whole numbers too.

    SciPy's inverse gives no number where all hits, or none, are nearly certain.
    """
    if chance <= 0.0 or (chance < 1.0 and runs * math.log1p(-chance) >= math.log(level)):
        return 0.0
    if runs * math.log(chance) >= math.log1p(-level):
        return float(runs)
    return min(max(float(special.bdtrik(level, runs, chance)), 0.0), float(runs))


def _refutes(p: float, q: float, epsilon: float, delta: float, runs: int) -> bool:
    """Does the script's test refute the claim at the unlucky counts?"""
    if delta:
        low, high = _between(p, q, epsilon, delta, runs)
        return low < high
    # What counts is p - e^ε·q: of its bad luck each count has its share.
    scatters = math.sqrt(p * (1 - p)), math.exp(epsilon) * math.sqrt(q * (1 - q))
    both = math.hypot(*scatters) or 1.0
    first, second = _unlucky(p, q, runs, (scatters[0] / both, scatters[1] / both))
    if not first:
        return False
    from_first = math.exp(epsilon) / (1 + math.exp(epsilon))
    return float(binomial.upper_tail(first, first + second, from_first)) < LEVEL


def _between(p: float, q: float, epsilon: float, delta: float, runs: int) -> tuple[float, float]:
    """The chances on the second input that both unlucky counts refute, from either side."""
    first, second = _unlucky(p, q, runs, (1.0, 1.0))
    low = float(clopper_pearson.upper(second, runs, LEVEL))
    high = (float(clopper_pearson.lower(first, runs, LEVEL)) - delta) * math.exp(-epsilon)
    return low, high


def middle_of(p: float, q: float, epsilon: float, delta: float, runs: int) -> float:
    """A chance for the second input that the counts refute from both sides."""
    return sum(_between(p, q, epsilon, delta, runs)) / 2
