"""Leaks behind a number in the code: how many are found, by which way of choosing pairs.

    python validation/hidden_thresholds.py [SECONDS] [WORKERS]

Thirty functions leak only where their data cross a constant between 0.001 and 10,000,000: written
in a loop, in a table, or in a conjunction of two. Each claims ε = 1 and truly loses more there.
Three searches get the same budget of runs on each, as readable code and as a black box: pairs
drawn at random from the domain's box, the literature's patterns, and the search of an audit.
Prints the share that each refutes within SECONDS (10 by default).
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import dpest
from dpest.ask.patterns import patterns

CONSTANTS = (0.0013, 0.037, 0.72, 6.4, 58.0, 430.5, 7_700.0, 91_000.0, 612_000.0, 9_300_000.0)

LOOP = """
def loop_{i}(x{rng}):
    hits = 0
    for v in x:
        if v > {c!r}:
            hits += 4
    return hits + {source}.laplace(scale=1.0)
"""
TABLE = """
EDGES_{i} = [{c!r}, {d!r}]

def table_{i}(x{rng}):
    bins = [sum(v >= e for v in x) for e in EDGES_{i}]
    return [4 * b + {source}.laplace(scale=1.0) for b in bins]
"""
CONJUNCTION = """
def conjunction_{i}(x{rng}):
    both = sum(x) > {c!r} and len(x) > 2
    return (5 if both else 0) + {source}.laplace(scale=1.0)
"""


def functions(folder: Path, black_box: bool) -> list[Callable[..., Any]]:
    rng, source = ("", "np.random") if black_box else (", rng", "rng")
    text = "import numpy as np\n"
    for i, c in enumerate(CONSTANTS):
        for template in (LOOP, TABLE, CONJUNCTION):
            text += template.format(i=i, c=c, d=3.7 * c, rng=rng, source=source)
    path = folder / f"hidden_{'black' if black_box else 'readable'}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return [v for k, v in vars(module).items() if k[0] in "ltc" and callable(v)]


def by_pairs(f: Callable[..., Any], pairs: list[tuple[Any, Any]], seconds: float) -> bool:
    """A sequential attack on each pair, until one refutes the claim or the time is up."""
    started = time.monotonic()
    for x, x2 in pairs:
        if time.monotonic() - started > seconds:
            return False
        found = dpest.attack(
            f, x, x2, method="sequential", epsilon=1, alpha=0.001, budget="20000runs",
            adjacency="replace_one",
        )  # fmt: skip
        if found.value > 1:
            return True
    return False


def at_random(f: Callable[..., Any], seconds: float) -> bool:
    rng = np.random.default_rng(0)
    domain = dpest.reals(5)
    pairs = []
    for _ in range(200):
        x = domain.random(rng)
        pairs.append((x, [domain.random_entry(rng), *x[1:]]))
    return by_pairs(f, pairs, seconds)


def by_patterns(f: Callable[..., Any], seconds: float) -> bool:
    known = patterns(dpest.replace_one(), dpest.reals(5), 5, both_orders=False)
    return by_pairs(f, [(x, x2) for _, x, x2 in known], seconds)


def by_audit(f: Callable[..., Any], seconds: float) -> bool:
    started = time.monotonic()
    verdict = dpest.audit(f, epsilon=1, adjacency="replace_one", length=5, alpha=0.001)
    return verdict.violated and time.monotonic() - started <= seconds


WAYS = {"random pairs": at_random, "patterns": by_patterns, "audit": by_audit}


def found(way: str, folder: Path, black_box: bool, place: int, seconds: float) -> tuple[str, bool]:
    """The function's name, and whether its leak is found."""
    f = functions(folder, black_box)[place]
    return f.__name__, WAYS[way](f, seconds)


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 10.0
    workers = int(arguments[1]) if len(arguments) > 1 else 1
    print(f"{'':14} {'':10} found within {seconds:g} s, of 30")
    complete = True
    with (
        tempfile.TemporaryDirectory() as made,
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
    ):
        for black_box in (False, True):
            count = 3 * len(CONSTANTS)
            for way in WAYS:
                folders = [Path(made, f"{way}-{black_box}-{place}") for place in range(count)]
                for folder in folders:
                    folder.mkdir()
                repeated = [way] * count, folders, [black_box] * count
                rows = list(pool.map(found, *repeated, range(count), [seconds] * count))
                missed = [name for name, is_found in rows if not is_found]
                kind = "black box" if black_box else "readable"
                print(f"{way:14} {kind:10} {count - len(missed):3}", flush=True)
                if way == "audit":
                    complete = complete and not missed
                    print(f"{'':14} {'':10} missed: {', '.join(missed) or 'none'}", flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
