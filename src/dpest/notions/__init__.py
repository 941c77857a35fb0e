"""Notions of privacy: what is measured, and how one measure turns into another.

Names are loaded on first use, so that a claim can be written beside code without loading SciPy.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "claims": (
        "Claim",
        "PureDP",
        "ApproxDP",
        "RenyiDP",
        "ZCDP",
        "GaussianDP",
        "TradeoffDP",
        "PrivacyProfile",
        "RenyiCurve",
        "parse_claim",
    ),
    "pairs": ("FinitePair",),
    "densities": ("Density", "DensityPair"),
    "divergences": (
        "pair",
        "hockey_stick",
        "renyi_divergence",
        "kl_divergence",
        "max_divergence",
        "total_variation",
        "f_divergence",
        "Generator",
        "k_cut",
    ),
    "tradeoff": (
        "Tradeoff",
        "PiecewiseLinear",
        "GaussianTradeoff",
        "LaplaceTradeoff",
        "FromProfile",
        "approx_tradeoff",
        "as_tradeoff",
    ),
    "regions": ("PrivacyRegion", "RenyiRegion", "plot_regions"),
    "rules": ("Conversion", "convert"),
    "implication": ("implies", "least", "satisfies"),
    "composition": (
        "compose",
        "advanced_composition",
        "optimal_composition",
        "compose_tradeoffs",
        "parallel",
        "post_process",
        "group",
    ),
    "subsampling": (
        "subsample",
        "subsampled_gaussian",
        "subsampled_gaussian_renyi",
        "SubsampledTradeoff",
    ),
    "accounting": ("LossDistribution",),
    "relations": ("lifting", "blackwell"),
    "divergence_liftings": ("divergence_lifting",),
}
_WHERE = {name: module for module, names in _HOMES.items() for name in names}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'dpest.notions' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dpest.notions.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
