"""Random small functions of noise: exact losses against densities by a second way.

    python validation/random_losses.py [FUNCTIONS] [FIRST]

Counts what `dpest.exact` answers: exactly, infinite, as a lower bound, refused. Of values that the
second way contradicts there must be none; each is printed with its function. The functions and the
second way are those of tests/agreement/small_functions.py, with other seeds.
"""

from __future__ import annotations

import linecache
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import dpest
from agreement.small_functions import disagreement, small_function
from dpest.errors import DpestError

FIRST = 100_000


def answer(seed: int) -> tuple[str, str]:
    """What kind of answer a function gets, and what is false about it."""
    function = small_function(seed)
    name = f"<random function {seed}>"
    linecache.cache[name] = (len(function.code), None, function.code.splitlines(True), name)
    namespace: dict[str, object] = {}
    exec(compile(function.code, name, "exec"), namespace)
    try:
        loss = dpest.exact(namespace["f"], *function.pair)
    except DpestError as error:
        return f"refused ({type(error).__name__})", ""
    kind = "infinite" if loss.epsilon == float("inf") else "exact"
    kind = kind if loss.complete else "a lower bound"
    false = disagreement(function, loss)
    return kind, false and f"{false}\n  {loss}, {function.pair}\n{function.code}"


def main(count: int, first: int) -> int:
    found, wrong = Counter[str](), 0
    started = time.process_time()
    for seed in range(first, first + count):
        kind, false = answer(seed)
        found[kind] += 1
        if false:
            wrong += 1
            print(f"seed {seed}: {false}", flush=True)
    print(
        f"{count} functions from seed {first}: "
        + ", ".join(f"{n} {k}" for k, n in sorted(found.items()))
    )
    print(f"{wrong} contradicted by the second way")
    print(f"  {time.process_time() - started:.0f} s", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    numbers = [int(a) for a in sys.argv[1:]]
    sys.exit(bool(main(*(numbers + [300, FIRST][len(numbers) :]))))
