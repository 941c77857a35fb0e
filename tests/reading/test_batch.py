"""What the batch reading promises apart from the distribution."""

from __future__ import annotations

import math
import time
import tracemalloc
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from dpest.ask.declaration import Mechanism
from dpest.errors import InputError, MissingExtraError, TimeLimitError
from dpest.running.batch.batch import batch, block_of, blocks_in, join_blocks
from dpest.running.batch.counts import count_outputs
from dpest.running.samples import Samples

from .batch_cases import CASES, X, numerical_svt, svt


def identical(a: Samples, b: Samples) -> bool:
    return a.size == b.size and all(
        g.skeleton == h.skeleton
        and np.array_equal(g.rows, h.rows)
        and all(
            np.array_equal(c, d, equal_nan=c.dtype.kind == "f")
            for c, d in zip(g.columns, h.columns, strict=True)
        )
        for g, h in zip(a.groups, b.groups, strict=True)
    )


@pytest.mark.parametrize("mechanism", CASES, ids=lambda m: m.__name__)
def test_same_seed_same_outputs(mechanism: Any) -> None:
    x = np.array(X)
    assert identical(batch(mechanism, x, 700, 5), batch(mechanism, x, 700, 5))


def test_blocks_do_not_depend_on_each_other() -> None:
    size = 150_000
    whole = batch(svt, X, size, 9)
    parts = [block_of(svt, X, size, 9, number) for number in reversed(range(blocks_in(size)))]
    assert identical(whole, join_blocks(parts[::-1]))
    assert not identical(whole, batch(svt, X, size, 10))


def test_every_row_is_in_one_group() -> None:
    samples = batch(svt, X, 100_000, 1)
    rows = np.concatenate([group.rows for group in samples.groups])
    np.testing.assert_array_equal(np.sort(rows), np.arange(100_000))


def test_equal_outputs_have_one_representation() -> None:
    """A released 0.0 and released noise share a column, whichever path they came from."""
    samples = batch(numerical_svt, X, 5_000, 1)
    assert len(samples.groups) == 1
    assert all(column.dtype == np.float64 for column in samples.groups[0].columns)


@pytest.mark.parametrize("x", [1.5, [1.5], (1.5,), np.array([1.5]), {"a": 1.5}, None])
def test_inputs_of_many_kinds(x: Any) -> None:
    def noisy(x: Any, rng: Any) -> Any:
        value = 1.5 if x is None else x["a"] if isinstance(x, dict) else np.sum(x)
        return value + rng.laplace()

    samples = batch(noisy, x, 4_000, 1)
    assert abs(np.median(samples.groups[0].columns[0]) - 1.5) < 0.15


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")

    def mean(frame: Any, rng: Any) -> Any:
        return frame["salary"].clip(0, 10).mean() + rng.laplace(scale=1 / len(frame))

    frame = pandas.DataFrame({"salary": [1.0, 5.0, 100.0]})
    samples = batch(mean, frame, 4_000, 1)
    assert samples.notes == ()
    assert abs(np.median(samples.groups[0].columns[0]) - 16 / 3) < 0.1


def test_a_mechanism_may_spoil_its_input() -> None:
    def spoils(x: Any, rng: Any) -> Any:
        x.sort()
        x[0] += 1
        return x[0] + 0 * rng.laplace() if rng.laplace() > 0 else x.pop() + 0 * rng.laplace()

    x = [3.0, 1.0, 2.0]
    samples = batch(spoils, x, 1_000, 1)
    assert x == [3.0, 1.0, 2.0]
    assert set(samples.groups[0].columns[0]) == {2.0, 3.0}


def test_parameters() -> None:
    def scaled(x: Any, rng: Any, *, scale: float = 1.0) -> Any:
        return scale * rng.random()

    assert batch(scaled, 0, 500, 1, params={"scale": 50.0}).groups[0].columns[0].max() > 10
    assert batch(Mechanism(scaled, "scaled", {"scale": 50.0}), 0, 500, 1)[0] > 1
    with pytest.raises(InputError, match="no parameter 'wrong'"):
        batch(scaled, 0, 500, 1, params={"wrong": 1})


# Messages


@pytest.mark.parametrize("device", ["numpy", "torch:cpu"])
def test_conversions_of_noise_stay_in_the_batch(device: str) -> None:
    if device != "numpy":
        pytest.importorskip("torch")

    def converted(x: Any, rng: Any) -> Any:
        noisy = float(x + rng.laplace())
        return noisy, int(noisy), int(rng.geometric(0.5)), float(noisy > 0)

    samples = batch(converted, 1.0, 2000, 1, device=device)
    assert not samples.notes
    for real, whole, count, bit in samples:
        assert [type(v) for v in (real, whole, count, bit)] == [float, int, int, float]
        assert whole == int(real)
        assert bit == float(real > 0)


def test_what_needs_numbers_is_run_one_by_one_and_said() -> None:
    notes: list[str] = []
    samples = batch(lambda x, rng: math.erf(x + rng.laplace()), 1.0, 200, 1, on_note=notes.append)
    assert len(samples) == 200
    (note,) = notes
    assert "float()" in note
    assert "one by one" in note
    assert "test_batch.py:" in note


