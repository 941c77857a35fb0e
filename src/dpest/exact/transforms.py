"""Densities of one real output that is no linear function of the noise.

Products, quotients, powers, logarithms and exponentials of independent noises: the output is a tree
of them. A function of one number is inverted piece by piece; for two independent numbers one of
them is integrated over. What shares noise between two branches of the tree is refused.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError, RefusedError, UntraceableError
from dpest.evidence import Witness
from dpest.exact.losses.loss import ExactLoss, privacy_loss
from dpest.exact.outputs.output import OutputDistribution, output_distribution
from dpest.geometry.linear import Form, Symbol
from dpest.kernel.judgments.assertions import LinearTerm
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, While
from dpest.noise import Exponential, Gaussian, Laplace
from dpest.noise.family import Noise
from dpest.reading.paths import Path, Trace
from dpest.reading.programs.replaying import replayed
from dpest.reading.programs.translation import translated
from dpest.reading.programs.values import Apply, Product, Quotient
from dpest.reading.trace import trace
from dpest.running.skeleton import Leaf

_RELATIVE = 1e-12


class RealVariable:
    """A real random variable. `kinks` are where its density is not smooth."""

    @property
    def noises(self) -> frozenset[Symbol]:
        raise NotImplementedError

    def density(self, z: float) -> float:
        raise NotImplementedError

    def kinks(self) -> list[float]:
        raise NotImplementedError

    def support(self) -> tuple[float, float]:
        raise NotImplementedError

    def scale(self) -> float:
        """A typical size, for where to look."""
        raise NotImplementedError


@dataclass(frozen=True)
class ScaledNoise(RealVariable):
    """centre + factor·noise"""

    symbol: Symbol
    noise: Noise
    factor: float
    centre: float

    @property
    def noises(self) -> frozenset[Symbol]:
        return frozenset({self.symbol})

    def density(self, z: float) -> float:
        return float(self.noise.density((z - self.centre) / self.factor)) / abs(self.factor)

    def kinks(self) -> list[float]:
        return [self.centre]

    def support(self) -> tuple[float, float]:
        low, high = (float(v) for v in self.noise.support)
        ends = sorted((self.centre + self.factor * low, self.centre + self.factor * high))
        return ends[0], ends[1]

    def scale(self) -> float:
        return abs(self.factor) * self.noise.width + abs(self.centre)


@dataclass(frozen=True)
class CurvedVariable(RealVariable):
    """exp, log or a power of another variable."""

    function: str
    exponent: float
    inner: RealVariable

    @property
    def noises(self) -> frozenset[Symbol]:
        return self.inner.noises

    def preimages(self, z: float) -> Iterator[tuple[float, float]]:
        """All y with f(y) = z, with |f'(y)|."""
        if self.function == "exp":
            if z > 0:
                yield math.log(z), z
        elif self.function == "log":
            if z < 700:
                yield math.exp(z), math.exp(-z)
        else:
            yield from self._roots(z)

    def _roots(self, z: float) -> Iterator[tuple[float, float]]:
        a = self.exponent
        if z == 0:
            return
        whole = a == int(a)
        if z > 0:
            y = z ** (1 / a)
            yield y, abs(a) * y ** (a - 1)
            if whole and int(a) % 2 == 0:
                yield -y, abs(a) * y ** (a - 1)
        elif whole and int(a) % 2:
            y = (-z) ** (1 / a)
            yield -y, abs(a) * y ** (a - 1)

    def value(self, y: float) -> float:
        return curved(self.function, self.exponent, y)

    def density(self, z: float) -> float:
        return math.fsum(self.inner.density(y) / slope for y, slope in self.preimages(z))

    def kinks(self) -> list[float]:
        inside = [*self.inner.kinks(), 0.0]
        low, high = self.support()
        points = {self.value(y) for y in inside if self._defined(y)}
        return sorted(p for p in points if math.isfinite(p) and low <= p <= high)

    def _defined(self, y: float) -> bool:
        if self.function == "log":
            return y > 0
        return self.function == "exp" or y > 0 or self.exponent == int(self.exponent)

    def support(self) -> tuple[float, float]:
        low, high = self.inner.support()
        if self.function == "exp":
            return self.value(low), self.value(high)
        if self.function == "log":
            return self.value(max(low, 0.0)), math.log(high) if high < math.inf else math.inf
        even = self.exponent == int(self.exponent) and int(self.exponent) % 2 == 0
        if low < 0 and not even and self.exponent > 0:
            return -math.inf, math.inf
        return (-math.inf if low < 0 and not even else 0.0), math.inf

    def scale(self) -> float:
        return max(1.0, abs(self.value(self.inner.scale())))


