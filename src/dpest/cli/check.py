"""dpest check: is a certificate valid, and is it about its source?"""

from __future__ import annotations

from typing import Any

import click


@click.command()
@click.argument("certificates", nargs=-1, required=True, metavar="CERTIFICATE...")
@click.option("--against", metavar="TARGET", help="The function that the certificates are about.")
@click.option("--proof-only", is_flag=True, help="Do not run the source that a certificate holds.")
@click.option("--coq", is_flag=True, help="Compile each certificate as a theorem of Coq, too.")
def check(
    certificates: tuple[str, ...], against: str | None, proof_only: bool, coq: bool
) -> int:
    """Check certificates: the proof about the model, then the model of the source.

    The proof is checked by the independent checker (exact rationals, no solver; it runs nothing).
    Then the source is compiled and read again, with its parameters, and its model is compared
    with the certificate's. That RUNS the source: use --proof-only for a file that you don't trust,
    or --against to compare with your own function.

    With --coq, the certificate becomes a theorem about its graph, Coq checks it, and the theorem is
    printed in words with all that its proof assumes.

    Exit status: 0 all are valid, 1 one was refused, 2 a file is no certificate, or Coq was asked
    and could not answer.

    \b
    Example:
      dpest prove SVT1 --certificate svt.cert.json && dpest check svt.cert.json
      dpest check mine.cert.json --against mine.py:function
    """
    import json
    from pathlib import Path

    from dpest.proofs import checker, finite_checker

    target: Any = None
    if against is not None:
        from dpest.cli.targets import load

        target = load(against)
    status = 0
    for path in certificates:
        try:
            certificate = json.loads(Path(path).read_text(encoding="utf-8"))
            method = certificate["method"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise click.BadParameter(f"{path} is not a certificate ({error})") from None
        chosen = finite_checker if method == "finite" else checker
        refused = chosen.verdict(path)
        if not refused and not proof_only:
            refused = _compare(path, certificate, target)
        elif not refused:
            click.echo(
                f"proof    {path}  only the proof was checked, not that the model is the source's"
            )
        if not refused and coq:
            refused = _theorem(path, certificate)
        status = max(status, refused)
    return status


def _theorem(path: str, certificate: Any) -> int:
    from dpest.errors import DpestError
    from dpest.proofs import coqc

    try:
        found = coqc.check(certificate)
    except DpestError as reason:
        click.echo(f"no Coq   {path}  {reason}")
        return 2
    click.echo(f"theorem  {path}  {found.statement}")
    click.echo(f"assumes  {path}  {', '.join(found.assumptions) or 'nothing'}")
    if not found.only_standard:
        click.echo(f"REFUSED  {path}  the proof assumes more than the axioms of the reals")
        return 1
    return 0


def _compare(path: str, certificate: Any, target: Any) -> int:
    from dpest.errors import DpestError
    from dpest.proofs.rebuilding import differences

    try:
        found = differences(certificate, target)
    except DpestError as reason:
        click.echo(f"proof    {path}  only the proof was checked, not the model: {reason}")
        return 0
    if found:
        click.echo(f"REFUSED  {path}  the source has another model; different: {', '.join(found)}")
        return 1
    click.echo(f"model    {path}  built again from the source: the same")
    return 0
