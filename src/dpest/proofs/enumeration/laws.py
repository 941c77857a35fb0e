"""The distribution of an untouched function against that of the argmax that stands for it.

Where a rule of `rewrites.races` turned a loop into an argmax, no draw of the one is a draw of the
other: they have the same distribution, not the same runs. So the distributions are compared. That
of the function comes from following all outcomes of all its draws on small inputs, which are known
there (`.outcomes`). That of the argmax has a closed form: w_i/Σw for Gumbel noise,
w_i·∫ Π(1 − w_j·y) dy over [0, 1] for exponential noise, where w = e^((value − greatest)/scale).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.errors import RefusedError, UntraceableError
from dpest.geometry.linear import Form, Symbol
from dpest.proofs.conformance import mismatch, with_derived
from dpest.proofs.enumeration.outcomes import distribution
from dpest.proofs.question import ProofGoal
from dpest.reading.domains.unit import Unit
from dpest.reading.loop_graph import Graph
from dpest.reading.machine.signals import Refused

_LENGTHS: tuple[int, ...] = (1, 2, 2, 3, 3)
_ENDLESS: tuple[int, ...] = (1, 2, 2, 2)  # each turn multiplies the ways by the length
_LEFT, _MOST_LEFT = 1e-3, 0.2  # what may stay unexplored of a loop without a bound
_MOST_RUNS = 400
_CLOSE = 1e-9


def check(question: ProofGoal, graph: Graph, where: Any) -> None:
    """ReplayError where the function's outputs are not distributed as the model's."""
    source = random.Random(23)
    names: dict[int, list[str]] = {}
    if len(graph.selections) != 1 or graph.gaps:
        raise RefusedError("several releases that depend on the data: give a length")
    (selected,) = graph.selections
    form = selected.form
    (noise,) = (graph.noises[s] for s in form.terms if s.kind == "noise")
    scale = _value(question, noise.scale)  # type: ignore[attr-defined]
    law = race if noise.family == "exponential" else softmax
    lengths = _ENDLESS if graph.rule == "rejection" else _LENGTHS
    if graph.table is not None:
        size = len(graph.table)
        lengths = tuple(size if graph.rule == "choice" else min(n, size) for n in lengths)
    for length in lengths:
        x = _input(question, form, scale, length, source)
        found, left = _distribution(question, x)
        values = [_element(graph, form, entry) for entry in _entries(question, x)]
        expected = law([math.exp((v - max(values)) / scale) for v in values])
        places = names.setdefault(length, _named(found, expected))
        chances = dict(zip(places, expected, strict=True))
        gaps = [chances.get(y, 0.0) - found.get(y, 0.0) for y in {*found, *chances}]
        if min(gaps) < -_CLOSE or max(gaps) > left + _CLOSE or left > _MOST_LEFT:
            told = {y: round(p, 6) for y, p in sorted(found.items())}
            raise mismatch(
                where,
                f"on {x} its outputs have the chances {told}, the model's "
                f"{[round(p, 6) for p in expected]}",
            )


def _distribution(question: ProofGoal, x: list[Any]) -> tuple[dict[str, float], float]:
    """What the function gives on the data, and the chance of what was not followed."""
    given = question.given(x, np.array)
    try:
        return distribution(question.mechanism, given, _LEFT, _MOST_RUNS)
    except Refused as refusal:
        advice = refusal.advice or "give a length"
        raise UntraceableError(refusal.reason, advice, refusal.where) from None


def race(weights: Sequence[Any]) -> list[Any]:
    """w_i·∫ Π(1 − w_j·y) dy over [0, 1] for every i: exact, where the weights are."""
    found = []
    for i, w in enumerate(weights):
        product = [w]
        for other in (*weights[:i], *weights[i + 1 :]):
            shifted = [0, *(-other * c for c in product)]
            product = [a + b for a, b in itertools.zip_longest(product, shifted, fillvalue=0)]
        found.append(sum(c / (k + 1) for k, c in enumerate(product)))
    return found


def softmax(weights: Sequence[Any]) -> list[Any]:
    return [w / sum(weights) for w in weights]


def _value(question: ProofGoal, scale: Any) -> float:
    if not isinstance(scale, Unit):
        return float(scale)
    assert question.unit is not None
    value = float(question.mechanism.all_params[question.unit])
    return float(scale.factor) * value**scale.power


def _input(
    question: ProofGoal, form: Form, scale: float, length: int, source: random.Random
) -> list[Any]:
    """Data whose values differ by less than twice the scale, so that no chance is tiny."""
    slopes = [abs(float(c)) for s, c in form.terms.items() if s.kind == "input"]
    if not slopes:
        raise RefusedError("chances that don't depend on the data: give a length instead of ANY")
    slope = max(slopes)
    ranges = question.record.ranges
    found: list[Any] = []
    for i in range(length * max(len(question.fields), 1)):
        low, high = (float(end) for end in ranges[i % len(ranges)])
        value = scale / slope * source.choice((-1, 1)) * source.randrange(1, 64) / 64
        if math.isfinite(low) and math.isfinite(high):
            value += (low + high) / 2
        value = min(max(value, low), high)
        found.append(round(value) if question.integers else round(value * 64) / 64)
    return found


def _entries(question: ProofGoal, x: Sequence[Any]) -> list[dict[Symbol, Fraction]]:
    entry, size = question.entry, len(question.entry)
    return [
        dict(zip(entry, map(Fraction, x[i : i + size]), strict=True))
        for i in range(0, len(x), size)
    ]


def _element(graph: Graph, form: Form, entry: dict[Symbol, Fraction]) -> float:
    values = with_derived(dict(entry), graph.world)
    return float(sum((c * values[s] for s, c in form.terms.items() if s in values), Fraction(0)))


def _named(found: dict[str, float], expected: Sequence[float]) -> list[str]:
    """Which output is which place: itself, or what a public list has there."""
    places = [str(i) for i in range(len(expected))]
    if set(found) <= set(places) or len(found) != len(places):
        return places
    order = sorted(range(len(expected)), key=lambda i: expected[i])
    names = dict(zip(order, sorted(found, key=lambda y: found[y]), strict=True))
    return [names[i] for i in range(len(expected))]
