"""The benchmark as a document: Markdown for the repository, a page for a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpest.report import charts
from literature_benchmark import pictures, published
from literature_benchmark.bench import Row
from literature_benchmark.cells import ATTACKS, Cell, Settings


def shown(value: float | None, digits: int = 6) -> str:
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}g}"


class Table:
    """Cells by row and engine, with the published figures beside them."""

    def __init__(self, rows: Sequence[Row], cells: Sequence[Cell]) -> None:
        self.rows = rows
        self._cells = {(c.row, c.engine): c for c in cells}

    def cell(self, row: str, engine: str) -> Cell | None:
        return self._cells.get((row, engine))

    def value(self, row: str, engine: str) -> float | None:
        found = self.cell(row, engine)
        return None if found is None else found.value

    def exact_lines(self) -> list[list[str]]:
        """mechanism, n, exact on the patterns, worst found, proved at n, proved for every n."""
        from literature_benchmark.cells import mechanism_of

        lines = []
        for row in self.rows:
            if row.tool == "third party":
                continue
            declared = mechanism_of(row.name)
            proved = self.cell(row.name, "proved")
            every = self.cell(row.name, "proved_any")
            lines.append(
                [
                    row.name,
                    row.tool,
                    str(row.length),
                    str(declared.adjacency),
                    shown(self.value(row.name, "patterns")),
                    shown(self.value(row.name, "worst")),
                    shown(proved.value if proved else None),
                    (every.text or shown(every.value))
                    if every and every.value is not None
                    else "–",
                ]
            )
        return lines

    def attack_lines(self) -> list[list[str]]:
        lines = []
        for row in self.rows:
            told = published.DP_SNIPER_TABLE.get(row.name)
            line = [row.name]
            for engine in ATTACKS:
                found = self.cell(row.name, engine)
                if found is None or found.value is None:
                    line.append("–")
                else:
                    spent = f"{found.seconds:.1f} s"
                    if found.runs:
                        spent = f"{found.runs:.1e} runs, {spent}"
                    line.append(f"{shown(found.value, 4)} ({spent})")
            line += [
                _told(told.sniper, told.sniper_seconds) if told else "–",
                _told(told.statdp, told.statdp_seconds) if told else "–",
                _told(told.older_dpest, told.older_dpest_seconds) if told else "–",
            ]
            lines.append(line)
        return lines

    def ratios(self) -> list[str]:
        """Our seconds and runs against the published ones, row by row, in words."""
        lines = []
        for row in self.rows:
            told = published.DP_SNIPER_TABLE.get(row.name)
            ours = self.cell(row.name, "sniper")
            if told and ours and ours.value is not None and told.sniper and ours.runs:
                lines.append(
                    f"{row.name}: bound {shown(ours.value, 4)} against {shown(told.sniper, 4)} "
                    f"({ours.value / told.sniper:.2f}×), runs {ours.runs:.1e} against "
                    f"{published.SNIPER_RUNS:.1e} ({published.SNIPER_RUNS / ours.runs:.0f}× fewer)"
                    + (
                        f", seconds {ours.seconds:.1f} against {told.sniper_seconds:.0f} "
                        f"({told.sniper_seconds / max(ours.seconds, 1e-3):.0f}×)"
                        if told.sniper_seconds
                        else ""
                    )
                )
            for tool in ("DP-Sniper", "dpest-v2"):
                again = published.MEASURED.get((tool, row.name))
                exact = self.cell(row.name, "patterns")
                if again and exact and exact.value is not None:
                    lines.append(
                        f"{row.name}: exact on the patterns in {exact.seconds:.2f} s; {tool}, "
                        f"measured on the same kind of machine, {again[0]:.0f} s ({again[1]})"
                    )
        return lines


def _told(value: float | None, seconds: float | None) -> str:
    if value is None:
        return "–"
    return f"{shown(value, 4)} ({seconds:g} s)" if seconds is not None else shown(value, 4)


EXACT_HEAD = [
    "mechanism",
    "tool",
    "n",
    "adjacency",
    "exact on the patterns",
    "worst pair found",
    "proved at n",
    "proved for every n",
]
ATTACK_HEAD = [
    "mechanism",
    *(f"dpest {name}" for name in ATTACKS),
    "DP-Sniper",
    "StatDP (verified)",
    "older dpest",
]


def markdown(table: Table, settings: Settings, *, command: str, cores: int, seconds: float) -> str:
    """The document that the repository keeps."""
    wrong = [row.name for row in table.rows if row.name in published.ERRORS]
    parts = [
        "# The literature's benchmark, side by side",
        "",
        f"Made by `{command}` with seed {settings.seed} on {cores} cores in {seconds:.0f} s.",
        "",
        "ε unless the mechanism claims another measure. *exact* and *worst* are lower bounds, "
        "computed; *proved* is an upper bound for all inputs. –: the engine gives no answer there.",
        "",
        "## Exact and proved",
        "",
        *_grid(EXACT_HEAD, table.exact_lines()),
        "",
        "## Attacks",
        "",
        "Lower bounds from runs alone: ours at confidence 0.9999; DP-Sniper's at 0.9 with "
        "8.6·10^8 runs. Seconds are of different machines.",
        "",
        *_grid(ATTACK_HEAD, table.attack_lines()),
        "",
        "## Where the literature is wrong",
        "",
        *[f"- **{name}**: {published.ERRORS[name]}" for name in wrong],
        "",
        "## Against the published runs and seconds",
        "",
        "Machines differ; the runs don't.",
        "",
        *[f"- {line}" for line in table.ratios()],
        "",
    ]
    return "\n".join(parts)


def _grid(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
        *["| " + " | ".join(line) + " |" for line in lines],
    ]


def page(table: Table, settings: Settings, *, command: str, cores: int, seconds: float) -> str:
    """One self-contained HTML page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("dpest.report"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("literature.html").render(
        command=command,
        seed=settings.seed,
        cores=cores,
        seconds=seconds,
        exact_head=EXACT_HEAD,
        exact=table.exact_lines(),
        attack_head=ATTACK_HEAD,
        attacks=table.attack_lines(),
        errors=published.ERRORS,
        ratios=table.ratios(),
        pictures=[
            {"title": title, "svg": Markup(svg), "text": text}
            for title, svg, text in figures(table)
            if svg
        ],
    )


ROLES = ("p", "q", "claim", "bound", "fifth")


def figures(table: Table) -> list[tuple[str, str, str]]:
    found = []
    for family, rows in pictures.GROWTH.items():
        curves, immediate = [], []
        for role, row in zip(ROLES, rows, strict=False):
            points = _points(table.cell(row, "growth"), 1)
            finite = [(n, v) for n, v in points if math.isfinite(v)]
            infinite = [n for n, v in points if math.isinf(v)]
            if infinite:
                immediate.append(f"{row} is infinite from n = {infinite[0]:g} on")
            if finite:
                curves.append(charts.ChartLine(finite, row, role))
        svg = charts.lines(curves, title=f"{family}: ε against n", x_label="n", y_label="ε")
        words = "; ".join(immediate)
        note = f" {words}: supports differ." if words else ""
        found.append((f"{family}: ε against n", svg, "Worst pair found, exactly." + note))
    for row in pictures.BY_RUNS:
        cell = table.cell(row, "by_runs")
        curves = [
            charts.ChartLine([(math.log10(x), y) for x, y in _points(cell, i)], name, role)
            for i, name, role in ((1, "sequential", "p"), (2, "sniper", "q"))
        ]
        exact = table.value(row, "worst")
        if exact is not None and math.isfinite(exact) and curves[0].points:
            ends = [curves[0].points[0][0], curves[0].points[-1][0]]
            curves.append(charts.ChartLine([(x, exact) for x in ends], "worst pair", "claim"))
        title = f"{row}: bound against runs"
        svg = charts.lines(curves, title=title, x_label="log10 of the runs", y_label="ε at least")
        found.append((title, svg, "Confidence 0.9999."))
    curves = []
    for role, row in zip(ROLES, pictures.P_VALUES, strict=False):
        points = _points(table.cell(row, "p_values"), 1)
        if points:
            curves.append(charts.ChartLine(points, row.removeprefix("StatDP_"), role))
    svg = charts.lines(curves, title="p-values", x_label="test ε", y_label="p", y_range=(0.0, 1.0))
    claim = f"Claimed ε = {pictures.CLAIM:g}. A curve that rises right of it shows a violation."
    found.append(("StatDP's p-value curves", svg, claim))
    return found


def _points(cell: Cell | None, index: int) -> list[tuple[float, float]]:
    if cell is None:
        return []
    return [(float(p[0]), float(p[index])) for p in cell.points]


def as_json(cells: Sequence[Cell], settings: Settings, problems: Sequence[str]) -> dict[str, Any]:
    return {
        "format": "dpest-literature/1",
        "seed": settings.seed,
        "runs": settings.runs,
        "cells": [cell.to_json() for cell in cells],
        "disagreements": list(problems),
    }
