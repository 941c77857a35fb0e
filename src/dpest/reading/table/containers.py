"""Lists, dicts, sets, tuples, text: what they are made of, and their methods."""

from __future__ import annotations

import builtins
import collections
from typing import TYPE_CHECKING, Any

from dpest.reading.domains.numbers import Real
from dpest.reading.machine import known, operators, prelude
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import find_in_class, is_object, type_of
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    KeysIterator,
    ListObject,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, DictView, Known, Ref, is_plain
from dpest.reading.table.registry import entry
from dpest.running.skeleton import Generated

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine


def is_simple(m: Machine, value: Any) -> bool:
    """Whether its elements can be had without executing code of the program."""
    if isinstance(value, Ref):
        thing = m.state.heap.read(value)
        simple = (ListObject, DictObject, SetObject, DequeObject, SequenceIterator, KeysIterator)
        return isinstance(thing, simple)
    plain = (tuple, str, bytes, range, frozenset, Array, DictView)
    return isinstance(value, plain) and not m.is_lazy(value)


# Making containers


@entry(builtins.list)
def list_(m: Machine, *values: Any) -> Any:
    if not values:
        return m.state.heap.new(ListObject([]))
    if not is_simple(m, values[0]):
        return Enter(prelude.list_, values)
    return m.state.heap.new(ListObject(m.all_items(values[0], "list of")))


@entry(prelude.generated_)
def generated(m: Machine, values: Ref) -> Any:
    return m.state.heap.new(ListObject(list(_items(m, values)), Generated))


@entry(builtins.tuple)
def tuple_(m: Machine, *values: Any) -> Any:
    if not values:
        return ()
    if not is_simple(m, values[0]):
        return Enter(prelude.tuple_, values)
    return tuple(m.all_items(values[0], "tuple of"))


@entry(builtins.set)
def set_(m: Machine, *values: Any) -> Any:
    if not values:
        return m.state.heap.new(SetObject({}))
    if not is_simple(m, values[0]):
        return Enter(prelude.set_, values)
    items = _elements_of_set(m, values[0])
    return m.state.heap.new(SetObject({m.key(v): None for v in items}))


@entry(builtins.frozenset)
def frozenset_(m: Machine, *values: Any) -> Any:
    if not values:
        return frozenset()
    if not is_simple(m, values[0]):
        raise Refused("frozenset of an iterator")
    return frozenset(m.key(v) for v in _elements_of_set(m, values[0]))


def _elements_of_set(m: Machine, value: Any) -> list[Any]:
    keys = m.keys_of(value)
    return list(keys) if keys is not None else m.all_items(value, "set of")


@entry(builtins.dict)
def dict_(m: Machine, *values: Any, **named: Any) -> Any:
    if not values:
        return m.state.heap.new(DictObject(dict(named)))
    thing = m.state.heap.read(values[0]) if isinstance(values[0], Ref) else None
    if isinstance(thing, DictObject):
        return m.state.heap.new(DictObject({**thing.items, **named}))
    if named:
        raise Refused("dict of pairs and keywords")
    return Enter(prelude.dict_, values)


@entry(collections.OrderedDict)
def ordered_dict(m: Machine, *values: Any) -> Any:
    if values:
        raise Refused("an OrderedDict of something")
    return m.state.heap.new(DictObject({}, collections.OrderedDict))


@entry(collections.defaultdict)
def defaultdict_(m: Machine, factory: Any = None, *values: Any) -> Any:
    if values:
        raise Refused("a defaultdict of something")
    return m.state.heap.new(DictObject({}, collections.defaultdict, factory))


@entry(collections.Counter)
def counter(m: Machine, *values: Any) -> Any:
    made = m.state.heap.new(DictObject({}, collections.Counter))
    if not values:
        return made
    if m.keys_of(values[0]) is not None:
        raise Refused("a Counter of a mapping")
    return Enter(prelude.counted_, (made, values[0]))


@entry(collections.deque)
def deque(m: Machine, *values: Any, maxlen: Any = None) -> Any:
    items = m.all_items(values[0], "deque of") if values else []
    if maxlen is not None:
        items = items[-maxlen:] if maxlen else []
    return m.state.heap.new(DequeObject(items, maxlen))


@entry(builtins.slice)
def slice_(m: Machine, *parts: Any) -> Any:
    return slice(*parts)


