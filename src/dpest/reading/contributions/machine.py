"""Executes lowered code on forms: frames, calls, containers."""

from __future__ import annotations

import builtins
import types
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Instruction
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.sources import lowered
from dpest.reading.contributions.arithmetic import (
    BINARY,
    is_number,
    is_plain,
    natively,
    to_native,
    unshared,
)
from dpest.reading.contributions.choices import DecisionScript
from dpest.reading.contributions.control.actions import ACTIONS, CARRYING
from dpest.reading.contributions.control.counting import by_coins, over_places
from dpest.reading.contributions.control.joining import joined
from dpest.reading.contributions.control.objects import (
    ObjectMethod,
    Own,
    PartialCall,
    SuperLookup,
    adopted,
    attribute,
    construct,
    field_names,
    has_special,
    is_class,
    special,
)
from dpest.reading.contributions.control.public import Native, Publics, Recipe, item_of, method_of
from dpest.reading.contributions.control.stack import (
    CONTEXT,
    CallFrame,
    Managed,
    Suspended,
    goes_over_rows,
    holds_data,
)
from dpest.reading.contributions.forms import NOISE, RECORD, Raised, SymbolicForm, Terms, Unread
from dpest.reading.contributions.functions.containers import count_of
from dpest.reading.contributions.functions.flips import (
    CANDIDATE,
    Flip,
    Permuted,
    flip_of,
    settle,
)
from dpest.reading.contributions.functions.methods.calling import attribute_of, call_method
from dpest.reading.contributions.functions.pandas_functions import pandas_entry
from dpest.reading.contributions.functions.purity import (
    is_known,
    is_library,
    is_plain_list,
    is_post_processing,
    is_pure,
    module_of,
)
from dpest.reading.contributions.functions.selections import against_weights
from dpest.reading.contributions.functions.sources import draw
from dpest.reading.contributions.functions.statistics import distinct, quantified
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.loops import KEYS, NeedsKey
from dpest.reading.contributions.made_noise import with_made_noise
from dpest.reading.contributions.persons import PERSON, by_person, of_people
from dpest.reading.contributions.shapes import constructed, is_record_class
from dpest.reading.contributions.table import FUNCTIONS
from dpest.reading.contributions.values import (
    Bound,
    Combined,
    DrawMethod,
    Key,
    KeyCounts,
    LoweredFunction,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    PublicValue,
    RecordPosition,
    RecordTruth,
    Rows,
    RowsIterator,
    Seq,
    SharedVariable,
    SmallArray,
    Stepped,
    Transposed,
    UnseededGenerator,
)

MOST_STEPS = 400_000
DEEPEST = 40
_OF_WHOLE_NUMBERS = ("%", "//", "&", "|", "^", "<<", ">>")
_MAY_RAISE = ("/", "//", "%", "**")


def PICK(place: int, kind: str) -> Any:  # a mark: a replay looks the draw up
    raise AssertionError


def _place_in(keys: Any, key: Any) -> int:
    """Where in a list an item stands that is looked up by its key."""
    return int(key) if keys is None else list(keys).index(key)


def keys_of(keys: list[Any] | None) -> Any:
    return None if keys is None else tuple(keys)


def _error(*arguments: Any, call: Native) -> Exception | None:
    """What a call raises."""
    try:
        call.function(*arguments)
    except Exception as error:
        return error
    return None


_NEVER_RAISE = (
    sum, len, abs, min, max, float, range, enumerate, zip, list, tuple, sorted, dict, bool, round,
    np.sum, np.nansum, np.clip, np.abs, np.array, np.asarray, np.minimum, np.maximum, np.where,
)  # fmt: skip


def _may_raise(instruction: Instruction, uses: list[Any]) -> bool:
    if instruction.op in ("binary", "inplace"):
        return instruction.extra in _MAY_RAISE
    if instruction.op == "call":
        function = uses[0]
        read = (
            types.FunctionType,
            LoweredFunction,
            ObjectMethod,
            DrawMethod,
            PartialCall,
            ProgramObject,
        )
        if isinstance(function, read) and not is_library(function):
            return False  # its own instructions are looked at
        return not any(function is f for f in _NEVER_RAISE)
    return instruction.op == "item"


