"""dpest attack: a lower bound from runs alone."""

from __future__ import annotations

import functools
import json
from typing import Any

import click
from click.core import ParameterSource

from dpest.attacks import protocol
from dpest.cli import output
from dpest.cli.isolation import isolated, limit_options
from dpest.cli.options import (
    absolute,
    input_of,
    parameters,
    question_options,
    running_options,
)
from dpest.cli.output import check_writable, echo, write
from dpest.cli.progress import showing_progress
from dpest.cli.statuses import EXIT_HOLDS, EXIT_INTERRUPTED, EXIT_UNANSWERED, EXIT_VIOLATED
from dpest.cli.targets import audited
from dpest.evidence import Evidence
from dpest.execution.supervision import WorkLimits
from dpest.report.curve_page import curve_page


class AttackName(click.ParamType):
    """The name of an attack on the list, which other packages may add to."""

    name = "attack"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(protocol.names())}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value not in protocol.names():
            self.fail(f"{value!r} is not one of {', '.join(protocol.names())}", param, ctx)
        return str(value)


_OWN = {
    "refine": "finder",
    "paper": "sniper",
    "classifier": "sniper",
    "lengths": "statdp",
    "patterns": "statdp",
    "curve": "statdp",
}
"""Options of one method alone."""
_PAPER_ALPHA = 0.1
"""DP-Sniper's bounds hold with 90 %."""