@entry(builtins.len)
def len_(m: Machine, value: Any) -> Any:
    lazy = m.lazy_length(value)
    if lazy is not None:
        return lazy
    if isinstance(value, (tuple, str, bytes, range, frozenset)):
        return len(value)
    if isinstance(value, Known):
        return known.native(m, len, (value,), {}, "the length of a table")
    if isinstance(value, DictView):
        return len(m.state.heap.read(value.owner).items)
    if isinstance(value, Array):
        if not value.shape:
            raise Thrown(TypeError("len() of unsized object"))
        return value.shape[0]
    if isinstance(value, Ref):
        thing = m.state.heap.read(value)
        if isinstance(thing, (ListObject, DictObject, SetObject, DequeObject)):
            return len(thing.items)
        if is_object(m.state, value):
            method = find_in_class(m.state, type_of(m.state, value), "__len__")
            if method is not None:
                return Enter(method, (value,))
    raise Thrown(TypeError(f"object of type '{m.type_name(value)}' has no len()"))


# Lists


def _items(m: Machine, ref: Any) -> list[Any]:
    found: list[Any] = m.state.heap.read(ref).items
    return found


@entry(list.append, collections.deque.append)
def append(m: Machine, ref: Ref, value: Any) -> Any:
    thing = m.state.heap.write(ref)
    thing.append(value)
    if isinstance(thing, DequeObject) and thing.maximum is not None:
        del thing.items[: max(0, len(thing.items) - thing.maximum)]
    return None


@entry(collections.deque.appendleft)
def appendleft(m: Machine, ref: Ref, value: Any) -> Any:
    thing = m.state.heap.write(ref)
    thing.items.insert(0, value)
    if thing.maximum is not None:
        del thing.items[thing.maximum :]
    return None


@entry(collections.deque.popleft)
def popleft(m: Machine, ref: Ref) -> Any:
    if not _items(m, ref):
        raise Thrown(IndexError("pop from an empty deque"))
    return m.state.heap.write(ref).items.pop(0)


@entry(list.extend)
def extend(m: Machine, ref: Ref, values: Any) -> Any:
    if m.extend_list(ref, values):
        return None
    return Enter(_extended, (ref, values))


def _extended(made, values):  # type: ignore[no-untyped-def]
    for v in values:
        made.append(v)


@entry(list.insert)
def insert(m: Machine, ref: Ref, index: Any, value: Any) -> Any:
    where = m.plain_index(index)
    m.state.heap.write(ref).items.insert(where, value)
    return None


@entry(list.pop, collections.deque.pop)
def pop(m: Machine, ref: Ref, index: Any = -1) -> Any:
    if isinstance(index, Real):
        index = m.position(index, len(_items(m, ref)))
    where = m.plain_index(index)
    trial = list(_items(m, ref))
    value = operators.native(list.pop, trial, where)
    m.state.heap.write(ref).items[:] = trial
    return value


@entry(list.clear, collections.deque.clear, dict.clear, set.clear)
def clear(m: Machine, ref: Ref) -> Any:
    m.state.heap.write(ref).items.clear()
    return None


@entry(list.reverse)
def reverse(m: Machine, ref: Ref) -> Any:
    m.state.heap.write(ref).items.reverse()
    return None


@entry(list.copy, dict.copy, set.copy, collections.Counter.copy, collections.OrderedDict.copy)
def copy(m: Machine, ref: Ref) -> Any:
    made = m.state.heap.read(ref).copied()
    made.outside = False
    return m.state.heap.new(made)


@entry(list.__getitem__, tuple.__getitem__, dict.__getitem__)
def getitem(m: Machine, thing: Any, index: Any) -> Any:
    return m.item(thing, index)


@entry(list.index, tuple.index)
def index(m: Machine, ref: Any, value: Any, *ends: Any) -> Any:
    if ends:
        raise Refused("index(…) with a start")
    for n, part in enumerate(m.sequence(ref) or ()):
        if part is value and not isinstance(part, Real):
            return n
        if m.holds(operators.equal(m, part, value)):
            return n
    raise Thrown(ValueError("value is not in list"))


@entry(list.count, tuple.count)
def count(m: Machine, ref: Any, value: Any) -> Any:
    found = 0
    for part in m.sequence(ref) or ():
        same = part is value and not isinstance(part, Real)
        if same or m.holds(operators.equal(m, part, value)):
            found += 1
    return found


@entry(list.remove)
def remove(m: Machine, ref: Ref, value: Any) -> Any:
    where = index(m, ref, value)
    del m.state.heap.write(ref).items[where]
    return None


@entry(list.sort)
def sort(m: Machine, ref: Ref, *, key: Any = None, reverse: Any = False) -> Any:
    items = _items(m, ref)
    if key is None and all(is_plain(v) for v in items):
        trial = list(items)
        operators.native(lambda: trial.sort(reverse=reverse))
        m.state.heap.write(ref).items[:] = trial
        return None
    return Enter(prelude.sort_in_place_, (ref, key, reverse))


# Dicts


@entry(dict.get)
def get(m: Machine, ref: Ref, key: Any, default: Any = None) -> Any:
    items = m.state.heap.read(ref).items
    try:
        return items.get(m.key_among(items, key), default)
    except Thrown:
        if isinstance(key, Real):
            return default
        raise


