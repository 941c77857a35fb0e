"""The page, as text and in a real browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpest
from dpest.report.derivation import derivation
from dpest.report.explorer import explorer_of, shown
from dpest.report.figures import claimed_tradeoff
from dpest.report.page import Part, part_of, render, render_several
from dpest.report.provenance import Provenance
from dpest.verdict import Verdict
from report.verdicts import EVERY, OPEN, TIGHT, VIOLATED, pictures, question

SAID = ("epsilon", "delta", "least_delta", "least_epsilon", "certainty", "answer")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


@pytest.mark.parametrize("verdict", EVERY)
def test_self_contained(verdict):
    page = verdict.to_html()
    outside = re.findall(r"""(?:src|href)=["'](?!data:)([^"']+)""", page)
    assert outside == []
    assert "url(" not in page
    assert "@import" not in page


def test_user_text_is_escaped():
    name = "<script>alert(1)</script>"
    hostile = Verdict(question(mechanism=name), VIOLATED.evidence, (name,), picturing=pictures)
    page = hostile.to_html()
    assert name not in page
    assert "&lt;script&gt;" in page
    assert "<b>T</b>" not in page


def test_it_has_what_a_person_signs():
    page = VIOLATED.to_html()
    for part in ("violated", "Adjacency", "At least", "At most", "Replay", "Trade-off", "δ(ε)"):
        assert part in page


@needs_browser
@pytest.mark.parametrize("width", [1000, 390])
def test_in_a_real_browser(tmp_path, width):
    page = tmp_path / "report.html"
    page.write_text(VIOLATED.to_html(), encoding="utf-8")
    picture, netlog = tmp_path / "page.png", tmp_path / "net.json"
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
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


# Moves both sliders of the first pair through all positions, and keeps what the page says then.
MOVING = """
<script>
const section = document.querySelector(".explorer"), said = [];
const slider = (name) => section.querySelector(`input[name='${name}']`);
const words = (name) => section.querySelector(`[data-say='${name}']`)?.textContent ?? "";
const NAMES = ["epsilon", "delta", "least_delta", "least_epsilon", "certainty", "answer"];
for (let i = 0; i <= slider("epsilon").max; i++) {
  for (let j = 0; j <= slider("delta").max; j++) {
    slider("epsilon").value = i;
    slider("delta").value = j;
    slider("epsilon").dispatchEvent(new Event("input"));
    const marks = section.querySelector("svg[data-kind='profile'] .dot");
    said.push([i, j, ...NAMES.map(words), marks ? marks.getAttribute("cx") : ""]);
  }
}
document.body.textContent = "SAID" + JSON.stringify(
  {said: said, hidden: section.querySelector(".controls").hidden,
   spoken: slider("epsilon").getAttribute("aria-valuetext")}) + "DIAS";
</script>
"""


def moved(page: str, folder: Path) -> dict:
    """What the page says at each position of its sliders, in a browser, from a file."""
    path = folder / "moved.html"
    path.write_text(page.replace("</body>", MOVING + "</body>"), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r"SAID(.*)DIAS", done.stdout, re.S)
    assert found is not None, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@needs_browser
def test_the_sliders_change_the_numbers(tmp_path):
    """At every position the script says what Python would: one rule, written twice."""
    explorer = explorer_of(VIOLATED, pictures()[0])
    found = moved(VIOLATED.to_html(), tmp_path)
    assert not found["hidden"]
    assert len(found["said"]) == len(explorer.epsilons) * len(explorer.deltas)
    answers = set()
    for i, j, *words, _ in found["said"]:
        at = replace(explorer, start=(i, j)).words()
        assert words == [at[name] for name in SAID], (i, j)
        answers.add(at["answer"])
    assert answers == {
        "refuted by this pair",
        "refuted by the lower bound (exact)",
        "covered by the upper bound, for all inputs",
        "not refuted here, and no upper bound covers it",
    }
    dots = [float(dot) for i, j, *_, dot in found["said"] if j == 0]
    assert dots == sorted(dots)
    assert len(set(dots)) == len(dots)
    assert found["spoken"] == f"ε = {shown(explorer.epsilons[-1])}"


@needs_browser
def test_sliders_over_bounds_alone(tmp_path):
    found = moved(OPEN.to_html(), tmp_path)
    answers = {words[-2] for words in found["said"]}
    assert answers == {
        "refuted by the lower bound (confidence 0.95)",
        "not refuted here, and no upper bound covers it",
    }


def test_words_of_the_start_are_there_without_a_script():
    page = VIOLATED.to_html()
    assert ">refuted by this pair<" in page
    assert 'data-say="least_delta">0.025<' in page  # δ(0.1) = 0.05 - 0.1/4


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (0.1, "0.1"), (1e-10, "1e-10"), (123456.0, "1.235e+05"), (1e-5, "1e-05")],
)
def test_four_digits(value, words):
    assert shown(value) == words


