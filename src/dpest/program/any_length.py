"""A private vector of unknown length, and what a function may do with it in one pass.

Every element is the same expression of its own datum `q` and of its own draws; sums over, and
choices among, the elements are only taken where a proof has a rule for them. What has no rule says
so, and names a length as the way out.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.program.entrywise import Entrywise
from dpest.program.lengths import Count, Counter, Position, unsupported
from dpest.program.linear import Form, Symbol
from dpest.program.public_sizes import Size, Sized, sized_draw
from dpest.program.running import remembered, running
from dpest.program.selections import chosen, clipped, extreme
from dpest.program.softmax import Chance, Scaled, Weight, WeightSum
from dpest.program.symbolic import Real, Truth, is_symbolic

ELEMENT = Symbol("input", "q")
"""The datum of the current element."""


def fields_of(name: str, count: int) -> list[Symbol]:
    """The data of one entry: one symbol, or one for each field of a record."""
    return [Symbol("input", f"{name}_{k}" if k else name) for k in range(max(count, 1))]


GREATEST = Symbol("state", "__greatest__")
"""The greatest of the data themselves; only where it cancels."""


@dataclass(frozen=True)
class Selected:
    """The place of the greatest (or least) element: np.argmax. It can only be released."""

    element: Real
    least: bool

    def _unknown(self, *_: Any) -> Any:
        unsupported("anything but the release of the argmax")

    __index__ = __int__ = __float__ = __bool__ = __add__ = __lt__ = __gt__ = _unknown

    def item(self) -> Selected:
        return self

    def dpest_signature(self) -> Any:
        return ("selected", self.element.form, self.least)


@dataclass(frozen=True)
class Ranked:
    """The greatest (rank 1) or second greatest (rank 2) element: only their gap can be released."""

    vector: Vector
    rank: int

    def _shared(self) -> Any:
        """The greatest of the data themselves: it moves all elements alike, and must cancel."""
        if self.vector.own or not isinstance(self.vector.element, Real) or self.rank != 1:
            self._unknown()
        return Real(Form.of(GREATEST))

    def __rsub__(self, other: Any) -> Any:
        return other - self._shared()

    def __sub__(self, other: Any) -> Any:
        same = isinstance(other, Ranked) and other.vector.element is self.vector.element
        if same and (self.rank, other.rank) == (1, 2):
            return Gap(self.vector)
        unsupported("this difference of order statistics")

    def _unknown(self, *_: Any) -> Any:
        unsupported("the value of the greatest element")

    __add__ = __radd__ = __mul__ = __float__ = __lt__ = __gt__ = __le__ = _unknown
    __ge__ = __bool__ = __int__ = _unknown

    def dpest_signature(self) -> Any:
        return ("ranked", self.rank, self.vector.dpest_signature())


@dataclass(frozen=True)
class Gap:
    """The greatest element minus the second greatest. It can only be released."""

    vector: Vector

    def item(self) -> Gap:
        return self

    def _unknown(self, *_: Any) -> Any:
        unsupported("anything but the release of the gap")

    __add__ = __radd__ = __sub__ = __mul__ = __lt__ = __gt__ = __bool__ = _unknown

    def dpest_signature(self) -> Any:
        return ("gap", self.vector.dpest_signature())


@dataclass(frozen=True)
class Sorted:
    """All elements in order: only the two greatest can be taken."""

    vector: Vector
    descending: bool = False

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key == slice(None, None, -1):
            return Sorted(self.vector, not self.descending)
        ranks = {0: 1, 1: 2} if self.descending else {-1: 1, -2: 2}
        if isinstance(key, int) and key in ranks:
            return Ranked(self.vector, ranks[key])
        unsupported("this order statistic")

    def dpest_signature(self) -> Any:
        return ("sorted", self.descending, self.vector.dpest_signature())


@dataclass(frozen=True)
class Others:
    """All elements but the greatest."""

    vector: Vector

    def max(self, axis: Any = None) -> Ranked:
        return Ranked(self.vector, 2)

    def dpest_signature(self) -> Any:
        return ("others", self.vector.dpest_signature())


class Vector(Entrywise):
    """A vector of any length whose elements are all the same expression."""

    def __init__(self, element: Any, own: frozenset[Symbol] = frozenset()) -> None:
        self.element = element
        self.own = own
        """The noises that each element has its own copy of."""

    def _with(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Vector):
            return Vector(how(self.element, other.element), self.own | other.own)
        if isinstance(other, (np.ndarray, list, tuple)) and np.ndim(other) > 0:
            unsupported("arithmetic with a vector of known length")
        return Vector(how(self.element, other), self.own)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return Vector(-self.element, self.own)

    def __abs__(self) -> Any:
        return Vector(abs(self.element), self.own)

    def __invert__(self) -> Any:
        return Vector(~self.element, self.own)

    def __iter__(self) -> Any:
        unsupported("a loop inside of an expression, or a second loop, over the elements")

    def __len__(self) -> int:
        unsupported("len() inside of another function")

    def __bool__(self) -> bool:
        unsupported("the truth value")

    def __array__(self, *_: Any, **__: Any) -> Any:
        unsupported("this NumPy function")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Position) and key.offset == 0:
            return self.element
        if isinstance(key, slice) and key == slice(None):
            return self
        if isinstance(key, Selected) and key.element is self.element and not key.least:
            return Ranked(self, 1)
        unsupported("an entry")

    @property
    def shape(self) -> tuple[Count]:
        return (Count(),)

    @property
    def size(self) -> Count:
        return Count()

    ndim = 1

    def argmax(self, axis: Any = None) -> Any:
        return Selected(self.element, False)

    def argmin(self, axis: Any = None) -> Any:
        return Selected(self.element, True)

    def sum(self, axis: Any = None) -> Any:
        if isinstance(self.element, Weight):
            return WeightSum(self.element)
        return total(self)

    def exp(self) -> Any:
        element = self.element
        if isinstance(element, Real):
            element = Scaled(Fraction(1), element)
        if not isinstance(element, Scaled):
            unsupported("np.exp")
        return Vector(element.exp(), self.own)

    def mean(self, axis: Any = None) -> Any:
        unsupported("the mean")

    def max(self, axis: Any = None) -> Any:
        return Ranked(self, 1)

    def min(self, axis: Any = None) -> Any:
        unsupported("the minimum's value")

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return Vector(clipped(self.element, low, high), self.own)

    def cumsum(self, axis: Any = None) -> Any:
        return PrefixSums(self)

    def copy(self) -> Vector:
        return self

    def astype(self, dtype: Any, **_: Any) -> Any:
        element = self.element
        return Vector(element.astype(dtype) if is_symbolic(element) else element, self.own)

    def tolist(self) -> Vector:
        return self

    flatten = ravel = tolist

    def dpest_signature(self) -> Any:
        from dpest.program.states import signature

        return ("vector", signature(self.element), tuple(sorted(self.own)))


@dataclass(frozen=True)
class PrefixSums:
    """np.cumsum: to release it is to release the elements."""

    vector: Vector

    def tolist(self) -> PrefixSums:
        return self

    def dpest_signature(self) -> Any:
        return ("prefix", self.vector.dpest_signature())


def total(vector: Vector) -> Any:
    """The sum of all elements, as a slot that a loop over them would fill."""
    return running().total(vector)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Pass:
    """What a loop runs over: for each position and element, the loop's item."""

    item: Callable[[Position], Any]
    own: frozenset[Symbol] = frozenset()
    numbered: bool = False
    plain: bool = False
    """Whether the items are the positions themselves."""


