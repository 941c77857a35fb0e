"""What a record adds, with noise, stage by stage: `formal/Stages.v` and `formal/Accountant.v`.

The theorem is about all programs whose stages cost what the certificate's do. How far one record
moves the values of a stage is computed by the kernel, and stays outside of the theorem. Stages of
Laplace noise alone (ε), or of Gaussian noise alone (ρ), have theorems of their own; all others are
the accountant's, whose kinds of stages are in `formal/StageKinds.v`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.kernel.approximate.accountant import StageLoss
from dpest.kernel.approximate.enclosures import exp_range, log_range
from dpest.kernel.approximate.losses import gaussian_curve
from dpest.kernel.fields import extended
from dpest.kernel.rules.contributions import steps_of_ways
from dpest.proofs.coq.terms import listed, rational

_MODEL = ("apart", "columns", "ways", "rows_each", "user")
ZERO = Fraction(0)


@dataclass(frozen=True)
class Cost:
    """A stage as the accountant's theorem counts it: μ² of Gaussian noise, or ε and δ."""

    squared: Fraction = ZERO
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    fact: str = ""
    """The arithmetic behind the numbers of a sample or a threshold, for Coq to verify."""

    @property
    def term(self) -> str:
        if self.squared:
            return f"Squared {rational(self.squared)}"
        return f"Close {rational(self.epsilon)} {rational(self.delta)}"

    def __str__(self) -> str:
        if self.squared:
            return f"μ² = {self.squared}"
        return f"({self.epsilon}, {self.delta})" if self.delta else str(self.epsilon)


def stages(certificate: Mapping[str, Any]) -> str:
    """A bound on ε, with or without δ, on ρ, or on μ²."""
    rows = (row for way in certificate["ways"] for row in way["rows"])
    if any("point" in row for row in rows if isinstance(row, dict)):
        raise RefusedError("the formalisation has no theorem for points drawn by their density yet")
    if _is_simple(certificate):
        return _simple(certificate)
    if certificate["measure"] == "rho":
        raise RefusedError("the formalisation has a theorem for ρ of Gaussian stages alone")
    return _accounted(certificate)


def _is_simple(certificate: Mapping[str, Any]) -> bool:
    """Whether there is one kind of noise, and no δ."""
    if Fraction(certificate["delta"]) or certificate["measure"] == "mu2":
        return False
    gaussian = certificate["measure"] == "rho"
    kinds = ("gauss",) if gaussian else ("laplace", "pure")
    plain = all(_is_plain(way, "normal" if gaussian else "laplace") for way in certificate["ways"])
    steps = [step for way in _steps(certificate) for step in way]
    return plain and all(s.kind in kinds and s.q == 1 and not s.delta for s in steps)


def _simple(certificate: Mapping[str, Any]) -> str:
    gaussian = certificate["measure"] == "rho"
    ways = (
        listed(rational(step.value / 2 if gaussian else step.value) for step in way)
        for way in _steps(certificate)
    )
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


def _accounted(certificate: Mapping[str, Any]) -> str:
    """An instance of the accountant's theorem, and the arithmetic of its samples and thresholds."""
    ways = _accountant_ways(certificate)
    notion, lemma = _bound_of(certificate, ways)
    terms = dict.fromkeys(listed(cost.term for cost in way) for way in ways)
    facts = dict.fromkeys(cost.fact for way in ways for cost in way if cost.fact)
    return (
        "From DP Require Import Accountant StageKinds.\n"
        f"Definition ways : list (list step) := {listed(terms)}.\n"
        f"Definition facts : list fact := {listed(facts)}.\n"
        "Theorem is_private : (forall (A O : Type) (near : A -> A -> Prop) (p : mixed A O),\n"
        f"  within_steps near ways p -> {notion} (run_mixed p)) /\\ List.Forall holds_fact facts.\n"
        "Proof.\n"
        "  split; [|apply check_facts_ok; vm_compute; reflexivity].\n"
        f"  intros A O near. apply ({lemma}). vm_compute; reflexivity.\nQed.\n"
    )


def _bound_of(certificate: Mapping[str, Any], ways: list[list[Cost]]) -> tuple[str, str]:
    """What is proved, and by which theorem; refused where adding up does not reach the bound."""
    squared = max(sum((c.squared for c in way), ZERO) for way in ways)
    epsilon = max(sum((c.epsilon for c in way), ZERO) for way in ways)
    delta = max(sum((c.delta for c in way), ZERO) for way in ways)
    bound, most = Fraction(certificate["epsilon"]), Fraction(certificate["delta"])
    if certificate["measure"] == "mu2":
        if epsilon or delta:
            raise RefusedError("Gaussian privacy is a bound of Gaussian stages alone")
        notion = f"gaussian_private near (sqrt (Q2R {rational(bound)}))"
        return notion, f"accountant_gaussian near ways {rational(bound)}"
    notion = f"approximately_private near (Q2R {rational(bound)}) (Q2R {rational(most)})"
    rest = bound - epsilon
    reached = rest >= 0
    if reached and squared:
        reached = gaussian_curve(squared)(exp_range(rest)[0]) + delta <= most
    if not reached or (not squared and delta > most):
        raise RefusedError(
            "the formalisation adds up stages; it has no theorem for composed laws of the privacy"
            " loss, which this bound needs, yet"
        )
    return notion, f"account_private near ways {rational(bound)} {rational(most)}"


