"""Traces made from traces: at one input, or without indicators."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.errors import InputError, PathLimitError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.geometry.regions import Supports
from dpest.reading.domains.numbers import Real
from dpest.reading.paths import Formula, Path, Trace
from dpest.running.skeleton import Leaf, Nest, Skeleton, leaf_kind, leaf_kinds

_Conditions = tuple[Condition, ...]


def expand_indicators(trace: Trace, *, max_paths: int = 100_000, seconds: float = 60.0) -> Trace:
    """The same trace with every indicator forked into 0 and 1: no leaf holds one any more."""
    supports = Supports()
    supports.noises.update(trace.noises)
    end = time.monotonic() + seconds
    paths: list[Path] = []
    for path in trace.paths:
        bits = sorted({s for form in path.forms for s in form.symbols("indicator")})
        if not bits:
            paths.append(path)
            continue
        kinds = leaf_kinds(path.skeleton)
        settled = _Settled(supports, trace.indicators)
        for conditions, values in settled.ways(bits, path.conditions):
            leaves = [
                _plain_leaf(leaf.substitute(values), kind) if isinstance(leaf, Form) else leaf
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            ]
            skeleton = _with_plain_kinds(path.skeleton, kinds, leaves)
            paths.append(Path(conditions, skeleton, tuple(leaves), path.choices))
            if len(paths) > max_paths or time.monotonic() > end:
                raise PathLimitError(
                    f"more than {len(paths) - 1} paths without indicators", "use a smaller input"
                )
    return replace(trace, paths=tuple(paths), indicators={})


class _Settled:
    """All ways to decide indicators that some noise takes."""

    def __init__(self, supports: Supports, formulas: Mapping[Symbol, Formula]) -> None:
        self.supports = supports
        self.formulas = formulas

    def ways(
        self, bits: Sequence[Symbol], held: _Conditions
    ) -> Iterator[tuple[_Conditions, dict[Symbol, Form]]]:
        if not bits:
            yield held, {}
            return
        first, *rest = bits
        for answer, conditions in self._answers(self.formulas[first], held):
            for more, values in self.ways(rest, conditions):
                yield more, {**values, first: Form.number(int(answer))}

    def _answers(self, formula: Formula, held: _Conditions) -> Iterator[tuple[bool, _Conditions]]:
        """The answers that are possible, each with what is known then."""
        if formula.condition is not None:
            ways = [
                (answer, condition)
                for answer, condition in (
                    (True, formula.condition),
                    (False, formula.condition.negated()),
                )
                if is_possible([*held, condition], self.supports)
            ]
            for answer, condition in ways:
                yield answer, (*held, condition) if len(ways) > 1 else held
            return
        yield from self._joined(formula.parts, formula.conjunction, held)

    def _joined(
        self, parts: Sequence[Formula], conjunction: bool, held: _Conditions
    ) -> Iterator[tuple[bool, _Conditions]]:
        if not parts:
            yield conjunction, held
            return
        for answer, conditions in self._answers(parts[0], held):
            if answer != conjunction:
                yield answer, conditions
            else:
                yield from self._joined(parts[1:], conjunction, conditions)


def instantiate(trace: Trace, x: Any, *, check: bool = True) -> Trace:
    """A symbolic trace at one input: the paths that are possible there.

    Much cheaper than a trace of its own where many inputs of one shape are asked for. Without
    `check`, paths may stay that no noise can take (their probability is zero).
    """
    values: dict[Symbol, Form] = {}
    _bind(trace.inputs, x, values)
    supports = Supports()
    supports.noises.update(trace.noises)
    indicators = {s: truth.substituted(values) for s, truth in trace.indicators.items()}
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
            if check and not is_possible(conditions, supports):
                continue
            kinds = leaf_kinds(path.skeleton)
            leaves = [
                _plain_leaf(leaf.substitute(values), kind) if isinstance(leaf, Form) else leaf
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            ]
            skeleton = _with_plain_kinds(path.skeleton, kinds, leaves)
            paths.append(Path(tuple(conditions), skeleton, tuple(leaves), path.choices))
    return replace(
        trace,
        paths=tuple(paths),
        indicators={s: t for s, t in indicators.items() if isinstance(t, Formula)},
        inputs=x,
    )


def _plain_leaf(form: Form, kind: str) -> Any:
    if form.terms:
        return form
    if kind == "bool":
        return bool(form.constant)
    return int(form.constant) if kind == "int" else float(form.constant)


def _with_plain_kinds(skeleton: Skeleton, kinds: Sequence[str], leaves: Sequence[Any]) -> Skeleton:
    """A real number that has become a constant is a leaf of that constant's kind."""
    plain = [
        leaf_kind(leaf) if kind == "real" and not isinstance(leaf, Form) else kind
        for leaf, kind in zip(leaves, kinds, strict=True)
    ]
    return skeleton if plain == list(kinds) else _with_kinds(skeleton, iter(plain))


def _with_kinds(skeleton: Skeleton, kinds: Iterator[Any]) -> Skeleton:
    if isinstance(skeleton, Leaf):
        return Leaf(next(kinds))
    return Nest(
        skeleton.container,
        skeleton.keys,
        tuple(_with_kinds(part, kinds) for part in skeleton.parts),
        skeleton.label,
    )


def is_possible(conditions: Sequence[Condition], supports: Supports) -> bool:
    """Whether some noise satisfies all conditions."""
    tight = [supports.tightened(c) for c in conditions]
    symbols = {s for c in tight for s in c.form.terms}
    return feasible([*tight, *supports.conditions(symbols)]) is not None


def _bind(symbols: Any, x: Any, values: dict[Symbol, Form]) -> None:
    """Which number each input symbol stands for."""
    if isinstance(symbols, Real):
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
