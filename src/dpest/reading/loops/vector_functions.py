"""Builtins and NumPy functions on vectors of any length, as the pieces of a function see them."""

from __future__ import annotations

import builtins
import heapq
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.loops.any_length import (
    OutputList,
    PrefixSums,
    TracedVector,
    exponential,
    pass_over,
)
from dpest.reading.loops.lengths import Counter, LengthCount, Position, unsupported
from dpest.reading.loops.passes import Chosen, Items, LoopPass, RandomPlace, at_each, every_place
from dpest.reading.loops.vector_generator import OneHot, is_size
from dpest.reading.rewrites.order_statistics import Extreme, Others, Selected, Sorted, SortedPlaces
from dpest.reading.rewrites.softmax import ScaledScore, WeightSum
from dpest.reading.tracing.running import running
from dpest.reading.tracing.selections import chosen, clipped, extreme
from dpest.reading.tracing.symbolic import TracedReal, is_symbolic


def symbolic_max(*args: Any, **options: Any) -> Any:
    return _extreme(builtins.max, False, args, options)


def symbolic_min(*args: Any, **options: Any) -> Any:
    return _extreme(builtins.min, True, args, options)


def _extreme(plain: Any, least: bool, args: tuple[Any, ...], options: Any) -> Any:
    """max() and min() by one decision among n, instead of n − 1 comparisons in a row."""
    key = options.get("key")
    over = pass_over(args[0]) if len(args) == 1 else None
    if over is not None and not set(options) - {"key"}:
        if (
            key is None
            and isinstance(args[0], TracedVector)
            and not isinstance(args[0].element, tuple)
        ):
            return args[0].min() if least else args[0].max()
        return _extreme_item(args[0], over, key, least)
    values = list(args[0]) if len(args) == 1 else list(args)
    keys = [key(v) for v in values] if key is not None else values
    if len(values) == 2 and key is None:
        for value, end in (values, values[::-1]):
            if type(value) is TracedReal and value.form.terms and not is_symbolic(end):
                bounded = clipped(value, None, end) if least else clipped(value, end, None)
                if bounded is not value:
                    return bounded
    if not values or not any(isinstance(k, TracedReal) for k in keys):
        return plain(values, **options) if values or "default" in options else plain(*args)
    return values[extreme(keys, least=least)]


def _extreme_item(values: Any, over: LoopPass, key: Any, least: bool) -> Any:
    """The item with the greatest (least) key; of items with a place, the place."""
    if over.shuffled:
        unsupported("max() in a random order")
    item, value = _each(lambda item: (item, item if key is None else key(item)), over)
    if isinstance(value, tuple) and value:
        value = value[0]  # a noisy number decides before the next entry is looked at
    if not isinstance(value, TracedReal) or not any(s.kind == "noise" for s in value.form.terms):
        unsupported("max() with this key")
    found = Selected(value, least)
    if isinstance(item, RandomPlace) and not item.offset:
        return found
    places = [i for i, v in enumerate(item) if isinstance(v, RandomPlace)] if _is_pair(item) else []
    if len(places) != 1 or item[places[0]].offset:
        unsupported("max() of these items")
    return Extreme(found, places[0])


def _each(function: Callable[[Any], Any], over: LoopPass) -> Any:
    """What a function gives for every element; what it draws is drawn for each of them."""
    run: Any = running()
    before, decisions = len(run.draws), len(run.blocks)
    found = at_each(function, over)
    if len(run.blocks) != decisions:
        unsupported("a decision for each element, inside of an expression,")
    run.vector_draws |= frozenset(run.draws[before:])
    return found


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2


def _sorted_places(values: Any, key: Any, descending: bool) -> Any:
    over = pass_over(values)
    if over is None or over.shuffled or not over.plain or key is None:
        unsupported("sorted()")
    value = _each(key, over)
    if not isinstance(value, TracedReal) or not any(s.kind == "noise" for s in value.form.terms):
        unsupported("sorted() with this key")
    return SortedPlaces(value, descending)


LISTS: dict[str, Any] = {"max": symbolic_max, "min": symbolic_min}
"""The builtins that pieces use in place of Python's, at any length, known or not."""


def _len(value: Any) -> Any:
    if isinstance(value, Items):
        return value.count()
    return LengthCount() if isinstance(value, TracedVector) else builtins.len(value)


def _enumerate(value: Any, start: int = 0) -> Any:
    over = pass_over(value)
    if over is None:
        return builtins.enumerate(value, start)
    return LoopPass(lambda p: (p + start, over.item(p)), over.own, True, shuffled=over.shuffled)


def _range(*args: Any) -> Any:
    if any(isinstance(a, LengthCount) for a in args):
        if (len(args) == 1 or (len(args) == 2 and args[0] == 0)) and args[-1] == LengthCount():
            return every_place()
        unsupported("this range over the length")
    return builtins.range(*args)


def _zip(*values: Any, **options: Any) -> Any:
    overs = [pass_over(v) for v in values]
    if not any(overs):
        return builtins.zip(*values, **options)  # noqa: B905 (the caller's own choice)
    if not all(overs):
        unsupported("zip() with a sequence of known length")
    own = frozenset().union(*(o.own for o in overs if o))
    shuffled = {o.shuffled for o in overs if o}
    if shuffled == {True} or len(shuffled) > 1:
        unsupported("zip() with a random order")
    return LoopPass(lambda p: tuple(o.item(p) for o in overs if o), own)


