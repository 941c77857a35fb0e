"""The benchmark of libraries: each in a process of its own, several at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dpest
from dpest.errors import InputError
from dpest.libraries.cell import RowBudget
from dpest.libraries.rows import LIBRARIES, LibraryRow, all_rows
from dpest.libraries.worker import MARK

Cell = dict[str, Any]


def select(only: Sequence[str]) -> list[LibraryRow]:
    """The rows that are asked for: by library, or by "library: name"."""
    rows = all_rows()
    for word in only:
        if not any(word in (row.library, row.label) for row in rows):
            known = ", ".join(library.package for library in LIBRARIES)
            raise InputError(f"no row is called {word!r}; libraries are {known}")
    return [r for r in rows if not only or r.library in only or r.label in only]


def interpreters(words: Sequence[str]) -> dict[str, str]:
    """LIBRARY=PATH: libraries whose requirements don't go together have places of their own."""
    found = {}
    for word in words:
        library, equals, path = word.partition("=")
        if not equals or library not in {one.package for one in LIBRARIES}:
            raise InputError(f"--python takes LIBRARY=PATH; got {word!r}")
        if not Path(path).is_file():
            raise InputError(f"there is no interpreter {path}")
        found[library] = path
    return found


def run(
    rows: Sequence[LibraryRow],
    *,
    settings: RowBudget,
    python: Mapping[str, str],
    workers: int = 2,
    done: Callable[[Cell], None] = lambda cell: None,
) -> tuple[list[Cell], dict[str, str]]:
    """Every row's cell, and the libraries that are not there with the reason."""
    names = list(dict.fromkeys(row.library for row in rows))
    cells: list[Cell] = []
    missing: dict[str, str] = {}

    def one(library: str) -> None:
        wanted = [row.name for row in rows if row.library == library]
        order = {"library": library, "rows": wanted, "settings": asdict(settings)}
        for line in _lines(python.get(library, sys.executable), order):
            if "missing" in line:
                missing[library] = line["missing"]
            else:
                cells.append(line)
                done(line)
        seen = {c["row"] for c in cells if c["library"] == library}
        if library not in missing:
            for name in wanted:
                if name not in seen:
                    lost = {"library": library, "row": name, "error": "the process ended early"}
                    cells.append(lost)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, names))
    place = {row.label: at for at, row in enumerate(all_rows())}
    cells.sort(key=lambda c: place[f"{c['library']}: {c['row']}"])
    return cells, missing


def _lines(python: str, order: dict[str, Any]) -> Any:
    """What the worker writes, line by line."""
    ours = str(Path(dpest.__file__).parents[1])
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    threads = dict.fromkeys(names, "1")
    environment = {**os.environ, **threads, "PYTHONPATH": ours, "PYSPARK_PYTHON": python}
    process = subprocess.Popen(
        [python, "-m", "dpest.libraries.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        for line in process.stdout:
            if line.startswith(MARK):
                yield json.loads(line[len(MARK) :])
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def unexplained(cells: Sequence[Cell]) -> list[str]:
    """Rows that came out violated, or with a finding, and have no cause in the list of rows."""
    rows = {row.label: row for row in all_rows()}
    problems = []
    for cell in cells:
        row = rows[f"{cell['library']}: {cell['row']}"]
        if cell.get("error"):
            problems.append(f"{row.label}: {cell['error']}")
        elif (cell["violated"] or cell["found"]) and not row.why:
            what = "violated" if cell["violated"] else "found something in"
            problems.append(f"{row.label}: {what} {cell['claim']} without a known cause")
        elif cell["doubles_violated"] and not row.doubles:
            problems.append(f"{row.label}: its doubles leak without a known cause")
    return problems
