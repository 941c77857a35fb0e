"""What the trace reading gives: the paths of a mechanism, linear in its noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.running.skeleton import Skeleton, unflatten


@dataclass(frozen=True)
class Choice:
    """A draw with finitely many outcomes, forked by outcome: this path took `outcome`.

    `site` tells draws apart; `probability` is exact where the parameters were. A loop that begins
    anew is a choice as well, whose `probability` is how much more probable the path is than its
    first turn: more than 1. `rounded`: the probability was computed in floating point.
    """

    site: str
    noise: Noise
    outcome: Any
    probability: Any
    rounded: bool = False


@dataclass(frozen=True)
class Path:
    """A region of the noise, and what is released on it.

    The region is the conjunction of `conditions` (on the noises and, in a symbolic trace, the
    inputs), met with the outcomes of `choices`. `leaves` are the output's leaves: constants, or
    Forms (kind "real") over noise, indicator and input symbols. Regions of different paths are
    disjoint.
    """

    conditions: tuple[Condition, ...]
    skeleton: Skeleton
    leaves: tuple[Any, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def output(self) -> Any:
        return unflatten(self.skeleton, self.leaves)

    @property
    def forms(self) -> tuple[Form, ...]:
        """The real-valued leaves, in order."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, Form))


@dataclass(frozen=True)
class Formula:
    """What an indicator stands for: a condition, or a conjunction or disjunction of formulas."""

    condition: Condition | None
    parts: tuple[Formula, ...] = ()
    conjunction: bool = True

    @staticmethod
    def of(truth: Any) -> Formula:
        """Of any value that has these three parts."""
        return Formula(truth.condition, tuple(map(Formula.of, truth.parts)), truth.conjunction)

    def negated(self) -> Formula:
        if self.condition is not None:
            return Formula(self.condition.negated())
        return Formula(None, tuple(p.negated() for p in self.parts), not self.conjunction)

    def conditions(self) -> Iterator[Condition]:
        """All conditions that it is made of."""
        if self.condition is not None:
            yield self.condition
        for part in self.parts:
            yield from part.conditions()

    def symbols(self) -> set[Symbol]:
        return {s for condition in self.conditions() for s in condition.form.terms}

    def at(self, values: dict[Symbol, Fraction], inside: Callable[[Symbol], Fraction]) -> bool:
        """Its truth at a point; symbols without a place there are put where `inside` says."""
        if self.condition is not None:
            for symbol in self.condition.form.terms:
                if symbol not in values:
                    values[symbol] = inside(symbol)
            return self.condition.holds(values)
        answers = [p.at(values, inside) for p in self.parts]
        return all(answers) if self.conjunction else any(answers)

    def substituted(self, values: Mapping[Symbol, Form]) -> Formula | bool:
        """With forms for its symbols; a bool where it is known then."""
        if self.condition is not None:
            at = Condition(self.condition.form.substitute(values), self.condition.relation)
            known = at.decided()
            return Formula(at) if known is None else known
        left: list[Formula] = []
        for part in self.parts:
            found = part.substituted(values)
            if isinstance(found, Formula):
                left.append(found)
            elif found != self.conjunction:
                return not self.conjunction
        if not left:
            return self.conjunction
        return left[0] if len(left) == 1 else Formula(None, tuple(left), self.conjunction)


@dataclass(frozen=True)
class Trace:
    """All paths of one mechanism on one (concrete or symbolic) input.

    `noises` gives the distribution of each noise symbol: independent of each other and of the
    choices. `indicators` defines each indicator symbol (0 or 1) by a formula. `leftover` bounds the
    probability of what was not explored (loops without a bound); 0 means that the paths are
    complete. `inputs` is the input: numbers, or symbolic ones (`domains.numbers.Real`). `rounding`:
    how far off a chance may be that the program computed in doubles, relative to it.
    `rounding_of_ends`: the same for intervals of a uniform draw; ∞ where one may be empty.
    """

    paths: tuple[Path, ...]
    noises: Mapping[Symbol, Noise]
    indicators: Mapping[Symbol, Formula] = field(default_factory=dict)
    leftover: Fraction | float = Fraction(0)
    inputs: Any = None
    notes: tuple[str, ...] = ()
    rounding: float = 0.0
    rounding_of_ends: float = 0.0
