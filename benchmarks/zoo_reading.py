"""Claim: the whole zoo is read in no more time than by version 0.1.0, at one input and for all.

    python benchmarks/zoo_reading.py FOLDER/src [times]

FOLDER/src are the sources of another version. Each version reads in processes of its own, in turn:
`trace` at one input (fixed), and `prove` for data of every length (every length), certificate and
check included. Processor time, the best of so many times for each mechanism, then added up. The
slowest and those that were slowed down most are named.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
MOST_SECONDS = 60.0


def some_input(entry: Any) -> Any:
    """An input of the mechanism's domain, the same in every version."""
    source = random.Random(7)
    domain = entry.domain
    values = getattr(domain, "values", None)
    if values:
        return next(iter(values))
    low, high = getattr(domain, "low", 0.0), getattr(domain, "high", 10.0)
    low, high = (low, high) if abs(low) < 1e6 and abs(high) < 1e6 else (-10.0, 10.0)
    length = domain.length if isinstance(domain.length, int) else 5
    whole = "Integers" in type(domain).__name__
    numbers = [source.randint(int(low), int(high)) if whole else source.uniform(low, high)
               for _ in range(length)]  # fmt: skip
    return domain.as_input(numbers)


def measure() -> None:
    """All mechanisms once, in this process: seconds by kind of reading and name, as JSON."""
    from dpest import zoo
    from dpest.proofs import prove

    try:
        from dpest.reading.trace import trace
    except ModuleNotFoundError:  # 0.1.0
        from dpest.program.trace import trace  # type: ignore[no-redef, import-not-found]
    trace(zoo.get("SVT1"), [1.0] * 3)
    prove(zoo.get("SVT1"))
    found: dict[str, dict[str, Any]] = {"fixed": {}, "every length": {}}
    for name in zoo.names():
        entry = zoo.get(name)
        work = {
            "fixed": lambda e=entry: trace(e, some_input(e)),
            "every length": lambda e=entry: prove(e),
        }
        for kind, one in work.items():
            start = time.process_time()
            try:
                one()
                answered = True
            except Exception:
                answered = False
            found[kind][name] = (time.process_time() - start, answered)
    print(json.dumps(found))


def measured_with(sources: Path) -> dict[str, dict[str, tuple[float, bool]]]:
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    command = [sys.executable, __file__, "--measure"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, tuple[float, bool]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    if sys.argv[1:] == ["--measure"]:
        measure()
        return 0
    other, times = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    runs = [(measured_with(SOURCES), measured_with(other)) for _ in range(times)]
    good = True
    for kind in ("fixed", "every length"):
        names = runs[0][0][kind]
        ours, theirs = (
            {name: min(run[side][kind][name][0] for run in runs) for name in names}
            for side in (0, 1)
        )
        answered = [sum(runs[0][side][kind][name][1] for name in names) for side in (0, 1)]
        total, before = sum(ours.values()), sum(theirs.values())
        good &= total <= before
        print(
            f"the zoo, {kind}: {total:.2f} s ({answered[0]} of {len(names)} read); "
            f"0.1.0: {before:.2f} s ({answered[1]}); ratio {total / before:.2f}"
        )
        slowed = sorted(names, key=lambda n: theirs[n] - ours[n])[:6]
        print(
            "  most slowed: " + ", ".join(f"{n} {ours[n]:.2f} of {theirs[n]:.2f}" for n in slowed)
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
