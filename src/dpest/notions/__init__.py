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
