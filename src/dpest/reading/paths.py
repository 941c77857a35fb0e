"""What the trace reading gives: the paths of a mechanism, linear in its noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.running.skeleton import Skeleton, unflatten


@dataclass(frozen=True)
class Choice:
    """A draw with finitely many outcomes, forked by outcome: this path took `outcome`.

    `site` tells draws apart; `probability` is exact where the parameters were. A loop that begins
    anew is a choice as well, whose `probability` is how much more probable the path is than its
    first turn: more than 1. `rounded`: the probability was computed in floating point.
    """

    site: str
    noise: Noise
    outcome: Any
    probability: Any
    rounded: bool = False


@dataclass(frozen=True)
class Path:
    """A region of the noise, and what is released on it.

    The region is the conjunction of `conditions` (on the noises and, in a symbolic trace, the
    inputs), met with the outcomes of `choices`. `leaves` are the output's leaves: constants, or
    Forms (kind "real") over noise, indicator and input symbols. Regions of different paths are
    disjoint.
    """

    conditions: tuple[Condition, ...]
    skeleton: Skeleton
    leaves: tuple[Any, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def output(self) -> Any:
        return unflatten(self.skeleton, self.leaves)

    @property
    def forms(self) -> tuple[Form, ...]:
        """The real-valued leaves, in order."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, Form))


@dataclass(frozen=True)
class Trace:
    """All paths of one mechanism on one (concrete or symbolic) input.

    `noises` gives the distribution of each noise symbol: independent of each other and of the
    choices. `indicators` defines each indicator symbol (0 or 1) by a formula, see
    `tracing.symbolic`. `leftover` bounds the probability of what was not explored (loops without a
    bound); 0 means that the paths are complete.
    """

    paths: tuple[Path, ...]
    noises: Mapping[Symbol, Noise]
    indicators: Mapping[Symbol, Any] = field(default_factory=dict)
    leftover: Fraction | float = Fraction(0)
    inputs: Any = None
    notes: tuple[str, ...] = ()
