"""Data of the benchmark's pictures: ε against n, bounds against runs, p-value curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpest.ask.declaration import Mechanism
from dpest.ask.questions import resolve

if TYPE_CHECKING:
    from literature_benchmark.cells import Settings

LENGTHS = (1, 2, 3, 4, 6, 8, 10)
RUNS = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLAIM = 0.7

# family -> rows, for "ε against n": which "∞" grows, and which is immediate.
GROWTH = {
    "Sparse vector": ("SVT1", "SVT3", "SVT4", "SVT5", "SVT6"),
    "Noisy maximum": ("ReportNoisyMax1", "ReportNoisyMax3", "ReportNoisyMax4"),
    "Running sums": ("PrefixSum", "SmartSum"),
}
BY_RUNS = ("LaplaceMechanism", "SVT4", "SVT6", "ReportNoisyMax3", "PrefixSum", "LaplaceParallel")
P_VALUES = ("StatDP_NoisyMax1a", "StatDP_NoisyMax1b", "StatDP_HistogramEps", "StatDP_iSVT3")


def wanted() -> list[tuple[str, str]]:
    """(row, picture) for every curve."""
    growth = [(row, "growth") for rows in GROWTH.values() for row in rows]
    return growth + [(r, "by_runs") for r in BY_RUNS] + [(r, "p_values") for r in P_VALUES]


def points(picture: str, mechanism: Mechanism, settings: Settings) -> list[list[Any]]:
    if picture == "growth":
        return [_at_length(mechanism, n, settings) for n in LENGTHS]
    if picture == "by_runs":
        return [_at_runs(mechanism, runs, settings) for runs in RUNS]
    return _p_values(mechanism, settings)


def _shown(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _at_length(mechanism: Mechanism, n: int, settings: Settings) -> list[Any]:
    """[n, lower, upper]"""
    from dpest.campaign.campaign import Campaign
    from dpest.campaign.settings import Settings as AuditSettings

    given = AuditSettings(seed=settings.seed, engines=("proof", "exact"))
    verdict = Campaign(resolve(mechanism, length=n), given).run()
    low = verdict.lower.value if verdict.lower is not None else 0.0
    high = verdict.upper.value if verdict.upper is not None else math.inf
    return [n, _shown(low), _shown(high)]


def _at_runs(mechanism: Mechanism, runs: int, settings: Settings) -> list[Any]:
    """[runs, sequential, sniper]"""
    from dpest.campaign.attacking import attack
    from dpest.campaign.findings import Findings
    from dpest.campaign.settings import Settings as AuditSettings
    from literature_benchmark.cells import ALPHA

    found: list[Any] = [runs]
    for method in ("sequential", "sniper"):
        given = AuditSettings(alpha=ALPHA, budget=runs, seed=settings.seed)
        options = {"stop_when_refuted": False} if method == "sequential" else {}
        found.append(attack(Findings(resolve(mechanism), given), method, **options).value)
    return found


def _p_values(mechanism: Mechanism, settings: Settings) -> list[list[Any]]:
    """[test ε, exact p-value]"""
    from dpest.attacks.statdp.curve import p_value_curve
    from dpest.attacks.statdp.inputs import generate_cases

    declared = mechanism.with_params({"eps": CLAIM})
    question = resolve(declared)
    cases = generate_cases(
        declared,
        adjacency=question.adjacency,
        domain=question.domain,
        length=question.length,
    )
    grid = [CLAIM * (0.1 + 0.15 * i) for i in range(20)]
    curve = p_value_curve(declared, cases, grid, claim=CLAIM, seed=settings.seed)
    return [[row["epsilon"], row["exact"]] for row in curve.rows()]
