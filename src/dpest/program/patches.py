"""Functions of Python and NumPy that no protocol lets a symbolic value take part in.

While a trace runs, `max` and `min` see noisy values as n cells instead of n − 1 comparisons, and
arrays that the user's code makes can hold noisy values. For everything else, and in every other
thread, they are the originals.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpest.program import symbolic_functions
from dpest.program.places import is_user_file
from dpest.program.running import has_run, lenient
from dpest.program.selections import continuous, converted, extreme
from dpest.program.symbolic import Real, is_symbolic
from dpest.program.symbolic_arrays import SymbolicArray, _objects, symbolic_array, symbolic_inside

_MISSING = object()
_known = symbolic_functions.FUNCTIONS  # its keys are the originals: loaded before any is replaced
_lock = threading.Lock()
_depth = 0


@contextmanager
def patched() -> Iterator[None]:
    """The replacements are in place inside of this."""
    global _depth
    with _lock:
        if _depth == 0:
            for owner, name, _, new in _REPLACED:
                setattr(owner, name, new)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for owner, name, old, _ in _REPLACED:
                    setattr(owner, name, old)


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
    if not all(isinstance(k, (tuple, list)) and k and isinstance(k[0], Real) for k in keys):
        return None
    firsts = [k[0] for k in keys]
    for i, a in enumerate(firsts):
        for b in firsts[:i]:
            if not continuous(a.form.plus(b.form, -1)):
                return None  # a tie would be decided by the next entry
    return firsts


def _holds_symbols(value: Any, depth: int = 4) -> bool:
    if is_symbolic(value):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and symbolic_inside(value)
    if isinstance(value, (list, tuple)) and depth:
        return any(_holds_symbols(v, depth - 1) for v in value)
    return False


def _from_user() -> bool:
    return has_run() and is_user_file(sys._getframe(2).f_code.co_filename)


def _maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and the like: a list with noisy values gives a SymbolicArray."""

    @functools.wraps(original)
    def apply(value: Any = (), dtype: Any = None, *args: Any, **options: Any) -> Any:
        if _from_user():
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
                return array.view(SymbolicArray)
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
        if _from_user():
            if any(_holds_symbols(a, 1) for a in (*args, *options.values())):
                return _of_symbols(original, args, options)
            made = original(*args, **options)
            if made.dtype.kind == "f" or (lenient() and made.dtype.kind in "iu"):
                return made.astype(object).view(SymbolicArray)
            return made
        return original(*args, **options)

    return apply


def _of_symbols(original: Callable[..., Any], args: Any, options: Any) -> Any:
    """np.full and np.full_like with a noisy value."""
    names = ("shape" if original is np.full else "a", "fill_value")
    given = {**dict(zip(names, args, strict=False)), **options}
    shape = given["shape"] if "shape" in given else np.shape(given["a"])
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


def _default_rng(original: Callable[..., Any]) -> Callable[..., Any]:
    """`np.random.default_rng(rng)` gives a generator back as it is; ours, too."""

    @functools.wraps(original)
    def apply(seed: Any = None) -> Any:
        return seed if hasattr(seed, "draw_noise") else original(seed)

    return apply


_REPLACED: list[tuple[Any, str, Any, Any]] = [
    (builtins, "max", builtins.max, _extremum(builtins.max, least=False)),
    (builtins, "min", builtins.min, _extremum(builtins.min, least=True)),
    (np.random, "default_rng", np.random.default_rng, _default_rng(np.random.default_rng)),
    *(
        (np, name, getattr(np, name), _maker(getattr(np, name)))
        for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "fromiter")
    ),
    *(
        (np, name, getattr(np, name), _filled(getattr(np, name)))
        for name in (
            "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like",
        )
    ),
    *(
        (np, name, getattr(np, name), _on_lists(getattr(np, name)))
        for name in (
            "sum", "max", "amax", "min", "amin", "argmax", "argmin", "mean", "average", "median",
            "sort", "argsort", "cumsum", "where", "any", "all", "count_nonzero", "nonzero",
            "flatnonzero", "clip", "round", "diff", "dot", "concatenate", "hstack", "append",
            "searchsorted", "digitize", "ptp", "var", "std",
        )
    ),
]  # fmt: skip
