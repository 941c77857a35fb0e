"""A function at one input, or at symbolic inputs of one length, read by the machine: its paths."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, data_first, parameters_of
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.domains.numbers import FLOAT, NUMBER, NUMPY_FLOAT, Real, Truth
from dpest.reading.machine.adopting import adopt, new_array
from dpest.reading.machine.execute import begun
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.explorer import Limits, explore_paths
from dpest.reading.machine.heap import Heap
from dpest.reading.machine.state import State
from dpest.reading.machine.values import RandomSource
from dpest.reading.model import Model
from dpest.reading.paths import Choice, Path, Trace
from dpest.reading.replay import Replay
from dpest.reading.table.registry import load
from dpest.reading.tracing import symbolic as tracing
from dpest.reading.tracing.symbolic_arrays import SymbolicArray

GENERATOR = RandomSource("generator", np.random.Generator)


def read_paths(
    target: Mechanism,
    x: Any,
    assume: Sequence[Condition] = (),
    limits: Limits | None = None,
) -> Trace:
    """All paths of `mechanism(x, rng, **params)`; raises Refused where the machine has no rule.

    Numbers in `x` and parameters may be symbolic (Forms, Symbols, the reals of `tracing`).
    """
    load()
    limits = limits or Limits()
    machine = Machine(limits.instructions)
    machine.assumed = tuple(assume)
    first = first_state(machine, target, x)
    model, _ = explore_paths(machine, first, limits)
    Replay(machine, model, target, x, tuple(assume)).check()
    return as_trace(model, x)


def first_state(machine: Machine, target: Mechanism, x: Any) -> State:
    """The state before a call of the mechanism."""
    state = State([], Heap())
    machine.state = state
    given = lifted(state, x)
    params = {k: lifted(state, v, outside=True) for k, v in target.params.items()}
    called = adopt(state, target.function, outside=True)
    args, kwargs = arguments(target, given, params, GENERATOR)
    return begun(machine, state, called, args, kwargs)


def arguments(
    target: Mechanism, x: Any, params: Mapping[str, Any], rng: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """How the function is called: `rng` by name where it has such a parameter."""
    found = parameters_of(target.function).get("rng")
    if found is None:
        return (x,), dict(params)
    if found.kind is inspect.Parameter.POSITIONAL_ONLY:
        return (x, rng), dict(params)
    if not data_first(target.function):
        return (rng, x), dict(params)
    return (x,), {**params, "rng": rng}


def lifted(state: State, value: Any, *, outside: bool = False) -> Any:
    """An input or parameter as a value; the caller's own, unless it is `outside`."""
    if isinstance(value, tracing.Real):
        if value.form.terms:
            return Real(value.form, NUMPY_FLOAT if value.numpy else NUMBER)
        return value.plain
    if isinstance(value, (Symbol, Form)):
        form = Form.of(value) if isinstance(value, Symbol) else value
        return Real(form, FLOAT)
    if isinstance(value, SymbolicArray):
        data = np.empty(value.size, dtype=object)
        for i, part in enumerate(value.reshape(-1)):
            found = lifted(state, part)
            data[i] = (
                Real(found.form, NUMPY_FLOAT) if isinstance(found, Real) else np.float64(found)
            )
        return new_array(state, data.reshape(value.shape), np.dtype(float), outside=outside)
    if type(value) is list:
        made = [lifted(state, v, outside=outside) for v in value]
        return adopt(state, made, outside=outside)
    if type(value) is tuple:
        return tuple(lifted(state, v, outside=outside) for v in value)
    if type(value) is dict:
        pairs = {k: lifted(state, v, outside=outside) for k, v in value.items()}
        return adopt(state, pairs, outside=outside)
    return adopt(state, value, outside=outside)


def as_trace(model: Model, x: Any) -> Trace:
    """The paths in the form that the engines take."""
    paths = []
    used: set[Symbol] = set()
    for edge in model.edges:
        assert edge.release is not None
        choices = tuple(Choice(p.site, p.noise, p.outcome, p.probability) for p in edge.picks)
        path = Path(edge.conditions, edge.release.skeleton, edge.release.leaves, choices)
        used.update(s for form in path.forms for s in form.symbols("indicator"))
        paths.append(path)
    indicators = {s: as_formula(model.definitions[s]) for s in used}
    return Trace(tuple(paths), dict(model.noises), indicators, inputs=x, notes=model.notes)


def as_formula(truth: Truth) -> tracing.Truth:
    parts = tuple(as_formula(p) for p in truth.parts)
    return tracing.Truth(truth.condition, parts, truth.conjunction, truth.kind is np.bool_)
