"""The final stage of DP-Sniper in the loop that makes the runs: only counts leave it.

A scorer becomes a rule that a kernel can add up: one score a code where outputs are discrete,
whatever the scorer is; for reals, the weights of an additive model by code and by cell. The rule is
compared with the scorer on runs of both inputs, score for score by its counts, before it is used;
whoever can't be written so is measured on samples, as ever.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.attacks.classifiers import AdditiveScorer
from dpest.attacks.features import Coder
from dpest.attacks.thresholds import Attack
from dpest.running.batch.arrays import block_rows
from dpest.running.batch.batch import blocks_in
from dpest.running.native.compiled import Compiled, contents
from dpest.running.native.outputs import Layout, Real
from dpest.running.native.runs import WORTHWHILE, compiled_for
from dpest.running.native.scoring import Cells, ScoreCounts, Scored, ScoreRule
from dpest.running.native.signals import NotCompiled
from dpest.running.seeds import Seed, block_seed

Floats = NDArray[np.float64]
_COMPARED = 4096
_MOST_CODES = 1 << 21
_MOST_HELD = 8
_held: OrderedDict[Any, Scored] = OrderedDict()
_checked: OrderedDict[Any, None] = OrderedDict()


def rule_of(attack: Attack, layout: Layout) -> ScoreRule:
    """The attack as a rule; NotCompiled where it can't be written as one."""
    if any(ending.raised is not None for ending in layout.endings.values()):
        raise NotCompiled("runs that raise are counted apart")
    if layout.codes > _MOST_CODES:
        raise NotCompiled("too many outputs to score each")
    codes = np.arange(layout.codes)
    sign = -1.0 if attack.flipped else 1.0
    if layout.width == 0:
        return ScoreRule(sign * attack.scorer.scores(layout.possible(codes)), (),
                         attack.t, attack.low)  # fmt: skip
    if not isinstance(attack.scorer, AdditiveScorer):
        raise NotCompiled("a score of reals that is no additive model")
    return _additive_rule(attack, attack.scorer, layout, codes, sign)


def _additive_rule(
    attack: Attack, scorer: AdditiveScorer, layout: Layout, codes: NDArray[Any], sign: float
) -> ScoreRule:
    coder, weights = scorer.coder, sign * scorer.model.weights
    if coder._crossed:
        raise NotCompiled("weights that depend on a code and a number at once")
    markers = np.repeat(0.1234567891 + np.arange(layout.width)[:, None], len(codes), axis=1)
    examples = layout.samples(codes, markers)
    parts = coder.splitter.parts(examples, leaves=coder.uses_leaves)
    _check_numbers(coder, layout, parts.numbers)
    discrete = len(coder.features) - len(coder._bins)
    total = np.full(len(codes), weights[-1])
    start = 0
    found = coder.codes_of(parts)
    for feature, column in list(zip(coder.features, found, strict=True))[:discrete]:
        total += weights[start : start + feature.size][column]
        start += feature.size
    cells = []
    for (kind, rank, bins), feature in zip(coder._bins, coder.features[discrete:], strict=True):
        own = weights[start : start + feature.size]
        start += feature.size
        if bins._table is None:
            raise NotCompiled("bins of very different widths")
        edge, scale = float(bins._edges[0]), float(bins._scale)
        cells.append(Cells(rank, kind == "difference", edge, scale, own[bins._table], own[0]))
    return ScoreRule(total, tuple(cells), attack.t, attack.low)


def _check_numbers(coder: Coder, layout: Layout, numbers: list[Floats]) -> None:
    """The number of each rank must be the column of that rank, whatever the code."""
    for ending in layout.endings.values():
        for place, column in enumerate(ending.columns):
            if not isinstance(column, Real):
                raise NotCompiled("outputs too long for one code")
            at = slice(ending.base, ending.base + ending.size)
            if place >= len(numbers) or not np.all(numbers[place][at] == 0.1234567891 + place):
                raise NotCompiled("numbers in another order than columns")
            atoms = coder.splitter._atoms.get((ending.skeleton, column.leaf))
            if atoms is None or len(atoms):
                raise NotCompiled("numbers that come up again and again")
        for number in numbers[len(ending.columns) :]:
            if not np.all(np.isnan(number[ending.base : ending.base + ending.size])):
                raise NotCompiled("constants among the numbers")


def scored_for(mechanism: Mechanism, x: Any, attack: Attack) -> Scored:
    """Counts of an attack's scores on an input, by a kernel that agrees with its scorer."""
    compiled = compiled_for(mechanism, x)
    key = id(compiled.program), hashlib.sha256(pickle.dumps(attack, 5)).digest()
    if key not in _held:
        scored = Scored(compiled, rule_of(attack, compiled.layout))
        _held[key] = scored
        while len(_held) > _MOST_HELD:
            _held.popitem(last=False)
    scored = _held[key].on(compiled)
    if (key, contents(x)) not in _checked:
        check(scored, compiled, attack)
        _checked[key, contents(x)] = None
        while len(_checked) > 64 * _MOST_HELD:
            _checked.popitem(last=False)
    return scored


def check(scored: Scored, compiled: Compiled, attack: Attack) -> None:
    """Raises NotCompiled unless the kernel counts what the scorer counts on the same runs."""
    seed = block_seed(7, 0)
    score = attack.scorer.scores(compiled.samples(_COMPARED, seed))
    score = -score if attack.flipped else score
    found = scored.counts(_COMPARED, seed)
    expected = [score > attack.t, score == attack.t, score < attack.low]
    if [found.above, found.equal, found.below] != [int(np.count_nonzero(e)) for e in expected]:
        raise NotCompiled("the fused score is another one")


def score_block(
    mechanism: Mechanism, attack: Attack, x: Any, size: int, seed: Seed, number: int
) -> tuple[int, int, int, int]:
    """Block `number` of `size` runs, counted: the unit of work that is sent to a worker."""
    rows = block_rows("numpy", int(size))
    count = min(rows, int(size) - number * rows)
    found = scored_for(mechanism, x, attack).counts(count, block_seed(seed, number))
    return found.size, found.above, found.equal, found.below


def count_scores(
    mechanism: Mechanism,
    attack: Attack,
    draws: Sequence[tuple[Any, int, Seed]],
    map_blocks: Callable[..., list[Any]] | None = None,
) -> list[ScoreCounts]:
    """The counts of an attack on each (x, size, seed); NotCompiled where samples must be drawn.

    By `map_blocks` of a `Runner`, or in this process.
    """
    if any(size < WORTHWHILE for _, size, _ in draws):
        raise NotCompiled("few runs")
    for x, _, _ in draws:  # a refusal here spares the workers theirs
        scored_for(mechanism, x, attack)
    places = [
        (which, number)
        for which, (_, size, _) in enumerate(draws)
        for number in range(blocks_in(size))
    ]
    task = functools.partial(_one_of_many, mechanism, attack, tuple(draws), tuple(places))
    if map_blocks is None:
        parts = [task(place) for place in range(len(places))]
    else:
        parts = map_blocks(task, range(len(places)), name=mechanism.name)
    found: list[list[Any]] = [[] for _ in draws]
    for (which, _), part in zip(places, parts, strict=True):
        found[which].append(part)
    return [ScoreCounts(*(sum(c) for c in zip(*some, strict=True))) for some in found]


def _one_of_many(
    mechanism: Mechanism,
    attack: Attack,
    draws: tuple[tuple[Any, int, Seed], ...],
    places: tuple[tuple[int, int], ...],
    place: int,
) -> tuple[int, int, int, int]:
    which, number = places[place]
    return score_block(mechanism, attack, *draws[which], number)
