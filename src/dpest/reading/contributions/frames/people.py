"""The rows of each person: frame.groupby(user)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.frame import RecordFrame
from dpest.reading.contributions.frames.series import Labels, Series
from dpest.reading.contributions.persons import (
    derived,
    first_rows,
    is_user,
    may_be_absent,
    number_of,
)
from dpest.reading.contributions.values import Bound, Object, Rows


@dataclass(eq=False)
class PersonGroups(Object):
    """frame.groupby(user): the rows of each person."""

    columns: Mapping[str, Rows]
    chosen: str | None = None
    words = "the rows of each person"

    def item(self, m: Any, index: Any) -> Any:
        if not isinstance(index, str) or index not in self.columns or self.chosen is not None:
            raise Unread("a column of groups that is not known")
        return PersonGroups(self.columns, index)

    def attribute(self, m: Any, name: str) -> Any:
        import pandas

        known = hasattr(pandas.api.typing.DataFrameGroupBy, name)
        if name in self.columns and self.chosen is None and not known:
            return self.item(m, name)
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if arguments or named:
            raise self.refused(f"the method `{name}` with arguments")
        rows = next(iter(self.columns.values()))
        if name == "first" and self.chosen is None:
            user = [n for n, r in self.columns.items() if is_user(r)]
            rest = {n: r for n, r in self.columns.items() if n not in user}
            if any(may_be_absent(c.element) for r in rest.values() for c in r.cases):
                raise Unread("the first values of people that are not missing")
            return RecordFrame(first_rows(rest), Labels())
        if name == "size":
            return Series(derived(m, "count", m.per_record(lambda _: 1, rows)), Labels())
        if self.chosen is None or name not in ("sum", "mean", "max", "min", "count"):
            raise self.refused(f"the method `{name}`")
        values = m.per_record(number_of, self.columns[self.chosen])
        return Series(derived(m, name, values), Labels(), self.chosen)
