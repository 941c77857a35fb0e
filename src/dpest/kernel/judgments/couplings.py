"""What a coupling of two draws costs, and where a draw lies except with a small chance.

Lemma (shift). Let X₁ = e₁ + noise and X₂ = e₂ + noise, and s = k + e₁ - e₂. The distributions of
X₁ + k and X₂ are those of the noise, s apart. If |s| ≤ d, then for every set A:
Pr[X₁ + k ∈ A] ≤ e^ε·Pr[X₂ ∈ A] + δ with
  Laplace of scale b:      δ = max(0, 1 - e^((ε - d/b)/2));
  Gaussian of deviation σ: δ = Φ(d/2σ - εσ/d) - e^ε·Φ(-d/2σ - εσ/d), and 0 if d = 0;
  exponential of scale b:  δ = 0, if 0 ≤ s and ε ≥ d/b (for s < 0 a part of the support is lost).
Each δ grows with d.

Lemma (coins). For a bijection π of {0, 1}: δ = Σᵥ max(0, Pr[X₁ = v] - e^ε·Pr[X₂ = π(v)]).

Lemma (tails). |noise| > t has a chance of e^(-t/b) (Laplace, exponential) or 2·Φ(-t/σ) (Gaussian).
"""

from __future__ import annotations

from fractions import Fraction

from ..approximate.enclosures import exp_range, normal_cdf_range
from ..forms import ONE, ZERO
from ..invalid import Invalid, need
from .programs import StatedNoise

_LARGEST = 4000


def shift_delta(noise: StatedNoise, distance: Fraction, epsilon: Fraction, where: str) -> Fraction:
    """An upper bound on the δ of a shift by at most `distance` at this ε."""
    need(distance >= 0 and epsilon >= 0, f"{where}: a negative cost")
    if noise.family == "bernoulli":
        raise Invalid(f"{where}: a coin can't be shifted")
    if noise.family == "gaussian":
        return _gaussian(distance, noise.size, epsilon, where)
    short = distance / noise.size - epsilon
    if short <= 0:
        return ZERO
    need(noise.family == "laplace", f"{where}: the coupling costs more than it says")
    return ONE - exp_range(-short / 2)[0] if short <= _LARGEST else ONE


def _gaussian(distance: Fraction, sigma: Fraction, epsilon: Fraction, where: str) -> Fraction:
    if not distance:
        return ZERO
    need(epsilon <= _LARGEST, f"{where}: too large an ε")
    half, slope = distance / (2 * sigma), epsilon * sigma / distance
    above = normal_cdf_range(half - slope)[1]
    below = normal_cdf_range(-half - slope)[0]
    return max(ZERO, above - exp_range(epsilon)[0] * below)


def coin_delta(
    first: StatedNoise, second: StatedNoise, opposite: bool, epsilon: Fraction
) -> Fraction:
    """The δ of the coupling in which both coins fall alike, or oppositely."""
    one = second.size if not opposite else ONE - second.size
    low = exp_range(min(epsilon, Fraction(_LARGEST)))[0] if epsilon else ONE
    pairs = ((first.size, one), (ONE - first.size, ONE - one))
    return sum((max(ZERO, p - low * q) for p, q in pairs), ZERO)


def tail(noise: StatedNoise, reach: Fraction, where: str) -> Fraction:
    """An upper bound on the chance that the noise lies further out than `reach`."""
    need(reach >= 0, f"{where}: a negative reach")
    need(noise.family != "bernoulli", f"{where}: a coin has no tail")
    ratio = reach / noise.size
    if noise.family == "gaussian":
        return 2 * (ONE - normal_cdf_range(ratio)[0])
    return exp_range(max(-ratio, Fraction(-_LARGEST)))[1]
