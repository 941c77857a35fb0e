"""Columns of outputs: nothing is lost, equal outputs are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpest.running.samples import Samples

untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.0, -1.5, 2.25]), st.text("ab")
)
outputs = st.one_of(
    scalars,
    st.lists(scalars, max_size=3),
    st.tuples(scalars, scalars),
    st.dictionaries(st.sampled_from(["a", "b"]), scalars),
    st.tuples(st.booleans(), st.lists(scalars, max_size=2)),
)


def same(a: Any, b: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


@untimed
@given(st.lists(outputs, max_size=30))
def test_outputs_come_back_as_they_were(some: list[Any]) -> None:
    samples = Samples.from_outputs(some)
    assert all(same(a, b) for a, b in zip(samples.to_list(), some, strict=True))
    skeletons = [group.skeleton for group in samples.groups]
    assert len(set(skeletons)) == len(skeletons)


@untimed
@given(st.lists(outputs, max_size=20), st.lists(outputs, max_size=20), st.data())
def test_concatenate_and_take(first: list[Any], second: list[Any], data: Any) -> None:
    joined = Samples.concatenate([Samples.from_outputs(first), Samples.from_outputs(second)])
    whole = [*first, *second]
    assert all(same(a, b) for a, b in zip(joined.to_list(), whole, strict=True))
    if whole:
        rows = data.draw(st.lists(st.integers(-len(whole), len(whole) - 1), max_size=10))
        taken = joined.take(np.array(rows, dtype=np.int64)).to_list()
        assert all(same(a, whole[i]) for a, i in zip(taken, rows, strict=True))


@untimed
@given(st.lists(outputs, min_size=1, max_size=30))
def test_codes_tell_apart_what_is_discrete(some: list[Any]) -> None:
    codes = Samples.from_outputs(some).codes()
    assert codes.counts.sum() == len(some)
    for i, a in enumerate(some):
        for j, b in enumerate(some):
            if same(a, b):
                assert codes.values[i] == codes.values[j]
            elif "float" not in repr(codes.keys[codes.values[i]]):
                assert codes.values[i] != codes.values[j]
    for i, code in enumerate(codes.values):
        assert same(without_floats(codes.table[code]), without_floats(some[i]))


def without_floats(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [without_floats(v) for v in value]
    if isinstance(value, dict):
        return {k: without_floats(v) for k, v in value.items()}
    return "float" if isinstance(value, float) else value


def test_codes_do_not_depend_on_the_order_of_outputs() -> None:
    some = [[True, 3], "b", None, [False, 3], (1, "a"), "a"] * 3
    keys = Samples.from_outputs(some).codes().keys
    assert Samples.from_outputs(some[::-1]).codes().keys == keys


def test_codes_of_wide_integers() -> None:
    some = [[int(a), int(b), int(c)] for a in (0, 2**40) for b in (-(2**50), 3) for c in (0, 2**60)]
    codes = Samples.from_outputs(some).codes()
    assert len(codes.keys) == 8
    assert sorted(codes.values) == list(range(8))


def test_numpy_scalars_and_python_numbers_share_a_column() -> None:
    samples = Samples.from_outputs([1.5, np.float64(2.5), 3.5])
    np.testing.assert_array_equal(
        samples.groups[0].columns[0][samples.groups[0].rows], [1.5, 2.5, 3.5]
    )


def test_arrays_keep_their_shape() -> None:
    array = np.arange(6.0).reshape(2, 3)
    samples = Samples.from_outputs([array, array + 1])
    np.testing.assert_array_equal(samples[1], array + 1)


def test_rows_out_of_range() -> None:
    samples = Samples.from_outputs([1, 2])
    with pytest.raises(IndexError):
        samples[2]
    with pytest.raises(IndexError):
        samples.take([5])
    assert samples.take(np.array([False, True])).to_list() == [2]
