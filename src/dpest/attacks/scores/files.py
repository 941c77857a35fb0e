"""Scores from files: CSV, NPZ and Parquet.

Either two columns (or arrays) of scores, one for runs with the record and one without, or scores
with a column that says which is which, and perhaps one that says which run each came from.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.errors import InputError, MissingExtraError

Floats = NDArray[np.float64]

#: Names that columns go by, in lower case.
INSIDE = ("inside", "in", "member", "members", "in_scores", "inside_scores")
OUTSIDE = ("outside", "out", "non_member", "nonmember", "non_members", "out_scores")
MEMBERSHIP = ("included", "membership", "is_member", "label", "member", "inside")
GROUP = ("run", "group", "groups", "model", "run_id")
_TRUE = {"1", "1.0", "true", "yes", "in", "inside", "member"}
_FALSE = {"0", "0.0", "-1", "false", "no", "out", "outside", "non_member", "nonmember"}


@dataclass(frozen=True)
class ScoreFile:
    """Rows of scores with their membership, and the run of each row if the file says so.

    `scores` has a column for each score of a run. `paired`: the file had one list for each side,
    so that nobody flipped coins for its rows as far as it tells.
    """

    scores: Floats
    included: NDArray[np.bool_]
    groups: NDArray[Any] | None
    paired: bool

    @property
    def inside(self) -> Floats:
        return self._side(self.included)

    @property
    def outside(self) -> Floats:
        return self._side(~self.included)

    def _side(self, rows: NDArray[np.bool_]) -> Floats:
        found = self.scores[rows]
        return found[:, 0] if found.shape[1] == 1 else found


def read_scores(path: str | Path) -> ScoreFile:
    """Scores from a file; its columns are recognised by their names."""
    place = Path(path)
    if not place.exists():
        raise InputError(f"there is no file {place}")
    kind = place.suffix.lower()
    readers = {".csv": _csv, ".tsv": _csv, ".npz": _npz, ".parquet": _parquet, ".pq": _parquet}
    if kind not in readers:
        raise InputError(f"scores come in .csv, .npz or .parquet files, got {place.name!r}")
    return _recognise(readers[kind](place), place.name)


def _csv(place: Path) -> dict[str, Any]:
    """Columns of a CSV file; where all fields are numbers the first line may have no names."""
    delimiter = "\t" if place.suffix.lower() == ".tsv" else ","
    with place.open(newline="", encoding="utf-8-sig") as handle:
        rows = [row for row in csv.reader(handle, delimiter=delimiter) if any(map(str.strip, row))]
    if not rows:
        raise InputError(f"{place.name} is empty")
    header = [name.strip() for name in rows[0]]
    if all(_is_number(field) for field in header if field):
        raise InputError(
            f"the first line of {place.name} must name its columns: inside,outside or "
            "score,included"
        )
    width = len(header)
    if any(len(row) != width for row in rows):
        raise InputError(f"the lines of {place.name} don't all have {width} fields")
    return {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(header)}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _npz(place: Path) -> dict[str, Any]:
    with np.load(place, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def _parquet(place: Path) -> dict[str, Any]:
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("scores", "reading Parquet") from None
    try:
        table = pandas.read_parquet(place)
    except ImportError:
        raise MissingExtraError("scores", "reading Parquet") from None
    return {str(name): table[name].to_numpy() for name in table.columns}


def _recognise(columns: Mapping[str, Any], name: str) -> ScoreFile:
    lower = {key.lower(): key for key in columns}
    inside = next((lower[k] for k in INSIDE if k in lower), None)
    outside = next((lower[k] for k in OUTSIDE if k in lower), None)
    if inside is not None and outside is not None:
        first, second = (_table([columns[key]], name) for key in (inside, outside))
        if first.shape[1] != second.shape[1]:
            raise InputError(f"{name}: both sides need as many scores a run")
        included = np.arange(len(first) + len(second)) < len(first)
        return ScoreFile(np.concatenate([first, second]), included, None, paired=True)
    label = next((lower[k] for k in MEMBERSHIP if k in lower), None)
    group = next((lower[k] for k in GROUP if k in lower), None)
    scores = [key for key in columns if key not in (label, group)]
    if label is None or not scores:
        raise InputError(
            f"{name} has the columns {', '.join(columns)}; it needs inside and outside, or scores "
            "and included (1 where the record was in)"
        )
    table = _table([columns[key] for key in scores], name)
    included = _truths(columns[label], name)
    if len(included) != len(table):
        raise InputError(f"{name}: {len(table)} rows of scores, but {len(included)} of {label}")
    groups = None if group is None else np.asarray(columns[group])
    return ScoreFile(table, included, groups, paired=False)


def _table(columns: Sequence[Any], name: str) -> Floats:
    """Columns as one table of numbers; empty fields at the end of the shorter one are left out."""
    found = []
    for column in columns:
        values = np.asarray(column)
        if values.dtype.kind in "US" or values.dtype == object:
            kept = [v for v in values.ravel().tolist() if str(v).strip() not in ("", "None")]
            try:
                values = np.array([float(v) for v in kept])
            except ValueError as wrong:
                raise InputError(f"{name}: a score is no number: {wrong}") from None
        values = values.astype(np.float64)
        if len(columns) == 1 and values.ndim == 1:
            values = values[~np.isnan(values)]
        found.append(values.reshape(len(values), -1))
    if len({len(values) for values in found}) > 1:
        raise InputError(f"{name}: the columns of scores differ in length")
    table = np.concatenate(found, axis=1)
    if np.isnan(table).any():
        raise InputError(f"{name}: a score is missing or NaN")
    return table


def _truths(column: Any, name: str) -> NDArray[np.bool_]:
    values = np.asarray(column)
    if values.dtype == bool:
        return values
    words = [str(v).strip().lower() for v in values.tolist()]
    strange = next((word for word in words if word not in _TRUE | _FALSE), None)
    if strange is not None:
        raise InputError(f"{name}: membership is 1 or 0, true or false; got {strange!r}")
    return np.array([word in _TRUE for word in words])
