"""The conditions of a loop's certificate as lemmas for Coq, each closed by `lra`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.kernel.fields import Fields
from dpest.kernel.forms import Condition, terms_of
from dpest.kernel.graph import Edge, State, Step
from dpest.kernel.header import read_header
from dpest.kernel.rules import loop


def export(certificate: Mapping[str, Any]) -> str:
    """A Coq file (8.16 or newer): one lemma a step, over the rationals, for `coqc`."""
    fields = Fields(certificate, "certificate")
    fields.optional("digest")
    header = read_header(fields)
    if header.method != "loop":
        raise RefusedError("the export to Coq writes proofs for every length (potentials) only")
    found, _ = loop.read(header, fields)
    lines = [
        "From Coq Require Import QArith Lqa.",
        "Open Scope Q_scope.",
        f"(* {certificate['mechanism']}: epsilon <= {header.value()} "
        f"{header.unit or ''}; sha256 of the source {header.digest} *)",
    ]
    bound = _number(header.value())
    parts = zip(found.graph.potentials, loop.moves_of(found), strict=True)
    for c, (part, moves) in enumerate(parts):
        start = _number(part.start.budget)
        lines.append(f"Lemma budget_{c} : {start} <= {bound}.\nProof. lra. Qed.")
        for number, ((state, place, move), step) in enumerate(part.steps.items()):
            way = part.states[state], step, part.states[step.following]
            changed = moves[move] if move >= 0 else {}
            lines.append(
                _lemma(f"step_{c}_{number}", found, found.graph.edges[place], changed, way)
            )
    return "\n".join(lines) + "\n"


def _lemma(
    name: str,
    found: loop.Loop,
    edge: Edge,
    move: Mapping[str, Any],
    way: tuple[State, Step, State],
) -> str:
    """The step keeps its conditions and releases, and is within its budget."""
    before, step, after = way
    change: dict[str, Any] = {**before.difference, **move, **step.shift}
    names = {s: f"x{i}" for i, s in enumerate(sorted(edge.symbols))}
    goals = [_holds(c, names, change) for c in edge.keep]
    goals += [f"{_form(0, t, names, {})} == {_form(0, t, names, change)}" for t in edge.real]
    for slot, t in edge.slots.items():
        moved = _number(after.difference[slot])
        goals.append(f"{_form(0, t, names, change)} == {_form(0, t, names, {})} + {moved}")
    cost = [_number(after.budget)]
    for h in edge.noise:
        noise, shift = found.numbers.noises[h], step.shift.get(h, Fraction(0))
        if noise.rule == "upward":
            goals.append(f"0 <= {_number(shift)}")
        size = shift * shift if noise.rule == "square" else abs(shift)
        cost.append(f"{_number(noise.rate)} * {_number(size)}")
    goals.append(f"{' + '.join(cost)} <= {_number(before.budget)}")
    binders = f" ({' '.join(names.values())} : Q)" if names else ""
    premises = "".join(f"  {_holds(c, names, {})} ->\n" for c in edge.keep)
    conclusion = " /\\\n  ".join(goals)
    return (
        f"Lemma {name}{binders} :\n{premises}  {conclusion}.\n"
        "Proof. intros. repeat split; lra. Qed."
    )


def _number(value: Any) -> str:
    value = Fraction(value)
    text = f"({abs(value.numerator)}#{value.denominator})"
    return text if value >= 0 else f"(-{text})"


def _form(constant: Any, terms: Any, names: Mapping[str, str], change: Mapping[str, Any]) -> str:
    parts = [_number(constant)]
    for symbol, coefficient in terms.items():
        value = names[symbol]
        if change.get(symbol):
            value = f"({value} + {_number(change[symbol])})"
        parts.append(f"{_number(coefficient)} * {value}")
    return f"({' + '.join(parts)})"


def _holds(condition: Condition, names: Mapping[str, str], change: Mapping[str, Any]) -> str:
    sign = "<" if condition.strict else "<="
    return f"0 {sign} {_form(condition.constant, terms_of(condition), names, change)}"
