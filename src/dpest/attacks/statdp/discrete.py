"""What of an output is discrete: a code for each, and what each code stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import leaf_kind

Bools = NDArray[np.bool_]
# A code for every output, and what each code stands for.
Keys = tuple[NDArray[np.int64], list[tuple[Any, ...]]]
_FEW = 256


class RealPlace:
    """Stands in a discrete output where there is a real number."""

    def __repr__(self) -> str:
        return "…"


NUMBER = RealPlace()


@dataclass(frozen=True)
class Discrete:
    """What of an output is discrete: its leaves, with NUMBER for reals; `atoms` are constants
    that a real-valued place takes with positive probability."""

    atoms: tuple[float, ...] = ()

    def keys(self, samples: Samples) -> Keys:
        """One code per output, and the discrete output that each code stands for."""
        codes = np.zeros(samples.size, dtype=np.int64)
        outputs: list[tuple[Any, ...]] = []
        for group in samples.groups:
            packed, columns = self._pack(group)
            _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
            codes[group.rows] = inverse.reshape(-1) + len(outputs)
            kinds = group.kinds
            for row in first.tolist():
                outputs.append(
                    tuple(
                        NUMBER
                        if hidden is not None and not hidden[row]
                        else _item(kind, column[row])
                        for kind, column, hidden in zip(kinds, group.columns, columns, strict=True)
                    )
                )
        # The outputs of one group are all different.
        return _merge(codes, outputs) if len(samples.groups) > 1 else (codes, outputs)

    def _pack(self, group: SkeletonGroup) -> tuple[NDArray[np.int64], list[Bools | None]]:
        """One code per row, and per column the rows where a float is an atom (None: no float)."""
        packed = np.zeros(len(group.rows), dtype=np.int64)
        radix = 1
        atoms: list[Bools | None] = []
        for kind, column in zip(group.kinds, group.columns, strict=True):
            if kind == "float":
                code = np.zeros(len(column), dtype=np.int64)
                for i, atom in enumerate(self.atoms):
                    code[column == atom] = i + 1
                atoms.append(code > 0)
                base = len(self.atoms) + 1
            else:
                atoms.append(None)
                if kind == "none":
                    continue
                if kind == "bool":
                    code, base = column.astype(np.int64), 2
                else:
                    code, base = _numbered(column)
            if radix > 2**62 // max(base, 1):
                seen, inverse = np.unique(packed, return_inverse=True)
                packed, radix = inverse.reshape(-1).astype(np.int64), len(seen)
            packed = packed * base + code
            radix *= max(base, 1)
        return packed, atoms


def _numbered(column: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """A number for each value, equal for equal ones, below the number that is returned."""
    if column.dtype == object:  # strings: a dictionary is faster than sorting them
        values = column.tolist()
        known = {value: i for i, value in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(known.__getitem__, values), dtype=np.int64, count=len(values))
        return codes, len(known)
    low, high = int(column.min()), int(column.max())
    if high - low < _FEW:
        return column.astype(np.int64) - low, high - low + 1
    seen, inverse = np.unique(column, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), len(seen)


def _item(kind: str, value: Any) -> Any:
    if kind == "none":
        return None
    return value.item() if isinstance(value, np.generic) else value


def tagged(output: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal only for equal leaves of equal kind (True is not 1)."""
    return tuple((leaf_kind(v) if v is not NUMBER else "real", v) for v in output)


def _merge(codes: NDArray[np.int64], outputs: list[tuple[Any, ...]]) -> Keys:
    """Skeletons that differ in containers only have equal leaves: one code for both."""
    index: dict[tuple[Any, ...], int] = {}
    kept: list[tuple[Any, ...]] = []
    target = np.zeros(max(len(outputs), 1), dtype=np.int64)
    for i, output in enumerate(outputs):
        tag = tagged(output)
        if tag not in index:
            index[tag] = len(kept)
            kept.append(output)
        target[i] = index[tag]
    return target[codes], kept
