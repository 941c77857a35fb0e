"""The account of a way: the steps that its stages and its keys cost; and of all ways together.

**One record in all stages.** An output fixes all rows, and by that the moves of all pure noises.
The ratio of its densities is a product in which one and the same record moves every noise. So ε is
the largest sum of costs that one record has, case by case, over all stages, however they follow
each other: of means by groups, each record is in one group alone. (For other measures costs of
stages add up.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from ..invalid import Invalid
from .accountant import ONE, ZERO, Ledger, StageLoss, merged
from .choices import choice_cost, point_cost
from .costs import UNBOUNDED, gaussian_cost, laplace_cost, truncated_step
from .gates import gate_steps
from .moves import form_range, moves
from .people import steps_of_people, sums_of_several_rows
from .sampling import amplified, coin_of, coins_seen
from .shifts import WHOLE, atoms
from .stages import Stage, stages_of
from .ways import Shift, StageWay
from .whole_numbers import require_whole


def steps_of(way: StageWay) -> list[StageLoss]:
    """The cost of one way: stage by stage, or of one record in all of them if that is less."""
    stages = stages_of(way)
    steps = _separate_steps(way, stages)
    if not _may_be_joined(way, stages, steps):
        return steps
    noisy = [s for s in stages if not s.exponents]
    choices = sum((s.value for s in _separate_steps(way, [s for s in stages if s.exponents])), ZERO)
    whole = Stage(0, {n: shift for s in noisy for n, shift in s.shifts.items()})
    joined = sum((s.value for s in _noise_steps(way, whole, ONE)), choices)
    # One step of this size is no worse than the steps are together, for ρ either.
    less = joined**2 <= sum((s.value**2 for s in steps), ZERO)
    return [StageLoss("pure", joined)] if less else steps


def _may_be_joined(way: StageWay, stages: Sequence[Stage], steps: Sequence[StageLoss]) -> bool:
    """Whether all steps are pure, and cases of records in several stages may exclude each other."""
    if any(s.kind not in ("laplace", "pure") or s.q < 1 for s in steps):
        return False
    if way.moved or way.apart or any(p.times > 1 for p in way.passes):
        return False
    split = [
        any(len(way.passes[p.passed].cases) > 1 for p in atoms(way, s.symbols()) if p.passed >= 0)
        for s in stages
        if not s.exponents
    ]
    return sum(split) > 1


def _separate_steps(way: StageWay, stages: Sequence[Stage]) -> list[StageLoss]:
    found: list[tuple[int, StageLoss]] = []
    for i, stage in enumerate(stages):
        q = ONE
        coin = None if way.moved or way.apart else coin_of(way, stage)
        others = [coins_seen(way, s) for j, s in enumerate(stages) if j != i]
        alone = coin is not None and not any(coin[0] in seen for seen in others)
        if coin is not None and alone and coins_seen(way, stage) == {coin[0]}:
            q = coin[1]
        found += [(stage.first, step) for step in _stage_steps(way, stage, q)]
    for gate in way.gates:
        found += [(gate.made, step) for step in gate_steps(way, gate)]
    found.sort(key=lambda s: s[0])
    return [step for _, step in found]


def _stage_steps(way: StageWay, stage: Stage, q: Fraction) -> list[StageLoss]:
    if stage.points:
        return [_point_step(way, stage, q)]
    if stage.exponents:
        return [_choice_step(way, stage, q)]
    if way.replace and q < 1:
        return _subset_steps(way, stage, q)
    return _noise_steps(way, stage, q)


def _choice_step(way: StageWay, stage: Stage, q: Fraction) -> StageLoss:
    """A choice; of a Poisson sample, as if all were in it."""
    if sums_of_several_rows(way, stage):
        raise Invalid("a step that is not known for people with several rows")
    worst = ZERO
    for move in moves(way, stage.symbols(), sampled=way.replace and q < 1):
        cost = choice_cost([form_range(e, move) for e in stage.exponents])
        if cost is None:
            raise UNBOUNDED
        worst = max(worst, cost)
    return StageLoss("pure", amplified(worst, q) if way.replace and q < 1 else worst)


def _point_step(way: StageWay, stage: Stage, q: Fraction) -> StageLoss:
    """A point; one record comes, goes or is replaced, and nothing else of the data moves."""
    if sums_of_several_rows(way, stage) or way.moved or way.apart or q < 1:
        raise Invalid("a point that is chosen from other data than single records")
    (exponent,) = stage.exponents
    cost = point_cost([form_range(exponent, move) for move in moves(way, stage.symbols())])
    if cost is None:
        raise UNBOUNDED
    return StageLoss("pure", cost)


def _subset_steps(way: StageWay, stage: Stage, q: Fraction) -> list[StageLoss]:
    """A stage of a subset of the records: pure steps are amplified, others are not."""
    steps = _noise_steps(way, stage, ONE, sampled=True)
    alone = not sums_of_several_rows(way, stage)
    if alone and all(s.kind in ("laplace", "pure") for s in steps):
        total = sum((s.value for s in steps), ZERO)
        return [StageLoss("pure", amplified(total, q))]
    return _noise_steps(way, stage, ONE)


Kinds = dict[str, dict[int, Shift]]
"""Of each kind of noise, which are moved, and by what."""


def _kinds(way: StageWay, stage: Stage) -> Kinds:
    kinds: Kinds = {"gauss": {}, "laplace": {}, "truncated": {}, "whole": {}}
    for n, shift in stage.shifts.items():
        noise = way.noises[n]
        if noise.most is not None:
            if noise.family != "laplace":
                raise Invalid("noise that is drawn again, other than Laplace noise")
            kinds["truncated"][n] = shift
        elif noise.family in ("normal", "laplace"):
            kinds["gauss" if noise.family == "normal" else "laplace"][n] = shift
        elif noise.family in WHOLE:
            require_whole(way, shift)
            kinds["whole"][n] = shift
        else:
            raise Invalid(f"noise of the family {noise.family}")
    return kinds


def _noise_steps(
    way: StageWay, stage: Stage, q: Fraction, sampled: bool = False
) -> list[StageLoss]:
    kinds, rows = _kinds(way, stage), sums_of_several_rows(way, stage)
    if rows:
        once = stage.symbols() - rows
        inside = rows - stage.symbols() or rows & atoms(way, once)
        if kinds["truncated"] or kinds["whole"] or inside:
            raise Invalid("a step that is not known for people with several rows")
        return steps_of_people(way, kinds, rows, once)
    listed = moves(way, stage.symbols(), sampled)
    several = sum(map(bool, kinds.values())) > 1
    if several or kinds["truncated"]:
        q = ONE
    steps = []
    if kinds["gauss"]:
        mu2 = max((gaussian_cost(way, kinds["gauss"], m) for m in listed), default=ZERO)
        steps.append(StageLoss("gauss", mu2, q))
    if kinds["laplace"]:
        epsilon = max((laplace_cost(way, kinds["laplace"], m) for m in listed), default=ZERO)
        one = len(kinds["laplace"]) == 1
        steps.append(StageLoss("laplace" if one else "pure", epsilon, q))
    if kinds["whole"]:
        epsilon = max((laplace_cost(way, kinds["whole"], m) for m in listed), default=ZERO)
        steps.append(StageLoss("pure", epsilon, q))
    for n, shift in kinds["truncated"].items():
        options = [truncated_step(way, n, shift, m) for m in listed]
        if options:
            steps.append(
                StageLoss("bad", max(s.value for s in options), delta=max(s.delta for s in options))
            )
    return steps


def together(many: Sequence[list[StageLoss]]) -> Ledger:
    """One account for all ways: the worst at each depth, or the worst total of one kind."""
    ledgers = [merged((s, 1) for s in steps) for steps in many]
    if all(sorted(led, key=repr) == sorted(ledgers[0], key=repr) for led in ledgers):
        return ledgers[0]
    steps = [s for one in many for s in one]
    if all(s.kind == "gauss" and s.q == 1 for s in steps):
        return [(StageLoss("gauss", max(sum((s.value for s in one), ZERO) for one in many)), 1)]
    if all(s.kind in ("laplace", "pure") and s.q == 1 for s in steps):
        return [(StageLoss("pure", max(sum((s.value for s in one), ZERO) for one in many)), 1)]
    worst = []
    for depth in itertools.zip_longest(*many):
        here = [s for s in depth if s is not None and (s.value or s.delta)]
        if not here:
            continue
        if len({(s.kind, s.q) for s in here}) != 1:
            raise Invalid("ways whose steps are of different kinds")
        worst.append(
            StageLoss(
                here[0].kind, max(s.value for s in here), here[0].q, max(s.delta for s in here)
            )
        )
    return merged((s, 1) for s in worst)
