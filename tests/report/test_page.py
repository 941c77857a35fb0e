"""The page, as text and in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from dpest.verdict import Verdict
from report.verdicts import EVERY, VIOLATED, question

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.parametrize("verdict", EVERY)
def test_self_contained(verdict):
    page = verdict.to_html()
    outside = re.findall(r"""(?:src|href)=["'](?!data:)([^"']+)""", page)
    assert outside == []
    assert "url(" not in page
    assert "@import" not in page


def test_user_text_is_escaped():
    name = "<script>alert(1)</script>"
    hostile = Verdict(question(mechanism=name), VIOLATED.evidence, (name,), curves=VIOLATED.curves)
    page = hostile.to_html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<b>T</b>" not in page


def test_it_has_what_a_person_signs():
    page = VIOLATED.to_html()
    for part in ("violated", "Adjacency", "At least", "At most", "Replay", "Trade-off", "δ(ε)"):
        assert part in page


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1000, 390])
def test_in_a_real_browser(tmp_path, width):
    page = tmp_path / "report.html"
    page.write_text(VIOLATED.to_html(), encoding="utf-8")
    picture, netlog = tmp_path / "page.png", tmp_path / "net.json"
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},1600",
            f"--screenshot={picture}",
            f"--log-net-log={netlog}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert picture.exists(), done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr
    text = netlog.read_text(encoding="utf-8")
    log = json.loads(text if text.rstrip().endswith("}") else text.rstrip().rstrip(",") + "]}")
    asked = {
        event["params"]["url"]
        for event in log["events"]
        if isinstance(event.get("params"), dict) and "url" in event["params"]
    }
    # The page's own file may appear; a request of the page to the network must not.
    initiated = [url for url in asked if url.startswith("http") and "google" not in url]
    assert initiated == []
    colours = count_colours(picture)
    assert colours > 20


def count_colours(picture) -> int:
    from matplotlib import image

    pixels = (image.imread(picture)[:, :, :3] * 255).astype(int)
    packed = pixels[:, :, 0] * 65536 + pixels[:, :, 1] * 256 + pixels[:, :, 2]
    return len(set(packed.ravel().tolist()))
