"""Random programs: the machine on numbers against CPython, and traces against plain runs.

    python validation/random_programs.py [PROGRAMS] [WITH_NOISE]

Counts programs that agree on all their inputs, that are refused, and that don't agree; of the last
there must be none. They are those of tests/semantics/random_programs.py, with other seeds.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from reading.conformance import check_conformance
from semantics.comparing import conforms, mismatch

FIRST = 100_000


def on_numbers(count: int) -> int:
    started, found = time.perf_counter(), Counter[str]()
    for i in range(count):
        answer = mismatch(FIRST + i)
        found["refused" if answer is None else "different" if answer else "alike"] += 1
        if answer:
            print(answer)
    print(
        f"{count} programs on numbers, three inputs each: {found['alike']} as CPython, "
        f"{found['refused']} refused, {found['different']} different"
    )
    print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return found["different"]


def with_noise(count: int) -> int:
    started, found = time.perf_counter(), Counter[str]()
    for i in range(count):
        try:
            found["alike" if conforms(FIRST + i, check_conformance) else "refused"] += 1
        except AssertionError as error:
            found["different"] += 1
            print(error)
    print(
        f"{count} programs with noise, two inputs each, 20 runs: {found['alike']} traces agree "
        f"with their runs, {found['refused']} refused, {found['different']} different"
    )
    print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return found["different"]


def main() -> int:
    warnings.simplefilter("ignore")
    counts = [int(word) for word in sys.argv[1:]] or [2000, 100]
    wrong = on_numbers(counts[0]) + with_noise(counts[1] if len(counts) > 1 else 100)
    print("no mismatch" if not wrong else f"{wrong} MISMATCHES")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