def test_math_of_noise_is_run_one_by_one_and_said() -> None:
    samples = batch(lambda x, rng: math.lgamma(abs(x + rng.laplace())), 1.0, 200, 1)
    assert "`math`" in samples.notes[0]
    assert "np.log" in samples.notes[0]


def test_functions_of_math_stay_in_the_batch() -> None:
    def mechanism(x: Any, rng: Any) -> Any:
        value = x + rng.laplace()
        size = abs(value)
        return value, math.log(size), math.exp(-size), math.sqrt(size), math.copysign(2, value)

    samples = batch(mechanism, 1.0, 2000, 1)
    assert not samples.notes
    for value, log, exp, root, sign in samples:
        size = abs(value)
        expected = math.log(size), math.exp(-size), math.sqrt(size), math.copysign(2, value)
        assert (log, exp, root, sign) == pytest.approx(expected, rel=1e-14)
        assert type(log) is float


def test_a_mechanism_cannot_swallow_the_fallback() -> None:
    def swallows(x: Any, rng: Any) -> Any:
        try:
            return math.exp(x + rng.laplace())
        except Exception:
            return "swallowed"

    def swallows_all(x: Any, rng: Any) -> Any:
        try:
            return math.exp(x + rng.laplace())
        except:  # noqa: E722
            return "swallowed"

    for mechanism in (swallows, swallows_all):
        samples = batch(mechanism, 1.0, 200, 1)
        assert [group.kinds for group in samples.groups] == [["float"]]


def test_global_randomness_is_found() -> None:
    def hidden(x: Any, rng: Any) -> Any:
        return x + np.random.laplace()  # noqa: NPY002

    samples = batch(hidden, 0.0, 2_000, 1)
    assert "randomness or memory of its own" in samples.notes[0]
    assert len(np.unique(samples.groups[0].columns[0])) == 2_000
    assert identical(samples, batch(hidden, 0.0, 2_000, 1))


def test_a_fresh_generator_inside_is_found() -> None:
    samples = batch(lambda x, rng: x + np.random.default_rng().laplace(), 0.0, 2_000, 1)
    assert "randomness or memory of its own" in samples.notes[0]
    assert len(np.unique(samples.groups[0].columns[0])) == 2_000


def test_nan_is_kept_and_said() -> None:
    def logarithm(x: Any, rng: Any) -> Any:
        return np.log(rng.laplace())

    samples = batch(logarithm, 0, 2_000, 1)
    share = np.isnan(samples.groups[0].columns[0]).mean()
    assert 0.4 < share < 0.6
    assert "NaN" in samples.notes[0]


def test_a_run_that_raises_is_an_output() -> None:
    def raises(x: Any, rng: Any) -> Any:
        if rng.laplace() < 0:
            raise ValueError("negative")
        return True

    samples = batch(raises, 0, 10_000, 1)
    codes = samples.codes()
    assert sorted(map(str, codes.table)) == ["True", "raises ValueError: negative"]
    assert abs(codes.counts[0] - 5_000) < 500
    assert "raised ValueError (negative)" in samples.notes[0]


def test_a_mechanism_that_always_raises_raises() -> None:
    def raises(x: Any, rng: Any) -> Any:
        rng.laplace()
        raise KeyError("always")

    with pytest.raises(KeyError, match="always"):
        batch(raises, 0, 100, 1)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda rng: rng.laplace(scale=-1), ValueError, "scale < 0"),
        (lambda rng: rng.exponential(-1.0), ValueError, "scale < 0"),
        (lambda rng: rng.normal(0, -2), ValueError, "scale < 0"),
        (lambda rng: rng.laplace(scale=[1, 2, 3], size=2), ValueError, "shape|size|broadcast"),
        (lambda rng: rng.binomial(5, 1.5), ValueError, "p"),
        (lambda rng: rng.geometric(0), ValueError, "p"),
        (lambda rng: rng.choice([1, 2], p=[0.5, 0.6]), ValueError, "sum to 1"),
        (lambda rng: rng.integers(5, 2), ValueError, "low >= high"),
        (lambda rng: rng.laplace(wrong=1), TypeError, "wrong"),
        (lambda rng: rng.laplacian(), AttributeError, "laplacian"),
    ],
)
def test_bad_parameters_raise_what_numpy_raises(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind):
        call(np.random.default_rng(0))
    with pytest.raises(kind, match=message):
        batch(lambda x, rng: call(rng), 0, 100, 1)


@pytest.mark.parametrize("style", ["pure", "draws", "decides"])
def test_a_loop_without_end_is_ended(style: str) -> None:
    def forever(x: Any, rng: Any) -> Any:
        total = 0.0
        while True:
            if style != "pure":
                total = total + rng.random()
            if style == "decides" and total < 0:
                return total

    start = time.monotonic()
    with pytest.raises(TimeLimitError, match=r"test_batch\.py:\d+: one call of forever took more"):
        batch(forever, 0, 1_000, 1, time_limit=0.3)
    assert time.monotonic() - start < 10


