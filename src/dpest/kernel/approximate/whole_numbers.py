"""A noise on the whole numbers hides whole moves alone: slopes and sums must be whole.

Its cost for a move of d is d/scale, or d·(−ln α) where its chances fall off by α a step.
"""

from __future__ import annotations

from ..invalid import Invalid
from .accountant import ONE, ZERO
from .shifts import private_part
from .terms import RecordForm
from .ways import Private, Shift, StageWay


def require_whole(way: StageWay, shift: Shift) -> None:
    """Refuses moves by other than whole numbers, which a noise on whole numbers can't hide."""
    for k, c in shift.items():
        if c.denominator != 1 or not is_whole(way, k) or way.moved:
            raise Invalid("noise on the whole numbers, and a move that may be a fraction")


def is_whole(way: StageWay, k: Private) -> bool:
    if k.passed == -2:
        return all(
            f.constant.denominator == 1
            and all(c.denominator == 1 for _, c in f.terms)
            and all(is_whole(way, p) for p in private_part(way, f, len(way.rows)))
            and len(private_part(way, f, len(way.rows))) == len(f.terms)
            for f in way.terms.symbols[k.place].forms[way.terms.symbols[k.place].op == "pick" :]
        )
    if k.passed == -1:
        return way.terms.whole(RecordForm(((k.place, ONE),), ZERO))
    return all(way.terms.whole(case.adds[k.place]) for case in way.passes[k.passed].cases)
