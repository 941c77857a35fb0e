"""A program held against runs of the function that it was read from, with the same noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import ReadingError, ReplayError
from dpest.kernel.judgments.assertions import All, Assertion, LinearTerm, Some
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, StatedNoise
from dpest.kernel.judgments.skeletons import SKELETON
from dpest.reading.programs.outputs import taken_apart
from dpest.reading.programs.translation import ProgramCode
from dpest.reading.programs.values import Apply, Product, Quotient
from dpest.running.watchdog import DEFAULT_SECONDS, limited

_RUNS = 40
_LEAST = 4
_MOST_TURNS = 10_000


class NoiseTape:
    """A generator that hands out noise and writes down what was asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.drawn: list[tuple[str, float, float]] = []

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return self._made("laplace", loc, scale, size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return self._made("gaussian", loc, scale, size)

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        return self._made("exponential", 0.0, scale, size)

    def random(self) -> float:
        value = float(self._rng.random())
        self.drawn.append(("uniform", value, 1.0))
        return value

    uniform = random

    def _made(self, family: str, loc: float, scale: float, size: Any) -> Any:
        if size is not None:
            return np.array([self._made(family, loc, scale, None) for _ in range(int(size))])
        if family == "laplace":
            noise = float(self._rng.laplace(scale=scale))
        elif family == "gaussian":
            noise = float(self._rng.normal(scale=scale))
        else:
            noise = float(self._rng.exponential(scale=scale))
        self.drawn.append((family, noise, float(scale)))
        return float(loc) + noise


class _ProgramDiffers(Exception):
    pass


def replayed(mechanism: Mechanism, code: ProgramCode, length: int | None, seed: int = 0) -> None:
    """Run both on random inputs; a difference means that the reading was wrong."""
    rng = np.random.default_rng(seed)
    compared = 0
    for turn in range(_RUNS):
        spread = (1.0, 3.0, 30.0)[turn % 3]
        data = np.round(rng.normal(scale=spread, size=length or 1), 6).tolist()
        if turn % 4 == 3:
            data = [round(v) * 1.0 for v in data]
        tape = NoiseTape(np.random.default_rng([seed, turn]))
        given = data[0] if length is None else list(data)
        try:
            with limited(DEFAULT_SECONDS, mechanism.name) as clock:
                clock.start()
                output = mechanism.function(given, tape, **mechanism.params)
                clock.stop()
        except ReadingError:
            raise
        except Exception:
            continue  # an input or a noise outside of its domain, or a use of rng that is unknown
        memory = dict(zip(code.inputs, data, strict=True))
        try:
            found = _executed(code.program, memory, iter(tape.drawn))
            _need_same(output, found, code)
        except (_ProgramDiffers, StopIteration, KeyError, ArithmeticError) as reason:
            raise ReplayError(
                f"{code.function} does not do on {given} what was read in its source ({reason})",
                "Write it plainly, or report this as a bug of dpest.",
                "",
            ) from None
        compared += 1
    if compared < _LEAST:
        raise ReplayError(
            f"{code.function} raises an error on most numbers", "Give it a wider domain.", ""
        )


def _executed(program: Sequence[Any], memory: dict[str, float], tape: Any) -> dict[str, float]:
    for statement in program:
        if isinstance(statement, Assign):
            memory[statement.name] = _value(statement.value, memory)
        elif isinstance(statement, Product):
            left, right = _value(statement.left, memory), _value(statement.right, memory)
            memory[statement.name] = left * right
        elif isinstance(statement, Quotient):
            left, right = _value(statement.left, memory), _value(statement.right, memory)
            memory[statement.name] = left / right
        elif isinstance(statement, Apply):
            memory[statement.name] = _applied(statement, _value(statement.argument, memory))
        elif isinstance(statement, DrawStatement):
            centre = _value(statement.centre, memory)
            memory[statement.name] = centre + _noise(statement.noise, next(tape))
        elif isinstance(statement, If):
            chosen = statement.then if _holds(statement.test, memory) else statement.other
            memory = _executed(chosen, memory, tape)
        else:
            turns = 0
            while _holds(statement.test, memory):
                memory = _executed(statement.body, memory, tape)
                turns += 1
                if turns > _MOST_TURNS:
                    raise _ProgramDiffers("a loop did not end")
    return memory


def _applied(statement: Apply, value: float) -> float:
    if statement.function == "power":
        assert statement.exponent is not None
        power = float(statement.exponent)
        return float(value ** (int(power) if power == int(power) else power))
    return math.exp(value) if statement.function == "exp" else math.log(value)


def _noise(noise: StatedNoise, drawn: tuple[str, float, float]) -> float:
    family, value, scale = drawn
    if noise.family == "bernoulli":
        if family != "uniform":
            raise _ProgramDiffers("another noise")
        return float(value < noise.size)
    if family != noise.family or not math.isclose(scale, float(noise.size), rel_tol=1e-9):
        raise _ProgramDiffers("another noise")
    return value


def _value(form: LinearTerm, memory: Mapping[str, float]) -> float:
    return float(form.constant) + sum(float(c) * memory[k] for k, c in form.terms.items())


def _holds(test: Assertion, memory: Mapping[str, float]) -> bool:
    if isinstance(test, All):
        return all(_holds(part, memory) for part in test.parts)
    if isinstance(test, Some):
        return any(_holds(part, memory) for part in test.parts)
    value = float(test.constant) + sum(float(c) * memory[k] for k, c in test.terms)
    if abs(value) < 1e-9:  # rounding, where both are equal
        value = 0.0
    return value > 0 or (value == 0 and not test.strict)


def _need_same(output: Any, found: Mapping[str, float], code: ProgramCode) -> None:
    shown = code.table[int(found.get(SKELETON, 0))]
    taken = taken_apart(output)
    if taken is None or taken[0] != shown:
        given = type(output).__name__ if taken is None else taken[0]
        raise _ProgramDiffers(f"it returns {given}, not {shown}")
    for name, value in zip(shown.names, taken[1], strict=True):
        if not math.isclose(value, found[name], rel_tol=1e-6, abs_tol=1e-6):
            raise _ProgramDiffers(f"{value} is not {found[name]}")
