"""The trace reading: a plain function and an input become paths."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import PathLimitError, ReadingError, ReplayError, UntraceableError
from dpest.geometry.linear import Condition, Symbol, distinct
from dpest.noise.family import Noise
from dpest.reading import guard
from dpest.reading.calls import caller, data_size, fresh, place_of, symbolic_in, symbols_for
from dpest.reading.fixed import at_centre, check_generator
from dpest.reading.instances import expand_indicators, instantiate
from dpest.reading.loops import inputs
from dpest.reading.loops.conforming import check_path
from dpest.reading.machine.exploring.explorer import Limits
from dpest.reading.machine.signals import OutOfLimits, Refused
from dpest.reading.paths import Formula, Path, Trace
from dpest.reading.paths_of_code import read_paths
from dpest.reading.refusals import SAMPLING
from dpest.reading.release import released
from dpest.reading.rewrites.laws.joining import with_joined_noises
from dpest.reading.rewrites.readings import Plan, RereadError, words
from dpest.reading.rewrites.returning import EndlessError
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.reading.tracing.forking import Explored, Names, TraceExploration, TraceLimits, explore
from dpest.reading.tracing.merged import merged_trace
from dpest.reading.tracing.needless_forks import joined_paths
from dpest.running.places import code_of
from dpest.running.skeleton import flatten, raised_output
from dpest.running.watchdog import Deadline, TimeUp, watched

__all__ = ["expand_indicators", "instantiate", "noise_free", "trace"]

_FEW_PATHS = 32
_MOST_TURNS = 1500  # paths of a loop without a bound before a larger leftover is tried
_MOST_LEFTOVER = 1e-3
_CHECKED_PATHS = 8  # paths on which the untouched function is run, beside all that raise
_CHECKED_POINTS = 4  # of each of them


def trace(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    *,
    params: Mapping[str, Any] | None = None,
    symbolic: bool = False,
    assume: Sequence[Condition] = (),
    max_paths: int = 100_000,
    seconds: float = 60.0,
    leftover: float = 1e-9,
) -> Trace:
    """All paths of `mechanism(x, rng, **params)`.

    With `symbolic` each number in `x` becomes an input symbol (x0, x1, …) and the paths hold for
    all inputs of this shape, or for those that satisfy `assume`. Parameters may be Symbols, too.

    An exception that the function raises is what it releases there: a leaf "raises ValueError".
    Loops without a bound that come back to a state are summed up (see `rewrites.returning`). Others
    are followed until at most `leftover` of the probability is left, or, if that takes thousands of
    paths, until 0.001 is; the trace says how much.

    Raises UntraceableError (an operation that is not linear in the noise), ReplayError (hidden
    state or randomness that doesn't come from `rng`) or PathLimitError.
    """
    target = as_mechanism(mechanism).with_params(params)
    looked_at = {"noise"} | ({"data"} if symbolic or symbolic_in(x) else set())
    if any(symbolic_in(v) for v in target.params.values()):
        looked_at.add("parameter")
    given = symbols_for(x) if symbolic else x
    size = data_size(x)
    limits = TraceLimits(max_paths, seconds, leftover, 200 + 8 * size + min(size**2, 10_000), size)
    by_machine = None if target.takes_size else _by_the_machine(target, given, limits, assume)
    if by_machine is not None:
        return by_machine
    if target.black_box:
        raise UntraceableError(
            f"{target.name} has no parameter called rng",
            f"a mechanism that can be traced draws all its noise from `rng`; {SAMPLING}",
            place_of(target.function),
        )
    found = _read(target, given, limits, assume)
    # What the reader itself refuses, it can say more about.
    guard.check(target, form=guard.form_of(x), symbols=looked_at)
    return found


def _read(target: Mechanism, x: Any, limits: TraceLimits, assume: Sequence[Condition]) -> Trace:
    try:
        return with_joined_noises(_as_far_as_possible(target, x, limits, assume, lenient=False))
    except UntraceableError as error:
        try:
            # Arrays of numbers can't take a noisy value (`x[0] += noise`), nor a noisy mask;
            # arrays of objects can.
            return with_joined_noises(_as_far_as_possible(target, x, limits, assume, lenient=True))
        except ReadingError:
            raise error from None


def _by_the_machine(
    target: Mechanism, x: Any, limits: TraceLimits, assume: Sequence[Condition]
) -> Trace | None:
    """The machine's reading; None where it merely has no rule, so that `tracing` may be asked.

    Where it has seen that types, text, structure or hidden state matter, nobody else is asked.
    """
    patience = min(limits.patience, 400 + 4 * limits.data_size)
    within = Limits(limits.paths, limits.seconds, patience, merge_at=_FEW_PATHS)
    try:
        return with_joined_noises(read_paths(target, x, assume, within))
    except Refused as refusal:
        if not refusal.final:
            return None
        raise _as_error(target, refusal) from None


def _as_error(target: Mechanism, refusal: Refused) -> ReadingError:
    where = refusal.where or place_of(target.function)
    if isinstance(refusal, OutOfLimits):
        advice = (
            "look for a loop that ends only by noise, use a smaller input, or give it more with "
            f"seconds= and max_paths=; {SAMPLING}"
        )
        return PathLimitError(refusal.reason, refusal.advice or advice, where)
    advice = f"{refusal.advice or 'write it in another way'}; {SAMPLING}"
    return UntraceableError(refusal.reason, advice, where)


class _TooManyTurnsError(Exception):
    """A loop without a bound has too many paths before the rest is improbable enough."""


def _as_far_as_possible(
    target: Mechanism, x: Any, limits: TraceLimits, assume: Sequence[Condition], *, lenient: bool
) -> Trace:
    """With a larger leftover where the wanted one needs too many paths; the trace carries it."""
    plan: Plan = {}
    pairs = True
    while True:
        last = limits.leftover >= _MOST_LEFTOVER
        try:
            return _traced(target, x, limits, assume, plan, pairs, lenient=lenient, last=last)
        except RereadError as again:
            plan = again.added(plan)
        except UntraceableError:
            if not any(curve.part for curve in plan.values()):
                raise
            # A sign that is used in another way, too, may be read by forks.
            plan, pairs = {site: curve for site, curve in plan.items() if not curve.part}, False
        except _TooManyTurnsError:
            limits = replace(limits, leftover=min(1000 * limits.leftover, _MOST_LEFTOVER))


def noise_free(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    params: Mapping[str, Any] | None = None,
    *,
    seconds: float = 10.0,
) -> Any:
    """What the function returns when every noise is at its centre (see `fixed.at_centre`)."""
    target = as_mechanism(mechanism).with_params(params)
    try:
        found = StandIns(ScriptStage(), target.function)
        with found.drawing(at_centre()) as rng, watched(Deadline(seconds)):
            return caller(target)(fresh(x), rng)
    except TimeUp:
        raise PathLimitError(
            f"the run without noise took more than {seconds:g} s",
            "look for a loop that ends only by noise",
            place_of(target.function),
        ) from None


def _traced(
    target: Mechanism,
    x: Any,
    limits: TraceLimits,
    assume: Sequence[Condition],
    plan: Plan,
    pairs: bool,
    *,
    lenient: bool,
    last: bool,
) -> Trace:
    where = place_of(target.function)
    names = Names(plan=plan, pairs=pairs)
    exploration = explore(
        _watching_global_randomness(target, lambda: inputs.fresh(x, lenient=lenient)),
        limits=limits,
        names=names,
        assume=assume,
        where=where,
        lenient=lenient,
        join=True,
        function=target.function,
    )
    paths: list[Path] = []
    noises: dict[Symbol, Noise] = {}
    releases: set[Any] = set()
    ways: list[Explored] = []
    for found in exploration:
        noises.update(found.noises)
        thorough = len(paths) < _CHECKED_PATHS
        if found.raised or thorough:
            points = _CHECKED_POINTS if thorough else 1
            check_path(
                target, x, found, names, exploration.overlay, exploration.tight, points=points
            )
        skeleton, leaves = flatten(raised_output(found.outcome)) if found.raised else found.outcome
        paths.append(Path(found.conditions, skeleton, tuple(leaves), found.choices))
        if exploration.suspensions and len(paths) > _MOST_TURNS and not last:
            raise _TooManyTurnsError
        if len(paths) <= _FEW_PATHS:
            releases.add(_hashable(skeleton, leaves))
        if len(paths) == _FEW_PATHS and 2 * len(releases) <= _FEW_PATHS and not assume:
            # Many ways to few releases: states that are equal must be many.
            merged = _merged(target, x, limits, exploration)
            if merged is not None:
                return merged
        ways.append(found)
    # Before the function is run as it is: a loop that never ends must be known.
    paths = _with_turns(paths, ways, exploration, names, where)
    if plan:
        paths = joined_paths(paths)
    if not symbolic_in(x) and not any(symbolic_in(v) for v in target.params.values()):
        check_generator(target, x)
    used = {s for path in paths for form in path.forms for s in form.symbols("indicator")}
    indicators = {s: Formula.of(t) for s, t in names.indicators.items() if s in used}
    notes = (*exploration.notes, *words(plan))
    return Trace(tuple(paths), noises, indicators, exploration.leftover, x, notes)


def _watching_global_randomness(
    target: Mechanism, make_input: Callable[[], Any]
) -> Callable[[Any], Any]:
    """The function on a fresh input; a first run that draws from a global generator is refused."""
    call = inputs.caller(target)
    first = True

    def run(rng: Any) -> Any:
        nonlocal first
        inner = make_input()
        if not first:
            return released(call(inner, rng))
        first = False
        before = _global_randomness()
        try:
            return released(call(inner, rng))
        finally:
            if _global_randomness() != before:
                raise ReplayError(
                    "the function draws from a global random generator (np.random.… or random.…)",
                    "draw from the parameter `rng` instead: rng.laplace(…)",
                    _global_draw_line(target.function) or place_of(target.function),
                ) from None

    return run


def _merged(
    target: Mechanism, x: Any, limits: TraceLimits, exploration: TraceExploration
) -> Trace | None:
    """The trace by merging equal states; None where a loop has no bound, or states don't merge."""
    loops = exploration.loops
    if exploration.suspensions > 0 or (loops is not None and bool(loops.found)):
        return None
    return merged_trace(target, x, min(limits.seconds / 4, 10))


def _with_turns(
    paths: list[Path],
    ways: Sequence[Explored],
    exploration: TraceExploration,
    names: Names,
    where: str | None,
) -> list[Path]:
    """The paths with what they stand for: turns of loops that were joined, or that came back."""
    joins, loops = exploration.joins, exploration.loops
    if joins is not None and any(join.others for join in joins.found.values()):
        merged = [
            joins.merged(found.turns, _spoken_of(path, names))
            for path, found in zip(paths, ways, strict=True)
        ]
    elif loops is None or not loops.found:
        return paths
    else:
        merged = [[(list(path.conditions), list(path.choices), 1.0)] for path in paths]
    try:
        again = [[] if loops is None else loops.choices(found.turns) for found in ways]
        if loops is not None:
            loops.check()
    except EndlessError as error:
        raise PathLimitError(
            f"a loop {error}", "look for a condition that hardly ever holds", where
        ) from None
    return [
        Path(distinct(conditions), path.skeleton, path.leaves, (*choices, *extra))
        for path, variants, extra in zip(paths, merged, again, strict=True)
        for conditions, choices, _ in variants
    ]


def _spoken_of(path: Path, names: Names) -> set[Symbol]:
    """The noises in what a path releases."""
    found: set[Symbol] = set()
    pending = [s for form in path.forms for s in form.terms]
    for symbol in pending:
        if symbol.kind == "indicator":
            found.update(names.indicators[symbol].symbols())
        else:
            found.add(symbol)
    return found


def _hashable(skeleton: Any, leaves: Sequence[Any]) -> Any:
    try:
        return hash((skeleton, tuple(leaves)))
    except TypeError:
        return repr((skeleton, leaves))


def _global_randomness() -> Any:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(legacy, dict)
    state = legacy["state"]
    return legacy["has_gauss"], state["pos"], state["key"][:4].tobytes(), random.getstate()


def _global_draw_line(function: Callable[..., Any]) -> str | None:
    try:
        code = code_of(function) or function
        lines, start = inspect.getsourcelines(code)
        file = inspect.getsourcefile(code)
    except (TypeError, OSError):
        return None
    for i, line in enumerate(lines):
        if "np.random." in line or "numpy.random." in line or " random." in line:
            return f"{file}:{start + i}"
    return None
