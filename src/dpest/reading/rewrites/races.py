"""Loops that try candidates until a coin comes up, read as the argmax that they amount to.

A *race* tries all candidates in a uniformly random order; each is accepted with chance
w = e^(k·(s − max s)) of its own coin, and the first that is accepted is released (permute-and-flip,
McKenna and Sheldon, 2020). It has the distribution of the argmax of k·s + Exp(1), one draw for each
(Ding, Kifer, Sakib, Xiao et al., 2021). Give every candidate a uniform arrival time; the order of
arrival is uniformly random. Candidate i arrives at y and wins if it is accepted and no other was
accepted before y, which has chance w_j·y for each j: w_i·∫ Π(1 − w_j·y) dy over [0, 1]. For the
argmax, let t be how far the winner is above max k·s (it can't be below, as that one's own noise is
not negative): ∫ w_i·e^−t·Π(1 − w_j·e^−t) dt over t ≥ 0, and y = e^−t. The best candidate has w = 1,
so that the loop never runs out.

A *rejection* tries candidates drawn with replacement until one is accepted, each with a chance that
is proportional to e^score: P(i) = w_i / Σ w_j, the argmax of score + Gumbel noise.

An *inversion* adds up weights in the order of the data until the sum is above a uniform share of
all: P(i) = w_i / Σ w_j again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise.exponential import Exponential
from dpest.noise.gumbel import Gumbel
from dpest.noise.uniform import Uniform
from dpest.reading.domains.unit import Unit
from dpest.reading.domains.weights import (
    CandidatesLeft,
    Chance,
    Greatest,
    NamedValues,
    ScaledScore,
    Share,
    Weight,
)
from dpest.reading.loop_graph import END, LoopEdge

TURN = "turn"
"""The sources of places that a loop in a random order comes to, each once, begin with it."""
UNIFORM = "uniform 0"
"""The source of a place that is drawn from all, with replacement."""
POOL = "pool"
"""Sources of places that are drawn from those that a list still has begin with it."""

Exponent = tuple[tuple[int, Form], ...]
"""A score: for each power of eps the form that it multiplies."""
Chances = dict[Exponent, Fraction]
"""A sum of multiples of e^exponent."""


@dataclass(frozen=True)
class ArgmaxLaw:
    """The release is the argmax over the elements of `form` + noise of scale 1/factor."""

    rule: str
    form: Form
    factor: Any

    @property
    def noise(self) -> Any:
        family = Exponential if self.rule == "race" else Gumbel
        return family(1 / self.factor)


class ChanceError(RefusedError):
    """A loop is left by chances that depend on the data, and is none of those that are known."""


class _NoLaw(Exception):
    """What keeps the loop from being one of those that are known."""


def law_of(
    edges: Sequence[LoopEdge], noises: Mapping[Symbol, Any], values: NamedValues
) -> ArgmaxLaw:
    """What a loop with private chances amounts to; RefusedError says what is in the way."""
    if not any(e.reads or e.looked for e in edges):
        raise RefusedError(
            "it uses the greatest of data of any length, or a weight, otherwise than in the "
            "chances of a choice: give a length instead of ANY"
        )
    try:
        return _RaceReader(edges, noises, values).law()
    except _NoLaw as why:
        raise ChanceError(
            f"a loop that is left by chances that depend on the data: {why}. A proof knows: all "
            "candidates in random order, each accepted with chance exp(k·(score − greatest score)) "
            "(permute-and-flip); the same drawn with replacement; and sums of weights up to a "
            "uniform share of all"
        ) from None


class _RaceReader:
    def __init__(
        self, edges: Sequence[LoopEdge], noises: Mapping[Symbol, Any], values: NamedValues
    ) -> None:
        self.edges = edges
        self.noises = noises
        self.values = values
        self.trying = {e.source for e in edges if e.looked}
        self.sources = {e.looked.rpartition(" ")[0] for e in edges if e.looked}

    def law(self) -> ArgmaxLaw:
        loop = self._start()
        here = [e for e in self.edges if e.source == loop]
        sources = {e.looked for e in here if e.looked}
        everywhere = {e.looked for e in self.edges if e.looked}
        if len(everywhere) == 1 and next(iter(everywhere)).startswith(TURN):
            return self._race(self._accepted(loop))
        if sources:
            return self._drawn(loop)
        drawn = {s for e in here if e.reads for s in e.draws}
        if any(s in drawn for e in here for b in e.blocks for c in b for s in c.form.terms):
            raise _NoLaw(
                "the candidates are tried in the order of the data, so that what comes early has "
                "an advantage, and whether it is taken tells how good the best is"
            )
        return self._inversion(loop)

    def _drawn(self, loop: int) -> ArgmaxLaw:
        """Candidates that are drawn, from all or from those that are left."""
        again = [e for e in self.edges if e.looked and e.target in self.trying]
        lists = {e.looked.rpartition(" ")[0] for e in self.edges if e.looked}
        if len(lists) != 1 or not next(iter(lists)).startswith(("uniform", "fresh", POOL)):
            raise _NoLaw("its candidates come from several lists, or from a new one in each turn")
        accepted = self._accepted(loop)
        if next(iter(lists)).startswith(POOL) and all(e.removed for e in again):
            return self._race(accepted)  # those that are left, in a random order
        if any(e.removed for e in self.edges):
            raise _NoLaw("some candidates are taken out of the list, others are not")
        return self._rejection(accepted)

    # The loop

    def _start(self) -> int:
        """The node of the loop: the way there has no branches."""
        node = 0
        for _ in range(len(self.edges) + 1):
            here = [e for e in self.edges if e.source == node]
            if any(e.reads or e.looked for e in here):
                return node
            if len(here) != 1 or here[0].blocks or here[0].released:
                raise _NoLaw("there is a branch, or a release, before it")
            if here[0].removed:
                raise _NoLaw("a candidate is taken out before it")
            node = here[0].target
        raise _NoLaw("it is not reached")

    def _accepted(self, loop: int) -> Chances:
        """The chance that a turn accepts its candidate: all turns must be alike."""
        found: Chances | None = None
        released: set[tuple[Any, ...]] = set()
        pending, known = [loop], {loop}
        while pending:
            node = pending.pop()
            accepted: Chances = {}
            for edge in (e for e in self.edges if e.source == node and self._is_try(e)):
                if edge.target in self.trying:
                    self._unchanged(edge)
                    if edge.target not in known:
                        known.add(edge.target)
                        pending.append(edge.target)
                    continue
                released.add(self._released(edge))
                for exponent, share in self._chance(edge).items():
                    accepted[exponent] = accepted.get(exponent, Fraction(0)) + share
            accepted = {e: c for e, c in accepted.items() if c}
            if found is not None and found != accepted:
                raise _NoLaw("its turns differ in their chances")
            found = accepted
        if len(released) != 1 or found is None:
            raise _NoLaw("it releases different things, or nothing")
        return found

    def _is_try(self, edge: LoopEdge) -> bool:
        """Whether an edge is a turn; that no candidate is left has no chance (see the top)."""
        return edge.reads or bool(edge.looked) or not self._is_exhausted(edge)

    def _is_exhausted(self, edge: LoopEdge) -> bool:
        """Whether it is the way on when all candidates were tried."""
        if any(e.reads for e in self.edges if e.source == edge.source):
            return not edge.reads
        return any(self._about_left(c) < 0 for block in edge.blocks for c in block)

    def _about_left(self, condition: Condition) -> int:
        """1 for "some are left", −1 for "none are left", 0 for anything else."""
        signs = []
        for symbol, sign in condition.form.terms.items():
            left = self.values.meanings.get(symbol)
            if isinstance(left, CandidatesLeft) and left.source in ("", *self.sources):
                signs.append(sign)
        if len(signs) != 1 or len(condition.form.terms) != 1 or condition.form.constant:
            return 0
        return 1 if signs[0] > 0 else -1

    def _unchanged(self, edge: LoopEdge) -> None:
        """A turn that accepts nobody leaves all as it was."""
        moved = any(form != Form.of(slot) for slot, form in edge.updates.items())
        fresh = {v for v in edge.places.values() if v not in ("kept", "fresh")}
        if moved or fresh or edge.released:
            raise _NoLaw("a turn that accepts nobody changes something")

    def _released(self, edge: LoopEdge) -> tuple[Any, ...]:
        """What is released after a turn that accepts its candidate: its place, and constants."""
        seen: list[Any] = list(edge.released)
        at, kept = edge.target, {k for k, v in edge.places.items() if v == f"place {edge.looked}"}
        for _ in range(len(self.edges) + 1):
            if at == END:
                break
            here = [e for e in self.edges if e.source == at]
            on = [e for e in here if e.target != at]
            for turn in (e for e in here if e.target == at):
                self._unchanged(turn)
            if len(on) != 1 or any(e.blocks for e in here):
                raise _NoLaw("there is a branch after it")
            seen += on[0].released
            at = on[0].target
        places = [v for v in seen if isinstance(v, tuple) and v[:1] == ("place",)]
        chosen = [v for v in seen if isinstance(v, tuple) and v[:1] == ("chosen",)]
        if any(isinstance(v, Form) or v == "position" for v in seen):
            raise _NoLaw("it releases more than the place of a candidate")
        right = all(v[1] == edge.looked for v in places) and all(v[1] in kept for v in chosen)
        if not right or not (places or chosen):
            raise _NoLaw("it doesn't release the place of the candidate that was accepted")
        return tuple(repr(v[2]) if v in (*places, *chosen) else repr(v) for v in seen)

    # Chances

    def _chance(self, edge: LoopEdge) -> Chances:
        """The chance of a way through one turn: its coins are independent."""
        found: Chances = {(): Fraction(1)}
        used: set[Symbol] = set()
        for condition in (c for block in edge.blocks for c in block):
            if self._about_left(condition) > 0:
                continue
            tossed = [s for s in condition.form.terms if s.kind == "noise"]
            if len(tossed) != 1 or tossed[0] not in edge.draws:
                raise _NoLaw("a decision is not one coin, tossed in its turn")
            if tossed[0] in used:
                raise _NoLaw("a draw is used twice")
            used.add(tossed[0])
            found = _product(found, self._coin(condition, tossed[0]))
        return found

    def _coin(self, condition: Condition, noise: Symbol) -> Chances:
        """The chance of a·h + rest > 0 (the border has none)."""
        family = self.noises[noise]
        slope = condition.form.terms[noise]
        rest = Form(
            {s: c for s, c in condition.form.terms.items() if s != noise}, condition.form.constant
        )
        if condition.relation not in (">", ">="):
            raise _NoLaw("a draw is tested for equality")
        if isinstance(family, Uniform):
            below = self._below(family, rest.times(-1 / slope))
            return below if slope < 0 else _complement(below)
        if isinstance(family, Exponential):
            above = self._above(family, rest.times(-1 / slope))
            return above if slope > 0 else _complement(above)
        raise _NoLaw(f"a decision by {family.family} noise")

    def _below(self, noise: Uniform, border: Form) -> Chances:
        """P(h < border) where h is uniform; the border is a multiple of a weight, or a number."""
        low, high = rational(noise.low), rational(noise.high)
        if len(border.terms) > 1 or low >= high:
            raise _NoLaw("a coin with two chances")
        found: Chances = {(): (border.constant - low) / (high - low)}
        if not border.terms:
            found[()] = min(max(found[()], Fraction(0)), Fraction(1))
            return found
        ((symbol, slope),) = border.terms.items()
        weight = self.values.meanings.get(symbol)
        if not isinstance(weight, Weight):
            raise _NoLaw("a coin whose chance is not exp(k·(score − greatest score))")
        exponent = _exponent(weight.score)
        self._not_positive(exponent)
        if not all(low <= border.constant + end <= high for end in (Fraction(0), slope)):
            raise _NoLaw("a chance that could be below 0 or above 1")
        found[exponent] = slope / (high - low)
        return found

    def _above(self, noise: Exponential, border: Form) -> Chances:
        """P(h > border) = e^(−border/scale) where the border is not negative."""
        inverse = 1 / noise.scale
        if not isinstance(inverse, Unit):
            inverse = rational(inverse)
        named = self.values.meanings.get(next(iter(border.terms), None))  # type: ignore[arg-type]
        if isinstance(named, ScaledScore) and len(border.terms) == 1 and not border.constant:
            if isinstance(inverse, Unit):
                raise _NoLaw("a score and a noise that are both multiples of eps are compared")
            ((_, slope),) = border.terms.items()
            exponent = _exponent(named, -slope * inverse)
        else:
            exponent = _exponent(None, -inverse, border)
        self._not_positive(exponent)
        return {exponent: Fraction(1)}

    def _not_positive(self, exponent: Exponent) -> list[tuple[int, Fraction, Form]]:
        """(power, c, f) for each part c·(f − max f), c > 0: the score is a sum of such parts."""
        parts = []
        for power, form in exponent:
            rest = form
            for symbol in list(form.terms):
                top = self.values.meanings.get(symbol)
                if isinstance(top, Greatest):
                    c = -form.terms[symbol]
                    if c < 0:
                        raise _NoLaw("the greatest score is added to a score")
                    parts.append((power, c, top.form))
                    rest = rest.plus(Form.of(symbol), c).plus(top.form, -c)
            if rest.terms or rest.constant:
                raise _NoLaw(
                    "a chance that may be above 1: the greatest of all scores, as they are, must "
                    "be taken from a score"
                )
        return parts

    # The laws

    def _race(self, accepted: Chances) -> ArgmaxLaw:
        ((exponent, share), *more) = accepted.items() or [((), Fraction(0))]
        parts = self._not_positive(exponent)
        if more or share != 1 or len(parts) != 1:
            raise _NoLaw("the best candidate is not always accepted")
        ((power, c, form),) = parts
        return ArgmaxLaw("race", form, _factor(power, c))

    def _rejection(self, accepted: Chances) -> ArgmaxLaw:
        ((exponent, _), *more) = accepted.items() or [((), Fraction(0))]
        if more or len(exponent) != 1:
            raise _NoLaw("the chance is not a multiple of e^score")
        ((power, form),) = exponent
        return self._softmax("rejection", power, form)

    def _inversion(self, loop: int) -> ArgmaxLaw:
        """At every node: left if w + L > 0, where L is minus what is left of the share.

        On the way in L is −share; after a turn that goes on it is what w + L was. So w + L is the
        sum of all weights so far minus the share.
        """
        nodes: dict[int, Form] = {}
        turning = {e.source for e in self.edges if e.reads}
        weights = set()
        released = set()
        pending = [loop]
        while pending:
            node = pending.pop()
            if node in nodes:
                continue
            here = [e for e in self.edges if e.source == node and e.reads]
            hits = [e for e in here if e.target not in turning]
            rest = [e for e in here if e.target in turning]
            if len(hits) != 1 or len(rest) != 1 or len(hits[0].blocks) != 1:
                raise _NoLaw("there is no one decision in each turn")
            (condition, *others) = hits[0].blocks[0]
            weight = [
                s
                for s in condition.form.terms
                if isinstance(self.values.meanings.get(s), (Weight, Chance))
            ]
            if others or len(weight) != 1 or condition.form.terms[weight[0]] <= 0:
                raise _NoLaw("its decisions are not about a sum of weights")
            reached = condition.form.times(1 / condition.form.terms[weight[0]])
            nodes[node] = reached.plus(Form.of(weight[0]), -1)
            weights.add(weight[0])
            released.add(self._place_now(hits[0]))
            if rest[0].released:
                raise _NoLaw("a turn that goes on releases something")
            pending.append(rest[0].target)
        if len(weights) != 1 or len(released) != 1:
            raise _NoLaw("its turns differ")
        (weight_symbol,) = weights
        for edge in self.edges:
            if edge.target not in nodes or (edge.source in nodes and not edge.reads):
                continue
            left = nodes[edge.target].substitute(edge.updates)
            if edge.source in nodes:
                if left != nodes[edge.source].plus(Form.of(weight_symbol)):
                    raise _NoLaw("what it adds up is not the sum of the weights")
                continue
            self._share(left, self.values.meanings[weight_symbol])
        weight_of = self.values.meanings[weight_symbol]
        weight_of = weight_of.weight if isinstance(weight_of, Chance) else weight_of
        ((power, form),) = _exponent(weight_of.score)
        return self._softmax("inversion", power, form)

    def _softmax(self, rule: str, power: int, form: Form) -> ArgmaxLaw:
        if any(s.kind != "input" and not self.values.is_shared(s) for s in form.terms):
            raise _NoLaw("a score that is not data alone")
        return softmax_law(rule, power, form)

    def _share(self, left: Form, weight: Any) -> None:
        """Whether a form is minus a uniform share of the sum of these weights."""
        if len(left.terms) != 1 or left.constant or next(iter(left.terms.values())) != -1:
            raise _NoLaw("the sums are not compared with a uniform share of all")
        (symbol,) = left.terms
        found = self.values.meanings.get(symbol)
        noise = found.noise if isinstance(found, Share) else symbol
        if isinstance(weight, Weight):
            same = isinstance(found, Share) and (found.weight.key == weight.key)
        else:
            same = found is None
        family = self.noises.get(noise)
        if not same or family != Uniform(0.0, 1.0):
            raise _NoLaw("the sums are not compared with a uniform share of all")
        if any(noise in e.draws for e in self.edges if e.reads):
            raise _NoLaw("the share is drawn anew")

    def _place_now(self, edge: LoopEdge) -> tuple[Any, ...]:
        """What is released after the decision: the place of this turn, and constants."""
        seen = list(edge.released)
        at = edge.target
        for _ in range(len(self.edges) + 1):
            if at == END:
                break
            here = [e for e in self.edges if e.source == at]
            if len(here) != 1 or here[0].blocks or here[0].reads:
                raise _NoLaw("there is a branch after it")
            seen += here[0].released
            at = here[0].target
        now = [k for k, v in edge.places.items() if v == "now"]
        places = sum(1 for v in seen if v == "position" or v == ("kept place",))
        if any(isinstance(v, Form) for v in seen) or places != 1:
            raise _NoLaw("it doesn't release the place where the sum is reached, and that alone")
        if ("kept place",) in seen and len(edge.places) != len(now):
            raise _NoLaw("it keeps several places")
        return tuple(map(repr, seen))


def softmax_law(rule: str, power: int, form: Form) -> ArgmaxLaw:
    """What all elements share cancels."""
    return ArgmaxLaw(rule, Form({s: c for s, c in form.terms.items() if s.kind == "input"}),
               _factor(power, Fraction(1)))  # fmt: skip


def _factor(power: int, c: Fraction) -> Any:
    return Unit(c, power) if power else c


def _exponent(
    score: ScaledScore | None, times: Any = Fraction(1), form: Form | None = None
) -> Exponent:
    factor = times if score is None else times * score.factor
    of = score.form if score is not None else form
    assert of is not None
    if isinstance(factor, Unit):
        return ((factor.power, of.times(factor.factor)),)
    return ((0, of.times(rational(factor))),)


def _product(first: Chances, second: Chances) -> Chances:
    found: Chances = {}
    for one, a in first.items():
        for two, b in second.items():
            powers: dict[int, Form] = {}
            for power, form in (*one, *two):
                powers[power] = powers.get(power, Form()).plus(form)
            key = tuple(sorted(((p, f) for p, f in powers.items() if f.terms or f.constant),
                               key=lambda part: part[0]))  # fmt: skip
            found[key] = found.get(key, Fraction(0)) + a * b
    return found


def _complement(chances: Chances) -> Chances:
    found = {e: -c for e, c in chances.items()}
    found[()] = found.get((), Fraction(0)) + 1
    return found
