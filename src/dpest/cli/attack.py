"""dpest attack: a lower bound from runs alone."""

from __future__ import annotations

import json
from typing import Any

import click

from dpest.cli import EXIT_HOLDS, EXIT_INTERRUPTED, EXIT_UNANSWERED, EXIT_VIOLATED
from dpest.cli.audit import terminating_as_interrupt
from dpest.cli.options import (
    check_writable,
    input_of,
    parameters,
    question_options,
    running_options,
    write,
)
from dpest.cli.progress import showing_progress
from dpest.cli.targets import load
from dpest.evidence import Evidence

METHODS = ("sequential", "sniper", "statdp", "finder", "scores", "recorded")


@click.command()
@click.argument("target")
@click.option("--method", type=click.Choice(METHODS), help="Default: sequential; with δ: scores.")
@click.option("--pair", nargs=2, metavar="X X2", help="The two inputs; none: search for them.")
@click.option("--epsilon", type=float, help="The claim to refute; none: bound as well as it can.")
@click.option("--delta", type=float, help="The claim's δ.")
@click.option("--length", type=click.IntRange(min=1), help="Entries of an input.")
@question_options
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Chance of error.")
@click.option("--budget", metavar="30s|1e6runs", help="What it may spend.")
@click.option("--seed", type=int, default=0, show_default=True)
@running_options
@click.option("--json", "json_path", metavar="F", help="Write the bound as JSON; - for stdout.")
@click.option("--quiet", is_flag=True, help="No progress.")
def attack(
    target: str,
    method: str | None,
    pair: tuple[str, str] | None,
    params: tuple[str, ...],
    json_path: str | None,
    quiet: bool,
    **question: Any,
) -> int:
    """A sound lower bound on the ε of TARGET, from runs of it.

    \b
    Example:
      dpest attack SVT6 --method sniper --budget 1e6runs
      dpest attack code.py:f --pair '[1,1,1]' '[2,0,0]' --epsilon 0.5
      dpest attack code.py:f --pair '[1,1,1]' '[2,1,1]' --epsilon 0.5 --method recorded
    """
    from dpest.auditing import attack as ask
    from dpest.report.json_report import bound
    from dpest.report.text import cost, number, witness_lines
    from dpest.verdict import exceeds

    check_writable(json_path)
    mechanism = load(target)
    x, x2 = (input_of(text) for text in pair) if pair else (None, None)
    with terminating_as_interrupt(), showing_progress(quiet) as progress:
        evidence = ask(
            mechanism,
            x,
            x2,
            method=method,  # type: ignore[arg-type]
            params=parameters(params),
            progress=progress,
            **question,
        )
    if json_path:
        answer = {
            "mechanism": mechanism.name,
            "side": evidence.side,
            "adjacency": evidence.details.get("adjacency"),
            **(bound(evidence) or {}),
        }
        write(json_path, json.dumps(answer, indent=2, ensure_ascii=False))
    if not evidence.standing.is_bound:
        return _show_finding(evidence, json_path)
    violated = exceeds(evidence, question["epsilon"])
    if json_path != "-":
        said = "violates" if violated else "does not contradict"
        claim = f"; {said} the claim {question['epsilon']:g}" if question["epsilon"] else ""
        click.echo(
            f"{evidence.measure} ≥ {number(evidence.value)} ({evidence.standing}, "
            f"{evidence.method}, {cost(evidence)}, seed {evidence.seed}){claim}"
        )
        adjacency = evidence.details.get("adjacency")
        neighbours = [f"neighbours: {adjacency}"] if adjacency else []
        for line in [*witness_lines(evidence), *neighbours, *evidence.notes]:
            click.echo(f"  {line}")
        if evidence.witness.replay:
            click.echo("\nTo see it again, in Python:")
            for line in evidence.witness.replay.rstrip().splitlines():
                click.echo(f"  {line}".rstrip())
    if evidence.details.get("interrupted"):
        return EXIT_INTERRUPTED
    return EXIT_VIOLATED if violated else EXIT_HOLDS


def _show_finding(evidence: Evidence, json_path: str | None) -> int:
    """What the grey box found. It is no bound: exit 0 only if it saw everything and found nothing.

    A finding is not a violation that was shown, so that the exit status is "not answered".
    """
    from dpest.report.text import cost, number, witness_lines

    recorded = evidence.details["recorded"]
    if json_path != "-":
        found = len(recorded["findings"])
        said = f"{found} finding{'s' if found != 1 else ''}" if found else "nothing found"
        value = f"costs {number(evidence.value)} on this pair"
        click.echo(
            f"GREY BOX: {said}; {evidence.measure} {value} (a finding, not a bound; "
            f"{cost(evidence)}, seed {evidence.seed})"
        )
        for line in [*witness_lines(evidence), *evidence.notes]:
            click.echo(f"  {line}")
    clean = recorded["complete"] and not recorded["findings"]
    return EXIT_HOLDS if clean else EXIT_UNANSWERED
