"""Soundness by fuzzing: random small programs, their proved ε against the exact ε of random pairs.

The grammar (n = 2 or 3 data, eps = 1):

    program   = shared* (loop | vector)
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

For every program with a finite bound, the exact engine's ε of random neighbours must not exceed
it; where the proof says `exact`, the exact engine must come near to it along the ray. Prints one
line of counts; the exit status is 1 on a violation, or if fewer than half have a finite
non-trivial bound.

    python validation/proof_fuzz.py [PROGRAMS] [SEED]
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import dpest
from dpest.errors import DpestError
from dpest.proofs import prove

NOISES = ("laplace",) * 8 + ("exponential", "gumbel")
SCALES = ("0.5", "1", "2", "3", "4")


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


def load(sources: list[str]) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="dpest_fuzz_"))
    path = folder / "random_programs.py"
    path.write_text("\n\n\n".join(sources) + "\n")
    spec = importlib.util.spec_from_file_location("random_programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_programs"] = module
    spec.loader.exec_module(module)
    return module


def neighbours(source: random.Random, adjacency: str, n: int) -> tuple[list[float], list[float]]:
    x = [source.randint(-8, 8) / 2 for _ in range(n)]
    if adjacency == "l1":
        d = [0.0] * n
        d[source.randrange(n)] = source.choice((1.0, -1.0))
    elif adjacency == "monotone":
        sign = source.choice((1, -1))
        d = [sign * source.choice((0.0, 1.0, 1.0)) for _ in range(n)]
    else:
        d = [source.choice((-1.0, 1.0, 1.0, 0.5)) for _ in range(n)]
    return x, [a + b for a, b in zip(x, d, strict=True)]


def main(count: int, seed: int) -> int:
    source = random.Random(seed)
    sources = [program(source, f"program_{i}") for i in range(count)]
    module = load(sources)
    outcomes: Counter[str] = Counter()
    violations = 0
    closest = []
    for i, text in enumerate(sources):
        if i % 50 == 0:
            print(f"{i} of {count} programs", file=sys.stderr, flush=True)
        function = getattr(module, f"program_{i}")
        adjacency = source.choice(("linf", "linf", "l1", "monotone"))
        n = source.choice((2, 2, 3))
        proof = prove(function, adjacency=adjacency, length=n)
        outcomes[proof.status] += 1
        if proof.epsilon is None:
            continue
        outcomes["finite"] += 1
        outcomes["non-trivial"] += proof.epsilon > 0
        bound = float(proof.epsilon)
        pairs = [neighbours(source, adjacency, n) for _ in range(3)]
        if proof.status == "exact" and i % 5 == 0 and proof.ray is not None:
            pairs.append(proof.ray.pair(24))
        for x, x2 in pairs:
            try:
                found = dpest.exact(function, x, x2).epsilon
            except DpestError:
                outcomes["not exact"] += 1
                continue
            outcomes["pairs"] += 1
            if found > bound * (1 + 1e-6) + 1e-7:
                violations += 1
                print(f"VIOLATION {adjacency} n={n} {x} {x2}: {found} > {proof.epsilon}\n{text}")
            if proof.ray is not None and (x, x2) == pairs[-1] and len(pairs) == 4:
                closest.append(found / bound if bound else 1.0)
    said = ", ".join(f"{k}: {v}" for k, v in sorted(outcomes.items()))
    near = sum(r > 0.9 for r in closest)
    print(f"{count} programs; {said}; violations: {violations}")
    if closest:
        worst = min(closest)
        print(f"on the ray: {near} of {len(closest)} above 0.9 of the bound; least {worst:.3f}")
    half = 2 * outcomes["non-trivial"] >= count
    return 1 if violations or not half or math.isnan(sum(closest)) else 0


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(arguments + [1000, 1][len(arguments) :])))
