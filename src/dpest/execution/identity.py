"""What a piece of work is, as a hash: equal only if the answer must be equal."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpest.ask.declaration import as_mechanism
from dpest.running.places import source_of, undeclared

_CONSTANTS = (bool, int, float, str, bytes, tuple, list, dict, np.ndarray, np.generic)


def mechanism_identity(mechanism: Any) -> str:
    """A hash of a mechanism's source and of what it uses of the user's own code.

    Comments count: a file that was edited is another mechanism, to be on the safe side.
    """
    target = as_mechanism(mechanism)
    return _digest(_code(target.function, set()))


def work_identity(*parts: Any) -> str:
    """A hash of parameters, inputs and settings, and of the library that makes the draws."""
    return _digest(_value([np.__version__, *parts]))


def _digest(words: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for word in words:
        digest.update(len(word).to_bytes(8, "little"))
        digest.update(word)
    return digest.hexdigest()


def _code(function: Any, seen: set[int]) -> Iterator[bytes]:
    """The source of a function and of the user's functions and constants that it names."""
    if id(function) in seen:
        return
    seen.add(id(function))
    function = undeclared(function)
    code = getattr(function, "__code__", None)
    if code is None:
        yield f"{type(function).__module__}.{type(function).__qualname__}".encode()
        call = inspect.getattr_static(type(function), "__call__", None)
        if inspect.isfunction(call):
            yield from _code(call, seen)
            yield from _value(vars(function) if hasattr(function, "__dict__") else None)
        return
    try:
        yield source_of(function).encode()
    except (OSError, TypeError):
        yield code.co_code
        yield repr([c for c in code.co_consts if not inspect.iscode(c)]).encode()
    yield from _value([function.__defaults__, function.__kwdefaults__])
    for cell in function.__closure__ or ():
        try:
            contents = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield from _named("closure", contents, seen)
    for name in sorted(_names(code)):
        if name in function.__globals__:
            yield from _named(name, function.__globals__[name], seen)


def _names(code: Any) -> set[str]:
    """The global names that a code object and the functions inside it use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            names |= _names(constant)
    return names


def _named(name: str, thing: Any, seen: set[int]) -> Iterator[bytes]:
    inner = getattr(thing, "function", None) if not inspect.ismodule(thing) else None
    if callable(inner):  # a declared Mechanism
        thing = inner
    if inspect.isfunction(thing):
        if _users(thing):
            yield name.encode()
            yield from _code(thing, seen)
    elif inspect.ismodule(thing) or inspect.isbuiltin(thing):
        yield f"{name}:{getattr(thing, '__name__', '')}".encode()
    elif inspect.isclass(thing):
        yield name.encode()
        if _users(thing):
            try:
                yield inspect.getsource(thing).encode()
            except (OSError, TypeError):
                yield thing.__qualname__.encode()
    elif isinstance(
        thing, (bool, int, float, str, bytes, tuple, list, dict, np.ndarray, np.generic)
    ):
        yield name.encode()
        yield from _value(thing)


def _users(thing: Any) -> bool:
    file = getattr(sys.modules.get(thing.__module__ or ""), "__file__", None) or ""
    return "site-packages" not in file and "/lib/python" not in file


def _value(value: Any) -> Iterator[bytes]:
    """Bytes that are equal for equal values, whatever order a dict or a set has."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield b"array"
        yield str((value.dtype.str, value.shape)).encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, np.generic):
        yield from _value(value.item())
    elif isinstance(value, Mapping):
        yield b"mapping"
        for key in sorted(value, key=repr):
            yield from _value(key)
            yield from _value(value[key])
        yield b"end"
    elif isinstance(value, (list, tuple)):
        yield type(value).__name__.encode()
        for part in value:
            yield from _value(part)
        yield b"end"
    elif isinstance(value, (set, frozenset)):
        yield b"set"
        yield from _value(sorted(value, key=repr))
    elif value is None or isinstance(value, (bool, int, float, str, bytes, complex)):
        yield f"{type(value).__name__}:{value!r}".encode()
    elif hasattr(value, "to_dict") and hasattr(value, "columns"):  # a DataFrame
        yield b"frame"
        yield from _value({str(column): value[column].to_numpy() for column in value.columns})
    elif isinstance(value, np.random.SeedSequence):
        yield from _value(["seed", value.entropy, value.spawn_key])
    elif isinstance(value, np.ndarray):
        yield from _value(value.tolist())
    else:
        yield pickle.dumps(value, protocol=4)
