"""Random programs of noisy sums: the kernel's bound against what neighbours really cost.

Each program has fields with and without bounds, public values, clipping by a norm in several
spellings, functions, cases, one or two passes over the records (of a person with several rows, or
of a Poisson sample), functions of sums, and rows with Laplace or Gaussian noise. It claims the
least ε, or μ², that the kernel finds. Then the model is run on pairs of neighbours, in floating
point and by code of its own (`tests/kernel/running_models.py`, `true_costs.py`): none may cost
more. That it could be seen is checked, too: some programs must cost more than 90 % of their bound.
The exit status is 1 if a bound is false, or if none is seen to be false at 90 %.

    python validation/random_contributions.py [COUNT] [SEED]
"""

from __future__ import annotations

import collections
import random
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dpest import kernel
from kernel.sums import certificate, claimed
from kernel.true_costs import judged

Form = list[Any]
SLOPES = ("1", "-1", "1/2", "2", "-3/2", "3")
RANGES = (
    ("0", "1"), ("-1", "1"), ("-2", "3"), ("1", "4"), ("0", "inf"), ("-inf", "inf"),
)  # fmt: skip
ARGUMENTS = {
    "mul": 2, "div": 2, "min": 2, "max": 2, "norm": 2, "abs": 1, "sqrt": 1, "exp": 1, "npexp": 1,
    "tanh": 1, "arctan": 1, "sin": 1, "cos": 1, "log1p": 1, "expit": 1, "floor": 1, "ceil": 1,
    "rint": 1,
}  # fmt: skip
PAIRS = 80


def one(symbol: int, slope: str = "1") -> Form:
    return ["0", [[symbol, slope]]]


def number(value: str) -> Form:
    return [value, []]


