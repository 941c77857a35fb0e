"""dpest audit: one question, one answer."""

from __future__ import annotations

import functools
import importlib
import json
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dpest.ask.declaration import Mechanism
from dpest.cli import output
from dpest.cli.isolation import isolated, limit_options
from dpest.cli.options import absolute, lengths, parameters, question_options, running_options
from dpest.cli.output import WantedFiles, check_writable, nothing_known
from dpest.cli.progress import showing_progress
from dpest.cli.statuses import (
    EXIT_HOLDS,
    EXIT_INTERRUPTED,
    EXIT_UNANSWERED,
    EXIT_VIOLATED,
    worst,
)
from dpest.cli.targets import all_audited
from dpest.errors import InputError
from dpest.execution.supervision import WorkLimits
from dpest.report.provenance import Provenance
from dpest.verdict import Verdict


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--epsilon", type=float, help="The claimed ε.")
@click.option("--delta", type=float, help="The claimed δ.")
@click.option("--claim", help="Another claim: renyi:2,0.1  zcdp:0.05  gdp:1  approx:1,1e-5.")
@click.option("--length", metavar="N|A..B", help="Entries of an input; a range shows the growth.")
@question_options
@click.option("--alpha", type=float, default=0.001, show_default=True, help="Chance of error.")
@click.option("--budget", metavar="30s|1e6runs", help="What it may spend: seconds in all, or runs.")
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
@click.option("--coq", is_flag=True, help="Let Coq check the certificate of a proof, as a theorem.")
@running_options
@click.option("--json", "json_path", metavar="F", help="Write the verdict as JSON; - for stdout.")
@click.option("--html", "html_path", metavar="F", help="Write the report as one HTML page.")
@click.option("--author", default="", metavar="NAME", help="Who asks, for the page.")
@click.option("--sarif", "sarif_path", metavar="F", help="Write what code hosts show at the line.")
@click.option("--summary", "summary_path", metavar="F", help="Write a table in Markdown.")
@click.option("--badge", "badge_path", metavar="F", help="Write a badge as SVG.")
@click.option("--replay", "replay_path", metavar="F", help="Write a script that shows a violation.")
@click.option("--baseline", metavar="F", help="An earlier JSON report to compare with.")
@click.option("--quiet", is_flag=True, help="The answer in one line.")
@click.option("--verbose", is_flag=True, help="All evidence, and the whole proof.")
@click.option(
    "--require",
    type=click.Choice(["settled"]),
    help="settled: exit with 2 where the claim is neither proved nor refuted.",
)
@limit_options
def audit(
    targets: tuple[str, ...],
    limits: WorkLimits | None,
    length: str | None,
    params: tuple[str, ...],
    json_path: str | None,
    html_path: str | None,
    author: str,
    sarif_path: str | None,
    summary_path: str | None,
    badge_path: str | None,
    replay_path: str | None,
    baseline: str | None,
    quiet: bool,
    verbose: bool,
    require: str | None,
    **question: Any,
) -> int:
    """How private is TARGET? A lower and an upper bound, with what shows them.

    TARGET is a name of the zoo, file.py:function, package.module:function, or file.py for all that
    it declares. Several targets give one line each, and one page. Exit status: 1 if one is
    violated, else 2 if one could not be answered, else 0.

    \b
    Examples:
      dpest audit SVT1
      dpest audit SVT6 --length 1..10
      dpest audit code.py:noisy_mean --epsilon 1 --adjacency replace_one --html report.html
    """
    wanted = WantedFiles(json_path, html_path, replay_path, sarif_path, summary_path, badge_path)
    for path in wanted:
        check_writable(path)
    several = len(targets) > 1
    if several and (replay_path or baseline):
        raise InputError("--replay and --baseline go with one target; ask for each on its own")
    question["length"] = lengths(length)
    question["params"] = parameters(params)
    question["state"] = absolute(question["state"])
    earlier = read_baseline(baseline)
    asked = Provenance(as_typed(), author)
    view = View(wanted, quiet, verbose, require, earlier, several, asked)
    if several and limits is not None:
        importlib.import_module("dpest.campaign.campaign")  # once, for all copies of this process
    statuses, parts = [], []
    for target in targets:
        work = functools.partial(view.audit, target, question)
        label = f"{target}: " if several else ""
        unknown = view.unknown(target, question["seed"])
        statuses.append(isolated(work, limits, quiet=quiet, unanswered=unknown, label=label))
        parts += output.handed_over() or ([{"unanswered": target}] if several else [])
        if statuses[-1] == EXIT_INTERRUPTED:
            break
    if parts:
        from dpest.cli.files import write_together

        write_together(wanted, parts)
    return worst(statuses)


