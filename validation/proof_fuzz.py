"""Soundness by fuzzing: random small programs, their proved ε against the exact ε of random pairs.

The grammar (n = 2 or 3 data, eps = 1):

    program   = shared* (loop | vector)  (7 of 10; under linf, l1, monotone)
              | query                    (3 of 10; under replace_one, add_remove_one)
    shared    = r_k = rng.NOISE(scale=c/eps)                        c in {1/2, 1, 2, 3, 4}
    NOISE     = laplace (8 times of 10) | exponential | gumbel
    loop      = for q in x: v = a·q + (NOISE | r_k)                 a in {1, 2, -1, 1/2}
                if v (>= | > | <) threshold [+ b·r_k]: hit else: miss
    hit       = append(True) | append(v) | append(v - r_k) | append(q + fresh NOISE);
                [hits += 1; if hits == cutoff: break | return]
    miss      = append(False) | append(0) | nothing
    vector    = noisy values v_j = a·x[j] + NOISE; release one of: the argmax; the largest value;
                the argmax and a fresh value; a linear combination with noise; each value; whether
                one is above another and a noisy sum; a count of those above a noisy threshold
    query     = S_1 .. S_k (k in 1..3) of records in {0, 1, 2, 3}; release one of: each S_i with
                noise; the first above a threshold, with noise, and the others; the argmax of S_i
                with noise; S_1 - S_2 with noise
    S         = sum(WEIGHT for v in x [if TEST]) | the same as a loop with `if` | len of a filtered
                list | np.bincount(x, minlength=4)[j] | Counter(x)[j] | a table looked up |
                max(x) | sorted(x)[len(x) // 2]
    TEST      = v > j | v == j | v % 2 == 0 | 1 <= v < 3 | v in (0, j)
    WEIGHT    = 1 | 2 | v | v * v | 3 - v | min(v, 2) | -1

For every program with a finite bound, the exact engine's ε of random neighbours must not exceed
it; where the proof says `exact`, the exact engine must come near to it along the ray. Prints one
line of counts; the exit status is 1 on a violation, or if fewer than half have a finite
non-trivial bound. A loss that is not computed in 15 s (three reals that hang together by two
unreleased noises) is counted as too slow.

    python validation/proof_fuzz.py [PROGRAMS] [SEED] [WORKERS]
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dpest
from dpest.errors import DpestError
from dpest.proofs import prove
from dpest.running.watchdog import Deadline, TimeUp, watched

NOISES = ("laplace",) * 8 + ("exponential", "gumbel")
SCALES = ("0.5", "1", "2", "3", "4")
FOLDER = tempfile.TemporaryDirectory(prefix="dpest_fuzz_")
SECONDS = 15.0  # of computing that one exact loss may take


def query(source: random.Random, name: str) -> str:
    """A deterministic query of records, and noise: its sensitivity is the prover's business."""
    lines = ["from collections import Counter", "import numpy as np", ""]
    lines += [f"def {name}(x, rng, *, eps=1.0):", "    prices = {0: 1, 1: 5, 2: -2, 3: 0}"]

    def noise() -> str:
        return f"rng.laplace(scale={source.choice(SCALES)} / eps)"

    count = source.randint(1, 3)
    for k in range(count):
        j = source.randrange(4)
        test = source.choice(
            (f"v > {j}", f"v == {j}", "v % 2 == 0", "1 <= v < 3", f"v in (0, {j})")
        )
        weight = source.choice(("1", "1", "2", "v", "v * v", "3 - v", "min(v, 2)", "-1"))
        kind = source.randrange(9)
        if kind <= 1:
            lines += [f"    s{k} = 0", "    for v in x:", f"        if {test}:"]
            lines += [f"            s{k} += {weight}"]
            continue
        value = (
            f"sum({weight} for v in x if {test})",
            f"sum({weight} for v in x)",
            f"len([v for v in x if {test}])",
            f"np.bincount(x, minlength=4)[{j}]",
            f"Counter(x)[{j}]",
            "sum(prices[v] for v in x)",
            source.choice(("max(x)", "sorted(x)[len(x) // 2]")),
        )[kind - 2]
        lines.append(f"    s{k} = {value}")
    sums = [f"s{k}" for k in range(count)]
    noisy = ", ".join(f"{s} + {noise()}" for s in sums)
    rest = "".join(f", {s} + {noise()}" for s in sums[1:])
    release = source.choice(
        (
            f"[{noisy}]",
            f"[{noisy}]",
            f"(s0 + {noise()} > {source.randint(0, 3)}{rest},)",
            f"int(np.argmax([{noisy}]))",
            f"{sums[0]} - {sums[-1]} + {noise()}",
        )
    )
    return "\n".join([*lines, f"    return {release}"])