class ContributionMachine(Publics):
    """One run of a mechanism for every data set at once, along one way of public decisions."""

    def __init__(self, script: DecisionScript, replace: bool, races: bool = True) -> None:
        super().__init__()
        self.races = races
        self.outside: dict[int, tuple[Any, Any]] = {}
        self.namespaces: dict[int, dict[str, Any]] = {}
        self.joining = 0
        self.drained: dict[int, tuple[Seq, tuple[Any, ...]]] = {}
        self.flipping = False  # another turn of a loop over candidates is looked at
        self.trying = 0  # calls and instructions in progress whose exceptions are caught
        self.terms = Terms()
        self.script = script
        self.replace = replace
        self.frames: list[CallFrame] = []
        self.steps = 0

    # Running -------------------------------------------------------------------------------------

    def run(self, frame: CallFrame) -> Any:
        """Until the frame returns."""
        if len(self.frames) > DEEPEST:
            raise Unread("calls that go too deep")
        self.frames.append(frame)
        try:
            done, value = self.run_until(frame, None)
        finally:
            self.frames.pop()
        assert done
        return value

    def run_until(self, frame: CallFrame, stop: int | None) -> tuple[bool, Any]:
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
            if instruction.op == "yield" and frame.lazy:
                frame.handed = [frame.registers[instruction.uses[0]]]
                if instruction.dst is not None:
                    frame.registers[instruction.dst] = None
                frame.pc += 1
                return False, None
            try:
                self.step(frame, instruction)
            except NeedsKey:
                raise
            except Unread as reason:
                if not reason.placed:
                    where = f"{frame.code.file}:{instruction.place.line}"
                    placed = Unread(f"{where}: {reason}")
                    placed.placed, placed.of_record = True, self.in_pass
                    raise placed from None
                raise

    def step(self, frame: CallFrame, instruction: Instruction) -> None:
        registers = frame.registers
        op = instruction.op
        if op == "jump":
            frame.pc = instruction.jumps[0]
            return
        if op == "branch":
            self.take(frame, instruction, registers[instruction.uses[0]])
            return
        if op == "next":
            self.next(frame, instruction)
            return
        action = ACTIONS.get(op)
        if action is None:
            raise Unread(f"the instruction `{op}` is not read here")
        try:
            uses = [registers[name] for name in instruction.uses]
            if op not in CARRYING:
                uses = list(map(self.settled, uses))
        except KeyError:
            raise Unread("a variable that may not be set") from None
        if instruction.handler is None and not self.trying:
            value = action(self, frame, instruction, uses)
        elif op in ("raise", "reraise"):
            try:
                action(self, frame, instruction, uses)
            except Raised as raised:
                if instruction.handler is None:
                    raise
                frame.caught, frame.pc = raised.error, instruction.handler
                return
        else:
            try:
                value = self.guarded(frame, instruction, uses, action)
            except Raised as raised:
                if instruction.handler is None:
                    raise
                frame.caught, frame.pc = raised.error, instruction.handler
                return
        if instruction.dst is not None:
            registers[instruction.dst] = value
        frame.pc += 1

    def guarded(
        self, frame: CallFrame, instruction: Instruction, uses: list[Any], action: Any
    ) -> Any:
        """An instruction whose exception would be caught: whether there is one must be public."""
        self.trying += instruction.handler is not None
        try:
            value = action(self, frame, instruction, uses)
        finally:
            self.trying -= instruction.handler is not None
        if all(map(is_plain, uses)) or not _may_raise(instruction, uses):
            return value
        if instruction.op == "item" and isinstance(uses[0], Map) and self.record is not None:
            self.looked_for.add(id(uses[0]))  # it was there: without it, KeyError
            return value
        call: tuple[Any, ...] = (BINARY.get(instruction.extra), *uses)
        if instruction.op == "item":
            call = (item_of, *uses)
        elif instruction.op == "call":
            if any(instruction.extra.stars) or instruction.extra.keywords:
                raise Unread("a call whose exception would be caught")
            call = tuple(uses)
            if isinstance(uses[0], Bound):
                call = (method_of(uses[0].name), uses[0].owner, *uses[1:])
        try:
            failed = self.publicly(_error, *call[1:], call=Native(call[0]))
        except Unread:
            raise Unread("private values where an exception would be caught") from None
        if self.decide(self.publicly(lambda e: e is not None, failed)):
            raise Raised(failed)
        return value

    def take(self, frame: CallFrame, instruction: Instruction, value: Any) -> None:
        """A branch: both ways as one where they meet again, or one of them by the script."""
        plain = is_plain(value) or isinstance(value, (Seq, Map))
        if isinstance(value, Flip):
            settle(self, frame, value)
            return
        if isinstance(value, RecordTruth) and over_places(self, frame, instruction):
            return
        if isinstance(value, RecordTruth) and by_coins(self, frame, value):
            return
        if not plain and self.record is None and not self.by_cases and joined(self, frame, value):
            return
        taken = self.branch(frame, value)
        frame.pc = instruction.jumps[0 if taken else 1]

    def visible(self, form: SymbolicForm) -> SymbolicForm:
        return super().visible(with_made_noise(self, self.reveal(form)))

    def extent(self) -> tuple[int, ...]:
        """How much was found so far: draws, sums, releases."""
        found = self.ledger
        parts: tuple[list[Any], ...] = (found.rows, found.passes, found.noises, found.gates)
        return (*map(len, parts), self.picks, self.uniforms, len(self.script.answers))

    def branch(self, frame: CallFrame, value: Any) -> bool:
        about = value.form if isinstance(value, RecordTruth) else None
        if about is not None and self.terms.kind(about) & NOISE:
            return self.rejected(frame, value)
        return self.decide(value)

    # Names ---------------------------------------------------------------------------------------

    def lookup(self, frame: CallFrame, name: str) -> Any:
        if name in frame.globals:
            return self.admitted(frame.globals[name], f"the global `{name}`")
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unread(f"no name `{name}`")

    def admitted(self, value: Any, what: str) -> Any:
        """A value from outside of the run: constants, modules, functions, objects."""
        return adopted(self, value, what)

    def knows(self, function: Any) -> bool:
        return is_known(function)

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, UnseededGenerator):
            return DrawMethod(name, owner.library)
        if isinstance(owner, (ProgramObject, SuperLookup)) or is_class(owner):
            return attribute(self, owner, name)
        if isinstance(owner, PublicValue):
            return Bound(owner, name)
        if isinstance(owner, Object):
            return owner.attribute(self, name)
        if isinstance(owner, types.ModuleType):
            if not hasattr(owner, name):
                raise Unread(f"{owner.__name__} has no {name}")
            return self.admitted(getattr(owner, name), f"{owner.__name__}.{name}")
        if isinstance(owner, (Rows, Seq, Map, SmallArray, KeyCounts, SymbolicForm)):
            return attribute_of(self, owner, name)
        if is_number(owner) or isinstance(owner, str):
            return Bound(owner, name)
        if isinstance(owner, type) or callable(owner):
            found = getattr(owner, name, None)
            if found is not None and is_known(found):
                return found
        raise Unread(f"the attribute `{name}` of {type(owner).__name__}")

    # Calls ---------------------------------------------------------------------------------------

    def call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, DrawMethod):
            return draw(self, function.library, function.family, arguments, named)
        if isinstance(function, Bound) and isinstance(function.owner, Object):
            return function.owner.call(self, function.name, arguments, named)
        if isinstance(function, Bound):
            if isinstance(function.owner, PublicValue):
                return self.publicly(method_of(function.name), function.owner, *arguments, **named)
            return call_method(self, function.owner, function.name, arguments, named)
        if isinstance(function, LoweredFunction):
            return self.enter(function, arguments, named)
        if isinstance(function, ObjectMethod):
            return self.call(function.function, [function.owner, *arguments], named)
        if isinstance(function, PartialCall):
            together = {**function.named, **named}
            return self.call(function.function, [*function.arguments, *arguments], together)
        if isinstance(function, Own):
            return function.function(self, *function.arguments, *arguments)
        if isinstance(function, ProgramObject):
            return special(self, function, "__call__", *arguments)
        try:
            known = FUNCTIONS.get(function) or pandas_entry(function)
        except TypeError:
            known = None
        if known is not None or not isinstance(function, types.FunctionType):
            arguments = [
                self.whole(a) if isinstance(a, Suspended) and goes_over_rows(a.frame) else a
                for a in arguments
            ]
        plain = all(map(is_plain, (*arguments, *named.values())))
        if self.on_public(function, arguments, named):
            return self.publicly(function, *arguments, **named)
        if known is not None:
            try:
                found = known(self, arguments, named)
            except Unread:
                if module_of(function) != "pandas" or holds_data((*arguments, *named.values())):
                    raise
                found = self.publicly(function, *arguments, **named)
            if found is not NotImplemented:
                return found
        if isinstance(function, types.FunctionType) and function.__code__ is CONTEXT:
            made = self.call(function.__wrapped__, arguments, named)  # type: ignore[attr-defined]
            if not isinstance(made, Suspended):
                raise Unread("a context manager that is no generator")
            return Managed(made)
        if isinstance(function, types.FunctionType) and not is_library(function):
            return self.enter(self.closure_of(function), arguments, named)
        if is_class(function):
            return construct(self, function, arguments, named)
        if is_record_class(function):
            return constructed(self, function, arguments, named)
        if isinstance(function, type) and issubclass(function, Exception):
            return self.publicly(function, *arguments, **named)
        if any(map(has_unit, (*arguments, *named.values()))):
            raise Unread("a parameter that has no value here, in a call that is not known")
        if plain and is_pure(function):
            return natively(function, *arguments, **named)
        if plain or is_pure(function):
            deep = [a for a in (*arguments, *named.values()) if not is_plain(a)]
            if is_pure(function) and all(is_plain_list(a) for a in deep):
                return natively(function, *arguments, **named)
        if is_pure(function) or is_post_processing(function):
            if plain or all(is_plain_list(a) or is_plain(a) for a in (*arguments, *named.values())):
                return natively(function, *arguments, **named)
            return self.publicly(function, *arguments, **named)
        name = getattr(function, "__name__", type(function).__name__)
        raise Unread(f"`{name}` is not known here, on values that are not plain")

    def on_public(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> bool:
        """A pure function of public values, one of which is not known."""
        given = (*arguments, *named.values())
        if not any(isinstance(a, PublicValue) and a.recipe is not None for a in given):
            return False
        unknown_shape = (builtins.range, builtins.enumerate, builtins.zip, builtins.sorted)
        read = any(function is f for f in unknown_shape)
        read = read or isinstance(function, types.FunctionType)
        if read and not is_library(function):
            return False
        return (is_pure(function) or is_post_processing(function)) and all(
            map(self.is_public, given)
        )

    def picked(self, kind: str, *about: Any) -> PublicValue:
        """A public draw: a whole number, a place, an order."""
        self.settled_ways()
        self.picks += 1
        return PublicValue(Recipe(PICK, (self.picks - 1, kind, *about)), len(self.ledger.rows))

    def place_of(self, place: SymbolicForm) -> PublicValue | None:
        """The candidate whose place among others a public number is."""
        only = place.terms[0][0] if len(place.terms) == 1 and not place.constant else None
        node = ("",) if only is None else self.terms.nodes[only]
        recipe = self.recipes.get(node[1]) if node[0] == "pub" else None
        if recipe is None or recipe.function is not _place_in or recipe.arguments[0] is not None:
            return None
        found = recipe.arguments[1]
        return found if found.recipe is not None and found.recipe.function is CANDIDATE else None

    def items_of(self, value: PublicValue, count: int) -> Seq:
        """The values of something public whose length is known."""
        return Seq([self.publicly(item_of, value, i) for i in range(count)])

    def followed(self, form: SymbolicForm) -> SymbolicForm:
        """What a step has shown of a private number: public, and followed in a replay."""
        return self.number_of(self.publicly_followed(lambda v: v, form))

    def publicly_followed(self, function: Any, *arguments: Any) -> PublicValue:
        return PublicValue(Recipe(function, arguments), len(self.ledger.rows))

    def special_comparison(self, op: str, difference: SymbolicForm) -> Any:
        if self.in_pass or op not in ("<", "<=", ">", ">="):
            return None
        found = flip_of(self, op, difference)
        return against_weights(self, op, difference) if found is None else found

    def closure_of(self, function: types.FunctionType) -> LoweredFunction:
        self.namespaces[id(function.__globals__)] = function.__globals__
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
            cells.append(
                SharedVariable(self.admitted(held.cell_contents, f"the variable `{name}`"), True)
            )
        defaults = dict(function.__kwdefaults__ or {})
        positional = [*code.parameters.positional_only, *code.parameters.positional]
        for name, value in zip(
            reversed(positional), reversed(function.__defaults__ or ()), strict=False
        ):
            defaults[name] = value
        return LoweredFunction(code, tuple(cells), defaults, function.__globals__)

    def enter(self, closure: LoweredFunction, arguments: list[Any], named: dict[str, Any]) -> Any:
        frame = self.frame_of(closure, arguments, named)
        return Suspended(frame, self.record) if frame.code.is_generator else self.run(frame)

    # Generators ----------------------------------------------------------------------------------

    def advance(self, generator: Suspended) -> tuple[bool, Any]:
        """(whether there is another value, the value): the body goes on to its next yield."""
        frame = generator.frame
        if self.joining or self.record is not generator.record:
            raise Unread("a generator that goes on in another place than it was made")
        if generator.ended:
            return False, None
        frame.lazy, frame.handed = True, []
        self.frames.append(frame)
        try:
            done, _ = self.run_until(frame, None)
        finally:
            self.frames.pop()
            frame.lazy = False
        generator.started = True
        if done:
            generator.ended = True
            return False, None
        return True, frame.handed[0]

    def whole(self, generator: Suspended) -> Seq:
        """All that a generator hands out; one value for each record where it goes over them."""
        frame = generator.frame
        if generator.started or self.record is not generator.record:
            raise Unread("a generator that goes on in another place than it was made")
        generator.started = generator.ended = True
        self.run(frame)
        return frame.yielded

    def frame_of(
        self, closure: LoweredFunction, arguments: list[Any], named: dict[str, Any]
    ) -> CallFrame:
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
            registers[name] = SharedVariable(registers.get(name), full)
        for name, cell in zip(code.free, closure.cells, strict=True):
            registers[name] = cell
        return CallFrame(code, registers, closure.globals)

    def default(self, value: Any, name: str) -> Any:
        known = (
            SymbolicForm,
            LoweredFunction,
            ProgramObject,
            ObjectMethod,
            PartialCall,
            UnseededGenerator,
            PublicValue,
            types.FunctionType,
        )
        if is_plain(value) or isinstance(value, known):
            return value
        return adopted(self, value, f"the default of `{name}`")

    # Items ---------------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, RecordPosition) and op == "+" and type(b) is int and b == 1:
            return Stepped()
        if op == "@" and isinstance(b, Rows) and isinstance(a, (Rows, Transposed)):
            first = a.rows if isinstance(a, Transposed) else a
            if isinstance(a, Rows) and any(isinstance(c.element, SmallArray) for c in a.cases):
                raise Unread("a product of two arrays of the data")
            if isinstance(a, Transposed) and any(
                isinstance(c.element, SmallArray) for c in b.cases
            ):
                return self.sum_rows(self.per_record(self._outer, first, b))
            return self.sum_rows(super().binary("*", first, b))
        if op in _OF_WHOLE_NUMBERS:
            a, b = self.pinned(a), self.pinned(b)
            divided = isinstance(a, SymbolicForm) and is_number(b) and b > 0
            if op == "//" and divided and self.terms.kind(a) == RECORD:
                return self.terms.of("floor", a.times(1 / Fraction(b)))
        return super().binary(op, a, b)

    def _outer(self, a: Any, b: Any) -> SmallArray:
        """What one record adds to X.T @ Y: its row of X times its row of Y."""
        if not all(isinstance(v, SmallArray) and len(v.shape) == 1 for v in (a, b)):
            raise Unread("a product of two arrays of the data")
        cells = [self.mixed("*", x, y) for x in a.cells for y in b.cells]
        return SmallArray((len(a.cells), len(b.cells)), cells)

    def item(self, owner: Any, index: Any) -> Any:
        if isinstance(owner, Object):
            return owner.item(self, index)
        if isinstance(index, RecordPosition):
            return self.at_place(owner)
        if index is PERSON:
            return self.of_person(owner)
        if not isinstance(owner, Rows):
            index = self.pinned_index(index)
        if isinstance(owner, Rows):
            return self.rows_item(owner, index)
        if isinstance(owner, ProgramObject):
            if field_names(owner.kind):
                return self._of_list(tuple(owner.attributes.values()), index)
            return special(self, owner, "__getitem__", index)
        if isinstance(index, Key):
            return self.count_at(owner, index)
        if isinstance(owner, PublicValue) or not is_plain(index):
            return self.item_at(owner, index)
        if isinstance(owner, Map):
            if owner.open or not is_plain(index):
                raise Unread("a look-up in a mapping that is not known")
            self.touch(owner, index)
            if index not in owner.items and owner.default is not None:
                unshared(owner)
                if owner.default is list and self.record is not None:
                    raise NeedsKey(owner, index)
                owner.items[index] = Seq() if owner.default is list else owner.default
                owner.partial.add(index)
            if index not in owner.items and self.record is not None and self.trying:
                self.looked_for.add(id(owner))
                self.touch(owner, index)
                raise Raised(KeyError(index))
            if index not in owner.items or (index in owner.partial and owner.default is None):
                raise Unread(f"no key {index!r}, or only if a record has it")
            return owner.items[index]
        if isinstance(owner, SmallArray):
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

    def pinned_index(self, index: Any) -> Any:
        """A place of one or several axes, as a plain one, by cases of the record."""
        if isinstance(index, tuple) and self.record is not None:
            return tuple(self.pinned(self.settled(i)) for i in index)
        return self.pinned(index)

    def of_person(self, owner: Any, otherwise: Any = None) -> Any:
        """The entry of the person whose row is looked at."""
        if not isinstance(owner, Map) or self.record is None or by_person(owner) is not None:
            raise Unread("a look-up by person")
        if PERSON not in owner.items:
            if owner.default is list or (otherwise is None and owner.default is None):
                raise Unread("an entry for each person that may be absent: use a defaultdict")
            return owner.default if otherwise is None else otherwise
        return owner.items[PERSON]

    def item_at(self, owner: Any, index: Any) -> Any:
        """An item at a public place that is not known here."""
        known = is_plain(index) or isinstance(index, (SymbolicForm, PublicValue, tuple, slice))
        if known and self.is_public(owner):
            return self.publicly(item_of, owner, index)
        place = index if isinstance(index, PublicValue) else None
        if place is None and isinstance(index, SymbolicForm) and self.is_public(index):
            place = self.publicly(int, index)
        items = owner.items if isinstance(owner, (Seq, Map)) else getattr(owner, "cells", owner)
        one_axis = not isinstance(owner, SmallArray) or len(owner.shape) == 1
        if place is None or not one_axis or not isinstance(items, (list, tuple, dict)):
            raise Unread("an item at a place that is not plain")
        values = list(items.values()) if isinstance(items, dict) else list(items)
        if getattr(owner, "bag", False) or getattr(owner, "open", False) or not values:
            raise Unread("an item of a list that is not known")
        forms = [self.form(v) for v in values]
        if any(self.terms.kind(f) & NOISE for f in forms):
            return self.publicly(item_of, owner, index)
        if self.in_pass:
            raise Unread("a private number at a place that is not plain")
        keys = list(items) if isinstance(items, dict) else None
        number = self.number_of(self.publicly(_place_in, keys_of(keys), place))
        return self.terms.of("pick", number, *forms)

    def _of_list(self, items: Any, index: Any) -> Any:
        if not isinstance(index, (int, slice)) and not hasattr(index, "__index__"):
            raise Unread("an index that is not plain")
        try:
            found = items[index]
        except IndexError:
            raise Unread("an index out of range") from None
        return Seq(list(found)) if isinstance(index, slice) and isinstance(items, list) else found

    def array_item(self, owner: SmallArray, index: Any) -> Any:
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
        return SmallArray(chosen.shape, found)

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
        unshared(owner)
        if index is PERSON:
            known = isinstance(owner, Map) and not (owner.frozen or owner.open)
            if not known or self.record is None or by_person(owner) is not None:
                raise Unread("a change by person")
            owner.items[PERSON] = value
            return
        index = self.pinned_public(self.pinned_index(index))
        if isinstance(owner, Map) and not owner.frozen and not owner.open:
            if not is_plain(index):
                self.put(owner, index, value)
                return
            self.touch(owner, index)
            owner.items[index] = value
        elif isinstance(owner, Seq) and owner.rows is None and not owner.bag and is_plain(index):
            try:
                owner.items[index] = value
            except (IndexError, TypeError):
                raise Unread("an index out of range") from None
        elif isinstance(owner, SmallArray) and is_plain(index):
            places = np.arange(len(owner.cells)).reshape(owner.shape)
            try:
                chosen = places[to_native(index)]
            except IndexError:
                raise Unread("an index out of range") from None
            if np.ndim(chosen) == 0:
                owner.cells[int(chosen)] = value
            else:
                given = self.broadcast(
                    lambda _, v: v, SmallArray(chosen.shape, [0] * chosen.size), value
                )
                for place, cell in zip(chosen.ravel(), given.cells, strict=True):
                    owner.cells[int(place)] = cell
        else:
            raise Unread(f"a change of {type(owner).__name__} in place")

    # Iteration -----------------------------------------------------------------------------------

    def iterate(self, value: Any) -> Any:
        if isinstance(value, (PlainIterator, RowsIterator)):
            return value
        if isinstance(value, Suspended):
            if goes_over_rows(value.frame):
                return self.iterate(self.whole(value))
            return value
        if isinstance(value, ProgramObject):
            if field_names(value.kind):
                return PlainIterator.over(value.attributes.values())
            if has_special(value, "__iter__"):
                return self.iterate(special(self, value, "__iter__"))
        if isinstance(value, Object):
            return value.iterate(self)
        if isinstance(value, Rows):
            return RowsIterator(value)
        if isinstance(value, KeyCounts):
            return value
        if isinstance(value, Seq):
            if value.noisy is not None and len(value.items) == 1:
                noisy = value.noisy
                return KeyCounts(noisy.rows, "items", value, noisy.order)
            if value.drained:
                raise Unread("a loop over what is left of candidates")
            if value.rows is not None:
                return RowsIterator(value.rows)
            if value.bag:
                raise Unread("a loop over a list whose order is private")
            return PlainIterator.over(value.items)
        if (people := by_person(value)) is not None:
            return self.iterate(of_people(self, people, "keys"))
        if isinstance(value, Map):
            if value.partial:
                return self.counts_of(value)
            if value.open:
                raise Unread(f"a loop over a mapping whose keys are those of the data: {KEYS}")
            return PlainIterator.over(value.items)
        if isinstance(value, SmallArray) and value.shape:
            return PlainIterator.over(value.rows())
        if isinstance(value, (tuple, range, str)):
            return PlainIterator.over(value)
        raise Unread(f"a loop over {type(value).__name__}")

    def listed(self, value: Any) -> list[Any]:
        """All values of something that can be gone through one by one."""
        found = self.iterate(value)
        if isinstance(found, Suspended):
            values: list[Any] = []
            while True:
                more, one = self.advance(found)
                if not more:
                    return values
                values.append(one)
        if not isinstance(found, PlainIterator):
            raise Unread("a list of values for each record")
        return list(found.items)

    def next(self, frame: CallFrame, instruction: Instruction) -> None:
        iterator = frame.registers[instruction.uses[0]]
        if isinstance(iterator, PlainIterator):
            if iterator.place >= len(iterator.values):
                if instruction.extra is not None:
                    frame.registers[instruction.extra] = None
                frame.pc = instruction.jumps[0]
                return
            value = iterator.values[iterator.place]
            iterator.place += 1
            if instruction.dst is not None:
                frame.registers[instruction.dst] = value
            frame.pc += 1
        elif isinstance(iterator, Permuted):
            if instruction.dst is not None:
                frame.registers[instruction.dst] = iterator.candidate(self)
            frame.pc += 1
        elif isinstance(iterator, Suspended):
            more, value = self.advance(iterator)
            if not more:
                if instruction.extra is not None:
                    frame.registers[instruction.extra] = None
                frame.pc = instruction.jumps[0]
                return
            if instruction.dst is not None:
                frame.registers[instruction.dst] = value
            frame.pc += 1
        elif isinstance(iterator, RowsIterator):
            if frame.lazy:
                raise Unread("a generator that goes over the data, one by one")
            self.pass_over(frame, instruction, iterator)
        elif isinstance(iterator, KeyCounts):
            self.pass_over_keys(frame, instruction, iterator)
        else:
            raise Unread(f"a loop over {type(iterator).__name__}")

    # What is released ----------------------------------------------------------------------------

    def quantified(self, rows: Rows, conjunction: bool) -> Any:
        """any() or all() of the records."""
        return quantified(self, rows, conjunction)

    def distinct(self, counts: KeyCounts) -> Any:
        """How many keys there are."""
        if counts.rows is None:
            raise Unread("how many keys the data have")
        return distinct(self, counts.rows)

    def release(self, value: Any) -> Any:
        """All that a receiver sees, made visible; its structure is that of one run."""
        if isinstance(value, SymbolicForm):
            return self.visible(value)
        if isinstance(value, (RecordTruth, Combined)):
            seen = self.is_public(value) and not self.by_cases
            return self.shown(value) if seen else self.decide(value)
        if isinstance(value, ProgramObject):
            return ProgramObject(
                value.kind,
                {
                    k: self.release(v)
                    for k, v in value.attributes.items()
                    if not isinstance(v, UnseededGenerator)
                },
            )
        if isinstance(value, Object):
            return value.release(self)
        if isinstance(value, SmallArray):
            return value.map(self.release)
        if isinstance(value, Seq):
            if value.rows is not None:
                raise Unread("a list with an entry for each record is released")
            if value.bag and value.sorted:
                return PublicValue()
            if value.bag:
                raise Unread(
                    "a list is released whose order is that of the private data: sort it first"
                )
            return Seq([self.release(v) for v in value.items])
        if isinstance(value, Map):
            if value.frozen:
                raise Unread("a record is released")
            if value.partial:
                raise Unread(f"a dict is released whose keys are those of the data: {KEYS}")
            if value.open:
                self.ledger.notes.append(
                    "the released dict is taken as a mapping: its order is that of the private "
                    "data, and would leak if it were listed or written out"
                )
                return value
            return Map({k: self.release(v) for k, v in value.items.items()})
        if isinstance(value, tuple):
            return tuple(map(self.release, value))
        if isinstance(value, Suspended):
            return self.release(Seq(self.listed(value)))
        if isinstance(value, PlainIterator):
            return Seq([self.release(v) for v in value.items])
        if is_plain(value) or isinstance(value, PublicValue):
            return value
        raise Unread(f"{type(value).__name__} is released")


__all__ = ["PICK", "CallFrame", "ContributionMachine"]
