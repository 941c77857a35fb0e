"""Instructions that move control: jumps, iteration, generators, returns and exceptions."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Instruction
from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import known, prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import class_of, find_in_class, is_class, is_object
from dpest.reading.machine.heap import (
    Cell,
    DequeObject,
    DictObject,
    GeneratorObject,
    Instance,
    KeysIterator,
    ListObject,
    RowIterator,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.orders import check_decided
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.state import Frame
from dpest.reading.machine.values import Array, DictView, Known, Ref, is_plain

END = object()


class Control:
    """Iterators, generators, exceptions."""

    # Jumps

    def op_jump(self: Any, frame: Frame, i: Instruction) -> None:
        frame.pc = i.jumps[0]

    def op_branch(self: Any, frame: Frame, i: Instruction) -> None:
        truth = self.truth_value(self.get(frame, i.uses[0]))
        if isinstance(truth, Enter):
            self.enter(truth)
            return
        frame.pc = i.jumps[not self.holds(truth)]

    def finish_branch(self: Any, frame: Frame, i: Instruction, value: Any) -> None:
        truth = value if isinstance(value, Truth) else bool(value)
        frame.pc = i.jumps[not self.holds(truth)]

    def truth_value(self: Any, value: Any) -> Any:
        """What `if value` asks: a bool, a Truth, or code to be executed."""
        if is_plain(value):
            return bool(value)
        if isinstance(value, (Real, Truth)):
            if isinstance(value, Truth):
                return value
            found = arithmetic.compare(self, "!=", value, 0)
            return found.typed(bool) if isinstance(found, Truth) else bool(found)
        if isinstance(value, (tuple, frozenset)):
            return bool(len(value))
        if isinstance(value, Known):
            return known.native(self, bool, (value,), {}, "the truth of a table")
        if isinstance(value, DictView):
            return bool(self.state.heap.read(value.owner).items)
        if isinstance(value, Array):
            if value.places.size != 1:
                text = "The truth value of an array with more than one element is ambiguous."
                if value.places.size == 0:
                    return False
                raise Thrown(ValueError(text))
            return self.truth_value(self.arrays.elements(self, value)[0])
        if isinstance(value, Ref):
            thing = self.state.heap.read(value)
            if isinstance(thing, (ListObject, DictObject, SetObject, DequeObject)):
                return bool(thing.items)
            if isinstance(thing, Instance):
                method = find_in_class(self.state, thing.cls, "__bool__")
                if method is not None:
                    return Enter(method, (value,))
                method = find_in_class(self.state, thing.cls, "__len__")
                if method is not None:
                    return Enter(prelude.length_is_positive_, (method, value))
            return True
        if self.is_lazy(value):
            raise Refused("the truth of something of unknown length")
        return True

    # Iteration

    def op_iter(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, self.iterator(self.get(frame, i.uses[0])))

    def iterator(self: Any, value: Any) -> Any:
        """iter(value): a Ref to an iterator, or code to be executed."""
        heap = self.state.heap
        if isinstance(value, Ref):
            thing = heap.read(value)
            if isinstance(thing, (ListObject, DequeObject)):
                return heap.new(SequenceIterator(value))
            if isinstance(thing, DictObject):
                return heap.new(KeysIterator(value, tuple(thing.items), "keys"))
            if isinstance(thing, SetObject):
                return heap.new(KeysIterator(value, self.set_order(thing.items), "keys"))
            if isinstance(thing, (SequenceIterator, KeysIterator, RowIterator, GeneratorObject)):
                return value
            if isinstance(thing, Instance):
                return self._iterator_of_object(value, thing)
        if isinstance(value, DictView):
            keys = tuple(heap.read(value.owner).items)
            return heap.new(KeysIterator(value.owner, keys, value.name))
        if isinstance(value, Known):
            return known.iterator(self, value)
        if isinstance(value, frozenset):
            return heap.new(SequenceIterator(self.set_order(dict.fromkeys(value))))
        if isinstance(value, (tuple, str, bytes, range)):
            return heap.new(SequenceIterator(value))
        if isinstance(value, Array):
            if not value.shape:
                raise Thrown(TypeError("iteration over a 0-d array"))
            return heap.new(SequenceIterator(value))
        lazy = self.lazy_iterator(value)
        if lazy is not None:
            return lazy
        if isinstance(value, type) and hasattr(value, "__members__"):
            return heap.new(SequenceIterator(tuple(value)))  # type: ignore[arg-type]
        if isinstance(value, (Real, Truth)) or is_plain(value):
            raise Thrown(TypeError(f"'{self.type_name(value)}' object is not iterable"))
        raise Refused(f"going through a {self.type_name(value)}")

    def is_iterator(self: Any, value: Any) -> bool:
        """Whether it is something that gives its elements once, and can be gone through."""
        thing = self.state.heap.read(value) if isinstance(value, Ref) else None
        return isinstance(thing, (SequenceIterator, KeysIterator, RowIterator, GeneratorObject))

    def _iterator_of_object(self: Any, value: Ref, thing: Instance) -> Any:
        method = find_in_class(self.state, thing.cls, "__iter__")
        if method is not None:
            return Enter(method, (value,))
        method = find_in_class(self.state, thing.cls, "__getitem__")
        if method is not None:
            return Enter(prelude.sequence_of_, (method, value))
        raise Thrown(TypeError(f"'{self.type_name(value)}' object is not iterable"))

    @staticmethod
    def set_order(items: dict[Any, None]) -> tuple[Any, ...]:
        """The order in which a set is gone through, where it doesn't depend on its history."""
        backwards = list(items)
        backwards.reverse()
        forward, backward = list(set(items)), list(set(backwards))
        whole = all(isinstance(k, (int, np.integer)) for k in items)
        if len(items) > 1 and (forward != backward or not whole):
            raise Refused(
                "going through a set, which has no order of its own",
                "go through sorted(…) of it",
            )
        return tuple(forward)

    def op_next(self: Any, frame: Frame, i: Instruction) -> None:
        it = self.get(frame, i.uses[0])
        value = self.next_value(it)
        if value is END:
            self._iteration_ends(frame, i, None)
        else:
            self.put(frame, i, value)

    def _iteration_ends(self: Any, frame: Frame, i: Instruction, value: Any) -> None:
        if i.extra is not None:
            frame.registers[i.extra] = value
        frame.pc = i.jumps[0]

    def next_value(self: Any, it: Any) -> Any:
        """The next value, END, or code to be executed."""
        lazy = self.lazy_next(it)
        if lazy is not None:
            return lazy
        if not isinstance(it, Ref):
            raise Refused(f"next of a {self.type_name(it)}")
        thing = self.state.heap.read(it)
        if isinstance(thing, GeneratorObject):
            if thing.frame is None and not thing.running:
                return END  # it has ended before
            return Enter(_RESUME, (it, None))
        if isinstance(thing, Instance):
            method = find_in_class(self.state, thing.cls, "__next__")
            if method is None:
                raise Thrown(TypeError(f"'{self.type_name(it)}' object is not an iterator"))
            return Enter(method, (it,), back="next")
        value = self.peek(it)
        self.step(it, ended=value is END)
        return value

    def peek(self: Any, it: Any) -> Any:
        """The next value of an iterator that runs no code of the program; nothing is changed."""
        thing = self.state.heap.read(it) if isinstance(it, Ref) else None
        if isinstance(thing, SequenceIterator):
            return END if thing.done else self._element(thing)
        if isinstance(thing, KeysIterator):
            return self._keyed(thing)
        if isinstance(thing, RowIterator):
            return self._row(thing)
        raise Refused(f"next of a {self.type_name(it)} inside of another function")

    def _element(self: Any, it: SequenceIterator) -> Any:
        source = it.source
        if isinstance(source, Ref):
            items = self.state.heap.read(source).items
            return items[it.index] if 0 <= it.index < len(items) else END
        if isinstance(source, Array):
            inside = 0 <= it.index < source.shape[0]
            return self.arrays.item(self, source, it.index) if inside else END
        return source[it.index] if 0 <= it.index < len(source) else END

    def _keyed(self: Any, it: KeysIterator) -> Any:
        if it.done:
            return END
        items = self.state.heap.read(it.source).items
        if len(items) != len(it.keys):
            raise Thrown(RuntimeError("dictionary changed size during iteration"))
        if it.index >= len(it.keys):
            return END
        key = it.keys[it.index]
        if it.view == "keys":
            return key
        if key not in items:
            raise Refused("a dict that is changed while it is gone through")
        return items[key] if it.view == "values" else (key, items[key])

    def _row(self: Any, it: RowIterator) -> Any:
        if it.done:
            return END
        row = []
        for n, part in enumerate(it.parts):
            value = self.lazy_peek(part)
            if value is None:
                value = self.peek(part)
            if value is END:
                if n and it.strict:
                    raise Refused("zip(strict=True) of unequal lengths")
                if n:
                    # zip has taken a value of each iterator before this one.
                    for taken in it.parts[:n]:
                        self.forget_one(taken)
                return END
            row.append(value)
        return tuple(row) if it.count is None else (it.count, row[0])

    def forget_one(self: Any, part: Any) -> None:
        """An iterator of a zip that has ended loses the value that was taken of it."""
        if isinstance(part, Ref):
            self.step(part, ended=False)

    def step(self: Any, it: Any, *, ended: bool) -> None:
        """Moves an iterator on, after all decisions: an instruction that forks is run again."""
        if self.lazy_step(it):
            return
        thing = self.state.heap.write(it)
        if ended:
            thing.done = True
        elif isinstance(thing, RowIterator):
            for part in thing.parts:
                self.step(part, ended=False)
            if thing.count is not None:
                thing.count += 1
        elif isinstance(thing, SequenceIterator):
            thing.index += thing.step
        else:
            thing.index += 1

    # Generators

    def resume(self: Any, ref: Ref, sent: Any) -> Any:
        """Pushes the frame of a generator; None where it has ended already."""
        generator = self.state.heap.write(ref)
        if generator.running:
            raise Thrown(ValueError("generator already executing"))
        if generator.frame is None:
            return None
        frame: Frame = generator.frame
        generator.frame, generator.running = None, True
        if generator.started:
            yielded = frame.code.instructions[frame.pc]
            if yielded.dst is not None:
                frame.registers[yielded.dst] = sent
            frame.pc += 1
        elif sent is not None:
            raise Thrown(TypeError("can't send non-None value to a just-started generator"))
        generator.started = True
        frame.back, frame.target = "generator", ref
        return frame

    def op_yield(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[0])
        self.state.frames.pop()
        generator = self.state.heap.write(frame.target)
        generator.frame, generator.running = frame, False
        self.deliver(value)

    def op_return(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[0])
        if len(self.state.frames) == 1:
            forced = self.released(value)
            if forced is not None:
                frame.pc = len(frame.code.instructions) - 1
                self.enter(Enter(prelude.list_, (forced,)))
                return
            if self.is_whole and self.is_iterator(value):
                frame.pc = len(frame.code.instructions) - 1
                self.enter(Enter(prelude.consumed_, (value,)))
                return
            check_decided(self.state.heap, value)
            self.end(False, value)
            return
        self.state.frames.pop()
        if frame.back == "generator":
            generator = self.state.heap.write(frame.target)
            generator.running = False
            self.generator_ended(value)
        elif frame.back == "instance":
            if value is not None:
                raise Thrown(TypeError("__init__() should return None"))
            self.deliver(frame.target)
        else:
            self.deliver(value)

    def finish_return(self: Any, frame: Frame, i: Instruction, value: Any) -> None:
        self.end(False, value)

    def generator_ended(self: Any, value: Any) -> None:
        """The generator that an instruction waits for has returned."""
        frame = self.state.frames[-1]
        instruction = frame.code.instructions[frame.pc]
        if instruction.op == "next":
            self._iteration_ends(frame, instruction, value)
        else:
            args = () if value is None else (value,)
            ref = self.state.heap.new(Instance(StopIteration, {"args": args}))
            self.unwind(ref)

    # Exceptions

    def unwind(self: Any, error: Any) -> None:
        """Control goes to the innermost handler, or the run ends."""
        frames = self.state.frames
        if isinstance(error, BaseException):
            error = self.adopted(error)
        while frames:
            frame = frames[-1]
            handler = frame.code.instructions[frame.pc].handler
            if handler is not None:
                frame.pc, frame.error = handler, error
                return
            if len(frames) == 1:
                self.end(True, error)
                return
            frames.pop()
            stops = self.error_class(error) is StopIteration
            if frame.back == "generator":
                generator = self.state.heap.write(frame.target)
                generator.running = False
                if stops:
                    text = "generator raised StopIteration"
                    error = self.adopted(RuntimeError(text))
            elif frame.back == "next" and stops:
                waiting = frames[-1]
                instruction = waiting.code.instructions[waiting.pc]
                if instruction.op == "next":
                    args = self.state.heap.read(error).attributes["args"]
                    self._iteration_ends(waiting, instruction, args[0] if args else None)
                    return

    def error_class(self: Any, error: Any) -> Any:
        return class_of(self.state, error)

    def op_raise(self: Any, frame: Frame, i: Instruction) -> None:
        error = self.get(frame, i.uses[0])
        if is_class(self.state, error):
            made = self.call(error, (), {})
            if isinstance(made, (Enter, Frame)):
                raise Refused("raising a class whose `__init__` is the program's own")
            error = made
        self._check_error(error)
        raise Thrown(error)

    def _check_error(self: Any, error: Any) -> None:
        fine = is_object(self.state, error)
        if fine:
            cls = class_of(self.state, error)
            fine = self.is_subclass(cls, BaseException)
        if not fine:
            raise Thrown(TypeError("exceptions must derive from BaseException"))

    def op_reraise(self: Any, frame: Frame, i: Instruction) -> None:
        raise Thrown(self.get(frame, i.uses[0]))

    def op_catch(self: Any, frame: Frame, i: Instruction) -> None:
        error, frame.error = frame.error, None
        self.put(frame, i, error)

    def op_caught(self: Any, frame: Frame, i: Instruction) -> None:
        error, kinds = self.get(frame, i.uses[0]), self.get(frame, i.uses[1])
        every = kinds if isinstance(kinds, tuple) else (kinds,)
        cls = class_of(self.state, error)
        for kind in every:
            fine = is_class(self.state, kind) and self.is_subclass(kind, BaseException)
            if not fine:
                text = "catching classes that do not inherit from BaseException is not allowed"
                raise Thrown(TypeError(text))
        self.put(frame, i, any(self.is_subclass(cls, kind) for kind in every))

    # Cells

    def op_newcell(self: Any, frame: Frame, i: Instruction) -> None:
        self.put(frame, i, self.state.heap.new(Cell()))

    def op_cell(self: Any, frame: Frame, i: Instruction) -> None:
        cell = self.state.heap.read(frame.registers[i.uses[0]])
        if cell.empty:
            name = i.uses[0].split("'")[0]
            raise Thrown(
                NameError(
                    f"cannot access free variable '{name}' where it is not associated with a value "
                    "in enclosing scope"
                )
                if i.uses[0] in frame.code.free
                else UnboundLocalError(
                    f"cannot access local variable '{name}' where it is not associated with a value"
                )
            )
        self.put(frame, i, cell.value)

    def op_setcell(self: Any, frame: Frame, i: Instruction) -> None:
        value = self.get(frame, i.uses[1])
        cell = self.state.heap.write(frame.registers[i.uses[0]])
        cell.value, cell.empty = value, False
        frame.pc += 1

    def op_unsetcell(self: Any, frame: Frame, i: Instruction) -> None:
        cell = self.state.heap.write(frame.registers[i.uses[0]])
        if cell.empty:
            raise Thrown(NameError(i.uses[0]))
        cell.value, cell.empty = None, True
        frame.pc += 1


def _RESUME(ref: Any, sent: Any) -> None:
    """Stands for `generator.send`; the machine knows it (see `Calls.call`)."""


RESUME: types.FunctionType = _RESUME  # type: ignore[assignment]
