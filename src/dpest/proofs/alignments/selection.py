"""The argmax of a vector of any length, by one alignment of the winner.

Release w. All noises but the winner's stay; let m be the greatest of the other values. If the
datum of each element may change its value by something in [low, high], then m changes by something
in [low, high] too, whatever the length. The winner's shift may depend on that change, as it is
decided by noises that are not shifted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import RefusedError
from dpest.geometry.linear import Form, Symbol, rational
from dpest.proofs.alignments.adjacency_faces import Faces, faces, lowest
from dpest.proofs.alignments.alignment import AlignedNoise, Change, Problem
from dpest.proofs.alignments.planning import AlignmentPlan, plan
from dpest.reading.domains.unit import Unit
from dpest.reading.loop_graph import Graph
from dpest.reading.world import ELEMENT, fields_of

OTHERS = Symbol("input", "m")
"""How much the greatest of the other values changes."""


@dataclass(frozen=True)
class ArgmaxPlan:
    """The element's value (of q and of its own noises), and the plan for the winner."""

    element: Form
    own: tuple[Symbol, ...]
    components: Faces
    problem: Problem
    plan: AlignmentPlan


def _with_laplace(x: Any, rng: Any, *, sign: int, scale: Any) -> Any:
    return np.argmax([sign * q + rng.laplace(scale=scale) for q in x])


def _with_exponential(x: Any, rng: Any, *, sign: int, scale: Any) -> Any:
    return np.argmax([sign * q + rng.exponential(scale=scale) for q in x])


def _with_gumbel(x: Any, rng: Any, *, sign: int, scale: Any) -> Any:
    return np.argmax([sign * q + rng.gumbel(scale=scale) for q in x])


_ARGMAX = {"laplace": _with_laplace, "exponential": _with_exponential, "gumbel": _with_gumbel}


def noisy_argmax(slope: Fraction, weight: Fraction, noise: Any) -> Mechanism | None:
    """The function that releases the place of the greatest of slope·q + weight·noise, for eps = 1.

    What no bound can be below is a multiple of 1/scale: for every eps, the same multiple of it.
    None where such a function is not written here.
    """
    function = _ARGMAX.get(noise.family)
    if function is None or (weight < 0 and noise.family != "laplace"):
        return None
    slope = slope / abs(weight)
    scale = noise.scale.factor if isinstance(noise.scale, Unit) else rational(noise.scale)
    exact = scale / abs(slope)
    number = float(exact) if Fraction(float(exact)) == exact else exact
    return as_mechanism(function).with_params({"sign": 1 if slope > 0 else -1, "scale": number})


def selection(
    graph: Graph, draws: Mapping[Symbol, AlignedNoise], adjacency: Any, domain: Any = None
) -> ArgmaxPlan:
    """The cheapest alignment of the argmax; the graph must release nothing else of the data."""
    forms = {(s.form, s.least) for s in graph.selections}
    forms |= {(form, False) for form in graph.gaps}
    turns = [] if graph.recognised else [e for e in graph.edges if e.reads]
    if len(forms) != 1 or turns or any(e.forms for e in graph.edges):
        raise RefusedError(
            "an argmax over data of any length together with other releases of the data: give a "
            "length instead of ANY"
        )
    ((form, least),) = forms
    if any(e.blocks and not (graph.recognised and e.reads) for e in graph.edges):
        raise RefusedError("an argmax after a branch on noise: give a length instead of ANY")
    drawn = {s for e in graph.edges for s in e.draws if not (graph.recognised and e.reads)}
    own = {s: c for s, c in form.terms.items() if s.kind == "noise" and s not in drawn}
    data = {s: c for s, c in form.terms.items() if s.kind == "input"}
    # What all elements share moves them alike and cancels.
    sign = -1 if least else 1
    element = Form({**own, **data}, Fraction(0)).times(sign)
    if any(draws[s].integral for s in own):
        raise RefusedError(
            "ties between discrete noises matter for an argmax: give a length instead of ANY"
        )
    if not own:
        raise RefusedError("the elements of this argmax have no noise of their own")
    lead = Change(
        {s: element.terms[s] for s in own},
        {**{s: element.terms[s] for s in data}, OTHERS: Fraction(-1)},
    )
    problem = Problem({s: draws[s] for s in own}, [lead], [lead] if graph.gaps else [])
    components: Faces = []
    values = {s: element.terms[s] for s in data}
    entry = fields_of(ELEMENT.name, len(getattr(domain, "fields", ())))
    for group in faces(adjacency, entry, graph.world.derived, domain):
        both = []
        for face in group:
            low = lowest(values, face)
            high = -lowest({s: -c for s, c in values.items()}, face)
            if adjacency.moves_one:
                # One datum moves: the winner's, or one of the others.
                both.append(dict(face))
                both.append({OTHERS: (min(low, Fraction(0)), max(high, Fraction(0)))})
            else:
                both.append({**face, OTHERS: (low, high)})
        components.append(both)
    for group in components:
        for face in group:
            if any(abs(end) == float("inf") for ends in face.values() for end in ends):
                raise RefusedError(
                    "an entry may be replaced by anything: bound the data (np.clip) or the "
                    "adjacency (radius)"
                )
    return ArgmaxPlan(element, tuple(sorted(own)), components, problem, plan([problem], components))
