"""Demonstrations: few runs, an event in words, and a script that stands alone."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import fractions
import math
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import dpest
from dpest import l1
from dpest.ask.declaration import as_mechanism
from dpest.attacks.demonstration.choosing import demonstrate
from dpest.attacks.demonstration.needed_runs import middle_of, runs_to_refute
from dpest.attacks.statdp import reading
from dpest.attacks.statdp.leaves import leaves_of
from dpest.report.sentence import certainty, sentence
from dpest.running.skeleton import raised_output
from dpest.stats import binomial

CODE = """
import numpy as np

def too_little(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=0.25 / eps)

def cut(x, rng):
    noisy = sum(x) + rng.normal(scale=1.0)
    return {"answer": noisy, "many": bool(noisy > 2)}
"""


def run(script: str, folder: Path) -> float:
    """The p-value that the script prints, in a process without dpest."""
    (folder / "demonstration.py").write_text(script, encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ended = subprocess.run(
        [sys.executable, "demonstration.py"], cwd=folder, env=clean, capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    found = re.search(r"p-value of the claim .*: (\S+)", ended.stdout)
    assert found, ended.stdout
    return float(found[1])


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def test_the_script_refutes_the_claim_and_needs_no_dpest(code, tmp_path):
    from dpest.cli.targets import load

    verdict = dpest.audit(load(f"{code}:too_little"), epsilon=1, adjacency=l1(1), length=1)
    shown = verdict.demonstration
    assert shown is not None
    assert "import dpest" not in shown.script
    assert shown.runs < 2000  # the true ε is 4
    assert [run(shown.script, tmp_path) < 1e-3 for _ in range(3)] == [True] * 3


def test_with_delta(code, tmp_path):
    from dpest.cli.targets import load

    target = load(f"{code}:cut")
    found = demonstrate(target, [([0.0], [1.0]), ([2.0], [3.0])], 0.5, 0.01)
    assert found is not None
    assert found.p > math.exp(0.5) * found.q + 0.01
    assert run(found.script, tmp_path) < 1e-3


def test_nothing_is_shown_of_what_holds():
    def fine(x, rng):
        return sum(x) + rng.laplace(scale=1.0)

    assert dpest.audit(fine, epsilon=1, adjacency=l1(1), length=2).demonstration is None
    plan = demonstrate(as_mechanism(fine), [([0.0], [1.0])], 1.05)
    assert plan is None or plan.runs > 100_000


def test_runs_to_refute_grows_as_the_excess_shrinks():
    wanted = [runs_to_refute(p, 0.1, 1.0, 0.0) for p in (0.6, 0.4, 0.3, 0.28, 0.27)]
    assert wanted == sorted(wanted)
    assert wanted[-1] == math.inf


@pytest.mark.parametrize("q", [1e-300, 1e-38, 1e-17, 1e-12])
def test_a_chance_that_is_all_but_zero_is_one_that_never_comes_up(q):
    assert runs_to_refute(0.5, q, 5.0, 0.0) == runs_to_refute(0.5, 0.0, 5.0, 0.0)
    assert runs_to_refute(1.0 - 1e-16, q, 5.0, 0.1) == runs_to_refute(1.0, 0.0, 5.0, 0.1)


def test_certainty_in_words():
    assert certainty(0.0) == "50 %"
    assert certainty(1.0) == "73 %"
    assert certainty(math.inf) == "100 %"
    assert certainty(7.0) == "99.909 %"


def test_the_sentence_names_both_certainties():
    def f(x, rng):
        return sum(x) + rng.laplace(scale=0.5)

    said = sentence(dpest.audit(f, epsilon=1, adjacency=l1(1), length=1))
    assert "88 %" in said
    assert "73 %" in said


@pytest.mark.parametrize(
    ("p", "q", "epsilon", "delta"),
    [
        (0.6, 0.1, 1.0, 0.0),
        (0.03, 0.003, 0.5, 0.01),
        (0.9, 0.5, 0.1, 0.2),
        (0.002, 1e-7, 3.0, 1e-3),
    ],
)
def test_the_stated_runs_are_enough(p, q, epsilon, delta):
    """Of 20,000 scripts at most 2 in 10,000 may miss; 12 misses would have a chance below 1e-3."""
    runs = int(runs_to_refute(p, q, epsilon, delta))
    rng = np.random.default_rng(5)
    c1, c2 = rng.binomial(runs, p, 20_000), rng.binomial(runs, q, 20_000)
    if delta:
        middle = middle_of(p, q, epsilon, delta, runs)
        first = binomial.upper_tail(c1, runs, math.exp(epsilon) * middle + delta)
        p_values = np.maximum(first, binomial.lower_tail(c2, runs, middle))
    else:
        p_values = binomial.upper_tail(c1, c1 + c2, math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert (p_values >= 1e-3).sum() < 12


def test_what_is_seen_of_a_table_is_seen_by_the_script(tmp_path):
    """The labels of a Series are part of the output, in the script too."""
    pytest.importorskip("pandas")
    from dpest.cli.targets import load

    path = tmp_path / "tables.py"
    path.write_text(
        "import pandas as pd\n\n"
        "def labelled(x, rng):\n"
        "    return pd.Series({f'{sum(x)}': rng.laplace(), 'other': rng.laplace()})\n",
        encoding="utf-8",
    )
    found = demonstrate(load(f"{path}:labelled"), [([0, 1], [1, 1])], 1.0)
    assert found is not None
    assert run(found.script, tmp_path) < 1e-3


class Marked(list):
    """A list with a note on it."""

    def __init__(self, values, note):
        super().__init__(values)
        self.note = note


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, 2


class Tag(str):
    __slots__ = ()


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Answer:
    value: float
    name: str


class Colour(enum.Enum):
    RED = 1


OUTPUTS = [
    1, 2.5, True, None, "text", b"bytes", 1 + 2j, [1, [2.0, "a"]], (1, (None,)), Point(1, 2.0),
    {"winner": 3, "count": 1.0}, {2: "b", 1: "a"}, {}, {"a": {"c": 1, "b": 2}},
    collections.Counter("abca"), collections.OrderedDict(b=1, a=2), collections.deque([1, 2], 3),
    collections.defaultdict(int, {"z": 1, "a": 2}), {3, 1, 2}, frozenset({"a"}), [{1, 2}, 3],
    np.array([1.0, 2.0]), np.array([[1, 2], [3, 4]]), np.float64(2.5), np.array(3), np.bool_(True),
    np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[False, True, False]), np.array(["a", "b"]),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), np.array([None, 1], dtype=object),
    Marked([1.0, 2.0], "three"), Slotted(), Tag("tag"), Answer(1.5, "x"), Colour.RED,
    types.SimpleNamespace(b=1, a=[2]), ValueError("text", 3), datetime.date(2020, 1, 2),
    fractions.Fraction(1, 3), range(3), "object at 0x7f00", [Answer(1.0, "y"), {"k": Point(0, 1)}],
]  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: type(output).__name__)
def test_the_script_sees_what_the_search_saw(output):
    """Two readings of an output, written apart: the same elements in the same order."""
    assert repr(reading.leaves(output)) == repr(leaves_of(output))


def test_the_script_sees_tables_as_the_search_does():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=["r", "s"])
    frame["c"] = pd.Categorical(["u", "v"])
    for output in (
        frame,
        frame["a"],
        frame.index,
        frame["c"],
        {"t": frame},
        pd.Timestamp(2020, 1, 2),
    ):
        assert repr(reading.leaves(output)) == repr(leaves_of(output))


@pytest.mark.parametrize("error", [ValueError("too few: 3"), KeyError("a"), RuntimeError()])
def test_an_error_reads_alike(error):
    assert reading.raised(error) == raised_output(error)


def test_a_file_that_imports_its_neighbour_is_found(tmp_path):
    from dpest.cli.targets import load

    (tmp_path / "beside_it.py").write_text("LARGE = 9\n", encoding="utf-8")
    path = tmp_path / "importing.py"
    path.write_text(
        "from beside_it import LARGE\n\n"
        "def leaks(x, rng):\n    return LARGE * x[0] + rng.laplace()\n",
        encoding="utf-8",
    )
    found = demonstrate(load(f"{path}:leaks"), [([0, 1], [1, 1])], 1.0)
    assert found is not None
    assert run(found.script, tmp_path.parent) < 1e-3
