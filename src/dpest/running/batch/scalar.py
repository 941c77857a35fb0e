"""The runs of one path, finished one by one: draws that were made already are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.running.batch.generator import PARAMETERS, arguments, shape_of_size

_NUMBERS = (float, int)
_POOL = 256  # standard draws fetched at once: a call of NumPy for one number costs a microsecond


def _laplaces(generator: np.random.Generator) -> Any:
    signs = generator.integers(0, 2, _POOL) * 2.0 - 1.0
    return generator.standard_exponential(_POOL) * signs


def _normals(generator: np.random.Generator) -> Any:
    return generator.standard_normal(_POOL)


_STANDARD = {"laplace": _laplaces, "normal": _normals}


def _located(name: str) -> Callable[..., Any]:
    """A method that draws loc + scale·noise; one call a draw, for these are the hot ones."""
    standard, make = f"{name}*", _STANDARD[name]

    def draw(self: ScalarGenerator, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        position = self._next
        if position < self._count:
            self._next = position + 1
            value = self._values[position]
            if value is not None:
                kept = self._names[position]
                if kept == name:
                    return value
                if kept == standard:
                    return _single(loc + scale * value)
        if size is None and type(scale) in _NUMBERS and type(loc) in _NUMBERS and scale > 0:
            pool = self._pools[name]
            if not pool:
                pool.extend(make(self.generator).tolist())
            return loc + scale * pool.pop()
        return getattr(self.generator, name)(loc, scale, size)

    draw.__name__ = name
    return draw


class ScalarGenerator:
    """`rng` for one run: first what the run drew while it was in the batch, then new draws.

    `restart` begins another run. A call that doesn't match what was drawn at its place (a decision
    may fall differently by the last bit of a vectorised function) gets a new draw.
    """

    __slots__ = (
        "_count",
        "_exponentials",
        "_names",
        "_next",
        "_pools",
        "_uniforms",
        "_values",
        "generator",
    )

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self._exponentials: list[float] = []
        self._pools: dict[str, list[float]] = {name: [] for name in _STANDARD}
        self._uniforms: list[float] = []
        self._names: list[Any] = []
        self._count = 0
        self._values: Any = ()
        self._next = 0

    def follow(self, keys: list[Any]) -> None:
        """The next runs made these draws in the batch."""
        self._names = [
            (key[0] + "*" if key[1] == "standard" else key[0])
            if isinstance(key, tuple) and isinstance(key[0], str) and key[0] in PARAMETERS
            else key
            for key in keys
        ]
        self._count = len(keys)

    def restart(self, values: Any) -> None:
        self._values = values
        self._next = 0

    @property
    def finished(self) -> bool:
        """Whether the run has used all that it drew in the batch."""
        return self._next >= self._count

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.random.Generator  # `isinstance` holds as in a plain run

    laplace = _located("laplace")
    normal = _located("normal")

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        position = self._next
        if position < self._count:
            self._next = position + 1
            value = self._values[position]
            if value is not None:
                name = self._names[position]
                if name == "exponential":
                    return value
                if name == "exponential*":
                    return _single(scale * value)
        if size is None and type(scale) in _NUMBERS and scale > 0:
            if not self._exponentials:
                self._exponentials = self.generator.standard_exponential(_POOL).tolist()
            return scale * self._exponentials.pop()
        return self.generator.exponential(scale, size)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        value = self._kept("random")
        if value is not None:
            return value
        if size is None and dtype is np.float64 and out is None:
            if not self._uniforms:
                self._uniforms = self.generator.random(_POOL).tolist()
            return self._uniforms.pop()
        return self.generator.random(size, dtype=dtype, out=out)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,
    ) -> Any:
        value = self._kept("integers")
        if value is None:
            return self.generator.integers(low, high, size, dtype=dtype, endpoint=endpoint)
        if type(value) is not int or dtype is int or dtype is bool:
            return value
        return np.dtype(dtype).type(value)

    def choice(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        position = self._next
        value = self._kept("choice")
        if value is not None:
            return value if isinstance(a, (int, np.integer)) else _look_up(a, value)
        if position < self._count and self._names[position] == "permutation":
            order = self._values[position]
            if order is not None:
                shape = shape_of_size(args[0] if args else kwargs.get("size"))
                picked = order[: int(np.prod(shape))].reshape(shape)
                return picked if isinstance(a, (int, np.integer)) else _look_up(a, picked)
        return self.generator.choice(a, *args, **kwargs)

    def permutation(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        order = self._kept("permutation")
        if order is None:
            return self.generator.permutation(x, *args, **kwargs)
        return order if isinstance(x, (int, np.integer)) else np.asarray(x)[order]

    def draw_noise(self, noise: Any, size: Any = None) -> Any:
        value = self._kept(("noise", noise))
        return value if value is not None else noise.sample(self.generator, size)

    def _kept(self, name: Any) -> Any:
        position = self._next
        if position >= self._count:
            return None
        self._next = position + 1
        return self._values[position] if self._names[position] == name else None

    def __getattr__(self, name: str) -> Any:
        generator = self.generator
        if name not in PARAMETERS:
            return getattr(generator, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            position = self._next
            if position < self._count:
                self._next = position + 1
                value = self._values[position]
                known = self._names[position]
                if value is not None and known == name:
                    return value
                if value is not None and known == name + "*":
                    return _scaled(name, value, arguments(name, args, kwargs)[0])
            return getattr(generator, name)(*args, **kwargs)

        return method


def _single(value: Any) -> Any:
    """A single draw is one of Python's floats, whatever the types of its parameters."""
    return float(value) if isinstance(value, np.float64) else value


def _look_up(options: Any, index: Any) -> Any:
    return np.asarray(options)[index]


def _scaled(name: str, value: Any, params: tuple[Any, ...]) -> Any:
    if name == "uniform":
        low, high = params
        return _single(low + (high - low) * value)
    location, scale = params
    return _single(location + scale * value)
