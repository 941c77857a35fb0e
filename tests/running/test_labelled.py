"""A Series of noise, in a batch, is what pandas makes of it in a plain run with the same draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpest.running.batch import replay
from dpest.running.batch.batch import batch

COUNTS = pd.Series([3, 1, 2], index=pd.Index(["b", "a", "c"], name="city"), name="count")
OTHER = pd.Series([1.5, 2.5, 3.5], index=COUNTS.index, name="other")
RUNS = 300

READ: dict[str, Callable[[Any, Any], Any]] = {
    "plus": lambda s, z: s + z,
    "minus, from the right": lambda s, z: z - s,
    "one draw for all": lambda s, z: s + z[0],
    "scaled": lambda s, z: 2 * (s + z) / 3,
    "two Series": lambda s, z: (s + z) * OTHER,
    "two Series of noise": lambda s, z: (s + z) - (s + 2 * z),
    "ratio": lambda s, z: (s + z) / (s + z + 100),
    "share": lambda s, z: (s + abs(z)) / (s + abs(z)).sum(),
    "unary": lambda s, z: (-(s + z), abs(s - z), (s - z).abs()),
    "methods of operators": lambda s, z: (s + z).add(1).mul(2).sub(z[0]).div(3),
    "compared": lambda s, z: (s + z > 2, (s + z).le(1), s >= z),
    "logic": lambda s, z: (s + z > 1) & ~(s + z > 3) | (z > 5),
    "NumPy's functions": lambda s, z: (np.maximum(s + z, 0.5), np.exp(s + z), np.maximum(s, z)),
    "NumPy's reductions": lambda s, z: (np.sum(s + z), np.max(s + z), np.round(s + z)),
    "where": lambda s, z: np.where(s + z > 2, s + z, 0.0),
    "array": lambda s, z: np.array(s + z) + np.asarray(s - z),
    "clipped": lambda s, z: (s + z).clip(lower=0).clip(0.5, 2.5).clip(upper=2),
    "clipped by noise": lambda s, z: (s + z).clip(upper=z[0] + 2),
    "rounded": lambda s, z: (s + z).round().astype(int),
    "to digits": lambda s, z: (s + z).round(1),
    "reductions": lambda s, z: [getattr(s + z, f)() for f in ("sum", "mean", "min", "max", "std")],
    "more": lambda s, z: [(s + z).var(), (s + z).median(), (s + z > 2).any(), (s + z > 0).all()],
    "running sums": lambda s, z: (s + z).cumsum(),
    "greatest": lambda s, z: ((s + z).idxmax(), (s + z).idxmin(), int((s + z).argmax())),
    "sorted": lambda s, z: (s + z).sort_values(ascending=False),
    "two largest": lambda s, z: ((s + z).nlargest(2).index.tolist(), (s + z).nsmallest(1)),
    "dictionary": lambda s, z: (s + z).to_dict(),
    "items": lambda s, z: {k: round(v, 2) for k, v in (s + z).items()},
    "dict()": lambda s, z: dict(s + z),
    "lists": lambda s, z: ((s + z).tolist(), list(s + z), (s + z).values, (s + z).to_numpy()),
    "one label": lambda s, z: [(s + z)["a"], (s + z).loc["b"], (s + z).at["c"], (s + z).get("a")],
    "no such label": lambda s, z: (s + z).get("z", 0.0) + (s + z).iloc[1] + (s + z).iat[0],
    "several labels": lambda s, z: ((s + z)[["c", "b"]], (s + z).loc["b":"a"], (s + z)[1:]),
    "in order": lambda s, z: (s + z).sort_index().reset_index(drop=True),
    "other labels": lambda s, z: (s + z).rename("noisy").rename({"a": "A"}).add_prefix("x_"),
    "labels set": lambda s, z: _with_labels(s + z),
    "reindexed": lambda s, z: (s + z).reindex(["c", "a"]),
    "rows dropped": lambda s, z: (s + z).drop("a").head(1),
    "above a threshold": lambda s, z: (s + z)[s + z > 2],
    "keys above it": lambda s, z: (s + z).loc[s + z > 2].index.tolist(),
    "put to zero": lambda s, z: _put_to_zero(s + z),
    "one put": lambda s, z: _put_one(s + z),
    "in place": lambda s, z: _in_place(s + z),
    "applied": lambda s, z: ((s + z).apply(lambda v: max(v, 0.0)), (s + z).map(lambda v: v * 2)),
    "no missing values": lambda s, z: (s + z).fillna(0).dropna(),
    "what it is": lambda s, z: (len(s + z), (s + z).name, (s + z).shape, "a" in s + z),
    "a type": lambda s, z: (isinstance(s + z, pd.Series), type(s + z) is pd.Series),
    "nested": lambda s, z: {"noisy": s + z, "sum": [(s + z).sum()]},
}  # fmt: skip


def _with_labels(noisy: Any) -> Any:
    noisy.index = ["x", "y", "z"]
    noisy.name = "n"
    return noisy


def _put_to_zero(noisy: Any) -> Any:
    noisy[noisy < 2] = 0
    noisy.loc[noisy > 3] = 3.0
    return noisy


def _put_one(noisy: Any) -> Any:
    noisy["a"] = 0.0
    noisy.loc[["b"]] = noisy["c"]
    noisy.iloc[2] = 5
    return noisy


def _in_place(noisy: Any) -> Any:
    alias = noisy
    noisy += 1
    noisy *= 2
    return alias


ONE_BY_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "labels in another order": lambda s, z: (s + z) + OTHER.sort_index(),
    "missing values": lambda s, z: (s + z + [np.nan, 0, 0]).sum(),
    "a frame": lambda s, z: (s + z).to_frame(),
    "made of noise": lambda s, z: pd.Series(list(s + z)),
    "a label that is added": lambda s, z: (s + z).reindex(["a", "q"], fill_value=0.0),
    "remainders": lambda s, z: (s + z) % 2,
    "a method that is not known": lambda s, z: (s + z).rank(),
    "concatenated": lambda s, z: pd.concat([s + z, OTHER]),
}


@pytest.fixture(autouse=True)
def _every_run_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_FIRST", 10**9)
    monkeypatch.setattr(replay, "_AT_ONCE", 10**9)


def _function(of: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda x, rng: of(COUNTS.copy(), rng.laplace(size=3))


@pytest.mark.parametrize("name", READ)
def test_read_in_batches(name: str) -> None:
    """Every run agrees with a plain one, or the block would have been made again, with a note."""
    samples = batch(_function(READ[name]), [0.0], RUNS, seed=1)
    assert samples.size == RUNS
    assert samples.notes == ()


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_is_not_known_goes_one_by_one(name: str) -> None:
    samples = batch(_function(ONE_BY_ONE[name]), [0.0], 20, seed=1)
    assert "one by one" in " ".join(samples.notes)
    assert samples.raised is None
