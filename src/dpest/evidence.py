"""Evidence: one bound on one measure of privacy, with its standing and its witness.

Every engine returns just this; `verdict` puts several together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dpest.notebooks import as_html

Side = Literal["lower", "upper"]


@dataclass(frozen=True)
class Measure:
    """What a bound is a bound on.

    `epsilon`: the least ε such that (ε, `delta`)-DP holds (`delta` = 0: pure DP).
    `renyi`: the Rényi divergence of order `alpha`.
    `zcdp`: the least ρ. `gdp`: the least μ of Gaussian DP.
    """

    kind: Literal["epsilon", "renyi", "zcdp", "gdp"] = "epsilon"
    delta: float = 0.0
    alpha: float | None = None

    def __str__(self) -> str:
        if self.kind == "renyi":
            return f"Rényi divergence of order {self.alpha:g}"
        if self.kind == "zcdp":
            return "zCDP ρ"
        if self.kind == "gdp":
            return "Gaussian DP μ"
        return "ε" if self.delta == 0 else f"ε at δ = {self.delta:g}"


EPSILON = Measure()

# Two bounds "meet" when they are this close, relative to the upper one.
MEET = 0.01
# A computed value must exceed a claim by more than its own error and this share of it.
ROUNDING = 1e-9

# What rounding of a program's own constants can do to a δ: five honest claims were off by 1e-16 to
# 1e-11 of themselves (a bisection, a logarithm); doubles themselves by 2^-53.
EDGE = 1e-9
_DOUBLES = 2.0**-50


def up_to_rounding(delta: float) -> float:
    """The largest δ that does not refute a claim of `delta`: beyond it, it is not rounding."""
    return delta * (1 + EDGE) + _DOUBLES


def at_the_edge(found: float, claimed: float) -> str:
    """The wording where δ lies between the claim and what rounding can make of it."""
    return (
        f"at the edge: δ = {found!r} where {claimed!r} is claimed; "
        "the claim holds up to rounding of the program's own constants"
    )


@dataclass(frozen=True)
class Standing:
    """How far a number can be trusted.

    `proved`: for all inputs, by a certificate. `exact`: computed, with an error estimate near
    rounding. `confidence`: wrong with probability at most `alpha` over the randomness of the run.
    `estimate`: no guarantee; never used as a bound.
    """

    name: Literal["proved", "exact", "confidence", "estimate"]
    alpha: float | None = None

    def __post_init__(self) -> None:
        if (self.name == "confidence") != (self.alpha is not None):
            raise ValueError(f"alpha goes with the standing 'confidence' alone: {self.name=}")

    @property
    def is_bound(self) -> bool:
        return self.name != "estimate"

    def __str__(self) -> str:
        if self.alpha is not None:
            return f"confidence {1 - self.alpha:.12g}"
        return self.name


PROVED = Standing("proved")
EXACT = Standing("exact")
ESTIMATE = Standing("estimate")


def confidence(alpha: float) -> Standing:
    return Standing("confidence", alpha)


@dataclass(frozen=True)
class Witness:
    """What shows a bound: the pair of inputs, the event, and its probability under each.

    `p` belongs to `x`, `q` to `x2`; they are densities where `densities` is true. A proof has a
    description of its coupling instead of a pair, or the ray along which its bound is approached.
    """

    x: Any = None
    x2: Any = None
    event: str = ""
    p: float | None = None
    q: float | None = None
    densities: bool = False
    replay: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)


# A demonstration refutes the claim at this level.
LEVEL = 1e-3


@dataclass(frozen=True)
class Demonstration:
    """Run the mechanism `runs` times on each input and count the event: the claim is refuted.

    `p` and `q` are frequencies among runs that did not choose the event: estimates. The script
    needs nothing but the function and NumPy, and prints both frequencies and the exact test's
    p-value.
    """

    x: Any
    x2: Any
    event: str
    p: float
    q: float
    epsilon: float
    delta: float
    runs: int
    script: str

    @property
    def words(self) -> str:
        return (
            f"in {self.runs:,} runs on each input, {self.event}: about {self.p:.3g} of the runs on "
            f"the first, {self.q:.3g} on the second"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "x": self.x,
            "x2": self.x2,
            "event": self.event,
            "p": self.p,
            "q": self.q,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "runs": self.runs,
            "level": LEVEL,
            "standing": "estimate",
            "script": self.script,
        }


@dataclass(frozen=True)
class Evidence:
    """One bound, from one engine.

    `value` may be infinite. `method` names the engine and its variant ("exact: paths",
    "sequential", "proof: potentials"). `runs` counts mechanism runs, of both inputs together.
    `arithmetic` is "real" for the mathematics, "floating point" for the machine's doubles.
    """

    side: Side
    value: float
    standing: Standing
    method: str
    witness: Witness = field(default_factory=Witness)
    runs: int = 0
    seconds: float = 0.0
    seed: int | None = None
    measure: Measure = EPSILON
    arithmetic: Literal["real", "floating point"] = "real"
    error: float = 0.0
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: What it rests on besides the code and the runs; such a bound is shown but never believed.
    assumption: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError("evidence can't be NaN")

    def _repr_html_(self) -> str:
        sign = "≥" if self.side == "lower" else "≤"
        shown = f"{self.measure} {sign} {self.value:.6g} ({self.standing}, {self.method})"
        return as_html("\n".join([shown, self.witness.event, *self.notes]))

    def with_(self, **changes: Any) -> Evidence:
        return replace(self, **changes)
