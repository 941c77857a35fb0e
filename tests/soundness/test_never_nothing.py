"""What can't be run as it is asked about is refused; what raises sometimes says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpest
from dpest.errors import DependentRunsError, DpestError

ALWAYS = """
import numpy as np

def divides(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / (eps - eps))

def wants_a_table(x, rng, *, eps=1.0):
    return x["age"].sum() + rng.laplace(scale=1 / eps)

def wants_a_parameter(x, rng, bound, *, eps=1.0):
    return min(sum(x), bound) + rng.laplace(scale=1 / eps)

def rng_first(rng, x, /, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)

def eps_first(eps, x, rng):
    return sum(x) + rng.laplace(scale=1 / eps)

def misspelt(x, rng, *, eps=1.0):
    return sum(x) + rng.laplce(scale=1 / eps)

def not_imported(x, rng, *, eps=1.0):
    return pandas.Series(x).sum() + rng.laplace(scale=1 / eps)

def wants_text(x, rng, *, eps=1.0):
    return len(x.split()) + rng.laplace(scale=1 / eps)
"""
NAMES = (
    "divides", "wants_a_table", "wants_a_parameter", "rng_first", "eps_first", "misspelt",
    "not_imported", "wants_text",
)  # fmt: skip
REASONS = {
    "divides": "ZeroDivisionError", "wants_a_table": "TypeError", "wants_a_parameter": "bound",
    "rng_first": "first", "eps_first": "first", "misspelt": "laplce", "not_imported": "pandas",
    "wants_text": "split",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_it_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    file = tmp_path / "always.py"
    file.write_text(ALWAYS)
    asked = ["audit", f"{file}:{name}", "--epsilon", "1", "--adjacency", "l1", "--length", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "dpest", *asked], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert REASONS[name] in " ".join((done.stdout + done.stderr).split())


def raises_when_large(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    if max(x) > 1.5:
        raise ValueError("too large")
    return sum(x) + rng.laplace(scale=1 / eps)


def test_what_raises_sometimes_says_so_in_its_first_line() -> None:
    verdict = dpest.audit(raises_when_large, epsilon=1.0, adjacency="l1", length=3)
    first = str(verdict).splitlines()[0]
    assert "raises ValueError on [" in first
    assert verdict.status == "violated"


SEEN: list[float] = []


def remembers(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    SEEN.append(1.0)
    return sum(x) + len(SEEN) + rng.laplace(scale=1 / eps)


def test_what_is_kept_between_calls_is_named() -> None:
    verdict = dpest.audit(remembers, epsilon=1.0, adjacency="l1", length=3)
    assert verdict.status == "unsettled"
    assert "outside of its input and draws: SEEN" in str(verdict).splitlines()[0]


def test_an_error_is_of_our_own_kind() -> None:
    with pytest.raises(DpestError):
        dpest.audit(lambda x, rng: 1 / 0, epsilon=1.0, adjacency="l1", length=2)


def noisy_sum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(x) + rng.laplace(scale=1 / eps)


def test_the_report_says_that_reals_are_finite() -> None:
    verdict = dpest.audit(noisy_sum, epsilon=1.0, adjacency="l1", length=2)
    assert "neither NaN nor infinities" in str(verdict)


SPENT = """
BUDGET = {"left": 3}
KEPT = {}

def odometer(x, rng, *, eps=1.0):
    if BUDGET["left"] <= 0:
        raise RuntimeError("the budget is spent")
    BUDGET["left"] -= 1
    return sum(x) + rng.laplace(scale=1 / eps)

def seldom(x, rng, *, eps=1.0):
    noisy = sum(x) + rng.laplace(scale=1 / eps)
    if noisy > 40:
        KEPT["last"] = noisy
    return KEPT.get("last", noisy)
"""


@pytest.mark.parametrize(("name", "words"), [("odometer", "BUDGET"), ("seldom", "outlives")])
def test_state_is_named(name: str, words: str, tmp_path: Path) -> None:
    """A budget that trial calls would spend, and a change that only few calls make."""
    file = tmp_path / "spent.py"
    file.write_text(SPENT)
    asked = ["audit", f"{file}:{name}", "--epsilon", "1", "--adjacency", "l1", "--length", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "dpest", *asked, "--budget", "2s"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert "UNSETTLED" in done.stdout
    assert words in done.stdout


LAST: dict[str, float] = {}


def seldom(x: Any, rng: Any) -> Any:
    noisy = sum(x) + rng.laplace()
    if noisy > 4:
        LAST["it"] = noisy
    return LAST.get("it", noisy)


def seldom_alone(x: Any) -> Any:
    return seldom(x, np.random.default_rng())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("function", [seldom, seldom_alone])
def test_runs_that_leave_a_trace_show_nothing(function: Any, workers: int) -> None:
    """Whatever makes the runs, and wherever: they are not independent of each other."""
    LAST.clear()
    with pytest.raises(DependentRunsError, match=r"outside of its input and its draws \(LAST"):
        dpest.attack(function, [0.0, 0.0], [1.0, 0.0], budget="20000 runs", workers=workers)


@pytest.mark.parametrize("function", [seldom, seldom_alone])
def test_an_audit_says_nothing_of_runs_that_leave_a_trace(function: Any) -> None:
    LAST.clear()
    verdict = dpest.audit(function, epsilon=1.0, adjacency="l1", length=2, budget="20000 runs")
    assert "outside of its input and draws: LAST" in str(verdict).splitlines()[0]
    assert verdict.evidence == ()


def test_whole_numbers_without_bounds_move_by_whole_steps() -> None:
    def total(x, rng):
        return sum(x) + rng.laplace(scale=1)

    verdict = dpest.audit(total, epsilon=5, adjacency="linf:2.7", domain="integers(3)")
    assert verdict.status == "violated"
    assert verdict.lower.value == pytest.approx(6.0)


def test_an_array_without_entries_has_no_noise_and_leaks_nothing() -> None:
    def nothing(x, rng):
        return np.array(x)[:0] + rng.laplace(0, 1, size=0)

    verdict = dpest.audit(nothing, epsilon=1.5, adjacency="l1", length=3)
    assert verdict.status == "exact"
    assert verdict.upper.value == 0.0