class Program:
    """A program of sums with noise, as a certificate has it, made symbol by symbol."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.terms: list[Any] = []
        self.columns: list[dict[str, Any]] = []
        for i in range(source.randint(1, 3)):
            low, high = source.choice(RANGES)
            whole = source.random() < 0.2
            self.columns.append({"name": f"x{i}", "low": low, "high": high, "whole": whole})
        self.fields = [self.add(["field", None, c["name"]]) for c in self.columns]
        self.publics = [self.add(["pub", i, 0]) for i in range(source.randint(0, 2))]
        self.pool = [*self.fields, *self.publics]
        self.clipped: list[int] = []

    def add(self, term: list[Any]) -> int:
        self.terms.append(term)
        return len(self.terms) - 1

    def slope(self) -> str:
        return self.source.choice(SLOPES)

    def form(self, pool: list[int], most: int = 2, constant: bool = True) -> Form:
        chosen = sorted(self.source.sample(pool, self.source.randint(1, min(most, len(pool)))))
        with_one = constant and self.source.random() < 0.5
        return [self.slope() if with_one else "0", [[s, self.slope()] for s in chosen]]

    # What a record adds

    def clip(self) -> None:
        """Parts of a norm times one factor, or divided by one number."""
        pick = self.source.choice
        parts = [one(f) for f in self.fields]
        if self.source.random() < 0.3:
            parts = [self.form(self.pool) for _ in range(self.source.randint(1, 3))]
        norm = self.add(["norm", *parts] if len(parts) > 1 else ["abs", *parts])
        kind = self.source.randrange(5)
        if kind == 0:
            by = self.add(["max", number("1"), one(norm, pick(["1", "2", "1/2"]))])
            made = [["div", part, one(by)] for part in parts]
        elif kind == 1:
            by = self.add(["max", number(pick(["1/1000", "1/10"])), one(norm)])
            made = self._times(["div", number(pick(["1", "1/2", "3"])), one(by)], parts, True)
        elif kind == 2:
            quotient = ["div", number(pick(["1", "3"])), ["1/10", [[norm, "1"]]]]
            made = self._times(quotient, parts, True)
        elif kind == 3:
            made = [["div", part, ["1/100", [[norm, pick(["1", "2"])]]]] for part in parts]
        else:
            made = self._times(["div", number("1"), ["1/10", [[norm, "1"]]]], parts, False)
        self.pool.append(norm)
        self.clipped = [self.add(term) for term in made]
        self.pool += self.clipped

    def _times(self, quotient: list[Any], parts: list[Form], cut: bool) -> list[list[Any]]:
        factor = self.add(quotient)
        if cut:
            factor = self.add(["min", number("1"), one(factor)])
        return [["mul", part, one(factor)] for part in parts]

    def function(self) -> None:
        op = self.source.choice(list(ARGUMENTS))
        forms = [self.form(self.pool) for _ in range(ARGUMENTS[op])]
        if op in ("min", "max") and self.source.random() < 0.7:
            forms[self.source.randrange(2)] = number(self.slope())
        found = self.add([op, *forms])
        if self.source.random() < 0.5:
            above = self.add(["max", number("-1"), one(found)])
            found = self.add(["min", number("1"), one(above)])
        self.pool.append(found)

    def conditions(self, depth: int) -> list[list[Any]]:
        """Conditions of cases that every record is in one of."""
        if depth == 0 or self.source.random() < 0.5:
            return [[]]
        asked = self.form(self.pool)
        other = [_negative(asked[0]), [[s, _negative(c)] for s, c in asked[1]]]
        pair = ([">", asked], [">=", other])
        if self.source.random() < 0.2:
            pair = (["==", asked], ["!=", asked])
        return [[q, *rest] for q in pair for rest in self.conditions(depth - 1)]

    def a_pass(self, coin: str | None, times: int) -> dict[str, Any]:
        size = self.source.randint(1, 3)
        cases = [{"if": q, "adds": self.adds(size)} for q in self.conditions(2)]
        if coin is not None:
            cases = [{**c, "if": [["heads", coin, "1/3"], *c["if"]]} for c in cases]
            cases.append({"if": [["tails", coin, "1/3"]], "adds": [number("0")] * size})
        found = {"made": 0, "cases": cases}
        return {**found, "times": times} if times > 1 else found

    def adds(self, size: int) -> list[Form]:
        if self.clipped and self.source.random() < 0.5:
            listed = self.source.sample(self.clipped, len(self.clipped))[:size]
            found = [one(s, self.slope()) for s in listed]
            return found + [number("0")] * (size - len(found))
        return [self.an_add() for _ in range(size)]

    def an_add(self) -> Form:
        chance = self.source.random()
        if self.clipped and chance < 0.5:
            return one(self.source.choice(self.clipped), self.slope())
        return number("0") if chance < 0.6 else self.form(self.pool)

    # What is released

    def rows(self, sums: list[int], family: str) -> tuple[list[Form], list[dict[str, Any]]]:
        private = list(sums)
        for _ in range(self.source.randint(0, 2)):
            op = self.source.choice(["abs", "min", "max"])
            listed = [*private, *self.publics]
            private.append(self.add([op, *(self.form(listed) for _ in range(ARGUMENTS[op]))]))
        rows: list[Form] = []
        noises: list[dict[str, Any]] = []
        drawn: list[int] = []
        for _ in range(self.source.randint(1, 4)):
            _, terms = self.form(private, constant=False)
            again = drawn and self.source.random() < 0.2
            terms += [[self.source.choice(drawn), self.slope()]] if again else []
            drawn.append(self.add(["noise", len(noises)]))
            scale = self.source.choice(["1", "2", "1/2"])
            noises.append({"family": family, "scale": scale, "most": None})
            rows.append(["0", sorted([*terms, [drawn[-1], self.slope()]])])
        return rows, noises


def _negative(value: str) -> str:
    return str(-Fraction(value))


def program(source: random.Random) -> dict[str, Any]:
    """A certificate of a random program, without a bound."""
    made = Program(source)
    if source.random() < 0.7:
        made.clip()
    for _ in range(source.randint(0, 3)):
        made.function()
    family = source.choice(["laplace", "normal"])
    adjacency = source.choice(["replace_one", "add_remove_one"])
    each = source.choice([1, 1, 1, 2, 3])
    sampled = adjacency == "add_remove_one" and family == "laplace" and each == 1
    coin = "coin" if sampled and source.random() < 0.3 else None
    passes = [made.a_pass(coin, source.choice([1, each])) for _ in range(source.randint(1, 2))]
    places = [(p, i) for p, one in enumerate(passes) for i in range(len(one["cases"][0]["adds"]))]
    sums = [made.add(["sum", p, i]) for p, i in places]
    rows, noises = made.rows(sums, family)
    way = {"terms": made.terms, "noises": noises, "passes": passes, "rows": rows, "gates": []}
    people = {"rows_each": each, "user": "u"} if each > 1 else {}
    return certificate(
        "contributions",
        "0",
        apart=False,
        columns=made.columns,
        assumptions=[],
        ways=[way],
        form="list",
        measure="epsilon" if family == "laplace" else "mu2",
        delta="0",
        plan=None,
        adjacency={"name": adjacency, "radius": "inf"},
        **people,
    )


def compared(count: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """How many programs there were of which kind, and the bounds that are false."""
    source = random.Random(f"contributions {seed}")
    counts: collections.Counter[str] = collections.Counter()
    false: list[str] = []
    for trial in range(count):
        try:
            known = claimed(program(source))
            stated = kernel.check(known)
        except kernel.Invalid:
            counts["refused"] += 1
            continue
        except (ValueError, ArithmeticError):
            counts["refused: numbers out of reach"] += 1
            continue
        found = judged(known, PAIRS, trial)
        counts["accepted"] += 1
        counts["pairs"] += found.measured
        counts["nothing measured"] += not found.measured
        counts["false"] += found.violated
        counts["false at 90 %"] += found.worst > 0.9 * float(stated.bound) * (1 + 1e-6) + 1e-7
        if found.violated:
            false.append(f"program {trial}: {stated}, a pair costs {found.worst}")
    return counts, false


def main(count: int, seed: int) -> int:
    started = time.monotonic()
    counts, false = compared(count, seed)
    print(
        f"{count} random programs of sums: {counts['accepted']} with a bound "
        f"({counts['nothing measured']} of which nothing was measured), {counts['pairs']} pairs of "
        f"neighbours; false bounds: {counts['false']}; at 90 %: {counts['false at 90 %']}"
    )
    for line in false[:20]:
        print(line)
    print(f"seed {seed}, {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 1 if false or not counts["false at 90 %"] else 0


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(given + [10_000, 1][len(given) :])))
