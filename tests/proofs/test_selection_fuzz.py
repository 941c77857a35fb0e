"""Random programs that select by chance, right and wrong, against the exact engine.

The grammar: how the greatest is taken, the order of the candidates, the exponent, the coin, what
happens between two turns, and the release, each chosen at random. Whatever is proved must hold.
"""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

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


def program(source):
    def pick(usual, odd):
        return source.choice(odd if source.random() < 0.12 else usual)

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


def held(mechanism, proof, adjacency, source):
    for n in (2, 2, 3):
        x = [source.randint(-16, 16) / 4 for _ in range(n)]
        steps = (0, 1) if adjacency == "monotone" else (-1, 0, 1)
        other = [v + source.choice(steps) for v in x]
        found = dpest.exact(mechanism, np.array(x), np.array(other)).epsilon
        assert found <= float(proof.epsilon) + 1e-6, (x, other)


@pytest.mark.parametrize("seed", range(40))
def test_no_proof_is_above_the_truth(seed, tmp_path):
    source = random.Random(seed)
    text = program(source)
    mechanism = written(text, tmp_path, f"selection_{seed}")
    adjacency = source.choice(("linf", "monotone"))
    proof = prove(mechanism, adjacency=adjacency)
    if proof.certificate is not None and "while" not in text:
        held(mechanism, proof, adjacency, source)


def test_enough_of_them_are_proved(tmp_path):
    """Of the programs of the test above; so that it says something."""
    proved = 0
    for seed in range(40):
        source = random.Random(seed)
        mechanism = written(program(source), tmp_path, f"counted_{seed}")
        proved += prove(mechanism, adjacency="linf").certificate is not None
    assert proved >= 12
