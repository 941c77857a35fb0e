"""The final stage of DP-Sniper in the loop that makes the runs: only counts leave it.

A scorer becomes a rule that a kernel can add up: one score a code where outputs are discrete,
whatever the scorer is; for reals, the weights of an additive model by code and by cell. The rule is
compared with the scorer on runs of both inputs, score for score by its counts, before it is used;
whoever can't be written so is measured on samples, as ever.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.attacks.features import Bins, Coder
from dpest.attacks.models.classifiers import AdditiveScorer, NumberScorer
from dpest.attacks.thresholds import ThresholdAttack
from dpest.running.batch.arrays import block_rows
from dpest.running.batch.batch import blocks_in
from dpest.running.native.compiled import Compiled, contents
from dpest.running.native.gpu import GpuScored
from dpest.running.native.outputs import Layout
from dpest.running.native.runs import WORTHWHILE, compiled_for
from dpest.running.native.scoring import CompiledScores, LineCells, ScoreCounts, ScoreRule
from dpest.running.native.signals import NotCompiled
from dpest.running.samples import Samples
from dpest.running.seeds import Seed, block_seed
from dpest.running.skeleton import Skeleton

Floats = NDArray[np.float64]
_COMPARED = 4096
_MARKER = 0.1234567891  # columns of examples hold this and their number
_MOST_CODES = 1 << 22
_MOST_HELD = 8
_digests: OrderedDict[int, tuple[ThresholdAttack, bytes]] = OrderedDict()
_held: OrderedDict[Any, CompiledScores] = OrderedDict()
_cards: OrderedDict[Any, GpuScored] = OrderedDict()
_checked: OrderedDict[Any, None] = OrderedDict()


def rule_of(attack: ThresholdAttack, layout: Layout) -> ScoreRule:
    """The attack as a rule; NotCompiled where it can't be written as one."""
    if any(ending.raised is not None for ending in layout.endings.values()):
        raise NotCompiled("runs that raise are counted apart")
    if layout.codes > _MOST_CODES:
        raise NotCompiled("too many outputs to score each")
    codes = np.arange(layout.codes)
    sign = -1.0 if attack.flipped else 1.0
    if layout.width == 0:
        scores = sign * attack.scorer.scores(layout.possible(codes))
        none = np.zeros((0, len(codes)), dtype=np.int64)
        return ScoreRule(scores, (), attack.t, attack.low, none)
    if isinstance(attack.scorer, NumberScorer):
        if layout.codes != 1 or layout.width != 1:
            raise NotCompiled("outputs other than one number")
        only = np.zeros((1, 1), dtype=np.int64)
        return ScoreRule(np.zeros(1), (), attack.t, attack.low, only, line=int(sign))
    if not isinstance(attack.scorer, AdditiveScorer):
        raise NotCompiled("a score of reals that is no additive model")
    return _additive_rule(attack, attack.scorer, layout, codes, sign)


def _additive_rule(
    attack: ThresholdAttack,
    scorer: AdditiveScorer,
    layout: Layout,
    codes: NDArray[Any],
    sign: float,
) -> ScoreRule:
    """Weights of what is discrete by code, those of numbers by cell, in the model's own order."""
    coder, weights = scorer.coder, sign * scorer.model.weights
    markers = np.repeat(_MARKER + np.arange(layout.width)[:, None], len(codes), axis=1)
    examples = layout.samples(codes, markers)
    _check_atoms(coder, layout, examples)
    parts = coder.splitter.parts(examples, leaves=coder.uses_leaves)
    sources, constants = _sources(parts.numbers, len(codes), layout.width)
    found = coder.codes_of(parts)
    ends = np.cumsum([0, *(f.size for f in coder.features)])
    own = [weights[a:b] for a, b in itertools.pairwise(ends)]
    discrete = len(own) - len(coder._bins) - len(coder._crossed)
    total = np.full(len(codes), weights[-1])
    for column, some in zip(found[:discrete], own[:discrete], strict=True):
        total += some[column]
    cells = []
    for (kind, rank, bins), some in zip(coder._bins, own[discrete:], strict=False):
        table, edge, scale = _grid(bins)
        line = some[table][None, :]
        cells.append(LineCells(rank, kind == "difference", edge, scale, line, float(some[0])))
    for place, (rank, part, bins, chains) in enumerate(coder._crossed):
        some = own[discrete + len(coder._bins) + place]
        table, edge, scale = _grid(bins)
        rows = chains[coder.signature_places(parts)[part]].astype(np.int64)
        lines = np.array([some[k * bins.count + table] for k in range(int(chains.max()) + 1)])
        cells.append(LineCells(rank, False, edge, scale, lines, float(some[0]), rows))
    return ScoreRule(total, tuple(cells), attack.t, attack.low, sources, constants)


def _grid(bins: Bins) -> tuple[NDArray[np.intp], float, float]:
    if bins._table is None:
        raise NotCompiled("bins of very different widths")
    return bins._table, float(bins._edges[0]), float(bins._scale)


