"""Coq at work: the instance of a certificate is compiled against `formal/`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpest.errors import DpestError
from dpest.proofs.coq.exporting import HEADER, export, module_name, statement

# What the real numbers of Coq's standard library rest on.
STANDARD_AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
INSTALL = (
    "Coq is not here. Debian and Ubuntu: apt-get install coq libcoq-coquelicot;"
    " others: opam install coq coq-coquelicot"
)


class CoqError(DpestError):
    """Coq is missing, `formal/` is, or Coq refused an instance."""


@dataclass(frozen=True)
class Checked:
    """What Coq has accepted: the theorem in words, and all that its proof assumes."""

    statement: str
    assumptions: tuple[str, ...]
    seconds: float

    @property
    def only_standard(self) -> bool:
        return set(self.assumptions) <= STANDARD_AXIOMS


def formal_folder() -> Path:
    """Where the formalisation is: $DPEST_FORMAL, or beside the sources of this package."""
    named = os.environ.get("DPEST_FORMAL")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "formal"
    if not (folder / "Certificate.v").is_file():
        raise CoqError(
            f"the formalisation is not in {folder}: check out the repository"
            " and set DPEST_FORMAL to its folder formal/"
        )
    return folder


def available() -> bool:
    return shutil.which("coqc") is not None


def build(folder: Path) -> None:
    """Compile the formalisation where it isn't yet (a minute at the first time)."""
    if not available():
        raise CoqError(INSTALL)
    made = subprocess.run(
        ["make", "--directory", str(folder), "theories"], capture_output=True, text=True
    )
    if made.returncode:
        raise CoqError(f"the formalisation could not be built: {made.stderr.strip()[-600:]}")


def check(certificate: Mapping[str, Any]) -> Checked:
    """The certificate as a theorem, checked by Coq; a `CoqError` where Coq does not accept it."""
    text = export(certificate)
    folder = formal_folder()
    build(folder)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{module_name(certificate)}.v"
        path.write_text(text, encoding="utf-8")
        answer = compile_file(path, folder)
    if answer.returncode:
        raise CoqError(f"Coq refuses the certificate: {answer.stderr.strip()[-600:]}")
    return Checked(statement(certificate), assumptions(answer.stdout), time.monotonic() - started)


def theorem_note(certificate: Mapping[str, Any]) -> str:
    """What a report says of a certificate: that Coq has checked it, or why it has not."""
    try:
        found = check(certificate)
    except DpestError as reason:
        return f"not checked by Coq: {reason}"
    if not found.only_standard:
        return "not checked by Coq: the proof assumes more than the axioms of the reals"
    return f"checked by Coq, on the axioms of its real numbers alone: {found.statement}"


def batch_text(texts: Iterable[str]) -> str:
    """Several exported instances as one file, each in a module; it ends with what all assume."""
    bodies = [t.split(HEADER)[1].replace("Print Assumptions is_private.", "") for t in texts]
    modules = [f"Module M{i}.\n{body}\nEnd M{i}.\n" for i, body in enumerate(bodies)]
    together = ", ".join(f"M{i}.is_private" for i in range(len(bodies)))
    last = f"Definition together := ({together}).\nPrint Assumptions together.\n"
    return HEADER + "".join(modules) + last


def compile_file(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # Instances in one file are modules, and each requires what it needs.
    quiet = "-ambiguous-paths,-require-in-module"
    command = ["coqc", "-q", "-w", quiet, "-Q", str(folder), "DP", str(path)]
    return subprocess.run(command, capture_output=True, text=True)


def assumptions(printed: str) -> tuple[str, ...]:
    """The axioms that `Print Assumptions` lists."""
    if "Axioms:" not in printed:
        return ()
    return tuple(re.findall(r"^([A-Za-z_][\w.']*)\s*(?::|$)", printed.split("Axioms:")[1], re.M))
