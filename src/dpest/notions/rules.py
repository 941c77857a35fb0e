"""`convert`: one guarantee into another, with the formula that was used and whether it is tight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpest.errors import DomainError
from dpest.notions import conversions as c
from dpest.notions.claims import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    PureDP,
    RenyiCurve,
    RenyiDP,
    show,
)
from dpest.notions.domain import Number
from dpest.notions.implication import gdp_of, zcdp_of

NOTIONS = ("pure", "approx", "renyi", "zcdp", "gdp")

_TWO_CUT = "max of p − e^ε q over the region of Rényi's 2-cut"
_SEED = "ε = ρ + log((α−1)/α) − (log δ + log α)/(α−1), at least 0"
_APPROX = "δ' = δ + (1−δ)(e^ε − e^ε')/(1 + e^ε) for ε' < ε, and δ from ε on"
_GAUSS = "δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)"
_RESPONSE = "ρ = log[(e^(αε) + e^((1−α)ε))/(1 + e^ε)]/(α−1), that of randomised response"


@dataclass(frozen=True)
class Conversion:
    """`source` implies `result`. Tight: nothing better follows from the source alone."""

    source: Claim
    result: Claim
    formula: str
    tight: bool
    note: str = ""

    def __str__(self) -> str:
        quality = "tight" if self.tight else "not tight"
        lines = [f"{self.source}  ⟹  {self.result}", f"by {self.formula} ({quality})"]
        return "\n".join([*lines, self.note] if self.note else lines)


def convert(
    source: Claim,
    to: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    alpha: Number | None = None,
    closed_form: bool = False,
) -> Conversion:
    """The best guarantee of the notion `to` that follows from `source`.

    `to` is one of "pure", "approx" (give `delta`, or `epsilon`), "renyi" (give `alpha`), "zcdp",
    "gdp". `closed_form` asks for the closed formula from Rényi and zCDP to (ε, δ), which is good
    but not tight, instead of the numerical optimum. Raises when nothing finite follows.
    """
    source._known()
    if to not in NOTIONS:
        raise DomainError(f"{to!r} is no notion to convert to; choose one of {', '.join(NOTIONS)}")
    wanted = {"approx": "epsilon or delta", "renyi": "alpha"}.get(to)
    given = {"epsilon": epsilon, "delta": delta, "alpha": alpha}
    allowed = {"approx": ("epsilon", "delta"), "renyi": ("alpha",)}.get(to, ())
    extra = [name for name, value in given.items() if value is not None and name not in allowed]
    if extra:
        raise DomainError(f"{extra[0]} has no part in a conversion to {to}")
    if wanted and sum(given[name] is not None for name in allowed) != 1:
        raise DomainError(f"a conversion to {to} needs {wanted}")
    if to == "pure":
        return _pure(source)
    if to == "approx":
        return _approx(source, epsilon, delta, closed_form)
    if to == "renyi":
        assert alpha is not None
        return _renyi(source, alpha)
    return _zcdp(source) if to == "zcdp" else _gdp(source)


def _finite(value: float, source: Claim, what: str) -> float:
    if value == math.inf:
        raise DomainError(f"no finite {what} follows from {source}")
    return value


def _pure(source: Claim) -> Conversion:
    value = c.epsilon_of(source, 0)
    _finite(value, source, "ε of pure DP")
    return Conversion(source, PureDP(value), "the least ε with δ(ε) = 0", True)


def _approx(
    source: Claim, epsilon: Number | None, delta: Number | None, closed_form: bool
) -> Conversion:
    formula, note = _profile_formula(source), ""
    if closed_form and isinstance(source, RenyiDP | ZCDP | RenyiCurve):
        curve = (
            RenyiCurve({float(source.alpha): float(source.rho)})
            if isinstance(source, RenyiDP)
            else c.curve_of(source)
        )
        if delta is not None:
            value, order = c.curve_to_epsilon(curve, delta)
            result = ApproxDP(value, delta)
        else:
            assert epsilon is not None
            value, order = c.curve_to_delta(curve, epsilon)
            result = ApproxDP(epsilon, value)
        if not isinstance(source, RenyiDP):
            note = f"at the order α = {show(order)}"
        _finite(float(result.epsilon), source, "ε")
        return Conversion(source, result, _SEED, False, note)
    if delta is not None:
        result = ApproxDP(_finite(c.epsilon_of(source, delta), source, "ε"), delta)
    else:
        assert epsilon is not None
        result = ApproxDP(epsilon, c.delta_of(source, epsilon))
    return Conversion(source, result, formula, True, note)


def _profile_formula(source: Claim) -> str:
    match source:
        case PureDP() | ApproxDP():
            return _APPROX
        case GaussianDP():
            return _GAUSS
        case RenyiDP():
            return _TWO_CUT
        case ZCDP() | RenyiCurve():
            return f"{_TWO_CUT}, at all orders together"
    return "δ(ε) = 1 + f*(−e^ε)"


def _renyi(source: Claim, alpha: Number) -> Conversion:
    value = _finite(c.renyi_of(source, alpha), source, f"Rényi divergence of order {show(alpha)}")
    formula: dict[type[Claim], tuple[str, bool]] = {
        PureDP: (_RESPONSE, True),
        ApproxDP: (_RESPONSE, True),
        ZCDP: ("ρ(α) = ρ·α", True),
        GaussianDP: ("ρ = α·μ²/2", True),
        RenyiDP: ("D^α does not decrease in α", False),
        RenyiCurve: ("D^α does not decrease and (α−1)·D^α is convex in α", False),
    }
    default = ("e^((α−1)ρ) = 1 + α(α−1)·∫ (e^((α−1)ε) + e^(−αε)) δ(ε) dε", True)
    text, tight = formula.get(type(source), default)
    return Conversion(source, RenyiDP(alpha, value), text, tight)


def _zcdp(source: Claim) -> Conversion:
    value = _finite(zcdp_of(source), source, "ρ of zCDP (by a rule known here)")
    formula: dict[Any, str] = {
        PureDP: "ρ = ε·tanh(ε/2)",
        ApproxDP: "ρ = ε·tanh(ε/2)",
        GaussianDP: "ρ = μ²/2",
        ZCDP: "the same",
    }
    return Conversion(
        source,
        ZCDP(value),
        formula.get(type(source), "ρ = sup of D^α/α, on a grid of orders"),
        type(source) in formula,
    )


def _gdp(source: Claim) -> Conversion:
    value = _finite(gdp_of(source), source, "μ of GDP (by a rule known here)")
    formula: dict[Any, str] = {
        PureDP: "μ = 2·Φ⁻¹(e^ε/(1 + e^ε))",
        ApproxDP: "μ = 2·Φ⁻¹(e^ε/(1 + e^ε))",
        GaussianDP: "the same",
    }
    return Conversion(
        source,
        GaussianDP(value),
        formula.get(type(source), "μ = sup of Φ⁻¹(1−x) − Φ⁻¹(f(x)), on a grid of levels"),
        type(source) in formula,
    )
