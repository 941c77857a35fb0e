"""Instructions on values and their parts: names, operators, attributes, elements, containers."""

from __future__ import annotations

import builtins
import importlib
import operator
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Instruction
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import attributes, known, operators, prelude
from dpest.reading.machine.adopting import NotConcrete, adopt, to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import (
    find_in_class,
    is_instance_of,
    is_object,
    is_subclass,
    type_of,
)
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    Instance,
    KeysIterator,
    ListObject,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.orders import RankedItems
from dpest.reading.machine.signals import KeepsState, Refused, Thrown
from dpest.reading.machine.state import Frame
from dpest.reading.machine.values import Array, DictView, Known, Ref, is_plain


class Objects:
    """Names, operators, attributes and elements."""

    # Names

    def op_const(self: Any, frame: Frame, i: Instruction) -> None:
        frame.registers[i.dst] = i.extra  # type: ignore[index]
        frame.pc += 1

    def op_move(self: Any, frame: Frame, i: Instruction) -> None:
        frame.registers[i.dst] = self.get(frame, i.uses[0])  # type: ignore[index]
        frame.pc += 1

    def op_unset(self: Any, frame: Frame, i: Instruction) -> None:
        self.get(frame, i.uses[0])
        del frame.registers[i.uses[0]]
        frame.pc += 1

    def op_global(self: Any, frame: Frame, i: Instruction) -> None:
        name = i.extra
        if name in frame.names:
            value = frame.names[name]
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
        else:
            raise Thrown(NameError(f"name '{name}' is not defined"))
        self.put(frame, i, adopt(self.state, value, outside=True))

    def op_setglobal(self: Any, frame: Frame, i: Instruction) -> None:
        raise KeepsState(
            f"the function changes the global variable `{i.extra}`",
        )

    op_unsetglobal = op_setglobal

    def op_import(self: Any, frame: Frame, i: Instruction) -> None:
        module, name, level, whole = i.extra
        package = frame.names.get("__package__") if level else None
        try:
            found: Any = importlib.import_module("." * level + module, package)
            if name is not None:
                try:
                    found = getattr(found, name)
                except AttributeError:
                    found = importlib.import_module(f"{found.__name__}.{name}")
            elif not whole:
                found = importlib.import_module(module.split(".")[0])
        except ImportError as error:
            raise Thrown(error) from None
        self.put(frame, i, adopt(self.state, found, outside=True))

    # Operators

    def op_unary(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, operators.unary(self, i.extra, self.get(frame, i.uses[0])))

    def op_binary(self: Any, frame: Frame, i: Instruction) -> None:
        a, b = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.put(frame, i, operators.binary(self, i.extra, a, b))

    def op_inplace(self: Any, frame: Frame, i: Instruction) -> None:
        a, b = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.put(frame, i, operators.inplace(self, i.extra, a, b))

    def op_compare(self: Any, frame: Frame, i: Instruction) -> None:
        a, b = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.put(frame, i, operators.compare(self, i.extra, a, b))

    def scalar_operation(self: Any, op: str, a: Any, b: Any) -> Any:
        return operators.binary(self, op, a, b)

    def scalar_comparison(self: Any, op: str, a: Any, b: Any) -> Any:
        return operators.compare(self, op, a, b)

    # Attributes

    def op_attr(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, attributes.get(self, self.get(frame, i.uses[0]), i.extra))

    def op_setattr(self: Any, frame: Frame, i: Instruction) -> None:
        thing, value = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.put(frame, i, attributes.put(self, thing, i.extra, value))

    def op_unsetattr(self: Any, frame: Frame, i: Instruction) -> None:
        thing = self.get(frame, i.uses[0])
        if not is_object(self.state, thing):
            raise Refused("del of an attribute")
        written = self.state.heap.write(thing)
        if i.extra not in written.attributes:
            raise Thrown(AttributeError(i.extra))
        del written.attributes[i.extra]
        frame.pc += 1

    def op_special(self: Any, frame: Frame, i: Instruction) -> None:
        thing = self.get(frame, i.uses[0])
        self.put(frame, i, attributes.special(self, thing, i.extra))

    # Elements

    def op_item(self: Any, frame: Frame, i: Instruction) -> None:
        thing, index = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.put(frame, i, self.item(thing, index))

    def item(self: Any, thing: Any, index: Any) -> Any:
        if isinstance(thing, Array):
            return self.arrays.item(self, thing, index)
        if isinstance(thing, Known):
            return known.native(self, operator.getitem, (thing, index), {}, "an element of a table")
        lazy = self.lazy_item(thing, index)
        if lazy is not None:
            return lazy
        if isinstance(thing, Ref):
            found = self.state.heap.read(thing)
            if isinstance(found, DictObject):
                return self._dict_item(thing, found, index)
            if isinstance(found, Instance):
                method = find_in_class(self.state, found.cls, "__getitem__")
                if method is None:
                    text = f"'{self.type_name(thing)}' object is not subscriptable"
                    raise Thrown(TypeError(text))
                return Enter(method, (thing, index))
        items = self.sequence(thing)
        if items is None and isinstance(thing, (str, bytes, range)):
            items = thing
        if items is None:
            if is_plain(thing) or isinstance(thing, (Real, Truth)):
                text = f"'{self.type_name(thing)}' object is not subscriptable"
                raise Thrown(TypeError(text))
            raise Refused(f"an element of a {self.type_name(thing)}")
        if isinstance(index, Truth):
            index = self.holds(index)
        if isinstance(index, Real):
            return items[self.position(index, len(items))]
        where = self.plain_index(index)
        if isinstance(items, RankedItems) and isinstance(where, slice):
            return self.state.heap.new(items.owner.sliced(where))
        found = operators.native(operator.getitem, items, where)
        return (
            self.state.heap.new(ListObject(found))
            if isinstance(found, list) and isinstance(index, slice)
            else found
        )

    def plain_index(self: Any, index: Any) -> Any:
        try:
            return to_python(self.state, index)
        except NotConcrete:
            raise Refused(f"an index that is a {self.type_name(index)}") from None

    def noise_parameter(self: Any, value: Any) -> Any:
        """A parameter of a noise, as a family takes it."""
        try:
            return to_python(self.state, value)
        except NotConcrete:
            raise Refused("a parameter of noise that depends on noise or data") from None

    def _dict_item(self: Any, ref: Ref, thing: DictObject, index: Any) -> Any:
        key = self.key_among(thing.items, index)
        if key in thing.items:
            return thing.items[key]
        if thing.kind.__name__ == "Counter":
            return 0
        if thing.factory is not None:
            return Enter(prelude.missing_, (ref, key, thing.factory))
        raise Thrown(KeyError(key if is_plain(key) else "key"))

    def key_among(self: Any, keys: Any, value: Any) -> Any:
        """A key; a symbolic one is one of those that are there, or none of them."""
        if isinstance(value, Real):
            numbers = [k for k in keys if isinstance(k, (int, float, np.number))]
            k = self.one_of(value.form, numbers)
            if k is None:
                raise Thrown(KeyError("a number that is no key"))
            return numbers[k]
        return self.key(value)

    def op_setitem(self: Any, frame: Frame, i: Instruction) -> None:
        thing, index, value = (self.get(frame, u) for u in i.uses)
        self.put(frame, i, self.set_item(thing, index, value))

    def set_item(self: Any, thing: Any, index: Any, value: Any) -> Any:
        if isinstance(thing, Array):
            self.arrays.set_item(self, thing, index, value)
            return None
        if not isinstance(thing, Ref):
            if isinstance(thing, (tuple, str, bytes, range)):
                text = f"'{self.type_name(thing)}' object does not support item assignment"
                raise Thrown(TypeError(text))
            raise Refused(f"setting an element of a {self.type_name(thing)}", final=True)
        found = self.state.heap.read(thing)
        if isinstance(found, Instance):
            method = find_in_class(self.state, found.cls, "__setitem__")
            if method is None:
                raise Refused(f"setting an element of a {self.type_name(thing)}")
            return Enter(method, (thing, index, value))
        if isinstance(found, DictObject):
            if isinstance(index, Real):
                index = self.key_among_or_refuse(found.items, index)
            key = self.key(index)
            self.state.heap.write(thing).items[key] = value
            return None
        if not isinstance(found, (ListObject, DequeObject)):
            raise Refused(f"setting an element of a {self.type_name(thing)}")
        if isinstance(index, slice):
            return self._set_slice(thing, index, value)
        if isinstance(index, Truth):
            index = self.holds(index)
        if isinstance(index, Real):
            index = self.position(index, len(found.items))
        where = self.plain_index(index)
        operators.native(operator.getitem, found.items, where)
        self.state.heap.write(thing).items[where] = value
        return None

    def key_among_or_refuse(self: Any, keys: Any, value: Real) -> Any:
        numbers = [k for k in keys if isinstance(k, (int, float, np.number))]
        k = self.one_of(value.form, numbers)
        if k is None:
            raise Refused("a symbolic number as a new key")
        return numbers[k]

    def _set_slice(self: Any, thing: Ref, index: slice, value: Any) -> Any:
        items = self.sequence(value)
        if items is None and isinstance(value, Array):
            items = list(self.state_items(value))
        if items is None:
            raise Refused(f"a slice that is set to a {self.type_name(value)}")
        where, new = self.plain_index(index), list(items)
        trial = list(self.state.heap.read(thing).items)
        operators.native(operator.setitem, trial, where, new)
        self.state.heap.write(thing).items[:] = trial
        return None

    def state_items(self: Any, array: Array) -> list[Any]:
        return [self.arrays.item(self, array, k) for k in range(array.shape[0])]

    def op_unsetitem(self: Any, frame: Frame, i: Instruction) -> None:
        thing, index = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        found = self.state.heap.read(thing) if isinstance(thing, Ref) else None
        if isinstance(found, Instance):
            method = find_in_class(self.state, found.cls, "__delitem__")
            if method is None:
                raise Refused("del of an element of an object")
            self.put(frame, i, Enter(method, (thing, index)))
            return
        if isinstance(found, DictObject):
            key = self.key_among(found.items, index)
            if key not in found.items:
                raise Thrown(KeyError(key if is_plain(key) else "key"))
            del self.state.heap.write(thing).items[key]
        elif isinstance(found, (ListObject, DequeObject)):
            where = self.plain_index(index)
            trial = list(found.items)
            operators.native(operator.delitem, trial, where)
            self.state.heap.write(thing).items[:] = trial
        else:
            raise Refused(f"del of an element of a {self.type_name(thing)}")
        frame.pc += 1

    def finish_setitem(self: Any, frame: Frame, i: Instruction, value: Any) -> None:
        frame.pc += 1

    finish_unsetitem = finish_setitem
    finish_setattr = finish_setitem

    # Building

    def op_build(self: Any, frame: Frame, i: Instruction) -> None:
        kind, stars = i.extra
        parts: list[Any] = []
        for name, star in zip(i.uses, stars, strict=True):
            value = self.get(frame, name)
            if star:
                parts.extend(self.all_items(value, "* of"))
            else:
                parts.append(value)
        self.put(frame, i, self.built(kind, parts))

    def built(self: Any, kind: str, parts: list[Any]) -> Any:
        if kind == "tuple":
            return tuple(parts)
        if kind == "list":
            return self.state.heap.new(ListObject(parts))
        if kind == "set":
            return self.state.heap.new(SetObject({self.key(p): None for p in parts}))
        return slice(*parts)

    def all_items(self: Any, value: Any, what: str) -> list[Any]:
        """The elements of something that can be gone through without executing code."""
        items = self.sequence(value)
        if items is not None:
            return list(items)
        if isinstance(value, (str, bytes, range)):
            return list(value)
        if isinstance(value, Array) and value.shape:
            return self.state_items(value)
        if isinstance(value, DictView):
            return self.view_items(value)
        keys = self.keys_of(value)
        if keys is not None:
            thing = self.state.heap.read(value) if isinstance(value, Ref) else None
            is_set = isinstance(thing, SetObject) or isinstance(value, frozenset)
            return list(self.set_order(dict.fromkeys(keys)) if is_set else keys)
        thing = self.state.heap.read(value) if isinstance(value, Ref) else None
        if isinstance(thing, DequeObject):
            return list(thing.items)
        if isinstance(thing, (SequenceIterator, KeysIterator)):
            return self.drain(value)
        if is_plain(value) or isinstance(value, (Real, Truth)):
            raise Thrown(TypeError(f"'{self.type_name(value)}' object is not iterable"))
        raise Refused(f"{what} a {self.type_name(value)}")

    def view_items(self: Any, view: DictView) -> list[Any]:
        items = self.state.heap.read(view.owner).items
        return list(items if view.name == "keys" else getattr(items, view.name)())

    def drain(self: Any, it: Ref) -> list[Any]:
        """All that is left in an iterator that runs no code of the program."""
        from dpest.reading.machine.control import END

        found = []
        while (value := self.peek(it)) is not END:
            found.append(value)
            self.step(it, ended=False)
        self.step(it, ended=True)
        return found

    def op_dict(self: Any, frame: Frame, i: Instruction) -> None:
        made: dict[Any, Any] = {}
        for n, star in enumerate(i.extra):
            key, value = self.get(frame, i.uses[2 * n]), self.get(frame, i.uses[2 * n + 1])
            if star:
                thing = self.state.heap.read(value) if isinstance(value, Ref) else None
                if not isinstance(thing, DictObject):
                    raise Refused("** of something that is no dict")
                made.update(thing.items)
            else:
                made[self.key(key)] = value
        self.put(frame, i, self.state.heap.new(DictObject(made)))

    def op_append(self: Any, frame: Frame, i: Instruction) -> None:
        ref, value = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        self.append_to(ref, value)
        frame.pc += 1

    def append_to(self: Any, ref: Any, value: Any) -> None:
        self.state.heap.write(ref).append(value)

    def op_add(self: Any, frame: Frame, i: Instruction) -> None:
        ref, value = self.get(frame, i.uses[0]), self.key(self.get(frame, i.uses[1]))
        self.state.heap.write(ref).items.setdefault(value)
        frame.pc += 1

    def op_put(self: Any, frame: Frame, i: Instruction) -> None:
        ref, key, value = (self.get(frame, u) for u in i.uses)
        self.state.heap.write(ref).items[self.key(key)] = value
        frame.pc += 1

    def op_unpack(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[0])
        thing = self.state.heap.read(value) if isinstance(value, Ref) else None
        simple = not isinstance(value, Ref) or isinstance(
            thing, (ListObject, DictObject, SetObject, DequeObject, SequenceIterator, KeysIterator)
        )
        if not simple or self.is_lazy(value):
            self.enter(Enter(prelude.list_, (value,)))
            return
        self.finish_unpack(frame, i, self.all_items(value, "unpacking"))

    def finish_unpack(self: Any, frame: Frame, i: Instruction, value: Any) -> None:
        row = value if isinstance(value, list) else list(self.state.heap.read(value).items)
        size, star = i.extra
        least = size - (star is not None)
        if len(row) < least:
            text = f"not enough values to unpack (expected {least}, got {len(row)})"
            self.unwind(ValueError(text.replace("expected", "expected at least") if star else text))
            return
        if star is None and len(row) > size:
            self.unwind(ValueError(f"too many values to unpack (expected {size})"))
            return
        if star is not None:
            after = size - star - 1
            middle = self.state.heap.new(ListObject(row[star : len(row) - after]))
            row = [*row[:star], middle, *row[len(row) - after :]]
        frame.registers[i.dst] = tuple(row)  # type: ignore[index]
        frame.pc += 1

    def op_part(self: Any, frame: Frame, i: Instruction) -> None:
        frame.registers[i.dst] = self.get(frame, i.uses[0])[i.extra]  # type: ignore[index]
        frame.pc += 1

    # Text

    def op_text(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, "".join(self.get(frame, u) for u in i.uses))

    def op_format(self: Any, frame: Frame, i: Instruction) -> None:
        value, *spec = (self.get(frame, u) for u in i.uses)
        text = self.for_text(value)
        makers: dict[int, Any] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}
        convert = makers[i.extra]
        self.put(frame, i, operators.native(lambda: format(convert(text), *spec)))

    def for_text(self: Any, value: Any) -> Any:
        """A value whose text Python may make."""
        thing = self.state.heap.read(value) if isinstance(value, Ref) else None
        if isinstance(thing, Instance):
            known_class = isinstance(thing.cls, type) and thing.cls.__module__ == "builtins"
            if known_class and issubclass(thing.cls, Exception):
                return thing.cls(*(self.for_text(v) for v in thing.attributes["args"]))
            raise Refused("text of an object", final=True)
        if isinstance(value, Truth):
            return value.kind(self.holds(value))
        try:
            return to_python(self.state, value)
        except NotConcrete:
            raise Refused("text of a symbolic value", final=True) from None

    # Patterns

    def op_is_sequence(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[0])
        thing = self.state.heap.read(value) if isinstance(value, Ref) else value
        self.put(frame, i, isinstance(thing, (ListObject, DequeObject, tuple, range)))

    def op_is_mapping(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[0])
        self.put(
            frame, i, isinstance(value, Ref) and isinstance(self.state.heap.read(value), DictObject)
        )

    def op_length(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, len(self.all_items(self.get(frame, i.uses[0]), "the length of")))

    def op_match_keys(self: Any, frame: Frame, i: Instruction) -> None:
        ref, *keys = (self.get(frame, u) for u in i.uses)
        items = self.state.heap.read(ref).items
        inside = all(self.key(k) in items for k in keys)
        self.put(frame, i, tuple(items[self.key(k)] for k in keys) if inside else None)

    def op_match_rest(self: Any, frame: Frame, i: Instruction) -> None:
        ref, *keys = (self.get(frame, u) for u in i.uses)
        taken = {self.key(k) for k in keys}
        rest = {k: v for k, v in self.state.heap.read(ref).items.items() if k not in taken}
        self.put(frame, i, self.state.heap.new(DictObject(rest)))

    def op_match_class(self: Any, frame: Frame, i: Instruction) -> None:
        value, kind = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        if not is_instance_of(self.state, value, kind):
            self.put(frame, i, None)
            return
        names = list(i.extra.keywords)
        found: list[Any] = []
        if i.extra.positional:
            if kind in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple):
                found.append(value)
            else:
                names = [*getattr(kind, "__match_args__", ())[: i.extra.positional], *names]
        for name in names:
            part = attributes.get(self, value, name)
            if isinstance(part, Enter):
                raise Refused("a pattern that looks at a property")
            found.append(part)
        self.put(frame, i, tuple(found))

    # Shared looks at values

    def sequence(self: Any, value: Any) -> list[Any] | tuple[Any, ...] | None:
        """The elements of a list or tuple, to be read only; None for anything else."""
        if isinstance(value, tuple):
            return value
        if isinstance(value, Ref):
            thing = self.state.heap.read(value)
            if isinstance(thing, ListObject):
                return thing.items
        return None

    def keys_of(self: Any, value: Any) -> Any:
        if isinstance(value, Ref):
            thing = self.state.heap.read(value)
            if isinstance(thing, (DictObject, SetObject)):
                return thing.items.keys()
        return value if isinstance(value, frozenset) else None

    def key(self: Any, value: Any) -> Any:
        """A value as the key of a dict or an element of a set."""
        if is_plain(value):
            operators.native(hash, value)
            return value
        if isinstance(value, Truth):
            return value.kind(self.holds(value))
        if isinstance(value, tuple):
            return (
                type(value)(*map(self.key, value))
                if hasattr(value, "_fields")
                else tuple(map(self.key, value))
            )
        if isinstance(value, Real):
            raise Refused("a noisy or private number as a key of a dict or set")
        if isinstance(value, Array):
            raise Thrown(TypeError("unhashable type: 'numpy.ndarray'"))
        if isinstance(value, Ref):
            thing = self.state.heap.read(value)
            if isinstance(thing, (ListObject, DictObject, SetObject)):
                raise Thrown(TypeError(f"unhashable type: '{self.type_name(value)}'"))
            if isinstance(thing, Instance):
                for name in ("__eq__", "__hash__"):
                    if find_in_class(self.state, thing.cls, name) is not None:
                        raise Refused("a key with an `__eq__` of its own")
        return value

    def type_name(self: Any, value: Any) -> str:
        if isinstance(value, Real):
            return value.kinds[0].__name__
        try:
            found = type_of(self.state, value)
        except Refused:
            return type(value).__name__
        return str(self.state.heap.read(found).name if isinstance(found, Ref) else found.__name__)

    def is_subclass(self: Any, cls: Any, kind: Any) -> bool:
        return is_subclass(self.state, cls, kind)

    def extend_list(self: Any, ref: Ref, values: Any) -> bool:
        """list.extend where no code has to be executed; whether it was done."""
        simple = self.sequence(values) is not None or isinstance(values, (str, bytes, range, Array))
        if not simple and self.keys_of(values) is None:
            return False
        new = self.all_items(values, "extending by")
        self.state.heap.write(ref).extend(new)
        return True
