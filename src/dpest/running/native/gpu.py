"""Counts of scores on a GPU: the runs, their scores and the counters stay there."""

from __future__ import annotations

import numpy as np

from dpest.running.native import jit
from dpest.running.native.compiled import Compiled
from dpest.running.native.device import GpuCounter, SpreadCounter, Trapped, cards_of
from dpest.running.native.ptx import ptx
from dpest.running.native.scoring import CompiledScores, ScoreCounts
from dpest.running.native.signals import NotCompiled
from dpest.running.native.streams import block_keys
from dpest.running.seeds import Seed, block_seed

_COMPARED = 1 << 22
_DEVIATIONS = 6.0


class GpuScored:
    """`Scored` on a card, or on several; compared with a core before it is used.

    Draw k of run r is a function of the seed, r and k: the counts depend neither on launches nor on
    how many cards there are. They are other runs than a core's, equal in distribution.
    """

    def __init__(self, scored: CompiledScores, device: str = "cuda") -> None:
        if not jit.available():
            raise NotCompiled("llvmlite is not installed (pip install 'dpest[fast]')")
        compiled: Compiled = scored.compiled
        text = ptx(compiled.program, rule=scored.rule)
        try:
            table = scored.rule.table()
            self._counter = SpreadCounter(
                [GpuCounter(text, 3, compiled.data, table, card) for card in cards_of(device)]
            )
        except ImportError:
            raise NotCompiled("CuPy is not installed (pip install 'dpest[cuda]')") from None
        self._check(scored)

    def _check(self, scored: CompiledScores) -> None:
        """Chances on the card and on a core, each with a million runs and more."""
        here = self.counts(_COMPARED, (7, 1))
        there = scored.counts(_COMPARED, block_seed((7, 2), 0))
        for a, b in (
            (here.above, there.above),
            (here.equal, there.equal),
            (here.below, there.below),
        ):
            p = max((a + b) / (2 * _COMPARED), 1.0 / _COMPARED)
            if abs(a - b) > _DEVIATIONS * np.sqrt(2 * _COMPARED * p * max(1 - p, 1e-6)) + 5:
                raise NotCompiled("the card counts otherwise than a core")

    def counts(self, size: int, seed: Seed) -> ScoreCounts:
        """`size` runs; Ctrl-C is obeyed between launches of a fraction of a second."""
        try:
            found, done = self._counter.counts(block_keys(block_seed(seed, 0)), 0, size)
        except Trapped as trapped:
            raise NotCompiled(str(trapped)) from None
        return ScoreCounts(done, *found.tolist())