def _sources(
    numbers: list[Floats], size: int, width: int
) -> tuple[NDArray[np.int64], tuple[float, ...]]:
    """The column that each number of the marked outputs came from, or the constant that it is."""
    found = np.full((len(numbers), size), -1, dtype=np.int64)
    constants: list[float] = []
    for rank, values in enumerate(numbers):
        for column in range(width):
            found[rank, values == _MARKER + column] = column
        left = ~np.isnan(values) & (found[rank] < 0)
        for value in np.unique(values[left]).tolist():
            if value not in constants:
                constants.append(value)
            found[rank, left & (values == value)] = width + constants.index(value)
    return found, tuple(constants)


def _check_atoms(coder: Coder, layout: Layout, examples: Samples) -> None:
    """A real of the run must be a number to the coder, never one of its atoms.

    Where the coder knows atoms of a leaf, they must be the constants that stand there at times.
    """
    constants: dict[tuple[Skeleton, int], set[float]] = {}
    reals: set[tuple[Skeleton, int]] = set()
    for group in examples.groups:
        for leaf, column in enumerate(group.columns):
            if column.dtype.kind != "f":
                continue
            marked = np.isin(column, _MARKER + np.arange(layout.width))
            constants[group.skeleton, leaf] = set(column[~marked].tolist())
            if marked.any():
                reals.add((group.skeleton, leaf))
    for place in reals:
        atoms = coder.splitter._atoms.get(place, np.empty(0))
        if not set(atoms.tolist()) <= constants[place]:
            raise NotCompiled("numbers that come up again and again")


def _digest(attack: ThresholdAttack) -> bytes:
    """What an attack is: made once for an object, which stays alive so that its place is its."""
    known = _digests.get(id(attack))
    if known is None:
        known = _digests[id(attack)] = attack, hashlib.sha256(pickle.dumps(attack, 5)).digest()
        while len(_digests) > _MOST_HELD:
            _digests.popitem(last=False)
    return known[1]


def scored_for(mechanism: Mechanism, x: Any, attack: ThresholdAttack) -> CompiledScores:
    """Counts of an attack's scores on an input, by a kernel that agrees with its scorer."""
    compiled = compiled_for(mechanism, x)
    key = id(compiled.program), _digest(attack)
    if key not in _held:
        scored = CompiledScores(compiled, rule_of(attack, compiled.layout))
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


def check(scored: CompiledScores, compiled: Compiled, attack: ThresholdAttack) -> None:
    """Raises NotCompiled unless the kernel counts what the scorer counts on the same runs."""
    seed = block_seed(7, 0)
    score = attack.scorer.scores(compiled.samples(_COMPARED, seed))
    score = -score if attack.flipped else score
    found = scored.counts(_COMPARED, seed)
    expected = [score > attack.t, score == attack.t, score < attack.low]
    if [found.above, found.equal, found.below] != [int(np.count_nonzero(e)) for e in expected]:
        raise NotCompiled("the fused score is another one")


def score_block(
    mechanism: Mechanism, attack: ThresholdAttack, x: Any, size: int, seed: Seed, number: int
) -> tuple[int, int, int, int]:
    """Block `number` of `size` runs, counted: the unit of work that is sent to a worker."""
    rows = block_rows("numpy", int(size))
    count = min(rows, int(size) - number * rows)
    found = scored_for(mechanism, x, attack).counts(count, block_seed(seed, number))
    return found.size, found.above, found.equal, found.below


def count_scores(
    mechanism: Mechanism,
    attack: ThresholdAttack,
    draws: Sequence[tuple[Any, int, Seed]],
    map_blocks: Callable[..., list[Any]] | None = None,
    device: str = "numpy",
) -> list[ScoreCounts]:
    """The counts of an attack on each (x, size, seed); NotCompiled where samples must be drawn.

    On a GPU, by `map_kept` of a `Runner`, or in this process.
    """
    if any(size < WORTHWHILE for _, size, _ in draws):
        raise NotCompiled("few runs")
    if device.startswith("cuda"):
        return [_on_gpu(mechanism, x, attack, device).counts(size, seed) for x, size, seed in draws]
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
        settings = ("native scores", tuple(draws), _digest(attack))
        parts = map_blocks(task, range(len(places)), mechanism=mechanism, settings=settings)
    found: list[list[Any]] = [[] for _ in draws]
    for (which, _), part in zip(places, parts, strict=True):
        found[which].append(part)
    return [ScoreCounts(*(sum(c) for c in zip(*some, strict=True))) for some in found]


def _on_gpu(mechanism: Mechanism, x: Any, attack: ThresholdAttack, device: str) -> GpuScored:
    scored = scored_for(mechanism, x, attack)
    key = id(scored.compiled.program), contents(x), device, _digest(attack)
    if key not in _cards:
        _cards[key] = GpuScored(scored, device)
        while len(_cards) > _MOST_HELD:
            _cards.popitem(last=False)
    return _cards[key]


def _one_of_many(
    mechanism: Mechanism,
    attack: ThresholdAttack,
    draws: tuple[tuple[Any, int, Seed], ...],
    places: tuple[tuple[int, int], ...],
    place: int,
) -> tuple[int, int, int, int]:
    which, number = places[place]
    return score_block(mechanism, attack, *draws[which], number)