def pass_over(value: Any) -> Pass | None:
    """A pass over the elements, if the value is one; None for an ordinary iterable."""
    from dpest.program.states import copied

    if isinstance(value, Pass):
        return value
    if isinstance(value, Vector):
        return Pass(lambda position: copied(value.element), value.own)
    return None


class Output:
    """A list (or array) that the function fills and releases, but never reads."""

    def __init__(self, name: str, items: Iterable[Any] = ()) -> None:
        self.name = name
        self.items = list(items)

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        self.items.extend(values)

    def __iadd__(self, values: Iterable[Any]) -> Output:  # type: ignore[misc]
        self.items.extend(values)
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (isinstance(key, Position) and key.offset == 0):
            raise remembered(ReadsOutputError(self.name))
        self.items.append(value)

    def tolist(self) -> Output:
        return self

    copy = tolist

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(list, name):
            raise remembered(ReadsOutputError(self.name))
        raise AttributeError(name)

    def _read(self, *_: Any) -> Any:
        raise remembered(ReadsOutputError(self.name))

    __len__ = __iter__ = __getitem__ = __bool__ = __contains__ = __add__ = __array__ = _read
    __eq__ = __ne__ = __str__ = __lt__ = __gt__ = _read
    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> Output:
        from dpest.program.states import copied

        return Output(self.name, copied(self.items, memo))

    def dpest_signature(self) -> Any:
        return ("output", self.name)


