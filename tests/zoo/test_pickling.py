"""Declared mechanisms travel to other processes, by name."""

from __future__ import annotations

import pickle

import pytest

from dpest import zoo
from dpest.ask.declaration import as_mechanism


@pytest.mark.parametrize("entry", zoo.entries(), ids=lambda e: e.name)
def test_every_entry_travels(entry):
    copy = pickle.loads(pickle.dumps(entry))
    assert copy.function is entry.function
    assert copy == entry


def test_parameters_travel_along():
    changed = zoo.get("SVT1").with_params({"eps": 0.7})
    assert pickle.loads(pickle.dumps(changed)).all_params["eps"] == 0.7


def plain(x, rng):
    return x


def test_a_plain_function_travels_as_it_is():
    copy = pickle.loads(pickle.dumps(as_mechanism(plain).with_params({})))
    assert copy.function is plain


class Callable:
    def __call__(self, x, rng):
        return x

    def __eq__(self, other):
        return type(other) is Callable

    def __hash__(self):
        return 0


def test_an_object_that_can_be_called_travels_too():
    assert pickle.loads(pickle.dumps(as_mechanism(Callable()))).function == Callable()
