"""Hooks on the primitives of libraries, whose noise is made in Rust, in C++ or on other machines.

Each primitive is hooked as a whole: what it is given is the value before noise, what it returns is
frozen. Only libraries that the audited code has imported are hooked. A new library is one function
that lists its primitives.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.attacks.recorded.pricing import Price, distance
from dpest.attacks.recorded.tape import Tape, Use, place


@dataclass(frozen=True)
class Call:
    """One call of a primitive, as the recorder sees it.

    With a `law` and a `scale` the noise is priced by what is known of it; otherwise `price` says
    what two values cost, or the claim (ε, δ) is believed.
    """

    value: Any
    law: str = ""
    scale: float = 0.0
    sensitivity: float | None = None
    claim: tuple[float, float] | None = None
    price: Callable[[Any, Any], Price] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    selects: bool = False  # whether it chooses one of several candidates
    norm: str = ""  # in which its values are compared; by default that of its law


@dataclass(frozen=True)
class Primitive:
    """A method of a class, or a function of a module, that releases something private.

    Or, with `makes`, one that makes such functions: `makes(tape, made, *args)` hooks them.
    """

    owner: Any
    method: str
    name: str
    describe: Callable[..., Call]
    freeze: Callable[[Any], Any] = copy.deepcopy
    makes: Callable[..., Any] | None = None


@contextmanager
def library_hooks(tape: Tape) -> Iterator[list[str]]:
    """Hooks on every imported library that is known; yields what could not be hooked."""
    with ExitStack() as stack:
        bypassed: list[str] = []
        for package, listed in LIBRARIES.items():
            if package not in sys.modules:
                continue
            try:
                primitives = listed()
            except (ImportError, AttributeError) as missing:
                bypassed.append(f"{package}: its primitives were not found ({missing})")
                continue
            for primitive in primitives:
                stack.enter_context(_hooked(tape, primitive))
        yield bypassed


def wrapped(tape: Tape, primitive: Primitive, original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, with what it is given on the tape and its result frozen in a replay."""
    from dpest.attacks.recorded.hooks import muted

    @functools.wraps(original)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        if tape.muted or tape.ended:
            return original(*args, **kwargs)
        with muted(tape):
            call = primitive.describe(*args, **kwargs)
            made = Use("primitive", call.value, None, place(), name=primitive.name)
            made.parameters = {"call": call}
            # In a replay the library must accept the input; what it returns is thrown away.
            result = original(*args, **kwargs)
            if tape.master is None:
                made.noisy = primitive.freeze(result)
            frozen = tape.use(made)
            # What the audited code gets it may change.
            return copy.deepcopy(frozen) if primitive.freeze is copy.deepcopy else frozen

    return hooked


@contextmanager
def _hooked(tape: Tape, primitive: Primitive) -> Iterator[None]:
    original = vars(primitive.owner)[primitive.method]
    hook = wrapped if primitive.makes is None else _wrapped_factory
    setattr(primitive.owner, primitive.method, hook(tape, primitive, original))
    try:
        yield
    finally:
        setattr(primitive.owner, primitive.method, original)


