"""Statistics of raw records, and noise whose scale depends on something.

The mean of salaries: a company publishes its average salary each month; who knows that one person
joined computes that person's salary from the difference.
"""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

import math

import numpy as np

from dpest import PureDP, add_remove_one, linf, mechanism, reals, records, replace_one
from dpest.zoo import truths

_PEOPLE = records(5, fields={"salary": (0, math.inf)}, box=(0, 20_000))


def _shares(people, cap):
    """Salaries in units of the cap, clipped to [0, 1]."""
    return [min(max(person["salary"] / cap, 0), 1) for person in people]


@mechanism(
    PureDP("eps"),
    replace_one(),
    _PEOPLE,
    reference="the opening example of the verification survey",
    tool="dpest",
    length=5,
    right=True,
    truth=truths.multiple(),
)
def SalaryMean(people, rng, *, eps=1.0, cap=10_000):
    """The mean of clipped salaries; how many people there are is no secret."""
    n = len(people)
    return cap * (sum(_shares(people, cap)) / n + rng.laplace(scale=1 / (n * eps)))


@mechanism(
    PureDP("eps"),
    replace_one(),
    _PEOPLE,
    reference="the opening example of the verification survey",
    tool="dpest",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.infinite(),
    note="Wrong: a salary has no upper bound. Finite for each pair, unbounded over all of them.",
)
def SalaryMean_unclipped(people, rng, *, eps=1.0, cap=10_000):
    """The mean of salaries as they are, with noise for salaries up to the cap."""
    n = len(people)
    total = sum(person["salary"] / cap for person in people)
    return cap * (total / n + rng.laplace(scale=1 / (n * eps)))


@mechanism(
    PureDP("eps"),
    add_remove_one(),
    _PEOPLE,
    reference="the opening example of the verification survey",
    tool="dpest",
    length=5,
    right=True,
    truth=truths.multiple(),
    note="The count is noisy too; the reader divides.",
)
def SalarySumAndCount(people, rng, *, eps=1.0, cap=10_000):
    """The sum of clipped salaries and the number of people, half of eps each."""
    total = sum(_shares(people, cap)) + rng.laplace(scale=2 / eps)
    count = len(people) + rng.laplace(scale=2 / eps)
    return cap * total, count


@mechanism(
    PureDP("eps"),
    add_remove_one(),
    _PEOPLE,
    reference="the opening example of the verification survey",
    tool="dpest",
    length=5,
    right=False,
    wrong_from=1,
    truth=lambda n, params: math.inf if n >= 1 else params["eps"],
    note="Wrong: the scale tells how many people there are; the log-ratio has no bound in the "
    "tails.",
)
def JoiningMean(people, rng, *, eps=1.0, cap=10_000):
    """The replace-one mean, used where people come and go."""
    n = max(len(people), 1)
    return cap * (sum(_shares(people, cap)) / n + rng.laplace(scale=1 / (n * eps)))


@mechanism(
    PureDP("eps"),
    add_remove_one(),
    _PEOPLE,
    reference="the opening example of the verification survey",
    tool="dpest",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.infinite(0),
    note="Wrong: neither clipped nor of one scale.",
)
def JoiningMean_unclipped(people, rng, *, eps=1.0, cap=10_000):
    """The mean of salaries as they are, where people come and go."""
    n = max(len(people), 1)
    total = sum(person["salary"] / cap for person in people)
    return cap * (total / n + rng.laplace(scale=1 / (n * eps)))


@mechanism(
    PureDP("eps"),
    replace_one(),
    reals(5, 0, 10),
    reference="Nissim, Raskhodnikova and Smith, STOC 2007 (why local sensitivity leaks)",
    tool="dpest",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.infinite(),
    note="Wrong: a classic. The scale is a function of the data; the log-ratio of two scales has "
    "no bound in the tails.",
)
def DataDependentScale(x, rng, *, eps=1.0):
    """The mean with noise scaled to the largest entry present."""
    largest = 1 + max(x)
    return sum(x) / len(x) + rng.laplace(scale=largest / (len(x) * eps))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(2),
    reference="adaptive composition (Dwork, Rothblum and Vadhan, FOCS 2010)",
    tool="dpest",
    length=2,
    right=True,
    truth=lambda n, params: params["eps"],
    note="Looks like DataDependentScale, but the scale depends on what was released already.",
)
def ReleasedScale(x, rng, *, eps=1.0, busy=5):
    """A noisy number decides how much noise the next one gets."""
    first = x[0] + rng.laplace(scale=2 / eps)
    if first >= busy:
        second = x[1] + rng.laplace(scale=4 / eps)
    else:
        second = x[1] + rng.laplace(scale=2 / eps)
    return np.array([first, second])
