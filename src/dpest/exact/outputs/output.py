"""One input's whole output distribution: to look at, evaluate, plot and sample."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.errors import InputError, MissingExtraError, RefusedError
from dpest.exact.integration.latents import Latents
from dpest.exact.integration.quadrature import Floats
from dpest.exact.outputs.cells import OutputCell, build_cells, constant_key, settle_cells
from dpest.exact.outputs.factors import FactorGroup, LeafBlock, groups_of
from dpest.geometry.linear import Condition, Form, rational
from dpest.notebooks import as_html
from dpest.reading.paths import Path, Trace
from dpest.running.skeleton import flatten, leaf_kinds, numbers_alike, unflatten

_MOST_OUTCOMES = 100_000
_REJECTED = object()
REAL = "a real number"


class _Released:
    """Stands in an outcome for a real number that is released there."""

    def __repr__(self) -> str:
        return "…"

    def __hash__(self) -> int:
        return hash(REAL)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Released)


RELEASED = _Released()


@dataclass(frozen=True)
class ObservedOutcome:
    """What an observer sees apart from the reals, and its probability.

    `output` has `…` where a real number is released.
    """

    output: Any
    probability: float


class OutputDistribution:
    """The exact distribution of a mechanism's output on one input.

    Discrete outputs have probabilities; real ones a density in the released numbers, within an
    outcome that tells the rest. `leftover` bounds the probability that was not explored.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.leftover = float(trace.leftover)

    # Outcomes

    @functools.cached_property
    def outcomes(self) -> list[ObservedOutcome]:
        """All outcomes with their probabilities, the likeliest first."""
        found: dict[Any, tuple[Any, float]] = {}
        for group, cells in self._masses:
            size = math.prod(len(c) for c in cells)
            if size > _MOST_OUTCOMES:
                raise RefusedError(
                    f"{size} outcomes are too many to list; use log_density() or sample()"
                )
            for combination in itertools.product(*cells):
                leaves: list[Any] = [None] * sum(len(b.positions) for b in group.blocks)
                log_p = 0.0
                for block, cell in zip(group.blocks, combination, strict=True):
                    log_p += _cell_mass(cell)
                    for j, leaf in zip(block.positions, cell.leaves, strict=True):
                        leaves[j] = leaf
                key = (numbers_alike(group.skeleton), tuple(map(constant_key, leaves)))
                output, known = found.get(key, (unflatten(group.skeleton, leaves), 0.0))
                found[key] = (output, known + math.exp(log_p))
        listed = [ObservedOutcome(output, p) for output, p in found.values() if p > 0]
        return sorted(listed, key=lambda o: -o.probability)

    @functools.cached_property
    def total(self) -> float:
        """The sum of all probabilities: 1 up to rounding and what was not explored."""
        return math.fsum(
            math.prod(math.fsum(math.exp(_cell_mass(c)) for c in cells) for cells in blocks)
            for _, blocks in self._masses
        )

    @functools.cached_property
    def _masses(self) -> list[tuple[FactorGroup, list[list[OutputCell]]]]:
        """Groups and their blocks' cells with the reals unobserved."""
        hidden = replace(self.trace, paths=tuple(_hidden(p) for p in self.trace.paths))
        latents = [Latents(self.trace.noises)]
        found = [
            (g, [build_cells(b.regions, [self.trace.noises], latents) for b in g.blocks])
            for g in groups_of([hidden])
        ]
        settle_cells(cell for _, blocks in found for cells in blocks for cell in cells)
        return found

    # Densities

    @functools.cached_property
    def _cells(self) -> list[tuple[FactorGroup, list[tuple[LeafBlock, list[OutputCell]]]]]:
        return [
            (g, [(b, build_cells(b.regions, [self.trace.noises])) for b in g.blocks])
            for g in groups_of([self.trace])
        ]

    def log_density(self, output: Any) -> float:
        """Log of the probability of a discrete output, or of the density of one with reals.

        An output that has a probability of its own, such as a bound of a clipped number, has no
        density besides: reals that lie on it by chance weigh nothing there.
        """
        return self._located(output)[1]

    def _located(self, output: Any) -> tuple[int, float]:
        """The number of reals of an output, and its log density with respect to them."""
        skeleton, leaves = flatten(output)
        found = []
        for group, blocks in self._cells:
            if numbers_alike(group.skeleton) != numbers_alike(skeleton):
                continue
            parts = [_log_density(c, [leaves[j] for j in b.positions]) for b, c in blocks]
            found.append((sum(p[0] for p in parts), math.fsum(p[1] for p in parts)))
        return _weightiest(found)

    def density(self, output: Any) -> float:
        return math.exp(self.log_density(output))

    def probability(self, output: Any) -> float:
        """The probability of an output: of lattice noise, too.

        Raises RefusedError for an output that has a density (see `density`).
        """
        reals, log = self._located(output)
        if reals and log > -math.inf:
            raise RefusedError(
                f"{output!r} has a density and no probability of its own: use density()"
            )
        return math.exp(log)

    def marginal(
        self, leaf: int = 0, points: Sequence[float] | None = None
    ) -> tuple[Floats, Floats]:
        """Points and the density of one real leaf at them, summed over all outcomes that have it.

        Leaves are counted in reading order. The density integrates to the probability that the
        leaf is released.
        """
        kept = tuple(
            _hidden(p, keep=leaf)
            for p in self.trace.paths
            if leaf < len(p.leaves) and isinstance(p.leaves[leaf], Form)
        )
        if not kept:
            raise InputError(f"leaf {leaf} is not a real number on any path")
        trace = replace(self.trace, paths=kept)
        cells = [
            cell
            for group in groups_of([trace])
            for block in group.blocks
            for cell in build_cells(block.regions, [self.trace.noises])
            if leaf in block.positions and cell.coordinates
        ]
        x = np.array(points, dtype=float) if points is not None else _window(cells, self.trace)
        total = np.zeros(len(x))
        for cell in cells:
            (coordinate,) = cell.coordinates
            scale = float(coordinate.combination[0])
            values = cell.log_density(0, {coordinate.symbol: x * scale})
            total += np.exp(values) * (1.0 if coordinate.lattice else abs(scale))
        return x, total

    # Samples and pictures

    def sample(self, size: int, seed: int | None = None) -> list[Any]:
        """Outputs drawn from the traced distribution (not by running the mechanism).

        A path that counts more than once (a loop that begins anew) is drawn by rejection. What was
        not explored (see `leftover`) is drawn again: no output is made up.
        """
        generator = np.random.default_rng(seed)
        weights = [
            math.prod(float(c.probability) for c in path.choices if c.site == "again")
            for path in self.trace.paths
        ]
        shares = None
        if any(weight > 1 for weight in weights):
            shares = [weight / max(weights) for weight in weights]
        kept: list[Any] = []
        while len(kept) < size:
            kept += [v for v in self._drawn(size, generator, shares) if v is not _REJECTED]
        return kept[:size]

    def _drawn(
        self, size: int, generator: np.random.Generator, shares: list[float] | None = None
    ) -> list[Any]:
        draws = {s: np.asarray(n.sample(generator, size)) for s, n in self.trace.noises.items()}
        coins: dict[Any, Any] = {}
        outputs: list[Any] = [_REJECTED] * size
        open_rows = np.ones(size, dtype=bool)
        for number, path in enumerate(self.trace.paths):
            inside = open_rows.copy()
            for condition in path.conditions:
                inside &= _holds(condition, draws, size)
            for choice in path.choices:
                key = (choice.site, choice.noise)
                if key not in coins:
                    coins[key] = choice.noise.sample(generator, size)
                inside &= np.array([v == choice.outcome for v in coins[key]], dtype=bool)
            rows = np.flatnonzero(inside)
            open_rows[rows] = False
            if shares is not None:
                rows = rows[generator.random(len(rows)) < shares[number]]
            kinds = leaf_kinds(path.skeleton)
            columns = [
                self._column(leaf, kind, draws, rows)
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            ]
            for i, row in enumerate(rows):
                outputs[row] = unflatten(path.skeleton, [c[i] for c in columns])
        return outputs

    def _column(self, leaf: Any, kind: str, draws: dict[Any, Any], rows: Any) -> list[Any]:
        """A leaf's values in some rows, as numbers of the kind that the program releases."""
        if not isinstance(leaf, Form):
            return [leaf] * len(rows)
        total = np.full(len(rows), float(leaf.constant))
        for symbol, c in leaf.terms.items():
            if symbol in self.trace.indicators:
                values = _truth_values(self.trace.indicators[symbol], draws)[rows].astype(float)
            else:
                values = draws[symbol][rows].astype(float)
            total = total + float(c) * values
        if kind == "bool":
            return [bool(v) for v in total]
        if kind == "int":
            return [round(v) for v in total.tolist()]
        return [float(v) for v in total]

    def plot(self, axes: Any = None) -> Any:
        """Bars for the outcomes, or the first real leaf's density. Returns matplotlib's axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError("report", "plotting") from error
        axes = axes if axes is not None else plt.gca()
        shown = self.outcomes[:40]
        if len(self.outcomes) == 1 and any(
            isinstance(leaf, Form) for leaf in self.trace.paths[0].leaves
        ):
            x, y = self.marginal(0)
            axes.plot(x, y)
            axes.set_ylabel("density")
        else:
            axes.bar([str(o.output) for o in shown], [o.probability for o in shown])
            axes.set_ylabel("probability")
            axes.tick_params(axis="x", rotation=90)
        return axes

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def __str__(self) -> str:
        lines = [f"{o.probability:.12g}  {o.output!r}" for o in self.outcomes[:20]]
        if len(self.outcomes) > 20:
            lines.append(f"… {len(self.outcomes) - 20} more outcomes")
        return "\n".join(lines)


def output_distribution(trace: Trace) -> OutputDistribution:
    """The exact output distribution of a traced mechanism on one input."""
    return OutputDistribution(trace)


def _hidden(path: Path, keep: int | None = None) -> Path:
    """The path with its reals unobserved, but for one. Indicators stay: they are discrete."""
    leaves = tuple(
        RELEASED
        if j != keep and isinstance(leaf, Form) and any(s.kind == "noise" for s in leaf.terms)
        else leaf
        for j, leaf in enumerate(path.leaves)
    )
    return replace(path, leaves=leaves)


def _cell_mass(cell: OutputCell) -> float:
    return float(cell.log_density(0, {})) if cell.pieces[0] else -math.inf


def _weightiest(found: Sequence[tuple[int, float]]) -> tuple[int, float]:
    """Of (dimension, log density) those of the least dimension that has any, added up."""
    alive = [(d, v) for d, v in found if v > -math.inf]
    if not alive:
        return 0, -math.inf
    least = min(d for d, _ in alive)
    return least, float(np.logaddexp.reduce([v for d, v in alive if d == least]))


def _log_density(cells: Sequence[OutputCell], leaves: Sequence[Any]) -> tuple[int, float]:
    """The number of reals among the coordinates, and the log density with respect to them."""
    found = []
    for cell in cells:
        constants = [j for j in range(len(leaves)) if j not in cell.real]
        if any(constant_key(cell.leaves[j]) != constant_key(leaves[j]) for j in constants):
            continue
        reals = [leaves[j] for j in cell.real]
        if any(isinstance(v, (bool, str)) or v is None for v in reals):
            continue
        if not _on_relations(cell, reals):
            continue
        values = {
            c.symbol: np.array(
                [
                    math.fsum(
                        float(k) * float(reals[j])
                        for k, j in zip(c.combination, cell.shape.free, strict=True)
                    )
                ]
            )
            for c in cell.coordinates
        }
        log_p = np.atleast_1d(cell.log_density(0, values))[0] + cell.log_jacobian
        found.append((sum(not c.lattice for c in cell.coordinates), float(log_p)))
    return _weightiest(found)


def _on_relations(cell: OutputCell, reals: Sequence[Any]) -> bool:
    exact = [rational(float(v)) for v in reals]
    return all(
        sum((c * v for c, v in zip(row, exact, strict=True)), start=type(value)(0)) == value
        for row, value in cell.shape.relations
    )


def _window(cells: Sequence[OutputCell], trace: Trace) -> Floats:
    spots: list[float] = []
    longest = max((math.sqrt(n.variance) for n in trace.noises.values()), default=1.0)
    scale = 0.0
    for cell in cells:
        (coordinate,) = cell.coordinates
        unit = float(coordinate.combination[0])  # the coordinate per unit of the leaf
        scale = max(scale, longest / abs(unit))
        for piece in cell.pieces[0]:
            for term in piece.terms:
                for line in term.lines():
                    if coordinate.symbol in line.terms:
                        kink = float(-line.constant / line.terms[coordinate.symbol])
                        spots.append(kink / unit)
    low, high = min(spots, default=0.0) - 6 * scale, max(spots, default=0.0) + 6 * scale
    if all(c.coordinates[0].lattice for c in cells):
        return np.arange(math.floor(low), math.ceil(high) + 1, dtype=float)
    return np.linspace(low, high, 601)


def _holds(condition: Condition, draws: dict[Any, Any], size: int) -> Any:
    total = np.full(size, float(condition.form.constant))
    for symbol, c in condition.form.terms.items():
        total = total + float(c) * draws[symbol]
    if condition.relation == ">=":
        return total >= 0
    if condition.relation == ">":
        return total > 0
    return (np.abs(total) < 1e-12) == (condition.relation == "==")


def _truth_values(formula: Any, draws: dict[Any, Any]) -> Any:
    size = len(next(iter(draws.values())))
    if formula.condition is not None:
        return _holds(formula.condition, draws, size)
    parts = [_truth_values(p, draws) for p in formula.parts]
    return np.logical_and.reduce(parts) if formula.conjunction else np.logical_or.reduce(parts)
