"""The benchmark: its data, its cache, its agreement check, and the committed table."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from literature_benchmark import bench, published, table
from literature_benchmark.cache import CellCache
from literature_benchmark.cells import Cell, Settings, compute

from dpest import zoo
from dpest.errors import InputError

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"
QUICK = (
    "LaplaceMechanism",
    "ReportNoisyMax1",
    "ReportNoisyMax4",
    "SVT1",
    "SVT4",
    "AT4",
    "PartialSum",
)


def committed() -> dict[str, list[str]]:
    """The rows of the committed table "Exact and proved", by mechanism."""
    text = RESULTS.read_text(encoding="utf-8")
    part = text.split("## Exact and proved")[1].split("##")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in rows}


def rows_to_check():
    for name in committed():
        yield pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("name", list(rows_to_check()))
def test_the_committed_table_is_what_the_code_gives(name):
    rows = bench.select([name])
    cells = bench.run(rows, engines=("patterns", "worst", "proved", "proved_any"), workers=1)
    assert bench.disagreements(cells) == []
    now = table.Table(rows, cells).exact_lines()[0]
    then = committed()[name]
    assert now[:4] == then[:4]
    for a, b in zip(now[4:], then[4:], strict=True):
        if a != b:  # the last of six digits may differ with the machine's arithmetic
            assert float(a) == pytest.approx(float(b), rel=3e-5)


def test_every_published_row_is_in_the_zoo():
    for name in [
        *published.DP_SNIPER_TABLE,
        *published.SNIPER_CEILING,
        *published.DP_FINDER_BOUNDS,
        *published.CHECKDP_VERDICTS,
        *published.ERRORS,
    ]:
        assert name in zoo.names()


def test_published_errors_are_errors():
    """Rows named as wrong do have a published figure above the true worst case."""
    for name in published.ERRORS:
        declared = zoo.get(name)
        true = declared.about["truth"](declared.about["length"], declared.all_params)
        told = published.DP_SNIPER_TABLE[name]
        claims = [v for v in (told.statdp_claimed, told.older_dpest) if v is not None]
        assert any(v > true for v in claims), name


def test_disagreement_is_found():
    low = Cell("SVT1", "sniper", "lower", 0.2, "confidence 0.9999")
    high = Cell("SVT1", "proved", "upper", 0.1, "proved")
    assert bench.disagreements([low, high]) != []
    assert bench.disagreements([Cell("SVT1", "sniper", "lower", 0.09), high]) == []
    pattern = Cell("SVT1", "patterns", "lower", 0.09, "exact")
    assert bench.disagreements([pattern, Cell("SVT1", "worst", "lower", 0.05, "exact")]) != []
    assert bench.disagreements([pattern, Cell("SVT1", "worst", "lower", math.inf, "exact")]) == []


def test_cache_survives_a_cut_line_and_never_mixes_settings(tmp_path):
    path = tmp_path / "cache.jsonl"
    kept = CellCache(path, Settings(seed=1))
    kept.put(Cell("SVT5", "patterns", "lower", math.inf, "exact"))
    with path.open("a") as stream:
        stream.write('{"key": "abc", "cell": {"row"')
    again = CellCache(path, Settings(seed=1))
    assert again.get("SVT5", "patterns").value == math.inf
    assert CellCache(path, Settings(seed=2)).get("SVT5", "patterns") is None
    assert again.get("SVT5", "worst") is None


def test_finished_cells_are_not_computed_again(tmp_path, monkeypatch):
    rows = bench.select(["LaplaceMechanism"])
    asked = {"engines": ("patterns",), "cache": tmp_path / "c.jsonl", "workers": 1}
    first = bench.run(rows, **asked)
    monkeypatch.setattr(bench, "compute", None)
    assert bench.run(rows, **asked) == first
    assert first[0].value == pytest.approx(0.1)


def test_an_engine_that_refuses_says_why():
    [cell] = compute("JoiningMean", ["proved"], Settings())
    assert cell.value is None
    assert "their number is private" in cell.text


def test_unknown_rows_and_engines():
    with pytest.raises(InputError, match="NoSuch"):
        bench.select(["NoSuch"])
    with pytest.raises(InputError, match="guess"):
        bench.run([], engines=("guess",))


def test_json_and_page(tmp_path):
    rows = bench.select(["LaplaceMechanism"])
    cells = bench.run(rows, engines=("patterns", "proved"), workers=1)
    found = table.Table(rows, cells)
    page = table.page(found, Settings(), command="x <y>", cores=2, seconds=1.0)
    assert "&lt;y&gt;" in page
    assert "LaplaceMechanism" in page
    document = json.dumps(table.as_json(cells, Settings(), []))
    assert '"disagreements": []' in document