def _list(*values: Any) -> Any:
    if values and isinstance(values[0], (TracedVector, OutputList, PrefixSums)):
        return values[0]
    over = pass_over(values[0]) if values else None
    if over is not None:
        return Items(over)
    return builtins.list(*values)


def _tuple(*values: Any) -> Any:
    if values and isinstance(values[0], (TracedVector, OutputList, PrefixSums)):
        return values[0]
    return builtins.tuple(*values)


def _sorted(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if isinstance(values, TracedVector) and key is None:
        return Sorted(values, reverse)
    if pass_over(values) is not None:
        return _sorted_places(values, key, bool(reverse))
    return builtins.sorted(values, key=key, reverse=reverse)


def _without(vector: Any, place: Any) -> Any:
    if isinstance(place, Selected) and place.element is vector.element and not place.least:
        return Others(vector)
    unsupported("np.delete")


def _int(value: Any = 0, *base: Any) -> Any:
    if isinstance(value, (Selected, Position, Counter, RandomPlace, Chosen)):
        return value
    if is_symbolic(value):
        from dpest.reading.tracing.patches import _int as of_noise

        return of_noise(value)
    return builtins.int(value, *base)


def _sum(values: Any, start: Any = 0) -> Any:
    if isinstance(values, TracedVector):
        found = values.sum()
        return found if isinstance(found, WeightSum) else start + found
    return builtins.sum(values, start)


ANY_LENGTH: dict[str, Any] = {
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
}


def _as_array(value: Any, dtype: Any = None) -> Any:
    if dtype not in (None, float, np.float64, "float", "float64"):
        unsupported(f"np.asarray with dtype={dtype!r}")
    return value


def _filled(shape: Any, *_: Any, **__: Any) -> Any:
    return OutputList("array")


def _clip(
    v: Any, low: Any = None, high: Any = None, *, a_min: Any = None, a_max: Any = None
) -> Any:
    return v.clip(low if a_min is None else a_min, high if a_max is None else a_max)


def _entrywise(name: str) -> Callable[[Any], Any]:
    def apply(v: Any) -> Any:
        if not isinstance(v.element, TracedReal):
            unsupported(f"np.{name}")
        return TracedVector(getattr(np, name)(v.element), v.own)

    return apply


def _where(condition: Any, yes: Any, no: Any) -> Any:
    """np.where, entry by entry."""
    vectors = [v for v in (condition, yes, no) if isinstance(v, TracedVector)]
    entries = [v.element if isinstance(v, TracedVector) else v for v in (condition, yes, no)]
    if any(np.ndim(v) > 0 for v in entries if not is_symbolic(v)):
        unsupported("np.where with a vector of known length")
    return TracedVector(chosen(*entries), frozenset().union(*(v.own for v in vectors)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("asarray", "array", "atleast_1d", "ravel"), _as_array),
    "argmax": lambda v, axis=None: v.argmax(axis),
    "argmin": lambda v, axis=None: v.argmin(axis),
    "sum": lambda v, axis=None: v.sum(axis),
    "max": lambda v, axis=None: v.max(axis),
    "amax": lambda v, axis=None: v.max(axis),
    "min": lambda v, axis=None: v.min(axis),
    "amin": lambda v, axis=None: v.min(axis),
    "sort": lambda v, axis=None: Sorted(v),
    "argsort": lambda v, axis=None, kind=None: v.argsort(axis),
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
    "searchsorted": lambda sums, share, side="left": sums.place_of(share),
    "arange": lambda count: Items(_range(count)),
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


_OF_ANY_LENGTH = (
    TracedVector,
    OutputList,
    LengthCount,
    PrefixSums,
    Others,
    Items,
    LoopPass,
    OneHot,
)


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
            if name in ("zeros", "empty", "ones", "full") and any(is_size(v) for v in every):
                return _filled(*args)
            if name == "exp" and len(every) == 1 and isinstance(args[0], (TracedReal, ScaledScore)):
                return exponential(args[0])
            if name == "log" and len(every) == 1 and isinstance(args[0], WeightSum):
                return args[0].log()
            if any(isinstance(v, _OF_ANY_LENGTH) for v in every):
                own = _FUNCTIONS.get(name)
                if own is None or not _fits(own, args, options):
                    unsupported(f"np.{name}{_named(options)}")
                return own(*args, **options)
            return found(*args, **options)

        return call


class HeapForVectors:
    """`heapq` as the function sees it: nlargest and nsmallest of one, at any length."""

    def __deepcopy__(self, memo: Any) -> HeapForVectors:
        return self

    def dpest_signature(self) -> Any:
        return "heapq"

    def __getattr__(self, name: str) -> Any:
        found = getattr(heapq, name)
        if name not in ("nlargest", "nsmallest"):
            return found

        def call(n: Any, iterable: Any, key: Any = None) -> Any:
            if pass_over(iterable) is None:
                return found(n, iterable, key=key)
            return _sorted_places(iterable, key, name == "nlargest")

        return call
