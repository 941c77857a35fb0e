"""Twenty thousand changed certificates: nothing crashes the kernel, nothing false passes.

Each is a certificate of the prover with one or two random changes: a number, a type, a key, one
entry more or less, parts exchanged. Every refusal must be `Invalid` with a reason. What is accepted
must be harmless: where the model is the same, the statement is the same or weaker; where it is
another one, z3 must find every condition of it to hold (tables of probabilities are compared by
their own arithmetic, at a hundred values of the unit).

As many are forgeries of certificates of noisy sums: numbers, relations, names and kinds are
changed, entries dropped, doubled and exchanged, noises and symbols renumbered, neighbours, people,
lengths and measures changed, and parts of other certificates taken. Most then claim the least that
the kernel finds for the model they describe. The model in what is accepted is run on pairs of
neighbours (`tests/kernel/running_models.py`, `true_costs.py`): none may cost more than is stated.
The exit status is 1 if anything fails.

    python validation/mutated_certificates.py [COUNT]
"""

from __future__ import annotations

import collections
import math
import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dpest import kernel
from dpest.proofs import smt
from dpest.proofs.rebuilding import model_of
from kernel.examples import certificates
from kernel.mutations import forged, mutated
from kernel.sums import claimed, every_kind
from kernel.true_costs import judged

MOST_CONDITIONS = 60
PAIRS = 60


def weaker(new: kernel.Statement, old: kernel.Statement) -> bool:
    """Whether a statement about the same model follows from the other."""
    inputs = all(i in old.inputs or i.ranges for i in new.inputs)
    lengths = old.lengths.every or set(new.lengths.listed) <= set(old.lengths.listed) != set()
    return (
        new.measure == old.measure
        and new.adjacency.name == old.adjacency.name
        and (new.adjacency.radius <= old.adjacency.radius or cases_cover(new))
        and new.bound >= old.bound
        and (new.unit, new.power) == (old.unit, old.power)
        and inputs
        and lengths
    )


def cases_cover(new: kernel.Statement) -> bool:
    """replace_one within ranges: any record for any other was checked, whatever the radius."""
    return new.adjacency.name == "replace_one" and any(i.ranges for i in new.inputs)


def holds(certificate: dict[str, Any]) -> bool | None:
    """Whether an accepted certificate of another model is right, found another way."""
    if certificate["method"] == "finite":
        return table_holds(certificate)
    if certificate["method"] == "composition":
        return all(holds(part) is not False for part in certificate["parts"])
    for number, (_, text) in enumerate(smt.conditions(certificate)):
        if number == MOST_CONDITIONS:
            return None
        if smt.ask_z3(text) != "unsat":
            return False
    return True


def table_holds(certificate: dict[str, Any]) -> bool:
    """All ratios of a table at many values of the unit, in floating point."""
    units = [0.05 * k for k in range(1, 101)] if certificate["unit"] else [1.0]
    pairwise = certificate["adjacency"]["name"] == "any_pair"
    for unit in units:
        a = math.exp(-unit / certificate["denominator"])
        most = (
            unit * certificate["power"] / certificate["denominator"]
            if certificate["unit"]
            else math.log(Fraction(certificate["exponential"]))
        )
        chances = [
            [{y: value(p, a) / value(q, a) for y, (p, q) in part.items()} for part in t["parts"]]
            for t in certificate["tables"]
        ]
        for first in chances:
            for second in chances if pairwise or len(chances) == 2 else []:
                loss = 0.0
                for p, q in zip(first, second, strict=True):
                    loss += max(math.log(p[y] / q[y]) for y in p if p[y] > 0)
                if loss > most + 1e-9:
                    return False
    return True


def value(polynomial: list[str], a: float) -> float:
    return math.fsum(float(Fraction(c)) * a**i for i, c in enumerate(polynomial))


def accepted(
    certificate: Any, where: str, counts: collections.Counter[str], failures: list[str]
) -> kernel.Statement | None:
    """What the kernel states; None where it refuses or crashes, which is counted."""
    try:
        return kernel.check(certificate)
    except kernel.Invalid as reason:
        counts["refused" if str(reason) else "refused without a reason"] += 1
    except Exception as error:
        counts["crashed"] += 1
        failures.append(f"{where}: {type(error).__name__}: {error}")
    return None


def of_all_kinds(count: int) -> tuple[collections.Counter[str], list[str]]:
    """Changes of what the prover writes."""
    source = random.Random(7)
    known = certificates()
    stated = {name: kernel.check(c) for name, c in known.items()}
    models = {name: model_of(c) for name, c in known.items()}
    counts: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    names = list(known)
    for trial in range(count):
        name = names[trial % len(names)]
        changed = mutated(known[name], source)
        found = accepted(changed, f"{name}, trial {trial}", counts, failures)
        if found is None:
            continue
        if model_of(changed) == models[name]:
            fine = weaker(found, stated[name])
            kind = "accepted: the same model, the same or a weaker statement"
        else:
            answer = holds(changed)
            fine = answer is not False
            kind = "accepted: another model, and right" if answer else "accepted: too large for z3"
        counts[kind if fine else "WRONG"] += 1
        if not fine:
            failures.append(f"{name}, trial {trial}: {found}")
    return counts, failures


def of_sums(count: int) -> tuple[collections.Counter[str], list[str]]:
    """Forgeries of certificates of noisy sums, judged by running their models."""
    source = random.Random(8)
    known = every_kind()
    names, others = list(known), list(known.values())
    counts: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    for trial in range(count):
        name = names[trial % len(names)]
        changed = forged(known[name], others, source)
        if source.random() < 0.7:
            changed = with_least(changed)
        found = accepted(changed, f"{name}, trial {trial}", counts, failures)
        if found is None:
            continue
        if changed == known[name]:
            counts["accepted: not changed at all"] += 1
            continue
        cost = judged(changed, PAIRS, trial)
        kind = "accepted: no pair costs more" if cost.measured else "accepted: nothing was measured"
        counts["WRONG" if cost.violated else kind] += 1
        if cost.violated:
            failures.append(f"{name}, trial {trial}: {found}, and a pair costs {cost.worst}")
    return counts, failures


def with_least(changed: dict[str, Any]) -> dict[str, Any]:
    """With the least bound of its model, where the kernel reads it and finds one."""
    try:
        return claimed(changed)
    except (kernel.Invalid, KeyError, TypeError, ValueError, ArithmeticError):
        return changed


def main(count: int) -> int:
    failed = False
    kinds = (("all kinds", of_all_kinds), ("noisy sums", of_sums))
    for words, change in kinds:
        counts, failures = change(count)
        print(f"{count} changed certificates of {words}")
        for kind, number in sorted({"crashed": 0, "WRONG": 0, **counts}.items()):
            print(f"{number:7}  {kind}")
        for line in failures[:20]:
            print(line)
        failed |= bool(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
