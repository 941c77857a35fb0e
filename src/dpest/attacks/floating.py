"""The machine's arithmetic: an audit of the doubles that a mechanism really returns.

Exact results speak of real numbers; a mechanism computes with doubles, and their low bits can give
the input away although the mathematics is private. This attack looks at granularity and
reachability (`bits`), learns which of them tell the two inputs apart, and measures that event on
fresh runs with the same exact bound as every other attack. Its evidence is about floating point.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.attacks.bits import NoiseCall, granularity, reachable
from dpest.attacks.budget import Budget, Meter, Progress, Report
from dpest.attacks.features import Codes, Feature, as_numbers, tailed_edges
from dpest.attacks.models import additive
from dpest.attacks.sampler import Sampler
from dpest.attacks.thresholds import OrderedScores, ThresholdAttack, best_threshold
from dpest.evidence import Evidence, Measure, Witness, confidence
from dpest.running.samples import Samples
from dpest.running.skeleton import raised_output
from dpest.stats import ratio

Floats = NDArray[np.float64]

_METHOD = "floating point"
_CHUNK = 50_000
_MOST_LEAVES = 8
_MOST_CALLS = 4
_SCALED = ("laplace", "normal", "gumbel", "logistic")
_STANDARD = {"standard_normal": "normal"}

DEFAULT_BUDGET = Budget(runs=240_000)


class PlainSampler:
    """Calls the function as a user would, with NumPy's own generator: the doubles are real ones.

    (The batch reading draws noise in its own way, which is right in distribution but not to the
    last bit.) A run that raises has the output "raises ValueError".
    """

    def __init__(
        self, mechanism: Callable[..., Any] | Mechanism, params: Mapping[str, Any] | None = None
    ) -> None:
        self._mechanism = as_mechanism(mechanism).with_params(params)
        self._raised = self._runs = 0

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        target = self._mechanism
        self._runs += size
        if target.takes_size:
            return Samples.from_outputs(list(target(x, size=size)))
        extra = {} if target.black_box else {"rng": np.random.default_rng(seed)}
        outputs: list[Any] = []
        for _ in range(size):
            try:
                outputs.append(target(x, **extra))
            except Exception as error:  # any failure of the user's code is an output
                self._raised += 1
                outputs.append(raised_output(error))
        return Samples.from_outputs(outputs)

    def notes(self) -> tuple[str, ...]:
        if not self._raised:
            return ()
        return (f"{self._raised} of {self._runs} runs raised; each was counted as an output",)


class _Recorder:
    """A generator that behaves like NumPy's and writes down which noise is asked for."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self.calls: list[NoiseCall] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._generator, name)
        if name not in _SCALED and name not in _STANDARD:
            return method

        def recorded(*args: Any, **kwargs: Any) -> Any:
            scale = kwargs.get("scale", args[1] if len(args) > 1 else 1.0)
            for one in np.ravel(1.0 if name in _STANDARD else scale):
                self.calls.append(NoiseCall(_STANDARD.get(name, name), float(one)))
            return method(*args, **kwargs)

        return recorded


def noise_calls(
    mechanism: Callable[..., Any] | Mechanism,
    inputs: Sequence[Any],
    params: Mapping[str, Any] | None = None,
) -> list[NoiseCall]:
    """The distinct noises that a mechanism asks for; a black box is looked at by the grey box."""
    target = as_mechanism(mechanism).with_params(params)
    if target.black_box:
        from dpest.attacks.recorded import noise_drawn

        drawn = noise_drawn(target, inputs)
        calls = (NoiseCall(law, scale) for law, scale in drawn if law in _SCALED and scale > 0)
        return list(dict.fromkeys(calls))[:_MOST_CALLS]
    found: dict[NoiseCall, None] = {}
    for seed, x in enumerate(inputs):
        recorder = _Recorder(seed)
        # What was asked for before a failure is still true.
        with contextlib.suppress(Exception):
            target(x, rng=recorder)
        found.update(dict.fromkeys(c for c in recorder.calls if c.scale > 0))
    return list(found)[:_MOST_CALLS]


