"""The conditions of a loop's certificate as lemmas for Coq, each closed by `lra`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs import checker


def export(certificate: Mapping[str, Any]) -> str:
    """A Coq file (8.16 or newer): one lemma a step, over the rationals, for `coqc`."""
    if certificate["method"] != "loop":
        raise RefusedError("the export to Coq writes proofs for every length (potentials) only")
    noises = checker.noise_table(certificate)
    lines = [
        "From Coq Require Import QArith Lqa.",
        "Open Scope Q_scope.",
        f"(* {certificate['mechanism']}: epsilon <= {certificate['epsilon']} "
        f"{certificate['unit'] or ''}; sha256 of the source {certificate['sha256']} *)",
    ]
    from dpest.proofs.smt import _moves

    for c, part in enumerate(certificate["components"]):
        states = {s["id"]: s for s in part["states"]}
        moves = _moves(certificate, c)
        start = checker.number(states[part["start"]]["budget"])
        bound = _number(checker.number(certificate["epsilon"]))
        lines.append(f"Lemma budget_{c} : {_number(start)} <= {bound}.\nProof. lra. Qed.")
        for number, step in enumerate(part["steps"]):
            edge = certificate["edges"][step["edge"]]
            before, after = states[step["state"]], states[step["next"]]
            change = {k: checker.number(v) for k, v in before["difference"].items()}
            change |= moves.get(step["move"], {})
            change |= {h: checker.number(x) for h, x in step["shift"].items()}
            held = [x for d in edge["if"] for x in checker.decision(d)[2]]
            released = [checker.terms(t) for t in edge["real"]]
            slots = {k: checker.terms(t) for k, t in edge["set"].items()}
            symbols = {k for x in held for k, _ in x[1]} | {k for t in released for k in t}
            symbols |= {k for t in slots.values() for k in t}
            names = {s: f"x{i}" for i, s in enumerate(sorted(symbols))}
            goals = [_holds(x, names, change) for x in held]
            goals += [f"{_form(0, t, names, {})} == {_form(0, t, names, change)}" for t in released]
            for slot, t in slots.items():
                moved = _number(checker.number(after["difference"][slot]))
                goals.append(f"{_form(0, t, names, change)} == {_form(0, t, names, {})} + {moved}")
            cost = [_number(checker.number(after["budget"]))]
            for h in edge["noise"]:
                rule, rate, _ = noises[h]
                shift = change.get(h, Fraction(0))
                if rule == "upward":
                    goals.append(f"0 <= {_number(shift)}")
                size = shift * shift if rule == "square" else abs(shift)
                cost.append(f"{_number(rate or 0)} * {_number(size)}")
            goals.append(f"{' + '.join(cost)} <= {_number(checker.number(before['budget']))}")
            binders = f" ({' '.join(names.values())} : Q)" if names else ""
            premises = "".join(f"  {_holds(x, names, {})} ->\n" for x in held)
            conclusion = " /\\\n  ".join(goals)
            lines.append(
                f"Lemma step_{c}_{number}{binders} :\n{premises}  {conclusion}.\n"
                "Proof. intros. repeat split; lra. Qed."
            )
    return "\n".join(lines) + "\n"


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


def _holds(condition: Any, names: Mapping[str, str], change: Mapping[str, Any]) -> str:
    constant, terms, strict = condition
    return f"0 {'<' if strict else '<='} {_form(constant, dict(terms), names, change)}"
