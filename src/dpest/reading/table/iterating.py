"""Functions that go through something: sum, max, any, map, zip, sorted, itertools."""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains import arithmetic
from dpest.reading.domains.arithmetic import is_number, is_symbolic
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import operators, prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.control import END, RESUME
from dpest.reading.machine.heap import (
    GeneratorObject,
    Instance,
    RowIterator,
    SequenceIterator,
)
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, DictView, Method, Ref, is_plain
from dpest.reading.table.containers import is_simple
from dpest.reading.table.registry import entry, native

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine


def scalars(m: Machine, value: Any) -> list[Any] | None:
    """The elements, if all of them are numbers; None if they must be gone through otherwise."""
    if not is_simple(m, value) or isinstance(value, (str, bytes)):
        return None
    thing = m.state.heap.read(value) if isinstance(value, Ref) else None
    if isinstance(thing, SequenceIterator) or (thing is not None and hasattr(thing, "view")):
        return None
    items = m.all_items(value, "going through") if m.keys_of(value) is None else None
    if items is None:
        items = list(m.keys_of(value))
    return items if all(is_number(v) or is_symbolic(v) for v in items) else None


@entry(builtins.sum)
def sum_(m: Machine, values: Any, start: Any = 0) -> Any:
    items = scalars(m, values)
    if items is None or not (is_number(start) or is_symbolic(start)):
        if isinstance(start, str):
            raise Thrown(TypeError("sum() can't sum strings [use ''.join(seq) instead]"))
        return Enter(prelude.sum_, (values, start))
    return functools.reduce(lambda a, b: operators.binary(m, "+", a, b), items, start)


def _extreme(largest: bool) -> Any:
    name = "max" if largest else "min"

    def made(m: Machine, *values: Any, key: Any = None, **options: Any) -> Any:
        many = values[0] if len(values) == 1 else tuple(values)
        if set(options) - {"default"}:
            raise Refused(f"an option of {name}(…)")
        items = scalars(m, many) if key is None else None
        if items:
            return extreme_of(m, items, largest)
        message = f"{name}() arg is an empty sequence"
        has = "default" in options
        arguments = (many, key, largest, has, options.get("default"), message)
        return Enter(prelude.best_of_all_ if m.is_whole else prelude.best_, arguments)

    return made


entry(builtins.max)(_extreme(True))
entry(builtins.min)(_extreme(False))


def extreme_of(m: Machine, items: list[Any], largest: bool) -> Any:
    """The first greatest (or least) of some numbers, by one decision."""
    if all(is_plain(v) for v in items):
        return operators.native(max if largest else min, items)
    return items[extreme_place(m, items, largest)]


def extreme_place(m: Machine, items: list[Any], largest: bool) -> int:
    for v in items:
        if isinstance(v, (float, np.floating)) and not np.isfinite(v):
            return _with_infinities(m, items, largest)
    forms = [arithmetic.form_of(m, v) for v in items]
    if not largest:
        forms = [f.times(-1) for f in forms]
    return m.greatest(forms)


def _with_infinities(m: Machine, items: list[Any], largest: bool) -> int:
    """Infinities win or lose against every number."""
    if any(isinstance(v, (float, np.floating)) and np.isnan(v) for v in items):
        raise Refused("NaN among noisy values that are compared")
    best = np.inf if largest else -np.inf
    for n, v in enumerate(items):
        if is_number(v) and v == best:
            return n
    finite = [n for n, v in enumerate(items) if is_symbolic(v) or np.isfinite(v)]
    return finite[extreme_place(m, [items[n] for n in finite], largest)] if finite else 0


@entry(builtins.any)
def any_(m: Machine, values: Any) -> Any:
    return Enter(prelude.any_, (values,))


@entry(builtins.all)
def all_(m: Machine, values: Any) -> Any:
    return Enter(prelude.all_, (values,))


