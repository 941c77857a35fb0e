"""What a trace must refuse, or follow exactly as a plain run does."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

from dpest.errors import UntraceableError
from dpest.reading.trace import trace
from reading.conformance import check_conformance


def in_its_own_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Compiled code that makes arrays


def test_a_function_without_a_source_is_refused() -> None:
    done = in_its_own_process(
        """
        import numpy as np
        from dpest.errors import UntraceableError
        from dpest.reading.trace import trace

        def f(x, rng):
            return x[0] + np.random.laplace(size=3)[0] + rng.laplace()

        try:
            trace(f, [1.0])
        except UntraceableError as error:
            print(error)
        """
    )
    assert done.returncode == 0, done.stderr
    assert "has no source" in done.stdout


def test_arrays_of_compiled_code_are_plain() -> None:
    def seeded(x, rng):
        fixed = np.random.default_rng(3).laplace(size=3)
        return float(fixed.sum()) + x[0] + rng.laplace()

    def solved(x, rng):
        return np.linalg.solve(np.eye(2), np.ones(2))[0] + x[0] + rng.laplace()

    constant = float(np.random.default_rng(3).laplace(size=3).sum())
    for function, expected in ((seeded, constant), (solved, 1.0)):
        (path,) = trace(function, [2.0]).paths
        assert float(path.leaves[0].constant) == pytest.approx(expected + 2)


def test_numpy_imported_in_the_function_and_by_name() -> None:
    def inside(x, rng):
        import numpy

        a = numpy.zeros(2)
        a[0] = rng.laplace()
        return a

    def by_name(x, rng):
        from numpy import array, zeros

        a = zeros(1)
        a[0] = rng.laplace()
        return array([a[0], x])

    assert len(trace(inside, 0.0).paths[0].leaves) == 2
    assert len(trace(by_name, 0.0).paths[0].leaves) == 2


def test_helpers_in_other_modules_are_reached(tmp_path, monkeypatch) -> None:
    (tmp_path / "soundness_helper.py").write_text(
        textwrap.dedent(
            """
            import numpy as xp
            from numpy import zeros

            def noisy(x, rng):
                a = xp.zeros(len(x))
                b = zeros(len(x))
                for i, v in enumerate(x):
                    a[i] = v + rng.laplace()
                    b[i] = a[i]
                return b

            class Adder:
                def __call__(self, x, rng):
                    return noisy(x, rng)
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import soundness_helper  # type: ignore[import-not-found]

    adder = soundness_helper.Adder()
    table = {"noisy": soundness_helper.noisy}

    def by_module(x, rng):
        return soundness_helper.noisy(x, rng)

    def by_instance(x, rng):
        return adder(x, rng)

    def by_table(x, rng):
        return table["noisy"](x, rng)

    for function in (by_module, by_instance, by_table, soundness_helper.noisy):
        (path,) = trace(function, [0.0, 1.0]).paths
        assert len(path.leaves) == 2
    assert soundness_helper.xp is np
    assert soundness_helper.zeros is np.zeros


def test_names_are_put_back_after_errors() -> None:
    def fails(x, rng):
        return math.exp(rng.laplace())

    before = dict(globals())
    with pytest.raises(UntraceableError):
        trace(fails, 0.0)
    assert all(globals()[name] is value for name, value in before.items())


def test_a_global_generator_of_the_standard_library_is_read() -> None:
    import random

    def f(x, rng):
        return x + random.random() + rng.laplace()

    assert sorted(n.family for n in trace(f, 0.0).noises.values()) == ["laplace", "uniform"]


# Errors that the function catches


def caught(x, rng):
    try:
        return math.exp(x + rng.laplace())
    except Exception:
        return 0


def caught_and_raised(x, rng):
    try:
        return math.exp(x + rng.laplace())
    except Exception:
        raise ValueError("no number") from None


def caught_deep(x, rng):
    def inner(v):
        try:
            return math.exp(v)
        except Exception:
            return None

    return inner(x + rng.laplace()) is None


def caught_in_a_branch(x, rng):
    n = x + rng.laplace()
    if n > 3:
        try:
            return math.exp(n)
        except Exception:
            return 0
    return n > 0


def caught_then_forked(x, rng):
    try:
        n = math.exp(x + rng.laplace())
    except Exception:
        n = 0
    while rng.random() < 0.5:
        n += 1
    return n


def suppressed(x, rng):
    with contextlib.suppress(Exception):
        return math.exp(x + rng.laplace())
    return 0


@pytest.mark.parametrize(
    "function",
    [caught, caught_and_raised, caught_deep, caught_in_a_branch, caught_then_forked,
     suppressed],
)  # fmt: skip
def test_what_is_refused_stays_refused_when_the_function_catches_it(function) -> None:
    with pytest.raises(UntraceableError, match="`exp` of a noisy"):
        trace(function, 0.0)


def test_a_bare_except_around_a_loop_without_a_bound_catches_nothing() -> None:
    def catches_everything(x, rng):
        k = 0
        try:
            while rng.random() < 0.5:
                k += 1
        except:  # noqa: E722
            k = -1
        return k

    # Signals of the machine are no exceptions of the program.
    assert -1 not in {path.leaves[0] for path in trace(catches_everything, 0.0).paths}


