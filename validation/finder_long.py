"""DP-Finder on longer inputs: AT at n = 8, 12, 16 and 20, whose truth is n·eps/2.

Its paths double with every entry; the search smooths the program instead, and lists the paths into
one event alone. Each line: the truth, what the search alone found (the event's own ratio, exact),
what is reported after refinement, and the time.

    python validation/finder_long.py [n ...]
"""

import sys
import time

import dpest
from dpest import zoo

LEAST, MOST_SECONDS = 0.95, 30.0


def main(lengths) -> int:
    failures = 0
    print(
        f"{'n':>3} {'paths':>9} {'truth':>7} {'search':>9} {'refined':>9} {'ratio':>6} {'cpu s':>6}"
    )
    for n in lengths:
        started = time.process_time()
        found = dpest.attack(zoo.get("AT"), method="finder", length=n, seed=0)
        seconds = time.process_time() - started
        truth = n * 0.1 / 2
        search = found.details["search_event"]
        ratio = found.value / truth
        good = LEAST <= ratio <= 1 + 1e-9 and seconds < MOST_SECONDS
        failures += not good
        print(
            f"{n:3} {2**n:9} {truth:7.3f} {search:9.5f} {found.value:9.5f} {ratio:6.3f} "
            f"{seconds:6.1f} {'' if good else 'NOT AS IT SHOULD BE'}",
            flush=True,
        )
    print("all as it should be" if not failures else f"{failures} rows are not as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main([int(n) for n in sys.argv[1:]] or [8, 12, 16, 20]))
