"""dpest: how private is this code, really?

Two-sided answers for functions that add noise to data: a lower bound with the inputs and the event
that show it, an upper bound with a proof.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.2.0"

# Public name -> where it lives. Loaded on first use, so that `import dpest` stays light.
_HOMES = {
    "audit": "dpest.auditing",
    "exact": "dpest.auditing",
    "distribution": "dpest.auditing",
    "attack": "dpest.auditing",
    "prove": "dpest.auditing",
    "calibrate": "dpest.calibration",
    "assert_private": "dpest.auditing",
    "judge": "dpest.judging.judgment",
    "audit_scores": "dpest.scoring",
    "one_run": "dpest.scoring",
    "Verdict": "dpest.verdict",
    "Evidence": "dpest.evidence",
    "Witness": "dpest.evidence",
    "Measure": "dpest.evidence",
    "Mechanism": "dpest.ask.declaration",
    "mechanism": "dpest.ask.declaration",
    "PureDP": "dpest.notions.claims",
    "ApproxDP": "dpest.notions.claims",
    "RenyiDP": "dpest.notions.claims",
    "ZCDP": "dpest.notions.claims",
    "GaussianDP": "dpest.notions.claims",
    "TradeoffDP": "dpest.notions.claims",
    "PrivacyProfile": "dpest.notions.claims",
    "RenyiCurve": "dpest.notions.claims",
    "l1": "dpest.ask.adjacency",
    "linf": "dpest.ask.adjacency",
    "monotone": "dpest.ask.adjacency",
    "replace_one": "dpest.ask.adjacency",
    "add_remove_one": "dpest.ask.adjacency",
    "any_pair": "dpest.ask.adjacency",
    "reals": "dpest.ask.domains",
    "integers": "dpest.ask.domains",
    "real": "dpest.ask.domains",
    "integer": "dpest.ask.domains",
    "finite": "dpest.ask.domains",
    "records": "dpest.ask.tables",
    "table": "dpest.ask.people",
    "ANY": "dpest.ask.domains",
    "DpestError": "dpest.errors",
}
_SUBPACKAGES = {"adapters", "noise", "notions", "zoo", "stats", "ask"}

__all__ = [*_HOMES, "__version__", "adapters", "noise", "notions", "zoo"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _SUBPACKAGES:
        return importlib.import_module(f"dpest.{name}")
    raise AttributeError(f"module 'dpest' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class Package(ModuleType):
    """Public names keep their meaning: `dpest.exact` is the verb, not the folder of that name.

    Importing a folder puts it into the package as an attribute, in the place of whatever is there.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package
