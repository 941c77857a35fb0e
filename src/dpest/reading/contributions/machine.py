"""Executes lowered code on forms: frames, calls, containers."""

from __future__ import annotations

import builtins
import types
from fractions import Fraction
from typing import Any

from dpest.reading.code.instructions import Code, Instruction
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.sources import lowered
from dpest.reading.contributions.arithmetic import (
    is_number,
    is_plain,
    natively,
    to_native,
    unshared,
)
from dpest.reading.contributions.choices import Script
from dpest.reading.contributions.constants import constant
from dpest.reading.contributions.forms import NOISE, RECORD, SUM, Form, Terms, Unread
from dpest.reading.contributions.loops import Loops
from dpest.reading.contributions.pandas_functions import pandas_entry
from dpest.reading.contributions.shapes import constructed, is_record_class
from dpest.reading.contributions.table import FUNCTIONS, METHODS, PURE_MODULES, count_of, draw
from dpest.reading.contributions.values import (
    Array,
    Bound,
    Cell,
    Closure,
    Combined,
    Draw,
    Generator,
    KeyCounts,
    Map,
    Object,
    Place,
    PlainIterator,
    PublicValue,
    Rows,
    RowsIterator,
    Seq,
    Transposed,
    Truth,
    Uniforms,
)

MOST_STEPS = 400_000
DEEPEST = 40


class Frame:
    """One call: its registers, and what a generator has handed out."""

    def __init__(self, code: Code, registers: dict[str, Any], names: dict[str, Any]) -> None:
        self.code = code
        self.registers = registers
        self.globals = names
        self.pc = 0
        self.yielded = Seq()


