"""Methods of lists, dicts, sets, text and arrays that hold values of the run, and of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.machine import prelude
from dpest.running.native.signals import NotCompiled
from dpest.running.native.specialising.arrays import objects, python_number
from dpest.running.native.specialising.calls import RunCalls
from dpest.running.native.specialising.functions import TABLE
from dpest.running.native.values import RunNumber, RunValue, kind_of

Method = Callable[..., Any]


def method_of(run: RunCalls, owner: Any, name: str) -> Method:
    """The method, bound; NotCompiled where there is no entry for it."""
    for kind, table in _METHODS:
        if isinstance(owner, kind) and name in table:
            entry = table[name]
            return lambda *args, **words: entry(run, owner, *args, **words)
    raise NotCompiled(f"the method {name} of a {type(owner).__name__} with values of the run")


# Lists


def _pop(run: RunCalls, owner: list[Any], *place: Any) -> Any:
    index = run.resolved(place[0]) if place else -1
    if not isinstance(index, RunNumber):
        return run.plain(lambda: owner.pop(index))
    kinds = {kind_of(v) for v in owner}
    if len(kinds) != 1 or not kinds <= set("fib"):
        return owner.pop(run.plain_index(index))
    at = run.in_range(index, len(owner), IndexError("pop index out of range"))
    gone = run.element(owner, at)
    rest = [
        run.select(run.compare(">", at, i), owner[i], owner[i + 1]) for i in range(len(owner) - 1)
    ]
    owner[:] = rest
    return gone


def _insert(run: RunCalls, owner: list[Any], place: Any, value: Any) -> None:
    owner.insert(run.plain_index(place), value)


def _sort(run: RunCalls, owner: list[Any], *, key: Any = None, reverse: bool = False) -> Any:
    if key is not None:
        return run.by_prelude(prelude.sort_in_place_, owner, key, reverse)
    made, _ = run.exchanged(owner)
    owner[:] = made[::-1] if reverse else made
    return None


def _extend(run: RunCalls, owner: list[Any], values: Any) -> None:
    owner.extend(run.rows(values))


def _plain_only(name: str) -> Method:
    def entry(run: RunCalls, owner: Any, *args: Any) -> Any:
        if run.holds_run(owner) or run.holds_run(args):
            raise NotCompiled(f"the method {name} with values of the run")
        return run.plain(lambda: getattr(owner, name)(*args))

    return entry


def _untouched(name: str) -> Method:
    """Python's own method, which never looks at the values."""
    return lambda run, owner, *args: run.plain(lambda: getattr(owner, name)(*args))


# Dicts and sets


def _by_key(name: str) -> Method:
    def entry(run: RunCalls, owner: Any, key: Any, *rest: Any) -> Any:
        plain = run.plain_index(key)
        return run.plain(lambda: getattr(owner, name)(plain, *rest))

    return entry


def _update(run: RunCalls, owner: dict[Any, Any], *given: Any, **words: Any) -> None:
    pairs = given[0] if given else {}
    if not isinstance(pairs, dict):
        pairs = {run.plain_index(k): v for k, v in run.rows(pairs)}
    owner.update(pairs, **words)


# Text


def _join(run: RunCalls, owner: str, parts: Any) -> Any:
    resolved = [run.resolved(p) for p in run.rows(parts)]
    if any(isinstance(p, RunValue) for p in resolved):
        raise NotCompiled("the text of a number of the run")
    return run.plain(lambda: owner.join(resolved))


# Numbers


def _number_method(name: str) -> Method:
    def entry(run: RunCalls, owner: Any, *args: Any, **words: Any) -> Any:
        value = run.resolved(owner)
        if not isinstance(value, RunNumber):
            return run.call(getattr(value, name), args, words)
        if name == "item":
            return python_number(value)
        if name == "astype":
            return run.converted(value, *args)
        if name == "is_integer":
            return run.compare("==", value, run.function("rint", value, True))
        if name == "bit_length":
            return int(run.plain_index(value)).bit_length()
        if name == "copy":
            return value
        return TABLE[getattr(np, name)](run, value, *args, **words)

    return entry


# Arrays


def _tolist(run: RunCalls, owner: np.ndarray) -> Any:
    if owner.ndim == 0:
        return python_number(owner[()])
    return [_tolist(run, v) if isinstance(v, np.ndarray) else python_number(v) for v in owner]


def _item(run: RunCalls, owner: np.ndarray, *place: Any) -> Any:
    if not place and owner.size != 1:
        raise NotCompiled("item of an array of several elements")
    return python_number(owner.flat[place[0] if place else 0])


def _astype(run: RunCalls, owner: np.ndarray, dtype: Any, copy: bool = True) -> Any:
    return run.converted(owner, dtype)


def _array_sort(run: RunCalls, owner: np.ndarray) -> None:
    if owner.ndim != 1:
        raise NotCompiled("sorting along an axis")
    run.changeable(owner)
    owner[:] = objects(run.exchanged(list(owner))[0])


def _fill(run: RunCalls, owner: np.ndarray, value: Any) -> None:
    run.changeable(owner)
    for place in np.ndindex(owner.shape):
        owner[place] = value


def _by_function(f: Any) -> Method:
    return lambda run, owner, *args, **words: TABLE[f](run, owner, *args, **words)


_ARRAY: dict[str, Method] = {
    name: _by_function(getattr(np, name))
    for name in (
        *("sum", "max", "min", "argmax", "argmin", "cumsum", "mean", "clip", "round", "any"),
        *("all", "argsort", "dot", "std", "var"),
    )
} | {
    "tolist": _tolist,
    "item": _item,
    "astype": _astype,
    "sort": _array_sort,
    "fill": _fill,
    "copy": _untouched("copy"),
    "reshape": _untouched("reshape"),
    "ravel": _untouched("ravel"),
    "flatten": _untouched("flatten"),
    "transpose": _untouched("transpose"),
}

_METHODS: tuple[tuple[type, dict[str, Method]], ...] = (
    (
        list,
        {
            "append": _untouched("append"),
            "extend": _extend,
            "insert": _insert,
            "pop": _pop,
            "sort": _sort,
            "copy": _untouched("copy"),
            "reverse": _untouched("reverse"),
            "clear": _untouched("clear"),
            "index": _plain_only("index"),
            "count": _plain_only("count"),
            "remove": _plain_only("remove"),
        },
    ),
    (
        dict,
        {
            "keys": lambda run, owner: list(owner),
            "values": lambda run, owner: list(owner.values()),
            "items": lambda run, owner: list(owner.items()),
            "get": _by_key("get"),
            "pop": _by_key("pop"),
            "setdefault": _by_key("setdefault"),
            "update": _update,
            "copy": _untouched("copy"),
            "clear": _untouched("clear"),
        },
    ),
    (
        set,
        {
            "add": _by_key("add"),
            "discard": _by_key("discard"),
            "remove": _by_key("remove"),
            "copy": _untouched("copy"),
        },
    ),
    (str, {"join": _join}),
    (tuple, {"index": _plain_only("index"), "count": _plain_only("count")}),
    (np.ndarray, _ARRAY),
    (
        RunValue,
        {
            name: _number_method(name)
            for name in (
                *("item", "astype", "is_integer", "bit_length", "copy", "round", "clip", "sum"),
                *("max", "min", "mean"),
            )
        },
    ),
)