def curved(function: str, exponent: float, y: float) -> float:
    """exp, log or a power of a number."""
    if function == "exp":
        return math.exp(y) if y < 700 else math.inf
    if function == "log":
        return math.log(y) if y > 0 else -math.inf
    if y == 0:
        return 0.0 if exponent > 0 else math.inf
    return float(y ** (int(exponent) if exponent == int(exponent) else exponent))


@dataclass(frozen=True)
class VariablePair(RealVariable):
    """left + right, left·right or left/right, of independent variables."""

    kind: str
    left: RealVariable
    right: RealVariable

    @property
    def noises(self) -> frozenset[Symbol]:
        return self.left.noises | self.right.noises

    def density(self, z: float) -> float:
        """∫ f_left(w(z, v))·|∂w/∂z|·f_right(v) dv, between the kinks of both."""
        if self.kind == "sum":
            parts = (lambda v: z - v), (lambda v: 1.0)
            mapped = [z - k for k in self.left.kinks()]
        elif self.kind == "product":
            parts = (lambda v: z / v), (lambda v: 1 / abs(v))
            mapped = [z / k for k in self.left.kinks() if k]
        else:
            parts = (lambda v: z * v), (lambda v: abs(v))
            mapped = [k / z for k in self.left.kinks()] if z else []
        back, factor = parts

        def integrand(v: float) -> float:
            if v == 0 and self.kind == "product":
                return 0.0
            return self.left.density(back(v)) * factor(v) * self.right.density(v)

        points = [*self.right.kinks(), *mapped, 0.0]
        return integrated(integrand, points, self.right.support(), self.right.scale())

    def kinks(self) -> list[float]:
        inside = [(a, b) for a in self.left.kinks() for b in self.right.kinks()]
        if self.kind == "sum":
            return sorted({a + b for a, b in inside})
        if self.kind == "product":
            return sorted({a * b for a, b in inside} | {0.0})
        return sorted({a / b for a, b in inside if b} | {0.0})

    def support(self) -> tuple[float, float]:
        (a, b), (c, d) = self.left.support(), self.right.support()
        if self.kind == "sum":
            return a + c, b + d
        return (0.0 if a >= 0 and c >= 0 else -math.inf), math.inf

    def scale(self) -> float:
        a, b = self.left.scale(), self.right.scale()
        return a + b if self.kind == "sum" else max(1.0, a * b)


