"""From an exact loss, or a proved bound, to the measure that a question asks for."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.ask.entries import as_code
from dpest.evidence import Evidence, Measure, Witness, at_the_edge, up_to_rounding
from dpest.notions.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpest.notions.implication import gdp_of, least, zcdp_of

if TYPE_CHECKING:
    from dpest.exact.losses.loss import ExactLoss


def of_loss(loss: ExactLoss, measure: Measure) -> float:
    """The value of a measure for one pair, in the worse direction.

    For zCDP and Gaussian DP, suprema over a continuum, it is reached from below. For (ε, δ) a δ
    counts as exceeded only beyond rounding.
    """
    if measure.alpha is not None:
        return float(loss.renyi(measure.alpha))
    if measure.kind == "zcdp":
        return least(ZCDP(0), loss)
    if measure.kind == "gdp":
        return least(GaussianDP(0), _FromBelow(loss))
    return float(loss.epsilon if measure.delta == 0 else loss.sure_epsilon_at(measure.delta))


class _FromBelow(NamedTuple):
    """An exact loss whose δ is never too large: far out, a grid's error is all there is of it."""

    loss: ExactLoss

    def delta(self, epsilon: float) -> float:
        return self.loss.sure_delta(epsilon)


def edge_of_loss(loss: ExactLoss, measure: Measure, limit: float | None) -> str | None:
    """What to say of a pair whose δ exceeds the claim, by no more than rounding can."""
    if measure.kind != "epsilon" or not measure.delta or limit is None:
        return None
    found = loss.delta(limit)
    if measure.delta < found <= up_to_rounding(measure.delta):
        return at_the_edge(found, measure.delta)
    return None


def follows(evidence: Evidence, wanted: Measure) -> Evidence | None:
    """What a proved bound on one measure says of another, if anything."""
    known = _as_claim(evidence)
    if known is None:
        return None
    if wanted.kind == "epsilon":
        value = known.epsilon_at(wanted.delta)
    elif wanted.kind == "renyi" and wanted.alpha is not None:
        value = known.renyi_at(wanted.alpha)
    elif wanted.kind == "zcdp":
        value = zcdp_of(known)
    elif wanted.kind == "gdp":
        value = gdp_of(known)
    else:
        return None
    if not math.isfinite(value):
        return None
    return evidence.with_(value=value, measure=wanted, method=f"{evidence.method}, converted")


def _as_claim(evidence: Evidence) -> Claim | None:
    measure = evidence.measure
    if measure.kind == "epsilon" and measure.delta == 0:
        return PureDP(evidence.value)
    if measure.kind == "zcdp":
        return ZCDP(evidence.value)
    if measure.kind == "renyi" and measure.alpha is not None:
        return RenyiDP(measure.alpha, evidence.value)
    if measure.kind == "gdp":
        return GaussianDP(evidence.value)
    return None


def exact_witness(loss: ExactLoss, x: Any, x2: Any, mechanism: Mechanism) -> Witness:
    """The pair, the output and both probabilities, with the lines that compute them again."""
    found = loss.witness
    return Witness(
        x=x,
        x2=x2,
        event=found.event,
        p=found.p,
        q=found.q,
        densities=found.densities,
        replay=exact_replay(mechanism, x, x2),
        details=found.details,
    )


def exact_replay(mechanism: Mechanism, x: Any, x2: Any) -> str:
    params = {k: v for k, v in mechanism.params.items() if _plain(v)}
    return "\n".join(
        [
            "import dpest",
            *(["import numpy as np"] if isinstance(x, np.ndarray) else []),
            *_import_lines(mechanism),
            f"x, x2 = {as_code(x)}, {as_code(x2)}",
            f"loss = dpest.exact({_name(mechanism)}, x, x2, params={params!r}, "
            "adjacency=dpest.any_pair())",
            "print(loss.epsilon, loss.witness)",
        ]
    )


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, list, tuple, type(None)))


def _import_lines(mechanism: Mechanism) -> list[str]:
    module = getattr(mechanism.function, "__module__", "") or ""
    if module.startswith("dpest.zoo"):
        return [f"mechanism = dpest.zoo.get({mechanism.name!r})"]
    named = all(part.isidentifier() for part in module.split("."))
    if named and module != "__main__" and not module.startswith("dpest_target_"):
        return [f"from {module} import {mechanism.name}"]
    path = getattr(getattr(mechanism.function, "__code__", None), "co_filename", "your file")
    if mechanism.name.isidentifier() and os.path.isfile(path):
        return ["import runpy", f"{mechanism.name} = runpy.run_path({path!r})[{mechanism.name!r}]"]
    return [f"# run this where {mechanism.name} of {path} is defined"]


def _name(mechanism: Mechanism) -> str:
    module = getattr(mechanism.function, "__module__", "") or ""
    return "mechanism" if module.startswith("dpest.zoo") else mechanism.name
