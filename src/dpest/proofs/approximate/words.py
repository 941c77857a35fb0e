"""A bound by contributions in words: what the steps are, and how their costs compose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpest.kernel.approximate.accountant import StageLoss

_LINES = {
    "gauss": "Gaussian noise, moved by {size} standard deviations",
    "laplace": "a draw of Laplace noise, moved by {size} scales",
    "pure": "Laplace noise, or a choice: ε = {size} in all",
    "bad": "ε = {size}, but for an event of chance {delta}",
}


def words(ledger: Sequence[tuple[StageLoss, int]]) -> list[str]:
    """The steps of an account, a line each."""
    lines = ["One record more, less or another moves what the steps release by this much at most:"]
    for step, times in ledger:
        size = float(step.value) ** 0.5 if step.kind == "gauss" else float(step.value)
        text = _LINES[step.kind].format(size=f"{size:.6g}", delta=f"{float(step.delta):.6g}")
        if step.q < 1:
            text += f", of a sample that each record is in with chance {float(step.q):.6g}"
        lines.append(f"  {'' if times == 1 else f'{times} times '}{text}")
    if not ledger:
        lines.append("  nothing that depends on the data")
    lines.append(_composed(ledger))
    return lines


def _composed(ledger: Sequence[tuple[StageLoss, int]]) -> str:
    if any(step.q < Fraction(1) for step, _ in ledger):
        return (
            "Samples: the mixture with and without the record dominates each step; the laws of the "
            "privacy loss are rounded up and convolved, removing in all steps and adding in all."
        )
    if all(step.kind == "gauss" for step, _ in ledger):
        return "Gaussian steps compose to one of √Σμ², also where a step looks at earlier ones."
    return "Costs add up, also where a step looks at earlier releases."
