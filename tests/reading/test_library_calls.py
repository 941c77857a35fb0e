"""Calls of libraries around a mechanism: calibration, matrices, logs, warnings."""

import bisect
import logging
import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy import optimize, special

import dpest
from dpest.errors import DpestError
from dpest.reading.machine import prelude

logger = logging.getLogger(__name__)

FUNCTIONS = [
    (lambda s: s * s - 1.0, 0.1, 5.0),
    (lambda s: math.exp(-s) - 1e-5, 1e-6, 50.0),
    (lambda s: special.ndtr(0.5 / s - s) - math.e * special.ndtr(-0.5 / s - s) - 1e-6, 0.1, 99.0),
    (lambda s: math.cos(s), -1.0, 3.0),
    (lambda s: s**3 - 2 * s - 5, 2.0, 3.0),
]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_roots_are_scipys_to_the_last_bit(k: int) -> None:
    f, a, b = FUNCTIONS[k]
    given = (2e-12, 4 * float(np.finfo(float).eps), 100)
    assert prelude.brentq_(f, a, b, (), *given) == optimize.brentq(f, a, b)
    assert prelude.bisection_(f, a, b, (), *given) == optimize.bisect(f, a, b)


def delta_of(sigma: float, epsilon: float) -> float:
    below = special.ndtr(0.5 / sigma - epsilon * sigma)
    return float(below - math.exp(epsilon) * special.ndtr(-0.5 / sigma - epsilon * sigma))


def calibrated(x: Any, rng: Any, epsilon: float = 1.0, delta: float = 1e-6) -> Any:
    sigma = optimize.brentq(lambda s: delta_of(s, epsilon) - delta, 0.1, 100)
    return sum(x) + rng.normal(0, sigma)


def by_root_scalar(x: Any, rng: Any) -> Any:
    return sum(x) + rng.laplace(0, optimize.root_scalar(lambda s: s - 1, bracket=(0, 3)).root)


def with_matrices(x: Any, rng: Any) -> Any:
    scale = scipy.linalg.hadamard(2)[0, 0] * np.linalg.svd(np.eye(2), compute_uv=False)[0]
    return sum(x) + rng.laplace(0, scale * special.comb(3, 3) * np.triu_indices(2)[0].size / 3)


def logged(x: Any, rng: Any) -> Any:
    logger.info("noise of scale %s", 1.0)
    warnings.warn("careful", stacklevel=2)
    logging.getLogger("other").debug("done")
    return sum(x) + rng.laplace(0, 1)


def logged_data(x: Any, rng: Any) -> Any:
    logger.info("the sum is %s", sum(x))
    return sum(x) + rng.laplace(0, 1)


def logged_noise(x: Any, rng: Any) -> Any:
    logger.info("the sum is about %s", sum(x) + rng.laplace(0, 1))
    return sum(x) + rng.laplace(0, 1)


def without_warnings(x: Any, rng: Any) -> Any:
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least = np.log(np.array([0.0, 1.0])).max()
    return sum(x) + rng.laplace(0, 1 + least)


def bands(x: Any, rng: Any) -> Any:
    counts = [0, 0]
    for v in x:
        counts[bisect.bisect([0.5], v)] += 1
    return [c + rng.laplace(0, 2) for c in counts]


PAIR = ([0.25, 0.25], [0.25, 1.0])


@pytest.mark.filterwarnings("ignore:careful")
@pytest.mark.parametrize("f", [by_root_scalar, with_matrices, logged, without_warnings])
def test_public_calls_are_read(f: Any) -> None:
    assert math.isclose(dpest.exact(f, [0.0, 0.5], [1.0, 0.5]).epsilon, 1.0, rel_tol=1e-9)
    proof = dpest.prove(f, adjacency="replace_one", domain=dpest.reals(3, 0, 1))
    assert "ε ≤ 1 " in str(proof)


def test_a_calibration_is_read() -> None:
    claim = "approx:1,1e-6"
    domain = dpest.reals(3, 0, 1)
    assert "≤" in str(dpest.prove(calibrated, adjacency="replace_one", domain=domain, claim=claim))


def test_bands_are_read() -> None:
    assert math.isclose(dpest.exact(bands, *PAIR).epsilon, 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("f", [logged_data, logged_noise])
def test_values_in_a_log_are_not_passed_over(f: Any, adjacency: str) -> None:
    """No engine may prove what holds only while nobody reads the log."""
    proof = dpest.prove(f, adjacency=adjacency, domain=dpest.reals(3, 0, 1))
    assert proof.bound is None or proof.bound >= 2


def logged_answers(x: Any, rng: Any) -> Any:
    logger.info("answers %s", x)
    return [v if rng.random() < 0.75 else 1 - v for v in x]


def logged_answer(x: Any, rng: Any) -> Any:
    logger.debug(f"answer {x}")
    return x if rng.random() < 0.75 else 1 - x


@pytest.mark.parametrize(
    ("f", "domain"), [(logged_answers, "integers(3, 0, 1)"), (logged_answer, "integer(0, 1)")]
)
def test_what_is_enumerated_holds_no_log(f: Any, domain: str) -> None:
    """Input by input, the data in a log look like constants."""
    assert dpest.audit(f, epsilon=1.2, adjacency="l1", domain=domain).upper is None


def test_a_log_is_no_value() -> None:
    def released(x: Any, rng: Any) -> Any:
        return logger, sum(x) + rng.laplace(0, 1)

    with pytest.raises(DpestError):
        dpest.exact(released, *PAIR)
