"""The arrays of the batch reading, on a torch device: draws, arithmetic and splitting stay there.

Double precision throughout. Imported only when a torch device is asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpest.errors import MissingExtraError
from dpest.running.seeds import block_seed, generator_of

try:
    import torch
except ImportError as error:
    raise MissingExtraError("gpu", "a torch device") from error

_DTYPES: dict[Any, np.dtype[Any]] = {
    torch.bool: np.dtype(np.bool_),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.uint8: np.dtype(np.uint8),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}
_FROM_NUMPY = {str(value): key for key, value in _DTYPES.items()}


def _pair(function: Callable[..., Any]) -> Callable[..., Any]:
    """A torch function of two tensors that also takes numbers."""

    def call(a: Any, b: Any) -> Any:
        like = a if isinstance(a, torch.Tensor) else b
        a, b = (
            v if isinstance(v, torch.Tensor) else torch.as_tensor(v, device=like.device)
            for v in (a, b)
        )
        kind = torch.promote_types(a.dtype, b.dtype)
        return function(a.to(kind), b.to(kind))

    return call


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": torch.abs,
    "fabs": torch.abs,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
    "logical_and": _pair(torch.logical_and),
    "logical_or": _pair(torch.logical_or),
    "logical_xor": _pair(torch.logical_xor),
    "logical_not": torch.logical_not,
    "maximum": _pair(torch.maximum),
    "minimum": _pair(torch.minimum),
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "rint": torch.round,
    "sign": torch.sign,
    "isnan": torch.isnan,
    "isfinite": torch.isfinite,
    "isinf": torch.isinf,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "arctan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
}


class TorchArrays:
    """`NumpyArrays` on a device such as "cuda" or "cuda:1"."""

    name = "torch"
    block = 1 << 27  # the launches of a block's kernels are hidden behind its work
    large_block = 1 << 27
    kept_limit = 12 << 30

    def __init__(self, seed: np.random.SeedSequence, device: str) -> None:
        name = device.removeprefix("torch:")
        if name.startswith("cuda") and not torch.cuda.is_available():
            raise MissingExtraError("gpu", f"device {name!r}: torch sees no GPU here; it")
        self.device = torch.device(name)
        self.random = torch.Generator(device=self.device)
        self.random.manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        self._seed = seed
        self._numpy: np.random.Generator | None = None
        self.single: Any = None  # the generator of runs that are made one by one

    @contextmanager
    def working(self) -> Iterator[None]:
        """Whole numbers become doubles when they meet a float, as in NumPy."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with torch.no_grad():
                yield
        finally:
            torch.set_default_dtype(before)

    def out_of_memory(self, error: Exception) -> bool:
        if not isinstance(error, torch.OutOfMemoryError):
            return False
        torch.cuda.empty_cache()
        return True

    def scalar_generator(self) -> np.random.Generator:
        if self._numpy is None:
            self._numpy = generator_of(block_seed(self._seed, 1))
        return self._numpy

    # Rows

    def count(self, mask: Any) -> int:
        return int(mask.sum())

    def equal(self, data: Any, value: Any) -> Any:
        return data == value

    def positions(self, mask: Any, outcome: bool, count: int) -> Any:
        return torch.nonzero(mask if outcome else ~mask).view(-1)

    def index(self, positions: np.ndarray) -> Any:
        return torch.as_tensor(positions, device=self.device)

    def take(self, data: Any, index: Any) -> Any:
        return data.index_select(data.dim() - 1, index)

    def values(self, data: Any, at_most: int) -> list[tuple[Any, int]] | None:
        if len(torch.unique(data[:256])) > at_most:
            return None
        values, counts = self.unique(data)
        if len(values) > at_most:
            return None
        return list(zip(values.tolist(), counts.tolist(), strict=True))

    def unique(self, data: Any) -> tuple[Any, Any]:
        """Distinct values and their counts; without a sort where they are small integers."""
        if data.dtype.is_floating_point:
            return torch.unique(data, return_counts=True)
        low, high = int(data.min()), int(data.max())
        if high - low >= 1 << 22:
            return torch.unique(data, return_counts=True)
        counts = torch.bincount(data.to(torch.int64) - low)
        found = torch.nonzero(counts).view(-1)
        values = found + low
        return (values.bool() if data.dtype == torch.bool else values), counts[found]

    def to_numpy(self, data: Any) -> np.ndarray:
        return data.cpu().numpy()

    def dtype(self, data: Any) -> np.dtype[Any]:
        return _DTYPES[data.dtype]

    def nbytes(self, data: Any) -> int:
        return data.nbytes

    def has_nan(self, data: Any) -> int:
        return int(torch.isnan(data).sum()) if data.dtype.is_floating_point else 0

    # Operations

    def constant(self, value: np.ndarray) -> Any:
        return torch.tensor(value, device=self.device)[..., None]

    def ufunc(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        return _UFUNCS.get(ufunc.__name__)

    def astype(self, data: Any, dtype: np.dtype[Any]) -> Any:
        return data.to(_FROM_NUMPY[str(dtype)])

    def stack(self, parts: Sequence[Any], rows: int) -> Any:
        tensors = [
            p if isinstance(p, torch.Tensor) else torch.as_tensor(p, device=self.device)
            for p in parts
        ]
        shape = torch.broadcast_shapes((rows,), *[t.shape for t in tensors])
        kind = tensors[0].dtype
        for tensor in tensors:
            kind = torch.promote_types(kind, tensor.dtype)
        return torch.stack([t.to(kind).expand(shape) for t in tensors])

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        a, b = (
            v if isinstance(v, torch.Tensor) else torch.as_tensor(v, device=self.device)
            for v in (a, b)
        )
        kind = torch.promote_types(a.dtype, b.dtype)
        return torch.where(condition, a.to(kind), b.to(kind))

    def reduces(self, name: str, keywords: dict[str, Any]) -> bool:
        return name in _REDUCE and not (keywords.keys() - {"ddof"})

    def reduce(self, name: str, data: Any, axis: int, keywords: dict[str, Any]) -> Any:
        return _REDUCE[name](data, axis, **keywords)

    def lookup(self, table: Any, index: Any) -> Any:
        return table[index]

    def gather(self, table: Any, index: Any) -> Any:
        return torch.gather(table, 0, index[None])[0]

    # Draws

    def draw(self, method: str, shape: tuple[int, ...], params: tuple[Any, ...]) -> Any:
        params = tuple(
            torch.as_tensor(p, device=self.device) if isinstance(p, np.ndarray) else p
            for p in params
        )
        known = getattr(self, f"_{method}", None)
        if known is not None:
            return known(shape, *params)
        numbers = [p.cpu().numpy() if isinstance(p, torch.Tensor) else p for p in params]
        drawn = getattr(self.scalar_generator(), method)(*numbers, size=shape)
        return torch.as_tensor(drawn, device=self.device)

    def _empty(self, shape: tuple[int, ...], dtype: Any = torch.float64) -> Any:
        return torch.empty(shape, dtype=dtype, device=self.device)

    def _random(self, shape: tuple[int, ...]) -> Any:
        return torch.rand(shape, dtype=torch.float64, device=self.device, generator=self.random)

    def _standard_exponential(self, shape: tuple[int, ...]) -> Any:
        return self._empty(shape).exponential_(generator=self.random)

    def _exponential(self, shape: tuple[int, ...], scale: Any) -> Any:
        return self._standard_exponential(shape).mul_(scale)

    def _laplace(self, shape: tuple[int, ...], location: Any, scale: Any) -> Any:
        """An exponential with a fair sign: half of the 256 values of a byte are negative."""
        if isinstance(scale, torch.Tensor) or scale <= 0:
            out = self._standard_exponential(shape)
        else:
            out = self._empty(shape).exponential_(1.0 / scale, generator=self.random)
        signs = torch.randint(
            -128, 128, shape, dtype=torch.int8, device=self.device, generator=self.random
        )
        out.copysign_(signs)
        if isinstance(scale, torch.Tensor) or scale <= 0:
            out *= scale
        if isinstance(location, torch.Tensor) or location != 0:
            out += location
        return out

    def _standard_normal(self, shape: tuple[int, ...]) -> Any:
        return torch.randn(shape, dtype=torch.float64, device=self.device, generator=self.random)

    def _normal(self, shape: tuple[int, ...], location: Any, scale: Any) -> Any:
        return self._standard_normal(shape).mul_(scale).add_(location)

    def _uniform(self, shape: tuple[int, ...], low: Any, high: Any) -> Any:
        return self._random(shape).mul_(high - low).add_(low)

    def _gumbel(self, shape: tuple[int, ...], location: Any, scale: Any) -> Any:
        return self._standard_exponential(shape).log_().neg_().mul_(scale).add_(location)

    def _logistic(self, shape: tuple[int, ...], location: Any, scale: Any) -> Any:
        ratio = self._standard_exponential(shape).div_(self._standard_exponential(shape))
        return ratio.log_().mul_(scale).add_(location)

    def _standard_cauchy(self, shape: tuple[int, ...]) -> Any:
        return self._empty(shape).cauchy_(generator=self.random)

    def _geometric(self, shape: tuple[int, ...], p: Any) -> Any:
        rate = -torch.log1p(-torch.as_tensor(p, dtype=torch.float64, device=self.device))
        drawn = torch.ceil(self._standard_exponential(shape) / rate).clamp_(min=1)
        return drawn.to(torch.int64)

    def integers(self, bounds: Any, shape: tuple[int, ...], dtype: Any, endpoint: bool) -> Any:
        low, high = bounds
        if isinstance(low, np.ndarray) or isinstance(high, np.ndarray):
            drawn = self.scalar_generator().integers(low, high, size=shape, endpoint=endpoint)
            return torch.as_tensor(drawn, device=self.device)
        return torch.randint(
            int(low),
            int(high) + int(endpoint),
            shape,
            device=self.device,
            generator=self.random,
        )

    def choice(self, count: int, weights: Any, shape: tuple[int, ...]) -> Any:
        if weights is None:
            return self.integers((0, count), shape, None, False)
        edges = np.cumsum(weights)
        edges /= edges[-1]
        inner = torch.as_tensor(edges[:-1], device=self.device)
        return torch.searchsorted(inner, self._random(shape), right=True)

    def noise(self, noise: Any, shape: tuple[int, ...]) -> Any:
        drawn = np.asarray(noise.sample(self.scalar_generator(), shape))
        return torch.as_tensor(drawn, device=self.device)

    def permutations(self, length: int, rows: int) -> Any:
        return self._random((length, rows)).argsort(dim=0)


class TorchCpuArrays(TorchArrays):
    """The same code on torch's CPU device, in blocks that fit a core's cache."""

    block = 1 << 16
    large_block = 1 << 16
    kept_limit = 1 << 28


def _ordered(name: str) -> Callable[..., Any]:
    def call(data: Any, axis: int) -> Any:
        if name == "sort":
            return torch.sort(data, dim=axis).values
        return torch.argsort(data, dim=axis)

    return call


_REDUCE: dict[str, Callable[..., Any]] = {
    "sum": lambda data, axis: torch.sum(data, dim=axis),
    "prod": lambda data, axis: torch.prod(data, dim=axis),
    "max": lambda data, axis: torch.amax(data, dim=axis),
    "min": lambda data, axis: torch.amin(data, dim=axis),
    "mean": lambda data, axis: torch.mean(data.to(torch.float64), dim=axis),
    "std": lambda data, axis, ddof=0: torch.std(data, dim=axis, correction=ddof),
    "var": lambda data, axis, ddof=0: torch.var(data, dim=axis, correction=ddof),
    "argmax": lambda data, axis: torch.argmax(data, dim=axis),
    "argmin": lambda data, axis: torch.argmin(data, dim=axis),
    "cumsum": lambda data, axis: torch.cumsum(data, dim=axis),
    "cumprod": lambda data, axis: torch.cumprod(data, dim=axis),
    "any": lambda data, axis: torch.any(data, dim=axis),
    "all": lambda data, axis: torch.all(data, dim=axis),
    "count_nonzero": lambda data, axis: torch.count_nonzero(data, dim=axis),
    "diff": lambda data, axis: torch.diff(data, dim=axis),
    "ptp": lambda data, axis: torch.amax(data, dim=axis) - torch.amin(data, dim=axis),
    "sort": _ordered("sort"),
    "argsort": _ordered("argsort"),
}
