"""Functions of Python and NumPy that no protocol lets a symbolic value take part in.

While a trace runs, `max` and `min` see noisy values as n cells instead of n − 1 comparisons,
`sorted` decides no more of an order than is looked at, and
arrays that the user's code makes can hold noisy values. NumPy itself stays as it is: compiled code
fills the arrays of `np.empty` by their memory and must never meet one of ours. Only the names in
the user's own modules and closures are replaced (see `running.reach`). For everything else, and in
every other thread, they are the originals.
"""

from __future__ import annotations

import builtins
import functools
import heapq
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, ModuleType
from typing import Any

import numpy as np

from dpest.reading.rewrites.curves import Curved, logarithm, logarithm_of_more
from dpest.reading.rewrites.lazy_lists import in_order, outermost
from dpest.reading.tracing import symbolic_functions
from dpest.reading.tracing.running import has_run, lenient, running
from dpest.reading.tracing.selections import clipped, continuous, converted, extreme, with_sign
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, is_symbolic, typed
from dpest.reading.tracing.symbolic_arrays import (
    SymbolicArray,
    _objects,
    symbolic_array,
    symbolic_inside,
    uniform,
)
from dpest.running.batch.scipy_noise import scipy_replacement
from dpest.running.reach import containers, conversions
from dpest.running.watchdog import imports

_MISSING = object()
_known = symbolic_functions.FUNCTIONS  # its keys are the originals
_MOST_KEPT = 8
_lock = threading.Lock()
_depths: dict[tuple[int, Any], int] = {}


class _Slot:
    """A name in the user's globals, or a cell of a closure, that holds an original."""

    __slots__ = ("holder", "key", "name", "new", "old")

    def __init__(self, holder: Any, name: str, old: Any, new: Any) -> None:
        self.holder = holder
        self.name = name
        self.old = old
        self.new = new
        self.key = (id(holder), name)

    def swap(self, old: Any, new: Any) -> None:
        if isinstance(self.holder, CellType):
            if _content(self.holder) is old:
                self.holder.cell_contents = new
        elif self.holder.get(self.name, _MISSING) is old:
            if new is _MISSING:
                del self.holder[self.name]
            else:
                self.holder[self.name] = new


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


class Overlay:
    """The replacements for the code that can be reached from some functions or globals.

    What can be reached is found once; entering `patched(overlay)` is cheap.
    """

    def __init__(self, *roots: Any) -> None:
        self.slots: list[_Slot] = []
        self.globals: list[dict[str, Any]] = []
        for holder in containers(*roots):
            if isinstance(holder, CellType):
                values = [("", _content(holder))]
            else:
                self.globals.append(holder)
                values = list(holder.items())
            for name, old in values:
                new = _replacement(old)
                if new is not None:
                    self.slots.append(_Slot(holder, name, old, new))
        self.conversions = conversions(*roots)
        for name in self.conversions:
            new = _CONVERSIONS[name]
            self.slots += [
                _Slot(names, name, _MISSING, new) for names in self.globals if name not in names
            ]
        self.ids = {id(names) for names in self.globals}


_latest: dict[int, tuple[Any, Overlay]] = {}  # by the id of the names, which it keeps alive


def overlay_of(names: Any) -> Overlay:
    """The overlay of some globals, found once for runs that follow each other."""
    known = _latest.get(id(names))
    if known is None:
        if len(_latest) >= _MOST_KEPT:
            _latest.clear()
        known = _latest[id(names)] = names, Overlay(dict(names))
    return known[1]


@contextmanager
def patched(*roots: Any) -> Iterator[None]:
    """The replacements are in place inside of this, for the code that `roots` can reach.

    A root is the user's function, a dict of globals, or an `Overlay`.
    """
    overlay = roots[0] if roots and isinstance(roots[0], Overlay) else Overlay(*roots)
    before: frozenset[int] = getattr(_importing, "ids", frozenset())
    _importing.ids = before | overlay.ids
    with _lock:
        for slot in (*_BUILTINS, *overlay.slots):
            depth = _depths.get(slot.key, 0)
            if depth == 0:
                slot.swap(slot.old, slot.new)
            _depths[slot.key] = depth + 1
    try:
        yield
    finally:
        _importing.ids = before
        with _lock:
            for slot in (*_BUILTINS, *overlay.slots):
                depth = _depths[slot.key]
                if depth == 1:
                    del _depths[slot.key]
                    slot.swap(slot.new, slot.old)
                else:
                    _depths[slot.key] = depth - 1


