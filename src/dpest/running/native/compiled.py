"""A mechanism on one input, or on all inputs of a shape, as native loops."""

from __future__ import annotations

import copy
import ctypes
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.running.native import jit
from dpest.running.native.kernel import Program
from dpest.running.native.signals import NotCompiled, TooLarge
from dpest.running.native.specialising.specialiser import Specialiser
from dpest.running.native.specialising.state import Outside
from dpest.running.native.straight import core_kernel
from dpest.running.native.streams import BUFFER, FAMILIES, Fills, block_keys
from dpest.running.native.values import RunNumber
from dpest.running.samples import Samples

#: More numbers than this are compiled in as they are.
_MOST_DATA = 64
_LARGEST_DATUM = 1 << 40


class Lifted:
    """An input whose numbers are arguments of the kernel: its shape, and the numbers."""

    def __init__(self, x: Any) -> None:
        self.numbers: list[float | int] = []
        self.kinds: list[str] = []
        self.value = self._lifted(x)

    def _lifted(self, value: Any) -> Any:
        if type(value) is float or type(value) is int:
            return self._number(value)
        if type(value) in (list, tuple):
            return type(value)(self._lifted(v) for v in value)
        if type(value) is dict:
            return {key: self._lifted(v) for key, v in value.items()}
        if type(value) is np.ndarray and value.dtype in (np.float64, np.int64) and value.ndim == 1:
            made = np.empty(value.shape, dtype=object)
            made[:] = [self._number(v).as_numpy() for v in value.tolist()]
            return made
        return value

    def _number(self, value: float | int) -> RunNumber:
        place = len(self.numbers)
        self.numbers.append(value)
        self.kinds.append("f" if isinstance(value, float) else "i")
        if isinstance(value, float):
            return RunNumber("f", f"%datum{place}")
        if abs(value) > _LARGEST_DATUM:
            raise NotCompiled("a large integer in the data")
        return RunNumber("i", f"%datum{place}", -_LARGEST_DATUM, _LARGEST_DATUM)


def _count_numbers(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count_numbers, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_count_numbers, value))
    return value.size if isinstance(value, np.ndarray) else 1


def shape_of(x: Any) -> str:
    """Inputs of one shape differ in their numbers only."""
    if type(x) is float or type(x) is int:
        return type(x).__name__
    if type(x) in (list, tuple):
        return f"{type(x).__name__}({', '.join(map(shape_of, x))})"
    if type(x) is dict:
        return f"dict({', '.join(f'{k!r}: {shape_of(v)}' for k, v in x.items())})"
    if type(x) is np.ndarray and x.dtype in (np.float64, np.int64) and x.ndim == 1:
        return f"array({x.dtype}, {x.shape})"
    return repr(x) if isinstance(x, (str, bool, type(None))) else repr(contents(x))


def contents(x: Any) -> bytes:
    """All of an input, to tell it from others: its text may leave something out."""
    try:
        return pickle.dumps(x, 5)
    except Exception:
        raise NotCompiled("data that can't be told from other data") from None


def program_of(mechanism: Mechanism, x: Any) -> tuple[Program, bool]:
    """The code of a mechanism, and whether it serves every input of the shape of x.

    The numbers of the data are arguments if the code allows that; else they are compiled in. Where
    merging states loses a number that the code needs as such, plain integers stay apart.
    """
    first: NotCompiled | None = None
    for lift, fixed, shared in ((True, False, True), (False, False, True), (False, True, True),
                                (False, False, False)):  # fmt: skip
        if lift and _count_numbers(x) > _MOST_DATA:
            continue
        try:
            program = _program(mechanism, x, lift, fixed, shared)
            if lift and any(program.layout.whole_columns()):
                # With the data as arguments nobody knows how large an integer may be: compiled in
                # they are digits of a code.
                return _plainer(program, mechanism, x)
            return program, lift
        except TooLarge:
            raise
        except NotCompiled as refusal:
            first = first or refusal
        except RecursionError:
            first = first or NotCompiled("too deep a structure")
    assert first is not None
    raise first


def _plainer(program: Program, mechanism: Mechanism, x: Any) -> tuple[Program, bool]:
    try:
        other = _program(mechanism, x, False, False, True)
    except (NotCompiled, RecursionError):
        return program, True
    fewer = len(list(other.layout.whole_columns())) < len(list(program.layout.whole_columns()))
    return (other, False) if fewer else (program, True)


