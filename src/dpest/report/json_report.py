"""A verdict as JSON. The keys are part of the contract; ∞ is the string "inf"."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest import __version__
from dpest.evidence import Evidence, Measure, Witness
from dpest.report.sentence import sentence

if TYPE_CHECKING:
    from dpest.verdict import Verdict

FORMAT = "dpest-verdict/1"
_SURROGATE = re.compile("[\ud800-\udfff]")


def dumps(verdict: Verdict, indent: int | None = 2) -> str:
    return encoded(as_dict(verdict), indent)


def encoded(value: Any, indent: int | None = 2) -> str:
    """Anything as JSON text that every reader takes: no NaN, no halves of surrogate pairs."""
    text = json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def as_dict(verdict: Verdict) -> dict[str, Any]:
    question = verdict.question
    return {
        "format": FORMAT,
        "version": __version__,
        "mechanism": question.mechanism,
        "parameters": plain(question.parameters),
        "adjacency": question.adjacency,
        "domain": question.domain,
        "length": question.length,
        "claim": question.claim,
        "limit": plain(question.limit),
        "measure": measure(question.measure),
        "status": verdict.status,
        "lower": bound(verdict.lower),
        "upper": bound(verdict.upper),
        "floating_point": floating_point(verdict),
        "sentence": sentence(verdict),
        "demonstration": demonstration(verdict),
        "evidence": [{"side": e.side, **(bound(e) or {})} for e in verdict.evidence],
        "notes": list(verdict.notes),
        "alpha": verdict.alpha,
        "seed": verdict.seed,
        "seconds": verdict.seconds,
        "interrupted": bool(verdict.details.get("interrupted")),
        "details": plain(verdict.details),
    }


def demonstration(verdict: Verdict) -> dict[str, Any] | None:
    found = verdict.demonstration
    return None if found is None else plain(found.to_dict())


def floating_point(verdict: Verdict) -> dict[str, Any] | None:
    if verdict.floating_point is None:
        return None
    status = "violated" if verdict.floating_point_violated else "unsettled"
    return {"status": status, "lower": bound(verdict.floating_point)}


def bound(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    return {
        "value": plain(evidence.value),
        "standing": str(evidence.standing),
        "method": evidence.method,
        "assumption": evidence.assumption,
        "measure": measure(evidence.measure),
        "arithmetic": evidence.arithmetic,
        "witness": witness(evidence.witness),
        "runs": int(evidence.runs),
        "seconds": float(evidence.seconds),
        "seed": evidence.seed,
        "error": plain(evidence.error),
        "notes": list(evidence.notes),
        "details": plain(evidence.details),
    }


def measure(value: Measure) -> dict[str, Any]:
    return {"kind": value.kind, "delta": value.delta, "alpha": value.alpha}


def witness(value: Witness) -> dict[str, Any]:
    return {
        "x": plain(value.x),
        "x2": plain(value.x2),
        "event": value.event,
        "p": plain(value.p),
        "q": plain(value.q),
        "densities": value.densities,
        "replay": value.replay,
        "details": plain(value.details),
    }


def plain(value: Any) -> Any:
    """Anything as JSON can hold it: infinities and rationals as strings, arrays as lists."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return "nan"
        return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a DataFrame
        return [plain(row) for row in value.to_dict("records")]
    if isinstance(value, SimpleNamespace):
        return plain(vars(value))
    if isinstance(value, np.void):  # a row of a structured array
        return plain(dict(zip(value.dtype.names or (), value.tolist(), strict=True)))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray, range)):
        return [plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    return str(value)
