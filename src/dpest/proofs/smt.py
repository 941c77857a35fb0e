"""The conditions of a certificate as SMT-LIB, for z3 and cvc5: each must be unsatisfiable.

Written from the model and the shifts alone: a point of a region, a difference of the data, and the
shifted point is not in the region, or releases something else, or costs more than was said. Sizes
of shifts are given by linear bounds, not by if-then-else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.errors import MissingExtraError, RefusedError
from dpest.kernel.alignment import NOTHING, AffineForm, BoxPlan, KeptRegion
from dpest.kernel.fields import Fields
from dpest.kernel.forms import LinearInequality, Terms, symbols_of, terms_of
from dpest.kernel.header import Header, read_header
from dpest.kernel.models.noise import Noises
from dpest.kernel.models.regions import regions
from dpest.kernel.rules import cells, loop, selection, square


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
    fields = Fields(certificate, "certificate")
    fields.optional("digest")
    header = read_header(fields)
    bound = header.value() if epsilon is None else epsilon
    write = {"cells": _cells, "loop": _loop, "selection": _selection, "square": _square}
    yield from write[header.method](header, fields, bound)


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


def _holds(condition: LinearInequality, moved: bool) -> str:
    sign = ">" if condition.strict else ">="
    return f"({sign} {_form(condition.constant, terms_of(condition), moved)} 0.0)"


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

    def shifts(self, noises: Noises, plan: BoxPlan) -> tuple[list[str], list[str]]:
        """Define the shifts; what must hold of them, and the parts of the cost."""
        goals, cost = [], []
        for h, noise in noises.items():
            for prefix, table in (("d.", plan.shift), ("t.", plan.size)):
                self.define(prefix + h, _affine(table.get(h, NOTHING)))
            moved, size = _name("d." + h), _name("t." + h)
            if noise.rule == "upward":
                goals.append(f"(>= {moved} 0.0)")
                cost.append(f"(* {_number(noise.rate)} {moved})")
            else:
                goals.append(f"(<= (- {size}) {moved} {size})")
                cost.append(f"(* {_number(noise.rate)} {size})")
        return goals, cost

    def finish(self, held: Sequence[str], goals: Sequence[str]) -> str:
        self.lines += [f"(assert {h})" for h in held]
        self.lines.append(f"(assert (not (and true {' '.join(goals)})))")
        return "\n".join([*self.lines, "(check-sat)", ""])


def _affine(value: AffineForm) -> str:
    parts = [f"(* {_number(v)} {_name('d.' + k)})" for k, v in value.slopes.items()]
    return _sum([_number(value.constant), *parts])


def _condition(region: KeptRegion, plan: BoxPlan, budget: Fraction) -> str:
    text = _Text()
    symbols = symbols_of((*map(terms_of, region.keep), *region.pin))
    text.declare(symbols)
    still = (Fraction(0), Fraction(0))
    text.box({k: plan.box.get(k, still) for k in {*plan.box, *symbols} - set(region.noises)})
    goals, cost = text.shifts(region.noises, plan)
    goals += [_holds(c, True) for c in region.keep]
    goals += [f"(= {_form(0, t, False)} {_form(0, t, True)})" for t in region.pin]
    goals.append(f"(<= {_sum(cost)} {_number(budget)})")
    return text.finish([_holds(c, False) for c in region.keep], goals)


def _cells(header: Header, fields: Fields, bound: Fraction) -> Iterator[tuple[str, str]]:
    found = cells.read(header, fields)
    for leaf, region in regions(found.tree, found.numbers.noises, found.numbers.whole):
        for number, (_, plan) in enumerate(found.plans[leaf]):
            yield f"leaf_{leaf}_{number}", _condition(region, plan, bound)


def _selection(header: Header, fields: Fields, bound: Fraction) -> Iterator[tuple[str, str]]:
    found = selection.read(header, fields)
    for number, (_, plan) in enumerate(found.plans):
        yield f"winner_{number}", _condition(found.region, plan, bound)


def _loop(header: Header, fields: Fields, bound: Fraction) -> Iterator[tuple[str, str]]:
    found, _ = loop.read(header, fields)
    steps = 1 if found.cases is None else found.cases.steps
    for c, (part, moves) in enumerate(
        zip(found.graph.potentials, loop.moves_of(found), strict=True)
    ):
        start = f"(<= {_number(steps * part.start.budget)} {_number(bound)})"
        yield f"start_{c}", f"(set-logic QF_LRA)\n(assert (not {start}))\n(check-sat)\n"
        for (state, number, move), step in part.steps.items():
            edge, before = found.graph.edges[number], part.states[state]
            after = part.states[step.following]
            way = before, step, after
            region, plan = loop.aligned_step(found, edge, moves[move] if move >= 0 else {}, way)
            left = before.budget - after.budget
            for h, noise in region.noises.items():
                if noise.rule == "square":  # a number: what it costs is taken off the budget
                    left -= noise.rate * step.shift.get(h, Fraction(0)) ** 2
                    free = replace(noise, rule="absolute", rate=Fraction(0))
                    region = replace(region, noises={**region.noises, h: free})
            yield f"step_{c}_{state}_{number}_{move + 1}", _condition(region, plan, left)


def _square(header: Header, fields: Fields, bound: Fraction) -> Iterator[tuple[str, str]]:
    """The shift keeps every condition and release; its quadratic cost is left to the kernel."""
    found = square.read(header, fields)
    for leaf, region in regions(found.tree, found.numbers.noises, found.numbers.whole):
        text = _Text()
        symbols = symbols_of((*map(terms_of, region.keep), *region.pin))
        text.declare(symbols)
        data = symbols_of(found.shift.values()) | (symbols - region.noises.keys())
        text.box({k: (float("-inf"), float("inf")) for k in data})
        for h in sorted(symbols & region.noises.keys()):
            text.define("d." + h, _affine(AffineForm(slopes=found.shift.get(h, {}))))
        goals = [_holds(c, True) for c in region.keep]
        goals += [f"(= {_form(0, t, False)} {_form(0, t, True)})" for t in region.pin]
        yield f"leaf_{leaf}", text.finish([_holds(c, False) for c in region.keep], goals)
