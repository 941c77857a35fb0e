"""Seconds that are given pay for everything: deadlines inside know the end that was promised."""

from __future__ import annotations

import math
import time

import pytest

import dpest
from dpest.campaign import attacking
from dpest.running.watchdog import Deadline, TimeUp, ending_within, patient, watched


def test_no_deadline_is_later_than_a_promised_end() -> None:
    with patient(10.0), ending_within(0.5):
        inside = Deadline(60.0)
        with ending_within(100.0):
            still_inside = Deadline(60.0)
    assert inside.seconds <= 0.5
    assert still_inside.seconds <= 0.5
    assert Deadline(60.0).seconds == 60.0


def test_a_promised_end_counts_by_the_clock() -> None:
    """Time asleep is no time of computing, but whoever waits, waits."""
    with pytest.raises(TimeUp), ending_within(0.05), watched(Deadline(math.inf)):
        time.sleep(30)


def test_an_attack_that_goes_on_has_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(*_: object, **__: object) -> None:
        time.sleep(60)

    monkeypatch.setattr("dpest.attacks.sequential.sequential_attack", sleep)
    monkeypatch.setattr(attacking, "GRACE", 0.0)
    mechanism = dpest.zoo.get("LaplaceMechanism")
    found = dpest.attack(mechanism, [0.0], [1.0], method="sequential", budget="0.2s")
    assert found.value == 0.0
    assert any("seconds" in note for note in found.notes)


def test_what_an_attack_may_spend_is_what_is_left() -> None:
    from dpest.ask.questions import resolve
    from dpest.campaign.findings import Findings
    from dpest.campaign.settings import Settings

    question = resolve(dpest.zoo.get("LaplaceMechanism"))
    given = Findings(question, Settings(budget="10s"))
    given.started -= 4.0
    assert given.budget_left().seconds == pytest.approx(6.0, abs=1.0)
    given.started -= 40.0
    assert given.seconds_left() == 0.0
    for budget in (None, "1000runs"):
        other = Findings(question, Settings(budget=budget))
        other.started -= 40.0
        assert other.budget_left() == other.settings.attack_budget
