"""The runs of one path, finished one by one: draws that were made already are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.program.batch_generator import PARAMETERS, arguments, shape_of_size

_POOL = 256  # standard draws fetched at once: a call of NumPy for one number costs a microsecond


class Pools:
    """Standard draws handed out one at a time."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self._laplace: list[float] = []
        self._exponential: list[float] = []
        self._normal: list[float] = []
        self._uniform: list[float] = []

    def laplace(self) -> float:
        if not self._laplace:
            signs = self.generator.integers(0, 2, _POOL) * 2.0 - 1.0
            self._laplace = (self.generator.standard_exponential(_POOL) * signs).tolist()
        return self._laplace.pop()

    def exponential(self) -> float:
        if not self._exponential:
            self._exponential = self.generator.standard_exponential(_POOL).tolist()
        return self._exponential.pop()

    def normal(self) -> float:
        if not self._normal:
            self._normal = self.generator.standard_normal(_POOL).tolist()
        return self._normal.pop()

    def uniform(self) -> float:
        if not self._uniform:
            self._uniform = self.generator.random(_POOL).tolist()
        return self._uniform.pop()


class ScalarGenerator:
    """`rng` for one run: first what the run drew while it was in the batch, then new draws."""

    def __init__(self, pools: Pools, keys: list[Any], values: list[Any]) -> None:
        self._pools = pools
        self._generator = pools.generator
        self._keys = keys
        self._values = values
        self._next = 0

    def __getattr__(self, name: str) -> Any:
        generator = self._generator
        if name not in PARAMETERS:
            return getattr(generator, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            position = self._next
            if position < len(self._values):
                self._next = position + 1
                value = self._values[position]
                key = self._keys[position]
                if value is not None and isinstance(key, tuple) and key[0] == name:
                    if key[1] == "standard":
                        return _scaled(name, value, arguments(name, args, kwargs)[0])
                    return value
            return getattr(generator, name)(*args, **kwargs)

        return method

    def _kept(self, key: Any) -> Any:
        position = self._next
        if position >= len(self._values):
            return None
        self._next = position + 1
        return self._values[position] if self._keys[position] == key else None

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        position = self._next
        if position < len(self._values):
            self._next = position + 1
            value = self._values[position]
            key = self._keys[position]
            if value is not None and key == ("laplace", None):
                return value
            if value is not None and key == ("laplace", "standard"):
                return loc + scale * value
        if size is None and type(scale) is float and scale > 0.0:
            return loc + scale * self._pools.laplace()
        return self._generator.laplace(loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        value = self._kept(("exponential", None))
        if value is not None:
            return value
        if self._next and self._next <= len(self._values):
            position = self._next - 1
            if self._keys[position] == ("exponential", "standard"):
                kept = self._values[position]
                if kept is not None:
                    return scale * kept
        if size is None and type(scale) is float and scale > 0.0:
            return scale * self._pools.exponential()
        return self._generator.exponential(scale, size)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        value = self._kept(("random", None))
        if value is not None:
            return value
        if size is None and dtype is np.float64 and out is None:
            return self._pools.uniform()
        return self._generator.random(size, dtype=dtype, out=out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        position = self._next
        value = self._kept(("normal", None))
        if value is not None:
            return value
        if position < len(self._values) and self._keys[position] == ("normal", "standard"):
            kept = self._values[position]
            if kept is not None:
                return loc + scale * kept
        if size is None and type(scale) is float and scale > 0.0:
            return loc + scale * self._pools.normal()
        return self._generator.normal(loc, scale, size)

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        value = self._kept("integers")
        return value if value is not None else self._generator.integers(*args, **kwargs)

    def choice(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        value = self._kept("choice")
        if value is not None:
            return value if isinstance(a, (int, np.integer)) else _look_up(a, value)
        order = self._last_kept("permutation")
        if order is not None:
            size = args[0] if args else kwargs.get("size")
            shape = shape_of_size(size)
            picked = order[: int(np.prod(shape))].reshape(shape)
            return picked if isinstance(a, (int, np.integer)) else np.asarray(a)[picked]
        return self._generator.choice(a, *args, **kwargs)

    def permutation(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        order = self._kept("permutation")
        if order is None:
            return self._generator.permutation(x, *args, **kwargs)
        return order if isinstance(x, (int, np.integer)) else np.asarray(x)[order]

    def draw_noise(self, noise: Any, size: Any = None) -> Any:
        value = self._kept(("noise", noise))
        return value if value is not None else noise.sample(self._generator, size)

    def _last_kept(self, key: Any) -> Any:
        """The draw that the last `_kept` passed over because its key was another."""
        position = self._next - 1
        if 0 <= position < len(self._values) and self._keys[position] == key:
            return self._values[position]
        return None


def _look_up(options: Any, index: Any) -> Any:
    return np.asarray(options)[index] if isinstance(index, np.ndarray) else options[int(index)]


def _scaled(name: str, value: Any, params: tuple[Any, ...]) -> Any:
    if name == "uniform":
        low, high = params
        return low + (high - low) * value
    location, scale = params if len(params) == 2 else (0.0, params[0])
    return location + scale * value
