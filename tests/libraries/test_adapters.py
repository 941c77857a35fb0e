"""Adapters and the grey box on real libraries; what isn't installed is skipped."""

from __future__ import annotations

import warnings

import pytest

import dpest
from dpest import adapters
from dpest.attacks.recorded import recorded_attack
from dpest.evidence import Measure

pytestmark = pytest.mark.filterwarnings("ignore")


def grey(mechanism, x, x2, delta=0.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit = float(mechanism.claim.epsilon)
        found = recorded_attack(mechanism, x, x2, limit=limit, measure=Measure(delta=delta))
    return found, [f["what"] for f in found.details["recorded"]["findings"]]


def test_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    total = space >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(10.0)
    f = adapters.opendp(total)
    assert float(f.claim.epsilon) == pytest.approx(1.0)
    found, kinds = grey(f, [1.0, 2.0], [1.0])
    assert found.value == pytest.approx(1.0)
    assert kinds == []
    assert "own account" in found.witness.event


def test_opendp_on_a_value_that_moves_too_far():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    number = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise = dp.m.make_laplace(*number, 1.0)
    f = adapters.plain(lambda x: noise(float(sum(x))), epsilon=1.0)
    found, kinds = grey(f, [1.0, 3.0], [1.0])
    assert found.value == pytest.approx(3.0)
    assert kinds == ["budget"]


def test_diffprivlib_regression_has_no_noise_on_a_square():
    models = pytest.importorskip("diffprivlib.models")
    f = adapters.diffprivlib(
        models.LinearRegression,
        epsilon=1.0,
        bounds_X=([0, 0], [1, 1]),
        bounds_y=(0, 1),
        fit_intercept=False,
        released=["coef_"],
    )
    rows = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    found, kinds = grey(f, rows, [[1.0, 1.0, 1.0], *rows[1:]])
    assert "sensitivity" in kinds
    first = found.details["recorded"]["findings"][0]
    assert first["file"].endswith("linear_regression.py")
    assert "told a sensitivity of 0" in first["words"]


def test_diffprivlib_classes_come_from_the_data():
    models = pytest.importorskip("diffprivlib.models")
    f = adapters.diffprivlib(models.GaussianNB, epsilon=1.0, bounds=([0, 0], [1, 1]))
    rows = [[0.1, 0.2, 0], [0.3, 0.4, 0], [0.5, 0.5, 1], [0.9, 0.8, 1]]
    _, kinds = grey(f, rows, [*rows[:3], [0.9, 0.8, 2]])
    assert "control flow" in kinds
    _, kinds = grey(f, rows, [*rows[:3], [0.0, 0.0, 1]])
    assert kinds == []


@pytest.mark.parametrize("name", ["mean", "var", "std", "median", "sum", "count_nonzero"])
def test_diffprivlib_tools_keep_their_claim(name):
    tools = pytest.importorskip("diffprivlib.tools")
    bounds = {} if name == "count_nonzero" else {"bounds": (0, 10)}
    f = adapters.diffprivlib(getattr(tools, name), epsilon=1.0, **bounds)
    _, kinds = grey(f, [0.0, 2.0, 3.0, 4.0], [10.0, 2.0, 3.0, 4.0])
    assert kinds == []


def test_python_dp():
    laplacian = pytest.importorskip("pydp.algorithms.laplacian")
    f = adapters.pydp(laplacian.BoundedSum, lower_bound=0, upper_bound=10, dtype="float")
    found, kinds = grey(f, [1.0, 2.0], [1.0])
    assert found.value == pytest.approx(1.0)
    assert kinds == []


def test_opacus_shows_the_size_of_the_batch():
    pytest.importorskip("opacus")
    rest = [[0.0, 0.0, 0.0, 0.0] for _ in range(4)]
    canary = [*rest, [0.0, 0.0, 10.0, 1.0]]
    found, kinds = grey(adapters.opacus(3), rest, canary, delta=1e-5)
    assert kinds == ["noise and data mixed"]
    assert found.details["recorded"]["cost"] == pytest.approx(4.37718, abs=1e-4)
    found, kinds = grey(adapters.opacus(3, reduction="sum"), rest, canary, delta=1e-5)
    assert kinds == []
    assert found.value == pytest.approx(4.37718, abs=1e-4)


def test_an_adapter_is_a_function_that_can_be_audited():
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    f = adapters.diffprivlib(mechanisms.Geometric(epsilon=1.0, sensitivity=1))
    found = dpest.attack(f, [0], [1], method="recorded", adjacency="l1")
    assert found.value == pytest.approx(1.0)
