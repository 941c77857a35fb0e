"""A lower bound on what neighbours cost in a model of noisy sums, by densities and laws.

Noises are independent. Where the rows fix how each is moved, the loss is a sum of theirs; else
sums of noises that one row alone has are one noise. What is not covered is `Undecided`.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kernel.running_models import Model, Pair, Run, Undecided

STEP, FAR = 1 / 256, 64.0
TINY = 1e-9


@dataclass(frozen=True)
class Noise:
    """A noise; a `tail` is known by its largest loss alone."""

    family: str
    scale: float
    most: float | None = None


@dataclass(frozen=True)
class Moved:
    """Each noise, and how far each run of both neighbours moves it. Chances of runs, of choices."""

    noises: list[Noise]
    moves: list[list[np.ndarray[Any, Any]]]
    chances: list[list[float]]
    choices: list[list[list[np.ndarray[Any, Any]]]]
    """For each neighbour and run, the logarithms of the chances of each choice."""


# How noises are moved ---------------------------------------------------------------------------


def moved_by(pair: Pair) -> Moved | None:
    """None: something moves that has no noise."""
    listed = [Noise(n["family"], float(Fraction(n["scale"])), _most(n)) for n in pair.way["noises"]]
    matrix = _matrix(pair.way)
    noises, matrix = _merged(listed, matrix)
    runs = (pair.first, pair.second)
    start = np.array(pair.first[0].rows)
    offsets = [[np.array(r.rows) - start for r in side] for side in runs]
    rank = np.linalg.matrix_rank(matrix) if matrix.size else 0
    if rank < len(noises):
        noises, matrix, offsets = _as_one(noises, matrix, offsets)
    moves: list[list[np.ndarray[Any, Any]]] = []
    for side in offsets:
        moves.append([])
        for offset in side:
            if matrix.shape[1]:
                found = np.linalg.lstsq(matrix, offset, rcond=None)[0]
                rest = offset - matrix @ found
            else:
                found, rest = np.zeros(0), offset
            if np.abs(rest).max(initial=0) > 1e-6 * (1 + np.abs(start).max(initial=0)):
                if len(side) > 1:
                    raise Undecided("some runs move what has no noise")
                return None
            moves[-1].append(found)
    chances = [[r.chance for r in side] for side in runs]
    choices = [[_choices(pair.way, run) for run in side] for side in runs]
    return Moved(noises, moves, chances, choices)


def _most(noise: Mapping[str, Any]) -> float | None:
    return None if noise["most"] is None else float(Fraction(noise["most"]))


def _matrix(way: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    rows = [row for row in way["rows"] if isinstance(row, list)]
    matrix = np.zeros((len(rows), len(way["noises"])))
    for t, row in enumerate(rows):
        for s, c in row[1]:
            if way["terms"][s][0] == "noise":
                matrix[t, way["terms"][s][1]] += float(Fraction(c))
    return matrix


def _merged(
    noises: Sequence[Noise], matrix: np.ndarray[Any, Any]
) -> tuple[list[Noise], np.ndarray[Any, Any]]:
    """Without noises that no row has; several that one row alone has are one."""
    kept, columns = [], []
    alone: dict[int, list[int]] = {}
    for n, noise in enumerate(noises):
        rows = np.flatnonzero(matrix[:, n]) if matrix.size else []
        if len(rows) == 1:
            alone.setdefault(int(rows[0]), []).append(n)
        elif len(rows):
            kept.append(noise)
            columns.append(matrix[:, n])
    for t, mine in alone.items():
        if len(mine) == 1:
            kept.append(noises[mine[0]])
            columns.append(matrix[:, mine[0]])
            continue
        scales = [abs(matrix[t, n]) * noises[n].scale for n in mine]
        families = {noises[n].family for n in mine}
        if any(noises[n].most is not None for n in mine) or not families <= {"normal", "laplace"}:
            raise Undecided("several noises of one row")
        if families == {"normal"}:
            kept.append(Noise("normal", math.hypot(*scales)))
        else:
            wide = (s for n, s in zip(mine, scales, strict=True) if noises[n].family == "laplace")
            kept.append(Noise("tail", max(wide)))
        columns.append(np.eye(len(matrix))[t])
    return kept, np.array(columns).T.reshape(len(matrix), len(columns))


def _as_one(
    noises: list[Noise], matrix: np.ndarray[Any, Any], offsets: Any
) -> tuple[list[Noise], np.ndarray[Any, Any], Any]:
    """Normal noises alone, more than the rows: the move, in standard deviations of the rows."""
    plain = all(n.family == "normal" and n.most is None for n in noises)
    if not plain or any(len(side) > 1 for side in offsets):
        raise Undecided("more noises than rows")
    spread = matrix * np.array([n.scale for n in noises])
    first, second = offsets[0][0], offsets[1][0]
    shift = np.linalg.lstsq(spread, second - first, rcond=None)[0]
    if np.abs(spread @ shift - second + first).max(initial=0) > 1e-6:
        return [], np.zeros((1, 0)), [[np.zeros(1)], [np.ones(1)]]
    size = np.array([float(np.linalg.norm(shift))])
    return [Noise("normal", 1.0)], np.eye(1), [[np.zeros(1)], [size]]


# Choices ----------------------------------------------------------------------------------------


def _choices(way: Mapping[str, Any], run: Run) -> list[np.ndarray[Any, Any]]:
    rows = [row for row in way["rows"] if isinstance(row, dict)]
    found = []
    for row, exponents in zip(rows, run.choices, strict=True):
        scores = np.array(exponents)
        if not row["noises"]:
            found.append(_log_weights(scores))
            continue
        noise = way["noises"][row["noises"][0]]
        found.append(_log_race(noise["family"], scores / float(Fraction(noise["scale"]))))
    return found


def _log_weights(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    top = scores - scores.max()
    return top - np.log(np.exp(top).sum())


def _log_race(family: str, scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """log P(i has the largest score + noise of scale 1)."""
    scores = scores - scores.max()
    if family == "gumbel":
        return _log_weights(scores)
    if scores.min() < -30:
        raise Undecided("a race that is decided")
    at = np.linspace(scores.min() - 25, 45, 40001)
    each = at[:, None] - scores
    if family == "laplace":
        density, under = (
            np.exp(-np.abs(each)) / 2,
            np.where(
                each < 0, np.exp(np.minimum(each, 0)) / 2, 1 - np.exp(-np.maximum(each, 0)) / 2
            ),
        )
    else:
        density = np.where(each >= 0, np.exp(-np.maximum(each, 0)), 0.0)
        under = np.where(each >= 0, -np.expm1(-np.maximum(each, 0)), 0.0)
    step = at[1] - at[0]
    wins = [
        (density[:, i] * np.delete(under, i, axis=1).prod(axis=1)).sum() * step
        for i in range(len(scores))
    ]
    return np.log(np.array(wins) / sum(wins))


# Largest losses ---------------------------------------------------------------------------------


def largest_loss(moved: Moved) -> float:
    """A lower bound on the largest loss: at far points, and at kinks."""
    if all(len(side) == 1 for side in moved.moves):
        first, second = moved.moves[0][0], moved.moves[1][0]
        noises = sum(
            _single(n, float(d)) for n, d in zip(moved.noises, second - first, strict=True)
        )
        a, b = moved.choices[0][0], moved.choices[1][0]
        ratios = [p - q for p, q in zip(a, b, strict=True)]
        return noises + max(
            sum(float(r.max()) for r in ratios), sum(float((-r).max()) for r in ratios)
        )
    found = 0.0
    for point, chosen in _points(moved):
        p, q = (_log_density(moved, side, point, chosen) for side in (0, 1))
        if math.isfinite(p) or math.isfinite(q):
            found = max(found, abs(p - q))
    return found


def _single(noise: Noise, move: float) -> float:
    """The largest loss of one noise that is moved so far."""
    if abs(move) < TINY:
        return 0.0
    if noise.most is not None or noise.family in ("normal", "exponential", "geometric", "gumbel"):
        return math.inf
    if noise.family in ("laplace", "tail"):
        return abs(move) / noise.scale
    if abs(move - round(move)) > TINY:
        return math.inf
    return abs(move) * _step(noise)


def _step(noise: Noise) -> float:
    return 1 / noise.scale if noise.family == "discrete_laplace" else -math.log(noise.scale)


def _points(moved: Moved) -> Iterator[tuple[tuple[float, ...], tuple[int, ...]]]:
    if any(n.family != "laplace" or n.most is not None for n in moved.noises):
        raise Undecided("a mixture of other noise than Laplace noise")
    runs = [*moved.moves[0], *moved.moves[1]]
    kinks = [sorted({-1e4, 1e4, *(float(r[i]) for r in runs)}) for i in range(len(moved.noises))]
    if math.prod(map(len, kinks)) > 400:
        kinks = [[-1e4, 1e4] for _ in kinks]
    places = [range(len(c)) for c in moved.choices[0][0]]
    for point in itertools.product(*kinks):
        for chosen in itertools.product(*places):
            yield point, chosen


def _log_density(moved: Moved, side: int, point: Any, chosen: Any) -> float:
    found = []
    for move, chance, logs in zip(
        moved.moves[side], moved.chances[side], moved.choices[side], strict=True
    ):
        if chance <= 0:
            continue
        total = math.log(chance)
        total -= sum(
            abs(x - d) / n.scale for x, d, n in zip(point, move, moved.noises, strict=True)
        )
        found.append(total + sum(float(log[i]) for log, i in zip(logs, chosen, strict=True)))
    top = max(found)
    return top + math.log(math.fsum(math.exp(f - top) for f in found))


# Mean losses, and δ -----------------------------------------------------------------------------


def mean_loss(moved: Moved) -> float:
    """A lower bound on ρ: the Kullback-Leibler divergence."""
    if any(len(side) > 1 for side in moved.moves):
        raise Undecided("a mean loss of samples")
    total = 0.0
    for noise, move in zip(moved.noises, moved.moves[1][0] - moved.moves[0][0], strict=True):
        size = abs(float(move)) / noise.scale
        if size < TINY:
            continue
        if noise.most is not None or noise.family in ("exponential", "geometric"):
            return math.inf
        if noise.family == "normal":
            total += size**2 / 2
        elif noise.family == "laplace":
            total += size + math.exp(-size) - 1
    for p, q in zip(moved.choices[0][0], moved.choices[1][0], strict=True):
        total += float((np.exp(p) * (p - q)).sum())
    return total


Law = tuple[np.ndarray[Any, Any], float]
"""Masses of losses on a grid from −FAR to FAR, rounded down; and the mass of an infinite loss."""


def delta(moved: Moved, epsilon: float, extra: Sequence[Law] = ()) -> float:
    """A lower bound on δ(ε)."""
    if any(len(side) > 1 for side in moved.moves):
        return _delta_of_samples(moved, epsilon)
    laws = list(extra)
    for noise, move in zip(moved.noises, moved.moves[1][0] - moved.moves[0][0], strict=True):
        if abs(move) > TINY:
            laws.append(law_of(noise, abs(float(move))))
    for p, q in zip(moved.choices[0][0], moved.choices[1][0], strict=True):
        laws.append(_law(p - q, np.exp(p)))
    return _read(laws, epsilon)


def _law(losses: Any, masses: Any, infinite: float = 0.0) -> Law:
    places = np.floor((np.asarray(losses) + FAR) / STEP).astype(int)
    size = int(2 * FAR / STEP) + 1
    found = np.zeros(size)
    np.add.at(found, np.clip(places, 0, size - 1), np.where(places >= 0, masses, 0.0))
    return found, infinite


def law_of(noise: Noise, move: float) -> Law:
    size = move / noise.scale
    if noise.family == "normal" and noise.most is None:
        at = np.linspace(-9, 9, 4001)
        below = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in at])
        return _law(size * at[:-1] - size**2 / 2 + size**2, np.diff(below))
    if noise.family != "laplace":
        raise Undecided("the law of another noise")
    top = 40.0 if noise.most is None else noise.most / noise.scale
    if noise.most is not None and size >= 2 * top:
        return _law([], [], 1.0)
    at = np.linspace(-top, top, 8001)
    below = np.where(at < 0, np.exp(np.minimum(at, 0)) / 2, 1 - np.exp(-np.maximum(at, 0)) / 2)
    mass = np.diff(below) / (below[-1] - below[0])
    losses = np.abs(at + size) - np.abs(at)
    losses = np.minimum(losses[:-1], losses[1:])
    if noise.most is None:
        return _law(losses, mass)
    lost = at[:-1] + size >= top  # where the other one is never
    return _law(losses[~lost], mass[~lost], float(mass[lost].sum()))


def _read(laws: Sequence[Law], epsilon: float) -> float:
    size = int(2 * FAR / STEP) + 1
    total, kept = _law([0.0], [1.0])[0], 1.0
    for masses, infinite in laws:
        kept *= 1 - infinite
        full = np.fft.irfft(np.fft.rfft(total, 2 * size) * np.fft.rfft(masses, 2 * size), 2 * size)
        middle = int(FAR / STEP)
        total = np.clip(full[middle : middle + size], 0, None)
    losses = np.arange(size) * STEP - FAR
    over = losses > epsilon
    return float(1 - kept + (total[over] * -np.expm1(epsilon - losses[over])).sum())


def _delta_of_samples(moved: Moved, epsilon: float) -> float:
    """One noise alone, by its densities."""
    if len(moved.noises) != 1 or moved.choices[0][0] or moved.noises[0].most is not None:
        raise Undecided("samples with several noises")
    (noise,) = moved.noises
    at = np.linspace(-60, 60, 240001) * noise.scale
    sides = []
    for moves, chances in zip(moved.moves, moved.chances, strict=True):
        each = [
            chance * _density(noise, at - float(m[0]))
            for m, chance in zip(moves, chances, strict=True)
        ]
        sides.append(np.sum(each, axis=0))
    step = at[1] - at[0]
    ways = ((sides[0], sides[1]), (sides[1], sides[0]))
    return max(float(np.clip(p - math.exp(epsilon) * q, 0, None).sum() * step) for p, q in ways)


def _density(noise: Noise, at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if noise.family == "normal":
        return np.exp(-((at / noise.scale) ** 2) / 2) / (noise.scale * math.sqrt(2 * math.pi))
    if noise.family == "laplace":
        return np.exp(-np.abs(at) / noise.scale) / (2 * noise.scale)
    raise Undecided("samples with another noise")


# Claims -----------------------------------------------------------------------------------------


def _gate_laws(
    certificate: Mapping[str, Any], way: Mapping[str, Any], source: random.Random
) -> list[Law]:
    """A key that others have too (its count moves by 1), or one that nobody else has."""
    found = []
    keys = 2 if certificate["adjacency"]["name"] == "replace_one" else 1
    for gate in way["gates"]:
        given = way["noises"][gate["noise"]]
        noise = Noise(given["family"], float(Fraction(given["scale"])), _most(given))
        if source.random() < 0.5:
            found += [law_of(noise, 1.0)] * keys
            continue
        t = (float(Fraction(gate["threshold"])) - 1) / noise.scale
        if noise.family == "normal":
            p = math.erfc(t / math.sqrt(2)) / 2
        else:
            p = math.exp(-t) / 2 if t >= 0 else 1 - math.exp(t) / 2
        found.append(_law([0.0], [1.0], p))
    return found


def cost(
    certificate: Mapping[str, Any], measure: str, bound: float, pair: Pair, source: Any
) -> float:
    """What a pair costs in a measure; of ε with a δ it is the δ at this ε."""
    with_delta = measure == "epsilon" and Fraction(certificate["delta"]) > 0
    moved = moved_by(pair)
    if moved is None:
        return 1.0 if with_delta else math.inf
    gates = pair.way["gates"]
    if with_delta:
        extra = _gate_laws(certificate, pair.way, source)
        return delta(moved, bound, extra)
    if gates:
        return math.inf
    if measure == "epsilon":
        return largest_loss(moved)
    return mean_loss(moved) * (2 if measure == "mu2" else 1)


@dataclass
class Judgment:
    """The largest cost of all pairs, and how many could be measured."""

    worst: float = 0.0
    measured: int = 0
    violated: bool = False


def judged(
    certificate: Mapping[str, Any], pairs: int = 100, seed: object = 0, most: float = 1.0
) -> Judgment:
    """What many pairs of neighbours cost. Is it more than `most` times what is claimed?"""
    source = random.Random(f"judged {seed}")
    measure, bound = certificate["measure"], most * float(Fraction(certificate["epsilon"]))
    with_delta = measure == "epsilon" and Fraction(certificate["delta"]) > 0
    allowed = float(Fraction(certificate["delta"])) if with_delta else bound
    found = Judgment()
    for i in range(max(4, pairs // 8) if with_delta else pairs):
        way = certificate["ways"][i % len(certificate["ways"])]
        try:
            one = cost(certificate, measure, bound, Model(certificate, way, source).pair(), source)
        except Undecided:
            continue
        found.measured += 1
        found.worst = max(found.worst, float(one))
        found.violated |= bool(one > allowed * (1 + 1e-6) + 1e-7)
    return found
