"""Discrete Laplace noise: the Laplace mechanism on the integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpest.noise.family import ShiftCost
from dpest.noise.parameters import check_scale, inverse, is_number
from dpest.noise.tails import Tail
from dpest.noise.two_sided_geometric import TwoSidedDecay


@dataclass(frozen=True)
class DiscreteLaplace(TwoSidedDecay):
    """Mass proportional to exp(-|k|/scale) on the integers."""

    scale: Any
    family: ClassVar[str] = "discrete_laplace"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    @property
    def _rate(self) -> float:
        return 1 / float(self.scale)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        if self.constant is not None:
            return 0 if size is None else np.zeros(size, dtype=np.int64)
        return super().sample(generator, size)

    def tail(self, side: int) -> Tail | None:
        return Tail(linear=-inverse(self.scale)) if is_number(self.scale) else None

    @property
    def constant(self) -> Any:
        return 0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("absolute", inverse(self.scale), integral=True, attained=True)
