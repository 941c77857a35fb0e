"""The search for a derivation: forward through both programs at once, with couplings to choose.

Both programs run on symbolic memories; `hand` is what is known of them. At a pair of draws one of a
few couplings is chosen; at the end of both the postcondition must follow. A first try changes no
noise; then one draw on each path may be shifted, then two, … The search only proposes: the kernel
computes the precondition of the derivation, and its entailment is proved afterwards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest.judging.entailing import contradiction, entailed, largest, proof_of
from dpest.kernel import Invalid
from dpest.kernel.forms import ONE, ZERO, LinearInequality
from dpest.kernel.judgments.assertions import (
    All,
    Assertion,
    LinearTerm,
    all_of,
    any_of,
    at_least_zero,
    equal,
    negated,
    number,
    sided,
    substituted,
    variable,
)
from dpest.kernel.judgments.couplings import coin_delta, shift_delta, tail
from dpest.kernel.judgments.entailments import Hand
from dpest.kernel.judgments.programs import (
    Assign,
    DrawStatement,
    If,
    Program,
    While,
    assigned,
    has_loop,
)

Node = dict[str, Any]
MOST_STEPS = 8_000


class Exhausted(Exception):
    """The search has taken as many steps as it may."""


@dataclass(frozen=True)
class DerivationCost:
    epsilon: Fraction
    delta: Fraction

    def minus(self, other: DerivationCost) -> DerivationCost:
        return DerivationCost(self.epsilon - other.epsilon, self.delta - other.delta)

    @property
    def is_paid(self) -> bool:
        return self.epsilon >= 0 and self.delta >= 0


FREE = DerivationCost(ZERO, ZERO)


@dataclass(frozen=True)
class ProgramPair:
    """Where both programs are: what is left of them, their memories, what is known, the budget."""

    first: Program
    second: Program
    memory: Mapping[str, LinearTerm]
    hand: Hand
    left: DerivationCost
    moves: int
    """How many more draws may be shifted on a path."""

    def side(self, which: int) -> Program:
        return self.first if which == 1 else self.second

    def dropped(self, which: int, program: Program) -> ProgramPair:
        return replace(self, first=program) if which == 1 else replace(self, second=program)

    def stored(self, name: str, value: LinearTerm) -> ProgramPair:
        return replace(self, memory={**self.memory, name: value})

    def knowing(self, *assertions: Assertion) -> ProgramPair:
        hand = self.hand
        for assertion in assertions:
            hand = hand.with_(self.now(assertion))
        return replace(self, hand=hand)

    def now(self, assertion: Assertion) -> Assertion:
        """An assertion about variables as one about the symbols behind them."""
        return substituted(assertion, self.memory)

    def value(self, form: LinearTerm, side: int) -> LinearTerm:
        total = number(form.constant)
        for name, factor in form.terms.items():
            key = f"{name}<{side}>"
            total = total.plus(self.memory.get(key, variable(key)), factor)
        return total


@dataclass(frozen=True)
class Coupling:
    """A way to couple two draws: the fields of its node, its cost, how the second value moves."""

    fields: Node
    cost: DerivationCost
    shift: LinearTerm | None
    """In symbols; None for coins."""
    opposite: bool = False
    near: Assertion | None = None
    is_move: bool = True


class DerivationSearch:
    """One search for one postcondition. `sizes` are shifts worth trying."""

    def __init__(
        self, post: Assertion, sizes: tuple[Fraction, ...], loop: LoopRule | None = None
    ) -> None:
        self.post = post
        self.sizes = sizes
        self.loop = loop
        self._steps = 0
        self._symbols = itertools.count(1)
        self._extents: dict[Any, tuple[Fraction | None, Fraction | None]] = {}

    def derive(self, pair: ProgramPair) -> Node | None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Exhausted
        one = pair.first[0] if pair.first else None
        two = pair.second[0] if pair.second else None
        if isinstance(one, Assign):
            return self._assign(pair, one, 1)
        if isinstance(two, Assign):
            return self._assign(pair, two, 2)
        if one is None and two is None:
            return {"rule": "skip"} if entailed(pair.hand, pair.now(self.post)) else None
        if isinstance(one, If) and isinstance(two, If):
            return self._if(pair, one, two)
        if isinstance(one, If):
            return self._if_one(pair, one, 1)
        if isinstance(two, If):
            return self._if_one(pair, two, 2)
        if isinstance(one, While) and isinstance(two, While):
            return None if self.loop is None else self.loop(self, pair, one, two)
        framed = self._framed(pair)
        if framed is not None:
            return framed
        if isinstance(one, DrawStatement) and isinstance(two, DrawStatement) and _alike(one, two):
            return self._draw(pair, one, two)
        if isinstance(one, DrawStatement):
            return self._draw_one(pair, one, 1)
        if isinstance(two, DrawStatement):
            return self._draw_one(pair, two, 2)
        return None

    def alone(self, pair: ProgramPair) -> Node | None:
        """A postcondition about the first program only: it runs alone, the second is framed."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Exhausted
        if not pair.first:
            return self._framed(pair)
        head = pair.first[0]
        if isinstance(head, Assign):
            return self._assign(pair, head, 1, alone=True)
        if isinstance(head, If):
            return self._if_one(pair, head, 1, alone=True)
        if isinstance(head, DrawStatement):
            return self._draw_one(pair, head, 1, alone=True)
        return None

    def _next(self, alone: bool) -> Any:
        return self.alone if alone else self.derive

    def _assign(
        self, pair: ProgramPair, head: Assign, side: int, alone: bool = False
    ) -> Node | None:
        value = pair.value(head.value, side)
        rest = pair.dropped(side, pair.side(side)[1:]).stored(f"{head.name}<{side}>", value)
        then = self._next(alone)(rest)
        return None if then is None else {"rule": "assign", "side": side, "then": then}

    def _framed(self, pair: ProgramPair) -> Node | None:
        """Whether what one program has left behind settles the postcondition already."""
        if (pair.first and pair.second) or has_loop(pair.first + pair.second):
            return None
        side = 2 if pair.first else 1
        changed = {f"{name}<{3 - side}>" for name in assigned(pair.side(3 - side))}
        known = [
            equal(variable(name), value)
            for name, value in pair.memory.items()
            if not value.terms and name not in changed and name.split("<")[0].startswith("out")
        ]
        keeps = all_of(*known)
        proof = proof_of(keeps, self.post)
        if proof is None:
            return None
        return {"rule": "frame", "keeps": assertion_json(keeps), "proof": proof}

    # Branches

    def _if(self, pair: ProgramPair, one: If, two: If) -> Node | None:
        tests = sided(one.test, 1), sided(two.test, 2)
        node: Node = {"rule": "if"}
        ways = (("both", 1, 1), ("neither", 0, 0), ("first", 1, 0), ("second", 0, 1))
        for key, yes, also in ways:
            known = pair.knowing(
                tests[0] if yes else negated(tests[0]), tests[1] if also else negated(tests[1])
            )
            if contradiction(known.hand) is not None:
                node[key] = {"rule": "absurd"}
                continue
            left = (one.then if yes else one.other) + pair.first[1:]
            right = (two.then if also else two.other) + pair.second[1:]
            found = self.derive(replace(known, first=left, second=right))
            if found is None:
                return None
            node[key] = found
        return node

    def _if_one(self, pair: ProgramPair, head: If, side: int, alone: bool = False) -> Node | None:
        test = sided(head.test, side)
        node: Node = {"rule": "if_one", "side": side}
        for key, part, branch in (("yes", test, head.then), ("no", negated(test), head.other)):
            known = pair.knowing(part)
            if contradiction(known.hand) is not None:
                node[key] = {"rule": "absurd"}
                continue
            found = self._next(alone)(known.dropped(side, branch + pair.side(side)[1:]))
            if found is None:
                return None
            node[key] = found
        return node

    # Draws

    def _draw(self, pair: ProgramPair, one: DrawStatement, two: DrawStatement) -> Node | None:
        for coupling in self._couplings(pair, one, two):
            if not pair.left.minus(coupling.cost).is_paid:
                continue
            if coupling.is_move and not pair.moves:
                continue
            found = self._coupled(pair, one, two, coupling)
            if found is not None:
                return found
        return None

    def _coupled(
        self, pair: ProgramPair, one: DrawStatement, two: DrawStatement, coupling: Coupling
    ) -> Node | None:
        rest = replace(
            pair,
            first=pair.first[1:],
            second=pair.second[1:],
            left=pair.left.minus(coupling.cost),
            moves=pair.moves - coupling.is_move,
        )
        names = f"{one.name}<1>", f"{two.name}<2>"
        value = self._symbol()
        if coupling.shift is None:
            other = number(ONE).plus(value, -ONE) if coupling.opposite else value
            coin = Hand(rest.hand.conditions, rest.hand.choices).with_(_is_bit(value))
            rest = replace(rest, hand=coin)
        else:
            other = value.plus(coupling.shift)
        if coupling.near is not None:
            near = substituted(coupling.near, {"@": value})
            rest = replace(rest, hand=rest.hand.with_(near))
        then = self.derive(rest.stored(names[0], value).stored(names[1], other))
        return None if then is None else {**coupling.fields, "then": then}

    def _symbol(self) -> LinearTerm:
        return variable(f"@{next(self._symbols)}")

    def _couplings(
        self, pair: ProgramPair, one: DrawStatement, two: DrawStatement
    ) -> Iterator[Coupling]:
        if one.noise.family == "bernoulli":
            yield from self._coins(pair, one, two)
            return
        centres = pair.value(one.centre, 1), pair.value(two.centre, 2)
        apart = centres[1].plus(centres[0], -ONE)
        null = _on(two.centre, 2).plus(_on(one.centre, 1), -ONE)
        yield _shifted(null, apart, ZERO, FREE, is_move=False)
        if not pair.moves:
            return
        low, high = self._extent(apart, pair.hand)
        for size in self.sizes:
            for sign in (size, -size) if size else (ZERO,):
                if low is not None and high is not None:
                    ends = sign - high, sign - low
                    yield from self._moved(pair, one, number(sign), number(sign), ends)
        for size in self.sizes if apart.terms else ():
            for sign in (size, -size) if size else ():
                by = number(sign)
                yield from self._moved(pair, one, null.plus(by), apart.plus(by), (sign, sign))
        yield from self._reaching(pair, one, null, apart)

    def _extent(self, form: LinearTerm, hand: Hand) -> tuple[Fraction | None, Fraction | None]:
        """The least and the largest value of a form, where it has them."""
        key = (form.constant, tuple(sorted(form.terms.items())), hand.conditions)
        if key not in self._extents:
            high = largest(form, hand.conditions)
            low = largest(number(ZERO).plus(form, -ONE), hand.conditions)
            self._extents[key] = (None if low is None else -low, high)
        return self._extents[key]

    def _moved(
        self,
        pair: ProgramPair,
        draw: DrawStatement,
        shift: LinearTerm,
        symbols: LinearTerm,
        ends: tuple[Fraction, Fraction],
    ) -> Iterator[Coupling]:
        """x<2> = x<1> + shift, which moves the noise by something between the ends."""
        low, high = ends
        if draw.noise.family == "exponential" and low < 0:
            return
        distance = max(high, -low, ZERO)
        pure = distance / draw.noise.size
        if draw.noise.family != "gaussian" and pure <= pair.left.epsilon:
            yield _shifted(shift, symbols, distance, DerivationCost(pure, ZERO))
            return
        if not pair.left.delta:
            return
        draws = max(1, min(_draws(pair.first), _draws(pair.second)))
        for share in dict.fromkeys((pair.left.epsilon, pair.left.epsilon / draws)):
            try:
                delta = shift_delta(draw.noise, distance, share, "")
            except Invalid:
                continue
            yield _shifted(shift, symbols, distance, DerivationCost(share, delta))

    def _reaching(
        self, pair: ProgramPair, draw: DrawStatement, null: LinearTerm, apart: LinearTerm
    ) -> Iterator[Coupling]:
        """The null coupling, without the far ends of the noise, for a part of δ."""
        reach = _reach(pair, draw)
        if reach is None:
            return
        cost = DerivationCost(ZERO, tail(draw.noise, reach, ""))
        near = _near(variable("@"), pair.value(draw.centre, 1), reach)
        yield _shifted(null, apart, ZERO, cost, reach=reach, near=near)

    def _coins(
        self, pair: ProgramPair, one: DrawStatement, two: DrawStatement
    ) -> Iterator[Coupling]:
        for opposite in (False, True):
            epsilon = _coin_epsilon(one, two, opposite)
            if epsilon is None:
                continue
            share = min(epsilon, pair.left.epsilon)
            delta = coin_delta(one.noise, two.noise, opposite, share)
            fields = {
                "rule": "draw",
                "opposite": opposite,
                "epsilon": str(share),
                "delta": str(delta),
            }
            cost = DerivationCost(share, delta)
            yield Coupling(fields, cost, None, opposite, is_move=bool(share or delta))

    def _draw_one(
        self, pair: ProgramPair, head: DrawStatement, side: int, alone: bool = False
    ) -> Node | None:
        rest = pair.dropped(side, pair.side(side)[1:])
        value = self._symbol()
        if head.noise.family == "bernoulli":
            rest = replace(rest, hand=rest.hand.with_(_is_bit(value)))
        centre = pair.value(head.centre, side)
        if head.noise.family == "exponential":
            rest = replace(rest, hand=rest.hand.with_(at_least_zero(value.plus(centre, -ONE))))
        then = self._next(alone)(rest.stored(f"{head.name}<{side}>", value))
        if then is not None:
            return {"rule": "draw_one", "side": side, "then": then}
        reach = _reach(pair, head)
        if reach is None or alone:
            return None
        cost = DerivationCost(ZERO, tail(head.noise, reach, ""))
        near = rest.hand.with_(_near(value, centre, reach))
        rest = replace(rest, hand=near, left=pair.left.minus(cost))
        if not rest.left.is_paid:
            return None
        then = self.derive(rest.stored(f"{head.name}<{side}>", value))
        node = {"rule": "draw_one", "side": side, "reach": str(reach), "then": then}
        return None if then is None else node


