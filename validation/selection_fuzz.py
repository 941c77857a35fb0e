"""Soundness by fuzzing: random programs that select by chance, against the exact engine.

The grammar: how the greatest score is taken, the order of the candidates, the exponent, the coin,
what happens between two turns, and the release. Each is chosen at random, and one time in eight
from those that are mistakes. Whatever is proved (for every length) must hold: the exact ε of random
neighbours must not be above. Without mistakes everything must be proved. Prints two lines of
counts; the exit status is 1 on a violation, or if a program without mistakes has no proof.

    python validation/selection_fuzz.py [PROGRAMS] [SEED]
"""

from __future__ import annotations

import importlib.util
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

import dpest
from dpest.proofs import prove

GREATEST = [
    "max(scores)",
    "np.max(scores)",
    "np.asarray(scores).max()",
    "scores[np.argmax(scores)]",
]
ODD_GREATEST = ["min(scores)", "max(scores) + 1", "2 * max(scores)", "scores[0]", "0"]
ORDERS = [
    "for i in rng.permutation(n):",
    "for i in rng.permutation(n).tolist():",
    "for i in rng.choice(n, size=n, replace=False):",
    "for i in order:",
    "for j in range(n):\n        i = order[j]",
    "while True:\n        i = rng.integers(n)",
    "while True:\n        i = rng.choice(n)",
]
ODD_ORDERS = ["for i in range(n):", "for i in rng.integers(n, size=n):", "for i in sorted(order):"]
EXPONENTS = [
    "eps / 2 * (scores[i] - best)",
    "eps * (scores[i] - best) / 4",
    "eps * (scores[i] - best)",
    "eps / 2 * (3 * scores[i] - 3 * best)",
    "-eps / 2 * (best - scores[i])",
]
ODD_EXPONENTS = [
    "eps / 2 * (scores[i] - best) - 1",
    "eps / 2 * (best - scores[i])",
    "eps / 2 * scores[i]",
    "eps / 2 * (scores[i] - 2 * best)",
    "eps / 2 * (scores[i] - best) * (t + 1)",
]
COINS = [
    "rng.random() < np.exp(e)",
    "rng.uniform() <= math.exp(e)",
    "not rng.random() >= np.exp(e)",
    "1 - rng.random() < np.exp(e)",
    "rng.binomial(1, np.exp(e)) == 1",
    "rng.random() < np.exp(e) and rng.random() < np.exp(e)",
]
ODD_COINS = [
    "rng.random() < np.exp(e) / 2",
    "rng.uniform(0, 2) < np.exp(e)",
    "rng.uniform(0, 0.5) < np.exp(e)",
    "rng.random() < 2 * np.exp(e)",
    "rng.random() < np.exp(e) or rng.random() < np.exp(e)",
    "u < np.exp(e)",
    "rng.random() < 1 - np.exp(e)",
    "rng.random() < 0.5 and rng.random() < np.exp(e)",
]
STEPS = ["pass", "t = 0", "seen = True"]
ODD_STEPS = ["t += 1", "best = best + 1", "best = scores[i]", "u = rng.random()"]
RELEASES = ["i", "i + 1", "int(i)", "(i, 'ok')"]
ODD_RELEASES = ["t", "(i, t)", "scores[i]", "u", "(i, best)"]


def program(source, mistakes=0.12):
    def pick(usual, odd):
        return source.choice(odd if source.random() < mistakes else usual)

    return f"""
def mechanism(scores, rng, *, eps=1.0):
    n = len(scores)
    order = list(range(n))
    rng.shuffle(order)
    t, seen = 0, False
    u = rng.random()
    best = {pick(GREATEST, ODD_GREATEST)}
    {pick(ORDERS, ODD_ORDERS)}
        e = {pick(EXPONENTS, ODD_EXPONENTS)}
        if {pick(COINS, ODD_COINS)}:
            return {pick(RELEASES, ODD_RELEASES)}
        {pick(STEPS, ODD_STEPS)}
    return -1
"""


def written(text, folder, name):
    path = folder / f"{name}.py"
    path.write_text("import math\n\nimport numpy as np\n\n" + text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.mechanism


def exceeded(mechanism, proof, adjacency, source):
    """A pair of neighbours whose exact ε is above the proved one, if one is found."""
    for n in (2, 2, 3):
        x = [source.randint(-16, 16) / 4 for _ in range(n)]
        steps = (0, 1) if adjacency == "monotone" else (-1, 0, 1)
        other = [v + source.choice(steps) for v in x]
        found = dpest.exact(mechanism, np.array(x), np.array(other)).epsilon
        if found > float(proof.epsilon) + 1e-6:
            return x, other
    return None


def main(programs: int, seed: int) -> int:
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for mistakes in (0.0, 0.12):
            proved = pairs = 0
            for number in range(programs):
                source = random.Random(f"{seed} {number} {mistakes}")
                name = f"program_{number}_{int(100 * mistakes)}"
                text = program(source, mistakes)
                mechanism = written(text, Path(folder), name)
                adjacency = source.choice(("linf", "monotone"))
                proof = prove(mechanism, adjacency=adjacency)
                if proof.certificate is None:
                    if not mistakes:
                        bad += 1
                        print(f"no proof: {proof.reason}{text}")
                    continue
                proved += 1
                pairs += 3
                worse = exceeded(mechanism, proof, adjacency, source)
                if worse is not None:
                    bad += 1
                    print(f"VIOLATED at {worse}: ε ≤ {proof.epsilon}{text}")
            what = "with mistakes" if mistakes else "without mistakes"
            print(f"{what}: {programs} programs, {proved} proved, {pairs} pairs")
    print(f"{bad} against what is said")
    return 1 if bad else 0


if __name__ == "__main__":
    given = [int(v) for v in sys.argv[1:]]
    sys.exit(main(*(given + [300, 1][len(given) :])))