def _wrapped_factory(
    tape: Tape, primitive: Primitive, original: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that makes private functions: what it makes is hooked."""
    makes = primitive.makes
    assert makes is not None

    @functools.wraps(original)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        return makes(tape, original(*args, **kwargs), *args, **kwargs)

    return hooked


# diffprivlib ------------------------------------------------------------------------------------


def diffprivlib() -> list[Primitive]:
    import diffprivlib.mechanisms as mechanisms
    from diffprivlib.mechanisms.base import DPMechanism

    found = []
    for name, kind in vars(mechanisms).items():
        if isinstance(kind, type) and issubclass(kind, DPMechanism) and "randomise" in vars(kind):
            found.append(
                Primitive(kind, "randomise", f"diffprivlib {name}", functools.partial(_ibm, name))
            )
    return found


def _ibm(name: str, mechanism: Any, value: Any = None) -> Call:
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
    own = vars(mechanism)
    given = own.get("sensitivity")
    sensitivity = float(given) if isinstance(given, (int, float)) else None
    kind = type(mechanism).__name__
    parameters = {
        k: own[k] for k in ("epsilon", "delta", "sensitivity", "lower", "upper") if k in own
    }
    two_sided = kind.startswith(("Laplace", "Geometric")) and "Bounded" not in kind
    if two_sided and sensitivity is not None and delta == 0:
        scale = sensitivity / epsilon
        return Call(value, "laplace", scale, sensitivity, (epsilon, delta), None, parameters)
    continuous = kind.startswith("Gaussian") and kind != "GaussianDiscrete"
    if continuous and own.get("_scale") is not None:
        scale = float(own["_scale"])
        return Call(value, "normal", scale, sensitivity, (epsilon, delta), None, parameters)
    # With a measure the candidates are intervals of the data: an index is not what is released.
    if kind == "Exponential" and own.get("measure") is None and "_probabilities" in own:
        from dpest.attacks.recorded.pricing import chances_price

        chances = np.diff(np.asarray(own["_probabilities"], dtype=float), prepend=0.0)
        return Call(
            chances,
            claim=(epsilon, delta),
            price=chances_price,
            parameters=parameters,
            selects=True,
        )
    selects = kind.startswith(("Exponential", "Permute", "Binary"))
    if "utility" in own and value is None:
        value = [float(u) for u in own["utility"]]
        if own.get("measure") is not None:
            value = repr((value, [float(m) for m in own["measure"]]))
    norm = "linf" if selects else ""
    return Call(value, "", 0.0, sensitivity, (epsilon, delta), None, parameters, selects, norm)


# OpenDP -----------------------------------------------------------------------------------------


def opendp() -> list[Primitive]:
    from opendp.mod import Measurement

    return [
        Primitive(Measurement, method, "OpenDP measurement", _opendp_call)
        for method in ("__call__", "invoke")
    ]


def _opendp_call(measurement: Any, arg: Any) -> Call:
    metric = str(measurement.input_metric)
    output = str(measurement.output_measure)

    def price(first: Any, second: Any) -> Price:
        return _mapped(measurement, output, _opendp_distance(metric, first, second))

    return Call(arg, price=price, parameters={"metric": metric, "measure": output})


def _opendp_distance(metric: str, first: Any, second: Any) -> Any:
    """The distance of two arguments in the measurement's own metric; None where unknown."""
    if any(name in metric for name in ("Symmetric", "InsertDelete")):
        return _records_apart(first, second)
    if any(name in metric for name in ("ChangeOne", "Hamming")):
        if len(first) != len(second):
            return None
        return sum(a != b for a, b in zip(first, second, strict=True))
    if "Discrete" in metric:
        return 0 if first == second else 1
    norm = "l2" if "L2" in metric else "linf" if "LInf" in metric else "l1"
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted({*first, *second}, key=str)
        first, second = ([d.get(k, 0) for k in keys] for d in (first, second))
    return distance(first, second, norm)


def _records_apart(first: Any, second: Any) -> int | None:
    """How many records are in one of two datasets and not in the other."""
    try:
        a, b = Counter(map(repr, first)), Counter(map(repr, second))
    except TypeError:
        return None
    return sum(((a - b) + (b - a)).values())


def _mapped(measurement: Any, measure: str, apart: Any) -> Price:
    if apart is None:
        return Price(unpriced="an OpenDP measurement on data that can't be compared")
    if apart == 0:
        return Price()
    kind = str(measurement.input_distance_type)
    try:
        loss = measurement.map(float(apart) if kind.startswith("f") else math.ceil(apart))
    except Exception as refused:  # the map says that this distance has no bound
        return Price(unpriced=f"OpenDP gives no bound at distance {apart}: {refused}")
    if "ZeroConcentrated" in measure and not isinstance(loss, tuple):
        return Price(mu=math.sqrt(2 * loss), trusted=True)
    if isinstance(loss, tuple):
        return Price(claimed=(float(loss[0]), float(loss[1])), trusted=True)
    if isinstance(loss, (int, float)):
        return Price(pure=float(loss), trusted=True)
    return Price(unpriced=f"an OpenDP measurement under {measure}")


# python-dp and PipelineDP -----------------------------------------------------------------------


def pydp() -> list[Primitive]:
    from pydp.algorithms import numerical_mechanisms as numerical
    from pydp.algorithms._algorithm import MetaAlgorithm
    from pydp.algorithms.partition_selection import create_partition_strategy

    found = [
        Primitive(MetaAlgorithm, "quick_result", "python-dp algorithm", _pydp_algorithm),
    ]
    for name in ("LaplaceMechanism", "GaussianMechanism"):
        kind = getattr(numerical, name)
        owner = next(k for k in kind.__mro__ if "add_noise" in vars(k))
        if all(known.owner is not owner for known in found):
            found.append(Primitive(owner, "add_noise", "python-dp mechanism", _pydp_mechanism))
    for name in ("truncated_geometric", "laplace", "gaussian"):
        kind = type(create_partition_strategy(name, 1.0, 0.01, 1))
        found += [
            Primitive(kind, method, f"partition selection ({name})", _pydp_selection)
            for method in ("should_keep", "noised_value_if_should_keep")
            if method in vars(kind)
        ]
    return found


def _pydp_selection(strategy: Any, users: Any) -> Call:
    claim = (float(strategy.epsilon), float(strategy.delta))
    return Call(float(users), "", 0.0, 1.0, claim, selects=True)


def _pydp_algorithm(algorithm: Any, data: Any) -> Call:
    epsilon, delta = float(algorithm.epsilon), float(algorithm.delta or 0.0)

    def price(first: Any, second: Any) -> Price:
        # Its adjacency adds or removes one record: a replaced one is two of them.
        apart = _records_apart(first, second)
        if apart is None:
            return Price(unpriced="a python-dp algorithm on data that can't be compared")
        return Price(claimed=(apart * epsilon, apart * delta), trusted=bool(apart))

    kind = type(algorithm).__name__
    parameters = {"algorithm": kind, "epsilon": epsilon, "delta": delta}
    return Call(list(data), claim=(epsilon, delta), price=price, parameters=parameters)


def _pydp_mechanism(mechanism: Any, value: Any) -> Call:
    if type(mechanism).__name__.startswith("Laplace"):
        scale = float(mechanism.diversity)
        sensitivity = float(mechanism.sensitivity)
        return Call(value, "laplace", scale, sensitivity, (float(mechanism.epsilon), 0.0))
    return Call(value, "normal", float(mechanism.std))


def pipeline_dp() -> list[Primitive]:
    from pipeline_dp import dp_computations

    return [
        Primitive(
            dp_computations.AdditiveMechanism, "add_noise", "PipelineDP noise", _pipeline_noise
        )
    ]


def _pipeline_noise(mechanism: Any, value: Any) -> Call:
    law = "laplace" if mechanism.noise_kind.name == "LAPLACE" else "normal"
    return Call(
        np.asarray(value, dtype=float),
        law,
        float(mechanism.noise_parameter),
        float(mechanism.sensitivity),
    )


# SmartNoise -------------------------------------------------------------------------------------


def snsql() -> list[Primitive]:
    from snsql.sql import _mechanisms as mechanisms
    from snsql.sql._mechanisms.base import AdditiveNoiseMechanism

    found: dict[type, Primitive] = {}
    modules = [m for n, m in sys.modules.items() if n.startswith(mechanisms.__name__)]
    for module in modules:
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and issubclass(kind, AdditiveNoiseMechanism)
                and kind is not AdditiveNoiseMechanism
                and "release" in vars(kind)
            ):
                name = f"SmartNoise {kind.__name__}"
                found[kind] = Primitive(kind, "release", name, _snsql_release)
    return list(found.values())


