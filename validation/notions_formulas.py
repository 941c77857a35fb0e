"""Every formula of `dpest.notions` against an independent source, to 8 digits.

The sources are dp-accounting where it has the formula, and mpmath's integration at 40 digits where
it has not. Prints one line per formula; exits with 1 if any misses 8 digits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np
from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution
from dp_accounting.pld import privacy_loss_mechanism as plm
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from dpest.notions import (
    ApproxDP,
    Density,
    DensityPair,
    GaussianDP,
    PureDP,
    RenyiCurve,
    optimal_composition,
    subsample,
    subsampled_gaussian,
    subsampled_gaussian_renyi,
)
from dpest.notions import conversions as c
from dpest.notions.closed_forms import (
    GaussianMechanism,
    GeometricMechanism,
    LaplaceMechanism,
    RandomisedResponse,
)

mp.mp.dps = 40
DIGITS = 1e-8
Row = tuple[str, str, float, float]


def integral(f: Callable[[Any], Any], *points: float) -> float:
    return float(mp.quad(f, [mp.mpf(x) for x in points]))


def laplace_pdf(x: Any, mean: Any, scale: Any) -> Any:
    return mp.exp(-abs(x - mean) / scale) / (2 * scale)


def closed_forms() -> Iterator[Row]:
    tails = (-400, -60, -5, 0, 0.5, 1, 6, 60, 400)
    for scale in (0.4, 3.0):
        for eps in (0.05, 0.3):
            theirs = plm.LaplacePrivacyLoss(scale).get_delta_for_epsilon(eps)
            yield (
                f"Laplace({scale}) δ({eps})",
                "dp-accounting",
                LaplaceMechanism(scale).delta(eps),
                theirs,
            )
        for alpha in (1.01, 2.5, 20):
            truth = integral(
                lambda x, s=scale, a=alpha: (
                    laplace_pdf(x, 0, s) ** a * laplace_pdf(x, 1, s) ** (1 - a)
                ),
                *tails,
            )
            yield (
                f"Laplace({scale}) Rényi {alpha}",
                "mpmath",
                LaplaceMechanism(scale).renyi(alpha),
                float(mp.log(truth)) / (alpha - 1),
            )
    for sigma in (0.5, 4.0):
        for eps in (0.0, 0.5, 6.0):
            m = 1 / mp.mpf(sigma)
            truth = mp.ncdf(m / 2 - eps / m) - mp.exp(eps) * mp.ncdf(-m / 2 - eps / m)
            yield (
                f"Gaussian({sigma}) δ({eps})",
                "mpmath",
                GaussianMechanism(sigma).delta(eps),
                float(truth),
            )
            theirs = plm.GaussianPrivacyLoss(sigma).get_delta_for_epsilon(eps)
            if theirs > 1e-7:  # below, its difference of two cdfs has fewer than 8 digits
                yield (
                    f"Gaussian({sigma}) δ({eps})",
                    "dp-accounting",
                    GaussianMechanism(sigma).delta(eps),
                    theirs,
                )
    for rate, shift in ((0.3, 1), (0.5, 4)):
        theirs = plm.DiscreteLaplacePrivacyLoss(rate, shift).get_delta_for_epsilon(0.1)
        yield (
            f"Geometric({rate * shift}, {shift}) δ(0.1)",
            "dp-accounting",
            GeometricMechanism(rate * shift, shift).delta(0.1),
            theirs,
        )
        z = [mp.mpf(k) for k in range(-400, 401)]
        p = [mp.exp(-rate * abs(k)) for k in z]
        q = [mp.exp(-rate * abs(k - shift)) for k in z]
        total = sum(a**3 * b**-2 for a, b in zip(p, q, strict=True)) / sum(p)
        yield (
            f"Geometric({rate * shift}, {shift}) Rényi 3",
            "mpmath",
            GeometricMechanism(rate * shift, shift).renyi(3),
            float(mp.log(total) / 2),
        )
    e = mp.mpf("0.7")
    rr = (mp.exp(4 * e) + mp.exp(-3 * e)) / (1 + mp.exp(e))
    yield (
        "RandomisedResponse(0.7) Rényi 4",
        "mpmath",
        RandomisedResponse(0.7).renyi(4),
        float(mp.log(rr) / 3),
    )


def quadrature() -> Iterator[Row]:
    def student(mean: float) -> Density:
        # t with 3 degrees of freedom: heavy tails, no closed form for δ.
        constant = math.log(2 / (math.pi * math.sqrt(3)))
        return Density(lambda x: constant - 2 * np.log1p((x - mean) ** 2 / 3), (mean,))

    def pdf(x: Any, mean: Any) -> Any:
        return 2 / (mp.pi * mp.sqrt(3)) * (1 + (x - mean) ** 2 / 3) ** -2

    pair = DensityPair(student(0.0), student(1.0))
    eps = mp.mpf("0.4")
    log_ratio = lambda x: mp.log(pdf(x, 0) / pdf(x, 1)) - eps  # noqa: E731
    low, high = mp.findroot(log_ratio, -8), mp.findroot(log_ratio, 0)
    truth = mp.quad(lambda x: pdf(x, 0) - mp.exp(eps) * pdf(x, 1), [low, -1, high])
    yield "Student t(3) δ(0.4), by densities", "mpmath", pair.delta(0.4), float(truth)
    truth = mp.quad(
        lambda x: pdf(x, 0) ** 3 * pdf(x, 1) ** -2, [-mp.inf, -10, -1, 0, 1, 2, 10, mp.inf]
    )
    yield "Student t(3) Rényi 3, by densities", "mpmath", pair.renyi(3), float(mp.log(truth) / 2)


def converted() -> Iterator[Row]:
    orders = [1.5, 2.0, 3.0, 8.0, 20.0, 64.0]
    rho = [0.04 * a for a in orders]
    curve = RenyiCurve(dict(zip(orders, rho, strict=True)))
    for delta in (1e-3, 1e-9):
        theirs = rdp.compute_epsilon(orders, rho, delta)[0]
        yield (
            f"Rényi → ε({delta}), formula",
            "dp-accounting",
            c.curve_to_epsilon(curve, delta)[0],
            theirs,
        )
    for alpha, r, eps in ((2.0, 0.1, 0.5), (6.0, 0.4, 1.0)):
        yield (
            f"Rényi {alpha} → δ({eps}), 2-cut",
            "mpmath",
            c.renyi_to_delta_optimal(alpha, r, eps),
            two_cut(alpha, r, eps),
        )
    for mu, delta in ((1.0, 1e-6), (0.2, 1e-3)):
        theirs = common_epsilon(mu, delta)
        yield f"GDP {mu} → ε({delta})", "mpmath", GaussianDP(mu).epsilon_at(delta), theirs
    theirs = float(2 * mp.sqrt(2) * mp.erfinv(2 * mp.exp(1) / (1 + mp.exp(1)) - 1))
    yield "pure 1 → GDP", "mpmath", c.pure_to_gdp(1), theirs
    truth = float(mp.tanh(mp.mpf(1) / 2))
    yield "pure 1 → zCDP", "mpmath", c.pure_to_zcdp(1), truth
    pld = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(1.0, 0.01), value_discretization_interval=1e-4
    )
    yield (
        "(1, 0.01) → δ(0.5)",
        "dp-accounting",
        ApproxDP(1, 0.01).delta_at(0.5),
        pld.get_delta_for_epsilon(0.5),
    )


def two_cut(alpha: float, rho: float, eps: float) -> float:
    """max p − e^ε q over D^α(Bernoulli p ‖ Bernoulli q) ≤ ρ, by Lagrange's equations."""
    a, top = mp.mpf(alpha), mp.exp((mp.mpf(alpha) - 1) * mp.mpf(rho))

    def q_of(p: Any) -> Any:
        def excess(q: Any) -> Any:
            return p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a) - top

        low, high = mp.mpf(10) ** -30, p
        for _ in range(140):
            middle = mp.sqrt(low * high)
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return low

    def slope(p: Any) -> Any:
        q = q_of(p)
        by_p = a * (p ** (a - 1) * q ** (1 - a) - ((1 - p) / (1 - q)) ** (a - 1))
        by_q = (1 - a) * ((p / q) ** a - ((1 - p) / (1 - q)) ** a)
        return 1 + mp.exp(eps) * by_p / by_q

    low, high = mp.mpf(10) ** -6, mp.mpf("0.999999")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return float(low - mp.exp(eps) * q_of(low))


