"""The arrays of the batch reading, in NumPy: the runs are on the last axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpest.running.seeds import generator_of


class NumpyArrays:
    """What the reading asks of an array library; `TorchArrays` answers the same questions."""

    name = "numpy"
    block = 1 << 17  # runs of one block: a column of doubles is a MiB, about a core's own cache
    large_block = 1 << 19  # where there are many: a function with 2^10 paths is read twice as fast
    kept_limit = 1 << 28  # bytes of draws that one block may keep

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self.generator: Any = generator_of(seed)
        self.single: Any = None  # the generator of runs that are made one by one

    @contextmanager
    def working(self) -> Iterator[None]:
        with np.errstate(all="ignore"):
            yield

    def out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, MemoryError)

    def scalar_generator(self) -> np.random.Generator:
        return self.generator

    # Rows

    def count(self, mask: Any) -> int:
        return int(np.count_nonzero(mask))

    def equal(self, data: Any, value: Any) -> Any:
        return data == value

    def positions(self, mask: Any, outcome: bool, count: int) -> Any:
        return np.flatnonzero(mask if outcome else ~mask)

    def index(self, positions: np.ndarray) -> Any:
        return positions

    def take(self, data: Any, index: Any) -> Any:
        return data.take(index, axis=-1)

    def values(self, data: Any, at_most: int) -> list[tuple[Any, int]] | None:
        """The distinct values and their counts, or None where there are more than `at_most`."""
        if len(np.unique(data[:256])) > at_most:
            return None
        values, counts = self.unique(data)
        if len(values) > at_most:
            return None
        return list(zip(values.tolist(), counts.tolist(), strict=True))

    def unique(self, data: Any) -> tuple[Any, Any]:
        """Distinct values and their counts; without a sort where they are small integers."""
        if data.dtype.kind in "iub":
            low, high = int(data.min()), int(data.max())
            if high - low < 1 << 22:
                counts = np.bincount(data.astype(np.int64) - low)
                found = np.flatnonzero(counts)
                return (found + low).astype(data.dtype), counts[found]
        return np.unique(data, return_counts=True)

    def to_numpy(self, data: Any) -> np.ndarray:
        return data

    def dtype(self, data: Any) -> np.dtype[Any]:
        return data.dtype

    def nbytes(self, data: Any) -> int:
        return data.nbytes

    def has_nan(self, data: Any) -> int:
        if data.dtype.kind != "f" or not np.isnan(data.sum()):
            return 0
        return int(np.count_nonzero(np.isnan(data)))

    # Operations

    def constant(self, value: np.ndarray) -> Any:
        """An array of the user's, the same in every run."""
        return value[..., None]

    def ufunc(self, ufunc: np.ufunc) -> Callable[..., Any]:
        return ufunc

    def astype(self, data: Any, dtype: np.dtype[Any]) -> Any:
        return data.astype(dtype)

    def stack(self, parts: Sequence[Any], rows: int) -> Any:
        """Parts of equal shape, each with or without the axis of runs, on a new first axis."""
        shape = np.broadcast_shapes((rows,), *[np.shape(part) for part in parts])
        out = np.empty((len(parts), *shape), dtype=np.result_type(*parts))
        for i, part in enumerate(parts):
            out[i] = part
        return out

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return np.where(condition, a, b)

    def reduces(self, name: str, keywords: dict[str, Any]) -> bool:
        return True

    def reduce(self, name: str, data: Any, axis: int, keywords: dict[str, Any]) -> Any:
        """A NumPy function along an axis (not negative) of the user's array."""
        if name in ("argmax", "argmin") and data.dtype.kind == "f" and not keywords:
            return _extreme(name, np.moveaxis(data, axis, 0))
        if name in ("sort", "argsort", "partition"):
            # NumPy sorts fastest along contiguous memory
            moved = np.ascontiguousarray(np.moveaxis(data, axis, -1))
            return np.moveaxis(getattr(np, name)(moved, axis=-1, **keywords), -1, axis)
        return getattr(np, name)(data, axis=axis, **keywords)

    def lookup(self, table: Any, index: Any) -> Any:
        """A constant table at an index that differs between runs."""
        return table[index]

    def gather(self, table: Any, index: Any) -> Any:
        """table[index] in each run: the runs are on the last axis of both."""
        return np.take_along_axis(table, index[None], axis=0)[0]

    # Draws

    def laplace(self, shape: tuple[int, ...]) -> Any:
        """Standard Laplace: an exponential by the ziggurat method with a fair sign.

        Three times as fast as the logarithm of a uniform, and exact in the tails.
        """
        out = self.generator.standard_exponential(shape)
        signs = np.frombuffer(self.generator.bytes(out.size), dtype=np.int8).reshape(shape)
        return np.copysign(out, signs, out=out)

    def draw(self, method: str, shape: tuple[int, ...], params: tuple[Any, ...]) -> Any:
        if method == "laplace":
            location, scale = params
            out = self.laplace(shape)
            if np.ndim(scale) or scale != 1:
                out *= scale
            if np.ndim(location) or location != 0:
                out += location
            return out
        return getattr(self.generator, method)(*params, size=shape)

    def integers(self, bounds: Any, shape: tuple[int, ...], dtype: Any, endpoint: bool) -> Any:
        return self.generator.integers(*bounds, size=shape, dtype=dtype, endpoint=endpoint)

    def choice(self, count: int, weights: Any, shape: tuple[int, ...]) -> Any:
        return self.generator.choice(count, size=shape, p=weights)

    def noise(self, noise: Any, shape: tuple[int, ...]) -> Any:
        return np.asarray(noise.sample(self.generator, shape))

    def permutations(self, length: int, rows: int) -> Any:
        table = np.tile(np.arange(length), (rows, 1))
        return np.ascontiguousarray(self.generator.permuted(table, axis=1).T)


def _extreme(name: str, data: np.ndarray) -> np.ndarray:
    """argmax or argmin over the first axis: one pass a row, where NumPy walks down columns."""
    better = np.greater if name == "argmax" else np.less
    best = data[0].copy()
    where = np.zeros(best.shape, dtype=np.int64)
    if np.isnan(np.sum(data)):
        return getattr(np, name)(data, axis=0)
    for i in range(1, len(data)):
        mask = better(data[i], best)
        np.copyto(best, data[i], where=mask)
        np.copyto(where, i, where=mask)
    return where
