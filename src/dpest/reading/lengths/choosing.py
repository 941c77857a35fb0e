"""What functions do with weights, with lists of candidates, and with choices among all elements.

The part of the table that speaks of `domains.weights` and of `lengths.places`.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise.parameters import is_number
from dpest.noise.uniform import Uniform
from dpest.reading.domains.numbers import Real
from dpest.reading.domains.weights import Chance, ScaledScore, Weight, Weighted, WeightSum
from dpest.reading.lengths import places, weighing
from dpest.reading.lengths.places import CandidatesLeft, OneDraw, OneHot
from dpest.reading.lengths.values import Count, Places, Sums, Vector
from dpest.reading.machine import prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Method, Ref
from dpest.reading.table.registry import TABLE

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine

Entry = Callable[..., Any]
_LIBRARIES = ("generator", "state")
CANDIDATES: dict[Any, Entry] = {}
"""Functions of a list with an item for each element."""
LENGTHS: dict[Any, Entry] = {}
"""Functions of weights, of vectors of them, and of how many there are."""


def _entry(table: dict[Any, Entry], *functions: Any) -> Callable[[Entry], Entry]:
    def register(made: Entry) -> Entry:
        for function in functions:
            table[function] = made
        return made

    return register


def _methods(name: str, *more: Any) -> tuple[Any, ...]:
    return (*(Method(library, name) for library in _LIBRARIES), *more)


def entry_of(
    m: LengthMachine, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Entry | None:
    """What a call does, where it is one of these."""
    values = (*args, *kwargs.values())
    if any(places.candidates_of(m, v) is not None for v in values) and f in CANDIDATES:
        return CANDIDATES[f]
    if f is builtins.list and len(args) == 1:
        return _listed(m, args[0])
    if f in _EXPONENTIALS and len(values) == 1 and weighing.is_private(m, values[0]):
        return weighing.exponential
    if f in _COINS and weighing.is_chance(m, kwargs.get("p", args[2] if len(args) > 2 else None)):
        return coin
    if f in _CHOICES:
        p = m.sequence(kwargs["p"]) if isinstance(kwargs.get("p"), Ref) else None
        if p is not None and any(weighing.is_chance(m, v) for v in p):
            return choice_of_two
    speaking = [v for v in values if _speaks_of_length(v)]
    if not speaking or _is_one_for_each(f, args, kwargs, speaking):
        return None
    return LENGTHS.get(f) or _of_scipy(f)


def _is_one_for_each(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], speaking: list[Any]
) -> bool:
    """Draws from a public pool, with replacement: only how many there are speaks of the data."""
    place = {"choice": 2, "integers": 3, "randint": 3}.get(f.name) if type(f) is Method else None
    if place is None or len(speaking) != 1 or kwargs.get("replace", True) is not True:
        return False
    size = kwargs.get("size", args[place] if len(args) > place else None)
    return size is speaking[0] and len(args) <= place + 1


def _of_scipy(f: Any) -> Entry | None:
    """Functions of a library that is not loaded for their sake."""
    if not (getattr(f, "__module__", None) or "").startswith("scipy.special"):
        return None
    return {"softmax": softmax, "logsumexp": logsumexp}.get(f.__name__)


def _speaks_of_length(value: Any) -> bool:
    if isinstance(value, Vector):
        return not value.own
    return isinstance(value, (Weighted, Sums, CandidatesLeft, OneHot, Places)) or (
        type(value) is Count or (isinstance(value, tuple) and any(type(v) is Count for v in value))
    )


def _listed(m: LengthMachine, value: Any) -> Entry | None:
    """list(…) of rows with the places of all elements: such a list may be shuffled."""
    if isinstance(value, Places):
        return lambda m, value: places.all_places(m, list, value.first)
    made = places.rows_of(m, value)
    return None if made is None else lambda *_: made


# Lists of candidates

_entry(CANDIDATES, *_methods("permutation"))(lambda m, rng, x: places.in_random_order(m, x))
_entry(CANDIDATES, *_methods("shuffle", Method("random", "shuffle")))(
    lambda m, rng, x: places.shuffle(m, x)
)
_entry(CANDIDATES, list.pop, Method("candidates", "pop"))(places.pop)
_entry(CANDIDATES, list.remove, Method("candidates", "remove"))(places.remove)
_entry(CANDIDATES, builtins.list, list.copy)(lambda m, x: places.copied(m, x, list))
_entry(CANDIDATES, np.array)(lambda m, x: places.copied(m, x, np.ndarray))


@_entry(CANDIDATES, Method("candidates", "copy"))
def copy(m: LengthMachine, value: Ref) -> Ref:
    return places.copied(m, value, m.state.heap.read(value).kind)


@_entry(CANDIDATES, Method("candidates", "tolist"))
def tolist(m: LengthMachine, value: Ref) -> Ref:
    return places.copied(m, value, list)


@_entry(CANDIDATES, *_methods("choice", Method("random", "choice")))
def choice_from_list(
    m: LengthMachine, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    if p is not None:
        return chosen(m, rng, a, size, replace, p)
    if size is None:
        return places.drawn_from(m, a)
    return order_of_all(m, rng, a, size, replace)


# Draws of places


@_entry(LENGTHS, *_methods("permutation"))
def permutation(m: LengthMachine, rng: Any, x: Any) -> Any:
    if isinstance(x, (Count, Places)):
        return places.in_random_order(m, x)
    raise Refused("a permutation of the data")


@_entry(LENGTHS, *_methods("integers"), *_methods("randint"), Method("random", "randrange"))
def integers(m: LengthMachine, rng: Any, low: Any, high: Any = None) -> Any:
    """A place that is drawn uniformly, where the numbers are those of all places."""
    first, last = (0, low) if high is None else (low, high)
    if is_number(first) and first == 0 and isinstance(last, CandidatesLeft):
        return places.drawn_index(m, last)
    if is_number(first) and first == 0 and last == Count():
        return places.drawn_place(m)
    raise Refused("a whole number that is drawn up to the length of the data in this way")


def order_of_all(m: LengthMachine, rng: Any, a: Any, size: Any, replace: Any) -> Any:
    """rng.choice(n, size=n, replace=False): a random order."""
    if size != Count() or replace is not False:
        raise Refused("a number of draws that depends on the length of the data")
    return places.in_random_order(m, a)


@_entry(LENGTHS, *_methods("choice"))
def choice(
    m: LengthMachine, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    if p is not None:
        return chosen(m, rng, a, size, replace, p)
    if size is not None and not isinstance(a, Vector):
        return order_of_all(m, rng, a, size, replace)
    if size is None and a == Count():
        return places.drawn_place(m)
    raise Refused("a choice among the data")


def chosen(m: LengthMachine, rng: Any, a: Any, size: Any, replace: Any, p: Any) -> Any:
    """A choice by weights: of a place, or of what a public list has there."""
    found = places.candidates_of(m, a)
    of_places = isinstance(a, Places) and a.first == 0
    if type(a) is Count:
        of_places = a == Count()
    if found is not None:
        of_places = found.plain and not found.shuffled and not found.partial
    if size is not None and not (type(size) is int and size == 1):
        raise Refused("several choices by weights")
    if (isinstance(a, (Vector, Count)) or found is not None) and not of_places:
        raise Refused("a choice among the data by their weights")
    place: Any = weighing.chosen_by(m, p)
    if not of_places:
        place = places.label_at(m, a, place)
        if place is None:
            raise Refused("a choice among these by weights")
    return place if size is None else OneDraw(place)


@_entry(LENGTHS, *_methods("multinomial"))
def multinomial(m: LengthMachine, rng: Any, n: Any, pvals: Any, size: Any = None) -> Any:
    if n != 1 or size is not None:
        raise Refused("several trials of a choice by weights")
    return OneHot(weighing.chosen_by(m, pvals))


# Coins

_COINS = _methods("binomial")
_CHOICES = _methods("choice")


def coin(m: LengthMachine, rng: Any, n: Any, p: Any, size: Any = None) -> Any:
    if n != 1 or size is not None:
        raise Refused("rng.binomial with private chances, but for one trial")
    return m.chosen(weighing.tossed(m, p), 1, 0, (int,))


def choice_of_two(
    m: LengthMachine, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    """One of two values, by a private chance and what is left of it."""
    chances, values = m.sequence(p), m.sequence(a)
    if size is not None or values is None or len(values) != 2:
        raise Refused("a choice by private chances")
    if not weighing.complementary(m, chances):
        raise Refused("a choice by private chances that don't add up to 1")
    return values[0] if m.holds(weighing.tossed(m, chances[0])) else values[1]


@_entry(LENGTHS, *_methods("uniform"))
def uniform(m: LengthMachine, rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """A uniform share of the sum of all weights, where that is the border."""
    if not isinstance(high, WeightSum):
        return TABLE[Method(rng.library, "uniform")](m, rng, low, high, size)
    if size is not None or not is_number(low) or low != 0:
        raise Refused("rng.uniform up to a sum of weights")
    return weighing.share_of(m, high, m.draw(Uniform(0.0, 1.0), (float,)))


# Functions of weights

_EXPONENTIALS = (math.exp, np.exp)


@_entry(LENGTHS, math.exp, np.exp)
def exponential(m: LengthMachine, value: Any) -> Any:
    return _applied(m, value, weighing.exponential, "exp")


@_entry(LENGTHS, math.log, np.log)
def logarithm(m: LengthMachine, value: Any) -> Any:
    return _applied(m, value, weighing.logarithm, "log")


def _applied(m: LengthMachine, value: Any, function: Entry, name: str) -> Any:
    def one(v: Any) -> Any:
        found = function(m, v)
        if found is None:
            raise Refused(f"{name} of this")
        return found

    return m.elementwise(one, value) if isinstance(value, Vector) else one(value)


def _sum(function: Any) -> None:
    def made(m: LengthMachine, value: Any, *more: Any) -> Any:
        if isinstance(value, Vector) and isinstance(value.element, Weight) and not more:
            return WeightSum(value.element)
        from dpest.reading.lengths import functions

        return (functions.EVERY_LENGTH.get(function) or TABLE[function])(m, value, *more)

    _entry(LENGTHS, function)(made)


_sum(builtins.sum)
_sum(np.sum)
_sum(math.fsum)


def _extreme(function: Any, least: bool) -> None:
    def made(m: LengthMachine, value: Any, *more: Any, **options: Any) -> Any:
        element = value.element if isinstance(value, Vector) else None
        if isinstance(element, (Real, ScaledScore, Weight)) and not more and not options:
            return weighing.greatest(m, value, least)
        from dpest.reading.lengths import functions

        return (functions.EVERY_LENGTH.get(function) or TABLE[function])(m, value, *more, **options)

    _entry(LENGTHS, function)(made)


for _function, _least in ((builtins.max, False), (np.max, False), (builtins.min, True),
                          (np.min, True)):  # fmt: skip
    _extreme(_function, _least)


@_entry(LENGTHS, np.cumsum)
def cumsum(m: LengthMachine, value: Any) -> Any:
    if isinstance(value, Vector) and isinstance(value.element, (Weight, Chance)):
        return Sums(value)
    from dpest.reading.lengths import functions

    return functions.cumsum(m, value)


@_entry(LENGTHS, np.searchsorted)
def searchsorted(m: LengthMachine, sums: Any, share: Any, side: Any = "left") -> Any:
    """The border of a running sum is met with chance 0: either side is the same."""
    if not isinstance(sums, Sums) or side not in ("left", "right"):
        raise Refused("np.searchsorted of this")
    return weighing.place_in_sums(m, sums, share)


def softmax(m: LengthMachine, scores: Any, axis: Any = None) -> Any:
    return weighing.softmax(m, _scores(scores, axis))


def logsumexp(m: LengthMachine, scores: Any, axis: Any = None) -> Any:
    return weighing.log_sum_of_weights(m, _scores(scores, axis))


def _scores(value: Any, axis: Any) -> Vector:
    if not isinstance(value, Vector) or axis not in (None, 0, -1):
        raise Refused("softmax or logsumexp of this")
    return value


@_entry(LENGTHS, np.argmax)
def argmax(m: LengthMachine, value: Any) -> Any:
    if isinstance(value, OneHot):
        return value.place
    from dpest.reading.lengths import functions

    return functions.argmax(m, value)


@_entry(LENGTHS, builtins.sorted)
def sorted_(m: LengthMachine, values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    if not isinstance(values, Places) or values.first or key is None or not is_number(reverse):
        raise Refused("an order of the data")
    return Enter(prelude.sorted_places_, (values, key, bool(reverse), np.argsort))


@_entry(LENGTHS, np.arange)
def arange(m: LengthMachine, *ends: Any) -> Any:
    if ends in ((Count(),), (0, Count())):
        return places.all_places(m, np.ndarray)
    raise Refused("np.arange that depends on the length of the data in this way")
