"""The conditions of a certificate as SMT-LIB, for z3 and cvc5: each must be unsatisfiable.

Written from the model and the shifts alone: a point of a region, a difference of the data, and the
shifted point is not in the region, or releases something else, or costs more than was said. Sizes
of shifts are given by linear bounds, not by if-then-else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import MissingExtraError, RefusedError
from dpest.proofs import checker

Terms = Mapping[str, Fraction]


def conditions(
    certificate: Mapping[str, Any], epsilon: Fraction | None = None
) -> Iterator[tuple[str, str]]:
    """(name, SMT-LIB text) of every condition; with another ε to see that a smaller one fails."""
    if certificate["method"] == "composition":
        for i, part in enumerate(certificate["parts"]):
            yield from ((f"part{i}_{name}", text) for name, text in conditions(part))
        return
    if certificate["method"] == "finite":
        raise RefusedError("a table of probabilities has no linear conditions to write down")
    bound = checker.number(certificate["epsilon"]) if epsilon is None else epsilon
    write = {"cells": _cells, "loop": _loop, "selection": _selection, "square": _square}
    yield from write[certificate["method"]](certificate, bound)


def ask_z3(text: str) -> str:
    try:
        import z3
    except ImportError:
        raise MissingExtraError("prove", "checking conditions with z3") from None
    solver = z3.SolverFor("QF_LRA")
    solver.from_string(text)
    return str(solver.check())


def ask_cvc5(text: str) -> str:
    try:
        import cvc5
    except ImportError:
        raise MissingExtraError("prove", "checking conditions with cvc5") from None
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "condition")
    symbols = parser.getSymbolManager()
    said = ""
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return said.strip()
        said += str(command.invoke(solver, symbols))


def _name(symbol: str) -> str:
    return "|" + symbol + "|"


def _number(value: Any) -> str:
    value = Fraction(value)
    size = abs(value)
    text = f"{size.numerator}.0"
    if size.denominator != 1:
        text = f"(/ {size.numerator}.0 {size.denominator}.0)"
    return text if value >= 0 else f"(- {text})"


def _sum(parts: Sequence[str]) -> str:
    kept = [p for p in parts if p != "0.0"]
    if not kept:
        return "0.0"
    return kept[0] if len(kept) == 1 else f"(+ {' '.join(kept)})"


def _form(constant: Any, terms: Terms, moved: bool) -> str:
    """constant + Σ coefficient·symbol, of the first run or, moved, of the second."""
    parts = [_number(constant)]
    for symbol, coefficient in terms.items():
        name = _name(symbol)
        value = f"(+ {name} {_name('d.' + symbol)})" if moved else name
        parts.append(value if coefficient == 1 else f"(* {_number(coefficient)} {value})")
    return _sum(parts)


def _holds(condition: Any, moved: bool) -> str:
    constant, terms, strict = condition
    return f"({'>' if strict else '>='} {_form(constant, dict(terms), moved)} 0.0)"


class _Text:
    """One file: declarations, definitions of what moves by how much, assumptions, the goal."""

    def __init__(self) -> None:
        self.lines = ["(set-logic QF_LRA)"]
        self.moves: dict[str, str] = {}

    def declare(self, symbols: Any) -> None:
        self.lines += [f"(declare-const {_name(s)} Real)" for s in sorted(symbols)]

    def box(self, face: Mapping[str, tuple[Any, Any]]) -> None:
        for symbol, (low, high) in sorted(face.items()):
            name = _name("d." + symbol)
            self.lines.append(f"(declare-const {name} Real)")
            for sign, end in (("<=", low), (">=", high)):
                if end not in (float("inf"), float("-inf")):
                    self.lines.append(f"(assert ({sign} {_number(end)} {name}))")

    def define(self, name: str, body: str) -> None:
        self.lines.append(f"(define-fun {_name(name)} () Real {body})")

    def shifts(self, noises: Any, shift: Any, bound: Any) -> tuple[list[str], list[str]]:
        """Define the shifts; what must hold of them, and the parts of the cost."""
        goals, cost = [], []
        for h, (rule, rate, _) in noises.items():
            for prefix, table in (("d.", shift), ("t.", bound)):
                constant, slopes = table.get(h, (Fraction(0), {}))
                parts = [f"(* {_number(v)} {_name('d.' + k)})" for k, v in slopes.items()]
                self.define(prefix + h, _sum([_number(constant), *parts]))
            moved, size = _name("d." + h), _name("t." + h)
            if rule == "absolute":
                goals.append(f"(<= (- {size}) {moved} {size})")
                cost.append(f"(* {_number(rate or 0)} {size})")
            else:
                goals.append(f"(>= {moved} 0.0)")
                cost.append(f"(* {_number(rate)} {moved})")
        return goals, cost

    def finish(self, held: Sequence[str], goals: Sequence[str]) -> str:
        self.lines += [f"(assert {h})" for h in held]
        self.lines.append(f"(assert (not (and true {' '.join(goals)})))")
        return "\n".join([*self.lines, "(check-sat)", ""])


def _condition(
    held: Sequence[Any],
    released: Sequence[Terms],
    noises: Any,
    face: Mapping[str, tuple[Any, Any]],
    shift: Any,
    bound: Any,
    budget: Fraction,
) -> str:
    text = _Text()
    symbols = {k for c in held for k, _ in c[1]} | {k for t in released for k in t}
    text.declare(symbols)
    text.box({k: face.get(k, (0, 0)) for k in {*face, *symbols} - set(noises)})
    goals, cost = text.shifts(noises, shift, bound)
    goals += [_holds(c, True) for c in held]
    goals += [f"(= {_form(0, t, False)} {_form(0, t, True)})" for t in released]
    goals.append(f"(<= {_sum(cost)} {_number(budget)})")
    return text.finish([_holds(c, False) for c in held], goals)


def _known(certificate: Mapping[str, Any]) -> dict[int, list[Any]]:
    known: dict[int, list[Any]] = {}
    for node in certificate["nodes"]:
        if len(node["in"]) == 1:
            (edge,) = node["in"]
            decided = [c for d in edge["if"] for c in checker.decision(d)[2]]
            support = checker.support(edge["noise"], certificate)
            known[node["id"]] = list(dict.fromkeys([*known[edge["from"]], *support, *decided]))
        else:
            known[node["id"]] = [checker.condition(c) for c in node.get("invariant", [])]
    return known


def _cells(certificate: Mapping[str, Any], bound: Fraction) -> Iterator[tuple[str, str]]:
    noises = checker.noise_table(certificate)
    known = _known(certificate)
    released = {
        leaf["node"]: [checker.terms(t) for t in leaf["real"]] for leaf in certificate["leaves"]
    }
    for number, plan in enumerate(certificate["alignments"]):
        leaf = plan["leaf"]
        met = {k for c in known[leaf] for k, _ in c[1]} | {k for t in released[leaf] for k in t}
        text = _condition(
            known[leaf],
            released[leaf],
            {h: noises[h] for h in sorted(met) if h in noises},
            {k: (checker.number(a), checker.number(b)) for k, (a, b) in plan["face"].items()},
            checker.affine(plan["shift"]),
            checker.affine(plan["bound"]),
            bound,
        )
        yield f"leaf_{leaf}_{number}", text


def _selection(certificate: Mapping[str, Any], bound: Fraction) -> Iterator[tuple[str, str]]:
    noises = checker.noise_table(certificate)
    lead = {**checker.terms(certificate["element"]), "m": Fraction(-1)}
    held = [checker.frozen(Fraction(0), lead, False)]
    for number, plan in enumerate(certificate["alignments"]):
        text = _condition(
            held,
            [lead] if certificate["gap"] else [],
            noises,
            {k: (checker.number(a), checker.number(b)) for k, (a, b) in plan["face"].items()},
            checker.affine(plan["shift"]),
            checker.affine(plan["bound"]),
            bound,
        )
        yield f"winner_{number}", text


def _loop(certificate: Mapping[str, Any], bound: Fraction) -> Iterator[tuple[str, str]]:
    noises = checker.noise_table(certificate)
    for c, part in enumerate(certificate["components"]):
        states = {s["id"]: s for s in part["states"]}
        start = checker.number(states[part["start"]]["budget"]) * certificate.get("steps", 1)
        yield (
            f"start_{c}",
            "\n".join(
                [
                    "(set-logic QF_LRA)",
                    f"(assert (not (<= {_number(start)} {_number(bound)})))",
                    "(check-sat)",
                    "",
                ]
            ),
        )
        moves = _moves(certificate, c)
        for step in part["steps"]:
            edge = certificate["edges"][step["edge"]]
            before, after = states[step["state"]], states[step["next"]]
            face = {k: (checker.number(v),) * 2 for k, v in before["difference"].items()}
            face |= {k: (v,) * 2 for k, v in moves.get(step["move"], {}).items()}
            shift: dict[str, Any] = {h: (checker.number(x), {}) for h, x in step["shift"].items()}
            held = [x for d in edge["if"] for x in checker.decision(d)[2]]
            new = []
            for slot, terms in edge["set"].items():
                face["=" + slot] = (checker.number(after["difference"][slot]),) * 2
                new.append({**checker.terms(terms), "=" + slot: Fraction(-1)})
            left = checker.number(before["budget"]) - checker.number(after["budget"])
            here = {h: noises[h] for h in edge["noise"]}
            for h, (rule, rate, integral) in here.items():
                if rule == "square":  # a number: what it costs is taken off the budget
                    left -= rate * shift.get(h, (0, {}))[0] ** 2
                    here[h] = ("absolute", Fraction(0), integral)
            text = _condition(
                held,
                [checker.terms(t) for t in edge["real"]] + new,
                here,
                face,
                shift,
                {h: (abs(x), {}) for h, (x, _) in shift.items()},
                left,
            )
            yield f"step_{c}_{step['state']}_{step['edge']}_{step['move'] + 1}", text


def _moves(certificate: Mapping[str, Any], component: int) -> dict[int, dict[str, Fraction]]:
    """The corners by which a datum moves, numbered as in the certificate."""
    import itertools

    used = {k for e in certificate["edges"] for t in (*e["real"], *e["set"].values()) for k in t}
    used |= {
        k
        for e in certificate["edges"]
        for d in e["if"]
        for c in checker.decision(d)[2]
        for k, _ in c[1]
    }
    integral = any(x[2] for x in checker.noise_table(certificate).values())
    if "cases" in certificate:
        return dict(enumerate(checker.record_moves(certificate, integral)[0]))
    groups = checker.components(certificate, ["q"])
    one = certificate["adjacency"]["name"] in ("l1", "replace_one")
    faces = [f for g in groups for f in g] if one else groups[component]
    found: list[dict[str, Fraction]] = []
    for face in faces:
        names = sorted(k for k in face if k in used)
        ends = [checker.points(k, face[k], integral, certificate) for k in names]
        found += [dict(zip(names, v, strict=True)) for v in itertools.product(*ends)]
    return dict(enumerate(found))


def _square(certificate: Mapping[str, Any], bound: Fraction) -> Iterator[tuple[str, str]]:
    """The shift keeps every condition and release; its quadratic cost is left to the checker."""
    noises = checker.noise_table(certificate)
    known = _known(certificate)
    shift: dict[str, Any] = {
        h: (Fraction(0), checker.terms(s)) for h, s in certificate["common"].items()
    }
    for leaf in certificate["leaves"]:
        text = _Text()
        held = known[leaf["node"]]
        released = [checker.terms(t) for t in leaf["real"]]
        symbols = {k for c in held for k, _ in c[1]} | {k for t in released for k in t}
        text.declare(symbols)
        data = {k for _, s in shift.values() for k in s} | (symbols - set(noises))
        text.box({k: (float("-inf"), float("inf")) for k in data})
        for h in sorted(symbols & set(noises)):
            parts = [
                f"(* {_number(v)} {_name('d.' + k)})" for k, v in shift.get(h, (0, {}))[1].items()
            ]
            text.define("d." + h, _sum(parts))
        goals = [_holds(c, True) for c in held]
        goals += [f"(= {_form(0, t, False)} {_form(0, t, True)})" for t in released]
        yield f"leaf_{leaf['node']}", text.finish([_holds(c, False) for c in held], goals)