class Machine(Loops):
    """One run of a mechanism for every data set at once, along one way of public decisions."""

    def __init__(self, script: Script, replace: bool) -> None:
        super().__init__()
        self.terms = Terms()
        self.script = script
        self.replace = replace
        self.frames: list[Frame] = []
        self.steps = 0

    # Running -------------------------------------------------------------------------------------

    def run(self, frame: Frame) -> Any:
        """Until the frame returns."""
        if len(self.frames) > DEEPEST:
            raise Unread("calls that go too deep")
        self.frames.append(frame)
        try:
            done, value = self.run_until(frame, None)
        finally:
            self.frames.pop()
        assert done
        return frame.yielded if frame.code.is_generator else value

    def run_until(self, frame: Frame, stop: int | None) -> tuple[bool, Any]:
        """Until the frame returns, or comes to an instruction (then the first answer is False)."""
        while True:
            if stop is not None and frame.pc == stop:
                return False, None
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Unread("too many steps: a loop that may not end")
            body = self.confined[1] if self.confined and self.confined[0] is frame else None
            if body is not None and frame.pc not in body:
                raise Unread("a loop over the records that ends early")
            instruction = frame.code.instructions[frame.pc]
            if instruction.op == "return":
                return True, frame.registers[instruction.uses[0]]
            try:
                self.step(frame, instruction)
            except Unread as reason:
                if not getattr(reason, "placed", False):
                    where = f"{frame.code.file}:{instruction.place.line}"
                    placed = Unread(f"{where}: {reason}")
                    placed.placed = True  # type: ignore[attr-defined]
                    raise placed from None
                raise

    def step(self, frame: Frame, instruction: Instruction) -> None:
        registers = frame.registers
        op = instruction.op
        if op == "jump":
            frame.pc = instruction.jumps[0]
            return
        if op == "branch":
            taken = self.branch(frame, registers[instruction.uses[0]])
            frame.pc = instruction.jumps[0 if taken else 1]
            return
        if op == "next":
            self.next(frame, instruction)
            return
        action = _ACTIONS.get(op)
        if action is None:
            raise Unread(f"the instruction `{op}` is not read here")
        try:
            uses = [registers[name] for name in instruction.uses]
            if op not in _CARRYING:
                uses = list(map(self.settled, uses))
        except KeyError:
            raise Unread("a variable that may not be set") from None
        if instruction.handler is not None and not all(map(is_plain, uses)):
            raise Unread("private values where an exception would be caught")
        value = action(self, frame, instruction, uses)
        if instruction.dst is not None:
            registers[instruction.dst] = value
        frame.pc += 1

    def branch(self, frame: Frame, value: Any) -> bool:
        about = value.form if isinstance(value, Truth) else None
        if about is not None and self.terms.kind(about) & NOISE:
            return self.rejected(frame, value)
        return self.decide(value)

    # Names ---------------------------------------------------------------------------------------

    def lookup(self, frame: Frame, name: str) -> Any:
        if name in frame.globals:
            return self.admitted(frame.globals[name], f"the global `{name}`")
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unread(f"no name `{name}`")

    def admitted(self, value: Any, what: str) -> Any:
        """A value from outside of the run: constants, modules and functions."""
        if is_plain(value) or isinstance(value, (types.ModuleType, type)):
            return value
        if isinstance(value, types.FunctionType):
            return value
        if callable(value) and _known(value):
            return value
        return constant(value, what)

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Generator):
            return Draw(name)
        if isinstance(owner, Object):
            return owner.attribute(self, name)
        if isinstance(owner, types.ModuleType):
            if not hasattr(owner, name):
                raise Unread(f"{owner.__name__} has no {name}")
            return self.admitted(getattr(owner, name), f"{owner.__name__}.{name}")
        if isinstance(owner, (Rows, Seq, Map, Array, KeyCounts, Form)):
            return METHODS.attribute(self, owner, name)
        if is_number(owner) or isinstance(owner, str):
            return Bound(owner, name)
        if isinstance(owner, type) or callable(owner):
            found = getattr(owner, name, None)
            if found is not None and _known(found):
                return found
        raise Unread(f"the attribute `{name}` of {type(owner).__name__}")

    # Calls ---------------------------------------------------------------------------------------

    def call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, Draw):
            return draw(self, function.family, arguments, named)
        if isinstance(function, Bound) and isinstance(function.owner, Object):
            return function.owner.call(self, function.name, arguments, named)
        if isinstance(function, Bound):
            return METHODS.call(self, function.owner, function.name, arguments, named)
        if isinstance(function, Closure):
            return self.enter(function, arguments, named)
        try:
            known = FUNCTIONS.get(function) or pandas_entry(function)
        except TypeError:
            known = None
        plain = all(map(is_plain, (*arguments, *named.values())))
        if known is None and is_record_class(function):
            return constructed(self, function, arguments, named)
        if known is not None:
            found = known(self, arguments, named)
            if found is not NotImplemented:
                return found
        if isinstance(function, types.FunctionType) and not _library(function):
            return self.enter(self.closure_of(function), arguments, named)
        if plain and _pure(function):
            return natively(function, *arguments, **named)
        if plain or _pure(function):
            deep = [a for a in (*arguments, *named.values()) if not is_plain(a)]
            if _pure(function) and all(_plain_list(a) for a in deep):
                return natively(function, *arguments, **named)
        name = getattr(function, "__name__", type(function).__name__)
        raise Unread(f"`{name}` is not known here, on values that are not plain")

    def closure_of(self, function: types.FunctionType) -> Closure:
        try:
            code = lowered(function.__code__)
        except NotLowered as reason:
            raise Unread(str(reason)) from None
        if getattr(function, "__wrapped__", None) is not None and function.__closure__ is None:
            raise Unread("a function that says it wraps another")
        cells = []
        names = function.__code__.co_freevars
        for name in code.free:
            held = dict(zip(names, function.__closure__ or (), strict=True)).get(name)
            if held is None:
                raise Unread(f"no variable `{name}` of an outer function")
            cells.append(Cell(self.admitted(held.cell_contents, f"the variable `{name}`"), True))
        defaults = dict(function.__kwdefaults__ or {})
        positional = [*code.parameters.positional_only, *code.parameters.positional]
        for name, value in zip(
            reversed(positional), reversed(function.__defaults__ or ()), strict=False
        ):
            defaults[name] = value
        return Closure(code, tuple(cells), defaults, function.__globals__)

    def enter(self, closure: Closure, arguments: list[Any], named: dict[str, Any]) -> Any:
        return self.run(self.frame_of(closure, arguments, named))

    def frame_of(self, closure: Closure, arguments: list[Any], named: dict[str, Any]) -> Frame:
        code = closure.code
        if code.is_class:
            raise Unread("a class of the program")
        parameters = code.parameters
        registers: dict[str, Any] = {}
        positional = [*parameters.positional_only, *parameters.positional]
        for name, value in zip(positional, arguments, strict=False):
            registers[name] = value
        rest = tuple(arguments[len(positional) :])
        if rest and parameters.star is None:
            raise Unread("a call with too many arguments")
        if parameters.star is not None:
            registers[parameters.star] = rest
        extra = {}
        for name, value in named.items():
            if name in registers:
                raise Unread(f"`{name}` is given twice")
            if name in parameters.positional or name in parameters.keyword_only:
                registers[name] = value
            else:
                extra[name] = value
        if extra and parameters.double_star is None:
            raise Unread(f"no parameter `{next(iter(extra))}`")
        if parameters.double_star is not None:
            registers[parameters.double_star] = Map(dict(extra))
        for name in (*positional, *parameters.keyword_only):
            if name not in registers:
                if name not in closure.defaults:
                    raise Unread(f"no value for `{name}`")
                registers[name] = self.default(closure.defaults[name], name)
        for name in code.cells:
            full = name in registers
            registers[name] = Cell(registers.get(name), full)
        for name, cell in zip(code.free, closure.cells, strict=True):
            registers[name] = cell
        return Frame(code, registers, closure.globals)

    def default(self, value: Any, name: str) -> Any:
        if is_plain(value) or isinstance(value, (Form, Closure, types.FunctionType)):
            return value
        return constant(value, f"the default of `{name}`")

    # Items ---------------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if op == "@" and isinstance(b, Rows) and isinstance(a, (Rows, Transposed)):
            first = a.rows if isinstance(a, Transposed) else a
            if isinstance(a, Rows) and any(isinstance(c.element, Array) for c in a.cases):
                raise Unread("a product of two arrays of the data")
            if isinstance(a, Transposed) and any(isinstance(c.element, Array) for c in b.cases):
                raise Unread("a product of two arrays of the data")
            return self.sum_rows(super().binary("*", first, b))
        return super().binary(op, a, b)

    def item(self, owner: Any, index: Any) -> Any:
        if isinstance(owner, Object):
            return owner.item(self, index)
        if isinstance(index, Place):
            return self.at_place(owner)
        if not isinstance(owner, Rows):
            index = self.pinned(index)
        if isinstance(owner, Rows):
            return self.rows_item(owner, index)
        if isinstance(owner, Map):
            if owner.open or not is_plain(index):
                raise Unread("a look-up in a mapping that is not known")
            if index not in owner.items and owner.default is not None:
                unshared(owner)
                owner.items[index] = owner.default
                owner.partial.add(index)
            if index not in owner.items or (index in owner.partial and owner.default is None):
                raise Unread(f"no key {index!r}, or only if a record has it")
            return owner.items[index]
        if isinstance(owner, Array):
            return self.array_item(owner, index)
        if isinstance(owner, KeyCounts):
            return count_of(self, owner, index)
        if isinstance(owner, Seq):
            if owner.rows is not None:
                return self.rows_item(owner.rows, index)
            if owner.bag:
                raise Unread("the place of a value in a list whose order is private")
            return self._of_list(owner.items, index)
        if isinstance(owner, tuple):
            return self._of_list(owner, index)
        if is_plain(owner) and is_plain(index):
            return natively(lambda a, b: a[b], owner, index)
        raise Unread(f"an item of {type(owner).__name__}")

    def _of_list(self, items: Any, index: Any) -> Any:
        if not isinstance(index, (int, slice)) and not hasattr(index, "__index__"):
            raise Unread("an index that is not plain")
        try:
            found = items[index]
        except IndexError:
            raise Unread("an index out of range") from None
        return Seq(list(found)) if isinstance(index, slice) and isinstance(items, list) else found

    def array_item(self, owner: Array, index: Any) -> Any:
        import numpy as np

        if not is_plain(index):
            raise Unread("an index that is not plain")
        places = np.arange(len(owner.cells)).reshape(owner.shape)
        try:
            chosen = places[to_native(index)]
        except IndexError:
            raise Unread("an index out of range") from None
        if np.ndim(chosen) == 0:
            return owner.cells[int(chosen)]
        found = [owner.cells[i] for i in chosen.ravel()]
        if np.shares_memory(chosen, places):
            return owner.view(chosen.shape, found)
        return Array(chosen.shape, found)

    def at_place(self, owner: Any) -> Any:
        """x[i], where i goes through the places of the records."""
        rows = owner.rows if isinstance(owner, Seq) else owner
        if not isinstance(rows, Rows) or self.record is None:
            raise Unread("the place of a record is used")
        for case in rows.cases:
            if all(self.decide(c) for c in case.conditions):
                if not case.present:
                    raise Unread("the place of a record in a part of the data")
                return case.element
        raise Unread("a record in none of its cases")

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, Object):
            owner.set_item(self, index, value)
            return
        index = self.pinned(index)
        unshared(owner)
        if isinstance(owner, Map) and not owner.frozen and not owner.open:
            if not is_plain(index):
                self.put(owner, index, value)
                return
            owner.items[index] = value
        elif isinstance(owner, Seq) and owner.rows is None and not owner.bag and is_plain(index):
            try:
                owner.items[index] = value
            except (IndexError, TypeError):
                raise Unread("an index out of range") from None
        elif isinstance(owner, Array) and is_plain(index):
            import numpy as np

            places = np.arange(len(owner.cells)).reshape(owner.shape)
            try:
                chosen = places[to_native(index)]
            except IndexError:
                raise Unread("an index out of range") from None
            if np.ndim(chosen) == 0:
                owner.cells[int(chosen)] = value
            else:
                given = self.broadcast(
                    lambda _, v: v, Array(chosen.shape, [0] * chosen.size), value
                )
                for place, cell in zip(chosen.ravel(), given.cells, strict=True):
                    owner.cells[int(place)] = cell
        else:
            raise Unread(f"a change of {type(owner).__name__} in place")

    # Iteration -----------------------------------------------------------------------------------

    def iterate(self, value: Any) -> Any:
        if isinstance(value, (PlainIterator, RowsIterator)):
            return value
        if isinstance(value, Object):
            return value.iterate(self)
        if isinstance(value, Rows):
            return RowsIterator(value)
        if isinstance(value, KeyCounts):
            return value
        if isinstance(value, Seq):
            if value.rows is not None:
                return RowsIterator(value.rows)
            if value.bag:
                raise Unread("a loop over a list whose order is private")
            return PlainIterator.over(value.items)
        if isinstance(value, Map):
            if value.open or value.partial:
                raise Unread("a loop over a mapping whose keys are those of the data")
            return PlainIterator.over(value.items)
        if isinstance(value, Array) and value.shape:
            return PlainIterator.over(value.rows())
        if isinstance(value, (tuple, range, str)):
            return PlainIterator.over(value)
        raise Unread(f"a loop over {type(value).__name__}")

    def listed(self, value: Any) -> list[Any]:
        """All values of something that can be gone through one by one."""
        found = self.iterate(value)
        if not isinstance(found, PlainIterator):
            raise Unread("a list of values for each record")
        return list(found.items)

    def next(self, frame: Frame, instruction: Instruction) -> None:
        iterator = frame.registers[instruction.uses[0]]
        if isinstance(iterator, PlainIterator):
            try:
                value = next(iterator.items)
            except StopIteration:
                if instruction.extra is not None:
                    frame.registers[instruction.extra] = None
                frame.pc = instruction.jumps[0]
                return
            if instruction.dst is not None:
                frame.registers[instruction.dst] = value
            frame.pc += 1
        elif isinstance(iterator, RowsIterator):
            self.pass_over(frame, instruction, iterator)
        elif isinstance(iterator, KeyCounts):
            self.pass_over_keys(frame, instruction, iterator)
        else:
            raise Unread(f"a loop over {type(iterator).__name__}")

    # What is released ----------------------------------------------------------------------------

    def release(self, value: Any) -> Any:
        """All that a receiver sees, made visible; its structure is that of one run."""
        if isinstance(value, Form):
            return self.visible(value)
        if isinstance(value, (Truth, Combined)):
            return self.decide(value)
        if isinstance(value, Object):
            return value.release(self)
        if isinstance(value, Array):
            return value.map(self.release)
        if isinstance(value, Seq):
            if value.rows is not None:
                raise Unread("a list with an entry for each record is released")
            if value.bag:
                raise Unread(
                    "a list is released whose order is that of the private data: sort it first"
                )
            return Seq([self.release(v) for v in value.items])
        if isinstance(value, Map):
            if value.frozen:
                raise Unread("a record is released")
            if value.partial:
                raise Unread("a dict is released whose keys are those of the data")
            if value.open:
                self.ledger.notes.append(
                    "the released dict is taken as a mapping: its order is that of the private "
                    "data, and would leak if it were listed or written out"
                )
                return value
            return Map({k: self.release(v) for k, v in value.items.items()})
        if isinstance(value, tuple):
            return tuple(map(self.release, value))
        if is_plain(value) or isinstance(value, PublicValue):
            return value
        raise Unread(f"{type(value).__name__} is released")


