"""Whether the tracing reader may be believed about a function.

That reader runs symbolic values inside of CPython, in the disguise of numbers. It can't see what a
function does with types, text, identity, whole lists, its own state or a function that it doesn't
know. So all of the user's code that can be reached is inspected first: only what is on a list of
known constructs and functions passes, everything else is refused with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import UntraceableError
from dpest.reading.guard.inspection import ALL, STATE, Inspection, Suspicion
from dpest.reading.refusals import SAMPLING

_MOST_KEPT = 64
_known: dict[Any, tuple[Any, tuple[Suspicion, ...]]] = {}


def findings(mechanism: Any, form: str = "list") -> tuple[Suspicion, ...]:
    """Everything in a mechanism's code that the reader is not known to read rightly."""
    target: Mechanism = as_mechanism(mechanism)
    params = {k: v for k, v in target.all_params.items() if k != "rng"}
    key = (id(target.function), form, _shape(params))
    kept = _known.get(key)
    if kept is not None and kept[0] is target.function:
        return kept[1]
    if len(_known) >= _MOST_KEPT:
        _known.clear()
    found = _inspected(target, params, form)
    _known[key] = (target.function, found)
    return found


def _inspected(target: Mechanism, params: Mapping[str, Any], form: str) -> tuple[Suspicion, ...]:
    """The inspection's findings; code that it fails on is code that it does not know."""
    try:
        return tuple(Inspection(target.function, params, form).found)
    except Exception as error:
        what = f"code that can't be inspected ({type(error).__name__}: {error})"
        code = getattr(target.function, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
        return (Suspicion(where, what, "write it more plainly", None),)


def _shape(params: Mapping[str, Any]) -> Any:
    return tuple(
        (name, type(value).__name__, id(value) if callable(value) else 0)
        for name, value in params.items()
    )


def refused(
    mechanism: Any,
    *,
    form: str = "list",
    symbols: Iterable[str] = ALL,
    methods: frozenset[str] = frozenset(),
) -> Suspicion | None:
    """The first finding that stands in the way, or None.

    `symbols` says what is symbolic in the reading: "data", "length", "noise", "parameter".
    `methods` are those that its values know, beyond the usual ones.
    """
    looked_at = frozenset(symbols)
    for finding in findings(mechanism, form):
        if finding.method in methods:
            continue
        if finding.touches is None or finding.touches & looked_at:
            return finding
    return None


def keeps_state(mechanism: Any) -> Suspicion | None:
    """The first place where the code changes something that outlives a call."""
    return next((f for f in findings(mechanism) if f.advice == STATE), None)


def check(mechanism: Any, *, form: str = "list", symbols: Iterable[str] = ALL) -> None:
    """Raise UntraceableError, with the user's line, where a reading could be wrong."""
    finding = refused(mechanism, form=form, symbols=symbols)
    if finding is not None:
        raise UntraceableError(finding.operation, f"{finding.advice}; {SAMPLING}", finding.where)


def form_of(x: Any) -> str:
    """What the function takes, as the guard tells it apart: a list, an array, or one number."""
    if isinstance(x, (list, tuple, dict)):
        return "list"
    return "array" if getattr(x, "ndim", 0) else "number"


__all__ = ["Suspicion", "check", "findings", "form_of", "refused"]
