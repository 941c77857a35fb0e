"""Keys of the data: a record touches one (or two, if it is replaced).

A key that others have too: its count moves by 1, at the cost of its noise. One that nobody else
has: nothing is seen of it unless 1 + noise reaches the threshold, with chance p. The keys have
independent noises, so that the costs of two compose; each is one or the other, so that both costs
together are an upper bound.
"""

from __future__ import annotations

from ..invalid import Invalid
from .accountant import ONE, ZERO, StageLoss
from .enclosures import exp_range, normal_cdf_range, rounded
from .ways import StageGate, StageWay


def gate_steps(way: StageWay, gate: StageGate) -> list[StageLoss]:
    """The steps of one key and its noise, whichever record touches it."""
    noise = way.noises[gate.noise]
    keys = 2 if way.replace else 1
    if noise.family not in ("laplace", "normal") or noise.most is not None or noise.scale <= 0:
        raise Invalid("keys of the data need Laplace or Gaussian noise")
    b, t = noise.scale, gate.threshold - 1
    if noise.family == "normal":
        p = normal_cdf_range(-t / b)[1]
    else:
        p = exp_range(-t / b)[1] / 2 if t >= 0 else 1 - exp_range(t / b)[0] / 2
    delta = min(ONE, rounded(1 - (1 - min(p, ONE)) ** keys, True, 160))
    if noise.family == "normal":
        return [StageLoss("gauss", keys / b**2), StageLoss("bad", ZERO, delta=delta)]
    return [StageLoss("bad", keys / b, delta=delta)]
