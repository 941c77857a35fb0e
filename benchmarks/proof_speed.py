"""How long proofs take: one line per claim, our figure, the reference figure, the ratio.

The reference is what CheckDP (CCS 2020) reports as its longest run, 70 s, for annotated C with KLEE
and PSI. Ours is processor time for `prove` for every length, certificate and check included.

    python benchmarks/proof_speed.py
"""

from __future__ import annotations

import time

from dpest import zoo
from dpest.proofs import prove

LONGEST_OF_CHECKDP = 70.0
NAMES = ["ReportNoisyMax1", "CheckDP_SVT", "NumSVT", "GapSVT", "AdaptiveSVT", "PartialSum"]
NAMES += ["PrefixSum_L1", "SmartSum", "MonotoneSVT"]


def main() -> None:
    prove(zoo.get("SVT1"))  # imports, once
    total, longest = 0.0, 0.0
    for name in NAMES:
        started = time.process_time()
        prove(zoo.get(name))
        spent = time.process_time() - started
        total, longest = total + spent, max(longest, spent)
    ratio = LONGEST_OF_CHECKDP / longest
    print(
        f"the longest proof of CheckDP's right mechanisms, for every length: {longest:.3f} s; "
        f"CheckDP's longest: {LONGEST_OF_CHECKDP:.0f} s; ratio {ratio:.0f}"
    )
    print(
        f"all {len(NAMES)} of them together: {total:.2f} s; CheckDP's longest alone: "
        f"{LONGEST_OF_CHECKDP:.0f} s; ratio {LONGEST_OF_CHECKDP / total:.0f}"
    )


if __name__ == "__main__":
    main()
