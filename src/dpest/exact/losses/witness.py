"""The output that shows a loss, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.evidence import Witness
from dpest.exact.losses.pairs import CellExtreme, GroupPair
from dpest.exact.outputs.cells import OutputCell
from dpest.geometry.linear import Form
from dpest.running.skeleton import leaf_kinds, unflatten


def real_leaves(cell: OutputCell, point: Sequence[float]) -> list[float]:
    """The cell's real leaves from its coordinates; an infinite coordinate stays infinite."""
    size = len(cell.shape.free)
    free = [0.0] * size
    if size:
        matrix = np.array([[float(c) for c in k.combination] for k in cell.coordinates])
        inverse = np.linalg.inv(matrix)
        for i in range(size):
            parts = [inverse[i, j] * point[j] for j in range(size) if abs(inverse[i, j]) > 1e-12]
            endless = [p for p in parts if math.isinf(p)]
            free[i] = endless[0] if endless else math.fsum(parts)
    values = dict(zip(cell.shape.free, free, strict=True))
    for row, value in cell.shape.relations:
        lead = next(j for j, c in enumerate(row) if c)
        rest = [float(row[j]) * values[j] for j in cell.shape.free if row[j]]
        values[lead] = (float(value) - sum(rest)) / float(row[lead])
    return [values[j] for j in range(len(cell.real))]


def _point(extreme: CellExtreme) -> tuple[dict[Any, float], str]:
    """Coordinates of the extreme by symbol, and how it is reached."""
    where: dict[Any, float] = {}
    how = "at"
    for factor, part in zip(extreme.pair.factors, extreme.parts, strict=False):
        where.update(zip(factor.symbols, part.at, strict=False))
    for part in extreme.parts:
        if part.how != "at":
            how = part.how
    return where, how


def describe(
    group: GroupPair, extremes: Sequence[CellExtreme], x: Any, x2: Any, forward: bool
) -> Witness:
    """The witness of a direction: the blocks' outputs together, with both probabilities."""
    leaves: list[Any] = [None] * len(leaf_kinds(group.skeleton))
    how = "at"
    log_p = log_q = 0.0
    densities = False
    reasons: list[str] = []
    details: dict[str, Any] = {}
    for block, extreme in zip(group.blocks, extremes, strict=True):
        cell = extreme.pair.cell
        for j, leaf in zip(block.positions, cell.leaves, strict=True):
            leaves[j] = leaf
        where, reached = _point(extreme)
        how = reached if reached != "at" else how
        p, q = extreme.pair.log_constant
        for part in extreme.parts:
            if cell.real:  # a constant cell has its whole mass in the constants
                p, q = p + part.log_p, q + part.log_q
        if cell.real:
            densities = densities or any(not c.lattice for c in cell.coordinates)
            if any(c.symbol not in where for c in cell.coordinates):
                where = {**extreme.pair.typical(0 if forward else 1), **where}
            point = [where.get(c.symbol, math.nan) for c in cell.coordinates]
            numbers = real_leaves(cell, point)
            for j, value in zip(cell.real, numbers, strict=True):
                leaves[block.positions[j]] = value
            p, q = p + cell.log_jacobian, q + cell.log_jacobian
        log_p, log_q = log_p + p, log_q + q
        if extreme.value == math.inf and reached == "support":
            reasons.append(_impossible(extreme, forward))
        exact = [cell.exact_probability(side) for side in (0, 1)]
        if exact[0] is not None and exact[1] is not None and len(group.blocks) == 1:
            details["exact"] = (str(exact[0]), str(exact[1]))
    output = unflatten(group.skeleton, leaves)
    event = f"output = {shown(output)}"
    if how == "limit":
        event = f"output near {shown(output)} (a limit: approached, not reached)"
    elif how == "growing":
        event = f"output = {shown(output)}; the ratio is larger still further on"
    elif how == "unbounded":
        event = f"output towards {shown(output)}: the ratio grows without bound"
    if reasons:
        event += "; " + "; ".join(reasons)
    details["output"] = output
    details["how"] = how
    details["log_p"], details["log_q"] = log_p, log_q
    p_value = math.exp(log_p) if math.isfinite(log_p) else (None if math.isnan(log_p) else 0.0)
    q_value = math.exp(log_q) if math.isfinite(log_q) else (None if math.isnan(log_q) else 0.0)
    if how in ("limit", "unbounded"):
        p_value = q_value = None
    return Witness(x, x2, event, p_value, q_value, densities, details=details)


def shown(output: Any) -> str:
    if isinstance(output, float):
        return f"{output:.10g}"
    if isinstance(output, (list, tuple)):
        inner = ", ".join(shown(v) for v in output)
        return f"[{inner}]" if isinstance(output, list) else f"({inner})"
    if isinstance(output, np.ndarray):
        return shown(output.tolist())
    return repr(output)


def _impossible(extreme: CellExtreme, forward: bool) -> str:
    cell = extreme.pair.cell
    other = 1 if forward else 0
    names = ("the first input", "the second input")
    if cell.shape.relations:
        relations = " and ".join(_relation(cell, i) for i in range(len(cell.shape.relations)))
        return (
            f"impossible for {names[other]}: only {names[1 - other]} releases numbers with "
            f"{relations}"
        )
    if not cell.regions[other]:
        return f"impossible for {names[other]}: none of its paths releases this"
    return f"impossible for {names[other]}: the conditions of its paths exclude it"


def _relation(cell: OutputCell, index: int) -> str:
    row, value = cell.shape.relations[index]
    from dpest.geometry.linear import Symbol

    names = {Symbol("state", f"output[{cell.real[j]}]"): c for j, c in enumerate(row) if c}
    return f"{Form(names)} = {value}"


def joined(parts: Sequence[Witness]) -> Witness:
    """The witness of several independent parts of one output."""
    output: Any = sum((tuple(w.details["output"]) for w in parts), start=())
    if all(isinstance(w.details["output"], list) for w in parts):
        output = list(output)
    log_p = math.fsum(w.details["log_p"] for w in parts)
    log_q = math.fsum(w.details["log_q"] for w in parts)
    hows = [w.details["how"] for w in parts]
    how = next((h for h in ("support", "unbounded", "growing", "limit") if h in hows), "at")
    event = f"output = {shown(output)}"
    if how != "at":
        whys = [w.event for w in parts if w.details["how"] != "at"]
        # A part's event begins with its own output, which the whole output shows already.
        whys = [why.partition("; ")[2] if why.startswith("output = ") else why for why in whys]
        event += "".join(f"; {why}" for why in dict.fromkeys(whys) if why)
    known = how == "at" and math.isfinite(log_p) and math.isfinite(log_q)
    return Witness(
        parts[0].x,
        parts[0].x2,
        event,
        math.exp(log_p) if known else None,
        math.exp(log_q) if known else None,
        any(w.densities for w in parts),
        details={"output": output, "how": how, "log_p": log_p, "log_q": log_q},
    )
