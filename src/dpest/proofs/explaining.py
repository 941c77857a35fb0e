"""A proof in words, and as a derivation in apRHL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Symbol
from dpest.proofs.alignments.alignment import AffineShift, AlignedNoise
from dpest.proofs.alignments.regions_of_release import release_text
from dpest.proofs.approximate.words import words
from dpest.proofs.loops.contributions import box_of_case
from dpest.proofs.proof import Proof, shown
from dpest.reading.loop_graph import END

_MOST = 12
_WORST = 3  # of the releases: their alignments are much alike
_SCALED = ("laplace", "discrete_laplace", "exponential", "gumbel", "logistic", "cauchy")
_Names = Mapping[Symbol, str]


def explain(proof: Proof) -> str:
    """What was proved, which noise is shifted by how much at which cost, and the derivation."""
    lines = [proof.summary(), ""]
    if proof.status in ("exact", "upper bound", "refuted") and proof.words is not None:
        kind, *parts = proof.words
        lines += _WORDS[kind](proof, *parts)
    if proof.lower is not None:
        lines += ["", *_lower(proof)]
    if proof.certificate is not None:
        size = len(str(proof.certificate))
        lines += ["", f"Certificate: {size} characters, accepted by the kernel."]
    lines += [f"Note: {note}" for note in proof.notes]
    return "\n".join(lines)


def _unit(proof: Proof) -> str:
    return f"·{proof.unit}" if proof.unit else ""


def _named(draws: Mapping[Symbol, AlignedNoise], proof: Proof) -> tuple[_Names, list[str]]:
    """Noises as noise 1, noise 2, …, and what each of them is."""
    names = {s: f"noise {i}" for i, s in enumerate(draws, 1)}
    kinds: dict[str, list[str]] = {}
    for s, draw in draws.items():
        kind = draw.family.replace("_", " ")
        if draw.rate and draw.kind == "square":
            kind += f" of variance {_over(1 / (2 * draw.rate), proof, proof.power)}"
        elif draw.rate and draw.family in _SCALED:
            kind += f" of scale {_over(1 / draw.rate, proof, 1)}"
        kinds.setdefault(kind, []).append(names[s].removeprefix("noise "))
    told = []
    for kind, numbers in kinds.items():
        which = numbers if len(numbers) <= 6 else [*numbers[:5], "…", numbers[-1]]
        told.append(f"  noise {', '.join(which)}: {kind}")
    return names, told


def _over(scale: Fraction, proof: Proof, power: int) -> str:
    if proof.unit is None:
        return str(scale)
    unit = proof.unit if power == 1 else f"{proof.unit}^{power}"
    return f"{scale}/{unit}" if scale.denominator == 1 else f"({scale})/{unit}"


def _datum(symbol: Symbol) -> str:
    """d[0] for the difference of entry 0, d for that of the entry of a turn."""
    if symbol.name == "q":
        return "d"
    if symbol.name[0] == "q" and symbol.name[1:].isdigit():
        return f"d[{symbol.name[1:]}]"
    kinds = {"c": "clipped", "i": "indicator", "m": "best of the rest"}
    kind = kinds.get(symbol.name[0], symbol.name)
    return f"d[{kind} {symbol.name[1:]}]".replace(" ]", "]")


def _shift(shift: AffineShift) -> str:
    parts = [f"{_times(c)}{_datum(s)}" for s, c in sorted(shift.slopes.items())]
    if shift.constant or not parts:
        parts.insert(0, str(shift.constant))
    return " + ".join(parts).replace("+ -", "- ")


def _times(coefficient: Fraction) -> str:
    if coefficient == 1:
        return ""
    return "-" if coefficient == -1 else f"{coefficient}·"


def _judgment(proof: Proof) -> str:
    bound = f"{proof.bound}{_unit(proof)}"
    return (
        f"⊢ {{q ~ q' ({proof.adjacency})}} {proof.mechanism} ~({bound}, 0) {proof.mechanism}' "
        + ("{out = out'}")
    )


def _cells(proof: Proof, model: Any, regions: Any, planned: Any) -> list[str]:
    if planned.cost is None:
        region, face = planned.stuck
        return [
            f"No shift keeps the release {release_text(regions[region])} for all differences "
            f"{_box(face)}."
        ]
    lines = [
        "Coupling. d = q' - q. For each release, the second run's noise is the first's, shifted:",
    ]
    draws: Mapping[Symbol, AlignedNoise] = {
        s: d for region in regions for s, d in region.problem.draws.items()
    }
    names, told = _named(draws, proof)
    lines += told
    listed = 0
    worst = max((a.cost for _, _, a in planned.alignments), default=Fraction(0))
    for i, _, alignment in sorted(planned.alignments, key=lambda e: -e[2].cost):
        moved = {s: x for s, x in alignment.shifts.items() if not x.is_zero}
        if not moved or listed >= _WORST:
            continue
        listed += 1
        lines.append(f"  release {release_text(regions[i])}, {_box(alignment.face)}:")
        lines += [f"    {names[s]} moves by {_shift(x)}" for s, x in moved.items()]
        lines.append(f"    cost at most {alignment.cost}{_unit(proof)}")
    if len(planned.alignments) > listed:
        lines.append(f"  and {len(planned.alignments) - listed} more that cost no more")
    lines += [
        f"{len(regions)} releases, {len(planned.alignments)} alignments; the worst costs "
        f"{worst}{_unit(proof)}.",
        "",
        "Derivation (apRHL, pointwise equality of the release):",
    ]
    families = sorted({d.family for d in draws.values()})
    lines += [_rule(family) for family in families]
    lines += [
        "  [Seq]   the costs of the draws add up",
        "  [Case]  within one release the branches of both runs agree, as every condition is kept",
        f"  [PwEq]  for every release r: out = r implies out' = r;  hence {_judgment(proof)}",
    ]
    return lines


def _rule(family: str) -> str:
    rules = {
        "laplace": "  [Lap]   h ~ Lap(b), h' = h + s: cost |s|/b",
        "exponential": "  [Exp]   h ~ Exp(b), h' = h + s with s ≥ 0: cost s/b",
        "gumbel": "  [Gum]   h ~ Gumbel(b), h' = h + s with s ≥ 0: cost s/b",
        "discrete_laplace": "  [DLap]  h ~ discrete Lap(b), h' = h + s, s an integer: cost |s|/b",
        "logistic": "  [Logi]  h ~ Logistic(b), h' = h + s: cost at most |s|/b",
        "cauchy": "  [Cauchy] h ~ Cauchy(b), h' = h + s: cost at most |s|/b",
        "student_t": "  [t]     h ~ b·t(ν), h' = h + s: cost at most |s|·(ν + 1)/(2·b·√ν)",
        "gaussian": "  [Gauss] h ~ N(0, σ²), h' = h + s: Rényi cost α·s²/(2σ²)",
    }
    return rules.get(family, f"  [Rand]  {family}: both runs share the draw, at no cost")


def _box(face: Mapping[Symbol, tuple[Any, Any]]) -> str:
    if not face:
        return "no difference"
    parts = []
    for symbol, (low, high) in sorted(face.items())[:6]:
        parts.append(
            f"{_datum(symbol)} = {low}" if low == high else f"{_datum(symbol)} in [{low}, {high}]"
        )
    return ", ".join(parts) + (", …" if len(face) > 6 else "")


def _loop(proof: Proof, graph: Any, components: Any, rated: Any) -> list[str]:
    names, told = _named(rated.draws, proof)
    lines = ["Coupling, for every length: a budget for each state, which no step overdraws.", *told]
    for part in components:
        if len(components) > 1:
            lines.append(f"Component with bound {part.epsilon}{_unit(proof)}:")
        for state, budget in list(part.budgets.items())[:_MOST]:
            if state.node == END:
                continue
            slots = ", ".join(
                f"{slot.name}' = {slot.name} + {value}"
                for (at, slot), value in part.differences.items()
                if at == state
            )
            phase = f", after move {state.phase}" if state.phase else ""
            lines.append(
                f"  state {state.node}{phase}: budget {budget}{_unit(proof)}"
                + (f"; invariant {slots}" if slots else "")
            )
        lines += _steps(proof, graph, part, names)
    lines += ["", "Derivation (apRHL):"]
    lines += [_rule(f) for f in sorted({d.family for d in rated.draws.values()})]
    lines += [
        "  [While] the invariants hold before and after each turn; cost + budget after ≤ budget",
        f"  [PwEq]  hence {_judgment(proof)} for every length",
    ]
    return lines


def _steps(proof: Proof, graph: Any, part: Any, names: _Names) -> Iterable[str]:
    found: list[str] = []
    for step in sorted(part.steps, key=lambda s: -s.cost):
        moved = {s: x for s, x in step.shifts.items() if x}
        if not moved or len(found) >= _MOST:
            continue
        edge = graph.edges[step.edge]
        corner = ", ".join(f"{_datum(s)} = {v}" for s, v in step.corner.items()) or "d = 0"
        released = ", ".join("real" if hasattr(v, "terms") else repr(v) for v in edge.released)
        shifts = "; ".join(f"{names[s]} moves by {x}" for s, x in moved.items())
        found.append(
            f"  step {step.source.node} → {step.target.node if step.target.node != END else 'end'}"
            f" releasing [{released}], {corner}: {shifts}; cost {step.cost}{_unit(proof)}"
        )
    return found


def _records(proof: Proof, graph: Any, components: Any, rated: Any) -> list[str]:
    """What one record adds in each of its cases, and how the noise takes the worst of it back."""
    cases = graph.world.cases
    (part,) = components
    names, told = _named(rated.draws, proof)
    lines = [f"Sensitivity. One record is in one of {len(cases.leaves)} cases. It adds"]
    for blocks, values in cases.leaves[:_MOST]:
        adds = [
            f"{_affine(form, cases.entry)} to {cases.slots[t].name}"
            for t, form in values.items()
            if form.terms or form.constant
        ]
        lines.append(f"  if {_case(cases.entry, blocks)}: {', '.join(adds) or 'nothing'}")
    if len(cases.leaves) > _MOST:
        lines.append(f"  and so on, in {len(cases.leaves) - _MOST} more")
    for t, statistic in cases.statistics.items():
        lines.append(
            f"  ({cases.slots[t].name} is no sum but the {statistic.name} of these: it moves by "
            "part of what one of them moves by)"
        )
    if graph.world.sized:
        lines.append("  (All is taken times the number of records, which both runs know.)")
    two_steps = (proof.certificate or {}).get("steps") == 2
    moves = {s.target.phase: s.corner for s in part.steps if s.move.move >= 0}
    how = "what one record adds"
    if proof.adjacency.replaces:
        how = "a removal, then an addition" if two_steps else "a difference of two of these"
    lines += [f"Neighbours differ by {how}: {len(moves)} moves. The worst for the noise:", *told]
    worst = sorted((s for s in part.steps if s.cost), key=lambda s: -s.cost)[:_WORST]
    for step in worst:
        corner = moves.get(step.source.phase, {})
        moved = ", ".join(f"{cases.slots[t].name} by {v}" for t, v in sorted(corner.items()))
        shifts = ", ".join(f"{names[s]} by {x}" for s, x in step.shifts.items() if x)
        lines.append(f"  where the data move {moved}: {shifts}; cost {step.cost}{_unit(proof)}")
    lines += ["", "Derivation (apRHL):"]
    lines += [_rule(f) for f in sorted({d.family for d in rated.draws.values()})]
    if two_steps:
        lines.append("  [Trans] two steps: the costs of a removal and of an addition add up")
    lines += [
        "  [While] the sums differ by one move, whatever the other records are",
        f"  [PwEq]  hence {_judgment(proof)} for every length",
    ]
    return lines


def _case(entry: Any, blocks: Any) -> str:
    """Where a record is, number by number."""
    if not blocks:
        return "it is anything"
    parts = []
    for name, (low, high) in box_of_case(entry, blocks).items():
        what = _entry_name(entry, name)
        if entry.values is not None:
            parts.append(f"{what} = {high if high < entry.ranges[0][1] else entry.values[-1]}")
        elif low == high:
            parts.append(f"{what} = {low}")
        elif not (math.isinf(low) and math.isinf(high)):
            left = "" if math.isinf(low) else f"{low} ≤ "
            right = "" if math.isinf(high) else f" ≤ {high}"
            parts.append(f"{left}{what}{right}")
    return " and ".join(parts) or "neither"


def _entry_name(entry: Any, symbol: Symbol) -> str:
    record = entry.make(list(entry.symbols))
    if isinstance(record, dict):
        return next(k for k, v in record.items() if v == symbol)
    return "it"


def _affine(form: Any, entry: Any) -> str:
    parts = [f"{_times(c)}{_entry_name(entry, s)}" for s, c in sorted(form.terms.items())]
    if form.constant or not parts:
        parts.append(str(form.constant))
    return " + ".join(parts).replace("+ -", "- ")


def _square(proof: Proof, model: Any, shift: Any, draws: Any) -> list[str]:
    names, told = _named(draws, proof)
    lines = ["Coupling. The same shift for every release (a Rényi bound needs that):", *told]
    for h, slopes in shift.slopes.items():
        lines.append(f"  {names[h]} moves by {_shift(AffineShift(Fraction(0), slopes))}")
    power = f"·{proof.unit}^{proof.power}" if proof.unit else ""
    return [
        *lines,
        f"Σ s²/(2σ²) ≤ {proof.bound}{power} for every difference: D_α ≤ α times that, for every "
        "order α > 1 (zCDP).",
        "",
        "Derivation (span-apRHL): [Gauss] for each draw, [Seq] adds the costs, [Post] the releases",
        "are the same function of the shifted noise.",
    ]


def _finite(proof: Proof, found: Any, each: bool) -> list[str]:
    x, x2 = found.pair
    alone = [
        "The same is done for each entry, with draws of its own: where neighbours differ in one",
        "entry, the others reveal nothing about it, and ε is that of data of one entry.",
        "",
    ]
    return [
        *(alone if each else []),
        f"All {len(found.tables)} inputs and all outcomes of the draws were enumerated, exactly.",
        f"The worst: output {found.output} on {x!r} against {x2!r}.",
    ]


def _selection(proof: Proof, graph: Any, chosen: Any, rated: Any) -> list[str]:
    lines = [
        "Coupling, for every length. Only the winner's noise moves, for each release w:",
    ]
    names, told = _named({s: rated.draws[s] for s in chosen.own}, proof)
    lines += told
    for _, _, alignment in chosen.plan.alignments:
        for s, x in alignment.shifts.items():
            lines.append(f"  {_box(alignment.face)}: {names[s]} moves by {_shift(x)}")
        lines.append(f"    cost at most {alignment.cost}{_unit(proof)}")
    lines += ["", "Derivation (apRHL):"]
    lines += [_rule(rated.draws[s].family) for s in chosen.own]
    lines += [
        "  [Null]  the noises of all others stay; the best of them moves no more than their data",
        f"  [PwEq]  for every w: argmax = w implies argmax' = w;  hence {_judgment(proof)}",
    ]
    return lines


def _lower(proof: Proof) -> list[str]:
    lower = proof.lower
    assert lower is not None
    if not lower.ray.direction:
        return [f"Attained: {lower.ray.release}."]
    direction = ", ".join(str(d) for d in lower.ray.direction)
    tail = "no smaller bound holds" if proof.status == "exact" else "a lower bound"
    return [
        f"Lower bound (rays, over all real inputs): ε ≥ {shown(lower.value, proof.unit)} at "
        f"n = {lower.length}: {tail}.",
        f"  Inputs λ·d and (λ+1)·d with d = ({direction}), release {lower.ray.release}, λ → ∞.",
    ]


_WORDS: dict[str, Callable[..., list[str]]] = {
    "cells": _cells,
    "loop": _loop,
    "records": _records,
    "selection": _selection,
    "square": _square,
    "finite": _finite,
    "contributions": lambda _, ledger: words(ledger),
}