def integrated(
    function: Callable[[float], float],
    points: Sequence[float],
    support: tuple[float, float],
    scale: float,
    *,
    steps: int = 17,
    relative: float = _RELATIVE,
) -> float:
    """∫ function over the support, cut where it is not smooth and at powers of its scale."""
    from scipy.integrate import quad

    low, high = support
    size = max(scale, 1e-6)
    cuts = {p for p in points if low < p < high and math.isfinite(p)}
    for anchor in tuple(cuts) or (0.0,):
        for k in range(-10, 7, 17 // steps):
            step = size * 4.0**k
            cuts |= {anchor - step, anchor + step}
    ends = sorted(p for p in cuts if low < p < high)
    ends = [low if math.isfinite(low) else -math.inf, *ends]
    ends.append(high if math.isfinite(high) else math.inf)
    parts = []
    for a, b in itertools.pairwise(ends):
        found = quad(function, a, b, epsabs=0.0, epsrel=relative, limit=200, full_output=1)
        parts.append(found[0])
    return math.fsum(parts)


@dataclass(frozen=True)
class TransformedDistribution:
    """The distribution of one real output: its density by closed forms and quadrature."""

    term: RealVariable
    inputs: Any

    def density(self, z: float) -> float:
        return self.term.density(float(z))

    def log_density(self, z: float) -> float:
        found = self.density(z)
        return math.log(found) if found > 0 else -math.inf

    def probability(self, low: float, high: float) -> float:
        """The chance of an output between two numbers."""
        start, end = self.term.support()
        ends = max(low, start), min(high, end)
        if ends[0] >= ends[1]:
            return 0.0
        return chance(self.term, *ends)


def chance(term: RealVariable, low: float, high: float) -> float:
    """P(low < term < high): by distribution functions where there are some, else by integrals."""
    if not low < high:
        return 0.0
    if isinstance(term, Multiple):
        ends = sorted(((low - term.centre) / term.factor, (high - term.centre) / term.factor))
        return chance(term.inner, *ends)
    if isinstance(term, ScaledNoise):
        ends = sorted(((low - term.centre) / term.factor, (high - term.centre) / term.factor))
        if ends[0] > 0:  # the upper tail, without cancellation
            return float(term.noise.sf(ends[0])) - float(term.noise.sf(ends[1]))
        return float(term.noise.cdf(ends[1])) - float(term.noise.cdf(ends[0]))
    if isinstance(term, CurvedVariable) and (term.function != "power" or term.exponent > 0):
        return _chance_of_curve(term, low, high)
    # Every density is an integral itself: fewer cuts, and eight digits.
    size, points = term.scale(), [*term.kinks(), 0.0]
    return integrated(term.density, points, (low, high), size, steps=4, relative=1e-8)


def _chance_of_curve(term: CurvedVariable, low: float, high: float) -> float:
    if term.function == "exp":
        first = math.log(low) if low > 0 else -math.inf
        return chance(term.inner, first, math.log(high)) if high > 0 else 0.0
    if term.function == "log":
        ends = (curved("exp", 1.0, low), curved("exp", 1.0, high))
        return chance(term.inner, *ends)
    root = 1 / term.exponent
    if term.exponent == int(term.exponent) and int(term.exponent) % 2:
        ends = (math.copysign(abs(low) ** root, low), math.copysign(abs(high) ** root, high))
        return chance(term.inner, *ends)
    first, last = max(low, 0.0) ** root, max(high, 0.0) ** root
    other = chance(term.inner, -last, -first) if term.exponent == int(term.exponent) else 0.0
    return chance(term.inner, first, last) + other


def transformed(mechanism: Mechanism, x: Any) -> TransformedDistribution:
    """The output distribution of a function of one straight line, at one input.

    Raises RefusedError for branches, several outputs, and noise that occurs in two factors.
    """
    return TransformedDistribution(_tree(mechanism, x), x)


def untransformed(mechanism: Mechanism, x: Any) -> tuple[Trace, tuple[Any, ...]] | None:
    """A function whose output is f(linear): the trace of the linear part, and f.

    Where f is one-to-one and the same on both inputs, the loss is that of the linear part: nobody
    learns more or less from f(output). None if the output is anything else.
    """
    term = _tree(mechanism, x)
    chain: list[tuple[str, float]] = []
    while isinstance(term, CurvedVariable):
        even = term.exponent == int(term.exponent) and int(term.exponent) % 2 == 0
        low, _ = term.inner.support()
        if term.function == "power" and (even or term.exponent < 0) and low < 0:
            return None
        chain.append((term.function, term.exponent))
        term = term.inner
    if not chain or not isinstance(term, ScaledNoise):
        return None
    form = Form.of(term.symbol).times(_exact(term.factor)).plus(Form.number(term.centre))
    path = Path((), Leaf("real"), (form,), ())
    return Trace((path,), {term.symbol: term.noise}, {}, inputs=x), tuple(chain)


def loss_of_linear_part(mechanism: Mechanism, x: Any, x2: Any) -> ExactLoss | None:
    """The loss of f(linear) for a one-to-one f that both inputs share; None for anything else."""
    try:
        one, two = untransformed(mechanism, x), untransformed(mechanism, x2)
    except DpestError:
        return None
    if one is None or two is None or one[1] != two[1]:
        return None
    words = " of the ".join(function for function, _ in one[1])
    note = f"the output is the {words} of a noisy number: one-to-one, so that the loss is the same"
    found = privacy_loss(one[0], two[0])
    # Its witness would speak of the number before the function.
    return replace(found, notes=(*found.notes, note), witness=Witness(x, x2))


def distribution_of(mechanism: Mechanism, x: Any) -> OutputDistribution | TransformedDistribution:
    """The output distribution from the paths, or of a transform of noises."""
    try:
        return output_distribution(trace(mechanism, x))
    except UntraceableError as error:
        try:
            return transformed(mechanism, x)
        except DpestError:
            raise error from None


def _exact(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _tree(mechanism: Mechanism, x: Any) -> RealVariable:
    number = not isinstance(x, (list, tuple))
    length = None if number else len(x)
    code = translated(mechanism, length, products=True, curves=True)
    replayed(mechanism, code, length)
    if code.outputs != ("out",):
        raise RefusedError("transforms of noise are known for one real output alone")
    values = [x] if number else list(x)
    if not all(isinstance(v, numbers.Real) for v in values):
        raise RefusedError("transforms of noise are known for data of numbers alone")
    memory: dict[str, RealVariable | float] = {
        name: float(v) for name, v in zip(code.inputs, values, strict=True)
    }
    statements: Sequence[Any] = code.program
    for count, statement in enumerate(statements):
        if isinstance(statement, (If, While)):
            raise RefusedError("a branch before an output that is not linear in the noise")
        memory[statement.name] = _value(statement, memory, count)
    found = memory["out"]
    if isinstance(found, float):
        raise RefusedError("the output has no noise in it")
    return found


def _value(
    statement: Any, memory: dict[str, RealVariable | float], count: int
) -> RealVariable | float:
    if isinstance(statement, Assign):
        return _linear(statement.value, memory)
    if isinstance(statement, DrawStatement):
        symbol = Symbol("noise", f"{statement.noise.family}{count:04d}")
        drawn = ScaledNoise(symbol, _noise(statement), 1.0, 0.0)
        return _sum(_linear(statement.centre, memory), drawn)
    if isinstance(statement, (Product, Quotient)):
        left, right = _linear(statement.left, memory), _linear(statement.right, memory)
        return _joined("product" if isinstance(statement, Product) else "quotient", left, right)
    if isinstance(statement, Apply):
        inner = _linear(statement.argument, memory)
        exponent = float(statement.exponent) if statement.exponent is not None else 1.0
        return _curve(statement.function, exponent, inner)
    raise RefusedError("a statement that is not known to transforms")


def _noise(draw: DrawStatement) -> Noise:
    size = draw.noise.size
    if draw.noise.family == "laplace":
        return Laplace(size)
    if draw.noise.family == "gaussian":
        return Gaussian(size)
    if draw.noise.family == "exponential":
        return Exponential(size)
    raise RefusedError("a coin has no density")


def _linear(form: LinearTerm, memory: dict[str, RealVariable | float]) -> RealVariable | float:
    total: RealVariable | float = float(form.constant)
    for name, factor in form.terms.items():
        total = _sum(total, _scaled(memory[name], float(factor)))
    return total


def _scaled(value: RealVariable | float, factor: float) -> RealVariable | float:
    if isinstance(value, float):
        return value * factor
    if factor == 1.0:
        return value
    if isinstance(value, ScaledNoise):
        return ScaledNoise(value.symbol, value.noise, value.factor * factor, value.centre * factor)
    return Multiple(factor, 0.0, value)


@dataclass(frozen=True)
class Multiple(RealVariable):
    """centre + factor·inner, of anything."""

    factor: float
    centre: float
    inner: RealVariable

    @property
    def noises(self) -> frozenset[Symbol]:
        return self.inner.noises

    def density(self, z: float) -> float:
        return self.inner.density((z - self.centre) / self.factor) / abs(self.factor)

    def kinks(self) -> list[float]:
        return [self.centre + self.factor * k for k in self.inner.kinks()]

    def support(self) -> tuple[float, float]:
        ends = sorted(self.centre + self.factor * e for e in self.inner.support())
        return ends[0], ends[1]

    def scale(self) -> float:
        return abs(self.factor) * self.inner.scale() + abs(self.centre)


def _sum(left: RealVariable | float, right: RealVariable | float) -> RealVariable | float:
    if isinstance(left, float) and isinstance(right, float):
        return left + right
    if isinstance(left, float):
        left, right = right, left
    assert isinstance(left, RealVariable)
    if isinstance(right, float):
        if right == 0:
            return left
        if isinstance(left, ScaledNoise):
            return ScaledNoise(left.symbol, left.noise, left.factor, left.centre + right)
        return Multiple(1.0, right, left)
    return _independent("sum", left, right)


def _joined(
    kind: str, left: RealVariable | float, right: RealVariable | float
) -> RealVariable | float:
    if isinstance(left, float) and isinstance(right, float):
        return left * right if kind == "product" else left / right
    if isinstance(right, float):
        return _scaled(left, right if kind == "product" else 1 / right)
    if isinstance(left, float) and kind == "product":
        return _scaled(right, left)
    if isinstance(left, float):
        return _scaled(_curve("power", -1.0, right), left)
    if kind == "product" and left == right:
        return _curve("power", 2.0, left)
    return _independent(kind, left, right)


def _independent(kind: str, left: RealVariable, right: RealVariable) -> RealVariable:
    if left.noises & right.noises:
        raise RefusedError(f"a {kind} of two numbers that share noise")
    return VariablePair(kind, left, right)


def _curve(function: str, exponent: float, inner: RealVariable | float) -> RealVariable | float:
    if isinstance(inner, float):
        return CurvedVariable(
            function, exponent, ScaledNoise(Symbol("noise", "x"), Laplace(1), 1, 0)
        ).value(inner)
    low, _ = inner.support()
    whole = exponent == int(exponent)
    if (function == "log" or not whole) and low < 0:
        raise RefusedError(f"the {function} of a number that may be negative")
    if function == "power" and exponent == 0:
        raise RefusedError("a power of 0 is no noise")
    return CurvedVariable(function, exponent, inner)
