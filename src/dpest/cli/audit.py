"""dpest audit: one question, one answer."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dpest.cli import EXIT_HOLDS, EXIT_INTERRUPTED, EXIT_UNANSWERED, EXIT_VIOLATED
from dpest.cli.options import (
    check_writable,
    lengths,
    parameters,
    question_options,
    running_options,
    write,
)
from dpest.cli.progress import showing_progress
from dpest.cli.targets import load
from dpest.errors import DpestError, InputError
from dpest.verdict import Verdict


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--epsilon", type=float, help="The claimed ε.")
@click.option("--delta", type=float, help="The claimed δ.")
@click.option("--claim", help="Another claim: renyi:2,0.1  zcdp:0.05  gdp:1  approx:1,1e-5.")
@click.option("--length", metavar="N|A..B", help="Entries of an input; a range shows the growth.")
@question_options
@click.option("--alpha", type=float, default=0.001, show_default=True, help="Chance of error.")
@click.option("--budget", metavar="30s|1e6runs", help="What sampling may spend.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--patience",
    type=float,
    default=1.0,
    show_default=True,
    help="How long the engines try before they give up: 10 for ten times as long.",
)
@click.option(
    "--floating-point/--no-floating-point",
    default=None,
    help="Audit the machine's doubles; by default, briefly, of black boxes that release them.",
)
@running_options
@click.option("--json", "json_path", metavar="F", help="Write the verdict as JSON; - for stdout.")
@click.option("--html", "html_path", metavar="F", help="Write the report as one HTML page.")
@click.option("--replay", "replay_path", metavar="F", help="Write a script that shows a violation.")
@click.option("--baseline", metavar="F", help="An earlier JSON report to compare with.")
@click.option("--quiet", is_flag=True, help="The answer in one line.")
@click.option("--verbose", is_flag=True, help="All evidence, and the whole proof.")
def audit(
    targets: tuple[str, ...],
    length: str | None,
    params: tuple[str, ...],
    json_path: str | None,
    html_path: str | None,
    replay_path: str | None,
    baseline: str | None,
    quiet: bool,
    verbose: bool,
    **question: Any,
) -> int:
    """How private is TARGET? A lower and an upper bound, with what shows them.

    Several targets give one line each.

    \b
    Examples:
      dpest audit SVT1
      dpest audit SVT6 --length 1..10
      dpest audit code.py:noisy_mean --epsilon 1 --adjacency replace_one --html report.html
    """
    from rich.console import Console

    from dpest.auditing import audit as ask
    from dpest.report.text import headline, show

    for path in (json_path, html_path, replay_path):
        check_writable(path)
    if len(targets) > 1 and (json_path or html_path or replay_path or baseline):
        raise InputError("--json, --html, --replay and --baseline go with one target")
    earlier = read_baseline(baseline)
    console = Console(stderr=json_path == "-")
    worst = EXIT_HOLDS
    for target in targets:
        try:
            mechanism = load(target)
            with terminating_as_interrupt(), showing_progress(quiet) as progress:
                verdict = ask(
                    mechanism,
                    length=lengths(length),
                    params=parameters(params),
                    progress=progress,
                    **question,
                )
        except DpestError as wrong:
            if len(targets) == 1:
                raise
            click.echo(f"dpest: {target}: {wrong}", err=True)
            worst = max(worst, EXIT_UNANSWERED)
            continue
        if json_path:
            write(json_path, verdict.to_json())
        if html_path:
            write(html_path, verdict.to_html())
        if replay_path:
            write_replay(replay_path, verdict)
        if len(targets) > 1:
            console.print(headline(verdict), soft_wrap=True, highlight=False)
        else:
            show(verdict, console, verbose=verbose, quiet=quiet)
        status = exit_status(verdict)
        if earlier is not None:
            words, worse = compare(earlier, verdict)
            console.print(words, soft_wrap=True, highlight=False)
            status = max(status, EXIT_VIOLATED if worse else EXIT_HOLDS)
        worst = max(worst, status if len(targets) == 1 else EXIT_HOLDS)
        if verdict.details.get("interrupted"):
            return EXIT_INTERRUPTED
    return worst


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
    click.echo(f"dpest: {path} was not written: {reason}", err=True)


def exit_status(verdict: Verdict) -> int:
    """1 if the claim is violated, 2 if there is no bound at all to answer with, 0 otherwise."""
    if verdict.violated or verdict.floating_point_violated:
        return EXIT_VIOLATED
    if verdict.lower is None and verdict.upper is None:
        return EXIT_UNANSWERED
    return EXIT_HOLDS


def read_baseline(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or "status" not in found or "mechanism" not in found:
            raise ValueError("it is not a report of dpest")
    except (OSError, ValueError) as wrong:
        raise InputError(f"can't use the baseline {path}: {wrong}") from None
    return found


def compare(earlier: dict[str, Any], verdict: Verdict) -> tuple[str, bool]:
    """In words how the verdict changed, and whether it got worse."""
    now = json.loads(verdict.to_json())
    for key in ("mechanism", "adjacency", "claim", "length"):
        if earlier.get(key) != now.get(key):
            raise InputError(
                f"the baseline answers another question: {key} was {earlier.get(key)!r}, "
                f"now {now.get(key)!r}"
            )
    order = ["violated", "unsettled", "proved", "exact"]
    was, is_ = earlier["status"], now["status"]
    low = {
        key: (report.get("lower") or {}).get("value") or 0.0
        for key, report in (("was", earlier), ("is", now))
    }
    grew = float(low["is"]) > float(low["was"]) * 1.01 + 1e-12
    worse = is_ == "violated" if was != "violated" else False
    if was != is_:
        change = "better" if order.index(is_) > order.index(was) else "worse"
        words = f"Baseline: {was} before, {is_} now ({change})"
    else:
        words = f"Baseline: {was} before and now"
    if grew:
        words += f"; the lower bound rose from {low['was']} to {low['is']}"
    worse = worse or (was in ("exact", "proved") and is_ == "unsettled")
    return words, worse


@contextmanager
def terminating_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does: with the bound so far."""

    def interrupt(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
