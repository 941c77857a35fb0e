"""Answers are written where they were asked for, and an exit status never lies."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dpest.cli.audit as audit_module
from dpest.cli import run
from dpest.cli.output import write_file
from dpest.errors import InputError
from dpest.report.json_report import encoded

CODE = """
import os, sys
def right(x, rng):
    return x[0] + rng.laplace(scale=2.0)
def low(x, rng):
    return x[0] + rng.laplace(scale=0.5)
def moves(x, rng):
    os.chdir("/")
    print("not JSON")
    return x[0] + rng.laplace(scale=2.0)
def unknown(x):
    import json, random
    return json.loads(json.dumps(x[0])) + random.expovariate(0.5) - random.expovariate(0.5)
"""
ASKED = ["--epsilon", "0.5", "--adjacency", "l1", "--length", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    importlib.import_module("dpest.auditing")
    return tmp_path


def said(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(list(words))
    return status, out.getvalue(), err.getvalue()


def test_several_targets(folder):
    status, out, _ = said("audit", "code.py:right", "code.py:low", *ASKED)
    assert status == 1
    assert len(out.splitlines()) == 2
    status, _, err = said("audit", "code.py:right", "missing.py:f", *ASKED)
    assert status == 2
    assert err.startswith("dpest: missing.py:f: ")
    assert said("audit", "missing.py:f", "code.py:low", *ASKED)[0] == 1


def test_settled_can_be_required(folder):
    words = ["audit", "code.py:unknown", *ASKED, "--budget", "1000runs", "--no-floating-point"]
    assert said(*words)[0] == 0
    assert said(*words, "--require", "settled")[0] == 2


def test_an_attack_on_a_declared_claim():
    words = ["attack", "SVT5", "--budget", "20000runs", "--pair", "[1]", "[2]"]
    status, out, _ = said(*words)
    assert status == (1 if "violates the claim 0.1" in out else 0)
    assert "the claim 0.1" in out


def test_a_crash_is_a_bug_of_ours(folder, monkeypatch):
    monkeypatch.setattr(audit_module, "exit_status", None)
    status, _, err = said("audit", "LaplaceMechanism")
    assert status == 2
    assert len(err.splitlines()) == 1
    assert "this is a bug in dpest (TypeError: 'NoneType' object is not callable)" in err
    file = Path(err.split("traceback is in ")[1].split(": please")[0])
    assert "Traceback" in file.read_text()
    file.unlink()


def test_relative_paths_are_those_of_the_start(folder):
    status, _, err = said("audit", "code.py:moves", *ASKED, "--json", "a.json")
    assert status == 0, err
    assert json.loads((folder / "a.json").read_text())["mechanism"] == "moves"
    assert said("audit", "code.py:moves", *ASKED, "--json", "-")[1][0] == "{"


def test_through_links_and_pipes(folder):
    (folder / "real").mkdir()
    (folder / "real" / "a.json").write_text("old")
    os.chmod(folder / "real" / "a.json", 0o640)
    os.symlink("real/a.json", folder / "link.json")
    write_file("link.json", "new")
    assert (folder / "link.json").is_symlink()
    assert (folder / "real" / "a.json").read_text() == "new\n"
    assert (folder / "real" / "a.json").stat().st_mode & 0o777 == 0o640
    os.mkfifo(folder / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    reader.start()
    write_file("pipe", "through")
    reader.join(10)
    assert read == ["through\n"]
    write_file("/dev/null", "gone")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_says_so(folder):
    with pytest.raises(InputError, match="No space left"):
        write_file("/dev/full", "text")
    status, _, err = said("audit", "code.py:right", *ASKED, "--json", "/dev/full")
    assert (status, len(err.splitlines())) == (2, 1)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpest", "audit", "LaplaceMechanism"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_an_interrupted_write_leaves_the_old_file(folder, monkeypatch):
    (folder / "a.json").write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_file("a.json", "new")
    assert (folder / "a.json").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["a.json", "code.py"]


def test_json_that_every_reader_takes():
    text = encoded({"half": "\ud800", "nan": float("nan"), "inf": float("inf")})
    assert json.loads(text.encode("utf-8")) == {"half": "\ud800", "nan": "nan", "inf": "inf"}


def test_a_reader_who_leaves_does_not_change_the_status(folder):
    running = subprocess.Popen(
        [sys.executable, "-m", "dpest", "audit", "code.py:low", *ASKED],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
    )
    assert running.stdout is not None
    running.stdout.close()
    assert running.wait(120) == 1