def test_every_picture_has_its_numbers_as_a_table():
    page = VIOLATED.to_html()
    assert page.count("<figure>") == page.count("The numbers as a table") == 4


def test_the_proof_is_a_derivation():
    text = (
        "f, l1, n = 1: ε ≤ 1·eps\n\nCoupling:\n  release real:\n    noise 1 moves by -1\n"
        "\nDerivation:\n  [Lap]   cost |s|/b\n"
    )
    found = derivation(text)
    assert [block.lead for block in found][1:] == ["Coupling:", "Derivation:"]
    (release,) = found[1].items
    assert (release.text, [i.text for i in release.below]) == (
        "release real:",
        ["noise 1 moves by -1"],
    )
    assert (found[2].items[0].rule, found[2].items[0].text) == ("Lap", "cost |s|/b")


def test_provenance(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    page = render(VIOLATED, Provenance("dpest audit 'a b'", "A. Person"))
    for part in ("1970-01-01 00:00 UTC", "A. Person", "dpest audit &#39;a b&#39;", "Python 3"):
        assert part in page


def test_several_make_one_page_with_the_worst_first():
    parts = [part_of(TIGHT), part_of(VIOLATED), Part.unanswered("<gone>")]
    page = render_several(parts)
    rows = re.findall(r'<td class="(\w+)">', page)
    assert rows == ["violated", "unanswered", "exact"]
    assert page.count("<html") == page.count("<style>") == 1
    assert "&lt;gone&gt;" in page
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page


def half_the_noise(x, rng, *, eps=0.5):
    return int(np.argmax([v + rng.laplace(scale=1 / eps) for v in x]))


def test_pictures_are_of_the_verdicts_pair():
    """Of a noisy maximum the worst pair is far out: it is shown first, a nearer one beside it."""
    verdict = dpest.audit(half_the_noise, epsilon=0.5, adjacency="linf", length=3)
    own, nearer = verdict.pictures
    assert (own.x, own.x2) == (verdict.lower.witness.x, verdict.lower.witness.x2)
    assert (nearer.x, nearer.x2) == (verdict.demonstration.x, verdict.demonstration.x2)
    assert own.needed[0] == (0.0, pytest.approx(verdict.lower.value))
    loss = dpest.exact(half_the_noise, nearer.x, nearer.x2)
    for epsilon, delta in nearer.profile[::20]:
        assert delta <= loss.delta(epsilon)  # from below, as is ε
        assert delta == pytest.approx(loss.delta(epsilon), abs=1e-9)
    for delta, epsilon in nearer.needed[1:]:
        assert loss.delta(epsilon) >= delta or epsilon == 0.0


def test_pictures_from_runs_say_so():
    def box(x):
        return int.from_bytes(os.urandom(1), "big") % 4 + sum(x)

    verdict = dpest.audit(
        box, epsilon=1, adjacency="l1", length=1, domain=dpest.integers(1, 0, 3),
        budget="2000runs", floating_point=False,
    )  # fmt: skip
    (picture,) = verdict.pictures
    assert picture.runs == 4000
    assert sum(picture.outputs.p) == pytest.approx(1.0)
    assert "4,000 runs on each input: an estimate" in verdict.to_html()


def test_a_gaussian_claim_has_its_own_curve():
    """The pair of a mechanism that is exactly μ-GDP lies on the claim's curve."""
    verdict = dpest.audit(gaussian, claim="gdp:0.5", adjacency="l1", length=1)
    (picture,) = verdict.pictures
    (claimed,) = claimed_tradeoff(verdict)
    ours = dict(picture.tradeoff)
    both = [(ours[a], miss) for a, miss in claimed.points if a in ours]
    assert len(both) > 10
    for pair, claim in both:
        assert pair == pytest.approx(claim, abs=2e-3)
    assert "data-say" in verdict.to_html()  # δ(ε) of the pair can be asked about all the same


def gaussian(x, rng, *, sigma=2.0):
    return x[0] + rng.normal(scale=sigma)
