"""The greatest of noisy values as an instance of `formal/Selection.v`, or of `formal/Gap.v`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq.fixed import plan
from dpest.proofs.coq.terms import (
    FAMILIES,
    SymbolNumbers,
    is_integral,
    listed,
    noise_table,
    radius_of,
    rational,
    theorem,
)


def selection(certificate: Mapping[str, Any]) -> str:
    """The place of the winner; with a gap, also by how much it is ahead."""
    element = {name: Fraction(value) for name, value in certificate["element"].items()}
    noises = list(certificate["noises"])
    if len(noises) != 1 or set(element) != {"q", noises[0]} or is_integral(certificate):
        raise RefusedError("the formalisation selects among values a*q + b*h with one noise each")
    name, r, slope = certificate["adjacency"]["name"], radius_of(certificate), element["q"]
    if name != "linf":
        raise RefusedError(f"the formalisation has no theorem for selection and {name} yet")
    family, scale = certificate["noises"][noises[0]]
    noise_table(certificate)
    gap = certificate["gap"] is True
    if gap and family != "laplace":
        raise RefusedError(f"the formalisation has no theorem for a released gap of {family} noise")
    names = SymbolNumbers(data={"q": 0, "m": 1}, noises={noises[0]: 0})
    low, high = sorted((-slope * r, slope * r))
    face = f"both {rational(-r)} {rational(r)} {rational(low)} {rational(high)}"
    plans = listed(plan(a, 0, names) for a in certificate["alignments"])
    rate, slopes = (
        rational(1 / Fraction(scale)),
        f"{rational(slope)} {rational(element[noises[0]])}",
    )
    run, private, mass, first = "run_selection", "selection_linf", "selection_mass_one", "noise"
    if gap:
        run, private, mass, first = "run_gap", "gap_private", "gap_mass", rate
    lines = (
        f"Definition noise : family * Q := ({FAMILIES[family]}, {rate}).\n"
        f"Definition plans : list plan := {plans}.\n"
        f"Definition run := {run} noise {slopes}.\n"
    )
    proof = (
        f"apply ({private} {first} {slopes} {rational(r)} {rational(low)} {rational(high)}"
        f" [[{face}]] plans); [vm_compute; reflexivity | vm_compute; reflexivity"
        " | vm_compute; reflexivity | exact P]."
    )
    parts = [
        ("", proof),
        ("mass_one (run eps)", f"apply {mass}; [vm_compute; reflexivity | exact P]."),
    ]
    return lines + theorem(certificate, f"(linf (Q2R {rational(r)}))", parts)