@entry(builtins.sorted)
def sorted_(m: Machine, values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    if key is None and is_simple(m, values):
        keys = m.keys_of(values)
        items = list(keys) if keys is not None else m.all_items(values, "sorted of")
        if all(is_plain(v) for v in items):
            return m.adopted(operators.native(lambda: sorted(items, reverse=reverse)))
        if keys is not None:
            raise Refused("sorted(…) of these keys")
        if not m.is_whole and sum(map(is_symbolic, items)) > _MOST_ORDERED:
            raise Refused("an order of many noisy or private values")
    if isinstance(reverse, (Real, Truth)):
        raise Refused("an order that noise turns around")
    return Enter(prelude.sorted_by_keys_ if m.is_whole else prelude.sorted_, (values, key, reverse))


native([bisect.bisect_left, bisect.bisect_right])


@entry(bisect.bisect_right)
def bisect_right(m: Machine, items: Any, x: Any) -> Any:
    return Enter(prelude.bisect_right_, (items, x))


@entry(bisect.bisect_left)
def bisect_left(m: Machine, items: Any, x: Any) -> Any:
    return Enter(prelude.bisect_left_, (items, x))


@entry(heapq.nlargest)
def nlargest(m: Machine, count: Any, values: Any, key: Any = None) -> Any:
    return Enter(prelude.outermost_, (count, values, key, True))


@entry(heapq.nsmallest)
def nsmallest(m: Machine, count: Any, values: Any, key: Any = None) -> Any:
    return Enter(prelude.outermost_, (count, values, key, False))


@entry(builtins.reversed)
def reversed_(m: Machine, values: Any) -> Any:
    if isinstance(values, DictView) or not is_simple(m, values):
        raise Refused("reversed(…) of this")
    if m.sequence(values) is None and not isinstance(values, (range, str, bytes, Array)):
        items: Any = tuple(reversed(m.all_items(values, "reversed of")))
        return m.state.heap.new(SequenceIterator(items))
    size = len(m.all_items(values, "reversed of"))
    return m.state.heap.new(SequenceIterator(values, size - 1, -1))


@entry(builtins.iter)
def iter_(m: Machine, value: Any, *sentinel: Any) -> Any:
    if sentinel:
        return Enter(prelude.called_until_, (value, sentinel[0]))
    return m.iterator(value)


@entry(builtins.next)
def next_(m: Machine, it: Any, *default: Any) -> Any:
    thing = m.state.heap.read(it) if isinstance(it, Ref) else None
    if default and isinstance(thing, (GeneratorObject, Instance)):
        return Enter(prelude.next_or_, (_NEXT, it, default[0]))
    value = m.next_value(it)
    if value is END:
        if default:
            return default[0]
        raise Thrown(StopIteration())
    return value


_NEXT = builtins.next
_MOST_ORDERED = 3


@entry(Method("iterator", "send"))
def send(m: Machine, ref: Any, value: Any) -> Any:
    return Enter(RESUME, (ref, value))


@entry(Method("iterator", "__next__"))
def dunder_next(m: Machine, ref: Any) -> Any:
    return Enter(RESUME, (ref, None))


@entry(Method("iterator", "close"))
def close(m: Machine, ref: Any) -> Any:
    generator = m.state.heap.read(ref)
    if generator.frame is not None:
        frame = generator.frame
        if generator.started and frame.code.instructions[frame.pc].handler is not None:
            raise Refused("close() of a generator that waits inside of a `try`")
        m.state.heap.write(ref).frame = None
    return None


# Rows


def _runs_code(m: Machine, it: Any) -> bool:
    thing = m.state.heap.read(it) if isinstance(it, Ref) else None
    if isinstance(thing, RowIterator):
        return any(_runs_code(m, part) for part in thing.parts)
    return isinstance(thing, (GeneratorObject, Instance))


def _share(m: Machine, iterators: list[Any]) -> bool:
    """Whether one iterator occurs twice: `zip(it, it)` takes of it in turns."""
    seen: set[Any] = set()
    pending = list(iterators)
    while pending:
        it = pending.pop()
        thing = m.state.heap.read(it) if isinstance(it, Ref) else None
        if isinstance(thing, RowIterator):
            pending += thing.parts
        if isinstance(it, Ref):
            if it in seen:
                return True
            seen.add(it)
    return False


@entry(builtins.zip)
def zip_(m: Machine, *many: Any, strict: bool = False) -> Any:
    iterators = [m.iterator(v) for v in many]
    if any(isinstance(it, Enter) for it in iterators):
        raise Refused("zip of objects with an `__iter__` of their own")
    if any(_runs_code(m, it) for it in iterators) or _share(m, iterators):
        if strict:
            raise Refused("zip(strict=True) of generators")
        return Enter(prelude.zip_, (tuple(iterators),))
    if not iterators:
        return m.state.heap.new(SequenceIterator(()))
    return m.state.heap.new(RowIterator(tuple(iterators), strict=bool(strict)))


@entry(builtins.enumerate)
def enumerate_(m: Machine, values: Any, start: Any = 0) -> Any:
    it = m.iterator(values)
    if isinstance(it, Enter) or _runs_code(m, it):
        return Enter(prelude.enumerate_, (values if isinstance(it, Enter) else it, start))
    return m.state.heap.new(RowIterator((it,), start))


@entry(builtins.map)
def map_(m: Machine, function: Any, *many: Any) -> Any:
    if len(many) == 1:
        return Enter(prelude.map_, (function, *_begun(m, many)))
    return Enter(prelude.map_rows_, (function, zip_(m, *many)))


def _begun(m: Machine, many: tuple[Any, ...]) -> tuple[Any, ...]:
    """Iterators of what is given: map and filter ask for them at once."""
    made = tuple(m.iterator(v) for v in many)
    return many if any(isinstance(it, Enter) for it in made) else made


@entry(builtins.filter)
def filter_(m: Machine, function: Any, values: Any) -> Any:
    return Enter(prelude.filter_, (function, *_begun(m, (values,))))


@entry(functools.reduce)
def reduce(m: Machine, function: Any, values: Any, *start: Any) -> Any:
    return Enter(prelude.reduce_, (function, values, start[0] if start else None, bool(start)))


@entry(builtins.range)
def range_(m: Machine, *ends: Any) -> Any:
    lazy = m.lazy_range(*ends)
    if lazy is not None:
        return lazy
    if any(is_symbolic(e) for e in ends):
        raise Refused("a range with a noisy or private end")
    return operators.native(range, *(m.plain_index(e) for e in ends))


# itertools


@entry(itertools.accumulate)
def accumulate(m: Machine, values: Any, func: Any = None, *, initial: Any = None) -> Any:
    return Enter(prelude.accumulate_, (values, func, initial, initial is not None))


@entry(itertools.chain)
def chain(m: Machine, *many: Any) -> Any:
    return Enter(prelude.chain_, (many,))


@entry(itertools.chain.from_iterable)
def chain_from(m: Machine, many: Any) -> Any:
    return Enter(prelude.chain_, (many,))


@entry(itertools.takewhile)
def takewhile(m: Machine, function: Any, values: Any) -> Any:
    return Enter(prelude.takewhile_, (function, values))


@entry(itertools.dropwhile)
def dropwhile(m: Machine, function: Any, values: Any) -> Any:
    return Enter(prelude.dropwhile_, (function, values))


@entry(itertools.islice)
def islice(m: Machine, values: Any, *ends: Any) -> Any:
    start, stop, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
    return Enter(prelude.islice_, (values, start or 0, stop, step or 1))


@entry(itertools.repeat)
def repeat(m: Machine, value: Any, times: Any = None) -> Any:
    return Enter(prelude.repeat_, (value, times))


@entry(itertools.count)
def count(m: Machine, start: Any = 0, step: Any = 1) -> Any:
    return Enter(prelude.count_up_, (start, step))


@entry(itertools.cycle)
def cycle(m: Machine, values: Any) -> Any:
    return Enter(prelude.cycle_, (values,))


def _combined(function: Any) -> Any:
    """Functions that only arrange the elements of finite sequences."""

    def made(m: Machine, *many: Any, **options: Any) -> Any:
        parts = [
            m.all_items(v, "going through") if is_simple(m, v) and not is_number(v) else v
            for v in many
        ]
        rows = tuple(itertools.islice(function(*parts, **options), 100_000))
        if len(rows) == 100_000:
            raise Refused("more than 100000 combinations")
        return m.state.heap.new(SequenceIterator(rows))

    return made


for _function in (
    itertools.product,
    itertools.permutations,
    itertools.combinations,
    itertools.pairwise,
    itertools.combinations_with_replacement,
):
    entry(_function)(_combined(_function))