# Instructions ------------------------------------------------------------------------------------


def _build(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    parts: list[Any] = []
    for value, star in zip(uses, i.extra.stars, strict=False):
        parts += m.listed(value) if star else [value]
    if i.extra.kind == "slice":
        if not all(map(is_plain, parts)):
            raise Unread("a slice whose ends are not plain")
        return slice(*parts)
    if i.extra.kind == "tuple":
        return tuple(parts)
    if i.extra.kind == "list":
        return Seq(parts)
    raise Unread("a set")


def _dict(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    if any(i.extra or ()):
        raise Unread("a dict that is unpacked into another")
    keys = uses[::2]
    if not all(map(is_plain, keys)):
        raise Unread("a dict whose keys are not plain")
    return Map(dict(zip(keys, uses[1::2], strict=True)))


def _call(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    shape = i.extra
    function, rest = uses[0], uses[1:]
    arguments: list[Any] = []
    for value, star in zip(rest[: len(shape.stars)], shape.stars, strict=True):
        arguments += m.listed(value) if star else [value]
    named: dict[str, Any] = {}
    for name, value in zip(shape.keywords, rest[len(shape.stars) :], strict=True):
        if name is not None:
            named[name] = value
        elif isinstance(value, Map) and not value.open:
            named.update(value.items)
        else:
            raise Unread("keywords that are not plain")
    return m.call(function, arguments, named)


def _compare(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    a, b = uses
    op = i.extra
    if op in ("is", "is not"):
        if a is None or b is None:
            return (a is b) == (op == "is")
        if isinstance(a, bool) and isinstance(b, bool):
            return (a is b) == (op == "is")
        raise Unread("`is` of values other than None")
    if op in ("in", "not in"):
        if isinstance(b, Object):
            return b.contains(m, a) == (op == "in")
        if isinstance(b, Map) and (b.growing or b.partial):
            raise Unread("whether the data have a key")
        if isinstance(b, Map) and not b.open and is_plain(a):
            return (a in b.items) == (op == "in")
        if is_plain(a) and is_plain(b) and isinstance(b, (tuple, str, range)):
            return (a in b) == (op == "in")
        if isinstance(b, Seq) and b.rows is None and is_plain(a) and all(map(is_plain, b.items)):
            return (a in b.items) == (op == "in")
        raise Unread("`in` of values that are not plain")
    return m.compare(op, a, b)


def _inplace(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    a, b = uses
    unshared(a)
    if isinstance(a, Seq):
        if i.extra != "+" or a.rows is not None or a.bag:
            raise Unread("a list that is changed in place")
        a.items.extend(m.listed(b))
        return a
    if isinstance(a, Rows):
        raise Unread("data that are changed in place")
    found = m.binary(i.extra, a, b)
    if isinstance(a, Array):
        if not isinstance(found, Array) or found.shape != a.shape:
            raise Unread("an array that changes its shape in place")
        integers = a.cells and all(isinstance(c, int) for c in a.cells)
        if integers and not all(isinstance(c, int) for c in found.cells):
            raise Unread("an array of integers that is changed to other numbers in place")
        a.cells[:] = found.cells
        return a
    return found


def _unpack(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    if i.extra.star is not None:
        raise Unread("a starred target")
    parts = tuple(m.listed(uses[0]))
    if len(parts) != i.extra.size:
        raise Unread("a value that is unpacked into the wrong number of names")
    return parts


def _append(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> None:
    m.append(uses[0], uses[1])


def _put(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> None:
    m.set_item(uses[0], uses[1], uses[2])


def _set_item(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> None:
    m.set_item(uses[0], uses[1], uses[2])


def _closure(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    code = i.extra.code
    count = len(code.free)
    defaults = dict(zip(code.parameters.defaulted, uses[count:], strict=True))
    return Closure(code, tuple(uses[:count]), defaults, frame.globals)


def _cell(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    if not isinstance(uses[0], Cell) or not uses[0].full:
        raise Unread("a variable that may not be set")
    return uses[0].value


def _set_cell(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> None:
    if m.record is not None:
        raise Unread("a variable of several functions that changes for each record")
    uses[0].value, uses[0].full = uses[1], True


def _yield(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    m.append(frame.yielded, uses[0])


def _import(m: Machine, frame: Frame, i: Instruction, uses: list[Any]) -> Any:
    import importlib

    wanted = i.extra
    if wanted.level or wanted.module.split(".")[0] not in PURE_MODULES:
        raise Unread(f"the import of {wanted.module}")
    module = importlib.import_module(wanted.module)
    if wanted.name is not None:
        return m.attribute(module, wanted.name)
    return module if wanted.whole else importlib.import_module(wanted.module.split(".")[0])


# Instructions that hand a value on as it is.
_CARRYING = ("move", "build", "dict", "append", "yield", "setcell")
_ACTIONS: dict[str, Any] = {
    "const": lambda m, f, i, u: i.extra,
    "move": lambda m, f, i, u: u[0],
    "global": lambda m, f, i, u: m.lookup(f, i.extra),
    "cell": _cell,
    "setcell": _set_cell,
    "newcell": lambda m, f, i, u: Cell(),
    "unary": lambda m, f, i, u: m.unary(i.extra, u[0]),
    "binary": lambda m, f, i, u: m.binary(i.extra, u[0], u[1]),
    "inplace": _inplace,
    "compare": _compare,
    "attr": lambda m, f, i, u: m.attribute(u[0], i.extra),
    "item": lambda m, f, i, u: m.item(u[0], u[1]),
    "setitem": _set_item,
    "build": _build,
    "dict": _dict,
    "append": _append,
    "put": _put,
    "unpack": _unpack,
    "part": lambda m, f, i, u: u[0][i.extra],
    "iter": lambda m, f, i, u: m.iterate(u[0]),
    "call": _call,
    "closure": _closure,
    "yield": _yield,
    "import": _import,
}


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", None) or "").split(".")[0]


def _library(function: Any) -> bool:
    return _module(function) in PURE_MODULES


def _known(function: Any) -> bool:
    try:
        return function in FUNCTIONS or _pure(function)
    except TypeError:
        return False


def _pure(function: Any) -> bool:
    """Functions of the mathematical libraries but for random ones, and a few builtins."""
    module = str(getattr(function, "__module__", None) or "")
    if isinstance(function, (types.BuiltinFunctionType, type)) and module in ("builtins", ""):
        return function in (int, float, bool, abs, round, len, pow, divmod, str, tuple, complex)
    if "random" in module or module.startswith("scipy.stats.qmc"):
        return False
    name = getattr(function, "__name__", "")
    if type(function).__name__ == "ufunc":
        return True
    if module.startswith("scipy.stats") and name in ("rvs",):
        return False
    bound = getattr(function, "__self__", None)
    if module.startswith("scipy.stats") and bound is not None and name == "rvs":
        return False
    return module.split(".")[0] in PURE_MODULES


def _plain_list(value: Any) -> bool:
    return (
        isinstance(value, Seq)
        and value.rows is None
        and not value.bag
        and all(is_plain(v) or _plain_list(v) for v in value.items)
    )


__all__ = ["RECORD", "SUM", "Fraction", "Frame", "Machine", "Uniforms"]
