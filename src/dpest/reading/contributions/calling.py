"""Arguments by name, and functions of the user that are called for each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpest.reading.contributions.control.snapshots import Snapshot
from dpest.reading.contributions.forms import Unread


def given(arguments: list[Any], named: dict[str, Any], *names: str, **defaults: Any) -> list[Any]:
    """The arguments in the order of their names; what is left over is refused."""
    return list(by_name(names, defaults, arguments, named).values())


def by_name(
    names: Sequence[str],
    defaults: Mapping[str, Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[str, Any]:
    """What each name is given, as Python does it; what is left over is refused."""
    found = dict(zip(names, arguments, strict=False))
    if len(arguments) > len(names):
        raise Unread("a call with arguments that are not known here")
    for name, value in named.items():
        if name not in names or name in found:
            raise Unread(f"a call with the argument `{name}`")
        found[name] = value
    for name in names:
        if name not in found:
            if name not in defaults:
                raise Unread(f"a call without `{name}`")
            found[name] = defaults[name]
    return {name: found[name] for name in names}


def on_record(m: Any, function: Any, arguments: list[Any]) -> Any:
    """function(record), which must not change anything else: it is called once for all records."""
    before = Snapshot(m.frames)
    noises = len(m.ledger.noises)
    found = m.call(function, arguments, {})
    if any(True for _ in before.changes()):
        raise Unread("a function of each record that changes something else")
    if len(m.ledger.noises) != noises:
        raise Unread("noise for every record")
    return found
