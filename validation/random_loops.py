"""Random programs that pass over their data: graphs for every length against plain runs.

    python validation/random_loops.py [PROGRAMS]

Each program that the machine reads is run on twelve inputs of lengths 0 to 5 with random draws. Its
graph must have exactly one way for each run, with the same draws (family and parameters), and
release the same in the same order. They are those of tests/reading/random_loops.py, with other
seeds. The exit status is 1 if one differs.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from dpest.errors import ReplayError
from reading.random_loops import agrees, program

FIRST = 200_000


def main() -> int:
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    started, found = time.perf_counter(), Counter[str]()
    for seed in range(FIRST, FIRST + count):
        try:
            found["alike" if agrees(seed) else "refused"] += 1
        except (AssertionError, ReplayError) as error:
            found["different"] += 1
            print(f"{program(seed)}\n{error}")
    print(
        f"{count} programs that pass over data of any length, twelve runs each: {found['alike']} "
        f"graphs agree with their runs, {found['refused']} refused, {found['different']} different"
    )
    print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 1 if found["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
