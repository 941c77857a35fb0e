"""The zoo's formulas for the true worst case against proofs by linear programming.

The formulas were derived by hand from the cost of moving the threshold; the proofs find their
alignments by themselves and bound from both sides. Prints a table by length; the exit status is 1
if a formula lies above a proved upper bound or below a proved lower one.

    python validation/zoo_truths_against_proofs.py [LONGEST]
"""

from __future__ import annotations

import math
import sys

import dpest
from dpest import zoo


def main(longest: int) -> int:
    print(f"{'mechanism':<24} {'n':>3} {'formula':>10} {'lower':>10} {'upper':>10}")
    wrong = 0
    for entry in zoo.entries():
        if entry.about["truth"] is None or not isinstance(entry.claim, dpest.PureDP):
            continue
        unit = entry.claim.unit
        for n in range(1, min(longest, entry.about["length"]) + 1):
            truth = entry.about["truth"](n, entry.all_params)
            try:
                proof = dpest.prove(entry, length=n)
            except Exception as error:  # a table of everything is worth more than the first failure
                print(f"{entry.name:<24} {n:>3} {show(truth)} {type(error).__name__}: {error}"[:99])
                continue
            if proof.epsilon is None and proof.lower is None:
                print(f"{entry.name:<24} {n:>3} {show(truth)} {'no proof':>10}")
                continue
            scale = float(entry.all_params[unit]) if proof.unit else 1.0
            upper = math.inf if proof.epsilon is None else float(proof.epsilon) * scale
            lower = 0.0 if proof.lower is None else float(proof.lower.value) * scale
            inside = truth is None or lower * (1 - 1e-9) <= truth <= upper * (1 + 1e-9)
            wrong += not inside
            mark = "" if inside else "  WRONG"
            print(f"{entry.name:<24} {n:>3} {show(truth)} {show(lower)} {show(upper)}{mark}")
    print(f"{wrong} formulas outside of what is proved")
    return 1 if wrong else 0


def show(value: float | None) -> str:
    return f"{'-' if value is None else f'{value:.6g}':>10}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 4))
