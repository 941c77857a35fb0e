"""Verdicts for code review: SARIF 2.1.0, a summary in Markdown, a badge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpest import __version__
from dpest.ask.declaration import Mechanism
from dpest.report.sentence import sentence
from dpest.report.text import headline
from dpest.running.places import code_of

if TYPE_CHECKING:
    from dpest.verdict import Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "violated": ("privacy-claim-violated", "error", "The code leaks more than it claims."),
    "floating-point": (
        "floating-point-leak",
        "error",
        "The machine's doubles leak more than the code claims.",
    ),
    "unsettled": (
        "privacy-claim-unsettled",
        "warning",
        "The claim is neither proved nor refuted.",
    ),
}
_COLOURS = {
    "violated": "#c0392b",
    "exact": "#2e7d32",
    "proved": "#2e7d32",
    "unsettled": "#b7791f",
    "unanswered": "#b7791f",
}


_WORST_FIRST = ["violated", "unanswered", "unsettled", "proved", "exact"]


@dataclass(frozen=True)
class Audited:
    """What a review says of one mechanism, in plain values: it travels between processes."""

    mechanism: str
    status: str
    claim: str = "none"
    at_least: str = "–"
    at_most: str = "–"
    headline: str = ""
    said: str = ""
    kinds: tuple[str, ...] = ()
    place: dict[str, Any] | None = None

    @staticmethod
    def of(mechanism: Mechanism, verdict: Verdict, root: Path | None = None) -> Audited:
        """Paths are relative to `root`, the folder where the command was started."""
        kinds = ["violated"] if verdict.violated else []
        kinds += ["floating-point"] if verdict.floating_point_violated else []
        kinds += ["unsettled"] if not kinds and verdict.status == "unsettled" else []
        low, high = (
            "–" if e is None else f"{e.value:.4g} ({e.standing})"
            for e in (verdict.lower, verdict.upper)
        )
        return Audited(
            mechanism.name,
            verdict.status,
            str(verdict.question.claim or "none"),
            low,
            high,
            headline(verdict),
            " ".join(filter(None, [headline(verdict), sentence(verdict)])),
            tuple(kinds),
            _place(mechanism, root or Path.cwd()),
        )

    @staticmethod
    def unanswered(target: str) -> Audited:
        return Audited(target, "unanswered")


def sarif(audits: Sequence[Audited]) -> str:
    """A run of dpest as code hosts read it: one result for each claim that does not stand."""
    rules = [
        {"id": rule, "shortDescription": {"text": words}} for rule, _, words in _RULES.values()
    ]
    driver = {
        "name": "dpest",
        "version": __version__,
        "rules": rules,
    }
    results = [_result(kind, audit) for audit in audits for kind in audit.kinds]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _result(kind: str, audit: Audited) -> dict[str, Any]:
    rule, level, _ = _RULES[kind]
    found: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": audit.said}}
    if audit.place is not None:
        found["locations"] = [audit.place]
    found["partialFingerprints"] = {"mechanism/v1": f"{rule}:{audit.mechanism}"}
    return found


def _place(mechanism: Mechanism, root: Path) -> dict[str, Any] | None:
    code = code_of(mechanism.function)
    if code is None:
        return None
    path = Path(code.co_filename).resolve()
    inside = path.is_relative_to(root.resolve())
    artifact: dict[str, Any] = (
        {"uri": path.relative_to(root.resolve()).as_posix(), "uriBaseId": "%SRCROOT%"}
        if inside
        else {"uri": path.as_uri()}
    )
    region = {"startLine": code.co_firstlineno}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def markdown(audits: Sequence[Audited]) -> str:
    """A table for a comment on a pull request, worst first."""
    ranked = sorted(audits, key=lambda a: _WORST_FIRST.index(a.status))
    lines = [
        "### Privacy audit",
        "",
        "| mechanism | verdict | at least | at most | claim |",
        "|---|---|---|---|---|",
        *(
            f"| `{a.mechanism}` | {a.status} | {a.at_least} | {a.at_most} | {a.claim} |"
            for a in ranked
        ),
    ]
    said = [f"- `{a.mechanism}`: {a.headline}" for a in ranked if "violated" in a.kinds]
    return "\n".join([*lines, *([""] if said else []), *said, ""])


def badge(audits: Sequence[Audited]) -> str:
    """A picture of two words, of the worst verdict, for a README."""
    worst = min((audit.status for audit in audits), key=_WORST_FIRST.index)
    left, right = "privacy", worst
    widths = [10 + 7 * len(left), 10 + 7 * len(right)]
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{widths[0]}" height="20" fill="#444"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{_COLOURS[worst]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        'text-anchor="middle">'
        f'<text x="{widths[0] / 2}" y="14">{left}</text>'
        f'<text x="{widths[0] + widths[1] / 2}" y="14">{right}</text></g></svg>\n'
    )
