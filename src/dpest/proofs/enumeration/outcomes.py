"""All outcomes of the draws of a function on one input, with their chances, likeliest first.

A finite draw forks; a continuous one forks where the function compares it with a number, by the
part of its range that the comparisons have left.
"""

from __future__ import annotations

from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.proofs.enumeration.chances import likelihood
from dpest.proofs.enumeration.machine import EnumeratingMachine
from dpest.proofs.enumeration.replaying import check
from dpest.proofs.enumeration.ways import OutputTexts, Ways
from dpest.reading.machine.exploring.explorer import Limits

_FAINT = 1e-9  # a way that is less likely is not followed to its end
_SECONDS = 30.0


def distribution(
    target: Mechanism, x: Any, left: float, most: int
) -> tuple[dict[str, float], float]:
    """Output -> its chance, by at most so many ways; and the chance of what was not followed.

    Ways are followed until no more than `left` remains; they are held against runs.
    """
    machine = EnumeratingMachine()
    found: dict[str, float] = {}
    edges, explored, outputs = [], 0.0, OutputTexts()
    ways = Ways(
        machine,
        target,
        x,
        Limits(seconds=_SECONDS),
        lambda state: likelihood(machine, state.conditions, state.picks),
        _FAINT,
    )
    for way in ways.ends():
        chance = likelihood(machine, way.edge.conditions, way.edge.picks)
        text = outputs.text(way)
        found[text] = found.get(text, 0.0) + chance
        explored += chance
        edges.append(way.edge)
        if len(edges) == most or 1 - explored <= left:
            break
    check(machine, edges, target, None, x, complete=not ways.left)
    return found, max(1 - explored, 0.0)