class BitFeatures:
    """Codes of the doubles in an output: granularity, reachability from both inputs, and place."""

    def __init__(self, look: Samples, x: Any, x2: Any, calls: Sequence[NoiseCall]) -> None:
        self._calls = list(calls)
        self._shifts = [_entries(x), _entries(x2)]
        self._leaves = min(max((len(g.columns) for g in look.groups), default=0), _MOST_LEAVES)
        self.features: list[Feature] = []
        self._edges: list[NDArray[np.float64]] = []
        self._grains: list[NDArray[np.intp]] = []
        for leaf in range(self._leaves):
            values = _leaf(look, leaf)
            self._edges.append(tailed_edges(values, 16))
            bins = len(self._edges[-1]) + 1
            self.features.append(Feature(f"place {leaf}", bins + 1, bins))
            seen, often = np.unique(granularity(values), return_counts=True)
            self._grains.append(seen[often >= 3])
            self.features.append(Feature(f"granularity {leaf}", len(self._grains[-1]) + 1))
            for call in self._calls:
                self.features.append(Feature(f"reachable {leaf} ({call.method})", 5))

    def codes(self, samples: Samples) -> list[Codes]:
        found: list[Codes] = []
        for leaf in range(self._leaves):
            values = _leaf(samples, leaf)
            absent = np.isnan(values)
            place = np.searchsorted(self._edges[leaf], values, side="right") + 1
            found.append(np.where(absent, 0, place))
            grains, codes = self._grains[leaf], granularity(values)
            near = np.minimum(np.searchsorted(grains, codes), max(len(grains) - 1, 0))
            known = grains[near] == codes if len(grains) else np.zeros(len(codes), dtype=bool)
            found.append(np.where(known, near + 1, 0))
            for call in self._calls:
                code = np.where(absent, 0, 1)
                for weight, shifts in zip((1, 2), self._shifts, strict=True):
                    shift = shifts[leaf] if leaf < len(shifts) else shifts[-1] if shifts else 0.0
                    code += np.where(~absent & reachable(values, shift, call), weight, 0)
                found.append(code)
        return found


