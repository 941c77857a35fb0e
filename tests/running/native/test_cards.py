"""Several cards: each makes a part of the runs, and the counts are those of one card."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpest.ask.declaration import as_mechanism
from dpest.attacks.fused import scored_for
from dpest.attacks.models.classifiers import NumberScorer
from dpest.attacks.thresholds import ThresholdAttack
from dpest.running.native import gpu
from dpest.running.native.device import SpreadCounter, cards_of
from dpest.running.native.runs import draw_runs
from dpest.running.native.scoring import CompiledScores
from dpest.running.native.signals import NotCompiled

KEYS = np.arange(10, dtype=np.uint64)


class CardOfRunNumbers:
    """A card's stand-in: the outcome of run r is a function of the keys and of r alone."""

    def __init__(self, *given: Any) -> None:
        self.card = given[-1] if given else 0
        self.parts: list[tuple[int, int]] = []

    def counts(
        self,
        keys: NDArray[np.uint64],
        first: int,
        runs: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[NDArray[np.int64], int]:
        self.parts.append((first, runs))
        found = np.zeros(3, dtype=np.int64)
        done = 0
        while done < runs and not stopped():
            size = min(1 << 16, runs - done)
            numbers = np.arange(first + done, first + done + size, dtype=np.uint64)
            words = (numbers + keys[0] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            found += np.bincount((words >> np.uint64(40)) % np.uint64(3), minlength=3)
            done += size
        return found, done


@pytest.mark.parametrize("cards", [1, 2, 3, 8])
def test_cards_together_count_what_one_counts(cards: int) -> None:
    alone, _ = CardOfRunNumbers().counts(KEYS, 100, 1_000_003)
    several = [CardOfRunNumbers() for _ in range(cards)]
    found, done = SpreadCounter(several).counts(KEYS, 100, 1_000_003)
    assert done == 1_000_003
    assert np.array_equal(found, alone)
    parts = sorted(part for card in several for part in card.parts)
    assert [first for first, _ in parts] == [100 + 1_000_003 * k // cards for k in range(cards)]


def test_all_cards_stop_together() -> None:
    asked = threading.Event()
    spread = SpreadCounter([CardOfRunNumbers(), CardOfRunNumbers()])
    threading.Timer(0.2, asked.set).start()
    start = time.monotonic()
    _, done = spread.counts(KEYS, 0, 10**13, stopped=asked.is_set)
    assert time.monotonic() - start < 2.0
    assert 0 < done < 10**13


def test_an_interruption_ends_every_card() -> None:
    class Interrupted(CardOfRunNumbers):
        def counts(self, *given: Any, **named: Any) -> Any:
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        SpreadCounter([Interrupted(), CardOfRunNumbers()]).counts(KEYS, 0, 10**13)
    assert time.monotonic() - start < 2.0


class CardOfCores:
    """A card's stand-in that counts the runs of a core, so that it agrees with one."""

    def __init__(self, scored: Any, size: int) -> None:
        self.scored, self.size = scored, size

    def counts(self, keys: Any, first: int, runs: int, stopped: Any) -> Any:
        found = self.scored.counts(runs, np.random.SeedSequence([int(keys[0]), first]))
        return np.array([found.above, found.equal, found.below]), runs


def noisy(x: float, rng: np.random.Generator) -> float:
    return x + rng.laplace()


def scores_of_a_number() -> CompiledScores:
    scorer = NumberScorer.of(draw_runs(noisy, 1.0, 1000, 0))
    assert scorer is not None
    return scored_for(as_mechanism(noisy), 1.0, ThresholdAttack(scorer, 1.0, 0.0, False))


def test_scores_are_spread_over_the_cards_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    scored = scores_of_a_number()
    used: list[int] = []

    def card(text: str, counters: int, data: Any, table: Any, number: int) -> CardOfCores:
        used.append(number)
        return CardOfCores(scored, counters)

    monkeypatch.setattr(gpu, "GpuCounter", card)
    monkeypatch.setattr(gpu, "cards_of", lambda device: [0, 1])
    found = gpu.GpuScored(scored, "cuda").counts(1_000_001, 5)
    assert used == [0, 1]
    assert found.size == 1_000_001
    assert abs(found.above - 500_000) < 5 * 500  # half exceed the centre; 5 deviations


def test_a_card_that_counts_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    scored = scores_of_a_number()
    monkeypatch.setattr(gpu, "GpuCounter", CardOfRunNumbers)
    monkeypatch.setattr(gpu, "cards_of", lambda device: [0, 1])
    with pytest.raises(NotCompiled, match="otherwise than a core"):
        gpu.GpuScored(scored, "cuda")


def test_a_card_by_its_number() -> None:
    assert cards_of("cuda:3") == [3]