def program(source: random.Random, name: str) -> str:
    lines = [f"def {name}(x, rng, *, eps=1.0):"]
    shared = source.randint(0, 2)

    def noise() -> str:
        return f"rng.{source.choice(NOISES)}(scale={source.choice(SCALES)} / eps)"

    for k in range(shared):
        lines.append(f"    r{k} = {noise()}")
    some = f"r{source.randrange(shared)}" if shared else "0"
    slope = source.choice(("1", "1", "2", "-1", "0.5"))
    threshold = f"{source.choice(('0', '1', '-0.5'))} + {source.choice(('0', '1', '-1'))} * {some}"
    if source.random() < 0.55:
        value = f"{slope} * q" + source.choice((*[f" + {noise()}"] * 8, f" + {some}"))
        hit = source.choice(
            ("True", "True", "v", f"v - {some}", f"q + {noise()}", f"v + {noise()}")
        )
        miss = source.choice(("    out.append(False)", "    out.append(0)", "    pass"))
        compare = source.choice((">=", ">", "<"))
        lines += [
            "    out, hits = [], 0",
            "    for q in x:",
            f"        v = {value}",
            f"        if v {compare} {threshold}:",
            f"            out.append({hit})",
        ]
        ending = source.choice(("", "", "break", "return out"))
        if ending:
            lines += ["            hits += 1", f"            if hits == {source.randint(1, 2)}:"]
            lines += [f"                {ending}"]
        lines += ["        else:", f"        {miss}", "    return out"]
        return "\n".join(lines)
    lines.append(f"    v = [{slope} * q + {noise()} for q in x]")
    release = source.choice(
        (
            "v.index(max(v))",
            "max(v)",
            f"(v.index(max(v)), x[0] + {noise()})",
            f"{slope} * x[0] - x[1] + {noise()} + {some}",
            "v",
            f"(v[0] > v[1], x[0] + x[1] + {noise()})",
            f"sum(w > {threshold} for w in v)",
            f"v[0] >= {threshold}",
        )
    )
    lines.append(f"    return {release}")
    return "\n".join(lines)


def load(name: str, text: str) -> Any:
    """The function of a program, from a file, as users have them."""
    path = Path(FOLDER.name) / f"{name}.py"
    path.write_text(text + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def neighbours(source: random.Random, adjacency: str, n: int) -> tuple[list[float], list[float]]:
    x = [source.randint(-8, 8) / 2 for _ in range(n)]
    if adjacency in ("replace_one", "add_remove_one"):
        records: list[Any] = [source.randrange(4) for _ in range(n)]
        other = list(records)
        if adjacency == "replace_one":
            other[source.randrange(n)] = source.randrange(4)
        else:
            other.insert(source.randrange(n + 1), source.randrange(4))
        return records, other
    if adjacency == "l1":
        d = [0.0] * n
        for share in source.choice(((1.0,), (0.5, 0.5), (0.75, 0.25))):
            d[source.randrange(n)] += source.choice((share, -share))
    elif adjacency == "monotone":
        sign = source.choice((1, -1))
        d = [sign * source.choice((0.0, 1.0, 1.0)) for _ in range(n)]
    else:
        d = [source.choice((-1.0, 1.0, 1.0, 0.5)) for _ in range(n)]
    return x, [a + b for a, b in zip(x, d, strict=True)]


@dataclass
class Outcome:
    """What came of one program."""

    counts: Counter[str]
    violations: list[str]
    closest: float | None = None


def tried(seed: int, i: int) -> Outcome:
    """One program: its proof against the exact engine, on pairs of its own."""
    source = random.Random(f"{seed}/{i}")
    if source.random() < 0.3:
        text = query(source, f"program_{i}")
        function = load(f"program_{i}", text)
        adjacency = source.choice(("replace_one", "add_remove_one"))
        n = source.choice((1, 2, 3))
        proof = prove(function, adjacency=adjacency, domain=dpest.integers(dpest.ANY, 0, 3))
    else:
        text = program(source, f"program_{i}")
        function = load(f"program_{i}", text)
        adjacency = source.choice(("linf", "linf", "l1", "monotone"))
        n = source.choice((2, 2, 3))
        proof = prove(function, adjacency=adjacency, length=n)
    found = Outcome(Counter({proof.status: 1}), [])
    if proof.epsilon is None:
        return found
    bound = float(proof.epsilon)
    found.counts.update({"finite": 1, "non-trivial": int(proof.epsilon > 0)})
    pairs = [neighbours(source, adjacency, n) for _ in range(3)]
    on_ray = proof.status == "exact" and i % 5 == 0 and proof.ray is not None
    if on_ray:
        assert proof.ray is not None
        pairs.append(proof.ray.pair(24))
    for place, (x, x2) in enumerate(pairs):
        try:
            with watched(Deadline(SECONDS)):
                loss = dpest.exact(function, x, x2, adjacency=adjacency)
        except (DpestError, TimeUp) as reason:
            found.counts["too slow" if isinstance(reason, TimeUp) else "not exact"] += 1
            continue
        found.counts["pairs"] += 1
        if loss.epsilon > bound * (1 + 1e-6) + 1e-7:
            found.violations.append(
                f"VIOLATION {adjacency} n={n} {x} {x2}: {loss.epsilon} > {proof.epsilon}\n{text}"
            )
        if on_ray and place == 3:
            found.closest = loss.epsilon / bound if bound else 1.0
    return found


def main(count: int, seed: int, workers: int) -> int:
    counts: Counter[str] = Counter()
    violations = 0
    closest = []
    with ProcessPoolExecutor(workers) as pool:
        for i, found in enumerate(pool.map(partial(tried, seed), range(count), chunksize=5)):
            if i % 50 == 0:
                print(f"{i} of {count} programs", file=sys.stderr, flush=True)
            counts += found.counts
            violations += len(found.violations)
            for violation in found.violations:
                print(violation, flush=True)
            if found.closest is not None:
                closest.append(found.closest)
    said = ", ".join(f"{k}: {v}" for k, v in sorted(counts.items()))
    near = sum(r > 0.9 for r in closest)
    print(f"{count} programs; {said}; violations: {violations}")
    if closest:
        worst = min(closest)
        print(f"on the ray: {near} of {len(closest)} above 0.9 of the bound; least {worst:.3f}")
    half = 2 * counts["non-trivial"] >= count
    return 1 if violations or not half or math.isnan(sum(closest)) else 0


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(arguments + [1000, 1, 2][len(arguments) :])))
