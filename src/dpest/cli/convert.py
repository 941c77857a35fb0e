"""`dpest convert`: from one guarantee to another."""

from __future__ import annotations

import json
import math
from typing import Any

import click

_NOTIONS = ("pure", "approx", "renyi", "zcdp", "gdp")


@click.command("convert")
@click.argument("claim")
@click.option("--to", type=click.Choice(_NOTIONS), required=True, help="The notion to convert to.")
@click.option("--delta", type=float, help="The δ at which to give ε (with --to approx).")
@click.option("--epsilon", type=float, help="The ε at which to give δ (with --to approx).")
@click.option("--alpha", type=float, help="The order α (with --to renyi).")
@click.option(
    "--closed-form",
    is_flag=True,
    help="From Rényi or zCDP to (ε, δ): the closed formula instead of the numerical optimum.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def convert(
    claim: str,
    to: str,
    delta: float | None,
    epsilon: float | None,
    alpha: float | None,
    closed_form: bool,
    as_json: bool,
) -> None:
    """Convert a guarantee, and name the formula.

    CLAIM is pure:EPSILON, approx:EPSILON,DELTA, renyi:ALPHA,RHO, zcdp:RHO or gdp:MU.

    \b
    Example:
    dpest convert renyi:2,0.1 --to approx --delta 1e-5
    dpest convert gdp:1 --to renyi --alpha 8
    """
    from dpest.notions.claims import parse_claim
    from dpest.notions.rules import convert as convert_claim

    done = convert_claim(
        parse_claim(claim),
        to,
        delta=delta,
        epsilon=epsilon,
        alpha=alpha,
        closed_form=closed_form,
    )
    if not as_json:
        click.echo(str(done))
        return
    numbers = {name: _jsonable(value) for name, value in done.result.numbers().items()}
    answer: dict[str, Any] = {
        "source": str(done.source),
        "result": {"notion": to, **numbers},
        "formula": done.formula,
        "tight": done.tight,
        "note": done.note,
    }
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _jsonable(value: Any) -> Any:
    number = float(value)
    return "inf" if number == math.inf else number
