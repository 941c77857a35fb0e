"""One cell of the benchmark: one engine on one row. Plain values in and out, so that it can be
computed in another process and kept in a cache."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from dpest.declaration import Mechanism
from dpest.errors import DpestError
from dpest.evidence import Evidence
from dpest.questions import resolve

# One α for every statistical cell: small, so that a table of some 300 cells raises no false
# disagreement with probability above 3 %.
ALPHA = 1e-4
ENGINES = ("patterns", "worst", "proved", "proved_any", "sequential", "sniper", "statdp", "finder")
EXACT_ENGINES = ("patterns", "worst", "proved", "proved_any")
ATTACKS = ("sequential", "sniper", "statdp", "finder")
# Not bounds but data for a picture.
PICTURES = ("growth", "by_runs", "p_values")


@dataclass(frozen=True)
class Settings:
    """What a cell's value depends on, apart from the code."""

    seed: int = 0
    runs: int = 2_000_000
    third_party_runs: int = 200_000


@dataclass
class Cell:
    """`value` bounds ε from the side `side` ("lower", "upper"), with its standing; or is None."""

    row: str
    engine: str
    side: str
    value: float | None
    standing: str = ""
    text: str = ""
    runs: int = 0
    seconds: float = 0.0
    pair: list[Any] = field(default_factory=list)
    points: list[list[Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        if self.value is not None and math.isinf(self.value):
            found["value"] = "inf"
        return found

    @staticmethod
    def from_json(found: dict[str, Any]) -> Cell:
        value = found["value"]
        return Cell(**{**found, "value": math.inf if value == "inf" else value})


def compute(row: str, engine: str, settings: Settings) -> Cell:
    """One cell; an engine that refuses gives a cell without a value, with its reason."""
    mechanism = mechanism_of(row)
    started = time.monotonic()
    side = "upper" if engine.startswith("proved") else "lower"
    try:
        cell = _compute(row, mechanism, engine, settings)
    except DpestError as reason:
        cell = Cell(row, engine, side, None, text=str(reason))
    cell.seconds = time.monotonic() - started
    return cell


def mechanism_of(row: str) -> Mechanism:
    from dpest import zoo

    if row in zoo.names():
        return zoo.get(row)
    from dpest.literature import third_party

    if row == "NumPy Laplace (bit level)":
        return third_party.numpy_laplace()
    return third_party.installed()[0][row]


def _compute(row: str, mechanism: Mechanism, engine: str, settings: Settings) -> Cell:
    if engine in PICTURES:
        from dpest.literature import pictures

        return Cell(row, engine, "none", None, points=pictures.points(engine, mechanism, settings))
    if engine == "patterns":
        return _patterns(row, mechanism)
    if engine == "worst":
        return _worst(row, mechanism, settings)
    if engine.startswith("proved"):
        return _proved(row, mechanism, engine)
    return _attacked(row, mechanism, engine, settings)


def _patterns(row: str, mechanism: Mechanism) -> Cell:
    """The largest exact ε over the literature's patterns, as the tools searched them."""
    from dpest import measures
    from dpest.distributions.engine import exact_loss
    from dpest.inputs.patterns import patterns

    question = resolve(mechanism)
    best: tuple[float, list[Any]] | None = None
    for _, x, x2 in patterns(
        question.adjacency, question.domain, question.length, both_orders=False
    ):
        value = measures.of_loss(exact_loss(mechanism, x, x2), question.measure)
        if best is None or value > best[0]:
            best = (value, [x, x2])
        if math.isinf(value):
            break
    if best is None:
        return Cell(row, "patterns", "lower", None, text="no pattern fits the domain")
    return Cell(row, "patterns", "lower", best[0], "exact", pair=best[1])


def _worst(row: str, mechanism: Mechanism, settings: Settings) -> Cell:
    from dpest.campaign import Campaign

    campaign = Campaign(resolve(mechanism), seed=settings.seed, engines=("proof", "exact"))
    lower = campaign.run().lower
    if lower is None:
        reason = "; ".join(campaign.notes)
        return Cell(row, "worst", "lower", None, text=reason)
    pair = [lower.witness.x, lower.witness.x2]
    return Cell(row, "worst", "lower", lower.value, str(lower.standing), lower.method, pair=pair)


def _proved(row: str, mechanism: Mechanism, engine: str) -> Cell:
    from dpest.campaign import Campaign
    from dpest.inputs.domains import ANY

    campaign = Campaign(resolve(mechanism), engines=("proof",))
    length = ANY if engine == "proved_any" else campaign.question.length
    campaign.prove(lengths=(length,))
    upper = campaign.verdict().upper
    if upper is None:
        return Cell(row, engine, "upper", None, text="; ".join(campaign.notes))
    proof = campaign.proofs[-1]
    if length is ANY and isinstance(proof.length, int):
        reason = f"only for n = {proof.length}"  # the engine fell back to the domain's length
        return Cell(row, engine, "upper", None, text=reason)
    text = proof.bound_text().split(" ≤ ")[-1]
    return Cell(row, engine, "upper", upper.value, str(upper.standing), text)


def _attacked(row: str, mechanism: Mechanism, engine: str, settings: Settings) -> Cell:
    from dpest.campaign import Campaign

    question = resolve(mechanism)
    if mechanism.about.get("floating_point") and engine == "sniper":
        return _from_evidence(row, engine, _bit_level(question, settings))
    runs = settings.third_party_runs if mechanism.black_box else settings.runs
    campaign = Campaign(question, alpha=ALPHA, budget=runs, seed=settings.seed)
    options: dict[str, Any] = {}
    if engine == "sequential":
        options["stop_when_refuted"] = False
    return _from_evidence(row, engine, campaign.attack(engine, **options))


def _bit_level(question: Any, settings: Settings) -> Evidence:
    from dpest.attacking import floating_point
    from dpest.campaign import Campaign

    found = floating_point(Campaign(question, alpha=ALPHA, seed=settings.seed))
    return found[0]


def _from_evidence(row: str, engine: str, evidence: Evidence) -> Cell:
    if not evidence.standing.is_bound:
        return Cell(row, engine, "lower", None, text="estimate only", runs=evidence.runs)
    pair = [evidence.witness.x, evidence.witness.x2]
    text = evidence.witness.event
    return Cell(
        row, engine, "lower", evidence.value, str(evidence.standing), text, evidence.runs, pair=pair
    )
