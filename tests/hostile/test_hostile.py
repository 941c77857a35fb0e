"""Whatever audited code does, the audit ends within its limits with the status that is right."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of their own")

HERE = Path(__file__).parent


class Case(NamedTuple):
    target: str
    status: int
    says: str
    hangs: bool


class Answer(NamedTuple):
    status: int
    out: str
    err: str
    seconds: float
    folder: str


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"hostile_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(folder: Path) -> dict[str, Case]:
    found = {
        name: Case(f"{HERE / 'functions.py'}:{name}", status, says, seconds is not None)
        for name, (status, says, seconds) in load("functions").EXPECTED.items()
    }
    for name, (source, status, says) in load("files").FILES.items():
        file = folder / f"{name}.py"
        file.write_bytes(source.encode("latin-1"))
        found[f"file {name}"] = Case(f"{file}:f", status, says, "--time-limit" in says)
    return found


def answers_to(asked: list[tuple[Case, Path]]) -> list[Answer]:
    """The command line's answers, from processes that have loaded nothing but dpest."""
    words = [[case.target, case.status, case.hangs, str(folder)] for case, folder in asked]
    done = subprocess.run(
        [sys.executable, str(HERE / "asking.py")],
        input=json.dumps(words),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Answer(*answer) for answer in json.loads(done.stdout)]


def wrong(name: str, case: Case, answer: Answer, folder: Path) -> list[str]:
    found = []
    if answer.status != case.status:
        found.append(f"status {answer.status}, not {case.status}")
    if case.says not in answer.err:
        found.append(f"does not say {case.says!r}")
    if answer.seconds > 60:
        found.append(f"took {answer.seconds:.0f} s")
    if "Traceback" in answer.err or "bug in dpest" in answer.err:
        found.append("a crash")
    if answer.out:  # JSON alone, whatever was printed
        try:
            report = json.loads(answer.out)
        except ValueError:
            found.append("the JSON is not valid")
        else:
            if case.status == 1 and report["status"] != "violated":
                found.append(f"the JSON says {report['status']}")
    elif case.status != 2:
        found.append("no JSON")
    if answer.folder != str(folder) or list(folder.iterdir()):
        found.append("the folder was changed")
    return [f"{name}: {reason} ({answer.err[-300:]!r})" for reason in found]


def test_the_zoo_is_large():
    assert len(load("functions").EXPECTED) + len(load("files").FILES) >= 60


def test_every_answer_is_right(tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    all_cases = cases(sources)
    before = {p for p in tmp_path.rglob("*") if "__pycache__" not in str(p)}
    folders = {name: tmp_path / str(i) for i, name in enumerate(all_cases)}
    # Those that hang come first, and all at once: they take time, but no computing.
    names = sorted(all_cases, key=lambda name: not all_cases[name].hangs)
    answers = dict(zip(names, answers_to([(all_cases[n], folders[n]) for n in names]), strict=True))
    problems = [
        line
        for name in names
        for line in wrong(name, all_cases[name], answers[name], folders[name])
    ]
    assert not problems, "\n".join(problems)
    after = {p for p in tmp_path.rglob("*") if "__pycache__" not in str(p)}
    assert after == before | set(folders.values())
    assert not [p for p in sleeping() if b"1000.25" in p], "a process was left behind"


def sleeping() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            found.append(process.read_bytes())
    return found
