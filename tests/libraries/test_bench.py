"""The benchmark of libraries: its rows, how they are run, and when it fails."""

from __future__ import annotations

import json
import sys

import pytest

from dpest.errors import InputError
from dpest.libraries import bench, table
from dpest.libraries.cell import RowBudget
from dpest.libraries.rows import LIBRARIES, all_rows


def test_rows_are_what_is_promised():
    rows = all_rows()
    assert len(rows) >= 60
    assert len({row.library for row in rows}) >= 8
    assert len({row.label for row in rows}) == len(rows)
    assert {row.library for row in rows} == {library.package for library in LIBRARIES}
    for row in rows:
        assert len(row.glue.splitlines()) <= 2, row.label
        compile(row.glue, row.label, "exec")
        json.dumps([row.x, row.x2])


def test_rows_are_chosen_by_library_or_label():
    assert len(bench.select(["opendp: count"])) == 1
    assert {row.library for row in bench.select(["opacus", "jax-privacy"])} == {
        "opacus",
        "jax-privacy",
    }
    with pytest.raises(InputError, match="no row"):
        bench.select(["opendp: nothing"])


def test_interpreters_are_checked():
    assert bench.interpreters([f"opendp={sys.executable}"]) == {"opendp": sys.executable}
    with pytest.raises(InputError, match="LIBRARY=PATH"):
        bench.interpreters(["nobody=/bin/python"])
    with pytest.raises(InputError, match="no interpreter"):
        bench.interpreters(["opendp=/no/such/python"])


def cell(**changes):
    made = {
        "library": "opendp",
        "version": "1.0",
        "row": "count",
        "claim": "1-DP",
        "limit": 1.0,
        "seconds": 1.0,
        "violated": False,
        "found": False,
        "doubles_violated": False,
        "black_box": {"value": 0.5, "runs": 10, "violated": False},
        "doubles": None,
        "grey": {"cost": 1.0, "complete": True, "findings": []},
    }
    return {**made, **changes}


def test_a_violation_without_a_cause_is_a_problem():
    assert bench.unexplained([cell()]) == []
    assert "without a known cause" in bench.unexplained([cell(violated=True)])[0]
    assert "doubles" in bench.unexplained([cell(doubles_violated=True)])[0]
    known = cell(library="diffprivlib", row="Laplace", doubles_violated=True)
    assert bench.unexplained([known]) == []
    assert "ended" in bench.unexplained([cell(error="the process ended early")])[0]


def test_the_document_names_what_is_missing_and_why_rows_fail():
    finding = {"what": "control flow", "words": "other draws", "file": "/a/b/c.py", "line": 7}
    found = cell(
        library="diffprivlib",
        row="GaussianNB, a label that is new",
        found=True,
        grey={"cost": "inf", "complete": True, "findings": [finding]},
    )
    text = table.markdown(
        [cell(), found], {"tmlt.core": "not there"}, command="dpest", seconds=60.0, workers=2
    )
    assert "Not installed: not there" in text
    assert "`a/b/c.py`, line 7" in text
    assert "The classes are taken" in text or "the classes are taken" in text
    assert "finding: control flow" in text


def test_a_row_is_run_in_a_process_of_its_own():
    pytest.importorskip("opendp")
    rows = bench.select(["opendp: randomised response"])
    cells, missing = bench.run(rows, settings=RowBudget(seconds=0.3), python={}, workers=1)
    assert missing == {}
    assert len(cells) == 1
    assert not cells[0].get("error")
    assert not cells[0]["violated"]
    assert cells[0]["grey"]["cost"] == pytest.approx(1.0986, abs=1e-3)


def test_a_library_that_is_not_there_is_listed(tmp_path):
    fake = tmp_path / "python"
    fake.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c "
        "'import sys; sys.stdin.read(); "
        'print("\\x1edpest " + chr(123) + "\\"missing\\": \\"not there\\"" + chr(125))\'\n'
    )
    fake.chmod(0o755)
    rows = bench.select(["opacus"])
    cells, missing = bench.run(rows, settings=RowBudget(), python={"opacus": str(fake)}, workers=1)
    assert cells == []
    assert missing == {"opacus": "not there"}
