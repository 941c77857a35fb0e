"""What NumPy's functions do on symbolic arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.refusals import refuse
from dpest.reading.rewrites.lazy_arrays import LazyArray, Ranks
from dpest.reading.tracing.selections import chosen, extreme, ordering, ranked
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, is_symbolic, joined
from dpest.reading.tracing.symbolic_arrays import (
    SymbolicArray,
    _along,
    _as_condition,
    _elementwise,
    _index,
    _into,
    _mapped,
    _objects,
    clip_all,
    elements_of_numpy,
    symbolic_array,
    symbolic_inside,
    total,
    wrapped,
)

_MISSING: Any = np._NoValue


def _reduction(ufunc: Any) -> Callable[..., Any]:
    def apply(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = _MISSING, where: Any = True,
    ) -> Any:  # fmt: skip
        options: dict[str, Any] = {"axis": axis, "keepdims": keepdims is True, "where": where}
        if initial is not _MISSING:
            options["initial"] = initial
        from dpest.reading.tracing.symbolic_arrays import apply_ufunc

        result = apply_ufunc(ufunc, "reduce", [a], options)
        return result if out is None else _into(out, _objects(result))

    return apply


def _extremum(ufunc: Any) -> Callable[..., Any]:
    reduction = _reduction(ufunc)

    def apply(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
              initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
        return reduction(a, axis, None, out, keepdims, initial, where)

    return apply


def _place(least: bool) -> Callable[..., Any]:
    def apply(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        def one(row: list[Any]) -> Any:
            if not row:
                raise ValueError("attempt to get argmax of an empty sequence")
            return np.intp(extreme(row, least=least))

        return wrapped(_along(_objects(a), axis, one, keepdims=keepdims))

    return apply


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
          *, where: Any = True) -> Any:  # fmt: skip
    return wrapped(
        _along(_objects(a), axis, lambda row: total(row) / len(row), keepdims=keepdims is True)
    )


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **_: Any
) -> Any:
    if weights is None:
        return _mean(a, axis)
    weights = np.asarray(weights)
    return np.sum(symbolic_array(a) * weights, axis=axis) / weights.sum()


def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
            keepdims: bool = False) -> Any:  # fmt: skip
    def one(row: list[Any]) -> Any:
        middle = len(row) // 2
        if not row:
            return math.nan
        place, above = ranked(row, middle if len(row) % 2 else middle - 1)
        if len(row) % 2:
            return row[place]
        upper = [row[i] for i in above]
        return (row[place] + upper[extreme(upper, least=True)]) / 2

    return wrapped(_along(_objects(a), axis, one, keepdims=keepdims))


def _quantile(of_hundred: bool) -> Callable[..., Any]:
    def apply(a: Any, q: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        if args or options or np.ndim(q) != 0 or is_symbolic(q):
            refuse("np.quantile with more than one number and an axis", "use np.sort")
        share = q / 100 if of_hundred else q

        def one(row: list[Any]) -> Any:
            at = share * (len(row) - 1)
            rank = min(math.floor(at), len(row) - 1)
            place, above = ranked(row, rank)
            if at == rank:
                return row[place]
            upper = [row[i] for i in above]
            following = upper[extreme(upper, least=True)]
            return row[place] + (following - row[place]) * (at - rank)

        return wrapped(_along(_objects(a), axis, one))

    return apply


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **_: Any) -> Any:
    array = _objects(a)
    if array.ndim == 1:
        return LazyArray(Ranks(list(array), indices=False))
    return wrapped(_along(array, axis, lambda row: [row[i] for i in ordering(row)], keep=True))


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **_: Any) -> Any:
    array = _objects(a)
    if array.ndim == 1:
        return LazyArray(Ranks(list(array), indices=True))
    return _along(array, axis, ordering, keep=True).astype(np.intp)


def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    def one(row: list[Any]) -> list[Any]:
        sums: list[Any] = []
        for value in row:
            sums.append(value + sums[-1] if sums else (+value if is_symbolic(value) else value))
        return sums

    array = _mapped(lambda v: v.number() if isinstance(v, TracedTruth) else v, a)
    return wrapped(_along(array, axis, one, keep=True))


def _where(condition: Any, *arms: Any) -> Any:
    if not arms:
        return _nonzero(condition)
    return wrapped(_mapped(lambda c, yes, no: chosen(_as_condition(c), yes, no), condition, *arms))


def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    result: Any = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = _where(condition, choice, result)
    return result


def _forced(a: Any) -> np.ndarray:
    array = _objects(a)
    flags = [bool(_as_condition(v)) for v in array.flat]
    return np.array(flags, dtype=bool).reshape(array.shape)


def _nonzero(a: Any) -> Any:
    return np.nonzero(_forced(a))


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    def one(row: list[Any]) -> Any:
        return total([_as_condition(v) for v in row])

    return wrapped(_along(_objects(a), axis, one, keepdims=keepdims))


def _quantified(conjunction: bool) -> Callable[..., Any]:
    def apply(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
        def one(row: list[Any]) -> Any:
            result: Any = conjunction
            for value in row:
                result = joined(result, _as_condition(value), conjunction)
            return result

        return wrapped(_along(_objects(a), axis, one, keepdims=keepdims is True))

    return apply


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low = options.get("min", a_min)
    high = options.get("max", a_max)
    low = None if low is _MISSING else low
    high = None if high is _MISSING else high
    result = clip_all(a, low, high)
    return result if out is None else _into(out, _objects(result))


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    def one(value: Any) -> Any:
        return round(value, decimals) if is_symbolic(value) else np.round(value, decimals)

    return wrapped(_mapped(one, a))


def _diff(a: Any, n: int = 1, axis: int = -1, **_: Any) -> Any:
    array = symbolic_array(a)
    for _step in range(n):
        later = np.moveaxis(array, axis, -1)[..., 1:]
        earlier = np.moveaxis(array, axis, -1)[..., :-1]
        array = symbolic_array(np.moveaxis(symbolic_array(later - earlier), -1, axis))
    return wrapped(array.view(np.ndarray))


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    return wrapped(_objects(np.dot(elements_of_numpy(a), elements_of_numpy(b))))


def _like(fill: Any) -> Callable[..., Any]:
    def apply(a: Any, *args: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Any:
        value = args[0] if fill is None and args else fill
        if fill is None and not args:
            value = _.get("fill_value")
        found = np.empty(np.shape(a) if shape is None else shape, dtype=object)
        found[...] = value
        return found.view(SymbolicArray)

    return apply


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None:
        refuse("np.searchsorted with sorter=", "sort the values first")
    places = list(_objects(a).ravel())

    def one(value: Any) -> Any:
        return total([(p < value) if side == "left" else (p <= value) for p in places])

    return wrapped(_mapped(one, v))


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = list(np.asarray(bins))
    if any(later < earlier for earlier, later in itertools.pairwise(edges)):
        refuse("np.digitize with decreasing bins", "give the bins in increasing order")
    return _searchsorted(edges, x, side="left" if right else "right")


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    first, second = _objects(a), _objects(b)
    if first.shape != second.shape:
        return False
    return np.all(symbolic_array(_mapped(_elementwise(np.equal), first, second)))


def _trace(a: Any, *args: Any, **options: Any) -> Any:
    return np.sum(symbolic_array(np.diagonal(_objects(a), *args, **options)), axis=-1)


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    array = a if isinstance(a, np.ndarray) else np.asarray(a)
    found = np.take(np.asarray(_objects(array)), _index(indices), axis=axis, mode=mode)  # type: ignore[call-overload]
    return wrapped(_objects(found))


def _nan_to_num(x: Any, *args: Any, **options: Any) -> Any:
    return wrapped(
        _mapped(lambda v: v if is_symbolic(v) else np.nan_to_num(v, *args, **options), x)
    )


def _ptp(a: Any, axis: Any = None, **_: Any) -> Any:
    return np.max(a, axis=axis) - np.min(a, axis=axis)


def _no(text: str, advice: str) -> Callable[..., Any]:
    def apply(a: Any, *args: Any, **options: Any) -> Any:
        array = _objects(a)
        if not symbolic_inside(array):
            from dpest.reading.tracing.symbolic_arrays import natural

            return getattr(np, text)(natural(array), *args, **options)
        refuse(f"np.{text} of noisy values", advice)

    return apply


def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, **_: Any) -> Any:
    def one(first: Any, second: Any) -> Any:
        bound = atol + rtol * abs(second)
        gap = first - second
        return joined(gap <= bound, gap >= -bound, True)

    return wrapped(_mapped(one, a, b))


def _around_whole(a: Any, *args: Any, **options: Any) -> Any:
    return wrapped(_mapped(lambda v: v.__trunc__() if isinstance(v, TracedReal) else np.fix(v), a))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction(np.add),
    np.nansum: _reduction(np.add),
    np.prod: _reduction(np.multiply),
    np.max: _extremum(np.maximum),
    np.amax: _extremum(np.maximum),
    np.nanmax: _extremum(np.maximum),
    np.min: _extremum(np.minimum),
    np.amin: _extremum(np.minimum),
    np.nanmin: _extremum(np.minimum),
    np.argmax: _place(False),
    np.nanargmax: _place(False),
    np.argmin: _place(True),
    np.nanargmin: _place(True),
    np.mean: _mean,
    np.nanmean: _mean,
    np.average: _average,
    np.median: _median,
    np.quantile: _quantile(False),
    np.percentile: _quantile(True),
    np.sort: _sort,
    np.argsort: _argsort,
    np.cumsum: _cumsum,
    np.where: _where,
    np.select: _select,
    np.nonzero: _nonzero,
    np.flatnonzero: lambda a: np.flatnonzero(_forced(a)),
    np.argwhere: lambda a: np.argwhere(_forced(a)),
    np.count_nonzero: _count_nonzero,
    np.any: _quantified(False),
    np.all: _quantified(True),
    np.clip: _clip,
    np.round: _round,
    np.around: _round,
    np.fix: _around_whole,
    np.diff: _diff,
    np.dot: _dot,
    np.inner: lambda a, b: _dot(a, np.asarray(_objects(b)).T),
    np.vdot: lambda a, b: _dot(_objects(a).ravel(), _objects(b).ravel()),
    np.zeros_like: _like(0.0),
    np.empty_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.full_like: _like(None),
    np.searchsorted: _searchsorted,
    np.digitize: _digitize,
    np.array_equal: _array_equal,
    np.take: _take,
    np.trace: _trace,
    np.nan_to_num: _nan_to_num,
    np.ptp: _ptp,
    np.cumprod: lambda a, axis=None, **_: np.multiply.accumulate(a, axis=axis or 0),
    np.copy: lambda a, *args, **options: symbolic_array(a).copy(),
    np.isclose: _isclose,
    np.allclose: lambda a, b, *args, **options: np.all(_isclose(a, b, *args, **options)),
    np.var: _no("var", "squares are not linear in the noise: release the values"),
    np.std: _no("std", "squares are not linear in the noise: release the values"),
}

# NumPy's own code computes these with the operators of the elements.
PRODUCTS = {np.outer, np.kron, np.tensordot}

# NumPy's own code does these on objects: they move elements and compute nothing.
STRUCTURAL = {
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block,
    np.append, np.insert, np.delete, np.split, np.array_split, np.hsplit, np.vsplit, np.roll,
    np.flip, np.fliplr, np.flipud, np.rot90, np.reshape, np.ravel, np.transpose, np.squeeze,
    np.expand_dims, np.broadcast_to, np.broadcast_arrays, np.tile, np.repeat, np.atleast_1d,
    np.atleast_2d, np.atleast_3d, np.moveaxis, np.swapaxes, np.shape, np.ndim, np.size,
    np.diag, np.diagonal, np.tril, np.triu, np.copyto,
    np.take_along_axis, np.put_along_axis, np.resize, np.pad, np.ix_, np.meshgrid, np.compress,
    np.extract, np.iscomplexobj, np.isscalar, np.result_type, np.may_share_memory, np.shares_memory,
}  # fmt: skip
