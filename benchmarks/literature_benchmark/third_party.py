"""Released libraries as black boxes: Laplace, geometric and Gaussian noise on one number.

Each is wrapped as a user would call it. Needs the extra `targets`; a library that is not installed
is left out and named.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.ask.adjacency import l1
from dpest.ask.declaration import Mechanism
from dpest.ask.domains import integers, reals
from dpest.notions.claims import ApproxDP, Claim, PureDP

EPSILON = 1.0
DELTA = 1e-3
Many = Callable[[Any, int], Any]


def _black_box(name: str, many: Many, claim: Claim, whole: bool) -> Mechanism:
    def draw(x: Any, size: int) -> Any:
        return many(x[0], size)

    domain = integers(1) if whole else reals(1)
    return Mechanism(draw, name, claim=claim, adjacency=l1(1), domain=domain)


def _one_by_one(randomise: Callable[[Any], Any]) -> Many:
    return lambda x, size: [randomise(x) for _ in range(size)]


def diffprivlib() -> list[Mechanism]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own imports warn about scikit-learn
        from diffprivlib import mechanisms as m

    pure, approx = PureDP(EPSILON), ApproxDP(EPSILON / 2, DELTA)
    laplace = m.Laplace(epsilon=EPSILON, sensitivity=1)
    geometric = m.Geometric(epsilon=EPSILON, sensitivity=1)
    gaussian = m.GaussianAnalytic(epsilon=EPSILON / 2, delta=DELTA, sensitivity=1)
    real = lambda f: _one_by_one(lambda x: f(float(x)))  # noqa: E731
    return [
        _black_box("diffprivlib Laplace", real(laplace.randomise), pure, False),
        _black_box("diffprivlib Geometric", _one_by_one(geometric.randomise), pure, True),
        _black_box("diffprivlib GaussianAnalytic", real(gaussian.randomise), approx, False),
    ]


def opendp() -> list[Mechanism]:
    import opendp.prelude as dp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions call this feature by another name
        dp.enable_features("contrib", "floating-point")

    def vector(make: Any, T: type, distance: Any, scale: float) -> Many:
        options = {"nan": False} if T is float else {}
        measure = make(dp.vector_domain(dp.atom_domain(T=T, **options)), distance, scale=scale)
        return lambda x, size: np.asarray(measure([T(x)] * size))

    sigma = 3.0
    # The Gaussian mechanism with σ is ρ-zCDP with ρ = 1/(2σ²); its exact ε at DELTA is known.
    from dpest.notions.claims import GaussianDP

    epsilon = GaussianDP(1 / sigma).epsilon_at(DELTA)
    return [
        _black_box(
            "opendp Laplace",
            vector(dp.m.make_laplace, float, dp.l1_distance(T=float), 1 / EPSILON),
            PureDP(EPSILON),
            False,
        ),
        _black_box(
            "opendp discrete Laplace",
            vector(dp.m.make_laplace, int, dp.l1_distance(T=int), 1 / EPSILON),
            PureDP(EPSILON),
            True,
        ),
        _black_box(
            "opendp Gaussian",
            vector(dp.m.make_gaussian, float, dp.l2_distance(T=float), sigma),
            ApproxDP(epsilon, DELTA),
            False,
        ),
    ]


def python_dp() -> list[Mechanism]:
    from pydp.algorithms import numerical_mechanisms as m

    laplace = m.LaplaceMechanism(epsilon=EPSILON, sensitivity=1.0)
    gaussian = m.GaussianMechanism(epsilon=EPSILON / 2, delta=DELTA, sensitivity=1.0)
    real = lambda f: _one_by_one(lambda x: f(float(x)))  # noqa: E731
    return [
        _black_box("python-dp Laplace", real(laplace.add_noise), PureDP(EPSILON), False),
        _black_box(
            "python-dp Gaussian", real(gaussian.add_noise), ApproxDP(EPSILON / 2, DELTA), False
        ),
    ]


def numpy_laplace() -> Mechanism:
    """NumPy's Laplace added to a double: right as mathematics, leaky in its low bits."""

    def naive_laplace(x, rng, *, eps=0.1):  # type: ignore[no-untyped-def]
        return x[0] + rng.laplace(scale=1 / eps)

    return Mechanism(
        naive_laplace,
        "NumPy Laplace (bit level)",
        claim=PureDP("eps"),
        adjacency=l1(1),
        domain=reals(1),
        about={"floating_point": True},
    )


LIBRARIES: dict[str, Callable[[], list[Mechanism]]] = {
    "diffprivlib": diffprivlib,
    "opendp": opendp,
    "python-dp": python_dp,
}


def installed() -> tuple[dict[str, Mechanism], list[str]]:
    """Every wrapped mechanism by name, and the libraries that are missing."""
    found: dict[str, Mechanism] = {}
    missing = []
    for name, make in LIBRARIES.items():
        try:
            found.update({m.name: m for m in make()})
        except ImportError:
            missing.append(name)
    return found, missing
