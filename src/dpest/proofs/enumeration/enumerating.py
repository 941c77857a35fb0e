"""Finite mechanisms: a small domain, every draw with finitely many outcomes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest import kernel
from dpest.ask.domains import Finite, Integers
from dpest.errors import DpestError, RefusedError
from dpest.notions.claims import PureDP
from dpest.proofs import certificates
from dpest.proofs.enumeration import finite
from dpest.proofs.proof import AttainingPair, Lower, Proof
from dpest.proofs.question import (
    ProofGoal,
    bare,
)
from dpest.reading.machine.signals import Refused

_MOST_INPUTS = 64


def _enumerated(question: ProofGoal, inputs: list[Any]) -> finite.FiniteBound | None:
    target = question.mechanism
    if question.unit is None:
        try:
            return finite.independent(target, inputs, question.adjacency.holds)
        except DpestError:  # another kind of output; the enumeration says what it is
            pass
    try:
        return finite.bound(target, question.unit, inputs, question.adjacency.holds)
    except (DpestError, Refused):  # not finite, or there is no rule for what it does
        return None


def enumerated_proof(question: ProofGoal, *, each: bool = False) -> Proof | None:
    """Exact enumeration, where the domain is small and every draw has finitely many outcomes.

    `each` says that the data have one entry, and that the function does for many what it does for
    one: the certificate is about every length.
    """
    domain = question.domain
    size = getattr(domain, "size", None)
    if size is None or size > _MOST_INPUTS or not isinstance(domain, (Finite, Integers)):
        return None
    inputs = [domain.as_input(x) for x in domain.enumerate()]
    found = _enumerated(question, inputs)
    if found is None:
        return None
    epsilon = None
    if found.power is not None:
        epsilon = Fraction(found.power, found.denominator)
    table = certificates.table(
        question.mechanism, question.unit, question.adjacency, epsilon, inputs, found
    )
    if each:
        table |= {"entries": "each", "length": "any"}
    try:
        kernel.check(table)
    except kernel.Invalid as error:
        raise RefusedError(f"the kernel did not accept the certificate ({error})") from None
    certificate = certificates.sealed(table)
    claimed = question.claimed()
    status: Any = "exact" if found.attained else "upper bound"
    pure = isinstance(question.claim, PureDP)
    lower = None
    if found.factor is not None:
        value = math.log(found.factor)
        if pure and claimed is not None and value > float(claimed) * (1 + 1e-12):
            status = "refuted"
    elif pure and claimed is not None and found.attained and epsilon is not None:
        status = "refuted" if epsilon > claimed else status
    if status == "refuted" or found.factor is not None:
        worth: Any = epsilon if epsilon is not None else math.log(found.factor or 1)
        text = f"{found.output} on {found.pair[0]!r} against {found.pair[1]!r}"
        lower = Lower(worth, 1, AttainingPair(found.pair[0], found.pair[1], text))
    return replace(
        bare(question, getattr(domain, "length", 1)),
        status=status,
        bound=epsilon,
        exponential=found.factor,
        method="enumeration",
        lower=lower,
        certificate=certificate,
        notes=question.notes,
        words=("finite", found, each),
    )
