"""Decisions that nobody knows: a reading is repeated until all of them were taken both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dpest.reading.contributions.forms import (
    GAP,
    NOISE,
    RECORD,
    SUM,
    TOTAL,
    Terms,
    Unread,
    number,
)
from dpest.reading.contributions.values import (
    Combined,
    Map,
    Option,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
    SymbolicForm,
)

Result = TypeVar("Result")
MOST_WAYS = 256
MOST_DECISIONS = 300


class DecisionScript:
    """One way: decisions that are prescribed, then True; `taken` are the truths decided."""

    def __init__(self, prescribed: tuple[bool, ...], known: tuple[RecordTruth, ...] = ()) -> None:
        self.prescribed = prescribed
        self.answers: list[bool] = []
        self.taken: list[RecordTruth] = list(known)

    def knows(self, truth: RecordTruth) -> bool:
        return truth in self.taken or truth.negated() in self.taken

    def decide(self, truth: RecordTruth) -> bool:
        if truth in self.taken:
            return True
        if truth.negated() in self.taken:
            return False
        place = len(self.answers)
        if place >= MOST_DECISIONS:
            raise Unread("a loop that may go on for ever")
        answer = self.prescribed[place] if place < len(self.prescribed) else True
        self.answers.append(answer)
        self.taken.append(truth if answer else truth.negated())
        return answer


def ways(
    one: Callable[[DecisionScript], Result],
    known: tuple[RecordTruth, ...] = (),
    most: int = MOST_WAYS,
) -> Iterator[tuple[DecisionScript, Result]]:
    """All ways through what `one` does."""
    pending: list[tuple[bool, ...]] = [()]
    count = 0
    while pending:
        script = DecisionScript(pending.pop(), known)
        yield script, one(script)
        count += 1
        first = len(script.prescribed)
        for place in range(first, len(script.answers)):
            pending.append((*script.answers[:place], False))
        if count + len(pending) > most:
            raise Unread(f"more than {most} ways through the program")


class Choices:
    """Decides truths by the script of the record at hand, or of the whole run."""

    terms: Terms
    script: DecisionScript  # of the run: public decisions
    record: DecisionScript | None = None  # of one record: its cases

    def decide(self, value: Any) -> bool:
        """Whether a value is true; both ways will be taken where that is not known."""
        if isinstance(value, Combined):
            for part in value.parts:
                if self.decide(part) != value.conjunction:
                    return not value.conjunction
            return value.conjunction
        if isinstance(value, SymbolicForm):
            value = self.as_truth(value)
        if isinstance(value, RecordTruth):
            return self.decide_truth(value)
        if isinstance(value, Seq):
            if value.drained and not self.flipping:
                raise Unread("whether candidates are left")
            if value.rows is not None:
                return self.decide(self.presence(value))
            if value.bag:
                raise Unread("whether a list of the data is empty")
            return bool(value.items)
        if isinstance(value, Rows):
            return self.decide(self.presence(value))
        if isinstance(value, Map):
            if value.open or value.partial or value.growing:
                raise Unread("whether an unknown mapping is empty")
            return bool(value.items)
        if isinstance(value, SmallArray):
            if len(value.cells) != 1:
                raise Unread("the truth of an array")
            return self.decide(value.cells[0])
        if value is None or isinstance(value, (bool, int, float, str, tuple)):
            return bool(value)
        if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
            return bool(value)
        raise Unread(f"the truth of {type(value).__name__}")

    def settled(self, value: Any) -> Any:
        """What an option of the record at hand is: one case for each of its values."""
        if not isinstance(value, Option):
            return value
        if self.record is None:
            raise Unread("a field of one record, outside of a loop over the records")
        for k, found in enumerate(value.values[:-1]):
            if self.decide(RecordTruth("==", value.place - number(k))):
                return found
        last = RecordTruth("==", value.place - number(len(value.values) - 1))
        if last not in self.record.taken:
            self.record.taken.append(last)  # there is no other: it follows, and it tells more
        return value.values[-1]

    def presence(self, value: Any) -> Any:
        """Whether a list of the data has any values, as a truth about how many there are."""
        raise NotImplementedError

    def as_truth(self, form: SymbolicForm) -> RecordTruth:
        return RecordTruth("!=", form)

    def decide_truth(self, truth: RecordTruth) -> bool:
        kind = 0 if truth.form is None else self.terms.kind(truth.form)
        if kind & GAP:
            return self.decide_gap(truth)
        if kind & TOTAL:
            raise Unread("a decision that depends on the records before")
        if kind & (SUM | NOISE):
            raise Unread("a decision about private values without noise")
        if self.record is not None:
            return self.record.decide(truth)
        if truth.coin is not None or kind & RECORD:
            raise Unread("a decision about one record, outside of a loop over the records")
        if self.joining and not self.script.knows(truth):
            raise Unread("a decision inside of another")
        return self.script.decide(truth)

    def decide_gap(self, truth: RecordTruth) -> bool:
        """A decision about a gap between two records next to each other, of which one is read."""
        raise NotImplementedError

    joining: int = 0
    flipping: bool = False
