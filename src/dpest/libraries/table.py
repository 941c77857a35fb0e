"""The benchmark of libraries as a document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpest.libraries.rows import LIBRARIES, LibraryRow, all_rows

Cell = dict[str, Any]
# Where a library is installed says nothing about it.
_INSTALLED = re.compile(r"\S*site-packages/")
HEAD = ("row", "claim", "black box", "grey box", "doubles", "seconds", "result")


def number(value: Any) -> str:
    if value is None:
        return "–"
    found = math.inf if value == "inf" else float(value)
    return "∞" if math.isinf(found) else f"{found:.3g}"


def result(cell: Cell) -> str:
    """What a row came to, in a few words; a finding is not called a violation."""
    if cell.get("error"):
        return f"not run: {cell['error']}"
    said = []
    if cell["violated"]:
        said.append("violated")
    if cell["doubles_violated"]:
        said.append("violated in floating point")
    if cell["found"] and not cell["violated"]:
        kinds = dict.fromkeys(f["what"] for f in cell["grey"]["findings"])
        said.append(f"finding: {', '.join(kinds)}")
    return "; ".join(said) or "nothing contradicts the claim"


def texts(cell: Cell) -> list[str]:
    """One row of the table."""
    if cell.get("error"):
        return [cell["row"], "", "", "", "", number(cell.get("seconds")), result(cell)]
    grey = cell["grey"]
    cost = number(grey["cost"])
    return [
        cell["row"],
        cell["claim"],
        number(cell["black_box"] and cell["black_box"]["value"]),
        cost if grey["complete"] or grey["findings"] else f"{cost} of what was seen",
        number(cell["doubles"] and cell["doubles"]["value"]),
        f"{cell['seconds']:.1f}",
        result(cell),
    ]


def markdown(
    cells: Sequence[Cell],
    missing: Mapping[str, str],
    *,
    command: str,
    seconds: float,
    workers: int,
) -> str:
    """docs/libraries.md, as it is written by the benchmark."""
    rows = {row.label: row for row in all_rows()}
    parts = [
        _INTRODUCTION.format(
            command=command,
            rows=len(cells),
            libraries=len({c["library"] for c in cells}),
            minutes=seconds / 60,
            workers=workers,
        )
    ]
    for library in LIBRARIES:
        own = [c for c in cells if c["library"] == library.package]
        if library.package in missing:
            parts.append(f"## {library.package}\n\nNot installed: {missing[library.package]}.\n")
            continue
        if own:
            parts.append(_section(library.package, own, rows))
    parts.append(_causes(cells, rows))
    return "\n".join(parts)


def _section(package: str, cells: Sequence[Cell], rows: Mapping[str, LibraryRow]) -> str:
    version = next((c["version"] for c in cells if "version" in c), "?")
    imports = next(one.imports for one in LIBRARIES if one.package == package)
    lines = [
        f"## {package} {version}\n",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
    ]
    lines += ["| " + " | ".join(t.replace("|", "\\|") for t in texts(c)) + " |" for c in cells]
    lines += ["", f"The glue, after `{imports.splitlines()[0]}`:\n", "```py"]
    for cell in cells:
        row = rows[f"{package}: {cell['row']}"]
        lines += [f"# {row.name}: {_short(row.x)} against {_short(row.x2)}", row.glue]
    return "\n".join([*lines, "```", ""])


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"


def _causes(cells: Sequence[Cell], rows: Mapping[str, LibraryRow]) -> str:
    lines = ["## What was found, and why\n"]
    floats: dict[str, list[str]] = {}
    for cell in cells:
        if cell.get("error"):
            continue
        row = rows[f"{cell['library']}: {cell['row']}"]
        if cell["violated"] or cell["found"]:
            lines += _cause(cell, row)
        if cell["doubles_violated"]:
            told = f"{row.name} (ε ≥ {number(cell['doubles']['value'])} of {cell['limit']:.3g})"
            floats.setdefault(f"{row.library} {cell['version']}: {row.doubles}", []).append(told)
    for cause, names in floats.items():
        lines += [f"**Floating point, {cause}.** {', '.join(names)}.", ""]
    if len(lines) == 1:
        lines.append("Nothing.")
    return "\n".join(lines) + "\n"


def _cause(cell: Cell, row: LibraryRow) -> list[str]:
    words = []
    if cell["violated"]:
        bound = cell["black_box"]
        words.append(
            f"Runs show ε ≥ {number(bound['value'])} against a claim of {cell['claim']} "
            f"({bound['runs']:,} runs)."
        )
    for finding in cell["grey"]["findings"][:3]:
        where = ""
        if finding["file"]:
            name = "/".join(str(finding["file"]).replace("\\", "/").split("/")[-3:])
            where = f" (`{name}`, line {finding['line']})"
        said = _INSTALLED.sub("", str(finding["words"]).splitlines()[0])
        words.append(f"The grey box: {said}{where}.")
    return [
        f"**{row.library} {cell['version']}, {row.name}.** {' '.join(words)} "
        f"Cause: {row.why or 'not known'}.",
        f"Again with `dpest bench libraries --only '{row.label}'`.",
        "",
    ]


_INTRODUCTION = """# Libraries, audited in the open

Written by `{command}`:
{rows} rows of {libraries} packages in {minutes:.1f} minutes, {workers} at a time.
Every row is computed again by `dpest bench libraries --only 'LIBRARY: ROW'`. What is not installed
beside dpest is run by another interpreter: `--python LIBRARY=PATH`.

How to read it. Each row is one mechanism or query on one pair of neighbouring inputs, which is
shown with the glue. *Black box*: a lower bound on ε from runs alone (at the claim's δ), wrong with
chance at most 1e-5; – where a run takes too long for it. *Grey box*: what the pair costs by the
noise that was recorded in five to eight runs. It is a finding about this pair, not a bound: no row
is called violated by it. "of what was seen": part of the randomness could not be followed.
*Doubles*: a lower bound on what the machine's floating-point numbers leak, a verdict of its own; –
where no fraction is released. A bound below the claim says nothing against the library, and nothing
for other inputs.
"""