def costs(certificate: Mapping[str, Any]) -> list[str]:
    """For each way the costs of its stages, in words."""
    if _is_simple(certificate):
        half = 2 if certificate["measure"] == "rho" else 1
        found = [[str(step.value / half) for step in way] for way in _steps(certificate)]
    else:
        found = [list(map(str, way)) for way in _accountant_ways(certificate)]
    return list(dict.fromkeys(" + ".join(way) for way in found))


def _steps(certificate: Mapping[str, Any]) -> list[list[StageLoss]]:
    model = {key: certificate[key] for key in _MODEL if key in certificate}
    length = None if certificate["length"] == "any" else certificate["length"]
    adjacency = certificate["adjacency"]
    radius = extended(adjacency["radius"], "radius")
    return steps_of_ways(model, adjacency["name"], radius, length)


def _accountant_ways(certificate: Mapping[str, Any]) -> list[list[Cost]]:
    replaced = certificate["adjacency"]["name"] == "replace_one"
    return [
        list(_costs_of(way, steps, replaced))
        for way, steps in zip(certificate["ways"], _steps(certificate), strict=True)
    ]


def _costs_of(way: Mapping[str, Any], steps: list[StageLoss], replaced: bool) -> Iterator[Cost]:
    """The stages of a way, in the order in which they are seen; what has no theorem is refused."""
    _need_known_noise(way)
    coins = _coins(way)
    if len(coins) != sum(step.q < 1 for step in steps):
        raise RefusedError("the formalisation has samples that one stage alone looks at")
    gates = iter(sorted(way["gates"], key=lambda gate: int(gate["made"])))
    for step in steps:
        if step.kind == "bad":
            yield _shown(way, next(gates), 2 if replaced else 1, step.delta)
        elif step.kind == "gauss" and step.q == 1:
            yield Cost(squared=step.value)
        elif step.kind == "gauss":
            raise RefusedError("the formalisation has no theorem for Gaussian noise on samples yet")
        elif step.q == 1:
            yield Cost(epsilon=step.value)
        else:
            yield _sampled(step)


def _sampled(step: StageLoss) -> Cost:
    """A stage on a Poisson sample."""
    low = log_range(1 + step.q * (exp_range(step.value)[1] - 1))[1]
    fact = f"Sampled {rational(step.q)} {rational(step.value)} {rational(low)}"
    return Cost(epsilon=low, fact=fact)


def _shown(way: Mapping[str, Any], gate: Mapping[str, Any], keys: int, delta: Fraction) -> Cost:
    """Keys that are shown above a threshold."""
    scale = Fraction(way["noises"][gate["noise"]]["scale"])
    threshold = Fraction(gate["threshold"])
    if way["noises"][gate["noise"]]["family"] != "laplace":
        raise RefusedError("the formalisation has no theorem for keys with Gaussian noise yet")
    if threshold < 1:
        raise RefusedError("the formalisation has thresholds of at least 1")
    epsilon = keys / scale
    numbers = f"{rational(scale)} {rational(threshold)} {keys} {rational(epsilon)}"
    return Cost(epsilon=epsilon, delta=delta, fact=f"Shown {numbers} {rational(delta)}")


def _need_known_noise(way: Mapping[str, Any]) -> None:
    """Noise that is drawn again, subsets of known size and moves by −ln α have no theorem."""
    if any(noise["most"] is not None for noise in way["noises"]):
        raise RefusedError("the formalisation has no theorem for noise that is drawn again yet")
    if any(noise["family"] == "two_sided_geometric" for noise in way["noises"]):
        raise RefusedError("the formalisation has discrete Laplace noise by its rate, not by α")
    if any(condition[0] in ("in", "out") for condition in _conditions(way)):
        raise RefusedError("the formalisation has no theorem for subsets of known size yet")


def _conditions(way: Mapping[str, Any]) -> Iterator[list[Any]]:
    for one in way["passes"]:
        for case in one["cases"]:
            yield from case["if"]


def _coins(way: Mapping[str, Any]) -> set[str]:
    return {c[1] for c in _conditions(way) if c[0] in ("heads", "tails")}


def _is_plain(way: Mapping[str, Any], family: str) -> bool:
    """Whether all noise of a way is of the family, added to forms, without samples and gates."""
    drawn = all(n["family"] == family and n["most"] is None for n in way["noises"])
    forms = all(isinstance(row, list) for row in way["rows"])  # not a choice
    subsets = any(condition[0] in ("in", "out") for condition in _conditions(way))
    return drawn and forms and not _coins(way) and not subsets and not way["gates"]