def as_typed() -> str:
    """The command line, to be repeated."""
    return shlex.join(["dpest", *sys.argv[1:]])


@dataclass(frozen=True)
class View:
    """How the answers of one command line are shown, and where they are written."""

    wanted: WantedFiles
    quiet: bool
    verbose: bool
    require: str | None
    earlier: dict[str, Any] | None
    several: bool
    provenance: Provenance

    def audit(self, target: str, question: dict[str, Any]) -> int:
        """Ask the question about one target, and say the answer."""
        from dpest.auditing import audit as ask

        told: list[int] = []

        def keep(progress: Any) -> None:
            """Tell whoever watches, each time that there is more evidence."""
            if progress.so_far is None:
                return
            verdict = progress.so_far()
            if told != [len(verdict.evidence)]:
                told[:] = [len(verdict.evidence)]
                self.so_far(verdict)

        with all_audited(target) as mechanisms, showing_progress(self.quiet, keep) as progress:
            if len(mechanisms) > 1 and (self.wanted.replay or self.earlier is not None):
                raise InputError(
                    f"{target} declares {len(mechanisms)} mechanisms: --replay and --baseline go "
                    f"with one, as {target}:{mechanisms[0].name}"
                )
            view = replace(self, several=self.several or len(mechanisms) > 1)
            statuses = []
            for mechanism in mechanisms:
                verdict = ask(mechanism, progress=progress, **question)
                # Runs the code too, for pictures and demonstrations.
                statuses.append(view.show(mechanism, verdict))
            return worst(statuses)

    def show(self, mechanism: Mechanism, verdict: Verdict) -> int:
        from dpest.cli.files import part_of, write_files
        from dpest.report.text import headline, show

        console = output.console(stderr=self.wanted.json == "-")
        if self.several:
            output.hand_over(part_of(self.wanted, mechanism, verdict, self.provenance))
        else:
            write_files(self.wanted, mechanism, verdict, self.provenance)
        if self.several:
            console.print(headline(verdict), soft_wrap=True, highlight=False)
        else:
            show(verdict, console, verbose=self.verbose, quiet=self.quiet)
        status = exit_status(verdict, self.require)
        if self.earlier is not None:
            words, worse = compare(self.earlier, verdict)
            console.print(words, soft_wrap=True, highlight=False)
            status = worst([status, EXIT_VIOLATED if worse else EXIT_HOLDS])
        return EXIT_INTERRUPTED if verdict.details.get("interrupted") else status

    def so_far(self, verdict: Verdict) -> None:
        """What to say should this process be ended before it can."""
        from dpest.report.text import headline

        note = "stopped: the bounds are valid, the search is not complete"
        stopped = replace(
            verdict,
            notes=(*verdict.notes, note),
            demonstrating=None,  # it takes time, and nobody may ever ask
            details={**verdict.details, "interrupted": True},
        )
        path = None if self.several else self.wanted.json
        files = [(path, stopped.to_json())] if path else []
        lines = "" if self.wanted.json == "-" else f"{headline(stopped)}\n"
        output.so_far(exit_status(stopped, "settled"), lines, files)

    def unknown(self, target: str, seed: int) -> tuple[tuple[str, str], ...]:
        """The JSON of a question that was given up before it was understood."""
        if self.wanted.json is None or self.several:
            return ()
        return ((self.wanted.json, json.dumps(nothing_known(target, seed), indent=2)),)


def exit_status(verdict: Verdict, require: str | None = None) -> int:
    """1 if the claim is violated, 2 if there is no bound at all to answer with, 0 otherwise.

    Of several lengths, one that is violated is enough. `require` "settled": 2 where nothing says
    whether the claim holds.
    """
    rows = verdict.details.get("growth", {}).get("rows", ())
    violated = verdict.violated or any(row["status"] == "violated" for row in rows)
    if violated or verdict.floating_point_violated:
        return EXIT_VIOLATED
    if verdict.lower is None and verdict.upper is None:
        return EXIT_UNANSWERED
    if require == "settled" and verdict.status == "unsettled":
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
