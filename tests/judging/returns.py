"""Functions that differ in what they return: containers, lengths and types."""

from __future__ import annotations

import collections

import numpy as np

Point = collections.namedtuple("Point", "y")
NUMPY_TWO = np.float64(2.0)


def nothing(x, rng):
    return None


def falls_through(x, rng):
    pass


def zero(x, rng):
    return 0


def zero_float(x, rng):
    return 0.0


def false(x, rng):
    return False


def two(x, rng):
    return 2.0


def numpy_two(x, rng):
    return NUMPY_TWO


def empty_list(x, rng):
    return []


def empty_tuple(x, rng):
    return ()


def none_in_list(x, rng):
    return [None]


def counted_range(x, rng):
    return range(2)


def pair_list(x, rng):
    return [0, 1]


def pair_tuple(x, rng):
    return (0, 1)


def pair_array(x, rng):
    return np.array([0, 1])


def pair_floats(x, rng):
    return np.array([0.0, 1.0])


def noisy(x, rng):
    return x + rng.laplace()


def noisy_numpy(x, rng):
    values = np.array([x])
    return values[0] + rng.laplace()


def noisy_list(x, rng):
    return [x + rng.laplace()]


def noisy_tuple(x, rng):
    return (x + rng.laplace(),)


def noisy_array(x, rng):
    return np.array([x + rng.laplace()])


def with_int(x, rng):
    y = x + rng.laplace()
    return (y, 1)


def with_float(x, rng):
    y = x + rng.laplace()
    return (y, 1.0)


def with_true(x, rng):
    y = x + rng.laplace()
    return (y, True)


def none_after(x, rng):
    y = x + rng.laplace()
    return [y, None]


def none_before(x, rng):
    y = x + rng.laplace()
    return [None, y]


def positive(x, rng):
    return x + rng.laplace() > 0


def positive_int(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return 1
    return 0


def positive_int_at_once(x, rng):
    y = x + rng.laplace()
    return 1 if y > 0 else 0


def positive_index(x, rng):
    y = x + rng.laplace()
    return np.argmax([0.0, y])


def true_or_zero(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return True
    return 0


def one_or_false(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return 1
    return False


def one_or_two_zeros(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return [0.0]
    return [0.0, 0.0]


def length_tells(x, rng):
    if x > 0:
        return [0.0]
    return [0.0, 0.0]


def list_or_tuple(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return [1.0]
    return (1.0,)


def tuple_or_list(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return (1.0,)
    return [1.0]


def list_or_tuple_backwards(x, rng):
    y = x + rng.laplace()
    if y <= 0:
        return (1.0,)
    return [1.0]


def container_tells(x, rng):
    y = x + rng.laplace()
    if x > 0:
        return [y]
    return (y,)


def number_or_none(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return y
    return None


def number_or_falls_through(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return y


def number_or_zero(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return y
    return 0.0


def list_or_none(x, rng):
    y = x + rng.laplace()
    if y > 0:
        return [y]
    return None


def coin_list(x, rng):
    if rng.random() < 0.5:
        return [1]
    return (1,)


def coin_tuple(x, rng):
    if rng.random() < 0.5:
        return (1,)
    return [1]


def rare_tuple(x, rng):
    if rng.random() < 0.25:
        return (1,)
    return [1]


def named(x, rng):
    return Point(x + rng.laplace())


def dictionary(x, rng):
    return {"y": x + rng.laplace()}


def text(x, rng):
    return "y"


def a_set(x, rng):
    return {1, 2}


def nested(x, rng):
    return [[x + rng.laplace()]]


def an_iterator(x, rng):
    return enumerate([])


def numpy_positive(x, rng):
    values = np.array([x])
    return values[0] + rng.laplace() > 0


def number_or_else(x, rng):
    y = x + rng.laplace()
    if y > 1000:
        return y or True
    return y


def seldom_an_int(x, rng):
    y = x + rng.laplace()
    above = y > 0
    if y > 5:
        return abs(above)
    return above
