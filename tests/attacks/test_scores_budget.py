"""The attack by scores within a time: something is measured, or nothing is claimed."""

from typing import Any

import numpy as np
import pytest

from attacks.fakes import ArraySampler
from dpest.attacks import budget
from dpest.attacks.scores import attack
from dpest.attacks.scores.attack import scores_attack
from dpest.attacks.scores.bounds import worth
from dpest.attacks.scores.learning import learnt_score
from dpest.evidence import Measure
from dpest.running.samples import Samples


class Clock:
    """A clock that stands still but for what runs take."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class SlowSampler(ArraySampler):
    """Each run takes its time on the clock."""

    def __init__(self, clock: Clock, each: float) -> None:
        super().__init__(lambda x, size, rng: x + rng.normal(size=(size, 2)))
        self._clock, self._each = clock, each

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        self._clock.now += size * self._each
        return super().draw(x, size, seed)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(budget, "time", made)
    return made


def test_learning_leaves_time_to_measure(clock: Clock) -> None:
    """Runs that take 0.1 ms: the default's learning alone would take the 10 s.

    The true mu is sqrt(2); a bound above it would be wrong with chance 0.001, and the seed is
    fixed.
    """
    sampler = SlowSampler(clock, 1e-4)
    found = scores_attack(
        sampler, [(1.0, 0.0)], measure=Measure("gdp"), alpha=1e-3, budget="10s", seed=1
    )
    assert found.details["measured"] > 20_000
    assert 1.3 < found.value <= np.sqrt(2)
    assert clock.now <= 11.0


def test_comparing_many_pairs_leaves_time_to_measure(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training a score for a pair takes a second here: ten pairs would take all of the time."""

    def slow(*values: Any) -> float:
        clock.now += 1.0
        return worth(*values)

    monkeypatch.setattr(attack, "worth", slow)
    pairs = [(1.0, 0.0)] + [(0.0, 0.1 * k) for k in range(10)]
    found = scores_attack(
        SlowSampler(clock, 1e-5), pairs, measure=Measure("gdp"), alpha=1e-3, budget="10s", seed=1
    )
    assert found.details["measured"] > 20_000
    assert 1.3 < found.value <= np.sqrt(2)


def test_learning_that_takes_too_long_leaves_runs_to_measure(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*values: Any) -> Any:
        clock.now += 20.0
        return learnt_score(*values)

    monkeypatch.setattr(attack, "learnt_score", slow)
    sampler = SlowSampler(clock, 1e-4)
    found = scores_attack(
        sampler, [(1.0, 0.0)], measure=Measure("gdp"), alpha=1e-3, budget="10s", seed=1
    )
    assert found.details["measured"] > 10_000
    assert 1.2 < found.value <= np.sqrt(2)


def test_nothing_measured_claims_no_event(clock: Clock) -> None:
    sampler = SlowSampler(clock, 1.0)
    found = scores_attack(
        sampler, [(1.0, 0.0)], measure=Measure("gdp"), alpha=1e-3, budget="10s", seed=1
    )
    assert found.value == 0.0
    assert (found.witness.event, found.witness.p, found.witness.q) == ("", None, None)
    assert any("before anything was measured" in note for note in found.notes)
