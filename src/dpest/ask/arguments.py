"""What the verbs may be given: a wrong type or size is refused at once, with what to give."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpest.ask.adjacency import Adjacency
from dpest.ask.domains import ANY, Domain
from dpest.errors import InputError
from dpest.notions.claims import Claim

# Inputs of the search are lists of Python numbers, some dozens at a time.
LONGEST = 100_000
MOST_LENGTHS = 1_000
MOST_WORKERS = 1_024


def check_arguments(**given: Any) -> None:
    """Raise InputError for the first that can't be meant; None always means "not given"."""
    for name, value in given.items():
        if value is not None:
            _CHECKS[name](name, value)


def check_length(length: Any) -> None:
    """A number of entries, within what a search can hold."""
    if isinstance(length, bool) or not isinstance(length, numbers.Integral):
        raise InputError(f"a length is a whole number, such as 10; got {_shown(length)}")
    if not 1 <= int(length) <= LONGEST:
        raise InputError(f"a length is between 1 and {LONGEST:,}; got {_shown(int(length))}")


def check_size(entries: int, what: str = "the input") -> None:
    if entries > LONGEST:
        raise InputError(f"{what} has {entries:,} entries; at most {LONGEST:,} can be audited")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:79] + "…"


def _length(name: str, value: Any) -> None:
    if value is ANY:
        return
    if isinstance(value, (str, bytes, Mapping, set)) or not isinstance(value, (Sequence, range)):
        check_length(value)
        return
    if not 1 <= len(value) <= MOST_LENGTHS:
        raise InputError(
            f"{name} has between 1 and {MOST_LENGTHS:,} lengths; got {len(value):,} of them"
        )
    for part in (value[0], value[-1]) if isinstance(value, range) else value:
        check_length(part)


def _one_of(words: str, *types: type) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InputError(f"{name} is {words}; got {_shown(value)}")

    return check


def _real(words: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise InputError(f"{name} is {words}; got {_shown(value)}")
        try:
            number = float(value)
        except (OverflowError, ValueError):
            number = math.inf
        if math.isnan(number):
            raise InputError(f"{name} is {words}; got {_shown(value)}")

    return check


def _whole(words: str, low: int, high: int) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            raise InputError(f"{name} is {words}; got {_shown(value)}")

    return check


def _params(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is a dict of values by name, {{'eps': 0.1}}; got {_shown(value)}")


def _engines(name: str, value: Any) -> None:
    names = not isinstance(value, (str, bytes)) and isinstance(value, Sequence)
    if not names or not all(isinstance(part, str) for part in value):
        raise InputError(
            f"{name} is a list of names, such as ('proof', 'exact'); got {_shown(value)}"
        )


def _budget(name: str, value: Any) -> None:
    from dpest.attacks.budget import Budget

    _one_of("'30s', '1e6runs' or a number of runs", Budget, str, int, float)(name, value)


def _progress(name: str, value: Any) -> None:
    if not callable(value):
        raise InputError(f"{name} is a function that takes a Progress; got {_shown(value)}")


def _device(name: str, value: Any) -> None:
    if not isinstance(value, str) or not _DEVICE.match(value):
        raise InputError(
            f"{name} is numpy, or one of torch such as cuda or cuda:0; got {_shown(value)}"
        )


_DEVICE = re.compile(r"^(numpy|cpu|torch:cpu|(torch:)?cuda(:[0-9]{1,2})?)$")
_text = _one_of("a word", str)
_flag = _one_of("True or False", bool)
_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "epsilon": _one_of("a number, such as 0.5", numbers.Real, str),
    "delta": _real("a probability, such as 1e-5"),
    "claim": _one_of("a claim, such as PureDP(1), 'zcdp:0.05', or 1.0", Claim, str, numbers.Real),
    "adjacency": _one_of("an adjacency, such as dpest.linf(1) or 'l1'", Adjacency, str),
    "domain": _one_of("a domain, such as dpest.reals(5) or 'reals(5)'", Domain, str),
    "length": _length,
    "params": _params,
    "alpha": _real("a probability between 0 and 1"),
    "budget": _budget,
    "seed": _whole("a whole number, at least 0", 0, 1 << 128),
    "engines": _engines,
    "floating_point": _flag,
    "progress": _progress,
    "workers": _whole(f"a whole number, 1 to {MOST_WORKERS}", 1, MOST_WORKERS),
    "cluster": _text,
    "state": _one_of("the path of a file", str, os.PathLike),
    "state_repair": _flag,
    "device": _device,
    "patience": _real("a positive factor"),
    "unit": _one_of("the name of a parameter", str),
    "method": _text,
    "certify": _flag,
    "isolate": _flag,
    "coq": _flag,
    "false_alarm": _real("a probability between 0 and 1"),
    "catches": _real("an ε above the claim"),
    "missed": _real("a probability between 0 and 1"),
}