# What is put in place is taken away again, whatever time it is.
imports(patched.__wrapped__)  # type: ignore[attr-defined]


def overlaid(names: dict[str, Any], overlay: Overlay | None = None) -> None:
    """Put the replacements into a scope that was made for one run.

    `overlay` is that of the globals which the scope was made of.
    """
    for name, old in list(names.items()):
        new = _replacement(old)
        if new is not None:
            names[name] = new
    for name in () if overlay is None else overlay.conversions:
        names.setdefault(name, _CONVERSIONS[name])


_importing = threading.local()


def _import(original: Callable[..., Any]) -> Callable[..., Any]:
    """`import numpy` inside of the user's function gives the overlay, too."""

    @functools.wraps(original)
    def apply(name: str, globals: Any = None, *args: Any, **options: Any) -> Any:
        found = original(name, globals, *args, **options)
        if globals is not None and id(globals) in getattr(_importing, "ids", ()):
            new = _replacement(found)
            return found if new is None else new
        return found

    imports(apply)
    return apply


def stands_in_for(value: Any) -> bool:
    """Whether a symbolic value may be handed to this function: there is a stand-in for it."""
    return _replacement(value) is not None


def _replacement(value: Any) -> Any:
    found = _REPLACED.get(id(value))
    return found[1] if found is not None and found[0] is value else scipy_replacement(value)


