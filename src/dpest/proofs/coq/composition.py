"""Programs that hand their data to proved parts, as instances of `formal/Composition.v`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq.fixed import cell_neighbours, merges_or_clips
from dpest.proofs.coq.loops import neighbours
from dpest.proofs.coq.terms import listed, power_of, radius_of, rational, unit_text


def is_gaussian(certificate: Mapping[str, Any]) -> bool:
    """Whether the bound is one of zCDP."""
    if certificate["method"] == "composition":
        return any(is_gaussian(part) for part in certificate["parts"])
    return certificate["method"] == "square" or certificate.get("measure") == "rho"


def composed(certificate: Mapping[str, Any], body: Callable[[Mapping[str, Any]], str]) -> str:
    """The parts as modules with theorems of their own, and the theorem about all that call them."""
    parts = certificate["parts"]
    gaussian = is_gaussian(certificate)
    if certificate["unit"] is None:
        raise RefusedError("the formalisation composes parts with a unit only")
    if any(is_gaussian(part) != gaussian for part in parts):
        raise RefusedError("the formalisation does not add bounds on epsilon to those on rho yet")
    power = power_of(certificate) if gaussian else 1
    modules = [f"Module P{i}.\n{body(part)}End P{i}.\n" for i, part in enumerate(parts)]
    rows = (f"Part _ P{i}.run {rational(p['epsilon'])}" for i, p in enumerate(parts))
    near = " /\\ ".join(f"{_near(part, f'P{i}.')} a b" for i, part in enumerate(parts))
    return "".join(modules) + "\n".join(
        [
            f"Definition parts : list part := {listed(rows)}.",
            f"Definition ways : list way := {_ways(certificate, power)}.",
            f"Definition near (a b : list R) : Prop := {near}.",
            _theorem(certificate, gaussian, power),
        ]
    )


def _ways(certificate: Mapping[str, Any], power: int) -> str:
    """The unit of a call is scaled; ρ is in a power of the unit."""
    return listed(
        listed(f"({place}, {rational(Fraction(scale) ** power)})" for place, scale in path)
        for path in certificate["paths"]
    )


def _theorem(certificate: Mapping[str, Any], gaussian: bool, power: int) -> str:
    parts = certificate["parts"]
    bound, unit = rational(certificate["epsilon"]), unit_text(power)
    notion, lemma = "private", "tree_private"
    if gaussian:
        notion, lemma = "zero_concentrated", "tree_concentrated"
    cases = "[" + "".join("<-|[" for _ in parts) + "]" * (len(parts) + 1)
    laws = " | ".join(f"{_outcomes(part, f'P{i}.')}" for i, part in enumerate(parts))
    near = f"N{len(parts) - 1}"
    for place in reversed(range(len(parts) - 1)):
        near = f"[N{place} {near}]"
    proofs = " | ".join(
        f"exact (proj1 (P{i}.{_theorem_of(part)} u U) a b N{i})" for i, part in enumerate(parts)
    )
    return (
        "Theorem is_private : forall eps : R, (0 < eps)%R -> forall (O : Type) (t : tree O),\n"
        f"  follows parts ways t -> {notion} near ({unit} * Q2R {bound}) (run_tree {unit} t) /\\\n"
        f"  mass_one (run_tree {unit} t).\nProof.\n"
        f"  intros eps P0' O t F. assert (P : (0 < {unit})%R)"
        f" by ({'exact P0' + chr(39) if power == 1 else 'apply powerRZ_lt; exact P0' + chr(39)}).\n"
        "  assert (L : forall p, In p parts -> outcomes_of p).\n"
        f"  {{ intros p {cases} u U a; [{laws}]. }}\n"
        f"  split; [|exact (tree_mass parts L ways _ P O t F)].\n"
        f"  refine ({lemma} parts near L ways {bound} _ _ _ P O t F); [|vm_compute; reflexivity].\n"
        f"  intros p {cases} u U a b {near}; [{proofs}].\nQed.\n"
    )


def _near(part: Mapping[str, Any], prefix: str) -> str:
    """Who is a neighbour for a part, said from outside of its module."""
    method = part["method"]
    if method in ("cells", "square"):
        mechanism = f"{prefix}mechanism"
        return cell_neighbours(part, mechanism if method == "cells" else f"(frame {mechanism})")[0]
    if method == "loop" and "cases" not in part:
        return neighbours(part)[0]
    if method == "selection":
        return f"(linf (Q2R {rational(radius_of(part))}))"
    raise RefusedError(f"the formalisation does not compose parts that are proved by {method} yet")


def _outcomes(part: Mapping[str, Any], prefix: str) -> str:
    method, bound = part["method"], rational(part["epsilon"])
    checks = "vm_compute; reflexivity | vm_compute; reflexivity | exact U"
    if method == "cells" and not merges_or_clips(part):
        return f"apply (cells_outcomes {prefix}mechanism {bound}); [{checks}]"
    if method == "square":
        return f"apply (square_outcomes {prefix}mechanism {bound}); [{checks}]"
    if method == "loop":
        return f"apply loop_outcomes; [{checks}]"
    if method == "selection" and part["gap"] is False:
        return "apply selection_outcomes; [vm_compute; reflexivity | exact U]"
    raise RefusedError("the formalisation does not compose parts that clip their data yet")


def _theorem_of(part: Mapping[str, Any]) -> str:
    """The name of a part's theorem for every unit: privacy, and mass one."""
    if part["method"] == "square":
        return "at_unit"
    if part["unit"] is None:
        raise RefusedError("the formalisation composes parts with a unit only")
    return "is_private"
