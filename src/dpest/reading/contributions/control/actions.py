"""What each instruction does, other than those that decide where control goes."""

from __future__ import annotations

import importlib
import types
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import is_plain, natively, unshared
from dpest.reading.contributions.control.catching import SILENT_EXIT
from dpest.reading.contributions.control.objects import (
    ObjectMethod,
    Own,
    SuperLookup,
    set_attribute,
)
from dpest.reading.contributions.control.operators import of_objects
from dpest.reading.contributions.control.stack import CallFrame, Managed
from dpest.reading.contributions.forms import Raised, SymbolicForm, Unread
from dpest.reading.contributions.functions.purity import POST, PURE_MODULES
from dpest.reading.contributions.functions.statistics import SortedRows
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.gaps.functions import between_ends
from dpest.reading.contributions.gaps.values import PerGap, SortedEdges
from dpest.reading.contributions.persons import PERSON
from dpest.reading.contributions.values import (
    LoweredFunction,
    Map,
    Object,
    ProgramObject,
    PublicValue,
    Rows,
    Seq,
    SetOfData,
    SharedVariable,
    Silence,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def _build(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    parts: list[Any] = []
    ordered = [u.ordered or u if isinstance(u, Seq) else u for u in uses]
    stars = list(zip(ordered, i.extra.stars, strict=False))
    if i.extra.kind == "list" and any(s and isinstance(v, SortedRows) for v, s in stars):
        return between_ends(m, [v if s else Seq([v]) for v, s in stars])
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
    return m.publicly(_set_of, tuple(parts)) if parts else SetOfData()


def _set_of(parts: Any) -> Any:
    return set(parts)


def _dict(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    found: dict[Any, Any] = {}
    stars = i.extra or [False] * (len(uses) // 2)
    for key, value, star in zip(uses[::2], uses[1::2], stars, strict=False):
        if star:
            if not isinstance(value, Map) or not value.known:
                raise Unread("a dict that is unpacked into another")
            found.update(value.items)
        elif is_plain(key):
            found[key] = value
        else:
            raise Unread("a dict whose keys are not plain")
    return Map(found)


def _format(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    """A part of an f-string: of public values, text that is not known."""
    spec = uses[1] if len(uses) > 1 else ""
    conversion = {-1: None, ord("s"): str, ord("r"): repr, ord("a"): ascii}[i.extra]
    if has_unit(uses[0]):
        raise Unread("the text of a parameter that has no value here")
    if all(map(is_plain, uses)) and not isinstance(uses[0], SmallArray):
        value = uses[0] if conversion is None else conversion(uses[0])
        return natively(format, value, spec)
    if isinstance(uses[0], ProgramObject):
        raise Unread("the text of an object")
    value = uses[0] if conversion is None else m.publicly(conversion, uses[0])
    return m.publicly(format, value, spec)


def _text(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    if all(isinstance(u, str) for u in uses):
        return "".join(uses)
    return m.publicly(lambda *parts: "".join(parts), *uses)


def _left(m: ContributionMachine, owner: Managed, *error: Any) -> bool:
    if any(e is not None for e in error):
        raise Unread("an exception inside of a context manager")
    return owner.left(m)


def _special(owner: Any, name: str) -> Any:
    if isinstance(owner, Managed):
        enters = name == "__enter__"
        return Own(lambda m, *error: owner.entered(m) if enters else _left(m, owner, *error))
    if isinstance(owner, Silence):
        return SILENT_EXIT if name == "__exit__" else Own(lambda m: None)
    found = getattr(owner.kind, name, None) if isinstance(owner, ProgramObject) else None
    if not isinstance(found, types.FunctionType):
        raise Unread(f"{name} of {type(owner).__name__}")
    return ObjectMethod(owner, found)


def _set_attribute(
    m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]
) -> None:
    set_attribute(m, uses[0], i.extra, uses[1])


def _super(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    kind = uses[0].value if isinstance(uses[0], SharedVariable) else uses[0]
    if not isinstance(kind, type) or not isinstance(uses[1], ProgramObject):
        raise Unread("super() outside of a method")
    return SuperLookup(kind, uses[1])


def _caught(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    kinds = tuple(m.listed(uses[1])) if isinstance(uses[1], (tuple, Seq)) else (uses[1],)
    if not all(isinstance(k, type) for k in kinds):
        raise Unread("exceptions of a kind that is not known")
    if isinstance(uses[0], KeyError):  # of a record that looked for a key
        return isinstance(uses[0], kinds)
    return m.publicly(lambda error, *kinds: isinstance(error, kinds), uses[0], *kinds)


def _raise(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    error = uses[0]
    if isinstance(error, type) and issubclass(error, Exception):
        error = m.publicly(error)
    if not isinstance(error, PublicValue):
        raise Unread("an exception that is not known")
    raise Raised(error)


def _call(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    shape = i.extra
    function, rest = uses[0], uses[1:]
    arguments: list[Any] = []
    for value, star in zip(rest[: len(shape.stars)], shape.stars, strict=True):
        unpacked = m.unzipped(value) if star and function is zip and len(rest) == 1 else None
        if unpacked is not None:
            return unpacked
        arguments += m.listed(value) if star else [value]
    named: dict[str, Any] = {}
    for name, value in zip(shape.keywords, rest[len(shape.stars) :], strict=True):
        if name is not None:
            named[name] = value
        elif isinstance(value, Map) and value.known:
            named.update(value.items)
        else:
            raise Unread("keywords that are not plain")
    return m.call(function, arguments, named)


def _compare(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    a, b = uses
    op = i.extra
    if op in ("is", "is not"):
        if a is None or b is None:
            other = b if a is None else a
            if isinstance(other, PublicValue):
                found = m.publicly(lambda v: v is None, other)
                return found if op == "is" else m.publicly(lambda v: not v, found)
            return (a is b) == (op == "is")
        if isinstance(a, bool) and isinstance(b, bool):
            return (a is b) == (op == "is")
        raise Unread("`is` of values other than None")
    if op in ("in", "not in"):
        if isinstance(b, Object):
            return b.contains(m, a) == (op == "in")
        if isinstance(b, Map):
            a = m.pinned(a)
        if isinstance(b, Map) and b.growing and PERSON not in b.items and is_plain(a):
            return m.has_key(b, a) == (op == "in")
        if isinstance(b, Map) and (b.growing or b.partial or PERSON in b.items):
            raise Unread("whether the data have a key")
        if isinstance(b, Map) and not b.open and is_plain(a):
            return (a in b.items) == (op == "in")
        if is_plain(a) and is_plain(b) and isinstance(b, (tuple, str, range)):
            return (a in b) == (op == "in")
        if isinstance(b, Seq) and b.rows is None and is_plain(a) and all(map(is_plain, b.items)):
            return (a in b.items) == (op == "in")
        known = b.items if isinstance(b, Seq) and b.rows is None and not b.bag else b
        if m.in_pass and isinstance(a, SymbolicForm) and isinstance(known, (list, tuple, range)):
            return any(m.decide(m.compare("==", a, one)) for one in known) == (op == "in")
        if not (isinstance(b, Map) and b.open):
            inside = (lambda x, y: x in y) if op == "in" else (lambda x, y: x not in y)
            return m.publicly(inside, a, b)
        raise Unread("`in` of values that are not plain")
    return m.compare(op, a, b)


def _inplace(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    a, b = uses
    if isinstance(a, ProgramObject):
        return of_objects(m, i.extra, a, b, in_place=True)
    unshared(a)
    if isinstance(a, Seq):
        if i.extra != "+" or a.rows is not None or a.bag:
            raise Unread("a list that is changed in place")
        a.items.extend(m.listed(b))
        return a
    if isinstance(a, (Rows, SortedRows, SortedEdges)):
        raise Unread("data that are changed in place")
    if isinstance(a, PerGap):
        return a.changed_in_place(m, i.extra, b)
    found = m.binary(i.extra, a, b)
    if isinstance(a, SmallArray):
        if not isinstance(found, SmallArray) or found.shape != a.shape:
            raise Unread("an array that changes its shape in place")
        integers = a.cells and all(isinstance(c, int) for c in a.cells)
        if integers and not all(isinstance(c, int) for c in found.cells):
            raise Unread("an array of integers that is changed to other numbers in place")
        a.cells[:] = found.cells
        return a
    return found


def _unpack(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    if i.extra.star is not None:
        parts = tuple(m.listed(uses[0]))
        rest = len(parts) - i.extra.size + 1
        if rest < 0:
            raise Unread("a value that is unpacked into too many names")
        k = i.extra.star
        return (*parts[:k], Seq(list(parts[k : k + rest])), *parts[k + rest :])
    if isinstance(uses[0], PublicValue):
        return tuple(m.items_of(uses[0], i.extra.size).items)
    parts = tuple(m.listed(uses[0]))
    if len(parts) != i.extra.size:
        raise Unread("a value that is unpacked into the wrong number of names")
    return parts


def _append(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> None:
    owner = uses[0].values if isinstance(uses[0], SetOfData) else uses[0]
    m.append(owner, uses[1])


def _put(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> None:
    m.set_item(uses[0], uses[1], uses[2])


def _unset_item(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> None:
    """del a[i]."""
    owner, index = uses[0], m.pinned_public(uses[1])
    unshared(owner)
    known = isinstance(owner, Seq) and owner.rows is None and not owner.bag
    known = known or (isinstance(owner, Map) and not (owner.open or owner.frozen or owner.partial))
    if not known or not is_plain(index) or m.in_pass:
        raise Unread("an item that is deleted, and not known")
    try:
        del owner.items[index]
    except (KeyError, IndexError, TypeError):
        raise Unread("an item that is deleted, and is not there") from None


def _set_item(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> None:
    m.set_item(uses[0], uses[1], uses[2])


def _closure(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    code = i.extra.code
    count = len(code.free)
    defaults = dict(zip(code.parameters.defaulted, uses[count:], strict=True))
    return LoweredFunction(code, tuple(uses[:count]), defaults, frame.globals)


def _cell(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    if not isinstance(uses[0], SharedVariable) or not uses[0].full:
        raise Unread("a variable that may not be set")
    return uses[0].value


def _set_cell(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> None:
    uses[0].value, uses[0].full = uses[1], True


def _yield(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    m.append(frame.yielded, uses[0])


def _import(m: ContributionMachine, frame: CallFrame, i: Instruction, uses: list[Any]) -> Any:
    wanted = i.extra
    known = (*PURE_MODULES, *POST, "random", "secrets")
    if wanted.level or wanted.module.split(".")[0] not in known:
        raise Unread(f"the import of {wanted.module}")
    module = importlib.import_module(wanted.module)
    if wanted.name is not None:
        return m.attribute(module, wanted.name)
    return module if wanted.whole else importlib.import_module(wanted.module.split(".")[0])


# Instructions that hand a value on as it is.
CARRYING = ("move", "build", "dict", "append", "yield", "setcell")
ACTIONS: dict[str, Any] = {
    "const": lambda m, f, i, u: i.extra,
    "move": lambda m, f, i, u: u[0],
    "global": lambda m, f, i, u: m.lookup(f, i.extra),
    "cell": _cell,
    "setcell": _set_cell,
    "newcell": lambda m, f, i, u: SharedVariable(),
    "unary": lambda m, f, i, u: m.unary(i.extra, u[0]),
    "binary": lambda m, f, i, u: m.binary(i.extra, u[0], u[1]),
    "inplace": _inplace,
    "compare": _compare,
    "attr": lambda m, f, i, u: m.attribute(u[0], i.extra),
    "item": lambda m, f, i, u: m.item(u[0], u[1]),
    "setitem": _set_item,
    "unsetitem": _unset_item,
    "build": _build,
    "dict": _dict,
    "append": _append,
    "add": _append,
    "put": _put,
    "unpack": _unpack,
    "part": lambda m, f, i, u: u[0][i.extra],
    "iter": lambda m, f, i, u: m.iterate(u[0]),
    "call": _call,
    "format": _format,
    "text": _text,
    "setattr": _set_attribute,
    "super": _super,
    "raise": _raise,
    "reraise": _raise,
    "catch": lambda m, f, i, u: f.caught,
    "caught": _caught,
    "special": lambda m, f, i, u: _special(u[0], i.extra),
    "closure": _closure,
    "yield": _yield,
    "import": _import,
}
