"""The site: what is made for it, and that its links lead somewhere."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "site_pages.py"))


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a> <a href="b.html#gone">2</a> <a href="c.html">3</a>'
        '<img src="b.html"> <a href="https://example.org/x">4</a> <a id="own" href="#own">5</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert MADE["broken_links"](tmp_path) == ["a.html: b.html#gone", "a.html: c.html"]


def test_the_reference_has_every_public_name():
    import dpest

    text = MADE["docstrings"]()
    for name in dpest.__all__:
        if callable(getattr(dpest, name)):
            assert f"## `dpest.{name}`" in text
    assert "floating_point" in text  # of the signature of audit


def test_the_help_of_every_command_is_there():
    from dpest.cli import COMMANDS

    text = MADE["command_line"]()
    for name in COMMANDS:
        assert f"Usage: dpest {name}" in text


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    """As `make docs` does: with its gallery, strictly, and every link checked."""
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for name in ("index.html", "gallery/sparse-vector.html", "how-to/sign-off.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:[^"]*"', page)