def _program(mechanism: Mechanism, x: Any, lift: bool, fixed: bool, shared: bool) -> Program:
    """`shared`: the input is one object for all runs, which they must not change."""
    lifted = Lifted(x) if lift else None
    given = lifted.value if lifted is not None else copy.deepcopy(x)
    outside = Outside()
    if shared:
        outside.adopt(given)
    specialiser = Specialiser(mechanism, given, outside, fixed)
    return Program(specialiser.explore(), lifted.kinds if lifted is not None else [])


class Compiled:
    """Runs of a compiled mechanism, block by block.

    `data` are the numbers of the input; with the same program other inputs of the shape are served.
    """

    def __init__(self, program: Program, any_input: bool, x: Any) -> None:
        self.program = program
        self.layout = program.layout
        self.any_input = any_input
        self._kernels: dict[str, Any] = {}
        self._libraries: list[jit.LinkedObjects] = []
        self._buffers = np.empty(len(FAMILIES) * BUFFER)
        self.data = self._numbers(x)
        self.fills: Fills | None = None

    def _numbers(self, x: Any) -> NDArray[np.float64]:
        if not self.any_input:
            return np.zeros(1)
        numbers = Lifted(x).numbers
        words = [
            np.float64(v) if isinstance(v, float) else np.int64(v).view(np.float64) for v in numbers
        ]
        return np.array([*words, 0.0])

    def on(self, x: Any) -> Compiled:
        """The same kernels on another input of the shape."""
        other = copy.copy(self)
        other.data = self._numbers(x)
        other._buffers = np.empty_like(self._buffers)
        return other

    def again(self) -> Compiled:
        """The same kernels on the same input, with buffers of its own."""
        other = copy.copy(self)
        other._buffers = np.empty_like(self._buffers)
        return other

    def kernel(self, sink: str) -> Any:
        if sink not in self._kernels:
            self._kernels[sink] = self.linked(core_kernel(self.program, sink).text())
        return self._kernels[sink]

    def linked(self, text: str) -> Any:
        """The function of a text, compiled once for all inputs of the shape."""
        key = jit.digest(text)
        if key not in self._kernels:
            library = jit.LinkedObjects([jit.fill_object(), jit.compiled(text)])
            self._libraries.append(library)
            if self.fills is None:
                self.fills = Fills(library.address)
            words = (ctypes.c_int64, *[ctypes.c_void_p] * 7)
            function = ctypes.CFUNCTYPE(ctypes.c_int64, *words)(library.address("kernel"))
            self._kernels[key] = function
        return self._kernels[key]

    def launch(self, kernel: Any, size: int, seed: np.random.SeedSequence, *places: Any) -> None:
        """One block of runs; `places` are codes, columns, the stride of those, and counts."""
        codes, columns, stride, counts = places
        keys = block_keys(seed)
        done = kernel(
            size,
            keys.ctypes.data,
            self._buffers.ctypes.data,
            codes,
            columns,
            stride,
            counts,
            self.data.ctypes.data,
        )
        if done != size:
            why = "an integer left its 64 bits" if done == -1 else "a loop took too long"
            raise NotCompiled(why)

    def columns(
        self, size: int, seed: np.random.SeedSequence
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The codes and columns of a block of runs."""
        codes = np.zeros(size, dtype=self.layout.code_type)
        columns = np.empty((self.layout.width, size))
        places = (codes.ctypes.data, columns.ctypes.data, size, None)
        self.launch(self.kernel("columns"), size, seed, *places)
        return codes, columns

    def samples(self, size: int, seed: np.random.SeedSequence) -> Samples:
        return self.layout.samples(*self.columns(size, seed))

    def counts(
        self, size: int, seed: np.random.SeedSequence, table: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """How often each code came up in a block, added to `table`."""
        if not self.layout.countable:
            raise NotCompiled("the outputs are not discrete, or too many")
        fresh = np.zeros(self.layout.codes, dtype=np.int64) if table is None else table
        self.launch(self.kernel("counts"), size, seed, None, None, 0, fresh.ctypes.data)
        return fresh


class Cache:
    """The programs of this process, the least used dropped first."""

    def __init__(self, most: int = 64) -> None:
        self._held: OrderedDict[Any, Any] = OrderedDict()
        self._most = most

    def get(self, key: Any) -> Any:
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        return None

    def put(self, key: Any, value: Any) -> None:
        self._held[key] = value
        while len(self._held) > self._most:
            self._held.popitem(last=False)
