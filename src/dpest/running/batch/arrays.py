"""Which array library a device means."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.errors import InputError
from dpest.running.batch.numpy_arrays import NumpyArrays


def block_rows(device: str, size: int) -> int:
    """Runs in one block of `size`: nothing else decides it, so that a seed means the same
    everywhere.

    A function is entered once for every path and block: many runs are made in larger blocks.
    """
    kind = _kind(device)
    block = int(kind.block)
    while block < kind.large_block and size > 2 * block:
        block *= 2
    return block


def arrays_for(device: str, seed: np.random.SeedSequence) -> Any:
    kind = _kind(device)
    return kind(seed) if kind is NumpyArrays else kind(seed, device)


def _kind(device: str) -> Any:
    if device in ("numpy", "cpu"):
        return NumpyArrays
    if device.startswith(("cuda", "torch")):
        from dpest.running.batch.torch_arrays import TorchArrays, TorchCpuArrays

        return TorchCpuArrays if device == "torch:cpu" else TorchArrays
    raise InputError(f"a device is 'numpy', 'cuda' or 'torch:cpu'; got {device!r}")