@entry(dict.setdefault)
def setdefault(m: Machine, ref: Ref, key: Any, default: Any = None) -> Any:
    k = m.key(key)
    items = m.state.heap.read(ref).items
    if k in items:
        return items[k]
    m.state.heap.write(ref).items[k] = default
    return default


@entry(dict.pop)
def dict_pop(m: Machine, ref: Ref, key: Any, *default: Any) -> Any:
    k = m.key(key)
    if k not in m.state.heap.read(ref).items:
        if default:
            return default[0]
        raise Thrown(KeyError(k))
    return m.state.heap.write(ref).items.pop(k)


@entry(dict.popitem)
def popitem(m: Machine, ref: Ref) -> Any:
    if not m.state.heap.read(ref).items:
        raise Thrown(KeyError("popitem(): dictionary is empty"))
    return m.state.heap.write(ref).items.popitem()


@entry(dict.update)
def update(m: Machine, ref: Ref, *values: Any, **named: Any) -> Any:
    new: dict[Any, Any] = {}
    if values:
        thing = m.state.heap.read(values[0]) if isinstance(values[0], Ref) else None
        if not isinstance(thing, DictObject):
            raise Refused("dict.update by something that is no dict")
        new.update(thing.items)
    m.state.heap.write(ref).items.update({**new, **named})
    return None


@entry(dict.fromkeys)
def fromkeys(m: Machine, keys: Any, value: Any = None) -> Any:
    items = {m.key(k): value for k in m.all_items(keys, "dict.fromkeys of")}
    return m.state.heap.new(DictObject(items))


def _view(name: str) -> Any:
    return lambda m, ref: DictView(ref, name)


for _name in ("keys", "values", "items"):
    entry(getattr(dict, _name), getattr(collections.OrderedDict, _name))(_view(_name))


@entry(collections.Counter.most_common)
def most_common(m: Machine, ref: Ref, *n: Any) -> Any:
    try:
        counts = to_python(m.state, ref)
    except NotConcrete:
        raise Refused("most_common() of noisy or private counts") from None
    return m.adopted(counts.most_common(*n))


# Sets


@entry(set.add)
def add(m: Machine, ref: Ref, value: Any) -> Any:
    k = m.key(value)
    m.state.heap.write(ref).items.setdefault(k)
    return None


@entry(set.discard)
def discard(m: Machine, ref: Ref, value: Any) -> Any:
    k = m.key(value)
    m.state.heap.write(ref).items.pop(k, None)
    return None


@entry(set.remove)
def set_remove(m: Machine, ref: Ref, value: Any) -> Any:
    k = m.key(value)
    if k not in m.state.heap.read(ref).items:
        raise Thrown(KeyError(k))
    del m.state.heap.write(ref).items[k]
    return None


def _set_operation(op: str) -> Any:
    def made(m: Machine, ref: Any, *others: Any) -> Any:
        result = dict.fromkeys(m.keys_of(ref))
        for other in others:
            keys = {m.key(v): None for v in _elements_of_set(m, other)}
            if op == "|":
                result.update(keys)
            elif op == "&":
                result = {k: None for k in result if k in keys}
            else:
                result = {k: None for k in result if k not in keys}
        if isinstance(ref, frozenset):
            return frozenset(result)
        return m.state.heap.new(SetObject(result))

    return made


for _method, _op in {"union": "|", "intersection": "&", "difference": "-"}.items():
    entry(getattr(set, _method), getattr(frozenset, _method))(_set_operation(_op))


@entry(set.update)
def set_update(m: Machine, ref: Ref, *others: Any) -> Any:
    new = {m.key(v): None for other in others for v in _elements_of_set(m, other)}
    m.state.heap.write(ref).items.update(new)
    return None


@entry(set.issubset, frozenset.issubset)
def issubset(m: Machine, ref: Any, other: Any) -> Any:
    keys = {m.key(v) for v in _elements_of_set(m, other)}
    return all(k in keys for k in m.keys_of(ref))


@entry(set.issuperset, frozenset.issuperset)
def issuperset(m: Machine, ref: Any, other: Any) -> Any:
    return all(m.key(v) in m.keys_of(ref) for v in _elements_of_set(m, other))


# Text


@entry(str.join)
def join(m: Machine, separator: Any, values: Any) -> Any:
    if is_simple(m, values):
        parts = m.all_items(values, "joining")
        if all(isinstance(p, str) for p in parts):
            return separator.join(parts)
        raise Thrown(TypeError("sequence item: expected str instance"))
    return Enter(prelude.joined_text_, (separator, values))


@entry(str.format)
def format_(m: Machine, *_: Any, **__: Any) -> Any:
    raise Refused("text of a symbolic value", final=True)
