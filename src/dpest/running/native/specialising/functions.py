"""What functions of Python, math and NumPy do on values of the run: one table, refuse by default.

An entry takes the run and the arguments. Those of `LAZY` go through their arguments bit by bit, or
call functions of the program: they are executed as code (`reading.machine.prelude`).
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.machine import prelude
from dpest.running.native.signals import NotCompiled, RunThrown, error_of
from dpest.running.native.specialising.arrays import dtype_of, is_array, objects, python_number
from dpest.running.native.specialising.calls import RunCalls
from dpest.running.native.specialising.state import Iterator, Rng, RunClosure, RunGenerator
from dpest.running.native.values import RunNumber, RunValue, kind_of

Entry = Callable[..., Any]
_TYPES: dict[tuple[str, bool], type] = {
    ("f", False): float, ("i", False): int, ("b", False): bool,
    ("f", True): np.float64, ("i", True): np.int64, ("b", True): np.bool_,
}  # fmt: skip
_ABSENT = object()


def type_of(run: RunCalls, value: Any) -> Any:
    if isinstance(value, Rng):
        return np.random.Generator
    value = run.resolved(value)
    if isinstance(value, RunNumber):
        return _TYPES[value.kind, value.numpy]
    if isinstance(value, (RunGenerator, Iterator, RunClosure)):
        raise NotCompiled("the type of a function or iterator")
    return np.ndarray if is_array(value) else type(value)


def _is_instance(run: RunCalls, value: Any, kinds: Any) -> bool:
    return bool(run.plain(lambda: issubclass(type_of(run, value), kinds)))


def _best(op: str) -> Entry:
    def entry(run: RunCalls, *values: Any) -> Any:
        rows = list(values) if len(values) > 1 else run.rows(values[0])
        if not rows:
            raise RunThrown(error_of(lambda: max([]) if op == ">" else min([])))
        return run.best(rows, op)

    return entry


def _lazy_best(op: str) -> Entry:
    def entry(run: RunCalls, *values: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        if key is None and default is _ABSENT:
            return NotImplemented
        rows = values if len(values) > 1 else values[0]
        name = "max" if op == ">" else "min"
        has_default = default is not _ABSENT
        rest = (has_default, None if not has_default else default, f"{name}() arg is empty")
        return run.by_prelude(prelude.best_, rows, key, op == ">", *rest)

    return entry


def _sum(run: RunCalls, values: Any, start: Any = 0) -> Any:
    rows = run.rows(values)
    if any(is_array(v) for v in rows):
        return functools.reduce(lambda a, b: run.binary("+", a, b), rows, start)
    if not isinstance(start, RunValue) and kind_of(start) == "c":
        raise NotCompiled("a sum of things other than numbers")
    return run.total(rows, start)


def _int(run: RunCalls, value: Any = 0, *base: Any) -> Any:
    if base:
        raise NotCompiled("int with a base")
    value = _single(run, value)
    if isinstance(value, RunNumber):
        return run.cast(value, "i").as_numpy(False)
    return run.plain(lambda: int(value))


def _float(run: RunCalls, value: Any = 0.0) -> Any:
    value = _single(run, value)
    return python_number(run.to_float(value)) if isinstance(value, RunNumber) else float(value)


def _single(run: RunCalls, value: Any) -> Any:
    if is_array(value):
        if value.size != 1:
            raise NotCompiled("an array of several elements as a number")
        value = value.flat[0]
    return run.resolved(value)


def _round(run: RunCalls, value: Any, digits: Any = None) -> Any:
    value = run.resolved(value)
    if digits is not None:
        if is_array(value) or (isinstance(value, RunNumber) and value.numpy):
            return _np_round(run, value, digits)
        raise NotCompiled("rounding to decimal places")
    if not isinstance(value, RunNumber):
        raise NotCompiled("rounding an array")
    if value.kind != "f":
        return run.cast(value, "i").as_numpy(False)
    return run.whole(run.real_function("rint", value.register))


def _np_round(run: RunCalls, value: Any, decimals: Any = 0, out: Any = None) -> Any:
    def one(v: Any) -> Any:
        if kind_of(v) != "f":
            return v
        if decimals == 0:
            return run.function("rint", v, True)
        factor = np.float64(10.0 ** abs(decimals))
        up, down = ("*", "/") if decimals > 0 else ("/", "*")
        return run.arithmetic(
            down, run.function("rint", run.arithmetic(up, v, factor), True), factor
        )

    return run.each(one, value)


def _enumerate(run: RunCalls, values: Any, start: int = 0) -> Any:
    return Iterator(list(enumerate(run.rows(values), start)))


def _zip(run: RunCalls, *values: Any, strict: bool = False) -> Any:
    rows = [run.rows(v) for v in values]
    if strict and len({len(r) for r in rows}) > 1:
        raise NotCompiled("zip of sequences of several lengths")
    return Iterator(list(zip(*rows, strict=False)))


def _any(run: RunCalls, values: Any) -> Any:
    made: Any = False
    for value in run.rows(values):
        made = run.either(made, run.boolean(value))
    return made


def _all(run: RunCalls, values: Any) -> Any:
    made: Any = True
    for value in run.rows(values):
        made = run.both(made, run.boolean(value))
    return made


def _lazy_any(function: Any) -> Entry:
    def entry(run: RunCalls, values: Any) -> Any:
        # A generator is left where its answer is known: draws that it had still to make aren't.
        if isinstance(values, RunGenerator) and values.items is None:
            return run.by_prelude(function, values)
        return NotImplemented

    return entry


def _sorted(run: RunCalls, values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    made, _ = run.exchanged(run.rows(values))
    return made[::-1] if reverse else made


def _lazy_sorted(run: RunCalls, values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if key is None:
        return NotImplemented
    return run.by_prelude(prelude.sorted_, values, key, reverse)


def _map(run: RunCalls, f: Any, *rows: Any) -> Any:
    if len(rows) == 1:
        return run.by_prelude(prelude.map_, f, rows[0])
    return run.by_prelude(prelude.map_rows_, f, list(zip(*map(run.rows, rows), strict=False)))


def _filter(run: RunCalls, f: Any, values: Any) -> Any:
    return run.by_prelude(prelude.filter_, f, values)


def _reduce(run: RunCalls, f: Any, values: Any, *start: Any) -> Any:
    return run.by_prelude(prelude.reduce_, f, values, start[0] if start else None, bool(start))


def _next(run: RunCalls, iterator: Any, *default: Any) -> Any:
    if isinstance(iterator, Iterator):
        if iterator.index < len(iterator.items):
            value = iterator.items[iterator.index]
            iterator.index += 1
            return value
        if default:
            return default[0]
        raise RunThrown(StopIteration())
    raise NotCompiled("next of a generator")


def _accumulate(run: RunCalls, values: Any, f: Any = None, *, initial: Any = None) -> Any:
    return run.by_prelude(prelude.accumulate_, values, f, initial, initial is not None)


def _extreme(op: str) -> Entry:
    def entry(
        run: RunCalls, a: Any, axis: Any = None, out: Any = None, keepdims: Any = None
    ) -> Any:
        return run.along(lambda rows: run.best_of_array(rows, op), a, axis, keepdims)

    return entry


def _place(op: str) -> Entry:
    def entry(
        run: RunCalls, a: Any, axis: Any = None, out: Any = None, keepdims: Any = None
    ) -> Any:
        return run.along(lambda rows: run.place_of_best(rows, op), a, axis, keepdims)

    return entry


def _np_sum(
    run: RunCalls,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = None,
) -> Any:
    if dtype is not None:
        raise NotCompiled("a sum of another type")
    return run.along(run.balanced_total, a, axis, keepdims)


def _mean(run: RunCalls, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    def one(rows: list[Any]) -> Any:
        return run.arithmetic("/", run.balanced_total(rows), float(len(rows)))

    return run.along(one, a, axis, None)


def _variance(run: RunCalls, a: Any, axis: Any = None, ddof: float = 0) -> Any:
    def one(rows: list[Any]) -> Any:
        mean = run.arithmetic("/", run.balanced_total(rows), float(len(rows)))
        gaps = [run.arithmetic("-", v, mean) for v in rows]
        squares = run.balanced_total([run.arithmetic("*", g, g) for g in gaps])
        return run.arithmetic("/", squares, float(len(rows) - ddof))

    return run.along(one, a, axis, None)


def _deviation(run: RunCalls, a: Any, axis: Any = None, ddof: float = 0) -> Any:
    return run.each(lambda v: run.function("sqrt", v, True), _variance(run, a, axis, ddof))


def _cumulated(op: str) -> Entry:
    def entry(run: RunCalls, a: Any, axis: Any = None) -> Any:
        array = objects(a)
        if axis is not None and array.ndim > 1:
            raise NotCompiled("partial sums along an axis")
        made = list(itertools.accumulate(array.flat, lambda p, q: run.arithmetic(op, p, q)))
        return run.settled(objects(made))

    return entry


def _clip(
    run: RunCalls, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    return run.clipped(a, a_min if min is None else min, a_max if max is None else max)


def _np_sort(run: RunCalls, a: Any, axis: int = -1, kind: Any = None) -> Any:
    if objects(a).ndim != 1:
        raise NotCompiled("sorting along an axis")
    return run.settled(objects(run.exchanged(list(run.settled(objects(a).copy())))[0]))


def _argsort(run: RunCalls, a: Any, axis: int = -1, kind: Any = None) -> Any:
    if objects(a).ndim != 1:
        raise NotCompiled("sorting along an axis")
    values = list(run.settled(objects(a).copy()))
    return run.settled(objects(run.exchanged(values, range(len(values)))[1]))


def _median(run: RunCalls, a: Any) -> Any:
    values, _ = run.exchanged(list(run.settled(objects(a).copy())))
    middle = len(values) // 2
    if len(values) % 2:
        return run.to_float(values[middle])
    return run.arithmetic("/", run.arithmetic("+", values[middle - 1], values[middle]), 2.0)


def _sign(run: RunCalls, value: Any) -> Any:
    def one(v: Any) -> Any:
        zero, unit = (0.0, 1.0) if kind_of(v) == "f" else (0, 1)
        negative = run.select(run.compare("<", v, 0), -unit, zero)
        return run.select(run.compare(">", v, 0), unit, negative)

    return run.each(one, value)


def _pairwise(op: str) -> Entry:
    def one(run: RunCalls, x: Any, y: Any) -> Any:
        if kind_of(x) != kind_of(y):
            x, y = run.to_float(x), run.to_float(y)
        return run.select(run.compare(op, x, y), x, y)

    return lambda run, a, b: run.each(lambda x, y: one(run, x, y), a, b)


def _norm(run: RunCalls, a: Any, ord: Any = None) -> Any:
    rows = list(objects(a).flat)
    if ord == 1:
        return run.balanced_total([run.absolute(v) for v in rows])
    if ord in (np.inf,):
        return run.best([run.absolute(v) for v in rows], ">")
    if ord not in (None, 2):
        raise NotCompiled("a norm of this order")
    squares = run.balanced_total([run.arithmetic("*", v, v) for v in rows])
    return run.function("sqrt", squares, True)


def _np_array(run: RunCalls, value: Any, dtype: Any = None, copy: Any = None) -> Any:
    return run.converted(value, dtype)


def _as_array(run: RunCalls, value: Any, dtype: Any = None) -> Any:
    if is_array(value) and (dtype is None or np.dtype(dtype) == dtype_of(value)):
        return value
    return run.converted(value, dtype)


def _concatenate(run: RunCalls, values: Any, axis: int = 0) -> Any:
    return run.settled(np.concatenate([objects(v) for v in values], axis))


def _stack(run: RunCalls, values: Any, axis: int = 0) -> Any:
    return run.settled(np.stack([objects(v) for v in values], axis))


def _append(run: RunCalls, a: Any, values: Any) -> Any:
    return run.settled(np.concatenate([np.ravel(objects(a)), np.ravel(objects(values))]))


def _filled_like(value: float) -> Entry:
    def entry(run: RunCalls, a: Any, dtype: Any = None) -> Any:
        kind = dtype_of(a) if dtype is None else np.dtype(dtype)
        return np.full(objects(a).shape, value, kind)

    return entry


def _count_nonzero(run: RunCalls, a: Any) -> Any:
    return run.total([run.cast(run.boolean(v), "i") for v in objects(a).flat])


def _fsum(run: RunCalls, values: Any) -> Any:
    return python_number(run.to_float(run.total(run.rows(values), 0.0)))


def _copysign(run: RunCalls, a: Any, b: Any) -> Any:
    x, y = run.as_kind(run.resolved(a), "f"), run.as_kind(run.resolved(b), "f")
    return RunNumber("f", run.emit("call {F} @llvm.copysign.{S}({F} {0}, {F} {1})", x, y))


def _is_nan(run: RunCalls, value: Any) -> Any:
    return run.compare("!=", value, value)


def _is_finite(run: RunCalls, value: Any) -> Any:
    return run.compare("<", run.absolute(value), math.inf)


def _is_infinite(run: RunCalls, value: Any) -> Any:
    return run.compare("==", run.absolute(value), math.inf)


def _square(run: RunCalls, value: Any) -> Any:
    return run.binary("*", value, value)


def _math_function(name: str) -> Entry:
    def entry(run: RunCalls, value: Any, *base: Any) -> Any:
        made = run.function(name, value, False)
        return run.arithmetic("/", made, math.log(base[0])) if base else made

    return entry


def _np_function(name: str) -> Entry:
    return lambda run, value: run.each(lambda v: run.function(name, v, True), value)


def _elementwise(f: Callable[[RunCalls, Any], Any]) -> Entry:
    return lambda run, value: run.each(lambda v: f(run, v), value)


def _operator(op: str) -> Entry:
    return lambda run, a, b: run.binary(op, a, b)


def _len(run: RunCalls, value: Any) -> Any:
    if isinstance(value, (RunValue, RunGenerator, Iterator)):
        raise NotCompiled("the length of a number or iterator")
    return run.plain(lambda: len(value))


def _list(run: RunCalls, values: Any = ()) -> Any:
    return run.rows(values)


def _dict(run: RunCalls, *given: Any, **words: Any) -> Any:
    pairs = given[0] if given else {}
    if not isinstance(pairs, dict):
        pairs = [(run.plain_index(k), v) for k, v in pairs]
    return dict(pairs, **words)


def _iter(run: RunCalls, value: Any) -> Any:
    if isinstance(value, (RunGenerator, Iterator)):
        return value
    return Iterator(run.rows(value))


def _hasattr(run: RunCalls, value: Any, name: str) -> bool:
    if isinstance(value, Rng):
        return hasattr(np.random.Generator, name) or name == "draw_noise"
    if isinstance(value, RunValue):
        kind = type_of(run, value)
        return hasattr(kind, name)
    raise NotCompiled("hasattr")


def _default_rng(run: RunCalls, seed: Any = None) -> Any:
    if isinstance(seed, Rng):
        return seed
    raise NotCompiled("a generator of its own")


def _callable(run: RunCalls, value: Any) -> bool:
    return not isinstance(value, (RunValue, RunGenerator, Iterator))


def _array_equal(run: RunCalls, a: Any, b: Any) -> Any:
    x, y = objects(a), objects(b)
    return x.shape == y.shape and _all(run, list(np.ravel(objects(run.binary("==", x, y)))))


LAZY: dict[Any, Entry] = {
    builtins.max: _lazy_best(">"),
    builtins.min: _lazy_best("<"),
    builtins.any: _lazy_any(prelude.any_),
    builtins.all: _lazy_any(prelude.all_),
    builtins.sorted: _lazy_sorted,
    builtins.map: _map,
    builtins.filter: _filter,
    builtins.iter: _iter,
    builtins.next: _next,
    functools.reduce: _reduce,
    itertools.accumulate: _accumulate,
}

TABLE: dict[Any, Entry] = {
    builtins.max: _best(">"),
    builtins.min: _best("<"),
    builtins.sum: _sum,
    builtins.abs: lambda run, v: run.each(run.absolute, v) if is_array(v) else run.absolute(v),
    builtins.len: _len,
    builtins.float: _float,
    builtins.int: _int,
    builtins.bool: lambda run, v: run.boolean(_single(run, v)),
    builtins.round: _round,
    builtins.sorted: _sorted,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.list: _list,
    builtins.tuple: lambda run, v=(): tuple(run.rows(v)),
    builtins.dict: _dict,
    builtins.reversed: lambda run, v: Iterator(run.rows(v)[::-1]),
    builtins.any: _any,
    builtins.all: _all,
    builtins.isinstance: _is_instance,
    builtins.type: type_of,
    builtins.callable: _callable,
    builtins.hasattr: _hasattr,
    builtins.pow: _operator("**"),
    np.random.default_rng: _default_rng,
    np.max: _extreme(">"),
    np.amax: _extreme(">"),
    np.min: _extreme("<"),
    np.amin: _extreme("<"),
    np.argmax: _place(">"),
    np.argmin: _place("<"),
    np.sum: _np_sum,
    np.mean: _mean,
    np.average: _mean,
    np.var: _variance,
    np.std: _deviation,
    np.median: _median,
    np.cumsum: _cumulated("+"),
    np.cumprod: _cumulated("*"),
    np.clip: _clip,
    np.where: lambda run, c, a, b: run.where(c, a, b),
    np.sort: _np_sort,
    np.argsort: _argsort,
    np.abs: lambda run, v: run.each(run.absolute, v),
    np.fabs: lambda run, v: run.each(lambda e: run.absolute(run.to_float(e)), v),
    np.sign: _sign,
    np.negative: lambda run, v: run.each(run.negative, v),
    np.round: _np_round,
    np.around: _np_round,
    np.array: _np_array,
    np.asarray: _as_array,
    np.asanyarray: _as_array,
    np.maximum: _pairwise(">="),
    np.minimum: _pairwise("<="),
    np.add: _operator("+"),
    np.subtract: _operator("-"),
    np.multiply: _operator("*"),
    np.divide: lambda run, a, b: run.binary_arrays("/", a, b),
    np.dot: lambda run, a, b: run.dot(a, b),
    np.matmul: lambda run, a, b: run.dot(a, b),
    np.linalg.norm: _norm,
    np.any: lambda run, v: _any(run, list(objects(v).flat)),
    np.all: lambda run, v: _all(run, list(objects(v).flat)),
    np.float64: lambda run, v: run.to_float(_single(run, v)).as_numpy(),
    np.int64: lambda run, v: run.cast(_single(run, v), "i").as_numpy(),
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.append: _append,
    np.flip: lambda run, v: v[::-1].copy(),
    np.ravel: lambda run, v: objects(v).ravel(),
    np.count_nonzero: _count_nonzero,
    np.diff: lambda run, v: run.binary_arrays("-", objects(v)[1:], objects(v)[:-1]),
    np.square: _square,
    np.isnan: _elementwise(_is_nan),
    np.isfinite: _elementwise(_is_finite),
    np.isinf: _elementwise(_is_infinite),
    np.logical_not: _elementwise(lambda run, v: run.negation(v)),
    np.logical_and: lambda run, a, b: run.each(lambda x, y: run.both(x, y), a, b),
    np.logical_or: lambda run, a, b: run.each(lambda x, y: run.either(x, y), a, b),
    np.ndim: lambda run, v: objects(v).ndim,
    np.shape: lambda run, v: objects(v).shape,
    np.zeros_like: _filled_like(0),
    np.ones_like: _filled_like(1),
    np.array_equal: _array_equal,
    np.isscalar: lambda run, v: not is_array(v),
    math.copysign: _copysign,
    math.fsum: _fsum,
    math.prod: lambda run, v: functools.reduce(
        lambda a, b: run.arithmetic("*", a, b), run.rows(v), 1
    ),
    math.isnan: _is_nan,
    math.isfinite: _is_finite,
    math.isinf: _is_infinite,
    math.pow: lambda run, a, b: run.arithmetic("**", run.to_float(a), run.to_float(b)),
    math.trunc: _int,
    operator.add: _operator("+"),
    operator.sub: _operator("-"),
    operator.mul: _operator("*"),
    operator.gt: _operator(">"),
    operator.lt: _operator("<"),
    operator.ge: _operator(">="),
    operator.le: _operator("<="),
}
for _name in ("log", "exp", "sqrt", "floor", "ceil", "fabs", "log2", "log10", "log1p", "expm1"):
    TABLE[getattr(math, _name)] = _math_function(_name)
    TABLE.setdefault(getattr(np, _name), _np_function(_name))
for _name in ("tanh", "sin", "cos"):
    TABLE[getattr(math, _name)] = _math_function(_name)
    TABLE[getattr(np, _name)] = _np_function(_name)
TABLE[np.rint] = _np_function("rint")
TABLE[np.trunc] = _np_function("trunc")
