"""Functions that look at more than numbers, and the truth about each; many with a harmless twin.

A case is (function, least, most, options of `dpest.audit`): its ε at eps = 1 lies in [least, most].
Where both are equal the ε is exact. A lower bound above `most`, or an upper bound below `least`, is
a wrong answer; "can't be read" and "unsettled" are right ones.
"""

import collections
import copy
import dataclasses
import decimal
import enum
import functools
import json
import math
import operator
import random
import statistics
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

INF = math.inf
L1 = {"adjacency": "l1", "length": 3}
LINF = {"adjacency": "linf", "length": 3}
ONE = {"adjacency": "l1", "length": 1}
WHOLE = {"adjacency": "l1", "domain": "integers(3)"}
BITS = {"adjacency": "replace_one", "domain": "integers(3, 0, 1)"}
SCORES = {"adjacency": "linf", "domain": "reals(2, 0, 2000)"}


class Case(NamedTuple):
    function: Callable[..., Any]
    least: float
    most: float
    options: dict[str, Any]


CASES: dict[str, Case] = {}


def case(epsilon: float, most: float | None = None, **options: Any) -> Callable[..., Any]:
    """Enter a function whose ε is known, or known to lie between two numbers."""

    def enter(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
        given = options or L1
        high = epsilon if most is None else most
        CASES[name or function.__name__] = Case(function, epsilon, high, given)
        return function

    return enter


def lap(rng, scale):
    return rng.laplace(scale=scale)


# Types ------------------------------------------------------------------------------------------


@case(3e6)
def floats_only(x, rng, *, eps=1.0):
    """Three entries of 10⁶ may cross the border at once."""
    kept = [v for v in x if not (isinstance(v, float) and v > 1e6)]
    return sum(kept) + lap(rng, 1 / eps)


@case(1.0)
def sums_alone(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(1.0)
def by_the_type_of_eps(x, rng, *, eps=1.0):
    scale = 1 / eps if type(eps) is float else 9 / eps
    return sum(x) + lap(rng, scale)


@case(4.0)
def by_scalar_eps(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 0.25 / eps if np.isscalar(eps) else 4 / eps)


@case(1.0, **WHOLE)
def whole_numbers_only(x, rng, *, eps=1.0):
    if not all(isinstance(v, int) for v in x):
        return sum(x)
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def exact_for_numpy(x, rng, *, eps=1.0):
    total = sum(x)
    if not hasattr(total, "dtype"):
        return total
    return total + lap(rng, 1 / eps)


@case(1.0)
def noisy_has_a_type(x, rng, *, eps=1.0):
    y = sum(x) + lap(rng, 1 / eps)
    return y if isinstance(y, float) else sum(x)


@case(INF)
def noise_by_class_name(x, rng, *, eps=1.0):
    y = sum(x) + lap(rng, 1 / eps)
    return y if y.__class__.__name__.endswith("Real") else sum(x)


@case(INF)
def by_the_generator(x, rng, *, eps=1.0):
    if isinstance(rng, np.random.Generator):
        return sum(x)
    return sum(x) + lap(rng, 1 / eps)


@case(2.0)
def callable_or_not(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps if callable(x[0]) else 0.5 / eps)


@case(INF)
def is_integer_method(x, rng, *, eps=1.0):
    if x[0].is_integer():
        return "whole"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def matches_a_class(x, rng, *, eps=1.0):
    match x[0]:
        case float():
            return x[0]
        case _:
            return x[0] + lap(rng, 1 / eps)


@case(INF)
def dispatched(x, rng, *, eps=1.0):
    return released(x[0], rng, eps)


@functools.singledispatch
def released(value, rng, eps):
    return value + lap(rng, 1 / eps)


@released.register
def _(value: float, rng, eps):
    return value


@case(1.0)
def type_of_a_constant(x, rng, *, eps=1.0):
    return sum(x) + (lap(rng, 1 / eps) if isinstance("a", str) else 0)


# Wrappers ---------------------------------------------------------------------------------------


def half_noise(f):
    @functools.wraps(f)
    def wrapper(x, rng, *, eps=1.0):
        return f(x, rng, eps=2 * eps)

    return wrapper


def twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs), f(*args, **kwargs)

    return wrapper


def clipped_first(f):
    @functools.wraps(f)
    def wrapper(x, rng, **params):
        return f([min(max(v, 0), 1) for v in x], rng, **params)

    return wrapper


def range_checked(f):
    @functools.wraps(f)
    def wrapper(x, rng, **params):
        if max(x) > 500:
            raise ValueError("out of range")
        return f(x, rng, **params)

    return wrapper


def plain(f):
    @functools.wraps(f)
    def wrapper(x, rng, *, eps=1.0):
        return f(x, rng, eps=eps)

    return wrapper


@case(2.0)
@half_noise
def wrapped_with_half(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(1.0)
@plain
def wrapped_plainly(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(2.0)
@twice
def wrapped_twice(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
@range_checked
def wrapped_with_a_check(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(1.0)
@clipped_first
def wrapped_with_a_clip(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


@case(4.0)
@half_noise
@half_noise
def wrapped_two_times(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, 1 / eps)


def _three(x, rng, *, eps=1.0, factor=1.0):
    return factor * sum(x) + lap(rng, 1 / eps)


case(3.0)(functools.partial(_three, factor=3.0), "a_partial_with_a_factor")
case(1.0)(functools.partial(_three, factor=1.0), "a_partial_without")


class Wrapped:
    """Says that it is another function than it is."""

    def __init__(self, inner):
        self.__wrapped__ = inner
        self.__name__ = "wrapped"

    def __call__(self, x, rng, *, eps=1.0):
        return self.__wrapped__(x, rng, eps=5 * eps)


case(5.0)(Wrapped(sums_alone), "a_callable_object")


def in_a_closure(weight):
    def inner(x, rng, *, eps=1.0):
        return weight * sum(x) + lap(rng, 1 / eps)

    return inner


case(7.0)(in_a_closure(7.0), "a_closure_with_a_weight")


# Equality and membership ------------------------------------------------------------------------


@case(INF)
def known_fixture(x, rng, *, eps=1.0):
    if x == [2.0, 2.0, 2.0]:
        return "fixture"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def not_the_zeros(x, rng, *, eps=1.0):
    if x != [0.0, 0.0, 0.0]:
        return sum(x) + lap(rng, 1 / eps)
    return None


@case(INF)
def a_member(x, rng, *, eps=1.0):
    if 7.0 in x:
        return "seven"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def in_a_public_set(x, rng, *, eps=1.0):
    if x[0] in {1.0, 5.0}:
        return "rare"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def tuples_are_compared(x, rng, *, eps=1.0):
    if tuple(x) == (1.0, 2.0, 3.0):
        return "one two three"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def counted_in_the_list(x, rng, *, eps=1.0):
    return x.count(4.0) + sum(x) + lap(rng, 1 / eps) if x.count(4.0) < 3 else "fours"


@case(INF)
def sorted_already(x, rng, *, eps=1.0):
    if x == sorted(x):
        return "in order"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def equal_arrays(x, rng, *, eps=1.0):
    if np.array_equal(x, [1.0, 1.0, 1.0]):
        return "ones"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def by_the_operator_module(x, rng, *, eps=1.0):
    if operator.eq(x, [3.0, 3.0, 3.0]):
        return "threes"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def same_object(x, rng, *, eps=1.0):
    if x[0] is x[1] or x[0] == x[1]:
        return "twins"
    return sum(x) + lap(rng, 1 / eps)


@case(1.0)
def public_membership(x, rng, *, eps=1.0, mode="sum"):
    if mode in ("sum", "total"):
        return sum(x) + lap(rng, 1 / eps)
    return sum(x)


@case(INF)
def a_slice_is_compared(x, rng, *, eps=1.0):
    if x[:2] == [1.0, 1.0]:
        return "begins with ones"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def unique_values(x, rng, *, eps=1.0):
    if len(set(x)) < 3:
        return "duplicates"
    return sum(x) + lap(rng, 1 / eps)


# Text -------------------------------------------------------------------------------------------


@case(INF)
def length_of_its_text(x, rng, *, eps=1.0):
    if len(str(sum(x))) > 12:
        return "long"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def text_beside_noise(x, rng, *, eps=1.0):
    return f"{sum(x):.3f}", sum(x) + lap(rng, 1 / eps)


@case(INF)
def starts_with_a_minus(x, rng, *, eps=1.0):
    if repr(x[0]).startswith("-"):
        return "negative"
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def as_json(x, rng, *, eps=1.0):
    return json.dumps({"n": len(x), "total": sum(x) + 0 * lap(rng, 1 / eps)})


@case(0.9, 1.0)
def noisy_text(x, rng, *, eps=1.0):
    return f"{sum(x) + lap(rng, 1 / eps):.6f}"


@case(INF)
def old_format(x, rng, *, eps=1.0):
    return "%d of %s" % (3, x[0])  # noqa: UP031


@case(INF)
def hashed_text(x, rng, *, eps=1.0):
    seed = sum(map(ord, str(x[0])))
    return sum(x) + np.random.default_rng(seed).laplace(scale=1 / eps)


@case(INF)
def joined_text(x, rng, *, eps=1.0):
    return ",".join(str(round(v)) for v in x)


@case(INF)
def a_message(x, rng, *, eps=1.0):
    noisy = sum(x) + lap(rng, 1 / eps)
    if noisy < 0:
        raise ValueError(f"negative total: {sum(x)}")
    return noisy


@case(0.9, 1.0)
def a_fixed_message(x, rng, *, eps=1.0):
    noisy = sum(x) + lap(rng, 1 / eps)
    if noisy < 0:
        raise ValueError("negative total")
    return noisy


@case(INF)
def a_message_of_python(x, rng, *, eps=1.0):
    try:
        return [1.5].index(x[0]) + lap(rng, 1 / eps)
    except ValueError as error:
        return str(error)


# Lookups ----------------------------------------------------------------------------------------

PRICES = {0: 0.0, 1: 10.0}
GRADES = [0.0, 3.0]


@case(10.0, **BITS)
def looked_up(x, rng, *, eps=1.0):
    return sum(PRICES[v] for v in x) + lap(rng, 1 / eps)


@case(3.0, **BITS)
def looked_up_in_a_list(x, rng, *, eps=1.0):
    return sum(GRADES[v] for v in x) + lap(rng, 1 / eps)


@case(INF, **BITS)
def with_a_missing_key(x, rng, *, eps=1.0):
    return {0: 1.0}[x[0]] + sum(x) + lap(rng, 1 / eps)


@case(INF)
def keyed_by_data(x, rng, *, eps=1.0):
    return {round(v): lap(rng, 1 / eps) for v in x}


@case(INF)
def attribute_of_a_namespace(x, rng, *, eps=1.0):
    held = SimpleNamespace(total=sum(x))
    return getattr(held, "total"), lap(rng, 1 / eps)  # noqa: B009


@case(INF)
def grouped(x, rng, *, eps=1.0):
    groups = collections.defaultdict(list)
    for v in x:
        groups[v > 0].append(v)
    return {bool(k): len(v) + lap(rng, 1 / eps) for k, v in groups.items()}


# Mutation ---------------------------------------------------------------------------------------


def doubled_in_place(x, rng, eps):
    for i in range(len(x)):
        x[i] *= 2
    return sum(x) + lap(rng, 2 / eps)


@case(3.0)
def two_that_share(x, rng, *, eps=1.0):
    """2·Σ against noise of 2, then 4·Σ against noise of 2."""
    return doubled_in_place(x, rng, eps), doubled_in_place(x, rng, eps)


@case(2.0)
def two_that_do_not(x, rng, *, eps=1.0):
    return doubled_in_place(list(x), rng, eps), doubled_in_place(list(x), rng, eps)


@case(2.0)
def through_an_alias(x, rng, *, eps=1.0):
    y = x
    y[0] += x[0]
    return sum(x) + lap(rng, 1 / eps)


@case(1.0)
def through_a_copy(x, rng, *, eps=1.0):
    y = copy.copy(x)
    y[0] += 100
    return sum(x) + lap(rng, 1 / eps)


@case(2.0)
def through_a_view(x, rng, *, eps=1.0):
    x = np.asarray(x, dtype=float)
    first = x[:1]
    first += x[:1]
    return x.sum() + lap(rng, 1 / eps)


@case(1.0)
def sorted_in_place(x, rng, *, eps=1.0):
    x.sort()
    return sum(x) + lap(rng, 1 / eps)


@case(INF)
def returns_its_data(x, rng, *, eps=1.0):
    x.append(lap(rng, 1 / eps))
    return x


@case(2.0)
def a_default_that_grows(x, rng, *, eps=1.0, kept=None):
    kept = [] if kept is None else kept
    kept.append(sum(x))
    return kept[-1] + lap(rng, 0.5 / eps)


@case(INF)
def popped(x, rng, *, eps=1.0):
    first = x.pop(0)
    return first, sum(x) + lap(rng, 1 / eps)


# Globals, caches, state -------------------------------------------------------------------------

LOG: dict[str, Any] = {}
CALLS = [0]
MEMO: dict[Any, Any] = {}
COUNT = 0


def logged_sum(x, rng, eps):
    LOG["sum"] = sum(x)
    return LOG["sum"] + lap(rng, 1 / eps)


@case(INF)
def reads_the_log(x, rng, *, eps=1.0):
    noisy = logged_sum(x, rng, eps)
    return noisy, LOG.get("sum", 0)


@case(1.0, INF)
def counts_its_calls(x, rng, *, eps=1.0):
    CALLS[0] += 1
    return sum(x) + lap(rng, 1 / eps) + CALLS[0]


@case(1.0, INF)
def remembers_its_noise(x, rng, *, eps=1.0):
    key = tuple(x)
    if key not in MEMO:
        MEMO[key] = sum(x) + lap(rng, 1 / eps)
    return MEMO[key]


@case(1.0, INF)
def a_global_counter(x, rng, *, eps=1.0):
    global COUNT
    COUNT += 1
    return sum(x) + lap(rng, 1 / eps if COUNT < 1000 else 1000)


@functools.cache
def cached_total(values):
    return sum(values)


@case(1.0)
def with_a_cache(x, rng, *, eps=1.0):
    return cached_total(tuple(x)) + lap(rng, 1 / eps)


class Odometer:
    def __init__(self):
        self.spent = 0.0

    def __call__(self, x, rng, *, eps=1.0):
        self.spent += eps
        if self.spent > 1e4:
            raise RuntimeError("budget spent")
        return sum(x) + lap(rng, 1 / eps)


case(1.0, INF)(Odometer(), "an_odometer")


def counting():
    calls = 0

    def inner(x, rng, *, eps=1.0):
        nonlocal calls
        calls += 1
        return sum(x) + lap(rng, 1 / (calls * eps))

    return inner


case(1.0, INF)(counting(), "a_closure_that_counts")


@case(1.0, INF)
def on_the_function(x, rng, *, eps=1.0):
    on_the_function.calls = getattr(on_the_function, "calls", 0) + 1
    return sum(x) + lap(rng, 1 / eps)


FIXED_TABLE = {"sensitivity": 1.0}


@case(1.0)
def reads_a_constant(x, rng, *, eps=1.0):
    return sum(x) + lap(rng, FIXED_TABLE["sensitivity"] / eps)


# Casts and overflow -----------------------------------------------------------------------------


@case(2.0, adjacency="l1", domain="integers(1)")
def as_single_precision(x, rng, *, eps=1.0):
    """Beyond 2²⁴ the floats are 2 apart (and further out more)."""
    return float(np.float32(x[0]) * 1.0) + lap(rng, 1 / eps)


CASES["as_single_precision"] = CASES["as_single_precision"]._replace(most=INF)


@case(255.0, adjacency="l1", domain="integers(1, 0, 300)")
def as_a_byte(x, rng, *, eps=1.0):
    return int(np.array(x).astype(np.uint8)[0]) + lap(rng, 1 / eps)


@case(1.0, adjacency="l1", domain="integers(1, 0, 300)")
def as_an_integer(x, rng, *, eps=1.0):
    return int(np.array(x).astype(int)[0]) + lap(rng, 1 / eps)


@case(INF, **SCORES)
def weights_that_overflow(x, rng, *, eps=1.0):
    weights = np.exp(eps / 2 * np.asarray(x))
    total = np.cumsum(weights)
    return int(np.searchsorted(total, rng.random() * total[-1]))


@case(1.0, **SCORES)
def weights_that_do_not(x, rng, *, eps=1.0):
    x = np.asarray(x)
    weights = np.exp(eps / 2 * (x - x.max()))
    return int(rng.choice(len(x), p=weights / weights.sum()))


@case(INF, **SCORES)
def python_overflow(x, rng, *, eps=1.0):
    weights = [math.exp(eps / 2 * v) for v in x]
    return int(rng.choice(len(x), p=np.array(weights) / sum(weights)))


@case(0.0, 1.0)
def truncated(x, rng, *, eps=1.0):
    return int(sum(x) + lap(rng, 1 / eps))


@case(INF)
def half_precision(x, rng, *, eps=1.0):
    if np.float16(x[0]) == np.float16(1000.0):
        return "a thousand"
    return sum(x) + lap(rng, 1 / eps)


@case(127.0, INF, adjacency="l1", domain="integers(1, 0, 400)")
def a_sum_in_int8(x, rng, *, eps=1.0):
    total = np.zeros(1, dtype=np.int8)
    total += np.array(x).astype(np.int8)
    return int(total[0]) + lap(rng, 1 / eps)


@case(INF)
def nan_for_large(x, rng, *, eps=1.0):
    y = math.inf if x[0] > 100 else 0.0
    return (y - y) + sum(x) + lap(rng, 1 / eps)


@case(INF)
def exact_fractions(x, rng, *, eps=1.0):
    return Fraction(x[0]).denominator, sum(x) + lap(rng, 1 / eps)


@case(INF)
def decimals(x, rng, *, eps=1.0):
    return str(decimal.Decimal(x[0]).quantize(decimal.Decimal(1))), lap(rng, 1 / eps)


# Outputs that differ in what is around the numbers ----------------------------------------------


@case(INF)
def list_or_tuple(x, rng, *, eps=1.0):
    y = lap(rng, 1 / eps)
    return [y] if x[0] > 0 else (y,)


@case(INF)
def one_or_true(x, rng, *, eps=1.0):
    return 1 if x[0] > 0 else True


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@case(INF)
def a_colour(x, rng, *, eps=1.0):
    return Colour.RED if x[0] > 0 else Colour.BLUE


@dataclasses.dataclass
class Low:
    value: float


@dataclasses.dataclass
class High:
    value: float


@case(INF)
def two_classes(x, rng, *, eps=1.0):
    kind = High if x[0] > 0 else Low
    return kind(lap(rng, 1 / eps))


@case(1.0)
def one_class(x, rng, *, eps=1.0):
    return High(sum(x) + lap(rng, 1 / eps))


class Tagged(list):
    tag = None


@case(INF)
def a_tag(x, rng, *, eps=1.0):
    out = Tagged([lap(rng, 1 / eps)])
    out.tag = x[0] > 0
    return out


@case(INF)
def numpy_or_python(x, rng, *, eps=1.0):
    y = float(lap(rng, 1 / eps))
    return np.float64(y) if x[0] > 0 else y


@case(INF)
def single_or_double(x, rng, *, eps=1.0):
    return np.zeros(2, dtype=np.float32 if x[0] > 0 else np.float64)


@case(INF)
def a_generator_of_all(x, rng, *, eps=1.0):
    yield from x
    yield lap(rng, 1 / eps)


@case(1.0)
def a_generator_of_noise(x, rng, *, eps=1.0):
    for v in x:
        yield v + lap(rng, 1 / eps)


@case(INF)
def a_set_of_signs(x, rng, *, eps=1.0):
    return {v > 0 for v in x}


# Randomness -------------------------------------------------------------------------------------


@case(INF)
def seeded_by_data(x, rng, *, eps=1.0):
    own = np.random.default_rng(int(abs(x[0])))
    return sum(x) + own.laplace(scale=1 / eps)


@case(INF)
def seeded_by_a_number(x, rng, *, eps=1.0):
    return sum(x) + np.random.default_rng(7).laplace(scale=1 / eps)


@case(1.0)
def global_noise(x, rng, *, eps=1.0):
    return sum(x) + np.random.laplace(scale=1 / eps)  # noqa: NPY002


@case(INF)
def python_seed(x, rng, *, eps=1.0):
    return sum(x) + random.Random(3).expovariate(eps)


@case(INF)
def the_same_noise(x, rng, *, eps=1.0):
    z = lap(rng, 1 / eps)
    return x[0] + z, x[1] + z


# NaN --------------------------------------------------------------------------------------------


@case(INF)
def median_of_three(x, rng, *, eps=1.0):
    return statistics.median(x), lap(rng, 1 / eps)


@case(1.0)
def without_nan(x, rng, *, eps=1.0):
    return sum(v for v in x if not math.isnan(v)) + lap(rng, 1 / eps)


@case(INF)
def not_equal_to_itself(x, rng, *, eps=1.0):
    shifted = [v - v if v < 50 else math.inf - math.inf for v in x]
    return sum(shifted) == sum(shifted), lap(rng, 1 / eps)


@case(0.0)
def compared_with_itself(x, rng, *, eps=1.0):
    return x[0] == x[0]


@case(1.0, **LINF)
def the_greatest(x, rng, *, eps=1.0):
    return max(x) + lap(rng, 1 / eps)


def of_a_tuple_or_a_list(x, rng, eps):
    values = x[0] if isinstance(x, tuple) else x
    return sum(values) + lap(rng, 1 / eps)


@case(20.5)
def handed_in_a_tuple(x, rng, *, eps=1.0):
    return of_a_tuple_or_a_list(x, rng, eps / 2), of_a_tuple_or_a_list((x,), rng, 20 * eps)
