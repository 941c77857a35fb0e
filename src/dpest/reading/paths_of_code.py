"""A function at one input, or at symbolic inputs of one length, read by the machine: its paths."""

from __future__ import annotations

import contextlib
import gc
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, data_first, parameters_of
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.calls import symbolic_in
from dpest.reading.domains.numbers import FLOAT, NUMPY_FLOAT, Real
from dpest.reading.machine import prelude
from dpest.reading.machine.adopting import adopt, new_array
from dpest.reading.machine.execute import begun
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.explorer import (
    Exploration,
    FewReleases,
    Limits,
    few_releases,
)
from dpest.reading.machine.exploring.merging import Way, explore_merged
from dpest.reading.machine.heap import Heap
from dpest.reading.machine.signals import OutOfLimits, Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import RandomSource
from dpest.reading.made_noise import with_made_noise
from dpest.reading.merged_paths import draws_differ, merged_model, regions_of_releases
from dpest.reading.merged_replay import MergedReplay
from dpest.reading.model import Model
from dpest.reading.paths import Choice, Formula, Path, Trace
from dpest.reading.replay import Replay
from dpest.reading.table.registry import load
from dpest.reading.turns.reading import read_turns
from dpest.reading.turns.replay import TurnReplay

_FEW = 32
_IN_BETWEEN = 10.0  # seconds in which turns and merging must have shown that they are of use
_SOON = 2.0
GENERATOR = RandomSource("generator", np.random.Generator)


def read_paths(
    target: Mechanism,
    x: Any,
    assume: Sequence[Condition] = (),
    limits: Limits | None = None,
) -> Trace:
    """All paths of `mechanism(x, rng, **params)`; raises Refused where the machine has no rule.

    Numbers in `x` and parameters may be symbolic (Forms, Symbols, Reals).
    """
    load()
    limits = limits or Limits()
    machine = _machine(limits, assume)
    machine.makes_curves = True
    try:
        return _read_paths(machine, limits, target, x)
    except Refused as refusal:
        if refusal.final or not machine.has_made_curves:
            raise
    # Draws of which signs and sizes are used in another way, too: by decisions.
    return _read_paths(_machine(limits, assume), limits, target, x)


def _machine(limits: Limits, assume: Sequence[Condition]) -> Machine:
    machine = Machine(limits.instructions)
    machine.assumed = tuple(assume)
    machine.makes_noise = True
    machine.may_leave = limits.leftover > 0
    return machine


def _read_paths(machine: Machine, limits: Limits, target: Mechanism, x: Any) -> Trace:
    first = first_state(machine, target, x)
    first.constrained = frozenset(s for c in machine.assumed for s in c.form.terms)
    with without_collector():
        try:
            model, replay = _read(machine, first, limits, target, x)
        except OutOfLimits as limit:
            raise (limit if limit.advice else machine.explained(limit)) from None
        replay.check()
        errors = machine.known_errors
        return replace(
            as_trace(model, x), rounding=errors.of_chances, rounding_of_ends=errors.of_ends
        )


def refusal_at(target: Mechanism, x: Any, limits: Limits) -> Refused | None:
    """Why the paths at one input are not read; None where they are, as far as the limits go."""
    load()
    machine = Machine(limits.instructions)
    machine.makes_noise = True
    try:
        Exploration(machine, first_state(machine, target, x)).model(limits)
    except OutOfLimits:
        return None
    except Refused as refusal:
        return refusal
    return None


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Paths are many small tuples, which live on: looking for cycles among them is a waste."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(
    machine: Machine, first: State, limits: Limits, target: Mechanism, x: Any
) -> tuple[Model, Replay]:
    """Path by path where there are few of them; otherwise by merging equal states, if that helps.

    Nobody merges what has few paths: they are cheap, and their conditions are what they are. Loops
    without a bound are summed up where they come back to a state. Otherwise they are followed as
    far as it takes, if nothing else has shown that they have a bound after all.
    """
    exploration = Exploration(machine, first.fork())
    try:
        model = exploration.model(replace(limits, paths=min(limits.paths, _FEW)))
    except OutOfLimits as many:
        in_between = replace(limits, seconds=min(limits.seconds / 4, _IN_BETWEEN))
        turned = read_turns(machine, first, in_between)
        if turned is not None and turned.is_summed_up:
            return turned.model, TurnReplay(machine, *turned, target, x, machine.assumed)
        if turned is not None and turned.has_no_bound:
            # This is what there is, unless all is soon read after all.
            limits = in_between = replace(limits, seconds=min(in_between.seconds, _SOON))
        merged = _by_merging(machine, first, in_between, few=isinstance(many, FewReleases))
        if merged is not None:
            graph, model, is_folded = merged
            replay = MergedReplay(
                machine, graph, model, target, x, machine.assumed, is_folded=is_folded
            )
            return model, replay
        try:
            model = exploration.model(replace(limits, merge_at=0))
        except OutOfLimits:
            if turned is None or not turned.has_no_bound:
                raise
            return turned.model, TurnReplay(machine, *turned, target, x, machine.assumed)
    model = with_made_noise(machine, model)
    return model, Replay(machine, model, target, x, machine.assumed)


