"""A Series of pandas with noise in it, for all runs at once.

`counts + rng.laplace(size=3)` has the labels of `counts`. They are the same in every run; only the
numbers differ. What pandas does to labels (selecting, ordering, renaming) it does itself, to a
Series of places; what it does to numbers is NumPy's. Missing values, labels that don't match, and
methods that are not here send the runs one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dpest.running.batch.values import PANDAS_PRIORITY, Batched, BatchedArray

if TYPE_CHECKING:
    from dpest.running.batch.reading import BatchReading

_BINARY: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_UNARY: dict[str, np.ufunc] = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip
_LOGICAL = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
# pandas fills in other numbers than NumPy where these divide by zero.
_OTHER_ZEROS = (np.floor_divide, np.remainder, np.fmod, np.power)
# What pandas does to rows and labels alone, whatever the numbers are.
_MOVES = (
    *("add_prefix", "add_suffix", "copy", "drop", "filter", "head", "rename", "rename_axis"),
    *("reset_index", "set_axis", "sort_index", "tail", "take"),
)
_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "median", "min", "prod", "sum")
_OTHER_NAMES = {"amax": "max", "amin": "min"}
_OF_NUMPY = (*_REDUCTIONS, *_OTHER_NAMES, "clip", "cumsum", "round")


def is_series(value: Any) -> bool:
    """Whether this is a Series of pandas: of known numbers, or of noise."""
    if type(value) is BatchedSeries:
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)


class BatchedSeries:
    """One Series a run, with the same labels in all of them."""

    __slots__ = ("_index", "_reading", "_values", "name")
    __pandas_priority__ = PANDAS_PRIORITY
    __array_priority__ = PANDAS_PRIORITY
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, reading: BatchReading, values: Any, index: Any, name: Any) -> None:
        self._reading = reading
        self._values: Any = values
        self._index = index
        self.name = name

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` sees: the type of a plain run."""
        return sys.modules["pandas"].Series

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse(f".{name}")

    def _refuse(self, what: str) -> NoReturn:
        self._reading.need_scalar(f"{what} of a Series of noise")

    # Labels

    @property
    def index(self) -> Any:
        return self._index

    @index.setter
    def index(self, labels: Any) -> None:
        places = self._places()
        places.index = labels
        self._index = places.index

    def _places(self) -> Any:
        """What pandas is asked about labels: the places of the numbers, under the labels."""
        pandas = sys.modules["pandas"]
        return pandas.Series(np.arange(len(self)), index=self._index, name=self.name)

    def _moved(self, places: Any) -> Any:
        """The numbers, at the places that pandas chose."""
        if isinstance(places, (int, np.integer)):
            return self._values[int(places)]
        if not is_series(places) or places.dtype.kind != "i":
            self._refuse(f"a selection that gives a {type(places).__name__}")
        chosen = self._values[places.to_numpy()]
        return BatchedSeries(self._reading, chosen, places.index, places.name)

    def _with(self, values: Any) -> BatchedSeries:
        """Other numbers under the same labels."""
        return BatchedSeries(self._reading, values, self._index, self.name)

    def _same_labels(self, other: Any) -> bool:
        """Whether pandas would add the two up place by place."""
        first, second = self._index, other.index
        return first is second or (
            type(first) is type(second)
            and first.dtype == second.dtype
            and first.equals(second)
            and list(first.names) == list(second.names)
        )

    def _kept(self, mask: Any) -> list[bool]:
        """Which rows a mask keeps, decided for each of them."""
        if is_series(mask) and not self._same_labels(mask):
            self._refuse("a mask with other labels")
        values = bare(mask)
        if values.shape != (len(self),) or values.dtype != np.bool_:
            self._refuse("a selection by noise that is no mask")
        return [bool(value) for value in values]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (Batched, BatchedSeries)):
            return self._moved(self._places()[self._kept(key)])
        return self._moved(self._places()[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._replace(key, value, lambda places: places[key])

    def _replace(self, key: Any, value: Any, chosen: Callable[[Any], Any]) -> None:
        """One value put into chosen rows."""
        if not _is_one_number(value):
            self._refuse("assigning several values to rows")
        if self._values.dtype.kind != "f" or isinstance(value, bool):
            self._refuse("assigning to rows")
        if isinstance(key, BatchedSeries) and self._same_labels(key):
            self._values = np.where(key._values, value, self._values)
            return
        if isinstance(key, (Batched, BatchedSeries)):
            self._refuse("assigning to rows that noise picks")
        try:
            places = np.atleast_1d(np.asarray(chosen(self._places())))
        except (KeyError, IndexError):
            self._refuse("a row that is added")
        mask = np.isin(np.arange(len(self)), places)
        self._values = np.where(mask, value, self._values)

    @property
    def loc(self) -> _Located:
        return _Located(self, "loc")

    @property
    def iloc(self) -> _Located:
        return _Located(self, "iloc")

    @property
    def at(self) -> _Located:
        return _Located(self, "at")

    @property
    def iat(self) -> _Located:
        return _Located(self, "iat")

    def get(self, key: Any, default: Any = None) -> Any:
        known = key in self._index
        return self[key] if known else default

    def keys(self) -> Any:
        return self._index

    def reindex(self, index: Any) -> Any:
        places = self._places().reindex(index, fill_value=-1)
        if (places < 0).any():
            self._refuse("a label that is added")
        return self._moved(places)

    def sort_values(self, *, ascending: bool = True) -> Any:
        return self._moved(self._places().iloc[self._order(ascending)])

    def nlargest(self, n: int = 5) -> Any:
        return self._moved(self._places().iloc[self._order(False)[:n]])

    def nsmallest(self, n: int = 5) -> Any:
        return self._moved(self._places().iloc[self._order(True)[:n]])

    def _order(self, ascending: bool) -> list[int]:
        """The places in the order of their numbers, decided one after the other."""
        values = self._without_nan() if ascending else -self._without_nan()
        ordered: Any = np.sort(values)
        if self._reading.arrays.count((ordered[1:] == ordered[:-1]).data()):
            self._refuse("the order of equal values")
        return [int(place) for place in np.argsort(values)]

    # What is in it

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: Any) -> bool:
        return key in self._index

    def __iter__(self) -> Iterator[Any]:
        return (value.item() for value in self._values)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return zip(self._index, self, strict=True)

    def to_dict(self) -> dict[Any, Any]:
        return dict(self.items())

    def tolist(self) -> list[Any]:
        return list(self)

    to_list = tolist

    @property
    def values(self) -> Any:
        return BatchedArray(self._values.node, shared=True)

    def to_numpy(self) -> Any:
        return self.values

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),)

    @property
    def size(self) -> int:
        return len(self)

    @property
    def ndim(self) -> int:
        return 1

    @property
    def empty(self) -> bool:
        return len(self) == 0

    # Numbers

    def _without_nan(self) -> Any:
        """The numbers, none of them missing: pandas leaves those out where NumPy does not."""
        data = self._values.data()
        if self._reading.arrays.dtype(data).kind == "f" and self._reading.arrays.has_nan(data):
            self._refuse("missing values")
        return self._values

    def clip(self, lower: Any = None, upper: Any = None) -> BatchedSeries:
        if not all(bound is None or _is_one_number(bound) for bound in (lower, upper)):
            self._refuse("clip() by several bounds")
        if self._values.dtype.kind != "f" or (lower is None and upper is None):
            self._refuse("clip()")
        return self._with(np.clip(self._values, lower, upper))

    def round(self, decimals: int = 0) -> BatchedSeries:
        return self._with(np.round(self._values, decimals))

    def abs(self) -> Any:
        return self.__abs__()

    def cumsum(self) -> BatchedSeries:
        return self._with(np.cumsum(self._without_nan()))

    def fillna(self, _: Any) -> BatchedSeries:
        return self._with(self._without_nan())

    def dropna(self) -> BatchedSeries:
        return self._with(self._without_nan())

    def astype(self, dtype: Any) -> BatchedSeries:
        kind, finite = np.dtype(dtype), abs(self._values.data()) < np.inf
        if kind.kind not in "fi" or self._reading.arrays.count(~finite):
            self._refuse(f"astype({dtype})")
        return self._with(self._reading.astype(self._values, kind))

    def apply(self, function: Callable[[Any], Any]) -> BatchedSeries:
        if not callable(function) or isinstance(function, np.ufunc):
            self._refuse("apply() of something that is no function of one number")
        made = [function(value) for value in self]
        if not all(map(_is_one_number, made)):
            self._refuse("apply() of a function that gives no numbers")
        return self._with(self._reading.array_of(made))

    map = apply

    def idxmax(self) -> Any:
        return self._index[int(np.argmax(self._without_nan()))]

    def idxmin(self) -> Any:
        return self._index[int(np.argmin(self._without_nan()))]

    def var(self) -> Any:
        return np.var(self._without_nan(), ddof=1)

    def std(self) -> Any:
        return np.std(self._without_nan(), ddof=1)

    # NumPy

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("an array of numbers made")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            self._refuse(f"np.{ufunc.__name__} with {method} {sorted(kwargs)}")
        return self._reading.elementwise(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name == "where":  # it gives an array
            return function(*(bare(arg) for arg in args), **kwargs)
        if name not in _OF_NUMPY or args[0] is not self or kwargs:
            self._refuse(f"np.{name}")
        return getattr(self, _OTHER_NAMES.get(name, name))(*args[1:])


class _Located:
    """`series.loc` and its like."""

    __slots__ = ("_series", "_way")

    def __init__(self, series: BatchedSeries, way: str) -> None:
        self._series = series
        self._way = way

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (Batched, BatchedSeries)):
            if self._way != "loc":
                self._series._refuse(f".{self._way} by noise")
            return self._series[key]
        return self._series._moved(getattr(self._series._places(), self._way)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._series._replace(key, value, lambda places: getattr(places, self._way)[key])


# Operators and methods that are alike ------------------------------------------------------------


def _operator(ufunc: np.ufunc, reflected: bool) -> Callable[..., Any]:
    def apply(self: BatchedSeries, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return self._reading.elementwise(ufunc, operands)

    return apply


def _in_place(ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(self: BatchedSeries, other: Any) -> Any:
        made = self._reading.elementwise(ufunc, (self, other))
        if made.dtype != self.dtype:
            self._refuse("a change in place of the type of numbers")
        self._values = made._values
        return self

    return apply


def _alone(ufunc: np.ufunc) -> Callable[[BatchedSeries], Any]:
    return lambda self: self._reading.elementwise(ufunc, (self,))


def _reduction(name: str) -> Callable[..., Any]:
    return lambda self: getattr(np, name)(self._without_nan())


def _move(name: str) -> Callable[..., Any]:
    def apply(self: BatchedSeries, *args: Any, **options: Any) -> Any:
        if any(isinstance(v, (Batched, BatchedSeries)) for v in (*args, *options.values())):
            self._refuse(f".{name}() by noise")
        return self._moved(getattr(self._places(), name)(*args, **options))

    return apply


for _name, _ufunc in _BINARY.items():
    setattr(BatchedSeries, f"__{_name}__", _operator(_ufunc, False))
    if _ufunc in (np.add, np.subtract, np.multiply, np.true_divide, *_LOGICAL):
        setattr(BatchedSeries, f"__r{_name}__", _operator(_ufunc, True))
        setattr(BatchedSeries, f"__i{_name}__", _in_place(_ufunc))
    if _ufunc not in _LOGICAL:
        setattr(BatchedSeries, _name, _operator(_ufunc, False))
BatchedSeries.div = BatchedSeries.truediv  # type: ignore[attr-defined]
for _name, _ufunc in _UNARY.items():
    setattr(BatchedSeries, f"__{_name}__", _alone(_ufunc))
for _name in _REDUCTIONS:
    setattr(BatchedSeries, _name, _reduction(_name))
for _name in _MOVES:
    setattr(BatchedSeries, _name, _move(_name))


#: The methods that a Series of noise has.
SERIES_METHODS = frozenset(name for name in dir(BatchedSeries) if not name.startswith("_"))


# Element by element ------------------------------------------------------------------------------


def bare(value: Any) -> Any:
    """The numbers without their labels."""
    if type(value) is BatchedSeries:
        return value._values
    return value.to_numpy() if is_series(value) else value


def labelled(reading: BatchReading, ufunc: np.ufunc, operands: Sequence[Any]) -> BatchedSeries:
    """What a ufunc makes of operands, at least one of them a Series and at least one of noise."""
    series = [_as_series(reading, v) for v in operands if is_series(v)]
    first = series[0]
    if not all(map(first._same_labels, series)):
        first._refuse("arithmetic with other labels")
    if ufunc in _OTHER_ZEROS:
        first._refuse(f"np.{ufunc.__name__}")
    bare_operands = tuple(bare(v) for v in operands)
    if not all(np.shape(v) in ((), (len(first),)) for v in bare_operands):
        first._refuse("arithmetic with an array of another length")
    if ufunc in _LOGICAL and not all(_is_boolean(v) for v in bare_operands):
        first._refuse(f"np.{ufunc.__name__} of numbers")
    values = reading.elementwise(ufunc, bare_operands)
    names = [s.name for s in series]
    return BatchedSeries(
        reading, values, first._index, names[0] if names.count(names[0]) == len(names) else None
    )


def _as_series(reading: BatchReading, value: Any) -> BatchedSeries:
    if type(value) is BatchedSeries:
        return value
    known = isinstance(value.dtype, np.dtype) and value.dtype.kind in "fiub"
    if not known or value.attrs:
        reading.need_scalar(f"noise and a Series of {value.dtype}")
    return BatchedSeries(reading, None, value.index, value.name)


def _is_one_number(value: Any) -> bool:
    return isinstance(value, (Batched, int, float)) and not np.shape(value)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_
