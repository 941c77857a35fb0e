"""Random programs with δ > 0 against exactly integrated losses: no bound may lie below one.

    python validation/random_approximate_programs.py [COUNT] [SEED]

Each program has one to three steps. A step adds up a function of the records (clipped, squashed,
compared with a threshold, depending on earlier releases), over all of them or over a sample, and
releases it with Laplace or Gaussian noise, or hides it below a threshold. Half of them have data of
their own choice of neighbours. The oracle cuts the outputs into bins, whose chances under both
inputs follow from distribution functions, and adds up (P − e^ε Q)₊: a lower bound on δ(ε). A tenth
of the programs have a bug that leaves something without noise: they must be refused.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import dpest
from dpest.errors import DpestError
from dpest.kernel.approximate.accountant import Account, planned
from dpest.proofs.approximate.proving import contributions
from dpest.proofs.question import asked

LOW, HIGH = -3.0, 3.0
EPSILONS = (0.0, 0.3, 1.0, 2.5)
BUGS = ("noise reused", "noise forgotten", "clip forgotten", "scale from the data", "early end")


@dataclass
class Step:
    """One step: the lines that set `a` for a record v and a public w, and the same in NumPy."""

    lines: list[str]
    function: Any
    sampled: float | None
    family: str
    scale: float
    rate: float
    hidden: float | None


@dataclass
class Program:
    steps: list[Step]
    adjacency: str
    bug: str | None
    source: str = field(default="")


def contribution(r: random.Random) -> tuple[list[str], Any]:
    a, b = r.choice([1.0, -1.0, 0.5, 2.0]), r.choice([0.0, 0.0, 1.0, -0.5])
    c, t = r.choice([0.5, 1.0, 2.0]), r.choice([-1.0, 0.0, 1.5])
    low, high = r.choice([(0.0, 1.0), (-1.0, 1.0), (-0.5, 2.0)])

    def u(v: Any, w: Any) -> Any:
        return a * v + b * w

    inner = f"{a}*v + {b}*w"
    tiny = 1e-6
    return r.choice(
        [
            ([f"a = min(max({inner}, -{c}), {c})"], lambda v, w: np.clip(u(v, w), -c, c)),
            ([f"a = np.clip({inner}, {low}, {high})"], lambda v, w: np.clip(u(v, w), low, high)),
            (
                [f"g = {inner}", f"a = g / max(1.0, abs(g) / {c})"],
                lambda v, w: np.clip(u(v, w), -c, c),
            ),
            (
                [f"g = {inner}", f"a = g * min(1.0, {c} / (abs(g) + {tiny}))"],
                lambda v, w: u(v, w) * np.minimum(1, c / (np.abs(u(v, w)) + tiny)),
            ),
            (
                [f"if {a}*v > {t} + {b}*w:", f"    a = {c}", "else:", "    a = 0.0"],
                lambda v, w: np.where(a * v > t + b * w, c, 0.0),
            ),
            ([f"a = min(max(v, 0.0), {c}) ** 2"], lambda v, w: np.clip(v, 0, c) ** 2 + 0 * w),
            ([f"a = {c} * np.tanh({inner})"], lambda v, w: c * np.tanh(u(v, w))),
            ([f"a = 1 / (1 + np.exp(-({inner})))"], lambda v, w: expit(u(v, w))),
            (
                [f"a = np.clip(v, 0, 1) * np.clip({b}*w - v, -{c}, {c})"],
                lambda v, w: np.clip(v, 0, 1) * np.clip(b * w - v, -c, c),
            ),
            (
                [f"a = np.clip(v, -1, 1) ** 2 - np.clip(v, 0, {c})"],
                lambda v, w: np.clip(v, -1, 1) ** 2 - np.clip(v, 0, c) + 0 * w,
            ),
        ]
    )


def program(r: random.Random) -> Program:
    steps = []
    for _ in range(r.choice([1, 1, 2, 2, 3])):
        lines, function = contribution(r)
        steps.append(
            Step(
                lines,
                function,
                r.choice([None, None, 0.2, 0.5]),
                r.choice(["normal", "laplace"]),
                r.choice([0.8, 1.0, 2.0, 3.0]),
                r.choice([0.0, 0.3, -1.0]),
                r.choice([None, None, None, 0.5, 2.0]),
            )
        )
    bug = r.choice(BUGS) if r.random() < 0.1 else None
    found = Program(steps, r.choice(["add_remove_one", "replace_one"]), bug)
    found.source = source(found, r)
    return found


def source(p: Program, r: random.Random) -> str:
    out = ["import numpy as np", "", "", "def program(x, rng):", "    w = 0.0", "    out = []"]
    wrong = r.randrange(len(p.steps))
    for i, step in enumerate(p.steps):
        pad = "        "
        out += ["    s = 0.0", "    for v in x:"]
        if step.sampled:
            out.append(f"{pad}if rng.random() < {step.sampled}:")
            pad += "    "
        bug = p.bug if i == wrong else None
        out += [pad + line for line in step.lines]
        out.append(f"{pad}s += " + ("v * v * v" if bug == "clip forgotten" else "a"))
        if bug == "early end":
            out += [f"{pad}if v > 2.5:", f"{pad}    break"]
        scale = f"{step.scale} + abs(s)" if bug == "scale from the data" else step.scale
        out.append(f"    h = rng.{step.family}(0, {scale})")
        out.append("    y = s" + ("" if bug == "noise forgotten" else " + h"))
        if bug == "noise reused":
            out += ["    out.append(float(y))", "    y = 2 * s + h"]
        if step.hidden is None:
            out += ["    out.append(float(y))", f"    w = w + {step.rate} * y"]
        else:
            out += [
                f"    if y > {step.hidden}:",
                "        out.append(float(y))",
                f"        w = w + {step.rate} * y",
                "    else:",
                "        out.append(None)",
            ]
    return "\n".join([*out, "    return out", ""])


# The oracle ---------------------------------------------------------------------------------------


def cdf(step: Step, x: Any) -> Any:
    if step.family == "normal":
        return norm.cdf(x / step.scale)
    z = x / step.scale
    return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))


def cuts(p: Program) -> list[Any]:
    size = {1: 4000, 2: 300, 3: 70}[len(p.steps)]
    found = []
    for step in p.steps:
        span = (6 if step.family == "normal" else 9) * step.scale + 3
        first = -span if step.hidden is None else step.hidden
        found.append(np.concatenate([[-1e9], np.linspace(first, first + 2 * span, size), [1e9]]))
    return found


def chances(p: Program, data: list[float], edges: list[Any]) -> Any:
    """Of every bin of outputs. w is computed from the middle of a bin, a public function of it."""
    shape = tuple(len(e) - 1 for e in edges)
    total, w = np.ones(shape), np.zeros(shape)
    for t, step in enumerate(p.steps):
        view = [1] * len(shape)
        view[t] = -1
        low, high = edges[t][:-1], edges[t][1:]
        middle = np.clip((low + high) / 2, -1e3, 1e3)
        chance: Any = 0.0
        for chosen, weight in samples(len(data), step.sampled):
            s = sum((step.function(data[i], w) for i in chosen), np.zeros(shape))
            part = cdf(step, high.reshape(view) - s) - cdf(step, low.reshape(view) - s)
            chance = chance + weight * part
        total = total * chance
        move = np.broadcast_to(step.rate * middle.reshape(view), shape).copy()
        if step.hidden is not None:
            first: list[Any] = [slice(None)] * len(shape)
            first[t] = slice(0, 1)
            move[tuple(first)] = 0.0
        w = w + move
    return total


def samples(n: int, q: float | None) -> Iterator[tuple[tuple[int, ...], float]]:
    if q is None:
        yield tuple(range(n)), 1.0
        return
    for k in range(n + 1):
        for chosen in itertools.combinations(range(n), k):
            yield chosen, q**k * (1 - q) ** (n - k)


def pairs(p: Program, r: random.Random) -> Iterator[tuple[list[float], list[float]]]:
    values = [LOW, HIGH, 0.0, 1.0, -1.0, r.uniform(LOW, HIGH)]
    for _ in range(5):
        common = [r.choice(values) for _ in range(r.choice([0, 0, 1]))]
        v, u = r.sample(values, 2)
        one = [u, *common] if p.adjacency == "replace_one" else common
        yield ([v, *common], one) if r.random() < 0.5 else (one, [v, *common])


def lower(p: Program, x: list[float], x2: list[float]) -> list[float]:
    edges = cuts(p)
    a, b = chances(p, x, edges), chances(p, x2, edges)
    return [float(np.maximum(a - np.exp(e) * b, 0).sum()) for e in EPSILONS]


# The comparison -----------------------------------------------------------------------------------


def compiled(text: str, folder: Path, number: int) -> Any:
    path = folder / f"program_{number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"program_{number}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def bounds(p: Program, function: Any) -> list[float]:
    question = asked(
        function, p.adjacency, dpest.ANY, None, None, dpest.reals(dpest.ANY, LOW, HIGH), None, None
    )
    ledger = contributions(question).account.ledger
    account = Account(ledger, planned(ledger, 1e-8, cells=250) if ledger else None)
    return [float(account.delta(Fraction(e))) for e in EPSILONS]


def main(count: int, seed: int) -> int:
    r = random.Random(seed)
    seen: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    ratios, started = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            p = program(r)
            function = compiled(p.source, Path(folder), number)
            try:
                upper = bounds(p, function)
            except DpestError as reason:
                seen["bug refused" if p.bug else "refused"] += 1
                reasons[str(reason).split(": ", 1)[-1][:70]] += 1
                continue
            if p.bug and p.bug != "clip forgotten":
                seen["BUG BOUNDED"] += 1
                print(p.bug, p.source)
                continue
            seen["bounded"] += 1
            if p.bug:
                continue
            for x, x2 in pairs(p, r):
                for e, low, high in zip(EPSILONS, lower(p, x, x2), upper, strict=True):
                    seen["comparisons"] += 1
                    if low > high * (1 + 1e-9) + 1e-12:
                        seen["VIOLATIONS"] += 1
                        print(f"ε = {e}: {low} above {high} on {x}, {x2}\n{p.source}")
                    if high > 1e-6:
                        ratios.append(low / high)
    took = time.monotonic() - started
    print(f"{count} programs, {seed=}: {dict(sorted(seen.items()))} in {took:.0f} s")
    print(f"lower/upper of δ: median {np.median(ratios):.3f}, largest {max(ratios):.6f}")
    for reason, times in reasons.most_common():
        print(f"{times:5} refused: {reason}")
    return 1 if seen["VIOLATIONS"] or seen["BUG BOUNDED"] else 0


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(given + [1000, 7][len(given) :])))
