"""Calls: of functions of the program, of those in the table, and of pure ones."""

from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Any

from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.sources import lowered
from dpest.reading.contributions.arithmetic import is_plain, natively
from dpest.reading.contributions.control.iteration import all_handed_out, going_through
from dpest.reading.contributions.control.objects import (
    ObjectMethod,
    Own,
    PartialCall,
    adopted,
    construct,
    is_class,
    special,
)
from dpest.reading.contributions.control.public import method_of
from dpest.reading.contributions.control.snapshots import call_apart
from dpest.reading.contributions.control.stack import (
    CONTEXT,
    CallFrame,
    Managed,
    Suspended,
    goes_over_rows,
    holds_data,
)
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.methods.calling import call_method
from dpest.reading.contributions.functions.pandas_functions import pandas_entry
from dpest.reading.contributions.functions.purity import (
    is_library,
    is_plain_list,
    is_post_processing,
    is_pure,
    module_of,
)
from dpest.reading.contributions.functions.sources import draw
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.shapes import constructed, is_record_class
from dpest.reading.contributions.table import FUNCTIONS
from dpest.reading.contributions.values import (
    Bound,
    DrawMethod,
    LoweredFunction,
    Map,
    Object,
    ProgramObject,
    PublicValue,
    SharedVariable,
    UnseededGenerator,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


_OF_THE_PROGRAM = (LoweredFunction, ObjectMethod, PartialCall, ProgramObject, Bound)


def call(m: ContributionMachine, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """What a call gives: of a method, a closure, an object, or a function."""
    if m.apart and isinstance(function, _OF_THE_PROGRAM):
        return call_apart(m, lambda: call(m, function, arguments, named), (function, *arguments))
    if isinstance(function, DrawMethod):
        return draw(m, function.library, function.family, arguments, named)
    if isinstance(function, Bound) and isinstance(function.owner, Object):
        with going_through(function, arguments, named):
            return function.owner.call(m, function.name, arguments, named)
    if isinstance(function, Bound):
        with going_through(function, arguments, named):
            if isinstance(function.owner, PublicValue):
                return m.publicly(method_of(function.name), function.owner, *arguments, **named)
            return call_method(m, function.owner, function.name, arguments, named)
    if isinstance(function, LoweredFunction):
        return _enter(m, function, arguments, named)
    if isinstance(function, ObjectMethod):
        return call(m, function.function, [function.owner, *arguments], named)
    if isinstance(function, PartialCall):
        together = {**function.named, **named}
        return call(m, function.function, [*function.arguments, *arguments], together)
    if isinstance(function, Own):
        return function.function(m, *function.arguments, *arguments)
    if isinstance(function, ProgramObject):
        return special(m, function, "__call__", *arguments)
    with going_through(function, arguments, named):
        return _call_function(m, function, arguments, named)


def _call_function(
    m: ContributionMachine, function: Any, arguments: list[Any], named: dict[str, Any]
) -> Any:
    """A function: by its entry in the table where it has one."""
    try:
        known = FUNCTIONS.get(function) or pandas_entry(function)
    except TypeError:
        known = None
    if known is not None or not isinstance(function, types.FunctionType):
        arguments = [
            all_handed_out(m, a) if isinstance(a, Suspended) and goes_over_rows(a.frame) else a
            for a in arguments
        ]
    if _is_of_public_values(m, function, arguments, named):
        return m.publicly(function, *arguments, **named)
    if known is not None:
        try:
            found = known(m, arguments, named)
        except Unread:
            if module_of(function) != "pandas" or holds_data((*arguments, *named.values())):
                raise
            found = m.publicly(function, *arguments, **named)
        if found is not NotImplemented:
            return found
    return _call_untabled(m, function, arguments, named)


def _call_untabled(
    m: ContributionMachine, function: Any, arguments: list[Any], named: dict[str, Any]
) -> Any:
    """Functions and classes of the program, and pure ones of libraries: no table knows them."""
    if isinstance(function, types.FunctionType) and function.__code__ is CONTEXT:
        made = call(m, function.__wrapped__, arguments, named)  # type: ignore[attr-defined]
        if not isinstance(made, Suspended):
            raise Unread("a context manager that is no generator")
        return Managed(made)
    if isinstance(function, types.FunctionType) and not is_library(function):
        return _enter(m, closure_of(m, function), arguments, named)
    if is_class(function):
        return construct(m, function, arguments, named)
    if is_record_class(function):
        return constructed(m, function, arguments, named)
    if isinstance(function, type) and issubclass(function, Exception):
        return m.publicly(function, *arguments, **named)
    if any(map(has_unit, (*arguments, *named.values()))):
        raise Unread("a parameter that has no value here, in a call that is not known")
    if is_pure(function) or is_post_processing(function):
        if all(is_plain_list(a) or is_plain(a) for a in (*arguments, *named.values())):
            return natively(function, *arguments, **named)
        return m.publicly(function, *arguments, **named)
    name = getattr(function, "__name__", type(function).__name__)
    raise Unread(f"`{name}` is not known here, on values that are not plain")


def _is_of_public_values(
    m: ContributionMachine, function: Any, arguments: list[Any], named: dict[str, Any]
) -> bool:
    """A pure function of public values, one of which is not known."""
    given = (*arguments, *named.values())
    if not any(isinstance(a, PublicValue) and a.recipe is not None for a in given):
        return False
    unknown_shape = (builtins.range, builtins.enumerate, builtins.zip, builtins.sorted)
    read = any(function is f for f in unknown_shape)
    read = read or isinstance(function, types.FunctionType)
    if read and not is_library(function):
        return False
    return (is_pure(function) or is_post_processing(function)) and all(map(m.is_public, given))


def closure_of(m: ContributionMachine, function: types.FunctionType) -> LoweredFunction:
    m.namespaces[id(function.__globals__)] = function.__globals__
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
        cells.append(SharedVariable(m.admitted(held.cell_contents, f"the variable `{name}`"), True))
    defaults = dict(function.__kwdefaults__ or {})
    positional = [*code.parameters.positional_only, *code.parameters.positional]
    for name, value in zip(
        reversed(positional), reversed(function.__defaults__ or ()), strict=False
    ):
        defaults[name] = value
    return LoweredFunction(code, tuple(cells), defaults, function.__globals__)


def _enter(
    m: ContributionMachine, closure: LoweredFunction, arguments: list[Any], named: dict[str, Any]
) -> Any:
    frame = _frame_of(m, closure, arguments, named)
    return Suspended(frame, m.record) if frame.code.is_generator else m.run(frame)


def _frame_of(
    m: ContributionMachine, closure: LoweredFunction, arguments: list[Any], named: dict[str, Any]
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
            registers[name] = _default(m, closure.defaults[name], name)
    for name in code.cells:
        full = name in registers
        registers[name] = SharedVariable(registers.get(name), full)
    for name, cell in zip(code.free, closure.cells, strict=True):
        registers[name] = cell
    return CallFrame(code, registers, closure.globals)


def _default(m: ContributionMachine, value: Any, name: str) -> Any:
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
    return adopted(m, value, f"the default of `{name}`")
