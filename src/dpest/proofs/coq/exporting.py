"""A certificate as an instance of the soundness theorem in `formal/`, for `coqc`.

The file that is written holds the program as a graph, the certificate, and a theorem about the
program whose proof is: the verified checker computes `true`. See docs/formal.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq import composition
from dpest.proofs.coq.fixed import cells, square
from dpest.proofs.coq.loops import loop
from dpest.proofs.coq.selection import selection
from dpest.proofs.coq.stages import costs, stages
from dpest.proofs.coq.tables import finite
from dpest.proofs.coq.terms import comment, power_of

HEADER = """From Coq Require Import Reals Lra List QArith Qreals.
From DP Require Import Noise Privacy ZeroConcentrated Program NoiseTable Loop LoopChecker Draw Cells
  Adjacency Total Selection Certificate FiniteTable Sums Square View Composition
  Gap.
Import ListNotations.
Open Scope nat_scope.
"""

EXPORTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "loop": loop,
    "cells": cells,
    "selection": selection,
    "finite": finite,
    "square": square,
    "contributions": stages,
}


def export(certificate: Mapping[str, Any]) -> str:
    """The instance, as the text of a Coq file; its last theorem is `is_private`."""
    text = body(certificate)  # first: it refuses what has no theorem
    words = f"(** {comment(statement(certificate))} *)\n"
    return f"{words}{HEADER}\n{text}\nPrint Assumptions is_private.\n"


def body(certificate: Mapping[str, Any]) -> str:
    """Its definitions and its theorem."""
    method = certificate["method"]
    if method == "composition":
        return composition.composed(certificate, body)
    if method not in EXPORTS:
        raise RefusedError(f"the formalisation has no theorem for certificates by {method} yet")
    if certificate.get("derived") and method != "cells":
        raise RefusedError(f"the formalisation clips data of fixed lengths only, not by {method}")
    if certificate.get("dead"):
        raise RefusedError("the formalisation has no theorem for branches that are never taken yet")
    return EXPORTS[method](certificate)


def statement(certificate: Mapping[str, Any]) -> str:
    """What the theorem of an instance says, in words."""
    unit = certificate["unit"]
    adjacency = certificate["adjacency"]
    every = f"for every {unit} > 0" if unit else "with its parameters"
    tests = "orders of Rényi divergence" if composition.is_gaussian(certificate) else "events"
    return (
        f"{_subject(certificate)} is {_bound(certificate)} {every}: for all neighbours"
        f" ({adjacency['name']}, radius {adjacency['radius']}) among {_lists(certificate)} and all"
        f" {tests} of its release. sha256 of its source: {certificate['sha256']}"
    )


def _subject(certificate: Mapping[str, Any]) -> str:
    name = str(certificate["mechanism"])
    if certificate["method"] == "contributions":
        told = " or ".join(costs(certificate))
        return f"Every program whose stages of noise cost what those of {name} do ({told})"
    if certificate["method"] != "composition":
        return name
    parts = ", ".join(part["mechanism"] for part in certificate["parts"])
    return f"Every program that hands its data to {parts} as {name} does, and to nothing else,"


def _bound(certificate: Mapping[str, Any]) -> str:
    unit = certificate["unit"]
    if certificate.get("exponential"):
        return f"ln({certificate['exponential']})-differentially private"
    if certificate.get("measure") == "mu2":
        return f"sqrt({certificate['epsilon']})-Gaussian differentially private"
    if Fraction(certificate.get("delta", 0)):
        return f"({certificate['epsilon']}, {certificate['delta']})-differentially private"
    gaussian = composition.is_gaussian(certificate)
    power = power_of(certificate) if gaussian else 1
    factor = "" if not unit or power == 0 else f"*{unit}" + (f"^{power}" if power != 1 else "")
    kind = "zCDP" if gaussian else "differentially private"
    return f"{certificate['epsilon']}{factor}-{kind}"


def _lists(certificate: Mapping[str, Any]) -> str:
    if "cases" in certificate:
        return "lists of what records add to its sums (an absent one adds 0)"
    if certificate["method"] == "finite":
        return f"its {len(certificate['tables'])} inputs"
    length = certificate["length"]
    return "lists of every length" if length == "any" else f"lists of length {length}"


def module_name(certificate: Mapping[str, Any]) -> str:
    """A name that Coq takes for a file: the mechanism's, in letters, digits and underscores."""
    name = re.sub(r"\W", "_", certificate["mechanism"], flags=re.ASCII) or "Instance"
    return name if name[0].isalpha() else f"C{name}"
