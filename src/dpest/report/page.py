"""Verdicts as one self-contained HTML page, for a person who signs off a release.

The page's script is our own: what is interactive are two sliders and marks on charts that are there
already as SVG, for paper and for readers without a script. A charting library would draw each chart
a second time, and would be most of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpest import __version__
from dpest.evidence import Evidence
from dpest.pictures import PairPicture
from dpest.report import charts
from dpest.report.derivation import derivation
from dpest.report.explorer import explorer_of
from dpest.report.figures import Figure, alike, figures_beside, figures_of_pair
from dpest.report.provenance import Provenance, moment
from dpest.report.sentence import sentence
from dpest.report.text import (
    advice,
    cost,
    headline,
    interval,
    number,
    show_input,
    symbol,
    way,
    witness_lines,
)

if TYPE_CHECKING:
    from dpest.verdict import Verdict

STANDINGS = {
    "proved": "for all inputs, by a certificate that a small program checks",
    "exact": "computed from the distributions, with an error near rounding",
    "confidence": "wrong with at most the stated probability, over the sampling",
    "estimate": "no guarantee; shown for orientation only",
}
WORST_FIRST = ("violated", "unanswered", "unsettled", "proved", "exact")


@dataclass(frozen=True)
class Part:
    """One verdict's share of a page: its row in the table, and its report as HTML."""

    name: str
    status: str
    words: str
    lower: str
    upper: str
    claim: str
    body: str

    @staticmethod
    def unanswered(target: str) -> Part:
        """A target that gave no verdict; the command has said why."""
        return Part(target, "unanswered", "unanswered", "?", "?", "?", "")


def render(verdict: Verdict, provenance: Provenance | None = None) -> str:
    """The page of one verdict."""
    return _page([part_of(verdict, provenance)], f"{verdict.question.mechanism}: {verdict.status}")


def render_several(parts: Sequence[Part]) -> str:
    """One page for several: a table, the worst first, and each report below it."""
    ranked = sorted(parts, key=lambda part: WORST_FIRST.index(part.status))
    return _page(ranked, f"{len(parts)} mechanisms")


def _page(parts: Sequence[Part], title: str) -> str:
    counts = [(s, sum(p.status == s for p in parts)) for s in WORST_FIRST]
    return _template("page.html").render(
        title=title,
        parts=parts,
        several=len(parts) != 1,
        counts=", ".join(f"{n} {s}" for s, n in counts if n),
        worst=min((p.status for p in parts), key=WORST_FIRST.index, default="exact"),
        date=moment().strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
    )


def part_of(verdict: Verdict, provenance: Provenance | None = None) -> Part:
    """A verdict's report. Everything that came from the user is escaped by the template."""
    question = verdict.question
    pictures: list[PairPicture | None] = list(verdict.pictures) or [None]
    body = _template("verdict.html").render(
        verdict=verdict,
        question=question,
        headline=headline(verdict).partition(": ")[2],
        sentence=sentence(verdict),
        interval=_markup(interval_chart(verdict)),
        interval_text=f"{symbol(question.measure)} {interval(verdict)}",
        advice=advice(verdict, shown="The script below shows it"),
        demonstration=verdict.demonstration,
        show_input=show_input,
        lower=card(verdict.lower),
        upper=card(verdict.upper),
        machine=card(verdict.floating_point),
        machine_violated=verdict.floating_point_violated,
        evidence=[card(e) for e in verdict.evidence],
        pairs=[pair_view(verdict, picture) for picture in pictures],
        beside=[_view(figure) for figure in figures_beside(verdict)],
        provenance=(provenance or Provenance()).rows(verdict),
    )
    low, high = ("–" if e is None else number(e.value) for e in (verdict.lower, verdict.upper))
    status = "violated" if verdict.floating_point_violated else verdict.status
    words = f"{status} (floating point)" if status != verdict.status else status
    return Part(question.mechanism, status, words, low, high, question.claim or "none", body)


def _template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpest.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _view(figure: Figure) -> dict[str, Any]:
    return {
        "title": figure.title,
        "svg": _markup(figure.svg),
        "text": figure.caption,
        "columns": figure.columns,
        "rows": figure.rows,
    }


def pair_view(verdict: Verdict, picture: PairPicture | None) -> dict[str, Any]:
    """One pair to look at: its sliders, if there is something to say about them, and charts."""
    explorer = explorer_of(verdict, picture)
    data: dict[str, Any] = {}
    if explorer is not None:
        data = explorer.data()
        outputs = picture.outputs if picture is not None and picture.runs is None else None
        densities = picture.densities if picture is not None else None
        if outputs is not None:
            data["outputs"] = {"p": outputs.p, "q": outputs.q}
        if densities is not None:
            data["densities"] = {"y": densities.y, "p": densities.p, "q": densities.q}
    return {
        "title": picture.title if picture is not None else "The bounds",
        "x": show_input(picture.x) if picture is not None else "",
        "x2": show_input(picture.x2) if picture is not None else "",
        "alike": picture is not None and alike(picture),
        "explorer": explorer,
        "words": explorer.words() if explorer is not None else {},
        "data": data,
        "figures": [_view(f) for f in figures_of_pair(picture, verdict)] if picture else [],
    }


def card(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    proof = evidence.witness.event if evidence.side == "upper" else ""
    return {
        "side": "at least" if evidence.side == "lower" else "at most",
        "value": number(evidence.value),
        "standing": str(evidence.standing),
        "meaning": STANDINGS[evidence.standing.name],
        "method": way(evidence),
        "cost": cost(evidence),
        "seed": evidence.seed,
        "lines": witness_lines(evidence) if evidence.side == "lower" else [],
        "derivation": derivation(proof),
        "replay": evidence.witness.replay,
        "notes": list(evidence.notes),
        "arithmetic": evidence.arithmetic,
    }


def interval_chart(verdict: Verdict) -> str:
    low = verdict.lower.value if verdict.lower is not None else 0.0
    high = verdict.upper.value if verdict.upper is not None else math.inf
    letter = symbol(verdict.question.measure)
    return charts.interval(low, high, verdict.question.limit, letter=letter)
