"""Counterexamples to a judgment: two related inputs and an event, with exact probabilities.

{Φ} c₁ ~(ε,δ) c₂ {Ψ} is false if for some inputs in Φ and some event A of the first output
Pr[A] > e^ε·Pr[Ψ(A)] + δ. Inputs are corners of Φ; outputs without reals are compared as a whole
(the worst event by a linear program), real ones by their skeletons and by half-lines.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError
from dpest.exact.outputs.output import RELEASED, OutputDistribution, output_distribution
from dpest.geometry.linear import rational
from dpest.judging.entailing import contradiction, holds, largest
from dpest.kernel.forms import ONE, ZERO, LinearInequality
from dpest.kernel.judgments.assertions import (
    All,
    Assertion,
    Some,
    at_least_zero,
    number,
    substituted,
    variable,
)
from dpest.kernel.judgments.entailments import Hand
from dpest.kernel.judgments.programs import has_loop
from dpest.kernel.judgments.skeletons import NO_NUMBER, SCALAR, SKELETON
from dpest.notions.relations import lifting
from dpest.reading.programs.translation import ProgramCode
from dpest.reading.trace import trace
from dpest.running.skeleton import flatten

_CORNERS = 24
_FEW = 8
_BOX = 10
_MARGIN = 1e-7
_MOST_OUTCOMES = 600
_CONTAINERS: dict[type, str] = {list: "list", tuple: "tuple", np.ndarray: "array", range: "range"}


@dataclass(frozen=True)
class JudgmentCounterexample:
    """Inputs in the precondition and an event that is too likely on the first."""

    first: Any
    second: Any
    event: str
    image: str
    probability: float
    image_probability: float
    epsilon: float
    delta: float

    def __str__(self) -> str:
        bound = math.exp(self.epsilon) * self.image_probability + self.delta
        return (
            f"inputs {self.first} and {self.second}: Pr[{self.event}] = {self.probability:.9g} > "
            f"e^{self.epsilon:g} · Pr[{self.image}] + {self.delta:g} = {bound:.9g}"
        )


def refuted(
    mechanisms: tuple[Mechanism, Mechanism],
    codes: tuple[ProgramCode, ProgramCode],
    pre: Assertion,
    post: Assertion,
    cost: tuple[Fraction, Fraction],
    seed: int,
) -> JudgmentCounterexample | None:
    """A counterexample, if a corner of the precondition has one."""
    apart = _never_related(codes, post)
    alone = all(map(_is_number, codes))
    for one, two in itertools.islice(_corners(pre, codes, seed), _FEW if alone else None):
        if apart and cost[1] < 1:
            return _by_skeletons(codes, cost, (one, two))
        try:
            found = _at(mechanisms, codes, post, cost, (one, two))
        except DpestError:
            continue
        if found is not None:
            return found
    return None


def _corners(
    pre: Assertion, codes: tuple[ProgramCode, ProgramCode], seed: int
) -> Iterator[tuple[Any, Any]]:
    """Inputs in the precondition: where random directions lead, inside of a box."""
    from scipy.optimize import linprog

    names = [f"{n}<{s}>" for s, code in enumerate(codes, 1) for n in code.inputs]
    rng = np.random.default_rng(seed)
    seen = set()
    for turn in range(_CORNERS):
        conditions = _one_way(pre, rng)
        left = [[-float(dict(c.terms).get(n, ZERO)) for n in names] for c in conditions]
        right = [float(c.constant) for c in conditions]
        box = (0, 0) if turn == 0 else (-(1 + turn % _BOX), 1 + turn % _BOX)
        bounds = [box if n.endswith("<1>") else (-3 * _BOX, 3 * _BOX) for n in names]
        found = linprog(
            rng.choice([-1.0, 0.0, 1.0], len(names)),
            A_ub=left or None,
            b_ub=right or None,
            bounds=bounds,
            method="highs",
        )
        if found.status != 0:
            continue
        point = {
            n: Fraction(float(v)).limit_denominator(1000)
            for n, v in zip(names, found.x, strict=True)
        }
        key = tuple(point.values())
        if key in seen or not holds(pre, point):
            continue
        seen.add(key)
        yield _input(point, codes[0], 1), _input(point, codes[1], 2)
        if codes[0].inputs == codes[1].inputs:
            other = {f"{n.split('<')[0]}<{3 - int(n[-2])}>": v for n, v in point.items()}
            if holds(pre, other):
                yield _input(other, codes[0], 1), _input(other, codes[1], 2)


def _one_way(assertion: Assertion, rng: np.random.Generator) -> list[LinearInequality]:
    """The conditions of one way to satisfy an assertion."""
    if isinstance(assertion, LinearInequality):
        return [assertion]
    if isinstance(assertion, All):
        return [c for part in assertion.parts for c in _one_way(part, rng)]
    if not assertion.parts:
        return []
    return _one_way(assertion.parts[int(rng.integers(len(assertion.parts)))], rng)


def _input(point: dict[str, Fraction], code: ProgramCode, side: int) -> Any:
    values = [float(point[f"{n}<{side}>"]) for n in code.inputs]
    return values[0] if code.inputs == (code.argument,) else values


def _at(
    mechanisms: tuple[Mechanism, Mechanism],
    codes: tuple[ProgramCode, ProgramCode],
    post: Assertion,
    cost: tuple[Fraction, Fraction],
    inputs: tuple[Any, Any],
) -> JudgmentCounterexample | None:
    laws = [_law(m, x) for m, x in zip(mechanisms, inputs, strict=True)]
    outcomes = [law.outcomes for law in laws]
    if max(len(o) for o in outcomes) > _MOST_OUTCOMES:
        return None
    points = [
        [_points(o.output, code, side) for o in law]
        for side, (law, code) in enumerate(zip(outcomes, codes, strict=True), 1)
    ]
    relation = np.array([[_may_relate(post, a, b) for b in points[1]] for a in points[0]])
    p, q = ([o.probability for o in law] for law in outcomes)
    total = math.fsum(p), math.fsum(q)
    if min(total) < 1 - 1e-9 or max(total) > 1 + 1e-9:
        return None
    found = lifting(
        [v / total[0] for v in p], [v / total[1] for v in q], relation, float(cost[0]), star=True
    )
    if found.event_delta <= float(cost[1]) + _MARGIN:
        real = any(RELEASED in flatten(o.output)[1] for law in outcomes for o in law)
        return _by_half_lines(mechanisms, codes, post, cost, inputs) if real else None
    chosen = sorted(found.event)
    image = [j for j in range(len(q)) if relation[chosen, j].any()]
    return JudgmentCounterexample(
        *inputs,
        f"out<1> in {_listed(outcomes[0][i].output for i in chosen)}",
        f"out<2> in {_listed(outcomes[1][j].output for j in image)}",
        math.fsum(p[i] for i in chosen),
        math.fsum(q[j] for j in image),
        float(cost[0]),
        float(cost[1]),
    )


def _listed(values: Any) -> str:
    return "{" + ", ".join(map(repr, values)) + "}"


def _law(mechanism: Mechanism, x: Any) -> OutputDistribution:
    found = output_distribution(trace(mechanism, x))
    if found.leftover:
        raise DpestError("not all outputs were explored")
    return found


def _points(output: Any, code: ProgramCode, side: int) -> list[dict[str, Fraction]]:
    """What is known of the output variables, for each skeleton that the output may have.

    The exact engine takes 1 and 1.0 for one number, and a released real has no value: an outcome
    may stand for several skeletons, and for any real.
    """
    container = next((n for kind, n in _CONTAINERS.items() if isinstance(output, kind)), SCALAR)
    items = [output] if container == SCALAR else list(output)
    found = []
    for place, skeleton in enumerate(code.table):
        fits = skeleton in code.skeletons and skeleton.container == container
        if not fits or list(map(_coarse, skeleton.types)) != list(map(_kind, items)):
            continue
        point = {f"{n}<{side}>": ZERO for n in code.outputs}
        point[f"{SKELETON}<{side}>"] = Fraction(place)
        for name, item in zip(skeleton.names, items, strict=True):
            if item is RELEASED:
                del point[f"{name}<{side}>"]
            elif item is not None:
                point[f"{name}<{side}>"] = rational(item)
        found.append(point)
    if not found:
        raise DpestError("an outcome that the program does not have")
    return found


def _kind(item: Any) -> str:
    if item is None:
        return NO_NUMBER
    if isinstance(item, (bool, np.bool_)):
        return "bool"
    if item is RELEASED or isinstance(item, (int, float, Fraction, np.integer, np.floating)):
        return "number"
    raise DpestError("an outcome that the program does not have")


def _coarse(kind: str) -> str:
    if kind in ("bool", "numpy.bool"):
        return "bool"
    return kind if kind == NO_NUMBER else "number"


def _may_relate(
    post: Assertion, first: list[dict[str, Fraction]], second: list[dict[str, Fraction]]
) -> bool:
    """Whether the postcondition may hold: an image may be too large, and never too small."""
    for one, two in itertools.product(first, second):
        known = {name: number(value) for name, value in (*one.items(), *two.items())}
        if contradiction(Hand((), ()).with_(substituted(post, known))) is None:
            return True
    return False


def _never_related(codes: tuple[ProgramCode, ProgramCode], post: Assertion) -> bool:
    """Whether no two outputs satisfy the postcondition, and both programs come to their ends."""
    if any(has_loop(code.program) for code in codes):
        return False
    points: list[list[dict[str, Fraction]]] = []
    for side, code in enumerate(codes, 1):
        places = [code.table.index(s) for s in code.skeletons]
        points.append([{f"{SKELETON}<{side}>": Fraction(place)} for place in places])
    return not _may_relate(post, *points)


def _by_skeletons(
    codes: tuple[ProgramCode, ProgramCode], cost: tuple[Fraction, Fraction], inputs: tuple[Any, Any]
) -> JudgmentCounterexample:
    """Every output is an event whose image is empty."""
    first, second = (" or ".join(map(str, code.skeletons)) for code in codes)
    return JudgmentCounterexample(
        *inputs,
        f"out<1> is {first}",
        f"out<2> is related, where it is {second}",
        1.0,
        0.0,
        float(cost[0]),
        float(cost[1]),
    )


def _is_number(code: ProgramCode) -> bool:
    """Whether the output is one number, on every way."""
    return all(s.container == SCALAR and NO_NUMBER not in s.types for s in code.skeletons)


def _by_half_lines(
    mechanisms: tuple[Mechanism, Mechanism],
    codes: tuple[ProgramCode, ProgramCode],
    post: Assertion,
    cost: tuple[Fraction, Fraction],
    inputs: tuple[Any, Any],
) -> JudgmentCounterexample | None:
    """Events out ≥ t and out ≤ t of a single real output, on a few t around both inputs."""
    if not all(map(_is_number, codes)):
        return None
    epsilon, delta = map(float, cost)
    for t in _thresholds(inputs):
        for sign in (1, -1):
            low, high = _image(post, t, sign)
            mine = (float(t), math.inf) if sign > 0 else (-math.inf, float(t))
            p = _chance(mechanisms[0], inputs[0], *mine)
            q = _chance(mechanisms[1], inputs[1], low, high)
            if p > math.exp(epsilon) * q + delta + _MARGIN:
                shown = f"out<1> {'≥' if sign > 0 else '≤'} {float(t):g}"
                image = f"out<2> in [{low:g}, {high:g}]"
                return JudgmentCounterexample(*inputs, shown, image, p, q, epsilon, delta)
    return None


def _thresholds(inputs: Sequence[Any]) -> list[Fraction]:
    values = {Fraction(repr(float(v))) for x in inputs for v in np.ravel(x)}
    values |= {sum(values, ZERO) / max(1, len(values)), ZERO}
    steps = (ZERO, Fraction(1, 4), Fraction(1, 2), ONE, Fraction(3))
    return list(
        dict.fromkeys(v + sign * step for step in steps for v in values for sign in (1, -1))
    )


def _image(post: Assertion, t: Fraction, sign: int) -> tuple[float, float]:
    """The hull of what the postcondition relates to out<1> ≥ t (or ≤ t): no less than the set."""
    side = number(-sign * t).plus(variable("out<1>"), Fraction(sign))
    low, high = math.inf, -math.inf
    for way in _ways(post):
        hand = Hand((), ()).with_(way).with_(at_least_zero(side))
        top = largest(variable("out<2>"), hand.conditions)
        bottom = largest(number(ZERO).plus(variable("out<2>"), -ONE), hand.conditions)
        high = max(high, math.inf if top is None else float(top))
        low = min(low, -math.inf if bottom is None else -float(bottom))
    return low, high


def _ways(assertion: Assertion) -> Iterator[Assertion]:
    """The disjuncts; inner disjunctions are left out, which only makes the image larger."""
    if isinstance(assertion, Some):
        for part in assertion.parts:
            yield from _ways(part)
    else:
        yield assertion


def _chance(mechanism: Mechanism, x: Any, low: float, high: float) -> float:
    function, params = mechanism.function, dict(mechanism.params)
    event = _event(function, params, low, high)
    law = _law(Mechanism(event, "event"), x)
    return math.fsum(o.probability for o in law.outcomes if o.output)


def _event(
    function: Callable[..., Any], params: dict[str, Any], low: float, high: float
) -> Callable[[Any, Any], bool]:
    if low == -math.inf:

        def below(x: Any, rng: Any) -> bool:
            return bool(function(x, rng, **params) <= high)

        return below
    if high == math.inf:

        def above(x: Any, rng: Any) -> bool:
            return bool(function(x, rng, **params) >= low)

        return above

    def between(x: Any, rng: Any) -> bool:
        out = function(x, rng, **params)
        return bool(low <= out <= high)

    return between
