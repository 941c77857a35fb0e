"""CheckDP's benchmark: right mechanisms proved at their claims, wrong ones refuted by an input.

Each wrong mechanism's refutation comes with a ray of inputs; the exact engine must find, on a pair
of that ray, a loss above the claim (rays on longer data than 8 are not asked). CheckDP (Wang, Ding,
Xiao, Kifer and Zhang, CCS 2020) needs annotated C, KLEE and PSI, and took up to 70 s for one of
these. Prints a table; the exit status is 1 if one fails, or if all together take more than 30 s of
processor time.

    python validation/checkdp.py
"""

from __future__ import annotations

import sys
import time

import dpest
from dpest import zoo
from dpest.proofs import prove

RIGHT = [
    ("ReportNoisyMax1", {}),
    ("ReportNoisyMax2", {}),
    ("CheckDP_SVT", {}),
    ("MonotoneSVT", {}),
    ("GapSVT", {}),
    ("NumSVT", {}),
    ("AdaptiveSVT", {}),
    ("PartialSum", {}),
    ("PrefixSum_L1", {}),
    ("SmartSum", {}),
]
WRONG = [
    ("ReportNoisyMax3", {}),
    ("StatDP_iSVT1", {}),
    ("StatDP_iSVT2", {}),
    ("StatDP_iSVT3", {}),
    ("StatDP_iSVT4", {}),
    ("GapSVT_wrong", {}),
    ("AdaptiveSVT_wrong", {}),
    ("PartialSum_wrong", {}),
    ("SmartSum_wrong", {}),
]

LONGEST = 8  # the exact engine integrates over the gaps of longer runs for minutes


def confirmed(mechanism: dpest.Mechanism, proof: object, claim: float) -> tuple[bool, float]:
    """Whether the exact engine finds more than the claim on the ray, and what it finds."""
    ray = proof.ray  # type: ignore[attr-defined]
    best = 0.0
    for scale in (1, 4, 16, 64):
        x, x2 = ray.pair(scale)
        best = max(best, dpest.exact(mechanism, x, x2).epsilon)
        if best > claim * (1 + 1e-9):
            return True, best
    return False, best


def main() -> int:
    prove(zoo.get("SVT1"))  # imports, once
    failures, spent = 0, 0.0
    print(
        f"{'mechanism':<20} {'claim':>6} {'status':<12} {'ε':>6} {'at n':>5} {'s':>6}  exact engine"
    )
    for names, right in ((RIGHT, True), (WRONG, False)):
        for name, params in names:
            mechanism = zoo.get(name).with_params(params)
            started = time.process_time()
            proof = prove(mechanism)
            seconds = time.process_time() - started
            spent += seconds
            value = proof.epsilon if right else proof.lower.value
            note = ""
            if right:
                good = proof.proved and proof.status in ("exact", "upper bound")
            else:
                claim = float(mechanism.claim.resolve(mechanism.all_params).epsilon)
                good = proof.status == "refuted"
                if proof.lower.length <= LONGEST:
                    shown, found = confirmed(mechanism, proof, claim)
                    good = good and shown
                    note = f"{found:.6g} > {claim:.6g}" if shown else f"only {found:.6g}"
                else:
                    note = f"not asked: its ray has n = {proof.lower.length}"
            failures += not good
            length = proof.length if right else proof.lower.length
            row = f"{name:<20} {proof.claimed!s:>6} {proof.status:<12} {value!s:>6} {length!s:>5}"
            print(f"{row} {seconds:6.2f}  {note}{'' if good else '  FAILED'}")
    print(f"{failures} failed; {spent:.1f} s of processor time for the proofs")
    return 1 if failures or spent > 30 else 0


if __name__ == "__main__":
    sys.exit(main())
