"""Mutants of certificates: the verified checker (formal/checker) against the kernel.

Every certificate of the zoo that the verified checker knows is changed at random in one or two
places: shifts, budgets, bounds, differences, conditions, releases, scales, faces, targets, what
records add, chances. Both checkers decide about each mutant; they must agree.
`python formal_differential.py [COUNT] [SEED]` prints a table and exits 1 on the first disagreement
that it lists.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import dpest
from dpest import kernel, zoo
from dpest.auditing import prove

PROGRAM = Path(__file__).resolve().parents[1] / "formal" / "checker" / "dpest-checker"
Certificate = dict[str, Any]
FACTORS = [Fraction(x) for x in ("1/2", "9/10", "99/100", "101/100", "2")]
STEPS = [Fraction(x) for x in ("-2", "-1", "-1/2", "-1/12", "1/12", "1/4", "1/2", "1", "2")]


def numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value that holds a rational, as (container, key)."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(entries):
        if isinstance(item, dict | list):
            yield from numbers(item)
        elif isinstance(item, str) and is_rational(item):
            yield value, key


def is_rational(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def change(value: Any, rnd: random.Random) -> bool:
    places = list(numbers(value))
    if not places:
        return False
    container, key = rnd.choice(places)
    old = Fraction(container[key])
    new = rnd.choice([old + rnd.choice(STEPS), -old, old * 2, old / 2, Fraction(0)])
    container[key] = str(new)
    return new != old


def loop_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    part = rnd.choice(c["components"])
    step, state = rnd.choice(part["steps"]), rnd.choice(part["states"])
    edge = rnd.choice(c["edges"])

    def add_shift() -> bool:
        noise = c["edges"][step["edge"]]["noise"]
        if noise:
            step["shift"][rnd.choice(noise)] = str(rnd.choice(STEPS))
        return bool(noise)

    def drop_step() -> bool:
        part["steps"].remove(step)
        return True

    def redirect() -> bool:
        step["next"] = rnd.choice(part["states"])["id"]
        return True

    def move_edge() -> bool:
        edge["to"] = rnd.choice([n["id"] for n in c["nodes"]] + [-1])
        return True

    def phase() -> bool:
        state["phase"] = rnd.choice([0, 1, 2])
        return True

    return [
        lambda: change(step["shift"], rnd),
        add_shift,
        lambda: step["shift"].clear() is None,
        lambda: change({"b": state}["b"], rnd),
        lambda: change(state["difference"], rnd),
        drop_step,
        redirect,
        move_edge,
        phase,
        lambda: change_question(c["edges"], edge["if"], rnd),
        lambda: change(edge["real"], rnd),
        lambda: change(edge["set"], rnd),
    ]


def change_question(holders: list[Any], decisions: list[Any], rnd: random.Random) -> bool:
    """Change one question wherever it is asked, so that the branches still cover."""
    if not decisions:
        return False
    decided = rnd.choice(decisions)
    if decided[0] == "greatest" or not decided[1]:
        return change(decided, rnd)
    symbol = rnd.choice(sorted(decided[1]))
    factor = rnd.choice([Fraction(-1), Fraction(2), Fraction(1, 2), Fraction(0)])
    asked = sorted(decided[1].items())
    negated = sorted((k, str(-Fraction(v))) for k, v in asked)
    for holder in holders:
        for other in holder["if"]:
            if other[0] != "greatest" and sorted(other[1].items()) in (asked, negated):
                other[1][symbol] = str(Fraction(other[1][symbol]) * factor)
    return True


def plan_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    if not c["alignments"]:
        return []
    plan = rnd.choice(c["alignments"])

    def drop_plan() -> bool:
        c["alignments"].remove(plan)
        return True

    def add_shift() -> bool:
        plan["shift"][rnd.choice(sorted(c["noises"]))] = [str(rnd.choice(STEPS)), {}]
        return True

    return [
        lambda: change(plan["shift"], rnd),
        lambda: change(plan["shift"], rnd),
        lambda: change(plan["bound"], rnd),
        lambda: change(plan["face"], rnd),
        drop_plan,
        add_shift,
        lambda: plan["bound"].clear() is None,
    ]


def cell_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    leaf, node = rnd.choice(c["leaves"]), rnd.choice(c["nodes"])
    edges = [edge for n in c["nodes"] for edge in n["in"]]
    return [
        *plan_parts(c, rnd),
        lambda: change(leaf["real"], rnd),
        lambda: bool(node["in"]) and change_question(edges, node["in"][0]["if"], rnd),
    ]


def sum_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    """Sums over records: also what a record adds, where, and who it may be."""
    case = rnd.choice(c["cases"])

    def drop_case() -> bool:
        if len(c["cases"]) > 1:
            c["cases"].remove(case)
        return len(c["cases"]) > 1

    def less() -> bool:
        return "value" in case and change(case["value"], rnd)

    return [
        *loop_parts(c, rnd),
        less,
        less,
        lambda: "empty" in case and change(case["empty"], rnd),
        lambda: change_question(c["cases"], case["if"], rnd),
        lambda: change(c["domain"]["range"], rnd),
        drop_case,
    ]


def table_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    """Tables: chances, also such that still sum to one; which table belongs to which input."""
    entry, other = rnd.choice(c["tables"]), rnd.choice(c["tables"])
    part = rnd.choice(entry["parts"])

    def widen() -> bool:
        """The same chance, written with greater numbers."""
        chance = rnd.choice(sorted(part))
        factor = rnd.choice([Fraction(2), Fraction(3), Fraction(1, 7)])
        part[chance] = [[str(Fraction(v) * factor) for v in p] for p in part[chance]]
        return True

    def shift_mass() -> bool:
        """From one output to another of the same denominator."""
        a, b = (part[rnd.choice(sorted(part))] for _ in range(2))
        if a is b or list(map(Fraction, a[1])) != list(map(Fraction, b[1])):
            return False
        mass = Fraction(a[0][0]) / rnd.choice([4, 16, 64, -64])
        a[0][0], b[0][0] = str(Fraction(a[0][0]) - mass), str(Fraction(b[0][0]) + mass)
        return True

    def swap() -> bool:
        entry["parts"], other["parts"] = other["parts"], entry["parts"]
        return entry is not other

    def power() -> bool:
        if c["unit"] is None:
            c["exponential"] = str(Fraction(c["exponential"]) * rnd.choice(FACTORS))
        else:
            c["power"] = max(0, c["power"] + rnd.choice([-1, 1, 1, 2]))
            c["epsilon"] = str(Fraction(c["power"], c["denominator"]))
        return True

    def radius() -> bool:
        if c["adjacency"]["radius"] == "inf":
            return False
        c["adjacency"]["radius"] = rnd.choice(["1/2", "2", "3"])
        return True

    def drop_input() -> bool:
        if len(c["tables"]) < 3 or entry not in c["tables"]:
            return False
        c["tables"].remove(entry)
        if rnd.random() < 0.5 and entry["input"] in c["domain"]["values"]:
            c["domain"]["values"].remove(entry["input"])
        return True

    one = lambda: change(part, rnd)  # noqa: E731
    return [one, widen, widen, shift_mass, shift_mass, swap, power, power, radius, drop_input]


def square_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    leaf, node = rnd.choice(c["leaves"]), rnd.choice(c["nodes"])
    edges = [edge for n in c["nodes"] for edge in n["in"]]

    def drop_shift() -> bool:
        return c["common"].pop(rnd.choice(sorted(c["noises"])), None) is not None

    return [
        lambda: change(c["common"], rnd),
        drop_shift,
        lambda: change(leaf["real"], rnd),
        lambda: bool(node["in"]) and change_question(edges, node["in"][0]["if"], rnd),
    ]


def selection_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    return [*plan_parts(c, rnd), lambda: change(c["element"], rnd)]


def contribution_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    """Stages: moves, scales, kinds of noise, what is bounded; also just below and above a bound."""
    way = rnd.choice(c["ways"])
    noise, row = rnd.choice(way["noises"]), rnd.choice(way["rows"])

    def scale() -> bool:
        noise["scale"] = str(Fraction(noise["scale"]) * rnd.choice(FACTORS))
        return True

    def bound() -> bool:
        near = [1 + Fraction(rnd.choice([-1, 1]), 10**k) for k in (3, 5, 7, 9)]
        key = rnd.choice(["epsilon", "delta"])
        c[key] = str(Fraction(c[key]) * rnd.choice([*FACTORS, *near]))
        return True

    def adjacency() -> bool:
        c["adjacency"]["name"] = rnd.choice(["l1", "linf", "monotone"])
        c["adjacency"]["radius"] = rnd.choice(["1", "1", "1/2", "2", "-1"])
        return True

    def measure() -> bool:
        c["measure"] = rnd.choice(["epsilon", "rho", "mu2"])
        c["epsilon"] = str(Fraction(c["epsilon"]) * rnd.choice([1, 2, 4]))
        return True

    def laplace() -> bool:
        for one in way["noises"]:
            one["family"] = "laplace"
        c["measure"], c["delta"] = "epsilon", rnd.choice(["0", "0", "1/1000"])
        factor = rnd.choice([*FACTORS, Fraction(1), Fraction(1)])
        c["epsilon"] = str(factor / Fraction(noise["scale"]))
        return True

    def noise_of() -> bool:
        symbol = rnd.choice(way["terms"])
        if symbol[0] == "noise":
            symbol[1] = rnd.randrange(len(way["noises"]) + 1)
        else:
            symbol[1] = rnd.randrange(c["length"] + 1)
        return True

    def drop_term() -> bool:
        row[1].remove(rnd.choice(row[1]))
        return True

    slope = lambda: bool(row[1]) and change(rnd.choice(row[1]), rnd)  # noqa: E731
    return [scale, bound, bound, bound, adjacency, measure, laplace, noise_of, slope, slope,
            lambda: bool(row[1]) and drop_term()]  # fmt: skip


def composition_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    """Compositions: a part, the bound, who is called on a way, and how."""
    path = rnd.choice(c["paths"])

    def inside() -> bool:
        mutate(rnd.choice(c["parts"]), rnd)
        return True

    def bound() -> bool:
        c["epsilon"] = str(Fraction(c["epsilon"]) * rnd.choice(FACTORS))
        return True

    def call() -> bool:
        if not path:
            return False
        entry = rnd.choice(path)
        entry[0] = rnd.randrange(-1, len(c["parts"]) + 1)
        return True

    def scale() -> bool:
        return bool(path) and change(path, rnd)

    def again() -> bool:
        path.append([rnd.randrange(len(c["parts"])), rnd.choice(["1/8", "1", "1/2"])])
        return True

    def drop() -> bool:
        return bool(path) and path.pop() is not None

    def power() -> bool:
        if "power" not in c:
            return False
        rnd.choice([c, *c["parts"]])["power"] = rnd.choice([1, 2, 3])
        return True

    def radius() -> bool:
        rnd.choice([c, *c["parts"]])["adjacency"]["radius"] = rnd.choice(["1/2", "1", "2"])
        return True

    return [inside, inside, bound, bound, call, scale, scale, again, drop, power, radius]


KINDS: dict[str, Callable[[Certificate, random.Random], list[Callable[[], bool]]]] = {
    "loop": loop_parts,
    "cells": cell_parts,
    "selection": selection_parts,
    "sums": sum_parts,
    "square": square_parts,
    "finite": table_parts,
    "contributions": contribution_parts,
    "composition": composition_parts,
}
OWN_BOUNDS = ("finite", "contributions", "composition")
"""Kinds whose changes include those of bounds, scales and neighbours."""


def mutate(c: Certificate, rnd: random.Random) -> None:
    kind = kind_of(c)
    for _ in range(rnd.choice([1, 1, 1, 2])):
        changes = [*KINDS[kind](c, rnd), *([] if kind in OWN_BOUNDS else shared_parts(c, rnd))]
        for _ in range(20):
            if rnd.choice(changes)():
                break


def shared_parts(c: Certificate, rnd: random.Random) -> list[Callable[[], bool]]:
    def epsilon() -> bool:
        c["epsilon"] = str(Fraction(c["epsilon"]) + rnd.choice(STEPS) / 8)
        return True

    def scale() -> bool:
        noise = c["noises"][rnd.choice(sorted(c["noises"]))]
        noise[1] = str(Fraction(noise[1]) * rnd.choice([Fraction(1, 2), Fraction(2)]))
        return True

    def radius() -> bool:
        if c["adjacency"]["radius"] == "inf":
            return False
        c["adjacency"]["radius"] = rnd.choice(["1/2", "2"])
        return True

    return [epsilon, scale, radius]


def kind_of(c: Certificate) -> str:
    return "sums" if "cases" in c else str(c["method"])


def kernel_says(c: Certificate) -> bool:
    try:
        kernel.check(c)
    except kernel.Invalid:
        return False
    return True


def certificates() -> list[Certificate]:
    """The certificates of the zoo that the verified checker knows."""
    found = []
    for entry in zoo.entries():
        for length in (dpest.ANY, entry.about.get("length")):
            certificate = prove(entry, length=length).certificate
            if certificate is not None:
                found.append(json.loads(json.dumps(certificate)))
    found += compositions(found)
    said = ask(found)
    known = [c for c, answer in zip(found, said, strict=True) if answer == "accepted"]
    return [c for c in known if len(json.dumps(c)) < 60_000]


def compositions(found: list[Certificate]) -> list[Certificate]:
    """Calls of two proved mechanisms, the second with half the unit, or of one of them alone."""
    makeable = [c for c in found if c["unit"] and kind_of(c) in ("loop", "cells", "selection")]
    gaussian = [c for c in found if c["unit"] and kind_of(c) == "square"]
    made = []
    for parts in (*pairs(makeable), *pairs(gaussian)):
        first, second = copy.deepcopy(parts)
        power = first.get("power", 1)
        if second.get("power", 1) != power:
            continue
        header = ("format", "source", "sha256", "unit", "adjacency", "length", "parameters")
        one = {key: copy.deepcopy(first[key]) for key in header}
        one |= {"mechanism": "Both", "method": "composition", "parts": [first, second]}
        one |= {"power": power} if "power" in first else {}
        total = Fraction(first["epsilon"]) + Fraction(second["epsilon"]) * Fraction(1, 2) ** power
        made.append(one | {"epsilon": str(total), "paths": [[[0, "1"], [1, "1/2"]], [[0, "1"]]]})
    return [c for c in made if len(json.dumps(c)) < 30_000]


def pairs(found: list[Certificate]) -> list[tuple[Certificate, Certificate]]:
    """Neighbours in the list that are proved for the same neighbours and lengths."""
    several: dict[str, list[Certificate]] = {}
    for c in found:
        several.setdefault(json.dumps([c["adjacency"], c["length"]]), []).append(c)
    return [pair for alike in several.values() for pair in itertools.pairwise(alike)]


def ask(batch: list[Certificate]) -> list[str]:
    lines = "\n".join(json.dumps(c) for c in batch) + "\n"
    answer = subprocess.run([str(PROGRAM), "-"], input=lines, capture_output=True, text=True)
    return answer.stdout.splitlines()


def pick(originals: list[Certificate], rnd: random.Random) -> Certificate:
    """Half by kind, so that kinds with few certificates are met as often as the others."""
    if rnd.random() < 0.5:
        kind = rnd.choice(sorted({kind_of(c) for c in originals}))
        originals = [c for c in originals if kind_of(c) == kind]
    return rnd.choice(originals)


def main(count: int = 10_000, seed: int = 0) -> int:
    rnd, originals = random.Random(seed), certificates()
    table: Counter[tuple[str, bool, str]] = Counter()
    differ = 0
    for start in range(0, count, 500):
        mutants = [copy.deepcopy(pick(originals, rnd)) for _ in range(min(500, count - start))]
        for mutant in mutants:
            mutate(mutant, rnd)
        for mutant, answer in zip(mutants, ask(mutants), strict=True):
            python, word = kernel_says(mutant), answer.split(":")[0]
            table[kind_of(mutant), python, word] += 1
            if word != "out of scope" and (word == "accepted") != python:
                differ += 1
                if differ < 11:
                    print("DIFFER", mutant["mechanism"], f"kernel {python}, {answer}")
    print(f"{len(originals)} certificates, {count} mutants, seed {seed}")
    for (method, python, word), number in sorted(table.items()):
        says = "accepts" if python else "rejects"
        print(f"  {method:13} kernel {says}, verified checker: {word:13} {number}")
    print(f"disagreements: {differ}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
