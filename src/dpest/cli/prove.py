"""dpest prove: an upper bound for all inputs, with a certificate."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpest.cli.isolation import isolated, limit_options
from dpest.cli.options import absolute, parameters
from dpest.cli.output import check_writable, echo, write
from dpest.cli.targets import audited
from dpest.execution.supervision import WorkLimits

if TYPE_CHECKING:
    from dpest.ask.declaration import Mechanism
    from dpest.proofs import Proof


@click.command()
@click.argument("target")
@click.option("--adjacency", metavar="A", help="linf, l1, monotone, replace_one, linf:2, …")
@click.option(
    "--length",
    metavar="N|any",
    help="How long the data are. any: a proof for one length is no answer. Without it: every "
    "length where that can be proved, else the one of the domain; the first line says which.",
)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter's value.")
@click.option("--unit", metavar="P", help="The parameter in whose multiples the bound is.")
@click.option("--claim", metavar="C", help="What is claimed, such as pure:2*eps or zcdp:rho.")
@click.option("--domain", metavar="D", help="What the data are, such as integers(1).")
@click.option("--certificate", metavar="F", help="Write the certificate; - for stdout.")
@click.option("--smt", metavar="DIR", help="Write SMT-LIB files; check them with z3 and cvc5.")
@click.option("--coq", metavar="DIR", help="Write the certificate as a theorem for Coq.")
@click.option("--json", "json_path", metavar="F", help="Write the answer as JSON; - for stdout.")
@click.option("--explain", is_flag=True, help="The coupling in words and as a derivation.")
@limit_options
def prove(
    target: str,
    limits: WorkLimits | None,
    length: str | None,
    params: tuple[str, ...],
    certificate: str | None,
    smt: str | None,
    coq: str | None,
    json_path: str | None,
    explain: bool,
    **question: Any,
) -> int:
    """The least provable ε of TARGET for all neighbouring inputs.

    Exit status: 0 proved (at the claim, if there is one), 1 refuted, 2 unknown. Where every length
    is asked for (--length any, or a domain that says any), a proof for one length is a note, and
    the status is 2.

    \b
    Example:
      dpest prove SVT1 --length any --certificate svt.cert.json
      dpest prove ReportNoisyMax1 --length 5 --adjacency monotone --explain
      dpest prove SVT1 --coq theorems/
    """
    for path in (certificate, json_path):
        check_writable(path)
    every = length is not None and length.lower() == "any"
    if length is not None and not every:
        if not length.isdecimal() or not length.isascii() or int(length[:20]) < 1:
            raise click.BadParameter(f"{length!r} is not a length or any", param_hint="--length")
        question["length"] = int(length[:20])
    question["params"] = parameters(params)
    wanted = WantedOfProof(certificate, absolute(smt), absolute(coq), json_path, explain, every)
    return isolated(functools.partial(_prove, target, question, wanted), limits)


@dataclass(frozen=True)
class WantedOfProof:
    """What is to be written and said of a proof."""

    certificate: str | None
    smt: str | None
    coq: str | None
    json_path: str | None
    explain: bool
    every_length: bool  # a proof for one length does not answer


def _prove(target: str, question: dict[str, Any], wanted: WantedOfProof) -> int:
    from dpest.auditing import prove as ask
    from dpest.report.json_report import encoded

    with audited(target) as mechanism:
        proof = ask(mechanism, **question)
    if wanted.certificate and proof.certificate is not None:
        write(wanted.certificate, json.dumps(proof.certificate, indent=1, ensure_ascii=False))
    quiet = "-" in (wanted.certificate, wanted.json_path)
    short = _says_too_little(proof, mechanism, question, wanted.every_length)
    if short and not quiet:
        echo(_not_for_every_length(proof))
        echo(f"note: for one length: {proof.summary()}")
        for note in proof.notes:
            echo(f"note: {note}")
    elif not quiet:
        echo(proof.explain() if wanted.explain else proof.summary())
        for note in proof.notes:
            echo(f"note: {note}")
    if wanted.smt is not None and proof.certificate is not None:
        _check_with_solvers(proof.certificate, Path(wanted.smt), quiet)
    if wanted.coq is not None and proof.certificate is not None:
        _write_theorem(proof.certificate, Path(wanted.coq), quiet)
    if wanted.json_path:
        write(wanted.json_path, encoded({**as_json(proof), "answers_the_question": not short}))
    if proof.status == "refuted":
        return 1
    if proof.status == "unknown":
        if quiet:
            echo(f"dpest: {proof.summary()}", err=True)
        return 2
    if short:
        if quiet:
            echo(f"dpest: {_not_for_every_length(proof)}", err=True)
        return 2
    return 0 if proof.proved else 2


def _says_too_little(
    proof: Proof, mechanism: Mechanism, question: Mapping[str, Any], every: bool
) -> bool:
    """Whether every length was asked for, and one alone was proved.

    What is refuted at one length is refuted; what has no bound says so itself.
    """
    if proof.status in ("refuted", "unknown") or not isinstance(proof.length, int):
        return False
    from dpest.ask.domain_text import parse_domain
    from dpest.ask.domains import ANY

    domain = question.get("domain")
    domain = mechanism.domain if domain is None else parse_domain(domain)
    says_any = domain is not None and domain.length is ANY
    return every or (says_any and "length" not in question)


def _not_for_every_length(proof: Proof) -> str:
    return (
        f"{proof.mechanism}, {proof.adjacency}, every length: unknown. one length alone is proved"
    )


def _write_theorem(certificate: Any, folder: Path, quiet: bool) -> None:
    from dpest.proofs.coq.exporting import export, module_name

    text = export(certificate)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module_name(certificate)}.v"
    path.write_text(text, encoding="utf-8")
    if not quiet:
        echo(f"theorem for Coq: {path}; compile it with coqc -Q formal DP {path}")


def _check_with_solvers(certificate: Any, folder: Path, quiet: bool) -> None:
    from dpest.proofs import smt

    folder.mkdir(parents=True, exist_ok=True)
    answers: dict[str, int] = {}
    for name, text in smt.conditions(certificate):
        (folder / f"{name}.smt2").write_text(text)
        for solver, answer in (("z3", smt.ask_z3(text)), ("cvc5", smt.ask_cvc5(text))):
            key = f"{solver} {answer}"
            answers[key] = answers.get(key, 0) + 1
    if not quiet:
        said = ", ".join(f"{k}: {v}" for k, v in sorted(answers.items()))
        echo(f"SMT-LIB conditions in {folder}: {said}")
    if any(not key.endswith("unsat") for key in answers):
        raise click.ClickException("a condition was not confirmed by both solvers")


def as_json(proof: Any) -> dict[str, Any]:
    lower = proof.lower
    return {
        "mechanism": proof.mechanism,
        "adjacency": str(proof.adjacency),
        "length": proof.length if isinstance(proof.length, int) else "any",
        "unit": proof.unit,
        "status": proof.status,
        "measure": str(proof.measure),
        "epsilon": None if proof.epsilon is None else str(proof.epsilon),
        "rho": None if proof.rho is None else str(proof.rho),
        "claim": None if proof.claim is None else str(proof.claim),
        "method": proof.method,
        "reason": proof.reason,
        "lower": None
        if lower is None
        else {
            "value": str(lower.value),
            "length": lower.length,
            "direction": [str(d) for d in lower.ray.direction],
            "release": lower.ray.release,
        },
        "notes": list(proof.notes),
        "seconds": proof.seconds,
    }
