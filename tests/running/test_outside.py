"""What a run could find of those before it, or of when it is made: such runs show nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dpest.running.memory import changed, memory

FUNCTIONS = """
import datetime
import datetime as dt
import json
import os
import sys
import threading
import time
from datetime import datetime as Moment
from os import environ
from time import perf_counter as ticks

PLACE = threading.local()

def of_time(x): return time.time()
def of_a_date(x): return datetime.datetime.now().isoformat()
def of_a_day(x): return dt.date.today()
def renamed(x): return ticks(), Moment.utcnow()
def imported_inside(x):
    import time as t
    from datetime import date, timedelta
    return t.monotonic_ns(), date.today()
def inner(x):
    def now():
        return time.perf_counter()
    return now()
def in_a_module(x):
    sys._runs = getattr(sys, "_runs", 0) + 1
    return sys._runs
def in_the_environment(x):
    os.environ["RUNS"] = str(int(os.environ.get("RUNS", "0")) + 1)
    return os.environ["RUNS"]
def in_an_imported_environment(x):
    environ["RUNS"] = environ.get("RUNS", "") + "1"
    return len(environ["RUNS"])
def in_a_thread(x):
    PLACE.runs = getattr(PLACE, "runs", 0) + 1
    return PLACE.runs
def in_a_file(x):
    with open("ledger.json", "w") as file:
        json.dump(x, file)

def sleeps(x):
    time.sleep(0)
    return datetime.timedelta(1), datetime.datetime(2020, 1, 1), x.time, Moment.min
def reads_the_environment(x): return os.environ.get("HOME"), os.getenv("PATH")
def reads_a_file(x):
    with open("scale.txt") as file:
        return float(file.read())
"""
OUTSIDE = {
    "of_time": "time.time", "of_a_date": "datetime.now", "of_a_day": "date.today",
    "renamed": "time.perf_counter", "imported_inside": "date.today", "inner": "time.perf_counter",
    "in_a_module": "sys._runs", "in_the_environment": "os.environ",
    "in_an_imported_environment": "environ", "in_a_thread": "PLACE", "in_a_file": "a file",
}  # fmt: skip
FINE = ("sleeps", "reads_the_environment", "reads_a_file")


class Anything:
    time = 1


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    (folder / "outside_functions.py").write_text(FUNCTIONS)
    sys.path.insert(0, str(folder))
    before = Path.cwd()
    os.chdir(folder)
    (folder / "scale.txt").write_text("1.5")
    try:
        import outside_functions

        yield outside_functions
    finally:
        os.chdir(before)
        sys.path.remove(str(folder))
        vars(sys).pop("_runs", None)
        os.environ.pop("RUNS", None)


def _left(function):
    function(Anything() if function.__name__ == "sleeps" else 1)  # what is made once is no change
    before = memory(function)
    function(Anything() if function.__name__ == "sleeps" else 1)
    return changed(before, memory(function))


@pytest.mark.parametrize("name", OUTSIDE)
def test_it_is_seen(functions, name):
    assert any(OUTSIDE[name] in kept for kept in _left(getattr(functions, name)))


@pytest.mark.parametrize("name", FINE)
def test_what_only_looks_is_fine(functions, name):
    assert _left(getattr(functions, name)) == ()


def test_a_drift_is_no_leak_of_the_data(tmp_path):
    """The output moves with each call, and is never made of the data: nothing is shown."""
    file = tmp_path / "drift.py"
    file.write_text(
        textwrap.dedent(
            """
            import math
            import random
            import sys

            def drift(x):
                sys._calls = getattr(sys, "_calls", 0) + 1
                noise = [random.expovariate(1.0), -random.expovariate(1.0)]
                return math.fsum(noise) + sys._calls / 3000
            """
        )
    )
    asked = ["audit", f"{file}:drift", "--epsilon", "0.05", "--adjacency", "l1", "--length", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "dpest", *asked, "--budget", "20000runs"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "UNSETTLED" in done.stdout
    assert "ε in [0, ∞)" in done.stdout
    assert "outside of its input and draws: sys._calls" in done.stdout
