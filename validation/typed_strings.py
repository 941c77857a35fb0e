"""Random strings in place of everything that a person types: refused or read, and at once.

Claims, domains, pairs, adjacencies, parameters, lengths, budgets and sizes of memory, made of the
pieces of right ones and of pieces that nobody would type. A string may be read or refused with one
line (DpestError, or click's BadParameter); anything else is a fault, and so is a second.

    python validation/typed_strings.py [how many in all]
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import click

from dpest.ask.adjacency import parse_adjacency
from dpest.ask.domain_text import parse_domain
from dpest.attacks.budget import Budget
from dpest.cli.isolation import size_of
from dpest.cli.options import input_of, lengths, parameters
from dpest.errors import DpestError
from dpest.notions.claims import parse_claim

PARSERS: dict[str, Callable[[str], Any]] = {
    "claim": parse_claim,
    "domain": parse_domain,
    "adjacency": parse_adjacency,
    "parameter": lambda text: parameters((text,)),
    "pair": input_of,
    "length": lengths,
    "budget": Budget.of,
    "memory": size_of,
}
PIECES = [
    *["pure", "approx", "renyi", "zcdp", "gdp", "tradeoff", "eps", "epsilon", "delta", "rho", "2*"],
    *["reals", "integers", "real", "integer", "finite", "records", "table", "ANY", "any", "l1"],
    *["linf", "l2", "monotone", "replace_one", "add_remove_one", "any_pair", "lp", "hamming"],
    *["(", ")", "[", "]", "{", "}", ",", ":", "=", "..", ".", "-", "+", "*", "**", "/", "%", "e"],
    *["0", "1", "5", "10", "0.1", "1e-5", "1e400", "-1", "9" * 30, "9" * 400, "9" * 5000, "0x10"],
    *["nan", "inf", "-inf", "None", "True", "'a'", '"b"', "'", '"', "\\", "\n", "\t", " ", "\0"],
    *["ε", "δ", "∞", "\ud800", "\u202e", "𝟙", "٣", "half", "lambda: 0", "__import__('os')"],
    *[
        "((((" * 200,
        "[" * 300,
        "-" * 5000,
        "1+" * 3000,
        "10**10**10",
        "f(x)",
        "a.b",
        "x if y else z",
    ],
    *["30s", "2min", "1e6runs", "8GB", "500MB", "1..20", "1..1000000000", "age=(0, 120)"],
    *["city=['a', 'b']", "as_='pandas'", "low=0", "high=1", "reals(5, 0, 1)", "integers:0,10"],
]

RIGHT = [
    *["pure:1", "pure:2*eps", "approx:1,1e-5", "renyi:2,0.1", "zcdp:0.05", "gdp:1", "eps=0.1"],
    *["reals", "reals:-10,10", "reals(5, 0, 1)", "integers:0,10", "integers(5, 0, 10)", "l1:2"],
    *["table(ANY, age=(0, 120), city=['Berlin', 'Paris'])", "records(5, age=(0, 120))", "linf"],
    *["replace_one", "add_remove_one", "[1, 2, 3]", "[0.5]", "3", "{'a': 1}", "10", "1..20"],
    *["30s", "2min", "1e6runs", "1000", "8GB", "500 MB", "name=[1, 2]", "flag=True", "x=text"],
]


def a_string(dice: random.Random) -> str:
    kind = dice.random()
    if kind < 0.35:  # a right one with a mistake or two
        text = dice.choice(RIGHT)
        for _ in range(dice.randint(0, 2)):
            at = dice.randint(0, len(text))
            text = text[:at] + dice.choice(["", *PIECES]) + text[at + dice.randint(0, 2) :]
        return text
    if kind < 0.75:
        return "".join(dice.choice(PIECES) for _ in range(dice.randint(0, 8)))
    if kind < 0.9:
        return "".join(chr(dice.randint(0, 0x2FF)) for _ in range(dice.randint(0, 30)))
    return "".join(chr(dice.randint(0, 0x10FFFF)) for _ in range(dice.randint(0, 12)))


def faults(count: int, seed: int = 0) -> tuple[list[str], float, dict[str, int]]:
    """What went wrong, the longest time that one string took, and how many were read."""
    dice = random.Random(seed)
    warnings.simplefilter("ignore", SyntaxWarning)  # of Python's own parser, as the commands do
    names = list(PARSERS)
    wrong: list[str] = []
    longest, read = 0.0, dict.fromkeys(names, 0)
    for i in range(count):
        name, text = names[i % len(names)], a_string(dice)
        started = time.perf_counter()
        try:
            PARSERS[name](text)
            read[name] += 1
        except (DpestError, click.BadParameter) as refused:
            if not str(refused) and not getattr(refused, "message", ""):
                wrong.append(f"{name} {text[:80]!r}: refused without a reason")
        except BaseException as error:
            wrong.append(f"{name} {text[:80]!r}: {type(error).__name__}: {str(error)[:80]}")
        spent = time.perf_counter() - started
        if spent > 1:
            wrong.append(f"{name} {text[:80]!r}: took {spent:.1f} s")
        longest = max(longest, spent)
    return wrong, longest, read


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    wrong, longest, read = faults(count)
    for line in wrong[:20]:
        print(line)
    print(
        f"{count:,} strings: {len(wrong)} faults, the slowest took {1000 * longest:.0f} ms; "
        f"read: {', '.join(f'{name} {n}' for name, n in read.items())}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