def _by_merging(
    machine: Machine, first: State, limits: Limits, *, few: bool
) -> tuple[list[list[Way]], Model, bool] | None:
    """The graph of merged states, its paths, and whether these are not simply its ways.

    `few`: there are few releases. A path for each of them is best; paths that have few releases
    again are of no use.
    """
    for by_order in (False, True) if few else (False,):
        graph = _graph(machine, first, limits, by_order)
        if graph is None:
            continue
        if machine.has_made_noise:
            return None  # noise that is made of several draws is replayed path by path
        if few and not by_order:
            regions = regions_of_releases(machine, graph)
            if regions is not None:
                return graph, regions, True
        model = _paths_of(machine, graph, limits)
        if model is not None and not (few and few_releases(model.edges)):
            return graph, model, any(s.kind == "indicator" for s in model.definitions)
        if not draws_differ(graph):
            break
    return None


def _graph(
    machine: Machine, first: State, limits: Limits, by_order: bool
) -> list[list[Way]] | None:
    """The graph of merged states; None where merging is of no use."""
    if not any(code.heads for code in machine.seen_codes.values()):
        return None
    try:
        return explore_merged(machine, first, limits, by_order=by_order)
    except Refused as refusal:
        if refusal.final:
            raise
        return None


def _paths_of(machine: Machine, graph: list[list[Way]], limits: Limits) -> Model | None:
    """The paths of a graph; None where there are too many."""
    try:
        return merged_model(machine, graph, min(limits.paths, limits.fold_at), limits.merged_paths)
    except Refused:
        return None


def first_state(machine: Machine, target: Mechanism, x: Any) -> State:
    """The state before a call of the mechanism."""
    state = State([], Heap())
    machine.state = state
    given = lifted(state, x)
    params = {k: lifted(state, v, outside=True) for k, v in target.params.items()}
    called = adopt(state, target.function, outside=True)
    args, kwargs = arguments(target, given, params, GENERATOR)
    begin = begun(machine, state, called, args, kwargs)
    outcome = begin.outcome
    if outcome is not None and not outcome.raised and machine.is_iterator(outcome.value):
        begin.outcome = None
        return begun(machine, state, prelude.consumed_, (outcome.value,), {})
    return begin


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
    if isinstance(value, (Symbol, Form)):
        form = Form.of(value) if isinstance(value, Symbol) else value
        return Real(form, FLOAT)
    if isinstance(value, np.ndarray) and value.dtype == object and symbolic_in(value):
        data = np.empty(value.size, dtype=object)
        for i, part in enumerate(value.reshape(-1)):
            found = lifted(state, part)
            is_real = isinstance(found, Real)
            data[i] = Real(found.form, NUMPY_FLOAT) if is_real else np.float64(found)
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
        choices = tuple(
            Choice(p.site, p.noise, p.outcome, p.probability, p.rounded) for p in edge.picks
        )
        path = Path(edge.conditions, edge.release.skeleton, edge.release.leaves, choices)
        if model.definitions:
            used.update(s for form in path.forms for s in form.symbols("indicator"))
        paths.append(path)
    indicators = {s: Formula.of(model.definitions[s]) for s in used}
    return Trace(
        tuple(paths), dict(model.noises), indicators, model.leftover, inputs=x, notes=model.notes
    )
