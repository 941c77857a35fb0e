"""A counterexample that a person can read and replay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.hypothesis_test import PValues


@dataclass(frozen=True)
class Counterexample:
    """An event that is more likely on `x` than on `x2`, with what fresh samples say about it.

    `c1` of `n1` runs on `x` and `c2` of `n2` runs on `x2` were in the event; a fair coin chose the
    input of every run. `bound` is a lower bound on ε, wrong with probability at most `alpha`.
    `p_values` are those at the claim, None if there was none.
    """

    x: Any
    x2: Any
    arguments: Mapping[str, Any]
    event: Event
    c1: int
    n1: int
    c2: int
    n2: int
    bound: float
    alpha: float
    p_values: PValues | None = None
    pattern: str = ""
    replay: str = ""

    @property
    def estimate(self) -> float:
        """log of the ratio of the two frequencies; an estimate, not a bound."""
        if not self.c1:
            return -math.inf
        return math.inf if not self.c2 else math.log(self.c1 / self.n1 * self.n2 / self.c2)

    @property
    def counts(self) -> str:
        """How often the event happened, and what follows for the claim."""
        text = f"{self.c1} of {self.n1} runs against {self.c2} of {self.n2}"
        if self.p_values is None:
            return text
        p = self.p_values
        return (
            f"{text}; at the claim ε = {p.epsilon:g}: p = {p.exact:.3g} (exact test), "
            f"StatDP's p⊤ = {p.top:.3g}, p⊥ = {p.bottom:.3g}"
        )

    def __str__(self) -> str:
        named = f" ({self.pattern})" if self.pattern else ""
        lines = [
            f"D1 = {self.x}{named}",
            f"D2 = {self.x2}",
        ]
        if self.arguments:
            lines.append(
                "arguments: "
                + ", ".join(f"{key} = {value}" for key, value in self.arguments.items())
            )
        lines += [
            f"event: {self.event.words}",
            f"it happened in {self.c1} of {self.n1} runs on D1 and {self.c2} of {self.n2} on D2",
            f"so ε ≥ {self.bound:.4f} at confidence {1 - self.alpha:g}",
        ]
        if self.p_values is not None:
            p = self.p_values
            lines.append(
                f"at the claim ε = {p.epsilon:g}: p = {p.exact:.3g} (exact test); "
                f"StatDP's p⊤ = {p.top:.3g}, p⊥ = {p.bottom:.3g}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values only, for JSON."""
        p = self.p_values
        return {
            "x": self.x,
            "x2": self.x2,
            "pattern": self.pattern,
            "arguments": dict(self.arguments),
            "event": self.event.words,
            "counts": [self.c1, self.c2],
            "runs": [self.n1, self.n2],
            "bound": self.bound,
            "alpha": self.alpha,
            "p_values": None
            if p is None
            else {
                "epsilon": p.epsilon,
                "exact": p.exact,
                "top": p.top,
                "bottom": p.bottom,
            },
            "replay": self.replay,
        }