class ReadsOutputError(BaseException):
    """A list that was taken for an output is read."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass
class VectorGenerator:
    """The symbolic generator, with draws of any size."""

    inner: Any
    own: Callable[[Any], frozenset[Symbol]]
    dpest_generator: bool = True

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name == "choice":
            return self._choice

        def draw(*args: Any, **options: Any) -> Any:
            if any(isinstance(v, (Size, Sized)) for v in (*args, *options.values())):
                return sized_draw(name, method, args, options)
            sizes = [v for v in (*args, *options.values()) if _is_size(v)]
            vectors = [v for v in (*args, *options.values()) if isinstance(v, Vector)]
            if not sizes and not vectors:
                return method(*args, **options)
            plain = [_element(v) for v in args if not _is_size(v)]
            named = {k: _element(v) for k, v in options.items() if not _is_size(v)}
            value = method(*plain, **named)
            inherited = frozenset().union(*(v.own for v in vectors)) if vectors else frozenset()
            return Vector(value, self.own(value) | inherited)

        return draw

    def _choice(self, a: Any, size: Any = None, **options: Any) -> Any:
        """A place of a vector of any length, with given chances; by Gumbel noise (`softmax`)."""
        p = options.get("p")
        if _is_size(size) and isinstance(a, (list, tuple)) and options.get("replace", True) is True:
            value = self.inner.choice(a, **options)
            own = self.own(value)
            if own:  # else a draw with several outcomes, which would be the same for all entries
                return Vector(value, own)
        if not isinstance(p, Vector):
            if any(isinstance(v, (Vector, Pass, Count)) for v in (a, size, p)):
                unsupported("rng.choice")
            return self.inner.choice(a, size, **options)
        places = (isinstance(a, Count) and a == Count()) or (isinstance(a, Pass) and a.plain)
        if not places or size is not None or not isinstance(p.element, Chance) or p.own:
            unsupported("rng.choice with these chances")
        score = p.element.weight.score
        value, factor = score.value, score.factor
        if factor < 0:
            value, factor = -value, -factor
        noise = self.inner.gumbel(scale=1 / factor)
        running().world.chosen.update(self.own(noise))  # type: ignore[attr-defined]
        return Vector(value + noise, self.own(noise)).argmax()


def _is_size(value: Any) -> bool:
    if isinstance(value, Count):
        return True
    return isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], Count)


def _element(value: Any) -> Any:
    return value.element if isinstance(value, Vector) else value


# Builtins and NumPy functions, as the pieces see them


def symbolic_max(*args: Any, **options: Any) -> Any:
    return _extreme(builtins.max, False, args, options)


def symbolic_min(*args: Any, **options: Any) -> Any:
    return _extreme(builtins.min, True, args, options)


def _extreme(plain: Any, least: bool, args: tuple[Any, ...], options: Any) -> Any:
    """max() and min() by one decision among n, instead of n − 1 comparisons in a row."""
    if len(args) == 1 and isinstance(args[0], Vector):
        return args[0].max()
    key = options.get("key")
    values = list(args[0]) if len(args) == 1 else list(args)
    keys = [key(v) for v in values] if key is not None else values
    if len(values) == 2 and key is None:
        for value, end in (values, values[::-1]):
            if type(value) is Real and value.form.terms and not is_symbolic(end):
                bounded = clipped(value, None, end) if least else clipped(value, end, None)
                if bounded is not value:
                    return bounded
    if not values or not any(isinstance(k, Real) for k in keys):
        return plain(values, **options) if values or "default" in options else plain(*args)
    return values[extreme(keys, least=least)]


LISTS: dict[str, Any] = {"max": symbolic_max, "min": symbolic_min}
"""The builtins that pieces use in place of Python's, at any length, known or not."""