def _extremum(original: Callable[..., Any], *, least: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
        if not has_run() or not args:
            options = {} if default is _MISSING else {"default": default}
            return original(*args, key=key, **options)
        items = list(args[0]) if len(args) == 1 else list(args)
        if not items:
            if default is not _MISSING:
                return default
            return original(items)
        if len(items) == 2 and key is None and getattr(running(), "clip", None) is not None:
            # A proof knows how far clipped data can move: no branch on them.
            for value, end in (items, items[::-1]):
                if type(value) is TracedReal and value.form.terms and not is_symbolic(end):
                    return clipped(value, None, end) if least else clipped(value, end, None)
        keys = items if key is None else [key(item) for item in items]
        ranked = _ranked(keys)
        if ranked is not None:
            return items[extreme(ranked, least=least)]
        place = original(range(len(items)), key=keys.__getitem__)
        return items[place]

    return apply


def _ranked(keys: list[Any]) -> list[Any] | None:
    """What decides between the keys, if that is a noisy number; of tuples the first entry."""
    if any(is_symbolic(k) for k in keys):
        plain = all(is_symbolic(k) or isinstance(k, (int, float, np.number)) for k in keys)
        return keys if plain else None
    if not all(isinstance(k, (tuple, list)) and k and isinstance(k[0], TracedReal) for k in keys):
        return None
    firsts = [k[0] for k in keys]
    for i, a in enumerate(firsts):
        for b in firsts[:i]:
            if not continuous(a.form.plus(b.form, -1)):
                return None  # a tie would be decided by the next entry
    return firsts


def _float(value: Any = 0.0, /) -> Any:
    """`float`, where it is only called: of a noisy number the number itself."""
    if has_run() and isinstance(value, (TracedReal, TracedTruth)):
        number = value.number() if isinstance(value, TracedTruth) else value
        if isinstance(number, Curved):
            return number.retyped(False)
        return TracedReal(number.form, False, False)
    return float(value)


def _int(value: Any = 0, /, *base: Any, **options: Any) -> Any:
    """`int`, where it is only called: of a noisy integer the integer itself."""
    if has_run() and not base and not options:
        if isinstance(value, TracedTruth):
            return typed(value.number(), False)
        if isinstance(value, TracedReal):
            found = value._whole("int() of a noisy value", "trunc")
            return typed(found, False) if isinstance(found, TracedReal) else int(found)
    return int(value, *base, **options)


_CONVERSIONS = {"float": _float, "int": _int}


def _sorted(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
        if not has_run():
            return original(iterable, key=key, reverse=reverse)
        items = list(iterable)
        keys = items if key is None else [key(item) for item in items]
        ranked = _ranked(keys)
        if ranked is None:
            order = original(range(len(items)), key=keys.__getitem__, reverse=reverse)
            return [items[place] for place in order]
        return in_order(items, ranked, reverse=bool(reverse))

    return apply


def _outermost(original: Callable[..., Any], *, least: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(n: Any, iterable: Any, key: Any = None) -> Any:
        if not has_run():
            return original(n, iterable, key)
        items = list(iterable)
        keys = items if key is None else [key(item) for item in items]
        ranked = _ranked(keys)
        if ranked is None:
            places = original(n, range(len(items)), keys.__getitem__)
            return [items[place] for place in places]
        return outermost(n, items, ranked, least=least)

    return apply


def _holds_symbols(value: Any, depth: int = 4) -> bool:
    if is_symbolic(value):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and symbolic_inside(value)
    if isinstance(value, (list, tuple)) and depth:
        return any(_holds_symbols(v, depth - 1) for v in value)
    return False


def _maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and the like: a list with noisy values gives a SymbolicArray."""

    @functools.wraps(original)
    def apply(value: Any = (), dtype: Any = None, *args: Any, **options: Any) -> Any:
        if has_run():
            if original is np.fromiter:
                value = list(value)
            if _holds_symbols(value) or (lenient() and isinstance(value, SymbolicArray)):
                array = _objects(value).copy() if original is np.array else _objects(value)
                if dtype is not None and np.dtype(dtype) != object:
                    kind = np.dtype(dtype)
                    plain = [converted(v, kind) for v in array.flat]
                    array = np.empty(array.size, dtype=object)
                    array[:] = plain
                    array = array.reshape(np.shape(_objects(value)))
                return uniform(array).view(SymbolicArray)
            if lenient() and original is not np.fromiter:
                made = original(value, *((dtype,) if dtype is not None else ()), *args, **options)
                if made.dtype.kind in "fiu":
                    return made.astype(object).view(SymbolicArray)
                return made
        if original is np.fromiter:
            return original(value, dtype, *args, **options)
        return original(value, *((dtype,) if dtype is not None else ()), *args, **options)

    return apply


def _filled(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros and the like: arrays of floats that may come to hold noisy values."""

    @functools.wraps(original)
    def apply(*args: Any, **options: Any) -> Any:
        if has_run():
            if any(_holds_symbols(a, 1) for a in (*args, *options.values())):
                return _of_symbols(original, args, options)
            made = original(*args, **options)
            if made.dtype.kind == "f" or (lenient() and made.dtype.kind in "iu"):
                return made.astype(object).view(SymbolicArray)
            return made
        return original(*args, **options)

    return apply


def _counted(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.arange: plain numbers, in a form that a noisy mask can pick from where that is needed."""

    @functools.wraps(original)
    def apply(*args: Any, **options: Any) -> Any:
        made = original(*args, **options)
        return made.astype(object).view(SymbolicArray) if has_run() and lenient() else made

    return apply


def _of_symbols(original: Callable[..., Any], args: Any, options: Any) -> Any:
    """np.full with a noisy value, and np.zeros_like and its kin for a noisy array."""
    if original in (np.zeros, np.ones, np.empty):
        return original(*args, **options)  # a noisy shape: refused
    names = ("shape" if original is np.full else "a", "fill_value")
    given = {**dict(zip(names, args, strict=False)), **options}
    shape = given["shape"] if given.get("shape") is not None else np.shape(given["a"])
    array = np.empty(shape, dtype=object)
    fill = given.get("fill_value", 0.0)
    if original in (np.zeros_like, np.empty_like, np.ones_like):
        fill = 1.0 if original is np.ones_like else 0.0
    array[...] = fill
    return array.view(SymbolicArray)


def _on_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's protocols look at arrays only; a list of noisy values becomes one."""

    @functools.wraps(original)
    def apply(*args: Any, **options: Any) -> Any:
        if has_run() and any(
            isinstance(a, (list, tuple)) and any(is_symbolic(v) for v in a) for a in args
        ):
            args = tuple(
                symbolic_array(a)
                if isinstance(a, (list, tuple)) and any(is_symbolic(v) for v in a)
                else a
                for a in args
            )
        return original(*args, **options)

    return apply


def _of_math(original: Callable[..., Any], symbolic: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of `math` that is as good on noisy values; the others ask for their float."""

    @functools.wraps(original)
    def apply(value: Any, /) -> Any:
        if not has_run():
            return original(value)
        if not is_symbolic(value) and hasattr(value, "__iter__"):
            value = list(value)
        return symbolic(value) if _holds_symbols(value, 1) else original(value)

    return apply


def _log(original: Callable[..., Any]) -> Callable[..., Any]:
    """math.log, with or without a base."""

    @functools.wraps(original)
    def apply(value: Any, /, *base: Any) -> Any:
        if not has_run() or not is_symbolic(value):
            return original(value, *base)
        found = logarithm(value)
        return found / original(*base) if base else found

    return apply


def _copysign(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(size: Any, value: Any, /) -> Any:
        if has_run() and (is_symbolic(size) or is_symbolic(value)):
            return with_sign(size, value)
        return original(size, value)

    return apply


def _default_rng(original: Callable[..., Any]) -> Callable[..., Any]:
    """`np.random.default_rng(rng)` gives a generator back as it is; ours, too."""

    @functools.wraps(original)
    def apply(seed: Any = None) -> Any:
        return seed if hasattr(seed, "draw_noise") else original(seed)

    return apply


class _Module(ModuleType):
    """A module with some functions replaced."""

    def __init__(self, module: ModuleType, replaced: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(replaced)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)


_RANDOM = {"default_rng": _default_rng(np.random.default_rng)}
_FUNCTIONS: dict[str, Any] = {
    **{
        name: _maker(getattr(np, name))
        for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "fromiter")
    },
    **{
        name: _filled(getattr(np, name))
        for name in (
            "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like",
        )
    },
    "arange": _counted(np.arange),
    **{
        name: _on_lists(getattr(np, name))
        for name in (
            "sum", "max", "amax", "min", "amin", "argmax", "argmin", "mean", "average", "median",
            "quantile", "percentile",
            "sort", "argsort", "cumsum", "where", "any", "all", "count_nonzero", "nonzero",
            "flatnonzero", "clip", "round", "diff", "dot", "concatenate", "hstack", "append",
            "searchsorted", "digitize", "ptp", "var", "std",
        )
    },
}  # fmt: skip
_random = _Module(np.random, _RANDOM)
_numpy = _Module(np, {**_FUNCTIONS, "random": _random})
MATH = {
    "fsum": _of_math(math.fsum, lambda values: sum(values)),
    "fabs": _of_math(math.fabs, abs),
    "log": _log(math.log),
    "log2": _of_math(math.log2, lambda v: logarithm(v) / math.log(2)),
    "log10": _of_math(math.log10, lambda v: logarithm(v) / math.log(10)),
    "log1p": _of_math(math.log1p, logarithm_of_more),
    "copysign": _copysign(math.copysign),
    "isnan": _of_math(math.isnan, lambda _: False),
    "isinf": _of_math(math.isinf, lambda _: False),
    "isfinite": _of_math(math.isfinite, lambda _: True),
}
_math = _Module(math, MATH)
_HEAPS = {
    "nlargest": _outermost(heapq.nlargest, least=False),
    "nsmallest": _outermost(heapq.nsmallest, least=True),
}
_heapq = _Module(heapq, _HEAPS)
_in_order = _sorted(builtins.sorted)
_max = _extremum(builtins.max, least=False)
_min = _extremum(builtins.min, least=True)

_REPLACED: dict[int, tuple[Any, Any]] = {
    id(old): (old, new)
    for old, new in (
        (np, _numpy),
        (np.random, _random),
        (math, _math),
        (heapq, _heapq),
        (builtins.sorted, _in_order),
        (builtins.max, _max),
        (builtins.min, _min),
        *((getattr(math, name), new) for name, new in MATH.items()),
        *((getattr(heapq, name), new) for name, new in _HEAPS.items()),
        *((getattr(np.random, name), new) for name, new in _RANDOM.items()),
        *((getattr(np, name), new) for name, new in _FUNCTIONS.items()),
    )
}
_BUILTINS = [
    _Slot(vars(builtins), "max", builtins.max, _max),
    _Slot(vars(builtins), "min", builtins.min, _min),
    _Slot(vars(builtins), "sorted", builtins.sorted, _in_order),
    _Slot(vars(builtins), "__import__", builtins.__import__, _import(builtins.__import__)),
]
