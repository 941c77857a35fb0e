"""The greatest of noisy values as an instance of `formal/Selection.v`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq.fixed import plan
from dpest.proofs.coq.terms import (
    FAMILIES,
    Names,
    is_integral,
    listed,
    noise_table,
    radius_of,
    rational,
    theorem,
)


def selection(certificate: Mapping[str, Any]) -> str:
    element = {name: Fraction(value) for name, value in certificate["element"].items()}
    noises = list(certificate["noises"])
    if certificate["gap"] is not False:
        raise RefusedError("the formalisation has no theorem for a released gap yet")
    if len(noises) != 1 or set(element) != {"q", noises[0]} or is_integral(certificate):
        raise RefusedError("the formalisation selects among values a*q + b*h with one noise each")
    name, r, slope = certificate["adjacency"]["name"], radius_of(certificate), element["q"]
    if name != "linf":
        raise RefusedError(f"the formalisation has no theorem for selection and {name} yet")
    family, scale = certificate["noises"][noises[0]]
    noise_table(certificate)
    names = Names(data={"q": 0, "m": 1}, noises={noises[0]: 0})
    low, high = sorted((-slope * r, slope * r))
    face = f"both {rational(-r)} {rational(r)} {rational(low)} {rational(high)}"
    plans = listed(plan(a, 0, names) for a in certificate["alignments"])
    numbers = f"noise {rational(slope)} {rational(element[noises[0]])}"
    lines = [
        f"Definition noise : family * Q := ({FAMILIES[family]}, {rational(1 / Fraction(scale))}).",
        f"Definition plans : list plan := {plans}.",
        f"Definition run := run_selection {numbers}.",
    ]
    proof = (
        f"apply (selection_linf {numbers} {rational(r)} {rational(low)} {rational(high)}"
        f" [[{face}]] plans); [vm_compute; reflexivity | vm_compute; reflexivity"
        " | vm_compute; reflexivity | exact P]."
    )
    mass = "apply selection_mass_one; [vm_compute; reflexivity | exact P]."
    return (
        "\n".join(lines)
        + "\n"
        + theorem(
            certificate, f"(linf (Q2R {rational(r)}))", [("", proof), ("mass_one (run eps)", mass)]
        )
    )
