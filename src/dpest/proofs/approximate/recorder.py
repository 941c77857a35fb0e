"""What a run draws, from wherever it draws it: NumPy's numbers, written down."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.errors import ReplayError
from dpest.noise import DiscreteLaplace, TwoSidedGeometric
from dpest.noise.family import Noise

_GENERATOR = np.random.default_rng  # np.random is replaced while the function runs


class Recorder:
    """Draws for the generators of `reading.scripted`, which play whichever of these is on."""

    def __init__(self, seed: int) -> None:
        self._source = _GENERATOR(seed)
        self.noises: list[tuple[str, float, float]] = []  # family, scale, value around 0
        self.vectors: list[list[float]] = []
        self.uniforms: list[float] = []
        self.picks: list[Any] = []
        self.chances: dict[int, list[float]] = {}  # of picks that are not uniform, by their place

    @property
    def draws(self) -> Recorder:
        return self

    def _noisy(self, family: str, drawn: Any, loc: Any, scale: Any) -> Any:
        values, locs, scales = np.broadcast_arrays(np.asarray(drawn), loc, scale)
        triples = zip(values.ravel(), locs.ravel(), scales.ravel(), strict=True)
        self.noises += [(family, float(s), float(v - a)) for v, a, s in triples]
        return drawn

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("laplace", self._source.laplace(loc, scale, size), loc, scale)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("normal", self._source.normal(loc, scale, size), loc, scale)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("gumbel", self._source.gumbel(loc, scale, size), loc, scale)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noisy("exponential", self._source.exponential(scale, size), 0.0, scale)

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._noisy("geometric", self._source.geometric(p, size), 1.0, 1 - np.asarray(p))

    def standard_normal(self, size: Any = None, *rest: Any, **named: Any) -> Any:
        return self.normal(0.0, 1.0, size)

    def standard_exponential(self, size: Any = None, *rest: Any, **named: Any) -> Any:
        return self.exponential(1.0, size)

    def random(self, size: Any = None, *rest: Any, **named: Any) -> Any:
        return self._uniform(self._source.random(size))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        drawn = low + (np.asarray(high) - low)[()] * self._uniform(self._source.random(size))
        return float(drawn) if np.ndim(drawn) == 0 else drawn  # as NumPy gives it

    def _uniform(self, drawn: Any) -> Any:
        if np.ndim(drawn) == 0:
            self.uniforms.append(float(drawn))
        else:
            self.vectors.append([float(v) for v in np.ravel(drawn)])
        return drawn

    # Whole numbers and places; a draw without a choice is none -----------------------------------

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:  # fmt: skip
        drawn = self._source.integers(low, high, size, dtype=dtype, endpoint=endpoint)
        first, last = (0, low) if high is None else (low, high)
        if size is not None or last - first + endpoint > 1:
            self.picks.append(drawn)
        return drawn

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **named: Any
    ) -> Any:
        count = int(a) if np.ndim(a) == 0 else len(a)
        places = self._source.choice(count, size=size, replace=replace, p=p, **named)
        if p is not None:
            self.chances[len(self.picks)] = [float(v) for v in p]
        self.picks.append(places)
        return places if np.ndim(a) == 0 else np.asarray(a)[places]

    def permutation(self, x: Any, axis: int = 0) -> Any:
        order = self._source.permutation(x, axis)
        self.picks.append(order)
        return order

    def draw_noise(self, noise: Noise, size: Any = None) -> Any:
        """Noises of dpest."""
        if size is not None or not isinstance(noise, (DiscreteLaplace, TwoSidedGeometric)):
            raise ReplayError(f"a draw of {noise.family} noise that is not known here", "")
        drawn = noise.sample(self._source, size)
        scale = noise.scale if isinstance(noise, DiscreteLaplace) else 1 - noise.p
        self.noises.append((noise.family, float(scale), float(drawn)))
        return int(drawn)
