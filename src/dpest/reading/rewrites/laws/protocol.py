"""What a rewrite is, and the one list of them: a law of noise is added by adding one file.

A program makes noise of noise: a logarithm of a uniform draw, a difference of two exponential ones.
Where the draws are used for nothing else, what was made may be read as any noise that has its law.

    class Logarithm:
        name = "…"
        lemma = "if U is uniform on [0, 1), then −log U is exponential with mean 1"
        ...
        def law(self, made): ...

    register(Logarithm())

A rewrite only says which law something has. Everything else is checked by those who apply it: that
the draws occur nowhere else, that runs of the untouched function still fit, and, by `replayed`,
that samples of what was made and of its law agree.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpest.errors import ReplayError
from dpest.geometry.linear import Form, Relation, Symbol
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "abs": np.abs,
    "where": np.where,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}
"""What an expression may be made by, beside sums and multiples."""
RELATIONS: Mapping[Relation, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_RUNS = 20_000
_APART = 0.0327
"""How far two empirical distributions of 20,000 runs may lie apart. By the inequality of Dvoretzky,
Kiefer, Wolfowitz and Massart, for each of them, true laws are further apart in one of 10^4 tests;
the seed is fixed, so that what passes once passes always."""


@dataclass(frozen=True)
class Drawn:
    """A draw, or noise that was recognised before."""

    symbol: Symbol
    noise: Noise


@dataclass(frozen=True)
class Combination:
    """A number and a sum of multiples of other expressions."""

    constant: Fraction
    terms: tuple[tuple[Fraction, Expression], ...]


@dataclass(frozen=True)
class Applied:
    """One of FUNCTIONS, applied."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Holds:
    """1 where an expression stands in a relation to 0, else 0."""

    value: Expression
    relation: Relation


Expression = Drawn | Combination | Applied | Holds


@dataclass(frozen=True)
class Law:
    """A number and a sum of multiples of independent noises, drawn for this alone."""

    terms: tuple[tuple[Fraction, Noise], ...]
    constant: Fraction = Fraction(0)


class Rewrite(Protocol):
    """`families`: those of which it knows sums of two."""

    name: str
    lemma: str
    families: frozenset[str]

    def law(self, made: Expression) -> Law | None:
        """The law of what was made; None where it is not what this rewrite knows."""
        ...

    def is_part(self, made: Applied) -> bool:
        """Whether it may know a larger expression with this inside: it is not refused at once."""
        ...


_FILES = ("differences", "logarithms", "curves", "signs", "floors")
_listed: list[Rewrite] = []


def register(rewrite: Rewrite) -> None:
    """Puts a rewrite on the list; the first one that knows a law is asked."""
    _listed.append(rewrite)
    law_of.cache_clear()


def remove(rewrite: Rewrite) -> None:
    _listed.remove(rewrite)
    law_of.cache_clear()


def rewrites() -> list[Rewrite]:
    """All rewrites: dpest's own, and those that were registered."""
    for file in _FILES:
        importlib.import_module(f"dpest.reading.rewrites.laws.{file}")
    return _listed


def is_part(made: Applied) -> bool:
    return any(rewrite.is_part(made) for rewrite in rewrites())


def recognised(made: Expression) -> Law | None:
    """The law of an expression, held against samples; None: nobody knows it."""
    return law_of(_unnamed(made))


@functools.lru_cache(maxsize=4096)
def law_of(made: Expression) -> Law | None:
    for rewrite in rewrites():
        law = rewrite.law(made)
        if law is not None:
            replayed(rewrite, made, law)
            return law
    return None


def replayed(rewrite: Rewrite, made: Expression, law: Law) -> None:
    """Raises ReplayError where samples of what was made and of its law differ."""
    random, numbers = np.random.default_rng(0), _GivenNumbers()

    def sample(noise: Noise) -> Any:
        return np.asarray(numbers.given(noise).sample(random, _RUNS), float)

    first = np.sort(evaluated(made, {d.symbol: sample(d.noise) for d in drawn_in(made)}))
    second = np.full(_RUNS, float(law.constant))
    for factor, noise in law.terms:
        second = second + float(factor) * sample(noise)
    second.sort()
    # The two are rounded in different ways: so near, values count as equal.
    near = 1e-9 * max(1.0, float(np.abs(second).max()))
    places = np.concatenate([first, second]) + near
    apart = np.searchsorted(first, places) - np.searchsorted(second, places)
    if not np.abs(apart).max() <= _APART * _RUNS:
        raise ReplayError(
            f"the rewrite {rewrite.name!r} gives a law that samples contradict",
            f"its lemma ({rewrite.lemma}) does not hold for what was drawn here",
        )


class _GivenNumbers:
    """Numbers for parameters that are symbols: the same for the same one."""

    def __init__(self) -> None:
        self._known: dict[Any, float] = {}

    def given(self, noise: Noise) -> Noise:
        values = {f.name: getattr(noise, f.name) for f in fields(noise)}
        found = {
            name: self._known.setdefault(value, 0.5 / (1 + len(self._known)))
            for name, value in values.items()
            if not is_number(value) and not isinstance(value, (Collection, Noise))
        }
        return replace(noise, **found) if found else noise


def drawn_in(made: Expression) -> Iterator[Drawn]:
    """The draws in an expression, each once, in order."""
    seen: dict[Drawn, None] = {}
    pending = [made]
    while pending:
        part = pending.pop()
        if isinstance(part, Drawn):
            seen[part] = None
        elif isinstance(part, Applied):
            pending.extend(reversed(part.arguments))
        elif isinstance(part, Holds):
            pending.append(part.value)
        else:
            pending.extend(inner for _, inner in reversed(part.terms))
    return iter(seen)


def evaluated(made: Expression, values: Mapping[Symbol, Any]) -> Any:
    """The value of an expression, where those of its draws are given."""
    if isinstance(made, Drawn):
        return values[made.symbol]
    if isinstance(made, Applied):
        parts = [evaluated(part, values) for part in made.arguments]
        with np.errstate(invalid="ignore", divide="ignore"):  # the other way of a `where`
            return FUNCTIONS[made.function](*parts)
    if isinstance(made, Holds):
        return RELATIONS[made.relation](evaluated(made.value, values), 0)
    return float(made.constant) + sum(float(c) * evaluated(e, values) for c, e in made.terms)


def _unnamed(made: Expression) -> Expression:
    """The same with symbols by number, so that equal shapes are recognised once."""
    names = {d.symbol: Symbol("noise", f"#{i}") for i, d in enumerate(drawn_in(made))}

    def renamed(part: Expression) -> Expression:
        if isinstance(part, Drawn):
            return Drawn(names[part.symbol], part.noise)
        return with_parts(part, renamed)

    return renamed(made)


def with_parts(made: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """An expression with a function applied to its parts."""
    if isinstance(made, Applied):
        return Applied(made.function, tuple(map(function, made.arguments)))
    if isinstance(made, Holds):
        return Holds(function(made.value), made.relation)
    if isinstance(made, Combination):
        return Combination(made.constant, tuple((c, function(e)) for c, e in made.terms))
    return made


def linear(form: Form, noises: Mapping[Symbol, Noise]) -> Combination:
    """A form over noises as an expression."""
    terms = tuple((c, Drawn(s, noises[s])) for s, c in form.terms.items())
    return Combination(form.constant, terms)


def drawn_form(law: Law, names: list[Symbol]) -> Form:
    """A law as a form over symbols for its noises."""
    form = Form(None, law.constant)
    for (factor, _), symbol in zip(law.terms, names, strict=True):
        form = form.plus(Form.of(symbol).times(factor))
    return form