def common_epsilon(mu: float, delta: float) -> float:
    m = mp.mpf(mu)

    def gap(e: Any) -> Any:
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m) - mp.mpf(delta)

    low, high = mp.mpf(0), mp.mpf(60)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) > 0 else (low, middle)
    return float(low)


def composed() -> Iterator[Row]:
    eps, delta, k = mp.mpf("0.2"), mp.mpf("1e-4"), 20
    for i in (2, 7):
        total = (
            sum(
                mp.binomial(k, j) * (mp.exp((k - j) * eps) - mp.exp((k - 2 * i + j) * eps))
                for j in range(i)
            )
            / (1 + mp.exp(eps)) ** k
        )
        truth = float(1 - (1 - delta) ** k * (1 - total))
        profile = optimal_composition(ApproxDP(0.2, 1e-4), times=k)
        yield (
            f"20 × (0.2, 1e-4): δ({(k - 2 * i) * 0.2:.1f})",
            "KOV formula",
            profile.delta_at(float((k - 2 * i) * eps)),
            truth,
        )
    pure = optimal_composition(PureDP(0.2), times=k)
    lattice = privacy_loss_distribution.PrivacyLossDistribution(
        pld_pmf.create_pmf(
            {1: 1 / (1 + math.exp(-0.2)), -1: 1 / (1 + math.exp(0.2))}, 0.2, 0.0, True
        )
    ).self_compose(k)
    yield (
        "20 × pure 0.2: δ(1)",
        "dp-accounting",
        pure.delta_at(1.0),
        lattice.get_delta_for_epsilon(1.0),
    )
    for alpha in (2, 5, 32):
        theirs = float(rdp._compute_rdp_poisson_subsampled_gaussian(0.02, 1.3, [alpha])[0])
        yield (
            f"subsampled Gaussian, Rényi {alpha}",
            "dp-accounting",
            subsampled_gaussian_renyi(1.3, 0.02, alpha),
            theirs,
        )
    for e in (0.05, 0.5):
        theirs = plm.GaussianPrivacyLoss(
            1.3, sampling_prob=0.02, adjacency_type=plm.AdjacencyType.REMOVE
        ).get_delta_for_epsilon(e)
        ours = subsampled_gaussian(1.3, 0.02).delta(e)
        yield f"subsampled Gaussian, δ({e})", "dp-accounting", ours, theirs
    truth = float(mp.log(1 + mp.mpf("0.1") * (mp.exp(2) - 1)))
    yield "subsampled pure 2 at 0.1", "mpmath", float(subsample(PureDP(2), 0.1).epsilon), truth


def main() -> int:
    misses = 0
    print(f"{'formula':42} {'source':14} {'ours':>20} {'theirs':>20}  relative error")
    for rows in (closed_forms, quadrature, converted, composed):
        for name, source, ours, theirs in rows():
            error = abs(ours - theirs) / abs(theirs) if theirs else abs(ours)
            verdict = "" if error <= DIGITS else "  MISSES"
            misses += error > DIGITS
            print(f"{name:42} {source:14} {ours:20.13g} {theirs:20.13g}  {error:.1e}{verdict}")
    print(f"{misses} misses")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
