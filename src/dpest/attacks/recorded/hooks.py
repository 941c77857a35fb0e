"""Hooks on the sources of noise: NumPy, `random`, `secrets`, SciPy's `rvs` through NumPy.

The audited code stays as it is. NumPy's generators are classes written in C whose methods can't be
assigned; the dictionary behind the class can, and with it every generator that exists anywhere is
hooked. Names that were imported before (`from numpy.random import laplace`) are found in the
modules that hold them. Everything is put back afterwards.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import random
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dpest.attacks.recorded.noisy import drawn, plain
from dpest.attacks.recorded.tape import Tape, Use, place

# method: (law, position and name of the location, position and name of the scale, its default)
_LOCATED = {
    "laplace": "laplace",
    "normal": "normal",
    "logistic": "logistic",
    "gumbel": "gumbel",
}
_CENTRED = {
    "standard_normal": "normal",
    "randn": "normal",
    "exponential": "exponential",
    "standard_exponential": "exponential",
    "geometric": "geometric",
    "random": "uniform",
    "random_sample": "uniform",
    "rand": "uniform",
    "ranf": "uniform",
    "sample": "uniform",
    "standard_cauchy": "cauchy",
    "poisson": "poisson",
    "standard_t": "t",
}
_OTHER = (
    "integers",
    "randint",
    "bytes",
    "permutation",
    "permuted",
    "shuffle",
    "beta",
    "gamma",
    "chisquare",
    "dirichlet",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "lognormal",
    "triangular",
    "weibull",
    "pareto",
    "vonmises",
    "wald",
    "zipf",
    "rayleigh",
    "power",
    "standard_gamma",
    "f",
    "hypergeometric",
    "logseries",
)
Original = Callable[..., Any]


class Hooks:
    """The hooks of one run; `tape` is where they write."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def wrap(self, name: str, original: Original, bound: bool) -> Original:
        """`original` with its draws on the tape. `bound`: it is called without a generator."""
        tape = self.tape
        handler = self._handler(name)

        @functools.wraps(original)
        def hooked(*args: Any, **kwargs: Any) -> Any:
            if tape.muted or tape.ended:
                return original(*args, **kwargs)
            own, rest = ((), args) if bound else (args[:1], args[1:])

            def call(*a: Any, **k: Any) -> Any:
                with muted(tape):  # Python's own functions call one another
                    return original(*own, *a, **k)

            return handler(call, rest, kwargs)

        return hooked

    def _handler(self, name: str) -> Callable[[Original, tuple[Any, ...], Mapping[str, Any]], Any]:
        if name in _LOCATED:
            return functools.partial(self._located, _LOCATED[name])
        if name in _PYTHON_LOCATED:
            return functools.partial(self._python_located, *_PYTHON_LOCATED[name])
        if name in _CENTRED:
            return functools.partial(self._centred, _CENTRED[name], name)
        special = {
            "choice": self._choice,
            "choices": self._choices,
            "binomial": self._binomial,
            "uniform": self._uniform,
            "expovariate": self._expovariate,
            "seed": self._seed,
            "default_rng": self._seed,
        }
        return special.get(name, functools.partial(self._other, name))

    # NumPy ---------------------------------------------------------------------------------------

    def _located(self, law: str, call: Original, args: Any, kwargs: Any) -> Any:
        given = dict(zip(("loc", "scale", "size"), args, strict=False)) | dict(kwargs)
        loc = given.pop("loc", None)
        scale = plain(given.get("scale", 1.0))
        shape = np.shape(plain(loc)) if loc is not None else ()
        size = given.get("size")
        if size is None:
            shape = np.broadcast_shapes(shape, np.shape(scale))
            size = shape or None
        numbers = call(0.0, scale, size)
        draw, numbers = self.tape.draw(law, scale, f"{law}(scale={_short(scale)})", numbers)
        return drawn(self.tape, draw, numbers, None if loc is None else loc)

    def _centred(self, law: str, name: str, call: Original, args: Any, kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            return self._other(name, call, args, kwargs)
        numbers = call(*args, **kwargs)
        scale: Any = 1.0
        if name in ("exponential", "geometric", "poisson", "standard_t"):
            names = {"exponential": "scale", "geometric": "p", "poisson": "lam", "standard_t": "df"}
            scale = plain(kwargs.get(names[name], args[0] if args else 1.0))
        words = f"{law}({'' if np.ndim(scale) == 0 and scale == 1.0 else _short(scale)})"
        draw, numbers = self.tape.draw(law, scale, words, numbers)
        return drawn(self.tape, draw, numbers)

    def _uniform(self, call: Original, args: Any, kwargs: Any) -> Any:
        given = dict(zip(("low", "high", "size"), args, strict=False)) | dict(kwargs)
        low, high = (plain(given.get(k, d)) for k, d in (("low", 0.0), ("high", 1.0)))
        width = np.asarray(high, dtype=float) - np.asarray(low, dtype=float)
        size = given.get("size")
        numbers = np.asarray(call(low, high, *(() if size is None else (size,)))) - low
        draw, numbers = self.tape.draw("uniform", width, f"uniform({_short(width)} wide)", numbers)
        return (
            drawn(self.tape, draw, numbers, low) if np.any(low) else drawn(self.tape, draw, numbers)
        )

    def _binomial(self, call: Original, args: Any, kwargs: Any) -> Any:
        given: dict[str, Any] = dict(zip(("n", "p", "size"), args, strict=False)) | dict(kwargs)
        result = call(*args, **kwargs)
        n, p = np.broadcast_arrays(given.get("n", 1), given["p"])
        value = np.stack([n, p]).astype(float)
        return self.tape.use(Use("choice", value, result, place(), name="binomial"))

    def _choice(self, call: Original, args: Any, kwargs: Any) -> Any:
        names = ("a", "size", "replace", "p")
        given: dict[str, Any] = dict(zip(names, args, strict=False)) | dict(kwargs)
        chances: Any = given.get("p")
        pool: Any = given.get("a", given.get("seq"))
        if chances is None or given.get("size") not in (None, 1) or np.ndim(pool) > 1:
            return self._other("choice", call, args, kwargs)
        # The index is what is random: the candidates may differ, their number and order may not.
        at = int(np.ravel(call(len(chances), p=plain(chances)))[0])
        value = np.asarray(plain(chances), dtype=float)
        at = self.tape.use(Use("choice", value, at, place(), name="choice"))
        candidates = np.arange(int(pool)) if np.ndim(pool) == 0 else np.asarray(pool)
        found = candidates[at]
        return found if given.get("size") is None else np.asarray([found])

    # Python's random -----------------------------------------------------------------------------

    def _python_located(self, law: str, call: Original, args: Any, kwargs: Any) -> Any:
        names = ("mu", "sigma")
        given = dict(zip(names, args, strict=False)) | dict(kwargs)
        loc, scale = given.get("mu"), plain(given.get("sigma", 1.0))
        numbers = call(0.0, scale)
        draw, found = self.tape.draw(law, scale, f"{law}(scale={_short(scale)})", numbers)
        return drawn(self.tape, draw, found, loc)

    def _expovariate(self, call: Original, args: Any, kwargs: Any) -> Any:
        rate = plain(kwargs.get("lambd", args[0] if args else 1.0))
        words = f"exponential({_short(1 / rate)})"
        draw, found = self.tape.draw("exponential", 1 / rate, words, call(rate))
        return drawn(self.tape, draw, found)

    def _choices(self, call: Original, args: Any, kwargs: Any) -> Any:
        given = dict(zip(("population", "weights"), args, strict=False)) | dict(kwargs)
        weights, pool = given.get("weights"), list(given["population"])
        if weights is None or given.get("k", 1) != 1 or given.get("cum_weights") is not None:
            return self._other("choices", call, args, kwargs)
        chances = np.asarray([float(plain(w)) for w in weights])
        at = call(range(len(pool)), weights=list(chances))[0]
        value = chances / chances.sum()
        return [pool[self.tape.use(Use("choice", value, at, place(), name="choices"))]]

    def _seed(self, call: Original, args: Any, kwargs: Any) -> Any:
        """A generator is seeded: with what, on each input."""
        given = [plain(v) for v in (*args, *kwargs.values())]
        if given and all(np.asarray(v).dtype.kind in "iufSU" for v in given):
            self.tape.use(Use("seed", repr(given), None, place()))
        return call(*args, **kwargs)

    def _other(self, name: str, call: Original, args: Any, kwargs: Any) -> Any:
        """A draw whose law is not priced: it returns in the replay what it returned before."""
        result = call(*args, **kwargs)
        if name == "shuffle":  # in place: what it did can't be given again
            self.tape.draw("shuffle", 1.0, "shuffle", np.zeros(0))
            return result
        made = Use("primitive", None, result, place(), name=name, parameters={"unpriced": True})
        return self.tape.use(made)


_PYTHON_LOCATED = {"gauss": ("normal",), "normalvariate": ("normal",)}


def _short(scale: Any) -> str:
    found = np.ravel(np.asarray(scale, dtype=float))
    return f"{found[0]:.6g}" if len(set(found.tolist())) == 1 else f"{found[0]:.4g}, …"


@contextmanager
def muted(tape: Tape) -> Iterator[None]:
    """Draws in here are part of something that is hooked as a whole."""
    tape.muted += 1
    try:
        yield
    finally:
        tape.muted -= 1


# Putting them in --------------------------------------------------------------------------------


@contextmanager
def installed(tape: Tape) -> Iterator[list[str]]:
    """All hooks that this machine has libraries for; yields what could not be hooked."""
    from dpest.attacks.recorded.libraries import library_hooks
    from dpest.attacks.recorded.torch_hooks import torch_hooks

    hooks = Hooks(tape)
    bypassed: list[str] = []
    with ExitStack() as stack:
        for kind in (np.random.Generator, np.random.RandomState):
            stack.enter_context(_class_methods(kind, hooks))
        stack.enter_context(_names(hooks))
        for hook in (torch_hooks, library_hooks):
            bypassed += stack.enter_context(hook(tape))
        try:
            yield bypassed
        finally:
            tape.ended = True


@contextmanager
def _class_methods(kind: type, hooks: Hooks) -> Iterator[None]:
    """The methods of a class that is written in C: through the dictionary behind it."""
    own: dict[str, Any] = gc.get_referents(kind.__dict__)[0]
    names = {*_LOCATED, *_CENTRED, *_OTHER, "choice", "binomial", "uniform"}
    before = {name: own[name] for name in names if name in own}
    try:
        for name, original in before.items():
            own[name] = hooks.wrap(name, original, bound=False)
        _changed(kind)
        yield
    finally:
        own.update(before)
        _changed(kind)


def _changed(kind: type) -> None:
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


_RANDOM = (
    *("random", "gauss", "normalvariate", "expovariate", "uniform", "choice", "choices"),
    *("sample", "randint", "randrange", "getrandbits", "shuffle", "betavariate", "triangular"),
    *("lognormvariate", "gammavariate", "paretovariate", "weibullvariate", "vonmisesvariate"),
    *("randbytes", "binomialvariate"),
)
_SEEDED = ("seed",)
_SECRETS = ("randbelow", "randbits", "token_bytes", "token_hex", "choice")


@contextmanager
def _names(hooks: Hooks) -> Iterator[None]:
    """Functions that are held by name: of the modules themselves, and copies in others.

    Methods of `random.Random` too: whoever made a generator of his own, or a `SystemRandom`.
    """
    wrapped: dict[int, Original] = {}
    keep: list[Any] = []
    known = {*_LOCATED, *_CENTRED, *_OTHER, "choice", "binomial", "uniform"}
    for name in (*known, "seed", "default_rng"):
        original = getattr(np.random, name, None)
        if original is not None:
            wrapped[id(original)] = hooks.wrap(name, original, bound=True)
            keep.append(original)
    for module, names in ((random, (*_RANDOM, *_SEEDED)), (secrets, _SECRETS)):
        for name in names:
            original = getattr(module, name, None)
            if original is not None:
                law = "other" if module is secrets or name == "sample" else name
                wrapped[id(original)] = hooks.wrap(law, original, bound=True)
                keep.append(original)
    with ExitStack() as stack:
        for kind in (random.Random, random.SystemRandom):
            for name in _RANDOM:
                if name in vars(kind):
                    law = "other" if name == "sample" else name
                    hooked = hooks.wrap(law, vars(kind)[name], bound=False)
                    stack.enter_context(_replaced(kind, name, hooked))
        inherited = random.Random.random  # of the class in C below it
        hooked = hooks.wrap("random", inherited, bound=False)
        stack.enter_context(_added(random.Random, "random", hooked))
        for module in list(sys.modules.values()):
            held = getattr(module, "__dict__", None)
            if not isinstance(held, dict) or getattr(module, "__name__", "").startswith("dpest."):
                continue
            for name, value in list(held.items()):
                if id(value) in wrapped:
                    stack.enter_context(_entry(held, name, wrapped[id(value)]))
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _added(owner: Any, name: str, value: Any) -> Iterator[None]:
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name)


@contextmanager
def _entry(held: dict[str, Any], name: str, value: Any) -> Iterator[None]:
    before = held[name]
    held[name] = value
    try:
        yield
    finally:
        held[name] = before
