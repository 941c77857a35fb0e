"""Calls: functions of the program become frames, all others are looked up in the table."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import types
from typing import Any

import numpy as np

from dpest.noise.family import Noise
from dpest.reading.code.instructions import Code, Instruction, Parameters
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.sources import lowered
from dpest.reading.machine import known, prelude
from dpest.reading.machine.adopting import NotConcrete, adopt, readable_class, to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import find_in_class, local_order
from dpest.reading.machine.control import RESUME
from dpest.reading.machine.heap import (
    Cell,
    DictObject,
    GeneratorObject,
    Instance,
    ListObject,
    LocalClass,
    SetObject,
)
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.state import Frame
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    Method,
    Partial,
    Ref,
    SciPyDistribution,
    Super,
)
from dpest.reading.table.registry import NATIVE, TABLE, is_library


class Calls:
    """What a call gives: a value, a Frame that is to be executed, or an Enter."""

    def op_call(self: Any, frame: Frame, i: Instruction) -> None:
        values = [self.get(frame, u) for u in i.uses]
        function, given = values[0], values[1:]
        stars, keywords = i.extra
        args: list[Any] = []
        for value, star in zip(given, stars, strict=False):
            if star:
                args.extend(self.all_items(value, "* of"))
            else:
                args.append(value)
        kwargs: dict[str, Any] = {}
        for name, value in zip(keywords, given[len(stars) :], strict=True):
            self._add_keyword(kwargs, name, value)
        result = self.call(function, tuple(args), kwargs)
        if isinstance(result, Frame):
            self.push(result)
        else:
            self.put(frame, i, result)

    def _add_keyword(self: Any, kwargs: dict[str, Any], name: str | None, value: Any) -> None:
        if name is not None:
            new = {name: value}
        else:
            thing = self.state.heap.read(value) if isinstance(value, Ref) else None
            if not isinstance(thing, DictObject):
                raise Refused("** of something that is no dict")
            new = dict(thing.items)
        for key in new:
            if not isinstance(key, str):
                raise Thrown(TypeError("keywords must be strings"))
            if key in kwargs:
                raise Thrown(TypeError(f"got multiple values for keyword argument '{key}'"))
        kwargs.update(new)

    def call(self: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(f, BoundMethod):
            if isinstance(f.function, Method):
                if f.function.library == "seeded":
                    return self.call_seeded(f.function.name, f.owner, args, kwargs)
                return self.call_table(f.function, (f.owner, *args), kwargs)
            return self.call(f.function, (f.owner, *args), kwargs)
        if isinstance(f, Partial):
            return self.call(f.function, (*f.args, *args), {**dict(f.kwargs), **kwargs})
        if isinstance(f, SciPyDistribution):
            return self.call_table(Method("distribution", "freeze"), (f, *args), kwargs)
        if isinstance(f, Closure):
            defaults = dict(zip(f.code.parameters.defaulted, f.defaults, strict=True))
            cells = dict(zip(f.code.free, f.cells, strict=True))
            return self.frame_of(f.code, f.names, cells, defaults, args, kwargs)
        if f is RESUME:
            return self._resumed(*args)
        if isinstance(f, Ref):
            return self._call_object(f, args, kwargs)
        if isinstance(f, known.KnownMethod) or known.is_of_library(f):
            return known.call(self, f, args, kwargs)
        if _known_to_table(f):
            return self.call_table(f, args, kwargs)
        if isinstance(f, types.FunctionType):
            return self.frame_of_function(f, args, kwargs)
        if isinstance(f, type):
            return self.instance(f, args, kwargs)
        raise Refused(f"`{_name(f)}` is not in the table of functions", _UNKNOWN)

    def call_table(
        self: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """A function of a library: on known values its own, otherwise what the table says."""
        kwargs = kwargs or {}
        if is_native(f):
            try:
                known = [to_python(self.state, v) for v in args]
                named = {k: to_python(self.state, v) for k, v in kwargs.items()}
            except NotConcrete:
                pass
            else:
                return self.call_native(f, known, named)
        entry = TABLE.get(f)
        if entry is None:
            raise Refused(
                f"`{_name(f)}` of noisy or private values is not in the table of functions",
                _UNKNOWN_HERE,
            )
        try:
            return entry(self, *args, **kwargs)
        except NotConcrete:
            raise Refused(f"`{_name(f)}` of a value that is not known") from None
        except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
            # An entry that does not know what it was given must not go on.
            raise Refused(f"`{_name(f)}`: {error}") from None

    def call_native(self: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if "out" in kwargs and kwargs["out"] is not None:
            raise Refused(f"`out=` of `{_name(f)}`")
        try:
            with np.errstate(all="ignore"):
                result = f(*args, **kwargs)
        except Exception as error:
            raise Thrown(error) from None
        if isinstance(result, np.ndarray):
            for a in (*args, *kwargs.values()):
                if isinstance(a, np.ndarray) and np.may_share_memory(a, result):
                    raise Refused(f"`{_name(f)}` gives a view, which the table doesn't know")
        self.known_errors.called(f, args, result)
        return self.adopted(result)

    def call_seeded(
        self: Any, name: str, owner: Ref, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from dpest.reading.table import generator

        try:
            return generator.seeded(self, name, owner, args, kwargs)
        except NotConcrete:
            raise Refused("a draw whose parameters depend on noise or data") from None

    # Functions of the program

    def frame_of_function(
        self: Any, f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if is_library(f):
            name = f"{f.__module__}.{f.__qualname__}"
            raise Refused(f"`{name}` is not in the table of functions", _UNKNOWN)
        try:
            code = lowered(f.__code__)
        except NotLowered as reason:
            where = f"{reason.file}:{reason.line}" if reason.file and reason.line else None
            refusal = Refused(f"`{f.__qualname__}`: {reason.reason}")
            refusal.where = where
            raise refusal from None
        self.seen_namespaces.setdefault(id(f.__globals__), f.__globals__)
        return self.frame_of(
            code, f.__globals__, self._cells(f), self._defaults(code, f), args, kwargs
        )

    def _cells(self: Any, f: types.FunctionType) -> dict[str, Ref]:
        found = {}
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            known = self.state.adopted.get(id(cell))
            if known is None:
                made = Cell(outside=True)
                ref = self.state.heap.new(made)
                self.state.adopted[id(cell)] = (cell, ref)
                try:
                    content = cell.cell_contents
                except ValueError:
                    pass
                else:
                    made.value = adopt(self.state, content, outside=True)
                    made.empty = False
                found[name] = ref
            else:
                found[name] = known[1]
        return found

    def _defaults(self: Any, code: Code, f: types.FunctionType) -> dict[str, Any]:
        plain = (*code.parameters.positional_only, *code.parameters.positional)
        given = f.__defaults__ or ()
        found = dict(zip(plain[len(plain) - len(given) :], given, strict=True))
        found.update(f.__kwdefaults__ or {})
        return {k: adopt(self.state, v, outside=True) for k, v in found.items()}

    def frame_of(
        self: Any,
        code: Code,
        names: dict[str, Any],
        cells: dict[str, Ref],
        defaults: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        self.seen_codes.setdefault(id(code), code)
        registers = self.bound(code, code.parameters, defaults, args, kwargs)
        for name in code.cells:
            cell = Cell(registers[name], False) if name in registers else Cell()
            registers[name] = self.state.heap.new(cell)
        for name in code.free:
            registers[name] = cells[name]
        frame = Frame(code, names, registers)
        if code.is_generator:
            return self.state.heap.new(GeneratorObject(frame))
        return frame

    def bound(
        self: Any,
        code: Code,
        p: Parameters,
        defaults: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> dict[str, Any]:
        """Arguments by the names of parameters, as Python binds them."""
        plain = (*p.positional_only, *p.positional)
        found: dict[str, Any] = dict(zip(plain, args, strict=False))
        if len(args) > len(plain) and p.star is None:
            raise Thrown(TypeError(f"{code.qualname}() takes {len(plain)} positional arguments"))
        rest: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in p.positional or name in p.keyword_only:
                if name in found:
                    text = f"{code.qualname}() got multiple values for argument '{name}'"
                    raise Thrown(TypeError(text))
                found[name] = value
            elif p.double_star is not None:
                rest[name] = value
            else:
                text = f"{code.qualname}() got an unexpected keyword argument '{name}'"
                raise Thrown(TypeError(text))
        for name in (*plain, *p.keyword_only):
            if name not in found:
                if name not in defaults:
                    text = f"{code.qualname}() missing a required argument: '{name}'"
                    raise Thrown(TypeError(text))
                found[name] = defaults[name]
        if p.star is not None:
            found[p.star] = tuple(args[len(plain) :])
        if p.double_star is not None:
            found[p.double_star] = self.state.heap.new(DictObject(rest))
        return found

    def _resumed(self: Any, ref: Ref, sent: Any) -> Any:
        frame = self.resume(ref, sent)
        if frame is None:
            return Enter(_raise_stop, ())
        return frame

    def op_closure(self: Any, frame: Frame, i: Instruction) -> None:
        code = i.extra.code
        size = len(code.free)
        cells = tuple(frame.registers[u] for u in i.uses[:size])
        defaults = tuple(self.get(frame, u) for u in i.uses[size:])
        self.put(frame, i, Closure(code, frame.names, cells, defaults))

    # Classes

    def op_class(self: Any, frame: Frame, i: Instruction) -> None:
        code, name, class_cell = i.extra
        size = len(code.free)
        cells = dict(zip(code.free, (frame.registers[u] for u in i.uses[:size]), strict=True))
        bases = tuple(self.get(frame, u) for u in i.uses[size:])
        for base in bases:
            if isinstance(base, type) and not (
                base is object or issubclass(base, BaseException) or readable_class(base)
            ):
                raise Refused(f"an inner class that derives from {base.__name__}")
        order = local_order(self.state, bases)
        made = self.state.heap.new(LocalClass(name, order, {}))
        body = self.frame_of(code, frame.names, cells, {}, (), {})
        if class_cell:
            cell = self.state.heap.write(body.registers["__class__"])
            cell.value, cell.empty = made, False
        body.back, body.target = "class", made
        self.push(body)

    def op_namespace(self: Any, frame: Frame, i: Instruction) -> None:
        thing = self.state.heap.write(frame.target)
        for name in i.extra:
            if name in frame.registers:
                thing.attributes[name] = frame.registers[name]
        for name in attributes_that_matter(thing.attributes):
            raise Refused(f"an inner class with `{name}`")
        self.state.frames.pop()
        self.deliver(frame.target)

    def op_super(self: Any, frame: Frame, i: Instruction) -> None:
        cell = self.state.heap.read(frame.registers[i.uses[0]])
        self.put(frame, i, Super(cell.value, self.get(frame, i.uses[1])))

    def _call_object(self: Any, ref: Ref, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        thing = self.state.heap.read(ref)
        if isinstance(thing, Instance):
            method = find_in_class(self.state, thing.cls, "__call__")
            if method is not None:
                return self.call(method, (ref, *args), kwargs)
        if isinstance(thing, LocalClass):
            return self._made(ref, args, kwargs)
        raise Thrown(TypeError(f"'{self.type_name(ref)}' object is not callable"))

    def instance(self: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new object of a class of Python's."""
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            if (
                not cls.__new__.__code__.co_filename.startswith("<string>")
                and "_cls" not in (cls.__new__.__code__.co_varnames[:1])
            ):
                raise Refused(f"`{cls.__name__}` with a `__new__` of its own")
            try:
                return cls(*args, **kwargs)
            except TypeError as error:
                raise Thrown(error) from None
        if issubclass(cls, enum.Enum):
            return self.call_native(cls, [to_python(self.state, v) for v in args], {})
        if issubclass(cls, BaseException):
            return self._made(cls, args, kwargs)
        if not readable_class(cls):
            raise Refused(f"`{cls.__name__}` is not in the table of functions", _UNKNOWN)
        if getattr(cls, "__abstractmethods__", None):
            raise Thrown(TypeError(f"Can't instantiate abstract class {cls.__name__}"))
        if _has_made_init(cls):
            return self._dataclass(cls, args, kwargs)
        return self._made(cls, args, kwargs)

    def _made(self: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        init = find_in_class(self.state, cls, "__init__")
        is_error = self.is_subclass(cls, BaseException)
        ref = self.state.heap.new(Instance(cls, {"args": args} if is_error else {}))
        if init is None:
            if kwargs or (args and not is_error):
                raise Thrown(TypeError(f"{self.type_name(ref)}() takes no arguments"))
            return ref
        frame = self.call(init, (ref, *args), kwargs)
        if not isinstance(frame, Frame):
            raise Refused("an `__init__` that is not a plain function")
        frame.back, frame.target = "instance", ref
        return frame

    def _dataclass(self: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fields = [f for f in dataclasses.fields(cls) if f.init]
        positional = tuple(f.name for f in fields if not f.kw_only)
        keyword = tuple(f.name for f in fields if f.kw_only)
        unset = object()
        defaults = {
            f.name: unset if f.default is dataclasses.MISSING else
            adopt(self.state, f.default, outside=True)
            for f in fields
            if f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        }  # fmt: skip
        shown = Code(cls.__name__, cls.__qualname__, "", 0, Parameters())
        parameters = Parameters(positional=positional, keyword_only=keyword)
        values = self.bound(shown, parameters, defaults, args, kwargs)
        for f in cls.__dataclass_fields__.values():
            if f._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
                raise Refused(f"`{cls.__name__}` with an InitVar")
        for f in dataclasses.fields(cls):
            if values.get(f.name, unset) is unset:
                if f.default_factory is not dataclasses.MISSING:
                    values[f.name] = self._from_factory(f.default_factory)
                elif f.default is not dataclasses.MISSING:
                    values[f.name] = adopt(self.state, f.default, outside=True)
        ref = self.state.heap.new(Instance(cls, values))
        post = find_in_class(self.state, cls, "__post_init__")
        if post is None or issubclass(cls, Noise):  # a noise looks at its parameters when drawn
            return ref
        frame = self.call(post, (ref,), {})
        if not isinstance(frame, Frame):
            raise Refused("a `__post_init__` that is not a plain function")
        frame.back, frame.target = "instance", ref
        return frame

    def _from_factory(self: Any, factory: Any) -> Any:
        made = {list: ListObject([]), dict: DictObject({}), set: SetObject({})}.get(factory)
        if made is None:
            result = self.call(factory, (), {})
            if isinstance(result, (Frame, Enter)):
                raise Refused("a default factory that is code of the program")
            return result
        return self.state.heap.new(made)

    def dataclass_method(self: Any, method: Any) -> Any:
        """`__eq__` of a dataclass has no source: it compares the fields."""
        if isinstance(method, types.FunctionType) and method.__code__.co_filename == "<string>":
            owner = method.__qualname__.rsplit(".", 1)[0]
            if method.__name__ != "__eq__":
                raise Refused(f"`{owner}.{method.__name__}` has no source")
            cls = _class_with(method)
            names = tuple(f.name for f in dataclasses.fields(cls) if f.compare)
            return Partial(prelude.dataclass_equal_, (names,), ())
        return method

    # Arrays

    def as_array(self: Any, value: Any) -> Array:
        """np.asarray of a list or tuple."""
        made = self.call_table(np.asarray, (value,))
        if not isinstance(made, Array):
            raise Refused("an array of something that is no sequence")
        return made

    def array_attribute(self: Any, thing: Array, name: str) -> Any:
        from dpest.reading.table import numpy_arrays

        return numpy_arrays.attribute(self, thing, name)

    def lazy_attribute(self: Any, thing: Any, name: str) -> Any:
        return None


def attributes_that_matter(found: dict[str, Any]) -> list[str]:
    refused = ("__slots__", "__getattr__", "__getattribute__", "__new__", "__del__", "__setattr__")
    return [name for name in refused if name in found]


def _raise_stop() -> None:
    raise StopIteration


@functools.lru_cache(maxsize=1024)
def _class_with(method: Any) -> Any:
    import gc

    for holder in gc.get_referrers(method):
        if isinstance(holder, dict):
            for cls in gc.get_referrers(holder):
                if isinstance(cls, type) and cls.__dict__.get("__eq__") is method:
                    return cls
    raise Refused("the class of a method was not found")


def _has_made_init(cls: type) -> bool:
    """Whether `__init__` was written by `dataclasses`."""
    init = cls.__init__  # type: ignore[misc]
    made = isinstance(init, types.FunctionType) and init.__code__.co_filename == "<string>"
    return made and dataclasses.is_dataclass(cls)


def is_native(f: Any) -> bool:
    """Functions without effects: on known values Python's own may answer."""
    if isinstance(f, types.MethodDescriptorType):
        return f.__objclass__ in _NATIVE_TYPES or issubclass(f.__objclass__, np.generic)
    try:
        return f in NATIVE
    except TypeError:
        return False


_UNKNOWN = (
    "use NumPy, the module math or plain Python for it, or compute it outside and hand it in as a "
    "parameter, where it needs no data"
)
_UNKNOWN_HERE = "use plain Python, sums and comparisons for it"
_NATIVE_TYPES = (str, bytes, int, float, bool, complex, range)


def _known_to_table(f: Any) -> bool:
    try:
        return f in TABLE or is_native(f)
    except TypeError:
        return False


def _name(f: Any) -> str:
    if isinstance(f, Method):
        return f"{f.library}.{f.name}"
    module = getattr(f, "__module__", None)
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    return f"{module}.{name}" if module not in (None, builtins.__name__) else str(name)