def test_errors_of_the_users_own_may_be_caught() -> None:
    def own(x, rng):
        n = x + rng.laplace()
        try:
            if n > 0:
                raise ValueError
            return "low"
        except ValueError:
            return "high"

    assert {path.leaves for path in trace(own, 0.0).paths} == {("low",), ("high",)}


def test_a_proof_does_not_take_what_was_caught() -> None:
    from dpest.exact.engine import exact_loss
    from dpest.proofs import prove

    proof = prove(caught_data, adjacency="linf", length=1)
    assert proof.status not in ("proved", "exact", "upper bound"), proof
    # The machine's signals are no exceptions of the program: a bare `except` catches none of them.
    proof = prove(bare_return, adjacency="linf", length=1)
    assert (proof.status, proof.epsilon) == ("exact", 1)
    assert exact_loss(bare_return, [0.0], [1.0]).epsilon == pytest.approx(1)


def caught_data(x, rng, eps=1.0):
    try:
        if x[0] > 0:
            return 1
    except Exception:
        return 0
    return 2


def bare_return(x, rng, eps=1.0):
    try:
        return x[0] + rng.laplace()
    except:  # noqa: E722
        return 0


# Truth values: np.bool_ and bool differ in arithmetic


def or_of_elements(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    return z[0] + z[1]


def or_of_arrays(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    w = rng.laplace(size=2) > 0
    return z + w


def or_of_unpacked(x, rng):
    first, second = np.asarray(x) + rng.laplace(size=2) > 0
    return first + second


def or_with_numpy_data(x, rng):
    x = np.asarray(x)
    return (x[0] + rng.laplace() > 0) + (x[1] + rng.laplace() > 0)


def product_then_sum(x, rng):
    z = np.asarray(x) + rng.laplace(size=4) > 0
    return z[0] * z[1] + z[2] * z[3]


def dot_of_bools(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    return z @ np.array([True, True])


def python_adds(x, rng):
    return (rng.laplace() > 0) + (rng.laplace() > 0) + (rng.laplace() > 1)


def python_and_input(x, rng):
    return (x[0] + rng.laplace() > 0) + (x[1] + rng.laplace() > 0)


def sums_count(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    return [np.sum(z), z.sum(), sum(z), np.cumsum(z)[-1], np.count_nonzero(z)]


def as_numbers(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    return [z[0] + 1 + z[1], z.astype(int)[0] + z.astype(int)[1], z[0] * 2 + z[1], 1.0 - z[0]]


def stored_as_floats(x, rng):
    a = np.zeros(2)
    a[0] = rng.laplace() > 0
    a[1] = rng.laplace() > 0
    return a[0] + a[1]


def among_numbers(x, rng):
    a = np.array([rng.laplace() > 0, rng.laplace() > 0, 5])
    return a[0] + a[1]


def to_list_and_back(x, rng):
    z = (np.asarray(x) + rng.laplace(size=2) > 0).tolist()
    return z[0] + z[1]


def accumulated(x, rng):
    z = np.asarray(x) + rng.laplace(size=2) > 0
    return [np.add.accumulate(z)[1], np.prod(z) + np.prod(z)]


def clipped_scalar(x, rng):
    m = np.clip(rng.laplace(), -1, 1)
    return (m > 0) + (m > 0.5)


def sorted_elements(x, rng):
    m = np.sort(np.asarray(x) + rng.laplace(size=2))
    return (m[0] > 0) + (m[1] > 0.5)


def integers_are_numpys(x, rng):
    return (rng.integers(0, 2) == 1) + (rng.integers(0, 2) == 1)


@pytest.mark.parametrize(
    "function",
    [clipped_scalar, sorted_elements, integers_are_numpys,
     or_of_elements, or_of_arrays, or_of_unpacked, or_with_numpy_data, dot_of_bools, python_adds,
     python_and_input, sums_count, as_numbers, stored_as_floats, among_numbers, to_list_and_back,
     accumulated],
)  # fmt: skip
def test_truth_values_add_as_in_a_plain_run(function) -> None:
    check_conformance(function, [0.0, 0.5], trace(function, [0.0, 0.5]))


def test_products_of_truth_values_stay_truth_values() -> None:
    x = [0.0, 0.5, 0.0, 0.2]
    check_conformance(product_then_sum, x, trace(product_then_sum, x))


def test_not_of_a_python_bool_is_a_number() -> None:
    def inverts(x, rng):
        return ~(x + rng.laplace() > 0)

    def mask(x, rng):
        return ~(np.asarray([x]) + rng.laplace(size=1) > 0)[0]

    assert {p.skeleton.kind for p in trace(mask, 0.0).paths} == {"bool"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        (path,) = trace(inverts, 0.0).paths
        assert path.skeleton.kind == "int"
        check_conformance(inverts, 0.0, trace(inverts, 0.0))


def test_numpy_has_no_minus_for_truth_values() -> None:
    def minus(x, rng):
        z = rng.laplace(size=2) > 0
        return z[0] - z[1]

    # The text of the error is released, too, and NumPy's is another: not read, and not mistaken.
    with pytest.raises(UntraceableError, match="between truth values of NumPy"):
        trace(minus, 0.0)
