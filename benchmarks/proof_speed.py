"""Proofs against CheckDP's published times: one line per claim, ours, theirs, the ratio.

CheckDP (CCS 2020, table 2) reports seconds on its authors' machine, with KLEE and PSI; figures here
are processor time for `prove` alone, for every length, certificate and check included.

    python benchmarks/proof_speed.py
"""

from __future__ import annotations

import time

from dpest import zoo
from dpest.proofs import prove

PUBLISHED = {
    "ReportNoisyMax1": 70.0,
    "CheckDP_SVT": 20.0,
    "NumSVT": 26.0,
    "GapSVT": 20.0,
    "AdaptiveSVT": 27.0,
    "PartialSum": 12.0,
    "SmartSum": 21.0,
}


def main() -> None:
    prove(zoo.get("SVT1"))  # imports, once
    for name, theirs in PUBLISHED.items():
        started = time.process_time()
        proof = prove(zoo.get(name))
        ours = time.process_time() - started
        print(
            f"{name} proved at {proof.epsilon}·eps for every length: {ours:.3f} s; "
            f"CheckDP about {theirs:.0f} s; ratio {theirs / ours:.0f}"
        )


if __name__ == "__main__":
    main()