def _len(value: Any) -> Any:
    return Count() if isinstance(value, Vector) else builtins.len(value)


def _enumerate(value: Any, start: int = 0) -> Any:
    over = pass_over(value)
    if over is None:
        return builtins.enumerate(value, start)
    return Pass(lambda p: (p + start, over.item(p)), over.own, True)


def _range(*args: Any) -> Any:
    if any(isinstance(a, Count) for a in args):
        if (len(args) == 1 or (len(args) == 2 and args[0] == 0)) and args[-1] == Count():
            return Pass(lambda p: p, frozenset(), True, True)
        unsupported("this range over the length")
    return builtins.range(*args)


def _zip(*values: Any, **options: Any) -> Any:
    overs = [pass_over(v) for v in values]
    if not any(overs):
        return builtins.zip(*values, **options)  # noqa: B905 (the caller's own choice)
    if not all(overs):
        unsupported("zip() with a sequence of known length")
    own = frozenset().union(*(o.own for o in overs if o))
    return Pass(lambda p: tuple(o.item(p) for o in overs if o), own)


def _list(*values: Any) -> Any:
    if values and isinstance(values[0], (Vector, Output, PrefixSums)):
        return values[0]
    return builtins.list(*values)


def _tuple(*values: Any) -> Any:
    if values and isinstance(values[0], (Vector, Output, PrefixSums)):
        return values[0]
    return builtins.tuple(*values)


