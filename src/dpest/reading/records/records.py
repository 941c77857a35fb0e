"""The records of a dataset of any size, one value each, computed only when a sum is asked for.

What a user's code does with each record (a comprehension, a mask, a NumPy function, a histogram)
is kept as a function of the record. A sum runs it on every case of one record: `record_cases`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.loops.entrywise import Entrywise
from dpest.reading.loops.merging import decided
from dpest.reading.records.public_sizes import RecordPlace, Size
from dpest.reading.records.record_cases import (
    SKIPPED,
    CaseTable,
    Entry,
    RecordRun,
    Statistic,
    case_of,
    computed,
    explored,
    refuse_query,
)
from dpest.reading.records.record_containers import KEYS, PrivateSize, SortedRecords
from dpest.reading.tracing.running import in_run, running
from dpest.reading.tracing.symbolic import Real, Truth, typed
from dpest.reading.tracing.symbolic_arrays import symbolic_array


class RecordValues(Entrywise):
    """One value for each record; `of` computes it, or says SKIPPED."""

    def __init__(
        self, of: Callable[[Any], Any], array: bool | None = False, whole: bool = True
    ) -> None:
        self.of = of
        self.array = array
        self.whole = whole
        """Whether no record can be left out."""

    # One value at a time

    def each(
        self, how: Callable[..., Any], *others: Any, array: bool | None = None
    ) -> RecordValues:
        parts = [o for o in others if isinstance(o, RecordValues)]

        def of(record: Any) -> Any:
            values = [self.of(record)]
            values += [o.of(record) if isinstance(o, RecordValues) else o for o in others]
            return SKIPPED if any(v is SKIPPED for v in values) else how(*values)

        kind = self.array if array is None else array
        return RecordValues(of, kind, self.whole and all(o.whole for o in parts))

    def _with(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, (np.ndarray, list, tuple)) and np.ndim(other) > 0:
            refuse_query(
                "arithmetic of the records with a vector of known length",
                "Give a length (length=10), or sum over the records first",
                telling=False,
            )
        return self.each(how, other)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, operator.floordiv)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, operator.mod)

    def __pow__(self, other: Any) -> Any:
        return self._with(other, operator.pow)

    def __neg__(self) -> Any:
        return self.each(operator.neg)

    def __abs__(self) -> Any:
        return self.each(abs)

    def __invert__(self) -> Any:
        return self.each(operator.invert)

    def __and__(self, other: Any) -> Any:
        return self._with(other, operator.and_)

    def __or__(self, other: Any) -> Any:
        return self._with(other, operator.or_)

    __rand__, __ror__ = __and__, __or__

    def __eq__(self, other: object) -> Any:
        return self._with(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._with(other, operator.ne)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, RecordPlace):
            return self.of(running().record)  # type: ignore[attr-defined]
        if isinstance(key, RecordValues):
            return self.filtered(key.of)
        if isinstance(key, slice) and key == slice(None):
            return self
        if isinstance(key, str):
            return self.each(operator.itemgetter(key))
        refuse_query(
            "one record is picked by its place",
            "Any record may be the one that differs: use sums",
            telling=False,
        )

    def filtered(self, keep: Callable[[Any], Any]) -> RecordValues:
        def of(record: Any) -> Any:
            kept = keep(record)
            return SKIPPED if kept is SKIPPED or not bool(kept) else self.of(record)

        return RecordValues(of, self.array, False)

    def mapped(
        self, function: Callable[..., Any], test: Any, single: bool, now: bool = False
    ) -> RecordValues:
        """A comprehension over the records; a list is computed now, as its names may change."""

        def of(record: Any) -> Any:
            value = self.of(record)
            if value is SKIPPED:
                return value
            given = (value,) if single else value
            if test is not None and not bool(test(*given)):
                return SKIPPED
            return function(*given)

        whole = self.whole and test is None
        return tabled(of, whole) if now else RecordValues(of, False, whole)

    def as_array(self, dtype: Any = None) -> RecordValues:
        found = RecordValues(self._typed, True, self.whole)
        return found if dtype is None else found.astype(dtype)

    def _typed(self, record: Any) -> Any:
        value = self.of(record)
        return value if value is SKIPPED or isinstance(value, dict) else typed(value, True)

    # Sums over all records

    def columns(self, compute: Callable[[Any], Sequence[Any]]) -> list[Any]:
        """Sums of several numbers for each record: compute(value) gives them, or None for none."""
        sums = _sums()

        def of(record: Any) -> Sequence[Any]:
            value = self.of(record)
            return compute(value)

        return sums.totals(computed(sums.entry, sums, of))

    def sum(self, axis: Any = None) -> Any:
        _one_axis(axis)
        (found,) = self.columns(lambda v: [v])
        return typed(found, True) if self.array else found

    def length(self) -> Any:
        """How many there are: public where only whole datasets of one size are neighbours."""
        if self.whole and not _sums().entry.come_and_go:
            return Size()
        (found,) = self.columns(lambda v: [0 if v is SKIPPED else 1])
        return PrivateSize(found, self.whole)

    def mean(self, axis: Any = None) -> Any:
        _one_axis(axis)
        return self.sum() / self.length()

    def count(self, value: Any) -> Any:
        return self.columns(lambda v: [0 if v is SKIPPED else bool(v == value)])[0]

    def statistic(self, name: str, at: Callable[[list[Fraction]], Fraction]) -> Any:
        """An order statistic of the values, for datasets of one size."""
        sums = _sums()
        if sums.entry.come_and_go or not self.whole:
            refuse_query(
                f"the {name} of records that come and go",
                "Its value may move by the whole range of the data, and there is none of no "
                "records: use replace_one and a bounded domain, or the exponential mechanism",
            )
        found = sums.statistic(
            computed(sums.entry, sums, lambda r: [self.of(r)]), Statistic(name, at)
        )
        return typed(found, True) if self.array else found

    def max(self, axis: Any = None) -> Any:
        _one_axis(axis)
        return self.statistic("maximum", max)

    def min(self, axis: Any = None) -> Any:
        _one_axis(axis)
        return self.statistic("minimum", min)

    def any(self, axis: Any = None) -> Any:
        return self.each(lambda v: int(bool(v))).max(axis)

    def all(self, axis: Any = None) -> Any:
        return self.each(lambda v: int(bool(v))).min(axis)

    def quantile(self, q: Any) -> Any:
        if np.ndim(q) or not 0 <= float(q) <= 1:
            refuse_query("several quantiles at once", "Ask for one at a time")
        return self.statistic(f"quantile {float(q)}", lambda v: _quantile(v, Fraction(q)))

    @property
    def size(self) -> Any:
        return self.length()

    @property
    def shape(self) -> Any:
        return (self.length(),)

    ndim = 1

    def clip(
        self, low: Any = None, high: Any = None, *, a_min: Any = None, a_max: Any = None
    ) -> Any:
        low, high = low if a_min is None else a_min, high if a_max is None else a_max
        if any(isinstance(end, (RecordValues, Real, Truth)) for end in (low, high)):
            refuse_query("a clip between private ends", "Use public ends")
        return self.each(lambda v: _clipped(v, low, high))

    def astype(self, dtype: Any) -> RecordValues:
        def to(value: Any) -> Any:
            if isinstance(value, Real):
                return value.astype(dtype)
            return int(bool(value)) if isinstance(value, Truth) else np.dtype(dtype).type(value)

        return self.each(to)

    def copy(self) -> RecordValues:
        return self

    def tolist(self) -> RecordValues:
        return RecordValues(self.of, False, self.whole)

    flatten = ravel = copy

    def bincount(self, weights: Any = None, minlength: Any = 0) -> Any:
        size = int(minlength)
        others = [] if weights is None else [weights]

        def one(value: Any, *weight: Any) -> Any:
            at = _bin_of(value, size)
            return [(weight[0] if weight else 1) if i == at else 0 for i in range(size)]

        def columns(values: Any) -> Any:
            return [0] * size if values is SKIPPED else values

        return symbolic_array(self.each(one, *others).columns(columns))

    def histogram(
        self, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
    ) -> Any:
        if density or weights is not None:
            refuse_query("np.histogram with density or weights", "Count, and divide afterwards")
        if np.ndim(bins) == 0:
            if range is None or isinstance(bins, str):
                refuse_query(
                    "np.histogram without a range takes its bins from the data",
                    "Say where the bins are: range=(low, high), or a list of edges",
                )
            bins = np.linspace(float(range[0]), float(range[1]), int(bins) + 1)
        edges = [float(e) for e in bins]
        last = len(edges) - 2

        def one(value: Any) -> list[int]:
            found = [0] * (last + 1)
            if value is not SKIPPED:
                for i, (low, high) in enumerate(itertools.pairwise(edges)):
                    if bool(value >= low) and (
                        bool(value < high) or (i == last and bool(value == high))
                    ):
                        found[i] = 1
                        break
            return found

        return symbolic_array(self.columns(one)), np.array(edges)

    # What Python and NumPy ask

    def __iter__(self) -> Any:
        refuse_query(
            "a loop over the records that can't be followed here",
            "Write it as a loop of the mechanism itself, a comprehension, or a sum",
            telling=False,
        )

    def __len__(self) -> int:
        refuse_query("len() of the records in another function", "Use len(x) itself", telling=False)

    def __bool__(self) -> bool:
        if self.whole and not self.array and not _sums().entry.come_and_go:
            return True  # neighbours under replace_one have at least one record
        refuse_query("the truth value of the records", "Add noise to their number instead")

    def __str__(self) -> str:
        refuse_query("the records as text", "Release noisy sums or counts of them")

    def __contains__(self, value: Any) -> bool:
        refuse_query(
            "whether a value occurs in the data is decided",
            "Count it and add noise: x.count(v) + rng.laplace(...)",
        )

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        first = args[0] if args else None
        if name == "len":
            return self.length()
        if name == "sum" and first is self:
            start = args[1] if len(args) > 1 else options.get("start", 0)
            return self.sum() + start
        if name in ("max", "min") and len(args) == 1 and "key" not in options:
            return self.max() if name == "max" else self.min()
        if name in ("any", "all"):
            return self.any() if name == "any" else self.all()
        if name in ("list", "tuple"):
            return self
        if name == "enumerate" and len(args) == 1:
            return RecordValues(lambda record: (RecordPlace(), self.of(record)), False, self.whole)
        if name == "sorted" and not options.get("key"):
            return SortedRecords(self, bool(options.get("reverse", False)))
        if name == "map" and len(args) == 2 and args[1] is self:
            return self.mapped(args[0], None, True)
        if name == "filter" and args[1] is self:
            return self.mapped(lambda v: v, args[0] or bool, True)
        if name == "set":
            refuse_query(*KEYS)
        refuse_query(
            f"{name}() of the records",
            "A sensitivity is proved for sums, counts, histograms and order statistics",
            telling=False,
        )

    def dpest_numpy(self, name: str, args: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(name)
        if own is not None:
            return own(*args, **options)
        found = getattr(np, name, None)
        if isinstance(found, np.ufunc) and not options:
            first = next(a for a in args if isinstance(a, RecordValues))
            place = next(i for i, a in enumerate(args) if a is first)

            def how(value: Any, *others: Any) -> Any:
                return found(*others[:place], value, *others[place:])

            return first.each(how, *args[:place], *args[place + 1 :], array=True)
        if name == "unique":
            refuse_query(*KEYS)
        refuse_query(
            f"np.{name} of the records",
            "A sensitivity is proved for sums, counts, histograms and order statistics",
            telling=False,
        )

    def dpest_signature(self) -> Any:
        return ("records", id(self.of))

    def __deepcopy__(self, memo: Any) -> RecordValues:
        return self


def tabled(of: Callable[[Any], Any], whole: bool) -> RecordValues:
    """The values of all cases of a record, computed now."""
    sums = _sums()

    def follow(run: RecordRun) -> tuple[Any]:
        with in_run(run):
            return (decided(of(run.record)),)

    table = explored(sums.entry, None, follow)
    return of_table(sums.entry, table, 0, whole)


def of_table(entry: Entry, table: CaseTable, column: int, whole: bool) -> RecordValues:
    """A column of a table as the values of the records."""

    def of(record: Any) -> Any:
        if entry.values is not None:
            case = table.cases[entry.values.index(record)]
        else:
            case = table.cases[case_of(table.tree, running())]  # type: ignore[arg-type]
        return case.values[column]

    return RecordValues(of, False, whole)


def _sums() -> Any:
    sums = getattr(running(), "sums", None)
    if sums is None:
        refuse_query("a sum over the records inside of a sum", "Compute the inner one first")
    return sums


def _one_axis(axis: Any) -> None:
    if axis not in (None, 0, -1):
        refuse_query(f"a sum over axis {axis}", "The records are a vector: leave the axis out")


def _clipped(value: Any, low: Any, high: Any) -> Any:
    if low is not None and bool(value < low):
        return low
    return high if high is not None and bool(value > high) else value


def _bin_of(value: Any, size: int) -> int:
    """The bin that a record counts in; one beyond the last would make the result longer."""
    if isinstance(value, Real):
        if not value.form.terms:
            value = value.plain
        elif bool(value >= 0) and bool(value <= size - 1):
            # np.bincount takes whole numbers only.
            return next(j for j in range(size) if j == size - 1 or bool(value <= j))
        else:
            value = size
    if isinstance(value, (Truth, np.bool_)):
        value = bool(value)
    if not 0 <= int(value) < size:
        refuse_query(
            f"np.bincount of data that may lie outside of 0..{size - 1}: its result gets longer "
            "with them, and a negative number is an error",
            f"Say what the data are (domain=dpest.integers(dpest.ANY, 0, {max(size - 1, 1)})) and "
            "minlength; or np.clip them first",
        )
    return int(value)


def _quantile(values: list[Fraction], q: Fraction) -> Fraction:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _median(records: RecordValues) -> Any:
    return records.quantile(Fraction(1, 2))


def _where(mask: Any, yes: Any, no: Any) -> Any:
    if not isinstance(mask, RecordValues):
        refuse_query("np.where", "Choose by a mask of the records")
    return mask.each(lambda m, a, b: a if bool(m) else b, yes, no, array=True)


def _digitize(records: RecordValues, bins: Any, right: bool = False) -> RecordValues:
    edges = [float(e) for e in bins]

    def place(value: Any) -> int:
        passed = (value > e if right else value >= e for e in edges)
        return sum(int(bool(p)) for p in passed)

    return records.each(place, array=True)


def _isin(records: RecordValues, values: Any) -> RecordValues:
    listed = list(values)
    return records.each(lambda v: any(bool(v == w) for w in listed), array=True)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("asarray", "array", "atleast_1d", "ravel", "copy", "asanyarray"), RecordValues.as_array
    ),
    **{
        name: getattr(RecordValues, method)
        for name, method in {
            "sum": "sum",
            "mean": "mean",
            "max": "max",
            "amax": "max",
            "min": "min",
            "amin": "min",
            "any": "any",
            "all": "all",
            "clip": "clip",
            "bincount": "bincount",
            "histogram": "histogram",
            "quantile": "quantile",
        }.items()
    },
    "count_nonzero": lambda r: r.columns(lambda v: [v is not SKIPPED and bool(v != 0)])[0],
    "median": lambda r: _median(r),
    "percentile": lambda r, q: r.quantile(Fraction(str(q)) / 100),
    "ptp": lambda r: r.max() - r.min(),
    "sort": lambda r: SortedRecords(r),
    "size": lambda r: r.length(),
    "shape": lambda r: r.shape,
    "where": _where,
    "digitize": _digitize,
    "isin": _isin,
}
