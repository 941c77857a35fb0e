"""From rows that are treated as released to steps of an account.

**Common shift.** A row is Σ d·noise + Σ b·(private symbol) + public. Neighbours differ in the
private symbols by Δ. Rows are taken in the order in which they became visible; in each, noises that
no earlier row has are moved so that the row stays as it is. So the second run with moved noises
shows the same rows, hence takes the same ways and shows the same outputs. A noise is moved by a
number that earlier rows fix (what a record adds may depend on them), and is independent of them:
the program is a post-processing of adaptive additive-noise steps.

**Stages.** Rows whose sums were all made before the first of them was visible are one stage: what
one record moves is looked at in all of them together, case by case. Costs of stages compose.

**Samples.** Where every case in which a record adds anything needs heads of one and the same coin
of the record, and that coin is looked at in one stage alone, the stage is a mechanism on a Poisson
sample. In any other use the coin is dropped: with equal coins, samples of neighbours are
neighbours or equal, and the bound without sampling holds by joint convexity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..invalid import Invalid
from .accountant import ONE, ZERO, Ledger, Step, merged
from .enclosures import exp_range, rounded, sqrt_range
from .terms import Condition, Form, Range, Terms, size

MOST_CASES = 3000


@dataclass(frozen=True, order=True)
class Private:
    """A private symbol: a place of the sums of a pass, or (pass −1) a symbol of one record."""

    passed: int
    place: int


Shift = dict[Private, Fraction]


@dataclass(frozen=True)
class Noise:
    family: str
    scale: Fraction
    most: Fraction | None = None


@dataclass(frozen=True)
class Case:
    conditions: tuple[Condition, ...]
    adds: tuple[Form, ...]


@dataclass(frozen=True)
class Pass:
    cases: tuple[Case, ...]
    made: int
    times: int = 1
    """How often one neighbour may be in it: how many rows a person has."""


@dataclass(frozen=True)
class Gate:
    noise: int
    threshold: Fraction
    made: int


@dataclass(frozen=True)
class Way:
    """One way through the program."""

    terms: Terms
    passes: tuple[Pass, ...]
    noises: tuple[Noise, ...]
    rows: tuple[Form, ...]
    gates: tuple[Gate, ...]
    replace: bool
    apart: bool


@dataclass
class Stage:
    """Noises that are moved together, and the private symbols that move them."""

    first: int
    shifts: dict[int, Shift]

    def symbols(self) -> set[Private]:
        return {p for shift in self.shifts.values() for p in shift}


# Shifts ------------------------------------------------------------------------------------------


def shifts_of(way: Way) -> list[tuple[int, dict[int, Shift]]]:
    """Row by row, the noises that it moves; refuses rows that no noise can keep as they are."""
    known: dict[int, Shift] = {}
    found = []
    for t, row in enumerate(way.rows):
        noises: dict[int, Fraction] = {}
        rest: Shift = {}
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


def _private(way: Way, symbol: int, t: int) -> Private:
    s = way.terms.symbols[symbol]
    if s.op == "sum":
        p, place = s.numbers
        if way.passes[p].made > t:
            raise Invalid("a row with a sum that was made later")
        return Private(p, place)
    if s.record and way.apart and s.index is not None:
        return Private(-1, symbol)
    raise Invalid("a row with something that is neither noise nor a sum")


def _shared(way: Way, fresh: Mapping[int, Fraction], rest: Shift) -> dict[int, Shift]:
    """How the fresh noises of a row share its move."""
    still: dict[int, Shift] = {n: {} for n in fresh}
    if not rest:
        return still
    normal = [n for n in fresh if way.noises[n].family == "normal" and way.noises[n].most is None]
    if normal:  # in proportion to their variances: the least cost
        weights = {n: fresh[n] * way.noises[n].scale ** 2 for n in normal}
        total = sum((fresh[n] * w for n, w in weights.items()), ZERO)
        for n, w in weights.items():
            still[n] = {k: -c * w / total for k, c in rest.items()}
        return still
    best = max(fresh, key=lambda n: abs(fresh[n]) * way.noises[n].scale)
    still[best] = {k: -c / fresh[best] for k, c in rest.items()}
    return still


def stages_of(way: Way) -> list[Stage]:
    found: list[Stage] = []
    for t, moved in shifts_of(way):
        moved = {n: s for n, s in moved.items() if s}
        if not moved:
            continue
        symbols = {p for shift in moved.values() for p in shift}
        births = [way.passes[p.passed].made for p in symbols if p.passed >= 0]
        joined = found and (way.apart or all(b <= found[-1].first for b in births))
        if not joined:
            found.append(Stage(t, {}))
        found[-1].shifts.update(moved)
    return found


# What one record moves ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """How far private symbols can differ: each by itself, and groups of them in length."""

    sizes: Mapping[Private, Fraction | None]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]


@dataclass(frozen=True)
class _Added:
    ranges: Mapping[Private, Range]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]


def moves(way: Way, symbols: set[Private]) -> list[Move]:
    """All that neighbours may differ by, in these symbols."""
    if way.apart:
        return list(_apart(way, symbols))
    added = _joint(way, symbols)
    if not way.replace:
        return [Move({k: size(r) for k, r in a.ranges.items()}, a.groups) for a in added]
    if len(added) ** 2 > MOST_CASES:
        added = [_hull(added, symbols)]
    return [_difference(a, b) for a, b in itertools.product(added, added)]


def _joint(way: Way, symbols: set[Private]) -> list[_Added]:
    """What a record adds in each case of all passes; cases that exclude each other are left out."""
    passes = sorted({p.passed for p in symbols})
    joint: list[tuple[tuple[Condition, ...], tuple[Case, ...]]] = [((), ())]
    for p in passes:
        longer = []
        for conditions, chosen in joint:
            for case in way.passes[p].cases:
                both = tuple(dict.fromkeys((*conditions, *case.conditions)))
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


def _added(way: Way, conditions: Sequence[Condition], adds: Mapping[Private, Form]) -> _Added:
    box = way.terms.box(conditions)
    ranges = {k: way.terms.range_of(form, box) for k, form in adds.items()}
    moving = {k: f for k, f in adds.items() if f.terms or f.constant}
    return _Added(ranges, tuple(way.terms.within(moving, conditions)))


def _apart_passes(way: Way, passes: Sequence[int], symbols: set[Private]) -> _Added:
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
    for k in a.ranges:
        (low, high), (low2, high2) = a.ranges[k], b.ranges[k]
        if low is None or high is None or low2 is None or high2 is None:
            sizes[k] = None
        else:
            sizes[k] = max(abs(high - low2), abs(high2 - low))
    groups = []
    for group, bound in _groups_or_nothing(a):
        for other, bound2 in _groups_or_nothing(b):
            if group == other or not other or not group:
                groups.append((group or other, bound + bound2))
    return Move(sizes, tuple((g, r) for g, r in groups if g))


def _groups_or_nothing(a: _Added) -> list[tuple[frozenset[Private], Fraction]]:
    """The groups of a case; a case that adds nothing at all fits every group."""
    if all(r == (ZERO, ZERO) for r in a.ranges.values()):
        return [(frozenset(), ZERO)]
    return list(a.groups)


def _apart(way: Way, symbols: set[Private]) -> Iterator[Move]:
    """Records with symbols of their own: one of them is replaced."""
    if not way.replace:
        raise Invalid("records that come and go can't have symbols of their own")
    by_index: dict[int, list[Private]] = {}
    for k in symbols:
        index = way.terms.symbols[k.place].index
        assert index is not None
        by_index.setdefault(index, []).append(k)
    for mine in by_index.values():
        adds = {k: Form(((k.place, ONE),), ZERO) for k in mine}
        one = _added(way, (), adds)
        move = _difference(one, one)
        sizes: dict[Private, Fraction | None] = dict.fromkeys(symbols, ZERO)
        sizes.update(move.sizes)
        yield Move(sizes, move.groups)


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


def gaussian_cost(way: Way, shifts: Mapping[int, Shift], move: Move) -> Fraction:
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


def laplace_cost(way: Way, shifts: Mapping[int, Shift], move: Move) -> Fraction:
    """ε = Σ |shift|/scale."""
    total = ZERO
    weights: Shift = {}
    for n, shift in shifts.items():
        scale = way.noises[n].scale
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


def truncated_step(way: Way, noise: int, shift: Shift, move: Move) -> Step:
    """Laplace noise given |noise| ≤ A, moved by d: (d/b, the mass of (A − d, A])."""
    d = _row_bound(shift, move)
    if d is None:
        raise UNBOUNDED
    b, most = way.noises[noise].scale, way.noises[noise].most
    assert most is not None
    if d >= most:
        return Step("bad", d / b, delta=ONE)
    above = exp_range(-(most - d) / b)[1] - exp_range(-most / b)[0]
    whole = 2 * (1 - exp_range(-most / b)[1])
    return Step("bad", d / b, delta=min(ONE, rounded(above / whole, True, 160)))


def coin_of(way: Way, stage: Stage) -> tuple[str, Fraction] | None:
    """The coin that every case of the stage needs heads of, to add anything."""
    coins: set[tuple[str, Fraction]] = set()
    for p in {k.passed for k in stage.symbols() if k.passed >= 0}:
        for case in way.passes[p].cases:
            if not any(f.terms or f.constant for f in case.adds):
                continue
            heads = {(c.coin, c.chance) for c in case.conditions if c.relation == "heads"}
            tails = [c for c in case.conditions if c.relation == "tails"]
            if len(heads) != 1 or tails:
                return None
            coins |= heads
    return coins.pop() if len(coins) == 1 else None


def _coins_seen(way: Way, stage: Stage) -> set[str]:
    return {
        c.coin
        for p in {k.passed for k in stage.symbols() if k.passed >= 0}
        for case in way.passes[p].cases
        for c in case.conditions
        if c.form is None
    }


def steps_of(way: Way) -> list[Step]:
    """The cost of one way, stage by stage."""
    stages = stages_of(way)
    found: list[tuple[int, Step]] = []
    for i, stage in enumerate(stages):
        q = ONE
        coin = None if way.replace else coin_of(way, stage)
        others = [_coins_seen(way, s) for j, s in enumerate(stages) if j != i]
        alone = coin is not None and not any(coin[0] in seen for seen in others)
        if coin is not None and alone and _coins_seen(way, stage) == {coin[0]}:
            q = coin[1]
        found += [(stage.first, step) for step in _stage_steps(way, stage, q)]
    for gate in way.gates:
        found.append((gate.made, _gate_step(way, gate)))
    found.sort(key=lambda s: s[0])
    return [step for _, step in found]


def _stage_steps(way: Way, stage: Stage, q: Fraction) -> list[Step]:
    kinds: dict[str, dict[int, Shift]] = {"gauss": {}, "laplace": {}, "truncated": {}}
    for n, shift in stage.shifts.items():
        noise = way.noises[n]
        if noise.most is not None:
            if noise.family != "laplace":
                raise Invalid("noise that is drawn again, other than Laplace noise")
            kinds["truncated"][n] = shift
        elif noise.family in ("normal", "laplace"):
            kinds["gauss" if noise.family == "normal" else "laplace"][n] = shift
        else:
            raise Invalid(f"noise of the family {noise.family}")
    rows = {p for p in stage.symbols() if p.passed >= 0 and way.passes[p.passed].times > 1}
    if rows:
        if kinds["truncated"]:
            raise Invalid("noise that is drawn again, for people with several rows")
        return _steps_of_people(way, kinds, rows, stage.symbols() - rows)
    listed = moves(way, stage.symbols())
    several = sum(map(bool, kinds.values())) > 1
    if several or kinds["truncated"]:
        q = ONE
    steps = []
    if kinds["gauss"]:
        mu2 = max((gaussian_cost(way, kinds["gauss"], m) for m in listed), default=ZERO)
        steps.append(Step("gauss", mu2, q))
    if kinds["laplace"]:
        epsilon = max((laplace_cost(way, kinds["laplace"], m) for m in listed), default=ZERO)
        one = len(kinds["laplace"]) == 1
        steps.append(Step("laplace" if one else "pure", epsilon, q))
    for n, shift in kinds["truncated"].items():
        options = [truncated_step(way, n, shift, m) for m in listed]
        if options:
            steps.append(
                Step("bad", max(s.value for s in options), delta=max(s.delta for s in options))
            )
    return steps


def _steps_of_people(
    way: Way,
    kinds: Mapping[str, Mapping[int, Shift]],
    rows: set[Private],
    once: set[Private],
) -> list[Step]:
    """A person with up to k rows comes, goes, or becomes another.

    Its rows move the sums one after the other: each is replaced, comes or goes, k of them at most.
    Costs are seminorms of what is moved, so that they add up: k times that of one row, and that of
    what there is once for each person. (Samples of rows are not looked at.)
    """
    times = max(way.passes[p.passed].times for p in rows)
    moved = list(moves(way, rows))
    if way.replace:
        moved += [
            Move({k: size(r) for k, r in a.ranges.items()}, a.groups) for a in _joint(way, rows)
        ]
    still: dict[Private, Fraction | None] = dict.fromkeys((*rows, *once), ZERO)
    of_rows = [Move({**still, **m.sizes}, m.groups) for m in moved]
    alone = [Move({**still, **m.sizes}, m.groups) for m in moves(way, once)] if once else []
    steps = []
    if kinds["gauss"]:
        first, second = (
            max((gaussian_cost(way, kinds["gauss"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        both = times * sqrt_range(first)[1] + sqrt_range(second)[1]
        exact = times**2 * first if not second else both**2
        steps.append(Step("gauss", rounded(exact, True, 160)))
    if kinds["laplace"]:
        first, second = (
            max((laplace_cost(way, kinds["laplace"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        steps.append(Step("pure", times * first + second))
    return steps


def _gate_step(way: Way, gate: Gate) -> Step:
    """Keys of the data: a record touches one (or two, if it is replaced).

    A key that others have too: its count moves by 1, at the cost 1/b. One that nobody else has:
    nothing is seen of it unless 1 + noise reaches the threshold, with chance p.
    """
    noise = way.noises[gate.noise]
    if noise.family != "laplace" or noise.most is not None:
        raise Invalid("keys of the data need Laplace noise")
    b, t = noise.scale, gate.threshold - 1
    p = exp_range(-t / b)[1] / 2 if t >= 0 else 1 - exp_range(t / b)[0] / 2
    keys = 2 if way.replace else 1
    return Step("bad", keys / b, delta=min(ONE, rounded(1 - (1 - p) ** keys, True, 160)))


# Ways together -----------------------------------------------------------------------------------


def together(many: Sequence[list[Step]]) -> Ledger:
    """One account for all ways: the worst at each depth, or the worst total of one kind."""
    ledgers = [merged((s, 1) for s in steps) for steps in many]
    if all(sorted(led, key=repr) == sorted(ledgers[0], key=repr) for led in ledgers):
        return ledgers[0]
    steps = [s for one in many for s in one]
    if all(s.kind == "gauss" and s.q == 1 for s in steps):
        return [(Step("gauss", max(sum((s.value for s in one), ZERO) for one in many)), 1)]
    if all(s.kind in ("laplace", "pure") and s.q == 1 for s in steps):
        return [(Step("pure", max(sum((s.value for s in one), ZERO) for one in many)), 1)]
    worst = []
    for depth in itertools.zip_longest(*many):
        here = [s for s in depth if s is not None and (s.value or s.delta)]
        if not here:
            continue
        if len({(s.kind, s.q) for s in here}) != 1:
            raise Invalid("ways whose steps are of different kinds")
        worst.append(
            Step(here[0].kind, max(s.value for s in here), here[0].q, max(s.delta for s in here))
        )
    return merged((s, 1) for s in worst)
