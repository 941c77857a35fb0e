"""Random programs that pass over their data, and their graphs for every length against runs."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from dpest.ask.domains import ANY
from dpest.proofs.conformance import Draws, _Walk
from dpest.proofs.question import asked
from dpest.reading.lengths.reading import read_graph
from dpest.reading.machine.signals import Refused
from dpest.running.skeleton import flatten
from semantics.random_programs import load

_HEADS = (
    "for v in x:",
    "for i, v in enumerate(x):",
    "for i in range(len(x)):\n        v = x[i]",
    "for v, w in zip(x, (1, 2, 3)):",
    "for v in (y for y in x):",
    "while i < len(x):\n        v = x[i]\n        i += 1",
    "for v in shifted(x):",
    "for v in np.asarray(x) * 2 + a:",
    "for v in (np.asarray(x) + rng.laplace(scale=2 / eps, size=len(x))).tolist():",
    "for v, w in zip(x, np.asarray(x) - rng.laplace(scale=1 / eps, size=len(x))):",
    "for i, v in enumerate([y + rng.laplace(scale=1 / eps) for y in x]):",
    "for v in map(lambda y: 3 * y, x):",
    "for i, (v, w) in enumerate(zip(x, x)):",
)


def program(seed: int) -> str:
    """The text of one program: `program(x, rng, *, eps)`, with the functions that it calls."""
    source = random.Random(seed)
    head = source.choice(_HEADS)
    counted = "for i" in head
    body = _block(source, 2, counted, "zip(x, (1" in head, 2)
    start = source.choice(["0.0", "rng.laplace(scale=2 / eps)"])
    lines = [
        "import numpy as np\n",
        "def noisy(v, rng, scale):\n    return v + rng.laplace(scale=scale)\n",
        "def shifted(x):\n    for y in x:\n        yield y + 1\n",
        "class Box:\n    def __init__(self, value):\n        self.value = value\n",
        "def program(x, rng, *, eps=1.0):",
        "    i = 0",
        f"    a, b, k, out = {start}, 0.0, 0, []",
        "    box = Box(a)",
        '    d = {"s": 0.0, "n": 0}',
        "    g = lambda y: y + a",
        f"    {head}",
        "        n = noisy(v, rng, 4 / eps)",
        *("        " + line for line in body),
        "    " + source.choice(["else:\n        out.append(7)", "b = b + 1", "k = k + 1"])
        if not head.startswith("while")
        else "    b = b + 1",
        "    " + source.choice(_ENDS),
    ]
    return "\n".join(lines) + "\n"


_ENDS = (
    "return out",
    "return out, a",
    "return out, b + rng.laplace(scale=1 / eps)",
    "return (b, box.value)",
    'return [out, d["s"], k]',
    "return out + [a]",
    'return {"out": out}, d["n"]',
)


def _block(source: random.Random, depth: int, counted: bool, zipped: bool, size: int) -> list[str]:
    lines: list[str] = []
    for _ in range(source.randint(1, size)):
        lines += _statement(source, depth, counted, zipped)
    return lines


def _statement(source: random.Random, depth: int, counted: bool, zipped: bool) -> list[str]:
    value = _value(source, zipped)
    if depth and source.random() < 0.45:
        test = source.choice(
            [
                f"n > {source.choice(['a', '0.5', 'b', 'box.value'])}",
                "n + b >= a",
                "k == 2",
                'd["n"] < 2',
                "rng.random() < 0.25",
                *(["i % 2 == 0", "i < 2"] if counted else []),
            ]
        )
        inner = _block(source, depth - 1, counted, zipped, 2)
        lines = [f"if {test}:", *("    " + line for line in inner)]
        if source.random() < 0.5:
            other = _block(source, depth - 1, counted, zipped, 2)
            lines += ["else:", *("    " + line for line in other)]
        return lines
    return [
        source.choice(
            [
                f"out.append({value})",
                f"out.append({source.choice(['True', '1', '(1, 2)'])})",
                f"a = {value}",
                f"b = b + {value}",
                f"box.value = {value}",
                f'd["s"] = {value}',
                "k += 1",
                'd["n"] += 1',
                "out.append(g(v))",
                "out.append(noisy(b, rng, 1 / eps))",
                *(["break", "continue"] if depth < 2 else ["k += 1"]),
            ]
        )
    ]


def _value(source: random.Random, zipped: bool) -> str:
    return source.choice(
        ["v", "n", "a", "b", "n - a", "2 * n", "v + b", "box.value", 'd["s"]', "n + 1"]
        + (["w * v"] if zipped else [])
    )


class _InOrder(_Walk):
    """A walk that compares what is released in its order, with its types."""

    def _compare(self, output: Any) -> None:
        _, actual = flatten(output)
        expected = self.released
        if not self.graph.faithful:  # more counts as released than is
            super()._compare(output)
            return
        assert len(actual) == len(expected), (self.x, output, expected)
        for model, found in zip(expected, actual, strict=True):
            if isinstance(model, (bool, str)) or isinstance(found, (bool, str)):
                assert model is found or model == found == "position", (output, expected)
            else:
                assert abs(float(model) - float(found)) < 1e-9, (self.x, output, expected)


def agrees(seed: int, runs: int = 12) -> bool:
    """Whether the program was read; AssertionError or ReplayError where a run differs."""
    function = load(program(seed), 10_000_000 + seed)
    question = asked(function, "l1", ANY, None, None, None, None)
    try:
        graph = read_graph(question.mechanism, question.variables(), question.world)
    except Refused:
        return False
    source = random.Random(seed)
    for run in range(runs):
        x = [float(Fraction(source.randrange(-160, 160), 16)) for _ in range(run % 6)]
        draws = Draws(source, made=bool(graph.made))
        output = question.run(list(x), draws.generator())
        _InOrder(graph, x, question.entry, draws, seed).run(output)
    return True
