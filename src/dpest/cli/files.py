"""The files of an audit: of one that stands alone, and of several together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from dpest.ask.declaration import Mechanism
from dpest.cli import output
from dpest.cli.output import WantedFiles, nothing_known, write
from dpest.report import page
from dpest.report.json_report import encoded
from dpest.report.provenance import Provenance
from dpest.report.sarif import Audited, badge, markdown, sarif
from dpest.verdict import Verdict

_Made = TypeVar("_Made")


def write_files(
    wanted: WantedFiles, mechanism: Mechanism, verdict: Verdict, provenance: Provenance
) -> None:
    if wanted.json:
        write(wanted.json, verdict.to_json())
    if wanted.html:
        write(wanted.html, page.render(verdict, provenance))
    if wanted.replay:
        write_replay(wanted.replay, verdict)
    _write_review(wanted, [Audited.of(mechanism, verdict)])


def part_of(
    wanted: WantedFiles, mechanism: Mechanism, verdict: Verdict, provenance: Provenance
) -> dict[str, Any]:
    """What an audit adds to the files that several make together, in plain values."""
    return {
        "verdict": json.loads(verdict.to_json()) if wanted.json else None,
        "page": asdict(page.part_of(verdict, provenance)) if wanted.html else None,
        "review": asdict(Audited.of(mechanism, verdict)),
    }


def write_together(wanted: WantedFiles, parts: Sequence[dict[str, Any]]) -> None:
    """The files of several audits. A part {"unanswered": target} is named in each of them."""
    if wanted.json:
        verdicts = _each(parts, lambda part: part["verdict"], nothing_known)
        write(wanted.json, encoded({"format": "dpest-verdicts/1", "verdicts": verdicts}))
    if wanted.html:
        pages = _each(parts, lambda part: page.Part(**part["page"]), page.Part.unanswered)
        write(wanted.html, page.render_several(pages))
    _write_review(wanted, _each(parts, lambda part: Audited(**part["review"]), Audited.unanswered))


def _each(
    parts: Sequence[dict[str, Any]],
    answered: Callable[[dict[str, Any]], _Made],
    unanswered: Callable[[str], _Made],
) -> list[_Made]:
    return [
        unanswered(part["unanswered"]) if "unanswered" in part else answered(part) for part in parts
    ]


def _write_review(wanted: WantedFiles, audits: Sequence[Audited]) -> None:
    made = ((wanted.sarif, sarif), (wanted.summary, markdown), (wanted.badge, badge))
    for path, text in made:
        if path:
            write(path, text(audits))


def write_replay(path: str, verdict: Verdict) -> None:
    """The script of the demonstration, or why there is none."""
    if verdict.demonstration is not None:
        write(path, verdict.demonstration.script)
        return
    reason = (
        "no event was found that shows it in a reasonable number of runs"
        if verdict.violated
        else "nothing is violated"
    )
    output.echo(f"dpest: {path} was not written: {reason}", err=True)