LoopRule = Callable[[DerivationSearch, ProgramPair, While, While], Node | None]
"""How a pair of loops is derived; handed in, as it uses this search itself."""


def _alike(one: DrawStatement, two: DrawStatement) -> bool:
    coins = one.noise.family == two.noise.family == "bernoulli"
    return coins or one.noise == two.noise


def _on(form: LinearTerm, side: int) -> LinearTerm:
    return form.renamed(lambda name: f"{name}<{side}>")


def _shifted(
    shift: LinearTerm,
    symbols: LinearTerm,
    distance: Fraction,
    cost: DerivationCost,
    *,
    reach: Fraction | None = None,
    near: Assertion | None = None,
    is_move: bool = True,
) -> Coupling:
    fields: Node = {
        "rule": "draw",
        "shift": linear_json(shift),
        "distance": str(distance),
        "epsilon": str(cost.epsilon),
        "delta": str(cost.delta),
    }
    if reach is not None:
        fields["reach"] = str(reach)
    return Coupling(fields, cost, symbols, near=near, is_move=is_move)


def _is_bit(value: LinearTerm) -> Assertion:
    return any_of(equal(value, number(ZERO)), equal(value, number(ONE)))


def _near(value: LinearTerm, centre: LinearTerm, reach: Fraction) -> Assertion:
    noise = value.plus(centre, -ONE)
    return all_of(
        at_least_zero(number(reach).plus(noise, -ONE)), at_least_zero(noise.plus(number(reach)))
    )


