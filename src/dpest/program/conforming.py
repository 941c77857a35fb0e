"""A path of a trace held against a run of the untouched function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dpest.declaration import Mechanism
from dpest.errors import ReplayError, UntraceableError
from dpest.noise.family import Noise
from dpest.program.calls import as_value, caller, concrete, fresh, place_of
from dpest.program.fixed import at_point
from dpest.program.forking import Explored, Names
from dpest.program.linear import Form, Symbol
from dpest.program.patches import Overlay, patched
from dpest.program.places import innermost, shown
from dpest.program.running import SAMPLING
from dpest.program.skeleton import flatten
from dpest.program.symbolic import Real


def check_path(target: Mechanism, x: Any, found: Explored, names: Names, overlay: Overlay) -> None:
    """Run the untouched function at a point of the path; it must do what the path says."""
    values = dict(found.point)
    if any(names.supports.integral(s) and v.denominator != 1 for s, v in values.items()):
        return  # only a point of the real relaxation is known

    inside = names.supports.anywhere

    def plain(form: Form) -> float:
        for symbol in form.terms:
            if symbol not in values and symbol.kind != "indicator":
                values[symbol] = inside(symbol)
            elif symbol.kind == "indicator":
                values[symbol] = Form.number(names.indicators[symbol].at(values, inside)).constant
        return float(form.at(values))

    def number(leaf: Any) -> Any:
        return plain(leaf.form) if isinstance(leaf, Real) else leaf

    generator = at_point(values, names.drawn, inside, found.choices)
    changed = target
    if any(isinstance(v, (Real, Symbol, Form)) for v in target.params.values()):
        changed = target.with_params({k: number(as_value(v)) for k, v in target.params.items()})
    try:
        with patched(overlay):
            output: Any = caller(changed)(concrete(fresh(x, lenient=False), number), generator)
    except Exception as error:
        if found.raised and type(error) is type(found.outcome):
            if not found.conditions and not found.choices:
                _check_always_raises(changed, x, number, found.outcome)
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


class _Handed:
    """NumPy's generator behind another type: what it draws is the same."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def draw_noise(self, noise: Noise, size: Any = None) -> Any:
        return noise.sample(self._generator, size)


def check_generator(target: Mechanism, x: Any, overlay: Overlay) -> None:
    """The function must not tell NumPy's own generator from one that stands in for it."""

    def output(rng: Any) -> Any:
        try:
            with patched(overlay):
                return flatten(caller(target)(fresh(x, lenient=False), rng))
        except Exception as error:
            return type(error)

    for seed in range(2):
        first = output(np.random.default_rng(seed))
        second = output(_Handed(np.random.default_rng(seed)))
        alike = type(first) is type(second) and (
            first is second
            if isinstance(first, type)
            else first[0] == second[0]
            and all(_agrees(a, b) for a, b in zip(first[1], second[1], strict=True))
        )
        if not alike:
            raise ReplayError(
                "the function behaves differently with NumPy's own generator than with another "
                "that draws the same numbers",
                "it must draw from `rng` whatever its type, and depend on nothing but its input, "
                "its parameters and `rng`",
                place_of(target.function),
            )


def _check_always_raises(
    target: Mechanism, x: Any, number: Callable[[Any], Any], error: BaseException
) -> None:
    """What raises whatever the noise must raise with NumPy's own generator, too."""
    try:
        caller(target)(concrete(fresh(x, lenient=False), number), np.random.default_rng(0))
    except Exception as actual:
        if type(actual) is type(error):
            return
    _not_the_users(error)


def _not_the_users(error: BaseException) -> NoReturn:
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
