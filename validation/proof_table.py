"""The table of minimal ε: fixed lengths by cells, every length by potentials, against known values.

Values in units of eps. Prints the table and the time of each proof; the exit status is 1 if a value
differs, if a proof of a right mechanism is not exact, or if a proof for every length takes longer
than 0.2 s of processor time (after a warm-up).

    python validation/proof_table.py [LENGTH ...]
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import dpest
from dpest import zoo
from dpest.proofs import prove

F = Fraction
NONE = "none"
INFINITE = "∞"

# name, parameters, {length: ε}, for every length (NONE: no finite bound; None: not asked)
TABLE: list[tuple[str, dict[str, Any], dict[int, Any], Any]] = [
    ("ReportNoisyMax1", {}, {5: 1, 10: 1, 20: 1}, 1),
    ("ReportNoisyMax2", {}, {5: 1, 10: 1, 20: 1}, 1),
    ("GumbelMax", {}, {5: 1, 10: 1, 20: 1}, 1),
    ("NoisyMaxGap", {}, {3: 1, 4: 1}, 1),
    ("SVT1", {"cutoff": 1}, {5: 1, 10: 1, 20: 1}, 1),
    ("SVT1", {"cutoff": 2}, {5: F(5, 8), 10: 1, 20: 1}, 1),
    ("SVT2", {"cutoff": 1}, {5: 1, 10: 1, 20: 1}, 1),
    ("SVT2", {"cutoff": 2}, {5: F(5, 8), 10: 1, 20: 1}, 1),
    ("GapSVT", {"cutoff": 1}, {5: 1, 10: 1, 20: 1}, 1),
    ("GapSVT", {"cutoff": 2}, {5: F(5, 8), 10: 1, 20: 1}, 1),
    ("NumSVT", {"cutoff": 2}, {5: F(3, 4), 10: 1, 20: 1}, 1),
    ("PartialSum", {}, {5: 1, 10: 1, 20: 1}, 1),
    ("PrefixSum_L1", {}, {5: 1, 10: 1, 20: 1}, 1),
    ("SmartSum", {}, {5: 2, 10: 2, 20: 2}, 2),
    ("ReportNoisyMax3", {}, {5: F(5, 2), 10: 5, 20: 10}, None),
    ("SVT3", {"cutoff": 1}, {5: F(5, 2), 10: 5, 20: 10}, NONE),
    ("SVT4", {"cutoff": 1}, {5: F(7, 4), 10: F(7, 4), 20: F(7, 4)}, F(7, 4)),
    ("SVT4", {"cutoff": 2}, {5: F(13, 4), 10: F(13, 4), 20: F(13, 4)}, F(13, 4)),
    ("SVT5", {}, {5: INFINITE}, NONE),
    ("SVT6", {}, {5: F(5, 2), 10: 5, 20: 10}, NONE),
]


def found(proof: Any, length: Any) -> Any:
    """The minimal ε where it is known from both sides, else what is known."""
    lower = proof.lower.value if proof.lower is not None else None
    if proof.epsilon is None:
        return INFINITE if length is not dpest.ANY and lower == float("inf") else NONE
    return proof.epsilon if lower == proof.epsilon else f"<={proof.epsilon}"


def main(lengths: list[int]) -> int:
    prove(zoo.get("SVT1"))  # imports, once
    wrong, total = 0, 0.0
    print(f"{'mechanism':<18} {'parameters':<14} {'length':>6} {'ε/eps':>8} {'known':>8} {'s':>6}")
    for name, params, at, every in TABLE:
        cases: list[tuple[Any, Any]] = [(n, at[n]) for n in at if n in lengths or n < 5]
        if every is not None:
            cases.append((dpest.ANY, every))
        for length, known in cases:
            started = time.process_time()
            proof = prove(zoo.get(name), length=length, params=params)
            spent = time.process_time() - started
            total += spent
            value = found(proof, length)
            slow = length is dpest.ANY and every != NONE and spent > 0.2
            bad = value != known or slow
            wrong += bad
            chosen = ",".join(f"{k}={v}" for k, v in params.items())
            mark = ("  SLOW" if slow else "  WRONG") if bad else ""
            figures = f"{length!s:>6} {value!s:>8} {known!s:>8} {spent:6.2f}"
            print(f"{name:<18} {chosen:<14} {figures}{mark}")
    print(f"{wrong} differ; {total:.1f} s of processor time")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main([int(a) for a in sys.argv[1:]] or [5, 10]))
