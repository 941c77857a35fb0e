"""Where the entries of functions are kept, and how an entry looks at its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.values import Object, Rows, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


Handler = Callable[["ContributionMachine", list[Any], dict[str, Any]], Any]
FUNCTIONS: dict[Any, Handler] = {}


def entry(*functions: Any) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        for function in functions:
            FUNCTIONS[function] = handler
        return handler

    return declare


def all_plain(arguments: list[Any], named: dict[str, Any]) -> bool:
    return all(map(is_plain, (*arguments, *named.values())))


def rows_of(m: ContributionMachine, value: Any) -> Any:
    """The rows behind a list of the data."""
    if isinstance(value, Object):
        found = value.rows()
        return value if found is None else found
    return value.rows if isinstance(value, Seq) and value.rows is not None else value


def as_array(m: ContributionMachine, value: Any) -> Any:
    """A list as NumPy's functions take it."""
    value = rows_of(m, value)
    if isinstance(value, Object) and (cells := value.cells()) is not None:
        return cells
    return m.array(value) if isinstance(value, (Rows, Seq, tuple)) else value
