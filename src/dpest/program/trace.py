"""The trace reading: a plain function and an input become paths."""

from __future__ import annotations

import copy
import inspect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpest.declaration import Mechanism, as_mechanism, parameters_of
from dpest.errors import InputError, PathLimitError, ReadingError, ReplayError, UntraceableError
from dpest.noise.family import Noise
from dpest.program.fixed import at_centre, at_point
from dpest.program.forking import Explored, Limits, Names, explore
from dpest.program.linear import Condition, Form, Symbol
from dpest.program.merged import merged_trace
from dpest.program.paths import Path, Trace
from dpest.program.places import innermost, inside_while, shown
from dpest.program.polyhedra import feasible
from dpest.program.regions import Supports
from dpest.program.release import released, with_bits
from dpest.program.running import SAMPLING
from dpest.program.skeleton import flatten, leaf_kinds, unflatten
from dpest.program.symbolic import Real
from dpest.program.symbolic_arrays import SymbolicArray, symbolic_array
from dpest.program.watchdog import TimeUp, watched

_FEW_PATHS = 64
_CHECKED_PATHS = 8  # paths on which the untouched function is run, beside all that raise


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
    Loops without a bound are followed until at most `leftover` of the probability is left.

    Raises UntraceableError (an operation that is not linear in the noise), ReplayError (hidden
    state or randomness that doesn't come from `rng`) or PathLimitError.
    """
    target = as_mechanism(mechanism).with_params(params)
    if target.black_box:
        raise UntraceableError(
            f"{target.name} has no parameter called rng",
            f"a mechanism that can be traced draws all its noise from `rng`; {SAMPLING}",
            place_of(target.function),
        )
    given = symbols_for(x) if symbolic else x
    size = _count(x)
    limits = Limits(max_paths, seconds, leftover, 200 + 8 * size + min(size**2, 10_000), size)
    try:
        return _traced(target, given, limits, assume, lenient=False)
    except UntraceableError as error:
        try:
            # Arrays of numbers can't take a noisy value (`x[0] += noise`), nor a noisy mask;
            # arrays of objects can.
            return _traced(target, given, limits, assume, lenient=True)
        except ReadingError:
            raise error from None


def noise_free(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    params: Mapping[str, Any] | None = None,
    *,
    seconds: float = 10.0,
) -> Any:
    """What the function returns when every noise is at its centre (see `fixed.at_centre`)."""
    import time

    target = as_mechanism(mechanism).with_params(params)
    try:
        with watched(time.monotonic() + seconds):
            return caller(target)(fresh(x, lenient=False), at_centre())
    except TimeUp:
        raise PathLimitError(
            f"the run without noise took more than {seconds:g} s",
            "look for a loop that ends only by noise",
            place_of(target.function),
        ) from None


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
            limits=Limits(max_paths - len(paths), seconds),
            names=names,
            assume=path.conditions,
        ):
            leaves = tuple(
                with_bits(leaf, kind, found.outcome)
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            )
            skeleton, plain = released(unflattened(path, leaves))
            paths.append(Path((*path.conditions, *found.conditions), skeleton, plain, path.choices))
    return Trace(tuple(paths), trace.noises, {}, trace.leftover, trace.inputs, trace.notes)


def instantiate(trace: Trace, x: Any) -> Trace:
    """A symbolic trace at one input: the paths that are possible there.

    Much cheaper than a trace of its own where many inputs of one shape are asked for.
    """
    values: dict[Symbol, Form] = {}
    _bind(trace.inputs, x, values)
    supports = Supports()
    supports.noises.update(trace.noises)
    paths = []
    for path in trace.paths:
        conditions = []
        for condition in path.conditions:
            at = Condition(condition.form.substitute(values), condition.relation)
            known = at.decided()
            if known is False:
                break
            if known is None:
                conditions.append(at)
        else:
            tight = [supports.tightened(c) for c in conditions]
            symbols = {s for c in tight for s in c.form.terms}
            if feasible([*tight, *supports.conditions(symbols)]) is None:
                continue
            kinds = leaf_kinds(path.skeleton)
            leaves = [
                Real(leaf.substitute(values), kind == "int") if isinstance(leaf, Form) else leaf
                for leaf, kind in zip(path.leaves, kinds, strict=True)
            ]
            if "bool" in kinds and trace.indicators:
                raise InputError("expand the indicators of the trace before instantiating it")
            skeleton, plain = released(unflatten(path.skeleton, leaves))
            paths.append(Path(tuple(conditions), skeleton, plain, path.choices))
    return Trace(tuple(paths), trace.noises, trace.indicators, trace.leftover, x, trace.notes)


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


def unflattened(path: Path, leaves: Sequence[Any]) -> Any:
    kinds = leaf_kinds(path.skeleton)
    return unflatten(
        path.skeleton,
        [
            Real(leaf, kind == "int") if isinstance(leaf, Form) else leaf
            for leaf, kind in zip(leaves, kinds, strict=True)
        ],
    )


def _traced(
    target: Mechanism, x: Any, limits: Limits, assume: Sequence[Condition], *, lenient: bool
) -> Trace:
    where = place_of(target.function)
    names = Names()
    call = caller(target)
    first = True

    def run(rng: Any) -> Any:
        nonlocal first
        inner = fresh(x, lenient=lenient)
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
                    _global_draw_line(target.function) or where,
                ) from None

    exploration = explore(
        run, limits=limits, names=names, assume=assume, where=where, lenient=lenient
    )
    paths: list[Path] = []
    noises: dict[Symbol, Noise] = {}
    releases: set[Any] = set()
    for found in exploration:
        noises.update(found.noises)
        if found.raised or len(paths) < _CHECKED_PATHS:
            _check(target, x, found, names)
        skeleton, leaves = (
            flatten(f"raises {type(found.outcome).__name__}") if found.raised else found.outcome
        )
        paths.append(Path(found.conditions, skeleton, tuple(leaves), found.choices))
        if len(paths) <= _FEW_PATHS:
            releases.add(_hashable(skeleton, leaves))
        if len(paths) == _FEW_PATHS and 2 * len(releases) <= _FEW_PATHS and not assume:
            # Many ways to few releases: states that are equal must be many.
            endless = any(place is None or inside_while(*place) for place in exploration.forks)
            merged = None if endless else merged_trace(target, x, limits.seconds)
            if merged is not None:
                return merged
    used = {s for path in paths for form in path.forms for s in form.symbols("indicator")}
    return Trace(
        tuple(paths),
        noises,
        {s: truth for s, truth in names.indicators.items() if s in used},
        exploration.leftover,
        x,
        tuple(exploration.notes),
    )


def _hashable(skeleton: Any, leaves: Sequence[Any]) -> Any:
    try:
        return hash((skeleton, tuple(leaves)))
    except TypeError:
        return repr((skeleton, leaves))


def _check(target: Mechanism, x: Any, found: Explored, names: Names) -> None:
    """Run the untouched function at a point of the path; it must do what the path says."""
    values = dict(found.point)

    def plain(form: Form) -> float:
        for symbol in form.terms:
            if symbol not in values and symbol.kind != "indicator":
                values[symbol] = names.supports.inside(symbol)
            elif symbol.kind == "indicator":
                values[symbol] = Form.number(
                    names.indicators[symbol].at(values, names.supports.inside)
                ).constant
        return float(form.at(values))

    def number(leaf: Any) -> Any:
        return plain(leaf.form) if isinstance(leaf, Real) else leaf

    generator = at_point(values, names.drawn, names.supports.inside, found.choices)
    changed = target
    if any(isinstance(v, (Real, Symbol, Form)) for v in target.params.values()):
        changed = target.with_params({k: number(as_value(v)) for k, v in target.params.items()})
    try:
        output: Any = caller(changed)(concrete(fresh(x, lenient=False), number), generator)
    except Exception as error:
        if found.raised and type(error) is type(found.outcome):
            return
        if found.raised:
            _not_the_users(found.outcome)
        raise ReplayError(
            f"the function raised {type(error).__name__} ({error}) on noise where the trace "
            "returned an output",
            "it must treat numbers alike, whatever their type",
            place_of(target.function),
        ) from error
    if found.raised:
        _not_the_users(found.outcome)
    _, expected = found.outcome
    _, actual = flatten(output)
    same = len(expected) == len(actual) and all(
        _agrees(plain(e) if isinstance(e, Form) else e, a)
        for e, a in zip(expected, actual, strict=True)
    )
    if not same:
        raise ReplayError(
            f"run with numbers for its noise, the function returned {output!r}, which is not what "
            "its trace says",
            "it must treat numbers alike, whatever their type, and depend on nothing but its "
            "input, its parameters and `rng`",
            place_of(target.function),
        )


def _not_the_users(error: BaseException) -> None:
    """An exception that only symbolic values cause: not an output, but an untraceable line."""
    raise UntraceableError(
        f"a noisy value can't be used here ({type(error).__name__}: {error})",
        f"write it with NumPy arithmetic, comparisons, sums, max, argmax or where; {SAMPLING}",
        shown(innermost(error.__traceback__)),
    ) from error


def _agrees(expected: Any, actual: Any) -> bool:
    if isinstance(actual, np.generic):
        actual = actual.item()
    numbers = (int, float)
    if isinstance(expected, numbers) and isinstance(actual, numbers):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(expected, frozenset):
        return expected == frozenset(actual)
    return bool(expected == actual)


def caller(target: Mechanism) -> Callable[[Any, Any], Any]:
    """`mechanism(x, rng, **params)` as a function of x and rng, Symbols among params as values."""
    found = parameters_of(target.function).get("rng")
    by_name = found is not None and found.kind is not inspect.Parameter.POSITIONAL_ONLY
    params = {k: as_value(v) for k, v in target.params.items()}

    def call(x: Any, rng: Any) -> Any:
        if by_name:
            result = target.function(x, rng=rng, **params)
        else:
            result = target.function(x, rng, **params)
        if inspect.isgenerator(result) or isinstance(result, (map, filter, zip)):
            return list(result)
        return result

    return call


def as_value(value: Any) -> Any:
    if isinstance(value, Symbol):
        return Real(Form.of(value))
    return Real(value) if isinstance(value, Form) else value


def symbols_for(x: Any, stem: str = "x") -> Any:
    """The same structure with an input symbol for each number."""
    if isinstance(x, (bool, np.bool_, str)) or x is None:
        return x
    if isinstance(x, (int, float, np.number)):
        return Real(Form.of(Symbol("input", stem)))
    if isinstance(x, (Symbol, Form)):
        return as_value(x)
    if isinstance(x, np.ndarray):
        found = np.empty(x.shape, dtype=object)
        for place in np.ndindex(x.shape):
            found[place] = symbols_for(x[place], stem + "_".join(str(i) for i in place))
        return found.view(SymbolicArray)
    if isinstance(x, (list, tuple)):
        joint = "" if stem == "x" else "_"
        return type(x)(symbols_for(v, f"{stem}{joint}{i}") for i, v in enumerate(x))
    if isinstance(x, dict):
        return {k: symbols_for(v, f"{stem}_{k}") for k, v in x.items()}
    return x


def fresh(x: Any, *, lenient: bool) -> Any:
    """A copy that the function may change, of the type that was given."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(fresh(v, lenient=lenient) for v in x)
    if isinstance(x, dict):
        return {k: fresh(v, lenient=lenient) for k, v in x.items()}
    if isinstance(x, SymbolicArray):
        return x.copy()
    if isinstance(x, np.ndarray):
        return symbolic_array(x).copy() if lenient and x.dtype.kind in "fiu" else x.copy()
    if isinstance(x, (int, float, str, bytes, Real, np.generic)) or x is None:
        return x
    if isinstance(x, (Symbol, Form)):
        return as_value(x)
    return copy.deepcopy(x)


def concrete(x: Any, number: Callable[[Any], Any]) -> Any:
    """The input with numbers for its symbols."""
    if isinstance(x, SymbolicArray):
        return np.array([number(v) for v in x.flat]).reshape(x.shape)
    if isinstance(x, (list, tuple)):
        return type(x)(concrete(v, number) for v in x)
    if isinstance(x, dict):
        return {k: concrete(v, number) for k, v in x.items()}
    return number(x)


def _count(x: Any) -> int:
    """How many data there are: loops over them are not without a bound."""
    if isinstance(x, np.ndarray):
        return int(x.size)
    if isinstance(x, (list, tuple)):
        return sum(_count(v) for v in x)
    if isinstance(x, dict):
        return sum(_count(v) for v in x.values())
    return len(x) if hasattr(x, "__len__") and not isinstance(x, str) else 1


def place_of(function: Callable[..., Any]) -> str | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _global_randomness() -> Any:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(legacy, dict)
    state = legacy["state"]
    return legacy["has_gauss"], state["pos"], state["key"][:4].tobytes(), random.getstate()


def _global_draw_line(function: Callable[..., Any]) -> str | None:
    try:
        lines, start = inspect.getsourcelines(inspect.unwrap(function))
        file = inspect.getsourcefile(inspect.unwrap(function))
    except (TypeError, OSError):
        return None
    for i, line in enumerate(lines):
        if "np.random." in line or "numpy.random." in line or " random." in line:
            return f"{file}:{start + i}"
    return None
