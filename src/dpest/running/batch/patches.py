"""Functions of Python and NumPy that no protocol lets a batched value take part in.

While a batch is read, the user's module sees a NumPy whose `array` and its like make batched arrays
of lists with noise in them and whose new arrays of floats can be filled with noise, a `math` whose
functions take all runs at once, and a `max` and `min` that compare all runs at once instead of
splitting the batch. Only the names in the globals of the user's function are replaced: compiled
code that fills the arrays of `np.empty` by their memory must never meet one of ours. For other
values, and in other threads, they are the originals.
"""

from __future__ import annotations

import builtins
import functools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.running.batch.labelled import BatchedSeries
from dpest.running.batch.python_operators import common_kind, retyped
from dpest.running.batch.scipy_noise import scipy_replaced
from dpest.running.batch.values import _METHODS, Batched, BatchedArray
from dpest.running.places import undeclared
from dpest.running.reach import conversions

if TYPE_CHECKING:
    from dpest.running.batch.reading import BatchReading

_MISSING = object()
_lock = threading.Lock()
_current = threading.local()
_replaced: dict[int, tuple[int, dict[str, Any]]] = {}  # by globals: depth, what stood there


@contextmanager
def patched(reading: BatchReading, function: Any) -> Iterator[None]:
    """The user's module sees the replacements, for batched values of `reading`."""
    names = _globals_of(function)
    before = getattr(_current, "reading", None)
    _current.reading = reading
    with _lock:
        depth, saved = _replaced.get(id(names), (0, {}))
        if depth == 0:
            for name, value in list(names.items()):
                found = _MODULES.get(id(value))
                if found is not None and found[0] is value:
                    saved[name] = value
                    names[name] = found[1]
            converted = [(name, _CONVERSIONS[name]) for name in conversions(function)]
            for name, new in (("max", _max), ("min", _min), ("type", _type), *converted):
                saved[name] = names.get(name, _MISSING)
                if saved[name] is _MISSING:
                    names[name] = new
        _replaced[id(names)] = depth + 1, saved
    try:
        yield
    finally:
        _current.reading = before
        with _lock:
            depth, saved = _replaced[id(names)]
            if depth > 1:
                _replaced[id(names)] = depth - 1, saved
            else:
                del _replaced[id(names)]
                for name, value in saved.items():
                    if value is _MISSING:
                        del names[name]
                    else:
                        names[name] = value