def _snsql_release(mechanism: Any, values: Any) -> Call:
    kind = type(mechanism).__name__
    law = "normal" if "Gaussian" in kind else "laplace"
    span = float(mechanism.upper) - float(mechanism.lower)
    largest = max(abs(float(mechanism.upper)), abs(float(mechanism.lower)), span)
    return Call(
        [float(v) for v in values],
        law,
        float(mechanism.scale),
        largest * float(mechanism.max_contrib),
        (float(mechanism.epsilon), float(mechanism.delta)),
    )


# Tumult -----------------------------------------------------------------------------------------


def tmlt() -> list[Primitive]:
    from tmlt.core.measurements import noise_mechanisms as noise
    from tmlt.core.measurements import spark_measurements as spark

    found = [
        Primitive(getattr(noise, name), "__call__", f"Tumult {name}", _tumult_noise)
        for name in (
            *("AddLaplaceNoise", "AddGeometricNoise"),
            *("AddGaussianNoise", "AddDiscreteGaussianNoise"),
        )
    ]
    found.append(
        Primitive(
            spark.AddNoiseToColumn, "call", "Tumult AddNoiseToColumn", _tumult_column, _collected
        )
    )
    return found


def _tumult_law(measurement: Any) -> tuple[str, float]:
    kind = type(measurement).__name__
    if "Gaussian" in kind:
        return "normal", math.sqrt(float(measurement.sigma_squared.to_float(round_up=False)))
    scale = measurement.alpha if "Geometric" in kind else measurement.scale
    return "laplace", float(scale.to_float(round_up=False))


