"""What the batch reading hands in as `rng`: every draw is a draw in each run."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dpest.running.batch.draws import DrawnValue, draw
from dpest.running.batch.python_operators import retyped
from dpest.running.batch.reading import BatchReading
from dpest.running.batch.values import Batched

# Parameters and defaults of the methods of numpy.random.Generator that take `size`.
PARAMETERS: dict[str, tuple[tuple[str, Any], ...]] = {
    "laplace": (("loc", 0.0), ("scale", 1.0)),
    "normal": (("loc", 0.0), ("scale", 1.0)),
    "gumbel": (("loc", 0.0), ("scale", 1.0)),
    "logistic": (("loc", 0.0), ("scale", 1.0)),
    "exponential": (("scale", 1.0),),
    "uniform": (("low", 0.0), ("high", 1.0)),
    "random": (),
    "standard_normal": (),
    "standard_exponential": (),
    "standard_cauchy": (),
    "standard_gamma": (("shape", None),),
    "standard_t": (("df", None),),
    "gamma": (("shape", None), ("scale", 1.0)),
    "beta": (("a", None), ("b", None)),
    "binomial": (("n", None), ("p", None)),
    "negative_binomial": (("n", None), ("p", None)),
    "geometric": (("p", None),),
    "poisson": (("lam", 1.0),),
    "hypergeometric": (("ngood", None), ("nbad", None), ("nsample", None)),
    "logseries": (("p", None),),
    "zipf": (("a", None),),
    "chisquare": (("df", None),),
    "noncentral_chisquare": (("df", None), ("nonc", None)),
    "f": (("dfnum", None), ("dfden", None)),
    "lognormal": (("mean", 0.0), ("sigma", 1.0)),
    "pareto": (("a", None),),
    "power": (("a", None),),
    "rayleigh": (("scale", 1.0),),
    "triangular": (("left", None), ("mode", None), ("right", None)),
    "vonmises": (("mu", None), ("kappa", None)),
    "wald": (("mean", None), ("scale", None)),
    "weibull": (("a", None),),
}
_LOCATION_SCALE = frozenset({"laplace", "normal", "gumbel", "logistic", "exponential"})
_WHOLE = frozenset(
    {
        *("binomial", "negative_binomial", "geometric", "poisson", "hypergeometric"),
        *("logseries", "zipf"),
    }
)
_LAPLACE = ("laplace", None)
_INFINITE = float("inf")
_CHECK = np.random.default_rng(0)  # asked for NumPy's own errors; its values are thrown away


class BatchGenerator:
    """Mirrors numpy.random.Generator: the same methods, defaults, shapes and errors."""

    def __init__(self, reading: BatchReading) -> None:
        self._reading = reading

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.random.Generator  # `isinstance` holds as in a plain run

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in PARAMETERS and not hasattr(_CHECK, name):
            raise AttributeError(f"'numpy.random.Generator' object has no attribute '{name}'")
        if name not in PARAMETERS:
            self._reading.need_scalar(f"rng.{name}")

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._draw(name, *arguments(name, args, kwargs))

        self.__dict__[name] = method
        return method

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        params = (loc, scale)
        if size is None and _plain("laplace", params):  # the most common call, made short
            reading = self._reading
            position = reading.draw_cursor
            if position < len(reading.draws) and reading.draws[position].key is _LAPLACE:
                reading.draw_cursor = position + 1
                value = DrawnValue(reading, reading.draws[position])
                value.python = float
                return value
            make = functools.partial(reading.arrays.draw, "laplace", params=params)
            return draw(reading, _LAPLACE, (), make, python=float)
        return self._draw("laplace", params, size, {})

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw("exponential", (scale,), size, {})

    def draw_noise(self, noise: Any, size: Any = None) -> Any:
        """Draws of a family that NumPy lacks: `noise` is a `dpest.noise.family.Noise`."""
        if any(isinstance(value, Batched) for value in vars(noise).values()):
            self._reading.need_scalar(f"{noise.family} noise whose parameter is noisy")
        shape = shape_of_size(size)
        arrays = self._reading.arrays
        kind = None if size is not None else type(noise.sample(_CHECK))
        return draw(
            self._reading,
            ("noise", noise),
            shape,
            lambda full: arrays.noise(noise, full),
            python=kind if kind in (bool, int, float) else None,
        )

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,
    ) -> Any:
        if high is None:
            low, high = 0, low
        if isinstance(low, Batched) or isinstance(high, Batched):
            self._reading.need_scalar("rng.integers between noisy bounds")
        shape = np.shape(_CHECK.integers(low, high, size=size, dtype=dtype, endpoint=endpoint))
        bounds = tuple(v if np.ndim(v) == 0 else np.asarray(v)[..., None] for v in (low, high))
        arrays = self._reading.arrays
        return draw(
            self._reading,
            "integers",
            shape,
            lambda full: arrays.integers(bounds, full, np.dtype(dtype), endpoint),
            python=dtype if size is None and (dtype is int or dtype is bool) else None,
        )

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Any:  # fmt: skip
        if isinstance(a, Batched) and not a.shape:
            a = int(a)
        if isinstance(p, Batched) or axis != 0:
            self._reading.need_scalar("rng.choice with noisy probabilities or along an axis")
        count = a if isinstance(a, (int, np.integer)) else len(a)
        shape = np.shape(_CHECK.choice(count, size=size, replace=replace, p=p, shuffle=shuffle))
        arrays = self._reading.arrays
        if replace or shape == ():
            weights = None if p is None else np.asarray(p, dtype=float)
            picked = draw(
                self._reading,
                "choice",
                shape,
                lambda full: arrays.choice(count, weights, full),
                python=int if size is None else None,
            )
        elif p is None:
            flat = int(np.prod(shape))
            order = self._permutation(int(count))
            picked = order[:flat].reshape(shape)
        else:
            self._reading.need_scalar("rng.choice without replacement and with probabilities")
        return picked if isinstance(a, (int, np.integer)) else self._pick(a, picked)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        if axis != 0:
            self._reading.need_scalar("rng.permutation along an axis")
        if isinstance(x, (int, np.integer)):
            return self._permutation(int(x))
        return self._pick(x, self._permutation(len(x)))

    def _permutation(self, length: int) -> Any:
        arrays = self._reading.arrays
        return draw(
            self._reading,
            "permutation",
            (length,),
            lambda full: arrays.permutations(length, full[-1]),
        )

    def _pick(self, options: Any, index: Batched) -> Any:
        """options[index]: numbers are looked up, anything else splits the batch by index."""
        if isinstance(options, Batched):
            return options[index]
        try:
            table = np.asarray(options)
        except ValueError:
            table = np.empty(0, dtype=object)
        if table.ndim == 1 and table.dtype.kind in "biuf":
            return np.take(table, index)
        if index.shape:
            self._reading.need_scalar("several picks among things that are not numbers")
        return table[int(index)]

    def _draw(self, name: str, params: tuple[Any, ...], size: Any, keywords: Any) -> Any:
        reading = self._reading
        arrays = reading.arrays
        if keywords:
            reading.need_scalar(f"rng.{name} with {', '.join(keywords)}")
        if any(isinstance(value, (Batched, list, tuple, np.ndarray)) for value in params):
            params = tuple(
                reading.array_of(v) if isinstance(v, (list, tuple, np.ndarray)) else v
                for v in params
            )
        if any(isinstance(value, Batched) for value in params):
            return self._draw_with_noisy_parameters(name, params, size)
        if size is None and _plain(name, params):
            shape: tuple[int, ...] = ()
        else:
            shape = np.shape(getattr(_CHECK, name)(*params, size=size))
        spread = tuple(v if np.ndim(v) == 0 else np.asarray(v)[..., None] for v in params)

        def element(index: int) -> Any:
            here = tuple(_element_of(v, index, shape[0]) for v in params)
            return lambda full: arrays.draw(name, full, here)

        return draw(
            reading,
            (name, None),
            shape,
            lambda full: arrays.draw(name, full, spread),
            element=element if len(shape) == 1 else None,
            python=_kind(name) if size is None else None,
        )

    def _draw_with_noisy_parameters(self, name: str, params: tuple[Any, ...], size: Any) -> Any:
        reading = self._reading
        arrays = reading.arrays
        shapes = np.broadcast_shapes(
            *[np.shape(v) if not isinstance(v, Batched) else v.shape for v in params]
        )
        shape = shapes if size is None else shape_of_size(size)
        if np.broadcast_shapes(shape, shapes) != shape:
            raise ValueError(
                f"Output size {shape} is not compatible with broadcast dimensions of inputs "
                f"{shapes}."
            )
        if name in _LOCATION_SCALE:
            plain = (1.0,) if name == "exponential" else (0.0, 1.0)
            standard = draw(
                reading,
                (name, "standard"),
                shape,
                lambda full: arrays.draw(name, full, plain),
            )
            scaled = self._checked_scale(params[-1]) * standard
            result = scaled if name == "exponential" else params[0] + scaled
            return result if shape or size is not None else retyped(result, float)
        if name == "uniform":
            low, high = params
            standard = draw(
                reading,
                (name, "standard"),
                shape,
                lambda full: arrays.draw("random", full, ()),
            )
            result = low + (high - low) * standard
            return result if shape or size is not None else retyped(result, float)
        nodes = []
        for value in params:
            node = reading.lift(value)
            is_array = not isinstance(node, Batched) and isinstance(node, np.ndarray)
            nodes.append(arrays.constant(node) if is_array else node)

        def make(full: tuple[int, ...], *data: Any) -> Any:
            try:
                return arrays.draw(name, full, data)
            except ValueError:  # a parameter is bad in some run: find out in which
                reading.need_scalar(f"rng.{name} with a noisy parameter out of range")

        kind = _kind(name) if size is None else None
        return draw(reading, (name, "noisy"), shape, make, tuple(nodes), python=kind)

    def _checked_scale(self, scale: Any) -> Any:
        reading = self._reading
        if not isinstance(scale, Batched):
            _CHECK.laplace(0.0, scale)
            return scale

        def check(data: Any) -> Any:
            if reading.arrays.count(data < 0):
                reading.need_scalar("a noisy scale that is negative in some run")
            return data

        return reading.wrap(Batched(reading, scale.shape, check, (scale.node,)))


def arguments(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Any, dict[str, Any]]:
    """Parameters in order, `size`, and what else was passed, as the method's signature has them."""
    names = [*[n for n, _ in PARAMETERS[name]], "size"]
    if len(args) > len(names):
        rest = dict.fromkeys(("dtype", "out")[: len(args) - len(names)])
        args = args[: len(names)]
    else:
        rest = {}
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key in given:
            raise TypeError(f"{name}() got multiple values for keyword argument '{key}'")
        if key in names:
            given[key] = value
        elif value is not None and key in ("dtype", "out", "method"):
            rest[key] = value
        elif key not in ("dtype", "out", "method"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    size = given.pop("size", None)
    params = []
    for key, default in PARAMETERS[name]:
        if key not in given and default is None:
            raise TypeError(f"{name}() takes at least {len(names) - 1} positional arguments")
        params.append(given.get(key, default))
    return tuple(params), size, rest


def _kind(name: str) -> type:
    """What NumPy gives for a single draw."""
    return int if name in _WHOLE else float


def _element_of(value: Any, index: int, length: int) -> Any:
    return value if np.ndim(value) == 0 else float(np.broadcast_to(value, (length,))[index])


def shape_of_size(size: Any) -> tuple[int, ...]:
    if size is None:
        return ()
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    return tuple(int(length) for length in size)


def _plain(name: str, params: tuple[Any, ...]) -> bool:
    """Parameters that NumPy surely takes; the others are put to NumPy, for its own error."""
    if name in _LOCATION_SCALE:
        for value in params:
            if type(value) is not float and type(value) is not int:
                return False
        return 0 < params[-1] < _INFINITE
    return not params