def method_options(command: Any) -> Any:
    """What single methods can be told; the others refuse it."""
    options: tuple[Any, ...] = (
        click.option(
            "--refine/--no-refine",
            default=None,
            help="finder: climb on exact values after the search, or report the search alone.",
        ),
        click.option(
            "--paper",
            is_flag=True,
            default=None,
            help="sniper: the paper's plan (c = 0.01, N by its guideline, 2e8 final runs, 90 %).",
        ),
        click.option(
            "--classifier",
            type=click.Choice(["additive", "logistic", "network"]),
            help="sniper: what learns to tell outputs apart; the last two are the paper's.",
        ),
    )
    options += (
        click.option(
            "--lengths", metavar="5,10", help="statdp: lengths of inputs to try, with commas."
        ),
        click.option(
            "--pattern",
            "patterns",
            multiple=True,
            metavar="NAME",
            help="statdp: only pairs of this pattern ('one above', 'half half', …).",
        ),
        click.option(
            "--curve", metavar="F", help="statdp: write the p-value against ε as a page (HTML)."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _of_method(question: dict[str, Any]) -> None:
    """Leave out what was not given; refuse what the chosen method doesn't know."""
    for name, method in _OWN.items():
        if question[name] in (None, ()):
            del question[name]
        elif question["method"] != method:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is an option of --method {method}")
    if "lengths" in question:
        try:
            question["lengths"] = tuple(int(n) for n in question["lengths"].split(","))
        except ValueError:
            raise click.BadParameter("--lengths are whole numbers with commas: 5,10") from None
    context = click.get_current_context()
    if question.get("paper") and context.get_parameter_source("alpha") is ParameterSource.DEFAULT:
        question["alpha"] = _PAPER_ALPHA


@click.command()
@click.argument("target")
@click.option("--method", type=AttackName(), help="Default: sequential; with δ: scores.")
@click.option("--pair", nargs=2, metavar="X X2", help="The two inputs; none: search for them.")
@click.option("--epsilon", type=float, help="The claim to refute; none: bound as well as it can.")
@click.option("--delta", type=float, help="The claim's δ.")
@click.option("--length", type=click.IntRange(min=1), help="Entries of an input.")
@question_options
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Chance of error.")
@click.option("--budget", metavar="30s|1e6runs", help="What it may spend.")
@click.option("--seed", type=int, default=0, show_default=True)
@method_options
@running_options
@click.option("--json", "json_path", metavar="F", help="Write the bound as JSON; - for stdout.")
@click.option("--quiet", is_flag=True, help="No progress.")
@limit_options
def attack(
    target: str,
    limits: WorkLimits | None,
    pair: tuple[str, str] | None,
    params: tuple[str, ...],
    json_path: str | None,
    quiet: bool,
    **question: Any,
) -> int:
    """A sound lower bound on the ε of TARGET, from runs of it.

    Exit status: 1 if the bound exceeds the claim (given, or declared by TARGET), else 0.

    \b
    Example:
      dpest attack SVT6 --method sniper --budget 1e6runs
      dpest attack code.py:f --pair '[1,1,1]' '[2,0,0]' --epsilon 0.5
      dpest attack code.py:f --pair '[1,1,1]' '[2,1,1]' --epsilon 0.5 --method recorded
    """
    check_writable(json_path)
    _of_method(question)
    curve = question.get("curve")
    check_writable(curve)
    if curve:
        question["curve"] = True
    question["params"] = parameters(params)
    question["state"] = absolute(question["state"])
    x, x2 = (input_of(text) for text in pair) if pair else (None, None)
    work = functools.partial(_attack, target, x, x2, (json_path, curve), quiet, question)
    unknown = {"mechanism": target, "side": "lower", "value": 0.0, "interrupted": True}
    files = ((json_path, json.dumps(unknown, indent=2)),) if json_path else ()
    return isolated(work, limits, quiet=quiet, unanswered=files)


def _attack(
    target: str,
    x: Any,
    x2: Any,
    files_to_write: tuple[str | None, str | None],
    quiet: bool,
    question: dict[str, Any],
) -> int:
    json_path, curve_path = files_to_write
    from dpest.auditing import attack as ask
    from dpest.report.json_report import bound, encoded
    from dpest.verdict import exceeds

    told = [0.0]

    def keep(progress: Any) -> None:
        """Tell whoever watches of a bound that has grown."""
        if progress.bound <= told[0]:
            return
        told[0] = progress.bound
        known = {
            "mechanism": target,
            "side": "lower",
            "value": progress.bound,
            "method": progress.method,
            "runs": progress.runs,
            "seconds": progress.seconds,
            "standing": f"confidence {1 - question['alpha']:.12g}",
            "interrupted": True,
        }
        line = f"ε ≥ {progress.bound:.6g} ({known['standing']}, {progress.method}), so far\n"
        files = [(json_path, encoded(known))] if json_path else []
        output.so_far(EXIT_UNANSWERED, "" if json_path == "-" else line, files)

    with audited(target) as mechanism, showing_progress(quiet, keep) as progress:
        evidence = ask(mechanism, x, x2, progress=progress, **question)
    interrupted = bool(evidence.details.get("interrupted"))
    if json_path:
        answer = {
            "mechanism": mechanism.name,
            "side": evidence.side,
            "adjacency": evidence.details.get("adjacency"),
            "interrupted": interrupted,
            **(bound(evidence) or {}),
        }
        write(json_path, encoded(answer))
    if curve_path and "curve" in evidence.details:
        write(curve_path, curve_page(mechanism.name, evidence.details["curve"]))
    if not evidence.standing.is_bound and "recorded" not in evidence.details:
        return _show_estimate(evidence, json_path)
    if not evidence.standing.is_bound:
        return _show_finding(evidence, json_path)
    limit = evidence.details.get("limit")
    violated = exceeds(evidence, limit)
    if json_path != "-":
        _say(evidence, limit, violated)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_VIOLATED if violated else EXIT_HOLDS


def _say(evidence: Evidence, limit: float | None, violated: bool) -> None:
    from dpest.report.text import cost, number, witness_lines

    said = "violates" if violated else "does not contradict"
    claim = "" if limit is None else f"; {said} the claim {limit:g}"
    echo(
        f"{evidence.measure} ≥ {number(evidence.value)} ({evidence.standing}, "
        f"{evidence.method}, {cost(evidence)}, seed {evidence.seed}){claim}"
    )
    adjacency = evidence.details.get("adjacency")
    neighbours = [f"neighbours: {adjacency}"] if adjacency else []
    for line in [*witness_lines(evidence), *_steps(evidence), *neighbours, *evidence.notes]:
        echo(f"  {line}")
    if evidence.witness.replay:
        echo("\nTo see it again, in Python:")
        for line in evidence.witness.replay.rstrip().splitlines():
            echo(f"  {line}".rstrip())


def _show_estimate(evidence: Evidence, json_path: str | None) -> int:
    """An estimate bounds nothing, so that the exit status is "not answered"."""
    from dpest.report.text import cost, number, witness_lines

    if json_path != "-":
        echo(
            f"ESTIMATE: {evidence.measure} ≈ {number(evidence.value)} ± {evidence.error:.2g} "
            f"(no bound; {evidence.method}, {cost(evidence)}, seed {evidence.seed})"
        )
        for line in [*witness_lines(evidence), *evidence.notes[1:]]:
            echo(f"  {line}")
    return EXIT_UNANSWERED


def _steps(evidence: Evidence) -> list[str]:
    """DP-Finder: what the event shows by itself and what the pair does, search and refinement."""
    from dpest.report.text import number

    found = []
    for step, words in (("search", "the search alone"), ("refined", "after refinement")):
        parts = [
            f"{what} {number(evidence.details[f'{step}_{what}'])}"
            for what in ("event", "pair")
            if f"{step}_{what}" in evidence.details
        ]
        if parts:
            found.append(f"{words}, exactly: ε of the {', of the '.join(parts)}")
    return found


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
        echo(
            f"GREY BOX: {said}; {evidence.measure} {value} (a finding, not a bound; "
            f"{cost(evidence)}, seed {evidence.seed})"
        )
        for line in [*witness_lines(evidence), *evidence.notes]:
            echo(f"  {line}")
    clean = recorded["complete"] and not recorded["findings"]
    return EXIT_HOLDS if clean else EXIT_UNANSWERED
