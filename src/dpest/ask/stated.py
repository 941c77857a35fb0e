"""A question in words: what a verdict repeats, and what its JSON holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.evidence import EPSILON, Measure


@dataclass(frozen=True)
class StatedQuestion:
    """What was asked: a mechanism, its parameters, the inputs, who is a neighbour, the claim."""

    mechanism: str
    parameters: Mapping[str, Any]
    adjacency: str
    domain: str
    length: int | str | None
    claim: str | None
    measure: Measure = EPSILON
    limit: float | None = None  # the claimed value of the measure
