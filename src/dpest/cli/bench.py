"""dpest bench: the literature's benchmark, and the one of released libraries."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dpest.cli import EXIT_HOLDS, EXIT_VIOLATED
from dpest.cli.options import check_writable, write

BENCHMARKS = ("literature", "libraries")


@click.command()
@click.argument("name", type=click.Choice(BENCHMARKS))
@click.option("--only", multiple=True, metavar="ROW|TOOL", help="Some rows, or a tool's rows.")
@click.option("--engines", metavar="A,B", help="Some engines; `exact` stands for the quick ones.")
@click.option("--runs", type=float, default=5e5, show_default=True, help="Runs of an attack.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; all cores by default.")
@click.option("--json", "json_path", metavar="F", help="Write the cells as JSON; - for stdout.")
@click.option("--html", "html_path", metavar="F", help="Write the page.")
@click.option("--markdown", "markdown_path", metavar="F", help="Write docs/results.md.")
@click.option("--cache", metavar="F", default=".dpest-cache/literature.jsonl", show_default=True)
@click.option("--no-cache", is_flag=True, help="Compute everything anew.")
@click.option("--seconds", type=float, default=3.0, show_default=True, help="libraries: per bound.")
@click.option(
    "--python",
    "python_paths",
    multiple=True,
    metavar="LIBRARY=PATH",
    help="libraries: another interpreter, for a library that doesn't go with the others.",
)
def bench(
    name: str,
    only: tuple[str, ...],
    engines: str | None,
    runs: float,
    seed: int,
    workers: int | None,
    json_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
    cache: str,
    no_cache: bool,
    seconds: float,
    python_paths: tuple[str, ...],
) -> int:
    """Every mechanism of the literature, by every engine, beside what was published.

    Two of our engines that contradict each other on any row fail the command.
    `libraries`: mechanisms and queries of the privacy libraries that are installed; a row that is
    violated without a known cause fails the command.

    \b
    Example:
      dpest bench literature --engines exact
      dpest bench literature --html results.html --markdown docs/results.md
      dpest bench libraries --only diffprivlib
      dpest bench libraries --markdown docs/libraries.md --python tmlt.core=/venvs/t/bin/python
    """
    if name == "libraries":
        return _libraries(only, seed, seconds, workers or 2, python_paths, json_path, markdown_path)
    files = _ReportFiles(json_path, html_path, markdown_path)
    return _literature(
        only, engines, int(runs), seed, workers, None if no_cache else Path(cache), files
    )


@dataclass(frozen=True)
class _ReportFiles:
    """Where the results are written; None: nowhere, "-": to stdout."""

    json: str | None
    html: str | None
    markdown: str | None

    def check(self) -> None:
        for path in (self.json, self.html, self.markdown):
            check_writable(path)


def _literature(
    only: tuple[str, ...],
    engines: str | None,
    runs: int,
    seed: int,
    workers: int | None,
    cache: Path | None,
    files: _ReportFiles,
) -> int:
    from rich.console import Console

    _find_benchmarks()
    from literature_benchmark import bench as benchmark
    from literature_benchmark import pictures, table
    from literature_benchmark.cells import ENGINES, EXACT_ENGINES, Settings

    files.check()
    words = engines.split(",") if engines else list(ENGINES)
    chosen = [e for w in words for e in (EXACT_ENGINES if w == "exact" else (w,))]
    settings = Settings(seed=seed, runs=runs)
    rows = benchmark.select(only)
    cores = workers or os.cpu_count() or 1
    started = time.monotonic()
    console = Console(stderr=True)

    def done(cell: Any, finished: int, total: int) -> None:
        if sys.stderr.isatty():
            console.print(f"[{finished}/{total}] {cell.row} {cell.engine}", end="\r")

    extra = [p for p in pictures.wanted() if p[0] in {r.name for r in rows}] if files.html else []
    cells = benchmark.run(
        rows,
        engines=chosen,
        pictures=extra,
        settings=settings,
        cache=cache,
        workers=cores,
        done=done,
    )
    seconds = time.monotonic() - started
    problems = benchmark.disagreements(cells)
    result = table.Table(rows, cells)
    flags = [f" --only {o}" for o in only] + ([f" --engines {engines}"] if engines else [])
    command = "dpest bench literature" + "".join(flags)
    about = {"command": command, "cores": cores, "seconds": seconds}
    if files.json:
        write(files.json, json.dumps(table.as_json(cells, settings, problems), indent=1))
    if files.html:
        write(files.html, table.page(result, settings, **about))
    if files.markdown:
        write(files.markdown, table.markdown(result, settings, **about))
    if files.json != "-":
        _print_literature(result, cells, seconds)
    for problem in problems:
        click.echo(f"DISAGREEMENT: {problem}", err=True)
    return EXIT_VIOLATED if problems else EXIT_HOLDS


def _print_literature(result: Any, cells: Sequence[Any], seconds: float) -> None:
    from literature_benchmark import table
    from literature_benchmark.cells import PICTURES
    from rich.console import Console
    from rich.table import Table as Grid

    out = Console()
    for head, lines in (
        (table.EXACT_HEAD, result.exact_lines()),
        (table.ATTACK_HEAD, result.attack_lines()),
    ):
        grid = Grid(*head, box=None)
        for texts in lines:
            grid.add_row(*texts)
        out.print(grid)
    for line in result.ratios():
        out.print(line, soft_wrap=True, highlight=False)
    spent = sum(c.seconds for c in cells if c.engine not in PICTURES)
    out.print(f"{len(cells)} cells, {spent:.0f} s of work, {seconds:.0f} s by the clock")


def _find_benchmarks() -> None:
    """The benchmark of the literature is no part of the library: it lies in a checkout."""
    import dpest

    places = (Path(dpest.__file__).parents[2] / "benchmarks", Path.cwd() / "benchmarks")
    for place in places:
        if (place / "literature_benchmark").is_dir():
            sys.path.insert(0, str(place))
            return
    raise click.UsageError(
        "the benchmark of the literature lies beside the library's source: run this in a checkout"
    )


def _libraries(
    only: tuple[str, ...],
    seed: int,
    budget: float,
    workers: int,
    python_paths: tuple[str, ...],
    json_path: str | None,
    markdown_path: str | None,
) -> int:
    from rich.console import Console
    from rich.table import Table as Grid

    from dpest.libraries import bench as benchmark
    from dpest.libraries import table
    from dpest.libraries.cell import RowBudget

    for path in (json_path, markdown_path):
        check_writable(path)
    rows = benchmark.select(only)
    python = benchmark.interpreters(python_paths)
    started = time.monotonic()
    told = Console(stderr=True)

    def done(cell: dict[str, object]) -> None:
        told.print(f"{cell['library']}: {cell['row']}: {table.result(cell)}", highlight=False)

    cells, missing = benchmark.run(
        rows,
        settings=RowBudget(seconds=budget, seed=seed),
        python=python,
        workers=workers,
        done=done,
    )
    spent = time.monotonic() - started
    problems = benchmark.unexplained(cells)
    command = "dpest bench libraries" + "".join(f" --only {o!r}" for o in only)
    if json_path:
        answer = {"cells": cells, "missing": missing, "unexplained": problems, "seconds": spent}
        write(json_path, json.dumps(answer, indent=1, ensure_ascii=False))
    if markdown_path:
        text = table.markdown(cells, missing, command=command, seconds=spent, workers=workers)
        write(markdown_path, text)
    if json_path != "-":
        out = Console()
        grid = Grid("library", *table.HEAD, box=None)
        for cell in cells:
            grid.add_row(cell["library"], *table.texts(cell))
        out.print(grid)
        for library, reason in missing.items():
            out.print(f"not installed: {library} ({reason})", soft_wrap=True, highlight=False)
        out.print(f"{len(cells)} rows, {spent:.0f} s by the clock", highlight=False)
    for problem in problems:
        click.echo(f"UNEXPLAINED: {problem}", err=True)
    return EXIT_VIOLATED if problems else EXIT_HOLDS
