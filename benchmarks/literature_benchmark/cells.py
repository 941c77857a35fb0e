"""One cell of the benchmark: one engine on one row. Plain values in and out, so that it can be
computed in another process and kept in a cache."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dpest.ask.declaration import Mechanism
from dpest.ask.questions import resolve
from dpest.errors import DpestError
from dpest.evidence import Evidence

if TYPE_CHECKING:
    from dpest.campaign.campaign import Campaign

# One α for every statistical cell: small, so that a table of some 300 cells raises no false
# disagreement with probability above 3 %.
ALPHA = 1e-4
# In the order in which they are run: the search for the worst pair uses what was found before.
EXACT_ENGINES = ("patterns", "proved", "proved_any", "worst")
ATTACKS = ("sequential", "sniper", "statdp", "finder")
ENGINES = (*EXACT_ENGINES, *ATTACKS)
# Not bounds but data for a picture.
PICTURES = ("growth", "by_runs", "p_values")


@dataclass(frozen=True)
class Settings:
    """What a cell's value depends on, apart from the code."""

    seed: int = 0
    runs: int = 500_000
    seconds: float = 10.0  # the most that one attack takes; a slow mechanism gets fewer runs
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


def compute(row: str, engines: Sequence[str], settings: Settings) -> list[Cell]:
    """The cells of some engines on one row.

    An engine that refuses gives a cell without a value, with its reason. The exact engines share
    what they find: the search for the worst pair starts from the proofs.
    """
    mechanism = mechanism_of(row)
    study: Campaign | None = None
    cells = []
    for engine in engines:
        started = time.monotonic()
        side = "upper" if engine.startswith("proved") else "lower"
        try:
            if engine in EXACT_ENGINES:
                study = study or _study(mechanism, settings)
                cell = _EXACT[engine](row, study)
            elif engine in PICTURES:
                from literature_benchmark import pictures

                points = pictures.points(engine, mechanism, settings)
                cell = Cell(row, engine, "none", None, points=points)
            else:
                cell = _attacked(row, mechanism, engine, settings)
        except DpestError as reason:
            cell = Cell(row, engine, side, None, text=str(reason))
        cell.seconds = time.monotonic() - started
        cells.append(cell)
    return cells


def mechanism_of(row: str) -> Mechanism:
    from dpest import zoo

    if row in zoo.names():
        return zoo.get(row)
    from literature_benchmark import third_party

    if row == "NumPy Laplace (bit level)":
        return third_party.numpy_laplace()
    return third_party.installed()[0][row]


def _study(mechanism: Mechanism, settings: Settings) -> Campaign:
    from dpest.campaign.campaign import Campaign
    from dpest.campaign.settings import Settings as AuditSettings

    given = AuditSettings(seed=settings.seed, engines=("proof", "exact"))
    return Campaign(resolve(mechanism), given)


def _patterns(row: str, study: Campaign) -> Cell:
    """The largest exact ε over the literature's patterns, as the tools searched them."""
    best: tuple[float, list[Any]] | None = None
    for x, x2 in _pattern_pairs(study):
        found = study.values.value(x, x2)
        if best is None or found > best[0]:
            best = (found, [x, x2])
        if math.isinf(found):
            break
    if best is None:
        return Cell(row, "patterns", "lower", None, text="no pattern fits the domain")
    study.values.consider((best[0], *best[1]), "exact: a pattern")
    return Cell(row, "patterns", "lower", best[0], "exact", pair=best[1])


def _pattern_pairs(study: Campaign) -> list[tuple[Any, Any]]:
    """Those that a mechanism names, where its inputs are no vectors; otherwise the usual ones."""
    from dpest.ask.patterns import patterns

    question = study.findings.question
    named = question.mechanism.about.get("pattern_pairs")
    if named is not None:
        return list(named)
    found = patterns(question.adjacency, question.domain, question.length, both_orders=False)
    return [(x, x2) for _, x, x2 in found]


def _worst(row: str, study: Campaign) -> Cell:
    lower = study.run().lower
    if lower is None:
        return Cell(row, "worst", "lower", None, text="; ".join(study.findings.all_notes()))
    pair = [lower.witness.x, lower.witness.x2]
    return Cell(row, "worst", "lower", lower.value, str(lower.standing), lower.method, pair=pair)


def _proved(row: str, study: Campaign) -> Cell:
    return _bounded(row, "proved", study, study.findings.question.length)


def _proved_any(row: str, study: Campaign) -> Cell:
    from dpest.ask.domains import ANY

    return _bounded(row, "proved_any", study, ANY)


def _bounded(row: str, engine: str, study: Campaign, length: Any) -> Cell:
    """The bound of the proof for this length alone, whatever else is known by now."""
    known = study.findings
    proofs, evidence, notes = len(known.proofs), len(known.evidence), set(known.all_notes())
    study.prover.prove(length)
    found = [e for e in known.evidence[evidence:] if e.side == "upper"]
    if not found:
        return Cell(row, engine, "upper", None, text=_new(study, notes))
    upper = min(found, key=lambda e: e.value)
    proof = known.proofs[proofs]
    if not isinstance(length, int) and isinstance(proof.length, int):
        reason = f"only for n = {proof.length}"  # the engine fell back to the domain's length
        return Cell(row, engine, "upper", None, text=reason)
    text = proof.bound_text().split(" ≤ ")[-1]
    return Cell(row, engine, "upper", upper.value, str(upper.standing), text)


def _new(study: Campaign, known: set[str]) -> str:
    return "; ".join(note for note in study.findings.all_notes() if note not in known)


_EXACT: dict[str, Callable[[str, Campaign], Cell]] = {
    "patterns": _patterns,
    "worst": _worst,
    "proved": _proved,
    "proved_any": _proved_any,
}


def _attacked(row: str, mechanism: Mechanism, engine: str, settings: Settings) -> Cell:
    from dpest.attacks.budget import Budget
    from dpest.campaign.attacking import attack
    from dpest.campaign.findings import Findings
    from dpest.campaign.settings import Settings as AuditSettings

    question = resolve(mechanism)
    if mechanism.about.get("floating_point") and engine == "sniper":
        return _from_evidence(row, engine, _bit_level(question, settings))
    runs = settings.third_party_runs if mechanism.black_box else settings.runs
    budget = Budget(runs=runs, seconds=settings.seconds)
    given = AuditSettings(alpha=ALPHA, budget=budget, seed=settings.seed)
    options: dict[str, Any] = {}
    if engine == "sequential":
        options["stop_when_refuted"] = False
    return _from_evidence(row, engine, attack(Findings(question, given), engine, **options))


def _bit_level(question: Any, settings: Settings) -> Evidence:
    from dpest.campaign.doubles import floating_point
    from dpest.campaign.findings import Findings
    from dpest.campaign.scouting import Scout
    from dpest.campaign.settings import Settings as AuditSettings

    findings = Findings(question, AuditSettings(alpha=ALPHA, seed=settings.seed))
    return floating_point(findings, Scout(findings))[0]


def _from_evidence(row: str, engine: str, evidence: Evidence) -> Cell:
    if not evidence.standing.is_bound:
        return Cell(row, engine, "lower", None, text="estimate only", runs=evidence.runs)
    pair = [evidence.witness.x, evidence.witness.x2]
    text = evidence.witness.event
    return Cell(
        row, engine, "lower", evidence.value, str(evidence.standing), text, evidence.runs, pair=pair
    )
