"""A loop that keeps the greatest value so far and its place is an argmax."""

from __future__ import annotations

from collections.abc import Sequence

from dpest.geometry.linear import Form
from dpest.reading.loop_graph import LoopEdge, Selection


def greatest_so_far(edges: Sequence[LoopEdge], one_release: bool) -> Selection | None:
    """A loop that keeps the greatest value so far and its place is an argmax.

    On every turn but the first there are two edges: the value is ahead of the slot, and then
    the slot becomes the value and the place is now; or it isn't, and both are kept. On the
    first turn the slot is set. Anything else is not recognised (None).
    """
    turns = [e for e in edges if e.reads]
    found: set[tuple[Form, bool]] = set()
    for edge in turns:
        (slot, form), *others = [*edge.updates.items(), (None, None)][:2]
        here = [e for e in turns if e.source == edge.source]
        places = set(edge.places.values())
        if others != [(None, None)] or len(places) != 1 or form is None or edge.forms:
            return None
        if len(here) == 1 and not edge.blocks and places == {"now"}:
            if any(s.kind == "state" for s in form.terms):
                return None
            continue
        if len(here) != 2 or len(edge.blocks) != 1 or len(edge.blocks[0]) != 1:
            return None
        assert slot is not None
        best = Form.of(slot)
        ahead = edge.blocks[0][0].form
        if places == {"now"}:
            least = ahead == best.plus(form, -1)
            if not least and ahead != form.plus(best, -1):
                return None
            if any(s.kind == "state" for s in form.terms):
                return None
            found.add((form, least))
        elif form != best:
            return None
    first = {f for e in turns for f in e.updates.values() if not e.blocks}
    if len(found) != 1 or not one_release:
        return None
    ((form, least),) = found
    if any(f != form for f in first):
        return None
    noises = {s for s in form.terms if s.kind == "noise"}
    if any(set(e.draws) != noises for e in turns):
        return None
    return Selection(form, least)
