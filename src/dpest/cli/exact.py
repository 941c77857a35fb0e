"""dpest exact: the privacy loss of one pair."""

from __future__ import annotations

import functools
from typing import Any

import click

from dpest.cli.isolation import isolated, limit_options
from dpest.cli.options import input_of, parameters
from dpest.cli.output import check_writable, echo, write
from dpest.cli.targets import audited
from dpest.execution.supervision import WorkLimits


@click.command()
@click.argument("target")
@click.option("--pair", nargs=2, required=True, metavar="X X2", help="The two inputs.")
@click.option("--adjacency", metavar="A", help="Refuse the pair unless it is one of neighbours.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter's value.")
@click.option("--certify", is_flag=True, help="Also an enclosure in ball arithmetic.")
@click.option("--delta", type=float, help="Also the least ε at this δ.")
@click.option("--alpha", type=float, help="Also the Rényi divergence of this order.")
@click.option("--json", "json_path", metavar="F", help="Write the answer as JSON; - for stdout.")
@limit_options
def exact(
    target: str,
    limits: WorkLimits | None,
    pair: tuple[str, str],
    adjacency: str | None,
    params: tuple[str, ...],
    certify: bool,
    delta: float | None,
    alpha: float | None,
    json_path: str | None,
) -> int:
    """The exact privacy loss of TARGET between two inputs.

    \b
    Example:
      dpest exact SVT1 --pair '[1,1,1,1,1,1,1,1,1,1]' '[2,2,2,2,2,0,0,0,0,0]'
      dpest exact LaplaceMechanism --pair '[0]' '[1]' --certify --delta 1e-5
    """
    check_writable(json_path)
    question = {"params": parameters(params), "adjacency": adjacency, "certify": certify}
    x, x2 = (input_of(text) for text in pair)
    work = functools.partial(_exact, target, x, x2, question, delta, alpha, json_path)
    return isolated(work, limits)


def _exact(
    target: str,
    x: Any,
    x2: Any,
    question: dict[str, Any],
    delta: float | None,
    alpha: float | None,
    json_path: str | None,
) -> int:
    from dpest.auditing import exact as ask
    from dpest.report.json_report import encoded
    from dpest.report.text import number

    with audited(target) as mechanism:
        loss = ask(mechanism, x, x2, **question)
    answer: dict[str, Any] = {
        "mechanism": mechanism.name,
        "x": x,
        "x2": x2,
        "epsilon": loss.epsilon,
        "epsilon_forward": loss.epsilon_forward,
        "epsilon_backward": loss.epsilon_backward,
        "error": loss.error,
        "mode": loss.mode,
        "witness": {
            "event": loss.witness.event,
            "p": loss.witness.p,
            "q": loss.witness.q,
            "densities": loss.witness.densities,
        },
        "total_variation": loss.total_variation,
    }
    if question["certify"]:
        answer["enclosure"] = loss.enclosure
    if delta is not None:
        answer["epsilon_at_delta"] = {"delta": delta, "epsilon": loss.epsilon_at(delta)}
    if alpha is not None:
        answer["renyi"] = {"alpha": alpha, "divergence": loss.renyi(alpha)}
    if json_path:
        write(json_path, encoded(answer))
    if json_path != "-":
        echo(
            f"ε = {number(loss.epsilon)} (exact, {loss.mode}; error about {loss.error:.1g}); "
            f"x against x2 {number(loss.epsilon_forward)}, x2 against x "
            f"{number(loss.epsilon_backward)}"
        )
        kind = "density" if loss.witness.densities else "probability"
        echo(f"witness: {loss.witness.event}")
        if loss.witness.p is not None and loss.witness.q is not None:
            echo(f"{kind} {loss.witness.p:.12g} on x, {loss.witness.q:.12g} on x2")
        if loss.enclosure is not None:
            low, high = loss.enclosure
            echo(f"enclosure: [{low!r}, {high!r}]")
        for note in loss.notes:
            echo(f"note: {note}")
        if delta is not None:
            echo(f"ε at δ = {delta:g}: {number(answer['epsilon_at_delta']['epsilon'])}")
        if alpha is not None:
            echo(f"Rényi divergence of order {alpha:g}: {number(loss.renyi(alpha))}")
    return 0