def _entries(x: Any) -> list[float]:
    """The numbers in an input, in order: what the noise may have been added to."""
    try:
        flat = np.ravel(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        return [0.0]
    return [float(v) for v in flat] or [0.0]


def _leaf(samples: Samples, leaf: int) -> Floats:
    """The doubles at one place of the output; NaN where there is none."""
    values = np.full(samples.size, np.nan)
    for group in samples.groups:
        if leaf < len(group.columns) and group.kinds[leaf] == "float":
            values[group.rows] = as_numbers(group.columns[leaf])
    return values


class BitScorer:
    """Log-odds of the first input from the bits of an output."""

    def __init__(self, features: BitFeatures, model: additive.AdditiveModel) -> None:
        self._features, self._model = features, model

    def scores(self, samples: Samples) -> Floats:
        return self._model.scores(self._features.codes(samples), samples.size)

    def describe(self) -> str:
        return "model of the output's low bits"


def floating_attack(
    sample: Sampler,
    x: Any,
    x2: Any,
    *,
    calls: Sequence[NoiseCall] = (),
    alpha: float = 0.05,
    delta: float = 0.0,
    budget: Budget | int | str | None = None,
    seed: int = 0,
    progress: Report | None = None,
) -> Evidence:
    """A lower bound on the epsilon (at `delta`) of the doubles that come out, for one pair.

    `sample` must run the code as it is (`PlainSampler`); `calls` are the noises it asks for, if
    known (`noise_calls`). Assumes independent runs. Guarantees that the value exceeds the true
    epsilon of the machine's mechanism with probability at most `alpha`. Training takes a quarter
    of the runs, choosing the event another, the rest measures it.
    """
    meter = Meter(Budget.of(budget, DEFAULT_BUDGET))
    source = _MeteredDraws(sample, meter, seed, progress)
    draw = source.draw
    runs = meter.budget.runs or 10**9
    small = max(100, min(100_000, runs // 8))
    if meter.budget.seconds is not None:
        # A short pilot, thrown away, to learn how fast the mechanism runs.
        draw(x, 200, "timing")
        small = max(100, min(small, meter.allow(10**9) // 8))
    first, second = draw(x, small, "training"), draw(x2, small, "training")
    features = BitFeatures(Samples.concatenate([first, second]), x, x2, calls)
    notes: list[str] = []
    if not features.features:
        notes.append("the output holds no doubles: there are no low bits to look at")
    scorer = BitScorer(features, _train(features, first, second))
    first, second = draw(x, small, "choosing the event"), draw(x2, small, "choosing the event")
    final = max(100, min(4 * small, meter.allow(8 * small) // 2))
    ones, twos = (OrderedScores.of(scorer.scores(part)) for part in (first, second))
    attack = best_threshold(scorer, ones, twos, final, alpha, delta)
    pair = (x2, x) if attack.flipped else (x, x2)
    rng = np.random.default_rng(source.seed())
    counts = [source.count(attack, who, final, rng) for who in pair]
    value = ratio.unconditional(counts[0], final, counts[1], final, alpha, delta)
    notes.extend(sample.notes())
    return Evidence(
        side="lower",
        value=max(0.0, value),
        standing=confidence(alpha),
        method=_METHOD,
        witness=Witness(
            x=pair[0],
            x2=pair[1],
            event=attack.describe(),
            p=counts[0] / final,
            q=counts[1] / final,
        ),
        runs=meter.runs,
        seconds=meter.seconds,
        seed=seed,
        measure=Measure(delta=delta),
        arithmetic="floating point",
        notes=tuple(notes),
        details={
            "counts": tuple(counts),
            "noise": [f"{c.method}(scale={c.scale!r})" for c in calls],
        },
    )


class _MeteredDraws:
    """Runs in portions, each with a seed of its own: they are counted and reported."""

    def __init__(self, sample: Sampler, meter: Meter, seed: int, progress: Report | None) -> None:
        self._sample, self._meter, self._progress = sample, meter, progress
        self._seeds = np.random.default_rng(np.random.SeedSequence(seed))

    def seed(self) -> int:
        return int(self._seeds.integers(0, 2**63))

    def draw(self, x: Any, size: int, stage: str) -> Samples:
        parts = []
        for begin in range(0, size, _CHUNK):
            count = min(_CHUNK, size - begin)
            parts.append(self._sample.draw(x, count, self.seed()))
            meter = self._meter
            meter.runs += count
            if self._progress is not None:
                self._progress(Progress(_METHOD, meter.runs, meter.seconds, 0.0, stage))
        return parts[0] if len(parts) == 1 else Samples.concatenate(parts)

    def count(self, attack: ThresholdAttack, x: Any, size: int, rng: np.random.Generator) -> int:
        """How many of so many outputs on x are in the attack's event."""
        inside = 0
        for begin in range(0, size, _CHUNK):
            part = self.draw(x, min(_CHUNK, size - begin), "measuring")
            inside += attack.count(part, rng)[0]
        return inside


def _train(features: BitFeatures, first: Samples, second: Samples) -> additive.AdditiveModel:
    labels = np.zeros(first.size + second.size, dtype=bool)
    labels[: first.size] = True
    parts = [additive.Design(features.features, features.codes(s), s.size) for s in (first, second)]
    return additive.fit(additive.Design.join(parts), labels, step=0.5)


def audit_doubles(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    x2: Any,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Evidence:
    """`floating_attack` on a function: run as it is, with the noise that it asks for."""
    calls = noise_calls(mechanism, [x, x2], params)
    return floating_attack(PlainSampler(mechanism, params), x, x2, calls=calls, **options)
