"""Twenty mechanisms on DataFrames, right and with five bugs planted in each: what an audit says.

A right one must be settled (proved or exact), one with a bug violated; where it is not, the
line says what was found. The exit status is 1 where an answer is wrong: a right one violated,
or one with a bug called private although it leaks more than it claims.

    python validation/pandas_audits.py [NAME…]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from pandas_mechanisms import BUGS, PEOPLE, RIGHT

import dpest

# With two rows per person a released sum leaks 2; what is computed from several may leak less.
MAY_HOLD = "two rows per person"


def audited(name: str, bug: str | None) -> tuple[str, str]:
    """(what is right, one line) for one function."""
    function, fields = RIGHT[name], PEOPLE
    if bug is not None:
        plant, fields = BUGS[bug]
        function = plant(function)
    started = time.monotonic()
    verdict = dpest.audit(
        function,
        epsilon=1.0,
        adjacency="add_remove_one",
        domain=f"table(any, {fields}, as_='pandas')",
        budget="2s" if bug is None else None,
        seed=1,
    )
    ends = [None if e is None else round(e.value, 3) for e in (verdict.lower, verdict.upper)]
    wanted = ("proved", "exact") if bug is None else ("violated",)
    found = "right" if verdict.status in wanted else "open"
    proved = bug is not None and verdict.status in ("proved", "exact")
    if (bug is None and verdict.status == "violated") or (proved and bug != MAY_HOLD):
        found = "wrong"
    took = time.monotonic() - started
    line = f"{found:6} {name:18} {bug or 'as it is':20} {verdict.status:9} {ends}  {took:.0f} s"
    return found, line


def main() -> int:
    names = sys.argv[1:] or list(RIGHT)
    totals: Counter[str] = Counter()
    for bug in (None, *BUGS):
        for name in names:
            found, line = audited(name, bug)
            totals[found] += 1
            print(line, flush=True)
    print(f"{totals['right']} right, {totals['open']} open, {totals['wrong']} wrong")
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
