"""dpest scores: how much do scores of runs, made elsewhere, show?"""

from __future__ import annotations

from typing import Any

import click

from dpest.cli import EXIT_HOLDS, EXIT_VIOLATED
from dpest.cli.options import check_writable, write


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--claim", help='Such as "approx:4,1e-5", "zcdp:0.5", "gdp:1", "renyi:2,1".')
@click.option("--epsilon", type=float, help="The claimed ε.")
@click.option("--delta", type=float, help="The δ at which ε is bounded.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Chance of error.")
@click.option("--one-run", is_flag=True, help="Canaries of one run, each included by a fair coin.")
@click.option("--guesses", type=click.IntRange(min=1), help="With --one-run: how many guesses.")
@click.option("--learn", is_flag=True, help="Learn a score from a part of the runs.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_path", metavar="F", help="Write the verdict as JSON; - for stdout.")
@click.option("--quiet", is_flag=True, help="One line.")
def scores(
    file: str,
    one_run: bool,
    guesses: int | None,
    learn: bool,
    json_path: str | None,
    quiet: bool,
    **question: Any,
) -> int:
    """A lower bound from scores in FILE (.csv, .npz, .parquet).

    The columns are `inside` and `outside`: scores of runs with the record and without it; or
    `score` (or several of them) and `included`, and perhaps `run`. High scores speak for inside.

    \b
    Example:
      dpest scores canaries.csv --delta 1e-5
      dpest scores canaries.csv --claim approx:4,1e-5
      dpest scores one_training.npz --one-run --delta 1e-5
    """
    from dpest import scoring
    from dpest.attacks.scores.files import read_scores
    from dpest.errors import InputError

    check_writable(json_path)
    found = read_scores(file)
    if one_run:
        if found.paired:
            raise InputError("--one-run needs the columns score and included, a row a canary")
        if found.scores.shape[1] != 1:
            raise InputError("--one-run needs one score a canary")
        verdict = scoring.one_run(
            found.scores[:, 0], found.included, guesses=guesses, name=file, **question
        )
    else:
        if guesses is not None:
            raise InputError("--guesses goes with --one-run")
        groups = None
        if found.groups is not None:
            groups = (found.groups[found.included], found.groups[~found.included])
        verdict = scoring.audit_scores(
            found.inside, found.outside, groups=groups, learn=learn or None, name=file, **question
        )
    if json_path:
        write(json_path, verdict.to_json())
    if json_path != "-":
        from rich.console import Console

        from dpest.report.text import show

        show(verdict, Console(), quiet=quiet)
    return EXIT_VIOLATED if verdict.violated else EXIT_HOLDS
