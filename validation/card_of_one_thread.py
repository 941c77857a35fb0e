"""A GPU's kernel on a core: the same text, run by one thread at a time.

The text that becomes PTX is given what a card would give it (the numbers of thread and block, the
upper half of a product, its approximations of logarithms and the like) and is compiled for this
machine instead. Draw k of run r depends on the key, r and k alone, so the counts are those of a
card, but for the last bits of its approximations in single precision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.running.native import jit
from dpest.running.native.device import Trapped
from dpest.running.native.ptx import GpuKernel

_GIVEN = """
@block = internal global i32 0
@blocks = internal global i32 1
define internal i32 @card.read.ptx.sreg.tid.x() { ret i32 0 }
define internal i32 @card.read.ptx.sreg.ntid.x() { ret i32 1 }
define internal i32 @card.read.ptx.sreg.ctaid.x() {
  %value = load i32, ptr @block
  ret i32 %value
}
define internal i32 @card.read.ptx.sreg.nctaid.x() {
  %value = load i32, ptr @blocks
  ret i32 %value
}
define void @place(i32 %number, i32 %of) {
  store i32 %number, ptr @block
  store i32 %of, ptr @blocks
  ret void
}
define internal void @card.barrier0() { ret void }
define internal i64 @card.mulhi.ull(i64 %a, i64 %b) {
  %wide_a = zext i64 %a to i128
  %wide_b = zext i64 %b to i128
  %product = mul i128 %wide_a, %wide_b
  %upper = lshr i128 %product, 64
  %half = trunc i128 %upper to i64
  ret i64 %half
}
"""
_APPROXIMATIONS = {"lg2": "log2", "ex2": "exp2", "sqrt": "sqrt", "cos": "cos"}


def text_for_a_core(kernel: GpuKernel) -> str:
    """The text of a kernel, with the card's own functions written out."""
    lines = [
        line
        for line in kernel.text().splitlines()
        if not (line.startswith("declare") and "@llvm.nvvm." in line)
    ]
    text = "\n".join(lines).replace("define ptx_kernel void", "define void")
    given = [_GIVEN]
    for name, exact in _APPROXIMATIONS.items():
        declared = f"declare float @llvm.{exact}.f32(float)"
        given += [
            "" if declared in text else declared,
            f"define internal float @card.{name}.approx.f(float %x) {{",
            f"  %value = call float @llvm.{exact}.f32(float %x)",
            "  ret float %value\n}",
        ]
    return text.replace("@llvm.nvvm.", "@card.") + "\n".join(given)


class OneThreadCounter:
    """What `GpuCounter` counts, by `blocks` thread blocks of one thread, one after the other."""

    def __init__(
        self,
        kernel: GpuKernel,
        data: NDArray[np.float64],
        table: NDArray[np.float64] | None = None,
        blocks: int = 1,
    ) -> None:
        self._library = jit.LinkedObjects([jit.compiled(text_for_a_core(kernel))])
        words = (ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 5)
        self._kernel = ctypes.CFUNCTYPE(None, *words)(self._library.address("kernel"))
        place = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)
        self._place = place(self._library.address("place"))
        self._data, self._table = data, np.zeros(1) if table is None else table
        self._counters, self._blocks = kernel.counters, blocks

    def counts(
        self,
        keys: NDArray[np.uint64],
        first: int,
        runs: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[NDArray[np.int64], int]:
        total, status = np.zeros(self._counters, dtype=np.int64), np.zeros(1, dtype=np.int64)
        given: list[Any] = [keys, self._data, self._table, total, status]
        for block in range(self._blocks):
            self._place(block, self._blocks)
            self._kernel(first, runs, *(array.ctypes.data for array in given))
        if status[0]:
            raise Trapped("an integer left its 64 bits, or a number was not finite")
        return total, runs
