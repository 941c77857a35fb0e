"""Random programs over coins and dice: the exact engine against an enumeration of all their runs.

The enumeration hands the plain function a generator that replays every sequence of draws, each with
its probability. It shares no code with the engine.
"""

from __future__ import annotations

import linecache
import math
import random
from collections import defaultdict
from fractions import Fraction

import pytest

import dpest

PROGRAMS, SLOW_PROGRAMS = 40, 20


class Replay:
    """A generator that gives listed values first, and then the least; it notes what else it had."""

    def __init__(self, given):
        self.given = list(given)
        self.taken = []  # (value, probability, number of alternatives)

    def _next(self, options):
        at = len(self.taken)
        index = self.given[at] if at < len(self.given) else 0
        value, probability = options[index]
        self.taken.append((index, probability, len(options)))
        return value

    def integers(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        return self._next([(v, Fraction(1, high - low)) for v in range(low, high)])

    def binomial(self, n, p):
        q = Fraction(p)
        chances = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
        return self._next(list(enumerate(chances)))

    def choice(self, values, p=None):
        chances = [Fraction(1, len(values))] * len(values) if p is None else map(Fraction, p)
        return self._next(list(zip(values, chances, strict=True)))


def distribution(function, x):
    """All outputs with their probabilities, by running through all draws."""
    found = defaultdict(Fraction)
    given = []
    while True:
        rng = Replay(given)
        output = function(x, rng)
        found[_plain(output)] += math.prod((p for _, p, _ in rng.taken), start=Fraction(1))
        taken = [(i, n) for i, _, n in rng.taken]
        while taken and taken[-1][0] == taken[-1][1] - 1:
            taken.pop()
        if not taken:
            return found
        given = [i for i, _ in taken]
        given[-1] += 1


def _plain(output):
    if isinstance(output, (list, tuple)):
        return (type(output).__name__, tuple(_plain(v) for v in output))
    return (isinstance(output, bool), output)


def loss(p, q):
    """The greatest log-ratio of both directions; probabilities are rationals."""
    worst = 0.0
    for output in {*p, *q}:
        one, two = p.get(output, 0), q.get(output, 0)
        if one == two:
            continue
        if one == 0 or two == 0:
            return math.inf
        worst = max(worst, abs(math.log(one / two)))
    return worst


def program(source):
    """One random program: draws, branches on draws and data, numbers and lists released."""
    lines = ["def mechanism(x, rng):"]
    names = []

    def draw():
        kind = source.randrange(4)
        if kind == 0:
            return f"rng.integers({source.choice((2, 3))})"
        if kind == 1:
            return f"rng.binomial({source.choice((1, 2))}, {source.choice((0.25, 0.5))})"
        if kind == 2:
            return f"rng.choice([0, 1, 2], p=[0.5, 0.25, {source.choice((0.25,))}])"
        return f"int(rng.integers(0, {source.choice((2, 4))}))"

    for k in range(source.randint(0, 2)):
        lines.append(f"    s{k} = {draw()}")
        names.append(f"s{k}")
    shared = source.choice([*names, "1"])
    lines.append("    out = []")
    lines.append("    for q in x:")
    lines.append(f"        c = {draw()}")
    test = source.choice(("c == 0", "c > 0", f"c + {shared} >= 2", f"c != {shared}", "c + q > 1"))
    values = ("q", "1 - q", draw(), f"q + {draw()}", "c", f"c + {shared}", "q + c", "0", "1")
    lines.append(f"        if {test}:")
    lines.append(f"            out.append({source.choice(values)})")
    other = source.choice(("append", "append", "append", "nothing", "break"))
    if other == "append":
        lines.append("        else:")
        lines.append(f"            out.append({source.choice(values)})")
    elif other == "break":
        lines.append("        else:")
        lines.append("            break")
    release = ("out", "out", "tuple(out)", "sum(out)", "len(out)", "[sum(out), len(out)]")
    last = source.choice((*release, f"out + [{shared}]", "max(out, default=-1)"))
    lines.append(f"    return {last}")
    return "\n".join(lines)


def answers_by_bits(x, rng):
    """Randomised response in bit operators."""
    return [(b & rng.binomial(1, 0.75)) | rng.binomial(1, 0.25) ^ rng.integers(2) for b in x]


def flipped(x, rng):
    return [int(b) ^ int(rng.binomial(1, 0.25)) for b in x]


@pytest.mark.parametrize(("mechanism", "true"), [(answers_by_bits, None), (flipped, math.log(3))])
def test_bits_are_combined_as_python_does(mechanism, true):
    x, x2 = [0, 1, 0], [1, 1, 0]
    enumerated = loss(distribution(mechanism, x), distribution(mechanism, x2))
    assert dpest.exact(mechanism, x, x2).epsilon == pytest.approx(enumerated, abs=1e-12)
    assert true is None or enumerated == pytest.approx(true, abs=1e-12)


def test_twenty_flipped_bits_are_twenty_small_distributions():
    found = dpest.exact(flipped, [0] * 20, [1] + [0] * 19)
    assert found.epsilon == pytest.approx(math.log(3), abs=1e-12)


@pytest.mark.parametrize(
    "number",
    [
        *range(PROGRAMS),
        *(
            pytest.param(number, marks=pytest.mark.slow)
            for number in range(PROGRAMS, PROGRAMS + SLOW_PROGRAMS)
        ),
    ],
)
def test_the_exact_loss_is_that_of_all_runs(number):
    source = random.Random(1000 + number)
    text = program(source)
    scope = {}
    file = f"<program {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    mechanism = scope["mechanism"]
    pairs = [([0], [1]), ([0, 1], [1, 1]), ([1, 0], [1, 1]), ([0, 1, 1], [0, 0, 1])]
    for x, x2 in pairs:
        true = loss(distribution(mechanism, x), distribution(mechanism, x2))
        found = dpest.exact(mechanism, x, x2)
        shown = f"{text}\n{x} against {x2}: {found}, enumerated {true}"
        if found.complete:
            assert found.epsilon == pytest.approx(true, abs=1e-9), shown
        else:
            assert found.epsilon <= true + 1e-9, shown
            assert found.epsilon >= 0.99 * true, shown