def _sorted(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if isinstance(values, Vector) and key is None:
        return Sorted(values, reverse)
    return builtins.sorted(values, key=key, reverse=reverse)


def _without(vector: Any, place: Any) -> Any:
    if isinstance(place, Selected) and place.element is vector.element and not place.least:
        return Others(vector)
    unsupported("np.delete")


def _int(value: Any = 0, *base: Any) -> Any:
    if isinstance(value, (Selected, Position, Counter)):
        return value
    if is_symbolic(value):
        from dpest.program.patches import _int as of_noise

        return of_noise(value)
    return builtins.int(value, *base)


def _sum(values: Any, start: Any = 0) -> Any:
    if isinstance(values, Vector):
        found = values.sum()
        return found if isinstance(found, WeightSum) else start + found
    return builtins.sum(values, start)


def _asking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The builtin; a value that knows better (`program.records`) answers itself."""

    def call(*args: Any, **options: Any) -> Any:
        for value in (*args, *options.values()):
            own = getattr(type(value), "dpest_builtin", None)
            if own is not None:
                return own(value, name, args, options)
        return function(*args, **options)

    return call


ANY_LENGTH: dict[str, Any] = {
    name: _asking(name, function)
    for name, function in {
        **LISTS,
        "len": _len,
        "enumerate": _enumerate,
        "range": _range,
        "zip": _zip,
        "list": _list,
        "tuple": _tuple,
        "sum": _sum,
        "int": _int,
        "sorted": _sorted,
        **{name: getattr(builtins, name) for name in ("map", "filter", "any", "all", "round")},
    }.items()
}


def _as_array(value: Any, dtype: Any = None) -> Any:
    if dtype not in (None, float, np.float64, "float", "float64"):
        unsupported(f"np.asarray with dtype={dtype!r}")
    return value


def _filled(shape: Any, *_: Any, **__: Any) -> Any:
    return Output("array")


def _clip(
    v: Any, low: Any = None, high: Any = None, *, a_min: Any = None, a_max: Any = None
) -> Any:
    return v.clip(low if a_min is None else a_min, high if a_max is None else a_max)


def _entrywise(name: str) -> Callable[[Any], Any]:
    def apply(v: Any) -> Any:
        if not isinstance(v.element, Real):
            unsupported(f"np.{name}")
        return Vector(getattr(np, name)(v.element), v.own)

    return apply


def _where(condition: Any, yes: Any, no: Any) -> Any:
    """np.where, entry by entry."""
    vectors = [v for v in (condition, yes, no) if isinstance(v, Vector)]
    entries = [v.element if isinstance(v, Vector) else v for v in (condition, yes, no)]
    if any(np.ndim(v) > 0 for v in entries if not is_symbolic(v)):
        unsupported("np.where with a vector of known length")
    return Vector(chosen(*entries), frozenset().union(*(v.own for v in vectors)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("asarray", "array", "atleast_1d", "ravel"), _as_array),
    "argmax": lambda v, axis=None: v.argmax(axis),
    "argmin": lambda v, axis=None: v.argmin(axis),
    "sum": lambda v, axis=None: v.sum(axis),
    "max": lambda v, axis=None: v.max(axis),
    "amax": lambda v, axis=None: v.max(axis),
    "sort": lambda v, axis=None: Sorted(v),
    "delete": lambda v, place: _without(v, place),
    "cumsum": lambda v, axis=None: v.cumsum(axis),
    "clip": _clip,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    **{name: _entrywise(name) for name in ("abs", "absolute", "fabs", "sign", "log", "log1p")},
    "copysign": lambda size, v: v._with(size, lambda a, b: np.copysign(b, a)),
    "where": lambda condition, yes, no: _where(condition, yes, no),
    "exp": lambda v: v.exp(),
    "arange": lambda count: _range(count),
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "size": lambda v: v.size,
    "shape": lambda v: v.shape,
}


def _fits(function: Callable[..., Any], args: Any, options: Any) -> bool:
    """Whether it takes these arguments: an option that is not followed must not be dropped."""
    try:
        inspect.signature(function).bind(*args, **options)
    except (TypeError, ValueError):
        return False
    return options.get("axis") in (None, 0, -1)


def _named(options: Any) -> str:
    return f" with {', '.join(options)}" if options else ""


class NumpyForVectors:
    """NumPy as the function sees it: its own functions, but for vectors of any length."""

    def __init__(self, module: Any = np) -> None:
        self._module = module

    def __deepcopy__(self, memo: Any) -> NumpyForVectors:
        return self

    def dpest_signature(self) -> Any:
        return "numpy"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args: Any, **options: Any) -> Any:
            every = (*args, *options.values())
            for value in every:
                asked = getattr(type(value), "dpest_numpy", None)
                if asked is not None:
                    return asked(value, name, args, options)
            if name in ("zeros", "empty", "ones", "full") and any(_is_size(v) for v in every):
                return _filled(*args)
            if any(isinstance(v, (Vector, Output, Count, PrefixSums, Others)) for v in every):
                own = _FUNCTIONS.get(name)
                if own is None or not _fits(own, args, options):
                    unsupported(f"np.{name}{_named(options)}")
                return own(*args, **options)
            return found(*args, **options)

        return call


@dataclass
class Totals:
    """Sums over all elements that a run asked for: slots that a pass over the data fills.

    `known` is shared by all paths of one piece: a slot has one meaning, on whichever path it is
    asked for.
    """

    vectors: list[tuple[Symbol, Vector]] = field(default_factory=list)
    known: dict[Any, Symbol] = field(default_factory=dict)

    def total(self, vector: Vector) -> Real:
        if isinstance(vector.element, Truth):
            vector = Vector(vector.element.number(), vector.own)
        element = vector.element
        if isinstance(element, Real) and any(s.kind == "indicator" for s in element.form.terms):
            unsupported("a sum of decisions about noise, one for each element,")
        key = vector.dpest_signature()
        symbol = self.known.setdefault(key, Symbol("state", f"total{len(self.known)}"))
        self.vectors.append((symbol, vector))
        return Real(Form.of(symbol), getattr(vector.element, "integer", False))
