"""dpest calibrate: the least noise at which a claim still holds."""

from __future__ import annotations

import functools
from typing import Any

import click

from dpest.cli.isolation import isolated, limit_options
from dpest.cli.options import parameters
from dpest.cli.output import check_writable, echo, write
from dpest.cli.targets import audited
from dpest.execution.supervision import WorkLimits


@click.command()
@click.argument("target")
@click.option("--epsilon", type=float, required=True, help="The ε that must hold.")
@click.option("--delta", type=float, help="The δ that goes with it; pure ε if left out.")
@click.option("--param", "param", required=True, metavar="P", help="The noise parameter to set.")
@click.option("--length", type=click.IntRange(min=1), help="Entries of an input.")
@click.option("--set", "params", multiple=True, metavar="K=V", help="Another parameter's value.")
@click.option("--adjacency", metavar="A", help="Who is a neighbour, as in `dpest audit`.")
@click.option("--domain", metavar="D", help="The inputs, as in `dpest audit`.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_path", metavar="F", help="Write the answer as JSON; - for stdout.")
@limit_options
def calibrate(
    target: str,
    limits: WorkLimits | None,
    params: tuple[str, ...],
    json_path: str | None,
    **question: Any,
) -> int:
    """The value of P with the least noise at which ε ≤ E is proved or holds exactly.

    \b
    Example:
      dpest calibrate SVT4 --epsilon 0.1 --param eps
      dpest calibrate train.py:dp_sgd --epsilon 1 --delta 1e-5 --param sigma \
        --adjacency add_remove_one --domain 'reals(any, -1, 1)'
    """
    check_writable(json_path)
    question["params"] = parameters(params)
    return isolated(functools.partial(_calibrate, target, json_path, question), limits)


def _calibrate(target: str, json_path: str | None, question: dict[str, Any]) -> int:
    from dpest.calibration import calibrate as ask
    from dpest.report.json_report import bound, encoded, plain
    from dpest.report.text import number, show_input

    with audited(target) as mechanism:
        found = ask(mechanism, **question)
    if json_path:
        answer = {
            "mechanism": mechanism.name,
            "parameter": found.parameter,
            "value": found.value,
            "epsilon": found.limit,
            "delta": found.bound.measure.delta,
            "bound": bound(found.bound),
            "error": plain(found.error),
            "input": plain(found.input),
        }
        write(json_path, encoded(answer))
    if json_path != "-":
        echo(
            f"{found.parameter} = {found.value:.6g}: ε ≤ {number(found.bound.value)} "
            f"({found.bound.standing}, {found.bound.method})"
        )
        words = {
            "root_mean_square": "root mean square error",
            "mean_absolute": "mean absolute error",
            "differs": "share of outputs that differ from the noise-free one",
        }
        for name, value in found.error.items():
            echo(f"{words[name]} {value:.4g} on {show_input(found.input)} (estimate)")
        for note in found.notes:
            echo(f"note: {note}")
    return 0
