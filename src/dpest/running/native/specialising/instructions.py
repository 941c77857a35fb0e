"""What each instruction of lowered code does, on plain values and on values of the run.

An instruction asks everything (`decide`) before it changes anything: where the answer isn't known
it is executed again, once for each answer.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import types
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Build, CallShape, Function, Import, Instruction, Unpack
from dpest.reading.code.operators import COMPARISONS, OPERATORS
from dpest.running.native.signals import NotCompiled, RunThrown, error_of
from dpest.running.native.specialising.arrays import dtype_of, is_array, objects
from dpest.running.native.specialising.calls import ENTERED, RunCalls
from dpest.running.native.specialising.state import (
    DICTS,
    BoundName,
    FrameReturn,
    Iterator,
    Rng,
    RunCell,
    RunClosure,
    RunFrame,
    RunGenerator,
    is_instance,
)
from dpest.running.native.specialising.walking import StateTraversal, memory_of
from dpest.running.native.values import RunNumber, RunValue, kind_of

_UNARY = {"-": lambda v: -v, "+": lambda v: +v, "~": lambda v: ~v}
_CONVERSIONS: dict[int, Any] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}
_ARRAY_ATTRIBUTES = ("shape", "size", "ndim", "T")


class Instructions(RunCalls):
    """The methods `do_X` execute an instruction X; they return where to go on, if not behind it."""

    walk: StateTraversal

    def get(self, frame: RunFrame, name: str) -> Any:
        try:
            return frame.registers[name]
        except KeyError:
            text = f"cannot access local variable '{name}' where it is not associated with a value"
            raise RunThrown(UnboundLocalError(text)) from None

    def values(self, frame: RunFrame, i: Instruction) -> list[Any]:
        return [self.get(frame, name) for name in i.uses]

    def deliver(self, value: Any) -> None:
        """The result of a call or of a generator, to the instruction that waits for it."""
        frame = self.state.frames[-1]
        i = frame.code.instructions[frame.pc]
        if i.dst is not None:
            frame.registers[i.dst] = value
        frame.pc += 1

    def put(self, frame: RunFrame, i: Instruction, value: Any) -> int | None:
        """The result of an instruction, unless a frame was entered for it."""
        if value is ENTERED:
            return self.STAY
        assert i.dst is not None
        frame.registers[i.dst] = value
        return None

    STAY = -1  # the machine has moved on by itself

    # Names

    def do_const(self, frame: RunFrame, i: Instruction) -> int | None:
        return self.put(frame, i, i.extra)

    def do_move(self, frame: RunFrame, i: Instruction) -> int | None:
        return self.put(frame, i, self.get(frame, i.uses[0]))

    def do_unset(self, frame: RunFrame, i: Instruction) -> None:
        self.get(frame, i.uses[0])
        del frame.registers[i.uses[0]]

    def do_global(self, frame: RunFrame, i: Instruction) -> int | None:
        if i.extra in frame.names:
            self.lookups.append((frame.names, i.extra, frame.names[i.extra]))
            return self.put(frame, i, self.adopted(frame.names[i.extra]))
        if not hasattr(builtins, i.extra):
            raise RunThrown(NameError(f"name '{i.extra}' is not defined"))
        return self.put(frame, i, getattr(builtins, i.extra))

    def do_cell(self, frame: RunFrame, i: Instruction) -> int | None:
        cell = frame.registers[i.uses[0]]
        if cell.empty:
            raise NotCompiled("a variable of an outer function that is not there yet")
        return self.put(frame, i, cell.value)

    def do_setcell(self, frame: RunFrame, i: Instruction) -> None:
        value, cell = self.get(frame, i.uses[1]), frame.registers[i.uses[0]]
        if cell in self.outside:
            raise NotCompiled("a variable of an outer function is changed")
        cell.value, cell.empty = value, False

    def do_newcell(self, frame: RunFrame, i: Instruction) -> int | None:
        return self.put(frame, i, RunCell())

    def do_import(self, frame: RunFrame, i: Instruction) -> int | None:
        asked: Import = i.extra
        if asked.level:
            raise NotCompiled("a relative import")
        module = self.plain(lambda: importlib.import_module(asked.module))
        if asked.name is not None:
            name = asked.name
            return self.put(frame, i, self.plain(lambda: getattr(module, name)))
        whole = module if asked.whole else importlib.import_module(asked.module.split(".")[0])
        return self.put(frame, i, whole)

    # Operators

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if not self.holds_run(a) and not self.holds_run(b):
            if any(is_instance(v) for v in (a, b)):
                raise NotCompiled(f"`{op}` of objects")
            table = COMPARISONS if op in COMPARISONS else OPERATORS
            return self.plain(lambda: table[op](a, b))
        if op == "@":
            return self.dot(a, b)
        if is_array(a) or is_array(b):
            return self.binary_arrays(op, *(objects(v) if not isinstance(v, RunValue) else v
                                            for v in (a, b)))  # fmt: skip
        rows = [v for v in (a, b) if isinstance(v, (list, tuple, dict, set, str))]
        if rows:
            return self._of_sequences(op, a, b)
        for value in (self.resolved(a), self.resolved(b)):
            if not isinstance(value, RunValue) and kind_of(value) == "c" and op not in COMPARISONS:
                raise NotCompiled(f"`{op}` of a {type(value).__name__}")
        return self.compare(op, a, b) if op in COMPARISONS else self.arithmetic(op, a, b)

    def _of_sequences(self, op: str, a: Any, b: Any) -> Any:
        if op == "+" and type(a) is type(b) and type(a) in (list, tuple):
            return a + b
        if op == "*":
            times, row = (a, b) if isinstance(b, (list, tuple)) else (b, a)
            if isinstance(row, (list, tuple)) and isinstance(times, (int, np.integer)):
                return row * int(times)
        if op in ("==", "!=") and isinstance(a, (list, tuple)) and type(a) is type(b):
            if len(a) != len(b):
                return op == "!="
            equal: Any = True
            for x, y in zip(a, b, strict=True):
                equal = self.both(equal, self.boolean(self.binary("==", x, y)))
            return equal if op == "==" else self.negation(equal)
        if isinstance(a, str) or isinstance(b, str):
            x, y = self.resolved(a), self.resolved(b)
            if not isinstance(x, RunValue) and not isinstance(y, RunValue):
                return self.binary(op, x, y)
            if op in ("==", "!="):
                return op == "!="
        raise NotCompiled(f"`{op}` of a {type(a).__name__} and a {type(b).__name__}")

    def do_unary(self, frame: RunFrame, i: Instruction) -> int | None:
        value = self.get(frame, i.uses[0])
        if i.extra == "not":
            return self.put(frame, i, self.negation(self._truth_value(value)))
        if not self.holds_run(value):
            if is_instance(value):
                raise NotCompiled("an operator of an object")
            return self.put(frame, i, self.plain(lambda: _UNARY[i.extra](value)))
        f = {"-": self.negative, "+": lambda v: v, "~": self.inverted}[i.extra]
        return self.put(frame, i, self.each(f, value) if is_array(value) else f(value))

    def do_binary(self, frame: RunFrame, i: Instruction) -> int | None:
        a, b = self.values(frame, i)
        return self.put(frame, i, self.binary(i.extra, a, b))

    def do_inplace(self, frame: RunFrame, i: Instruction) -> int | None:
        a, b = self.values(frame, i)
        if isinstance(a, list):
            self.changeable(a)
            if i.extra != "+":
                raise NotCompiled(f"`{i.extra}=` of a list")
            if isinstance(b, RunGenerator) and b.items is None:
                self.gone_through(b)
                return self.STAY
            a.extend(b.items or () if isinstance(b, RunGenerator) else self.rows(b))
            return self.put(frame, i, a)
        if isinstance(a, (set, *DICTS)):
            raise NotCompiled(f"`{i.extra}=` of a {type(a).__name__}")
        if not is_array(a):
            return self.put(frame, i, self.binary(i.extra, a, b))
        self.changeable(a)
        new = self.binary(i.extra, a, b)
        if not self.holds_run(new):
            kind = np.asarray(new).dtype.kind
            if a.dtype == object or np.shape(new) != a.shape or kind != a.dtype.kind:
                raise NotCompiled("an array is changed in place to another type or shape")
            a[...] = new
            return self.put(frame, i, a)
        if np.shape(new) != a.shape:
            raise NotCompiled("an array is changed in place to another shape")
        if a.dtype == object:
            a[...] = new
            return self.put(frame, i, a)
        self._replace(a, new)
        return self.put(self.state.frames[-1], i, new)

    def _replace(self, old: np.ndarray, new: np.ndarray) -> None:
        """An array of plain numbers becomes one of the run, wherever it is held."""
        if memory_of(old) is not old:
            raise NotCompiled("a view of an array is changed")
        self.state.frames[:] = self.walk.rebuild(self.state.frames, None, (old, new))

    def do_compare(self, frame: RunFrame, i: Instruction) -> int | None:
        a, b = self.values(frame, i)
        if i.extra in ("in", "not in"):
            found = self._contains(b, a)
            return self.put(frame, i, found if i.extra == "in" else self.negation(found))
        if i.extra in ("is", "is not"):
            a, b = self.resolved(a), self.resolved(b)
            of_run = isinstance(a, RunValue) or isinstance(b, RunValue)
            if of_run and a is not None and b is not None:
                raise NotCompiled("`is` of a number")
            return self.put(frame, i, (a is b) == (i.extra == "is"))
        return self.put(frame, i, self.binary(i.extra, a, b))

    def _contains(self, container: Any, value: Any) -> Any:
        if not self.holds_run(container) and not self.holds_run(value):
            if is_instance(container) or is_instance(value):
                raise NotCompiled("`in` of an object")
            return self.plain(lambda: value in container)
        if isinstance(container, (set, frozenset, *DICTS)) and not isinstance(value, RunValue):
            return self.plain(lambda: value in container)
        if isinstance(container, range):
            container = list(container)
        if not isinstance(container, (list, tuple, set, frozenset, np.ndarray, *DICTS)):
            raise NotCompiled(f"`in` of a {type(container).__name__}")
        found: Any = False
        for part in container:
            found = self.either(found, self.boolean(self.binary("==", part, value)))
            if found is True:
                break
        return found

    # Control

    def _truth_value(self, value: Any) -> Any:
        value = self.resolved(value)
        if isinstance(value, (RunValue, Rng, RunClosure, RunGenerator, Iterator, BoundName)):
            return value if isinstance(value, RunValue) else True
        if is_array(value) and value.dtype == object:
            if value.size != 1:
                size = value.size
                raise RunThrown(error_of(lambda: bool(np.zeros(size if size > 1 else 2))))
            return self.resolved(value.flat[0])
        if is_instance(value):
            if any(hasattr(type(value), name) for name in ("__bool__", "__len__")):
                raise NotCompiled("the truth of an object")
            return True
        return self.plain(lambda: bool(value))

    def do_branch(self, frame: RunFrame, i: Instruction) -> int:
        value = self._truth_value(self.get(frame, i.uses[0]))
        if isinstance(value, RunNumber):
            return i.jumps[0] if self.decide(self.truth(value)) else i.jumps[1]
        return i.jumps[0] if value else i.jumps[1]

    def do_jump(self, frame: RunFrame, i: Instruction) -> int:
        return i.jumps[0]

    def do_iter(self, frame: RunFrame, i: Instruction) -> int | None:
        value = self.get(frame, i.uses[0])
        if isinstance(value, (Iterator, RunGenerator)):
            if isinstance(value, RunGenerator) and value.items is not None:
                value = Iterator(value.items)
            return self.put(frame, i, value)
        if isinstance(value, RunValue):
            raise NotCompiled("going through a number")
        if isinstance(value, (list, tuple, str, range)):
            return self.put(frame, i, Iterator(value))
        if is_array(value):
            if value.ndim == 0:
                raise NotCompiled("going through an array without axes")
            return self.put(frame, i, Iterator(value))
        if isinstance(value, (set, frozenset, *DICTS)):
            return self.put(frame, i, Iterator(list(value)))
        if type(value).__module__ in ("builtins", "itertools") and not is_instance(value):
            return self.put(frame, i, Iterator(self.plain(lambda: list(value))))
        raise NotCompiled(f"going through a {type(value).__name__}")

    def do_next(self, frame: RunFrame, i: Instruction) -> int | None:
        iterator = self.get(frame, i.uses[0])
        if isinstance(iterator, RunGenerator):
            if iterator.items:
                raise NotCompiled("a generator that was gone through in part")
            if iterator.frame is None:
                return self._exhausted(frame, i, None)
            inner, iterator.frame = iterator.frame, None
            inner.back = FrameReturn("generator", iterator)
            self.state.frames.append(inner)
            return self.STAY
        if iterator.index >= len(iterator.items):
            return self._exhausted(frame, i, None)
        value = iterator.items[iterator.index]
        iterator.index += 1
        return self.put(frame, i, value)

    def _exhausted(self, frame: RunFrame, i: Instruction, value: Any) -> int:
        if i.extra is not None:
            frame.registers[i.extra] = value
        return i.jumps[0]

    def do_yield(self, frame: RunFrame, i: Instruction) -> int:
        value = self.get(frame, i.uses[0])
        generator = frame.back.target
        if frame.back.kind != "generator":
            raise NotCompiled("a generator outside of a loop")
        if i.dst is not None:
            frame.registers[i.dst] = None
        self.state.frames.pop()
        frame.back = FrameReturn()
        frame.pc += 1
        generator.frame = frame
        self.deliver(value)
        self.state.cut = True
        return self.STAY

    def do_return(self, frame: RunFrame, i: Instruction) -> int:
        value = self.get(frame, i.uses[0])
        kind, target = frame.back
        self.state.frames.pop()
        if kind == "generator":
            caller = self.state.frames[-1]
            waiting = caller.code.instructions[caller.pc]
            if waiting.op != "next":
                raise NotCompiled("the end of a generator outside of a loop")
            caller.pc = self._exhausted(caller, waiting, value)
        elif kind == "items":
            target.items, target.frame = value, None
        else:
            self.deliver(target if kind == "made" else value)
            self.state.cut = len(self.state.frames) > 1
        return self.STAY

    # Exceptions

    def do_raise(self, frame: RunFrame, i: Instruction) -> None:
        error = self.get(frame, i.uses[0])
        if isinstance(error, type) and issubclass(error, BaseException):
            error = self.plain(error)
        if not isinstance(error, BaseException):
            raise NotCompiled("something is raised that is no exception of Python's")
        raise RunThrown(error)

    def do_reraise(self, frame: RunFrame, i: Instruction) -> None:
        raise RunThrown(self.get(frame, i.uses[0]))

    def do_catch(self, frame: RunFrame, i: Instruction) -> int | None:
        error, frame.error = frame.error, None
        return self.put(frame, i, error)

    def do_caught(self, frame: RunFrame, i: Instruction) -> int | None:
        error, kinds = self.values(frame, i)
        return self.put(frame, i, self.plain(lambda: isinstance(error, kinds)))

    # Calls and functions

    def do_call(self, frame: RunFrame, i: Instruction) -> int | None:
        f, *values = self.values(frame, i)
        shape: CallShape = i.extra
        args: list[Any] = []
        for value, star in zip(values, shape.stars, strict=False):
            args.extend(self.rows(value)) if star else args.append(value)
        words: dict[str, Any] = {}
        for name, value in zip(shape.keywords, values[len(shape.stars) :], strict=True):
            words.update(value if name is None else {name: value})
        return self.put(frame, i, self.call(f, tuple(args), words))

    def do_closure(self, frame: RunFrame, i: Instruction) -> int | None:
        made: Function = i.extra
        code = made.code
        cells = {name: frame.registers[name] for name in code.free}
        values = [self.get(frame, name) for name in i.uses[len(code.free) :]]
        defaults = dict(zip(code.parameters.defaulted, values, strict=True))
        return self.put(frame, i, RunClosure(code, frame.names, cells, defaults))

    # Containers

    def do_build(self, frame: RunFrame, i: Instruction) -> int | None:
        build: Build = i.extra
        parts: list[Any] = []
        for value, star in zip(self.values(frame, i), build.stars, strict=True):
            parts.extend(self.rows(value)) if star else parts.append(value)
        if build.kind == "slice":
            return self.put(frame, i, slice(*parts))
        if build.kind == "set":
            return self.put(frame, i, {self.plain_index(v) for v in parts})
        return self.put(frame, i, tuple(parts) if build.kind == "tuple" else parts)

    def do_dict(self, frame: RunFrame, i: Instruction) -> int | None:
        parts = self.values(frame, i)
        made: dict[Any, Any] = {}
        for key, value, whole in zip(parts[::2], parts[1::2], i.extra, strict=True):
            made.update(value if whole else {self.plain_index(key): value})
        return self.put(frame, i, made)

    def do_append(self, frame: RunFrame, i: Instruction) -> None:
        made, value = self.values(frame, i)
        made.append(value)

    def do_add(self, frame: RunFrame, i: Instruction) -> None:
        made, value = self.values(frame, i)
        made.add(self.plain_index(value))

    def do_put(self, frame: RunFrame, i: Instruction) -> None:
        made, key, value = self.values(frame, i)
        made[self.plain_index(key)] = value

    def do_unpack(self, frame: RunFrame, i: Instruction) -> int | None:
        value, shape = self.get(frame, i.uses[0]), i.extra
        assert isinstance(shape, Unpack)
        if isinstance(value, RunGenerator) and value.items is None:
            self.gone_through(value)
            return self.STAY
        if isinstance(value, RunGenerator):
            value = value.items
        if isinstance(value, Iterator):
            value = list(value.items)[value.index :]
        row = self.rows(value)
        if shape.star is None:
            if len(row) != shape.size:
                raise NotCompiled("another number of values to unpack")
            return self.put(frame, i, row)
        after = shape.size - shape.star - 1
        if len(row) < shape.size - 1:
            raise NotCompiled("too few values to unpack")
        middle = row[shape.star : len(row) - after]
        return self.put(frame, i, [*row[: shape.star], middle, *row[len(row) - after :]])

    def do_part(self, frame: RunFrame, i: Instruction) -> int | None:
        return self.put(frame, i, self.get(frame, i.uses[0])[i.extra])

    def do_item(self, frame: RunFrame, i: Instruction) -> int | None:
        thing, index = self.values(frame, i)
        return self.put(frame, i, self.item(thing, index))

    def item(self, thing: Any, index: Any) -> Any:
        if isinstance(thing, (RunValue, RunGenerator, Iterator)) or is_instance(thing):
            raise NotCompiled(f"an element of a {type(thing).__name__}")
        if not self.holds_run(index):
            return self._picked(thing, index)
        index = self.resolved(index)
        if not isinstance(index, (RunValue, np.ndarray, tuple, list)):
            return self.item(thing, index)
        return self._item_of_run(thing, index)

    def _item_of_run(self, thing: Any, index: Any) -> Any:
        """An element at a place that the run computes."""
        if isinstance(thing, DICTS):
            key = self.plain_index(index)
            return self.plain(lambda: thing[key])
        if isinstance(index, RunNumber) and isinstance(thing, (list, tuple, np.ndarray, range)):
            if isinstance(thing, np.ndarray) and (thing.ndim != 1 or index.kind == "b"):
                return self._picked(thing, self.plain_index(index))
            return self.element(thing, index)
        if is_array(index) and is_array(thing) and thing.ndim == 1:
            if all(kind_of(v) == "i" for v in index.flat):
                return self.each(
                    lambda p: self.element(thing, p) if isinstance(p, RunNumber) else thing[p],
                    index,
                )
            chosen = [self.plain_index(v) for v in index.flat]
            return self.settled(objects(thing)[np.array(chosen, dtype=bool)])
        plain = self.plain_index(index)
        return self._picked(thing, plain)

    def _picked(self, thing: Any, index: Any) -> Any:
        return self.plain(lambda: thing[index])

    def do_setitem(self, frame: RunFrame, i: Instruction) -> None:
        thing, index, value = self.values(frame, i)
        self.changeable(thing)
        if is_instance(thing):
            raise NotCompiled("an element of an object is set")
        if is_array(thing):
            return self._set_in_array(thing, index, value)
        index = self.resolved(index)
        if isinstance(thing, list) and isinstance(index, RunNumber):
            kinds = {kind_of(v) for v in (*thing, value)}
            if len(kinds) == 1 and kinds <= set("fib"):
                size = len(thing)
                error = error_of(lambda: [0].__setitem__(1, 0))
                place = self.in_range(index, size, error)
                thing[:] = self.with_element(thing, place, value)
                return None
        plain = self.plain_index(index)
        if isinstance(value, (RunGenerator, Iterator)) and isinstance(plain, slice):
            raise NotCompiled("a slice is set from an iterator")
        self.plain(lambda: thing.__setitem__(plain, value))
        return None

    def _set_in_array(self, thing: np.ndarray, index: Any, value: Any) -> None:
        if not any(self.holds_run(v) for v in (thing, index, value)):
            self.plain(lambda: thing.__setitem__(index, value))
            return
        new = objects(thing).copy()
        index = self.resolved(index)
        kinds = {kind_of(v) for v in objects(value).flat}
        have = "f" if thing.dtype.kind == "f" else "i" if thing.dtype.kind in "iu" else "b"
        if thing.dtype == object:
            have = kind_of(thing.flat[0]) if thing.size else "f"
        if have != "f" and not kinds <= {have}:
            raise NotCompiled("a number of another type in an array")
        if isinstance(index, RunNumber) and thing.ndim == 1:
            place = self.in_range(index, len(thing), IndexError("index out of bounds"))
            fresh = self.cast(value, have)
            new[:] = self.with_element(list(new), place, fresh)
        elif isinstance(value, RunValue):
            where = self._mask(index)
            for at in np.ndindex(new.shape):
                if np.atleast_1d(_marked(new.shape, where))[at]:
                    new[at] = value
        else:
            where = self._mask(index)
            self.plain(lambda: new.__setitem__(where, objects(value)))
        made = self.settled(new, have)
        if thing.dtype == object and isinstance(made, np.ndarray):
            thing[...] = objects(made)
        else:
            self._replace(thing, made)

    def _mask(self, index: Any) -> Any:
        if is_array(index) and index.dtype == object:
            return np.array([self.plain_index(v) for v in index.flat]).reshape(index.shape)
        return self.plain_index(index)

    def do_unsetitem(self, frame: RunFrame, i: Instruction) -> None:
        thing, index = self.values(frame, i)
        self.changeable(thing)
        plain = self.plain_index(index)
        self.plain(lambda: thing.__delitem__(plain))

    # Attributes

    def do_attr(self, frame: RunFrame, i: Instruction) -> int | None:
        return self.put(frame, i, self.attribute(self.get(frame, i.uses[0]), i.extra))

    def attribute(self, thing: Any, name: str) -> Any:
        if isinstance(thing, Rng):
            if name in ("bit_generator", "spawn"):
                raise NotCompiled(f"rng.{name}")
            return BoundName(thing, name)
        if isinstance(thing, (RunValue, RunGenerator, Iterator, RunClosure)):
            if isinstance(thing, RunNumber) and name in ("real", "T"):
                return thing
            return BoundName(thing, name)
        if is_array(thing) and thing.dtype == object:
            if name == "dtype":
                return dtype_of(thing)
            return getattr(thing, name) if name in _ARRAY_ATTRIBUTES else BoundName(thing, name)
        if isinstance(thing, (list, set, *DICTS)):
            self.plain(lambda: getattr(thing, name))
            return BoundName(thing, name)
        if is_instance(thing):
            return self._object_attribute(thing, name)
        found = self.plain(lambda: getattr(thing, name))
        if isinstance(thing, (types.ModuleType, type)):
            return self.adopted(found)
        return found

    def _object_attribute(self, thing: Any, name: str) -> Any:
        if hasattr(type(thing), "__getattr__") or (
            type(thing).__getattribute__ is not object.__getattribute__
        ):
            raise NotCompiled("attributes that an object computes")
        found = getattr(type(thing), name, None)
        if isinstance(found, (property, functools.cached_property)):
            raise NotCompiled("a property")
        value = self.plain(lambda: getattr(thing, name))
        return self.adopted(value) if thing in self.outside else value

    def do_setattr(self, frame: RunFrame, i: Instruction) -> None:
        thing, value = self.values(frame, i)
        if not is_instance(thing) or hasattr(getattr(type(thing), i.extra, None), "__set__"):
            raise NotCompiled("an attribute is set")
        if type(thing).__setattr__ is not object.__setattr__:
            raise NotCompiled("an attribute of a frozen object is set")
        self.changeable(thing)
        thing.__dict__[i.extra] = value

    # Text

    def do_text(self, frame: RunFrame, i: Instruction) -> int | None:
        parts = [self.resolved(p) for p in self.values(frame, i)]
        if self.holds_run(parts):
            raise NotCompiled("the text of a number of the run")
        return self.put(frame, i, "".join(parts))

    def do_format(self, frame: RunFrame, i: Instruction) -> int | None:
        value, *spec = self.values(frame, i)
        value = self.resolved(value)
        if isinstance(value, RunNumber) and value.kind == "b":
            value = self.plain_index(value)
        if self.holds_run(value) or is_instance(value):
            raise NotCompiled("the text of a value of the run")
        convert = _CONVERSIONS[i.extra]
        return self.put(frame, i, self.plain(lambda: format(convert(value), *spec)))

    # Matching

    def do_is_sequence(self, frame: RunFrame, i: Instruction) -> int | None:
        value = self.resolved(self.get(frame, i.uses[0]))
        return self.put(frame, i, isinstance(value, (list, tuple, range)))

    def do_length(self, frame: RunFrame, i: Instruction) -> int | None:
        value = self.get(frame, i.uses[0])
        return self.put(frame, i, self.plain(lambda: len(value)))


def _marked(shape: tuple[int, ...], index: Any) -> np.ndarray:
    mark = np.zeros(shape, dtype=bool)
    mark[index] = True
    return mark