def _draws(program: Program) -> int:
    """The most draws on a path."""
    total = 0
    for statement in program:
        if isinstance(statement, DrawStatement):
            total += 1
        elif isinstance(statement, If):
            total += max(_draws(statement.then), _draws(statement.other))
    return total


def _reach(pair: ProgramPair, draw: DrawStatement) -> Fraction | None:
    """How far the noise goes but for an equal share of δ."""
    if not pair.left.delta or draw.noise.family == "bernoulli":
        return None
    share = pair.left.delta / max(1, _draws(pair.first) + _draws(pair.second))
    reach = draw.noise.size
    for _ in range(400):
        if tail(draw.noise, reach, "") <= share:
            break
        reach = reach * Fraction(21, 20)
    low, high = reach * Fraction(20, 21), reach
    for _ in range(30):
        middle = ((low + high) / 2).limit_denominator(10**9)
        if tail(draw.noise, middle, "") <= share:
            high = middle
        else:
            low = middle
    return high if tail(draw.noise, high, "") <= share else None


def _coin_epsilon(one: DrawStatement, two: DrawStatement, opposite: bool) -> Fraction | None:
    """The least ε at which the coupling needs no δ, a little above; None if there is none."""
    p, q = one.noise.size, two.noise.size
    q = ONE - q if opposite else q
    worst = ZERO
    for a, b in ((p, q), (ONE - p, ONE - q)):
        if a and not b:
            return None
        if a > b:
            worst = max(worst, Fraction(math.log(a / b)) + Fraction(1, 10**12))
    return worst.limit_denominator(10**15) + Fraction(1, 10**12) if worst else ZERO


def linear_json(form: LinearTerm) -> list[Any]:
    return [str(form.constant), {k: str(v) for k, v in form.terms.items()}]


def assertion_json(assertion: Assertion) -> list[Any]:
    if isinstance(assertion, LinearInequality):
        terms = {k: str(v) for k, v in assertion.terms}
        return ["is", [str(assertion.constant), terms, assertion.strict]]
    kind = "all" if isinstance(assertion, All) else "any"
    return [kind, *(assertion_json(part) for part in assertion.parts)]
