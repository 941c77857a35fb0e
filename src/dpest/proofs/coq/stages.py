"""What a record adds, with noise, stage by stage: instances of `formal/Stages.v`.

The theorem is about all programs whose stages cost what the certificate's do. How far one record
moves the values of a stage is computed by the kernel, and stays outside of the theorem.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.kernel.fields import extended
from dpest.kernel.rules.contributions import steps_of_ways
from dpest.proofs.coq.terms import listed, rational

_MODEL = ("apart", "columns", "ways", "rows_each", "user")


def stages(certificate: Mapping[str, Any]) -> str:
    """Laplace noise and a bound on ε, or Gaussian noise and a bound on ρ."""
    if Fraction(certificate["delta"]):
        raise RefusedError("the formalisation has no theorem for the accountant of (ε, δ) yet")
    gaussian = certificate["measure"] == "rho"
    if certificate["measure"] == "mu2":
        raise RefusedError("the formalisation has no theorem for Gaussian DP yet; ask for zCDP")
    ways = (listed(map(rational, way)) for way in costs(certificate))
    bound = rational(certificate["epsilon"])
    notion, lemma, cost, noise = "private", "stages_private", "cost", "laplace_draw"
    if gaussian:
        notion, lemma = "zero_concentrated", "stages_concentrated"
        cost, noise = "squares", "gaussian_draw"
    return (
        "From DP Require Import SeveralGaussians Stages.\n"
        f"Definition ways : list (list Q) := {listed(ways)}.\n"
        "Theorem is_private : forall (A O : Type) (near : A -> A -> Prop)"
        " (t : Stages.program A O),\n"
        f"  within_ways near {cost} ways t -> only_shown t ->\n"
        f"  {notion} near (Q2R {bound}) (run_program {noise} t).\n"
        f"Proof. intros A O near t. apply {lemma}. vm_compute; reflexivity. Qed.\n"
    )


def costs(certificate: Mapping[str, Any]) -> list[list[Fraction]]:
    """For each way the costs of its stages, in ε or in ρ; stages of another kind are refused."""
    model = {key: certificate[key] for key in _MODEL if key in certificate}
    length = None if certificate["length"] == "any" else certificate["length"]
    adjacency = certificate["adjacency"]
    radius = extended(adjacency["radius"], "radius")
    found = steps_of_ways(model, adjacency["name"], radius, length)
    gaussian = certificate["measure"] == "rho"
    kinds = ("gauss",) if gaussian else ("laplace", "pure")
    plain = all(_is_plain(way, "normal" if gaussian else "laplace") for way in certificate["ways"])
    if not plain or any(s.kind not in kinds or s.q != 1 or s.delta for way in found for s in way):
        raise RefusedError(
            "the formalisation has stages of Laplace noise (for ε) or of Gaussian noise (for ρ),"
            " without samples and thresholds"
        )
    return [[step.value / 2 if gaussian else step.value for step in way] for way in found]


def _is_plain(way: Mapping[str, Any], family: str) -> bool:
    """Whether all noise of a way is of the family, added to forms, without samples and gates."""
    drawn = all(n["family"] == family and n["most"] is None for n in way["noises"])
    forms = all(isinstance(row, list) for row in way["rows"])  # not a choice
    cases = (case for one in way["passes"] for case in one["cases"])
    coins = any(condition[0] in ("heads", "tails") for case in cases for condition in case["if"])
    return drawn and forms and not coins and not way["gates"]
