"""`dpest zoo`: the literature's mechanisms, listed and explained."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dpest.ask.declaration import Mechanism

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@click.argument("name", required=False)
def zoo(name: str | None) -> None:
    """List the built-in mechanisms, or explain the one called NAME.

    \b
    Example:
      dpest zoo SVT4
    """
    from rich.console import Console

    from dpest import zoo as collection

    console = Console(highlight=False, soft_wrap=False)
    if name is None:
        _list(console, collection.entries())
    else:
        _explain(console, collection.get(name))


def _list(console: Console, entries: list[Mechanism]) -> None:
    from rich.table import Table

    groups: dict[str, list[Mechanism]] = {}
    for entry in entries:
        groups.setdefault(entry.about["tool"], []).append(entry)
    for tool, group in groups.items():
        table = Table(
            title=f"{tool} ({len(group)})", title_justify="left", box=None, pad_edge=False
        )
        table.add_column("name", no_wrap=True, min_width=22)
        table.add_column("claim", no_wrap=True)
        table.add_column("adjacency", no_wrap=True)
        table.add_column("n", justify="right")
        table.add_column("holds?", no_wrap=True)
        table.add_column("true value", no_wrap=True)
        for entry in group:
            table.add_row(
                entry.name,
                _claim(entry),
                str(entry.adjacency),
                str(entry.about["length"]),
                _holds(entry),
                _number(true_value(entry, entry.about["length"])),
            )
        console.print(table)
        console.print()
    console.print(
        f"{len(entries)} mechanisms. `dpest zoo NAME` explains one, `dpest audit NAME` audits it."
    )


def _claim(entry: Mechanism) -> str:
    claim = entry.claim.resolve(entry.all_params)
    return f"{claim.keyword} {claim.value:.6g}"


def _holds(entry: Mechanism) -> str:
    return "yes" if entry.about["right"] else f"no (n ≥ {entry.about['wrong_from']})"


def true_value(entry: Mechanism, n: int) -> float | None:
    truth: Callable[[int, Any], float | None] | None = entry.about["truth"]
    return None if truth is None else truth(n, entry.all_params)


def _run_by(tool: str) -> str:
    return "" if tool == "textbook" else f" (run by {tool})"


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "∞" if value == math.inf else f"{value:.6g}"


def _explain(console: Console, entry: Mechanism) -> None:
    from rich.syntax import Syntax

    claim, params = entry.claim, entry.all_params
    resolved = str(claim.resolve(params))
    about = entry.about
    console.print(f"[bold]{entry.name}[/bold]  {inspect.getdoc(entry.function) or ''}\n")
    usual = ", ".join(f"{k}={v}" for k, v in params.items())
    stated = str(claim) if str(claim) == resolved else f"{claim} = {resolved}"
    rows = [
        ("claim", f"{stated} with {usual}"),
        ("holds", _holds(entry)),
        ("neighbours", entry.adjacency.describe()),
        ("inputs", _domain(entry)),
        ("reference", entry.reference + _run_by(about["tool"])),
    ]
    if about.get("pattern_epsilon") is not None:
        rows.append(("on patterns", f"ε = {_number(about['pattern_epsilon'])}"))
    if about["truth"] is not None and about["length"] > 1:
        lengths = sorted({1, 2, 3, 4, 5, 8, 10, 20, about["length"]})
        worst = ", ".join(f"{n}: {_number(true_value(entry, n))}" for n in lengths)
        rows.append(("true by n", worst))
    else:
        rows.append(("true value", _number(true_value(entry, about["length"]))))
    if about.get("note"):
        rows.append(("note", about["note"]))
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        console.print(f"  {label:<{width}}  {text}", soft_wrap=True)
    console.print()
    painter = Syntax("", "python", background_color="default")
    for source in sources(entry):
        console.print(painter.highlight(source), soft_wrap=True)


def _domain(entry: Mechanism) -> str:
    low, high = entry.domain.box
    if not math.isfinite(high - low) or entry.domain.width < math.inf:
        return str(entry.domain)
    return f"{entry.domain}; published tools searched [{low:g}, {high:g}]"


def sources(entry: Mechanism) -> list[str]:
    """The function without its decorator, and those of the zoo that it calls."""
    found = [inspect.getsource(entry.function)]
    found[0] = found[0][found[0].index("def ") :]
    for name in entry.function.__code__.co_names:
        value = entry.function.__globals__.get(name)
        if inspect.isfunction(value) and value.__module__.startswith("dpest.zoo"):
            found.append(inspect.getsource(value))
    return found
