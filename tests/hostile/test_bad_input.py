"""Bad input to the command line and to the API: one line that says why, exit status 2."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpest
from dpest.cli import run

GOOD = "def f(x, rng, *, eps=0.5):\n    return x[0] + rng.laplace(scale=1 / eps)\n"
FILES = {
    "good.py": GOOD + "number = 3\nclass C: pass\n",
    "broken.py": "def f(x, rng:\n",
    "raises.py": "raise RuntimeError('at import')\n",
    "exits.py": "import sys\nsys.exit(0)\n",
    "empty.py": "",
    "missing_import.py": "import no_such_module\n" + GOOD,
    "binary.py": "\x00\x01\x02",
    "tabs.py": "if True:\n\tx = 1\n        y = 2\n",
    "takes_nothing.py": "def f():\n    return 1\n",
    "always.py": "def f(x, rng):\n    raise KeyError('no')\n",
    "wants.py": "def f(x, rng, *, scale):\n    return scale.nothing\n",
    "old.json": "[]",
    "bad.json": "{",
    "notes.txt": "text",
}
TARGETS = [
    *["", ":", "::", "x:", ":f", "NoSuchMechanism", "svt 1", "good.py", "good.py:", "good.py:g"],
    *["good.py:number", "good.py:f.g", "missing.py:f", "broken.py:f", "raises.py:f", "exits.py:f"],
    *["empty.py:f", "missing_import.py:f", "binary.py:f", "tabs.py:f", "no.such.module:f"],
    *["folder:f", "folder/:f", "../nothing.py:f", "notes.txt:f", "/dev/null:f", "\ud800:f"],
    *["math:no_such", "math:pi", "os:path", "always.py:f", "-", "\n", "a" * 5000, "x.py:f:g"],
]
# option, values that are refused whatever the target
OPTIONS: list[tuple[str, list[str]]] = [
    ("--epsilon", ["-1", "nan", "x", "", "1,5", "0x", "1e", "--", "(1)", "half", "-inf"]),
    ("--delta", ["-0.1", "2", "nan", "x", "", "1.5", "-inf", "inf"]),
    (
        "--claim",
        [
            *[
                "nonsense",
                "",
                "pure",
                "pure:",
                "pure:-1",
                "approx:1",
                "approx:1,2,3",
                "renyi:0.5,1",
            ],
            *["zcdp:-1", "gdp:x", "pure:no_such_parameter", "pure:1/0", "approx:1,-1", ":", "::"],
            *["renyi:2", "renyi:,", "approx:,", "pure:1;2", "pure:nan", "zcdp:", "gdp:-2"],
        ],
    ),
    (
        "--adjacency",
        ["l7", "", "linf:", "linf:-1", "linf:0", "linf:x", "l1:nan", "replace", "linf:1:2", ":1"],
    ),
    (
        "--domain",
        [
            *["nonsense", "reals(", "reals:5,1", "integers:0.5,2", "reals(0)", "reals(-3)"],
            *["reals(x)", "finite()", "reals:a,b", "reals(5, 1, 0)", "reals(1000000000)"],
            *["__import__('os')", "integers(5, 0, 1, 2, 3)", "()", "reals)5("],
        ],
    ),
    (
        "--length",
        [
            *["0", "-1", "x", "9..2", "1..", "..5", "1..2..3", "1e3", "2.5", "", "1000000000"],
            *["1..1000000", "9" * 40, "1-5", "٣x"],
        ],
    ),
    ("--param", ["eps", "=1", "no_such=1", "1x=2", "eps-=1", "", "a b=1"]),
    ("--alpha", ["0", "1", "2", "-1", "nan", "x", ""]),
    (
        "--budget",
        ["soon", "0", "-5s", "", "1e400runs", "s", "1..2", "5 parsecs", "nan", "inf", "0runs"],
    ),
    ("--seed", ["-1", "x", "1.5", "", "nan"]),
    ("--patience", ["0", "-1", "nan", "inf", "x", ""]),
    ("--workers", ["0", "-1", "x", "1.5", "100000", ""]),
    ("--cluster", ["nowhere"]),
    ("--device", ["abacus", "", "cuda:x", "torch:abacus"]),
    (
        "--json",
        [
            *["no/such/folder/f.json", ".", "folder", "/proc/nothing/x", "folder/", "a\0b"],
            *["f" * 300 + "/x", "notes.txt/x"],
        ],
    ),
    ("--html", ["no/such/folder/f.html", ".", "folder"]),
    ("--baseline", ["missing.json", "old.json", "bad.json", ".", "notes.txt", "binary.py"]),
    ("--state", ["no/such/folder/s", ".", "notes.txt"]),
    ("--require", ["everything", "", "Settled?"]),
    ("--time-limit", ["0", "-1", "nan", "x", "1e9", ""]),
    ("--memory-limit", ["0", "-1GB", "much", "1XB", "", "10kB", "9" * 20 + "GB"]),
    ("--no-such-option", ["1"]),
]
OTHERS = [
    [],
    ["audit"],
    ["no-such-command"],
    ["--no-such-option"],
    ["exact", "good.py:f"],
    ["exact", "good.py:f", "--pair", "[1", "[2]"],
    ["exact", "good.py:f", "--pair", "[1]"],
    ["exact", "good.py:f", "--pair", "[1]", "[9]", "--adjacency", "l1"],
    ["exact", "good.py:f", "--pair", "[1]", "[1, 2]"],
    ["exact", "good.py:f", "--pair", "['a']", "[2]"],
    ["exact", "good.py:f", "--pair", "[1]", "[nan]"],
    ["exact", "good.py:f", "--pair", "(" * 500, "1"],
    ["exact", "good.py:f", "--pair", "[1]", "[2]", "--delta", "7"],
    ["exact", "good.py:f", "--pair", "[1]", "[2]", "--alpha", "-7"],
    ["attack", "good.py:f", "--method", "guess"],
    ["attack", "good.py:f", "--pair", "[1]", "[2, 3]"],
    ["attack", "good.py:f", "--pair", "{}", "{}"],
    ["attack", "good.py:f", "--length", "0"],
    ["attack", "good.py:f", "--length", "1000000000"],
    ["attack", "always.py:f", "--pair", "[1]", "[2]"],
    ["prove", "good.py:f", "--length", "-5"],
    ["prove", "good.py:f", "--length", "soon", "--adjacency", "l1"],
    ["prove", "good.py:f", "--length", "9" * 5000, "--adjacency", "l1"],
    ["prove", "good.py:f"],
    ["prove", "good.py:f", "--adjacency", "l7"],
    ["prove", "good.py:f", "--adjacency", "l1", "--certificate", "."],
    ["calibrate", "good.py:f", "--epsilon", "1"],
    ["calibrate", "good.py:f", "--epsilon", "-1", "--param", "eps"],
    ["calibrate", "good.py:f", "--epsilon", "1", "--param", "no_such"],
    ["check", "missing.json"],
    ["check", "old.json"],
    ["check", "bad.json"],
    ["check", "good.py"],
    ["convert", "pure:1", "--to", "nothing"],
    ["convert", "nonsense", "--to", "approx"],
    ["convert", "pure:1"],
    ["convert", "zcdp:1", "--to", "approx", "--delta", "7"],
    ["zoo", "NoSuch"],
    ["bench", "nothing"],
]


def command_lines() -> list[list[str]]:
    found = [["audit", target, "--epsilon", "0.5", "--adjacency", "l1"] for target in TARGETS]
    for option, values in OPTIONS:
        found += [["audit", "good.py:f", option, value] for value in values]
    return found + OTHERS


def f(x: Any, rng: Any, *, eps: float = 0.5) -> Any:
    return x[0] + rng.laplace(scale=1 / eps)


QUESTION: dict[str, Any] = {"epsilon": 0.5, "adjacency": "l1", "length": 1}
ODD: list[Any] = [object(), [[]], {"a": 1}, b"x", 1j, np.zeros(3), float("nan"), lambda: 0]
ARGUMENTS = (
    *("epsilon", "delta", "claim", "adjacency", "domain", "length", "params", "alpha", "budget"),
    *("seed", "engines", "workers", "state", "device", "patience", "cluster", "progress"),
)
MEANT = {("params", 2), ("progress", 7), ("state", 3)}  # a dict, a function: what is asked for


def calls() -> list[tuple[str, dict[str, Any]]]:
    found = [
        ("audit", {**QUESTION, name: value})
        for name, (which, value) in itertools.product(ARGUMENTS, enumerate(ODD))
        if (name, which) not in MEANT
    ]
    found += [("attack", {**QUESTION, "method": value}) for value in ("guess", 3, ["sniper"])]
    found += [("prove", {"adjacency": value}) for value in (None, 5, "l7", ["l1"])]
    return found


def test_there_are_many():
    assert len(command_lines()) + len(calls()) >= 250


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# JAX, which other tests load, warns of every fork.
@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
def test_command_lines(folder: Path) -> None:
    for name in ("dpest.auditing", "dpest.exact.engine", "dpest.proofs"):
        importlib.import_module(name)  # once, and not in each of the processes
    before = sorted(p for p in folder.rglob("*") if "__pycache__" not in str(p))
    wrong = []
    for words in command_lines():
        out, err = io.StringIO(), io.StringIO()
        started = time.process_time()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(words)
        spent = time.process_time() - started
        lines = err.getvalue().splitlines()
        helped = not words and status in (0, 2)  # the help is the answer
        if not helped and (status != 2 or len(lines) != 1 or not lines[0].startswith("dpest: ")):
            wrong.append(f"{[w[:60] for w in words]}: {status} {err.getvalue()[-300:]!r}")
        elif "bug in dpest" in err.getvalue():
            wrong.append(f"{[w[:60] for w in words]}: {lines[0][:300]}")
        elif spent > 2:
            wrong.append(f"{[w[:60] for w in words]}: took {spent:.1f} s")
    assert not wrong, "\n".join(wrong)
    after = sorted(p for p in folder.rglob("*") if "__pycache__" not in str(p))
    assert after == before


def test_calls(folder: Path) -> None:
    wrong = []
    for verb, arguments in calls():
        try:
            getattr(dpest, verb)(f, **arguments)
        except dpest.DpestError as reason:
            if not str(reason):
                wrong.append(f"{verb} {arguments}: no reason")
        except BaseException as error:
            wrong.append(f"{verb} {arguments}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{verb} {arguments}: was taken")
    for target in (None, 3, "SVT1", [], object()):
        with pytest.raises(dpest.DpestError):
            dpest.audit(target, **QUESTION)  # type: ignore[arg-type]
    assert not wrong, "\n".join(wrong)
