"""StatDP's ArgumentGenerator: values for the parameters that nobody fixed.

Parameters that change the noise get the value with the least noise. The others are symbols in a
run without noise: each decision of that run is a condition on them, and they are chosen so that
as many decisions as possible differ between the two inputs (MaxSMT).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, other_parameters, parameters_of
from dpest.errors import DpestError, InputError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.polyhedra import feasible
from dpest.noise import Bernoulli, discrete_gaussian, discrete_laplace, two_sided_geometric
from dpest.reading.domains.numbers import NUMBER, Real
from dpest.reading.instances import expand_indicators
from dpest.reading.machine import operators
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.explorer import Exploration, Limits
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Picked
from dpest.reading.machine.values import Method
from dpest.reading.paths_of_code import as_trace, first_state
from dpest.reading.table.registry import load

_PRIVACY = ("eps", "epsilon", "delta", "rho", "mu", "budget")
_MOST_PATHS = 400
_SECONDS = 10.0
# Values that a parameter of the noise is tried with.
_TRIED = (1, 2, 3, 5, 10)


def missing_parameters(mechanism: Mechanism) -> list[str]:
    """The parameters that have no default, and that nobody gave."""
    return [
        name
        for name, p in other_parameters(mechanism.function).items()
        if p.default is inspect.Parameter.empty
        and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and name not in ("rng", "size")
        and name not in mechanism.params
    ]


class ArgumentGenerator:
    """Chooses values for the free parameters of a mechanism, for one pair of inputs."""

    def __init__(self, mechanism: Mechanism, free: Sequence[str] = ()) -> None:
        self.mechanism = mechanism
        signature = parameters_of(mechanism.function)
        required = missing_parameters(mechanism)
        for name in free:
            if name not in signature:
                raise InputError(f"{mechanism.name} has no parameter {name!r} to choose")
        missing = [name for name in required if name in _PRIVACY]
        if missing:
            raise InputError(
                f"{mechanism.name} needs a value for {missing[0]}: its claim depends on it; give "
                f"--param {missing[0]}=…, params={{{missing[0]!r}: …}}"
            )
        self.free = tuple(dict.fromkeys([*required, *free]))
        self._noisy: dict[str, Any] | None = None

    def arguments(self, x: Any, x2: Any) -> dict[str, Any]:
        """One value for each free parameter."""
        if not self.free:
            return {}
        least = self._least_noise(x)
        others = [name for name in self.free if name not in least]
        if not others:
            return least
        start = {name: self._default(name) for name in others}
        try:
            found = different_branches(self.mechanism, x, x2, others, {**start, **least})
        except DpestError:
            found = {}
        return {**start, **found, **least}

    def _default(self, name: str) -> Any:
        value = self.mechanism.all_params.get(name)
        return 1 if value is None else value

    def _least_noise(self, x: Any) -> dict[str, Any]:
        """The free parameters on which scales of the noise depend, at their least noise."""
        if self._noisy is not None:
            return dict(self._noisy)
        values = {name: self._default(name) for name in self.free}
        self._noisy = {}
        for name in self.free:
            scales = {}
            for candidate in dict.fromkeys([*_TRIED, values[name]]):
                try:
                    scales[candidate] = noise_scales(
                        self.mechanism, x, {**values, **self._noisy, name: candidate}
                    )
                except Exception:  # not a value that the function takes
                    continue
            # Other decisions may draw more or fewer noises: compare those that all runs make.
            shared = min((len(s) for s in scales.values()), default=0)
            if len({tuple(s[:shared]) for s in scales.values()}) > 1:
                self._noisy[name] = min(scales, key=lambda c: (sum(scales[c][:shared]), c))
        return dict(self._noisy)


class QuietGenerator:
    """A generator without noise that notes which scales it was asked for."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def _at(self, location: Any, scale: Any, size: Any) -> Any:
        self.scales.append(float(np.max(np.asarray(scale, dtype=np.float64))))
        if size is None:
            return location
        return location + np.zeros(size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._at(loc, scale, size)

    normal = gumbel = logistic = laplace

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._at(0.0, scale, size)

    def standard_normal(self, size: Any = None, **_: Any) -> Any:
        return self._at(0.0, 1.0, size)

    def standard_exponential(self, size: Any = None, **_: Any) -> Any:
        return self._at(0.0, 1.0, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._at(0.0, 1.0, size)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        return self._at(0.0, 1.0, size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        return self._at(mode, np.subtract(right, left), size)

    def draw_noise(self, noise: Any, size: Any = None) -> Any:
        return self._at(0, noise.width, size)

    def __getattr__(self, name: str) -> Any:
        raise InputError(f"rng.{name} has no noise-free value")


def noise_scales(mechanism: Mechanism, x: Any, arguments: Mapping[str, Any]) -> list[float]:
    """The scales of all draws of one run without noise."""
    generator = QuietGenerator()
    mechanism(x, generator, **arguments)
    return generator.scales


@dataclass(frozen=True)
class ArgumentRun:
    """One way through the mechanism: what must hold for the parameters, and every decision."""

    conditions: tuple[Condition, ...]
    decisions: tuple[int, ...]


class _QuietMachine(Machine):
    """Executes a mechanism whose draws have no noise; its parameters may be symbols."""

    def decide(self, options: Sequence[tuple[Condition, ...]], *, endless: bool = False) -> int:
        """Every decision is noted, also one that only one way is left of."""
        way = super().decide(options, endless=endless)
        self.state.picks = (*self.state.picks, Picked("decision", _NOTHING, way, 1))
        return way

    def _answered(self, forms: Sequence[Form]) -> None:
        return None

    def call_table(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        if isinstance(f, Method) and f.library in _SOURCES:
            return self._without_noise(f.name, args[1:], kwargs or {})
        if f in _NOISES_OF_DPEST:
            return self._without_noise("integers", args[2:], kwargs or {})
        return super().call_table(f, args, kwargs)

    def _without_noise(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a generator without noise gives; scales don't matter to it, locations do."""
        location = kwargs.get("loc", args[0] if args and name in _LOCATED else 0.0)
        known = [self._or_one(v) for v in args]
        named = {k: self._or_one(v) for k, v in kwargs.items()}
        if name in _LOCATED:
            known, named = [0.0, *known[1:]], {k: v for k, v in named.items() if k != "loc"}
        if name == "integers":
            size = self._or_one(kwargs.get("size", args[0] if args else None))
            return self.adopted(0 if size is None else np.zeros(size, dtype=int))
        try:
            found = self.adopted(getattr(QuietGenerator(), name)(*known, **named))
        except (InputError, TypeError) as error:
            raise Refused(str(error)) from None
        return operators.binary(self, "+", found, location) if name in _LOCATED else found

    def _or_one(self, value: Any) -> Any:
        try:
            return to_python(self.state, value)
        except NotConcrete:
            return 1.0


_NOTHING = Bernoulli(Fraction(1, 2))  # stands for no noise at all
_SOURCES = ("generator", "state", "random", "system")
_LOCATED = ("laplace", "normal", "gumbel", "logistic")
_NOISES_OF_DPEST = (discrete_laplace, discrete_gaussian, two_sided_geometric)


def quiet_runs(
    mechanism: Mechanism, x: Any, symbols: Mapping[str, Symbol], fixed: Mapping[str, Any]
) -> list[ArgumentRun]:
    """Every way that the mechanism can go without noise, by the symbolic parameters.

    A comparison that is released and not branched on is a decision too.
    """
    load()
    machine = _QuietMachine()
    values = {name: Real(Form.of(symbol), NUMBER) for name, symbol in symbols.items()}
    target = mechanism.with_params({**fixed, **values})
    try:
        first = first_state(machine, target, x)
        model = Exploration(machine, first).model(Limits(_MOST_PATHS, _SECONDS))
    except Refused as refusal:
        raise InputError(f"{mechanism.name} can't be read without noise: {refusal}") from None
    found = []
    for edge in model.edges:
        taken = tuple(pick.outcome for pick in edge.picks)
        for path in expand_indicators(as_trace(replace(model, edges=[edge]), x)).paths:
            truths = tuple(int(leaf) for leaf in path.leaves if isinstance(leaf, bool))
            found.append(ArgumentRun(path.conditions, (*taken, *truths)))
    return found


def different_branches(
    mechanism: Mechanism, x: Any, x2: Any, names: Sequence[str], fixed: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of `names` for which the noise-free runs on x and x2 differ in most decisions.

    Empty if no decision depends on them. By MaxSMT where z3 is installed; otherwise by trying the
    middle of every pair of paths. Values are taken from the middle of what is equally good.
    """
    symbols = {name: Symbol("parameter", name) for name in names}
    others = {k: v for k, v in fixed.items() if k not in symbols}
    first = quiet_runs(mechanism, x, symbols, others)
    second = quiet_runs(mechanism, x2, symbols, others)
    if len(first) == 1 and len(second) == 1:
        return {}
    chosen = _by_max_smt(first, second)
    if chosen is None:
        chosen = _by_trying(first, second)
    if chosen is None:
        return {}
    point = _middle([*chosen[0].conditions, *chosen[1].conditions], list(symbols.values()))
    return {name: _plain(point[symbols[name]]) for name in names if symbols[name] in point}


def difference(a: ArgumentRun, b: ArgumentRun) -> int:
    """How many decisions differ, in order; those that only one run makes count."""
    shared = sum(u != v for u, v in zip(a.decisions, b.decisions, strict=False))
    return shared + abs(len(a.decisions) - len(b.decisions))


def _by_trying(
    first: Sequence[ArgumentRun], second: Sequence[ArgumentRun]
) -> tuple[ArgumentRun, ArgumentRun] | None:
    ranked = sorted(
        ((difference(a, b), i, j) for i, a in enumerate(first) for j, b in enumerate(second)),
        key=lambda entry: (-entry[0], entry[1:]),
    )
    for _, i, j in ranked:
        if feasible([*first[i].conditions, *second[j].conditions]) is not None:
            return first[i], second[j]
    return None


def _by_max_smt(
    first: Sequence[ArgumentRun], second: Sequence[ArgumentRun]
) -> tuple[ArgumentRun, ArgumentRun] | None:
    """Soft constraints: "decision k differs", one for each k; hard: the parameters' arithmetic."""
    try:
        import z3
    except ImportError:
        return None
    optimizer = z3.Optimize()
    optimizer.set("timeout", 5000)
    variables: dict[Symbol, Any] = {}

    def term(condition: Condition) -> Any:
        total = z3.RealVal(str(condition.form.constant))
        for symbol, c in condition.form.terms.items():
            variable = variables.setdefault(symbol, z3.Real(symbol.name))
            total = total + z3.RealVal(str(c)) * variable
        return {
            ">=": total >= 0,
            ">": total > 0,
            "==": total == 0,
            "!=": total != 0,
        }[condition.relation]

    sides = []
    for tag, runs in (("a", first), ("b", second)):
        takes = [z3.Bool(f"{tag}{i}") for i in range(len(runs))]
        for take, run in zip(takes, runs, strict=True):
            optimizer.add(z3.Implies(take, z3.And([term(c) for c in run.conditions] or [True])))
        optimizer.add(z3.PbEq([(take, 1) for take in takes], 1))
        sides.append(takes)
    longest = max(len(r.decisions) for r in (*first, *second))
    for k in range(longest):
        by_way: list[dict[int, list[Any]]] = []
        for takes, runs in zip(sides, (first, second), strict=True):
            ways: dict[int, list[Any]] = {}
            for take, run in zip(takes, runs, strict=True):
                way = int(run.decisions[k]) if k < len(run.decisions) else -1
                ways.setdefault(way, []).append(take)
            by_way.append(ways)
        same = [
            z3.And(z3.Or(by_way[0][way]), z3.Or(by_way[1][way]))
            for way in by_way[0]
            if way in by_way[1]
        ]
        optimizer.add_soft(z3.Not(z3.Or(same)) if same else z3.BoolVal(True))
    if optimizer.check() == z3.unsat:
        return None
    try:
        model = optimizer.model()
    except z3.Z3Exception:
        return None
    picked = []
    for takes, runs in zip(sides, (first, second), strict=True):
        at = [run for take, run in zip(takes, runs, strict=True) if z3.is_true(model.eval(take))]
        if len(at) != 1:
            return None
        picked.append(at[0])
    return picked[0], picked[1]


def _middle(conditions: Sequence[Condition], symbols: Sequence[Symbol]) -> dict[Symbol, Fraction]:
    """A point of the region, each coordinate in the middle of its range (one away if unbounded)."""
    point = feasible(conditions)
    if point is None:
        return {}
    result: dict[Symbol, Fraction] = dict(point)
    for symbol in symbols:
        if symbol not in result:
            continue
        low, high = None, None
        for condition in conditions:
            c = condition.form.terms.get(symbol)
            if c is None or condition.relation in ("==", "!="):
                continue
            rest = condition.form.plus(Form({symbol: Fraction(1)}), -c).at(result)
            limit = -rest / c
            if c > 0:
                low = limit if low is None else max(low, limit)
            else:
                high = limit if high is None else min(high, limit)
        if any(symbol in c.form.terms and c.relation == "==" for c in conditions):
            continue
        if low is not None and high is not None:
            result[symbol] = (low + high) / 2
        elif low is not None:
            result[symbol] = low + 1
        elif high is not None:
            result[symbol] = high - 1
    return result


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
