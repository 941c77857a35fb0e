"""From rows that are treated as released to steps of an account.

**Common shift.** A row is Σ d·noise + Σ b·(private symbol) + public. Neighbours differ in the
private symbols by Δ. Rows are taken in the order in which they became visible; in each, noises that
no earlier row has are moved so that the row stays as it is. So the second run with moved noises
shows the same rows, hence takes the same ways and shows the same outputs. A noise is moved by a
number that earlier rows fix (what a record adds may depend on them), and is independent of them:
the program is a post-processing of adaptive additive-noise steps.

**Stages.** Rows whose sums were all made before the first of them was visible are one stage: what
one record moves is looked at in all of them together, case by case. Costs of stages compose.

**Functions of sums.** abs, min, max of forms, and one of several forms at a public place, move by
no more than the form that moves most.

**Choices** between public candidates are stages of their own (`choices.py`).

**Whole numbers.** A noise on the whole numbers hides whole moves alone: slopes and sums must be
whole. Its cost for a move of d is d/scale, or d·(−ln α) where its chances fall off by α a step.

**Moved data.** Where neighbours differ by numbers that move (l1, linf, monotone), a form moves by
its slope times that. Costs are convex in the move, and positively homogeneous (ε, √μ²), and the
ball of l1 is the hull of moves of one entry by the whole radius: those are looked at.

**Subsets.** n records are known, and m of them are drawn, each set of m being as likely as another.
One record is replaced. Where all that a stage adds is of records of the subset, and nothing else
looks at it, a stage that is ε-private for replacing a record of the subset is
ln(1 + m/n·(e^ε − 1))-private (Balle, Barthe and Gaboardi 2018, Theorem 9: a subset without the
record becomes one with it by replacing one of its records).

**Samples.** Where every case in which a record adds anything needs heads of one and the same coin
of the record, and that coin is looked at in one stage alone, the stage is a mechanism on a Poisson
sample. In any other use the coin is dropped: with equal coins, samples of neighbours are
neighbours or equal, and the bound without sampling holds by joint convexity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..invalid import Invalid
from .accountant import ONE, ZERO, Ledger, StageLoss, merged
from .choices import choice_cost
from .enclosures import exp_range, log_range, normal_cdf_range, rounded, sqrt_range
from .terms import (
    Range,
    RecordCondition,
    RecordForm,
    RecordTerms,
    high_of,
    low_of,
    plus,
    scaled,
    size,
)

MOST_CASES = 3000


@dataclass(frozen=True, order=True)
class Private:
    """A private symbol: a place of the sums of a pass, or (pass −1) a symbol of one record."""

    passed: int
    place: int


Shift = dict[Private, Fraction]


@dataclass(frozen=True)
class StageNoise:
    family: str
    scale: Fraction
    most: Fraction | None = None


@dataclass(frozen=True)
class StageCase:
    conditions: tuple[RecordCondition, ...]
    adds: tuple[RecordForm, ...]


@dataclass(frozen=True)
class StagePass:
    cases: tuple[StageCase, ...]
    made: int
    times: int = 1
    """How often one neighbour may be in it: how many rows a person has."""


@dataclass(frozen=True)
class StageGate:
    noise: int
    threshold: Fraction
    made: int


@dataclass(frozen=True)
class StageChoice:
    """What is chosen by weights with these exponents, or by a race of these scores with noises."""

    exponents: tuple[RecordForm, ...]
    noises: tuple[int, ...] = ()


MOVED = ("l1", "linf", "monotone")


@dataclass(frozen=True)
class StageWay:
    """One way through the program.

    `moved`: one of `MOVED` where the data are numbers that move, by `radius`. `length`: how many
    records there are, where that is known.
    """

    terms: RecordTerms
    passes: tuple[StagePass, ...]
    noises: tuple[StageNoise, ...]
    rows: tuple[RecordForm | StageChoice, ...]
    gates: tuple[StageGate, ...]
    replace: bool
    apart: bool
    moved: str = ""
    radius: Fraction = ONE
    length: int | None = None


@dataclass
class Stage:
    """Noises that are moved together, and the private symbols that move them."""

    first: int
    shifts: dict[int, Shift]
    exponents: tuple[Shift, ...] = ()

    def symbols(self) -> set[Private]:
        return {p for shift in (*self.shifts.values(), *self.exponents) for p in shift}


# Shifts ------------------------------------------------------------------------------------------


def shifts_of(way: StageWay) -> list[tuple[int, dict[int, Shift]]]:
    """Row by row, the noises that it moves; refuses rows that no noise can keep as they are."""
    known: dict[int, Shift] = {}
    found = []
    for t, row in enumerate(way.rows):
        noises: dict[int, Fraction] = {}
        rest: Shift = {}
        if isinstance(row, StageChoice):
            continue
        if row.constant:
            raise Invalid("a row with a constant")
        for symbol, c in row.terms:
            s = way.terms.symbols[symbol]
            if s.after > t:
                raise Invalid("a row that depends on later ones")
            if s.op == "noise":
                noises[s.numbers[0]] = c
            else:
                key = _private(way, symbol, t)
                rest[key] = rest.get(key, ZERO) + c
        for noise, c in noises.items():
            for key, slope in known.get(noise, {}).items():
                rest[key] = rest.get(key, ZERO) + c * slope
        rest = {k: c for k, c in rest.items() if c}
        fresh = {n: c for n, c in noises.items() if n not in known}
        if rest and not fresh:
            raise Invalid("a private value is shown, or decides, without noise of its own")
        moved = _shared(way, fresh, rest)
        known.update(moved)
        found.append((t, moved))
    return found


def exponents_of(way: StageWay, choice: StageChoice, t: int) -> tuple[Shift, ...]:
    """The private symbols in the exponents of a choice; public ones don't move.

    Those of a race are scores, in units of its noise.
    """
    scale = way.noises[choice.noises[0]].scale if choice.noises else ONE
    return tuple(_private_part(way, form.times(1 / scale), t) for form in choice.exponents)


def _private_part(way: StageWay, form: RecordForm, t: int) -> Shift:
    found: Shift = {}
    for symbol, c in form.terms:
        s = way.terms.symbols[symbol]
        if s.after > t:
            raise Invalid("a choice that depends on later rows")
        if s.op in ("sum", "noise") or s.private or s.record:
            key = _private(way, symbol, t)
            found[key] = found.get(key, ZERO) + c
    return found


def _private(way: StageWay, symbol: int, t: int) -> Private:
    s = way.terms.symbols[symbol]
    if s.private:
        for form in s.forms:
            _private_part(way, form, t)
        return Private(-2, symbol)
    if s.op == "sum":
        p, place = s.numbers
        if way.passes[p].made > t:
            raise Invalid("a row with a sum that was made later")
        return Private(p, place)
    if s.record and way.apart and s.index is not None:
        return Private(-1, symbol)
    raise Invalid("a row with something that is neither noise nor a sum")


def _shared(way: StageWay, fresh: Mapping[int, Fraction], rest: Shift) -> dict[int, Shift]:
    """How the fresh noises of a row share its move."""
    still: dict[int, Shift] = {n: {} for n in fresh}
    if not rest:
        return still
    fresh = {n: c for n, c in fresh.items() if way.noises[n].family in MOVING}
    if not fresh:
        raise Invalid("noise on one side alone hides nothing")
    normal = [n for n in fresh if way.noises[n].family == "normal" and way.noises[n].most is None]
    if normal:  # in proportion to their variances: the least cost
        weights = {n: fresh[n] * way.noises[n].scale ** 2 for n in normal}
        total = sum((fresh[n] * w for n, w in weights.items()), ZERO)
        for n, w in weights.items():
            still[n] = {k: -c * w / total for k, c in rest.items()}
        return still
    smooth = [n for n in fresh if way.noises[n].family not in WHOLE]
    best = max(smooth or fresh, key=lambda n: abs(fresh[n]) * spread(way.noises[n]))
    still[best] = {k: -c / fresh[best] for k, c in rest.items()}
    return still


WHOLE = ("discrete_laplace", "two_sided_geometric")
MOVING = ("normal", "laplace", *WHOLE)
"""Noises on both sides of 0: a move costs something, and not everything."""


def spread(noise: StageNoise) -> Fraction:
    """How far a noise is moved for ε = 1; for one that falls off by α a step, a lower bound."""
    if noise.family != "two_sided_geometric":
        return noise.scale
    return 1 / -log_range(noise.scale)[0]


def stages_of(way: StageWay) -> list[Stage]:
    found: list[Stage] = []
    for t, moved in shifts_of(way):
        moved = {n: s for n, s in moved.items() if s}
        if not moved:
            continue
        symbols = {p for shift in moved.values() for p in shift}
        births = [way.passes[p.passed].made for p in atoms(way, symbols) if p.passed >= 0]
        births += [way.terms.symbols[p.place].after for p in symbols if p.passed == -2]
        joined = found and (way.apart or all(b <= found[-1].first for b in births))
        if not joined:
            found.append(Stage(t, {}))
        found[-1].shifts.update(moved)
    for t, row in enumerate(way.rows):
        if isinstance(row, StageChoice):
            found.append(Stage(t, {}, exponents_of(way, row, t)))
    return found


def atoms(way: StageWay, symbols: Iterable[Private]) -> set[Private]:
    """The sums, and the symbols of single records, that private symbols are made of."""
    found: set[Private] = set()
    for p in symbols:
        if p.passed != -2:
            found.add(p)
            continue
        for form in way.terms.symbols[p.place].forms:
            found |= atoms(way, _private_part(way, form, len(way.rows)))
    return found


# What one record moves ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """How far private symbols can differ: each by itself, and groups of them in length.

    `ranges`: where the difference lies. Under add and remove it is that of adding: removing moves
    everything by the opposite, at the same cost.
    """

    sizes: Mapping[Private, Fraction | None]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]
    ranges: Mapping[Private, Range]


@dataclass(frozen=True)
class _Added:
    ranges: Mapping[Private, Range]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]


def moves(way: StageWay, symbols: set[Private], sampled: bool = False) -> list[Move]:
    """All that neighbours may differ by, in these symbols; `sampled`: in a subset with them."""
    base = atoms(way, symbols)
    if way.moved:
        found = list(_moved(way, base))
    elif way.apart:
        found = list(_apart(way, base))
    else:
        found = _of_sums(way, base, sampled)
    derived = sorted(p for p in symbols if p.passed == -2)
    return [_with_functions(way, move, derived) for move in found] if derived else found


def _of_sums(way: StageWay, symbols: set[Private], sampled: bool) -> list[Move]:
    added = _joint(way, symbols, sampled)
    if not way.replace:
        return [Move({k: size(r) for k, r in a.ranges.items()}, a.groups, a.ranges) for a in added]
    if len(added) ** 2 > MOST_CASES:
        added = [_hull(added, symbols)]
    return [_difference(a, b) for a, b in itertools.product(added, added)]


def _with_functions(way: StageWay, move: Move, derived: Sequence[Private]) -> Move:
    """The same move, with functions of sums in it: they move no more than an argument does."""
    sizes, ranges = dict(move.sizes), dict(move.ranges)
    whole = Move(sizes, move.groups, ranges)
    pending = [p.place for p in derived]
    while pending:
        symbol = pending[-1]
        s = way.terms.symbols[symbol]
        parts = [_private_part(way, form, len(way.rows)) for form in s.forms]
        inner = {p.place for part in parts for p in part if p.passed == -2}
        missing = [p for p in inner if Private(-2, p) not in sizes]
        if missing:
            pending += missing
            continue
        pending.pop()
        key = Private(-2, symbol)
        moved = [form_range(part, whole) for part in parts[1 if s.op == "pick" else 0 :]]
        low, high = moved[0]
        for other in moved[1:]:
            low, high = low_of(low, other[0]), high_of(high, other[1])
        if s.op == "abs":
            most = None if low is None or high is None else max(abs(low), abs(high))
            low, high = None if most is None else -most, most
        sizes[key], ranges[key] = size((low, high)), (low, high)
    return whole


def form_range(shift: Shift, move: Move) -> Range:
    """Where Σ slope·Δ lies."""
    found: Range = (ZERO, ZERO)
    for k, c in shift.items():
        found = plus(found, scaled(move.ranges[k], c))
    most = _row_bound(shift, move)
    if most is None:
        return found
    low, high = found
    return (
        -most if low is None else max(low, -most),
        most if high is None else min(high, most),
    )


def _moved(way: StageWay, symbols: set[Private]) -> Iterator[Move]:
    """Numbers that move: by the radius in one entry (l1), or each of them (linf, monotone)."""
    r = way.radius
    reach: dict[Private, Fraction] = {}
    for k in symbols:
        if k.passed >= 0:
            cases = way.passes[k.passed].cases
            if way.moved != "l1" or len(cases) != 1 or cases[0].conditions:
                raise Invalid("a sum over entries that all move, or by cases of them")
            reach[k] = way.terms.slope(cases[0].adds[k.place]) * r
        else:
            reach[k] = way.terms.slope(RecordForm(((k.place, ONE),), ZERO)) * r
    still = dict.fromkeys(symbols, ZERO)
    if way.moved == "l1":
        by_index: dict[int | None, list[Private]] = {}
        for k in symbols:
            index = None if k.passed >= 0 else way.terms.symbols[k.place].index
            by_index.setdefault(index, []).append(k)
        for mine in by_index.values():
            found = {**still, **{k: reach[k] for k in mine}}
            yield Move(found, (), {k: (-v, v) for k, v in found.items()})
        return
    up = way.moved == "monotone"
    ranges = {
        k: (ZERO if up and way.terms.symbols[k.place].op == "field" else -v, v)
        for k, v in reach.items()
    }
    yield Move(reach, (), ranges)


def _joint(way: StageWay, symbols: set[Private], sampled: bool) -> list[_Added]:
    """What a record adds in each case of all passes; cases that exclude each other are left out."""
    passes = sorted({p.passed for p in symbols})
    joint: list[tuple[tuple[RecordCondition, ...], tuple[StageCase, ...]]] = [((), ())]
    for p in passes:
        longer = []
        for conditions, chosen in joint:
            for case in way.passes[p].cases:
                both = tuple(dict.fromkeys((*conditions, *case.conditions)))
                if sampled and any(c.relation == "out" for c in case.conditions):
                    continue
                if not way.terms.empty(both):
                    longer.append((both, (*chosen, case)))
            if len(longer) > MOST_CASES:
                return [_apart_passes(way, passes, symbols)]
        joint = longer
    found = []
    for conditions, chosen in joint:
        cases = dict(zip(passes, chosen, strict=True))
        adds = {k: cases[k.passed].adds[k.place] for k in sorted(symbols)}
        found.append(_added(way, conditions, adds))
    return found


def _added(
    way: StageWay, conditions: Sequence[RecordCondition], adds: Mapping[Private, RecordForm]
) -> _Added:
    box = way.terms.box(conditions)
    ranges = {k: way.terms.range_of(form, box) for k, form in adds.items()}
    moving = {k: f for k, f in adds.items() if f.terms or f.constant}
    return _Added(ranges, tuple(way.terms.within(moving, conditions)))


def _apart_passes(way: StageWay, passes: Sequence[int], symbols: set[Private]) -> _Added:
    """Passes whose cases are too many to join: each at its worst."""
    ranges: dict[Private, Range] = {}
    groups: list[tuple[frozenset[Private], Fraction]] = []
    for p in passes:
        mine = {k for k in symbols if k.passed == p}
        one = _hull(
            [
                _added(way, case.conditions, {k: case.adds[k.place] for k in mine})
                for case in way.passes[p].cases
                if not way.terms.empty(case.conditions)
            ],
            mine,
        )
        ranges.update(one.ranges)
        groups += one.groups
    return _Added(ranges, tuple(groups))


def _hull(many: Sequence[_Added], symbols: set[Private]) -> _Added:
    """One range for all; a group only if each case has it."""
    ranges: dict[Private, Range] = {}
    for k in symbols:
        lows = [low for a in many if (low := a.ranges[k][0]) is not None]
        highs = [high for a in many if (high := a.ranges[k][1]) is not None]
        ranges[k] = (
            min(lows) if len(lows) == len(many) else None,
            max(highs) if len(highs) == len(many) else None,
        )
    groups = []
    for group, _ in many[0].groups if many else ():
        found = [dict(a.groups).get(group) for a in many]
        if None not in found:
            groups.append((group, max(b for b in found if b is not None)))
    return _Added(ranges, tuple(groups))


def _difference(a: _Added, b: _Added) -> Move:
    sizes: dict[Private, Fraction | None] = {}
    ranges: dict[Private, Range] = {}
    for k in a.ranges:
        (low, high), (low2, high2) = a.ranges[k], b.ranges[k]
        ranges[k] = plus(a.ranges[k], scaled(b.ranges[k], -ONE))
        if low is None or high is None or low2 is None or high2 is None:
            sizes[k] = None
        else:
            sizes[k] = max(abs(high - low2), abs(high2 - low))
    groups = []
    for group, bound in _groups_or_nothing(a):
        for other, bound2 in _groups_or_nothing(b):
            if group == other or not other or not group:
                groups.append((group or other, bound + bound2))
    return Move(sizes, tuple((g, r) for g, r in groups if g), ranges)


def _groups_or_nothing(a: _Added) -> list[tuple[frozenset[Private], Fraction]]:
    """The groups of a case; a case that adds nothing at all fits every group."""
    if all(r == (ZERO, ZERO) for r in a.ranges.values()):
        return [(frozenset(), ZERO)]
    return list(a.groups)


def _apart(way: StageWay, symbols: set[Private]) -> Iterator[Move]:
    """Records with symbols of their own: one of them is replaced."""
    if not way.replace:
        raise Invalid("records that come and go can't have symbols of their own")
    by_index: dict[int, list[Private]] = {}
    for k in symbols:
        index = way.terms.symbols[k.place].index
        assert index is not None
        by_index.setdefault(index, []).append(k)
    for mine in by_index.values():
        adds = {k: RecordForm(((k.place, ONE),), ZERO) for k in mine}
        one = _added(way, (), adds)
        move = _difference(one, one)
        sizes: dict[Private, Fraction | None] = dict.fromkeys(symbols, ZERO)
        sizes.update(move.sizes)
        ranges: dict[Private, Range] = dict.fromkeys(symbols, (ZERO, ZERO))
        ranges.update(move.ranges)
        yield Move(sizes, move.groups, ranges)


# Costs -------------------------------------------------------------------------------------------


def _row_bound(shift: Shift, move: Move) -> Fraction | None:
    """|Σ slope·Δ|, by groups where that is less."""
    total = ZERO
    left = dict(shift)
    for group, radius in move.groups:
        mine = {k: c for k, c in left.items() if k in group}
        if not mine:
            continue
        length = sqrt_range(sum((c * c for c in mine.values()), ZERO))[1] * radius
        single = _sum_of_sizes(mine, move)
        total += length if single is None else min(length, single)
        for k in mine:
            del left[k]
    rest = _sum_of_sizes(left, move)
    return None if rest is None else total + rest


def _sum_of_sizes(slopes: Shift, move: Move) -> Fraction | None:
    total = ZERO
    for k, c in slopes.items():
        one = move.sizes[k]
        if one is None:
            return None
        total += abs(c) * one
    return total


def _diagonal(weights: Shift, move: Move, squares: bool) -> Fraction | None:
    """Σ w·Δ² (or Σ w·|Δ|) over single symbols, by groups where that is less."""
    total = ZERO
    left = dict(weights)
    for group, radius in move.groups:
        mine = {k: w for k, w in left.items() if k in group}
        if not mine:
            continue
        if squares:
            length = max(mine.values()) * radius**2
        else:
            length = sqrt_range(sum((w * w for w in mine.values()), ZERO))[1] * radius
        single = _weighted(mine, move, squares)
        total += length if single is None else min(length, single)
        for k in mine:
            del left[k]
    rest = _weighted(left, move, squares)
    return None if rest is None else total + rest


def _weighted(weights: Shift, move: Move, squares: bool) -> Fraction | None:
    total = ZERO
    for k, w in weights.items():
        one = move.sizes[k]
        if one is None:
            return None
        total += w * (one * one if squares else one)
    return total


UNBOUNDED = Invalid(
    "what one record adds has no bound, and no noise hides it: clip it, or bound the domain"
)


def gaussian_cost(way: StageWay, shifts: Mapping[int, Shift], move: Move) -> Fraction:
    """μ² = Σ (shift/σ)²."""
    total = ZERO
    weights: Shift = {}
    for n, shift in shifts.items():
        variance = way.noises[n].scale ** 2
        if len(shift) == 1:
            ((k, c),) = shift.items()
            weights[k] = weights.get(k, ZERO) + c * c / variance
            continue
        one = _row_bound(shift, move)
        if one is None:
            raise UNBOUNDED
        total += one * one / variance
    diagonal = _diagonal(weights, move, True)
    if diagonal is None:
        raise UNBOUNDED
    return rounded(total + diagonal, True, 160)


def laplace_cost(way: StageWay, shifts: Mapping[int, Shift], move: Move) -> Fraction:
    """ε = Σ |shift|/scale."""
    total = ZERO
    weights: Shift = {}
    for n, shift in shifts.items():
        scale = spread(way.noises[n])
        if len(shift) == 1:
            ((k, c),) = shift.items()
            weights[k] = weights.get(k, ZERO) + abs(c) / scale
            continue
        one = _row_bound(shift, move)
        if one is None:
            raise UNBOUNDED
        total += one / scale
    diagonal = _diagonal(weights, move, False)
    if diagonal is None:
        raise UNBOUNDED
    exact = total + diagonal
    return exact if exact.denominator.bit_length() < 200 else rounded(exact, True, 160)


def truncated_step(way: StageWay, noise: int, shift: Shift, move: Move) -> StageLoss:
    """Laplace noise given |noise| ≤ A, moved by d: (d/b, the mass of (A − d, A])."""
    d = _row_bound(shift, move)
    if d is None:
        raise UNBOUNDED
    b, most = way.noises[noise].scale, way.noises[noise].most
    assert most is not None
    if d >= most:
        return StageLoss("bad", d / b, delta=ONE)
    above = exp_range(-(most - d) / b)[1] - exp_range(-most / b)[0]
    whole = 2 * (1 - exp_range(-most / b)[1])
    return StageLoss("bad", d / b, delta=min(ONE, rounded(above / whole, True, 160)))


def coin_of(way: StageWay, stage: Stage) -> tuple[str, Fraction] | None:
    """The coin that every case of the stage needs heads of, to add anything."""
    coins: set[tuple[str, Fraction]] = set()
    yes, no = ("in", "out") if way.replace else ("heads", "tails")
    for p in {k.passed for k in atoms(way, stage.symbols()) if k.passed >= 0}:
        for case in way.passes[p].cases:
            if not any(f.terms or f.constant for f in case.adds):
                continue
            heads = {(c.coin, c.chance) for c in case.conditions if c.relation == yes}
            tails = [c for c in case.conditions if c.relation == no]
            if len(heads) != 1 or tails:
                return None
            coins |= heads
    return coins.pop() if len(coins) == 1 else None


def _coins_seen(way: StageWay, stage: Stage) -> set[str]:
    return {
        c.coin
        for p in {k.passed for k in atoms(way, stage.symbols()) if k.passed >= 0}
        for case in way.passes[p].cases
        for c in case.conditions
        if c.form is None
    }


def steps_of(way: StageWay) -> list[StageLoss]:
    """The cost of one way, stage by stage."""
    stages = stages_of(way)
    found: list[tuple[int, StageLoss]] = []
    for i, stage in enumerate(stages):
        q = ONE
        coin = None if way.moved or way.apart else coin_of(way, stage)
        others = [_coins_seen(way, s) for j, s in enumerate(stages) if j != i]
        alone = coin is not None and not any(coin[0] in seen for seen in others)
        if coin is not None and alone and _coins_seen(way, stage) == {coin[0]}:
            q = coin[1]
        found += [(stage.first, step) for step in _stage_steps(way, stage, q)]
    for gate in way.gates:
        found += [(gate.made, step) for step in _gate_steps(way, gate)]
    found.sort(key=lambda s: s[0])
    return [step for _, step in found]


def _stage_steps(way: StageWay, stage: Stage, q: Fraction) -> list[StageLoss]:
    if stage.exponents:
        return [_choice_step(way, stage, q)]
    if way.replace and q < 1:
        return _subset_steps(way, stage, q)
    return _noise_steps(way, stage, q)


def _choice_step(way: StageWay, stage: Stage, q: Fraction) -> StageLoss:
    """A choice; of a Poisson sample, as if all were in it."""
    if _of_several_rows(way, stage):
        raise Invalid("a step that is not known for people with several rows")
    worst = ZERO
    for move in moves(way, stage.symbols(), sampled=way.replace and q < 1):
        cost = choice_cost([form_range(e, move) for e in stage.exponents])
        if cost is None:
            raise UNBOUNDED
        worst = max(worst, cost)
    return StageLoss("pure", _amplified(worst, q) if way.replace and q < 1 else worst)


def _amplified(epsilon: Fraction, q: Fraction) -> Fraction:
    return rounded(log_range(1 + q * (exp_range(epsilon)[1] - 1))[1], True, 160)


def _subset_steps(way: StageWay, stage: Stage, q: Fraction) -> list[StageLoss]:
    """A stage of a subset of the records: pure steps are amplified, others are not."""
    steps = _noise_steps(way, stage, ONE, sampled=True)
    if all(s.kind in ("laplace", "pure") for s in steps):
        total = sum((s.value for s in steps), ZERO)
        return [StageLoss("pure", _amplified(total, q))]
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
            _need_whole(way, shift)
            kinds["whole"][n] = shift
        else:
            raise Invalid(f"noise of the family {noise.family}")
    return kinds


def _noise_steps(
    way: StageWay, stage: Stage, q: Fraction, sampled: bool = False
) -> list[StageLoss]:
    kinds, rows = _kinds(way, stage), _of_several_rows(way, stage)
    if rows:
        if kinds["truncated"] or kinds["whole"] or rows - stage.symbols():
            raise Invalid("a step that is not known for people with several rows")
        return _steps_of_people(way, kinds, rows, stage.symbols() - rows)
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


def _need_whole(way: StageWay, shift: Shift) -> None:
    """Refuses moves by other than whole numbers, which a noise on whole numbers can't hide."""
    for k, c in shift.items():
        if c.denominator != 1 or not _is_whole(way, k) or way.moved:
            raise Invalid("noise on the whole numbers, and a move that may be a fraction")


