"""Upper bounds of subsampled Gaussian steps against dp-accounting, on a grid of 40 settings.

    python validation/accountant_grid.py

For each noise σ, sampling chance q, number of steps T and δ: ε by the kernel's own arithmetic
(integers, rounded upwards) over dp-accounting's pessimistic ε, which must lie between 1 and 1.005
(theirs is itself rounded up, and by floats: a last digit below 1 is forgiven); and the loss of the
dominating pair from below, which must not be above theirs. The exit status is 1 where one fails, or
where the bound took 2 s of processor time.
"""

from __future__ import annotations

import itertools
import sys
import time
from fractions import Fraction

from dp_accounting.pld import privacy_loss_distribution as pld

from dpest.kernel.approximate.accountant import Account, StageLoss
from dpest.proofs.approximate.dominating import dominating_epsilon

GRID = [
    *itertools.product((0.8, 1.0, 2.0, 4.0), (0.01, 0.1), (10, 100), (1e-5,)),
    *itertools.product((0.7, 1.5), (0.2, 0.5), (1, 5), (1e-3, 1e-6)),
    (1.0, 0.01, 1000, 1e-5),
    (0.8, 0.001, 1000, 1e-6),
    (1.0, 0.004, 5000, 1e-5),
    (1.2, 0.005, 2000, 1e-6),
    (2.0, 0.02, 1000, 1e-5),
    (6.0, 1.0, 50, 1e-6),
    (10.0, 0.5, 300, 1e-5),
    (0.6, 0.01, 100, 1e-5),
]


def main() -> int:
    assert len(GRID) == 40
    bad, slowest, largest, least = 0, 0.0, 0.0, 9.0
    print("    σ      q     T      δ |   theirs     ours/theirs  pair/theirs  seconds")
    for sigma, q, steps, delta in GRID:
        theirs = (
            pld.from_gaussian_mechanism(
                sigma,
                sampling_prob=q,
                use_connect_dots=True,
                # Their default of 1e-4 is coarse where ε itself is small.
                value_discretization_interval=1e-4 if sigma < 4 else 1e-5,
            )
            .self_compose(steps)
            .get_epsilon_for_delta(delta)
        )
        began = time.process_time()
        ledger = [(StageLoss("gauss", 1 / Fraction(sigma) ** 2, Fraction(q)), steps)]
        account = Account(ledger)
        found = account.epsilon(Fraction(delta))
        spent = time.process_time() - began
        assert found is not None
        ours = float(found)
        pair = dominating_epsilon(account.ledger, delta, ours)
        shown = "      -" if pair is None else f"{pair / theirs:.6f}"
        fails = not 1 - 1e-6 <= ours / theirs <= 1.005 or spent > 2
        fails = fails or (pair is not None and pair > theirs * (1 + 1e-6))
        bad += fails
        slowest, largest, least = (
            max(slowest, spent),
            max(largest, ours / theirs),
            min(least, ours / theirs),
        )
        mark = "  FAILS" if fails else ""
        print(
            f"{sigma:5g} {q:6g} {steps:5} {delta:6g} | {theirs:10.6f} {ours / theirs:14.8f}  "
            f"{shown:>11} {spent:8.2f}{mark}",
            flush=True,
        )
    print(f"{bad} of {len(GRID)} fail; ours/theirs from {least:.8f} to {largest:.6f}; "
          f"slowest {slowest:.2f} s")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