def test_a_sleeping_black_box_is_ended() -> None:
    def sleeps(x: Any) -> Any:
        time.sleep(100)

    start = time.monotonic()
    with pytest.raises(TimeLimitError, match="sleeps took more than"):
        batch(sleeps, 0, 10, 1, time_limit=0.3)
    assert time.monotonic() - start < 10


def test_time_limit_off_the_main_thread() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def forever(x: Any, rng: Any) -> Any:
        while True:
            pass

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(batch, forever, 0, 1_000, 1, time_limit=0.3)
        with pytest.raises(TimeLimitError, match="loops forever"):
            future.result(timeout=20)


def test_unknown_devices() -> None:
    with pytest.raises(InputError, match="device"):
        batch(svt, X, 10, 1, device="tpu")


def test_no_gpu_is_one_line() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(MissingExtraError, match=r"dpest-audit\[gpu\]") as caught:
        batch(svt, X, 1_000, 1, device="cuda")
    assert "\n" not in str(caught.value)


def test_compiled_code_inside_a_mechanism_is_left_alone() -> None:
    """NumPy's own compiled code makes arrays with np.empty and fills their memory."""
    pandas = pytest.importorskip("pandas")

    def uses_libraries(x: Any, rng: Any) -> Any:
        fixed = np.random.default_rng(0).laplace(size=3)
        frame = pandas.DataFrame({"a": np.zeros(3), "b": [1, 1, 2]})
        return fixed.sum() + frame.groupby("b").a.sum().sum() + rng.laplace()

    samples = batch(uses_libraries, 0, 3_000, 1)
    assert samples.notes == ()
    expected = np.random.default_rng(0).laplace(size=3).sum()
    assert abs(np.median(samples.groups[0].columns[0]) - expected) < 0.2
    assert type(np) is type(math)  # the module is itself again
    assert "max" not in globals()


# Black boxes


def test_black_boxes_are_called_once_per_output() -> None:
    call = Mock()  # a list of its own would be state, which is refused

    def box(x: Any) -> Any:
        call(x)
        return x + np.random.laplace()  # noqa: NPY002

    samples = batch(box, 1.0, 50, 3)
    assert call.call_count == 50
    assert identical(samples, batch(box, 1.0, 50, 3))
    assert "global generator" in samples.notes[0]


def test_black_boxes_leave_global_randomness_as_it_was() -> None:
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    batch(lambda x: np.random.random(), 0, 10, 3)  # noqa: NPY002
    assert np.random.random() == expected  # noqa: NPY002


def test_black_box_that_raises() -> None:
    def box(x: Any) -> Any:
        if np.random.random() < 0.5:  # noqa: NPY002
            raise RuntimeError("no luck")
        return 1

    samples = batch(box, 0, 200, 3)
    assert {str(output) for output in samples} == {"1", "raises RuntimeError: no luck"}
    assert any("raised RuntimeError (no luck)" in note for note in samples.notes)


def test_vectorised_black_boxes() -> None:
    call = Mock()

    def vector(x: Any, size: int) -> Any:
        call(size)
        return np.random.laplace(size=(size, 2)) + x  # noqa: NPY002

    samples = batch(vector, 10.0, 70_000, 3)
    assert sum(made.args[0] for made in call.call_args_list) == 70_000
    assert samples[0].shape == (2,)
    assert abs(samples.groups[0].columns[1].mean() - 10) < 0.1
    pair = batch(lambda x, size: (np.zeros(size), np.ones(size, dtype=bool)), 0, 5, 1)
    assert pair.to_list() == [(0.0, True)] * 5
    with pytest.raises(InputError, match="must return 5 outputs"):
        batch(lambda x, size: np.zeros(3), 0, 5, 1)


# Memory and counting


def test_long_draws_are_read_in_parts() -> None:
    """A block whose draws would take 2 GiB is read in smaller parts."""
    tracemalloc.start()
    samples = batch(lambda x, rng: rng.laplace(size=4_000).sum() > 0, 0, 20_000, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 900 << 20
    assert 9_000 < np.count_nonzero(samples.groups[0].columns[0]) < 11_000


@pytest.mark.slow
def test_ten_million_runs_below_a_gibibyte() -> None:
    tracemalloc.start()
    samples = batch(svt, [1.0] * 10, 10**7, 1, params={"cutoff": 1})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert samples.size == 10**7
    assert peak < 1 << 30


@pytest.mark.parametrize("device", ["numpy", "torch:cpu"])
def test_counts_are_the_counts_of_the_batch(device: str) -> None:
    if device != "numpy":
        pytest.importorskip("torch")
    counts = count_outputs(svt, X, 80_000, 2, device=device)
    codes = batch(svt, X, 80_000, 2, device=device).codes()
    assert counts.keys == codes.keys
    assert counts.counts == tuple(codes.counts.tolist())
    for output, count in zip(codes.table, codes.counts.tolist(), strict=True):
        assert counts[output] == count


def test_counts_of_continuous_outputs_are_refused() -> None:
    with pytest.raises(InputError, match="discrete"):
        count_outputs(lambda x, rng: rng.laplace(), 0, 100, 1)
