"""Loops that draw again until a draw is small enough."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.control.snapshots import Snapshot, same_value
from dpest.reading.contributions.forms import SymbolicForm, Unread, form_of
from dpest.reading.contributions.values import DrawMethod, RecordTruth

if TYPE_CHECKING:
    from dpest.reading.contributions.loops import Loops
    from dpest.reading.contributions.machine import CallFrame


def rejected(m: Loops, frame: CallFrame, truth: RecordTruth) -> bool:
    """A draw that is repeated until it is small enough; otherwise the draw is made visible."""
    assert truth.form is not None
    found = _bound_of(m, truth)
    if found is None or m.record is not None:
        return m.decide(_seen_truth(m, truth))
    noise, most, accept = found
    if not _draws_again(m, frame, noise, accept):
        return m.decide(_seen_truth(m, truth))
    old = m.ledger.noises[noise]
    m.ledger.noises[noise] = replace(old, most=most)
    return accept


def _bound_of(m: Loops, truth: RecordTruth) -> tuple[int, Fraction, bool] | None:
    """(noise, A, which answer means that |noise| ≤ A)."""
    assert truth.form is not None
    ((symbol, slope),) = truth.form.terms
    node = m.terms.nodes[symbol]
    if node[0] != "abs" or truth.relation not in (">", ">="):
        return None
    inner: SymbolicForm = node[1]
    if inner.constant or len(inner.terms) != 1:
        return None
    ((drawn, factor),) = inner.terms
    most = -truth.form.constant / (slope * abs(factor))
    number = m.terms.nodes[drawn][1]
    if most <= 0 or m.ledger.noises[number].most is not None:
        return None
    return number, most, slope < 0


def _seen_truth(m: Loops, truth: RecordTruth) -> RecordTruth:
    assert truth.form is not None
    ((symbol, slope),) = truth.form.terms
    node = m.terms.nodes[symbol]
    if node[0] == "abs":
        value = m.terms.absolute(m.visible(node[1]))
    else:
        value = m.visible(form_of({symbol: Fraction(1)}))
    return RecordTruth(truth.relation, value.times(slope) + form_of({}, truth.form.constant))


def _draws_again(m: Loops, frame: CallFrame, noise: int, accept: bool) -> bool:
    """Whether the other way leads back here with one like draw in the place of the first."""
    here = frame.pc
    start = Snapshot(m.frames)
    count = len(m.ledger.noises)
    size = (len(m.ledger.rows), len(m.ledger.passes), len(m.ledger.gates))
    live = frame.code.live[here]
    before = {name: frame.registers[name] for name in live if name in frame.registers}
    frame.pc = frame.code.instructions[here].jumps[1 if accept else 0]
    steps = m.steps
    try:
        while frame.pc != here:
            m.steps += 1
            instruction = frame.code.instructions[frame.pc]
            if m.steps > steps + 200 or instruction.op in ("return", "next", "yield"):
                return False
            if instruction.op == "branch" and not is_plain(frame.registers[instruction.uses[0]]):
                return False
            m.step(frame, instruction)
        drawn = m.ledger.noises[count:]
        same = len(drawn) == 1 and drawn[0] == m.ledger.noises[noise]
        unchanged = size == (
            len(m.ledger.rows),
            len(m.ledger.passes),
            len(m.ledger.gates),
        )
        inside = any(place[0] == "inside" for place, _, _ in start.changes())
        alike = all(
            _alike(m, before[name], frame.registers.get(name), count, noise) for name in before
        )
        return same and unchanged and not inside and alike
    except Unread:
        return False
    finally:
        del m.ledger.noises[count:]
        start.restore()
        frame.pc = here


def _alike(m: Loops, a: Any, b: Any, new: int, old: int) -> bool:
    """Equal, with the new draw in the place of the old one."""
    if isinstance(a, RecordTruth) and isinstance(b, RecordTruth):
        if a.form is None or b.form is None:
            return a == b
        return a.relation == b.relation and _alike(m, a.form, b.form, new, old)
    if isinstance(a, SymbolicForm) and isinstance(b, SymbolicForm):
        return a == _renamed(m, b, new, old)
    if isinstance(a, DrawMethod) and isinstance(b, DrawMethod):
        return a.family == b.family
    return same_value(a, b)


def _renamed(m: Loops, form: SymbolicForm, new: int, old: int) -> SymbolicForm:
    found = form_of({}, form.constant)
    for symbol, c in form.terms:
        node = m.terms.nodes[symbol]
        if node == ("noise", new):
            found += m.terms.of("noise", old).times(c)
        elif node[0] == "abs":
            found += m.terms.absolute(_renamed(m, node[1], new, old)).times(c)
        else:
            found += form_of({symbol: c})
    return found
