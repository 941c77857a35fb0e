"""Noise: one file per distribution, and the draws that NumPy's Generator lacks.

The classes say what is known of a distribution. The functions draw from one: hand them the `rng`
that the mechanism was given, and they work in every reading.
"""

from __future__ import annotations

from typing import Any

from dpest.noise.bernoulli import Bernoulli
from dpest.noise.categorical import Categorical
from dpest.noise.counts.binomial import Binomial
from dpest.noise.counts.poisson import Poisson
from dpest.noise.discrete_gaussian import DiscreteGaussian
from dpest.noise.discrete_laplace import DiscreteLaplace
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise, ShiftCost
from dpest.noise.gaussian import Gaussian
from dpest.noise.geometric import Geometric
from dpest.noise.gumbel import Gumbel
from dpest.noise.heavy_tails.cauchy import Cauchy
from dpest.noise.heavy_tails.student_t import StudentT
from dpest.noise.laplace import Laplace
from dpest.noise.logistic import Logistic
from dpest.noise.triangular import Triangular
from dpest.noise.two_sided_geometric import TwoSidedGeometric
from dpest.noise.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Cauchy",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteUniform",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Gumbel",
    "Laplace",
    "Logistic",
    "Noise",
    "Poisson",
    "ShiftCost",
    "StudentT",
    "Triangular",
    "TwoSidedGeometric",
    "Uniform",
    "bernoulli",
    "discrete_gaussian",
    "discrete_laplace",
    "draw",
    "two_sided_geometric",
]


def draw(rng: Any, noise: Noise, size: Any = None) -> Any:
    """Draws of any noise, of dpest or of your own: a family is added by adding one file.

    The file defines a subclass of `Noise` (`log_density`, `cdf`, `quantile`, `sample`, `support`,
    `tail_rates`, its `shift_cost`) and a function that calls this. For proofs the kernel needs a
    row of its own: `dpest.kernel.models.noise.trust`.
    """
    # The readings other than `run` hand in a generator that wants to know the distribution.
    if hasattr(rng, "draw_noise"):
        return rng.draw_noise(noise, size)
    drawn = noise.sample(rng, size)
    return drawn.item() if hasattr(drawn, "item") and size is None else drawn


def discrete_laplace(rng: Any, scale: Any, size: Any = None) -> Any:
    """Integers k with probability proportional to exp(-|k|/scale)."""
    return draw(rng, DiscreteLaplace(scale), size)


def discrete_gaussian(rng: Any, sigma: Any, size: Any = None) -> Any:
    """Integers k with probability proportional to exp(-k²/(2·sigma²))."""
    return draw(rng, DiscreteGaussian(sigma), size)


def two_sided_geometric(rng: Any, p: Any, size: Any = None) -> Any:
    """Integers k with probability p/(2-p)·(1-p)^|k|: a difference of two geometric draws."""
    return draw(rng, TwoSidedGeometric(p), size)


def bernoulli(rng: Any, p: Any, size: Any = None) -> Any:
    """True with probability p."""
    return draw(rng, Bernoulli(p), size)
