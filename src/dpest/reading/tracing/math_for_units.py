"""The module `math` as a mechanism sees it in a proof for every eps."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from dpest.reading.domains import roots


class MathForUnits:
    """The module `math` as a mechanism sees it in a proof: sqrt and exp also take the unit."""

    def __getattr__(self, name: str) -> Any:
        from dpest.reading.tracing.patches import MATH  # it knows the symbolic values

        return MATH[name] if name in MATH else getattr(math, name)

    sqrt = staticmethod(roots.sqrt)

    @staticmethod
    def exp(value: Any) -> Any:
        if hasattr(value, "exp"):
            return value.exp()
        from dpest.reading.rewrites.softmax import weight_of

        weight = weight_of(value)
        return math.exp(value) if weight is None else weight

    def __deepcopy__(self, memo: Any) -> MathForUnits:
        return self

    def dpest_signature(self) -> str:
        return "math"


MATH = MathForUnits()


def with_units(value: Any) -> Any:
    """`math` replaced by the one that knows the unit; everything else as it is."""
    return MATH if isinstance(value, ModuleType) and value is math else value
