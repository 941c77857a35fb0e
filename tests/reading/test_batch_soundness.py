"""A batch never differs from plain runs, whatever the function does.

Statistical comparisons fail by chance with probability below 1e-6; seeds are fixed.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dpest.running.batch.batch import batch

# Randomness that does not come from rng


def test_randomness_of_the_standard_library_is_found() -> None:
    def coin(x: Any, rng: Any) -> Any:
        return random.random() < 0.3

    before = random.getstate()
    samples = batch(coin, 0, 20_000, 3)
    assert abs(Counter(samples.to_list())[True] - 6_000) < 330
    assert "randomness or memory of its own" in samples.notes[0]
    assert random.getstate() == before


@pytest.mark.parametrize("size", [60, 20_000])
def test_global_randomness_on_a_rare_path_is_found(size: int) -> None:
    def rare(x: Any, rng: Any) -> Any:
        if rng.random() < 0.2:
            return np.random.random() < 0.5  # noqa: NPY002
        return None

    samples = batch(rare, 0, size, 3)
    counts = Counter(samples.to_list())
    assert "randomness or memory of its own" in samples.notes[0]
    assert counts[True] > 0
    assert counts[False] > 0
    assert samples.to_list() == batch(rare, 0, size, 3).to_list()


# Python's numbers and NumPy's


def three_coins(x: Any, rng: Any) -> Any:
    return (rng.random() < 0.5) + (rng.random() < 0.5) + (rng.random() < 0.5)


def three_coins_of_an_array(x: Any, rng: Any) -> Any:
    a, b, c = rng.random(3) < 0.5
    return a + b + c


def coins_of_numpy_input(x: Any, rng: Any) -> Any:
    return (np.float64(0.5) > rng.random()) + (rng.random() + np.float64(0) < 0.5)


def coins_back_in_python(x: Any, rng: Any) -> Any:
    a, b = (rng.random(2) < 0.5).tolist()
    return a + b, (rng.random(1) < 0.5)[0].item() + True


def signs(x: Any, rng: Any) -> Any:
    b = rng.random() < 0.5
    return -b, +b, abs(b), b * b, b - True, b & True, b**2, b // True, 1 - b, b << 2, True + b


def signs_of_numpy(x: Any, rng: Any) -> Any:
    b = (rng.random(1) < 0.5)[0]
    return ~b, abs(b), b * b, b & True, b**2, b // True, 1 - b, b << 2, True + b, True | b


def numpy_function_of_coins(x: Any, rng: Any) -> Any:
    a, b = rng.random() < 0.5, rng.random() < 0.5
    return np.add(a, b), np.array([a, b]).sum(), sum([a, b]), max(a, b) + 1, np.asarray(a) + b


def integers(x: Any, rng: Any) -> Any:
    a, b = rng.integers(2) > 0, rng.integers(2, dtype=int) > 0
    return a + a, b + b, (rng.binomial(1, 0.5) > 0) + True, (rng.choice(2) > 0) + True


def rounded(x: Any, rng: Any) -> Any:
    a = round(rng.random()) > 0
    return a + a, round(rng.random() < 0.5) + 1


def integers_beyond_64_bits(x: Any, rng: Any) -> Any:
    k = rng.binomial(3, 0.5)
    return str((k + 1) * 10**15 * 10**15), (2**40 * (k + 1)) ** 2 > 0, k**-1 if k else 0


def powers(x: Any, rng: Any) -> Any:
    k = rng.binomial(3, 0.5)
    return k**2, 2.0**k, (k + 1) ** -1, k / 4, k % 2


def choices(x: Any, rng: Any) -> Any:
    return rng.choice(["a", "b"]), rng.choice([1, 2]) > 1, rng.choice([(1, 2), (3, 4)])


ARITHMETIC = [
    three_coins,
    three_coins_of_an_array,
    coins_of_numpy_input,
    coins_back_in_python,
    signs,
    signs_of_numpy,
    numpy_function_of_coins,
    integers,
    rounded,
    integers_beyond_64_bits,
    powers,
    choices,
]


@pytest.mark.parametrize("device", ["numpy", "torch:cpu"])
@pytest.mark.parametrize("mechanism", ARITHMETIC, ids=lambda m: m.__name__)
def test_arithmetic_is_that_of_a_plain_run(mechanism: Any, device: str) -> None:
    """The same outputs, down to bool or int, and each about as often."""
    if device != "numpy":
        pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    plain = Counter(repr(_bare(mechanism(0, rng))) for _ in range(4_000))
    read = Counter(repr(_bare(output)) for output in batch(mechanism, 0, 4_000, 1, device=device))
    assert plain.keys() == read.keys()
    for key, count in plain.items():
        assert abs(read[key] - count) < 6 * np.sqrt(2 * count) + 12


def _bare(output: Any) -> Any:
    if isinstance(output, (tuple, list)):
        return type(output)(map(_bare, output))
    return output.tolist() if isinstance(output, (np.generic, np.ndarray)) else output


# Code that looks at types or identity


def identical_to_true(x: Any, rng: Any) -> Any:
    rare = rng.random() < 0.01
    return "rare" if rare is True else "common"


def _helper(value: Any) -> Any:
    return value is False


def identical_in_a_helper(x: Any, rng: Any) -> Any:
    return _helper(rng.random() < 0.5)


def float_or_not(x: Any, rng: Any) -> Any:
    n = rng.laplace()
    return "float" if isinstance(n, float) and n > 2 else x


def exact_type(x: Any, rng: Any) -> Any:
    n = rng.laplace()
    return "float" if type(n) is float and n > 2 else type(n > 0).__name__


def types_of_numpy(x: Any, rng: Any) -> Any:
    noisy = rng.laplace(size=2)
    return (
        isinstance(noisy, np.ndarray),
        isinstance(noisy[0], np.float64),
        type(noisy[0] > 0).__name__,
    )


def type_of_the_generator(x: Any, rng: Any) -> Any:
    return x if type(rng) is np.random.Generator else rng.laplace() > 0


def instance_of_the_generator(x: Any, rng: Any) -> Any:
    return rng.laplace() > 1 if isinstance(rng, np.random.Generator) else "other"


def has_a_shape(x: Any, rng: Any) -> Any:
    n = rng.laplace()
    return "array" if hasattr(n, "shape") else n > 1


def has_randomness_of_the_system(x: Any, rng: Any) -> Any:
    return os.urandom(1)[0] < 64


def normalised_generator(x: Any, rng: Any) -> Any:
    rng = np.random.default_rng(rng)
    return [rng.laplace() > 1 for _ in range(5)]


LOOKING = [
    identical_to_true,
    identical_in_a_helper,
    float_or_not,
    exact_type,
    types_of_numpy,
    type_of_the_generator,
    instance_of_the_generator,
    has_a_shape,
    has_randomness_of_the_system,
    normalised_generator,
]


@pytest.mark.parametrize("mechanism", LOOKING, ids=lambda m: m.__name__)
def test_code_that_looks_at_types(mechanism: Any) -> None:
    rng = np.random.default_rng(1)
    plain = Counter(repr(_bare(mechanism(0, rng))) for _ in range(20_000))
    read = Counter(repr(_bare(output)) for output in batch(mechanism, 0, 20_000, 1))
    for key in plain.keys() | read.keys():
        assert abs(read[key] - plain[key]) < 6 * np.sqrt(2 * plain[key]) + 12


def test_what_stays_a_batch() -> None:
    """Harmless questions about types, and `is True` of an argument, cost nothing."""

    def harmless(x: Any, rng: Any, *, strict: bool = False) -> Any:
        if not isinstance(rng, np.random.Generator) or x is None:
            raise TypeError("rng")
        rng = np.random.default_rng(rng)
        n = rng.laplace()
        return 0 if strict is True else n > 1 and isinstance(n, float)

    assert batch(harmless, 0, 5_000, 1).notes == ()


def test_a_swallowed_signal_is_acted_on() -> None:
    """A bare `except` around what needs one number at a time, which then raises itself."""

    def swallows(x: Any, rng: Any) -> Any:
        n = rng.laplace()
        try:
            positive = float(n) > 0
        except:  # noqa: E722
            raise ValueError("bad") from None
        if positive:
            raise ValueError("bad")
        return "good"

    for seed in range(4):
        counts = Counter(batch(swallows, 0, 1_000, seed).to_list())
        assert 350 < counts["good"] < 650