def _tumult_noise(measurement: Any, value: Any) -> Call:
    law, scale = _tumult_law(measurement)
    return Call(float(value), law, scale)


def _tumult_column(measurement: Any, frame: Any) -> Call:
    law, scale = _tumult_law(measurement.measurement.noise_measurement)
    column = measurement.measure_column
    rows = sorted((row.asDict() for row in frame.collect()), key=repr)
    keys = [repr({k: v for k, v in row.items() if k != column}) for row in rows]
    values = {k: float(row[column]) for k, row in zip(keys, rows, strict=True)}
    return Call(values, law, scale, parameters={"groups": sorted(values)})


def _collected(frame: Any) -> Any:
    """The rows of a table, made once: a lazy table would draw new noise each time it is read."""
    return frame.sparkSession.createDataFrame(frame.collect(), frame.schema)


# jax-privacy ------------------------------------------------------------------------------------


def jax_privacy() -> list[Primitive]:
    from jax_privacy import noise_addition

    return [
        Primitive(
            noise_addition,
            "matrix_factorization_privatizer",
            "jax-privacy privatizer",
            lambda *args: Call(None),
            makes=_jax_privatizer,
        )
    ]


def _jax_privatizer(tape: Tape, made: Any, matrix: Any, *, stddev: float, **_: Any) -> Any:
    """Its `update` adds the noise. Noise that is correlated over steps is not priced."""
    import jax

    shown = matrix.materialize(2) if hasattr(matrix, "materialize") else matrix
    independent = np.array_equal(np.asarray(shown), np.eye(len(shown)))

    def describe(gradients: Any, *rest: Any, **kwargs: Any) -> Call:
        leaves = [np.ravel(np.asarray(leaf, dtype=float)) for leaf in jax.tree.leaves(gradients)]
        law = "normal" if independent else ""
        return Call(np.concatenate(leaves), law, float(stddev))

    primitive = Primitive(None, "update", "jax-privacy privatizer", describe)
    return made._replace(update=wrapped(tape, primitive, made.update))


LIBRARIES: dict[str, Callable[[], list[Primitive]]] = {
    "diffprivlib": diffprivlib,
    "opendp": opendp,
    "pydp": pydp,
    "pipeline_dp": pipeline_dp,
    "snsql": snsql,
    "tmlt.core": tmlt,
    "jax_privacy": jax_privacy,
}
