"""Composition: a program that hands its data to proved mechanisms, and uses what they release.

Lemma (sequence). Let a program do nothing with its data but to hand them to its parts, each with
its own noise. On each way through it, the ε of the calls add up, and so do the ρ. A call with the
unit scaled by s > 0 costs what the part's proof says at that value: s^power times its bound. A pure
part counts as ρ = ε²/2 among Gaussian ones. The bound is for data that all parts are proved for.
That the program uses its data in this way alone is not shown here: the statement says so.
"""

from __future__ import annotations

from fractions import Fraction

from ..fields import Fields, listed, rational, whole
from ..forms import ZERO
from ..header import Header
from ..invalid import Invalid, need
from ..models.model import need_pure, read_power
from ..statement import Finding, Lengths, Statement

Call = tuple[Statement, Fraction]
"""A part, and by how much the unit is scaled."""
_USES = "the program does nothing with its data but to hand them to its parts"


def check(header: Header, fields: Fields) -> Finding:
    gaussian = any(part.measure == "rho" for part in header.parts)
    power = read_power(header, fields) if gaussian else 1
    need_pure(fields)
    need(bool(header.parts), "parts: none")
    for part in header.parts:
        _need_addable(header, part, gaussian, power)
    paths = [_path(p, header) for p in listed(fields.take("paths"), "paths")]
    fields.done()
    need(bool(paths), "paths: none; a program has at least one way")
    for path in paths:
        total = sum((_cost(call, gaussian) for call in path), ZERO)
        need(total <= header.value(), "paths: the calls cost more than the bound")
    inputs = tuple(dict.fromkeys(i for part in header.parts for i in part.inputs))
    assumptions = dict.fromkeys(a for part in header.parts for a in part.assumptions)
    return Finding(
        "rho" if gaussian else "epsilon",
        header.value(),
        _lengths(header),
        inputs,
        power,
        (*assumptions, _USES),
    )


def _need_addable(header: Header, part: Statement, gaussian: bool, power: int) -> None:
    need(part.measure in ("epsilon", "rho"), f"parts: a bound on {part.measure} is not added")
    need(not part.delta, "parts: a bound that holds but for a δ")
    first = header.parts[0].inputs[0].rows
    need(all(i.rows == first for i in part.inputs), "parts: people with more and with fewer rows")
    need(part.adjacency == header.adjacency, "parts: proved for other neighbours")
    need((part.unit is None) == (header.unit is None), "parts: with and without a unit")
    if part.measure == "rho":
        need(part.power == power, "parts: ρ in another power of the unit")
    elif gaussian:  # ε²/2 is a multiple of the unit's square
        need(header.unit is None or power == 2, "parts: ε²/2 is in the square of the unit")


def _lengths(header: Header) -> Lengths:
    """The lengths that every part is proved for, which must be those that are claimed."""
    found = Lengths() if header.length is None else Lengths((header.length,))
    for part in header.parts:
        both = found.meet(part.lengths)
        if both is None or both != found:
            raise Invalid("length: a part is not proved for it")
    return found


def _path(value: object, header: Header) -> list[Call]:
    found = []
    for entry in listed(value, "paths"):
        place, scale = listed(entry, "paths", 2)
        index, factor = whole(place, "paths"), rational(scale, "paths")
        need(0 <= index < len(header.parts), "paths: a call of an unknown part")
        need(factor > 0, "paths: a scale is not positive")
        need(header.unit is not None or factor == 1, "paths: a scale without a unit")
        found.append((header.parts[index], factor))
    return found


def _cost(call: Call, gaussian: bool) -> Fraction:
    part, scale = call
    cost = part.bound * scale**part.power
    return cost * cost / 2 if gaussian and part.measure == "epsilon" else cost
