"""A notebook, executed: its outputs have the rich forms."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpest import notebooks
from dpest.attacks.budget import Progress

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "first_steps.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What each cell shows, by the last line of its code: MIME type -> content."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown: dict[str, Any] = {}
            for output in cell.outputs:
                shown.update(output.get("data", {}))
                shown["text"] = shown.get("text", "") + output.get("text", "")
            found[cell.source.splitlines()[-1].strip()] = shown
    return found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("verdict", "VIOLATED: noisy_sum claims 1-DP, but ε ≥ 2"),
        ("verdict.lower", "ε ≥ 2"),
        ("loss", "ε = 2"),
        ("dpest.distribution(noisy_sum, [0.0, 0.0])", ""),
        ('dpest.prove(noisy_sum, adjacency="l1", length=2)', "2·eps"),
    ],
)
def test_rich_forms(outputs, line, words):
    html = outputs[line]["text/html"]
    assert html.startswith("<div>")
    assert words in html


@pytest.mark.parametrize("line", ["verdict.plot();", "loss.plot();"])
def test_pictures(outputs, line):
    assert outputs[line]["image/png"]


def test_a_line_of_a_cell_is_named_by_its_text(outputs):
    said = outputs["print(reason)"]["text"]
    assert "line 6 of the cell, `return math.tanh(noisy)`" in said
    assert "ipykernel" not in said


def test_a_function_without_a_name_goes_by_its_text(outputs):
    line = next(line for line in outputs if "lambda" in line)
    assert "lambda x, rng: x[0] + rng.laplace(scale=0.5)" in outputs[line]["text/html"]


def test_progress_is_a_line_that_goes_when_the_answer_comes(monkeypatch):
    """With a stand-in for IPython that keeps what it is asked to show."""
    shown: list[str] = []

    class Line:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Line()

    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    own = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython.display", own)
    monkeypatch.setattr(notebooks, "PATIENCE", 0.0)
    monkeypatch.setattr(notebooks, "APART", 0.0)
    with notebooks.showing_progress(None) as report:
        report(Progress("audit", 1200, 3.0, 0.5, "sampling <fast>"))
        report(Progress("audit", 2400, 4.0, 0.75, "sampling"))
    assert shown == [
        "<i>sampling &lt;fast&gt;: 1,200 runs, 3 s, bound so far 0.5</i>",
        "<i>sampling: 2,400 runs, 4 s, bound so far 0.75</i>",
        "",
    ]


def test_progress_that_was_asked_for_is_left_alone():
    taken: list[Any] = []
    with notebooks.showing_progress(taken.append) as report:
        assert report == taken.append
    assert not notebooks.in_notebook()
