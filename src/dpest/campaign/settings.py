"""What an audit is given beside its question: engines, budgets, a seed, and who runs the code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpest.attacks.budget import Budget, Report
from dpest.errors import DomainError, InputError

if TYPE_CHECKING:
    from dpest.execution.runner import Runner

ENGINES = ("proof", "exact", "attack")
# What sampling may spend by default.
RUNS, SECONDS = 400_000, 4.0


@dataclass(frozen=True)
class Settings:
    """`alpha` pays for everything that is tested; `patience` stretches the engines' time limits.

    `floating_point`: whether the machine's doubles are audited; None where the code tells.
    """

    alpha: float = 0.05
    budget: Budget | str | int | None = None
    seed: int = 0
    engines: tuple[str, ...] = ENGINES
    floating_point: bool | None = False
    progress: Report | None = None
    runner: Runner | None = None
    device: str = "numpy"
    patience: float = 1.0
    coq: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise DomainError(f"alpha is a probability between 0 and 1; got alpha={self.alpha!r}")
        unknown = [name for name in self.engines if name not in ENGINES]
        if unknown:
            raise InputError(f"no engine is called {unknown[0]!r}; there are {', '.join(ENGINES)}")
        if not 0 < self.patience < math.inf:
            raise DomainError(f"patience is a positive factor; got patience={self.patience!r}")
        Budget.of(self.budget)  # a text that is no budget is refused here

    @property
    def given_budget(self) -> Budget | None:
        return None if self.budget is None else Budget.of(self.budget)

    @property
    def attack_budget(self) -> Budget:
        return Budget.of(self.budget, Budget(RUNS, SECONDS * self.patience))