def _globals_of(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    function = undeclared(function)
    found = getattr(function, "__globals__", None)
    if found is None:
        found = getattr(getattr(type(function), "__call__", None), "__globals__", {})  # noqa: B004
    return found


def _active() -> BatchReading | None:
    reading = getattr(_current, "reading", None)
    return reading if reading is not None and reading.active else None


def _holds_noise(value: Any, depth: int = 3) -> bool:
    if isinstance(value, (Batched, BatchedSeries)):
        return True
    if isinstance(value, (list, tuple)) and depth:
        return any(_holds_noise(part, depth - 1) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(isinstance(part, Batched) for part in value.flat)
    return False


class FillableArray(np.ndarray):
    """An array of floats that may come to hold noise: Python objects, one an element."""

    def __setitem__(self, key: Any, value: Any) -> None:
        reading = _active()
        if reading is None:
            super().__setitem__(key, value)
            return
        if isinstance(key, Batched) or (
            isinstance(key, tuple) and any(isinstance(part, Batched) for part in key)
        ):
            reading.need_scalar("assignment to elements picked by noise")
        if isinstance(value, Batched) and not value.shape:
            value = reading.astype(value, np.dtype(np.float64))
        elif isinstance(value, Batched) or _holds_noise(value):
            elements = np.empty(reading.array_of(value).shape, dtype=object)
            whole = reading.astype(reading.array_of(value), np.dtype(np.float64))
            for place in np.ndindex(elements.shape):
                elements[place] = whole[place]
            value = elements
        else:
            value = np.asarray(value, dtype=float)
            value = value.astype(object) if value.shape else value.item()
        super().__setitem__(key, value)

    def _value(self) -> Any:
        """A batched array if there is noise inside, else an array of floats."""
        reading = _active()
        plain = self.view(np.ndarray)
        if reading is not None and _holds_noise(plain):
            return reading.array_of(plain)
        return plain.astype(float)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        values = [v._value() if isinstance(v, FillableArray) else v for v in inputs]
        result = getattr(ufunc, method)(*values, **kwargs)
        if out is None:
            return result
        (target,) = out
        target[...] = result
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_without_fillable(args), **_without_fillable(kwargs))

    def tolist(self) -> Any:
        return self._value().tolist()

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return self._value().astype(*args, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        self[...] = np.sort(self._value(), *args, **kwargs)


def _without_fillable(value: Any) -> Any:
    if isinstance(value, FillableArray):
        return value._value()
    if isinstance(value, (list, tuple)):
        return type(value)(_without_fillable(part) for part in value)
    if isinstance(value, dict):
        return {key: _without_fillable(part) for key, part in value.items()}
    return value


def _fillable_method(name: str) -> Callable[..., Any]:
    def call(self: FillableArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._value(), name)(*args, **kwargs)

    call.__name__ = name
    return call


for _name in _METHODS:
    if hasattr(np.ndarray, _name):
        setattr(FillableArray, _name, _fillable_method(_name))


def _maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and the like."""

    @functools.wraps(original)
    def make(value: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        reading = _active()
        if reading is not None:
            if isinstance(value, FillableArray):
                value = value._value()
            if _holds_noise(value):
                made = reading.array_of(value)
                if isinstance(made, BatchedArray):
                    made = BatchedArray(made.node)
                elif isinstance(made, Batched):
                    made = retyped(made, None)
                return made if dtype is None else reading.astype(made, np.dtype(dtype))
        return original(value, *((dtype,) if dtype is not None else ()), *args, **options)

    return make


def _filled(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros and the like: arrays of floats that the user's own code makes can hold noise."""

    @functools.wraps(original)
    def make(*args: Any, **options: Any) -> Any:
        reading = _active()
        if reading is None:
            return original(*args, **options)
        if original is np.full and _holds_noise(args[1:]) and not options:
            made = np.empty(args[0], dtype=object).view(FillableArray)
            made[...] = args[1]
            return made
        args = tuple(np.empty(a.shape) if isinstance(a, Batched) else a for a in args)
        made = original(*_without_fillable(args), **options)
        # Elements are held as float64: an array of float32 would round them.
        return made.astype(object).view(FillableArray) if made.dtype == np.float64 else made

    return make


def _on_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's protocols look at arrays only; a list of noisy values becomes one."""

    @functools.wraps(original)
    def apply(*args: Any, **options: Any) -> Any:
        reading = _active()
        if reading is not None and any(
            isinstance(a, (list, tuple)) and _holds_noise(a, 2) for a in args
        ):
            args = tuple(
                reading.array_of(a) if isinstance(a, (list, tuple)) and _holds_noise(a, 2) else a
                for a in args
            )
        return original(*args, **options)

    return apply


def _extremum(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(*args: Any, **options: Any) -> Any:
        reading = _active()
        if reading is None or not args:
            return original(*args, **options)
        if len(args) == 1 and isinstance(args[0], Iterator):
            args = (list(args[0]),)
        items = args[0] if len(args) == 1 else args
        if isinstance(items, FillableArray):
            items = items._value()
        if isinstance(items, (dict, set, str)) or not hasattr(items, "__len__"):
            items = list(items)
        key = options.get("key")
        ranked = items if key is None else [key(item) for item in items]
        single = len(ranked) > 0 and all(
            (isinstance(v, Batched) and not v.shape) or isinstance(v, (int, float, np.number))
            for v in ranked
        )
        if not single or not any(isinstance(v, Batched) for v in ranked):
            if key is None:
                return original(*args, **options)
            places = original(range(len(items)), key=ranked.__getitem__) if len(ranked) else None
            if places is None:
                return original(items, **options)
            return list(items)[places]
        stacked = reading.array_of(list(ranked))
        if key is None:
            return retyped(getattr(np, name)(stacked), common_kind(ranked))
        return list(items)[int(getattr(np, f"arg{name}")(stacked))]

    return apply


def _type(*args: Any, **options: Any) -> Any:
    """type(noise) is what it is in a plain run."""
    if len(args) == 1 and isinstance(args[0], (Batched, BatchedSeries)) and _active() is not None:
        return args[0].__class__
    return builtins.type(*args, **options)


def _float(value: Any = 0.0, /) -> Any:
    """`float`, where it is only called."""
    reading = _active()
    if reading is not None and isinstance(value, Batched) and not value.shape:
        return retyped(reading.astype(value, np.dtype(np.float64)), float)
    return float(value)


def _int(value: Any = 0, /, *base: Any, **options: Any) -> Any:
    """`int`, where it is only called."""
    reading = _active()
    if reading is None or base or options or not isinstance(value, Batched) or value.shape:
        return int(value, *base, **options)
    if reading.arrays.dtype(value.data()).kind == "f":
        return reading.to_integer(value.trunc())
    return retyped(reading.astype(value, np.dtype(np.int64)), int)


def _of_math(
    original: Callable[..., Any], domain: Callable[[Any], Any], error: Exception
) -> Callable[..., Any]:
    """A function of `math`, by NumPy's of that name; runs outside of its domain raise, as there."""
    by_numpy = getattr(np, original.__name__)

    @functools.wraps(original)
    def apply(*args: Any) -> Any:
        value = args[-1]
        if _active() is None or not isinstance(value, Batched) or value.shape:
            return original(*args)
        if not domain(value):
            raise type(error)(*error.args)
        return retyped(by_numpy(*args), float)

    return apply


def _log(value: Any, /, *base: Any) -> Any:
    """math.log, with or without a base."""
    if not isinstance(value, Batched) or any(isinstance(v, Batched) for v in base):
        return math.log(value, *base)
    found = _natural_log(value)
    return found / math.log(*base) if base else found


_DOMAIN, _RANGE = ValueError("math domain error"), OverflowError("math range error")
_natural_log = _of_math(math.log, lambda v: v > 0, _DOMAIN)
_MATH: dict[str, Callable[..., Any]] = {
    "log": _log,
    "log2": _of_math(math.log2, lambda v: v > 0, _DOMAIN),
    "log10": _of_math(math.log10, lambda v: v > 0, _DOMAIN),
    "log1p": _of_math(math.log1p, lambda v: v > -1, _DOMAIN),
    "sqrt": _of_math(math.sqrt, lambda v: v >= 0, _DOMAIN),
    "exp": _of_math(math.exp, lambda v: v < 709.7, _RANGE),
    "expm1": _of_math(math.expm1, lambda v: v < 709.7, _RANGE),
    "sin": _of_math(math.sin, lambda v: True, _DOMAIN),
    "cos": _of_math(math.cos, lambda v: True, _DOMAIN),
    "fabs": _of_math(math.fabs, lambda v: True, _DOMAIN),
    "copysign": _of_math(math.copysign, lambda v: True, _DOMAIN),
}
_CONVERSIONS = {"float": _float, "int": _int}


@contextmanager
def stand_ins_accepted(function: Any) -> Iterator[None]:
    """What stands in for a generator is one for `np.random.default_rng` and for SciPy, too."""
    with _lock:
        _accepting[0] += 1
        np.random.default_rng = _accepting_rng
    try:
        with scipy_replaced(_globals_of(function)):
            yield
    finally:
        with _lock:
            _accepting[0] -= 1
            if not _accepting[0]:
                np.random.default_rng = _original_rng


def _default_rng(original: Callable[..., Any]) -> Callable[..., Any]:
    """`np.random.default_rng(rng)` gives a generator back as it is; ours, too."""

    @functools.wraps(original)
    def apply(seed: Any = None) -> Any:
        return seed if hasattr(seed, "draw_noise") else original(seed)

    return apply


class _Overlay(ModuleType):
    """A module with some functions replaced."""

    def __init__(self, module: ModuleType, replaced: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(replaced)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)


_accepting = [0]
_original_rng = np.random.default_rng
_accepting_rng = _default_rng(_original_rng)
_max = _extremum(builtins.max, "max")
_min = _extremum(builtins.min, "min")
_NUMPY = _Overlay(
    np,
    {
        "random": _Overlay(np.random, {"default_rng": _accepting_rng}),
        **{
            name: _maker(getattr(np, name))
            for name in ("array", "asarray", "asanyarray", "ascontiguousarray")
        },
        **{
            name: _filled(getattr(np, name))
            for name in (
                *("zeros", "ones", "empty", "full"),
                *("zeros_like", "ones_like", "empty_like", "full_like"),
            )
        },
        **{
            name: _on_lists(getattr(np, name))
            for name in (
                *("sum", "prod", "max", "amax", "min", "amin", "argmax", "argmin", "mean"),
                *("median", "sort", "argsort", "cumsum", "where", "any", "all", "clip"),
                *("count_nonzero", "round", "diff", "dot", "ptp", "var", "std", "take"),
            )
        },
    },
)
_MODULES: dict[int, tuple[Any, Any]] = {
    id(old): (old, new)
    for old, new in (
        (np, _NUMPY),
        (math, _Overlay(math, _MATH)),
        *((getattr(math, name), new) for name, new in _MATH.items()),
    )
}
