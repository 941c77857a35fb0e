"""The rules of apRHL: from a derivation and a postcondition to the precondition that it shows.

Every rule looks at the heads of two programs c₁, c₂ and at a postcondition Ψ; what comes back is
(Φ, ε, δ) with {Φ} c₁ ~(ε,δ) c₂ {Ψ}. Lemmas, with c;d for c followed by d:

  skip        {Ψ} nothing ~(0,0) nothing {Ψ}.
  assign      {Φ[e/x<i>]} x := e; c₁ ~ c₂ {Ψ} if {Φ} c₁ ~ c₂ {Ψ}; on the second side alike.
  draw        x <- e₁ + noise; c₁ ~ y <- e₂ + noise; c₂, with (couplings.py) |k + e₁ - e₂| ≤ d:
              {|k + e₁ - e₂| ≤ d ∧ ∀v. Φ[v/x<1>, v + k/y<2>]}, and ε, δ add up (couplings compose).
              With a reach t, only v with |v - e₁| ≤ t matter, for the chance of the others in δ.
  draw_one    a draw of one side alone: {∀v. Φ[v/x<i>]}, at no cost, since a draw always ends. With
              a reach t, only v with |v - e| ≤ t matter, for the chance of the others in δ.
  if          if b₁ …; c₁ ~ if b₂ …; c₂: each of the four ways has its own derivation; ε and δ are
              the largest, as one memory goes one way. (if b then c else d); r is
              if b then c;r else d;r.
  if_one      a conditional of one side alone, alike.
  case        {(E ⇒ Φ) ∧ (¬E ⇒ Φ')} if {Φ} and {Φ'} by one derivation each; ε and δ the largest.
  weaken      {Φ'} if {Φ} and Φ' ⊢ Φ (entailments.py).
  absurd      {false} c₁ ~(0,0) c₂ {Ψ}.
  frame       {F} c₁ ~(0,0) c₂ {Ψ} if F ⊢ Ψ, and neither program changes a variable of F or has a
              loop, so that both end.
  sequence    {Φ} c₁;d₁ ~ c₂;d₂ {Ψ} if {Φ} c₁ ~ c₂ {Φ'} and {Φ'} d₁ ~ d₂ {Ψ}; ε and δ add up.
  while       {I ∧ v<1> ≤ n} while b₁ do c₁ ~(n·ε,n·δ) while b₂ do c₂ {Ψ} if I makes b₁ and b₂
              equal, I ∧ v<1> ≤ 0 excludes b₁, I ∧ ¬b₁ ∧ ¬b₂ ⊢ Ψ, and the body keeps I and takes 1
              from v: {I ∧ b₁ ∧ b₂ ∧ v<1> ≤ κ} c₁ ~(ε,δ) c₂ {I ∧ v<1> ≤ κ - 1} for every κ.
  pointwise   {⋀ Φᵢ ∧ Φ'} c₁ ~(ε, Σδᵢ) c₂ {Ψ} if {Φᵢ} c₁ ~(ε,δᵢ) c₂ {x<1> = aᵢ ⇒ Ψ} for finitely
              many distinct points aᵢ, Ψ ∧ x<1> = aᵢ ⊢ y<2> = aᵢ, and {Φ'} c₁ ~(·,0) c₂ {x<1> is
              some aᵢ}. The sets Ψ(A ∩ {x = aᵢ}) are disjoint, so that the inequalities add up.

A quantified v is a variable that nothing else mentions. It stands for all values wherever the
assertion is proved, since preconditions occur positively; no assertion of a certificate names it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ..fields import Fields, listed, rational
from ..forms import ONE, ZERO
from ..invalid import Invalid, need
from .assertions import (
    FALSE,
    SIDED,
    TRUE,
    Assertion,
    LinearTerm,
    all_of,
    any_of,
    at_least_zero,
    equal,
    implies,
    negated,
    number,
    read_assertion,
    read_linear,
    sided,
    substituted,
    variable,
    variables,
)
from .couplings import coin_delta, shift_delta, tail
from .entailments import need_entailed
from .programs import Assign, DrawStatement, If, Program, While, assigned, has_loop

_DEEPEST = 400
_MOST_NODES = 200_000
KAPPA = "κ"
"""The bound on the variant in a turn of a loop; no program can name it."""


@dataclass(frozen=True)
class Shown:
    """{pre} c₁ ~(epsilon, delta) c₂ {post} for the programs and the postcondition asked about."""

    pre: Assertion
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Goal:
    """Two programs and a postcondition, for which a precondition is wanted."""

    first: Program
    second: Program
    post: Assertion

    def side(self, which: int) -> Program:
        return self.first if which == 1 else self.second

    def after(self, which: int, program: Program) -> Goal:
        """The same goal with another program on one side."""
        return replace(self, first=program) if which == 1 else replace(self, second=program)


class Derivations:
    """Checks derivations; counts the variables that quantifiers bind, and its own work."""

    def __init__(self) -> None:
        self._bound = 0
        self._nodes = 0

    def check(self, value: object, goal: Goal, where: str, depth: int = 0) -> Shown:
        self._nodes += 1
        need(depth < _DEEPEST, f"{where}: too deeply nested")
        need(self._nodes < _MOST_NODES, f"{where}: too long a derivation")
        fields = Fields(value, where)
        rule = fields.text("rule")
        if rule not in _RULES:
            raise Invalid(f"{where}: unknown rule {rule[:40]!r}")
        return _RULES[rule](self, fields, goal, depth + 1)

    def fresh(self) -> LinearTerm:
        self._bound += 1
        return variable(f"∀{self._bound}")


def _skip(_: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    fields.done()
    need(not goal.first and not goal.second, f"{fields.where}: the programs are not at their ends")
    return Shown(goal.post, ZERO, ZERO)


def _absurd(_: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    fields.done()
    return Shown(FALSE, ZERO, ZERO)


def _frame(_: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    kept = read_assertion(fields.take("keeps"), SIDED, where)
    need_entailed(kept, goal.post, fields.take("proof"), where)
    fields.done()
    changed = {f"{name}<1>" for name in assigned(goal.first)}
    changed |= {f"{name}<2>" for name in assigned(goal.second)}
    need(changed.isdisjoint(variables(kept)), f"{where}: a variable is changed")
    need(not has_loop(goal.first + goal.second), f"{where}: a loop, which might not end")
    return Shown(kept, ZERO, ZERO)


def _side(fields: Fields) -> int:
    side = fields.whole("side")
    need(side in (1, 2), f"{fields.where}: no side")
    return side


def _assign(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    side, then = _side(fields), fields.take("then")
    fields.done()
    program = goal.side(side)
    head = program[0] if program else None
    if not isinstance(head, Assign):
        raise Invalid(f"{fields.where}: no assignment")
    shown = run.check(then, goal.after(side, program[1:]), fields.where, depth)
    value = _on(head.value, side)
    return replace(shown, pre=substituted(shown.pre, {f"{head.name}<{side}>": value}))


def _on(form: LinearTerm, side: int) -> LinearTerm:
    return form.renamed(lambda name: f"{name}<{side}>")


def _draw_of(program: Program, where: str) -> DrawStatement:
    head = program[0] if program else None
    if not isinstance(head, DrawStatement):
        raise Invalid(f"{where}: no draw")
    return head


def _draw(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    one, two = _draw_of(goal.first, where), _draw_of(goal.second, where)
    if one.noise.family == "bernoulli":
        return _coins(run, fields, goal, depth)
    need(one.noise == two.noise, f"{where}: two different noises")
    shift = read_linear(fields.take("shift"), SIDED, where)
    distance, epsilon, delta = (fields.number(k) for k in ("distance", "epsilon", "delta"))
    reach, then = fields.optional("reach"), fields.take("then")
    fields.done()
    shown = run.check(then, Goal(goal.first[1:], goal.second[1:], goal.post), where, depth)
    value = run.fresh()
    centre = _on(one.centre, 1)
    moved = shift.plus(centre).plus(_on(two.centre, 2), -ONE)
    least = number(ZERO if one.noise.family == "exponential" else -distance)
    within = all_of(
        at_least_zero(number(distance).plus(moved, -ONE)), at_least_zero(moved.plus(least, -ONE))
    )
    names = {f"{one.name}<1>": value, f"{two.name}<2>": value.plus(shift)}
    pre = substituted(shown.pre, names)
    lost = shift_delta(one.noise, distance, epsilon, where)
    if reach is not None:
        pre, missed = _reached(one, value.plus(centre, -ONE), rational(reach, where), pre, where)
        lost += missed
    need(lost <= delta, f"{where}: δ is too small")
    return Shown(all_of(within, pre), shown.epsilon + epsilon, shown.delta + delta)


def _reached(
    draw: DrawStatement, noise: LinearTerm, reach: Fraction, pre: Assertion, where: str
) -> tuple[Assertion, Fraction]:
    """The precondition for noise within reach alone, and the chance of the other."""
    least = number(ZERO if draw.noise.family == "exponential" else -reach)
    near = all_of(
        at_least_zero(number(reach).plus(noise, -ONE)), at_least_zero(noise.plus(least, -ONE))
    )
    return implies(near, pre), tail(draw.noise, reach, where)


def _coins(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    one, two = _draw_of(goal.first, where), _draw_of(goal.second, where)
    need(two.noise.family == "bernoulli", f"{where}: a coin and another noise")
    opposite = fields.truth("opposite")
    epsilon, delta, then = fields.number("epsilon"), fields.number("delta"), fields.take("then")
    fields.done()
    need(epsilon >= 0, f"{where}: a negative cost")
    need(coin_delta(one.noise, two.noise, opposite, epsilon) <= delta, f"{where}: δ is too small")
    shown = run.check(then, Goal(goal.first[1:], goal.second[1:], goal.post), where, depth)
    ways = []
    for v in (ZERO, ONE):
        other = ONE - v if opposite else v
        names = {f"{one.name}<1>": number(v), f"{two.name}<2>": number(other)}
        ways.append(substituted(shown.pre, names))
    return Shown(all_of(*ways), shown.epsilon + epsilon, shown.delta + delta)


def _draw_one(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where, side = fields.where, _side(fields)
    draw = _draw_of(goal.side(side), where)
    reach, then = fields.optional("reach"), fields.take("then")
    fields.done()
    shown = run.check(then, goal.after(side, goal.side(side)[1:]), where, depth)
    name = f"{draw.name}<{side}>"
    if draw.noise.family == "bernoulli":
        need(reach is None, f"{where}: a coin has no tail")
        ways = (substituted(shown.pre, {name: number(v)}) for v in (ZERO, ONE))
        return replace(shown, pre=all_of(*ways))
    value = run.fresh()
    pre, missed = substituted(shown.pre, {name: value}), ZERO
    noise = value.plus(_on(draw.centre, side), -ONE)
    if reach is not None:
        pre, missed = _reached(draw, noise, rational(reach, where), pre, where)
    elif draw.noise.family == "exponential":
        pre = implies(at_least_zero(noise), pre)
    return Shown(pre, shown.epsilon, shown.delta + missed)


def _if_of(program: Program, where: str) -> If:
    head = program[0] if program else None
    if not isinstance(head, If):
        raise Invalid(f"{where}: no conditional")
    return head


def _if(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    one, two = _if_of(goal.first, where), _if_of(goal.second, where)
    tests = sided(one.test, 1), sided(two.test, 2)
    ways = {"both": (1, 1), "first": (1, 0), "second": (0, 1), "neither": (0, 0)}
    found = []
    for key, (yes, also) in ways.items():
        left = (one.then if yes else one.other) + goal.first[1:]
        right = (two.then if also else two.other) + goal.second[1:]
        shown = run.check(fields.take(key), Goal(left, right, goal.post), where, depth)
        test = all_of(
            tests[0] if yes else negated(tests[0]), tests[1] if also else negated(tests[1])
        )
        found.append((test, shown))
    fields.done()
    return _one_of(found)


def _one_of(found: list[tuple[Assertion, Shown]]) -> Shown:
    """Cases that exclude each other: where a test holds, its precondition must."""
    pre = all_of(*(implies(test, shown.pre) for test, shown in found))
    return Shown(pre, max(s.epsilon for _, s in found), max(s.delta for _, s in found))


def _if_one(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where, side = fields.where, _side(fields)
    program = goal.side(side)
    head = _if_of(program, where)
    test = sided(head.test, side)
    then = goal.after(side, head.then + program[1:])
    other = goal.after(side, head.other + program[1:])
    yes = run.check(fields.take("yes"), then, where, depth)
    no = run.check(fields.take("no"), other, where, depth)
    fields.done()
    return _one_of([(test, yes), (negated(test), no)])


def _case(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    test = read_assertion(fields.take("test"), SIDED, fields.where)
    yes = run.check(fields.take("yes"), goal, fields.where, depth)
    no = run.check(fields.take("no"), goal, fields.where, depth)
    fields.done()
    return _one_of([(test, yes), (negated(test), no)])


def _weaken(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    pre = read_assertion(fields.take("pre"), SIDED, fields.where)
    shown = run.check(fields.take("then"), goal, fields.where, depth)
    need_entailed(pre, shown.pre, fields.take("proof"), fields.where)
    fields.done()
    return replace(shown, pre=pre)


def _sequence(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    i, j = (rational(v, where) for v in listed(fields.take("at"), where, 2))
    need(i.denominator == j.denominator == 1, f"{where}: no place in a program")
    m, n = int(i), int(j)
    inside = 0 <= m <= len(goal.first) and 0 <= n <= len(goal.second)
    need(inside, f"{where}: no place in a program")
    last = Goal(goal.first[m:], goal.second[n:], goal.post)
    second = run.check(fields.take("second"), last, where, depth)
    start = Goal(goal.first[:m], goal.second[:n], second.pre)
    first = run.check(fields.take("first"), start, where, depth)
    fields.done()
    return Shown(first.pre, first.epsilon + second.epsilon, first.delta + second.delta)


def _while(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    need(len(goal.first) == len(goal.second) == 1, f"{where}: not two loops alone")
    one, two = goal.first[0], goal.second[0]
    if not isinstance(one, While) or not isinstance(two, While):
        raise Invalid(f"{where}: no loop")
    invariant = read_assertion(fields.take("invariant"), SIDED, where)
    variant = read_linear(fields.take("variant"), SIDED, where)
    turns = fields.whole("turns")
    need(turns >= 0, f"{where}: a negative number of turns")
    need(all(name.endswith("<1>") for name in variant.terms), f"{where}: a variant of both sides")
    tests = sided(one.test, 1), sided(two.test, 2)
    left = at_least_zero(number(ZERO).plus(variant, -ONE))
    proofs = fields.inner("proofs")
    sure = (
        ("same", all_of(invariant, tests[0]), tests[1]),
        ("again", all_of(invariant, tests[1]), tests[0]),
        ("ends", all_of(invariant, left), negated(tests[0])),
        ("post", all_of(invariant, negated(tests[0]), negated(tests[1])), goal.post),
    )
    for key, premise, claim in sure:
        need_entailed(premise, claim, proofs.take(key), where)
    bound = variable(KAPPA)
    fewer = at_least_zero(bound.plus(number(ONE), -ONE).plus(variant, -ONE))
    body = Goal(one.body, two.body, all_of(invariant, fewer))
    shown = run.check(fields.take("body"), body, where, depth)
    before = all_of(invariant, *tests, at_least_zero(bound.plus(variant, -ONE)))
    need_entailed(before, shown.pre, proofs.take("body"), where)
    proofs.done()
    fields.done()
    pre = all_of(invariant, at_least_zero(number(Fraction(turns)).plus(variant, -ONE)))
    return Shown(pre, turns * shown.epsilon, turns * shown.delta)


def _pointwise(run: Derivations, fields: Fields, goal: Goal, depth: int) -> Shown:
    where = fields.where
    left, right = fields.texts("first"), fields.texts("second")
    need(len(left) == len(right) > 0, f"{where}: not as many variables on both sides")
    points = [
        tuple(rational(v, where) for v in listed(point, where, len(left)))
        for point in listed(fields.take("points"), where)
    ]
    need(len(set(points)) == len(points), f"{where}: a point twice")
    proofs = listed(fields.take("proofs"), where, len(points))
    each = listed(fields.take("each"), where, len(points))
    pre: Assertion = TRUE
    somewhere: Assertion = FALSE
    epsilon, delta = ZERO, ZERO
    for point, proof, derivation in zip(points, proofs, each, strict=True):
        here, there = _at(left, 1, point), _at(right, 2, point)
        need_entailed(all_of(goal.post, here), there, proof, where)
        wanted = replace(goal, post=implies(here, goal.post))
        shown = run.check(derivation, wanted, where, depth)
        pre, somewhere = all_of(pre, shown.pre), any_of(somewhere, here)
        epsilon, delta = max(epsilon, shown.epsilon), delta + shown.delta
    rest = run.check(fields.take("outside"), replace(goal, post=somewhere), where, depth)
    need(rest.delta == 0, f"{where}: the other outputs have a chance")
    fields.done()
    return Shown(all_of(pre, rest.pre), epsilon, delta)


def _at(names: tuple[str, ...], side: int, point: tuple[Fraction, ...]) -> Assertion:
    pairs = zip(names, point, strict=True)
    return all_of(*(equal(variable(f"{name}<{side}>"), number(v)) for name, v in pairs))


_RULES = {
    "skip": _skip,
    "assign": _assign,
    "draw": _draw,
    "draw_one": _draw_one,
    "if": _if,
    "if_one": _if_one,
    "case": _case,
    "weaken": _weaken,
    "absurd": _absurd,
    "frame": _frame,
    "sequence": _sequence,
    "while": _while,
    "pointwise": _pointwise,
}
