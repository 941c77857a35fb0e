"""Holds a trace against runs of the untouched function with random noise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import as_mechanism
from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator
from dpest.reading.calls import caller, fresh
from dpest.reading.fixed import FixedRun
from dpest.reading.paths import Path, Trace
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.running.skeleton import flatten, raised_output


class Recorder:
    """Draws for real, and remembers each draw by the symbol that the trace has for it."""

    def __init__(self, trace: Trace, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.symbols = {}
        self.differences: dict[int, tuple[Symbol, int]] = {}
        for symbol, noise in trace.noises.items():
            pair = re.fullmatch(r"[a-z]+(\d+)(?:_\d+)?-[a-z]+(\d+)(?:_\d+)?", symbol.name)
            if pair:
                self.differences[int(pair.group(1))] = symbol, 1
                self.differences[int(pair.group(2))] = symbol, -1
                continue
            found = re.fullmatch(rf"{noise.family}(\d+)(_\d+)?", symbol.name)
            assert found, symbol.name
            self.symbols[int(found.group(1)), noise] = symbol
        self.values: dict[Symbol, Fraction] = {}
        self.outcomes: list[Any] = []
        self.unknown = 0

    def value(self, index: int, noise: Noise) -> Any:
        drawn = noise.sample(self.rng)
        drawn = int(drawn) if noise.discrete else float(drawn)
        symbol = self.symbols.get((index, noise))
        if index in self.differences:
            one, sign = self.differences[index]
            self.values[one] = self.values.get(one, Fraction(0)) + sign * Fraction(drawn)
        elif symbol is None:
            self.unknown += 1
        else:
            self.values[symbol] = Fraction(drawn)
        return drawn

    def outcome(self, _: int, noise: Noise, outcomes: Any) -> Any:
        chances = np.array([float(p) for _, p in outcomes])
        place = self.rng.choice(len(outcomes), p=chances / chances.sum())
        self.outcomes.append(outcomes[place][0])
        return outcomes[place][0]

    def generator(self) -> AnsweringGenerator:
        return AnsweringGenerator(FixedRun(self.value, self.outcome))


def holds(path: Path, recorder: Recorder) -> bool:
    taken = [choice.outcome for choice in path.choices]
    if recorder.outcomes[: len(taken)] != taken or len(recorder.outcomes) != len(taken):
        return False
    return all(
        all(s in recorder.values for s in c.form.terms) and c.holds(recorder.values)
        for c in path.conditions
    )


def agrees(trace: Trace, leaf: Any, actual: Any, recorder: Recorder) -> bool:
    if isinstance(leaf, Form):
        values = dict(recorder.values)
        for symbol in leaf.symbols("indicator"):
            truth = trace.indicators[symbol]
            values[symbol] = Fraction(int(truth.at(values, lambda s: Fraction(0))))
        leaf = float(leaf.at(values))
    if isinstance(actual, np.generic):
        actual = actual.item()
    if isinstance(leaf, (int, float)) and isinstance(actual, (int, float)):
        if math.isnan(leaf):
            return math.isnan(actual)
        return math.isclose(leaf, actual, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(leaf, frozenset):
        return leaf == frozenset(actual)
    return leaf == actual


def check_conformance(
    mechanism: Callable[..., Any], x: Any, trace: Trace, *, runs: int = 60, **params: Any
) -> None:
    """Every run lies in exactly one path, and releases what the path says."""
    call = caller(as_mechanism(mechanism).with_params(params))
    everywhere = StandIns(ScriptStage(), mechanism)
    for seed in range(runs):
        recorder = Recorder(trace, seed)
        try:
            with everywhere.drawing(recorder.generator()) as rng:
                output = call(fresh(x), rng)
        except Exception as error:
            output = raised_output(error)
        found = [path for path in trace.paths if holds(path, recorder)]
        assert len(found) == 1, (seed, output, found)
        _, leaves = flatten(output)
        assert len(leaves) == len(found[0].leaves)
        for leaf, actual in zip(found[0].leaves, leaves, strict=True):
            assert agrees(trace, leaf, actual, recorder), (seed, leaf, actual)
