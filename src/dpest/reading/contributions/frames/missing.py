"""Missing values: skipped by pandas' sums, means and counts, and nowhere else."""

from __future__ import annotations

import math
from typing import Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.persons import may_be_absent
from dpest.reading.contributions.values import Combined, RecordTruth, Rows


def absent(value: Any) -> bool:
    """Whether pandas takes a value of a record for missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def summed(m: Any, rows: Rows) -> Any:
    """Series.sum(): what is missing counts as nothing."""
    return m.sum_rows(m.per_record(lambda e: 0 if absent(e) else require_number(e), rows))


def require_number(value: Any) -> Any:
    if isinstance(value, (SymbolicForm, RecordTruth, Combined)) or is_number(value):
        return value
    raise Unread(f"a sum of values that are no numbers ({type(value).__name__})")


def count(m: Any, rows: Rows) -> Any:
    """Series.count(): how many are not missing."""
    if not any(may_be_absent(c.element) for c in rows.cases if c.present):
        return m.length_of(rows)
    return m.sum_rows(m.per_record(lambda e: int(not absent(e)), rows))


def mean(m: Any, rows: Rows) -> Any:
    return m.binary("/", summed(m, rows), count(m, rows))
