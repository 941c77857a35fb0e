"""Selection: pure ε of the index of the greatest of any number of noisy scores.

Lemma. The program draws noise of its own for each candidate, and releases the place of the greatest
score a·q + b·h (with `gap`, also by how much it is ahead). Fix the winner and all noises but its
own: it wins iff its score is at least m, the greatest of the others. Then m is a number that moves
with the others' data, by no more than a score may move. An alignment of the winner's noise with
"score − m stays ≥ 0" of cost at most ε, for all differences, gives ε-DP. Ties have probability 0 as
a score has continuous noise. Where one entry moves, it is the winner's or another's, not both.

`rule` names a law by which the program, which is written otherwise, has the output of this argmax
(permute-and-flip is a race of exponentials; chances proportional to e^score are Gumbel noise). That
it applies is not shown here: the statement says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..alignment import BoxPlan, KeptRegion, need_aligned_everywhere, read_plan
from ..fields import Fields
from ..forms import ONE, ZERO, Interval, Terms, condition, greatest, least, read_terms
from ..header import Header
from ..invalid import need
from ..models.model import Numbers, need_pure, read_numbers
from ..statement import Finding

_REST = "m"
"""The greatest score of the others."""
_LAWS = {"race": "exponential", "choice": "gumbel", "inversion": "gumbel", "rejection": "gumbel"}


@dataclass(frozen=True)
class SelectionPlan:
    """The score of a candidate, as a region of the winner's noise; `law`: why it is an argmax."""

    numbers: Numbers
    element: Terms
    region: KeptRegion
    plans: list[tuple[int, BoxPlan]]
    law: str | None


def read(header: Header, fields: Fields) -> SelectionPlan:
    numbers = read_numbers(header, fields, ["q"])
    need_pure(fields)
    element = read_terms(fields.take("element"), "element")
    gap = fields.truth("gap")
    law = fields.text("rule") if fields.has("rule") else None
    plans = [read_plan(f) for f in fields.each("alignments")]
    fields.done()
    known = numbers.noises.keys() | numbers.inputs | numbers.data.derived.keys()
    need(element.keys() <= known, "element: unknown symbols")
    drawn = [numbers.noises[k] for k in element if k in numbers.noises]
    need(any(n.continuous for n in drawn), "element: ties matter without continuous noise")
    need(not any(n.integral for n in numbers.noises.values()), "noises: ties matter")
    lead = {**element, _REST: -ONE}
    own = {name: n for name, n in numbers.noises.items() if name in element}
    wins = condition(ZERO, lead, False)
    region = KeptRegion([wins], [lead] if gap else [], own, numbers.whole)
    return SelectionPlan(numbers, element, region, plans, law)


def check(header: Header, fields: Fields) -> Finding:
    selection = read(header, fields)
    numbers = selection.numbers
    data = {k: v for k, v in selection.element.items() if k not in numbers.noises}
    groups = _faces(numbers, data)
    need_aligned_everywhere(selection.region, groups, selection.plans, header.value(), "winner")
    return Finding(
        "epsilon",
        header.value(),
        numbers.lengths,
        numbers.stated(),
        assumptions=(*numbers.assumptions, *_law(selection.law, numbers)),
    )


def _faces(numbers: Numbers, data: Terms) -> list[list[dict[str, Interval]]]:
    """Boxes of the winner's difference together with that of the best of the others."""
    found = []
    for group in numbers.faces():
        reach = [(least(ZERO, data, face), greatest(ZERO, data, face)) for face in group]
        if numbers.header.adjacency.shape.moves_one:
            others = [{_REST: (min(low, ZERO), max(high, ZERO))} for low, high in reach]
            found.append([*group, *others])
        else:
            pairs = zip(group, reach, strict=True)
            found.append([{**face, _REST: ends} for face, ends in pairs])
    return found


def _law(law: str | None, numbers: Numbers) -> tuple[str, ...]:
    if law is None:
        return ()
    families = {noise.family for noise in numbers.noises.values()}
    need(law in _LAWS and families == {_LAWS[law]}, "rule: not a law of this noise")
    scales = {noise.rate for noise in numbers.noises.values()}
    need(len(scales) == 1 and scales != {Fraction(0)}, "rule: not a law of this noise")
    return (f"the program has the law of this argmax, by the rule {law}",)
