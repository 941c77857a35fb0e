"""Noise that is drawn once and shared by both inputs and by every step of a search."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise

Floats = NDArray[np.float64]

# How much the variance of the weights may cost, in samples.
_MOST_LOSS = 4.0
_MOST_DIMENSIONS = 64


@dataclass(frozen=True)
class FrozenNoise:
    """One row a sample, one column a symbol; `weights` sum to one."""

    symbols: tuple[Symbol, ...]
    values: Floats
    weights: Floats

    def part(self, samples: int) -> FrozenNoise:
        """The first samples; those of a Sobol sequence are even by themselves."""
        weights = self.weights[:samples]
        return FrozenNoise(self.symbols, self.values[:samples], weights / weights.sum())


def freeze(
    noises: Mapping[Symbol, Noise], samples: int, rng: np.random.Generator, widen: bool = True
) -> FrozenNoise:
    """Scrambled Sobol points through the quantiles: far more even than random draws.

    With `widen` the continuous noises are drawn wider than they are and weighted back, so that
    events in the tails are seen as well; by how much depends on how many there are.
    """
    from scipy.stats import qmc

    symbols = tuple(sorted(noises))
    count = len(symbols)
    if not count:
        return FrozenNoise((), np.zeros((1, 0)), np.ones(1))
    exponent = max(4, int(np.ceil(np.log2(samples))))
    if count <= _MOST_DIMENSIONS:
        seed = {"rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed": rng}
        uniform = qmc.Sobol(count, scramble=True, **seed).random_base2(exponent)
    else:
        uniform = rng.random((2**exponent, count))
    uniform = np.clip(uniform, 1e-12, 1 - 1e-12)
    stretch = stretch_for(count) if widen else 1.0
    values = np.empty_like(uniform)
    log_weights = np.zeros(len(uniform))
    for i, symbol in enumerate(symbols):
        noise = noises[symbol]
        plain = np.asarray(noise.quantile(uniform[:, i]), dtype=np.float64)
        if stretch == 1.0 or noise.discrete or not _unbounded(noise):
            values[:, i] = plain
            continue
        values[:, i] = stretch * plain
        log_weights += noise.log_density(values[:, i]) - noise.log_density(plain)
    weights = np.exp(log_weights - log_weights.max())
    return FrozenNoise(symbols, values, weights / weights.sum())


def stretch_for(count: int) -> float:
    """How far noises are stretched: a Laplace one costs a factor s²/(2s-1) in samples."""
    each = _MOST_LOSS ** (1.0 / max(count, 1))
    # s² - 2·each·s + each = 0; the larger root.
    return float(min(2.0, each + np.sqrt(each * each - each)))


def _unbounded(noise: Noise) -> bool:
    low, high = noise.support
    return not np.isfinite(low) or not np.isfinite(high)


def draw(
    noises: Mapping[Symbol, Noise],
    symbols: Sequence[Symbol],
    samples: int,
    rng: np.random.Generator,
) -> Floats:
    """Independent draws, a row a sample, for honest estimates."""
    values = np.empty((samples, len(symbols)))
    for i, symbol in enumerate(symbols):
        values[:, i] = noises[symbol].sample(rng, samples)
    return values
