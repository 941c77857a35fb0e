"""dpest check: is a certificate valid, and is it about its source?"""

from __future__ import annotations

from typing import Any

import click

_VALID, _REFUSED, _UNANSWERED = 0, 1, 2


@click.command()
@click.argument("certificates", nargs=-1, required=True, metavar="CERTIFICATE...")
@click.option("--against", metavar="TARGET", help="Your function that the certificates are about.")
@click.option(
    "--rebuild", is_flag=True, help="Read the source in the certificate again. This RUNS it."
)
@click.option("--proof-only", is_flag=True, help="A statement about the model is all that I want.")
@click.option("--coq", is_flag=True, help="Compile each certificate as a theorem of Coq, too.")
def check(
    certificates: tuple[str, ...],
    against: str | None,
    rebuild: bool,
    proof_only: bool,
    coq: bool,
) -> int:
    """Check certificates: the proof about the model, then that the model is a program's.

    The kernel checks the proof: exact rationals, no solver, nothing is executed. What it shows is
    about a model. With --against your function is read again, and its model compared with the
    certificate's; nothing of the certificate is executed. With --rebuild the source that the
    certificate carries is compiled, run and read again: only for files that you trust.

    With --coq, the certificate becomes a theorem about its graph, Coq checks it, and the theorem is
    printed in words with all that its proof assumes.

    Exit status: 0 all that is printed was checked; 1 a certificate was refused; 2 a file is no
    certificate, its model was compared with no program (and --proof-only was not given), or Coq was
    asked and could not answer.

    \b
    Example:
      dpest prove SVT1 --certificate svt.cert.json && dpest check svt.cert.json --against SVT1
      dpest check theirs.cert.json --proof-only
    """
    from dpest import kernel

    if proof_only and (rebuild or against is not None):
        raise click.UsageError("--proof-only compares nothing: leave out --against and --rebuild")
    if rebuild and against is not None:
        raise click.UsageError("--against is your function, --rebuild the certificate's: give one")
    target: Any = None
    if against is not None:
        from dpest.cli.targets import load

        target = load(against)
    found = []
    for path in certificates:
        certificate, text = _read(path)
        if certificate["method"] == "judgment":
            found.append(_judgment(kernel, path, text, proof_only))
            continue
        try:
            statement = kernel.check_text(text)
        except kernel.Invalid as reason:
            click.echo(f"REFUSED  {path}  {reason}")
            found.append(_REFUSED)
            continue
        if against is None and not rebuild:
            click.echo(f"model    {path}  {statement}")
            found.append(_VALID if proof_only else _not_compared(path))
        else:
            found.append(_compare(path, certificate, statement, target))
        if coq:
            found.append(_theorem(path, certificate))
    return _REFUSED if _REFUSED in found else max(found)


def _judgment(kernel: Any, path: str, text: str, proof_only: bool) -> int:
    """A judgment of two programs, which stand in the certificate themselves."""
    try:
        shown = kernel.judgments.check_text(text)
    except kernel.Invalid as reason:
        click.echo(f"REFUSED  {path}  {reason}")
        return _REFUSED
    click.echo(f"model    {path}  {shown}")
    if proof_only:
        return _VALID
    click.echo(
        f"open     {path}  the programs were compared with no function: ask dpest.judge again, "
        "or give --proof-only"
    )
    return _UNANSWERED


def _theorem(path: str, certificate: Any) -> int:
    from dpest.errors import DpestError
    from dpest.proofs import coqc

    try:
        found = coqc.check(certificate)
    except DpestError as reason:
        click.echo(f"no Coq   {path}  {reason}")
        return _UNANSWERED
    click.echo(f"theorem  {path}  {found.statement}")
    click.echo(f"assumes  {path}  {', '.join(found.assumptions) or 'nothing'}")
    if not found.only_standard:
        click.echo(f"REFUSED  {path}  the proof assumes more than the axioms of the reals")
        return _REFUSED
    return _VALID


def _read(path: str) -> tuple[Any, str]:
    """A certificate and its text; a file of another kind is a mistake of the person."""
    import json
    from pathlib import Path

    try:
        text = Path(path).read_text(encoding="utf-8")
        certificate = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise click.BadParameter(f"{path} is not a certificate ({error})") from None
    if not isinstance(certificate, dict) or "method" not in certificate:
        raise click.BadParameter(f"{path} is not a certificate (it names no method)")
    return certificate, text


def _not_compared(path: str) -> int:
    click.echo(
        f"open     {path}  the model was compared with no program: give --against TARGET (your "
        "function), --rebuild (runs the source in the file), or --proof-only"
    )
    return _UNANSWERED


def _compare(path: str, certificate: Any, statement: Any, target: Any) -> int:
    from dpest.errors import DpestError
    from dpest.proofs.rebuilding import compared

    if target is None:
        click.echo(f"rebuild  {path}  the source in the certificate is compiled and run")
    try:
        found = compared(certificate, target)
    except DpestError as reason:
        click.echo(f"model    {path}  {statement}")
        click.echo(f"open     {path}  the program could not be read again: {reason}")
        return _UNANSWERED
    if found.differences:
        different = ", ".join(found.differences)
        click.echo(f"REFUSED  {path}  the program has another model; different: {different}")
        return _REFUSED
    click.echo(f"valid    {path}  {statement.about(found.function)}")
    return _VALID
