"""One row, audited: by runs alone, by the grey box, and bit by bit."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError
from dpest.evidence import Evidence, Measure
from dpest.libraries.rows import Library, LibraryRow

# Every bound is wrong with chance at most this: some two hundred are computed in all.
ALPHA = 1e-5
# Fewer runs than this say nothing about a claim of about 1.
LEAST_RUNS = 400
MOST_RUNS = 200_000
# Runs that tell how long one takes.
PACED = 3
# Seconds of a run, hooks and all, beyond which no more are made.
SLOW = 1.0
# A δ at which a claim of zCDP is put to runs.
DELTA = 1e-3


@dataclass(frozen=True)
class RowBudget:
    """What one row may spend, in seconds, on runs and on bits."""

    seconds: float = 3.0
    seed: int = 0


@dataclass(frozen=True)
class _RowAudit:
    """A row, its mechanism, and its claim as an ε (`limit`) at a δ that runs can contradict."""

    mechanism: Mechanism
    row: LibraryRow
    measure: Measure
    limit: float
    budget: RowBudget

    def affordable(self, pace: float) -> int:
        """How many runs the budget pays for, where one takes `pace` seconds."""
        return int(min(MOST_RUNS, self.budget.seconds / max(pace, 1e-7)))


def mechanism_of(row: LibraryRow, library: Library) -> Mechanism:
    """Run the glue, as it is shown."""
    from dpest import adapters

    names: dict[str, Any] = {"adapters": adapters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(library.imports, names)  # the text of this package's own rows
        exec(row.glue, names)
    made = names["f"]
    assert isinstance(made, Mechanism)
    return made


def audit_row(row: LibraryRow, library: Library, settings: RowBudget) -> dict[str, Any]:
    """A row as plain values; what could not be done is in `notes`."""
    started = time.monotonic()
    cell: dict[str, Any] = {"library": row.library, "row": row.name, "notes": []}
    try:
        mechanism = mechanism_of(row, library)
    except Exception as failed:  # libraries change from version to version
        cell["error"] = f"{type(failed).__name__}: {failed}"
        cell["seconds"] = time.monotonic() - started
        return cell
    own, limit, measure = _claim(mechanism)
    cell |= {"claim": own, "limit": limit, "delta": measure.delta}
    try:
        _measure(_RowAudit(mechanism, row, measure, limit, settings), cell)
    except DpestError as refused:
        cell["error"] = str(refused)
    cell["seconds"] = time.monotonic() - started
    return cell


def _measure(audit: _RowAudit, cell: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell["grey"] = _grey(audit)
        pace, paced = cell["grey"]["seconds"] / cell["grey"]["runs"], 0
        if pace < SLOW:
            pace, paced = _pace(audit), PACED
        cell["seconds_per_run"] = pace
        cell["runs"] = cell["grey"]["runs"] + paced
        cell["black_box"] = _black_box(audit, pace, cell)
        cell["doubles"] = _doubles(audit, pace, cell)
    cell["violated"] = bool(cell["black_box"] and cell["black_box"]["violated"])
    cell["doubles_violated"] = bool(cell["doubles"] and cell["doubles"]["violated"])
    cell["found"] = bool(cell["grey"]["findings"])


def _claim(mechanism: Mechanism) -> tuple[str, float, Measure]:
    """The claim in words, and as an ε at a δ that runs can contradict."""
    from dpest.notions.claims import ApproxDP, PureDP

    claim = mechanism.claim
    if isinstance(claim, PureDP):
        return str(claim), float(claim.epsilon), Measure()
    if isinstance(claim, ApproxDP):
        return str(claim), float(claim.epsilon), Measure(delta=float(claim.delta))
    return str(claim), float(claim.epsilon_at(DELTA)), Measure(delta=DELTA)


def _grey(audit: _RowAudit) -> dict[str, Any]:
    from dpest.ask.questions import measured
    from dpest.attacks.recorded import recorded_attack

    measure, limit = measured(audit.mechanism.claim)
    found = recorded_attack(
        audit.mechanism,
        audit.row.x,
        audit.row.x2,
        limit=limit,
        measure=measure,
        seed=audit.budget.seed,
    )
    seen = found.details["recorded"]
    return {
        "cost": _number(found.value),
        "worth": seen["worth"],
        "complete": seen["complete"],
        "findings": seen["findings"],
        "primitives": [
            {k: p[k] for k in ("primitive", "sensitivity", "declared", "pays_for", "scale", "cost")}
            for p in seen["primitives"]
        ],
        "unresolved": seen["unresolved"],
        "bypassed": seen["bypassed"],
        "seconds": found.seconds,
        "runs": found.runs,
    }


def _pace(audit: _RowAudit) -> float:
    """Seconds of computing that one run takes, whatever else the machine does meanwhile."""
    slept, computed = time.monotonic(), time.process_time()
    for _ in range(PACED):
        with contextlib.suppress(Exception):  # an output like any other
            audit.mechanism(audit.row.x)
    computed = time.process_time() - computed
    slept = time.monotonic() - slept
    # Work that other processes do (Spark's) counts too.
    return max(computed, 0.1 * slept) / PACED


def _black_box(audit: _RowAudit, pace: float, cell: dict[str, Any]) -> dict[str, Any] | None:
    from dpest.attacks.budget import Budget
    from dpest.attacks.sampler import MechanismSampler
    from dpest.attacks.sniper import sniper_attack

    if audit.budget.seconds < LEAST_RUNS * pace:
        cell["notes"].append(f"no runs: one takes {pace:.2g} s")
        return None
    sampler = MechanismSampler(audit.mechanism)
    budget = Budget(runs=audit.affordable(pace))
    found = sniper_attack(
        sampler,
        [(audit.row.x, audit.row.x2)],
        alpha=ALPHA,
        budget=budget,
        delta=audit.measure.delta,
        seed=audit.budget.seed,
    )
    cell["runs"] += found.runs
    return _bound(found, audit.limit)


def _doubles(audit: _RowAudit, pace: float, cell: dict[str, Any]) -> dict[str, Any] | None:
    from dpest.attacks.budget import Budget
    from dpest.attacks.floating import audit_doubles
    from dpest.running.skeleton import flatten

    if audit.budget.seconds < LEAST_RUNS * pace:
        return None
    try:
        leaves = [leaf for _ in range(3) for leaf in flatten(audit.mechanism(audit.row.x))[1]]
    except Exception:
        return None
    if not any(isinstance(v, float) and math.isfinite(v) and v != round(v) for v in leaves):
        return None
    budget = Budget(runs=audit.affordable(pace) // 2)
    found = audit_doubles(
        audit.mechanism,
        audit.row.x,
        audit.row.x2,
        alpha=ALPHA,
        delta=audit.measure.delta,
        seed=audit.budget.seed,
        budget=budget,
    )
    cell["runs"] += found.runs
    return _bound(found, audit.limit)


def _bound(found: Evidence, limit: float) -> dict[str, Any]:
    from dpest.verdict import exceeds

    return {
        "value": _number(found.value),
        "violated": exceeds(found, limit),
        "runs": found.runs,
        "seconds": found.seconds,
        "event": found.witness.event,
        "notes": list(found.notes),
    }


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else float(value)
