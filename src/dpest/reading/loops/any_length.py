"""A private vector of unknown length, and what a function may do with it in one pass.

Every element is the same expression of its own datum `q` and of its own draws; sums over, and
choices among, the elements are only taken where a proof has a rule for them. What has no rule says
so, and names a length as the way out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.geometry.linear import Form, Symbol
from dpest.noise.gumbel import Gumbel
from dpest.noise.uniform import Uniform
from dpest.reading.loops.lengths import LengthCount, Position, unsupported
from dpest.reading.loops.passes import EACH, IN_ORDER, TURN, Items, LoopPass, RandomPlace, look_at
from dpest.reading.refusals import remembered
from dpest.reading.rewrites.named_values import Share, named_values
from dpest.reading.rewrites.order_statistics import Selected, SortedPlaces, TracedRank
from dpest.reading.rewrites.softmax import Chance, LogChance, ScaledScore, Weight, WeightSum
from dpest.reading.tracing.running import running
from dpest.reading.tracing.selections import clipped
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, is_symbolic

"""The datum of the current element."""


class TracedVector:
    """A vector of any length whose elements are all the same expression."""

    __array_priority__ = 3000
    __array_ufunc__ = None

    def __init__(self, element: Any, own: frozenset[Symbol] = frozenset()) -> None:
        self.element = element
        self.own = own
        """The noises that each element has its own copy of."""

    def _with(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, TracedVector):
            return TracedVector(how(self.element, other.element), self.own | other.own)
        if isinstance(other, (np.ndarray, list, tuple)) and np.ndim(other) > 0:
            unsupported("arithmetic with a vector of known length")
        return TracedVector(how(self.element, other), self.own)

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __lt__(self, other: Any) -> Any:
        return self._with(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._with(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._with(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._with(other, operator.ge)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return TracedVector(-self.element, self.own)

    def __abs__(self) -> Any:
        return TracedVector(abs(self.element), self.own)

    def __invert__(self) -> Any:
        return TracedVector(~self.element, self.own)

    def __iter__(self) -> Any:
        unsupported("a loop inside of an expression, or a second loop, over the elements")

    def __len__(self) -> int:
        unsupported("len() inside of another function")

    def __bool__(self) -> bool:
        unsupported("the truth value")

    def __array__(self, *_: Any, **__: Any) -> Any:
        unsupported("this NumPy function")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Position) and key.offset == 0 and not key.turn:
            look_at(IN_ORDER)
            self._use_own()
            return self.element
        if isinstance(key, RandomPlace):
            key.datum()
            if key.source == TURN:
                self._use_own()
            elif key.source != EACH and self.own:  # also of a pool: it may be put back
                unsupported("noise at a place that may be drawn again")
            return self.element
        if isinstance(key, slice) and key == slice(None):
            return self
        if isinstance(key, Selected) and key.element is self.element:
            return TracedRank(self, -1 if key.least else 1)
        unsupported("an entry")

    def _use_own(self) -> None:
        """The noises of the element of this turn are used in it."""
        use = getattr(running(), "use_own", None)
        if self.own and use is not None:
            use(self.own)

    @property
    def shape(self) -> tuple[LengthCount]:
        return (LengthCount(),)

    @property
    def size(self) -> LengthCount:
        return LengthCount()

    ndim = 1

    def argmax(self, axis: Any = None) -> Any:
        return Selected(self.element, False)

    def argmin(self, axis: Any = None) -> Any:
        return Selected(self.element, True)

    def argsort(self, axis: Any = None, *_: Any, **__: Any) -> Any:
        return SortedPlaces(self.element)

    def index(self, value: Any) -> Any:
        """The first place of the greatest or least: the only ones whose place is known."""
        same = isinstance(value, TracedRank) and value.vector.element is self.element
        if same and value.rank in (1, -1):
            return Selected(self.element, value.rank < 0)
        unsupported("index()")

    def sum(self, axis: Any = None) -> Any:
        if isinstance(self.element, Weight):
            return WeightSum(self.element)
        return total(self)

    def exp(self) -> Any:
        return TracedVector(exponential(self.element), self.own)

    def mean(self, axis: Any = None) -> Any:
        unsupported("the mean")

    def max(self, axis: Any = None) -> Any:
        if isinstance(self.element, (ScaledScore, Weight)) and not self.own:
            return self.element.greatest()
        return TracedRank(self, 1)

    def min(self, axis: Any = None) -> Any:
        if isinstance(self.element, TracedReal) and not self.own:
            return -TracedRank(-self, 1)
        return TracedRank(self, -1)

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return TracedVector(clipped(self.element, low, high), self.own)

    def cumsum(self, axis: Any = None) -> Any:
        return PrefixSums(self)

    def copy(self) -> TracedVector:
        return self

    def astype(self, dtype: Any, **_: Any) -> Any:
        element = self.element
        return TracedVector(element.astype(dtype) if is_symbolic(element) else element, self.own)

    def tolist(self) -> TracedVector:
        return self

    flatten = ravel = tolist

    def dpest_signature(self) -> Any:
        from dpest.reading.tracing.states import signature

        return ("vector", signature(self.element), tuple(sorted(self.own)))


@dataclass(frozen=True)
class PrefixSums:
    """np.cumsum: to release it is to release the elements."""

    vector: TracedVector

    def tolist(self) -> PrefixSums:
        return self

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key == -1 and isinstance(self.vector.element, Weight):
            return WeightSum(self.vector.element)
        unsupported("an entry of the running sums")

    def place_of(self, share: Any) -> Any:
        """Where the running sum of weights is above a uniform share of all: a choice by them."""
        element, values = self.vector.element, named_values()
        form = share.form if isinstance(share, TracedReal) else Form()
        if values is None or self.vector.own or len(form.terms) != 1 or form.constant:
            unsupported("np.searchsorted")
        ((symbol, slope),) = form.terms.items()
        meaning = values.meanings.get(symbol)
        if isinstance(element, Weight) and isinstance(meaning, Share):
            fits = meaning.weights.dpest_signature() == element.dpest_signature()
            noise, weight = meaning.noise, element
        elif isinstance(element, Chance) and meaning is None:
            fits, noise, weight = True, symbol, element.weight
        else:
            unsupported("np.searchsorted")
        if not fits or slope != 1 or running().noise_of(noise) != Uniform(0.0, 1.0):
            unsupported("np.searchsorted, but for a uniform share of all the weights,")
        chosen = chosen_by(weight)
        values.inversions.append(noise)
        return chosen

    def dpest_signature(self) -> Any:
        return ("prefix", self.vector.dpest_signature())


def total(vector: TracedVector) -> Any:
    """The sum of all elements, as a slot that a loop over them would fill."""
    return running().total(vector)  # type: ignore[attr-defined]


def chosen_by(weight: Weight) -> Selected:
    """A place that is drawn with chances proportional to e^score: by Gumbel noise (`softmax`)."""
    run: Any = running()
    score = weight.score
    value, factor = score.value, score.factor
    if factor < 0:
        value, factor = -value, -factor
    noise = run.draw(Gumbel(1 / factor))
    run.own(noise)
    return Selected(value + noise, False)


def exponential(value: Any) -> Any:
    """e^value of a score, or of a difference of the data: a weight."""
    if isinstance(value, TracedReal):
        value = ScaledScore(Fraction(1), value)
    if not isinstance(value, (ScaledScore, LogChance)):
        unsupported("np.exp")
    return value.exp()


def pass_over(value: Any) -> LoopPass | None:
    """A pass over the elements, if the value is one; None for an ordinary iterable."""
    from dpest.reading.tracing.states import copied

    if isinstance(value, LoopPass):
        return value
    if isinstance(value, TracedVector):
        return LoopPass(lambda position: copied(value.element), value.own)
    if isinstance(value, Items):
        if value.partial:
            unsupported("a loop over what is left")
        return value.over
    return None


class OutputList:
    """A list (or array) that the function fills and releases, but never reads."""

    def __init__(self, name: str, items: Iterable[Any] = ()) -> None:
        self.name = name
        self.items = list(items)

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        self.items.extend(values)

    def __iadd__(self, values: Iterable[Any]) -> OutputList:  # type: ignore[misc]
        self.items.extend(values)
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (isinstance(key, Position) and key.offset == 0):
            raise remembered(ReadsOutputError(self.name))
        self.items.append(value)

    def tolist(self) -> OutputList:
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

    def __deepcopy__(self, memo: Any) -> OutputList:
        from dpest.reading.tracing.states import copied

        return OutputList(self.name, copied(self.items, memo))

    def dpest_signature(self) -> Any:
        return ("output", self.name)


class ReadsOutputError(BaseException):
    """A list that was taken for an output is read."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass
class ElementTotals:
    """Sums over all elements that a run asked for: slots that a pass over the data fills.

    `known` is shared by all paths of one piece: a slot has one meaning, on whichever path it is
    asked for.
    """

    vectors: list[tuple[Symbol, TracedVector]] = field(default_factory=list)
    known: dict[Any, Symbol] = field(default_factory=dict)

    def total(self, vector: TracedVector) -> TracedReal:
        if isinstance(vector.element, TracedTruth):
            vector = TracedVector(vector.element.number(), vector.own)
        element = vector.element
        if isinstance(element, TracedReal) and any(
            s.kind == "indicator" for s in element.form.terms
        ):
            unsupported("a sum of decisions about noise, one for each element,")
        key = vector.dpest_signature()
        symbol = self.known.setdefault(key, Symbol("state", f"total{len(self.known)}"))
        self.vectors.append((symbol, vector))
        return TracedReal(Form.of(symbol), getattr(vector.element, "integer", False))
