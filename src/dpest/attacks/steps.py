"""An attack on mechanisms that release step by step (training, streams): plain runs, few records.

A record's trace is spread over the steps: it moves some of them, in one direction. So outputs are
looked at as steps: their increments, projected on the direction in which the two inputs differ on
average, and a few statistics of these over the steps (a sum, an extreme, a log-likelihood ratio of
a sampled shift, how equal the increments are). Pair, statistic and threshold are chosen on runs
that are not used again; fresh runs measure the chance of that one event on both inputs.

Small data sets tell most: one record against none, then one more among idle ones.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.ask.adjacency import Adjacency
from dpest.ask.declaration import Mechanism
from dpest.ask.domains import Domain, Reals, Records
from dpest.ask.entries import as_code
from dpest.ask.people import People
from dpest.errors import RefusedError
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.stats import clopper_pearson
from dpest.stats.ratio import unconditional

IDLE = (0, 4, 20)
_CORNERS = 8
# Runs on each input: for a look at a pair, to learn an event, to measure it. The same on every
# machine, unless a guard on the time ends them first: seconds of computing, whatever the load.
SCREEN, LEARN, MEASURE = 100, 2000, 5000
_LEAST = 20
_Values = Any  # runs x steps x coordinates


@dataclass(frozen=True)
class ThresholdEvent:
    """{sign·statistic > threshold}, more likely on the side `first`."""

    name: str
    score: Callable[[_Values], Any]
    sign: float
    threshold: float
    first: int
    bound: float

    def __call__(self, values: _Values) -> Any:
        return self.sign * self.score(values) > self.threshold

    def __str__(self) -> str:
        side = "above" if self.sign > 0 else "below"
        return f"{self.name} {side} {self.sign * self.threshold:.6g}"


def steps_attack(
    mechanism: Mechanism,
    adjacency: Adjacency,
    domain: Domain,
    *,
    delta: float,
    alpha: float,
    seconds: float,
    seed: int = 0,
) -> Evidence:
    """A lower bound on ε at δ, sound at confidence 1 − alpha."""
    started = time.thread_time()
    pairs = list(candidates(adjacency, domain))
    if not pairs:
        raise RefusedError("no records to put in or to leave out")
    source = np.random.default_rng([seed, 4021])
    runs = 0
    best: tuple[float, Any, Any] | None = None
    for i, (x, x2) in enumerate(pairs):
        until = started + 0.3 * seconds * (i + 1) / len(pairs)
        a, b = _both(mechanism, x, x2, source, until, SCREEN)
        runs += len(a) + len(b)
        found = learned(a, b, delta)
        if best is None or found.bound > best[0]:
            best = (found.bound, x, x2)
    assert best is not None
    _, x, x2 = best
    rest = seconds - (time.thread_time() - started)
    a, b = _both(mechanism, x, x2, source, time.thread_time() + 0.3 * rest, LEARN)
    event = learned(a, b, delta)
    fresh = np.random.default_rng([seed, 4022])
    c, d = _both(mechanism, x, x2, fresh, started + seconds, MEASURE)
    runs += len(a) + len(b) + len(c) + len(d)
    if event.first == 1:
        x, x2, c, d = x2, x, d, c
    k1, k2 = int(event(c).sum()), int(event(d).sum())
    value = unconditional(k1, len(c), k2, len(d), alpha, delta)
    return Evidence(
        side="lower",
        value=max(0.0, value),
        standing=confidence(alpha),
        method="steps",
        witness=Witness(
            x=x,
            x2=x2,
            event=str(event),
            p=k1 / max(len(c), 1),
            q=k2 / max(len(d), 1),
            replay=f"# run {mechanism.name} often on x = {as_code(x)} and on x2 = {as_code(x2)}",
        ),
        runs=runs,
        seconds=time.thread_time() - started,
        seed=seed,
        measure=Measure("epsilon", delta=delta),
    )


# Pairs -------------------------------------------------------------------------------------------


def candidates(adjacency: Adjacency, domain: Domain) -> Iterator[tuple[Any, Any]]:
    """One extreme record among idle ones, against none, or against another extreme one."""
    if adjacency.name not in ("add_remove_one", "replace_one"):
        return
    idle, extremes = _entries(domain)
    fixed = domain.length if isinstance(domain.length, int) else None
    for count in IDLE:
        if fixed is not None:
            if count != IDLE[0]:
                return
            count = fixed - 1
        base = [idle] * count
        if adjacency.name == "add_remove_one":
            for e in extremes:
                longer = [*base, e] if isinstance(domain, People) else [e, *base]
                yield domain.as_input(base), domain.as_input(longer)
        else:
            for e, f in itertools.islice(itertools.combinations(extremes, 2), _CORNERS):
                yield domain.as_input([e, *base]), domain.as_input([f, *base])


def _entries(domain: Domain) -> tuple[Any, list[Any]]:
    """A record that is as near to 0 as may be, and the corners of the domain's box."""
    if isinstance(domain, Records):
        ends = [(a, b) for _, a, b in domain.bounds()]
        make: Callable[[Any], Any] = domain.entry
    elif isinstance(domain, Reals):
        ends = [domain.box]
        make = lambda v: domain.clip_entry(v[0])  # noqa: E731
    else:
        return None, []
    middle = [min(max(0.0, a), b) for a, b in ends]
    corners = list(itertools.product(*ends))
    step = max(1, len(corners) // _CORNERS)
    return make(middle), [make(list(c)) for c in corners[::step]][:_CORNERS]


# Runs --------------------------------------------------------------------------------------------


def _both(
    mechanism: Mechanism, x: Any, x2: Any, source: np.random.Generator, until: float, most: int
) -> tuple[_Values, _Values]:
    """Runs on both inputs, in turn: so many, or fewer if the time is up."""
    first: list[Any] = []
    second: list[Any] = []
    rng = np.random.default_rng(source.integers(2**63))
    while len(first) < most and (time.thread_time() < until or len(first) < _LEAST):
        first.append(_steps(mechanism, x, rng))
        second.append(_steps(mechanism, x2, rng))
    shape = first[0].shape
    if any(v.shape != shape for v in (*first, *second)):
        raise RefusedError("outputs of different shapes")
    return np.stack(first), np.stack(second)


def _steps(mechanism: Mechanism, x: Any, rng: np.random.Generator) -> Any:
    """One output as steps x coordinates."""
    given = x.copy() if hasattr(x, "copy") else x
    try:
        with np.errstate(all="ignore"):
            output = mechanism(given, rng=rng)
            values = np.asarray(output, dtype=float)
    except Exception as error:
        raise RefusedError(f"its outputs are no numbers ({type(error).__name__})") from None
    if values.ndim == 0 or values.ndim > 2 or not np.all(np.isfinite(values)):
        raise RefusedError("its outputs are no steps of finite numbers")
    return values[:, None] if values.ndim == 1 else values


# Events ------------------------------------------------------------------------------------------


def learned(a: _Values, b: _Values, delta: float) -> ThresholdEvent:
    """The statistic and the threshold that look best on these runs."""
    best: ThresholdEvent | None = None
    for name, score in statistics(a, b):
        s, t = score(a), score(b)
        for sign, first in itertools.product((1.0, -1.0), (0, 1)):
            mine, theirs = (s, t) if first == 0 else (t, s)
            threshold, bound = _threshold(sign * mine, sign * theirs, delta)
            if best is None or bound > best.bound:
                best = ThresholdEvent(name, score, sign, threshold, first, bound)
    assert best is not None
    return best


def _threshold(mine: Any, theirs: Any, delta: float) -> tuple[float, float]:
    """Where a bound of the kind that will be measured looks largest, on a grid of thresholds."""
    levels = np.unique(np.quantile(np.concatenate([mine, theirs]), np.linspace(0.02, 0.998, 60)))
    n1, n2 = len(mine), len(theirs)
    k1 = np.array([(mine > c).sum() for c in levels])
    k2 = np.array([(theirs > c).sum() for c in levels])
    low = clopper_pearson.lower(k1, n1, 0.01) - delta
    high = clopper_pearson.upper(k2, n2, 0.01)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    i = int(np.argmax(bounds))
    return float(levels[i]), float(bounds[i])


def statistics(a: _Values, b: _Values) -> Iterator[tuple[str, Callable[[_Values], Any]]]:
    """Statistics of the increments; the direction is learned from these runs."""
    da, db = _increments(a), _increments(b)
    both = np.concatenate([da, db]).reshape(-1, da.shape[2])
    spread = both.std(axis=0) + 1e-12
    direction = (da.mean(axis=(0, 1)) - db.mean(axis=(0, 1))) / spread**2
    length = float(np.linalg.norm(direction))
    direction = direction / length if length > 0 else np.ones_like(direction)
    scale = float((both @ direction).std()) + 1e-12

    def along(values: _Values) -> Any:
        return _increments(values) @ direction / scale

    where = f"the increments along {np.round(direction, 3).tolist()}"
    yield f"the sum of {where}", lambda v: along(v).sum(axis=1)
    yield f"the largest of {where}", lambda v: along(v).max(axis=1)
    yield f"the least of {where}", lambda v: along(v).min(axis=1)
    yield f"the largest size of {where}", lambda v: np.abs(along(v)).max(axis=1)
    yield f"the sum of squares of {where}", lambda v: (along(v) ** 2).sum(axis=1)
    for m in (0.5, 1.0, 2.0, 3.0, -0.5, -1.0, -2.0, -3.0):
        name = f"the log-likelihood ratio of a shift by {m:g} now and then, of {where}"
        yield name, functools.partial(_now_and_then, along, m)
    if da.shape[1] > 1:
        yield (
            "how far the increments differ from each other",
            lambda v: np.abs(np.diff(_increments(v), axis=1)).max(axis=(1, 2)),
        )


def _now_and_then(along: Callable[[_Values], Any], m: float, values: _Values) -> Any:
    ratios = np.exp(np.clip(m * along(values) - m * m / 2, -50, 50))
    return np.log(0.8 + 0.2 * ratios).sum(axis=1)


def _increments(values: _Values) -> Any:
    return np.diff(values, axis=1, prepend=0.0) if values.shape[1] > 1 else values
