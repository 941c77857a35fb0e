# mypy: ignore-errors
"""An independent checker of tables of exact probabilities: `python finite_checker.py FILE...`

Standard library only, exact rationals. For each input the table gives the probability of every
output as numerator/denominator, polynomials in a = e^(-unit/D) (constants where there is no unit).
Several tables for one input are the independent parts of its output. With "entries": "each" the
inputs are data of one entry; the function does the same for each of many, with draws of its own,
and what is shown holds for every length where neighbours differ in one entry.
Checked: the inputs are the whole domain that is named; each table adds up to one and has no
negative entry; for all neighbours and outputs P·a^(D·ε) ≤ P' on (0, 1) (or P ≤ e^ε·P').
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from fractions import Fraction as Q
from math import comb


class Invalid(Exception):
    """The certificate does not show what it says."""


def need(holds, message):
    if not holds:
        raise Invalid(message)


def times(p, q):
    found = [0] * (len(p) + len(q) - 1) if p and q else []
    for (i, x), (j, y) in itertools.product(enumerate(p), enumerate(q)):
        found[i + j] += x * y
    return found


def plus(p, q, factor=1):
    return [x + factor * y for x, y in itertools.zip_longest(p, q, fillvalue=0)]


def non_negative(poly, depth=16):
    """On [0, 1], by Bernstein coefficients on halves, quarters, …"""
    n = len(poly) - 1
    scaled = [sum(comb(n - j, i - j) * poly[j] for j in range(i + 1)) for i in range(n + 1)]
    if all(v >= 0 for v in scaled):
        return True
    return halves([Q(v) / comb(n, i) for i, v in enumerate(scaled)], depth)


def halves(values, depth):
    if all(v >= 0 for v in values):
        return True
    if depth == 0 or values[0] < 0 or values[-1] < 0:
        return False
    left, right, row = [values[0]], [values[-1]], values
    while len(row) > 1:
        row = [(x + y) / 2 for x, y in itertools.pairwise(row)]
        left, right = [*left, row[0]], [row[-1], *right]
    return halves(left, depth - 1) and halves(right, depth - 1)


def neighbours(x, y, adjacency):
    name, radius = adjacency["name"], adjacency["radius"]
    if name == "any_pair" or x == y:
        return True
    a, b = (v if isinstance(v, list) else [v] for v in (x, y))
    gaps = [Q(str(v)) - Q(str(u)) for u, v in zip(a, b, strict=True)]
    r = None if radius == "inf" else Q(radius)
    if name == "replace_one":
        moved = [g for g in gaps if g]
        return len(moved) <= 1 and (r is None or all(abs(g) <= r for g in moved))
    if name == "l1":
        return sum(map(abs, gaps)) <= r
    if name == "linf":
        return all(abs(g) <= r for g in gaps)
    need(name == "monotone", "adjacency")
    return all(0 <= g <= r for g in gaps) or all(-r <= g <= 0 for g in gaps)


def whole(values):
    """Rationals; whole ones as integers, with which Python is quicker."""
    found = [Q(v) for v in values]
    return [int(v) if v.denominator == 1 else v for v in found]


def table(part, x):
    """output -> (numerator, denominator); the chances add up to one."""
    found = {y: (whole(p), whole(q)) for y, (p, q) in part.items()}
    total = ([0], [1])
    for p, q in found.values():
        need(any(q) and non_negative(p) and non_negative(q), "a chance is negative")
        total = plus(times(total[0], q), times(p, total[1])), times(total[1], q)
    need(not any(plus(*total, -1)), f"the chances on {x} don't add up to one")
    return found


def product(first, second):
    """The greatest ratio of independent parts: the product of their greatest ratios."""
    worst = Q(1)
    for p, q in zip(first, second, strict=True):
        need(all(len(v) == 1 for part in (p, q) for pair in part.values() for v in pair), "numbers")
        ratios = [(Q(a[0]) / b[0], Q(q[y][0][0]) / q[y][1][0]) for y, (a, b) in p.items()]
        worst *= max(chance / other for chance, other in ratios)
    return worst


def one_of_many(C):
    """Neighbours of any length differ in one entry, by what neighbours of length one differ by."""
    values, adjacency = C["domain"]["values"], C["adjacency"]
    need(C["entries"] == "each" and C["length"] == "any", "entries")
    need(all(isinstance(x, list) and len(x) == 1 for x in values), "inputs of one entry")
    if adjacency["name"] != "replace_one":
        need(adjacency["name"] == "l1" and Q(adjacency["radius"]) < 2, "adjacency")
        need(all(type(x[0]) is int for x in values), "whole numbers")


def check(C):
    need(C["format"] == "dpest-certificate/1" and C["method"] == "finite", "format")
    need(hashlib.sha256(C["source"].encode()).hexdigest() == C["sha256"], "digest of the source")
    tables = [
        (entry["input"], [table(part, entry["input"]) for part in entry["parts"]])
        for entry in C["tables"]
    ]
    listed = sorted(json.dumps(x) for x, _ in tables)
    need(listed == sorted(json.dumps(x) for x in C["domain"]["values"]), "inputs")
    need(len(set(listed)) == len(listed), "an input twice")
    power = [0] * (C["power"] or 0) + [1]
    factor = Q(1) if C["unit"] else Q(C["exponential"])
    need(not C["unit"] or Q(C["epsilon"]) == Q(C["power"], C["denominator"]), "epsilon")
    for (x, first), (x2, second) in itertools.permutations(tables, 2):
        if not neighbours(x, x2, C["adjacency"]):
            continue
        need(len(first) == len(second) and (len(first) == 1 or not C["unit"]), "parts")
        if len(first) > 1:
            need(product(first, second) <= factor, f"{x} against {x2}")
            continue
        for y, (p, q) in first[0].items():
            p2, q2 = second[0].get(y, ([], [1]))
            gap = plus(times([factor], times(p2, q)), times(times(p, q2), power), -1)
            need(non_negative(gap), f"output {y} on {x} against {x2}")
    entries = f"{len(tables)} inputs"
    if C.get("entries") is not None:
        one_of_many(C)
        entries = f"{len(tables)} values of an entry, every length"
    bound = f"ε ≤ {C['epsilon']}·{C['unit']}" if C["unit"] else f"e^ε ≤ {C['exponential']}"
    return f"{C['mechanism']}: {bound}, {C['adjacency']['name']}, {entries}"


def verdict(path):
    try:
        with open(path, encoding="utf-8") as file:
            C = json.load(file)
        body = json.dumps({k: v for k, v in C.items() if k != "digest"}, sort_keys=True)
        digest = hashlib.sha256(body.encode()).hexdigest()
        need(C["digest"] == digest, "digest of the certificate")
        print(f"valid    {path}  {check(C)}")
    except Exception as error:
        print(f"REFUSED  {path}  {type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(max(map(verdict, sys.argv[1:]), default=0))
