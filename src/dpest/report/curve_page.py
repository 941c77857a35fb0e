"""StatDP's figure as a page: the p-value against the ε that is tested, and what each point is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from dpest.report import charts

_STYLE = Path(__file__).parent / "templates" / "style.css"


def curve_page(name: str, curve: Mapping[str, Any]) -> str:
    """A self-contained page. `curve` is what the attack leaves in its details."""
    points = curve["points"]
    lines = [
        charts.ChartLine([(p["epsilon"], p["exact"]) for p in points], "exact test", "p"),
        charts.ChartLine([(p["epsilon"], p["paper"]) for p in points], "the paper's p-value", "q"),
    ]
    claim = curve["claim"]
    if claim is not None:
        lines.append(charts.ChartLine([(claim, 0.0), (claim, 1.0)], f"claim {claim:g}", "claim"))
    rises = curve["rises"]
    told = f"rises at ε = {rises:.4g}" if math.isfinite(rises) else "refutes every ε on the page"
    chart = charts.lines(
        lines,
        title=f"{name}: p-value against the tested ε",
        x_label="test ε",
        y_label="p-value",
        y_range=(0.0, 1.0),
    )
    rows = "".join(
        f"<tr><td>{p['epsilon']:.4g}</td><td>{p['exact']:.3g}</td><td>{p['paper']:.3g}</td>"
        f"<td>{escape(str(p['event']))}</td><td>{escape(str(p['x']))}</td>"
        f"<td>{escape(str(p['x2']))}</td><td>{p['counts'][0]} of {p['runs'][0]}</td>"
        f"<td>{p['counts'][1]} of {p['runs'][1]}</td></tr>"
        for p in points
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(name)}: p-values</title>
<style>{_STYLE.read_text(encoding="utf-8")}</style></head><body><main>
<h1>{escape(name)}</h1>
<p>The curve {told}. A small p-value refutes the ε below it; the points share their samples, so
that the curve shows where refutation ends, and the verdict is one test at one ε.</p>
{chart}
<table><thead><tr><th>test ε</th><th>exact p</th><th>paper's p</th><th>event</th><th>x</th>
<th>x2</th><th>on x</th><th>on x2</th></tr></thead><tbody>{rows}</tbody></table>
</main></body></html>
"""
