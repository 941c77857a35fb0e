"""Hooks on torch: a mode that sees every call of a torch function while it is on.

Tensors that hold noise are remembered by their identity; sums, products and views of them are
followed as `noisy` follows numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpest.attacks.recorded.tape import Tape, Use, place

_SOURCES = {
    "normal": "normal",
    "normal_": "normal",
    "randn": "normal",
    "randn_like": "normal",
    "rand": "uniform",
    "rand_like": "uniform",
    "uniform_": "uniform",
    "exponential_": "exponential",
}
_ADD = {"add", "add_", "__add__", "__radd__", "__iadd__"}
_SUBTRACT = {"sub", "sub_", "__sub__", "__isub__", "subtract"}
_REVERSED = {"rsub", "__rsub__"}
_MULTIPLY = {"mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply"}
_DIVIDE = {"div", "div_", "__truediv__", "__itruediv__", "true_divide"}
_VIEWS = {"view", "reshape", "view_as", "to", "clone", "detach", "contiguous", "float", "double"}


@contextmanager
def torch_hooks(tape: Tape) -> Iterator[list[str]]:
    """Hooks on torch, if the audited code has imported it."""
    if "torch" not in sys.modules:
        yield []
        return
    import torch
    from torch.overrides import TorchFunctionMode

    noise = TensorNoise(tape, torch)

    class TorchRecording(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            return noise.called(func, args, kwargs or {})

    with TorchRecording():
        yield []


class TensorNoise:
    """Which tensors hold noise: draws make them, arithmetic hands it on, and a sum puts it to use.

    `torch` is the module, which is imported only where the audited code has imported it.
    """

    def __init__(self, tape: Tape, torch: Any) -> None:
        self.tape = tape
        self.torch = torch
        # id -> (the tensor, kept alive, its atoms, its factor)
        self._noise: dict[int, tuple[Any, Any, Any]] = {}

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A call of a torch function, with what the tape has in the place of noise."""
        name = getattr(func, "__name__", "")
        if self.tape.muted or self.tape.ended:
            return func(*args, **kwargs)
        if name in _SOURCES:
            return self._source(name, func, args, kwargs)
        known = [i for i, a in enumerate(args[:2]) if id(a) in self._noise]
        if not known:
            return func(*args, **kwargs)
        return self._followed(name, func, args, kwargs, known)

    def _source(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        law = _SOURCES[name]
        result = func(*args, **kwargs)
        mean, scale = _parameters(name, args, kwargs, self.torch)
        numbers = (result.detach() - mean).cpu().numpy()
        words = f"torch {law}(scale={float(np.ravel(scale)[0]):.6g})"
        draw, frozen = self.tape.draw(law, scale, words, numbers)
        with self.torch.no_grad():
            frozen_tensor = self.torch.as_tensor(frozen, dtype=result.dtype, device=result.device)
            if np.any(np.asarray(mean)):
                atoms = draw.first + np.arange(draw.size).reshape(numbers.shape)
                value = np.broadcast_to(np.asarray(mean, dtype=float), numbers.shape)
                noisy = (frozen_tensor + mean).cpu().numpy()
                terms = ((atoms, np.ones(numbers.shape)),)
                noisy = self.tape.use(Use("sum", value, noisy, place(), terms))
                return _written(result, noisy, self.torch)
            result = _written(result, frozen, self.torch)
        atoms = draw.first + np.arange(draw.size).reshape(numbers.shape)
        self._noise[id(result)] = (result, atoms, np.ones(numbers.shape))
        return result

    def _followed(self, name: str, func: Any, args: Any, kwargs: Any, known: list[int]) -> Any:
        held = [self._noise[id(args[i])] for i in known]
        others = [a for i, a in enumerate(args[:2]) if i not in known]
        alpha = float(kwargs.get("alpha", 1))
        before = [_numbers(a, self.torch) for a in others]  # a sum in place changes them
        result = func(*args, **kwargs)
        if not isinstance(result, self.torch.Tensor):
            return result
        _, atoms, factor = held[0]
        if name in _ADD | _SUBTRACT | _REVERSED and len(known) == 1 and others:
            first = known[0] == 0
            own, other = 1.0, 1.0
            if name in _ADD:
                own, other = (1.0, alpha) if first else (alpha, 1.0)
            elif name in _SUBTRACT:
                own, other = (1.0, -alpha) if first else (-alpha, 1.0)
            else:
                own, other = (-1.0, 1.0) if first else (1.0, -1.0)
            return self._met(result, before[0] * other, atoms, factor * own)
        if name in _MULTIPLY | _DIVIDE and len(known) == 1 and others:
            by = before[0] if name in _MULTIPLY else 1 / before[0]
            if name in _MULTIPLY or known[0] == 0:
                scaled = np.broadcast_to(factor * by, tuple(result.shape))
                spread = np.broadcast_to(atoms, tuple(result.shape))
                self._noise[id(result)] = (result, spread, scaled)
        elif name == "neg":
            self._noise[id(result)] = (result, atoms, -factor)
        elif name in _VIEWS and result.numel() == atoms.size:
            shape = tuple(result.shape)
            self._noise[id(result)] = (result, atoms.reshape(shape), factor.reshape(shape))
        return result

    def _met(self, result: Any, value: Any, atoms: Any, factor: Any) -> Any:
        shape = tuple(result.shape)
        terms = ((np.broadcast_to(atoms, shape), np.broadcast_to(factor, shape)),)
        value = np.broadcast_to(np.asarray(value, dtype=float), shape).copy()
        noisy = self.tape.use(
            Use("sum", value, result.detach().cpu().numpy().copy(), place(), terms)
        )
        with self.torch.no_grad():
            return _written(result, noisy, self.torch)


def _numbers(value: Any, torch: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().double().numpy().copy()
    return np.asarray(value, dtype=float)


def _parameters(name: str, args: Any, kwargs: Any, torch: Any) -> tuple[Any, Any]:
    """Mean and scale of a draw, as numbers or arrays."""
    mean: Any = 0.0
    scale: Any = 1.0
    if name in ("normal", "normal_"):
        rest = args if name == "normal" else args[1:]
        mean = kwargs.get("mean", rest[0] if rest else 0.0)
        scale = kwargs.get("std", rest[1] if len(rest) > 1 else 1.0)
    elif name == "exponential_":
        scale = 1 / float(kwargs.get("lambd", args[1] if len(args) > 1 else 1.0))
    elif name == "uniform_":
        low = float(kwargs.get("from", args[1] if len(args) > 1 else 0.0))
        high = float(kwargs.get("to", args[2] if len(args) > 2 else 1.0))
        mean, scale = low, high - low
    return (
        mean.detach() if isinstance(mean, torch.Tensor) else mean,
        _numbers(scale, torch),
    )


def _written(result: Any, numbers: Any, torch: Any) -> Any:
    """The tensor itself with these numbers in it: in-place functions return what they changed."""
    result.data.copy_(torch.as_tensor(np.ascontiguousarray(numbers), dtype=result.dtype))
    return result