def _is_whole(way: StageWay, k: Private) -> bool:
    if k.passed == -2:
        return all(
            f.constant.denominator == 1
            and all(c.denominator == 1 for _, c in f.terms)
            and all(_is_whole(way, p) for p in _private_part(way, f, len(way.rows)))
            and len(_private_part(way, f, len(way.rows))) == len(f.terms)
            for f in way.terms.symbols[k.place].forms[way.terms.symbols[k.place].op == "pick" :]
        )
    if k.passed == -1:
        return way.terms.whole(RecordForm(((k.place, ONE),), ZERO))
    return all(way.terms.whole(case.adds[k.place]) for case in way.passes[k.passed].cases)


def _of_several_rows(way: StageWay, stage: Stage) -> set[Private]:
    """The sums that one person may be in with several rows."""
    found = atoms(way, stage.symbols())
    return {p for p in found if p.passed >= 0 and way.passes[p.passed].times > 1}


def _steps_of_people(
    way: StageWay,
    kinds: Mapping[str, Mapping[int, Shift]],
    rows: set[Private],
    once: set[Private],
) -> list[StageLoss]:
    """A person with up to k rows comes, goes, or becomes another.

    Its rows move the sums one after the other: each is replaced, comes or goes, k of them at most.
    Costs are seminorms of what is moved, so that they add up: k times that of one row, and that of
    what there is once for each person. (Samples of rows are not looked at.)
    """
    times = max(way.passes[p.passed].times for p in rows)
    moved = list(moves(way, rows))
    if way.replace:
        moved += [
            Move({k: size(r) for k, r in a.ranges.items()}, a.groups, a.ranges)
            for a in _joint(way, rows, False)
        ]
    still: dict[Private, Fraction | None] = dict.fromkeys((*rows, *once), ZERO)
    of_rows = [Move({**still, **m.sizes}, m.groups, m.ranges) for m in moved]
    moved_once = moves(way, once) if once else []
    alone = [Move({**still, **m.sizes}, m.groups, m.ranges) for m in moved_once]
    steps = []
    if kinds["gauss"]:
        first, second = (
            max((gaussian_cost(way, kinds["gauss"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        both = times * sqrt_range(first)[1] + sqrt_range(second)[1]
        exact = times**2 * first if not second else both**2
        steps.append(StageLoss("gauss", rounded(exact, True, 160)))
    if kinds["laplace"]:
        first, second = (
            max((laplace_cost(way, kinds["laplace"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        steps.append(StageLoss("pure", times * first + second))
    return steps


def _gate_steps(way: StageWay, gate: StageGate) -> list[StageLoss]:
    """Keys of the data: a record touches one (or two, if it is replaced).

    A key that others have too: its count moves by 1, at the cost of its noise. One that nobody else
    has: nothing is seen of it unless 1 + noise reaches the threshold, with chance p. The keys have
    independent noises, so that the costs of two compose; each is one or the other, so that both
    costs together are an upper bound.
    """
    noise = way.noises[gate.noise]
    keys = 2 if way.replace else 1
    if noise.family not in ("laplace", "normal") or noise.most is not None or noise.scale <= 0:
        raise Invalid("keys of the data need Laplace or Gaussian noise")
    b, t = noise.scale, gate.threshold - 1
    if noise.family == "normal":
        p = normal_cdf_range(-t / b)[1]
    else:
        p = exp_range(-t / b)[1] / 2 if t >= 0 else 1 - exp_range(t / b)[0] / 2
    delta = min(ONE, rounded(1 - (1 - min(p, ONE)) ** keys, True, 160))
    if noise.family == "normal":
        return [StageLoss("gauss", keys / b**2), StageLoss("bad", ZERO, delta=delta)]
    return [StageLoss("bad", keys / b, delta=delta)]


# Ways together -----------------------------------------------------------------------------------


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
