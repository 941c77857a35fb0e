"""A branch on whether there is any record at all: `if not rows: total = 0.0`.

Lemma. Without records every sum over them is 0. So where the way without records leaves behind
what the other way does once its sums are set to 0, and neither draws nor releases anything, the
other way may be taken always. (What both ways lead to is then one function of the sums.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.joining import meeting_points
from dpest.reading.contributions.control.snapshots import Left, Snapshot, same_value
from dpest.reading.contributions.forms import SUM, Raised, SymbolicForm, Unread, form_of
from dpest.reading.contributions.values import RecordTruth, Rows, Seq, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.control.stack import CallFrame
    from dpest.reading.contributions.machine import ContributionMachine

_EMPTY = (
    "what is done without any record differs from what is done with some: do the same for no "
    "records (a sum of nothing is 0), with the same noise"
)
_SAMPLES = (1, 2, 3, 10**9)
_PASSES = 1  # the place of the number of passes in `extent`


def without_records(m: ContributionMachine, frame: CallFrame, value: Any) -> bool:
    """Whether a branch asked for the first record alone; the frame is then where its ways meet."""
    if m.public_length is not None:
        return False
    if isinstance(value, Rows) or (isinstance(value, Seq) and value.rows is not None):
        value = m.presence(value)
    there = _truth_with_records(m, value)
    if there is None:
        return False
    jumps = frame.code.instructions[frame.pc].jumps
    meeting = meeting_points(frame.code)[frame.pc]
    if meeting is None:
        raise Unread(_EMPTY)
    start, here, extent = Snapshot(m.frames), frame.pc, m.extent()
    empty = _left_behind(m, frame, start, jumps[there], meeting)
    if m.extent() != extent:
        raise Unread(_EMPTY)
    start.restore()
    frame.pc = here
    full = _left_behind(m, frame, start, jumps[not there], meeting)
    if _but_passes(m.extent()) != _but_passes(extent):
        raise Unread(_EMPTY)
    for place in {**full, **empty}:
        before = start.before(place)
        first, second = full.get(place, before), empty.get(place, before)
        if place[0] == "register" and place[1] not in frame.code.live[meeting]:
            continue
        if not _agree(m, first, second):
            raise Unread(_EMPTY)
    frame.pc = meeting
    return True


def _truth_with_records(m: ContributionMachine, value: Any) -> bool | None:
    """What a truth about the number of records is wherever there are some; None: something else."""
    if not isinstance(value, RecordTruth) or value.form is None or len(value.form.terms) != 1:
        return None
    ((symbol, c),) = value.form.terms
    if m.terms.nodes[symbol][0] != "sum":
        return None
    if SymbolicForm(((symbol, 1 + 0 * c),), 0 * c) != m.sums([((), [1])])[0]:
        return None
    relation, constant = value.relation, value.form.constant
    root = -constant / c
    if relation in ("==", "!=") and root > 0 and root.denominator == 1:
        return None
    found = {_holds(relation, c * n + constant) for n in _SAMPLES}
    bounds = {_holds(relation, c * n + constant) for n in (root // 1, root // 1 + 1) if n >= 1}
    if len(found | bounds) != 1 or _holds(relation, constant) in found:
        return None
    return found.pop()


def _holds(relation: str, value: Any) -> bool:
    return bool({">": value > 0, ">=": value >= 0, "==": value == 0, "!=": value != 0}[relation])


def _left_behind(
    m: ContributionMachine, frame: CallFrame, start: Snapshot, way: int, meeting: int
) -> dict[Any, Any]:
    """What a way changes until both meet."""
    frame.pc = way
    try:
        done, _ = m.run_until(frame, meeting)
    except Raised:
        raise Unread(_EMPTY) from None
    if done:
        raise Unread(_EMPTY)
    return {place: now for place, _, now in start.changes()}


def _but_passes(extent: Sequence[int]) -> tuple[int, ...]:
    return (*extent[:_PASSES], *extent[_PASSES + 1 :])


def _agree(m: ContributionMachine, with_records: Any, without: Any) -> bool:
    """Whether a value is another one once all sums in it are 0."""
    a, b = with_records, without
    if same_value(a, b) or (a is Left and b is Left):
        return True
    if isinstance(a, SmallArray) and isinstance(b, SmallArray):
        same = a.shape == b.shape
        return same and all(_agree(m, *v) for v in zip(a.cells, b.cells, strict=True))
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return all(_agree(m, *v) for v in zip(a, b, strict=True))
    if not all(is_number(v) or isinstance(v, SymbolicForm) for v in (a, b)):
        return False
    form, kinds = m.form(a), m.terms.kinds
    sums = {s for s in form.symbols if kinds[s] & SUM}
    if any(m.terms.nodes[s][0] != "sum" for s in sums):
        return False
    kept = {s: c for s, c in form.terms if s not in sums}
    return form_of(kept, form.constant) == m.form(b)
