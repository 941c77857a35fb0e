"""Traces made from traces: at one input, or without indicators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpest.errors import InputError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.geometry.regions import Supports
from dpest.reading.paths import Path, Trace
from dpest.reading.release import released, with_bits, with_kinds
from dpest.reading.tracing.forking import Names, TraceLimits, explore
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, joined
from dpest.running.skeleton import leaf_kind, leaf_kinds, unflatten


def expand_indicators(trace: Trace, *, max_paths: int = 100_000, seconds: float = 60.0) -> Trace:
    """The same trace with every indicator forked into 0 and 1: no leaf holds one any more."""
    names = Names()
    names.supports.noises.update(trace.noises)
    names.indicators.update(trace.indicators)
    paths: list[Path] = []
    for path in trace.paths:
        bits = sorted({s for form in path.forms for s in form.symbols("indicator")})
        if not bits:
            paths.append(path)
            continue

        def settle(rng: Any, bits: Sequence[Symbol] = bits) -> dict[Symbol, int]:
            return {s: int(bool(trace.indicators[s])) for s in bits}

        kinds = leaf_kinds(path.skeleton)
        for found in explore(
            settle,
            limits=TraceLimits(max_paths - len(paths), seconds),
            names=names,
            assume=path.conditions,
        ):
            leaves = tuple(
                with_bits(leaf, kind, found.outcome)
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            )
            skeleton, plain = released(_unflattened(path, leaves))
            paths.append(Path((*path.conditions, *found.conditions), skeleton, plain, path.choices))
    return Trace(tuple(paths), trace.noises, {}, trace.leftover, trace.inputs, trace.notes)


def instantiate(trace: Trace, x: Any, *, check: bool = True) -> Trace:
    """A symbolic trace at one input: the paths that are possible there.

    Much cheaper than a trace of its own where many inputs of one shape are asked for. Without
    `check`, paths may stay that no noise can take (their probability is zero).
    """
    values: dict[Symbol, Form] = {}
    _bind(trace.inputs, x, values)
    supports = Supports()
    supports.noises.update(trace.noises)
    indicators = {s: substituted(truth, values) for s, truth in trace.indicators.items()}
    bits = {s: Form.number(int(t)) for s, t in indicators.items() if isinstance(t, bool)}
    values.update(bits)
    # Paths share their first conditions: each is substituted once.
    known: dict[int, Any] = {}
    paths = []
    for path in trace.paths:
        conditions = []
        for condition in path.conditions:
            found = known.get(id(condition))
            if found is None:
                at = Condition(condition.form.substitute(values), condition.relation)
                answer = at.decided()
                found = known[id(condition)] = at if answer is None else answer
            if found is False:
                break
            if found is not True:
                conditions.append(found)
        else:
            if check and not _possible(conditions, supports):
                continue
            kinds = leaf_kinds(path.skeleton)
            leaves = [
                _plain_leaf(leaf.substitute(values), kind) if isinstance(leaf, Form) else leaf
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            ]
            plain = [
                leaf_kind(leaf) if kind == "real" and not isinstance(leaf, Form) else kind
                for leaf, kind in zip(leaves, kinds, strict=True)
            ]
            skeleton = path.skeleton if plain == kinds else with_kinds(path.skeleton, iter(plain))
            paths.append(Path(tuple(conditions), skeleton, tuple(leaves), path.choices))
    return Trace(
        tuple(paths),
        trace.noises,
        {s: t for s, t in indicators.items() if not isinstance(t, bool)},
        trace.leftover,
        x,
        trace.notes,
    )


def _plain_leaf(form: Form, kind: str) -> Any:
    if form.terms:
        return form
    return bool(form.constant) if kind == "bool" else TracedReal(form, kind == "int").plain


def substituted(truth: TracedTruth, values: Mapping[Symbol, Form]) -> Any:
    if truth.condition is not None:
        at = Condition(truth.condition.form.substitute(values), truth.condition.relation)
        known = at.decided()
        return TracedTruth(at) if known is None else known
    result: Any = truth.conjunction
    for part in truth.parts:
        result = joined(result, substituted(part, values), truth.conjunction)
    return result


def _possible(conditions: Sequence[Condition], supports: Supports) -> bool:
    tight = [supports.tightened(c) for c in conditions]
    symbols = {s for c in tight for s in c.form.terms}
    return feasible([*tight, *supports.conditions(symbols)]) is not None


def _bind(symbols: Any, x: Any, values: dict[Symbol, Form]) -> None:
    """Which number each input symbol stands for."""
    if isinstance(symbols, TracedReal):
        (symbol,) = symbols.form.terms
        values[symbol] = Form.number(x)
    elif isinstance(symbols, dict):
        for key, value in symbols.items():
            _bind(value, x[key], values)
    elif isinstance(symbols, np.ndarray):
        given = np.asarray(x)
        if given.shape != symbols.shape:
            raise InputError(f"the trace is of inputs of shape {symbols.shape}, not {given.shape}")
        for value, number in zip(symbols.flat, given.flat, strict=True):
            _bind(value, number, values)
    elif isinstance(symbols, (list, tuple)):
        if len(symbols) != len(x):
            raise InputError(f"the trace is of inputs of length {len(symbols)}, not {len(x)}")
        for value, number in zip(symbols, x, strict=True):
            _bind(value, number, values)


def _unflattened(path: Path, leaves: Sequence[Any]) -> Any:
    kinds = leaf_kinds(path.skeleton)
    return unflatten(
        path.skeleton,
        [
            TracedReal(leaf, kind == "int") if isinstance(leaf, Form) else leaf
            for leaf, kind in zip(leaves, kinds, strict=True)
        ],
    )
